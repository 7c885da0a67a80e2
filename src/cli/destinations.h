/*
 * What a run writes to, and what it reads: no file is both.
 */
#ifndef IH_CLI_DESTINATIONS_H
#define IH_CLI_DESTINATIONS_H

#include "base/source.h"
#include "cli/options.h"

enum { IH_DESTINATIONS_MAX = 2 }; /* the data output and one chart */

struct ih_destinations {
    struct ih_file_identity
        files[IH_DESTINATIONS_MAX]; /* that exist already, and no input may be */
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
enum ih_status ih_destinations_check(const struct ih_options *options,
                                     struct ih_destinations *targets, const char **subject,
                                     struct ih_error *err);

/*
 * Of that check what --bench needs too: the data, with -o or to standard output, and a chart go to
 * two files.
 *
 * *subject   on failure: as above
 *
 * Returns IH_OK or IH_CONFLICT.
 */
enum ih_status ih_destinations_separate(const struct ih_options *options, const char **subject,
                                        struct ih_error *err);

#endif
