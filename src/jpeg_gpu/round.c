/*
 * A look-up of a lane has no branch: it adds an entry to what is known of the block, and whether
 * the block has ended by that chooses the table of the next look-up. What an entry cannot say is
 * seen to slowly, and seldom.
 *
 * Detailed photos on an EPYC, 2026-11-21, tests/bench/jpeg_walk.sh, time against this way: tables
 * of 11 bits, for which more codes are too long, 1.05, of 13 the same; smaller ones for the blocks'
 * starts 1.03 and more; a conditional move in place of the table of tables 1.2; two lanes 1.2,
 * three 1.06; five, six and eight no less.
 */
#include "jpeg_gpu/round.h"

static void end_block(const struct ih_jpeg_round *w, struct ih_jpeg_lane *l)
{
    l->block = 0;
    l->at += 2;
    l->table = w->tables[l->at];
}

/* One symbol of any length. Damage ends the block, and the next one is looked for a bit further. */
static void step_slowly(struct ih_jpeg_round *w, struct ih_jpeg_lane *l, uint64_t *blocks)
{
    const struct ih_jpeg_round_component *c = &w->components[w->component_of[l->at / 2]];
    const uint64_t bits = ih_jpeg_round_bits(w, l->bit);
    unsigned place = l->block & IH_JPEG_LANE_PLACE_MASK, symbol = 0, length;
    bool is_end = false;
    uint64_t sum = 0;
    if (place == 0) {
        length = ih_jpeg_canon_find(&c->tables->dc_canon, (uint32_t)(bits >> 48), &symbol);
        l->block += 1;
    } else {
        length = ih_jpeg_lane_ac_find(c->tables, (uint32_t)(bits >> 48), &symbol);
        const unsigned size = symbol & 15, next = place + (symbol >> 4) + 1;
        is_end = symbol == IH_JPEG_EOB || next == IH_JPEG_BLOCK_COEFFICIENTS;
        if (symbol != IH_JPEG_EOB &&
            (next > IH_JPEG_BLOCK_COEFFICIENTS || (symbol == IH_JPEG_ZRL && is_end)))
            length = 0;
        else if (symbol != IH_JPEG_EOB)
            l->block += next - place;
        if (length > 0 && size > 0)
            sum = (uint64_t)c->quant[next - 1] << size;
        symbol = size;
    }
    if (length == 0) {
        l->block |= IH_JPEG_LANE_DAMAGED;
        is_end = true;
        symbol = 0;
        length = 1;
    }
    l->bit += length + symbol;
    l->block += ((uint64_t)(length + symbol) << IH_JPEG_LANE_LENGTH_SHIFT) +
                (sum << IH_JPEG_LANE_SUM_SHIFT);
    blocks[l->at / 2] = l->block;
    if (is_end)
        end_block(w, l);
    else
        l->table = w->tables[l->at + 1];
}

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void look(struct ih_jpeg_round *w, struct ih_jpeg_lane *l, uint64_t *blocks,
                        uint64_t *bits)
{
    const uint32_t entry = l->table[*bits >> (64 - IH_JPEG_LANE_INDEX_BITS)];
    const uint32_t state = (uint8_t)l->block + (entry & 255); /* known before the sum is */
    if (state & IH_JPEG_LANE_ODD) {
        step_slowly(w, l, blocks);
        *bits = ih_jpeg_round_bits(w, l->bit);
        return;
    }
    const unsigned length = (uint8_t)(entry >> IH_JPEG_LANE_LENGTH_SHIFT),
                   ended = state >> IH_JPEG_LANE_ENDED_SHIFT;
    const uint64_t block =
        l->block + entry +
        (uint64_t)(entry >> IH_JPEG_LANE_SUM_SHIFT) * w->weights[l->at][(uint8_t)l->block];
    *bits <<= length;
    l->bit += length;
    blocks[l->at / 2] = block; /* the last of a block's stays */
    l->table = w->tables[l->at + 1 + ended];
    l->block = block & ((uint64_t)ended - 1);
    l->at += 2 * ended;
}

/* A round of all lanes. One load has bits for two look-ups. */
void ih_jpeg_round_walk(struct ih_jpeg_round *w)
{
    struct ih_jpeg_lane a = w->lanes[0], b = w->lanes[1], c = w->lanes[2], d = w->lanes[3];
    for (unsigned i = 0;
         i < IH_JPEG_ROUND_LOOKS / 2 && (a.at | b.at | c.at | d.at) < 2 * IH_JPEG_ROUND_BLOCKS;
         i++) {
        uint64_t a_bits = ih_jpeg_round_bits(w, a.bit), b_bits = ih_jpeg_round_bits(w, b.bit);
        uint64_t c_bits = ih_jpeg_round_bits(w, c.bit), d_bits = ih_jpeg_round_bits(w, d.bit);
        look(w, &a, w->blocks[0], &a_bits);
        look(w, &b, w->blocks[1], &b_bits);
        look(w, &c, w->blocks[2], &c_bits);
        look(w, &d, w->blocks[3], &d_bits);
        look(w, &a, w->blocks[0], &a_bits);
        look(w, &b, w->blocks[1], &b_bits);
        look(w, &c, w->blocks[2], &c_bits);
        look(w, &d, w->blocks[3], &d_bits);
    }
    w->lanes[0] = a, w->lanes[1] = b, w->lanes[2] = c, w->lanes[3] = d;
}

void ih_jpeg_round_walk_one(struct ih_jpeg_round *w, unsigned i)
{
    struct ih_jpeg_lane l = w->lanes[i];
    for (unsigned n = 0; n < IH_JPEG_ROUND_LOOKS / 2 && l.at < 2 * IH_JPEG_ROUND_BLOCKS; n++) {
        uint64_t bits = ih_jpeg_round_bits(w, l.bit);
        look(w, &l, w->blocks[i], &bits);
        look(w, &l, w->blocks[i], &bits);
    }
    w->lanes[i] = l;
}

uint32_t ih_jpeg_round_ac_sum(const struct ih_jpeg_round *w,
                              const struct ih_jpeg_round_component *c, uint32_t bit)
{
    unsigned symbol = 0, place = 1;
    uint32_t sum = 0;
    bit += ih_jpeg_canon_find(&c->tables->dc_canon, (uint32_t)(ih_jpeg_round_bits(w, bit) >> 48),
                              &symbol);
    bit += symbol;
    while (place < IH_JPEG_BLOCK_COEFFICIENTS) {
        const uint64_t bits = ih_jpeg_round_bits(w, bit);
        const unsigned length = ih_jpeg_lane_ac_find(c->tables, (uint32_t)(bits >> 48), &symbol);
        const unsigned size = symbol & 15;
        if (symbol == IH_JPEG_EOB)
            break;
        place += symbol >> 4;
        sum += ih_jpeg_magnitude(ih_jpeg_extend(bits << length, size)) * c->quant[place];
        bit += length + size;
        place++;
    }
    return sum;
}

/* ---- setting up ---- */

/* weights[k]: the largest of the quantizers that the AC symbols of a look-up at place k can meet,
 * as it is multiplied with an entry's sum. That is less by one, since the entry is added as well.
 */
static void weigh(struct ih_jpeg_round_component *c)
{
    for (unsigned k = 0; k < IH_JPEG_BLOCK_COEFFICIENTS; k++) {
        const unsigned first = k > 0 ? k : 1; /* at 0 the DC coefficient is passed over */
        uint32_t most = 1;
        for (unsigned i = first; i < first + IH_JPEG_AC_REACH && i < IH_JPEG_BLOCK_COEFFICIENTS;
             i++)
            most = c->quant[i] > most ? c->quant[i] : most;
        c->weights[k] = (most - 1) << IH_JPEG_LANE_SUM_SHIFT;
    }
}

static void prepare_codes(struct ih_jpeg_round *w, const struct ih_jpeg_plan *plan)
{
    bool is_made[IH_JPEG_CODE_SLOTS][IH_JPEG_CODE_SLOTS] = {{false}};
    for (unsigned i = 0; i < plan->n_components; i++) {
        const unsigned dc = plan->components[i].dc, ac = plan->components[i].ac;
        struct ih_jpeg_round_component *c = &w->components[i];
        if (!is_made[dc][ac])
            ih_jpeg_lane_tables_make(&w->codes[dc][ac], &plan->dc[dc], &plan->ac[ac]);
        is_made[dc][ac] = true;
        c->tables = &w->codes[dc][ac];
        c->quant = plan->quant[plan->components[i].quant];
        weigh(c);
    }
}

static void prepare_blocks(struct ih_jpeg_round *w, const struct ih_jpeg_plan *plan)
{
    const unsigned n_luma = plan->chroma_h * plan->chroma_v;
    w->n_blocks = n_luma + plan->n_components - 1;
    for (unsigned b = 0; b < IH_JPEG_ROUND_BLOCKS_MAX; b++) {
        const unsigned place = b % w->n_blocks, k = place < n_luma ? 0 : place - n_luma + 1;
        w->is_first[b] = place == 0;
        w->component_of[b] = (uint8_t)k;
        w->tables[2 * b] = w->components[k].tables->start;
        w->tables[2 * b + 1] = w->components[k].tables->ac;
        w->weights[2 * b] = w->components[k].weights;
    }
}

void ih_jpeg_round_prepare(struct ih_jpeg_round *w, const struct ih_jpeg_plan *plan)
{
    prepare_codes(w, plan);
    prepare_blocks(w, plan);
}
