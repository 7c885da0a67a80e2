/*
 * The driver of --bench: for every task and kind of data the input is made, what must come out of
 * it is worked out, and all rungs are run on it, first for their answer and then for their time.
 *
 * A task whose answers are only comparable on data made for it (sums: see job.h) has its
 * rungs verified on that first. The rung is then checked again on the data it is timed on.
 */
#define _POSIX_C_SOURCE 200809L

#include "bench/bench.h"

#include "base/machine.h"
#include "bench/measure.h"
#include "bench/picture.h"
#include "cli/destinations.h"
#include "output/file.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct bench {
    const struct ih_options *options;
    struct ih_bench_cpu *cpu;
    struct ih_bench_gpu *gpu;
    char no_gpu[IH_MESSAGE_MAX]; /* why gpu is NULL */
    struct ih_bench_report report;
    struct ih_bench_picture picture; /* of --chart */
    FILE *stream;
    unsigned n_bad; /* rows that are wrong or failed */
};

/* One task under way. */
struct run {
    struct ih_bench_job job;
    struct ih_bench_rung rungs[IH_BENCH_RUNGS_MAX];
    struct ih_bench_row rows[IH_BENCH_RUNGS_MAX];
    size_t n_rungs;
};

static void fail_all(struct run *run, const char *device, enum ih_bench_status status,
                     const char *message)
{
    for (size_t i = 0; i < run->n_rungs; i++)
        if (!device || strcmp(run->rungs[i].device, device) == 0)
            ih_bench_row_fail(&run->rows[i], status, message);
}

/* Makes the data, here and on the GPU, and lets all rungs answer. */
static void verify_on(struct bench *b, struct run *run, enum ih_bench_data data)
{
    struct ih_error err = {0};
    enum ih_status status = ih_bench_job_fill(&run->job, data, &err);
    if (status != IH_OK) {
        fail_all(run, NULL, IH_BENCH_FAILED, err.message);
        return;
    }
    if (b->gpu && (status = ih_bench_gpu_load(b->gpu, &run->job, &err)) != IH_OK)
        fail_all(run, "cuda", status == IH_MEMORY ? IH_BENCH_SKIPPED : IH_BENCH_FAILED,
                 err.message);
    for (size_t i = 0; i < run->n_rungs; i++)
        ih_bench_verify(&run->rows[i], &run->job);
}

/* False where the report cannot be written any more. */
static bool report_row(struct bench *b, const struct ih_bench_row *row)
{
    if (row->status == IH_BENCH_WRONG || row->status == IH_BENCH_FAILED) {
        fprintf(stderr, "imghist: bench: %s, %s %s on %s data: %s\n", row->task->name,
                row->rung->device, row->rung->name, ih_bench_data_name(row->data), row->reason);
        b->n_bad++;
    }
    errno = 0;
    ih_bench_report_row(&b->report, row);
    if (b->options->chart_path)
        ih_bench_picture_add(&b->picture, row);
    return fflush(b->stream) == 0 && !ferror(b->stream);
}

static bool run_data(struct bench *b, struct run *run, enum ih_bench_data data)
{
    const struct ih_bench_task *task = run->job.task;
    struct ih_bench_baseline baseline = {0};
    bool is_well = true;
    for (size_t i = 0; i < run->n_rungs; i++) {
        ih_bench_row_begin(&run->rows[i], task, data, &run->rungs[i]);
        run->rows[i].n_bytes = run->job.n_bytes;
    }
    if (!run->job.input)
        fail_all(run, NULL, IH_BENCH_SKIPPED, "out of memory for the input: name a smaller size");
    if (run->job.input && task->verified != IH_DATA_NONE)
        verify_on(b, run, task->verified);
    if (run->job.input)
        verify_on(b, run, data);
    for (size_t i = 0; i < run->n_rungs && is_well; i++) {
        ih_bench_time(&run->rows[i], &run->job, &baseline);
        is_well = report_row(b, &run->rows[i]);
    }
    return is_well;
}

static bool run_task(struct bench *b, const struct ih_bench_task *task)
{
    struct run *run = calloc(1, sizeof *run);
    bool is_well = true;
    if (!run) {
        ih_print_error(NULL, "out of memory");
        return false;
    }
    ih_bench_job_size(&run->job, task, (size_t)b->options->bench_bytes);
    run->n_rungs = ih_bench_cpu_rungs(b->cpu, task, run->rungs, IH_BENCH_RUNGS_MAX);
    run->n_rungs += ih_bench_gpu_rungs(b->gpu, b->no_gpu, task, run->rungs + run->n_rungs,
                                       IH_BENCH_RUNGS_MAX - run->n_rungs);
    run->job.input = b->gpu ? ih_bench_gpu_host_alloc(b->gpu, run->job.n_bytes)
                            : aligned_alloc(64, (run->job.n_bytes / 64 + 1) * 64);
    for (const enum ih_bench_data *data = task->timed; *data != IH_DATA_NONE && is_well; data++)
        is_well = run_data(b, run, *data);
    if (b->gpu)
        ih_bench_gpu_host_free(b->gpu, run->job.input);
    else
        free(run->job.input);
    free(run);
    return is_well;
}

/* ---- the machines ---- */

static unsigned n_threads_of(const struct ih_options *o)
{
    return o->n_threads ? o->n_threads : ih_machine_processors();
}

static enum ih_status open_machines(struct bench *b, struct ih_error *err)
{
    const char *wanted = b->options->device.backend; /* NULL: auto */
    struct ih_error reason = {0};
    enum ih_status status = IH_UNAVAILABLE;
    if (wanted && strcmp(wanted, "cpu") == 0)
        ih_error_set(&reason, IH_UNAVAILABLE, "--device=cpu");
    else
        status = ih_bench_gpu_open(b->options->device.ordinals[0], &b->gpu, &reason);
    if (status != IH_OK) {
        memcpy(b->no_gpu, reason.message, sizeof b->no_gpu);
        if (wanted && strcmp(wanted, "cuda") == 0)
            return ih_error_set(err, status, "--device=cuda: %.200s", reason.message);
    }
    return ih_bench_cpu_open(n_threads_of(b->options), &b->cpu, err);
}

/* ---- the report ---- */

static enum ih_bench_format format_of(const struct ih_options *o)
{
    const char *name = o->output ? o->output->name : "text";
    return strcmp(name, "csv") == 0    ? IH_BENCH_CSV
           : strcmp(name, "json") == 0 ? IH_BENCH_JSON
                                       : IH_BENCH_TABLE;
}

static struct ih_bench_head head_of(const struct bench *b)
{
    return (struct ih_bench_head){.size_bytes = (size_t)b->options->bench_bytes,
                                  .n_threads = n_threads_of(b->options),
                                  .gpu = b->gpu ? ih_bench_gpu_name(b->gpu) : NULL,
                                  .gpu_reason = b->no_gpu};
}

static bool run_tasks(struct bench *b)
{
    const struct ih_bench_head head = head_of(b);
    bool is_well = true;
    ih_bench_report_begin(&b->report, b->stream, format_of(b->options), b->options->is_verbose,
                          &head);
    for (size_t i = 0; i < ih_bench_n_tasks && is_well; i++)
        is_well = run_task(b, &ih_bench_tasks[i]);
    if (is_well)
        ih_bench_report_end(&b->report);
    return is_well && fflush(b->stream) == 0 && !ferror(b->stream);
}

/* With -o the report is kept in memory until it is whole, so that an interrupted run leaves nothing
 * behind; that FILE can be written is tried before the minutes are spent. */
static enum ih_status write_report(struct bench *b, struct ih_error *err)
{
    const char *path = b->options->output_path;
    struct ih_outfile file;
    char *text = NULL;
    size_t n_bytes = 0;
    ih_outfile_init(&file);
    enum ih_status status = ih_outfile_open(&file, path, err);
    if (status == IH_OK && path)
        ih_outfile_discard(&file);
    if (status == IH_OK) {
        b->stream = path ? open_memstream(&text, &n_bytes) : stdout;
        if (!b->stream || !run_tasks(b))
            status = ih_error_errno(err, errno ? errno : EIO, "cannot write");
    }
    if (path && b->stream)
        fclose(b->stream);
    if (status == IH_OK && path)
        status = ih_outfile_open(&file, path, err);
    if (status == IH_OK && path)
        fwrite(text, 1, n_bytes, file.stream); /* commit finds what failed */
    if (status == IH_OK)
        status = ih_outfile_commit(&file, err);
    ih_outfile_discard(&file);
    free(text);
    return status;
}

/* ---- the chart ---- */

/* That it can be written is tried before the minutes are spent, as with -o. */
static enum ih_status try_chart(const struct bench *b, struct ih_error *err)
{
    struct ih_outfile file;
    struct stat st;
    const char *path = b->options->chart_path;
    if (!path || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return IH_OK;
    ih_outfile_init(&file);
    enum ih_status status = ih_outfile_open(&file, path, err);
    ih_outfile_discard(&file);
    return status;
}

static enum ih_status write_chart(const struct bench *b, struct ih_error *err)
{
    const struct ih_bench_head head = head_of(b);
    struct ih_outfile file;
    unsigned char *image = NULL;
    size_t n_bytes = 0;
    if (!b->options->chart_path)
        return IH_OK;
    ih_outfile_init(&file);
    enum ih_status status =
        ih_bench_picture_draw(&b->picture, &head, &b->options->chart, &image, &n_bytes, err);
    if (status == IH_OK)
        status = ih_outfile_open(&file, b->options->chart_path, err);
    if (status == IH_OK) {
        fwrite(image, 1, n_bytes, file.stream); /* commit finds what failed */
        status = ih_outfile_commit(&file, err);
    }
    free(image);
    return status;
}

enum ih_exit ih_bench_run(const struct ih_options *o)
{
    struct bench b = {.options = o};
    struct ih_error err = {0};
    const char *subject = NULL;
    enum ih_exit code = IH_EXIT_OK;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, and told as one */
    enum ih_status status = ih_destinations_separate(o, &subject, &err);
    if (status == IH_OK)
        status = open_machines(&b, &err);
    if (status != IH_OK) {
        ih_print_error(subject, err.message);
        code = ih_exit_of(status);
    } else if (try_chart(&b, &err) != IH_OK) {
        ih_print_error(o->chart_path, err.message);
        code = IH_EXIT_FAILED;
    } else if (write_report(&b, &err) != IH_OK) {
        ih_print_error(o->output_path ? o->output_path : "standard output", err.message);
        code = IH_EXIT_FAILED;
    } else if (write_chart(&b, &err) != IH_OK) {
        ih_print_error(o->chart_path, err.message);
        code = IH_EXIT_FAILED;
    } else if (b.n_bad > 0) {
        code = IH_EXIT_FAILED;
    }
    ih_bench_picture_reset(&b.picture);
    ih_bench_cpu_close(b.cpu);
    ih_bench_gpu_close(b.gpu);
    return code;
}
