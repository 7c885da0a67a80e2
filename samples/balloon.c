/*
 * A hot-air balloon cut out on transparent ground, as an editor would save it: colours not
 * multiplied by alpha, soft edges, and wholly transparent pixels stored as (0, 0, 0, 0).
 *
 * Alpha runs from 0 to 255: the edges are smoothed by 6 x 6 points a pixel, and a warm
 * haze around the envelope fades out slowly. The envelope is a surface of revolution; its gores are
 * told apart by longitude, which needs no arc tangent: the seams lie at fixed tangents.
 */
#include "samples.h"
#include "vec.h"

enum {
    GRID = 6,
    N_SEAMS = 6, /* seams on either side of the middle of the front */
};

/* tan of 15, 30 ... 75 degrees, and something beyond every tangent. */
static const double seams[N_SEAMS] = {0.2679491924311227, 0.5773502691896258, 1.0,
                                      1.7320508075688772, 3.7320508075688772, 1e9};

static const struct ih_vec stripes[] = {
    {0.86, 0.10, 0.09},
    {0.95, 0.62, 0.07},
    {0.96, 0.90, 0.78},
    {0.05, 0.40, 0.50},
};

static const struct ih_vec sun = {-0.52, 0.60, 0.61};

struct spot {
    struct ih_vec colour; /* linear light */
    double alpha;
};

/* Half the envelope's width at a height from -1.25 (mouth) to 1 (crown): a ball with a cone below.
 */
static double girth(double y)
{
    const double joint = -0.655; /* where the cone's side is the ball's tangent */
    if (y > joint)
        return sqrt(fmax(0, 1.0 - y * y));
    return ih_mix(sqrt(1.0 - joint * joint), 0.24, (joint - y) / (joint + 1.25));
}

static struct ih_vec stripe(double longitude_tangent)
{
    const double t = fabs(longitude_tangent);
    int gore = 0;
    while (t > seams[gore])
        gore++;
    const double odd = longitude_tangent < 0 ? 1 : 0;
    return stripes[(gore + 2 * (int)odd) % 4];
}

static struct spot envelope(double x, double y)
{
    const double half = girth(y);
    const double sideways = x / half;
    const double front = sqrt(fmax(0, 1.0 - sideways * sideways));
    const double slope = (girth(y - 0.01) - girth(y + 0.01)) / 0.02;
    const struct ih_vec normal = ih_unit(ih_vec(sideways, slope, front));

    /* Gores bulge between their seams: a little darker where two meet. */
    const double tangent = sideways / fmax(front, 1e-3);
    struct ih_vec colour = stripe(tangent);
    if (fabs(y + 0.30) < 0.09)
        colour = ih_vec(0.06, 0.10, 0.24);
    else if (y < -1.12)
        colour = ih_vec(0.20, 0.05, 0.05);
    double seam = 1;
    for (int i = 0; i < N_SEAMS - 1; i++)
        seam = fmin(seam, fabs(fabs(tangent) - seams[i]) / (1.0 + seams[i] * seams[i]) * half);
    seam = 0.72 + 0.28 * ih_smoothstep(0, 0.035, fmin(seam, fabs(tangent) * half));

    const double lambert = fmax(ih_dot(normal, sun), 0);
    const struct ih_vec back = ih_mirror(ih_scale(sun, -1), normal);
    const double shine = 0.22 * ih_power(fmax(back.z, 0), 18);
    const double burner = 0.35 * ih_smoothstep(0.3, -1.2, y) * front; /* the flame shines through */
    const struct ih_vec light =
        ih_add(ih_scale(ih_vec(1.0, 0.94, 0.84), 1.05 * lambert),
               ih_add(ih_vec(0.13, 0.16, 0.22), ih_scale(ih_vec(1.0, 0.55, 0.15), burner)));
    const struct spot spot = {
        ih_add(ih_scale(ih_mul(colour, light), seam), ih_vec(shine, shine, shine)), 1};
    return spot;
}

/* Wicker, woven from noise and a chequer of light and dark. */
static struct spot basket(double x, double y)
{
    const double across = x / 0.17;
    const int32_t warp = (int32_t)floor(x * 42.0), weft = (int32_t)floor(y * 42.0);
    const double weave = (warp + weft) % 2 ? 0.8 : 1.15;
    const double shade = 0.30 + 0.70 * ih_clamp(0.55 - 0.6 * across, 0, 1);
    const double rim = y > -1.72 || y < -1.97 ? 0.45 : 1.0;
    const double v = weave * shade * rim * (0.85 + 0.3 * ih_lattice(warp, weft, 3));
    const struct spot spot = {ih_scale(ih_vec(0.46, 0.25, 0.10), v), 1};
    return spot;
}

/* One point; y is up, the envelope's middle is 0, 0 and its radius 1. */
static struct spot look(double x, double y)
{
    const struct spot rope = {ih_vec(0.09, 0.06, 0.04), 1};
    if (y > -1.25 && y < 1 && fabs(x) < girth(y))
        return envelope(x, y);
    if (fabs(x) < 0.17 && y < -1.69 && y > -2.0)
        return basket(x, y);
    const double down = (-1.25 - y) / 0.44;
    const double spread = ih_mix(0.24, 0.165, down);
    if (down >= 0 && down <= 1 &&
        (fabs(fabs(x) - spread) < 0.011 || fabs(fabs(x) - 0.4 * spread) < 0.008))
        return rope;

    /* The haze: bright at the burner, faint around the envelope. */
    const double flame = fmax(0, 1.0 - sqrt(9.0 * x * x + (y + 1.38) * (y + 1.38)) / 0.42);
    const double ring = fmax(0, 1.0 - (sqrt(x * x + y * y) - 1.0) / 0.17);
    const double halo =
        y > -0.6 ? 0.50 * fmin(ring, 1) * fmin(ring, 1) * ih_smoothstep(-0.6, 0.1, y) : 0;
    const struct spot glow = {ih_mix3(ih_vec(1.0, 0.80, 0.52), ih_vec(1.0, 0.55, 0.10), flame),
                              fmax(halo, ih_clamp(1.25 * flame, 0, 1))};
    return glow;
}

bool ih_paint_balloon(struct ih_picture *picture)
{
    const double scale = 3.5 / picture->height;
    struct ih_noise noise = {1783};
    uint8_t *pixel = picture->pixels;
    for (uint32_t row = 0; row < picture->height; row++)
        for (uint32_t column = 0; column < picture->width; column++, pixel += 4) {
            struct ih_vec sum = ih_vec(0, 0, 0);
            double alpha = 0;
            for (int i = 0; i < GRID * GRID; i++) {
                const double x = column + (i % GRID + 0.5) / GRID - 0.5 * picture->width;
                const double y = -(double)row - (i / GRID + 0.5) / GRID;
                const struct spot spot = look(x * scale, y * scale + 1.25);
                sum = ih_add(sum, ih_scale(spot.colour, spot.alpha));
                alpha += spot.alpha;
            }
            const double grain = 0.004 * ih_noise_bell(&noise);
            pixel[3] = ih_byte(alpha / (GRID * GRID));
            if (pixel[3] == 0)
                continue; /* the memory came zeroed */
            pixel[0] = ih_byte(ih_srgb_encode(sum.x / alpha) + grain);
            pixel[1] = ih_byte(ih_srgb_encode(sum.y / alpha) + grain);
            pixel[2] = ih_byte(ih_srgb_encode(sum.z / alpha) + grain);
        }
    return true;
}
