/*
 * Reads a list of paths in a small tree of files, and compares the inputs with those expected from
 * the list's bytes.
 *
 * The first byte of the fuzzer's input selects the separator, and whether a path on the command
 * line comes first. The rest is the list. Reading stops before a path that could leave the tree.
 */
#ifndef IH_TESTS_LIST_WALK_H
#define IH_TESTS_LIST_WALK_H

#include "decode/decoder.h"
#include "scan/walk.h"
#include "tests/fuzz/promised.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tree's directories, with the inputs that walking each one gives, in byte order. Hidden names
 * are left out. Links to directories, dangling links and charts are inputs with an error. */
static const struct {
    const char *name;
    const char *files[8];
} list_tree[] = {{".", {"-", "a", "d/B", "d/b/x", "d/c", "k"}},
                 {"d", {"B", "b/x", "c"}},
                 {"d/b", {"x"}},
                 {"e", {NULL}}};
static const char *const list_files[] = {"-", "a", "d/B", "d/b/x", "d/c", "d/.h", "d/a.hist.png"};
static const char *const list_links[][2] = {{"k", "a"}, {"d/l", "b"}, {"gone", "nowhere"}};
enum {
    N_LIST_DIRECTORIES = sizeof list_tree / sizeof *list_tree,
    N_LIST_FILES = sizeof list_files / sizeof *list_files,
    N_LIST_LINKS = sizeof list_links / sizeof *list_links
};

static char list_root[] = "/tmp/imghist-list-XXXXXX";

static inline void remove_list_tree(void)
{
    if (chdir(list_root) != 0)
        return;
    for (size_t i = 0; i < N_LIST_FILES; i++)
        unlink(list_files[i]);
    for (size_t i = 0; i < N_LIST_LINKS; i++)
        unlink(list_links[i][0]);
    for (size_t i = N_LIST_DIRECTORIES; --i > 0;)
        rmdir(list_tree[i].name);
    rmdir(list_root);
}

/* Makes the tree in the first call, and makes it the working directory. */
static inline void enter_list_tree(void)
{
    static bool exists;
    if (exists) {
        PROMISED(chdir(list_root) == 0);
        return;
    }
    PROMISED(mkdtemp(list_root) && chdir(list_root) == 0);
    exists = true;
    for (size_t i = 1; i < N_LIST_DIRECTORIES; i++)
        PROMISED(mkdir(list_tree[i].name, 0700) == 0);
    for (size_t i = 0; i < N_LIST_FILES; i++) {
        int fd = open(list_files[i], O_WRONLY | O_CREAT, 0600);
        PROMISED(fd >= 0 && close(fd) == 0);
    }
    for (size_t i = 0; i < N_LIST_LINKS; i++)
        PROMISED(symlink(list_links[i][1], list_links[i][0]) == 0);
    atexit(remove_list_tree);
}

/* Whether a path could leave the tree. */
static inline bool leads_out(const char *path)
{
    return path[0] == '/' || strstr(path, "..");
}

/* The next input that a walk does not skip. */
static inline void next_input(struct ih_walk *walk, struct ih_input *input)
{
    PROMISED(ih_walk_next(walk, input));
    while (input->is_in_folder && input->error.status == IH_UNKNOWN) {
        free(input->path);
        PROMISED(ih_walk_next(walk, input));
    }
    const double n_left = ih_walk_n_left(walk);
    PROMISED(n_left >= 0 && n_left < 1e15);
}

/* The next input is this one, without an error. */
static inline void expect_input(struct ih_walk *walk, const char *path, bool is_named)
{
    struct ih_input input = {.path = NULL};
    next_input(walk, &input);
    PROMISED(input.error.status == IH_OK);
    PROMISED(strcmp(input.path, path) == 0);
    PROMISED(input.is_named == is_named && !input.is_stdin && !input.bytes);
    free(input.path);
}

/* The next input is the end of a folder. */
static inline void expect_end(struct ih_walk *walk, const char *path)
{
    struct ih_input input = {.path = NULL};
    next_input(walk, &input);
    PROMISED(input.ends_folder && input.error.status == IH_UNKNOWN);
    PROMISED(strcmp(input.path, path) == 0 && input.is_named);
    free(input.path);
}

/* The next input is an error of the list, which has a NUL byte. */
static inline void expect_refusal(struct ih_walk *walk, const char *list)
{
    struct ih_input input = {.path = NULL};
    PROMISED(ih_walk_next(walk, &input));
    PROMISED(input.error.status == IH_IO &&
             (strstr(input.error.message, "a NUL byte") || strstr(input.error.message, "UTF-16")));
    PROMISED(strcmp(input.path, list) == 0 && input.is_named);
    free(input.path);
}

/* The next inputs are those of one path of the list. */
static inline void expect_path(struct ih_walk *walk, const char *path)
{
    struct stat st, known;
    size_t size = strlen(path) + 16;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        expect_input(walk, strcmp(path, "-") == 0 ? "./-" : path, true);
        return;
    }
    char *below = malloc(size);
    size_t at = 0;
    PROMISED(below);
    while (at < N_LIST_DIRECTORIES &&
           !(stat(list_tree[at].name, &known) == 0 && known.st_ino == st.st_ino))
        at++;
    PROMISED(at < N_LIST_DIRECTORIES);
    for (const char *const *file = list_tree[at].files; *file; file++) {
        snprintf(below, size, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", *file);
        expect_input(walk, below, false);
    }
    expect_end(walk, path);
    free(below);
}

struct list_lines {
    const char *list;
    struct ih_walk *walk; /* NULL: only check for paths that lead out */
};

/* One line, terminated by a NUL. False: it leads out of the tree. */
static inline bool check_line(const struct list_lines *lines, const char *line)
{
    if (!lines->walk)
        return !leads_out(line);
    expect_path(lines->walk, line);
    return true;
}

/* All non-empty lines, up to one with a NUL byte, or up to one that leads out of the tree. Then
 * false. */
static inline bool check_lines(const struct list_lines *lines, const uint8_t *bytes, size_t size,
                               char separator)
{
    bool goes_on = true;
    if (separator == '\n' && size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        bytes += 3;
        size -= 3;
    }
    while (size > 0 && goes_on) {
        const uint8_t *end = memchr(bytes, separator, size);
        size_t n = end ? (size_t)(end - bytes) : size;
        char *line = malloc(n + 1);
        PROMISED(line);
        memcpy(line, bytes, n);
        line[n] = '\0';
        if (separator == '\n' && n > 0 && line[n - 1] == '\r')
            line[n - 1] = '\0';
        if (separator == '\n' && memchr(bytes, '\0', n)) {
            if (lines->walk)
                expect_refusal(lines->walk, lines->list);
            free(line);
            return true;
        }
        if (*line)
            goes_on = check_line(lines, line);
        free(line);
        bytes += n + (end ? 1 : 0);
        size -= n + (end ? 1 : 0);
    }
    return goes_on;
}

static inline void walk_list_in_tree(const uint8_t *bytes, size_t size, unsigned flags)
{
    static const char *const arguments[] = {"d"};
    const char separator = flags & 1 ? '\0' : '\n';
    char list[40];
    int fd = memfd_create("imghist-list", MFD_CLOEXEC);
    PROMISED(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(list, sizeof list, "/proc/self/fd/%d", fd);
    const struct ih_walk_sources sources = {
        .paths = arguments, .n_paths = flags >> 1 & 1, .list = list, .list_separator = separator};
    struct list_lines lines = {list, NULL};
    struct ih_input input;
    struct ih_error err;
    if (ih_decode_has_signature(bytes, size < IH_PROBE_BYTES ? size : IH_PROBE_BYTES)) {
        PROMISED(ih_walk_open(&sources, &lines.walk, &err) == IH_USAGE); /* an image */
    } else if (check_lines(&lines, bytes, size, separator)) {
        PROMISED(ih_walk_count(&sources) == 0);
        PROMISED(ih_walk_open(&sources, &lines.walk, &err) == IH_OK);
        if (sources.n_paths > 0)
            expect_path(lines.walk, arguments[0]);
        check_lines(&lines, bytes, size, separator);
        PROMISED(!ih_walk_next(lines.walk, &input)); /* the end */
        ih_walk_close(lines.walk);
    }
    close(fd);
}

static inline void walk_list(const uint8_t *bytes, size_t size)
{
    if (size == 0)
        return;
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    PROMISED(before >= 0);
    enter_list_tree();
    walk_list_in_tree(bytes + 1, size - 1, bytes[0]);
    PROMISED(fchdir(before) == 0);
    close(before);
}

#endif
