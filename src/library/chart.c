/* Charts of counts, drawn as the program draws them. */
#include "chart/chart.h"

#include "library/library.h"

#include <string.h>

/* Turns the names of settings into what they name. */
static enum ih_status find_look(const struct ih_chart_settings *s, struct ih_chart_options *look,
                                struct ih_error *err)
{
    *look = (struct ih_chart_options){
        .width = s->width | s->height ? s->width : IH_CHART_WIDTH,
        .height = s->width | s->height ? s->height : IH_CHART_HEIGHT,
        .theme = ih_chart_theme_find(s->theme ? s->theme : "dark"),
        .scale = ih_chart_scale_find(s->scale ? s->scale : "linear"),
        .format = ih_chart_format_of(s->file_name ? s->file_name : ".png"),
        .title = s->title,
        .in_percent = s->scale_y && strcmp(s->scale_y, "percent") == 0,
    };
    if (s->scale_y && !look->in_percent && strcmp(s->scale_y, "count") != 0)
        return ih_error_set(err, IH_USAGE, "chart: scale_y must be 'count' or 'percent'");
    if (!look->scale)
        return ih_error_set(err, IH_USAGE, "chart: scale must be 'linear', 'log' or 'sqrt'");
    if (!look->theme)
        return ih_error_set(err, IH_USAGE, "chart: theme must be 'dark' or 'light'");
    if (!look->format)
        return ih_error_set(err, IH_USAGE, "chart: the name must end in one of" IH_CHART_ENDINGS);
    return IH_OK;
}

enum ih_status ih_chart_write(const struct ih_counts *counts,
                              const struct ih_chart_settings *settings, size_t settings_bytes,
                              void **file, size_t *size_bytes, struct ih_error *err)
{
    struct ih_chart_settings s;
    struct ih_chart_options look;
    unsigned char *drawn = NULL;
    enum ih_status status =
        ih_options_copy(&s, sizeof s, settings, settings_bytes, "settings", err);
    if (status == IH_OK)
        status = find_look(&s, &look, err);
    if (status == IH_OK && !ih_counts_bins(counts, 0))
        status = ih_error_set(err, IH_USAGE, "chart: the counts are empty");
    if (status != IH_OK)
        return status;
    struct ih_result result = counts->result;
    result.path = s.source ? s.source : "pixels";
    result.folder = NULL;
    if (result.info.format && !*result.info.format)
        result.info.format = NULL;
    status = ih_chart_draw(&result, &look, &drawn, size_bytes, err);
    if (status == IH_OK)
        *file = drawn;
    return status;
}
