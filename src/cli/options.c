/*
 * A table of options, and a parser that knows no option by name.
 *
 * getopt_long is no POSIX; this takes 60 lines and gives exact messages. Options may stand anywhere
 * among the paths; `--` ends them; `-j4` and `-j 4`, `--opt=value` and `--opt value` are the same,
 * but a value that may be left out must be given with `=`.
 */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PIXELS_DEFAULT (UINT64_C(4) << 30)
enum { THREADS_MAX = 1024, ORDINAL_MAX = 1023 };

enum takes { NOTHING, MAYBE, VALUE };

struct option {
    const char *name;
    char letter; /* 0: none */
    enum takes takes;
    /* value: NULL where none was given. Fills err->message with what is wrong, without the option.
     */
    enum ih_status (*set)(struct ih_options *o, const char *value, struct ih_error *err);
};

/* A whole number of decimal digits; with is_scaled one of k, M, G may follow, in powers of 1024. */
static bool parse_number(const char *text, bool is_scaled, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    const char *p = text;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (n > (max - digit) / 10)
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

static enum ih_status set_chart(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (value && !*value)
        return ih_error_set(err, IH_USAGE, "wants a file or a directory after =");
    o->chart_path = value ? value : ".";
    return IH_OK;
}

static enum ih_status set_output(struct ih_options *o, const char *value, struct ih_error *err)
{
    if (!*value)
        return ih_error_set(err, IH_USAGE, "wants a file's name");
    o->output_path = strcmp(value, "-") == 0 ? NULL : value;
    return IH_OK;
}

/* auto, or a backend's name, with :N for which of its devices. */
static enum ih_status set_device(struct ih_options *o, const char *value, struct ih_error *err)
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
    if (!parse_number(value, false, THREADS_MAX, &n) || n == 0)
        return ih_error_set(err, IH_USAGE, "'%s' is not a number of threads, 1 to %d", value,
                            THREADS_MAX);
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

static const struct option options[] = {
    {"csv", 0, MAYBE, set_csv},
    {"chart", 0, MAYBE, set_chart},
    {"output", 'o', VALUE, set_output},
    {"device", 0, VALUE, set_device},
    {"kernel", 0, VALUE, set_kernel},
    {"luma", 0, VALUE, set_luma},
    {"clip", 0, VALUE, set_clip},
    {"raw", 0, VALUE, set_raw},
    {"max-pixels", 0, VALUE, set_max_pixels},
    {"files-from", 0, VALUE, set_files_from},
    {"files0-from", 0, VALUE, set_files0_from},
    {"fail-fast", 0, NOTHING, set_fail_fast},
    {"threads", 'j', VALUE, set_threads},
    {"quiet", 'q', NOTHING, set_quiet},
    {"verbose", 'v', NOTHING, set_verbose},
    {"list", 0, NOTHING, set_list},
    {"help", 'h', NOTHING, set_help},
    {"version", 0, NOTHING, set_version},
};

const struct ih_option_help ih_options_help[] = {
    {"--csv[=LAYOUT]", "CSV; LAYOUT is channels (default), bins, long or stats"},
    {"--chart[=PATH]", "a chart as PNG: PATH ending in .png is the file, else a directory"},
    {"-o, --output=FILE", "write CSV or text to FILE instead of standard output"},
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
    {"--list", "formats, outputs, devices and kernels of this build"},
    {"-h, --help", "this text"},
    {"--version", "the version"},
    {NULL, NULL},
};

enum { N_OPTIONS = sizeof options / sizeof options[0] };

static enum ih_status apply(struct ih_options *o, const struct option *option, const char *shown,
                            const char *value, struct ih_error *err)
{
    struct ih_error reason = {IH_OK, ""};
    enum ih_status status = option->set(o, value, &reason);
    if (status == IH_OK)
        return IH_OK;
    return ih_error_set(err, status, "%s: %.180s", shown, reason.message);
}

/* argv[*i] is --name or --name=value. */
static enum ih_status parse_long(struct ih_options *o, int argc, const char *const *argv, int *i,
                                 struct ih_error *err)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '='), *value = NULL;
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = NULL;
    char shown[40];
    for (size_t k = 0; k < N_OPTIONS; k++)
        if (strlen(options[k].name) == n && strncmp(options[k].name, name, n) == 0)
            option = &options[k];
    if (!option)
        return ih_error_set(err, IH_USAGE, "--%.*s: unknown option", n < 100 ? (int)n : 100, name);
    memcpy(shown, "--", 2);
    memcpy(shown + 2, option->name, n + 1);
    if (equals)
        value = equals + 1;
    else if (option->takes == VALUE && *i + 1 < argc)
        value = argv[++*i];
    if (value && option->takes == NOTHING)
        return ih_error_set(err, IH_USAGE, "%s: takes no value", shown);
    if (!value && option->takes == VALUE)
        return ih_error_set(err, IH_USAGE, "%s: wants a value", shown);
    return apply(o, option, shown, value, err);
}

/* argv[*i] is -abc, or -j4, or -j with its value behind it. */
static enum ih_status parse_short(struct ih_options *o, int argc, const char *const *argv, int *i,
                                  struct ih_error *err)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        const struct option *option = NULL;
        char shown[3] = {'-', *p, '\0'};
        for (size_t k = 0; k < N_OPTIONS; k++)
            if (options[k].letter == *p)
                option = &options[k];
        if (!option)
            return ih_error_set(err, IH_USAGE, "%s: unknown option", shown);
        const char *value = NULL;
        if (option->takes == VALUE) {
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

enum ih_status ih_options_parse(struct ih_options *o, int argc, const char *const *argv,
                                const char *device_variable, struct ih_error *err)
{
    bool is_ended = false;
    enum ih_status status = IH_OK;
    *o = (struct ih_options){
        .luma = &ih_luma_bt709, .clip_low = 0, .clip_high = 255, .max_pixels = MAX_PIXELS_DEFAULT};
    o->paths = calloc((size_t)argc + 1, sizeof *o->paths);
    if (!o->paths)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (device_variable && *device_variable) {
        struct ih_error reason = {IH_OK, ""};
        status = set_device(o, device_variable, &reason);
        if (status != IH_OK)
            return ih_error_set(err, status, "IMGHIST_DEVICE: %.180s", reason.message);
    }
    for (int i = 1; i < argc && status == IH_OK; i++) {
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
    if (status != IH_OK || o->action != IH_ACTION_RUN)
        return status;
    if (!o->output && !o->chart_path)
        o->output = &ih_output_text;
    if (o->n_paths == 0 && !o->list_path)
        return ih_error_set(err, IH_USAGE, "nothing to count: name an image, a directory, or -");
    for (size_t i = 0; o->list_path && i < o->n_paths; i++)
        if (strcmp(o->list_path, "-") == 0 && strcmp(o->paths[i], "-") == 0)
            return ih_error_set(err, IH_USAGE, "standard input cannot be an image and a list");
    if (o->output_path && !o->output)
        return ih_error_set(err, IH_USAGE, "-o: --chart=PATH says where a chart goes");
    return IH_OK;
}

void ih_options_reset(struct ih_options *o)
{
    free(o->paths);
    o->paths = NULL;
    o->n_paths = 0;
}
