/* ih_record_read and ih_record_write. The lines are written by hand from imghist-formats(5). */
#include "tests/support/library_data.h"

/* In a line, @0:1,10:2@ stands for 256 bins: 1 pixel of value 0 and 2 of value 10. */

/* Pixels 0, 10, 10, 255 of a gray PNG with an ICC profile, counted with bt601, limits 5 and 250. */
#define GRAY "@0:1,10:2,255:1@"
#define CLIP "\"clip\":{\"crushed_any\":1,\"blown_any\":1,\"crushed_all\":1,\"blown_all\":1}"
static const char image[] =
    "{\"schema\":\"imghist/2\",\"version\":\"0.1.0\",\"file\":\"a.png\",\"status\":\"ok\","
    "\"format\":\"png\",\"library\":\"libpng 1.6.39\",\"width\":2,\"height\":2,\"pixels\":4,"
    "\"frames\":3,\"source_depth\":8,\"range\":\"full\",\"reduction\":\"round(v*255/max)\","
    "\"luma_weights\":\"bt601\",\"alpha\":\"count\",\"clip_limits\":{\"low\":5,\"high\":250},"
    "\"not_applied\":[\"icc_profile\"],\"channels\":[{\"name\":\"gray\",\"histogram\":" GRAY "},"
    "{\"name\":\"luma\",\"histogram\":" GRAY "}],\"mean_luma\":68.75,\"mean_luminance\":0.251518,"
    "\"srgb\":true," CLIP "}\n";

static const char no_luma[] =
    "{\"schema\":\"imghist/2\",\"version\":\"0.1.0\",\"file\":\"a.png\",\"status\":\"ok\","
    "\"format\":\"png\",\"library\":\"libpng 1.6.39\",\"width\":2,\"height\":2,\"pixels\":4,"
    "\"source_depth\":8,\"reduction\":\"round(v*255/max)\",\"luma_weights\":\"none\","
    "\"alpha\":\"count\",\"clip_limits\":{\"low\":5,\"high\":250},\"not_applied\":[],"
    "\"channels\":[{\"name\":\"gray\",\"histogram\":" GRAY "}],\"mean_luminance\":0.251518," CLIP
    "}\n";

/* The same gray, of 12-bit samples, of a region with a mask. */
static const char part[] =
    "{\"schema\":\"imghist/2\",\"version\":\"0.1.0\",\"file\":\"a.png\",\"status\":\"ok\","
    "\"format\":\"png\",\"library\":\"libpng 1.6.39\",\"width\":3,\"height\":2,\"pixels\":4,"
    "\"source_depth\":16,\"source_min\":64,\"source_max\":940,"
    "\"reduction\":\"round((v-64)*255/876)\",\"luma_weights\":\"bt709\",\"alpha\":\"count\","
    "\"region\":\"2x2+1+0\",\"mask\":\"masks/a.png\",\"mask_hash\":\"00000000000000ff\","
    "\"clip_limits\":{\"low\":0,\"high\":255},\"not_applied\":[],"
    "\"channels\":[{\"name\":\"gray\",\"histogram\":" GRAY "},"
    "{\"name\":\"luma\",\"histogram\":" GRAY
    "}],\"mean_luma\":68.75,\"mean_luminance\":0.251518," CLIP "}\n";

/* The sum of an RGBA image, 10 20 30 with alpha 5, and of a gray one, 255, in the group "b". */
static const char sum[] =
    "{\"schema\":\"imghist/2\",\"version\":null,\"file\":\"b\",\"total\":true,\"status\":\"ok\","
    "\"n_images\":2,\"n_failed\":1,\"group\":\"b\",\"format\":null,\"library\":null,"
    "\"width\":null,\"height\":null,\"pixels\":2,\"source_depth\":null,"
    "\"reduction\":\"round(v*255/max)\",\"luma_weights\":\"bt709\",\"alpha\":\"skip-transparent\","
    "\"clip_limits\":{\"low\":0,\"high\":255},\"not_applied\":[\"orientation\"],"
    "\"channels\":[{\"name\":\"red\",\"histogram\":@10:1,255:1@},"
    "{\"name\":\"green\",\"histogram\":@20:1,255:1@},{\"name\":\"blue\",\"histogram\":@30:1,255:1@}"
    ","
    "{\"name\":\"alpha\",\"histogram\":@5:1@},{\"name\":\"luma\",\"histogram\":@19:1,255:1@}],"
    "\"mean_luma\":137,\"mean_luminance\":0.503293,\"srgb\":true,"
    "\"clip\":{\"crushed_any\":0,\"blown_any\":1,\"crushed_all\":0,\"blown_all\":1}}\n";

/* Pixels 0, 1, 1, 4000, 4095 of a gray PGM of 12 bits. */
#define RANGES "[[0,1,2],[4000,1],[4095,1]]"
static const char native[] =
    "{\"schema\":\"imghist/2\",\"version\":\"0.1.0\",\"file\":\"a.pgm\",\"status\":\"ok\","
    "\"format\":\"pnm\",\"library\":\"imghist 0.1.0\",\"width\":5,\"height\":1,\"pixels\":5,"
    "\"source_depth\":12,\"source_min\":0,\"source_max\":4095,\"bins\":4096,"
    "\"reduction\":\"none\",\"luma_weights\":\"bt709\",\"alpha\":\"count\","
    "\"clip_limits\":{\"low\":0,\"high\":4095},\"not_applied\":[],"
    "\"channels\":[{\"name\":\"gray\",\"ranges\":" RANGES "},"
    "{\"name\":\"luma\",\"ranges\":" RANGES
    "}],\"mean_luma\":1619.4,\"mean_luminance\":0.389615," CLIP "}\n";

static const char *const lines[] = {image, no_luma, part, sum, native};
enum { N_LINES = sizeof lines / sizeof *lines };

struct line {
    char *p; /* owned */
    size_t n;
};

static void put_bins(FILE *f, const char *pairs)
{
    unsigned bins[256] = {0}, value, count;
    int n;
    for (; sscanf(pairs, "%u:%u%n", &value, &count, &n) == 2; pairs += n + (pairs[n] == ','))
        bins[value] = count;
    for (unsigned v = 0; v < 256; v++)
        fprintf(f, "%c%u", v ? ',' : '[', bins[v]);
    putc(']', f);
}

static struct line make_line(const char *text)
{
    struct line line = {NULL, 0};
    FILE *f = open_memstream(&line.p, &line.n);
    assert_non_null(f);
    while (*text) {
        if (*text != '@') {
            putc(*text++, f);
            continue;
        }
        put_bins(f, text + 1);
        text = strchr(text + 1, '@') + 1;
    }
    fclose(f);
    return line;
}

/* From a copy that ends with its last byte, for the address sanitizer. */
static enum ih_status read_bytes(struct ih_counts *counts, const void *bytes, size_t n,
                                 struct ih_error *err)
{
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    const enum ih_status status = ih_record_read(counts, copy, n, err);
    free(copy);
    if (status != IH_OK)
        assert_int_equal(summary_of(counts).n_images, 0);
    return status;
}

static enum ih_status read_text(struct ih_counts *counts, const char *text, struct ih_error *err)
{
    struct line line = make_line(text);
    const enum ih_status status = read_bytes(counts, line.p, line.n, err);
    free(line.p);
    return status;
}

static struct ih_counts *counts_of(const char *text)
{
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    if (read_text(counts, text, &err) != IH_OK)
        fail_msg("%s", err.message);
    return counts;
}

static struct line write_line(const struct ih_counts *counts)
{
    struct line line;
    assert_int_equal(ih_record_write(counts, NULL, 0, &line.p, &line.n, NULL), IH_OK);
    return line;
}

static void assert_same(const struct ih_counts *a, const struct ih_counts *b)
{
    struct line x = write_line(a), y = write_line(b);
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.p, y.p, x.n);
    free(x.p);
    free(y.p);
}

/* The counts after another way through a line. */
static struct ih_counts *again(const struct ih_counts *counts)
{
    struct ih_counts *loaded = open_counts();
    struct line line = write_line(counts);
    assert_int_equal(read_bytes(loaded, line.p, line.n, NULL), IH_OK);
    free(line.p);
    assert_same(loaded, counts);
    return loaded;
}

/* Replaces counts by those of another way through a line. */
static struct ih_counts *through_line(struct ih_counts *counts)
{
    struct ih_counts *loaded = again(counts);
    ih_counts_close(counts);
    return loaded;
}

/* ---- what a line says ---- */

TEST(image)
{
    struct ih_counts *counts = counts_of(image);
    struct ih_stats stats;
    for (unsigned i = 0; i < 2; i++) {
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
        assert_int_equal(s.blown_all, 1);
        assert_int_equal(ih_counts_stats(counts, IH_LUMA, &stats, sizeof stats, NULL), IH_OK);
        assert_int_equal(stats.sum, 275);
        assert_int_equal(stats.crushed, 1);
        assert_int_equal(ih_counts_bins(counts, 0)[10], 2);
        counts = through_line(counts);
    }
    ih_counts_close(counts);
}

TEST(image_without_luma)
{
    struct ih_counts *counts = through_line(counts_of(no_luma)), *other = counts_of(image);
    struct ih_error err = {0};
    assert_string_equal(summary_of(counts).luma, "none");
    assert_null(ih_counts_plane(counts, IH_LUMA));
    assert_null(ih_counts_bins(counts, IH_LUMA));
    assert_int_equal(ih_counts_bins(counts, 0)[10], 2);
    assert_int_equal(ih_counts_add(other, counts, &err), IH_USAGE);
    assert_string_equal(err.message, "counted with luma weights none; the others have bt601");
    assert_int_equal(ih_counts_add(counts, counts, &err), IH_OK);
    assert_null(ih_counts_plane(counts, IH_LUMA));
    assert_int_equal(ih_counts_bins(counts, 0)[10], 4);
    ih_counts_close(other);
    ih_counts_close(counts);
}

/* The name of a group is not kept, as the path of an image is not. */
TEST(sum)
{
    struct ih_counts *counts = counts_of(sum);
    struct line line = write_line(counts);
    line.p[line.n - 1] = '\0';
    assert_non_null(strstr(line.p, "\"file\":\"(total)\""));
    assert_null(strstr(line.p, "\"group\""));
    free(line.p);
    counts = through_line(counts);
    const struct ih_summary s = summary_of(counts);
    assert_int_equal(s.n_images, 2);
    assert_int_equal(s.n_failed, 1);
    assert_int_equal(s.n_pixels, 2);
    assert_int_equal(s.n_channels, 4);
    assert_int_equal(s.not_applied, IH_NOT_APPLIED_ORIENTATION);
    assert_string_equal(s.alpha, "skip-transparent");
    assert_string_equal(s.version, "");
    assert_int_equal(ih_counts_bins(counts, 3)[5], 1);
    assert_int_equal(ih_counts_bins(counts, 3)[255], 0);
    ih_counts_close(counts);
}

/* A total of failures alone has counts; counts that are empty have no record. */
TEST(no_images)
{
    struct ih_counts *counts = open_counts();
    struct line line;
    struct ih_error err;
    assert_int_equal(ih_record_write(counts, NULL, 0, &line.p, &line.n, &err), IH_USAGE);
    assert_int_equal(ih_counts_set_failures(counts, 3, NULL), IH_OK);
    counts = through_line(counts);
    assert_int_equal(summary_of(counts).n_images, 0);
    assert_int_equal(summary_of(counts).n_failed, 3);
    struct ih_counts *other = counts_of(sum);
    assert_int_equal(ih_counts_add(other, counts, NULL), IH_OK);
    assert_int_equal(summary_of(other).n_images, 2);
    assert_int_equal(summary_of(other).n_failed, 4);
    ih_counts_close(other);
    ih_counts_close(counts);
}

/* A range of samples, a region and a mask. */
TEST(part)
{
    struct ih_counts *counts = through_line(counts_of(part)), *two = open_counts();
    struct ih_error err;
    const struct ih_summary s = summary_of(counts);
    assert_string_equal(s.reduction, "round((v-64)*255/876)");
    assert_string_equal(s.region, "2x2+1+0");
    assert_string_equal(s.mask, "masks/a.png");
    assert_int_equal(s.source_min, 64);
    assert_int_equal(s.source_max, 940);
    assert_int_equal(ih_counts_add(two, counts, &err), IH_OK);
    assert_same(two, counts);
    ih_counts_close(counts);
    assert_int_equal(ih_counts_add(two, two, &err), IH_OK);
    two = through_line(two);
    assert_string_equal(summary_of(two).reduction, "round((v-64)*255/876)");
    assert_string_equal(summary_of(two).region, "2x2+1+0");
    assert_int_equal(summary_of(two).n_pixels, 8);
    ih_counts_close(two);
}

/* The same counts come from the PGM itself. */
TEST(native)
{
    static const char pgm[] = "P5 5 1 4095\n\0\0\0\1\0\1\x0F\xA0\x0F\xFF";
    const struct ih_settings settings = {.device = "cpu", .bins = IH_BINS_NATIVE};
    struct ih_counts *counts = through_line(counts_of(native)), *counted = open_counts();
    struct ih_context *context = NULL;
    struct ih_stats stats;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, NULL), IH_OK);
    assert_int_equal(ih_count_memory(context, pgm, sizeof pgm - 1, counted, NULL), IH_OK);
    assert_int_equal(ih_counts_n_bins(counts), 4096);
    assert_int_equal(ih_counts_bins(counts, 0)[4000], 1);
    assert_int_equal(ih_counts_stats(counts, IH_LUMA, &stats, sizeof stats, NULL), IH_OK);
    assert_int_equal(stats.sum, 0 + 1 + 1 + 4000 + 4095);
    assert_memory_equal(ih_counts_bins(counts, 0), ih_counts_bins(counted, 0), 4096 * 8);
    assert_memory_equal(ih_counts_bins(counts, IH_LUMA), ih_counts_bins(counted, 0), 4096 * 8);
    assert_int_equal(ih_counts_add(counted, counts, NULL), IH_OK);
    counted = through_line(counted);
    assert_int_equal(ih_counts_bins(counted, 0)[1], 4);
    assert_int_equal(summary_of(counted).n_images, 2);
    ih_context_close(context);
    ih_counts_close(counted);
    ih_counts_close(counts);
}

/* ---- sums ---- */

static struct ih_counts *count(struct ih_context *context, const char *pnm, size_t n)
{
    struct ih_counts *counts = open_counts();
    assert_int_equal(ih_count_memory(context, pnm, n, counts, NULL), IH_OK);
    return counts;
}

/* Sums of counts that were read, in any grouping, are the sum of the counts themselves. */
TEST(sums_of_records)
{
    static const char gray[] = "P5\n2 1\n255\n\0\377", colour[] = "P6\n1 1\n255\n\1\2\3";
    static const char alpha[] = "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nENDHDR\n\7\0\377\11";
    struct ih_context *context = open_cpu();
    struct ih_counts *counts[] = {count(context, gray, sizeof gray - 1),
                                  count(context, colour, sizeof colour - 1),
                                  count(context, alpha, sizeof alpha - 1)};
    struct ih_counts *all = open_counts();
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ih_counts_add(all, counts[i], NULL), IH_OK);
    for (unsigned first = 0; first < 3; first++) {
        struct ih_counts *two = open_counts(), *three = open_counts();
        for (unsigned i = 0; i < 3; i++) { /* each through a line; the first two through a sum */
            struct ih_counts *loaded = again(counts[(first + i) % 3]);
            assert_int_equal(ih_counts_add(i < 2 ? two : three, loaded, NULL), IH_OK);
            ih_counts_close(loaded);
        }
        two = through_line(two);
        assert_int_equal(ih_counts_add(three, two, NULL), IH_OK);
        assert_int_equal(summary_of(three).n_images, 3);
        ih_counts_close(two);
        assert_same(three, all);
        ih_counts_close(three);
    }
    for (unsigned i = 0; i < 3; i++)
        ih_counts_close(counts[i]);
    ih_counts_close(all);
    ih_context_close(context);
}

/* Replaces the first occurrence of a text by another. */
static char *with(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    char *out = malloc(strlen(text) + strlen(new) + 1);
    assert_non_null(at);
    assert_non_null(out);
    sprintf(out, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return out;
}

/* Sums of different measurements are refused, by the name of the difference. */
TEST(other_measurements_are_not_added)
{
    static const struct {
        const char *old, *new, *reason;
    } cases[] = {{"bt709", "bt601", "luma weights"},
                 {"{\"low\":0", "{\"low\":1", "clip limits"},
                 {"\"alpha\":\"count\"", "\"alpha\":\"skip-transparent\"", "alpha"},
                 {"2x2+1+0", "2x2+0+0", "region"},
                 {"masks/a", "Masks/a", "mask"},
                 {"0000ff", "0000fe", "mask"},
                 {"(v-64)*255/876", "(v-63)*255/877", "reduced"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = with(part, cases[i].old, cases[i].new);
        struct ih_counts *counts = counts_of(part), *other = counts_of(text);
        struct ih_counts *before = again(counts);
        struct ih_error err;
        assert_int_equal(ih_counts_add(counts, other, &err), IH_USAGE);
        if (!strstr(err.message, cases[i].reason))
            fail_msg("case %zu: %s", i, err.message);
        assert_same(counts, before);
        ih_counts_close(before);
        ih_counts_close(counts);
        ih_counts_close(other);
        free(text);
    }
}

/* ---- damage ---- */

/* The line feed is not needed. */
TEST(every_truncation_is_refused)
{
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    for (unsigned i = 0; i < N_LINES; i++) {
        struct line line = make_line(lines[i]);
        for (size_t n = 0; n < line.n - 1; n++) {
            const enum ih_status status = read_bytes(counts, line.p, n, &err);
            if (status != IH_CORRUPT &&
                (status != IH_UNKNOWN || n > strlen("{\"schema\":\"imghist/2\"")))
                fail_msg("line %u: %zu of %zu bytes: %s", i, n, line.n, err.message);
        }
        assert_int_equal(read_bytes(counts, line.p, line.n - 1, &err), IH_OK);
        free(line.p);
    }
    assert_int_equal(ih_record_read(counts, NULL, 0, &err), IH_UNKNOWN);
    ih_counts_close(counts);
}

/* Whatever a byte becomes, the line is refused, or its counts can be used. */
TEST(changed_bytes)
{
    static const char bytes[] = "\0\n\"\\,:{}[]0199-.enx\x80\xff";
    struct ih_counts *counts = open_counts();
    for (unsigned i = 0; i < N_LINES; i++) {
        struct line line = make_line(lines[i]);
        for (size_t at = 0; at < line.n; at++) {
            const char before = line.p[at];
            line.p[at] = bytes[(at + i) % (sizeof bytes - 1)];
            if (read_bytes(counts, line.p, line.n, NULL) == IH_OK)
                ih_counts_close(again(counts));
            line.p[at] = before;
        }
        free(line.p);
    }
    ih_counts_close(counts);
}

TEST(what_is_not_one_record)
{
    static const char failure[] = "{\"schema\":\"imghist/2\",\"version\":\"0.1.0\",\"file\":\"a\","
                                  "\"status\":\"error\",\"error\":\"no image\"}\n";
    static const char end[] = "{\"schema\":\"imghist/2\",\"shard\":\"1/2\","
                              "\"run\":\"00000000000000ff\",\"status\":\"end\",\"records\":0}\n";
    static const struct {
        const char *text;
        enum ih_status status;
    } cases[] = {{"", IH_UNKNOWN},   {"\n", IH_UNKNOWN},       {"x", IH_UNKNOWN},
                 {"{}", IH_UNKNOWN}, {"ihcounts", IH_UNKNOWN}, {failure, IH_USAGE},
                 {end, IH_USAGE},    {"[1]", IH_UNKNOWN},      {"null", IH_UNKNOWN}};
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (read_text(counts, cases[i].text, &err) != cases[i].status)
            fail_msg("case %zu: %s", i, err.message);
    char *twice = with(image, "}\n", "}\nx");
    assert_int_equal(read_text(counts, twice, &err), IH_CORRUPT);
    free(twice);
    struct line line = make_line(image);
    char *two = malloc(2 * line.n);
    assert_non_null(two);
    memcpy(two, line.p, line.n);
    memcpy(two + line.n, line.p, line.n);
    assert_int_equal(read_bytes(counts, two, 2 * line.n, &err), IH_CORRUPT);
    assert_string_equal(err.message, "more than one record");
    free(two);
    free(line.p);
    ih_counts_close(counts);
}

TEST(contradictions)
{
    static const struct {
        const char *text, *old, *new;
    } cases[] = {
        {image, "imghist/2", "imghist/9"},
        {image, "\"gray\"", "\"red\""},                     /* no image has this channel */
        {image, "\"luma\"", "\"alpha\""},                   /* luma is missing */
        {image, "\"low\":5", "\"low\":251"},                /* above high */
        {image, "icc_profile", "rotation"},                 /* not known */
        {image, "@0:1,", "@1:1,"},                          /* gray and luma differ */
        {image, "[\"icc_profile\"],\"channels\"", "[]"},    /* not JSON */
        {image, "\"reduction\"", "\"x\""},                  /* missing */
        {image, ":2,255:1", ":2,255:18446744073709551615"}, /* digits that no count has */
        {native, "4096", "4095"},                           /* values beyond the bins */
        {native, "[0,1,2]", "[0,1,2,3,4],[4,1]"},           /* ranges overlap */
        {part, "2x2", "2?2"},
        {part, "255/876", "255/0"},
    };
    struct ih_counts *counts = open_counts();
    struct ih_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = with(cases[i].text, cases[i].old, cases[i].new);
        if (read_text(counts, text, &err) != IH_CORRUPT)
            fail_msg("case %zu", i);
        free(text);
    }
    ih_counts_close(counts);
}
