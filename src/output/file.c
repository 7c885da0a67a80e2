#include "output/file.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { LINKS_MAX = 40, LINK_BYTES_MAX = 4096 };

/* The permissions of the file to replace, or the default ones of a new file. */
static mode_t wanted_mode(const char *target)
{
    struct stat st;
    if (stat(target, &st) == 0)
        return st.st_mode & 07777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Returns a path in the folder of another path; the caller frees it. NULL: out of memory. */
static char *beside(const char *path, const char *name, size_t n_name)
{
    const char *slash = strrchr(path, '/');
    const size_t n_folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *joined = malloc(n_folder + n_name + 1);
    if (!joined)
        return NULL;
    memcpy(joined, path, n_folder);
    memcpy(joined + n_folder, name, n_name);
    joined[n_folder + n_name] = '\0';
    return joined;
}

/* The path, with its folder resolved. Missing folders keep their names, without "." and repeated
 * slashes. */
static char *resolve_folder(const char *path)
{
    char *resolved = NULL, *folder = beside(path, ".", 1);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *real = folder ? realpath(folder, NULL) : NULL;
    if (folder && !real && slash > path) {
        folder[slash - path] = '\0';
        real = resolve_folder(folder);
    }
    if (real && *base && strcmp(base, ".") != 0) {
        size_t size = strlen(real) + strlen(base) + 2;
        resolved = malloc(size);
        if (resolved)
            snprintf(resolved, size, "%s/%s", real, base);
    } else {
        resolved = strdup(real ? real : path); /* opening it will fail with the reason */
    }
    free(folder);
    free(real);
    return resolved;
}

/* The target of a symbolic link, owned by the caller; NULL: not a link. */
static char *read_link(const char *path)
{
    char to[LINK_BYTES_MAX];
    ssize_t length = readlink(path, to, sizeof to);
    if (length <= 0 || (size_t)length == sizeof to)
        return NULL;
    return beside(*to == '/' ? "" : path, to, (size_t)length);
}

/* n_links: how many links have been followed so far */
static char *resolve(const char *path, int n_links)
{
    char *resolved = realpath(path, NULL);
    if (resolved)
        return resolved;
    char *next = n_links < LINKS_MAX ? read_link(path) : NULL;
    if (!next)
        return resolve_folder(path);
    resolved = resolve(next, n_links + 1);
    free(next);
    return resolved;
}

/* Links are kept: the file that a link points to is replaced or made. */
char *ih_outfile_resolve(const char *path)
{
    return resolve(path, 0);
}

int ih_outfile_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
    char *link = NULL;
    int found = -1;
    for (int n_links = 0; path && found < 0 && n_links < LINKS_MAX; n_links++) {
        uint64_t number;
        for (size_t i = 0; i < sizeof folders / sizeof *folders && found < 0; i++) {
            const size_t n = strlen(folders[i]);
            if (strncmp(path, folders[i], n) == 0 &&
                ih_parse_number(path + n, false, INT_MAX, &number))
                found = (int)number;
        }
        char *next = found < 0 ? read_link(path) : NULL;
        free(link);
        path = link = next;
    }
    free(link);
    return found;
}

static enum ih_status open_temporary(struct ih_outfile *f, struct ih_error *err)
{
    static const char name[] = ".imghist-XXXXXX";
    char *path = beside(f->target, name, sizeof name - 1);
    if (!path)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    pthread_mutex_lock(&f->name_lock);
    int fd = mkstemp(path), error = errno;
    f->temporary = fd < 0 ? NULL : path;
    pthread_mutex_unlock(&f->name_lock);
    if (fd < 0) {
        free(path);
        return ih_error_errno(err, error, "cannot write");
    }
    if (fchmod(fd, wanted_mode(f->target)) == 0)
        f->stream = fdopen(fd, "w");
    if (f->stream)
        return IH_OK;
    error = errno;
    close(fd);
    return ih_error_errno(err, error, "cannot write");
}

/* A duplicate shares the place in the file with the original. */
static enum ih_status open_descriptor(struct ih_outfile *f, int descriptor, struct ih_error *err)
{
    const int fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    f->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (f->stream)
        return IH_OK;
    const int error = errno;
    if (fd >= 0)
        close(fd);
    return ih_error_errno(err, error, "cannot write");
}

void ih_outfile_init(struct ih_outfile *f)
{
    memset(f, 0, sizeof *f);
    pthread_mutex_init(&f->name_lock, NULL);
}

/* Takes a lock. Returns false if another process holds it for half a second: after a killed run, a
 * process that it was starting may hold the lock for some milliseconds. Returns true where files
 * cannot be locked. */
static bool take_lock(int fd, int kind)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int i = 0; i < 50; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        if (flock(fd, kind | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return true;
    }
    return false;
}

/* Whether another run adds to a regular file (ih_outfile_append). */
static bool is_appended_to(const char *target)
{
    const int fd = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool is = fd >= 0 && !take_lock(fd, LOCK_SH);
    if (fd >= 0)
        close(fd);
    return is;
}

enum ih_status ih_outfile_open(struct ih_outfile *f, const char *path, struct ih_error *err)
{
    struct stat st;
    if (!path) {
        f->stream = stdout;
        f->is_standard = true;
        return IH_OK;
    }
    const int descriptor = ih_outfile_descriptor(path);
    if (descriptor >= 0)
        return open_descriptor(f, descriptor, err);
    const bool is_open_elsewhere = strncmp(path, "/proc/", 6) == 0; /* /proc/PID/fd/N */
    f->target = is_open_elsewhere ? strdup(path) : ih_outfile_resolve(path);
    if (!f->target)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    const bool exists = stat(f->target, &st) == 0;
    int error = !exists && errno == ELOOP ? ELOOP : exists && S_ISDIR(st.st_mode) ? EISDIR : 0;
    if (exists && error == 0 && access(f->target, W_OK) != 0)
        error = errno;
    else if (exists && error == 0 && (is_open_elsewhere || !S_ISREG(st.st_mode)) &&
             !(f->stream = fopen(f->target, is_open_elsewhere ? "a" : "w")))
        error = errno;
    enum ih_status status = error == EISDIR
                                ? ih_error_set(err, IH_IO, "is a directory; name a file in it")
                            : error     ? ih_error_errno(err, error, "cannot write")
                            : f->stream ? IH_OK
                            : exists && is_appended_to(f->target)
                                ? ih_error_set(err, IH_CONFLICT, "another run is writing to it")
                                : open_temporary(f, err);
    if (status != IH_OK)
        ih_outfile_discard(f);
    return status;
}

enum ih_status ih_outfile_append(struct ih_outfile *f, const char *path, struct ih_error *err)
{
    struct stat st;
    enum ih_status status = IH_OK;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
        status = ih_error_set(err, IH_IO, "cannot be resumed: not a regular file");
    else if (fd >= 0 && !take_lock(fd, LOCK_EX))
        status = ih_error_set(err, IH_CONFLICT, "another run is writing to it");
    else if (fd < 0 || !(f->stream = fdopen(fd, "a")))
        status = ih_error_errno(err, errno, "cannot write");
    if (status == IH_OK && !(f->target = strdup(path)))
        status = ih_error_set(err, IH_MEMORY, "out of memory");
    if (status != IH_OK && f->stream)
        ih_outfile_discard(f);
    else if (status != IH_OK && fd >= 0)
        close(fd);
    return status;
}

/* Whether the open file is no longer at its place: another program has replaced or removed it. */
static bool is_displaced(const struct ih_outfile *f)
{
    struct stat ours, there;
    return !f->temporary && f->target && fstat(fileno(f->stream), &ours) == 0 &&
           S_ISREG(ours.st_mode) &&
           (stat(f->target, &there) != 0 || there.st_dev != ours.st_dev ||
            there.st_ino != ours.st_ino);
}

enum ih_status ih_outfile_commit(struct ih_outfile *f, struct ih_error *err)
{
    errno = 0;
    bool failed = ferror(f->stream) || fflush(f->stream) != 0;
    int error = errno;
    const bool is_lost = !failed && is_displaced(f);
    if (!f->is_standard && fclose(f->stream) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    f->stream = NULL;
    pthread_mutex_lock(&f->name_lock);
    if (!failed && f->temporary && rename(f->temporary, f->target) != 0) {
        failed = true;
        error = errno;
    }
    if (!failed) {
        free(f->temporary);
        f->temporary = NULL;
    }
    pthread_mutex_unlock(&f->name_lock);
    ih_outfile_discard(f);
    if (is_lost && !failed)
        return ih_error_set(err, IH_IO, "was replaced or removed during the run");
    return failed ? ih_error_errno(err, error ? error : EIO, "cannot write") : IH_OK;
}

void ih_outfile_discard(struct ih_outfile *f)
{
    if (f->stream && !f->is_standard)
        fclose(f->stream);
    pthread_mutex_lock(&f->name_lock);
    if (f->temporary)
        unlink(f->temporary);
    free(f->temporary);
    f->temporary = NULL;
    pthread_mutex_unlock(&f->name_lock);
    free(f->target);
    f->target = NULL;
    f->stream = NULL;
    f->is_standard = false;
}

/* Keeps the lock: a thread that opens or renames a file waits until the process has ended. */
void ih_outfile_unlink(struct ih_outfile *f)
{
    pthread_mutex_lock(&f->name_lock);
    if (f->temporary)
        unlink(f->temporary);
}

enum ih_status ih_make_directories(const char *path, struct ih_error *err)
{
    char *part = strdup(path);
    enum ih_status status = IH_OK;
    if (!part)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (char *slash = part + 1; status == IH_OK && *part && (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            status = ih_error_errno(err, errno, "cannot make the directory");
        *slash = '/';
    }
    free(part);
    return status;
}
