#define _POSIX_C_SOURCE 200809L

#include "cli/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ih_terminal_look(FILE *stream, bool *colour, bool *unicode)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_terminal = isatty(fileno(stream)) == 1;
    *colour = is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
    *unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
