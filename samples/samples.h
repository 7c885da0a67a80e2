/*
 * The sample images: what a picture is, and the tools its painters share.
 *
 * A painter fills one picture, a writer stores it. The pictures have to be the same wherever they
 * are made, because the counts in tests/expected hang on every pixel. So the painters use only what
 * IEEE 754 fixes to the last bit (+ - * / sqrt, floor, fmin, comparisons) and no sin, pow or exp,
 * whose last bit differs between C libraries; the build passes -ffp-contract=off, since a fused
 * multiply- add rounds once where two operations round twice; and no two draws of noise stand in
 * one expression, because C leaves their order open.
 */
#ifndef IH_SAMPLES_H
#define IH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ih_picture_kind {
    IH_PICTURE_GRAY16,  /* 2 bytes a pixel, the high byte first, as PNG stores them */
    IH_PICTURE_INDEXED, /* 1 byte a pixel, an index below n_colours */
    IH_PICTURE_RGB,     /* 3 bytes a pixel */
    IH_PICTURE_RGBA,    /* 4 bytes a pixel, alpha not multiplied in */
};

struct ih_picture {
    enum ih_picture_kind kind;
    uint32_t width, height;      /* pixels */
    uint8_t *pixels;             /* owned by the caller of the painter; rows without padding */
    const uint8_t (*palette)[3]; /* of an indexed picture: set by its painter, static storage */
    uint32_t n_colours;          /* 1 to 256 */
};

/*
 * Each fills the pixels of a picture of the kind and size that make_samples.c gives it. Returns
 * false, with nothing painted, if there was no memory.
 */
typedef bool ih_painter(struct ih_picture *picture);
ih_painter ih_paint_scene;
ih_painter ih_paint_moon;
ih_painter ih_paint_balloon;
ih_painter ih_paint_map;
ih_painter ih_paint_testcard;

/* Bytes a pixel takes in ih_picture.pixels. */
uint32_t ih_picture_pixel_bytes(enum ih_picture_kind kind);

/* Each returns false, with the cause on standard error, if the file could not be written whole. */
bool ih_write_png(const char *path, const struct ih_picture *picture);
bool ih_write_jpeg(const char *path, const struct ih_picture *picture, int quality);

/* A stream of pseudo-random numbers; any seed will do. */
struct ih_noise {
    uint64_t state;
};
uint32_t ih_noise_bits(struct ih_noise *noise);
double ih_noise_uniform(struct ih_noise *noise); /* 0 <= u < 1 */
double ih_noise_bell(struct ih_noise *noise);    /* mean 0, variance 1, within +-3.5 */

/* A number in 0..1 that belongs to a point of the integer lattice. */
double ih_lattice(int32_t x, int32_t y, uint32_t seed);

/* Smooth noise over the plane, 0..1: one octave, and n octaves that each halve in size. */
double ih_value_noise(double x, double y, uint32_t seed);
double ih_cloud_noise(double x, double y, uint32_t seed, int n_octaves);

double ih_clamp(double v, double low, double high);
double ih_mix(double a, double b, double t);
double ih_smoothstep(double from, double to, double v);
double ih_power(double base, unsigned exponent);

/* Linear light 0..1 to the sRGB code 0..1 (IEC 61966-2-1). */
double ih_srgb_encode(double linear);

/* 0..1 to the nearest of 0..255, clamped. */
uint8_t ih_byte(double v);

#endif
