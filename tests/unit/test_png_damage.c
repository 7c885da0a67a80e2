/* Damaged PNGs: both paths give the same error, and the fast path takes none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/png_both.h"

static const struct kind damaged_kinds[] = {{0, 2}, {2, 8}, {3, 4}, {6, 16}};

static struct bytes file_to_damage(size_t k)
{
    struct bytes file = random_file(&damaged_kinds[k], 5, 3, ANY_FILTER, false, 40);
    struct bytes with_text = {0};
    put(&with_text, file.p, file.n - 12);
    put_chunk(&with_text, "tEXt", "Title\0x", 7);
    put(&with_text, file.p + file.n - 12, 12);
    free(file.p);
    return with_text;
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof damaged_kinds / sizeof *damaged_kinds; k++) {
        struct bytes file = file_to_damage(k);
        accepted_fast(&file, "complete");
        size_t n = file.n;
        for (file.n = 9; file.n < n; file.n++)
            refused(&file, "cut");
        free(file.p);
    }
}

/* Once with the wrong CRC, once with it corrected. */
static void test_each_byte_changed(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x04, 0x20, 0x80, 0xff};
    for (size_t k = 0; k < sizeof damaged_kinds / sizeof *damaged_kinds; k++) {
        struct bytes file = file_to_damage(k), changed = {0};
        put(&changed, file.p, file.n);
        for (size_t i = 8; i < file.n; i++)
            for (size_t m = 0; m < sizeof masks; m++) {
                char what[60];
                snprintf(what, sizeof what, "byte %zu ^ %u", i, masks[m]);
                changed.p[i] = file.p[i] ^ masks[m];
                refused(&changed, what);
                mend_crcs(changed.p, changed.n);
                enum ih_status status = both(&changed, what);
                if (is_taken(&changed) && status != IH_OK)
                    fail_msg("%s: taken by the fast path", what);
                memcpy(changed.p, file.p, file.n);
            }
        free(file.p);
        free(changed.p);
    }
}

static void test_index_past_the_palette(void **state)
{
    (void)state;
    const struct kind palette = {IH_PNG_PALETTE, 8};
    for (uint8_t bad = 199; bad <= 200; bad++)
        for (int trns = 0; trns < 2; trns++) {
            struct bytes file = {0}, rows = {0};
            for (int i = 0; i < 6 * 41; i++) {
                const uint8_t v = i == 5 * 41 + 40 ? bad : 0;
                put(&rows, &v, 1);
            }
            struct bytes stream = zlib_stored(rows.p, rows.n, 65535);
            put_head(&file, 40, 6, 8, IH_PNG_PALETTE);
            put_palette(&file, 200);
            if (trns)
                put_transparency(&file, &palette);
            put_idats(&file, &stream, 0);
            put_chunk(&file, "IEND", NULL, 0);
            assert_int_equal(both(&file, "index"), bad < 200 ? IH_OK : IH_CORRUPT);
            free(file.p), free(rows.p), free(stream.p);
        }
}

/* ---- streams ---- */

enum { STREAM_WIDTH = 6, STREAM_HEIGHT = 5 };

/* An 8-bit gray image with this stream. */
static struct bytes file_of_stream(const struct bytes *stream, size_t each)
{
    struct bytes file = {0};
    put_head(&file, STREAM_WIDTH, STREAM_HEIGHT, 8, IH_PNG_GRAY);
    put_idats(&file, stream, each);
    put_chunk(&file, "IEND", NULL, 0);
    return file;
}

static void test_streams(void **state)
{
    (void)state;
    enum { N = (STREAM_WIDTH + 1) * STREAM_HEIGHT };
    uint8_t rows[N + STREAM_WIDTH + 1] = {0};
    struct bytes stream, file;
    /* too few and too many bytes, by one and by a row */
    static const size_t sizes[] = {0, N - STREAM_WIDTH - 1, N - 1, N, N + 1, N + STREAM_WIDTH + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t each = 0; each < 9; each += 4) {
            stream = zlib_stored(rows, sizes[i], 17);
            file = file_of_stream(&stream, each);
            if (sizes[i] == N)
                accepted_fast(&file, "the right number of bytes");
            else
                refused(&file, "a wrong number of bytes");
            free(file.p), free(stream.p);
        }
    /* every first two bytes: method, window, dictionary, check */
    for (unsigned v = 0; v < 65536; v += v % 31 == 30 ? 1 : 1 + v % 7) {
        stream = zlib_stored(rows, N, 65535);
        stream.p[0] = (uint8_t)(v >> 8);
        stream.p[1] = (uint8_t)v;
        file = file_of_stream(&stream, 0);
        both(&file, "zlib header");
        free(file.p), free(stream.p);
    }
    /* filters, known and unknown */
    for (unsigned filter = 0; filter < 256; filter++) {
        uint8_t one[N] = {0};
        one[2 * (STREAM_WIDTH + 1)] = (uint8_t)filter;
        stream = zlib_stored(one, N, 65535);
        file = file_of_stream(&stream, 0);
        if (filter < IH_PNG_FILTERS)
            accepted_fast(&file, "known filter");
        else
            refused(&file, "unknown filter");
        free(file.p), free(stream.p);
    }
    /* bytes after the end of the stream */
    for (size_t n = 1; n <= 5; n++) {
        stream = zlib_stored(rows, N, 65535);
        put(&stream, rows, n);
        file = file_of_stream(&stream, 0);
        refused(&file, "bytes after the stream");
        free(file.p), free(stream.p);
    }
}

/* ---- headers ---- */

static void test_headers(void **state)
{
    (void)state;
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes file = random_file(&rgb, 6, 5, ANY_FILTER, false, 0), changed = {0};
    put(&changed, file.p, file.n);
    for (size_t i = 16; i < 29; i++)
        for (unsigned v = 0; v < 256; v++) {
            char what[40];
            snprintf(what, sizeof what, "byte %zu is %u", i, v);
            changed.p[i] = (uint8_t)v;
            mend_crcs(changed.p, changed.n);
            both(&changed, what);
            memcpy(changed.p, file.p, file.n);
        }
    free(file.p), free(changed.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_each_byte_changed),
        cmocka_unit_test(test_index_past_the_palette),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
