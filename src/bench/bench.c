/*
 * The driver of --bench. For every task and kind of data it generates the input, computes the
 * expected answer, and runs all rungs: first to check their answers, then to time them.
 *
 * Sums can only be compared exactly on data made for it (job.h), so their rungs are verified on
 * such data first. Each rung is checked again on the data it is timed on.
 */
#include "bench/bench.h"

#include "output/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct bench {
    const struct ih_bench_options *options;
    struct ih_bench_cpu *cpu;
    struct ih_bench_gpu *gpu;
    char gpu_name[IH_BENCH_GPU_NAME_MAX];
    char no_gpu[IH_MESSAGE_MAX]; /* why gpu is NULL */
    struct ih_bench_head head;
    struct ih_bench_report report;
    struct ih_bench_chart *chart; /* NULL: none is drawn */
    FILE *stream;
    unsigned n_bad; /* rows that are wrong or failed */
};

/* A running task. */
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

/* Generates the data, copies it to the GPU, and checks every rung on it. */
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

/* Returns false if the report cannot be written. */
static bool report_row(struct bench *b, const struct ih_bench_row *row)
{
    if (row->status == IH_BENCH_WRONG || row->status == IH_BENCH_FAILED) {
        char message[2 * IH_MESSAGE_MAX];
        snprintf(message, sizeof message, "%s, %s %s on %s data: %s", row->task->name,
                 row->rung->device, row->rung->name, ih_bench_data_name(row->data), row->reason);
        b->options->print_error("bench", message);
        b->n_bad++;
    }
    errno = 0;
    ih_bench_report_row(&b->report, row);
    if (b->chart)
        ih_bench_chart_add(b->chart, row);
    return fflush(b->stream) == 0 && !ferror(b->stream);
}

static bool run_data(struct bench *b, struct run *run, enum ih_bench_data data)
{
    const struct ih_bench_task *task = run->job.task;
    struct ih_bench_baseline baseline = {0};
    bool is_written = true;
    for (size_t i = 0; i < run->n_rungs; i++) {
        ih_bench_row_begin(&run->rows[i], task, data, &run->rungs[i]);
        run->rows[i].n_bytes = run->job.n_bytes;
    }
    if (!run->job.input) {
        fail_all(run, NULL, IH_BENCH_SKIPPED, "out of memory for the input: choose a smaller size");
    } else {
        if (task->verified != IH_DATA_NONE)
            verify_on(b, run, task->verified);
        verify_on(b, run, data);
    }
    for (size_t i = 0; i < run->n_rungs && is_written; i++) {
        ih_bench_time(&run->rows[i], &run->job, &baseline);
        is_written = report_row(b, &run->rows[i]);
    }
    return is_written;
}

static bool run_task(struct bench *b, const struct ih_bench_task *task)
{
    struct run *run = calloc(1, sizeof *run);
    bool is_written = true;
    if (!run) {
        errno = ENOMEM;
        return false;
    }
    ih_bench_job_size(&run->job, task, b->options->size_bytes);
    run->n_rungs = ih_bench_cpu_rungs(b->cpu, task, run->rungs, IH_BENCH_RUNGS_MAX);
    run->n_rungs += ih_bench_gpu_rungs(b->gpu, b->no_gpu, task, run->rungs + run->n_rungs,
                                       IH_BENCH_RUNGS_MAX - run->n_rungs);
    run->job.input = b->gpu ? ih_bench_pinned_alloc(run->job.n_bytes)
                            : aligned_alloc(64, (run->job.n_bytes / 64 + 1) * 64);
    for (const enum ih_bench_data *data = task->timed; *data != IH_DATA_NONE && is_written; data++)
        is_written = run_data(b, run, *data);
    if (b->gpu)
        ih_bench_pinned_free(run->job.input);
    else
        free(run->job.input);
    free(run);
    return is_written;
}

/* ---- the machines ---- */

static enum ih_status open_machines(struct bench *b, struct ih_error *err)
{
    const char *wanted = b->options->device;
    struct ih_error reason = {0};
    enum ih_status status = IH_UNAVAILABLE;
    if (wanted && strcmp(wanted, "cpu") == 0)
        ih_error_set(&reason, IH_UNAVAILABLE, "--device=cpu");
    else
        status = ih_bench_gpu_open(b->options->gpu_ordinal, &b->gpu, b->gpu_name, &reason);
    if (status != IH_OK) {
        memcpy(b->no_gpu, reason.message, sizeof b->no_gpu);
        if (wanted && strcmp(wanted, "cuda") == 0)
            return ih_error_set(err, status, "--device=cuda: %.200s", reason.message);
    }
    b->head = (struct ih_bench_head){.size_bytes = b->options->size_bytes,
                                     .n_threads = b->options->n_threads,
                                     .gpu = b->gpu ? b->gpu_name : NULL,
                                     .gpu_reason = b->no_gpu};
    return ih_bench_cpu_open(b->options->n_threads, &b->cpu, err);
}

/* ---- the report ---- */

static bool run_tasks(struct bench *b)
{
    bool is_written = true;
    ih_bench_report_begin(&b->report, b->stream, b->options->format, b->options->is_verbose,
                          &b->head);
    for (size_t i = 0; i < ih_bench_n_tasks && is_written; i++)
        is_written = run_task(b, &ih_bench_tasks[i]);
    if (is_written)
        ih_bench_report_end(&b->report);
    return is_written && fflush(b->stream) == 0 && !ferror(b->stream);
}

static enum ih_status write_file(const char *path, const void *bytes, size_t n_bytes,
                                 struct ih_error *err)
{
    struct ih_outfile file;
    ih_outfile_init(&file);
    enum ih_status status = ih_outfile_open(&file, path, err);
    if (status == IH_OK) {
        fwrite(bytes, 1, n_bytes, file.stream); /* commit reports a failed write */
        status = ih_outfile_commit(&file, err);
    }
    ih_outfile_discard(&file);
    return status;
}

/* Finds out whether path can be written, before minutes are spent. A device or pipe is not tried,
 * because opening it may block or be seen at its other end. */
static enum ih_status try_file(const char *path, struct ih_error *err)
{
    struct ih_outfile file;
    struct stat st;
    if (!path || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return IH_OK;
    ih_outfile_init(&file);
    enum ih_status status = ih_outfile_open(&file, path, err);
    ih_outfile_discard(&file);
    return status;
}

/* A report for a file stays in memory until it is complete, so an interrupted run leaves no part of
 * it. */
static enum ih_status write_report(struct bench *b, struct ih_error *err)
{
    const char *path = b->options->output_path;
    char *text = NULL;
    size_t n_bytes = 0;
    enum ih_status status = IH_OK;
    b->stream = path ? open_memstream(&text, &n_bytes) : stdout;
    if (!b->stream || !run_tasks(b))
        status = ih_error_errno(err, errno ? errno : EIO, "cannot write");
    if (path && b->stream)
        fclose(b->stream);
    if (status == IH_OK && path)
        status = write_file(path, text, n_bytes, err);
    free(text);
    return status;
}

static enum ih_status write_chart(const struct bench *b, struct ih_error *err)
{
    unsigned char *image = NULL;
    size_t n_bytes = 0;
    if (!b->chart)
        return IH_OK;
    enum ih_status status =
        ih_bench_chart_draw(b->chart, &b->head, &b->options->chart, &image, &n_bytes, err);
    if (status == IH_OK)
        status = write_file(b->options->chart_path, image, n_bytes, err);
    free(image);
    return status;
}

enum ih_status ih_bench_run(const struct ih_bench_options *o)
{
    struct bench b = {.options = o};
    struct ih_error err = {0};
    const char *subject = NULL;
    enum ih_status status = open_machines(&b, &err);
    if (status == IH_OK)
        status = try_file(subject = o->chart_path, &err);
    if (status == IH_OK)
        status = try_file(subject = o->output_path, &err);
    if (status == IH_OK && o->chart_path && !(b.chart = ih_bench_chart_new()))
        status = ih_error_set(&err, IH_MEMORY, "out of memory");
    if (status == IH_OK) {
        subject = o->output_path ? o->output_path : "standard output";
        status = write_report(&b, &err);
    }
    if (status == IH_OK) {
        subject = o->chart_path;
        status = write_chart(&b, &err);
    }
    if (status != IH_OK)
        o->print_error(subject, err.message);
    else if (b.n_bad > 0)
        status = IH_DEVICE;
    free(b.chart);
    ih_bench_cpu_close(b.cpu);
    ih_bench_gpu_close(b.gpu);
    return status;
}
