#include "output/chart/format.h"

#include "output/chart/encode.h"

#include <string.h>
#include <strings.h>

struct ih_chart_format {
    const char *endings[2]; /* of a file's name */
    enum ih_status (*encode)(const struct ih_encode_job *job, struct ih_bytes *file,
                             struct ih_error *err); /* NULL: the canvas writes the file itself */
};

static const struct ih_chart_format formats[] = {
    {{".png"}, ih_encode_png}, {{".svg"}, NULL},          {{".jpg", ".jpeg"}, ih_encode_jpeg},
    {{".bmp"}, ih_encode_bmp}, {{".tga"}, ih_encode_tga},
};

const struct ih_chart_format *ih_chart_format_of(const char *path)
{
    const char *dot = strrchr(path, '.'); /* one before a slash begins no known ending */
    for (size_t i = 0; dot && i < sizeof formats / sizeof *formats; i++)
        for (size_t k = 0; k < 2 && formats[i].endings[k]; k++)
            if (strcasecmp(dot, formats[i].endings[k]) == 0)
                return &formats[i];
    return NULL;
}

static bool is_svg(const struct ih_chart_format *format)
{
    return format && !format->encode;
}

enum ih_status ih_chart_format_open(const struct ih_chart_format *format, struct ih_canvas **canvas,
                                    unsigned width, unsigned height, struct ih_colour background,
                                    const struct ih_glyphs *glyphs,
                                    const struct ih_chart_about *about, struct ih_error *err)
{
    if (is_svg(format))
        return ih_svg_open(canvas, width, height, background, glyphs, &about->words, err);
    return ih_raster_open(canvas, width, height, background, glyphs, err);
}

enum ih_status ih_chart_format_finish(const struct ih_chart_format *format,
                                      struct ih_canvas *canvas, unsigned width, unsigned height,
                                      const struct ih_chart_about *about, unsigned char **file,
                                      size_t *size_bytes, struct ih_error *err)
{
    struct ih_bytes bytes = {0};
    enum ih_status status = IH_OK;
    *file = NULL;
    *size_bytes = 0;
    if (is_svg(format))
        bytes = ih_svg_take(canvas);
    if (canvas->status != IH_OK) {
        status = ih_error_set(err, canvas->status, "chart: out of memory");
    } else if (!is_svg(format)) {
        const struct ih_encode_job job = {ih_raster_pixels(canvas), width, height, about->source};
        status = (format ? format : formats)->encode(&job, &bytes, err);
    }
    if (status != IH_OK) {
        ih_bytes_reset(&bytes);
        return status;
    }
    *file = bytes.data;
    *size_bytes = bytes.size;
    return IH_OK;
}

void ih_chart_format_close(const struct ih_chart_format *format, struct ih_canvas *canvas)
{
    if (is_svg(format))
        ih_svg_close(canvas);
    else
        ih_raster_close(canvas);
}
