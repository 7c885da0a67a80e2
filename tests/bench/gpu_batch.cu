/*
 * Batches of images in GPU memory: histogram_batch compared with a count on the host, the memory,
 * and a loop of CUB calls.
 *
 *   gpu_batch [--check] [--plans] [--side=N] [--mib=N] [PHOTO.ppm]
 *
 * --check    only parity with the host, of every plan, on small and odd inputs
 * --plans    also the times of every plan
 * --side     only images of this width and height
 * --mib      size of a batch, 768 by default, much larger than the L2 cache
 * PHOTO.ppm  photos; images are cut from places all over them
 *
 * A batch whose counts differ from the host's is reported as wrong and not timed. Times are medians
 * of single launches between two events, after warm-up launches; GB/s are 1e9 bytes of pixels, and
 * shares are those of the best of a few kernels that only read the same bytes. Ours counts red,
 * green, blue, luma, sums and joint clip counts; CUB the three channels alone, one call an image.
 */
#include "gpu_histogram_data.h"
#include "gpu_timing.h"

#include <cub/device/device_histogram.cuh>

enum { MIB = 1 << 20, CLIP_LOW = 4, CLIP_HIGH = 250 };

static struct bench {
    uint64_t pool_bytes;
    uint8_t *pixels;          /* pinned, interleaved */
    uint8_t *d_nhwc, *d_nchw; /* the same images; pool_bytes and a little more each */
    uint32_t *d_bins, *bins;
    unsigned long long *d_sums, *sums;
    uint32_t *d_sink, *d_cub_bins[3];
    struct photo photo;
    uint32_t photo_width, photo_height;
    double roofline; /* bytes a microsecond */
    unsigned n_right, n_failed;
} b;

/* ---- data ---- */

/* Cuts images from the photo, at places that jump all over it. */
static void cut_photos(uint32_t n_images, uint32_t side)
{
    on_all_threads(n_images, [=](uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; i++) {
            const uint64_t r = random_at(i);
            const uint64_t x = r % (b.photo_width - side), y = (r >> 32) % (b.photo_height - side);
            for (uint64_t row = 0; row < side; row++)
                memcpy(b.pixels + (i * side + row) * side * 3,
                       &b.photo.rgb[((y + row) * b.photo_width + x) * 3], side * 3);
        }
    });
}

static __global__ void planar_kernel(const uint8_t *d_from, uint8_t *d_to, uint64_t n_pixels,
                                     uint32_t image_pixels, unsigned n_channels)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n_pixels; i += step) {
        const uint64_t image = i / image_pixels, pixel = i % image_pixels;
        for (unsigned c = 0; c < n_channels; c++)
            d_to[(image * n_channels + c) * image_pixels + pixel] = d_from[i * n_channels + c];
    }
}

/* Fills both pools with the same images. */
static void fill(bool is_photo, uint32_t n_images, uint32_t width, uint32_t height, unsigned c)
{
    const uint64_t n_pixels = (uint64_t)n_images * width * height;
    if (is_photo)
        cut_photos(n_images, width);
    else
        data_fill(b.pixels, n_pixels, c, RANDOM, b.photo);
    CHECK(cudaMemcpy(b.d_nhwc, b.pixels, n_pixels * c, cudaMemcpyHostToDevice));
    planar_kernel<<<1024, 256, 0, stream>>>(b.d_nhwc, b.d_nchw, n_pixels, width * height, c);
    CHECK(cudaStreamSynchronize(stream));
}

static struct ih_gpu_batch_args args_make(uint32_t n_images, uint32_t width, uint32_t height,
                                          unsigned c, bool is_planar)
{
    struct ih_gpu_batch_args args = {};
    const int64_t plane = (int64_t)width * height;
    args.images[0].d_data = is_planar ? b.d_nchw : b.d_nhwc;
    args.images[0].width = width;
    args.images[0].height = height;
    args.images[0].row_stride = is_planar ? width : width * c;
    args.images[0].channel_stride = is_planar ? plane : 1;
    args.n_images = n_images;
    args.image_stride = plane * c;
    args.pixel_stride = is_planar ? 1 : c;
    args.n_channels = c;
    args.has_luma = 1;
    args.measures = {13933, 46871, 4732, CLIP_LOW, CLIP_HIGH};
    args.d_bins = b.d_bins;
    args.d_sums = b.d_sums;
    args.gpu = &gpu;
    args.stream = stream;
    return args;
}

/* ---- parity ---- */

/* Whether image i of the counts in host memory is right. */
static bool image_right(const struct ih_gpu_batch_args *args, uint32_t i)
{
    const uint64_t n_pixels = (uint64_t)args->images[0].width * args->images[0].height;
    const unsigned c = args->n_channels, n_planes = c + (c >= 3 && args->has_luma);
    struct ih_gpu_histogram_args one = {};
    struct ih_gpu_totals e;
    one.n_pixels = n_pixels;
    one.n_channels = c;
    one.measures = args->measures;
    memset(&e, 0, sizeof e);
    count_part(&one, b.pixels + i * n_pixels * c, 0, n_pixels, &e);
    const uint32_t *bins = b.bins + (uint64_t)i * n_planes * IH_GPU_BINS;
    const unsigned long long *sums = b.sums + (uint64_t)i * (n_planes + IH_GPU_BATCH_CLIPS);
    if (c < 3) /* count_part leaves clipped gray out */
        for (unsigned v = 0; v < IH_GPU_BINS; v++) {
            e.any_low = e.all_low += v <= CLIP_LOW ? e.bins[0][v] : 0;
            e.any_high = e.all_high += v >= CLIP_HIGH ? e.bins[0][v] : 0;
        }
    const unsigned long long clips[] = {e.any_low, e.any_high, e.all_low, e.all_high};
    bool is_right = !args->d_sums || memcmp(sums + n_planes, clips, sizeof clips) == 0;
    for (unsigned p = 0; p < n_planes; p++) {
        unsigned long long sum = 0;
        for (unsigned v = 0; v < IH_GPU_BINS; v++) {
            const unsigned from = p == c                  ? (unsigned)IH_GPU_LUMA
                                  : args->is_bgr && p < 3 ? 2 - p
                                                          : p;
            const unsigned long long count = e.bins[from][v];
            is_right = is_right && bins[p * IH_GPU_BINS + v] == count;
            sum += v * count;
        }
        is_right = is_right && (!args->d_sums || sums[p] == sum);
    }
    return is_right;
}

/* Runs a batch and compares up to 100 of its images with the host's counts. */
static bool right(const struct ih_gpu_batch_args *args, const char *what)
{
    const unsigned n_planes = args->n_channels + (args->n_channels >= 3 && args->has_luma);
    const uint64_t bins_bytes = (uint64_t)args->n_images * n_planes * IH_GPU_BINS * 4;
    const uint64_t sums_bytes = (uint64_t)args->n_images * (n_planes + IH_GPU_BATCH_CLIPS) * 8;
    CHECK(cudaMemset(b.d_bins, 0xa5, bins_bytes));
    CHECK(cudaMemset(b.d_sums, 0xa5, sums_bytes));
    CHECK(ih_histogram_batch(args));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(b.bins, b.d_bins, bins_bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(b.sums, b.d_sums, sums_bytes, cudaMemcpyDeviceToHost));
    const uint32_t n = std::min(args->n_images, 100u);
    std::vector<uint8_t> is_right(n);
    on_all_threads(n, [&](uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; i++)
            is_right[i] = image_right(args, (uint32_t)(i * args->n_images / n));
    });
    const bool all = std::count(is_right.begin(), is_right.end(), 1) == (long)n;
    b.n_right += all;
    b.n_failed += !all;
    if (!all)
        printf("WRONG: %s, %u images of %u x %u, %u channels, plan %u\n", what, args->n_images,
               args->images[0].width, args->images[0].height, args->n_channels, args->plan);
    return all;
}

/* The bins of RGB images alone, with gaps between images too. Sizes are on both sides of those at
 * which the plan changes. On one multiprocessor, a block takes several images. */
static void check_bins(void)
{
    static const uint32_t sizes[][3] = {{4, 4, 300},   {96, 96, 9},   {255, 16, 9},  {64, 64, 9},
                                        {257, 16, 9},  {1023, 16, 9}, {128, 128, 9}, {1025, 16, 9},
                                        {192, 128, 9}, {224, 224, 9}, {225, 223, 3}};
    struct ih_gpu_properties one = gpu;
    one.n_multiprocessors = 1;
    uint8_t *d_gaps;
    CHECK(cudaMalloc(&d_gaps, b.pool_bytes));
    for (const auto &s : sizes) {
        const size_t n_bytes = (size_t)s[0] * s[1] * 3;
        fill(false, s[2], s[0], s[1], 3);
        for (unsigned i = 0; i < 4; i++) {
            const bool is_planar = i % 2, has_gaps = i / 2;
            struct ih_gpu_batch_args args = args_make(s[2], s[0], s[1], 3, is_planar);
            args.image_stride += has_gaps ? 48 : 0;
            CHECK(cudaMemcpy2D(d_gaps, args.image_stride, args.images[0].d_data, n_bytes, n_bytes,
                               s[2], cudaMemcpyDeviceToDevice));
            args.images[0].d_data = d_gaps;
            args.has_luma = 0, args.d_sums = NULL;
            args.is_bgr = has_gaps;
            for (args.plan = 0; args.plan <= IH_GPU_BATCH_PLANS + IH_GPU_BINS_PLANS; args.plan++) {
                args.gpu = &gpu;
                right(&args, is_planar ? "planar, bins alone" : "interleaved, bins alone");
                args.gpu = &one;
                right(&args, "bins alone, one multiprocessor");
            }
        }
    }
    CHECK(cudaFree(d_gaps));
}

static void check_small(void)
{
    static const uint32_t sizes[][3] = {{1, 1, 9},    {17, 1, 5},    {16, 16, 30}, {31, 33, 300},
                                        {64, 64, 40}, {128, 128, 9}, {225, 223, 3}};
    for (const auto &s : sizes)
        for (unsigned c = 1; c <= 4; c++) {
            fill(false, s[2], s[0], s[1], c);
            for (unsigned plan = 0; plan <= IH_GPU_BATCH_PLANS; plan++)
                for (int is_planar = 0; is_planar < 2; is_planar++) {
                    struct ih_gpu_batch_args args = args_make(s[2], s[0], s[1], c, is_planar);
                    args.plan = plan;
                    right(&args, is_planar ? "planar" : "interleaved");
                }
        }
    check_bins();
    printf("parity on small inputs: %u right, %u wrong\n", b.n_right, b.n_failed);
}

/* ---- peers ---- */

/* The microseconds of a CUB call for each interleaved image, of up to 200 images. */
static double cub_us(uint32_t n_images, uint32_t side)
{
    int n_levels[3] = {257, 257, 257}, lower[3] = {0, 0, 0}, upper[3] = {256, 256, 256};
    const uint32_t n = std::min(n_images, 200u), n_pixels = side * side;
    static void *d_scratch;
    static size_t scratch_bytes;
    if (!d_scratch) {
        scratch_bytes = 64 * MIB;
        CHECK(cudaMalloc(&d_scratch, scratch_bytes));
    }
    const double us = time_us([&](int) {
        for (uint32_t i = 0; i < n; i++)
            CHECK((cub::DeviceHistogram::MultiHistogramEven<3, 3>(
                d_scratch, scratch_bytes, b.d_nhwc + (uint64_t)i * n_pixels * 3, b.d_cub_bins,
                n_levels, lower, upper, (int)n_pixels, stream)));
    });
    return us / n * n_images;
}

/* ---- tables ---- */

static void table(bool has_plans, uint32_t only_side)
{
    static const uint32_t sides[] = {32, 64, 96, 128, 224, 225, 256, 384, 512, 1024, 2048};
    printf("\nuint8 RGB with luma, sums and joint clip counts: GB/s (share of the read roofline)\n"
           "%-6s %-8s %-7s %-7s %16s %12s %9s%s\n",
           "side", "images", "data", "layout", "ours", "images/s", "over CUB",
           has_plans ? "   plans 1 to 3" : "");
    for (const uint32_t side : sides)
        for (int is_photo = 0; is_photo < 2; is_photo++) {
            const uint32_t n = (uint32_t)(b.pool_bytes / (side * side * 3));
            if ((is_photo && (side >= b.photo_width || side >= b.photo_height)) ||
                (only_side && side != only_side))
                continue;
            fill(is_photo, n, side, side, 3);
            const double n_bytes = (double)n * side * side * 3, peer_us = cub_us(n, side);
            for (int is_planar = 0; is_planar < 2; is_planar++) {
                struct ih_gpu_batch_args args = args_make(n, side, side, 3, is_planar);
                if (!right(&args, "large"))
                    continue;
                const double us = time_us([&](int) { CHECK(ih_histogram_batch(&args)); });
                printf("%-6u %-8u %-7s %-7s %8.0f (%5.3f) %12.0f %8.1fx", side, n,
                       is_photo ? "photo" : "random", is_planar ? "NCHW" : "NHWC",
                       n_bytes / us / 1e3, n_bytes / us / b.roofline, n / us * 1e6, peer_us / us);
                for (args.plan = 1; has_plans && args.plan <= IH_GPU_BATCH_PLANS; args.plan++)
                    printf(" %5.3f", right(&args, "plan")
                                         ? n_bytes / b.roofline / time_us([&](int) {
                                               CHECK(ih_histogram_batch(&args));
                                           })
                                         : -1.);
                printf("\n");
                fflush(stdout);
            }
        }
}

/* The bins of the three channels alone, with the batches of the essay of histogram_bins.cu. */
static void table_bins(void)
{
    static const uint32_t sizes[][2] = {{64, 12000}, {96, 5000},  {128, 3000},
                                        {224, 1000}, {224, 5349}, {1024, 256}};
    printf("\nBins of the three channels alone, random: microseconds (share of the read roofline); "
           "with plans 1 to 3\n");
    for (const auto &s : sizes)
        for (int is_planar = 0; is_planar < 2; is_planar++) {
            const double n_bytes = (double)s[0] * s[0] * 3 * s[1];
            struct ih_gpu_batch_args args = args_make(s[1], s[0], s[0], 3, is_planar);
            if (n_bytes > b.pool_bytes)
                continue;
            fill(false, s[1], s[0], s[0], 3);
            args.has_luma = 0, args.d_sums = NULL;
            if (!right(&args, "bins alone"))
                continue;
            const double us = time_us([&](int) { CHECK(ih_histogram_batch(&args)); });
            printf("%5u x %-5u %s %8.1f (%5.3f)", s[1], s[0], is_planar ? "NCHW" : "NHWC", us,
                   n_bytes / us / b.roofline);
            for (args.plan = 1; args.plan <= IH_GPU_BATCH_PLANS; args.plan++)
                printf(" %8.1f", time_us([&](int) { CHECK(ih_histogram_batch(&args)); }));
            printf("\n");
        }
}

/* Few images: the parts of each are counted by several blocks. */
static void table_few(bool has_plans)
{
    static const uint32_t sizes[][2] = {{64, 1},   {64, 100},  {64, 1000},  {224, 1},
                                        {224, 32}, {224, 256}, {224, 1000}, {1024, 1},
                                        {1024, 8}, {1024, 64}, {4096, 1},   {4096, 4}};
    printf("\nFew images, random NHWC: microseconds, and CUB's%s\n",
           has_plans ? "; plans 1 to 3" : "");
    for (const auto &s : sizes) {
        if ((uint64_t)s[0] * s[0] * 3 * s[1] > b.pool_bytes)
            continue;
        fill(false, s[1], s[0], s[0], 3);
        struct ih_gpu_batch_args args = args_make(s[1], s[0], s[0], 3, false);
        if (!right(&args, "few"))
            continue;
        const double us = time_us([&](int) { CHECK(ih_histogram_batch(&args)); });
        printf("%5u x %-5u %8.1f %9.1f", s[1], s[0], us, cub_us(s[1], s[0]));
        for (args.plan = 1; has_plans && args.plan <= IH_GPU_BATCH_PLANS; args.plan++)
            printf(" %7.1f", time_us([&](int) { CHECK(ih_histogram_batch(&args)); }));
        printf("\n");
    }
}

/* Other work: fewer counts, other layouts, label maps. 1,000 images of 224 x 224, random. */
static void table_other(void)
{
    enum { N = 1000, SIDE = 224, N_LABELS = 16 };
    const struct ih_gpu_batch_args nhwc = args_make(N, SIDE, SIDE, 3, false);
    struct ih_gpu_batch_args args = nhwc;
    uint8_t *d_labels;
    const auto row = [&](const char *what) {
        const double us = time_us([&](int) { CHECK(ih_histogram_batch(&args)); });
        const double n_bytes =
            (double)args.n_images * args.images[0].width * args.images[0].height * 3;
        printf("%-52s %8.1f us %7.0f GB/s (%5.3f) %11.0f images/s\n", what, us, n_bytes / us / 1e3,
               n_bytes / us / b.roofline, args.n_images / us * 1e6);
    };
    fill(false, N, SIDE, SIDE, 3);
    CHECK(cudaMalloc(&d_labels, N * SIDE * SIDE));
    std::vector<uint8_t> labels(N * SIDE * SIDE);
    for (size_t i = 0; i < labels.size(); i++) /* stripes, as wide as objects are */
        labels[i] = (uint8_t)(i / 50 % N_LABELS);
    CHECK(cudaMemcpy(d_labels, labels.data(), labels.size(), cudaMemcpyHostToDevice));
    printf("\nOther work, %d images of %d x %d, random\n", N, SIDE, SIDE);
    row("NHWC, all counts");
    args = args_make(N, SIDE, SIDE, 3, true);
    args.has_luma = 0, args.d_sums = NULL;
    row("NCHW, bins of the three channels alone");
    args = nhwc;
    args.has_luma = 0, args.d_sums = NULL;
    row("NHWC, bins of the three channels alone");
    args = nhwc;
    args.images[0].width = SIDE - 16;
    row("NHWC, rows with gaps");
    args = args_make(N, SIDE - 1, SIDE - 1, 3, true);
    row("NCHW, 223 x 223: planes at any address");
    args = nhwc;
    args.images[0].row_stride += 1;
    args.image_stride = (SIDE * 3 + 1) * SIDE, args.n_images = N - 5;
    row("NHWC, rows at any address");
    args = nhwc;
    args.pixel_stride = -3, args.images[0].d_data += SIDE * 3 - 3;
    row("NHWC, right to left (histogram_labels)");
    args = nhwc;
    args.images[0].d_labels = d_labels, args.images[0].labels_row_stride = SIDE;
    args.labels_image_stride = SIDE * SIDE;
    for (args.n_labels = 1; args.n_labels <= N_LABELS; args.n_labels *= 4) {
        char what[64];
        snprintf(what, sizeof what, "NHWC, label maps, %u of %d labels counted", args.n_labels,
                 N_LABELS);
        row(what);
    }
    CHECK(cudaFree(d_labels));
}

/* ---- main ---- */

/* Reads the size of a PPM that photo_read has read. */
static void photo_size(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file || fscanf(file, "P6 %u %u", &b.photo_width, &b.photo_height) != 2)
        b.photo_width = b.photo_height = 0;
    if (file)
        fclose(file);
}

int main(int argc, char **argv)
{
    bool only_check = false, has_plans = false;
    uint32_t only_side = 0;
    char date[32];
    b.pool_bytes = 768ull * MIB;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            only_check = true, b.pool_bytes = 2 * MIB;
        else if (strcmp(argv[i], "--plans") == 0)
            has_plans = true;
        else if (strncmp(argv[i], "--side=", 7) == 0)
            only_side = (uint32_t)atoi(argv[i] + 7);
        else if (strncmp(argv[i], "--mib=", 6) == 0)
            b.pool_bytes = strtoull(argv[i] + 6, NULL, 10) * MIB;
        else
            photo_read(&b.photo, argv[i]), photo_size(argv[i]);
    }
    const cudaDeviceProp properties = gpu_open(date);
    printf("%s, %d multiprocessors; %s\n", properties.name, gpu.n_multiprocessors, date);
    const uint64_t n_most = std::max<uint64_t>(b.pool_bytes / (32 * 32 * 3), 16000);
    CHECK(cudaMallocHost(&b.pixels, b.pool_bytes + 64));
    CHECK(cudaMalloc(&b.d_nhwc, b.pool_bytes + 64));
    CHECK(cudaMalloc(&b.d_nchw, b.pool_bytes + 64));
    CHECK(cudaMalloc(&b.d_bins, n_most * 5 * IH_GPU_BINS * 4));
    CHECK(cudaMallocHost(&b.bins, n_most * 5 * IH_GPU_BINS * 4));
    CHECK(cudaMalloc(&b.d_sums, n_most * 9 * 8));
    CHECK(cudaMallocHost(&b.sums, n_most * 9 * 8));
    CHECK(cudaMalloc(&b.d_sink, sizeof *b.d_sink));
    for (uint32_t *&d_bins : b.d_cub_bins)
        CHECK(cudaMalloc(&d_bins, IH_GPU_BINS * sizeof *d_bins));
    check_small();
    if (!only_check) {
        const uint64_t n_bytes = b.pool_bytes / 16 * 16;
        fill(false, 1, 4096, (uint32_t)(b.pool_bytes / 3 / 4096), 3);
        b.roofline = (double)n_bytes / read_us(b.d_nhwc, n_bytes, b.d_sink);
        printf("read roofline: %.0f GB/s (%llu MiB)\n", b.roofline / 1e3,
               (unsigned long long)(n_bytes / MIB));
        table(has_plans, only_side);
        if (!only_side)
            table_bins(), table_few(has_plans), table_other();
    }
    return b.n_failed != 0;
}
