/*
 * The still life: balls of glass, metal, clay and lacquer on a wooden deck by the sea, a lamp out
 * of the picture, the sun going down behind, and a string of lights far out of focus.
 *
 * It is chosen for its histogram as much as for its looks: the sun and the lamp's reflections are
 * blown to 255 in every channel, the gaps between the planks and the black ball go down to 0, and
 * red and blue part company between the sunset and the sky.
 */
#include "scene.h"

static const struct ih_vec sun_axis = {0.1760, 0.0400, -0.9836}; /* length 1 within 1e-4 */
static const double sun_cosine = 0.99975;                        /* a few times its true size */
static const double deck_end = -4.2; /* the deck lies before this z, the sea behind */

static const struct ih_ball still_life[] = {
    /* the lamp */
    {{-5.2, 6.4, 5.6}, 1.25, {IH_LAMP, {72, 62, 51}, 0}},
    /* back row */
    {{-1.42, 0.78, -0.55}, 0.78, {IH_METAL, {0.86, 0.87, 0.89}, 0}},
    {{0.28, 0.86, -1.55}, 0.86, {IH_MATTE, {0.66, 0.16, 0.09}, 0}},
    {{1.62, 0.64, -0.55}, 0.64, {IH_METAL, {0.95, 0.68, 0.31}, 0.16}},
    /* front row */
    {{0.34, 0.54, 0.62}, 0.54, {IH_GLASS, {0.97, 0.99, 0.985}, 0}},
    {{-0.62, 0.36, 0.92}, 0.36, {IH_GLOSSY, {0.02, 0.09, 0.42}, 0}},
    {{1.24, 0.28, 0.98}, 0.28, {IH_GLOSSY, {0.004, 0.004, 0.005}, 0}},
    {{-1.66, 0.25, 0.80}, 0.25, {IH_GLOSSY, {0.06, 0.36, 0.17}, 0}},
};

static void add_ball(struct ih_scene *scene, struct ih_ball ball)
{
    if (scene->n_balls < IH_BALLS_MAX)
        scene->balls[scene->n_balls++] = ball;
}

static bool is_free(const struct ih_scene *scene, struct ih_vec centre, double radius)
{
    for (int i = 0; i < scene->n_balls; i++) {
        const struct ih_vec d = ih_sub(scene->balls[i].centre, centre);
        const double reach = scene->balls[i].radius + radius + 0.03;
        if (ih_dot(d, d) < reach * reach)
            return false;
    }
    return true;
}

/* Marbles, rolled over the deck to wherever there is room. */
static void add_marbles(struct ih_scene *scene, struct ih_noise *noise)
{
    static const struct ih_material kinds[] = {
        {IH_GLOSSY, {0.80, 0.42, 0.03}, 0}, {IH_GLOSSY, {0.62, 0.03, 0.04}, 0},
        {IH_GLOSSY, {0.75, 0.72, 0.66}, 0}, {IH_METAL, {0.90, 0.62, 0.50}, 0.05},
        {IH_GLOSSY, {0.03, 0.32, 0.40}, 0}, {IH_GLASS, {0.75, 0.95, 0.80}, 0},
        {IH_MATTE, {0.36, 0.10, 0.38}, 0},  {IH_METAL, {0.80, 0.81, 0.84}, 0.02},
    };
    const int n_kinds = sizeof kinds / sizeof *kinds;
    for (int i = 0, n = 0; i < 400 && n < 17; i++) {
        const double x = -2.4 + 4.8 * ih_noise_uniform(noise);
        const double z = -1.3 + 3.6 * ih_noise_uniform(noise);
        const double radius = 0.075 + 0.075 * ih_noise_uniform(noise);
        const struct ih_ball ball = {ih_vec(x, radius, z), radius, kinds[n % n_kinds]};
        if (!is_free(scene, ball.centre, radius))
            continue;
        add_ball(scene, ball);
        n++;
    }
}

/* Small lamps on two slack strings over the water; the lens turns each into a disc. */
static void add_string_lights(struct ih_scene *scene, struct ih_noise *noise)
{
    static const struct ih_vec tints[] = {{1.0, 0.62, 0.26}, {1.0, 0.78, 0.45}, {1.0, 0.42, 0.22}};
    for (int i = 0; i < 22; i++) {
        const bool upper = i < 12;
        const double t = upper ? i / 11.0 : (i - 12) / 9.0;
        const double sag = 4.0 * t * (1.0 - t);
        const double jitter = ih_noise_uniform(noise) - 0.5;
        const struct ih_vec centre = {ih_mix(-8.2, upper ? 3.0 : -1.0, t) + 0.4 * jitter,
                                      (upper ? 4.1 : 2.7) - (upper ? 1.0 : 0.8) * sag,
                                      -13.0 - (upper ? 3.0 : 1.0) * t};
        const double glow = 13.0 + 9.0 * ih_noise_uniform(noise);
        const struct ih_material lamp = {IH_LAMP, ih_scale(tints[i % 3], glow), 0};
        const struct ih_ball ball = {centre, 0.085, lamp};
        add_ball(scene, ball);
    }
}

void ih_scene_fill(struct ih_scene *scene)
{
    struct ih_noise noise = {20};
    scene->n_balls = 0;
    scene->key = 0;
    for (size_t i = 0; i < sizeof still_life / sizeof *still_life; i++)
        add_ball(scene, still_life[i]);
    add_marbles(scene, &noise);
    add_string_lights(scene, &noise);
}

/* The nearer root of |from + t along - centre| = radius that lies ahead, or 0. */
static double ball_distance(const struct ih_ball *ball, struct ih_ray ray)
{
    const struct ih_vec to = ih_sub(ball->centre, ray.from);
    const double along = ih_dot(to, ray.along);
    const double square = ball->radius * ball->radius - (ih_dot(to, to) - along * along);
    if (square < 0)
        return 0;
    const double half = sqrt(square);
    const double near = along - half, far = along + half;
    return near > 1e-7 ? near : far > 1e-7 ? far : 0;
}

/* Planks along z, every one with its own tint, grain and joints; dark gaps in between. */
static struct ih_material wood(struct ih_vec p)
{
    const double width = 0.58, length = 5.0;
    const double plank = floor(p.x / width);
    const double across = p.x / width - plank;
    const int32_t id = (int32_t)plank;
    const double shift = length * ih_lattice(id, 7, 1);
    const double part = floor((p.z + shift) / length);
    const double ahead = p.z + shift - part * length;
    const double tint = ih_lattice(id, (int32_t)part, 2);

    /* Growth rings cut lengthwise: a saw tooth, bent by slow noise that is stretched along z. */
    const double bend = ih_cloud_noise(p.x * 2.6 + 17.0 * tint, p.z * 0.33 + 5.0 * tint, 3, 3);
    const double rings = 9.0 * bend + 1.4 * across;
    const double ring = rings - floor(rings);
    const double fibre = ih_cloud_noise(p.x * 46.0, p.z * 1.9 + 9.0 * tint, 4, 3);
    const double dark = 0.50 * ring * ring + 0.75 * fibre;

    const struct ih_vec light = ih_vec(0.50, 0.29, 0.150), deep = ih_vec(0.155, 0.070, 0.032);
    struct ih_vec colour = ih_mix3(light, deep, ih_clamp(dark, 0, 1));
    colour = ih_scale(colour, 0.62 + 0.5 * tint);
    const double gap = fmin(fmin(across, 1.0 - across) * width, fmin(ahead, length - ahead));
    colour = ih_scale(colour, 0.015 + 0.985 * ih_smoothstep(0.006, 0.017, gap));
    const struct ih_material varnished = {IH_GLOSSY, colour, 0.07 + 0.10 * fibre};
    return varnished;
}

/* The sea is a mirror whose ripples lean the normal; it is far out of focus, so blur does the rest.
 */
static void make_sea(struct ih_vec p, struct ih_hit *hit)
{
    const struct ih_material water = {IH_METAL, {0.05, 0.10, 0.16}, 0.07};
    const double u = p.x * 1.3, v = p.z * 2.6, step = 0.05;
    const double here = ih_cloud_noise(u, v, 11, 3);
    const double dx = ih_cloud_noise(u + step, v, 11, 3) - here;
    const double dz = ih_cloud_noise(u, v + step, 11, 3) - here;
    hit->material = water;
    hit->normal = ih_unit(ih_vec(-dx / step * 0.035, 1, -dz / step * 0.06));
}

/* Near the horizon a ray goes on for ever, but noise counts its lattice in integers: so it ends. */
static void set_ground(struct ih_hit *hit)
{
    const double end = 5000.0;
    const struct ih_vec place =
        ih_vec(ih_clamp(hit->point.x, -end, end), 0, ih_clamp(hit->point.z, -end, end));
    if (place.z < deck_end) {
        make_sea(place, hit);
    } else {
        hit->normal = ih_vec(0, 1, 0);
        hit->material = wood(place);
    }
}

bool ih_scene_hit(const struct ih_scene *scene, struct ih_ray ray, struct ih_hit *hit)
{
    const struct ih_ball *nearest = NULL;
    double distance = ray.along.y < 0 ? -ray.from.y / ray.along.y : 0;
    bool found = distance > 1e-7;
    for (int i = 0; i < scene->n_balls; i++) {
        const double d = ball_distance(&scene->balls[i], ray);
        if (d > 0 && (!found || d < distance)) {
            nearest = &scene->balls[i];
            distance = d;
            found = true;
        }
    }
    if (!found)
        return false;
    hit->distance = distance;
    hit->point = ih_add(ray.from, ih_scale(ray.along, distance));
    if (nearest) {
        hit->normal = ih_scale(ih_sub(hit->point, nearest->centre), 1.0 / nearest->radius);
        hit->material = nearest->material;
    } else {
        set_ground(hit);
    }
    return true;
}

/*
 * Glass throws a shadow that is bright in the middle, where it gathers the light, and dark at the
 * rim, where it mirrors it away. The fourth power of the cosine is a guess that looks right.
 */
struct ih_vec ih_scene_shade(const struct ih_scene *scene, struct ih_ray ray, double reach)
{
    struct ih_vec passed = ih_vec(1, 1, 1);
    for (int i = 0; i < scene->n_balls; i++) {
        const struct ih_ball *ball = &scene->balls[i];
        if (ball->material.surface == IH_LAMP)
            continue;
        const double d = ball_distance(ball, ray);
        if (d <= 0 || d >= reach)
            continue;
        if (ball->material.surface != IH_GLASS)
            return ih_vec(0, 0, 0);
        const struct ih_vec point = ih_add(ray.from, ih_scale(ray.along, d));
        const struct ih_vec out = ih_sub(point, ball->centre);
        const double cosine = ih_dot(out, ray.along) / ball->radius;
        const struct ih_vec twice = ih_mul(ball->material.colour, ball->material.colour);
        passed = ih_mul(passed, ih_scale(twice, 0.12 + 1.9 * ih_power(cosine, 4)));
    }
    return passed;
}

struct ih_vec ih_scene_sky(struct ih_vec along, bool with_sun)
{
    const double up = ih_clamp(along.y, 0, 1);
    const double toward = ih_clamp(ih_dot(along, sun_axis), 0, 1);
    if (with_sun && toward > sun_cosine)
        return ih_vec(34, 22, 9);

    const struct ih_vec low = ih_vec(0.93, 0.43, 0.19), middle = ih_vec(0.36, 0.27, 0.38),
                        high = ih_vec(0.055, 0.115, 0.30);
    struct ih_vec sky = ih_mix3(low, middle, ih_smoothstep(0, 0.13, up));
    sky = ih_mix3(sky, high, ih_smoothstep(0.03, 0.33, up));

    /* Streaks of cloud, lit from below: noise over the plane on which clouds would lie. */
    const double flat = 1.0 / (up + 0.08);
    const double cloud = ih_cloud_noise(along.x * flat * 0.8, along.z * flat * 2.2, 31, 4);
    const double cover = ih_smoothstep(0.50, 0.78, cloud) * ih_smoothstep(0.0, 0.10, up);
    const struct ih_vec edge =
        ih_mix3(ih_vec(0.30, 0.20, 0.26), ih_vec(1.1, 0.50, 0.30), ih_power(toward, 6));
    sky = ih_mix3(sky, edge, 0.65 * cover);

    sky = ih_scale(sky, 0.60 + 0.40 * toward * toward);
    sky = ih_add(sky, ih_scale(ih_vec(0.55, 0.24, 0.07), ih_power(toward, 24)));
    return ih_add(sky, ih_scale(ih_vec(2.0, 1.1, 0.40), ih_power(toward, 400)));
}

void ih_scene_lights(const struct ih_scene *scene, struct ih_vec point, struct ih_cone lights[2])
{
    const struct ih_ball *key = &scene->balls[scene->key];
    const struct ih_vec to = ih_sub(key->centre, point);
    const double square = ih_dot(to, to);
    lights[0].axis = ih_scale(to, 1.0 / sqrt(square));
    lights[0].cosine = sqrt(1.0 - key->radius * key->radius / square);
    lights[0].distance = sqrt(square) - key->radius;
    lights[0].glow = key->material.colour;

    lights[1].axis = ih_unit(sun_axis);
    lights[1].cosine = sun_cosine;
    lights[1].distance = 1e9;
    lights[1].glow =
        ih_vec(1500, 800, 300); /* stronger than its disc: the eye sees past the haze */
}
