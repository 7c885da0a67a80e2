/*
 * How --bench tells what it found: a table for people, CSV and JSON for machines.
 *
 * CSV has one header that never changes and a row for every rung on every kind of data, those that
 * did not run among them:
 *
 *     task,device,rung,data,bytes,status,time_ns,gb_per_s,read_share,speedup,copy_time_ns,
 *     copy_speedup,value,error,reason
 *
 *     task          histogram_gray, histogram_rgb, sum_float, sum_double, dot_float, luminance_rgb
 *     device        cpu or cuda
 *     data          random, smooth, constant, two-valued, 1.23
 *     bytes         of the input
 *     status        ok, skipped (not here), wrong (not timed), failed
 *     gb_per_s      bytes / time_ns
 *     read_share    of what the rung `read` of the same device reached on the same bytes
 *     speedup       over the task's first rung that does more than reading, on the same data
 *     copy_         with the input's way to the GPU and the answer's way back
 *     value, error  of sums, dot products and luminance: the answer, its relative error
 *     reason        why the status is not ok
 *
 * What does not apply is empty, in JSON null. The JSON document is
 * {"schema":"imghist-bench/1","version","size_bytes","cpu_threads","gpu","gpu_reason","rungs":[...]}
 * with an object of the same keys for each row.
 */
#ifndef IH_BENCH_REPORT_H
#define IH_BENCH_REPORT_H

#include "bench/rung.h"

#include <stdio.h>

enum ih_bench_format { IH_BENCH_TABLE, IH_BENCH_CSV, IH_BENCH_JSON };

enum ih_bench_status { IH_BENCH_OK, IH_BENCH_SKIPPED, IH_BENCH_WRONG, IH_BENCH_FAILED };

/* One rung on one kind of data. A figure that there is not is NAN. */
struct ih_bench_row {
    const struct ih_bench_task *task;
    const struct ih_bench_rung *rung;
    enum ih_bench_data data;
    size_t n_bytes;
    enum ih_bench_status status;
    struct ih_bench_times times;
    double gb_per_s, read_share, speedup, copy_speedup; /* GB are 1e9 bytes */
    double value, error;
    char reason[IH_MESSAGE_MAX]; /* "" where status is ok */
};

/* What was measured where. Strings are borrowed. */
struct ih_bench_head {
    size_t size_bytes;
    unsigned n_threads;
    const char *gpu;        /* NULL: none */
    const char *gpu_reason; /* then why */
};

/* Fields are private. */
struct ih_bench_report {
    FILE *stream;
    enum ih_bench_format format;
    bool is_verbose;
    size_t n_rows;
    const struct ih_bench_task *task; /* of the last row */
};

/* stream is borrowed until end. Failed writes are found with ferror. */
void ih_bench_report_begin(struct ih_bench_report *report, FILE *stream,
                           enum ih_bench_format format, bool is_verbose,
                           const struct ih_bench_head *head);
void ih_bench_report_row(struct ih_bench_report *report, const struct ih_bench_row *row);
void ih_bench_report_end(struct ih_bench_report *report);

#endif
