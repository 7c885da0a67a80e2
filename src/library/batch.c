/* Batches: checks them, and hands them to the CPU or to a GPU. */
#include "device/batch_job.h"
#include "library/library.h"

#include <string.h>

/* ---- checks ---- */

/* Up to the last field of the first header, 0.1.0: no program passes less. */
enum { BATCH_BYTES_MIN = offsetof(struct ih_batch, n_threads) + sizeof(unsigned) };

static enum ih_status copy_batch(const struct ih_batch *from, struct ih_batch *to,
                                 struct ih_error *err)
{
    const size_t size_bytes = from->size_bytes;
    if (size_bytes < BATCH_BYTES_MIN)
        return ih_error_set(err, IH_USAGE, "batch: size_bytes is %zu, must be at least %d",
                            size_bytes, BATCH_BYTES_MIN);
    return ih_options_copy(to, sizeof *to, from, size_bytes, "batch", err);
}

static enum ih_status check_image(const struct ih_batch *b, const struct ih_batch_image *image,
                                  struct ih_error *err)
{
    const size_t n_images = b->list ? 1 : b->n_images;
    const size_t width = image->width, height = image->height;
    size_t span = 0, labels_span = 0;
    if (width == 0 || height == 0)
        return IH_OK;
    if ((uint64_t)width * height > INT32_MAX)
        return ih_error_set(err, IH_USAGE, "an image of %zu x %zu has 2^31 pixels or more", width,
                            height);
    if (!image->data)
        return ih_error_set(err, IH_USAGE, "data is NULL");
    if ((image->labels != NULL) != (b->n_labels > 0))
        return ih_error_set(err, IH_USAGE,
                            b->n_labels ? "n_labels is %u, but labels is NULL"
                                        : "there are labels, but n_labels is %u",
                            b->n_labels);
    if (b->pixel_stride == 0 && width > 1)
        return ih_error_set(err, IH_USAGE, "pixel_stride is 0");
    if (!ih_size_add_span(n_images, b->image_stride, &span) ||
        !ih_size_add_span(height, image->row_stride, &span) ||
        !ih_size_add_span(width, b->pixel_stride, &span) ||
        !ih_size_add_span(b->n_channels, image->channel_stride, &span) ||
        !ih_size_add_span(n_images, b->labels_image_stride, &labels_span) ||
        !ih_size_add_span(height, image->labels_row_stride, &labels_span) ||
        !ih_size_add_span(width, 1, &labels_span))
        return ih_error_set(err, IH_USAGE, "larger than any memory");
    return IH_OK;
}

static enum ih_status check_images(const struct ih_batch *b, struct ih_error *err)
{
    struct ih_error reason;
    for (size_t i = 0; b->list && i < b->n_images; i++)
        if (check_image(b, &b->list[i], &reason) != IH_OK)
            return ih_error_set(err, IH_USAGE, "batch: list[%zu]: %.200s", i, reason.message);
    if (!b->list && b->n_images > 0 && check_image(b, &b->image, &reason) != IH_OK)
        return ih_error_set(err, IH_USAGE, "batch: %.200s", reason.message);
    return IH_OK;
}

static enum ih_status shape_make(const struct ih_batch *b, bool has_luma,
                                 struct ih_batch_shape *shape, struct ih_error *err)
{
    const size_t n_bins_each = b->n_bins ? b->n_bins : IH_BINS;
    size_t n_records, n_bins, n_sums;
    *shape = (struct ih_batch_shape){.n_labels = b->n_labels ? b->n_labels : 1,
                                     .n_planes = b->n_channels + has_luma};
    if (!ih_size_multiply(b->n_images, shape->n_labels, &n_records) ||
        !ih_size_multiply(n_records, shape->n_planes * n_bins_each, &n_bins) ||
        !ih_size_multiply(n_records, shape->n_planes + IH_BATCH_CLIPS, &n_sums) ||
        !ih_size_multiply(n_bins, sizeof(uint32_t), &shape->bins_bytes) ||
        !ih_size_multiply(n_sums, sizeof(uint64_t), &shape->sums_bytes) ||
        shape->bins_bytes > PTRDIFF_MAX)
        return ih_error_set(err, IH_USAGE, "batch: counts larger than any memory");
    return IH_OK;
}

/* Samples of 16 bits if there are native bins, else of 8. */
static enum ih_sample_type type_of(const struct ih_batch *b)
{
    return b->n_bins == 0                    ? IH_UINT8
           : b->number == IH_NUMBER_UNSIGNED ? IH_UINT16
           : b->number == IH_NUMBER_SIGNED   ? IH_INT16
           : b->number == IH_NUMBER_FLOAT    ? IH_FLOAT16
                                             : IH_BFLOAT16;
}

/* Checks the batch and fills *job, except for luma and clip limits. */
static enum ih_status job_make(const struct ih_batch *batch, struct ih_batch_job *job,
                               struct ih_error *err)
{
    struct ih_batch *b = &job->batch;
    memset(job, 0, sizeof *job);
    enum ih_status status = copy_batch(batch, b, err);
    if (status != IH_OK)
        return status;
    if (b->n_channels < 1 || b->n_channels > IH_PIXEL_CHANNELS_MAX)
        return ih_error_set(err, IH_USAGE, "batch: %u channels, must be 1 to 4", b->n_channels);
    if (b->n_labels > IH_BATCH_LABELS_MAX)
        return ih_error_set(err, IH_USAGE, "batch: %u labels, must be at most %d", b->n_labels,
                            IH_BATCH_LABELS_MAX);
    if (b->order != IH_ORDER_RGB && b->order != IH_ORDER_BGR)
        return ih_error_set(err, IH_USAGE, "batch: unknown order of channels");
    if (b->without_luma > 1)
        return ih_error_set(err, IH_USAGE, "batch: without_luma is %u, must be 0 or 1",
                            b->without_luma);
    if (b->n_bins != 0 && (b->n_bins <= IH_BINS || b->n_bins > IH_NATIVE_BINS_MAX))
        return ih_error_set(err, IH_USAGE, "batch: n_bins is %u, must be 0 or %d to %d", b->n_bins,
                            IH_BINS + 1, IH_NATIVE_BINS_MAX);
    if ((unsigned)b->number > IH_NUMBER_BFLOAT16 ||
        (b->number != IH_NUMBER_UNSIGNED && b->n_bins != IH_NATIVE_BINS_MAX))
        return ih_error_set(err, IH_USAGE,
                            "batch: number is %u with n_bins %u: signed and float samples have "
                            "n_bins %d",
                            (unsigned)b->number, b->n_bins, IH_NATIVE_BINS_MAX);
    status = check_images(b, err);
    if (b->image.width == 0 || b->image.height == 0)
        b->image_stride = b->labels_image_stride = 0; /* not checked, and must not overflow */
    job->has_luma = b->n_channels >= 3 && !b->without_luma && !ih_is_float(type_of(b));
    if (status == IH_OK)
        status = shape_make(b, job->has_luma, &job->shape, err);
    job->spec = (struct ih_count_spec){.layout = ih_layout_of(b->n_channels),
                                       .type = type_of(b),
                                       .n_bins = b->n_bins ? b->n_bins : IH_BINS};
    return status;
}

/* Checks the batch and fills *job and *measure, with luma and clip limits of the context. */
static enum ih_status context_job_make(const struct ih_context *context,
                                       const struct ih_batch *batch, struct ih_batch_job *job,
                                       struct ih_measure *measure, struct ih_error *err)
{
    enum ih_status status = job_make(batch, job, err);
    if (status != IH_OK)
        return status;
    *measure = context->options.measure;
    if (measure->luma == &ih_luma_none && job->has_luma)
        return ih_error_set(err, IH_USAGE, "batch: the context has no luma: set without_luma");
    if (job->batch.n_threads == 0)
        job->batch.n_threads = context->n_cores;
    if (job->batch.without_luma)
        measure->luma = &ih_luma_none;
    status = ih_measure_image(measure, &job->spec, err);
    if (status != IH_OK)
        return status;
    if (measure->alpha == IH_ALPHA_SKIP_TRANSPARENT && job->spec.layout.has_alpha)
        return ih_error_set(err, IH_USAGE, "alpha: cannot skip transparent pixels of a batch");
    if (measure->nodata.kind == IH_NODATA_OF_RUN)
        return ih_error_set(err, IH_USAGE, "nodata: no value of a batch can stand for no data");
    if (context->options.bands.last > 0)
        return ih_error_set(err, IH_USAGE,
                            "bands: they are chosen of files and arrays, not of a batch");
    return IH_OK;
}

enum ih_status ih_batch_shape(const struct ih_batch *batch, struct ih_batch_shape *shape,
                              size_t size_bytes, struct ih_error *err)
{
    struct ih_batch_job job;
    enum ih_status status = job_make(batch, &job, err);
    if (status != IH_OK)
        return status;
    memset(shape, 0, size_bytes);
    memcpy(shape, &job.shape, size_bytes < sizeof job.shape ? size_bytes : sizeof job.shape);
    return IH_OK;
}

/* ---- counting ---- */

enum ih_status ih_batch_count(struct ih_context *context, const struct ih_batch *batch,
                              uint32_t *bins, uint64_t *sums, struct ih_error *err)
{
    struct ih_batch_job job;
    struct ih_measure measure;
    enum ih_status status = context_job_make(context, batch, &job, &measure, err);
    if (status == IH_OK && job.shape.bins_bytes > 0)
        status = ih_batch_count_cpu(&job, bins, sums, err);
    return status;
}

enum ih_status ih_batch_enqueue(struct ih_context *context, const struct ih_batch *batch,
                                uint32_t *d_bins, uint64_t *d_sums, void *stream,
                                struct ih_error *err)
{
    struct ih_batch_job job;
    struct ih_measure measure;
    enum ih_status status = context_job_make(context, batch, &job, &measure, err);
    if (status == IH_OK)
        status = ih_batch_enqueue_cuda(&job, d_bins, d_sums, stream, err);
    return status;
}

/* Makes a histogram of the counts of one image and label. */
static enum ih_status read_record(const struct ih_batch_job *job, const uint32_t *bins,
                                  const uint64_t *sums, struct ih_histogram *h,
                                  struct ih_error *err)
{
    const size_t n_planes = job->shape.n_planes;
    const enum ih_status status = ih_histogram_init_unset(h, &job->spec, err);
    if (status != IH_OK)
        return status;
    for (size_t i = 0; i < n_planes * h->n_bins; i++)
        h->bins[i] = bins[i];
    memcpy(h->sums, sums, n_planes * sizeof *sums);
    for (unsigned v = 0; v < h->n_bins; v++)
        h->n_pixels += bins[v];
    if (!ih_is_unsigned(h->type)) /* not sums of values */
        ih_histogram_sum_up(h, false);
    h->any_low = sums[n_planes];
    h->any_high = sums[n_planes + 1];
    h->all_low = sums[n_planes + 2];
    h->all_high = sums[n_planes + 3];
    ih_histogram_derive(h, &job->spec);
    ih_histogram_set_apart(h);
    return IH_OK;
}

enum ih_status ih_batch_counts(struct ih_context *context, const struct ih_batch *batch,
                               const uint32_t *bins, const uint64_t *sums, size_t image,
                               unsigned label, struct ih_counts *counts, struct ih_error *err)
{
    struct ih_batch_job job;
    struct ih_measure measure;
    ih_counts_clear(counts);
    enum ih_status status = context_job_make(context, batch, &job, &measure, err);
    if (status != IH_OK)
        return status;
    if (image >= job.batch.n_images || label >= job.shape.n_labels)
        return ih_error_set(err, IH_USAGE, "batch: there is no image %zu with label %u", image,
                            label);
    const struct ih_batch_image described = ih_batch_image_at(&job, image);
    const size_t record = image * job.shape.n_labels + label, n_planes = job.shape.n_planes;
    const size_t n_bins = job.spec.n_bins;
    struct ih_result *result = &counts->result;
    memset(result, 0, sizeof *result);
    result->measure = measure;
    if (job.batch.n_labels)
        result->measure.mask = IH_MASK_LABELS;
    result->info = (struct ih_image_info){.format = "",
                                          .width = described.width,
                                          .height = described.height,
                                          .layout = job.spec.layout,
                                          .type = job.spec.type,
                                          .n_bins = job.spec.n_bins,
                                          .source_depth = 8};
    while (n_bins > (size_t)1 << result->info.source_depth)
        result->info.source_depth++;
    result->kernel = "batch";
    status = read_record(&job, bins + record * n_planes * n_bins,
                         sums + record * (n_planes + IH_BATCH_CLIPS), &result->histogram, err);
    if (status != IH_OK)
        return status;
    ih_counts_set_image(counts);
    return IH_OK;
}
