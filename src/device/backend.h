/*
 * Backends: who counts. A band of pixels goes in, a histogram comes out.
 *
 * A backend is one vtable in one file plus a line in backends.def. Callers use an ih_device, which
 * starts a backend on one or several GPUs, and its lanes, which are dealt to them in turn. One lane
 * serves one worker thread; lanes of a device run side by side.
 *
 * Starting a GPU takes as long as decoding many photographs. So an ih_device starts in a thread of
 * its own. Where the caller leaves it open who counts, the processor stands in until then, and a
 * run that soon ends starts no GPU; else a lane hands out plain memory and keeps the filled bands
 * until there is somebody to count them. The caller sees no difference.
 */
#ifndef IH_DEVICE_BACKEND_H
#define IH_DEVICE_BACKEND_H

#include "base/status.h"
#include "counts/histogram.h"

struct ih_jpeg_backend;

struct ih_backend_options {
    const char *kernel;    /* NULL: the backend's best for each number of channels; else by name */
    unsigned n_idle_cores; /* processors that no worker uses: they may count beside the decoding */
};

/* A kernel that --kernel can name, for --list. */
struct ih_kernel_entry {
    const char *name;
    const char *why;
};

struct ih_backend {
    const char *name;                      /* "cpu" */
    const struct ih_kernel_entry *kernels; /* the best first; name NULL at the end */

    /* How many units this machine has: GPUs that CUDA shows, one processor. IH_OK with at least 1,
     * or IH_UNAVAILABLE with why there is none. */
    enum ih_status (*n_units)(int *n, struct ih_error *err);

    /*
     * Makes one unit ready.
     *
     * ordinal  which, from 0
     * *state   owned by the caller, released with stop; shared by all lanes of the unit
     *
     * Returns IH_OK, IH_UNAVAILABLE, IH_DEVICE, IH_MEMORY.
     * Threads: any; units start side by side.
     */
    enum ih_status (*start)(const struct ih_backend_options *options, int ordinal, void **state,
                            struct ih_error *err);
    void (*stop)(void *state);
    /* "cpu"; of one of several units its name, ordinal and what it is, "cuda:0 NVIDIA H100". Lives
     * as long as the state. */
    const char *(*describe)(void *state);

    enum ih_status (*lane_open)(void *state, void **lane, struct ih_error *err);
    void (*lane_close)(void *lane);

    /* The calls below as the ih_lane_ calls of the same name. */
    enum ih_status (*begin)(void *lane, const struct ih_count_spec *spec, struct ih_error *err);
    enum ih_status (*band)(void *lane, size_t min_bytes, uint8_t **pixels, size_t *size_bytes,
                           struct ih_error *err);
    enum ih_status (*count)(void *lane, size_t n_pixels, struct ih_error *err);
    /* Both NULL where it counts pixels only. */
    bool (*takes_planes)(void *state);
    enum ih_status (*count_planes)(void *lane, const struct ih_planes *planes,
                                   struct ih_error *err);
    enum ih_status (*end)(void *lane, struct ih_histogram *out, const char **kernel,
                          struct ih_error *err);

    const struct ih_jpeg_backend *jpeg; /* jpeg_engines.h; NULL: its units decode no JPEG */
};

#define BACKEND(name) extern const struct ih_backend ih_backend_##name;
#include "device/backends.def"
#undef BACKEND

/* All backends of this build, in the order that `auto` tries them, NULL at the end. */
extern const struct ih_backend *const ih_backends[];

/* ---- a device: a backend that has been chosen and started ---- */

struct ih_device;
struct ih_lane;

enum { IH_UNITS_MAX = 64 }; /* GPUs of one device; machines have up to 16 */

struct ih_device_options {
    const char *backend; /* NULL: auto, the first that starts; else by name */
    struct ih_backend_options with;
    int ordinals[IH_UNITS_MAX]; /* which units count, each once: all of them, or it is an error */
    unsigned n_ordinals;        /* 0: whichever start */
    unsigned n_lanes; /* how many will be open at once: more units are not started; 0: one */
    const struct ih_backend *const *backends; /* NULL: ih_backends; tests have others */
    unsigned start_after_ms; /* where the processor stands in; 0: a while; tests have others */
};

/*
 * Begins to start a device, later where the processor stands in; returns at once. Whether it exists
 * is known after ih_device_wait.
 *
 * *device   owned by the caller, released with ih_device_close
 *
 * Returns IH_OK, IH_USAGE (no such backend or kernel in this build) or IH_MEMORY.
 */
enum ih_status ih_device_open(const struct ih_device_options *options, struct ih_device **device,
                              struct ih_error *err);

/*
 * Waits until the device has started.
 *
 * Returns IH_OK or IH_UNAVAILABLE, with why there is none. The same every time.
 * Threads: any.
 */
enum ih_status ih_device_wait(struct ih_device *device, struct ih_error *err);

/* Waits until it is known whether anybody counts: at once where the processor stands in. Else as
 * ih_device_wait. */
enum ih_status ih_device_wait_usable(struct ih_device *device, struct ih_error *err);

/*
 * Calls off a start that has not begun.
 *
 * Returns whether one is under way, or engines have been left to the end of the process. Whoever
 * ends that need not wait, but must then do so with _exit, and not close the device.
 */
bool ih_device_call_off(struct ih_device *device);

/* Who counts, "cpu", "cuda:0 NVIDIA H100" or "cuda:0,1 2 x NVIDIA H100"; and why not a backend or a
 * unit that was tried before: "" where there is nothing to say. Valid after ih_device_wait gave
 * IH_OK, until ih_device_close. */
const char *ih_device_description(const struct ih_device *device);
const char *ih_device_fallback_reason(const struct ih_device *device);

/* Waits for a start that has begun. All lanes are closed before. NULL is allowed. */
void ih_device_close(struct ih_device *device);

/* ---- a lane: one worker's way to the device. Threads: one call per lane at a time. ---- */

enum ih_status ih_lane_open(struct ih_device *device, struct ih_lane **lane, struct ih_error *err);
void ih_lane_close(struct ih_lane *lane); /* NULL is allowed */

/* Which unit has counted its last image, "cuda:1 NVIDIA H100"; lives as the device. Between an
 * ih_lane_end that gave IH_OK and the next ih_lane_begin. */
const char *ih_lane_description(const struct ih_lane *lane);

/*
 * Starts an image. Whatever an earlier image left unfinished is dropped. spec is copied.
 *
 * Returns IH_OK, IH_MEMORY or IH_DEVICE.
 */
enum ih_status ih_lane_begin(struct ih_lane *lane, const struct ih_count_spec *spec,
                             struct ih_error *err);

/*
 * Hands out a buffer for the next pixels.
 *
 * min_bytes     at least this large (one row); the backend decides how much larger it is
 * *pixels       uint8 [*size_bytes], owned by the lane, to be filled before ih_lane_count
 *
 * Returns IH_OK, IH_MEMORY, IH_DEVICE, or why the device did not start.
 */
enum ih_status ih_lane_band(struct ih_lane *lane, size_t min_bytes, uint8_t **pixels,
                            size_t *size_bytes, struct ih_error *err);

/*
 * Counts the pixels of the buffer handed out last. They need not be counted when it returns: the
 * buffer is the lane's, and an error may show in a later call.
 *
 * n_pixels   interleaved, spec.n_channels bytes each, from the buffer's start
 */
enum ih_status ih_lane_count(struct ih_lane *lane, size_t n_pixels, struct ih_error *err);

/* Whether the image that has begun, of three channels, may come as planes: not while it is unknown
 * who counts. */
bool ih_lane_takes_planes(const struct ih_lane *lane);

/* The same as ih_lane_count. planes: within the buffer handed out last; copied. */
enum ih_status ih_lane_count_planes(struct ih_lane *lane, const struct ih_planes *planes,
                                    struct ih_error *err);

/*
 * Ends the image and gives its counts.
 *
 * out        overwritten: all planes, sums and joint clip counts
 * *kernel    static name of what counted
 *
 * Returns IH_OK, IH_DEVICE, or why the device did not start.
 */
enum ih_status ih_lane_end(struct ih_lane *lane, struct ih_histogram *out, const char **kernel,
                           struct ih_error *err);

#endif
