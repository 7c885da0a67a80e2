/* Records of result files, written and read, and totals with failed inputs. */
#include "library/library.h"

#include "base/machine.h"
#include "base/text.h"
#include "output/output.h"
#include "records/records.h"
#include "scan/extensions.h"

#include <stdlib.h>

unsigned ih_cores(void)
{
    return ih_machine_cores();
}

int ih_is_image_name(const char *path)
{
    return ih_extension_is_image(path);
}

enum ih_status ih_counts_set_failures(struct ih_counts *counts, uint64_t n, struct ih_error *err)
{
    struct ih_result result;
    struct ih_total total;
    ih_total_init(&total, &IH_MEASURE_DEFAULT);
    total.n_failed = n;
    ih_total_result(&total, &result);
    return ih_counts_set_result(counts, &result, err);
}

static enum ih_status write_line(const struct ih_result *result, char **line, size_t *n_bytes,
                                 struct ih_error *err)
{
    struct ih_columns columns = {0};
    FILE *stream = ih_memory_stream(line, n_bytes);
    if (!stream)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    ih_columns_arrange(&columns, IH_AGAINST | IH_OF_COPIES | IH_OF_LABELS);
    ih_json_put_record(stream, result, &columns, false);
    putc('\n', stream);
    return ih_memory_stream_close(stream, line) ? IH_OK
                                                : ih_error_set(err, IH_MEMORY, "out of memory");
}

enum ih_status ih_record_write(const struct ih_counts *counts, const struct ih_record *record,
                               size_t size_bytes, char **line, size_t *n_bytes,
                               struct ih_error *err)
{
    struct ih_record r;
    struct ih_result result = {0};
    const enum ih_status status = ih_options_copy(&r, sizeof r, record, size_bytes, "record", err);
    if (status != IH_OK)
        return status;
    if (!r.error && counts->is_empty)
        return ih_error_set(err, IH_USAGE, "the counts are empty");
    if (r.error) {
        result.error = *r.error;
        result.status = r.error->status;
    } else {
        result = counts->result;
    }
    result.path = result.is_total ? IH_TOTAL_NAME : r.path ? r.path : "";
    result.folder = r.folder;
    return write_line(&result, line, n_bytes, err);
}

static enum ih_status read_one(struct ih_records *records, struct ih_counts *counts,
                               struct ih_error *err)
{
    const struct ih_result *result, *next = NULL;
    enum ih_status status = ih_records_next(records, &result, err);
    if (status != IH_OK)
        return status;
    if (!result)
        return ih_error_set(err, IH_UNKNOWN, "no record");
    if (result->status != IH_OK)
        return ih_error_set(err, IH_USAGE,
                            "a record without counts: an input failed, or a shard ends");
    status = ih_counts_set_result(counts, result, err);
    if (status == IH_OK)
        status = ih_records_next(records, &next, err);
    return next ? ih_error_set(err, IH_CORRUPT, "more than one record") : status;
}

enum ih_status ih_record_read(struct ih_counts *counts, const void *line, size_t n_bytes,
                              struct ih_error *err)
{
    struct ih_reader source = {0};
    struct ih_records *records = NULL;
    ih_counts_clear(counts);
    ih_reader_open_memory(&source, line, n_bytes);
    enum ih_status status = ih_records_open(&source, &records, err);
    if (status == IH_OK)
        status = read_one(records, counts, err);
    if (status != IH_OK)
        ih_counts_clear(counts);
    ih_records_close(records);
    ih_reader_reset(&source);
    return status;
}
