/*
 * Native bins: every file both ways, and the counter of native samples against a plain one.
 *
 * Samples become 8-bit ones by round(v * 255 / max), a function of each value. So the 256 bins of
 * each stored channel follow from its native bins, whatever the format: each decoder's two ways
 * judge each other.
 */
#include "tests/support/library_data.h"

#include "count/count_native.h"
#include "device/backend.h"
#include <dirent.h>

static struct ih_context *open_bins(unsigned bins)
{
    const struct ih_settings settings = {.device = "cpu", .bins = bins};
    struct ih_context *context = NULL;
    struct ih_error err;
    assert_int_equal(ih_context_open(&settings, sizeof settings, &context, &err), IH_OK);
    return context;
}

/* ---- files ---- */

struct both {
    struct ih_context *contexts[2]; /* 256, native */
    struct ih_counts *counts[2];
    unsigned n_native, n_refused, n_files;
};

static void check_planes(const struct ih_counts *reduced, const struct ih_counts *native)
{
    const unsigned n_bins = ih_counts_n_bins(native), max = n_bins - 1;
    const unsigned n_channels = summary_of(reduced).n_channels;
    assert_int_equal(summary_of(native).n_channels, n_channels);
    assert_int_equal(summary_of(native).n_pixels, summary_of(reduced).n_pixels);
    for (unsigned p = 0; p < n_channels; p++) {
        const uint64_t *bins = ih_counts_bins(native, p);
        uint64_t follows[IH_BINS] = {0};
        for (unsigned v = 0; v < n_bins; v++)
            follows[(v * 510u + max) / (2 * max)] += bins[v];
        assert_memory_equal(ih_counts_bins(reduced, p), follows, sizeof follows);
    }
    assert_int_equal(ih_counts_n_bins(reduced), IH_BINS);
}

static void check_file(struct both *b, const char *path)
{
    struct ih_error err[2];
    enum ih_status status[2];
    for (unsigned i = 0; i < 2; i++)
        status[i] = ih_count_file(b->contexts[i], path, b->counts[i], &err[i]);
    b->n_files++;
    fprintf(stderr, "%s\n", path);
    if (status[1] == IH_UNSUPPORTED && strstr(err[1].message, "native bins")) {
        b->n_refused++;
        return;
    }
    if (status[1] != status[0])
        fprintf(stderr, "%s\n", err[1].message);
    assert_int_equal(status[1], status[0]);
    if (status[0] != IH_OK)
        return;
    const unsigned depth = summary_of(b->counts[0]).source_depth;
    const bool is_native = ih_counts_n_bins(b->counts[1]) > IH_BINS;
    b->n_native += is_native;
    assert_int_equal(is_native, depth > 8);
    check_planes(b->counts[0], b->counts[1]);
}

static void check_folder(struct both *b, const char *folder)
{
    const char *tests = getenv("TESTS");
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", tests ? tests : "tests", folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", tests ? tests : "tests", folder, entry->d_name);
        check_file(b, path);
    }
    closedir(dir);
}

TEST(files_both_ways)
{
    struct both b = {.contexts = {open_bins(0), open_bins(IH_BINS_NATIVE)}};
    struct ih_error err;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ih_counts_open(&b.counts[i], &err), IH_OK);
    check_folder(&b, "formats/files");
    fprintf(stderr, "%u files, %u native, %u refused\n", b.n_files, b.n_native, b.n_refused);
    assert_true(b.n_native >= 10);
    for (unsigned i = 0; i < 2; i++) {
        ih_counts_close(b.counts[i]);
        ih_context_close(b.contexts[i]);
    }
}
