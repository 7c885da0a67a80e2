/* Sound PNGs of every kind: both paths give the same pixels, and the fast one takes the files it
 * should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/png_both.h"

#include <dirent.h>

static void test_every_kind_filter_and_size(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, 1}, {2, 3}, {3, 2},  {5, 4},  {7, 7},
                                        {8, 1}, {9, 5}, {16, 2}, {17, 9}, {31, 3}};
    for (size_t k = 0; k < N_KINDS; k++)
        for (unsigned filter = 0; filter <= ANY_FILTER; filter++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                for (int trns = 0; trns <= (kinds[k].colour < 4); trns++) {
                    char what[80];
                    snprintf(what, sizeof what, "colour %u, depth %u, filter %u, %ux%u, tRNS %d",
                             kinds[k].colour, kinds[k].depth, filter, sizes[s][0], sizes[s][1],
                             trns);
                    struct bytes file = random_file(&kinds[k], sizes[s][0], sizes[s][1], filter,
                                                    trns, s % 2 ? 0 : 11 + s);
                    accepted_fast(&file, what);
                    free(file.p);
                }
}

static void test_every_split_of_the_stream(void **state)
{
    (void)state;
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes rows = random_rows(&rgb, 3, 4, ANY_FILTER);
    for (size_t each = 1; each < rows.n + 20; each++) {
        char what[40];
        snprintf(what, sizeof what, "IDAT chunks of %zu", each);
        struct bytes file = make_file(&rgb, 3, 4, &rows, false, each);
        accepted_fast(&file, what);
        free(file.p);
    }
    free(rows.p);
}

/* ---- images compressed by libpng ---- */

static struct bytes libpng_file(const struct kind *kind, uint32_t width, uint32_t height, int level,
                                int window_bits)
{
    struct bytes file = {0};
    png_color colours[256] = {{0}};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    write_png_to(png, &file);
    png_set_IHDR(png, info, width, height, (int)kind->depth, (int)kind->colour, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    png_set_compression_level(png, level);
    if (window_bits)
        png_set_compression_window_bits(png, window_bits);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS);
    if (kind->colour == IH_PNG_PALETTE)
        png_set_PLTE(png, info, colours, 1 << kind->depth);
    png_write_info(png, info);
    for (uint32_t y = 0; y < height; y++) {
        uint8_t row[400 * 8];
        for (uint32_t i = 0; i < sizeof row; i++) /* a slope with noise */
            row[i] = (uint8_t)(i / 3 + 2 * y + next_random() % 5);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return file;
}

static void test_compressed_images(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_KINDS; k++)
        for (int level = 0; level <= 9; level += 3) {
            struct bytes file = libpng_file(&kinds[k], 399, 41, level, 0);
            accepted_fast(&file, "compressed by libpng");
            free(file.p);
        }
}

/* zlib checks the window size, libdeflate does not. The fast path takes a stream with a small
 * window only if the image fits into it. */
static void test_small_windows(void **state)
{
    (void)state;
    const struct kind gray = {IH_PNG_GRAY, 8};
    for (int bits = 9; bits <= 15; bits++) {
        struct bytes large = libpng_file(&gray, 399, 90, 6, bits);
        struct bytes small = libpng_file(&gray, 19, 9, 6, bits);
        accepted(&large, "large image, small window");
        accepted_fast(&small, "small image, small window");
        assert_int_equal(is_taken(&large), bits == 15 && ih_png_has_libdeflate());
        free(large.p);
        free(small.p);
    }
}

/* ---- files ---- */

/* Calls both() for the files of a folder, named relative to tests/. Returns their number. */
static unsigned both_of_folder(const char *folder, const char *prefix, const char *suffix)
{
    const char *tests = getenv("TESTS");
    char path[4096];
    unsigned n = 0;
    snprintf(path, sizeof path, "%s/%s", tests ? tests : "tests", folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        const char *name = entry->d_name;
        size_t length = strlen(name), end = strlen(suffix);
        if (strncmp(name, prefix, strlen(prefix)) != 0 || length < end ||
            strcmp(name + length - end, suffix) != 0)
            continue;
        struct ih_source src = {0};
        struct ih_error err;
        struct bytes file = {0};
        snprintf(path, sizeof path, "%s/%s/%s", tests ? tests : "tests", folder, name);
        assert_int_equal(ih_source_open_path(&src, path, &err), IH_OK);
        assert_int_equal(ih_source_read_all(&src, SIZE_MAX / 2, &file.p, &file.n, &err), IH_OK);
        if (file.n >= 8 && memcmp(file.p, "\x89PNG", 4) == 0) /* other formats have one path */
            both(&file, name);
        ih_source_reset(&src);
        free(file.p);
        n++;
    }
    closedir(dir);
    return n;
}

static void test_samples_and_crashers(void **state)
{
    (void)state;
    assert_true(both_of_folder("../samples", "", ".png") > 0);
    both_of_folder("crashers", "fuzz_png-", "");
    both_of_folder("crashers", "fuzz_decode-", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_filter_and_size),
        cmocka_unit_test(test_every_split_of_the_stream),
        cmocka_unit_test(test_compressed_images),
        cmocka_unit_test(test_small_windows),
        cmocka_unit_test(test_samples_and_crashers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
