#include "cli/options.h"

#include "decode/archive.h"
#include "isolate/decoder_process.h"

/* ---- --help ---- */

enum { USAGE_COLUMNS = 34 }; /* before the text of an option */

/* "-o, --output=FILE", "--csv[=channels|bins]", "--device=auto|cpu[:N,...]" */
static void print_option(FILE *f, const struct ih_option *option)
{
    const char *choice;
    int n = option->letter ? fprintf(f, "  -%c, ", option->letter) : fprintf(f, "  ");
    n += fprintf(f, "--%s%s%s", option->name, option->is_optional ? "[" : "",
                 option->value == IH_VALUE_NONE ? "" : "=");
    if (option->value == IH_VALUE_CHOICE)
        for (size_t i = 0; (choice = ih_option_choice(option, i)); i++)
            n += fprintf(f, "%s%s", i ? "|" : "", choice);
    n += fprintf(f, "%s%s", option->value_name ? option->value_name : "",
                 option->is_optional ? "]" : "");
    if (n > USAGE_COLUMNS) { /* the text has a line of its own */
        putc('\n', f);
        n = 0;
    }
    fprintf(f, "%*s %s\n", USAGE_COLUMNS - n, "", option->help);
}

static void print_help(FILE *f, bool shows_rare)
{
    static const char *const groups[] = {
        [IH_GROUP_INPUT] = "Input",       [IH_GROUP_OUTPUT] = "Output", [IH_GROUP_CHART] = "Charts",
        [IH_GROUP_COUNTING] = "Counting", [IH_GROUP_DEVICE] = "Device", [IH_GROUP_RUN] = "Run",
        [IH_GROUP_OTHER] = "Other"};
    fputs("Usage: imghist [OPTION]... [PATH]...\n"
          "Counts exact histograms of images. PATH: image, archive, directory, - (stdin).\n"
          "\n",
          f);
    const struct ih_option *last = NULL;
    for (const struct ih_option *k = ih_option_table; k->name; k++) {
        if (k->is_rare && !shows_rare)
            continue;
        if (!last || k->group != last->group)
            fprintf(f, "%s:\n", groups[k->group]);
        print_option(f, k);
        last = k;
    }
    fputs("\n"
          "Examples:\n"
          "  imghist photo.jpg                               show its histogram\n"
          "  imghist photos/ --csv=images -o all.csv         a row for each photo\n"
          "  imghist photos/ --where 'blown_any > 5%'        find blown highlights\n"
          "  imghist photos/ --html=photos.html              a page that sorts and filters\n"
          "  imghist train/ --total-only --json -o t.json    one histogram of a data set\n"
          "  imghist --diff t.json new/ --fail-if 'emd > 9'  a gate against drift\n"
          "Exit status: 0 ok, 1 input or output failed, 2 usage, 3 unavailable, 4 --fail-if\n",
          f);
    if (!shows_rare)
        fputs("More options: imghist --help=all; details: man imghist, man imghist-formats\n", f);
}

void ih_print_help(FILE *f)
{
    print_help(f, false);
}

void ih_print_help_all(FILE *f)
{
    print_help(f, true);
}

/* ---- --fields=help, --version and --list ---- */

void ih_print_fields(FILE *f)
{
    fputs("Fields of each result, for --fields, --where and --fail-if:\n", f);
    for (size_t i = 0; i < IH_N_FIELDS; i++)
        if (ih_schema[i].name)
            fprintf(f, "  %-18s %s\n", ih_schema[i].name, ih_schema[i].field.meaning);
    fputs(
        "\nFields of a channel: red.mean, luma.p99; channels are gray, red, green, blue, alpha, "
        "luma and band1, band2...\nWith --csv=stats each channel has a row: channel, mean, p99.\n",
        f);
    for (const struct ih_field *s = ih_stats_fields(); s->key; s++)
        fprintf(f, "  %-18s %s\n", s->key, s->meaning);
    for (size_t i = 0; i < IH_ROBUST_COLUMNS; i++)
        fprintf(f, "  %-18s %s\n", ih_robust_columns[i].name, ih_robust_columns[i].field.meaning);
    fprintf(f, "  %-18s %s\n", "p0.1, p99.9",
            "any percentile; without a channel it is that of luma");
    fprintf(f, "  %-18s %s\n", "share_le_100",
            "share of the pixels with values <= 100, 0 to 1; also lt, ge, gt");
}

void ih_print_version(FILE *f)
{
    fprintf(f, "imghist %s\n", ih_version());
}

static void print_device(FILE *f, const struct ih_backend *backend)
{
    const struct ih_settings settings = {.device = backend->name,
                                         .n_threads = IH_UNITS_MAX * IH_LANES_OF_UNIT};
    struct ih_context *context = NULL;
    struct ih_error err = {0};
    enum ih_status status = ih_context_open(&settings, sizeof settings, &context, &err);
    if (status == IH_OK)
        status = ih_context_wait(context, &err);
    if (status == IH_OK)
        fprintf(f, "  %-11s %s\n", backend->name, ih_context_device(context));
    else
        fprintf(f, "  %-11s not available: %s\n", backend->name, err.message);
    ih_context_close(context);
}

/* "psd, webp": the formats that decoder processes decode. */
static const char *isolated_names(char *text, size_t size)
{
    size_t n = 0;
    for (const struct ih_decoder *const *d = ih_decoders; *d && n < size; d++)
        if ((*d)->is_isolated)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", (*d)->name);
    return text;
}

void ih_print_list(FILE *f)
{
    char names[256];
    fputs("formats:\n", f);
    for (const struct ih_decoder *const *d = ih_decoders; *d; d++)
        fprintf(f, "  %-11s %s; %s\n", (*d)->name, (*d)->title, (*d)->version);
    fprintf(f, "  %-11s %s\n", ih_decoder_raw.name, ih_decoder_raw.title);
    for (const struct ih_decoder_missing *m = ih_decoders_missing; m->name; m++)
        fprintf(f, "  %-11s not in this build (%s)\n", m->name, m->library);
    const struct ih_decoder *archive = ih_archive_decoders[0];
    if (archive)
        fprintf(f, "  %-11s %s; %s\n", "archives:", archive->title, archive->version);
    else
        fprintf(f, "  %-11s not in this build (libarchive)\n", "archives:");
#if defined(IH_STATIC)
    fprintf(f, "  linked in:  %s\n", IH_STATIC);
#endif
    fprintf(f, "  isolated:   %s: %s\n", isolated_names(names, sizeof names), ih_sandbox_title());
    fputs("outputs:\n", f);
    for (const struct ih_output *const *o = ih_outputs; *o; o++)
        fprintf(f, "  %-11s %s\n", (*o)->name, (*o)->title);
    fprintf(f, "  %-11s %s\n", "chart", "a drawn histogram:" IH_CHART_ENDINGS);
    fputs("devices, in the order of --device=auto:\n", f);
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        print_device(f, *b);
#if !defined(IH_WITH_CUDA)
    fprintf(f, "  %-11s not in this build: make CUDA=1 adds it\n", "cuda");
#endif
    fputs("kernels, the default of each device first:\n", f);
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        for (const struct ih_kernel_entry *k = (*b)->kernels; k->name; k++)
            fprintf(f, "  %-11s %s: %s\n", k->name, (*b)->name, k->why);
}
