/*
 * Counting batches of images (imghist.h, "counting batches of images"): on all CPU cores, or
 * enqueued on the caller's stream. The caller, src/library/batch.c, has checked and normalized
 * everything.
 */
#ifndef IH_DEVICE_BATCH_JOB_H
#define IH_DEVICE_BATCH_JOB_H

#include "base/status.h"
#include "histogram/pixels.h"

struct ih_batch_job {
    struct ih_batch batch;     /* complete, whatever size the caller's has */
    struct ih_count_spec spec; /* luma and clip limits */
    struct ih_batch_shape shape;
    bool has_luma;
};

/* The i-th image. Sizes and strides have been checked: every address is in the address space. */
static inline struct ih_batch_image ih_batch_image_at(const struct ih_batch_job *job, size_t i)
{
    const struct ih_batch *b = &job->batch;
    if (b->list)
        return b->list[i];
    struct ih_batch_image image = b->image;
    if (image.data)
        image.data += (ptrdiff_t)i * b->image_stride;
    if (image.labels)
        image.labels += (ptrdiff_t)i * b->labels_image_stride;
    return image;
}

/* The position in memory of a channel that is counted as plane c. */
static inline unsigned ih_batch_channel(const struct ih_batch *batch, unsigned c)
{
    return batch->order == IH_ORDER_BGR && batch->n_channels >= 3 && c < 3 ? 2 - c : c;
}

/* bins and sums are as in ih_batch_count. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_batch_count_cpu(const struct ih_batch_job *job, uint32_t *bins, uint64_t *sums,
                                  struct ih_error *err);

/* Arguments and statuses are those of ih_batch_enqueue. */
enum ih_status ih_batch_enqueue_cuda(const struct ih_batch_job *job, uint32_t *d_bins,
                                     uint64_t *d_sums, void *stream, struct ih_error *err);

#endif
