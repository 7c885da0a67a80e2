/* Saved counts. The files in tests/saved come from make.py there, which follows the layout without
 * imghist. */
#include "tests/support/library_data.h"

#include "histogram/result.h"

struct bytes {
    uint8_t p[IH_SAVED_BYTES_MAX];
    size_t n;
};

static struct bytes read_saved(const char *name)
{
    char path[400];
    struct bytes b;
    snprintf(path, sizeof path, "%s/saved/%s.ihcounts", getenv("TESTS") ? getenv("TESTS") : "tests",
             name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    b.n = fread(b.p, 1, sizeof b.p, f);
    fclose(f);
    return b;
}

/* From a copy that ends with its last byte, for the address sanitizer. */
static enum ih_status load(struct ih_counts *counts, const void *bytes, size_t n,
                           struct ih_error *err)
{
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    const enum ih_status status = ih_counts_load(counts, copy, n, err);
    free(copy);
    if (status != IH_OK)
        assert_int_equal(summary_of(counts).n_images, 0);
    return status;
}

static void assert_saves_as(const struct ih_counts *counts, const struct bytes *expected)
{
    struct bytes b;
    b.n = ih_counts_save(counts, b.p, sizeof b.p);
    assert_int_equal(b.n, expected->n);
    assert_memory_equal(b.p, expected->p, b.n);
}

/* Makes the size and the checksum right again: FNV-1a, as in make.py. */
static void mend(struct bytes *b)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (unsigned i = 0; i < 4; i++)
        b->p[12 + i] = (uint8_t)(b->n >> 8 * i);
    for (size_t i = 0; i < b->n - 8; i++)
        sum = (sum ^ b->p[i]) * UINT64_C(0x100000001b3);
    for (unsigned i = 0; i < 8; i++)
        b->p[b->n - 8 + i] = (uint8_t)(sum >> 8 * i);
}

/* ---- what is saved ---- */

TEST(image)
{
    const struct bytes saved = read_saved("image");
    struct ih_counts *counts = open_counts();
    struct ih_stats stats;
    assert_int_equal(load(counts, saved.p, saved.n, NULL), IH_OK);
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.n_images, 1);
    assert_int_equal(s.n_pixels, 4);
    assert_int_equal(s.width, 2);
    assert_int_equal(s.height, 2);
    assert_int_equal(s.n_channels, 1);
    assert_int_equal(s.source_depth, 8);
    assert_int_equal(s.clip_low, 5);
    assert_int_equal(s.clip_high, 250);
    assert_int_equal(s.n_frames, 3);
    assert_int_equal(s.not_applied, IH_NOT_APPLIED_ICC_PROFILE);
    assert_string_equal(s.format, "png");
    assert_string_equal(s.decoder, "libpng 1.6.39");
    assert_string_equal(s.version, "0.1.0");
    assert_string_equal(s.luma, "bt601");
    assert_string_equal(s.alpha, "count");
    assert_string_equal(s.range, "full");
    assert_string_equal(s.reduction, "round(v*255/max)");
    assert_int_equal(ih_counts_stats(counts, IH_LUMA, &stats, sizeof stats, NULL), IH_OK);
    assert_int_equal(stats.sum, 275);
    assert_int_equal(stats.crushed, 1);
    assert_int_equal(ih_counts_bins(counts, 0)[10], 2);
    assert_saves_as(counts, &saved);
    ih_counts_close(counts);
}

TEST(image_without_luma)
{
    const struct bytes saved = read_saved("no_luma"), with = read_saved("image");
    struct ih_counts *counts = open_counts(), *other = open_counts();
    struct ih_error err = {0};
    assert_int_equal(load(counts, saved.p, saved.n, NULL), IH_OK);
    assert_string_equal(summary_of(counts).luma, "none");
    assert_null(ih_counts_plane(counts, IH_LUMA));
    assert_null(ih_counts_bins(counts, IH_LUMA));
    assert_int_equal(ih_counts_bins(counts, 0)[10], 2);
    assert_saves_as(counts, &saved);
    assert_int_equal(load(other, with.p, with.n, NULL), IH_OK);
    assert_int_equal(ih_counts_add(other, counts, &err), IH_USAGE);
    assert_string_equal(err.message, "counted with luma weights none; the others have bt601");
    assert_int_equal(ih_counts_add(counts, counts, &err), IH_OK);
    assert_null(ih_counts_plane(counts, IH_LUMA));
    assert_int_equal(ih_counts_bins(counts, 0)[10], 4);
    ih_counts_close(other);
    ih_counts_close(counts);
}

TEST(sum)
{
    const struct bytes saved = read_saved("sum");
    struct ih_counts *counts = open_counts();
    assert_int_equal(load(counts, saved.p, saved.n, NULL), IH_OK);
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.n_images, 2);
    assert_int_equal(s.n_pixels, 2);
    assert_int_equal(s.n_channels, 4);
    assert_int_equal(s.not_applied, IH_NOT_APPLIED_ORIENTATION);
    assert_string_equal(s.alpha, "skip-transparent");
    assert_string_equal(s.version, "");
    assert_int_equal(ih_counts_bins(counts, 3)[5], 1);
    assert_int_equal(ih_counts_bins(counts, 3)[255], 0);
    assert_saves_as(counts, &saved);
    ih_counts_close(counts);
}

TEST(empty)
{
    const struct bytes saved = read_saved("empty");
    struct ih_counts *counts = open_counts();
    assert_saves_as(counts, &saved);
    assert_int_equal(load(counts, saved.p, saved.n, NULL), IH_OK);
    assert_int_equal(summary_of(counts).n_images, 0);
    ih_counts_close(counts);
}

/* A range of samples, a region and a mask. */
TEST(part)
{
    const struct bytes saved = read_saved("part");
    struct ih_counts *counts = open_counts(), *sum = open_counts(), *other = open_counts();
    struct ih_error err;
    assert_int_equal(load(counts, saved.p, saved.n, NULL), IH_OK);
    const struct ih_summary s = summary_of(counts);
    assert_string_equal(s.reduction, "round((v-64)*255/876)");
    assert_int_equal(s.not_applied, 0);
    assert_int_equal(s.source_min, 64);
    assert_int_equal(s.source_max, 940);
    assert_saves_as(counts, &saved);
    assert_int_equal(ih_counts_add(sum, counts, &err), IH_OK);
    ih_counts_close(counts);
    assert_saves_as(sum, &saved);
    assert_int_equal(ih_counts_add(sum, sum, &err), IH_OK);
    assert_string_equal(summary_of(sum).reduction, "round((v-64)*255/876)");
    struct bytes twice = {.n = ih_counts_save(sum, twice.p, sizeof twice.p)};
    assert_int_equal(load(other, twice.p, twice.n, NULL), IH_OK);
    ih_counts_close(sum);
    assert_saves_as(other, &twice);
    assert_int_equal(summary_of(other).n_pixels, 8);
    ih_counts_close(other);
}

/* The same bytes as make.py, from the PGM itself; damage in the runs. */
TEST(native)
{
    static const char pgm[] = "P5 5 1 4095\n\0\0\0\1\0\1\x0F\xA0\x0F\xFF";
    enum { RUNS_AT = 112 + 8, FIRST_RUN = RUNS_AT + 4 };
    const struct ih_settings settings = {.device = "cpu", .bins = IH_BINS_NATIVE};
    const struct bytes saved = read_saved("native");
    struct ih_counts *counts = open_counts(), *sum = open_counts();
    struct ih_context *context = NULL;
    struct ih_stats stats;
    struct ih_error err;
    assert_int_equal(load(counts, saved.p, saved.n, &err), IH_OK);
    assert_saves_as(counts, &saved);
    assert_int_equal(ih_counts_n_bins(counts), 4096);
    assert_int_equal(ih_counts_bins(counts, 0)[4000], 1);
    assert_int_equal(ih_counts_stats(counts, IH_LUMA, &stats, sizeof stats, NULL), IH_OK);
    assert_int_equal(stats.sum, 0 + 1 + 1 + 4000 + 4095);
    assert_int_equal(ih_counts_add(sum, counts, &err), IH_OK);
    assert_int_equal(ih_counts_add(sum, counts, &err), IH_OK);
    assert_int_equal(ih_counts_bins(sum, 0)[1], 4);

    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    assert_int_equal(ih_count_memory(context, pgm, sizeof pgm - 1, counts, &err), IH_OK);
    assert_saves_as(counts, &saved);
    ih_context_close(context);

    const struct {
        size_t at;
        uint8_t value;
    } damage[] = {{113, 1}, {113, 0},           {114, 1},       {RUNS_AT, 1},       {RUNS_AT, 4},
                  {16, 0},  {FIRST_RUN + 4, 3}, {FIRST_RUN, 5}, {FIRST_RUN + 8, 0}, {20, 1}};
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct bytes damaged = saved;
        damaged.p[damage[i].at] = damage[i].value;
        mend(&damaged);
        assert_int_equal(load(counts, damaged.p, damaged.n, &err), IH_CORRUPT);
    }
    ih_counts_close(counts);
    ih_counts_close(sum);
}

TEST(other_versions)
{
    struct bytes saved = read_saved("image");
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    for (uint8_t version = 1; version <= 4; version += 3) {
        saved.p[8] = version;
        mend(&saved);
        assert_int_equal(load(counts, saved.p, saved.n, &err), IH_UNSUPPORTED);
        assert_non_null(strstr(err.message, version == 1 ? "version 1" : "version 4"));
    }
    ih_counts_close(counts);
}

/* ---- counted here ---- */

static struct ih_counts *count(struct ih_context *context, const char *pnm, size_t n)
{
    struct ih_counts *counts = open_counts();
    assert_int_equal(ih_count_memory(context, pnm, n, counts, NULL), IH_OK);
    return counts;
}

/* Sums of loaded counts, in any grouping, are the sum of the counts themselves. */
TEST(sums_of_loaded_counts)
{
    static const char gray[] = "P5\n2 1\n255\n\0\377", colour[] = "P6\n1 1\n255\n\1\2\3";
    static const char alpha[] = "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nENDHDR\n\7\0\377\11";
    const struct ih_settings cpu = {.device = "cpu"};
    struct ih_context *context = NULL;
    assert_int_equal(ih_context_open(&cpu, sizeof cpu, &context, NULL), IH_OK);
    struct ih_counts *counts[] = {count(context, gray, sizeof gray - 1),
                                  count(context, colour, sizeof colour - 1),
                                  count(context, alpha, sizeof alpha - 1)};
    struct ih_counts *all = open_counts();
    struct bytes b, expected;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ih_counts_add(all, counts[i], NULL), IH_OK);
    expected.n = ih_counts_save(all, expected.p, sizeof expected.p);
    for (unsigned first = 0; first < 3; first++) {
        struct ih_counts *part = open_counts(), *sum = open_counts();
        for (unsigned i = 0; i < 3; i++) { /* each through bytes; the first two through a sum */
            struct ih_counts *loaded = open_counts();
            b.n = ih_counts_save(counts[(first + i) % 3], b.p, sizeof b.p);
            assert_int_equal(load(loaded, b.p, b.n, NULL), IH_OK);
            assert_saves_as(loaded, &b);
            assert_int_equal(ih_counts_add(i < 2 ? part : sum, loaded, NULL), IH_OK);
            ih_counts_close(loaded);
        }
        b.n = ih_counts_save(part, b.p, sizeof b.p);
        ih_counts_close(part);
        part = open_counts();
        assert_int_equal(load(part, b.p, b.n, NULL), IH_OK);
        assert_int_equal(ih_counts_add(sum, part, NULL), IH_OK);
        assert_int_equal(summary_of(sum).n_images, 3);
        ih_counts_close(part);
        assert_saves_as(sum, &expected);
        ih_counts_close(sum);
    }
    for (unsigned i = 0; i < 3; i++)
        ih_counts_close(counts[i]);
    ih_counts_close(all);
    ih_context_close(context);
}

/* Sums of different measurements are refused, by the name of the difference. */
TEST(other_measurements_are_not_added)
{
    const struct bytes saved = read_saved("part");
    const size_t text = saved.n - 8 - 8 - 4 - 12 - 8; /* the region's: length, 7 bytes */
    const struct {
        size_t at;
        uint8_t value;
        const char *reason;
    } cases[] = {{18, 1, "luma weights"},   {20, 1, "clip limits"},  {19, 1, "alpha"},
                 {text + 5, '0', "region"}, {text + 9, 'M', "mask"}, {saved.n - 20, 63, "reduced"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ih_counts *counts = open_counts(), *other = open_counts();
        struct bytes b = saved;
        struct ih_error err;
        b.p[cases[i].at] = cases[i].value;
        mend(&b);
        assert_int_equal(load(counts, saved.p, saved.n, NULL), IH_OK);
        assert_int_equal(load(other, b.p, b.n, NULL), IH_OK);
        assert_int_equal(ih_counts_add(counts, other, &err), IH_USAGE);
        if (!strstr(err.message, cases[i].reason))
            fail_msg("case %zu: %s", i, err.message);
        assert_saves_as(counts, &saved);
        ih_counts_close(counts);
        ih_counts_close(other);
    }
}

/* ---- damage ---- */

TEST(damaged_bytes)
{
    struct ih_counts *counts = open_counts();
    struct bytes b = read_saved("sum");
    struct ih_error err;
    for (size_t n = 0; n < b.n; n += n < 200 ? 1 : 97)
        assert_int_equal(load(counts, b.p, n, &err), IH_CORRUPT);
    for (size_t i = 0; i < b.n; i += i < 200 ? 1 : 31) {
        b.p[i] ^= 1;
        const enum ih_status status = load(counts, b.p, b.n, &err);
        if (status != IH_CORRUPT && (status != IH_UNSUPPORTED || i / 4 != 2))
            fail_msg("byte %zu: %d", i, (int)status);
        b.p[i] ^= 1;
    }
    assert_int_equal(ih_counts_load(counts, NULL, 0, &err), IH_CORRUPT);
    ih_counts_close(counts);
}

/* A right checksum does not make wrong counts right. */
TEST(contradictions)
{
    const struct bytes part = read_saved("part");
    const size_t text = part.n - 8 - 8 - 4 - 12 - 8; /* the region's: length, 7 bytes */
    const struct {
        const char *name;
        size_t at;
        uint8_t value;
        const char *reason;
    } cases[] = {
        {"image", 16, 3, "field without a meaning"},         /* kind */
        {"image", 17, 5, "field without a meaning"},         /* channels */
        {"image", 17, 0, "field without a meaning"},         /* bytes are left over */
        {"image", 18, 2, "field without a meaning"},         /* luma weights */
        {"image", 20, 251, "clip limits"},                   /* low above high */
        {"image", 22, 1, "field without a meaning"},         /* reduction */
        {"image", 32, 16, "field without a meaning"},        /* not_applied */
        {"image", 40, 3, "width and height"},                /* width */
        {"image", 56, 2, "field without a meaning"},         /* n_images of an image */
        {"image", 72, 5, "number of pixels"},                /* n_pixels */
        {"image", 80, 0, "clip counts"},                     /* any_low */
        {"image", 104, 2, "clip counts"},                    /* all_high */
        {"image", 112 + 8, 1, "number of pixels"},           /* a bin of gray */
        {"image", 112 + 7, 128, "number of pixels"},         /* more than sums can hold */
        {"part", text + 2, '?', "field without a meaning"},  /* a region */
        {"part", text + 5, '2', "width and height"},         /* beyond the image */
        {"part", part.n - 19, 4, "field without a meaning"}, /* the range and the extremes */
        {"part", part.n - 15, 4, "field without a meaning"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = read_saved(cases[i].name);
        struct ih_counts *counts = open_counts();
        struct ih_error err;
        b.p[cases[i].at] = cases[i].value;
        mend(&b);
        assert_int_equal(load(counts, b.p, b.n, &err), IH_CORRUPT);
        if (!strstr(err.message, cases[i].reason))
            fail_msg("case %zu: %s", i, err.message);
        ih_counts_close(counts);
    }
}

/* The needed size is returned, and too small a buffer is left alone. */
TEST(size_of_the_buffer)
{
    const struct bytes saved = read_saved("image");
    struct ih_counts *counts = open_counts();
    uint8_t *small = malloc(saved.n - 1);
    assert_non_null(small);
    memset(small, 7, saved.n - 1);
    assert_int_equal(load(counts, saved.p, saved.n, NULL), IH_OK);
    assert_int_equal(ih_counts_save(counts, NULL, 0), saved.n);
    assert_int_equal(ih_counts_save(counts, small, saved.n - 1), saved.n);
    for (size_t i = 0; i < saved.n - 1; i++)
        assert_int_equal(small[i], 7);
    free(small);
    ih_counts_close(counts);
}
