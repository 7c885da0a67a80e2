/*
 * Backends, devices and lanes: a stripe of pixels goes in, a histogram comes out.
 *
 * - A backend is one way to count, "cpu" or "cuda": a vtable in one file plus a line in
 *   backends.def. It has units: one per GPU; the whole CPU is one unit.
 * - A device is a backend that has been chosen, with one or more units started.
 * - A lane is one worker's access to the device: for a GPU, a stream with its buffers. Lanes are
 *   assigned to the units in turn and run at the same time.
 *
 * Starting a GPU takes as long as decoding many photos, so a device starts in a thread of its own.
 * Until then:
 *
 * - With --device=auto the CPU counts, as the stand-in: each lane moves to the GPU with its first
 *   image after the start. A run that ends soon starts no GPU at all.
 * - If only a GPU may count, the lane keeps filled stripes in plain memory and hands them over
 * later.
 */
#ifndef IH_DEVICE_BACKEND_H
#define IH_DEVICE_BACKEND_H

#include "histogram/histogram.h"

struct ih_backend_options {
    const char *kernel;    /* NULL: the backend's best for each number of channels; else by name */
    unsigned n_idle_cores; /* cores that no worker uses: the CPU backend may count on them */
};

/* A kernel that --kernel can name. why: for --list. */
struct ih_kernel_entry {
    const char *name;
    const char *why;
};

struct ih_backend {
    const char *name;                      /* "cpu" */
    const struct ih_kernel_entry *kernels; /* the best first; name NULL at the end */

    /* How many units this machine has: the GPUs that CUDA shows, or one CPU. Returns IH_OK with at
     * least 1, or IH_UNAVAILABLE with the reason. */
    enum ih_status (*n_units)(int *n, struct ih_error *err);

    /*
     * Starts one unit.
     *
     * ordinal  of the unit, from 0
     * *state   owned by the caller, released with stop; shared by all lanes of the unit
     *
     * Returns IH_OK, IH_UNAVAILABLE, IH_DEVICE, IH_MEMORY.
     * Threads: any; several units may start at the same time.
     */
    enum ih_status (*start)(const struct ih_backend_options *options, int ordinal, void **state,
                            struct ih_error *err);
    void (*stop)(void *state);
    /* "cpu", or name, ordinal and model, "cuda:0 NVIDIA H100". Valid as long as the state. */
    const char *(*describe)(void *state);

    enum ih_status (*lane_open)(void *state, void **lane, struct ih_error *err);
    void (*lane_close)(void *lane);

    /* As the ih_lane_ calls of the same name. */
    enum ih_status (*begin)(void *lane, const struct ih_count_spec *spec, struct ih_error *err);
    void (*make_keys)(void *lane); /* NULL: ih_lane_end does */
    enum ih_status (*stripe)(void *lane, size_t min_bytes, uint8_t **pixels, size_t *size_bytes,
                             struct ih_error *err);
    enum ih_status (*count)(void *lane, size_t n_pixels, struct ih_error *err);
    /* NULL: pixels are counted only in stripes. */
    void (*count_here)(void *lane, const uint8_t *const samples[], size_t n_pixels, size_t n_rows,
                       ptrdiff_t row_stride_bytes);
    bool (*takes_native)(void *state); /* samples of 16 bits; NULL: all units do */
    /* Both NULL if the backend counts only pixels. */
    bool (*takes_planes)(void *state);
    enum ih_status (*count_planes)(void *lane, const struct ih_planes *planes,
                                   struct ih_error *err);
    enum ih_status (*end)(void *lane, struct ih_histogram *out, const char **kernel,
                          struct ih_error *err);
};

#define BACKEND(name) extern const struct ih_backend ih_backend_##name;
#include "device/backends.def"

/* All backends of this build, in the order that `auto` tries them, NULL at the end. */
extern const struct ih_backend *const ih_backends[];

/* ---- a device ---- */

struct ih_device;
struct ih_lane;

enum { IH_UNITS_MAX = 64 }; /* GPUs of one device; machines have up to 16 */
enum { IH_LANES_OF_UNIT = 16 };

struct ih_device_options {
    const char *backend; /* NULL: auto, the first that starts; else by name */
    struct ih_backend_options with;
    int ordinals[IH_UNITS_MAX]; /* units to use, each once; an error if one does not start */
    unsigned n_ordinals;        /* 0: all units that start */
    unsigned n_lanes; /* open at the same time; 0: one. A unit starts for each IH_LANES_OF_UNIT, or
                       * all that are named, up to n_lanes */
    const struct ih_backend *const *backends; /* NULL: ih_backends; tests have others */
    unsigned start_after_ms; /* delay while the stand-in counts; 0: a default; tests have others */
};

/*
 * Opens a device, released with ih_device_close, and returns at once. The start itself runs in a
 * thread, after a delay if a stand-in counts. ih_device_wait tells whether it succeeded.
 *
 * Returns IH_OK, IH_USAGE (no such backend or kernel in this build) or IH_MEMORY.
 */
enum ih_status ih_device_open(const struct ih_device_options *options, struct ih_device **device,
                              struct ih_error *err);

/* Ends the delay, as the run is long enough. Returns at once. Threads: any. */
void ih_device_need(struct ih_device *device);

/* Whether the start has begun, and perhaps ended. Threads: any. */
bool ih_device_has_begun(struct ih_device *device);

/* The backend of a device that has started. NULL: it has not, or could not. Threads: any. */
const struct ih_backend *ih_device_backend(struct ih_device *device);

/* Waits until the device has started. Returns IH_OK or IH_UNAVAILABLE with the reason; always the
 * same result. Threads: any. */
enum ih_status ih_device_wait(struct ih_device *device, struct ih_error *err);

/* Waits until it is known whether images can be counted. Returns IH_OK at once if there is a
 * stand-in, else as ih_device_wait. */
enum ih_status ih_device_wait_usable(struct ih_device *device, struct ih_error *err);

/* Cancels a start that has not begun. Returns true if a start is running, or if JPEG
 * sessions were left running. A process that ends now may then call _exit instead of
 * ih_device_close, which would wait for them. */
bool ih_device_cancel_start(struct ih_device *device);

/* "cpu", "cuda:0 NVIDIA H100" or "cuda:0,1 2 x NVIDIA H100"; and why an earlier backend or unit was
 * not used, "" if none was tried. Valid from ih_device_wait that gave IH_OK to ih_device_close. */
const char *ih_device_description(const struct ih_device *device);
const char *ih_device_fallback_reason(const struct ih_device *device);

/* Waits for a start that has begun. All lanes must be closed. NULL is allowed. */
void ih_device_close(struct ih_device *device);

/* ---- a lane; one call at a time ---- */

enum ih_status ih_lane_open(struct ih_device *device, struct ih_lane **lane, struct ih_error *err);
void ih_lane_close(struct ih_lane *lane); /* NULL is allowed */

/* The unit that counted the last image, "cuda:1 NVIDIA H100"; valid as long as the device. Call it
 * between an ih_lane_end that gave IH_OK and the next ih_lane_begin. */
const char *ih_lane_description(const struct ih_lane *lane);

/* Starts an image and drops an unfinished one. spec is copied. IH_OK, IH_MEMORY or IH_DEVICE. */
enum ih_status ih_lane_begin(struct ih_lane *lane, const struct ih_count_spec *spec,
                             struct ih_error *err);

/*
 * Called first for an image that has begun, of about n_pixels. Returns whether the lane makes keys
 * of samples of 16 bits: they come as they are stored. Else the caller makes keys of samples.
 */
bool ih_lane_make_keys(struct ih_lane *lane, uint64_t n_pixels);

/*
 * Hands out a buffer for the next pixels.
 *
 * min_bytes     least size: one row; the backend chooses the actual size
 * *pixels       uint8 [*size_bytes], owned by the lane, to be filled before ih_lane_count
 *
 * Returns IH_OK, IH_MEMORY, IH_DEVICE, or the error of ih_device_wait.
 */
enum ih_status ih_lane_stripe(struct ih_lane *lane, size_t min_bytes, uint8_t **pixels,
                              size_t *size_bytes, struct ih_error *err);

/*
 * Counts the pixels in the last buffer. This may go on after the call, so the caller must not touch
 * the buffer again, and an error may show in a later call.
 *
 * n_pixels   interleaved, ih_pixel_bytes(spec) each, from the buffer's start
 */
enum ih_status ih_lane_count(struct ih_lane *lane, size_t n_pixels, struct ih_error *err);

/* Whether ih_lane_count_here works. It counts n_rows rows of n_pixels where they lie, before it
 * returns.
 *
 * samples   [IH_PIXEL_CHANNELS_MAX], of the first row: [0] alone: interleaved pixels; or, of 3 or 4
 *           channels, each channel, uint8 [n_pixels]; NULL after the last
 */
bool ih_lane_counts_here(const struct ih_lane *lane);
void ih_lane_count_here(struct ih_lane *lane, const uint8_t *const samples[], size_t n_pixels,
                        size_t n_rows, ptrdiff_t row_stride_bytes);

/* Whether the current image, of three channels, may come as planes. */
bool ih_lane_takes_planes(const struct ih_lane *lane);

/* As ih_lane_count, for planes in the last buffer. planes is copied. */
enum ih_status ih_lane_count_planes(struct ih_lane *lane, const struct ih_planes *planes,
                                    struct ih_error *err);

/*
 * Ends the image and gives its counts.
 *
 * out        overwritten, unless it fails: bins, sums, and counts clipped in any and in all
 *            channels; the caller owns it
 * *kernel    static name of the kernel
 *
 * Returns IH_OK, IH_DEVICE, IH_MEMORY, or the error of ih_device_wait.
 */
enum ih_status ih_lane_end(struct ih_lane *lane, struct ih_histogram *out, const char **kernel,
                           struct ih_error *err);

#endif
