/*
 * Counts the same bytes from memory, from a file and from a pipe through the public library.
 * Status, message and counts must agree.
 *
 * Memory is available at once. The size of a file is known before it is read; that of a pipe is
 * not. The pipe is in packet mode, where each read returns one packet, so reads end at many places.
 *
 * Needs Linux: memfd_create, pipes in packet mode, and /proc/self/fd to open both by a path. Define
 * _GNU_SOURCE before the first include.
 */
#ifndef IH_TESTS_EVERY_SOURCE_H
#define IH_TESTS_EVERY_SOURCE_H

#include "imghist.h"
#include "tests/fuzz/promised.h"
#include "tests/support/rows.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    PACKETS = 200,          /* at most in a pipe, because each packet takes a page */
    PACKETS_AT_ONCE = 16,   /* the capacity of a new pipe */
    PIPE_BYTES = 1 << 20,   /* the capacity that every user may set */
    PACKET_BYTES_MAX = 4096 /* longer packets would be split */
};

struct counted {
    enum ih_status status;
    char message[IH_MESSAGE_MAX];
    struct ih_summary summary;
    uint64_t bins[N_ROWS][IH_BINS];
};

/* Stores the result of one source. After a failure the counts are empty. */
static inline void look_at_counts(enum ih_status status, const struct ih_error *err,
                                  const struct ih_counts *counts, struct counted *out)
{
    memset(out, 0, sizeof *out);
    out->status = status;
    if (status != IH_OK)
        memcpy(out->message, err->message, sizeof out->message);
    ih_counts_summary(counts, &out->summary, sizeof out->summary);
    PROMISED((out->summary.n_images == 1) == (status == IH_OK));
    for (unsigned row = 0; row < N_ROWS; row++) {
        const uint64_t *bins = ih_counts_bins(counts, plane_of(row));
        if (bins)
            memcpy(out->bins[row], bins, sizeof out->bins[row]);
    }
}

static inline void check_alike(const struct counted *a, const struct counted *b, const char *what)
{
    const struct ih_summary *s = &a->summary, *t = &b->summary;
    const bool is_same = a->status == b->status && strcmp(a->message, b->message) == 0;
    if (!is_same)
        fprintf(stderr, "memory: %d '%s', %s: %d '%s'\n", (int)a->status, a->message, what,
                (int)b->status, b->message);
    PROMISED(is_same);
    if (a->status != IH_OK)
        return;
    PROMISED(s->n_pixels == t->n_pixels && s->width == t->width && s->height == t->height);
    PROMISED(s->n_channels == t->n_channels && s->source_depth == t->source_depth);
    PROMISED(strcmp(s->format, t->format) == 0 && strcmp(s->decoder, t->decoder) == 0);
    PROMISED(s->crushed_any == t->crushed_any && s->blown_any == t->blown_any);
    PROMISED(s->crushed_all == t->crushed_all && s->blown_all == t->blown_all);
    PROMISED(memcmp(a->bins, b->bins, sizeof a->bins) == 0);
}

/* Counts the bytes of a descriptor and closes it. It is opened again by name, so that reading
 * starts at offset 0. */
static inline void count_descriptor(struct ih_context *context, int fd, struct ih_counts *counts,
                                    struct counted *out)
{
    char path[40];
    struct ih_error err = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum ih_status status = ih_count_file(context, path, counts, &err);
    close(fd);
    look_at_counts(status, &err, counts, out);
}

static inline int file_of(const uint8_t *bytes, size_t size)
{
    int fd = memfd_create("imghist-test", MFD_CLOEXEC);
    PROMISED(fd >= 0);
    PROMISED(write(fd, bytes, size) == (ssize_t)size);
    return fd;
}

/* Returns the read end of a pipe that holds the bytes in packets, whose size depends on `size`. -1
 * if a pipe cannot hold them. */
static inline int pipe_of(const uint8_t *bytes, size_t size)
{
    int ends[2];
    size_t packet_bytes = size / PACKETS + 1 + size % 61;
    if (packet_bytes > PACKET_BYTES_MAX)
        return -1;
    if (pipe2(ends, O_CLOEXEC | O_DIRECT | O_NONBLOCK) != 0)
        return -1; /* no packet mode */
    if (size / packet_bytes >= PACKETS_AT_ONCE &&
        fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) < PIPE_BYTES) { /* the user's limit is reached */
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    for (size_t done = 0; done < size;) {
        size_t n = size - done < packet_bytes ? size - done : packet_bytes;
        PROMISED(write(ends[1], bytes + done, n) == (ssize_t)n);
        done += n;
    }
    close(ends[1]);
    return ends[0];
}

/* raw_channels: as in the settings. Returns the status, which is the same for all three sources. */
static inline enum ih_status count_from_every_source(const uint8_t *bytes, size_t size,
                                                     uint64_t max_pixels, unsigned raw_channels)
{
    const struct ih_settings settings = {.device = "cpu",
                                         .max_pixels = max_pixels,
                                         .max_memory = (uint64_t)1 << 26,
                                         .raw_channels = raw_channels,
                                         .raw_preview = 1};
    static struct ih_context
        *contexts[IH_PIXEL_CHANNELS_MAX + 1]; /* kept, because opening a context starts a thread */
    static struct ih_counts *counts;
    static struct counted from_memory, from_file, from_pipe;
    struct ih_context **context = &contexts[raw_channels];
    struct ih_error err = {0};
    PROMISED(counts || ih_counts_open(&counts, &err) == IH_OK);
    PROMISED(*context || ih_context_open(&settings, sizeof settings, context, &err) == IH_OK);

    enum ih_status status = ih_count_memory(*context, bytes, size, counts, &err);
    look_at_counts(status, &err, counts, &from_memory);
    count_descriptor(*context, file_of(bytes, size), counts, &from_file);
    check_alike(&from_memory, &from_file, "file");
    int fd = pipe_of(bytes, size);
    if (fd >= 0) {
        count_descriptor(*context, fd, counts, &from_pipe);
        check_alike(&from_memory, &from_pipe, "pipe");
    }
    return status;
}

#endif
