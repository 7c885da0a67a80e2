/*
 * Progress on standard error: one line that is redrawn in place on a terminal, else a new line
 * every few seconds.
 *
 * A thread redraws it at a steady pace, also during one large file or a slow list. Other threads
 * only add to counters under a lock. Code that writes to the same terminal holds the line, which
 * wipes it.
 */
#ifndef IH_CLI_PROGRESS_H
#define IH_CLI_PROGRESS_H

#include "scan/walk.h"

#include <time.h>

/* --progress. Auto: on a terminal that can wipe a line, and not with -q. */
enum ih_progress_when { IH_PROGRESS_AUTO, IH_PROGRESS_ALWAYS, IH_PROGRESS_NEVER };

/* The contents of a line. */
struct ih_progress_counts {
    uint64_t n_done, n_failed; /* inputs; n_done excludes the failed ones */
    uint64_t n_skipped;        /* other files of a walk, which n_inputs includes */
    uint64_t n_inputs;         /* 0: unknown */
    uint64_t n_pixels;
    uint64_t elapsed_ns;
};

/*
 * Writes "imghist: 12/80 files, 6.0 files/s, 72.1 MP/s, 1 failed, 0:02 elapsed, 0:11 left". Parts
 * that do not fit are left out, the rates first.
 *
 * columns   the width of the line, at least 1
 * line      char [size_bytes], always terminated
 */
void ih_progress_line(const struct ih_progress_counts *counts, unsigned columns, char *line,
                      size_t size_bytes);

enum { IH_PROGRESS_LINE_MAX = 200 }; /* holds every line */

/* Whether to show progress on standard error. */
bool ih_progress_is_wanted(enum ih_progress_when when, bool is_quiet);

struct ih_progress;

/*
 * Starts to show progress.
 *
 * n_inputs   0: unknown
 *
 * Returns an object that the caller owns, or NULL without memory or a thread for it. All calls
 * below accept NULL and do nothing. Threads: any.
 */
struct ih_progress *ih_progress_open(uint64_t n_inputs);

/* Walks the sources in a thread to count the inputs, unless a source can be read only once. The
 * sources are borrowed until ih_progress_stop_walk; call that before close. */
void ih_progress_walk(struct ih_progress *progress, const struct ih_walk_sources *sources);
void ih_progress_stop_walk(struct ih_progress *progress);

/* The number of inputs is unknown after all. */
void ih_progress_forget_inputs(struct ih_progress *progress);

/* Adds finished, failed and skipped inputs, and pixels. */
void ih_progress_add(struct ih_progress *progress, const struct ih_progress_counts *more);

/* Wipes the line and does not redraw it until release. */
void ih_progress_hold(struct ih_progress *progress);
void ih_progress_release(struct ih_progress *progress);

/* Holds the line forever, or gives up at this time (CLOCK_REALTIME). Only exiting may follow. */
void ih_progress_interrupt(struct ih_progress *progress, const struct timespec *until);

/* Wipes the line and returns whether a terminal has shown it. Where lines are not wiped, prints a
 * last one and returns false. */
bool ih_progress_close(struct ih_progress *progress);

#endif
