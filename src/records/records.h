/*
 * Reads result files: the NDJSON and JSON that imghist writes (imghist-formats(5)). A record
 * becomes a result as if its file had just been counted.
 *
 * A file is read line by line, so memory does not depend on its size. The bins of a record
 * and its description are read; statistics are computed from the bins. The numbers of pixels must
 * agree.
 */
#ifndef IH_RECORDS_RECORDS_H
#define IH_RECORDS_RECORDS_H

#include "base/reader.h"
#include "histogram/result.h"

/* A line may have this many bytes. A record of five channels with 256 bins has up to 30,000; with
 * 65,536 bins, whose counts add up to less than 2^48, up to 3,900,000. */
enum { IH_RECORD_BYTES_MAX = 1 << 22 };

struct ih_records;

/* *records: owned by the caller. src: borrowed until close, at its first byte. IH_OK or IH_MEMORY.
 */
enum ih_status ih_records_open(struct ih_reader *src, struct ih_records **records,
                               struct ih_error *err);

/*
 * Reads the next record.
 *
 * *result   borrowed until the next call, with its native counters; NULL at the end of the file;
 * may be a shard's end
 *
 * Returns IH_OK, IH_IO, IH_MEMORY, IH_CORRUPT, or IH_UNKNOWN: the first line has no schema of
 * imghist. Messages about a line begin with "line N: ", and a damaged record's names the key. After
 * an error, only close may follow.
 */
enum ih_status ih_records_next(struct ih_records *records, const struct ih_result **result,
                               struct ih_error *err);

/* The memory of one record, which stays valid after the next. NULL: out of memory. */
struct ih_kept_record;
struct ih_kept_record *ih_kept_record_new(void);
void ih_kept_record_free(struct ih_kept_record *kept); /* NULL is allowed */

/* As ih_records_next, but *result is borrowed until kept is used again or freed. Adds the bytes of
 * the record's line to *n_bytes. */
enum ih_status ih_records_next_kept(struct ih_records *records, struct ih_kept_record *kept,
                                    const struct ih_result **result, size_t *n_bytes,
                                    struct ih_error *err);

/* *offset: of the byte after the last line that was read. False: that line has no line feed. */
bool ih_records_offset(const struct ih_records *records, uint64_t *offset);

/* Whether the records that were read are of a JSON document (--json), not of lines. */
bool ih_records_is_document(const struct ih_records *records);

/* Where a reader is in a file of lines. All zero: at its start. */
struct ih_records_place {
    uint64_t offset_bytes, line;
};

/* What is read at once of a file among many: it is left again after one record. */
enum { IH_PART_BYTES = 1 << 14 };

/* Continues in another file: src, borrowed until close, has the bytes from this place on. */
void ih_records_continue_in(struct ih_records *records, struct ih_reader *src,
                            struct ih_records_place place);

/*
 * Finds the next record without consuming it.
 *
 * place      of this record in its file
 * position   its place in the run; UINT64_MAX: no place
 * *is_end    there is no record
 *
 * Returns as ih_records_next, and ends its result. Does not check the record.
 */
enum ih_status ih_records_peek(struct ih_records *records, struct ih_records_place *place,
                               uint64_t position[IH_PLACES], bool *is_end, struct ih_error *err);

void ih_records_close(struct ih_records *records); /* NULL is allowed */

#endif
