#include "cli/writer.h"

#include "base/clock.h"
#include "cli/chartfile.h"
#include "cli/destinations.h"
#include "cli/groups.h"
#include "cli/look.h"
#include "histogram/total.h"
#include "output/file.h"
#include "scan/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- a walk ahead of the run, in a thread, so that progress has a total ---- */

struct ahead {
    struct ih_walk *walk;         /* owned */
    struct ih_progress *progress; /* borrowed */
    atomic_bool is_over;
    pthread_t thread;
};

static void *ahead_count(void *argument)
{
    struct ahead *a = argument;
    struct ih_input input;
    uint64_t n = 0;
    while (!a->is_over && ih_walk_next(a->walk, &input)) {
        n += !input.ends_folder;
        free(input.path);
    }
    if (!a->is_over)
        ih_progress_set_inputs(a->progress, n);
    return NULL;
}

/* Starts to walk the sources; at the end, sets the number of inputs of progress. Both are borrowed
 * until ahead_stop. NULL: progress is NULL, the list can be read only once, or a thread could not
 * start. */
static struct ahead *ahead_start(const struct ih_walk_sources *sources,
                                 struct ih_progress *progress)
{
    struct ih_error err;
    if (!progress || !ih_walk_is_quick(sources))
        return NULL;
    struct ahead *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->progress = progress;
    atomic_init(&a->is_over, false);
    if (ih_walk_open(sources, &a->walk, &err) == IH_OK &&
        pthread_create(&a->thread, NULL, ahead_count, a) == 0)
        return a;
    ih_walk_close(a->walk);
    free(a);
    return NULL;
}

/* NULL is allowed. */
static void ahead_stop(struct ahead *a)
{
    if (!a)
        return;
    a->is_over = true;
    pthread_join(a->thread, NULL);
    ih_walk_close(a->walk);
    free(a);
}

/* ---- opening ---- */

/* Of a data stream. A record with all bins has 12 KB; stdio's own buffer has 4. */
enum { BUFFER_BYTES = 1 << 16 };

/* One of options->outputs. */
struct sink {
    const struct ih_data_output *data; /* borrowed */
    struct ih_outfile file;
    void *state;         /* of data->output; NULL: not begun */
    char *buffer;        /* owned; NULL: of standard output */
    bool is_resumed;     /* the file of --resume, which has the records that are read back */
    bool is_on_terminal; /* perhaps the terminal that shows progress */
    /* After each record, not only when no further one is ready: a next run sees each record, or
     * messages appear in the same place. */
    bool flushes_records;
};

struct ih_writer {
    const struct ih_options *options;      /* borrowed */
    const struct ih_walk_sources *sources; /* borrowed */
    uint64_t n_images;                     /* 0: unknown */
    const struct ih_scan *scan;            /* borrowed; NULL: not begun */
    struct ih_destinations destinations;
    char *folder; /* owned; of all inputs */
    struct ih_total total;
    char *total_folder;        /* owned; of the images in the total; NULL: none yet */
    struct ih_total reference; /* of --against */
    struct ih_groups *groups;  /* with --by, or once a group's total has come; else NULL */
    struct ih_voice voice;
    bool has_members; /* an archive's member has come */
    bool has_totals;  /* of result files, and images */
    bool has_images, has_groups;
    bool is_double;     /* the image has the name of an earlier one, and of its chart */
    uint64_t run;       /* hash of a complete run; 0: not complete */
    uint64_t n_records; /* written, without the total */

    /* --diff: total is of the first path, and other of the second. */
    struct ih_total other, *adds_to; /* total or other */
    unsigned side;                   /* of the input: 0 or 1 */
    uint64_t n_left_out[2];          /* images of each that do not match --where */
    uint64_t n_failed[2];
    bool has_comparison; /* it can be written */

    _Atomic(struct ih_charts *) charts;
    struct sink sinks[IH_DATA_OUTPUTS_MAX]; /* options->n_outputs */
    FILE *memory;                           /* of one record, from the start for each; into bytes */
    char *bytes;                            /* owned */
    size_t n_bytes;

    pthread_mutex_t lock;     /* held while a record is written; guards what follows */
    bool is_open;             /* the outputs have been opened and not been completed */
    struct ahead *ahead;      /* counts inputs for progress */
    uint64_t n_charts_failed; /* of images that were counted */
};

/* Whether standard output and the messages go to the same file or pipe. */
static bool is_beside_messages(void)
{
    struct stat data, messages;
    return fstat(STDOUT_FILENO, &data) == 0 && fstat(STDERR_FILENO, &messages) == 0 &&
           data.st_dev == messages.st_dev && data.st_ino == messages.st_ino;
}

static enum ih_status open_sink(struct ih_writer *w, struct sink *s, const char **subject,
                                struct ih_error *err)
{
    static char standard_buffer[BUFFER_BYTES]; /* standard output needs it until the program ends */
    const char *path = s->data->path;
    if (path && ih_make_directories(path, err) != IH_OK) {
        *subject = path;
        return err->status;
    }
    s->buffer = path ? malloc(BUFFER_BYTES) : NULL;
    if (path && !s->buffer)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->is_resumed = w->options->resume_path && s->data->output == &ih_output_ndjson && path;
    enum ih_status status = s->is_resumed ? ih_outfile_append(&s->file, path, err)
                                          : ih_outfile_open(&s->file, path, err);
    if (status != IH_OK) {
        *subject = path;
        return status;
    }
    setvbuf(s->file.stream, path ? s->buffer : standard_buffer, _IOFBF, BUFFER_BYTES);
    s->is_on_terminal = isatty(fileno(s->file.stream)) == 1;
    s->flushes_records =
        s->is_resumed || s->is_on_terminal || (s->file.is_standard && is_beside_messages());
    if (w->options->compares) /* nothing is written before the comparison */
        return IH_OK;
    const struct ih_output_options look =
        ih_look_of(s->file.stream, w->options, s->data, w->folder, w->n_images == 1);
    return s->data->output->begin(s->file.stream, &look, &s->state, err);
}

/* A program that reads the data from a pipe may write to the same terminal, as a pager does. Then
 * progress is shown only on request. */
static void open_progress(struct ih_writer *w)
{
    const struct ih_options *o = w->options;
    struct stat st;
    bool is_piped = false;
    for (size_t i = 0; i < o->n_outputs; i++)
        if (fstat(fileno(w->sinks[i].file.stream), &st) == 0 && S_ISFIFO(st.st_mode))
            is_piped = true;
    if (ih_progress_is_wanted(o->progress, o->is_quiet || is_piped))
        w->voice.progress = ih_progress_open(w->n_images);
    if (w->n_images == 0)
        w->ahead = ahead_start(w->sources, w->voice.progress);
}

struct ih_writer *ih_writer_new(const struct ih_options *options,
                                const struct ih_walk_sources *sources, uint64_t n_images)
{
    struct ih_writer *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->options = w->voice.options = options;
    w->sources = sources;
    w->n_images = n_images;
    w->adds_to = &w->total;
    atomic_init(&w->charts, NULL);
    pthread_mutex_init(&w->lock, NULL);
    for (size_t i = 0; i < options->n_outputs; i++) {
        w->sinks[i].data = &options->outputs[i];
        w->voice.is_checking |= options->outputs[i].output == &ih_output_check;
        ih_outfile_init(&w->sinks[i].file);
    }
    w->voice.started_ns = w->voice.ended_ns = ih_clock_ns();
    ih_total_init(&w->total, &options->measure);
    return w;
}

enum ih_status ih_writer_open(struct ih_writer *w, const char **subject, struct ih_error *err)
{
    const struct ih_options *o = w->options;
    struct ih_charts *charts = NULL;
    w->other = w->reference = w->total;
    *subject = NULL;
    w->folder = ih_common_folder(o);
    w->memory = open_memstream(&w->bytes, &w->n_bytes);
    if (!w->folder || !w->memory)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = ih_destinations_check(o, &w->destinations, subject, err);
    if (status == IH_OK) {
        *subject = o->by;
        status = ih_groups_open(o->by, &w->total, &w->groups, err);
        if (o->by && status != IH_OK && status != IH_MEMORY)
            ih_error_append(err, "--by=folder|FILE");
    }
    if (status == IH_OK && o->chart_path)
        status = ih_charts_open(o->chart_path, &o->chart, o->charts_are_svg, &charts, err);
    w->charts = charts;
    for (size_t i = 0; i < o->n_outputs && status == IH_OK; i++)
        status = open_sink(w, &w->sinks[i], subject, err);
    if (status != IH_OK)
        return status;
    pthread_mutex_lock(&w->lock);
    open_progress(w);
    w->is_open = true;
    pthread_mutex_unlock(&w->lock);
    ih_voice_open(&w->voice);
    return IH_OK;
}

const struct ih_file_identity *ih_writer_destinations(const struct ih_writer *w, size_t *n)
{
    *n = w->destinations.n_files;
    return w->destinations.files;
}

/* ---- one result ---- */

static void unlink_files(struct ih_writer *w)
{
    ih_charts_unlink(w->charts);
    for (size_t i = 0; i < w->options->n_outputs; i++)
        ih_outfile_unlink(&w->sinks[i].file);
}

/* Exits without joining the other threads, which may be waiting for inputs that never end. */
static void leave(struct ih_writer *w, enum ih_exit code)
{
    unlink_files(w);
    _exit((int)code);
}

static void give_up(struct ih_writer *w, enum ih_exit code, const char *path, const char *message)
{
    ih_voice_hold(&w->voice);
    ih_say(path, message);
    leave(w, code);
}

/* Ends the run after a failed write. A reader that closes its pipe, as head does, is no failure:
 * the program ends as SIGPIPE would have ended it. */
static void give_up_sink(struct ih_writer *w, const struct sink *s, int error, const char *message)
{
    if (error == EPIPE) {
        ih_voice_hold(&w->voice);
        unlink_files(w);
        ih_end_by_sigpipe();
    }
    give_up(w, IH_EXIT_FAILED, s->data->path ? s->data->path : "standard output", message);
}

static void give_up_chart(struct ih_writer *w, const char *target, const struct ih_error *reason)
{
    if (ih_charts_has_lost_reader(w->charts)) {
        ih_voice_hold(&w->voice);
        unlink_files(w);
        ih_end_by_sigpipe();
    }
    give_up(w, ih_exit_of(reason->status), target, reason->message);
}

/* Ends the run if a write to the sink has failed. */
static void check_sink(struct ih_writer *w, const struct sink *s, bool flushes)
{
    struct ih_error reason;
    if ((!flushes || fflush(s->file.stream) == 0) && !ferror(s->file.stream))
        return;
    const int error = errno ? errno : EIO;
    ih_error_errno(&reason, error, "cannot write");
    give_up_sink(w, s, error, reason.message);
}

static void write_record(struct ih_writer *w, const struct sink *s, const struct ih_result *result)
{
    rewind(w->memory);
    s->data->output->render(s->state, result, w->memory);
    if (fflush(w->memory) != 0 || ferror(w->memory))
        give_up(w, IH_EXIT_FAILED, result->path, "out of memory");
    s->data->output->put(s->state, result, w->bytes, w->n_bytes);
}

/* comparison   written instead of the result; NULL: none */
static void write_data(struct ih_writer *w, struct sink *s, const struct ih_result *result,
                       const struct ih_comparison *comparison)
{
    errno = 0;
    if (comparison) {
        const struct ih_output_options look =
            ih_look_of(s->file.stream, w->options, s->data, w->folder, w->n_images == 1);
        s->data->output->compare(s->file.stream, &look, comparison);
    } else {
        write_record(w, s, result);
    }
    check_sink(w, s, s->flushes_records);
}

/* A reader of the pipe sees all records while no further one is ready. */
void ih_writer_flush(struct ih_writer *w)
{
    pthread_mutex_lock(&w->lock);
    errno = 0;
    for (size_t i = 0; i < w->options->n_outputs; i++)
        if (w->sinks[i].file.is_standard && !w->sinks[i].flushes_records)
            check_sink(w, &w->sinks[i], true);
    pthread_mutex_unlock(&w->lock);
}

static void write_chart(struct ih_writer *w, const struct ih_result *result,
                        const struct ih_comparison *comparison)
{
    char target[IH_CHART_PATH_MAX];
    struct ih_error reason;
    enum ih_status status =
        ih_charts_draw(w->charts, result, comparison, target, sizeof target, &reason);
    /* In a directory of charts, a chart is left out if its name cannot be used. */
    if (!ih_charts_is_one(w->charts) && (status == IH_CONFLICT || status == IH_LIMIT)) {
        ih_say(target, reason.message);
        w->n_charts_failed++;
    } else if (status != IH_OK) {
        give_up_chart(w, target, &reason);
    } else {
        w->voice.n_charts +=
            w->options->chart.is_sheet ? w->voice.n_charts == 0 : result->is_total || !w->is_double;
        ih_voice_chart(&w->voice, target, ih_charts_lacking(w->charts));
    }
}

/* A total of no images has no chart. A single chart together with --total is the total's, and with
 * --by alone there is no single chart (options.c). */
static bool is_drawn(const struct ih_writer *w, const struct ih_result *result)
{
    if (!w->charts || result->status != IH_OK)
        return false;
    const bool is_sheet = w->options->chart.is_sheet;
    if (result->group ? ih_charts_is_one(w->charts) && !is_sheet : result->is_total && is_sheet)
        return false;
    if (result->is_total)
        return result->n_images > 0;
    return is_sheet || !(w->options->with_total && ih_charts_is_one(w->charts));
}

/* Whether all inputs failed and the output does not record failures. */
static bool is_worthless(const struct ih_writer *w, const struct sink *s)
{
    return w->voice.n_done == 0 && w->voice.n_failed > 0 &&
           !ih_output_holds_failures(s->data->output, s->data->layout);
}

/* Without a condition, every record is selected. */
static bool is_selected(const struct ih_condition *where, const struct ih_result *result)
{
    struct ih_record_view view;
    struct ih_field_value values[IH_N_FIELDS];
    if (!where)
        return true;
    ih_fields_compute(&view, result, values);
    return ih_condition_holds(where, values, result);
}

/* The line is the result of the gate, which --quiet keeps. */
static void match(struct ih_writer *w, const char *path, const char *message)
{
    w->voice.n_matched++;
    ih_voice_hold(&w->voice);
    ih_say(path, message);
}

/* --fail-if judges every record that is written, the total too. */
static void judge(struct ih_writer *w, const struct ih_result *result)
{
    const struct ih_condition *const fail_if = w->options->fail_if;
    struct ih_record_view view;
    struct ih_field_value values[IH_N_FIELDS];
    char line[IH_MESSAGE_MAX] = "matches --fail-if: ";
    const size_t n = strlen(line);
    if (!fail_if)
        return;
    w->voice.n_judged++;
    ih_fields_compute(&view, result, values);
    if (!ih_condition_holds(fail_if, values, result))
        return;
    ih_condition_describe(fail_if, values, result, line + n, sizeof line - n);
    match(w, result->path, line);
}

/* Writes one record. The caller holds the lock. */
static void write_result(struct ih_writer *w, const struct ih_result *result)
{
    const uint64_t started_ns = ih_clock_ns();
    judge(w, result);
    w->n_records += !result->is_total;
    for (size_t i = 0; i < w->options->n_outputs; i++) {
        struct sink *s = &w->sinks[i];
        if ((result->is_total && is_worthless(w, s)) || (result->is_read && s->is_resumed))
            continue;
        if (s->is_on_terminal)
            ih_voice_hold(&w->voice);
        write_data(w, s, result, NULL);
    }
    if (is_drawn(w, result))
        write_chart(w, result, NULL);
    ih_voice_release(&w->voice);
    w->voice.write_ns += ih_clock_ns() - started_ns;
}

/* --diff: writes the comparison, unless a side has nothing to compare or is incomplete. */
static void write_comparison(struct ih_writer *w)
{
    const struct ih_options *o = w->options;
    const struct ih_total *sides[2] = {&w->total, &w->other};
    struct ih_comparison c;
    struct ih_field_value values[IH_N_COMPARISON_FIELDS];
    if (o->fails_fast && w->voice.n_failed > 0)
        return;
    for (unsigned i = 0; i < 2; i++)
        if (sides[i]->sum.n_pixels == 0) {
            if (sides[i]->n_images == 0 && w->n_left_out[i] > 0)
                ih_say(o->paths[i], "no image of it matches --where");
            else if (sides[i]->n_images > 0 || w->n_failed[i] == 0) /* else that was said */
                ih_say(o->paths[i], "no pixels to compare");
            return;
        }
    if (ih_n_bins(&sides[0]->sum) != ih_n_bins(&sides[1]->sum)) {
        struct ih_error err;
        ih_error_set(&err, IH_USAGE,
                     "%s has %u bins, %s has %u: counts of different bins are not compared; count "
                     "both again with 256 bins",
                     sides[0]->first, ih_n_bins(&sides[0]->sum), sides[1]->first,
                     ih_n_bins(&sides[1]->sum));
        give_up(w, IH_EXIT_FAILED, NULL, err.message);
        return;
    }
    ih_voice_compare(&w->voice, sides);
    ih_totals_compare(sides[0], sides[1], &c);
    for (unsigned i = 0; i < 2; i++)
        c.sides[i].path =
            strcmp(o->paths[i], "-") == 0 && o->stdin_name ? o->stdin_name : o->paths[i];
    w->has_comparison = true;
    ih_comparison_fields_compute(&c, values);
    for (size_t i = 0; i < o->n_outputs; i++)
        write_data(w, &w->sinks[i], NULL, &c);
    if (w->charts)
        write_chart(w, &c.sides[0], &c);
    if (o->fail_if && ih_condition_holds(o->fail_if, values, NULL)) {
        char line[IH_MESSAGE_MAX];
        snprintf(line, sizeof line, "the comparison matches --fail-if: ks %.6f, emd %.6f",
                 c.largest.ks, c.largest.emd);
        match(w, NULL, line);
    }
}

/* Adds a result to the total. Its folder comes from the results alone, so that a merged total is
 * that of a single run. */
static void add_to_total(struct ih_writer *w, const struct ih_result *result)
{
    struct ih_error reason;
    if (ih_total_add(w->adds_to, result, &reason) != IH_OK)
        give_up(w, IH_EXIT_FAILED, IH_TOTAL_NAME, reason.message);
    if (!ih_folder_join(&w->total_folder, result))
        give_up(w, IH_EXIT_FAILED, IH_TOTAL_NAME, "out of memory");
}

static void add_to_group(struct ih_writer *w, const struct ih_result *result)
{
    struct ih_error reason;
    if (ih_groups_add(w->groups, result, &reason) != IH_OK)
        give_up(w, ih_exit_of(reason.status), result->path, reason.message);
}

static void account(struct ih_writer *w, const char *path, const struct ih_result *result,
                    bool selected)
{
    const bool has_failed = result->status != IH_OK;
    w->is_double = selected && !has_failed && !result->is_total && !w->options->compares &&
                   ih_voice_see_name(&w->voice, result->path);
    ih_voice_result(&w->voice, path, result);
    w->voice.n_selected += selected;
    w->n_failed[w->side] += has_failed;
    w->n_left_out[w->side] += !has_failed && !selected;
    if ((w->options->with_total && selected) || (result->is_total && !result->group))
        add_to_total(w, result);
    if (result->group || (w->options->by && selected && !result->is_total))
        add_to_group(w, result);
}

/* The first member of an archive: there are more inputs than were known. Standard input is then not
 * one image, but many. */
static void expect_many(struct ih_writer *w)
{
    const struct ih_options *o = w->options;
    struct ih_error reason;
    w->has_members = true;
    ahead_stop(w->ahead);
    w->ahead = NULL;
    ih_progress_set_inputs(w->voice.progress, 0);
    if (o->with_total || w->voice.n_done > 0)
        return;
    for (size_t i = 0; i < o->n_outputs; i++) {
        struct sink *s = &w->sinks[i];
        if (s->data->output != &ih_output_text || s->data->layout)
            continue;
        struct ih_output_options look = ih_look_of(s->file.stream, o, s->data, w->folder, false);
        look.layout = "lines";
        s->data->output->close(s->state);
        s->state = NULL;
        if (s->data->output->begin(s->file.stream, &look, &s->state, &reason) != IH_OK)
            give_up_sink(w, s, ENOMEM, reason.message);
    }
}

/* A total counts its images a second time beside single ones, and no longer has them for --where.
 */
static void check_total(struct ih_writer *w, const struct ih_item *item)
{
    const char *why = NULL;
    const bool is_total = item->kind == IH_ITEM_TOTAL, is_group = is_total && item->result->group;
    w->has_totals = w->has_totals || (is_total && !is_group);
    w->has_groups = w->has_groups || is_group;
    w->has_images = w->has_images || !is_total;
    if (is_total && !is_group && w->options->by)
        why = "a total no longer has its images, so it has no groups";
    else if (w->has_groups && w->has_images && !w->options->by)
        why = "totals of groups beside single images need --by";
    else if (is_total && w->options->where)
        why = "--where selects images, and a total no longer has them: give it to the run that "
              "counts them";
    else if (w->has_totals && w->has_images && !w->options->with_total)
        why = "a total beside single images needs --total";
    if (why)
        give_up(w, IH_EXIT_USAGE, item->result_file ? item->result_file : item->path, why);
}

/* With --against: adds the distances of a counted result to it. */
static void compare_with_reference(struct ih_writer *w, struct ih_result *result)
{
    struct ih_error reason;
    if (result->status != IH_OK)
        return;
    if (w->reference.sum.n_pixels == 0)
        give_up(w, IH_EXIT_FAILED, w->options->against, "no pixels to compare with");
    if (ih_result_compare(result, &w->reference, &result->against, &reason) != IH_OK)
        give_up(w, ih_exit_of(reason.status), result->path, reason.message);
    result->has_distance = true;
}

/* An item of the reference, which is complete before the first other item. */
static void take_reference(struct ih_writer *w, const struct ih_item *item)
{
    struct ih_error reason;
    if (item->kind == IH_ITEM_FAILURE) {
        reason = item->result->error;
        ih_explain_error(item->path, &reason);
        if (reason.status == IH_IO && strcmp(item->path, w->options->against) == 0)
            ih_error_append(&reason, "--against=total|FILE|DIR");
        /* With "total", the file comes again as an input. */
        if (strcmp(w->options->against, "total") != 0)
            ih_voice_reference(&w->voice, item->path, &reason);
    } else if (item->result && ih_total_add(&w->reference, item->result, &reason) != IH_OK) {
        give_up(w, IH_EXIT_FAILED, item->path, reason.message);
    }
}

static void take_result(struct ih_writer *w, const char *path, const struct ih_result *result)
{
    struct ih_result compared;
    if (w->options->against) {
        compared = *result;
        compare_with_reference(w, &compared);
        result = &compared;
    }
    const bool selected = is_selected(w->options->where, result);
    account(w, path, result, selected);
    if (selected && !w->options->only_total && !w->options->by && !result->is_total) {
        pthread_mutex_lock(&w->lock);
        write_result(w, result);
        pthread_mutex_unlock(&w->lock);
    }
    w->voice.ended_ns = ih_clock_ns();
    if (result->status != IH_OK && w->options->fails_fast)
        leave(w, ih_writer_finish(w));
}

void ih_writer_resume(struct ih_writer *w, uint64_t size_bytes)
{
    struct ih_error reason;
    for (size_t i = 0; i < w->options->n_outputs; i++)
        if (w->sinks[i].is_resumed &&
            ftruncate(fileno(w->sinks[i].file.stream), (off_t)size_bytes) != 0) {
            ih_error_errno(&reason, errno, "cannot write");
            give_up(w, IH_EXIT_FAILED, w->options->resume_path, reason.message);
        }
}

void ih_writer_begin(struct ih_writer *w, const struct ih_scan *scan)
{
    w->scan = scan;
}

void ih_writer_complete(struct ih_writer *w, uint64_t run)
{
    w->run = run;
}

void ih_writer_give_up(struct ih_writer *w, const char *path, const struct ih_error *err)
{
    ih_writer_stop_progress(w);
    give_up(w, ih_exit_of(err->status), path, err->message);
}

void ih_writer_take(struct ih_writer *w, const struct ih_item *item)
{
    struct ih_result shown;
    const struct ih_result *result = item->result;
    if (item->source < w->options->n_references) {
        take_reference(w, item);
        return;
    }
    w->side = w->options->compares && item->source > 0;
    w->adds_to = w->side ? &w->other : &w->total;
    if (item->is_member && !w->has_members)
        expect_many(w);
    if (item->kind == IH_ITEM_SKIPPED) {
        ih_voice_skip(&w->voice, item->path, item->error.message);
        return;
    }
    if (item->kind == IH_ITEM_FOLDER_END) {
        ih_voice_end_folder(&w->voice, item->path);
        return;
    }
    check_total(w, item);
    if (item->kind == IH_ITEM_FAILURE && (item->error.status == IH_IO || item->error.limit)) {
        shown = *result;
        ih_explain_error(item->path, &shown.error);
        result = &shown;
    }
    take_result(w, item->path, result);
}

/* ---- the end ---- */

/* False for a part of a run, and for all parts with --where: they may have no input. */
static bool found_no_input(const struct ih_writer *w)
{
    return w->voice.n_done + w->voice.n_failed == 0 && !w->options->n_shards &&
           !(w->scan && ih_scan_has_merged(w->scan));
}

/* A worthless file is not made, and replaces none. */
static bool is_kept(const struct ih_writer *w, const struct sink *s)
{
    if (w->options->compares)
        return w->has_comparison;
    return (!is_worthless(w, s) && !found_no_input(w)) ||
           (s->file.is_standard && !w->options->only_total);
}

static void end_sink(struct ih_writer *w, struct sink *s)
{
    errno = 0;
    if (s->state) /* a comparison has no end */
        s->data->output->end(s->state);
    check_sink(w, s, true);
}

/* A total that the writer made itself. */
static void write_total(struct ih_writer *w, struct ih_result *total)
{
    if (w->options->against && total->histogram.n_pixels > 0)
        compare_with_reference(w, total);
    write_result(w, total);
}

static void write_groups(struct ih_writer *w)
{
    struct ih_result group;
    for (size_t i = 0; i < ih_groups_n(w->groups); i++) {
        ih_groups_result(w->groups, i, &group);
        write_total(w, &group);
    }
}

/* Writes totals and ends all documents; then renames the files to their names. */
static void complete_outputs(struct ih_writer *w)
{
    const struct ih_options *o = w->options;
    struct ih_error reason;
    if (!o->only_total)
        write_groups(w);
    if (o->compares) {
        write_comparison(w);
    } else if (o->with_total || w->has_totals) {
        struct ih_result total;
        if (w->total.n_images == 0) /* only totals of no images, or --where left all out */
            w->total.measure = *ih_scan_measure(w->scan);
        ih_total_result(&w->total, &total);
        total.folder = w->total_folder;
        total.shard = o->shard;
        total.n_shards = o->n_shards;
        total.run = o->n_shards ? w->run : 0;
        write_total(w, &total);
    } else if (o->n_shards && w->run) {
        const struct ih_result end = {.is_end = true,
                                      .shard = o->shard,
                                      .n_shards = o->n_shards,
                                      .run = w->run,
                                      .n_images = w->n_records};
        for (size_t i = 0; i < o->n_outputs; i++)
            if (w->sinks[i].data->output == &ih_output_ndjson)
                write_data(w, &w->sinks[i], &end, NULL);
    }
    for (size_t i = 0; i < o->n_outputs; i++)
        if (is_kept(w, &w->sinks[i]))
            end_sink(w, &w->sinks[i]);
    for (size_t i = 0; i < o->n_outputs; i++)
        if (is_kept(w, &w->sinks[i]) && ih_outfile_commit(&w->sinks[i].file, &reason) != IH_OK)
            give_up_sink(w, &w->sinks[i], 0, reason.message);
    if (w->charts && ih_charts_commit(w->charts, w->folder, &reason) != IH_OK)
        give_up_chart(w, o->chart_path, &reason);
}

void ih_writer_stop_progress(struct ih_writer *w)
{
    ahead_stop(w->ahead);
    w->ahead = NULL;
    pthread_mutex_lock(&w->lock);
    if (ih_progress_close(w->voice.progress))
        w->voice.has_shown_progress = true;
    w->voice.progress = NULL;
    pthread_mutex_unlock(&w->lock);
}

/* Inputs that the list of --by lacks. Returns true if it lacks all: an error. */
static bool report_left_out(struct ih_writer *w)
{
    const char *first;
    char name[IH_ESCAPED_MAX], line[IH_ESCAPED_MAX + 96];
    const uint64_t n = ih_groups_n_left_out(w->groups, &first);
    if (n == 0)
        return false;
    ih_escape(name, sizeof name, first);
    snprintf(line, sizeof line, "%" PRIu64 " input%s not in this list, and in no group: %s", n,
             n == 1 ? " is" : "s are", name);
    if (ih_groups_n(w->groups) > 0)
        ih_voice_note(&w->voice, w->options->by, "%s%s", line, n > 1 ? ", ..." : "");
    else
        ih_say(w->options->by, line);
    return ih_groups_n(w->groups) == 0;
}

enum ih_exit ih_writer_finish(struct ih_writer *w)
{
    ih_writer_stop_progress(w);
    pthread_mutex_lock(&w->lock);
    complete_outputs(w);
    w->is_open = false;
    pthread_mutex_unlock(&w->lock);
    const struct ih_options *o = w->options;
    const bool has_none = found_no_input(w);
    ih_voice_end(&w->voice, has_none);
    const bool lacks_all = o->by && report_left_out(w);
    if (w->has_totals && w->has_images && !o->compares)
        ih_voice_note(&w->voice, NULL,
                      "a total of a result file and single images are added up; an image that is "
                      "in both counts twice");
    if (has_none || lacks_all || w->voice.n_failed || w->voice.n_references_failed ||
        w->n_charts_failed || (w->options->compares && !w->has_comparison))
        return IH_EXIT_FAILED;
    return w->voice.n_matched ? IH_EXIT_MATCHED : IH_EXIT_OK;
}

void ih_writer_interrupt(struct ih_writer *w)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    /* The lock is kept: nothing may be written any more. */
    bool is_between_records = pthread_mutex_timedlock(&w->lock, &until) == 0;
    unlink_files(w);
    if (!is_between_records || !w->is_open)
        return;
    ih_progress_interrupt(w->voice.progress, &until);
    for (size_t i = 0; i < w->options->n_outputs; i++)
        if (w->sinks[i].state && w->sinks[i].file.is_standard)
            fflush(w->sinks[i].file.stream); /* the last records */
}

void ih_writer_close(struct ih_writer *w)
{
    if (!w)
        return;
    ih_writer_stop_progress(w);
    for (size_t i = 0; i < w->options->n_outputs; i++) {
        struct sink *s = &w->sinks[i];
        if (s->state)
            s->data->output->close(s->state);
        ih_outfile_discard(&s->file);
        free(s->buffer);
    }
    ih_charts_close(w->charts);
    ih_groups_close(w->groups);
    ih_total_reset(&w->total);
    ih_total_reset(&w->other);
    ih_total_reset(&w->reference);
    if (w->memory)
        fclose(w->memory);
    free(w->bytes);
    free(w->folder);
    free(w->total_folder);
    free(w->voice.hashes);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
