/*
 * The walk of JPEG files for the GPU's engines: what must pass, each reason to refuse, and that
 * what passes is what the decoder on the processor takes without an error, to the same pixels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/jpeg_walked.h"

static void test_all_kinds_pass(void **state)
{
    (void)state;
    static const unsigned intervals[] = {0, 1, 2, 5, 1000};
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++)
            for (unsigned width = 1; width <= 40; width++) {
                struct jpeg_kind kind = kinds[k];
                kind.restart_interval = intervals[i];
                kind.quality = (int)(width * 37 % 100) + 1;
                kind.is_optimized = width % 3 == 0;
                struct jpeg_file f = make_jpeg(&kind, width, width * 7 % 40 + 1);
                check_passes(&f);
                free(f.bytes);
            }
}

/* Many windows, tables of every size, blocks without EOB. */
static void test_larger_images_pass(void **state)
{
    (void)state;
    static const unsigned sizes[] = {64, 200, 700};
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int quality = 20; quality <= 100; quality += 20) {
                struct jpeg_kind kind = kinds[k];
                kind.quality = quality;
                kind.restart_interval = quality == 40 ? sizes[i] : 0;
                struct jpeg_file f = make_jpeg(&kind, sizes[i] + 3, sizes[i] / 2);
                check_passes(&f);
                free(f.bytes);
            }
}

static void test_plan(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_KINDS; k++) {
        struct jpeg_file f = make_jpeg(&kinds[k], 33, 18);
        struct ih_jpeg_plan plan;
        const char *reason;
        unsigned long n = f.n;
        splice(&f, f.n, 0, "\xFF\xD8 thumbnail", 12); /* what follows EOI is no matter */
        check_passes(&f);
        assert_true(ih_jpeg_walk(f.bytes, f.n, &plan, &reason));
        assert_true(plan.stream_bytes < n); /* no JFIF marker */
        assert_int_equal(plan.width, 33);
        assert_int_equal(plan.height, 18);
        assert_int_equal(plan.n_components, kinds[k].is_gray ? 1 : 3);
        assert_int_equal(plan.chroma_h, kinds[k].h);
        assert_int_equal(plan.chroma_v, kinds[k].v);
        /* The header alone tells as much. */
        assert_true(ih_jpeg_walk_header(f.bytes, find_data(&f), &plan, &reason));
        assert_int_equal(plan.width, 33);
        assert_false(ih_jpeg_walk_header(f.bytes, find_data(&f) - 1, &plan, &reason));
        free(f.bytes);
    }
}

/* One byte of a 4:2:0 file's header changed. */
static void test_header_bytes(void **state)
{
    (void)state;
    static const struct {
        unsigned marker, nth, at; /* at: behind the marker's 0xFF */
        uint8_t value;
        const char *why;
    } edits[] = {
        {0xC0, 0, 1, 0xC1, "not baseline"},
        {0xC0, 0, 1, 0xC2, "not baseline"},
        {0xC0, 0, 1, 0xC9, "not baseline"},
        {0xC0, 0, 3, 16, "frame header of a wrong length"},
        {0xC0, 0, 4, 12, "not 8 bits a sample"},
        {0xC0, 0, 6, 0, "image without pixels"},
        {0xC0, 0, 8, 0, "image without pixels"},
        {0xC0, 0, 9, 4, "frame header of a wrong length"},
        {0xC0, 0, 11, 0x41, "subsampling"},
        {0xC0, 0, 11, 0x24, "subsampling"},
        {0xC0, 0, 11, 0x20, "subsampling"},
        {0xC0, 0, 11, 0x32, "subsampling"},
        {0xC0, 0, 12, 2, "quantization table that is not there"},
        {0xC0, 0, 12, 200, "quantization table that is not there"},
        {0xC0, 0, 13, 1, "two components of one name"},
        {0xC0, 0, 14, 0x21, "subsampling"},
        {0xC0, 0, 17, 0x12, "subsampling"},
        {0xDB, 0, 1, 0xDC, "does not belong"},
        {0xDB, 0, 3, 66, "quantization table cut short"},
        {0xDB, 0, 4, 0x10, "quantization table of 16 bits"},
        {0xDB, 0, 4, 4, "quantization table of 16 bits"},
        {0xDB, 0, 4, 1, "quantization table defined twice"},
        {0xDB, 0, 20, 0, "quantizer of zero"},
        {0xC4, 0, 3, 18, "Huffman table cut short"},
        {0xC4, 0, 4, 0x20, "number that baseline does not have"},
        {0xC4, 0, 4, 2, "number that baseline does not have"},
        {0xC4, 0, 4, 1, "Huffman table defined twice"},
        {0xC4, 0, 5, 3, "more symbols than there are"},
        {0xC4, 1, 21, 0x0B, "with unusual symbols"}, /* AC of 11 bits */
        {0xC4, 1, 21, 0x10, "with unusual symbols"}, /* EOB1 */
        {0xC4, 1, 21, 0x02, "with unusual symbols"}, /* twice */
        {0xC4, 0, 21, 12, "with unusual symbols"},   /* DC of 12 bits */
        {0xDA, 0, 3, 10, "scan of some components only"},
        {0xDA, 0, 4, 1, "scan of some components only"},
        {0xDA, 0, 5, 2, "components in another order"},
        {0xDA, 0, 6, 0x20, "Huffman table that is not there"},
        {0xDA, 0, 6, 0x02, "Huffman table that is not there"},
        {0xDA, 0, 11, 1, "scan of some coefficients only"},
        {0xDA, 0, 12, 62, "scan of some coefficients only"},
        {0xDA, 0, 13, 1, "scan of some coefficients only"},
        {0xE0, 0, 0, 0, "bytes between segments"},
        {0xE0, 0, 3, 1, "segment beyond the end"}, /* a length below 2 */
        {0xE0, 0, 2, 0xFF, "segment beyond the end"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct jpeg_file f = make_jpeg(&kinds[2], 20, 20);
        f.bytes[find_segment(&f, edits[i].marker, edits[i].nth) + edits[i].at] = edits[i].value;
        check_refused(&f, edits[i].why);
    }
}

/* A segment put in before another one. */
static void test_header_segments(void **state)
{
    (void)state;
    static const struct {
        unsigned before;
        const char *bytes;
        size_t n;
        const char *why; /* NULL: passes */
    } edits[] = {
        {0xE0, "\xFF\xFE\0\4hi", 6, NULL},
        {0xDA, "\xFF\xEF\0\2", 4, NULL},
        {0xDA, "\xFF\xDD\0\4\0\0", 6, NULL},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adobe\0d\0\0\0\0\1",
         16, NULL},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adobe\0d\0\0\0\0\0",
         16, "may not be YCbCr"},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adobe\0d\0\0\0\0\2",
         16, "may not be YCbCr"},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adoba\0d\0\0\0\0\0",
         16, NULL},
        {0xDA, "\xFF\xDD\0\5\0\0\0", 7, "restart interval of a wrong length"},
        {0xDA, "\xFF\xDD\0\4\0\0\xFF\xDD\0\4\0\0", 12, "restart interval defined twice"},
        {0xDA, "\xFF\xDD\0\4\0\1", 6, "restart marker missing"},
        {0xDA, "\xFF\xCC\0\4\0\0", 6, "not baseline"},
        {0xDA, "\xFF\xDC\0\4\0\x14", 6, "does not belong"},
        {0xDA, "\xFF\xDE\0\2", 4, "does not belong"},
        {0xDA, "\xFF\xDF\0\3\0", 5, "does not belong"},
        {0xDA, "\xFF\xF0\0\2", 4, "does not belong"},
        {0xDA, "\xFF\xD8", 2, "segment beyond the end"},
        {0xDA, "\xFF\xD0", 2, "segment beyond the end"},
        {0xDA, "\xFF\xD9", 2, "segment beyond the end"},
        {0xDA, "\xFF\1", 2, "segment beyond the end"},
        {0xDA, "\xFF", 1, "segment beyond the end"},
        {0xDA, "\0", 1, "bytes between segments"},
        {0xC0, "\xFF\xDA\0\3\0", 5, "scan before the frame header"},
        {0xDA, "\xFF\xC0\0\x0B\x08\0\1\0\1\1\1\x11\0", 13, "two frame headers"},
        {0xC0, "\xFF\xC0\0\x0E\x08\0\1\0\1\2\1\x11\0\2\x11\0", 16, "neither one component nor"},
        {0xC0, "\xFF\xC0\0\x0B\x08\xFF\xDD\0\1\1\1\x11\0", 13, "larger than libjpeg takes"},
        {0xC0, "\xFF\xC0\0\x0B\x08\0\1\xFF\xDD\1\1\x11\0", 13, "larger than libjpeg takes"},
        {0xC0, "\xFF\xC0\0\x0B\x08\0\1\0\1\1\1\x21\0", 13, "subsampling"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct jpeg_file f = make_jpeg(&kinds[2], 20, 20);
        splice(&f, find_segment(&f, edits[i].before, 0), 0, edits[i].bytes, edits[i].n);
        if (edits[i].why) {
            check_refused(&f, edits[i].why);
            continue;
        }
        check_passes(&f);
        free(f.bytes);
    }
}

/* Huffman tables that no component uses are held to the rules too. */
static void test_huffman_tables(void **state)
{
    (void)state;
    static const struct {
        uint8_t n_1, n_2, n_3; /* codes of 1, 2, 3 bits */
        const char *why;       /* NULL: passes */
    } tables[] = {
        {1, 0, 0, NULL},         {0, 3, 0, NULL},         {1, 1, 1, NULL},
        {2, 0, 0, "is no code"}, /* the second one is all ones, as libjpeg does not take it */
        {1, 2, 0, "is no code"}, {1, 1, 2, "is no code"}, {3, 0, 0, "is no code"},
        {0, 5, 0, "is no code"}, {0, 0, 0, "is no code"},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct jpeg_file f = make_jpeg(&kinds[4], 9, 9);
        size_t n = (size_t)tables[i].n_1 + tables[i].n_2 + tables[i].n_3;
        uint8_t segment[64] = {0xFF,          0xC4,         0, (uint8_t)(19 + n), 1, tables[i].n_1,
                               tables[i].n_2, tables[i].n_3};
        for (size_t j = 0; j < n; j++)
            segment[21 + j] = (uint8_t)j;
        splice(&f, find_segment(&f, 0xDA, 0), 0, segment, 21 + n);
        if (tables[i].why) {
            check_refused(&f, tables[i].why);
            continue;
        }
        check_passes(&f);
        free(f.bytes);
    }
}

static void test_other_files(void **state)
{
    (void)state;
    const struct jpeg_kind progressive = {.h = 2, .v = 2, .is_progressive = true};
    struct jpeg_file f = make_jpeg(&progressive, 20, 20), ids = make_jpeg(&kinds[0], 9, 9);
    struct ih_jpeg_plan plan;
    const char *reason = NULL;
    assert_false(ih_jpeg_walk_header(f.bytes, f.n, &plan, &reason));
    assert_non_null(strstr(reason, "not baseline"));
    check_refused(&f, "not baseline");
    assert_string_equal(why_not((const uint8_t *)"", 0), "no JPEG");
    assert_string_equal(why_not((const uint8_t *)"\xFF\xD8", 2), "end before the scan");
    assert_string_equal(why_not((const uint8_t *)"\xFF\xD9\0\0", 4), "no JPEG");
    /* Components named 0, 1, 2, as by some cameras, and R, G, B. */
    size_t frame = find_segment(&ids, 0xC0, 0), scan = find_segment(&ids, 0xDA, 0);
    for (size_t i = 0; i < 3; i++)
        ids.bytes[frame + 10 + 3 * i] = ids.bytes[scan + 5 + 2 * i] = (unsigned char)i;
    check_passes(&ids);
    for (size_t i = 0; i < 3; i++)
        ids.bytes[frame + 10 + 3 * i] = ids.bytes[scan + 5 + 2 * i] = (unsigned char)"RGB"[i];
    check_refused(&ids, "may not be YCbCr");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds_pass),
        cmocka_unit_test(test_larger_images_pass),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_header_bytes),
        cmocka_unit_test(test_header_segments),
        cmocka_unit_test(test_huffman_tables),
        cmocka_unit_test(test_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
