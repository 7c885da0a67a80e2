/*
 * The themes.
 *
 * The channels add up like lights, on black in both themes: two are lighter than one, and all three
 * together are a light neutral gray, on which the luma line is visible. No colour is pure: pure
 * blue on black and pure green on white are hard to see. Red is darker than green, so that they
 * differ with red-green blindness too. The edge of each area is dark, and visible on every lighter
 * area. tests/unit/test_chart_colours.c computes contrasts and simulates colour blindness.
 *
 * Rejected: inks that multiply on a light page, as overlaps become slate and brown.
 */
#include "chart/drawing.h"

#include <string.h>

static const struct ih_chart_theme dark = {
    .name = "dark",
    .page = {24, 26, 31},
    .panel = {15, 16, 20},
    .areas = {{205, 75, 78}, {61, 190, 44}, {46, 90, 222}},
    .gray = {150, 154, 162},
    .edges = {{147, 24, 0}, {0, 74, 60}, {18, 10, 170}},
    .lines = {{255, 100, 92}, {96, 236, 80}, {110, 160, 255}},
    .bands = {{86, 180, 233},
              {230, 159, 0},
              {0, 190, 140},
              {204, 121, 190},
              {240, 228, 66},
              {255, 110, 60},
              {120, 140, 255},
              {190, 194, 202}},
    .luma = {255, 255, 255},
    .casing = {10, 11, 14},
    .text = {236, 238, 242},
    .muted = {154, 160, 170},
    .line = {255, 255, 255},
    .warning = {255, 176, 46},
    .grid_opacity = 22,
    .axis_opacity = 110,
    .casing_opacity = 190,
    .veil_opacity = 150,
};

static const struct ih_chart_theme light = {
    .name = "light",
    .page = {255, 255, 255},
    .panel = {248, 249, 250},
    .areas = {{194, 75, 81}, {81, 160, 40}, {34, 98, 198}},
    .gray = {140, 144, 152},
    .edges = {{126, 20, 0}, {0, 72, 60}, {4, 22, 130}},
    .lines = {{214, 30, 16}, {8, 98, 64}, {40, 72, 206}},
    .bands = {{0, 114, 178},
              {176, 104, 0},
              {0, 128, 92},
              {168, 62, 140},
              {128, 118, 0},
              {200, 64, 0},
              {74, 60, 200},
              {92, 96, 104}},
    .luma = {20, 22, 26},
    .casing = {255, 255, 255},
    .text = {24, 26, 30},
    .muted = {98, 104, 114},
    .line = {0, 0, 0},
    .warning = {206, 96, 0},
    .grid_opacity = 24,
    .axis_opacity = 120,
    .casing_opacity = 200,
    .veil_opacity = 150,
};

const struct ih_chart_theme *ih_chart_theme_find(const char *name)
{
    static const struct ih_chart_theme *const themes[] = {&dark, &light};
    for (size_t i = 0; i < sizeof themes / sizeof *themes; i++)
        if (strcmp(themes[i]->name, name) == 0)
            return themes[i];
    return NULL;
}

struct ih_colour ih_chart_plane_colour(const struct ih_chart *chart, struct ih_layout layout,
                                       unsigned plane)
{
    const struct ih_chart_theme *t = chart->theme;
    return plane == IH_LUMA        ? t->luma
           : layout.n_colours == 1 ? t->gray
           : layout.n_colours == 0 ? t->bands[plane % IH_CHART_BANDS_MAX]
                                   : t->areas[plane];
}
