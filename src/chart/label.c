/*
 * Labels, and lines of text as outlines of the embedded font.
 *
 * stb_truetype reads the font: glyphs, advances, and outlines in integer font units. Curves are
 * flattened here in integers, and the canvas fills the outlines like any path (path.c says why).
 */
#include "chart/label.h"

#include "base/text.h"
#include "third_party/font.h"

#include <inttypes.h>
#include <math.h>
#include <stb/stb_truetype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- labels ---- */

const char *ih_label_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") == 0)
        return "standard input";
    return slash && slash[1] ? slash + 1 : path;
}

enum { GROWTH = 4 }; /* ih_escape turns n bytes into at most 4n */

char *ih_label_text(const char *name)
{
    size_t length = strlen(name);
    if (length > (SIZE_MAX - IH_ELLIPSIS_BYTES - 1) / GROWTH)
        return NULL;
    char *label = malloc(length * GROWTH + IH_ELLIPSIS_BYTES + 1);
    if (!label)
        return NULL;
    ih_escape(label, length * GROWTH + 1, name);
    return label;
}

char *ih_label_name(const char *path)
{
    return ih_label_text(ih_label_last_part(path));
}

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* Writes digits / 10^decimals. Returns its length. */
static size_t put_decimal(char label[IH_LABEL_MAX], uint64_t digits, unsigned decimals)
{
    const uint64_t scale = power_of_ten(decimals);
    int n = snprintf(label, IH_LABEL_MAX, "%" PRIu64, digits / scale);
    if (decimals > 0)
        n += snprintf(label + n, (size_t)(IH_LABEL_MAX - n), ".%0*" PRIu64, (int)decimals,
                      digits % scale);
    return (size_t)n;
}

/* The same without trailing zeros: 24 for 24.0. */
static size_t put_short_decimal(char label[IH_LABEL_MAX], uint64_t digits, unsigned decimals)
{
    while (decimals > 0 && digits % 10 == 0) {
        digits /= 10;
        decimals--;
    }
    return put_decimal(label, digits, decimals);
}

void ih_label_count(char label[IH_LABEL_MAX], uint64_t n)
{
    static const char suffixes[] = "\0kMGTPE";
    unsigned exponent = 0; /* of the last digit that is kept */
    while (n / power_of_ten(exponent) >= 1000)
        exponent++;
    const uint64_t unit = power_of_ten(exponent);
    uint64_t digits = n / unit + (exponent > 0 && n % unit >= unit - unit / 2);
    if (digits == 1000) { /* 999.6 */
        digits = 100;
        exponent++;
    }
    const unsigned group = (exponent + 2) / 3;
    const size_t size = put_short_decimal(label, digits, group * 3 - exponent);
    label[size] = suffixes[group];
    label[size + 1] = '\0';
}

/* Returns v * 10^decimals, rounded. */
static uint64_t label_scaled(double v, unsigned decimals)
{
    return (uint64_t)floor(v * (double)power_of_ten(decimals) + 0.5);
}

void ih_label_real(char label[IH_LABEL_MAX], double v, unsigned decimals)
{
    put_decimal(label, label_scaled(v, decimals), decimals);
}

void ih_label_megapixels(char label[IH_LABEL_MAX], uint64_t n)
{
    const unsigned decimals = n >= 100000000 ? 0 : n >= 10000000 ? 1 : n >= 10000 ? 2 : 6;
    put_short_decimal(label, label_scaled((double)n * 1e-6, decimals), decimals);
}

void ih_label_percent(char label[IH_LABEL_MAX], uint64_t part, uint64_t total)
{
    double percent = 100.0 * (double)part / (double)total;
    char number[IH_LABEL_MAX] = "";
    if (part == 0 || part == total)
        ih_label_real(number, percent, 0);
    else if (percent < 0.01)
        snprintf(number, sizeof number, "<0.01");
    else if (percent > 99.9)
        snprintf(number, sizeof number, ">99.9");
    else
        ih_label_real(number, percent, percent < 9.995 ? 2 : 1);
    snprintf(label, IH_LABEL_MAX, "%.32s\xe2\x80\xaf%%", number); /* a narrow no-break space */
}

void ih_label_exact_percent(char label[IH_LABEL_MAX], double percent)
{
    strcpy(label + put_short_decimal(label, label_scaled(percent, 6), 6), "\xe2\x80\xaf%");
}

/* ---- the font ---- */

struct ih_glyphs {
    stbtt_fontinfo info;
    int64_t units_per_em;
};

enum ih_status ih_glyphs_open(struct ih_glyphs **glyphs, struct ih_error *err)
{
    *glyphs = NULL;
    struct ih_glyphs *g = calloc(1, sizeof *g);
    if (!g)
        return ih_error_set(err, IH_MEMORY, "chart: out of memory");
    if (!stbtt_InitFont(&g->info, ih_font, 0)) {
        free(g);
        return ih_error_set(err, IH_UNAVAILABLE, "chart: the font of this build cannot be read");
    }
    g->units_per_em = (int64_t)(1.0 / (double)stbtt_ScaleForMappingEmToPixels(&g->info, 1) + 0.5);
    *glyphs = g;
    return IH_OK;
}

void ih_glyphs_close(struct ih_glyphs *glyphs)
{
    free(glyphs);
}

/* Returns a / b, rounded to the nearest integer, halves up; b > 0. */
static int64_t divide_round(int64_t a, int64_t b)
{
    int64_t doubled = 2 * a + b;
    int64_t quotient = doubled / (2 * b);
    return doubled % (2 * b) < 0 ? quotient - 1 : quotient;
}

/* Converts font units, multiplied by `parts`, to 1/IH_SUBPIXELS of a pixel. Clamps to INT32_MAX,
 * the width of tens of thousands of characters. */
static int32_t label_scale(const struct ih_glyphs *g, unsigned size_px, int64_t units,
                           int64_t parts)
{
    int64_t scaled = divide_round(units * size_px * IH_SUBPIXELS, g->units_per_em * parts);
    return scaled < INT32_MAX ? (int32_t)scaled : INT32_MAX;
}

/* A character that the font lacks is as wide as most that it lacks: Chinese, Japanese and Korean.
 * So a line of an SVG keeps its place. */
static int64_t advance_units(const struct ih_glyphs *g, unsigned long code_point)
{
    int advance = 0, bearing = 0;
    if (stbtt_FindGlyphIndex(&g->info, (int)code_point) == 0)
        return g->units_per_em;
    stbtt_GetCodepointHMetrics(&g->info, (int)code_point, &advance, &bearing);
    return advance;
}

/* Returns the sum of the advances in the first size_bytes of a text. */
static int64_t width_units(const struct ih_glyphs *g, const char *text, size_t size_bytes)
{
    int64_t units = 0;
    unsigned long c = 0;
    for (size_t i = 0, n = 0; i < size_bytes && (n = ih_utf8_length(text + i, &c)) > 0; i += n)
        units += advance_units(g, c);
    return units;
}

int32_t ih_glyphs_width(const struct ih_glyphs *g, unsigned size_px, const char *text)
{
    return label_scale(g, size_px, width_units(g, text, strlen(text)), 1);
}

unsigned long ih_glyphs_lacking(const struct ih_glyphs *g, const char *text)
{
    unsigned long c = 0;
    for (size_t n = 0; *text && (n = ih_utf8_length(text, &c)) > 0; text += n)
        if (stbtt_FindGlyphIndex(&g->info, (int)c) == 0)
            return c;
    return 0;
}

/* The position of the next glyph: `along` font units to the right of (x, baseline). */
struct pen {
    const struct ih_glyphs *glyphs;
    struct ih_path *path;
    int32_t x, baseline;
    unsigned size_px;
    int64_t along;
};

/* Adds a point given in font units, multiplied by `parts`. Font y is 0 at the baseline and grows
 * upwards. */
static void add_point(const struct pen *pen, int64_t x, int64_t y, int64_t parts, bool begins)
{
    int32_t px = pen->x + label_scale(pen->glyphs, pen->size_px, pen->along * parts + x, parts);
    int32_t py = pen->baseline - label_scale(pen->glyphs, pen->size_px, y, parts);
    if (begins)
        ih_path_move(pen->path, px, py);
    else
        ih_path_line(pen->path, px, py);
}

/* Adds a quadratic curve as n chords. Their distance from the curve is at most
 * |p0 - 2c + p1| / (4 n^2); n keeps it below 1/16 of a pixel, which is invisible. */
static void add_curve(const struct pen *pen, const stbtt_vertex *from, const stbtt_vertex *to)
{
    int64_t bend_x = from->x - 2 * to->cx + to->x;
    int64_t bend_y = from->y - 2 * to->cy + to->y;
    int64_t bend = llabs(bend_x) + llabs(bend_y);
    int64_t n = 1;
    while (n * n * pen->glyphs->units_per_em < 4 * bend * pen->size_px)
        n++;
    for (int64_t i = 1; i <= n; i++) {
        int64_t a = (n - i) * (n - i), b = 2 * i * (n - i), c = i * i;
        add_point(pen, a * from->x + b * to->cx + c * to->x, a * from->y + b * to->cy + c * to->y,
                  n * n, false);
    }
}

static void add_glyph(const struct pen *pen, unsigned long code_point)
{
    const stbtt_fontinfo *info = &pen->glyphs->info;
    int glyph = stbtt_FindGlyphIndex(info, (int)code_point);
    stbtt_vertex *vertices = NULL;
    int n = stbtt_GetGlyphShape(info, glyph, &vertices);
    if (n == 0 && !stbtt_IsGlyphEmpty(info, glyph))
        pen->path->failed = true; /* stb_truetype returns 0 vertices only if memory ran out */
    for (int i = 0; i < n; i++) {
        const stbtt_vertex *v = &vertices[i];
        if (v->type == STBTT_vcurve && i > 0)
            add_curve(pen, v - 1, v);
        else /* no cubic curves: these occur in CFF fonts only */
            add_point(pen, v->x, v->y, 1, v->type == STBTT_vmove);
    }
    stbtt_FreeShape(info, vertices);
}

/* Adds the glyphs of the first size_bytes, from left to right. */
static void add_glyphs(struct pen *pen, const char *text, size_t size_bytes)
{
    unsigned long c = 0;
    for (size_t i = 0, n = 0; i < size_bytes && (n = ih_utf8_length(text + i, &c)) > 0; i += n) {
        add_glyph(pen, c);
        pen->along += advance_units(pen->glyphs, c);
    }
}

/* Letters and marks of Hebrew, Arabic and their neighbours, without digits. */
static bool is_right_to_left(unsigned long c)
{
    return (c >= 0x590 && c < 0x900 && (c < 0x660 || c > 0x669) && (c < 0x6f0 || c > 0x6f9)) ||
           (c >= 0xfb1d && c < 0xfe00) || (c >= 0xfe70 && c < 0xfeff);
}

/* Bytes at the start of text, from one such letter to the last before any other character but
 * blanks and lines between words. 0: there is none. */
static size_t right_to_left_run(const char *text)
{
    size_t end = 0;
    unsigned long c = 0;
    for (size_t i = 0, n = 0; text[i] && (n = ih_utf8_length(text + i, &c)) > 0; i += n)
        if (is_right_to_left(c))
            end = i + n;
        else if (end == 0 || !strchr(" -_", text[i]))
            break;
    return end;
}

void ih_glyphs_outline(const struct ih_glyphs *g, struct ih_path *path, int32_t x, int32_t baseline,
                       unsigned size_px, const char *text)
{
    struct pen pen = {g, path, x, baseline, size_px, 0};
    unsigned long c = 0;
    for (size_t n = 0; *text && (n = ih_utf8_length(text, &c)) > 0; text += n) {
        const size_t run = right_to_left_run(text);
        for (size_t end = run, at = run; at > 0; end = at) { /* a letter and its marks */
            do
                for (at--; ((unsigned char)text[at] & 0xc0) == 0x80; at--)
                    ;
            while (at > 0 && ih_utf8_length(text + at, &c) > 0 && advance_units(g, c) == 0);
            add_glyphs(&pen, text + at, end - at);
        }
        n = run > 0 ? run : n;
        if (run == 0)
            add_glyphs(&pen, text, n);
    }
}

void ih_glyphs_shorten(const struct ih_glyphs *g, unsigned size_px, int32_t max_width, char *text)
{
    static const char ellipsis[IH_ELLIPSIS_BYTES + 1] = "\xe2\x80\xa6";
    size_t size = strlen(text), head = 0, tail = size;
    if (ih_glyphs_width(g, size_px, text) <= max_width)
        return;
    int64_t left = max_width * g->units_per_em / ((int64_t)size_px * IH_SUBPIXELS) -
                   width_units(g, ellipsis, IH_ELLIPSIS_BYTES);
    if (left < 0) {
        text[0] = '\0';
        return;
    }
    unsigned long c = 0;
    size_t n = 0;
    int64_t half = left / 2;
    while (head < size && (n = ih_utf8_length(text + head, &c)) > 0 &&
           advance_units(g, c) <= half) {
        half -= advance_units(g, c);
        left -= advance_units(g, c);
        head += n;
    }
    while (tail > head) {
        size_t before = tail - 1;
        while (before > head && ((unsigned char)text[before] & 0xc0) == 0x80)
            before--; /* a continuation byte */
        if (ih_utf8_length(text + before, &c) == 0 || advance_units(g, c) > left)
            break;
        left -= advance_units(g, c);
        tail = before;
    }
    memmove(text + head + IH_ELLIPSIS_BYTES, text + tail, size - tail + 1);
    memcpy(text + head, ellipsis, IH_ELLIPSIS_BYTES);
}
