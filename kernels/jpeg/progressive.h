/*
 * What one thread, or one warp, of the kernels for progressive JPEG does, for the CPU too.
 *
 * First scans bring the upper bits of coefficients, and decode as a sequential file does: from any
 * bit on. An end-of-block code may end a run of blocks; the whole run is added to the number of
 * blocks at once, so the state between two codes is again only the bit and the place in the block.
 *
 * Refinement scans bring one more bit. Each coefficient that was not zero before has a correction
 * bit there, between the codes, so the start of a block is known only from the block before it.
 * But that needs no values, only a map of 64 bits for each block: which coefficients are not zero.
 * A warp navigates through a scan in this way, and notes where each block begins. Then a thread for
 * each block applies the corrections.
 */
#ifndef IH_KERNELS_JPEG_PROGRESSIVE_H
#define IH_KERNELS_JPEG_PROGRESSIVE_H

#include "decode.h"

enum {
    IH_JPEG_COUNT_MAX = 1 << 26, /* of the blocks of a subsequence; any image has fewer */
    IH_JPEG_WINDOW_BITS = 1024,  /* of a refinement scan, whose codes are looked up at once */
    IH_JPEG_WINDOW_WORDS = IH_JPEG_WINDOW_BITS / 32,
    IH_JPEG_WINDOW_BLOCKS = 32,     /* navigated between two stores */
    IH_JPEG_SCANS_SLACK_BYTES = 384 /* read after the last scan: two windows, and what is ahead */
};
#define IH_JPEG_IN_RUN 0x80000000u /* of a position: the block is in a run of ends */

/* ---- codes ---- */

/* As in struct ih_jpeg_tables, for one code. */
struct ih_jpeg_code {
    uint16_t entries[1 << IH_JPEG_FIRST_BITS];
    struct ih_jpeg_long_codes long_codes;
};

/* ---- first scans ---- */

/* What the threads of a first scan share. */
struct ih_jpeg_first_scan {
    const struct ih_jpeg_code *codes; /* AC: one; DC: with code_of_block, one or the next */
    struct ih_gpu_jpeg_scan scan;
};

/* Where the results of a first scan go; NULL: not there. */
struct ih_jpeg_first_results {
    int16_t *dc;           /* [n_blocks]: differences */
    uint64_t *maps;        /* [n_blocks]: ored */
    int16_t *coefficients; /* [n_blocks][64], in zigzag order */
};

IH_JPEG void ih_jpeg_add_to_map(uint64_t *map, uint64_t bits)
{
#ifdef __CUDA_ARCH__
    if (bits)
        atomicOr((unsigned long long *)map, bits);
#else
    *map |= bits;
#endif
}

/*
 * Decodes a subsequence of a first scan.
 *
 * words         from its start on
 * n_bits        of it; fewer than IH_JPEG_STEP_BITS at the end
 * n_bits_left   of the scan, from words on
 * state         at its start; then at its end
 * block         the first, counted on; it stops after the last
 * to            NULL: only counts
 *
 * Returns a set of enum ih_gpu_jpeg_fault; meaningless without `to`.
 */
IH_JPEG uint32_t ih_jpeg_decode_first(const uint32_t *words, uint32_t n_bits, uint32_t n_bits_left,
                                      const struct ih_jpeg_first_scan *first, uint32_t *state,
                                      uint32_t *block, const struct ih_jpeg_first_results *to)
{
    const struct ih_gpu_jpeg_scan *scan = &first->scan;
    struct ih_jpeg_reader r;
    uint32_t faults = 0, of_cycle = *state >> 5 & 7, place = *state >> 8, n = *block;
    uint64_t map = 0;
    ih_jpeg_reader_start(&r, words, *state & 31);
    while (ih_jpeg_position(&r) < n_bits && n < scan->n_blocks) {
        const uint32_t bits = ih_jpeg_peek(&r);
        const struct ih_jpeg_code *code = &first->codes[scan->code_of_block >> of_cycle & 1];
        uint32_t entry = ih_jpeg_look_up(code->entries, &code->long_codes, scan->first == 0, bits);
        if (entry == 0) {
            faults |= IH_JPEG_FAULT_CODE;
            entry = IH_JPEG_NO_CODE;
        }
        const uint32_t n_code = entry & 31, size = entry >> 5 & 15, advance = entry >> 9;
        uint32_t n_ended = 0;
        if (advance == IH_JPEG_BLOCK_END) {
            n_ended = (1u << size) + ih_jpeg_bits(bits, n_code - size, size);
        } else {
            place += advance;
            if (to && to->dc)
                to->dc[n] = (int16_t)ih_jpeg_value(bits, n_code - size, size);
            else if (to && size && place <= scan->last + 1) {
                map |= 1ull << (place - 1);
                if (to->coefficients)
                    to->coefficients[(size_t)n * 64 + place - 1] =
                        (int16_t)(ih_jpeg_value(bits, n_code - size, size) * (1 << scan->low));
            }
            if (place > scan->last) {
                if (scan->last > 0 && (place > scan->last + 1 || size == 0))
                    faults |= IH_JPEG_FAULT_PLACE;
                n_ended = 1;
            }
        }
        ih_jpeg_skip(&r, n_code);
        if (n_ended == 0)
            continue;
        if (to && to->maps)
            ih_jpeg_add_to_map(&to->maps[n], map);
        map = 0;
        place = scan->first;
        of_cycle = of_cycle + 1 == scan->cycle_blocks ? 0 : of_cycle + 1;
        n += n_ended;
        if (n >= scan->n_blocks)
            faults |= n > scan->n_blocks ? (uint32_t)IH_JPEG_FAULT_PLACE
                                         : ih_jpeg_end_faults(ih_jpeg_position(&r), n_bits_left);
    }
    if (to && to->maps && n < scan->n_blocks)
        ih_jpeg_add_to_map(&to->maps[n], map);
    *block = n;
    *state = ih_jpeg_position(&r) >= IH_JPEG_STEP_BITS
                 ? ih_jpeg_state(ih_jpeg_position(&r) - IH_JPEG_STEP_BITS, of_cycle, place)
                 : 0;
    return faults;
}

/* The same without results: the number of blocks that begin before its end, from any state. */
IH_JPEG uint32_t ih_jpeg_count_first(const uint32_t *words, uint32_t n_bits,
                                     const struct ih_jpeg_first_scan *first, uint32_t *state)
{
    struct ih_jpeg_first_scan endless = *first;
    uint32_t n = 0;
    endless.scan.n_blocks = IH_JPEG_COUNT_MAX;
    ih_jpeg_decode_first(words, n_bits, n_bits, &endless, state, &n, NULL);
    return n < IH_JPEG_COUNT_MAX ? n : (uint32_t)IH_JPEG_COUNT_MAX;
}

/* ---- navigation ---- */

/* A refinement scan of AC coefficients. */
struct ih_jpeg_refinement {
    const uint32_t *words;
    const struct ih_jpeg_code *code;
    uint32_t n_bits;
    struct ih_gpu_jpeg_scan scan;
};

/* What a warp has in shared memory. */
struct ih_jpeg_navigator {
    uint16_t code[1 << IH_JPEG_FIRST_BITS];
    uint16_t entries[IH_JPEG_WINDOW_BITS]; /* at each bit of the window */
    uint32_t words[IH_JPEG_WINDOW_WORDS + 1];
    uint32_t n_zeros[IH_JPEG_WINDOW_BLOCKS];
    /* Corrections of the window's blocks before each, if all are in runs of ends; then of all. */
    uint32_t n_before[IH_JPEG_WINDOW_BLOCKS + 1];
    uint32_t positions[IH_JPEG_WINDOW_BLOCKS]; /* where each block begins */
    uint64_t maps[IH_JPEG_WINDOW_BLOCKS];      /* before the scan, then after it */
    uint8_t zeros[IH_JPEG_WINDOW_BLOCKS][64];  /* places of coefficients that are zero */
};

/* Where the warp is: all its threads know the same. */
struct ih_jpeg_course {
    uint32_t position, run; /* run: blocks that end without a code of their own */
    uint32_t window;        /* the one in shared memory */
    uint32_t faults;
};

IH_JPEG uint64_t ih_jpeg_band(uint32_t first, uint32_t last)
{
    return ~0ull >> (63 - last) & ~0ull << first;
}

IH_JPEG uint32_t ih_jpeg_n_bits_set(uint64_t bits)
{
#ifdef __CUDA_ARCH__
    return (uint32_t)__popcll(bits);
#else
    uint32_t n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
#endif
}

IH_JPEG uint32_t ih_jpeg_lowest_bit(uint64_t bits)
{
#ifdef __CUDA_ARCH__
    return (uint32_t)__ffsll((long long)bits) - 1;
#else
    return ih_jpeg_n_bits_set((bits & (0 - bits)) - 1);
#endif
}

IH_JPEG void ih_jpeg_begin_course(struct ih_jpeg_navigator *s, const struct ih_jpeg_refinement *r,
                                  struct ih_jpeg_course *c)
{
    IH_JPEG_EACH_LANE(lane)
    for (uint32_t i = lane; i < 1 << IH_JPEG_FIRST_BITS; i += 32)
        s->code[i] = r->code->entries[i];
    c->position = c->run = c->faults = 0;
    c->window = ~0u;
    IH_JPEG_WARP_BARRIER();
}

/* Looks up the codes at all bits of the window that the position is in. */
IH_JPEG void ih_jpeg_load_window(struct ih_jpeg_navigator *s, const struct ih_jpeg_refinement *r,
                                 struct ih_jpeg_course *c)
{
    if (c->position > r->n_bits) {
        c->faults |= IH_JPEG_FAULT_SHORT;
        return;
    }
    c->window = c->position / IH_JPEG_WINDOW_BITS;
    const uint32_t *words = r->words + (size_t)c->window * IH_JPEG_WINDOW_WORDS;
    IH_JPEG_WARP_BARRIER();
    IH_JPEG_EACH_LANE(lane)
    {
        s->words[lane] = ih_jpeg_big_endian(words[lane]);
        if (lane == 0)
            s->words[IH_JPEG_WINDOW_WORDS] = ih_jpeg_big_endian(words[IH_JPEG_WINDOW_WORDS]);
    }
    IH_JPEG_WARP_BARRIER();
    IH_JPEG_EACH_LANE(lane)
    {
        for (uint32_t i = 0; i < IH_JPEG_WINDOW_WORDS; i++)
            s->entries[i * 32 + lane] =
                s->code[ih_jpeg_funnel(s->words[i + 1], s->words[i], lane) >>
                        (32 - IH_JPEG_FIRST_BITS)];
    }
    IH_JPEG_WARP_BARRIER();
}

/* Counts the zeros of the window's blocks, whose maps are there. */
IH_JPEG void ih_jpeg_count_zeros(struct ih_jpeg_navigator *s, const struct ih_jpeg_refinement *r,
                                 uint32_t n_blocks)
{
    const uint64_t band = ih_jpeg_band(r->scan.first, r->scan.last);
    uint32_t sum = 0;
    IH_JPEG_EACH_LANE(lane)
    {
        const uint64_t map = lane < n_blocks ? s->maps[lane] : 0;
        const uint32_t n = ih_jpeg_n_bits_set(map & band);
        s->n_zeros[lane] = r->scan.last + 1 - r->scan.first - n;
#ifdef __CUDA_ARCH__
        sum = n;
        for (uint32_t step = 1; step < 32; step *= 2) {
            const uint32_t other = __shfl_up_sync(~0u, sum, step);
            sum += lane >= step ? other : 0;
        }
#else
        sum += n;
#endif
        s->n_before[lane + 1] = sum;
        if (lane == 0)
            s->n_before[0] = 0;
    }
}

/* Lists the zeros of the window's blocks from `from` on. */
IH_JPEG void ih_jpeg_list_zeros(struct ih_jpeg_navigator *s, const struct ih_jpeg_refinement *r,
                                uint32_t from, uint32_t n_blocks)
{
    const uint64_t band = ih_jpeg_band(r->scan.first, r->scan.last);
    const uint32_t low_band = (uint32_t)band, high_band = (uint32_t)(band >> 32);
    IH_JPEG_EACH_LANE(lane)
    {
        const uint32_t before = (1u << lane) - 1;
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
        for (uint32_t b = from; b < n_blocks; b++) {
            const uint64_t map = s->maps[b];
            const uint32_t low = ~(uint32_t)map & low_band,
                           high = ~(uint32_t)(map >> 32) & high_band;
            if (low >> lane & 1)
                s->zeros[b][ih_jpeg_n_bits_set(low & before)] = (uint8_t)lane;
            if (high >> lane & 1)
                s->zeros[b][ih_jpeg_n_bits_set(low) + ih_jpeg_n_bits_set(high & before)] =
                    (uint8_t)(lane + 32);
        }
    }
    IH_JPEG_WARP_BARRIER();
}

/* The bits at the position, which is in the window. */
IH_JPEG uint32_t ih_jpeg_window_bits(const struct ih_jpeg_navigator *s, uint32_t position)
{
    const uint32_t i = position / 32 % IH_JPEG_WINDOW_WORDS;
    return ih_jpeg_funnel(s->words[i + 1], s->words[i], position % 32);
}

/* The entry at the position; loads its window if that is another. 0: there is no such code, or the
 * data has ended. */
IH_JPEG uint32_t ih_jpeg_entry_here(struct ih_jpeg_navigator *s, const struct ih_jpeg_refinement *r,
                                    struct ih_jpeg_course *c)
{
    if (c->position / IH_JPEG_WINDOW_BITS != c->window)
        ih_jpeg_load_window(s, r, c);
    return c->faults ? 0 : s->entries[c->position % IH_JPEG_WINDOW_BITS];
}

/* Passes over block b of the window, which is not in a run. Returns its new coefficients as a map.
 * The entry after a code is read before it is known whether corrections come between: each look-up
 * takes a tenth of the time of a symbol, and nothing else hides it. */
IH_JPEG uint64_t ih_jpeg_pass_block(struct ih_jpeg_navigator *s, const struct ih_jpeg_refinement *r,
                                    struct ih_jpeg_course *c, uint32_t b)
{
    const uint32_t n_zeros = s->n_zeros[b], end = r->scan.last + 1;
    const uint8_t *const zeros = s->zeros[b];
    uint32_t place = r->scan.first, rank = 0; /* of the next coefficient, and of the next zero */
    uint32_t low = 0, high = 0, entry = ih_jpeg_entry_here(s, r, c);
    for (;;) {
        if (entry == 0 && !c->faults) {
            entry = ih_jpeg_long_code(&r->code->long_codes, 0, ih_jpeg_window_bits(s, c->position));
            c->faults |= entry == 0 ? IH_JPEG_FAULT_CODE : 0;
        }
        const uint32_t advance = entry >> 9, after = c->position + (entry & 31);
        const uint32_t guess = s->entries[after % IH_JPEG_WINDOW_BITS];
        if (advance == IH_JPEG_BLOCK_END) {
            const uint32_t size = entry >> 5 & 15;
            c->run = (1u << size) - 1;
            if (size)
                c->run +=
                    ih_jpeg_bits(ih_jpeg_window_bits(s, c->position), (entry & 31) - size, size);
            c->position = after + (end - place) - (n_zeros - rank);
            break;
        }
        rank += advance;
        if (rank > n_zeros)
            c->faults |= IH_JPEG_FAULT_PLACE;
        if (c->faults)
            break;
        const uint32_t to = zeros[rank - 1], n_corrections = to - place - (advance - 1);
        const uint32_t bit = (entry >> 5 & 1) << to % 32;
        low |= to < 32 ? bit : 0;
        high |= to < 32 ? 0 : bit;
        place = to + 1;
        c->position = after + n_corrections;
        if (place == end)
            break;
        entry = guess;
        if (n_corrections || c->position / IH_JPEG_WINDOW_BITS != c->window)
            entry = ih_jpeg_entry_here(s, r, c);
    }
    return (uint64_t)high << 32 | low;
}

/* Passes over blocks of a run, from block b of the window on. Returns the first that is not. */
IH_JPEG uint32_t ih_jpeg_pass_run(struct ih_jpeg_navigator *s, struct ih_jpeg_course *c, uint32_t b,
                                  uint32_t n_blocks)
{
    const uint32_t end = c->run < n_blocks - b ? b + c->run : n_blocks;
    IH_JPEG_EACH_LANE(lane)
    if (lane >= b && lane < end)
        s->positions[lane] = (c->position + s->n_before[lane] - s->n_before[b]) | IH_JPEG_IN_RUN;
    c->position += s->n_before[end] - s->n_before[b];
    c->run -= end - b;
    return end;
}

/* Navigates through the window's blocks: s->maps has their maps. */
IH_JPEG void ih_jpeg_navigate(struct ih_jpeg_navigator *s, const struct ih_jpeg_refinement *r,
                              struct ih_jpeg_course *c, uint32_t n_blocks)
{
    IH_JPEG_WARP_BARRIER();
    ih_jpeg_count_zeros(s, r, n_blocks);
    if (c->run < n_blocks)
        ih_jpeg_list_zeros(s, r, c->run, n_blocks);
    IH_JPEG_WARP_BARRIER();
    for (uint32_t b = 0; b < n_blocks && !c->faults;) {
        if (c->run > 0) {
            b = ih_jpeg_pass_run(s, c, b, n_blocks);
            continue;
        }
        const uint32_t position = c->position;
        const uint64_t added = ih_jpeg_pass_block(s, r, c, b);
        if (IH_JPEG_FIRST_LANE) {
            s->positions[b] = position;
            s->maps[b] |= added;
        }
        b++;
    }
    IH_JPEG_WARP_BARRIER();
}

/* The faults after the last block. */
IH_JPEG uint32_t ih_jpeg_end_course(const struct ih_jpeg_refinement *r,
                                    const struct ih_jpeg_course *c)
{
    return c->faults | (c->run > 0 ? (uint32_t)IH_JPEG_FAULT_PLACE
                                   : ih_jpeg_end_faults(c->position, r->n_bits));
}

/* ---- corrections ---- */

/* Reads the correction bits of a block's coefficients in `map`. */
IH_JPEG void ih_jpeg_correct(struct ih_jpeg_reader *bits, uint64_t map, int32_t one,
                             int16_t *coefficients)
{
    for (; map; map &= map - 1) {
        const uint32_t k = ih_jpeg_lowest_bit(map);
        if (ih_jpeg_peek(bits) >> 31)
            coefficients[k] = (int16_t)(coefficients[k] + (coefficients[k] < 0 ? -one : one));
        ih_jpeg_skip(bits, 1);
    }
}

/* Refines a block, given where it begins and its map before the scan. */
IH_JPEG void ih_jpeg_refine(const struct ih_jpeg_refinement *r, uint32_t position, uint64_t map,
                            int16_t *coefficients)
{
    const int32_t one = 1 << r->scan.low;
    const uint64_t band = ih_jpeg_band(r->scan.first, r->scan.last);
    uint64_t left = band; /* places from the next coefficient on */
    struct ih_jpeg_reader bits;
    ih_jpeg_reader_start(&bits, r->words, position & ~IH_JPEG_IN_RUN);
    while (!(position & IH_JPEG_IN_RUN) && left) {
        const uint32_t code = ih_jpeg_peek(&bits);
        const uint32_t entry =
            ih_jpeg_look_up(r->code->entries, &r->code->long_codes, r->scan.first == 0, code);
        const uint32_t n_code = entry & 31, advance = entry >> 9;
        ih_jpeg_skip(&bits, n_code);
        if (advance == IH_JPEG_BLOCK_END || entry == 0)
            break;
        uint64_t zeros = left & ~map;
        for (uint32_t i = 1; i < advance; i++)
            zeros &= zeros - 1;
        if (zeros == 0)
            break;
        const uint32_t to = ih_jpeg_lowest_bit(zeros);
        ih_jpeg_correct(&bits, left & map & ((1ull << to) - 1), one, coefficients);
        if (entry >> 5 & 15)
            coefficients[to] = (int16_t)(code << (n_code - 1) >> 31 ? one : -one);
        left &= ~1ull << to;
    }
    ih_jpeg_correct(&bits, left & map, one, coefficients);
}

/* ---- DC ---- */

/* The DC coefficient of a component's block; 0 for a block that only completes an MCU, if no scan
 * has it. bits: of all intervals. */
IH_JPEG int32_t ih_jpeg_dc_of(const struct ih_gpu_jpeg_batch *batch,
                              const struct ih_gpu_jpeg_spectrum *spectrum,
                              const struct ih_gpu_jpeg_scan *scans,
                              const struct ih_gpu_jpeg_component *c, const uint8_t *bits,
                              const int16_t *dc, uint32_t x, uint32_t y)
{
    const struct ih_gpu_jpeg_image *image = &batch->images[c->image];
    const int is_image =
        x < spectrum->blocks_across && y < spectrum->n_blocks / spectrum->blocks_across;
    /* Its number in scans of all components, and in scans of this one. */
    const uint32_t in_mcus = ih_jpeg_block_record(image, c, x, y) - image->first_block;
    const uint32_t alone = y * spectrum->blocks_across + x;
    if (!is_image && spectrum->is_dc_alone)
        return 0;
    int32_t value = dc[spectrum->first_dc + (spectrum->is_dc_alone ? alone : in_mcus)];
    for (uint32_t i = 0; i < spectrum->n_dc_refinements && is_image; i++) {
        const uint32_t scan = spectrum->dc_refinements[i].scan;
        const uint32_t bit = spectrum->dc_refinements[i].is_alone ? alone : in_mcus;
        const uint8_t byte = bits[batch->intervals[scan].bits_offset + bit / 8];
        value |= (byte >> (7 - bit % 8) & 1) << scans[scan].low;
    }
    return value;
}

#endif
