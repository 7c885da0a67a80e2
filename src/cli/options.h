/*
 * The command line, parsed into one struct. Nothing is opened, printed or looked up on the machine.
 */
#ifndef IH_CLI_OPTIONS_H
#define IH_CLI_OPTIONS_H

#include "base/machine.h"
#include "cli/progress.h"
#include "device/backend.h"
#include "output/chart/chart.h"
#include "output/output.h"
#include "pipeline/pipeline.h"

enum ih_action {
    IH_ACTION_RUN,
    IH_ACTION_HELP,
    IH_ACTION_VERSION,
    IH_ACTION_LIST,
    IH_ACTION_COMPLETION,
    IH_ACTION_BENCH
};

enum ih_shell { IH_SHELL_BASH, IH_SHELL_ZSH, IH_SHELL_FISH };

/* Strings are borrowed from argv and the environment. */
struct ih_options {
    enum ih_action action;
    uint64_t given;                 /* bit i: option i of the table was given */
    enum ih_shell shell;            /* of IH_ACTION_COMPLETION */
    const struct ih_output *output; /* NULL: nothing but charts */
    const char *layout;             /* of CSV or the summary; NULL: the default */
    const char *output_path;        /* -o; NULL: standard output */
    const char *chart_path;         /* NULL: no charts; a file or a directory */
    struct ih_chart_options chart;  /* how charts look */
    struct ih_device_options device;
    const struct ih_luma_weights *luma;
    uint8_t clip_low, clip_high;
    bool skips_transparent; /* --alpha=skip-transparent */
    unsigned n_threads;     /* 0: all processors */
    unsigned raw_channels;  /* 0: told by content */
    uint64_t max_pixels;
    enum ih_jpeg_side jpeg;
    bool isolates_all;     /* --isolate */
    uint64_t memory_bytes; /* of images held whole; 0: a part of the machine's */
    uint64_t bench_bytes;  /* of the input that --bench makes */
    const char *list_path; /* --files-from; NULL: none; "-": standard input */
    char list_separator;   /* what ends a path in it: '\n' or '\0' */
    bool fails_fast;       /* stop at the first failed input */
    bool with_total;       /* a last record for all inputs together */
    bool only_total;       /* and no other; with_total is set too */
    enum ih_progress_when progress;
    bool is_quiet, is_verbose; /* never both */
    const char **paths;        /* the array is owned */
    size_t n_paths;
    const char *stray_option; /* NULL, or one without the value that it may take: "csv", behind */
    size_t stray_path;        /* which this path stands. Of several the last such option */
};

/*
 * Parses argv[1] to argv[argc-1].
 *
 * device_variable   the value of IMGHIST_DEVICE, or NULL; an option overrides it
 * o                 filled; release with ih_options_reset, also after a failure
 *
 * Returns IH_OK, IH_USAGE with the option and what is wrong with it, or IH_MEMORY.
 */
enum ih_status ih_options_parse(struct ih_options *o, int argc, const char *const *argv,
                                const char *device_variable, struct ih_error *err);

void ih_options_reset(struct ih_options *o);

/*
 * One line of --help, at most 32 and 45 columns.
 *
 * Completions read the values from it: `a|b` lists them all, FILE, F and PATH are names of files,
 * KERNEL is one of this build's; what follows in brackets is not completed.
 */
struct ih_option_help {
    const char *usage; /* "-o, --output=FILE", "--theme=dark|light", "--csv[=channels|bins]" */
    const char *text;
};

/* The options in the order of --help; usage NULL at the end. */
extern const struct ih_option_help ih_options_help[];

#endif
