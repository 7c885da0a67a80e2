/*
 * Replays what fuzzers found, and damages the samples, through the whole decode path.
 *
 * Nothing here asks what an image decodes to. The inputs must not crash, hang or break a promise of
 * decoder.h, which decode_all checks; the sanitizer builds see the rest.
 */
#include "tests/fuzz/decode_all.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PATH_SIZE = 4096 };

struct file {
    uint8_t *bytes; /* owned */
    size_t size;
};

static struct file load(const char *path)
{
    struct file file = {NULL, 0};
    struct ih_source src = {0};
    struct ih_error err;
    assert_int_equal(ih_source_open_path(&src, path, &err), IH_OK);
    assert_int_equal(ih_source_read_all(&src, SIZE_MAX / 2, &file.bytes, &file.size, &err), IH_OK);
    ih_source_close(&src);
    ih_source_reset(&src);
    return file;
}

/* A copy that ends where the data does, so that the address sanitizer sees a read past it. */
static void decode_part(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    decode_all(copy, size, MAX_PIXELS_SAMPLES, 0);
    free(copy);
}

typedef void check_function(const struct file *file);

/* Calls check for each file of a folder beside tests/ or below it; returns how many. */
static unsigned for_each(const char *folder, const char *prefix, check_function *check)
{
    const char *tests = getenv("TESTS");
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", tests ? tests : "tests", folder);
    DIR *dir = opendir(path);
    unsigned n = 0;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", tests ? tests : "tests", folder, entry->d_name);
        fprintf(stderr, "%s\n", path); /* the last one is the culprit */
        struct file file = load(path);
        check(&file);
        free(file.bytes);
        n++;
    }
    closedir(dir);
    return n;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crashers),
        cmocka_unit_test(test_samples_whole),
        cmocka_unit_test(test_samples_truncated),
        cmocka_unit_test(test_samples_damaged),
    };
    return cmocka_run_group_tests_name("crashers", tests, NULL, NULL);
}
