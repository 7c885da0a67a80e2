/*
 * Pixels in device memory, counted through imghist.h on the caller's stream, against the same
 * pixels counted on the CPU: every number of channels, with and without luma, unaligned starts,
 * rows with and without gaps and upwards, the order of work on the stream, and invalid arguments.
 * Built against the installed library. Prints a line for each failure, and the number of counts
 * compared.
 *
 * IMGHIST_TEST_SMALL makes images small, for compute-sanitizer.
 */
#include <cuda_runtime_api.h>
#include <imghist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The example in imghist.h, linked with this program. */
int count_device(struct ih_context *context, const void *d_rgb, unsigned width, unsigned height,
                 size_t pitch_bytes, cudaStream_t stream);

static unsigned n_compared, n_failed;

static void expect(int is_right, const char *what, unsigned line)
{
    if (is_right)
        return;
    n_failed++;
    printf("device_buffer: line %u: %s\n", line, what);
}

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static uint8_t noise(uint64_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    x ^= x >> 13;
    return x % 3 ? (uint8_t)(x >> 8) : x & 8 ? 255 : 0;
}

/* Opens a context and counts a pixel in host memory, so that the GPU has started. The start counts
 * in a thread of its own, and racecheck hangs in some runs in which two threads launch kernels. */
static struct ih_context *open_context(const char *device, const char *luma)
{
    static const uint8_t rgb[3];
    const struct ih_pixels pixel = {rgb, 1, 1, 0, 3};
    struct ih_settings settings = {0};
    struct ih_context *context = NULL;
    struct ih_counts *counts = NULL;
    struct ih_error err = {0};
    settings.device = device;
    settings.luma = luma;
    settings.clip_low = 3;
    settings.clip_high = 250;
    if (ih_context_open(&settings, sizeof settings, &context, &err) != IH_OK ||
        ih_counts_open(&counts, &err) != IH_OK ||
        ih_count_pixels(context, &pixel, counts, &err) != IH_OK) {
        printf("device_buffer: %s\n", err.message);
        exit(1);
    }
    ih_counts_close(counts);
    return context;
}

static int same(const struct ih_counts *a, const struct ih_counts *b)
{
    struct ih_summary s, t;
    ih_counts_summary(a, &s, sizeof s);
    ih_counts_summary(b, &t, sizeof t);
    int is_same = s.n_pixels == t.n_pixels && s.n_channels == t.n_channels && s.width == t.width &&
                  s.height == t.height && s.crushed_any == t.crushed_any &&
                  s.blown_any == t.blown_any && s.crushed_all == t.crushed_all &&
                  s.blown_all == t.blown_all;
    for (unsigned row = 0; row < 5; row++) {
        const unsigned p = row < 4 ? row : (unsigned)IH_LUMA;
        const uint64_t *of_a = ih_counts_bins(a, p), *of_b = ih_counts_bins(b, p);
        is_same =
            is_same && !of_a == !of_b && (!of_a || memcmp(of_a, of_b, IH_BINS * sizeof *of_a) == 0);
    }
    n_compared++;
    return is_same;
}

/* The state of all checks. */
struct bench {
    struct ih_context *context, *cpu;
    struct ih_pending *pending;
    struct ih_counts *counts, *expected;
    uint8_t *host, *d_memory; /* the same bytes */
    size_t size_bytes;
    cudaStream_t stream;
};

static void check(struct bench *b, uint64_t width, uint64_t height, unsigned n_channels,
                  size_t gap_bytes, size_t start, int is_upwards, cudaStream_t stream)
{
    const size_t stride = (size_t)width * n_channels + gap_bytes;
    const size_t first = start + (is_upwards ? stride * (size_t)(height - 1) : 0);
    struct ih_error err = {0};
    struct ih_pixels pixels = {b->host + first, width, height, (ptrdiff_t)stride, n_channels};
    if (start + stride * (size_t)height > b->size_bytes) {
        expect(0, "the test's memory is too small", __LINE__);
        return;
    }
    if (is_upwards)
        pixels.stride_bytes = -(ptrdiff_t)stride;
    EXPECT(ih_count_pixels(b->cpu, &pixels, b->expected, &err) == IH_OK);
    pixels.data = b->d_memory + first;
    if (ih_pending_count(b->pending, &pixels, stream, &err) != IH_OK ||
        ih_pending_finish(b->pending, b->counts, &err) != IH_OK)
        expect(0, err.message, __LINE__);
    if (!same(b->counts, b->expected)) {
        n_failed++;
        printf("device_buffer: %llu x %llu, %u channels, gap %zu, start %zu%s: wrong counts\n",
               (unsigned long long)width, (unsigned long long)height, n_channels, gap_bytes, start,
               is_upwards ? ", upwards" : "");
    }
}

static void check_layouts(struct bench *b, int is_small)
{
    static const size_t gaps[] = {0, 1, 5, 64, 300};
    static const unsigned sizes[][2] = {{1, 1}, {1, 61}, {97, 1}, {33, 29}, {640, 48}};
    for (unsigned c = 1; c <= 4; c++)
        for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                for (size_t start = 0; start < (is_small ? 2 : 17); start++)
                    check(b, sizes[s][0], sizes[s][1], c, gaps[g], start, start % 3 == 2,
                          start % 2 ? NULL : b->stream);
    if (is_small)
        return;
    for (unsigned c = 1; c <= 4; c++) {
        check(b, 3989, 3001, c, 0, 0, 0, b->stream);
        check(b, 3989, 3001, c, 107, 0, 0, b->stream);
        check(b, 3989, 3001, c, 107, 3, 1, b->stream);
        check(b, 11000000, 1, c, 0, 1, 0, b->stream);
    }
    check(b, 0, 0, 3, 0, 0, 0, b->stream);
}

static void check_without_luma(struct bench *b, int is_small)
{
    struct bench bare = *b;
    struct ih_error err = {0};
    bare.cpu = open_context("cpu", "none");
    bare.context = open_context("cuda:0", "none");
    if (ih_pending_open(bare.context, IH_GPU_CURRENT, &bare.pending, &err) != IH_OK)
        expect(0, err.message, __LINE__);
    else
        check_layouts(&bare, is_small);
    ih_pending_close(bare.pending);
    ih_context_close(bare.context);
    ih_context_close(bare.cpu);
}

/* The count sees work enqueued before it, and does not wait for work enqueued after it. */
static void check_order(struct bench *b)
{
    const size_t n = b->size_bytes / 3;
    struct ih_error err = {0};
    const struct ih_pixels pixels = {b->d_memory, n, 1, 0, 3};
    uint8_t *host;
    EXPECT(cudaMallocHost((void **)&host, b->size_bytes) == cudaSuccess);
    memset(host, 200, b->size_bytes);
    EXPECT(cudaMemsetAsync(b->d_memory, 7, b->size_bytes, b->stream) == cudaSuccess);
    EXPECT(cudaMemcpyAsync(b->d_memory, host, b->size_bytes, cudaMemcpyHostToDevice, b->stream) ==
           cudaSuccess);
    EXPECT(ih_pending_count(b->pending, &pixels, b->stream, &err) == IH_OK);
    EXPECT(cudaMemsetAsync(b->d_memory, 9, b->size_bytes, b->stream) == cudaSuccess);
    EXPECT(ih_pending_count(b->pending, &pixels, b->stream, &err) == IH_USAGE); /* not finished */
    EXPECT(ih_pending_finish(b->pending, b->counts, &err) == IH_OK);
    EXPECT(ih_counts_bins(b->counts, 0)[200] == n);
    EXPECT(ih_counts_bins(b->counts, IH_LUMA)[200] == n);
    EXPECT(ih_pending_count(b->pending, &pixels, b->stream, &err) == IH_OK);
    EXPECT(ih_pending_finish(b->pending, b->counts, &err) == IH_OK);
    EXPECT(ih_counts_bins(b->counts, 1)[9] == n); /* not what the previous count left */
    EXPECT(ih_pending_finish(b->pending, b->counts, &err) == IH_USAGE);
    EXPECT(ih_counts_bins(b->counts, 0) == NULL);
    cudaFreeHost(host);
}

/* Enqueuing returns while the stream is still busy with earlier work. */
static void check_enqueuing_does_not_wait(struct bench *b)
{
    const struct ih_pixels pixels = {b->d_memory, 1000, 1, 0, 3};
    struct ih_error err = {0};
    for (int i = 0; i < 400; i++)
        cudaMemsetAsync(b->d_memory, i, b->size_bytes, b->stream);
    EXPECT(ih_pending_count(b->pending, &pixels, b->stream, &err) == IH_OK);
    EXPECT(cudaStreamQuery(b->stream) == cudaErrorNotReady);
    cudaGetLastError();
    EXPECT(ih_pending_finish(b->pending, b->counts, &err) == IH_OK);
    EXPECT(ih_counts_bins(b->counts, 2)[399 % 256] == 1000);
}

/* With skip-transparent, images with alpha are refused and others are counted. */
static void check_skip_transparent(struct bench *b)
{
    const struct ih_pixels rgba = {b->d_memory, 4, 4, 0, 4}, rgb = {b->d_memory, 4, 4, 0, 3};
    struct ih_settings settings = {0};
    struct ih_context *context = NULL;
    struct ih_pending *pending = NULL;
    struct ih_error err = {0};
    settings.device = "cpu";
    settings.alpha = "skip-transparent";
    EXPECT(ih_context_open(&settings, sizeof settings, &context, &err) == IH_OK);
    EXPECT(ih_pending_open(context, IH_GPU_CURRENT, &pending, &err) == IH_OK);
    EXPECT(ih_pending_count(pending, &rgba, b->stream, &err) == IH_USAGE);
    EXPECT(strstr(err.message, "transparent") != NULL);
    EXPECT(ih_pending_count(pending, &rgb, b->stream, &err) == IH_OK);
    EXPECT(ih_pending_finish(pending, b->counts, &err) == IH_OK);
    EXPECT(ih_counts_bins(b->counts, 0) != NULL);
    ih_pending_close(pending);
    ih_context_close(context);
}

static void check_refusals(struct bench *b)
{
    struct ih_pixels pixels = {b->host, 4, 4, 0, 3};
    struct ih_pending *other = NULL;
    struct ih_error err = {0};
    int gpu = -1;
    EXPECT(ih_pending_count(b->pending, &pixels, b->stream, &err) == IH_USAGE);
    EXPECT(strstr(err.message, "host memory") != NULL);
    pixels.data = b->d_memory;
    pixels.n_channels = 5;
    EXPECT(ih_pending_count(b->pending, &pixels, b->stream, &err) == IH_USAGE);
    EXPECT(ih_pending_open(b->context, 999, &other, &err) == IH_UNAVAILABLE);
    EXPECT(other == NULL);
    check_skip_transparent(b);
    EXPECT(cudaPeekAtLastError() == cudaSuccess); /* no CUDA error is left for the caller */
    EXPECT(cudaGetDevice(&gpu) == cudaSuccess && gpu == 0);
}

int main(void)
{
    const int is_small = getenv("IMGHIST_TEST_SMALL") != NULL;
    struct bench b = {.size_bytes = is_small ? (size_t)1 << 19 : (size_t)64 << 20};
    struct ih_error err = {0};
    b.cpu = open_context("cpu", NULL);
    b.context = open_context("cuda:0", NULL);
    EXPECT(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking) == cudaSuccess);
    EXPECT(cudaMalloc((void **)&b.d_memory, b.size_bytes) == cudaSuccess);
    b.host = malloc(b.size_bytes);
    if (!b.host || ih_counts_open(&b.counts, &err) != IH_OK ||
        ih_counts_open(&b.expected, &err) != IH_OK ||
        ih_pending_open(b.context, IH_GPU_CURRENT, &b.pending, &err) != IH_OK) {
        printf("device_buffer: %s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < b.size_bytes; i++)
        b.host[i] = noise(i);
    EXPECT(cudaMemcpy(b.d_memory, b.host, b.size_bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    check_layouts(&b, is_small);
    check_without_luma(&b, is_small);
    check_refusals(&b);
    EXPECT(count_device(b.context, b.d_memory, 100, 50, 320, b.stream));
    check_order(&b);
    if (!is_small)
        check_enqueuing_does_not_wait(&b);
    ih_pending_close(b.pending);
    ih_counts_close(b.counts);
    ih_counts_close(b.expected);
    ih_context_close(b.context);
    ih_context_close(b.cpu);
    cudaFree(b.d_memory);
    cudaStreamDestroy(b.stream);
    free(b.host);
    printf("device_buffer: %u counts compared, %u failed\n", n_compared, n_failed);
    return n_failed > 0 || n_compared == 0;
}
