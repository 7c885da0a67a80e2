/*
 * The filters of PNG rows: vectors and plain C against the formulas of the specification, written
 * out here.
 */
#include "tests/support/test.h"

#include "decode/png/unfilter.h"
#include "tests/support/random.h"

enum { PIXELS_MAX = 70, ROW_MAX = PIXELS_MAX * 8 };

/* PNG specification, 9.4: a is the left sample, b the one above, c the one above left. */
static int paeth_predictor(int a, int b, int c)
{
    int p = a + b - c;
    int pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    if (pa <= pb && pa <= pc)
        return a;
    return pb <= pc ? b : c;
}

static void reference(unsigned filter, uint8_t *row, const uint8_t *above, size_t n, size_t step)
{
    for (size_t i = 0; i < n; i++) {
        int a = i >= step ? row[i - step] : 0;
        int b = above ? above[i] : 0;
        int c = above && i >= step ? above[i - step] : 0;
        const int predicted[] = {0, a, b, (a + b) / 2, paeth_predictor(a, b, c)};
        row[i] = (uint8_t)(row[i] + predicted[filter]);
    }
}

/* Rows are allocated with exactly the slack, which must stay unchanged. */
static void check(unsigned filter, const uint8_t *row, const uint8_t *above, size_t n,
                  unsigned step)
{
    uint8_t expected[ROW_MAX], slack[IH_PNG_SLACK];
    memcpy(expected, row, n);
    reference(filter, expected, above, n, step);
    memset(slack, 0xa5, sizeof slack);
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        uint8_t *copy = malloc(n + IH_PNG_SLACK), *above_copy = malloc(n + IH_PNG_SLACK);
        assert_true(copy && above_copy);
        memcpy(copy, row, n);
        memcpy(copy + n, slack, sizeof slack);
        if (above)
            memcpy(above_copy, above, n);
        memset(above_copy + n, 0x5a, IH_PNG_SLACK);
        (is_plain ? ih_png_unfilter_plain : ih_png_unfilter)(filter, copy,
                                                             above ? above_copy : NULL, n, step);
        if (memcmp(copy, expected, n) != 0)
            fail_msg("%s: filter %u, %zu bytes, step %u, %s",
                     is_plain ? "plain" : ih_png_unfilter_target(), filter, n, step,
                     above ? "a row above" : "the first row");
        assert_memory_equal(copy + n, slack, sizeof slack);
        free(copy);
        free(above_copy);
    }
}

/* Two rows of Paeth in one call; nothing but the rows may change. */
static void check_two(const uint8_t *row, const uint8_t *above, size_t n, unsigned step)
{
    enum { GAP = IH_PNG_SLACK };
    uint8_t *expected = malloc(2 * (n + GAP)), *two = malloc(2 * (n + GAP));
    uint8_t *above_copy = malloc(n + GAP);
    assert_true(expected && two && above_copy);
    for (unsigned i = 0; i < 2; i++) {
        memcpy(expected + i * (n + GAP), row + i * n, n);
        memset(expected + i * (n + GAP) + n, 0xa5, GAP);
    }
    memcpy(two, expected, 2 * (n + GAP));
    memcpy(above_copy, above, n);
    memset(above_copy + n, 0x5a, GAP);
    reference(IH_PNG_PAETH, expected, above, n, step);
    reference(IH_PNG_PAETH, expected + n + GAP, expected, n, step);
    ih_png_unfilter_paeth_two(two, two + n + GAP, above_copy, n, step);
    if (memcmp(two, expected, 2 * (n + GAP)) != 0)
        fail_msg("%s: two rows of %zu bytes, step %u", ih_png_unfilter_target(), n, step);
    free(expected);
    free(two);
    free(above_copy);
}

static const unsigned steps[] = {1, 2, 3, 4, 6, 8};

static void check_all(uint8_t (*sample)(void))
{
    uint8_t row[ROW_MAX], above[ROW_MAX], rows[2 * ROW_MAX];
    for (unsigned filter = 0; filter < IH_PNG_FILTERS; filter++)
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
            for (size_t n_pixels = 1; n_pixels <= PIXELS_MAX; n_pixels++) {
                size_t n = n_pixels * steps[s];
                for (size_t i = 0; i < n; i++) {
                    row[i] = sample();
                    above[i] = sample();
                }
                check(filter, row, above, n, steps[s]);
                check(filter, row, NULL, n, steps[s]);
                for (size_t i = 0; i < 2 * n; i++)
                    rows[i] = sample();
                check_two(rows, above, n, steps[s]);
            }
}

static uint8_t any(void)
{
    return (uint8_t)next_random();
}

/* Values at which sums overflow and distances are equal. */
static uint8_t extreme(void)
{
    static const uint8_t values[] = {0, 1, 127, 128, 254, 255};
    return values[next_random() % sizeof values];
}

TEST(random_rows)
{
    fprintf(stderr, "unfilter: %s\n", ih_png_unfilter_target());
    check_all(any);
}

TEST(extreme_rows)
{
    for (int i = 0; i < 5; i++)
        check_all(extreme);
}

/* Every left, above and corner sample, in all SIMD lanes. */
TEST(paeth_of_every_neighbour)
{
    for (unsigned a = 0; a < 256; a++)
        for (unsigned b = 0; b < 256; b++)
            for (unsigned c = 0; c < 256; c += 8) {
                uint8_t row[16 + IH_PNG_SLACK], above[16 + IH_PNG_SLACK], expected[16];
                for (unsigned i = 0; i < 8; i++) {
                    above[i] = (uint8_t)(c + i);
                    above[8 + i] = (uint8_t)b;
                    row[i] = (uint8_t)(a - (c + i)); /* becomes a: the sample above is c + i */
                    row[8 + i] = 0;
                }
                memcpy(expected, row, sizeof expected);
                reference(IH_PNG_PAETH, expected, above, 16, 8);
                ih_png_unfilter(IH_PNG_PAETH, row, above, 16, 8);
                assert_memory_equal(row, expected, 16);
            }
}
