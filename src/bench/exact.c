#include "bench/exact.h"

#include <math.h>
#include <string.h>

enum {
    MANTISSA_BITS = 52,
    DIGIT_BITS = 32,
    DIGITS = 70,           /* 2,100 bits of values, 36 bits of their number, and the sign */
    LEAST_EXPONENT = -1074 /* of the lowest bit of a double */
};

void ih_exact_add(struct ih_exact_sum *sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    unsigned exponent = (unsigned)(bits >> MANTISSA_BITS) & 2047;
    uint64_t mantissa = bits & ((UINT64_C(1) << MANTISSA_BITS) - 1);
    if (exponent > 0)
        mantissa |= UINT64_C(1) << MANTISSA_BITS;
    else
        exponent = 1; /* denormals have the lowest exponent and no implicit 1 */
    int64_t low = (int64_t)(mantissa & ((1u << IH_EXACT_LOW_BITS) - 1));
    int64_t high = (int64_t)(mantissa >> IH_EXACT_LOW_BITS);
    sum->low[exponent - 1] += bits >> 63 ? -low : low;
    sum->high[exponent - 1] += bits >> 63 ? -high : high;
}

/* digits += value * 2^shift, without carrying. */
static void put(int64_t digits[DIGITS], int64_t value, unsigned shift)
{
    const int64_t sign = value < 0 ? -1 : 1;
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const unsigned first = shift / DIGIT_BITS, left = shift % DIGIT_BITS;
    const uint64_t low = (magnitude & UINT32_MAX) << left, high = (magnitude >> 32) << left;
    digits[first] += sign * (int64_t)(low & UINT32_MAX);
    digits[first + 1] += sign * (int64_t)((low >> 32) + (high & UINT32_MAX));
    digits[first + 2] += sign * (int64_t)(high >> 32);
}

/* Carries, so that every digit is 0 to 2^32 - 1. Returns -1 for a negative number, else 0. */
static int64_t carry(int64_t digits[DIGITS])
{
    int64_t over = 0;
    for (unsigned i = 0; i < DIGITS; i++) {
        const int64_t all = digits[i] + over;
        const uint64_t digit = (uint64_t)all & UINT32_MAX;
        over = (all - (int64_t)digit) / ((int64_t)1 << DIGIT_BITS); /* divides evenly */
        digits[i] = (int64_t)digit;
    }
    return over;
}

double ih_exact_round(const struct ih_exact_sum *sum)
{
    int64_t digits[DIGITS] = {0};
    for (unsigned e = 0; e < IH_EXACT_BINS; e++) {
        put(digits, sum->low[e], e);
        put(digits, sum->high[e], e + IH_EXACT_LOW_BITS);
    }
    const int is_negative = carry(digits) < 0;
    if (is_negative) {
        for (unsigned i = 0; i < DIGITS; i++)
            digits[i] = -digits[i];
        carry(digits); /* the last carry, -1, is the sign */
    }
    int top = DIGITS - 1;
    while (top > 0 && digits[top] == 0)
        top--;
    /* head: the highest 64 bits. Lower bits only matter for ties, and are kept as its lowest bit.
     */
    uint64_t head = (uint64_t)digits[top];
    int exponent = LEAST_EXPONENT + DIGIT_BITS * top;
    for (int i = top - 1; i >= 0; i--) {
        const uint64_t digit = (uint64_t)digits[i];
        unsigned room = 0;
        while (room < DIGIT_BITS && head >> (63 - room) == 0)
            room++;
        head = head << room | (room ? digit >> (DIGIT_BITS - room) : 0);
        exponent -= (int)room;
        if (room < DIGIT_BITS && digit << (DIGIT_BITS + room) != 0)
            head |= 1; /* far below the rounding bit */
    }
    int drop = 0;
    while (head >> drop > (UINT64_C(1) << (MANTISSA_BITS + 1)) - 1)
        drop++;
    if (drop > 0) {
        const uint64_t half = UINT64_C(1) << (drop - 1), rest = head & (2 * half - 1);
        head >>= drop;
        if (rest > half || (rest == half && (head & 1)))
            head++;
    }
    const double value = ldexp((double)head, exponent + drop);
    return is_negative ? -value : value;
}
