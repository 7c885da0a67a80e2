/*
 * Title and subtitle: which file, and what is known of it besides its tones.
 *
 * The title is as much of the file's name as fits, shortened in the middle. The subtitle is a row
 * of pieces, the more important first, and has as many of them as fit.
 */
#include "output/chart_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- title ---- */

/* Writes the name of a scale other than the usual one at the right of the title. Returns where the
 * title has to end. */
static int32_t draw_scale_name(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t right = l->right * IH_SUBPIXELS;
    char name[IH_LABEL_MAX];
    if (chart->axis.scale == &ih_chart_scale_linear)
        return right;
    snprintf(name, sizeof name, "%.32s scale", chart->axis.scale->name);
    int32_t width =
        ih_chart_write(chart, right, l->title_y, IH_CHART_RIGHT, chart->theme->muted, name);
    return right - width - ih_chart_ems(l, 200);
}

static enum ih_status draw_title(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t x = l->margin * IH_SUBPIXELS, end = draw_scale_name(chart);
    char *title = ih_label_name(chart->result->path);
    if (!title)
        return IH_MEMORY;
    struct ih_paint paint = {chart->theme->text, 255, IH_BLEND_NORMAL};
    ih_glyphs_shorten(chart->glyphs, (unsigned)l->title_em, end - x, title);
    chart->canvas->text(chart->canvas, x, l->title_y * IH_SUBPIXELS, (unsigned)l->title_em, title,
                        &paint);
    free(title);
    return IH_OK;
}

/* ---- subtitle ---- */

enum { PIECES_MAX = 6 };

struct pieces {
    char text[PIECES_MAX][IH_LABEL_MAX];
    size_t n;
};

static char *next_piece(struct pieces *pieces)
{
    return pieces->text[pieces->n++];
}

static void describe_size(const struct ih_result *result, char text[IH_LABEL_MAX])
{
    const struct ih_image_info *info = &result->info;
    uint64_t n = result->histogram.n_pixels;
    if (n > 0 && (info->width == 0 || info->height == 0)) /* of many images */
        snprintf(text, IH_LABEL_MAX, "%" PRIu64 " pixels", n);
    else
        snprintf(text, IH_LABEL_MAX, "%" PRIu64 " \xc3\x97 %" PRIu64 " px", info->width,
                 info->height);
}

/* The format's name in capitals, as one writes it; ASCII alone, whatever the locale. */
static void describe_format(const struct ih_result *result, char text[IH_LABEL_MAX])
{
    snprintf(text, IH_LABEL_MAX, "%.32s", result->info.format);
    for (char *c = text; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
}

static void describe_transparency(const struct ih_histogram *h, char text[IH_LABEL_MAX])
{
    char percent[IH_LABEL_MAX];
    ih_label_percent(percent, h->bins[h->n_channels - 1][0], h->n_pixels);
    snprintf(text, IH_LABEL_MAX, "%.32s fully transparent", percent);
}

static void describe(const struct ih_result *result, struct pieces *pieces)
{
    const struct ih_histogram *h = &result->histogram;
    char number[IH_LABEL_MAX];
    pieces->n = 0;
    describe_size(result, next_piece(pieces));
    if (result->info.format)
        describe_format(result, next_piece(pieces));
    if (h->n_pixels == 0)
        return;
    if (h->n_channels != ih_colour_channels(h->n_channels))
        describe_transparency(h, next_piece(pieces));
    ih_label_real(number, (double)h->sum[IH_LUMA] / (double)h->n_pixels, 1);
    snprintf(next_piece(pieces), IH_LABEL_MAX, "mean luma %.32s", number);
    ih_label_real(number, ih_mean_luminance(h), 4);
    snprintf(next_piece(pieces), IH_LABEL_MAX, "mean luminance %.32s", number);
}

static void draw_subtitle(struct ih_chart *chart)
{
    static const char separator[] = "  \xc2\xb7  ";
    const struct ih_chart_layout *l = &chart->layout;
    int32_t x = l->margin * IH_SUBPIXELS, end = l->right * IH_SUBPIXELS;
    int32_t gap = ih_chart_width(chart, separator);
    struct pieces pieces;
    describe(chart->result, &pieces);
    for (size_t i = 0; i < pieces.n; i++) {
        if (x + (i ? gap : 0) + ih_chart_width(chart, pieces.text[i]) > end)
            break;
        if (i > 0)
            x += ih_chart_write(chart, x, l->subtitle_y, IH_CHART_LEFT, chart->theme->muted,
                                separator);
        x += ih_chart_write(chart, x, l->subtitle_y, IH_CHART_LEFT, chart->theme->muted,
                            pieces.text[i]);
    }
}

enum ih_status ih_chart_draw_header(struct ih_chart *chart)
{
    enum ih_status status = draw_title(chart);
    if (status == IH_OK && chart->layout.subtitle_y > 0)
        draw_subtitle(chart);
    return status;
}
