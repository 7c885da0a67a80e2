/*
 * Validation by four interleaved streams: they accept sound files of every kind, refuse all damage,
 * and are in doubt about the files that they cannot validate.
 */
#include "tests/support/test.h"

#include "tests/support/jpeg_validated.h"

static bool streams_accept(const struct jpeg_file *f, struct ih_jpeg_plan *plan)
{
    assert_int_equal(ih_jpeg_validate_header(f->bytes, f->n, plan), IH_JPEG_REASON_NONE);
    struct ih_jpeg_workspace *workspace = calloc(1, sizeof *workspace);
    assert_non_null(workspace);
    const bool is_accepted = ih_jpeg_validate_streams(plan, workspace);
    free(workspace);
    return is_accepted;
}

/* Complete files of every kind, large enough for all streams to get in step, and more data after
 * EOI. */
TEST(sound_files)
{
    static const unsigned sizes[][2] = {{701, 499}, {2203, 131}, {139, 2207}, {1024, 512}};
    static const int qualities[] = {50, 90, 98};
    for (unsigned i = 0; i < N_KINDS * 4 * 3 * 2; i++) {
        const unsigned *size = sizes[i / 5 % 4];
        struct jpeg_kind kind = kinds[i % N_KINDS];
        kind.quality = qualities[i / 20 % 3];
        kind.is_optimized = i / 60;
        struct jpeg_file f = make_jpeg(&kind, size[0], size[1]);
        const size_t n = f.n;
        struct ih_jpeg_plan plan;
        splice(&f, f.n, 0, "more\xFF\xD9", 6);
        if (!streams_accept(&f, &plan))
            fail_msg("kind %u, %u x %u, quality %d", i % N_KINDS, size[0], size[1], kind.quality);
        assert_ptr_equal(plan.data + plan.data_bytes, f.bytes + n - 2);
        free(f.bytes);
    }
}

/* Every MCU has the same few bits, so a stream may never find out where one begins. */
TEST(flat_files)
{
    for (unsigned i = 0; i < N_KINDS; i++) {
        struct jpeg_kind kind = kinds[i];
        kind.is_flat = true;
        for (unsigned n = 0; n < 6; n++) {
            struct jpeg_file f = make_jpeg(&kind, 2048, 2048 + 16 * n);
            struct ih_jpeg_plan plan;
            if (!streams_accept(&f, &plan))
                fail_msg("kind %u, %u high", i, 2048 + 16 * n);
            free(f.bytes);
        }
    }
}

/* A changed bit or byte anywhere in a file that is large enough. */
TEST(damage)
{
    enum { N_EACH = 60 };
    unsigned n_passed = 0, n_accepted = 0;
    uint32_t random = 7;
    for (unsigned i = 0; i < N_KINDS * 2; i++) {
        struct jpeg_kind kind = kinds[i % N_KINDS];
        kind.is_optimized = i % 2;
        kind.quality = 75;
        struct jpeg_file f = make_jpeg(&kind, 400 + i, 300);
        const size_t data = find_data(&f);
        for (unsigned j = 0; j < N_EACH; j++) {
            random = random * 1664525u + 1013904223u;
            const size_t at = data + (random >> 8) % (f.n - data);
            const unsigned char was = f.bytes[at];
            f.bytes[at] ^= (unsigned char)(j % 3 ? 1u << (random >> 4) % 8 : random >> 24 | 1);
            if (validate(f.bytes, f.n) == IH_JPEG_REASON_NONE) {
                struct ih_jpeg_plan plan;
                n_passed++;
                n_accepted += streams_accept(&f, &plan);
            }
            f.bytes[at] = was;
        }
        free(f.bytes);
    }
    print_message("%u of %u damaged files are still valid, the streams accept %u of them\n",
                  n_passed, N_KINDS * 2 * N_EACH, n_accepted);
    assert_true(n_passed > 0 && n_accepted > 0);
}

/* Large enough that ih_jpeg_validate uses the streams whatever tables it knows. */
TEST(large_damaged_file)
{
    const struct jpeg_kind kind = {.h = 2, .v = 1, .quality = 92};
    struct jpeg_file f = make_jpeg(&kind, 1200, 800);
    const size_t data = find_data(&f);
    assert_true(f.n - data > 160 << 10);
    check_passes(&f);
    for (unsigned i = 1; i < 60; i++) {
        const size_t at = data + (f.n - data) * i / 60;
        const unsigned char was = f.bytes[at];
        f.bytes[at] ^= (unsigned char)(1u << i % 8);
        validate(f.bytes, f.n); /* checks the verdict */
        f.bytes[at] = was;
    }
    struct jpeg_file cut = {malloc(f.n), f.n / 2};
    assert_non_null(cut.bytes);
    memcpy(cut.bytes, f.bytes, cut.n - 2);
    memcpy(cut.bytes + cut.n - 2, "\xFF\xD9", 2);
    check_refused(&cut, IH_JPEG_REASON_DATA_SHORT);
    free(f.bytes);
}

#define BLOCK "00 1111110110 11111111 1111110110 10111101 1010 " /* 42 bits; 255 and 189 */

/* 1,200 blocks; the one at `place` has these bits. */
static struct jpeg_file row_with(unsigned place, const char *bits)
{
    enum { N_BLOCKS = 1200 };
    char *all = malloc(N_BLOCKS * strlen(BLOCK) + strlen(bits) + 1);
    size_t n = 0;
    assert_non_null(all);
    for (unsigned i = 0; i < N_BLOCKS; i++)
        n += (size_t)sprintf(all + n, "%s", i == place ? bits : BLOCK);
    struct jpeg_file f = make_blocks(N_BLOCKS, 0, all);
    free(all);
    return f;
}

/* The streams are in doubt about a DC prediction above 1100, and AC coefficients above 4800. */
TEST(split_limit)
{
#define MAX_1023 "1111111110000011 1111111111 "
#define MAX_511 "1111111110000010 111111111 "
#define DC(bits11) "111111110 " bits11 " 1010 " /* 11 bits: 1024 and up */
    static const struct {
        const char *bits;
        bool is_accepted;
    } cases[] = {
        {BLOCK, true},
        {DC("10001001100"), true},                                         /* 1100 */
        {DC("10001001101"), false},                                        /* 1101 */
        {"00 " MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 "1010 ", true}, /* 4603 */
        {"00 " MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 "1111110110 11000110 1010 ", false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned place = 100; place < 1200; place += 270) {
            struct jpeg_file f = row_with(place, cases[i].bits);
            struct ih_jpeg_plan plan;
            check_passes(&f);
            if (streams_accept(&f, &plan) != cases[i].is_accepted)
                fail_msg("case %u at %u", i, place);
            free(f.bytes);
        }
}

/* Many sound blocks: first after the end of a small image, then as the blocks of a large one. */
TEST(much_data_after)
{
    enum { N_ACROSS = 8000, N_DOWN = 256, N_BYTES = N_ACROSS / 4 * 3 * N_DOWN };
    struct ih_jpeg_plan plan;
    uint8_t *four_blocks = malloc(N_BYTES); /* 00 1010 four times, repeated */
    assert_non_null(four_blocks);
    for (size_t i = 0; i < N_BYTES; i++)
        four_blocks[i] = (const uint8_t[]){0x28, 0xA2, 0x8A}[i % 3];
    struct jpeg_file f = make_blocks(N_ACROSS, 0, "");
    const size_t height = find_segment(&f, 0xC0, 0) + 5, data = find_data(&f);
    splice(&f, data, f.n - 2 - data, four_blocks, N_BYTES);
    assert_false(streams_accept(&f, &plan));
    f.bytes[height] = N_DOWN * 8 >> 8;
    f.bytes[height + 1] = N_DOWN * 8 & 255;
    assert_true(streams_accept(&f, &plan));
    free(four_blocks);
    free(f.bytes);
}

TEST(doubtful_files)
{
    struct jpeg_kind kind = {.h = 2, .v = 2, .restart_interval = 100};
    struct ih_jpeg_plan plan;
    struct jpeg_file f = make_jpeg(&kind, 700, 500);
    assert_false(streams_accept(&f, &plan));
    check_passes(&f);
    free(f.bytes);
    kind.restart_interval = 0;
    f = make_jpeg(&kind, 700, 500);
    f.n -= 2;
    assert_false(streams_accept(&f, &plan));
    check_refused(&f, IH_JPEG_REASON_DATA_MARKER);
    f = make_jpeg(&kind, 16, 16); /* too short for a stream to get in step */
    assert_false(streams_accept(&f, &plan));
    free(f.bytes);
    kind.h = kind.v = 1;
    kind.has_one_table = true; /* a stream cannot tell the blocks of an MCU apart */
    f = make_jpeg(&kind, 700, 500);
    assert_false(streams_accept(&f, &plan));
    check_passes(&f);
    free(f.bytes);
}
