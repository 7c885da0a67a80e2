/*
 * The plan of a JPEG file: which headers the kernels take, and every reason to leave a file to the
 * CPU. What is taken has libjpeg's planes.
 */
#include "tests/support/test.h"

#include "tests/support/jpeg_batch.h"
#include "tests/support/jpeg_files.h"

static const struct jpeg_kind colour = {.h = 2, .v = 2}, gray = {.h = 1, .v = 1, .is_gray = true};

/* Frees f. */
static void check_reason(struct jpeg_file *f, enum ih_jpeg_reason expected)
{
    const struct outcome o = decode_alone(f->bytes, f->n);
    if (o.reason != expected)
        fail_msg("'%s' instead of '%s'", ih_jpeg_reason_text(o.reason),
                 ih_jpeg_reason_text(expected));
    assert_int_equal(o.faults, 0);
    free(f->bytes);
}

/* One byte of a 4:2:0 file's header changed. */
TEST(header_bytes)
{
    static const struct {
        unsigned marker, nth, at; /* at: counted from the marker's 0xFF */
        uint8_t value;
        enum ih_jpeg_reason reason;
    } edits[] = {
        {0xC0, 0, 1, 0xC1, IH_JPEG_REASON_NONE},
        {0xC0, 0, 1, 0xC2, IH_JPEG_REASON_SCANS},
        {0xC0, 0, 1, 0xC9, IH_JPEG_REASON_KIND},
        {0xC0, 0, 3, 16, IH_JPEG_REASON_HEADER},
        {0xC0, 0, 4, 12, IH_JPEG_REASON_KIND},
        {0xC0, 0, 6, 0, IH_JPEG_REASON_HEADER},
        {0xC0, 0, 8, 0, IH_JPEG_REASON_HEADER},
        {0xC0, 0, 9, 4, IH_JPEG_REASON_HEADER},
        {0xC0, 0, 11, 0x41, IH_JPEG_REASON_COLOURS},
        {0xC0, 0, 11, 0x24, IH_JPEG_REASON_COLOURS},
        {0xC0, 0, 11, 0x20, IH_JPEG_REASON_COLOURS},
        {0xC0, 0, 11, 0x32, IH_JPEG_REASON_COLOURS},
        {0xC0, 0, 12, 2, IH_JPEG_REASON_HEADER},
        {0xC0, 0, 12, 200, IH_JPEG_REASON_HEADER},
        {0xC0, 0, 13, 1, IH_JPEG_REASON_HEADER},
        {0xC0, 0, 14, 0x21, IH_JPEG_REASON_COLOURS},
        {0xC0, 0, 17, 0x12, IH_JPEG_REASON_COLOURS},
        {0xDB, 0, 1, 0xDC, IH_JPEG_REASON_HEADER},
        {0xDB, 0, 3, 66, IH_JPEG_REASON_HEADER},
        {0xDB, 0, 4, 0x10, IH_JPEG_REASON_HEADER},
        {0xDB, 0, 4, 4, IH_JPEG_REASON_HEADER},
        {0xDB, 0, 4, 1, IH_JPEG_REASON_HEADER},
        {0xDB, 0, 20, 0, IH_JPEG_REASON_HEADER},
        {0xC4, 0, 3, 18, IH_JPEG_REASON_HEADER},
        {0xC4, 0, 4, 0x20, IH_JPEG_REASON_HEADER},
        {0xC4, 0, 4, 2, IH_JPEG_REASON_HEADER},
        {0xC4, 0, 4, 1, IH_JPEG_REASON_HEADER},
        {0xC4, 0, 5, 3, IH_JPEG_REASON_HEADER},
        {0xC4, 1, 21, 0x0B, IH_JPEG_REASON_HEADER}, /* AC of 11 bits */
        {0xC4, 1, 21, 0x10, IH_JPEG_REASON_HEADER}, /* EOB1 */
        {0xC4, 0, 21, 12, IH_JPEG_REASON_HEADER},   /* DC of 12 bits */
        {0xDA, 0, 3, 10, IH_JPEG_REASON_HEADER},
        {0xDA, 0, 4, 1, IH_JPEG_REASON_HEADER},
        {0xDA, 0, 5, 2, IH_JPEG_REASON_HEADER},
        {0xDA, 0, 6, 0x20, IH_JPEG_REASON_HEADER},
        {0xDA, 0, 6, 0x02, IH_JPEG_REASON_HEADER},
        {0xDA, 0, 11, 1, IH_JPEG_REASON_HEADER},
        {0xDA, 0, 12, 62, IH_JPEG_REASON_HEADER},
        {0xDA, 0, 13, 1, IH_JPEG_REASON_HEADER},
        {0xE0, 0, 0, 0, IH_JPEG_REASON_HEADER},
        {0xE0, 0, 3, 1, IH_JPEG_REASON_HEADER}, /* a length below 2 */
        {0xE0, 0, 2, 0xFF, IH_JPEG_REASON_HEADER},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct jpeg_file f = make_jpeg(&colour, 20, 20);
        f.bytes[find_segment(&f, edits[i].marker, edits[i].nth) + edits[i].at] = edits[i].value;
        check_reason(&f, edits[i].reason);
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
    } edits[] = {{0xE0, "\xFF\xFE\0\4hi", 6, IH_JPEG_REASON_NONE},
                 {0xDA, "\xFF\xEF\0\2", 4, IH_JPEG_REASON_NONE},
                 {0xDA, "\xFF\xDD\0\4\0\0", 6, IH_JPEG_REASON_NONE},
                 {0xDA,
                  "\xFF\xEE\0\x0E"
                  "Adobe\0d\0\0\0\0\1",
                  16, IH_JPEG_REASON_NONE},
                 {0xDA,
                  "\xFF\xEE\0\x0E"
                  "Adobe\0d\0\0\0\0\0",
                  16, IH_JPEG_REASON_COLOURS},
                 {0xDA,
                  "\xFF\xEE\0\x0E"
                  "Adobe\0d\0\0\0\0\2",
                  16, IH_JPEG_REASON_COLOURS},
                 {0xDA,
                  "\xFF\xEE\0\x0E"
                  "Adoba\0d\0\0\0\0\0",
                  16, IH_JPEG_REASON_NONE},
                 {0xDA, "\xFF\xDD\0\5\0\0\0", 7, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xDD\0\4\0\0\xFF\xDD\0\4\0\0", 12, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xDD\0\4\0\1", 6, IH_JPEG_REASON_DATA},
                 {0xDA, "\xFF\xCC\0\4\0\0", 6, IH_JPEG_REASON_KIND},
                 {0xDA, "\xFF\xDC\0\4\0\x14", 6, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xDE\0\2", 4, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xDF\0\3\0", 5, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xF0\0\2", 4, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xD8", 2, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xD0", 2, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xD9", 2, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\1", 2, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF", 1, IH_JPEG_REASON_HEADER},
                 {0xDA, "\0", 1, IH_JPEG_REASON_HEADER},
                 {0xC0, "\xFF\xDA\0\3\0", 5, IH_JPEG_REASON_HEADER},
                 {0xDA, "\xFF\xC0\0\x0B\x08\0\1\0\1\1\1\x11\0", 13, IH_JPEG_REASON_HEADER},
                 {0xC0, "\xFF\xC0\0\x0E\x08\0\1\0\1\2\1\x11\0\2\x11\0", 16, IH_JPEG_REASON_COLOURS},
                 {0xC0, "\xFF\xC0\0\x0B\x08\xFF\xDD\0\1\1\1\x11\0", 13, IH_JPEG_REASON_HEADER},
                 {0xC0, "\xFF\xC0\0\x0B\x08\0\1\xFF\xDD\1\1\x11\0", 13, IH_JPEG_REASON_HEADER},
                 {0xC0, "\xFF\xC0\0\x0B\x08\0\1\0\1\1\1\x21\0", 13, IH_JPEG_REASON_HEADER}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct jpeg_file f = make_jpeg(&colour, 20, 20);
        splice(&f, find_segment(&f, edits[i].before, 0), 0, edits[i].bytes, edits[i].n);
        check_reason(&f, edits[i].reason);
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
        {2, 0, 0, IH_JPEG_REASON_HEADER}, /* the second one is all ones, which libjpeg refuses */
        {1, 2, 0, IH_JPEG_REASON_HEADER},
        {1, 1, 2, IH_JPEG_REASON_HEADER},
        {3, 0, 0, IH_JPEG_REASON_HEADER},
        {0, 5, 0, IH_JPEG_REASON_HEADER},
        {0, 0, 0, IH_JPEG_REASON_HEADER},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct jpeg_file f = make_jpeg(&gray, 9, 9);
        size_t n = (size_t)tables[i].n_1 + tables[i].n_2 + tables[i].n_3;
        uint8_t segment[64] = {0xFF,          0xC4,         0, (uint8_t)(19 + n), 1, tables[i].n_1,
                               tables[i].n_2, tables[i].n_3};
        for (size_t j = 0; j < n; j++)
            segment[21 + j] = (uint8_t)j;
        splice(&f, find_segment(&f, 0xDA, 0), 0, segment, 21 + n);
        check_reason(&f, tables[i].reason);
    }
}

TEST(other_files)
{
    const struct jpeg_kind progressive = {.h = 2, .v = 2, .is_progressive = true};
    struct jpeg_file f = make_jpeg(&progressive, 20, 20), ids = make_jpeg(&colour, 9, 9);
    struct jpeg_file rgb = copy_jpeg(&ids);
    f.bytes[find_segment(&f, 0xC2, 0) + 1] = 0xCA; /* arithmetic codes */
    check_reason(&f, IH_JPEG_REASON_KIND);
    assert_int_equal(decode_alone((const uint8_t *)"", 0).reason, IH_JPEG_REASON_HEADER);
    assert_int_equal(decode_alone((const uint8_t *)"\xFF\xD8", 2).reason, IH_JPEG_REASON_HEADER);
    assert_int_equal(decode_alone((const uint8_t *)"\xFF\xD9\0\0", 4).reason,
                     IH_JPEG_REASON_HEADER);
    /* Components with the ids 0, 1, 2, as some cameras write them, and R, G, B. */
    size_t frame = find_segment(&ids, 0xC0, 0), scan = find_segment(&ids, 0xDA, 0);
    for (size_t i = 0; i < 3; i++) {
        ids.bytes[frame + 10 + 3 * i] = ids.bytes[scan + 5 + 2 * i] = (unsigned char)i;
        rgb.bytes[frame + 10 + 3 * i] = rgb.bytes[scan + 5 + 2 * i] = (unsigned char)"RGB"[i];
    }
    check_reason(&ids, IH_JPEG_REASON_NONE);
    check_reason(&rgb, IH_JPEG_REASON_COLOURS);
}

/* What a session reserves covers what a batch takes, for every size and kind. */
TEST(gpu_bytes)
{
    const struct jpeg_kind kinds[] = {colour, gray, {.h = 2, .v = 1, .restart_interval = 1}};
    for (unsigned i = 0; i < 60; i++) {
        struct jpeg_file f = make_jpeg(&kinds[i % 3], 1 + i * i, 1 + i * 7);
        struct ih_gpu_jpeg_batch b;
        struct ih_jpeg_plan plan;
        void *memory = malloc(ih_jpeg_batch_bytes());
        ih_jpeg_batch_begin(&b, memory);
        assert_int_equal(ih_jpeg_plan_make(&plan, f.bytes, f.n), IH_JPEG_REASON_NONE);
        assert_true(ih_jpeg_batch_add(&b, &plan, 0));
        const uint64_t n =
            b.bits_bytes + b.planes_bytes + 6 * (uint64_t)b.n_blocks +
            (uint64_t)b.n_subsequences * (2 * IH_JPEG_SUBSEQUENCE_AC + 64 + 12 + 8 + 4) +
            4 * (uint64_t)b.n_chunks + 8 * (uint64_t)b.n_intervals;
        assert_true(n <= ih_jpeg_plan_gpu_bytes(&plan));
        ih_jpeg_plan_reset(&plan);
        free(memory);
        free(f.bytes);
    }
}
