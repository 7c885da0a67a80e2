/*
 * The measure: what is asked to be counted of each image.
 *
 * The options of the program, or the settings of the library, fill one measure. A scan, each of its
 * results and each total have a copy. Results are added, compared or written together only if their
 * measures agree (struct ih_joint_measure).
 */
#ifndef IH_HISTOGRAM_MEASURE_H
#define IH_HISTOGRAM_MEASURE_H

#include "histogram/pixels.h"
#include "histogram/region.h"

struct ih_image_info;
struct ih_result;

/* How samples of other depths become 8 bits. Each format has the same rule (imghist-formats(5)). */
#define IH_REDUCTION "round(v*255/max)"

/* Samples of 16 bits from low to high become 0 to 255, and those outside are clamped:
 * round((v - low) * 255 / (high - low)), half up. Not for alpha. high 0: the rule above. */
struct ih_sample_range {
    uint16_t low, high;
};
enum { IH_REDUCTION_BYTES = 40 };

/* The rule as JSON has it: IH_REDUCTION, or "round((v-0)*255/4095)". Native samples are not
 * reduced: "none", or "clamp(v,64,940)". */
void ih_reduction_print(struct ih_sample_range range, bool is_native,
                        char text[IH_REDUCTION_BYTES]);

/* Returns false for a text that ih_reduction_print does not write. */
bool ih_reduction_parse(const char *text, bool is_native, struct ih_sample_range *range);

/* Which samples stand for no data and are counted apart: those of the value that the file states,
 * none, or those of a value. It is that of stored samples; NaN and infinities always are apart. */
enum ih_nodata_kind { IH_NODATA_OF_FILE, IH_NODATA_NONE, IH_NODATA_OF_RUN };
struct ih_nodata {
    enum ih_nodata_kind kind;
    double value; /* finite; of a run */
};
enum { IH_NODATA_BYTES = 32 };

/* "none", or the number; "" for that of the file. */
void ih_nodata_print(struct ih_nodata nodata, char text[IH_NODATA_BYTES]);

/* Reads "none" or a finite number. Returns false for any other text. */
bool ih_nodata_parse(const char *text, struct ih_nodata *nodata);

/* Which pixels are counted. */
enum ih_alpha { IH_ALPHA_COUNT, IH_ALPHA_SKIP_TRANSPARENT };

/* "count" or "skip-transparent"; static. */
const char *ih_alpha_name(enum ih_alpha alpha);

/* Values that the user gave. The others are defaults, and result files may have other values. */
enum ih_stated {
    IH_STATED_LUMA = 1 << 0,
    IH_STATED_CLIP = 1 << 1,
    IH_STATED_ALPHA = 1 << 2,
    IH_STATED_BINS = 1 << 3,
    IH_STATED_NODATA = 1 << 4
};

struct ih_measure {
    const struct ih_luma_weights *luma; /* static */
    uint16_t clip_low, clip_high; /* as in ih_count_spec; high 0: each image's largest value */
    bool takes_native;            /* samples of 9 to 16 bits keep their values */
    enum ih_sample_type type;     /* of a result: as in ih_count_spec */
    unsigned n_bins;              /* the same; of a run: 0 */
    enum ih_alpha alpha;
    struct ih_sample_range range; /* of the run, whatever the image's depth; high 0: none */
    struct ih_nodata nodata;
    bool has_levels; /* of a result: of a sensor, whose levels are the clip limits by default */
    const char *region, *mask; /* as recorded; NULL: the whole image; borrowed */
    uint64_t mask_hash; /* of the pixels of the mask; 0: not known, or each image has its own */
    unsigned stated;    /* set of enum ih_stated */
};

/* The measure of a run without options: stated, region, range and the like are 0. */
#define IH_MEASURE_DEFAULT ((struct ih_measure){.luma = &ih_luma_bt709})

/* Of an image with black and white levels, before ih_measure_image: it has native bins, and unless
 * clip limits are stated, the lowest black level and white are its limits. */
void ih_measure_levels(struct ih_measure *measure, const struct ih_image_info *info);

/*
 * Makes the measure of a run that of an image: sets type, n_bins and the default of clip_high.
 *
 * spec     layout, type and n_bins are set; the rest is filled
 *
 * Luma becomes none where there is none: without colours, and of floats, whose keys are not linear.
 *
 * Returns IH_OK, or IH_UNSUPPORTED if the image's values do not reach the clip limits, or if they
 * are signed and there are clip limits or a range.
 */
enum ih_status ih_measure_image(struct ih_measure *measure, struct ih_count_spec *spec,
                                struct ih_error *err);

/* What results have in common, or what they have to agree with if there are none yet. Begins as
 * {.asked = the measure of the run}. The struct can be copied. */
struct ih_joint_measure {
    struct ih_measure asked, common;    /* common: if has_results; its texts are below */
    const struct ih_luma_weights *luma; /* of results that may have luma; NULL: none has come */
    char region[IH_REGION_TEXT_MAX], mask[IH_MASK_NAME_MAX]; /* copied; "": none */
    bool has_results;
};

/* Adds a result. Returns IH_OK, or IH_USAGE with *joint unchanged if the measures differ; the
 * message names the difference. Failed results agree with any. */
enum ih_status ih_joint_measure_add(struct ih_joint_measure *joint, const struct ih_result *result,
                                    struct ih_error *err);

/* The common measure, or what is asked for, with default clip limits for 256 bins. The texts are
 * those of *joint. */
struct ih_measure ih_joint_measure_get(const struct ih_joint_measure *joint);

#endif
