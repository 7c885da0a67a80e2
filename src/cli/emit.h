/*
 * What becomes of results on the command line: the data output, charts, messages, counts of what
 * failed, and the exit code.
 *
 * Everything here runs on one thread but ih_emit_interrupt, which a signal's thread may call at any
 * time: it waits for the record being written to end, so that records are whole.
 */
#ifndef IH_CLI_EMIT_H
#define IH_CLI_EMIT_H

#include "cli/options.h"
#include "pipeline/pipeline.h"

enum ih_exit { IH_EXIT_OK, IH_EXIT_FAILED, IH_EXIT_USAGE, IH_EXIT_UNAVAILABLE };

struct ih_emit;

/*
 * Opens the outputs. options is borrowed until close.
 *
 * *subject   on failure: the file that the error is about, or NULL
 *
 * Returns IH_OK, IH_USAGE, IH_CONFLICT (a path on the command line is also an output), IH_IO or
 * IH_MEMORY.
 */
enum ih_status ih_emit_open(const struct ih_options *options, struct ih_emit **emit,
                            const char **subject, struct ih_error *err);

/* Files that no input may be, valid until close. */
const struct ih_file_identity *ih_emit_outputs(const struct ih_emit *emit, size_t *n);

/*
 * The pipeline's take. Where nothing useful can follow (a failed write, a conflict, --fail-fast) it
 * cleans up and ends the process, so that nobody waits for an input that never ends.
 */
bool ih_emit_take(void *emit, const struct ih_input *input, const struct ih_result *result);

/* Completes the outputs and says what failed. */
enum ih_exit ih_emit_finish(struct ih_emit *emit);

/*
 * Removes temporary files, waits up to a second for the record being written (a reader may have
 * stopped), and ends the document. Only exiting may follow.
 */
void ih_emit_interrupt(struct ih_emit *emit);

void ih_emit_close(struct ih_emit *emit); /* NULL is allowed */

/* "imghist: PATH: MESSAGE" on standard error, control characters escaped; path NULL: without it. */
void ih_complain(const char *path, const char *message);

/* The exit code that an error of the whole run ends in. */
enum ih_exit ih_exit_of(enum ih_status status);

#endif
