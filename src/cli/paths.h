/*
 * From the paths of the command line to inputs: files as they are, directories walked in byte
 * order.
 *
 * One directory's names are in memory at a time for each level of depth, never the whole tree; no
 * directory stays open between calls.
 */
#ifndef IH_CLI_PATHS_H
#define IH_CLI_PATHS_H

#include "cli/options.h"
#include "pipeline/pipeline.h"

struct ih_walk;

/* Where paths come from, in this order. Strings are borrowed until close. */
struct ih_walk_sources {
    const char *const *paths;
    size_t n_paths;
    const char *list;    /* NULL, or a file of paths; "-": standard input */
    char list_separator; /* what ends a path in the list: '\n' or '\0' */
};

static inline struct ih_walk_sources ih_walk_sources_of(const struct ih_options *o)
{
    return (struct ih_walk_sources){o->paths, o->n_paths, o->list_path, o->list_separator};
}

/* How many inputs there will be; 0 where that is not known before a directory or a list is read. */
uint64_t ih_walk_count(const struct ih_walk_sources *sources);

/*
 * *walk   owned by the caller
 *
 * Returns IH_OK, IH_IO (the list cannot be opened) or IH_MEMORY.
 */
enum ih_status ih_walk_open(const struct ih_walk_sources *sources, struct ih_walk **walk,
                            struct ih_error *err);

/*
 * The next input; false at the end. A directory that cannot be read is an input with its error.
 * Entries that are hidden, links to directories, or no files at all are passed over. A list that
 * cannot be read to its end, or whose lines never end, is an input of the list's name with that
 * error, and the last.
 */
bool ih_walk_next(struct ih_walk *walk, struct ih_input *input);

void ih_walk_close(struct ih_walk *walk); /* NULL is allowed */

#endif
