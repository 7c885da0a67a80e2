/* The fast method: it begins, adds pixels or planes, and ends. count_tables.c says how it works. */
#include "count/count.h"

/* Clearing and folding the pairs takes 10 us, which they save on 40,000 pixels of a photo. */
enum { PAIRS_FROM_PIXELS = 1 << 16 };

static void begin(struct ih_counter *t)
{
    t->fold_pixels = IH_COUNT_FOLD_PIXELS;
    t->pairs_from_pixels = PAIRS_FROM_PIXELS;
    t->vectors = ih_count_vectors_best();
    t->finds_noise = ih_count_finds_noise();
    t->is_noise = false;
    t->n_looks = t->n_alike = 0;
    t->n_unseen_bytes = 0;
    t->n_chunk = 0;
    t->n_unfolded = 0;
    t->has_tables = t->has_pairs = false;
}

/* Without luma, any_low and any_high hold the pixels with two or more clipped samples, which are
 * fewer. The bins count a pixel once for each of its clipped samples. */
static void join_clips(struct ih_histogram *h, const struct ih_count_spec *spec)
{
    uint64_t n_low = 0, n_high = 0;
    for (unsigned c = 0; c < 3; c++) {
        n_low += ih_count_range(ih_bins(h, c), 0, spec->clip_low);
        n_high += ih_count_range(ih_bins(h, c), spec->clip_high, IH_BINS - 1);
    }
    h->any_low = n_low - h->any_low - h->all_low;
    h->any_high = n_high - h->any_high - h->all_high;
}

static void end(struct ih_counter *t)
{
    struct ih_histogram *h = &t->totals;
    ih_count_chunk(t, true);
    if (t->has_tables)
        ih_count_fold(t);
    if (t->spec.layout.n_channels >= 3 && !ih_count_has_luma(t))
        join_clips(h, &t->spec);
    h->adds_up = true;
    for (unsigned i = 0; i < ih_own_planes(h); i++) {
        uint64_t n_pixels = 0;
        h->sums[i] = ih_add_values(h->bins + (size_t)i * IH_BINS, IH_BINS, &n_pixels);
        h->adds_up &= n_pixels == h->n_pixels;
    }
    ih_histogram_derive(h, &t->spec);
}

const struct ih_count_method ih_count_tables = {
    .begin = begin,
    .add = ih_count_add,
    .add_planar = ih_count_add_planar,
    .add_planes = ih_count_add_planes,
    .end = end,
};
