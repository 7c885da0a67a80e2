#include "decode/whole_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Larger than any photo, but not than a microscope's stacks, which are TIFF; a budget usually sets
 * a lower limit. */
#define FILE_BYTES_MAX ((uint64_t)4 << 30)

/* Takes n_bytes, in place of the share if there is one. */
static enum ih_status take(struct ih_whole_file *h, uint64_t n_bytes, struct ih_error *err)
{
    const uint64_t share = h->taken_bytes;
    h->taken_bytes = 0;
    ih_time_limit_pause(h->time);
    enum ih_status status = share ? ih_budget_exchange(h->budget, share, n_bytes, err)
                                  : ih_budget_take(h->budget, n_bytes, err);
    ih_time_limit_resume(h->time);
    if (status == IH_OK)
        h->taken_bytes = n_bytes;
    return status;
}

static enum ih_status check_file_bytes(const struct ih_whole_file *h, uint64_t n_bytes,
                                       struct ih_error *err)
{
    if ((h->may_be_large || n_bytes <= FILE_BYTES_MAX) && n_bytes < SIZE_MAX)
        return IH_OK;
    return ih_error_set(err, IH_LIMIT, "the file is larger than %llu MiB",
                        (unsigned long long)(FILE_BYTES_MAX >> 20));
}

/* Reads a file of known size. If it has shrunk since, fewer bytes are read; if it has grown, the
 * new bytes are ignored. */
static enum ih_status read_known(struct ih_whole_file *h, struct ih_reader *src, size_t size_bytes,
                                 struct ih_error *err)
{
    h->file = malloc(size_bytes ? size_bytes : 1);
    if (!h->file)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return ih_reader_read(src, h->file, size_bytes, &h->file_bytes, err);
}

enum ih_status ih_whole_file_open(struct ih_whole_file *h, struct ih_reader *src,
                                  const struct ih_decode_options *options, uint64_t decoded_bytes,
                                  struct ih_error *err)
{
    char limit[IH_BYTES_TEXT_MAX];
    uint64_t n_bytes;
    h->budget = options->budget;
    h->time = &src->time;
    if (ih_reader_size_left(src, &n_bytes)) {
        if (check_file_bytes(h, n_bytes, err) != IH_OK ||
            take(h, n_bytes + decoded_bytes, err) != IH_OK)
            return err->status;
        return read_known(h, src, (size_t)n_bytes, err);
    }
    /* The length of a pipe is known only at its end. It may be as long as the budget allows. */
    const bool is_small = h->budget && h->budget->size_bytes < FILE_BYTES_MAX;
    n_bytes = is_small ? h->budget->size_bytes : FILE_BYTES_MAX;
    n_bytes = n_bytes < SIZE_MAX ? n_bytes : SIZE_MAX - 1;
    enum ih_status status = ih_reader_read_all(src, (size_t)n_bytes, &h->file, &h->file_bytes, err);
    if (status == IH_LIMIT && is_small)
        return ih_error_set_limit(err, IH_LIMIT_MAX_MEMORY, n_bytes,
                                  "needs more than %s of memory at once, the limit",
                                  ih_bytes_print(n_bytes, limit));
    return status == IH_OK ? take(h, h->file_bytes + decoded_bytes, err) : status;
}

enum ih_status ih_whole_file_more(struct ih_whole_file *h, uint64_t n_bytes, struct ih_error *err)
{
    if (ih_budget_try(h->budget, n_bytes)) {
        h->taken_bytes += n_bytes;
        return IH_OK;
    }
    return take(h, h->taken_bytes + n_bytes, err);
}

enum ih_status ih_whole_file_image(struct ih_whole_file *h, uint64_t width, uint64_t height,
                                   unsigned n_channels, struct ih_error *err)
{
    assert(!h->pixels && width <= SIZE_MAX && height <= SIZE_MAX);
    size_t n_bytes;
    bool fits = ih_size_multiply((size_t)width, (size_t)height, &h->n_pixels) &&
                ih_size_multiply(h->n_pixels, n_channels, &n_bytes);
    h->n_channels = n_channels;
    h->pixels = fits ? calloc(n_bytes ? n_bytes : 1, 1) : NULL;
    return h->pixels ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

void ih_whole_file_free_bytes(struct ih_whole_file *h)
{
    free(h->file);
    h->file = NULL;
}

size_t ih_whole_file_read(struct ih_whole_file *h, uint8_t *pixels, size_t capacity_pixels)
{
    size_t left = h->n_pixels - h->n_given;
    size_t n = left < capacity_pixels ? left : capacity_pixels;
    memcpy(pixels, h->pixels + h->n_given * h->n_channels, n * h->n_channels);
    h->n_given += n;
    return n;
}

void ih_whole_file_close(struct ih_whole_file *h)
{
    free(h->file);
    free(h->pixels);
    ih_budget_give(h->budget, h->taken_bytes);
    *h = (struct ih_whole_file){.budget = NULL};
}
