/*
 * A moon, gray with 16 bits: smooth slopes into the dark, and noise finer than 8 bits can show.
 *
 * Craters are rings of height on a ball: a bowl, a rim, and a skirt that falls away outside. The
 * slope of the height leans the ball's normal, and the light is Lommel and Seeliger's law for dust
 * (H. Seeliger, 1887), which keeps a full moon as bright at its rim as in its middle, as it is,
 * where Lambert's would darken it.
 */
#include "samples.h"
#include "vec.h"

enum {
    N_CRATERS = 420,
    GRID = 4, /* GRID x GRID points a pixel */
};

static const struct ih_vec sun = {-0.80, 0.30, 0.52};
static const double disc_radius = 0.88; /* of half the picture's width */

struct crater {
    struct ih_vec centre; /* on the ball of radius 1 */
    double radius, depth;
};

/* Many small ones and few large ones, as on real moons: their number falls with radius squared. */
static void strew(struct crater *craters, struct ih_noise *noise)
{
    for (int i = 0; i < N_CRATERS; i++) {
        struct ih_vec v;
        do {
            v.x = 2.0 * ih_noise_uniform(noise) - 1.0;
            v.y = 2.0 * ih_noise_uniform(noise) - 1.0;
            v.z = ih_noise_uniform(noise);
        } while (ih_dot(v, v) > 1.0 || ih_dot(v, v) < 0.01);
        craters[i].centre = ih_unit(v);
        craters[i].radius = fmin(0.017 / sqrt(1.0 - ih_noise_uniform(noise)), 0.19);
        craters[i].depth = 0.20 * craters[i].radius * (0.5 + 0.5 * ih_noise_uniform(noise));
    }
}

/* What a crater adds at a distance from its centre, in radii, for a depth of 1. */
static double profile(double distance)
{
    if (distance < 1.0)
        return fmax(distance * distance * 1.35 - 1.0, -0.85);
    return 0.35 * ih_power((1.9 - distance) / 0.9, 3);
}

static double height_at(const struct crater *craters, struct ih_vec p)
{
    double height = 0.012 * ih_cloud_noise(p.x * 9.0 + 40.0, p.y * 9.0 + 40.0, 5, 5);
    for (int i = 0; i < N_CRATERS; i++) {
        const struct ih_vec d = ih_sub(p, craters[i].centre);
        const double reach = 1.9 * craters[i].radius;
        const double square = ih_dot(d, d);
        if (square < reach * reach)
            height += craters[i].depth * profile(sqrt(square) / craters[i].radius);
    }
    return height;
}

/* The ball's normal, leant against the slope of the height along two directions on the ball. */
static struct ih_vec normal_at(const struct crater *craters, struct ih_vec p)
{
    const double step = 0.006;
    const struct ih_vec u = ih_unit(ih_cross(p, ih_vec(0.1, 1, 0.05)));
    const struct ih_vec v = ih_cross(p, u);
    const double here = height_at(craters, p);
    const double du = height_at(craters, ih_unit(ih_add(p, ih_scale(u, step)))) - here;
    const double dv = height_at(craters, ih_unit(ih_add(p, ih_scale(v, step)))) - here;
    return ih_unit(ih_sub(p, ih_add(ih_scale(u, du / step), ih_scale(v, dv / step))));
}

/* Light highlands, dark plains, and bright rays around the youngest crater. */
static double albedo_at(struct ih_vec p)
{
    const struct ih_vec young = ih_unit(ih_vec(-0.18, -0.72, 0.67));
    const double plains = ih_cloud_noise(p.x * 1.7 + 11.3, p.y * 1.7 + 4.1, 21, 4);
    const double fine = ih_cloud_noise(p.x * 14.0, p.y * 14.0, 23, 3);
    const struct ih_vec d = ih_sub(p, young);
    const double distance = sqrt(ih_dot(d, d)) + 0.02;
    const double fan = ih_value_noise(7.0 * d.x / distance + 50.0, 7.0 * d.y / distance + 50.0, 29);
    const double rays = ih_smoothstep(0.55, 0.95, fan) * fmax(0, 1.0 - distance / 1.1);
    const double ground = ih_mix(0.72, 0.36, ih_smoothstep(0.47, 0.61, plains));
    return ground * (0.85 + 0.3 * fine) + 0.30 * rays +
           0.35 * ih_power(fmax(0, 1.1 - distance), 24);
}

/* The light of one point of the picture, whose centre is 0, 0 and whose ball has radius 1. */
static double moonlight(const struct crater *craters, double x, double y)
{
    const double r2 = x * x + y * y;
    if (r2 >= 1.0)
        return 0;
    const struct ih_vec p = ih_vec(x, y, sqrt(1.0 - r2));
    const struct ih_vec normal = normal_at(craters, p);
    const double to_sun = fmax(ih_dot(normal, sun), 0);
    const double to_eye = fmax(normal.z, 0.05);
    /* The ball hides the sun from slopes that lean toward it beyond the edge of the day. */
    const double day = ih_smoothstep(-0.05, 0.12, ih_dot(p, sun));
    return albedo_at(p) * (1.75 * day * to_sun / (to_sun + to_eye) + 0.004);
}

bool ih_paint_moon(struct ih_picture *picture)
{
    const double scale = 2.0 / (disc_radius * picture->width);
    struct crater craters[N_CRATERS];
    struct ih_noise noise = {1969};
    uint8_t *pixel = picture->pixels;
    strew(craters, &noise);
    for (uint32_t row = 0; row < picture->height; row++)
        for (uint32_t column = 0; column < picture->width; column++, pixel += 2) {
            double sum = 0;
            for (int i = 0; i < GRID * GRID; i++) {
                const double x = column + (i % GRID + 0.5) / GRID - 0.5 * picture->width;
                const double y = 0.5 * picture->height - row - (i / GRID + 0.5) / GRID;
                sum += moonlight(craters, x * scale, y * scale);
            }
            /* Shot noise grows with the root of the light; the sensor's own is always there. */
            const double light = sum / (GRID * GRID);
            const double grain = 0.0008 + 0.004 * sqrt(light);
            const double v = ih_srgb_encode(light) + 0.004 + grain * ih_noise_bell(&noise);
            const uint32_t code = (uint32_t)floor(ih_clamp(v, 0, 1) * 65535.0 + 0.5);
            pixel[0] = (uint8_t)(code >> 8);
            pixel[1] = (uint8_t)(code & 255);
        }
    return true;
}
