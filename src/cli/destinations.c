#define _POSIX_C_SOURCE 200809L

#include "cli/destinations.h"

#include "cli/chartfile.h"
#include "output/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A regular file that is written to must not be an input; what else it may be is no image. */
static void protect(struct ih_destinations *t, const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        t->files[t->n_files++] = (struct ih_file_identity){st->st_dev, st->st_ino};
}

/* A path that is no file, and stands where a value of the option before it would, but for the =. */
static enum ih_status check_stray(const struct ih_options *o, size_t i, struct ih_error *err)
{
    if (!o->stray_option || i != o->stray_path)
        return IH_OK;
    bool is_chart = o->stray_option->value == IH_VALUE_FILE && (o->n_paths > 1 || o->list_path);
    if (!is_chart && !ih_option_has_choice(o->stray_option, o->paths[i]))
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "no such file; did you mean --%s=%.100s?",
                        o->stray_option->name, o->paths[i]);
}

static enum ih_status protect_inputs(const struct ih_options *o, struct ih_destinations *t,
                                     const char **subject, struct ih_error *err)
{
    struct stat st;
    if (o->output && (o->output_path ? stat(o->output_path, &st) == 0 : fstat(1, &st) == 0))
        protect(t, &st);
    if (o->chart_path && stat(o->chart_path, &st) == 0)
        protect(t, &st);
    if (o->list_path &&
        (strcmp(o->list_path, "-") == 0 ? fstat(0, &st) : stat(o->list_path, &st)) == 0) {
        const struct ih_file_identity id = {st.st_dev, st.st_ino};
        if (ih_check_not_output(&id, t->files, t->n_files, err) != IH_OK) {
            *subject = o->list_path;
            return err->status;
        }
    }
    for (size_t i = 0; i < o->n_paths; i++) {
        if (strcmp(o->paths[i], "-") == 0 ? fstat(0, &st) != 0 : stat(o->paths[i], &st) != 0) {
            if (errno == ENOENT && check_stray(o, i, err) != IH_OK) {
                *subject = o->paths[i];
                return err->status;
            }
            continue;
        }
        const struct ih_file_identity id = {st.st_dev, st.st_ino};
        enum ih_status status = ih_check_not_output(&id, t->files, t->n_files, err);
        if (status == IH_OK && o->chart_path && S_ISREG(st.st_mode))
            status = ih_charts_check_input(&o->chart, o->paths[i], err);
        if (status != IH_OK) {
            *subject = o->paths[i];
            return status;
        }
    }
    return IH_OK;
}

/* Whether standard output goes to this file, as with >chart.png. */
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
    return ih_error_set(err, IH_CONFLICT, "cannot be a chart and the data at once");
}

enum ih_status ih_destinations_check(const struct ih_options *o, struct ih_destinations *t,
                                     const char **subject, struct ih_error *err)
{
    t->n_files = 0;
    enum ih_status status = protect_inputs(o, t, subject, err);
    if (status == IH_OK)
        status = ih_destinations_separate(o, subject, err);
    return status;
}
