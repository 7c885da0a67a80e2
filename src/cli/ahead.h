/* Counts the files of a directory walk ahead of the run, in a thread, so that progress has a
 * total. */
#ifndef IH_CLI_AHEAD_H
#define IH_CLI_AHEAD_H

#include "cli/progress.h"
#include "scan/walk.h"

struct ih_ahead;

/*
 * Starts to walk the sources. At the end, sets the number of inputs of progress.
 *
 * sources, progress   borrowed until ih_ahead_stop
 *
 * Returns an object that the caller owns, or NULL: progress is NULL, the list can be read only
 * once, or a thread could not start.
 */
struct ih_ahead *ih_ahead_start(const struct ih_walk_sources *sources,
                                struct ih_progress *progress);

/* Stops the walk, and releases. NULL is allowed. */
void ih_ahead_stop(struct ih_ahead *ahead);

#endif
