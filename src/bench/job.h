/*
 * What --bench gives its rungs to do: inputs made on the spot, and the right answers.
 *
 * A task is a kind of work (counting gray pixels, summing floats); a job is one task on one kind of
 * data, with its input in memory and what must come out of it. Answers are checked here and nowhere
 * else, so that a rung cannot be its own judge.
 *
 * Sums of floating-point numbers depend on their order, so no rung could be held to a digit. They
 * are therefore verified on whole numbers so small that every partial sum is exact in any order,
 * where the answer must be right to the last bit; and then timed on data that rounds, where the
 * error is reported.
 */
#ifndef IH_BENCH_JOB_H
#define IH_BENCH_JOB_H

#include "base/status.h"
#include "counts/histogram.h"

enum ih_bench_kind {
    IH_BENCH_HISTOGRAM = 1,
    IH_BENCH_SUM = 2,
    IH_BENCH_DOT = 4,
    IH_BENCH_LUMINANCE = 8
};

enum ih_bench_data {
    IH_DATA_NONE, /* ends a list */
    IH_DATA_RANDOM,
    IH_DATA_SMOOTH,     /* photo-like: slow waves and the noise of a sensor */
    IH_DATA_CONSTANT,   /* one value */
    IH_DATA_TWO_VALUED, /* two that alternate */
    IH_DATA_WHOLE,      /* of sums: exact in any order */
    IH_DATA_TERMS       /* of sums: 1.23, again and again */
};
enum { IH_BENCH_DATA_MAX = 5 };

struct ih_bench_task {
    enum ih_bench_kind kind;
    const char *name;    /* "histogram_gray" */
    const char *title;   /* "histogram of gray pixels" */
    unsigned n_channels; /* of pixels; 0 for numbers */
    bool is_double;      /* of numbers; else float */
    enum ih_bench_data timed[IH_BENCH_DATA_MAX];
    enum ih_bench_data verified; /* IH_DATA_NONE: on what is timed */
};

extern const struct ih_bench_task ih_bench_tasks[];
extern const size_t ih_bench_n_tasks;

/* "random", "1.23", ... */
const char *ih_bench_data_name(enum ih_bench_data data);

struct ih_bench_job {
    const struct ih_bench_task *task;
    enum ih_bench_data data;
    void *input;    /* borrowed; 16-byte aligned, [n_bytes] */
    size_t n_bytes; /* a whole number of items */
    size_t n_items; /* pixels, numbers, or of a dot product pairs: the first halves come first */
    struct ih_count_spec spec; /* of pixels */

    /* What must come out. */
    uint32_t xor_all; /* of all 32-bit words, the last filled up with zeros */
    struct ih_histogram histogram;
    double value;     /* sum, dot product, mean luminance: correctly rounded or as good as that */
    double tolerance; /* relative error of value that is not yet wrong; INFINITY: only reported */
};

/* What a rung says; only what its task and its being a roofline ask for is looked at. */
struct ih_bench_answer {
    uint32_t xor_all;
    struct ih_histogram histogram;
    double value;
};

/*
 * Sizes a job: input is still NULL, n_bytes says what it must hold. A sum takes a million numbers
 * for each MiB of size_bytes, so that 100 MiB make the 1e8 terms of the well-known example.
 */
void ih_bench_job_size(struct ih_bench_job *job, const struct ih_bench_task *task,
                       size_t size_bytes);

/* Makes the data in job->input and works out, slowly and plainly, what must come out. */
enum ih_status ih_bench_job_fill(struct ih_bench_job *job, enum ih_bench_data data,
                                 struct ih_error *err);

/*
 * Is the answer right? is_read: the answer is the xor of the input, whatever the task.
 *
 * *error   of a value: its relative error; else 0
 *
 * Returns IH_OK, or IH_DEVICE with the first thing that is wrong. Pixels of random gray are also
 * put to the textbook's own test: as many counts as bytes, and every byte taken off again leaves
 * zeros.
 */
enum ih_status ih_bench_check(const struct ih_bench_job *job, bool is_read,
                              const struct ih_bench_answer *answer, double *error,
                              struct ih_error *err);

#endif
