/*
 * What a worker and its decoder process exchange: messages through a socket, pixels through shared
 * memory. Messages are structs as they lie in memory, because both sides are the same program.
 */
#ifndef IH_ISOLATE_WIRE_H
#define IH_ISOLATE_WIRE_H

#include "decode/decoder.h"

#include <stdatomic.h>
#include <stdint.h>

/* ---- messages ---- */

/* From the worker, with the open file. The n_read bytes already read from the file follow. */
struct ih_wire_request {
    uint32_t decoder; /* index */
    uint32_t n_read;
    uint64_t max_pixels, held_bytes_max;
    uint64_t budget_bytes; /* the budget's size; 0: no budget */
    struct ih_sample_range sample_range;
    bool is_lenient, takes_frames, takes_native;
    bool at_end;         /* the file holds no more than the n_read bytes */
    bool is_from_start;  /* the file may be read from its start again */
    uint64_t file_bytes; /* size of a regular file, else UINT64_MAX */
};

enum ih_wire_kind {
    IH_WIRE_OPENED,   /* info */
    IH_WIRE_PIXELS,   /* n pixels in the current piece of memory */
    IH_WIRE_DONE,     /* info: what is complete only now; n = 1: OPENED or FAILED of the next image
                         follows, only with takes_frames */
    IH_WIRE_FAILED,   /* error */
    IH_WIRE_TAKE,     /* n bytes of the budget; the answer is a struct ih_error */
    IH_WIRE_EXCHANGE, /* n bytes for all that the process has taken; answered too */
    IH_WIRE_TRY,      /* answered too */
    IH_WIRE_GIVE      /* not answered */
};

/* From the decoder process. */
struct ih_wire_reply {
    uint32_t kind;
    uint64_t n;
    struct ih_image_info info; /* format is NULL */
    struct ih_error error;
};

/* How much longer one side waits for the other. Only time spent waiting counts, not time in which
 * the program is stopped (Ctrl-Z) or the machine sleeps. */
struct ih_wire_patience {
    uint64_t left_ns; /* 0: used up; IH_WIRE_FOR_EVER: no limit */
};
#define IH_WIRE_FOR_EVER UINT64_MAX

/* Makes calls on this end of the socket return now and then, so that patience can run out. Returns
 * false if the system refuses. */
bool ih_wire_watch(int socket);

/* Sends or receives all bytes. Returns false if the other side has closed or patience ran out.
 * patience: NULL: no limit; else ih_wire_watch has been called for the socket. */
bool ih_wire_send(int socket, const void *bytes, size_t size_bytes,
                  struct ih_wire_patience *patience);
bool ih_wire_receive(int socket, void *bytes, size_t size_bytes, struct ih_wire_patience *patience);

/* The same for a request and its open file. The receiver owns *file. */
bool ih_wire_send_request(int socket, const struct ih_wire_request *request, int file,
                          struct ih_wire_patience *patience);
bool ih_wire_receive_request(int socket, struct ih_wire_request *request, int *file);

/* A file in memory with these bytes, at its start, for a request; the caller closes it. -1 and
 * errno on failure. */
int ih_shared_file(const uint8_t *bytes, size_t size_bytes);

/* ---- pixels ---- */

/*
 * Two pieces, so that the decoder process fills one while the worker copies the other. Each change
 * of turns may cost a context switch. Uncompressed TIFF takes this much more CPU time than
 * decoding in the worker (2 cores):
 *
 *     through the socket              49 %
 *     pieces of 128, 256, 512 KiB     35 %, 30 %, 26 %
 *     four pieces instead of two      no change
 */
enum { IH_DECODER_PROCESS_PIECES = 2, IH_DECODER_PROCESS_PIECE_BYTES = 512 * 1024 };

/*
 * Memory that both processes map, all zero at first. The decoder process fills the pieces in turn
 * and sends the number of pixels; the worker copies them and adds 1 to n_given_back. Both sides
 * count pieces from the start of the process, modulo 2^32.
 *
 * If no piece is free, the decoder process sets is_waited, and the worker wakes it with a byte
 * through the socket.
 *
 * A compromised decoder process may write anything here at any time. The worker therefore reads
 * only pixels, each once, and is_waited. The memory is sealed, so that the decoder process cannot
 * shrink it and crash the worker.
 */
struct ih_shared_pixels {
    uint8_t pieces[IH_DECODER_PROCESS_PIECES][IH_DECODER_PROCESS_PIECE_BYTES];
    atomic_uint n_given_back;
    atomic_uint is_waited; /* 1: a byte is due; the worker sends it if it sets this to 0 */
};

/* For the worker. *file: owned by the caller, for the decoder process, IH_DECODER_PROCESS_MEMORY;
 * closed in every other program that is started. Returns NULL and sets errno on failure. */
struct ih_shared_pixels *ih_shared_pixels_make(int *file);

/* For the decoder process; closes file. NULL if file is not such memory. */
struct ih_shared_pixels *ih_shared_pixels_map(int file);

void ih_shared_pixels_unmap(struct ih_shared_pixels *memory); /* NULL is allowed */

#endif
