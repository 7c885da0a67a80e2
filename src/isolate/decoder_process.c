/* The worker's side of a decoder process. It trusts nothing that the process sends. */
#include "isolate/decoder_process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_A_SECOND ((uint64_t)1000 * 1000 * 1000)

static struct ih_decoder_process *process_of(struct ih_remote_decoder *remote)
{
    return (struct ih_decoder_process *)remote; /* its first member */
}

/* ---- spawning ---- */

/* Moves a file descriptor out of the range that the decoder process uses, so that no dup2 in
 * run_program overwrites it. -1 on failure. */
static int move_away(int fd)
{
    if (fd < 0 || fd > IH_DECODER_PROCESS_MEMORY)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, IH_DECODER_PROCESS_MEMORY + 1), error_number = errno;
    close(fd);
    errno = error_number;
    return moved;
}

/* The worker's socket and the decoder process's. No other program may inherit them: it would keep
 * an end open, and the worker would not see that the decoder process has closed it. */
static bool make_sockets(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    ends[1] = move_away(ends[1]);
    if (ends[1] >= 0)
        return true;
    int error_number = errno;
    close(ends[0]);
    errno = error_number;
    return false;
}

/* Whether the decoder process gets a variable: those of loader, C library, emulator, sanitizers and
 * libheif's codecs. The others may hold secrets, and a compromised decoder could read them. */
static bool keeps_variable(const struct ih_decoder_process *p, const char *variable)
{
    static const char *const kept[] = {
        "LD_",   "GLIBC_TUNABLES=", "MALLOC_",      "ASAN_",    "UBSAN_", "LSAN_", "TSAN_",
        "MSAN_", "GCOV_",           "LLVM_PROFILE", "LIBHEIF_", "DYLD_",  "QEMU_"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return true;
    const char *name = p->command->variable;
    return name && strncmp(variable, name, strlen(name)) == 0;
}

/* The environment of the decoder process; free() it. NULL if there is no memory. */
static char **make_environment(const struct ih_decoder_process *p)
{
    extern char **environ;
    size_t n = 0, n_kept = 0;
    while (environ && environ[n])
        n++;
    char **kept = calloc(n + 1, sizeof *kept);
    for (size_t i = 0; kept && i < n; i++)
        if (keeps_variable(p, environ[i]))
            kept[n_kept++] = environ[i];
    return kept;
}

/*
 * Starts the program with posix_spawn, because fork would copy a process that has threads.
 *
 * A terminal sends SIGINT to the decoder process too, and timeout(1) other signals. The process
 * blocks them all: if it ended before the worker, its file would be reported as the cause.
 */
static int run_program(struct ih_decoder_process *p, int its_socket, int memory)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    static const int ending_signals[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT,
                                         SIGALRM, SIGUSR1, SIGUSR2};
    sigset_t blocked, all;
    char **environment = make_environment(p);
    if (!environment)
        return ENOMEM;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof ending_signals / sizeof ending_signals[0]; i++)
        sigaddset(&blocked, ending_signals[i]);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, its_socket, IH_DECODER_PROCESS_SOCKET);
    posix_spawn_file_actions_adddup2(&actions, memory, IH_DECODER_PROCESS_MEMORY);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char name[] = "imghist", images[] = IH_DECODER_PROCESS_OPTION,
         archives[] = IH_ARCHIVE_PROCESS_OPTION, strict[] = "strict", prepared[16],
         memory_bytes[24], kept_bytes[24], cpu_seconds[16];
    char *const arguments[] = {name,
                               p->command->reads_archives ? archives : images,
                               prepared,
                               memory_bytes,
                               kept_bytes,
                               cpu_seconds,
                               p->command->is_strict ? strict : NULL,
                               NULL};
    snprintf(prepared, sizeof prepared, "%u", p->prepared);
    snprintf(memory_bytes, sizeof memory_bytes, "%llu",
             (unsigned long long)p->command->memory_bytes);
    snprintf(kept_bytes, sizeof kept_bytes, "%llu", (unsigned long long)p->command->kept_bytes);
    snprintf(cpu_seconds, sizeof cpu_seconds, "%d",
             p->command->reads_archives ? 0 : 2 * IH_DECODER_PROCESS_CPU_SECONDS_MAX);
    int error_number =
        posix_spawn(&p->pid, p->command->program, &actions, &attributes, arguments, environment);
    free(environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error_number;
}

/* Starts the process and fills pid, socket and memory. Returns 0 or an errno; *what is what failed.
 */
static int try_spawn(struct ih_decoder_process *p, const char **what)
{
    int ends[2], memory = -1, error_number = 0;
    *what = "cannot start a decoder process";
    if (!make_sockets(ends))
        return errno;
    p->memory = ih_shared_pixels_make(&memory);
    if (!p->memory || (memory = move_away(memory)) < 0) {
        *what = "cannot start a decoder process: no shared memory";
        error_number = errno;
    } else {
        error_number = run_program(p, ends[1], memory);
    }
    close(ends[1]);
    if (memory >= 0)
        close(memory);
    p->socket = ends[0];
    if (error_number == 0)
        return 0;
    close(ends[0]);
    ih_shared_pixels_unmap(p->memory);
    p->memory = NULL;
    return error_number;
}

/* A lack of memory, processes or file descriptors, which may pass. */
static bool is_transient(int error_number)
{
    return error_number == EAGAIN || error_number == EMFILE || error_number == ENFILE ||
           error_number == ENOMEM;
}

/* Starts the process. If the machine lacks something for it, tries again for half a second and then
 * fails this one file, as a limit on the size of files does, which holds for shared memory, too:
 * IH_IO or IH_MEMORY. Any other reason is IH_UNAVAILABLE. */
static enum ih_status spawn(struct ih_decoder_process *p, struct ih_error *err)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    const char *what;
    if (!p->command->program)
        return ih_error_set(err, IH_UNAVAILABLE,
                            "cannot start a decoder process: /proc/self/exe, the path of this "
                            "program, does not exist; mount /proc");
    int error_number = try_spawn(p, &what);
    for (int i = 0; i < 10 && is_transient(error_number); i++) {
        nanosleep(&pause, NULL);
        error_number = try_spawn(p, &what);
    }
    if (error_number == 0)
        return IH_OK;
    if (is_transient(error_number) || error_number == EFBIG)
        return ih_error_errno(err, error_number, what);
    return ih_error_set(err, IH_UNAVAILABLE, "%s: %s", what, strerror(error_number));
}

/* ---- starting and stopping ---- */

/* Ends the process. Returns its exit status as waitpid gives it. */
static int stop(struct ih_decoder_process *p)
{
    int how = 0;
    kill(p->pid, SIGKILL); /* without effect if it has ended */
    while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    close(p->socket);
    ih_shared_pixels_unmap(p->memory);
    p->memory = NULL;
    p->is_running = false;
    return how;
}

static void end_image(struct ih_decoder_process *p)
{
    ih_budget_give(p->budget, p->taken_bytes);
    p->taken_bytes = 0;
    p->budget = NULL;
    p->is_busy = false;
}

static uint64_t seconds_max(const struct ih_decoder_process *p)
{
    return p->command->seconds_max ? p->command->seconds_max : IH_DECODER_PROCESS_SECONDS_MAX;
}

static unsigned cpu_seconds_max(const struct ih_decoder_process *p)
{
    return p->command->cpu_seconds_max ? p->command->cpu_seconds_max
                                       : (unsigned)IH_DECODER_PROCESS_CPU_SECONDS_MAX;
}

/* Returns false if the process is too close to its hard limit. */
static bool allow_cpu_seconds(const struct ih_decoder_process *p, unsigned seconds)
{
    return p->command->reads_archives || ih_sandbox_allow_seconds(p->pid, seconds);
}

/* Passes on, once, why a process runs without seccomp. */
static void warn(const struct ih_decoder_process_command *c, const char *reason)
{
    char text[sizeof((struct ih_error *)NULL)->message];
    if (*reason == '\0' || !c->warn || atomic_flag_test_and_set(c->has_warned))
        return;
    snprintf(text, sizeof text, "files are decoded without a sandbox: %.150s", reason);
    c->warn(text);
}

static enum ih_status start(struct ih_decoder_process *p, struct ih_error *err)
{
    enum ih_status status = spawn(p, err);
    if (status != IH_OK)
        return status;
    p->is_running = true;
    p->n_pieces = 0;
    p->patience.left_ns = seconds_max(p) * NS_A_SECOND;
    struct ih_error hello;
    if (!ih_wire_watch(p->socket) ||
        !ih_wire_receive(p->socket, &hello, sizeof hello, &p->patience)) {
        stop(p);
        return ih_error_set(err, p->has_worked ? IH_IO : IH_UNAVAILABLE,
                            "a decoder process does not start");
    }
    hello.message[sizeof hello.message - 1] = '\0';
    if (hello.status != IH_OK) {
        stop(p);
        *err = hello;
        return hello.status;
    }
    p->has_worked = true;
    allow_cpu_seconds(p, cpu_seconds_max(p));
    warn(p->command, hello.message);
    return IH_OK;
}

/* Ensures that a running process has prepared this decoder. Most folders hold one kind of rare
 * file, so a process prepares one decoder. If another is needed, the next process prepares all. */
static enum ih_status provide(struct ih_decoder_process *p, unsigned index, struct ih_error *err)
{
    const struct ih_decoder *decoder =
        (p->command->decoders ? p->command->decoders : ih_decoders)[index];
    /* A process that has used much CPU time is too close to its hard limit. */
    if (p->is_running && !allow_cpu_seconds(p, cpu_seconds_max(p)))
        stop(p);
    if (p->is_running && p->prepared != index && p->prepared != IH_DECODER_PROCESS_ALL &&
        decoder->prepare) {
        stop(p);
        p->prepared = IH_DECODER_PROCESS_ALL;
    } else if (!p->is_running && p->prepared != IH_DECODER_PROCESS_ALL) {
        p->prepared = index;
    }
    return p->is_running ? IH_OK : start(p, err);
}

/* ---- failures ---- */

/* " (segmentation fault)", or "" for a signal that is unusual here. */
static const char *signal_text(int number)
{
    static const char *const texts[] = {
        [SIGSEGV] = " (segmentation fault)",
        [SIGBUS] = " (bus error)",
        [SIGABRT] = " (abort)",
        [SIGFPE] = " (arithmetic error)",
        [SIGILL] = " (illegal instruction)",
        [SIGKILL] = " (killed, perhaps for lack of memory)",
    };
    const bool is_known = (size_t)number < sizeof texts / sizeof texts[0] && texts[number];
    return is_known ? texts[number] : "";
}

/* The exit status of a process that has closed its socket. A compromised process may close the
 * socket and live on, so it is killed after a second. */
static int wait_for_end(struct ih_decoder_process *p)
{
    const struct timespec millisecond = {0, 1000 * 1000};
    siginfo_t info;
    for (int i = 0; i < 1000; i++) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
            break;
        nanosleep(&millisecond, NULL);
    }
    return stop(p);
}

/* Returns true if --timeout is stricter than the fixed limit. */
static bool has_timeout(const struct ih_decoder_process *p, uint64_t others_seconds)
{
    return p->timeout_s && p->timeout_s < others_seconds;
}

/* The error for a process that does not answer. */
static enum ih_status fail_silent(struct ih_decoder_process *p, struct ih_error *err)
{
    if (p->patience.left_ns == 0) {
        stop(p);
        end_image(p);
        if (has_timeout(p, seconds_max(p)))
            return ih_time_limit_exceeded(p->timeout_s, err);
        return ih_error_set(err, IH_LIMIT, "its decoder takes more than %llu s and was ended",
                            (unsigned long long)seconds_max(p));
    }
    int how = wait_for_end(p), number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    end_image(p);
    if (number == SIGXCPU && has_timeout(p, cpu_seconds_max(p)))
        return ih_time_limit_exceeded(p->timeout_s, err);
    if (number == SIGXCPU)
        return ih_error_set(err, IH_LIMIT, "its decoder takes too long and was ended");
    if (number)
        return ih_error_set(err, IH_CORRUPT, "its decoder crashed: signal %d%s", number,
                            signal_text(number));
    return ih_error_set(err, IH_CORRUPT, "its decoder ended unexpectedly (exit code %d)",
                        WIFEXITED(how) ? WEXITSTATUS(how) : -1);
}

/* The error for a message that a sound decoder process never sends. */
static enum ih_status fail_nonsense(struct ih_decoder_process *p, struct ih_error *err)
{
    stop(p);
    end_image(p);
    return ih_error_set(err, IH_CORRUPT, "its decoder ended unexpectedly (it sent nonsense)");
}

/* ---- messages ---- */

/* Passes the request of the process to the budget and answers it. Returns false if the process has
 * closed its socket. */
static bool answer(struct ih_decoder_process *p, const struct ih_wire_reply *question)
{
    struct ih_error a = {0};
    uint64_t n = question->n;
    if (question->kind == IH_WIRE_GIVE) {
        n = n < p->taken_bytes ? n : p->taken_bytes;
        ih_budget_give(p->budget, n);
        p->taken_bytes -= n;
        return true;
    }
    if (question->kind == IH_WIRE_EXCHANGE) {
        const uint64_t taken_bytes = p->taken_bytes;
        p->taken_bytes = 0;
        ih_budget_exchange(p->budget, taken_bytes, n, &a);
    } else if (question->kind == IH_WIRE_TAKE)
        ih_budget_take(p->budget, n, &a);
    else if (!ih_budget_try(p->budget, n))
        a.status = IH_LIMIT;
    if (a.status == IH_OK)
        p->taken_bytes += n;
    return ih_wire_send(p->socket, &a, sizeof a, &p->patience);
}

/* The statuses that concern one file. The others would end the batch, or skip the file silently as
 * no image, so the worker does not accept them. */
static bool is_of_a_file(enum ih_status status)
{
    return status == IH_IO || status == IH_CORRUPT || status == IH_UNSUPPORTED ||
           status == IH_LIMIT || status == IH_MEMORY;
}

/* The next reply that is no budget question. */
static enum ih_status next_reply(struct ih_decoder_process *p, struct ih_wire_reply *r,
                                 struct ih_error *err)
{
    for (;;) {
        if (!ih_wire_receive(p->socket, r, sizeof *r, &p->patience))
            return fail_silent(p, err);
        if (r->kind != IH_WIRE_TAKE && r->kind != IH_WIRE_EXCHANGE && r->kind != IH_WIRE_TRY &&
            r->kind != IH_WIRE_GIVE)
            break;
        /* A second TAKE could wait forever for the bytes of the first. */
        if (r->kind == IH_WIRE_TAKE && p->taken_bytes > 0)
            return fail_nonsense(p, err);
        if (!answer(p, r))
            return fail_silent(p, err);
    }
    if (r->kind != IH_WIRE_FAILED)
        return IH_OK;
    if (!is_of_a_file(r->error.status) || !ih_limit_is_known(r->error.limit))
        return fail_nonsense(p, err);
    end_image(p);
    r->error.message[sizeof r->error.message - 1] = '\0';
    *err = r->error;
    return err->status;
}

/* A slow pipe may delay any worker, so its time on the clock has no limit. */
static void renew_patience(struct ih_decoder_process *p)
{
    const uint64_t seconds = has_timeout(p, seconds_max(p)) ? p->timeout_s : seconds_max(p);
    p->patience.left_ns = p->is_pipe ? IH_WIRE_FOR_EVER : seconds * NS_A_SECOND;
}

static bool send_request(struct ih_decoder_process *p, unsigned index, struct ih_reader *src,
                         int file, const struct ih_decode_options *options)
{
    struct ih_wire_request request;
    memset(&request, 0, sizeof request); /* padding is sent as well */
    request.decoder = index;
    request.n_read = (uint32_t)src->n_left;
    request.max_pixels = options->max_pixels;
    request.whole_file_bytes_max = options->whole_file_bytes_max;
    request.budget_bytes = options->budget ? options->budget->size_bytes : 0;
    request.is_lenient = options->is_lenient;
    request.takes_frames = options->takes_frames;
    request.sample_range = options->sample_range;
    request.nodata = options->nodata;
    request.axes = options->axes;
    request.takes_native = options->takes_native;
    request.takes_indices = options->takes_indices;
    request.at_end = src->at_end;
    request.is_from_start = src->is_from_start;
    request.file_bytes = UINT64_MAX;
    if (src->fd < 0) { /* memory that nothing has read yet: the process gets it as a file */
        request.n_read = 0;
        request.at_end = false;
        request.is_from_start = true;
        request.file_bytes = src->memory_bytes;
    } else if (ih_reader_size_left(src, &request.file_bytes)) {
        const off_t position = lseek(src->fd, 0, SEEK_CUR);
        request.file_bytes += (uint64_t)position - src->n_left;
    }
    return ih_wire_send_request(p->socket, &request, file, &p->patience) &&
           ih_wire_send(p->socket, src->next, request.n_read, &p->patience);
}

/* Whether the type is one, and has as many bins. */
static bool has_possible_bins(const struct ih_image_info *info, bool takes_native)
{
    switch ((unsigned)info->type) {
    case IH_UINT8:
    case IH_INT8:
        return info->n_bins == IH_BINS;
    case IH_UINT16:
        return takes_native && info->n_bins > IH_BINS && info->n_bins <= IH_NATIVE_BINS_MAX;
    case IH_INT16:
    case IH_FLOAT16:
    case IH_BFLOAT16:
    case IH_FLOAT32:
        return info->n_bins == IH_NATIVE_BINS_MAX;
    default:
        return false;
    }
}

/* The names of bands that follow, if there are any; they may be any bytes. */
static enum ih_status receive_names(struct ih_decoder_process *p, const struct ih_wire_reply *r,
                                    struct ih_error *err)
{
    const unsigned n_channels = r->info.layout.n_channels;
    ih_band_names_reset(&p->info->band_names);
    if (r->n == 0)
        return IH_OK;
    if (r->n != n_channels * sizeof(struct ih_band_name))
        return fail_nonsense(p, err);
    for (unsigned i = 0; i < n_channels; i++) {
        struct ih_band_name name;
        if (!ih_wire_receive(p->socket, &name, sizeof name, &p->patience))
            return fail_silent(p, err);
        name.text[sizeof name.text - 1] = '\0';
        if (ih_band_name_set(&p->info->band_names, n_channels, i, name.text, err) != IH_OK)
            return err->status;
    }
    return IH_OK;
}

/* What the process says about the image that it has opened. */
static enum ih_status receive_info(struct ih_decoder_process *p, struct ih_error *err)
{
    struct ih_wire_reply r;
    if (next_reply(p, &r, err) != IH_OK)
        return err->status;
    const unsigned char nodata_bits = *(const unsigned char *)&r.info.has_nodata; /* may be any */
    const bool has_nodata = nodata_bits == 1 && isfinite(r.info.nodata);
    if (r.kind != IH_WIRE_OPENED || !ih_layout_is_possible(&r.info.layout) ||
        r.info.source_depth > 32 || !has_possible_bins(&r.info, p->takes_native || has_nodata) ||
        !ih_pixel_order_is_possible(&r.info.order, r.info.width, r.info.height))
        return fail_nonsense(p, err);
    p->n_channels = r.info.layout.n_channels;
    p->type = r.info.type;
    p->n_bins = r.info.n_bins;
    p->info->order = r.info.order;
    p->info->width = r.info.width;
    p->info->height = r.info.height;
    p->info->layout = r.info.layout;
    p->info->type = r.info.type;
    p->info->n_bins = r.info.n_bins;
    p->info->source_depth = r.info.source_depth;
    p->info->levels = r.info.levels; /* may be any */
    p->info->scaled_max = r.info.scaled_max < IH_BINS ? r.info.scaled_max : 0;
    p->info->has_nodata = has_nodata;
    p->info->nodata = has_nodata ? r.info.nodata : 0;
    return receive_names(p, &r, err);
}

static enum ih_status open_image(struct ih_remote_decoder *remote, unsigned index,
                                 struct ih_reader *src, const struct ih_decode_options *options,
                                 struct ih_image_info *info, struct ih_error *err)
{
    struct ih_decoder_process *p = process_of(remote);
    uint64_t n_bytes;
    if (provide(p, index, err) != IH_OK)
        return err->status;
    p->is_pipe = !ih_reader_size_left(src, &n_bytes);
    p->timeout_s = options->timeout_s;
    renew_patience(p);
    if (p->is_pipe && has_timeout(p, cpu_seconds_max(p)))
        allow_cpu_seconds(p, p->timeout_s);
    p->is_busy = true;
    p->budget = options->budget;
    p->n_pixels_left = 0;
    p->has_next = false;
    int file = src->fd >= 0 ? src->fd : ih_shared_file(src->memory, src->memory_bytes);
    if (file < 0)
        return ih_error_errno(err, errno, "cannot hand the image to a decoder process");
    const bool is_sent = send_request(p, index, src, file, options);
    if (src->fd < 0)
        close(file);
    if (!is_sent)
        return fail_silent(p, err);
    p->takes_frames = options->takes_frames;
    p->takes_native = options->takes_native;
    p->info = info;
    return receive_info(p, err);
}

/* Goes on to the next image, which the process has announced or not. */
static enum ih_status next_image(struct ih_remote_decoder *remote, bool *has_next,
                                 struct ih_error *err)
{
    struct ih_decoder_process *p = process_of(remote);
    *has_next = p->has_next;
    p->has_next = false;
    if (!*has_next)
        return IH_OK;
    renew_patience(p);
    allow_cpu_seconds(p, p->is_pipe && has_timeout(p, cpu_seconds_max(p)) ? p->timeout_s
                                                                          : cpu_seconds_max(p));
    return receive_info(p, err);
}

/* Takes over what a decoder completes with the last pixel, in valid bits and values only. */
static void complete_info(struct ih_image_info *info, const struct ih_image_info *sent)
{
    info->warnings = sent->warnings & (IH_WARNINGS_END - 1);
    info->n_not_counted = sent->n_not_counted;
    info->not_applied = sent->not_applied & IH_NOT_APPLIED_KNOWN;
    info->extremes = (struct ih_extremes){0};
    if (sent->extremes.min < sent->extremes.end && sent->extremes.end <= UINT16_MAX + 1)
        info->extremes = sent->extremes;
    info->orientation = sent->orientation <= 8 ? sent->orientation : 0;
    info->n_frames = sent->n_frames;
    info->range = (unsigned)sent->range < IH_RANGES ? sent->range : IH_RANGE_UNKNOWN;
}

/* Gives the copied piece back. Returns false if the process has closed its socket. */
static bool give_back(struct ih_decoder_process *p)
{
    static const uint8_t wake = 0;
    struct ih_shared_pixels *m = p->memory;
    atomic_store(&m->n_given_back, ++p->n_pieces);
    return atomic_exchange(&m->is_waited, 0) == 0 ||
           ih_wire_send(p->socket, &wake, sizeof wake, &p->patience);
}

/* Whether all native samples are below n_bins: the counter has no room for others. */
static bool are_possible(const struct ih_decoder_process *p, const uint8_t *pixels, size_t n_pixels)
{
    unsigned most = 0;
    if (p->type != IH_UINT16 || p->n_bins == IH_NATIVE_BINS_MAX)
        return true;
    for (size_t i = 0; i < n_pixels * p->n_channels; i++) {
        uint16_t v;
        memcpy(&v, pixels + 2 * i, sizeof v);
        most = v > most ? v : most;
    }
    return most < p->n_bins;
}

static enum ih_status read_pixels(struct ih_remote_decoder *remote, uint8_t *pixels,
                                  size_t capacity_pixels, size_t *n_pixels, struct ih_error *err)
{
    struct ih_decoder_process *p = process_of(remote);
    const size_t pixel_bytes = ih_pixel_bytes(p->n_channels, p->type);
    *n_pixels = 0;
    if (p->n_pixels_left == 0) {
        struct ih_wire_reply r;
        if (p->command->reads_archives)
            renew_patience(p);
        if (next_reply(p, &r, err) != IH_OK)
            return err->status;
        if (r.kind == IH_WIRE_DONE) {
            if (r.n > p->takes_frames)
                return fail_nonsense(p, err);
            complete_info(p->info, &r.info);
            p->has_next = r.n == 1;
            if (!p->has_next)
                end_image(p);
            return IH_OK;
        }
        if (r.kind != IH_WIRE_PIXELS || r.n == 0 ||
            r.n > IH_DECODER_PROCESS_PIECE_BYTES / pixel_bytes)
            return fail_nonsense(p, err);
        p->n_pixels_left = (size_t)r.n;
        p->next = p->memory->pieces[p->n_pieces % IH_DECODER_PROCESS_PIECES];
    }
    size_t n = p->n_pixels_left < capacity_pixels ? p->n_pixels_left : capacity_pixels;
    assert(p->next);
    memcpy(pixels, p->next, n * pixel_bytes);
    if (!are_possible(p, pixels, n))
        return fail_nonsense(p, err);
    p->next += n * pixel_bytes;
    p->n_pixels_left -= n;
    if (p->n_pixels_left == 0 && !give_back(p))
        return fail_silent(p, err);
    *n_pixels = n;
    return IH_OK;
}

static void close_image(struct ih_remote_decoder *remote)
{
    struct ih_decoder_process *p = process_of(remote);
    if (p->is_busy && p->is_running) /* an unfinished image: the process would keep sending it */
        stop(p);
    end_image(p);
}

/* ---- making and ending ---- */

void ih_decoder_process_init(struct ih_decoder_process *p,
                             const struct ih_decoder_process_command *command)
{
    *p = (struct ih_decoder_process){
        .remote = {open_image, read_pixels, next_image, close_image},
        .command = command,
    };
}

void ih_decoder_process_reset(struct ih_decoder_process *p)
{
    if (p->is_running)
        stop(p);
    end_image(p);
}

static struct ih_remote_decoder *make(const void *command)
{
    struct ih_decoder_process *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    ih_decoder_process_init(p, command);
    return &p->remote;
}

static void destroy(struct ih_remote_decoder *remote)
{
    if (!remote)
        return;
    ih_decoder_process_reset(process_of(remote));
    free(process_of(remote));
}

struct ih_remote_decoders ih_decoder_processes(const struct ih_decoder_process_command *command)
{
    return (struct ih_remote_decoders){make, destroy, command};
}
