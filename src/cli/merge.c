#include "cli/merge.h"

#include "cli/endings.h"
#include "decode/archive.h"
#include "output/records.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Whether an input of an unknown format has the name of an image or, if it is no member of one, of
 * an archive. A recognised format that is not read keeps what its name promises. */
static bool breaks_promise(const struct ih_input *input, const struct ih_result *result)
{
    const char *path = result->path;
    struct stat st;
    if (ih_ending_is_chart(path))
        return false;
    return ih_ending_is_image(path) || (!input->is_member && ih_archive_is_name(path)) ||
           (ih_ending_is_other_image(path) && (result->error.limit == IH_LIMIT_RAW_CHANNELS ||
                                               (stat(path, &st) == 0 && st.st_size == 0)));
}

bool ih_merge_skips(const struct ih_input *input, const struct ih_result *result)
{
    return result->status == IH_UNKNOWN && !input->is_named && !breaks_promise(input, result);
}

/* Hands out one result, if it may stand beside those before it. */
static enum ih_status give(struct ih_merge *m, const char *path, const struct ih_result *result,
                           struct ih_error *err)
{
    m->has_totals = m->has_totals || result->is_total;
    m->has_images = m->has_images || !result->is_total;
    const bool is_empty = result->is_total && result->n_images == 0;
    if (ih_measurement_join(is_empty ? &m->of_empty : &m->measurement, result, err) != IH_OK)
        return err->status;
    if (m->has_totals && m->why_no_totals)
        return ih_error_set(err, IH_USAGE, "%s", m->why_no_totals);
    if (m->has_totals && m->has_images && m->why_not_mixed)
        return ih_error_set(err, IH_USAGE, "%s", m->why_not_mixed);
    m->has_ended = !m->take(m->user, path, result);
    return IH_OK;
}

/* Takes the merged records of all shards of a run. */
static enum ih_status take_shards(struct ih_merge *m, const char **subject, struct ih_error *err)
{
    const struct ih_result *result = NULL;
    bool has_images = false;
    enum ih_status status;
    do {
        status = ih_shards_next(m->shards, &result, subject, err);
        if (status == IH_OK && result) {
            has_images = has_images || !result->is_total || result->n_images + result->n_failed > 0;
            status = give(m, result->path, result, err);
        }
    } while (status == IH_OK && result && !m->has_ended);
    if (status != IH_OK || m->has_ended)
        return status;
    const uint64_t run = ih_shards_run(m->shards);
    if (has_images && run == m->merged_run)
        return ih_error_set(err, IH_USAGE, "the shards of a run again");
    if (has_images || m->merged_run == 0) /* runs without images may be alike */
        m->merged_run = run;
    ih_shards_close(m->shards);
    m->shards = NULL;
    return IH_OK;
}

enum ih_status ih_merge_records(struct ih_merge *m, const char *path, struct ih_source *open,
                                const char **subject, struct ih_error *err)
{
    struct ih_source *src = open ? open : calloc(1, sizeof *src);
    struct ih_records *records = NULL;
    const struct ih_result *result = NULL;
    enum ih_status status = open   ? IH_OK
                            : !src ? ih_error_set(err, IH_MEMORY, "out of memory")
                                   : ih_source_open_path(src, path, err);
    *subject = path;
    if (status == IH_OK)
        status = ih_records_open(src, &records, err);
    if (status == IH_OK)
        status = ih_records_next(records, &result, err);
    if (status == IH_OK && result && result->n_shards && !result->is_total &&
        ih_records_is_document(records))
        status = ih_error_set(err, IH_USAGE,
                              "shards are merged from NDJSON: run each with --ndjson instead of "
                              "--json");
    if (status == IH_OK && result && result->n_shards && !m->is_resumed) {
        struct ih_error missing;
        status = ih_shards_add(&m->shards, path, src, records, open != NULL, result, err);
        if (status == IH_OK && ih_shards_check(m->shards, &missing) == IH_OK)
            status = take_shards(m, subject, err);
        return status;
    }
    while (status == IH_OK && result && !m->has_ended) {
        status = give(m, result->path, result, err);
        if (status == IH_OK)
            status = ih_records_next(records, &result, err);
        if (status == IH_OK && result && result->n_shards && !m->is_resumed)
            status = ih_error_set(err, IH_CORRUPT, "a record of a shard among others");
    }
    ih_records_close(records);
    if (src)
        ih_source_reset(src);
    free(src);
    return status;
}

enum ih_status ih_merge_take(struct ih_merge *m, const struct ih_input *input,
                             const struct ih_result *result, const char **subject,
                             struct ih_error *err)
{
    const char *path = input->path ? input->path : "";
    *subject = path;
    if (ih_merge_skips(input, result)) {
        m->skip(m->user, path, result);
        return IH_OK;
    }
    if (input->folder == IH_FOLDER_ENDS) {
        const bool has_images = m->n_in_folder > 0;
        m->n_in_folder = 0;
        if (has_images)
            return IH_OK;
    }
    m->n_in_folder = input->folder == IH_FOLDER_WITHIN ? m->n_in_folder + 1 : 0;
    if (result->status == IH_CONFLICT) {
        *err = result->error;
        return err->status;
    }
    if (result->has_records && m->why_no_records) {
        if (result->records)
            ih_source_reset(result->records);
        free(result->records);
        return ih_error_set(err, IH_USAGE, "%s", m->why_no_records);
    }
    if (result->has_records)
        return ih_merge_records(m, path, result->records, subject, err);
    return give(m, path, result, err);
}

enum ih_status ih_merge_complete(const struct ih_merge *m, struct ih_error *err)
{
    if (m->shards && m->merged_run)
        return ih_error_set(err, IH_USAGE,
                            "a shard follows when all shards of a run have been read: name each "
                            "once, and all shards of another run");
    return m->shards ? ih_shards_check(m->shards, err) : IH_OK;
}

void ih_merge_reset(struct ih_merge *m)
{
    ih_shards_close(m->shards);
    m->shards = NULL;
}
