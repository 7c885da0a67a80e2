/*
 * Outputs write results as CSV, JSON, text or a page, or write the names of some.
 *
 * An output is one vtable in one file plus a line in outputs.def. It has two halves. render
 * makes the bytes of one record, in any thread; then one thread puts the bytes of all records in
 * input order. Failed inputs have results too. NDJSON alone also gets the end of a shard
 * (is_end). An output only reads results and only writes to its stream. Write errors stay in the
 * stream: the caller checks ferror.
 */
#ifndef IH_OUTPUT_OUTPUT_H
#define IH_OUTPUT_OUTPUT_H

#include "output/schema.h"

#include <stdio.h>

/* Clipped shares from this percentage of the pixels on are coloured in text and HTML, and make an
 * image count as blown or crushed in the last line of text. */
enum { IH_MARKED_PERCENT = 1 };

struct ih_output_options {
    const char *layout;    /* CSV: "channels", ...; text: "full" or "lines"; NULL: the first one */
    bool colour;           /* text: use ANSI colours */
    bool unicode;          /* text: use block elements and other non-ASCII characters */
    const char *folder;    /* text: of all inputs, "photos/"; NULL: none. Borrowed until close */
    unsigned width;        /* text: columns of the terminal; 0: not a terminal, keep long names */
    bool has_distances;    /* text: to the reference of --against */
    const char *title;     /* HTML; NULL: the folder. Borrowed until close, as path */
    const char *path;      /* HTML: of the page; NULL: standard output */
    const char *where;     /* HTML: the condition of all records; NULL: none */
    const char *reference; /* HTML: of the distances; "total": all images; NULL: none */
    bool thumbnails;       /* HTML: images have thumbnails, except those of result files */
    bool has_bands;        /* HTML: records are those of --by=band */
    const struct ih_columns *columns;   /* of records and channels. Borrowed until close */
    const struct ih_field_list *fields; /* CSV of images and stats, NDJSON: these, instead of all
                                           columns. NULL: none are chosen. Borrowed until close */
    bool verbose;                       /* name the decoder, device and kernel of each result */
};

/* The state of every output begins with it. */
struct ih_output_state {
    FILE *stream; /* borrowed */
    struct ih_output_options options;
};

struct ih_output {
    const char *name; /* "csv"; the option --csv selects it */
    const char *title;
    const char *failures_in; /* the layout with records of failed inputs; "": all; NULL: none */
    size_t state_bytes;      /* what follows struct ih_output_state is 0 at first */

    void (*begin)(void *state); /* NULL: nothing is done, as for end and close */

    /* Makes the bytes of one result's record; none if the result has no record. Any thread may call
     * it, several at once, in any order. */
    void (*render)(const void *state, const struct ih_result *result, FILE *bytes);

    /* Writes these n bytes, and what depends on the order of the records: the header before the
     * first row, the comma between two. One thread calls it, for each result in input order. It
     * only copies and counts. */
    void (*put)(void *state, const struct ih_result *result, const char *bytes, size_t n);

    void (*end)(void *state);   /* completes the document */
    void (*close)(void *state); /* releases what the state owns, writes nothing */

    /* Writes a comparison as a whole document, instead of records and their end. NULL: the output
     * writes no comparisons. */
    void (*compare)(const void *state, const struct ih_comparison *comparison);
};

/* Begins a document. *state   owned by the caller. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_output_open(const struct ih_output *output, FILE *stream,
                              const struct ih_output_options *options, void **state,
                              struct ih_error *err);

/* Releases the state. NULL is allowed. */
void ih_output_close(const struct ih_output *output, void *state);

/* Implements put of outputs whose records stand by themselves. */
static inline void ih_output_put_bytes(void *state, const struct ih_result *result,
                                       const char *bytes, size_t n)
{
    const struct ih_output_state *const s = state;
    (void)result;
    fwrite(bytes, 1, n, s->stream);
}

#define OUTPUT(name) extern const struct ih_output ih_output_##name;
#include "output/outputs.def"

extern const struct ih_output *const ih_outputs[]; /* NULL at the end */

/* True if failed inputs have records in this layout (NULL: the first), so that a file of failures
 * alone is kept. */
bool ih_output_holds_failures(const struct ih_output *output, const char *layout);

/* Writes the record of a result, the same in JSON and NDJSON. */
void ih_json_put_record(FILE *f, const struct ih_result *result, const struct ih_columns *columns,
                        bool is_verbose);

/* Writes text, or null for NULL, as a JSON string that is always valid UTF-8: U+FFFD replaces each
 * invalid byte. DEL and the C1 controls are escaped because a terminal would obey them. */
void ih_json_put_string(FILE *f, const char *text);

/* Writes bytes in base64 (RFC 4648, section 4), in quotes. */
void ih_json_put_base64(FILE *f, const void *bytes, size_t n);

/* As ih_json_put_string, for a script element of an HTML page, which "</script>" in a string would
 * end. */
void ih_json_put_string_in_html(FILE *f, const char *text);

#endif
