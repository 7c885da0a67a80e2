/*
 * The memory that a worker shares with its helper: pixels go through it, words through their
 * socket.
 *
 * Its pieces are used in turn. The helper fills one and says through the socket how many pixels are
 * in it; the worker copies them out and gives the piece back by counting it here. A byte through
 * the socket wakes a helper that has none left; one that is slower than counting never waits.
 *
 * The worker reads nothing here but pixels, each once, and whether to send that byte: a helper that
 * was taken over may write what and when it likes. Nor can it make the memory shorter, of which the
 * worker would die: it is sealed where the system has seals. (Where not, helpers give up no rights
 * either, so that one could end the worker anyhow.)
 */
#ifndef IH_ISOLATE_SHARED_PIXELS_H
#define IH_ISOLATE_SHARED_PIXELS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Two, so that the helper fills one while the worker takes the other. Each change of turns may cost
 * a switch from one process to the other: TIFF without compression takes 49 % more processor time
 * than in the worker itself where pixels go through the socket, 35 % with pieces of 128 KiB, 30 %
 * with 256 and 26 % with 512; with four pieces it is about the same.
 */
enum { IH_DECODER_PROCESS_PIECES = 2, IH_DECODER_PROCESS_PIECE_BYTES = 512 * 1024 };

/* All zero at first. Both sides count pieces from the helper's start on, and run over together. */
struct ih_shared_pixels {
    uint8_t pieces[IH_DECODER_PROCESS_PIECES][IH_DECODER_PROCESS_PIECE_BYTES];
    atomic_uint n_given_back;
    atomic_uint is_waited; /* 1: the helper waits for a byte, and who makes it 0 sends it */
};

/*
 * The worker's.
 *
 * *file   owned: what the helper is to find at IH_DECODER_PROCESS_MEMORY; not handed to any other
 * program
 *
 * Returns NULL, and errno says why.
 */
struct ih_shared_pixels *ih_shared_pixels_make(int *file);

/* The helper's; closes file. NULL where there is none. */
struct ih_shared_pixels *ih_shared_pixels_map(int file);

void ih_shared_pixels_unmap(struct ih_shared_pixels *memory); /* NULL is allowed */

#endif
