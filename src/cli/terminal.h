/* What a summary for people looks like here: the stream it goes to, and how much there is. */
#ifndef IH_CLI_TERMINAL_H
#define IH_CLI_TERMINAL_H

#include "cli/options.h"

#include <stdio.h>

/*
 * Fills in what depends on the stream and on the command line:
 *
 * colour    a terminal, NO_COLOR not set or empty, TERM set and not "dumb"
 * unicode   the locale's encoding is UTF-8
 * columns   COLUMNS where it is a number, else the terminal's, else 0
 * layout    of the text output, where none was asked for: "full" where one image is named and no
 *           directory or list, or only the total is written; else "lines"
 *
 * Reads the environment and the file system; main has called setlocale.
 */
void ih_terminal_look(FILE *stream, const struct ih_options *o, struct ih_output_options *with);

#endif
