/*
 * The bytes of one input, read forward.
 *
 * Files, pipes, devices and memory look alike to a decoder. Decoders do not seek, and files are not
 * mapped, so a file that shrinks while it is read gives a short read instead of SIGBUS. A reader
 * uses one fixed buffer for all inputs. Only ih_reader_read_all allocates more.
 */
#ifndef IH_BASE_READER_H
#define IH_BASE_READER_H

#include "base/clock.h"

#include <sys/types.h>

/* System calls cost less than 1 % of decoding, and the buffer fits the L2 cache. */
enum { IH_READER_BUFFER_BYTES = 64 * 1024 };

/* Identifies a file, whatever its name. */
struct ih_file_identity {
    dev_t device;
    ino_t inode;
};

/* One per worker. All zero is a closed reader. Fields are private. */
struct ih_reader {
    int fd;                /* open file, or -1 for memory and a function; valid while is_open */
    ih_read_function read; /* reads instead of fd; NULL: none */
    void *read_user;
    bool is_open, owns_fd, at_end;
    bool is_from_start;  /* the file descriptor began at the first byte of a file */
    bool is_split;       /* see ih_reader_split */
    uint8_t *buffer;     /* owned, IH_READER_BUFFER_BYTES, kept until reset */
    const uint8_t *next; /* unread bytes: in buffer, or in the caller's memory */
    size_t n_left;
    int read_errno;            /* of the first failed read, or 0 */
    struct ih_time_limit time; /* set after opening, or all 0; exceeded: reading fails */
    const uint8_t *memory;     /* the caller's memory from its start; NULL for a file */
    size_t memory_bytes;
    bool has_file_bytes; /* ih_reader_preload has set file_bytes */
    uint64_t file_bytes;
    bool has_identity; /* of a file */
    struct ih_file_identity identity;
    uint64_t read_ns; /* time in open(2) and read(2) since the reader was opened */
};

/* Opens a file. Returns IH_OK, IH_MEMORY, or IH_IO with the system's reason. Refuses directories.
 */
enum ih_status ih_reader_open_path(struct ih_reader *s, const char *path, struct ih_error *err);

/* Reads from an open file descriptor, which is borrowed and not closed. Returns as above. */
enum ih_status ih_reader_open_fd(struct ih_reader *s, int fd, struct ih_error *err);

/* Stores the size of the input, including the bytes already read. Returns false if the input cannot
 * be read again: it must be memory, or a regular file with is_from_start set. */
bool ih_reader_size(const struct ih_reader *s, uint64_t *n_bytes);

/* Returns to the first byte. Call it only if ih_reader_size returns true. IH_OK or IH_IO. */
enum ih_status ih_reader_rewind(struct ih_reader *s, struct ih_error *err);

/* Makes the unread bytes an input that can be read only once: the bytes before them are another
 * image's, and further images may follow. So ih_reader_size returns false from now on. */
void ih_reader_split(struct ih_reader *s);

/* Completes a reader that was just opened in a sandboxed process with what another process knows:
 * the bytes that it has read from the file, at most IH_READER_BUFFER_BYTES, copied; its at_end and
 * is_from_start; and the size of a regular file, UINT64_MAX for another kind. */
void ih_reader_preload(struct ih_reader *s, const uint8_t *bytes, size_t size_bytes, bool at_end,
                       bool is_from_start, uint64_t file_bytes);

/* Reads from memory, borrowed until close. Cannot fail. */
void ih_reader_open_memory(struct ih_reader *s, const uint8_t *bytes, size_t size_bytes);

/* Reads with the caller's function, as imghist.h describes it. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_reader_open_function(struct ih_reader *s, ih_read_function read, void *user,
                                       struct ih_error *err);

/* Closes the input and keeps the buffer for the next one. A closed reader is allowed. */
void ih_reader_close(struct ih_reader *s);

/* Closes the input and releases the buffer. */
void ih_reader_reset(struct ih_reader *s);

/* Returns false for memory, and if the system cannot tell. */
bool ih_reader_identity(const struct ih_reader *s, struct ih_file_identity *id);

/* Returns IH_OK, or IH_CONFLICT if the input is one of the n output files. */
enum ih_status ih_check_not_output(const struct ih_file_identity *input,
                                   const struct ih_file_identity *outputs, size_t n,
                                   struct ih_error *err);

/*
 * Shows the next unread bytes without consuming them: at least `wanted` (at most the buffer's size)
 * unless the input ends. *bytes stays valid until the next call on s.
 *
 * Returns IH_OK (with *size_bytes 0 at the end) or IH_IO.
 */
enum ih_status ih_reader_peek(struct ih_reader *s, size_t wanted, const uint8_t **bytes,
                              size_t *size_bytes, struct ih_error *err);

/* Stores the number of unread bytes of memory or of a regular file as it is now. Returns false if
 * it is unknown. */
bool ih_reader_size_left(const struct ih_reader *s, uint64_t *n_bytes);

/* Copies up to size_bytes from any place of the input into dst, without consuming them. Returns
 * their number, which is 0 if the input cannot be read again (see ih_reader_size) or on an error.
 */
size_t ih_reader_read_at(const struct ih_reader *s, uint64_t offset, void *dst, size_t size_bytes);

/* Consumes n bytes that ih_reader_peek has shown. */
void ih_reader_consume(struct ih_reader *s, size_t n);

/* Copies up to size_bytes into dst. *got is less only at the end of the input. IH_OK or IH_IO. */
enum ih_status ih_reader_read(struct ih_reader *s, void *dst, size_t size_bytes, size_t *got,
                              struct ih_error *err);

/* Reads all unread bytes into one allocation, for formats that need the complete file. *bytes:
 * owned by the caller, free() it; not NULL. Returns IH_OK, IH_LIMIT for more than max_bytes, IH_IO
 * or IH_MEMORY. */
enum ih_status ih_reader_read_all(struct ih_reader *s, size_t max_bytes, uint8_t **bytes,
                                  size_t *size_bytes, struct ih_error *err);

#endif
