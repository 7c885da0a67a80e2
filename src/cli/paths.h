/*
 * From the paths of the command line to inputs: files as they are, directories walked in byte
 * order.
 *
 * One directory's names are in memory at a time for each level of depth, never the whole tree; no
 * directory stays open between calls.
 */
#ifndef IH_CLI_PATHS_H
#define IH_CLI_PATHS_H

#include "pipeline/pipeline.h"

struct ih_walk;

/* paths is borrowed until close. *walk is owned by the caller. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_walk_open(const char *const *paths, size_t n_paths, struct ih_walk **walk,
                            struct ih_error *err);

/*
 * The next input; false at the end. A directory that cannot be read is an input with its error.
 * Entries that are hidden, links to directories, or no files at all are passed over.
 */
bool ih_walk_next(struct ih_walk *walk, struct ih_input *input);

void ih_walk_close(struct ih_walk *walk); /* NULL is allowed */

#endif
