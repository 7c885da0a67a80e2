/*
 * Merges the result files of a run's shards (--shard) into the order of the whole run.
 *
 * Each file has its records in the order of their positions. So the next record of the run is the
 * one with the smallest position among the next records of all files. The last record of a file is
 * the end of its shard or its total. It names the run and shows that no record is missing.
 *
 * A run may have thousands of shards. So one reader serves all files, and a shard stores only its
 * place in its file, about 100 bytes. The files that stay open take at most half of the file
 * descriptors that the process may have; the others are opened again for each record. A stream
 * cannot be opened again, so it has a reader of its own.
 */
#ifndef IH_RECORDS_SHARDS_H
#define IH_RECORDS_SHARDS_H

#include "records/records.h"

struct ih_shards;

/*
 * Adds the file of one shard.
 *
 * *shards     NULL for the first; owned by the caller
 * path        copied
 * src         allocated with malloc; owned by the call, also after an error
 * records     reads src; owned by the call too
 * is_stream   path cannot be opened again
 * first       the first record of the file
 *
 * Returns IH_OK, IH_MEMORY, or IH_USAGE: the shard was added before, or belongs to another run.
 * After an error only close may follow.
 */
enum ih_status ih_shards_add(struct ih_shards **shards, const char *path, struct ih_reader *src,
                             struct ih_records *records, bool is_stream,
                             const struct ih_result *first, struct ih_error *err);

/* Returns IH_OK if every shard has been added, else IH_USAGE with the first that is missing. */
enum ih_status ih_shards_check(const struct ih_shards *shards, struct ih_error *err);

/*
 * Reads the next record of the whole run. Call it after ih_shards_check has returned IH_OK.
 *
 * *result   borrowed until the next call; NULL at the end
 * *path     of the file that the result or the error is about; borrowed until close
 *
 * Returns IH_OK, an error of ih_records_next, IH_CORRUPT (records are missing or repeated), or
 * IH_USAGE (a shard of another run).
 */
enum ih_status ih_shards_next(struct ih_shards *shards, const struct ih_result **result,
                              const char **path, struct ih_error *err);

/* The hash of the run. Valid after the last record. */
uint64_t ih_shards_run(const struct ih_shards *shards);

void ih_shards_close(struct ih_shards *shards); /* NULL is allowed */

#endif
