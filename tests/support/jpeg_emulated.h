/*
 * The JPEG kernels on the CPU: the same threads of kernels/jpeg/decode.h in the same order of
 * steps, one after the other. Intervals and their neighbours lie in memory as on the GPU, with
 * random bytes between them.
 */
#ifndef IH_TESTS_JPEG_EMULATED_H
#define IH_TESTS_JPEG_EMULATED_H

#include "kernels/jpeg/decode.h"
#include "tests/support/random.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { EMULATED_FIX_ROUNDS = 3 };

/* Of a thread block. With fewer, small files have several. */
#ifndef EMULATED_THREADS
#define EMULATED_THREADS IH_JPEG_THREADS
#endif

struct emulated {
    const struct ih_gpu_jpeg_batch *batch;
    const uint8_t *files;
    uint8_t *planes, *bits;
    struct ih_gpu_jpeg_verdict *verdicts;
    uint32_t *n_bits, *interval_of;
    struct ih_jpeg_tables *tables;
    struct ih_jpeg_starts starts;
    struct ih_jpeg_coefficients coefficients;
};

/* Memory with random bytes in it, the same for the same batch. */
static inline void *emulated_memory(size_t n_bytes, uint32_t *random)
{
    uint8_t *memory = malloc(n_bytes ? n_bytes : 1);
    size_t n = 0;
    if (!memory)
        abort();
    for (; n < n_bytes && n < 1024; n++)
        memory[n] = (uint8_t)(random_next(random) >> 13);
    for (size_t more; n < n_bytes; n += more) { /* repeated: faster under a fuzzer */
        more = n < n_bytes - n ? n : n_bytes - n;
        memcpy(memory + n, memory, more);
    }
    return memory;
}

static inline void emulated_unstuff(struct emulated *e, uint32_t i)
{
    const struct ih_gpu_jpeg_interval *interval = &e->batch->intervals[i];
    const uint8_t *from = e->files + interval->file_offset;
    struct ih_gpu_jpeg_verdict *verdict = &e->verdicts[interval->image];
    uint8_t *to = e->bits + interval->bits_offset;
    uint32_t n = 0, at = 0;
    for (; at < interval->n_bytes; at++) {
        const bool is_after_255 = at > 0 && from[at - 1] == 0xff;
        if (is_after_255 && from[at] != 0) {
            at--;
            n--;
            break;
        }
        if (!is_after_255)
            to[n++] = from[at];
    }
    e->n_bits[i] = n * 8;
    if (!interval->is_last)
        return;
    verdict->end_offset = interval->file_offset + at;
    if (at + 2 > interval->n_bytes || from[at + 1] != 0xd9)
        verdict->faults |= IH_JPEG_FAULT_MARKER;
}

static inline struct ih_jpeg_part emulated_part(const struct emulated *e, uint32_t s)
{
    return ih_jpeg_part_of(e->batch, e->bits, e->n_bits, s, e->interval_of[s]);
}

static inline void emulated_pass(struct emulated *e, const struct ih_jpeg_tables *t, uint32_t s,
                                 int again)
{
    const struct ih_jpeg_part part = emulated_part(e, s);
    if (part.n_bits > 0)
        ih_jpeg_synchronise(&part, t, again, &e->starts.records[s * IH_JPEG_PIECES], 1,
                            &e->starts.passes[s]);
}

/* Whether a subsequence has data and another before it in its interval. */
static inline bool emulated_has_before(const struct emulated *e, uint32_t s)
{
    const struct ih_jpeg_part part = emulated_part(e, s);
    return part.n_bits > 0 && !part.is_first;
}

/* A thread block: subsequences first to end. */
static inline void emulated_synchronise(struct emulated *e, const struct ih_jpeg_tables *t,
                                        uint32_t first, uint32_t end)
{
    uint32_t exits[EMULATED_THREADS];
    bool is_changed = true;
    for (uint32_t s = first; s < end; s++) {
        e->starts.passes[s] = (struct ih_jpeg_pass){0, 0, 0};
        emulated_pass(e, t, s, 0);
    }
    for (int round = 0; round < EMULATED_THREADS && is_changed; round++) {
        is_changed = false;
        for (uint32_t s = first; s < end; s++)
            exits[s - first] = e->starts.passes[s].exit;
        for (uint32_t s = first + 1; s < end; s++) {
            if (!emulated_has_before(e, s) || exits[s - 1 - first] == e->starts.passes[s].start)
                continue;
            e->starts.passes[s].start = exits[s - 1 - first];
            emulated_pass(e, t, s, 1);
            is_changed = true;
        }
    }
}

static inline void emulated_fix(struct emulated *e, const struct ih_jpeg_tables *t, uint32_t first,
                                uint32_t end)
{
    for (uint32_t s = first; s < end; s++) {
        const uint32_t exit = e->starts.passes[s].exit, start = e->starts.passes[s - 1].exit;
        if (!emulated_has_before(e, s) || start == e->starts.passes[s].start)
            return;
        e->starts.passes[s].start = start;
        emulated_pass(e, t, s, 1);
        if (e->starts.passes[s].exit == exit)
            return;
    }
}

static inline void emulated_find_starts(struct emulated *e)
{
    const struct ih_gpu_jpeg_batch *b = e->batch;
    struct ih_jpeg_limits limits;
    for (uint32_t i = 0; i < b->n_codes; i++)
        for (uint32_t k = 0; k < IH_JPEG_CODES; k++)
            ih_jpeg_make_table(&b->codes[i].of[k], k < 2, &limits, e->tables[i].entries[k],
                               &e->tables[i].long_codes[k]);
    for (int round = 0; round <= EMULATED_FIX_ROUNDS; round++)
        for (uint32_t i = 0; i < b->n_groups; i++) {
            const struct ih_gpu_jpeg_group *g = &b->groups[i];
            for (uint32_t n = 0; n < g->n_subsequences; n += EMULATED_THREADS) {
                const uint32_t first = g->first_subsequence + n;
                const uint32_t end = first + ih_jpeg_least(EMULATED_THREADS, g->n_subsequences - n);
                if (round == 0)
                    emulated_synchronise(e, &e->tables[g->codes], first, end);
                else if (n > 0)
                    emulated_fix(e, &e->tables[g->codes], first, end);
            }
        }
}

static inline void emulated_write(struct emulated *e, const struct ih_jpeg_tables *t, uint32_t s,
                                  uint32_t k)
{
    const struct ih_jpeg_part part = emulated_part(e, s);
    struct ih_jpeg_piece piece = ih_jpeg_piece_of(&e->starts, &part, k);
    struct ih_jpeg_sink sink = {.to = e->coefficients};
    uint32_t *faults = &e->verdicts[part.interval->image].faults;
    if (piece.n_bits > 0)
        *faults |= ih_jpeg_write_piece(&e->starts, &part, k, &piece, t, &sink);
    else if (part.is_first && k == 0)
        *faults |= IH_JPEG_FAULT_SHORT;
}

static inline void emulated_write_all(struct emulated *e)
{
    const struct ih_gpu_jpeg_batch *b = e->batch;
    ih_jpeg_counts sum = 0;
    for (uint32_t s = 0; s <= b->n_subsequences; s++) {
        e->starts.counts[s] = sum;
        sum += s < b->n_subsequences ? ih_jpeg_widen(e->starts.passes[s].counts) : 0;
    }
    for (uint32_t i = 0; i < b->n_groups; i++)
        for (uint32_t n = 0; n < b->groups[i].n_subsequences; n++)
            for (uint32_t k = 0; k < IH_JPEG_PIECES; k++)
                emulated_write(e, &e->tables[b->groups[i].codes],
                               b->groups[i].first_subsequence + n, k);
}

static inline void emulated_dc(struct emulated *e, uint32_t image, int16_t *dc, uint32_t n_blocks,
                               uint32_t mcu_blocks, uint32_t low)
{
    int32_t sums[3] = {0, 0, 0};
    for (uint32_t i = 0; i < n_blocks; i++) {
        const uint32_t in_mcu = i % mcu_blocks;
        const uint32_t c = mcu_blocks == 1 || in_mcu + 2 < mcu_blocks ? 0 : in_mcu + 3 - mcu_blocks;
        sums[c] = (int32_t)((uint32_t)sums[c] + (uint32_t)dc[i]);
        if (!ih_jpeg_put_dc(&dc[i], sums[c], low))
            e->verdicts[image].faults |= IH_JPEG_FAULT_LARGE;
    }
}

/* Transforms the block at x, y: coefficients in zigzag order, and DC apart. */
static inline void emulated_block_of(struct emulated *e, const struct ih_gpu_jpeg_component *c,
                                     const int16_t *coefficients, int32_t dc, uint32_t x,
                                     uint32_t y)
{
    static const uint8_t natural[64] = {
        0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
        41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
        30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    int32_t v[8][8] = {{0}}, sum = 0;
    for (uint32_t k = 0; k < 64; k++) {
        const int32_t value = (k == 0 ? dc : coefficients[k]) * c->quantizers[k];
        v[natural[k] / 8][natural[k] % 8] = value;
        sum += abs(value);
    }
    if (sum > IH_JPEG_BLOCK_SUM_MAX) { /* its samples are of no interest */
        e->verdicts[c->image].faults |= IH_JPEG_FAULT_LARGE;
        return;
    }
    for (int k = 0; k < 8; k++) {
        int32_t column[8];
        for (int i = 0; i < 8; i++)
            column[i] = v[i][k];
        ih_jpeg_idct_8(column, IH_JPEG_COLUMNS_SHIFT);
        for (int i = 0; i < 8; i++)
            v[i][k] = (int16_t)column[i];
    }
    for (uint32_t k = 0; k < 8; k++) {
        uint8_t *row = e->planes + c->plane_offset + (y * 8 + k) * c->pitch_bytes + x * 8;
        ih_jpeg_idct_8(v[k], IH_JPEG_ROWS_SHIFT);
        for (int i = 0; i < 8; i++)
            row[i] = (uint8_t)(v[k][i] < 0 ? 0 : v[k][i] > 255 ? 255 : v[k][i]);
    }
}

static inline void emulated_block(struct emulated *e, const struct ih_gpu_jpeg_component *c,
                                  uint32_t x, uint32_t y)
{
    const uint32_t record = ih_jpeg_block_record(&e->batch->images[c->image], c, x, y);
    int16_t coefficients[64] = {0};
    uint32_t place = 0;
    for (uint32_t i = e->coefficients.first[record]; i < e->coefficients.first[record + 1]; i++) {
        place = (place + (e->coefficients.ac[i] >> 12) + 1) % 64;
        coefficients[place] = (int16_t)((int16_t)(e->coefficients.ac[i] << 4) / 16);
    }
    emulated_block_of(e, c, coefficients, e->coefficients.dc[record], x, y);
}

/*
 * Decodes a batch whose files lie in `files`, one at each file_offset of ih_jpeg_batch_add.
 *
 * planes     [batch->planes_bytes]
 * verdicts   [batch->n_images], overwritten
 */
static inline void emulate(const struct ih_gpu_jpeg_batch *batch, const uint8_t *files,
                           uint8_t *planes, struct ih_gpu_jpeg_verdict *verdicts)
{
    const size_t n = batch->n_subsequences;
    uint32_t random = batch->bits_bytes + 1;
    struct emulated e = {
        .batch = batch,
        .files = files,
        .planes = planes,
        .verdicts = verdicts,
        .bits = emulated_memory(batch->bits_bytes + IH_JPEG_INTERVAL_SLACK_BYTES, &random),
        .n_bits = emulated_memory(batch->n_intervals * sizeof *e.n_bits, &random),
        .interval_of = emulated_memory(n * sizeof *e.interval_of, &random),
        .tables = emulated_memory(batch->n_codes * sizeof *e.tables, &random),
        .starts = {emulated_memory(n * sizeof(struct ih_jpeg_pass), &random),
                   emulated_memory(n * IH_JPEG_PIECES * sizeof(struct ih_jpeg_record), &random),
                   emulated_memory((n + 1) * sizeof(ih_jpeg_counts), &random)},
        .coefficients = {.ac = emulated_memory(n * IH_JPEG_SUBSEQUENCE_AC * 2, &random),
                         .dc = emulated_memory(batch->n_blocks * sizeof(int16_t), &random),
                         .first = emulated_memory(batch->n_blocks * sizeof(uint32_t), &random)},
    };
    for (uint32_t i = 0; i < batch->n_images; i++)
        verdicts[i] = (struct ih_gpu_jpeg_verdict){0, 0};
    for (uint32_t i = 0; i < batch->n_intervals; i++) {
        emulated_unstuff(&e, i);
        const uint32_t end = i + 1 < batch->n_intervals ? batch->intervals[i + 1].first_subsequence
                                                        : batch->n_subsequences;
        for (uint32_t s = batch->intervals[i].first_subsequence; s < end; s++)
            e.interval_of[s] = i;
    }
    emulated_find_starts(&e);
    emulated_write_all(&e);
    for (uint32_t i = 0; i < batch->n_intervals; i++) {
        const struct ih_gpu_jpeg_interval *interval = &batch->intervals[i];
        emulated_dc(&e, interval->image, e.coefficients.dc + interval->first_block,
                    interval->n_blocks, batch->images[interval->image].mcu_blocks, 0);
    }
    for (uint32_t i = 0; i < batch->n_components; i++) {
        const struct ih_gpu_jpeg_component *c = &batch->components[i];
        for (uint32_t y = 0; y < c->blocks_down; y++)
            for (uint32_t x = 0; x < c->blocks_across; x++)
                if (!(verdicts[c->image].faults & ~(uint32_t)IH_JPEG_FAULT_LARGE))
                    emulated_block(&e, c, x, y);
    }
    free(e.bits);
    free(e.n_bits);
    free(e.interval_of);
    free(e.tables);
    free(e.starts.passes);
    free(e.starts.records);
    free(e.starts.counts);
    free(e.coefficients.ac);
    free(e.coefficients.dc);
    free(e.coefficients.first);
}

#endif
