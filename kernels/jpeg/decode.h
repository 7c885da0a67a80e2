/*
 * What one thread of the JPEG kernels does: Huffman decoding from any bit on, and the inverse DCT.
 * C and CUDA, so that tests and fuzzers run the same lines on the CPU.
 *
 * A Huffman code synchronises itself: a decoder that starts at a wrong bit is soon, by chance, at
 * the start of a code again, and from there on at the same codes as a decoder from the beginning.
 * (Klein and Wiseman, 2003; for JPEG on GPUs, Weissenberger and Schmidt, arXiv 2111.09219.) What a
 * decoder knows between two codes is its state: the bit, the block of the MCU, and the place in the
 * block. Two decoders in the same state never part.
 */
#ifndef IH_KERNELS_JPEG_DECODE_H
#define IH_KERNELS_JPEG_DECODE_H

#include "jpeg.h"

#ifdef __CUDACC__
#define IH_JPEG static __host__ __device__ __forceinline__
#else
#define IH_JPEG static inline
#endif

/* ---- operations that are instructions on a GPU ---- */

IH_JPEG uint32_t ih_jpeg_big_endian(uint32_t word)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(word, 0, 0x0123);
#else
    const uint8_t *const b = (const uint8_t *)&word;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
#endif
}

/* The upper 32 bits of two words shifted left by 0 to 31. */
IH_JPEG uint32_t ih_jpeg_funnel(uint32_t low, uint32_t high, uint32_t n)
{
#ifdef __CUDA_ARCH__
    return __funnelshift_l(low, high, n);
#else
    return n ? high << n | low >> (32 - n) : high;
#endif
}

/* A warp's threads one after the other on the CPU, all at once on the GPU. */
#ifdef __CUDA_ARCH__
#define IH_JPEG_EACH_LANE(lane) for (uint32_t lane = threadIdx.x % 32, once_ = 1; once_; once_ = 0)
#define IH_JPEG_FIRST_LANE (threadIdx.x % 32 == 0)
#define IH_JPEG_WARP_BARRIER() __syncwarp()
#else
#define IH_JPEG_EACH_LANE(lane) for (uint32_t lane = 0; lane < 32; lane++)
#define IH_JPEG_FIRST_LANE 1
#define IH_JPEG_WARP_BARRIER() ((void)0)
#endif

IH_JPEG uint32_t ih_jpeg_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- codes ---- */

enum {
    IH_JPEG_FIRST_BITS = 10, /* of a code, found by one look-up */
    IH_JPEG_LONG_CODES = 16 - IH_JPEG_FIRST_BITS,
    IH_JPEG_BLOCK_END = 64 /* the advance of an end-of-block code */
};

/* What a code longer than FIRST_BITS needs. */
struct ih_jpeg_long_codes {
    uint16_t limits[8];  /* of codes of 11 to 16 bits: above all of them, as 16 bits */
    uint16_t offsets[8]; /* a code's symbol is symbols[offset + code] */
    uint8_t symbols[256];
};

/*
 * Look-up tables of an image's codes. An entry says what a symbol does:
 *
 *   bits 0-4     bits of the code and of the value after it; 0: the code is longer than the index
 *   bits 5-8     bits of the value, or of the run of blocks after an end-of-block code
 *   bits 9-15    how many places in zigzag order it advances
 */
struct ih_jpeg_tables {
    uint16_t entries[IH_JPEG_CODES][1 << IH_JPEG_FIRST_BITS];
    struct ih_jpeg_long_codes long_codes[IH_JPEG_CODES];
};

/* A progressive file has end-of-block codes with the size of a number in place of the run. */
IH_JPEG uint32_t ih_jpeg_entry(uint32_t symbol, uint32_t n_bits, int is_dc)
{
    const uint32_t run = symbol >> 4;
    const int is_end = !is_dc && (symbol & 15) == 0 && run < 15;
    const uint32_t size = is_dc ? symbol : is_end ? run : symbol & 15;
    const uint32_t advance = is_dc ? 1 : is_end ? (uint32_t)IH_JPEG_BLOCK_END : run + 1;
    return (n_bits + size) | size << 5 | advance << 9;
}

/* The limits and offsets of codes of 1 to 16 bits. */
struct ih_jpeg_limits {
    uint32_t limits[16], offsets[16];
};

/* The entry of a table at an index. */
IH_JPEG uint16_t ih_jpeg_entry_at(uint32_t index, const struct ih_jpeg_limits *of,
                                  const uint8_t *symbols, int is_dc)
{
    for (uint32_t i = 0; i < IH_JPEG_FIRST_BITS; i++)
        if (index << (16 - IH_JPEG_FIRST_BITS) < of->limits[i]) {
            const uint32_t code = index >> (IH_JPEG_FIRST_BITS - 1 - i);
            return (uint16_t)ih_jpeg_entry(symbols[(of->offsets[i] + code) & 255], i + 1, is_dc);
        }
    return 0;
}

/* Makes the look-up table of a code; by a warp. s: memory that its threads share. */
IH_JPEG void ih_jpeg_make_table(const struct ih_gpu_jpeg_code *code, int is_dc,
                                struct ih_jpeg_limits *s, uint16_t *entries,
                                struct ih_jpeg_long_codes *long_codes)
{
    uint32_t next = 0, n_before = 0;
    for (uint32_t i = 0; i < 16 && IH_JPEG_FIRST_LANE; i++) {
        s->offsets[i] = n_before - next;
        next += code->counts[i];
        n_before += code->counts[i];
        s->limits[i] = next << (15 - i);
        next *= 2;
    }
    IH_JPEG_WARP_BARRIER();
    IH_JPEG_EACH_LANE(lane)
    {
        for (uint32_t i = lane; i < 1 << IH_JPEG_FIRST_BITS; i += 32)
            entries[i] = ih_jpeg_entry_at(i, s, code->symbols, is_dc);
        for (uint32_t i = lane; i < 256; i += 32)
            long_codes->symbols[i] = code->symbols[i];
        if (lane < IH_JPEG_LONG_CODES) {
            long_codes->limits[lane] = (uint16_t)s->limits[IH_JPEG_FIRST_BITS + lane];
            long_codes->offsets[lane] = (uint16_t)s->offsets[IH_JPEG_FIRST_BITS + lane];
        }
    }
}

/* The entry of a code longer than the index of its table; 0: the file has no such code. */
IH_JPEG uint32_t ih_jpeg_long_code(const struct ih_jpeg_long_codes *codes, int is_dc, uint32_t bits)
{
    const uint32_t next_16 = bits >> 16;
    uint32_t k = 0;
    for (uint32_t i = 0; i < IH_JPEG_LONG_CODES; i++)
        k += next_16 >= codes->limits[i] ? 1 : 0;
    if (k == IH_JPEG_LONG_CODES)
        return 0;
    const uint32_t n_bits = IH_JPEG_FIRST_BITS + 1 + k;
    const uint32_t place = (codes->offsets[k] + (next_16 >> (16 - n_bits))) & 255;
    return ih_jpeg_entry(codes->symbols[place], n_bits, is_dc);
}

/* The entry of the code at the start of `bits`; 0: the file has no such code. */
IH_JPEG uint32_t ih_jpeg_look_up(const uint16_t *entries,
                                 const struct ih_jpeg_long_codes *long_codes, int is_dc,
                                 uint32_t bits)
{
    const uint32_t entry = entries[bits >> (32 - IH_JPEG_FIRST_BITS)];
    return entry ? entry : ih_jpeg_long_code(long_codes, is_dc, bits);
}

/* In place of a code that does not exist: one bit, and the block ends. */
enum { IH_JPEG_NO_CODE = 1 | IH_JPEG_BLOCK_END << 9 };

/* ---- bits ---- */

/* Reads 96 bits ahead; words are bytes of the stream in memory order. */
struct ih_jpeg_reader {
    const uint32_t *words;
    uint32_t high, low, next; /* next in memory order: it may still be on its way */
    uint32_t i, offset;       /* of the word in high; of the next bit in it */
};

IH_JPEG void ih_jpeg_reader_start(struct ih_jpeg_reader *r, const uint32_t *words, uint32_t bit)
{
    r->words = words;
    r->i = bit / 32;
    r->offset = bit % 32;
    r->high = ih_jpeg_big_endian(words[r->i]);
    r->low = ih_jpeg_big_endian(words[r->i + 1]);
    r->next = words[r->i + 2];
}

IH_JPEG uint32_t ih_jpeg_peek(const struct ih_jpeg_reader *r)
{
    return ih_jpeg_funnel(r->low, r->high, r->offset);
}

IH_JPEG void ih_jpeg_skip(struct ih_jpeg_reader *r, uint32_t n_bits)
{
    r->offset += n_bits;
    if (r->offset >= 32) {
        r->high = r->low;
        r->low = ih_jpeg_big_endian(r->next);
        r->i++;
        r->next = r->words[r->i + 2];
        r->offset -= 32;
    }
}

IH_JPEG uint32_t ih_jpeg_position(const struct ih_jpeg_reader *r)
{
    return r->i * 32 + r->offset;
}

/* The `size` bits that follow n_code others. */
IH_JPEG uint32_t ih_jpeg_bits(uint32_t bits, uint32_t n_code, uint32_t size)
{
    return bits << n_code >> 1 >> (31 - size);
}

/* The value that they stand for (T.81, F.2.2.1). */
IH_JPEG int32_t ih_jpeg_value(uint32_t bits, uint32_t n_code, uint32_t size)
{
    const int32_t value = (int32_t)ih_jpeg_bits(bits, n_code, size);
    return value < 1 << size >> 1 ? value - (1 << size) + 1 : value;
}

/* The fault of data of n_bits whose last block ends at `end`: up to 7 bits fill the last byte. */
IH_JPEG uint32_t ih_jpeg_end_faults(uint32_t end, uint32_t n_bits)
{
    return end > n_bits ? IH_JPEG_FAULT_SHORT : n_bits - end >= 8 ? IH_JPEG_FAULT_LONG : 0;
}

/* ---- states ---- */

/* A decoder's state where a subsequence or a piece ends: the bits that the last symbol reaches
 * beyond it (0 to 31), the block in the cycle, and the place in the block, 0 before its DC. */
IH_JPEG uint32_t ih_jpeg_state(uint32_t n_beyond, uint32_t block, uint32_t place)
{
    return n_beyond | block << 5 | place << 8;
}

/* How the blocks of an image take turns. */
struct ih_jpeg_cycle {
    uint32_t n_blocks, code_of_block;
};

/* Where in its MCU and block a decoder is. */
struct ih_jpeg_place {
    uint32_t block, place, dc, ac; /* dc, ac: the block's codes */
};

IH_JPEG void ih_jpeg_enter_block(struct ih_jpeg_place *at, const struct ih_jpeg_cycle *cycle,
                                 uint32_t block)
{
    at->block = block == cycle->n_blocks ? 0 : block;
    at->dc = cycle->code_of_block >> 4 * at->block & 1;
    at->ac = 2 + (cycle->code_of_block >> (4 * at->block + 1) & 1);
}

IH_JPEG void ih_jpeg_enter_state(struct ih_jpeg_place *at, const struct ih_jpeg_cycle *cycle,
                                 uint32_t state)
{
    at->place = state >> 8;
    ih_jpeg_enter_block(at, cycle, state >> 5 & 7);
}

/* ---- finding the starts ---- */

/* A subsequence as a thread sees it. */
struct ih_jpeg_part {
    const struct ih_gpu_jpeg_interval *interval;
    const uint32_t *words;
    uint32_t subsequence; /* its index */
    uint32_t n_bits;      /* in the subsequence; fewer at the end of the interval */
    uint32_t n_bits_left; /* in the interval, from its start on */
    uint32_t is_first;    /* of its interval */
    struct ih_jpeg_cycle cycle;
};

/* bits, n_bits: unstuffed, of all intervals. */
IH_JPEG struct ih_jpeg_part ih_jpeg_part_of(const struct ih_gpu_jpeg_batch *batch,
                                            const uint8_t *bits, const uint32_t *n_bits,
                                            uint32_t subsequence, uint32_t interval)
{
    struct ih_jpeg_part p;
    p.interval = &batch->intervals[interval];
    const struct ih_gpu_jpeg_image *image = &batch->images[p.interval->image];
    const uint32_t at = (subsequence - p.interval->first_subsequence) * IH_JPEG_SUBSEQUENCE_BITS;
    const uint32_t n = n_bits[interval];
    p.words = (const uint32_t *)(const void *)(bits + p.interval->bits_offset + at / 8);
    p.subsequence = subsequence;
    p.n_bits_left = n > at ? n - at : 0;
    p.n_bits = ih_jpeg_least(p.n_bits_left, IH_JPEG_SUBSEQUENCE_BITS);
    p.is_first = at == 0;
    p.cycle.n_blocks = image->cycle_blocks;
    p.cycle.code_of_block = image->code_of_block;
    return p;
}

/* What a decoder leaves at the end of a piece: its state, and what it has counted from the start of
 * the subsequence: blocks in the lower 16 bits, AC coefficients in the upper. */
struct ih_jpeg_record {
    uint32_t state, counts;
};

/* What is known of a subsequence. */
struct ih_jpeg_pass {
    uint32_t start, exit; /* states */
    uint32_t counts;      /* as in a record */
};

/* Sums over subsequences need 32 bits each: blocks in the lower half, AC coefficients in the
 * upper. */
typedef unsigned long long ih_jpeg_counts;

IH_JPEG ih_jpeg_counts ih_jpeg_widen(uint32_t counts)
{
    return (ih_jpeg_counts)ih_jpeg_least(counts >> 16, IH_JPEG_SUBSEQUENCE_AC) << 32 |
           (counts & 0xffff);
}

/* What is known of all subsequences. */
struct ih_jpeg_starts {
    struct ih_jpeg_pass *passes;    /* [n_subsequences] */
    struct ih_jpeg_record *records; /* [n_subsequences][IH_JPEG_PIECES] */
    ih_jpeg_counts *counts;         /* [n_subsequences + 1]; then of all subsequences before it */
};

/*
 * Decodes a subsequence from pass->start, and notes the states in it.
 *
 * records  [IH_JPEG_PIECES], stride apart; those of pieces that end beyond n_bits are left alone
 * again    records, exit and counts are those of another start: stops at the first record that the
 *          decoder meets in the same state
 */
IH_JPEG void ih_jpeg_synchronise(const struct ih_jpeg_part *part, const struct ih_jpeg_tables *t,
                                 int again, struct ih_jpeg_record *records, uint32_t stride,
                                 struct ih_jpeg_pass *pass)
{
    const uint32_t n_bits = part->n_bits;
    const struct ih_jpeg_cycle cycle = part->cycle;
    struct ih_jpeg_reader r;
    struct ih_jpeg_place at;
    uint32_t counts = 0, piece = 0, piece_end = IH_JPEG_PIECE_BITS;
    ih_jpeg_reader_start(&r, part->words, pass->start & 31);
    ih_jpeg_enter_state(&at, &cycle, pass->start);
    while (ih_jpeg_position(&r) < n_bits) {
        const uint32_t code = at.place ? at.ac : at.dc;
        uint32_t entry =
            ih_jpeg_look_up(t->entries[code], &t->long_codes[code], code < 2, ih_jpeg_peek(&r));
        if (entry == 0)
            entry = IH_JPEG_NO_CODE;
        counts += at.place && entry < IH_JPEG_BLOCK_END << 9 ? 1u << 16 : 0;
        at.place += entry >> 9;
        ih_jpeg_skip(&r, entry & 31);
        if (at.place >= 64) {
            at.place = 0;
            counts++;
            ih_jpeg_enter_block(&at, &cycle, at.block + 1);
        }
        if (ih_jpeg_position(&r) < piece_end || piece_end > n_bits)
            continue;
        const uint32_t state = ih_jpeg_state(ih_jpeg_position(&r) - piece_end, at.block, at.place);
        if (again && records[piece * stride].state == state) {
            const uint32_t more = counts - records[piece * stride].counts;
            for (; piece < IH_JPEG_PIECES; piece++)
                records[piece * stride].counts += more;
            pass->counts += more;
            return;
        }
        records[piece * stride].state = state;
        records[piece * stride].counts = counts;
        piece++;
        piece_end += IH_JPEG_PIECE_BITS;
    }
    const uint32_t end = ih_jpeg_position(&r);
    pass->exit = end >= IH_JPEG_SUBSEQUENCE_BITS
                     ? ih_jpeg_state(end - IH_JPEG_SUBSEQUENCE_BITS, at.block, at.place)
                     : 0;
    pass->counts = counts;
}

/* ---- writing ---- */

/* The AC coefficients of all blocks that are not zero, one after the other: 4 bits for the zeros
 * before it, 12 for its value. And of each block its DC difference and its first coefficient. */
struct ih_jpeg_coefficients {
    uint16_t *ac;
    int16_t *dc;     /* [n_blocks] */
    uint32_t *first; /* [n_blocks] */
};

/* Part of the coefficients is first collected in a thread block's shared memory: those from ac_from
 * and dc_from on, as many as there is room for. On the CPU there is none. */
struct ih_jpeg_sink {
    struct ih_jpeg_coefficients to;
    uint16_t *s_ac;
    uint32_t *s_blocks; /* the DC difference, and in the upper half the first coefficient */
    uint32_t ac_from, blocks_from, ac_room, blocks_room;
    uint32_t first_block, end_block; /* of those that were put into s_blocks, from blocks_from on */
};

IH_JPEG void ih_jpeg_put_ac(struct ih_jpeg_sink *s, uint32_t i, uint32_t coefficient)
{
    const uint32_t k = i - s->ac_from;
    if (k < s->ac_room)
        s->s_ac[k] = (uint16_t)coefficient;
    else
        s->to.ac[i] = (uint16_t)coefficient;
}

IH_JPEG void ih_jpeg_put_block(struct ih_jpeg_sink *s, uint32_t block, int32_t dc, uint32_t first)
{
    const uint32_t k = block - s->blocks_from;
    if (k < s->blocks_room) {
        s->s_blocks[k] = ((uint32_t)dc & 0xffff) | (first - s->ac_from) << 16;
        s->first_block = k < s->first_block ? k : s->first_block;
        s->end_block = k + 1;
    } else {
        s->to.dc[block] = (int16_t)dc;
        s->to.first[block] = first;
    }
}

/* Where a piece begins: state, block and coefficient. */
struct ih_jpeg_start {
    uint32_t state, block, ac;
};

/* piece: 0 to IH_JPEG_PIECES of the subsequence; the last is the start of the next subsequence. */
IH_JPEG struct ih_jpeg_start ih_jpeg_start_of(const struct ih_jpeg_starts *starts,
                                              const struct ih_jpeg_part *part, uint32_t piece)
{
    const struct ih_gpu_jpeg_interval *interval = part->interval;
    struct ih_jpeg_record before = {0, 0};
    struct ih_jpeg_start s;
    uint32_t subsequence = part->subsequence;
    if (piece == IH_JPEG_PIECES)
        subsequence++, piece = 0;
    if (piece > 0)
        before = starts->records[subsequence * IH_JPEG_PIECES + piece - 1];
    else
        before.state = starts->passes[subsequence].start;
    const ih_jpeg_counts counts = starts->counts[subsequence];
    s.state = before.state;
    s.block = interval->first_block + (uint32_t)counts -
              (uint32_t)starts->counts[interval->first_subsequence] + (before.counts & 0xffff);
    s.ac = (uint32_t)(counts >> 32) + (before.counts >> 16);
    return s;
}

/* Of a piece: where it starts, and where its blocks and coefficients belong. */
struct ih_jpeg_piece {
    const uint32_t *words;
    uint32_t n_bits;      /* fewer than IH_JPEG_PIECE_BITS at the end of the interval */
    uint32_t n_bits_left; /* of the interval, from words on */
    uint32_t start;       /* state */
    uint32_t block, ac;   /* counted on */
    uint32_t end_block;   /* the interval's */
    uint32_t end_ac;      /* none is written from here on */
};

IH_JPEG struct ih_jpeg_piece ih_jpeg_piece_of(const struct ih_jpeg_starts *starts,
                                              const struct ih_jpeg_part *part, uint32_t piece)
{
    const struct ih_jpeg_start start = ih_jpeg_start_of(starts, part, piece);
    const uint32_t at = piece * IH_JPEG_PIECE_BITS;
    struct ih_jpeg_piece p;
    p.words = part->words + at / 32;
    p.n_bits = part->n_bits > at ? ih_jpeg_least(part->n_bits - at, IH_JPEG_PIECE_BITS) : 0;
    p.n_bits_left = part->n_bits_left - at;
    p.start = start.state;
    p.end_block = part->interval->first_block + part->interval->n_blocks;
    p.block = ih_jpeg_least(start.block, p.end_block); /* padding decodes to blocks, too */
    p.ac = start.ac;
    p.end_ac = (uint32_t)(starts->counts[part->subsequence + 1] >> 32);
    if (piece + 1 < IH_JPEG_PIECES && at + IH_JPEG_PIECE_BITS <= part->n_bits)
        p.end_ac = ih_jpeg_least(p.end_ac, ih_jpeg_start_of(starts, part, piece + 1).ac);
    return p;
}

/* Decodes a piece and writes its coefficients. *exit: the state at its end; not set if the interval
 * ends in it. Returns a set of enum ih_gpu_jpeg_fault. */
IH_JPEG uint32_t ih_jpeg_write(struct ih_jpeg_piece *p, const struct ih_jpeg_tables *t,
                               struct ih_jpeg_cycle cycle, struct ih_jpeg_sink *sink,
                               uint32_t *exit)
{
    struct ih_jpeg_reader r;
    struct ih_jpeg_place at;
    uint32_t faults = 0;
    if (p->block >= p->end_block)
        return 0;
    ih_jpeg_reader_start(&r, p->words, p->start & 31);
    ih_jpeg_enter_state(&at, &cycle, p->start);
    while (ih_jpeg_position(&r) < p->n_bits) {
        const uint32_t bits = ih_jpeg_peek(&r), code = at.place ? at.ac : at.dc;
        uint32_t entry = ih_jpeg_look_up(t->entries[code], &t->long_codes[code], code < 2, bits);
        if (entry == 0) {
            faults |= IH_JPEG_FAULT_CODE;
            entry = IH_JPEG_NO_CODE;
        }
        const uint32_t n_bits = entry & 31, size = entry >> 5 & 15, advance = entry >> 9;
        const int32_t value = ih_jpeg_value(bits, n_bits - size, size);
        if (at.place == 0) {
            ih_jpeg_put_block(sink, p->block, value, p->ac);
        } else if (advance < IH_JPEG_BLOCK_END) {
            if (p->ac < p->end_ac)
                ih_jpeg_put_ac(sink, p->ac, (advance - 1) << 12 | ((uint32_t)value & 0xfff));
            p->ac++;
        }
        at.place += advance;
        ih_jpeg_skip(&r, n_bits);
        if (at.place < 64)
            continue;
        if (advance < IH_JPEG_BLOCK_END && (at.place > 64 || size == 0))
            faults |= IH_JPEG_FAULT_PLACE;
        at.place = 0;
        p->block++;
        ih_jpeg_enter_block(&at, &cycle, at.block + 1);
        if (p->block == p->end_block) {
            ih_jpeg_put_block(sink, p->block, 0, p->ac);
            return faults | ih_jpeg_end_faults(ih_jpeg_position(&r), p->n_bits_left);
        }
    }
    if (p->n_bits_left <= IH_JPEG_PIECE_BITS)
        return faults | IH_JPEG_FAULT_SHORT;
    *exit = ih_jpeg_state(ih_jpeg_position(&r) - IH_JPEG_PIECE_BITS, at.block, at.place);
    return faults;
}

/* The same, and checks that the next piece begins where this one ends: the proof of write.cu. */
IH_JPEG uint32_t ih_jpeg_write_piece(const struct ih_jpeg_starts *starts,
                                     const struct ih_jpeg_part *part, uint32_t piece,
                                     struct ih_jpeg_piece *p, const struct ih_jpeg_tables *t,
                                     struct ih_jpeg_sink *sink)
{
    uint32_t exit = 0, faults = ih_jpeg_write(p, t, part->cycle, sink, &exit);
    if (p->ac > p->end_ac)
        faults |= IH_JPEG_FAULT_SYNC;
    if (p->block < p->end_block && !(faults & IH_JPEG_FAULT_SHORT)) {
        const struct ih_jpeg_start next = ih_jpeg_start_of(starts, part, piece + 1);
        if (exit != next.state || p->block != next.block || p->ac != next.ac)
            faults |= IH_JPEG_FAULT_SYNC;
    }
    return faults;
}

/* ---- DC ---- */

/* Puts a sum of differences in the place of the last one, shifted. Returns whether it fits. */
IH_JPEG int ih_jpeg_put_dc(int16_t *dc, int32_t sum, uint32_t low)
{
    const int32_t value = (int32_t)((uint32_t)sum << low);
    *dc = (int16_t)value;
    return sum == (int16_t)sum && value == (int16_t)value;
}

/* ---- the inverse DCT ---- */

/* The limit for the sum of a block's coefficient magnitudes, each times its quantizer, DC included.
 * Below it no 16-bit step of libjpeg-turbo's SIMD versions overflows, so all versions agree. */
enum { IH_JPEG_BLOCK_SUM_MAX = 5900 };

enum { IH_JPEG_COLUMNS_SHIFT = 11, IH_JPEG_ROWS_SHIFT = 18 };

/* One pass over eight values, of libjpeg's accurate integer DCT (Loeffler, Ligtenberg and Moschytz,
 * 1989): first columns, then rows, each with its shift. Rows add the 128 of samples. The constants
 * are cosines in 13 fraction bits. */
IH_JPEG void ih_jpeg_idct_8(int32_t *v, int shift)
{
    const int32_t half = (1 << (shift - 1)) + (shift == IH_JPEG_ROWS_SHIFT ? 128 << shift : 0);
    const int32_t even_2 = (v[2] + v[6]) * 4433 - v[6] * 15137;
    const int32_t even_3 = (v[2] + v[6]) * 4433 + v[2] * 6270;
    const int32_t even_0 = (v[0] + v[4]) * 8192 + half, even_1 = (v[0] - v[4]) * 8192 + half;
    const int32_t z5 = (v[7] + v[3] + v[5] + v[1]) * 9633;
    const int32_t z1 = (v[7] + v[1]) * -7373, z2 = (v[5] + v[3]) * -20995;
    const int32_t z3 = (v[7] + v[3]) * -16069 + z5, z4 = (v[5] + v[1]) * -3196 + z5;
    const int32_t odd_0 = v[7] * 2446 + z1 + z3, odd_1 = v[5] * 16819 + z2 + z4;
    const int32_t odd_2 = v[3] * 25172 + z2 + z3, odd_3 = v[1] * 12299 + z1 + z4;
    const int32_t a = even_0 + even_3, b = even_1 + even_2;
    const int32_t c = even_1 - even_2, d = even_0 - even_3;
    v[0] = (a + odd_3) >> shift;
    v[7] = (a - odd_3) >> shift;
    v[1] = (b + odd_2) >> shift;
    v[6] = (b - odd_2) >> shift;
    v[2] = (c + odd_1) >> shift;
    v[5] = (c - odd_1) >> shift;
    v[3] = (d + odd_0) >> shift;
    v[4] = (d - odd_0) >> shift;
}

/* The record of a component's block. */
IH_JPEG uint32_t ih_jpeg_block_record(const struct ih_gpu_jpeg_image *image,
                                      const struct ih_gpu_jpeg_component *c, uint32_t x, uint32_t y)
{
    const uint32_t mcu = y / c->v * image->mcus_across + x / c->h;
    const uint32_t n_intervals_before = image->restart_mcus ? mcu / image->restart_mcus : 0;
    return image->first_block + mcu * image->mcu_blocks + c->block_of_mcu + y % c->v * c->h +
           x % c->h + n_intervals_before;
}

#endif
