/*
 * The preview of a camera raw file: the largest JPEG that LibRaw finds in it. Only on request,
 * because it is not what the sensor has recorded. LibRaw finds the JPEG; the JPEG decoder reads it.
 *
 * The file is held in memory until the preview has been found.
 */
#define _GNU_SOURCE /* memmem */
#include "base/dynlib.h"
#include "decode/new_memory.h"
#include "decode/whole_file.h"

#include <libraw/libraw.h>
#include <string.h>

#if LIBRAW_COMPILE_CHECK_VERSION_NOTLESS(0, 21)
enum { QUIET = LIBRAW_OPIONS_NO_DATAERR_CALLBACK };
typedef const void raw_file;
#else
typedef void raw_file;
enum { QUIET = LIBRAW_OPIONS_NO_MEMERR_CALLBACK | LIBRAW_OPIONS_NO_DATAERR_CALLBACK };
#endif

/* The functions of LibRaw that are called. */
#define RAW_CALLS(F)                                                                     \
    F(libraw_data_t *, libraw_init, (unsigned))                                          \
    F(void, libraw_close, (libraw_data_t *))                                             \
    F(int, libraw_open_buffer, (libraw_data_t *, raw_file *, size_t))                    \
    F(int, libraw_unpack_thumb, (libraw_data_t *))                                       \
    F(libraw_processed_image_t *, libraw_dcraw_make_mem_thumb, (libraw_data_t *, int *)) \
    F(void, libraw_dcraw_clear_mem, (libraw_processed_image_t *))                        \
    F(const char *, libraw_strerror, (int))

IH_DYNLIB_DECODER(RAW_CALLS, struct raw_calls, IH_SONAME_preview)

struct preview_state {
    struct raw_calls lib;
    libraw_processed_image_t *preview; /* owned; a JPEG file */
    struct ih_reader src;              /* the preview */
    void *image;                       /* state of the JPEG decoder */
};

static void close_preview(void *state)
{
    struct preview_state *s = state;
    ih_decoder_close(&ih_decoder_jpeg, s->image);
    ih_reader_reset(&s->src);
    if (s->preview)
        s->lib.libraw_dcraw_clear_mem(s->preview);
}

static enum ih_status preview_failed(const struct preview_state *s, int code, struct ih_error *err)
{
    if (code == LIBRAW_UNSUFFICIENT_MEMORY)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (code == LIBRAW_NO_THUMBNAIL || code == LIBRAW_UNSUPPORTED_THUMBNAIL)
        return ih_error_set(err, IH_UNSUPPORTED, "camera raw without a JPEG preview");
    if (code == LIBRAW_FILE_UNSUPPORTED || code == LIBRAW_NOT_IMPLEMENTED)
        return ih_error_set(err, IH_UNSUPPORTED, "camera raw that this LibRaw does not know");
    if (code == LIBRAW_IO_ERROR)
        return ih_error_set(err, IH_CORRUPT, "damaged camera raw: the file ends too early");
    return ih_error_set(err, IH_CORRUPT, "damaged camera raw: %s", s->lib.libraw_strerror(code));
}

/* True if LibRaw has read the whole preview. The rest of one that reaches past the end of the file
 * would be undefined memory. LibRaw writes the first two bytes itself. */
static bool preview_is_complete(const libraw_thumbnail_t *found, const struct ih_whole_file *file)
{
    enum { N_WRITTEN = 2 };
    return found->tlength > N_WRITTEN &&
           memmem(file->file, file->file_bytes, found->thumb + N_WRITTEN,
                  found->tlength - N_WRITTEN);
}

/* Finds the preview and copies it. */
static enum ih_status find_preview(struct preview_state *s, struct ih_whole_file *file,
                                   struct ih_error *err)
{
    libraw_data_t *raw = s->lib.libraw_init(QUIET);
    if (!raw)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    ih_new_memory_take(); /* LibRaw reads what it has not written: the same for each file */
    ih_new_memory_fill(1);
    int code = s->lib.libraw_open_buffer(raw, file->file, file->file_bytes);
    if (code == LIBRAW_SUCCESS)
        code = s->lib.libraw_unpack_thumb(raw);
    if (code == LIBRAW_SUCCESS && raw->thumbnail.tformat != LIBRAW_THUMBNAIL_JPEG)
        code = LIBRAW_UNSUPPORTED_THUMBNAIL;
    if (code == LIBRAW_SUCCESS && !preview_is_complete(&raw->thumbnail, file))
        code = LIBRAW_IO_ERROR;
    if (code == LIBRAW_SUCCESS)
        s->preview = s->lib.libraw_dcraw_make_mem_thumb(raw, &code);
    s->lib.libraw_close(raw);
    ih_new_memory_fill(0);
    ih_new_memory_give();
    if (code == LIBRAW_SUCCESS && !s->preview)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return code == LIBRAW_SUCCESS ? IH_OK : preview_failed(s, code, err);
}

static enum ih_status open_preview(struct ih_reader *src, const struct ih_decode_options *options,
                                   struct ih_image_info *info, void *state, struct ih_error *err)
{
    struct ih_whole_file file = {.budget = NULL};
    struct preview_state *s = state;
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = ih_whole_file_open(&file, src, options, 0, err);
    if (status == IH_OK)
        status = find_preview(s, &file, err);
    ih_whole_file_close(&file); /* before the JPEG decoder takes memory from the budget */
    if (status == IH_OK) {
        ih_reader_open_memory(&s->src, s->preview->data, s->preview->data_size);
        status = ih_decoder_open(&ih_decoder_jpeg, &s->src, options, info, &s->image, err);
    }
    return status;
}

static enum ih_status read_preview(void *state, uint8_t *pixels, size_t capacity_pixels,
                                   size_t *n_pixels, struct ih_error *err)
{
    struct preview_state *s = state;
    return ih_decoder_jpeg.read(s->image, pixels, capacity_pixels, n_pixels, err);
}

const struct ih_decoder ih_decoder_preview = {
    .name = "preview",
    .is_isolated = true,
    .prepare = prepare,
    .title = "the largest JPEG in a camera raw file (--raw-preview)",
    .version = "LibRaw " IH_LIBRARY_preview,
    .probe = ih_probe_preview,
    .state_bytes = sizeof(struct preview_state),
    .open = open_preview,
    .read = read_preview,
    .close = close_preview,
};
