/*
 * YCbCr in TIFF that is no JPEG, by the TIFF 6.0 specification, sections 20 and 21: codes become
 * values by ReferenceBlackWhite, values RGB by YCbCrCoefficients. Chroma stands for all pixels of
 * its unit, as in libtiff's programs. Factors are rounded to 16 bits after the point, as there and
 * in libjpeg: else one green in 3,000 would differ from what everybody counts.
 *
 * libtiff's own conversion was rejected: of chroma that is halved twice both ways it does not read
 * the last unit of every second width, and it cuts chroma to whole numbers where the reference
 * values are not the default ones.
 */
#include "decode/tiff/parts.h"

#include <math.h>

static double factor(double v)
{
    return floor(v * 65536 + 0.5) / 65536;
}

static bool is_subsampling(unsigned n)
{
    return n == 1 || n == 2 || n == 4;
}

/* Section 20: code to value, from black to white as from 0 to full. */
static double value_of(unsigned code, const float *reference, double full)
{
    return ((double)code - (double)reference[0]) * full /
           ((double)reference[1] - (double)reference[0]);
}

enum ih_status ih_tiff_read_ycbcr(struct ih_tiff *s, TIFF *t, struct ih_error *err)
{
    struct ih_tiff_ycbcr *c = &s->ycbcr;
    float *k = NULL, *reference = NULL; /* of red, green, blue; black and white of Y, Cb, Cr */
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

/* To the nearest; what is no number is 0. */
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
