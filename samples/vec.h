/*
 * Three numbers: a point, a direction, or light in red, green and blue.
 */
#ifndef IH_SAMPLES_VEC_H
#define IH_SAMPLES_VEC_H

#include <math.h>

struct ih_vec {
    double x, y, z;
};

static inline struct ih_vec ih_vec(double x, double y, double z)
{
    const struct ih_vec v = {x, y, z};
    return v;
}

static inline struct ih_vec ih_add(struct ih_vec a, struct ih_vec b)
{
    return ih_vec(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline struct ih_vec ih_sub(struct ih_vec a, struct ih_vec b)
{
    return ih_vec(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline struct ih_vec ih_mul(struct ih_vec a, struct ih_vec b)
{
    return ih_vec(a.x * b.x, a.y * b.y, a.z * b.z);
}

static inline struct ih_vec ih_scale(struct ih_vec a, double s)
{
    return ih_vec(a.x * s, a.y * s, a.z * s);
}

static inline double ih_dot(struct ih_vec a, struct ih_vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct ih_vec ih_cross(struct ih_vec a, struct ih_vec b)
{
    return ih_vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline struct ih_vec ih_unit(struct ih_vec a)
{
    return ih_scale(a, 1.0 / sqrt(ih_dot(a, a)));
}

static inline struct ih_vec ih_mix3(struct ih_vec a, struct ih_vec b, double t)
{
    return ih_add(a, ih_scale(ih_sub(b, a), t));
}

/* A direction d, turned back by a mirror with the normal n. */
static inline struct ih_vec ih_mirror(struct ih_vec d, struct ih_vec n)
{
    return ih_sub(d, ih_scale(n, 2.0 * ih_dot(d, n)));
}

#endif
