/* What a stream's reader can show. */
#ifndef IH_CLI_TERMINAL_H
#define IH_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/*
 * colour    a terminal, NO_COLOR not set or empty, TERM set and not "dumb"
 * unicode   the locale's encoding is UTF-8
 *
 * Reads the environment; main has called setlocale.
 */
void ih_terminal_look(FILE *stream, bool *colour, bool *unicode);

#endif
