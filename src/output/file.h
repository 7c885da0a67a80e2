/*
 * Output files that appear complete or not at all.
 *
 * Data is written to a temporary file in the target's folder, hidden so that a directory walk skips
 * it. Commit renames it to the target. A target that is not a regular file (a device, a pipe), or
 * that is already open (/dev/stdout), is written to directly.
 */
#ifndef IH_OUTPUT_FILE_H
#define IH_OUTPUT_FILE_H

#include "base/status.h"

#include <pthread.h>
#include <stdio.h>

struct ih_outfile {
    FILE *stream;     /* NULL: closed */
    char *target;     /* owned; the path to write, without links */
    bool is_standard; /* standard output: flushed, never closed */

    pthread_mutex_t name_lock; /* guards temporary and the existence of its file */
    char *temporary;           /* owned; NULL: the target is written to directly */
};

/* Makes a closed file. Call it before all others. */
void ih_outfile_init(struct ih_outfile *f);

/*
 * Opens a closed file for writing. The folder of path must exist.
 *
 * path   NULL: standard output
 *
 * Returns IH_OK, IH_IO, IH_MEMORY, or IH_CONFLICT: another program adds to the file
 * (ih_outfile_append), if the file system has locks.
 */
enum ih_status ih_outfile_open(struct ih_outfile *f, const char *path, struct ih_error *err);

/* Opens a regular file to add to it at its end, directly; makes it if there is none. As above, or
 * IH_CONFLICT: another program has it open in this way, if the file system has locks. */
enum ih_status ih_outfile_append(struct ih_outfile *f, const char *path, struct ih_error *err);

/*
 * The open file of this program that path names: 1 for /dev/stdout, 2 for /dev/stderr, N for
 * /dev/fd/N and /proc/self/fd/N, and for links to them. -1: none, or path is NULL. ih_outfile_open
 * writes to such a file where it stands, so that `>>log` keeps the log and a pipe of the shell's
 * >(COMMAND) works.
 */
int ih_outfile_descriptor(const char *path);

/* The path of the file that path refers to, without links and dots; the file need not exist. Owned
 * by the caller; NULL: out of memory. */
char *ih_outfile_resolve(const char *path);

/* Renames the temporary file to the target and closes. On IH_IO (disk full, ...) it is removed.
 * IH_IO also if the file that was added to is no longer at its path. */
enum ih_status ih_outfile_commit(struct ih_outfile *f, struct ih_error *err);

/* Closes and removes the temporary file. Allowed on a closed file. */
void ih_outfile_discard(struct ih_outfile *f);

/* Removes the temporary file and blocks later calls, so that only exiting may follow. Threads: any,
 * at any time. */
void ih_outfile_unlink(struct ih_outfile *f);

/* Makes all parent directories of path. Returns IH_OK, IH_IO or IH_MEMORY. */
enum ih_status ih_make_directories(const char *path, struct ih_error *err);

#endif
