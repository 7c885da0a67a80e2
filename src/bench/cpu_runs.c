/* The work of the ladder's rungs on the processor: plain loops, and the product's counters. */
#include "bench/cpu.h"

#include <string.h>

/* ---- reading ---- */

struct shared_job {
    struct ih_bench_cpu *cpu;
    const struct ih_bench_job *job;
};

static uint64_t load_word(const uint8_t *bytes, size_t i)
{
    uint64_t word;
    memcpy(&word, bytes + i * sizeof word, sizeof word);
    return word;
}

static void read_part(void *context, unsigned i, unsigned n)
{
    const struct shared_job *s = context;
    const uint8_t *bytes = s->job->input;
    const size_t n_words = s->job->n_bytes / sizeof(uint64_t);
    const size_t end = ih_bench_share(n_words, i + 1, n);
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t k = ih_bench_share(n_words, i, n);
    for (; k + 4 <= end; k += 4) { /* four chains: no load waits for the xor of the one before */
        a ^= load_word(bytes, k);
        b ^= load_word(bytes, k + 1);
        c ^= load_word(bytes, k + 2);
        d ^= load_word(bytes, k + 3);
    }
    for (; k < end; k++)
        a ^= load_word(bytes, k);
    const uint64_t all = a ^ b ^ c ^ d;
    s->cpu->xors[i] = (uint32_t)(all ^ all >> 32);
}

void ih_bench_run_read(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                       struct ih_bench_answer *out)
{
    struct shared_job shared = {cpu, job};
    const size_t n_tail = job->n_bytes % sizeof(uint64_t);
    uint32_t tail[2] = {0};
    ih_bench_team_run(cpu->team, read_part, &shared);
    if (n_tail > 0)
        memcpy(tail, (const uint8_t *)job->input + job->n_bytes - n_tail, n_tail);
    out->xor_all = tail[0] ^ tail[1];
    for (unsigned i = 0; i < cpu->n_threads; i++)
        out->xor_all ^= cpu->xors[i];
}

/* ---- counting ---- */

/* Of gray pixels, the loop that everybody writes first; of colours, the same with luma and clips.
 */
void ih_bench_run_naive(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                        struct ih_bench_answer *out)
{
    struct ih_histogram *h = &out->histogram;
    const uint8_t *pixels = job->input;
    if (job->spec.n_channels > 1) {
        ih_counter_begin(&cpu->counters[0], &ih_count_reference, &job->spec);
        ih_counter_add(&cpu->counters[0], pixels, job->n_items);
        ih_counter_end(&cpu->counters[0], h);
        return;
    }
    ih_histogram_clear(h, 1);
    for (size_t i = 0; i < job->n_items; i++)
        h->bins[0][pixels[i]]++;
    h->n_pixels = job->n_items;
    for (unsigned v = 0; v < IH_BINS; v++)
        h->sum[0] += v * h->bins[0][v];
    ih_histogram_derive_gray(h, &job->spec);
}

void ih_bench_run_tables(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                         struct ih_bench_answer *out)
{
    ih_counter_begin(&cpu->counters[0], &ih_count_tables, &job->spec);
    ih_counter_add(&cpu->counters[0], job->input, job->n_items);
    ih_counter_end(&cpu->counters[0], &out->histogram);
}

static void count_part(void *context, unsigned i, unsigned n)
{
    const struct shared_job *s = context;
    const size_t first = ih_bench_share(s->job->n_items, i, n);
    const size_t end = ih_bench_share(s->job->n_items, i + 1, n);
    struct ih_counter *counter = &s->cpu->counters[i];
    ih_counter_begin(counter, &ih_count_tables, &s->job->spec);
    ih_counter_add(counter, (const uint8_t *)s->job->input + first * s->job->spec.n_channels,
                   end - first);
    ih_counter_end(counter, &s->cpu->parts[i]);
}

void ih_bench_run_tables_all(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                             struct ih_bench_answer *out)
{
    struct shared_job shared = {cpu, job};
    ih_bench_team_run(cpu->team, count_part, &shared);
    out->histogram = cpu->parts[0];
    for (unsigned i = 1; i < cpu->n_threads; i++)
        ih_histogram_add(&out->histogram, &cpu->parts[i]);
}

/* ---- summing ---- */

void ih_bench_run_sum_float(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                            struct ih_bench_answer *out)
{
    const float *values = job->input;
    float sum = 0;
    (void)cpu;
    for (size_t i = 0; i < job->n_items; i++)
        sum += values[i];
    out->value = (double)sum;
}

void ih_bench_run_sum_double(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
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

void ih_bench_run_sum_exact(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                            struct ih_bench_answer *out)
{
    const float *floats = job->input;
    const double *doubles = job->input;
    memset(&cpu->exact, 0, sizeof cpu->exact);
    for (size_t i = 0; i < job->n_items; i++)
        ih_exact_add(&cpu->exact, job->task->is_double ? doubles[i] : (double)floats[i]);
    out->value = ih_exact_round(&cpu->exact);
}

void ih_bench_run_dot_float(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                            struct ih_bench_answer *out)
{
    const float *a = job->input, *b = a + job->n_items;
    float sum = 0;
    (void)cpu;
    for (size_t i = 0; i < job->n_items; i++)
        sum += a[i] * b[i];
    out->value = (double)sum;
}

void ih_bench_run_dot_double(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
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

void ih_bench_run_luminance_pixels(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                                   struct ih_bench_answer *out)
{
    const uint8_t *pixel = job->input;
    double sum = 0;
    for (size_t i = 0; i < job->n_items; i++, pixel += job->spec.n_channels)
        sum += 0.2126 * cpu->linear[pixel[0]] + 0.7152 * cpu->linear[pixel[1]] +
               0.0722 * cpu->linear[pixel[2]];
    out->value = sum / (double)job->n_items;
}

void ih_bench_run_luminance_histogram(struct ih_bench_cpu *cpu, const struct ih_bench_job *job,
                                      struct ih_bench_answer *out)
{
    ih_bench_run_tables_all(cpu, job, out);
    out->value = ih_mean_luminance(&out->histogram);
}
