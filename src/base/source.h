/*
 * Bytes of one input, read forward only.
 *
 * Files, pipes, devices and memory look the same to a decoder, nothing is seekable and nothing is
 * mapped: a file that shrinks while it is read is then a short read and not a SIGBUS. Memory is one
 * fixed buffer, kept from input to input, but where a decoder asks for all that is left.
 */
#ifndef IH_BASE_SOURCE_H
#define IH_BASE_SOURCE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Large enough that system calls cost under 1 % of decoding, small enough for the L2 cache. */
enum { IH_SOURCE_BUFFER_BYTES = 64 * 1024 };

/* One per worker. All zero is a closed source; fields are private. */
struct ih_source {
    int fd; /* open file, or -1 for memory; valid while is_open */
    bool is_open, owns_fd, at_end;
    bool is_whole;       /* what the file descriptor gives is a file from its first byte on */
    uint8_t *buffer;     /* owned, IH_SOURCE_BUFFER_BYTES, kept until reset */
    const uint8_t *next; /* unread bytes: in buffer, or in the caller's memory */
    size_t n_left;
    int read_errno;        /* of the first failed read, 0 if none */
    const uint8_t *memory; /* the caller's, all of it; NULL, and no bytes, of a file */
    size_t memory_bytes;
    bool has_file_bytes; /* by ih_source_set_file_bytes */
    uint64_t file_bytes;
    uint64_t read_ns; /* spent in open(2) and read(2) since the source was opened */
};

/* Opens the file at path. IH_IO with the system's reason, IH_MEMORY. A directory is IH_IO. */
enum ih_status ih_source_open_path(struct ih_source *s, const char *path, struct ih_error *err);

/* Reads from an open file descriptor, which is borrowed and not closed. */
enum ih_status ih_source_open_fd(struct ih_source *s, int fd, struct ih_error *err);

/* How many bytes the input has from its first on, whatever has been read of it. False where it
 * cannot be read again: it is neither memory nor a regular file that is_whole. */
bool ih_source_size(const struct ih_source *s, uint64_t *n_bytes);

/* Back to its first byte, where ih_source_size is true. IH_OK, or IH_IO. */
enum ih_status ih_source_rewind(struct ih_source *s, struct ih_error *err);

/* Bytes that another process has read of the file before it handed it over: at most
 * IH_SOURCE_BUFFER_BYTES, copied. The source has just been opened; is_whole as at the other one. */
void ih_source_preload(struct ih_source *s, const uint8_t *bytes, size_t size_bytes, bool at_end,
                       bool is_whole);

/* Sets the size of a regular file, or UINT64_MAX for another kind, in a sandboxed process, which
 * may not look it up. */
void ih_source_set_file_bytes(struct ih_source *s, uint64_t file_bytes);

/* Reads from memory, borrowed until close. Cannot fail. */
void ih_source_open_memory(struct ih_source *s, const uint8_t *bytes, size_t size_bytes);

/* Closes the input and keeps the buffer for the next one. Allowed on a closed source. */
void ih_source_close(struct ih_source *s);

/* Closes, and releases the buffer. */
void ih_source_reset(struct ih_source *s);

/* Which file it is, whatever it is called. */
struct ih_file_identity {
    dev_t device;
    ino_t inode;
};

/* Of an open source; false for memory and where the system cannot say. */
bool ih_source_identity(const struct ih_source *s, struct ih_file_identity *id);

/* IH_OK, or IH_CONFLICT where an input is one of the n files that output goes to. */
enum ih_status ih_check_not_output(const struct ih_file_identity *input,
                                   const struct ih_file_identity *outputs, size_t n,
                                   struct ih_error *err);

/*
 * The next unread bytes without consuming them: at least `wanted` (at most the buffer's size)
 * unless the input ends before. *bytes stays valid until the next call on s.
 *
 * Returns IH_OK (with *size_bytes 0 at the end), or IH_IO.
 */
enum ih_status ih_source_peek(struct ih_source *s, size_t wanted, const uint8_t **bytes,
                              size_t *size_bytes, struct ih_error *err);

/* How many bytes are left, where that is known: of memory and of regular files, as they are now. */
bool ih_source_size_left(const struct ih_source *s, uint64_t *n_bytes);

/* Consumes n bytes that a peek has shown. */
void ih_source_consume(struct ih_source *s, size_t n);

/*
 * Copies up to size_bytes into dst. *got falls short of it only at the end of the input.
 *
 * Returns IH_OK or IH_IO.
 */
enum ih_status ih_source_read(struct ih_source *s, void *dst, size_t size_bytes, size_t *got,
                              struct ih_error *err);

/*
 * Reads all that is left into one allocation, for formats that need the whole file.
 *
 * *bytes      owned by the caller, free() it; never NULL on success
 * max_bytes   more than this is IH_LIMIT
 */
enum ih_status ih_source_read_all(struct ih_source *s, size_t max_bytes, uint8_t **bytes,
                                  size_t *size_bytes, struct ih_error *err);

#endif
