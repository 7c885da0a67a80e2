/* JPEG XL files written by libjxl, sound and damaged. */
#include "tests/support/damage.h"
#include <jxl/encode.h>

enum { WIDTH = 23, HEIGHT = 14, N = WIDTH * HEIGHT, SIDE = 256, N_MOST = SIDE * SIDE };

struct file {
    size_t n;
    uint8_t bytes[1 << 18];
};

struct kind {
    unsigned n_channels, bits, alpha_bits; /* alpha_bits: 0: the same as bits */
    bool is_lossy, in_container, is_animated;
    bool has_every_value; /* SIDE x SIDE pixels with every sample value */
    JxlOrientation orientation;
};

static size_t n_pixels(const struct kind *k)
{
    return k->has_every_value ? N_MOST : N;
}

static unsigned value(const struct kind *k, size_t i, unsigned c)
{
    if (k->has_every_value)
        return (unsigned)i & ((1u << k->bits) - 1);
    return k->bits == 8 ? picture(i, c) : picture(i, c) * 257u % (1u << k->bits);
}

/* Writes samples for the encoder: 8 bits as they are, others scaled to 16 bits. */
static size_t fill(const struct kind *k, uint8_t *dst)
{
    static const unsigned flat[] = {200, 100, 50, 80};
    for (size_t i = 0; i < n_pixels(k) * k->n_channels; i++) {
        unsigned c = (unsigned)(i % k->n_channels);
        unsigned v = k->is_lossy ? flat[c] : value(k, i / k->n_channels, c);
        uint16_t deep =
            (uint16_t)((v * 65535ull * 2 + (1u << k->bits) - 1) / (2 * ((1ull << k->bits) - 1)));
        if (k->bits == 8)
            dst[i] = (uint8_t)v;
        else
            memcpy(dst + 2 * i, &deep, 2);
    }
    return n_pixels(k) * k->n_channels * (k->bits == 8 ? 1 : 2);
}

static void write_file(struct file *f, const struct kind *k)
{
    static uint8_t pixels[N_MOST * 2];
    JxlPixelFormat format = {k->n_channels, k->bits == 8 ? JXL_TYPE_UINT8 : JXL_TYPE_UINT16,
                             JXL_NATIVE_ENDIAN, 0};
    JxlBasicInfo info;
    JxlColorEncoding colours;
    JxlEncoder *encoder = JxlEncoderCreate(NULL);
    JxlEncoderInitBasicInfo(&info);
    info.xsize = k->has_every_value ? SIDE : WIDTH;
    info.ysize = k->has_every_value ? SIDE : HEIGHT;
    info.bits_per_sample = k->bits;
    info.num_color_channels = k->n_channels < 3 ? 1 : 3;
    info.num_extra_channels = k->n_channels % 2 == 0;
    info.alpha_bits = !info.num_extra_channels ? 0 : k->alpha_bits ? k->alpha_bits : k->bits;
    info.uses_original_profile = !k->is_lossy;
    info.orientation = k->orientation ? k->orientation : JXL_ORIENT_IDENTITY;
    info.have_animation = k->is_animated;
    info.animation.tps_numerator = info.animation.tps_denominator = 1;
    JxlEncoderUseContainer(encoder, k->in_container);
    assert_int_equal(JxlEncoderSetBasicInfo(encoder, &info), JXL_ENC_SUCCESS);
    JxlColorEncodingSetToSRGB(&colours, info.num_color_channels == 1);
    assert_int_equal(JxlEncoderSetColorEncoding(encoder, &colours), JXL_ENC_SUCCESS);
    JxlEncoderFrameSettings *settings = JxlEncoderFrameSettingsCreate(encoder, NULL);
    JxlEncoderSetFrameLossless(settings, !k->is_lossy);
    for (int frame = 0; frame <= k->is_animated; frame++) {
        JxlFrameHeader header;
        JxlEncoderInitFrameHeader(&header);
        header.duration = 1;
        if (k->is_animated)
            assert_int_equal(JxlEncoderSetFrameHeader(settings, &header), JXL_ENC_SUCCESS);
        size_t n = fill(k, pixels);
        if (frame > 0)
            memset(pixels, 0, n);
        assert_int_equal(JxlEncoderAddImageFrame(settings, &format, pixels, n), JXL_ENC_SUCCESS);
    }
    JxlEncoderCloseInput(encoder);
    uint8_t *next = f->bytes;
    size_t left = sizeof f->bytes;
    assert_int_equal(JxlEncoderProcessOutput(encoder, &next, &left), JXL_ENC_SUCCESS);
    f->n = sizeof f->bytes - left;
    JxlEncoderDestroy(encoder);
}

static void assert_kind(const struct kind *k)
{
    static struct file f;
    static uint8_t expected[N_MOST];
    write_file(&f, k);
    unsigned max = (1u << k->bits) - 1;
    for (size_t i = 0; i < n_pixels(k) * k->n_channels; i++) {
        unsigned v = value(k, i / k->n_channels, (unsigned)(i % k->n_channels));
        expected[i] = (uint8_t)((v * 510ull + max) / (2ull * max));
    }
    assert_decodes(f.bytes, f.n, "jxl", k->has_every_value ? SIDE : WIDTH,
                   k->has_every_value ? SIDE : HEIGHT, k->n_channels, expected);
    struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
    assert_int_equal(d.info.source_depth, k->bits);
    free(d.pixels);
}

/* Rounding to 8 bits is exact for every value of every depth. */
TEST(every_value)
{
    for (unsigned bits = 1; bits <= 16; bits++)
        assert_kind(&(struct kind){.n_channels = 1, .bits = bits, .has_every_value = true});
}

/* The range applies to colours of 16 bits alone. */
TEST(range)
{
    static struct file f;
    const struct ih_sample_range range = {100, 4195};
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS, .sample_range = range};
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        for (unsigned bits = 15; bits <= 16; bits++) {
            const struct kind k = {.n_channels = n_channels, .bits = bits};
            const unsigned n_colours = n_channels < 3 ? 1 : 3, max = (1u << bits) - 1;
            write_file(&f, &k);
            struct decoded d = decode_with(f.bytes, f.n, &options, ALL_ROWS);
            assert_int_equal(d.n_pixels, N);
            for (size_t i = 0; i < N * n_channels; i++) {
                const unsigned v = value(&k, i / n_channels, (unsigned)(i % n_channels));
                const bool is_ranged = bits == 16 && i % n_channels < n_colours;
                const unsigned in = v < 100 ? 0 : v > 4195 ? 4095 : v - 100;
                assert_int_equal(d.pixels[i], is_ranged ? (in * 510 + 4095) / (2 * 4095)
                                                        : (v * 510 + max) / (2 * max));
            }
            free(d.pixels);
        }
    }
}

TEST(lossless)
{
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        for (unsigned bits = 1; bits <= 16; bits++)
            assert_kind(&(struct kind){.n_channels = n_channels, .bits = bits});
        assert_kind(&(struct kind){.n_channels = n_channels, .bits = 8, .in_container = true});
    }
    assert_kind(&(struct kind){.n_channels = 4, .bits = 8, .alpha_bits = 16});
    assert_kind(&(struct kind){.n_channels = 3, .bits = 8, .is_animated = true});
    assert_kind(&(struct kind){.n_channels = 3, .bits = 8, .orientation = JXL_ORIENT_ROTATE_90_CW});
}

TEST(damage)
{
    static struct file f;
    static const struct kind kinds[] = {{.n_channels = 4, .bits = 8},
                                        {.n_channels = 1, .bits = 8, .in_container = true},
                                        {.n_channels = 3, .bits = 8, .is_lossy = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        write_file(&f, &kinds[i]);
        assert_cuts_are_refused(f.bytes, f.n);
        assert_true(damage_each_byte(f.bytes, f.n) > 0);
    }
}

TEST(limits)
{
    static struct file f;
    write_file(&f, &(struct kind){.n_channels = 3, .bits = 8});
    struct decoded d = decode(f.bytes, f.n, N - 1, 1);
    assert_int_equal(d.status, IH_LIMIT);
    assert_budget(f.bytes, f.n, f.n + N * 3 * 9, IH_OK);
    assert_budget(f.bytes, f.n, f.n + N * 3 * 9 - 1, IH_LIMIT);
    write_file(&f, &(struct kind){.n_channels = 3, .bits = 12});
    assert_budget(f.bytes, f.n, f.n + N * 3 * 10, IH_OK);
    assert_budget(f.bytes, f.n, f.n + N * 3 * 10 - 1, IH_LIMIT);
}
