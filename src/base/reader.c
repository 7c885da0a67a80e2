/* Reads files with read(2), 64 KiB at a time. Reads of 1 MiB gain nothing, and mmap(2) would save
 * only 0.7 % of the time that decoding takes. */
#include "base/reader.h"

#include "base/path.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum ih_status ih_reader_open_fd(struct ih_reader *s, int fd, struct ih_error *err)
{
    assert(!s->is_open);
    struct stat st;
    const bool has_identity = fstat(fd, &st) == 0;
    if (has_identity && S_ISDIR(st.st_mode))
        return ih_error_errno(err, EISDIR, "cannot read");
    uint8_t *buffer = s->buffer ? s->buffer : malloc(IH_READER_BUFFER_BYTES);
    if (!buffer)
        return ih_error_errno(err, ENOMEM, "cannot read");
    *s = (struct ih_reader){
        .fd = fd, .is_open = true, .buffer = buffer, .next = buffer, .has_identity = has_identity};
    if (has_identity)
        s->identity = (struct ih_file_identity){st.st_dev, st.st_ino};
    return IH_OK;
}

enum ih_status ih_reader_open_path(struct ih_reader *s, const char *path, struct ih_error *err)
{
    uint64_t start_ns = ih_clock_ns();
    int fd = ih_path_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return ih_error_errno(err, errno, "cannot open");
    enum ih_status status = ih_reader_open_fd(s, fd, err);
    if (status == IH_OK) {
        s->owns_fd = s->is_from_start = true;
        s->read_ns = ih_clock_ns() - start_ns;
    } else {
        close(fd);
    }
    return status;
}

void ih_reader_open_memory(struct ih_reader *s, const uint8_t *bytes, size_t size_bytes)
{
    assert(!s->is_open);
    *s = (struct ih_reader){.fd = -1,
                            .is_open = true,
                            .at_end = true,
                            .buffer = s->buffer,
                            .next = bytes,
                            .n_left = size_bytes,
                            .memory = bytes,
                            .memory_bytes = size_bytes};
}

enum ih_status ih_reader_open_function(struct ih_reader *s, ih_read_function read, void *user,
                                       struct ih_error *err)
{
    assert(!s->is_open);
    uint8_t *buffer = s->buffer ? s->buffer : malloc(IH_READER_BUFFER_BYTES);
    if (!buffer)
        return ih_error_errno(err, ENOMEM, "cannot read");
    *s = (struct ih_reader){.fd = -1,
                            .is_open = true,
                            .buffer = buffer,
                            .next = buffer,
                            .read = read,
                            .read_user = user};
    return IH_OK;
}

void ih_reader_close(struct ih_reader *s)
{
    if (s->is_open && s->owns_fd)
        close(s->fd);
    *s = (struct ih_reader){.fd = -1, .buffer = s->buffer};
}

void ih_reader_reset(struct ih_reader *s)
{
    ih_reader_close(s);
    free(s->buffer);
    s->buffer = NULL;
}

static bool regular_bytes(const struct ih_reader *s, uint64_t *n_bytes)
{
    struct stat st;
    *n_bytes = s->file_bytes;
    if (s->has_file_bytes)
        return *n_bytes != UINT64_MAX;
    if (fstat(s->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *n_bytes = (uint64_t)st.st_size;
    return true;
}

bool ih_reader_size(const struct ih_reader *s, uint64_t *n_bytes)
{
    *n_bytes = s->memory_bytes;
    if (s->read || s->is_split)
        return false;
    if (!s->is_open || s->fd < 0)
        return s->is_open;
    return s->is_from_start && regular_bytes(s, n_bytes);
}

size_t ih_reader_read_at(const struct ih_reader *s, uint64_t offset, void *dst, size_t size_bytes)
{
    uint64_t n_bytes;
    if (!ih_reader_size(s, &n_bytes) || offset >= n_bytes)
        return 0;
    const uint64_t left = n_bytes - offset;
    const size_t n = left < size_bytes ? (size_t)left : size_bytes;
    if (s->fd < 0) {
        memcpy(dst, s->memory + offset, n);
        return n;
    }
    const ssize_t got = pread(s->fd, dst, n, (off_t)offset);
    return got > 0 ? (size_t)got : 0;
}

enum ih_status ih_reader_rewind(struct ih_reader *s, struct ih_error *err)
{
    s->next = s->memory;
    s->n_left = s->memory_bytes;
    if (s->fd < 0)
        return IH_OK;
    s->next = s->buffer;
    s->at_end = false;
    s->read_errno = lseek(s->fd, 0, SEEK_SET) == 0 ? 0 : errno;
    return s->read_errno ? ih_error_errno(err, s->read_errno, "cannot read") : IH_OK;
}

void ih_reader_split(struct ih_reader *s)
{
    s->is_split = true;
    s->is_from_start = false;
    if (s->memory) {
        s->memory = s->next;
        s->memory_bytes = s->n_left;
    }
}

void ih_reader_preload(struct ih_reader *s, const uint8_t *bytes, size_t size_bytes, bool at_end,
                       bool is_from_start, uint64_t file_bytes)
{
    assert(s->is_open && s->n_left == 0 && size_bytes <= IH_READER_BUFFER_BYTES);
    memcpy(s->buffer, bytes, size_bytes);
    s->n_left = size_bytes;
    s->at_end = at_end;
    s->is_from_start = is_from_start;
    s->has_file_bytes = true;
    s->file_bytes = file_bytes;
}

bool ih_reader_identity(const struct ih_reader *s, struct ih_file_identity *id)
{
    *id = s->identity;
    return s->has_identity;
}

enum ih_status ih_check_not_output(const struct ih_file_identity *input,
                                   const struct ih_file_identity *outputs, size_t n,
                                   struct ih_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (outputs[i].device == input->device && outputs[i].inode == input->inode)
            return ih_error_set(err, IH_CONFLICT,
                                "is both an input and the output file; name another output");
    return IH_OK;
}

/* Calls read(2), and again after a signal, or the caller's function. Returns the number of bytes,
 * or -1 with errno set. */
static ssize_t read_bytes(struct ih_reader *s, uint8_t *dst, size_t size)
{
    ssize_t n;
    if (s->read) {
        n = s->read(s->read_user, dst, size);
        if (n < 0 || (size_t)n > size)
            errno = EIO;
        return n < 0 || (size_t)n > size ? -1 : n;
    }
    do
        n = read(s->fd, dst, size);
    while (n < 0 && errno == EINTR && !ih_time_limit_ask(&s->time));
    return n;
}

/* Reads once. Sets at_end. Every later call repeats an error, so
 * that a decoder that ignores it cannot continue. Waiting for a pipe takes no time of the limit. */
static enum ih_status read_once(struct ih_reader *s, uint8_t *dst, size_t size, size_t *got,
                                struct ih_error *err)
{
    *got = 0;
    ssize_t n = 0;
    if (ih_time_limit_check(&s->time, err) != IH_OK)
        return err->status;
    if (s->read_errno == 0 && !s->at_end) {
        uint64_t n_bytes, start_ns = ih_clock_ns();
        const bool may_wait = s->time.limit_s && !regular_bytes(s, &n_bytes);
        if (may_wait)
            ih_time_limit_pause(&s->time);
        n = read_bytes(s, dst, size);
        if (may_wait)
            ih_time_limit_resume(&s->time);
        s->read_ns += ih_clock_ns() - start_ns;
        if (n < 0)
            s->read_errno = errno;
        else if (n == 0)
            s->at_end = true;
        else
            *got = (size_t)n;
    }
    return s->read_errno ? ih_error_errno(err, s->read_errno, "cannot read") : IH_OK;
}

enum ih_status ih_reader_peek(struct ih_reader *s, size_t wanted, const uint8_t **bytes,
                              size_t *size_bytes, struct ih_error *err)
{
    assert(wanted <= IH_READER_BUFFER_BYTES);
    enum ih_status status = IH_OK;
    if (s->n_left < wanted && !s->at_end) {
        memmove(s->buffer, s->next, s->n_left);
        s->next = s->buffer;
        while (status == IH_OK && s->n_left < wanted && !s->at_end) {
            size_t got;
            status =
                read_once(s, s->buffer + s->n_left, IH_READER_BUFFER_BYTES - s->n_left, &got, err);
            s->n_left += got;
        }
    }
    *bytes = s->next;
    *size_bytes = s->n_left;
    return status;
}

bool ih_reader_size_left(const struct ih_reader *s, uint64_t *n_bytes)
{
    uint64_t file_bytes;
    *n_bytes = s->n_left;
    if (s->read)
        return false;
    if (!s->is_open || s->fd < 0)
        return s->is_open;
    if (!regular_bytes(s, &file_bytes))
        return false;
    off_t position = lseek(s->fd, 0, SEEK_CUR);
    if (position < 0)
        return false;
    *n_bytes += file_bytes > (uint64_t)position ? file_bytes - (uint64_t)position : 0;
    return true;
}

void ih_reader_consume(struct ih_reader *s, size_t n)
{
    assert(n <= s->n_left);
    s->next += n;
    s->n_left -= n;
}

enum ih_status ih_reader_read(struct ih_reader *s, void *dst, size_t size_bytes, size_t *got,
                              struct ih_error *err)
{
    uint8_t *out = dst;
    *got = 0;
    while (*got < size_bytes) {
        size_t wanted = size_bytes - *got, n;
        const uint8_t *bytes;
        const bool is_direct = s->n_left == 0 && wanted >= IH_READER_BUFFER_BYTES;
        const enum ih_status status = is_direct ? read_once(s, out + *got, wanted, &n, err)
                                                : ih_reader_peek(s, 1, &bytes, &n, err);
        if (status != IH_OK || n == 0)
            return status;
        if (!is_direct) {
            n = n < wanted ? n : wanted;
            memcpy(out + *got, bytes, n);
            ih_reader_consume(s, n);
        }
        *got += n;
    }
    return IH_OK;
}

enum ih_status ih_reader_read_all(struct ih_reader *s, size_t max_bytes, uint8_t **bytes,
                                  size_t *size_bytes, struct ih_error *err)
{
    uint8_t *all = NULL;
    size_t size = 0, capacity = 0;
    enum ih_status status = IH_OK;
    while (status == IH_OK && size == capacity) {
        size_t got = 0;
        capacity = capacity ? capacity * 2 : IH_READER_BUFFER_BYTES;
        uint8_t *grown = capacity > size ? realloc(all, capacity) : NULL;
        all = grown ? grown : all;
        status = grown ? ih_reader_read(s, all + size, capacity - size, &got, err)
                       : ih_error_errno(err, ENOMEM, "cannot hold the file");
        size += got;
        if (status == IH_OK && size > max_bytes)
            status =
                ih_error_set(err, IH_LIMIT, "the file is larger than %zu MiB", max_bytes >> 20);
    }
    if (status != IH_OK) {
        free(all);
        return status;
    }
    *bytes = all;
    *size_bytes = size;
    return IH_OK;
}
