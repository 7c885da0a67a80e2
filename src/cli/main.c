/* The program: options, the walk, the pipeline and the outputs put together, and signals. */
#define _POSIX_C_SOURCE 200809L

#include "cli/bench/bench.h"
#include "cli/emit.h"
#include "cli/info.h"
#include "cli/options.h"
#include "cli/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage_hint[] = "Try 'imghist --help'.\n";

/* The signals that end the program, but for those that whoever started it has told it to ignore.
 * Returns one of them, 0 where there is none. */
static int ending_signals(sigset_t *set)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    int one = 0;
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(set, numbers[i]);
            one = numbers[i];
        }
    return one;
}

struct watch {
    sigset_t signals;               /* blocked in every thread while the watch lasts */
    int one;                        /* of them, 0: there is none */
    _Atomic(struct ih_emit *) emit; /* NULL while outputs are being opened */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over; /* what comes now is watch_stop's */
};

/*
 * Waits for a signal that ends the program. Temporary files are removed and the record being
 * written is finished; then the signal does what it does by default, so that a calling shell sees
 * it. Workers need not be asked: what they have under way is nothing that could be half done.
 */
static void *wait_for_signal(void *argument)
{
    struct watch *w = argument;
    int number = 0;
    if (sigwait(&w->signals, &number) != 0 || w->is_over)
        return NULL;
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL); /* a second one ends it at once */
    if (w->emit)
        ih_emit_interrupt(w->emit);
    raise(number);
    return NULL;
}

/* Before anything is opened that a signal would leave behind, or that blocks (a pipe for -o). */
static void watch_start(struct watch *w)
{
    atomic_init(&w->emit, NULL);
    atomic_init(&w->is_over, false);
    w->one = ending_signals(&w->signals);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, and told as one */
    pthread_sigmask(SIG_BLOCK, &w->signals, NULL);
    w->has_thread = w->one && pthread_create(&w->thread, NULL, wait_for_signal, w) == 0;
    if (!w->has_thread)
        pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL);
}

/* Ends the watch: all is written. (pthread_cancel would do, but upsets the address sanitizer.) */
static void watch_stop(struct watch *w)
{
    if (w->has_thread) {
        w->is_over = true;
        pthread_kill(w->thread, w->one);
        pthread_join(w->thread, NULL);
    }
}

static unsigned n_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > IH_THREADS_MAX ? IH_THREADS_MAX : (unsigned)n;
}

static void say_device(const struct ih_device *device)
{
    const char *reason = ih_device_fallback_reason(device);
    if (*reason)
        fprintf(stderr, "imghist: counting on the processor: %s\n", reason);
    fprintf(stderr, "imghist: counted by %s\n", ih_device_description(device));
}

/* How many workers the paths can keep busy: fewer than the processors only where all are files. */
static unsigned n_workers(const struct ih_options *o, unsigned n_threads)
{
    struct stat st;
    if (o->list_path)
        return n_threads;
    for (size_t i = 0; i < o->n_paths; i++)
        if (stat(o->paths[i], &st) == 0 && S_ISDIR(st.st_mode))
            return n_threads;
    return o->n_paths < n_threads ? (unsigned)o->n_paths : n_threads;
}

static bool next_input(void *walk, struct ih_input *input)
{
    return ih_walk_next(walk, input);
}

/* Runs what the options ask for between opened outputs. */
static enum ih_exit run_pipeline(const struct ih_options *o, struct ih_emit *emit)
{
    struct ih_error err = {IH_OK, ""};
    struct ih_device *device = NULL;
    struct ih_walk *walk = NULL;
    unsigned n_threads = o->n_threads ? o->n_threads : n_processors();
    struct ih_device_options device_options = o->device;
    struct ih_pipeline_options with = {
        .n_threads = n_workers(o, n_threads),
        .decode = {.max_pixels = o->max_pixels, .raw_channels = o->raw_channels},
        .luma = o->luma,
        .clip_low = o->clip_low,
        .clip_high = o->clip_high,
    };
    const struct ih_walk_sources sources = {o->paths, o->n_paths, o->list_path, o->list_separator};
    with.outputs = ih_emit_outputs(emit, &with.n_outputs);
    enum ih_exit code = IH_EXIT_OK;
    device_options.with.n_spare = n_threads - with.n_threads;
    enum ih_status status = ih_device_open(&device_options, &device, &err);
    if (status == IH_OK)
        status = ih_walk_open(&sources, &walk, &err);
    if (status == IH_OK) {
        const struct ih_pipeline_calls calls = {next_input, walk, ih_emit_take, emit};
        status = ih_pipeline_run(device, &with, &calls, &err);
    }
    if (status == IH_OK) {
        if (o->is_verbose)
            say_device(device);
        code = ih_emit_finish(emit);
    } else {
        ih_complain(device && !walk ? o->list_path : NULL, err.message);
        code = ih_exit_of(status);
    }
    ih_walk_close(walk);
    ih_device_close(device);
    return code;
}

static enum ih_exit run(const struct ih_options *o)
{
    struct ih_error err = {IH_OK, ""};
    struct ih_emit *emit = NULL;
    struct watch watch;
    const char *subject;
    enum ih_exit code;
    watch_start(&watch);
    if (ih_emit_open(o, &emit, &subject, &err) == IH_OK) {
        watch.emit = emit;
        code = run_pipeline(o, emit);
    } else {
        ih_complain(subject, err.message);
        if (err.status == IH_USAGE)
            fputs(usage_hint, stderr);
        code = ih_exit_of(err.status);
    }
    watch_stop(&watch);
    ih_emit_close(emit);
    pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
    return code;
}

/* For what is printed and nothing more: a full disk or a closed pipe is told here as well. */
static enum ih_exit print(void (*to)(FILE *))
{
    signal(SIGPIPE, SIG_IGN);
    errno = 0;
    to(stdout);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return IH_EXIT_OK;
    struct ih_error err;
    ih_error_errno(&err, errno ? errno : EIO, "standard output: cannot write");
    ih_complain(NULL, err.message);
    return IH_EXIT_FAILED;
}

/* Where a standard file is closed, what is opened next would get its number, and messages might end
 * in an image. /dev/null takes the place, opened the wrong way round, so that using it is still an
 * error. */
static void fill_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct ih_options options;
    struct ih_error err = {IH_OK, ""};
    enum ih_exit code;
    fill_standard_files();
    setlocale(LC_CTYPE, ""); /* for the terminal's encoding; numbers stay as in C */
    enum ih_status status =
        ih_options_parse(&options, argc, (const char *const *)argv, getenv("IMGHIST_DEVICE"), &err);
    if (status != IH_OK) {
        ih_complain(NULL, err.message);
        fputs(usage_hint, stderr);
        code = ih_exit_of(status);
    } else if (options.action == IH_ACTION_HELP) {
        code = print(ih_print_help);
    } else if (options.action == IH_ACTION_VERSION) {
        code = print(ih_print_version);
    } else if (options.action == IH_ACTION_LIST) {
        code = print(ih_print_list);
    } else if (options.action == IH_ACTION_BENCH) {
        code = ih_bench_run(&options);
    } else {
        code = run(&options);
    }
    ih_options_reset(&options);
    return (int)code;
}
