#define _POSIX_C_SOURCE 200809L

#include "cli/emit.h"

#include "base/clock.h"
#include "cli/chartfile.h"
#include "cli/destinations.h"
#include "cli/paths.h"
#include "cli/run_report.h"
#include "cli/terminal.h"
#include "counts/total.h"
#include "output/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of the stream that data goes to: a record of all bins is 12 KB, and a file's own is 4. */
enum { BUFFER_BYTES = 1 << 16 };

struct ih_emit {
    const struct ih_options *options; /* borrowed */
    struct ih_destinations targets;
    struct ih_total total;
    struct ih_run_report tally;
    bool is_on_terminal; /* data goes to one, perhaps the one that shows progress */
    bool is_holding;     /* progress is held */

    _Atomic(struct ih_charts *) charts;
    struct ih_outfile data;
    void *output; /* state of options->output */

    pthread_mutex_t lock; /* held while a record is written; guards what follows */
    bool is_open;         /* the outputs have been opened and have not ended */
    struct ih_progress *progress;
    uint64_t n_charts_failed; /* of counted inputs */
};

static enum ih_status open_data(struct ih_emit *e, struct ih_error *err)
{
    static char buffer[BUFFER_BYTES]; /* standard output needs it until the program ends */
    const struct ih_options *o = e->options;
    enum ih_status status = ih_outfile_open(&e->data, o->output_path, err);
    if (status != IH_OK)
        return status;
    setvbuf(e->data.stream, buffer, _IOFBF, sizeof buffer);
    e->is_on_terminal = isatty(fileno(e->data.stream)) == 1;
    struct ih_output_options with = {.layout = o->layout, .verbose = o->is_verbose};
    ih_terminal_look(e->data.stream, o, &with);
    return o->output->begin(e->data.stream, &with, &e->output, err);
}

/* Whoever reads data from a pipe may write to the same terminal, as a pager does: there progress
 * must be asked for. */
static void open_progress(struct ih_emit *e)
{
    const struct ih_options *o = e->options;
    const struct ih_walk_sources sources = ih_walk_sources_of(o);
    struct stat st;
    bool is_piped = o->output && fstat(fileno(e->data.stream), &st) == 0 && S_ISFIFO(st.st_mode);
    if (ih_progress_is_wanted(o->progress, o->is_quiet || is_piped))
        e->progress = ih_progress_open(ih_walk_count(&sources));
}

struct ih_emit *ih_emit_new(const struct ih_options *options)
{
    struct ih_emit *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->options = options;
    atomic_init(&e->charts, NULL);
    pthread_mutex_init(&e->lock, NULL);
    ih_outfile_init(&e->data);
    ih_run_report_init(&e->tally);
    ih_total_init(&e->total, options->luma, options->clip_low, options->clip_high);
    return e;
}

enum ih_status ih_emit_open(struct ih_emit *e, const char **subject, struct ih_error *err)
{
    const struct ih_options *o = e->options;
    struct ih_charts *charts = NULL;
    *subject = NULL;
    enum ih_status status = ih_destinations_check(o, &e->targets, subject, err);
    if (status == IH_OK && o->chart_path)
        status = ih_charts_open(o->chart_path, &o->chart, &charts, err);
    e->charts = charts;
    if (status == IH_OK && o->output) {
        status = open_data(e, err);
        if (status != IH_OK && status != IH_USAGE)
            *subject = o->output_path;
    }
    if (status != IH_OK)
        return status;
    pthread_mutex_lock(&e->lock);
    open_progress(e);
    e->is_open = true;
    pthread_mutex_unlock(&e->lock);
    return IH_OK;
}

const struct ih_file_identity *ih_emit_outputs(const struct ih_emit *e, size_t *n)
{
    *n = e->targets.n_files;
    return e->targets.files;
}

/* Keeps the line of progress away while something else is written. */
static void hold(struct ih_emit *e)
{
    if (!e->is_holding)
        ih_progress_hold(e->progress);
    e->is_holding = true;
}

static void release(struct ih_emit *e)
{
    if (e->is_holding)
        ih_progress_release(e->progress);
    e->is_holding = false;
}

/* Ends the process where it stands: other threads may be waiting for inputs that never end. */
static void leave(struct ih_emit *e, enum ih_exit code)
{
    ih_charts_unlink(e->charts);
    ih_outfile_unlink(&e->data);
    _exit((int)code);
}

static void give_up(struct ih_emit *e, enum ih_exit code, const char *path, const char *message)
{
    hold(e);
    ih_print_error(path, message);
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
    /* Of a directory of charts, one that cannot have its name costs nothing but itself. */
    if (!ih_charts_is_one(e->charts) && (status == IH_CONFLICT || status == IH_LIMIT)) {
        ih_print_error(target, reason.message);
        e->n_charts_failed++;
    } else if (status != IH_OK) {
        give_up(e, ih_exit_of(status), target, reason.message);
    }
}

/* The total of no images has no chart; where there is one chart and a total, it is the total's. */
static bool is_drawn(const struct ih_emit *e, const struct ih_result *result)
{
    if (!e->charts || result->status != IH_OK)
        return false;
    if (result->is_total)
        return result->n_images > 0;
    return !(e->options->with_total && ih_charts_is_one(e->charts));
}

/* One record; the lock is held. */
static void write_result(struct ih_emit *e, const struct ih_result *result)
{
    const uint64_t started_ns = ih_clock_ns();
    if (e->is_on_terminal)
        hold(e);
    if (e->output)
        write_data(e, result);
    if (is_drawn(e, result))
        write_chart(e, result);
    release(e);
    e->tally.write_ns += ih_clock_ns() - started_ns;
}

static void count(struct ih_emit *e, const char *path, const struct ih_result *result)
{
    bool has_failed = result->status != IH_OK;
    struct ih_error reason;
    ih_run_report_add(&e->tally, result);
    ih_progress_add(e->progress, has_failed, has_failed ? 0 : result->histogram.n_pixels);
    if (has_failed) {
        hold(e);
        ih_print_error(path, result->error.message);
        release(e);
    }
    if (e->options->with_total && ih_total_add(&e->total, result, &reason) != IH_OK)
        give_up(e, IH_EXIT_FAILED, IH_TOTAL_NAME, reason.message);
}

bool ih_emit_take(void *emit, const struct ih_input *input, const struct ih_result *result)
{
    struct ih_emit *e = emit;
    const char *path = input->path ? input->path : "";
    struct ih_result told;
    if (result->status == IH_LIMIT) {
        told = *result;
        ih_name_options(&told.error);
        result = &told;
    }
    if (result->status == IH_UNKNOWN && !input->is_named) {
        e->tally.n_skipped++;
        return true;
    }
    if (result->status == IH_CONFLICT)
        give_up(e, IH_EXIT_USAGE, path, result->error.message);
    count(e, path, result);
    if (!e->options->only_total) {
        pthread_mutex_lock(&e->lock);
        write_result(e, result);
        pthread_mutex_unlock(&e->lock);
    }
    e->tally.ended_ns = ih_clock_ns();
    if (result->status != IH_OK && e->options->fails_fast)
        leave(e, ih_emit_finish(e));
    return true;
}

static void write_total(struct ih_emit *e)
{
    struct ih_result total;
    ih_total_result(&e->total, &total);
    write_result(e, &total);
}

/* Writes the total and gives the outputs their names, but for one that would hold nothing because
 * all inputs failed. JSON says what failed. */
static void complete_outputs(struct ih_emit *e)
{
    const struct ih_options *o = e->options;
    struct ih_error reason;
    bool is_worthless =
        e->tally.n_done == 0 && e->tally.n_failed > 0 && !(o->output && o->output->holds_failures);
    if (o->with_total && !is_worthless)
        write_total(e);
    if (e->output && (!is_worthless || (e->data.is_standard && !o->only_total))) {
        o->output->end(e->output);
        if (ih_outfile_commit(&e->data, &reason) != IH_OK)
            give_up(e, IH_EXIT_FAILED, data_name(e), reason.message);
    }
    if (e->charts && ih_charts_commit(e->charts, &reason) != IH_OK)
        give_up(e, IH_EXIT_FAILED, o->chart_path, reason.message);
}

void ih_emit_stop_progress(struct ih_emit *e)
{
    pthread_mutex_lock(&e->lock);
    ih_progress_close(e->progress);
    e->progress = NULL;
    pthread_mutex_unlock(&e->lock);
}

enum ih_exit ih_emit_finish(struct ih_emit *e)
{
    ih_emit_stop_progress(e);
    pthread_mutex_lock(&e->lock);
    complete_outputs(e);
    e->is_open = false;
    pthread_mutex_unlock(&e->lock);
    if (e->options->is_verbose)
        ih_run_report_print_all(&e->tally, stderr);
    else if (!e->options->is_quiet)
        ih_run_report_print(&e->tally, stderr);
    return e->tally.n_failed || e->n_charts_failed ? IH_EXIT_FAILED : IH_EXIT_OK;
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
    if (!is_whole || !e->is_open)
        return;
    ih_progress_interrupt(e->progress, &until);
    if (e->output && e->data.is_standard) {
        e->options->output->end(e->output);
        fflush(e->data.stream);
    }
}

void ih_emit_close(struct ih_emit *e)
{
    if (!e)
        return;
    ih_progress_close(e->progress);
    if (e->output)
        e->options->output->close(e->output);
    ih_outfile_discard(&e->data);
    ih_charts_close(e->charts);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
