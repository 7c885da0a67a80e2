/* The meaning of a TIFF's samples: which are colour, which is alpha, what is refused, and the
 * conversion of YCbCr. */
#include "decode/tiff/tiff.h"

#include <math.h>

static enum ih_status layout_unsupported(struct ih_error *err, const char *what, unsigned value)
{
    return ih_error_set(err, IH_UNSUPPORTED, "TIFF with %s %u is not supported", what, value);
}

static bool is_fax(uint16_t compression)
{
    return (compression >= COMPRESSION_CCITTRLE && compression <= COMPRESSION_CCITTFAX4) ||
           compression == COMPRESSION_CCITTRLEW;
}

/* Whether libtiff's decoder reports every block that it cannot fill. */
static bool fills_blocks(uint16_t compression)
{
    return is_fax(compression) || compression == COMPRESSION_NONE ||
           compression == COMPRESSION_LZW || compression == COMPRESSION_JPEG ||
           compression == COMPRESSION_PACKBITS || compression == COMPRESSION_ADOBE_DEFLATE ||
           compression == COMPRESSION_DEFLATE || compression == COMPRESSION_LZMA ||
           compression == COMPRESSION_ZSTD;
}

static enum ih_status check_compression(const struct ih_tiff *s, TIFF *t, uint16_t photometric,
                                        struct ih_error *err)
{
    const struct ih_tiff_calls *lib = &s->lib;
    uint16_t compression = COMPRESSION_NONE, planar = PLANARCONFIG_CONTIG;
    lib->TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    lib->TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
    if (!lib->TIFFIsCODECConfigured(compression)) {
        const TIFFCodec *codec = lib->TIFFFindCODEC(compression);
        return ih_error_set(err, IH_UNSUPPORTED,
                            "TIFF with compression %u (%s) is not supported by this libtiff",
                            compression, codec ? codec->name : "unknown");
    }
    if (compression == COMPRESSION_JBIG) /* libtiff allocates whatever size the data claim */
        return ih_error_set(err, IH_UNSUPPORTED, "TIFF with JBIG is not supported");
    if (photometric == PHOTOMETRIC_YCBCR && planar != PLANARCONFIG_CONTIG)
        return ih_error_set(err, IH_UNSUPPORTED, "TIFF with YCbCr in planes is not supported");
    /* libtiff would decode the first sample of each pixel only. */
    if (is_fax(compression) && s->n_samples != 1 && planar == PLANARCONFIG_CONTIG)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: CCITT coding with %u samples a pixel",
                            s->n_samples);
    return IH_OK;
}

static enum ih_status kind_of(const struct ih_tiff_calls *lib, TIFF *t, uint16_t photometric,
                              enum ih_sample_kind *kind, struct ih_error *err)
{
    uint16_t ink_set = INKSET_CMYK;
    switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
        *kind = IH_SAMPLES_GRAY;
        return IH_OK;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR: /* converted to RGB by libjpeg or here */
        *kind = IH_SAMPLES_RGB;
        return IH_OK;
    case PHOTOMETRIC_PALETTE:
        *kind = IH_SAMPLES_PALETTE;
        return IH_OK;
    case PHOTOMETRIC_SEPARATED:
        lib->TIFFGetFieldDefaulted(t, TIFFTAG_INKSET, &ink_set);
        *kind = IH_SAMPLES_CMYK;
        return ink_set == INKSET_CMYK ? IH_OK : layout_unsupported(err, "the set of inks", ink_set);
    default:
        return layout_unsupported(err, "the colour space (photometric interpretation)",
                                  photometric);
    }
}

/* A palette has 16 bits a value. Most programs write v * 257 for an 8-bit v; some write v or
 * v * 256, which are recognised and read as exactly v. */
static enum ih_status layout_load_palette(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    uint16_t *values[3];
    bool has_high = false, has_low = false;
    if (s->samples.bits > 8)
        return layout_unsupported(err, "a palette and bits", s->samples.bits);
    if (!s->lib.TIFFGetField(t, TIFFTAG_COLORMAP, &values[0], &values[1], &values[2]))
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: the palette is missing");
    for (unsigned i = 0; i < 3u << s->samples.bits; i++) {
        has_high = has_high || values[i % 3][i / 3] > 255;
        has_low = has_low || (values[i % 3][i / 3] & 255) != 0;
    }
    for (unsigned i = 0; i < 3u << s->samples.bits; i++) {
        uint32_t v = values[i % 3][i / 3];
        s->samples.palette[i / 3][i % 3] = (uint8_t)(!has_high  ? v
                                                     : !has_low ? v >> 8
                                                                : (v * 510 + 65535) / 131070);
    }
    return IH_OK;
}

/* ---- YCbCr that is not JPEG ----
 *
 * TIFF 6.0, sections 20 and 21: ReferenceBlackWhite turns codes into values, YCbCrCoefficients turn
 * values into RGB. All pixels of a unit share its chroma, as in libtiff's programs. Factors are
 * rounded to 16 fractional bits, as in libtiff and libjpeg; without that, one green value in 3,000
 * would differ from other readers.
 *
 * libtiff's own conversion was rejected. With chroma halved twice both ways it does not read the
 * last unit of every second width, and it truncates chroma to integers unless the reference values
 * are the default ones.
 */

static double factor(double v)
{
    return floor(v * 65536 + 0.5) / 65536;
}

static bool is_subsampling(unsigned n)
{
    return n == 1 || n == 2 || n == 4;
}

/* Section 20: the value of a code; black becomes 0 and white becomes full. */
static double value_of(unsigned code, const float *reference, double full)
{
    return ((double)code - (double)reference[0]) * full /
           ((double)reference[1] - (double)reference[0]);
}

static enum ih_status read_ycbcr(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    struct ih_tiff_ycbcr *c = &s->ycbcr;
    float *k = NULL;         /* coefficients of red, green, blue */
    float *reference = NULL; /* black and white of Y, Cb, Cr */
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_YCBCRSUBSAMPLING, &c->across, &c->down);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_YCBCRCOEFFICIENTS, &k);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_REFERENCEBLACKWHITE, &reference);
    if (!is_subsampling(c->across) || !is_subsampling(c->down) || !k || !reference || !(k[1] > 0) ||
        !(reference[1] > reference[0]) || !(reference[3] > reference[2]) ||
        !(reference[5] > reference[4]))
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: YCbCr with impossible values");
    const double red = (double)k[0], green = (double)k[1], blue = (double)k[2];
    const double of_red = factor(2 - 2 * red), of_blue = factor(2 - 2 * blue);
    const double cr_in_green = factor((2 - 2 * red) * red / green);
    const double cb_in_green = factor((2 - 2 * blue) * blue / green);
    for (unsigned i = 0; i < 256; i++) {
        const double cb = value_of(i, reference + 2, 127), cr = value_of(i, reference + 4, 127);
        c->luma[i] = value_of(i, reference, 255);
        c->red_of_cr[i] = of_red * cr;
        c->blue_of_cb[i] = of_blue * cb;
        c->green_of_cr[i] = -cr_in_green * cr;
        c->green_of_cb[i] = -cb_in_green * cb;
    }
    return IH_OK;
}

/* Rounds to the nearest integer and clamps; NaN becomes 0. */
static uint8_t to_byte(double v)
{
    return !(v > 0) ? 0 : v >= 255 ? 255 : (uint8_t)floor(v + 0.5);
}

void ih_tiff_convert_ycbcr(const struct ih_tiff_ycbcr *c, const uint8_t *units, uint32_t line,
                           uint32_t n, uint8_t *pixels)
{
    const size_t n_luma = (size_t)c->across * c->down;
    for (uint32_t x = 0; x < n; x++, pixels += 3) {
        const uint8_t *unit = units + x / c->across * (n_luma + 2);
        const double luma = c->luma[unit[line * c->across + x % c->across]];
        const uint8_t cb = unit[n_luma], cr = unit[n_luma + 1];
        pixels[0] = to_byte(luma + c->red_of_cr[cr]);
        pixels[1] = to_byte(luma + c->green_of_cb[cb] + c->green_of_cr[cr]);
        pixels[2] = to_byte(luma + c->blue_of_cb[cb]);
    }
}

/* ---- layout ---- */

/* libtiff packs two JPEG samples of 12 bits into 3 bytes, and never writes the last of an odd
 * number of samples in a row. */
static bool loses_samples(const struct ih_tiff *s, TIFF *t, unsigned bits, uint16_t compression)
{
    uint32_t width = s->width;
    if (s->lib.TIFFIsTiled(t))
        s->lib.TIFFGetField(t, TIFFTAG_TILEWIDTH, &width);
    return compression == COMPRESSION_JPEG && bits == 12 && width % 2 != 0 &&
           (s->is_planar || s->n_samples % 2 != 0);
}

static enum ih_status refuse_samples(unsigned format, unsigned bits, struct ih_error *err)
{
    static const char *const kinds[] = {[SAMPLEFORMAT_UINT] = "unsigned integers",
                                        [SAMPLEFORMAT_INT] = "signed integers",
                                        [SAMPLEFORMAT_IEEEFP] = "floats",
                                        [SAMPLEFORMAT_VOID] = "samples"};
    if (format == SAMPLEFORMAT_COMPLEXINT || format == SAMPLEFORMAT_COMPLEXIEEEFP)
        return ih_error_set(err, IH_UNSUPPORTED, "TIFF with complex numbers is not supported");
    if (format >= sizeof kinds / sizeof *kinds || !kinds[format])
        return layout_unsupported(err, "the sample format", format);
    return ih_error_set(
        err, IH_UNSUPPORTED,
        "TIFF with %u-bit %s is not supported: make them 32-bit floats first, as in "
        "'gdal_translate -ot Float32 IN OUT.tif'",
        bits, kinds[format]);
}

/* The type of samples that are kept as they are, IH_UINT8 of those that ih_samples_convert takes,
 * or IH_SAMPLE_TYPES: not supported. */
static enum ih_sample_type type_of(unsigned format, unsigned bits)
{
    if (format == SAMPLEFORMAT_INT && (bits == 8 || bits == 16))
        return bits == 8 ? IH_INT8 : IH_INT16;
    if (format == SAMPLEFORMAT_IEEEFP && (bits == 16 || bits == 32))
        return bits == 16 ? IH_FLOAT16 : IH_FLOAT32;
    const bool is_unsigned = format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
    return is_unsigned && bits >= 1 && bits <= 16 ? IH_UINT8 : IH_SAMPLE_TYPES;
}

static void init_samples(struct ih_tiff *s, enum ih_sample_kind kind, unsigned bits, bool has_alpha,
                         bool is_inverted)
{
    ih_samples_init(&s->samples, kind, bits <= 16 ? bits : 16, has_alpha, is_inverted);
    s->samples.bits = bits;
}

/* Gray and RGB with further samples are bands: all that is stored is counted. The first alpha is
 * the last channel; further ones are bands. */
enum ih_status ih_tiff_read_layout(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    enum ih_sample_kind kind = IH_SAMPLES_GRAY;
    uint16_t photometric, bits = 1, format = SAMPLEFORMAT_UINT, n_extra = 0, *extra = NULL;
    uint16_t planar = PLANARCONFIG_CONTIG, compression = COMPRESSION_NONE;
    uint32_t depth = 1, tile_depth = 1;
    uint64_t stored;
    if (!s->lib.TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &photometric))
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: it has no colour space");
    ih_tiff_tag(s, TIFFTAG_PHOTOMETRIC, &stored);
    if (photometric != PHOTOMETRIC_PALETTE && stored == PHOTOMETRIC_PALETTE)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: the palette is missing");
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &format);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &s->n_samples);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_EXTRASAMPLES, &n_extra, &extra);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    if (kind_of(&s->lib, t, photometric, &kind, err) != IH_OK ||
        check_compression(s, t, photometric, err) != IH_OK)
        return err->status;
    s->is_read_twice = !fills_blocks(compression);
    s->type = type_of(format, bits);
    if (s->type == IH_SAMPLE_TYPES)
        return refuse_samples(format, bits, err);
    if (s->type != IH_UINT8 && photometric != PHOTOMETRIC_MINISBLACK &&
        photometric != PHOTOMETRIC_RGB)
        return layout_unsupported(
            err, "signed or float samples and the colour space (photometric interpretation)",
            photometric);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_IMAGEDEPTH, &depth);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_TILEDEPTH, &tile_depth);
    if (depth > 1 || tile_depth > 1)
        return ih_error_set(
            err, IH_UNSUPPORTED,
            "TIFF that is a volume (ImageDepth %u) is not supported: save its slices "
            "as pages first, for example with tifffile",
            (unsigned)depth);

    s->is_planar = planar == PLANARCONFIG_SEPARATE && s->n_samples > 1;
    if (loses_samples(s, t, bits, compression))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "TIFF with JPEG of 12 bits and an odd number of samples a row is not "
                            "supported: libtiff loses the last one");

    unsigned alpha = 0;
    init_samples(s, kind, bits, false, photometric == PHOTOMETRIC_MINISWHITE);
    if (s->n_samples < s->samples.n_colour)
        return layout_unsupported(err, "too few samples a pixel,", s->n_samples);
    for (unsigned i = 0; i < n_extra && !alpha; i++)
        if (extra[i] == EXTRASAMPLE_ASSOCALPHA || extra[i] == EXTRASAMPLE_UNASSALPHA)
            alpha = s->samples.n_colour + i;
    if (alpha >= s->n_samples)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: alpha is no sample");
    if (alpha)
        init_samples(s, kind, bits, true, photometric == PHOTOMETRIC_MINISWHITE);
    s->layout = ih_layout_of(s->samples.n_channels);
    const bool has_bands = photometric == PHOTOMETRIC_MINISBLACK ||
                           photometric == PHOTOMETRIC_MINISWHITE || photometric == PHOTOMETRIC_RGB;
    if (has_bands && s->n_samples > s->samples.n_planes) {
        if (s->n_samples > IH_CHANNELS_MAX)
            return layout_unsupported(err, "bands (the limit is 4096),", s->n_samples);
        s->layout = (struct ih_layout){s->n_samples, kind == IH_SAMPLES_RGB ? 3 : 0, alpha > 0};
        ih_samples_set_bands(&s->samples, s->n_samples, alpha > 0);
    }
    for (unsigned p = 0; p < s->samples.n_planes; p++)
        s->plane_sample[p] = (uint16_t)(p + (alpha > 0 && p >= alpha));
    if (alpha)
        s->plane_sample[s->samples.n_planes - 1] = (uint16_t)alpha;
    s->n_not_counted = s->n_samples - s->samples.n_planes;
    if (photometric == PHOTOMETRIC_YCBCR && compression != COMPRESSION_JPEG) {
        if (s->n_samples != 3 || bits != 8)
            return layout_unsupported(err, "YCbCr that is not JPEG and samples a pixel",
                                      s->n_samples);
        s->is_ycbcr = true;
        return read_ycbcr(s, t, err);
    }
    if (photometric == PHOTOMETRIC_YCBCR)
        s->lib.TIFFSetField(t, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    return kind == IH_SAMPLES_PALETTE ? layout_load_palette(s, t, err) : IH_OK;
}
