/*
 * The title: which file, as much of its name as fits, shortened in the middle; and how counts
 * became heights.
 */
#include "output/chart/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_TO_SCALE = 200 }; /* hundredths of the em, at least */

static char *name_total(const struct ih_result *result)
{
    char *name = malloc(IH_LABEL_MAX);
    if (name)
        snprintf(name, IH_LABEL_MAX, "%" PRIu64 " image%s together", result->n_images,
                 result->n_images == 1 ? "" : "s");
    return name;
}

char *ih_chart_name(const struct ih_result *result)
{
    return result->is_total ? name_total(result) : ih_label_name(result->path);
}

/* Writes the scale at the right. Returns where the title has to end. */
static int32_t draw_scale(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t right = l->right * IH_SUBPIXELS;
    char scale[IH_LABEL_MAX];
    snprintf(scale, sizeof scale, "%.64s scale", chart->axis.scale->title);
    ih_chart_write(chart, right, l->title_y, IH_ALIGN_RIGHT, chart->theme->muted, scale);
    return right - ih_chart_width(chart, scale) - ih_chart_ems(l, NAME_TO_SCALE);
}

void ih_chart_draw_header(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const struct ih_paint paint = {chart->theme->text, 255, IH_BLEND_NORMAL};
    const struct ih_text_place place = {l->margin * IH_SUBPIXELS, l->title_y * IH_SUBPIXELS,
                                        IH_ALIGN_LEFT, (unsigned)l->title_em};
    const int32_t end = draw_scale(chart);
    char *name = ih_chart_name(chart->result);
    if (!name) {
        chart->canvas->status = IH_MEMORY;
        return;
    }
    ih_glyphs_shorten(chart->glyphs, place.size_px, end - place.x, name);
    chart->canvas->text(chart->canvas, &place, name, &paint);
    free(name);
}
