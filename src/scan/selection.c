#include "scan/scan.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- masks ---- */

/* Adds the name of the mask to a message about it. */
static enum ih_status failed(bool has_labels, const char *path, struct ih_error *err)
{
    char shown[100], why[IH_MESSAGE_MAX];
    ih_escape_short(shown, sizeof shown, path);
    snprintf(why, sizeof why, "%s", err->message);
    snprintf(err->message, sizeof err->message, "%s %s: %.120s",
             has_labels ? "label image" : "mask", shown, why);
    ih_utf8_trim(err->message);
    if (err->status == IH_UNKNOWN) /* an image without a usable mask is no skipped file */
        err->status = IH_UNSUPPORTED;
    return err->status;
}

/* The stored sample of a decoded one. Samples of less than 8 bits were scaled to 255. */
static uint16_t label_of(const struct ih_image_info *info, const uint8_t *samples, size_t at)
{
    const unsigned max = info->scaled_max ? info->scaled_max : (1u << info->source_depth) - 1;
    uint16_t v = samples[at];
    if (info->type == IH_UINT16)
        memcpy(&v, samples + 2 * at, sizeof v);
    else if (info->source_depth < 8 || info->scaled_max)
        v = (uint16_t)((v * max + 127) / 255);
    return v;
}

static enum ih_status read_values(struct ih_mask *mask, struct ih_decode *d, struct ih_error *err)
{
    struct ih_pixel_order_walk walk;
    struct ih_pixel_order_run run;
    const size_t row_bytes = ih_decode_row_bytes(d);
    uint8_t *stripe = malloc(row_bytes);
    enum ih_status status = stripe ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
    ih_pixel_order_start(&walk, &d->info.order, mask->width, mask->height);
    for (size_t n = 1; status == IH_OK && n > 0;) {
        status = ih_decode_read(d, stripe, row_bytes / ih_sample_bytes(d->info.type), &n, err);
        for (size_t at = 0;
             status == IH_OK && at < n && ih_pixel_order_next(&walk, n - at, &run);) {
            const size_t row = (size_t)(run.y * mask->width);
            for (size_t i = 0; i < run.n; i++, at++) {
                const size_t to = row + (size_t)((int64_t)run.x + (int64_t)i * run.x_step);
                if (mask->labels)
                    mask->labels[to] = label_of(&d->info, stripe, at);
                else
                    mask->values[to] = stripe[at];
            }
        }
    }
    free(stripe);
    return status;
}

/* The same for masks that count the same pixels. */
static uint64_t hash_of(const struct ih_mask *mask)
{
    const size_t n = (size_t)(mask->width * mask->height);
    uint64_t hash = ih_hash_number(ih_hash_number(IH_HASH_START, mask->width), mask->height);
    if (mask->labels)
        hash = ih_hash(hash, mask->labels, n * sizeof *mask->labels);
    for (size_t i = 0; i < n && mask->values; i++) {
        const uint8_t is_counted = mask->values[i] != 0;
        hash = ih_hash(hash, &is_counted, 1);
    }
    return hash ? hash : 1;
}

static enum ih_status load(struct ih_mask *mask, struct ih_reader *src,
                           const struct ih_decode_options *decode, struct ih_budget *budget,
                           struct ih_error *err)
{
    struct ih_decode d;
    size_t n_bytes = 0;
    enum ih_status status = ih_decode_open(&d, src, decode, err);
    if (status != IH_OK)
        return status;
    mask->width = d.info.width;
    mask->height = d.info.height;
    if (d.info.layout.n_channels != 1)
        status = ih_error_set(err, IH_UNSUPPORTED,
                              "it is not gray, but has %u channels; convert it to gray",
                              d.info.layout.n_channels);
    else if (strcmp(d.info.format, "jpeg") == 0) /* of noise around edges, few pixels are 0 */
        status = ih_error_set(err, IH_UNSUPPORTED, "JPEG does not keep its %s; save the %s as PNG",
                              mask->has_labels ? "labels" : "zeros",
                              mask->has_labels ? "labels" : "mask");
    else if (mask->has_labels && (!ih_is_unsigned(d.info.type) || d.info.source_depth > 16))
        status =
            ih_error_set(err, IH_UNSUPPORTED, "labels are unsigned integers of 16 bits or fewer");
    else if (d.info.source_depth > 8 && !mask->has_labels)
        status = ih_error_set(err, IH_UNSUPPORTED, "it has %u bits a sample; masks have 8 or fewer",
                              d.info.source_depth);
    else if (d.info.width > SIZE_MAX || d.info.height > SIZE_MAX ||
             !ih_size_multiply((size_t)d.info.width, (size_t)d.info.height, &n_bytes) ||
             !ih_size_multiply(n_bytes, mask->has_labels ? sizeof *mask->labels : 1, &n_bytes))
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status == IH_OK)
        status = ih_budget_take(budget, n_bytes, err);
    if (status == IH_OK) {
        mask->taken_bytes = n_bytes;
        if (mask->has_labels)
            mask->labels = calloc(n_bytes ? n_bytes : 1, 1);
        else
            mask->values = calloc(n_bytes ? n_bytes : 1, 1);
        status = mask->values || mask->labels ? read_values(mask, &d, err)
                                              : ih_error_set(err, IH_MEMORY, "out of memory");
    }
    ih_decode_close(&d);
    if (status == IH_OK)
        mask->hash = hash_of(mask);
    return status;
}

static enum ih_status load_file(struct ih_mask *mask, const char *path,
                                const struct ih_file_identity *outputs, size_t n_outputs,
                                const struct ih_decode_options *decode, struct ih_budget *budget,
                                struct ih_error *err)
{
    struct ih_reader src = {0};
    struct ih_file_identity id;
    struct ih_budget own;
    struct ih_decode_options with = *decode;
    *mask = (struct ih_mask){.has_labels = mask->has_labels};
    ih_budget_init(&own, budget ? budget->size_bytes : UINT64_MAX);
    with.budget = &own;
    with.takes_frames = false;
    with.takes_native = with.takes_indices = mask->has_labels;
    enum ih_status status = ih_reader_open_path(&src, path, err);
    if (status == IH_OK && ih_reader_identity(&src, &id))
        status = ih_check_not_output(&id, outputs, n_outputs, err);
    if (status == IH_OK)
        status = load(mask, &src, &with, budget, err);
    ih_reader_reset(&src);
    ih_budget_destroy(&own);
    return status == IH_OK ? IH_OK : failed(mask->has_labels, path, err);
}

enum ih_status ih_mask_load(struct ih_mask *mask, const char *path,
                            const struct ih_decode_options *decode, struct ih_budget *budget,
                            struct ih_error *err)
{
    return load_file(mask, path, NULL, 0, decode, budget, err);
}

enum ih_status ih_mask_find(struct ih_mask *mask, const char *folder, const char *name,
                            const struct ih_file_identity *outputs, size_t n_outputs,
                            const struct ih_decode_options *decode, struct ih_budget *budget,
                            struct ih_error *err)
{
    static const char *const endings[] = {".png", ".tif", ".tiff", ".npy", ".pgm", ".webp", ".jxl"};
    enum { ENDING_MAX = 6, N_ENDINGS = sizeof endings / sizeof *endings };
    const size_t n_tried = mask->has_labels ? N_ENDINGS : 1;
    struct stat st;
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    const size_t n_stem = dot ? (size_t)(dot - name) : strlen(name);
    const size_t size = strlen(folder) + strlen(name) + 1 + ENDING_MAX;
    char *path = malloc(size), *const end = path ? path + strlen(folder) + 1 + n_stem : NULL;
    if (!path)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    snprintf(path, size, "%s/%s", folder, name);
    bool is_there = ih_path_stat(path, &st, 0) == 0;
    for (size_t i = 0; i < n_tried && !is_there; i++) {
        strcpy(end, endings[i]);
        is_there = ih_path_stat(path, &st, 0) == 0;
    }
    if (!is_there) /* the message names the first */
        strcpy(end, endings[0]);
    enum ih_status status = load_file(mask, path, outputs, n_outputs, decode, budget, err);
    free(path);
    return status;
}

void ih_mask_release(struct ih_mask *mask, struct ih_budget *budget)
{
    free(mask->values);
    free(mask->labels);
    if (mask->taken_bytes > 0)
        ih_budget_give(budget, mask->taken_bytes);
    *mask = (struct ih_mask){.values = NULL};
}

/* ---- pixels ---- */

enum ih_status ih_selection_start(struct ih_selection *s, const struct ih_image_info *info,
                                  const char *region, const struct ih_mask *mask,
                                  struct ih_error *err)
{
    struct ih_region wanted;
    *s = (struct ih_selection){.region = {0, 0, info->width, info->height}, .mask = mask};
    ih_pixel_order_start(&s->walk, &info->order, info->width, info->height);
    if (mask && (mask->width != info->width || mask->height != info->height))
        return ih_error_set(err, IH_LIMIT,
                            "the mask has %llu x %llu pixels, and the image %llu x %llu",
                            (unsigned long long)mask->width, (unsigned long long)mask->height,
                            (unsigned long long)info->width, (unsigned long long)info->height);
    if (!region)
        return IH_OK;
    const enum ih_status status = ih_region_parse(region, &wanted, err);
    return status == IH_OK ? ih_region_place(&wanted, info->width, info->height, &s->region, err)
                           : status;
}

/* Copies the pixels of a row that are counted, and returns the place after them. */
static uint8_t *keep_run(const struct ih_selection *s, const struct ih_pixel_order_run *run,
                         const uint8_t *from, uint8_t *to, size_t pixel_bytes)
{
    const struct ih_rectangle *r = &s->region;
    if (run->y < r->y || run->y - r->y >= r->height)
        return to;
    const uint8_t *mask = s->mask ? s->mask->values + (size_t)(run->y * s->mask->width) : NULL;
    uint64_t x = run->x;
    if (!mask && run->x_step == 1) { /* most images: much faster */
        const uint64_t end = x + run->n, right = r->x + r->width;
        const uint64_t first = x > r->x ? x : r->x, last = end < right ? end : right;
        if (first >= last)
            return to;
        const size_t n = (size_t)(last - first) * pixel_bytes;
        memmove(to, from + (size_t)(first - x) * pixel_bytes, n);
        return to + n;
    }
    for (size_t i = 0; i < run->n; i++, from += pixel_bytes, x += (uint64_t)run->x_step) {
        const bool is_kept = x - r->x < r->width && (!mask || mask[x] != 0); /* modulo 2^64 */
        if (!is_kept)
            continue;
        for (size_t b = 0; b < pixel_bytes; b++)
            *to++ = from[b];
    }
    return to;
}

size_t ih_selection_keep(struct ih_selection *s, uint8_t *pixels, size_t n_pixels,
                         size_t pixel_bytes)
{
    struct ih_pixel_order_run run;
    const uint8_t *from = pixels;
    uint8_t *to = pixels;
    for (size_t n = 0; n < n_pixels && ih_pixel_order_next(&s->walk, n_pixels - n, &run);
         n += run.n) {
        to = keep_run(s, &run, from, to, pixel_bytes);
        from += run.n * pixel_bytes;
    }
    s->n_kept += (uint64_t)(to - pixels) / pixel_bytes;
    return (size_t)(to - pixels) / pixel_bytes;
}
