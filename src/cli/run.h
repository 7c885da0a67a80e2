/* Counts what the command line names, and writes it. */
#ifndef IH_CLI_RUN_H
#define IH_CLI_RUN_H

#include "cli/writer.h"
#include "device/device.h"

/*
 * Counts all inputs into opened outputs.
 *
 * n_images   ih_walk_count of sources
 * *device    owned by the caller; NULL if none was opened
 *
 * Returns the exit code. An error that ends the run ends the process.
 */
enum ih_exit ih_run(const struct ih_options *options, const struct ih_walk_sources *sources,
                    uint64_t n_images, struct ih_writer *writer, struct ih_device **device);

#endif
