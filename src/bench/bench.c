/*
 * The driver of --bench and its report. For each kind of pixels and of data it generates the input,
 * computes the expected answer, and runs every method: first to check its answer, then to time it.
 *
 * CSV and JSON have a row for every method on every kind of data. The man page describes the
 * columns. Missing values are empty, in JSON null. The JSON document is
 * {"schema":"imghist-bench/1","version","size_bytes","cpu_threads","gpu","gpu_reason","methods":[]}
 */
#include "bench/bench.h"

#include "bench/method.h"
#include "output/file.h"
#include "output/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct task {
    const char *name, *title;
    unsigned n_channels;
} tasks[] = {
    {"histogram_gray", "histogram of gray pixels", 1},
    {"histogram_rgb", "histograms of RGB pixels and their luma", 3},
};

struct bench {
    const struct ih_bench_options *options;
    enum { TABLE, CSV, JSON } format;
    uint8_t *input;
    struct ih_bench_cpu *cpu;
    struct ih_bench_gpu *gpu;
    char gpu_name[IH_BENCH_GPU_NAME_MAX];
    char no_gpu[IH_MESSAGE_MAX]; /* why gpu is NULL */
    FILE *stream;
    size_t n_rows;
    bool has_failed; /* a method is wrong or failed */
};

enum row_status { OK, WRONG, FAILED };

/* A method on one kind of data. NAN: no figure. */
struct row {
    const struct task *task;
    const struct ih_bench_method *method;
    enum ih_bench_data data;
    size_t n_bytes;
    enum row_status status;
    double figures[4]; /* in the order of `figures` below */
    char reason[IH_MESSAGE_MAX];
};
enum { TIME_NS, GB_PER_S, READ_SHARE, COPY_TIME_NS, N_FIGURES };

static const char *const status_names[] = {"ok", "wrong", "failed"};
static const char *const figures[N_FIGURES] = {"time_ns", "gb_per_s", "read_share", "copy_time_ns"};

/* ---- the report ---- */

static enum ih_status flush(const struct bench *b, struct ih_error *err)
{
    errno = 0;
    if (fflush(b->stream) == 0 && !ferror(b->stream))
        return IH_OK;
    return ih_error_errno(err, errno ? errno : EIO, "cannot write");
}

static void report_begin(const struct bench *b)
{
    const struct ih_bench_options *o = b->options;
    FILE *f = b->stream;
    switch (b->format) {
    case TABLE:
        fprintf(f, "imghist %s: every method verified before it is timed\n", IH_VERSION);
        fprintf(f, "  cpu    %u thread%s\n  cuda   ", o->n_threads, o->n_threads == 1 ? "" : "s");
        fprintf(f, "%s%s\n", b->gpu ? b->gpu_name : "not available: ", b->no_gpu);
        break;
    case CSV:
        fputs("task,device,method,data,bytes,status", f);
        for (int i = 0; i < N_FIGURES; i++)
            fprintf(f, ",%s", figures[i]);
        fputs(",reason\n", f);
        break;
    case JSON:
        fprintf(f, "{\"schema\":\"imghist-bench/1\",\"version\":\"%s\",\"size_bytes\":%zu,",
                IH_VERSION, o->size_bytes);
        fprintf(f, "\"cpu_threads\":%u,\"gpu\":", o->n_threads);
        ih_json_put_string(f, b->gpu ? b->gpu_name : NULL);
        fputs(",\"gpu_reason\":", f);
        ih_json_put_string(f, b->gpu ? NULL : b->no_gpu);
        fputs(",\"methods\":[", f);
    }
}

static void report_end(const struct bench *b)
{
    if (b->format == TABLE)
        fputs("\n"
              "time: the median of 20 runs, on the GPU by events. of read: the share of the speed\n"
              "at which that device only reads the same bytes. with copy: from host memory to the\n"
              "answer in host memory.\n",
              b->stream);
    else if (b->format == JSON)
        fputs("\n]}\n", b->stream);
}

/* Prints a figure after a blank, right-aligned; NAN: a dash. */
static void put_cell(FILE *f, int width, int n_decimals, double value)
{
    if (isnan(value))
        fprintf(f, " %*s", width, "-");
    else
        fprintf(f, " %*.*f", width, n_decimals, value);
}

static void table_row(FILE *f, const struct row *r, bool is_first)
{
    if (is_first)
        fprintf(f, "\n%s, %.6g MiB\n  %-17s %-10s %12s %8s %8s %14s\n", r->task->title,
                (double)r->n_bytes / (1 << 20), "method", "data", "time, us", "GB/s", "of read",
                "with copy, us");
    fprintf(f, "  %-4s %-12s %-10s", r->method->device, r->method->name,
            ih_bench_data_names[r->data]);
    if (r->status == OK) {
        put_cell(f, 12, 1, r->figures[TIME_NS] * 1e-3);
        put_cell(f, 8, 1, r->figures[GB_PER_S]);
        put_cell(f, 8, 3, r->figures[READ_SHARE]);
        put_cell(f, 14, 1, r->figures[COPY_TIME_NS] * 1e-3);
    } else {
        fprintf(f, " %s: %s", status_names[r->status], r->reason);
    }
    putc('\n', f);
}

static void put_number(FILE *f, int i, double value, const char *nothing)
{
    char text[IH_REAL_MAX];
    if (isnan(value) || isinf(value))
        fputs(nothing, f);
    else if (i == TIME_NS || i == COPY_TIME_NS)
        fprintf(f, "%.0f", value);
    else
        fputs(ih_format_real(value, text), f);
}

static void csv_row(FILE *f, const struct row *r)
{
    fprintf(f, "%s,%s,%s,%s,%zu,%s", r->task->name, r->method->device, r->method->name,
            ih_bench_data_names[r->data], r->n_bytes, status_names[r->status]);
    for (int i = 0; i < N_FIGURES; i++) {
        putc(',', f);
        put_number(f, i, r->figures[i], "");
    }
    fputs(*r->reason ? ",\"" : ",", f);
    for (const char *p = r->reason; *p; p++)
        fprintf(f, *p == '"' ? "\"\"" : "%c", *p);
    fputs(*r->reason ? "\"\n" : "\n", f);
}

static void json_row(FILE *f, const struct row *r, bool is_first)
{
    fprintf(f,
            "%s\n{\"task\":\"%s\",\"device\":\"%s\",\"method\":\"%s\",\"data\":\"%s\","
            "\"bytes\":%zu,\"status\":\"%s\"",
            is_first ? "" : ",", r->task->name, r->method->device, r->method->name,
            ih_bench_data_names[r->data], r->n_bytes, status_names[r->status]);
    for (int i = 0; i < N_FIGURES; i++) {
        fprintf(f, ",\"%s\":", figures[i]);
        put_number(f, i, r->figures[i], "null");
    }
    fputs(",\"reason\":", f);
    ih_json_put_string(f, *r->reason ? r->reason : NULL);
    putc('}', f);
}

static enum ih_status report_row(struct bench *b, const struct row *r, bool is_first_of_task,
                                 struct ih_error *err)
{
    if (b->format == TABLE)
        table_row(b->stream, r, is_first_of_task);
    else if (b->format == CSV)
        csv_row(b->stream, r);
    else
        json_row(b->stream, r, b->n_rows == 0);
    b->n_rows++;
    return flush(b, err);
}

/* ---- the runs ---- */

static void fail(struct bench *b, struct row *r, enum row_status status, const struct ih_error *err)
{
    char message[2 * IH_MESSAGE_MAX];
    r->status = status;
    memcpy(r->reason, err->message, sizeof r->reason);
    snprintf(message, sizeof message, "%s, %s %s on %s data: %s", r->task->name, r->method->device,
             r->method->name, ih_bench_data_names[r->data], r->reason);
    b->options->print_error("bench", message);
    b->has_failed = true;
}

/* Checks a method's answer, and times it if that is right. read_gb_per_s: of the CPU and of the
 * GPU, on this data. */
static void measure(struct bench *b, struct row *r, const struct ih_bench_job *job,
                    double read_gb_per_s[2])
{
    const struct ih_bench_method *m = r->method;
    double *read = &read_gb_per_s[strcmp(m->device, "cpu") != 0];
    struct ih_bench_answer answer;
    struct ih_bench_times times;
    struct ih_error err = {0};
    memset(&answer, 0, sizeof answer); /* what the method forgets is wrong, not undefined */
    enum ih_status status = m->run(m, job, &answer, NULL, &err);
    const bool is_wrong =
        status == IH_OK && ih_bench_check(job, m->is_read, &answer, &err) != IH_OK;
    if (status == IH_OK && !is_wrong)
        status = m->run(m, job, &answer, &times, &err);
    if (status != IH_OK || is_wrong) {
        fail(b, r, is_wrong ? WRONG : FAILED, &err);
        return;
    }
    r->figures[TIME_NS] = times.time_ns;
    r->figures[COPY_TIME_NS] = times.copy_time_ns;
    r->figures[GB_PER_S] = (double)job->n_bytes / times.time_ns;
    if (m->is_read)
        *read = r->figures[GB_PER_S];
    r->figures[READ_SHARE] = r->figures[GB_PER_S] / *read; /* the first method of a device reads */
}

/* Runs all methods on one kind of data. */
static enum ih_status run_data(struct bench *b, const struct task *task, enum ih_bench_data data,
                               struct ih_error *err)
{
    struct ih_bench_method methods[IH_BENCH_METHODS_MAX];
    struct ih_bench_job job;
    double read_gb_per_s[2] = {(double)NAN, (double)NAN};
    enum ih_status status =
        ih_bench_job_fill(&job, b->input, b->options->size_bytes, task->n_channels, data, err);
    size_t n = ih_bench_cpu_methods(b->cpu, methods, 0);
    if (b->gpu)
        n = ih_bench_gpu_methods(b->gpu, methods, n);
    for (size_t i = 0; status == IH_OK && i < n; i++) {
        struct row row = {
            .task = task, .method = &methods[i], .data = data, .n_bytes = job.n_bytes};
        for (int k = 0; k < N_FIGURES; k++)
            row.figures[k] = (double)NAN;
        measure(b, &row, &job, read_gb_per_s);
        status = report_row(b, &row, data == 0 && i == 0, err);
    }
    return status;
}

static enum ih_status run_all(struct bench *b, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    report_begin(b);
    for (size_t t = 0; t < sizeof tasks / sizeof tasks[0]; t++)
        for (int data = 0; data < IH_BENCH_N_DATA && status == IH_OK; data++)
            status = run_data(b, &tasks[t], (enum ih_bench_data)data, err);
    if (status == IH_OK)
        report_end(b);
    return status == IH_OK ? flush(b, err) : status;
}

static enum ih_status open_machines(struct bench *b, struct ih_error *err)
{
    const struct ih_bench_options *o = b->options;
    const bool wants_cpu = o->device && strcmp(o->device, "cpu") == 0;
    const size_t n_bytes = (o->size_bytes / 64 + 1) * 64 + 64;
    struct ih_error reason = {0};
    if (!(b->input = aligned_alloc(64, n_bytes)))
        return ih_error_set(err, IH_MEMORY, "out of memory for the input: choose a smaller size");
    ih_error_set(&reason, IH_UNAVAILABLE, "--device=cpu");
    enum ih_status status = wants_cpu ? IH_UNAVAILABLE
                                      : ih_bench_gpu_open(o->gpu_ordinal, b->input, n_bytes,
                                                          &b->gpu, b->gpu_name, &reason);
    if (status != IH_OK)
        memcpy(b->no_gpu, reason.message, sizeof b->no_gpu);
    if (status != IH_OK && o->device && !wants_cpu)
        return ih_error_set(err, status, "--device=cuda: %.200s", reason.message);
    if (status != IH_OK && !wants_cpu && b->format == CSV && !o->is_quiet)
        o->print_error("bench", b->no_gpu); /* the table and JSON say it themselves */
    return ih_bench_cpu_open(o->n_threads, &b->cpu, err);
}

/* Writes a report, complete in memory, to the file; NULL: only finds out whether the file can be
 * written. A device or pipe is not tried, because opening it may block or be seen at its other end.
 */
static enum ih_status write_file(const char *path, const char *text, size_t n_bytes,
                                 struct ih_error *err)
{
    struct ih_outfile file;
    struct stat st;
    if (!text && stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return IH_OK;
    ih_outfile_init(&file);
    enum ih_status status = ih_outfile_open(&file, path, err);
    if (status == IH_OK && text) {
        fwrite(text, 1, n_bytes, file.stream); /* commit reports a failed write */
        status = ih_outfile_commit(&file, err);
    }
    ih_outfile_discard(&file);
    return status;
}

/* An interrupted run leaves no part of a file. */
static enum ih_status write_report(struct bench *b, struct ih_error *err)
{
    const char *path = b->options->output_path;
    char *text = NULL;
    size_t n_bytes = 0;
    enum ih_status status = path ? write_file(path, NULL, 0, err) : IH_OK;
    if (status == IH_OK && !(b->stream = path ? open_memstream(&text, &n_bytes) : stdout))
        status = ih_error_errno(err, errno, "cannot write");
    if (status == IH_OK)
        status = run_all(b, err);
    if (path && b->stream)
        fclose(b->stream);
    if (status == IH_OK && path)
        status = write_file(path, text, n_bytes, err);
    free(text);
    return status;
}

enum ih_status ih_bench_run(const struct ih_bench_options *o)
{
    struct bench b = {.options = o,
                      .format = strcmp(o->format, "csv") == 0    ? CSV
                                : strcmp(o->format, "json") == 0 ? JSON
                                                                 : TABLE};
    struct ih_error err = {0};
    const char *subject = NULL;
    enum ih_status status = open_machines(&b, &err);
    if (status == IH_OK) {
        subject = o->output_path ? o->output_path : "standard output";
        status = write_report(&b, &err);
    }
    if (status != IH_OK)
        o->print_error(subject, err.message);
    else if (b.has_failed)
        status = IH_DEVICE;
    ih_bench_cpu_close(b.cpu);
    ih_bench_gpu_close(b.gpu);
    free(b.input);
    return status;
}
