#include "cli/destinations.h"

#include "output/file.h"
#include "scan/extensions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Only a regular file can also be an input image. */
static void add_destination(struct ih_destinations *d, const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        d->files[d->n_files++] = (struct ih_file_identity){st->st_dev, st->st_ino};
}

/* ---- formats and places ---- */

enum { SHOWN_BYTES = 32 }; /* of an output and its layout */

const struct ih_output *ih_output_of(const char *path)
{
    static const char *const others[][2] = {{"txt", "text"}, {"jsonl", "ndjson"}, {"htm", "html"}};
    const char *name = ih_extension(path);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(name, others[i][0]) == 0)
            name = others[i][1];
    for (const struct ih_output *const *out = ih_outputs; *out; out++)
        if (strcasecmp((*out)->name, name) == 0)
            return *out;
    return *name ? NULL : &ih_output_text;
}

static bool is_picture(const char *path)
{
    return ih_extension_is_image(path) || ih_extension_is_other_image(path) ||
           ih_chart_format_of(path);
}

/* Joins -o FILE and the format after it, which has no file: "-o out --csv". */
static void join_next(struct ih_options *o, size_t i)
{
    o->outputs[i].output = o->outputs[i + 1].output;
    o->outputs[i].layout = o->outputs[i + 1].layout;
    o->n_outputs--;
    memmove(&o->outputs[i + 1], &o->outputs[i + 2], (o->n_outputs - i - 1) * sizeof *o->outputs);
}

/* Refuses a file whose ending is that of another format. Any text may be .txt, and NDJSON .json. */
static enum ih_status check_ending(const struct ih_data_output *data, struct ih_error *err)
{
    const char *const path = data->path ? data->path : "";
    const struct ih_output *named = *ih_extension(path) ? ih_output_of(path) : NULL;
    const bool is_json = named == &ih_output_json && data->output == &ih_output_ndjson;
    const bool is_text = named == &ih_output_text && data->output != &ih_output_html;
    const bool has_ending = data->output != &ih_output_text && data->output != &ih_output_check &&
                            data->output != &ih_output_print && data->output != &ih_output_print0;
    if (ih_extension_is_other_file(path))
        return ih_error_set(err, IH_USAGE,
                            "--%s: '%.100s' has the name of a format that imghist does not write; "
                            "name it .%s",
                            data->output->name, path, has_ending ? data->output->name : "txt");
    if (!named || named == data->output || is_json || is_text)
        return IH_OK;
    return ih_error_set(err, IH_USAGE,
                        "--%s: '%.100s' has the name of --%s; leave out --%s, or name it .%s",
                        data->output->name, path, named->name, data->output->name,
                        has_ending ? data->output->name : "txt");
}

/* "-o csv": the file would be text. */
static enum ih_status check_not_format(const char *path, struct ih_error *err)
{
    for (const struct ih_output *const *out = ih_outputs; path && *out; out++)
        if (strcasecmp((*out)->name, path) == 0)
            return ih_error_set(err, IH_USAGE,
                                "-o: needs the name of a file, not of a format; did you mean --%s?",
                                (*out)->name);
    return IH_OK;
}

/* "csv=stats" */
static const char *shown_output(const struct ih_data_output *data, char *shown, size_t size)
{
    snprintf(shown, size, "%s%s%s", data->output->name, data->layout ? "=" : "",
             data->layout ? data->layout : "");
    return shown;
}

/* Refuses names of pictures and of compressed files, for every format. */
static enum ih_status destinations_check_name(const struct ih_data_output *data,
                                              struct ih_error *err)
{
    const char *const option = data->has_value_place ? "--html" : "-o";
    if (is_picture(data->path))
        return ih_error_set(err, IH_USAGE,
                            "%s: '%.100s' is the name of a picture; to draw one, use "
                            "--chart=FILE with one of" IH_CHART_ENDINGS,
                            option, data->path);
    if (ih_extension_is_packed(data->path))
        return ih_error_set(err, IH_USAGE,
                            "%s: '%.100s' is the name of an archive or a compressed file, which "
                            "imghist does not write; to compress, use a pipe: --csv | gzip >FILE",
                            option, data->path);
    return IH_OK;
}

static enum ih_status settle_output(struct ih_options *o, size_t i, struct ih_error *err)
{
    struct ih_data_output *data = &o->outputs[i];
    char first[SHOWN_BYTES], second[SHOWN_BYTES];
    const bool is_other = data->path && ih_extension_is_other_file(data->path);
    if (data->path && destinations_check_name(data, err) != IH_OK)
        return err->status;
    if (!data->output && i + 1 < o->n_outputs && !data[1].has_place)
        join_next(o, i);
    if (!data->output && check_not_format(data->path, err) != IH_OK)
        return err->status;
    if (!data->output)
        data->output = data->path ? ih_output_of(data->path) : &ih_output_text;
    if (!data->output)
        return ih_error_set(err, IH_USAGE,
                            "-o: '%.100s' %s: name it .csv, .json, .ndjson, .html or .txt%s",
                            data->path,
                            is_other ? "has the name of a format that imghist does not write"
                                     : "does not tell the format",
                            is_other ? "" : ", or write the format first, as in --csv -o FILE");
    if (check_ending(data, err) != IH_OK)
        return err->status;
    for (size_t k = 0; k < i; k++)
        if (!data->path && !o->outputs[k].path)
            return ih_error_set(err, IH_USAGE,
                                "--%s and --%s: both go to standard output; give each its own "
                                "-o FILE, after it",
                                shown_output(&o->outputs[k], first, sizeof first),
                                shown_output(data, second, sizeof second));
    return IH_OK;
}

enum ih_status ih_destinations_settle(struct ih_options *o, struct ih_error *err)
{
    for (size_t i = 0; i < o->n_outputs; i++)
        if (settle_output(o, i, err) != IH_OK)
            return err->status;
    if (o->n_outputs == 0 && !o->chart_path)
        o->outputs[o->n_outputs++] =
            (struct ih_data_output){.output = o->fields         ? &ih_output_csv
                                              : o->finds_copies ? &ih_output_print
                                                                : &ih_output_text};
    return IH_OK;
}

/* ---- the folder of all inputs ---- */

/* The folder whose name the results of a named input begin with. NULL: out of memory. */
static char *folder_of(const char *path)
{
    struct stat st;
    const size_t n = strlen(path);
    const bool is_folder = ih_path_stat(path, &st, 0) == 0 && S_ISDIR(st.st_mode);
    char *folder = malloc(n + 2);
    if (!folder)
        return NULL;
    memcpy(folder, path, n + 1);
    if (!is_folder)
        ih_path_narrow(folder, path);
    else if (n > 0 && path[n - 1] != '/')
        strcpy(folder + n, "/");
    return folder;
}

char *ih_common_folder(const struct ih_options *o)
{
    const size_t first = o->n_references;
    char *common = o->list_path || o->n_paths == first ? strdup("") : folder_of(o->paths[first]);
    for (size_t i = first; common && *common && i < o->n_paths; i++) {
        /* Images of a result file may lie anywhere. */
        char *folder = ih_options_is_result_file(o, i) ? NULL : folder_of(o->paths[i]);
        ih_path_narrow(common, folder ? folder : "");
        free(folder);
    }
    return common;
}

/* ---- files ---- */

char *ih_sheet_path(const char *path, size_t n)
{
    const size_t n_path = strlen(path), size = n_path + 24;
    const char *const ending = ih_extension(path);
    size_t at = *ending ? (size_t)(ending - path) - 1 : n_path;
    char *name = malloc(size);
    if (!name)
        return NULL;
    if (at >= 5 && strncmp(path + at - 5, ".hist", 5) == 0)
        at -= 5;
    if (n == 1)
        memcpy(name, path, n_path + 1);
    else
        snprintf(name, size, "%.*s-%zu%s", (int)at, path, n, path + at);
    return name;
}

static void find_destinations(const struct ih_options *o, struct ih_destinations *d)
{
    struct stat st;
    d->n_files = 0;
    for (size_t i = 0; i < o->n_outputs; i++) {
        const char *path = o->outputs[i].path;
        if ((path ? stat(path, &st) : fstat(1, &st)) == 0)
            add_destination(d, &st);
    }
    for (size_t n = 1; o->chart_path && n <= (o->chart.is_sheet ? IH_SHEETS_MAX : 1); n++) {
        char *const path = ih_sheet_path(o->chart_path, n);
        if (path && stat(path, &st) == 0)
            add_destination(d, &st);
        free(path);
    }
}

/* Whether imghist drew this picture. */
static bool is_chart(const char *path)
{
    uint8_t start[IH_CHART_MARK_BYTES], end[IH_CHART_MARK_BYTES];
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    const size_t n_start = fread(start, 1, sizeof start, f);
    rewind(f);
    (void)fseeko(f, -(off_t)sizeof end, SEEK_END); /* of a short file, its start */
    const size_t n_end = fread(end, 1, sizeof end, f);
    fclose(f);
    return ih_chart_has_mark(start, n_start, end, n_end);
}

/* A file that exists, after an option that it could be the value of, and that is no input: after
 * --html or --chart, the page or chart of an earlier run. */
static enum ih_status check_stray_file(const struct ih_options *o, size_t i, struct ih_error *err)
{
    static const char *const no_inputs[] = {"html", "csv", "text"};
    const char *const path = o->paths[i];
    const struct ih_output *output = *ih_extension(path) ? ih_output_of(path) : NULL;
    if (!o->stray_option || i != o->stray_path)
        return IH_OK;
    if (strcmp(o->stray_option->name, "chart") == 0 && ih_chart_format_of(path) &&
        (o->n_paths > 1 || o->list_path) && is_chart(path))
        return ih_error_set(err, IH_USAGE,
                            "is a chart of imghist; did you mean --chart=%.100s? To count it, name "
                            "it before --chart",
                            path);
    if (!output || strcmp(output->name, o->stray_option->name) != 0)
        return IH_OK;
    for (size_t k = 0; k < sizeof no_inputs / sizeof *no_inputs; k++)
        if (strcmp(output->name, no_inputs[k]) == 0)
            return ih_error_set(err, IH_USAGE, "is no image; did you mean --%s%s%.100s?",
                                output->name,
                                o->stray_option->value == IH_VALUE_FILE ? "=" : " -o ", path);
    return IH_OK;
}

/* A path that is not a file, but could be the value of the option before it. */
static enum ih_status check_stray_value(const struct ih_options *o, size_t i, struct ih_error *err)
{
    if (!o->stray_option || i != o->stray_path)
        return IH_OK;
    const char *const path = o->paths[i], *const name = o->stray_option->name;
    const struct ih_output *output = *ih_extension(path) ? ih_output_of(path) : NULL;
    if (o->stray_option->value != IH_VALUE_FILE && output && strcmp(output->name, name) == 0)
        return ih_error_set(err, IH_USAGE, "no such file; did you mean --%s -o %.100s?", name,
                            path);
    bool is_chart = o->stray_option->value == IH_VALUE_FILE && (o->n_paths > 1 || o->list_path);
    if (!is_chart && !ih_option_has_choice(o->stray_option, path))
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "no such file; did you mean --%s=%.100s?", name, path);
}

static bool find_input(const char *path, struct stat *st)
{
    return (strcmp(path, "-") == 0 ? fstat(0, st) : stat(path, st)) == 0;
}

static enum ih_status check_input(const struct stat *st, const struct ih_destinations *d,
                                  struct ih_error *err)
{
    const struct ih_file_identity id = {st->st_dev, st->st_ino};
    return ih_check_not_output(&id, d->files, d->n_files, err);
}

enum ih_status ih_chart_check_input(const struct ih_chart_options *look, const char *path,
                                    struct ih_error *err)
{
    if (look->format || !ih_extension_is_chart(path))
        return IH_OK;
    return ih_error_set(err, IH_CONFLICT,
                        "has the name of a chart, and a chart could replace it: use "
                        "--chart=FILE.png");
}

static enum ih_status check_path(const struct ih_options *o, const struct ih_destinations *d,
                                 size_t i, struct ih_error *err)
{
    struct stat st;
    if (strcmp(o->paths[i], "-") == 0 && isatty(0))
        return ih_error_set(err, IH_USAGE,
                            "standard input is a terminal; write an image into it, as in "
                            "'imghist - <FILE' or 'PROGRAM | imghist -'");
    if (!find_input(o->paths[i], &st))
        return errno == ENOENT ? check_stray_value(o, i, err) : IH_OK;
    enum ih_status status = check_input(&st, d, err);
    if (status == IH_OK)
        status = check_stray_file(o, i, err);
    if (status == IH_OK && o->chart_path && S_ISREG(st.st_mode))
        status = ih_chart_check_input(&o->chart, o->paths[i], err);
    return status;
}

/* Whether standard output is this file, as in `--chart=c.png >c.png`. */
static bool is_standard_output(const char *path)
{
    struct stat st, out;
    return stat(path, &st) == 0 && fstat(1, &out) == 0 && S_ISREG(out.st_mode) &&
           st.st_dev == out.st_dev && st.st_ino == out.st_ino;
}

static bool is_same_place(const char *a, const char *b)
{
    if (!a || !b)
        return a == b || is_standard_output(a ? a : b);
    char *first = ih_outfile_resolve(a), *second = ih_outfile_resolve(b);
    const bool is_same = first && second && strcmp(first, second) == 0;
    free(first);
    free(second);
    /* Two devices are one place, but may be written to twice. */
    return is_same && strncmp(a, "/dev/", 5) != 0;
}

static bool is_chart_name(const char *path)
{
    char *resolved = path ? ih_outfile_resolve(path) : NULL;
    const bool is_name = resolved && ih_extension_is_chart(resolved);
    free(resolved);
    return is_name;
}

/* Whether the path, or the target of such a link, has ".." after a folder that does not exist. The
 * checks would not find the file, but the run would replace it once the folder is made. */
static bool leaves_missing_folder(const char *path)
{
    struct stat st;
    char *const target = ih_outfile_resolve(path);
    bool is_missing = !target;
    for (const char *up = target; !is_missing && (up = strstr(up, "/..")); up++) {
        const bool is_part = (up[3] == '/' || up[3] == '\0') && up > target;
        char *folder = is_part ? strndup(target, (size_t)(up - target)) : NULL;
        is_missing = is_part && (!folder || stat(folder, &st) != 0);
        free(folder);
    }
    free(target);
    return is_missing;
}

static enum ih_status separate(const struct ih_options *o, const char **subject,
                               struct ih_error *err)
{
    for (size_t i = 0; i < o->n_outputs && o->chart_is_stream; i++)
        if (!o->outputs[i].path)
            return ih_error_set(err, IH_USAGE,
                                "--chart=- and --%s: both go to standard output; name a file for "
                                "one of them",
                                o->outputs[i].output->name);
    if (o->chart_is_stream && isatty(ih_outfile_descriptor(o->chart_path)))
        return ih_error_set(err, IH_USAGE,
                            "--chart=-: standard output is a terminal; name a file, as in "
                            "--chart=FILE.png");
    for (size_t i = 0; i <= o->n_outputs; i++) {
        *subject = i < o->n_outputs ? o->outputs[i].path : o->chart_path;
        if (*subject && leaves_missing_folder(*subject))
            return ih_error_set(err, IH_USAGE, "has '..' after a folder that does not exist");
    }
    for (size_t i = 0; i < o->n_outputs; i++) {
        const char *path = o->outputs[i].path;
        *subject = path ? path : o->chart_path;
        if (o->chart_path && (is_same_place(path, o->chart_path) || is_chart_name(path)))
            return ih_error_set(err, IH_CONFLICT, "cannot be both a chart and the data");
        for (size_t k = 0; k < i; k++) {
            *subject = path ? path : o->outputs[k].path;
            if (is_same_place(path, o->outputs[k].path))
                return ih_error_set(err, IH_CONFLICT,
                                    "two formats for one file: give each its own -o FILE");
        }
    }
    *subject = NULL;
    return IH_OK;
}

enum ih_status ih_destinations_check(const struct ih_options *o, struct ih_destinations *d,
                                     const char **subject, struct ih_error *err)
{
    struct stat st;
    enum ih_status status = IH_OK;
    find_destinations(o, d);
    *subject = o->list_path;
    if (o->list_path && find_input(o->list_path, &st)) /* else opening it fails with the reason */
        status = check_input(&st, d, err);
    if (status == IH_OK && o->measure.mask && find_input(o->measure.mask, &st)) {
        *subject = o->measure.mask;
        status = check_input(&st, d, err);
    }
    for (size_t i = 0; i < o->n_paths && status == IH_OK; i++) {
        *subject = o->paths[i];
        status = check_path(o, d, i, err);
    }
    if (status != IH_OK)
        return status;
    *subject = NULL;
    return separate(o, subject, err);
}
