#define _POSIX_C_SOURCE 200809L

#include "cli/paths.h"

#include "cli/chartfile.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A directory being walked: its names, sorted, and how far we are. */
struct level {
    char *path;
    char **names;
    size_t n_names, next;
};

/* Bytes of a line of a list, and empty lines one behind the other. No system takes a path of a
 * sixteenth of that: what has more is no list but an image, or a device that never ends. */
enum { LIST_LINE_MAX = 64 * 1024, NO_LIST = -1 };

struct ih_walk {
    struct ih_walk_sources sources;
    size_t next_path;
    FILE *list; /* owned unless standard input; NULL: none, or read to its end */
    char *line; /* owned, [LIST_LINE_MAX + 1]; the list's last path; NULL before the first */
    struct level *levels; /* the deepest last */
    size_t n_levels;
};

static int compare_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *join(const char *directory, const char *name)
{
    size_t n = strlen(directory), m = strlen(name);
    bool has_slash = n > 0 && directory[n - 1] == '/';
    char *path = malloc(n + m + 2);
    if (path)
        snprintf(path, n + m + 2, "%s%s%s", directory, has_slash ? "" : "/", name);
    return path;
}

static void level_release(struct level *level)
{
    for (size_t i = 0; i < level->n_names; i++)
        free(level->names[i]);
    free(level->names);
    free(level->path);
}

/* All names that are not hidden, unsorted. Returns 0, or an errno. */
static int read_names(DIR *dir, struct level *level)
{
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno;
        if (entry->d_name[0] == '.')
            continue;
        if (level->n_names == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            char **grown = realloc(level->names, capacity * sizeof *grown);
            if (!grown)
                return ENOMEM;
            level->names = grown;
        }
        char *name = strdup(entry->d_name);
        if (!name)
            return ENOMEM;
        level->names[level->n_names++] = name;
    }
}

/* Lists the directory and makes it the deepest level. path is taken. Returns 0, or an errno. */
static int descend(struct ih_walk *w, char *path)
{
    struct level level = {.path = path};
    int error = 0;
    DIR *dir = opendir(path);
    if (!dir)
        error = errno;
    else
        error = read_names(dir, &level);
    if (dir)
        closedir(dir);
    struct level *grown = error ? NULL : realloc(w->levels, (w->n_levels + 1) * sizeof *w->levels);
    if (!grown) {
        level_release(&level);
        return error ? error : ENOMEM;
    }
    if (level.n_names)
        qsort(level.names, level.n_names, sizeof *level.names, compare_bytes);
    w->levels = grown;
    w->levels[w->n_levels++] = level;
    return 0;
}

/* Gives path as an input that cannot be read. */
static bool give_error(struct ih_input *input, char *path, bool is_named, int error,
                       const char *what)
{
    *input = (struct ih_input){.path = path, .is_named = is_named};
    ih_error_errno(&input->error, error, what);
    return true;
}

/* A path of the command line. True: it is an input; false: it was a directory, now the level. */
static bool take_argument(struct ih_walk *w, const char *argument, bool is_listed,
                          struct ih_input *input)
{
    struct stat st;
    bool is_dash = strcmp(argument, "-") == 0, is_stdin = is_dash && !is_listed;
    /* In outputs and messages - is standard input. */
    char *path = strdup(is_dash && is_listed ? "./-" : argument);
    if (!path)
        return give_error(input, NULL, true, ENOMEM, "cannot read");
    if (is_stdin || stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        *input = (struct ih_input){.path = path, .is_named = true, .is_stdin = is_stdin};
        return true; /* what does not exist is told when it is opened */
    }
    int error = descend(w, path);
    return error ? give_error(input, strdup(argument), true, error, "cannot read the directory")
                 : false;
}

/* The next entry of the deepest level. True: it is an input. */
static bool take_entry(struct ih_walk *w, struct ih_input *input)
{
    struct level *level = &w->levels[w->n_levels - 1];
    struct stat st;
    char *path = join(level->path, level->names[level->next++]);
    if (!path)
        return give_error(input, NULL, false, ENOMEM, "cannot read");
    bool is_there = lstat(path, &st) == 0, is_link = is_there && S_ISLNK(st.st_mode);
    if (!is_there && errno != ENOENT)
        return give_error(input, path, false, errno, "cannot read");
    if (is_link)
        is_there =
            stat(path, &st) == 0; /* a link to nothing is passed over, as are vanished names */
    /* Charts that an earlier run left among the images are none of them. */
    if (is_there && S_ISREG(st.st_mode) && !ih_charts_is_name(path)) {
        *input = (struct ih_input){.path = path};
        return true;
    }
    if (is_there && S_ISDIR(st.st_mode) && !is_link) {
        char *again = strdup(path); /* descend takes path, and an error needs it as well */
        int error = descend(w, path);
        if (error)
            return give_error(input, again, false, error, "cannot read the directory");
        free(again);
        return false;
    }
    free(path);
    return false;
}

static void close_list(struct ih_walk *w)
{
    if (w->list && w->list != stdin)
        fclose(w->list);
    w->list = NULL;
}

/* Bytes of the next line of the list, with the separator where there is one; -1 at the end and
 * after an error, of which errno tells; -2 for one that is too long. */
static ssize_t read_line(struct ih_walk *w)
{
    size_t n = 0;
    int c = 0;
    if (!w->line)
        w->line = malloc(LIST_LINE_MAX + 1);
    if (!w->line)
        return -1; /* and errno is ENOMEM */
    while (c != w->sources.list_separator || n == 0) {
        c = getc_unlocked(w->list); /* nobody else reads it */
        if (c == EOF)
            break;
        if (n == LIST_LINE_MAX)
            return -2;
        w->line[n++] = (char)c;
    }
    w->line[n] = '\0';
    return n > 0 && !ferror(w->list) ? (ssize_t)n : -1;
}

/* The next line of the list that is not empty, of *n_bytes without its end; NULL at the list's end.
 * *error: an errno, 0, or NO_LIST. */
static const char *next_listed(struct ih_walk *w, size_t *n_bytes, int *error)
{
    *error = 0;
    for (unsigned n_empty = 0; w->list; n_empty++) {
        errno = 0;
        ssize_t n = read_line(w);
        if (n < 0 || n_empty > LIST_LINE_MAX) {
            *error = n != -1 ? NO_LIST : w->line && feof(w->list) ? 0 : errno ? errno : EIO;
            close_list(w);
            return NULL;
        }
        if (n > 0 && w->line[n - 1] == w->sources.list_separator)
            w->line[--n] = '\0';
        *n_bytes = (size_t)n;
        if (n > 0)
            return w->line;
    }
    return NULL;
}

static bool give_no_list(const struct ih_walk *w, struct ih_input *input)
{
    *input = (struct ih_input){.path = strdup(w->sources.list), .is_named = true};
    ih_error_set(&input->error, IH_LIMIT,
                 "is no list of files: it has a line of more than %d bytes, or as many empty ones",
                 LIST_LINE_MAX);
    return true;
}

/* A path of the list. As take_argument, but for a line with a NUL in it, which would be the name of
 * another file if it were read up to there. */
static bool take_listed(struct ih_walk *w, const char *line, size_t n_bytes, struct ih_input *input)
{
    if (strlen(line) == n_bytes)
        return take_argument(w, line, true, input);
    *input = (struct ih_input){.path = strdup(w->sources.list), .is_named = true};
    ih_error_set(&input->error, IH_IO,
                 "a line of the list has a NUL in it: --files0-from reads such lists");
    return true;
}

uint64_t ih_walk_count(const struct ih_walk_sources *sources)
{
    struct stat st;
    if (sources->list)
        return 0;
    for (size_t i = 0; i < sources->n_paths; i++)
        if (stat(sources->paths[i], &st) == 0 && S_ISDIR(st.st_mode))
            return 0;
    return sources->n_paths;
}

enum ih_status ih_walk_open(const struct ih_walk_sources *sources, struct ih_walk **walk,
                            struct ih_error *err)
{
    struct ih_walk *w = calloc(1, sizeof *w);
    if (!w)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    w->sources = *sources;
    if (sources->list) {
        bool is_stdin = strcmp(sources->list, "-") == 0;
        w->list = is_stdin ? stdin : fopen(sources->list, "r");
        if (!w->list) {
            int error = errno;
            free(w);
            return ih_error_errno(err, error, "the list cannot be opened");
        }
    }
    *walk = w;
    return IH_OK;
}

bool ih_walk_next(struct ih_walk *w, struct ih_input *input)
{
    for (;;) {
        size_t n_bytes = 0;
        int error = 0;
        if (w->n_levels > 0) {
            struct level *level = &w->levels[w->n_levels - 1];
            if (level->next < level->n_names) {
                if (take_entry(w, input))
                    return true;
            } else {
                level_release(level);
                w->n_levels--;
            }
            continue;
        }
        if (w->next_path < w->sources.n_paths) {
            if (take_argument(w, w->sources.paths[w->next_path++], false, input))
                return true;
            continue;
        }
        const char *line = next_listed(w, &n_bytes, &error);
        if (error == NO_LIST)
            return give_no_list(w, input);
        if (error)
            return give_error(input, strdup(w->sources.list), true, error,
                              "the list cannot be read");
        if (!line)
            return false;
        if (take_listed(w, line, n_bytes, input))
            return true;
    }
}

void ih_walk_close(struct ih_walk *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n_levels; i++)
        level_release(&w->levels[i]);
    free(w->levels);
    close_list(w);
    free(w->line);
    free(w);
}
