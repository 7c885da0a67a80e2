/*
 * Replays what fuzzers found, and damages the samples, through the whole decode path.
 *
 * Nothing here asks what an image decodes to. The inputs must not crash, hang or break a promise of
 * decoder.h, which decode_all checks; the sanitizer builds see the rest. The fuzzers that compare
 * are also given a few inputs made up here, so that they are tried where there is no clang.
 */
#define _GNU_SOURCE

#include "tests/fuzz/decode_all.h"
#include "tests/fuzz/every_source.h"

#include "tests/fuzz/hostile_decoder_process.h"
#include "tests/fuzz/left_out.h"
#include "tests/fuzz/list_walk.h"
#include "tests/fuzz/progressive.h" /* needs those before it */

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/support/each_file.h"

/* A copy that ends where the data does, so that the address sanitizer sees a read past it. */
static void decode_part(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    decode_all(copy, size, MAX_PIXELS_SAMPLES, 0);
    free(copy);
}

static void decode_whole(const struct file *file)
{
    decode_part(file->bytes, file->size);
}

/* As fuzz_decode does. */
static void replay(const struct file *file)
{
    decode_all(file->bytes, file->size, MAX_PIXELS_FUZZ, 0);
    decode_all(file->bytes, file->size, MAX_PIXELS_FUZZ, 1 + file->size % IH_CHANNELS_MAX);
}

/* Cut short at every length up to where headers end, then at a few more. */
static void truncate_at_many_lengths(const struct file *file)
{
    size_t step = 1;
    for (size_t size = 0; size < file->size; size += step) {
        decode_part(file->bytes, size);
        if (size >= 128)
            step = 1 + file->size / 16;
    }
}

/* One byte of the first kilobyte at a time, turned over. */
static void flip_bytes(const struct file *file)
{
    for (size_t i = 0; i < file->size && i < 1024; i += 1 + i / 16) {
        file->bytes[i] ^= 0xff;
        decode_part(file->bytes, file->size);
        file->bytes[i] ^= 0xff;
    }
}

static void test_crashers(void **state)
{
    (void)state;
    for_each("crashers", "fuzz_decode-", replay);
}

static void test_samples_whole(void **state)
{
    (void)state;
    assert_true(for_each("../samples", "", decode_whole) > 0);
}

static void test_samples_truncated(void **state)
{
    (void)state;
    assert_true(for_each("../samples", "", truncate_at_many_lengths) > 0);
}

static void test_samples_damaged(void **state)
{
    (void)state;
    assert_true(for_each("../samples", "", flip_bytes) > 0);
}

/* ---- file against memory against pipe ---- */

static unsigned n_sound;

static void count_from_all(const struct file *file)
{
    if (!is_left_out(file->bytes, file->size))
        n_sound += count_from_every_source(file->bytes, file->size, MAX_PIXELS_SAMPLES, 0) == IH_OK;
    check_progressive(file->bytes, file->size, MAX_PIXELS_SAMPLES);
}

/* As fuzz_memory does, and cut at places that a read ends at. */
static void replay_from_all(const struct file *file)
{
    if (is_left_out(file->bytes, file->size))
        return;
    n_sound += count_from_every_source(file->bytes, file->size, MAX_PIXELS_FUZZ, 0) == IH_OK;
    count_from_every_source(file->bytes, file->size, MAX_PIXELS_FUZZ, 1 + file->size % 4);
    check_progressive(file->bytes, file->size, MAX_PIXELS_FUZZ);
    for (size_t n = 1; n < file->size; n = n * 2 + 1)
        count_from_every_source(file->bytes, n, MAX_PIXELS_FUZZ, 0);
}

static void test_every_source(void **state)
{
    (void)state;
    n_sound = 0;
    for_each("crashers", "fuzz_memory-", replay_from_all);
    for_each("crashers", "fuzz_decode-", replay_from_all);
    for_each("formats/files", "", replay_from_all);
    for_each("../samples", "", count_from_all);
    assert_true(n_sound > 20);
}

/* ---- lists of paths ---- */

static void replay_list(const struct file *file)
{
    walk_list(file->bytes, file->size);
}

static void test_lists(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "a\n",           "\n\na",   "d\nd/\n./d\n", "-\n--\n",        "k\ngone\nd/l\ne\n",
        "d/.h\nd/b//\n", ".\na/\n", "a\r\nd\r\n",   "d/a.hist.png\n", "../a\n"};
    static const char with_nul[] = "a\0d\0\0k\n\n\0\ne\0a\nd";
    char text[200];
    for_each("crashers", "fuzz_lists-", replay_list);
    for (char flags = 0; flags < 4; flags++) {
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            int n = snprintf(text, sizeof text, "%c%s", flags, lists[i]);
            walk_list((const uint8_t *)text, (size_t)n);
            walk_list((const uint8_t *)text, (size_t)n - 1);
        }
        text[0] = flags;
        memcpy(text + 1, with_nul, sizeof with_nul);
        for (size_t n = 1; n < 1 + sizeof with_nul; n++)
            walk_list((const uint8_t *)text, n);
    }
}

/* ---- compromised decoder processes ---- */

static void replay_process(const struct file *file)
{
    face_hostile_process(file->bytes, file->size);
}

static void test_hostile_processes(void **state)
{
    (void)state;
    enum { KIND = 0, N = 1, WIDTH = 3, HEIGHT = 5, CHANNELS = 7, DEPTH = 8, RANDOM = 100 };
    uint8_t bytes[3 * RECORD_BYTES] = {0}, *opened = bytes, *pixels = bytes + RECORD_BYTES;
    uint8_t *done = pixels + RECORD_BYTES;
    for_each("crashers", "fuzz_decoder_process-", replay_process);
    opened[KIND] = IH_WIRE_OPENED;
    opened[WIDTH] = opened[HEIGHT] = 2;
    opened[CHANNELS] = 1;
    opened[DEPTH] = 8;
    pixels[KIND] = IH_WIRE_PIXELS;
    pixels[N] = 4;
    done[KIND] = IH_WIRE_DONE;
    assert_int_equal(face_hostile_process(bytes, sizeof bytes), IH_OK); /* it can be told right */
    assert_int_equal(face_hostile_process(bytes, sizeof bytes - RECORD_BYTES), IH_CORRUPT);
    opened[HEIGHT] = 1; /* more than it said */
    assert_int_equal(face_hostile_process(bytes, sizeof bytes), IH_CORRUPT);
    opened[HEIGHT] = 3; /* fewer */
    assert_int_equal(face_hostile_process(bytes, sizeof bytes), IH_CORRUPT);
    opened[WIDTH + 1] = opened[HEIGHT + 1] = 31;
    assert_int_equal(face_hostile_process(bytes, sizeof bytes), IH_LIMIT);
    uint32_t random = 2;
    for (unsigned i = 0; i < RANDOM; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            random = random * 1664525u + 1013904223u;
            bytes[k] = (uint8_t)(random >> 24 & (k % 2 ? 7 : 31));
        }
        face_hostile_process(bytes, sizeof bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crashers),          cmocka_unit_test(test_samples_whole),
        cmocka_unit_test(test_samples_truncated), cmocka_unit_test(test_samples_damaged),
        cmocka_unit_test(test_every_source),      cmocka_unit_test(test_lists),
        cmocka_unit_test(test_hostile_processes),
    };
    return cmocka_run_group_tests_name("crashers", tests, NULL, NULL);
}
