/*
 * Decoding in a sandboxed process.
 *
 * New security bugs turn up every month in some of the libraries that decode images. A decoder
 * process runs such a library without rights: it gets the open file, computes, and sends pixels
 * back. If it crashes, computes without end or tries anything else, that file fails and the next
 * one gets a new process.
 *
 * The worker trusts nothing that a decoder process sends. It checks sizes, only counts pixels, and
 * limits both the CPU time of an image and the time that the worker waits for it.
 *
 * The sandbox does not protect from wrong pixels, nor from a bug in a system call that the filter
 * allows. The other formats use libraries that browsers harden against hostile files, or code of
 * this program that stays within a row. --isolate sandboxes those as well, at the cost of copying
 * all pixels once more.
 *
 * A decoder process is this program started again with other arguments, because a process with
 * threads may do almost nothing after fork. It serves one worker, image after image, and ends with
 * the worker. It ignores the signals that end the program.
 *
 *     worker: request (decoder, limits, bytes already read; the open file)  ->  decoder process
 *     decoder process: opened | failed, pixels ..., done | failed; in between: budget questions.
 *     With takes_frames, the next image follows done.
 *
 * Messages go through a socket, pixels through shared memory (wire.h).
 */
#ifndef IH_ISOLATE_DECODER_PROCESS_H
#define IH_ISOLATE_DECODER_PROCESS_H

#include "isolate/wire.h"

#include <sys/types.h>

/* The file descriptors of a decoder process: its socket and the shared memory. */
enum { IH_DECODER_PROCESS_SOCKET = 3, IH_DECODER_PROCESS_MEMORY = 4 };

/* CPU time for one image. The largest image that --max-pixels allows by default takes two minutes
 * to inflate. A process is replaced once it has used this much. */
enum { IH_DECODER_PROCESS_CPU_SECONDS_MAX = 600 };

/* How long a worker waits for one image of a file, in total: longer than the CPU time, because a
 * slow disk or busy cores are no reason to give up. The wait for a pipe has no limit. A shorter
 * ih_decode_options.timeout_s limits the wait for a file, and the CPU time of a pipe. */
enum { IH_DECODER_PROCESS_SECONDS_MAX = 1800 };

/* How to start a decoder process: `program --decoder-process DECODER MEMORY_BYTES KEPT_BYTES
 * CPU_SECONDS [strict]`. main passes these arguments to ih_decoder_process_serve. */
struct ih_decoder_process_command {
    const char *program;      /* path of this program; NULL: not known, so no process starts */
    bool is_strict;           /* refuse to run without seccomp in a build that has it */
    uint64_t memory_bytes;    /* for images, bounds the address space; 0: no limit */
    uint64_t kept_bytes;      /* of freed memory, kept for the next image; 0: malloc decides */
    unsigned cpu_seconds_max; /* for an image; 0: IH_DECODER_PROCESS_CPU_SECONDS_MAX */
    unsigned seconds_max;     /* 0: IH_DECODER_PROCESS_SECONDS_MAX */
    const char *variable;     /* one more environment variable that it gets; NULL: none */
    /* Called from a worker's thread if a process has to run without seccomp, once: has_warned,
     * borrowed, is set. NULL: not called. */
    void (*warn)(const char *message);
    atomic_flag *has_warned;
    const struct ih_decoder *const *decoders; /* borrowed, what it serves; NULL: ih_decoders */
    /* It reads archives, which take as long as they are: IH_ARCHIVE_PROCESS_OPTION starts it, its
     * CPU time has no limit, and seconds_max and timeout_s are for each wait. */
    bool reads_archives;
};

#define IH_DECODER_PROCESS_OPTION "--decoder-process"
#define IH_ARCHIVE_PROCESS_OPTION "--archive-process"
enum { IH_DECODER_PROCESS_ALL = 1000 };

/* One worker's decoder process. Fields are private. */
struct ih_decoder_process {
    struct ih_remote_decoder remote;                  /* the calls; must be first */
    const struct ih_decoder_process_command *command; /* borrowed */
    bool is_running;
    bool has_worked;   /* at least one process has started */
    unsigned prepared; /* index of the one decoder that it prepared, or IH_DECODER_PROCESS_ALL */
    pid_t pid;
    int socket;
    struct ih_shared_pixels *memory;  /* owned, shared with the process */
    unsigned n_pieces;                /* pieces of memory used so far */
    struct ih_wire_patience patience; /* for the start, then for each image */

    /* The current image: */
    bool is_busy, is_pipe, takes_frames, takes_native;
    bool has_next;            /* announced: it follows */
    struct ih_budget *budget; /* borrowed, or NULL */
    unsigned timeout_s;       /* 0: only the limits above */
    uint64_t taken_bytes;     /* from the budget, for the process */
    unsigned n_channels, n_bins;
    struct ih_image_info *info; /* borrowed: the caller's, for the warnings */
    size_t n_pixels_left;       /* in the current piece, from next on */
    const uint8_t *next;
};

/*
 * Starts nothing: the first image starts the process.
 *
 * Beside the decoder's errors, remote.open and remote.read give IH_UNAVAILABLE if no process can be
 * started, and IH_CORRUPT or IH_LIMIT if the process died or took too long.
 */
void ih_decoder_process_init(struct ih_decoder_process *p,
                             const struct ih_decoder_process_command *command);

/* Ends the process. */
void ih_decoder_process_reset(struct ih_decoder_process *p);

/* Decoder processes for the workers of a scan. command is borrowed. */
struct ih_remote_decoders ih_decoder_processes(const struct ih_decoder_process_command *command);

/*
 * The life of a decoder process: gives up its rights, then decodes what comes through
 * IH_DECODER_PROCESS_SOCKET until that is closed. The process has started nothing else before.
 *
 * decoders    NULL at the end
 * arguments   those after IH_DECODER_PROCESS_OPTION, NULL at the end
 *
 * Returns an exit code.
 */
int ih_decoder_process_serve(const struct ih_decoder *const *decoders, char *const *arguments);

#endif
