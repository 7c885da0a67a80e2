#include "decode/held.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* More than any photo. Where there is a budget it is reached long before. */
#define FILE_BYTES_MAX ((uint64_t)4 << 30)

static enum ih_status take(struct ih_held *w, uint64_t n_bytes, struct ih_error *err)
{
    enum ih_status status = ih_budget_take(w->budget, n_bytes, err);
    if (status == IH_OK)
        w->taken_bytes = n_bytes;
    return status;
}

static enum ih_status check_file_bytes(uint64_t n_bytes, struct ih_error *err)
{
    if (n_bytes <= FILE_BYTES_MAX && n_bytes < SIZE_MAX)
        return IH_OK;
    return ih_error_set(err, IH_LIMIT, "the file is larger than %llu MiB",
                        (unsigned long long)(FILE_BYTES_MAX >> 20));
}

/* A file whose size is known. It may have become shorter since; what it has grown is not read. */
static enum ih_status read_known(struct ih_held *w, struct ih_source *src, size_t size_bytes,
                                 struct ih_error *err)
{
    w->file = malloc(size_bytes ? size_bytes : 1);
    if (!w->file)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return ih_source_read(src, w->file, size_bytes, &w->file_bytes, err);
}

enum ih_status ih_held_open(struct ih_held *w, struct ih_source *src,
                            const struct ih_decode_options *options, uint64_t decoded_bytes,
                            struct ih_error *err)
{
    uint64_t n_bytes;
    w->budget = options->budget;
    if (ih_source_size_left(src, &n_bytes)) {
        if (check_file_bytes(n_bytes, err) != IH_OK ||
            take(w, n_bytes + decoded_bytes, err) != IH_OK)
            return err->status;
        return read_known(w, src, (size_t)n_bytes, err);
    }
    /* A pipe says how long it is by ending. It may fill the budget, not more. */
    const bool is_small = w->budget && w->budget->size_bytes < FILE_BYTES_MAX;
    n_bytes = is_small ? w->budget->size_bytes : FILE_BYTES_MAX;
    n_bytes = n_bytes < SIZE_MAX ? n_bytes : SIZE_MAX - 1;
    enum ih_status status = ih_source_read_all(src, (size_t)n_bytes, &w->file, &w->file_bytes, err);
    if (status == IH_LIMIT && is_small)
        return ih_error_set_limit(err, IH_LIMIT_MAX_MEMORY, n_bytes,
                                  "needs more than %.1f MB of memory at once, the limit",
                                  (double)n_bytes * 1e-6);
    return status == IH_OK ? take(w, w->file_bytes + decoded_bytes, err) : status;
}

enum ih_status ih_held_more(struct ih_held *w, uint64_t n_bytes, struct ih_error *err)
{
    if (ih_budget_try(w->budget, n_bytes)) {
        w->taken_bytes += n_bytes;
        return IH_OK;
    }
    uint64_t wanted = w->taken_bytes + n_bytes;
    ih_budget_give(w->budget, w->taken_bytes);
    w->taken_bytes = 0;
    return take(w, wanted, err);
}

enum ih_status ih_held_image(struct ih_held *w, uint64_t width, uint64_t height,
                             unsigned n_channels, struct ih_error *err)
{
    assert(!w->pixels && width <= SIZE_MAX && height <= SIZE_MAX);
    size_t n_bytes;
    bool fits = ih_size_multiply((size_t)width, (size_t)height, &w->n_pixels) &&
                ih_size_multiply(w->n_pixels, n_channels, &n_bytes);
    w->n_channels = n_channels;
    w->pixels = fits ? calloc(n_bytes ? n_bytes : 1, 1) : NULL;
    return w->pixels ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

void ih_held_drop_file(struct ih_held *w)
{
    free(w->file);
    w->file = NULL;
}

size_t ih_held_give(struct ih_held *w, uint8_t *pixels, size_t capacity_pixels)
{
    size_t left = w->n_pixels - w->n_given;
    size_t n = left < capacity_pixels ? left : capacity_pixels;
    memcpy(pixels, w->pixels + w->n_given * w->n_channels, n * w->n_channels);
    w->n_given += n;
    return n;
}

void ih_held_close(struct ih_held *w)
{
    free(w->file);
    free(w->pixels);
    ih_budget_give(w->budget, w->taken_bytes);
    *w = (struct ih_held){.budget = NULL};
}
