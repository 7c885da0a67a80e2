#include "records/result_files.h"

#include "records/shards.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ih_result_files {
    const struct ih_file_identity *outputs; /* borrowed */
    size_t n_outputs;
    struct ih_item item;
    struct ih_result failure; /* of a file that cannot be read */

    /* The file that is read: */
    const char *path, *file; /* borrowed; file NULL: none */
    bool is_resumed;
    bool is_first;              /* no record has been read */
    struct ih_reader *src;      /* owned; NULL: not open */
    struct ih_records *records; /* owned; reads src */

    struct ih_shards *shards;           /* owned; until all of a run have come; NULL: none */
    bool is_merging, has_merged_images; /* all shards have come; and gave images */
    uint64_t merged_run;                /* hash of the shards that were merged last; 0: none */
};

struct ih_result_files *ih_result_files_new(const struct ih_file_identity *outputs,
                                            size_t n_outputs)
{
    struct ih_result_files *f = calloc(1, sizeof *f);
    if (f) {
        f->outputs = outputs;
        f->n_outputs = n_outputs;
    }
    return f;
}

void ih_result_files_add(struct ih_result_files *f, const char *path, const char *file,
                         uint64_t source, bool is_resumed)
{
    f->path = path;
    f->file = file;
    f->is_resumed = is_resumed;
    f->is_first = true;
    f->item.source = source;
}

static void close_file(struct ih_result_files *f)
{
    ih_records_close(f->records);
    if (f->src)
        ih_reader_reset(f->src);
    free(f->src);
    f->src = NULL;
    f->records = NULL;
    f->file = NULL;
}

static enum ih_status open_file(struct ih_result_files *f, struct ih_error *err)
{
    struct ih_file_identity id;
    f->src = calloc(1, sizeof *f->src);
    if (!f->src)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    enum ih_status status = strcmp(f->file, "-") == 0 ? ih_reader_open_fd(f->src, STDIN_FILENO, err)
                                                      : ih_reader_open_path(f->src, f->file, err);
    if (status == IH_OK && !f->is_resumed && ih_reader_identity(f->src, &id))
        status = ih_check_not_output(&id, f->outputs, f->n_outputs, err);
    return status == IH_OK ? ih_records_open(f->src, &f->records, err) : status;
}

static void give(struct ih_result_files *f, const struct ih_result *result)
{
    f->item.path = result->path;
    f->item.result = result;
    f->item.error = result->error;
    f->item.kind = result->status != IH_OK ? IH_ITEM_FAILURE
                   : result->is_total      ? IH_ITEM_TOTAL
                                           : IH_ITEM_IMAGE;
}

/* The file cannot be read: an input that failed. */
static void give_failure(struct ih_result_files *f, const struct ih_error *err)
{
    f->failure = (struct ih_result){.path = f->path, .status = err->status, .error = *err};
    give(f, &f->failure);
    f->item.result_file = NULL;
    close_file(f);
}

/* The file is one of a shard's: it is read when all of the run have come. */
static enum ih_status add_shard(struct ih_result_files *f, const struct ih_result *first,
                                struct ih_error *err)
{
    struct ih_error missing;
    uint64_t size_bytes;
    struct ih_reader *src = f->src;
    struct ih_records *records = f->records;
    if (!first->is_total && ih_records_is_document(records))
        return ih_error_set(err, IH_USAGE,
                            "shards are merged from NDJSON: run each with --ndjson instead of "
                            "--json");
    const bool is_stream = strcmp(f->file, "-") == 0 || !ih_reader_size(src, &size_bytes);
    f->src = NULL;
    f->records = NULL;
    f->file = NULL;
    const enum ih_status status =
        ih_shards_add(&f->shards, f->path, src, records, is_stream, first, err);
    f->is_merging = status == IH_OK && ih_shards_check(f->shards, &missing) == IH_OK;
    f->has_merged_images = false;
    return status;
}

/* Whether a file at its end has no bytes. */
static bool is_empty(const struct ih_records *records)
{
    uint64_t n_bytes;
    (void)ih_records_offset(records, &n_bytes);
    return n_bytes == 0;
}

/* Gives the next record of the file, or closes it. */
static enum ih_status next_record(struct ih_result_files *f, struct ih_error *err)
{
    const struct ih_result *result = NULL;
    f->item.path = f->item.result_file = f->path;
    const enum ih_status opened = f->src ? IH_OK : open_file(f, err);
    enum ih_status status = opened == IH_OK ? ih_records_next(f->records, &result, err) : opened;
    const bool is_first = f->is_first;
    f->is_first = false;
    if (status == IH_OK && !result && is_first && !f->is_resumed && is_empty(f->records))
        status = ih_error_set(err, IH_UNKNOWN, "the file is empty");
    if (opened == IH_IO || status == IH_UNKNOWN)
        give_failure(f, err);
    else if (status != IH_OK)
        return status;
    else if (!result)
        close_file(f);
    else if (!result->n_shards || f->is_resumed)
        give(f, result);
    else if (!is_first)
        return ih_error_set(err, IH_CORRUPT, "a record of a shard among others");
    else
        return add_shard(f, result, err);
    return IH_OK;
}

/* Gives the next record of the shards that are merged, or ends the merge. */
static enum ih_status next_merged(struct ih_result_files *f, struct ih_error *err)
{
    const struct ih_result *result = NULL;
    const enum ih_status status = ih_shards_next(f->shards, &result, &f->item.path, err);
    f->item.result_file = f->item.path;
    if (status != IH_OK)
        return status;
    if (result) {
        f->has_merged_images |= !result->is_total || result->n_images + result->n_failed > 0;
        give(f, result);
        return IH_OK;
    }
    const uint64_t run = ih_shards_run(f->shards);
    if (f->has_merged_images && run == f->merged_run)
        return ih_error_set(err, IH_USAGE, "the shards of a run again");
    if (f->has_merged_images || f->merged_run == 0) /* runs without images may be alike */
        f->merged_run = run;
    ih_shards_close(f->shards);
    f->shards = NULL;
    f->is_merging = false;
    return IH_OK;
}

enum ih_status ih_result_files_next(struct ih_result_files *f, const struct ih_item **item,
                                    struct ih_error *err)
{
    enum ih_status status = IH_OK;
    *item = &f->item;
    f->item.kind = IH_ITEM_NONE;
    f->item.result = NULL;
    while (status == IH_OK && f->item.kind == IH_ITEM_NONE) {
        if (f->file)
            status = next_record(f, err);
        else if (f->is_merging)
            status = next_merged(f, err);
        else
            return ih_error_set(err, IH_END, "the end of the file");
    }
    return status;
}

enum ih_status ih_result_files_check(const struct ih_result_files *f, struct ih_error *err)
{
    if (f->shards && f->merged_run)
        return ih_error_set(err, IH_USAGE,
                            "a shard follows when all shards of a run have been read: name each "
                            "once, and all shards of another run");
    return f->shards ? ih_shards_check(f->shards, err) : IH_OK;
}

bool ih_result_files_have_merged(const struct ih_result_files *f)
{
    return f->merged_run != 0;
}

void ih_result_files_close(struct ih_result_files *f)
{
    if (!f)
        return;
    close_file(f);
    ih_shards_close(f->shards);
    free(f);
}
