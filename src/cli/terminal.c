/* TIOCGWINSZ is in no standard, but in every system with terminals that change their size; where
 * the header hides it from strict POSIX programs the width is taken to be unknown. */
#define _DEFAULT_SOURCE

#include "cli/terminal.h"

#include "cli/paths.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MAX = 9999 };

/* The environment first: who sets COLUMNS means it, also for a pipe. */
static unsigned columns_of(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    long n = columns ? strtol(columns, &end, 10) : 0;
    if (n > 0 && n <= COLUMNS_MAX && *end == '\0')
        return (unsigned)n;
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
        return size.ws_col;
#endif
    return 0;
}

/* What a directory or a list holds is not known yet, and neither should the look of the output
 * depend on it. */
static bool names_one_image(const struct ih_options *o)
{
    const struct ih_walk_sources sources = ih_walk_sources_of(o);
    return ih_walk_count(&sources) == 1;
}

void ih_terminal_look(FILE *stream, const struct ih_options *o, struct ih_output_options *with)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool is_terminal = isatty(fileno(stream)) == 1;
    with->colour =
        is_terminal && !(no_color && *no_color) && term && *term && strcmp(term, "dumb") != 0;
    with->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    with->columns = columns_of(stream);
    if (o->output == &ih_output_text && !with->layout)
        with->layout = o->only_total || (names_one_image(o) && !o->with_total) ? "full" : "lines";
}
