#define _XOPEN_SOURCE 700 /* wcwidth */

#include "output/text_name.h"

#include "base/text.h"

#include <string.h>
#include <wchar.h>

/* Of what is left, how much shows the beginning; the end of a path says more. */
enum { HEAD_PART = 3 };

/* The character that text, which is not empty, begins with: its bytes, and its columns. */
static size_t next_character(const char *text, unsigned *columns)
{
    unsigned long code_point;
    size_t n = ih_utf8_length(text, &code_point);
    n = n > 0 ? n : 1;
    mbstate_t state;
    wchar_t wide;
    memset(&state, 0, sizeof state);
    int width = mbrtowc(&wide, text, n, &state) == n ? wcwidth(wide) : 1;
    *columns = width < 0 ? 1 : (unsigned)width;
    return n;
}

unsigned ih_text_width(const char *text)
{
    unsigned sum = 0, columns;
    for (; *text; sum += columns)
        text += next_character(text, &columns);
    return sum;
}

/* Bytes of the longest beginning of text that takes no more than `columns`, marks included; *used
 * is what it takes. */
static size_t fitting(const char *text, unsigned columns, unsigned *used)
{
    const char *p = text;
    unsigned width = 0;
    *used = 0;
    while (*p) {
        size_t n = next_character(p, &width);
        if (*used + width > columns)
            break;
        *used += width;
        p += n;
    }
    return (size_t)(p - text);
}

/* Where the longest end of text begins that takes no more than `columns`: not at a mark. */
static const char *fitting_end(const char *text, unsigned columns)
{
    unsigned left = ih_text_width(text), width = 0;
    while (*text) {
        size_t n = next_character(text, &width);
        if (left <= columns && width > 0)
            break;
        left -= width;
        text += n;
    }
    return text;
}

void ih_text_put_short(FILE *f, const char *text, unsigned columns, bool unicode)
{
    const char *gap = unicode ? "\u2026" : "...";
    const unsigned gap_columns = unicode ? 1 : 3;
    if (columns == 0 || ih_text_width(text) <= columns) {
        fputs(text, f);
        return;
    }
    unsigned rest = columns > gap_columns ? columns - gap_columns : 0, used;
    size_t n_head = fitting(text, rest / HEAD_PART, &used);
    const char *tail = fitting_end(text + n_head, rest - used);
    fprintf(f, "%.*s%s%s", (int)n_head, text, gap, tail);
}
