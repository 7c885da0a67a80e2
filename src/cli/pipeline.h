/*
 * The pipeline of a run: takes each item of the chain through the stages to the sinks, speaks of
 * errors and progress, and determines the exit code.
 *
 * A worker runs the stages of one result and renders it (ih_pipeline_finish). All other calls come
 * from one thread, except ih_pipeline_interrupt, which a signal's thread may call at any time. It
 * waits up to a second for the record that is being written.
 */
#ifndef IH_CLI_PIPELINE_H
#define IH_CLI_PIPELINE_H

#include "cli/messages.h"
#include "records/chain.h"

struct ih_pipeline;

/* Opens nothing yet. options and sources are borrowed until close. n_images: of the run; 0:
 * unknown. NULL: out of memory. */
struct ih_pipeline *ih_pipeline_new(const struct ih_options *options,
                                    const struct ih_walk_sources *sources, uint64_t n_images);

/*
 * Opens the sinks.
 *
 * *subject   on failure: the file that the error is about, or NULL
 *
 * Returns IH_OK, IH_USAGE, IH_CONFLICT (a path on the command line is also an output), IH_IO or
 * IH_MEMORY.
 */
enum ih_status ih_pipeline_open(struct ih_pipeline *pipeline, const char **subject,
                                struct ih_error *err);

/* The files that are written to and must not be inputs; valid until close. */
const struct ih_file_identity *ih_pipeline_destinations(const struct ih_pipeline *pipeline,
                                                        size_t *n);

/* Cuts the file of --resume to the size of the records that are done. */
void ih_pipeline_resume(struct ih_pipeline *pipeline, uint64_t size_bytes);

/* For the finish of struct ih_scan_options, whose finish_user is the pipeline. */
void *ih_pipeline_finish(void *pipeline, const struct ih_input *input, struct ih_result *result);

/* What the run has in common, for its total: chain is borrowed from now on. */
void ih_pipeline_begin(struct ih_pipeline *pipeline, const struct ih_chain *chain);

/*
 * Takes an item. After a failed write, or with --fail-fast, it cleans up and ends the process,
 * because other threads may be waiting for an input that never ends.
 */
void ih_pipeline_take(struct ih_pipeline *pipeline, const struct ih_item *item);

/* Flushes standard output. Call it when no item is ready, so that a reader of the pipe sees all
 * records there are. Ends the process after a failed write, as ih_pipeline_take does. */
void ih_pipeline_flush(struct ih_pipeline *pipeline);

/* Reports an error that ends the run, cleans up, and ends the process. path: what the error is
 * about; NULL: the whole run. */
void ih_pipeline_give_up(struct ih_pipeline *pipeline, const char *path,
                         const struct ih_error *err);

/* Gives the totals to the sinks, completes these, and reports what failed. run: the hash of all
 * inputs, for the end of a shard; 0: not all have been taken. */
enum ih_exit ih_pipeline_end(struct ih_pipeline *pipeline, uint64_t run);

/*
 * Removes temporary files, and waits up to a second for the record that is being written (its
 * reader may have stopped). A JSON document stays open: it lacks inputs, and reads as cut short.
 * Only exiting may follow.
 */
void ih_pipeline_interrupt(struct ih_pipeline *pipeline);

void ih_pipeline_close(struct ih_pipeline *pipeline); /* NULL is allowed */

/* ---- run.c ---- */

/*
 * Counts all inputs into an opened pipeline.
 *
 * n_images   ih_walk_count of sources
 * *device    owned by the caller; NULL if none was opened
 *
 * Returns the exit code. An error that ends the run ends the process.
 */
enum ih_exit ih_run(const struct ih_options *options, const struct ih_walk_sources *sources,
                    uint64_t n_images, struct ih_pipeline *pipeline, struct ih_device **device);

#endif
