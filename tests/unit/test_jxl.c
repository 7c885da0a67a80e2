/* JPEG XL files written by libjxl, sound and damaged. */
#include "tests/support/damage.h"
#include <jxl/encode.h>
#include <math.h>

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
    unsigned n_further; /* channels after the colours and alpha */
    JxlExtraChannelType further[3];
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
    info.num_extra_channels += k->n_further;
    info.uses_original_profile = !k->is_lossy;
    info.orientation = k->orientation ? k->orientation : JXL_ORIENT_IDENTITY;
    info.have_animation = k->is_animated;
    info.animation.tps_numerator = info.animation.tps_denominator = 1;
    JxlEncoderUseContainer(encoder, k->in_container);
    assert_int_equal(JxlEncoderSetBasicInfo(encoder, &info), JXL_ENC_SUCCESS);
    JxlColorEncodingSetToSRGB(&colours, info.num_color_channels == 1);
    assert_int_equal(JxlEncoderSetColorEncoding(encoder, &colours), JXL_ENC_SUCCESS);
    const unsigned n_alpha = k->n_channels % 2 == 0;
    for (unsigned i = 0; i < k->n_further; i++) {
        JxlExtraChannelInfo extra;
        JxlEncoderInitExtraChannelInfo(k->further[i], &extra);
        extra.bits_per_sample = k->bits;
        extra.spot_color[0] = extra.spot_color[3] = 1; /* red, opaque */
        assert_int_equal(JxlEncoderSetExtraChannelInfo(encoder, n_alpha + i, &extra),
                         JXL_ENC_SUCCESS);
    }
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
        memset(pixels, 0xF0, n);
        for (unsigned i = 0; i < k->n_further; i++)
            assert_int_equal(JxlEncoderSetExtraChannelBuffer(settings, &format, pixels,
                                                             n / k->n_channels, n_alpha + i),
                             JXL_ENC_SUCCESS);
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
    assert_int_equal(d.info.n_not_counted, k->n_further);
    assert_int_equal(d.info.warnings, (k->n_further > 0 ? IH_WARNING_EXTRA_SAMPLES : 0) |
                                          (k->is_animated ? IH_WARNING_MORE_IMAGES : 0));
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

/* Spot colours are not drawn. A second alpha is none of the counted channels. */
TEST(further_channels)
{
    for (unsigned n_channels = 1; n_channels <= 4; n_channels++) {
        assert_kind(&(struct kind){.n_channels = n_channels,
                                   .bits = 8,
                                   .n_further = 1,
                                   .further = {JXL_CHANNEL_SPOT_COLOR}});
        assert_kind(&(struct kind){
            .n_channels = n_channels,
            .bits = 12,
            .n_further = 3,
            .further = {JXL_CHANNEL_DEPTH, JXL_CHANNEL_SELECTION_MASK, JXL_CHANNEL_OPTIONAL}});
    }
    assert_kind(
        &(struct kind){.n_channels = 4, .bits = 8, .n_further = 1, .further = {JXL_CHANNEL_ALPHA}});
}

/* Valid; libjxl 0.7 fails. The means are those of libjxl 0.11.2 in Python's imagecodecs. */
TEST(a_newer_library_may_read_it)
{
    static const uint8_t file[] = {
        0xff, 0x0a, 0xf8, 0x19, 0x14, 0x09, 0xd8, 0x63, 0x02, 0xd0, 0x0f, 0x02, 0x42, 0xe0,
        0x20, 0x00, 0x00, 0xf8, 0x00, 0x02, 0x20, 0xc1, 0xb5, 0x44, 0x8a, 0x91, 0x31, 0x32,
        0x32, 0x46, 0xaa, 0x9a, 0xd4, 0x02, 0x80, 0xc0, 0xd3, 0xa0, 0x83, 0x7c, 0xa4, 0x10,
        0xa2, 0xe5, 0xcd, 0xac, 0xc9, 0x47, 0xa7, 0x58, 0xbf, 0x1f, 0x94, 0x06, 0x86, 0xed,
        0x82, 0x84, 0x30, 0xe2, 0x06, 0x02, 0x47, 0x18, 0x8c, 0x72, 0x00, 0x38, 0x3c, 0x4b,
        0x38, 0x69, 0x90, 0xc8, 0x8b, 0x04, 0x4e, 0x8f, 0x24, 0x61, 0x00};
    static const double means[] = {120.44, 113.21, 76.81};
    struct decoded d = decode(file, sizeof file, MAX_PIXELS, ALL_ROWS);
    if (d.status != IH_OK) {
        assert_int_equal(d.status, IH_UNSUPPORTED);
        assert_non_null(strstr(d.error.message, "JPEG XL that is not supported by libjxl 0."));
    }
    for (unsigned c = 0; c < 3 && d.status == IH_OK; c++) {
        double sum = 0;
        for (size_t i = 0; i < 320 * 320; i++)
            sum += d.pixels[3 * i + c];
        assert_true(fabs(sum / (320 * 320) - means[c]) < 0.5);
    }
    free(d.pixels);
}

/* Only a cut file is called damaged: libjxl gives no reason for other failures. */
TEST(words)
{
    static struct file f;
    write_file(&f, &(struct kind){.n_channels = 3, .bits = 8, .in_container = true});
    size_t n_unsupported = 0;
    for (size_t i = 0; i < f.n; i++) {
        f.bytes[i] ^= 0x10;
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, ALL_ROWS);
        f.bytes[i] ^= 0x10;
        free(d.pixels);
        n_unsupported += d.status == IH_UNSUPPORTED;
        if (d.status == IH_CORRUPT && !strstr(d.error.message, "the file ends before the image"))
            fail_msg("byte %zu: %s", i, d.error.message);
    }
    assert_true(n_unsupported > f.n / 4);
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
