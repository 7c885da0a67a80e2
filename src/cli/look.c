#define _DEFAULT_SOURCE /* TIOCGWINSZ is not in POSIX */

#include "cli/look.h"

#include "base/path.h"
#include "cli/destinations.h"
#include "stages/stage.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the common folder ---- */

/* The folder whose name the results of a named input begin with. NULL: out of memory. */
static char *folder_of(const char *path)
{
    struct stat st;
    const size_t n = strlen(path);
    const bool is_folder = ih_path_stat(path, &st, 0) == 0 && S_ISDIR(st.st_mode);
    char *folder = malloc(n + 2);
    if (!folder)
        return NULL;
    memcpy(folder, path, n + 1);
    if (!is_folder)
        ih_folder_narrow(folder, path);
    else if (n > 0 && path[n - 1] != '/')
        strcpy(folder + n, "/");
    return folder;
}

char *ih_common_folder(const struct ih_options *o)
{
    const size_t first = o->n_references;
    char *common = o->list_path || o->n_paths == first ? strdup("") : folder_of(o->paths[first]);
    for (size_t i = first; common && *common && i < o->n_paths; i++) {
        /* Images of a result file may lie anywhere. */
        char *folder = ih_options_is_result_file(o, i) ? NULL : folder_of(o->paths[i]);
        ih_folder_narrow(common, folder ? folder : "");
        free(folder);
    }
    return common;
}

/* ---- the terminal ---- */

enum { COLUMNS_MAX = 9999 };

/* COLUMNS comes first: it also applies to a pipe. 0: unknown. */
static unsigned columns_of(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    long n = columns ? strtol(columns, &end, 10) : 0;
    if (n > 0 && n <= COLUMNS_MAX && *end == '\0')
        return (unsigned)n;
    struct winsize size;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static bool has_colours(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(stream)) == 1 && !(no_color && *no_color) && term && *term &&
           strcmp(term, "dumb") != 0;
}

struct ih_output_options ih_look_of(FILE *stream, const struct ih_options *o,
                                    const struct ih_data_output *data, const char *folder,
                                    bool is_one)
{
    struct ih_output_options look = {.layout = data->layout,
                                     .folder = folder,
                                     .columns = &o->columns,
                                     .verbose = o->is_verbose,
                                     .title = o->chart.title,
                                     .path = data->path,
                                     .thumbnails = o->makes_thumbnails,
                                     .has_distances = o->against != NULL,
                                     .colour = o->color == IH_COLOR_ALWAYS ||
                                               (o->color == IH_COLOR_AUTO && has_colours(stream)),
                                     .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                                     .width = columns_of(stream)};
    if (data->output == &ih_output_text && !look.layout)
        look.layout = (o->with_total ? o->only_total : is_one && !o->by) ? "full" : "lines";
    return look;
}
