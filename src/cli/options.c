/*
 * A parser that knows no option by name: they are in a table.
 *
 * getopt_long is no POSIX; this takes 60 lines and gives exact messages. Options may stand anywhere
 * among the paths; `--` ends them; `-j4` and `-j 4`, `--opt=value` and `--opt value` are the same,
 * but a value that may be left out must be given with `=`.
 */
#define _POSIX_C_SOURCE 200809L

#include "cli/options.h"

#include "bench/bench.h"
#include "cli/option_table.h"
#include "decode/decoder.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 31 }; /* letters of a long option, for suggestions */

static enum ih_status apply(struct ih_options *o, const struct ih_option *option, const char *shown,
                            const char *value, struct ih_error *err)
{
    struct ih_error reason = {0};
    enum ih_status status = option->set(o, value, &reason);
    o->given |= UINT64_C(1) << (option - ih_option_table);
    if (status == IH_OK)
        return IH_OK;
    return ih_error_set(err, status, "%s: %.180s", shown, reason.message);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * Letters to insert, remove, change or swap with their neighbour to get from a to b: the optimal
 * string alignment distance (Damerau; each letter is edited once), row by row.
 *
 * a   n letters, at most WORD_MAX; b at most WORD_MAX
 */
static unsigned edit_distance(const char *a, size_t n, const char *b)
{
    unsigned rows[3][WORD_MAX + 1] = {{0}};
    const size_t m = strlen(b);
    for (size_t i = 0; i <= n; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= m; k++) {
            if (i == 0) {
                row[k] = (unsigned)k;
                continue;
            }
            row[k] = least(least(row[k - 1], above[k]) + 1, above[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[k] = least(row[k], before[k - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

/* The option that n letters of name may have been meant for: one they begin, or that takes an edit
 * for every three letters. NULL: none. */
static const char *nearest_option(const char *name, size_t n)
{
    const char *best = NULL;
    unsigned fewest = (unsigned)(n + 2) / 3;
    if (n < 2 || n > WORD_MAX)
        return NULL;
    for (const struct ih_option *k = ih_option_table; k->name; k++) {
        if (strlen(k->name) > WORD_MAX)
            continue;
        unsigned distance = strncmp(k->name, name, n) == 0 ? 1 : edit_distance(name, n, k->name);
        if (distance < fewest || (distance == fewest && !best)) {
            fewest = distance;
            best = k->name;
        }
    }
    return best;
}

static enum ih_status unknown_option(struct ih_error *err, const char *shown, size_t n_shown,
                                     const char *nearest)
{
    return ih_error_set(
        err, IH_USAGE, "%.*s: unknown option%s%s%s", n_shown < 100 ? (int)n_shown : 100, shown,
        nearest ? "; did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* argv[*i] is --name or --name=value. */
static enum ih_status parse_long(struct ih_options *o, int argc, const char *const *argv, int *i,
                                 struct ih_error *err)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '='), *value = NULL;
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct ih_option *option = NULL;
    char shown[40];
    for (const struct ih_option *k = ih_option_table; k->name; k++)
        if (strlen(k->name) == n && strncmp(k->name, name, n) == 0)
            option = k;
    if (!option)
        return unknown_option(err, argv[*i], n + 2, nearest_option(name, n));
    memcpy(shown, "--", 2);
    memcpy(shown + 2, option->name, n + 1);
    if (equals)
        value = equals + 1;
    else if (option->takes == IH_TAKES_VALUE && *i + 1 < argc)
        value = argv[++*i];
    if (value && option->takes == IH_TAKES_NOTHING)
        return ih_error_set(err, IH_USAGE, "%s: takes no value", shown);
    if (!value && option->takes == IH_TAKES_VALUE)
        return ih_error_set(err, IH_USAGE, "%s: wants a value", shown);
    if (!value && option->takes == IH_TAKES_MAYBE && *i + 1 < argc && argv[*i + 1][0] != '-') {
        o->stray_option = option->name;
        o->stray_path = o->n_paths;
    }
    return apply(o, option, shown, value, err);
}

/* argv[*i] is -abc, or -j4, or -j with its value behind it. */
static enum ih_status parse_short(struct ih_options *o, int argc, const char *const *argv, int *i,
                                  struct ih_error *err)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        const struct ih_option *option = NULL;
        char shown[3] = {'-', *p, '\0'};
        for (const struct ih_option *k = ih_option_table; k->name; k++)
            if (k->letter == *p)
                option = k;
        if (!option) { /* -csv */
            const char *word = argv[*i] + 1;
            return unknown_option(err, shown, 2, nearest_option(word, strcspn(word, "=")));
        }
        const char *value = NULL;
        if (option->takes == IH_TAKES_VALUE) {
            value = p[1] ? p + 1 : *i + 1 < argc ? argv[++*i] : NULL;
            if (!value)
                return ih_error_set(err, IH_USAGE, "%s: wants a value", shown);
        }
        enum ih_status status = apply(o, option, shown, value, err);
        if (status != IH_OK || value)
            return status;
    }
    return IH_OK;
}

static bool is_given(const struct ih_options *o, const char *name)
{
    for (size_t i = 0; ih_option_table[i].name; i++)
        if (strcmp(ih_option_table[i].name, name) == 0)
            return o->given >> i & 1;
    return false;
}

/* Beside --bench, --list and --completion: nobody shall believe that an option was heeded which
 * does nothing there. */
static enum ih_status check_action(const struct ih_options *o, struct ih_error *err)
{
    const struct ih_option *action = ih_option_table;
    while (action->actions != 1U << o->action)
        action++;
    if (o->n_paths > 0)
        return ih_error_set(err, IH_USAGE, "--%s: takes no inputs", action->name);
    for (const struct ih_option *k = ih_option_table; k->name; k++)
        if (!(k->actions & action->actions) && is_given(o, k->name))
            return ih_error_set(err, IH_USAGE, "--%s: --%s means nothing here", action->name,
                                k->name);
    return IH_OK;
}

/* --bench has one layout of CSV and of JSON, and one picture. */
static enum ih_status check_bench(const struct ih_options *o, struct ih_error *err)
{
    if (o->device.n_ordinals > 1)
        return ih_error_set(err, IH_USAGE, "--bench: measures one GPU: --device=cuda:N");
    if (o->chart_path && !o->chart.format)
        return ih_error_set(err, IH_USAGE,
                            "--bench: --chart wants a .png, .svg, .jpg, .bmp or .tga file");
    if (o->layout)
        return ih_error_set(err, IH_USAGE, "--bench: --%s has no layouts here", o->output->name);
    if (o->output == &ih_output_ndjson)
        return ih_error_set(err, IH_USAGE, "--bench: --json is written here, --ndjson is not");
    return IH_OK;
}

/* What is right by itself and wrong together. */
static enum ih_status check_combination(const struct ih_options *o, struct ih_error *err)
{
    if (o->action == IH_ACTION_BENCH)
        return check_bench(o, err);
    size_t n_stdin = o->list_path && strcmp(o->list_path, "-") == 0;
    for (size_t i = 0; i < o->n_paths; i++)
        n_stdin += strcmp(o->paths[i], "-") == 0;
    if (n_stdin > 1)
        return ih_error_set(err, IH_USAGE, "standard input is one image or one list, not two");
    if (o->n_paths == 0 && !o->list_path)
        return ih_error_set(err, IH_USAGE, "nothing to count: name an image, a directory, or -");
    if (!o->output && is_given(o, "output"))
        return ih_error_set(err, IH_USAGE, "-o: --chart=PATH says where a chart goes");
    if (o->jpeg == IH_JPEG_GPU && o->raw_channels)
        return ih_error_set(err, IH_USAGE, "--jpeg=gpu: --raw takes no file for a JPEG");
    if (o->jpeg == IH_JPEG_GPU && o->isolates_all)
        return ih_error_set(err, IH_USAGE, "--jpeg=gpu: --isolate wants helper processes for it");
    if (o->jpeg == IH_JPEG_GPU && o->device.backend && strcmp(o->device.backend, "cpu") == 0)
        return ih_error_set(err, IH_USAGE, "--jpeg=gpu: no GPU with --device=cpu");
    if (o->jpeg == IH_JPEG_GPU && o->device.with.kernel)
        return ih_error_set(err, IH_USAGE,
                            "--jpeg=gpu: what engines decode is not counted with --kernel");
    return IH_OK;
}

/* --help and --version, wherever they stand: what comes behind is not read. */
static bool is_told(const struct ih_options *o)
{
    return o->action == IH_ACTION_HELP || o->action == IH_ACTION_VERSION;
}

enum ih_status ih_options_parse(struct ih_options *o, int argc, const char *const *argv,
                                const char *device_variable, struct ih_error *err)
{
    bool is_ended = false;
    enum ih_status status = IH_OK;
    *o = (struct ih_options){.luma = &ih_luma_bt709,
                             .clip_low = 0,
                             .clip_high = 255,
                             .max_pixels = IH_MAX_PIXELS_DEFAULT,
                             .jpeg = IH_JPEG_AUTO,
                             .bench_bytes = IH_BENCH_BYTES_DEFAULT};
    o->paths = calloc((size_t)argc + 1, sizeof *o->paths);
    if (!o->paths)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (int i = 1; i < argc && status == IH_OK && !is_told(o); i++) {
        const char *a = argv[i];
        if (is_ended || a[0] != '-' || a[1] == '\0')
            o->paths[o->n_paths++] = a;
        else if (strcmp(a, "--") == 0)
            is_ended = true;
        else if (a[1] == '-')
            status = parse_long(o, argc, argv, &i, err);
        else
            status = parse_short(o, argc, argv, &i, err);
    }
    if (status == IH_OK && !is_told(o) && o->action != IH_ACTION_RUN)
        status = check_action(o, err);
    if (status != IH_OK || (o->action != IH_ACTION_RUN && o->action != IH_ACTION_BENCH))
        return status;
    if (o->chart.width == 0 && o->action != IH_ACTION_BENCH) { /* there its rows choose */
        o->chart.width = IH_CHART_WIDTH;
        o->chart.height = IH_CHART_HEIGHT;
    }
    if (!o->output && !o->chart_path)
        o->output = &ih_output_text;
    if (device_variable && *device_variable && !is_given(o, "device")) {
        struct ih_error reason = {0};
        status = ih_option_set_device(o, device_variable, &reason);
        if (status != IH_OK)
            return ih_error_set(err, status, "IMGHIST_DEVICE: %.180s", reason.message);
    }
    return check_combination(o, err);
}

void ih_options_reset(struct ih_options *o)
{
    free(o->paths);
    o->paths = NULL;
    o->n_paths = 0;
}
