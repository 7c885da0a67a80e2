/*
 * Writes the results of a run: data, charts, error messages, progress and the closing report. Also
 * determines the exit code.
 *
 * All calls come from one thread, except ih_writer_interrupt, which a signal's thread may call at
 * any time. It waits for the record that is being written, so that records are complete.
 */
#ifndef IH_CLI_WRITER_H
#define IH_CLI_WRITER_H

#include "cli/voice.h"
#include "device/device.h"
#include "imghist.h"
#include "scan/walk.h"

struct ih_writer;

/* Opens nothing yet. options and sources are borrowed until close. n_images: of the run; 0:
 * unknown. NULL: out of memory. */
struct ih_writer *ih_writer_new(const struct ih_options *options,
                                const struct ih_walk_sources *sources, uint64_t n_images);

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

/* Cuts the file of --resume to the size of the records that are done. */
void ih_writer_resume(struct ih_writer *writer, uint64_t size_bytes);

/* What the run has in common, for its total: scan is borrowed from now on. */
void ih_writer_begin(struct ih_writer *writer, const struct ih_scan *scan);

/*
 * Writes an item and says what there is to say about it. After a failed write, or with --fail-fast,
 * it cleans up and ends the process, because other threads may be waiting for an input that never
 * ends.
 */
void ih_writer_take(struct ih_writer *writer, const struct ih_item *item);

/* Flushes standard output. Call it when no item is ready, so that a reader of the pipe sees all
 * records there are. Ends the process after a failed write, as ih_writer_take does. */
void ih_writer_flush(struct ih_writer *writer);

/* All items have been taken. run: the hash of their inputs, for the end of a shard. */
void ih_writer_complete(struct ih_writer *writer, uint64_t run);

/* Reports an error that ends the run, cleans up, and ends the process. path: what the error is
 * about; NULL: the whole run. */
void ih_writer_give_up(struct ih_writer *writer, const char *path, const struct ih_error *err);

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

/* ---- run.c ---- */

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
