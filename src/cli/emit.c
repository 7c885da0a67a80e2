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
    enum ih_exit exit_code; /* of what ended the run before its time */
};

void ih_complain(const char *path, const char *message)
{
    char shown[IH_ESCAPED_MAX];
    if (path) {
        ih_escape(shown, sizeof shown, path);
        fprintf(stderr, "imghist: %s: %s\n", shown, message);
    } else {
        fprintf(stderr, "imghist: %s\n", message);
    }
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
    struct ih_error reason = {IH_OK, ""};
    struct stat st;
    if (o->output_path ? stat(o->output_path, &st) == 0 : fstat(1, &st) == 0)
        protect(e, &st);
    enum ih_status status = ih_outfile_open(&e->data, o->output_path, &reason);
    if (status != IH_OK)
        return ih_error_set(err, status, "%.60s: %.170s", o->output_path, reason.message);
    struct ih_output_options with = {.layout = o->csv_layout, .verbose = o->is_verbose};
    ih_terminal_look(e->data.stream, &with.colour, &with.unicode, &with.columns);
    return o->output->begin(e->data.stream, &with, &e->output, err);
}

enum ih_status ih_emit_open(const struct ih_options *options, struct ih_emit **emit,
                            struct ih_error *err)
{
    struct ih_emit *e = calloc(1, sizeof *e);
    if (!e)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    e->options = options;
    pthread_mutex_init(&e->lock, NULL);
    clock_gettime(CLOCK_MONOTONIC, &e->started);
    enum ih_status status = IH_OK;
    struct stat st;
    if (options->chart_path) {
        status = ih_charts_open(options->chart_path, &e->charts, err);
        if (status == IH_OK && stat(options->chart_path, &st) == 0)
            protect(e, &st);
    }
    if (status == IH_OK && options->output)
        status = open_data(e, err);
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

/* Something that makes going on pointless. */
static bool give_up(struct ih_emit *e, enum ih_exit exit_code, const char *path,
                    const char *message)
{
    ih_complain(path, message);
    e->exit_code = exit_code;
    return false;
}

static bool data_is_well(struct ih_emit *e)
{
    struct ih_error reason;
    const char *name = e->options->output_path ? e->options->output_path : "standard output";
    if (e->data.is_standard)
        fflush(e->data.stream); /* whoever reads along sees each record as it is done */
    if (!ferror(e->data.stream))
        return true;
    ih_error_errno(&reason, errno ? errno : EIO, "cannot write");
    return give_up(e, IH_EXIT_FAILED, name, reason.message);
}

static bool write_record(struct ih_emit *e, const struct ih_result *result)
{
    bool go_on = true;
    struct ih_error reason;
    if (e->output) {
        errno = 0;
        e->options->output->record(e->output, result);
        go_on = data_is_well(e);
    }
    if (go_on && e->charts && result->status == IH_OK) {
        char target[IH_CHART_PATH_MAX];
        enum ih_status status = ih_charts_draw(e->charts, result, target, sizeof target, &reason);
        if (status == IH_USAGE || status == IH_CONFLICT)
            return give_up(e, IH_EXIT_USAGE, target, reason.message);
        if (status != IH_OK)
            return give_up(e, IH_EXIT_FAILED, target, reason.message);
    }
    return go_on;
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
        return give_up(e, IH_EXIT_USAGE, path, result->error.message);
    if (result->status == IH_OK) {
        e->n_done++;
        e->n_pixels += result->histogram.n_pixels;
    } else {
        e->n_failed++;
        ih_complain(path, result->error.message);
    }
    pthread_mutex_lock(&e->lock);
    bool go_on = write_record(e, result);
    pthread_mutex_unlock(&e->lock);
    return go_on && (result->status == IH_OK || !e->options->fails_fast);
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

enum ih_exit ih_emit_finish(struct ih_emit *e)
{
    const struct ih_options *o = e->options;
    struct ih_error reason;
    pthread_mutex_lock(&e->lock);
    bool is_worthless = e->n_done == 0 && e->n_failed > 0 && !e->data.is_standard;
    if (e->output && e->exit_code == IH_EXIT_OK && !is_worthless) {
        o->output->end(e->output);
        e->output = NULL;
        if (ih_outfile_commit(&e->data, &reason) != IH_OK)
            give_up(e, IH_EXIT_FAILED, o->output_path ? o->output_path : "standard output",
                    reason.message);
    }
    if (e->charts && e->exit_code == IH_EXIT_OK && ih_charts_commit(e->charts, &reason) != IH_OK)
        give_up(e, IH_EXIT_FAILED, o->chart_path, reason.message);
    pthread_mutex_unlock(&e->lock);

    uint64_t n_inputs = e->n_done + e->n_failed;
    if (o->is_verbose)
        say_summary(e);
    else if (e->n_failed > 0 && n_inputs > 1 && !o->is_quiet)
        fprintf(stderr, "imghist: %" PRIu64 " of %" PRIu64 " inputs failed\n", e->n_failed,
                n_inputs);
    else if (n_inputs == 0 && e->exit_code == IH_EXIT_OK && !o->is_quiet)
        fprintf(stderr, "imghist: no images found, %" PRIu64 " other files skipped\n",
                e->n_skipped);
    return e->exit_code != IH_EXIT_OK ? e->exit_code : e->n_failed ? IH_EXIT_FAILED : IH_EXIT_OK;
}

void ih_emit_interrupt(struct ih_emit *e)
{
    pthread_mutex_lock(&e->lock); /* for good: nothing is written after this */
    if (e->output && e->data.is_standard) {
        e->options->output->end(e->output);
        e->output = NULL;
        fflush(e->data.stream);
    }
    ih_charts_discard(e->charts);
    ih_outfile_discard(&e->data);
}

void ih_emit_close(struct ih_emit *e)
{
    if (!e)
        return;
    if (e->output) /* what it still writes goes to a file that is thrown away, or a broken pipe */
        e->options->output->end(e->output);
    ih_outfile_discard(&e->data);
    ih_charts_close(e->charts);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
