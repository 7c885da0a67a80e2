/*
 * Native bins: every file both ways, and the counter of native samples against a plain one.
 *
 * Samples become 8-bit ones by round(v * 255 / max), a function of each value. So the 256 bins of
 * each stored channel follow from its native bins, whatever the format: each decoder's two ways
 * judge each other.
 */
#include "tests/support/library_data.h"

#include "count/count_bands.h"
#include "count/count_native.h"
#include "device/backend.h"
#include <dirent.h>

static struct ih_context *open_bins(unsigned bins)
{
    const struct ih_settings settings = {.device = "cpu", .bins = bins};
    struct ih_context *context = NULL;
    struct ih_error err;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    return context;
}

/* ---- files ---- */

struct both {
    struct ih_context *contexts[2]; /* 256, native */
    struct ih_counts *counts[2];
    unsigned n_native, n_refused, n_files;
};

static void check_planes(const struct ih_counts *reduced, const struct ih_counts *native)
{
    const unsigned n_bins = ih_counts_n_bins(native), max = n_bins - 1;
    const unsigned n_channels = summary_of(reduced).n_channels;
    assert_int_equal(summary_of(native).n_channels, n_channels);
    assert_int_equal(summary_of(native).n_pixels, summary_of(reduced).n_pixels);
    for (unsigned p = 0; p < n_channels; p++) {
        const uint64_t *bins = ih_counts_bins(native, p);
        uint64_t follows[IH_BINS] = {0};
        if (ih_counts_n_bins(reduced) > IH_BINS) { /* floats: native both ways */
            assert_memory_equal(ih_counts_bins(reduced, p), bins, n_bins * sizeof *bins);
            continue;
        }
        for (unsigned v = 0; v < n_bins; v++)
            follows[(v * 510u + max) / (2 * max)] += bins[v];
        assert_memory_equal(ih_counts_bins(reduced, p), follows, sizeof follows);
    }
    assert_true(ih_counts_n_bins(reduced) == IH_BINS || ih_counts_n_bins(reduced) == n_bins);
}

static void check_file(struct both *b, const char *path)
{
    struct ih_error err[2];
    enum ih_status status[2];
    for (unsigned i = 0; i < 2; i++)
        status[i] = ih_count_file(b->contexts[i], path, b->counts[i], &err[i]);
    b->n_files++;
    fprintf(stderr, "%s\n", path);
    if (status[1] == IH_UNSUPPORTED && strstr(err[1].message, "native bins")) {
        b->n_refused++;
        return;
    }
    if (status[1] != status[0])
        fprintf(stderr, "%s\n", err[1].message);
    assert_int_equal(status[1], status[0]);
    if (status[0] != IH_OK)
        return;
    const unsigned depth = summary_of(b->counts[0]).source_depth;
    const bool is_native = ih_counts_n_bins(b->counts[1]) > IH_BINS;
    b->n_native += is_native;
    assert_int_equal(is_native, depth > 8);
    check_planes(b->counts[0], b->counts[1]);
}

static void check_folder(struct both *b, const char *folder)
{
    const char *tests = getenv("TESTS");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", tests ? tests : "tests", folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", tests ? tests : "tests", folder, entry->d_name);
        check_file(b, path);
    }
    closedir(dir);
}

TEST(files_both_ways)
{
    struct both b = {.contexts = {open_bins(0), open_bins(IH_BINS_NATIVE)}};
    struct ih_error err;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ih_counts_open(&b.counts[i], &err), IH_OK);
    check_folder(&b, "formats/files");
    fprintf(stderr, "%u files, %u native, %u refused\n", b.n_files, b.n_native, b.n_refused);
    assert_true(b.n_native > 0); /* how many, the formats of the build decide */
    for (unsigned i = 0; i < 2; i++) {
        ih_counts_close(b.counts[i]);
        ih_context_close(b.contexts[i]);
    }
}

/* ---- the counter ---- */

/* One pixel and one channel at a time, into 64-bit counters. */
struct plain {
    uint64_t *bins[N_ROWS]; /* owned */
    uint64_t n_pixels, sum[N_ROWS], any_low, any_high, all_low, all_high;
};

static struct plain count_plainly(const struct ih_count_spec *spec, const uint16_t *v, size_t n)
{
    const unsigned n_colours = spec->layout.n_channels < 3 ? 1 : 3;
    struct plain p = {.n_pixels = n};
    for (unsigned c = 0; c < N_ROWS; c++)
        assert_non_null(p.bins[c] = calloc(spec->n_bins, sizeof *p.bins[c]));
    for (size_t i = 0; i < n; i++, v += spec->layout.n_channels) {
        const struct ih_luma_weights *w = spec->luma;
        unsigned n_low = 0, n_high = 0;
        const uint64_t luma = n_colours == 1
                                  ? v[0]
                                  : ((uint64_t)w->red * v[0] + (uint64_t)w->green * v[1] +
                                     (uint64_t)w->blue * v[2] + 32768) /
                                        65536;
        for (unsigned c = 0; c < spec->layout.n_channels; c++) {
            p.bins[c][v[c]]++;
            p.sum[c] += v[c];
            n_low += c < n_colours && v[c] <= spec->clip_low;
            n_high += c < n_colours && v[c] >= spec->clip_high;
        }
        p.bins[LUMA_ROW][luma]++;
        p.sum[LUMA_ROW] += luma;
        p.any_low += n_low > 0;
        p.any_high += n_high > 0;
        p.all_low += n_low == n_colours;
        p.all_high += n_high == n_colours;
    }
    return p;
}

/* Releases both. */
static void assert_plain(struct ih_histogram *h, struct plain *p, const struct ih_count_spec *spec)
{
    assert_int_equal(h->n_bins, spec->n_bins);
    assert_int_equal(h->n_pixels, p->n_pixels);
    assert_true(h->adds_up);
    h->adds_up = false;
    assert_true(ih_histogram_consistent(h));
    for (unsigned c = 0; c < N_ROWS; c++) {
        if (has_row(h, c)) {
            assert_memory_equal(ih_bins(h, plane_of(c)), p->bins[c],
                                spec->n_bins * sizeof *p->bins[c]);
            assert_int_equal(*ih_sum(h, plane_of(c)), p->sum[c]);
        }
        free(p->bins[c]);
    }
    assert_int_equal(h->any_low, p->any_low);
    assert_int_equal(h->any_high, p->any_high);
    assert_int_equal(h->all_low, p->all_low);
    assert_int_equal(h->all_high, p->all_high);
    ih_histogram_reset(h);
}

static uint32_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33);
}

/* Noise, runs, and values at both ends. */
static void fill(uint16_t *v, size_t n_samples, unsigned n_bins, unsigned kind, uint64_t *random)
{
    uint16_t last = 0;
    for (size_t i = 0; i < n_samples; i++) {
        const uint32_t r = next_random(random);
        if (kind == 0 || r % 97 == 0)
            last = (uint16_t)(next_random(random) % n_bins);
        if (kind == 2)
            last = (uint16_t)(r % 3 ? (r % 3 == 1 ? 0 : n_bins - 1) : last);
        v[i] = last;
    }
}

TEST(counter_against_a_plain_one)
{
    enum { N = 5000 };
    static const unsigned all_bins[] = {257, 1000, 1024, 4096, 4097, 65536};
    static uint16_t v[N * IH_PIXEL_CHANNELS_MAX + 1];
    struct ih_native_counter c = {.tables = NULL};
    uint64_t random = 1;
    for (unsigned k = 0; k < sizeof all_bins / sizeof *all_bins; k++)
        for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++)
            for (unsigned kind = 0; kind < 3; kind++) {
                const unsigned n_bins = all_bins[k];
                const struct ih_count_spec spec = {IH_LAYOUT(n_channels),
                                                   IH_UINT16,
                                                   n_bins,
                                                   kind ? &ih_luma_bt601 : &ih_luma_bt709,
                                                   (uint16_t)(kind == 1 ? n_bins / 3 : 0),
                                                   (uint16_t)(kind == 1 ? n_bins / 2 : n_bins - 1)};
                struct ih_histogram h;
                const size_t n = next_random(&random) % N;
                fill(v, N * n_channels, n_bins, kind, &random);
                struct plain p = count_plainly(&spec, v, n);
                assert_int_equal(ih_native_begin(&c, &spec, NULL), IH_OK);
                ih_native_add(&c, v, N); /* dropped */
                assert_int_equal(ih_native_begin(&c, &spec, NULL), IH_OK);
                const size_t n_first = n / 3, n_second = n / 4;
                ih_native_add(&c, v, n_first);
                ih_native_add(&c, v + n_first * n_channels, n_second);
                /* At an odd address. */
                uint8_t *odd = malloc(2 * N * n_channels + 1);
                memcpy(odd + 1, v, 2 * N * n_channels);
                ih_native_add(&c, odd + 1 + 2 * (n_first + n_second) * n_channels,
                              n - n_first - n_second);
                free(odd);
                ih_native_end(&c, &h);
                assert_plain(&h, &p, &spec);
            }
    ih_native_reset(&c);
}

/* Many samples with few values, between noise and runs. */
TEST(counter_of_few_values)
{
    enum { N = 300001, PART = 270000, FEW = 1000 };
    uint8_t *odd = malloc(2 * N * IH_PIXEL_CHANNELS_MAX + 1);
    uint16_t *v = malloc(2 * N * IH_PIXEL_CHANNELS_MAX);
    struct ih_native_counter c = {.tables = NULL};
    uint64_t random = 5;
    assert_non_null(odd);
    assert_non_null(v);
    for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++) {
        const struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT16, 65536,
                                           &ih_luma_bt709,        0,         65535};
        const size_t n_few = (size_t)PART * n_channels, n_all = (size_t)N * n_channels;
        struct ih_histogram h;
        fill(v, n_few, FEW, n_channels % 2, &random);
        fill(v + n_few, n_all - n_few, 65536, 2, &random);
        memcpy(odd + 1, v, 2 * n_all);
        struct plain p = count_plainly(&spec, v, N);
        assert_int_equal(ih_native_begin(&c, &spec, NULL), IH_OK);
        ih_native_add(&c, v + n_few, N - PART);
        ih_native_add(&c, odd + 1, PART);
        assert_int_equal(c.has_narrow, n_channels != 2);
        ih_native_end(&c, &h);
        assert_plain(&h, &p, &spec);
    }
    free(odd);
    free(v);
    ih_native_reset(&c);
}

/* Samples that get their keys after counting: noise, runs, 0 and -0, and few values. */
TEST(counter_of_samples_without_keys)
{
    enum { N = 300001, SECOND = 1000, LAST = 50 };
    static const enum ih_sample_type types[] = {IH_INT16, IH_FLOAT16, IH_BFLOAT16};
    uint16_t *v = malloc(2 * N * IH_PIXEL_CHANNELS_MAX);
    uint16_t *keys = malloc(2 * N * IH_PIXEL_CHANNELS_MAX);
    struct ih_native_counter c = {.tables = NULL};
    uint64_t random = 3;
    assert_non_null(v);
    assert_non_null(keys);
    for (unsigned k = 0; k < 4 * 3 * IH_PIXEL_CHANNELS_MAX; k++) {
        const unsigned kind = k % 4, n_channels = 1 + k / 4 % IH_PIXEL_CHANNELS_MAX;
        const enum ih_sample_type type = types[k / 4 / IH_PIXEL_CHANNELS_MAX];
        const struct ih_count_spec spec = {IH_LAYOUT(n_channels),
                                           type,
                                           65536,
                                           type == IH_INT16 ? &ih_luma_bt709 : &ih_luma_none,
                                           0,
                                           65535};
        const size_t n = kind == 3 ? N : 50000;
        struct ih_histogram h;
        fill(v, n * n_channels, kind == 3 ? 1000 : 65536, kind % 3, &random);
        for (size_t i = 0; i < n * n_channels; i++) {
            if (kind == 2 && v[i] == 65535)
                v[i] = 0x8000; /* -0, or the least integer */
            keys[i] = type == IH_INT16 ? (uint16_t)(v[i] + 0x8000)
                      : v[i] < 0x8000  ? (uint16_t)(v[i] + 0x8000)
                      : v[i] == 0x8000 ? 0x8000
                                       : (uint16_t)(0xFFFF - v[i]);
        }
        struct plain p = count_plainly(&spec, keys, n);
        p.any_low = p.any_high = p.all_low = p.all_high = 0;
        assert_int_equal(ih_native_begin(&c, &spec, NULL), IH_OK);
        c.has_bits = true;
        ih_native_add(&c, v, n - SECOND - LAST);
        ih_native_add(&c, v + (n - SECOND - LAST) * n_channels, SECOND);
        ih_native_add(&c, v + (n - LAST) * n_channels, LAST); /* too few to be looked at */
        if (n_channels != 2)
            assert_int_equal(c.has_narrow, kind == 3);
        ih_native_end(&c, &h);
        assert_plain(&h, &p, &spec);
    }
    free(v);
    free(keys);
    ih_native_reset(&c);
}

/* The same of further bands, against keys that come from the caller. */
TEST(bands_of_samples_without_keys)
{
    enum { N = 2000, N_CHANNELS = 5 };
    static uint16_t v[N * N_CHANNELS];
    const struct ih_count_spec spec = {{N_CHANNELS, 3, false}, IH_INT16, 65536,
                                       &ih_luma_bt709,         0,        65535};
    struct ih_bands_counter c = {.has_bits = false};
    struct ih_histogram h[2];
    uint64_t random = 4;
    fill(v, N * N_CHANNELS, 65536, 0, &random);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ih_bands_begin(&c, &spec, NULL), IH_OK);
        c.has_bits = i == 0;
        ih_bands_add(&c, v, N);
        ih_bands_end(&c, &h[i]);
        assert_true(h[i].adds_up);
        for (unsigned k = 0; k < N * N_CHANNELS; k++)
            v[k] = (uint16_t)(v[k] + 0x8000);
    }
    const size_t n_planes = N_CHANNELS + 1;
    assert_int_equal(h[0].n_planes, n_planes);
    assert_memory_equal(h[0].bins, h[1].bins, n_planes * 65536 * sizeof *h[0].bins);
    assert_memory_equal(h[0].sums, h[1].sums, n_planes * sizeof *h[0].sums);
    ih_histogram_reset(&h[0]);
    ih_histogram_reset(&h[1]);
    ih_bands_reset(&c);
}

TEST(colour_without_luma)
{
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT16, 65536, &ih_luma_none, 0, 65535};
    const uint16_t v[] = {1, 2, 3};
    struct ih_native_counter c = {.tables = NULL};
    struct ih_histogram h, copy;
    assert_int_equal(ih_native_begin(&c, &spec, NULL), IH_OK);
    ih_native_add(&c, v, 1);
    ih_native_end(&c, &h);
    assert_int_equal(ih_histogram_copy(&copy, &h, NULL), IH_OK);
    ih_histogram_reset(&h);
    assert_null(h.bins);
    assert_int_equal(copy.n_planes, 3);
    assert_false(ih_has_luma(&copy));
    assert_int_equal(ih_bins(&copy, 2)[3], 1);
    copy.adds_up = false;
    assert_true(ih_histogram_consistent(&copy));
    ih_histogram_reset(&copy);
    ih_native_reset(&c);
}

/* Tables that hold almost as many pixels as 32 bits can, and go over 2^8, 2^15 and 2^16 more. */
TEST(counter_over_32_bits)
{
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT16, 1024, &ih_luma_bt709, 0, 1023};
    enum { ROOM = 5, N = 70000, WRAP = 256 };
    const uint64_t n_before = UINT32_MAX - ROOM;
    static uint16_t v[3 * N];
    struct ih_native_counter c = {.tables = NULL};
    struct ih_histogram h;
    for (unsigned i = 0; i < N; i++) {
        v[3 * i] = 7;
        v[3 * i + 1] = v[3 * i + 2] = 1023;
    }
    assert_int_equal(ih_native_begin(&c, &spec, NULL), IH_OK);
    ih_native_add(&c, v, WRAP); /* into the totals */
    for (unsigned i = 0; i < 4; i++) {
        const unsigned plane = i < 3 ? i : IH_LUMA;
        for (unsigned value = 0; value < 1024; value++)
            if (ih_bins(&c.totals, plane)[value]) { /* as if the pixels had come so often */
                ih_bins(&c.totals, plane)[value] = n_before;
                *ih_sum(&c.totals, plane) = value * n_before;
            }
        c.n_counted[i] = n_before;
    }
    c.totals.n_pixels = n_before;
    c.totals.any_high = n_before;
    ih_native_add(&c, v, N);
    ih_native_end(&c, &h);
    assert_true(h.adds_up);
    h.adds_up = false;
    assert_int_equal(h.n_pixels, n_before + N);
    assert_int_equal(ih_bins(&h, 0)[7], n_before + N);
    assert_int_equal(ih_bins(&h, 2)[1023], n_before + N);
    assert_int_equal(h.any_high, n_before + N);
    assert_int_equal(*ih_sum(&h, 1), 1023 * (n_before + N));
    assert_true(ih_histogram_consistent(&h));
    ih_histogram_reset(&h);
    ih_native_reset(&c);
}

/* The counter notices that a pixel is missing. */
TEST(counter_that_lost_a_pixel)
{
    const struct ih_count_spec spec = {IH_LAYOUT(1), IH_UINT16, 65536, &ih_luma_none, 0, 65535};
    const uint16_t v[] = {7, 300, 7};
    struct ih_native_counter c = {.tables = NULL};
    struct ih_histogram h;
    assert_int_equal(ih_native_begin(&c, &spec, NULL), IH_OK);
    ih_native_add(&c, v, 3);
    c.tables[300] = 0;
    ih_native_end(&c, &h);
    assert_false(ih_histogram_consistent(&h));
    ih_histogram_reset(&h);
    ih_native_reset(&c);
}

/* ---- arrays ---- */

static struct ih_counts *count_native(struct ih_context *context, const struct ih_array *array)
{
    struct ih_counts *counts = NULL;
    struct ih_error err;
    assert_int_equal(ih_counts_open(&counts, &err), IH_OK);
    assert_int_equal(ih_count_array(context, array, sizeof *array, counts, &err), IH_OK);
    return counts;
}

static void assert_counts(struct ih_counts *counts, struct plain *p,
                          const struct ih_count_spec *spec)
{
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(ih_counts_n_bins(counts), spec->n_bins);
    assert_int_equal(s.n_pixels, p->n_pixels);
    assert_int_equal(s.clip_low, spec->clip_low);
    assert_int_equal(s.clip_high, spec->clip_high);
    assert_int_equal(s.crushed_any, p->any_low);
    assert_int_equal(s.blown_all, p->all_high);
    for (unsigned c = 0; c < N_ROWS; c++) {
        if (ih_counts_plane(counts, plane_of(c)))
            assert_memory_equal(ih_counts_bins(counts, plane_of(c)), p->bins[c],
                                spec->n_bins * sizeof *p->bins[c]);
        free(p->bins[c]);
    }
    ih_counts_close(counts);
}

/* Large arrays are counted where they are, on all cores; others are copied first. */
TEST(arrays)
{
    enum { WIDTH = 1201, HEIGHT = 1003 };
    const size_t n = (size_t)WIDTH * HEIGHT;
    struct ih_context *context = open_bins(IH_BINS_NATIVE);
    uint16_t *v = malloc(2 * n * IH_PIXEL_CHANNELS_MAX),
             *other = malloc(2 * n * IH_PIXEL_CHANNELS_MAX);
    uint64_t random = 9;
    assert_non_null(v);
    assert_non_null(other);
    for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++) {
        struct ih_count_spec spec = {IH_LAYOUT(n_channels), IH_UINT16, 65536,
                                     &ih_luma_bt709,        0,         65535};
        struct ih_array array = {
            .data = v, .width = WIDTH, .height = HEIGHT, .n_channels = n_channels, .depth = 16};
        fill(v, n * n_channels, 65536, n_channels % 2 ? 0 : 2, &random);
        struct plain p = count_plainly(&spec, v, n);
        assert_counts(count_native(context, &array), &p, &spec);

        /* Planes, mirrored. */
        for (size_t i = 0; i < n; i++)
            for (unsigned c = 0; c < n_channels; c++)
                other[c * n + i] = v[i * n_channels + c];
        array.has_strides = 1;
        array.data = other + WIDTH - 1;
        array.row_stride_bytes = 2 * WIDTH;
        array.pixel_stride_bytes = -2;
        array.channel_stride_bytes = (ptrdiff_t)(2 * n);
        p = count_plainly(&spec, v, n);
        assert_counts(count_native(context, &array), &p, &spec);

        /* A range: values are clamped to it, and alpha is scaled to its bins. */
        array.range_low = 100;
        array.range_high = 4095;
        spec.clip_high = 4095;
        spec.n_bins = 4096;
        for (size_t i = 0; i < n * n_channels; i++)
            other[i] = v[i] > 4095 ? 4095 : v[i] < 100 ? 100 : v[i];
        for (size_t i = n_channels - 1; i < n * n_channels && n_channels % 2 == 0; i += n_channels)
            other[i] = (uint16_t)(((uint64_t)v[i] * 4095 * 2 + 65535) / (2 * 65535));
        array.data = v;
        array.has_strides = 0;
        p = count_plainly(&spec, other, n);
        assert_counts(count_native(context, &array), &p, &spec);
        if (n_channels < 3)
            continue;
        array.order = IH_ORDER_BGR;
        array.range_low = array.range_high = 0;
        spec.clip_high = 65535;
        spec.n_bins = 65536;
        for (size_t i = 0; i < n * n_channels; i++) {
            const size_t c = i % n_channels;
            other[i] = v[c < 3 ? i - c + 2 - c : i];
        }
        p = count_plainly(&spec, other, n);
        assert_counts(count_native(context, &array), &p, &spec);
    }
    free(v);
    free(other);
    ih_context_close(context);
}

/* Pixels with alpha 0 are not counted; a range of 8 bits or fewer is reduced; limits that the
 * values do not reach are refused. */
TEST(special_arrays)
{
    const uint16_t v[] = {5, 0, 7, 1, 65535, 256, 3, 0};
    const struct ih_array array = {
        .data = v, .width = 4, .height = 1, .n_channels = 2, .depth = 16};
    struct ih_array narrow = array, bytes = array;
    struct ih_settings settings = {
        .device = "cpu", .bins = IH_BINS_NATIVE, .alpha = "skip-transparent"};
    struct ih_context *context = NULL;
    struct ih_counts *counts = NULL;
    struct ih_error err;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    counts = count_native(context, &array);
    assert_int_equal(summary_of(counts).n_pixels, 2);
    assert_int_equal(ih_counts_bins(counts, 0)[7], 1);
    assert_int_equal(ih_counts_bins(counts, 0)[65535], 1);
    ih_counts_close(counts);
    narrow.range_high = 255;
    counts = count_native(context, &narrow);
    assert_int_equal(ih_counts_n_bins(counts), IH_BINS);
    ih_context_close(context);

    settings.clip_low = 10;
    settings.clip_high = 300;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    bytes.depth = 8;
    assert_int_equal(ih_count_array(context, &bytes, sizeof bytes, counts, &err), IH_UNSUPPORTED);
    assert_string_equal(err.message,
                        "its largest value is 255, but the clip limits are 10 and 300");
    ih_counts_close(counts);
    ih_context_close(context);

    settings = (struct ih_settings){.bins = 512};
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_USAGE);
    settings = (struct ih_settings){.bins = IH_BINS_NATIVE, .clip_high = 65536};
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_USAGE);
}

/* Counts of other bins are not added, and nothing changes. */
TEST(other_bins_are_not_added)
{
    static const char *const pgms[] = {"P5 2 1 4095\n\1\2\3\4", "P5 2 1 65535\n\1\2\3\4",
                                       "P5 2 1 255\n\1\2"};
    struct ih_context *context = open_bins(IH_BINS_NATIVE);
    struct ih_counts *counts[3], *sum = NULL;
    struct ih_error err;
    assert_int_equal(ih_counts_open(&sum, &err), IH_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ih_counts_open(&counts[i], &err), IH_OK);
        assert_int_equal(ih_count_memory(context, pgms[i], i < 2 ? i + 16 : 13, counts[i], &err),
                         IH_OK);
    }
    assert_int_equal(ih_counts_n_bins(sum), IH_BINS);
    for (unsigned n = 1; n <= 3; n++) {
        assert_int_equal(ih_counts_add(sum, counts[0], &err), IH_OK);
        assert_int_equal(ih_counts_bins(sum, IH_LUMA)[0x304], n);
        for (unsigned i = 1; i < 3; i++) {
            assert_int_equal(ih_counts_add(sum, counts[i], &err), IH_USAGE);
            assert_non_null(strstr(err.message, "the first has 4096 bins"));
            assert_int_equal(ih_counts_n_bins(sum), 4096);
        }
        assert_int_equal(summary_of(sum).n_images, n);
    }
    ih_context_close(context); /* counts may outlive it */
    for (unsigned i = 0; i < 3; i++)
        ih_counts_close(counts[i]);
    assert_int_equal(ih_counts_bins(sum, 0)[0x102], 3);
    ih_counts_close(sum);
}
