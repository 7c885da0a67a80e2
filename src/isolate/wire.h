/*
 * What a worker and its helper send each other: structs as they lie in memory, because both are the
 * same program.
 */
#ifndef IH_ISOLATE_WIRE_H
#define IH_ISOLATE_WIRE_H

#include "decode/decoder.h"

/* From the worker, with the open file and followed by n_read bytes: what has been read of it. */
struct ih_wire_request {
    uint32_t decoder; /* index */
    uint32_t n_read;
    uint64_t max_pixels, held_bytes_max;
    uint64_t budget_bytes; /* the budget's size; 0: there is none */
    bool at_end;           /* there is no more than the n_read bytes */
    bool is_whole;         /* the file may be read from its start again */
};

enum ih_wire_kind {
    IH_WIRE_OPENED, /* info */
    IH_WIRE_PIXELS, /* n of them in the piece of memory whose turn it is */
    IH_WIRE_DONE,
    IH_WIRE_FAILED, /* error */
    IH_WIRE_TAKE,   /* of the budget, n bytes; answered with a struct ih_error */
    IH_WIRE_TRY,    /* answered too */
    IH_WIRE_GIVE    /* not answered */
};

/* From the helper. */
struct ih_wire_reply {
    uint32_t kind;
    uint64_t n;
    struct ih_image_info info; /* format is NULL */
    struct ih_error error;
};

/* How long one side goes on waiting for the other: only time in which it does nothing else counts,
 * and not the time in which the whole program is stopped (Ctrl-Z) or the machine sleeps. */
struct ih_wire_patience {
    uint64_t left_ns; /* 0: it is over; IH_WIRE_FOR_EVER never is */
};
#define IH_WIRE_FOR_EVER UINT64_MAX

/* Lets calls on this end of a socket come back now and then, so that patience can end. False: they
 * may not. */
bool ih_wire_watch(int socket);

/*
 * Sends or receives all of it, or returns false: the other side is gone, or patience has ended.
 *
 * patience   NULL: waits for ever; else the socket is watched
 */
bool ih_wire_send(int socket, const void *bytes, size_t size_bytes,
                  struct ih_wire_patience *patience);
bool ih_wire_receive(int socket, void *bytes, size_t size_bytes, struct ih_wire_patience *patience);

/* The same for a request and the file that belongs to it; what *file becomes is owned. */
bool ih_wire_send_request(int socket, const struct ih_wire_request *request, int file,
                          struct ih_wire_patience *patience);
bool ih_wire_receive_request(int socket, struct ih_wire_request *request, int *file);

#endif
