/*
 * Writes the results of a run: data, charts, error messages, progress and the closing report. Also
 * determines the exit code.
 *
 * All calls come from one thread, except ih_writer_interrupt, which a signal's thread may call at
 * any time. It waits for the record that is being written, so that records are complete.
 */
#ifndef IH_CLI_WRITER_H
#define IH_CLI_WRITER_H

#include "cli/inputs.h"
#include "cli/message.h"
#include "cli/options.h"
#include "scan/pipeline.h"

struct ih_writer;

/* Opens nothing yet. options is borrowed until close. NULL: out of memory. */
struct ih_writer *ih_writer_new(const struct ih_options *options);

/*
 * Opens the outputs.
 *
 * *subject   on failure: the file that the error is about, or NULL
 *
 * Returns IH_OK, IH_USAGE, IH_CONFLICT (a path on the command line is also an output), IH_IO or
 * IH_MEMORY.
 */
enum ih_status ih_writer_open(struct ih_writer *writer, const char **subject, struct ih_error *err);

/* The files that are written to and must not be inputs; valid until close. */
const struct ih_file_identity *ih_writer_destinations(const struct ih_writer *writer, size_t *n);

/* Cuts the file of --resume to the records that are done, and takes those for the other outputs. */
void ih_writer_resume(struct ih_writer *writer, const struct ih_resume_point *done);

/*
 * The pipeline's `take` callback. After a failed write, a conflict, or with --fail-fast it cleans
 * up and ends the process, because other threads may be waiting for an input that never ends.
 */
bool ih_writer_take(void *writer, const struct ih_input *input, const struct ih_result *result);

/* Flushes standard output. Called when no result is ready, so that a reader of the pipe sees all
 * records there are. Ends the process after a failed write, as ih_writer_take does. */
void ih_writer_flush(void *writer);

/* All inputs have been taken. run: their hash, for the end of a shard. Ends the process if a shard
 * is missing among result files. */
void ih_writer_complete(struct ih_writer *writer, uint64_t run);

/* Ends the progress line. Call it before other code writes to standard error. */
void ih_writer_stop_progress(struct ih_writer *writer);

/* Writes the total, completes the outputs and reports what failed. */
enum ih_exit ih_writer_finish(struct ih_writer *writer);

/*
 * Removes temporary files, and waits up to a second for the record that is being written (its
 * reader may have stopped). A JSON document stays open: it lacks inputs, and reads as cut short.
 * Only exiting may follow.
 */
void ih_writer_interrupt(struct ih_writer *writer);

void ih_writer_close(struct ih_writer *writer); /* NULL is allowed */

#endif
