/*
 * A thread that reads the records of a large file while the caller works on those before. The
 * caller's work on a record, statistics and text, takes about as long as reading it.
 */
#ifndef IH_RECORDS_READ_AHEAD_H
#define IH_RECORDS_READ_AHEAD_H

#include "records/records.h"

struct ih_read_ahead;

/* records: borrowed until close, and used by the thread alone. Returns NULL if there is no memory
 * or no thread for it; then the caller reads the records itself. */
struct ih_read_ahead *ih_read_ahead_open(struct ih_records *records);

/* As ih_records_next. After the end or an error, only close may follow. */
enum ih_status ih_read_ahead_next(struct ih_read_ahead *ahead, const struct ih_result **result,
                                  struct ih_error *err);

void ih_read_ahead_close(struct ih_read_ahead *ahead); /* NULL is allowed */

#endif
