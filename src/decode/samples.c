#include "decode/samples.h"

#include <string.h>

void ih_samples_init(struct ih_samples *s, enum ih_sample_kind kind, unsigned bits, bool has_alpha,
                     bool is_inverted)
{
    static const unsigned n_colour[] = {1, 3, 4, 1};
    uint32_t max = (1u << bits) - 1;
    s->kind = kind;
    s->bits = bits;
    s->n_colour = n_colour[kind];
    s->n_planes = s->n_colour + has_alpha;
    s->n_channels = (kind == IH_SAMPLES_GRAY ? 1 : 3) + (unsigned)has_alpha;
    s->is_inverted = is_inverted;
    for (uint32_t v = 0; v <= max; v++)
        s->scaled[v] = ih_sample_scale(v, max);
}

static unsigned sample(const struct ih_samples *s, const struct ih_sample_plane *plane, size_t x)
{
    size_t i = plane->first + x * plane->step;
    if (s->bits == 8)
        return plane->bytes[i];
    if (s->bits == 16) {
        uint16_t v;
        memcpy(&v, plane->bytes + 2 * i, sizeof v);
        return v;
    }
    size_t end = (i + 1) * s->bits; /* in bits; at most 15 + 7 bits from the first byte on */
    uint32_t window = 0;
    for (size_t at = i * s->bits / 8; at <= (end - 1) / 8; at++)
        window = window << 8 | plane->bytes[at];
    return window >> (7 - (end - 1) % 8) & ((1u << s->bits) - 1);
}

/* The colour of one pixel. */
static void convert_colour(const struct ih_samples *s, const struct ih_sample_plane *planes,
                           size_t x, uint8_t *out)
{
    unsigned v = sample(s, &planes[0], x);
    switch (s->kind) {
    case IH_SAMPLES_GRAY:
        out[0] = (uint8_t)(s->is_inverted ? 255 - s->scaled[v] : s->scaled[v]);
        break;
    case IH_SAMPLES_RGB:
        out[0] = s->scaled[v];
        out[1] = s->scaled[sample(s, &planes[1], x)];
        out[2] = s->scaled[sample(s, &planes[2], x)];
        break;
    case IH_SAMPLES_CMYK: {
        unsigned k = s->scaled[sample(s, &planes[3], x)];
        out[0] = ih_ink(s->scaled[v], k);
        out[1] = ih_ink(s->scaled[sample(s, &planes[1], x)], k);
        out[2] = ih_ink(s->scaled[sample(s, &planes[2], x)], k);
        break;
    }
    case IH_SAMPLES_PALETTE:
        memcpy(out, s->palette[v & 255], 3);
        break;
    }
}

void ih_samples_convert(const struct ih_samples *s, const struct ih_sample_plane *planes, size_t n,
                        uint8_t *pixels)
{
    bool is_plain = s->bits == 8 && !s->is_inverted &&
                    (s->kind == IH_SAMPLES_GRAY || s->kind == IH_SAMPLES_RGB);
    for (unsigned p = 0; p < s->n_planes; p++)
        is_plain = is_plain && planes[p].bytes == planes[0].bytes && planes[p].first == p &&
                   planes[p].step == s->n_channels;
    if (is_plain) { /* the pixels already */
        memcpy(pixels, planes[0].bytes, n * s->n_channels);
        return;
    }
    for (size_t x = 0; x < n; x++, pixels += s->n_channels) {
        convert_colour(s, planes, x, pixels);
        if (s->n_planes > s->n_colour)
            pixels[s->n_channels - 1] = s->scaled[sample(s, &planes[s->n_colour], x)];
    }
}
