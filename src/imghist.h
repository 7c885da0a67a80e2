/*
 * libimghist: exact 256-bin histograms of images, counted on the GPU or on the processor.
 *
 *     a context says who counts and how
 *     a file, bytes, or pixels in host memory   -- ih_count_... ------------------> counts
 *     pixels in the memory of a GPU             -- ih_pending_count, _finish -----> counts
 *     counts                                    -- bins, statistics, sums of counts
 *
 * What holds everywhere
 *
 * - Counts are exact integers. The same pixels give the same counts on every device. Values are the
 *   stored ones, brought to 8 bits, without colour profiles, gamma or rotation: imghist(1),
 *   CHANNELS, has each rule.
 * - A call that can fail returns IH_OK or why not, and then fills the caller's ih_error (NULL is
 *   allowed). What it should have made is then untouched, counts are empty.
 * - The library prints nothing, ends nothing, reads no environment (the CUDA driver reads its own),
 *   touches neither locale nor signal handlers, and leaves a thread's current CUDA device as it is.
 *   While GPUs start it has a thread for each, with all signals blocked.
 * - Files are decoded in the calling process, and what decodes HEIC, AVIF and JPEG XL keeps to less
 *   than that: about damage it may write to standard error, it may have threads while it decodes,
 *   and where memory runs out it may end the process. The program imghist decodes the formats whose
 *   libraries are least hardened in processes without rights: for files of strangers, run that.
 * - close(NULL) is allowed. Other pointers are not NULL unless it is said that they may be.
 * - What is opened from a context is closed before it; counts may outlive it.
 *
 * Threads. A context may be used by any number of threads at once: each call takes a lane of its
 * own to the device. Contexts share nothing. Counts and pendings are used by one thread at a time;
 * counts that nobody changes may be read by many. Nothing survives a fork() in the child.
 *
 * Binary compatibility. Objects are opaque. Structs that grow are passed with their size: new
 * fields come last, the library looks at no more than the caller knows of, and zero always is the
 * default; so set them to zero first, `struct ih_settings s = {0}`. Codes and constants keep their
 * values. The soname changes where a program would have to be compiled anew.
 *
 * Names begin with ih_ and IH_, as in all of imghist. Nothing but the functions below is visible in
 * libimghist.so and libimghist.a, so no other ih_ name can meet one of yours. For the same reason
 * this is where imghist itself has its status codes from: there is one list of them.
 *
 * Examples: a file, and a buffer in the memory of a GPU. Build with
 * `cc count_file.c $(pkg-config --cflags --libs libimghist)`.
 *
 * example count_file.c:
 *     #include <imghist.h>
 *     #include <inttypes.h>
 *     #include <stdio.h>
 *
 *     int main(int argc, char **argv)
 *     {
 *         struct ih_context *context = NULL;
 *         struct ih_counts *counts = NULL;
 *         struct ih_error err;
 *         struct ih_stats luma;
 *         int code = 1;
 *         if (argc == 2 && ih_context_open(NULL, 0, &context, &err) == IH_OK &&
 *             ih_counts_open(&counts, &err) == IH_OK &&
 *             ih_count_file(context, argv[1], counts, &err) == IH_OK &&
 *             ih_counts_stats(counts, IH_LUMA, &luma, sizeof luma, &err) == IH_OK) {
 *             printf("%" PRIu64 " pixels, mean luma %.3f\n", luma.count, luma.mean);
 *             code = 0;
 *         } else if (argc == 2) {
 *             fprintf(stderr, "%s: %s\n", argv[1], err.message);
 *         }
 *         ih_counts_close(counts);
 *         ih_context_close(context);
 *         return code;
 *     }
 * end of example
 *
 * example count_device.c:
 *     #include <cuda_runtime_api.h>
 *     #include <imghist.h>
 *     #include <stdio.h>
 *
 *     // Counts what work enqueued before on the stream leaves in d_rgb; waits for nothing else.
 *     int count_device(struct ih_context *context, const void *d_rgb, unsigned width,
 *                      unsigned height, size_t pitch_bytes, cudaStream_t stream)
 *     {
 *         struct ih_pixels rgb = {d_rgb, width, height, (ptrdiff_t)pitch_bytes, 3};
 *         struct ih_pending *pending = NULL;
 *         struct ih_counts *counts = NULL;
 *         struct ih_error err;
 *         int is_done = ih_pending_open(context, IH_GPU_CURRENT, &pending, &err) == IH_OK &&
 *                       ih_pending_count(pending, &rgb, stream, &err) == IH_OK &&
 *                       ih_counts_open(&counts, &err) == IH_OK &&
 *                       ih_pending_finish(pending, counts, &err) == IH_OK;
 *         if (is_done)
 *             printf("%llu white\n", (unsigned long long)ih_counts_bins(counts, IH_LUMA)[255]);
 *         else
 *             fprintf(stderr, "%s\n", err.message);
 *         ih_counts_close(counts);
 *         ih_pending_close(pending);
 *         return is_done;
 *     }
 * end of example
 */
#ifndef IMGHIST_H
#define IMGHIST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define IH_PUBLIC __attribute__((visibility("default")))
#else
#define IH_PUBLIC
#endif

#define IH_VERSION "0.1.0" /* of this header; ih_version() is the library's */

/* ---- words ---- */

enum ih_status {
    IH_OK = 0,
    IH_USAGE,       /* the caller asked for something that makes no sense */
    IH_UNAVAILABLE, /* a device that this machine or this build does not have */
    IH_IO,          /* reading or writing failed; the message ends in the system's reason */
    IH_UNKNOWN,     /* no decoder knows these bytes */
    IH_CORRUPT,     /* damaged or cut short */
    IH_UNSUPPORTED, /* a file of a kind we do not decode, or whose library is not here */
    IH_LIMIT,       /* larger than a limit allows */
    IH_MEMORY,      /* the system has no more memory */
    IH_DEVICE,      /* the GPU or its driver failed */
    IH_CONFLICT     /* an input is also the file that output would replace */
};

enum { IH_MESSAGE_MAX = 240 }; /* bytes, with the final NUL; longer messages are cut */

/* The setting that a file exceeds, with status IH_LIMIT. */
enum ih_limit {
    IH_LIMIT_NONE = 0,   /* no setting raises the limit, or it is another error */
    IH_LIMIT_MAX_PIXELS, /* ih_settings.max_pixels */
    IH_LIMIT_MAX_MEMORY  /* ih_settings.max_memory */
};

/* Owned by the caller. Holds no pointers, so it can be copied and kept. */
struct ih_error {
    enum ih_status status;
    char message[IH_MESSAGE_MAX]; /* "what: why", without the path and without a newline */
    enum ih_limit limit;
    uint64_t limit_value; /* pixels or bytes; 0 with IH_LIMIT_NONE */
};

/*
 * Planes: the stored channels (gray; gray alpha; red green blue; red green blue alpha) and luma,
 * which is computed from each pixel and has the same index whatever the number of channels.
 */
enum {
    IH_BINS = 256,
    IH_CHANNELS_MAX = 4,
    IH_LUMA = IH_CHANNELS_MAX,
    IH_PLANES = IH_CHANNELS_MAX + 1
};

enum { IH_PERCENTILES = 7 }; /* 1 5 25 50 75 95 99 */

/* Statistics of one plane, of the pixels that it counts. Without pixels the real numbers are NaN
 * and the integers 0. */
struct ih_stats {
    uint64_t count, sum;
    double mean, stddev;                 /* of the 8-bit values; population */
    unsigned min, max;                   /* least and greatest value that occurs */
    unsigned percentile[IH_PERCENTILES]; /* least value whose cumulative count is >= p * count */
    double entropy;                      /* bits a pixel, 0 to 8 */
    uint64_t clip_low, clip_high;        /* pixels */
};

/* "0.1.0"; static. */
IH_PUBLIC const char *ih_version(void);

/* What a status means, in a few words: "damaged or cut short"; static, never NULL. */
IH_PUBLIC const char *ih_status_text(enum ih_status status);

/* ---- a context: who counts, and how ---- */

struct ih_context;

/* All zero is the default. Strings are borrowed for the call. */
struct ih_settings {
    const char *device;    /* "auto" (default): the GPU where a usable one is, else the processor,
                              which also counts until the GPU has started; "cpu", "cuda", "cuda:1",
                              "cuda:0,1" */
    const char *kernel;    /* one kernel by name; default: the device's best */
    const char *luma;      /* weights of the luma plane: "bt709" (default), ITU-R BT.709-6:
                              (13933 R + 46871 G + 4732 B + 32768) >> 16; or "bt601", BT.601-7:
                              (19595 R + 38470 G + 7471 B + 32768) >> 16. Gray's is the gray */
    unsigned clip_low;     /* values at or below it count as clipped; default 0 */
    unsigned clip_high;    /* values at or above it; 0 stands for 255 */
    uint64_t max_pixels;   /* files that claim more are refused; 0 stands for 4 Gi */
    uint64_t max_memory;   /* bytes that files which must be held whole take together, over all
                              threads: they wait for each other; 0: no limit */
    unsigned raw_channels; /* files are headerless interleaved samples of 1 to 4 channels; 0: told
                              by content */
    unsigned n_threads;    /* that will count at once: so many GPUs at most are started; 0 stands
                              for 1. More threads may count all the same */
    const char *alpha;     /* "count" (default): alpha is a channel like others; "skip-transparent":
                              and pixels whose alpha is 0 are not counted, in no plane */
};

/*
 * Opens a context. A GPU starts in the background.
 *
 * settings     NULL: the defaults
 * size_bytes   sizeof *settings, as the caller was compiled; 0 with NULL
 * *context     owned by the caller, released with ih_context_close
 *
 * Returns IH_OK, IH_USAGE (settings that make no sense), IH_UNAVAILABLE (a device that this build
 * does not have; whether the machine has it, ih_context_wait says) or IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_context_open(const struct ih_settings *settings, size_t size_bytes,
                                         struct ih_context **context, struct ih_error *err);

/* Waits until the device has started. Counting does so itself, unless the processor counts until
 * then. Returns IH_OK or IH_UNAVAILABLE. */
IH_PUBLIC enum ih_status ih_context_wait(struct ih_context *context, struct ih_error *err);

/* Who counts, "cpu" or "cuda:0 NVIDIA H100"; waits for the start; NULL where there is no device.
 * Lives as long as the context. */
IH_PUBLIC const char *ih_context_device(struct ih_context *context);

IH_PUBLIC void ih_context_close(struct ih_context *context);

/* ---- counts: what comes out ---- */

struct ih_counts;

/* What was counted. Strings are static, and "" where there is nothing to say. */
struct ih_summary {
    uint64_t n_images; /* added up in it; 0: empty */
    uint64_t n_pixels; /* counted: of one image width * height, less what skip-transparent skips */
    uint64_t width, height;                        /* 0 of more than one image */
    unsigned n_channels;                           /* 0 to 4 */
    unsigned source_depth;                         /* bits a sample in the file; 8 of pixels; 0 of
                                                      more than one image */
    const char *format;                            /* "png"; "" of pixels */
    const char *decoder;                           /* library and version; "" of pixels */
    const char *kernel;                            /* what counted, "replicated" */
    const char *luma;                              /* "bt709" */
    unsigned clip_low, clip_high;                  /* as they were set */
    uint64_t any_low, any_high, all_low, all_high; /* pixels of which any, or all, colour channels
                                                      are clipped */
    double mean_luminance; /* linear-light Y of CIE 1931 for sRGB, IEC 61966-2-1, 0 to 1; NaN
                              without pixels */
    const char *alpha;     /* "count" or "skip-transparent", as it was set */
};

/* Empty counts; *counts is owned by the caller. IH_OK or IH_MEMORY. */
IH_PUBLIC enum ih_status ih_counts_open(struct ih_counts **counts, struct ih_error *err);
IH_PUBLIC void ih_counts_close(struct ih_counts *counts);
IH_PUBLIC void ih_counts_clear(struct ih_counts *counts);

/*
 * Adds other to counts; the order plays no part. Empty counts become a copy. Where gray meets
 * colour, a gray pixel counts as R = G = B. Alpha counts only the pixels of images that have one.
 *
 * Returns IH_OK; IH_USAGE where luma, alpha or clip limits differ, or IH_LIMIT where a sum would
 * not fit 64 bits: then counts are as they were.
 */
IH_PUBLIC enum ih_status ih_counts_add(struct ih_counts *counts, const struct ih_counts *other,
                                       struct ih_error *err);

/* What was counted, into the caller's *summary. size_bytes: sizeof *summary. */
IH_PUBLIC void ih_counts_summary(const struct ih_counts *counts, struct ih_summary *summary,
                                 size_t size_bytes);

/* "gray", "red", "green", "blue", "alpha", "luma"; static. NULL where counts have no such plane. */
IH_PUBLIC const char *ih_counts_plane(const struct ih_counts *counts, unsigned plane);

/* uint64 [IH_BINS], pixels of each value; NULL where counts have no such plane. Valid until counts
 * change or are closed. */
IH_PUBLIC const uint64_t *ih_counts_bins(const struct ih_counts *counts, unsigned plane);

/* Statistics of one plane, into the caller's *stats. size_bytes: sizeof *stats. IH_OK, or IH_USAGE
 * where counts have no such plane. */
IH_PUBLIC enum ih_status ih_counts_stats(const struct ih_counts *counts, unsigned plane,
                                         struct ih_stats *stats, size_t size_bytes,
                                         struct ih_error *err);

/* ---- counting what the host has ---- */

/*
 * Counts an image file, at its first frame. counts are overwritten.
 *
 * path   borrowed for the call; whatever can be read from its start to its end, a pipe too
 *
 * Returns IH_OK; IH_IO, IH_UNKNOWN, IH_CORRUPT, IH_UNSUPPORTED, IH_LIMIT, IH_MEMORY about the file;
 * IH_UNAVAILABLE or IH_DEVICE about who counts. Where damage is found nothing is counted.
 */
IH_PUBLIC enum ih_status ih_count_file(struct ih_context *context, const char *path,
                                       struct ih_counts *counts, struct ih_error *err);

/* The same for the bytes of an image file: uint8 [size_bytes], borrowed for the call; NULL stands
 * for an empty one. */
IH_PUBLIC enum ih_status ih_count_memory(struct ih_context *context, const void *bytes,
                                         size_t size_bytes, struct ih_counts *counts,
                                         struct ih_error *err);

/* Pixels of 8 bits a sample, interleaved. This struct never changes. */
struct ih_pixels {
    const void *data;       /* the first row; any alignment */
    uint64_t width, height; /* pixels; 0 is allowed */
    ptrdiff_t stride_bytes; /* from a row to the next: at least a row's bytes, or negative (the next
                               row lies before); 0: rows follow each other */
    unsigned n_channels;    /* 1 gray, 2 gray alpha, 3 RGB, 4 RGBA */
};

/* Counts pixels in host memory, borrowed for the call. max_pixels is about files only. Returns
 * IH_OK; IH_USAGE for pixels that cannot be; IH_MEMORY, IH_UNAVAILABLE or IH_DEVICE. */
IH_PUBLIC enum ih_status ih_count_pixels(struct ih_context *context, const struct ih_pixels *pixels,
                                         struct ih_counts *counts, struct ih_error *err);

/* ---- counting what a GPU has ---- */

struct ih_pending;

enum { IH_GPU_CURRENT = -1 };

/*
 * Opens a place for counts that are on their way: memory on the GPU and in the host, an event. May
 * wait for the GPU, so open it once and use it again and again. Whatever device the context has, it
 * is the GPU of the pixels that counts, with the context's kernel where that is one of a GPU, luma
 * and clip limits. (Skipping transparent pixels takes another pass than the kernels', so
 * ih_pending_count refuses pixels with alpha where the context is to.)
 *
 * gpu        CUDA's ordinal, or IH_GPU_CURRENT: the calling thread's current one
 * *pending   owned by the caller, released with ih_pending_close, which waits for what is enqueued
 *
 * Returns IH_OK, IH_UNAVAILABLE (no such GPU, or a build without CUDA), IH_DEVICE or IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_pending_open(struct ih_context *context, int gpu,
                                         struct ih_pending **pending, struct ih_error *err);

/*
 * Enqueues counting on the caller's stream and returns: no pixel is copied, nothing waited for,
 * nothing allocated. The pixels must stay until the stream has passed this point. Rows without
 * gaps run at the speed of the memory, rows with gaps slower.
 *
 * pixels   data is an address in the memory of the pending's GPU
 * stream   a cudaStream_t of that GPU (or CUstream); NULL: its default stream
 *
 * Returns IH_OK; IH_USAGE where the last count has not been finished, or for pixels that cannot be,
 * are not that GPU's, or have alpha while transparent ones are to be skipped; IH_DEVICE.
 */
IH_PUBLIC enum ih_status ih_pending_count(struct ih_pending *pending,
                                          const struct ih_pixels *pixels, void *stream,
                                          struct ih_error *err);

/* Waits until what ih_pending_count enqueued is done, and no longer; counts are overwritten. The
 * pending is free again, whatever comes out. Returns IH_OK, IH_USAGE (nothing was enqueued) or
 * IH_DEVICE. */
IH_PUBLIC enum ih_status ih_pending_finish(struct ih_pending *pending, struct ih_counts *counts,
                                           struct ih_error *err);

IH_PUBLIC void ih_pending_close(struct ih_pending *pending);

#ifdef __cplusplus
}
#endif

#endif
