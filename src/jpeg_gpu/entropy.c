/*
 * The entropy-coded data of a baseline JPEG, walked from its first bit to its last: which bits are
 * codes and which are not, but no coefficient and no pixel.
 *
 * A look-up takes two or three symbols at once (jpeg_codes.h), and bits need no test until the MCU
 * is read (jpeg_window.h). So the inner loop has no test but for its end. What is left of its time
 * is mostly that end, which no processor foresees. Large data is walked by lanes, which do without
 * (jpeg_lanes.c); what they do not know about, and what has restart markers, is walked here.
 *
 * How large the coefficients of a block may be is bounded on the way: decoders agree on all that an
 * encoder makes of pixels, but not on what damage makes of them, where sums leave 16 bits. Each
 * look-up adds what its coefficients can be at most, times the largest quantizer in reach. A block
 * for which that is too much, one in some hundreds, is walked again to its exact sum.
 */
#include "jpeg_gpu/lanes.h"
#include "jpeg_gpu/parts.h"
#include "jpeg_gpu/window.h"

#include <string.h>

enum {
    BLOCK_END = 64,
    LANES_FROM_BYTES = 1 << 16 /* their tables take 150 us to make */
};

struct component {
    const struct ih_jpeg_table *start, *ac;
    const uint8_t *quant;
    int32_t prediction;
    uint32_t reach[BLOCK_END]; /* the largest of the next IH_JPEG_AC_REACH quantizers */
};

struct walk {
    const struct ih_jpeg_plan *plan;
    const char *why_not;
    struct ih_jpeg_bits bits;
    struct ih_jpeg_window window;
    unsigned n_blocks;
    struct component *blocks[IH_JPEG_MCU_BLOCKS_MAX]; /* of an MCU: whose they are */
    struct component components[IH_JPEG_COMPONENTS_MAX];
    struct ih_jpeg_table starts[IH_JPEG_CODE_SLOTS][IH_JPEG_CODE_SLOTS]; /* DC, AC */
    struct ih_jpeg_table ac[IH_JPEG_CODE_SLOTS];
};

static bool refuse(struct walk *w, const char *why_not)
{
    w->why_not = why_not;
    return false;
}

/* ---- blocks ---- */

/* Where a block has got to. */
struct step {
    struct ih_jpeg_bits bits;
    unsigned k;   /* the place in zigzag order of the next coefficient; BLOCK_END after the last */
    uint32_t sum; /* of the coefficients' magnitudes, times their quantizers */
};

/* One symbol of any length. */
static bool step_slowly(struct walk *w, const struct component *c, struct step *s)
{
    unsigned symbol, length, size, place;
    ih_jpeg_fill(&s->bits);
    length = ih_jpeg_canon_find(&c->ac->canon, (uint32_t)(s->bits.buffer >> 48), &symbol);
    if (length == 0)
        return refuse(w, "bits that are no code");
    size = symbol & 15;
    place = s->k + (symbol >> 4);
    int32_t value = ih_jpeg_extend(s->bits.buffer << length, size);
    ih_jpeg_drop(&s->bits, length + size);
    if (symbol == IH_JPEG_EOB) {
        s->k = BLOCK_END;
        return true;
    }
    if (place >= BLOCK_END || (symbol == IH_JPEG_ZRL && place == BLOCK_END - 1))
        return refuse(w, "coefficient beyond its block");
    s->sum += ih_jpeg_magnitude(value) * c->quant[place];
    s->k = place + 1;
    return true;
}

/* A block whose bound is not small enough, again from its start. dc: what its first coefficient
 * adds. */
static bool check_sum(struct walk *w, const struct component *c, struct ih_jpeg_bits start,
                      uint32_t dc)
{
    struct step s = {start, 1, dc};
    unsigned size = 0, length;
    length = ih_jpeg_canon_find(&c->start->canon, (uint32_t)(start.buffer >> 48), &size);
    ih_jpeg_drop(&s.bits, length + size);
    while (s.k < BLOCK_END)
        if (!step_slowly(w, c, &s))
            return false;
    if (s.sum > IH_JPEG_BLOCK_SUM_MAX)
        return refuse(w, "coefficients so large that decoders may differ");
    return true;
}

/* The DC symbol, and the AC symbols that the same look-up gives. */
static inline bool walk_start(struct walk *w, struct ih_jpeg_bits *b, struct component *c,
                              uint32_t *dc, uint32_t *entry)
{
    uint32_t found = c->start->entries[b->buffer >> (64 - c->start->index_bits)];
    unsigned length = found >> 16 & 15, size = found >> 20 & 15, n_bits = found & 63;
    if (found == 0) {
        unsigned long_size;
        length = ih_jpeg_canon_find(&c->start->canon, (uint32_t)(b->buffer >> 48), &long_size);
        if (length == 0)
            return refuse(w, "bits that are no code");
        size = long_size;
        n_bits = length + size;
    }
    c->prediction += ih_jpeg_extend(b->buffer << length, size);
    ih_jpeg_drop(b, n_bits);
    *dc = ih_jpeg_magnitude(c->prediction) * c->quant[0];
    *entry = found;
    return true;
}

static inline bool walk_block(struct walk *w, struct ih_jpeg_bits *bits, struct component *c)
{
    const uint32_t *entries = c->ac->entries;
    const unsigned shift = 64 - c->ac->index_bits;
    struct ih_jpeg_bits b = *bits, start;
    uint32_t entry, dc;
    ih_jpeg_fill(&b);
    start = b;
    if (!walk_start(w, &b, c, &dc, &entry))
        return false;
    uint32_t sum = dc + (entry >> 24) * c->reach[1];
    unsigned k = 1 + (entry >> 8 & 255);
    while (k < BLOCK_END) {
        unsigned after;
        for (;;) {
            ih_jpeg_fill(&b); /* enough for two look-ups */
            entry = entries[b.buffer >> shift];
            after = k + (entry >> 8 & 255);
            if (after >= BLOCK_END)
                break;
            sum += (entry >> 16) * c->reach[k];
            ih_jpeg_drop(&b, entry & 63);
            k = after;
            entry = entries[b.buffer >> shift];
            after = k + (entry >> 8 & 255);
            if (after >= BLOCK_END)
                break;
            sum += (entry >> 16) * c->reach[k];
            ih_jpeg_drop(&b, entry & 63);
            k = after;
        }
        /* Ended by EOB with all before it within the block, or by its very last coefficient? */
        if ((after >= IH_JPEG_AC_END && after < IH_JPEG_AC_END + BLOCK_END) ||
            (after == BLOCK_END && entry >> 16 != 0)) {
            sum += (entry >> 16) * c->reach[k];
            ih_jpeg_drop(&b, entry & 63);
            break;
        }
        struct step step = {b, k, sum}; /* a copy, so that b and the rest stay in registers */
        if (!step_slowly(w, c, &step))
            return false;
        b = step.bits;
        k = step.k;
        sum = step.sum;
    }
    *bits = b;
    return sum <= IH_JPEG_BLOCK_SUM_MAX || check_sum(w, c, start, dc);
}

static bool walk_mcus(struct walk *w, uint32_t n_mcus)
{
    struct ih_jpeg_bits b = w->bits;
    for (uint32_t i = 0; i < n_mcus; i++) {
        if (b.next > w->window.limit) {
            w->bits = b;
            if ((w->why_not = ih_jpeg_window_move(&w->window, &w->bits)))
                return false;
            b = w->bits;
        }
        for (unsigned j = 0; j < w->n_blocks; j++)
            if (!walk_block(w, &b, w->blocks[j]))
                return false;
    }
    w->bits = b;
    return true;
}

/* ---- the scan ---- */

/* reach[k]: the largest of quant[k], ... quant[k + REACH - 1], by doubling. */
static void make_reach(struct component *c)
{
    for (unsigned k = 0; k < BLOCK_END; k++)
        c->reach[k] = c->quant[k];
    for (unsigned step = 1; step < IH_JPEG_AC_REACH; step *= 2)
        for (unsigned k = 0; k + step < BLOCK_END; k++)
            if (c->reach[k + step] > c->reach[k])
                c->reach[k] = c->reach[k + step];
}

/* Small images are walked before large tables are made. The steps are where one size of table
 * overtakes the next, making it included. */
static unsigned index_bits_for(size_t data_bytes)
{
    return data_bytes < 8192 ? 8 : data_bytes < 32768 ? 9 : data_bytes < 131072 ? 10 : 11;
}

static void prepare(struct walk *w, const struct ih_jpeg_plan *plan)
{
    bool has_start[IH_JPEG_CODE_SLOTS][IH_JPEG_CODE_SLOTS] = {{false}};
    bool has_ac[IH_JPEG_CODE_SLOTS] = {false};
    unsigned index_bits = index_bits_for(plan->data_bytes);
    w->plan = plan;
    w->n_blocks = 0;
    memset(&w->window, 0, sizeof w->window);
    w->window.source = plan->data;
    w->window.source_end = plan->data + plan->data_bytes;
    for (unsigned i = 0; i < plan->n_components; i++) {
        struct component *c = &w->components[i];
        unsigned dc = plan->components[i].dc, ac = plan->components[i].ac;
        unsigned n = i == 0 ? plan->chroma_h * plan->chroma_v : 1;
        if (!has_start[dc][ac])
            ih_jpeg_start_table_make(&w->starts[dc][ac], &plan->dc[dc], &plan->ac[ac], index_bits);
        if (!has_ac[ac])
            ih_jpeg_ac_table_make(&w->ac[ac], &plan->ac[ac], index_bits);
        has_start[dc][ac] = has_ac[ac] = true;
        c->start = &w->starts[dc][ac];
        c->ac = &w->ac[ac];
        c->quant = plan->quant[plan->components[i].quant];
        make_reach(c);
        while (n-- > 0)
            w->blocks[w->n_blocks++] = c;
    }
}

static bool walk_scan(struct walk *w)
{
    const struct ih_jpeg_plan *plan = w->plan;
    uint32_t left = ih_jpeg_n_mcus(plan);
    for (unsigned i = 0; left > 0; i++) {
        uint32_t n = plan->restart_interval;
        if (n == 0 || n > left)
            n = left;
        left -= n;
        for (unsigned j = 0; j < plan->n_components; j++)
            w->components[j].prediction = 0;
        ih_jpeg_window_start(&w->window, &w->bits);
        if (!walk_mcus(w, n))
            return false;
        unsigned marker = left > 0 ? IH_JPEG_RST0 + i % 8 : IH_JPEG_EOI;
        if ((w->why_not = ih_jpeg_window_end(&w->window, &w->bits, marker)))
            return false;
        if (left > 0)
            w->window.source += 2;
    }
    return true;
}

bool ih_jpeg_walk_data(struct ih_jpeg_plan *plan, const char **why_not)
{
    struct walk w;
    if (plan->data_bytes >= LANES_FROM_BYTES && ih_jpeg_lanes_walk(plan))
        return true;
    prepare(&w, plan);
    if (!walk_scan(&w)) {
        *why_not = w.why_not;
        return false;
    }
    plan->data_bytes = (size_t)(w.window.source - plan->data);
    return true;
}
