/*
 * Decodes a progressive JPEG with all scans at once and in the ordinary way, as planes and as
 * pixels. Checks that status, message and counts agree, and that idle cores are given back.
 *
 * Include it after every_source.h, and decode_all.h before that.
 */
#ifndef IH_TESTS_FUZZ_PROGRESSIVE_H
#define IH_TESTS_FUZZ_PROGRESSIVE_H

/* False: certainly no progressive JPEG. Saves the threads. */
static inline bool may_be_progressive(const uint8_t *bytes, size_t size)
{
    if (size < 3 || bytes[0] != 0xFF || bytes[1] != 0xD8 || bytes[2] != 0xFF)
        return false;
    return memmem(bytes, size, "\xFF\xC2", 2) != NULL;
}

/* Counts the channels of all pixels. */
static inline enum ih_status count_pixels(struct ih_decode *d, struct ih_histogram *got,
                                          struct ih_error *err)
{
    struct decoded all = {.status = IH_OK};
    const struct ih_count_spec spec = {
        IH_LAYOUT(d->info.layout.n_channels), IH_UINT8, IH_BINS, &ih_luma_none, 0, 255};
    enum ih_status status = read_all(d, 5, &all, err);
    if (status == IH_OK)
        status = ih_histogram_init(got, &spec, err);
    for (unsigned c = 0; c < d->info.layout.n_channels && status == IH_OK; c++)
        memcpy(ih_bins(got, c), all.counts[c], IH_BINS * sizeof *got->bins);
    return status;
}

/* Counts the planes. An image without planes has no counts. */
static inline enum ih_status count_planes(struct ih_decode *d, struct ih_histogram *got,
                                          struct ih_error *err)
{
    static struct ih_counter counter;
    const struct ih_count_spec spec = {IH_LAYOUT(3), IH_UINT8, IH_BINS, &ih_luma_bt709, 0, 255};
    const size_t planes_bytes = ih_decode_planes_bytes(d);
    if (planes_bytes == 0)
        return IH_OK;
    PROMISED(ih_counter_begin(&counter, &ih_count_tables, &spec, NULL) == IH_OK);
    enum ih_status status = read_all_planes(d, planes_bytes, &counter, err);
    if (status == IH_OK)
        ih_counter_end(&counter, got);
    return status;
}

/* from_pixels: all_scans_from_pixels of the options */
static inline enum ih_status count_jpeg(const uint8_t *bytes, size_t size, uint64_t max_pixels,
                                        uint64_t from_pixels, unsigned n_idle_cores,
                                        bool gives_pixels, struct ih_histogram *got,
                                        struct ih_error *err)
{
    struct ih_budget budget;
    struct ih_reader src = {0};
    atomic_uint n_idle = n_idle_cores;
    struct ih_decode d;
    ih_budget_init(&budget, (uint64_t)1 << 26);
    const struct ih_decode_options options = {.max_pixels = max_pixels,
                                              .budget = &budget,
                                              .n_idle_cores = &n_idle,
                                              .is_lenient = size % 2 == 0,
                                              .all_scans_from_pixels = from_pixels};
    memset(got, 0, sizeof *got);
    ih_reader_open_memory(&src, bytes, size);
    enum ih_status status = ih_decode_open(&d, &src, &options, err);
    if (status == IH_OK) {
        status = gives_pixels ? count_pixels(&d, got, err) : count_planes(&d, got, err);
        ih_decode_close(&d);
    }
    ih_reader_reset(&src);
    PROMISED(atomic_load(&n_idle) == n_idle_cores);
    PROMISED(budget.taken_bytes == 0);
    ih_budget_destroy(&budget);
    return status;
}

static inline bool is_same(const struct ih_histogram *a, const struct ih_histogram *b)
{
    const size_t n = ih_own_planes(a) * ((size_t)a->n_bins + 1); /* bins and sums */
    return ih_layout_is_same(a->layout, b->layout) && a->n_pixels == b->n_pixels &&
           memcmp(&a->any_low, &b->any_low, 4 * sizeof a->any_low) == 0 &&
           (n == 0 || memcmp(a->bins, b->bins, n * sizeof *a->bins) == 0);
}

static inline void check_progressive(const uint8_t *bytes, size_t size, uint64_t max_pixels)
{
    static struct ih_histogram ordinary, at_once;
    if (!may_be_progressive(bytes, size))
        return;
    for (unsigned pixels = 0; pixels < 2; pixels++) {
        struct ih_error why = {0}, err = {0};
        if (pixels == 0 && !ih_counter_takes_planes(&ih_count_tables))
            continue;
        const enum ih_status status =
            count_jpeg(bytes, size, max_pixels, UINT64_MAX, 3, pixels == 1, &ordinary, &why);
        for (unsigned n_idle_cores = 0; n_idle_cores < 4; n_idle_cores += 3) {
            PROMISED(count_jpeg(bytes, size, max_pixels, 1, n_idle_cores, pixels == 1, &at_once,
                                &err) == status);
            if (status != IH_OK)
                PROMISED(strcmp(err.message, why.message) == 0);
            else
                PROMISED(is_same(&ordinary, &at_once));
            ih_histogram_reset(&at_once);
        }
        ih_histogram_reset(&ordinary);
    }
}

#endif
