/* The tasks of --bench: makes their pixels, and checks the counts of a method before it is timed.
 */
#include "bench/method.h"
#include "count/count.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAVE = 4096,    /* pixels in a row of smooth data, and rows until it repeats */
    LEVEL = 128,    /* the middle of the waves */
    AMPLITUDE = 100 /* leaves room for the noise */
};

const char *const ih_bench_data_names[] = {"random", "smooth", "constant", "two-valued"};

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
                down[c] = (float)AMPLITUDE * sinf((float)(i / WAVE % WAVE) * 0.003f - (float)c);
            pixels[i * n_channels + c] = (uint8_t)((float)LEVEL + across[i % WAVE][c] * down[c] +
                                                   (float)(noise >> 8 * c & 7));
        }
    }
}

static void fill_pixels(const struct ih_bench_job *job, enum ih_bench_data data)
{
    const unsigned n_channels = job->spec.n_channels;
    for (size_t i = 0; i < job->n_bytes && data != IH_DATA_SMOOTH; i++)
        job->input[i] = (uint8_t)(data == IH_DATA_RANDOM     ? random_at(i / 8) >> i % 8 * 8
                                  : data == IH_DATA_CONSTANT ? 77
                                  : i / n_channels % 2       ? 191
                                                             : 64);
    if (data == IH_DATA_SMOOTH)
        fill_smooth(job->input, job->n_pixels, n_channels);
}

enum ih_status ih_bench_job_fill(struct ih_bench_job *job, uint8_t *input, size_t size_bytes,
                                 unsigned n_channels, enum ih_bench_data data, struct ih_error *err)
{
    struct ih_counter *counter = malloc(sizeof *counter);
    if (!counter)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    *job = (struct ih_bench_job){
        .input = input,
        .n_pixels = size_bytes / n_channels,
        .spec = {
            .n_channels = n_channels, .luma = &ih_luma_bt709, .clip_low = 0, .clip_high = 255}};
    job->n_bytes = job->n_pixels * n_channels;
    fill_pixels(job, data);
    memset(input + job->n_bytes, 0, 8);
    ih_counter_begin(counter, &ih_count_reference, &job->spec);
    ih_counter_add(counter, input, job->n_pixels);
    ih_counter_end(counter, &job->expected.histogram);
    free(counter);
    for (size_t i = 0; i < job->n_bytes; i += 4) {
        uint32_t word;
        memcpy(&word, input + i, 4);
        job->expected.xor_all ^= word;
    }
    return IH_OK;
}

enum ih_status ih_bench_check(const struct ih_bench_job *job, bool is_read,
                              const struct ih_bench_answer *answer, struct ih_error *err)
{
    const struct ih_histogram *h = &answer->histogram, *expected = &job->expected.histogram;
    if (is_read && answer->xor_all != job->expected.xor_all)
        return ih_error_set(err, IH_DEVICE,
                            "wrong: the xor of all words is %08" PRIx32 ", not %08" PRIx32,
                            answer->xor_all, job->expected.xor_all);
    for (unsigned p = 0; !is_read && p < IH_PLANES; p++) {
        const char *plane = ih_histogram_plane(expected, p);
        for (unsigned v = 0; plane && v < IH_BINS; v++)
            if (h->bins[p][v] != expected->bins[p][v])
                return ih_error_set(err, IH_DEVICE,
                                    "wrong: %s bin %u holds %" PRIu64 ", not %" PRIu64, plane, v,
                                    h->bins[p][v], expected->bins[p][v]);
        if (plane && h->sum[p] != expected->sum[p])
            return ih_error_set(err, IH_DEVICE, "wrong: the %s sum is %" PRIu64 ", not %" PRIu64,
                                plane, h->sum[p], expected->sum[p]);
    }
    if (!is_read && (h->n_pixels != expected->n_pixels || h->any_low != expected->any_low ||
                     h->any_high != expected->any_high || h->all_low != expected->all_low ||
                     h->all_high != expected->all_high))
        return ih_error_set(err, IH_DEVICE, "wrong: the clip counts differ");
    return IH_OK;
}

double ih_bench_median(double *figures_of, size_t n)
{
    for (size_t i = 1; i < n; i++) /* insertion sort: n is 20 */
        for (size_t k = i; k > 0 && figures_of[k] < figures_of[k - 1]; k--) {
            const double larger = figures_of[k - 1];
            figures_of[k - 1] = figures_of[k];
            figures_of[k] = larger;
        }
    return n % 2 ? figures_of[n / 2] : (figures_of[n / 2 - 1] + figures_of[n / 2]) / 2;
}
