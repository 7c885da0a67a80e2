/* Scans of the library: sources of every kind, items in their order, and how a scan ends. */
#include "tests/support/library_data.h"
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(name, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_pgm(const char *name, int value)
{
    char bytes[20];
    write_file(name, bytes, (size_t)snprintf(bytes, sizeof bytes, "P5 1 1 255\n%c", value));
}

/* A folder to work in, with photos/{1,2}.pgm and photos/text, and text. */
static int enter_folder(void **state)
{
    char *folder = strdup("/tmp/imghist-test-XXXXXX");
    *state = folder;
    if (!folder || !mkdtemp(folder) || chdir(folder) != 0 || mkdir("photos", 0700) != 0 ||
        mkdir("empty", 0700) != 0)
        return -1;
    write_pgm("photos/1.pgm", 1);
    write_pgm("photos/2.pgm", 2);
    write_file("photos/text", "no image\n", 9);
    write_file("text", "no image\n", 9);
    write_file("list", "photos/1.pgm\n", 13);
    return 0;
}

static int leave_folder(void **state)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", (const char *)*state);
    free(*state);
    return chdir("/") != 0 || system(command) != 0;
}

static struct ih_scan *open_scan(struct ih_context *context, const struct ih_scan_settings *s)
{
    struct ih_scan *scan = NULL;
    struct ih_error err;
    assert_int_equal(ih_scan_open(context, s, sizeof *s, &scan, &err), IH_OK);
    return scan;
}

/* Asserts what the next item is. sum: of gray, of an image or a total. */
static void assert_next(struct ih_scan *scan, enum ih_item_kind kind, const char *path,
                        uint64_t source, uint64_t sum)
{
    const struct ih_item *item = NULL;
    struct ih_stats stats;
    struct ih_counts *counts = open_counts();
    const bool has_counts = kind == IH_ITEM_IMAGE || kind == IH_ITEM_TOTAL;
    assert_int_equal(ih_scan_next(scan, &item, NULL), IH_OK);
    assert_int_equal(item->kind, kind);
    assert_string_equal(item->path, path);
    assert_int_equal(item->source, source);
    assert_int_equal(ih_item_counts(item, counts, NULL), has_counts ? IH_OK : IH_USAGE);
    if (has_counts) {
        assert_int_equal(ih_counts_stats(counts, 0, &stats, sizeof stats, NULL), IH_OK);
        assert_int_equal(stats.sum, sum);
    }
    ih_counts_close(counts);
}

/* Asserts how the scan ends, twice, and closes it. */
static void assert_end(struct ih_scan *scan, enum ih_status status, const char *path)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct ih_item *item = NULL;
        struct ih_error err;
        assert_int_equal(ih_scan_next(scan, &item, &err), status);
        assert_int_equal(err.status, status);
        assert_true(ih_scan_is_ready(scan, 0));
        if (i == 0 && path)
            assert_string_equal(item->path, path);
        if (status == IH_END)
            assert_null(item);
    }
    ih_scan_close(scan);
}

#define FOLDER_TEST(name) TEST_WITH(name, enter_folder, leave_folder)

FOLDER_TEST(files_and_folders)
{
    static const char *const paths[] = {"photos/2.pgm", "photos", "text", "empty", "nothing"};
    struct ih_context *context = open_cpu();
    for (unsigned n_threads = 0; n_threads < 3; n_threads++) {
        struct ih_scan *s = open_scan(
            context, &(struct ih_scan_settings){
                         .paths = paths, .n_paths = 5, .list = "list", .n_threads = n_threads});
        assert_next(s, IH_ITEM_IMAGE, "photos/2.pgm", 0, 2);
        assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 1, 1);
        assert_next(s, IH_ITEM_IMAGE, "photos/2.pgm", 1, 2);
        assert_next(s, IH_ITEM_SKIPPED, "photos/text", 1, 0);
        assert_next(s, IH_ITEM_FOLDER_END, "photos", 1, 0);
        assert_next(s, IH_ITEM_FAILURE, "text", 2, 0);
        assert_next(s, IH_ITEM_FAILURE, "empty", 3, 0);
        assert_next(s, IH_ITEM_FOLDER_END, "empty", 3, 0);
        assert_next(s, IH_ITEM_FAILURE, "nothing", 4, 0);
        assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 5, 1);
        assert_end(s, IH_END, NULL);
    }
    ih_context_close(context);
}

/* Asserts that the next item is of a label with this sum of gray. */
static void assert_label(struct ih_scan *scan, const char *path, unsigned label, uint64_t sum)
{
    const struct ih_item *item = NULL;
    struct ih_counts *counts = open_counts(), *copy = open_counts();
    struct ih_summary s;
    struct ih_stats stats;
    assert_int_equal(ih_scan_next(scan, &item, NULL), IH_OK);
    assert_string_equal(item->path, path);
    assert_int_equal(ih_item_counts(item, counts, NULL), IH_OK);
    assert_int_equal(ih_counts_add(copy, counts, NULL), IH_OK);
    ih_counts_close(counts);
    ih_counts_summary(copy, &s, sizeof s);
    assert_int_equal(s.has_label, 1);
    assert_int_equal(s.label, label);
    assert_string_equal(s.mask, "labels");
    assert_int_equal(ih_counts_stats(copy, 0, &stats, sizeof stats, NULL), IH_OK);
    assert_int_equal(stats.sum, sum);
    ih_counts_close(copy);
}

FOLDER_TEST(labels_of_a_folder_and_of_a_file)
{
    static const char *const paths[] = {"zones/a.pgm", "zones/b.pgm"};
    const struct ih_scan_settings all = {.paths = paths, .n_paths = 2, .labels = "labels"};
    struct ih_context *context = open_cpu();
    struct ih_error err;
    assert_int_equal(mkdir("zones", 0700) | mkdir("labels", 0700), 0);
    write_file("zones/a.pgm", "P5 3 1 255\n\1\2\4", 14);
    write_file("zones/b.pgm", "P5 2 2 255\n\1\2\4\10", 15);
    write_file("labels/a.pgm", "P5 3 1 255\n\5\0\5", 14);
    write_file("labels/b.pgm", "P5 2 2 65535\n\1\0\0\0\0\0\1\0", 21);
    struct ih_scan *s = open_scan(context, &all);
    assert_label(s, "zones/a.pgm#0", 0, 2);
    assert_label(s, "zones/a.pgm#5", 5, 5);
    assert_label(s, "zones/b.pgm#0", 0, 6);
    assert_label(s, "zones/b.pgm#256", 256, 9);
    assert_end(s, IH_END, NULL);
    struct ih_scan_settings some = all;
    some.has_ignore_label = 1;
    s = open_scan(context, &some);
    assert_label(s, "zones/a.pgm#5", 5, 5);
    assert_label(s, "zones/b.pgm#256", 256, 9);
    assert_end(s, IH_END, NULL);
    some.labels = "labels/a.pgm"; /* for both images; one has another size */
    s = open_scan(context, &some);
    assert_next(s, IH_ITEM_IMAGE, "zones/a.pgm#5", 0, 5);
    assert_next(s, IH_ITEM_FAILURE, "zones/b.pgm", 1, 0);
    assert_end(s, IH_END, NULL);
    some.labels = "labels/none.pgm";
    assert_int_equal(ih_scan_open(context, &some, sizeof some, &s, &err), IH_IO);
    assert_int_equal(ih_scan_open(context, &some, sizeof some, &s, NULL), IH_IO);
    some.labels = NULL; /* a label that is ignored, but no labels */
    assert_int_equal(ih_scan_open(context, &some, sizeof some, &s, &err), IH_USAGE);
    some = all;
    some.is_fed = 1;
    s = open_scan(context, &some);
    assert_int_equal(ih_scan_add(s, &(struct ih_scan_source){.bytes = "P5", .size_bytes = 2},
                                 sizeof(struct ih_scan_source), &err),
                     IH_USAGE);
    assert_string_equal(err.message, "labels: the sources are paths");
    ih_scan_close(s);
    ih_context_close(context);
}

static ptrdiff_t read_pgm(void *user, void *buffer, size_t size_bytes)
{
    static const char pgm[] = "P5 1 1 255\n\x07";
    size_t *at = user;
    const size_t n = size_bytes > 0 && *at < sizeof pgm - 1 ? 1 : 0;
    memcpy(buffer, pgm + *at, n);
    *at += n;
    return (ptrdiff_t)n;
}

static enum ih_status add(struct ih_scan *scan, struct ih_scan_source source)
{
    return ih_scan_add(scan, &source, sizeof source, NULL);
}

FOLDER_TEST(sources_that_are_added)
{
    static const char *const paths[] = {"photos/1.pgm"};
    static const uint8_t pixels[] = {10, 20, 30};
    const struct ih_array array = {.data = pixels, .width = 3, .height = 1, .n_channels = 1};
    const struct ih_array invalid = {.data = pixels, .width = 3, .height = 1, .n_channels = 4097};
    size_t at = 0;
    struct ih_context *context = open_cpu();
    struct ih_scan *s = open_scan(
        context, &(struct ih_scan_settings){
                     .paths = paths, .n_paths = 1, .list = "list", .is_fed = 1, .n_threads = 2});
    assert_true(ih_scan_wants_source(s));
    assert_int_equal(add(s, (struct ih_scan_source){.path = "photos"}), IH_OK);
    assert_int_equal(add(s, (struct ih_scan_source){.array = &array,
                                                    .array_bytes = sizeof array,
                                                    .path = "pixels"}),
                     IH_OK);
    assert_int_equal(
        add(s, (struct ih_scan_source){.array = &invalid, .array_bytes = sizeof invalid}),
        IH_USAGE);
    assert_int_equal(add(s, (struct ih_scan_source){.bytes = "P5 1 1 255\n\x05", .size_bytes = 12}),
                     IH_OK);
    assert_int_equal(add(s, (struct ih_scan_source){.read = read_pgm, .read_user = &at}), IH_OK);
    assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 0, 1);
    assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 1, 1);
    assert_next(s, IH_ITEM_IMAGE, "photos/2.pgm", 1, 2);
    assert_next(s, IH_ITEM_SKIPPED, "photos/text", 1, 0);
    assert_next(s, IH_ITEM_FOLDER_END, "photos", 1, 0);
    assert_next(s, IH_ITEM_IMAGE, "pixels", 2, 60);
    assert_next(s, IH_ITEM_IMAGE, "", 3, 5);
    assert_next(s, IH_ITEM_IMAGE, "", 4, 7);
    assert_false(ih_scan_is_ready(s, 10)); /* it waits for sources */
    ih_scan_add_end(s);
    assert_false(ih_scan_wants_source(s));
    assert_int_equal(add(s, (struct ih_scan_source){.path = "photos"}), IH_USAGE);
    assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 5, 1);
    assert_end(s, IH_END, NULL);
    ih_context_close(context);
}

/* A scan can be closed at any time, also while it waits for sources. */
FOLDER_TEST(closed_early)
{
    struct ih_context *context = open_cpu();
    for (unsigned n_added = 0; n_added < 200; n_added += 40) {
        struct ih_scan *s =
            open_scan(context, &(struct ih_scan_settings){.is_fed = 1, .n_threads = 3});
        for (unsigned i = 0; i < n_added; i++)
            assert_int_equal(add(s, (struct ih_scan_source){.path = "photos"}), IH_OK);
        if (n_added > 0)
            assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 0, 1);
        ih_scan_close(s);
    }
    ih_context_close(context);
}

FOLDER_TEST(only_images)
{
    static const char *const paths[] = {"photos", "photos/1.pgm", "run.ndjson"};
    struct ih_context *context = open_cpu();
    write_file("run.ndjson", "{\"schema\":\"imghist/2\"}\n", 23);
    struct ih_scan *s = open_scan(
        context, &(struct ih_scan_settings){.paths = paths, .n_paths = 3, .takes_only_images = 1});
    assert_next(s, IH_ITEM_FAILURE, "photos", 0, 0);
    assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 1, 1);
    assert_next(s, IH_ITEM_FAILURE, "run.ndjson", 2, 0);
    assert_end(s, IH_END, NULL);
    ih_context_close(context);
}

/* A damaged result file ends the scan, and so does one that is refused; items before it stay. */
FOLDER_TEST(result_files_that_end_a_scan)
{
    static const char *const paths[] = {"photos/1.pgm", "run.ndjson", "photos/2.pgm"};
    struct ih_context *context = open_cpu();
    write_file("run.ndjson", "{\"schema\":\"imghist/2\"}\n", 23);
    for (unsigned refuses = 0; refuses < 2; refuses++) {
        struct ih_scan *s = open_scan(
            context,
            &(struct ih_scan_settings){.paths = paths, .n_paths = 3, .refuses_records = refuses});
        assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 0, 1);
        assert_end(s, refuses ? IH_USAGE : IH_CORRUPT, "run.ndjson");
    }
    ih_context_close(context);
}

FOLDER_TEST(shards_divide_the_sources)
{
    static const char *const paths[] = {"photos/1.pgm", "photos/2.pgm", "text"};
    struct ih_context *context = open_cpu();
    struct ih_scan *s = open_scan(
        context,
        &(struct ih_scan_settings){.paths = paths, .n_paths = 3, .shard = 1, .n_shards = 2});
    assert_next(s, IH_ITEM_IMAGE, "photos/1.pgm", 0, 1);
    assert_next(s, IH_ITEM_FAILURE, "text", 2, 0);
    assert_end(s, IH_END, NULL);
    ih_context_close(context);
}

FOLDER_TEST(invalid_settings)
{
    static const struct ih_scan_settings invalid[] = {
        {.shard = 3, .n_shards = 2}, {.n_shards = 2}, {.is_fed = 2}, {.list = "missing"}};
    struct ih_context *context = open_cpu();
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        struct ih_scan *scan = NULL;
        struct ih_error err;
        assert_int_equal(ih_scan_open(context, &invalid[i], sizeof invalid[i], &scan, &err),
                         invalid[i].list ? IH_IO : IH_USAGE);
        assert_null(scan);
    }
    ih_context_close(context);
}
