#include "histogram/result.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ih_range_names[IH_RANGES] = {"", "full", "limited"};

/* ---- names ---- */

bool ih_result_is_of_stdin(const struct ih_result *r)
{
    const bool is_frame = !r->is_total && strncmp(r->path, "-#", 2) == 0 && r->path[2] != '\0' &&
                          r->path[2 + strspn(r->path + 2, "0123456789")] == '\0';
    return is_frame || strcmp(r->path, "-") == 0;
}

const char *ih_result_word(const struct ih_result *r)
{
    return r->is_total ? "group" : r->has_label ? "zone" : "image";
}

/* ---- depth ---- */

bool ih_result_is_reduced(const struct ih_result *r)
{
    return !r->is_total && r->info.source_depth > 8 && r->histogram.type == IH_UINT8 &&
           r->measure.range.high == 0;
}

unsigned ih_result_few_bits(const struct ih_result *r)
{
    const unsigned n_bins = r->histogram.n_bins;
    unsigned largest = 0, bits = 8;
    if (r->info.source_depth != 16 || r->measure.range.high)
        return 0;
    for (unsigned p = 0; p < r->histogram.layout.n_colours; p++)
        for (unsigned i = largest; i < n_bins; i++)
            largest = ih_bins(&r->histogram, p)[i] ? i : largest;
    while (bits < 15 && (((1u << bits) - 1) * (n_bins - 1) + 32767) / 65535 < largest)
        bits++;
    return largest > 0 && bits < 15 ? bits : 0;
}

void ih_result_put_depth(char text[IH_DEPTH_TEXT_MAX], const struct ih_result *r)
{
    const bool is_reduced = ih_result_is_reduced(r);
    const unsigned depth = r->info.source_depth, few = is_reduced ? ih_result_few_bits(r) : 0;
    if (!ih_is_unsigned(r->histogram.type)) {
        const struct ih_shown shown = ih_histogram_shown(&r->histogram);
        strcpy(text, ih_sample_type_name(r->histogram.type));
        if (r->histogram.type == IH_FLOAT32 && shown.low < shown.high)
            strcpy(ih_put_digits(stpcpy(text + strlen(text), " in bins up to "),
                                 ih_shown_bin_width(shown), 3),
                   " wide");
        return;
    }
    const int n = snprintf(text, IH_DEPTH_TEXT_MAX, "%u bit%s%s", depth, depth == 1 ? "" : "s",
                           is_reduced ? " reduced to 8" : "");
    if (few > 0)
        snprintf(text + n, (size_t)(IH_DEPTH_TEXT_MAX - n), ", but only %u seem in use", few);
}

bool ih_result_is_within(const struct ih_result *r, struct ih_shown shown)
{
    const struct ih_layout l = r->histogram.layout;
    for (unsigned i = 0; i < l.n_channels - l.has_alpha && shown.is_span; i++) {
        struct ih_stats stats;
        ih_stats_compute(&r->histogram, i, &r->measure, &stats);
        if (stats.count > 0 && (stats.min < shown.low || stats.max > shown.high))
            return false;
    }
    return true;
}

/* ---- statistics ---- */

void ih_result_compute_stats(struct ih_result *r)
{
    const struct ih_histogram *h = &r->histogram;
    const unsigned n = h->bins ? ih_own_planes(h) : 0;
    r->stats = n > 0 ? malloc(n * sizeof *r->stats) : NULL;
    for (unsigned i = 0; i < n && r->stats; i++)
        ih_stats_compute(h, ih_nth_plane(h, i), &r->measure, &r->stats[i]);
}

/* ---- checking ---- */

/* Fills in sum[plane]. Returns the number of pixels, or UINT64_MAX if there are more than any
 * result may have. */
static uint64_t add_up(struct ih_histogram *h, unsigned plane)
{
    const uint64_t n_max = UINT64_MAX / (h->n_bins - 1); /* so that no sum overflows */
    const uint64_t *bins = ih_bins(h, plane);
    uint64_t n = 0, sum = 0;
    for (unsigned k = 0; k < IH_SPECIALS; k++) {
        if (ih_specials(h, plane)[k] > n_max - n)
            return UINT64_MAX;
        n += ih_specials(h, plane)[k];
    }
    for (unsigned v = 0, n_bins = h->n_bins; v < n_bins; v++) {
        if (bins[v] > n_max - n)
            return UINT64_MAX;
        n += bins[v];
        sum += v * bins[v];
    }
    *ih_sum(h, plane) = sum;
    return n;
}

static bool is_size_possible(const struct ih_result *r)
{
    const struct ih_image_info *info = &r->info;
    const uint64_t n = r->histogram.n_pixels;
    if (r->is_total)
        return true;
    if (info->height != 0 && info->width > UINT64_MAX / info->height)
        return false;
    struct ih_rectangle all = {0, 0, info->width, info->height};
    struct ih_region region;
    struct ih_error ignored;
    if (r->measure.region &&
        (ih_region_parse(r->measure.region, &region, &ignored) != IH_OK ||
         ih_region_place(&region, info->width, info->height, &all, &ignored) != IH_OK))
        return false;
    const uint64_t n_all = all.width * all.height;
    return r->measure.alpha == IH_ALPHA_COUNT && !r->measure.mask ? n == n_all : n <= n_all;
}

/* Clip counts of the colour channels bound those of any and all of them. */
static bool are_clips_possible(const struct ih_result *r, bool is_low, uint64_t any, uint64_t all)
{
    const struct ih_histogram *h = &r->histogram;
    const unsigned n_colours = ih_is_unsigned(h->type) ? h->layout.n_colours : 0;
    uint64_t most = 0, least = h->n_pixels, n_clipped = 0;
    for (unsigned c = 0; c < n_colours; c++) {
        const uint64_t *bins = ih_bins(h, c);
        const uint64_t n = is_low ? ih_count_range(bins, 0, r->measure.clip_low)
                                  : ih_count_range(bins, r->measure.clip_high, h->n_bins - 1);
        most = n > most ? n : most;
        least = n < least ? n : least;
        n_clipped += n; /* at most three times n_pixels */
    }
    if (n_colours == 0)
        return any == 0 && all == 0;
    if (n_colours == 1)
        return any == most && all == most;
    return all <= any && any >= most && all <= least && any <= n_clipped && any <= h->n_pixels;
}

enum ih_status ih_result_check(struct ih_result *r, struct ih_error *err)
{
    struct ih_histogram *h = &r->histogram;
    const bool is_empty_total = r->is_total && r->n_images == 0;
    if (is_empty_total ? h->layout.n_channels != 0 || h->n_pixels != 0
                       : h->layout.n_channels < 1 || h->layout.n_channels > IH_CHANNELS_MAX)
        return ih_error_set(err, IH_CORRUPT, "no image has these channels");
    if (r->measure.clip_low >= r->measure.clip_high || r->measure.clip_high >= h->n_bins)
        return ih_error_set(err, IH_CORRUPT, "the clip limits contradict each other");
    for (unsigned i = 0; i < h->n_planes; i++) {
        const unsigned p = ih_nth_plane(h, i);
        const bool is_alpha = h->layout.has_alpha && i + 1 == h->layout.n_channels;
        const uint64_t n = add_up(h, p);
        if (r->is_total && is_alpha ? n > h->n_pixels : n != h->n_pixels)
            return ih_error_set(err, IH_CORRUPT, "the histogram of %s has another number of pixels",
                                ih_histogram_plane(h, p));
    }
    if (!is_size_possible(r))
        return ih_error_set(err, IH_CORRUPT, "width and height give another number of pixels");
    if (!are_clips_possible(r, true, h->any_low, h->all_low) ||
        !are_clips_possible(r, false, h->any_high, h->all_high))
        return ih_error_set(err, IH_CORRUPT, "the clip counts contradict the histogram");
    return IH_OK;
}
