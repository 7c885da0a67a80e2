#include "cli/pipeline.h"

#include "base/text.h"
#include "cli/destinations.h"
#include "cli/sink.h"
#include "stages/stage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SINKS_MAX = IH_DATA_OUTPUTS_MAX + 1, /* with one of charts */
    STREAMS = 128                        /* threads above that may have to open streams again */
};

/* A stream in memory, which renders one result after another. Opening and closing a stream takes
 * the C library's one lock and walks through all open streams: 16 workers that opened one for each
 * result spent more time there than in the rest of small JPEG files (tests/bench/results). */
struct stream {
    FILE *file;
    char *bytes; /* [n], the file's, after fflush */
    size_t n;
};

struct ih_pipeline {
    const struct ih_options *options;      /* borrowed */
    const struct ih_walk_sources *sources; /* borrowed */
    uint64_t n_images;                     /* 0: unknown */
    const struct ih_chain *chain;          /* borrowed; NULL: not begun */
    struct ih_destinations destinations;
    struct ih_sink_context context;
    char *folder; /* owned; of all inputs */
    struct ih_messages messages;

    /* The stages; where and fail-if have no state. */
    struct ih_reference reference; /* of --against */
    struct ih_total_stage total;
    struct ih_by *by;   /* for groups of result files too */
    struct ih_top *top; /* of --sort; NULL: records are written as they come */
    struct ih_diff diff;

    struct ih_sink *sinks[SINKS_MAX]; /* owned */
    atomic_size_t n_sinks;
    bool writes_images;     /* each result has a record; else only totals have */
    bool writes_statistics; /* all of each channel */
    bool has_members;       /* an archive's member has come */
    bool has_comparison;    /* of --diff: it can be written */
    uint64_t n_records;     /* written, without the totals */

    _Atomic(struct stream *) streams[STREAMS]; /* owned; a thread takes the one of its number */

    atomic_bool is_many;  /* sinks know that more than one image comes; set under lock */
    pthread_mutex_t lock; /* held while a record is written */
    bool is_open;         /* the sinks have been opened and not been completed; under lock */
};

/* ---- opening ---- */

struct ih_pipeline *ih_pipeline_new(const struct ih_options *options,
                                    const struct ih_walk_sources *sources, uint64_t n_images)
{
    struct ih_total empty;
    struct ih_pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->options = p->messages.options = options;
    p->sources = sources;
    p->n_images = n_images;
    p->context = (struct ih_sink_context){
        .options = options, .is_one = n_images == 1, .messages = &p->messages};
    p->writes_images = !options->only_total && !options->compares && !options->by;
    p->writes_statistics = options->chart_path && p->writes_images;
    for (size_t i = 0; i < options->n_outputs; i++)
        p->writes_statistics |=
            p->writes_images && !ih_options_fields_of(options, &options->outputs[i]);
    pthread_mutex_init(&p->lock, NULL);
    atomic_init(&p->n_sinks, 0);
    /* Only --text of one image is another than that of many. */
    atomic_init(&p->is_many, n_images != 1 || options->with_total || options->by);
    atomic_init(&p->reference.is_complete, false);
    for (size_t i = 0; i < options->n_outputs; i++)
        p->messages.is_checking |= options->outputs[i].output == &ih_output_check;
    p->messages.started_ns = p->messages.ended_ns = ih_clock_ns();
    ih_total_init(&empty, &options->measure);
    p->reference.total = p->total.sum.total = p->diff.sides[0] = p->diff.sides[1] = empty;
    p->total.adds_images = options->with_total;
    p->total.has_groups_of_images = options->by != NULL;
    p->total.has_where = options->where != NULL;
    return p;
}

/* Makes closed sinks, which a signal's thread may already see. */
static enum ih_status make_sinks(struct ih_pipeline *p, struct ih_error *err)
{
    const struct ih_options *const o = p->options;
    enum ih_status status = IH_OK;
    for (size_t i = 0; i < o->n_outputs && status == IH_OK; i++, p->n_sinks += status == IH_OK)
        status = ih_data_sink_new(&p->context, &o->outputs[i], &p->sinks[i], err);
    if (status == IH_OK && o->chart_path &&
        (status = ih_chart_sink_new(&p->context, &p->sinks[p->n_sinks], err)) == IH_OK)
        p->n_sinks++;
    return status;
}

/* A program that reads the data from a pipe may write to the same terminal, as a pager does. Then
 * progress is shown only on request. */
static void open_progress(struct ih_pipeline *p)
{
    const struct ih_options *const o = p->options;
    bool is_piped = false;
    for (size_t i = 0; i < p->n_sinks; i++)
        is_piped = is_piped || p->sinks[i]->is_piped;
    if (ih_progress_is_wanted(o->progress, o->is_quiet || is_piped))
        p->messages.progress = ih_progress_open(p->n_images);
    if (p->n_images == 0)
        ih_progress_walk(p->messages.progress, p->sources);
}

enum ih_status ih_pipeline_open(struct ih_pipeline *p, const char **subject, struct ih_error *err)
{
    const struct ih_options *const o = p->options;
    *subject = NULL;
    p->folder = ih_common_folder(o);
    p->context.folder = p->folder;
    if (!p->folder)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = ih_destinations_check(o, &p->destinations, subject, err);
    if (status == IH_OK) {
        *subject = o->by;
        status = ih_by_open(o->by, &p->total.sum.total, &p->by, err);
        if (o->by && status != IH_OK && status != IH_MEMORY)
            ih_error_append(err, "--by=folder|band|format|label|size|samples|FILE");
    }
    if (status == IH_OK && o->is_sorted)
        status = ih_top_open(o->is_descending, o->n_top, o->finds_copies,
                             ih_options_memory_bytes(o), &p->top, err);
    if (status == IH_OK)
        status = make_sinks(p, err);
    for (size_t i = 0; i < o->n_outputs && status == IH_OK; i++) {
        *subject = o->outputs[i].path;
        status = ih_data_sink_open(p->sinks[i], err);
    }
    if (status != IH_OK)
        return status;
    pthread_mutex_lock(&p->lock);
    open_progress(p);
    p->is_open = true;
    pthread_mutex_unlock(&p->lock);
    ih_messages_open(&p->messages);
    return IH_OK;
}

const struct ih_file_identity *ih_pipeline_destinations(const struct ih_pipeline *p, size_t *n)
{
    *n = p->destinations.n_files;
    return p->destinations.files;
}

void ih_pipeline_begin(struct ih_pipeline *p, const struct ih_chain *chain)
{
    p->chain = chain;
}

/* ---- giving up ---- */

static void stop_progress(struct ih_pipeline *p)
{
    ih_progress_stop_walk(p->messages.progress);
    pthread_mutex_lock(&p->lock);
    if (ih_progress_close(p->messages.progress))
        p->messages.has_shown_progress = true;
    p->messages.progress = NULL;
    pthread_mutex_unlock(&p->lock);
}

static void unlink_files(struct ih_pipeline *p)
{
    for (size_t i = 0; i < p->n_sinks; i++)
        p->sinks[i]->calls->unlink(p->sinks[i]);
}

/* Exits without joining the other threads, which may be waiting for inputs that never end. */
_Noreturn static void leave(struct ih_pipeline *p, enum ih_exit code)
{
    unlink_files(p);
    _exit((int)code);
}

_Noreturn static void give_up(struct ih_pipeline *p, enum ih_exit code, const char *path,
                              const char *message)
{
    ih_messages_hold(&p->messages);
    ih_say(path, message);
    leave(p, code);
}

/* Ends the run after a failed write. A reader that closes its pipe, as head does, is no failure:
 * the program ends as SIGPIPE would have ended it. */
_Noreturn static void give_up_sink(struct ih_pipeline *p, const struct ih_sink *sink,
                                   const struct ih_error *err)
{
    if (sink->has_lost_reader) {
        ih_messages_hold(&p->messages);
        unlink_files(p);
        ih_end_by_sigpipe();
    }
    give_up(p, ih_exit_of(err->status), sink->subject, err->message);
}

/* Flushes, ends or commits a sink. step: NULL if it has nothing to do. */
static void do_step(struct ih_pipeline *p, struct ih_sink *sink, ih_sink_step *step)
{
    struct ih_error reason;
    if (step && step(sink, &reason) != IH_OK)
        give_up_sink(p, sink, &reason);
}

void ih_pipeline_give_up(struct ih_pipeline *p, const char *path, const struct ih_error *err)
{
    stop_progress(p);
    give_up(p, ih_exit_of(err->status), path, err->message);
}

void ih_pipeline_resume(struct ih_pipeline *p, uint64_t size_bytes)
{
    struct ih_error reason;
    for (size_t i = 0; i < p->options->n_outputs; i++)
        if (ih_data_sink_resume(p->sinks[i], size_bytes, &reason) != IH_OK)
            give_up(p, IH_EXIT_FAILED, p->options->resume_path, reason.message);
}

/* ---- in the worker: one result through its stages into bytes ---- */

/* What a worker makes of a result. */
struct product {
    bool is_selected, is_matched; /* by --where, by --fail-if */
    bool is_left_out;             /* by --top; nothing is rendered */
    struct ih_field_value key;    /* of --sort; a text is in bytes, from key_at on */
    size_t key_at;
    size_t ends[1 + SINKS_MAX]; /* in bytes: of the line of --fail-if and the key, and of each
                                   sink's part */
    char bytes[];
};

/* The key of --sort. A text lives as long as the result and the view. */
static struct ih_field_value key_of(const struct ih_options *o, const struct ih_result *result,
                                    struct ih_record_view *view)
{
    ih_record_view_init(view, result);
    view->linear = o->columns.linear;
    return ih_named_field_value(&o->sort, view);
}

/* The same; a text is written. */
static struct ih_field_value write_key(const struct ih_options *o, const struct ih_result *result,
                                       FILE *f)
{
    struct ih_record_view view;
    const struct ih_field_value key = key_of(o, result, &view);
    if (key.type == IH_TYPE_TEXT)
        fwrite(key.text, 1, strlen(key.text) + 1, f);
    return key;
}

/* The place of the thread's stream. */
static _Atomic(struct stream *) *stream_place(struct ih_pipeline *p)
{
    static atomic_uint n_threads;
    static _Thread_local unsigned number; /* 0: none yet */
    if (number == 0)
        number = 1 + atomic_fetch_add(&n_threads, 1);
    return &p->streams[number % STREAMS];
}

/* Returns an empty stream that the thread uses alone; NULL: out of memory. */
static struct stream *take_stream(struct ih_pipeline *p)
{
    struct stream *s = atomic_exchange(stream_place(p), NULL);
    if (s) {
        rewind(s->file);
        errno = 0;
        return s;
    }
    s = calloc(1, sizeof *s);
    if (s && (s->file = ih_memory_stream(&s->bytes, &s->n)))
        return s;
    free(s);
    return NULL;
}

static void close_stream(struct stream *s)
{
    if (s && ih_memory_stream_close(s->file, &s->bytes))
        free(s->bytes);
    free(s);
}

/* Returns the bytes that have been written, a product of malloc, and gives the stream back. NULL:
 * out of memory. */
static struct product *end_stream(struct ih_pipeline *p, struct stream *s)
{
    const bool has_failed = fflush(s->file) != 0 || ih_memory_stream_has_failed(s->file);
    struct product *const product = has_failed ? NULL : malloc(s->n);
    if (has_failed) {
        close_stream(s);
        return NULL;
    }
    if (product)
        memcpy(product, s->bytes, s->n);
    close_stream(atomic_exchange(stream_place(p), s));
    return product;
}

/* Renders a result for all sinks. Returns a product of malloc; NULL: out of memory. */
static struct product *render(struct ih_pipeline *p, const struct ih_result *result)
{
    struct product made = {.is_selected = true};
    char line[IH_MESSAGE_MAX];
    struct stream *const s = take_stream(p);
    if (!s)
        return NULL;
    FILE *const f = s->file;
    fwrite(&made, sizeof made, 1, f); /* set below */
    made.is_matched = !result->is_end && ih_fail_if_take(p->options->fail_if, result, line);
    if (made.is_matched)
        fwrite(line, 1, strlen(line) + 1, f);
    if (p->top) {
        made.key_at = made.is_matched ? strlen(line) + 1 : 0;
        made.key = write_key(p->options, result, f);
    }
    for (size_t i = 0; i <= p->n_sinks; i++) {
        if (i > 0 && p->sinks[i - 1]->calls->takes(p->sinks[i - 1], result))
            p->sinks[i - 1]->calls->render(p->sinks[i - 1], result, f);
        fflush(f); /* sets n */
        made.ends[i] = s->n - sizeof made;
    }
    struct product *const product = end_stream(p, s);
    if (product)
        memcpy(product, &made, sizeof made);
    return product;
}

/* The first member of an archive: what seemed to be one image is many. Nothing has been rendered,
 * because all other images follow it. */
static enum ih_status expect_many(struct ih_pipeline *p, struct ih_error *err)
{
    enum ih_status status = IH_OK;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_sinks && !p->is_many && status == IH_OK; i++)
        if (p->sinks[i]->calls->expect_many)
            status = p->sinks[i]->calls->expect_many(p->sinks[i], err);
    if (status == IH_OK)
        p->is_many = true;
    pthread_mutex_unlock(&p->lock);
    return status;
}

/* Whether each result is looked at, and not only added up. */
static bool needs_products(const struct ih_pipeline *p)
{
    return p->writes_images || p->options->where || p->options->against;
}

/* Whether --top leaves a record out. Only in the thread that takes results in order. */
static bool is_left_out(const struct ih_pipeline *p, const struct ih_result *result)
{
    struct ih_record_view view;
    if (p->options->n_top == 0 || p->options->fail_if)
        return false;
    const struct ih_field_value key = key_of(p->options, result, &view);
    return !ih_top_wants(p->top, &key);
}

/* Selects a result and renders it. Threads: any, but those of --top in_order. Returns as render. */
static struct product *make(struct ih_pipeline *p, const struct ih_result *result, bool in_order)
{
    const bool is_selected = ih_where_take(p->options->where, result);
    const bool is_out = is_selected && p->writes_images && in_order && is_left_out(p, result);
    if (is_selected && p->writes_images && !is_out)
        return render(p, result);
    struct product *product = calloc(1, sizeof *product);
    if (product) {
        product->is_selected = is_selected;
        product->is_left_out = is_out;
    }
    return product;
}

/* Returns NULL for a result that the other thread has to look at: until the reference is complete,
 * and after an error, which it then reports. */
void *ih_pipeline_finish(void *pipeline, const struct ih_input *input, struct ih_result *result)
{
    struct ih_pipeline *const p = pipeline;
    struct ih_error ignored;
    if (!needs_products(p) || input->source < p->options->n_references ||
        (p->options->against && !p->reference.is_complete))
        return NULL;
    if (input->is_member && !p->is_many && expect_many(p, &ignored) != IH_OK)
        return NULL;
    if (p->writes_statistics)
        ih_result_compute_stats(result);
    if (p->options->against && ih_against_take(&p->reference, result, &ignored) != IH_OK)
        return NULL;
    return make(p, result, false);
}

/* ---- in order: results are added up and written ---- */

/* Whether all inputs failed and the sink does not record failures. */
static bool is_worthless(const struct ih_pipeline *p, const struct ih_sink *sink)
{
    return p->messages.n_done == 0 && p->messages.n_failed > 0 && !sink->holds_failures;
}

/* Puts what has been rendered. The caller holds the lock. */
static void put(struct ih_pipeline *p, const struct ih_result *result,
                const struct product *product)
{
    struct ih_error reason;
    for (size_t i = 0; i < p->n_sinks; i++) {
        struct ih_sink *const sink = p->sinks[i];
        const size_t at = product->ends[i], n = product->ends[i + 1] - at;
        if (!sink->calls->takes(sink, result) || (result->is_total && is_worthless(p, sink)))
            continue;
        if (sink->is_on_terminal)
            ih_messages_hold(&p->messages);
        if (sink->calls->put(sink, result, product->bytes + at, n, &reason) != IH_OK)
            give_up_sink(p, sink, &reason);
    }
}

/* The line is the result of the gate, which --quiet keeps. */
static void report_match(struct ih_pipeline *p, const char *path, const char *line)
{
    p->messages.n_matched++;
    ih_messages_hold(&p->messages);
    ih_say(path, line);
}

/* Says whether --fail-if matches a result or a total. The caller holds the lock. */
static void judge(struct ih_pipeline *p, const struct ih_result *result,
                  const struct product *product)
{
    p->messages.n_judged += p->options->fail_if != NULL;
    if (product->is_matched)
        report_match(p, result->path, product->bytes);
}

/* Writes a result or a total. The caller holds the lock. */
static void write_result(struct ih_pipeline *p, const struct ih_result *result,
                         const struct product *product)
{
    const uint64_t started_ns = ih_clock_ns();
    p->n_records += !result->is_total;
    put(p, result, product);
    ih_messages_release(&p->messages);
    p->messages.write_ns += ih_clock_ns() - started_ns;
}

/* A record that waits for its place in the order of --sort. Its bins are gone: sinks only read what
 * describes the result. */
struct sorted_record {
    struct ih_result result;
    struct product *product; /* behind the struct, and the path behind it */
};

static void *must_allocate(struct ih_pipeline *p, size_t n_bytes)
{
    void *const memory = malloc(n_bytes);
    if (!memory)
        give_up(p, IH_EXIT_FAILED, NULL, "out of memory");
    return memory;
}

/* Gives a rendered result to the stage of --sort. */
static void sort_result(struct ih_pipeline *p, const struct ih_result *result,
                        const struct product *product)
{
    struct ih_field_value key = product->key;
    const size_t n_product = sizeof *product + product->ends[p->n_sinks];
    const size_t n_path = strlen(result->path) + 1;
    struct ih_error reason;
    key.text = product->bytes + product->key_at;
    if (!ih_top_wants(p->top, &key))
        return;
    const size_t n_bytes = sizeof(struct sorted_record) + n_product + n_path;
    struct sorted_record *const record = must_allocate(p, n_bytes);
    record->product = memcpy(record + 1, product, n_product);
    record->result = *result;
    (void)ih_histogram_take(&record->result.histogram);
    record->result.path = memcpy((char *)record->product + n_product, result->path, n_path);
    key.text = record->product->bytes + product->key_at;
    if (ih_top_take(p->top, &key, record, n_bytes, &reason) != IH_OK)
        give_up(p, IH_EXIT_FAILED, NULL, reason.message);
}

static void write_sorted(void *pipeline, void *record, bool begins_copies)
{
    struct ih_pipeline *const p = pipeline;
    struct sorted_record *const r = record;
    r->result.begins_copies = begins_copies;
    p->messages.n_copies++;
    p->messages.n_groups_of_copies += begins_copies;
    write_result(p, &r->result, r->product);
}

/* Speaks of a result and adds it up. */
static void add_up(struct ih_pipeline *p, const struct ih_item *item,
                   const struct ih_result *result, bool selected)
{
    const struct ih_options *const o = p->options;
    struct ih_error reason;
    p->messages.has_seen_name = selected && result->status == IH_OK && !result->is_total &&
                                !o->compares && ih_messages_see_name(&p->messages, result->path);
    ih_messages_result(&p->messages, item->path, result);
    p->messages.n_selected += selected;
    const enum ih_status status =
        o->compares ? ih_diff_take(&p->diff, item->source > 0, result, selected, &reason)
                    : ih_total_take(&p->total, result, selected, &reason);
    if (status != IH_OK) {
        ih_pipeline_flush(p); /* the records before it */
        give_up(p, IH_EXIT_FAILED, IH_TOTAL_NAME, reason.message);
    }
    if (ih_by_take(p->by, result, selected, &reason) != IH_OK) {
        ih_pipeline_flush(p);
        give_up(p, ih_exit_of(reason.status), result->path, reason.message);
    }
}

/* Compares a result with the reference, which must not be empty. */
static void compare(struct ih_pipeline *p, struct ih_result *result)
{
    struct ih_error reason;
    const enum ih_status status = ih_against_take(&p->reference, result, &reason);
    if (status != IH_OK)
        give_up(p, ih_exit_of(status), status == IH_UNKNOWN ? p->options->against : result->path,
                reason.message);
}

static void take_result(struct ih_pipeline *p, const struct ih_item *item,
                        const struct ih_result *result)
{
    const struct product *product = result->product;
    struct product *made = NULL; /* here, of a result that no worker has finished */
    struct ih_result compared;
    if (!product && !result->is_total && needs_products(p)) {
        if (p->options->against && result->status == IH_OK) {
            compared = *result;
            compare(p, &compared);
            result = &compared;
        }
        product = made = make(p, result, true);
        if (!made)
            give_up(p, IH_EXIT_FAILED, result->path, "out of memory");
    }
    const bool selected = !product || product->is_selected;
    add_up(p, item, result, selected);
    if (selected && product && p->writes_images && !product->is_left_out) {
        pthread_mutex_lock(&p->lock);
        judge(p, result, product);
        (p->top && !result->is_total ? sort_result : write_result)(p, result, product);
        pthread_mutex_unlock(&p->lock);
    }
    free(made);
    p->messages.ended_ns = ih_clock_ns();
    if (result->status != IH_OK && p->options->fails_fast)
        leave(p, ih_pipeline_end(p, 0));
}

/* An item of the reference, which is complete before the first other item. */
static void take_reference(struct ih_pipeline *p, const struct ih_item *item)
{
    struct ih_error reason;
    if (item->kind == IH_ITEM_FAILURE) {
        reason = item->result->error;
        ih_explain_error(item->path, &reason);
        if (reason.status == IH_IO && strcmp(item->path, p->options->against) == 0)
            ih_error_append(&reason, "--against=total|FILE|DIR");
        /* With "total", the file comes again as an input. */
        if (strcmp(p->options->against, "total") != 0)
            ih_messages_reference(&p->messages, item->path, &reason);
    } else if (item->result && ih_total_add(&p->reference.total, item->result, &reason) != IH_OK) {
        give_up(p, IH_EXIT_FAILED, item->path, reason.message);
    }
}

void ih_pipeline_take(struct ih_pipeline *p, const struct ih_item *item)
{
    struct ih_error reason;
    struct ih_result shown;
    const struct ih_result *result = item->result;
    if (item->source < p->options->n_references) {
        take_reference(p, item);
        return;
    }
    p->reference.is_complete = true;
    if (item->is_member && !p->has_members) { /* there are more inputs than were known */
        p->has_members = true;
        ih_progress_forget_inputs(p->messages.progress);
        if (!p->is_many && expect_many(p, &reason) != IH_OK)
            give_up(p, IH_EXIT_FAILED, NULL, reason.message);
    }
    if (item->kind == IH_ITEM_SKIPPED) {
        ih_messages_skip(&p->messages, item->path, item->error.message);
        return;
    }
    if (item->kind == IH_ITEM_FOLDER_END) {
        ih_messages_end_folder(&p->messages, item->path);
        return;
    }
    if (ih_total_check(&p->total, result, &reason) != IH_OK)
        give_up(p, IH_EXIT_USAGE, item->result_file ? item->result_file : item->path,
                reason.message);
    if (item->kind == IH_ITEM_FAILURE && (item->error.status == IH_IO || item->error.limit)) {
        shown = *result;
        ih_explain_error(item->path, &shown.error);
        result = &shown;
    }
    take_result(p, item, result);
}

void ih_pipeline_flush(struct ih_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->n_sinks; i++)
        do_step(p, p->sinks[i], p->sinks[i]->calls->flush);
    pthread_mutex_unlock(&p->lock);
}

/* ---- the end ---- */

/* False for a part of a run, and for all parts with --where: they may have no input. */
static bool found_no_input(const struct ih_pipeline *p)
{
    return p->messages.n_done + p->messages.n_failed == 0 && !p->options->n_shards &&
           !(p->chain && ih_chain_merged_run(p->chain));
}

/* A worthless file is not made, and replaces none. */
static bool is_kept(const struct ih_pipeline *p, const struct ih_sink *sink)
{
    if (p->options->compares)
        return p->has_comparison;
    return (!is_worthless(p, sink) && !found_no_input(p)) ||
           (sink->is_standard && !p->options->only_total);
}

static struct product *must_render(struct ih_pipeline *p, const struct ih_result *result)
{
    struct product *const product = render(p, result);
    if (!product)
        give_up(p, IH_EXIT_FAILED, result->path, "out of memory");
    return product;
}

static void give_total(void *pipeline, struct ih_result *total)
{
    struct ih_pipeline *const p = pipeline;
    if (p->options->against && total->histogram.n_pixels > 0)
        compare(p, total);
    struct product *const product = must_render(p, total);
    judge(p, total, product);
    write_result(p, total, product);
    free(product);
}

/* The last record of a complete shard. */
static void give_end(struct ih_pipeline *p, uint64_t run)
{
    const struct ih_result end = {.is_end = true,
                                  .shard = p->options->shard,
                                  .n_shards = p->options->n_shards,
                                  .run = run,
                                  .n_images = p->n_records};
    struct product *const product = must_render(p, &end);
    put(p, &end, product);
    free(product);
}

/* --diff: writes the comparison, unless a side has nothing to compare or is incomplete. */
static void give_comparison(struct ih_pipeline *p)
{
    const struct ih_options *const o = p->options;
    const struct ih_total *const sides[2] = {&p->diff.sides[0], &p->diff.sides[1]};
    struct ih_comparison c;
    struct ih_error reason;
    char line[IH_MESSAGE_MAX];
    unsigned empty;
    if (o->fails_fast && p->messages.n_failed > 0)
        return;
    const enum ih_status status = ih_diff_end(&p->diff, &c, &empty, &reason);
    if (status == IH_UNKNOWN && *reason.message)
        ih_say(o->paths[empty], reason.message);
    else if (status != IH_OK && status != IH_UNKNOWN)
        give_up(p, IH_EXIT_FAILED, NULL, reason.message);
    if (status != IH_OK)
        return;
    ih_messages_compare(&p->messages, sides);
    for (unsigned i = 0; i < 2; i++)
        c.sides[i].path =
            strcmp(o->paths[i], "-") == 0 && o->stdin_name ? o->stdin_name : o->paths[i];
    p->has_comparison = true;
    for (size_t i = 0; i < p->n_sinks; i++)
        if (p->sinks[i]->calls->compare(p->sinks[i], &c, &reason) != IH_OK)
            give_up_sink(p, p->sinks[i], &reason);
    if (ih_fail_if_compare(o->fail_if, &c, line))
        report_match(p, NULL, line);
}

/* Gives the sinks what the stages have added up. */
static void end_stages(struct ih_pipeline *p, uint64_t run)
{
    const struct ih_options *const o = p->options;
    struct ih_result total;
    if (p->top && ih_top_end(p->top, write_sorted, p) && p->messages.n_done > 0)
        ih_messages_note(&p->messages, NULL,
                         "no record has the field of --sort: they are in the order of the inputs");
    if (!o->only_total)
        ih_by_end(p->by, give_total, p);
    if (o->compares) {
        give_comparison(p);
    } else if (ih_total_end(&p->total, ih_chain_measure(p->chain), &total)) {
        total.shard = o->shard;
        total.n_shards = o->n_shards;
        total.run = o->n_shards ? run : 0;
        give_total(p, &total);
    } else if (o->n_shards && run) {
        give_end(p, run);
    }
}

/* Ends all documents; then renames the files to their names. */
static void end_sinks(struct ih_pipeline *p)
{
    for (size_t i = 0; i < p->n_sinks; i++)
        if (is_kept(p, p->sinks[i]))
            do_step(p, p->sinks[i], p->sinks[i]->calls->end);
    for (size_t i = 0; i < p->n_sinks; i++)
        if (is_kept(p, p->sinks[i]))
            do_step(p, p->sinks[i], p->sinks[i]->calls->commit);
}

/* Inputs that the list of --by lacks. Returns true if it lacks all: an error. */
static bool report_left_out(struct ih_pipeline *p)
{
    const char *first;
    char name[IH_ESCAPED_MAX], line[IH_ESCAPED_MAX + 96];
    const uint64_t n = ih_by_n_left_out(p->by, &first);
    if (n == 0)
        return false;
    ih_escape(name, sizeof name, first);
    snprintf(line, sizeof line, "%" PRIu64 " input%s not in this list, and in no group: %s", n,
             n == 1 ? " is" : "s are", name);
    if (ih_by_n_groups(p->by) > 0)
        ih_messages_note(&p->messages, p->options->by, "%s%s", line, n > 1 ? ", ..." : "");
    else
        ih_say(p->options->by, line);
    return ih_by_n_groups(p->by) == 0;
}

enum ih_exit ih_pipeline_end(struct ih_pipeline *p, uint64_t run)
{
    stop_progress(p);
    pthread_mutex_lock(&p->lock);
    end_stages(p, run);
    end_sinks(p);
    p->is_open = false;
    pthread_mutex_unlock(&p->lock);
    const struct ih_options *const o = p->options;
    const bool has_none = found_no_input(p);
    ih_messages_end(&p->messages, has_none);
    const bool lacks_all = o->by && report_left_out(p);
    if (p->total.has_totals && p->total.has_images && !o->compares)
        ih_messages_note(
            &p->messages, NULL,
            "a total of a result file and single images are added up; an image that is "
            "in both counts twice");
    if (has_none || lacks_all || p->messages.n_failed || p->messages.n_references_failed ||
        p->messages.n_charts_failed || (o->compares && !p->has_comparison))
        return IH_EXIT_FAILED;
    return p->messages.n_matched ? IH_EXIT_MATCHED : IH_EXIT_OK;
}

void ih_pipeline_interrupt(struct ih_pipeline *p)
{
    struct ih_error ignored;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    /* The lock is kept: nothing may be written any more. */
    const bool is_between_records = pthread_mutex_timedlock(&p->lock, &until) == 0;
    unlink_files(p);
    if (!is_between_records || !p->is_open)
        return;
    ih_progress_interrupt(p->messages.progress, &until);
    for (size_t i = 0; i < p->n_sinks; i++) /* the last records */
        if (p->sinks[i]->calls->flush)
            p->sinks[i]->calls->flush(p->sinks[i], &ignored);
}

void ih_pipeline_close(struct ih_pipeline *p)
{
    if (!p)
        return;
    stop_progress(p);
    for (size_t i = 0; i < p->n_sinks; i++)
        p->sinks[i]->calls->close(p->sinks[i]);
    ih_by_close(p->by);
    ih_top_close(p->top);
    ih_sum_reset(&p->total.sum);
    ih_total_reset(&p->diff.sides[0]);
    ih_total_reset(&p->diff.sides[1]);
    ih_total_reset(&p->reference.total);
    free(p->folder);
    free(p->messages.hashes);
    for (unsigned i = 0; i < STREAMS; i++)
        close_stream(p->streams[i]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
