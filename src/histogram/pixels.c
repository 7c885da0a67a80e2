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

size_t ih_native_drop_transparent(uint8_t *pixels, size_t n_pixels, unsigned n_channels)
{
    const size_t pixel_bytes = 2 * (size_t)n_channels;
    const uint8_t *from = pixels;
    uint8_t *to = pixels;
    for (size_t i = 0; i < n_pixels; i++, from += pixel_bytes) {
        const bool is_kept = from[pixel_bytes - 2] != 0 || from[pixel_bytes - 1] != 0;
        memmove(to, from, pixel_bytes);
        to += is_kept ? pixel_bytes : 0;
    }
    return (size_t)(to - pixels) / pixel_bytes;
}

const char *ih_plane_name(unsigned n_channels, unsigned plane)
{
    static const char *const names[IH_CHANNELS_MAX + 1][IH_CHANNELS_MAX] = {
        {NULL, NULL, NULL, NULL},          {"gray", NULL, NULL, NULL},
        {"gray", "alpha", NULL, NULL},     {"red", "green", "blue", NULL},
        {"red", "green", "blue", "alpha"},
    };
    if (plane == IH_LUMA)
        return "luma";
    if (n_channels > IH_CHANNELS_MAX || plane >= IH_CHANNELS_MAX)
        return NULL;
    return names[n_channels][plane];
}
