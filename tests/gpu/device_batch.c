/*
 * Batches in device memory, counted through imghist.h on the caller's stream, against a plain loop
 * on the host, and samples of 16 bits of all types against ih_batch_count: random layouts in
 * allocations of exactly their size, images of all sizes, lists, label maps, the order of work on
 * the stream, CUDA graphs, and invalid arguments. Built against the installed library. Prints a
 * line for each failure, and the number of batches compared.
 *
 * IMGHIST_TEST_SMALL makes it short, for compute-sanitizer.
 */
#include "tests/support/batch_cases.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

/* The example in imghist.h, linked with this program. */
int count_tensor(struct ih_context *context, const uint8_t *d_nchw, unsigned n, unsigned height,
                 unsigned width, uint32_t *d_bins, cudaStream_t stream);

static unsigned n_compared, n_failed;

static void expect(int is_right, const char *what, unsigned line)
{
    if (is_right)
        return;
    n_failed++;
    printf("device_batch: line %u: %s\n", line, what);
}

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static struct ih_context *context, *without_clips;
static cudaStream_t stream;

static void *device_copy(const void *host, size_t n_bytes)
{
    void *d = NULL;
    if (cudaMalloc(&d, n_bytes ? n_bytes : 1) != cudaSuccess ||
        cudaMemcpy(d, host, n_bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
        cudaDeviceSynchronize() != cudaSuccess) { /* the copy may end after cudaMemcpy returns */
        printf("device_batch: out of GPU memory\n");
        exit(1);
    }
    return d;
}

/* The same batch in device memory. list: of CASE_LIST_MAX images. */
static struct ih_batch on_device(const struct batch_case *t, const uint8_t *d_bytes,
                                 const uint8_t *d_labels, struct ih_batch_image *list)
{
    struct ih_batch b = t->batch;
    const size_t n = b.list ? b.n_images : 1;
    for (size_t i = 0; i < n; i++) {
        list[i] = b.list ? b.list[i] : b.image;
        list[i].data = d_bytes + (list[i].data - t->bytes);
        if (list[i].labels)
            list[i].labels = d_labels + (list[i].labels - t->labels);
    }
    if (b.list)
        b.list = list;
    else
        b.image = list[0];
    return b;
}

static void describe(const struct ih_batch *b, const char *what)
{
    n_failed++;
    printf("device_batch: %s: %zu images%s of %u x %u, %u channels, %u labels, order %d, luma %u, "
           "strides %td %td %td %td\n",
           what, b->n_images, b->list ? " (list)" : "", b->image.width, b->image.height,
           b->n_channels, b->n_labels, (int)b->order, !b->without_luma, b->image_stride,
           b->image.row_stride, b->pixel_stride, b->image.channel_stride);
}

/* Counts a case on the GPU, with sums or without, and compares it with the plain loop. */
static void check(const struct batch_case *t, int has_sums)
{
    static struct ih_batch_image list[CASE_LIST_MAX];
    uint8_t *d_bytes = device_copy(t->bytes, t->n_bytes);
    uint8_t *d_labels = device_copy(t->labels, t->n_labels_bytes);
    const struct ih_batch b = on_device(t, d_bytes, d_labels, list);
    struct ih_batch_shape shape;
    struct ih_error err = {0};
    EXPECT(ih_batch_shape(&b, &shape, sizeof shape, &err) == IH_OK);
    uint32_t *bins = case_alloc(shape.bins_bytes), *d_bins;
    uint64_t *sums = case_alloc(shape.sums_bytes), *d_sums;
    uint32_t *expected = calloc(1, shape.bins_bytes + 1);
    uint64_t *expected_sums = calloc(1, shape.sums_bytes + 1);
    memset(bins, 0xa5, shape.bins_bytes);
    memset(sums, 0xa5, shape.sums_bytes);
    d_bins = device_copy(bins, shape.bins_bytes);
    d_sums = device_copy(sums, shape.sums_bytes);
    if (ih_batch_enqueue(context, &b, d_bins, has_sums ? d_sums : NULL, stream, &err) != IH_OK)
        expect(0, err.message, __LINE__);
    EXPECT(cudaMemcpyAsync(bins, d_bins, shape.bins_bytes, cudaMemcpyDeviceToHost, stream) ==
           cudaSuccess);
    EXPECT(cudaMemcpyAsync(sums, d_sums, shape.sums_bytes, cudaMemcpyDeviceToHost, stream) ==
           cudaSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    case_expect(&t->batch, expected, expected_sums);
    if (!has_sums)
        memset(expected_sums, 0xa5, shape.sums_bytes);
    if (memcmp(bins, expected, shape.bins_bytes) != 0)
        describe(&t->batch, "wrong bins");
    if (memcmp(sums, expected_sums, shape.sums_bytes) != 0)
        describe(&t->batch, "wrong sums");
    n_compared++;
    cudaFree(d_bytes);
    cudaFree(d_labels);
    cudaFree(d_bins);
    cudaFree(d_sums);
    free(bins);
    free(sums);
    free(expected);
    free(expected_sums);
}

static void check_random(int is_small)
{
    uint32_t random = 20261122;
    for (int i = 0; i < (is_small ? 60 : 400); i++) {
        struct batch_case t;
        case_make(&t, is_small ? 3000 : 100000, &random);
        check(&t, i % 3 != 0);
        case_reset(&t);
    }
}

/* Sizes on both sides of every change of plan, few and many images, aligned and not. */
static void check_sizes(int is_small)
{
    static const uint32_t sizes[][3] = {{64, 64, 500},   {63, 61, 300},  {128, 127, 100},
                                        {128, 128, 100}, {127, 129, 70}, {224, 224, 40},
                                        {225, 225, 20},  {512, 511, 5},  {1024, 1024, 2},
                                        {1501, 1003, 1}, {4096, 1024, 1}};
    const size_t n_sizes = is_small ? 1 : sizeof sizes / sizeof sizes[0];
    uint32_t random = 3;
    for (size_t s = 0; s < n_sizes; s++)
        for (unsigned layout = 0; layout < (is_small ? 2 : NCHW_GAPS + 1); layout++)
            for (unsigned channels = 1; channels <= 4; channels++) {
                struct batch_case t = {.batch = {.size_bytes = sizeof t.batch,
                                                 .n_images = is_small ? 2 : sizes[s][2],
                                                 .n_channels = channels}};
                t.batch.image.width = sizes[s][0];
                t.batch.image.height = sizes[s][1];
                case_fill(&t, (enum case_layout)layout, 16, layout == NCHW ? 0 : 8, &random);
                check(&t, 1);
                case_reset(&t);
                t.batch.without_luma = 1; /* bins alone, aligned: another kernel counts RGB */
                case_fill(&t, (enum case_layout)layout, 16, 0, &random);
                check(&t, 0);
                case_reset(&t);
            }
}

/* Counts a batch of 16-bit samples of `host` on the CPU and on the GPU. */
static void check_wide(struct ih_batch b, const uint16_t *host, size_t n_bytes, int has_sums)
{
    struct ih_context *const with = b.number == IH_NUMBER_UNSIGNED ? context : without_clips;
    enum { LIST = 3 };
    struct ih_batch_image list[LIST];
    uint8_t *d_bytes = device_copy(host, n_bytes);
    struct ih_batch_shape shape;
    struct ih_error err = {0};
    b.image.data = (const uint8_t *)host;
    EXPECT(ih_batch_shape(&b, &shape, sizeof shape, &err) == IH_OK);
    uint32_t *bins = case_alloc(shape.bins_bytes), *expected = case_alloc(shape.bins_bytes);
    uint64_t *sums = case_alloc(shape.sums_bytes), *expected_sums = case_alloc(shape.sums_bytes);
    memset(bins, 0xa5, shape.bins_bytes);
    memset(sums, 0xa5, shape.sums_bytes);
    uint32_t *d_bins = device_copy(bins, shape.bins_bytes);
    uint64_t *d_sums = device_copy(sums, shape.sums_bytes);
    EXPECT(ih_batch_count(with, &b, expected, expected_sums, &err) == IH_OK);
    b.image.data = d_bytes;
    for (size_t i = 0; i < LIST; i++) {
        list[i] = b.image;
        list[i].data += (ptrdiff_t)i * b.image_stride;
    }
    if (b.n_images == LIST)
        b.list = list;
    if (ih_batch_enqueue(with, &b, d_bins, has_sums ? d_sums : NULL, stream, &err) != IH_OK)
        expect(0, err.message, __LINE__);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(cudaMemcpy(bins, d_bins, shape.bins_bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(cudaMemcpy(sums, d_sums, shape.sums_bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    if (memcmp(bins, expected, shape.bins_bytes) != 0)
        describe(&b, "wrong bins of 16-bit samples");
    if (has_sums && memcmp(sums, expected_sums, shape.sums_bytes) != 0)
        describe(&b, "wrong sums of 16-bit samples");
    n_compared++;
    cudaFree(d_bytes);
    cudaFree(d_bins);
    cudaFree(d_sums);
    free(bins);
    free(sums);
    free(expected);
    free(expected_sums);
}

/* Few and many images, one large one, all packed layouts, random and constant samples, some of them
 * in no bin. */
static void check_all_wide(int is_small, enum ih_number number)
{
    static const uint32_t n_bins[] = {65536, 4096, 1000};
    static const uint32_t sizes[][3] = {{7, 9, 300}, {64, 64, 3}, {1000, 701, 1}, {33, 31, 5}};
    const int is_unsigned = number == IH_NUMBER_UNSIGNED;
    uint32_t random = 11;
    for (unsigned i = 0; i < (is_small ? 16 : 192); i++) {
        const uint32_t *size = sizes[is_small ? 3 : i / 48];
        const unsigned channels = i % 4 + 1, is_planar = i / 4 % 2;
        const size_t n_pixels = (size_t)size[0] * size[1], step = is_planar ? 1 : channels;
        struct ih_batch b = {.size_bytes = sizeof b,
                             .n_images = size[2],
                             .image = {.width = size[0],
                                       .height = size[1],
                                       .row_stride = (ptrdiff_t)(2 * step * size[0]),
                                       .channel_stride = is_planar ? (ptrdiff_t)(2 * n_pixels) : 2},
                             .image_stride = (ptrdiff_t)(2 * channels * n_pixels),
                             .pixel_stride = (ptrdiff_t)(2 * step),
                             .n_channels = channels,
                             .n_bins = is_unsigned ? n_bins[i % 3] : 65536,
                             .number = number,
                             .order = i % 5 == 0 ? IH_ORDER_BGR : IH_ORDER_RGB,
                             .without_luma = is_planar || i % 7 < 3};
        const size_t n_samples = size[2] * channels * n_pixels;
        uint16_t *samples = case_alloc(n_samples * sizeof *samples);
        for (size_t k = 0; k < n_samples; k++) {
            random = random * 1664525 + 1013904223;
            samples[k] =
                (uint16_t)(i % 8 < 4 ? random >> 16 : (random >> 31) * (is_unsigned ? 999 : 32768));
            if (i % 2 == 0)
                samples[k] = (uint16_t)(samples[k] % (b.n_bins + 5));
        }
        check_wide(b, samples, n_samples * sizeof *samples,
                   !(is_planar && channels >= 3 && is_unsigned));
        free(samples);
    }
}

/* The count sees work that was enqueued before it, and a captured count runs again. */
static void check_order(void)
{
    enum { N = 50, SIDE = 64, BYTES = N * SIDE * SIDE };
    uint8_t *d_pixels = NULL;
    uint32_t *d_bins = NULL, *bins = case_alloc(N * 1024);
    cudaGraph_t graph;
    cudaGraphExec_t again;
    struct ih_error err = {0};
    EXPECT(cudaMalloc((void **)&d_pixels, BYTES) == cudaSuccess);
    EXPECT(cudaMalloc((void **)&d_bins, N * 1024) == cudaSuccess);
    const struct ih_batch b = {.size_bytes = sizeof b,
                               .n_images = N,
                               .image = {d_pixels, NULL, SIDE, SIDE, SIDE, 0, 0},
                               .image_stride = SIDE * SIDE,
                               .pixel_stride = 1,
                               .n_channels = 1};
    for (int i = 0; i < 400; i++)
        cudaMemsetAsync(d_pixels, i, BYTES, stream);
    EXPECT(ih_batch_enqueue(context, &b, d_bins, NULL, stream, &err) == IH_OK);
    EXPECT(cudaMemsetAsync(d_pixels, 9, BYTES, stream) == cudaSuccess);
    EXPECT(cudaMemcpyAsync(bins, d_bins, N * 1024, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(bins[399 % 256] == SIDE * SIDE && bins[49 * 256 + 399 % 256] == SIDE * SIDE);
    EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
    EXPECT(ih_batch_enqueue(context, &b, d_bins, NULL, stream, &err) == IH_OK);
    EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    EXPECT(cudaGraphInstantiate(&again, graph, 0) == cudaSuccess);
    for (int value = 20; value < 22; value++) {
        EXPECT(cudaMemsetAsync(d_pixels, value, BYTES, stream) == cudaSuccess);
        EXPECT(cudaGraphLaunch(again, stream) == cudaSuccess);
        EXPECT(cudaMemcpyAsync(bins, d_bins, N * 1024, cudaMemcpyDeviceToHost, stream) ==
               cudaSuccess);
        EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
        EXPECT(bins[7 * 256 + value] == SIDE * SIDE && bins[7 * 256 + value - 1] == 0);
    }
    EXPECT(count_tensor(context, d_pixels, 1, 32, 64, d_bins, stream));
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess); /* cudaMemcpy does not wait for it */
    EXPECT(cudaMemcpy(bins, d_bins, 4096, cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(bins[21] == 32 * 64 && bins[3 * 256 + 21] == 32 * 64);
    cudaGraphExecDestroy(again);
    cudaGraphDestroy(graph);
    cudaFree(d_pixels);
    cudaFree(d_bins);
    free(bins);
}

static void check_refusals(void)
{
    uint8_t host[64] = {0};
    uint32_t *d_bins = NULL, bins[256];
    uint64_t sums[5];
    struct ih_error err = {0};
    int gpu = -1;
    EXPECT(cudaMalloc((void **)&d_bins, 4096) == cudaSuccess);
    struct ih_batch b = {.size_bytes = sizeof b,
                         .n_images = 1,
                         .image = {host, NULL, 8, 8, 8, 0, 0},
                         .pixel_stride = 1,
                         .n_channels = 1};
    EXPECT(ih_batch_enqueue(context, &b, d_bins, NULL, stream, &err) == IH_USAGE);
    EXPECT(strstr(err.message, "pixels are not in the memory of a GPU") != NULL);
    b.image.data = (const uint8_t *)d_bins;
    EXPECT(ih_batch_enqueue(context, &b, bins, NULL, stream, &err) == IH_USAGE);
    EXPECT(ih_batch_enqueue(context, &b, d_bins, sums, stream, &err) == IH_USAGE);
    EXPECT(ih_batch_enqueue(context, &b, d_bins, (uint64_t *)(void *)(d_bins + 513), stream,
                            &err) == IH_USAGE);
    b.n_bins = 65536;
    b.pixel_stride = 4;
    b.image = (struct ih_batch_image){(const uint8_t *)d_bins, NULL, 8, 8, 32, 0, 0};
    EXPECT(ih_batch_enqueue(context, &b, d_bins, NULL, stream, &err) == IH_USAGE);
    EXPECT(strstr(err.message, "must be packed") != NULL);
    b.n_images = 0;
    EXPECT(ih_batch_enqueue(context, &b, NULL, NULL, stream, &err) == IH_OK);
    EXPECT(cudaPeekAtLastError() == cudaSuccess); /* no CUDA error is left for the caller */
    EXPECT(cudaGetDevice(&gpu) == cudaSuccess && gpu == 0);
    cudaFree(d_bins);
}

int main(void)
{
    const int is_small = getenv("IMGHIST_TEST_SMALL") != NULL;
    const struct ih_settings settings = {
        .device = "cpu", .clip_low = CASE_CLIP_LOW, .clip_high = CASE_CLIP_HIGH};
    struct ih_error err = {0};
    if (ih_context_open(&settings, sizeof settings, &context, &err) != IH_OK ||
        ih_context_open(NULL, 0, &without_clips, &err) != IH_OK ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        printf("device_batch: %s\n", err.message);
        return 1;
    }
    check_random(is_small);
    check_sizes(is_small);
    for (int number = IH_NUMBER_UNSIGNED; number <= IH_NUMBER_BFLOAT16; number++)
        check_all_wide(is_small, (enum ih_number)number);
    check_order();
    check_refusals();
    ih_context_close(context);
    ih_context_close(without_clips);
    cudaStreamDestroy(stream);
    printf("device_batch: %u batches compared, %u failed\n", n_compared, n_failed);
    return n_failed > 0 || n_compared == 0;
}
