/*
 * The jobs of --bench: generated inputs, and their expected answers.
 *
 * A task is a kind of work (histogram of gray pixels, sum of floats). A job is one task on one kind
 * of data, with the input in memory and the expected answer.
 *
 * Every expected answer is computed by code that no rung shares:
 *
 *     histograms     the reference (count/count_reference.c)
 *     sums           64-bit integers for integer data; number of terms * term for equal terms
 *     dot products   64-bit integers for integer data; the exact sum (exact.h) for random data
 *     luminance      the definition, applied to the reference's histogram
 *     read           the xor of all words, one word at a time
 *
 * Floating-point sums depend on their order. So sums are verified on integers, so small that every
 * partial sum is exact in any order, and must be right to the last bit. They are then timed on data
 * that rounds, and the error is reported.
 *
 * Inputs are the same on every machine. Pixels are chosen for their effect on histogram kernels:
 * random values spread over all bins; smooth ones have similar neighbours, as photographs do;
 * constant data hits one bin, so atomics queue up; two alternating values defeat run lengths.
 */
#ifndef IH_BENCH_JOB_H
#define IH_BENCH_JOB_H

#include "base/status.h"
#include "histogram/histogram.h"

enum ih_bench_kind {
    IH_BENCH_HISTOGRAM = 1,
    IH_BENCH_SUM = 2,
    IH_BENCH_DOT = 4,
    IH_BENCH_LUMINANCE = 8
};

enum ih_bench_data {
    IH_DATA_NONE,       /* ends a list */
    IH_DATA_RANDOM,     /* bytes 0 to 255, or numbers from 0 to 1 */
    IH_DATA_SMOOTH,     /* photo-like: slow waves with sensor noise */
    IH_DATA_CONSTANT,   /* one value */
    IH_DATA_TWO_VALUED, /* two alternating values */
    IH_DATA_INTEGERS,   /* small integers whose magnitudes (of a dot product: its products') sum to
                         * less than 2^24, so a float holds every partial sum */
    IH_DATA_TERMS       /* 1.23, repeated */
};
enum { IH_BENCH_DATA_MAX = 5 };

struct ih_bench_task {
    enum ih_bench_kind kind;
    const char *name;    /* "histogram_gray" */
    const char *title;   /* "histogram of gray pixels" */
    unsigned n_channels; /* of pixels; 0: the items are numbers */
    bool is_double;      /* of numbers; false: float */
    enum ih_bench_data timed[IH_BENCH_DATA_MAX];
    enum ih_bench_data verified; /* IH_DATA_NONE: only on the timed data */
};

extern const struct ih_bench_task ih_bench_tasks[];
extern const size_t ih_bench_n_tasks;

/* "random", "1.23", ... */
const char *ih_bench_data_name(enum ih_bench_data data);

struct ih_bench_job {
    const struct ih_bench_task *task;
    enum ih_bench_data data;
    void *input;    /* borrowed; 16-byte aligned, [n_bytes] */
    size_t n_bytes; /* a multiple of the item size */
    size_t n_items; /* pixels or numbers; of a dot product pairs, all first factors first */
    struct ih_count_spec spec; /* of pixels */

    /* The expected answer. */
    uint32_t xor_all; /* of all 32-bit words, the last one padded with zeros */
    struct ih_histogram histogram;
    double value;     /* sum, dot product or mean luminance */
    double tolerance; /* accepted relative error of value; INFINITY: only reported */
};

/* The answer of a rung. Only the fields that its task, or reading, asks for are used. */
struct ih_bench_answer {
    uint32_t xor_all;
    struct ih_histogram histogram;
    double value;
};

/*
 * Sets the sizes of a job. input is still NULL and must hold n_bytes. A sum gets a million numbers
 * for each MiB of size_bytes, so 100 MiB give the 1e8 terms of the well-known example.
 */
void ih_bench_job_size(struct ih_bench_job *job, const struct ih_bench_task *task,
                       size_t size_bytes);

/* Fills job->input and computes the expected answer. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_bench_job_fill(struct ih_bench_job *job, enum ih_bench_data data,
                                 struct ih_error *err);

/*
 * Checks an answer. is_read: it is the xor of the input, whatever the task.
 *
 * *error   relative error of a value; otherwise 0
 *
 * Returns IH_OK, or IH_DEVICE with the first difference. Histograms of random gray pixels must also
 * pass the test of CUDA by Example: as many counts as bytes, and zeros once every byte is taken
 * off.
 */
enum ih_status ih_bench_check(const struct ih_bench_job *job, bool is_read,
                              const struct ih_bench_answer *answer, double *error,
                              struct ih_error *err);

#endif
