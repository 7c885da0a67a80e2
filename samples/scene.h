/*
 * What the parts of the ray tracer tell each other: scene.c knows what stands where and what it is
 * made of, light.c follows one ray through it, camera.c sends the rays and develops the film.
 *
 * Units: about a decimetre; light in arbitrary units in which the camera's exposure makes 1 white.
 */
#ifndef IH_SAMPLES_SCENE_H
#define IH_SAMPLES_SCENE_H

#include "samples.h"
#include "vec.h"

enum ih_surface {
    IH_MATTE,  /* scatters evenly (Lambert) */
    IH_GLOSSY, /* matte under a clear coat */
    IH_METAL,  /* mirrors, tinted; roughness blurs */
    IH_GLASS,  /* mirrors and refracts; colour is what passes */
    IH_LAMP,   /* shines; colour is how much */
};

struct ih_material {
    enum ih_surface surface;
    struct ih_vec colour;
    double roughness; /* 0: a perfect mirror; in units of the mirrored ray's length */
};

struct ih_ball {
    struct ih_vec centre;
    double radius;
    struct ih_material material;
};

enum {
    IH_BALLS_MAX = 64,
};

struct ih_scene {
    struct ih_ball balls[IH_BALLS_MAX];
    int n_balls;
    int key; /* which ball is the lamp that lights the scene */
};

struct ih_ray {
    struct ih_vec from, along; /* along has length 1 */
};

struct ih_hit {
    double distance;
    struct ih_vec point, normal; /* the normal points out of the ball, or up */
    struct ih_material material;
};

/* A round light far away, as seen from a point: a cone of directions. */
struct ih_cone {
    struct ih_vec axis;
    double cosine;      /* of the half angle */
    double distance;    /* to what stands before it */
    struct ih_vec glow; /* light from every direction inside */
};

void ih_scene_fill(struct ih_scene *scene);
bool ih_scene_hit(const struct ih_scene *scene, struct ih_ray ray, struct ih_hit *hit);

/* The share of light, per colour, that gets past what stands within `reach` along the ray. */
struct ih_vec ih_scene_shade(const struct ih_scene *scene, struct ih_ray ray, double reach);

/* The sky in one direction; the sun's disc itself only if asked for. */
struct ih_vec ih_scene_sky(struct ih_vec along, bool with_sun);

/* The key lamp and the sun, as they stand in the sky of a point. */
void ih_scene_lights(const struct ih_scene *scene, struct ih_vec point, struct ih_cone lights[2]);

/* The light that comes in along a ray. */
struct ih_vec ih_light(const struct ih_scene *scene, struct ih_ray ray, struct ih_noise *noise);

#endif
