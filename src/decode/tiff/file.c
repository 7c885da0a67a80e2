/*
 * The file as libtiff reads it from memory, libtiff's messages, and the tags that have to be read
 * without libtiff.
 *
 * libtiff's messages are stored in the handle and never printed. While it reads the directory, it
 * sees only the tags that pixels depend on, so a fault in any other tag is no damage, and an error
 * is. While it decodes samples, errors and nearly all warnings mean that samples are lost.
 */
#include "decode/tiff/tiff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS_BYTES_MAX = 256 << 20 }; /* libtiff's largest allocation: arrays of strips */

static tmsize_t tiff_read_file(thandle_t user, void *dst, tmsize_t size)
{
    struct ih_tiff_handle *h = user;
    const struct ih_whole_file *w = &h->state->whole;
    size_t left = h->position < w->file_bytes ? w->file_bytes - (size_t)h->position : 0;
    size_t n = size < 0 ? 0 : (size_t)size < left ? (size_t)size : left;
    if (n)
        memcpy(dst, w->file + h->position, n);
    h->position += n;
    return (tmsize_t)n;
}

static tmsize_t tiff_write_file(thandle_t user, void *src, tmsize_t size)
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

/* Whether a message is about a file that another version of libtiff or libjpeg may decode. */
static bool is_unsupported(const char *text)
{
    static const char *const words[] = {"not supported",       "nsupported",    "not implemented",
                                        "doesn't support",     "only supports", "not configured",
                                        "different values per"};
    if (strstr(text, "marker type") || strstr(text, "zero tag"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

IH_PRINTF(4, 0)
static int tiff_on_error(TIFF *tiff, void *user, const char *module, const char *format,
                         va_list values)
{
    struct ih_tiff *s = user;
    char text[IH_MESSAGE_MAX];
    (void)tiff;
    vsnprintf(text, sizeof text, format, values);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    if (s->error.status == IH_OK && is_unsupported(text))
        ih_error_set(&s->error, IH_UNSUPPORTED, "TIFF not supported by this libtiff: %s", text);
    else if (s->error.status == IH_OK)
        ih_error_set(&s->error, IH_CORRUPT, "damaged TIFF: %s%s%s", module ? module : "",
                     module ? ": " : "", text);
    return 1; /* handled: libtiff prints nothing */
}

/* Warnings about the directory that are errors here: values that libtiff leaves out, and a bad
 * palette, without which it would treat the image as gray. */
static bool is_damage(const char *module, const char *text)
{
    return (module && strcmp(module, "TIFFFetchNormalTag") == 0) || strstr(text, "IO error") ||
           strstr(text, "ColorMap") || strstr(text, "Colormap");
}

/* Warnings about samples that are complete: an old variant of LZW, a last JPEG strip as high as the
 * others, whose extra rows are unused, and progressive JPEG. */
static bool is_harmless_warning(const char *format)
{
    return strncmp(format, "Old-style LZW", 13) == 0 ||
           strncmp(format, "JPEG strip size", 15) == 0 ||
           strstr(format, "encoded with progressive mode");
}

IH_PRINTF(4, 0)
static int tiff_on_warning(TIFF *tiff, void *user, const char *module, const char *format,
                           va_list values)
{
    const struct ih_tiff *s = user;
    if (!s->is_decoding) {
        char text[IH_MESSAGE_MAX];
        va_list again;
        va_copy(again, values);
        vsnprintf(text, sizeof text, format, again);
        va_end(again);
        return is_damage(module, text) ? tiff_on_error(tiff, user, module, format, values) : 1;
    }
    return is_harmless_warning(format) ? 1 : tiff_on_error(tiff, user, module, format, values);
}

enum ih_status ih_tiff_failed(const struct ih_tiff *s, struct ih_error *err)
{
    if (s->error.status == IH_OK)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF");
    *err = s->error;
    return err->status;
}

/* ---- tags as they are in the file ----
 *
 * libtiff repairs directories silently: it treats a palette image of 8 bits or more without a
 * palette as gray or RGB. So the tags that decide what the samples are, are also read here.
 * Sources: TIFF 6.0, section 2, and libtiff's description of BigTIFF.
 */

enum { BYTE = 1, ASCII = 2, SHORT = 3, LONG = 4, LONG8 = 16 };

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

/* Writes a number of n bytes. */
static void tags_put(const struct reader *r, uint8_t *bytes, unsigned n, uint64_t value)
{
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> 8 * (r->is_big_endian ? n - 1 - i : i));
}

static unsigned count_bytes(const struct reader *r) /* of a directory's number of entries */
{
    return r->is_big_tiff ? 8 : 2;
}

static unsigned entry_bytes(const struct reader *r)
{
    return r->is_big_tiff ? 20 : 12;
}

/* Reads the value of the entry at `at`. Returns false unless it is a single integer in the entry.
 */
static bool get_value(const struct reader *r, uint64_t at, uint64_t *value)
{
    uint64_t type, n_values;
    const unsigned n_count = r->is_big_tiff ? 8 : 4;
    if (!get(r, at + 2, 2, &type) || !get(r, at + 4, n_count, &n_values) || n_values != 1)
        return false;
    const unsigned n_bytes = type == BYTE                      ? 1
                             : type == SHORT                   ? 2
                             : type == LONG                    ? 4
                             : type == LONG8 && r->is_big_tiff ? 8
                                                               : 0;
    return n_bytes > 0 && get(r, at + 4 + n_count, n_bytes, value);
}

/* *at: of the first directory. Returns false if the file has no place for it. */
static bool open_reader(const struct ih_tiff *s, struct reader *r, uint64_t *at)
{
    *r = (struct reader){s->whole.file, s->whole.file_bytes, false, false};
    if (r->file_bytes < 8)
        return false;
    r->is_big_endian = r->file[0] == 'M';
    r->is_big_tiff = r->file[r->is_big_endian ? 3 : 2] == 43;
    return get(r, r->is_big_tiff ? 8 : 4, r->is_big_tiff ? 8 : 4, at);
}

/* *at: from a directory to the one after it. */
static bool follow(const struct reader *r, uint64_t *at)
{
    uint64_t n;
    return get(r, *at, count_bytes(r), &n) && n <= r->file_bytes / entry_bytes(r) &&
           get(r, *at + count_bytes(r) + n * entry_bytes(r), r->is_big_tiff ? 8 : 4, at);
}

/* The number of entries of the directory at `at`. Returns false unless all of it lies in the file.
 */
static bool count_entries(const struct reader *r, uint64_t at, uint64_t *n)
{
    return get(r, at, count_bytes(r), n) && *n <= r->file_bytes / entry_bytes(r) &&
           at + count_bytes(r) + *n * entry_bytes(r) <= r->file_bytes;
}

/* The entry of a tag in the directory at *at. */
static bool find_entry(const struct reader *r, uint16_t tag, uint64_t *at)
{
    uint64_t n, id;
    if (!count_entries(r, *at, &n))
        return false;
    for (*at += count_bytes(r); n > 0 && get(r, *at, 2, &id); n--, *at += entry_bytes(r))
        if (id == tag)
            return true;
    return false;
}

static bool find_value(const struct reader *r, uint64_t at, uint16_t tag, uint64_t *value)
{
    *value = UINT64_MAX;
    if (!find_entry(r, tag, &at))
        return false;
    if (!get_value(r, at, value))
        *value = UINT64_MAX;
    return true;
}

/* The page's directory. */
static bool open_page(const struct ih_tiff *s, struct reader *r, uint64_t *at)
{
    if (!open_reader(s, r, at))
        return false;
    *at = s->page_at ? s->page_at : *at;
    return true;
}

bool ih_tiff_tag(const struct ih_tiff *s, uint16_t tag, uint64_t *value)
{
    struct reader r;
    uint64_t at;
    *value = UINT64_MAX;
    return open_page(s, &r, &at) && find_value(&r, at, tag, value);
}

bool ih_tiff_text_at(const struct ih_tiff *s, uint16_t tag, const char **text, size_t *n_bytes)
{
    struct reader r;
    uint64_t at, type, n;
    if (!open_page(s, &r, &at) || !find_entry(&r, tag, &at))
        return false;
    const unsigned n_count = r.is_big_tiff ? 8 : 4;
    if (!get(&r, at + 2, 2, &type) || type != ASCII || !get(&r, at + 4, n_count, &n))
        return false;
    at += 4 + n_count;
    if (n > n_count && !get(&r, at, n_count, &at))
        return false;
    if (at > r.file_bytes || r.file_bytes - at < n)
        return false;
    *text = (const char *)r.file + at;
    *n_bytes = (size_t)n;
    return true;
}

bool ih_tiff_text(const struct ih_tiff *s, uint16_t tag, char *text, size_t size_bytes)
{
    const char *from;
    size_t n;
    if (!ih_tiff_text_at(s, tag, &from, &n))
        return false;
    n = n < size_bytes ? n : size_bytes - 1;
    memcpy(text, from, n);
    text[n] = '\0';
    return true;
}

/* ---- pages ---- */

bool ih_tiff_is_reduced(const struct ih_tiff *s, uint64_t at)
{
    struct reader r;
    uint64_t type, first;
    if (!open_reader(s, &r, &first))
        return false;
    at = at ? at : first;
    if (find_value(&r, at, TIFFTAG_SUBFILETYPE, &type))
        return type != UINT64_MAX && (type & FILETYPE_REDUCEDIMAGE);
    return find_value(&r, at, TIFFTAG_OSUBFILETYPE, &type) && type == OFILETYPE_REDUCEDIMAGE;
}

static bool is_mask(const struct reader *r, uint64_t at)
{
    uint64_t value;
    return (find_value(r, at, TIFFTAG_PHOTOMETRIC, &value) && value == PHOTOMETRIC_MASK) ||
           (find_value(r, at, TIFFTAG_SUBFILETYPE, &value) && value != UINT64_MAX &&
            (value & FILETYPE_MASK));
}

/* A list that leads back to itself never ends. */
unsigned ih_tiff_n_images(const struct ih_tiff *s)
{
    enum { PAGES_MAX = 65535 };
    struct reader r;
    uint64_t at;
    unsigned n_pages = 0, n_images = 0;
    if (!open_reader(s, &r, &at))
        return 0;
    for (; at != 0; n_pages++) {
        n_images += n_pages == 0 || !(ih_tiff_is_reduced(s, at) || is_mask(&r, at));
        if (n_pages == PAGES_MAX || !follow(&r, &at))
            return 0;
    }
    return n_images;
}

bool ih_tiff_next_image(const struct ih_tiff *s, uint64_t *at, bool *has_mask)
{
    struct reader r;
    *has_mask = false;
    if (!open_page(s, &r, at))
        return false;
    for (;;) {
        if (!follow(&r, at))
            return false;
        const bool is_reduced = *at != 0 && ih_tiff_is_reduced(s, *at);
        if (*at == 0 || !(is_reduced || is_mask(&r, *at)))
            return true;
        *has_mask = *has_mask || !is_reduced;
    }
}

/*
 * ImageJ writes a stack above 4 GiB with one directory. The first slice is where that says, and the
 * others follow it. A slice takes the place of the first one, so the directory must not lie there,
 * and is the only one: another could be replaced by a list without end. A program that saves a
 * single image may keep the description of a stack, but then nothing follows an image that stands
 * after its directory.
 */
unsigned ih_tiff_n_slices(const struct ih_tiff *s, TIFF *t, uint64_t *first_at, uint64_t *n_bytes)
{
    enum { SLICES_MAX = 1000000000 };
    char description[256];
    struct reader r;
    uint64_t directory_at, n_entries, next_at;
    uint16_t compression = COMPRESSION_NONE;
    const char *images;
    if (!ih_tiff_text(s, TIFFTAG_IMAGEDESCRIPTION, description, sizeof description) ||
        strncmp(description, "ImageJ=", 7) != 0 || !(images = strstr(description, "\nimages=")))
        return 1;
    const unsigned long n = strtoul(images + 8, NULL, 10);
    s->lib.TIFFGetFieldDefaulted(t, TIFFTAG_COMPRESSION, &compression);
    if (compression != COMPRESSION_NONE || s->lib.TIFFIsTiled(t) ||
        !open_page(s, &r, &directory_at) || !count_entries(&r, directory_at, &n_entries))
        return 1;
    const uint64_t link_at = directory_at + count_bytes(&r) + n_entries * entry_bytes(&r);
    const unsigned link_bytes = r.is_big_tiff ? 8 : 4;
    if (!get(&r, link_at, link_bytes, &next_at) || next_at != 0)
        return 1;
    *first_at = s->lib.TIFFGetStrileOffset(t, 0);
    *n_bytes = 0;
    for (uint32_t i = 0; i < s->lib.TIFFNumberOfStrips(t); i++) {
        if (s->lib.TIFFGetStrileOffset(t, i) != *first_at + *n_bytes)
            return 1;
        *n_bytes += s->lib.TIFFGetStrileByteCount(t, i);
    }
    const bool has_more = *n_bytes > 0 && *first_at >= link_at + link_bytes &&
                          *first_at < r.file_bytes &&
                          r.file_bytes - *first_at > *n_bytes + 1; /* padding */
    return has_more && n > 1 && n <= SLICES_MAX ? (unsigned)n : 1;
}

enum ih_status ih_tiff_next_slice(struct ih_tiff *s, struct ih_error *err)
{
    const struct ih_whole_file *h = &s->whole;
    s->slice++;
    if ((h->file_bytes - s->slices_at) / s->slice_bytes <= s->slice)
        return ih_error_set(err, IH_CORRUPT, "damaged TIFF: the file ends before the image does");
    memcpy(h->file + s->slices_at, h->file + s->slices_at + s->slice * s->slice_bytes,
           (size_t)s->slice_bytes);
    return IH_OK;
}

/* ---- what libtiff sees ---- */

/* Whether the samples or their meaning depend on a tag. */
static bool is_needed(uint64_t tag, uint64_t photometric, uint64_t compression, uint64_t n_samples)
{
    static const uint16_t always[] = {
        TIFFTAG_IMAGEWIDTH,    TIFFTAG_IMAGELENGTH,     TIFFTAG_IMAGEDEPTH,
        TIFFTAG_TILEWIDTH,     TIFFTAG_TILELENGTH,      TIFFTAG_TILEDEPTH,
        TIFFTAG_BITSPERSAMPLE, TIFFTAG_SAMPLESPERPIXEL, TIFFTAG_SAMPLEFORMAT,
        TIFFTAG_DATATYPE,      TIFFTAG_COMPRESSION,     TIFFTAG_PHOTOMETRIC,
        TIFFTAG_EXTRASAMPLES,  TIFFTAG_MATTEING,        TIFFTAG_FILLORDER,
        TIFFTAG_ROWSPERSTRIP,  TIFFTAG_STRIPOFFSETS,    TIFFTAG_STRIPBYTECOUNTS,
        TIFFTAG_TILEOFFSETS,   TIFFTAG_TILEBYTECOUNTS,
    };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (tag == always[i])
            return true;
    switch (tag) {
    case TIFFTAG_COLORMAP:
        return photometric == PHOTOMETRIC_PALETTE;
    case TIFFTAG_PLANARCONFIG:
        return n_samples != 1;
    case TIFFTAG_INKSET:
        return photometric == PHOTOMETRIC_SEPARATED;
    case TIFFTAG_YCBCRSUBSAMPLING:
        return photometric == PHOTOMETRIC_YCBCR;
    case TIFFTAG_YCBCRCOEFFICIENTS:
    case TIFFTAG_REFERENCEBLACKWHITE:
        return photometric == PHOTOMETRIC_YCBCR && compression != COMPRESSION_JPEG;
    case TIFFTAG_JPEGTABLES:
        return compression == COMPRESSION_JPEG;
    case TIFFTAG_GROUP3OPTIONS:
        return compression == COMPRESSION_CCITTFAX3;
    case TIFFTAG_GROUP4OPTIONS:
        return compression == COMPRESSION_CCITTFAX4;
    case TIFFTAG_LERC_PARAMETERS:
        return compression == COMPRESSION_LERC;
    case TIFFTAG_PREDICTOR:
        return compression != COMPRESSION_NONE;
    default:
        return false;
    }
}

/* Bytes of the file that libtiff must not see, while it reads the directory. */
struct hidden {
    uint64_t at, n_bytes;
    uint8_t *bytes;  /* owned: the page's directory */
    uint8_t link[8]; /* to the first directory, at link_at */
    uint64_t link_at;
    unsigned link_bytes;
};

/* Removes the entries that are not needed from the directory in memory, and makes it the first one.
 * If the directory does not lie in the file, libtiff says so. */
static enum ih_status hide_tags(struct ih_tiff *s, struct hidden *h, struct ih_error *err)
{
    struct reader r;
    uint64_t n, tag, photometric, compression, n_samples;
    if (!open_page(s, &r, &h->at) || !count_entries(&r, h->at, &n))
        return IH_OK;
    h->n_bytes = count_bytes(&r) + n * entry_bytes(&r);
    h->link_at = h->link_bytes = r.is_big_tiff ? 8 : 4;
    h->bytes = malloc((size_t)h->n_bytes);
    if (!h->bytes)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    memcpy(h->bytes, s->whole.file + h->at, (size_t)h->n_bytes);
    memcpy(h->link, s->whole.file + h->link_at, h->link_bytes);
    ih_tiff_tag(s, TIFFTAG_PHOTOMETRIC, &photometric);
    ih_tiff_tag(s, TIFFTAG_COMPRESSION, &compression);
    if (!ih_tiff_tag(s, TIFFTAG_SAMPLESPERPIXEL, &n_samples))
        n_samples = 1;
    uint64_t from = h->at + count_bytes(&r), to = from, n_kept = 0;
    for (; n > 0; n--, from += entry_bytes(&r)) {
        if (!get(&r, from, 2, &tag) || !is_needed(tag, photometric, compression, n_samples))
            continue;
        memmove(s->whole.file + to, s->whole.file + from, entry_bytes(&r));
        to += entry_bytes(&r);
        n_kept++;
    }
    tags_put(&r, s->whole.file + h->at, count_bytes(&r), n_kept);
    tags_put(&r, s->whole.file + h->link_at, h->link_bytes, h->at);
    return IH_OK;
}

static void show_tags(struct ih_tiff *s, struct hidden *h)
{
    if (!h->bytes)
        return;
    memcpy(s->whole.file + h->link_at, h->link, h->link_bytes);
    memcpy(s->whole.file + h->at, h->bytes, (size_t)h->n_bytes);
    free(h->bytes);
}

enum ih_status ih_tiff_open_handle(struct ih_tiff *s, unsigned i, struct ih_error *err)
{
    struct ih_tiff_handle *h = &s->handles[i];
    struct hidden hidden = {.n_bytes = 0};
    h->state = s;
    uint64_t compression;
    if (ih_tiff_tag(s, TIFFTAG_COMPRESSION, &compression) && compression == COMPRESSION_OJPEG)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "TIFF with JPEG of the obsolete kind (6) is not supported");
    TIFFOpenOptions *options = s->lib.TIFFOpenOptionsAlloc();
    if (!options)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->lib.TIFFOpenOptionsSetMaxSingleMemAlloc(options, TAGS_BYTES_MAX);
    s->lib.TIFFOpenOptionsSetErrorHandlerExtR(options, tiff_on_error, s);
    s->lib.TIFFOpenOptionsSetWarningHandlerExtR(options, tiff_on_warning, s);
    if (hide_tags(s, &hidden, err) != IH_OK) {
        s->lib.TIFFOpenOptionsFree(options);
        return err->status;
    }
    /* "c": no strip chopping, so strips are the ones of the file */
    h->tiff = s->lib.TIFFClientOpenExt("file", "rc", h, tiff_read_file, tiff_write_file, seek_file,
                                       close_file, size_of_file, map_file, unmap_file, options);
    s->lib.TIFFOpenOptionsFree(options);
    show_tags(s, &hidden);
    if (!h->tiff)
        return ih_tiff_failed(s, err);
    if (ih_tiff_is_deflate(s, h->tiff)) /* inflate.c says why */
        s->lib.TIFFSetField(h->tiff, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    return IH_OK;
}
