/*
 * The validator for most files: four interleaved streams.
 *
 * A single stream is latency-bound: each look-up needs the length that the last one found, and the
 * branch at the end of a block is unpredictable. Here four streams take turns, one look-up each, so
 * the CPU works on four look-ups at once. The end of a block is computed without a branch.
 *
 * Each stream reads a quarter of the data. The first one begins at the first code. The others begin
 * at an arbitrary bit, mostly in the middle of a code. Huffman codes synchronize themselves: after
 * some MCUs, such a stream is almost always in step, which means that it reads the right codes of
 * the right blocks. So a stream is used as follows:
 *
 * 1. It skips some MCUs, which are read but not checked. Then it stores the bit at which its next
 *    MCU begins, first_bit, and validates all data from there.
 * 2. The stream before it, A, goes on after its own quarter until one of A's MCUs begins exactly at
 *    first_bit. From there both would read the same, so A ends and the two are joined.
 * 3. If one of A's MCUs begins after first_bit and none began at it, the later stream is out of
 * step. It is dropped, and A goes on to the stream after it.
 *
 * The first stream is in step, so every stream that is joined is in step too. A stream that is out
 * of step costs time, but does not change the result.
 *
 * A DC coefficient is coded as its difference from the one before. A stream that begins in the
 * middle only knows its own differences. It keeps their sum, and the least and greatest sum so far;
 * the sums of joined streams are added at the end. The sum of a block's coefficients has a limit
 * (validate_scan.h). Because DC is known last, this code has a limit for DC and one for AC, which
 * together are the block's. If a file exceeds one of them or looks damaged, the single stream
 * (validate_scan.c) validates it again and has the last word.
 *
 * Streams run in rounds. A round only does look-ups and stores the state of each block; add_round
 * checks the blocks afterwards.
 *
 * Detailed photos, one core of an EPYC, tests/bench/jpeg_validate.sh, time relative to this code:
 *
 *     index of 11 bits (more codes do not fit)      1.05
 *     index of 13 bits (larger tables)             1.05
 *     smaller index at the start of a block        1.03 and more
 *     next table by conditional move               1.2
 *     two streams                                  1.2
 *     three streams                                1.06
 *     five, six or eight streams                   1.00 or more
 */
#include "jpeg_gpu/validate_scan.h"

#include "decode/jpeg/markers.h"

#include <stdlib.h>
#include <string.h>

enum {
    N_STREAMS = 4,
    INDEX_BITS = IH_JPEG_INDEX_BITS_MAX,
    ROUND_BLOCKS = 64,                        /* a round ends when a stream reaches this block, */
    ROUND_LOOKUPS = 800,                      /* or after so many look-ups of each stream */
    SLACK_BYTES = ROUND_LOOKUPS * 32 / 8 + 8, /* a look-up may read 32 bits beyond the end */
    ROUND_BLOCKS_MAX =
        ROUND_BLOCKS + IH_JPEG_MCU_BLOCKS_MAX + 2, /* two look-ups may end two blocks */

    DATA_BYTES_MAX = 1 << 28, /* bits are counted in 32 bits */
    DC_SUM_MAX = 1100,        /* pure white or black has 128 * 8; the rest is for rounding */
    AC_SUM_MAX = IH_JPEG_BLOCK_SUM_MAX - DC_SUM_MAX,
    DC_RANGE_MAX = 1 << 16, /* DC coefficients of a sound file never differ by so much */
};

/* How far a stream reads before it validates: at least that many MCUs, and a part of the data
 * between two numbers of bits. 8192 bits were enough for every stream of every photo tried; in
 * small files a longer way costs more than a stream that is dropped now and then. Fuzzers use a
 * short way, so that streams are joined and dropped in tiny files too. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { SKIP_MCUS = 1, SKIP_PART = 64, SKIP_BITS_MIN = 16, SKIP_BITS_MAX = 16 };
#else
enum { SKIP_MCUS = 12, SKIP_PART = 64, SKIP_BITS_MIN = 2048, SKIP_BITS_MAX = 8192 };
#endif

/* The part of a stream that a look-up changes. Bits are counted from the start of the data. */
struct stream {
    uint64_t block;        /* the state of the block that is being read (validate_scan.h) */
    const uint32_t *table; /* for the next look-up */
    uint32_t bit;          /* where the next look-up begins */
    uint32_t at;           /* 2 * the number of the block in the round: it has two tables */
};

/* The part of a stream that changes after each round. */
struct progress {
    uint32_t block_bit;  /* where its next block begins */
    uint32_t origin_bit; /* where the stream began to read */
    uint32_t first_bit;  /* where it began to validate */
    unsigned phase;      /* the place of its next block in the MCU */
    unsigned next;       /* the stream that it may join; N_STREAMS: it reads to the end */
    uint32_t n_mcus;     /* MCUs validated since first_bit; before that, skipped since origin_bit */
    bool is_validating;  /* it has finished skipping */
    bool is_joined;      /* an earlier stream has ended at first_bit */
    bool is_dropped;     /* it is out of step */
    bool is_done;        /* it has ended: joined the next one, read all data, or dropped */
    /* The sum of the DC differences since first_bit, and its least and greatest value so far. */
    int32_t dc[IH_HW_JPEG_COMPONENTS_MAX];
    int32_t dc_least[IH_HW_JPEG_COMPONENTS_MAX], dc_most[IH_HW_JPEG_COMPONENTS_MAX];
};

struct scan {
    uint32_t n_bits; /* of the data */
    uint32_t skip_bits;
    uint32_t n_mcus;   /* of the image */
    unsigned n_blocks; /* of an MCU */
    unsigned n_components;

    /* For block b of a round, the same in all rounds and streams. */
    const uint32_t *tables[2 * ROUND_BLOCKS_MAX];  /* [2 b] at its start, [2 b + 1] after that */
    const uint32_t *weights[2 * ROUND_BLOCKS_MAX]; /* [2 b] of its component; [2 b + 1] unused */
    uint8_t component_of[ROUND_BLOCKS_MAX];
    bool is_first[ROUND_BLOCKS_MAX]; /* it begins an MCU */

    uint64_t blocks[N_STREAMS][ROUND_BLOCKS_MAX]; /* the states of the blocks of the last round */
    struct stream streams[N_STREAMS];
    struct progress progress[N_STREAMS];
    struct ih_jpeg_component components[IH_HW_JPEG_COMPONENTS_MAX];
    uint8_t *data; /* without stuffing, followed by SLACK_BYTES of zeros */
};

/* ---- look-ups ---- */

static void end_block(const struct scan *s, struct stream *r)
{
    r->block = 0;
    r->at += 2;
    r->table = s->tables[r->at];
}

/* Reads a symbol that is too long for the tables. Damage ends the block, and the stream goes on
 * with the next bit. */
static void step(struct scan *s, struct stream *r, uint64_t *blocks)
{
    bool is_end;
    enum ih_jpeg_reason ignored;
    r->bit += ih_jpeg_step(&s->components[s->component_of[r->at / 2]],
                           ih_jpeg_bits(s->data, r->bit), &r->block, &is_end, &ignored);
    blocks[r->at / 2] = r->block;
    if (is_end)
        end_block(s, r);
    else
        r->table = s->tables[r->at + 1];
}

/* One look-up: adds an entry to the block's state. `ended`, 0 or 1, then selects the next table and
 * clears the state by arithmetic, because a branch on it would be unpredictable. */
static inline __attribute__((always_inline)) void look_up(struct scan *s, struct stream *r,
                                                          uint64_t *blocks, uint64_t *bits)
{
    const uint32_t entry = r->table[*bits >> (64 - INDEX_BITS)];
    const uint32_t state = (uint8_t)r->block + (entry & 255); /* bits 0 to 7 of the new state */
    if (state & IH_JPEG_IS_STEP) {
        step(s, r, blocks);
        *bits = ih_jpeg_bits(s->data, r->bit);
        return;
    }
    const unsigned length = (uint8_t)(entry >> IH_JPEG_LENGTH_SHIFT),
                   ended = state >> IH_JPEG_ENDED_SHIFT;
    const uint64_t block =
        r->block + entry +
        (uint64_t)(entry >> IH_JPEG_SUM_SHIFT) * s->weights[r->at][(uint8_t)r->block];
    *bits <<= length;
    r->bit += length;
    blocks[r->at / 2] = block; /* overwritten until the block ends */
    r->table = s->tables[r->at + 1 + ended];
    r->block = block & ((uint64_t)ended - 1);
    r->at += 2 * ended;
}

/* A round of all streams. They are local variables, to be kept in registers. The bits of one load
 * are enough for two look-ups. */
static void run_round(struct scan *s)
{
    struct stream a = s->streams[0], b = s->streams[1], c = s->streams[2], d = s->streams[3];
    for (unsigned i = 0; i < ROUND_LOOKUPS / 2 && (a.at | b.at | c.at | d.at) < 2 * ROUND_BLOCKS;
         i++) {
        uint64_t a_bits = ih_jpeg_bits(s->data, a.bit), b_bits = ih_jpeg_bits(s->data, b.bit);
        uint64_t c_bits = ih_jpeg_bits(s->data, c.bit), d_bits = ih_jpeg_bits(s->data, d.bit);
        look_up(s, &a, s->blocks[0], &a_bits);
        look_up(s, &b, s->blocks[1], &b_bits);
        look_up(s, &c, s->blocks[2], &c_bits);
        look_up(s, &d, s->blocks[3], &d_bits);
        look_up(s, &a, s->blocks[0], &a_bits);
        look_up(s, &b, s->blocks[1], &b_bits);
        look_up(s, &c, s->blocks[2], &c_bits);
        look_up(s, &d, s->blocks[3], &d_bits);
    }
    s->streams[0] = a, s->streams[1] = b, s->streams[2] = c, s->streams[3] = d;
}

/* A round of one stream; used when another one is done. */
static void run_round_of(struct scan *s, unsigned i)
{
    struct stream r = s->streams[i];
    for (unsigned n = 0; n < ROUND_LOOKUPS / 2 && r.at < 2 * ROUND_BLOCKS; n++) {
        uint64_t bits = ih_jpeg_bits(s->data, r.bit);
        look_up(s, &r, s->blocks[i], &bits);
        look_up(s, &r, s->blocks[i], &bits);
    }
    s->streams[i] = r;
}

/* ---- checks after a round ---- */

/* Adds the DC difference of the block at the start of `bits`. */
static inline void add_dc(struct progress *p, unsigned component,
                          const struct ih_jpeg_huffman *table, uint64_t bits)
{
    unsigned size;
    const unsigned length = ih_jpeg_find(table, bits, &size);
    const int32_t dc = p->dc[component] + ih_jpeg_extend(bits << length, size);
    p->dc[component] = dc;
    if (dc < p->dc_least[component]) /* seldom, so a branch is cheaper than a store */
        p->dc_least[component] = dc;
    if (dc > p->dc_most[component])
        p->dc_most[component] = dc;
}

/* Whether the data from `bit` on is padding: less than 8 bits, all ones. It cannot be an MCU,
 * because no code is all ones. */
static bool is_padding(const struct scan *s, uint32_t bit)
{
    const uint32_t n_left = s->n_bits - bit; /* wraps to a large number beyond the end */
    const unsigned ones = n_left < 8 ? (1u << n_left) - 1 : 256; /* 256: not in any byte */
    return (s->data[s->n_bits / 8 - 1] & ones) == ones;
}

/* Called when an MCU begins at block_bit: ends the skipping, compares the bit with first_bit of the
 * later streams, and finds the end of the data. Returns false when the stream is done. */
static bool begin_mcu(struct scan *s, struct progress *p)
{
    if (!p->is_validating && p->n_mcus >= SKIP_MCUS &&
        p->block_bit - p->origin_bit >= s->skip_bits) {
        p->is_validating = true;
        p->first_bit = p->block_bit;
        p->n_mcus = 0;
    }
    while (p->next < N_STREAMS) {
        struct progress *next = &s->progress[p->next];
        if (!next->is_dropped && (!next->is_validating || p->block_bit < next->first_bit))
            break;
        if (!next->is_dropped && p->block_bit == next->first_bit) {
            next->is_joined = p->is_done = true;
            return false;
        }
        next->is_dropped = next->is_done = true;
        p->next = next->next;
    }
    if (p->next == N_STREAMS && is_padding(s, p->block_bit)) {
        p->is_done = true;
        return false;
    }
    p->n_mcus++;
    return true;
}

/* Adds the blocks that a stream has read in a round to its progress. Returns false when the data is
 * not sound, or the stream is out of step. */
static bool add_round(struct scan *s, unsigned i)
{
    struct progress *p = &s->progress[i];
    const unsigned n = s->streams[i].at / 2;
    for (unsigned b = p->phase; b < n; b++) {
        const uint64_t block = s->blocks[i][b];
        const unsigned k = s->component_of[b];
        if (s->is_first[b] && !begin_mcu(s, p))
            return true;
        if (p->is_validating) {
            const struct ih_jpeg_component *c = &s->components[k];
            if (block & IH_JPEG_IS_DAMAGED)
                return false;
            add_dc(p, k, c->dc, ih_jpeg_bits(s->data, p->block_bit));
            if (block >> IH_JPEG_SUM_SHIFT > AC_SUM_MAX &&
                ih_jpeg_ac_sum(c, s->data, p->block_bit) > AC_SUM_MAX)
                return false;
        }
        p->block_bit += block >> IH_JPEG_LENGTH_SHIFT & IH_JPEG_LENGTH_MASK;
    }
    p->phase = n % s->n_blocks;
    s->streams[i].at = 2 * p->phase;
    for (unsigned k = 0; k < s->n_components; k++) /* in each round, so that no sum overflows */
        if (p->dc_least[k] < -DC_RANGE_MAX || p->dc_most[k] > DC_RANGE_MAX)
            return false;
    if (p->is_validating && p->n_mcus > s->n_mcus) /* the data is longer than the image */
        return false;
    return p->block_bit <= s->n_bits;
}

/* Runs rounds until all streams are done. Returns false when the data may be damaged. */
static bool run_streams(struct scan *s)
{
    for (;;) {
        unsigned n_left = 0;
        for (unsigned i = 0; i < N_STREAMS; i++)
            n_left += s->progress[i].is_done ? 0 : 1;
        if (n_left == 0)
            return true;
        if (n_left == N_STREAMS)
            run_round(s);
        for (unsigned i = 0; i < N_STREAMS; i++) {
            struct progress *p = &s->progress[i];
            if (p->is_done)
                continue;
            if (n_left < N_STREAMS)
                run_round_of(s, i);
            if (add_round(s, i))
                continue;
            if (p->is_joined) /* in step: the data is not sound */
                return false;
            p->is_dropped = p->is_done = true; /* probably out of step; another stream decides */
        }
    }
}

/* Whether the joined streams have read all MCUs of the image, and no more, with all DC coefficients
 * within the limit. */
static bool is_complete(const struct scan *s)
{
    int32_t dc[IH_HW_JPEG_COMPONENTS_MAX] = {0};
    uint32_t n = 0;
    for (unsigned i = 0; i < N_STREAMS; i = s->progress[i].next) {
        const struct progress *p = &s->progress[i];
        for (unsigned k = 0; k < s->n_components; k++) {
            const int32_t max = DC_SUM_MAX / s->components[k].quant[0];
            if (dc[k] + p->dc_least[k] < -max || dc[k] + p->dc_most[k] > max)
                return false;
            dc[k] += p->dc[k];
        }
        n += p->n_mcus;
    }
    return n == s->n_mcus;
}

/* ---- setting up ---- */

static void prepare(struct scan *s, const struct ih_jpeg_plan *plan,
                    struct ih_jpeg_workspace *workspace, size_t n_bytes)
{
    const unsigned n_luma = plan->chroma_h * plan->chroma_v;
    s->n_bits = (uint32_t)n_bytes * 8;
    s->skip_bits = s->n_bits / SKIP_PART;
    s->skip_bits = s->skip_bits > SKIP_BITS_MAX ? SKIP_BITS_MAX : s->skip_bits;
    s->skip_bits = s->skip_bits < SKIP_BITS_MIN ? SKIP_BITS_MIN : s->skip_bits;
    s->n_mcus = ih_jpeg_n_mcus(plan);
    s->n_components = plan->n_components;
    s->n_blocks = n_luma + plan->n_components - 1;
    ih_jpeg_components_init(s->components, plan, workspace, INDEX_BITS);
    for (unsigned b = 0; b < ROUND_BLOCKS_MAX; b++) {
        const unsigned place = b % s->n_blocks, k = place < n_luma ? 0 : place - n_luma + 1;
        s->is_first[b] = place == 0;
        s->component_of[b] = (uint8_t)k;
        s->tables[2 * b] = s->components[k].start;
        s->tables[2 * b + 1] = s->components[k].rest;
        s->weights[2 * b] = s->components[k].weights;
    }
    for (unsigned i = 0; i < N_STREAMS; i++) {
        const uint32_t bit = (uint32_t)(n_bytes * i / N_STREAMS * 8);
        s->streams[i] = (struct stream){.table = s->tables[0], .bit = bit};
        s->progress[i] = (struct progress){.block_bit = bit, .origin_bit = bit, .next = i + 1};
    }
    s->progress[0].is_validating = s->progress[0].is_joined = true;
}

/* Whether a stream finds out which block of an MCU it reads. In colour images it can only find out
 * when components have different codes: reading a block with wrong tables gives other lengths. */
static bool can_synchronize(const struct ih_jpeg_plan *plan)
{
    for (unsigned i = 1; i < plan->n_components; i++)
        if (!ih_jpeg_codes_are_same(&plan->dc[plan->components[0].dc],
                                    &plan->dc[plan->components[i].dc]) ||
            !ih_jpeg_codes_are_same(&plan->ac[plan->components[0].ac],
                                    &plan->ac[plan->components[i].ac]))
            return true;
    return plan->n_components == 1;
}

bool ih_jpeg_validate_streams(struct ih_jpeg_plan *plan, struct ih_jpeg_workspace *workspace)
{
    if (plan->restart_interval != 0 || plan->data_bytes > DATA_BYTES_MAX || !can_synchronize(plan))
        return false;
    struct scan s; /* not cleared, because it is large */
    size_t n_bytes = plan->data_bytes + SLACK_BYTES;
    s.data = n_bytes <= sizeof workspace->data ? workspace->data : malloc(n_bytes);
    if (!s.data)
        return false;
    const uint8_t *file_end = plan->data + plan->data_bytes;
    const uint8_t *end = ih_jpeg_unstuff(plan->data, file_end, SLACK_BYTES, s.data, &n_bytes);
    bool is_sound = false;
    if (n_bytes > 0 && ih_jpeg_is_marker(end, file_end, IH_JPEG_EOI)) {
        prepare(&s, plan, workspace, n_bytes);
        is_sound = run_streams(&s) && is_complete(&s);
    }
    if (is_sound)
        plan->data_bytes = (size_t)(end - plan->data);
    if (s.data != workspace->data)
        free(s.data);
    return is_sound;
}
