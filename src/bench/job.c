#include "bench/job.h"

#include "bench/exact.h"
#include "count/count.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUES_PER_MIB = 1000000,
    WAVE = 4096,              /* pixels in a row of smooth data, and rows until it repeats */
    LEVEL = 128,              /* the middle of the waves */
    AMPLITUDE = 100,          /* leaves room for the noise */
    INTEGER_VALUES = 1 << 22, /* about this many integers are 1 or 2 of either sign, not 0 */
    INTEGER_TOTAL = 1 << 23   /* limit for the sum of their magnitudes: 4/3 of its expectation */
};

/* Two sums of 2^32 terms in different order differ by less than this. */
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
    {IH_BENCH_SUM, "sum_float", "sum of floats", 0, false, {IH_DATA_TERMS}, IH_DATA_INTEGERS},
    {IH_BENCH_SUM, "sum_double", "sum of doubles", 0, true, {IH_DATA_TERMS}, IH_DATA_INTEGERS},
    {IH_BENCH_DOT,
     "dot_float",
     "dot product of floats",
     0,
     false,
     {IH_DATA_RANDOM},
     IH_DATA_INTEGERS},
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
    static const char *const names[] = {"",           "random",   "smooth", "constant",
                                        "two-valued", "integers", "1.23"};
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

/* ---- the data ---- */

/* The i-th number of S. Vigna's splitmix64. */
static uint64_t random_at(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void fill_smooth(uint8_t *pixels, size_t n_pixels, unsigned n_channels)
{
    float across[WAVE][IH_CHANNELS_MAX];
    for (unsigned x = 0; x < WAVE; x++)
        for (unsigned c = 0; c < n_channels; c++)
            across[x][c] = sinf((float)x * 0.002f + (float)c);
    float down[IH_CHANNELS_MAX] = {0};
    for (size_t i = 0; i < n_pixels; i++) {
        const uint64_t noise = random_at(i);
        for (unsigned c = 0; c < n_channels; c++) {
            if (i % WAVE == 0)
                down[c] = AMPLITUDE * sinf((float)(i / WAVE % WAVE) * 0.003f - (float)c);
            pixels[i * n_channels + c] =
                (uint8_t)(LEVEL + across[i % WAVE][c] * down[c] + (float)(noise >> 8 * c & 7));
        }
    }
}

static void fill_pixels(enum ih_bench_data data, uint8_t *pixels, size_t n_pixels,
                        unsigned n_channels)
{
    const size_t n = n_pixels * n_channels;
    if (data == IH_DATA_SMOOTH) {
        fill_smooth(pixels, n_pixels, n_channels);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (data == IH_DATA_RANDOM)
            pixels[i] = (uint8_t)(random_at(i / 8) >> i % 8 * 8);
        else if (data == IH_DATA_CONSTANT)
            pixels[i] = 77;
        else
            pixels[i] = i / n_channels % 2 ? 191 : 64;
    }
}

/* -2, -1, 1 or 2. */
static int sign_at(size_t i)
{
    static const int values[4] = {-2, -1, 1, 2};
    return values[random_at(i) >> 62];
}

/* The i-th of n integers. *total: the sum of the magnitudes so far. */
static int integer_at(size_t i, size_t n, long *total)
{
    const int value = sign_at(i), magnitude = value < 0 ? -value : value;
    if (random_at(i) % (n / INTEGER_VALUES + 1) != 0 || *total + magnitude > INTEGER_TOTAL)
        return 0;
    *total += magnitude;
    return value;
}

/* 0 to 1, in steps that a float holds. */
static double uniform_at(size_t i)
{
    return (double)(random_at(i) >> 40) * 0x1p-24;
}

/* Number i of n. */
static double number_at(enum ih_bench_data data, size_t i, size_t n, long *total)
{
    return data == IH_DATA_INTEGERS ? integer_at(i, n, total)
           : data == IH_DATA_RANDOM ? uniform_at(i)
                                    : 1.23;
}

static void fill_numbers(const struct ih_bench_job *job, enum ih_bench_data data)
{
    const size_t n = job->n_items;
    double *doubles = job->input;
    float *floats = job->input;
    long total = 0;
    for (size_t i = 0; i < n; i++) {
        const double value = number_at(data, i, n, &total);
        if (job->task->is_double)
            doubles[i] = value;
        else
            floats[i] = (float)value;
        if (job->task->kind == IH_BENCH_DOT)
            floats[n + i] = data == IH_DATA_INTEGERS ? (float)sign_at(n + i)
                            : data == IH_DATA_RANDOM ? (float)uniform_at(n + i)
                                                     : 1.23f;
    }
}

/* ---- the expected answer ---- */

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

/* ITU-R BT.709 weights on values decoded by IEC 61966-2-1. */
static double mean_luminance(const struct ih_histogram *h)
{
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (unsigned v = 0; v < IH_BINS; v++) {
        const double s = v / 255.0;
        const double linear = s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
        for (unsigned c = 0; c < 3; c++)
            sum += weights[c] * (double)h->bins[c][v] * linear;
    }
    return sum / (double)h->n_pixels;
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
    if (job->task->kind == IH_BENCH_LUMINANCE)
        job->value = mean_luminance(&job->histogram);
    job->tolerance = luminance_tolerance;
    return IH_OK;
}

/* Number i, or product i, of the input. A product of two floats is exact in a double. */
static double term(const struct ih_bench_job *job, size_t i)
{
    const float *floats = job->input;
    const double *doubles = job->input;
    if (job->task->kind == IH_BENCH_DOT)
        return (double)floats[i] * (double)floats[job->n_items + i];
    return job->task->is_double ? doubles[i] : (double)floats[i];
}

static enum ih_status expect_value(struct ih_bench_job *job, struct ih_error *err)
{
    struct ih_exact_sum *exact = NULL;
    int64_t sum = 0;
    job->tolerance = job->data == IH_DATA_INTEGERS ? 0.0 : (double)INFINITY;
    if (job->data == IH_DATA_TERMS && job->task->kind == IH_BENCH_SUM) {
        job->value = (double)job->n_items * term(job, 0); /* rounded once, as the exact sum is */
        return IH_OK;
    }
    if (job->data != IH_DATA_INTEGERS && !(exact = calloc(1, sizeof *exact)))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (size_t i = 0; i < job->n_items; i++) {
        if (exact)
            ih_exact_add(exact, term(job, i));
        else
            sum += (int64_t)term(job, i);
    }
    job->value = exact ? ih_exact_round(exact) : (double)sum;
    free(exact);
    return IH_OK;
}

enum ih_status ih_bench_job_fill(struct ih_bench_job *job, enum ih_bench_data data,
                                 struct ih_error *err)
{
    const struct ih_bench_task *task = job->task;
    job->data = data;
    if (task->n_channels > 0)
        fill_pixels(data, job->input, job->n_items, task->n_channels);
    else
        fill_numbers(job, data);
    job->xor_all = xor_words(job->input, job->n_bytes);
    return task->n_channels > 0 ? expect_histogram(job, err) : expect_value(job, err);
}

/* ---- the check ---- */

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

/* The two tests of CUDA by Example for its histogram of random bytes. */
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
