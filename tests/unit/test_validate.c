/*
 * The validator of JPEG files: what must pass, and every reason to refuse. What passes must decode
 * on the CPU without an error, and the stream for the hardware decoders must decode to the same
 * pixels.
 */
#include "tests/support/test.h"

#include "tests/support/jpeg_validated.h"

TEST(all_kinds_pass)
{
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

/* Look-up tables of every size, and blocks without EOB. */
TEST(larger_images_pass)
{
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

TEST(plan)
{
    for (size_t k = 0; k < N_KINDS; k++) {
        struct jpeg_file f = make_jpeg(&kinds[k], 33, 18);
        struct ih_jpeg_plan plan;
        const unsigned long n = f.n;
        splice(&f, f.n, 0, "\xFF\xD8 thumbnail", 12); /* what follows EOI does not count */
        check_passes(&f);
        assert_int_equal(ih_jpeg_validate(f.bytes, f.n, &plan, used_workspace()),
                         IH_JPEG_REASON_NONE);
        assert_true(plan.stream_bytes < n); /* no JFIF marker */
        assert_int_equal(plan.width, 33);
        assert_int_equal(plan.height, 18);
        assert_int_equal(plan.n_components, kinds[k].is_gray ? 1 : 3);
        assert_int_equal(plan.chroma_h, kinds[k].h);
        assert_int_equal(plan.chroma_v, kinds[k].v);
        /* The header alone gives the same. */
        const size_t n_header = find_data(&f);
        assert_int_equal(ih_jpeg_validate_header(f.bytes, n_header, &plan), IH_JPEG_REASON_NONE);
        assert_int_equal(plan.width, 33);
        assert_int_not_equal(ih_jpeg_validate_header(f.bytes, n_header - 1, &plan),
                             IH_JPEG_REASON_NONE);
        free(f.bytes);
    }
}

/* One byte of a 4:2:0 file's header changed. */
TEST(header_bytes)
{
    static const struct {
        unsigned marker, nth, at; /* at: counted from the marker's 0xFF */
        uint8_t value;
        enum ih_jpeg_reason reason;
    } edits[] = {
        {0xC0, 0, 1, 0xC1, IH_JPEG_REASON_NOT_BASELINE},
        {0xC0, 0, 1, 0xC2, IH_JPEG_REASON_NOT_BASELINE},
        {0xC0, 0, 1, 0xC9, IH_JPEG_REASON_NOT_BASELINE},
        {0xC0, 0, 3, 16, IH_JPEG_REASON_FRAME_LENGTH},
        {0xC0, 0, 4, 12, IH_JPEG_REASON_DEPTH},
        {0xC0, 0, 6, 0, IH_JPEG_REASON_NO_PIXELS},
        {0xC0, 0, 8, 0, IH_JPEG_REASON_NO_PIXELS},
        {0xC0, 0, 9, 4, IH_JPEG_REASON_FRAME_LENGTH},
        {0xC0, 0, 11, 0x41, IH_JPEG_REASON_SUBSAMPLING},
        {0xC0, 0, 11, 0x24, IH_JPEG_REASON_SUBSAMPLING},
        {0xC0, 0, 11, 0x20, IH_JPEG_REASON_SUBSAMPLING},
        {0xC0, 0, 11, 0x32, IH_JPEG_REASON_SUBSAMPLING},
        {0xC0, 0, 12, 2, IH_JPEG_REASON_SCAN_QUANT},
        {0xC0, 0, 12, 200, IH_JPEG_REASON_SCAN_QUANT},
        {0xC0, 0, 13, 1, IH_JPEG_REASON_COMPONENT_ID},
        {0xC0, 0, 14, 0x21, IH_JPEG_REASON_SUBSAMPLING},
        {0xC0, 0, 17, 0x12, IH_JPEG_REASON_SUBSAMPLING},
        {0xDB, 0, 1, 0xDC, IH_JPEG_REASON_MARKER},
        {0xDB, 0, 3, 66, IH_JPEG_REASON_QUANT_SHORT},
        {0xDB, 0, 4, 0x10, IH_JPEG_REASON_QUANT_NUMBER},
        {0xDB, 0, 4, 4, IH_JPEG_REASON_QUANT_NUMBER},
        {0xDB, 0, 4, 1, IH_JPEG_REASON_QUANT_TWICE},
        {0xDB, 0, 20, 0, IH_JPEG_REASON_QUANT_ZERO},
        {0xC4, 0, 3, 18, IH_JPEG_REASON_CODES_SHORT},
        {0xC4, 0, 4, 0x20, IH_JPEG_REASON_CODES_NUMBER},
        {0xC4, 0, 4, 2, IH_JPEG_REASON_CODES_NUMBER},
        {0xC4, 0, 4, 1, IH_JPEG_REASON_CODES_TWICE},
        {0xC4, 0, 5, 3, IH_JPEG_REASON_CODES_SYMBOLS},
        {0xC4, 1, 21, 0x0B, IH_JPEG_REASON_CODES_INVALID}, /* AC of 11 bits */
        {0xC4, 1, 21, 0x10, IH_JPEG_REASON_CODES_INVALID}, /* EOB1 */
        {0xC4, 1, 21, 0x02, IH_JPEG_REASON_CODES_INVALID}, /* twice */
        {0xC4, 0, 21, 12, IH_JPEG_REASON_CODES_INVALID},   /* DC of 12 bits */
        {0xDA, 0, 3, 10, IH_JPEG_REASON_SCAN_COMPONENTS},
        {0xDA, 0, 4, 1, IH_JPEG_REASON_SCAN_COMPONENTS},
        {0xDA, 0, 5, 2, IH_JPEG_REASON_SCAN_ORDER},
        {0xDA, 0, 6, 0x20, IH_JPEG_REASON_SCAN_CODES},
        {0xDA, 0, 6, 0x02, IH_JPEG_REASON_SCAN_CODES},
        {0xDA, 0, 11, 1, IH_JPEG_REASON_SCAN_COEFFICIENTS},
        {0xDA, 0, 12, 62, IH_JPEG_REASON_SCAN_COEFFICIENTS},
        {0xDA, 0, 13, 1, IH_JPEG_REASON_SCAN_COEFFICIENTS},
        {0xE0, 0, 0, 0, IH_JPEG_REASON_BETWEEN_SEGMENTS},
        {0xE0, 0, 3, 1, IH_JPEG_REASON_SEGMENT_LENGTH}, /* a length below 2 */
        {0xE0, 0, 2, 0xFF, IH_JPEG_REASON_SEGMENT_LENGTH},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct jpeg_file f = make_jpeg(&kinds[2], 20, 20);
        f.bytes[find_segment(&f, edits[i].marker, edits[i].nth) + edits[i].at] = edits[i].value;
        check_refused(&f, edits[i].reason);
    }
}

/* A segment inserted before another one. */
TEST(header_segments)
{
    static const struct {
        unsigned before;
        const char *bytes;
        size_t n;
        enum ih_jpeg_reason reason;
    } edits[] = {
        {0xE0, "\xFF\xFE\0\4hi", 6, IH_JPEG_REASON_NONE},
        {0xDA, "\xFF\xEF\0\2", 4, IH_JPEG_REASON_NONE},
        {0xDA, "\xFF\xDD\0\4\0\0", 6, IH_JPEG_REASON_NONE},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adobe\0d\0\0\0\0\1",
         16, IH_JPEG_REASON_NONE},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adobe\0d\0\0\0\0\0",
         16, IH_JPEG_REASON_NOT_YCBCR},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adobe\0d\0\0\0\0\2",
         16, IH_JPEG_REASON_NOT_YCBCR},
        {0xDA,
         "\xFF\xEE\0\x0E"
         "Adoba\0d\0\0\0\0\0",
         16, IH_JPEG_REASON_NONE},
        {0xDA, "\xFF\xDD\0\5\0\0\0", 7, IH_JPEG_REASON_RESTART_LENGTH},
        {0xDA, "\xFF\xDD\0\4\0\0\xFF\xDD\0\4\0\0", 12, IH_JPEG_REASON_RESTART_TWICE},
        {0xDA, "\xFF\xDD\0\4\0\1", 6, IH_JPEG_REASON_DATA_LONG},
        {0xDA, "\xFF\xCC\0\4\0\0", 6, IH_JPEG_REASON_NOT_BASELINE},
        {0xDA, "\xFF\xDC\0\4\0\x14", 6, IH_JPEG_REASON_MARKER},
        {0xDA, "\xFF\xDE\0\2", 4, IH_JPEG_REASON_MARKER},
        {0xDA, "\xFF\xDF\0\3\0", 5, IH_JPEG_REASON_MARKER},
        {0xDA, "\xFF\xF0\0\2", 4, IH_JPEG_REASON_MARKER},
        {0xDA, "\xFF\xD8", 2, IH_JPEG_REASON_SEGMENT_LENGTH},
        {0xDA, "\xFF\xD0", 2, IH_JPEG_REASON_SEGMENT_LENGTH},
        {0xDA, "\xFF\xD9", 2, IH_JPEG_REASON_SEGMENT_LENGTH},
        {0xDA, "\xFF\1", 2, IH_JPEG_REASON_SEGMENT_LENGTH},
        {0xDA, "\xFF", 1, IH_JPEG_REASON_SEGMENT_LENGTH},
        {0xDA, "\0", 1, IH_JPEG_REASON_BETWEEN_SEGMENTS},
        {0xC0, "\xFF\xDA\0\3\0", 5, IH_JPEG_REASON_SCAN_BEFORE_FRAME},
        {0xDA, "\xFF\xC0\0\x0B\x08\0\1\0\1\1\1\x11\0", 13, IH_JPEG_REASON_FRAME_TWICE},
        {0xC0, "\xFF\xC0\0\x0E\x08\0\1\0\1\2\1\x11\0\2\x11\0", 16, IH_JPEG_REASON_COMPONENTS},
        {0xC0, "\xFF\xC0\0\x0B\x08\xFF\xDD\0\1\1\1\x11\0", 13, IH_JPEG_REASON_SIDE},
        {0xC0, "\xFF\xC0\0\x0B\x08\0\1\xFF\xDD\1\1\x11\0", 13, IH_JPEG_REASON_SIDE},
        {0xC0, "\xFF\xC0\0\x0B\x08\0\1\0\1\1\1\x21\0", 13, IH_JPEG_REASON_SUBSAMPLING}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct jpeg_file f = make_jpeg(&kinds[2], 20, 20);
        splice(&f, find_segment(&f, edits[i].before, 0), 0, edits[i].bytes, edits[i].n);
        check_refused(&f, edits[i].reason);
    }
}

/* The rules hold for Huffman tables that no component uses, too. */
TEST(huffman_tables)
{
    static const struct {
        uint8_t n_1, n_2, n_3; /* codes of 1, 2, 3 bits */
        enum ih_jpeg_reason reason;
    } tables[] = {
        {1, 0, 0, IH_JPEG_REASON_NONE},
        {0, 3, 0, IH_JPEG_REASON_NONE},
        {1, 1, 1, IH_JPEG_REASON_NONE},
        {2, 0, 0,
         IH_JPEG_REASON_CODES_INVALID}, /* the second one is all ones, which libjpeg refuses */
        {1, 2, 0, IH_JPEG_REASON_CODES_INVALID},
        {1, 1, 2, IH_JPEG_REASON_CODES_INVALID},
        {3, 0, 0, IH_JPEG_REASON_CODES_INVALID},
        {0, 5, 0, IH_JPEG_REASON_CODES_INVALID},
        {0, 0, 0, IH_JPEG_REASON_CODES_INVALID},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct jpeg_file f = make_jpeg(&kinds[4], 9, 9);
        size_t n = (size_t)tables[i].n_1 + tables[i].n_2 + tables[i].n_3;
        uint8_t segment[64] = {0xFF,          0xC4,         0, (uint8_t)(19 + n), 1, tables[i].n_1,
                               tables[i].n_2, tables[i].n_3};
        for (size_t j = 0; j < n; j++)
            segment[21 + j] = (uint8_t)j;
        splice(&f, find_segment(&f, 0xDA, 0), 0, segment, 21 + n);
        check_refused(&f, tables[i].reason);
    }
}

TEST(other_files)
{
    const struct jpeg_kind progressive = {.h = 2, .v = 2, .is_progressive = true};
    struct jpeg_file f = make_jpeg(&progressive, 20, 20), ids = make_jpeg(&kinds[0], 9, 9);
    check_refused(&f, IH_JPEG_REASON_NOT_BASELINE);
    assert_int_equal(validate((const uint8_t *)"", 0), IH_JPEG_REASON_NOT_JPEG);
    assert_int_equal(validate((const uint8_t *)"\xFF\xD8", 2), IH_JPEG_REASON_NO_SCAN);
    assert_int_equal(validate((const uint8_t *)"\xFF\xD9\0\0", 4), IH_JPEG_REASON_NOT_JPEG);
    /* Components with the ids 0, 1, 2, as some cameras write them, and R, G, B. */
    size_t frame = find_segment(&ids, 0xC0, 0), scan = find_segment(&ids, 0xDA, 0);
    for (size_t i = 0; i < 3; i++)
        ids.bytes[frame + 10 + 3 * i] = ids.bytes[scan + 5 + 2 * i] = (unsigned char)i;
    check_passes(&ids);
    for (size_t i = 0; i < 3; i++)
        ids.bytes[frame + 10 + 3 * i] = ids.bytes[scan + 5 + 2 * i] = (unsigned char)"RGB"[i];
    check_refused(&ids, IH_JPEG_REASON_NOT_YCBCR);
}
