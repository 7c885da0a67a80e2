/*
 * Decoding in a helper process without rights.
 *
 * Some formats are decoded by libraries whose bugs are found by the month. An image of such a
 * format is decoded in a process that can do nothing but compute: it gets the open file, sends
 * pixels back, and where it crashes, computes without end or tries something else, one file has
 * failed and the next gets a new process. What such a process sends is believed no more than a file
 * is: sizes are checked, and pixels are only counted.
 *
 * Nor can it hold its worker for ever: processor time is limited, and so is how long the worker
 * waits for it.
 *
 * It does not protect from wrong pixels, and not from a kernel whose system calls on the filter's
 * list can be abused. The other formats are decoded by libraries that every browser holds against
 * hostile files, or by code of this program that never looks outside a row; isolating them as well
 * is the user's choice, at the price of one more copy of all pixels.
 *
 * A helper is the program itself, started anew with other arguments, because a fork of a process
 * with threads may do next to nothing. It serves one worker, image after image, and ends with it:
 * signals that end the program are not for the helper to heed.
 *
 *     worker: request (which decoder, limits, bytes already read; the open file)  ->  helper
 *     helper: opened | failed, pixels ..., done | failed; in between: questions to the budget
 *
 * These are words through a socket. The pixels themselves are in memory that both share
 * (helper_memory.h), from which the worker copies them once before anything looks at them.
 */
#ifndef IH_ISOLATE_DECODER_PROCESS_H
#define IH_ISOLATE_DECODER_PROCESS_H

#include "isolate/shared_pixels.h"
#include "isolate/wire.h"

#include <sys/types.h>

/* The file descriptors on which a helper finds its socket and the memory that it shares. */
enum { IH_DECODER_PROCESS_SOCKET = 3, IH_DECODER_PROCESS_MEMORY = 4 };

/* How long a worker waits for one image of a file, all waits together: three times the processor
 * time that the image may take (helper_serve.c), since a slow disk, or more threads than
 * processors, is no sleep. A pipe may take as long as it likes. */
enum { IH_DECODER_PROCESS_SECONDS_MAX = 1800 };

/* How a helper is started: `program --decode-helper DECODER`, then "strict" where it says so. main
 * hands the arguments to ih_decoder_process_serve. */
struct ih_decoder_process_command {
    const char *program;  /* this one; found as a shell would */
    bool is_strict;       /* better no helper than one without seccomp, where the build knows it */
    unsigned seconds_max; /* 0: IH_DECODER_PROCESS_SECONDS_MAX */
    const struct ih_decoder *const *decoders; /* borrowed, what it serves; NULL: ih_decoders */
};

#define IH_DECODER_PROCESS_OPTION "--decode-helper"
enum { IH_DECODER_PROCESS_ALL = 1000 };

/* A worker's helper. Fields are private. */
struct ih_decoder_process {
    const struct ih_decoder_process_command *command; /* borrowed */
    bool is_running;
    unsigned prepared; /* index of the one decoder that it prepared, or IH_DECODER_PROCESS_ALL */
    pid_t pid;
    int socket;
    struct ih_shared_pixels *memory;  /* owned, shared with it */
    unsigned n_pieces;                /* of the memory, that had their turn */
    struct ih_wire_patience patience; /* with this image, or with a helper that starts */

    /* Of the image that is under way: */
    bool is_busy;
    struct ih_budget *budget; /* borrowed, or NULL */
    uint64_t taken_bytes;     /* from it, for the helper */
    unsigned n_channels;
    size_t n_pixels_left; /* of the piece whose turn it is, and where */
    const uint8_t *next;
};

/* No process is started before one is needed. */
void ih_decoder_process_init(struct ih_decoder_process *h,
                             const struct ih_decoder_process_command *command);

/* Ends the process. */
void ih_decoder_process_reset(struct ih_decoder_process *h);

/*
 * The decoder's calls, answered by the helper: as open, read and close in struct ih_decoder.
 *
 * index   of the decoder in the list that the helper serves
 * src     an open file, of which no more than a buffer has been read
 *
 * Errors are those of the decoder, IH_UNAVAILABLE where no helper can be started, and IH_CORRUPT or
 * IH_LIMIT for a helper that did not survive the file, or was not waited for any longer.
 */
enum ih_status ih_decoder_process_open(struct ih_decoder_process *h, unsigned index,
                                       struct ih_source *src,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info, struct ih_error *err);
enum ih_status ih_decoder_process_read(struct ih_decoder_process *h, uint8_t *pixels,
                                       size_t capacity_pixels, size_t *n_pixels,
                                       struct ih_error *err);
void ih_decoder_process_close(struct ih_decoder_process *h);

/*
 * What a helper process does from its start to its end: gives up its rights and decodes what comes
 * through IH_DECODER_PROCESS_SOCKET, until that is closed. Nothing else may have been started in
 * it.
 *
 * decoders    NULL at the end
 * arguments   those behind IH_DECODER_PROCESS_OPTION, NULL at the end
 *
 * Returns an exit code.
 */
int ih_decoder_process_serve(const struct ih_decoder *const *decoders, char *const *arguments);

#endif
