/*
 * What a run writes to, and what it reads: no file is both.
 */
#ifndef IH_CLI_TARGETS_H
#define IH_CLI_TARGETS_H

#include "base/source.h"
#include "cli/options.h"

enum { IH_TARGETS_MAX = 2 }; /* the data output and one chart */

struct ih_targets {
    struct ih_file_identity files[IH_TARGETS_MAX]; /* that exist already, and no input may be */
    size_t n_files;
};

/*
 * Finds the files that exist and will be written to, and looks for them among the paths of the
 * command line; inputs that are found later are compared when they are opened. Nor may the data and
 * a chart go to one file.
 *
 * targets    overwritten
 * *subject   on failure: the file that the error is about
 *
 * Returns IH_OK, IH_CONFLICT, or IH_USAGE for a path that is no file but a value that lacks its =.
 */
enum ih_status ih_targets_check(const struct ih_options *options, struct ih_targets *targets,
                                const char **subject, struct ih_error *err);

/*
 * Of that check what --bench needs too: the data, with -o or to standard output, and a chart go to
 * two files.
 *
 * *subject   on failure: as above
 *
 * Returns IH_OK or IH_CONFLICT.
 */
enum ih_status ih_targets_separate(const struct ih_options *options, const char **subject,
                                   struct ih_error *err);

#endif
