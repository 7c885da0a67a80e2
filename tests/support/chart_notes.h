/* A canvas for tests that records the boxes of texts and marks. */
#ifndef IH_TESTS_CHART_NOTES_H
#define IH_TESTS_CHART_NOTES_H

#include "chart/drawing.h"
#include "tests/support/chart_picture.h"

enum { NOTES_MAX = 512, FAR = INT32_MAX / 2 };

struct box {
    int32_t left, top, right, bottom; /* 1/IH_SUBPIXELS of a pixel */
    char text[IH_LABEL_MAX];          /* "" for a mark */
};

struct notes {
    struct ih_canvas base;
    const struct ih_chart_theme *theme;
    struct box boxes[NOTES_MAX];
    size_t n;
    struct box all; /* around everything */
};

static inline void extend(struct box *box, int32_t left, int32_t top, int32_t right, int32_t bottom)
{
    box->left = left < box->left ? left : box->left;
    box->top = top < box->top ? top : box->top;
    box->right = right > box->right ? right : box->right;
    box->bottom = bottom > box->bottom ? bottom : box->bottom;
}

static inline struct box *add_box(struct notes *notes)
{
    assert_true(notes->n < NOTES_MAX);
    struct box *box = &notes->boxes[notes->n++];
    *box = (struct box){FAR, FAR, -FAR, -FAR, ""};
    return box;
}

static inline bool is_colour(const struct ih_colour *a, const struct ih_colour *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Shapes in the colours of warnings and of text are marks: triangles and arrows. */
static inline void note_fill(struct ih_canvas *canvas, const struct ih_path *path,
                             const struct ih_paint *paint)
{
    struct notes *notes = (struct notes *)canvas;
    bool is_mark = is_colour(&paint->colour, &notes->theme->warning) ||
                   is_colour(&paint->colour, &notes->theme->text);
    struct box *box = NULL;
    assert_false(path->failed);
    for (size_t i = 0; i < path->n_points; i++) {
        const struct ih_path_point *p = &path->points[i];
        extend(&notes->all, p->x, p->y, p->x, p->y);
        if (is_mark && p->begins)
            box = add_box(notes);
        if (is_mark)
            extend(box, p->x, p->y, p->x, p->y);
    }
}

/* A box reaches from the height of DejaVu's capitals and digits to its descenders. */
static inline void note_text(struct ih_canvas *canvas, const struct ih_text_place *place,
                             const char *text, const struct ih_paint *paint)
{
    struct notes *notes = (struct notes *)canvas;
    const int32_t width = ih_glyphs_width(canvas->page->glyphs, place->size_px, text);
    const int32_t em = (int32_t)place->size_px * IH_SUBPIXELS;
    int32_t x = place->x;
    assert_true(place->size_px >= 10);
    if (place->align != IH_ALIGN_LEFT)
        x -= place->align == IH_ALIGN_CENTRE ? width / 2 : width;
    struct box *box = add_box(notes);
    extend(box, x, place->baseline - em * 73 / 100, x + width, place->baseline + em * 24 / 100);
    extend(&notes->all, box->left, box->top, box->right, box->bottom);
    snprintf(box->text, sizeof box->text, "%.127s", text);
}

static inline bool touch(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static inline void check_boxes(const struct notes *notes, unsigned width, unsigned height)
{
    assert_true(notes->all.left >= 0 && notes->all.top >= 0);
    assert_true(notes->all.right <= (int32_t)width * IH_SUBPIXELS);
    assert_true(notes->all.bottom <= (int32_t)height * IH_SUBPIXELS);
    for (size_t i = 0; i < notes->n; i++)
        for (size_t k = 0; k < i; k++)
            if ((notes->boxes[i].text[0] || notes->boxes[k].text[0]) &&
                touch(&notes->boxes[i], &notes->boxes[k]))
                fail_msg("%ux%u: '%s' and '%s' touch", width, height, notes->boxes[i].text,
                         notes->boxes[k].text);
}

static inline void draw_notes(struct notes *notes, const struct ih_result *r, const char *scale,
                              unsigned width, unsigned height)
{
    static struct ih_glyphs *glyphs; /* shared, never closed */
    if (!glyphs)
        assert_int_equal(ih_glyphs_open(&glyphs, NULL), IH_OK);
    memset(notes, 0, sizeof *notes);
    const struct ih_chart_page page = {.width = width, .height = height, .glyphs = glyphs};
    notes->base = (struct ih_canvas){.page = &page, .fill = note_fill, .text = note_text};
    notes->theme = ih_chart_theme_find("dark");
    notes->all = (struct box){FAR, FAR, -FAR, -FAR, ""};
    const struct ih_shown shown = ih_histogram_shown(&r->histogram);
    struct ih_histogram bars;
    assert_int_equal(ih_histogram_fold(&r->histogram, shown, &bars, NULL), IH_OK);
    struct ih_chart chart = {.result = r,
                             .bars = &bars,
                             .heights = &bars,
                             .values = &r->histogram,
                             .shown = shown,
                             .theme = notes->theme,
                             .glyphs = glyphs,
                             .page = page,
                             .canvas = &notes->base,
                             .axis.scale = ih_chart_scale_find(scale)};
    ih_chart_collect_facts(r, &chart.facts);
    struct ih_bytes title = {0}, description = {0};
    ih_chart_describe(&chart, &title, &description); /* sets the name */
    ih_chart_draw_all(&chart);
    free(chart.name);
    ih_histogram_reset(&bars);
    ih_bytes_reset(&title);
    ih_bytes_reset(&description);
    assert_int_equal(notes->base.status, IH_OK);
    ih_path_reset(&chart.path);
}

#endif
