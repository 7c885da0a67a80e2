/*
 * Merges the result files of all shards of a run (--shard) into the order of the whole run.
 *
 * The records of each file are in the order of their positions, so the next one is the first of
 * those that the files are at. The last record of a file, the shard's end or its total, tells the
 * run and shows that nothing is missing.
 *
 * There may be thousands of shards. One reader serves all files and keeps only the place in each,
 * about 100 bytes. At most half of the file descriptors that the process may have stay open, the
 * other files are opened again for each record. A stream cannot be left, so it has its own reader.
 */
#ifndef IH_OUTPUT_SHARDS_H
#define IH_OUTPUT_SHARDS_H

#include "output/records.h"

struct ih_shards;

/*
 * Adds the file of one shard.
 *
 * *shards     NULL for the first; owned by the caller
 * path        copied
 * src         owned from now on, allocated with malloc, like records, which reads it
 * is_stream   path cannot be opened again
 * first       the first record of the file
 *
 * Returns IH_OK, IH_MEMORY, or IH_USAGE: the same shard twice, or one of another run. After an
 * error only close may follow.
 */
enum ih_status ih_shards_add(struct ih_shards **shards, const char *path, struct ih_source *src,
                             struct ih_records *records, bool is_stream,
                             const struct ih_result *first, struct ih_error *err);

/* Whether every shard has been added; else IH_USAGE with the first that is missing. */
enum ih_status ih_shards_check(const struct ih_shards *shards, struct ih_error *err);

/*
 * Gives the next record of the whole run, after ih_shards_check has returned IH_OK.
 *
 * *result   borrowed until the next call; NULL at the end
 * *path     of the file that the result or the error is about; borrowed until close
 *
 * Returns IH_OK, an error of ih_records_next, IH_CORRUPT (records are missing or stand twice), or
 * IH_USAGE (a shard of another run).
 */
enum ih_status ih_shards_next(struct ih_shards *shards, const struct ih_result **result,
                              const char **path, struct ih_error *err);

/* The hash of the run, after the last record. */
uint64_t ih_shards_run(const struct ih_shards *shards);

void ih_shards_close(struct ih_shards *shards); /* NULL is allowed */

#endif
