#define _POSIX_C_SOURCE 200809L

#include "cli/inputs.h"

#include "base/path.h"
#include "base/text.h"
#include "output/records.h"

#include <stdlib.h>
#include <string.h>

struct ih_inputs {
    struct ih_walk *walk;  /* owned */
    const char *output;    /* of --resume; NULL: inputs are not known by size and time */
    uint64_t run, files;   /* hashes of all inputs so far; files: with sizes and times */
    uint64_t n_fetched;    /* from the walk */
    struct ih_input *held; /* owned; fetched and not given */
    size_t n_held, next_held, capacity;
};

/* ---- hashes ---- */

static uint64_t hash_number(uint64_t hash, uint64_t n)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(n >> 8 * i);
    return ih_hash(hash, bytes, sizeof bytes);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return ih_hash(hash, text ? text : "", text ? strlen(text) + 1 : 0);
}

/* All options that decide which records a run has and what is in them. */
static uint64_t hash_options(const struct ih_options *o)
{
    const uint64_t numbers[] = {o->n_shards,          o->clip_low,          o->clip_high,
                                o->skips_transparent, o->raw_channels,      o->max_pixels,
                                o->is_lenient,        o->takes_raw_previews};
    uint64_t hash = hash_text(IH_HASH_START, o->luma->name);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = hash_number(hash, numbers[i]);
    return hash_text(hash, ih_option_value(o, "where"));
}

/* Size and time of a file. A folder changes with its files, and the output during the run. */
static uint64_t hash_file(uint64_t hash, const struct ih_input *input, const char *output)
{
    struct stat st, out;
    if (input->folder == IH_FOLDER_ENDS || !input->path || ih_path_stat(input->path, &st, 0) != 0 ||
        (stat(output, &out) == 0 && st.st_dev == out.st_dev && st.st_ino == out.st_ino))
        return hash;
    hash = hash_number(hash, (uint64_t)st.st_size);
    hash = hash_number(hash, (uint64_t)st.st_mtim.tv_sec);
    return hash_number(hash, (uint64_t)st.st_mtim.tv_nsec);
}

/* The next input of the walk. The content of standard input is not known before it is read. */
static bool fetch(struct ih_inputs *in, struct ih_input *input)
{
    if (!ih_walk_next(in->walk, input))
        return false;
    in->n_fetched++;
    in->run = hash_text(in->run, input->path);
    if (in->output && !input->is_stdin) {
        in->files = hash_file(hash_text(in->files, input->path), input, in->output);
        input->hash = in->files ? in->files : 1;
    }
    return true;
}

uint64_t ih_inputs_hash(const struct ih_inputs *in)
{
    return in->run ? in->run : 1;
}

/* ---- inputs ---- */

enum ih_status ih_inputs_open(const struct ih_options *options, struct ih_inputs **inputs,
                              struct ih_error *err)
{
    const struct ih_walk_sources sources = ih_walk_sources_of(options);
    struct ih_inputs *in = calloc(1, sizeof *in);
    if (!in)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    in->run = hash_options(options);
    in->files = hash_number(in->run, options->shard);
    in->output = options->resume_path;
    *inputs = in;
    return ih_walk_open(&sources, &in->walk, err);
}

bool ih_inputs_next(void *inputs, struct ih_input *input)
{
    struct ih_inputs *in = inputs;
    if (in->next_held == in->n_held)
        return fetch(in, input);
    *input = in->held[in->next_held++];
    return true;
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

/* Finds the input of a record, which must agree in all that the hash covers; fetches inputs up to
 * there. *n_in_folder: of the inputs so far. *input: NULL if it differs. */
static enum ih_status find(struct ih_inputs *in, const struct ih_result *r, uint64_t *n_in_folder,
                           const struct ih_input **input, struct ih_error *err)
{
    *input = in->n_held > 0 && in->n_fetched == r->input + 1 ? &in->held[in->n_held - 1] : NULL;
    while (in->n_fetched <= r->input) {
        if (hold(in, input, err) != IH_OK || !*input)
            return err->status;
        if ((*input)->folder == IH_FOLDER_ENDS)
            *n_in_folder = 0;
    }
    if (*input && (*input)->hash != r->inputs_hash)
        *input = NULL;
    if (*input && (*input)->folder == IH_FOLDER_WITHIN)
        *n_in_folder = 1;
    return IH_OK;
}

/* The first inputs of the run are done. */
static void drop_done(struct ih_inputs *in, uint64_t n_inputs)
{
    const size_t n = in->n_held - (size_t)(in->n_fetched - n_inputs);
    for (size_t i = 0; i < n; i++)
        free(in->held[i].path);
    in->n_held -= n;
    memmove(in->held, in->held + n, in->n_held * sizeof *in->held);
}

/* Whether a file without a record that agrees may be cut to nothing: it is empty, a cut first line,
 * or the end of a run without inputs. status: of reading its first line. */
static bool is_nothing(const struct ih_source *src, const struct ih_records *records,
                       enum ih_status status, const struct ih_result *first)
{
    static const char start[] = "{\"schema\":\"imghist/";
    char head[sizeof start - 1];
    uint64_t ignored;
    const bool is_cut = !ih_records_offset(records, &ignored);
    if (status == IH_OK)
        return !first || first->is_end || (is_cut && first->inputs_hash) ||
               (first->is_total && first->n_images == 0 && first->n_failed == 0);
    const size_t n = ih_source_read_at(src, 0, head, sizeof head);
    return is_cut && memcmp(head, start, n) == 0;
}

/*
 * Reads records as long as they agree. An archive has several, and is done if a later input has
 * one, or with the record of its own failure; that of an image is the only one.
 */
static enum ih_status read_prefix(struct ih_inputs *in, struct ih_source *src,
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
        if (status != IH_OK && status != IH_CORRUPT)
            return status;
        if (!input && is_first && !is_nothing(src, records, status, r))
            return ih_error_set(err, IH_CONFLICT,
                                "holds no --resume run of these inputs and options; remove it to "
                                "begin anew");
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
    struct ih_source src = {.is_open = false};
    struct ih_records *records = NULL;
    *point = (struct ih_resume_point){0};
    enum ih_status status = ih_source_open_path(&src, path, err);
    if (status == IH_OK)
        status = ih_records_open(&src, &records, err);
    if (status == IH_OK)
        status = read_prefix(in, &src, records, point, err);
    ih_records_close(records);
    ih_source_reset(&src);
    return status;
}
