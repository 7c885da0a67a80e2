/*
 * Dark and light.
 *
 * On a dark ground the channels are lights: red over green is yellow, all three are near white, by
 * the screen mode, which is adding that ends at white. A light ground wants the reverse, inks that
 * multiply down to dark gray: light added to white paper would not be seen. Neither set is pure:
 * pure blue on black and pure green on white are hard to look at, so each colour carries some of
 * the other two, balanced so that all three together are a neutral gray, on which the luma line can
 * still be seen.
 */
#include "output/chart/theme.h"

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
