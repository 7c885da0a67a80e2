/* The worker's side of a helper process. Nothing that comes from it is trusted. */
#define _POSIX_C_SOURCE 200809L

#include "isolate/spawn.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_A_SECOND ((uint64_t)1000 * 1000 * 1000)

void ih_decoder_process_init(struct ih_decoder_process *h,
                             const struct ih_decoder_process_command *command)
{
    *h = (struct ih_decoder_process){.command = command};
}

/* ---- its life ---- */

/* Ends the process. Returns how, as waitpid says it. */
static int stop(struct ih_decoder_process *h)
{
    int how = 0;
    kill(h->pid, SIGKILL); /* nothing, where it has ended by itself */
    while (waitpid(h->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    close(h->socket);
    ih_shared_pixels_unmap(h->memory);
    h->memory = NULL;
    h->is_running = false;
    return how;
}

static void end_image(struct ih_decoder_process *h)
{
    ih_budget_give(h->budget, h->taken_bytes);
    h->taken_bytes = 0;
    h->budget = NULL;
    h->is_busy = false;
}

static uint64_t seconds_max(const struct ih_decoder_process *h)
{
    return h->command->seconds_max ? h->command->seconds_max : IH_DECODER_PROCESS_SECONDS_MAX;
}

static enum ih_status start(struct ih_decoder_process *h, struct ih_error *err)
{
    enum ih_status status = ih_decoder_process_spawn(h, err);
    if (status != IH_OK)
        return status;
    h->is_running = true;
    h->n_pieces = 0;
    h->patience.left_ns = seconds_max(h) * NS_A_SECOND;
    struct ih_error hello;
    if (!ih_wire_watch(h->socket) ||
        !ih_wire_receive(h->socket, &hello, sizeof hello, &h->patience)) {
        stop(h);
        return ih_error_set(err, IH_UNAVAILABLE, "a helper process does not start");
    }
    if (hello.status != IH_OK) {
        stop(h);
        *err = hello;
    }
    return hello.status;
}

/* A helper that can decode with this decoder. Most folders have one kind of rare file, so a helper
 * prepares for one; where that was not enough, the next for all. */
static enum ih_status provide(struct ih_decoder_process *h, unsigned index, struct ih_error *err)
{
    const struct ih_decoder *decoder =
        (h->command->decoders ? h->command->decoders : ih_decoders)[index];
    if (h->is_running && h->prepared != index && h->prepared != IH_DECODER_PROCESS_ALL &&
        decoder->prepare) {
        stop(h);
        h->prepared = IH_DECODER_PROCESS_ALL;
        return start(h, err);
    }
    if (h->is_running)
        return IH_OK;
    if (h->prepared != IH_DECODER_PROCESS_ALL)
        h->prepared = index;
    return start(h, err);
}

void ih_decoder_process_close(struct ih_decoder_process *h)
{
    if (h->is_busy && h->is_running) /* it would go on sending what nobody wants */
        stop(h);
    end_image(h);
}

void ih_decoder_process_reset(struct ih_decoder_process *h)
{
    if (h->is_running)
        stop(h);
    end_image(h);
}

/* ---- its death ---- */

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "segmentation fault";
    case SIGBUS:
        return "bus error";
    case SIGABRT:
        return "abort";
    case SIGFPE:
        return "arithmetic error";
    case SIGILL:
        return "illegal instruction";
    case SIGKILL:
        return "killed, perhaps for lack of memory";
    default:
        return "";
    }
}

/* How a helper ended whose socket has. It gets a second for it: one that has closed its socket and
 * lives on is up to something, and is ended by force. */
static int wait_for_end(struct ih_decoder_process *h)
{
    const struct timespec millisecond = {0, 1000 * 1000};
    siginfo_t info;
    for (int i = 0; i < 1000; i++) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
            break;
        nanosleep(&millisecond, NULL);
    }
    return stop(h);
}

static enum ih_status tell_death(struct ih_decoder_process *h, struct ih_error *err)
{
    if (h->patience.left_ns == 0) { /* it lives, and does nothing that is seen */
        stop(h);
        end_image(h);
        return ih_error_set(err, IH_LIMIT, "its decoder takes more than %llu s and was ended",
                            (unsigned long long)seconds_max(h));
    }
    int how = wait_for_end(h), number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    const char *name = signal_name(number);
    end_image(h);
    if (number == SIGXCPU)
        return ih_error_set(err, IH_LIMIT, "its decoder takes too long and was ended");
    if (number)
        return ih_error_set(err, IH_CORRUPT, "its decoder crashed: signal %d%s%s%s", number,
                            *name ? " (" : "", name, *name ? ")" : "");
    return ih_error_set(err, IH_CORRUPT, "its decoder ended unexpectedly (exit code %d)",
                        WIFEXITED(how) ? WEXITSTATUS(how) : -1);
}

/* It said what no helper says: something has taken it over. */
static enum ih_status distrust(struct ih_decoder_process *h, struct ih_error *err)
{
    stop(h);
    end_image(h);
    return ih_error_set(err, IH_CORRUPT, "its decoder ended unexpectedly (it sent nonsense)");
}

/* ---- talking to it ---- */

/* Questions to the budget, answered for the helper. False: it is not there any more. */
static bool answer(struct ih_decoder_process *h, const struct ih_wire_reply *question)
{
    struct ih_error a = {IH_OK, ""};
    uint64_t n = question->n;
    if (question->kind == IH_WIRE_GIVE) {
        n = n < h->taken_bytes ? n : h->taken_bytes;
        ih_budget_give(h->budget, n);
        h->taken_bytes -= n;
        return true;
    }
    if (question->kind == IH_WIRE_TAKE)
        ih_budget_take(h->budget, n, &a);
    else if (!ih_budget_try(h->budget, n))
        a.status = IH_LIMIT;
    if (a.status == IH_OK)
        h->taken_bytes += n;
    return ih_wire_send(h->socket, &a, sizeof a, &h->patience);
}

/* What can be wrong with a file. The rest is said of the machine or the command line, and would end
 * the whole batch, or of a file that is no image, and would pass it over in silence. */
static bool is_of_a_file(enum ih_status status)
{
    return status == IH_IO || status == IH_CORRUPT || status == IH_UNSUPPORTED ||
           status == IH_LIMIT || status == IH_MEMORY;
}

/* The next reply that is no question. */
static enum ih_status next_reply(struct ih_decoder_process *h, struct ih_wire_reply *r,
                                 struct ih_error *err)
{
    for (;;) {
        if (!ih_wire_receive(h->socket, r, sizeof *r, &h->patience))
            return tell_death(h, err);
        if (r->kind != IH_WIRE_TAKE && r->kind != IH_WIRE_TRY && r->kind != IH_WIRE_GIVE)
            break;
        if (r->kind == IH_WIRE_TAKE && h->taken_bytes > 0) /* it might wait for itself, for ever */
            return distrust(h, err);
        if (!answer(h, r))
            return tell_death(h, err);
    }
    if (r->kind != IH_WIRE_FAILED)
        return IH_OK;
    if (!is_of_a_file(r->error.status))
        return distrust(h, err);
    end_image(h);
    r->error.message[sizeof r->error.message - 1] = '\0';
    *err = r->error;
    return err->status;
}

static bool send_request(struct ih_decoder_process *h, unsigned index, struct ih_source *src,
                         const struct ih_decode_options *options)
{
    struct ih_wire_request request;
    memset(&request, 0, sizeof request); /* padding is sent as well */
    request.decoder = index;
    request.n_read = (uint32_t)src->n_left;
    request.max_pixels = options->max_pixels;
    request.held_bytes_max = options->held_bytes_max;
    request.budget_bytes = options->budget ? options->budget->size_bytes : 0;
    request.at_end = src->at_end;
    request.is_whole = src->is_whole;
    return ih_wire_send_request(h->socket, &request, src->fd, &h->patience) &&
           ih_wire_send(h->socket, src->next, src->n_left, &h->patience);
}

enum ih_status ih_decoder_process_open(struct ih_decoder_process *h, unsigned index,
                                       struct ih_source *src,
                                       const struct ih_decode_options *options,
                                       struct ih_image_info *info, struct ih_error *err)
{
    struct ih_wire_reply r;
    uint64_t n_bytes;
    if (provide(h, index, err) != IH_OK)
        return err->status;
    /* Whoever feeds a pipe can keep a worker waiting without any helper. */
    bool is_endless = !ih_source_size_left(src, &n_bytes);
    h->patience.left_ns = is_endless ? IH_WIRE_FOR_EVER : seconds_max(h) * NS_A_SECOND;
    h->is_busy = true;
    h->budget = options->budget;
    h->n_pixels_left = 0;
    if (!send_request(h, index, src, options))
        return tell_death(h, err);
    enum ih_status status = next_reply(h, &r, err);
    if (status != IH_OK)
        return status;
    if (r.kind != IH_WIRE_OPENED || r.info.n_channels < 1 || r.info.n_channels > IH_CHANNELS_MAX ||
        r.info.source_depth > 32)
        return distrust(h, err);
    h->n_channels = r.info.n_channels;
    info->width = r.info.width;
    info->height = r.info.height;
    info->n_channels = r.info.n_channels;
    info->source_depth = r.info.source_depth;
    return IH_OK;
}

/* The worker is done with the piece whose turn it was. False: the helper is not there any more. */
static bool give_back(struct ih_decoder_process *h)
{
    static const uint8_t wake = 0;
    struct ih_shared_pixels *m = h->memory;
    atomic_store(&m->n_given_back, ++h->n_pieces);
    return atomic_exchange(&m->is_waited, 0) == 0 ||
           ih_wire_send(h->socket, &wake, sizeof wake, &h->patience);
}

enum ih_status ih_decoder_process_read(struct ih_decoder_process *h, uint8_t *pixels,
                                       size_t capacity_pixels, size_t *n_pixels,
                                       struct ih_error *err)
{
    *n_pixels = 0;
    if (h->n_pixels_left == 0) {
        struct ih_wire_reply r;
        enum ih_status status = next_reply(h, &r, err);
        if (status != IH_OK)
            return status;
        if (r.kind == IH_WIRE_DONE) {
            end_image(h);
            return IH_OK;
        }
        if (r.kind != IH_WIRE_PIXELS || r.n == 0 ||
            r.n > IH_DECODER_PROCESS_PIECE_BYTES / h->n_channels)
            return distrust(h, err);
        h->n_pixels_left = (size_t)r.n;
        h->next = h->memory->pieces[h->n_pieces % IH_DECODER_PROCESS_PIECES];
    }
    size_t n = h->n_pixels_left < capacity_pixels ? h->n_pixels_left : capacity_pixels;
    assert(h->next);
    memcpy(pixels, h->next, n * h->n_channels);
    h->next += n * h->n_channels;
    h->n_pixels_left -= n;
    if (h->n_pixels_left == 0 && !give_back(h))
        return tell_death(h, err);
    *n_pixels = n;
    return IH_OK;
}
