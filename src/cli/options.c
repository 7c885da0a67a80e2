/*
 * The parser. It knows no option by name; all of them are rows of the table.
 *
 * It is not getopt_long, which is not in POSIX, and its messages can be exact. Options may stand
 * anywhere among the paths; `--` ends them; `-j4` and `-j 4`, `--opt=value` and `--opt value` are
 * the same. An optional value must follow `=`.
 */
#include "cli/options.h"

#include "base/path.h"
#include "cli/destinations.h"
#include "scan/extensions.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IH_SIGMA_DEFAULT = 3 };
enum { WORD_MAX = 31 }; /* letters of an option with its value, for suggestions */

static const struct ih_option *find_option(const char *name, size_t n)
{
    for (const struct ih_option *k = ih_option_table; k->name; k++)
        if (strlen(k->name) == n && strncmp(k->name, name, n) == 0)
            return k;
    return NULL;
}

#define FORMATS_HINT "--text, --csv, --json and --ndjson choose what is written"

/* What other programs call it, or what looks right: as it is written, and what to do. */
static const char *hint_of(const char *written)
{
    static const char *const hints[][2] = {
        {"--verbose=2", "there is one level: --verbose"},
        {"--verbose=1", "there is one level: --verbose"},
        {"--exclude", "imghist takes what is listed: 'find DIR ! -path PATTERN -type f | imghist "
                      "--files-from=-'"},
        {"--include", "imghist takes what is listed: 'find DIR -name PATTERN -type f | imghist "
                      "--files-from=-'"},
        {"--crop", "did you mean --region?"},
        {"--jsonl", "did you mean --ndjson?"},
        {"--gray", "every image has counts of luma; --raw=1 reads gray samples"},
        {"--grey", "every image has counts of luma; --raw=1 reads gray samples"},
        {"--log", "did you mean --scale=log, for charts? Messages go to standard error: 2>FILE"},
        {"--output-format", FORMATS_HINT},
        {"-r", "directories are walked without an option"},
        {"-R", "directories are walked without an option"},
        {"--recursive", "directories are walked without an option"},
        {"-V", "did you mean --version?"},
        {"--format", FORMATS_HINT "; the format of an image is found by its content"},
        {"-f", FORMATS_HINT},
        {"--gpu", "did you mean --device=cuda?"},
        {"--cpu", "did you mean --device=cpu?"},
        {"-t", "did you mean -j, the number of threads?"},
        {"--jobs", "did you mean --threads?"},
        {"-i", "inputs need no option"},
        {"--input", "inputs need no option"},
        {"--colour", "did you mean --color?"},
        {"-H", "did you mean --help?"},
        {"--histogram", "histograms need no option; --chart=FILE.png draws one"},
        {"--plot", "did you mean --chart=FILE.png?"},
        {"--reader", "it is one of 'python3 -m imghist', which reads other formats with a function "
                     "(docs/readers.md)"},
        {"--device=gpu", "did you mean cuda?"},
        {"--device=GPU", "did you mean cuda?"},
        {"--device=nvidia", "did you mean cuda?"},
        {"--luma=rec709", "did you mean bt709?"},
        {"--luma=709", "did you mean bt709?"},
        {"--luma=rec601", "did you mean bt601?"},
        {"--luma=601", "did you mean bt601?"},
        {"--luma=off", "did you mean none?"},
        {"--no-luma", "did you mean --luma=none?"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(written, hints[i][0]) == 0)
            return hints[i][1];
    return NULL;
}

/* ---- one option and its value ---- */

static bool is_given(const struct ih_options *o, const struct ih_option *option)
{
    return o->given[option - ih_option_table];
}

static bool is_output(const struct ih_option *option)
{
    for (const struct ih_output *const *out = ih_outputs; *out; out++)
        if (strcmp((*out)->name, option->name) == 0)
            return true;
    return false;
}

/* "'csh' is none of bash, zsh, fish" */
static enum ih_status refuse_choice(const struct ih_option *option, const char *value,
                                    struct ih_error *err)
{
    char list[160] = "";
    const char *choice;
    for (size_t i = 0, n = 0; (choice = ih_option_choice(option, i)) && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", choice);
    return ih_error_set(err, IH_USAGE, "'%.40s' is none of %s", value, list);
}

/* Appends what to do about a wrong value: --csv=out.csv, --device=gpu. */
static enum ih_status add_hint(const struct ih_option *option, const char *value,
                               struct ih_error *err)
{
    char written[WORD_MAX + 1], *message = err->message;
    const size_t n = strlen(message);
    snprintf(written, sizeof written, "--%s=%s", option->name, value);
    const char *hint = hint_of(written);
    if (hint)
        snprintf(message + n, sizeof err->message - n, "; %s", hint);
    else if (is_output(option) && (strchr(value, '.') || strchr(value, '/')))
        snprintf(message + n, sizeof err->message - n, "; did you mean --%s -o %.60s?",
                 option->name, value);
    return err->status;
}

/* A choice without a value_name is one of the list; with one, the setter checks it. */
static enum ih_status check_value(const struct ih_option *option, const char *value,
                                  struct ih_error *err)
{
    if (!value)
        return option->value == IH_VALUE_NONE || option->is_optional
                   ? IH_OK
                   : ih_error_set(err, IH_USAGE, "needs a value");
    if (option->value == IH_VALUE_NONE)
        return ih_error_set(err, IH_USAGE, "takes no value");
    if (option->value == IH_VALUE_FILE && !*value)
        return ih_error_set(err, IH_USAGE, "needs the name of a file");
    bool is_list = option->value == IH_VALUE_KERNEL ||
                   (option->value == IH_VALUE_CHOICE && !option->value_name);
    return is_list && !ih_option_has_choice(option, value) ? refuse_choice(option, value, err)
                                                           : IH_OK;
}

/* Refuses a second value, which would replace the first. */
static enum ih_status check_once(const struct ih_options *o, const struct ih_option *option,
                                 const char *value, struct ih_error *err)
{
    const char *const before = o->values[option - ih_option_table];
    if (option->repeats || !is_given(o, option) ||
        strcmp(before ? before : "", value ? value : "") == 0)
        return IH_OK;
    return ih_error_set(err, IH_USAGE, "is given twice; %s",
                        option->once ? option->once : "choose one of the values");
}

static void store_value(struct ih_options *o, const struct ih_option *option, const char *value)
{
    char *field = (char *)o + option->field;
    int index = 0;
    if (option->value == IH_VALUE_NONE) {
        *(bool *)field = true;
    } else if (option->value == IH_VALUE_CHOICE) {
        while (strcmp(ih_option_choice(option, (size_t)index), value) != 0)
            index++;
        memcpy(field, &index, sizeof index);
    } else {
        *(const char **)field = value;
    }
}

/* shown: the option as it was written */
static enum ih_status apply(struct ih_options *o, const struct ih_option *option, const char *shown,
                            const char *value, struct ih_error *err)
{
    struct ih_error reason = {0};
    enum ih_status status = check_value(option, value, &reason);
    if (status == IH_OK)
        status = check_once(o, option, value, &reason);
    if (status == IH_OK && option->set)
        status = option->set(&(struct ih_setting){o, option, value, &reason});
    else if (status == IH_OK && option->field)
        store_value(o, option, value);
    if (status == IH_OK && option->selects != IH_ACTION_RUN)
        o->action = option->selects;
    o->given[option - ih_option_table] = true;
    o->values[option - ih_option_table] = value;
    if (status == IH_OK)
        return IH_OK;
    o->needs_rare = option->is_rare;
    if (value)
        add_hint(option, value, &reason);
    return ih_error_set(err, status, "%s: %.200s", shown, reason.message);
}

/* ---- unknown options ---- */

/* The option that the n letters of name may stand for; NULL: none. */
static const char *nearest_option(const char *name, size_t n)
{
    const char *best = NULL;
    unsigned fewest = UINT_MAX;
    for (const struct ih_option *k = ih_option_table; k->name; k++)
        if (ih_word_is_nearer(name, n, k->name, &fewest))
            best = k->name;
    return best;
}

static enum ih_status unknown_option(struct ih_error *err, const char *shown, size_t n_shown,
                                     const char *nearest)
{
    char written[WORD_MAX + 1];
    snprintf(written, sizeof written, "%.*s", n_shown < WORD_MAX ? (int)n_shown : WORD_MAX, shown);
    const char *hint = hint_of(written);
    if (hint)
        return ih_error_set(err, IH_USAGE, "%s: unknown option; %s", written, hint);
    return ih_error_set(
        err, IH_USAGE, "%.*s: unknown option%s%s%s", n_shown < 100 ? (int)n_shown : 100, shown,
        nearest ? "; did you mean --" : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* ---- the command line ---- */

/* Whether the next argument may be a value: "-o --json" lacks one. */
static bool next_is_value(int argc, const char *const *argv, int i)
{
    const char *next = i + 1 < argc ? argv[i + 1] : NULL;
    return next && !(strncmp(next, "--", 2) == 0 && find_option(next + 2, strcspn(next + 2, "=")));
}

/* argv[*i] is --name or --name=value. */
static enum ih_status parse_long(struct ih_options *o, int argc, const char *const *argv, int *i,
                                 struct ih_error *err)
{
    const char *name = argv[*i] + 2, *equals = strchr(name, '='), *value = NULL;
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct ih_option *option = find_option(name, n);
    char shown[WORD_MAX + 3];
    if (!option)
        return unknown_option(err, argv[*i], n + 2, nearest_option(name, n));
    bool has_next = *i + 1 < argc;
    if (equals)
        value = equals + 1;
    else if ((option->is_optional || is_output(option)) && has_next && argv[*i + 1][0] != '-') {
        o->stray_option = option;
        o->stray_path = o->n_paths;
    } else if (option->value != IH_VALUE_NONE && !option->is_optional &&
               next_is_value(argc, argv, *i))
        value = argv[++*i];
    snprintf(shown, sizeof shown, "--%s", option->name);
    return apply(o, option, shown, value, err);
}

/* argv[*i] is -abc, or -j4, or -j followed by its value. */
static enum ih_status parse_short(struct ih_options *o, int argc, const char *const *argv, int *i,
                                  struct ih_error *err)
{
    const char *word = argv[*i] + 1;
    if (word[1] && find_option(word, strcspn(word, "="))) /* -json is not -j son */
        return unknown_option(err, argv[*i], strcspn(argv[*i], "="),
                              find_option(word, strcspn(word, "="))->name);
    for (const char *p = word; *p; p++) {
        const struct ih_option *option = ih_option_table;
        char shown[3] = {'-', *p, '\0'};
        while (option->name && option->letter != *p)
            option++;
        if (!option->name) /* -cvs */
            return unknown_option(err, shown, 2, nearest_option(word, strcspn(word, "=")));
        if (p[1] == '=')
            return ih_error_set(err, IH_USAGE, "%s: no = after one letter; did you mean --%s%.60s?",
                                shown, option->name, p + 1);
        const char *value = NULL;
        if (option->value != IH_VALUE_NONE && !option->is_optional)
            value = p[1] ? p + 1 : next_is_value(argc, argv, *i) ? argv[++*i] : NULL;
        enum ih_status status = apply(o, option, shown, value, err);
        if (status != IH_OK || value)
            return status;
    }
    return IH_OK;
}

/* ---- what goes together ---- */

const struct ih_option *ih_option_find(const char *name)
{
    return find_option(name, strlen(name));
}

bool ih_option_is_given(const struct ih_options *o, const char *name)
{
    return is_given(o, find_option(name, strlen(name)));
}

const char *ih_option_value(const struct ih_options *o, const char *name)
{
    return o->values[find_option(name, strlen(name)) - ih_option_table];
}

/* Refuses inputs, and options that would be ignored, beside --list and --completion. */
static enum ih_status check_action(const struct ih_options *o, struct ih_error *err)
{
    const struct ih_option *action = ih_option_table;
    while (action->selects != o->action)
        action++;
    if (o->n_paths > 0)
        return ih_error_set(err, IH_USAGE, "--%s: takes no inputs", action->name);
    for (const struct ih_option *k = ih_option_table; k->name; k++)
        if (is_given(o, k) && !(k->actions >> o->action & 1))
            return ih_error_set(err, IH_USAGE, "--%s: cannot be used with --%s", action->name,
                                k->name);
    return IH_OK;
}

/* --diff writes one comparison of two inputs. */
static enum ih_status check_diff(const struct ih_options *o, struct ih_error *err)
{
    if (o->n_paths != 2)
        return ih_error_set(err, IH_USAGE,
                            "--diff: compares two inputs: name two images, folders or result "
                            "files");
    if (o->chart_path && !o->chart.format)
        return ih_error_set(err, IH_USAGE, "--diff: --chart needs a" IH_CHART_ENDINGS " file");
    for (size_t i = 0; i < o->n_outputs; i++) {
        if (!o->outputs[i].output->compare)
            return ih_error_set(err, IH_USAGE, "--diff: writes text, CSV or JSON, not --%s",
                                o->outputs[i].output->name);
        if (o->outputs[i].layout)
            return ih_error_set(err, IH_USAGE, "--diff: --%s has no layouts here",
                                o->outputs[i].output->name);
    }
    return IH_OK;
}

static enum ih_status refuse(struct ih_options *o, const char *name, const char *why,
                             struct ih_error *err)
{
    o->needs_rare = find_option(name, strlen(name))->is_rare;
    return ih_error_set(err, IH_USAGE, "--%s: %s", name, why);
}

/* The formats of all builds: result files may come from another. */
static const char *const formats[] = {
#define DECODER(name) #name,
#define DECODER_MISSING(name, library) #name,
#include "decode/decoders.def"
    "raw", NULL};

static bool has_rows(const struct ih_data_output *data)
{
    return data->output == &ih_output_csv && data->layout && strcmp(data->layout, "stats") == 0;
}

const struct ih_field_list *ih_options_fields_of(const struct ih_options *o,
                                                 const struct ih_data_output *data)
{
    const bool is_of_images =
        data->output == &ih_output_csv && data->layout && strcmp(data->layout, "images") == 0;
    return !o->fields                                          ? NULL
           : has_rows(data)                                    ? &o->row_fields
           : is_of_images || data->output == &ih_output_ndjson ? &o->record_fields
                                                               : NULL;
}

/* Whether records of labels are in the first MiB of a named result file. Then
 * CSV has the columns of the run that counted them. In records, quotes of texts are escaped. */
static bool has_records_of_labels(const struct ih_options *o)
{
    enum { START_BYTES = 1 << 20 };
    char *const start = malloc(START_BYTES + 1);
    bool has_labels = false;
    for (size_t i = 0; i < o->n_paths && start && !has_labels; i++) {
        struct stat st;
        const bool is_file = ih_options_is_result_file(o, i) &&
                             ih_path_stat(o->paths[i], &st, 0) == 0 && S_ISREG(st.st_mode);
        FILE *const file = is_file ? fopen(o->paths[i], "rb") : NULL;
        if (!file)
            continue;
        start[fread(start, 1, START_BYTES, file)] = '\0';
        has_labels = strstr(start, "\"label\":") != NULL;
        fclose(file);
    }
    free(start);
    return has_labels;
}

/* Whether an input may be a result file. */
static bool may_have_records(const struct ih_options *o)
{
    bool may = o->list_path != NULL;
    for (size_t i = 0; i < o->n_paths; i++)
        may |= ih_options_is_result_file(o, i);
    return may;
}

static struct ih_field_set fields_of_images(const struct ih_options *o)
{
    return (struct ih_field_set){
        .columns = o->columns.of_record,
        .of_channel = o->columns.of_channel,
        .which = "fields are the columns of --csv=images, and texts are quoted",
        .highest = o->measure.takes_native || o->takes_raw_sensors || o->raw_depth >= IH_RAW_8S
                       ? HUGE_VAL
                       : IH_BINS - 1,
        .formats = formats,
        .sigma = o->sigma,
        .lacks_luma = o->measure.luma == &ih_luma_none
                          ? "a field of luma, which --luma=none does not count"
                          : NULL,
        .bands = o->bands.last > 0 && !may_have_records(o) ? o->bands.wanted : NULL};
}

/* Parses --fields for the outputs that show them. CSV without a layout has a row for each image. */
static enum ih_status parse_fields(struct ih_options *o, struct ih_error *err)
{
    struct ih_field_set fields = fields_of_images(o);
    struct ih_error reason;
    if (!o->fields)
        return IH_OK;
    fields.which = "--fields=help lists them";
    fields.lacks_images = o->only_total;
    for (size_t i = 0; i < o->n_outputs; i++)
        if (o->outputs[i].output == &ih_output_csv && !o->outputs[i].layout)
            o->outputs[i].layout = "images";
    for (size_t i = 0; i < o->n_outputs; i++) {
        const struct ih_field_list *const list = ih_options_fields_of(o, &o->outputs[i]);
        const bool of_rows = list == &o->row_fields;
        if (list &&
            ih_field_list_parse(o->fields, &fields, of_rows,
                                of_rows ? &o->row_fields : &o->record_fields, &reason) != IH_OK)
            return refuse(o, "fields", reason.message, err);
        for (unsigned k = 0; list && k < list->n; k++)
            o->uses |= list->fields[k].column.in & IH_BY_SIGMA;
    }
    return IH_OK;
}

static enum ih_status parse_sort(struct ih_options *o, struct ih_error *err)
{
    const char *const text = o->finds_copies ? "fingerprint" : ih_option_value(o, "sort");
    struct ih_field_set fields = fields_of_images(o);
    struct ih_field_list list;
    struct ih_error reason;
    if (!text)
        return IH_OK;
    fields.which = "the field is one of the image, as red.mean; --fields=help lists them";
    o->is_descending = *text == '-';
    if (ih_field_list_parse(text + o->is_descending, &fields, false, &list, &reason) != IH_OK)
        return refuse(o, "sort", reason.message, err);
    if (list.n > 1)
        return refuse(o, "sort", "records are sorted by one field", err);
    o->is_sorted = true;
    o->sort = list.fields[0];
    o->uses |= o->sort.column.in;
    return IH_OK;
}

/* --diff decides which fields --fail-if has. */
static enum ih_status parse_conditions(struct ih_options *o, struct ih_error *err)
{
    const struct ih_field_set where = fields_of_images(o);
    struct ih_field_set fail_if = where;
    fail_if.lacks_images = o->only_total || o->by;
    if (o->by && strcmp(o->by, "band") == 0)
        fail_if.lacks_luma = "a field of luma, which totals of --by=band lack";
    if (o->compares)
        fail_if = (struct ih_field_set){.columns = o->columns.of_comparison,
                                        .which = "fields of --diff are ks and emd",
                                        .highest = where.highest};
    const struct {
        const char *name;
        const struct ih_field_set *fields;
        struct ih_condition **condition;
    } all[] = {{"where", &where, &o->where}, {"fail-if", &fail_if, &o->fail_if}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *const text = ih_option_value(o, all[i].name);
        struct ih_error reason;
        if (!text)
            continue;
        if (ih_condition_parse(text, all[i].fields, all[i].condition, &reason) != IH_OK)
            return reason.status == IH_USAGE ? refuse(o, all[i].name, reason.message, err)
                                             : ih_error_set(err, reason.status, "out of memory");
        o->uses |= o->compares ? 0 : ih_condition_uses(*all[i].condition);
    }
    return IH_OK;
}

/* --resume continues the one NDJSON file that the command line names. */
static enum ih_status find_resume_file(struct ih_options *o, struct ih_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n_outputs && o->resumes; i++)
        if (o->outputs[i].output == &ih_output_ndjson && o->outputs[i].path) {
            o->resume_path = o->outputs[i].path;
            n++;
        }
    return !o->resumes || n == 1 ? IH_OK
                                 : refuse(o, "resume", "needs one -o FILE.ndjson to continue", err);
}

uint64_t ih_options_memory_bytes(const struct ih_options *o)
{
    enum { MEMORY_PART = 4 };
    return o->memory_bytes ? o->memory_bytes : ih_machine_memory() / MEMORY_PART;
}

/* Columns for each bin are those of 256. */
static bool lacks_columns(const struct ih_options *o)
{
    for (size_t i = 0; i < o->n_outputs && o->measure.takes_native && !o->compares; i++)
        if (o->outputs[i].output == &ih_output_csv &&
            (!o->outputs[i].layout || strcmp(o->outputs[i].layout, "channels") == 0))
            return true;
    return false;
}

/* Makes the list of paths empty, with room for n. What it had is the caller's. */
static bool allocate_paths(struct ih_options *o, size_t n)
{
    o->n_paths = 0;
    o->paths = calloc(n + 1, sizeof *o->paths);
    o->hold_records = calloc(n + 1, sizeof *o->hold_records);
    return o->paths && o->hold_records;
}

void ih_options_add_path(struct ih_options *o, const char *path, bool holds_records)
{
    o->hold_records[o->n_paths] = holds_records;
    o->paths[o->n_paths++] = path;
}

bool ih_options_is_result_file(const struct ih_options *o, size_t i)
{
    return o->hold_records[i] || (!o->raw_channels && ih_extension_is_result_file(o->paths[i]));
}

/* The reference comes first among the paths, so that it is complete before the other inputs come:
 * REF, or for "total" all paths, which are read twice then. */
static enum ih_status set_references(struct ih_options *o, struct ih_error *err)
{
    if (!o->against)
        return IH_OK;
    const bool is_total = strcmp(o->against, "total") == 0;
    const size_t n = is_total ? o->n_paths : 1;
    if (is_total && o->list_path)
        return refuse(o, "against", "total reads the inputs twice, so name them without a list",
                      err);
    for (size_t i = 0; is_total && i < o->n_paths; i++)
        if (strcmp(o->paths[i], "-") == 0)
            return refuse(o, "against", "total reads the inputs twice, and - can be read once",
                          err);
    if (strcmp(o->against, "-") == 0)
        return refuse(o, "against", "a reference is a file or a folder", err);
    const struct ih_options given = *o;
    if (!allocate_paths(o, n + given.n_paths))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    if (!is_total)
        ih_options_add_path(o, o->against, false);
    for (size_t k = is_total ? 0 : 1; k < 2; k++)
        for (size_t i = 0; i < given.n_paths; i++)
            ih_options_add_path(o, given.paths[i], given.hold_records[i]);
    free(given.paths);
    free(given.hold_records);
    o->n_references = n;
    return IH_OK;
}

static enum ih_status check_run(struct ih_options *o, struct ih_error *err)
{
    size_t n_stdin = o->list_path && strcmp(o->list_path, "-") == 0;
    for (size_t i = 0; i < o->n_paths; i++)
        n_stdin += strcmp(o->paths[i], "-") == 0;
    const bool has_stdin_image = n_stdin > (o->list_path && strcmp(o->list_path, "-") == 0);
    if (o->chart_is_stream && o->charts_are_svg)
        o->chart.format = ih_chart_format_of(".svg");
    else if (ih_option_is_given(o, "chart-format") && o->chart.format && !o->chart_is_stream)
        return refuse(o, "chart-format",
                      "is for a directory of charts; the name of a file tells its format", err);
    if (o->chart.title && o->chart_path && !o->chart.format)
        return refuse(o, "title",
                      "one title for many charts: name one file, as in --chart=FILE.png", err);
    if (o->by && !*o->by)
        return refuse(
            o, "by",
            "needs a value: folder, band, format, label, size, samples or the name of a list", err);
    if (o->by && o->chart.format && !o->with_total && !o->chart.is_sheet)
        return refuse(o, "by", "one chart for many groups: name a directory, or add --total", err);
    const enum ih_status status = set_references(o, err);
    if (status != IH_OK)
        return status;
    bool has_page = false;
    for (size_t i = 0; i < o->n_outputs; i++)
        has_page = has_page || o->outputs[i].output == &ih_output_html;
    const bool is_svg = o->charts_are_svg || ih_chart_format_has_text(o->chart.format);
    if (ih_option_rules_check(o, err) != IH_OK)
        return err->status;
    if (o->makes_thumbnails && is_svg && !has_page)
        return refuse(o, "thumbnails", "an SVG chart shows no thumbnail; draw a PNG", err);
    if (o->makes_thumbnails && o->chart.format && o->with_total && !o->chart.is_sheet && !has_page)
        return refuse(o, "thumbnails", "the one chart is that of --total, which has none", err);
    o->chart.has_thumbnail = o->makes_thumbnails && o->chart_path;
    if (o->chart.is_sheet && !o->chart.format)
        return refuse(o, "sheet", "needs the name of one file, as in --chart=FILE.png", err);
    if (lacks_columns(o))
        return refuse(o, "csv",
                      "the layout channels has columns for 256 bins; with --bins=native use "
                      "--csv=long, bins, stats or images",
                      err);
    if (ih_option_is_given(o, "clip") && !o->measure.takes_native && !o->takes_raw_sensors &&
        o->measure.clip_high > 255)
        return ih_error_set(err, IH_USAGE, "--clip: '%s': values above 255 are for --bins=native",
                            ih_option_value(o, "clip"));
    if (o->stdin_name && !has_stdin_image)
        return refuse(o, "name", "names standard input, but - is no input", err);
    if (n_stdin > 1)
        return ih_error_set(err, IH_USAGE, "standard input can be only one image or one list");
    if (o->n_paths == 0 && !o->list_path)
        return ih_error_set(err, IH_USAGE, "no input: name an image, a directory, or -");
    return o->compares ? check_diff(o, err) : IH_OK;
}

/* --help and --version apply wherever they stand, and the rest is not read. */
static bool is_decided(const struct ih_options *o)
{
    return o->action == IH_ACTION_HELP || o->action == IH_ACTION_VERSION ||
           o->action == IH_ACTION_FIELDS;
}

static enum ih_status parse_arguments(struct ih_options *o, int argc, const char *const *argv,
                                      struct ih_error *err)
{
    bool is_ended = false;
    enum ih_status status = IH_OK;
    for (int i = 1; i < argc && status == IH_OK && !is_decided(o); i++) {
        const char *a = argv[i];
        if (is_ended || a[0] != '-' || a[1] == '\0')
            ih_options_add_path(o, a, false);
        else if (strcmp(a, "--") == 0)
            is_ended = true;
        else if (a[1] == '-')
            status = parse_long(o, argc, argv, &i, err);
        else
            status = parse_short(o, argc, argv, &i, err);
    }
    return status;
}

enum ih_status ih_options_parse(struct ih_options *o, int argc, const char *const *argv,
                                const char *device_variable, struct ih_error *err)
{
    *o = (struct ih_options){.measure = IH_MEASURE_DEFAULT,
                             .max_pixels = IH_MAX_PIXELS_DEFAULT,
                             .jpeg = IH_JPEG_AUTO,
                             .sigma = IH_SIGMA_DEFAULT};
    if (!allocate_paths(o, (size_t)argc))
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = parse_arguments(o, argc, argv, err);
    if (status == IH_OK && !is_decided(o) && o->action != IH_ACTION_RUN)
        status = check_action(o, err);
    if (status != IH_OK || o->action != IH_ACTION_RUN)
        return status;
    ih_columns_arrange(&o->columns,
                       (o->against ? 0 : IH_AGAINST) | (o->finds_copies ? 0 : IH_OF_COPIES) |
                           (o->has_labels || has_records_of_labels(o) ? 0 : IH_OF_LABELS));
    status = parse_conditions(o, err);
    if (status != IH_OK)
        return status;
    if (o->chart.width == 0 && !o->chart.is_sheet) {
        o->chart.width = IH_CHART_WIDTH;
        o->chart.height = IH_CHART_HEIGHT;
    }
    status = ih_destinations_settle(o, err);
    if (status == IH_OK)
        status = parse_fields(o, err);
    if (status == IH_OK)
        status = parse_sort(o, err);
    if (status != IH_OK)
        return status;
    if (device_variable && *device_variable && !ih_option_is_given(o, "device"))
        status = apply(o, find_option("device", 6), "IMGHIST_DEVICE", device_variable, err);
    if (status == IH_OK)
        status = find_resume_file(o, err);
    return status == IH_OK ? check_run(o, err) : status;
}

void ih_options_reset(struct ih_options *o)
{
    ih_condition_free(o->where);
    ih_condition_free(o->fail_if);
    o->where = o->fail_if = NULL;
    free(o->paths);
    free(o->hold_records);
    o->paths = NULL;
    o->hold_records = NULL;
    o->n_paths = 0;
}
