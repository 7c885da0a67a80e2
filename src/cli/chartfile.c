/*
 * In a directory, the chart of a/b/photo.jpg is DIR/a/b/photo.jpg.hist.png (or .svg). It keeps the
 * ending, so that photo.jpg and photo.png have different charts, and no camera writes files named
 * *.hist.png. A leading "/" is dropped and ".." becomes "__", so that no chart is outside the
 * directory.
 */
#include "cli/chartfile.h"

#include "chart/label.h"
#include "output/file.h"
#include "scan/endings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* The longest file name on all common file systems. */
enum { NAME_BYTES_MAX = 255 };

static const char png_suffix[] = IH_ENDING_CHART_PNG, svg_suffix[] = IH_ENDING_CHART_SVG;

struct ih_charts {
    const char *path; /* borrowed */
    struct ih_chart_options look;
    bool is_file;
    const char *suffix; /* after the name of an input, in a directory */
    bool has_drawn;
    unsigned long lacking;                 /* see ih_charts_lacking */
    struct ih_result *sheet;               /* owned, with their thumbnails; NULL: none */
    char *sheet_paths[IH_CHART_SHEET_MAX]; /* owned: those of the results */
    size_t n_sheet;
    bool has_lost_reader;   /* the pipe of --chart=- is closed */
    struct ih_outfile file; /* being written, or waiting for commit */
};

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), n_ending = strlen(ending);
    return n >= n_ending && strcasecmp(path + n - n_ending, ending) == 0;
}

enum ih_status ih_charts_open(const char *path, const struct ih_chart_options *look, bool is_svg,
                              struct ih_charts **charts, struct ih_error *err)
{
    static const char *const others[] = {".pdf",  ".ps",  ".eps",   ".csv", ".json", ".ndjson",
                                         ".html", ".htm", ".jsonl", ".txt", ".xlsx"};
    bool is_other = !look->format && (ih_ending_is_image(path) || ih_ending_is_other_image(path));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        is_other = is_other || ends_in(path, others[i]);
    if (is_other)
        return ih_error_set(err, IH_USAGE, "--chart: .%s is not supported;" IH_CHART_ENDINGS " are",
                            ih_ending(path));
    struct ih_charts *c = calloc(1, sizeof *c);
    if (!c)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    c->path = path;
    c->look = *look;
    c->is_file = look->format != NULL;
    c->suffix = is_svg ? svg_suffix : png_suffix;
    if (is_svg && !c->is_file)
        c->look.format = ih_chart_format_of(svg_suffix);
    ih_outfile_init(&c->file);
    *charts = c;
    return IH_OK;
}

enum ih_status ih_charts_check_input(const struct ih_chart_options *look, const char *path,
                                     struct ih_error *err)
{
    if (look->format || !ih_ending_is_chart(path))
        return IH_OK;
    return ih_error_set(err, IH_CONFLICT,
                        "has the name of a chart, and a chart could replace it: use "
                        "--chart=FILE.png");
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
    size_t n = strlen(target);
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

static enum ih_status name_target(const struct ih_charts *c, const struct ih_result *result,
                                  char *target, size_t size, struct ih_error *err)
{
    const bool is_stdin = ih_result_is_of_stdin(result);
    char name[32]; /* "stdin", or "stdin#2" */
    size_t n = strlen(c->path);
    if (n >= size)
        return ih_error_set(err, IH_LIMIT, "the chart's path is too long");
    snprintf(name, sizeof name, "stdin%s", is_stdin ? result->path + 1 : "");
    memcpy(target, c->path, n + 1);
    if (c->is_file)
        return IH_OK;
    while (n > 1 && target[n - 1] == '/')
        target[--n] = '\0';
    if (!append_input(target, size - sizeof png_suffix, is_stdin ? name : result->path))
        return ih_error_set(err, IH_LIMIT, "the chart's path is too long");
    strcat(target, c->suffix);
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
static void charts_check_name(struct ih_charts *c, const char *path)
{
    char name[IH_CHART_PATH_MAX];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (c->lacking || n >= sizeof name || ih_chart_format_has_text(c->look.format))
        return;
    memcpy(name, path, n);
    name[n] = '\0';
    c->lacking = ih_chart_lacking(c->look.title ? c->look.title : ih_label_last_part(name));
}

unsigned long ih_charts_lacking(const struct ih_charts *c)
{
    return c->lacking;
}

/* Keeps a copy of a result for the sheet. */
static enum ih_status keep(struct ih_charts *c, const struct ih_result *result,
                           struct ih_error *err)
{
    if (c->n_sheet == IH_CHART_SHEET_MAX)
        return ih_error_set(err, IH_USAGE,
                            "--sheet shows up to %d %ss; name fewer, or select them with --where",
                            IH_CHART_SHEET_MAX, result->is_total ? "group" : "image");
    if (!c->sheet)
        c->sheet = calloc(IH_CHART_SHEET_MAX, sizeof *c->sheet);
    if (!c->sheet)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    struct ih_result *copy = &c->sheet[c->n_sheet++];
    *copy = *result;
    /* Those of a result file last as long as its record. A sheet shows the path alone. */
    copy->info.format = copy->folder = copy->group = copy->measure.region = copy->measure.mask =
        NULL;
    copy->path = c->sheet_paths[c->n_sheet - 1] = strdup(result->path);
    copy->thumbnail = result->thumbnail ? malloc(result->thumbnail_bytes) : NULL;
    if (copy->thumbnail)
        memcpy(copy->thumbnail, result->thumbnail, result->thumbnail_bytes);
    if (ih_histogram_own(&copy->histogram, err) != IH_OK) {
        copy->histogram.native = NULL; /* the result's */
        return IH_MEMORY;
    }
    return copy->path ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

static enum ih_status write_image(struct ih_charts *c, const char *target,
                                  const unsigned char *image, size_t n, struct ih_error *err)
{
    enum ih_status status = ih_make_directories(target, err);
    if (status == IH_OK)
        status = ih_outfile_open(&c->file, target, err);
    if (status == IH_OK && fwrite(image, 1, n, c->file.stream) != n) {
        c->has_lost_reader = errno == EPIPE;
        status = ih_error_errno(err, errno, "cannot write");
        ih_outfile_discard(&c->file);
    }
    return status;
}

enum ih_status ih_charts_draw(struct ih_charts *c, const struct ih_result *result,
                              const struct ih_comparison *comparison, char *target,
                              size_t size_bytes, struct ih_error *err)
{
    unsigned char *image = NULL;
    size_t image_bytes = 0;
    target[0] = '\0';
    enum ih_status status = name_target(c, result, target, size_bytes, err);
    if (status != IH_OK)
        return status;
    if (!c->is_file && strlen(ih_label_last_part(target)) > NAME_BYTES_MAX)
        return ih_error_set(err, IH_LIMIT, "the name of the chart is too long");
    if (c->is_file && c->has_drawn)
        return ih_error_set(err, IH_USAGE,
                            "one chart for more than one image: name a directory, or add --total");
    if (!result->is_total && is_same_file(target, result->path))
        return ih_error_set(err, IH_CONFLICT, "is both an input and its chart");
    if (c->look.is_sheet) {
        charts_check_name(c, result->path);
        return keep(c, result, err);
    }
    if (!c->is_file && !result->is_total)
        status = ih_charts_check_input(&c->look, result->path, err);
    if (!c->is_file && status == IH_OK)
        status = check_target(target, err);
    if (status != IH_OK)
        return status;
    status = comparison ? ih_chart_draw_comparison(comparison, &c->look, &image, &image_bytes, err)
                        : ih_chart_draw(result, &c->look, &image, &image_bytes, err);
    if (status == IH_OK)
        status = write_image(c, target, image, image_bytes, err);
    if (status == IH_OK && !c->is_file)
        status = ih_outfile_commit(&c->file, err);
    c->has_drawn = true;
    charts_check_name(c, !result->is_total ? result->path : result->folder ? result->folder : "");
    if (comparison)
        charts_check_name(c, comparison->sides[1].path);
    free(image);
    return status;
}

enum ih_status ih_charts_commit(struct ih_charts *c, const char *title, struct ih_error *err)
{
    unsigned char *image = NULL;
    size_t image_bytes = 0;
    if (c->n_sheet > 0) {
        enum ih_status status =
            ih_chart_draw_sheet(c->sheet, c->n_sheet, *title ? title : "histograms", &c->look,
                                &image, &image_bytes, err);
        if (status == IH_OK)
            status = write_image(c, c->path, image, image_bytes, err);
        free(image);
        if (status != IH_OK)
            return status;
    }
    if (c->file.stream && fflush(c->file.stream) != 0)
        c->has_lost_reader = errno == EPIPE;
    return c->file.stream ? ih_outfile_commit(&c->file, err) : IH_OK;
}

bool ih_charts_has_lost_reader(const struct ih_charts *c)
{
    return c->has_lost_reader;
}

bool ih_charts_is_one(const struct ih_charts *c)
{
    return c->is_file;
}

void ih_charts_unlink(struct ih_charts *c)
{
    if (c)
        ih_outfile_unlink(&c->file);
}

void ih_charts_close(struct ih_charts *c)
{
    if (!c)
        return;
    ih_outfile_discard(&c->file);
    for (size_t i = 0; i < c->n_sheet; i++) {
        free(c->sheet_paths[i]);
        free(c->sheet[i].thumbnail);
        ih_histogram_reset(&c->sheet[i].histogram);
    }
    free(c->sheet);
    free(c);
}
