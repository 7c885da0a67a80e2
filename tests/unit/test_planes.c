/*
 * Counting from Y, Cb and Cr, with every instruction set of this CPU: the counts equal those of the
 * RGB of the pixel-by-pixel conversion, with any layout, size, stripes, bytes between rows, and
 * folds.
 */
#include "tests/support/test.h"

#include "count/count.h"
#include "tests/support/planes_picture.h"

/* ---- pictures ---- */

static unsigned sample_noise(unsigned plane, uint32_t x, uint32_t y, unsigned before,
                             uint32_t random)
{
    return random >> 8;
}

/* Like photographs: neighbours are similar, and most count as pairs. */
static unsigned sample_soft(unsigned plane, uint32_t x, uint32_t y, unsigned before,
                            uint32_t random)
{
    if (x == 0)
        return 128 + y * 5 + plane * 30;
    return before + random % (plane == 0 ? 9 : 3) - (plane == 0 ? 4 : 1);
}

/* Values where the conversion clamps or changes its rounding. */
static unsigned sample_ends(unsigned plane, uint32_t x, uint32_t y, unsigned before,
                            uint32_t random)
{
    static const uint8_t ends[8] = {0, 1, 127, 128, 129, 254, 255, 255};
    return ends[random >> 29];
}

/* Long runs of one colour, whose ends differ between planes. */
static unsigned sample_flat(unsigned plane, uint32_t x, uint32_t y, unsigned before,
                            uint32_t random)
{
    return random % (97 + 40 * plane) == 0 ? random >> 16 : before;
}

static sample_function *const samples[] = {sample_noise, sample_soft, sample_ends, sample_flat};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

static const struct layout {
    unsigned h, v;
    uint32_t width_least;
} layouts[] = {{1, 1, 1}, {2, 1, 5}, {2, 2, 5}};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

static const struct ih_count_spec specs[] = {
    {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255},
    {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt601, 10, 240},
    {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 127, 128},
    {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt601, 254, 255},
    {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 1},
};
enum { N_SPECS = sizeof specs / sizeof specs[0] };

/* ---- counting ---- */

/* Both are the same if only one of them takes planes. */
enum { N_LOOPS = 2 };
static const struct ih_count_vectors *vectors_of(unsigned i)
{
    return i == 0 && ih_count_vectors_base->ycc ? ih_count_vectors_base : ih_count_vectors_best();
}

static bool takes_planes(void)
{
    return ih_counter_takes_planes(&ih_count_tables);
}

/* Skips the test if this CPU takes no planes. */
static struct ih_counter *make_planes_counter(void)
{
    if (!takes_planes())
        skip("this CPU counts no planes");
    return make_counter();
}

/* How a picture is counted. */
struct way {
    uint32_t stripe_rows; /* of every third stripe; the others have 1 and 2 */
    uint64_t fold_pixels;
    bool has_pairs; /* from the first pixel on */
};

static void add_stripes(struct ih_counter *counter, const struct planes_picture *p,
                        uint32_t stripe_rows)
{
    const uint32_t height = p->image.height;
    for (uint32_t row = 0, i = 0, n; row < height; row += n, i++) {
        const size_t gap_bytes = i * 7 % 40;
        n = i % 3 == 0 ? stripe_rows : i % 3;
        if (n > height - row)
            n = height - row;
        uint8_t *buffer = malloc(stripe_bytes(p, row, n, gap_bytes));
        assert_non_null(buffer);
        const struct ih_planes stripe = put_stripe(p, row, n, gap_bytes, buffer);
        ih_counter_add_planes(counter, &stripe);
        free(buffer);
    }
}

static void check(struct ih_counter *counter, const struct planes_picture *p,
                  const struct ih_count_spec *spec, const struct way *way)
{
    struct ih_histogram expected, got;
    count_with(&ih_count_reference, spec, p->rgb, (size_t)p->image.width * p->image.height,
               &expected);
    for (unsigned k = 0; k < N_LOOPS; k++) {
        begin(counter, &ih_count_tables, spec);
        counter->vectors = vectors_of(k);
        counter->fold_pixels = way->fold_pixels;
        if (way->has_pairs)
            counter->pairs_from_pixels = 0;
        add_stripes(counter, p, way->stripe_rows);
        assert_true(counter->n_unfolded <= way->fold_pixels);
        if (way->fold_pixels == UINT32_MAX) /* pixels in the chunk take no room in the tables */
            assert_int_equal(counter->n_unfolded + counter->n_chunk, expected.n_pixels);
        ih_counter_end(counter, &got);
        assert_same(&expected, &got);
    }
    ih_histogram_reset(&expected);
}

static void check_size(struct ih_counter *counter, const struct layout *l, uint32_t width,
                       uint32_t height, uint64_t fold_pixels)
{
    const uint32_t i = width * 5 + height;
    struct planes_picture p = make_picture(l->h, l->v, width, height, samples[i % N_SAMPLES]);
    const struct way way = {1 + i % 17, fold_pixels, i % 3 > 0};
    check(counter, &p, &specs[i / 3 % N_SPECS], &way);
    free_picture(&p);
}

TEST(sizes)
{
    struct ih_counter *counter = make_planes_counter();
    for (unsigned k = 0; k < N_LAYOUTS; k++) {
        for (uint32_t width = layouts[k].width_least; width <= 100; width++)
            for (uint32_t height = 1; height <= 40; height += 1 + (height + width) % 7)
                check_size(counter, &layouts[k], width, height, UINT32_MAX);
        for (uint32_t height = 1; height <= 40; height++)
            for (uint32_t width = 15; width <= 18; width++)
                check_size(counter, &layouts[k], width, height, UINT32_MAX);
    }
    free_counter(counter);
}

/* Rows about as long as a chunk, and longer: the place where a row is cut does not matter. */
TEST(long_rows)
{
    static const uint32_t widths[] = {2039, 2040, 2041, 4047, 4048, 4049, 4077,
                                      4078, 4079, 4080, 4081, 4082, 4083, 4111,
                                      4112, 8159, 8160, 8161, 8192, 8193, 12241};
    struct ih_counter *counter = make_planes_counter();
    for (unsigned i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        for (unsigned k = 0; k < N_LAYOUTS; k++) {
            const struct layout *l = &layouts[k];
            struct planes_picture p =
                make_picture(l->h, l->v, widths[i], 3 + i % 2, samples[(i + k) % N_SAMPLES]);
            const struct way way = {1 + i % 3, UINT32_MAX, true};
            check(counter, &p, &specs[i % N_SPECS], &way);
            free_picture(&p);
        }
    }
    free_counter(counter);
}

/* Every colour: for each Cr all Cb and Y in one image, so that errors of two Cr cannot cancel, then
 * the same for each Cb. */
TEST(every_colour)
{
    enum { N = IH_BINS * IH_BINS };
    static uint8_t planes[3][N], rgb[3 * N];
    struct ih_counter *counter = make_planes_counter();
    for (unsigned i = 0; i < 2 * IH_BINS; i++) {
        const unsigned fixed = 1 + i / IH_BINS, other = 3 - fixed;
        struct ih_histogram expected, got;
        for (unsigned k = 0; k < N; k++) {
            uint32_t colours[3];
            planes[0][k] = (uint8_t)(k % IH_BINS);
            planes[fixed][k] = (uint8_t)i;
            planes[other][k] = (uint8_t)(k / IH_BINS);
            ih_ycc_colours((uint32_t)planes[0][k] << 16, planes[1][k], planes[2][k], &colours[0],
                           &colours[1], &colours[2]);
            for (unsigned c = 0; c < 3; c++)
                rgb[3 * k + c] = (uint8_t)(colours[c] >> 16);
        }
        const struct ih_planes all = {.planes = {planes[0], planes[1], planes[2]},
                                      .pitch_bytes = {IH_BINS, IH_BINS, IH_BINS},
                                      .chroma_h = 1,
                                      .chroma_v = 1,
                                      .width = IH_BINS,
                                      .n_rows = IH_BINS,
                                      .height = IH_BINS,
                                      .n_chroma_rows = IH_BINS};
        const struct ih_count_spec *spec = &specs[i % N_SPECS];
        count_with(&ih_count_reference, spec, rgb, N, &expected);
        for (unsigned k = 0; k < N_LOOPS; k++) {
            begin(counter, &ih_count_tables, spec);
            counter->vectors = vectors_of(k);
            ih_counter_add_planes(counter, &all);
            ih_counter_end(counter, &got);
            assert_same(&expected, &got);
        }
        ih_histogram_reset(&expected);
    }
    free_counter(counter);
}

/* The real limit: more pixels arrive when nearly 2^32 - 1 black ones are counted. */
TEST(full_tables)
{
    static uint8_t planes[3][100];
    const struct ih_planes black = {.planes = {planes[0], planes[1], planes[2]},
                                    .pitch_bytes = {10, 10, 10},
                                    .chroma_h = 1,
                                    .chroma_v = 1,
                                    .width = 10,
                                    .n_rows = 10,
                                    .height = 10,
                                    .n_chroma_rows = 10};
    if (!takes_planes())
        skip("this CPU counts no planes");
    memset(planes[1], 128, sizeof planes[1]);
    memset(planes[2], 128, sizeof planes[2]);
    for (unsigned k = 0; k < N_LOOPS; k++) {
        struct ih_counter *counter = make_counter();
        struct ih_histogram got;
        begin(counter, &ih_count_tables, &specs[0]);
        assert_int_equal(counter->fold_pixels, UINT32_MAX);
        counter->vectors = vectors_of(k);
        ih_count_clear(counter);
        /* Pretend that the first table of each plane has counted these. */
        const uint32_t n_before = UINT32_MAX - 130;
        for (unsigned c = 0; c < 3; c++)
            counter->subtables[c * ih_count_subtables_each(3)][0] = n_before;
        counter->luma[0][0] = n_before;
        counter->totals.any_low = counter->totals.all_low = n_before;
        counter->n_unfolded = counter->totals.n_pixels = n_before;
        for (unsigned i = 0; i < 100; i++) /* more than a chunk */
            ih_counter_add_planes(counter, &black);
        ih_counter_end(counter, &got);
        assert_true(ih_histogram_consistent(&got));
        for (unsigned c = 0; c < 3; c++)
            assert_int_equal(ih_bins(&got, c)[0], (uint64_t)n_before + 10000);
        assert_int_equal(got.all_low, (uint64_t)n_before + 10000);
        ih_histogram_reset(&got);
        free_counter(counter);
    }
}

/* Pixels and planes of one image, alternating; and begin forgets the chunk of an abandoned image.
 */
TEST(with_pixels)
{
    struct ih_counter *counter = make_planes_counter();
    struct planes_picture p = make_picture(2, 2, 333, 60, sample_soft);
    struct ih_histogram expected, got;
    count_with(&ih_count_reference, &specs[1], p.rgb, 333 * 60, &expected);
    for (unsigned k = 0; k < N_LOOPS; k++) {
        begin(counter, &ih_count_tables, &specs[0]);
        add_stripes(counter, &p, 3);
        assert_true(counter->n_chunk > 0);
        begin(counter, &ih_count_tables, &specs[1]);
        counter->vectors = vectors_of(k);
        counter->pairs_from_pixels = 0;
        counter->fold_pixels = 5000;
        for (uint32_t row = 0; row < 60; row += 5) {
            uint8_t *buffer = malloc(stripe_bytes(&p, row, 3, 0));
            assert_non_null(buffer);
            const struct ih_planes stripe = put_stripe(&p, row, 3, 0, buffer);
            ih_counter_add_planes(counter, &stripe);
            ih_counter_add(counter, p.rgb + (size_t)(row + 3) * 333 * 3, 2 * 333);
            free(buffer);
        }
        ih_counter_end(counter, &got);
        assert_same(&expected, &got);
    }
    ih_histogram_reset(&expected);
    free_picture(&p);
    free_counter(counter);
}

/* SIMD counts all pixels except the last few, on CPUs that are known to have it. */
TEST(which_loops)
{
    struct ih_counter *counter = make_counter();
    assert_false(ih_counter_takes_planes(&ih_count_reference));
#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__))
    static const uint8_t planes[3][1000];
    const uint8_t *const all[3] = {planes[0], planes[1], planes[2]};
    assert_true(takes_planes());
    begin(counter, &ih_count_tables, &specs[0]);
    for (unsigned k = 0; k < N_LOOPS; k++) {
        assert_int_equal(vectors_of(k)->ycc(counter, all, 15), 0);
        assert_in_range(vectors_of(k)->ycc(counter, all, 1000), 1000 - 31, 1000);
    }
#endif
    free_counter(counter);
}
