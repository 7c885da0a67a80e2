/*
 * The program's start and end. Parses the options, runs the action that they ask for, and watches
 * for signals. Images are counted by ih_run (run.c); the pipeline is opened here, so that a signal
 * can remove its temporary files.
 */
#include "cli/destinations.h"
#include "cli/pipeline.h"
#include "decode/archive.h"
#include "isolate/decoder_process.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_usage_hint(const struct ih_options *o)
{
    fprintf(stderr, "Try 'imghist --help%s'.\n", o->needs_rare ? "=all" : "");
}

/* ---- signals ---- */

/* Wakes the watching thread to end it. By default a process ignores this signal. */
enum { WAKE = SIGURG };

/* Whether the signal ends a process that has not asked for it. SIGPIPE and SIGXFSZ are ignored. A
 * fault such as SIGSEGV ends the process even while it is blocked; here it comes from kill. */
static bool ends_by_default(int number)
{
    static const int others[] = {WAKE,    SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN,
                                 SIGTTOU, SIGPIPE, SIGXFSZ, SIGKILL, SIGWINCH};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (number == others[i])
            return false;
    return true;
}

/* The signals that end the program, except those that the parent process has set to be ignored or
 * that have a handler. Returns whether there are any. */
static bool ending_signals(sigset_t *set)
{
    struct sigaction action;
    bool has_any = false;
    sigemptyset(set);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (ends_by_default(number) && sigaction(number, NULL, &action) == 0 &&
            action.sa_handler == SIG_DFL && sigaddset(set, number) == 0)
            has_any = true;
    return has_any;
}

struct watch {
    sigset_t signals;             /* blocked in all threads during the watch */
    struct ih_pipeline *pipeline; /* borrowed; NULL: out of memory */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over; /* set by watch_stop, which then sends WAKE */
};

/* Lets a second signal end a program that waits for the reader of its output. Not at once:
 * timeout(1) sends a signal twice. */
static void *allow_second_signal(void *argument)
{
    const struct watch *w = argument;
    sleep(1);
    pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL);
    pause();
    return NULL;
}

/*
 * Waits for a signal that ends the program. Then it removes temporary files, finishes the record
 * that is being written, and raises the signal again with its default action, so that a calling
 * shell sees it. Workers need no notice, since nothing they do can be left half done.
 */
static void *wait_for_signal(void *argument)
{
    struct watch *w = argument;
    pthread_t second;
    int number = WAKE;
    while (number == WAKE)
        if (sigwait(&w->signals, &number) != 0 || (number == WAKE && w->is_over))
            return NULL;
    signal(number, SIG_DFL);
    if (pthread_create(&second, NULL, allow_second_signal, w) != 0)
        pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL);
    if (w->pipeline)
        ih_pipeline_interrupt(w->pipeline);
    pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL);
    raise(number);
    return NULL;
}

/* Call it before opening files that must be removed, or that can block (a pipe for -o). */
static void watch_start(struct watch *w, struct ih_pipeline *pipeline)
{
    w->pipeline = pipeline;
    atomic_init(&w->is_over, false);
    bool has_any = ending_signals(&w->signals);
    sigaddset(&w->signals, WAKE);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is reported as a failed write, */
    signal(SIGXFSZ, SIG_IGN); /* and so is the limit on the size of files */
    signal(SIGCHLD, SIG_DFL); /* ignored by the parent, it would hide how decoder processes end */
    pthread_sigmask(SIG_BLOCK, &w->signals, NULL);
    w->has_thread = has_any && pthread_create(&w->thread, NULL, wait_for_signal, w) == 0;
    if (!w->has_thread)
        pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL);
}

/* Ends the watch. (pthread_cancel would do, but the address sanitizer does not support it.) */
static void watch_stop(struct watch *w)
{
    if (w->has_thread) {
        w->is_over = true;
        pthread_kill(w->thread, WAKE);
        pthread_join(w->thread, NULL);
    }
}

/*
 * Does not wait for a GPU that is still starting, nor for the JPEG queue to stop. exit() would shut
 * the driver down while its threads still run, so the program ends with _exit. All outputs are
 * complete by then, and the operating system frees the rest.
 */
static void end_device(struct ih_device *device, enum ih_exit code)
{
    if (device && ih_device_cancel_start(device)) {
        fflush(stdout);
        _exit((int)code);
    }
    ih_device_close(device);
}

static enum ih_exit run(const struct ih_options *o)
{
    struct ih_error err = {0};
    const struct ih_walk_sources sources = {.paths = o->paths,
                                            .n_paths = o->n_paths,
                                            .hold_records = o->hold_records,
                                            .is_raw = o->raw_channels > 0,
                                            .list = o->list_path,
                                            .stdin_name = o->stdin_name,
                                            .list_separator = o->list_separator};
    const uint64_t n_images = o->has_labels ? 0 : ih_walk_count(&sources); /* 0: not known */
    struct ih_pipeline *pipeline = ih_pipeline_new(o, &sources, n_images);
    struct watch watch;
    const char *subject = NULL;
    struct ih_device *device = NULL;
    enum ih_exit code;
    watch_start(&watch, pipeline);
    if (!pipeline)
        ih_error_set(&err, IH_MEMORY, "out of memory");
    else
        ih_pipeline_open(pipeline, &subject, &err);
    if (err.status == IH_OK) {
        code = ih_run(o, &sources, n_images, pipeline, &device);
    } else {
        ih_say(subject, err.message);
        if (err.status == IH_USAGE)
            print_usage_hint(o);
        code = ih_exit_of(err.status);
    }
    watch_stop(&watch);
    ih_pipeline_close(pipeline);
    pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
    end_device(device, code);
    return code;
}

/* ---- start ---- */

/* Prints text to standard output, and reports a full disk or a closed pipe. */
static enum ih_exit print(void (*to)(FILE *))
{
    signal(SIGPIPE, SIG_IGN);
    errno = 0;
    to(stdout);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return IH_EXIT_OK;
    if (errno == EPIPE)
        ih_end_by_sigpipe();
    struct ih_error err;
    ih_error_errno(&err, errno ? errno : EIO, "standard output: cannot write");
    ih_say(NULL, err.message);
    return IH_EXIT_FAILED;
}

/* If a standard stream is closed, the next file to be opened would get its number, and messages
 * could be written into it. /dev/null takes its place, opened in the wrong direction, so that using
 * the stream is still an error. */
static void fill_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct ih_options options;
    struct ih_error err = {0};
    enum ih_exit code;
    if (argc >= 2 &&
        strcmp(argv[1], IH_DECODER_PROCESS_OPTION) == 0) /* see isolate/decoder_process.h */
        return ih_decoder_process_serve(ih_decoders, argv + 2);
    if (argc >= 2 && strcmp(argv[1], IH_ARCHIVE_PROCESS_OPTION) == 0)
        return ih_decoder_process_serve(ih_archive_decoders, argv + 2);
    fill_standard_files();
    setlocale(LC_CTYPE, ""); /* the terminal's encoding; numbers keep the C locale */
    enum ih_status status =
        ih_options_parse(&options, argc, (const char *const *)argv, getenv("IMGHIST_DEVICE"), &err);
    if (status != IH_OK) {
        ih_say(NULL, err.message);
        print_usage_hint(&options);
        code = ih_exit_of(status);
    } else if (options.action == IH_ACTION_HELP) {
        code = print(options.helps_all ? ih_print_help_all : ih_print_help);
    } else if (options.action == IH_ACTION_VERSION) {
        code = print(ih_print_version);
    } else if (options.action == IH_ACTION_LIST) {
        code = print(ih_print_list);
    } else if (options.action == IH_ACTION_FIELDS) {
        code = print(ih_print_fields);
    } else if (options.action == IH_ACTION_COMPLETION) {
        code = print(ih_completions[options.shell]);
    } else {
        code = run(&options);
    }
    ih_options_reset(&options);
    return (int)code;
}
