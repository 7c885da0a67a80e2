/* --bench: the ladder from the textbook's kernels to the limit, on this machine. */
#ifndef IH_BENCH_BENCH_H
#define IH_BENCH_BENCH_H

#include "cli/message.h"
#include "cli/options.h"

/*
 * Input of a rung, in bytes. More than 2 GiB of gray pixels would not fit a kernel's 32-bit
 * counters, below 1 KiB there is nothing to share out.
 */
#define IH_BENCH_BYTES_DEFAULT (UINT64_C(100) << 20)
#define IH_BENCH_BYTES_MAX (UINT64_C(2) << 30)
enum { IH_BENCH_BYTES_MIN = 1024 };

/*
 * Verifies and times every rung, and writes the report as it goes; with -o, when all is done.
 *
 * o   output text, csv or json; bench_bytes, device, n_threads, output_path and is_verbose
 *
 * Returns IH_EXIT_FAILED where a rung is wrong or fails or the report cannot be written,
 * IH_EXIT_UNAVAILABLE where the options ask for a GPU that is not here.
 */
enum ih_exit ih_bench_run(const struct ih_options *o);

#endif
