/* The files that a run writes. None of them may also be an input. */
#ifndef IH_CLI_DESTINATIONS_H
#define IH_CLI_DESTINATIONS_H

#include "cli/options.h"

enum {
    IH_SHEETS_MAX = 50, /* files of --sheet: each is open until the run ends */
    IH_DESTINATIONS_MAX = IH_DATA_OUTPUTS_MAX + IH_SHEETS_MAX
};

/* The regular files that exist already and will be written to. */
struct ih_destinations {
    struct ih_file_identity files[IH_DESTINATIONS_MAX];
    size_t n_files;
};

/* The name of the n-th file of a sheet, from 1: a.png, a-2.png; a-2.hist.png for a.hist.png. Owned
 * by the caller; NULL: out of memory. */
char *ih_sheet_path(const char *path, size_t n);

/* The format that the name of a file tells; NULL: none. */
const struct ih_output *ih_output_of(const char *path);

/*
 * Completes the outputs that were parsed: the name of a file tells the format where none was named,
 * and without any output the text summary is written, unless the
 * run only draws charts.
 *
 * Returns IH_OK, or IH_USAGE: a name that tells no format or is one of a picture, or two formats
 * for standard output.
 */
enum ih_status ih_destinations_settle(struct ih_options *options, struct ih_error *err);

/*
 * Finds the destinations and looks for them among the paths of the command line. Inputs of
 * directories and lists are compared later, when they are opened. Also checks that outputs and a
 * chart go to different files.
 *
 * destinations   overwritten
 * *subject       on failure: the file that the error is about
 *
 * Returns IH_OK, IH_CONFLICT, or IH_USAGE for a missing file that looks like the value of the
 * option before it, with a blank instead of "=".
 */
enum ih_status ih_destinations_check(const struct ih_options *options,
                                     struct ih_destinations *destinations, const char **subject,
                                     struct ih_error *err);

/* Returns the longest folder that the named inputs have in common, with its slash; "" if there is
 * none, or a list. Owned by the caller; NULL: out of memory. */
char *ih_common_folder(const struct ih_options *options);

/*
 * Refuses an input that has the name of a chart if charts go to a directory, where another input's
 * chart could replace it. For the inputs of the command line it is called before anything is
 * written, and for the others when their charts are.
 *
 * Returns IH_OK or IH_CONFLICT.
 */
enum ih_status ih_chart_check_input(const struct ih_chart_options *look, const char *path,
                                    struct ih_error *err);

#endif
