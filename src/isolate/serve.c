/* The helper's side: one process, one socket, image after image. */
#define _POSIX_C_SOURCE 200809L

#include "isolate/decoder_process.h"
#include "isolate/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

/* Files that may be open: the socket, the input, the three standard ones, and a few to spare. */
enum { FILES_MAX = 16 };

/* Processor time for one image. The largest that --max-pixels lets through by default takes two
 * minutes of inflating; whoever needs more is not decoding. */
enum { SECONDS_MAX = 600 };

/* More than any limit that is set in practice; where more are allowed, counting them all takes as
 * long as decoding does. */
enum { FILES_CLOSED_MAX = 4096 };

struct server {
    struct ih_source src;
    uint8_t read[IH_SOURCE_BUFFER_BYTES]; /* what the worker has read of the file already */
    struct ih_budget budget;              /* the worker's, asked through the socket */
    struct ih_shared_pixels *memory;      /* owned, shared with the worker */
    unsigned n_pieces;                    /* of it, that had their turn */
    uint8_t *row;                         /* owned, NULL before one is too long for a piece */
    size_t row_bytes;
    struct ih_error *unprepared; /* owned [decoders]: IH_OK, or why it cannot decode */
};

static bool reply(const struct ih_wire_reply *r)
{
    return ih_wire_send(IH_DECODER_PROCESS_SOCKET, r, sizeof *r, NULL);
}

static enum ih_status ask(enum ih_budget_call call, uint64_t n_bytes, struct ih_error *err)
{
    static const enum ih_wire_kind kinds[] = {
        [IH_BUDGET_TAKE] = IH_WIRE_TAKE,
        [IH_BUDGET_TRY] = IH_WIRE_TRY,
        [IH_BUDGET_GIVE] = IH_WIRE_GIVE,
    };
    struct ih_wire_reply r = {.kind = kinds[call], .n = n_bytes};
    struct ih_error answer;
    bool is_heard = reply(&r);
    if (call == IH_BUDGET_GIVE)
        return IH_OK;
    if (!is_heard || !ih_wire_receive(IH_DECODER_PROCESS_SOCKET, &answer, sizeof answer, NULL))
        _exit(EXIT_FAILURE); /* nobody is left to decode for */
    if (err)
        *err = answer;
    return answer.status;
}

/* The piece whose turn it is, once the worker has given it back. */
static uint8_t *next_piece(struct server *s)
{
    struct ih_shared_pixels *m = s->memory;
    while (s->n_pieces - atomic_load(&m->n_given_back) == IH_DECODER_PROCESS_PIECES) {
        uint8_t wake;
        atomic_store(&m->is_waited, 1);
        /* It may just have been given back; then there is a byte only if the worker saw that. */
        if (s->n_pieces - atomic_load(&m->n_given_back) < IH_DECODER_PROCESS_PIECES &&
            atomic_exchange(&m->is_waited, 0) == 1)
            break;
        if (!ih_wire_receive(IH_DECODER_PROCESS_SOCKET, &wake, sizeof wake, NULL))
            _exit(EXIT_FAILURE); /* nobody is left to decode for */
    }
    return m->pieces[s->n_pieces % IH_DECODER_PROCESS_PIECES];
}

static void send_piece(struct server *s, size_t n_pixels)
{
    const struct ih_wire_reply r = {.kind = IH_WIRE_PIXELS, .n = n_pixels};
    s->n_pieces++;
    if (!reply(&r))
        _exit(EXIT_FAILURE);
}

static enum ih_status send_pixels(struct server *s, const struct ih_decoder *decoder, void *state,
                                  size_t n_channels, struct ih_error *err)
{
    for (;;) {
        size_t n = 0;
        enum ih_status status = decoder->read(state, next_piece(s),
                                              IH_DECODER_PROCESS_PIECE_BYTES / n_channels, &n, err);
        if (status != IH_OK || n == 0)
            return status;
        send_piece(s, n);
    }
}

/* Room for a row; NULL where there is none. */
static uint8_t *grow_row(struct server *s, const struct ih_image_info *info, struct ih_error *err)
{
    const uint64_t wanted = info->width * info->n_channels;
    if (!s->row || wanted > s->row_bytes) {
        free(s->row);
        s->row = wanted < SIZE_MAX ? malloc((size_t)wanted) : NULL;
        s->row_bytes = s->row ? (size_t)wanted : 0;
    }
    if (!s->row)
        ih_error_set(err, IH_MEMORY, "out of memory");
    return s->row;
}

/* Of an image whose rows do not fit into a piece. */
static enum ih_status send_long_rows(struct server *s, const struct ih_decoder *decoder,
                                     void *state, const struct ih_image_info *info,
                                     struct ih_error *err)
{
    const size_t n_channels = info->n_channels, n_max = IH_DECODER_PROCESS_PIECE_BYTES / n_channels;
    uint8_t *const row = grow_row(s, info, err);
    if (!row)
        return err->status;
    for (;;) {
        size_t n = 0;
        enum ih_status status = decoder->read(state, row, s->row_bytes / n_channels, &n, err);
        if (status != IH_OK || n == 0)
            return status;
        for (const uint8_t *p = row; n > 0;) {
            const size_t n_now = n < n_max ? n : n_max;
            memcpy(next_piece(s), p, n_now * n_channels);
            send_piece(s, n_now);
            p += n_now * n_channels;
            n -= n_now;
        }
    }
}

static enum ih_status decode(struct server *s, const struct ih_decoder *decoder,
                             const struct ih_decode_options *options, struct ih_error *err)
{
    struct ih_wire_reply opened = {.kind = IH_WIRE_OPENED};
    struct ih_image_info info = {.format = NULL};
    void *state = NULL;
    enum ih_status status = decoder->open(&s->src, options, &info, &state, err);
    if (status != IH_OK)
        return status;
    opened.info = info;
    opened.info.format = NULL;
    if (!reply(&opened))
        _exit(EXIT_FAILURE);
    const bool has_long_rows = info.width > IH_DECODER_PROCESS_PIECE_BYTES / info.n_channels;
    status = has_long_rows ? send_long_rows(s, decoder, state, &info, err)
                           : send_pixels(s, decoder, state, info.n_channels, err);
    decoder->close(state);
    return status;
}

static void serve_one(struct server *s, const struct ih_decoder *const *decoders,
                      const struct ih_wire_request *request, int file)
{
    const unsigned index = request->decoder;
    struct ih_wire_reply last = {.kind = IH_WIRE_DONE};
    struct ih_decode_options options = {.max_pixels = request->max_pixels,
                                        .held_bytes_max = request->held_bytes_max};
    s->budget = (struct ih_budget){.ask = ask, .size_bytes = request->budget_bytes};
    if (request->budget_bytes)
        options.budget = &s->budget;
    last.error = s->unprepared[index];
    if (last.error.status == IH_OK && ih_source_open_fd(&s->src, file, &last.error) == IH_OK) {
        ih_source_preload(&s->src, s->read, request->n_read, request->at_end, request->is_whole);
        decode(s, decoders[index], &options, &last.error);
    }
    ih_source_close(&s->src);
    if (last.error.status != IH_OK)
        last.kind = IH_WIRE_FAILED;
    if (!reply(&last))
        _exit(EXIT_FAILURE);
}

/* The socket stays, the standard files become /dev/null, all others are closed: an output's, or
 * what a program that uses the library has open. */
static bool close_files(void)
{
    long n_files = sysconf(_SC_OPEN_MAX);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < IH_DECODER_PROCESS_SOCKET; fd++)
        if (dup2(null, fd) < 0)
            return false;
    if (n_files < 0 || n_files > FILES_CLOSED_MAX)
        n_files = FILES_CLOSED_MAX;
    for (int fd = IH_DECODER_PROCESS_SOCKET + 1; fd < (int)n_files; fd++)
        close(fd);
    return true;
}

/* Whoever has lost its worker decodes for nobody. Elsewhere the next reply finds that out. */
static void end_with_worker(void)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/* What the libraries of the decoders would load later. */
static void prepare(struct server *s, const struct ih_decoder *const *decoders,
                    unsigned long wanted)
{
    for (unsigned i = 0; decoders[i]; i++)
        if (decoders[i]->prepare && (wanted == i || wanted == IH_DECODER_PROCESS_ALL))
            decoders[i]->prepare(&s->unprepared[i]);
}

static void free_server(struct server *s)
{
    ih_shared_pixels_unmap(s->memory);
    free(s->row);
    free(s->unprepared);
    ih_source_reset(&s->src);
    free(s);
}

/* NULL where memory is out, or there is none to share. */
static struct server *make_server(unsigned n_decoders)
{
    struct server *s = calloc(1, sizeof *s);
    if (s) {
        s->unprepared = calloc(n_decoders + 1, sizeof *s->unprepared);
        s->memory = ih_shared_pixels_map(IH_DECODER_PROCESS_MEMORY);
    }
    if (s && s->unprepared && s->memory)
        return s;
    if (s)
        free_server(s);
    return NULL;
}

int ih_decoder_process_serve(const struct ih_decoder *const *decoders, char *const *arguments)
{
    struct ih_error hello = {IH_OK, ""};
    struct ih_wire_request request;
    unsigned n_decoders = 0;
    int file;
    while (decoders[n_decoders])
        n_decoders++;
    end_with_worker();
    struct server *s = arguments[0] ? make_server(n_decoders) : NULL;
    if (!s)
        return EXIT_FAILURE;
    if (!close_files()) {
        free_server(s);
        return EXIT_FAILURE;
    }
    prepare(s, decoders, strtoul(arguments[0], NULL, 10));
    bool is_strict = arguments[1] != NULL;
    if (ih_sandbox_enter(FILES_MAX, &hello) != IH_OK && !is_strict)
        hello = (struct ih_error){IH_OK, ""};
    if (!ih_wire_send(IH_DECODER_PROCESS_SOCKET, &hello, sizeof hello, NULL) ||
        hello.status != IH_OK) {
        free_server(s);
        return EXIT_FAILURE;
    }
    while (ih_wire_receive_request(IH_DECODER_PROCESS_SOCKET, &request, &file)) {
        if (request.decoder >= n_decoders || request.n_read > sizeof s->read ||
            !ih_wire_receive(IH_DECODER_PROCESS_SOCKET, s->read, request.n_read, NULL))
            break;
        ih_sandbox_allow_seconds(SECONDS_MAX);
        serve_one(s, decoders, &request, file);
        close(file);
    }
    free_server(s);
    return EXIT_SUCCESS;
}
