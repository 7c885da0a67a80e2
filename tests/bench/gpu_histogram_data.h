/*
 * The input of the GPU benchmarks and the expected counts, both made on the host with all cores.
 *
 * The kinds of data differ in their effect on a histogram kernel: `random` spreads over all bins,
 * `smooth` and a real photo have similar neighbours, `constant` and `clipped` hit one bin,
 * `stripes` two alternating bins, `bins32` 8 bins of one shared-memory bank in a table that is not
 * replicated, and `mixed` has clipped and unclipped pixels in every group of 16.
 */
#ifndef GPU_HISTOGRAM_DATA_H
#define GPU_HISTOGRAM_DATA_H

#include "kernels/kernels.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <thread>
#include <vector>

enum data_kind { RANDOM, SMOOTH, PHOTO, CONSTANT, CLIPPED, STRIPES, BINS32, MIXED, N_KINDS };

static const char *const kind_names[N_KINDS] = {"random",  "smooth",  "photo",  "constant",
                                                "clipped", "stripes", "bins32", "mixed"};

struct photo {
    std::vector<uint8_t> rgb; /* empty: no photo was given */
};

/* Calls job(first, end) on every core, each with a part of 0 .. n-1. */
template <typename job_fn> static void on_all_threads(uint64_t n, job_fn job)
{
    const uint64_t n_threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < n_threads; t++)
        threads.emplace_back(job, n * t / n_threads, n * (t + 1) / n_threads);
    for (std::thread &thread : threads)
        thread.join();
}

/* The i-th number of S. Vigna's splitmix64; threads need no state. */
static inline uint64_t random_at(uint64_t i)
{
    uint64_t z = (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint8_t sample_at(enum data_kind kind, const struct photo &photo, uint64_t pixel,
                                unsigned channel, uint64_t noise)
{
    static const uint8_t corners[4] = {0, 255, 100, 180};
    const unsigned byte = noise >> 8 * channel & 255;
    switch (kind) {
    case RANDOM:
        return (uint8_t)byte;
    case SMOOTH: { /* low frequencies and sensor noise */
        const float x = (float)(pixel % 4096), y = (float)(pixel / 4096 % 4096);
        const float level = 128 + 90 * sinf(x * 0.002f + channel) * sinf(y * 0.003f - channel);
        return (uint8_t)(level + (float)(byte % 8));
    }
    case PHOTO:
        return channel == 3 ? 255 : photo.rgb[(pixel * 3 + channel) % photo.rgb.size()];
    case CONSTANT:
        return 77;
    case CLIPPED:
        return 255;
    case STRIPES:
        return pixel % 2 ? 191 : 64;
    case BINS32:
        return (uint8_t)(byte / 32 * 32);
    default: /* MIXED */
        return corners[byte % 4];
    }
}

static void data_fill(uint8_t *pixels, uint64_t n_pixels, unsigned n_channels, enum data_kind kind,
                      const struct photo &photo)
{
    on_all_threads(n_pixels, [=, &photo](uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; i++) {
            const uint64_t noise = random_at(i);
            for (unsigned c = 0; c < n_channels; c++)
                pixels[i * n_channels + c] = sample_at(kind, photo, i, c, noise);
        }
    });
}

static void count_part(const struct ih_gpu_histogram_args *args, const uint8_t *pixels,
                       uint64_t first, uint64_t end, struct ih_gpu_totals *out)
{
    const struct ih_gpu_measures &m = args->measures;
    const unsigned n_channels = args->n_channels;
    memset(out, 0, sizeof *out);
    for (uint64_t i = first; i < end; i++) {
        const uint8_t *p = pixels + i * n_channels;
        for (unsigned c = 0; c < n_channels; c++)
            out->bins[c][p[c]]++;
        if (n_channels < 3)
            continue;
        const uint32_t r = p[0], g = p[1], b = p[2];
        out->bins[IH_GPU_LUMA]
                 [(r * m.luma_red + g * m.luma_green + b * m.luma_blue + 32768) >> 16]++;
        const unsigned low = m.clip_low, high = m.clip_high;
        out->any_low += r <= low || g <= low || b <= low;
        out->all_low += r <= low && g <= low && b <= low;
        out->any_high += r >= high || g >= high || b >= high;
        out->all_high += r >= high && g >= high && b >= high;
    }
}

/* Computes the expected totals of args->n_pixels pixels in host memory. */
static void data_count(const struct ih_gpu_histogram_args *args, const uint8_t *pixels,
                       struct ih_gpu_totals *out)
{
    enum { N_PARTS = 64, N_WORDS = sizeof *out / sizeof(unsigned long long) };
    std::vector<struct ih_gpu_totals> parts(N_PARTS);
    on_all_threads(N_PARTS, [&](uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; i++)
            count_part(args, pixels, args->n_pixels * i / N_PARTS,
                       args->n_pixels * (i + 1) / N_PARTS, &parts[i]);
    });
    memset(out, 0, sizeof *out);
    for (const struct ih_gpu_totals &part : parts)
        for (int i = 0; i < N_WORDS; i++)
            ((unsigned long long *)out)[i] += ((const unsigned long long *)&part)[i];
    for (int plane = 0; plane < IH_GPU_PLANES; plane++)
        for (unsigned v = 0; v < IH_GPU_BINS; v++)
            out->sum[plane] += out->bins[plane][v] * v;
}

/* Reads a binary PPM. Leaves photo->rgb empty for any other file. */
static void photo_read(struct photo *photo, const char *path)
{
    unsigned width, height, most;
    FILE *file = fopen(path, "rb");
    if (file && fscanf(file, "P6 %u %u %u", &width, &height, &most) == 3 && most == 255 &&
        fgetc(file) != EOF) {
        photo->rgb.resize((size_t)width * height * 3);
        if (fread(photo->rgb.data(), 1, photo->rgb.size(), file) != photo->rgb.size())
            photo->rgb.clear();
    }
    if (file)
        fclose(file);
}

#endif
