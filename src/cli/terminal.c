#define _DEFAULT_SOURCE /* TIOCGWINSZ: POSIX has no call for a terminal's width before 2024 */

#include "cli/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void ih_terminal_look(FILE *stream, bool *colour, bool *unicode, unsigned *columns)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_terminal = isatty(fileno(stream)) == 1;
    *colour = is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
    *unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    *columns = 80;
#ifdef TIOCGWINSZ
    struct winsize size;
    if (is_terminal && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        *columns = size.ws_col;
#endif
}
