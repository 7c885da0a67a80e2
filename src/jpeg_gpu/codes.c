/*
 * Huffman codes of JPEG, ITU-T T.81, annexes C and F.
 *
 * The walk adds up lengths, so a table's entry holds the sum over all symbols that the index can
 * tell, on photos two or three of them. 2,048 entries of 4 bytes for each of luma and chroma stay
 * in the first-level cache; a table of all 65,536 codes was rejected: it does not, and takes longer
 * to make than most small images to walk.
 */
#include "jpeg_gpu/codes.h"

#include <string.h>

enum { CODE_BITS_MAX = 16 };

static bool is_symbol_sound(unsigned symbol, bool is_dc)
{
    unsigned run = symbol >> 4, size = symbol & 15;
    if (is_dc)
        return symbol <= IH_JPEG_DC_SIZE_MAX;
    return size == 0 ? run == 0 || run == 15 : size <= IH_JPEG_AC_SIZE_MAX;
}

bool ih_jpeg_codes_are_sound(const struct ih_jpeg_codes *codes, bool is_dc)
{
    bool is_seen[256] = {false};
    unsigned next_code = 0;
    for (unsigned length = 1; length <= CODE_BITS_MAX; length++) {
        next_code = next_code * 2 + codes->counts[length - 1];
        if (next_code >= 1u << length) /* more than there are; or all ones, which is no code */
            return false;
    }
    for (unsigned i = 0; i < codes->n_symbols; i++) {
        unsigned symbol = codes->counts[CODE_BITS_MAX + i];
        if (is_seen[symbol] || !is_symbol_sound(symbol, is_dc))
            return false;
        is_seen[symbol] = true;
    }
    return codes->n_symbols > 0;
}

static void make_canon(struct ih_jpeg_canon *canon, const struct ih_jpeg_codes *codes)
{
    unsigned code = 0, n_before = 0;
    canon->symbols = codes->counts + CODE_BITS_MAX;
    for (unsigned length = 1; length <= CODE_BITS_MAX; length++) {
        unsigned n = codes->counts[length - 1];
        canon->offsets[length] = (int)n_before - (int)code;
        code += n;
        n_before += n;
        canon->limits[length] = code << (CODE_BITS_MAX - length);
        code *= 2;
    }
}

/* For each index the symbol of the code that it begins with, and from bit 8 the code's length; 0
 * where that is longer than the index. */
static void make_singles(uint16_t *singles, const struct ih_jpeg_codes *codes, unsigned index_bits)
{
    const uint8_t *symbol = codes->counts + CODE_BITS_MAX;
    size_t at = 0;
    for (unsigned length = 1; length <= index_bits; length++)
        for (unsigned i = 0; i < codes->counts[length - 1]; i++, symbol++)
            for (unsigned j = 0; j < 1u << (index_bits - length); j++)
                singles[at++] = (uint16_t)(length << 8 | *symbol);
    memset(singles + at, 0, ((size_t)1 << index_bits) * sizeof *singles - at * sizeof *singles);
}

/* The most that the coefficient may be whose `size` extra bits begin at n_bits; what it is where
 * the index has them all. */
static unsigned magnitude_max(unsigned index_bits, unsigned index, unsigned n_bits, unsigned size)
{
    const unsigned most = (1u << size) - 1;
    if (size == 0 || n_bits + size > index_bits)
        return most;
    const unsigned bits = index >> (index_bits - n_bits - size) & most;
    return bits >> (size - 1) ? bits : most - bits; /* negative ones begin with 0 */
}

/* The AC symbols of an index behind its first n_bits bits. sum_max: what is left for the sum. */
static uint32_t ac_symbols(const uint16_t *singles, unsigned index_bits, unsigned index,
                           unsigned n_bits, unsigned sum_max, unsigned *sum)
{
    unsigned mask = (1u << index_bits) - 1, advance = 0;
    while (n_bits < index_bits) {
        unsigned single = singles[index << n_bits & mask];
        unsigned length = single >> 8, symbol = single & 255, size = symbol & 15;
        unsigned step = (symbol >> 4) + 1;
        if (length == 0 || n_bits + length > index_bits)
            break;
        if (symbol == IH_JPEG_EOB) {
            n_bits += length;
            advance += IH_JPEG_AC_END;
            break;
        }
        const unsigned most = magnitude_max(index_bits, index, n_bits + length, size);
        if (advance + step > IH_JPEG_AC_REACH || *sum + most > sum_max)
            break;
        n_bits += length + size;
        advance += step;
        if (symbol == IH_JPEG_ZRL) /* alone in its reach, so that a sum of 0 tells it */
            break;
        *sum += most;
    }
    return n_bits | advance << 8;
}

void ih_jpeg_ac_table_make(struct ih_jpeg_table *table, const struct ih_jpeg_codes *ac,
                           unsigned index_bits)
{
    uint16_t singles[1 << IH_JPEG_INDEX_BITS_MAX];
    make_singles(singles, ac, index_bits);
    make_canon(&table->canon, ac);
    table->index_bits = index_bits;
    for (unsigned i = 0; i < 1u << index_bits; i++) {
        unsigned sum = 0;
        uint32_t entry = ac_symbols(singles, index_bits, i, 0, 0xFFFF, &sum);
        table->entries[i] = entry == 0 ? IH_JPEG_AC_NONE : entry | sum << 16;
    }
}

void ih_jpeg_start_table_make(struct ih_jpeg_table *table, const struct ih_jpeg_codes *dc,
                              const struct ih_jpeg_codes *ac, unsigned index_bits)
{
    uint16_t dc_singles[1 << IH_JPEG_INDEX_BITS_MAX], ac_singles[1 << IH_JPEG_INDEX_BITS_MAX];
    make_singles(dc_singles, dc, index_bits);
    make_singles(ac_singles, ac, index_bits);
    make_canon(&table->canon, dc);
    table->index_bits = index_bits;
    for (unsigned i = 0; i < 1u << index_bits; i++) {
        unsigned length = dc_singles[i] >> 8, size = dc_singles[i] & 255, sum = 0;
        table->entries[i] = 0;
        if (length > 0) {
            uint32_t entry = ac_symbols(ac_singles, index_bits, i, length + size, 255, &sum);
            table->entries[i] = entry | length << 16 | size << 20 | sum << 24;
        }
    }
}

enum { LANE_SUM_MAX = 0xFFF };

static uint32_t lane_entry(uint32_t symbols, unsigned sum)
{
    const uint32_t n_bits = symbols & 63, advance = symbols >> 8;
    return n_bits == 0
               ? IH_JPEG_LANE_ODD
               : advance | n_bits << IH_JPEG_LANE_LENGTH_SHIFT | sum << IH_JPEG_LANE_SUM_SHIFT;
}

/* What is found faster than by looking at one length after the other. */
static void make_finders(struct ih_jpeg_lane_tables *t)
{
    unsigned symbol = 0, length;
    for (unsigned i = 0; i < 1u << IH_JPEG_DC_INDEX_BITS; i++) {
        length = ih_jpeg_canon_find(&t->dc_canon, i << (16 - IH_JPEG_DC_INDEX_BITS), &symbol);
        t->dc[i] =
            (uint8_t)(length > 0 && length <= IH_JPEG_DC_INDEX_BITS ? length | symbol << 4 : 0);
    }
    t->long_from = t->ac_canon.limits[IH_JPEG_LANE_INDEX_BITS];
    if (t->long_from < (1u << 16) - IH_JPEG_LONG_MAX)
        t->long_from = (1u << 16) - IH_JPEG_LONG_MAX;
    for (uint32_t bits = t->long_from; bits < 1u << 16; bits++) {
        symbol = 0;
        length = ih_jpeg_canon_find(&t->ac_canon, bits, &symbol);
        t->long_ac[bits - t->long_from] = (uint16_t)(length << 8 | symbol);
    }
}

void ih_jpeg_lane_tables_make(struct ih_jpeg_lane_tables *t, const struct ih_jpeg_codes *dc,
                              const struct ih_jpeg_codes *ac)
{
    uint16_t dc_singles[1 << IH_JPEG_LANE_INDEX_BITS];
    const uint16_t *ac_singles = t->short_ac;
    make_singles(dc_singles, dc, IH_JPEG_LANE_INDEX_BITS);
    make_singles(t->short_ac, ac, IH_JPEG_LANE_INDEX_BITS);
    make_canon(&t->dc_canon, dc);
    make_canon(&t->ac_canon, ac);
    for (unsigned i = 0; i < 1u << IH_JPEG_LANE_INDEX_BITS; i++) {
        const unsigned length = dc_singles[i] >> 8, size = dc_singles[i] & 255;
        unsigned sum = 0;
        uint32_t symbols =
            ac_symbols(ac_singles, IH_JPEG_LANE_INDEX_BITS, i, 0, LANE_SUM_MAX, &sum);
        t->ac[i] = lane_entry(symbols, sum);
        sum = 0;
        symbols = length == 0 ? 0
                              : ac_symbols(ac_singles, IH_JPEG_LANE_INDEX_BITS, i, length + size,
                                           LANE_SUM_MAX, &sum) +
                                    (1 << 8);
        t->start[i] = lane_entry(symbols, sum);
    }
    make_finders(t);
}
