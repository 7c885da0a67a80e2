#define _POSIX_C_SOURCE 200809L

#include "cli/emit.h"

#include "base/text.h"
#include "cli/chartfile.h"
#include "cli/outfile.h"
#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OUTPUTS_MAX = 2 }; /* the data output and one chart */

struct ih_emit {
    const struct ih_options *options; /* borrowed */
    pthread_mutex_t lock;             /* held while a record is written */
    struct ih_outfile data;
    void *output; /* state of options->output */
    struct ih_charts *charts;
    struct ih_file_identity outputs[OUTPUTS_MAX];
    size_t n_outputs;

    uint64_t n_done, n_failed, n_skipped, n_pixels;
    struct timespec started;
};

void ih_complain(const char *path, const char *message)
{
    char shown_path[IH_ESCAPED_MAX], shown[4 * IH_MESSAGE_MAX];
    ih_escape(shown_path, sizeof shown_path, path ? path : "");
    ih_escape(shown, sizeof shown, message);
    fprintf(stderr, "imghist: %s%s%s\n", shown_path, path ? ": " : "", shown);
}

enum ih_exit ih_exit_of(enum ih_status status)
{
    switch (status) {
    case IH_OK:
        return IH_EXIT_OK;
    case IH_USAGE:
    case IH_CONFLICT:
        return IH_EXIT_USAGE;
    case IH_UNAVAILABLE:
        return IH_EXIT_UNAVAILABLE;
    default:
        return IH_EXIT_FAILED;
    }
}

/* A regular file that is written to must not be an input; what else it may be is no image. */
static void protect(struct ih_emit *e, const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        e->outputs[e->n_outputs++] = (struct ih_file_identity){st->st_dev, st->st_ino};
}

static enum ih_status open_data(struct ih_emit *e, struct ih_error *err)
{
    const struct ih_options *o = e->options;
    enum ih_status status = ih_outfile_open(&e->data, o->output_path, err);
    if (status != IH_OK)
        return status;
    struct ih_output_options with = {.layout = o->csv_layout, .verbose = o->is_verbose};
    ih_terminal_look(e->data.stream, &with.colour, &with.unicode);
    return o->output->begin(e->data.stream, &with, &e->output, err);
}

/* Remembers the files that exist already and will be written to, and looks for them among the paths
 * of the command line. Inputs that are found later are compared when they are opened. */
static enum ih_status protect_inputs(struct ih_emit *e, const char **subject, struct ih_error *err)
{
    const struct ih_options *o = e->options;
    struct stat st;
    if (o->output && (o->output_path ? stat(o->output_path, &st) == 0 : fstat(1, &st) == 0))
        protect(e, &st);
    if (o->chart_path && stat(o->chart_path, &st) == 0)
        protect(e, &st);
    for (size_t i = 0; i < o->n_paths; i++) {
        if (strcmp(o->paths[i], "-") == 0 ? fstat(0, &st) != 0 : stat(o->paths[i], &st) != 0)
            continue;
        const struct ih_file_identity id = {st.st_dev, st.st_ino};
        if (ih_check_not_output(&id, e->outputs, e->n_outputs, err) != IH_OK) {
            *subject = o->paths[i];
            return err->status;
        }
    }
    return IH_OK;
}

/* The data goes to another file than a chart. */
static enum ih_status separate_outputs(const struct ih_options *o, const char **subject,
                                       struct ih_error *err)
{
    if (!o->output_path || !o->chart_path)
        return IH_OK;
    char *data = ih_outfile_resolve(o->output_path), *chart = ih_outfile_resolve(o->chart_path);
    size_t n = data ? strlen(data) : 0, n_suffix = strlen(IH_CHART_SUFFIX);
    bool is_same = data && chart && strcmp(data, chart) == 0;
    bool is_chart = n > n_suffix && strcmp(data + n - n_suffix, IH_CHART_SUFFIX) == 0;
    free(data);
    free(chart);
    if (!is_same && !is_chart)
        return IH_OK;
    *subject = o->output_path;
    return ih_error_set(err, IH_CONFLICT, "cannot be a chart and the data at once");
}

enum ih_status ih_emit_open(const struct ih_options *options, struct ih_emit **emit,
                            const char **subject, struct ih_error *err)
{
    *subject = NULL;
    struct ih_emit *e = calloc(1, sizeof *e);
    if (!e)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    e->options = options;
    pthread_mutex_init(&e->lock, NULL);
    clock_gettime(CLOCK_MONOTONIC, &e->started);
    enum ih_status status = protect_inputs(e, subject, err);
    if (status == IH_OK)
        status = separate_outputs(options, subject, err);
    if (status == IH_OK && options->chart_path)
        status = ih_charts_open(options->chart_path, &options->chart, &e->charts, err);
    if (status == IH_OK && options->output) {
        status = open_data(e, err);
        if (status != IH_OK && status != IH_USAGE)
            *subject = options->output_path;
    }
    if (status != IH_OK)
        ih_emit_close(e);
    else
        *emit = e;
    return status;
}

const struct ih_file_identity *ih_emit_outputs(const struct ih_emit *e, size_t *n)
{
    *n = e->n_outputs;
    return e->outputs;
}

/* Ends the process where it stands: other threads may be waiting for inputs that never end. */
static void leave(const struct ih_emit *e, enum ih_exit code)
{
    ih_charts_unlink(e->charts);
    ih_outfile_unlink(&e->data);
    _exit((int)code);
}

static void give_up(const struct ih_emit *e, enum ih_exit code, const char *path,
                    const char *message)
{
    ih_complain(path, message);
    leave(e, code);
}

static const char *data_name(const struct ih_emit *e)
{
    return e->options->output_path ? e->options->output_path : "standard output";
}

static void write_data(struct ih_emit *e, const struct ih_result *result)
{
    struct ih_error reason;
    errno = 0;
    e->options->output->record(e->output, result);
    if (e->data.is_standard)
        fflush(e->data.stream); /* whoever reads along sees each record as it is done */
    if (!ferror(e->data.stream))
        return;
    ih_error_errno(&reason, errno ? errno : EIO, "cannot write");
    give_up(e, IH_EXIT_FAILED, data_name(e), reason.message);
}

static void write_chart(struct ih_emit *e, const struct ih_result *result)
{
    char target[IH_CHART_PATH_MAX];
    struct ih_error reason;
    enum ih_status status = ih_charts_draw(e->charts, result, target, sizeof target, &reason);
    if (status != IH_OK)
        give_up(e, ih_exit_of(status), target, reason.message);
}

bool ih_emit_take(void *emit, const struct ih_input *input, const struct ih_result *result)
{
    struct ih_emit *e = emit;
    const char *path = input->path ? input->path : "";
    if (result->status == IH_UNKNOWN && !input->is_named) {
        e->n_skipped++;
        return true;
    }
    if (result->status == IH_CONFLICT)
        give_up(e, IH_EXIT_USAGE, path, result->error.message);
    if (result->status == IH_OK) {
        e->n_done++;
        e->n_pixels += result->histogram.n_pixels;
    } else {
        e->n_failed++;
        ih_complain(path, result->error.message);
    }
    pthread_mutex_lock(&e->lock);
    if (e->output)
        write_data(e, result);
    if (e->charts && result->status == IH_OK)
        write_chart(e, result);
    pthread_mutex_unlock(&e->lock);
    if (result->status != IH_OK && e->options->fails_fast)
        leave(e, ih_emit_finish(e));
    return true;
}

static void say_summary(const struct ih_emit *e)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)(now.tv_sec - e->started.tv_sec) +
                     (double)(now.tv_nsec - e->started.tv_nsec) * 1e-9;
    fprintf(stderr,
            "imghist: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64
            " skipped; %.1f megapixels in %.3f s\n",
            e->n_done, e->n_failed, e->n_skipped, (double)e->n_pixels * 1e-6, seconds);
}

/* Gives the outputs their names, but for a file that would hold nothing because all failed. JSON
 * says what failed. */
static void complete_outputs(struct ih_emit *e)
{
    const struct ih_options *o = e->options;
    struct ih_error reason;
    bool is_worthless = e->n_done == 0 && e->n_failed > 0 && !e->data.is_standard;
    if (e->output && (!is_worthless || o->output->holds_failures)) {
        o->output->end(e->output);
        if (ih_outfile_commit(&e->data, &reason) != IH_OK)
            give_up(e, IH_EXIT_FAILED, data_name(e), reason.message);
    }
    if (e->charts && ih_charts_commit(e->charts, &reason) != IH_OK)
        give_up(e, IH_EXIT_FAILED, o->chart_path, reason.message);
}

enum ih_exit ih_emit_finish(struct ih_emit *e)
{
    const struct ih_options *o = e->options;
    pthread_mutex_lock(&e->lock);
    complete_outputs(e);
    pthread_mutex_unlock(&e->lock);
    uint64_t n_inputs = e->n_done + e->n_failed;
    if (o->is_verbose)
        say_summary(e);
    else if (e->n_failed > 0 && n_inputs > 1 && !o->is_quiet)
        fprintf(stderr, "imghist: %" PRIu64 " of %" PRIu64 " inputs failed\n", e->n_failed,
                n_inputs);
    else if (n_inputs == 0 && !o->is_quiet)
        fprintf(stderr, "imghist: no images found, %" PRIu64 " other files skipped\n",
                e->n_skipped);
    return e->n_failed ? IH_EXIT_FAILED : IH_EXIT_OK;
}

void ih_emit_interrupt(struct ih_emit *e)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    /* For good where it succeeds: nothing is written any more. */
    bool is_whole = pthread_mutex_timedlock(&e->lock, &until) == 0;
    ih_charts_unlink(e->charts);
    ih_outfile_unlink(&e->data);
    if (is_whole && e->output && e->data.is_standard) {
        e->options->output->end(e->output);
        fflush(e->data.stream);
    }
}

void ih_emit_close(struct ih_emit *e)
{
    if (!e)
        return;
    if (e->output)
        e->options->output->close(e->output);
    ih_outfile_discard(&e->data);
    ih_charts_close(e->charts);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
