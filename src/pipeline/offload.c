#define _POSIX_C_SOURCE 200809L

#include "pipeline/offload.h"

#include "base/clock.h"
#include "jpeg_gpu/validate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The engines are started once JPEG files have kept all workers busy for so long: too early, and
 * many small runs pay for a start that they gain nothing by, too late, and large ones gain less. */
#define START_AFTER_NS ((uint64_t)250 * 1000 * 1000)

/* Of the workers, one in so many is left to read and walk files for the engines; the others may
 * help where these are busy. A worker walks four to five times as fast as it decodes, and sixteen
 * decode a quarter to a third of what an H100's engines do. */
enum { WALKERS_PART = 3 };

/* Larger files are left to the decoder that needs no more than a band of them. All workers' buffers
 * together, a file and the copy that it is walked in, take at most a BUFFERS_PARTth of the budget.
 */
#define FILE_BYTES_MAX ((uint64_t)128 << 20)
enum { BUFFERS_PART = 4 };

struct offloaded {
    struct ih_jpeg_job job;
    struct ih_offload *offload;
    void *ticket;
    struct ih_result *result;
    uint64_t taken_bytes; /* of the budget */
    uint8_t stream[];
};

void ih_offload_init(struct ih_offload *o, const struct ih_pipeline_options *options,
                     struct ih_device *device,
                     void (*deliver)(void *user, void *ticket, struct ih_result *result,
                                     bool is_counted),
                     void *user)
{
    memset(o, 0, sizeof *o);
    o->options = options;
    o->device = device;
    o->deliver = deliver;
    o->user = user;
    pthread_mutex_init(&o->lock, NULL);
}

void ih_offload_close(struct ih_offload *o)
{
    struct ih_jpeg_report *report = o->options->jpeg_report;
    if (o->engines && o->options->is_last && ih_jpeg_engines_room(o->engines) != IH_JPEG_NONE) {
        ih_jpeg_engines_leave(o->engines);
        o->engines = NULL;
    }
    if (o->engines && report) {
        struct ih_error error = {0};
        if (ih_jpeg_engines_wait(o->engines, &error) != IH_OK)
            report->why_none = error;
        ih_jpeg_engines_describe(o->engines, report->engines, sizeof report->engines);
    }
    ih_jpeg_engines_close(o->engines);
    pthread_mutex_destroy(&o->lock);
}

/* Counts a file that is left to the processors, and why. file: the worker's, or NULL. */
static bool leave(struct ih_offload *o, struct ih_offload_file *file, const char *why)
{
    struct ih_jpeg_report *report = o->options->jpeg_report;
    if (file)
        file->why = NULL;
    if (!report)
        return false;
    size_t i = 0;
    pthread_mutex_lock(&o->lock);
    while (i < IH_JPEG_REASONS_MAX - 1 && report->left[i].why && report->left[i].why != why)
        i++;
    report->left[i].why = i < IH_JPEG_REASONS_MAX - 1 ? why : "other reasons";
    report->left[i].n_files++;
    pthread_mutex_unlock(&o->lock);
    return false;
}

/* ---- starting the engines ---- */

static enum ih_status open_engines(struct ih_offload *o, struct ih_error *err)
{
    struct ih_jpeg_engines *engines = NULL;
    pthread_mutex_lock(&o->lock);
    bool is_first = !o->has_tried;
    o->has_tried = true;
    pthread_mutex_unlock(&o->lock);
    if (!is_first)
        return IH_OK;
    enum ih_status status = ih_jpeg_engines_open(o->device, &engines, err);
    pthread_mutex_lock(&o->lock);
    o->engines = engines;
    pthread_mutex_unlock(&o->lock);
    return status;
}

enum ih_status ih_offload_begin(struct ih_offload *o, struct ih_error *err)
{
    if (o->options->jpeg != IH_JPEG_GPU)
        return IH_OK;
    enum ih_status status = open_engines(o, err);
    return status == IH_OK ? ih_jpeg_engines_wait(o->engines, err) : status;
}

void ih_offload_saw(struct ih_offload *o, struct ih_offload_file *file,
                    const struct ih_result *result)
{
    if (file->is_helping) {
        pthread_mutex_lock(&o->lock);
        o->n_helping--;
        pthread_mutex_unlock(&o->lock);
        file->is_helping = false;
    }
    if (o->options->jpeg == IH_JPEG_CPU || result->status != IH_OK ||
        strcmp(result->info.format, "jpeg") != 0)
        return;
    if (file->why)
        leave(o, file, file->why);
    pthread_mutex_lock(&o->lock);
    o->busy_ns += result->times.read_ns + result->times.decode_ns; /* not waiting for the device */
    bool is_enough = o->options->jpeg == IH_JPEG_AUTO && !o->has_tried &&
                     o->busy_ns >= START_AFTER_NS * o->options->n_threads;
    pthread_mutex_unlock(&o->lock);
    if (is_enough)
        open_engines(o, NULL); /* without memory for them it goes on as before */
}

/* ---- a file ---- */

/* Whether a worker may hold a file of n_bytes. */
static bool may_hold(const struct ih_offload *o, uint64_t n_bytes)
{
    const struct ih_budget *budget = o->options->decode.budget;
    return n_bytes <= FILE_BYTES_MAX &&
           (!budget || 2 * n_bytes <= budget->size_bytes / BUFFERS_PART / o->options->n_threads);
}

/* Opens a regular file that begins as JPEG does, of *n_bytes. False for all that the ordinary way
 * has to look at, errors among it. */
static bool open_jpeg(const struct ih_offload *o, const struct ih_input *input,
                      struct ih_source *src, uint64_t *n_bytes)
{
    static const uint8_t start[] = {0xff, 0xd8, 0xff};
    struct ih_file_identity id;
    struct ih_error ignored;
    struct stat st;
    const uint8_t *head;
    size_t n_head;
    if (stat(input->path, &st) != 0 || !S_ISREG(st.st_mode)) /* opening a pipe would drain it */
        return false;
    if (ih_source_open_path(src, input->path, &ignored) != IH_OK)
        return false;
    bool is_jpeg =
        ih_source_size_left(src, n_bytes) && ih_source_identity(src, &id) &&
        ih_check_not_output(&id, o->options->outputs, o->options->n_outputs, &ignored) == IH_OK &&
        ih_source_peek(src, sizeof start, &head, &n_head, &ignored) == IH_OK &&
        n_head >= sizeof start && memcmp(head, start, sizeof start) == 0;
    if (!is_jpeg)
        ih_source_close(src);
    return is_jpeg;
}

/* All of an open file; false without memory, and for one that cannot be read. */
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

static void on_done(struct ih_jpeg_job *job)
{
    struct offloaded *f = (struct offloaded *)job;
    struct ih_result *result = f->result;
    bool is_counted = job->status == IH_OK;
    result->counted_by = job->counted_by;
    result->decoder_version = job->decoder;
    result->kernel = job->kernel;
    if (is_counted && f->offload->options->jpeg_report) {
        pthread_mutex_lock(&f->offload->lock);
        f->offload->options->jpeg_report->n_decoded++;
        pthread_mutex_unlock(&f->offload->lock);
    } else if (!is_counted) {
        leave(f->offload, NULL, "the engines gave them back");
    }
    ih_budget_give(f->offload->options->decode.budget, f->taken_bytes);
    f->offload->deliver(f->offload->user, f->ticket, result, is_counted);
    free(f);
}

/* Everything the engines need for a file, but the counts' place; NULL without memory. */
static struct offloaded *make_job(struct ih_offload *o, const struct ih_jpeg_plan *plan)
{
    struct ih_budget *budget = o->options->decode.budget;
    size_t n_bytes = sizeof(struct offloaded) + plan->stream_bytes;
    if (!ih_budget_try(budget, n_bytes))
        return NULL;
    struct offloaded *f = malloc(n_bytes);
    if (!f) {
        ih_budget_give(budget, n_bytes);
        return NULL;
    }
    memset(f, 0, sizeof *f);
    ih_jpeg_plan_write(plan, f->stream);
    f->offload = o;
    f->taken_bytes = n_bytes;
    f->job = (struct ih_jpeg_job){
        .stream = f->stream,
        .stream_bytes = plan->stream_bytes,
        .width = plan->width,
        .height = plan->height,
        .n_components = plan->n_components,
        .chroma_h = plan->chroma_h,
        .chroma_v = plan->chroma_v,
        .spec = {plan->n_components, o->options->luma, o->options->clip_low, o->options->clip_high},
        .done = on_done,
    };
    return f;
}

/* Whether the worker may decode a file itself, as the engines are busy. */
static bool may_help(struct ih_offload *o, struct ih_offload_file *file)
{
    unsigned n_threads = o->options->n_threads;
    unsigned n_most = n_threads - (n_threads + WALKERS_PART - 1) / WALKERS_PART;
    pthread_mutex_lock(&o->lock);
    file->is_helping = o->options->jpeg == IH_JPEG_AUTO && o->n_helping < n_most;
    o->n_helping += file->is_helping ? 1 : 0;
    pthread_mutex_unlock(&o->lock);
    return file->is_helping;
}

/* Walks a file that has been read and, where all is well, gives it to the engines. */
static bool submit(struct ih_offload *o, struct ih_offload_file *file, size_t size_bytes,
                   uint64_t start_ns, void *ticket, struct ih_result *result)
{
    struct ih_jpeg_plan plan;
    const char *why_not;
    if (!ih_jpeg_walk(file->bytes, size_bytes, &plan, &why_not))
        return leave(o, file, why_not);
    if ((uint64_t)plan.width * plan.height > o->options->decode.max_pixels)
        return false;
    struct offloaded *f = make_job(o, &plan);
    if (!f)
        return leave(o, file, "no memory was left for them");
    f->ticket = ticket;
    f->result = result;
    f->job.out = &result->histogram;
    result->info = (struct ih_image_info){"jpeg", plan.width, plan.height, plan.n_components, 8};
    result->spec = f->job.spec;
    result->times.decode_ns = ih_clock_ns() - start_ns - result->times.read_ns;
    if (ih_jpeg_engines_take(o->engines, &f->job))
        return true;
    ih_budget_give(o->options->decode.budget, f->taken_bytes); /* there are none any more */
    free(f);
    return leave(o, file, "the engines had given up");
}

bool ih_offload_try(struct ih_offload *o, const struct ih_input *input,
                    struct ih_offload_file *file, struct ih_source *src, void *ticket,
                    struct ih_result *result)
{
    const struct ih_decode_options *decode = &o->options->decode;
    size_t size_bytes = 0;
    uint64_t n_bytes;
    file->why = "not in a file that can be read whole";
    if (o->options->jpeg == IH_JPEG_CPU || decode->raw_channels || decode->isolates_all ||
        input->bytes || input->is_stdin || input->error.status != IH_OK)
        return false;
    pthread_mutex_lock(&o->lock);
    bool has_engines = o->engines != NULL;
    pthread_mutex_unlock(&o->lock);
    enum ih_jpeg_room room = has_engines ? ih_jpeg_engines_room(o->engines) : IH_JPEG_NONE;
    if (room == IH_JPEG_NONE || room == IH_JPEG_STARTING) {
        const bool is_over = has_engines && room == IH_JPEG_NONE;
        file->why = is_over ? "the engines had given up" : "the engines had not started";
        return false;
    }
    const uint64_t start_ns = ih_clock_ns();
    if (!open_jpeg(o, input, src, &n_bytes))
        return false;
    bool is_small = may_hold(o, n_bytes);
    bool is_helping = is_small && room == IH_JPEG_BUSY && may_help(o, file);
    bool has_file = is_small && !is_helping && read_file(src, n_bytes, file, &size_bytes);
    memset(result, 0, sizeof *result);
    result->path = input->path;
    result->times.read_ns = src->read_ns;
    ih_source_close(src);
    if (!is_small)
        return leave(o, file, "too large to be held whole");
    if (is_helping)
        return leave(o, file, "the engines were busy");
    return has_file && submit(o, file, size_bytes, start_ns, ticket, result);
}
