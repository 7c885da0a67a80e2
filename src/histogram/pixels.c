#include "histogram/pixels.h"

#include <string.h>

const struct ih_luma_weights ih_luma_bt709 = {"bt709", 13933, 46871, 4732};
const struct ih_luma_weights ih_luma_bt601 = {"bt601", 19595, 38470, 7471};
const struct ih_luma_weights ih_luma_none = {"none", 0, 65536, 0};

const struct ih_luma_weights *ih_luma_find(const char *name)
{
    static const struct ih_luma_weights *const all[] = {&ih_luma_bt709, &ih_luma_bt601,
                                                        &ih_luma_none};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(name, all[i]->name) == 0)
            return all[i];
    return NULL;
}

bool ih_layout_is_possible(const struct ih_layout *l)
{
    const unsigned char has_alpha =
        *(const unsigned char *)&l->has_alpha; /* a bool may hold more */
    return l->n_channels >= 1 && l->n_channels <= IH_CHANNELS_MAX && has_alpha <= 1 &&
           (l->n_colours == 0 || l->n_colours == 1 || l->n_colours == 3) &&
           l->n_colours + has_alpha <= l->n_channels;
}

/* Copies every pixel, but advances only past those that stay: no branch depends on the data. */
size_t ih_pixels_drop_transparent(uint8_t *pixels, size_t n_pixels, unsigned n_channels)
{
    const uint8_t *from = pixels;
    uint8_t *to = pixels;
    if (n_channels == 4)
        for (size_t i = 0; i < n_pixels; i++, from += 4) {
            uint32_t pixel;
            memcpy(&pixel, from, sizeof pixel);
            bool is_kept = from[3] != 0; /* before it is written over */
            memcpy(to, &pixel, sizeof pixel);
            to += is_kept ? 4 : 0;
        }
    else
        for (size_t i = 0; i < n_pixels; i++, from += 2) {
            uint8_t gray = from[0], alpha = from[1];
            to[0] = gray;
            to[1] = alpha;
            to += alpha != 0 ? 2 : 0;
        }
    return (size_t)(to - pixels) / n_channels;
}

size_t ih_samples_drop_transparent(uint8_t *pixels, size_t n_pixels, unsigned n_channels,
                                   enum ih_sample_type type)
{
    const size_t sample_bytes = ih_sample_bytes(type), pixel_bytes = n_channels * sample_bytes;
    const uint32_t not_sign_32 = ih_is_float(type) ? INT32_MAX : UINT32_MAX; /* -0 is 0 */
    const uint16_t not_sign_16 = ih_is_float(type) ? INT16_MAX : UINT16_MAX;
    uint8_t not_sign[4]; /* on machines of both byte orders */
    memcpy(not_sign, sample_bytes == 4 ? (const void *)&not_sign_32 : &not_sign_16, sample_bytes);
    const uint8_t *from = pixels;
    uint8_t *to = pixels;
    if (type == IH_UINT8 && (n_channels == 2 || n_channels == 4))
        return ih_pixels_drop_transparent(pixels, n_pixels, n_channels);
    for (size_t i = 0; i < n_pixels; i++, from += pixel_bytes) {
        uint8_t bits = 0;
        for (size_t k = 0; k < sample_bytes; k++)
            bits |= from[pixel_bytes - sample_bytes + k] & not_sign[k];
        memmove(to, from, pixel_bytes);
        to += bits != 0 ? pixel_bytes : 0;
    }
    return (size_t)(to - pixels) / pixel_bytes;
}

/* "band1" to "band4096". */
#define NUMBER(n) "band" #n,
#define TEN(n)   \
    NUMBER(n##0) \
    NUMBER(n##1) \
    NUMBER(n##2) \
    NUMBER(n##3) NUMBER(n##4) NUMBER(n##5) NUMBER(n##6) NUMBER(n##7) NUMBER(n##8) NUMBER(n##9)
#define HUNDRED(n) \
    TEN(n##0)      \
    TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define THOUSAND(n) \
    HUNDRED(n##0)   \
    HUNDRED(n##1)   \
    HUNDRED(n##2)   \
    HUNDRED(n##3)   \
    HUNDRED(n##4) HUNDRED(n##5) HUNDRED(n##6) HUNDRED(n##7) HUNDRED(n##8) HUNDRED(n##9)
static const char bands[][9] = {
    NUMBER(1) NUMBER(2) NUMBER(3) NUMBER(4) NUMBER(5) NUMBER(6) NUMBER(7) NUMBER(8) NUMBER(9) TEN(1)
        TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) HUNDRED(1) HUNDRED(2) HUNDRED(3)
            HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7) HUNDRED(8) HUNDRED(9) THOUSAND(1)
                THOUSAND(2) THOUSAND(3) TEN(400) TEN(401) TEN(402) TEN(403) TEN(404) TEN(405)
                    TEN(406) TEN(407) TEN(408) NUMBER(4090) NUMBER(4091) NUMBER(4092) NUMBER(4093)
                        NUMBER(4094) NUMBER(4095) NUMBER(4096)};

_Static_assert(sizeof bands / sizeof *bands == IH_CHANNELS_MAX, "a name for each");

const char *ih_plane_name(struct ih_layout layout, unsigned plane)
{
    static const char *const rgb[] = {"red", "green", "blue"};
    if (plane == IH_LUMA)
        return "luma";
    if (plane >= layout.n_channels || layout.n_channels > IH_CHANNELS_MAX)
        return NULL;
    if (layout.has_alpha && plane + 1 == layout.n_channels)
        return "alpha";
    return plane >= layout.n_colours ? bands[plane] : layout.n_colours == 1 ? "gray" : rgb[plane];
}
