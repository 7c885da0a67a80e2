#include "bench/picture.h"

#include "base/text.h"
#include "output/chart/bars.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 48, DETAIL_MAX = 128, FACT_MAX = 160, N_FACTS = 4 };

struct ih_bench_bar {
    const struct ih_bench_task *task;
    bool is_cuda, is_read;
    size_t n_bytes;
    double gb_per_s, least; /* NAN: not timed */
    enum ih_bench_status status;
    char name[NAME_MAX_BYTES];
    char note[IH_MESSAGE_MAX];
};

/* ---- rows ---- */

static bool is_of(const struct ih_bench_bar *bar, const struct ih_bench_row *row)
{
    return bar->task == row->task && bar->is_cuda == (strcmp(row->rung->device, "cuda") == 0) &&
           strncmp(bar->name, row->rung->name, NAME_MAX_BYTES - 1) == 0;
}

static struct ih_bench_bar *append(struct ih_bench_picture *p)
{
    if (p->n_bars == p->capacity) {
        const size_t capacity = p->capacity ? 2 * p->capacity : 64;
        struct ih_bench_bar *bars = realloc(p->bars, capacity * sizeof *bars);
        if (!bars) {
            p->is_short_of_memory = true;
            return NULL;
        }
        p->bars = bars;
        p->capacity = capacity;
    }
    return &p->bars[p->n_bars++];
}

static void begin_bar(struct ih_bench_bar *bar, const struct ih_bench_row *row)
{
    *bar = (struct ih_bench_bar){.task = row->task,
                                 .is_cuda = strcmp(row->rung->device, "cuda") == 0,
                                 .is_read = row->rung->is_read,
                                 .n_bytes = row->n_bytes,
                                 .gb_per_s = (double)NAN,
                                 .least = (double)NAN};
    ih_escape(bar->name, sizeof bar->name, row->rung->name);
    if (row->status == IH_BENCH_OK)
        bar->gb_per_s = bar->least = row->gb_per_s;
}

void ih_bench_picture_add(struct ih_bench_picture *p, const struct ih_bench_row *row)
{
    struct ih_bench_bar *bar = NULL;
    for (size_t i = 0; i < p->n_bars && !bar; i++)
        if (is_of(&p->bars[i], row))
            bar = &p->bars[i];
    if (!bar) {
        bar = append(p);
        if (!bar)
            return;
        begin_bar(bar, row);
    }
    if (row->status == IH_BENCH_OK && row->gb_per_s < bar->least)
        bar->least = row->gb_per_s;
    if (row->status == IH_BENCH_OK || row->status <= bar->status)
        return; /* the worst status is the one to tell, on whichever data */
    bar->status = row->status;
    bar->gb_per_s = bar->least = (double)NAN;
    ih_escape(bar->note, sizeof bar->note, row->reason);
}

void ih_bench_picture_reset(struct ih_bench_picture *p)
{
    free(p->bars);
    memset(p, 0, sizeof *p);
}

/* ---- bars ---- */

/* What the rung `read` of the same task and device reached. */
static double limit_of(const struct ih_bench_picture *p, const struct ih_bench_bar *bar)
{
    for (size_t i = 0; i < p->n_bars; i++)
        if (p->bars[i].is_read && p->bars[i].task == bar->task &&
            p->bars[i].is_cuda == bar->is_cuda)
            return p->bars[i].gb_per_s;
    return (double)NAN;
}

static struct ih_bar bar_of(const struct ih_bench_picture *p, const struct ih_bench_bar *bar)
{
    const bool has_worse = !bar->is_read && bar->least < bar->gb_per_s;
    return (struct ih_bar){.label = !bar->is_read  ? bar->name
                                    : bar->is_cuda ? "GPU"
                                                   : "CPU",
                           .note = bar->note,
                           .value = bar->gb_per_s,
                           .least = has_worse ? bar->least : (double)NAN,
                           .limit = limit_of(p, bar),
                           .series = bar->is_cuda,
                           .is_limit = bar->is_read,
                           .is_alarm = bar->status > IH_BENCH_SKIPPED};
}

/* Appends a task's bars, and its group. */
static struct ih_bar_group group_of(const struct ih_bench_picture *p,
                                    const struct ih_bench_task *task, struct ih_bar *bars,
                                    char detail[DETAIL_MAX])
{
    struct ih_bar_group group = {task->title, detail, bars, 0};
    for (size_t i = 0; i < p->n_bars; i++)
        if (p->bars[i].task == task) {
            snprintf(detail, DETAIL_MAX, "%s, %.4g MiB", ih_bench_data_name(task->timed[0]),
                     (double)p->bars[i].n_bytes / (1 << 20));
            bars[group.n_bars++] = bar_of(p, &p->bars[i]);
        }
    return group;
}

/* ---- the machine ---- */

/* The processor's name, where the system tells it in Linux's way; else "". */
static void name_processor(char *name, size_t size_bytes)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    name[0] = '\0';
    while (f && !*name && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        line[strcspn(line, "\n")] = '\0';
        if (colon && strncmp(line, "model name", 10) == 0)
            ih_escape(name, size_bytes, colon + 1 + strspn(colon + 1, " "));
    }
    if (f)
        fclose(f);
}

static void tell_facts(const struct ih_bench_head *head, char facts[N_FACTS][FACT_MAX])
{
    char name[96];
    name_processor(name, sizeof name);
    if (head->gpu)
        ih_escape(facts[0], FACT_MAX, head->gpu);
    else
        snprintf(facts[0], FACT_MAX, "no GPU");
    snprintf(facts[1], FACT_MAX, "%s%s%u thread%s", name, *name ? ", " : "", head->n_threads,
             head->n_threads == 1 ? "" : "s");
    snprintf(facts[2], FACT_MAX, "imghist %s", IH_VERSION);
    snprintf(facts[3], FACT_MAX, "%s: share of what only reading reaches", "%");
}

/* ---- the chart ---- */

enum ih_status ih_bench_picture_draw(const struct ih_bench_picture *p,
                                     const struct ih_bench_head *head,
                                     const struct ih_chart_options *look, unsigned char **file,
                                     size_t *size_bytes, struct ih_error *err)
{
    char facts[N_FACTS][FACT_MAX];
    const char *const all_facts[N_FACTS] = {facts[0], facts[1], facts[2], facts[3]};
    struct ih_bar *bars = calloc(p->n_bars + 1, sizeof *bars);
    struct ih_bar_group *groups = calloc(p->n_bars + 1, sizeof *groups);
    char(*details)[DETAIL_MAX] = calloc(p->n_bars + 1, sizeof *details);
    size_t n_groups = 0, n_taken = 0;
    enum ih_status status = IH_MEMORY;
    *file = NULL;
    if (!bars || !groups || !details || p->is_short_of_memory) {
        ih_error_set(err, status, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < p->n_bars; i++)
        if (i == 0 || p->bars[i].task != p->bars[i - 1].task) {
            groups[n_groups] = group_of(p, p->bars[i].task, bars + n_taken, details[n_groups]);
            n_taken += groups[n_groups++].n_bars;
        }
    tell_facts(head, facts);
    const struct ih_bar_chart chart = {.title = "The ladder against the roofline",
                                       .facts = all_facts,
                                       .n_facts = N_FACTS,
                                       .unit = "GB/s",
                                       .series = {"processor", "GPU"},
                                       .limit_name = "read",
                                       .limit_meaning = "read: only reading the same bytes",
                                       .least_meaning = "on the slowest kind of data",
                                       .groups = groups,
                                       .n_groups = n_groups};
    status = ih_bars_draw(&chart, look, file, size_bytes, err);
out:
    free(bars);
    free(groups);
    free(details);
    return status;
}
