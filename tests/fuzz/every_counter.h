/*
 * Counts the same pixels with every counter and compares the result with the plain C reference: the
 * fast loops at any alignment and in any pieces, every kernel of every backend of this build and
 * machine (including the GPU), and rows with gaps through the public library.
 *
 * The input is a job: HEADER_BYTES choose what to count and how to cut the pixels into pieces; the
 * other bytes are the pixels, repeated as often as the header states. So a short input can make
 * long runs and large images. Jobs of three channels are also counted as planes of Y, Cb and Cr.
 */
#ifndef IH_TESTS_EVERY_COUNTER_H
#define IH_TESTS_EVERY_COUNTER_H

#include "count/count.h"
#include "device/backend.h"
#include "kernels/ycc.h"
#include "library/library.h" /* to set a context's luma and clip limits for each job */
#include "tests/fuzz/promised.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 10,
    REPEATS_AT = 6, /* in the header */
    JOB_BYTES_MAX = 2 * 1024,
    /* Pairs of neighbours are counted only in large images, which take 100 times as long. Only jobs
     * with LARGE_JOB in the header are that large. */
    LARGE_JOB_BYTES_MAX = 256 * 1024,
    LARGE_JOB = 201,
    STRIPES_MAX = 30, /* limits time, */
    FOLDS_MAX = 4,    /* and so does this */
    LANES_MAX = 32
};

struct count_job {
    struct ih_count_spec spec;
    bool skips_transparent;
    bool has_low_limits; /* fold tables and count pairs even with few pixels */
    uint64_t fold_pixels;
    size_t misalignment;  /* of the first pixel: 0 to 63 bytes */
    size_t stripe_pixels; /* at most in one call; every third stripe is about half as large */
    uint64_t width, height;
    ptrdiff_t gap_bytes; /* between rows */
    bool is_upwards;     /* the last row comes first in memory */
    unsigned layout; /* of planes: 4:4:4, 4:2:2 or 4:2:0; halved chroma needs 5 pixels of width */
    uint8_t *pixels; /* owned; width * height pixels, without gaps */
};

static inline struct count_job read_job(const uint8_t *bytes, size_t size)
{
    const uint8_t *h = bytes;
    struct count_job job = {.skips_transparent = h[0] & 8,
                            .is_upwards = h[0] & 16,
                            .has_low_limits = h[0] & 32,
                            .fold_pixels = 1 + (uint64_t)h[9] * h[9],
                            .misalignment = h[3] & 63,
                            .stripe_pixels = h[4] == 255 ? SIZE_MAX : 1 + (size_t)h[4] * h[4] / 2,
                            .gap_bytes = h[5],
                            .layout = h[0] / 64 % 3};
    unsigned low = h[1] < h[2] ? h[1] : h[2], high = h[1] < h[2] ? h[2] : h[1];
    if (low == high && high < IH_BINS - 1)
        high++;
    else if (low == high)
        low--;
    job.spec = (struct ih_count_spec){IH_LAYOUT(1 + (h[0] & 3u)),
                                      IH_UINT8,
                                      IH_BINS,
                                      h[0] & 4 ? &ih_luma_bt601 : &ih_luma_bt709,
                                      (uint8_t)low,
                                      (uint8_t)high};
    const size_t data_bytes = size - HEADER_BYTES, n_channels = job.spec.layout.n_channels;
    const size_t bytes_max = h[REPEATS_AT] == LARGE_JOB ? LARGE_JOB_BYTES_MAX : JOB_BYTES_MAX;
    size_t n_repeats = h[REPEATS_AT] == LARGE_JOB ? bytes_max : (size_t)1 + h[REPEATS_AT];
    if (n_repeats > 1 + bytes_max / (data_bytes + 1))
        n_repeats = 1 + bytes_max / (data_bytes + 1);
    const size_t n_pixels = data_bytes * n_repeats / n_channels;
    job.width = 1 + h[7] + (uint64_t)h[8] * 256;
    job.height = n_pixels / job.width;
    if (job.height == 0) {
        job.width = n_pixels;
        job.height = n_pixels > 0;
    }
    if (job.stripe_pixels < n_pixels / STRIPES_MAX)
        job.stripe_pixels = n_pixels / STRIPES_MAX;
    if (job.fold_pixels < n_pixels / FOLDS_MAX)
        job.fold_pixels = n_pixels / FOLDS_MAX;
    job.pixels = malloc(data_bytes * n_repeats + 1);
    PROMISED(job.pixels);
    for (size_t i = 0; i < n_repeats; i++)
        memcpy(job.pixels + i * data_bytes, bytes + HEADER_BYTES, data_bytes);
    return job;
}

/* The number of pixels in the next call. The counts must not depend on it. */
static inline size_t next_piece(const struct count_job *job, size_t done, size_t n_left)
{
    size_t n = job->stripe_pixels;
    if (n != SIZE_MAX && done / n % 3 == 1)
        n = 1 + n / 2;
    return n < n_left ? n : n_left;
}

static inline void begin(struct ih_counter *counter, const struct ih_count_method *method,
                         const struct ih_count_spec *spec)
{
    PROMISED(ih_counter_begin(counter, method, spec, NULL) == IH_OK);
}

static inline void check_counts(const struct ih_histogram *got, const struct ih_histogram *expected,
                                const char *counter)
{
    bool is_same = ih_layout_is_same(got->layout, expected->layout) &&
                   got->n_pixels == expected->n_pixels && got->any_low == expected->any_low &&
                   got->any_high == expected->any_high && got->all_low == expected->all_low &&
                   got->all_high == expected->all_high;
    const size_t n = ih_own_planes(expected) * ((size_t)IH_BINS + 1); /* bins and sums */
    is_same = is_same && got->n_planes == expected->n_planes &&
              memcmp(got->bins, expected->bins, n * sizeof *got->bins) == 0;
    if (!is_same)
        fprintf(stderr, "%s differs from the reference\n", counter);
    PROMISED(is_same);
}

/* ---- the expected counts ---- */

/* Counts the pixels that are not skipped with the reference. */
static inline void expect_counts(const struct count_job *job, struct ih_counter *counter,
                                 struct ih_histogram *out)
{
    const size_t n = job->spec.layout.n_channels, n_pixels = (size_t)(job->width * job->height);
    begin(counter, &ih_count_reference, &job->spec);
    for (size_t i = 0; i < n_pixels; i++) {
        const uint8_t *pixel = job->pixels + i * n;
        if (n % 2 == 1 || !job->skips_transparent || pixel[n - 1] != 0)
            ih_counter_add(counter, pixel, 1);
    }
    ih_counter_end(counter, out);
}

/* ---- the loops ---- */

static inline void check_loops(const struct count_job *job, struct ih_counter *counter,
                               const struct ih_histogram *expected)
{
    const size_t n = job->spec.layout.n_channels, n_bytes = (size_t)(job->width * job->height) * n;
    const size_t n_block =
        job->misalignment + n_bytes; /* ends with the last pixel, for sanitizers */
    uint8_t *block = malloc(n_block + (n_block == 0)), *pixels;
    struct ih_histogram got;
    PROMISED(block);
    pixels = block + job->misalignment;
    memcpy(pixels, job->pixels, n_bytes);
    size_t n_pixels = n_bytes / n;
    if (job->skips_transparent && n % 2 == 0)
        n_pixels = ih_pixels_drop_transparent(pixels, n_pixels, (unsigned)n);
    begin(counter, &ih_count_tables, &job->spec);
    counter->finds_noise = job->misalignment % 2;
    if (job->has_low_limits) {
        counter->fold_pixels = job->fold_pixels;
        counter->pairs_from_pixels = 0;
    }
    for (size_t done = 0; done < n_pixels;) {
        size_t piece = next_piece(job, done, n_pixels - done);
        ih_counter_add(counter, pixels + done * n, piece);
        done += piece;
    }
    ih_counter_end(counter, &got);
    free(block);
    check_counts(&got, expected, "tables");
    ih_histogram_reset(&got);
}

/* ---- lanes of every backend ---- */

struct count_lane {
    char name[80];
    struct ih_lane *lane;
};

/* Opens a lane for every kernel, and another for the first kernel with an idle core. The lanes stay
 * open. A backend without a device on this machine is reported once. */
static inline size_t open_lanes(struct count_lane *lanes)
{
    size_t n = 0;
    for (size_t b = 0; ih_backends[b]; b++)
        for (size_t k = 0; ih_backends[b]->kernels[k].name; k++)
            for (unsigned n_idle_cores = 0; n_idle_cores <= (k == 0); n_idle_cores++) {
                const struct ih_device_options options = {
                    .backend = ih_backends[b]->name,
                    .with = {ih_backends[b]->kernels[k].name, n_idle_cores}};
                struct ih_device *device;
                struct ih_error err = {0};
                struct count_lane *to = &lanes[n];
                PROMISED(n < LANES_MAX);
                PROMISED(ih_device_open(&options, &device, &err) == IH_OK);
                if (ih_device_wait(device, &err) != IH_OK) {
                    ih_device_close(device);
                    if (k == 0 && n_idle_cores == 0)
                        fprintf(stderr, "skipped: %s: %s\n", options.backend, err.message);
                    continue;
                }
                snprintf(to->name, sizeof to->name, "%s/%s%s", options.backend, options.with.kernel,
                         n_idle_cores ? " beside" : "");
                PROMISED(ih_lane_open(device, &to->lane, &err) == IH_OK);
                n++;
            }
    return n;
}

static inline void check_lane(const struct count_job *job, const struct count_lane *l,
                              const struct ih_histogram *expected)
{
    const size_t n = job->spec.layout.n_channels, n_pixels = (size_t)(job->width * job->height);
    struct ih_histogram got;
    struct ih_error err;
    const char *kernel;
    PROMISED(ih_lane_begin(l->lane, &job->spec, &err) == IH_OK);
    for (size_t done = 0; done < n_pixels;) {
        uint8_t *stripe;
        size_t size_bytes, piece = next_piece(job, done, n_pixels - done);
        PROMISED(ih_lane_stripe(l->lane, n, &stripe, &size_bytes, &err) == IH_OK);
        PROMISED(size_bytes >= n);
        piece = piece < size_bytes / n ? piece : size_bytes / n;
        memcpy(stripe, job->pixels + done * n, piece * n);
        done += piece;
        if (job->skips_transparent && n % 2 == 0)
            piece = ih_pixels_drop_transparent(stripe, piece, (unsigned)n);
        if (piece > 0)
            PROMISED(ih_lane_count(l->lane, piece, &err) == IH_OK);
    }
    PROMISED(ih_lane_end(l->lane, &got, &kernel, &err) == IH_OK);
    check_counts(&got, expected, l->name);
    ih_histogram_reset(&got);
}

/* ---- rows with gaps ---- */

/* The same rows in the layouts that a caller of the library may have: with gaps, bottom up, at any
 * address. The library never skips transparent pixels. */
static inline void check_rows(const struct count_job *job, const struct ih_histogram *expected)
{
    static struct ih_context *context; /* on the GPU if there is one */
    static struct ih_counts *counts;
    struct ih_error err = {0};
    PROMISED(context || ih_context_open(NULL, 0, &context, &err) == IH_OK);
    PROMISED(counts || ih_counts_open(&counts, &err) == IH_OK);
    context->options.measure.luma = job->spec.luma;
    context->options.measure.clip_low = job->spec.clip_low;
    context->options.measure.clip_high = job->spec.clip_high;

    const size_t row_bytes = (size_t)job->width * job->spec.layout.n_channels,
                 height = (size_t)job->height;
    const size_t stride = row_bytes + (size_t)job->gap_bytes;
    uint8_t *block = malloc(job->misalignment + stride * height + 1);
    PROMISED(block);
    memset(block, 0x5a, job->misalignment + stride * height); /* gaps are not counted */
    uint8_t *first = block + job->misalignment;
    struct ih_pixels pixels = {first, job->width, job->height, (ptrdiff_t)stride,
                               job->spec.layout.n_channels};
    for (size_t y = 0; y < height; y++)
        memcpy(first + (job->is_upwards ? height - 1 - y : y) * stride, job->pixels + y * row_bytes,
               row_bytes);
    if (job->is_upwards && height > 0) {
        pixels.data = first + (height - 1) * stride;
        pixels.stride_bytes = -(ptrdiff_t)stride;
    }
    PROMISED(ih_count_pixels(context, &pixels, counts, &err) == IH_OK);
    check_counts(&counts->result.histogram, expected, "rows with gaps");
    free(block);
}

/* ---- planes ---- */

/* Fills a plane, in rows with gaps, with the job's bytes, repeated. */
static inline uint8_t *make_plane(const struct count_job *job, size_t first, size_t width,
                                  size_t height, size_t pitch)
{
    const size_t n_bytes = (size_t)(job->width * job->height) * 3;
    uint8_t *plane = malloc(pitch * height);
    PROMISED(plane);
    memset(plane, 0x5a, pitch * height);
    for (size_t i = 0; i < width * height; i++)
        plane[i / width * pitch + i % width] = job->pixels[(first + i) % n_bytes];
    return plane;
}

static inline void expect_planes(const struct count_job *job, const struct ih_ycc_image *image,
                                 int h, int v, struct ih_counter *counter, struct ih_histogram *out)
{
    begin(counter, &ih_count_reference, &job->spec);
    for (uint64_t i = 0; i < job->width * job->height; i++) {
        uint32_t rgb[3];
        ih_ycc_pixel(image, h, v, (uint32_t)(i % job->width), (uint32_t)(i / job->width), rgb);
        const uint8_t pixel[3] = {(uint8_t)rgb[0], (uint8_t)rgb[1], (uint8_t)rgb[2]};
        ih_counter_add(counter, pixel, 1);
    }
    ih_counter_end(counter, out);
}

/* Counts planes in stripes of rows, with both sets of vector loops. */
static inline void check_planes(const struct count_job *job, struct ih_counter *counter)
{
    const uint32_t h = job->layout > 0 ? 2 : 1, v = job->layout == 2 ? 2 : 1;
    const uint32_t width = (uint32_t)job->width, height = (uint32_t)job->height;
    const uint32_t w = (width + h - 1) / h, n_chroma_rows = (height + v - 1) / v;
    const uint32_t pitches[2] = {width + (uint32_t)job->gap_bytes,
                                 w + IH_PLANES_PADDING + (uint32_t)job->gap_bytes};
    struct ih_histogram expected, got;
    if (job->spec.layout.n_channels != 3 || !ih_counter_takes_planes(&ih_count_tables) ||
        height == 0 || (h == 2 && width < 5))
        return;
    uint8_t *const planes[3] = {
        make_plane(job, 0, width, height, pitches[0]),
        make_plane(job, (size_t)width * height, w, n_chroma_rows, pitches[1]),
        make_plane(job, (size_t)width * height * 2, w, n_chroma_rows, pitches[1])};
    const struct ih_ycc_image image = {{planes[0], planes[1], planes[2]},
                                       {pitches[0], pitches[1], pitches[1]},
                                       width,
                                       height,
                                       w,
                                       n_chroma_rows};
    expect_planes(job, &image, (int)h, (int)v, counter, &expected);
    for (unsigned k = 0; k < 2; k++) {
        begin(counter, &ih_count_tables, &job->spec);
        if (k == 0 && ih_count_vectors_base->ycc)
            counter->vectors = ih_count_vectors_base;
        if (job->has_low_limits) {
            counter->fold_pixels = job->fold_pixels;
            counter->pairs_from_pixels = 0;
        }
        for (uint32_t row = 0, n; row < height; row += n) {
            const size_t piece = next_piece(job, (size_t)row * width, SIZE_MAX) / width;
            const uint32_t near = row / v, from = v == 2 && near > 0 ? near - 1 : near;
            n = piece == 0 ? 1 : piece < height - row ? (uint32_t)piece : height - row;
            const struct ih_planes stripe = {.planes = {planes[0] + (size_t)row * pitches[0],
                                                        planes[1] + (size_t)from * pitches[1],
                                                        planes[2] + (size_t)from * pitches[1]},
                                             .pitch_bytes = {pitches[0], pitches[1], pitches[1]},
                                             .chroma_h = h,
                                             .chroma_v = v,
                                             .width = width,
                                             .n_rows = n,
                                             .row = row,
                                             .chroma_row = from,
                                             .height = height,
                                             .n_chroma_rows = n_chroma_rows};
            ih_counter_add_planes(counter, &stripe);
        }
        ih_counter_end(counter, &got);
        check_counts(&got, &expected, "planes");
        ih_histogram_reset(&got);
    }
    ih_histogram_reset(&expected);
    for (unsigned c = 0; c < 3; c++)
        free(planes[c]);
}

/* ---- all counters ---- */

static inline void count_with_every_counter(const uint8_t *bytes, size_t size)
{
    static struct count_lane lanes[LANES_MAX];
    static size_t n_lanes;
    static struct ih_counter counter;
    static struct ih_histogram expected;
    if (size < HEADER_BYTES)
        return;
    if (n_lanes == 0)
        n_lanes = open_lanes(lanes);
    struct count_job job = read_job(bytes, size);
    expect_counts(&job, &counter, &expected);
    check_loops(&job, &counter, &expected);
    for (size_t i = 0; i < n_lanes; i++)
        check_lane(&job, &lanes[i], &expected);
    if (!job.skips_transparent)
        check_rows(&job, &expected);
    ih_histogram_reset(&expected);
    check_planes(&job, &counter);
    free(job.pixels);
}

#endif
