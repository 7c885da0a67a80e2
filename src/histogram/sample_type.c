/* The order of floats is that of their bits as signs and magnitudes: a positive number gets its
 * sign bit set, and of a negative one all bits are inverted. */
#include "histogram/sample_type.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const names[IH_SAMPLE_TYPES] = {"uint8",   "uint16",   "int8",   "int16",
                                                   "float16", "bfloat16", "float32"};

const char *ih_sample_type_name(enum ih_sample_type type)
{
    return names[type];
}

enum ih_sample_type ih_sample_type_find(const char *name)
{
    unsigned i = 0;
    while (i < IH_SAMPLE_TYPES && strcmp(names[i], name) != 0)
        i++;
    return (enum ih_sample_type)i;
}

/* ---- keys ---- */

enum { SIGN_8 = 0x80, SIGN_16 = 0x8000 };
#define SIGN_32 UINT32_C(0x80000000)

/* gcc and clang both know the attribute. Each type has a loop of its own. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE uint16_t key_of_16(uint16_t v, bool is_float)
{
    return is_float && v == SIGN_16 ? v : (uint16_t)(v ^ ((is_float ? -(v >> 15) : 0) | SIGN_16));
}

/* Compilers make SIMD code of loops of a fixed length. */
ALWAYS_INLINE void make_keys_of_16(uint8_t *samples, size_t n, bool is_float)
{
    enum { BLOCK = 64 };
    uint16_t v[BLOCK];
    for (; n >= BLOCK; n -= BLOCK, samples += sizeof v) {
        memcpy(v, samples, sizeof v);
        for (unsigned i = 0; i < BLOCK; i++)
            v[i] = key_of_16(v[i], is_float);
        memcpy(samples, v, sizeof v);
    }
    for (; n > 0; n--, samples += sizeof *v) {
        memcpy(v, samples, sizeof *v);
        *v = key_of_16(*v, is_float);
        memcpy(samples, v, sizeof *v);
    }
}

void ih_keys_make(enum ih_sample_type type, void *samples, size_t n)
{
    uint8_t *const bytes = samples;
    for (size_t i = 0; i < n && type == IH_INT8; i++)
        bytes[i] ^= SIGN_8;
    if (type == IH_INT16)
        make_keys_of_16(bytes, n, false);
    else if (type == IH_FLOAT16 || type == IH_BFLOAT16)
        make_keys_of_16(bytes, n, true);
}

/* ---- values ---- */

static double value_of_float16(unsigned bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const unsigned fraction = bits & 1023;
    const double value = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                         : exponent == 0 ? ldexp(fraction, -24)
                                         : ldexp(fraction + 1024, exponent - 25);
    return bits & SIGN_16 ? -value : value;
}

double ih_bin_value(enum ih_sample_type type, unsigned bin)
{
    const uint32_t key = (uint32_t)bin << 16;
    uint32_t bits = key & SIGN_32 ? key ^ SIGN_32 : ~key;
    float value;
    switch (type) {
    case IH_INT8:
        return (double)bin - SIGN_8;
    case IH_INT16:
        return (double)bin - SIGN_16;
    case IH_FLOAT16:
        return value_of_float16(bits >> 16);
    case IH_BFLOAT16:
        bits &= UINT32_C(0xFFFF0000);
        /* fall through */
    case IH_FLOAT32:
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    default:
        return bin;
    }
}

void ih_bins_of_infinity(enum ih_sample_type type, unsigned *negative, unsigned *positive)
{
    const unsigned bits = type == IH_FLOAT16 ? 0x7C00 : 0x7F80;
    assert(ih_is_float(type));
    *positive = bits | SIGN_16;
    *negative = bits ^ (SIGN_16 - 1);
}

bool ih_bin_find(enum ih_sample_type type, unsigned n_bins, double value, unsigned *bin)
{
    unsigned low = 0, high = n_bins - 1;
    if (ih_is_float(type))
        ih_bins_of_infinity(type, &low, &high);
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        if (ih_bin_value(type, middle) < value)
            low = middle + 1;
        else
            high = middle;
    }
    *bin = low; /* of 0 that of -0, which counts as 0, is below and empty */
    if (ih_is_float(type) && value == 0)
        *bin = SIGN_16;
    return type != IH_FLOAT32 && ih_bin_value(type, *bin) == value;
}
