/* Conditions on records: what they mean, and that every mistake is reported at its column. */
#include "tests/support/histograms.h"
#include "tests/support/test.h"
#include "tests/support/write_record.h"

#include "output/condition.h"

/* Those of records, with fewer formats. */
static const char *const formats[] = {"jpeg", "png", "gif", NULL};
static struct ih_field_set fields(void)
{
    return (struct ih_field_set){.columns = plain_columns()->of_record,
                                 .of_channel = plain_columns()->of_channel,
                                 .which = "fields are the columns of --csv=images, and texts are "
                                          "quoted",
                                 .highest = 255,
                                 .formats = formats};
}

static enum ih_status parse(const char *text, struct ih_condition **condition, struct ih_error *err)
{
    const struct ih_field_set all = fields();
    return ih_condition_parse(text, &all, condition, err);
}

/* 10 gray pixels: 1 of value 0, 5 of 100, 4 of 255. */
static void make_result(struct ih_result *r)
{
    static const struct {
        unsigned value, n;
    } pixels[] = {{0, 1}, {100, 5}, {255, 4}};
    *r = (struct ih_result){.path = "a b.jpg", .status = IH_OK};
    r->info = (struct ih_image_info){
        .format = "jpeg", .width = 5, .height = 2, .layout = IH_LAYOUT(1), .source_depth = 8};
    r->measure = (struct ih_measure){.luma = &ih_luma_bt709, .clip_low = 0, .clip_high = 255};
    r->histogram = make_histogram(1);
    r->histogram.n_pixels = 10;
    for (unsigned i = 0; i < 3; i++)
        add_values(&r->histogram, 0, pixels[i].value, pixels[i].n);
    ih_histogram_derive(&r->histogram, &(struct ih_count_spec){IH_LAYOUT(1), IH_UINT8, IH_BINS,
                                                               &ih_luma_bt709, 0, 255});
}

static bool holds(const char *text, const struct ih_result *r)
{
    struct ih_condition *condition = NULL;
    struct ih_error err = {0};
    struct ih_record_view view;
    if (parse(text, &condition, &err) != IH_OK)
        fail_msg("%s: %s", text, err.message);
    ih_record_view_init(&view, r);
    const bool result = ih_condition_holds(condition, &view);
    ih_condition_free(condition);
    return result;
}

static void check_error(const char *text, const char *expected)
{
    struct ih_condition *condition = NULL;
    struct ih_error err = {0};
    assert_int_equal(parse(text, &condition, &err), IH_USAGE);
    assert_string_equal(err.message, expected);
    assert_null(condition);
}

static void check_all(const struct ih_result *r, bool expected, const char *const *texts)
{
    for (; *texts; texts++)
        if (holds(*texts, r) != expected)
            fail_msg("%s is %s", *texts, expected ? "false" : "true");
}

#define LIST(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

TEST(comparisons)
{
    struct ih_result r;
    make_result(&r);
    check_all(
        &r, true,
        LIST("width == 5", "width != 4", "width < 6", "width <= 5", "width > 4", "width >= 5",
             "5 == width", "4.5 < width", "width > height", "width > 0", "width<6", "pixels == 10",
             "depth == 8", "mean_luma == 152", "median == 100", "p01 == 0", "p99 == 255",
             "stddev > 88.91 and stddev < 88.92", "entropy > 1.3609 and entropy < 1.361",
             "mean_luminance > 0.4637 and mean_luminance < 0.4638", "mean_luminance > 40%",
             "format == 'jpeg'", "format == \"jpeg\"", "file == 'a b.jpg'", "file > 'a'",
             "status == 'ok'", "status != 'error'", "blown_any == 4 pixels", "blown_all == 4pixels",
             "blown_any == 40%", "blown_any_share == 0.4", "blown_any_share == 40%",
             "crushed_any == 10%", "crushed_all >= 10%", "blown_any == 40 %", "40\t%== blown_any",
             "blown_any <= 100% and blown_any >= 0%", "blown_any == 4.0 pixels", "format == 'JPEG'",
             "'Jpeg' == format", "status == 'OK'", "format != 'png'", "format > 'abc'",
             "error != 'x' or height == 2", "blown_any_share >= 0"));
    check_all(&r, false,
              LIST("width == 4", "width != 5", "width < 5", "width <= 4", "width > 5", "width >= 6",
                   "blown_any > 40%", "blown_any < 40%", "blown_any > 4 pixels", "format == 'PNG'",
                   "file == 'A B.JPG'", "file == ''"));
    ih_histogram_reset(&r.histogram);
}

TEST(logic)
{
    struct ih_result r;
    make_result(&r);
    check_all(&r, true,
              LIST("width == 5 and height == 2", "width == 4 or height == 2", "not width == 4",
                   "not not width == 5", "width == 5 or width == 5 and width == 4",
                   "(width == 4 or width == 5) and height == 2", "not (width == 4 and height == 2)",
                   "not width == 4 and height == 2", "((((width == 5))))"));
    check_all(&r, false,
              LIST("width == 5 and height == 3", "width == 4 or height == 3", "not width == 5",
                   "(width == 5 or width == 5) and width == 4", "not (width == 5 or height == 3)"));
    ih_histogram_reset(&r.histogram);
}

/* Without the value a comparison is unknown, and so is its opposite. */
TEST(missing_values)
{
    struct ih_result r;
    make_result(&r);
    check_all(&r, false, LIST("error == 'x'", "not error == 'x'", "error != 'x' and width == 5"));
    check_all(&r, true, LIST("error == 'x' or width == 5", "not (error == 'x' and width == 4)"));
    r.status = IH_CORRUPT;
    snprintf(r.error.message, sizeof r.error.message, "damaged PNG");
    check_all(&r, true, LIST("status == 'error'", "error == 'damaged PNG'", "file == 'a b.jpg'"));
    check_all(&r, false, LIST("width < 5", "not width < 5", "blown_any < 5%", "status == 'ok'"));
    ih_histogram_reset(&r.histogram);
    make_result(&r);
    r.is_total = true;
    check_all(&r, true, LIST("pixels == 10", "blown_any == 40%"));
    check_all(&r, false, LIST("width == 5", "not width == 5", "format != 'png'"));
    ih_histogram_clear(&r.histogram);
    check_all(&r, true, LIST("pixels == 0", "blown_any == 0%"));
    check_all(&r, false, LIST("mean_luma >= 0", "median >= 0", "blown_any_share >= 0"));
    ih_histogram_reset(&r.histogram);
}

TEST(errors)
{
    check_error("", "column 1: a field, number or quoted text is missing");
    check_error("width", "column 6: a comparison such as > is missing; quote the whole condition");
    check_error("width = 5", "column 7: write == to compare");
    check_error("width > ", "column 9: a field, number or quoted text is missing");
    check_error(
        "widht > 5",
        "column 1: no field 'widht'; did you mean width? fields are the columns of --csv=images, "
        "and texts are quoted");
    check_error("brightness > 5", "column 1: no field 'brightness'; fields are the columns of "
                                  "--csv=images, and texts are quoted");
    check_error("width > 5 height", "column 11: 'and' or 'or' is missing");
    check_error("width > 5 and", "column 14: a field, number or quoted text is missing");
    check_error("(width > 5", "column 11: a closing parenthesis is missing");
    check_error("width > 5)", "column 10: 'and' or 'or' is missing");
    check_error("width > 'x'", "column 1: a number is compared with a text");
    check_error("1 > 2", "column 1: the comparison has no field");
    check_error("height > 1 and width > 5%", "column 16: the field has no percentage");
    check_error("file == 'x", "column 9: the quote has no end");
    check_error("width > .", "column 9: not a number");
    check_error("width > 5 & height", "column 11: write and, or, not");
    check_error("width > 123456789012345678901", "column 9: not a number");
}

/* Statistics of channels, of 10 pixels with R 1..10, G all 7, B 0 and 255 in turn. */
static void make_colours(struct ih_result *r)
{
    make_result(r);
    ih_histogram_reset(&r->histogram);
    r->info.layout = ih_layout_of(3);
    r->histogram = make_histogram(3);
    r->histogram.n_pixels = 10;
    for (unsigned i = 1; i <= 10; i++) {
        const unsigned values[] = {i, 7, i % 2 * 255};
        for (unsigned c = 0; c < 3; c++)
            add_values(&r->histogram, c, values[c], 1);
        add_values(&r->histogram, IH_LUMA, i * 20, 1);
    }
}

TEST(statistics_of_channels)
{
    struct ih_result r;
    make_colours(&r);
    check_all(&r, true,
              LIST("red.mean == 5.5", "red.median == 5", "red.p25 == 3", "red.max > 9",
                   "red.p99.9 == 10", "red.p0 == 1", "red.p10 == 1", "red.p10.000001 == 2",
                   "green.stddev == 0", "green.mode_share == 100%",
                   "green.mode == 7 and green.distinct == 1", "blue.blown == 50%",
                   "blue.blown == 5 pixels", "blue.crushed >= 5 pixel", "blue.step == 255",
                   "blue.mean > red.mean", "luma.p99 == 200", "p40 == 80", "p40.5 == 100",
                   "p99 == 200", "red.skewness < 0.001 and red.skewness > -0.001",
                   "blue.kurtosis == -2", "red.p99 == 10 and blue.mean < 200", "not red.p99 > 250",
                   "gray.mean > 5 or red.mean > 5", "blue.blown > 0", "red.blown == 0",
                   "red.count == 10 pixels"));
    check_all(&r, false,
              LIST("gray.mean >= 0", "not gray.mean >= 0", "alpha.p50 == 0", "green.skewness < 5",
                   "not green.kurtosis < 5", "red.p10 > 1"));
    ih_histogram_reset(&r.histogram);
    make_result(&r);
    check_all(&r, true, LIST("gray.p50 == 100", "gray.otsu == 100", "luma.blown == 40%"));
    check_all(&r, false, LIST("red.p50 == 100", "not red.p50 == 100"));
    r.status = IH_CORRUPT;
    check_all(&r, false, LIST("gray.mean >= 0", "p50 >= 0"));
    check_error("red.mena > 5",
                "column 1: no field 'red.mena'; did you mean red.mean? fields are the columns of "
                "--csv=images, and texts are quoted");
    check_error("skewnes > 5",
                "column 1: no field 'skewnes'; did you mean luma.skewness? fields are the columns "
                "of --csv=images, and texts are quoted");
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"purple.mean", "red.p100.5", "red.p1.2345678"};
        char text[64], expected[160];
        snprintf(text, sizeof text, "%s > 5", names[i]);
        snprintf(expected, sizeof expected,
                 "column 1: no field '%s'; fields are the columns of --csv=images, "
                 "and texts are quoted",
                 names[i]);
        check_error(text, expected);
    }
    check_error("red.p99 > 255", "column 1: red.p99 goes from 0 to 255: the comparison decides "
                                 "nothing (without --bins=native)");
    check_error("red.entropy > 8", "column 1: red.entropy goes from 0 to 8: the comparison decides "
                                   "nothing (without --bins=native)");
    check_error("red.p99 > 5%", "column 1: the field has no percentage");
    check_error("red.mean == red.mean", "column 1: a field is compared with itself");
    ih_histogram_reset(&r.histogram);
}

TEST(patterns)
{
    struct ih_result r;
    make_result(&r);
    r.path = "2024/wedding/a.jpg";
    check_all(&r, true,
              LIST("file ~ '*wedding*'", "file ~ '*.jp?'", "file !~ '*.png'", "file ~ '2024/*'",
                   "format ~ 'jp*g' and width == 5", "file ~ '*[abc].jpg'",
                   "not file ~ 'wedding'"));
    check_all(&r, false,
              LIST("file ~ 'wedding'", "file ~ '*.JPG'", "file !~ '*wedding*'", "error ~ '*'",
                   "error !~ '*'"));
    static const char why[] =
        "column 1: ~ compares a field of text with a quoted pattern, as in file ~ '*.jpg'";
    check_error("width ~ '5'", why);
    check_error("file ~ format", why);
    check_error("'*.jpg' ~ file", why);
    check_error("file ~ 5", why);
    ih_histogram_reset(&r.histogram);
}

/* What --fail-if says: each field once, with its value. */
TEST(descriptions)
{
    static const char *const texts[][2] = {
        {"blown_any > 30% and (blown_any < 50% or width == 5)", "blown_any 4 (40%), width 5"},
        {"mean_luma > 1 or red.p99 > 5", "mean_luma 152.000000, red.p99 unknown"},
        {"file ~ '*' and gray.p99.9 > 5", "file 'a b.jpg', gray.p99.9 255"}};
    struct ih_result r;
    struct ih_record_view view;
    make_result(&r);
    ih_record_view_init(&view, &r);
    for (unsigned i = 0; i < 3; i++) {
        struct ih_condition *condition = NULL;
        char text[200];
        assert_int_equal(parse(texts[i][0], &condition, NULL), IH_OK);
        ih_condition_describe(condition, &view, text, sizeof text);
        assert_string_equal(text, texts[i][1]);
        ih_condition_describe(condition, &view, text, 12);
        assert_int_equal(strlen(text), 11);
        ih_condition_free(condition);
    }
    ih_histogram_reset(&r.histogram);
}

/* Comparisons that no record can decide are mistakes: a text that the field never has, a percentage
 * above 100, a share above 1, a part of a pixel. */
TEST(never)
{
    check_error("status == 'failed'", "column 1: status is never 'failed', but one of ok, error");
    check_error("width > 5 and 'failed' != status",
                "column 15: status is never 'failed', but one of ok, error");
    check_error("format == 'JPG'", "column 1: format is never 'jpg', but one of jpeg, png, gif");
    check_error("status == error", "column 1: two fields of text are compared; quote a text");
    check_error("blown_any > 150%",
                "column 1: a percentage goes from 0 to 100: the comparison decides nothing");
    check_error("blown_any > -5%",
                "column 1: a percentage goes from 0 to 100: the comparison decides nothing");
    check_error("blown_any > 0.05",
                "column 1: blown_any counts pixels; write 5% for a share of them");
    check_error("0.5 < crushed_all",
                "column 1: crushed_all counts pixels; write 50% for a share of them");
    check_error("blown_any > 5",
                "column 1: blown_any counts pixels; write 5% for a share of them, or 5 pixels");
    check_error("1 <= crushed_any",
                "column 1: crushed_any counts pixels; write 1% for a share of them, or 1 pixel");
    check_error("blown_any > 1000", "column 1: blown_any counts pixels; write 1000 pixels");
    check_error("red.blown > 1.5",
                "column 1: red.blown counts pixels; write 1.5% for a share of them");
    check_error("median > 5 pixels", "column 1: median is no number of pixels");
    check_error("blown_any < 0%",
                "column 1: a percentage goes from 0 to 100: the comparison decides nothing");
    check_error("100% < blown_any",
                "column 1: a percentage goes from 0 to 100: the comparison decides nothing");
    check_error("blown_any_share > 5",
                "column 1: blown_any_share goes from 0 to 1; write a percentage, as in 5%");
    check_error("mean_luminance > 50",
                "column 1: mean_luminance goes from 0 to 1; write a percentage, as in 5%");
}

static void check_range(const char *field, double high, const char *beyond)
{
    char text[64], expected[128];
    const int n =
        snprintf(expected, sizeof expected,
                 "column 1: %s goes from 0 to %.10g: the comparison decides nothing", field, high);
    if (high >= 8 && high <= 255 && high != 32)
        strcpy(expected + n, " (without --bins=native)");
    snprintf(text, sizeof text, "%s > %.10g", field, high);
    check_error(text, expected);
    snprintf(text, sizeof text, "%.10g < %s", high, field);
    check_error(text, expected);
    snprintf(text, sizeof text, "%s <= %s", field, beyond);
    check_error(text, expected);
    expected[n] = '\0';
    snprintf(text, sizeof text, "%s < 0", field);
    check_error(text, expected);
    snprintf(text, sizeof text, "%s == -0.1", field);
    check_error(text, expected);
}

/* The range of every number: that of 8-bit values, of their entropy in bits, and of depths. */
TEST(ranges)
{
    check_range("mean_luma", 255, "300");
    check_range("median", 255, "255.5");
    check_range("p01", 255, "256");
    check_range("p99", 255, "256");
    check_range("stddev", 127.5, "200");
    check_range("entropy", 8, "9");
    check_range("depth", 32, "100");
    check_range("source_max", 4294967295, "4294967296");
    for (unsigned i = 0; i < IH_N_FIELDS; i++) {
        char text[64], expected[128];
        const struct ih_column *const field = &ih_schema[i];
        if (!field->name || ih_column_type(field) == IH_TYPE_TEXT || field->high > 0)
            continue;
        snprintf(text, sizeof text, "0 > %s", field->name);
        snprintf(expected, sizeof expected,
                 "column 1: %s is never below 0: the comparison decides nothing", field->name);
        check_error(text, expected);
        if (ih_column_type(field) != IH_TYPE_INTEGER)
            continue;
        snprintf(text, sizeof text, "%s != 1.5%s", field->name,
                 field->in & IH_SHARE ? " pixels" : "");
        snprintf(expected, sizeof expected,
                 "column 1: %s is a whole number: the comparison decides nothing", field->name);
        check_error(text, expected);
    }
    struct ih_field_set native = fields();
    struct ih_condition *condition = NULL;
    struct ih_error err;
    native.highest = IH_NATIVE_BINS_MAX - 1;
    assert_int_equal(
        ih_condition_parse("median > 65534 and stddev < 32767 and entropy > 15 and depth < 32",
                           &native, &condition, &err),
        IH_OK);
    ih_condition_free(condition);
    assert_int_equal(ih_condition_parse("median > 65535", &native, &condition, &err), IH_USAGE);
    assert_string_equal(err.message,
                        "column 1: median goes from 0 to 65535: the comparison decides nothing");
    check_error("width == width", "column 1: a field is compared with itself");
    struct ih_result r;
    make_result(&r); /* the ends of a range are no mistake: the comparison asks for a value */
    check_all(&r, true,
              LIST("mean_luma >= 0", "p99 <= 255", "p99 >= 255", "depth <= 32", "entropy <= 8",
                   "stddev < 127.5", "median > 99.5", "width < 5.5", "255 == p99"));
    ih_histogram_reset(&r.histogram);
}

/* What other languages write. */
TEST(other_signs)
{
    check_error("width => 5", "column 7: write >= to compare");
    check_error("width =< 5", "column 7: write <= to compare");
    check_error("width > 5 AND height > 5", "column 11: write and, or, not in small letters");
    check_error("NOT width > 5",
                "column 1: a field or number is missing; write and, or, not in small letters");
    check_error("Width > 5", "column 1: no field 'Width'; did you mean width? fields are the "
                             "columns of --csv=images, and texts are quoted");
    check_error("width < 1e999", "column 9: not a number in plain digits, as 5, 0.5 or 5%");
    check_error("width < 5px", "column 9: not a number in plain digits, as 5, 0.5 or 5%");
}

TEST(limits)
{
    char text[8192] = "";
    struct ih_condition *condition = NULL;
    struct ih_error err = {0};
    for (unsigned i = 0; i < 33; i++)
        strcat(text, i % 2 ? "not " : "(");
    strcat(text, "width > 1");
    assert_int_equal(parse(text, &condition, &err), IH_USAGE);
    assert_non_null(strstr(err.message, "nested too deeply"));
    strcpy(text, "width > 1");
    for (unsigned i = 0; i < 127; i++)
        strcat(text, " or file == 'x'");
    assert_int_equal(parse(text, &condition, &err), IH_OK);
    ih_condition_free(condition);
    strcat(text, " or file == 'x'");
    assert_int_equal(parse(text, &condition, &err), IH_USAGE);
    assert_non_null(strstr(err.message, "too long"));
}

/* Words in a random order never crash, and what parses has one value. */
TEST(random_words)
{
    static const char *const words[] = {
        "width ",     "file ", "== ", "> ",   "5 ",   "5% ", "'x' ", "~ ",        "pixels ",
        "red.p99.9 ", "( ",    ") ",  "not ", "and ", "or ", "-",    "blown_any "};
    struct ih_result r;
    unsigned n_parsed = 0;
    uint32_t random = 1;
    make_result(&r);
    for (unsigned i = 0; i < 200000; i++) {
        char text[256] = "";
        struct ih_condition *condition = NULL;
        struct ih_error err = {0};
        for (unsigned n = 1 + i % 9; n > 0; n--) {
            random = random * 1664525 + 1013904223;
            strcat(text, words[(random >> 16) % (sizeof words / sizeof *words)]);
        }
        if (parse(text, &condition, &err) == IH_OK) {
            struct ih_record_view view;
            ih_record_view_init(&view, &r);
            (void)ih_condition_holds(condition, &view);
            n_parsed++;
        }
        ih_condition_free(condition);
    }
    assert_true(n_parsed > 100);
    ih_histogram_reset(&r.histogram);
}
