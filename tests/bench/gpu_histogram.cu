/*
 * The histogram kernel compared with a count on the host, the memory, CUB and the PCIe bus.
 *
 *   gpu_histogram [--check] [--rows] [--mib=N] [PHOTO.ppm]
 *
 * --rows     only lines of `make bench`
 * --check    only parity with the host, on small and odd inputs (for compute-sanitizer)
 * --mib      size of the large inputs, 768 by default
 * PHOTO.ppm  a real photo, repeated to fill the input
 *
 * A kernel whose totals differ from the host's is reported as wrong and not timed. Times are
 * medians of single launches between two events, after warm-up launches, in microseconds; GB/s are
 * 1e9 bytes. The roofline is the best of a few kernels that only read and xor the same bytes. Large
 * inputs are much larger than the L2 cache; small ones are at changing places of a large pool. CUB
 * (in the CUDA toolkit) counts the channels alone; our kernels count sums and joint clip counts
 * too, and luma, unless the column says otherwise.
 */
#include "gpu_histogram_data.h"
#include "gpu_timing.h"
#include "row.h"

#include <chrono>
#include <cub/device/device_histogram.cuh>

enum { MIB = 1 << 20 };

struct kernel {
    const char *name;
    cudaError_t (*launch)(const struct ih_gpu_histogram_args *args);
};
static cudaError_t without_luma(const struct ih_gpu_histogram_args *args)
{
    struct ih_gpu_histogram_args changed = *args;
    changed.without_luma = 1;
    return ih_histogram_replicated(&changed);
}
static const struct kernel kernels[] = {
    {"replicated", ih_histogram_replicated},
    {"without luma", without_luma},
};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

static struct bench {
    uint64_t large_bytes;
    uint8_t *pixels, *d_pixels; /* a little over large_bytes, pinned and on the device */
    struct ih_gpu_totals *totals, *d_totals;
    uint32_t *d_sink;
    uint32_t *d_cub_bins[4];
    void *d_cub_scratch;
    size_t cub_scratch_bytes;
    struct photo photo;
    double roofline; /* bytes a microsecond */
    int n_failed;
} b;

static struct ih_gpu_histogram_args args_make(uint64_t n_pixels, unsigned n_channels)
{
    struct ih_gpu_histogram_args args = {};
    args.d_pixels = b.d_pixels;
    args.n_pixels = n_pixels;
    args.n_channels = n_channels;
    args.measures = {13933, 46871, 4732, 0, 255};
    args.d_totals = b.d_totals;
    args.gpu = &gpu;
    args.stream = stream;
    return args;
}

/* ---- timing ---- */

/* The median time of a call of work() on the host's clock, in microseconds. */
template <typename work_fn> static double wall_us(work_fn work)
{
    std::vector<double> us;
    for (int i = 0; i < 10 * REPEATS; i++) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const auto end = std::chrono::steady_clock::now();
        us.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
    }
    std::nth_element(us.begin(), us.begin() + us.size() / 2, us.end());
    return us[us.size() / 2];
}

/* ---- CUB ---- */

template <int CHANNELS> static void cub_count(const uint8_t *d_pixels, uint64_t n_pixels)
{
    int n_levels[CHANNELS], lower[CHANNELS], upper[CHANNELS];
    for (int c = 0; c < CHANNELS; c++)
        n_levels[c] = 257, lower[c] = 0, upper[c] = 256;
    size_t bytes = b.cub_scratch_bytes;
    void *d_scratch = b.d_cub_scratch;
    for (;;) { /* the first call asks for the size of the scratch memory */
        if constexpr (CHANNELS == 1)
            CHECK(cub::DeviceHistogram::HistogramEven(d_scratch, bytes, d_pixels, b.d_cub_bins[0],
                                                      257, 0, 256, (int)n_pixels, stream));
        else
            CHECK((cub::DeviceHistogram::MultiHistogramEven<CHANNELS, CHANNELS>(
                d_scratch, bytes, d_pixels, b.d_cub_bins, n_levels, lower, upper, (int)n_pixels,
                stream)));
        if (d_scratch)
            return;
        CHECK(cudaMalloc(&b.d_cub_scratch, 64 * MIB));
        b.cub_scratch_bytes = 64 * MIB;
        d_scratch = b.d_cub_scratch;
    }
}

static void cub_count(const struct ih_gpu_histogram_args *args)
{
    switch (args->n_channels) {
    case 1:
        return cub_count<1>(args->d_pixels, args->n_pixels);
    case 2:
        return cub_count<2>(args->d_pixels, args->n_pixels);
    case 3:
        return cub_count<3>(args->d_pixels, args->n_pixels);
    default:
        return cub_count<4>(args->d_pixels, args->n_pixels);
    }
}

/* ---- the expected counts ---- */

/* Runs the kernel once. Whether its totals are the expected ones. */
static bool right(const struct kernel *kernel, const struct ih_gpu_histogram_args *args,
                  const struct ih_gpu_totals *expected, const char *what)
{
    CHECK(cudaMemsetAsync(b.d_totals, 0, sizeof *b.d_totals, stream));
    CHECK(kernel->launch(args));
    CHECK(cudaMemcpyAsync(b.totals, b.d_totals, sizeof *b.totals, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    struct ih_gpu_totals wanted = *expected;
    if (kernel->launch == without_luma) {
        memset(wanted.bins[IH_GPU_LUMA], 0, sizeof wanted.bins[IH_GPU_LUMA]);
        wanted.sum[IH_GPU_LUMA] = 0;
    }
    if (memcmp(b.totals, &wanted, sizeof wanted) == 0)
        return true;
    printf("WRONG: %s, %s, %u channels, %llu pixels, clip %u,%u\n", kernel->name, what,
           args->n_channels, (unsigned long long)args->n_pixels, args->measures.clip_low,
           args->measures.clip_high);
    b.n_failed++;
    return false;
}

/* Parity with sizes around every boundary, unaligned starts, many clip values, and the variants for
 * GPUs with less shared memory. */
static void check_small(void)
{
    static const uint64_t sizes[] = {0,    1,     15,    16,    17,     31,     33,  255,
                                     256,  257,   511,   512,   513,    527,    543, 1021,
                                     4099, 16384, 30011, 65537, 262147, 1000003};
    static const unsigned clips[][2] = {{0, 255},   {0, 1},     {10, 240},  {126, 127}, {127, 128},
                                        {128, 129}, {200, 250}, {254, 255}, {3, 5}};
    struct ih_gpu_properties gpus[3] = {gpu, gpu, gpu}; /* pretend to have less shared memory */
    gpus[1].shared_bytes_optin = std::min<size_t>(gpu.shared_bytes_optin, 160 << 10);
    gpus[2].shared_bytes_optin = 64 << 10;
    int n_checks = 0;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (unsigned round = 0; round < sizeof sizes / sizeof sizes[0]; round++)
            for (unsigned variant = 0; variant < 9; variant++) {
                const uint64_t n_pixels = sizes[round];
                if (n_pixels > 70000 && variant > 1)
                    continue;
                const unsigned start = (variant * 5 + round * 3) % 17;
                const enum data_kind kind = variant % 3 == 0   ? RANDOM
                                            : variant % 3 == 1 ? MIXED
                                                               : SMOOTH;
                struct ih_gpu_histogram_args args = args_make(n_pixels, channels);
                struct ih_gpu_totals expected;
                args.d_pixels += start;
                args.measures.clip_low = clips[variant][0];
                args.measures.clip_high = clips[variant][1];
                data_fill(b.pixels + start, n_pixels, channels, kind, b.photo);
                CHECK(cudaMemcpy(b.d_pixels, b.pixels, start + n_pixels * channels,
                                 cudaMemcpyHostToDevice));
                data_count(&args, b.pixels + start, &expected);
                for (int g = 0; g < (variant < 2 ? 3 : 1); g++) {
                    args.gpu = &gpus[g];
                    for (const struct kernel &kernel : kernels)
                        n_checks += right(&kernel, &args, &expected, kind_names[kind]);
                }
            }
    printf("parity on small inputs: %d right, %d wrong\n", n_checks, b.n_failed);
}

/* ---- the tables ---- */

/* Fills the pixels on both sides. */
static struct ih_gpu_histogram_args large_make(unsigned channels, enum data_kind kind,
                                               struct ih_gpu_totals *expected)
{
    const struct ih_gpu_histogram_args args = args_make(b.large_bytes / channels, channels);
    data_fill(b.pixels, args.n_pixels, channels, kind, b.photo);
    CHECK(cudaMemcpy(b.d_pixels, b.pixels, args.n_pixels * channels, cudaMemcpyHostToDevice));
    data_count(&args, b.pixels, expected);
    return args;
}

/* Lines of `make bench`. */
static void rows(void)
{
    const double limit_us = read_us(b.d_pixels, b.large_bytes, b.d_sink);
    for (unsigned channels = 1; channels <= 3; channels += 2)
        for (enum data_kind kind : {RANDOM, SMOOTH, CONSTANT, STRIPES}) {
            struct ih_gpu_totals expected;
            const struct ih_gpu_histogram_args args = large_make(channels, kind, &expected);
            if (!right(&kernels[0], &args, &expected, kind_names[kind]))
                continue;
            const double us = time_us([&](int) { CHECK(kernels[0].launch(&args)); });
            row_print("GPU", kernels[0].name, channels == 1 ? "gray" : "RGB", kind_names[kind],
                      (double)b.large_bytes / us / 1e3, (double)b.large_bytes / limit_us / 1e3);
        }
}

static void table_large(void)
{
    printf("\nread roofline: %.0f GB/s (%llu MiB)\n", b.roofline / 1e3,
           (unsigned long long)(b.large_bytes / MIB));
    printf("\nLarge inputs: GB/s (share of the read roofline); `best` over CUB\n%-9s %-9s",
           "channels", "data");
    for (const struct kernel &kernel : kernels)
        printf(" %16s", kernel.name);
    printf(" %7s %9s\n", "CUB", "over CUB");
    for (unsigned channels = 1; channels <= 4; channels++) {
        double least_share = 1e30, least_over = 1e30;
        for (int kind = 0; kind < N_KINDS; kind++) {
            if (kind == PHOTO && b.photo.rgb.empty())
                continue;
            struct ih_gpu_totals expected;
            const struct ih_gpu_histogram_args args =
                large_make(channels, (enum data_kind)kind, &expected);
            const double n_bytes = (double)(args.n_pixels * channels);
            printf("%-9u %-9s", channels, kind_names[kind]);
            double best_us = 0;
            for (const struct kernel &kernel : kernels) {
                if (!right(&kernel, &args, &expected, kind_names[kind])) {
                    printf(" %16s", "WRONG");
                    continue;
                }
                const double kernel_us = time_us([&](int) { CHECK(kernel.launch(&args)); });
                if (&kernel == &kernels[0])
                    best_us = kernel_us;
                printf(" %8.0f (%5.3f)", n_bytes / kernel_us / 1e3,
                       n_bytes / kernel_us / b.roofline);
            }
            const double cub_us = time_us([&](int) { cub_count(&args); });
            printf(" %7.0f %8.2fx\n", n_bytes / cub_us / 1e3, cub_us / best_us);
            fflush(stdout);
            least_share = std::min(least_share, n_bytes / best_us / b.roofline);
            least_over = std::min(least_over, cub_us / best_us);
        }
        printf("%-9u least: `%s` at %.3f of the read roofline, %.2f times CUB\n", channels,
               kernels[0].name, least_share, least_over);
    }
}

static void table_sizes(void)
{
    printf("\nSizes, random data: microseconds of `%s` and of CUB, and CUB over ours\n%-9s",
           kernels[0].name, "KiB");
    for (unsigned channels = 1; channels <= 4; channels++)
        printf(" | %u: %7s %8s %6s", channels, "ours", "CUB", "over");
    printf(" | %8s\n", "read");
    data_fill(b.pixels, b.large_bytes, 1, RANDOM, b.photo);
    CHECK(cudaMemcpy(b.d_pixels, b.pixels, b.large_bytes, cudaMemcpyHostToDevice));
    for (uint64_t n_bytes = 64 << 10; n_bytes <= 256 * MIB && n_bytes <= b.large_bytes;
         n_bytes *= 2) {
        const uint64_t n_places = b.large_bytes / n_bytes;
        printf("%-9llu", (unsigned long long)(n_bytes >> 10));
        for (unsigned channels = 1; channels <= 4; channels++) {
            struct ih_gpu_histogram_args args = args_make(n_bytes / channels, channels);
            const auto move = [&](int i) {
                args.d_pixels = b.d_pixels + (uint64_t)i * 7919 % n_places * n_bytes;
            };
            const double ours_us =
                time_us([&](int i) { move(i), CHECK(kernels[0].launch(&args)); });
            const double cub_us = time_us([&](int i) { move(i), cub_count(&args); });
            printf(" |    %7.1f %8.1f %5.2fx", ours_us, cub_us, cub_us / ours_us);
        }
        printf(" | %8.1f\n", read_us(b.d_pixels, n_bytes, b.d_sink));
        fflush(stdout);
    }
}

/* A stripe of 1 MiB compared with its copy over the bus, and the fixed cost of an image. */
static void table_overheads(void)
{
    struct ih_gpu_histogram_args args = args_make(MIB / 3, 3);
    const double copy_us = time_us([&](int i) {
        CHECK(cudaMemcpyAsync(b.d_pixels + i * MIB, b.pixels + i * MIB, MIB, cudaMemcpyHostToDevice,
                              stream));
    });
    const double bulk_us = time_us([&](int) {
        CHECK(cudaMemcpyAsync(b.d_pixels, b.pixels, 64 * MIB, cudaMemcpyHostToDevice, stream));
    });
    printf("\nA stripe of 1 MiB: copy from pinned memory %.1f us (%.1f us a MiB in 64 MiB); RGB "
           "kernel",
           copy_us, bulk_us / 64);
    for (const struct kernel &kernel : kernels) {
        const double us = time_us([&](int i) {
            args.d_pixels = b.d_pixels + i * MIB;
            CHECK(kernel.launch(&args));
        });
        printf(" %s %.1f us", kernel.name, us);
    }
    args = args_make(1, 3);
    const auto zero = [&] { CHECK(cudaMemsetAsync(b.d_totals, 0, sizeof *b.d_totals, stream)); };
    const auto launch = [&] { CHECK(kernels[0].launch(&args)); };
    const auto fetch = [&] {
        CHECK(cudaMemcpyAsync(b.totals, b.d_totals, sizeof *b.totals, cudaMemcpyDeviceToHost,
                              stream));
    };
    const auto wait = [&] { CHECK(cudaStreamSynchronize(stream)); };
    printf("\nAn image of one pixel, on the host's clock: zero, launch, fetch, wait %.1f us\n",
           wall_us([&] { zero(), launch(), fetch(), wait(); }));
    printf("  launch, wait %.1f; zero, wait %.1f; fetch, wait %.1f; launch alone %.1f us\n",
           wall_us([&] { launch(), wait(); }), wall_us([&] { zero(), wait(); }),
           wall_us([&] { fetch(), wait(); }), wall_us(launch));
    wait();
}

/* ---- main ---- */

static void bench_open(bool only_rows)
{
    int driver = 0, runtime = 0;
    char date[32];
    const cudaDeviceProp properties = gpu_open(date);
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    if (!only_rows)
        printf(
            "%s, %d multiprocessors, %d KiB shared memory a block, L2 %d MiB; CUDA driver %d.%d, "
            "runtime %d.%d, CUB %d.%d; %s\n",
            properties.name, properties.multiProcessorCount,
            (int)(properties.sharedMemPerBlockOptin >> 10), properties.l2CacheSize >> 20,
            driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
            CUB_VERSION / 100000, CUB_VERSION / 100 % 1000, date);
    CHECK(cudaMallocHost(&b.pixels, b.large_bytes + 32));
    CHECK(cudaMalloc(&b.d_pixels, b.large_bytes + 32));
    CHECK(cudaMallocHost(&b.totals, sizeof *b.totals));
    CHECK(cudaMalloc(&b.d_totals, sizeof *b.d_totals));
    CHECK(cudaMalloc(&b.d_sink, sizeof *b.d_sink));
    for (uint32_t *&d_bins : b.d_cub_bins)
        CHECK(cudaMalloc(&d_bins, 256 * sizeof *d_bins));
}

int main(int argc, char **argv)
{
    bool only_check = false, only_rows = false;
    b.large_bytes = 768ull * MIB;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            only_check = true, b.large_bytes = 8 * MIB;
        else if (strcmp(argv[i], "--rows") == 0)
            only_rows = true;
        else if (strncmp(argv[i], "--mib=", 6) == 0)
            b.large_bytes = strtoull(argv[i] + 6, NULL, 10) * MIB;
        else
            photo_read(&b.photo, argv[i]);
    }
    bench_open(only_rows);
    if (only_rows) {
        rows();
        return b.n_failed != 0;
    }
    if (!b.photo.rgb.empty())
        printf("photo: %zu pixels\n", b.photo.rgb.size() / 3);
    check_small();
    if (!only_check) {
        table_large();
        table_sizes();
        table_overheads();
    }
    return b.n_failed != 0;
}
