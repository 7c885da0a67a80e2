/* The files that a run writes. None of them may also be an input. */
#ifndef IH_CLI_DESTINATIONS_H
#define IH_CLI_DESTINATIONS_H

#include "base/source.h"
#include "cli/options.h"

enum { IH_DESTINATIONS_MAX = 2 }; /* the data and one chart */

/* The regular files that exist already and will be written to. */
struct ih_destinations {
    struct ih_file_identity files[IH_DESTINATIONS_MAX];
    size_t n_files;
};

/*
 * Finds the destinations and looks for them among the paths of the command line. Inputs of
 * directories and lists are compared later, when they are opened. Also checks that the data and a
 * chart go to two files.
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

/* The last of these checks alone, for --bench: the data and a chart go to two files. Returns IH_OK
 * or IH_CONFLICT. */
enum ih_status ih_destinations_separate(const struct ih_options *options, const char **subject,
                                        struct ih_error *err);

#endif
