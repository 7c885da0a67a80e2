/*
 * The themes.
 *
 * On a dark background the channels add up like lights, up to nearly white. On a light background
 * they multiply like inks, because light added to white would be invisible. No colour is pure: pure
 * blue on black and pure green on white are hard to see. All three together give a neutral gray, on
 * which the luma line is visible.
 */
#include "chart/parts.h"

#include <string.h>

const struct ih_chart_theme ih_chart_theme_dark = {
    .name = "dark",
    .mixing = IH_BLEND_SCREEN,
    .page = {24, 26, 31},
    .panel = {15, 16, 20},
    .red = {194, 42, 46},
    .green = {34, 168, 56},
    .blue = {42, 92, 200},
    .gray = {150, 154, 162},
    .luma = {255, 255, 255},
    .casing = {10, 11, 14},
    .text = {236, 238, 242},
    .muted = {154, 160, 170},
    .line = {255, 255, 255},
    .warning = {255, 176, 46},
    .grid_opacity = 22,
    .axis_opacity = 110,
    .casing_opacity = 190,
};

static const struct ih_chart_theme light = {
    .name = "light",
    .mixing = IH_BLEND_MULTIPLY,
    .page = {255, 255, 255},
    .panel = {248, 249, 250},
    .red = {252, 160, 152},
    .green = {152, 220, 160},
    .blue = {152, 176, 252},
    .gray = {140, 144, 152},
    .luma = {20, 22, 26},
    .casing = {255, 255, 255},
    .text = {24, 26, 30},
    .muted = {98, 104, 114},
    .line = {0, 0, 0},
    .warning = {206, 96, 0},
    .grid_opacity = 24,
    .axis_opacity = 120,
    .casing_opacity = 200,
};

const struct ih_chart_theme *ih_chart_theme_find(const char *name)
{
    static const struct ih_chart_theme *const themes[] = {&ih_chart_theme_dark, &light};
    for (size_t i = 0; i < sizeof themes / sizeof *themes; i++)
        if (strcmp(themes[i]->name, name) == 0)
            return themes[i];
    return NULL;
}

struct ih_colour ih_chart_plane_colour(const struct ih_chart *chart, unsigned plane)
{
    const struct ih_chart_theme *t = chart->theme;
    const struct ih_colour channels[] = {t->red, t->green, t->blue};
    const bool is_gray = ih_colour_channels(chart->result->histogram.n_channels) == 1;
    return plane == IH_LUMA ? t->luma : is_gray ? t->gray : channels[plane];
}
