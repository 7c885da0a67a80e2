/* A line of the table of `make bench`, which several programs write; bench.sh writes its head. */
#ifndef IH_BENCH_ROW_H
#define IH_BENCH_ROW_H

#include <stdio.h>

/* The limit: only reading the same bytes. */
static inline void row_print(const char *device, const char *code, const char *pixels,
                             const char *data, double gb_per_s, double limit_gb_per_s)
{
    printf("%-7s %-11s %-12s %-11s %8.2f %8.3f\n", device, code, pixels, data, gb_per_s,
           gb_per_s / limit_gb_per_s);
    fflush(stdout);
}

#endif
