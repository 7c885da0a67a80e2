#include "bench/job.h"

#include "bench/data.h"
#include "bench/exact.h"
#include "count/count.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_PER_MIB = 1000000 };

/* Two sums of 2^32 terms in different order agree better than this. */
static const double luminance_tolerance = 1e-9;

#define PIXEL_DATA                                                           \
    {                                                                        \
        IH_DATA_RANDOM, IH_DATA_SMOOTH, IH_DATA_CONSTANT, IH_DATA_TWO_VALUED \
    }

const struct ih_bench_task ih_bench_tasks[] = {
    {IH_BENCH_HISTOGRAM, "histogram_gray", "histogram of gray pixels", 1, false, PIXEL_DATA,
     IH_DATA_NONE},
    {IH_BENCH_HISTOGRAM, "histogram_rgb", "histograms of RGB pixels and their luma", 3, false,
     PIXEL_DATA, IH_DATA_NONE},
    {IH_BENCH_SUM, "sum_float", "sum of floats", 0, false, {IH_DATA_TERMS}, IH_DATA_WHOLE},
    {IH_BENCH_SUM, "sum_double", "sum of doubles", 0, true, {IH_DATA_TERMS}, IH_DATA_WHOLE},
    {IH_BENCH_DOT, "dot_float", "dot product of floats", 0, false, {IH_DATA_RANDOM}, IH_DATA_WHOLE},
    {IH_BENCH_LUMINANCE,
     "luminance_rgb",
     "mean luminance of RGB pixels",
     3,
     false,
     {IH_DATA_SMOOTH},
     IH_DATA_NONE},
};
const size_t ih_bench_n_tasks = sizeof ih_bench_tasks / sizeof ih_bench_tasks[0];

const char *ih_bench_data_name(enum ih_bench_data data)
{
    static const char *const names[] = {"",           "random", "smooth", "constant",
                                        "two-valued", "whole",  "1.23"};
    return names[data];
}

void ih_bench_job_size(struct ih_bench_job *job, const struct ih_bench_task *task,
                       size_t size_bytes)
{
    memset(job, 0, sizeof *job);
    job->task = task;
    size_t item_bytes = task->n_channels;
    job->n_items = task->n_channels ? size_bytes / task->n_channels : 0;
    if (task->n_channels == 0) {
        const double n_values = (double)size_bytes / (1 << 20) * VALUES_PER_MIB;
        item_bytes = task->is_double ? sizeof(double) : sizeof(float);
        job->n_items = (size_t)(n_values + 0.5);
        if (task->kind == IH_BENCH_DOT) { /* as many values, in pairs */
            item_bytes *= 2;
            job->n_items /= 2;
        }
    }
    job->n_bytes = job->n_items * item_bytes;
    job->spec = (struct ih_count_spec){.n_channels = task->n_channels ? task->n_channels : 1,
                                       .luma = &ih_luma_bt709,
                                       .clip_low = 0,
                                       .clip_high = 255};
}

/* ---- what must come out ---- */

static uint32_t xor_words(const uint8_t *bytes, size_t n_bytes)
{
    uint32_t value = 0, word;
    for (size_t i = 0; i < n_bytes; i += sizeof word) {
        const size_t left = n_bytes - i;
        word = 0;
        memcpy(&word, bytes + i, left < sizeof word ? left : sizeof word);
        value ^= word;
    }
    return value;
}

static enum ih_status expect_histogram(struct ih_bench_job *job, struct ih_error *err)
{
    struct ih_counter *counter = malloc(sizeof *counter);
    if (!counter)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    ih_counter_begin(counter, &ih_count_reference, &job->spec);
    ih_counter_add(counter, job->input, job->n_items);
    ih_counter_end(counter, &job->histogram);
    free(counter);
    job->value = ih_mean_luminance(&job->histogram);
    job->tolerance = luminance_tolerance;
    return IH_OK;
}

static enum ih_status expect_value(struct ih_bench_job *job, struct ih_error *err)
{
    const float *floats = job->input;
    const double *doubles = job->input;
    struct ih_exact_sum *sum = calloc(1, sizeof *sum);
    if (!sum)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (size_t i = 0; i < job->n_items; i++) {
        if (job->task->kind == IH_BENCH_DOT) /* 24 + 24 bits: the product is exact */
            ih_exact_add(sum, (double)floats[i] * (double)floats[job->n_items + i]);
        else
            ih_exact_add(sum, job->task->is_double ? doubles[i] : (double)floats[i]);
    }
    job->value = ih_exact_round(sum);
    job->tolerance = job->data == IH_DATA_WHOLE ? 0.0 : (double)INFINITY;
    free(sum);
    return IH_OK;
}

enum ih_status ih_bench_job_fill(struct ih_bench_job *job, enum ih_bench_data data,
                                 struct ih_error *err)
{
    const struct ih_bench_task *task = job->task;
    job->data = data;
    if (task->n_channels > 0)
        ih_bench_fill_pixels(data, job->input, job->n_items, task->n_channels);
    else if (task->kind == IH_BENCH_DOT)
        ih_bench_fill_pairs(data, job->input, (float *)job->input + job->n_items, job->n_items);
    else if (task->is_double)
        ih_bench_fill_doubles(data, job->input, job->n_items);
    else
        ih_bench_fill_floats(data, job->input, job->n_items);
    job->xor_all = xor_words(job->input, job->n_bytes);
    return task->n_channels > 0 ? expect_histogram(job, err) : expect_value(job, err);
}

/* ---- what did come out ---- */

static enum ih_status check_histogram(const struct ih_bench_job *job, const struct ih_histogram *h,
                                      struct ih_error *err)
{
    const struct ih_histogram *expected = &job->histogram;
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const char *plane = ih_plane_name(expected->n_channels, p);
        for (unsigned v = 0; plane && v < IH_BINS; v++)
            if (h->bins[p][v] != expected->bins[p][v])
                return ih_error_set(err, IH_DEVICE,
                                    "wrong: %s bin %u holds %" PRIu64 ", not %" PRIu64, plane, v,
                                    h->bins[p][v], expected->bins[p][v]);
        if (plane && h->sum[p] != expected->sum[p])
            return ih_error_set(err, IH_DEVICE, "wrong: the %s sum is %" PRIu64 ", not %" PRIu64,
                                plane, h->sum[p], expected->sum[p]);
    }
    if (h->n_pixels != expected->n_pixels || h->any_low != expected->any_low ||
        h->any_high != expected->any_high || h->all_low != expected->all_low ||
        h->all_high != expected->all_high)
        return ih_error_set(err, IH_DEVICE, "wrong: the clip counts differ");
    return IH_OK;
}

/* CUDA by Example's two checks of its histogram of random bytes. */
static enum ih_status check_as_textbook(const struct ih_bench_job *job,
                                        const struct ih_histogram *h, struct ih_error *err)
{
    const uint8_t *bytes = job->input;
    uint64_t left[IH_BINS], sum = 0;
    for (unsigned v = 0; v < IH_BINS; v++)
        sum += h->bins[0][v];
    if (sum != job->n_bytes)
        return ih_error_set(err, IH_DEVICE, "wrong: %" PRIu64 " counts of %zu bytes", sum,
                            job->n_bytes);
    memcpy(left, h->bins[0], sizeof left);
    for (size_t i = 0; i < job->n_bytes; i++)
        left[bytes[i]]--;
    for (unsigned v = 0; v < IH_BINS; v++)
        if (left[v] != 0)
            return ih_error_set(err, IH_DEVICE, "wrong: bin %u is not zero when all is taken off",
                                v);
    return IH_OK;
}

static enum ih_status check_value(const struct ih_bench_job *job, double value, double *error,
                                  struct ih_error *err)
{
    *error = job->value == value ? 0.0 : fabs(value - job->value) / fabs(job->value);
    if (!isnan(value) && *error <= job->tolerance)
        return IH_OK;
    return ih_error_set(err, IH_DEVICE, "wrong: %.17g, not %.17g", value, job->value);
}

enum ih_status ih_bench_check(const struct ih_bench_job *job, bool is_read,
                              const struct ih_bench_answer *answer, double *error,
                              struct ih_error *err)
{
    *error = 0;
    if (is_read)
        return answer->xor_all == job->xor_all
                   ? IH_OK
                   : ih_error_set(err, IH_DEVICE,
                                  "wrong: the xor of all words is %08" PRIx32 ", not %08" PRIx32,
                                  answer->xor_all, job->xor_all);
    if (job->task->kind != IH_BENCH_HISTOGRAM)
        return check_value(job, answer->value, error, err);
    enum ih_status status = check_histogram(job, &answer->histogram, err);
    if (status == IH_OK && job->task->n_channels == 1 && job->data == IH_DATA_RANDOM)
        status = check_as_textbook(job, &answer->histogram, err);
    return status;
}
