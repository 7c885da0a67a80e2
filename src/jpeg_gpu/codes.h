/* JPEG's Huffman codes: whether a table is sound, and look-up tables that tell lengths and how
 * large coefficients may be. */
#ifndef IH_JPEG_GPU_CODES_H
#define IH_JPEG_GPU_CODES_H

#include "jpeg_gpu/validate.h"

/* Largest sizes in bits that 8-bit samples need (T.81, tables F.1 and F.2). */
enum { IH_JPEG_DC_SIZE_MAX = 11, IH_JPEG_AC_SIZE_MAX = 10 };

enum { IH_JPEG_EOB = 0x00, IH_JPEG_ZRL = 0xF0 };

/* Stricter than libjpeg: no symbol that an encoder of 8-bit samples has no use for, none twice. */
bool ih_jpeg_codes_are_sound(const struct ih_jpeg_codes *codes, bool is_dc);

/* To find codes of any length. For the length l, limits[l] is above all codes of up to l bits, as
 * if they had 16. */
struct ih_jpeg_canon {
    const uint8_t *symbols;
    uint32_t limits[17];
    int offsets[17]; /* a code of l bits has the symbol at offsets[l] + code */
};

/* The symbol of the code that the next 16 bits begin with, and the code's length; 0: none. */
static inline unsigned ih_jpeg_canon_find(const struct ih_jpeg_canon *canon, uint32_t next_16_bits,
                                          unsigned *symbol)
{
    for (unsigned length = 1; length <= 16; length++)
        if (next_16_bits < canon->limits[length]) {
            int code = (int)(next_16_bits >> (16 - length));
            *symbol = canon->symbols[canon->offsets[length] + code];
            return length;
        }
    return 0;
}

/*
 * What the next bits of the data mean, looked up by the first of them: as many symbols as have all
 * of their code within the index, with their extra bits. An entry is a number:
 *
 *   bits 0-5: the length of all codes and extra bits together
 *   bits 8-15: how far the AC symbols advance in the block, up to IH_JPEG_AC_REACH; and
 *   IH_JPEG_AC_END more where the last one ends it
 *   bits 16-31 of an AC entry: the sum of its coefficients' magnitudes, at most
 *
 *   The entry at a block's start has the DC symbol first: bits 16-19 the length of its code, 20-23
 *   its size, 24-31 the sum of the AC symbols behind it.
 *
 * Where the first code is longer than the index, or none, the length is 0: IH_JPEG_AC_NONE as an AC
 * entry, 0 at a block's start.
 */
enum { IH_JPEG_AC_REACH = 16, IH_JPEG_AC_NONE = 64 << 8, IH_JPEG_AC_END = 128 };
enum { IH_JPEG_INDEX_BITS_MAX = 11 };

struct ih_jpeg_table {
    struct ih_jpeg_canon canon; /* of the first code */
    unsigned index_bits;
    uint32_t entries[1 << IH_JPEG_INDEX_BITS_MAX];
};

/* Codes are sound. The more bits, the fewer look-ups, and the longer these take. */
void ih_jpeg_ac_table_make(struct ih_jpeg_table *table, const struct ih_jpeg_codes *ac,
                           unsigned index_bits);
void ih_jpeg_start_table_make(struct ih_jpeg_table *table, const struct ih_jpeg_codes *dc,
                              const struct ih_jpeg_codes *ac, unsigned index_bits);

/* ---- the same for lanes ---- */

/*
 * What a lane (jpeg_lanes.c) knows of its block is one number, to which a look-up adds an entry of
 * the same form:
 *
 *   bits 0-5: the place in zigzag order of the next coefficient
 *   bit 6: something that a look-up does not see to: a code longer than the index, a block that
 *   ends without EOB, damage
 *   bit 7: the block has ended, with EOB
 *   bits 8-19: its length in bits
 *   bits 20-62: a bound on the sum of its AC coefficients' magnitudes, times their quantizers
 *   bit 63: it is damaged
 *
 * An entry has 32 bits, and its sum is without the quantizers.
 */
enum {
    IH_JPEG_LANE_PLACE_MASK = 63,
    IH_JPEG_LANE_ODD = 1 << 6,
    IH_JPEG_LANE_ENDED_SHIFT = 7,
    IH_JPEG_LANE_LENGTH_SHIFT = 8,
    IH_JPEG_LANE_LENGTH_MASK = 0xFFF,
    IH_JPEG_LANE_SUM_SHIFT = 20,
};
#define IH_JPEG_LANE_DAMAGED ((uint64_t)1 << 63)

enum { IH_JPEG_LANE_INDEX_BITS = 12, IH_JPEG_DC_INDEX_BITS = 9, IH_JPEG_LONG_MAX = 1024 };

struct ih_jpeg_lane_tables {
    uint32_t start[1 << IH_JPEG_LANE_INDEX_BITS]; /* the DC symbol, and AC symbols behind it */
    uint32_t ac[1 << IH_JPEG_LANE_INDEX_BITS];
    struct ih_jpeg_canon dc_canon, ac_canon;

    /* By a code's first bits its length, and from bit 4 the size that it stands for; 0: longer. */
    uint8_t dc[1 << IH_JPEG_DC_INDEX_BITS];

    /* By a code's first bits the symbol, and from bit 8 the code's length; 0: longer. Those from
     * long_from on, of 16 bits, are in long_ac. */
    uint16_t short_ac[1 << IH_JPEG_LANE_INDEX_BITS], long_ac[IH_JPEG_LONG_MAX];
    uint32_t long_from;
};

/* Codes are sound. */
void ih_jpeg_lane_tables_make(struct ih_jpeg_lane_tables *tables, const struct ih_jpeg_codes *dc,
                              const struct ih_jpeg_codes *ac);

/* As ih_jpeg_canon_find, without a loop but for codes that hardly any file has. */
static inline unsigned ih_jpeg_lane_ac_find(const struct ih_jpeg_lane_tables *tables,
                                            uint32_t next_16_bits, unsigned *symbol)
{
    unsigned found = tables->short_ac[next_16_bits >> (16 - IH_JPEG_LANE_INDEX_BITS)];
    if (found == 0 && next_16_bits < tables->long_from)
        return ih_jpeg_canon_find(&tables->ac_canon, next_16_bits, symbol);
    if (found == 0)
        found = tables->long_ac[next_16_bits - tables->long_from];
    *symbol = found & 255;
    return found >> 8;
}

/* The length of the DC code that the bits begin with, which is sound, and its size. */
static inline unsigned ih_jpeg_lane_dc_find(const struct ih_jpeg_lane_tables *tables, uint64_t bits,
                                            unsigned *size)
{
    const unsigned found = tables->dc[bits >> (64 - IH_JPEG_DC_INDEX_BITS)];
    if (found == 0)
        return ih_jpeg_canon_find(&tables->dc_canon, (uint32_t)(bits >> 48), size);
    *size = found >> 4;
    return found & 15;
}

/* ---- values ---- */

/* What the first `size` bits stand for: something negative where they begin with 0 (T.81, F.2.2.1).
 */
static inline int32_t ih_jpeg_extend(uint64_t bits, unsigned size)
{
    int32_t value = (int32_t)(bits >> 1 >> (63 - size));
    int32_t if_negative = (1 << size) - 1;
    return value - (-(int32_t)(1 - (bits >> 63)) & if_negative);
}

static inline uint32_t ih_jpeg_magnitude(int32_t value)
{
    return (uint32_t)(value < 0 ? -value : value);
}

#endif
