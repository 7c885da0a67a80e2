/* What a TIFF's directory says of its samples: which are colour, which is alpha, what is refused.
 */
#include "decode/tiff/parts.h"

static enum ih_status unsupported(struct ih_error *err, const char *what, unsigned value)
{
    return ih_error_set(err, IH_UNSUPPORTED, "TIFF with %s %u is not supported", what, value);
}

static enum ih_status check_compression(const struct ih_tiff_calls *lib, TIFF *t,
                                        uint16_t photometric, struct ih_error *err)
{
    uint16_t compression = COMPRESSION_NONE, planar = PLANARCONFIG_CONTIG;
    lib->TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    lib->TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
    if (compression == COMPRESSION_OJPEG)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "TIFF with JPEG of the obsolete kind (6) is not supported");
    if (!lib->TIFFIsCODECConfigured(compression)) {
        const TIFFCodec *codec = lib->TIFFFindCODEC(compression);
        return ih_error_set(err, IH_UNSUPPORTED,
                            "TIFF with compression %u (%s) is not supported by this libtiff",
                            compression, codec ? codec->name : "unknown");
    }
    if (photometric == PHOTOMETRIC_YCBCR && planar != PLANARCONFIG_CONTIG)
        return ih_error_set(err, IH_UNSUPPORTED, "TIFF with YCbCr in planes is not supported");
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
    case PHOTOMETRIC_YCBCR: /* read as RGB */
        *kind = IH_SAMPLES_RGB;
        return IH_OK;
    case PHOTOMETRIC_PALETTE:
        *kind = IH_SAMPLES_PALETTE;
        return IH_OK;
    case PHOTOMETRIC_SEPARATED:
        lib->TIFFGetFieldDefaulted(t, TIFFTAG_INKSET, &ink_set);
        *kind = IH_SAMPLES_CMYK;
        return ink_set == INKSET_CMYK ? IH_OK : unsupported(err, "the set of inks", ink_set);
    default:
        return unsupported(err, "the colour space (photometric interpretation)", photometric);
    }
}

/* Palettes have 16 bits a value, v * 257 of an 8-bit v. Some programs wrote v itself, and some
 * v * 256, whose high byte is as exact. */
static enum ih_status load_palette(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    uint16_t *values[3];
    bool has_high = false, has_low = false;
    if (s->samples.bits > 8)
        return unsupported(err, "a palette and bits", s->samples.bits);
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

/* What each sample is. Extra samples of no stated meaning are not counted. */
enum ih_status ih_tiff_read_layout(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    enum ih_sample_kind kind = IH_SAMPLES_GRAY;
    uint16_t photometric, bits = 1, format = SAMPLEFORMAT_UINT, n_extra = 0, *extra = NULL;
    uint16_t planar = PLANARCONFIG_CONTIG, compression = COMPRESSION_NONE;
    if (!s->lib.TIFFGetField(t, TIFFTAG_PHOTOMETRIC, &photometric))
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: it has no colour space");
    if (photometric != PHOTOMETRIC_PALETTE &&
        ih_tiff_has_tag(s, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_PALETTE))
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: the palette is missing");
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_BITSPERSAMPLE, &bits);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLEFORMAT, &format);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_SAMPLESPERPIXEL, &s->n_samples);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_EXTRASAMPLES, &n_extra, &extra);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_PLANARCONFIG, &planar);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    if (kind_of(&s->lib, t, photometric, &kind, err) != IH_OK ||
        check_compression(&s->lib, t, photometric, err) != IH_OK)
        return err->status;
    if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
        return unsupported(err, "samples that are no unsigned integers, format", format);
    if (bits < 1 || bits > 16)
        return unsupported(err, "bits a sample", bits);

    unsigned alpha = 0;
    ih_samples_init(&s->samples, kind, bits, false, photometric == PHOTOMETRIC_MINISWHITE);
    if (s->n_samples < s->samples.n_colour)
        return unsupported(err, "too few samples a pixel,", s->n_samples);
    for (unsigned i = 0; i < n_extra && !alpha; i++)
        if (extra[i] == EXTRASAMPLE_ASSOCALPHA || extra[i] == EXTRASAMPLE_UNASSALPHA)
            alpha = s->samples.n_colour + i;
    if (alpha >= s->n_samples)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: alpha is no sample");
    if (alpha)
        ih_samples_init(&s->samples, kind, bits, true, photometric == PHOTOMETRIC_MINISWHITE);
    for (unsigned p = 0; p < s->samples.n_planes; p++)
        s->plane_sample[p] = p < s->samples.n_colour ? p : alpha;
    s->is_planar = planar == PLANARCONFIG_SEPARATE && s->n_samples > 1;
    if (photometric == PHOTOMETRIC_YCBCR && compression != COMPRESSION_JPEG) {
        if (s->n_samples != 3 || bits != 8)
            return unsupported(err, "YCbCr that is no JPEG and samples a pixel", s->n_samples);
        s->is_ycbcr = true;
        return ih_tiff_read_ycbcr(s, t, err);
    }
    if (photometric == PHOTOMETRIC_YCBCR)
        s->lib.TIFFSetField(t, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    return kind == IH_SAMPLES_PALETTE ? load_palette(s, t, err) : IH_OK;
}
