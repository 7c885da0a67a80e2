/*
 * Outputs: what becomes of results.
 *
 * An output is one vtable in one file plus a line in outputs.def. Results arrive in the order of
 * the inputs, failed ones too, one at a time. An output writes to the stream it is given and never
 * looks at anything but results; a write that fails is found by the caller through ferror.
 */
#ifndef IH_OUTPUT_OUTPUT_H
#define IH_OUTPUT_OUTPUT_H

#include "counts/result.h"

#include <stdio.h>

struct ih_output_options {
    const char *layout; /* of CSV: "channels", ...; of text: "full", "lines"; NULL: the first */
    bool colour;        /* text: ANSI colours */
    bool unicode;       /* text: block elements and other non-ASCII characters */
    unsigned columns;   /* text: of the terminal; 0: none, names are not shortened */
    bool verbose;       /* say who decoded and counted */
};

struct ih_output {
    const char *name; /* "csv"; the option that selects it is --csv */
    const char *title;
    bool holds_failures; /* a document of nothing but failures is worth keeping */

    /* *state   owned by the caller, released with close. Returns IH_OK, IH_USAGE or IH_MEMORY. */
    enum ih_status (*begin)(FILE *stream, const struct ih_output_options *options, void **state,
                            struct ih_error *err);
    void (*record)(void *state, const struct ih_result *result);
    void (*end)(void *state);   /* writes what completes the document */
    void (*close)(void *state); /* releases state, writes nothing */
};

#define OUTPUT(name) extern const struct ih_output ih_output_##name;
#include "output/outputs.def"
#undef OUTPUT

extern const struct ih_output *const ih_outputs[]; /* NULL at the end */

/*
 * Writes v with 6 decimals and a point, whatever the locale, rounded to nearest; "" for NaN.
 *
 * v      finite or NaN, |v| < 9e9: above, millionths are more than a double holds
 * text   char [IH_REAL_MAX]
 */
enum { IH_REAL_MAX = 32 };
const char *ih_format_real(double v, char text[IH_REAL_MAX]);

/*
 * Writes n in decimal digits and returns what follows the last, without a NUL. A record has 1,000
 * counts and more, and printf takes seven times as long for each.
 *
 * text   room for IH_COUNT_MAX characters
 */
enum { IH_COUNT_MAX = 20 };
char *ih_format_count(char *text, uint64_t n);

#endif
