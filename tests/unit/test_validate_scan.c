/*
 * Validation of entropy-coded data: blocks written bit by bit, the exact limit of coefficients, and
 * damage. The decoder on the CPU must accept every damaged file that passes.
 */
#include "tests/support/test.h"

#include "tests/support/jpeg_validated.h"

/* Codes of T.81's tables K.3 and K.5, with their extra bits. */
#define FLAT "00 1010 " /* a complete block: no DC difference, EOB */
#define ZRL "11111111001 "
#define ONE "00 1 "             /* run 0, size 1 */
#define RUN_13 "11111111000 1 " /* size 1 */
#define RUN_14 "1111111111101011 1 "
#define RUN_15 "1111111111110101 1 "
#define MAX_1023 "1111111110000011 1111111111 "
#define LEAST_512 "1111111110000011 1000000000 "
#define MAX_511 "1111111110000010 111111111 "
#define MAX_255 "1111110110 11111111 "
#define MAX_15 "1011 1111 "
#define MAX_3 "01 11 "

TEST(blocks)
{
    static const struct {
        unsigned n_blocks, restart_interval;
        const char *bits;
        enum ih_jpeg_reason reason;
    } cases[] = {
        {1, 0, FLAT, IH_JPEG_REASON_NONE},
        {1, 0, "010 1 1010", IH_JPEG_REASON_NONE},
        {3, 0, FLAT FLAT FLAT, IH_JPEG_REASON_NONE},
        {4, 0, FLAT FLAT FLAT FLAT, IH_JPEG_REASON_NONE}, /* 24 bits: no padding */
        {2, 0, FLAT FLAT FLAT, IH_JPEG_REASON_DATA_LONG},
        {1, 0, FLAT "1111111111", IH_JPEG_REASON_DATA_LONG},
        {4, 0, FLAT FLAT FLAT FLAT "11111111", IH_JPEG_REASON_DATA_LONG},
        {2, 0, FLAT, IH_JPEG_REASON_DATA_SHORT},
        {1, 0, FLAT "0", IH_JPEG_REASON_DATA_PADDING},
        {1, 0, "1111111111111111", IH_JPEG_REASON_DATA_CODE},
        {1, 0, "00 1111111111111111", IH_JPEG_REASON_DATA_CODE},
        /* The last coefficient ends a block without EOB; nothing may come after it. */
        {1, 0, "00" ZRL ZRL ZRL RUN_14, IH_JPEG_REASON_NONE},
        {1, 0, "00" ZRL ZRL ZRL RUN_15, IH_JPEG_REASON_DATA_PLACE},
        {1, 0, "00" ZRL ZRL ZRL ZRL, IH_JPEG_REASON_DATA_PLACE},
        {1, 0, "00" ZRL ZRL RUN_13 ONE ONE "1010", IH_JPEG_REASON_NONE},
        {1, 0, "00" ZRL ZRL RUN_13 ONE ZRL, IH_JPEG_REASON_DATA_PLACE}, /* up to its end */
        {2, 0, "00" ZRL ZRL ZRL RUN_13 ONE FLAT, IH_JPEG_REASON_NONE},
        {2, 0, "00" ZRL ZRL ZRL RUN_13 "1010" FLAT, IH_JPEG_REASON_NONE},
        {2, 0, "00" ZRL ZRL ZRL RUN_14 FLAT, IH_JPEG_REASON_NONE},
        /* Restart markers. */
        {3, 1, FLAT "FFD0" FLAT "FFD1" FLAT, IH_JPEG_REASON_NONE},
        {3, 2, FLAT FLAT "FFD0" FLAT, IH_JPEG_REASON_NONE},
        {3, 3, FLAT FLAT FLAT, IH_JPEG_REASON_NONE},
        {10, 1,
         FLAT "FFD0" FLAT "FFD1" FLAT "FFD2" FLAT "FFD3" FLAT "FFD4" FLAT "FFD5" FLAT "FFD6" FLAT
              "FFD7" FLAT "FFD0" FLAT,
         IH_JPEG_REASON_NONE},
        {3, 1, FLAT "FFD1" FLAT "FFD2" FLAT, IH_JPEG_REASON_DATA_MARKER},
        {3, 1, FLAT "FFD0" FLAT "FFD0" FLAT, IH_JPEG_REASON_DATA_MARKER},
        {3, 1, FLAT "FFD0" FLAT FLAT, IH_JPEG_REASON_DATA_LONG},
        {3, 1, FLAT "FFD0" FLAT "FFD9" FLAT, IH_JPEG_REASON_DATA_MARKER},
        {3, 1,
         FLAT "FFD0"
              "FFD1" FLAT,
         IH_JPEG_REASON_DATA_SHORT},
        {3, 2, FLAT "FFD0" FLAT FLAT, IH_JPEG_REASON_DATA_SHORT},
        {3, 1, FLAT "FFD0" FLAT "FFD1" FLAT "FFD2", IH_JPEG_REASON_DATA_MARKER},
        {3, 3, FLAT FLAT FLAT "FFD0", IH_JPEG_REASON_DATA_MARKER},
        {2, 0, FLAT "FFD0" FLAT, IH_JPEG_REASON_DATA_SHORT},
        {2, 0, FLAT FLAT "FFFF", IH_JPEG_REASON_DATA_MARKER},
        {2, 0, FLAT FLAT "FFD8", IH_JPEG_REASON_DATA_MARKER},
        {2, 0, FLAT FLAT "FFDC", IH_JPEG_REASON_DATA_MARKER},
        /* 5 * 1023 + 511 + 255 + 15 + 3 + 1 = 5900, and one more by the DC coefficient. */
        {1, 0,
         "00" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 MAX_255 MAX_15 MAX_3 ONE "1010",
         IH_JPEG_REASON_NONE},
        {1, 0,
         "010 1" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 MAX_255 MAX_15 MAX_3 ONE
         "1010",
         IH_JPEG_REASON_DATA_LARGE},
        {1, 0,
         "00" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 MAX_255 MAX_15 MAX_3 ONE ONE
         "1010",
         IH_JPEG_REASON_DATA_LARGE},
        /* Magnitudes count, not the largest of their size: 11 * 512, and 6 * 1023. */
        {1, 0,
         "00" LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512
             LEAST_512 LEAST_512 LEAST_512 "1010",
         IH_JPEG_REASON_NONE},
        {1, 0, "00" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 "1010",
         IH_JPEG_REASON_DATA_LARGE},
        /* DC differences add up: three of 2047 are too many, in both directions. */
        {2, 0, "111111110 11111111111 1010 111111110 11111111111 1010", IH_JPEG_REASON_NONE},
        {3, 0, "111111110 11111111111 1010 111111110 11111111111 1010 111111110 11111111111 1010",
         IH_JPEG_REASON_DATA_LARGE},
        {3, 0, "111111110 00000000000 1010 111111110 00000000000 1010 111111110 00000000000 1010",
         IH_JPEG_REASON_DATA_LARGE},
        {3, 1, /* but not across a restart */
         "111111110 11111111111 1010 FFD0 111111110 11111111111 1010 FFD1 111111110 11111111111 "
         "1010",
         IH_JPEG_REASON_NONE},
        {3, 0, "111111110 11111111111 1010 111111110 11111111111 1010 111111110 00000000000 1010",
         IH_JPEG_REASON_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jpeg_file f =
            make_blocks(cases[i].n_blocks, cases[i].restart_interval, cases[i].bits);
        check_refused(&f, cases[i].reason);
    }
}

/* Each coefficient is multiplied by the quantizer of its place. */
TEST(quantizers_count)
{
    struct jpeg_file f = make_blocks(1, 0, "00" MAX_1023 ZRL "1111111110000011 0000000000 1010");
    size_t quant = find_segment(&f, 0xDB, 0) + 5;
    f.bytes[quant + 1] = 4; /* 1023 * 4 + 1023 * 1 */
    check_passes(&f);
    f.bytes[quant + 1] = 5; /* 1023 * 5 + 1023 * 1 */
    check_reason(&f, IH_JPEG_REASON_DATA_LARGE);
    f.bytes[quant + 1] = 3;
    f.bytes[quant + 18] = 2;
    f.bytes[quant + 17] = f.bytes[quant + 19] = 255; /* no coefficient is there */
    check_passes(&f);
    f.bytes[quant + 18] = 3;
    check_reason(&f, IH_JPEG_REASON_DATA_LARGE);
    f.bytes[quant + 18] = 2;
    f.bytes[quant] = 255;
    check_passes(&f); /* the DC coefficient is 0 */
    free(f.bytes);
}

/* The same where one look-up covers a DC symbol and AC symbols, or coefficients after a run. */
TEST(quantizers_in_reach)
{
    struct jpeg_file f = make_blocks(1, 0, "00 11010 11111 1010"); /* 31 */
    size_t quant = find_segment(&f, 0xDB, 0) + 5;
    f.bytes[quant + 1] = 190; /* 5890 */
    check_passes(&f);
    f.bytes[quant + 1] = 191;
    check_refused(&f, IH_JPEG_REASON_DATA_LARGE);

    char bits[512] = "00";
    for (unsigned k = 1; k < 64; k += 3)
        strcat(bits, " 11111001 11"); /* 3 after a run of 2: at 3, 6, ... 63 */
    f = make_blocks(1, 0, bits);
    for (unsigned k = 3; k < 64; k += 3)
        f.bytes[quant + k] = 93; /* 21 * 3 * 93 = 5859 */
    check_passes(&f);
    for (unsigned k = 3; k < 64; k += 3)
        f.bytes[quant + k] = 94; /* 5922 */
    check_refused(&f, IH_JPEG_REASON_DATA_LARGE);
}

static struct jpeg_file repeated_blocks(unsigned n_blocks, const char *bits)
{
    size_t n = strlen(bits);
    char *all = malloc(n_blocks * n + 1);
    assert_non_null(all);
    for (unsigned i = 0; i < n_blocks; i++)
        memcpy(all + i * n, bits, n);
    all[n_blocks * n] = '\0';
    struct jpeg_file f = make_blocks(n_blocks, 0, all);
    free(all);
    return f;
}

/* Data of many lengths, with stuffing at every place of its end. */
TEST(data_lengths)
{
    static const struct {
        const char *bits;
        unsigned from, to; /* blocks: 4 KB of data and a few bytes less or more */
    } rows[] = {{FLAT, 5441, 5480}, {"00 1111110110 11111111 1111110110 11111111 1010", 775, 785}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned n_blocks = rows[i].from; n_blocks < rows[i].to; n_blocks++) {
            struct jpeg_file f = repeated_blocks(n_blocks, rows[i].bits);
            check_passes(&f);
            f.n -= 2; /* no EOI */
            check_refused(&f, IH_JPEG_REASON_DATA_MARKER);
        }
    const struct jpeg_kind noise = {.h = 1, .v = 1, .is_gray = true, .quality = 95};
    for (unsigned height = 65; height < 96; height++)
        for (unsigned width = 81; width < 96; width += 3) {
            struct jpeg_file f = make_jpeg(&noise, width, height);
            check_passes(&f);
            f.n--;
            check_refused(&f, IH_JPEG_REASON_DATA_MARKER);
        }
}

static struct jpeg_file damaged_kind(size_t i)
{
    struct jpeg_kind kind = kinds[i % N_KINDS];
    kind.restart_interval = i % 3 == 2 ? 2 : 0;
    kind.is_optimized = i % 2 == 1;
    return make_jpeg(&kind, (unsigned)(17 + i), (unsigned)(23 - i));
}

TEST(cuts)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        struct jpeg_file f = damaged_kind(i);
        for (size_t n = 0; n < f.n; n++) {
            assert_int_not_equal(validate(f.bytes, n), IH_JPEG_REASON_NONE);
            unsigned char *bytes = malloc(n + 2);
            assert_non_null(bytes);
            memcpy(bytes, f.bytes, n);
            memcpy(bytes + n, "\xFF\xD9", 2);
            if (n + 2 < f.n)
                assert_int_not_equal(validate(bytes, n + 2), IH_JPEG_REASON_NONE);
            free(bytes);
        }
        free(f.bytes);
    }
}

TEST(every_byte_changed)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        struct jpeg_file f = damaged_kind(i);
        size_t n_passed = 0;
        for (size_t at = 0; at < f.n; at++)
            for (unsigned mask = 1; mask <= 256; mask *= 2) {
                unsigned char was = f.bytes[at];
                f.bytes[at] ^= (unsigned char)(mask - (mask == 256));
                n_passed += validate(f.bytes, f.n) == IH_JPEG_REASON_NONE;
                f.bytes[at] = was;
            }
        assert_true(n_passed > 0); /* such as a changed sign bit */
        free(f.bytes);
    }
}
