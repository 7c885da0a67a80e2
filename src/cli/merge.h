/*
 * From the results of the pipeline to those of the run: result files are replaced by their records,
 * files in directories that are no images are left out, and all results are checked to fit
 * together. The program and the Python package both take their results through it.
 */
#ifndef IH_CLI_MERGE_H
#define IH_CLI_MERGE_H

#include "histogram/total.h"
#include "output/shards.h"
#include "scan/pipeline.h"

/* Zeroed but for the first part; ih_merge_reset at the end. One thread at a time. */
struct ih_merge {
    /* Gets each result; path is valid during the call. Returns false to end the run. */
    bool (*take)(void *user, const char *path, const struct ih_result *result);
    /* Gets each input that is left out. */
    void (*skip)(void *user, const char *path, const struct ih_result *result);
    void *user;
    struct ih_measurement measurement; /* of all results so far; IH_MEASUREMENT_ANY at first */
    struct ih_measurement of_empty;    /* of totals of no images, which fit any results */
    const char *why_no_records;        /* the error for result files; NULL: they are allowed */
    const char *why_no_totals;         /* the error for totals; NULL: they are allowed */
    const char *why_not_mixed;         /* the error for totals beside single images; NULL: none */
    bool is_resumed;                   /* records of one shard are no part of a set of shards */

    uint64_t n_in_folder; /* images of the folder that is being walked, or of the archive */
    bool has_totals;      /* among the results; from result files */

    bool has_images, has_ended;
    struct ih_shards *shards; /* of result files, until all have come; NULL: none */
    uint64_t merged_run;      /* hash of the shards that were merged last; 0: none */
};

/* Whether a walk leaves out an input, which would be a failure if the user had named it. */
bool ih_merge_skips(const struct ih_input *input, const struct ih_result *result);

/*
 * Takes a result of the pipeline, in the order of the inputs.
 *
 * *subject   on failure: the file that the error is about; valid until the next call
 *
 * Returns IH_OK, or an error that ends the run: IH_CONFLICT, IH_USAGE (the result does not fit
 * those before it) or the error of a result file, because some of its records may have been taken.
 */
enum ih_status ih_merge_take(struct ih_merge *merge, const struct ih_input *input,
                             const struct ih_result *result, const char **subject,
                             struct ih_error *err);

/* Takes the records of a result file, or adds it to the shards, which are taken once all have come.
 * open: owned from now on; NULL: path is opened. Returns as above. */
enum ih_status ih_merge_records(struct ih_merge *merge, const char *path, struct ih_source *open,
                                const char **subject, struct ih_error *err);

/* All results have been taken. Returns IH_OK, or IH_USAGE if a shard is missing. */
enum ih_status ih_merge_complete(const struct ih_merge *merge, struct ih_error *err);

void ih_merge_reset(struct ih_merge *merge);

#endif
