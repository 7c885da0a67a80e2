/* SPDX-License-Identifier: MIT */
/*
 * libimghist: exact histograms of images, with 256 bins or one for each value, counted on a GPU or
 * on the CPU.
 *
 *     ih_context   the device that counts, and the settings
 *     ih_count_*   counts a file, bytes, a stream, or pixels in host memory
 *     ih_scan      counts many: files, directories, archives, result files, pixels, on all cores
 *     ih_pending   counts pixels in the memory of a GPU, on the caller's CUDA stream
 *     ih_batch     counts many images of host or GPU memory in one call, into plain arrays
 *     ih_counts    the result: bins and statistics; results can be added up
 *     ih_chart     draws counts as a picture
 *
 * Rules for all functions
 *
 * - Counts are exact integers, the same on every device. Values are the stored ones, scaled to 8
 *   bits, without colour profiles, gamma or rotation: see CHANNELS in imghist-formats(5).
 * - A call that can fail returns IH_OK or an error code. On an error it fills the caller's struct
 *   ih_error (NULL is allowed), leaves a returned object unset and a result empty.
 * - The library never prints, exits or reads the environment (the CUDA driver reads its own). It
 *   touches neither locale nor signal handlers and restores the thread's current CUDA device. The
 *   threads that it starts (for a GPU, in ih_batch_count, ih_count_array and scans) block all
 *   signals.
 * - Files are decoded in the calling process. The libraries for HEIC, AVIF and JPEG XL may write
 *   to standard error and start threads. When memory runs out, those and the ones for JPEG 2000,
 *   WebP and TIFF may end the process, or call the file damaged. For untrusted files run the
 *   program imghist, which decodes the riskier formats in sandboxed processes.
 * - Pointers must not be NULL unless their description allows it. close(NULL) is allowed.
 * - Close everything opened from a context before the context. Counts may outlive it.
 *
 * Threads. Any number of threads may use one context at once. Contexts share nothing. One thread at
 * a time may use a counts, scan or pending object, but many may read counts that no thread changes.
 * After fork() the child must not use any object.
 *
 * Binary compatibility. Objects are opaque. Structs that may grow are passed with their size: new
 * fields come last, the library accesses only the fields that the caller knows, and zero is always
 * the default. So initialize them with zero: `struct ih_settings s = {0}`. Codes and constants keep
 * their values. The soname changes when programs have to be recompiled.
 *
 * All names begin with ih_ or IH_. libimghist.so and libimghist.a export only the functions below,
 * so names in your program cannot collide with names inside the library.
 *
 * Examples. The first is a program: `cc count_file.c $(pkg-config --cflags --libs libimghist)`. The
 * others are functions; those of devices and tensors are for programs that use CUDA.
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
 * example scan_means.c:
 *     #include <imghist.h>
 *     #include <stdio.h>
 *
 *     // Counts files and directories on all cores and prints the mean luma of each image.
 *     int main(int argc, char **argv)
 *     {
 *         struct ih_scan_settings settings = {0};
 *         struct ih_context *context = NULL;
 *         struct ih_scan *scan = NULL;
 *         struct ih_counts *counts = NULL;
 *         struct ih_error err = {IH_OK, "", IH_LIMIT_NONE, 0};
 *         struct ih_stats luma;
 *         const struct ih_item *item;
 *         settings.paths = (const char *const *)argv + 1;
 *         settings.n_paths = (size_t)argc - 1;
 *         if (ih_context_open(NULL, 0, &context, &err) == IH_OK &&
 *             ih_counts_open(&counts, &err) == IH_OK)
 *             ih_scan_open(context, &settings, sizeof settings, &scan, &err);
 *         while (scan && ih_scan_next(scan, &item, &err) == IH_OK) {
 *             if (item->kind == IH_ITEM_FAILURE)
 *                 fprintf(stderr, "%s: %s\n", item->path, item->error.message);
 *             else if (ih_item_counts(item, counts, NULL) == IH_OK &&
 *                      ih_counts_stats(counts, IH_LUMA, &luma, sizeof luma, NULL) == IH_OK)
 *                 printf("%s: mean luma %.3f\n", item->path, luma.mean);
 *         }
 *         if (err.status != IH_END)
 *             fprintf(stderr, "%s\n", err.message);
 *         ih_scan_close(scan);
 *         ih_counts_close(counts);
 *         ih_context_close(context);
 *         return err.status != IH_END;
 *     }
 * end of example
 *
 * example draw_chart.c:
 *     #include <imghist.h>
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *
 *     // Writes a chart of the counts. The name tells the format: "chart.png", "chart.svg".
 *     int draw_chart(const struct ih_counts *counts, const char *file_name)
 *     {
 *         struct ih_chart_settings look = {0};
 *         struct ih_error err;
 *         void *bytes = NULL;
 *         size_t n_bytes = 0;
 *         look.file_name = file_name;
 *         look.theme = "light";
 *         if (ih_chart_write(counts, &look, sizeof look, &bytes, &n_bytes, &err) != IH_OK) {
 *             fprintf(stderr, "%s: %s\n", file_name, err.message);
 *             return 0;
 *         }
 *         FILE *file = fopen(file_name, "wb");
 *         int is_done = file && fwrite(bytes, 1, n_bytes, file) == n_bytes;
 *         is_done = file && fclose(file) == 0 && is_done;
 *         free(bytes);
 *         return is_done;
 *     }
 * end of example
 *
 * example count_device.c:
 *     #include <cuda_runtime_api.h>
 *     #include <imghist.h>
 *     #include <stdio.h>
 *
 *     // Counts the pixels that earlier work on the stream writes to d_rgb. Waits only for them.
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
 *
 * example count_tensor.c:
 *     #include <cuda_runtime_api.h>
 *     #include <imghist.h>
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     // Enqueues a histogram of each image and channel of a tensor, uint8 [n][3][height][width].
 *     // d_bins: uint32 [n][4][256] in GPU memory: red, green, blue, luma. Waits for nothing.
 *     int count_tensor(struct ih_context *context, const uint8_t *d_nchw, unsigned n,
 *                      unsigned height, unsigned width, uint32_t *d_bins, cudaStream_t stream)
 *     {
 *         const ptrdiff_t plane = (ptrdiff_t)width * height;
 *         struct ih_batch batch;
 *         struct ih_error err;
 *         memset(&batch, 0, sizeof batch);
 *         batch.size_bytes = sizeof batch;
 *         batch.n_images = n;
 *         batch.image_stride = 3 * plane;
 *         batch.image.data = d_nchw;
 *         batch.image.width = width;
 *         batch.image.height = height;
 *         batch.image.row_stride = width;
 *         batch.image.channel_stride = plane;
 *         batch.pixel_stride = 1;
 *         batch.n_channels = 3;
 *         if (ih_batch_enqueue(context, &batch, d_bins, NULL, stream, &err) == IH_OK)
 *             return 1;
 *         fprintf(stderr, "%s\n", err.message);
 *         return 0;
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

#define IH_VERSION "0.1.0"    /* of this header; ih_version() returns the version of the library */
#define IH_VERSION_NUMBER 100 /* the same for #if: 10000 * major + 100 * minor + patch */

/* ---- errors, planes, statistics ---- */

enum ih_status {
    IH_OK = 0,
    IH_USAGE,       /* invalid arguments or settings */
    IH_UNAVAILABLE, /* this machine or this build does not have the device */
    IH_IO,          /* reading or writing failed; the message has the system's reason, if any */
    IH_UNKNOWN,     /* not an image of a known format, or of one that is only recognised */
    IH_CORRUPT,     /* damaged or truncated */
    IH_UNSUPPORTED, /* a variant that is not decoded, or its library is missing */
    IH_LIMIT,       /* exceeds a limit */
    IH_MEMORY,      /* out of memory */
    IH_DEVICE,      /* the GPU or its driver failed */
    IH_CONFLICT,    /* an input is also the output file; the library never returns it */
    IH_END          /* of a scan: all items have been given */
};

/* The setting that accepts the file: it raises the limit if status is IH_LIMIT. */
enum ih_limit {
    IH_LIMIT_NONE = 0,   /* no setting does */
    IH_LIMIT_MAX_PIXELS, /* ih_settings.max_pixels */
    IH_LIMIT_MAX_MEMORY, /* ih_settings.max_memory */
    IH_LIMIT_LENIENT,    /* ih_settings.lenient; status is IH_CORRUPT */
    IH_LIMIT_TIMEOUT,    /* ih_settings.timeout */
    /* Status is IH_UNKNOWN: */
    IH_LIMIT_RAW_CHANNELS, /* ih_settings.raw_channels, if the file holds bare samples */
    IH_LIMIT_RAW_PREVIEW,  /* ih_settings.raw_preview, for camera raw files */
    IH_LIMIT_AXES          /* ih_settings.axes; status is IH_UNSUPPORTED */
};

enum { IH_MESSAGE_MAX = 240 }; /* bytes, with the final NUL; longer messages are cut */

/* Owned by the caller. Holds no pointers, so it can be copied and kept. */
struct ih_error {
    enum ih_status status;
    char message[IH_MESSAGE_MAX]; /* usually "what: why"; no path, no ASCII controls */
    enum ih_limit limit;
    uint64_t limit_value; /* of that setting: pixels, bytes, seconds; else 0 */
};

/* Planes of counts: the stored channels (gray; gray, alpha; red, green, blue; red, green, blue,
 * alpha; or bands), and luma. Luma is computed from each pixel and always has the same index.
 * Counts with the setting luma "none" lack it. */
enum {
    IH_BINS = 256,
    IH_CHANNELS_MAX = 4096,
    IH_LUMA = IH_CHANNELS_MAX,
    IH_PLANES_MAX = IH_CHANNELS_MAX + 1
};

/* Indices of ih_stats.percentile. */
enum { IH_P01, IH_P05, IH_P25, IH_MEDIAN, IH_P75, IH_P95, IH_P99, IH_PERCENTILES };

/* Statistics of one plane. Without pixels the real numbers are NaN and the integers 0. Skewness and
 * kurtosis are those of scipy.stats: biased, and Fisher's kurtosis, 0 for a normal distribution. */
struct ih_stats {
    uint64_t count;      /* pixels, without those counted apart */
    uint64_t sum;        /* of their values: 8 bits, or native; of signed integers as int64_t; 0 of
                            floats */
    double mean, stddev; /* of the values; population deviation */
    double min, max;     /* smallest and largest value that occurs */
    double percentile[IH_PERCENTILES]; /* smallest value with cumulative count >= p * count */
    double entropy;                    /* bits per pixel, 0 to 8; native: to 16 */
    uint64_t crushed, blown;           /* pixels at or beyond the lower, the upper clip limit */
    double skewness, kurtosis;         /* NaN for a single value */
    double mode;                       /* most frequent value, the smallest of several */
    double mode_share;                 /* its pixels, as a share of count */
    double otsu;       /* threshold of Otsu (1979): v <= otsu and v > otsu are as far apart as two
                          classes can be; the smallest of several; of a single value that value */
    uint64_t distinct; /* values that occur */
    double step;       /* greatest common divisor of their differences; 0 for a single value, and
                          of floats */
    uint64_t nan, positive_infinity, negative_infinity; /* floats that are counted apart */
    uint64_t nodata; /* pixels of the value that stands for no data, counted apart */
};

enum ih_field_kind {
    IH_FIELD_COUNT, /* uint64_t */
    IH_FIELD_VALUE, /* double, a value of samples, which says nothing without pixels */
    IH_FIELD_REAL   /* double, NaN without pixels */
};

/* A field of ih_stats, for programs that list all of them. */
struct ih_field {
    const char *key; /* "p99": its name in CSV, JSON and Python; static */
    unsigned kind;   /* enum ih_field_kind */
    size_t offset_bytes;
    const char *meaning; /* "sum of the 8-bit values"; static */
};

/* The fields of ih_stats in the order of CSV and JSON. After the last, the key is NULL. Static. */
IH_PUBLIC const struct ih_field *ih_stats_fields(void);

/* "0.1.0"; static. */
IH_PUBLIC const char *ih_version(void);

/* How many threads can run at once: CPU cores that the process may use. */
IH_PUBLIC unsigned ih_cores(void);

/* Whether a path has the name of an image in a format that some build of imghist reads. */
IH_PUBLIC int ih_is_image_name(const char *path);

/* Describes a status in a few words, such as "damaged or truncated". Static, never NULL. */
IH_PUBLIC const char *ih_status_text(enum ih_status status);

/* Irregularities of a file that leave its pixels certain, and what the counts of a sound file leave
 * out or hold; bits of ih_summary.warnings. */
enum ih_warning {
    IH_WARNING_HEADER_BYTES = 1, /* JPEG: extra bytes between the segments before the first scan */
    IH_WARNING_END_BYTES = 2,    /* JPEG: extra bytes before the end marker (EOI) */
    IH_WARNING_DATA_BYTES = 4,   /* JPEG, only if lenient: extra bytes before another marker */
    IH_WARNING_PROGRESSION = 8,  /* JPEG, only if lenient: irregular order of progressive scans */
    IH_WARNING_LAST_BITS = 16, /* JPEG, only if lenient: no scans of the coefficients' last bits */
    IH_WARNING_MORE_IMAGES = 32, /* only the first of several frames, pages or images was counted */
    IH_WARNING_EXTRA_SAMPLES = 64, /* pixels have further samples, which are no channel */
    IH_WARNING_MASKED = 128,       /* TIFF: pixels that a transparency mask hides count, too */
    IH_WARNING_NODATA = 256,       /* TIFF: so do pixels of the value that stands for no data */
    IH_WARNING_CELLS = 512,  /* camera raw: a row or column that fills no cell was not counted */
    IH_WARNING_LEVELS = 1024 /* the same: black is not below white, so neither is a clip limit */
};

/* Describes one warning, such as "extra bytes before the end marker". Static, never NULL. */
IH_PUBLIC const char *ih_warning_text(enum ih_warning warning);

/* What a file asks for when it is shown. Stored values are counted, so none of it is applied; bits
 * of ih_summary.not_applied. */
enum ih_not_applied {
    IH_NOT_APPLIED_ICC_PROFILE = 1,
    IH_NOT_APPLIED_GAMMA = 2,        /* PNG: other than that of sRGB */
    IH_NOT_APPLIED_COLOUR_SPACE = 4, /* code points (CICP) or an encoding other than sRGB */
    IH_NOT_APPLIED_ORIENTATION = 8   /* other than upright */
};

/* ---- contexts: the device and the settings ---- */

struct ih_context;

enum { IH_BINS_NATIVE = 1 }; /* of ih_settings.bins */

/* All zero is the default. Strings are borrowed during the call. */
struct ih_settings {
    const char *device;    /* "auto" (default): a usable GPU, else the CPU; the CPU counts in the
                              first seconds. Or "cpu", "cuda", "cuda:1", "cuda:0,1" */
    const char *kernel;    /* name of a kernel; default: the best of the device */
    const char *luma;      /* weights of luma. "bt709" (default), ITU-R BT.709-6:
                              (13933 R + 46871 G + 4732 B + 32768) >> 16. "bt601", BT.601-7:
                              (19595 R + 38470 G + 7471 B + 32768) >> 16. Of gray: its value.
                              "none": luma is not counted, and counts have no plane of it */
    unsigned clip_low;     /* values <= clip_low count as clipped; default 0 */
    unsigned clip_high;    /* values >= clip_high count as clipped; 0 means 255 */
    uint64_t max_pixels;   /* refuse files that claim more pixels; 0 means 4 Gi */
    uint64_t max_memory;   /* bytes that all threads together may use for files that must be held
                              in memory; such files wait for each other. Files that wait for more
                              come on top, at most as much again, and one for each thread that
                              reads a stream. 0: no limit */
    unsigned raw_channels; /* 1 to 4: files are interleaved samples of so many channels, without a
                              header; 0: the content tells the format */
    unsigned n_threads;    /* threads that will count at once; 0 means 1. A GPU is started for each
                              16, or all that device names, up to one for each thread. More
                              threads may still count */
    const char *alpha;     /* "count" (default): alpha is counted like other channels.
                              "skip-transparent": pixels with alpha 0 are not counted at all */
    unsigned lenient;      /* 1: also accept irregular JPEG files that libjpeg decodes alike, with
                              a warning; never invented pixels. See --lenient in imghist(1) */
    unsigned timeout;      /* seconds that reading and decoding a file may take, without waits for
                              pipes and max_memory and without time in a read function; checked
                              between stripes of pixels, since a format's library cannot be
                              interrupted. 0: no limit */
    unsigned raw_preview;  /* 1: count the largest JPEG preview of camera raw files */
    /* Not NULL: asked about every 50 ms by the thread of an ih_count function; a value other than 0
     * ends its call with IH_LIMIT. Scans have ih_scan_close instead. */
    int (*interrupt)(void *user);
    void *interrupt_user;
    /* 0 or 256: samples become 8-bit ones, with 256 bins. IH_BINS_NATIVE: samples of 9 to 16 bits
     * keep their values, with a bin for each value that they can have. Clip
     * limits are then native values, at most 65535, and clip_high 0 means the largest value of each
     * image; an image whose values do not reach the limits is refused. */
    unsigned bins;
    unsigned raw_sensor; /* 1: count the sensor's values of camera raw files, before demosaicing:
                            see --raw-sensor in imghist(1). Not with raw_preview */
    /* "-9999": samples of this stored value stand for no data. They are counted apart
     * (ih_stats.nodata), in no bin and no statistic, each channel for itself, but not of alpha.
     * "none": none do. Default: those that a file says (GDAL_NODATA, BLANK). Not in GPU memory. */
    const char *nodata;
    /* What the dimensions of NPY arrays are: "HWC", "CHW", "NHW", "NHWC" or "NCHW", with up to
     * IH_CHANNELS_MAX channels; of N images, the first is counted. "auto" (default): height and
     * width, and perhaps 1 to 4 channels. */
    const char *axes;
    /* "1,3-5": of each pixel, count only these channels, by their numbers in the file or array; see
     * --bands in imghist(1). NULL: all. Batches and pixels in GPU memory are IH_USAGE with it. */
    const char *bands;
};

/*
 * Opens a context. Returns at once; a GPU starts in the background.
 *
 * settings     NULL: the defaults
 * size_bytes   sizeof *settings in the caller; 0 with NULL
 * *context     owned by the caller; release it with ih_context_close
 *
 * Returns IH_OK, IH_USAGE (invalid settings), IH_UNAVAILABLE (the build does not have the device)
 * or IH_MEMORY. ih_context_wait reports whether the machine has the device.
 */
IH_PUBLIC enum ih_status ih_context_open(const struct ih_settings *settings, size_t size_bytes,
                                         struct ih_context **context, struct ih_error *err);

/* Waits until the device has started. Calls that count wait too, unless the CPU can count in the
 * meantime. Returns IH_OK or IH_UNAVAILABLE. */
IH_PUBLIC enum ih_status ih_context_wait(struct ih_context *context, struct ih_error *err);

/* Waits for the device and returns its name, "cpu" or "cuda:0 NVIDIA H100", which lives as long as
 * the context; NULL if the device could not start. */
IH_PUBLIC const char *ih_context_device(struct ih_context *context);

IH_PUBLIC void ih_context_close(struct ih_context *context);

/* ---- counts: the result ---- */

struct ih_counts;

/* Description of the counts. Strings are "" if they do not apply. They live until the counts are
 * changed or closed. */
struct ih_summary {
    uint64_t n_images; /* added up; 0: empty, or a total of failed inputs only */
    uint64_t n_pixels; /* counted pixels: without those that skip-transparent skips, and those of
                          other labels */
    uint64_t width, height;          /* of one image; 0 for sums */
    unsigned n_channels;             /* 0 to IH_CHANNELS_MAX */
    unsigned source_depth;           /* bits per sample in the file or array; 0 for sums */
    const char *format;              /* "png"; "" for pixels */
    const char *decoder;             /* library and version; "" for pixels */
    const char *kernel;              /* "replicated" */
    const char *luma;                /* "bt709"; "none" */
    unsigned clip_low, clip_high;    /* from the settings; 0, 0: signed samples have none */
    uint64_t crushed_any, blown_any; /* pixels with any colour channel at or beyond a limit */
    uint64_t crushed_all, blown_all; /* pixels with all colour channels so */
    double mean_luminance; /* 0 to 1: linear-light Y (CIE 1931) of sRGB, IEC 61966-2-1; NaN
                              without pixels */
    const char *alpha;     /* from the settings: "count" or "skip-transparent" */
    unsigned warnings;     /* set of enum ih_warning; 0 for sums */
    const char *version;   /* of the library that counted; "": empty, or versions differ */
    const char *reduction; /* how other depths became 8 bits: "round(v*255/max)", or
                              "round((v-64)*255/876)" with a range of 16-bit samples; "none" and
                              "clamp(v,64,940)" with native bins */
    const char *range;     /* of the file's samples: "full", "limited" if they were expanded to
                              full range, "" if not known */
    unsigned n_frames;     /* images in the file; 0: not known, pixels or sums */
    unsigned not_applied;  /* set of enum ih_not_applied, of any image */
    /* The smallest and largest colour sample in the file, of more than 8 bits, in any image; not
     * known if source_min > source_max. */
    unsigned source_min, source_max;
    uint64_t n_failed;            /* of a total: inputs that failed */
    const char *samples;          /* the type of the samples whose values the bins count: "uint8",
                                     "uint16", "int8", "int16", "float16", "bfloat16" */
    unsigned is_signed, is_float; /* 1: it has values below 0; it is one of floats */
    /* Of counts from a result file: the region and the mask that the program was given; "": none.
     * Counts of a label have the mask "labels", or what ih_scan_settings.labels says. */
    const char *region, *mask;
    unsigned has_label, label; /* 1: only pixels of this label are counted */
};

/* Opens empty counts. *counts is owned by the caller. Returns IH_OK or IH_MEMORY. */
IH_PUBLIC enum ih_status ih_counts_open(struct ih_counts **counts, struct ih_error *err);
IH_PUBLIC void ih_counts_close(struct ih_counts *counts);
IH_PUBLIC void ih_counts_clear(struct ih_counts *counts);

/*
 * Adds other to counts. The order of additions does not matter. Empty counts become a copy. In a
 * sum of gray and colour images a gray pixel counts as R = G = B; alpha counts only the pixels of
 * images with alpha.
 *
 * Returns IH_OK. Leaves counts unchanged and returns IH_USAGE if luma, alpha, clip limits, the
 * number of bins, the reduction of deeper samples, the region or the mask differ, or if only one of
 * them is of a label; IH_LIMIT if a sum might not fit 64 bits, or IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_counts_add(struct ih_counts *counts, const struct ih_counts *other,
                                       struct ih_error *err);

/* Fills *summary, size_bytes long. */
IH_PUBLIC void ih_counts_summary(const struct ih_counts *counts, struct ih_summary *summary,
                                 size_t size_bytes);

/* Static: "gray", "red", "green", "blue", "alpha" or "luma"; NULL if there is no such plane. */
IH_PUBLIC const char *ih_counts_plane(const struct ih_counts *counts, unsigned plane);

/* Returns uint64 [ih_counts_n_bins(counts)], the number of pixels with each value; NULL if there is
 * no such plane. Valid until counts are changed or closed. */
IH_PUBLIC const uint64_t *ih_counts_bins(const struct ih_counts *counts, unsigned plane);

/* The bins of each plane: 256, or the number of values that the samples can have, up to 65536, if
 * ih_settings.bins is IH_BINS_NATIVE and they have more than 8 bits. */
IH_PUBLIC unsigned ih_counts_n_bins(const struct ih_counts *counts);

/* Fills *stats, size_bytes long. Returns IH_OK, or IH_USAGE if there is no such plane. */
IH_PUBLIC enum ih_status ih_counts_stats(const struct ih_counts *counts, unsigned plane,
                                         struct ih_stats *stats, size_t size_bytes,
                                         struct ih_error *err);

/*
 * Finds a percentile of a plane: the smallest value that occurs whose cumulative count is at least
 * a share of the count.
 *
 * millionths   the share, in millionths of a percent: 99900000 for 99.9 %; at most 100000000
 * *value       set if the call succeeds
 *
 * Returns IH_OK, or IH_USAGE: no such plane, no pixels, or more than 100 %.
 */
IH_PUBLIC enum ih_status ih_counts_percentile(const struct ih_counts *counts, unsigned plane,
                                              uint32_t millionths, double *value,
                                              struct ih_error *err);

enum ih_value_type {
    IH_TYPE_NONE, /* there is no such value: a failed input has no width, a gray image no red */
    IH_TYPE_TEXT,
    IH_TYPE_INTEGER,
    IH_TYPE_REAL,
    IH_TYPE_OTHER /* an object or another value that only JSON has */
};

/* The value of a field. */
struct ih_value {
    enum ih_value_type type;
    int is_negative; /* the integer is below 0, by as much */
    uint64_t integer;
    double real; /* of integers too, rounded above 2^53 */
    char text[512];
};

/*
 * Computes a field of the counts by its name, as --fields of the program takes it: "width",
 * "red.p99.9", "luma.mad", "share_le_100", "fingerprint". The name of the file is not known here.
 *
 * sigma   number of deviations for "red.clipped_mean" and so on; 0: 3
 * value   filled, size_bytes long
 *
 * Returns IH_OK, IH_USAGE with what is wrong with the name or sigma, or IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_counts_field(const struct ih_counts *counts, const char *name,
                                         double sigma, struct ih_value *value, size_t size_bytes,
                                         struct ih_error *err);

/* A fingerprint of the bins of all planes and the number of pixels: equal for the same pixels in
 * any format, rotated by quarters and mirrored, if they were counted with the same settings. Equal
 * fingerprints mean equal histograms, not equal pictures. imghist-formats(5) defines it. 0: counts
 * of nothing. */
IH_PUBLIC uint64_t ih_counts_fingerprint(const struct ih_counts *counts);

/* ---- charts ---- */

/* The look of a chart. Zero is the default of every field; strings are borrowed during the call. */
struct ih_chart_settings {
    const char *file_name;  /* its ending tells the format, in any case: .png (default), .svg, .jpg,
                               .jpeg, .bmp, .tga. Nothing is written to it */
    unsigned width, height; /* pixels, 320 x 200 to 8192 x 8192; both 0: 1024 x 640 */
    const char *scale;      /* of the heights of the bars: "linear" (default), "log", "sqrt" */
    const char *theme;      /* "dark" (default), "light" */
    const char *title;      /* UTF-8; NULL: the last part of source, or "3 images together" */
    const char *source;     /* path of the counted image, recorded in PNG and SVG; NULL: "pixels" */
    const char *scale_y;    /* numbers beside the bars: "count" (default), "percent" of pixels */
};

/*
 * Draws counts as imghist --chart does, into memory: a file that is ready to be written. The same
 * counts and settings give the same picture on every machine. A chart of the default size takes
 * about 10 ms.
 *
 * settings         NULL: the defaults
 * settings_bytes   sizeof *settings in the caller; 0 with NULL
 * *file            uint8 [*size_bytes], owned by the caller, free() it; not set on an error
 *
 * Returns IH_OK, IH_USAGE (invalid settings, or counts without an image), IH_MEMORY, or
 * IH_UNAVAILABLE if a library fails to encode. Threads: any; no thread may change the counts.
 */
IH_PUBLIC enum ih_status ih_chart_write(const struct ih_counts *counts,
                                        const struct ih_chart_settings *settings,
                                        size_t settings_bytes, void **file, size_t *size_bytes,
                                        struct ih_error *err);

/* ---- records ---- */

/* Overwrites counts with the total of n inputs that failed, to be added. Returns IH_OK or
 * IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_counts_set_failures(struct ih_counts *counts, uint64_t n,
                                                struct ih_error *err);

/* What a record says besides counts. Zero is the default; strings are borrowed. */
struct ih_record {
    const char *path;             /* of the image; not for totals */
    const struct ih_error *error; /* not NULL: the record of a failed input */
    const char *folder;           /* of a total: what the paths of its images begin with; or NULL */
};

/*
 * Writes counts, with everything that defines them, as the record of a result file: a line of
 * NDJSON (imghist-formats(5)). ih_record_read, the program and ih_scan_open read it again, on every
 * machine. The record keeps neither the device nor the kernel.
 *
 * counts       not empty; NULL with an error
 * record       NULL: the defaults
 * size_bytes   sizeof *record in the caller; 0 with NULL
 * *line        uint8 [*n_bytes], with its line feed; owned by the caller, released with free()
 *
 * Returns IH_OK, IH_USAGE (the counts are empty) or IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_record_write(const struct ih_counts *counts,
                                         const struct ih_record *record, size_t size_bytes,
                                         char **line, size_t *n_bytes, struct ih_error *err);

/*
 * Reads the record of an image or a total. Overwrites counts. The path is not read.
 *
 * line   uint8 [n_bytes], any bytes, with or without the line feed; borrowed during the call
 *
 * Returns IH_OK. On an error counts are empty: IH_UNKNOWN (the bytes have no schema of imghist),
 * IH_CORRUPT (damaged or cut, or the counts contradict each other), IH_USAGE (the record has no
 * counts, because the input failed) or IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_record_read(struct ih_counts *counts, const void *line, size_t n_bytes,
                                        struct ih_error *err);

/* ---- counting files and pixels in host memory ---- */

/*
 * Counts the first frame of an image file. Overwrites counts.
 *
 * path   borrowed during the call; a file, a pipe, or anything else that can be read
 *
 * Returns IH_OK. Errors of the file: IH_IO, IH_UNKNOWN, IH_CORRUPT, IH_UNSUPPORTED, IH_LIMIT,
 * IH_MEMORY. Errors of the device: IH_UNAVAILABLE, IH_DEVICE. A damaged file gives no counts.
 */
IH_PUBLIC enum ih_status ih_count_file(struct ih_context *context, const char *path,
                                       struct ih_counts *counts, struct ih_error *err);

/* The same for a file in memory: uint8 [size_bytes], borrowed during the call; NULL: empty. */
IH_PUBLIC enum ih_status ih_count_memory(struct ih_context *context, const void *bytes,
                                         size_t size_bytes, struct ih_counts *counts,
                                         struct ih_error *err);

/* Reads the next bytes of a file: up to size_bytes, at least 1, into buffer. Returns their number,
 * 0 at the end of the file, -1 on an error. */
typedef ptrdiff_t (*ih_read_function)(void *user, void *buffer, size_t size_bytes);

/* The same for a file that a function reads, forward. read is called only during the call, by its
 * thread, with at least 1 byte to fill; user is passed on to it. An error of read is IH_IO, unless
 * the image was complete before it. With max_memory, read must not count with the same context: it
 * may wait for memory of this call. */
IH_PUBLIC enum ih_status ih_count_stream(struct ih_context *context, ih_read_function read,
                                         void *user, struct ih_counts *counts,
                                         struct ih_error *err);

/* Interleaved pixels with 8 bits per sample. This struct never changes. */
struct ih_pixels {
    const void *data;       /* the first row; any alignment */
    uint64_t width, height; /* pixels; 0 is allowed */
    ptrdiff_t stride_bytes; /* from one row to the next, at least the bytes of a row; negative if
                               the next row lies before; 0: rows without gaps */
    unsigned n_channels;    /* 1 gray; 2 gray, alpha; 3 RGB; 4 RGBA */
};

/* Counts pixels in host memory, borrowed during the call. max_pixels does not apply. Overwrites
 * counts. Returns IH_OK, IH_USAGE (invalid pixels), IH_MEMORY, IH_UNAVAILABLE or IH_DEVICE. */
IH_PUBLIC enum ih_status ih_count_pixels(struct ih_context *context, const struct ih_pixels *pixels,
                                         struct ih_counts *counts, struct ih_error *err);

/* What the bits of a sample are. */
enum ih_number {
    IH_NUMBER_UNSIGNED = 0,
    IH_NUMBER_SIGNED,  /* two's complement */
    IH_NUMBER_FLOAT,   /* IEEE 754, of 16 or 32 bits */
    IH_NUMBER_BFLOAT16 /* the upper half of a float of 32 bits */
};

/* The order of colour channels in memory. Counts are always red, green, blue. */
enum ih_order { IH_ORDER_RGB = 0, IH_ORDER_BGR = 1 };

/*
 * Pixels in any layout: planar, BGR, with gaps, mirrored, 16 bits. Channels as in struct ih_pixels.
 * The sample of row y, column x and channel c begins at
 *
 *     data + y * row_stride_bytes + x * pixel_stride_bytes + c * channel_stride_bytes
 *
 * Strides may be negative or 0. Samples of 16 bits are in the byte order of the machine, with any
 * alignment; each counts as round((v - range_low) * 255 / (range_high - range_low)), half up, after
 * v has been limited to the range; alpha has the range 0 to 65535. Counts record the range unless
 * it is the default, and are added only to counts with the same one. Signed and float samples keep
 * their values, with a bin for each; they have no range and no clip limits. Zero is the default of
 * every field.
 */
struct ih_array {
    const void *data;
    uint64_t width, height; /* pixels; 0 is allowed */
    unsigned n_channels;    /* 1 to 4, or up to IH_CHANNELS_MAX: bands without colours */
    unsigned has_strides;   /* 0: interleaved without gaps, the strides are ignored; 1: they hold */
    ptrdiff_t row_stride_bytes, pixel_stride_bytes, channel_stride_bytes;
    enum ih_order order;            /* of the first three channels, if there are so many */
    unsigned depth;                 /* bits per sample, 8 (default) or 16; of floats also 32 */
    unsigned range_low, range_high; /* 16 bits only; range_high 0 means 65535 */
    unsigned n_threads; /* of ih_count_array; 0: one for each CPU core, fewer for small arrays */
    enum ih_number number;
    unsigned swaps_bytes; /* 1: samples of 16 or 32 bits are in the other byte order */
    /* A byte for each sample: not 0, the sample stands for no data and is counted apart, as those
     * of ih_settings.nodata are; alpha too. Borrowed like data. NULL: none. Its strides have no
     * default: with a channel stride of 0 a byte is for all channels of a pixel. */
    const uint8_t *mask;
    ptrdiff_t mask_row_stride_bytes, mask_pixel_stride_bytes, mask_channel_stride_bytes;
};

/* Counts pixels in host memory, borrowed during the call. size_bytes is sizeof *array in the
 * caller. max_pixels does not apply. Starts threads for the call if the array is large enough.
 * Overwrites counts. Returns as ih_count_pixels, with IH_USAGE for an invalid array. */
IH_PUBLIC enum ih_status ih_count_array(struct ih_context *context, const struct ih_array *array,
                                        size_t size_bytes, struct ih_counts *counts,
                                        struct ih_error *err);

/* The labels of an array's pixels: unsigned integers of 8 bits, or of 16 bits in the byte order of
 * the machine. */
struct ih_labels {
    const void *data;                               /* of the first pixel */
    unsigned depth;                                 /* bits of a label, 8 (default) or 16 */
    ptrdiff_t row_stride_bytes, pixel_stride_bytes; /* no default; negative or 0 are allowed */
    unsigned has_ignored, ignored;                  /* 1: pixels with this label are not counted */
};

/*
 * Counts the pixels of each label of an array apart, in a copy of the array that is sorted by
 * labels. Arrays, sizes and errors are as in ih_count_array.
 *
 * *counts   [*n], a label each that occurs, in their order (ih_summary.label). Owned by the caller:
 *           each is released with ih_counts_close, and *counts with free(). Not set on an error
 */
IH_PUBLIC enum ih_status ih_count_labels(struct ih_context *context, const struct ih_array *array,
                                         size_t array_bytes, const struct ih_labels *labels,
                                         size_t labels_bytes, struct ih_counts ***counts, size_t *n,
                                         struct ih_error *err);

/* ---- scans: many sources on all cores, items in the order of the sources ---- */

struct ih_scan;
struct ih_result; /* of an item; opaque */

/* All zero is the default. paths and all strings are borrowed until ih_scan_close. Sources are
 * numbered from 0: the paths, then what ih_scan_add adds, then the list as one source. */
struct ih_scan_settings {
    const char *const *paths; /* files; directories, which are walked in byte order of the names;
                                 archives (tar, zip); result files of imghist, told by their
                                 names: .ndjson, .jsonl, .json; "-": standard input. NULL: none */
    size_t n_paths;
    const char *list;           /* a file of further paths, one a line; "-": standard input */
    unsigned has_nul_list;      /* 1: the paths of the list end with a NUL byte */
    unsigned n_threads;         /* that count; 0: one for each CPU core */
    unsigned shard, n_shards;   /* counts part `shard`, from 1, of n_shards; 0: all */
    unsigned takes_only_images; /* 1: each source is one image; directories, archives and result
                                   files are failures, "-" is a file. Not with a list */
    unsigned refuses_records;   /* 1: a result file ends the scan, as in a shard */
    unsigned is_fed;            /* 1: ih_scan_add gives further sources until ih_scan_add_end */
    /* A gray image of 8 or 16 bits for all images, or a folder of such images with their names: the
     * CPU counts the pixels of each label apart, and each label that occurs in an image is an item,
     * in the order of the labels. Its path ends in "#" and the label. NULL: none. Sources are then
     * paths, and not raw samples. */
    const char *labels;
    unsigned has_ignore_label, ignore_label; /* 1: pixels with this label are not counted */
};

enum ih_item_kind {
    IH_ITEM_NONE,      /* of a fed scan: a result file has ended; take the next item */
    IH_ITEM_IMAGE,     /* counts of an image, or the record of one */
    IH_ITEM_TOTAL,     /* the total of a result file */
    IH_ITEM_FAILURE,   /* an input could not be counted, or the record of one: error */
    IH_ITEM_SKIPPED,   /* a file of a directory that is no image: error says why */
    IH_ITEM_FOLDER_END /* the end of a named directory or archive: path */
};

/* Owned by the scan, with all that it points to. Valid until the next call of ih_scan_next or
 * ih_scan_close. This struct may grow. */
struct ih_item {
    enum ih_item_kind kind;
    const char *path; /* of the image or file; "" for a source without a name; "(total)". After an
                         error that ends the scan: what it is about, or NULL */
    const char *result_file;        /* that the item is a record of; NULL: it was counted */
    uint64_t source;                /* number of the source that it comes from */
    unsigned is_member;             /* 1: of an archive */
    struct ih_error error;          /* of a failure or a skipped file */
    const struct ih_result *result; /* for ih_item_counts; NULL: none */
};

/*
 * Starts threads that count the sources. Does not wait for sources, and opens only the list itself.
 *
 * context      borrowed until close; its settings hold. Records of result files that were counted
 *              with other settings than the context was given, or than those before them, end the
 *              scan. A context may have several scans at once.
 * settings     copied; NULL: the defaults
 * size_bytes   sizeof *settings in the caller; 0 with NULL
 * *scan        owned by the caller; release it with ih_scan_close
 *
 * Returns IH_OK, IH_USAGE, IH_IO (the list), IH_MEMORY or IH_UNAVAILABLE; or the error of a label
 * image for all images.
 */
IH_PUBLIC enum ih_status ih_scan_open(struct ih_context *context,
                                      const struct ih_scan_settings *settings, size_t size_bytes,
                                      struct ih_scan **scan, struct ih_error *err);

/*
 * Waits for the next item. Items come in the order of the sources, whatever finished first, and
 * memory does not grow with their number. With is_fed it also waits for ih_scan_add, so one thread
 * that adds and takes calls ih_scan_is_ready first.
 *
 * Returns IH_OK, also for IH_ITEM_FAILURE: one input failed, and the scan goes on. IH_END after the
 * last item. Any other error ended the scan: a device that failed, a damaged result file, records
 * that do not belong together. Later calls return the same error. *item is NULL at the end; after
 * an error it is a failure with the path that the error is about.
 */
IH_PUBLIC enum ih_status ih_scan_next(struct ih_scan *scan, const struct ih_item **item,
                                      struct ih_error *err);

/* Waits up to wait_ms until ih_scan_next would not wait, because an item or the end has come. Then
 * returns 1, else 0. Also returns 0 as soon as the workers need more sources. The current item
 * stays valid. */
IH_PUBLIC int ih_scan_is_ready(struct ih_scan *scan, unsigned wait_ms);

/* Copies the counts of an image or a total, so that they outlive the item. Returns IH_OK or
 * IH_MEMORY; IH_USAGE, and empty counts, for other items. */
IH_PUBLIC enum ih_status ih_item_counts(const struct ih_item *item, struct ih_counts *counts,
                                        struct ih_error *err);

/* One source; the first of these that is set, in this order. Zero is the default. Samples, bytes
 * and read_user are borrowed until ih_scan_next has given the last item of the source, or
 * ih_scan_close has returned. */
struct ih_scan_source {
    const struct ih_array *array; /* copied; its samples are borrowed */
    size_t array_bytes;           /* sizeof(struct ih_array) in the caller */
    ih_read_function read;        /* a file that a function reads, as in ih_count_stream. A thread
                                     of the scan calls it. No result file */
    void *read_user;
    const void *bytes; /* a file in memory, borrowed; archives and result files in memory are not
                          read */
    size_t size_bytes;
    const char *path; /* as in the settings; the name of the others, or NULL. Copied */
};

/* Adds a source, of size_bytes: sizeof *source in the caller. Never waits, so ask
 * ih_scan_wants_source before, to bound the memory that sources take. Returns IH_OK, IH_MEMORY or
 * IH_USAGE (an invalid array, a scan that is not fed, or after ih_scan_add_end); after an error
 * nothing is borrowed. Any thread may call this and the next two functions, also during
 * ih_scan_next, but not during ih_scan_close. */
IH_PUBLIC enum ih_status ih_scan_add(struct ih_scan *scan, const struct ih_scan_source *source,
                                     size_t size_bytes, struct ih_error *err);

/* Says that no more sources come. Without it a fed scan has no end. */
IH_PUBLIC void ih_scan_add_end(struct ih_scan *scan);

/* 1: the workers may soon have no source; 0: they have enough, or no more are accepted. */
IH_PUBLIC int ih_scan_wants_source(struct ih_scan *scan);

/* Stops counting, waits for the threads to end, and drops items that were not taken. A worker
 * notices within about 50 ms; a call of a format's library or of a read function, and opening or
 * reading a pipe, are not interrupted. */
IH_PUBLIC void ih_scan_close(struct ih_scan *scan);

/* ---- counting pixels in GPU memory ---- */

struct ih_pending;

enum { IH_GPU_CURRENT = -1 };

/*
 * Opens a pending count: memory on the GPU and in the host, and a CUDA event. Opening may wait for
 * the GPU, so open it once and reuse it.
 *
 * The GPU that holds the pixels counts them, whatever the context's device is. Luma and clip limits
 * are the context's, and so is the kernel if it is one for GPUs. If the context is set to
 * skip-transparent, ih_pending_count refuses pixels with alpha.
 *
 * gpu        CUDA's ordinal, or IH_GPU_CURRENT for the calling thread's current GPU
 * *pending   owned by the caller; release it with ih_pending_close, which waits for enqueued work
 *
 * Returns IH_OK, IH_UNAVAILABLE (no such GPU, or a build without CUDA), IH_DEVICE or IH_MEMORY.
 */
IH_PUBLIC enum ih_status ih_pending_open(struct ih_context *context, int gpu,
                                         struct ih_pending **pending, struct ih_error *err);

/*
 * Enqueues counting on the caller's stream and returns. Copies no pixels, waits for nothing and
 * allocates nothing. The pixels must stay valid until the stream has passed this point. Rows
 * without gaps are counted at the speed of the memory; rows with gaps are slower.
 *
 * pixels   data is an address in the memory of the pending count's GPU
 * stream   a cudaStream_t or CUstream of that GPU; NULL: its default stream
 *
 * Returns IH_OK, IH_DEVICE, or IH_USAGE: the previous count is not finished, the pixels are
 * invalid, lie elsewhere, or have alpha while the context is set to skip-transparent.
 */
IH_PUBLIC enum ih_status ih_pending_count(struct ih_pending *pending,
                                          const struct ih_pixels *pixels, void *stream,
                                          struct ih_error *err);

/* Waits for the enqueued count, not for later work on the stream. Overwrites counts. The pending
 * count can then be reused, even after an error. Returns IH_OK, IH_USAGE (none was enqueued) or
 * IH_DEVICE. */
IH_PUBLIC enum ih_status ih_pending_finish(struct ih_pending *pending, struct ih_counts *counts,
                                           struct ih_error *err);

IH_PUBLIC void ih_pending_close(struct ih_pending *pending);

/* ---- counting batches of images ---- */

enum { IH_BATCH_CLIPS = 4, IH_BATCH_LABELS_MAX = 256, IH_BATCH_LAUNCH_IMAGES = 64 };

/* An image of a batch. Strides are in bytes and have no default: they may be negative, and 0
 * repeats the same row or channel. This struct never changes. */
struct ih_batch_image {
    const uint8_t *data;         /* the first channel of the first pixel; any alignment, but of 16
                                    bits in GPU memory an even address */
    const uint8_t *labels;       /* the first pixel's label; NULL: no label map */
    uint32_t width, height;      /* pixels; 0 is allowed; width * height is less than 2^31 */
    ptrdiff_t row_stride;        /* from one row to the next */
    ptrdiff_t channel_stride;    /* from one channel to the next, in order of memory */
    ptrdiff_t labels_row_stride; /* labels of a row are consecutive bytes */
};

/*
 * A batch: images of equal size and layout, or a list of images. Packed layouts:
 *
 *     NHWC   image_stride C*H*W, row_stride C*W, pixel_stride C, channel_stride 1
 *     NCHW   image_stride C*H*W, row_stride W,   pixel_stride 1, channel_stride H*W
 *
 * If there are labels, pixels are counted for each label apart; pixels with a label of n_labels or
 * more are not counted. So a mask that is 0 where pixels count is a label map with n_labels = 1.
 *
 * This struct may grow; size_bytes comes first. Zero is the default of every other field, except
 * that strides have no default: 0 repeats the same image or row.
 */
struct ih_batch {
    size_t size_bytes;                 /* sizeof(struct ih_batch) in the caller */
    size_t n_images;                   /* 0 is allowed */
    const struct ih_batch_image *list; /* [n_images], in host memory, borrowed during the call;
                                          NULL: all are like `image` */
    struct ih_batch_image image;       /* the first image, without a list */
    ptrdiff_t image_stride;            /* from its data to the next image's */
    ptrdiff_t labels_image_stride;     /* from its labels to the next image's; 0: one for all */
    ptrdiff_t pixel_stride; /* from one pixel to the next in a row; not 0 in rows of 2 or more */
    unsigned n_channels;    /* 1 gray; 2 gray, alpha; 3 colour; 4 colour, alpha */
    unsigned n_labels;      /* 0: no label maps; at most IH_BATCH_LABELS_MAX */
    enum ih_order order;    /* of colour channels in memory; counts are always R, G, B */
    unsigned without_luma;  /* 1: colour images get no luma plane, and ih_batch_counts none at all;
                               required if the context's luma is "none" */
    unsigned n_threads;     /* of ih_batch_count; 0: one for each CPU core */
    unsigned n_bins;        /* 0: IH_BINS, and samples of 8 bits; 257 to 65,536: samples of 16 bits
                               in the machine's byte order, and a bin for each value below n_bins;
                               larger samples are in no bin. clip_high 0 is then n_bins - 1 */
    enum ih_number number; /* what samples of 16 bits are. Others than unsigned need n_bins 65536 */
};

/*
 * The shape of a batch's counts, in C order, L being n_labels or 1:
 *
 *     bins   uint32 [n_images][L][n_planes][IH_BINS, or n_bins if not 0]: pixels
 *     sums   uint64 [n_images][L][n_planes + IH_BATCH_CLIPS]: the sums of each plane's values, and
 *            the pixels with crushed_any, blown_any, crushed_all, blown_all (struct ih_summary)
 *
 * Planes are the channels and then luma, if there is colour, but not of floats. bins are 32 bits
 * wide because that halves what a GPU writes, and because a count of fewer than 2^31 pixels also
 * fits int32 tensors.
 *
 * The bin of a signed sample v is v + 32768. That of a float is its bits, all inverted if it is
 * negative, else with the sign bit set: bins have the order of values; -0 counts as 0, and NaN and
 * infinities have bins too, which ih_batch_counts sets apart. Sums of signed samples are int64;
 * those of floats, and the clip counts of both, are 0.
 */
struct ih_batch_shape {
    size_t n_labels, n_planes; /* L, and planes */
    size_t bins_bytes, sums_bytes;
};

/* Checks the batch and fills *shape, size_bytes long. Returns IH_OK, or IH_USAGE (invalid). */
IH_PUBLIC enum ih_status ih_batch_shape(const struct ih_batch *batch, struct ih_batch_shape *shape,
                                        size_t size_bytes, struct ih_error *err);

/*
 * Counts a batch in host memory on the CPU, whatever the context's device is. Luma and clip limits
 * are the context's. Starts threads for the call if the batch is large enough.
 *
 * bins   overwritten; after an error undefined; NULL is allowed if bins_bytes is 0
 * sums   the same; NULL: not wanted
 *
 * Returns IH_OK, IH_MEMORY, or IH_USAGE: the batch is invalid, or it has alpha and the context is
 * set to skip-transparent.
 */
IH_PUBLIC enum ih_status ih_batch_count(struct ih_context *context, const struct ih_batch *batch,
                                        uint32_t *bins, uint64_t *sums, struct ih_error *err);

/*
 * Enqueues counting a batch in GPU memory on the caller's stream and returns. Copies no pixels,
 * waits for nothing and allocates nothing, except that the first call on a GPU loads the kernel,
 * which may wait for the GPU; later calls can be captured in a CUDA graph. The GPU that holds bins
 * counts, whatever the context's device is.
 *
 * A batch without a list is one launch. A list is one launch for every IH_BATCH_LAUNCH_IMAGES
 * images; their addresses travel as arguments of the kernel.
 *
 * Packed NHWC and NCHW are counted fastest, if images and planes begin at 16-byte addresses. Other
 * addresses and rows with gaps are slower, other strides and label maps slower still. Samples of
 * 16 bits must be packed, planar ones (NCHW) have no luma and, if unsigned colour, no sums, and
 * take a launch for each channel if images have gaps or the order is BGR; there are no label maps
 * for them.
 *
 * d_bins   in GPU memory; overwritten in the order of the stream; aligned to 4 bytes
 * d_sums   the same, aligned to 8 bytes; NULL: not wanted
 * stream   a cudaStream_t or CUstream of that GPU; NULL: its default stream
 *
 * Pixels, labels and counts must stay valid until the stream has passed this point. Returns IH_OK,
 * IH_UNAVAILABLE (a build without CUDA, or no GPU), IH_DEVICE, or IH_USAGE: as ih_batch_count, or
 * memory of the host or of another GPU. In a list, only the first image's address is checked.
 */
IH_PUBLIC enum ih_status ih_batch_enqueue(struct ih_context *context, const struct ih_batch *batch,
                                          uint32_t *d_bins, uint64_t *d_sums, void *stream,
                                          struct ih_error *err);

/*
 * Overwrites counts with those of one image and label of a batch, for statistics and addition.
 * Counts of a label are added only to counts of labels.
 *
 * bins, sums   of the whole batch, in host memory
 * label        0 without labels
 *
 * Returns IH_OK, or IH_USAGE: an invalid batch, index or settings. Then counts are empty.
 */
IH_PUBLIC enum ih_status ih_batch_counts(struct ih_context *context, const struct ih_batch *batch,
                                         const uint32_t *bins, const uint64_t *sums, size_t image,
                                         unsigned label, struct ih_counts *counts,
                                         struct ih_error *err);

#ifdef __cplusplus
}
#endif

#endif
