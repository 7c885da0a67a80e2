/*
 * Sinks: where results end, as bytes. A file of data is one, and so are all charts of a run.
 *
 * A sink has two halves. render makes the bytes of one result, in the worker that counted it or in
 * the main thread; put writes them, in order and in one thread.
 */
#ifndef IH_CLI_SINK_H
#define IH_CLI_SINK_H

#include "cli/messages.h"

/* Begins the struct of each sink. */
struct ih_sink {
    const struct ih_sink_calls *calls;
    const char *subject;  /* the file that the last error is about */
    bool has_lost_reader; /* the last error is that of a closed pipe */
    bool is_standard;     /* standard output */
    bool is_on_terminal;  /* perhaps the terminal that shows progress */
    bool is_piped;
    bool holds_failures; /* a file of failures alone is worth keeping */
};

typedef enum ih_status ih_sink_step(struct ih_sink *sink, struct ih_error *err);

/* Calls that return a status fill err. */
struct ih_sink_calls {
    /* Whether a result goes to this sink. Threads: any. */
    bool (*takes)(const struct ih_sink *sink, const struct ih_result *result);

    /* Makes the bytes of a result that it takes. Threads: any, several at once. */
    void (*render)(const struct ih_sink *sink, const struct ih_result *result, FILE *bytes);

    /* Writes them. Only copies, and makes the file if each result has its own. */
    enum ih_status (*put)(struct ih_sink *sink, const struct ih_result *result, const char *bytes,
                          size_t n, struct ih_error *err);

    /* Writes a comparison, instead of all results. */
    enum ih_status (*compare)(struct ih_sink *sink, const struct ih_comparison *comparison,
                              struct ih_error *err);

    /* NULL: nothing to do. */
    ih_sink_step *expect_many; /* more results come than one; before any other call but takes */
    ih_sink_step *flush;       /* lets the reader of a pipe see all results so far */
    ih_sink_step *end;         /* completes the document */
    ih_sink_step *commit;      /* names the files */

    /* Removes temporary files and blocks later calls, so that only exiting may follow. Threads:
     * any, at any time. */
    void (*unlink)(struct ih_sink *sink);
    void (*close)(struct ih_sink *sink); /* removes what is not committed */
};

/* What all sinks of a run share. Borrowed until close. */
struct ih_sink_context {
    const struct ih_options *options;
    const char *folder; /* of all inputs */
    bool is_one;        /* the run has one image; a directory, a list, an archive or a result file
                           counts as many */
    struct ih_messages *messages;
};

/* ---- data_sink.c: results in one format, in a file or on standard output ---- */

/* Makes a closed sink. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_data_sink_new(const struct ih_sink_context *context,
                                const struct ih_data_output *data, struct ih_sink **sink,
                                struct ih_error *err);

/* Opens its file. Returns IH_OK, IH_IO, IH_CONFLICT or IH_MEMORY. */
enum ih_status ih_data_sink_open(struct ih_sink *sink, struct ih_error *err);

/* Cuts the file of --resume, if it is this sink's, to the records that are done. */
enum ih_status ih_data_sink_resume(struct ih_sink *sink, uint64_t size_bytes, struct ih_error *err);

/* ---- chart_sink.c: one chart, or a chart for each input in a directory ---- */

/* Returns IH_OK, IH_USAGE (the ending of a format that is not supported) or IH_MEMORY. */
enum ih_status ih_chart_sink_new(const struct ih_sink_context *context, struct ih_sink **sink,
                                 struct ih_error *err);

#endif
