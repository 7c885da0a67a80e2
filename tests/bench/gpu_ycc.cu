/*
 * The kernel that counts a JPEG's planes: pixels a second, compared with the RGB kernel on as many
 * pixels, with the memory, and with the JPEG kernels that write the planes.
 *
 *   gpu_ycc --rows        only lines of `make bench`
 *   gpu_ycc [--mib=N]     the size of the pool that holds the planes, 768 MiB by default
 *
 * A subsampling whose totals differ from the host's is reported as wrong and not timed. Times are
 * medians of single launches between two events, after warm-up launches, in microseconds. Images
 * are at changing places of the pool, which is much larger than the L2 cache. Neither kernel
 * branches on the data; the kinds of data show it. GB/s are 1e9 bytes of planes, read once; the
 * roofline is the best of a few kernels that only read the same bytes. The last column compares
 * with the time in which the JPEG kernels decode as many pixels at 150 GP/s.
 */
#include "gpu_histogram_data.h"
#include "gpu_timing.h"
#include "kernels/kernels.h"
#include "kernels/ycc.h"
#include "row.h"

enum { MIB = 1 << 20, PITCH_MULTIPLE = 32 };

static const double DECODER_PIXELS_A_US = 150000;

static struct bench {
    uint64_t pool_bytes;
    uint8_t *pool, *d_pool;
    struct ih_gpu_totals *d_totals;
    uint32_t *d_sink;
    double roofline; /* bytes a microsecond */
    int n_failed;
} b;

/* ---- images ---- */

struct subsampling {
    const char *name;
    int h, v;
};
static const struct subsampling subsamplings[] = {
    {"4:4:4", 1, 1}, {"4:2:2", 2, 1}, {"4:2:0", 2, 2}, {"4:4:0", 1, 2}};

static struct ih_ycc_image image_make(const struct subsampling *s, uint32_t width, uint32_t height)
{
    struct ih_ycc_image image = {};
    image.width = width;
    image.height = height;
    image.chroma_width = (width + s->h - 1) / s->h;
    image.chroma_height = (height + s->v - 1) / s->v;
    for (int p = 0; p < 3; p++) {
        const uint32_t row_bytes = p ? image.chroma_width : width;
        image.pitch_bytes[p] = (row_bytes + PITCH_MULTIPLE - 1) / PITCH_MULTIPLE * PITCH_MULTIPLE;
    }
    return image;
}

static uint64_t plane_bytes(const struct ih_ycc_image &image, int plane)
{
    return (uint64_t)image.pitch_bytes[plane] * (plane ? image.chroma_height : image.height);
}

static uint64_t image_bytes(const struct ih_ycc_image &image)
{
    return plane_bytes(image, 0) + plane_bytes(image, 1) + plane_bytes(image, 2);
}

static struct ih_gpu_planes_args args_make(const struct subsampling *s,
                                           const struct ih_ycc_image &image, uint64_t offset)
{
    struct ih_gpu_planes_args args = {};
    for (int p = 0; p < 3; p++) {
        args.d_planes[p] = b.d_pool + offset;
        args.pitch_bytes[p] = image.pitch_bytes[p];
        offset += plane_bytes(image, p);
    }
    args.width = image.width;
    args.height = image.height;
    args.chroma_h = (unsigned)s->h;
    args.chroma_v = (unsigned)s->v;
    args.n_rows = image.height;
    args.measures = {13933, 46871, 4732, 0, 255};
    args.d_totals = b.d_totals;
    args.gpu = &gpu;
    args.stream = stream;
    return args;
}

/* Fills the pool, on the host and on the device. */
static void pool_fill(enum data_kind kind)
{
    static const struct photo none;
    on_all_threads(b.pool_bytes, [=](uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; i++)
            b.pool[i] = sample_at(kind, none, i, 0, random_at(i));
    });
    CHECK(cudaMemcpy(b.d_pool, b.pool, b.pool_bytes, cudaMemcpyHostToDevice));
}

/* ---- the expected counts ---- */

static void rows_to_rgb(const struct ih_ycc_image &image, const struct subsampling *s,
                        uint64_t first, uint64_t end, uint8_t *rgb)
{
    for (uint64_t i = first * image.width; i < end * image.width; i++) {
        uint32_t colours[3];
        ih_ycc_pixel(&image, s->h, s->v, (uint32_t)(i % image.width), (uint32_t)(i / image.width),
                     colours);
        for (int c = 0; c < 3; c++)
            rgb[3 * i + c] = (uint8_t)colours[c];
    }
}

/* Whether the kernel's totals of the image at the start of the pool equal the host's. */
static bool right(const struct subsampling *s, struct ih_ycc_image image)
{
    const struct ih_gpu_planes_args args = args_make(s, image, 0);
    struct ih_gpu_histogram_args counts = {};
    struct ih_gpu_totals got, expected;
    std::vector<uint8_t> rgb((size_t)image.width * image.height * 3);
    for (int p = 0; p < 3; p++)
        image.planes[p] = b.pool + (args.d_planes[p] - b.d_pool);
    on_all_threads(image.height, [&](uint64_t first, uint64_t end) {
        rows_to_rgb(image, s, first, end, rgb.data());
    });
    counts.n_pixels = (uint64_t)image.width * image.height;
    counts.n_channels = 3;
    counts.measures = args.measures;
    data_count(&counts, rgb.data(), &expected);
    CHECK(cudaMemset(b.d_totals, 0, sizeof *b.d_totals));
    CHECK(ih_histogram_ycc(&args));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&got, b.d_totals, sizeof got, cudaMemcpyDeviceToHost));
    if (memcmp(&got, &expected, sizeof got) == 0)
        return true;
    printf("WRONG: %s, %u x %u\n", s->name, image.width, image.height);
    b.n_failed++;
    return false;
}

/* ---- the tables ---- */

/* The place of the i-th image of this size. */
static uint64_t place(uint64_t bytes, int i)
{
    const uint64_t n_places = b.pool_bytes / bytes;
    return (uint64_t)i * 7919 % n_places * bytes;
}

static double ycc_us(const struct subsampling *s, const struct ih_ycc_image &image)
{
    return time_us([&](int i) {
        const struct ih_gpu_planes_args args = args_make(s, image, place(image_bytes(image), i));
        CHECK(ih_histogram_ycc(&args));
    });
}

static double rgb_us(uint64_t n_pixels)
{
    struct ih_gpu_histogram_args args = {};
    args.n_pixels = n_pixels;
    args.n_channels = 3;
    args.measures = {13933, 46871, 4732, 0, 255};
    args.d_totals = b.d_totals;
    args.gpu = &gpu;
    args.stream = stream;
    return time_us([&](int i) {
        args.d_pixels = b.d_pool + place((n_pixels * 3 + 15) / 16 * 16, i);
        CHECK(ih_histogram_replicated(&args));
    });
}

static void line_print(const struct subsampling *s, uint32_t width, uint32_t height)
{
    const struct ih_ycc_image image = image_make(s, width, height);
    const double n_pixels = (double)width * height;
    if (image_bytes(image) > b.pool_bytes || n_pixels * 3 > (double)b.pool_bytes)
        return;
    const double us = ycc_us(s, image), of_rgb_us = rgb_us((uint64_t)width * height);
    const double bytes_a_us = (double)image_bytes(image) / us;
    printf("%-6s %5u x %-5u %9.1f %8.1f %9.1f %7.2f %8.0f %7.2f %8.2f%%\n", s->name, width, height,
           us, n_pixels / us / 1e3, of_rgb_us, of_rgb_us / us, bytes_a_us / 1e3,
           bytes_a_us / b.roofline, 100 * DECODER_PIXELS_A_US * us / n_pixels);
    fflush(stdout);
}

static void table(enum data_kind kind)
{
    static const uint32_t sizes[][2] = {{100, 75},    {640, 480},   {1500, 1000},
                                        {4000, 3000}, {6000, 4000}, {16000, 16000}};
    pool_fill(kind);
    printf("\n%s\n%-6s %-13s %9s %8s %9s %7s %8s %7s %9s\n", kind_names[kind], "", "pixels", "us",
           "GP/s", "RGB us", "of RGB", "GB/s", "of read", "of JPEG");
    for (const struct subsampling &s : subsamplings)
        if (right(&s, image_make(&s, 1501, 1003)) && right(&s, image_make(&s, 6000, 4000)))
            for (const uint32_t(&size)[2] : sizes)
                line_print(&s, size[0], size[1]);
}

/* Lines of `make bench`: the planes of a large image. */
static void rows(void)
{
    for (enum data_kind kind : {RANDOM, SMOOTH, CONSTANT}) {
        pool_fill(kind);
        for (const struct subsampling &s : subsamplings) {
            const struct ih_ycc_image image = image_make(&s, 16000, 16000);
            if (strcmp(s.name, "4:4:0") == 0 || !right(&s, image_make(&s, 1501, 1003)))
                continue;
            row_print("GPU", "ycc", s.name, kind_names[kind],
                      (double)image_bytes(image) / ycc_us(&s, image) / 1e3, b.roofline / 1e3);
        }
    }
}

static void bench_open(bool only_rows)
{
    char date[32];
    const cudaDeviceProp properties = gpu_open(date);
    CHECK(cudaMallocHost(&b.pool, b.pool_bytes));
    CHECK(cudaMalloc(&b.d_pool, b.pool_bytes));
    CHECK(cudaMalloc(&b.d_totals, sizeof *b.d_totals));
    CHECK(cudaMalloc(&b.d_sink, sizeof *b.d_sink));
    b.roofline = (double)b.pool_bytes / read_us(b.d_pool, b.pool_bytes, b.d_sink);
    if (!only_rows)
        printf("%s, %d multiprocessors; %s\nread roofline: %.0f GB/s\n", properties.name,
               properties.multiProcessorCount, date, b.roofline / 1e3);
}

int main(int argc, char **argv)
{
    const bool only_rows = argc > 1 && strcmp(argv[1], "--rows") == 0;
    b.pool_bytes = 768ull * MIB;
    if (argc > 1 && strncmp(argv[1], "--mib=", 6) == 0)
        b.pool_bytes = strtoull(argv[1] + 6, NULL, 10) * MIB;
    if (b.pool_bytes < 100ull * MIB) {
        fprintf(stderr, "gpu_ycc: at least --mib=100\n");
        return 2;
    }
    bench_open(only_rows);
    if (only_rows) {
        rows();
        return b.n_failed != 0;
    }
    table(RANDOM);
    table(SMOOTH);
    table(CONSTANT);
    return b.n_failed != 0;
}
