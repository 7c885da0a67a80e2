/*
 * What the program says on standard error: errors, notes, progress and the end of the run. All
 * other files of cli speak through it, so that a message never lands in the line of progress.
 */
#ifndef IH_CLI_MESSAGES_H
#define IH_CLI_MESSAGES_H

#include "cli/options.h"
#include "device/device.h"

enum ih_exit { IH_EXIT_OK, IH_EXIT_FAILED, IH_EXIT_USAGE, IH_EXIT_UNAVAILABLE, IH_EXIT_MATCHED };

/* The exit code for an error that ends the run. */
enum ih_exit ih_exit_of(enum ih_status status);

/* Ends the program as SIGPIPE does by default: the reader of its output has closed the pipe. */
void ih_end_by_sigpipe(void);

/* Prints "imghist: PATH: MESSAGE", with control characters escaped. path NULL: without it. For use
 * before progress is shown, or while messages hold it. */
void ih_say(const char *path, const char *message);

/* Appends to the error of an input what may be wrong with its path, and the option that raises the
 * limit that it is about: " (--memory raises it)". */
void ih_explain_error(const char *path, struct ih_error *err);

enum { IH_USED_KERNELS_MAX = 16 };

/* A device and kernel that counted images. */
struct ih_used_kernel {
    const char *device, *kernel; /* borrowed from the device; NULL: unknown */
    uint64_t n_images;
};

/* A note that is printed for the first input it is about, and with -v for all. */
enum ih_note {
    IH_NOTE_MORE_IMAGES,
    IH_NOTE_EXTRA_SAMPLES,
    IH_NOTE_MASKED,
    IH_NOTE_LEVELS,
    IH_NOTE_FORMAT,
    IH_NOTE_NODATA,
    IH_NOTE_NODATA_VALUE,
    IH_NOTE_BAND_NAMES,
    IH_NOTE_FEW_VALUES,
    IH_NOTE_DEPTH,
    IH_NOTE_TWICE,
    IH_NOTE_LISTED_FOLDER,
    IH_NOTE_GLYPH,
    IH_NOTES
};

/* Zeroed but for the options. Used by one thread at a time. */
struct ih_messages {
    const struct ih_options *options; /* borrowed */
    struct ih_progress *progress;     /* owned by the caller; NULL: none is shown */
    bool is_checking;                 /* --check: its output replaces messages about inputs */
    bool is_holding;                  /* progress is hidden */
    bool has_shown_progress;          /* the closing line replaces it */
    uint64_t n_notes[IH_NOTES];
    uint64_t *hashes; /* owned; of names, a hash table; NULL: none yet */
    size_t n_hashes, n_places;
    uint64_t hash_of_bands; /* of the names that the first image with some has; 0: none */

    /* For the closing line and the report of -v: */
    uint64_t started_ns, ended_ns;         /* ended: the last input so far */
    uint64_t n_done, n_failed, n_skipped;  /* inputs */
    uint64_t n_references_failed;          /* files of --against, which are no inputs */
    uint64_t n_selected;                   /* with --where, those that match */
    uint64_t n_judged, n_matched;          /* records that --fail-if has seen, and that match */
    uint64_t n_copies, n_groups_of_copies; /* that --copies has written */
    uint64_t n_pixels, n_charts;
    uint64_t n_charts_failed; /* of images that were counted */
    bool has_seen_name;       /* the image has the name of an earlier one, and of its chart */
    char chart[IH_SHOWN_MAX]; /* the last of them */
    struct ih_times times;    /* of all threads together */
    uint64_t write_ns;
    struct ih_used_kernel kernels[IH_USED_KERNELS_MAX];
    size_t n_kernels;
    uint64_t n_other_images; /* counted by kernels that have no room above */
};

/* Hides the progress line while other text is written, until ih_messages_release. */
void ih_messages_hold(struct ih_messages *m);
void ih_messages_release(struct ih_messages *m);

/* Prints "note: ..." in the format of printf, except with -q and --check. */
void ih_messages_note(struct ih_messages *m, const char *path, const char *format, ...)
    IH_PRINTF(3, 4);

/* Notes about a command line that may be a mistake. */
void ih_messages_open(struct ih_messages *m);

/* Takes a result into the report, and prints its error or the notes about it. */
void ih_messages_result(struct ih_messages *m, const char *path, const struct ih_result *result);

/* Takes a file of the reference of --against that failed, and prints its error. */
void ih_messages_reference(struct ih_messages *m, const char *path, const struct ih_error *err);

/*
 * Takes the name of an image that counts. Returns whether an earlier image had the name; a note
 * says so. Only the first 65,536 names are kept, as hashes: 1 MiB, however many images there are.
 */
bool ih_messages_see_name(struct ih_messages *m, const char *path);

/* Takes a file of a directory that is no image. */
void ih_messages_skip(struct ih_messages *m, const char *path, const char *why);

/* A note about a directory that the list of --files-from names: "find" lists directories beside
 * their files, which then count twice. path: of a directory or an archive. */
void ih_messages_end_folder(struct ih_messages *m, const char *path);

/* Takes the name of a chart. A note about a character that the font of the charts lacks; 0: none.
 */
void ih_messages_chart(struct ih_messages *m, const char *chart, unsigned long code_point);

/* Notes about the two sides that --diff compares. */
void ih_messages_compare(struct ih_messages *m, const struct ih_total *const sides[2]);

/* The closing line, or the report of -v. has_none: the run had no input. */
void ih_messages_end(struct ih_messages *m, bool has_none);

/* The lines of -v about GPUs: the device has started or failed. */
void ih_messages_devices(const struct ih_device *device, const struct ih_jpeg_report *jpeg);

#endif
