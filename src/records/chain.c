#include "records/chain.h"

#include "records/result_files.h"

#include <stdlib.h>

struct ih_chain {
    struct ih_chain_options options;
    struct ih_item_source images;     /* owned */
    struct ih_result_files *files;    /* owned */
    bool reads_files;                 /* the next item is one of files, if they have more */
    struct ih_joint_measure measure;  /* of all results so far */
    struct ih_joint_measure of_empty; /* of totals of no images, which fit any results */
    struct ih_item item;
    struct ih_error end; /* IH_OK: not at the end */
};

enum ih_status ih_chain_open(const struct ih_item_source *images,
                             const struct ih_chain_options *options, struct ih_chain **chain,
                             struct ih_error *err)
{
    struct ih_chain *c = calloc(1, sizeof *c);
    struct ih_result_files *files = ih_result_files_new(options->outputs, options->n_outputs);
    if (!c || !files) {
        images->close(images->source);
        ih_result_files_close(files);
        free(c);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    c->options = *options;
    c->images = *images;
    c->files = files;
    c->measure.asked = c->of_empty.asked = options->measure;
    c->reads_files = options->resumed_path != NULL;
    if (c->reads_files)
        ih_result_files_add(files, options->resumed_path, options->resumed_path, 0, true);
    *chain = c;
    return IH_OK;
}

/* The scan is at a result file. */
static enum ih_status begin_file(struct ih_chain *c, const struct ih_item *place,
                                 struct ih_error *err)
{
    if (c->options.refusal)
        return ih_error_set(err, IH_USAGE, "a result file is no %s", c->options.refusal);
    ih_result_files_add(c->files, place->path, place->result_file, place->source, false);
    c->reads_files = true;
    return IH_OK;
}

/* Gives the next item of either source. An item without a kind is none. */
static enum ih_status next_item(struct ih_chain *c, const struct ih_item **item,
                                struct ih_error *err)
{
    if (c->reads_files) {
        const enum ih_status status = ih_result_files_next(c->files, item, err);
        if (status != IH_END)
            return status;
        c->reads_files = false;
    }
    enum ih_status status = c->images.next(c->images.source, item, err);
    if (status == IH_OK && (*item)->kind == IH_ITEM_NONE)
        status = begin_file(c, *item, err);
    else if (status == IH_END && ih_result_files_check(c->files, err) != IH_OK)
        status = err->status;
    return status;
}

/* All results of a run are of one measure. A total of no images fits any. */
static enum ih_status agree(struct ih_chain *c, const struct ih_item *item, struct ih_error *err)
{
    const struct ih_result *result = item->result;
    if (!result)
        return IH_OK;
    const bool is_empty = result->is_total && result->n_images == 0;
    return ih_joint_measure_add(is_empty ? &c->of_empty : &c->measure, result, err);
}

/* Ends the run. item: that the error is about. */
static void end(struct ih_chain *c, const struct ih_item *item, const struct ih_error *reason)
{
    const bool is_record = item->kind != IH_ITEM_NONE && item->result_file;
    c->end = *reason;
    c->item = (struct ih_item){.kind = IH_ITEM_FAILURE,
                               .path = is_record ? item->result_file : item->path,
                               .result_file = item->result_file,
                               .source = item->source,
                               .error = *reason};
}

enum ih_status ih_chain_next(struct ih_chain *c, const struct ih_item **item, struct ih_error *err)
{
    if (c->end.status == IH_OK) {
        const struct ih_item *next = NULL;
        struct ih_error reason = {0};
        enum ih_status status;
        do
            status = next_item(c, &next, &reason);
        while (status == IH_OK && next->kind == IH_ITEM_NONE);
        if (status == IH_OK)
            status = agree(c, next, &reason);
        if (status == IH_OK)
            c->item = *next;
        else
            end(c, next, &reason);
        if (c->options.names_settings && c->item.error.status != IH_OK)
            ih_error_name_setting(&c->item.error);
    }
    *item = c->end.status == IH_END ? NULL : &c->item;
    if (err)
        *err = c->end;
    return c->end.status;
}

bool ih_chain_is_ready(struct ih_chain *c, unsigned wait_ms)
{
    return c->reads_files || c->end.status != IH_OK ||
           c->images.is_ready(c->images.source, wait_ms);
}

const struct ih_joint_measure *ih_chain_measure(const struct ih_chain *c)
{
    return c->measure.has_results ? &c->measure : &c->of_empty;
}

bool ih_chain_has_merged(const struct ih_chain *c)
{
    return ih_result_files_have_merged(c->files);
}

void ih_chain_close(struct ih_chain *c)
{
    if (!c)
        return;
    c->images.close(c->images.source);
    ih_result_files_close(c->files);
    free(c);
}
