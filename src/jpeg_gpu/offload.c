#include "jpeg_gpu/offload.h"

#include "base/clock.h"
#include "decode/decoder.h"
#include "decode/jpeg/markers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The hardware decoders start after JPEG files have kept all workers busy for this long, in a run
 * that is long enough for the device. */
#define START_AFTER_NS ((uint64_t)250 * 1000 * 1000)

/* Larger files are left to the CPU's decoder, which needs one band of them. The buffers of all
 * workers, each a file and the validator's copy, take at most a BUFFERS_PARTth of the budget. */
#define FILE_BYTES_MAX ((uint64_t)128 << 20)
enum { BUFFERS_PART = 4 };

struct queued_file {
    struct ih_hw_jpeg_job job;
    struct ih_offload *offload;
    void *ticket;
    struct ih_result *result;
    uint64_t taken_bytes;     /* of the budget */
    struct queued_file *next; /* spare */
    size_t capacity_bytes;    /* of stream */
    uint8_t stream[];
};

/* Buffers of small files that are kept for the next ones: workers contend for the heap. Together
 * they take at most 16 MiB beside the budget. */
enum { SPARE_BYTES = 64 << 10, SPARES_MAX = 256 };

void ih_offload_close(struct ih_offload *o)
{
    struct ih_jpeg_report *report = o->options.report;
    if (o->hw && o->options.is_last && ih_hw_jpeg_room(o->hw) != IH_HW_JPEG_NONE) {
        ih_hw_jpeg_leave(o->hw);
        o->hw = NULL;
    }
    if (o->hw && report) {
        struct ih_error error = {0};
        if (ih_hw_jpeg_wait(o->hw, &error) != IH_OK)
            report->why_none = error;
        ih_hw_jpeg_describe(o->hw, report->decoders, sizeof report->decoders);
    }
    ih_hw_jpeg_close(o->hw);
    for (struct queued_file *f = o->spare, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    pthread_mutex_destroy(&o->lock);
}

/* Keeps a buffer for a small file, or frees it. */
static void put_back(struct ih_offload *o, struct queued_file *f)
{
    pthread_mutex_lock(&o->lock);
    const bool is_kept = f->capacity_bytes == SPARE_BYTES && o->n_spare < SPARES_MAX;
    if (is_kept) {
        f->next = o->spare;
        o->spare = f;
        o->n_spare++;
    }
    pthread_mutex_unlock(&o->lock);
    if (!is_kept)
        free(f);
}

/* Returns a buffer for a stream, with its capacity and all else undefined; NULL: no memory. */
static struct queued_file *get_buffer(struct ih_offload *o, size_t stream_bytes)
{
    struct queued_file *f = NULL;
    const size_t capacity = stream_bytes <= SPARE_BYTES ? SPARE_BYTES : stream_bytes;
    pthread_mutex_lock(&o->lock);
    if (capacity == SPARE_BYTES && o->spare) {
        f = o->spare;
        o->spare = f->next;
        o->n_spare--;
    }
    pthread_mutex_unlock(&o->lock);
    if (!f)
        f = malloc(sizeof *f + capacity);
    if (f)
        f->capacity_bytes = capacity;
    return f;
}

/* Reports a file that is left to the CPU. file: the worker's, or NULL. Returns false. */
static bool leave(struct ih_offload *o, struct ih_offload_file *file, enum ih_jpeg_reason reason)
{
    if (file)
        file->reason = IH_JPEG_REASON_NONE;
    if (o->options.report) {
        pthread_mutex_lock(&o->lock);
        o->options.report->n_left[reason]++;
        pthread_mutex_unlock(&o->lock);
    }
    return false;
}

/* ---- starting the hardware decoders ---- */

static enum ih_status open_hw_jpeg(struct ih_offload *o, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    pthread_mutex_lock(&o->lock);
    if (!o->has_tried)
        status = ih_hw_jpeg_open(o->device, o->options.hw_jpeg, &o->hw, err);
    o->has_tried = true;
    pthread_mutex_unlock(&o->lock);
    return status;
}

enum ih_status ih_offload_open(struct ih_offload *o, const struct ih_offload_options *options,
                               struct ih_device *device, ih_offload_deliver *deliver, void *user,
                               struct ih_error *err)
{
    *o = (struct ih_offload){
        .options = *options, .device = device, .deliver = deliver, .user = user};
    pthread_mutex_init(&o->lock, NULL);
    if (o->options.side != IH_JPEG_GPU)
        return IH_OK;
    const enum ih_status status = open_hw_jpeg(o, err);
    return status == IH_OK ? ih_hw_jpeg_wait(o->hw, err) : status;
}

void ih_offload_counted(struct ih_offload *o, struct ih_offload_file *file,
                        const struct ih_result *result)
{
    if (file->is_decoding) {
        pthread_mutex_lock(&o->lock);
        o->n_decoding--;
        pthread_mutex_unlock(&o->lock);
        file->is_decoding = false;
    }
    if (o->options.side == IH_JPEG_CPU || result->status != IH_OK ||
        strcmp(result->info.format, "jpeg") != 0)
        return;
    if (file->reason != IH_JPEG_REASON_NONE)
        leave(o, file, file->reason);
    pthread_mutex_lock(&o->lock);
    o->busy_ns += result->times.read_ns + result->times.decode_ns; /* not waiting for the device */
    const bool is_enough = o->options.side == IH_JPEG_AUTO && !o->has_tried &&
                           o->busy_ns >= START_AFTER_NS * o->options.n_workers &&
                           ih_device_has_begun(o->device);
    pthread_mutex_unlock(&o->lock);
    if (is_enough)
        open_hw_jpeg(o, NULL); /* without memory for it the CPU goes on */
}

/* ---- a file ---- */

/* The hardware decoders need twice the cores that read and validate: their threads copy files and
 * launch kernels, and two threads of a core are not twice as fast as one. On an H200 with 16 cores,
 * 2,800 photos of 12 megapixels took 6.2 to 6.5 s when 2 to 10 workers could decode, too, and 5.7
 * to 6.0 s when none could. */
enum { CORES_PER_FEEDER = 2 };

unsigned ih_offload_n_may_decode(unsigned n_workers, uint64_t feeding_ns, uint64_t elapsed_ns)
{
    const double n_feeders = (double)feeding_ns / ((double)elapsed_ns + 1);
    const double n = n_workers - (double)CORES_PER_FEEDER * n_feeders;
    return n > 0 ? (unsigned)n : 0;
}

/* Whether a worker may hold a file of n_bytes in memory. */
static bool may_hold(const struct ih_offload *o, uint64_t n_bytes)
{
    const struct ih_budget *budget = o->options.budget;
    return n_bytes <= FILE_BYTES_MAX &&
           (!budget || 2 * n_bytes <= budget->size_bytes / BUFFERS_PART / o->options.n_workers);
}

/* Opens a regular file that begins as a JPEG does. Returns false for every other input, and after
 * errors: the worker reports them. */
static bool open_jpeg(const struct ih_offload *o, const char *path, struct ih_source *src,
                      uint64_t *n_bytes)
{
    static const uint8_t start[] = {0xff, 0xd8, 0xff};
    struct ih_file_identity id;
    struct ih_error ignored;
    struct stat st;
    const uint8_t *head;
    size_t n_head;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) /* opening a pipe would take its data */
        return false;
    if (ih_source_open_path(src, path, &ignored) != IH_OK)
        return false;
    const bool is_jpeg =
        ih_source_size_left(src, n_bytes) && ih_source_identity(src, &id) &&
        ih_check_not_output(&id, o->options.outputs, o->options.n_outputs, &ignored) == IH_OK &&
        ih_source_peek(src, sizeof start, &head, &n_head, &ignored) == IH_OK &&
        n_head >= sizeof start && memcmp(head, start, sizeof start) == 0;
    if (!is_jpeg)
        ih_source_close(src);
    return is_jpeg;
}

/* Reads an open file. Returns false without memory, and after errors. */
static bool read_file(struct ih_source *src, uint64_t n_bytes, struct ih_offload_file *file,
                      size_t *size_bytes)
{
    struct ih_error ignored;
    if (n_bytes > file->capacity_bytes) {
        free(file->bytes);
        file->bytes = malloc((size_t)n_bytes);
        file->capacity_bytes = file->bytes ? (size_t)n_bytes : 0;
    }
    return n_bytes <= file->capacity_bytes &&
           ih_source_read(src, file->bytes, (size_t)n_bytes, size_bytes, &ignored) == IH_OK;
}

static void on_done(struct ih_hw_jpeg_job *job)
{
    struct queued_file *f = (struct queued_file *)job;
    struct ih_offload *o = f->offload;
    struct ih_result *result = f->result;
    void *const ticket = f->ticket;
    const bool is_counted = job->status == IH_OK;
    result->counted_by = job->counted_by;
    result->decoder_version = job->decoder;
    result->kernel = job->kernel;
    if (is_counted && o->options.report) {
        pthread_mutex_lock(&o->lock);
        o->options.report->n_decoded++;
        pthread_mutex_unlock(&o->lock);
    } else if (!is_counted) {
        leave(o, NULL, IH_JPEG_REASON_REJECTED);
    }
    ih_budget_give(o->options.budget, f->taken_bytes);
    put_back(o, f);
    o->deliver(o->user, ticket, result, is_counted); /* the run may end with it, and *o */
}

/* Returns a job with all fields but `out`, or NULL without memory. */
static struct queued_file *make_job(struct ih_offload *o, const struct ih_jpeg_plan *plan)
{
    struct ih_budget *budget = o->options.budget;
    const size_t n_bytes = sizeof(struct queued_file) + plan->stream_bytes;
    if (!ih_budget_try(budget, n_bytes))
        return NULL;
    struct queued_file *f = get_buffer(o, plan->stream_bytes);
    if (!f) {
        ih_budget_give(budget, n_bytes);
        return NULL;
    }
    ih_jpeg_plan_write(plan, f->stream);
    f->offload = o;
    f->taken_bytes = n_bytes;
    f->job = (struct ih_hw_jpeg_job){
        .stream = f->stream,
        .stream_bytes = plan->stream_bytes,
        .width = plan->width,
        .height = plan->height,
        .n_components = plan->n_components,
        .chroma_h = plan->chroma_h,
        .chroma_v = plan->chroma_v,
        .spec = {plan->n_components, o->options.luma, o->options.clip_low, o->options.clip_high, 0},
        .done = on_done,
    };
    return f;
}

/* Whether the worker decodes a file itself because the hardware decoders are busy. */
static bool begin_decoding(struct ih_offload *o, struct ih_offload_file *file)
{
    pthread_mutex_lock(&o->lock);
    const unsigned n_most = ih_offload_n_may_decode(o->options.n_workers, o->feeding_ns,
                                                    ih_clock_ns() - o->feeding_start_ns);
    file->is_decoding = o->options.side == IH_JPEG_AUTO && o->n_decoding < n_most;
    o->n_decoding += file->is_decoding ? 1 : 0;
    pthread_mutex_unlock(&o->lock);
    return file->is_decoding;
}

/* Whether another image follows the one of a validated file. */
static unsigned warnings_of(const struct ih_jpeg_plan *plan, const uint8_t *file_end)
{
    const uint8_t *const rest = plan->data + plan->data_bytes + IH_JPEG_MARKER_BYTES; /* EOI */
    const struct ih_decoder *next = NULL;
    struct ih_source src = {0};
    struct ih_error ignored;
    ih_source_open_memory(&src, rest, (size_t)(file_end - rest));
    ih_decode_following(&src, &ih_decoder_jpeg, false, &next, &ignored);
    ih_source_close(&src);
    return next ? IH_WARNING_MORE_IMAGES : 0;
}

/* Validates a file that has been read, and queues it. */
static bool submit(struct ih_offload *o, struct ih_offload_file *file, size_t size_bytes,
                   uint64_t start_ns, void *ticket, struct ih_result *result)
{
    struct ih_jpeg_plan plan;
    enum ih_jpeg_reason reason = ih_jpeg_validate_header(file->bytes, size_bytes, &plan);
    if (reason == IH_JPEG_REASON_NONE && !ih_hw_jpeg_accepts(o->hw, plan.width, plan.height))
        reason = IH_JPEG_REASON_TOO_MANY_PIXELS; /* before its data takes time to validate */
    if (reason == IH_JPEG_REASON_NONE)
        reason = ih_jpeg_validate_data(&plan, &file->workspace);
    if (reason != IH_JPEG_REASON_NONE)
        return leave(o, file, reason);
    if ((uint64_t)plan.width * plan.height > o->options.max_pixels)
        return false;
    struct queued_file *f = make_job(o, &plan);
    if (!f)
        return leave(o, file, IH_JPEG_REASON_NO_MEMORY);
    f->ticket = ticket;
    f->result = result;
    f->job.out = &result->histogram;
    result->info = (struct ih_image_info){.format = "jpeg",
                                          .width = plan.width,
                                          .height = plan.height,
                                          .n_channels = plan.n_components,
                                          .source_depth = 8,
                                          .range = IH_RANGE_FULL,
                                          .not_applied = plan.notes.not_applied,
                                          .warnings = warnings_of(&plan, file->bytes + size_bytes)};
    result->library = ih_decoder_jpeg.version;
    result->spec = f->job.spec;
    const uint64_t feeding_ns = ih_clock_ns() - start_ns;
    result->times.decode_ns = feeding_ns - result->times.read_ns;
    pthread_mutex_lock(&o->lock);
    if (o->feeding_start_ns == 0)
        o->feeding_start_ns = start_ns;
    o->feeding_ns += feeding_ns;
    pthread_mutex_unlock(&o->lock);
    if (ih_hw_jpeg_submit(o->hw, &f->job))
        return true;
    ih_budget_give(o->options.budget, f->taken_bytes);
    put_back(o, f);
    return leave(o, file, IH_JPEG_REASON_STOPPED);
}

bool ih_offload_try(struct ih_offload *o, const char *path, struct ih_offload_file *file,
                    struct ih_source *src, void *ticket, struct ih_result *result)
{
    size_t size_bytes = 0;
    uint64_t n_bytes;
    file->reason = IH_JPEG_REASON_NOT_A_FILE;
    if (o->options.side == IH_JPEG_CPU || !path)
        return false;
    pthread_mutex_lock(&o->lock);
    const bool has_hw = o->hw != NULL;
    pthread_mutex_unlock(&o->lock);
    const enum ih_hw_jpeg_room room = has_hw ? ih_hw_jpeg_room(o->hw) : IH_HW_JPEG_NONE;
    if (room == IH_HW_JPEG_NONE || room == IH_HW_JPEG_STARTING) {
        const bool has_stopped = has_hw && room == IH_HW_JPEG_NONE;
        file->reason = has_stopped ? IH_JPEG_REASON_STOPPED : IH_JPEG_REASON_NOT_STARTED;
        return false;
    }
    const uint64_t start_ns = ih_clock_ns();
    if (!open_jpeg(o, path, src, &n_bytes))
        return false;
    const bool is_small = may_hold(o, n_bytes);
    const bool is_decoding = is_small && room == IH_HW_JPEG_BUSY && begin_decoding(o, file);
    const bool has_file = is_small && !is_decoding && read_file(src, n_bytes, file, &size_bytes);
    memset(result, 0, sizeof *result);
    result->path = path;
    result->times.read_ns = src->read_ns;
    ih_source_close(src);
    if (!is_small)
        return leave(o, file, IH_JPEG_REASON_TOO_LARGE);
    if (is_decoding)
        return leave(o, file, IH_JPEG_REASON_BUSY);
    return has_file && submit(o, file, size_bytes, start_ns, ticket, result);
}
