/* The decoder process itself: one socket, one image after the other. */
#include "isolate/decoder_process.h"

#include "base/machine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Open files: the socket, the input, the three standard files and a reserve. */
enum { FILES_MAX = 16 };

/* File descriptors that are closed at the start: more than any limit in common use. A loop over all
 * that some systems allow would take as long as decoding. */
enum { FILES_CLOSED_MAX = 4096 };

struct server {
    struct ih_reader src;
    uint8_t read[IH_READER_BUFFER_BYTES]; /* the start of the file, read by the worker */
    struct ih_budget budget;              /* forwards each call to the worker's budget */
    struct ih_shared_pixels *memory;      /* owned, shared with the worker */
    unsigned n_pieces;                    /* pieces of memory used so far */
    uint8_t *row;                         /* owned; NULL until a row is too long for a piece */
    size_t row_bytes;
    struct ih_error *unprepared; /* owned [decoders]: IH_OK, or why a decoder cannot work */
};

/* ---- messages ---- */

/* Ends the process if the worker has closed the socket. */
static void send_reply(const struct ih_wire_reply *r)
{
    if (!ih_wire_send(IH_DECODER_PROCESS_SOCKET, r, sizeof *r, NULL))
        _exit(EXIT_FAILURE);
}

static void receive(void *bytes, size_t size_bytes)
{
    if (!ih_wire_receive(IH_DECODER_PROCESS_SOCKET, bytes, size_bytes, NULL))
        _exit(EXIT_FAILURE);
}

static enum ih_status ask(enum ih_budget_call call, uint64_t n_bytes, struct ih_error *err)
{
    static const enum ih_wire_kind kinds[] = {
        [IH_BUDGET_TAKE] = IH_WIRE_TAKE,
        [IH_BUDGET_TRY] = IH_WIRE_TRY,
        [IH_BUDGET_GIVE] = IH_WIRE_GIVE,
        [IH_BUDGET_EXCHANGE] = IH_WIRE_EXCHANGE,
    };
    const struct ih_wire_reply r = {.kind = kinds[call], .n = n_bytes};
    struct ih_error answer;
    send_reply(&r);
    if (call == IH_BUDGET_GIVE)
        return IH_OK;
    receive(&answer, sizeof answer);
    if (err)
        *err = answer;
    return answer.status;
}

/* ---- pixels ---- */

/* The piece to fill next, once the worker has given it back. */
static uint8_t *next_piece(struct server *s)
{
    struct ih_shared_pixels *m = s->memory;
    while (s->n_pieces - atomic_load(&m->n_given_back) == IH_DECODER_PROCESS_PIECES) {
        uint8_t wake;
        atomic_store(&m->is_waited, 1);
        /* If the piece came back just now, a byte comes only if the worker saw is_waited. */
        if (s->n_pieces - atomic_load(&m->n_given_back) < IH_DECODER_PROCESS_PIECES &&
            atomic_exchange(&m->is_waited, 0) == 1)
            break;
        receive(&wake, sizeof wake);
    }
    return m->pieces[s->n_pieces % IH_DECODER_PROCESS_PIECES];
}

static void send_piece(struct server *s, size_t n_pixels)
{
    const struct ih_wire_reply r = {.kind = IH_WIRE_PIXELS, .n = n_pixels};
    s->n_pieces++;
    send_reply(&r);
}

static enum ih_status send_pixels(struct server *s, const struct ih_decoder *decoder, void *state,
                                  size_t pixel_bytes, struct ih_error *err)
{
    for (;;) {
        size_t n = 0;
        enum ih_status status = decoder->read(
            state, next_piece(s), IH_DECODER_PROCESS_PIECE_BYTES / pixel_bytes, &n, err);
        if (status != IH_OK || n == 0)
            return status;
        send_piece(s, n);
    }
}

/* A buffer for one row, or NULL. */
static uint8_t *grow_row(struct server *s, const struct ih_image_info *info, struct ih_error *err)
{
    const uint64_t wanted = info->width * ih_pixel_bytes(info->layout.n_channels, info->type);
    if (!s->row || wanted > s->row_bytes) {
        free(s->row);
        s->row = wanted < SIZE_MAX ? malloc((size_t)wanted) : NULL;
        s->row_bytes = s->row ? (size_t)wanted : 0;
    }
    if (!s->row)
        ih_error_set(err, IH_MEMORY, "out of memory");
    return s->row;
}

/* Sends an image whose rows do not fit into a piece. */
static enum ih_status send_long_rows(struct server *s, const struct ih_decoder *decoder,
                                     void *state, const struct ih_image_info *info,
                                     struct ih_error *err)
{
    const size_t pixel_bytes = ih_pixel_bytes(info->layout.n_channels, info->type);
    const size_t n_max = IH_DECODER_PROCESS_PIECE_BYTES / pixel_bytes;
    uint8_t *const row = grow_row(s, info, err);
    if (!row)
        return err->status;
    for (;;) {
        size_t n = 0;
        enum ih_status status = decoder->read(state, row, s->row_bytes / pixel_bytes, &n, err);
        if (status != IH_OK || n == 0)
            return status;
        for (const uint8_t *p = row; n > 0;) {
            const size_t n_now = n < n_max ? n : n_max;
            memcpy(next_piece(s), p, n_now * pixel_bytes);
            send_piece(s, n_now);
            p += n_now * pixel_bytes;
            n -= n_now;
        }
    }
}

/* ---- images ---- */

static enum ih_status send_image(struct server *s, const struct ih_decoder *decoder, void *state,
                                 const struct ih_image_info *info, struct ih_error *err)
{
    const size_t names_bytes =
        info->band_names ? info->layout.n_channels * sizeof *info->band_names : 0;
    struct ih_wire_reply opened = {.kind = IH_WIRE_OPENED, .n = names_bytes, .info = *info};
    opened.info.format = NULL;
    opened.info.band_names = NULL;
    send_reply(&opened);
    if (names_bytes &&
        !ih_wire_send(IH_DECODER_PROCESS_SOCKET, info->band_names, names_bytes, NULL))
        _exit(EXIT_FAILURE);
    const size_t pixel_bytes = ih_pixel_bytes(info->layout.n_channels, info->type);
    const bool has_long_rows = info->width > IH_DECODER_PROCESS_PIECE_BYTES / pixel_bytes;
    return has_long_rows ? send_long_rows(s, decoder, state, info, err)
                         : send_pixels(s, decoder, state, pixel_bytes, err);
}

/* Goes on to the next image: of the file, or the file of this format that follows. *state is NULL
 * after a failure to open that. */
static enum ih_status go_on(struct server *s, const struct ih_decoder *decoder,
                            const struct ih_decode_options *options, struct ih_image_info *info,
                            void **state, bool *is_sequence, bool *has_next, struct ih_error *err)
{
    const struct ih_decoder *following;
    enum ih_status status = IH_OK;
    *has_next = false;
    if (decoder->next)
        status = decoder->next(*state, info, has_next, err);
    if (status != IH_OK || *has_next || !ih_decoder_may_be_followed(decoder))
        return status;
    status = ih_decode_following(&s->src, decoder, *is_sequence, &following, err);
    *has_next = following == decoder;
    if (following != decoder) {
        info->warnings |= following ? IH_WARNING_MORE_IMAGES : 0;
        return status;
    }
    ih_decoder_close(decoder, *state);
    *state = NULL;
    ih_band_names_reset(&info->band_names);
    *info = (struct ih_image_info){.format = NULL};
    *is_sequence = ih_decode_split(&s->src);
    return ih_decoder_open(decoder, &s->src, options, info, state, err);
}

/* Notes that another image follows the only one that is wanted. */
static void note_following(struct server *s, const struct ih_decoder *decoder,
                           struct ih_image_info *info)
{
    const struct ih_decoder *following;
    struct ih_error ignored;
    if (ih_decoder_may_be_followed(decoder) &&
        ih_decode_following(&s->src, decoder, false, &following, &ignored) == IH_OK && following)
        info->warnings |= IH_WARNING_MORE_IMAGES;
}

/* info: in the end, of the last image */
static enum ih_status decode(struct server *s, const struct ih_decoder *decoder,
                             const struct ih_decode_options *options, struct ih_image_info *info,
                             struct ih_error *err)
{
    void *state = NULL;
    bool has_next = true, is_sequence = false;
    if (options->takes_frames && ih_decoder_may_be_followed(decoder))
        is_sequence = ih_decode_split(&s->src);
    enum ih_status status = ih_decoder_open(decoder, &s->src, options, info, &state, err);
    while (status == IH_OK && has_next) {
        status = send_image(s, decoder, state, info, err);
        if (status == IH_OK && !options->takes_frames)
            note_following(s, decoder, info);
        if (status != IH_OK || !options->takes_frames)
            break;
        struct ih_wire_reply done = {.kind = IH_WIRE_DONE, .n = 1, .info = *info};
        status = go_on(s, decoder, options, info, &state, &is_sequence, &has_next, err);
        done.info.format = NULL;
        done.info.band_names = NULL;
        if (status != IH_OK || has_next)
            send_reply(&done);
    }
    ih_decoder_close(decoder, state);
    ih_band_names_reset(&info->band_names);
    info->format = NULL;
    return status;
}

static void serve_one(struct server *s, const struct ih_decoder *const *decoders,
                      const struct ih_wire_request *request, int file)
{
    const unsigned index = request->decoder;
    struct ih_wire_reply last = {.kind = IH_WIRE_DONE};
    struct ih_decode_options options = {.max_pixels = request->max_pixels,
                                        .whole_file_bytes_max = request->whole_file_bytes_max,
                                        .is_lenient = request->is_lenient,
                                        .takes_frames = request->takes_frames,
                                        .sample_range = request->sample_range,
                                        .takes_native = request->takes_native,
                                        .takes_indices = request->takes_indices,
                                        .nodata = request->nodata,
                                        .axes = request->axes};
    s->budget = (struct ih_budget){.ask = ask, .size_bytes = request->budget_bytes};
    if (request->budget_bytes)
        options.budget = &s->budget;
    last.error = s->unprepared[index];
    if (last.error.status == IH_OK && ih_reader_open_fd(&s->src, file, &last.error) == IH_OK) {
        ih_reader_preload(&s->src, s->read, request->n_read, request->at_end,
                          request->is_from_start, request->file_bytes);
        if (decode(s, decoders[index], &options, &last.info, &last.error) == IH_OK)
            last.error.status = IH_OK; /* a decoder that tried two ways may have left an error */
    }
    ih_reader_close(&s->src);
    if (last.error.status != IH_OK)
        last.kind = IH_WIRE_FAILED;
    send_reply(&last);
}

/* ---- starting ---- */

/* Keeps the socket, redirects the standard files to /dev/null and closes all others, such as output
 * files that were inherited. */
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

/* Loads libraries that the decoders would otherwise load on first use. */
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
    ih_reader_reset(&s->src);
    free(s);
}

/* Gives up all rights and sends the result to the worker: a message with IH_OK is a warning.
 * Returns whether to serve. */
static bool enter_sandbox(char *const *arguments)
{
    const struct ih_sandbox_limits limits = {
        .n_files = FILES_MAX,
        .cpu_seconds = (unsigned)strtoul(arguments[3], NULL, 10),
        .memory_bytes = strtoull(arguments[1], NULL, 10),
    };
    const bool is_strict = arguments[4] != NULL;
    struct ih_error hello = {0};
    if (ih_sandbox_enter(&limits, &hello) != IH_OK && !is_strict)
        hello.status = IH_OK;
    return ih_wire_send(IH_DECODER_PROCESS_SOCKET, &hello, sizeof hello, NULL) &&
           hello.status == IH_OK;
}

int ih_decoder_process_serve(const struct ih_decoder *const *decoders, char *const *arguments)
{
    struct ih_wire_request request;
    unsigned n_decoders = 0;
    int file;
    while (decoders[n_decoders])
        n_decoders++;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with its worker */
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return EXIT_FAILURE;
    s->unprepared = calloc(n_decoders + 1, sizeof *s->unprepared);
    s->memory = ih_shared_pixels_map(IH_DECODER_PROCESS_MEMORY);
    bool is_ready = arguments[0] && arguments[1] && arguments[2] && arguments[3] && s->unprepared &&
                    s->memory && close_files();
    const uint64_t kept_bytes = is_ready ? strtoull(arguments[2], NULL, 10) : 0;
    if (is_ready) {
        if (kept_bytes > 0)
            ih_machine_keep_memory(kept_bytes, 1, false);
        prepare(s, decoders, strtoul(arguments[0], NULL, 10));
        is_ready = enter_sandbox(arguments);
    }
    while (is_ready && ih_wire_receive_request(IH_DECODER_PROCESS_SOCKET, &request, &file)) {
        if (request.decoder >= n_decoders || request.n_read > sizeof s->read)
            break;
        receive(s->read, request.n_read);
        serve_one(s, decoders, &request, file);
        close(file);
        if (kept_bytes > 0)
            ih_machine_return_memory(kept_bytes);
    }
    free_server(s);
    return is_ready ? EXIT_SUCCESS : EXIT_FAILURE;
}
