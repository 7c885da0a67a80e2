/*
 * Names in a terminal: how many columns they take, and how they are shortened to fit.
 *
 * Columns are what wcwidth says in the locale of the process: two for most East Asian characters
 * and emoji, none for combining marks. In a locale that does not know a character it counts as one.
 */
#ifndef IH_OUTPUT_TEXT_NAME_H
#define IH_OUTPUT_TEXT_NAME_H

#include <stdbool.h>
#include <stdio.h>

/* Columns that UTF-8 text without control characters takes. */
unsigned ih_text_width(const char *text);

/*
 * Writes text, cut in the middle where it takes more than `columns`, so that where a path begins
 * and how it ends are still seen. A character and the marks on it are never torn apart.
 *
 * text      UTF-8 without control characters (ih_escape)
 * columns   0: as many as there are
 * unicode   whether the gap is marked by an ellipsis or by three points
 */
void ih_text_put_short(FILE *f, const char *text, unsigned columns, bool unicode);

#endif
