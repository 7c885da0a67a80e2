/* The result of one image or one total: its description and counts, or an error. */
#ifndef IH_HISTOGRAM_RESULT_H
#define IH_HISTOGRAM_RESULT_H

#include "histogram/histogram.h"
#include "histogram/pixel_order.h"

enum { IH_SHARDS_MAX = 9999 };

enum { IH_NOT_APPLIED_KNOWN = 2 * IH_NOT_APPLIED_ORIENTATION - 1 }; /* all of enum ih_not_applied */

/* The range of the stored samples. Limited range is expanded to full range before counting. */
enum ih_range { IH_RANGE_UNKNOWN, IH_RANGE_FULL, IH_RANGE_LIMITED, IH_RANGES };
extern const char *const ih_range_names[IH_RANGES]; /* "", "full", "limited" */

/* The stored colour samples of images of more than 8 bits a sample. All zero: not known. */
struct ih_extremes {
    uint32_t min, end; /* the smallest, and the largest plus 1 */
};

/* Adds the extremes of further samples. */
static inline void ih_extremes_join(struct ih_extremes *to, struct ih_extremes from)
{
    if (from.end > 0 && (to->end == 0 || from.min < to->min))
        to->min = from.min;
    if (from.end > to->end)
        to->end = from.end;
}

/* Adds one sample. */
static inline void ih_extremes_add(struct ih_extremes *to, uint32_t sample)
{
    ih_extremes_join(to, (struct ih_extremes){sample, sample + 1});
}

/* Of a sensor's values: where the signal begins, for each channel, and where it ends. */
enum { IH_LEVELS_CHANNELS = 4 };
struct ih_levels {
    uint16_t black[IH_LEVELS_CHANNELS], white; /* white 0: not known */
};

/* What a decoder reads from the file. What follows source_depth is complete after the last pixel;
 * a decoder that does not know it leaves it 0. */
struct ih_image_info {
    const char *format;      /* static: the decoder's name, "png" */
    uint64_t width, height;  /* pixels; for raw samples the number of pixels and 1 */
    struct ih_layout layout; /* of the decoded samples */
    /* The file's names of the channels, [n_channels], set by ih_band_name_set. Whoever opened the
     * decoder owns them. NULL if the file has none, and in results: their histogram has them. */
    struct ih_band_name *band_names;
    enum ih_sample_type type;
    unsigned n_bins;       /* of the type: all samples are below it; 0: IH_BINS */
    unsigned source_depth; /* bits per colour sample in the file, 1 to 32; for palettes,
                               bits per index */
    unsigned scaled_max;   /* samples of 0 to this were scaled to 255; 0: 2^source_depth - 1 */
    struct ih_extremes extremes;
    unsigned warnings;      /* set of enum ih_warning */
    bool has_nodata;        /* samples of a value stand for no data, and are to be counted apart: */
    double nodata;          /* finite, among the samples that the decoder gives */
    unsigned n_not_counted; /* samples of a pixel that belong to no channel */
    unsigned n_frames;      /* images in the file, pages included; 0: not known */
    enum ih_range range;
    struct ih_levels levels;
    unsigned not_applied;        /* set of enum ih_not_applied */
    unsigned orientation;        /* 1 to 8 as in Exif, for thumbnails; 0: not known */
    struct ih_pixel_order order; /* of the decoded pixels; complete after open */
};

/* The lowest black level of the channels. */
static inline unsigned ih_levels_black(const struct ih_image_info *info)
{
    unsigned black = info->levels.black[0];
    for (unsigned i = 1; i < info->layout.n_channels && i < IH_LEVELS_CHANNELS; i++)
        black = info->levels.black[i] < black ? info->levels.black[i] : black;
    return black;
}

/* Wall-clock time that one input took. Waiting for memory counts as decoding, waiting for a device
 * that is still starting as counting. */
struct ih_times {
    uint64_t read_ns;   /* opening and reading the file */
    uint64_t decode_ns; /* the rest of the time spent in the decoder */
    uint64_t count_ns;  /* in the lane, without counting that overlaps with decoding */
};

/* Of two distributions of values (compare.h). */
struct ih_distance {
    double ks, emd; /* NaN if a side has no values */
};

enum { IH_PLACES = 3 }; /* numbers that give the place of a result in its run */

struct ih_result {
    const char *path;      /* as the user gave it; "-" for standard input; borrowed */
    struct ih_times times; /* valid for failed inputs too */
    enum ih_status status; /* if not IH_OK, the fields after `error` are invalid */
    struct ih_error error; /* valid if status is not IH_OK */
    struct ih_image_info info;
    struct ih_measure measure;
    struct ih_histogram histogram;
    /* [ih_own_planes]; owned as the histogram is. NULL: not computed. A worker
     * computes them, so that the one thread that writes the records need not. */
    struct ih_stats *stats;
    const char *version; /* of the imghist that counted; NULL: this one; "": not known */
    const char *library; /* that decodes the format, with its version: the same on every device; "":
                            not known */
    const char *decoder_version; /* lives as long as the run */
    const char *counted_by;      /* "cpu" or "cuda:0 NVIDIA H100"; lives as long as the device */
    const char *kernel;          /* static */
    uint8_t *thumbnail; /* a small JPEG; owned by the scan, until the result is taken; NULL:
                           none */
    size_t thumbnail_bytes;

    /* With --against: the largest distances of any channel to the reference (compare.h). */
    struct ih_distance against;
    bool has_distance;

    void *product; /* of the scan's finish; owned by the scan, until the result is taken; NULL: none
                    */

    bool begins_copies; /* with --copies: the first of a group */
    bool has_label;     /* only pixels of a label are counted: */
    unsigned label;     /* in the label image, which measure.mask names */

    bool is_read;     /* from a result file: texts are borrowed from its reader */
    bool keeps_place; /* one that was read: it is written with its place in the run */

    unsigned shard, n_shards; /* of a part of a run: which one, from 1, of how many; else 0 */
    uint64_t input, member; /* place in the whole run, from 0: of the input, and in its archive; an
                               archive's own record has the number of its members */
    uint64_t frame; /* the third number of the place: of an image in its file, from 1, or a label
                       plus 1; 0: the only one */
    uint64_t inputs_hash; /* with --resume: of all inputs up to this one, their sizes and times; 0:
                             not known */
    uint64_t run; /* of a shard's total and end: hash of the run's options and inputs; else 0 */
    bool is_end;  /* no result, but the last record of a complete shard: n_images is the number of
                     its records */

    /* The total of all inputs (total.h) is a result too, with the path IH_TOTAL_NAME. It has no
     * format, size, depth, library, decoder, device or kernel (NULL and 0). Its alpha plane counts
     * only the pixels of images with alpha. */
    bool is_total;
    uint64_t n_images, n_failed; /* of a total: inputs that were counted, and that failed */
    const char *folder; /* of a total: what the paths of its images begin with; NULL, "": nothing */
    const char *group;  /* of the total of a group (--by): its name, which is the path too; NULL: of
                           all inputs */
};

/* Whether the path is "-", or "-#2" of an image that follows on standard input. */
bool ih_result_is_of_stdin(const struct ih_result *result);

/* What a result is called where such results are counted: "image", "zone" or "group"; static. */
const char *ih_result_word(const struct ih_result *result);

/* Whether the samples of an image have more than 8 bits and were reduced to 8, without a range. */
bool ih_result_is_reduced(const struct ih_result *result);

/* The number of bits that the samples of a 16-bit image seem to have; 0: 15 or 16, or all black. */
unsigned ih_result_few_bits(const struct ih_result *result);

/* Writes the depth of an image, "8 bits", "float32 in bins up to 0.5 wide", or "16 bits reduced
 * to 8", and how many seem in use. */
enum { IH_DEPTH_TEXT_MAX = 64 };
void ih_result_put_depth(char text[IH_DEPTH_TEXT_MAX], const struct ih_result *result);

/* Whether what is shown has all samples of a result, but those of alpha. */
bool ih_result_is_within(const struct ih_result *result, struct ih_shown shown);

/* Fills in stats from the histogram of a counted image. */
void ih_result_compute_stats(struct ih_result *result);

/*
 * Checks counts that came from outside, and fills in the sums, which follow from the bins. Every
 * field of a counted result is set.
 *
 * Returns IH_OK or IH_CORRUPT: no image, or no total of images, has these counts.
 */
enum ih_status ih_result_check(struct ih_result *result, struct ih_error *err);

#endif
