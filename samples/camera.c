/*
 * The camera: a thin lens that is sharp at one distance, and a sensor with the faults of a real
 * one.
 *
 * Every pixel gathers paths through a grid of places on its area and chance places on the lens, so
 * edges are smooth and what is near or far is blurred into the shape of the aperture. Developing
 * adds bloom (light that strays around a blown spot), vignette, a tone curve with a shoulder,
 * sRGB's gamma, and grain; without grain a computed picture has a histogram of spikes.
 */
#include "scene.h"

#include <stdlib.h>
#include <string.h>

enum {
    GRID = 13,        /* GRID x GRID paths a pixel */
    BLOOM_RADIUS = 9, /* pixels, of each of three passes */
};

static const struct ih_vec eye = {0.15, 1.62, 7.4};
static const struct ih_vec target = {0.02, 0.70, 0};
static const double view_height = 0.44; /* of the picture, at distance 1 */
static const double lens_radius = 0.075;
static const double in_focus = 6.6; /* distance from the lens, along the axis */

static const double exposure = 1.0;
static const double white = 4.5;      /* the light that the tone curve takes to 1 */
static const double black = 0.006;    /* the light below which the sensor gives nothing */
static const double saturation = 1.2; /* the tone curve pales colours; this gives them back */
static const double grain = 0.7 / 255.0;

/* An even choice among the points of the disc with radius 1. */
static void in_disc(struct ih_noise *noise, double *x, double *y)
{
    do {
        *x = 2.0 * ih_noise_uniform(noise) - 1.0;
        *y = 2.0 * ih_noise_uniform(noise) - 1.0;
    } while (*x * *x + *y * *y > 1.0);
}

/* The mean light of all paths through one pixel. */
static struct ih_vec expose(const struct ih_scene *scene, const struct ih_picture *picture,
                            uint32_t column, uint32_t row, struct ih_noise *noise)
{
    const struct ih_vec forward = ih_unit(ih_sub(target, eye));
    const struct ih_vec right = ih_unit(ih_cross(forward, ih_vec(0, 1, 0)));
    const struct ih_vec up = ih_cross(right, forward);
    const double scale = view_height / picture->height;
    struct ih_vec sum = ih_vec(0, 0, 0);

    for (int i = 0; i < GRID * GRID; i++) {
        const double jitter_x = ih_noise_uniform(noise), jitter_y = ih_noise_uniform(noise);
        const double x = (column + (i % GRID + jitter_x) / GRID - 0.5 * picture->width) * scale;
        const double y = (0.5 * picture->height - row - (i / GRID + jitter_y) / GRID) * scale;
        double lens_x, lens_y;
        in_disc(noise, &lens_x, &lens_y);
        const struct ih_vec from = ih_add(
            eye, ih_add(ih_scale(right, lens_x * lens_radius), ih_scale(up, lens_y * lens_radius)));
        const struct ih_vec along = ih_add(forward, ih_add(ih_scale(right, x), ih_scale(up, y)));
        const struct ih_vec sharp = ih_add(eye, ih_scale(along, in_focus));
        const struct ih_ray ray = {from, ih_unit(ih_sub(sharp, from))};
        sum = ih_add(sum, ih_light(scene, ray, noise));
    }
    return ih_scale(sum, exposure / (GRID * GRID));
}

/* One pass of a box blur along a line of n places that lie `step` apart. */
static void blur_line(struct ih_vec *line, uint32_t n, size_t step, struct ih_vec *scratch)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t first = i < BLOOM_RADIUS ? 0 : i - BLOOM_RADIUS;
        const uint32_t last = i + BLOOM_RADIUS < n ? i + BLOOM_RADIUS : n - 1;
        scratch[i] = ih_vec(0, 0, 0);
        for (uint32_t k = first; k <= last; k++)
            scratch[i] = ih_add(scratch[i], line[k * step]);
    }
    for (uint32_t i = 0; i < n; i++)
        line[i * step] = ih_scale(scratch[i], 1.0 / (2 * BLOOM_RADIUS + 1));
}

/* Three box blurs come close to a bell. What is spread is only the light beyond white. */
static void add_bloom(struct ih_vec *film, struct ih_vec *bloom, struct ih_vec *scratch,
                      uint32_t width, uint32_t height)
{
    const size_t n = (size_t)width * height;
    for (size_t i = 0; i < n; i++)
        bloom[i] =
            ih_vec(fmax(film[i].x - 1.5, 0), fmax(film[i].y - 1.5, 0), fmax(film[i].z - 1.5, 0));
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t y = 0; y < height; y++)
            blur_line(bloom + (size_t)y * width, width, 1, scratch);
        for (uint32_t x = 0; x < width; x++)
            blur_line(bloom + x, height, width, scratch);
    }
    for (size_t i = 0; i < n; i++)
        film[i] = ih_add(film[i], ih_scale(bloom[i], 0.10));
}

/*
 * Reinhard's curve with a white point (E. Reinhard et al., "Photographic Tone Reproduction for
 * Digital Images", 2002), after the sensor's black level, before sRGB's.
 */
static double tone(double light)
{
    const double v = fmax(light - black, 0);
    return ih_srgb_encode(v * (1.0 + v / (white * white)) / (1.0 + 0.55 * v));
}

static void develop(struct ih_picture *picture, const struct ih_vec *film, struct ih_noise *noise)
{
    uint8_t *pixel = picture->pixels;
    const double half_x = 0.5 * picture->width, half_y = 0.5 * picture->height;
    for (uint32_t y = 0; y < picture->height; y++)
        for (uint32_t x = 0; x < picture->width; x++, film++, pixel += 3) {
            const double dx = (x + 0.5 - half_x) / half_x, dy = (y + 0.5 - half_y) / half_y;
            const double r2 = 0.5 * (dx * dx + dy * dy);
            const struct ih_vec seen = ih_scale(*film, 1.0 - 0.42 * r2 * r2 - 0.10 * r2);
            const double gray = 0.2126 * seen.x + 0.7152 * seen.y + 0.0722 * seen.z;
            const struct ih_vec vivid = ih_mix3(ih_vec(gray, gray, gray), seen, saturation);
            const double light[3] = {vivid.x, vivid.y, vivid.z};
            for (int c = 0; c < 3; c++)
                pixel[c] = ih_byte(tone(light[c]) + grain * ih_noise_bell(noise));
        }
}

bool ih_paint_scene(struct ih_picture *picture)
{
    const uint32_t width = picture->width, height = picture->height;
    const size_t n = (size_t)width * height;
    struct ih_noise noise = {1};
    struct ih_scene scene;
    struct ih_vec *film = calloc(2 * n + (width > height ? width : height), sizeof *film);
    if (!film)
        return false;
    ih_scene_fill(&scene);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            film[(size_t)y * width + x] = expose(&scene, picture, x, y, &noise);
    add_bloom(film, film + n, film + 2 * n, width, height);
    develop(picture, film, &noise);
    free(film);
    return true;
}
