/*
 * A TIFF in memory, as libtiff wants to see it, and what it says of it.
 *
 * What is wrong goes into the handle's own messages, never to standard error. While it decodes,
 * errors and all but a few warnings mean that samples are lost; in the directory its warnings are
 * about tags that nobody needs.
 */
#include "decode/tiff/parts.h"

#include <stdio.h>
#include <string.h>

enum { TAGS_BYTES_MAX = 256 << 20 }; /* what libtiff may allocate at once: arrays of strips */

static tmsize_t read_file(thandle_t user, void *dst, tmsize_t size)
{
    struct ih_tiff_handle *h = user;
    const struct ih_held *w = &h->state->whole;
    size_t left = h->position < w->file_bytes ? w->file_bytes - (size_t)h->position : 0;
    size_t n = size < 0 ? 0 : (size_t)size < left ? (size_t)size : left;
    if (n)
        memcpy(dst, w->file + h->position, n);
    h->position += n;
    return (tmsize_t)n;
}

static tmsize_t write_file(thandle_t user, void *src, tmsize_t size)
{
    (void)user, (void)src, (void)size;
    return -1;
}

static toff_t size_of_file(thandle_t user)
{
    const struct ih_tiff_handle *h = user;
    return h->state->whole.file_bytes;
}

static toff_t seek_file(thandle_t user, toff_t offset, int whence)
{
    struct ih_tiff_handle *h = user;
    h->position = offset + (whence == SEEK_CUR   ? h->position
                            : whence == SEEK_END ? size_of_file(user)
                                                 : 0);
    return h->position;
}

static int close_file(thandle_t user)
{
    (void)user;
    return 0;
}

static int map_file(thandle_t user, void **base, toff_t *size)
{
    struct ih_tiff_handle *h = user;
    *base = h->state->whole.file;
    *size = h->state->whole.file_bytes;
    return 1;
}

static void unmap_file(thandle_t user, void *base, toff_t size)
{
    (void)user, (void)base, (void)size;
}

IH_PRINTF(4, 0)
static int on_error(TIFF *tiff, void *user, const char *module, const char *format, va_list values)
{
    struct ih_tiff *s = user;
    char text[IH_MESSAGE_MAX];
    (void)tiff;
    vsnprintf(text, sizeof text, format, values);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    if (s->error.status == IH_OK)
        ih_error_set(&s->error, IH_CORRUPT, "damaged TIFF: %s%s%s", module ? module : "",
                     module ? ": " : "", text);
    return 1; /* nobody else needs to hear of it */
}

/* A directory may warn of much that means nothing for the pixels, but not of values that lie behind
 * the end of the file, nor of its palette: without one, libtiff calls the image gray. */
static bool is_damage(const char *text)
{
    return strstr(text, "IO error") || strstr(text, "ColorMap") || strstr(text, "Colormap");
}

/* Of samples that are all there: an old way to write LZW, a last strip of JPEG as high as the
 * others, whose further rows are nobody's, and progressive JPEG. */
static bool is_harmless(const char *format)
{
    return strncmp(format, "Old-style LZW", 13) == 0 ||
           strncmp(format, "JPEG strip size", 15) == 0 ||
           strstr(format, "encoded with progressive mode");
}

IH_PRINTF(4, 0)
static int on_warning(TIFF *tiff, void *user, const char *module, const char *format,
                      va_list values)
{
    const struct ih_tiff *s = user;
    if (!s->is_decoding) {
        char text[IH_MESSAGE_MAX];
        va_list again;
        va_copy(again, values);
        vsnprintf(text, sizeof text, format, again);
        va_end(again);
        return is_damage(text) ? on_error(tiff, user, module, format, values) : 1;
    }
    return is_harmless(format) ? 1 : on_error(tiff, user, module, format, values);
}

enum ih_status ih_tiff_failed(const struct ih_tiff *s, struct ih_error *err)
{
    if (s->error.status == IH_OK)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF");
    *err = s->error;
    return err->status;
}

enum ih_status ih_tiff_open_handle(struct ih_tiff *s, unsigned i, struct ih_error *err)
{
    struct ih_tiff_handle *h = &s->handles[i];
    h->state = s;
    TIFFOpenOptions *options = s->lib.TIFFOpenOptionsAlloc();
    if (!options)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.TIFFOpenOptionsSetMaxSingleMemAlloc(options, TAGS_BYTES_MAX);
    s->lib.TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, s);
    s->lib.TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, s);
    /* c: strips as they are in the file */
    h->tiff = s->lib.TIFFClientOpenExt("file", "rc", h, read_file, write_file, seek_file,
                                       close_file, size_of_file, map_file, unmap_file, options);
    s->lib.TIFFOpenOptionsFree(options);
    return h->tiff ? IH_OK : ih_tiff_failed(s, err);
}
