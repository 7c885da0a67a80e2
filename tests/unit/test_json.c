/*
 * The bytes of JSON. Expected text abbreviates histograms, <10:2 255:1> for two pixels of value 10
 * and one of 255, and writes ' for ".
 */
#include "tests/support/histograms.h"
#include "tests/support/test.h"
#include "tests/support/write_record.h"

#include "output/output.h"

enum { N_MAX = 3 };

/* Writes the histogram <10:2 255:1> at p as an array of 256 counts. Returns the text after it. */
static const char *put_histogram(FILE *f, const char *p)
{
    unsigned long long bins[IH_BINS] = {0};
    for (p++; *p != '>'; p += *p == ' ') {
        char *end;
        unsigned long value = strtoul(p, &end, 10);
        assert_true(value < IH_BINS && *end == ':');
        bins[value] = strtoull(end + 1, &end, 10);
        p = end;
    }
    for (unsigned v = 0; v < IH_BINS; v++)
        fprintf(f, "%c%llu", v ? ',' : '[', bins[v]);
    putc(']', f);
    return p + 1;
}

/* Expands the abbreviations of a text. The caller frees the result. */
static char *expand(const char *text)
{
    char *expanded = NULL;
    size_t size;
    FILE *f = open_memstream(&expanded, &size);
    assert_non_null(f);
    while (*text) {
        if (*text == '<')
            text = put_histogram(f, text);
        else
            putc(*text == '\'' ? '"' : *text, f), text++;
    }
    assert_int_equal(fclose(f), 0);
    return expanded;
}

/* Returns the text of n results; the caller frees it. */
static char *write_results(const struct ih_output *output, const struct ih_result *results,
                           size_t n, bool is_verbose)
{
    const struct ih_output_options options = {.columns = plain_columns(), .verbose = is_verbose};
    struct ih_error err;
    void *state = NULL;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_int_equal(ih_output_open(output, f, &options, &state, &err), IH_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(write_record(output, state, &results[i]));
    if (output->end)
        output->end(state);
    ih_output_close(output, state);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(strlen(text), size); /* no NUL inside */
    return text;
}

static void check(const struct ih_output *output, const struct ih_result *results, size_t n,
                  bool is_verbose, const char *expected)
{
    char *actual = write_results(output, results, n, is_verbose), *all = expand(expected);
    assert_string_equal(actual, all);
    free(actual);
    free(all);
}

/* Checks that the --ndjson line of a result has a part, given in abbreviated form. */
static void check_part(const struct ih_result *r, const char *expected)
{
    char *text = write_results(&ih_output_ndjson, r, 1, false), *part = expand(expected);
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
    free(part);
    free(text);
}

static const struct ih_count_spec gray_spec = {IH_LAYOUT(1),   IH_UINT8, IH_BINS,
                                               &ih_luma_bt709, 0,        255};

static void init_result(struct ih_result *r, const char *path, unsigned n_channels, uint64_t width,
                        uint64_t height)
{
    *r = (struct ih_result){.path = path,
                            .info = {.format = "pnm",
                                     .width = width,
                                     .height = height,
                                     .layout = IH_LAYOUT(n_channels),
                                     .source_depth = 8},
                            .measure = {.luma = &ih_luma_bt709, .clip_high = 255},
                            .library = "libpnm 1",
                            .decoder_version = "pnm 1",
                            .counted_by = "cpu",
                            .kernel = "tables"};
    r->histogram = make_histogram(n_channels);
    r->histogram.n_pixels = width * height;
}

/* Pixels 0, 10, 10, 255, with statistics computed by hand as in csv.bats. 10 decodes to
 * 10/255/12.92 in linear light. */
static void init_four(struct ih_result *r, const char *path)
{
    init_result(r, path, 1, 2, 2);
    add_values(&r->histogram, 0, 0, 1);
    add_values(&r->histogram, 0, 10, 2);
    add_values(&r->histogram, 0, 255, 1);
    ih_histogram_derive(&r->histogram, &gray_spec);
}

#define FOUR_STATS                                                                           \
    "'count':4,'sum':275,'mean':68.750000,'stddev':107.608956,'min':0,'max':255,'p01':0,"    \
    "'p05':0,'p25':0,'median':10,'p75':10,'p95':255,'p99':255,'entropy':1.500000,'crushed':" \
    "1,'blown':1,'skewness':1.149673,'kurtosis':-0.670397,'mode':10,'mode_share':0.500000,"  \
    "'otsu':10,'distinct':3,'step':5,'histogram':<0:1 10:2 255:1>}"
/* What follows the size and stands before the channels, and what follows the mean luminance. */
#define SETTINGS                                                                      \
    "'source_depth':8,'reduction':'round(v*255/max)','luma_weights':'bt709','alpha':" \
    "'count','clip_limits':{'low':0,'high':255},'not_applied':[],"
#define FOUR                                                                                      \
    "'status':'ok','format':'pnm','library':'libpnm 1','width':2,'height':2,'pixels':4," SETTINGS \
    "'channels':[{'name':'gray'," FOUR_STATS ",{'name':'luma'," FOUR_STATS                        \
    "],'mean_luma':68.750000,'mean_luminance':0.251518,'srgb':true,'clip':{'crushed_any':1,"      \
    "'blown_any':1,'crushed_all':1,'blown_all':1}"

TEST(gray)
{
    struct ih_result r;
    init_four(&r, "four.pgm");
    check(&ih_output_json, &r, 1, false,
          "{'schema':'imghist/2','images':[\n{'schema':'imghist/2','version':'" IH_VERSION
          "','file':'four.pgm'," FOUR "}\n]}\n");
    check(&ih_output_ndjson, &r, 1, false,
          "{'schema':'imghist/2','version':'" IH_VERSION "','file':'four.pgm'," FOUR "}\n");
    ih_histogram_reset(&r.histogram);
}

/* The values of --clip and --luma are written, and the joint counts are not swapped. */
TEST(settings_and_joint_counts)
{
    struct ih_result r;
    init_four(&r, "a");
    r.measure.luma = &ih_luma_bt601;
    r.measure.clip_low = 9;
    r.measure.clip_high = 10;
    r.histogram.any_low = 11;
    r.histogram.any_high = 12;
    r.histogram.all_low = 13;
    r.histogram.all_high = 14;
    r.measure.alpha = IH_ALPHA_SKIP_TRANSPARENT;
    check_part(&r, "'luma_weights':'bt601','alpha':'skip-transparent',"
                   "'clip_limits':{'low':9,'high':10},'not_applied':[],'channels'");
    check_part(&r, "],'mean_luma':68.750000,'mean_luminance':0.251518,'srgb':true,"
                   "'clip':{'crushed_any':11,'blown_any':12,'crushed_all':13,'blown_all':14}}\n");
    check_part(&r, "'crushed':1,'blown':3,");
    ih_histogram_reset(&r.histogram);
}

/* What the decoder knows of the file. */
TEST(what_is_known_of_the_file)
{
    static const struct {
        unsigned not_applied;
        const char *list, *srgb;
    } cases[] = {
        {IH_NOT_APPLIED_ORIENTATION, "['orientation']", "true"},
        {IH_NOT_APPLIED_ICC_PROFILE, "['icc_profile']", "null"},
        {IH_NOT_APPLIED_GAMMA, "['gamma']", "false"},
        {IH_NOT_APPLIED_COLOUR_SPACE | IH_NOT_APPLIED_ICC_PROFILE, "['icc_profile','colour_space']",
         "false"},
        {IH_NOT_APPLIED_KNOWN, "['icc_profile','gamma','colour_space','orientation']", "false"},
    };
    struct ih_result r;
    init_four(&r, "a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[200];
        r.info.not_applied = cases[i].not_applied;
        snprintf(expected, sizeof expected, ",'not_applied':%s,'channels':", cases[i].list);
        check_part(&r, expected);
        snprintf(expected, sizeof expected, ",'srgb':%s,'clip':", cases[i].srgb);
        check_part(&r, expected);
    }
    r.info.n_frames = 7;
    r.info.range = IH_RANGE_LIMITED;
    check_part(&r, "'pixels':4,'frames':7,'source_depth':8,'range':'limited','reduction':");
    r.info.range = IH_RANGE_FULL;
    check_part(&r, ",'range':'full',");
    r.version = r.library = "";
    check_part(&r, "{'schema':'imghist/2','version':null,'file':'a','status':'ok','format':'pnm',"
                   "'library':null,");
    r.version = "9.9";
    check_part(&r, "'version':'9.9'");
    ih_histogram_reset(&r.histogram);
}

TEST(no_pixels)
{
#define NOTHING                                                                                   \
    "'count':0,'sum':0,'mean':null,'stddev':null,'min':null,'max':null,'p01':null,"               \
    "'p05':null,'p25':null,'median':null,'p75':null,'p95':null,'p99':null,'entropy':null,"        \
    "'crushed':0,'blown':0,'skewness':null,'kurtosis':null,'mode':null,'mode_share':null,'otsu':" \
    "null,"                                                                                       \
    "'distinct':0,'step':null,'histogram':<>}"
    struct ih_result r;
    init_result(&r, "nothing", 1, 0, 0);
    check(&ih_output_ndjson, &r, 1, false,
          "{'schema':'imghist/2','version':'" IH_VERSION
          "','file':'nothing','status':'ok','format':'pnm','library':'libpnm 1','width':0,"
          "'height':0,'pixels':0," SETTINGS "'channels':[{'name':'gray'," NOTHING
          ",{'name':'luma'," NOTHING "],'mean_luma':null,'mean_luminance':null,'srgb':true,"
          "'clip':{'crushed_any':0,'blown_any':0,'crushed_all':0,'blown_all':0}}\n");
    ih_histogram_reset(&r.histogram);
}

/* Neither a double nor a signed integer can hold 2^63 + 1. */
TEST(counts_are_exact_to_64_bits)
{
    static const uint64_t counts[] = {(UINT64_C(1) << 53) + 1, (UINT64_C(1) << 63) + 1, UINT64_MAX};
    static const char *const texts[] = {"9007199254740993", "9223372036854775809",
                                        "18446744073709551615"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char expected[200];
        struct ih_result r;
        init_result(&r, "huge", 1, counts[i], 1);
        add_values(&r.histogram, 0, 1, counts[i]);
        ih_histogram_derive(&r.histogram, &gray_spec);
        snprintf(expected, sizeof expected, "'width':%s,'height':1,", texts[i]);
        check_part(&r, expected);
        snprintf(expected, sizeof expected, "'count':%s,'sum':%s,'mean':1.000000,", texts[i],
                 texts[i]);
        check_part(&r, expected);
        snprintf(expected, sizeof expected, "'histogram':[0,%s,0,", texts[i]);
        check_part(&r, expected);
        ih_histogram_reset(&r.histogram);
    }
}
