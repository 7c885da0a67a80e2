/*
 * A source of items: the records of result files, one file after the other.
 *
 * A file of a shard (--shard) gives no items of its own. When all files of its run have come, their
 * records follow, merged into the order of the run (shards.h).
 */
#ifndef IH_RECORDS_RESULT_FILES_H
#define IH_RECORDS_RESULT_FILES_H

#include "scan/scan.h"

struct ih_result_files;

/* outputs: borrowed until close; a file that is one ends the run: IH_CONFLICT. NULL: out of memory.
 */
struct ih_result_files *ih_result_files_new(const struct ih_file_identity *outputs,
                                            size_t n_outputs);

/*
 * Goes on to the next file. Call it after ih_result_files_next has returned IH_END.
 *
 * path         borrowed until that returns IH_END again, like the next
 * file         what is opened; "-": standard input
 * source       of the items
 * is_resumed   its records may be of a shard, and are not merged
 */
void ih_result_files_add(struct ih_result_files *files, const char *path, const char *file,
                         uint64_t source, bool is_resumed);

/*
 * Gives the next item, as `next` of struct ih_item_source. A file that cannot be opened, or holds
 * no record of imghist, is a failure.
 *
 * Returns IH_OK; IH_END: another file may follow; or what ends the run: an error of
 * ih_records_next, ih_shards_add or ih_shards_next, or IH_CONFLICT.
 */
enum ih_status ih_result_files_next(struct ih_result_files *files, const struct ih_item **item,
                                    struct ih_error *err);

/* No more files follow. Returns IH_OK, or IH_USAGE: the file of a shard is missing. */
enum ih_status ih_result_files_check(const struct ih_result_files *files, struct ih_error *err);

/* Whether the files of shards were merged. */
bool ih_result_files_have_merged(const struct ih_result_files *files);

void ih_result_files_close(struct ih_result_files *files); /* NULL is allowed */

#endif
