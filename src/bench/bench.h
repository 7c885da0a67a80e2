/*
 * --bench: the CPU methods and GPU kernels that the program uses, each verified and then timed, and
 * compared with only reading the same bytes.
 */
#ifndef IH_BENCH_BENCH_H
#define IH_BENCH_BENCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of input. More than 2 GiB would overflow a kernel's 32-bit counters; less than 1 KiB leaves
 * nothing to divide among threads. */
#define IH_BENCH_BYTES_DEFAULT (UINT64_C(100) << 20)
#define IH_BENCH_BYTES_MAX (UINT64_C(2) << 30)
enum { IH_BENCH_BYTES_MIN = 1024 };

/* Everything is borrowed for the call. */
struct ih_bench_options {
    size_t size_bytes;
    unsigned n_threads; /* of the CPU; at least 1 */
    const char *device; /* "cpu", "cuda", or NULL: the GPU if it works */
    int gpu_ordinal;
    const char *format; /* "csv", "json"; else a table */
    bool is_quiet;
    const char *output_path; /* NULL: standard output */

    /* Reports an error; subject is a path, or NULL. */
    void (*print_error)(const char *subject, const char *message);
};

/* Verifies and times every method, and writes the report as it goes, or with output_path at the
 * end. Errors have been printed when this returns. Returns IH_OK; IH_DEVICE if a method is wrong or
 * failed; IH_UNAVAILABLE if the options ask for a GPU that cannot be used; IH_IO or IH_MEMORY. */
enum ih_status ih_bench_run(const struct ih_bench_options *options);

#endif
