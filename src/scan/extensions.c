#include "scan/extensions.h"

#include "decode/archive.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Each between blanks. A new format is one more line. */
static const char images[] = " png apng"
                             " jpg jpeg jpe jfif"
                             " webp"
                             " tif tiff"
                             " gif"
                             " heif heic hif avif"
                             " jxl"
                             " bmp dib"
                             " tga targa"
                             " psd psb"
                             " pnm pbm pgm ppm pam"
                             " qoi"
                             " jp2 j2k j2c jpc jpf jpx"
                             " npy"
                             " fits fit fts"
                             " exr"
                             " hdr"
                             " ico cur ";

/* Camera raw, and formats that are only recognised. */
static const char other_images[] =
    " dng cr2 cr3 crw nef nrw arw srf sr2 raf orf rw2 pef srw x3f 3fr iiq erf mrw"
    " dds ktx ktx2 xcf jxr wdp djvu dcm sgi pcx dpx cin flif bpg mng pic ";

/* Formats that an output could be expected in, and is not written in. */
static const char other_files[] = " xlsx xls ods docx odt pdf parquet feather arrow db sqlite ";

/* Compressed files and archives, beside those that ih_archive_is_name knows. */
static const char packed[] = " gz zst xz bz2 lz4 7z rar ";

const char *ih_extension(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *point = strrchr(name, '.');
    return point && point != name ? point + 1 : "";
}

static bool is_one_of(const char *path, const char *endings)
{
    enum { LONGEST = 8 };
    char word[LONGEST + 3];
    const char *ending = ih_extension(path);
    if (*ending == '\0' || strlen(ending) > LONGEST || strchr(ending, ' '))
        return false;
    snprintf(word, sizeof word, " %s ", ending);
    for (char *p = word; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return strstr(endings, word) != NULL;
}

bool ih_extension_is_image(const char *path)
{
    return is_one_of(path, images);
}

bool ih_extension_is_other_image(const char *path)
{
    return is_one_of(path, other_images);
}

bool ih_extension_is_other_file(const char *path)
{
    return is_one_of(path, other_files);
}

bool ih_extension_is_packed(const char *path)
{
    return ih_archive_is_name(path) || is_one_of(path, packed);
}

bool ih_extension_is_result_file(const char *path)
{
    return is_one_of(path, " ndjson jsonl json ");
}

bool ih_extension_is_chart(const char *path)
{
    const size_t n = strlen(path), n_ending = strlen(IH_EXTENSION_CHART_PNG);
    return n >= n_ending && (strcasecmp(path + n - n_ending, IH_EXTENSION_CHART_PNG) == 0 ||
                             strcasecmp(path + n - n_ending, IH_EXTENSION_CHART_SVG) == 0);
}
