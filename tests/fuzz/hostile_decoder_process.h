/*
 * A compromised decoder process, as its worker sees it: whatever the process sends, the file fails
 * or is counted, in bounded time and without harm to the worker.
 *
 * The input bytes become messages, record by record: RECORD_BYTES that fill in a reply, then raw
 * bytes. They also fill the shared memory. The process itself is /bin/true; its socket is filled
 * before the worker reads, and then closed.
 */
#ifndef IH_TESTS_HOSTILE_DECODER_PROCESS_H
#define IH_TESTS_HOSTILE_DECODER_PROCESS_H

#include "isolate/decoder_process.h"
#include "tests/fuzz/promised.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RECORD_BYTES = 12,
    REPLIES_MAX = 24, /* as many as a socket buffers */
    HOSTILE_PIXELS_MAX = 1 << 16
};

/* A number of any magnitude from two bytes: value << shift. */
static inline uint64_t number_of(const uint8_t *p)
{
    return (uint64_t)p[0] << (p[1] & 63);
}

static inline void send_raw(int socket, const void *bytes, size_t size)
{
    PROMISED(send(socket, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size);
}

/* Sends the records of an input. Kind 8 does not exist: it sends a truncated reply. */
static inline void send_replies(int socket, const uint8_t *bytes, size_t size)
{
    for (unsigned i = 0; i < REPLIES_MAX && size >= RECORD_BYTES; i++) {
        struct ih_wire_reply reply;
        memset(&reply, 0, sizeof reply);
        reply.kind = bytes[0] % 9;
        reply.n = number_of(bytes + 1);
        reply.info.width = number_of(bytes + 3);
        reply.info.height = number_of(bytes + 5);
        reply.info.layout = ih_layout_of(bytes[7]);
        reply.info.n_bins = IH_BINS;
        reply.info.source_depth = bytes[8];
        reply.error.status = (enum ih_status)bytes[9];
        reply.error.limit = (enum ih_limit)bytes[8]; /* also source_depth, of other replies */
        memset(reply.error.message, bytes[10],
               sizeof reply.error.message); /* perhaps without a terminator */
        send_raw(socket, &reply, reply.kind == 8 ? bytes[1] : sizeof reply);
        size_t n_raw = bytes[11];
        bytes += RECORD_BYTES;
        size -= RECORD_BYTES;
        n_raw = n_raw < size ? n_raw : size;
        send_raw(socket, bytes, n_raw);
        bytes += n_raw;
        size -= n_raw;
    }
}

static inline void fill_memory(struct ih_shared_pixels *memory, const uint8_t *bytes, size_t size)
{
    const size_t n = size < IH_DECODER_PROCESS_PIECE_BYTES ? size : IH_DECODER_PROCESS_PIECE_BYTES;
    for (unsigned i = 0; i < IH_DECODER_PROCESS_PIECES && n > 0; i++)
        memcpy(memory->pieces[i], bytes, n);
    atomic_store(&memory->is_waited, n > 0 ? bytes[n - 1] : 0);
    atomic_store(&memory->n_given_back, n > 0 ? bytes[n / 2] : 0);
}

/* Reads an opened image. Returns its status. */
static inline enum ih_status check_image(struct ih_decode *d, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    PROMISED(d->info.layout.n_channels >= 1 && d->info.layout.n_channels <= IH_CHANNELS_MAX);
    PROMISED(d->info.width == 0 || d->info.height <= HOSTILE_PIXELS_MAX / d->info.width);
    const size_t pixel_bytes = ih_pixel_bytes(d->info.layout.n_channels, d->info.type);
    size_t capacity = ih_decode_row_bytes(d) / pixel_bytes * 2 + 1, n = 1;
    uint8_t *pixels = malloc(capacity * pixel_bytes);
    PROMISED(pixels);
    while (n > 0 && (status = ih_decode_read(d, pixels, capacity, &n, err)) == IH_OK) {
        PROMISED(n <= capacity && d->n_pixels_read <= HOSTILE_PIXELS_MAX);
        PROMISED(d->info.width == 0 || d->n_pixels_read <= d->info.width * d->info.height);
    }
    free(pixels);
    if (status == IH_OK)
        PROMISED(d->n_pixels_read == d->info.width * d->info.height);
    return status;
}

/* Decodes the file, and the images that follow. Returns its status. */
static inline enum ih_status check_file(struct ih_decoder_process *process, struct ih_reader *src,
                                        struct ih_budget *budget)
{
    const struct ih_decode_options options = {.max_pixels = HOSTILE_PIXELS_MAX,
                                              .budget = budget,
                                              .remote = &process->remote,
                                              .takes_frames = true,
                                              .isolates_all = true};
    struct ih_decode d;
    struct ih_error err = {0};
    enum ih_status status = ih_decode_open(&d, src, &options, &err);
    const bool is_open = status == IH_OK;
    bool has_next = true;
    while (status == IH_OK && has_next) {
        status = check_image(&d, &err);
        if (status == IH_OK)
            status = ih_decode_next(&d, &options, &has_next, &err);
    }
    if (is_open)
        ih_decode_close(&d);
    if (status != IH_OK) {
        PROMISED(status == err.status && status != IH_UNKNOWN && status != IH_USAGE &&
                 status != IH_UNAVAILABLE && status != IH_DEVICE && status != IH_CONFLICT);
        PROMISED(memchr(err.message, '\0', sizeof err.message));
        PROMISED(ih_limit_is_known(err.limit));
    }
    return status;
}

static inline enum ih_status face_hostile_process(const uint8_t *bytes, size_t size)
{
    static const struct ih_decoder_process_command command = {.program = "/nonexistent"};
    char name[] = "true", *arguments[] = {name, NULL}, *environment[] = {NULL};
    struct ih_decoder_process process;
    struct ih_reader src = {0};
    struct ih_budget budget;
    struct ih_error err;
    int ends[2], shared, file = memfd_create("imghist-test", MFD_CLOEXEC);
    PROMISED(file >= 0 && write(file, "P5 1 1 255 x", 12) == 12 && lseek(file, 0, SEEK_SET) == 0);
    PROMISED(ih_reader_open_fd(&src, file, &err) == IH_OK);
    PROMISED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    send_replies(ends[1], bytes, size);
    PROMISED(shutdown(ends[1], SHUT_WR) == 0);

    ih_decoder_process_init(&process, &command);
    process.is_running = true;
    process.prepared = IH_DECODER_PROCESS_ALL;
    process.socket = ends[0];
    process.memory = ih_shared_pixels_make(&shared);
    PROMISED(process.memory && close(shared) == 0);
    fill_memory(process.memory, bytes, size);
    PROMISED(posix_spawn(&process.pid, "/bin/true", NULL, NULL, arguments, environment) == 0);
    PROMISED(ih_wire_watch(process.socket));
    ih_budget_init(&budget, 1 << 20);
    enum ih_status status = check_file(&process, &src, &budget);
    PROMISED(budget.taken_bytes == 0); /* everything taken is given back */
    ih_decoder_process_reset(&process);
    ih_budget_destroy(&budget);
    close(ends[1]);
    ih_reader_close(&src);
    ih_reader_reset(&src);
    close(file);
    return status;
}

#endif
