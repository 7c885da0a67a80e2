/*
 * The scan: many inputs through decoders and a device, items in the order of the inputs.
 *
 * A worker takes one input from start to end: open, decode a stripe, count it, the next stripe,
 * result. Workers share the device, the memory budget and the idle cores. Results wait for their
 * turn in a bounded window. So memory does not grow with the number of inputs, and a slow file does
 * not hold up the others. JPEG files may go to a GPU instead (jpeg_gpu/queue.h).
 *
 * An archive is an input whose members are inputs themselves; their results come in its place, in
 * the archive's order. One worker at a time reads its next member into memory, and then counts that
 * member while another worker reads on. So all workers share one archive, and several archives are
 * read at the same time.
 *
 * The caller pulls items (struct ih_item_source): next waits for a result and makes an item of it.
 *
 * This header also declares regions and masks (selection.c), zones, nodata, arrays, thumbnails and
 * the words of settings.
 */
#ifndef IH_SCAN_SCAN_H
#define IH_SCAN_SCAN_H

#include "count/count_bands.h"
#include "decode/decoder.h"
#include "jpeg_gpu/queue.h"

/* ---- selection.c ---- */

/*
 * The pixels of an image that are counted: those of a region, of a mask, or of both.
 *
 * The pixels of each stripe that are counted are moved to its front before a backend sees it. So
 * all backends count the same pixels and know nothing of regions and masks.
 */

/* A gray image. All zero: none. Only loading and releasing write to it. */
struct ih_mask {
    uint8_t *values; /* owned: uint8 [height][width]; 0: not counted */
    uint64_t width, height;
    uint64_t hash;        /* of the size and of what is counted; not 0 */
    uint64_t taken_bytes; /* of the budget */
    bool has_labels;      /* set before loading: a label image, and values are NULL */
    uint16_t *labels;     /* owned: uint16 [height][width]; NULL: a mask */
};

/* The masks, or label images, of ih_measure.mask. Borrowed. */
struct ih_mask_options {
    const struct ih_mask *one; /* for all images; NULL: the measure names a folder of masks */
    struct ih_budget *budget;  /* another than that of images, which wait with a mask held */
    bool has_labels;           /* each label of an image has a result */
    unsigned ignored_end;      /* a label that is not counted, plus 1; 0: all are */
    uint64_t zones_bytes_max;  /* what the counts of an image's labels may take */
};

/*
 * Decodes a mask: gray, 8 bits or fewer. A label image: gray, integers of 16 bits or fewer.
 *
 * decode   without its budget, so that no image waits for a mask that waits for images
 * budget   for the mask; its decoder may use as much again
 *
 * Returns IH_OK, or the error of the file; release the mask in both cases.
 */
enum ih_status ih_mask_load(struct ih_mask *mask, const char *path,
                            const struct ih_decode_options *decode, struct ih_budget *budget,
                            struct ih_error *err);

/* The same for an image's mask in a folder: the file of the image's name, or else that of its name
 * with .png in place of the ending; of labels also other endings. name: in the named folder or
 * archive. IH_CONFLICT: the file is one of the outputs. */
enum ih_status ih_mask_find(struct ih_mask *mask, const char *folder, const char *name,
                            const struct ih_file_identity *outputs, size_t n_outputs,
                            const struct ih_decode_options *decode, struct ih_budget *budget,
                            struct ih_error *err);

void ih_mask_release(struct ih_mask *mask, struct ih_budget *budget);

/* The pixels of one image that are counted. Callers read n_kept: how many so far. */
struct ih_selection {
    struct ih_pixel_order_walk walk;
    struct ih_rectangle region;
    const struct ih_mask *mask; /* borrowed; NULL: none */
    uint64_t n_kept;
};

/* region, mask: NULL: none. region: its text. Returns IH_OK, or IH_LIMIT if they do not fit the
 * image. */
enum ih_status ih_selection_start(struct ih_selection *s, const struct ih_image_info *info,
                                  const char *region, const struct ih_mask *mask,
                                  struct ih_error *err);

/* Moves the pixels that are counted to the front. Call it once for each stripe, in order. Returns
 * their number; the contents after them are undefined. */
size_t ih_selection_keep(struct ih_selection *s, uint8_t *pixels, size_t n_pixels,
                         size_t pixel_bytes);

/* ---- bands.c ---- */

/* The channels that are counted, by their numbers from 1: alpha is the last. */
struct ih_bands {
    unsigned last; /* the highest; 0: all channels of each image */
    uint64_t wanted[IH_CHANNELS_MAX / 64];
};

/* Reads "1,3-5". Returns IH_OK or IH_USAGE. */
enum ih_status ih_bands_parse(const char *text, struct ih_bands *bands, struct ih_error *err);

/* The bands of one image. */
struct ih_band_pass {
    struct ih_image_info info; /* of what is counted: band_names is owned */
    uint16_t *from;            /* owned, [info.layout.n_channels]: their places; NULL: all */
    unsigned n_stored;         /* samples of a decoded pixel */
};

/* info: of the decoder. Returns IH_OK, IH_MEMORY, or IH_UNSUPPORTED: the image lacks a band, or
 * would lose a part of its colours. Reset p in every case. */
enum ih_status ih_band_pass_start(struct ih_band_pass *p, const struct ih_bands *bands,
                                  const struct ih_image_info *info, struct ih_error *err);

/* Drops the samples of other bands in place. */
void ih_band_pass_keep(const struct ih_band_pass *p, uint8_t *pixels, size_t n_pixels,
                       size_t sample_bytes);

void ih_band_pass_reset(struct ih_band_pass *p);

/* ---- zones.c ---- */

/* The pixels of an image, counted apart for each label. All zero: none; release it with
 * ih_zones_reset. */
struct ih_zones {
    struct ih_count_spec spec;
    struct ih_band_pass bands;
    struct ih_bands_counter *zones; /* owned: [capacity], n of them in use */
    uint32_t n, capacity;
    uint32_t *numbers; /* owned: [IH_LABELS_MAX], the place of a label's zone, plus 1; 0: none */
    uint8_t *pixels;   /* owned: a stripe */
};
enum { IH_LABELS_MAX = 65536 };

/* Counts the image that decode is at. labels: of its size. Sets times of the result, and info when
 * all is counted. Returns IH_OK; IH_LIMIT if the sizes differ, if the counts take too much memory
 * or if all labels are ignored; IH_MEMORY; or the error of the image. */
enum ih_status ih_zones_count(struct ih_zones *zones, const struct ih_mask_options *options,
                              const struct ih_bands *bands, const struct ih_mask *labels,
                              struct ih_decode *decode, struct ih_result *result);

/* Moves the zone of the next label, at or after *label, into the result. Returns false after the
 * last. */
bool ih_zones_next(struct ih_zones *zones, uint32_t *label, struct ih_result *result);
void ih_zones_reset(struct ih_zones *zones);

/* ---- nodata.c ---- */

/* What becomes of 16-bit samples. */
struct ih_reduced_samples {
    uint16_t colour[IH_NATIVE_BINS_MAX], alpha[IH_NATIVE_BINS_MAX];
};

/* The pixels of an image in which a sample stands for no data. Release it with ih_nodata_reset; all
 * zero may be released too. */
struct ih_nodata_pass {
    struct ih_count_spec spec; /* of what backends count */
    unsigned sample_bytes;     /* of a decoded sample */
    unsigned n_tested;         /* channels without alpha */
    bool has_mask;             /* samples are masked, too, of any channel */
    bool has_key;
    uint16_t key;                       /* of samples that stand for no data */
    struct ih_reduced_samples *reduced; /* owned; NULL: samples stay as they are */
    struct ih_histogram apart;          /* of those pixels; owned */
    float value;                        /* of float32 samples that stand for no data; or NaN */
    uint64_t *n_floats;                 /* their number: [n_channels], owned; NULL: other samples */
};

/* Sets layout, type, bins and the value of p->spec to what backends have to count of an image. For
 * ih_measure_image, which completes the spec; ih_nodata_begin takes it then. has_mask:
 * ih_nodata_keep is given masks. */
enum ih_status ih_nodata_start(struct ih_nodata_pass *p, const struct ih_image_info *info,
                               const struct ih_measure *measure, bool has_mask,
                               struct ih_error *err);
enum ih_status ih_nodata_begin(struct ih_nodata_pass *p, const struct ih_count_spec *spec,
                               struct ih_error *err);

/* Moves the pixels that backends count to the front, as samples that they count, and returns their
 * number. pixels: keys of decoded samples. masked: [n_pixels][n_channels], not 0: the sample stands
 * for no data; NULL without masks. */
size_t ih_nodata_keep(struct ih_nodata_pass *p, uint8_t *pixels, const uint8_t *masked,
                      size_t n_pixels);

/* Adds the other pixels to the histogram of the image. */
void ih_nodata_end(struct ih_nodata_pass *p, struct ih_histogram *histogram);
void ih_nodata_reset(struct ih_nodata_pass *p);

/* ---- inputs and options ---- */

/* One file, or the bytes of one, or the end of a folder. */
struct ih_input {
    char *path;           /* owned by the scan once handed over; NULL: no name */
    size_t name_at;       /* in path: its name in the named folder or archive */
    bool is_named;        /* by the user; false: found in a directory */
    bool is_in_folder;    /* found in the walk of a named folder, or in a named archive */
    bool ends_folder;     /* no input, but the end of such a walk: path is the folder's */
    bool is_stdin;        /* read standard input; path is only its name */
    bool is_member;       /* of an archive; path is the archive's and the member's name */
    bool holds_records;   /* a result file: no image, and another source reads it in this place */
    const uint8_t *bytes; /* borrowed; not NULL: the content, and path is only its name */
    size_t size_bytes;
    ih_read_function read; /* not NULL: gives the content; called by the worker */
    void *read_user;
    struct ih_array *array; /* owned by the scan once handed over, checked; not NULL: the pixels */
    struct ih_error error;  /* not IH_OK: why it cannot be read; becomes the result */
    uint64_t source;        /* which of the scan's paths it comes from, from 0; n_paths: the list */
    uint64_t hash;          /* becomes the result's inputs_hash */
};

struct ih_scan_options {
    unsigned n_threads; /* at least 1 */
    /* Without remote, which each worker sets itself. A worker that runs out of inputs adds its core
     * to n_idle_cores. */
    struct ih_decode_options decode;
    const struct ih_remote_decoders *remote_decoders; /* borrowed; NULL: decode in this process */
    bool reads_archives;                              /* false: archives are no inputs */
    const struct ih_remote_decoders *archive_readers; /* borrowed; NULL: read in this process */
    struct ih_budget *member_budget; /* borrowed; of members in memory; NULL: no limit */
    /* Region and mask: not with raw samples; they need IH_JPEG_CPU. Results and records have to
     * agree with what is stated, and with each other. */
    struct ih_measure measure;
    /* Counts only a part of the run: member m of input i, or input i with m = 0, is in shard
     * (i + m) % n_shards + 1. Every shard reads all archives. n_shards 0: the whole run. */
    unsigned shard, n_shards;
    uint64_t first_input; /* number of the first input: those before it are done */
    /* Called for each counted image by the worker that finishes it, before the result waits for its
     * turn. What it returns, made with malloc, becomes result->product. NULL: no call. */
    void *(*finish)(void *user, const struct ih_input *input, struct ih_result *result);
    void *finish_user;
    struct ih_bands bands; /* need IH_JPEG_CPU */
    struct ih_mask_options mask;
    /* Images of a resumed run that are done in the folder that is not finished. */
    uint64_t n_resumed_in_folder;
    bool makes_thumbnails; /* the CPU decodes JPEG then */
    enum ih_jpeg_side jpeg;
    /* The process ends after this scan. The JPEG queue's sessions are left running and out of the
     * report; see ih_device_cancel_start. */
    bool is_last;
    struct ih_jpeg_report *jpeg_report;         /* borrowed, zeroed; NULL: no report */
    const struct ih_jpeg_backend *jpeg_backend; /* NULL: the device's own; tests pass theirs */
    const struct ih_file_identity *outputs; /* borrowed; an input that is one fails: IH_CONFLICT */
    size_t n_outputs;
};

/* Gives the inputs of a scan. Called from worker threads, one call of next at a time. */
struct ih_scan_inputs {
    /* Fills in the next input; false at the end. May wait. */
    bool (*next)(void *user, struct ih_input *input);
    /* How many of the next inputs come without waiting for another program or for sources; NULL:
     * none. */
    unsigned (*n_ready)(void *user);
    /* About how many inputs next will still give, 0: unknown. Not called during next. NULL:
     * unknown. */
    double (*n_left)(void *user);
    /* Whether the caller should add sources soon; NULL: it never adds any. */
    bool (*wants_sources)(void *user);
    /* Ends a waiting next, which returns false; NULL: next does not wait. Called under the scan's
     * lock, after an error and at the end. */
    void (*stop)(void *user);
    void *user; /* borrowed until the scan is closed */
};

/*
 * What gives items.
 *
 * next       waits for the next item and returns as ih_scan_next (imghist.h) does. The item is the
 *            source's and valid until the next call. After an error its path is what the error is
 *            about; later calls return the same error.
 * is_ready   waits up to wait_ms until next would not wait
 */
struct ih_item_source {
    enum ih_status (*next)(void *source, const struct ih_item **item, struct ih_error *err);
    bool (*is_ready)(void *source, unsigned wait_ms);
    void (*close)(void *source);
    void *source;
};

/*
 * Starts the workers.
 *
 * device    borrowed until close; need not have started
 * options   copied; what it points to is borrowed until close
 * inputs    copied
 * *items    owned by the caller. An input that holds records is an item of the kind IH_ITEM_NONE;
 *           its result_file is to be read in its place, "-" on standard input.
 *
 * Returns IH_OK, IH_MEMORY, or the error of a JPEG queue that did not start.
 */
enum ih_status ih_scan_start(struct ih_device *device, const struct ih_scan_options *options,
                             const struct ih_scan_inputs *inputs, struct ih_item_source *items,
                             struct ih_error *err);

/* Whether an input can be an archive. One in a directory walk needs the name of an archive, because
 * many documents are zip files. */
bool ih_input_may_be_archive(const struct ih_scan_options *options, const struct ih_input *input);

/* Opens an input. *is_archive: it looks like an archive, to be read with ih_archive_open. Returns
 * IH_OK or why the input cannot be read; close src in both cases. */
enum ih_status ih_input_open(const struct ih_scan_options *options, const struct ih_input *input,
                             struct ih_reader *src, bool *is_archive, struct ih_error *err);

/* Gets the results of the images of an input, or of the labels of its image, except the last. */
struct ih_frames {
    /* number: from 1. Owns the result's thumbnail. Returns false to end the input. */
    bool (*take)(void *user, uint64_t number, const struct ih_result *result);
    void *user;
};

/*
 * Counts an open input and closes src; the rest is as below.
 *
 * frames   with options->decode.takes_frames or labels; else NULL
 *
 * Returns the number of the image that result describes, the last one or the one that failed: 1
 * without further images.
 */
uint64_t ih_count_reader(const struct ih_scan_options *options, const struct ih_input *input,
                         struct ih_lane *lane, struct ih_reader *src,
                         const struct ih_frames *frames, struct ih_result *result);

/*
 * Counts one input that is not searched for members: of ih_count_file and its kin, or one that the
 * JPEG queue returned.
 *
 * src      closed; its buffer is reused
 * result   overwritten; borrows input->path; the caller sets counted_by, and frees the thumbnail if
 *          options->makes_thumbnails
 */
void ih_count_input(const struct ih_scan_options *options, const struct ih_input *input,
                    struct ih_lane *lane, struct ih_reader *src, struct ih_result *result);

/* Bins up to this size are small: no image of four channels has more. Those of 4,096 bands may take
 * 2 GB. The larger ones of an image may take each worker's share of decode.budget, and those of
 * results that wait for their turn may take half of it. */
enum { IH_SMALL_BINS_BYTES = 4 << 20 };

/* ---- count_array.c ---- */

/* Checks an array and fills in its default strides, depth and range. Returns IH_OK or IH_USAGE. */
enum ih_status ih_array_check(struct ih_array *array, struct ih_error *err);

/* Which rows of an array are taken, for calls that count it together, each in a thread. */
struct ih_array_rows {
    atomic_ullong n_taken; /* 0 at first */
    unsigned n_threads;
};

/* Counts the rows of a checked array that no other call takes from `shared`; NULL: all rows.
 * result: overwritten; result->path is NULL. */
void ih_count_array_in(const struct ih_scan_options *options, const struct ih_array *array,
                       struct ih_array_rows *shared, struct ih_lane *lane,
                       struct ih_result *result);

/* ---- settings.c ---- */

/*
 * The values that users choose from: devices, kernels, the alpha policy. Options of the program and
 * settings of the library share them.
 *
 * Errors describe the value. The caller adds the name of the option or setting in front.
 */

/*
 * Parses "auto", "cpu", "cuda" or "cuda:0,2" and sets backend and ordinals, nothing else. Does not
 * look at the machine.
 *
 * Returns IH_OK, IH_USAGE, or IH_UNAVAILABLE for a backend that this build does not have. On
 * failure options is unchanged.
 */
enum ih_status ih_device_parse(const char *word, struct ih_device_options *options,
                               struct ih_error *err);

/* The static name of a kernel of any backend in this build, or NULL. */
const char *ih_kernel_find(const char *word);

/* Parses "count" or "skip-transparent". Returns IH_OK or IH_USAGE. */
enum ih_status ih_alpha_parse(const char *word, enum ih_alpha *alpha, struct ih_error *err);

/* Replaces control characters, of a name that the caller gave or of a file, by question marks. */
void ih_error_drop_controls(struct ih_error *err);

/* Completes the error of a file: without control characters, and with the name of the setting that
 * raises the limit that it is about. */
void ih_error_name_setting(struct ih_error *err);

/* ---- thumbnail.c ---- */

/*
 * A small JPEG of an image, for --thumbnails, made from its pixels while they are counted.
 *
 * Each pixel of the thumbnail is the mean of a box of the image's pixels, computed from exact sums.
 * The boxes divide the image; a small image keeps its size. Pixels with alpha lie on a
 * checkerboard. The thumbnail has the image's orientation in Exif, so that viewers turn both alike.
 * Only the sums are in memory, whatever the size of the image.
 */

/* The longer side in pixels, and the file. A page of 10,000 images has to be opened by a browser.
 */
enum { IH_THUMBNAIL_SIDE = 160, IH_THUMBNAIL_BYTES_MAX = 3800 };

/* Fields are private. */
struct ih_thumbnail {
    struct ih_pixel_order_walk walk;
    uint64_t image_width, image_height;
    unsigned width, height, n_channels, n_bins;
    enum ih_sample_type type;
    uint64_t *sums; /* owned: [height][width][n_channels]; NULL: no thumbnail */
};

/* An image of unknown size, as raw samples may be, gets no thumbnail. Returns IH_OK or IH_MEMORY;
 * reset t in both cases. */
enum ih_status ih_thumbnail_start(struct ih_thumbnail *t, const struct ih_image_info *info,
                                  struct ih_error *err);

/* Adds the next pixels, as the decoder gives them. */
void ih_thumbnail_add(struct ih_thumbnail *t, const uint8_t *pixels, size_t n_pixels);

/*
 * Encodes what was added.
 *
 * orientation   1 to 8; 0: not known
 * *jpeg         the caller's, to be freed; NULL: no thumbnail
 *
 * Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_thumbnail_end(struct ih_thumbnail *t, unsigned orientation, uint8_t **jpeg,
                                size_t *n_bytes, struct ih_error *err);

void ih_thumbnail_reset(struct ih_thumbnail *t);

#endif
