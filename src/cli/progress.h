/*
 * How far a run is, on standard error: one line that is drawn over itself on a terminal, a line
 * every few seconds elsewhere.
 *
 * A thread of its own draws it, at an even pace whatever results do: it ticks through one large
 * file and a slow list, and a result costs the others an addition under a lock, never a look at the
 * clock. Whoever writes to the same terminal holds the line meanwhile, which wipes it.
 */
#ifndef IH_CLI_PROGRESS_H
#define IH_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* --progress. auto: on a terminal that can wipe a line, where the run is not quiet. */
enum ih_progress_when { IH_PROGRESS_AUTO, IH_PROGRESS_ALWAYS, IH_PROGRESS_NEVER };

/* What a line says. */
struct ih_progress_counts {
    uint64_t n_done, n_failed; /* inputs; n_done without the failed ones */
    uint64_t n_inputs;         /* 0: not known before the end */
    uint64_t n_pixels;
    uint64_t elapsed_ns;
};

/*
 * "imghist: 12/80 files, 6.0 files/s, 72.1 MP/s, 1 failed, 0:11 left". What does not fit is left
 * out, the rates first.
 *
 * columns   how wide the line may be, at least 1
 * line      char [size_bytes], always terminated
 */
void ih_progress_line(const struct ih_progress_counts *counts, unsigned columns, char *line,
                      size_t size_bytes);

enum { IH_PROGRESS_LINE_MAX = 200 }; /* holds every line */

/* Whether standard error is where progress is shown. */
bool ih_progress_is_wanted(enum ih_progress_when when, bool is_quiet);

struct ih_progress;

/*
 * Starts to show progress.
 *
 * n_inputs   0: not known
 *
 * Returns what the caller owns, or NULL where memory or a thread cannot be had: then nothing is
 * lost but the line. All calls below take NULL, and may come from any thread.
 */
struct ih_progress *ih_progress_open(uint64_t n_inputs);

/* One more input is done. n_pixels: of a failed one 0 */
void ih_progress_add(struct ih_progress *progress, bool is_failed, uint64_t n_pixels);

/* Wipes the line and keeps it away, until release. */
void ih_progress_hold(struct ih_progress *progress);
void ih_progress_release(struct ih_progress *progress);

/* Holds for good, or gives up at that time (CLOCK_REALTIME): only exiting may follow. */
void ih_progress_interrupt(struct ih_progress *progress, const struct timespec *until);

/* Wipes the line, or says a last one where lines are not wiped. */
void ih_progress_close(struct ih_progress *progress);

#endif
