/*
 * The inputs of a run, in the order of the walk, with the hashes that --shard and --resume record.
 *
 * --resume reads its file as a prefix of the run: each record has a hash of all inputs up to its
 * own, with their sizes and times. As long as records and inputs agree, the inputs are done.
 */
#ifndef IH_RECORDS_RESUME_H
#define IH_RECORDS_RESUME_H

#include "scan/walk.h"

struct ih_inputs;

/* How far an earlier run came. */
struct ih_resume_point {
    uint64_t size_bytes;  /* of the file, up to the last record that is kept */
    uint64_t n_inputs;    /* that are done */
    uint64_t n_in_folder; /* of them, in the folder whose walk has not ended */
};

/* Strings are borrowed until close. */
struct ih_inputs_options {
    struct ih_walk_sources sources;
    uint64_t options_hash;    /* of the options that decide which records a run has */
    unsigned shard;           /* 0: the whole run */
    const char *resumed_path; /* the file of --resume; NULL: none */
    const char *mask;         /* of --mask; NULL: none */
};

/* *inputs: owned by the caller. Returns what ih_walk_open returns. */
enum ih_status ih_inputs_open(const struct ih_inputs_options *options, struct ih_inputs **inputs,
                              struct ih_error *err);

/* For ih_scan_start. The caller closes inputs after the scan. */
struct ih_scan_inputs ih_inputs_of_scan(struct ih_inputs *inputs);

/* The hash of the options and of all inputs so far; never 0. Complete after the last input. */
uint64_t ih_inputs_hash(const struct ih_inputs *inputs);

/*
 * Finds how far the run came that wrote path, the file of --resume, and takes the inputs that are
 * done. Call it before the scan starts. Changes no file.
 *
 * Returns IH_OK, IH_CONFLICT (the file is not of this run), IH_IO or IH_MEMORY.
 */
enum ih_status ih_inputs_resume(struct ih_inputs *inputs, const char *path,
                                struct ih_resume_point *point, struct ih_error *err);

void ih_inputs_close(struct ih_inputs *inputs); /* NULL is allowed */

#endif
