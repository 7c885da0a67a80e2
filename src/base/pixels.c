#include "base/pixels.h"

#include <string.h>

const struct ih_luma_weights ih_luma_bt709 = {"bt709", 13933, 46871, 4732};
const struct ih_luma_weights ih_luma_bt601 = {"bt601", 19595, 38470, 7471};

const struct ih_luma_weights *ih_luma_find(const char *name)
{
    if (strcmp(name, ih_luma_bt709.name) == 0)
        return &ih_luma_bt709;
    if (strcmp(name, ih_luma_bt601.name) == 0)
        return &ih_luma_bt601;
    return NULL;
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
