/*
 * Output files that appear whole or not at all.
 *
 * What is written goes to a temporary file beside the target, hidden so that no walk finds it,
 * which takes the target's name when all is written. A target that is no regular file (a device, a
 * pipe) is written to directly.
 */
#ifndef IH_CLI_OUTFILE_H
#define IH_CLI_OUTFILE_H

#include "imghist.h"

#include <pthread.h>
#include <stdio.h>

struct ih_outfile {
    FILE *stream;    /* NULL: closed */
    char *target;    /* owned; for messages, and the name that commit gives */
    int is_standard; /* standard output: flushed, never closed */

    pthread_mutex_t name_lock; /* guards temporary, and that there is a file of this name */
    char *temporary;           /* owned; NULL where the target is written to directly */
};

/* Before all else; a closed file. */
void ih_outfile_init(struct ih_outfile *f);

/*
 * f      closed
 * path   NULL: standard output
 *
 * Returns IH_OK, IH_IO or IH_MEMORY. Directories on the way to path must exist.
 */
enum ih_status ih_outfile_open(struct ih_outfile *f, const char *path, struct ih_error *err);

/* The file that path leads to, whether it exists or not: without links and dots. Owned
 * by the caller; NULL: no memory. */
char *ih_outfile_resolve(const char *path);

/* Gives all that was written the target's name. On IH_IO (disk full, ...) nothing remains. Closes.
 */
enum ih_status ih_outfile_commit(struct ih_outfile *f, struct ih_error *err);

/* Throws away what was written to a temporary file. Allowed on a closed file. */
void ih_outfile_discard(struct ih_outfile *f);

/* Removes the temporary file's name, and lets nobody make another: only exiting may follow. From
 * any thread, whatever another is doing with the file. */
void ih_outfile_unlink(struct ih_outfile *f);

/* Makes every directory on the way to path. Returns IH_OK or IH_IO. */
enum ih_status ih_make_directories(const char *path, struct ih_error *err);

#endif
