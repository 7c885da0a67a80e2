/*
 * Makes the sample images: make_samples DIR writes them into DIR.
 *
 * They are made by a program, not taken by a camera, so that they are free of anyone's rights,
 * every pixel has a reason that can be read here, and they can be made anew where a file is in
 * doubt. The files are kept in the repository all the same: what a user tries first should need no
 * step before, and the counts in tests/expected were taken from these files. README.md tells what
 * each one is for.
 */
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    JPEG_QUALITY = 90, /* what cameras and editors write for "high" */
    PATH_MAX_BYTES = 4096,
};

struct sample {
    const char *png; /* file names; NULL where the picture is not stored that way */
    const char *jpeg;
    ih_painter *paint;
    enum ih_picture_kind kind;
    uint32_t width, height;
};

static const struct sample samples[] = {
    {"cutout.png", NULL, ih_paint_balloon, IH_PICTURE_RGBA, 160, 200},
    {"gray16.png", NULL, ih_paint_moon, IH_PICTURE_GRAY16, 192, 192},
    {"palette.png", NULL, ih_paint_map, IH_PICTURE_INDEXED, 320, 240},
    {"scene.png", "scene.jpg", ih_paint_scene, IH_PICTURE_RGB, 480, 320},
    {"testcard.png", NULL, ih_paint_testcard, IH_PICTURE_RGB, 256, 256},
};

static bool path_in(char *path, const char *folder, const char *name)
{
    const int length = snprintf(path, PATH_MAX_BYTES, "%s/%s", folder, name);
    if (length > 0 && length < PATH_MAX_BYTES)
        return true;
    fprintf(stderr, "make_samples: %s: the path is too long\n", folder);
    return false;
}

static bool make(const struct sample *sample, const char *folder)
{
    bool ok = false;
    char path[PATH_MAX_BYTES];
    struct ih_picture picture = {
        .kind = sample->kind, .width = sample->width, .height = sample->height};

    picture.pixels =
        calloc((size_t)picture.width * picture.height, ih_picture_pixel_bytes(picture.kind));
    if (!picture.pixels) {
        fputs("make_samples: out of memory\n", stderr);
        goto out;
    }
    if (!sample->paint(&picture)) {
        fputs("make_samples: out of memory\n", stderr);
        goto out;
    }
    if (sample->png && !(path_in(path, folder, sample->png) && ih_write_png(path, &picture)))
        goto out;
    if (sample->jpeg &&
        !(path_in(path, folder, sample->jpeg) && ih_write_jpeg(path, &picture, JPEG_QUALITY)))
        goto out;
    ok = true;
out:
    free(picture.pixels);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: make_samples DIR\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (!make(&samples[i], argv[1]))
            return 1;
    return 0;
}
