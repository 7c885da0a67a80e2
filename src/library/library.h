/*
 * The objects of libimghist.
 *
 * The library is a thin layer over the decoders, the scan and the devices: it checks what
 * callers pass and hands it on.
 */
#ifndef IH_LIBRARY_LIBRARY_H
#define IH_LIBRARY_LIBRARY_H

#include "device/device_pixels.h"
#include "histogram/total.h"
#include "scan/scan.h"

/* What one call needs while it runs. The context keeps it for later calls. */
struct ih_call {
    struct ih_lane *lane;
    struct ih_reader source;
    int gpu_before; /* the thread's current CUDA device, restored at the end */
    struct ih_call *next;
};

struct ih_context {
    const char *kernel;
    struct ih_device *device;
    struct ih_scan_options options; /* the measure, limits, and the budget if there is one */
    struct ih_budget budget;
    bool has_budget;
    unsigned n_cores;       /* of the machine: asking it takes 20 us */
    int (*ask)(void *user); /* of the settings */
    void *ask_user;
    struct ih_interrupt interrupt;

    pthread_mutex_t lock; /* protects idle */
    struct ih_call *idle; /* owned; grows to the largest number of simultaneous calls */
};

/* The texts of counts of a record. */
enum { IH_TEXT_MAX = 257 }; /* the reader of records takes none that is longer */
struct ih_texts {
    char format[IH_TEXT_MAX], library[IH_TEXT_MAX], version[IH_TEXT_MAX], region[IH_TEXT_MAX],
        mask[IH_TEXT_MAX];
};

struct ih_counts {
    bool is_empty;
    bool is_sum;             /* result is derived from total */
    struct ih_result result; /* valid unless is_empty; path is unused */
    struct ih_total *total;  /* owned; NULL until there is a sum */
    struct ih_texts *texts;  /* owned; of a record: result points into it; NULL: none yet */
    char reduction[IH_REDUCTION_BYTES]; /* of result.measure.range */
};

#define IH_MASK_LABELS "labels" /* ih_measure.mask of the counts of a label */

/* Begins a call on a context. The call owns its lane and source until ih_call_end. */
enum ih_status ih_call_begin(struct ih_context *context, struct ih_call **call,
                             struct ih_error *err);
/* status: of the call. After IH_DEVICE or IH_MEMORY the lane is closed. */
void ih_call_end(struct ih_context *context, struct ih_call *call, enum ih_status status);

/* Copies what a caller passes: the fields that the caller knows; the others become 0. Fields that
 * only the caller knows must be 0, because this library cannot honour them. IH_OK or IH_USAGE. */
enum ih_status ih_options_copy(void *to, size_t to_bytes, const void *from, size_t from_bytes,
                               const char *what, struct ih_error *err);

/* Checks pixels and simplifies them without changing their counts: *out has no negative stride, and
 * rows without gaps become one row. Returns IH_OK or IH_USAGE. */
enum ih_status ih_pixels_normalize(const struct ih_pixels *pixels, struct ih_pixels *out,
                                   struct ih_error *err);

/* Marks counts as holding the one image in counts->result. */
void ih_counts_set_image(struct ih_counts *counts);

/* Overwrites counts with a result of a scan or of a result file. Returns IH_OK or IH_MEMORY.
 */
enum ih_status ih_counts_set_result(struct ih_counts *counts, const struct ih_result *result,
                                    struct ih_error *err);

#endif
