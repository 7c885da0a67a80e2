/* The program: options, the walk, the pipeline and the outputs put together, and signals. */
#define _POSIX_C_SOURCE 200809L

#include "bench/bench.h"
#include "cli/completion.h"
#include "cli/emit.h"
#include "cli/info.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "isolate/decoder_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Images held whole may take a MEMORY_PARTth of the memory there is, unless --memory says. */
enum { MEMORY_PART = 4 };

static const char usage_hint[] = "Try 'imghist --help'.\n";

/* Ends the watch for signals: one that nobody sends to end a program, and that does no harm. */
enum { WAKE = SIGURG };

/* The signals that end the program, but for those that whoever started it has told it to ignore.
 * Returns whether there is one. */
static bool ending_signals(sigset_t *set)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action;
    bool has_any = false;
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(set, numbers[i]);
            has_any = true;
        }
    return has_any;
}

struct watch {
    sigset_t signals;     /* blocked in every thread while the watch lasts */
    struct ih_emit *emit; /* borrowed; NULL: there is no memory for one */
    pthread_t thread;
    bool has_thread;
    atomic_bool is_over; /* WAKE is watch_stop's */
};

/*
 * Waits for a signal that ends the program. Temporary files are removed and the record being
 * written is finished; then the signal does what it does by default, so that a calling shell sees
 * it. Workers need not be asked: what they have under way is nothing that could be half done.
 */
static void *wait_for_signal(void *argument)
{
    struct watch *w = argument;
    int number = WAKE;
    while (number == WAKE)
        if (sigwait(&w->signals, &number) != 0 || (number == WAKE && w->is_over))
            return NULL;
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL); /* a second one ends it at once */
    if (w->emit)
        ih_emit_interrupt(w->emit);
    raise(number);
    return NULL;
}

/* Before anything is opened that a signal would leave behind, or that blocks (a pipe for -o). */
static void watch_start(struct watch *w, struct ih_emit *emit)
{
    w->emit = emit;
    atomic_init(&w->is_over, false);
    bool has_any = ending_signals(&w->signals);
    sigaddset(&w->signals, WAKE);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write, and told as one; */
    signal(SIGXFSZ, SIG_IGN); /* so is a file that may not grow any more */
    pthread_sigmask(SIG_BLOCK, &w->signals, NULL);
    w->has_thread = has_any && pthread_create(&w->thread, NULL, wait_for_signal, w) == 0;
    if (!w->has_thread)
        pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL);
}

/* Ends the watch: all is written. (pthread_cancel would do, but upsets the address sanitizer.) */
static void watch_stop(struct watch *w)
{
    if (w->has_thread) {
        w->is_over = true;
        pthread_kill(w->thread, WAKE);
        pthread_join(w->thread, NULL);
    }
}

static void say_fallback(const struct ih_device *device)
{
    const char *reason = ih_device_fallback_reason(device);
    bool is_cpu = strcmp(ih_device_description(device), "cpu") == 0;
    if (*reason)
        fprintf(stderr, "imghist: %s: %s\n",
                is_cpu ? "counting on the processor" : "not all GPUs count", reason);
}

/* What became of the JPEG files where there were engines for them, or why there were none. */
static void say_jpeg(const struct ih_jpeg_report *r)
{
    if (r->why_none.status != IH_OK)
        fprintf(stderr, "imghist: JPEG: %s: %s\n",
                r->n_decoded ? "the engines gave up" : "all on the processors",
                r->why_none.message);
    if (!*r->engines)
        return;
    fprintf(stderr, "imghist: JPEG: %" PRIu64 " files decoded by %s\n", r->n_decoded, r->engines);
    for (size_t i = 0; i < IH_JPEG_REASONS_MAX && r->left[i].why; i++)
        fprintf(stderr, "imghist: JPEG: %" PRIu64 " files left to the processors: %s\n",
                r->left[i].n_files, r->left[i].why);
}

/* Where somebody has said how to decode or count, and not that engines shall, they do not. */
static enum ih_jpeg_side jpeg_side(const struct ih_options *o)
{
    bool is_cpu = o->device.backend && strcmp(o->device.backend, "cpu") == 0;
    bool is_told = is_cpu || o->device.with.kernel || o->raw_channels || o->isolates_all;
    return o->jpeg == IH_JPEG_AUTO && is_told ? IH_JPEG_CPU : o->jpeg;
}

/* How many workers the inputs can keep busy. */
static unsigned n_workers(const struct ih_walk_sources *sources, unsigned n_threads)
{
    uint64_t n_inputs = ih_walk_count(sources);
    return n_inputs > 0 && n_inputs < n_threads ? (unsigned)n_inputs : n_threads;
}

static bool next_input(void *walk, struct ih_input *input)
{
    return ih_walk_next(walk, input);
}

/* Why not a GPU, or not all, and what its engines did. A GPU that nobody has needed is started for
 * that: the answer is not to depend on how long the run took. */
static void say_gpus(struct ih_device *device, const struct ih_jpeg_report *jpeg)
{
    if (ih_device_wait(device, NULL) == IH_OK)
        say_fallback(device);
    say_jpeg(jpeg);
}

/* Runs what the options ask for between opened outputs. *device: for end_device, may be NULL. */
static enum ih_exit run_pipeline(const struct ih_options *o, struct ih_emit *emit,
                                 struct ih_device **device)
{
    struct ih_error err = {IH_OK, ""};
    struct ih_walk *walk = NULL;
    unsigned n_threads = o->n_threads ? o->n_threads : ih_machine_processors();
    uint64_t memory_bytes = o->memory_bytes ? o->memory_bytes : ih_machine_memory() / MEMORY_PART;
    struct ih_budget budget;
    struct ih_device_options device_options = o->device;
    const struct ih_walk_sources sources = ih_walk_sources_of(o);
    const struct ih_decoder_process_command helper = {.program = ih_machine_program(),
                                                      .is_strict = o->isolates_all};
    struct ih_jpeg_report jpeg_report = {.n_decoded = 0};
    struct ih_pipeline_options with = {
        .n_threads = n_workers(&sources, n_threads),
        .decode = {.max_pixels = o->max_pixels,
                   .raw_channels = o->raw_channels,
                   .budget = &budget,
                   .held_bytes_max = o->memory_bytes / n_threads, /* 0: the default */
                   .isolates_all = o->isolates_all},
        .helper = &helper,
        .luma = o->luma,
        .clip_low = o->clip_low,
        .clip_high = o->clip_high,
        .skips_transparent = o->skips_transparent,
        .jpeg = jpeg_side(o),
        .jpeg_report = &jpeg_report,
        .is_last = !o->is_verbose,
    };
    with.outputs = ih_emit_outputs(emit, &with.n_outputs);
    enum ih_exit code = IH_EXIT_OK;
    ih_budget_init(&budget, memory_bytes);
    ih_machine_keep_memory(memory_bytes, with.n_threads, with.n_threads == n_threads);
    ih_machine_allow_files();
    device_options.n_lanes = with.n_threads;
    device_options.with.n_idle_cores = n_threads - with.n_threads;
    atomic_uint n_idle_cores = n_threads - with.n_threads;
    with.decode.n_idle_cores = &n_idle_cores;
    enum ih_status status = ih_device_open(&device_options, device, &err);
    if (status == IH_OK)
        status = ih_walk_open(&sources, &walk, &err);
    if (status == IH_OK) {
        const struct ih_pipeline_calls calls = {next_input, walk, ih_emit_take, emit};
        status = ih_pipeline_run(*device, &with, &calls, &err);
    }
    ih_emit_stop_progress(emit);
    if (status == IH_OK) {
        code = ih_emit_finish(emit);
        if (o->is_verbose)
            say_gpus(*device, &jpeg_report);
    } else {
        ih_print_error(*device && !walk ? o->list_path : NULL, err.message);
        code = ih_exit_of(status);
    }
    ih_walk_close(walk);
    ih_budget_destroy(&budget);
    return code;
}

/*
 * A GPU that is still starting is not waited for, nor are JPEG engines stopped in good order. Then
 * exit() would run the end of the driver beside what its threads do, so the program ends without:
 * all has been written, and the kernel clears up.
 */
static void end_device(struct ih_device *device, enum ih_exit code)
{
    if (device && ih_device_call_off(device)) {
        fflush(stdout);
        _exit((int)code);
    }
    ih_device_close(device);
}

static enum ih_exit run(const struct ih_options *o)
{
    struct ih_error err = {IH_OK, ""};
    struct ih_emit *emit = ih_emit_new(o);
    struct watch watch;
    const char *subject = NULL;
    struct ih_device *device = NULL;
    enum ih_exit code;
    watch_start(&watch, emit);
    if (!emit)
        ih_error_set(&err, IH_MEMORY, "out of memory");
    else
        ih_emit_open(emit, &subject, &err);
    if (err.status == IH_OK) {
        code = run_pipeline(o, emit, &device);
    } else {
        ih_print_error(subject, err.message);
        if (err.status == IH_USAGE)
            fputs(usage_hint, stderr);
        code = ih_exit_of(err.status);
    }
    watch_stop(&watch);
    ih_emit_close(emit);
    pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
    end_device(device, code);
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
    ih_print_error(NULL, err.message);
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
    if (argc >= 2 &&
        strcmp(argv[1], IH_DECODER_PROCESS_OPTION) == 0) /* see isolate/decoder_process.h */
        return ih_decoder_process_serve(ih_decoders, argv + 2);
    fill_standard_files();
    setlocale(LC_CTYPE, ""); /* for the terminal's encoding; numbers stay as in C */
    enum ih_status status =
        ih_options_parse(&options, argc, (const char *const *)argv, getenv("IMGHIST_DEVICE"), &err);
    if (status != IH_OK) {
        ih_print_error(NULL, err.message);
        fputs(usage_hint, stderr);
        code = ih_exit_of(status);
    } else if (options.action == IH_ACTION_HELP) {
        code = print(ih_print_help);
    } else if (options.action == IH_ACTION_VERSION) {
        code = print(ih_print_version);
    } else if (options.action == IH_ACTION_LIST) {
        code = print(ih_print_list);
    } else if (options.action == IH_ACTION_COMPLETION) {
        code = print(ih_completions[options.shell]);
    } else if (options.action == IH_ACTION_BENCH) {
        code = ih_bench_run(&options);
    } else {
        code = run(&options);
    }
    ih_options_reset(&options);
    return (int)code;
}
