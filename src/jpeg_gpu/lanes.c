/*
 * One walk waits, a look-up for the one before it, and at each block's end for a branch that no
 * processor foresees (jpeg_entropy.c). Here four lanes take turns, a look-up each (jpeg_round.c).
 *
 * Where a lane begins, nobody knows what the bits mean. But Huffman codes fall into step: a lane
 * that began wrong is right after some MCUs, mostly. So a lane goes some way unheeded, then notes
 * at which bit an MCU begins, and counts from there. The lane behind it goes on until it comes to
 * an MCU that begins at this very bit: from there on the lane has walked what the other would. If
 * it comes to none, it passes that lane over and goes on to the next one's. The first lane has
 * begun right, so in the end nothing is guessed.
 *
 * What a lane cannot know is the DC prediction that it begins with. So predictions are relative
 * until the lanes are joined, and the bound on a block's coefficients is parted: so much for DC, so
 * much for the rest. The few files for which one of the two is too narrow are walked again in the
 * ordinary way, as is all that looks like damage.
 */
#include "jpeg_gpu/lanes.h"

#include "jpeg_gpu/parts.h"
#include "jpeg_gpu/round.h"

#include <stdlib.h>
#include <string.h>

enum {
    LANES = IH_JPEG_LANES,
    SLACK_BYTES = IH_JPEG_ROUND_SLACK_BYTES,
    DATA_BYTES_MAX = 1 << 28, /* bits are counted in 32 bits */
    DC_SUM_MAX = 1100,        /* 128 * 8 is what a white or black block has, in any quantization */
    DC_FAR = 1 << 16,         /* no two predictions in bounds differ by as much */
    AC_SUM_MAX = IH_JPEG_BLOCK_SUM_MAX - DC_SUM_MAX,
};

/* How far a lane goes unheeded: so far, and every lane of every photo tried was right. A fuzzer's
 * small files shall have lanes that meet, and lanes that began too early. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { UNHEEDED_MCUS = 1, UNHEEDED_BITS = 16 };
#else
enum { UNHEEDED_MCUS = 24, UNHEEDED_BITS = 8192 };
#endif

/* What has come of a lane. */
struct track {
    uint32_t block_bit;  /* where its block begins */
    uint32_t origin_bit; /* where it began to be walked */
    uint32_t first_bit;  /* where it began to count */
    unsigned phase;      /* of its block in the MCU */
    unsigned next;       /* the lane that it is going to meet; LANES: the end */
    uint32_t n_mcus;     /* counted; before that, unheeded */
    bool is_counting, is_done;
    bool is_met;    /* the lane behind has come to where this one began to count */
    bool is_passed; /* or never will */
    int32_t dc[IH_JPEG_COMPONENTS_MAX], least[IH_JPEG_COMPONENTS_MAX], most[IH_JPEG_COMPONENTS_MAX];
};

struct walk {
    struct ih_jpeg_round round;
    uint32_t n_mcus; /* of the image */
    struct track tracks[LANES];
    uint8_t data[]; /* without its stuffing, and zeros behind */
};

static inline void add_dc(struct track *t, unsigned component,
                          const struct ih_jpeg_lane_tables *tables, uint64_t bits)
{
    unsigned size = 0;
    const unsigned length = ih_jpeg_lane_dc_find(tables, bits, &size);
    const int32_t dc = t->dc[component] + ih_jpeg_extend(bits << length, size);
    t->dc[component] = dc;
    if (dc < t->least[component]) /* seldom, so a branch is cheaper than storing what is there */
        t->least[component] = dc;
    if (dc > t->most[component])
        t->most[component] = dc;
}

/* Whether from `bit` on there is nothing but what fills up the last byte: ones. No code is all
 * ones, so no MCU can be there. */
static bool is_padding(const struct ih_jpeg_round *round, uint32_t bit)
{
    const uint32_t n_left = round->n_bits - bit; /* wraps to a large number beyond the end */
    const unsigned ones = n_left < 8 ? (1u << n_left) - 1 : 256;
    return (round->data[round->n_bits / 8 - 1] & ones) == ones;
}

/* An MCU begins. False: it is not to be walked any more, as the lane has met another. */
static bool begin_mcu(struct walk *w, struct track *t)
{
    if (!t->is_counting && t->n_mcus >= UNHEEDED_MCUS &&
        t->block_bit - t->origin_bit >= UNHEEDED_BITS) {
        t->is_counting = true;
        t->first_bit = t->block_bit;
        t->n_mcus = 0;
    }
    while (t->next < LANES) {
        struct track *next = &w->tracks[t->next];
        if (!next->is_passed && (!next->is_counting || t->block_bit < next->first_bit))
            break;
        if (!next->is_passed && t->block_bit == next->first_bit) {
            next->is_met = t->is_done = true;
            return false;
        }
        next->is_passed = next->is_done = true;
        t->next = next->next;
    }
    if (t->next == LANES && is_padding(&w->round, t->block_bit)) {
        t->is_done = true;
        return false;
    }
    t->n_mcus++;
    return true;
}

/* What a lane has walked in a round. False: there is a doubt about it. */
static bool heed(struct walk *w, unsigned i)
{
    struct ih_jpeg_round *round = &w->round;
    struct track *t = &w->tracks[i];
    const unsigned n = round->lanes[i].at / 2;
    for (unsigned b = t->phase; b < n; b++) {
        const uint64_t block = round->blocks[i][b];
        const unsigned k = round->component_of[b];
        if (round->is_first[b] && !begin_mcu(w, t))
            return true;
        if (t->is_counting) {
            const struct ih_jpeg_round_component *c = &round->components[k];
            if (block & IH_JPEG_LANE_DAMAGED)
                return false;
            add_dc(t, k, c->tables, ih_jpeg_round_bits(round, t->block_bit));
            if (block >> IH_JPEG_LANE_SUM_SHIFT > AC_SUM_MAX &&
                ih_jpeg_round_ac_sum(round, c, t->block_bit) > AC_SUM_MAX)
                return false;
        }
        t->block_bit += block >> IH_JPEG_LANE_LENGTH_SHIFT & IH_JPEG_LANE_LENGTH_MASK;
    }
    t->phase = n % round->n_blocks;
    round->lanes[i].at = 2 * t->phase;
    for (unsigned k = 0; k < IH_JPEG_COMPONENTS_MAX; k++) /* long before a sum overflows */
        if (t->least[k] < -DC_FAR || t->most[k] > DC_FAR)
            return false;
    if (t->is_counting && t->n_mcus > w->n_mcus) /* much data behind a small image takes no time */
        return false;
    return t->block_bit <= round->n_bits;
}

/* Walks until no lane is left that has not met the next, or the end. False: there is a doubt. */
static bool walk_lanes(struct walk *w)
{
    for (;;) {
        unsigned n_left = 0;
        for (unsigned i = 0; i < LANES; i++)
            n_left += w->tracks[i].is_done ? 0 : 1;
        if (n_left == 0)
            return true;
        if (n_left == LANES)
            ih_jpeg_round_walk(&w->round);
        for (unsigned i = 0; i < LANES; i++) {
            struct track *t = &w->tracks[i];
            if (t->is_done)
                continue;
            if (n_left < LANES)
                ih_jpeg_round_walk_one(&w->round, i);
            if (heed(w, i))
                continue;
            if (t->is_met) /* else it has not fallen into step: the lane behind will see */
                return false;
            t->is_passed = t->is_done = true;
        }
    }
}

/* Whether the lanes that met have walked all MCUs, with predictions in bounds. */
static bool is_whole(const struct walk *w, unsigned n_components)
{
    int32_t dc[IH_JPEG_COMPONENTS_MAX] = {0};
    uint32_t n = 0;
    for (unsigned i = 0; i < LANES; i = w->tracks[i].next) {
        const struct track *t = &w->tracks[i];
        for (unsigned k = 0; k < n_components; k++) {
            const int32_t max = DC_SUM_MAX / w->round.components[k].quant[0];
            if (dc[k] + t->least[k] < -max || dc[k] + t->most[k] > max)
                return false;
            dc[k] += t->dc[k];
        }
        n += t->n_mcus;
    }
    return n == w->n_mcus;
}

/* Copies the data without its stuffing, and zeros behind it. Gives where in the file it ends, or
 * NULL where that is not before EOI. */
static const uint8_t *copy_data(const struct ih_jpeg_plan *plan, uint8_t *to, size_t *n_bytes)
{
    const uint8_t *from = plan->data, *end = from + plan->data_bytes, *ff;
    size_t n = 0;
    while ((ff = memchr(from, 0xFF, (size_t)(end - from))) && end - ff >= 2 && ff[1] == 0) {
        const size_t n_here = (size_t)(ff - from) + 1;
        memcpy(to + n, from, n_here);
        n += n_here;
        from = ff + 2;
    }
    if (!ff || end - ff < 2 || ff[1] != IH_JPEG_EOI)
        return NULL;
    memcpy(to + n, from, (size_t)(ff - from));
    n += (size_t)(ff - from);
    memset(to + n, 0, SLACK_BYTES);
    *n_bytes = n;
    return ff;
}

static void prepare(struct walk *w, const struct ih_jpeg_plan *plan, size_t n_bytes)
{
    w->round.data = w->data;
    w->round.n_bits = (uint32_t)n_bytes * 8;
    w->n_mcus = ih_jpeg_n_mcus(plan);
    ih_jpeg_round_prepare(&w->round, plan);
    for (unsigned i = 0; i < LANES; i++) {
        const uint32_t bit = (uint32_t)(n_bytes * i / LANES * 8);
        w->round.lanes[i] = (struct ih_jpeg_lane){.table = w->round.tables[0], .bit = bit};
        w->tracks[i] = (struct track){.block_bit = bit, .origin_bit = bit, .next = i + 1};
    }
    w->tracks[0].is_counting = w->tracks[0].is_met = true;
}

static bool is_same(const struct ih_jpeg_codes *a, const struct ih_jpeg_codes *b)
{
    return a->n_symbols == b->n_symbols && memcmp(a->counts, b->counts, 16 + a->n_symbols) == 0;
}

/* Whether a lane that is in step with the blocks will be so with the MCUs: where no component has
 * codes of its own it is not, and all that it walks is in vain. */
static bool can_fall_into_step(const struct ih_jpeg_plan *plan)
{
    for (unsigned i = 1; i < plan->n_components; i++)
        if (!is_same(&plan->dc[plan->components[0].dc], &plan->dc[plan->components[i].dc]) ||
            !is_same(&plan->ac[plan->components[0].ac], &plan->ac[plan->components[i].ac]))
            return true;
    return plan->n_components == 1;
}

bool ih_jpeg_lanes_walk(struct ih_jpeg_plan *plan)
{
    if (plan->restart_interval != 0 || plan->data_bytes > DATA_BYTES_MAX ||
        !can_fall_into_step(plan))
        return false;
    struct walk *w = malloc(sizeof *w + plan->data_bytes + SLACK_BYTES);
    if (!w)
        return false;
    size_t n_bytes = 0;
    const uint8_t *end = copy_data(plan, w->data, &n_bytes);
    bool is_sound = false;
    if (end && n_bytes > 0) {
        prepare(w, plan, n_bytes);
        is_sound = walk_lanes(w) && is_whole(w, plan->n_components);
    }
    if (is_sound)
        plan->data_bytes = (size_t)(end - plan->data);
    free(w);
    return is_sound;
}
