/* The program: connects options, inputs, the pipeline and the outputs, and handles signals. */
#include "base/machine.h"
#include "base/path.h"
#include "bench/bench.h"
#include "cli/destinations.h"
#include "cli/info.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/writer.h"
#include "decode/archive.h"
#include "isolate/decoder_process.h"
#include "output/records.h"

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

/* Without --memory, images held in memory may take 1/MEMORY_PART of the machine's memory. */
enum { MEMORY_PART = 4 };

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
    sigset_t signals;         /* blocked in all threads during the watch */
    struct ih_writer *writer; /* borrowed; NULL: out of memory */
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
    if (w->writer)
        ih_writer_interrupt(w->writer);
    pthread_sigmask(SIG_UNBLOCK, &w->signals, NULL);
    raise(number);
    return NULL;
}

/* Call it before opening files that must be removed, or that can block (a pipe for -o). */
static void watch_start(struct watch *w, struct ih_writer *writer)
{
    w->writer = writer;
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

/* ---- the report of -v on GPUs ---- */

static void print_fallback(const struct ih_device *device)
{
    const char *reason = ih_device_fallback_reason(device);
    bool is_cpu = strcmp(ih_device_description(device), "cpu") == 0;
    if (*reason)
        fprintf(stderr, "imghist: %s: %s\n", is_cpu ? "counting on the CPU" : "not all GPUs count",
                reason);
}

/* How many JPEG files the hardware decoders took, or why there are none. */
static void print_jpeg(const struct ih_jpeg_report *r)
{
    if (r->why_none.status != IH_OK)
        fprintf(stderr, "imghist: JPEG: %s: %s\n",
                r->n_decoded ? "the hardware decoders failed" : "all on the CPU",
                r->why_none.message);
    if (!*r->decoders)
        return;
    fprintf(stderr, "imghist: JPEG: %" PRIu64 " files decoded by %s\n", r->n_decoded, r->decoders);
    for (size_t i = 0; i < IH_JPEG_N_REASONS; i++)
        if (r->n_left[i] > 0)
            fprintf(stderr, "imghist: JPEG: %" PRIu64 " files left to the CPU: %s\n", r->n_left[i],
                    ih_jpeg_reason_text((enum ih_jpeg_reason)i));
}

/* ---- the run ---- */

/* An explicit CPU, kernel, raw, isolate, region, mask or thumbnails option turns --jpeg=auto off.
 */
static enum ih_jpeg_side jpeg_side(const struct ih_options *o)
{
    bool is_cpu = o->device.backend && strcmp(o->device.backend, "cpu") == 0;
    bool is_explicit = is_cpu || o->device.with.kernel || o->raw_channels || o->isolates_all ||
                       o->takes_frames || *o->region.text || o->mask_path || o->makes_thumbnails;
    return o->jpeg == IH_JPEG_AUTO && is_explicit ? IH_JPEG_CPU : o->jpeg;
}

/* No more workers than inputs. Standard input may be an archive. */
static unsigned n_workers(const struct ih_walk_sources *sources, unsigned n_threads)
{
    uint64_t n_inputs = ih_walk_count(sources);
    for (size_t i = 0; i < sources->n_paths && n_inputs > 0; i++)
        if (strcmp(sources->paths[i], "-") == 0)
            return n_threads;
    return n_inputs > 0 && n_inputs < n_threads ? (unsigned)n_inputs : n_threads;
}

static void warn_no_sandbox(const char *message)
{
    ih_print_error(NULL, message);
}

/* Loads the mask of --mask if it is a file. */
static enum ih_status load_mask(const struct ih_options *o, struct ih_pipeline_options *with,
                                struct ih_mask *mask, struct ih_error *err)
{
    struct stat st;
    struct ih_decode_options decode = with->decode;
    const struct ih_remote_decoders *remote = with->remote_decoders;
    if (!o->mask_path || (ih_path_stat(o->mask_path, &st, 0) == 0 && S_ISDIR(st.st_mode)))
        return IH_OK;
    decode.remote = remote->make(remote->user);
    if (!decode.remote)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status =
        ih_mask_load(mask, o->mask_path, &decode, with->select.mask_budget, err);
    remote->destroy(decode.remote);
    with->select.one_mask = mask;
    return status;
}

/* Opens the inputs and the device and runs the pipeline. *subject: on failure, the list of files if
 * the error is about it, else NULL. */
static enum ih_status run_inputs(const struct ih_options *o, struct ih_writer *writer,
                                 struct ih_jpeg_report *jpeg_report, struct ih_device **device,
                                 const char **subject, struct ih_error *err)
{
    struct ih_inputs *inputs = NULL;
    struct ih_resume_point done = {0};
    unsigned n_threads = o->n_threads ? o->n_threads : ih_machine_cores();
    uint64_t memory_bytes = o->memory_bytes ? o->memory_bytes : ih_machine_memory() / MEMORY_PART;
    struct ih_budget budget;
    struct ih_device_options device_options = o->device;
    const struct ih_walk_sources sources = ih_walk_sources_of(o);
    atomic_flag has_warned = ATOMIC_FLAG_INIT;
    const struct ih_decoder_process_command command = {.program = ih_machine_program(),
                                                       .is_strict = o->isolates_all,
                                                       .memory_bytes = memory_bytes,
                                                       .kept_bytes = memory_bytes / n_threads,
                                                       .warn = warn_no_sandbox,
                                                       .has_warned = &has_warned};
    const struct ih_remote_decoders decoder_processes = ih_decoder_processes(&command);
    struct ih_decoder_process_command archive_command = command;
    archive_command.decoders = ih_archive_decoders;
    archive_command.reads_archives = true;
    const struct ih_remote_decoders archive_readers = ih_decoder_processes(&archive_command);
    struct ih_budget mask_budget;
    struct ih_mask mask = {.values = NULL};
    struct ih_budget member_budget; /* an image waits for its memory with its file in hand */
    struct ih_pipeline_options with = {
        .n_threads = n_workers(&sources, n_threads),
        .decode = {.max_pixels = o->max_pixels,
                   .raw_channels = o->raw_channels,
                   .raw_width = o->raw_width,
                   .raw_height = o->raw_height,
                   .takes_frames = o->takes_frames,
                   .sample_range = o->sample_range,
                   .timeout_s = o->timeout_s,
                   .budget = &budget,
                   .held_bytes_max = o->memory_bytes / n_threads, /* 0: the default */
                   .is_lenient = o->is_lenient,
                   .takes_raw_previews = o->takes_raw_previews,
                   .isolates_all = o->isolates_all},
        .remote_decoders = &decoder_processes,
        .reads_archives = true,
        .archive_readers = &archive_readers,
        .member_budget = &member_budget,
        .luma = o->luma,
        .clip_low = o->clip_low,
        .clip_high = o->clip_high,
        .shard = o->shard,
        .n_shards = o->n_shards,
        .skips_transparent = o->skips_transparent,
        .select = {.region = *o->region.text ? &o->region : NULL,
                   .mask = o->mask_path,
                   .mask_budget = &mask_budget},
        .computes_stats = !o->only_total && !o->compares,
        .is_result_file = ih_records_probe,
        .makes_thumbnails = o->makes_thumbnails,
        .jpeg = jpeg_side(o),
        .jpeg_report = jpeg_report,
        .is_last = !o->is_verbose,
    };
    with.outputs = ih_writer_destinations(writer, &with.n_outputs);
    ih_budget_init(&budget, memory_bytes);
    ih_budget_init(&member_budget, memory_bytes);
    ih_budget_init(&mask_budget, memory_bytes);
    ih_machine_keep_memory(memory_bytes, with.n_threads, with.n_threads == n_threads);
    ih_machine_allow_files();
    atomic_uint n_idle_cores = n_threads - with.n_threads;
    with.decode.n_idle_cores = &n_idle_cores;
    device_options.n_lanes = with.n_threads;
    device_options.with.n_idle_cores = n_threads - with.n_threads;
    enum ih_status status = load_mask(o, &with, &mask, err);
    if (status == IH_OK)
        status = ih_device_open(&device_options, device, err);
    if (status == IH_OK) {
        *subject = o->list_path;
        status = ih_inputs_open(o, &inputs, err);
    }
    if (status == IH_OK && o->resume_path) {
        *subject = o->resume_path;
        status = ih_inputs_resume(inputs, o->resume_path, &done, err);
        with.first_input = done.n_inputs;
    }
    if (status == IH_OK && o->resume_path)
        ih_writer_resume(writer, &done);
    if (status == IH_OK) {
        const struct ih_pipeline_calls calls = {.next = ih_inputs_next,
                                                .next_user = inputs,
                                                .take = ih_writer_take,
                                                .take_user = writer,
                                                .idle = ih_writer_flush,
                                                .n_left = ih_inputs_n_left,
                                                .next_is_quick = ih_walk_is_quick(&sources)};
        *subject = NULL;
        status = ih_pipeline_run(*device, &with, &calls, err);
    }
    if (status == IH_OK)
        ih_writer_complete(writer, ih_inputs_hash(inputs));
    ih_inputs_close(inputs);
    ih_mask_release(&mask, &mask_budget);
    ih_budget_destroy(&mask_budget);
    ih_budget_destroy(&member_budget);
    ih_budget_destroy(&budget);
    return status;
}

/* Counts all inputs into opened outputs. *device: for end_device; may be NULL. */
static enum ih_exit run_pipeline(const struct ih_options *o, struct ih_writer *writer,
                                 struct ih_device **device)
{
    struct ih_error err = {0};
    struct ih_jpeg_report jpeg_report = {.n_decoded = 0};
    const char *subject = NULL;
    enum ih_status status = run_inputs(o, writer, &jpeg_report, device, &subject, &err);
    ih_writer_stop_progress(writer);
    if (status != IH_OK) {
        if (status == IH_UNAVAILABLE && !subject && o->jpeg == IH_JPEG_GPU)
            ih_error_append(&err, "--jpeg=gpu asks for them; --jpeg=auto decodes on the CPU then");
        ih_print_error(subject, err.message);
        return ih_exit_of(status);
    }
    enum ih_exit code = ih_writer_finish(writer);
    if (o->is_verbose) {
        /* Waits for a GPU that the run did not need: the report must not depend on how long it
         * took. */
        if (ih_device_wait(*device, NULL) == IH_OK)
            print_fallback(*device);
        print_jpeg(&jpeg_report);
    }
    return code;
}

/*
 * Does not wait for a GPU that is still starting, nor for the hardware decoders to stop. exit()
 * would shut the driver down while its threads still run, so the program ends with _exit. All
 * outputs are complete by then, and the operating system frees the rest.
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
    struct ih_writer *writer = ih_writer_new(o);
    struct watch watch;
    const char *subject = NULL;
    struct ih_device *device = NULL;
    enum ih_exit code;
    watch_start(&watch, writer);
    if (!writer)
        ih_error_set(&err, IH_MEMORY, "out of memory");
    else
        ih_writer_open(writer, &subject, &err);
    if (err.status == IH_OK) {
        code = run_pipeline(o, writer, &device);
    } else {
        ih_print_error(subject, err.message);
        if (err.status == IH_USAGE)
            print_usage_hint(o);
        code = ih_exit_of(err.status);
    }
    watch_stop(&watch);
    ih_writer_close(writer);
    pthread_sigmask(SIG_UNBLOCK, &watch.signals, NULL);
    end_device(device, code);
    return code;
}

static enum ih_exit run_bench(const struct ih_options *o)
{
    const struct ih_data_output *data = &o->outputs[0];
    const struct ih_bench_options bench = {
        .size_bytes = (size_t)o->bench_bytes,
        .n_threads = o->n_threads ? o->n_threads : ih_machine_cores(),
        .device = o->device.backend,
        .gpu_ordinal = o->device.ordinals[0],
        .format = data->output->name,
        .is_quiet = o->is_quiet,
        .output_path = data->path,
        .print_error = ih_print_error,
    };
    signal(SIGPIPE, SIG_DFL); /* a reader that closes its pipe, as head does, ends the program */
    return ih_exit_of(ih_bench_run(&bench));
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
    ih_print_error(NULL, err.message);
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
        ih_print_error(NULL, err.message);
        print_usage_hint(&options);
        code = ih_exit_of(status);
    } else if (options.action == IH_ACTION_HELP) {
        code = print(options.helps_all ? ih_print_help_all : ih_print_help);
    } else if (options.action == IH_ACTION_VERSION) {
        code = print(ih_print_version);
    } else if (options.action == IH_ACTION_LIST) {
        code = print(ih_print_list);
    } else if (options.action == IH_ACTION_COMPLETION) {
        code = print(ih_completions[options.shell]);
    } else if (options.action == IH_ACTION_BENCH) {
        code = run_bench(&options);
    } else {
        code = run(&options);
    }
    ih_options_reset(&options);
    return (int)code;
}
