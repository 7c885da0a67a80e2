/*
 * The chart of --bench, read from its SVG: what is written where, and how long the bars are.
 */
#include "tests/support/test.h"

#include "bench/report.h"
#include <math.h>

#define BLUE "#2e5ade" /* bars of the CPU and of the GPU, and warnings, in the dark theme */
#define GREEN "#3dbe2c"
#define WARNING "#ffb02e"

/* One rung of a test's report; a negative speed: it did not run. */
struct measured {
    const char *task, *device, *name;
    double gb_per_s;
};

static const struct measured two_tasks[] = {
    {"histogram_gray", "cpu", "read", 100},   {"histogram_gray", "cpu", "tables", 10},
    {"histogram_gray", "cuda", "read", 1000}, {"histogram_gray", "cuda", "shared", 900},
    {"sum_float", "cpu", "read", 100},        {"sum_float", "cpu", "float", 1},
};
enum { N_TWO = sizeof two_tasks / sizeof two_tasks[0] };

static const struct ih_bench_task *find_task(const char *name)
{
    const struct ih_bench_task *task = ih_bench_tasks;
    while (strcmp(task->name, name) != 0)
        assert_true(++task < ih_bench_tasks + ih_bench_n_tasks);
    return task;
}

static void add(struct ih_bench_chart *chart, const struct measured *m, enum ih_bench_status status,
                const char *reason)
{
    const struct ih_bench_rung rung = {
        .device = m->device, .name = m->name, .is_read = strcmp(m->name, "read") == 0};
    struct ih_bench_row row;
    ih_bench_row_begin(&row, find_task(m->task), find_task(m->task)->timed[0], &rung);
    row.n_bytes = 1 << 20;
    row.gb_per_s = m->gb_per_s;
    if (status != IH_BENCH_OK)
        ih_bench_row_fail(&row, status, reason);
    ih_bench_chart_add(chart, &row);
}

/* The chart as a file of the format that name ends in; free() it. */
static char *draw(struct ih_bench_chart *chart, const char *name, unsigned width, unsigned height,
                  size_t *size_bytes)
{
    const struct ih_bench_head head = {1 << 20, 4, NULL, "no GPU"};
    const struct ih_chart_options look = {
        .width = width, .height = height, .format = ih_chart_format_of(name)};
    unsigned char *file = NULL;
    struct ih_error err = {0};
    assert_int_equal(ih_bench_chart_draw(chart, &head, &look, &file, size_bytes, &err), IH_OK);
    char *text = malloc(*size_bytes + 1);
    assert_non_null(text);
    memcpy(text, file, *size_bytes);
    text[*size_bytes] = '\0';
    free(file);
    free(chart);
    return text;
}

static char *draw_svg(struct ih_bench_chart *chart, unsigned width, unsigned height)
{
    size_t size_bytes;
    return draw(chart, "a.svg", width, height, &size_bytes);
}

static struct ih_bench_chart *chart_of(const struct measured *rungs, size_t n)
{
    struct ih_bench_chart *chart = ih_bench_chart_new();
    assert_non_null(chart);
    for (size_t i = 0; i < n; i++)
        add(chart, &rungs[i], IH_BENCH_OK, "");
    return chart;
}

struct line {
    double left, right, y, size;
    char text[128];
};

/* Reads the next <text>; *svg is moved past it. */
static bool next_line(const char **svg, struct line *line)
{
    double x, width;
    char anchor[16] = "";
    const char *at = strstr(*svg, "<text ");
    if (!at)
        return false;
    assert_int_equal(
        sscanf(at, "<text x=\"%lf\" y=\"%lf\" font-size=\"%lf\"", &x, &line->y, &line->size), 3);
    const char *end = strchr(at, '>'), *length = strstr(at, "textLength=");
    const char *anchored = strstr(at, "text-anchor=");
    if (anchored && anchored < end)
        assert_int_equal(sscanf(anchored, "text-anchor=\"%15[a-z]", anchor), 1);
    assert_int_equal(sscanf(length, "textLength=\"%lf", &width), 1);
    line->left = strcmp(anchor, "end") == 0      ? x - width
                 : strcmp(anchor, "middle") == 0 ? x - width / 2
                                                 : x;
    line->right = line->left + width;
    snprintf(line->text, sizeof line->text, "%.*s", (int)strcspn(end + 1, "<"), end + 1);
    *svg = end;
    return true;
}

static struct line find_line(const char *svg, const char *text)
{
    struct line line;
    while (next_line(&svg, &line))
        if (strcmp(line.text, text) == 0)
            return line;
    fail_msg("'%s' is not in the chart", text);
    return line;
}

/* The left and right ends of the next solid shape of a colour, a bar; *svg is moved past it. */
static bool next_bar(const char **svg, const char *colour, double *left, double *right)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "<path fill=\"%s\" d=\"", colour);
    const char *at = strstr(*svg, wanted);
    if (!at)
        return false;
    double y;
    assert_int_equal(sscanf(at + strlen(wanted), "M%lf %lfH%lf", left, &y, right), 3);
    *svg = at + 1;
    return true;
}

TEST(rows_are_in_the_order_of_the_report)
{
    static const char *const order[] = {"read", "tables", "read", "shared", "read", "float"};
    char *svg = draw_svg(chart_of(two_tasks, N_TWO), 400, 640); /* one column */
    const char *at = svg;
    struct line line;
    double y = 0;
    size_t n = 0;
    while (next_line(&at, &line))
        if (n < N_TWO && strcmp(line.text, order[n]) == 0) {
            assert_true(line.y > y);
            y = line.y;
            n++;
        }
    assert_int_equal(n, N_TWO);
    assert_true(find_line(svg, "sum of floats, 1.23, 1 MiB").y > find_line(svg, "shared").y);
    free(svg);
}

/* On a logarithmic axis, equal ratios are equal lengths. */
TEST(lengths_follow_the_axis)
{
    char *svg = draw_svg(chart_of(two_tasks, N_TWO), 1024, 640);
    const char *at = svg;
    double left, tables, ignored, one, shared;
    assert_true(next_bar(&at, BLUE, &left, &tables));
    assert_true(next_bar(&at, BLUE, &ignored, &one));
    at = svg;
    assert_true(next_bar(&at, GREEN, &ignored, &shared));
    assert_true(left == ignored);
    const double to_10 = tables - left, to_900 = shared - left;
    /* The axis begins at half of the smallest speed, 0.5. */
    assert_true(fabs(to_900 / to_10 - log(900 / 0.5) / log(10 / 0.5)) < 0.02);
    free(svg);
}

TEST(speeds_and_shares_are_written)
{
    char *svg = draw_svg(chart_of(two_tasks, N_TWO), 1024, 640);
    find_line(svg, "900");
    find_line(svg, "90\xe2\x80\xaf%");
    find_line(svg, "1.0\xe2\x80\xaf%");
    free(svg);
}

TEST(reasons_replace_bars)
{
    for (int is_bad = 0; is_bad <= 1; is_bad++) {
        struct ih_bench_chart *chart = chart_of(two_tasks, 1);
        const char *at;
        double left, right;
        add(chart, &two_tasks[1], is_bad ? IH_BENCH_WRONG : IH_BENCH_SKIPPED, "because & why");
        char *svg = draw_svg(chart, 1024, 640);
        at = svg;
        find_line(svg, "because &amp; why");
        assert_false(next_bar(&at, BLUE, &left, &right));
        assert_int_equal(strstr(svg, WARNING) != NULL, is_bad);
        free(svg);
    }
}

/* A rung that is wrong on any kind of data has no bar. */
TEST(the_worst_status_counts)
{
    struct ih_bench_chart *chart = chart_of(two_tasks, 2);
    add(chart, &two_tasks[1], IH_BENCH_WRONG, "wrong: 1, not 2");
    add(chart, &two_tasks[1], IH_BENCH_OK, "");
    char *svg = draw_svg(chart, 1024, 640);
    const char *at = svg;
    double left, right;
    find_line(svg, "wrong: 1, not 2");
    assert_false(next_bar(&at, BLUE, &left, &right));
    free(svg);
}

/* Every rung there can be, with long reasons, in any size. */
TEST(text_is_inside_and_never_overlaps)
{
    static const unsigned sizes[][2] = {{320, 200}, {320, 8192},  {8192, 200}, {640, 400},
                                        {0, 0},     {1024, 2000}, {400, 900}};
    static const char *const devices[] = {"cpu", "cuda"};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct ih_bench_chart *chart = ih_bench_chart_new();
        char names[9][32], reason[400];
        struct line lines[600];
        size_t n = 0;
        memset(reason, 'W', sizeof reason - 1);
        reason[sizeof reason - 1] = '\0';
        for (size_t i = 0; i < ih_bench_n_tasks * 18; i++) {
            const size_t k = i % 9;
            snprintf(names[k], sizeof names[k], k == 0 ? "read" : "rung_number_%zu", k);
            const struct measured m = {ih_bench_tasks[i / 18].name, devices[i % 18 / 9], names[k],
                                       (double)(1 + i * i)};
            add(chart, &m, k == 5 ? IH_BENCH_FAILED : IH_BENCH_OK, reason);
        }
        char *svg = draw_svg(chart, sizes[s][0], sizes[s][1]);
        double width, height;
        const char *at = strstr(svg, " width=");
        assert_int_equal(sscanf(at, " width=\"%lf\" height=\"%lf\"", &width, &height), 2);
        assert_true(sizes[s][0] == 0 || (width == sizes[s][0] && height == sizes[s][1]));
        for (at = svg; next_line(&at, &lines[n]); n++) {
            assert_true(n + 1 < sizeof lines / sizeof lines[0]);
            if (lines[n].left < 0 || lines[n].right > width || lines[n].y > height ||
                lines[n].y < 0.7 * lines[n].size)
                fail_msg("%ux%u: '%s' is outside", sizes[s][0], sizes[s][1], lines[n].text);
            for (size_t i = 0; i < n; i++)
                if (lines[i].left < lines[n].right && lines[n].left < lines[i].right &&
                    fabs(lines[i].y - lines[n].y) < 0.9 * lines[n].size)
                    fail_msg("%ux%u: '%s' and '%s' overlap", sizes[s][0], sizes[s][1],
                             lines[i].text, lines[n].text);
        }
        assert_true(n >= 3);
        free(svg);
    }
}

TEST(the_default_height_grows)
{
    struct measured many[60];
    char names[60][24];
    size_t size_bytes;
    unsigned width, height;
    for (int i = 0; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "rung %d", i);
        many[i] = (struct measured){"sum_float", "cpu", names[i], i + 1.0};
    }
    char *few = draw_svg(chart_of(two_tasks, N_TWO), 0, 0),
         *grown = draw_svg(chart_of(many, 60), 0, 0);
    assert_non_null(strstr(few, " width=\"1024\" height=\"640\""));
    assert_int_equal(
        sscanf(strstr(grown, " width="), " width=\"%u\" height=\"%u\"", &width, &height), 2);
    assert_true(width == 1024 && height > 60 * 18);
    char *png = draw(chart_of(many, 60), "a.png", 777, 555, &size_bytes);
    char *again = draw(chart_of(many, 60), "a.png", 777, 555, &size_bytes);
    assert_memory_equal(png, "\x89PNG", 4);
    assert_memory_equal(png, again, size_bytes);
    free(few);
    free(grown);
    free(png);
    free(again);
}

TEST(an_empty_chart_is_drawn)
{
    char *svg = draw_svg(ih_bench_chart_new(), 0, 0);
    find_line(svg, "The ladder against the roofline");
    free(svg);
}
