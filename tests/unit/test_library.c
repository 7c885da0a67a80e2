/* libimghist through imghist.h: settings, files, memory, sums, and struct sizes. */
#include "tests/support/library_data.h"
#include <jpeglib.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

/* Opening a context with these settings fails with this status and a message with `reason`. */
static void assert_refused(struct ih_settings settings, enum ih_status status, const char *reason)
{
    struct ih_context *context = NULL;
    struct ih_error err = {0};
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), status);
    assert_int_equal(err.status, status);
    assert_non_null(strstr(err.message, reason));
    assert_null(context);
}

TEST(invalid_settings)
{
    assert_refused((struct ih_settings){.device = "gpu"}, IH_USAGE, "device: 'gpu' is");
    assert_refused((struct ih_settings){.device = "cpu:0"}, IH_USAGE, "device: 'cpu:0' is");
    assert_refused((struct ih_settings){.device = "cuda:"}, IH_USAGE, "device: 'cuda:' is");
    assert_refused((struct ih_settings){.device = "cuda:1x"}, IH_USAGE, "device: 'cuda:1x' is");
    assert_refused((struct ih_settings){.device = "cuda:0,"}, IH_USAGE, "device: '");
    assert_refused((struct ih_settings){.device = "cuda:1,1"}, IH_USAGE, "device: '");
    assert_refused((struct ih_settings){.kernel = "best"}, IH_USAGE, "no kernel 'best'");
    assert_refused((struct ih_settings){.luma = "bt2020"}, IH_USAGE, "'bt2020' is not one of");
    assert_refused((struct ih_settings){.clip_low = 5, .clip_high = 5}, IH_USAGE, "clip");
    assert_refused((struct ih_settings){.clip_low = 255}, IH_USAGE, "clip");
    assert_refused((struct ih_settings){.clip_high = 256}, IH_USAGE, "clip");
    assert_refused((struct ih_settings){.raw_channels = 5}, IH_USAGE, "raw_channels");
    assert_refused((struct ih_settings){.alpha = "skip"}, IH_USAGE, "alpha: 'skip' is");
    assert_refused((struct ih_settings){.lenient = 2}, IH_USAGE, "lenient: must be 0 or 1");
    assert_refused((struct ih_settings){.axes = "WH"}, IH_USAGE, "axes: 'WH' is not one of");
    assert_refused((struct ih_settings){.raw_preview = 2}, IH_USAGE, "raw_preview: must be 0 or 1");
    assert_refused((struct ih_settings){.raw_sensor = 2}, IH_USAGE, "raw_sensor: must be 0 or 1");
    assert_refused((struct ih_settings){.raw_preview = 1, .raw_sensor = 1}, IH_USAGE,
                   "raw_sensor: not with raw_preview");
    assert_refused((struct ih_settings){.luma = "a\nb\33"}, IH_USAGE, "luma: 'a?b?' is not");
    assert_refused((struct ih_settings){.device = "c\n"}, IH_USAGE, "device: 'c?' is");
}

/* Older programs have a shorter struct, newer ones a longer one. */
TEST(settings_of_other_versions)
{
    struct {
        struct ih_settings known;
        uint64_t unknown;
    } newer = {.known = {.device = "cpu"}};
    struct ih_context *context = NULL;
    struct ih_error err;
    assert_int_equal(ih_context_open(&newer.known, sizeof newer, &context, &err), IH_OK);
    ih_context_close(context);
    newer.unknown = 1;
    context = NULL;
    assert_int_equal(ih_context_open(&newer.known, sizeof newer, &context, &err), IH_USAGE);
    assert_null(context);

    struct ih_settings older = {.device = "cpu", .luma = "no such", .alpha = "nor this"};
    /* the library reads only the device */
    assert_int_equal(ih_context_open(&older, sizeof older.device, &context, &err), IH_OK);
    assert_string_equal(ih_context_device(context), "cpu");
    ih_context_close(context);
}

TEST(defaults)
{
    struct ih_context *context = NULL;
    struct ih_error err;
    sigset_t blocked;
    assert_int_equal(ih_context_open(NULL, 0, &context, &err), IH_OK);
    assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &blocked), 0); /* unchanged */
    assert_false(sigismember(&blocked, SIGINT) || sigismember(&blocked, SIGTERM));
    assert_int_equal(ih_context_wait(context, &err), IH_OK);
    assert_non_null(ih_context_device(context));
    ih_context_close(context);
    ih_context_close(NULL);
    ih_counts_close(NULL);
    ih_pending_close(NULL);
    assert_string_equal(ih_version(), IH_VERSION);
    for (int s = IH_OK; s <= IH_CONFLICT; s++) {
        assert_string_not_equal(ih_status_text((enum ih_status)s), "unknown status");
        assert_true(strlen(ih_status_text((enum ih_status)s)) > 0);
    }
    assert_string_equal(ih_status_text((enum ih_status)99), "unknown status");
}

TEST(file_and_memory)
{
    char path[] = "/tmp/imghist-test-XXXXXX";
    uint8_t *bytes;
    struct expected e;
    const size_t size = make_pnm(701, 499, 3, 7, &bytes, &e);
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    assert_int_equal(ih_count_file(context, path, counts, &err), IH_OK);
    unlink(path);
    assert_expected(counts, &e, 3);
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.n_images, 1);
    assert_int_equal(s.width, 701);
    assert_int_equal(s.height, 499);
    assert_int_equal(s.source_depth, 8);
    assert_string_equal(s.format, "pnm");
    assert_string_equal(s.luma, "bt709");
    assert_string_equal(s.kernel, "tables");
    assert_true(strlen(s.decoder) > 0);
    assert_true(s.mean_luminance > 0 && s.mean_luminance < 1);

    ih_counts_clear(counts);
    assert_int_equal(ih_count_memory(context, bytes, size, counts, &err), IH_OK);
    assert_expected(counts, &e, 3);

    /* A failed call leaves counts empty. err may be NULL. */
    assert_int_equal(ih_count_memory(context, bytes, size - 1, counts, &err), IH_CORRUPT);
    assert_int_equal(summary_of(counts).n_images, 0);
    assert_null(ih_counts_bins(counts, IH_LUMA));
    assert_int_equal(ih_count_memory(context, "GIF87", 5, counts, NULL), IH_UNKNOWN);
    assert_int_equal(ih_count_memory(context, NULL, 0, counts, &err), IH_UNKNOWN);
    assert_int_equal(ih_count_file(context, "/nowhere/at all", counts, &err), IH_IO);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(ih_count_file(context, "/", counts, &err), IH_IO);
    assert_int_equal(ih_count_memory(context, bytes, size, counts, &err), IH_OK); /* still works */
    ih_context_close(context);
    assert_expected(counts, &e, 3); /* counts outlive the context */
    assert_string_equal(summary_of(counts).kernel, "tables");
    free(bytes);
    ih_counts_close(counts);
}

/* Makes a JPEG of 3 x 1 pixels. It is progressive, so it is held in memory. The caller frees it. */
static unsigned long make_progressive(unsigned char **bytes)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned long n_bytes = 0;
    JSAMPLE row[] = {1, 2, 3};
    JSAMPROW rows[] = {row};
    *bytes = NULL;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, bytes, &n_bytes);
    c.image_width = 3;
    c.image_height = 1;
    c.input_components = 1;
    c.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    jpeg_write_scanlines(&c, rows, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return n_bytes;
}

/* A copy with 16 bytes inserted before the last marker of this code. */
static uint8_t *with_extra_bytes(const uint8_t *bytes, size_t n_bytes, uint8_t code)
{
    size_t at = n_bytes - 2;
    uint8_t *copy = malloc(n_bytes + 16);
    assert_non_null(copy);
    while (bytes[at] != 0xFF || bytes[at + 1] != code)
        at--;
    memcpy(copy, bytes, at);
    memset(copy + at, 0x55, 16);
    memcpy(copy + at + 16, bytes + at, n_bytes - at);
    return copy;
}

TEST(lenient)
{
    unsigned char *sound;
    const unsigned long n = make_progressive(&sound);
    uint8_t *at_end = with_extra_bytes(sound, n, 0xD9), *at_scan = with_extra_bytes(sound, n, 0xDA);
    struct ih_counts *counts = open_counts(), *expected = open_counts(), *sum = open_counts();
    struct ih_error err;
    for (unsigned is_lenient = 0; is_lenient < 2; is_lenient++) {
        const struct ih_settings settings = {.device = "cpu", .lenient = is_lenient};
        struct ih_context *context = NULL;
        assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
        assert_int_equal(ih_count_memory(context, sound, n, expected, &err), IH_OK);
        assert_int_equal(summary_of(expected).warnings, 0);
        assert_int_equal(ih_count_memory(context, at_end, n + 16, counts, &err), IH_OK);
        assert_int_equal(summary_of(counts).warnings, IH_WARNING_END_BYTES);
        assert_int_equal(ih_counts_add(sum, counts, &err), IH_OK);
        assert_int_equal(summary_of(sum).warnings, is_lenient ? 0 : IH_WARNING_END_BYTES);
        const enum ih_status status = ih_count_memory(context, at_scan, n + 16, counts, &err);
        if (is_lenient) {
            assert_int_equal(status, IH_OK);
            assert_int_equal(summary_of(counts).warnings, IH_WARNING_DATA_BYTES);
            assert_memory_equal(ih_counts_bins(counts, 0), ih_counts_bins(expected, 0),
                                IH_BINS * sizeof(uint64_t));
        } else {
            assert_int_equal(status, IH_CORRUPT);
            assert_int_equal(err.limit, IH_LIMIT_LENIENT);
            assert_non_null(strstr(err.message, " (lenient)"));
        }
        ih_context_close(context);
    }
    for (unsigned w = IH_WARNING_HEADER_BYTES; w <= IH_WARNING_PROGRESSION; w *= 2)
        assert_string_not_equal(ih_warning_text((enum ih_warning)w), "unknown warning");
    assert_string_equal(ih_warning_text((enum ih_warning)1000), "unknown warning");
    free(at_end);
    free(at_scan);
    free(sound);
    ih_counts_close(counts);
    ih_counts_close(expected);
    ih_counts_close(sum);
}

TEST(settings_are_used)
{
    const struct ih_settings settings = {.device = "cpu",
                                         .kernel = "reference",
                                         .luma = "bt601",
                                         .clip_low = 10,
                                         .clip_high = 200,
                                         .max_pixels = 3,
                                         .max_memory = 1,
                                         .raw_channels = 3};
    static const uint8_t raw[] = {10, 200, 11, 0, 255, 199, 9, 9, 9};
    struct ih_settings by_content = settings;
    struct ih_context *context = NULL;
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    assert_int_equal(ih_count_memory(context, raw, sizeof raw, counts, &err), IH_OK);
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.n_pixels, 3);
    assert_string_equal(s.kernel, "reference");
    assert_string_equal(s.luma, "bt601");
    assert_int_equal(s.clip_low, 10);
    assert_int_equal(s.clip_high, 200);
    assert_int_equal(s.crushed_any, 3);
    assert_int_equal(s.crushed_all, 1);
    assert_int_equal(s.blown_any, 2);
    assert_int_equal(
        ih_counts_bins(counts, IH_LUMA)[(19595u * 10 + 38470u * 200 + 7471u * 11 + 32768u) >> 16],
        1);
    static const uint8_t four[12];
    assert_int_equal(ih_count_memory(context, four, sizeof four, counts, &err), IH_LIMIT);
    assert_int_equal(err.limit, IH_LIMIT_MAX_PIXELS);
    assert_int_equal(err.limit_value, 3);
    assert_string_equal(err.message, "image too large: 4 pixels, the limit is 3 (max_pixels)");
    ih_context_close(context);

    unsigned char *jpeg;
    const unsigned long jpeg_bytes = make_progressive(&jpeg);
    by_content.raw_channels = 0;
    assert_int_equal(ih_context_open(&by_content, sizeof by_content, &context, &err), IH_OK);
    assert_int_equal(ih_count_memory(context, jpeg, jpeg_bytes, counts, &err), IH_LIMIT);
    assert_int_equal(err.limit, IH_LIMIT_MAX_MEMORY);
    assert_int_equal(err.limit_value, 1);
    assert_non_null(strstr(err.message, "the limit is 1 bytes (max_memory)"));
    ih_context_close(context);
    by_content.max_memory = 1 << 20;
    assert_int_equal(ih_context_open(&by_content, sizeof by_content, &context, &err), IH_OK);
    assert_int_equal(ih_count_memory(context, jpeg, jpeg_bytes, counts, &err), IH_OK);
    assert_int_equal(summary_of(counts).n_pixels, 3);
    free(jpeg);
    ih_context_close(context);
    ih_counts_close(counts);
}

/* The first and the last pixel are transparent. They are counted in no plane, for a file and for
 * pixels in host memory with 4 or 2 channels and gaps between rows. */
TEST(skip_transparent)
{
    static const char pam[] = "P7\nWIDTH 2\nHEIGHT 2\nDEPTH 4\nMAXVAL 255\nENDHDR\n"
                              "\377\377\377\0\377\0\0\1\0\2\0\377\7\7\7\0";
    static const uint8_t gray_alpha[] = {9, 0, 10, 1, 77, 11, 255, 9, 0, 77};
    const struct ih_pixels rgba = {pam + sizeof pam - 1 - 16, 2, 2, 0, 4};
    const struct ih_pixels pairs = {gray_alpha, 2, 2, 5, 2};
    const struct ih_pixels rgb = {gray_alpha, 3, 1, 0, 3};
    const struct ih_settings skipping = {.device = "cpu", .alpha = "skip-transparent"};
    const struct ih_settings counting = {.device = "cpu", .alpha = "count"};
    struct ih_context *context = NULL, *other = NULL;
    struct ih_counts *counts = open_counts(), *all = open_counts();
    struct ih_error err;
    assert_int_equal(ih_context_open(&skipping, sizeof skipping, &context, &err), IH_OK);
    assert_int_equal(ih_context_open(&counting, sizeof counting, &other, &err), IH_OK);
    for (unsigned i = 0; i < 2; i++) {
        if (i == 0)
            assert_int_equal(ih_count_memory(context, pam, sizeof pam - 1, counts, &err), IH_OK);
        else
            assert_int_equal(ih_count_pixels(context, &rgba, counts, &err), IH_OK);
        const struct ih_summary s = summary_of(counts);
        assert_string_equal(s.alpha, "skip-transparent");
        assert_int_equal(s.width * s.height, 4);
        assert_int_equal(s.n_pixels, 2);
        assert_int_equal(s.blown_all, 0);
        assert_int_equal(ih_counts_bins(counts, 0)[255], 1);
        assert_int_equal(ih_counts_bins(counts, 0)[7], 0);
        assert_int_equal(ih_counts_bins(counts, 1)[2], 1);
        assert_int_equal(ih_counts_bins(counts, 3)[0], 0);
        assert_int_equal(ih_counts_bins(counts, 3)[1], 1);
    }
    assert_int_equal(ih_count_pixels(context, &pairs, counts, &err), IH_OK);
    assert_int_equal(summary_of(counts).n_pixels, 2);
    assert_int_equal(ih_counts_bins(counts, IH_LUMA)[10], 1);
    assert_int_equal(ih_counts_bins(counts, IH_LUMA)[11], 1);
    const struct ih_pixels hidden = {gray_alpha, 1, 1, 0, 2};
    assert_int_equal(ih_count_pixels(context, &hidden, counts, &err), IH_OK); /* no pixel left */
    assert_int_equal(summary_of(counts).n_pixels, 0);
    assert_int_equal(ih_count_pixels(context, &rgb, counts, &err),
                     IH_OK); /* no alpha: all counted */
    assert_int_equal(summary_of(counts).n_pixels, 3);

    assert_int_equal(ih_count_pixels(other, &rgba, all, &err), IH_OK);
    assert_int_equal(summary_of(all).n_pixels, 4);
    assert_string_equal(summary_of(all).alpha, "count");
    assert_int_equal(ih_counts_add(all, counts, &err), IH_USAGE);
    assert_int_equal(summary_of(all).n_pixels, 4);
    ih_counts_close(counts);
    ih_counts_close(all);
    ih_context_close(context);
    ih_context_close(other);
}

/* Counts with different settings cannot be added. */
TEST(incompatible_sums)
{
    static const struct ih_settings others[] = {{.device = "cpu", .clip_low = 1},
                                                {.device = "cpu", .clip_high = 254},
                                                {.device = "cpu", .luma = "bt601"},
                                                {.device = "cpu", .alpha = "skip-transparent"}};
    static const uint8_t some[12];
    const struct ih_pixels pixels = {some, 2, 2, 0, 3};
    struct ih_context *context = open_cpu();
    struct ih_counts *image = open_counts(), *sum = open_counts(), *other_image = open_counts();
    struct ih_error err;
    assert_int_equal(ih_count_pixels(context, &pixels, image, &err), IH_OK);
    for (int n = 0; n < 2; n++)
        assert_int_equal(ih_counts_add(sum, image, &err), IH_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct ih_context *other = NULL;
        assert_int_equal(ih_context_open(&others[i], sizeof others[i], &other, &err), IH_OK);
        assert_int_equal(ih_count_pixels(other, &pixels, other_image, &err), IH_OK);
        assert_int_equal(ih_counts_add(image, other_image, &err), IH_USAGE);
        assert_int_equal(ih_counts_add(sum, other_image, &err), IH_USAGE);
        assert_int_equal(summary_of(image).n_pixels, 4);
        assert_int_equal(summary_of(sum).n_pixels, 8);
        assert_int_equal(ih_counts_bins(sum, 0)[0], 8);
        ih_context_close(other);
    }
    ih_counts_close(image);
    ih_counts_close(sum);
    ih_counts_close(other_image);
    ih_context_close(context);
}

/* Sums of parts equal the sum of all. With colour images gray counts as R = G = B. */
TEST(sums)
{
    enum { N = 4 };
    struct ih_context *context = open_cpu();
    struct ih_counts *parts[N], *left = open_counts(), *right = open_counts(), *all = open_counts();
    struct ih_error err;
    struct expected sum = {.n_pixels = 0};
    for (unsigned i = 0; i < N; i++) {
        uint8_t *bytes;
        struct expected e;
        const unsigned n_channels = i % 2 ? 3 : 1;
        const size_t size = make_pnm(10 + i, 7, n_channels, i, &bytes, &e);
        parts[i] = open_counts();
        assert_int_equal(ih_count_memory(context, bytes, size, parts[i], &err), IH_OK);
        free(bytes);
        sum.n_pixels += e.n_pixels;
        sum.any_low += e.any_low;
        sum.any_high += e.any_high;
        sum.all_low += e.all_low;
        sum.all_high += e.all_high;
        for (unsigned v = 0; v < IH_BINS; v++) {
            for (unsigned c = 0; c < 3; c++)
                sum.bins[c][v] += e.bins[n_channels == 1 ? 0 : c][v];
            sum.bins[LUMA_ROW][v] += e.bins[LUMA_ROW][v];
        }
        assert_int_equal(ih_counts_add(all, parts[i], &err), IH_OK);
        assert_int_equal(ih_counts_add(i < N / 2 ? left : right, parts[i], &err), IH_OK);
    }
    assert_expected(all, &sum, 3);
    assert_int_equal(ih_counts_add(right, left, &err), IH_OK);
    assert_expected(right, &sum, 3);
    const struct ih_summary s = summary_of(right);
    assert_int_equal(s.n_images, N);
    assert_int_equal(s.width, 0);
    assert_string_equal(s.format, "");
    assert_int_equal(ih_counts_add(right, parts[0], &err), IH_OK); /* continues */
    assert_int_equal(summary_of(right).n_images, N + 1);
    ih_counts_clear(left);
    assert_int_equal(ih_counts_add(all, left, &err), IH_OK); /* adds nothing */
    assert_expected(all, &sum, 3);
    assert_int_equal(ih_counts_add(parts[1], parts[1], &err), IH_OK); /* adds itself */
    assert_int_equal(summary_of(parts[1]).n_pixels, 2 * 11 * 7);
    for (unsigned i = 0; i < N; i++)
        ih_counts_close(parts[i]);
    ih_counts_close(left);
    ih_counts_close(right);
    ih_counts_close(all);
    ih_context_close(context);
}

TEST(stats_and_struct_sizes)
{
    struct {
        struct ih_stats known;
        uint64_t unknown;
    } newer = {.unknown = 1};
    struct ih_context *context = open_cpu();
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    assert_int_equal(ih_counts_stats(counts, 0, &newer.known, sizeof newer, &err), IH_USAGE);
    assert_int_equal(summary_of(counts).n_images, 0);
    assert_true(isnan(summary_of(counts).mean_luminance));

    assert_int_equal(ih_count_memory(context, "P5 4 1 255 \0\0\2\377", 15, counts, &err), IH_OK);
    assert_int_equal(ih_counts_stats(counts, 0, &newer.known, sizeof newer, &err), IH_OK);
    assert_int_equal(newer.unknown, 0);
    assert_int_equal(newer.known.count, 4);
    assert_int_equal(newer.known.sum, 257);
    assert_int_equal(newer.known.min, 0);
    assert_int_equal(newer.known.max, 255);
    assert_int_equal(newer.known.percentile[3], 0);
    assert_int_equal(newer.known.crushed, 2);
    assert_int_equal(newer.known.blown, 1);
    assert_true(newer.known.mean == 64.25);
    assert_true(newer.known.entropy == 1.5);
    assert_int_equal(newer.known.distinct, 3);

    double value = 7;
    assert_int_equal(ih_counts_percentile(counts, 0, 50000000, &value, &err), IH_OK);
    assert_int_equal(value, 0);
    assert_int_equal(ih_counts_percentile(counts, IH_LUMA, 50000001, &value, &err), IH_OK);
    assert_int_equal(value, 2);
    assert_int_equal(ih_counts_percentile(counts, 0, 100000001, &value, &err), IH_USAGE);
    assert_int_equal(ih_counts_percentile(counts, 1, 50000000, &value, &err), IH_USAGE);
    assert_int_equal(value, 2);

    assert_true(ih_counts_fingerprint(counts) != 0); /* select.bats knows its value */
    struct ih_value field;
    assert_int_equal(ih_counts_field(counts, "luma.mean", 0, &field, sizeof field, &err), IH_OK);
    assert_int_equal(field.type, IH_TYPE_REAL);
    assert_true(field.real == 64.25);
    assert_int_equal(ih_counts_field(counts, "pixels", 0, &field, sizeof field, &err), IH_OK);
    assert_int_equal(field.type, IH_TYPE_INTEGER);
    assert_int_equal(field.integer, 4);
    assert_int_equal(ih_counts_field(counts, "red.mean", 0, &field, sizeof field, &err), IH_OK);
    assert_int_equal(field.type, IH_TYPE_NONE);
    assert_int_equal(ih_counts_field(counts, "pixls", 0, &field, sizeof field, &err), IH_USAGE);
    assert_int_equal(ih_counts_field(counts, "pixels", -1, &field, sizeof field, &err), IH_USAGE);
    struct ih_counts *nothing;
    assert_int_equal(ih_counts_open(&nothing, &err), IH_OK);
    assert_true(ih_counts_fingerprint(nothing) == 0);
    ih_counts_close(nothing);

    struct ih_stats older = {.sum = 77}; /* writes only the fields that the caller knows */
    assert_int_equal(ih_counts_stats(counts, IH_LUMA, &older, sizeof older.count, &err), IH_OK);
    assert_int_equal(older.count, 4);
    assert_int_equal(older.sum, 77);
    assert_int_equal(ih_counts_stats(counts, 1, &older, sizeof older, &err), IH_USAGE);
    assert_null(ih_counts_plane(counts, 1));
    assert_string_equal(ih_counts_plane(counts, 0), "gray");
    assert_null(ih_counts_bins(counts, 1000));
    ih_counts_close(counts);
    ih_context_close(context);
}
