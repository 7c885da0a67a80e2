/*
 * The words and numbers of a chart, as UTF-8.
 *
 * No locale plays a part: every real number is scaled, rounded once to an integer and written digit
 * by digit with a point.
 */
#ifndef IH_OUTPUT_CHART_LABEL_H
#define IH_OUTPUT_CHART_LABEL_H

#include <stdint.h>

enum { IH_LABEL_MAX = 128 }; /* bytes of every label below, with the final NUL */

/*
 * The last part of a path as ih_escape shows it.
 *
 * Returns text that the caller owns, valid UTF-8, with room for IH_ELLIPSIS_BYTES more; NULL
 * without memory.
 */
char *ih_label_name(const char *path);

/* "0", "950", "1.5k", "12.3M", "4G": at most three digits that count, without trailing zeros. */
void ih_label_count(char label[IH_LABEL_MAX], uint64_t n);

/* A real number >= 0 with a fixed number of decimals, 0 to 6. */
void ih_label_real(char label[IH_LABEL_MAX], double v, unsigned decimals);

/* A number of pixels in millions, with about three digits that count: "24", "0.15", "0.000064". */
void ih_label_megapixels(char label[IH_LABEL_MAX], uint64_t n);

/*
 * "12.3 %", "1.24 %". Never 0 for a part that is not, nor 100 for one that is not the whole: "<0.01
 * %" and ">99.9 %".
 *
 * whole   not 0
 */
void ih_label_percent(char label[IH_LABEL_MAX], uint64_t part, uint64_t whole);

#endif
