/*
 * The directory walk: from the paths of the command line and of a list to inputs. The entries of a
 * directory come in byte order.
 *
 * Memory holds the names of one directory for each level of depth. No directory stays open between
 * calls.
 */
#ifndef IH_SCAN_WALK_H
#define IH_SCAN_WALK_H

#include "scan/scan.h"

struct ih_walk;

/* The sources of paths, in this order. Strings are borrowed until close. */
struct ih_walk_sources {
    const char *const *paths;
    size_t n_paths;
    const char *list;       /* NULL, or a file of paths; "-": standard input */
    const char *stdin_name; /* NULL: "-" */
    char list_separator;    /* '\n' or '\0', after each path of the list */
};

/* How many of the first paths are opened to see what they are: enough to keep a worker for each
 * core. */
enum { IH_WALK_PROBED = 64 };

/* The number of images; 0: unknown, because there is a directory or a list, or an archive or a
 * result file among the first paths. Standard input counts as one. */
uint64_t ih_walk_count(const struct ih_walk_sources *sources);

/* Whether no source is a pipe, whose other end may take its time. */
bool ih_walk_is_quick(const struct ih_walk_sources *sources);

/*
 * *walk   owned by the caller
 *
 * Returns IH_OK, IH_IO (the list cannot be opened) or IH_MEMORY.
 */
enum ih_status ih_walk_open(const struct ih_walk_sources *sources, struct ih_walk **walk,
                            struct ih_error *err);

/*
 * Gives the next input; false at the end.
 *
 * A directory that cannot be read is an input with an error. Hidden entries are skipped. Links to
 * directories, dangling links, earlier charts, devices and pipes are inputs with the error
 * IH_UNKNOWN and the reason. A list that cannot be read, has a NUL byte or a line over 64 KiB
 * becomes the last input: it has the list's name and the error.
 */
bool ih_walk_next(struct ih_walk *walk, struct ih_input *input);

/* About how many inputs are still to come, if folders and lines not yet read have as many as those
 * that have been read. 0: unknown, as with a list from a pipe. */
double ih_walk_n_left(const struct ih_walk *walk);

void ih_walk_close(struct ih_walk *walk); /* NULL is allowed */

/* ---- inputs.c ---- */

/*
 * The inputs of a run, in the order of the walk, with the hashes that --shard and --resume record.
 *
 * --resume reads its file as a prefix of the run: each record has a hash of all inputs up to its
 * own, with their sizes and times. As long as records and inputs agree, the inputs are done.
 */

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
