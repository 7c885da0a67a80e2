/* Result files, sound and hostile. The files in tests/records are of inputs made by hand. */
#include "tests/support/each_file.h"
#include "tests/support/write_record.h"

#include "histogram/total.h"
#include "output/output.h"
#include "records/read_ahead.h"

#include <math.h>

struct outcome {
    enum ih_status status; /* of the whole file */
    struct ih_error error;
    unsigned n_records, n_failed;
    uint64_t n_pixels;
};

/* Looks at the next record before it is read: this must not change what is read. */
static enum ih_status peek_and_read(struct ih_records *records, const struct ih_result **result,
                                    struct ih_error *err)
{
    struct ih_records_place place;
    uint64_t position[IH_PLACES];
    bool is_end;
    const enum ih_status status = ih_records_peek(records, &place, position, &is_end, err);
    if (status != IH_OK)
        return status;
    const enum ih_status read = ih_records_next(records, result, err);
    assert_true(!is_end || read != IH_OK || !*result);
    return read;
}

/* Reads all records. Whatever the file is, a record that is given holds together. */
static struct outcome read_records(const void *bytes, size_t n)
{
    struct outcome o = {.n_records = 0};
    struct ih_reader src = {0};
    struct ih_records *records = NULL;
    const struct ih_result *result = NULL;
    uint8_t *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    ih_reader_open_memory(&src, copy, n);
    assert_int_equal(ih_records_open(&src, &records, &o.error), IH_OK);
    while ((o.status = peek_and_read(records, &result, &o.error)) == IH_OK && result) {
        o.n_records++;
        assert_true(result->is_read);
        assert_non_null(result->path);
        if (result->status != IH_OK) {
            o.n_failed++;
            continue;
        }
        struct ih_result again = *result;
        uint64_t sums[5];
        const size_t n_bytes = ih_own_planes(&result->histogram) * sizeof *sums;
        memcpy(sums, result->histogram.sums, n_bytes);
        assert_int_equal(ih_result_check(&again, NULL), IH_OK);
        assert_memory_equal(again.histogram.sums, sums, n_bytes);
        o.n_pixels += result->histogram.n_pixels;
    }
    if (o.status != IH_OK)
        assert_int_equal(strncmp(o.error.message, "line ", 5), 0);
    ih_records_close(records);
    ih_reader_reset(&src);
    free(copy);
    return o;
}

/* ---- sound files ---- */

static void check_images(const struct file *file)
{
    const struct outcome o = read_records(file->bytes, file->size);
    if (o.status != IH_OK)
        fail_msg("%s", o.error.message);
    assert_int_equal(o.n_records, 6);
    assert_int_equal(o.n_failed, 1);
    assert_int_equal(o.n_pixels, 4 + 2 + 2 + 4 + 4);
}

static void check_total(const struct file *file)
{
    const struct outcome o = read_records(file->bytes, file->size);
    assert_int_equal(o.status, IH_OK);
    assert_int_equal(o.n_records, 1);
    assert_int_equal(o.n_pixels, 16);
}

/* Written by an imghist with other names of clipped pixels and fewer statistics. */
static void check_earlier(const struct file *file)
{
    const struct outcome o = read_records(file->bytes, file->size);
    if (o.status != IH_OK)
        fail_msg("%s", o.error.message);
    assert_int_equal(o.n_records, 3);
    assert_int_equal(o.n_pixels, 4 + 2 + 2);
}

TEST(sound_files)
{
    assert_int_equal(for_each("records", "images.", check_images), 2);
    assert_int_equal(for_each("records", "total.", check_total), 1);
    assert_int_equal(for_each("records", "earlier.", check_earlier), 1);
}

/* ---- hostile files ---- */

/* A cut file has fewer records, and an error unless the cut is between two lines. */
static void cut(const struct file *file)
{
    const struct outcome all = read_records(file->bytes, file->size);
    for (size_t n = 0; n < file->size - 1; n += n % 1000 < 200 ? 1 : 13) {
        const struct outcome o = read_records(file->bytes, n);
        const bool is_between_lines =
            n == 0 || file->bytes[n] == '\n' || file->bytes[n - 1] == '\n';
        if (o.status == IH_OK && !is_between_lines)
            fail_msg("accepted when cut at %zu", n);
        assert_true(o.n_records <= all.n_records);
    }
}

TEST(cuts)
{
    assert_int_equal(for_each("records", "", cut), 7);
}

/* Any byte may change to any other: the file is refused, or its records hold together. */
static void change_bytes(const struct file *file)
{
    static const uint8_t values[] = {0, '\n', '"', '\\', '0', '9', ',', '{', ']', 0x80, 0xFF};
    for (size_t i = 0; i < file->size; i += 1 + i / 100)
        for (size_t v = 0; v < sizeof values; v++) {
            const uint8_t before = file->bytes[i];
            file->bytes[i] = values[v];
            read_records(file->bytes, file->size);
            file->bytes[i] = before;
        }
}

TEST(changed_bytes)
{
    assert_int_equal(for_each("records", "images.", change_bytes), 2);
    assert_int_equal(for_each("records", "total.", change_bytes), 1);
    assert_int_equal(for_each("records", "native.", change_bytes), 1);
}

/* The first line of a file as a text; owned by the caller. */
static char *first_line(const char *name)
{
    char path[PATH_SIZE];
    const char *tests = getenv("TESTS");
    snprintf(path, sizeof path, "%s/records/%s", tests ? tests : "tests", name);
    struct file file = load(path);
    uint8_t *end = memchr(file.bytes, '\n', file.size);
    assert_non_null(end);
    end[1] = '\0';
    return (char *)file.bytes;
}

/* The numbers of pixels in the bins, in the image and in the clip counts have to agree. */
TEST(no_number_of_pixels_can_change)
{
    static const char *const checked[] = {"\"histogram\":",   "\"pixels\":",    "\"crushed_any\":",
                                          "\"crushed_all\":", "\"blown_any\":", "\"blown_all\":"};
    char *line = first_line("images.ndjson");
    const size_t n = strlen(line);
    unsigned n_changed = 0;
    for (size_t i = 0; i < n; i++) {
        const char before = line[i];
        size_t key = i; /* the start of the last key before the digit */
        bool is_checked = false;
        if (before < '0' || before > '9')
            continue;
        while (key > 0 && !(line[key] == '"' && (line[key - 1] == ',' || line[key - 1] == '{')))
            key--;
        for (size_t k = 0; k < sizeof checked / sizeof *checked; k++)
            is_checked = is_checked || strncmp(line + key, checked[k], strlen(checked[k])) == 0;
        line[i] = before == '9' ? '4' : (char)(before + (before < '5' ? 4 : -4));
        if (is_checked && read_records(line, n).status == IH_OK)
            fail_msg("accepted: %.40s", line + key);
        n_changed += is_checked;
        line[i] = before;
    }
    assert_true(n_changed > 500);
    free(line);
}

/* The first line of a file with the first occurrence of a text replaced; owned by the caller. */
static char *change_line(const char *name, const char *from, const char *to)
{
    char *line = first_line(name), *changed = NULL;
    size_t n;
    const char *at = strstr(line, from);
    assert_non_null(at);
    FILE *f = open_memstream(&changed, &n);
    assert_non_null(f);
    fprintf(f, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
    assert_int_equal(fclose(f), 0);
    free(line);
    return changed;
}

/* Makes such a change, and expects a reason; NULL: none. */
static void check_change(const char *name, const char *from, const char *to, const char *reason)
{
    char *changed = change_line(name, from, to);
    const struct outcome o = read_records(changed, strlen(changed));
    if (!reason ? o.status != IH_OK
                : o.status != IH_CORRUPT || strncmp(o.error.message, "line 1: ", 8) != 0 ||
                      strcmp(o.error.message + 8, reason) != 0)
        fail_msg("%s: %d %s", to, (int)o.status, o.error.message);
    free(changed);
}

static void check_refused(const char *from, const char *to, const char *reason)
{
    check_change("images.ndjson", from, to, reason);
}

/* Expects "damaged record: KEY is WHY". */
static void check_key(const char *from, const char *to, const char *key, const char *why)
{
    char reason[200];
    snprintf(reason, sizeof reason, "damaged record: %s is %s", key, why);
    check_refused(from, to, reason);
}

/* The statistics of a record are those of its bins, whatever it says of them. */
TEST(statistics_are_computed)
{
    static const char *const changes[][2] = {
        {"\"count\":4", "\"count\":5"},
        {"\"sum\":275", "\"sum\":null"},
        {"\"stddev\":107.608956,", ""},
        {"\"median\":10", "\"median\":\"ten\""},
        {"\"entropy\":1.500000", "\"entropy\":[1e9, {\"x\":-5}]"},
        {"\"mean_luma\":68.75", "\"mean_luma\":99.75"},
        {"\"mean_luminance\":0.251518,", ""}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *changed = change_line("images.ndjson", changes[i][0], changes[i][1]);
        struct ih_reader src = {0};
        struct ih_records *records = NULL;
        const struct ih_result *result = NULL;
        struct ih_stats stats;
        struct ih_error err;
        ih_reader_open_memory(&src, (const uint8_t *)changed, strlen(changed));
        assert_int_equal(ih_records_open(&src, &records, &err), IH_OK);
        if (ih_records_next(records, &result, &err) != IH_OK || !result)
            fail_msg("%s: %s", changes[i][1], err.message);
        ih_stats_compute(&result->histogram, 0, &result->measure,
                         &stats); /* of the pixels 0, 10, 10, 255 */
        assert_int_equal(stats.count, 4);
        assert_int_equal(stats.sum, 275);
        assert_int_equal(stats.percentile[IH_MEDIAN], 10);
        assert_true(stats.entropy == 1.5 && fabs(stats.stddev - 107.608956) < 1e-6);
        ih_records_close(records);
        ih_reader_reset(&src);
        free(changed);
    }
    check_refused("\"entropy\":1.500000", "\"entropy\":1.5.0", "not JSON");
}

TEST(contradictions_of_the_histogram)
{
    check_refused("\"width\":2", "\"width\":3",
                  "damaged record: width and height give another number of pixels");
    check_refused("\"width\":2", "\"width\":18446744073709551614",
                  "damaged record: width and height give another number of pixels");
    check_refused("\"high\":250", "\"high\":256",
                  "damaged record: the clip limits contradict each other");
    check_refused("\"pixels\":4", "\"pixels\":5",
                  "damaged record: the histogram of gray has another number of pixels");
    check_refused("\"low\":5", "\"low\":251",
                  "damaged record: the clip limits contradict each other");
    check_refused("\"crushed_any\":1", "\"crushed_any\":2",
                  "damaged record: the clip counts contradict the histogram");
    check_refused("\"blown_all\":1", "\"blown_all\":0",
                  "damaged record: the clip counts contradict the histogram");
    check_refused("\"alpha\":\"count\"", "\"alpha\":\"count\",\"region\":\"1x1+0+0\"",
                  "damaged record: width and height give another number of pixels");
}

TEST(impossible_values)
{
    static const char *const changes[][3] = {
        {"\"source_depth\":8", "\"source_depth\":33", "source_depth"},
        {"\"source_depth\":8", "\"source_depth\":8,\"source_min\":5", "source_max"},
        {"\"source_depth\":8", "\"source_depth\":8,\"source_min\":5,\"source_max\":4",
         "source_max"},
        {"\"source_depth\":8", "\"source_depth\":8,\"source_max\":4294967296", "source_max"},
        {"\"high\":250", "\"high\":65536", "high"},
        {"\"name\":\"gray\"", "\"name\":\"red\"", "channels"},
        {"\"bt601\"", "\"bt2020\"", "luma_weights"},
        {"\"alpha\":\"count\"", "\"alpha\":\"skip\"", "alpha"},
        {"\"alpha\":\"count\"", "\"alpha\":\"count\",\"region\":\"1x1\"", "region"},
        {"\"alpha\":\"count\"", "\"alpha\":\"count\",\"region\":\"01x1+0+0\"", "region"},
        {"\"alpha\":\"count\"", "\"alpha\":\"count\",\"mask\":\"\"", "mask"},
        {"\"alpha\":\"count\"", "\"alpha\":\"count\",\"mask_hash\":\"5\"", "mask_hash"},
        {"\"range\":\"full\"", "\"range\":\"half\"", "range"},
        {"\"not_applied\":[]", "\"not_applied\":[\"x\"]", "not_applied"},
        {"\"status\":\"ok\"", "\"status\":\"fine\"", "status"},
        {"\"file\":", "\"file_b64\":\"YQB=\",\"file\":", "file_b64"}, /* a NUL in it */
        {"\"file\":", "\"file_b64\":\"YQ\",\"file\":", "file_b64"},
        {"\"file\":", "\"file_b64\":\"Y===\",\"file\":", "file_b64"},
        {"\"file\":", "\"n_images\":1,\"file\":", "n_images"}, /* that of a total */
        {"\"file\":", "\"records\":1,\"file\":", "records"}};  /* that of a shard's end */
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        check_key(changes[i][0], changes[i][1], changes[i][2], "impossible");
    check_refused("\"name\":\"luma\"", "\"name\":\"alpha\"",
                  "damaged record: channels is impossible: 'alpha' cannot follow 'gray'");
    check_refused("\"name\":\"gray\"", "\"name\":\"grey\"",
                  "damaged record: channels is impossible: 'grey' cannot be the first");
}

TEST(keys)
{
    check_key("\"width\":2", "\"width\":null", "width", "missing");
    check_key("\"file\":\"gray.pgm\"", "\"file\":null", "file", "missing");
    check_key("\"alpha\":\"count\",", "", "alpha", "missing");
    check_key("\"blown_any\":", "\"blown\":", "blown_any", "missing");
    check_key("\"low\":5,", "", "low", "missing");
    check_key(",\"clip\":{", ",\"klip\":{", "clip", "missing");
    check_key("\"file\":", "\"total\":true,\"file\":", "n_images", "missing");
    check_key("\"pixels\":4,", "\"pixels\":4,\"pixels\":4,", "pixels", "in the record twice");
    check_key("\"pixels\":4", "\"pixels\":4.0", "pixels", "not an integer of 64 bits");
    check_refused("imghist/2", "imghist/3", "of another imghist: this one reads imghist/2");
    check_refused("}\n", "} x\n", "text after the record");
}

/* Sums and numbers of images may fill 64 bits, but not more. */
TEST(totals_near_the_limit)
{
    struct ih_total total;
    struct ih_result huge = {
        .is_total = true, .n_images = UINT64_MAX, .measure.alpha = IH_ALPHA_COUNT};
    struct ih_error err;
    ih_total_init(&total, &IH_MEASURE_DEFAULT);
    ih_total_result(&total, &huge);
    huge.n_images = UINT64_MAX;
    huge.histogram.layout.n_channels = 1;
    huge.measure.alpha = IH_ALPHA_COUNT;
    assert_int_equal(ih_total_add(&total, &huge, &err), IH_OK);
    assert_int_equal(total.n_images, UINT64_MAX);
    assert_int_equal(ih_total_add(&total, &huge, &err), IH_LIMIT);
    huge.n_images = 1;
    assert_int_equal(ih_total_add(&total, &huge, &err), IH_LIMIT);
    assert_int_equal(total.n_images, UINT64_MAX);
    ih_total_reset(&total);
}

/* ---- native bins ---- */

/* Reads n bytes of lines, of a thread or not, and writes the records again. Returns the status of
 * the end. *text: owned by the caller. */
static enum ih_status write_again(const void *bytes, size_t n, bool ahead, char **text,
                                  size_t *n_text, struct ih_error *err)
{
    struct ih_reader src = {0};
    struct ih_records *records = NULL;
    const struct ih_result *result = NULL;
    struct ih_output_options options = {.columns = plain_columns()};
    enum ih_status status;
    void *state = NULL;
    FILE *f = open_memstream(text, n_text);
    assert_int_equal(ih_output_open(&ih_output_ndjson, f, &options, &state, err), IH_OK);
    ih_reader_open_memory(&src, bytes, n);
    assert_int_equal(ih_records_open(&src, &records, err), IH_OK);
    struct ih_read_ahead *const a = ahead ? ih_read_ahead_open(records) : NULL;
    assert_true(!ahead || a);
    while ((status = a ? ih_read_ahead_next(a, &result, err)
                       : ih_records_next(records, &result, err)) == IH_OK &&
           result)
        assert_true(write_record(&ih_output_ndjson, state, result));
    ih_output_close(&ih_output_ndjson, state);
    fclose(f);
    ih_read_ahead_close(a);
    ih_records_close(records);
    ih_reader_reset(&src);
    return status;
}

/* Records that NumPy made (tests/records/native.ndjson) are read, and written as the same bytes. */
static void check_native(const struct file *file)
{
    struct ih_error err;
    char *text = NULL;
    size_t n;
    assert_int_equal(write_again(file->bytes, file->size, false, &text, &n, &err), IH_OK);
    assert_int_equal(n, file->size);
    assert_memory_equal(text, file->bytes, n);
    free(text);
}

TEST(native)
{
    assert_int_equal(for_each("records", "native.", check_native), 1);
}

/* ---- a thread reads ahead ---- */

/* Lines with spaces after the first comma: many are short, some longer than the memory kept. */
enum { AHEAD_COPIES = 150, AHEAD_SPACES = 100 * 1000 };

static void check_ahead(const struct file *file)
{
    struct ih_error err = {0};
    char *lines = NULL, *text = NULL;
    size_t n_lines, n, n_records = 0;
    FILE *f = open_memstream(&lines, &n_lines);
    for (unsigned i = 0; i < AHEAD_COPIES; i++) {
        const char *const comma = memchr(file->bytes, ',', file->size);
        const size_t n_before = (size_t)(comma + 1 - (const char *)file->bytes);
        fwrite(file->bytes, 1, n_before, f);
        fprintf(f, "%*s", i % 7 == 3 ? AHEAD_SPACES : 0, "");
        fwrite(comma + 1, 1, file->size - n_before, f);
    }
    fclose(f);
    for (size_t i = 0; i < n_lines; i++)
        n_records += lines[i] == '\n';
    assert_int_equal(write_again(lines, n_lines, true, &text, &n, &err), IH_OK);
    assert_int_equal(n, AHEAD_COPIES * file->size);
    for (unsigned i = 0; i < AHEAD_COPIES; i++)
        assert_memory_equal(text + i * file->size, file->bytes, file->size);
    free(text);
    /* The records before a damaged line come first. */
    assert_int_equal(write_again(lines, n_lines - 100, true, &text, &n, &err), IH_CORRUPT);
    assert_in_range(n, (AHEAD_COPIES - 1) * file->size, AHEAD_COPIES * file->size - 1);
    char line[40];
    snprintf(line, sizeof line, "line %zu: ", n_records);
    assert_memory_equal(err.message, line, strlen(line));
    free(text);
    /* Closed long before the end. */
    struct ih_reader src = {0};
    struct ih_records *records = NULL;
    const struct ih_result *result = NULL;
    ih_reader_open_memory(&src, (const uint8_t *)lines, n_lines);
    assert_int_equal(ih_records_open(&src, &records, &err), IH_OK);
    struct ih_read_ahead *const a = ih_read_ahead_open(records);
    assert_non_null(a);
    assert_int_equal(ih_read_ahead_next(a, &result, &err), IH_OK);
    assert_non_null(result);
    ih_read_ahead_close(a);
    ih_records_close(records);
    ih_reader_reset(&src);
    free(lines);
}

TEST(ahead)
{
    assert_int_equal(for_each("records", "native.", check_ahead), 1);
}

TEST(native_ranges)
{
    static const char name[] = "native.ndjson", ranges[] = "[[0,1,0,0,0,0,2,0,0,0,1],[2000,1]";
    static const char *const other_splits[] = {"[[0,1],[5,2],[9,1],[2000,1]",
                                               "[[0,1,0,0,0,0,2,0,0,0,1,0,0],[1999,0,1]"};
    static const char *const refused[][2] = {
        {"[[0,1,0,0,0,0,2,0,0,0,1],[9,0],[2000,1]", "ranges is impossible"},
        {"[[2000,1],[0,1,0,0,0,0,2,0,0,0,1]", "ranges is impossible"},
        {"[[0,1,0,0,0,0,2,0,0,0,1],[2000,1],[4096,0]", "ranges is impossible"},
        {"[[0,1,0,0,0,0,2,0,0,0,1],[2000,1],[18446744073709551615,0]", "ranges is impossible"},
        {"[[0,1,0,0,0,0,2,0,0,0,1],[2000,1],[4095,0,0]", "ranges is a list of another length"},
        {"[[0,1,0,0,0,0,2,0,0,0,1],[1999],[2000,1]", "ranges is not JSON"},
        {"[[0,1,0,0,0,0,2,0,0,0,1],[],[2000,1]", "ranges is not an integer of 64 bits"},
        {"[[0,1,0,0,0,0,2,0,0,0,1],7,[2000,1]", "ranges is not JSON"}};
    for (size_t i = 0; i < sizeof other_splits / sizeof *other_splits; i++)
        check_change(name, ranges, other_splits[i], NULL);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char reason[100];
        snprintf(reason, sizeof reason, "damaged record: %s", refused[i][1]);
        check_change(name, ranges, refused[i][0], reason);
    }
}

TEST(native_fields)
{
    static const char name[] = "native.ndjson";
    static const char *const impossible[][3] = {
        {"\"bins\":4096", "\"bins\":256", "bins"},
        {"\"bins\":4096", "\"bins\":65537", "bins"},
        {"\"bins\":4096", "\"bins\":18446744073709551615", "bins"},
        {"\"none\"", "\"round(v*255/max)\"", "reduction"},
        {"\"none\"", "\"clamp(v,9,9)\"", "reduction"}};
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        char reason[100];
        snprintf(reason, sizeof reason, "damaged record: %s is impossible", impossible[i][2]);
        check_change(name, impossible[i][0], impossible[i][1], reason);
    }
    check_change(name, "\"bins\":4096", "\"bins\":4095",
                 "damaged record: ranges is impossible"); /* value 4095 */
    check_change(name, "\"bins\":4096,", "", "damaged record: histogram is missing");
    check_change(name, "\"ranges\":", "\"histogram\":", "damaged record: ranges is missing");
    check_change(name, "\"none\"", "\"clamp(v,0,4095)\"", NULL);
}
