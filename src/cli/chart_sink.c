/*
 * In a directory, the chart of a/b/photo.jpg is DIR/a/b/photo.jpg.hist.png (or .svg). It keeps the
 * ending, so that photo.jpg and photo.png have different charts, and no camera writes files named
 * *.hist.png. A leading "/" is dropped, ".." becomes "__" and a path without a part "_", so that no
 * chart is outside the directory. The name of a band is no path: each "/" becomes "_".
 */
#include "chart/label.h"
#include "cli/destinations.h"
#include "cli/sink.h"
#include "output/file.h"
#include "scan/extensions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_BYTES_MAX = 255, /* the longest file name on all common file systems */
    PATH_BYTES_MAX = 4096 + 512
};

static const char png_suffix[] = IH_EXTENSION_CHART_PNG, svg_suffix[] = IH_EXTENSION_CHART_SVG;

struct charts {
    struct ih_sink base;
    const struct ih_sink_context *context; /* borrowed */
    struct ih_chart_options look;
    bool is_file;       /* a single chart, not a directory; with --total it is the total's */
    const char *suffix; /* after the name of an input, in a directory */
    bool has_drawn;
    unsigned long lacking; /* the first character in the names so far that the font lacks; 0: none,
                              or the charts are SVG */
    struct ih_result *sheet;               /* owned, with their thumbnails; NULL: none */
    char *sheet_paths[IH_CHART_SHEET_MAX]; /* owned: those of the results */
    size_t n_sheet;
    /* Being written, or waiting for commit; of a sheet all files, else the first. */
    struct ih_outfile files[IH_SHEETS_MAX];
    size_t n_files;              /* of a sheet that are written */
    char target[PATH_BYTES_MAX]; /* of the chart that is being written */
};

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), n_ending = strlen(ending);
    return n >= n_ending && strcasecmp(path + n - n_ending, ending) == 0;
}

/* ---- names ---- */

/* Moves *path to its next part, past slashes and ".". Returns the part's length; 0 at the end. */
static size_t charts_next_part(const char **path)
{
    for (;;) {
        *path += strspn(*path, "/");
        const size_t n = strcspn(*path, "/");
        if (n != 1 || **path != '.')
            return n;
        *path += n;
    }
}

/* Appends the input's path to target, part by part. False: it does not fit. */
static bool append_input(char *target, size_t size, const char *input)
{
    const char *rest = input;
    size_t n = strlen(target);
    if (charts_next_part(&rest) == 0)
        input = "_";
    for (size_t length; (length = charts_next_part(&input)) > 0; input += length) {
        const bool is_up = length == 2 && memcmp(input, "..", 2) == 0;
        if (n + length + 2 >= size)
            return false;
        target[n++] = '/';
        memcpy(target + n, is_up ? "__" : input, length);
        n += length;
        target[n] = '\0';
    }
    return true;
}

/* Sets the target, for messages too. */
static enum ih_status name_target(struct charts *c, const struct ih_result *result,
                                  struct ih_error *err)
{
    const char *const path = c->context->options->chart_path, *const by = c->context->options->by;
    const bool is_stdin = ih_result_is_of_stdin(result);
    const bool is_band = result->group && by && strcmp(by, "band") == 0;
    char name[IH_BAND_NAME_BYTES]; /* "stdin", or "stdin#2", or of a band */
    size_t n = strlen(path);
    c->target[0] = '\0';
    if (n >= sizeof c->target)
        return ih_error_set(err, IH_LIMIT, "the chart's path is too long");
    snprintf(name, sizeof name, is_band ? "%s" : "stdin%s", result->path + is_stdin);
    for (char *slash = name; (slash = strchr(slash, '/'));)
        *slash = '_';
    memcpy(c->target, path, n + 1);
    if (c->is_file)
        return IH_OK;
    while (n > 1 && c->target[n - 1] == '/')
        c->target[--n] = '\0';
    if (!append_input(c->target, sizeof c->target - sizeof png_suffix,
                      is_stdin || is_band ? name : result->path))
        return ih_error_set(err, IH_LIMIT, "the chart's path is too long");
    strcat(c->target, c->suffix);
    if (strlen(ih_label_last_part(c->target)) > NAME_BYTES_MAX)
        return ih_error_set(err, IH_LIMIT, "the name of the chart is too long");
    return IH_OK;
}

/* ---- existing files ---- */

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* In a directory of charts, a chart replaces a file of its name: no input has that name, because
 * ih_charts_check_input refuses it and a walk skips it. A link could lead to an input. */
static enum ih_status check_target(const char *target, struct ih_error *err)
{
    struct stat st;
    if (lstat(target, &st) != 0 || S_ISREG(st.st_mode))
        return IH_OK;
    return ih_error_set(err, IH_CONFLICT, "exists and is no regular file: not replaced");
}

/* ---- drawing ---- */

/* Looks for characters that a raster chart cannot show. */
static void charts_check_name(struct charts *c, const char *path)
{
    char name[PATH_BYTES_MAX];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (c->lacking || n >= sizeof name || ih_chart_format_has_text(c->look.format))
        return;
    memcpy(name, path, n);
    name[n] = '\0';
    c->lacking = ih_chart_lacking(c->look.title      ? c->look.title
                                  : c->look.is_sheet ? name
                                                     : ih_label_last_part(name));
}

static enum ih_status write_image(struct charts *c, size_t i, const char *target, const void *image,
                                  size_t n, struct ih_error *err)
{
    struct ih_outfile *const file = &c->files[i];
    enum ih_status status = ih_make_directories(target, err);
    if (status == IH_OK)
        status = ih_outfile_open(file, target, err);
    if (status == IH_OK && fwrite(image, 1, n, file->stream) != n) {
        c->base.has_lost_reader = errno == EPIPE;
        status = ih_error_errno(err, errno, "cannot write");
        ih_outfile_discard(file);
    }
    return status;
}

static void empty_sheet(struct charts *c)
{
    for (; c->n_sheet > 0; c->n_sheet--) {
        free(c->sheet_paths[c->n_sheet - 1]);
        free(c->sheet[c->n_sheet - 1].thumbnail);
        ih_histogram_reset(&c->sheet[c->n_sheet - 1].histogram);
    }
}

/* Draws the results that are kept, into a file of their own. is_last: no other follows. */
static enum ih_status write_sheet(struct charts *c, bool is_last, struct ih_error *err)
{
    const char *const folder = *c->context->folder ? c->context->folder : "histograms";
    struct ih_messages *const messages = c->context->messages;
    struct ih_chart_options look = c->look;
    char title[IH_SHOWN_MAX],
        *path = ih_sheet_path(c->context->options->chart_path, c->n_files + 1);
    unsigned char *image = NULL;
    size_t n = 0;
    if (!path)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    snprintf(c->target, sizeof c->target, "%s", path);
    snprintf(title, sizeof title, "%s (%zu)", look.title ? look.title : folder, c->n_files + 1);
    if (c->n_files > 0)
        look.title = title;
    look.is_part = c->n_files > 0 || !is_last;
    look.n_failed = is_last ? messages->n_failed : 0;
    enum ih_status status =
        ih_chart_draw_sheet(c->sheet, c->n_sheet, folder, &look, &image, &n, err);
    if (status == IH_OK)
        status = write_image(c, c->n_files, path, image, n, err);
    if (status == IH_OK) {
        c->n_files++;
        messages->n_charts = c->n_files;
        ih_messages_chart(messages, path, c->lacking);
    }
    free(image);
    free(path);
    empty_sheet(c);
    return status;
}

/* Keeps a copy of a result for the sheet. A full one is drawn first. */
static enum ih_status keep(struct charts *c, const struct ih_result *result, struct ih_error *err)
{
    const bool is_full = c->n_sheet == IH_CHART_SHEET_MAX;
    if (is_full && c->context->options->chart_is_stream)
        return ih_error_set(err, IH_USAGE,
                            "--sheet shows up to %d %ss in a stream; name a file, and more files "
                            "follow",
                            IH_CHART_SHEET_MAX, ih_result_word(result));
    if (is_full && c->n_files + 1 == IH_SHEETS_MAX)
        return ih_error_set(err, IH_USAGE, "--sheet shows up to %d %ss; select them with --where",
                            IH_SHEETS_MAX * IH_CHART_SHEET_MAX, ih_result_word(result));
    if (is_full && write_sheet(c, false, err) != IH_OK)
        return err->status;
    if (!c->sheet)
        c->sheet = calloc(IH_CHART_SHEET_MAX, sizeof *c->sheet);
    if (!c->sheet)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    struct ih_result *copy = &c->sheet[c->n_sheet++];
    *copy = *result;
    copy->stats = NULL;
    /* Those of a result file last as long as its record. A sheet shows the path alone, and which
     * pixels the run counts; a zone has its label in the path. */
    copy->info.format = copy->folder = copy->group = NULL;
    copy->measure.region = c->context->options->measure.region;
    copy->measure.mask = c->context->options->has_labels ? NULL : c->context->options->measure.mask;
    copy->path = c->sheet_paths[c->n_sheet - 1] = strdup(result->path);
    copy->thumbnail = result->thumbnail ? malloc(result->thumbnail_bytes) : NULL;
    if (copy->thumbnail)
        memcpy(copy->thumbnail, result->thumbnail, result->thumbnail_bytes);
    if (ih_histogram_copy(&copy->histogram, &result->histogram, err) != IH_OK)
        return IH_MEMORY;
    return copy->path ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

/* comparison   drawn instead of the result, which is its first side; NULL: none
 * image        of n bytes; 0: it could not be drawn, and is drawn now for its error */
static enum ih_status write_chart(struct charts *c, const struct ih_result *result,
                                  const struct ih_comparison *comparison, const void *image,
                                  size_t n, struct ih_error *err)
{
    unsigned char *drawn = NULL;
    enum ih_status status = IH_OK;
    if (comparison)
        status = ih_chart_draw_comparison(comparison, &c->look, &drawn, &n, err);
    else if (n == 0)
        status = ih_chart_draw(result, &c->look, &drawn, &n, err);
    if (status == IH_OK)
        status = write_image(c, 0, c->target, drawn ? drawn : image, n, err);
    if (status == IH_OK && !c->is_file)
        status = ih_outfile_commit(&c->files[0], err);
    c->has_drawn = true;
    charts_check_name(c, !result->is_total ? result->path : result->folder ? result->folder : "");
    if (comparison)
        charts_check_name(c, comparison->sides[1].path);
    free(drawn);
    return status;
}

/* Whether the result may have the chart's name. */
static enum ih_status check_names(struct charts *c, const struct ih_result *result,
                                  struct ih_error *err)
{
    enum ih_status status = name_target(c, result, err);
    if (status != IH_OK)
        return status;
    if (c->is_file && c->has_drawn)
        return ih_error_set(err, IH_USAGE,
                            "one chart for more than one image: name a directory, or add --total");
    if (!result->is_total && is_same_file(c->target, result->path))
        return ih_error_set(err, IH_CONFLICT, "is both an input and its chart");
    if (c->look.is_sheet || c->is_file)
        return IH_OK;
    if (!result->is_total)
        status = ih_chart_check_input(&c->look, result->path, err);
    return status == IH_OK ? check_target(c->target, err) : status;
}

/* Writes the chart, or keeps a copy of the result for the sheet. A single chart stays in a
 * temporary file until commit, because a second input is an error. */
static enum ih_status add_chart(struct charts *c, const struct ih_result *result,
                                const struct ih_comparison *comparison, const void *image, size_t n,
                                struct ih_error *err)
{
    struct ih_messages *const messages = c->context->messages;
    enum ih_status status = check_names(c, result, err);
    if (status == IH_OK && c->look.is_sheet) {
        charts_check_name(c, result->path);
        status = keep(c, result, err);
    } else if (status == IH_OK) {
        status = write_chart(c, result, comparison, image, n, err);
    }
    /* In a directory of charts, a chart is left out if its name cannot be used. */
    if (!c->is_file && (status == IH_CONFLICT || status == IH_LIMIT)) {
        ih_messages_hold(messages);
        ih_say(c->target, err->message);
        messages->n_charts_failed++;
        return IH_OK;
    }
    if (status != IH_OK)
        return status;
    if (c->look.is_sheet)
        return IH_OK;
    messages->n_charts += result->is_total || !messages->has_seen_name;
    ih_messages_chart(messages, c->target, c->lacking);
    return IH_OK;
}

/* ---- the sink ---- */

/* A total of no images has no chart. A single chart together with --total is the total's, and with
 * --by alone there is no single chart (options.c). */
static bool charts_take(const struct ih_sink *sink, const struct ih_result *result)
{
    const struct charts *const c = (const struct charts *)sink;
    const bool is_sheet = c->look.is_sheet;
    if (result->status != IH_OK || result->is_end)
        return false;
    if (result->group ? c->is_file && !is_sheet : result->is_total && is_sheet)
        return false;
    if (result->is_total)
        return result->n_images > 0;
    return is_sheet || !(c->context->options->with_total && c->is_file);
}

/* Without memory there are no bytes, and put finds the reason. */
static void charts_render(const struct ih_sink *sink, const struct ih_result *result, FILE *bytes)
{
    const struct charts *const c = (const struct charts *)sink;
    struct ih_error ignored;
    unsigned char *image = NULL;
    size_t n = 0;
    const int error = errno; /* of bytes: a chart that cannot be drawn is reported when it is put */
    const bool is_drawn =
        !c->look.is_sheet && ih_chart_draw(result, &c->look, &image, &n, &ignored) == IH_OK;
    errno = error;
    if (is_drawn)
        fwrite(image, 1, n, bytes);
    free(image);
}

static enum ih_status charts_put(struct ih_sink *sink, const struct ih_result *result,
                                 const char *bytes, size_t n, struct ih_error *err)
{
    return add_chart((struct charts *)sink, result, NULL, bytes, n, err);
}

static enum ih_status charts_compare(struct ih_sink *sink, const struct ih_comparison *comparison,
                                     struct ih_error *err)
{
    return add_chart((struct charts *)sink, &comparison->sides[0], comparison, NULL, 0, err);
}

/* Draws the rest of the sheet, if there is one, and gives charts that wait their names. */
static enum ih_status charts_commit(struct ih_sink *sink, struct ih_error *err)
{
    struct charts *const c = (struct charts *)sink;
    enum ih_status status = c->n_sheet > 0 ? write_sheet(c, true, err) : IH_OK;
    for (size_t i = 0; i < IH_SHEETS_MAX && c->files[i].stream && status == IH_OK; i++) {
        snprintf(c->target, sizeof c->target, "%s", c->files[i].target);
        if (fflush(c->files[i].stream) != 0)
            sink->has_lost_reader = errno == EPIPE;
        status = ih_outfile_commit(&c->files[i], err);
    }
    return status;
}

static void charts_unlink(struct ih_sink *sink)
{
    for (size_t i = 0; i < IH_SHEETS_MAX; i++)
        ih_outfile_unlink(&((struct charts *)sink)->files[i]);
}

static void charts_close(struct ih_sink *sink)
{
    struct charts *const c = (struct charts *)sink;
    for (size_t i = 0; i < IH_SHEETS_MAX; i++)
        ih_outfile_discard(&c->files[i]);
    empty_sheet(c);
    free(c->sheet);
    free(c);
}

static const struct ih_sink_calls calls = {
    .takes = charts_take,
    .render = charts_render,
    .put = charts_put,
    .compare = charts_compare,
    .commit = charts_commit,
    .unlink = charts_unlink,
    .close = charts_close,
};

enum ih_status ih_chart_sink_new(const struct ih_sink_context *context, struct ih_sink **sink,
                                 struct ih_error *err)
{
    const char *const path = context->options->chart_path;
    const struct ih_chart_options *const look = &context->options->chart;
    const bool is_svg = context->options->charts_are_svg;
    static const char *const others[] = {".pdf",  ".ps",  ".eps",   ".csv", ".json", ".ndjson",
                                         ".html", ".htm", ".jsonl", ".txt", ".xlsx"};
    bool is_other =
        !look->format && (ih_extension_is_image(path) || ih_extension_is_other_image(path));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        is_other = is_other || ends_in(path, others[i]);
    if (is_other)
        return ih_error_set(err, IH_USAGE, "--chart: .%s is not supported;" IH_CHART_ENDINGS " are",
                            ih_extension(path));
    struct charts *c = calloc(1, sizeof *c);
    if (!c)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    c->base.calls = &calls;
    c->base.subject = c->target;
    c->base.holds_failures = true; /* there is a chart only of what was counted */
    c->context = context;
    c->look = *look;
    c->is_file = look->format != NULL;
    c->suffix = is_svg ? svg_suffix : png_suffix;
    if (is_svg && !c->is_file)
        c->look.format = ih_chart_format_of(svg_suffix);
    for (size_t i = 0; i < IH_SHEETS_MAX; i++)
        ih_outfile_init(&c->files[i]);
    *sink = &c->base;
    return IH_OK;
}
