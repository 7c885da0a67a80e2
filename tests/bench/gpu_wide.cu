/*
 * Histograms of 16-bit samples compared with a count on the host, the memory and CUB.
 *
 *   gpu_wide [--check] [--rows] [--keys] [--mib=N]
 *
 * --rows   only lines of `make bench`
 * --check  only parity with the host, on small and odd inputs; with IMGHIST_TEST_SMALL in the
 *          environment, on a few of them (for compute-sanitizer)
 * --keys   only signed samples and floats against unsigned ones of the same bits
 * --mib    size of the large inputs, 768 by default
 *
 * A row whose counts differ from the host's is reported as wrong and not timed. Times are
 * medians of single launches between two events, after warm-up launches; GB/s are 1e9 bytes. The
 * roofline is the best of a few kernels that only read the same bytes. CUB counts with 65,536 bins.
 */
#include "gpu_histogram_data.h"
#include "gpu_timing.h"
#include "kernels/keys.h"
#include "row.h"

#include <cub/device/device_histogram.cuh>

enum { MIB = 1 << 20, BINS = IH_GPU_WIDE_BINS_MOST, CLIPS = IH_GPU_BATCH_CLIPS };

/* noise12: 12 bits of noise. microscopy: a dark background and few bright spots. two: either of two
 * values. sixteen: one of 16 values. hidden: the groups of pixels by which a warp chooses its plan
 * are random, the others have one value. */
enum kind {
    W_RANDOM,
    W_SMOOTH,
    W_NOISE12,
    W_MICROSCOPY,
    W_CONSTANT,
    W_TWO,
    W_SIXTEEN,
    W_HIDDEN,
    N_WIDE_KINDS
};
static const char *const wide_names[N_WIDE_KINDS] = {"random",   "smooth", "noise12", "microscopy",
                                                     "constant", "two",    "sixteen", "hidden"};

typedef std::vector<unsigned long long> counts; /* [planes][n_bins], then the clips */

static struct bench {
    uint64_t n_samples;            /* of the large inputs */
    uint16_t *samples, *d_samples; /* a little over n_samples, pinned and on the device */
    unsigned long long *d_counts;
    uint32_t *d_sink, *d_cub_bins;
    void *d_cub_scratch;
    size_t cub_bytes;
    double read_gb_s;
    int n_failed, n_right;
} b;

static uint16_t wide_at(enum kind kind, uint64_t pixel, unsigned channel, uint64_t noise,
                        bool is_chosen)
{
    const unsigned word = noise >> 16 * channel & 0xffff;
    switch (kind) {
    case W_RANDOM:
        return (uint16_t)word;
    case W_SMOOTH: {
        const float x = (float)(pixel % 4096), y = (float)(pixel / 4096 % 4096);
        const float level = 32768 + 25000 * sinf(x * 0.002f + channel) * sinf(y * 0.003f - channel);
        return (uint16_t)(level + (float)(word % 256));
    }
    case W_NOISE12:
        return word & 0xfff;
    case W_MICROSCOPY: { /* the sum of uniform numbers is near to normal */
        const unsigned x = pixel % 4096 % 128 - 64, y = pixel / 4096 % 128 - 64;
        const unsigned background = 400 + (word & 15) + (word >> 4 & 15) + (word >> 8 & 15);
        return (uint16_t)(background + (x * x + y * y < 300 ? 3000 + (word >> 4) % 2048 : 0));
    }
    case W_CONSTANT:
        return 3077;
    case W_TWO:
        return word & 1 ? 3077 : 411;
    case W_SIXTEEN:
        return (uint16_t)((word & 15) * 4001);
    default:
        return is_chosen ? (uint16_t)word : 40000;
    }
}

/* exceeds: also with samples of n_bins and more. */
static void wide_fill(const struct ih_gpu_wide_args *args, uint16_t *to, enum kind kind,
                      bool exceeds = false)
{
    const unsigned n_channels = args->n_channels;
    const uint32_t n_values = exceeds ? (uint32_t)BINS : args->n_bins;
    /* Whether a warp chooses its plan by a group of pixels, of gray images on a large GPU. */
    const uint64_t n_groups = args->n_pixels / 256;
    const uint64_t n_parts = std::min<uint64_t>(gpu.n_multiprocessors, n_groups / 256 + 1);
    const auto is_chosen = [=](uint64_t group) {
        const uint64_t part = (group * n_parts + n_parts - 1) / std::max<uint64_t>(n_groups, 1);
        return (group - n_groups * part / n_parts) / 32 % 16 == 0;
    };
    on_all_threads(args->n_pixels, [=](uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; i++)
            for (unsigned c = 0; c < n_channels; c++)
                to[i * n_channels + c] =
                    (uint16_t)(wide_at(kind, i, c, random_at(i), is_chosen(i / 256)) % n_values);
    });
}

static unsigned planes_of(const struct ih_gpu_wide_args *args)
{
    return args->n_channels + (args->has_luma != 0);
}

/* A plain count of a part of the pixels. */
static void wide_count_part(const struct ih_gpu_wide_args *args, const uint16_t *image,
                            uint64_t first, uint64_t end, unsigned long long *bins,
                            unsigned long long *clips)
{
    const struct ih_gpu_measures &m = args->measures;
    const uint32_t low = m.clip_low, high = m.clip_high;
    for (uint64_t i = first; i < end; i++) {
        uint64_t v[4] = {};
        for (unsigned c = 0; c < args->n_channels; c++) {
            v[c] = image[i * args->n_channels + c];
            if (v[c] < args->n_bins)
                bins[c * args->n_bins + v[c]]++;
        }
        if (!args->has_luma)
            continue;
        const uint64_t luma =
            (v[0] * m.luma_red + v[1] * m.luma_green + v[2] * m.luma_blue + 32768) >> 16;
        if (luma < args->n_bins)
            bins[args->n_channels * args->n_bins + luma]++;
        clips[0] += v[0] <= low || v[1] <= low || v[2] <= low;
        clips[1] += v[0] >= high || v[1] >= high || v[2] >= high;
        clips[2] += v[0] <= low && v[1] <= low && v[2] <= low;
        clips[3] += v[0] >= high && v[1] >= high && v[2] >= high;
    }
}

static counts wide_expected(const struct ih_gpu_wide_args *args, const uint16_t *from)
{
    const size_t n_bins = (size_t)planes_of(args) * args->n_bins;
    const unsigned n_parts = args->n_pixels > 1 << 20 ? std::thread::hardware_concurrency() : 1;
    std::vector<counts> parts(n_parts, counts(n_bins + CLIPS));
    const auto count = [&](uint64_t first, uint64_t end) {
        for (uint64_t p = first; p < end; p++)
            wide_count_part(args, from, args->n_pixels * p / n_parts,
                            args->n_pixels * (p + 1) / n_parts, parts[p].data(),
                            parts[p].data() + n_bins);
    };
    if (n_parts == 1)
        count(0, 1);
    else
        on_all_threads(n_parts, count);
    for (unsigned p = 1; p < n_parts; p++)
        for (size_t i = 0; i < parts[0].size(); i++)
            parts[0][i] += parts[p][i];
    return parts[0];
}

/* Launches n_times. Whether the counts are n_times the expected ones. */
static bool right(const struct ih_gpu_wide_args *args, const counts &expected, enum kind kind,
                  unsigned n_times = 1)
{
    counts got(expected.size());
    CHECK(cudaMemsetAsync(b.d_counts, 0, got.size() * 8, stream));
    for (unsigned i = 0; i < n_times; i++)
        CHECK(ih_histogram_wide(args));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got.data(), b.d_counts, got.size() * 8, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < expected.size(); i++)
        if (got[i] != expected[i] * n_times) {
            printf("WRONG: %s, %llu pixels, %u channels%s, %u bins: count %zu of %zu is %llu, not "
                   "%llu\n",
                   wide_names[kind], (unsigned long long)args->n_pixels, args->n_channels,
                   args->has_luma ? " luma" : "", args->n_bins, i, expected.size(), got[i],
                   expected[i] * n_times);
            b.n_failed++;
            return false;
        }
    b.n_right++;
    return true;
}

static struct ih_gpu_wide_args wide_args(uint64_t n_pixels, unsigned n_channels, uint32_t n_bins,
                                         bool has_luma)
{
    struct ih_gpu_wide_args args = {};
    args.d_pixels = b.d_samples;
    args.n_pixels = n_pixels;
    args.n_images = 1;
    args.n_channels = n_channels;
    args.n_bins = n_bins;
    args.has_luma = has_luma;
    args.measures = {13933, 46871, 4732, 0, n_bins - 1};
    args.gpu = &gpu;
    args.stream = stream;
    args.d_bins = b.d_counts;
    args.d_clips = b.d_counts + (size_t)planes_of(&args) * n_bins;
    return args;
}

/* ---- parity ---- */

static void check_small(bool is_short)
{
    static const uint64_t sizes[] = {0,   1,   7,    8,     255,   256,   257,
                                     511, 513, 4099, 16384, 70001, 300007};
    static const uint32_t bins[] = {BINS, 4096, 10001, 512, 32768};
    unsigned round = 0;
    for (unsigned channels = 1; channels <= 4; channels++)
        for (int luma = 0; luma <= (channels >= 3); luma++)
            for (uint64_t n_pixels : sizes)
                for (uint32_t n_bins : bins) {
                    if (is_short && (n_pixels > 20000 || round % 31 != 0)) {
                        round++;
                        continue;
                    }
                    struct ih_gpu_wide_args args = wide_args(n_pixels, channels, n_bins, luma);
                    const unsigned start = round % 3 == 0 ? round % 8 : 0;
                    const enum kind kind = (enum kind)(round * 5 % N_WIDE_KINDS);
                    const size_t n = start + n_pixels * channels;
                    args.d_pixels += start;
                    args.measures.clip_low = round % 2 ? 0 : n_bins / 3;
                    args.measures.clip_high = round % 3 ? n_bins - 1 : n_bins / 2;
                    wide_fill(&args, b.samples + start, kind, round++ % 2);
                    CHECK(cudaMemcpy(b.d_samples, b.samples, n * 2, cudaMemcpyHostToDevice));
                    right(&args, wide_expected(&args, b.samples + start), kind);
                }
    printf("parity on small inputs: %d right, %d wrong\n", b.n_right, b.n_failed);
    fflush(stdout);
}

/* Counters are driven over 2^15, 2^16 and 2^32: each kind is counted until a bin has more. */
static void check_overflow(bool is_short, uint64_t n_pixels, unsigned n_times)
{
    const int before = b.n_failed;
    for (enum kind kind : {W_CONSTANT, W_TWO, W_SIXTEEN, W_HIDDEN})
        for (uint32_t n_bins : {(uint32_t)BINS, 4096u}) {
            if (is_short && (kind != W_HIDDEN || n_bins != BINS))
                continue;
            struct ih_gpu_wide_args args = wide_args(n_pixels, 1, n_bins, false);
            wide_fill(&args, b.samples, kind);
            CHECK(cudaMemcpy(b.d_samples, b.samples, n_pixels * 2, cudaMemcpyHostToDevice));
            const counts expected = wide_expected(&args, b.samples);
            right(&args, expected, kind, kind == W_CONSTANT ? n_times : 1);
        }
    printf("counters over 2^15, 2^16 and %s: %s\n",
           (double)n_pixels * n_times > 4294967296.0 ? "2^32" : "(not tried) 2^32",
           b.n_failed == before ? "right" : "WRONG");
    fflush(stdout);
}

/* ---- timing ---- */

static double cub_us(uint64_t n)
{
    return time_us([&](int) {
        CHECK(cub::DeviceHistogram::HistogramEven(b.d_cub_scratch, b.cub_bytes, b.d_samples,
                                                  b.d_cub_bins, (int)BINS + 1, 0, (int)BINS, (int)n,
                                                  stream));
    });
}

/* A row: the share of the roofline. cub: also times CUB. */
static void row(const char *name, const struct ih_gpu_wide_args &args, enum kind kind, bool cub)
{
    const double n_bytes = (double)args.n_pixels * args.n_channels * 2;
    printf("%-22s %-11s", name, wide_names[kind]);
    if (!right(&args, wide_expected(&args, b.samples), kind)) {
        printf(" %14s\n", "WRONG");
        return;
    }
    const double us = time_us([&](int) { CHECK(ih_histogram_wide(&args)); });
    printf(" %6.0f (%5.3f)", n_bytes / us / 1e3, n_bytes / us / 1e3 / b.read_gb_s);
    if (cub) {
        const double cub = cub_us(args.n_pixels);
        printf("   CUB %5.0f, %6.2fx", n_bytes / cub / 1e3, cub / us);
    }
    printf("\n");
    fflush(stdout);
}

static void fill_device(const struct ih_gpu_wide_args *args, enum kind kind)
{
    wide_fill(args, b.samples, kind);
    CHECK(cudaMemcpy(b.d_samples, b.samples, b.n_samples * 2, cudaMemcpyHostToDevice));
}

/* Lines of `make bench`. */
static void rows(void)
{
    const double n_bytes = (double)b.n_samples * 2;
    const double limit_us = read_us((const uint8_t *)b.d_samples, b.n_samples * 2, b.d_sink);
    for (unsigned channels = 1; channels <= 3; channels += 2)
        for (enum kind kind : {W_RANDOM, W_SMOOTH, W_CONSTANT, W_TWO}) {
            const struct ih_gpu_wide_args args =
                wide_args(b.n_samples / channels, channels, BINS, channels == 3);
            fill_device(&args, kind);
            if (!right(&args, wide_expected(&args, b.samples), kind))
                continue;
            const double us = time_us([&](int) { CHECK(ih_histogram_wide(&args)); });
            row_print("GPU", "wide", channels == 1 ? "gray 16" : "RGB 16", wide_names[kind],
                      n_bytes / us / 1e3, n_bytes / limit_us / 1e3);
        }
}

static void table_large(void)
{
    const double us = read_us((const uint8_t *)b.d_samples, b.n_samples * 2, b.d_sink);
    b.read_gb_s = (double)b.n_samples * 2 / us / 1e3;
    printf("\nread roofline: %.0f GB/s\n\nGB/s (share of the read roofline)\n%-22s data\n",
           b.read_gb_s, "samples");
    for (int k = 0; k < N_WIDE_KINDS; k++) {
        const enum kind kind = (enum kind)k;
        struct ih_gpu_wide_args args = wide_args(b.n_samples, 1, BINS, false);
        fill_device(&args, kind);
        row("gray", args, kind, k != W_HIDDEN);
        args = wide_args(b.n_samples, 1, 4096, false);
        fill_device(&args, kind);
        row("gray, 12 bits", args, kind, false);
    }
    for (enum kind kind : {W_RANDOM, W_SMOOTH, W_NOISE12, W_MICROSCOPY, W_CONSTANT, W_TWO}) {
        struct ih_gpu_wide_args args = wide_args(b.n_samples / 3, 3, BINS, false);
        fill_device(&args, kind);
        row("RGB", args, kind, false);
        args = wide_args(b.n_samples / 3, 3, BINS, true);
        row("RGB, luma", args, kind, false);
        args = wide_args(b.n_samples / 3, 3, 4096, true);
        fill_device(&args, kind);
        row("RGB, luma, 12 bits", args, kind, false);
    }
    for (unsigned channels = 2; channels <= 4; channels += 2) {
        struct ih_gpu_wide_args args =
            wide_args(b.n_samples / channels, channels, BINS, channels == 4);
        fill_device(&args, W_RANDOM);
        row(channels == 2 ? "gray, alpha" : "RGBA, luma", args, W_RANDOM, false);
    }
    printf("\nA stripe of 1 MiB, microseconds:");
    for (unsigned channels = 1; channels <= 4; channels++) {
        struct ih_gpu_wide_args args = wide_args(MIB / 2 / channels, channels, BINS, channels >= 3);
        printf(" %u: %.1f", channels, time_us([&](int i) {
                   args.d_pixels = b.d_samples + i * (MIB / 2);
                   CHECK(ih_histogram_wide(&args));
               }));
    }
    printf("\n");
}

/* Counts samples of a type, whose counts are those of the same bits as unsigned samples in other
 * bins. Returns the best of two times; 0: wrong. */
static double keyed_us(struct ih_gpu_wide_args args, enum ih_gpu_samples samples, const counts &raw)
{
    const size_t n = (size_t)args.n_channels * BINS;
    const uint32_t inverted = samples == IH_GPU_FLOAT ? IH_KEYS_FLOAT : IH_KEYS_SIGNED;
    std::vector<uint32_t> got(n), expected(n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t v = i % BINS, key = ih_key_pair(v, inverted) & 0xffff;
        expected[i - v + (samples == IH_GPU_UNSIGNED ? v : ih_key_bin(key, inverted))] +=
            (uint32_t)raw[i];
    }
    args.samples = samples;
    args.d_bins = args.d_clips = NULL;
    args.d_bins_32 = (uint32_t *)b.d_counts;
    CHECK(cudaMemsetAsync(b.d_counts, 0, n * sizeof got[0], stream));
    CHECK(ih_histogram_wide(&args));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got.data(), b.d_counts, n * sizeof got[0], cudaMemcpyDeviceToHost));
    const bool is_right = got == expected;
    b.n_right += is_right;
    b.n_failed += !is_right;
    const auto launch = [&](int) { CHECK(ih_histogram_wide(&args)); };
    return is_right ? std::min(time_us(launch), time_us(launch)) : 0;
}

static void table_keys(void)
{
    printf("\nGB/s of uint16, and the times of int16 and of float16 and bfloat16 by it\n");
    for (unsigned channels = 1; channels <= 3; channels += 2)
        for (enum kind kind : {W_RANDOM, W_SMOOTH, W_NOISE12, W_MICROSCOPY, W_CONSTANT, W_TWO}) {
            const struct ih_gpu_wide_args args =
                wide_args(b.n_samples / channels, channels, BINS, false);
            fill_device(&args, kind);
            const counts raw = wide_expected(&args, b.samples);
            const double us = keyed_us(args, IH_GPU_UNSIGNED, raw);
            const double is_signed = keyed_us(args, IH_GPU_SIGNED, raw),
                         is_float = keyed_us(args, IH_GPU_FLOAT, raw);
            printf("%-5s %-11s %6.0f   int16 %.3f   floats %.3f%s\n",
                   channels == 1 ? "gray" : "RGB", wide_names[kind],
                   (double)b.n_samples * 2 / us / 1e3, is_signed / us, is_float / us,
                   us && is_signed && is_float ? "" : "   WRONG");
            fflush(stdout);
        }
}

int main(int argc, char **argv)
{
    bool only_check = false, only_rows = false, only_keys = false;
    char date[32];
    b.n_samples = 384ull * MIB;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            only_check = true, b.n_samples = 4 * MIB;
        else if (strcmp(argv[i], "--rows") == 0)
            only_rows = true;
        else if (strcmp(argv[i], "--keys") == 0)
            only_keys = true;
        else if (strncmp(argv[i], "--mib=", 6) == 0)
            b.n_samples = strtoull(argv[i] + 6, NULL, 10) * MIB / 2;
    }
    const cudaDeviceProp properties = gpu_open(date);
    if (!only_rows)
        printf("%s, %d multiprocessors, %d KiB shared memory a block; %s\n", properties.name,
               properties.multiProcessorCount, (int)(properties.sharedMemPerBlockOptin >> 10),
               date);
    CHECK(cudaMallocHost(&b.samples, b.n_samples * 2 + 64));
    CHECK(cudaMalloc(&b.d_samples, b.n_samples * 2 + 64));
    CHECK(cudaMalloc(&b.d_counts, (5 * BINS + CLIPS) * sizeof *b.d_counts));
    CHECK(cudaMalloc(&b.d_sink, sizeof *b.d_sink));
    CHECK(cudaMalloc(&b.d_cub_bins, BINS * sizeof *b.d_cub_bins));
    CHECK(cub::DeviceHistogram::HistogramEven(NULL, b.cub_bytes, b.d_samples, b.d_cub_bins,
                                              (int)BINS + 1, 0, (int)BINS, (int)b.n_samples,
                                              stream));
    CHECK(cudaMalloc(&b.d_cub_scratch, b.cub_bytes + 1));
    if (only_rows) {
        rows();
        return b.n_failed > 0;
    }
    if (only_keys) {
        table_keys();
        printf("%d right, %d wrong\n", b.n_right, b.n_failed);
        return b.n_failed > 0;
    }
    const bool is_short = getenv("IMGHIST_TEST_SMALL") != NULL;
    check_small(is_short);
    check_overflow(is_short, is_short ? MIB / 4 : b.n_samples,
                   is_short ? 1 : (unsigned)((1ull << 32) / b.n_samples + 1));
    if (!only_check) {
        table_large();
        table_keys();
    }
    printf("%d right, %d wrong\n", b.n_right, b.n_failed);
    return b.n_failed > 0;
}
