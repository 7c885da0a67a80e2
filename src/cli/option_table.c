/* What each option does with its value. An option is a function here, a line in the table, and a
 * line in option_help.c. */
#include "cli/option_table.h"

#include "base/text.h"
#include "bench/bench.h"
#include "pipeline/settings.h"

#include <string.h>

static enum ih_status set_csv(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)err; /* an unknown layout is told by the output, which knows them */
    o->output = &ih_output_csv;
    o->layout = value;
    return IH_OK;
}

static enum ih_status set_text(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)err; /* as with CSV */
    o->output = &ih_output_text;
    o->layout = value;
    return IH_OK;
}

/* The last format given is the one that is written. */
static enum ih_status set_json(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->output = &ih_output_json;
    o->layout = NULL;
    return IH_OK;
}

static enum ih_status set_ndjson(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->output = &ih_output_ndjson;
    o->layout = NULL;
    return IH_OK;
}

static enum ih_status set_chart(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (value && !*value)
        return ih_error_set(err, IH_USAGE, "wants a file or a directory after =");
    if (value && strcmp(value, "-") == 0)
        return ih_error_set(err, IH_USAGE,
                            "a chart goes to a file or a directory, not to standard output");
    o->chart_path = value ? value : ".";
    o->chart.format = ih_chart_format_of(o->chart_path);
    return IH_OK;
}

/* WxH; whether the chart can be that large is the chart's to say. */
static enum ih_status set_chart_size(struct ih_options *o, const char *value, struct ih_error *err)
{
    char width_text[6] = "";
    uint64_t width, height;
    const char *x = strchr(value, 'x');
    size_t n = x ? (size_t)(x - value) : 0;
    if (n >= 1 && n < sizeof width_text)
        memcpy(width_text, value, n);
    if (!x || !ih_parse_number(width_text, false, IH_CHART_MAX, &width) ||
        !ih_parse_number(x + 1, false, IH_CHART_MAX, &height) || width < IH_CHART_MIN_WIDTH ||
        height < IH_CHART_MIN_HEIGHT)
        return ih_error_set(err, IH_USAGE, "'%s' is not a size from %dx%d to %dx%d", value,
                            IH_CHART_MIN_WIDTH, IH_CHART_MIN_HEIGHT, IH_CHART_MAX, IH_CHART_MAX);
    o->chart.width = (unsigned)width;
    o->chart.height = (unsigned)height;
    return IH_OK;
}

static enum ih_status set_theme(struct ih_options *o, const char *value, struct ih_error *err)
{
    o->chart.theme = ih_chart_theme_find(value);
    return o->chart.theme ? IH_OK
                          : ih_error_set(err, IH_USAGE, "'%s' is none of dark, light", value);
}

static enum ih_status set_scale(struct ih_options *o, const char *value, struct ih_error *err)
{
    o->chart.scale = ih_chart_scale_find(value);
    return o->chart.scale ? IH_OK
                          : ih_error_set(err, IH_USAGE, "'%s' is none of linear, log, sqrt", value);
}

static enum ih_status set_output(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (!*value)
        return ih_error_set(err, IH_USAGE, "wants a file's name");
    o->output_path = strcmp(value, "-") == 0 ? NULL : value;
    return IH_OK;
}

static enum ih_status set_kernel(struct ih_options *o, const char *value, struct ih_error *err)
{
    o->device.with.kernel = ih_kernel_find(value);
    if (!o->device.with.kernel)
        return ih_error_set(err, IH_USAGE, "no kernel '%s' in this build: see --list", value);
    return IH_OK;
}

static enum ih_status set_luma(struct ih_options *o, const char *value, struct ih_error *err)
{
    o->luma = ih_luma_find(value);
    return o->luma ? IH_OK : ih_error_set(err, IH_USAGE, "'%s' is none of bt709, bt601", value);
}

static enum ih_status set_alpha(struct ih_options *o, const char *value, struct ih_error *err)
{
    return ih_alpha_parse(value, &o->skips_transparent, err);
}

static enum ih_status set_clip(struct ih_options *o, const char *value, struct ih_error *err)
{
    char low_text[4] = "";
    uint64_t low, high;
    const char *comma = strchr(value, ',');
    size_t n = comma ? (size_t)(comma - value) : 0;
    if (n >= 1 && n < sizeof low_text)
        memcpy(low_text, value, n);
    if (!comma || !ih_parse_number(low_text, false, 255, &low) ||
        !ih_parse_number(comma + 1, false, 255, &high) || low >= high)
        return ih_error_set(err, IH_USAGE, "'%s' is not LO,HI with 0 <= LO < HI <= 255", value);
    o->clip_low = (uint8_t)low;
    o->clip_high = (uint8_t)high;
    return IH_OK;
}

static enum ih_status set_threads(struct ih_options *o, const char *value, struct ih_error *err)
{
    uint64_t n;
    if (!ih_parse_number(value, false, IH_THREADS_MAX, &n) || n == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of threads, 1 to %d", value,
                            IH_THREADS_MAX);
    o->n_threads = (unsigned)n;
    return IH_OK;
}

static enum ih_status set_raw(struct ih_options *o, const char *value, struct ih_error *err)
{
    uint64_t n;
    if (!ih_parse_number(value, false, IH_CHANNELS_MAX, &n) || n == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of channels, 1 to %d", value,
                            IH_CHANNELS_MAX);
    o->raw_channels = (unsigned)n;
    return IH_OK;
}

static enum ih_status set_max_pixels(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (!ih_parse_number(value, true, UINT64_MAX >> 1, &o->max_pixels) || o->max_pixels == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of pixels (k, M, G may follow)",
                            value);
    return IH_OK;
}

static enum ih_status set_isolate(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->isolates_all = true;
    return IH_OK;
}

static enum ih_status set_memory(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (!ih_parse_number(value, true, UINT64_MAX >> 1, &o->memory_bytes) || o->memory_bytes == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of bytes (k, M, G may follow)",
                            value);
    return IH_OK;
}

static enum ih_status set_jpeg(struct ih_options *o, const char *value, struct ih_error *err)
{
    static const char *const names[] = {
        [IH_JPEG_CPU] = "cpu", [IH_JPEG_AUTO] = "auto", [IH_JPEG_GPU] = "gpu"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(value, names[i]) == 0) {
            o->jpeg = (enum ih_jpeg_side)i;
            return IH_OK;
        }
    return ih_error_set(err, IH_USAGE, "'%s' is none of auto, cpu, gpu", value);
}

static enum ih_status set_list_path(struct ih_options *o, const char *value, char separator,
                                    struct ih_error *err)
{
    if (!*value)
        return ih_error_set(err, IH_USAGE, "wants a file's name, or -");
    if (o->list_path)
        return ih_error_set(err, IH_USAGE, "one list of files is read, not two");
    o->list_path = value;
    o->list_separator = separator;
    return IH_OK;
}

static enum ih_status set_files_from(struct ih_options *o, const char *value, struct ih_error *err)
{
    return set_list_path(o, value, '\n', err);
}

static enum ih_status set_files0_from(struct ih_options *o, const char *value, struct ih_error *err)
{
    return set_list_path(o, value, '\0', err);
}

static enum ih_status set_fail_fast(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->fails_fast = true;
    return IH_OK;
}

/* Of --total and --total-only the last one given holds. */
static enum ih_status set_total(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->with_total = true;
    o->only_total = false;
    return IH_OK;
}

static enum ih_status set_total_only(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->with_total = o->only_total = true;
    return IH_OK;
}

static enum ih_status set_progress(struct ih_options *o, const char *value, struct ih_error *err)
{
    static const char *const names[] = {"auto", "always", "never"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(value, names[i]) == 0) {
            o->progress = (enum ih_progress_when)i;
            return IH_OK;
        }
    return ih_error_set(err, IH_USAGE, "'%s' is none of auto, always, never", value);
}

/* Of -q and -v the last one given holds. */
static enum ih_status set_quiet(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->is_quiet = true;
    o->is_verbose = false;
    return IH_OK;
}

static enum ih_status set_verbose(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->is_verbose = true;
    o->is_quiet = false;
    return IH_OK;
}

static enum ih_status set_list(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->action = IH_ACTION_LIST;
    return IH_OK;
}

static enum ih_status set_completion(struct ih_options *o, const char *value, struct ih_error *err)
{
    static const char *const names[] = {
        [IH_SHELL_BASH] = "bash", [IH_SHELL_ZSH] = "zsh", [IH_SHELL_FISH] = "fish"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(value, names[i]) == 0) {
            o->action = IH_ACTION_COMPLETION;
            o->shell = (enum ih_shell)i;
            return IH_OK;
        }
    return ih_error_set(err, IH_USAGE, "'%s' is none of bash, zsh, fish", value);
}

static enum ih_status set_bench(struct ih_options *o, const char *value, struct ih_error *err)
{
    o->action = IH_ACTION_BENCH;
    if (value && (!ih_parse_number(value, true, IH_BENCH_BYTES_MAX, &o->bench_bytes) ||
                  o->bench_bytes < IH_BENCH_BYTES_MIN))
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of bytes, 1k to 2G", value);
    return IH_OK;
}

static enum ih_status set_help(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->action = IH_ACTION_HELP;
    return IH_OK;
}

static enum ih_status set_version(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->action = IH_ACTION_VERSION;
    return IH_OK;
}

enum {
    RUN = 1 << IH_ACTION_RUN,
    BENCH = 1 << IH_ACTION_BENCH,
    BOTH = RUN | BENCH,
    LIST = 1 << IH_ACTION_LIST,
    COMPLETION = 1 << IH_ACTION_COMPLETION,
    ALL = BOTH | LIST | COMPLETION
};

const struct ih_option ih_option_table[] = {
    {"csv", 0, IH_TAKES_MAYBE, BOTH, set_csv},
    {"text", 0, IH_TAKES_MAYBE, BOTH, set_text},
    {"json", 0, IH_TAKES_NOTHING, BOTH, set_json},
    {"ndjson", 0, IH_TAKES_NOTHING, BOTH, set_ndjson},
    {"chart", 0, IH_TAKES_MAYBE, BOTH, set_chart},
    {"chart-size", 0, IH_TAKES_VALUE, BOTH, set_chart_size},
    {"theme", 0, IH_TAKES_VALUE, BOTH, set_theme},
    {"scale", 0, IH_TAKES_VALUE, RUN, set_scale},
    {"output", 'o', IH_TAKES_VALUE, BOTH, set_output},
    {"device", 0, IH_TAKES_VALUE, BOTH, ih_option_set_device},
    {"kernel", 0, IH_TAKES_VALUE, RUN, set_kernel},
    {"jpeg", 0, IH_TAKES_VALUE, RUN, set_jpeg},
    {"luma", 0, IH_TAKES_VALUE, RUN, set_luma},
    {"alpha", 0, IH_TAKES_VALUE, RUN, set_alpha},
    {"clip", 0, IH_TAKES_VALUE, RUN, set_clip},
    {"raw", 0, IH_TAKES_VALUE, RUN, set_raw},
    {"max-pixels", 0, IH_TAKES_VALUE, RUN, set_max_pixels},
    {"memory", 0, IH_TAKES_VALUE, RUN, set_memory},
    {"isolate", 0, IH_TAKES_NOTHING, RUN, set_isolate},
    {"files-from", 0, IH_TAKES_VALUE, RUN, set_files_from},
    {"files0-from", 0, IH_TAKES_VALUE, RUN, set_files0_from},
    {"fail-fast", 0, IH_TAKES_NOTHING, RUN, set_fail_fast},
    {"threads", 'j', IH_TAKES_VALUE, BOTH, set_threads},
    {"total", 0, IH_TAKES_NOTHING, RUN, set_total},
    {"total-only", 0, IH_TAKES_NOTHING, RUN, set_total_only},
    {"progress", 0, IH_TAKES_VALUE, RUN, set_progress},
    {"quiet", 'q', IH_TAKES_NOTHING, BOTH, set_quiet},
    {"verbose", 'v', IH_TAKES_NOTHING, BOTH, set_verbose},
    {"bench", 0, IH_TAKES_MAYBE, BENCH, set_bench},
    {"list", 0, IH_TAKES_NOTHING, LIST, set_list},
    {"completion", 0, IH_TAKES_VALUE, COMPLETION, set_completion},
    {"help", 'h', IH_TAKES_NOTHING, ALL, set_help},
    {"version", 0, IH_TAKES_NOTHING, ALL, set_version},
    {NULL, 0, IH_TAKES_NOTHING, 0, NULL},
};

_Static_assert(sizeof ih_option_table / sizeof *ih_option_table <= 64, "a bit for each in given");
