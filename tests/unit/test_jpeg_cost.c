/*
 * Progressive JPEG files with far more scans than any encoder writes are refused on the way. All
 * coefficients of the files are 0, so the files are small and each scan is nearly empty.
 */
#include "tests/support/test.h"

#include "tests/support/progressive.h"

static void put(struct jpeg_file *f, const char *bytes, size_t n)
{
    splice(f, f->n, 0, bytes, n);
}

static void put_zeros(struct jpeg_file *f, size_t n)
{
    char *zeros = calloc(n, 1);
    assert_non_null(zeros);
    put(f, zeros, n);
    free(zeros);
}

/* side: a multiple of 32. The first scan has the DC values of all components. The others have the
 * AC values of the first component: one after the other, then again with one more bit, all over
 * again from 126 scans. A code of one bit stands for DC 0, or with 14 more bits for 16384 empty
 * blocks. */
static struct jpeg_file make_empty_scans(unsigned side, unsigned n_components, unsigned n_scans)
{
    static const char codes[] = "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    const size_t n_blocks = (size_t)(side / 8) * (side / 8);
    const char frame[] = {'\xFF',     '\xC2',
                          0,          (char)(8 + 3 * n_components),
                          8,          (char)(side >> 8),
                          (char)side, (char)(side >> 8),
                          (char)side, (char)n_components};
    const char start[] = {'\xFF', '\xDA', 0, (char)(6 + 2 * n_components), (char)n_components};
    struct jpeg_file f = {malloc(1), 0};
    assert_non_null(f.bytes);
    put(&f, "\xFF\xD8\xFF\xDB\0\x43\0", 7);
    for (int i = 0; i < 64; i++)
        put(&f, "\1", 1);
    put(&f, frame, sizeof frame);
    for (unsigned i = 1; i <= n_components; i++)
        put(&f, (const char[]){(char)i, 0x11, 0}, 3);
    put(&f, "\xFF\xC4\0\x14\0", 5), put(&f, codes, 16), put(&f, "", 1);
    put(&f, "\xFF\xC4\0\x14\x10", 5), put(&f, codes, 16), put(&f, "\xE0", 1);
    put(&f, start, sizeof start);
    for (unsigned i = 1; i <= n_components; i++)
        put(&f, (const char[]){(char)i, 0}, 2);
    put(&f, "\0\0\0", 3);
    put_zeros(&f, n_blocks * n_components / 8);
    for (unsigned i = 0; i < n_scans - 1; i++) {
        const char k = (char)(i % 63 + 1), bits = i / 63 % 2 ? 0x10 : 1;
        put(&f, (const char[]){'\xFF', '\xDA', 0, 8, 1, 1, 0, k, k, bits}, 10);
        put_zeros(&f, ((n_blocks + 16383) / 16384 * 15 + 7) / 8);
    }
    put(&f, "\xFF\xD9", 2);
    return f;
}

struct cost_case {
    unsigned side, n_components, n_scans;
    const char *says; /* NULL: the file is sound */
};

/* Reads the first rows. */
static void check_case(const struct cost_case *k, enum opened opened, bool gives_pixels)
{
    struct jpeg_file f = make_empty_scans(k->side, k->n_components, k->n_scans);
    static uint8_t stripe[8 << 20];
    struct ih_budget budget;
    struct ih_reader src = {0};
    struct ih_decode d;
    struct ih_error err = {0};
    struct ih_planes planes;
    size_t n;
    int fd;
    if (opened != OPENED_MEMORY)
        write_file(path, f.bytes, f.n);
    ih_budget_init(&budget, (uint64_t)1 << 30);
    const struct ih_decode_options options = {
        .max_pixels = (uint64_t)1 << 30, .budget = &budget, .timeout_s = 1000, .is_lenient = true};
    open_source(&src, &f, opened, &fd);
    assert_int_equal(ih_decode_open(&d, &src, &options, &err), IH_OK);
    const size_t n_bytes = ih_decode_planes_bytes(&d);
    assert_true(gives_pixels || (n_bytes > 0 && n_bytes <= sizeof stripe));
    const enum ih_status status =
        gives_pixels ? ih_decode_read(&d, stripe, sizeof stripe / k->n_components, &n, &err)
                     : ih_decode_read_planes(&d, stripe, n_bytes, &planes, &err);
    if (k->says) {
        assert_int_equal(status, IH_LIMIT);
        assert_int_equal(err.limit, IH_LIMIT_NONE);
        assert_string_equal(err.message, k->says);
    } else {
        assert_int_equal(status, IH_OK);
        assert_int_equal(gives_pixels ? stripe[0] : planes.planes[0][0], 128);
    }
    ih_decode_close(&d);
    assert_int_equal(budget.taken_bytes, 0);
    ih_reader_reset(&src);
    if (fd >= 0)
        close(fd);
    ih_budget_destroy(&budget);
    free(f.bytes);
}

/* Small images may have 100 scans. */
TEST(small)
{
    static const struct cost_case cases[] = {
        {512, 1, 100, NULL},
        {512, 3, 100, NULL},
        {512, 1, 101, "JPEG with more than 100 scans"},
        {512, 3, 101, "JPEG with more than 100 scans"},
        {512, 3, 3000, "JPEG with more than 100 scans"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int opened = OPENED_PATH; opened <= OPENED_ONCE; opened++)
            for (int gives_pixels = cases[i].n_components == 1; gives_pixels <= 1; gives_pixels++)
                check_case(&cases[i], (enum opened)opened, gives_pixels);
}

/* Large ones may be passed over 32 times, or until 2^26 blocks have been visited. 6400 x 6400 gray
 * pixels are 640,000 blocks, and 100 * 640,000 < 2^26; 8192 x 8192 are 2^20, and 64 * 2^20 = 2^26.
 * In colour the scans after the first visit a third of the blocks. */
TEST(large)
{
    static const char refused[] = "JPEG whose scans pass over the image more than 64 times",
                      refused_by_half[] = "JPEG whose scans pass over the image more than 32 times";
    static const struct cost_case cases[] = {
        {8192, 1, 65, refused}, {16384, 1, 33, refused_by_half}, {8192, 3, 95, refused_by_half}};
    static const struct cost_case accepted = {6400, 1, 100, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int opened = OPENED_PATH; opened <= OPENED_MEMORY; opened++)
            for (int gives_pixels = cases[i].n_components == 1; gives_pixels <= 1; gives_pixels++)
                check_case(&cases[i], (enum opened)opened, gives_pixels);
    check_case(&cases[0], OPENED_ONCE, true);
    check_case(&accepted, OPENED_PATH, true);
}

/* The limits themselves, without files: the scans of real encoders are far below them. */
TEST(limits)
{
    struct jpeg_file f = make_empty_scans(16384, 3, 1);
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    struct ih_error err;
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, f.bytes, f.n);
    jpeg_read_header(&c, TRUE);
    for (unsigned components = 1; components <= 7; components++) {
        struct ih_jpeg_cost cost = {0};
        const unsigned n_in_scan = (components & 1) + (components >> 1 & 1) + (components >> 2);
        const unsigned n_passes = 32 * 3 / n_in_scan, n_max = n_passes < 100 ? n_passes : 100;
        for (unsigned i = 0; i < n_max; i++)
            assert_int_equal(ih_jpeg_cost_add(&cost, &c, components, &err), IH_OK);
        assert_int_equal(ih_jpeg_cost_add(&cost, &c, components, &err), IH_LIMIT);
    }
    jpeg_destroy_decompress(&c);
    free(f.bytes);
}

PROGRAM_WITH(make_path, remove_path)
