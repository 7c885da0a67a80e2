/* What the two views of the summary share. */
#ifndef IH_OUTPUT_TEXT_PARTS_H
#define IH_OUTPUT_TEXT_PARTS_H

#include "output/output.h"

enum { IH_TEXT_COLUMNS = 80 }; /* where there is no terminal to ask */

struct ih_text {
    FILE *stream; /* borrowed */
    struct ih_output_options options;
    unsigned columns;   /* to lay out for */
    bool is_first_line; /* the lines have no heading yet */
};

/* All there is to say about one image, in about 20 lines. */
void ih_text_full(struct ih_text *text, const struct ih_result *result);

/* An image in one line, below a heading. */
void ih_text_line(struct ih_text *text, const struct ih_result *result);

/* An ANSI sequence where there is colour, else "". */
const char *ih_text_style(const struct ih_text *text, const char *ansi);
#define IH_ANSI_BOLD "\033[1m"
#define IH_ANSI_PLAIN "\033[0m"

/* A share in percent in at most 5 columns, "12.34": 0 only for nothing, 100 only for all. */
enum { IH_PERCENT_MAX = 8 };
const char *ih_text_percent(char shown[IH_PERCENT_MAX], uint64_t part, uint64_t whole);

#endif
