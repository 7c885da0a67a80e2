/* Counting pixels in host memory: the checks, and calls on lanes, each for some of the rows. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "library/library.h"

#include "base/machine.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREAD_PIXELS = 1 << 18,   /* for each thread: 70 us or more; starting one takes about 40 */
    YIELDS_BEFORE_SLEEP = 1000 /* about half a millisecond */
};

enum ih_status ih_pixels_normalize(const struct ih_pixels *pixels, struct ih_pixels *out,
                                   struct ih_error *err)
{
    struct ih_pixels p = *pixels;
    size_t row_bytes, span_bytes = 0;
    if (p.n_channels < 1 || p.n_channels > IH_PIXEL_CHANNELS_MAX)
        return ih_error_set(err, IH_USAGE, "pixels: %u channels, must be 1 to 4", p.n_channels);
    if (p.width == 0 || p.height == 0) {
        *out = (struct ih_pixels){NULL, 0, 0, 0, p.n_channels};
        return IH_OK;
    }
    if (!p.data)
        return ih_error_set(err, IH_USAGE, "pixels: data is NULL");
    if (p.width > SIZE_MAX || p.height > SIZE_MAX ||
        !ih_size_multiply((size_t)p.width, p.n_channels, &row_bytes) || row_bytes > PTRDIFF_MAX)
        return ih_error_set(err, IH_USAGE, "pixels: larger than any memory");
    bool is_upward = p.stride_bytes < 0;
    size_t stride = p.stride_bytes == 0 ? row_bytes
                    : is_upward         ? (size_t)0 - (size_t)p.stride_bytes
                                        : (size_t)p.stride_bytes;
    if (p.height > 1 && stride < row_bytes)
        return ih_error_set(err, IH_USAGE, "pixels: rows of %zu bytes overlap: stride_bytes is %td",
                            row_bytes, p.stride_bytes);
    if (!ih_size_multiply((size_t)p.height - 1, stride, &span_bytes) ||
        span_bytes > PTRDIFF_MAX - row_bytes)
        return ih_error_set(err, IH_USAGE, "pixels: larger than any memory");
    if (is_upward) /* counts do not depend on the order of rows */
        p.data = (const uint8_t *)p.data - span_bytes;
    if (p.height == 1 || stride == row_bytes) {
        p.width *= p.height;
        p.height = 1;
        stride = row_bytes = (size_t)p.width * p.n_channels;
    }
    p.stride_bytes = (ptrdiff_t)stride;
    *out = p;
    return IH_OK;
}

/* The rows of an array that a thread takes, and their counts. */
struct part {
    pthread_t thread;
    struct ih_context *context;
    const struct ih_scan_options *options;
    const struct ih_array *array;
    struct ih_array_rows *shared;
    struct ih_result *result;
};

static void *count_part(void *argument)
{
    const struct part *p = argument;
    struct ih_call *call = NULL;
    p->result->status = ih_call_begin(p->context, &call, &p->result->error);
    if (p->result->status == IH_OK) {
        ih_count_array_in(p->options, p->array, p->shared, call->lane, p->result);
        ih_call_end(p->context, call, p->result->status);
    }
    return NULL;
}

static bool is_stopped(void *flag)
{
    return atomic_load((atomic_bool *)flag);
}

/* Polls for the end of a thread before it sleeps: waking up takes 50 us, and the last rows of other
 * threads seldom take longer. */
static void join_soon(pthread_t thread)
{
    for (int i = 0; i < YIELDS_BEFORE_SLEEP; i++) {
        if (pthread_tryjoin_np(thread, NULL) == 0)
            return;
        sched_yield();
    }
    pthread_join(thread, NULL);
}

/* Counts in the calling thread, with the first part, and in threads, each with another part. If the
 * first fails, sets *is_failed, which stops the others. Returns the number of parts that have
 * counted: those of threads that cannot be started leave their rows to the others. */
static unsigned count_parts(struct part *parts, unsigned n_parts, atomic_bool *is_failed)
{
    unsigned n_started = 1;
    sigset_t all, before;
    sigfillset(&all); /* the program's signal handlers do not run in our threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (n_started < n_parts &&
           pthread_create(&parts[n_started].thread, NULL, count_part, &parts[n_started]) == 0)
        n_started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    count_part(&parts[0]);
    atomic_store(is_failed, parts[0].result->status != IH_OK);
    for (unsigned i = 1; i < n_started; i++)
        join_soon(parts[i].thread);
    return n_started;
}

/* How many threads count: no more than the pixels keep busy, and than there are rows. */
static unsigned choose_threads(const struct ih_context *context, const struct ih_array *array)
{
    const uint64_t n_busy = array->width * array->height / THREAD_PIXELS;
    if (n_busy <= 1 || array->n_threads == 1)
        return 1;
    uint64_t n = array->n_threads ? array->n_threads : context->n_cores;
    n = n < IH_THREADS_MAX ? n : IH_THREADS_MAX;
    n = n < n_busy ? n : n_busy;
    return (unsigned)(n < array->height ? n : array->height);
}

static enum ih_status count_in_threads(struct ih_context *context, const struct ih_array *array,
                                       unsigned n, struct ih_result *result, struct ih_error *err)
{
    struct part *parts = malloc(n * sizeof *parts);
    struct ih_result *others = malloc((n - 1) * sizeof *others);
    struct ih_array_rows rows = {.n_threads = n};
    atomic_bool is_failed = false;
    const struct ih_interrupt stop = {is_stopped, &is_failed};
    struct ih_scan_options of_others = context->options;
    of_others.decode.interrupt = &stop; /* only the calling thread asks the caller's */
    enum ih_status status = IH_OK;
    if (!parts || !others) {
        free(parts);
        free(others);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    for (unsigned i = 0; i < n; i++)
        parts[i] = (struct part){.context = context,
                                 .options = i ? &of_others : &context->options,
                                 .array = array,
                                 .shared = &rows,
                                 .result = i ? &others[i - 1] : result};
    n = count_parts(parts, n, &is_failed);
    for (unsigned i = 0; i < n && status == IH_OK; i++) {
        status = parts[i].result->status;
        if (status != IH_OK && err)
            *err = parts[i].result->error;
        else if (status == IH_OK && i > 0)
            ih_histogram_add(&result->histogram, &parts[i].result->histogram);
    }
    for (unsigned i = 1; i < n; i++) /* of a failed part: none */
        if (others[i - 1].status == IH_OK)
            ih_histogram_reset(&others[i - 1].histogram);
    if (status != IH_OK && result->status == IH_OK)
        ih_histogram_reset(&result->histogram);
    free(others);
    free(parts);
    return status;
}

/* array: checked. */
static enum ih_status count_checked(struct ih_context *context, const struct ih_array *array,
                                    struct ih_counts *counts, struct ih_error *err)
{
    const unsigned n_threads = choose_threads(context, array);
    struct part all = {.context = context,
                       .options = &context->options,
                       .array = array,
                       .result = &counts->result};
    enum ih_status status;
    if (n_threads > 1) {
        status = count_in_threads(context, array, n_threads, &counts->result, err);
    } else {
        count_part(&all);
        status = counts->result.status;
        if (status != IH_OK && err)
            *err = counts->result.error;
    }
    if (status == IH_OK)
        ih_counts_set_image(counts);
    return status;
}

enum ih_status ih_count_pixels(struct ih_context *context, const struct ih_pixels *pixels,
                               struct ih_counts *counts, struct ih_error *err)
{
    struct ih_pixels p;
    ih_counts_clear(counts);
    enum ih_status status = ih_pixels_normalize(pixels, &p, err);
    if (status != IH_OK)
        return status;
    const ptrdiff_t n = (ptrdiff_t)pixels->n_channels;
    struct ih_array array = {.data = pixels->data,
                             .width = pixels->width,
                             .height = pixels->height,
                             .n_channels = pixels->n_channels,
                             .has_strides = pixels->stride_bytes != 0,
                             .row_stride_bytes = pixels->stride_bytes,
                             .pixel_stride_bytes = n,
                             .channel_stride_bytes = 1,
                             .n_threads = 1};
    status = ih_array_check(&array, err);
    return status == IH_OK ? count_checked(context, &array, counts, err) : status;
}

enum ih_status ih_count_array(struct ih_context *context, const struct ih_array *array,
                              size_t size_bytes, struct ih_counts *counts, struct ih_error *err)
{
    struct ih_array checked;
    ih_counts_clear(counts);
    enum ih_status status =
        ih_options_copy(&checked, sizeof checked, array, size_bytes, "array", err);
    if (status == IH_OK)
        status = ih_array_check(&checked, err);
    return status == IH_OK ? count_checked(context, &checked, counts, err) : status;
}
