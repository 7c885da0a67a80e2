#define _POSIX_C_SOURCE 200809L

#include "cli/endings.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A format in a line. */
static const char *const images[] = {
    "png",  "apng",                        /* png */
    "jpg",  "jpeg",  "jpe", "jfif",        /* jpeg */
    "webp",                                /* webp */
    "tif",  "tiff",                        /* tiff */
    "gif",                                 /* gif */
    "heic", "heif",  "hif", "avif",        /* heif */
    "jxl",                                 /* jxl */
    "jp2",  "j2k",   "j2c", "jpc",  "jpf", /* jp2 */
    "qoi",                                 /* qoi */
    "bmp",  "dib",                         /* bmp */
    "tga",  "targa",                       /* tga */
    "psd",  "psb",                         /* psd */
    "pnm",  "pbm",   "pgm", "ppm",  "pam", /* pnm */
    NULL,
};

static const char *const other_images[] = {
    "dng",  "cr2", "cr3",  "crw", "nef", "nrw", "arw", "srf",  "sr2", "raf",  "orf", "rw2", "pef",
    "srw",  "x3f", "3fr",  "iiq", "erf", "mrw", "exr", "dds",  "ktx", "ktx2", "xcf", "jxr", "wdp",
    "djvu", "dcm", "fits", "sgi", "pcx", "dpx", "cin", "flif", "bpg", "mng",  NULL,
};

const char *ih_ending(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *point = strrchr(name, '.');
    return point && point != name ? point + 1 : "";
}

static bool is_one_of(const char *path, const char *const *endings)
{
    const char *ending = ih_ending(path);
    for (; *endings; endings++)
        if (strcasecmp(ending, *endings) == 0)
            return true;
    return false;
}

bool ih_ending_is_image(const char *path)
{
    return is_one_of(path, images);
}

bool ih_ending_is_other_image(const char *path)
{
    return is_one_of(path, other_images);
}
