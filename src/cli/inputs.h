/*
 * The inputs of a run, in the order of the walk, with the hashes that --shard and --resume record.
 *
 * --resume reads its file as a prefix of the run: each record has a hash of all inputs up to its
 * own, with their sizes and times. As long as records and inputs agree, the inputs are done.
 */
#ifndef IH_CLI_INPUTS_H
#define IH_CLI_INPUTS_H

#include "cli/paths.h"

struct ih_inputs;

/* How far an earlier run came. */
struct ih_resume_point {
    uint64_t size_bytes;  /* of the file, up to the last record that is kept */
    uint64_t n_inputs;    /* that are done */
    uint64_t n_in_folder; /* of them, in the folder whose walk has not ended */
};

/* *inputs: owned by the caller; options: borrowed. Returns what ih_walk_open returns. */
enum ih_status ih_inputs_open(const struct ih_options *options, struct ih_inputs **inputs,
                              struct ih_error *err);

/* The pipeline's `next`. */
bool ih_inputs_next(void *inputs, struct ih_input *input);

/* The pipeline's `n_left`. */
double ih_inputs_n_left(void *inputs);

/* The hash of the options and of all inputs so far; never 0. Complete after the last input. */
uint64_t ih_inputs_hash(const struct ih_inputs *inputs);

/*
 * Finds how far the run came that wrote path, the file of --resume, and takes the inputs that are
 * done. Call it before the first ih_inputs_next. Changes no file.
 *
 * Returns IH_OK, IH_CONFLICT (the file is not of this run), IH_IO or IH_MEMORY.
 */
enum ih_status ih_inputs_resume(struct ih_inputs *inputs, const char *path,
                                struct ih_resume_point *point, struct ih_error *err);

void ih_inputs_close(struct ih_inputs *inputs); /* NULL is allowed */

#endif
