/* Contexts: checks settings, opens the device, and keeps the lanes that calls use in turn. */
#include "library/library.h"

#include "base/machine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

const char *ih_version(void)
{
    return IH_VERSION;
}

const char *ih_status_text(enum ih_status status)
{
    static const char *const texts[] = {
        [IH_OK] = "no error",
        [IH_USAGE] = "invalid arguments or settings",
        [IH_UNAVAILABLE] = "not available here",
        [IH_IO] = "reading or writing failed",
        [IH_UNKNOWN] = "not an image of a known format",
        [IH_CORRUPT] = "damaged or truncated",
        [IH_UNSUPPORTED] = "a variant that is not decoded",
        [IH_LIMIT] = "exceeds a limit",
        [IH_MEMORY] = "out of memory",
        [IH_DEVICE] = "the GPU or its driver failed",
        [IH_CONFLICT] = "an input is also the output file",
        [IH_END] = "the end of the scan",
    };
    return (size_t)status < sizeof texts / sizeof texts[0] ? texts[status] : "unknown status";
}

const char *ih_warning_text(enum ih_warning warning)
{
    return ih_warning_words(warning);
}

const struct ih_field *ih_stats_fields(void)
{
    return ih_stats_table;
}

/* ---- settings ---- */

enum ih_status ih_options_copy(void *to, size_t to_bytes, const void *from, size_t from_bytes,
                               const char *what, struct ih_error *err)
{
    memset(to, 0, to_bytes);
    if (!from)
        return IH_OK;
    memcpy(to, from, from_bytes < to_bytes ? from_bytes : to_bytes);
    for (size_t i = to_bytes; i < from_bytes; i++)
        if (((const unsigned char *)from)[i] != 0)
            return ih_error_set(err, IH_USAGE, "%s: newer than libimghist " IH_VERSION, what);
    return IH_OK;
}

/* device, kernel, luma, alpha, nodata and bands. */
static enum ih_status use_names(const struct ih_settings *s, struct ih_context *c,
                                struct ih_device_options *device, struct ih_error *err)
{
    struct ih_error reason;
    if (s->device && ih_device_parse(s->device, device, &reason) != IH_OK)
        return ih_error_set(err, reason.status, "device: %.200s", reason.message);
    c->kernel = s->kernel ? ih_kernel_find(s->kernel) : NULL;
    if (s->kernel && !c->kernel)
        return ih_error_set(err, IH_USAGE, "kernel: this build has no kernel '%.40s'", s->kernel);
    device->with.kernel = c->kernel;
    struct ih_measure *m = &c->options.measure;
    m->luma = ih_luma_find(s->luma ? s->luma : ih_luma_bt709.name);
    if (!m->luma)
        return ih_error_set(err, IH_USAGE, "luma: '%.40s' is not one of bt709, bt601, none",
                            s->luma);
    if (s->alpha && ih_alpha_parse(s->alpha, &m->alpha, &reason) != IH_OK)
        return ih_error_set(err, reason.status, "alpha: %.200s", reason.message);
    if (s->nodata && !ih_nodata_parse(s->nodata, &m->nodata))
        return ih_error_set(err, IH_USAGE,
                            "nodata: '%.40s' is neither 'none' nor a finite number; NaN and "
                            "infinities always are counted apart",
                            s->nodata);
    enum ih_axes *const axes = &c->options.decode.axes;
    while (s->axes && *axes < IH_AXES_END && strcmp(s->axes, ih_axes_letters[*axes]) != 0)
        ++*axes;
    if (*axes == IH_AXES_END)
        return ih_error_set(err, IH_USAGE,
                            "axes: '%.40s' is not one of auto, HWC, CHW, NHW, NHWC, NCHW", s->axes);
    if (s->bands && ih_bands_parse(s->bands, &c->options.bands, &reason) != IH_OK)
        return ih_error_set(err, reason.status, "bands: %.200s", reason.message);
    return IH_OK;
}

static bool is_interrupted(void *context)
{
    const struct ih_context *c = context;
    return c->ask(c->ask_user) != 0;
}

static enum ih_status use_settings(const struct ih_settings *s, struct ih_context *c,
                                   struct ih_device_options *device, struct ih_error *err)
{
    enum ih_status status = use_names(s, c, device, err);
    if (status != IH_OK)
        return status;
    device->n_lanes = s->n_threads;
    const bool is_native = s->bins == IH_BINS_NATIVE;
    const unsigned largest = is_native || s->raw_sensor ? UINT16_MAX : IH_BINS - 1;
    const unsigned clip_high = s->clip_high ? s->clip_high : largest;
    c->options.n_threads = 1;
    if (s->bins != 0 && s->bins != IH_BINS && !is_native)
        return ih_error_set(err, IH_USAGE, "bins: %u, must be 256 or IH_BINS_NATIVE", s->bins);
    if (clip_high > largest || s->clip_low >= clip_high)
        return ih_error_set(err, IH_USAGE,
                            "clip: 0 <= clip_low (%u) < clip_high (%u) <= %u does not hold",
                            s->clip_low, clip_high, largest);
    if (s->raw_channels > IH_PIXEL_CHANNELS_MAX)
        return ih_error_set(err, IH_USAGE, "raw_channels: %u is more than %d", s->raw_channels,
                            IH_PIXEL_CHANNELS_MAX);
    if (s->lenient > 1 || s->raw_preview > 1 || s->raw_sensor > 1)
        return ih_error_set(err, IH_USAGE, "%s: must be 0 or 1",
                            s->lenient > 1       ? "lenient"
                            : s->raw_preview > 1 ? "raw_preview"
                                                 : "raw_sensor");
    if (s->raw_preview && s->raw_sensor)
        return ih_error_set(err, IH_USAGE, "raw_sensor: not with raw_preview");
    struct ih_measure *m = &c->options.measure;
    m->clip_low = (uint16_t)s->clip_low;
    m->clip_high = (uint16_t)s->clip_high;
    m->takes_native = is_native;
    m->stated = (s->luma ? IH_STATED_LUMA : 0) | (s->alpha ? IH_STATED_ALPHA : 0) |
                (s->clip_low || s->clip_high ? IH_STATED_CLIP : 0) |
                (s->nodata ? IH_STATED_NODATA : 0);
    c->options.decode.max_pixels = s->max_pixels ? s->max_pixels : IH_MAX_PIXELS_DEFAULT;
    c->options.decode.raw_channels = s->raw_channels;
    c->options.decode.is_lenient = s->lenient != 0;
    c->options.decode.takes_raw_previews = s->raw_preview != 0;
    c->options.decode.takes_raw_sensors = s->raw_sensor != 0;
    c->options.decode.timeout_s = s->timeout;
    c->has_budget = s->max_memory != 0;
    c->ask = s->interrupt;
    c->ask_user = s->interrupt_user;
    c->interrupt = (struct ih_interrupt){is_interrupted, c};
    c->options.decode.interrupt = s->interrupt ? &c->interrupt : NULL;
    return IH_OK;
}

/* ---- opening ---- */

enum ih_status ih_context_open(const struct ih_settings *settings, size_t size_bytes,
                               struct ih_context **context, struct ih_error *err)
{
    struct ih_settings s;
    struct ih_device_options device = {.backend = NULL};
    enum ih_status status = ih_options_copy(&s, sizeof s, settings, size_bytes, "settings", err);
    if (status != IH_OK)
        return status;
    struct ih_context *c = calloc(1, sizeof *c);
    if (!c)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    status = use_settings(&s, c, &device, err);
    if (status == IH_OK) {
        /* The thread that starts a GPU inherits the mask, so it runs no handler of the program. */
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        status = ih_device_open(&device, &c->device, err);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (status != IH_OK) {
        if (err)
            ih_error_drop_controls(err);
        free(c);
        return status;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->n_cores = ih_machine_cores();
    if (c->has_budget) {
        ih_budget_init(&c->budget, s.max_memory);
        c->options.decode.budget = &c->budget;
    }
    *context = c;
    return IH_OK;
}

enum ih_status ih_context_wait(struct ih_context *context, struct ih_error *err)
{
    return ih_device_wait(context->device, err);
}

const char *ih_context_device(struct ih_context *context)
{
    return ih_device_wait(context->device, NULL) == IH_OK ? ih_device_description(context->device)
                                                          : NULL;
}

/* ---- calls ---- */

static void close_call(struct ih_call *call)
{
    ih_lane_close(call->lane);
    ih_reader_reset(&call->source);
    free(call);
}

enum ih_status ih_call_begin(struct ih_context *c, struct ih_call **call, struct ih_error *err)
{
    pthread_mutex_lock(&c->lock);
    struct ih_call *taken = c->idle;
    if (taken)
        c->idle = taken->next;
    pthread_mutex_unlock(&c->lock);
    if (!taken) {
        taken = calloc(1, sizeof *taken);
        if (!taken)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        enum ih_status status = ih_lane_open(c->device, &taken->lane, err);
        if (status != IH_OK) {
            free(taken);
            return status;
        }
    }
    taken->gpu_before = ih_gpu_current();
    *call = taken;
    return IH_OK;
}

void ih_call_end(struct ih_context *c, struct ih_call *call, enum ih_status status)
{
    int gpu_before = call->gpu_before;
    if (status == IH_DEVICE || status == IH_MEMORY) {
        close_call(call);
    } else {
        pthread_mutex_lock(&c->lock);
        call->next = c->idle;
        c->idle = call;
        pthread_mutex_unlock(&c->lock);
    }
    ih_gpu_make_current(gpu_before);
}

void ih_context_close(struct ih_context *c)
{
    if (!c)
        return;
    int gpu_before = ih_gpu_current();
    while (c->idle) {
        struct ih_call *call = c->idle;
        c->idle = call->next;
        close_call(call);
    }
    ih_device_close(c->device);
    ih_gpu_make_current(gpu_before);
    if (c->has_budget)
        ih_budget_destroy(&c->budget);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
