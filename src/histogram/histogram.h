/*
 * The counts of one image and their statistics.
 *
 * All counts and statistics come from this struct: a counter for each bin of each plane, the sums
 * of values, and the counts of pixels clipped in any or all channels. All are exact 64-bit
 * integers. Histograms of the parts of an image, or of many images, can be added.
 *
 * A histogram has one owner, which releases it with ih_histogram_reset. Copies of the struct, as in
 * a copied result, borrow the counters: they are valid as long as the owner keeps them.
 * ih_histogram_take passes the ownership on, ih_histogram_copy makes counters of their own.
 */
#ifndef IH_HISTOGRAM_HISTOGRAM_H
#define IH_HISTOGRAM_HISTOGRAM_H

#include "histogram/band_names.h"
#include "histogram/float_sums.h"
#include "histogram/measure.h"

/* Samples that are counted apart, in no bin and no statistic. */
enum ih_special { IH_NAN, IH_POSITIVE_INFINITY, IH_NEGATIVE_INFINITY, IH_NODATA, IH_SPECIALS };
extern const char *const ih_special_names[IH_SPECIALS]; /* "nan", "positive_infinity" ... */

/* What a key of float32 stands for that is of no finite value. */
static inline enum ih_special ih_float_special(uint32_t key)
{
    return key == IH_FLOAT_KEY_LAST + 1    ? IH_POSITIVE_INFINITY
           : key == IH_FLOAT_KEY_FIRST - 1 ? IH_NEGATIVE_INFINITY
                                           : IH_NAN;
}

struct ih_histogram {
    enum ih_sample_type type;
    unsigned n_bins;         /* of each plane */
    struct ih_layout layout; /* planes 0 .. n_channels-1 are valid */
    unsigned n_planes;       /* n_channels, or one more: IH_LUMA is valid too */
    bool adds_up;            /* n_pixels and sums fit the bins: what counted them has checked it */
    uint64_t n_pixels;       /* in each plane, except the alpha of a total (total.h) */
    /* Pixels clipped in any, or in all, colour channels (without alpha and luma). */
    uint64_t any_low, any_high, all_low, all_high;
    /* [ih_own_planes][n_bins], the channels and then luma; owned. NULL: no counters. */
    uint64_t *bins;
    /* [ih_own_planes], in the memory of bins: */
    uint64_t *sums;                    /* of the numbers of the bins */
    uint64_t (*specials)[IH_SPECIALS]; /* of pixels in no bin */
    struct ih_float_sums *floats;      /* of float32 samples; else NULL */
    struct ih_band_name *band_names;   /* [n_channels], owned; NULL: no names and numbers */
};

/* Bytes of the bins of so many planes. */
static inline uint64_t ih_bins_bytes(unsigned n_planes, unsigned n_bins)
{
    return (uint64_t)n_planes * n_bins * sizeof(uint64_t);
}

static inline bool ih_has_luma(const struct ih_histogram *h)
{
    return h->n_planes > h->layout.n_channels;
}

/* Planes with counters of their own. The luma of gray is its gray. */
static inline unsigned ih_own_planes(const struct ih_histogram *h)
{
    return h->layout.n_colours == 1 ? h->layout.n_channels : h->n_planes;
}

/* The plane at this place, below n_planes: the channels and then luma. */
static inline unsigned ih_nth_plane(const struct ih_histogram *h, unsigned at)
{
    return at < h->layout.n_channels ? at : (unsigned)IH_LUMA;
}

/* The place of a valid plane among those with counters of their own. */
static inline unsigned ih_plane_at(const struct ih_histogram *h, unsigned plane)
{
    return plane != IH_LUMA                           ? plane
           : ih_own_planes(h) == h->layout.n_channels ? 0
                                                      : h->layout.n_channels;
}

/* The counters of a valid plane: [n_bins]. */
static inline uint64_t *ih_bins(const struct ih_histogram *h, unsigned plane)
{
    return h->bins + (size_t)ih_plane_at(h, plane) * h->n_bins;
}

/* The sum of the bin numbers of a valid plane: of unsigned samples, that of the values. */
static inline uint64_t *ih_sum(const struct ih_histogram *h, unsigned plane)
{
    return h->sums + ih_plane_at(h, plane);
}

/* The pixels of a valid plane that are in no bin: [IH_SPECIALS]. */
static inline uint64_t *ih_specials(const struct ih_histogram *h, unsigned plane)
{
    return h->specials[ih_plane_at(h, plane)];
}

/* Writes how many these are in the planes from first to before end, "2 NaN, 1 +infinity"; "" if
 * there are none. */
enum { IH_APART_MAX = 128 };
void ih_put_apart(char text[IH_APART_MAX], const struct ih_histogram *h, unsigned first,
                  unsigned end);

/* Moves infinities and NaN of float16 and bfloat16 out of the bins, and drops clip counts of keys
 * that are no values. Called once, after counting. */
void ih_histogram_set_apart(struct ih_histogram *h);

/* Sets the sums of all planes, and whether their bins add up to the pixels. has_bits: samples of 16
 * bits were counted as they are; their bins become those of their keys. Called once, before
 * ih_histogram_set_apart. */
void ih_histogram_sum_up(struct ih_histogram *h, bool has_bits);

/* The exact sums of a valid plane of float32 samples. */
static inline struct ih_float_sums *ih_floats(const struct ih_histogram *h, unsigned plane)
{
    return h->floats + ih_plane_at(h, plane);
}

/* The value of a bin that has pixels; of float32 the least one, not below the least sample. */
static inline double ih_value_of(const struct ih_histogram *h, unsigned plane, unsigned bin)
{
    return h->floats ? (double)ih_float_bin_value(ih_floats(h, plane), bin)
                     : ih_bin_value(h->type, bin);
}

/* The name of a plane that the histogram has: that of ih_plane_name, of the stored band. "": it has
 * no such plane. */
static inline const char *ih_histogram_plane(const struct ih_histogram *h, unsigned plane)
{
    const bool has_number = h->band_names && plane < h->layout.n_channels;
    const unsigned number = has_number ? h->band_names[plane].number : 0;
    const char *const name =
        number ? ih_plane_name((struct ih_layout){IH_CHANNELS_MAX, 0, false}, number - 1)
               : ih_plane_name(h->layout, plane);
    return name ? name : "";
}

/* Returns the name that the file gives a plane, or "" if it gives none. */
static inline const char *ih_histogram_band_name(const struct ih_histogram *h, unsigned plane)
{
    return h->band_names && plane < h->layout.n_channels ? h->band_names[plane].text : "";
}

/* Overwrites *h with an empty histogram of images of spec. Returns IH_OK, or IH_MEMORY and *h has
 * no counters. */
enum ih_status ih_histogram_init(struct ih_histogram *h, const struct ih_count_spec *spec,
                                 struct ih_error *err);

/* The same, but the bins are not set: the caller writes all of them. */
enum ih_status ih_histogram_init_unset(struct ih_histogram *h, const struct ih_count_spec *spec,
                                       struct ih_error *err);

/* Empties a histogram, which keeps its shape and memory. */
void ih_histogram_clear(struct ih_histogram *h);

/* Releases the counters and sets them to NULL. A histogram without counters may be reset too: only
 * its bins have to be set. */
void ih_histogram_reset(struct ih_histogram *h);

/* Returns the histogram with its counters, which the caller owns from now on. Sets those of *h to
 * NULL. */
struct ih_histogram ih_histogram_take(struct ih_histogram *h);

/* Overwrites *h with a copy that has counters of its own. Returns as ih_histogram_init. */
enum ih_status ih_histogram_copy(struct ih_histogram *h, const struct ih_histogram *other,
                                 struct ih_error *err);

/* Sets *both to the channels that images of both layouts have together: gray counts as RGB. Without
 * channels a layout is that of no images. Returns false if images of one have bands that images of
 * the other lack. */
bool ih_layout_join(struct ih_layout a, struct ih_layout b, struct ih_layout *both);

/* The same for two histograms, which also need the same numbers of bands. */
bool ih_histogram_join(const struct ih_histogram *a, const struct ih_histogram *b,
                       struct ih_layout *both);

/* Converts a histogram to one of images of a layout that ih_layout_join gave for it: gray counts as
 * red, green and blue, and a new alpha has no pixels. Returns IH_OK, or IH_MEMORY with *h
 * unchanged. */
enum ih_status ih_histogram_widen(struct ih_histogram *h, struct ih_layout layout,
                                  struct ih_error *err);

/* The plane of h that counts as this plane of images of such a layout; IH_PLANES_MAX: none does. */
unsigned ih_plane_as(const struct ih_histogram *h, struct ih_layout layout, unsigned plane);

/* h += other. Both have the same bins. h has the channels of other or more, as
 * ih_histogram_widen. */
void ih_histogram_add(struct ih_histogram *h, const struct ih_histogram *other);

/* How many values a bar of a drawing sums up, so that there are at most 256 bars; the last one
 * perhaps fewer. 1 for 256 bins. */
static inline unsigned ih_bar_values(unsigned n_values)
{
    return (n_values + IH_BINS - 1) / IH_BINS;
}

/* The part of the values that a drawing shows. For unsigned samples these are the values 0 to
 * n_values - 1: all values, or up to the power of two above the highest native value that occurs
 * (12-bit samples in 16 bits have 4,096). For other samples they are IH_BINS bars of equal width,
 * from the 0.1 to the 99.9 percentile of all channels but alpha; bins of float32 there are shown
 * from the least to the greatest sample. */
struct ih_shown {
    unsigned n_values;
    bool is_span;
    double low, high; /* of the span; equal for a single value, and low > high without samples */
};

struct ih_shown ih_histogram_shown(const struct ih_histogram *h);

/* The place of a value among the IH_BINS bars of a span: 0 is the left end of the first one. */
double ih_shown_bar(struct ih_shown shown, double value);

/* Sums the values of a plane in bars; those that are not shown are left out. Bins of a span are
 * split among the bars that they reach into. A single value is in the middle. */
void ih_histogram_fold_plane(const struct ih_histogram *h, struct ih_shown shown, unsigned plane,
                             uint64_t bars[IH_BINS]);

/* The width of the widest bin of float32 samples among those that are shown. */
double ih_shown_bin_width(struct ih_shown shown);

/* What a drawing of two histograms of the same type shows. */
struct ih_shown ih_shown_join(struct ih_shown a, struct ih_shown b);

static inline bool ih_shown_is_same(struct ih_shown a, struct ih_shown b)
{
    return a.n_values == b.n_values && a.is_span == b.is_span &&
           (!a.is_span || (a.low == b.low && a.high == b.high));
}

/* Overwrites *bars with a histogram of IH_BINS bins, each of as many of the values that are shown;
 * it has no sums. Returns as ih_histogram_init. */
enum ih_status ih_histogram_fold(const struct ih_histogram *h, struct ih_shown shown,
                                 struct ih_histogram *bars, struct ih_error *err);

/* Fills in the counts of a gray image that follow from its bins, so that backends need not count
 * them: the pixels clipped in any or all channels. */
void ih_histogram_derive(struct ih_histogram *h, const struct ih_count_spec *spec);

/* The number of pixels with a value from first to last. */
uint64_t ih_count_range(const uint64_t *bins, unsigned first, unsigned last);

/* Adds the n bins to *n_pixels. Returns the sum of all values that they count. */
uint64_t ih_add_values(const uint64_t *bins, unsigned n, uint64_t *n_pixels);

/*
 * Returns the highest of n bars of a drawn histogram; n is at least 1. Overwrites some.
 *
 * without_spikes   the highest that is no spike. One in 32 bars is higher than a reference bar; a
 *                  bar more than three times as high as the reference is a spike
 */
uint64_t ih_highest_bar(uint64_t *bars, size_t n, bool without_spikes);

/* Returns true if the counts of an image agree: each valid plane has n_pixels, in bins or specials,
 * each sum is that of its bins, all <= any <= n_pixels. False means a bug in a backend, never bad
 * input. */
bool ih_histogram_consistent(const struct ih_histogram *h);

/* A percentile of choice is in millionths of a percent, so that its decimals are exact. */
enum { IH_PERCENT = 1000000, IH_PERCENT_KEY_MAX = 16 };

/* The bin of the smallest value that occurs whose cumulative count is at least the share of the
 * plane's count; UINT_MAX without pixels. */
unsigned ih_percentile(const struct ih_histogram *h, unsigned plane, uint32_t millionths);

/* Reads n bytes of digits with an optional point: 0 to 100, at most 6 decimals. */
bool ih_percent_parse(const char *text, size_t n, uint32_t *millionths);

/* "p99.9". Returns key. */
const char *ih_percent_key(uint32_t millionths, char key[IH_PERCENT_KEY_MAX]);

extern const unsigned ih_percentile_ranks[IH_PERCENTILES]; /* 1 5 25 50 75 95 99 */

enum { IH_STATISTICS_MAX = 32 };               /* rows that the table may have */
extern const struct ih_field ih_stats_table[]; /* what ih_stats_fields (imghist.h) returns */

/* Computes the statistics of one plane; imghist.h declares the struct. */
void ih_stats_compute(const struct ih_histogram *h, unsigned plane,
                      const struct ih_measure *measure, struct ih_stats *out);

/* The same in three steps: count, sum, mean (not of floats) and numbers of pixels; all but the
 * entropy, which takes half of the time; and the entropy. */
void ih_stats_sum(const struct ih_histogram *h, unsigned plane, const struct ih_measure *measure,
                  struct ih_stats *out);
void ih_stats_describe(const struct ih_histogram *h, unsigned plane,
                       const struct ih_measure *measure, struct ih_stats *out);
double ih_stats_entropy(const struct ih_histogram *h, unsigned plane, const struct ih_stats *stats);

/* Mean linear-light luminance Y of the image, 0 to 1: BT.709 weights of sRGB-decoded values (IEC
 * 61966-2-1), computed from the channel histograms. For gray the mean of the decoded values. NaN
 * without pixels. */
double ih_mean_luminance(const struct ih_histogram *h);

/* The same in two steps, for many images: the decoded value of each 8-bit value, and the mean.
 * The second step decodes native values; n_bins - 1 is white. */
void ih_srgb_decode(double linear[IH_BINS]);
double ih_mean_luminance_by(const struct ih_histogram *h, const double linear[IH_BINS]);

#endif
