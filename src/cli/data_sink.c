/* Data sinks: results in one format, in a file or on standard output. */
#define _DEFAULT_SOURCE /* TIOCGWINSZ is not in POSIX */

#include "cli/destinations.h"
#include "cli/sink.h"
#include "output/file.h"

#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A record with all bins has 12 KB; stdio's own buffer has 4. */
enum { BUFFER_BYTES = 1 << 16 };

struct data_sink {
    struct ih_sink base;
    const struct ih_sink_context *context; /* borrowed, as data */
    const struct ih_data_output *data;
    struct ih_outfile file;
    void *state;     /* of data->output; NULL: not begun */
    char *buffer;    /* owned; NULL: of standard output */
    bool is_resumed; /* the file of --resume, which has the records that are read back */
    /* After each record, not only when no further one is ready: a next run sees each record, or
     * messages appear in the same place. */
    bool flushes_records;
};

/* Whether standard output and the messages go to the same file or pipe. */
static bool is_beside_messages(void)
{
    struct stat data, messages;
    return fstat(STDOUT_FILENO, &data) == 0 && fstat(STDERR_FILENO, &messages) == 0 &&
           data.st_dev == messages.st_dev && data.st_ino == messages.st_ino;
}

/* ---- the terminal ---- */

enum { COLUMNS_MAX = 9999 };

/* COLUMNS comes first: it also applies to a pipe. 0: unknown. */
static unsigned columns_of(FILE *stream)
{
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    long n = columns ? strtol(columns, &end, 10) : 0;
    if (n > 0 && n <= COLUMNS_MAX && *end == '\0')
        return (unsigned)n;
    struct winsize size;
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static bool has_colours(FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(stream)) == 1 && !(no_color && *no_color) && term && *term &&
           strcmp(term, "dumb") != 0;
}

static enum ih_status begin(struct data_sink *s, bool is_one, struct ih_error *err)
{
    const struct ih_options *const o = s->context->options;
    FILE *const stream = s->file.stream;
    struct ih_output_options look = {.layout = s->data->layout,
                                     .folder = s->context->folder,
                                     .columns = &o->columns,
                                     .fields = ih_options_fields_of(o, s->data),
                                     .verbose = o->is_verbose,
                                     .title = o->chart.title,
                                     .path = s->data->path,
                                     .thumbnails = o->makes_thumbnails,
                                     .has_distances = o->against != NULL,
                                     .reference = o->against,
                                     .where = ih_option_value(o, "where"),
                                     .has_bands = o->by && strcmp(o->by, "band") == 0,
                                     .colour = o->color == IH_COLOR_ALWAYS ||
                                               (o->color == IH_COLOR_AUTO && has_colours(stream)),
                                     .unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                                     .width = columns_of(stream)};
    if (s->data->output == &ih_output_text && !look.layout)
        look.layout = (o->with_total ? o->only_total : is_one && !o->by) ? "full" : "lines";
    return ih_output_open(s->data->output, stream, &look, &s->state, err);
}

/* ---- the file ---- */

enum ih_status ih_data_sink_open(struct ih_sink *sink, struct ih_error *err)
{
    static char standard_buffer[BUFFER_BYTES]; /* standard output needs it until the program ends */
    struct data_sink *const s = (struct data_sink *)sink;
    const char *const path = s->data->path;
    struct stat st;
    if (path && ih_make_directories(path, err) != IH_OK)
        return err->status;
    s->buffer = path ? malloc(BUFFER_BYTES) : NULL;
    if (path && !s->buffer)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    const enum ih_status status = s->is_resumed ? ih_outfile_append(&s->file, path, err)
                                                : ih_outfile_open(&s->file, path, err);
    if (status != IH_OK)
        return status;
    setvbuf(s->file.stream, path ? s->buffer : standard_buffer, _IOFBF, BUFFER_BYTES);
    const int descriptor = fileno(s->file.stream);
    sink->is_standard = s->file.is_standard;
    sink->is_on_terminal = isatty(descriptor) == 1;
    sink->is_piped = fstat(descriptor, &st) == 0 && S_ISFIFO(st.st_mode);
    s->flushes_records =
        s->is_resumed || sink->is_on_terminal || (sink->is_standard && is_beside_messages());
    return begin(s, s->context->is_one, err);
}

enum ih_status ih_data_sink_resume(struct ih_sink *sink, uint64_t size_bytes, struct ih_error *err)
{
    const struct data_sink *const s = (struct data_sink *)sink;
    if (!s->is_resumed || ftruncate(fileno(s->file.stream), (off_t)size_bytes) == 0)
        return IH_OK;
    return ih_error_errno(err, errno, "cannot write");
}

/* The error of a write, if one has failed. The page adds up too, which may take memory. */
static enum ih_status check(struct data_sink *s, bool flushes, struct ih_error *err)
{
    const bool has_memory = errno != ENOMEM;
    if ((!flushes || fflush(s->file.stream) == 0) && !ferror(s->file.stream) && has_memory)
        return IH_OK;
    const int error = errno ? errno : EIO;
    s->base.has_lost_reader = error == EPIPE;
    return ih_error_errno(err, error, "cannot write");
}

/* ---- the calls ---- */

static bool data_takes(const struct ih_sink *sink, const struct ih_result *result)
{
    const struct data_sink *const s = (const struct data_sink *)sink;
    if (result->is_end)
        return s->data->output == &ih_output_ndjson;
    return !(result->is_read && s->is_resumed);
}

static void data_render(const struct ih_sink *sink, const struct ih_result *result, FILE *bytes)
{
    const struct data_sink *const s = (const struct data_sink *)sink;
    s->data->output->render(s->state, result, bytes);
}

static enum ih_status data_put(struct ih_sink *sink, const struct ih_result *result,
                               const char *bytes, size_t n, struct ih_error *err)
{
    struct data_sink *const s = (struct data_sink *)sink;
    errno = 0;
    s->data->output->put(s->state, result, bytes, n);
    return check(s, s->flushes_records, err);
}

static enum ih_status data_compare(struct ih_sink *sink, const struct ih_comparison *comparison,
                                   struct ih_error *err)
{
    struct data_sink *const s = (struct data_sink *)sink;
    errno = 0;
    s->data->output->compare(s->state, comparison);
    return check(s, s->flushes_records, err);
}

/* The text of one image is another than that of many. */
static enum ih_status data_expect_many(struct ih_sink *sink, struct ih_error *err)
{
    struct data_sink *const s = (struct data_sink *)sink;
    if (s->data->output != &ih_output_text || s->data->layout)
        return IH_OK;
    ih_output_close(s->data->output, s->state);
    s->state = NULL;
    return begin(s, false, err);
}

static enum ih_status data_flush(struct ih_sink *sink, struct ih_error *err)
{
    struct data_sink *const s = (struct data_sink *)sink;
    errno = 0;
    return s->file.is_standard && !s->flushes_records ? check(s, true, err) : IH_OK;
}

static enum ih_status data_end(struct ih_sink *sink, struct ih_error *err)
{
    struct data_sink *const s = (struct data_sink *)sink;
    errno = 0;
    if (s->data->output->end && !s->context->options->compares) /* a comparison has no end */
        s->data->output->end(s->state);
    return check(s, true, err);
}

static enum ih_status data_commit(struct ih_sink *sink, struct ih_error *err)
{
    return ih_outfile_commit(&((struct data_sink *)sink)->file, err);
}

static void data_unlink(struct ih_sink *sink)
{
    ih_outfile_unlink(&((struct data_sink *)sink)->file);
}

static void data_close(struct ih_sink *sink)
{
    struct data_sink *const s = (struct data_sink *)sink;
    ih_output_close(s->data->output, s->state);
    ih_outfile_discard(&s->file);
    free(s->buffer);
    free(s);
}

static const struct ih_sink_calls calls = {
    .takes = data_takes,
    .render = data_render,
    .put = data_put,
    .compare = data_compare,
    .expect_many = data_expect_many,
    .flush = data_flush,
    .end = data_end,
    .commit = data_commit,
    .unlink = data_unlink,
    .close = data_close,
};

enum ih_status ih_data_sink_new(const struct ih_sink_context *context,
                                const struct ih_data_output *data, struct ih_sink **sink,
                                struct ih_error *err)
{
    struct data_sink *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->base.calls = &calls;
    s->base.subject = data->path ? data->path : "standard output";
    s->base.holds_failures = ih_output_holds_failures(data->output, data->layout);
    s->context = context;
    s->data = data;
    s->is_resumed =
        context->options->resume_path && data->output == &ih_output_ndjson && data->path;
    ih_outfile_init(&s->file);
    *sink = &s->base;
    return IH_OK;
}
