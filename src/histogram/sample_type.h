/*
 * Sample types: how a stored sample becomes a key, and a key a bin.
 *
 * Keys are unsigned integers in the order of the values, so counters, statistics and charts need no
 * other types. A bin is a key, except of float32, whose bins are the upper 16 bits of 32-bit keys.
 */
#ifndef IH_HISTOGRAM_SAMPLE_TYPE_H
#define IH_HISTOGRAM_SAMPLE_TYPE_H

#include "imghist.h"

#include <stdbool.h>

enum ih_sample_type {
    IH_UINT8,  /* unsigned, of 8 bits or reduced to them: IH_BINS bins */
    IH_UINT16, /* unsigned, of 9 to 16 bits: a bin for each value */
    IH_INT8,   /* signed integers, from here on: bins for all that the bits can be */
    IH_INT16,
    IH_FLOAT16,  /* IEEE 754 binary16 */
    IH_BFLOAT16, /* the upper half of float32 */
    IH_FLOAT32,
    IH_SAMPLE_TYPES
};

enum { IH_NATIVE_BINS_MAX = 65536 };

/* "uint8"; static. */
const char *ih_sample_type_name(enum ih_sample_type type);

/* Returns IH_SAMPLE_TYPES for an unknown name. */
enum ih_sample_type ih_sample_type_find(const char *name);

/* Bytes of a sample in a stripe. */
static inline unsigned ih_sample_bytes(enum ih_sample_type type)
{
    return type == IH_FLOAT32 ? 4 : type == IH_UINT8 || type == IH_INT8 ? 1 : 2;
}

/* Whether the bins are those of the stored values. */
static inline bool ih_is_native(enum ih_sample_type type)
{
    return type != IH_UINT8;
}

static inline bool ih_is_float(enum ih_sample_type type)
{
    return type == IH_FLOAT16 || type == IH_BFLOAT16 || type == IH_FLOAT32;
}

/* Whether values have a lower and an upper end, at which they may be clipped. */
static inline bool ih_is_unsigned(enum ih_sample_type type)
{
    return type == IH_UINT8 || type == IH_UINT16;
}

/* Turns n samples in the machine's byte order, of any alignment, into keys. -0 becomes 0.
 * Samples of float32 are left alone: what counts them makes their keys (float_sums.h). */
void ih_keys_make(enum ih_sample_type type, void *samples, size_t n);

/* The value of a bin: exact; of float32 the least one of the bin. */
double ih_bin_value(enum ih_sample_type type, unsigned bin);

/* The bin of a value that a sample of 8 or 16 bits can have. Returns false for any other value. */
bool ih_bin_find(enum ih_sample_type type, unsigned n_bins, double value, unsigned *bin);

/* The bins of the infinities; those beyond are of NaN. Only of floats. */
void ih_bins_of_infinity(enum ih_sample_type type, unsigned *negative, unsigned *positive);

#endif
