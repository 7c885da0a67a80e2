#include "records/resume.h"

#include "base/text.h"
#include "records/records.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct ih_inputs {
    struct ih_walk *walk;          /* owned */
    const char *output;            /* of --resume; NULL: sizes and times are not hashed */
    uint64_t run_hash, files_hash; /* of options and all paths so far; and of sizes and times */
    uint64_t n_fetched;            /* from the walk */
    struct ih_input *held;         /* owned; already fetched, still to be returned */
    size_t n_held, next_held, capacity;
    bool is_quick; /* no input is waited for */
};

/* ---- hashes ---- */

/* Adds size and time of a file, but not of a folder, which changes with its files, nor of the
 * output, which changes during the run. */
static uint64_t hash_file(uint64_t hash, const struct ih_input *input, const char *output)
{
    struct stat st, out;
    if (input->ends_folder || !input->path || ih_path_stat(input->path, &st, 0) != 0 ||
        (stat(output, &out) == 0 && st.st_dev == out.st_dev && st.st_ino == out.st_ino))
        return hash;
    hash = ih_hash_number(hash, (uint64_t)st.st_size);
    hash = ih_hash_number(hash, (uint64_t)st.st_mtim.tv_sec);
    return ih_hash_number(hash, (uint64_t)st.st_mtim.tv_nsec);
}

/* Adds the names, sizes and times of the masks in a folder. *hash: unchanged for one mask, whose
 * records have its own hash. */
static enum ih_status hash_masks(const char *folder, const char *output, uint64_t *hash,
                                 struct ih_error *err)
{
    const struct ih_walk_sources sources = {.paths = &folder, .n_paths = 1};
    struct ih_walk *walk;
    struct ih_input mask;
    struct stat st;
    if (!folder || ih_path_stat(folder, &st, 0) != 0 || !S_ISDIR(st.st_mode))
        return IH_OK;
    const enum ih_status status = ih_walk_open(&sources, &walk, err);
    if (status != IH_OK)
        return status;
    while (ih_walk_next(walk, &mask)) {
        *hash = hash_file(ih_hash_text(*hash, mask.path), &mask, output);
        free(mask.path);
    }
    ih_walk_close(walk);
    return IH_OK;
}

/* Fetches the next input of the walk. Standard input has no hash: its content is not known before
 * it is read. */
static bool fetch(struct ih_inputs *in, struct ih_input *input)
{
    if (!ih_walk_next(in->walk, input))
        return false;
    in->n_fetched++;
    in->run_hash = ih_hash_text(in->run_hash, input->path);
    if (in->output && !input->is_stdin) {
        in->files_hash = hash_file(ih_hash_text(in->files_hash, input->path), input, in->output);
        input->hash = in->files_hash ? in->files_hash : 1; /* 0: no hash */
    }
    return true;
}

uint64_t ih_inputs_hash(const struct ih_inputs *in)
{
    return in->run_hash ? in->run_hash : 1;
}

/* ---- inputs ---- */

enum ih_status ih_inputs_open(const struct ih_inputs_options *options, struct ih_inputs **inputs,
                              struct ih_error *err)
{
    struct ih_inputs *in = calloc(1, sizeof *in);
    if (!in)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    in->run_hash = options->options_hash;
    in->files_hash = ih_hash_number(in->run_hash, options->shard);
    in->output = options->resumed_path;
    in->is_quick = ih_walk_is_quick(&options->sources);
    *inputs = in;
    const enum ih_status status =
        in->output ? hash_masks(options->mask, in->output, &in->files_hash, err) : IH_OK;
    return status == IH_OK ? ih_walk_open(&options->sources, &in->walk, err) : status;
}

static bool next(void *inputs, struct ih_input *input)
{
    struct ih_inputs *in = inputs;
    if (in->next_held == in->n_held)
        return fetch(in, input);
    *input = in->held[in->next_held++];
    return true;
}

static unsigned n_ready(void *inputs)
{
    const struct ih_inputs *in = inputs;
    return in->is_quick ? UINT_MAX : 0;
}

static double n_left(void *inputs)
{
    const struct ih_inputs *in = inputs;
    return (double)(in->n_held - in->next_held) + ih_walk_n_left(in->walk);
}

struct ih_scan_inputs ih_inputs_of_scan(struct ih_inputs *inputs)
{
    return (struct ih_scan_inputs){
        .next = next, .n_ready = n_ready, .n_left = n_left, .user = inputs};
}

void ih_inputs_close(struct ih_inputs *in)
{
    if (!in)
        return;
    while (in->next_held < in->n_held)
        free(in->held[in->next_held++].path);
    free(in->held);
    ih_walk_close(in->walk);
    free(in);
}

/* ---- resuming ---- */

/* Fetches an input and holds it. *input: borrowed until the next call; NULL at the end. */
static enum ih_status hold(struct ih_inputs *in, const struct ih_input **input,
                           struct ih_error *err)
{
    *input = NULL;
    if (in->n_held == in->capacity) {
        const size_t capacity = in->capacity ? 2 * in->capacity : 64;
        struct ih_input *held =
            capacity > SIZE_MAX / sizeof *held ? NULL : realloc(in->held, capacity * sizeof *held);
        if (!held)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        in->held = held;
        in->capacity = capacity;
    }
    if (fetch(in, &in->held[in->n_held]))
        *input = &in->held[in->n_held++];
    return IH_OK;
}

/* Finds the input of a record; fetches inputs up to there.
 *
 * *n_in_folder   becomes 1 once the folder that is being walked has a record
 * *input         NULL if the record's hash is not that of the input */
static enum ih_status find(struct ih_inputs *in, const struct ih_result *r, uint64_t *n_in_folder,
                           const struct ih_input **input, struct ih_error *err)
{
    *input = in->n_held > 0 && in->n_fetched == r->input + 1 ? &in->held[in->n_held - 1] : NULL;
    while (in->n_fetched <= r->input) {
        if (hold(in, input, err) != IH_OK || !*input)
            return err->status;
        if ((*input)->ends_folder)
            *n_in_folder = 0;
    }
    if (*input && (*input)->hash != r->inputs_hash)
        *input = NULL;
    if (*input && (*input)->is_in_folder)
        *n_in_folder = 1;
    return IH_OK;
}

/* Forgets held inputs: the first n_inputs of the run are done. */
static void drop_done(struct ih_inputs *in, uint64_t n_inputs)
{
    const size_t n = in->n_held - (size_t)(in->n_fetched - n_inputs);
    for (size_t i = 0; i < n; i++)
        free(in->held[i].path);
    in->n_held -= n;
    memmove(in->held, in->held + n, in->n_held * sizeof *in->held);
}

/* Whether a file without a record that agrees records no input, so that the run may begin anew: it
 * is empty, a torn first line, or the end of a run without inputs. status: of reading its first
 * line. */
static bool has_no_inputs(const struct ih_reader *src, const struct ih_records *records,
                          enum ih_status status, const struct ih_result *first_record)
{
    static const char start[] = "{\"schema\":\"imghist/";
    char head[sizeof start - 1];
    uint64_t ignored;
    const bool is_torn = !ih_records_offset(records, &ignored);
    if (status == IH_OK)
        return !first_record || first_record->is_end || (is_torn && first_record->inputs_hash) ||
               (first_record->is_total && first_record->n_images == 0 &&
                first_record->n_failed == 0);
    const size_t n = ih_reader_read_at(src, 0, head, sizeof head);
    return is_torn && memcmp(head, start, n) == 0;
}

/* Whether the record is of a run that began with the same name, or with an image of that file.
 * status: of reading it. */
static bool is_first_input(const struct ih_inputs *in, enum ih_status status,
                           const struct ih_result *first_record)
{
    if (status != IH_OK || !first_record || !first_record->inputs_hash || in->n_held == 0)
        return false;
    const size_t n = strlen(in->held[0].path);
    return strncmp(in->held[0].path, first_record->path, n) == 0 &&
           (first_record->path[n] == '\0' || (first_record->frame && first_record->path[n] == '#'));
}

/*
 * Reads records as long as they agree. An input is done with the record that has its path. An
 * archive and a file of several images have records of other paths before it, or none of their own:
 * they are also done if a later input has a record.
 */
static enum ih_status read_prefix(struct ih_inputs *in, struct ih_reader *src,
                                  struct ih_records *records, struct ih_resume_point *point,
                                  struct ih_error *err)
{
    uint64_t start_bytes = 0, end_bytes = 0, n_in_folder = 0, last = UINT64_MAX;
    const struct ih_result *r;
    for (bool is_first = true;; is_first = false, start_bytes = end_bytes) {
        const struct ih_input *input = NULL;
        enum ih_status status = ih_records_next(records, &r, err);
        if (status == IH_OK && r && r->inputs_hash && ih_records_offset(records, &end_bytes))
            status = find(in, r, &n_in_folder, &input, err);
        if (status != IH_OK && status != IH_CORRUPT && status != IH_UNKNOWN)
            return status;
        if (!input && is_first && !has_no_inputs(src, records, status, r))
            return ih_error_set(err, IH_CONFLICT, "%s; remove it to begin anew",
                                is_first_input(in, status, r)
                                    ? "the first input or a mask has changed since, or the "
                                      "options differ"
                                    : "holds no --resume run of these inputs and options");
        *err = (struct ih_error){0};
        if (!input)
            return IH_OK;
        if (strcmp(input->path, r->path) == 0)
            *point = (struct ih_resume_point){end_bytes, r->input + 1, n_in_folder};
        else if (r->input != last)
            *point = (struct ih_resume_point){start_bytes, r->input, n_in_folder};
        last = r->input;
        drop_done(in, point->n_inputs);
    }
}

enum ih_status ih_inputs_resume(struct ih_inputs *in, const char *path,
                                struct ih_resume_point *point, struct ih_error *err)
{
    struct ih_reader src = {.is_open = false};
    struct ih_records *records = NULL;
    *point = (struct ih_resume_point){0};
    enum ih_status status = ih_reader_open_path(&src, path, err);
    if (status == IH_OK)
        status = ih_records_open(&src, &records, err);
    if (status == IH_OK)
        status = read_prefix(in, &src, records, point, err);
    ih_records_close(records);
    ih_reader_reset(&src);
    return status;
}
