/*
 * Reads JSON in memory: one line of a result file at a time.
 *
 * Records are long lists of small integers. On the machine of tests/bench/results/merge.txt, the
 * libraries of Debian 12 read them at 170 MB/s (yajl), 190 (jsmn), 370 (RapidJSON, without any
 * check) and 750 (simdjson) of CPU time. The first three miss the goal of 300 MB/s for reading and
 * checking. simdjson needs the C++ library, and loading both would nearly double the 1.8 ms that
 * imghist takes to start.
 *
 * Source: RFC 8259. Numbers are read as integers of 64 bits; others are skipped.
 */
#ifndef IH_RECORDS_JSON_IN_H
#define IH_RECORDS_JSON_IN_H

#include "histogram/histogram.h"

/* The text, with a NUL after its end. It is changed: strings are decoded where they lie. */
struct ih_json_in {
    char *p;
    const char *why; /* the first error, static; NULL: none */
    const char *key; /* of the field that it is about: "KEY is WHY"; NULL: of none */
    bool is_cut;     /* the text ends where that error is */
};

/* Sets why unless it is set. Returns false. */
bool ih_json_fail(struct ih_json_in *in, const char *why);

/* The same for a field: "alpha" is "missing". */
bool ih_json_fail_field(struct ih_json_in *in, const char *key, const char *why);

/* Each of these skips blanks, reads one value and returns false after an error. */

bool ih_json_token(struct ih_json_in *in, char token); /* such as '{' */
bool ih_json_next_is(struct ih_json_in *in, char c);   /* consumes nothing; never an error */
bool ih_json_skip(struct ih_json_in *in);              /* a value of any kind */

/* *text: decoded, valid UTF-8, ends with a NUL and has no other; lives in the text; NULL for
 * null. */
bool ih_json_text(struct ih_json_in *in, char **text);

bool ih_json_count(struct ih_json_in *in, uint64_t *n); /* an integer from 0 to 2^64 - 1 */
bool ih_json_bool(struct ih_json_in *in, bool *is_true);

/* An array of exactly n integers. */
bool ih_json_counts(struct ih_json_in *in, uint64_t *counts, size_t n);

/* The rest of an array of integers, its end included: at least one, at most n. */
bool ih_json_rest(struct ih_json_in *in, uint64_t *counts, size_t n, size_t *n_read);

/* The members that an object may have: n rows of row_bytes, each of which begins with a struct
 * ih_field. A key that is NULL is in no object. read reads the value of one of them. */
struct ih_json_members {
    const void *rows;
    size_t row_bytes, n;
    bool (*read)(struct ih_json_in *in, const struct ih_field *field, void *to);
};

/* Reads an object. Other members are skipped; a key that stands twice is an error. seen: a word for
 * 64 rows, bit i % 64 of word i / 64 is row i. */
bool ih_json_object(struct ih_json_in *in, const struct ih_json_members *members, void *to,
                    uint64_t *seen);

/* Calls read for each element of an array, with `to`. */
bool ih_json_array(struct ih_json_in *in, bool (*read)(struct ih_json_in *in, void *to), void *to);

#endif
