/* Converts a row in pieces, plane by plane, so that no inner loop branches on the kind of sample.
 */
#include "decode/samples.h"

#include "decode/read_bytes.h"

#include <assert.h>

enum { PIECE = 512 }; /* pixels; five planes of them fit into the L1 cache */

void ih_samples_init(struct ih_samples *s, enum ih_sample_kind kind, unsigned bits, bool has_alpha,
                     bool is_inverted)
{
    static const unsigned n_colour[] = {1, 3, 4, 1, 1};
    uint32_t max = (1u << bits) - 1;
    s->kind = kind;
    s->bits = bits;
    s->n_colour = n_colour[kind];
    s->n_planes = s->n_colour + has_alpha;
    s->n_channels = (kind == IH_SAMPLES_GRAY ? 1 : 3) + (unsigned)has_alpha;
    s->is_inverted = is_inverted;
    s->has_range = false;
    s->extremes = NULL;
    s->native = (struct ih_native){.n_bins = IH_BINS};
    for (uint32_t v = 0; v <= max; v++)
        s->scaled[v] = ih_sample_scale(v, max);
}

void ih_samples_set_bands(struct ih_samples *s, unsigned n_planes, bool has_alpha)
{
    s->kind = IH_SAMPLES_BANDS;
    s->n_colour = n_planes - has_alpha;
    s->n_planes = s->n_channels = n_planes;
    s->is_inverted = false;
}

void ih_samples_fill_16(uint8_t *scaled, struct ih_sample_range range)
{
    for (unsigned v = 0; v <= UINT16_MAX; v++)
        scaled[v] = ih_sample_scale_range(v, range);
}

enum ih_status ih_native_choose(struct ih_native *native, bool wanted, struct ih_sample_range range,
                                uint64_t max, struct ih_error *err)
{
    const bool has_range = range.high > 0 && max > UINT16_MAX / 2;
    *native = (struct ih_native){.n_bins = IH_BINS};
    if (!wanted || max < IH_BINS || (has_range && range.high < IH_BINS))
        return IH_OK;
    if (max >= IH_NATIVE_BINS_MAX)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "samples of more than 16 bits have no native bins; count with 256");
    native->low = has_range ? range.low : 0;
    native->high = has_range ? range.high : (uint16_t)max;
    native->max = (uint32_t)max;
    native->type = IH_UINT16;
    native->n_bins = native->high + 1u;
    return IH_OK;
}

enum ih_status ih_native_refuse(const char *what, unsigned bits, struct ih_error *err)
{
    return ih_error_set(err, IH_UNSUPPORTED,
                        "%s with %u bits a sample has no native bins; count it with 256", what,
                        bits);
}

enum ih_status ih_samples_set_target(struct ih_samples *s, struct ih_sample_range range,
                                     bool takes_native, struct ih_error *err)
{
    s->has_range = s->bits == 16 && range.high > 0;
    if (s->has_range)
        ih_samples_fill_16(s->scaled, range);
    if (takes_native && s->bits > 8 && s->kind == IH_SAMPLES_CMYK)
        return ih_native_refuse("CMYK", s->bits, err);
    return ih_native_choose(&s->native, takes_native, range, (1u << s->bits) - 1, err);
}

/* Sample i, which need not start or end at a byte boundary. */
static unsigned sample(const struct ih_samples *s, const uint8_t *bytes, size_t i)
{
    size_t end = (i + 1) * s->bits; /* in bits; the loop reads at most 7 + 15 bits */
    uint32_t window = 0;
    for (size_t at = i * s->bits / 8; at <= (end - 1) / 8; at++)
        window = window << 8 | bytes[at];
    return window >> (7 - (end - 1) % 8) & ((1u << s->bits) - 1);
}

void ih_extremes_add_be16(struct ih_extremes *extremes, const uint8_t *bytes, size_t n_pixels,
                          unsigned n_channels)
{
    const unsigned n_colours = ih_layout_of(n_channels).n_colours;
    const size_t n = n_colours == n_channels ? n_pixels * n_channels : n_colours;
    const size_t n_runs = n_colours == n_channels ? 1 : n_pixels;
    unsigned min = UINT16_MAX, max = 0;
    for (size_t r = 0; r < n_runs && n_pixels > 0; r++, bytes += (size_t)2 * n_channels)
        for (size_t i = 0; i < n; i++) {
            const unsigned v = ih_be16(bytes + 2 * i);
            min = v < min ? v : min;
            max = v > max ? v : max;
        }
    if (n_pixels > 0)
        ih_extremes_join(extremes, (struct ih_extremes){min, max + 1});
}

/* Blocks of a fixed size, which compilers turn into SIMD code. */
void ih_extremes_add_native(struct ih_extremes *extremes, const uint8_t *samples, size_t n)
{
    enum { BLOCK = 64 };
    uint16_t min[BLOCK], max[BLOCK], block[BLOCK];
    memset(min, 0xFF, sizeof min);
    memset(max, 0, sizeof max);
    for (; n >= BLOCK; n -= BLOCK, samples += sizeof block) {
        memcpy(block, samples, sizeof block);
        for (unsigned i = 0; i < BLOCK; i++) {
            min[i] = block[i] < min[i] ? block[i] : min[i];
            max[i] = block[i] > max[i] ? block[i] : max[i];
        }
    }
    for (unsigned i = 0; i < BLOCK; i++)
        if (min[i] <= max[i])
            ih_extremes_join(extremes, (struct ih_extremes){min[i], max[i] + 1u});
    for (; n > 0; n--, samples += 2) {
        memcpy(block, samples, 2);
        ih_extremes_add(extremes, block[0]);
    }
}

/* The same for samples of a plane. */
static void note_extremes(const struct ih_samples *s, const uint8_t *bytes, size_t first,
                          size_t step, size_t n)
{
    unsigned min = UINT16_MAX, max = 0;
    for (size_t i = 0; i < n; i++) {
        uint16_t v;
        if (s->bits == 16)
            memcpy(&v, bytes + 2 * (first + i * step), sizeof v);
        else
            v = (uint16_t)sample(s, bytes, first + i * step);
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    if (n > 0)
        ih_extremes_join(s->extremes, (struct ih_extremes){min, max + 1});
}

/* Writes the native values of n pixels. */
static void keep_samples(const struct ih_samples *s, const struct ih_sample_plane *planes, size_t n,
                         bool is_plain, uint8_t *pixels)
{
    const struct ih_native *native = &s->native;
    const bool is_copied = is_plain && s->bits == 16 && !s->has_range;
    const bool is_colour = s->n_planes == s->n_colour;
    for (unsigned p = 0; p < s->n_colour && s->extremes && !(is_copied && is_colour); p++)
        note_extremes(s, planes[p].bytes, planes[p].first, planes[p].step, n);
    if (is_copied) {
        memcpy(pixels, planes[0].bytes, 2 * n * s->n_channels);
        if (s->extremes && is_colour)
            ih_extremes_add_native(s->extremes, pixels, n * s->n_channels);
        return;
    }
    for (unsigned p = 0; p < s->n_planes; p++)
        for (size_t i = 0; i < n; i++) {
            const size_t at = planes[p].first + i * planes[p].step;
            uint16_t v;
            if (s->bits == 16)
                memcpy(&v, planes[p].bytes + 2 * at, sizeof v);
            else
                v = (uint16_t)sample(s, planes[p].bytes, at);
            v = ih_native_of(native, v, p >= s->n_colour);
            if (s->is_inverted && p < s->n_colour)
                v = (uint16_t)(native->low + native->high - v);
            ih_native_put(pixels, i * s->n_channels + p, v);
        }
}

/* Converts n samples of a plane, from sample x on, to 8 bits. Palette indices stay as they are. */
static void load(const struct ih_samples *s, const struct ih_sample_plane *plane, bool is_index,
                 bool is_alpha, size_t x, size_t n, uint8_t *out)
{
    const uint8_t *bytes = plane->bytes;
    const size_t step = plane->step, first = plane->first + x * step;
    if (s->extremes && s->bits > 8 && !is_index && !is_alpha)
        note_extremes(s, bytes, first, step, n);
    if (s->bits == 8) {
        for (size_t i = 0; i < n; i++)
            out[i] = bytes[first + i * step];
    } else if (s->bits == 16 && s->has_range && !is_alpha) {
        for (size_t i = 0; i < n; i++) {
            uint16_t v;
            memcpy(&v, bytes + 2 * (first + i * step), sizeof v);
            out[i] = s->scaled[v];
        }
    } else if (s->bits == 16) {
        for (size_t i = 0; i < n; i++) {
            uint16_t v;
            memcpy(&v, bytes + 2 * (first + i * step), sizeof v);
            out[i] = ih_sample_scale_16(v);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            unsigned v = sample(s, bytes, first + i * step);
            out[i] = is_index ? (uint8_t)v : s->scaled[v];
        }
    }
}

/* Writes the colour channels of n pixels. */
static void put_colours(const struct ih_samples *s, uint8_t planes[][PIECE], size_t n, uint8_t *out)
{
    const size_t n_channels = s->n_channels;
    const unsigned flip = s->is_inverted ? 255 : 0;
    switch (s->kind) {
    case IH_SAMPLES_GRAY:
        for (size_t i = 0; i < n; i++)
            out[i * n_channels] = (uint8_t)(planes[0][i] ^ flip);
        break;
    case IH_SAMPLES_RGB:
        for (size_t i = 0; i < n; i++)
            for (unsigned c = 0; c < 3; c++)
                out[i * n_channels + c] = planes[c][i];
        break;
    case IH_SAMPLES_CMYK:
        for (size_t i = 0; i < n; i++)
            for (unsigned c = 0; c < 3; c++)
                out[i * n_channels + c] = ih_ink(planes[c][i], planes[3][i]);
        break;
    case IH_SAMPLES_PALETTE:
        for (size_t i = 0; i < n; i++)
            memcpy(out + i * n_channels, s->palette[planes[0][i]], 3);
        break;
    case IH_SAMPLES_BANDS: /* convert_bands */
        break;
    }
}

/* Copies the samples of n pixels as they are. */
static void copy_samples(const struct ih_samples *s, const struct ih_sample_plane *planes, size_t n,
                         uint8_t *pixels)
{
    const size_t bytes = ih_sample_bytes(s->native.type), step = s->n_planes * bytes;
    for (unsigned p = 0; p < s->n_planes; p++) {
        const uint8_t *from = planes[p].bytes + planes[p].first * bytes;
        uint8_t *to = pixels + p * bytes;
        for (size_t i = 0; i < n; i++, from += planes[p].step * bytes, to += step)
            memcpy(to, from, bytes);
    }
}

static void convert_bands(const struct ih_samples *s, const struct ih_sample_plane *planes,
                          size_t n, uint8_t *pixels)
{
    uint8_t values[PIECE];
    for (size_t x = 0; x < n; x += PIECE)
        for (unsigned p = 0; p < s->n_planes; p++) {
            const size_t n_here = n - x < PIECE ? n - x : PIECE;
            uint8_t *const to = pixels + x * s->n_channels + p;
            load(s, &planes[p], false, p >= s->n_colour, x, n_here, values);
            for (size_t i = 0; i < n_here; i++)
                to[i * s->n_channels] = values[i];
        }
}

void ih_samples_convert(const struct ih_samples *s, const struct ih_sample_plane *planes, size_t n,
                        uint8_t *pixels)
{
    uint8_t values[IH_SAMPLES_PLANES_MAX][PIECE];
    assert(s->n_colour >= 1 && s->n_planes >= s->n_colour);
    bool is_plain = (s->bits == 8 || ih_is_native(s->native.type)) && !s->is_inverted &&
                    s->kind != IH_SAMPLES_CMYK && s->kind != IH_SAMPLES_PALETTE;
    for (unsigned p = 0; p < s->n_planes; p++)
        is_plain = is_plain && planes[p].bytes == planes[0].bytes && planes[p].first == p &&
                   planes[p].step == s->n_channels;
    if (s->native.type == IH_UINT16) {
        keep_samples(s, planes, n, is_plain, pixels);
        return;
    }
    if (is_plain) { /* the row already has the layout of the pixels */
        memcpy(pixels, planes[0].bytes, n * ih_pixel_bytes(s->n_channels, s->native.type));
        return;
    }
    if (ih_is_native(s->native.type)) {
        copy_samples(s, planes, n, pixels);
        return;
    }
    if (s->kind == IH_SAMPLES_BANDS) {
        convert_bands(s, planes, n, pixels);
        return;
    }
    for (size_t x = 0; x < n; x += PIECE, pixels += PIECE * s->n_channels) {
        const size_t n_here = n - x < PIECE ? n - x : PIECE;
        for (unsigned p = 0; p < s->n_planes; p++)
            load(s, &planes[p], s->kind == IH_SAMPLES_PALETTE && p == 0, p >= s->n_colour, x,
                 n_here, values[p]);
        put_colours(s, values, n_here, pixels);
        for (size_t i = 0; i < n_here && s->n_planes > s->n_colour; i++)
            pixels[i * s->n_channels + s->n_channels - 1] = values[s->n_colour][i];
    }
}
