/*
 * The rungs on the CPU: plain loops and the program's own counting, and a team of waiting threads.
 *
 * CPUs are noisy: clocks change, and other programs interfere. So the median of many runs counts.
 */
#include "base/clock.h"
#include "bench/exact.h"
#include "bench/rung.h"
#include "count/count.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- the workers: they wait for jobs, so that no timed run starts a thread ---- */

struct worker {
    struct ih_bench_cpu *cpu;
    pthread_t thread;
    unsigned i;
    struct ih_counter counter;
    struct ih_histogram counts; /* of its part of a job */
    uint32_t xor_all;
};

/* Does a worker's part of a job. */
typedef void part_function(struct worker *w, const struct ih_bench_job *job);

struct ih_bench_cpu {
    struct worker *workers; /* [n_workers]; the calling thread is the first */
    unsigned n_workers;
    struct ih_exact_sum exact;
    double linear[IH_BINS]; /* sRGB-decoded values, 0 to 1 */

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t on_work, on_done;
    uint64_t n_runs; /* started so far */
    unsigned n_busy;
    bool is_closing;
    part_function *part;
    const struct ih_bench_job *job;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    struct ih_bench_cpu *c = w->cpu;
    uint64_t n_seen = 0;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->n_runs == n_seen && !c->is_closing)
            pthread_cond_wait(&c->on_work, &c->lock);
        if (c->is_closing)
            break;
        n_seen = c->n_runs;
        pthread_mutex_unlock(&c->lock);
        c->part(w, c->job);
        pthread_mutex_lock(&c->lock);
        if (--c->n_busy == 0)
            pthread_cond_signal(&c->on_done);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Runs all parts and waits for them. */
static void run_parts(struct ih_bench_cpu *c, part_function *part, const struct ih_bench_job *job)
{
    pthread_mutex_lock(&c->lock);
    c->part = part;
    c->job = job;
    c->n_busy = c->n_workers - 1;
    c->n_runs++;
    pthread_cond_broadcast(&c->on_work);
    pthread_mutex_unlock(&c->lock);
    part(&c->workers[0], job);
    pthread_mutex_lock(&c->lock);
    while (c->n_busy > 0)
        pthread_cond_wait(&c->on_done, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* The start of worker i's share of n_items; that of worker n is the end. */
static size_t share(size_t n_items, unsigned i, unsigned n)
{
    return n_items / n * i + n_items % n * i / n;
}

enum ih_status ih_bench_cpu_open(unsigned n_threads, struct ih_bench_cpu **cpu,
                                 struct ih_error *err)
{
    struct ih_bench_cpu *c = calloc(1, sizeof *c);
    struct worker *workers = calloc(n_threads, sizeof *workers);
    if (!c || !workers) {
        free(c);
        free(workers);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    c->workers = workers;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->on_work, NULL);
    pthread_cond_init(&c->on_done, NULL);
    ih_srgb_decode(c->linear);
    for (c->n_workers = 1; c->n_workers < n_threads; c->n_workers++) {
        struct worker *w = &workers[c->n_workers];
        w->cpu = c;
        w->i = c->n_workers;
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            ih_bench_cpu_close(c);
            return ih_error_set(err, IH_MEMORY, "cannot start a thread");
        }
    }
    workers[0].cpu = c;
    *cpu = c;
    return IH_OK;
}

void ih_bench_cpu_close(struct ih_bench_cpu *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_closing = true;
    pthread_cond_broadcast(&c->on_work);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 1; i < c->n_workers; i++)
        pthread_join(c->workers[i].thread, NULL);
    pthread_cond_destroy(&c->on_work);
    pthread_cond_destroy(&c->on_done);
    pthread_mutex_destroy(&c->lock);
    free(c->workers);
    free(c);
}

/* ---- what a rung runs ---- */

/* Runs a rung once. */
typedef void run_function(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                          struct ih_bench_answer *out);

/* ---- reading ---- */

static uint64_t load_word(const uint8_t *bytes, size_t i)
{
    uint64_t word;
    memcpy(&word, bytes + i * sizeof word, sizeof word);
    return word;
}

static void read_part(struct worker *w, const struct ih_bench_job *job)
{
    const uint8_t *bytes = job->input;
    const size_t n_words = job->n_bytes / sizeof(uint64_t);
    const size_t end = share(n_words, w->i + 1, w->cpu->n_workers);
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t k = share(n_words, w->i, w->cpu->n_workers);
    for (; k + 4 <= end; k += 4) { /* four independent chains */
        a ^= load_word(bytes, k);
        b ^= load_word(bytes, k + 1);
        c ^= load_word(bytes, k + 2);
        d ^= load_word(bytes, k + 3);
    }
    for (; k < end; k++)
        a ^= load_word(bytes, k);
    const uint64_t all = a ^ b ^ c ^ d;
    w->xor_all = (uint32_t)(all ^ all >> 32);
}

static void run_read(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                     struct ih_bench_answer *out)
{
    const size_t n_tail = job->n_bytes % sizeof(uint64_t);
    uint32_t tail[2] = {0};
    run_parts(cpu, read_part, job);
    if (n_tail > 0)
        memcpy(tail, (const uint8_t *)job->input + job->n_bytes - n_tail, n_tail);
    out->xor_all = tail[0] ^ tail[1];
    for (unsigned i = 0; i < cpu->n_workers; i++)
        out->xor_all ^= cpu->workers[i].xor_all;
}

/* ---- counting ---- */

/* The usual first attempt: one pixel and one channel at a time. */
static void run_naive(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                      struct ih_bench_answer *out)
{
    const struct ih_count_spec *spec = &job->spec;
    const uint32_t red = spec->luma->red, green = spec->luma->green, blue = spec->luma->blue;
    struct ih_histogram *h = &out->histogram;
    const uint8_t *p = job->input;
    (void)cpu;
    ih_histogram_clear(h, spec->n_channels);
    h->n_pixels = job->n_items;
    for (size_t i = 0; i < job->n_items && spec->n_channels == 1; i++)
        h->bins[0][p[i]]++;
    for (size_t i = 0; i < job->n_items && spec->n_channels == 3; i++, p += 3) {
        const uint32_t luma = (red * p[0] + green * p[1] + blue * p[2] + 32768) >> 16;
        for (unsigned c = 0; c < 3; c++)
            h->bins[c][p[c]]++;
        h->bins[IH_LUMA][luma]++;
        const bool low[3] = {p[0] <= spec->clip_low, p[1] <= spec->clip_low,
                             p[2] <= spec->clip_low};
        const bool high[3] = {p[0] >= spec->clip_high, p[1] >= spec->clip_high,
                              p[2] >= spec->clip_high};
        h->any_low += low[0] || low[1] || low[2];
        h->all_low += low[0] && low[1] && low[2];
        h->any_high += high[0] || high[1] || high[2];
        h->all_high += high[0] && high[1] && high[2];
    }
    for (unsigned c = 0; c < IH_PLANES; c++)
        for (unsigned v = 0; v < IH_BINS; v++)
            h->sum[c] += v * h->bins[c][v];
    ih_histogram_derive_gray(h, spec);
}

static void count_items(struct worker *w, const struct ih_bench_job *job, size_t first, size_t end,
                        struct ih_histogram *out)
{
    const uint8_t *pixels = job->input;
    ih_counter_begin(&w->counter, &ih_count_tables, &job->spec);
    ih_counter_add(&w->counter, pixels + first * job->spec.n_channels, end - first);
    ih_counter_end(&w->counter, out);
}

static void run_tables(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                       struct ih_bench_answer *out)
{
    count_items(&cpu->workers[0], job, 0, job->n_items, &out->histogram);
}

static void count_part(struct worker *w, const struct ih_bench_job *job)
{
    const unsigned n = w->cpu->n_workers;
    count_items(w, job, share(job->n_items, w->i, n), share(job->n_items, w->i + 1, n), &w->counts);
}

static void run_tables_all(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                           struct ih_bench_answer *out)
{
    run_parts(cpu, count_part, job);
    out->histogram = cpu->workers[0].counts;
    for (unsigned i = 1; i < cpu->n_workers; i++)
        ih_histogram_add(&out->histogram, &cpu->workers[i].counts);
}

/* ---- summing ---- */

static void run_sum_float(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                          struct ih_bench_answer *out)
{
    const float *values = job->input;
    float sum = 0;
    (void)cpu;
    for (size_t i = 0; i < job->n_items; i++)
        sum += values[i];
    out->value = (double)sum;
}

static void run_sum_double(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                           struct ih_bench_answer *out)
{
    const float *floats = job->input;
    const double *doubles = job->input;
    double sum = 0;
    (void)cpu;
    if (job->task->is_double) {
        for (size_t i = 0; i < job->n_items; i++)
            sum += doubles[i];
    } else {
        for (size_t i = 0; i < job->n_items; i++)
            sum += (double)floats[i];
    }
    out->value = sum;
}

static void run_sum_exact(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                          struct ih_bench_answer *out)
{
    const float *floats = job->input;
    const double *doubles = job->input;
    memset(&cpu->exact, 0, sizeof cpu->exact);
    for (size_t i = 0; i < job->n_items; i++)
        ih_exact_add(&cpu->exact, job->task->is_double ? doubles[i] : (double)floats[i]);
    out->value = ih_exact_round(&cpu->exact);
}

static void run_dot_float(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                          struct ih_bench_answer *out)
{
    const float *a = job->input, *b = a + job->n_items;
    float sum = 0;
    (void)cpu;
    for (size_t i = 0; i < job->n_items; i++)
        sum += a[i] * b[i];
    out->value = (double)sum;
}

static void run_dot_double(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                           struct ih_bench_answer *out)
{
    const float *a = job->input, *b = a + job->n_items;
    double sum = 0;
    (void)cpu;
    for (size_t i = 0; i < job->n_items; i++)
        sum += (double)a[i] * (double)b[i];
    out->value = sum;
}

/* ---- the mean luminance ---- */

static void run_luminance_pixels(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                                 struct ih_bench_answer *out)
{
    const uint8_t *pixel = job->input;
    double sum = 0;
    for (size_t i = 0; i < job->n_items; i++, pixel += job->spec.n_channels)
        sum += 0.2126 * cpu->linear[pixel[0]] + 0.7152 * cpu->linear[pixel[1]] +
               0.0722 * cpu->linear[pixel[2]];
    out->value = sum / (double)job->n_items;
}

static void run_luminance_histogram(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                                    struct ih_bench_answer *out)
{
    run_tables_all(cpu, job, out);
    out->value = ih_mean_luminance(&out->histogram);
}

/* ---- the rungs ---- */

static const struct cpu_rung {
    unsigned kinds; /* enum ih_bench_kind */
    bool is_for_double, is_read;
    const char *name, *why;
    run_function *run;
} cpu_rungs[] = {
    {IH_BENCH_HISTOGRAM | IH_BENCH_SUM | IH_BENCH_DOT | IH_BENCH_LUMINANCE, true, true, "read",
     "reads and xors all bytes on all cores: the limit of this machine", run_read},
    {IH_BENCH_HISTOGRAM, false, false, "naive",
     "one thread, one pixel and one channel at a time, one table for each", run_naive},
    {IH_BENCH_HISTOGRAM, false, false, "tables",
     "one thread, several tables a channel: an increment does not wait for the last one",
     run_tables},
    {IH_BENCH_HISTOGRAM, false, false, "tables_all", "the same on all cores", run_tables_all},
    {IH_BENCH_SUM, false, false, "float",
     "one thread, a running sum in a float: once it is large it swallows small terms",
     run_sum_float},
    {IH_BENCH_SUM, true, false, "double",
     "one thread, a running sum in a double: the same mistake, nine digits later", run_sum_double},
    {IH_BENCH_SUM, true, false, "exact",
     "one thread, an integer for each exponent, rounded once: no error but that rounding",
     run_sum_exact},
    {IH_BENCH_DOT, false, false, "float", "one thread, products and their sum in floats",
     run_dot_float},
    {IH_BENCH_DOT, false, false, "double", "one thread, products and their sum in doubles",
     run_dot_double},
    {IH_BENCH_LUMINANCE, false, false, "pixels",
     "one thread: every sample decoded, weighted and added", run_luminance_pixels},
    {IH_BENCH_LUMINANCE, false, false, "histogram",
     "all cores count, then 768 products give the mean", run_luminance_histogram},
};

static enum ih_status answer(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                             struct ih_bench_answer *out, struct ih_error *err)
{
    (void)err;
    cpu_rungs[rung->index].run(rung->machine, job, out);
    return IH_OK;
}

static enum ih_status time_runs(const struct ih_bench_rung *rung, const struct ih_bench_job *job,
                                struct ih_bench_times *out, struct ih_error *err)
{
    struct ih_bench_answer ignored;
    double ns[IH_BENCH_REPEATS];
    answer(rung, job, &ignored, err); /* warms up */
    for (unsigned i = 0; i < IH_BENCH_REPEATS; i++) {
        const uint64_t start_ns = ih_clock_ns();
        answer(rung, job, &ignored, err);
        ns[i] = (double)(ih_clock_ns() - start_ns);
    }
    out->time_ns = ih_bench_median(ns, IH_BENCH_REPEATS);
    out->copy_time_ns = (double)NAN;
    return IH_OK;
}

size_t ih_bench_cpu_rungs(struct ih_bench_cpu *cpu, const struct ih_bench_task *task,
                          struct ih_bench_rung *rungs, size_t n_max)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof cpu_rungs / sizeof cpu_rungs[0] && n < n_max; i++) {
        const struct cpu_rung *r = &cpu_rungs[i];
        if ((r->kinds & task->kind) && (r->is_for_double || !task->is_double))
            rungs[n++] = (struct ih_bench_rung){.device = "cpu",
                                                .name = r->name,
                                                .why = r->why,
                                                .is_read = r->is_read,
                                                .machine = cpu,
                                                .index = i,
                                                .answer = answer,
                                                .time = time_runs};
    }
    return n;
}
