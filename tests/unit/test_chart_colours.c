/*
 * The colours of charts: contrast as WCAG 2.1 defines it, and red-green blindness as Machado,
 * Oliveira and Fernandes simulate it (IEEE TVCG 15, 2009, severity 1). Areas are measured in a
 * drawn picture, the other colours are those of the themes.
 */
#include "chart/drawing.h"
#include "tests/support/chart_picture.h"
#include <math.h>

static const char *const themes[] = {"dark", "light"};

struct linear {
    double v[3]; /* red, green, blue; light, 0 to 1 */
};

static struct linear linear_of(struct ih_colour c)
{
    const uint8_t bytes[] = {c.red, c.green, c.blue};
    struct linear out;
    for (int i = 0; i < 3; i++) {
        const double v = bytes[i] / 255.0;
        out.v[i] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
    }
    return out;
}

static double contrast(struct ih_colour a, struct ih_colour b)
{
    const struct linear x = linear_of(a), y = linear_of(b);
    const double m = 0.2126 * x.v[0] + 0.7152 * x.v[1] + 0.0722 * x.v[2] + 0.05;
    const double n = 0.2126 * y.v[0] + 0.7152 * y.v[1] + 0.0722 * y.v[2] + 0.05;
    return fmax(m, n) / fmin(m, n);
}

static void multiply(const double matrix[3][3], const struct linear *in, struct linear *out)
{
    for (int i = 0; i < 3; i++) {
        const double v =
            matrix[i][0] * in->v[0] + matrix[i][1] * in->v[1] + matrix[i][2] * in->v[2];
        out->v[i] = fmin(fmax(v, 0), 1);
    }
}

/* CIE Lab, from linear sRGB with the white of D65. */
static struct linear lab_of(struct linear rgb)
{
    static const double to_xyz[3][3] = {{0.43389, 0.37626, 0.18985}, /* divided by the white */
                                        {0.21267, 0.71515, 0.07218},
                                        {0.01776, 0.10947, 0.87277}};
    struct linear xyz;
    multiply(to_xyz, &rgb, &xyz);
    for (int i = 0; i < 3; i++)
        xyz.v[i] = xyz.v[i] > 0.008856 ? cbrt(xyz.v[i]) : 7.787 * xyz.v[i] + 16.0 / 116;
    return (struct linear){
        {116 * xyz.v[1] - 16, 500 * (xyz.v[0] - xyz.v[1]), 200 * (xyz.v[1] - xyz.v[2])}};
}

/* The least difference (CIE 1976) of two colours to viewers with protanopia and deuteranopia. */
static double difference(struct ih_colour a, struct ih_colour b)
{
    static const double blindness[2][3][3] = {{{0.152286, 1.052583, -0.204868},
                                               {0.114503, 0.786281, 0.099216},
                                               {-0.003882, -0.048116, 1.051998}},
                                              {{0.367322, 0.860646, -0.227968},
                                               {0.280085, 0.672501, 0.047413},
                                               {-0.011820, 0.042940, 0.968881}}};
    const struct linear x = linear_of(a), y = linear_of(b);
    double least = INFINITY;
    for (int i = 0; i < 2; i++) {
        struct linear p, q;
        multiply(blindness[i], &x, &p);
        multiply(blindness[i], &y, &q);
        p = lab_of(p);
        q = lab_of(q);
        least = fmin(least, sqrt(pow(p.v[0] - q.v[0], 2) + pow(p.v[1] - q.v[1], 2) +
                                 pow(p.v[2] - q.v[2], 2)));
    }
    return least;
}

/* The eight areas: bit c of the index is set where channel c is; 0 is the panel. */
static void measure_areas(const char *theme, struct ih_colour areas[8])
{
    struct ih_result *r = new_result(3);
    for (unsigned v = 0; v < IH_BINS; v++)
        for (unsigned c = 0; c < 3; c++)
            ih_bins(&r->histogram, c)[v] = v / 32 >> c & 1 ? 1000 : 0;
    r->histogram.n_pixels = 256000;
    struct picture p =
        draw(r, (struct ih_chart_options){
                    .width = 1024, .height = 640, .theme = ih_chart_theme_find(theme)});
    for (unsigned i = 0; i < 8; i++) {
        const struct colour c = pixel_at(&p, 68 + 936 * (int)(i * 32 + 20) / 256, 300);
        areas[i] = (struct ih_colour){(uint8_t)c.red, (uint8_t)c.green, (uint8_t)c.blue};
    }
    free(p.pixels);
    free_result(r);
}

/* A border is seen if two of area, edge and area differ. */
TEST(neighbouring_areas_have_a_contrast_of_3)
{
    for (int i = 0; i < 2; i++) {
        const struct ih_chart_theme *t = ih_chart_theme_find(themes[i]);
        struct ih_colour areas[8];
        measure_areas(themes[i], areas);
        for (unsigned a = 0; a < 8; a++)
            for (unsigned c = 0; c < 3; c++) {
                const struct ih_colour in = areas[a | 1u << c], out = areas[a & ~(1u << c)];
                const double most = fmax(
                    contrast(in, out), fmax(contrast(in, t->edges[c]), contrast(out, t->edges[c])));
                if (most < 3)
                    fail_msg("%s, area %u, channel %u: %.2f", themes[i], a, c, most);
            }
        for (unsigned c = 0; c < 3; c++)
            assert_true(contrast(t->lines[c], t->panel) >= 4.5);
        assert_true(contrast(t->gray, t->panel) >= 3);
        assert_true(contrast(t->luma, t->casing) >= 3);
    }
}

TEST(three_channels_are_a_light_neutral)
{
    for (int i = 0; i < 2; i++) {
        struct ih_colour areas[8];
        measure_areas(themes[i], areas);
        const uint8_t *c = &areas[7].red;
        for (int k = 0; k < 3; k++) {
            assert_in_range(c[k], 200, 240);
            assert_in_range(c[k] - c[(k + 1) % 3] + 16, 0, 32);
        }
        for (unsigned a = 1; a < 7; a++) /* each channel more is lighter */
            for (unsigned b = 0; b < 3; b++)
                if (!(a >> b & 1))
                    assert_true(contrast(areas[a], (struct ih_colour){0, 0, 0}) <
                                contrast(areas[a | 1u << b], (struct ih_colour){0, 0, 0}));
    }
}

/* Differences of 10 are seen at a glance, even apart; channels have twice as much. */
TEST(colours_differ_with_red_green_blindness)
{
    for (int i = 0; i < 2; i++) {
        const struct ih_chart_theme *t = ih_chart_theme_find(themes[i]);
        struct ih_colour areas[8];
        measure_areas(themes[i], areas);
        for (unsigned a = 0; a < 8; a++)
            for (unsigned b = 0; b < a; b++)
                if (difference(areas[a], areas[b]) < 10)
                    fail_msg("%s: areas %u and %u: %.1f", themes[i], a, b,
                             difference(areas[a], areas[b]));
        for (unsigned a = 0; a < 3; a++)
            for (unsigned b = 0; b < a; b++) {
                const double d = fmin(fmin(difference(areas[1u << a], areas[1u << b]),
                                           difference(t->edges[a], t->edges[b])),
                                      difference(t->lines[a], t->lines[b]));
                if (d < 20)
                    fail_msg("%s: channels %u and %u: %.1f", themes[i], a, b, d);
            }
    }
}

TEST(text_has_a_contrast_of_4_5)
{
    for (int i = 0; i < 2; i++) {
        const struct ih_chart_theme *t = ih_chart_theme_find(themes[i]);
        const struct ih_colour marks[] = {t->areas[0], t->areas[1], t->areas[2], t->gray,
                                          t->warning};
        assert_true(contrast(t->text, t->page) >= 4.5 && contrast(t->muted, t->page) >= 4.5);
        assert_true(contrast(t->muted, t->panel) >= 4.5);
        for (unsigned k = 0; k < sizeof marks / sizeof *marks; k++)
            if (contrast(marks[k], t->page) < 3)
                fail_msg("%s: mark %u: %.2f", themes[i], k, contrast(marks[k], t->page));
    }
}
