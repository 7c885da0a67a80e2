#define _POSIX_C_SOURCE 200809L

#include "cli/destinations.h"

#include "cli/chartfile.h"
#include "output/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Only a regular file can also be an input image. */
static void add_destination(struct ih_destinations *d, const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        d->files[d->n_files++] = (struct ih_file_identity){st->st_dev, st->st_ino};
}

static void find_destinations(const struct ih_options *o, struct ih_destinations *d)
{
    struct stat st;
    d->n_files = 0;
    if (o->output && (o->output_path ? stat(o->output_path, &st) == 0 : fstat(1, &st) == 0))
        add_destination(d, &st);
    if (o->chart_path && stat(o->chart_path, &st) == 0)
        add_destination(d, &st);
}

/* A path that is not a file, but could be the value of the option before it. */
static enum ih_status check_stray_value(const struct ih_options *o, size_t i, struct ih_error *err)
{
    if (!o->stray_option || i != o->stray_path)
        return IH_OK;
    bool is_chart = o->stray_option->value == IH_VALUE_FILE && (o->n_paths > 1 || o->list_path);
    if (!is_chart && !ih_option_has_choice(o->stray_option, o->paths[i]))
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "no such file; did you mean --%s=%.100s?",
                        o->stray_option->name, o->paths[i]);
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

static enum ih_status check_path(const struct ih_options *o, const struct ih_destinations *d,
                                 size_t i, struct ih_error *err)
{
    struct stat st;
    if (!find_input(o->paths[i], &st))
        return errno == ENOENT ? check_stray_value(o, i, err) : IH_OK;
    enum ih_status status = check_input(&st, d, err);
    if (status == IH_OK && o->chart_path && S_ISREG(st.st_mode))
        status = ih_charts_check_input(&o->chart, o->paths[i], err);
    return status;
}

/* Whether standard output is this file, as in `--chart=c.png >c.png`. */
static bool is_standard_output(const char *path)
{
    struct stat st, out;
    return stat(path, &st) == 0 && fstat(1, &out) == 0 && S_ISREG(out.st_mode) &&
           st.st_dev == out.st_dev && st.st_ino == out.st_ino;
}

enum ih_status ih_destinations_separate(const struct ih_options *o, const char **subject,
                                        struct ih_error *err)
{
    bool is_one;
    if (!o->chart_path)
        return IH_OK;
    if (o->output_path) {
        char *data = ih_outfile_resolve(o->output_path), *chart = ih_outfile_resolve(o->chart_path);
        is_one = data && ((chart && strcmp(data, chart) == 0) || ih_charts_is_name(data));
        free(data);
        free(chart);
    } else {
        is_one = is_standard_output(o->chart_path) &&
                 (o->output || o->action == IH_ACTION_BENCH); /* which always reports */
    }
    if (!is_one)
        return IH_OK;
    *subject = o->output_path ? o->output_path : o->chart_path;
    return ih_error_set(err, IH_CONFLICT, "cannot be both a chart and the data");
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
    for (size_t i = 0; i < o->n_paths && status == IH_OK; i++) {
        *subject = o->paths[i];
        status = check_path(o, d, i, err);
    }
    if (status != IH_OK)
        return status;
    *subject = NULL;
    return ih_destinations_separate(o, subject, err);
}
