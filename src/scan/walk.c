#define _DEFAULT_SOURCE /* d_type of readdir(3) */
#include "scan/walk.h"

#include "base/path.h"
#include "decode/archive.h"
#include "scan/extensions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
    char *name;   /* owned */
    bool is_file; /* a regular file; false: it is not known */
};

/* A directory that is being walked: its sorted entries and the next one. */
struct level {
    size_t n_path; /* its path is the first n_path bytes of the deepest level's */
    struct entry *entries;
    size_t n_entries, next;
    uint64_t n_before; /* inputs given before it */
};

/* The most bytes in a line of a list, and the most empty lines in a row. Paths are far shorter on
 * all systems. A file with more is an image, or a device that never ends, rather than a list. */
enum { LIST_LINE_MAX = 64 * 1024, NOT_A_LIST = -1 };

struct ih_walk {
    struct ih_walk_sources sources;
    size_t next_path;
    FILE *list;                      /* owned unless standard input; NULL: no list, or at its end */
    bool has_begun_list;             /* after all paths */
    bool is_in_list;                 /* the list's first line has been read */
    uint64_t n_given, n_before_list; /* inputs */
    char *line; /* owned, [LIST_LINE_MAX + 1]; the list's last path; NULL before the first */
    char *path; /* owned; of the deepest level; NULL before the first */
    struct level *levels; /* the deepest last */
    size_t n_levels;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
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
    for (size_t i = 0; i < level->n_entries; i++)
        free(level->entries[i].name);
    free(level->entries);
}

/* Reads all entries that are not hidden, unsorted. Returns 0, or an errno. */
static int read_entries(DIR *dir, struct level *level)
{
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry)
            return errno;
        if (entry->d_name[0] == '.')
            continue;
        if (level->n_entries == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            struct entry *grown = realloc(level->entries, capacity * sizeof *grown);
            if (!grown)
                return ENOMEM;
            level->entries = grown;
        }
        char *name = strdup(entry->d_name);
        if (!name)
            return ENOMEM;
        level->entries[level->n_entries++] = (struct entry){name, entry->d_type == DT_REG};
    }
}

/* Reads the directory and makes it the deepest level. Takes ownership of path. Returns 0, or an
 * errno. */
static int descend(struct ih_walk *w, char *path)
{
    struct level level = {.n_path = strlen(path), .n_before = w->n_given};
    const int fd = ih_path_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int error = dir ? read_entries(dir, &level) : errno;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    struct level *grown = error ? NULL : realloc(w->levels, (w->n_levels + 1) * sizeof *w->levels);
    if (!grown) {
        level_release(&level);
        free(path);
        return error ? error : ENOMEM;
    }
    if (level.n_entries)
        qsort(level.entries, level.n_entries, sizeof *level.entries, compare_names);
    w->levels = grown;
    w->levels[w->n_levels++] = level;
    free(w->path);
    w->path = path;
    return 0;
}

static void ascend(struct ih_walk *w)
{
    level_release(&w->levels[--w->n_levels]);
    if (w->n_levels > 0)
        w->path[w->levels[w->n_levels - 1].n_path] = '\0';
}

static bool give_error(struct ih_input *input, char *path, bool is_named, int error,
                       const char *what)
{
    *input = (struct ih_input){.path = path, .is_named = is_named, .is_in_folder = !is_named};
    ih_error_errno(&input->error, error, what);
    return true;
}

static bool is_result_file(const struct ih_walk_sources *sources, const char *path)
{
    return !sources->is_raw && ih_extension_is_result_file(path);
}

/* A path of the command line or a list. True: it is an input; false: it is a directory, which is
 * now the deepest level. */
static bool take_argument(struct ih_walk *w, const char *argument, bool is_listed,
                          bool holds_records, struct ih_input *input)
{
    struct stat st;
    bool is_dash = strcmp(argument, "-") == 0, is_stdin = is_dash && !is_listed;
    /* A file named "-" gets another path, since outputs and messages call standard input "-". */
    const char *stdin_name = w->sources.stdin_name ? w->sources.stdin_name : "-";
    char *path = strdup(is_stdin ? stdin_name : is_dash ? "./-" : argument);
    if (!path)
        return give_error(input, NULL, true, ENOMEM, "cannot read");
    if (is_stdin || holds_records || ih_path_stat(path, &st, 0) != 0 || !S_ISDIR(st.st_mode)) {
        const char *slash = strrchr(path, '/');
        *input = (struct ih_input){
            .path = path,
            .name_at = slash ? (size_t)(slash + 1 - path) : 0,
            .is_named = true,
            .holds_records = holds_records || (!is_stdin && is_result_file(&w->sources, path)),
            .is_stdin = is_stdin};
        return true; /* a missing file fails when it is opened */
    }
    int error = descend(w, path);
    return error ? give_error(input, strdup(argument), true, error, "cannot read the directory")
                 : false;
}

/* Gives an entry that the walk leaves out. Takes ownership of path. */
static bool give_skipped(struct ih_input *input, char *path, const char *why)
{
    *input = (struct ih_input){.path = path, .is_in_folder = true};
    ih_error_set(&input->error, IH_UNKNOWN, "%s", why);
    return true;
}

/* The next entry of the deepest level. True: it is an input; false: it was skipped or entered. */
static bool take_entry(struct ih_walk *w, struct ih_input *input)
{
    struct level *level = &w->levels[w->n_levels - 1];
    struct stat st = {.st_mode = S_IFREG};
    const struct entry *const entry = &level->entries[level->next++];
    char *path = join(w->path, entry->name);
    if (!path)
        return give_error(input, NULL, false, ENOMEM, "cannot read");
    bool exists = entry->is_file || ih_path_stat(path, &st, AT_SYMLINK_NOFOLLOW) == 0,
         is_link = exists && S_ISLNK(st.st_mode);
    if (!exists && errno != ENOENT)
        return give_error(input, path, false, errno, "cannot open");
    if (is_link && ih_path_stat(path, &st, 0) != 0)
        return give_skipped(input, path, "a link to nothing");
    if (is_link && S_ISDIR(st.st_mode))
        return give_skipped(input, path, "a link to a directory, which is not followed");
    if (exists && S_ISDIR(st.st_mode)) {
        char *copy = strdup(path); /* descend takes path; an error needs it too */
        int error = descend(w, path);
        if (error)
            return give_error(input, copy, false, error, "cannot read the directory");
        free(copy);
        return false;
    }
    if (exists && !S_ISREG(st.st_mode))
        return give_skipped(input, path, "not a file");
    /* An earlier run may have left charts among the images. */
    if (exists && ih_extension_is_chart(path))
        return give_skipped(input, path, "has the name of a chart");
    if (exists) {
        size_t name_at = w->levels[0].n_path;
        while (path[name_at] == '/')
            name_at++;
        *input = (struct ih_input){.path = path, .name_at = name_at, .is_in_folder = true};
        return true;
    }
    free(path); /* it vanished */
    return false;
}

/* The walk of a named folder has ended. */
static bool give_end(const char *folder, struct ih_input *input)
{
    *input = (struct ih_input){.path = strdup(folder), .is_named = true, .ends_folder = true};
    return ih_error_set(&input->error, IH_UNKNOWN, "no images in this folder") != IH_OK;
}

static void close_list(struct ih_walk *w)
{
    if (w->list && w->list != stdin)
        fclose(w->list);
    w->list = NULL;
}

/* Reads the next line of the list. Returns its bytes, with its separator; -1 at the end or on an
 * error (errno); -2 if the line is too long. */
static ssize_t read_line(struct ih_walk *w)
{
    size_t n = 0;
    int c = 0;
    if (!w->line)
        w->line = malloc(LIST_LINE_MAX + 1);
    if (!w->line)
        return -1; /* errno is ENOMEM */
    while (c != w->sources.list_separator || n == 0) {
        c = getc_unlocked(w->list); /* only this thread reads it */
        if (c == EOF)
            break;
        if (n == LIST_LINE_MAX)
            return -2;
        w->line[n++] = (char)c;
    }
    w->line[n] = '\0';
    return n > 0 && !ferror(w->list) ? (ssize_t)n : -1;
}

/* The next non-empty line of the list, *n_bytes without its separator; NULL at the end of the list.
 * *error: an errno, 0, or NOT_A_LIST. */
static const char *next_listed(struct ih_walk *w, size_t *n_bytes, int *error)
{
    *error = 0;
    for (unsigned n_empty = 0; w->list; n_empty++) {
        errno = 0;
        ssize_t n = read_line(w);
        if (n < 0 || n_empty > LIST_LINE_MAX) {
            *error = n != -1 ? NOT_A_LIST : w->line && feof(w->list) ? 0 : errno ? errno : EIO;
            close_list(w);
            return NULL;
        }
        if (n > 0 && w->line[n - 1] == w->sources.list_separator)
            w->line[--n] = '\0';
        if (n > 0 && w->line[n - 1] == '\r' && w->sources.list_separator == '\n')
            w->line[--n] = '\0'; /* of Windows, like a byte order mark */
        if (!w->is_in_list && w->sources.list_separator == '\n' && n >= 3 &&
            memcmp(w->line, "\xEF\xBB\xBF", 3) == 0)
            memmove(w->line, w->line + 3, (size_t)(n -= 3) + 1);
        if (!w->is_in_list)
            w->n_before_list = w->n_given;
        w->is_in_list = true;
        *n_bytes = (size_t)n;
        if (n > 0)
            return w->line;
    }
    return NULL;
}

static bool give_list_error(const struct ih_walk *w, struct ih_input *input)
{
    *input = (struct ih_input){.path = strdup(w->sources.list), .is_named = true};
    ih_error_set(
        &input->error, IH_LIMIT,
        "is not a list of files: it has a line of more than %d bytes, or as many empty lines",
        LIST_LINE_MAX);
    return true;
}

/* A path of the list. A line with a NUL byte is an error and ends the list: it is a binary file, or
 * separated by NUL bytes. */
static bool take_listed(struct ih_walk *w, const char *line, size_t n_bytes, struct ih_input *input)
{
    if (strlen(line) == n_bytes)
        return take_argument(w, line, true, false, input);
    close_list(w);
    *input = (struct ih_input){.path = strdup(w->sources.list), .is_named = true};
    const bool is_utf_16 = memcmp(line, "\xFF\xFE", 2) == 0 || memcmp(line, "\xFE\xFF", 2) == 0 ||
                           (n_bytes > 3 && line[1] == '\0' && line[3] == '\0');
    ih_error_set(&input->error, IH_IO,
                 is_utf_16 ? "is a list in UTF-16, which Windows programs write; save it as UTF-8"
                           : "is not a list of lines: it contains a NUL byte; on the command line "
                             "--files0-from reads such lists");
    return true;
}

/* Whether a file looks like an archive. Pipes are not opened: reading would take their data. */
static bool is_archive(const char *path)
{
    uint8_t head[IH_ARCHIVE_PROBE_BYTES];
    const int fd = ih_path_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);
    if (fd >= 0)
        close(fd);
    const enum ih_archive_kind kind = ih_archive_probe(head, n > 0 ? (size_t)n : 0);
    return kind != IH_ARCHIVE_NONE && kind != IH_ARCHIVE_UNSURE;
}

uint64_t ih_walk_count(const struct ih_walk_sources *sources)
{
    struct stat st;
    if (sources->list)
        return 0;
    for (size_t i = 0; i < sources->n_paths; i++) {
        const bool exists = ih_path_stat(sources->paths[i], &st, 0) == 0;
        if ((sources->hold_records && sources->hold_records[i]) ||
            is_result_file(sources, sources->paths[i]) || (exists && S_ISDIR(st.st_mode)) ||
            (exists && S_ISREG(st.st_mode) && i < IH_WALK_PROBED && is_archive(sources->paths[i])))
            return 0;
    }
    return sources->n_paths;
}

bool ih_walk_is_quick(const struct ih_walk_sources *sources)
{
    struct stat st;
    return !sources->list || (stat(sources->list, &st) == 0 && S_ISREG(st.st_mode));
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
        uint8_t head[IH_PROBE_BYTES]; /* of a file; a pipe stays unread */
        const ssize_t n = pread(fileno(w->list), head, sizeof head, 0);
        if (n > 0 && ih_decode_has_signature(head, (size_t)n)) {
            ih_walk_close(w);
            return ih_error_set(err, IH_USAGE, "an image is no list; name it without an option");
        }
    }
    *walk = w;
    return IH_OK;
}

static bool next_input(struct ih_walk *w, struct ih_input *input)
{
    for (;;) {
        size_t n_bytes = 0;
        int error = 0;
        if (w->n_levels > 0) {
            struct level *level = &w->levels[w->n_levels - 1];
            if (level->next < level->n_entries) {
                if (take_entry(w, input))
                    return true;
            } else {
                ascend(w);
                if (w->n_levels == 0)
                    return give_end(w->path, input);
            }
            continue;
        }
        if (w->next_path < w->sources.n_paths) {
            const size_t i = w->next_path++;
            if (take_argument(w, w->sources.paths[i], false,
                              w->sources.hold_records && w->sources.hold_records[i], input))
                return true;
            continue;
        }
        w->has_begun_list = true;
        const char *line = next_listed(w, &n_bytes, &error);
        if (error == NOT_A_LIST)
            return give_list_error(w, input);
        if (error == EISDIR) {
            give_error(input, strdup(w->sources.list), true, error, "");
            ih_error_set(&input->error, IH_IO, "a directory is no list; name it without an option");
            return true;
        }
        if (error)
            return give_error(input, strdup(w->sources.list), true, error,
                              "the list cannot be read");
        if (!line)
            return false;
        if (take_listed(w, line, n_bytes, input))
            return true;
    }
}

bool ih_walk_next(struct ih_walk *w, struct ih_input *input)
{
    const bool has_input = next_input(w, input);
    if (has_input && w->has_begun_list)
        input->source = w->sources.n_paths;
    else if (has_input && w->next_path > 0)
        input->source = w->next_path - 1;
    w->n_given += has_input ? 1 : 0;
    return has_input;
}

double ih_walk_n_left(const struct ih_walk *w)
{
    struct stat st;
    double n_left = 0; /* below the level */
    for (size_t k = w->n_levels; k-- > 0;) {
        const struct level *level = &w->levels[k];
        const double n_names = (double)(level->n_entries - level->next);
        n_left += level->next == 0 ? n_names
                                   : n_names * ((double)(w->n_given - level->n_before) + n_left) /
                                         (double)level->next;
    }
    if (w->next_path > 0 && !w->is_in_list)
        n_left += (double)(w->sources.n_paths - w->next_path) * ((double)w->n_given + n_left) /
                  (double)w->next_path;
    const off_t at = w->list && w->is_in_list ? ftello(w->list) : 0;
    if (at > 0 && fstat(fileno(w->list), &st) == 0 && st.st_size > at)
        n_left += (double)(st.st_size - at) * ((double)(w->n_given - w->n_before_list) + n_left) /
                  (double)at;
    return n_left;
}

void ih_walk_close(struct ih_walk *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->n_levels; i++)
        level_release(&w->levels[i]);
    free(w->levels);
    free(w->path);
    close_list(w);
    free(w->line);
    free(w);
}
