/*
 * The command line: a table of options, and the struct that parsing fills.
 *
 * An option is one row of ih_option_table. The parser, --help, the completions of the shells and
 * the messages about wrong values all read it. Which options go together is in option_rules.c. A
 * new option is a row and, unless it is a flag or stores one of a list of choices, a setter.
 */
#ifndef IH_CLI_OPTIONS_H
#define IH_CLI_OPTIONS_H

#include "base/machine.h"
#include "chart/chart.h"
#include "cli/progress.h"
#include "output/condition.h"
#include "output/output.h"

enum {
    IH_OPTIONS_MAX = 80,
    IH_DATA_OUTPUTS_MAX = 8,
    IH_RAW_SIDE_MAX = 9999999, /* pixels; a row is checked later */
    IH_TIMEOUT_MAX = 1000000   /* seconds: no image takes twelve days */
};

enum ih_action {
    IH_ACTION_RUN, /* the default: count the inputs */
    IH_ACTION_HELP,
    IH_ACTION_VERSION,
    IH_ACTION_LIST,
    IH_ACTION_FIELDS,
    IH_ACTION_COMPLETION
};

enum ih_shell { IH_SHELL_BASH, IH_SHELL_ZSH, IH_SHELL_FISH };

/* --color. Auto: on a terminal that has colours, and without NO_COLOR. */
enum ih_color_when { IH_COLOR_AUTO, IH_COLOR_ALWAYS, IH_COLOR_NEVER };

struct ih_option;

/* Results in one format for one place. */
struct ih_data_output {
    const struct ih_output *output; /* NULL while parsing: the name of the file tells it */
    const char *layout;             /* of CSV or text; NULL: the default */
    const char *path;               /* of -o; NULL: standard output */
    bool has_place;                 /* -o was given, or --html=FILE */
    bool has_value_place;           /* --html=FILE: a later -o belongs to the format before it */
};

/* What the command line asks for. Strings are borrowed from argv and the environment. */
struct ih_options {
    enum ih_action action;
    bool given[IH_OPTIONS_MAX];         /* each row of the table */
    const char *values[IH_OPTIONS_MAX]; /* of each row the last value; NULL: none */
    enum ih_shell shell;                /* for IH_ACTION_COMPLETION */
    struct ih_data_output outputs[IH_DATA_OUTPUTS_MAX];
    size_t n_outputs;              /* 0: only charts are written */
    const char *chart_path;        /* NULL: no charts; a file or a directory */
    bool charts_are_svg;           /* those of a directory, or of a stream */
    bool chart_is_stream;          /* --chart=-, and other open files */
    struct ih_chart_options chart; /* the look of charts */
    enum ih_color_when color;
    bool helps_all;  /* --help=all */
    bool needs_rare; /* what is wrong is about an option that only --help=all shows */
    struct ih_device_options device;
    struct ih_measure measure;      /* what is counted; its mask is a file or a folder */
    bool has_labels;                /* --labels: the mask is a label image, or a folder of them */
    unsigned ignored_end;           /* --ignore-label, plus 1; 0: none */
    struct ih_region region;        /* its text is measure.region */
    unsigned n_threads;             /* 0: one for each core */
    unsigned raw_channels;          /* 0: the format is detected */
    int raw_depth;                  /* --raw-depth: of enum ih_raw_depth */
    uint64_t raw_width, raw_height; /* --size; 0: not given */
    bool takes_frames;              /* --frames */
    uint64_t max_pixels;
    unsigned timeout_s; /* of an image; 0: no limit */
    enum ih_jpeg_side jpeg;
    int axes;                 /* --axes: enum ih_axes */
    bool is_lenient;          /* --lenient */
    bool takes_raw_previews;  /* --raw-preview */
    bool takes_raw_sensors;   /* --raw-sensor */
    bool isolates_all;        /* --isolate */
    uint64_t memory_bytes;    /* for images held in memory; 0: a part of the machine's */
    const char *list_path;    /* --files-from; NULL: none; "-": standard input */
    const char *stdin_name;   /* --name; NULL: "-" */
    char list_separator;      /* '\n' or '\0', after each path of the list */
    unsigned shard, n_shards; /* --shard; 0: all inputs */
    bool resumes;             /* --resume */
    const char *resume_path;  /* of the output that it resumes; NULL: none */
    bool makes_thumbnails;    /* --thumbnails */
    struct ih_bands bands;    /* --bands */
    struct ih_columns columns;
    const char *fields;                             /* --fields; NULL: all */
    struct ih_field_list record_fields, row_fields; /* the same, for records and --csv=stats */
    bool is_sorted, is_descending;                  /* --sort */
    struct ih_named_field sort;                     /* its field */
    unsigned n_top;                                 /* --top; 0: all */
    bool finds_copies;                              /* --copies; they are sorted by fingerprint */
    struct ih_condition *where;                     /* owned; NULL: all records are written */
    struct ih_condition *fail_if;                   /* owned; NULL: none */
    unsigned uses;       /* flags of all columns that conditions, --fields and --sort name */
    double sigma;        /* --sigma-clip */
    bool fails_fast;     /* stop at the first failed input */
    bool with_total;     /* write a last record for all inputs together */
    bool only_total;     /* and no other record; with_total is set too */
    const char *against; /* --against: the reference; "total": all inputs; NULL: none */
    size_t n_references; /* so many of the first paths are the reference */
    const char *by;      /* --by: as of ih_by_open; NULL: none */
    bool compares;       /* --diff; the other two are set too: two totals are compared */
    enum ih_progress_when progress;
    bool is_quiet, is_verbose; /* never both */
    bool lists_skipped;        /* --list-skipped */
    const char **paths;        /* the array is owned */
    size_t n_paths;
    bool *hold_records; /* owned, [n_paths]: of --records */

    /* The last option with an optional value that was given without one, followed directly by
     * paths[stray_path]: perhaps its value, with a blank instead of "=". NULL: none. */
    const struct ih_option *stray_option;
    size_t stray_path;
};

/*
 * Parses argv[1] to argv[argc-1]. Opens and prints nothing, and looks up nothing on the machine
 * but links to /dev/stdout in the files of -o.
 *
 * device_variable   the value of IMGHIST_DEVICE, or NULL; --device overrides it
 * o                 filled; release it with ih_options_reset, also after a failure
 *
 * Returns IH_OK, IH_USAGE with the option and what is wrong with it, IH_UNAVAILABLE (a device that
 * this build does not have) or IH_MEMORY.
 */
enum ih_status ih_options_parse(struct ih_options *o, int argc, const char *const *argv,
                                const char *device_variable, struct ih_error *err);

void ih_options_reset(struct ih_options *o);

/* Adds an input, for the setter of --records. */
void ih_options_add_path(struct ih_options *o, const char *path, bool holds_records);

/* The fields that --fields chooses for an output; NULL: the output has all. */
const struct ih_field_list *ih_options_fields_of(const struct ih_options *o,
                                                 const struct ih_data_output *data);

/* What images held in memory may take together, and what sorted records may: --memory, or a part of
 * the machine's memory. */
uint64_t ih_options_memory_bytes(const struct ih_options *o);

/* Whether paths[i] is a result file, by its name or --records. */
bool ih_options_is_result_file(const struct ih_options *o, size_t i);

/* ---- the table ---- */

/* The headings of --help, in its order. */
enum ih_option_group {
    IH_GROUP_INPUT,
    IH_GROUP_OUTPUT,
    IH_GROUP_CHART,
    IH_GROUP_COUNTING,
    IH_GROUP_DEVICE,
    IH_GROUP_RUN,
    IH_GROUP_OTHER
};

enum ih_option_value {
    IH_VALUE_NONE,
    IH_VALUE_CHOICE, /* one of choices */
    IH_VALUE_KERNEL, /* one of this build's kernels */
    IH_VALUE_FILE,   /* a file or directory; never empty */
    IH_VALUE_TEXT    /* anything else: a number, a size */
};

/* An option that is being set, for its setter. */
struct ih_setting {
    struct ih_options *options;
    const struct ih_option *option;
    const char *value; /* NULL: none was given; a choice has been checked */
    struct ih_error *err;
};

struct ih_option {
    const char *name; /* without dashes; NULL: the end of the table */
    char letter;      /* 0: none */
    enum ih_option_group group;
    unsigned actions; /* the actions that it has a meaning for: bits 1 << enum ih_action */
    enum ih_option_value value;
    bool is_optional; /* the value; it must follow "=" */
    bool repeats;     /* a second value is another output; else it is refused */
    bool is_rare;     /* only --help=all shows it: --help fits on a screen */

    /* What --help shows as the value. After choices: further values, which the setter checks. */
    const char *value_name;
    const char *const *choices; /* of IH_VALUE_CHOICE; NULL at the end */
    const char *help;           /* at most 45 columns */

    const char *once;       /* what to do instead of giving a second value; NULL: choose one */
    enum ih_action selects; /* the action that it asks for; IH_ACTION_RUN: none */

    /*
     * What the option does. Without a setter: if field is not 0, a flag sets the bool at this
     * offset of struct ih_options, a choice stores its index in the enum there, and other values
     * are stored as they are.
     *
     * number    for setters that several options share
     * expects   for messages: the value that the option needs
     *
     * A setter returns IH_OK, or fills err with what is wrong, without the option's name.
     */
    size_t field;
    int number;
    const char *expects;
    enum ih_status (*set)(const struct ih_setting *s);
};

extern const struct ih_option ih_option_table[];

/* The row of an option; NULL: there is none. */
const struct ih_option *ih_option_find(const char *name);

/* Whether the command line has this option. */
bool ih_option_is_given(const struct ih_options *o, const char *name);

/* Its value, or NULL. */
const char *ih_option_value(const struct ih_options *o, const char *name);

/* The i-th value that an option lists, or NULL: a choice, or a kernel of this build. */
const char *ih_option_choice(const struct ih_option *option, size_t i);

bool ih_option_has_choice(const struct ih_option *option, const char *value);

/* ---- option_rules.c ---- */

/* Refuses options that exclude each other, or that could do nothing in this run: IH_USAGE with both
 * names. The outputs are settled, and the paths include the reference. */
enum ih_status ih_option_rules_check(struct ih_options *o, struct ih_error *err);

/* ---- info.c and completion.c: what the program prints about itself ---- */

void ih_print_help(FILE *f);
void ih_print_help_all(FILE *f); /* with the rare options */
void ih_print_version(FILE *f);
void ih_print_fields(FILE *f);
void ih_print_list(FILE *f); /* starts each backend to see whether it works here */

/* For each enum ih_shell: prints the script that makes the shell complete imghist's options. */
extern void (*const ih_completions[])(FILE *);

#endif
