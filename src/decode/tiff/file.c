/*
 * The file as libtiff reads it from memory, libtiff's messages, and the tags that have to be read
 * without libtiff.
 *
 * libtiff's messages are stored in the handle and never printed. While it decodes samples, errors
 * and nearly all warnings mean that samples are lost. While it reads the directory, most warnings
 * are about tags that do not affect the pixels.
 */
#include "decode/tiff/parts.h"

#include <stdio.h>
#include <string.h>

enum { TAGS_BYTES_MAX = 256 << 20 }; /* libtiff's largest allocation: arrays of strips */

static tmsize_t read_file(thandle_t user, void *dst, tmsize_t size)
{
    struct ih_tiff_handle *h = user;
    const struct ih_held *w = &h->state->held;
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
    return h->state->held.file_bytes;
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
    *base = h->state->held.file;
    *size = h->state->held.file_bytes;
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
    static const char precision[] = "Unsupported JPEG data precision";
    if (s->error.status == IH_OK && strncmp(text, precision, sizeof precision - 1) == 0)
        ih_error_set(&s->error, IH_UNSUPPORTED, "TIFF that this libtiff does not decode: %s", text);
    else if (s->error.status == IH_OK)
        ih_error_set(&s->error, IH_CORRUPT, "damaged TIFF: %s%s%s", module ? module : "",
                     module ? ": " : "", text);
    return 1; /* handled: libtiff prints nothing */
}

/* Warnings about the directory that are errors here: values past the end of the file, and a bad
 * palette, without which libtiff would treat the image as gray. */
static bool is_damage(const char *text)
{
    return strstr(text, "IO error") || strstr(text, "ColorMap") || strstr(text, "Colormap");
}

/* Warnings about samples that are complete: an old variant of LZW, a last JPEG strip as high as the
 * others, whose extra rows are unused, and progressive JPEG. */
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
    /* "c": no strip chopping, so strips are the ones of the file */
    h->tiff = s->lib.TIFFClientOpenExt("file", "rc", h, read_file, write_file, seek_file,
                                       close_file, size_of_file, map_file, unmap_file, options);
    s->lib.TIFFOpenOptionsFree(options);
    if (!h->tiff || (s->page_at && !s->lib.TIFFSetSubDirectory(h->tiff, s->page_at)))
        return ih_tiff_failed(s, err);
    if (ih_tiff_is_deflate(s, h->tiff)) /* inflate.c says why */
        s->lib.TIFFSetField(h->tiff, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    return IH_OK;
}

/* ---- tags as they are in the file ----
 *
 * libtiff repairs directories silently: it treats a palette image of 8 bits or more without a
 * palette as gray or RGB. So the tags that decide what the samples are, are also read here.
 * Sources: TIFF 6.0, section 2, and libtiff's description of BigTIFF.
 */

enum { BYTE = 1, SHORT = 3, LONG = 4, LONG8 = 16 };

struct reader {
    const uint8_t *file;
    size_t file_bytes;
    bool is_big_endian, is_big_tiff;
};

/* Reads a number of n bytes at `at`. Returns false if it lies past the end of the file. */
static bool get(const struct reader *r, uint64_t at, unsigned n, uint64_t *value)
{
    if (at > r->file_bytes || r->file_bytes - at < n)
        return false;
    *value = 0;
    for (unsigned i = 0; i < n; i++)
        *value = *value << 8 | r->file[at + (r->is_big_endian ? i : n - 1 - i)];
    return true;
}

/* Reads the value of the entry at `at`. Returns false unless it is a single integer in the entry.
 */
static bool get_value(const struct reader *r, uint64_t at, uint64_t *value)
{
    uint64_t type, n_values;
    const unsigned count_bytes = r->is_big_tiff ? 8 : 4;
    if (!get(r, at + 2, 2, &type) || !get(r, at + 4, count_bytes, &n_values) || n_values != 1)
        return false;
    const unsigned n_bytes = type == BYTE                      ? 1
                             : type == SHORT                   ? 2
                             : type == LONG                    ? 4
                             : type == LONG8 && r->is_big_tiff ? 8
                                                               : 0;
    return n_bytes > 0 && get(r, at + 4 + count_bytes, n_bytes, value);
}

/* *at: of the first directory. Returns false if the file has no place for it. */
static bool open_reader(const struct ih_tiff *s, struct reader *r, uint64_t *at)
{
    *r = (struct reader){s->held.file, s->held.file_bytes, false, false};
    if (r->file_bytes < 8)
        return false;
    r->is_big_endian = r->file[0] == 'M';
    r->is_big_tiff = r->file[r->is_big_endian ? 3 : 2] == 43;
    return get(r, r->is_big_tiff ? 8 : 4, r->is_big_tiff ? 8 : 4, at);
}

/* *at: from a directory to the one after it. */
static bool follow(const struct reader *r, uint64_t *at)
{
    const unsigned entry_bytes = r->is_big_tiff ? 20 : 12, count_bytes = r->is_big_tiff ? 8 : 2;
    uint64_t n_entries;
    return get(r, *at, count_bytes, &n_entries) && n_entries <= r->file_bytes / entry_bytes &&
           get(r, *at + count_bytes + n_entries * entry_bytes, r->is_big_tiff ? 8 : 4, at);
}

/* A list that leads back to itself never ends. */
unsigned ih_tiff_n_pages(const struct ih_tiff *s)
{
    enum { PAGES_MAX = 65535 };
    struct reader r;
    uint64_t at;
    unsigned n = 0;
    if (!open_reader(s, &r, &at))
        return 0;
    for (; at != 0; n++)
        if (n == PAGES_MAX || !follow(&r, &at))
            return 0;
    return n;
}

bool ih_tiff_next_page(const struct ih_tiff *s, uint64_t *at)
{
    struct reader r;
    if (!open_reader(s, &r, at))
        return false;
    *at = s->page_at ? s->page_at : *at;
    return follow(&r, at);
}

bool ih_tiff_has_tag(const struct ih_tiff *s, uint16_t tag, uint64_t value)
{
    struct reader r;
    uint64_t at, n_entries, id, is;
    if (!open_reader(s, &r, &at))
        return false;
    at = s->page_at ? s->page_at : at;
    const unsigned entry_bytes = r.is_big_tiff ? 20 : 12, count_bytes = r.is_big_tiff ? 8 : 2;
    if (!get(&r, at, count_bytes, &n_entries))
        return false;
    at += count_bytes;
    for (uint64_t i = 0; i < n_entries && get(&r, at, 2, &id); i++, at += entry_bytes)
        if (id == tag && get_value(&r, at, &is) && is == value)
            return true;
    return false;
}
