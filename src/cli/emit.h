/*
 * What becomes of results on the command line: the data output, charts, messages, counts of what
 * failed, and the exit code.
 *
 * Everything here runs on one thread but ih_emit_interrupt, which a signal's thread may call at any
 * time: it waits for the record being written to end, so that records are whole.
 */
#ifndef IH_CLI_EMIT_H
#define IH_CLI_EMIT_H

#include "cli/message.h"
#include "cli/options.h"
#include "pipeline/pipeline.h"

struct ih_emit;

/* With nothing opened yet. options is borrowed until close. NULL: no memory. */
struct ih_emit *ih_emit_new(const struct ih_options *options);

/*
 * Opens the outputs.
 *
 * *subject   on failure: the file that the error is about, or NULL
 *
 * Returns IH_OK, IH_USAGE, IH_CONFLICT (a path on the command line is also an output), IH_IO or
 * IH_MEMORY.
 */
enum ih_status ih_emit_open(struct ih_emit *emit, const char **subject, struct ih_error *err);

/* Files that no input may be, valid until close. */
const struct ih_file_identity *ih_emit_outputs(const struct ih_emit *emit, size_t *n);

/*
 * The pipeline's take. Where nothing useful can follow (a failed write, a conflict, --fail-fast) it
 * cleans up and ends the process, so that nobody waits for an input that never ends.
 */
bool ih_emit_take(void *emit, const struct ih_input *input, const struct ih_result *result);

/* Shows no progress any more: what follows writes to standard error. */
void ih_emit_stop_progress(struct ih_emit *emit);

/* Writes the total, completes the outputs and says what failed. */
enum ih_exit ih_emit_finish(struct ih_emit *emit);

/*
 * Removes temporary files, waits up to a second for the record being written (a reader may have
 * stopped), and ends the document. Only exiting may follow.
 */
void ih_emit_interrupt(struct ih_emit *emit);

void ih_emit_close(struct ih_emit *emit); /* NULL is allowed */

#endif
