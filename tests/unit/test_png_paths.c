/* Sound PNGs of every kind: both paths give the same pixels, and the fast one takes the files it
 * should. The limits of the fast path, and what happens to a file that it gives up on. */
#include "tests/support/test.h"

#include "tests/support/png_both.h"
#include <dirent.h>
#include <unistd.h>

TEST(every_kind_filter_and_size)
{
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

TEST(every_split_of_the_stream)
{
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

TEST(compressed_images)
{
    for (size_t k = 0; k < N_KINDS; k++)
        for (int level = 0; level <= 9; level += 3) {
            struct bytes file = libpng_file(&kinds[k], 399, 41, level, 0);
            accepted_fast(&file, "compressed by libpng");
            free(file.p);
        }
}

/* zlib checks the window size, libdeflate does not. The fast path takes a stream with a small
 * window only if the image fits into it. */
TEST(small_windows)
{
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
        struct ih_reader src = {0};
        struct ih_error err;
        struct bytes file = {0};
        snprintf(path, sizeof path, "%s/%s/%s", tests ? tests : "tests", folder, name);
        assert_int_equal(ih_reader_open_path(&src, path, &err), IH_OK);
        assert_int_equal(ih_reader_read_all(&src, SIZE_MAX / 2, &file.p, &file.n, &err), IH_OK);
        if (file.n >= 8 && memcmp(file.p, "\x89PNG", 4) == 0) /* other formats have one path */
            both(&file, name);
        ih_reader_reset(&src);
        free(file.p);
        n++;
    }
    closedir(dir);
    return n;
}

TEST(samples_and_crashers)
{
    assert_true(both_of_folder("../samples", "", ".png") > 0);
    both_of_folder("crashers", "fuzz_png-", "");
    both_of_folder("crashers", "fuzz_decode-", "");
}

/* ---- limits of the fast path ---- */

/* Opens a pipe that holds a file. Returns the end to read, which the caller closes. */
static int open_pipe(struct ih_reader *src, const struct bytes *file)
{
    int ends[2];
    struct ih_error err;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], file->p, file->n), file->n);
    close(ends[1]);
    assert_int_equal(ih_reader_open_fd(src, ends[0], &err), IH_OK);
    return ends[0];
}

/* From memory, where the size is known, and from a pipe. */
TEST(limit)
{
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes file = random_file(&rgb, 60, 50, ANY_FILTER, false, 1000);
    size_t both_bytes = file.n + (60 * 3 + 1) * 50;
    for (int i = 0; i < 4; i++) {
        const bool is_below = i % 2 == 1, is_pipe = i >= 2;
        const struct ih_decode_options options = {.max_pixels = UINT64_MAX,
                                                  .whole_file_bytes_max = both_bytes - is_below};
        struct fast_path p = {.image = NULL};
        const int fd = is_pipe ? open_pipe(&p.src, &file) : -1;
        open_fast(&p, is_pipe ? NULL : &file, &options);
        assert_int_equal(p.image && ih_png_fast_load(p.image),
                         !is_below && ih_png_has_libdeflate());
        assert_true(p.file.capacity <= both_bytes);
        close_fast(&p);
        if (is_pipe)
            close(fd);
    }
    free(file.p);
}

/* When the budget runs out, at any point, libpng reads the held bytes and goes on with the pipe. */
TEST(budget_runs_out)
{
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes file = random_file(&rgb, 100, 140, ANY_FILTER, false, 1000);
    struct outcome expected = decode(&file, STREAMING, 7);
    assert_int_equal(expected.status, IH_OK);
    assert_true(file.n < 60000); /* fits into a pipe */
    for (uint64_t size = 0; size < 200000; size += 9973) {
        struct ih_reader src = {0};
        struct ih_budget budget;
        struct ih_error err;
        const struct ih_decode_options options = {.max_pixels = 1000 * 1000, .budget = &budget};
        struct ih_decode d;
        size_t n = 1, at = 0;
        uint8_t stripe[100 * 3 * 8];
        const int fd = open_pipe(&src, &file);
        ih_budget_init(&budget, size);
        assert_int_equal(ih_decode_open(&d, &src, &options, &err), IH_OK);
        while (n > 0) {
            assert_int_equal(ih_decode_read(&d, stripe, sizeof stripe / 3, &n, &err), IH_OK);
            assert_memory_equal(stripe, expected.pixels.p + at, 3 * n);
            at += 3 * n;
            assert_true(budget.taken_bytes <= size);
        }
        assert_int_equal(at, expected.pixels.n);
        ih_decode_close(&d);
        ih_budget_destroy(&budget);
        ih_reader_reset(&src);
        close(fd);
    }
    free(expected.pixels.p), free(file.p);
}

/* After a failure the held bytes are those of the file. */
TEST(bytes_are_restored)
{
    const struct kind rgb = {IH_PNG_RGB, 8};
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX};
    if (!ih_png_has_libdeflate())
        skip("no libdeflate in this build");
    for (size_t each = 1; each < 100; each += 7) {
        struct bytes rows = random_rows(&rgb, 9, 8, 0);
        rows.p[0] = 9; /* an unknown filter, found after the chunks were joined */
        struct bytes file = make_file(&rgb, 9, 8, &rows, false, each);
        struct fast_path p = {.image = NULL};
        open_fast(&p, &file, &options);
        assert_non_null(p.image);
        assert_false(ih_png_fast_load(p.image));
        assert_int_equal(p.file.size, file.n);
        assert_memory_equal(p.file.bytes, file.p, file.n);
        close_fast(&p);
        free(rows.p), free(file.p);
    }
}

/* Eight bytes cannot inflate to the 100 MB that the header claims, so no memory is taken. */
TEST(bomb)
{
    struct bytes file = {0};
    const struct bytes stream = {.p = (uint8_t[]){0x78, 0x01, 0x03, 0, 0, 0, 0, 1}, .n = 8};
    put_head(&file, 10000, 10000, 8, IH_PNG_GRAY);
    put_idats(&file, &stream, 0);
    put_chunk(&file, "IEND", NULL, 0);
    struct ih_budget budget;
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX, .budget = &budget};
    struct fast_path p = {.image = NULL};
    ih_budget_init(&budget, UINT64_MAX);
    open_fast(&p, &file, &options);
    assert_int_equal(p.image != NULL, ih_png_has_libdeflate());
    assert_true(budget.taken_bytes <= file.n);
    if (p.image)
        assert_false(ih_png_fast_load(p.image));
    close_fast(&p);
    ih_budget_destroy(&budget);
    free(file.p);
}
