#include "histogram/compare.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- 128-bit integers, which C11 lacks ---- */

struct wide {
    uint64_t high, low;
};

static struct wide wide_multiply(uint64_t a, uint64_t b)
{
    const uint64_t a1 = a >> 32, a0 = a & UINT32_MAX, b1 = b >> 32, b0 = b & UINT32_MAX;
    const uint64_t low = a0 * b0, left = a1 * b0 + (low >> 32);
    const uint64_t right = a0 * b1 + (left & UINT32_MAX);
    return (struct wide){a1 * b1 + (left >> 32) + (right >> 32), right << 32 | (low & UINT32_MAX)};
}

static bool wide_is_less(struct wide a, struct wide b)
{
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

static struct wide wide_add(struct wide a, struct wide b)
{
    const uint64_t low = a.low + b.low;
    return (struct wide){a.high + b.high + (low < a.low), low};
}

/* a - b; b is at most a. */
static struct wide wide_subtract(struct wide a, struct wide b)
{
    return (struct wide){a.high - b.high - (a.low < b.low), a.low - b.low};
}

static double to_double(struct wide a)
{
    return (double)a.high * 0x1p64 + (double)a.low;
}

/* a / b, which is at most 65535: the integer part exactly, then the rest. */
static double wide_divide(struct wide a, struct wide b)
{
    unsigned whole = 0;
    for (; !wide_is_less(a, b); whole++)
        a = wide_subtract(a, b);
    return whole + to_double(a) / to_double(b);
}

/* ---- distances ---- */

/* F_a(v) - F_b(v) is the difference of c_a * n_b and c_b * n_a, divided by n_a * n_b; c counts the
 * values up to v. No n exceeds 2^57, or 2^49 if native (total.h), so the sum of all v stays below
 * 2^122. */
static struct ih_distance distance(const uint64_t *a, const uint64_t *b, enum ih_sample_type type,
                                   unsigned n_bins)
{
    const uint64_t n_a = ih_count_range(a, 0, n_bins - 1), n_b = ih_count_range(b, 0, n_bins - 1);
    const struct wide whole = wide_multiply(n_a, n_b);
    struct wide sum = {0, 0}, most = {0, 0};
    uint64_t c_a = 0, c_b = 0;
    double emd = 0; /* of floats, whose bins are not equally far apart */
    if (n_a == 0 || n_b == 0)
        return (struct ih_distance){(double)NAN, (double)NAN};
    for (unsigned v = 0; v < n_bins; v++) {
        c_a += a[v];
        c_b += b[v];
        const struct wide x = wide_multiply(c_a, n_b), y = wide_multiply(c_b, n_a);
        const struct wide gap = wide_is_less(x, y) ? wide_subtract(y, x) : wide_subtract(x, y);
        sum = wide_add(sum, gap);
        most = wide_is_less(most, gap) ? gap : most;
        if (ih_is_float(type) && (gap.high || gap.low)) /* there are counts below and above */
            emd += to_double(gap) / to_double(whole) *
                   (ih_bin_value(type, v + 1) - ih_bin_value(type, v));
    }
    return (struct ih_distance){wide_divide(most, whole),
                                ih_is_float(type) ? emd : wide_divide(sum, whole)};
}

/* Of each plane of images of a layout that has the channels of both; those that a side lacks are
 * NaN. Returns the largest. planes: NULL if only that is wanted. */
static struct ih_distance compare_planes(const struct ih_histogram *a, const struct ih_histogram *b,
                                         struct ih_layout layout, struct ih_distance *planes)
{
    struct ih_distance largest = {(double)NAN, (double)NAN};
    for (unsigned i = 0; i <= layout.n_channels; i++) {
        const unsigned p = i < layout.n_channels ? i : (unsigned)IH_LUMA;
        const unsigned p_a = ih_plane_as(a, layout, p), p_b = ih_plane_as(b, layout, p);
        struct ih_distance d = {(double)NAN, (double)NAN};
        if (p_a < IH_PLANES_MAX && p_b < IH_PLANES_MAX && a->n_bins == b->n_bins &&
            a->type == b->type)
            d = distance(ih_bins(a, p_a), ih_bins(b, p_b), a->type, a->n_bins);
        if (planes)
            planes[p] = d;
        largest.ks = fmax(largest.ks, d.ks); /* ignores NaN */
        largest.emd = fmax(largest.emd, d.emd);
    }
    return largest;
}

enum ih_status ih_totals_compare(struct ih_total *a, struct ih_total *b, struct ih_comparison *out,
                                 struct ih_error *err)
{
    struct ih_layout layout;
    if (!ih_histogram_join(&a->sum, &b->sum, &layout))
        return ih_error_set(err, IH_USAGE, "the images of both sides have different bands");
    out->largest = compare_planes(&a->sum, &b->sum, layout, out->planes);
    if (ih_histogram_widen(&a->sum, layout, err) != IH_OK ||
        ih_histogram_widen(&b->sum, layout, err) != IH_OK)
        return IH_MEMORY;
    ih_total_result(a, &out->sides[0]);
    ih_total_result(b, &out->sides[1]);
    return IH_OK;
}

enum ih_status ih_result_compare(const struct ih_result *result, const struct ih_total *reference,
                                 struct ih_distance *distance, struct ih_error *err)
{
    const struct ih_histogram *h = &result->histogram, *of_reference = &reference->sum;
    struct ih_joint_measure measure = reference->measure;
    struct ih_layout layout;
    if (h->type != of_reference->type && h->n_pixels > 0 && of_reference->n_pixels > 0 &&
        !(ih_is_unsigned(h->type) && ih_is_unsigned(of_reference->type)))
        return ih_error_set(err, IH_UNSUPPORTED,
                            "has samples of %s, the reference of %s: they are not compared",
                            ih_sample_type_name(h->type), ih_sample_type_name(of_reference->type));
    if (h->n_bins != of_reference->n_bins && h->n_pixels > 0 && of_reference->n_pixels > 0)
        return ih_error_set(err, IH_UNSUPPORTED,
                            "has %u bins, the reference %u: counts of different bins are not "
                            "compared; count both again with 256 bins",
                            h->n_bins, of_reference->n_bins);
    if (!ih_histogram_join(h, of_reference, &layout))
        return ih_error_set(err, IH_UNSUPPORTED, "has other bands than the reference");
    const enum ih_status status = ih_joint_measure_add(&measure, result, err);
    if (status == IH_OK)
        *distance = compare_planes(h, of_reference, layout, NULL);
    return status;
}

/* ---- fingerprints ---- */

static uint64_t hash_plane(uint64_t hash, const struct ih_histogram *h, unsigned plane)
{
    const uint64_t *const bins = ih_bins(h, plane);
    for (unsigned v = 0; v < h->n_bins; v++)
        if (bins[v] > 0)
            hash = ih_hash_number(ih_hash_number(hash, v), bins[v]);
    for (unsigned i = 0; i < IH_SPECIALS; i++)
        hash = ih_hash_number(hash, ih_specials(h, plane)[i]);
    return hash;
}

uint64_t ih_fingerprint(const struct ih_histogram *h)
{
    uint64_t hash = ih_hash_text(IH_HASH_START, ih_sample_type_name(h->type));
    hash = ih_hash_number(ih_hash_number(hash, h->n_bins), h->n_pixels);
    for (unsigned i = 0; i < h->n_planes; i++) {
        const unsigned plane = ih_nth_plane(h, i);
        const bool is_alpha = strcmp(ih_histogram_plane(h, plane), "alpha") == 0;
        const bool is_gray = plane == 0 && h->layout.n_colours == 1;
        if (is_alpha && ih_bins(h, plane)[h->n_bins - 1] == h->n_pixels)
            continue;
        for (unsigned k = 0; k < (is_gray ? 3 : 1); k++)
            hash = hash_plane(hash, h, plane);
    }
    return hash;
}
