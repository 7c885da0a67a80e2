/*
 * The reports of --bench: a table for people, CSV and JSON for programs, and a chart.
 *
 * CSV and JSON have a row for every rung on every kind of data, including rungs that did not run.
 * The man page describes the columns. Missing values are empty, in JSON null. The JSON document is
 * {"schema":"imghist-bench/1","version","size_bytes","cpu_threads","gpu","gpu_reason","rungs":[...]}
 */
#ifndef IH_BENCH_REPORT_H
#define IH_BENCH_REPORT_H

#include "bench/rung.h"
#include "chart/chart.h"

#include <stdio.h>

enum ih_bench_format { IH_BENCH_TABLE, IH_BENCH_CSV, IH_BENCH_JSON };

/* The machine and the settings. Strings are borrowed. */
struct ih_bench_head {
    size_t size_bytes;
    unsigned n_threads;
    const char *gpu;        /* NULL: none */
    const char *gpu_reason; /* why there is none */
};

/* Fields are private. */
struct ih_bench_report {
    FILE *stream;
    enum ih_bench_format format;
    bool is_verbose;
    size_t n_rows;
    const struct ih_bench_task *task; /* of the last row */
};

/* "csv", "json"; any other name is the table. */
enum ih_bench_format ih_bench_format_of(const char *name);

/* stream is borrowed until end. The caller finds failed writes with ferror. */
void ih_bench_report_begin(struct ih_bench_report *report, FILE *stream,
                           enum ih_bench_format format, bool is_verbose,
                           const struct ih_bench_head *head);
void ih_bench_report_row(struct ih_bench_report *report, const struct ih_bench_row *row);
void ih_bench_report_end(struct ih_bench_report *report);

/* ---- the chart ---- */

struct ih_bench_chart;

/* An empty chart; free() it. NULL: no memory. */
struct ih_bench_chart *ih_bench_chart_new(void);

/* Adds a row. Its task and the strings of its rung are borrowed; row and rung are not kept. */
void ih_bench_chart_add(struct ih_bench_chart *chart, const struct ih_bench_row *row);

/*
 * Draws the chart and makes a file of it.
 *
 * look    width 0: the default size, higher if the rows need it; scale is ignored
 * *file   owned by the caller, free() it; NULL on failure
 *
 * Returns IH_OK, IH_MEMORY, or IH_UNAVAILABLE if the font or a library of this build is broken.
 */
enum ih_status ih_bench_chart_draw(struct ih_bench_chart *chart, const struct ih_bench_head *head,
                                   const struct ih_chart_options *look, unsigned char **file,
                                   size_t *size_bytes, struct ih_error *err);

#endif
