/* The program: options, the walk, the pipeline and the outputs put together, and signals. */
#define _POSIX_C_SOURCE 200809L

#include "cli/emit.h"
#include "cli/info.h"
#include "cli/options.h"
#include "cli/paths.h"

#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void ending_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

/*
 * Waits for a signal that ends the program. The record being written is finished and temporary
 * files are removed; then the signal does what it does by default, so that a calling shell sees it.
 * Workers need not be asked: what they have under way is nothing that could be half done.
 */
static void *wait_for_signal(void *emit)
{
    sigset_t set;
    int number = 0;
    ending_signals(&set);
    if (sigwait(&set, &number) == 0) {
        ih_emit_interrupt(emit);
        signal(number, SIG_DFL);
        raise(number);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    return NULL;
}

static void watch_signals(struct ih_emit *emit)
{
    sigset_t set;
    pthread_t thread;
    ending_signals(&set);
    signal(SIGPIPE, SIG_IGN);               /* a closed pipe is a failed write, and told as one */
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* inherited by every thread started from here on */
    if (pthread_create(&thread, NULL, wait_for_signal, emit) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static unsigned n_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (unsigned)n;
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
    if (ih_emit_open(o, &emit, &err) != IH_OK) {
        ih_complain(NULL, err.message);
        return ih_exit_of(err.status);
    }
    watch_signals(emit);
    enum ih_exit code = run_pipeline(o, emit);
    ih_emit_close(emit);
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

int main(int argc, char **argv)
{
    struct ih_options options;
    struct ih_error err = {IH_OK, ""};
    enum ih_exit code;
    setlocale(LC_CTYPE, ""); /* for the terminal's encoding; numbers stay as in C */
    enum ih_status status =
        ih_options_parse(&options, argc, (const char *const *)argv, getenv("IMGHIST_DEVICE"), &err);
    if (status != IH_OK) {
        ih_complain(NULL, err.message);
        fputs("Try 'imghist --help'.\n", stderr);
        code = ih_exit_of(status);
    } else if (options.action == IH_ACTION_HELP) {
        code = print(ih_print_help);
    } else if (options.action == IH_ACTION_VERSION) {
        code = print(ih_print_version);
    } else if (options.action == IH_ACTION_LIST) {
        code = print(ih_print_list);
    } else {
        code = run(&options);
    }
    ih_options_reset(&options);
    return (int)code;
}
