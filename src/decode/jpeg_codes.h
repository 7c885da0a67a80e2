/* JPEG's Huffman codes: whether a table is sound, and look-up tables that only tell lengths. */
#ifndef IH_DECODE_JPEG_CODES_H
#define IH_DECODE_JPEG_CODES_H

#include "decode/jpeg_walk.h"

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

/* codes are sound */
void ih_jpeg_canon_make(struct ih_jpeg_canon *canon, const struct ih_jpeg_codes *codes);

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
 *   bits 16-31 of an AC entry: the sum of 2^size of its coefficients
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

/* The more bits, the fewer look-ups, and the longer these take. */
void ih_jpeg_ac_table_make(struct ih_jpeg_table *table, const struct ih_jpeg_codes *ac,
                           unsigned index_bits);
void ih_jpeg_start_table_make(struct ih_jpeg_table *table, const struct ih_jpeg_codes *dc,
                              const struct ih_jpeg_codes *ac, unsigned index_bits);

#endif
