/* Numbers as options and settings have them, read strictly: decimal digits and nothing around them.
 */
#ifndef IH_BASE_PARSE_H
#define IH_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole number of at most max. With is_scaled one of k, M, G may follow, in powers of 1024. */
bool ih_parse_number(const char *text, bool is_scaled, uint64_t max, uint64_t *number);

/* No machine has more GPUs. */
enum { IH_ORDINAL_MAX = 1023 };

/*
 * CUDA's numbers of GPUs, "0" or "0,2", each once.
 *
 * ordinals   int [n_max]
 * *n         how many there are; 0 after a failure
 */
bool ih_parse_ordinals(const char *list, int *ordinals, size_t n_max, unsigned *n);

#endif
