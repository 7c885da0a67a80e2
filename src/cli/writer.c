/* ru_maxrss and TIOCGWINSZ are not in POSIX. Where a system hides TIOCGWINSZ, the width of the
 * terminal counts as unknown. */
#define _DEFAULT_SOURCE

#include "cli/writer.h"

#include "base/clock.h"
#include "cli/chartfile.h"
#include "cli/destinations.h"
#include "cli/paths.h"
#include "counts/total.h"
#include "output/file.h"
#include "output/records.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the closing report ---- */

enum { USED_KERNELS_MAX = 16 };

/* A device and kernel that counted images. */
struct used_kernel {
    const char *device, *kernel; /* borrowed from the device; NULL: unknown */
    uint64_t n_images;
};

struct run_report {
    uint64_t started_ns, ended_ns;        /* ended: the last input so far */
    uint64_t n_done, n_failed, n_skipped; /* inputs */
    uint64_t n_pixels;
    struct ih_times times; /* of all threads together */
    uint64_t write_ns;
    struct used_kernel kernels[USED_KERNELS_MAX];
    size_t n_kernels;
    uint64_t n_other_images; /* counted by kernels that have no room above */
};

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void add_kernel(struct run_report *s, const struct ih_result *r)
{
    for (size_t i = 0; i < s->n_kernels; i++) {
        struct used_kernel *k = &s->kernels[i];
        if (is_same(k->device, r->counted_by) && is_same(k->kernel, r->kernel)) {
            k->n_images++;
            return;
        }
    }
    if (s->n_kernels < USED_KERNELS_MAX)
        s->kernels[s->n_kernels++] = (struct used_kernel){r->counted_by, r->kernel, 1};
    else
        s->n_other_images++;
}

static void add_to_report(struct run_report *s, const struct ih_result *r)
{
    s->times.read_ns += r->times.read_ns;
    s->times.decode_ns += r->times.decode_ns;
    s->times.count_ns += r->times.count_ns;
    if (r->status != IH_OK) {
        s->n_failed++;
        return;
    }
    s->n_done += r->is_total ? r->n_images : 1;
    s->n_failed += r->n_failed;
    s->n_pixels += r->histogram.n_pixels;
    if (!r->is_read)
        add_kernel(s, r);
}

/* One line, if something failed or nothing was found. */
static void print_report(const struct run_report *s, FILE *f)
{
    uint64_t n_inputs = s->n_done + s->n_failed;
    if (s->n_failed > 0 && n_inputs > 1)
        fprintf(f, "imghist: %" PRIu64 " of %" PRIu64 " inputs failed\n", s->n_failed, n_inputs);
    else if (n_inputs == 0)
        fprintf(f, "imghist: no images found, %" PRIu64 " other files skipped\n", s->n_skipped);
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

/* The lines of -v. */
static void print_full_report(const struct run_report *s, FILE *f)
{
    const double elapsed = seconds(s->ended_ns - s->started_ns + 1); /* not 0 */
    const double megapixels = (double)s->n_pixels * 1e-6;
    const uint64_t n_files = s->n_done + s->n_failed;
    struct rusage usage;
    fprintf(f, "imghist: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " skipped\n", s->n_done,
            s->n_failed, s->n_skipped);
    fprintf(f, "  in         %10.3f s, %.1f files a second\n", elapsed, (double)n_files / elapsed);
    fprintf(f, "  megapixels %10.1f, %.1f a second\n", megapixels, megapixels / elapsed);
    fprintf(f, "  reading    %10.3f s \\\n", seconds(s->times.read_ns));
    fprintf(f, "  decoding   %10.3f s  > sum over all threads\n", seconds(s->times.decode_ns));
    fprintf(f, "  counting   %10.3f s /\n", seconds(s->times.count_ns));
    fprintf(f, "  writing    %10.3f s\n", seconds(s->write_ns));
    if (getrusage(RUSAGE_SELF, &usage) == 0) /* in KiB, on Linux */
        fprintf(f, "  memory     %10.1f MB at most\n", (double)usage.ru_maxrss * 1.024e-3);
    for (size_t i = 0; i < s->n_kernels; i++) {
        const struct used_kernel *k = &s->kernels[i];
        fprintf(f, "  counted by %s, kernel %s", k->device ? k->device : "?",
                k->kernel ? k->kernel : "?");
        if (s->n_kernels > 1)
            fprintf(f, ": %" PRIu64 " image%s", k->n_images, k->n_images == 1 ? "" : "s");
        putc('\n', f);
    }
    if (s->n_other_images)
        fprintf(f, "  counted by others: %" PRIu64 " images\n", s->n_other_images);
}

/* ---- the look of the text output ---- */

enum { COLUMNS_MAX = 9999 };

/* COLUMNS comes first: it also applies to a pipe. 0: unknown. */
static unsigned columns_of(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    long n = columns ? strtol(columns, &end, 10) : 0;
    if (n > 0 && n <= COLUMNS_MAX && *end == '\0')
        return (unsigned)n;
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
        return size.ws_col;
#endif
    return 0;
}

static bool is_result_file(const char *path)
{
    struct ih_source src = {.is_open = false};
    struct ih_error ignored;
    const uint8_t *head;
    size_t n;
    struct stat st;
    const bool is = stat(path, &st) == 0 && S_ISREG(st.st_mode) && /* opening a pipe would wait */
                    ih_source_open_path(&src, path, &ignored) == IH_OK &&
                    ih_source_peek(&src, 1, &head, &n, &ignored) == IH_OK &&
                    ih_records_probe(head, n);
    ih_source_reset(&src);
    return is;
}

static struct ih_output_options look_of(FILE *stream, const struct ih_options *o)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    const bool is_terminal = isatty(fileno(stream)) == 1;
    const struct ih_walk_sources sources = ih_walk_sources_of(o);
    struct ih_output_options look = {.layout = o->layout,
                                     .verbose = o->is_verbose,
                                     .colour = is_terminal && !(no_color && *no_color) && term &&
                                               *term && strcmp(term, "dumb") != 0,
                                     .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                                     .columns = columns_of(stream)};
    /* A directory or a list counts as many images: the look does not depend on what it contains. */
    const bool is_one = o->with_total
                            ? o->only_total
                            : ih_walk_count(&sources) == 1 && !is_result_file(o->paths[0]);
    if (o->output == &ih_output_text && !look.layout)
        look.layout = is_one ? "full" : "lines";
    return look;
}

/* ---- opening ---- */

/* What the command line asks for explicitly; records of result files have to agree. */
static struct ih_measurement measurement_of(const struct ih_options *o)
{
    struct ih_measurement m = IH_MEASUREMENT_ANY;
    if (ih_option_is_given(o, "luma"))
        m.luma = o->luma;
    if (ih_option_is_given(o, "clip")) {
        m.has_clip = true;
        m.clip_low = o->clip_low;
        m.clip_high = o->clip_high;
    }
    if (ih_option_is_given(o, "alpha"))
        m.alpha = o->skips_transparent ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
    return m;
}

/* Of the data's stream. A record with all bins has 12 KB; stdio's own buffer has 4. */
enum { BUFFER_BYTES = 1 << 16 };

struct ih_writer {
    const struct ih_options *options; /* borrowed */
    struct ih_destinations destinations;
    struct ih_measurement measurement; /* of all results so far */
    struct ih_total total;
    bool has_images, has_totals; /* among the results; totals come from result files */
    struct run_report report;
    bool is_on_terminal; /* the data's stream, perhaps the terminal that shows progress */
    bool is_holding;     /* progress is held */

    _Atomic(struct ih_charts *) charts;
    struct ih_outfile data;
    void *output; /* state of options->output */

    pthread_mutex_t lock; /* held while a record is written; guards what follows */
    bool is_open;         /* the outputs have been opened and not been completed */
    struct ih_progress *progress;
    uint64_t n_charts_failed; /* of images that were counted */
};

static enum ih_status open_data(struct ih_writer *w, struct ih_error *err)
{
    static char buffer[BUFFER_BYTES]; /* standard output needs it until the program ends */
    const struct ih_options *o = w->options;
    enum ih_status status = ih_outfile_open(&w->data, o->output_path, err);
    if (status != IH_OK)
        return status;
    setvbuf(w->data.stream, buffer, _IOFBF, sizeof buffer);
    w->is_on_terminal = isatty(fileno(w->data.stream)) == 1;
    const struct ih_output_options look = look_of(w->data.stream, o);
    return o->output->begin(w->data.stream, &look, &w->output, err);
}

/* A program that reads the data from a pipe may write to the same terminal, as a pager does. Then
 * progress is shown only on request. */
static void open_progress(struct ih_writer *w)
{
    const struct ih_options *o = w->options;
    const struct ih_walk_sources sources = ih_walk_sources_of(o);
    struct stat st;
    bool is_piped = o->output && fstat(fileno(w->data.stream), &st) == 0 && S_ISFIFO(st.st_mode);
    if (ih_progress_is_wanted(o->progress, o->is_quiet || is_piped))
        w->progress = ih_progress_open(ih_walk_count(&sources));
}

struct ih_writer *ih_writer_new(const struct ih_options *options)
{
    struct ih_writer *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->options = options;
    atomic_init(&w->charts, NULL);
    pthread_mutex_init(&w->lock, NULL);
    ih_outfile_init(&w->data);
    w->report.started_ns = w->report.ended_ns = ih_clock_ns();
    w->measurement = measurement_of(options);
    ih_total_init(&w->total, options->luma, options->clip_low, options->clip_high);
    w->total.alpha = options->skips_transparent ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
    return w;
}

enum ih_status ih_writer_open(struct ih_writer *w, const char **subject, struct ih_error *err)
{
    const struct ih_options *o = w->options;
    struct ih_charts *charts = NULL;
    *subject = NULL;
    enum ih_status status = ih_destinations_check(o, &w->destinations, subject, err);
    if (status == IH_OK && o->chart_path)
        status = ih_charts_open(o->chart_path, &o->chart, &charts, err);
    w->charts = charts;
    if (status == IH_OK && o->output) {
        status = open_data(w, err);
        if (status != IH_OK && status != IH_USAGE)
            *subject = o->output_path;
    }
    if (status != IH_OK)
        return status;
    pthread_mutex_lock(&w->lock);
    open_progress(w);
    w->is_open = true;
    pthread_mutex_unlock(&w->lock);
    return IH_OK;
}

const struct ih_file_identity *ih_writer_destinations(const struct ih_writer *w, size_t *n)
{
    *n = w->destinations.n_files;
    return w->destinations.files;
}

/* ---- one result ---- */

/* Hides the progress line while other text is written. */
static void hold(struct ih_writer *w)
{
    if (!w->is_holding)
        ih_progress_hold(w->progress);
    w->is_holding = true;
}

static void release(struct ih_writer *w)
{
    if (w->is_holding)
        ih_progress_release(w->progress);
    w->is_holding = false;
}

/* Exits without joining the other threads, which may be waiting for inputs that never end. */
static void leave(struct ih_writer *w, enum ih_exit code)
{
    ih_charts_unlink(w->charts);
    ih_outfile_unlink(&w->data);
    _exit((int)code);
}

static void give_up(struct ih_writer *w, enum ih_exit code, const char *path, const char *message)
{
    hold(w);
    ih_print_error(path, message);
    leave(w, code);
}

static const char *data_name(const struct ih_writer *w)
{
    return w->options->output_path ? w->options->output_path : "standard output";
}

static void write_data(struct ih_writer *w, const struct ih_result *result)
{
    struct ih_error reason;
    errno = 0;
    w->options->output->record(w->output, result);
    if (w->data.is_standard)
        fflush(w->data.stream); /* a reader of the pipe sees each record at once */
    if (!ferror(w->data.stream))
        return;
    ih_error_errno(&reason, errno ? errno : EIO, "cannot write");
    give_up(w, IH_EXIT_FAILED, data_name(w), reason.message);
}

static void write_chart(struct ih_writer *w, const struct ih_result *result)
{
    char target[IH_CHART_PATH_MAX];
    struct ih_error reason;
    enum ih_status status = ih_charts_draw(w->charts, result, target, sizeof target, &reason);
    /* In a directory of charts, a chart is left out if its name cannot be used. */
    if (!ih_charts_is_one(w->charts) && (status == IH_CONFLICT || status == IH_LIMIT)) {
        ih_print_error(target, reason.message);
        w->n_charts_failed++;
    } else if (status != IH_OK) {
        give_up(w, ih_exit_of(status), target, reason.message);
    }
}

/* A total of no images has no chart. A single chart together with --total is the total's. */
static bool is_drawn(const struct ih_writer *w, const struct ih_result *result)
{
    if (!w->charts || result->status != IH_OK)
        return false;
    if (result->is_total)
        return result->n_images > 0;
    return !(w->options->with_total && ih_charts_is_one(w->charts));
}

/* Writes one record. The caller holds the lock. */
static void write_result(struct ih_writer *w, const struct ih_result *result)
{
    const uint64_t started_ns = ih_clock_ns();
    if (w->is_on_terminal)
        hold(w);
    if (w->output)
        write_data(w, result);
    if (is_drawn(w, result))
        write_chart(w, result);
    release(w);
    w->report.write_ns += ih_clock_ns() - started_ns;
}

/* The lines of -v about a file that was counted. */
static void print_warnings(struct ih_writer *w, const char *path, unsigned warnings)
{
    hold(w);
    for (unsigned bit = 1; bit < IH_WARNINGS_END; bit *= 2) {
        char line[IH_MESSAGE_MAX];
        snprintf(line, sizeof line, "warning: %s", ih_warning_text((enum ih_warning)bit));
        if (warnings & bit)
            ih_print_error(path, line);
    }
    release(w);
}

static void account(struct ih_writer *w, const char *path, const struct ih_result *result)
{
    bool has_failed = result->status != IH_OK;
    struct ih_error reason;
    add_to_report(&w->report, result);
    ih_progress_add(w->progress, has_failed, has_failed ? 0 : result->histogram.n_pixels);
    if (has_failed) {
        hold(w);
        ih_print_error(path, result->error.message);
        release(w);
    } else if (w->options->is_verbose && result->info.warnings) {
        print_warnings(w, path, result->info.warnings);
    }
    if ((w->options->with_total || result->is_total) &&
        ih_total_add(&w->total, result, &reason) != IH_OK)
        give_up(w, IH_EXIT_FAILED, IH_TOTAL_NAME, reason.message);
}

/* Ends the run unless the result may stand beside those before it. source: the input. */
static void check_measurement(struct ih_writer *w, const char *source,
                              const struct ih_result *result)
{
    struct ih_error reason;
    w->has_totals = w->has_totals || result->is_total;
    w->has_images = w->has_images || !result->is_total;
    if (ih_measurement_join(&w->measurement, result, &reason) != IH_OK)
        give_up(w, IH_EXIT_USAGE, source, reason.message);
    if (w->has_totals && w->has_images && !w->options->with_total)
        give_up(w, IH_EXIT_USAGE, source, "a total beside single images needs --total");
}

static void take_result(struct ih_writer *w, const char *path, const struct ih_result *result)
{
    account(w, path, result);
    if (!w->options->only_total && !result->is_total) {
        pthread_mutex_lock(&w->lock);
        write_result(w, result);
        pthread_mutex_unlock(&w->lock);
    }
    w->report.ended_ns = ih_clock_ns();
    if (result->status != IH_OK && w->options->fails_fast)
        leave(w, ih_writer_finish(w));
}

/* Takes the records of a result file. A damaged one ends the run, because some of its records have
 * been written. */
static void take_records(struct ih_writer *w, const char *path, struct ih_source *open)
{
    struct ih_source own = {.is_open = false}, *src = open ? open : &own;
    struct ih_records *records = NULL;
    const struct ih_result *result;
    struct ih_error reason;
    enum ih_status status = open ? IH_OK : ih_source_open_path(src, path, &reason);
    if (status == IH_OK)
        status = ih_records_open(src, &records, &reason);
    while (status == IH_OK && (status = ih_records_next(records, &result, &reason)) == IH_OK &&
           result) {
        check_measurement(w, path, result);
        take_result(w, result->path, result);
    }
    ih_records_close(records);
    ih_source_reset(src);
    free(open);
    if (status != IH_OK)
        give_up(w, IH_EXIT_FAILED, path, reason.message);
}

bool ih_writer_take(void *writer, const struct ih_input *input, const struct ih_result *result)
{
    struct ih_writer *w = writer;
    const char *path = input->path ? input->path : "";
    struct ih_result shown;
    if (result->status != IH_OK && result->error.limit != IH_LIMIT_NONE) {
        shown = *result;
        ih_name_options(&shown.error);
        result = &shown;
    }
    if (result->status == IH_UNKNOWN && !input->is_named) {
        w->report.n_skipped++;
        return true;
    }
    if (result->status == IH_CONFLICT)
        give_up(w, IH_EXIT_USAGE, path, result->error.message);
    if (result->has_records) {
        take_records(w, path, result->records);
        return true;
    }
    check_measurement(w, path, result);
    take_result(w, path, result);
    return true;
}

/* ---- the end ---- */

/* Writes the total and renames the files to their names. If all inputs failed, files other than
 * JSON, which records failures, are not made. */
static void complete_outputs(struct ih_writer *w)
{
    const struct ih_options *o = w->options;
    struct ih_error reason;
    bool is_worthless = w->report.n_done == 0 && w->report.n_failed > 0 &&
                        !(o->output && o->output->holds_failures);
    if ((o->with_total || w->has_totals) && !is_worthless) {
        struct ih_result total;
        ih_total_result(&w->total, &total);
        write_result(w, &total);
    }
    if (w->output && (!is_worthless || (w->data.is_standard && !o->only_total))) {
        o->output->end(w->output);
        if (ih_outfile_commit(&w->data, &reason) != IH_OK)
            give_up(w, IH_EXIT_FAILED, data_name(w), reason.message);
    }
    if (w->charts && ih_charts_commit(w->charts, &reason) != IH_OK)
        give_up(w, IH_EXIT_FAILED, o->chart_path, reason.message);
}

void ih_writer_stop_progress(struct ih_writer *w)
{
    pthread_mutex_lock(&w->lock);
    ih_progress_close(w->progress);
    w->progress = NULL;
    pthread_mutex_unlock(&w->lock);
}

enum ih_exit ih_writer_finish(struct ih_writer *w)
{
    ih_writer_stop_progress(w);
    pthread_mutex_lock(&w->lock);
    complete_outputs(w);
    w->is_open = false;
    pthread_mutex_unlock(&w->lock);
    if (w->options->is_verbose)
        print_full_report(&w->report, stderr);
    else if (!w->options->is_quiet)
        print_report(&w->report, stderr);
    return w->report.n_failed || w->n_charts_failed ? IH_EXIT_FAILED : IH_EXIT_OK;
}

void ih_writer_interrupt(struct ih_writer *w)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    /* The lock is kept: nothing may be written any more. */
    bool is_between_records = pthread_mutex_timedlock(&w->lock, &until) == 0;
    ih_charts_unlink(w->charts);
    ih_outfile_unlink(&w->data);
    if (!is_between_records || !w->is_open)
        return;
    ih_progress_interrupt(w->progress, &until);
    if (w->output && w->data.is_standard) {
        w->options->output->end(w->output);
        fflush(w->data.stream);
    }
}

void ih_writer_close(struct ih_writer *w)
{
    if (!w)
        return;
    ih_progress_close(w->progress);
    if (w->output)
        w->options->output->close(w->output);
    ih_outfile_discard(&w->data);
    ih_charts_close(w->charts);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
