/* O_PATH opens directories that may be entered but not read. */
#define _GNU_SOURCE

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Shorter than PATH_MAX on all systems, and longer than a name. */
enum { PART_MAX = 1000 };

static void close_directory(int fd)
{
    const int error_number = errno;
    if (fd != AT_FDCWD && fd >= 0)
        close(fd);
    errno = error_number;
}

/* Opens the leading directories of a long path, each relative to the one before. *path becomes the
 * rest. Returns the last one, or -1. */
static int enter(const char **path)
{
    int at = AT_FDCWD;
    const bool is_too_long = strlen(*path) > IH_PATH_BYTES_MAX;
    while (strlen(*path) > PART_MAX) {
        char part[PART_MAX + 1];
        size_t n = is_too_long ? 0 : PART_MAX;
        while (n > 0 && (*path)[n] != '/')
            n--;
        if (n == 0) {
            errno = ENAMETOOLONG;
            close_directory(at);
            return -1;
        }
        memcpy(part, *path, n);
        part[n] = '\0';
        const int next = openat(at, part, O_PATH | O_DIRECTORY | O_CLOEXEC);
        close_directory(at);
        if (next < 0)
            return -1;
        at = next;
        *path += n + strspn(*path + n, "/"); /* else the rest would be an absolute path */
    }
    return at;
}

int ih_path_open(const char *path, int flags)
{
    int fd = open(path, flags);
    if (fd >= 0 || errno != ENAMETOOLONG)
        return fd;
    const int at = enter(&path);
    if (at == -1)
        return -1;
    fd = openat(at, path, flags);
    close_directory(at);
    return fd;
}

int ih_path_stat(const char *path, struct stat *st, int flags)
{
    int result = fstatat(AT_FDCWD, path, st, flags);
    if (result == 0 || errno != ENAMETOOLONG)
        return result;
    const int at = enter(&path);
    if (at == -1)
        return -1;
    result = fstatat(at, path, st, flags);
    close_directory(at);
    return result;
}

void ih_path_narrow(char *folder, const char *path)
{
    size_t n = 0;
    while (folder[n] && folder[n] == path[n])
        n++;
    folder[n] = '\0';
    char *slash = strrchr(folder, '/');
    *(slash ? slash + 1 : folder) = '\0';
}
