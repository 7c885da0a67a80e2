/*
 * The methods on the CPU: the program's fast way of counting on one core and on all, and only
 * reading on all.
 *
 * CPUs are noisy: clocks change, and other programs interfere. So the median of many runs counts.
 */
#include "base/clock.h"
#include "bench/method.h"
#include "count/count.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct part;
typedef void part_function(struct part *part);

/* A thread's share of a run. */
struct part {
    const struct ih_bench_job *job;
    part_function *work;
    unsigned i, n; /* this part is i of n */
    pthread_t thread;
    struct ih_counter counter;
    struct ih_histogram counts;
    uint32_t xor_all;
};

struct ih_bench_cpu {
    unsigned n_threads;
    struct part parts[]; /* [n_threads] */
};

enum ih_status ih_bench_cpu_open(unsigned n_threads, struct ih_bench_cpu **cpu,
                                 struct ih_error *err)
{
    struct ih_bench_cpu *c = calloc(1, sizeof *c + n_threads * sizeof c->parts[0]);
    if (!c)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    c->n_threads = n_threads;
    *cpu = c;
    return IH_OK;
}

void ih_bench_cpu_close(struct ih_bench_cpu *cpu)
{
    free(cpu);
}

static void *work(void *argument)
{
    struct part *part = argument;
    part->work(part);
    return NULL;
}

/* Runs the parts in threads, the first in the calling one. A thread takes some 20 us to start. */
static void run_parts(struct ih_bench_cpu *c, unsigned n, part_function *function,
                      const struct ih_bench_job *job)
{
    unsigned n_started = 1;
    for (unsigned i = 0; i < n; i++) {
        c->parts[i].job = job;
        c->parts[i].work = function;
        c->parts[i].i = i;
        c->parts[i].n = n;
    }
    while (n_started < n &&
           pthread_create(&c->parts[n_started].thread, NULL, work, &c->parts[n_started]) == 0)
        n_started++;
    function(&c->parts[0]);
    for (unsigned i = 1; i < n; i++)
        if (i < n_started)
            pthread_join(c->parts[i].thread, NULL);
        else
            function(&c->parts[i]);
}

/* The start of part i's share of n_items; that of part n is the end. */
static size_t share(const struct part *part, unsigned i, size_t n_items)
{
    return n_items / part->n * i + n_items % part->n * i / part->n;
}

static uint64_t load_word(const uint8_t *bytes, size_t i)
{
    uint64_t word;
    memcpy(&word, bytes + i * sizeof word, sizeof word);
    return word;
}

static void read_part(struct part *part)
{
    const size_t n_words = (part->job->n_bytes + 7) / 8, end = share(part, part->i + 1, n_words);
    uint64_t all = 0;
    for (size_t k = share(part, part->i, n_words); k < end; k++)
        all ^= load_word(part->job->input, k);
    part->xor_all = (uint32_t)(all ^ all >> 32);
}

static void count_part(struct part *part)
{
    const struct ih_bench_job *job = part->job;
    const size_t first = share(part, part->i, job->n_pixels);
    ih_counter_begin(&part->counter, &ih_count_tables, &job->spec);
    ih_counter_add(&part->counter, job->input + first * job->spec.n_channels,
                   share(part, part->i + 1, job->n_pixels) - first);
    ih_counter_end(&part->counter, &part->counts);
}

static void run_once(const struct ih_bench_method *method, const struct ih_bench_job *job,
                     struct ih_bench_answer *out)
{
    struct ih_bench_cpu *c = method->machine;
    const unsigned n = strcmp(method->name, "tables") == 0 ? 1 : c->n_threads;
    run_parts(c, n, method->is_read ? read_part : count_part, job);
    out->histogram = c->parts[0].counts;
    out->xor_all = c->parts[0].xor_all;
    for (unsigned i = 1; i < n; i++) {
        if (!method->is_read)
            ih_histogram_add(&out->histogram, &c->parts[i].counts);
        out->xor_all ^= c->parts[i].xor_all;
    }
}

static enum ih_status cpu_run(const struct ih_bench_method *method, const struct ih_bench_job *job,
                              struct ih_bench_answer *out, struct ih_bench_times *times,
                              struct ih_error *err)
{
    double ns[IH_BENCH_REPEATS];
    (void)err;
    run_once(method, job, out);
    for (unsigned i = 0; times && i < IH_BENCH_REPEATS; i++) {
        const uint64_t start_ns = ih_clock_ns();
        run_once(method, job, out);
        ns[i] = (double)(ih_clock_ns() - start_ns);
    }
    if (times)
        *times = (struct ih_bench_times){ih_bench_median(ns, IH_BENCH_REPEATS), (double)NAN};
    return IH_OK;
}

size_t ih_bench_cpu_methods(struct ih_bench_cpu *cpu, struct ih_bench_method *methods, size_t n)
{
    static const char *const names[] = {"read", "tables", "tables_all"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        methods[n++] = (struct ih_bench_method){
            .device = "cpu", .name = names[i], .is_read = i == 0, .machine = cpu, .run = cpu_run};
    return n;
}
