/*
 * Charts to BMP and TGA through stb_image_write, which hands the file out in pieces.
 *
 * BMP: 24 bits, not compressed. TGA: 24 bits, run-length coded, which suits a chart.
 */
#include "output/chart/encode.h"

#include <stb/stb_image_write.h>

static void on_write(void *context, void *data, int size)
{
    ih_bytes_append(context, data, (size_t)size);
}

/* written   what stb_image_write returned: 0 is a failure */
static enum ih_status finish(int written, const struct ih_bytes *file, const char *format,
                             struct ih_error *err)
{
    if (file->failed)
        return ih_error_set(err, IH_MEMORY, "chart: out of memory for the %s", format);
    if (!written)
        return ih_error_set(err, IH_UNAVAILABLE, "chart: stb_image_write: no %s", format);
    return IH_OK;
}

enum ih_status ih_encode_bmp(const struct ih_encode_job *job, struct ih_bytes *file,
                             struct ih_error *err)
{
    int written =
        stbi_write_bmp_to_func(on_write, file, (int)job->width, (int)job->height, 3, job->pixels);
    return finish(written, file, "BMP", err);
}

enum ih_status ih_encode_tga(const struct ih_encode_job *job, struct ih_bytes *file,
                             struct ih_error *err)
{
    int written =
        stbi_write_tga_to_func(on_write, file, (int)job->width, (int)job->height, 3, job->pixels);
    return finish(written, file, "TGA", err);
}
