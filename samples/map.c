/*
 * A map of an island in sixteen colours, so that the indices take 4 bits, two pixels to a byte.
 *
 * The land is noise, lifted in the middle and sunk at the edges. Heights are tinted in steps as in
 * an atlas, and each step of the land has two colours: a lit and a shaded one, chosen by the slope
 * toward the north-west, from where maps are lit. No smoothing: a palette has no colours in
 * between.
 */
#include "samples.h"

#include <math.h>

enum tint {
    SEA = 0,   /* and 3 shallower ones */
    SAND = 4,  /* shore */
    LAND = 5,  /* 4 steps, each lit then shaded */
    SNOW = 13, /* lit, then shaded */
    INK = 15,  /* coast, grid and frame */
    N_COLOURS = 16,
};

static const uint8_t atlas[N_COLOURS][3] = {
    {34, 74, 116},   {52, 104, 148},  {84, 142, 178},  {134, 184, 204},
    {232, 214, 164}, {128, 168, 88},  {92, 132, 66},   {168, 184, 104},
    {126, 142, 74},  {204, 180, 116}, {158, 132, 82},  {172, 136, 104},
    {124, 94, 72},   {248, 248, 244}, {190, 200, 214}, {48, 44, 48},
};

/* Meets sea level at 0; the highest peaks come near 1. u and v go from -1 to 1 over the map. */
static double height_at(double u, double v)
{
    const double broad = ih_cloud_noise(u * 1.9 + 20.3, v * 1.5 + 9.2, 8, 7);
    /* Ridges: noise folded at its middle, its crease turned up. */
    const double fold = ih_cloud_noise(u * 3.1 + 3.0, v * 2.4 + 7.0, 60, 6);
    const double ridge = 1.0 - fabs(2.0 * fold - 1.0) * 2.2;
    const double island = 1.0 - (1.35 * u * u + 1.45 * v * v);
    const double ground = 1.5 * (broad - 0.5) + 0.62 * island - 0.12;
    return ground + 0.55 * fmax(ground, 0) * fmax(ridge, 0);
}

static uint8_t tint_of(double height, double slope)
{
    static const double depths[3] = {-0.36, -0.19, -0.07};
    static const double steps[4] = {0.16, 0.32, 0.52, 0.78};
    if (height < 0) {
        int step = 0;
        while (step < 3 && height > depths[step])
            step++;
        return (uint8_t)(SEA + step);
    }
    if (height < 0.025)
        return SAND;
    int step = 0;
    while (step < 4 && height > steps[step])
        step++;
    return (uint8_t)(LAND + 2 * step + (slope < 0));
}

static bool is_frame(uint32_t x, uint32_t y, const struct ih_picture *picture)
{
    const uint32_t right = picture->width - 1 - x, bottom = picture->height - 1 - y;
    const uint32_t across = x < right ? x : right, down = y < bottom ? y : bottom;
    const uint32_t inset = across < down ? across : down;
    /* A border of black and white bars, as charts have. */
    const bool bar = (across < down ? y : x) / 20 % 2;
    return inset < 1 || inset == 4 || (inset < 4 && bar);
}

bool ih_paint_map(struct ih_picture *picture)
{
    const double per_x = 2.0 / picture->width, per_y = 2.0 / picture->height;
    uint8_t *pixel = picture->pixels;
    picture->palette = atlas;
    picture->n_colours = N_COLOURS;
    for (uint32_t y = 0; y < picture->height; y++)
        for (uint32_t x = 0; x < picture->width; x++, pixel++) {
            const double u = (x + 0.5) * per_x - 1.0, v = (y + 0.5) * per_y - 1.0;
            const double here = height_at(u, v);
            const double east = height_at(u + per_x, v), south = height_at(u, v + per_y);
            const double west_north = height_at(u - per_x, v - per_y);
            const double slope = here - west_north;
            const bool coast = (here < 0) != (east < 0) || (here < 0) != (south < 0);
            const bool grid = here < 0 && (x % 40 == 0 || y % 40 == 0) && (x + y) % 4 == 0;
            const uint32_t edge_x = x < picture->width - 5 ? x : 0;
            const uint32_t edge_y = y < picture->height - 5 ? y : 0;
            if (is_frame(x, y, picture))
                *pixel = INK;
            else if (edge_x < 5 || edge_y < 5)
                *pixel = SNOW;
            else
                *pixel = coast || grid ? INK : tint_of(here, slope);
        }
    return true;
}
