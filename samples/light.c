/*
 * Follows one ray of light backwards, from the lens to where it came from (path tracing: J. T.
 * Kajiya, "The Rendering Equation", 1986). At each surface the path takes one of the ways light
 * could have come, by chance; the mean of many paths is the picture, with soft shadows, reflections
 * and colours that bleed onto their neighbours for free.
 *
 * Two shortcuts keep it free of sparkle at a hundred paths a pixel. Lamps are never found by chance
 * from a matte surface: a shadow ray is sent to each light instead. And light that a glass ball
 * gathers into a bright spot is not traced but guessed, in ih_scene_shade.
 */
#include "scene.h"

enum {
    BOUNCES_MAX = 9, /* a ball in a ball in a ball: later light is too weak to show */
};

static const double glass_index = 1.5;
static const double away = 1e-6; /* start off the surface, or rounding makes a ray hit it again */

/* An even choice among the points of the ball of radius 1, by throwing darts at its cube. */
static struct ih_vec in_ball(struct ih_noise *noise)
{
    struct ih_vec v;
    do {
        v.x = 2.0 * ih_noise_uniform(noise) - 1.0;
        v.y = 2.0 * ih_noise_uniform(noise) - 1.0;
        v.z = 2.0 * ih_noise_uniform(noise) - 1.0;
    } while (ih_dot(v, v) > 1.0 || ih_dot(v, v) < 1e-8);
    return v;
}

/*
 * The share of light that is mirrored (C. Schlick, "An Inexpensive BRDF Model for Physically-based
 * Rendering", 1994): f0 head-on, all at the rim. A rough surface shades itself at the rim, so there
 * the share stays lower; by how much is set by eye.
 */
static double fresnel(double f0, double roughness, double cosine)
{
    const double rim = fmax(f0, 1.0 - 5.0 * roughness);
    return f0 + (rim - f0) * ih_power(1.0 - ih_clamp(cosine, 0, 1), 5);
}

/*
 * Decides by chance whether a path that may do either is mirrored. A lamp in a faint mirror is a
 * few very bright paths among many dark ones, which shows as sparkle; so at least a third is
 * mirrored, and `share` is weighed to make up for it.
 */
static bool mirrors(double reflectance, struct ih_vec *share, struct ih_noise *noise)
{
    const double chance = fmax(reflectance, 1.0 / 3.0);
    const bool mirrored = ih_noise_uniform(noise) < chance;
    *share = ih_scale(*share, mirrored ? reflectance / chance
                                       : (1.0 - reflectance) / fmax(1.0 - chance, away));
    return mirrored;
}

/* An even choice among the directions of a cone: by darts at its base, lifted to the cap above. */
static struct ih_vec in_cone(const struct ih_cone *cone, struct ih_noise *noise)
{
    double a, b, r2;
    do {
        a = 2.0 * ih_noise_uniform(noise) - 1.0;
        b = 2.0 * ih_noise_uniform(noise) - 1.0;
        r2 = a * a + b * b;
    } while (r2 > 1.0);
    /* Archimedes: equal areas of the cap lie over equal heights, so r2 may stand for the height. */
    const double cosine = 1.0 - r2 * (1.0 - cone->cosine);
    const double spread = r2 > 0 ? sqrt((1.0 - cosine * cosine) / r2) : 0;
    const struct ih_vec other = fabs(cone->axis.x) < 0.8 ? ih_vec(1, 0, 0) : ih_vec(0, 1, 0);
    const struct ih_vec u = ih_unit(ih_cross(cone->axis, other));
    const struct ih_vec v = ih_cross(cone->axis, u);
    return ih_add(ih_scale(cone->axis, cosine),
                  ih_add(ih_scale(u, a * spread), ih_scale(v, b * spread)));
}

/* What the lights give a matte surface: light times cosine times solid angle, over pi. */
static struct ih_vec lit_directly(const struct ih_scene *scene, const struct ih_hit *hit,
                                  struct ih_noise *noise)
{
    struct ih_cone lights[2];
    struct ih_vec sum = ih_vec(0, 0, 0);
    ih_scene_lights(scene, hit->point, lights);
    for (int i = 0; i < 2; i++) {
        const struct ih_ray ray = {ih_add(hit->point, ih_scale(hit->normal, away)),
                                   in_cone(&lights[i], noise)};
        const double cosine = ih_dot(ray.along, hit->normal);
        if (cosine <= 0)
            continue;
        const struct ih_vec passed = ih_scene_shade(scene, ray, lights[i].distance);
        /* The cone's solid angle is 2 pi (1 - cosine); pi falls out. */
        sum = ih_add(
            sum, ih_scale(ih_mul(lights[i].glow, passed), 2.0 * cosine * (1.0 - lights[i].cosine)));
    }
    return sum;
}

/* Snell's law in vectors; mirrors where the law has no answer or Fresnel's share says so. */
static struct ih_vec through_glass(const struct ih_hit *hit, struct ih_vec along,
                                   struct ih_vec *share, struct ih_noise *noise)
{
    const bool entering = ih_dot(along, hit->normal) < 0;
    const struct ih_vec normal = entering ? hit->normal : ih_scale(hit->normal, -1);
    const double ratio = entering ? 1.0 / glass_index : glass_index;
    const double cosine = -ih_dot(along, normal);
    const double inside = 1.0 - ratio * ratio * (1.0 - cosine * cosine);
    const double f0 = (glass_index - 1.0) / (glass_index + 1.0);
    if (inside < 0 || mirrors(fresnel(f0 * f0, 0, entering ? cosine : sqrt(inside)), share, noise))
        return ih_mirror(along, normal);
    return ih_add(ih_scale(along, ratio), ih_scale(normal, ratio * cosine - sqrt(inside)));
}

/* Blurs a mirrored ray, and keeps it above the surface. */
static struct ih_vec blurred(struct ih_vec along, const struct ih_hit *hit, struct ih_noise *noise)
{
    if (hit->material.roughness <= 0)
        return along;
    const struct ih_vec v = ih_add(along, ih_scale(in_ball(noise), hit->material.roughness));
    return ih_unit(ih_dot(v, hit->normal) > 0 ? v : along);
}

/* A lamp in a rough mirror is a glow of rare bright paths: dims them, for grain instead of sparkle.
 */
static struct ih_vec softened(struct ih_vec light, double roughness)
{
    const double most = fmax(light.x, fmax(light.y, light.z));
    const double limit = 1.0 / fmax(roughness, away);
    return most > limit ? ih_scale(light, limit / most) : light;
}

/*
 * One bounce: turns the ray, dims `share` by what the surface takes, adds direct light to `light`.
 * Returns whether the bounce was a mirror's or glass's, through which lamps can be seen.
 */
static bool bounce(const struct ih_scene *scene, const struct ih_hit *hit, struct ih_ray *ray,
                   struct ih_vec *share, struct ih_vec *light, struct ih_noise *noise)
{
    const struct ih_material *material = &hit->material;
    const double cosine = -ih_dot(ray->along, hit->normal);
    bool mirrored = true;

    if (material->surface == IH_GLASS) {
        ray->along = through_glass(hit, ray->along, share, noise);
        *share = ih_mul(*share, material->colour);
    } else if (material->surface == IH_METAL) {
        const double edge = fresnel(0, material->roughness, cosine);
        *share = ih_mul(*share, ih_mix3(material->colour, ih_vec(1, 1, 1), edge));
        ray->along = blurred(ih_mirror(ray->along, hit->normal), hit, noise);
    } else if (material->surface == IH_GLOSSY &&
               mirrors(fresnel(0.04, material->roughness, cosine), share, noise)) {
        ray->along = blurred(ih_mirror(ray->along, hit->normal), hit, noise);
    } else {
        mirrored = false;
        *share = ih_mul(*share, material->colour);
        *light = ih_add(*light, ih_mul(*share, lit_directly(scene, hit, noise)));
        /* A point on a ball that rests on the surface gives Lambert's cosine distribution. */
        ray->along = ih_unit(ih_add(ih_scale(hit->normal, 1.0 + away), ih_unit(in_ball(noise))));
    }
    const bool below = ih_dot(ray->along, hit->normal) < 0;
    ray->from = ih_add(hit->point, ih_scale(hit->normal, below ? -away : away));
    return mirrored;
}

struct ih_vec ih_light(const struct ih_scene *scene, struct ih_ray ray, struct ih_noise *noise)
{
    struct ih_vec light = ih_vec(0, 0, 0), share = ih_vec(1, 1, 1);
    bool only_mirrors = true;
    double roughness = 0; /* of the mirrors so far */

    for (int i = 0; i < BOUNCES_MAX; i++) {
        struct ih_hit hit;
        if (!ih_scene_hit(scene, ray, &hit))
            return ih_add(
                light, ih_mul(share, softened(ih_scene_sky(ray.along, only_mirrors), roughness)));
        if (hit.material.surface == IH_LAMP) {
            if (only_mirrors)
                light = ih_add(light, ih_mul(share, softened(hit.material.colour, roughness)));
            return light;
        }
        if (!bounce(scene, &hit, &ray, &share, &light, noise))
            only_mirrors = false;
        roughness = fmax(roughness, hit.material.roughness);
    }
    return light;
}
