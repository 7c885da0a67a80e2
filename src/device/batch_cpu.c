/*
 * Counting a batch on the CPU. Threads take work in turn: an image, or some rows of a large one,
 * whose counts are added under a lock. Pixels without labels go through the fast method of
 * src/count, after they were interleaved if they are not. Label maps and samples of 16 bits are
 * counted pixel by pixel.
 */
#include "base/machine.h"
#include "count/count.h"
#include "device/batch_job.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Starting a thread takes 20 us, counting so many pixels 200 us. */
    THREAD_PIXELS = 1 << 18,
    /* Rows of about so many pixels are one piece of work. */
    PIECE_PIXELS = 1 << 20,
    CHUNK_PIXELS = 4096 /* interleaved at a time: 16 KiB at most stay in the first-level cache */
};

/* Shared by the threads of one call. */
struct crew {
    const struct ih_batch_job *job;
    uint32_t *bins; /* zeroed at the start */
    uint64_t *sums; /* or NULL */
    pthread_mutex_t lock;
    size_t image; /* protected by lock: the next piece of work */
    uint32_t row;
};

struct piece {
    size_t index;
    struct ih_batch_image image;
    uint32_t first_row, n_rows;
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    struct ih_counter counter;
    struct ih_error error; /* its status is IH_OK unless memory was lacking */
    uint8_t chunk[CHUNK_PIXELS * IH_PIXEL_CHANNELS_MAX];
    uint16_t
        samples[CHUNK_PIXELS * IH_PIXEL_CHANNELS_MAX]; /* of pixels that are counted one by one */
};

/* Whether pixels are counted one by one, straight into the results. */
static bool is_one_by_one(const struct ih_batch *b)
{
    return b->n_labels > 0 || b->n_bins > 0;
}

static size_t n_bins_of(const struct ih_batch *b)
{
    return b->n_bins ? b->n_bins : IH_BINS;
}

/* ---- work ---- */

static uint32_t piece_rows(const struct ih_batch_job *job, const struct ih_batch_image *image)
{
    if (is_one_by_one(&job->batch) || image->width == 0)
        return image->height;
    return image->width < PIECE_PIXELS ? PIECE_PIXELS / image->width : 1;
}

/* Takes the next piece of work. Returns false if there is none. */
static bool take_piece(struct crew *crew, struct piece *piece)
{
    pthread_mutex_lock(&crew->lock);
    const bool is_taken = crew->image < crew->job->batch.n_images;
    if (is_taken) {
        piece->index = crew->image;
        piece->image = ih_batch_image_at(crew->job, crew->image);
        piece->first_row = crew->row;
        const uint32_t n_left = piece->image.height - crew->row;
        const uint32_t n = piece_rows(crew->job, &piece->image);
        piece->n_rows = n < n_left ? n : n_left;
        crew->row += piece->n_rows;
        if (crew->row >= piece->image.height) {
            crew->row = 0;
            crew->image++;
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return is_taken;
}

/* ---- pixels ---- */

/* Whether the pixels of a row are as src/count takes them. */
static bool is_interleaved(const struct ih_batch *b, const struct ih_batch_image *image)
{
    return b->pixel_stride == (ptrdiff_t)b->n_channels &&
           (b->n_channels == 1 || image->channel_stride == 1) &&
           (b->n_channels < 3 || b->order == IH_ORDER_RGB);
}

/* Interleaves n pixels of row y from column x on. */
static void gather(uint8_t *out, const struct ih_batch *b, const struct ih_batch_image *image,
                   uint32_t x, uint32_t y, size_t n)
{
    const uint8_t *pixel =
        image->data + (ptrdiff_t)y * image->row_stride + (ptrdiff_t)x * b->pixel_stride;
    for (unsigned c = 0; c < b->n_channels; c++) {
        const uint8_t *from = pixel + (ptrdiff_t)ih_batch_channel(b, c) * image->channel_stride;
        for (size_t i = 0; i < n; i++)
            out[i * b->n_channels + c] = from[(ptrdiff_t)i * b->pixel_stride];
    }
}

/* The same for pixels that are counted one by one. */
static void gather_samples(uint16_t *out, const struct ih_batch *b,
                           const struct ih_batch_image *image, uint32_t x, uint32_t y, size_t n)
{
    const uint8_t *pixel =
        image->data + (ptrdiff_t)y * image->row_stride + (ptrdiff_t)x * b->pixel_stride;
    for (unsigned c = 0; c < b->n_channels; c++) {
        const uint8_t *from = pixel + (ptrdiff_t)ih_batch_channel(b, c) * image->channel_stride;
        for (size_t i = 0; i < n; i++, from += b->pixel_stride)
            if (b->n_bins > 0)
                memcpy(&out[i * b->n_channels + c], from, sizeof *out);
            else
                out[i * b->n_channels + c] = *from;
    }
}

static void add_record(const struct crew *crew, size_t record, const struct ih_histogram *h)
{
    const struct ih_batch_job *job = crew->job;
    const size_t n_planes = job->shape.n_planes;
    uint32_t *bins = crew->bins + record * n_planes * IH_BINS;
    uint64_t *sums = crew->sums ? crew->sums + record * (n_planes + IH_BATCH_CLIPS) : NULL;
    for (size_t i = 0; i < n_planes; i++) {
        const uint64_t *const from = h->bins + i * IH_BINS;
        for (unsigned v = 0; v < IH_BINS; v++)
            bins[i * IH_BINS + v] += (uint32_t)from[v];
        if (sums)
            sums[i] += h->sums[i];
    }
    if (sums) {
        const uint64_t clips[IH_BATCH_CLIPS] = {h->any_low, h->any_high, h->all_low, h->all_high};
        for (unsigned i = 0; i < IH_BATCH_CLIPS; i++)
            sums[n_planes + i] += clips[i];
    }
}

static void count_piece(struct worker *w, const struct piece *piece)
{
    const struct ih_batch_job *job = w->crew->job;
    const struct ih_batch_image *image = &piece->image;
    const bool is_direct = is_interleaved(&job->batch, image);
    if (ih_counter_begin(&w->counter, &ih_count_tables, &job->spec, &w->error) != IH_OK)
        return;
    for (uint32_t y = piece->first_row; y < piece->first_row + piece->n_rows; y++) {
        if (is_direct) {
            ih_counter_add(&w->counter, image->data + (ptrdiff_t)y * image->row_stride,
                           image->width);
            continue;
        }
        for (uint32_t x = 0, n; x < image->width; x += n) {
            n = image->width - x < CHUNK_PIXELS ? image->width - x : CHUNK_PIXELS;
            gather(w->chunk, &job->batch, image, x, y, n);
            ih_counter_add(&w->counter, w->chunk, n);
        }
    }
    const struct ih_histogram *const h = ih_counter_finish(&w->counter);
    const bool is_split = piece->n_rows < image->height;
    if (is_split)
        pthread_mutex_lock(&w->crew->lock);
    add_record(w->crew, piece->index, h);
    if (is_split)
        pthread_mutex_unlock(&w->crew->lock);
}

/* ---- label maps and samples of 16 bits ---- */

/* Counts a pixel of interleaved channels in the record that bins and sums point to. */
static void count_pixel(const struct ih_batch_job *job, const uint16_t *pixel, uint32_t *bins,
                        uint64_t *sums)
{
    const struct ih_count_spec *spec = &job->spec;
    const unsigned n_channels = spec->layout.n_channels,
                   n_colours = ih_layout_of(n_channels).n_colours;
    const size_t n_bins = n_bins_of(&job->batch);
    unsigned n_low = 0, n_high = 0;
    for (unsigned c = 0; c < n_channels; c++)
        if (pixel[c] < n_bins)
            bins[c * n_bins + pixel[c]]++;
    if (job->has_luma) {
        const uint16_t luma = ih_luma_native(spec->luma, pixel[0], pixel[1], pixel[2]);
        if (luma < n_bins)
            bins[n_channels * n_bins + luma]++;
    }
    if (!sums || !ih_is_unsigned(spec->type))
        return;
    for (unsigned c = 0; c < n_colours; c++) {
        n_low += pixel[c] <= spec->clip_low;
        n_high += pixel[c] >= spec->clip_high;
    }
    uint64_t *clips = sums + job->shape.n_planes;
    clips[0] += n_low > 0;
    clips[1] += n_high > 0;
    clips[2] += n_low == n_colours;
    clips[3] += n_high == n_colours;
}

static void count_pixels(struct worker *w, const struct piece *piece)
{
    const struct ih_batch_job *job = w->crew->job;
    const struct ih_batch_image *image = &piece->image;
    const size_t n_planes = job->shape.n_planes, n_labels = job->shape.n_labels;
    const size_t n_sums = n_planes + IH_BATCH_CLIPS, n_bins = n_bins_of(&job->batch);
    uint32_t *bins = w->crew->bins + piece->index * n_labels * n_planes * n_bins;
    uint64_t *sums = w->crew->sums ? w->crew->sums + piece->index * n_labels * n_sums : NULL;
    for (uint32_t y = 0; y < image->height; y++) {
        const uint8_t *labels =
            image->labels ? image->labels + (ptrdiff_t)y * image->labels_row_stride : NULL;
        for (uint32_t x = 0, n; x < image->width; x += n) {
            n = image->width - x < CHUNK_PIXELS ? image->width - x : CHUNK_PIXELS;
            gather_samples(w->samples, &job->batch, image, x, y, n);
            ih_keys_make(job->spec.type, w->samples, (size_t)n * job->spec.layout.n_channels);
            for (uint32_t i = 0; i < n; i++) {
                const size_t label = labels ? labels[x + i] : 0;
                if (label < n_labels)
                    count_pixel(job, w->samples + (size_t)i * job->spec.layout.n_channels,
                                bins + label * n_planes * n_bins,
                                sums ? sums + label * n_sums : NULL);
            }
        }
    }
    const uint64_t bias = job->spec.type == IH_INT16 ? 1u << 15 : 0; /* of keys */
    for (size_t label = 0; sums && !ih_is_float(job->spec.type) && label < n_labels; label++)
        for (size_t p = 0; p < n_planes; p++)
            for (size_t v = 0; v < n_bins; v++)
                sums[label * n_sums + p] += (v - bias) * bins[(label * n_planes + p) * n_bins + v];
}

/* ---- threads ---- */

static void *work(void *argument)
{
    struct worker *w = argument;
    struct piece piece;
    while (take_piece(w->crew, &piece)) {
        if (piece.image.width == 0 || piece.image.height == 0)
            continue;
        if (is_one_by_one(&w->crew->job->batch))
            count_pixels(w, &piece);
        else
            count_piece(w, &piece);
    }
    return NULL;
}

/* How many threads count: no more than the batch keeps busy. */
static unsigned choose_threads(const struct ih_batch_job *job)
{
    uint64_t n_pixels = 0;
    for (size_t i = 0; i < job->batch.n_images; i++) {
        const struct ih_batch_image image = ih_batch_image_at(job, i);
        n_pixels += (uint64_t)image.width * image.height;
        if (n_pixels / THREAD_PIXELS >= IH_THREADS_MAX)
            break;
    }
    const uint64_t n_busy = n_pixels / THREAD_PIXELS + 1;
    if (n_busy == 1)
        return 1;
    const unsigned n_most =
        job->batch.n_threads < IH_THREADS_MAX ? job->batch.n_threads : IH_THREADS_MAX;
    return n_busy < n_most ? (unsigned)n_busy : n_most;
}

/* Runs the workers, the first in the calling thread. If a thread cannot be started, fewer work. */
static void run_workers(struct worker *workers, unsigned n_workers)
{
    unsigned n_started = 1;
    sigset_t all, before;
    sigfillset(&all); /* the program's signal handlers do not run in our threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (n_started < n_workers &&
           pthread_create(&workers[n_started].thread, NULL, work, &workers[n_started]) == 0)
        n_started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(&workers[0]);
    for (unsigned i = 1; i < n_started; i++)
        pthread_join(workers[i].thread, NULL);
}

enum ih_status ih_batch_count_cpu(const struct ih_batch_job *job, uint32_t *bins, uint64_t *sums,
                                  struct ih_error *err)
{
    const unsigned n_workers = choose_threads(job);
    struct worker *workers = malloc(n_workers * sizeof *workers);
    if (!workers)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    struct crew crew = {.job = job, .bins = bins, .sums = sums};
    pthread_mutex_init(&crew.lock, NULL);
    for (unsigned i = 0; i < n_workers; i++) {
        workers[i].crew = &crew;
        workers[i].counter.totals.bins = NULL;
        workers[i].error.status = IH_OK;
    }
    memset(bins, 0, job->shape.bins_bytes);
    if (sums)
        memset(sums, 0, job->shape.sums_bytes);
    run_workers(workers, n_workers);
    pthread_mutex_destroy(&crew.lock);
    enum ih_status status = IH_OK;
    for (unsigned i = 0; i < n_workers; i++) {
        ih_counter_reset(&workers[i].counter);
        if (workers[i].error.status != IH_OK)
            status = ih_error_set(err, IH_MEMORY, "out of memory");
    }
    free(workers);
    return status;
}
