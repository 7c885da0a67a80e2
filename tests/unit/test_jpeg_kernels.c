/*
 * The JPEG kernels' threads, run on the CPU, against libjpeg: planes of sound files byte for byte,
 * and a fault for every file about which libjpeg warns.
 */
#include "tests/support/test.h"

#include "tests/support/each_file.h"
#include "tests/support/jpeg_batch.h"
#include "tests/support/jpeg_files.h"

static const struct jpeg_kind kinds[] = {
    {.h = 1, .v = 1},
    {.h = 2, .v = 1},
    {.h = 2, .v = 2},
    {.h = 1, .v = 2},
    {.h = 1, .v = 1, .is_gray = true},
    {.h = 2, .v = 2, .is_gray = true},
    {.h = 2, .v = 2, .is_optimized = true},
    {.h = 2, .v = 2, .quality = 98},
    {.h = 1, .v = 1, .quality = 10, .is_optimized = true},
    {.h = 2, .v = 2, .restart_interval = 1},
    {.h = 2, .v = 1, .restart_interval = 7, .is_optimized = true},
    {.h = 2, .v = 2, .is_flat = true},
    {.h = 2, .v = 2, .has_one_table = true},
    {.h = 1, .v = 1, .is_gray = true, .restart_interval = 3},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

TEST(planes_are_libjpegs)
{
    const unsigned sizes[][2] = {{1, 1}, {8, 8}, {17, 33}, {224, 224}, {1000, 700}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct files f;
        struct jpeg_file made[N_KINDS];
        begin_files(&f);
        for (size_t k = 0; k < N_KINDS; k++) {
            made[k] = make_jpeg(&kinds[k], sizes[s][0], sizes[s][1]);
            assert_int_equal(add_file(&f, made[k].bytes, made[k].n), IH_JPEG_REASON_NONE);
        }
        decode_files(&f);
        for (uint32_t k = 0; k < N_KINDS; k++) {
            if (f.verdicts[k].faults != 0 || !is_right(&f, k, made[k].bytes, made[k].n))
                fail_msg("kind %u of %ux%u: faults %x", k, sizes[s][0], sizes[s][1],
                         f.verdicts[k].faults);
            free(made[k].bytes);
        }
        end_files(&f);
    }
}

static void damage(struct jpeg_file *f, uint32_t random)
{
    const size_t from = find_data(f), n = f->n - from;
    const size_t at = from + next_random() % n;
    switch (random % 5) {
    case 0:
        f->n = at; /* cut off */
        break;
    case 1:
        f->bytes[at] = (uint8_t)next_random();
        break;
    case 2:
        f->bytes[at] ^= (uint8_t)(1u << next_random() % 8);
        break;
    case 3:
        splice(f, at, 0, &random, 1 + random % 3);
        break;
    default:
        splice(f, at, n > 4 && at + 3 < f->n ? 1 + random % 3 : 0, NULL, 0);
    }
}

/* A damaged file has a fault, or libjpeg reads it without a warning and the planes are its. The
 * sound files beside it are not affected. */
TEST(no_damage_is_missed)
{
    unsigned n_warned = 0, n_equal = 0;
    for (unsigned i = 0; i < 400; i++) {
        struct files f;
        struct jpeg_file made[4];
        begin_files(&f);
        for (unsigned k = 0; k < 4; k++) {
            made[k] = make_jpeg(&kinds[(i + k * 5) % N_KINDS], 20 + next_random() % 300,
                                20 + next_random() % 200);
            if (k % 2)
                damage(&made[k], next_random());
            if (add_file(&f, made[k].bytes, made[k].n) != IH_JPEG_REASON_NONE) {
                assert_true(k % 2); /* a lost restart marker */
                free(made[k].bytes);
                made[k].bytes = NULL;
            }
        }
        decode_files(&f);
        for (unsigned k = 0, image = 0; k < 4; k++) {
            if (!made[k].bytes)
                continue;
            struct reference r = reference_decode(made[k].bytes, made[k].n);
            const uint32_t faults = f.verdicts[image].faults;
            n_warned += !r.is_sound;
            n_equal += k % 2 && faults == 0;
            if (k % 2 == 0)
                assert_int_equal(faults, 0);
            if (faults == 0 && (!r.is_sound || !has_planes(&f, image, &r)))
                fail_msg("file %u of batch %u: libjpeg %s", k, i,
                         r.is_sound ? "gives other planes" : "warns");
            image++;
            reference_reset(&r);
            free(made[k].bytes);
        }
        end_files(&f);
    }
    assert_true(n_warned > 300 && n_equal > 20); /* both were seen */
}

/* ---- blocks written bit by bit ---- */

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

enum { SOUND = 0, LOST = 1 << 30 };

static void check_fault(const struct jpeg_file *f, uint32_t expected)
{
    const struct outcome o = decode_alone(f->bytes, f->n);
    const uint32_t faults = o.reason == IH_JPEG_REASON_DATA ? (uint32_t)LOST : o.faults;
    if ((expected == IH_JPEG_FAULT_SHORT && faults & IH_JPEG_FAULT_CODE) || /* of bits after it */
        (expected != SOUND && faults == LOST))
        return;
    if (expected == SOUND ? faults != 0 : !(faults & expected))
        fail_msg("faults %x instead of %x", faults, expected);
}

TEST(blocks)
{
    static const struct {
        unsigned n_blocks, restart_interval;
        const char *bits;
        uint32_t fault; /* LOST: a restart marker is not where it belongs */
    } cases[] = {
        {1, 0, FLAT, SOUND},
        {1, 0, "010 1 1010", SOUND},
        {3, 0, FLAT FLAT FLAT, SOUND},
        {4, 0, FLAT FLAT FLAT FLAT, SOUND}, /* 24 bits: no padding */
        {2, 0, FLAT FLAT FLAT, IH_JPEG_FAULT_LONG},
        {1, 0, FLAT "1111111111", IH_JPEG_FAULT_LONG},
        {4, 0, FLAT FLAT FLAT FLAT "11111111", IH_JPEG_FAULT_LONG},
        {2, 0, FLAT, IH_JPEG_FAULT_SHORT},
        {1, 0, FLAT "0", SOUND},
        {1, 0, "1111111111111111", IH_JPEG_FAULT_CODE},
        {1, 0, "00 1111111111111111", IH_JPEG_FAULT_CODE},
        /* The last coefficient ends a block without EOB; nothing may come after it. */
        {1, 0, "00" ZRL ZRL ZRL RUN_14, SOUND},
        {1, 0, "00" ZRL ZRL ZRL RUN_15, IH_JPEG_FAULT_PLACE},
        {1, 0, "00" ZRL ZRL ZRL ZRL, IH_JPEG_FAULT_PLACE},
        {1, 0, "00" ZRL ZRL RUN_13 ONE ONE "1010", SOUND},
        {1, 0, "00" ZRL ZRL RUN_13 ONE ZRL, IH_JPEG_FAULT_PLACE}, /* up to its end */
        {2, 0, "00" ZRL ZRL ZRL RUN_13 ONE FLAT, SOUND},
        {2, 0, "00" ZRL ZRL ZRL RUN_13 "1010" FLAT, SOUND},
        {2, 0, "00" ZRL ZRL ZRL RUN_14 FLAT, SOUND},
        /* Restart markers. */
        {3, 1, FLAT "FFD0" FLAT "FFD1" FLAT, SOUND},
        {3, 2, FLAT FLAT "FFD0" FLAT, SOUND},
        {3, 3, FLAT FLAT FLAT, SOUND},
        {10, 1,
         FLAT "FFD0" FLAT "FFD1" FLAT "FFD2" FLAT "FFD3" FLAT "FFD4" FLAT "FFD5" FLAT "FFD6" FLAT
              "FFD7" FLAT "FFD0" FLAT,
         SOUND},
        {3, 1, FLAT "FFD1" FLAT "FFD2" FLAT, IH_JPEG_FAULT_MARKER},
        {3, 1, FLAT "FFD0" FLAT "FFD0" FLAT, IH_JPEG_FAULT_MARKER},
        {3, 1, FLAT "FFD0" FLAT FLAT, IH_JPEG_FAULT_LONG},
        {3, 1, FLAT "FFD0" FLAT "FFD9" FLAT, IH_JPEG_FAULT_MARKER},
        {3, 1,
         FLAT "FFD0"
              "FFD1" FLAT,
         IH_JPEG_FAULT_SHORT},
        {3, 2, FLAT "FFD0" FLAT FLAT, IH_JPEG_FAULT_SHORT},
        {3, 1, FLAT "FFD0" FLAT "FFD1" FLAT "FFD2", IH_JPEG_FAULT_MARKER},
        {3, 3, FLAT FLAT FLAT "FFD0", IH_JPEG_FAULT_MARKER},
        {2, 0, FLAT "FFD0" FLAT, IH_JPEG_FAULT_SHORT},
        {2, 0, FLAT FLAT "FFFF", IH_JPEG_FAULT_MARKER},
        {2, 0, FLAT FLAT "FFD8", IH_JPEG_FAULT_MARKER},
        {2, 0, FLAT FLAT "FFDC", IH_JPEG_FAULT_MARKER},
        /* 5 * 1023 + 511 + 255 + 15 + 3 + 1 = 5900, and one more by the DC coefficient. */
        {1, 0,
         "00" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 MAX_255 MAX_15 MAX_3 ONE "1010",
         SOUND},
        {1, 0,
         "010 1" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 MAX_255 MAX_15 MAX_3 ONE
         "1010",
         IH_JPEG_FAULT_LARGE},
        {1, 0,
         "00" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_511 MAX_255 MAX_15 MAX_3 ONE ONE
         "1010",
         IH_JPEG_FAULT_LARGE},
        /* Magnitudes count, not the largest of their size: 11 * 512, and 6 * 1023. */
        {1, 0,
         "00" LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512 LEAST_512
             LEAST_512 LEAST_512 LEAST_512 "1010",
         SOUND},
        {1, 0, "00" MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 MAX_1023 "1010",
         IH_JPEG_FAULT_LARGE},
        /* DC differences add up: three of 2047 are too many, in both directions. */
        {2, 0, "111111110 11111111111 1010 111111110 11111111111 1010", SOUND},
        {3, 0, "111111110 11111111111 1010 111111110 11111111111 1010 111111110 11111111111 1010",
         IH_JPEG_FAULT_LARGE},
        {3, 0, "111111110 00000000000 1010 111111110 00000000000 1010 111111110 00000000000 1010",
         IH_JPEG_FAULT_LARGE},
        {3, 1, /* but not across a restart */
         "111111110 11111111111 1010 FFD0 111111110 11111111111 1010 FFD1 111111110 11111111111 "
         "1010",
         SOUND},
        {3, 0, "111111110 11111111111 1010 111111110 11111111111 1010 111111110 00000000000 1010",
         SOUND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct jpeg_file f =
            make_blocks(cases[i].n_blocks, cases[i].restart_interval, cases[i].bits);
        check_fault(&f, cases[i].fault);
        free(f.bytes);
    }
}

/* Each coefficient is multiplied by the quantizer of its place. */
TEST(quantizers_count)
{
    struct jpeg_file f = make_blocks(1, 0, "00" MAX_1023 ZRL "1111111110000011 0000000000 1010");
    size_t quant = find_segment(&f, 0xDB, 0) + 5;
    f.bytes[quant + 1] = 4; /* 1023 * 4 + 1023 * 1 */
    check_fault(&f, SOUND);
    f.bytes[quant + 1] = 5; /* 1023 * 5 + 1023 * 1 */
    check_fault(&f, IH_JPEG_FAULT_LARGE);
    f.bytes[quant + 1] = 3;
    f.bytes[quant + 18] = 2;
    f.bytes[quant + 17] = f.bytes[quant + 19] = 255; /* no coefficient is there */
    check_fault(&f, SOUND);
    f.bytes[quant + 18] = 3;
    check_fault(&f, IH_JPEG_FAULT_LARGE);
    f.bytes[quant + 18] = 2;
    f.bytes[quant] = 255;
    check_fault(&f, SOUND); /* the DC coefficient is 0 */
    free(f.bytes);
}

/* The same where one look-up covers a DC symbol and AC symbols, or coefficients after a run. */
TEST(quantizers_in_reach)
{
    struct jpeg_file f = make_blocks(1, 0, "00 11010 11111 1010"); /* 31 */
    size_t quant = find_segment(&f, 0xDB, 0) + 5;
    f.bytes[quant + 1] = 190; /* 5890 */
    check_fault(&f, SOUND);
    f.bytes[quant + 1] = 191;
    check_fault(&f, IH_JPEG_FAULT_LARGE);
    free(f.bytes);

    char bits[512] = "00";
    for (unsigned k = 1; k < 64; k += 3)
        strcat(bits, " 11111001 11"); /* 3 after a run of 2: at 3, 6, ... 63 */
    f = make_blocks(1, 0, bits);
    for (unsigned k = 3; k < 64; k += 3)
        f.bytes[quant + k] = 93; /* 21 * 3 * 93 = 5859 */
    check_fault(&f, SOUND);
    for (unsigned k = 3; k < 64; k += 3)
        f.bytes[quant + k] = 94; /* 5922 */
    check_fault(&f, IH_JPEG_FAULT_LARGE);
    free(f.bytes);
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
            check_fault(&f, SOUND);
            f.n -= 2; /* no EOI */
            check_fault(&f, IH_JPEG_FAULT_MARKER);
            free(f.bytes);
        }
    const struct jpeg_kind noise = {.h = 1, .v = 1, .is_gray = true, .quality = 95};
    for (unsigned height = 65; height < 96; height++)
        for (unsigned width = 81; width < 96; width += 3) {
            struct jpeg_file f = make_jpeg(&noise, width, height);
            check_fault(&f, SOUND);
            f.n--;
            check_fault(&f, IH_JPEG_FAULT_MARKER);
            free(f.bytes);
        }
}

static struct jpeg_file damaged_kind(size_t i)
{
    struct jpeg_kind kind = kinds[i % N_KINDS];
    kind.restart_interval = i % 3 == 2 ? 2 : 0;
    kind.is_optimized = i % 2 == 1;
    return make_jpeg(&kind, (unsigned)(17 + i), (unsigned)(23 - i));
}

/* A sound file of any kind, alone. */
static bool is_decoded(const struct jpeg_file *f)
{
    const struct outcome o = decode_alone(f->bytes, f->n);
    return o.reason == IH_JPEG_REASON_NONE && o.faults == 0;
}

TEST(cuts)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        struct jpeg_file f = damaged_kind(i);
        for (size_t n = 0; n < f.n; n++) {
            assert_false(is_decoded(&(struct jpeg_file){f.bytes, n}));
            unsigned char *bytes = malloc(n + 2);
            assert_non_null(bytes);
            memcpy(bytes, f.bytes, n);
            memcpy(bytes + n, "\xFF\xD9", 2);
            if (n + 2 < f.n)
                assert_false(is_decoded(&(struct jpeg_file){bytes, n + 2}));
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
                n_passed += is_decoded(&f);
                f.bytes[at] = was;
            }
        assert_true(n_passed > 0); /* such as a changed sign bit */
        free(f.bytes);
    }
}

static void replay(const struct file *file)
{
    decode_alone(file->bytes, file->size);
}

/* Inputs that fuzz_jpeg_kernels found, and every other one: few are JPEG files. */
TEST(crashers)
{
    assert_true(for_each("crashers", "fuzz_", replay) > 0);
}
