/*
 * The directory walk: from the paths of the command line and of a list to inputs. The entries of a
 * directory come in byte order.
 *
 * Memory holds the names of one directory for each level of depth. No directory stays open between
 * calls.
 */
#ifndef IH_SCAN_WALK_H
#define IH_SCAN_WALK_H

#include "scan/scan.h"

struct ih_walk;

/* The sources of paths, in this order. Strings are borrowed until close. */
struct ih_walk_sources {
    const char *const *paths;
    size_t n_paths;
    const bool *hold_records; /* [n_paths]: result files of any name; NULL: none */
    bool is_raw;              /* files are bare samples, whatever their names are */
    const char *list;         /* NULL, or a file of paths; "-": standard input */
    const char *stdin_name;   /* NULL: "-" */
    char list_separator;      /* '\n' or '\0', after each path of the list */
};

/* How many of the first paths are opened to see what they are: enough to keep a worker for each
 * core. */
enum { IH_WALK_PROBED = 64 };

/* The number of images; 0: unknown, because there is a directory, a list or a result file, or an
 * archive among the first paths. Standard input counts as one. */
uint64_t ih_walk_count(const struct ih_walk_sources *sources);

/* Whether no source is a pipe, whose other end may take its time. */
bool ih_walk_is_quick(const struct ih_walk_sources *sources);

/*
 * *walk   owned by the caller
 *
 * Returns IH_OK, IH_IO (the list cannot be opened) or IH_MEMORY.
 */
enum ih_status ih_walk_open(const struct ih_walk_sources *sources, struct ih_walk **walk,
                            struct ih_error *err);

/*
 * Gives the next input; false at the end.
 *
 * A directory that cannot be read is an input with an error. Hidden entries are skipped. Links to
 * directories, dangling links, earlier charts, devices and pipes are inputs with the error
 * IH_UNKNOWN and the reason. A list that cannot be read, has a NUL byte or a line over 64 KiB
 * becomes the last input: it has the list's name and the error.
 */
bool ih_walk_next(struct ih_walk *walk, struct ih_input *input);

/* About how many inputs are still to come, if folders and lines not yet read have as many as those
 * that have been read. 0: unknown, as with a list from a pipe. */
double ih_walk_n_left(const struct ih_walk *walk);

void ih_walk_close(struct ih_walk *walk); /* NULL is allowed */

#endif
