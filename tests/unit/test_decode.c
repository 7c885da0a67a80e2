/*
 * Rules for every format: content determines the format, limits apply before memory is allocated,
 * and stripes of any size give the same pixels. PNM represents the formats; raw samples are tested
 * too.
 */
#include "tests/support/decoded.h"

TEST(unknown)
{
    assert_refused(BYTES(""), IH_UNKNOWN, "empty");
    assert_refused(BYTES("\n"), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("some text, and more of it\n"), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("GIF88a\1\0\1\0\0\0\0;"), IH_UNKNOWN, "not an image");
    static const uint8_t zeros[4096];
    assert_refused(zeros, sizeof zeros, IH_UNKNOWN, "not an image");
}

/* Text that starts like a signature, and signatures that are cut too short. */
TEST(almost_known)
{
    assert_refused(BYTES("BMW drivers\n and others there are"), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("P1 is the first of the pages"), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("\xFF\xD8"), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("\x89PN"), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("8BP"), IH_UNKNOWN, "not an image");
}

/* A file that holds little more than a signature is damaged. The second PNG has a signature that a
 * text transfer has changed. */
TEST(signature_alone)
{
    assert_refused(BYTES("\x89PNG\r\n"), IH_CORRUPT, "damaged PNG");
    assert_refused(BYTES("\x89PNG\n\x1A\n____________"), IH_CORRUPT, "damaged PNG");
    assert_refused(BYTES("8BPS"), IH_CORRUPT, "damaged PSD");
    assert_refused(BYTES("P5\n"), IH_CORRUPT, "damaged PNM");
    assert_refused(BYTES("\xFF\xD8\xFF"), IH_CORRUPT, "damaged JPEG");
}

TEST(every_decoder_is_described)
{
    assert_non_null(ih_decoders[0]);
    for (size_t i = 0; ih_decoders[i]; i++) {
        assert_true(strlen(ih_decoders[i]->name) > 0);
        assert_true(strlen(ih_decoders[i]->title) > 0);
        assert_true(strlen(ih_decoders[i]->version) > 0);
        assert_false(ih_decoders[i]->probe((const uint8_t *)"", 0));
    }
}

static enum ih_status status_of(const uint8_t *bytes, size_t size_bytes, uint64_t max_pixels)
{
    struct decoded d = decode(bytes, size_bytes, max_pixels, 1);
    free(d.pixels);
    return d.status;
}

TEST(max_pixels)
{
    assert_int_equal(status_of(BYTES("P5\n3 2\n255\nabcdef"), 6), IH_OK);
    assert_int_equal(status_of(BYTES("P5\n3 2\n255\nabcdef"), 5), IH_LIMIT);
    struct decoded d = decode(BYTES("P5\n3 2\n255\nabcdef"), 5, 1);
    assert_null(d.pixels);
    assert_non_null(strstr(d.error.message, "3 x 2"));
    assert_int_equal(d.error.limit, IH_LIMIT_MAX_PIXELS);
    assert_int_equal(d.error.limit_value, 5);
}

/* Width times height exceeds 64 bits. */
TEST(max_pixels_does_not_wrap)
{
    assert_int_equal(status_of(BYTES("P5\n4294967296 4294967297\n255\n"), UINT64_MAX >> 1),
                     IH_LIMIT);
    assert_int_equal(status_of(BYTES("P5\n1 9223372036854775808\n255\n"), UINT64_MAX >> 1),
                     IH_LIMIT);
}

TEST(row_too_wide)
{
    assert_int_equal(status_of(BYTES("P5\n67108865 1\n255\n"), UINT64_MAX), IH_LIMIT);
    assert_int_equal(status_of(BYTES("P6\n22369622 1\n255\n"), UINT64_MAX), IH_LIMIT);
    assert_int_equal(status_of(BYTES("P5\n33554433 1\n65535\n"), UINT64_MAX), IH_LIMIT);
    assert_int_equal(status_of(BYTES("P5\n33554433 1\n255\n"), UINT64_MAX),
                     IH_CORRUPT); /* no limit */
    assert_int_equal(status_of(BYTES("P5\n1 67108865\n255\n"), UINT64_MAX), IH_CORRUPT);
}

struct raw {
    enum ih_status status;
    uint64_t width, height;
    size_t n_pixels;
};

static struct raw decode_raw(const uint8_t *bytes, size_t size_bytes, unsigned n_channels,
                             uint64_t max_pixels, size_t capacity)
{
    const struct ih_decode_options options = {.max_pixels = max_pixels, .raw_channels = n_channels};
    struct raw out = {.status = IH_OK};
    struct ih_reader source = {0};
    struct ih_decode d;
    struct ih_error error;
    size_t n = 1;
    ih_reader_open_memory(&source, bytes, size_bytes);
    out.status = ih_decode_open(&d, &source, &options, &error);
    if (out.status != IH_OK) {
        ih_reader_reset(&source);
        return out;
    }
    uint8_t *stripe = malloc(capacity * n_channels);
    assert_non_null(stripe);
    assert_int_equal(d.info.layout.n_channels, n_channels);
    assert_true(ih_decode_row_bytes(&d) <= capacity * n_channels);
    while (n > 0 && (out.status = ih_decode_read(&d, stripe, capacity, &n, &error)) == IH_OK) {
        assert_memory_equal(stripe, bytes + out.n_pixels * n_channels, n * n_channels);
        out.n_pixels += n;
    }
    out.width = d.info.width;
    out.height = d.info.height;
    ih_decode_close(&d);
    ih_reader_reset(&source);
    free(stripe);
    return out;
}

TEST(raw)
{
    uint8_t bytes[24];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 11);
    for (unsigned n_channels = 1; n_channels <= IH_PIXEL_CHANNELS_MAX; n_channels++)
        for (size_t capacity = 1; capacity < 30; capacity++) {
            struct raw r = decode_raw(bytes, sizeof bytes, n_channels, MAX_PIXELS, capacity);
            assert_int_equal(r.status, IH_OK);
            assert_int_equal(r.n_pixels, sizeof bytes / n_channels);
            assert_int_equal(r.width, sizeof bytes / n_channels);
            assert_int_equal(r.height, 1);
        }
}

TEST(raw_half_a_pixel)
{
    for (size_t capacity = 1; capacity < 5; capacity++) {
        assert_int_equal(decode_raw(BYTES("abcde"), 2, MAX_PIXELS, capacity).status, IH_CORRUPT);
        assert_int_equal(decode_raw(BYTES("abcde"), 4, MAX_PIXELS, capacity).status, IH_CORRUPT);
    }
}

/* A decoder that returns as many pixels as its state states. */
static enum ih_status read_some(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                struct ih_error *err)
{
    size_t *n_left = state;
    *n_pixels = *n_left < capacity ? *n_left : capacity;
    memset(pixels, 0, *n_pixels);
    *n_left -= *n_pixels;
    return IH_OK;
}

/* An image with more or fewer pixels than its header states is refused. */
TEST(number_of_pixels)
{
    static const struct ih_decoder some = {.name = "some", .read = read_some};
    for (size_t n = 0; n <= 6; n++) {
        size_t n_left = n, n_read = 1;
        struct ih_reader src = {0};
        struct ih_decode d = {.decoder = &some, .state = &n_left, .src = &src, .max_pixels = 100};
        struct ih_error err = {0};
        uint8_t pixels[2];
        d.info = (struct ih_image_info){
            .format = "some", .width = 2, .height = 2, .layout = IH_LAYOUT(1), .source_depth = 8};
        enum ih_status status = IH_OK;
        while (status == IH_OK && n_read > 0)
            status = ih_decode_read(&d, pixels, sizeof pixels, &n_read, &err);
        assert_int_equal(status, n == 4 ? IH_OK : IH_CORRUPT);
        if (n != 4)
            assert_non_null(strstr(err.message, n < 4 ? "ends after" : "more than 4 pixels"));
    }
}
