/* The helper's side: one process, one socket, image after image. */
#define _POSIX_C_SOURCE 200809L

#include "base/sandbox.h"
#include "decode/helper.h"

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

/* Pixels are sent in pieces of about this size: large enough that system calls cost little, small
 * enough to stay in the cache. */
enum { PIECE_BYTES = 128 * 1024 };

/* More than any limit that is set in practice; where more are allowed, counting them all takes as
 * long as decoding does. */
enum { FILES_CLOSED_MAX = 4096 };

struct server {
    struct ih_source src;
    uint8_t read[IH_SOURCE_BUFFER_BYTES]; /* what the worker has read of the file already */
    struct ih_budget budget;              /* the worker's, asked through the socket */
    uint8_t *piece;                       /* owned */
    size_t piece_bytes;
    struct ih_error *unprepared; /* owned [decoders]: IH_OK, or why it cannot decode */
};

static bool reply(const struct ih_wire_reply *r)
{
    return ih_wire_send(IH_HELPER_SOCKET, r, sizeof *r, NULL);
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
    if (!is_heard || !ih_wire_receive(IH_HELPER_SOCKET, &answer, sizeof answer, NULL))
        _exit(EXIT_FAILURE); /* nobody is left to decode for */
    if (err)
        *err = answer;
    return answer.status;
}

/* Room for at least a row. */
static enum ih_status grow_piece(struct server *s, const struct ih_image_info *info,
                                 struct ih_error *err)
{
    uint64_t wanted = info->width * info->n_channels;
    wanted = wanted > PIECE_BYTES ? wanted : PIECE_BYTES;
    if (wanted <= s->piece_bytes)
        return IH_OK;
    free(s->piece);
    s->piece = wanted < SIZE_MAX ? malloc((size_t)wanted) : NULL;
    s->piece_bytes = s->piece ? (size_t)wanted : 0;
    return s->piece ? IH_OK : ih_error_set(err, IH_MEMORY, "out of memory");
}

static enum ih_status send_pixels(struct server *s, const struct ih_decoder *decoder, void *state,
                                  const struct ih_image_info *info, struct ih_error *err)
{
    for (;;) {
        struct ih_wire_reply r = {.kind = IH_WIRE_PIXELS};
        size_t n = 0;
        enum ih_status status =
            decoder->read(state, s->piece, s->piece_bytes / info->n_channels, &n, err);
        if (status != IH_OK || n == 0)
            return status;
        r.n = n;
        if (!reply(&r) || !ih_wire_send(IH_HELPER_SOCKET, s->piece, n * info->n_channels, NULL))
            _exit(EXIT_FAILURE);
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
    status = grow_piece(s, &info, err);
    if (status == IH_OK)
        status = send_pixels(s, decoder, state, &info, err);
    decoder->close(state);
    return status;
}

static void serve_one(struct server *s, const struct ih_decoder *const *decoders,
                      const struct ih_wire_request *request, int file)
{
    const unsigned index = request->decoder;
    struct ih_wire_reply last = {.kind = IH_WIRE_DONE};
    struct ih_decode_options options = {.max_pixels = request->max_pixels,
                                        .whole_bytes_max = request->whole_bytes_max};
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
    for (int fd = 0; fd < IH_HELPER_SOCKET; fd++)
        if (dup2(null, fd) < 0)
            return false;
    if (n_files < 0 || n_files > FILES_CLOSED_MAX)
        n_files = FILES_CLOSED_MAX;
    for (int fd = IH_HELPER_SOCKET + 1; fd < (int)n_files; fd++)
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
        if (decoders[i]->prepare && (wanted == i || wanted == IH_HELPER_ALL))
            decoders[i]->prepare(&s->unprepared[i]);
}

/* NULL where memory is out. */
static struct server *make_server(unsigned n_decoders)
{
    struct server *s = calloc(1, sizeof *s);
    if (s)
        s->unprepared = calloc(n_decoders + 1, sizeof *s->unprepared);
    if (s && s->unprepared)
        return s;
    free(s);
    return NULL;
}

static void free_server(struct server *s)
{
    free(s->piece);
    free(s->unprepared);
    ih_source_reset(&s->src);
    free(s);
}

int ih_helper_serve(const struct ih_decoder *const *decoders, char *const *arguments)
{
    struct ih_error hello = {IH_OK, ""};
    struct ih_wire_request request;
    unsigned n_decoders = 0;
    int file;
    while (decoders[n_decoders])
        n_decoders++;
    end_with_worker();
    struct server *s = arguments[0] && close_files() ? make_server(n_decoders) : NULL;
    if (!s)
        return EXIT_FAILURE;
    prepare(s, decoders, strtoul(arguments[0], NULL, 10));
    bool is_strict = arguments[1] != NULL;
    if (ih_sandbox_enter(FILES_MAX, &hello) != IH_OK && !is_strict)
        hello = (struct ih_error){IH_OK, ""};
    if (!ih_wire_send(IH_HELPER_SOCKET, &hello, sizeof hello, NULL) || hello.status != IH_OK) {
        free_server(s);
        return EXIT_FAILURE;
    }
    while (ih_wire_receive_request(IH_HELPER_SOCKET, &request, &file)) {
        if (request.decoder >= n_decoders || request.n_read > sizeof s->read ||
            !ih_wire_receive(IH_HELPER_SOCKET, s->read, request.n_read, NULL))
            break;
        ih_sandbox_allow_seconds(SECONDS_MAX);
        serve_one(s, decoders, &request, file);
        close(file);
    }
    free_server(s);
    return EXIT_SUCCESS;
}
