#include "bench/report.h"

#include "output/output.h"

#include <math.h>
#include <string.h>

static const char *const status_names[] = {"ok", "skipped", "wrong", "failed"};

enum { FIGURE_MAX = 40 };

static bool has_value(const struct ih_bench_row *row)
{
    return row->task->kind != IH_BENCH_HISTOGRAM && !row->rung->is_read;
}

/* ---- the table ---- */

static const char *fixed(double v, int n_decimals, char text[FIGURE_MAX])
{
    snprintf(text, FIGURE_MAX, isnan(v) ? "-" : "%.*f", n_decimals, v);
    return text;
}

static const char *duration(double ns, char text[FIGURE_MAX])
{
    if (isnan(ns))
        snprintf(text, FIGURE_MAX, "-");
    else if (ns < 1e6)
        snprintf(text, FIGURE_MAX, "%.2f us", ns * 1e-3);
    else if (ns < 1e9)
        snprintf(text, FIGURE_MAX, "%.2f ms", ns * 1e-6);
    else
        snprintf(text, FIGURE_MAX, "%.2f s", ns * 1e-9);
    return text;
}

static void table_begin(FILE *f, const struct ih_bench_head *head)
{
    fprintf(f, "imghist %s: the ladder, every rung verified before it is timed\n", IH_VERSION);
    fprintf(f, "  cpu    %u thread%s\n", head->n_threads, head->n_threads == 1 ? "" : "s");
    if (head->gpu)
        fprintf(f, "  cuda   %s\n", head->gpu);
    else
        fprintf(f, "  cuda   not available: %s\n", head->gpu_reason);
}

static void table_task(FILE *f, const struct ih_bench_row *row)
{
    fprintf(f, "\n%s, %.6g MiB\n", row->task->title, (double)row->n_bytes / (1 << 20));
    fprintf(f, "  %-17s %-10s %10s %8s %8s %9s %11s %9s", "rung", "data", "time", "GB/s", "of read",
            "speed-up", "with copy", "speed-up");
    if (row->task->kind != IH_BENCH_HISTOGRAM)
        fprintf(f, "  %-19s %s", "value", "error");
    putc('\n', f);
}

static void table_figures(FILE *f, const struct ih_bench_row *row)
{
    char time[FIGURE_MAX], rate[FIGURE_MAX], share[FIGURE_MAX], speedup[FIGURE_MAX];
    char copy[FIGURE_MAX], copy_speedup[FIGURE_MAX];
    fprintf(f, " %-10s %10s %8s %8s %9s %11s %9s", ih_bench_data_name(row->data),
            duration(row->times.time_ns, time), fixed(row->gb_per_s, 1, rate),
            fixed(row->read_share, 3, share), fixed(row->speedup, 2, speedup),
            duration(row->times.copy_time_ns, copy), fixed(row->copy_speedup, 2, copy_speedup));
    if (has_value(row))
        fprintf(f, "  %-19.12g %.1e", row->value, row->error);
    putc('\n', f);
}

/* A skipped rung gets one line per task, not one for each kind of data. */
static void table_row(struct ih_bench_report *r, const struct ih_bench_row *row)
{
    const bool is_first = row->data == row->task->timed[0];
    if (row->task != r->task)
        table_task(r->stream, row);
    if (row->status == IH_BENCH_SKIPPED && !is_first)
        return;
    fprintf(r->stream, "  %-4s %-12s", row->rung->device, row->rung->name);
    if (row->status == IH_BENCH_OK)
        table_figures(r->stream, row);
    else
        fprintf(r->stream, " %-10s %s: %s\n", ih_bench_data_name(row->data),
                row->status == IH_BENCH_SKIPPED ? "not run" : status_names[row->status],
                row->reason);
    if (r->is_verbose && is_first)
        fprintf(r->stream, "       %s\n", row->rung->why);
}

static void table_end(FILE *f)
{
    fputs("\n"
          "time: the median of 20 runs, on the GPU by events. of read: the share of the speed at\n"
          "which that device only reads the same bytes. speed-up: over the first rung that does\n"
          "more than read. with copy: from host memory to the answer in host memory.\n",
          f);
}

/* ---- CSV and JSON ---- */

/* The figures of both, in order, after the names. NAN: missing. */
struct field {
    const char *name;
    enum { INTEGER, REAL, EXACT, SMALL } form;
    double value;
};
enum { N_FIELDS = 8 };

static void fields_of(const struct ih_bench_row *row, struct field fields[N_FIELDS])
{
    const bool is_answer = row->status == IH_BENCH_OK && has_value(row);
    const struct field all[N_FIELDS] = {
        {"time_ns", INTEGER, row->times.time_ns},
        {"gb_per_s", REAL, row->gb_per_s},
        {"read_share", REAL, row->read_share},
        {"speedup", REAL, row->speedup},
        {"copy_time_ns", INTEGER, row->times.copy_time_ns},
        {"copy_speedup", REAL, row->copy_speedup},
        {"value", EXACT, is_answer ? row->value : (double)NAN},
        {"error", SMALL, is_answer ? row->error : (double)NAN},
    };
    memcpy(fields, all, sizeof all);
}

static void put_field(FILE *f, const struct field *field, const char *nothing)
{
    char text[IH_REAL_MAX];
    if (isnan(field->value) || isinf(field->value))
        fputs(nothing, f);
    else if (field->form == INTEGER)
        fprintf(f, "%.0f", field->value);
    else if (field->form == REAL)
        fputs(ih_format_real(field->value, text), f);
    else if (field->form == EXACT)
        fprintf(f, "%.17g", field->value);
    else
        fprintf(f, "%.6e", field->value);
}

static void csv_begin(FILE *f)
{
    const struct ih_bench_row none = {.task = &ih_bench_tasks[0], .status = IH_BENCH_SKIPPED};
    struct field fields[N_FIELDS];
    fields_of(&none, fields);
    fputs("task,device,rung,data,bytes,status", f);
    for (int i = 0; i < N_FIELDS; i++)
        fprintf(f, ",%s", fields[i].name);
    fputs(",reason\n", f);
}

static void csv_row(FILE *f, const struct ih_bench_row *row)
{
    struct field fields[N_FIELDS];
    fields_of(row, fields);
    fprintf(f, "%s,%s,%s,%s,%zu,%s", row->task->name, row->rung->device, row->rung->name,
            ih_bench_data_name(row->data), row->n_bytes, status_names[row->status]);
    for (int i = 0; i < N_FIELDS; i++) {
        putc(',', f);
        put_field(f, &fields[i], "");
    }
    putc(',', f);
    if (strpbrk(row->reason, ",\"")) {
        putc('"', f);
        for (const char *p = row->reason; *p; p++)
            fprintf(f, *p == '"' ? "\"\"" : "%c", *p);
        putc('"', f);
    } else {
        fputs(row->reason, f);
    }
    putc('\n', f);
}

static void json_begin(FILE *f, const struct ih_bench_head *head)
{
    fprintf(f, "{\"schema\":\"imghist-bench/1\",\"version\":\"%s\",\"size_bytes\":%zu,", IH_VERSION,
            head->size_bytes);
    fprintf(f, "\"cpu_threads\":%u,\"gpu\":", head->n_threads);
    ih_json_put_string(f, head->gpu);
    fputs(",\"gpu_reason\":", f);
    ih_json_put_string(f, head->gpu ? NULL : head->gpu_reason);
    fputs(",\"rungs\":[", f);
}

static void json_row(FILE *f, const struct ih_bench_row *row, bool is_first)
{
    struct field fields[N_FIELDS];
    fields_of(row, fields);
    fputs(is_first ? "\n" : ",\n", f);
    fprintf(f,
            "{\"task\":\"%s\",\"device\":\"%s\",\"rung\":\"%s\",\"data\":\"%s\",\"bytes\":%zu,"
            "\"status\":\"%s\"",
            row->task->name, row->rung->device, row->rung->name, ih_bench_data_name(row->data),
            row->n_bytes, status_names[row->status]);
    for (int i = 0; i < N_FIELDS; i++) {
        fprintf(f, ",\"%s\":", fields[i].name);
        put_field(f, &fields[i], "null");
    }
    fputs(",\"reason\":", f);
    ih_json_put_string(f, *row->reason ? row->reason : NULL);
    putc('}', f);
}

/* ---- the report ---- */

enum ih_bench_format ih_bench_format_of(const char *name)
{
    return strcmp(name, "csv") == 0    ? IH_BENCH_CSV
           : strcmp(name, "json") == 0 ? IH_BENCH_JSON
                                       : IH_BENCH_TABLE;
}

void ih_bench_report_begin(struct ih_bench_report *r, FILE *stream, enum ih_bench_format format,
                           bool is_verbose, const struct ih_bench_head *head)
{
    *r = (struct ih_bench_report){.stream = stream, .format = format, .is_verbose = is_verbose};
    if (format == IH_BENCH_TABLE)
        table_begin(stream, head);
    else if (format == IH_BENCH_CSV)
        csv_begin(stream);
    else
        json_begin(stream, head);
}

void ih_bench_report_row(struct ih_bench_report *r, const struct ih_bench_row *row)
{
    if (r->format == IH_BENCH_TABLE)
        table_row(r, row);
    else if (r->format == IH_BENCH_CSV)
        csv_row(r->stream, row);
    else
        json_row(r->stream, row, r->n_rows == 0);
    r->task = row->task;
    r->n_rows++;
}

void ih_bench_report_end(struct ih_bench_report *r)
{
    if (r->format == IH_BENCH_TABLE)
        table_end(r->stream);
    else if (r->format == IH_BENCH_JSON)
        fputs("\n]}\n", r->stream);
}
