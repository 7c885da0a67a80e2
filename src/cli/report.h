/* The end of a run on standard error: one closing line, or the report of -v. */
#ifndef IH_CLI_REPORT_H
#define IH_CLI_REPORT_H

#include "histogram/result.h"
#include "scan/pipeline.h"

#include <stdio.h>

enum { IH_USED_KERNELS_MAX = 16 };

/* A device and kernel that counted images. */
struct ih_used_kernel {
    const char *device, *kernel; /* borrowed from the device; NULL: unknown */
    uint64_t n_images;
};

struct ih_run_report {
    uint64_t started_ns, ended_ns;        /* ended: the last input so far */
    uint64_t n_done, n_failed, n_skipped; /* inputs */
    uint64_t n_pixels;
    uint64_t n_more_images, n_extra_samples, n_few_values; /* inputs with these notes */
    uint64_t n_doubles;      /* images with the name of an earlier one */
    uint64_t n_charts;       /* written */
    const char *chart_path;  /* where; borrowed */
    const char *list_path;   /* of files; borrowed; NULL: none */
    bool has_shown_progress; /* the line replaces it: it begins with images and time */
    bool names_skipped;      /* they have been listed */
    struct ih_times times;   /* of all threads together */
    uint64_t write_ns;
    struct ih_used_kernel kernels[IH_USED_KERNELS_MAX];
    size_t n_kernels;
    uint64_t n_other_images; /* counted by kernels that have no room above */
};

void ih_report_add(struct ih_run_report *report, const struct ih_result *result);

/* Prints a line about what failed, what was skipped and which charts were written, if there is
 * any. */
void ih_report_print(const struct ih_run_report *report, FILE *f);

/* Prints "no images found", and which list is empty. */
void ih_report_print_none(const struct ih_run_report *report, FILE *f);

/* Prints the lines of -v. */
void ih_report_print_full(const struct ih_run_report *report, FILE *f);

/* The number of bits that the samples of a 16-bit image seem to have; 0: 15 or 16, or all black. */
unsigned ih_report_few_bits(const struct ih_result *r);

#endif
