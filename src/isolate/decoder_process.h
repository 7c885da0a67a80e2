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
 * Messages go through a socket, pixels through shared memory.
 */
#ifndef IH_ISOLATE_DECODER_PROCESS_H
#define IH_ISOLATE_DECODER_PROCESS_H

#include "decode/decoder.h"

/* ---- the wire ---- */

/* Messages are structs as they lie in memory, because both sides are the same program. */

/* From the worker, with the open file. The n_read bytes already read from the file follow. */
struct ih_wire_request {
    uint32_t decoder; /* index */
    uint32_t n_read;
    uint64_t max_pixels, whole_file_bytes_max;
    uint64_t budget_bytes; /* the budget's size; 0: no budget */
    struct ih_sample_range sample_range;
    struct ih_nodata nodata;
    enum ih_axes axes;
    bool is_lenient, takes_frames, takes_native, takes_indices;
    bool at_end;         /* the file holds no more than the n_read bytes */
    bool is_from_start;  /* the file may be read from its start again */
    uint64_t file_bytes; /* size of a regular file, else UINT64_MAX */
};

enum ih_wire_kind {
    IH_WIRE_OPENED,   /* info; n bytes with the names of its bands follow, perhaps 0 */
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
    struct ih_image_info info; /* format and band_names are NULL */
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

/* ---- decoder processes ---- */

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
    enum ih_sample_type type;
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

/* ---- the sandbox ---- */

/*
 * Inside it a process can compute, read and write open files, start threads, and end. It cannot
 * open, look up, change or remove a file, reach the network, start a program, signal another
 * process or raise its own limits. On a system without seccomp, or in a build without libseccomp,
 * only the resource limits hold.
 */

/* "seccomp and resource limits", for people. */
const char *ih_sandbox_title(void);

struct ih_sandbox_limits {
    unsigned n_files;      /* open at a time */
    unsigned cpu_seconds;  /* of the whole process; 0: no limit */
    uint64_t memory_bytes; /* for images; the process gets some more; 0: no limit */
};

/*
 * Gives up all other rights for good, in all present and future threads. The limits are hard. The
 * process writes no core and lets no file grow.
 *
 * Returns IH_OK, or IH_UNAVAILABLE if the filter cannot be loaded; the limits hold even then.
 */
enum ih_status ih_sandbox_enter(const struct ih_sandbox_limits *limits, struct ih_error *err);

/* Allows a child process, which may not change its own limits, this many more seconds of CPU time;
 * then SIGXCPU ends it. Returns false if the process has already used more than that, so that its
 * hard limit may be near. */
bool ih_sandbox_allow_seconds(pid_t pid, unsigned seconds);

#endif
