/* Integers of many words, little more than addition: they are added once an image, multiplied once
 * a statistic, and no larger than 704 bits. Words of 32 bits need no type wider than 64. */
#include "histogram/float_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WORD = 32,
    UNIT = -149,                                /* the power of two of a sum */
    PRODUCT_WORDS = IH_FLOAT_SQUARES_WORDS + 2, /* of squares and a count */
    VARIANCE_WORDS = PRODUCT_WORDS,             /* and of a sum and itself */
    BINS_PER_EXPONENT = 128,
    PIECE_BITS = 24 /* of a count, for a part */
};

_Static_assert(2 * IH_FLOAT_SUM_WORDS == PRODUCT_WORDS, "both have the same size");

/* ---- integers ---- */

/* Adds value * 2^shift to an integer, or subtracts it. */
static void add_shifted(uint32_t *words, unsigned n_words, uint64_t value, unsigned shift,
                        bool subtracts)
{
    uint64_t carry = 0;
    for (unsigned i = shift / WORD, at = 0; i < n_words && (value || carry); i++, at++) {
        const uint64_t part = at ? (uint32_t)value : (uint32_t)(value << shift % WORD);
        value >>= at ? WORD : WORD - shift % WORD;
        const uint64_t sum = subtracts ? words[i] - part - carry : words[i] + part + carry;
        words[i] = (uint32_t)sum;
        carry = sum >> WORD & 1;
    }
}

/* to += or -= from, modulo 2^(32 n_words) */
static void add_words(uint32_t *to, const uint32_t *from, unsigned n_words, bool subtracts)
{
    uint64_t carry = 0;
    for (unsigned i = 0; i < n_words; i++) {
        const uint64_t sum =
            subtracts ? to[i] - (uint64_t)from[i] - carry : to[i] + (uint64_t)from[i] + carry;
        to[i] = (uint32_t)sum;
        carry = sum >> WORD & 1;
    }
}

static bool is_negative(const uint32_t *words, unsigned n_words)
{
    return words[n_words - 1] >> (WORD - 1);
}

/* Whether a <= b, in two's complement. Both are far from its limits. */
static bool is_at_most(const uint32_t *a, const uint32_t *b, unsigned n_words)
{
    uint32_t difference[VARIANCE_WORDS];
    memcpy(difference, b, n_words * sizeof *b);
    add_words(difference, a, n_words, true);
    return !is_negative(difference, n_words);
}

/* Overwrites out, of n_a + n_b words, with a product of integers without sign. */
static void multiply(const uint32_t *a, unsigned n_a, const uint32_t *b, unsigned n_b,
                     uint32_t *out)
{
    memset(out, 0, (n_a + n_b) * sizeof *out);
    for (unsigned i = 0; i < n_a; i++) {
        uint64_t carry = 0;
        for (unsigned k = 0; k < n_b; k++) {
            carry += (uint64_t)a[i] * b[k] + out[i + k];
            out[i + k] = (uint32_t)carry;
            carry >>= WORD;
        }
        out[i + n_b] = (uint32_t)carry;
    }
}

static unsigned bit_length(const uint32_t *words, unsigned n_words)
{
    while (n_words > 0 && words[n_words - 1] == 0)
        n_words--;
    unsigned n = n_words * WORD;
    while (n > 0 && !(words[(n - 1) / WORD] >> (n - 1) % WORD & 1))
        n--;
    return n;
}

/* The number of zeros below the lowest bit of an integer that is not 0. */
static unsigned n_zeros(const uint32_t *words)
{
    unsigned n = 0;
    while (words[n / WORD] == 0)
        n += WORD;
    while (!(words[n / WORD] >> n % WORD & 1))
        n++;
    return n;
}

/* Overwrites out with words * 2^shift, without bits below 1. */
static void shift_words(const uint32_t *words, unsigned n_words, int shift, uint32_t *out,
                        unsigned n_out)
{
    for (unsigned i = 0; i < n_out; i++) {
        const int from = (int)(i * WORD) - shift; /* bit */
        const int at = from >= 0 ? from / WORD : -((WORD - 1 - from) / WORD);
        const uint64_t low = at >= 0 && at < (int)n_words ? words[at] : 0;
        const uint64_t high = at >= -1 && at + 1 < (int)n_words ? words[at + 1] : 0;
        out[i] = (uint32_t)((high << WORD | low) >> (from - at * WORD));
    }
}

static int compare_words(const uint32_t *a, const uint32_t *b, unsigned n_words)
{
    while (n_words-- > 0)
        if (a[n_words] != b[n_words])
            return a[n_words] < b[n_words] ? -1 : 1;
    return 0;
}

/*
 * The double nearest to 2^UNIT * v^(1/power) / n, ties to even. power: 1 or 2
 *
 * v is scaled by 2^shift so that the quotient has 55 to 57 bits. They are found one by one: a
 * quotient is small enough if (quotient * n)^power <= v. All bits that it lacks count as one more,
 * the lowest, so that rounding to 53 bits is that of the exact value.
 */
static double nearest(const uint32_t *v, unsigned n_words, unsigned power, uint64_t n)
{
    enum { BITS = 55, HIGHEST = 56, WORDS = 8 };
    const uint32_t divisor[2] = {(uint32_t)n, (uint32_t)(n >> WORD)};
    uint32_t scaled[WORDS];
    const unsigned n_bits = bit_length(v, n_words);
    int shift = (int)(power * (BITS + bit_length(divisor, 2))) - (int)n_bits;
    shift += power == 2 && shift % 2 != 0;
    bool is_exact = n_bits == 0;
    const bool is_lost = !is_exact && (int)n_zeros(v) < -shift;
    shift_words(v, n_words, shift, scaled, WORDS);
    uint64_t quotient = 0;
    for (unsigned i = HIGHEST + 1; i-- > 0 && n_bits > 0;) {
        const uint64_t larger = quotient | UINT64_C(1) << i;
        const uint32_t words[2] = {(uint32_t)larger, (uint32_t)(larger >> WORD)};
        uint32_t product[WORDS] = {0}, square[WORDS];
        multiply(words, 2, divisor, 2, product);
        if (power == 2)
            multiply(product, WORDS / 2, product, WORDS / 2, square);
        const int order = compare_words(power == 2 ? square : product, scaled, WORDS);
        if (order > 0)
            continue;
        quotient = larger;
        is_exact = order == 0 && !is_lost;
    }
    quotient |= !is_exact;
    return ldexp((double)(int64_t)quotient, UNIT - shift / (int)power);
}

/* ---- sums ---- */

void ih_float_sums_add_part(struct ih_float_sums *sums, unsigned bin,
                            const struct ih_float_part *part, unsigned shift)
{
    const unsigned exponent = ih_float_bits((uint32_t)bin << 16) >> 23 & 255;
    const unsigned up = exponent > 0 ? exponent - 1 : 0; /* subnormal values have that of 1 */
    add_shifted(sums->sum, IH_FLOAT_SUM_WORDS, part->sum, shift + up, bin < IH_FLOAT_BINS / 2);
    add_shifted(sums->squares, IH_FLOAT_SQUARES_WORDS, part->squares_low, shift + 2 * up, false);
    add_shifted(sums->squares, IH_FLOAT_SQUARES_WORDS, part->squares_high, shift + 2 * up + 17,
                false);
}

void ih_float_sums_add(struct ih_float_sums *sums, const struct ih_float_sums *other)
{
    add_words(sums->sum, other->sum, IH_FLOAT_SUM_WORDS, false);
    add_words(sums->squares, other->squares, IH_FLOAT_SQUARES_WORDS, false);
    if (sums->min_key > other->min_key)
        sums->min_key = other->min_key;
    if (sums->max_key < other->max_key)
        sums->max_key = other->max_key;
}

/* Overwrites out with the magnitude of the sum. Returns whether the sum is negative. */
static bool magnitude(const struct ih_float_sums *sums, uint32_t out[IH_FLOAT_SUM_WORDS])
{
    const bool is_below = is_negative(sums->sum, IH_FLOAT_SUM_WORDS);
    memset(out, 0, sizeof sums->sum);
    add_words(out, sums->sum, IH_FLOAT_SUM_WORDS, is_below);
    return is_below;
}

double ih_float_mean(const struct ih_float_sums *sums, uint64_t n)
{
    uint32_t sum[IH_FLOAT_SUM_WORDS];
    const bool is_below = magnitude(sums, sum);
    const double mean = nearest(sum, IH_FLOAT_SUM_WORDS, 1, n);
    return is_below ? -mean : mean;
}

/* Overwrites out with n^2 times the variance: n * squares - sum^2. */
static void set_variance(const struct ih_float_sums *sums, uint64_t n, uint32_t out[VARIANCE_WORDS])
{
    const uint32_t count[2] = {(uint32_t)n, (uint32_t)(n >> WORD)};
    uint32_t sum[IH_FLOAT_SUM_WORDS], square[VARIANCE_WORDS];
    magnitude(sums, sum);
    multiply(sum, IH_FLOAT_SUM_WORDS, sum, IH_FLOAT_SUM_WORDS, square);
    multiply(sums->squares, IH_FLOAT_SQUARES_WORDS, count, 2, out);
    add_words(out, square, VARIANCE_WORDS, true);
}

double ih_float_deviation(const struct ih_float_sums *sums, uint64_t n)
{
    uint32_t variance[VARIANCE_WORDS];
    set_variance(sums, n, variance);
    return nearest(variance, VARIANCE_WORDS, 2, n);
}

float ih_float_bin_value(const struct ih_float_sums *sums, unsigned bin)
{
    const uint32_t key = (uint32_t)bin << 16;
    return ih_float_value(key > sums->min_key ? key : sums->min_key);
}

/* ---- sums that are read ---- */

/* Adds n samples of a bin that have the same lower bits of the key. */
static void add_equal(struct ih_float_sums *sums, unsigned bin, uint64_t n, uint32_t low)
{
    for (unsigned shift = 0; n > 0; n >>= PIECE_BITS, shift += PIECE_BITS) {
        struct ih_float_part part = {0, 0, 0};
        const uint64_t n_here = n & ((1u << PIECE_BITS) - 1);
        ih_float_part_add(&part, bin, n_here, n_here * low, n_here * low * low);
        ih_float_sums_add_part(sums, bin, &part, shift);
    }
}

static void swap_squares(struct ih_float_sums *a, struct ih_float_sums *b)
{
    uint32_t squares[IH_FLOAT_SQUARES_WORDS];
    memcpy(squares, a->squares, sizeof squares);
    memcpy(a->squares, b->squares, sizeof squares);
    memcpy(b->squares, squares, sizeof squares);
}

/* The sums are least and greatest if all samples of a bin are equal to its end. So are the squares,
 * but those of negative values are the other way round. */
bool ih_float_sums_fit(const struct ih_float_sums *sums, const uint64_t *bins)
{
    struct ih_float_sums least = IH_FLOAT_SUMS_EMPTY, greatest = IH_FLOAT_SUMS_EMPTY;
    const unsigned first = sums->min_key >> 16, last = sums->max_key >> 16;
    uint32_t variance[VARIANCE_WORDS];
    uint64_t n = 0;
    if (sums->min_key > sums->max_key || sums->min_key < IH_FLOAT_KEY_FIRST ||
        sums->max_key > IH_FLOAT_KEY_LAST || bins[first] == 0 || bins[last] == 0)
        return false;
    for (unsigned bin = 0; bin < IH_FLOAT_BINS; bin++) {
        if (bin == IH_FLOAT_BINS / 2)
            swap_squares(&least, &greatest);
        if (bins[bin] == 0)
            continue;
        if (bin < first || bin > last || n + bins[bin] < n)
            return false;
        n += bins[bin];
        add_equal(&least, bin, bins[bin], bin == first ? sums->min_key & 0xFFFF : 0);
        add_equal(&greatest, bin, bins[bin], bin == last ? sums->max_key & 0xFFFF : 0xFFFF);
    }
    set_variance(sums, n, variance);
    return is_at_most(least.sum, sums->sum, IH_FLOAT_SUM_WORDS) &&
           is_at_most(sums->sum, greatest.sum, IH_FLOAT_SUM_WORDS) &&
           is_at_most(least.squares, sums->squares, IH_FLOAT_SQUARES_WORDS) &&
           is_at_most(sums->squares, greatest.squares, IH_FLOAT_SQUARES_WORDS) &&
           !is_negative(variance, VARIANCE_WORDS);
}

/* ---- text ---- */

/* Prints words * 2^unit. */
static char *print_words(char *text, const uint32_t *words, unsigned n_words, bool is_below,
                         int unit)
{
    uint32_t odd[IH_FLOAT_SQUARES_WORDS];
    const unsigned n_bits = bit_length(words, n_words), zeros = n_bits > 0 ? n_zeros(words) : 0;
    unsigned top = (n_bits - zeros + WORD - 1) / WORD;
    if (n_bits == 0)
        return stpcpy(text, "0x0p0");
    shift_words(words, n_words, -(int)zeros, odd, n_words);
    char *end = text + sprintf(text, "%s0x%x", is_below ? "-" : "", (unsigned)odd[--top]);
    while (top > 0)
        end += sprintf(end, "%08x", (unsigned)odd[--top]);
    return end + sprintf(end, "p%d", (int)zeros + unit);
}

/* Reads the digits and the power of what print_words writes, and perhaps more: the caller compares.
 * Returns false for other texts and for integers that are too long. */
static bool parse_words(const char *text, uint32_t *words, unsigned n_words, int unit)
{
    uint32_t digits[IH_FLOAT_SQUARES_WORDS] = {0};
    static const char hex[] = "0123456789abcdef";
    const char *p = text + (*text == '-'), *digit;
    if (*p++ != '0' || *p++ != 'x')
        return false;
    for (; *p && (digit = strchr(hex, *p)) != NULL; p++) {
        if (digits[n_words - 1] >> (WORD - 4))
            return false;
        shift_words(memcpy(words, digits, n_words * sizeof *words), n_words, 4, digits, n_words);
        digits[0] |= (uint32_t)(digit - hex);
    }
    if (*p++ != 'p' || strlen(p) > 4)
        return false;
    const int shift = atoi(p) - unit;
    const unsigned n_bits = bit_length(digits, n_words);
    if (n_bits > 0 && (shift < 0 || n_bits + (unsigned)shift >= n_words * WORD))
        return false;
    shift_words(digits, n_words, n_bits > 0 ? shift : 0, words, n_words);
    return true;
}

/* The sums of one sample. */
static struct ih_float_sums sums_of(uint32_t key)
{
    struct ih_float_sums sums = IH_FLOAT_SUMS_EMPTY;
    add_equal(&sums, key >> 16, 1, key & 0xFFFF);
    return sums;
}

char *ih_float_sums_print(char text[IH_FLOAT_TEXT_MAX], const struct ih_float_sums *sums,
                          enum ih_float_member member)
{
    uint32_t sum[IH_FLOAT_SUM_WORDS];
    struct ih_float_sums one;
    if (member == IH_FLOAT_SQUARES)
        return print_words(text, sums->squares, IH_FLOAT_SQUARES_WORDS, false, 2 * UNIT);
    if (member != IH_FLOAT_SUM) {
        one = sums_of(member == IH_FLOAT_MIN ? sums->min_key : sums->max_key);
        sums = &one;
    }
    const bool is_below = magnitude(sums, sum);
    return print_words(text, sum, IH_FLOAT_SUM_WORDS, is_below, UNIT);
}

/* The key of a number of units; of another float32, if none has this number. */
static uint32_t key_of(const uint32_t units[IH_FLOAT_SUM_WORDS], bool is_below)
{
    uint32_t significand[IH_FLOAT_SUM_WORDS];
    const unsigned n_bits = bit_length(units, IH_FLOAT_SUM_WORDS);
    const unsigned up = n_bits > 24 ? n_bits - 24 : 0;
    shift_words(units, IH_FLOAT_SUM_WORDS, -(int)up, significand, IH_FLOAT_SUM_WORDS);
    return ih_float_key(((uint32_t)up << 23) + significand[0] + ((uint32_t)is_below << 31));
}

bool ih_float_sums_parse(struct ih_float_sums *sums, enum ih_float_member member, const char *text)
{
    char again[IH_FLOAT_TEXT_MAX];
    uint32_t units[IH_FLOAT_SUM_WORDS];
    const bool is_below = *text == '-';
    if (member == IH_FLOAT_SQUARES) {
        if (!parse_words(text, sums->squares, IH_FLOAT_SQUARES_WORDS, 2 * UNIT))
            return false;
    } else {
        if (!parse_words(text, units, IH_FLOAT_SUM_WORDS, UNIT))
            return false;
        if (member == IH_FLOAT_MIN)
            sums->min_key = key_of(units, is_below);
        else if (member == IH_FLOAT_MAX)
            sums->max_key = key_of(units, is_below);
        memset(sums->sum, 0, member == IH_FLOAT_SUM ? sizeof sums->sum : 0);
        if (member == IH_FLOAT_SUM)
            add_words(sums->sum, units, IH_FLOAT_SUM_WORDS, is_below);
    }
    ih_float_sums_print(again, sums, member);
    return strcmp(text, again) == 0;
}
