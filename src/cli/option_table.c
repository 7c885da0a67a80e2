/* What each option does with its value. An option is a function here, a line in the table, and a
 * line of help. */
#include "cli/option_table.h"

#include "cli/bench/bench.h"

#include <string.h>

enum { ORDINAL_MAX = 1023 };

/* A whole number of decimal digits; with is_scaled one of k, M, G may follow, in powers of 1024. */
static bool parse_number(const char *text, bool is_scaled, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (digit > max || n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    if (p == text)
        return false;
    if (is_scaled && *p) {
        unsigned shift = *p == 'k' || *p == 'K' ? 10 : *p == 'M' ? 20 : *p == 'G' ? 30 : 0;
        if (shift == 0 || n > max >> shift)
            return false;
        n <<= shift;
        p++;
    }
    *out = n;
    return *p == '\0';
}

static enum ih_status set_csv(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)err; /* an unknown layout is told by the output, which knows them */
    o->output = &ih_output_csv;
    o->csv_layout = value;
    return IH_OK;
}

/* The last format given is the one that is written. */
static enum ih_status set_json(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->output = &ih_output_json;
    o->csv_layout = NULL;
    return IH_OK;
}

static enum ih_status set_ndjson(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->output = &ih_output_ndjson;
    o->csv_layout = NULL;
    return IH_OK;
}

static enum ih_status set_chart(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (value && !*value)
        return ih_error_set(err, IH_USAGE, "wants a file or a directory after =");
    o->chart_path = value ? value : ".";
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
    if (!x || !parse_number(width_text, false, IH_CHART_MAX, &width) ||
        !parse_number(x + 1, false, IH_CHART_MAX, &height) || width < IH_CHART_MIN_WIDTH ||
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

/* auto, or a backend's name, with :N for which of its devices. */
enum ih_status ih_option_set_device(struct ih_options *o, const char *value, struct ih_error *err)
{
    const char *colon = strchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : strlen(value);
    uint64_t ordinal = 0;
    bool is_known = strcmp(value, "auto") == 0;
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        is_known = is_known || (strlen((*b)->name) == n && strncmp((*b)->name, value, n) == 0);
    if (n == 4 && strncmp(value, "cuda", 4) == 0 && !is_known)
        return ih_error_set(err, IH_UNAVAILABLE,
                            "this build has no CUDA (no nvcc when it was made)");
    if (colon && (n != 4 || strncmp(value, "cuda", 4) != 0 ||
                  !parse_number(colon + 1, false, ORDINAL_MAX, &ordinal)))
        is_known = false;
    if (!is_known || n >= sizeof o->backend)
        return ih_error_set(err, IH_USAGE, "'%s' is none of auto, cpu, cuda, cuda:N", value);
    memcpy(o->backend, value, n);
    o->backend[n] = '\0';
    o->device.backend = strcmp(o->backend, "auto") == 0 ? NULL : o->backend;
    o->device.with.ordinal = (int)ordinal;
    return IH_OK;
}

static enum ih_status set_kernel(struct ih_options *o, const char *value, struct ih_error *err)
{
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        for (const struct ih_kernel_entry *k = (*b)->kernels; k->name; k++)
            if (strcmp(k->name, value) == 0) {
                o->device.with.kernel = k->name;
                return IH_OK;
            }
    return ih_error_set(err, IH_USAGE, "no kernel '%s' in this build: see --list", value);
}

static enum ih_status set_luma(struct ih_options *o, const char *value, struct ih_error *err)
{
    o->luma = ih_luma_find(value);
    return o->luma ? IH_OK : ih_error_set(err, IH_USAGE, "'%s' is none of bt709, bt601", value);
}

static enum ih_status set_clip(struct ih_options *o, const char *value, struct ih_error *err)
{
    char low_text[4] = "";
    uint64_t low, high;
    const char *comma = strchr(value, ',');
    size_t n = comma ? (size_t)(comma - value) : 0;
    if (n >= 1 && n < sizeof low_text)
        memcpy(low_text, value, n);
    if (!comma || !parse_number(low_text, false, 255, &low) ||
        !parse_number(comma + 1, false, 255, &high) || low >= high)
        return ih_error_set(err, IH_USAGE, "'%s' is not LO,HI with 0 <= LO < HI <= 255", value);
    o->clip_low = (uint8_t)low;
    o->clip_high = (uint8_t)high;
    return IH_OK;
}

static enum ih_status set_threads(struct ih_options *o, const char *value, struct ih_error *err)
{
    uint64_t n;
    if (!parse_number(value, false, IH_THREADS_MAX, &n) || n == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of threads, 1 to %d", value,
                            IH_THREADS_MAX);
    o->n_threads = (unsigned)n;
    return IH_OK;
}

static enum ih_status set_raw(struct ih_options *o, const char *value, struct ih_error *err)
{
    uint64_t n;
    if (!parse_number(value, false, IH_CHANNELS_MAX, &n) || n == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of channels, 1 to %d", value,
                            IH_CHANNELS_MAX);
    o->raw_channels = (unsigned)n;
    return IH_OK;
}

static enum ih_status set_max_pixels(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (!parse_number(value, true, UINT64_MAX >> 1, &o->max_pixels) || o->max_pixels == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of pixels (k, M, G may follow)",
                            value);
    return IH_OK;
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

static enum ih_status set_quiet(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->is_quiet = true;
    return IH_OK;
}

static enum ih_status set_verbose(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->is_verbose = true;
    return IH_OK;
}

static enum ih_status set_list(struct ih_options *o, const char *value, struct ih_error *err)
{
    (void)value, (void)err;
    o->action = IH_ACTION_LIST;
    return IH_OK;
}

static enum ih_status set_bench(struct ih_options *o, const char *value, struct ih_error *err)
{
    o->action = IH_ACTION_BENCH;
    if (value && (!parse_number(value, true, IH_BENCH_BYTES_MAX, &o->bench_bytes) ||
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

const struct ih_option ih_option_table[] = {
    {"csv", 0, IH_TAKES_MAYBE, set_csv},
    {"json", 0, IH_TAKES_NOTHING, set_json},
    {"ndjson", 0, IH_TAKES_NOTHING, set_ndjson},
    {"chart", 0, IH_TAKES_MAYBE, set_chart},
    {"chart-size", 0, IH_TAKES_VALUE, set_chart_size},
    {"theme", 0, IH_TAKES_VALUE, set_theme},
    {"scale", 0, IH_TAKES_VALUE, set_scale},
    {"output", 'o', IH_TAKES_VALUE, set_output},
    {"device", 0, IH_TAKES_VALUE, ih_option_set_device},
    {"kernel", 0, IH_TAKES_VALUE, set_kernel},
    {"luma", 0, IH_TAKES_VALUE, set_luma},
    {"clip", 0, IH_TAKES_VALUE, set_clip},
    {"raw", 0, IH_TAKES_VALUE, set_raw},
    {"max-pixels", 0, IH_TAKES_VALUE, set_max_pixels},
    {"files-from", 0, IH_TAKES_VALUE, set_files_from},
    {"files0-from", 0, IH_TAKES_VALUE, set_files0_from},
    {"fail-fast", 0, IH_TAKES_NOTHING, set_fail_fast},
    {"threads", 'j', IH_TAKES_VALUE, set_threads},
    {"quiet", 'q', IH_TAKES_NOTHING, set_quiet},
    {"verbose", 'v', IH_TAKES_NOTHING, set_verbose},
    {"bench", 0, IH_TAKES_MAYBE, set_bench},
    {"list", 0, IH_TAKES_NOTHING, set_list},
    {"help", 'h', IH_TAKES_NOTHING, set_help},
    {"version", 0, IH_TAKES_NOTHING, set_version},
    {NULL, 0, IH_TAKES_NOTHING, NULL},
};

const struct ih_option_help ih_options_help[] = {
    {"--csv[=LAYOUT]", "CSV; LAYOUT is channels (default), bins, long or stats"},
    {"--json", "one JSON document for all inputs, failed ones too"},
    {"--ndjson", "the same, as one JSON object a line for each input"},
    {"--chart[=PATH]", "charts as PNG: PATH is a file (.png) or a directory"},
    {"--chart-size=WxH", "its size in pixels, 320x200 to 8192x8192 (1024x640)"},
    {"--theme=NAME", "dark (default) or light"},
    {"--scale=NAME", "heights: linear (default), log or sqrt"},
    {"-o, --output=FILE", "write to FILE instead of standard output"},
    {"--device=WHO", "who counts: auto (default), cpu, cuda or cuda:N"},
    {"--kernel=NAME", "count with this kernel (see --list)"},
    {"--luma=WEIGHTS", "weights of the luma channel: bt709 (default) or bt601"},
    {"--clip=LO,HI", "values <= LO and >= HI count as clipped (0,255)"},
    {"--raw=CHANNELS", "inputs are headerless interleaved 8-bit samples"},
    {"--max-pixels=N", "refuse larger images; k, M, G may follow (4G)"},
    {"--files-from=F", "also the paths in F (-: standard input), one a line"},
    {"--files0-from=F", "the same, separated by NUL"},
    {"--fail-fast", "stop at the first failed input"},
    {"-j, --threads=N", "decoding threads (all processors)"},
    {"-q, --quiet", "only errors on standard error"},
    {"-v, --verbose", "say what ran where"},
    {"--bench[=SIZE]", "verify and time every kernel on SIZE bytes (100M)"},
    {"--list", "formats, outputs, devices and kernels of this build"},
    {"-h, --help", "this text"},
    {"--version", "the version"},
    {NULL, NULL},
};
