/*
 * Exact sums of float32 samples.
 *
 * Every finite float32 is an integer times 2^-149, and its square one times 2^-298. So the sum and
 * the sum of squares of any number of samples are integers, and adding them has no order: parts of
 * an image, or many images, give the same sums in any grouping and on every machine. Only the mean
 * and the deviation are rounded, once, at the end.
 *
 * Beside the sums stand the least and the greatest sample. Both are kept as keys: integers in the
 * order of the values.
 */
#ifndef IH_HISTOGRAM_FLOAT_SUMS_H
#define IH_HISTOGRAM_FLOAT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    IH_FLOAT_BINS = 65536, /* a bin is the upper half of a key */
    /* 2^64 samples below 2^128 have a sum below 2^341 units, and one of squares below 2^618. */
    IH_FLOAT_SUM_WORDS = 11,
    IH_FLOAT_SQUARES_WORDS = 20
};

/* The keys of the finite values. Infinities and NaN have those outside. */
#define IH_FLOAT_KEY_FIRST UINT32_C(0x00800000)
#define IH_FLOAT_KEY_LAST UINT32_C(0xFF7FFFFF)

struct ih_float_sums {
    /* Words of 32 bits, the lowest first. */
    uint32_t sum[IH_FLOAT_SUM_WORDS]; /* two's complement */
    uint32_t squares[IH_FLOAT_SQUARES_WORDS];
    uint32_t min_key, max_key; /* min_key > max_key: no samples */
};

#define IH_FLOAT_SUMS_EMPTY ((struct ih_float_sums){.min_key = UINT32_MAX})

/* The key of the bits of a float32. -0 has that of 0. */
static inline uint32_t ih_float_key(uint32_t bits)
{
    const uint32_t key = bits ^ ((UINT32_C(0) - (bits >> 31)) | UINT32_C(0x80000000));
    return key + (key == UINT32_C(0x7FFFFFFF));
}

/* The bits of a float32 with this key. */
static inline uint32_t ih_float_bits(uint32_t key)
{
    return key ^ ((UINT32_C(0) - !(key >> 31)) | UINT32_C(0x80000000));
}

static inline float ih_float_value(uint32_t key)
{
    const uint32_t bits = ih_float_bits(key);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The upper 8 bits of the significands in a bin of finite values. */
static inline unsigned ih_float_top(unsigned bin)
{
    const unsigned bits = ih_float_bits((uint32_t)bin << 16) >> 16 & 0x7FFF;
    return (bits & 127) | (bits >= 128 ? 128 : 0);
}

/* Less than 2^24 samples of one sign and exponent: the sum of their significands, which have 24
 * bits, and of the squares: high * 2^17 + low. */
struct ih_float_part {
    uint64_t sum, squares_high, squares_low;
};

/* Adds the n samples of a bin. lows, low_squares: the sum of the lower 16 bits of their keys, and
 * of the squares of these. */
static inline void ih_float_part_add(struct ih_float_part *part, unsigned bin, uint64_t n,
                                     uint64_t lows, uint64_t low_squares)
{
    const unsigned top = ih_float_top(bin);
    if (bin < IH_FLOAT_BINS / 2) { /* negative: the bits of the key are inverted */
        low_squares += UINT64_C(0xFFFF) * (n * 0xFFFF - 2 * lows); /* modulo 2^64 */
        lows = n * 0xFFFF - lows;
    }
    part->sum += (n * top << 16) + lows;
    part->squares_high += (n * top * top << 15) + top * lows;
    part->squares_low += low_squares;
}

/* Adds a part, times 2^shift. bin: of any of its samples */
void ih_float_sums_add_part(struct ih_float_sums *sums, unsigned bin,
                            const struct ih_float_part *part, unsigned shift);

/* *sums += other */
void ih_float_sums_add(struct ih_float_sums *sums, const struct ih_float_sums *other);

/* The mean, and the population standard deviation, of n samples with these sums: the nearest
 * doubles, ties to even. n is at least 1. */
double ih_float_mean(const struct ih_float_sums *sums, uint64_t n);
double ih_float_deviation(const struct ih_float_sums *sums, uint64_t n);

/* The least value of a bin that has samples, not below the least sample: a percentile. */
float ih_float_bin_value(const struct ih_float_sums *sums, unsigned bin);

/*
 * Whether samples exist that have these sums and bins: least and greatest sample are in the first
 * and the last bin that is not 0, and the sums are possible for the values of the bins.
 *
 * bins   [IH_FLOAT_BINS]
 */
bool ih_float_sums_fit(const struct ih_float_sums *sums, const uint64_t *bins);

/*
 * The sums in records: C's notation of floating-point numbers in base 16, as an integer times a
 * power of two, such as -0x2ap-3, which is -5.25. The integer is odd, or 0 with the power 0: a
 * number has one form.
 */
enum ih_float_member {
    IH_FLOAT_SUM,
    IH_FLOAT_SQUARES,
    IH_FLOAT_MIN,
    IH_FLOAT_MAX,
    IH_FLOAT_MEMBERS
};
enum { IH_FLOAT_TEXT_MAX = 8 * IH_FLOAT_SQUARES_WORDS + 10 };

/* Returns the end of the text. sums: of samples */
char *ih_float_sums_print(char text[IH_FLOAT_TEXT_MAX], const struct ih_float_sums *sums,
                          enum ih_float_member member);

/* Sets a member. Returns false for a text that ih_float_sums_print does not write. */
bool ih_float_sums_parse(struct ih_float_sums *sums, enum ih_float_member member, const char *text);

#endif
