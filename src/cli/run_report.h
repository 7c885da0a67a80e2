/*
 * What a run came to: counts, times, and who counted. One line where something failed or nothing
 * was found, a block of lines with -v.
 */
#ifndef IH_CLI_RUN_REPORT_H
#define IH_CLI_RUN_REPORT_H

#include "counts/result.h"

#include <stdio.h>

enum { IH_COUNTERS_MAX = 16 }; /* device and kernel; more are told as others */

struct ih_counter {
    const char *device, *kernel; /* live as the device does */
    uint64_t n_images;
};

struct ih_run_report {
    uint64_t started_ns, ended_ns;        /* ended: the last input so far */
    uint64_t n_done, n_failed, n_skipped; /* inputs */
    uint64_t n_pixels;
    struct ih_times times; /* of all threads together */
    uint64_t write_ns;
    struct ih_counter counters[IH_COUNTERS_MAX];
    size_t n_counters;
    uint64_t n_other_images; /* counted by what has no room above */
};

/* Begins now. */
void ih_run_report_init(struct ih_run_report *tally);

/* Adds one input, counted or failed. */
void ih_run_report_add(struct ih_run_report *tally, const struct ih_result *result);

/* "2 of 3 inputs failed", or that there was none; nothing where all went well. */
void ih_run_report_print(const struct ih_run_report *tally, FILE *f);

/* The block of -v. */
void ih_run_report_print_all(const struct ih_run_report *tally, FILE *f);

#endif
