/*
 * What the two validators of entropy-coded data share: look-up tables and the state of a block.
 *
 * validate_scan.c reads one block after the other and takes any data. validate_streams.c reads at
 * four places at once and takes large files, and small ones whose tables are known.
 */
#ifndef IH_JPEG_GPU_VALIDATE_SCAN_H
#define IH_JPEG_GPU_VALIDATE_SCAN_H

#include "jpeg_gpu/validate.h"

/* Largest sizes in bits that 8-bit samples need (T.81, tables F.1 and F.2). */
enum { IH_JPEG_DC_SIZE_MAX = 11, IH_JPEG_AC_SIZE_MAX = 10 };

enum {
    IH_JPEG_EOB = 0x00,
    IH_JPEG_ZRL = 0xF0,
    IH_JPEG_BLOCK_COEFFICIENTS = 64,
    IH_JPEG_MCU_BLOCKS_MAX = 6
};

/* ---- single symbols ---- */

enum { IH_JPEG_CODE_BITS_MAX = 16, IH_JPEG_FIRST_BITS = 9 };

struct ih_jpeg_huffman {
    const uint8_t *symbols;                     /* borrowed */
    uint32_t limits[IH_JPEG_CODE_BITS_MAX + 1]; /* of a length: above all its codes, as 16 bits */
    int offsets[IH_JPEG_CODE_BITS_MAX + 1];     /* a code of this length: symbols[offset + code] */
    /* Indexed by the next bits: 256 * the code's length + its symbol; 0: the code is longer. */
    uint16_t first[1 << IH_JPEG_FIRST_BITS];
};

/* Stricter than libjpeg: every symbol is one that 8-bit samples need, and none occurs twice. */
bool ih_jpeg_codes_are_sound(const struct ih_jpeg_codes *codes, bool is_dc);

/* Returns the length of the code at the start of `bits`, and its symbol; 0, 0: no code. */
static inline unsigned ih_jpeg_find(const struct ih_jpeg_huffman *table, uint64_t bits,
                                    unsigned *symbol)
{
    const unsigned found = table->first[bits >> (64 - IH_JPEG_FIRST_BITS)];
    const uint32_t next_16_bits = (uint32_t)(bits >> 48);
    *symbol = found & 255;
    if (found != 0)
        return found >> 8;
    for (unsigned length = IH_JPEG_FIRST_BITS + 1; length <= IH_JPEG_CODE_BITS_MAX; length++)
        if (next_16_bits < table->limits[length]) {
            const int code = (int)(next_16_bits >> (16 - length));
            *symbol = table->symbols[table->offsets[length] + code];
            return length;
        }
    return 0;
}

/* The value of the first `size` bits (T.81, F.2.2.1): negative where they begin with 0. */
static inline int32_t ih_jpeg_extend(uint64_t bits, unsigned size)
{
    const int32_t value = (int32_t)(bits >> 1 >> (63 - size));
    const int32_t if_negative = (1 << size) - 1;
    return value - (-(int32_t)(1 - (bits >> 63)) & if_negative);
}

/* ---- blocks ---- */

/*
 * The state of a block is one number. A look-up adds an entry, a number of the same form:
 *
 *   bits 0-5     the place in zigzag order of the next coefficient; 0: the block's start
 *   bit 6        only ih_jpeg_step can read the next symbol: a code longer than the index, the end
 *                of a block without EOB, or damage
 *   bit 7        the block has ended with EOB
 *   bits 8-19    the block's length in bits
 *   bits 20-62   an upper bound for the sum of its AC coefficients' magnitudes times quantizers
 *   bit 63       the block is damaged
 *
 * An entry has 32 bits and covers all symbols that the index holds. Its sum is without quantizers.
 */
enum {
    IH_JPEG_PLACE_MASK = 63,
    IH_JPEG_IS_STEP = 1 << 6,
    IH_JPEG_ENDED_SHIFT = 7,
    IH_JPEG_LENGTH_SHIFT = 8,
    IH_JPEG_LENGTH_MASK = 0xFFF,
    IH_JPEG_SUM_SHIFT = 20,
};
#define IH_JPEG_IS_DAMAGED ((uint64_t)1 << 63)

struct ih_jpeg_component {
    const struct ih_jpeg_huffman *dc, *ac;
    const uint32_t *start;                        /* entries for the start of a block */
    const uint32_t *rest;                         /* entries for the rest of it */
    unsigned index_bits;                          /* of both */
    const uint8_t *quant;                         /* [64] in zigzag order */
    unsigned n_blocks;                            /* of an MCU */
    uint32_t weights[IH_JPEG_BLOCK_COEFFICIENTS]; /* factor of an entry's sum, by place */
};

/* ---- tables that are kept for the next files ---- */

enum {
    IH_JPEG_INDEX_BITS_MAX = 12,
    IH_JPEG_KEPT_PAIRS = 8, /* at least as many as a file may have, IH_HW_JPEG_COMPONENTS_MAX */
    IH_JPEG_KEPT_DATA_BYTES = 64 << 10
};

/* The tables of a DC code and an AC code. They depend on nothing but both codes and index_bits. */
struct ih_jpeg_pair {
    unsigned index_bits;         /* 0: empty */
    uint64_t last_file;          /* the number of the last file that used it */
    struct ih_jpeg_codes dc, ac; /* what the tables were made from: bytes, not the file's */
    uint8_t dc_bytes[16 + 256], ac_bytes[16 + 256];
    struct ih_jpeg_huffman dc_table, ac_table;
    uint32_t start[1 << IH_JPEG_INDEX_BITS_MAX], rest[1 << IH_JPEG_INDEX_BITS_MAX];
};

struct ih_jpeg_workspace {
    uint64_t n_files; /* so far */
    struct ih_jpeg_pair pairs[IH_JPEG_KEPT_PAIRS];
    uint8_t data[IH_JPEG_KEPT_DATA_BYTES]; /* for small files: workers contend for the heap */
};

bool ih_jpeg_codes_are_same(const struct ih_jpeg_codes *a, const struct ih_jpeg_codes *b);

/* Whether two earlier files had the codes of this one, so that its tables are large. */
bool ih_jpeg_has_tables(const struct ih_jpeg_workspace *workspace, const struct ih_jpeg_plan *plan);

/* Fills a plan's components [plan->n_components], which borrow plan and workspace until the next
 * call. Makes the tables that the workspace does not have. index_bits: the least for new tables. */
void ih_jpeg_components_init(struct ih_jpeg_component *components, const struct ih_jpeg_plan *plan,
                             struct ih_jpeg_workspace *workspace, unsigned index_bits);

/* ---- reading data ---- */

/* At least 57 bits of the data, from `bit` on. */
static inline uint64_t ih_jpeg_bits(const uint8_t *data, size_t bit)
{
    const uint8_t *p = data + (bit >> 3);
    const uint64_t bits = (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
                          (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
                          (uint64_t)p[6] << 8 | (uint64_t)p[7];
    return bits << (bit & 7);
}

/* Reads the symbol at the start of `bits`, of any length, and updates *block. Returns how many bits
 * it has. *is_end: the block has ended. Damage ends a block, sets IH_JPEG_IS_DAMAGED and *reason,
 * and has one bit. */
unsigned ih_jpeg_step(const struct ih_jpeg_component *component, uint64_t bits, uint64_t *block,
                      bool *is_end, enum ih_jpeg_reason *reason);

/* The exact sum of the AC coefficients' magnitudes times quantizers, of a sound block at `bit`. */
uint32_t ih_jpeg_ac_sum(const struct ih_jpeg_component *component, const uint8_t *data, size_t bit);

/* Copies entropy-coded data up to the next marker without its stuffing to `to` [end - from +
 * n_zeros], and appends zeros: look-ups may read beyond the end. Returns where the marker is, or
 * `end`. *n_bytes: without the zeros. */
const uint8_t *ih_jpeg_unstuff(const uint8_t *from, const uint8_t *end, size_t n_zeros, uint8_t *to,
                               size_t *n_bytes);

static inline bool ih_jpeg_is_marker(const uint8_t *at, const uint8_t *end, unsigned marker)
{
    return end - at >= 2 && at[1] == marker;
}

static inline uint32_t ih_jpeg_n_mcus(const struct ih_jpeg_plan *plan)
{
    const uint32_t width = 8 * plan->chroma_h, height = 8 * plan->chroma_v; /* of an MCU */
    return ((plan->width + width - 1) / width) * ((plan->height + height - 1) / height);
}

/* ---- the two validators ---- */

/* Both take a plan that ih_jpeg_validate_header has filled. When they accept the data, they make
 * plan->data_bytes end before EOI; otherwise the plan is unchanged. */

enum ih_jpeg_reason ih_jpeg_validate_scan(struct ih_jpeg_plan *plan,
                                          struct ih_jpeg_workspace *workspace);

/* For files without restart markers. Returns true when the data is sound. False says nothing
 * about it: memory was short, the data may be damaged, or four streams do not help with it. */
bool ih_jpeg_validate_streams(struct ih_jpeg_plan *plan, struct ih_jpeg_workspace *workspace);

#endif
