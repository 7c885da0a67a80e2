/*
 * A progressive JPEG decoded in two halves and in the ordinary way: the verdict, its words and all
 * counts agree, and what was lent is given back.
 *
 * Include it after every_source.h, and decode_all.h before that.
 */
#ifndef IH_TESTS_HALVES_H
#define IH_TESTS_HALVES_H

/* Whether there may be a progressive frame in it, so that others cost no file and no thread. */
static inline bool may_be_progressive(const uint8_t *bytes, size_t size)
{
    if (size < 3 || bytes[0] != 0xFF || bytes[1] != 0xD8 || bytes[2] != 0xFF)
        return false;
    return memmem(bytes, size, "\xFF\xC2", 2) != NULL;
}

/* Closes the source. n_spare: processors that nobody uses */
static inline enum ih_status count_source_planes(struct ih_source *src, uint64_t max_pixels,
                                                 unsigned n_spare, struct ih_histogram *got,
                                                 struct ih_error *err)
{
    static struct ih_counter counter;
    const struct ih_count_spec spec = {3, &ih_luma_bt709, 0, 255};
    struct ih_budget budget;
    atomic_uint spare = n_spare;
    struct ih_decode d;
    ih_budget_init(&budget, (uint64_t)1 << 26);
    const struct ih_decode_options options = {
        .max_pixels = max_pixels, .budget = &budget, .n_spare = &spare, .halve_from_pixels = 1};
    memset(got, 0, sizeof *got);
    enum ih_status status = ih_decode_open(&d, src, &options, err);
    if (status == IH_OK) {
        const size_t planes_bytes = ih_decode_planes_bytes(&d);
        if (planes_bytes > 0) {
            ih_counter_begin(&counter, &ih_count_tables, &spec);
            status = read_all_planes(&d, planes_bytes, &counter, err);
            if (status == IH_OK)
                ih_counter_end(&counter, got);
        }
        ih_decode_close(&d);
    }
    ih_source_reset(src);
    PROMISED(atomic_load(&spare) == n_spare);
    ih_budget_destroy(&budget); /* it has all */
    return status;
}

static inline void decode_halves(const uint8_t *bytes, size_t size, uint64_t max_pixels)
{
    struct ih_histogram one, two;
    struct ih_error why = {0}, err = {0};
    struct ih_source memory = {0}, file = {0};
    char path[40];
    if (!may_be_progressive(bytes, size) || !ih_counter_takes_planes(&ih_count_tables))
        return;
    ih_source_open_memory(&memory, bytes, size);
    const enum ih_status status = count_source_planes(&memory, max_pixels, 0, &one, &why);
    const int fd = file_of(bytes, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    PROMISED(ih_source_open_path(&file, path, &err) == IH_OK);
    close(fd);
    PROMISED(count_source_planes(&file, max_pixels, 1, &two, &err) == status);
    if (status != IH_OK)
        PROMISED(strcmp(err.message, why.message) == 0);
    PROMISED(memcmp(&one, &two, sizeof one) == 0);
}

#endif
