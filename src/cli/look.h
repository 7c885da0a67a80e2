/* The look of the text output: colours, characters, width, and the folder of all inputs. */
#ifndef IH_CLI_LOOK_H
#define IH_CLI_LOOK_H

#include "cli/options.h"

#include <stdio.h>

/*
 * Returns the longest folder that the named inputs have in common, with its slash; "" if there is
 * none, or a list. Owned by the caller; NULL: out of memory.
 */
char *ih_common_folder(const struct ih_options *options);

/*
 * folder   borrowed, like the strings of data, as long as the result is used
 * is_one   the run has one image; a directory, a list, an archive or a result file counts as many
 */
struct ih_output_options ih_look_of(FILE *stream, const struct ih_options *options,
                                    const struct ih_data_output *data, const char *folder,
                                    bool is_one);

#endif
