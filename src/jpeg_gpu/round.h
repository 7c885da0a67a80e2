/*
 * The steps of the lanes that walk a JPEG's entropy-coded data (jpeg_lanes.c), a round of some
 * blocks at a time: where blocks end, and what is in them at most.
 */
#ifndef IH_JPEG_GPU_ROUND_H
#define IH_JPEG_GPU_ROUND_H

#include "jpeg_gpu/window.h"

enum {
    IH_JPEG_LANES = 4,
    IH_JPEG_ROUND_BLOCKS = 64, /* that a lane may walk in a round */
    IH_JPEG_ROUND_LOOKS = 800, /* at most, so that data beyond the end need not be without end */
    IH_JPEG_ROUND_SLACK_BYTES = IH_JPEG_ROUND_LOOKS * 32 / 8 + IH_JPEG_LOAD_BYTES,
    IH_JPEG_BLOCK_COEFFICIENTS = 64,

    /* Of a round, counted from the first of the MCU that it begins in. */
    IH_JPEG_ROUND_BLOCKS_MAX = IH_JPEG_ROUND_BLOCKS + IH_JPEG_MCU_BLOCKS_MAX + 2,
};

/* Where a lane is, and no more than what a look-up needs. */
struct ih_jpeg_lane {
    uint64_t block; /* what is known of its block: see jpeg_codes.h */
    const uint32_t *table;
    uint32_t bit; /* where its next look-up begins, of all data */
    uint32_t at;  /* in `tables` of the round: two for each block */
};

struct ih_jpeg_round_component {
    const struct ih_jpeg_lane_tables *tables;
    const uint8_t *quant;
    uint32_t weights[IH_JPEG_BLOCK_COEFFICIENTS]; /* of an entry's sum, by place */
};

struct ih_jpeg_round {
    const uint8_t *data; /* borrowed: without stuffing, and IH_JPEG_ROUND_SLACK_BYTES of zeros */
    uint32_t n_bits;
    unsigned n_blocks; /* of an MCU */

    /* Of each block of a round: its tables, at its start and behind that, its component's weights
     * beside the first of them, its component, and whether it is the first of an MCU. */
    const uint32_t *tables[2 * IH_JPEG_ROUND_BLOCKS_MAX];
    const uint32_t *weights[2 * IH_JPEG_ROUND_BLOCKS_MAX];
    uint8_t component_of[IH_JPEG_ROUND_BLOCKS_MAX];
    bool is_first[IH_JPEG_ROUND_BLOCKS_MAX];

    uint64_t blocks[IH_JPEG_LANES][IH_JPEG_ROUND_BLOCKS_MAX]; /* of the round, what is known */
    struct ih_jpeg_lane lanes[IH_JPEG_LANES];
    struct ih_jpeg_round_component components[IH_JPEG_COMPONENTS_MAX];
    struct ih_jpeg_lane_tables codes[IH_JPEG_CODE_SLOTS][IH_JPEG_CODE_SLOTS]; /* DC, AC */
};

/* Everything but data, n_bits and the lanes. The plan is borrowed. */
void ih_jpeg_round_prepare(struct ih_jpeg_round *round, const struct ih_jpeg_plan *plan);

/*
 * A round of all lanes, which takes turns, or of one. Each begins where it is, at a block that
 * `blocks` has from lanes[].at / 2 on, and leaves there what it knows of each, the one that it has
 * not ended too.
 */
void ih_jpeg_round_walk(struct ih_jpeg_round *round);
void ih_jpeg_round_walk_one(struct ih_jpeg_round *round, unsigned lane);

/* The sum of the magnitudes of the AC coefficients of the block at `bit`, which is sound, times
 * their quantizers. */
uint32_t ih_jpeg_round_ac_sum(const struct ih_jpeg_round *round,
                              const struct ih_jpeg_round_component *component, uint32_t bit);

static inline uint64_t ih_jpeg_round_bits(const struct ih_jpeg_round *round, uint32_t bit)
{
    return ih_jpeg_load(round->data + (bit >> 3)) << (bit & 7);
}

#endif
