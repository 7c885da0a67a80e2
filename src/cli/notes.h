/* What a run says on standard error about its inputs, while progress may be shown there. */
#ifndef IH_CLI_NOTES_H
#define IH_CLI_NOTES_H

#include "cli/destinations.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/report.h"

/* Used by one thread at a time. */
struct ih_notes {
    const struct ih_options *options; /* borrowed */
    struct ih_run_report *report;     /* borrowed; counts inputs with notes */
    struct ih_progress *progress;     /* owned by the caller; NULL: none is shown */
    bool is_checking;                 /* --check: its output replaces messages about inputs */
    bool is_holding;                  /* progress is hidden */
    bool has_listed_folder;           /* a note was printed about one */
    bool has_other_depth;   /* a note was printed about one that --depth does not change */
    bool has_no_picture;    /* a note was printed about a record without a thumbnail */
    bool has_lacking;       /* a note was printed about a character */
    uint64_t n_above_depth; /* images with samples that --depth cannot hold */
    bool is_doubled;        /* a note was printed about an input that comes twice */
    uint64_t *hashes;       /* owned; of names, a hash table; NULL: none yet */
    size_t n_hashes, n_places;
};

/* Hides the progress line while other text is written, until ih_notes_release. */
void ih_notes_hold(struct ih_notes *n);
void ih_notes_release(struct ih_notes *n);

/* Prints an error or another line, with progress hidden. path NULL: of the whole run. */
void ih_notes_print_line(struct ih_notes *n, const char *path, const char *text);

/* Prints "note: text", except with -q and --check. */
void ih_notes_print(struct ih_notes *n, const char *path, const char *text);

/* Notes about a command line that may be a mistake. */
void ih_notes_print_opening(struct ih_notes *n, const struct ih_destinations *destinations);

/* Notes about what the counts of an image do not show, for the first such image; with -v for all,
 * and its warnings. */
void ih_notes_print_image(struct ih_notes *n, const char *path, const struct ih_result *result);

/* A note about a single chart that was written into a folder of inputs, under a name that the walk
 * takes for an image. */
void ih_notes_print_chart(struct ih_notes *n);

/*
 * Takes the name of an image that counts. Returns whether an earlier image had the name; a note
 * says so once, with -v each time, and the report has their number. Only the first 65,536
 * names are kept, as hashes: 1 MiB, however many images there are.
 */
bool ih_notes_see_name(struct ih_notes *n, const char *path);

/* A note about a character that the font of the charts lacks; 0: none. Once in a run. */
void ih_notes_print_lacking(struct ih_notes *n, const char *chart, unsigned long code_point);

/* Notes about the two sides that --diff compares. */
void ih_notes_print_comparison(struct ih_notes *n, const struct ih_total *const sides[2]);

/* A note about a directory that the list of --files-from names: "find" lists directories beside
 * their files, which then count twice. path: of a directory or an archive. */
void ih_notes_print_listed_folder(struct ih_notes *n, const char *path);

#endif
