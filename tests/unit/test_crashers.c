/*
 * Replays inputs that fuzzers found, and decodes damaged samples.
 *
 * The pixels do not matter here. The inputs must not crash, hang or break the contract in
 * decoder.h, which decode_all checks; the sanitizer builds check memory. Some inputs are made here,
 * so that the fuzzers' own code also runs on machines without clang.
 */
#define _GNU_SOURCE
#include "tests/support/test.h"

#include "tests/fuzz/decode_all.h"
#include "tests/fuzz/every_source.h"

#include "tests/fuzz/hostile_decoder_process.h"
#include "tests/fuzz/left_out.h"
#include "tests/fuzz/list_walk.h"
#include "tests/fuzz/progressive.h" /* needs those before it */

#include "tests/support/each_file.h"

/* Decodes a copy without slack, so that the address sanitizer catches a read past the end. */
static void decode_part(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    decode_all(copy, size, MAX_PIXELS_SAMPLES, 0);
    free(copy);
}

static void decode_file(const struct file *file)
{
    decode_part(file->bytes, file->size);
}

/* Same as fuzz_decode. */
static void replay(const struct file *file)
{
    decode_all(file->bytes, file->size, MAX_PIXELS_FUZZ, 0);
    decode_all(file->bytes, file->size, MAX_PIXELS_FUZZ, 1 + file->size % IH_PIXEL_CHANNELS_MAX);
}

/* Cuts the file at every length within the header, then at some more. */
static void truncate_at_many_lengths(const struct file *file)
{
    size_t step = 1;
    for (size_t size = 0; size < file->size; size += step) {
        decode_part(file->bytes, size);
        if (size >= 128)
            step = 1 + file->size / 16;
    }
}

/* Inverts one byte of the first kilobyte at a time. */
static void flip_bytes(const struct file *file)
{
    for (size_t i = 0; i < file->size && i < 1024; i += 1 + i / 16) {
        file->bytes[i] ^= 0xff;
        decode_part(file->bytes, file->size);
        file->bytes[i] ^= 0xff;
    }
}

TEST(crashers)
{
    for_each("crashers", "fuzz_decode-", replay);
}

TEST(samples_sound)
{
    assert_true(for_each("../samples", "", decode_file) > 0);
}

TEST(samples_truncated)
{
    assert_true(for_each("../samples", "", truncate_at_many_lengths) > 0);
}

TEST(samples_damaged)
{
    assert_true(for_each("../samples", "", flip_bytes) > 0);
}

static unsigned n_sound;

static void count_from_all(const struct file *file)
{
    if (!is_left_out(file->bytes, file->size))
        n_sound += count_from_every_source(file->bytes, file->size, MAX_PIXELS_SAMPLES, 0) == IH_OK;
    check_progressive(file->bytes, file->size, MAX_PIXELS_SAMPLES);
}

/* Same as fuzz_memory, and with the file cut at some places. */
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

TEST(every_source)
{
    n_sound = 0;
    for_each("crashers", "fuzz_memory-", replay_from_all);
    for_each("crashers", "fuzz_decode-", replay_from_all);
    for_each("formats/files", "", replay_from_all);
    for_each("../samples", "", count_from_all);
    assert_true(n_sound > 20);
}

static void replay_list(const struct file *file)
{
    walk_list(file->bytes, file->size);
}

TEST(lists)
{
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

static void replay_process(const struct file *file)
{
    face_hostile_process(file->bytes, file->size);
}

TEST(hostile_processes)
{
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
    assert_int_equal(face_hostile_process(bytes, sizeof bytes),
                     IH_OK); /* a correct answer is accepted */
    assert_int_equal(face_hostile_process(bytes, sizeof bytes - RECORD_BYTES), IH_CORRUPT);
    opened[N] = 1; /* no length of names of bands */
    assert_int_equal(face_hostile_process(bytes, sizeof bytes), IH_CORRUPT);
    opened[N] = IH_BAND_NAME_BYTES; /* with fewer bytes after them */
    assert_int_equal(face_hostile_process(bytes, sizeof bytes), IH_CORRUPT);
    opened[N] = 0;
    opened[HEIGHT] = 1; /* more pixels than announced */
    assert_int_equal(face_hostile_process(bytes, sizeof bytes), IH_CORRUPT);
    opened[HEIGHT] = 3; /* fewer pixels */
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
