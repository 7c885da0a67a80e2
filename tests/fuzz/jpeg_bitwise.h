/*
 * Reads the data of a baseline JPEG bit by bit, as ITU-T T.81, annex F, describes it: the judge of
 * the validator, which uses tables. libjpeg alone cannot judge: it accepts data that the validator
 * must refuse, such as coefficients beyond a block, or of any size.
 */
#ifndef IH_TESTS_JPEG_BITWISE_H
#define IH_TESTS_JPEG_BITWISE_H

#include "jpeg_gpu/validate.h"

#include <stdlib.h>

struct bitwise {
    const uint8_t *at, *end;
    unsigned n_used;   /* bits of *at */
    bool is_exhausted; /* more bits were read than there are */
};

static inline unsigned bitwise_bits(struct bitwise *b, unsigned n)
{
    unsigned value = 0;
    while (n-- > 0) {
        size_t left = (size_t)(b->end - b->at);
        if (left == 0 || (b->at[0] == 0xFF && (left < 2 || b->at[1] != 0))) {
            b->is_exhausted = true;
            return 0;
        }
        value = value << 1 | (b->at[0] >> (7 - b->n_used++) & 1);
        if (b->n_used == 8) {
            b->at += b->at[0] == 0xFF ? 2 : 1;
            b->n_used = 0;
        }
    }
    return value;
}

/* Figure F.16. 256: no such code. */
static inline unsigned bitwise_symbol(struct bitwise *b, const struct ih_jpeg_codes *codes)
{
    unsigned code = 0, first = 0, n_before = 0;
    for (unsigned length = 0; length < 16; length++) {
        unsigned n = codes->counts[length];
        code = code << 1 | bitwise_bits(b, 1);
        if (code - first < n)
            return codes->counts[16 + n_before + code - first];
        first = (first + n) << 1;
        n_before += n;
    }
    return 256;
}

/* Figure F.12. */
static inline int bitwise_value(struct bitwise *b, unsigned size)
{
    int value = (int)bitwise_bits(b, size);
    return size > 0 && value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

static inline bool bitwise_block(struct bitwise *b, const struct ih_jpeg_plan *plan, unsigned c,
                                 int *prediction)
{
    const uint8_t *quant = plan->quant[plan->components[c].quant];
    unsigned symbol = bitwise_symbol(b, &plan->dc[plan->components[c].dc]);
    if (symbol > 11)
        return false;
    *prediction += bitwise_value(b, symbol);
    long sum = labs((long)*prediction * quant[0]);
    for (unsigned k = 1; k < 64; k++) {
        symbol = bitwise_symbol(b, &plan->ac[plan->components[c].ac]);
        if (symbol == 0)
            break;
        k += symbol >> 4;
        if (symbol > 255 || k > 63 || (symbol == 0xF0 && k == 63)) /* more must follow ZRL */
            return false;
        sum += labs((long)bitwise_value(b, symbol & 15) * quant[k]);
    }
    return !b->is_exhausted && sum <= IH_JPEG_BLOCK_SUM_MAX;
}

static inline bool bitwise_mcu(struct bitwise *b, const struct ih_jpeg_plan *plan,
                               int predictions[IH_HW_JPEG_COMPONENTS_MAX])
{
    for (unsigned c = 0; c < plan->n_components; c++)
        for (unsigned i = 0; i < (c == 0 ? plan->chroma_h * plan->chroma_v : 1); i++)
            if (!bitwise_block(b, plan, c, &predictions[c]))
                return false;
    return true;
}

/* Whether the data is sound and ends with EOI. plan: after ih_jpeg_validate_header. */
static inline bool bitwise_is_sound(const struct ih_jpeg_plan *plan)
{
    struct bitwise b = {.at = plan->data, .end = plan->data + plan->data_bytes};
    int predictions[IH_HW_JPEG_COMPONENTS_MAX] = {0};
    uint64_t across = (plan->width + 8 * plan->chroma_h - 1) / (8 * plan->chroma_h);
    uint64_t n_mcus = across * ((plan->height + 8 * plan->chroma_v - 1) / (8 * plan->chroma_v));
    for (uint64_t i = 0; i < n_mcus;) {
        if (!bitwise_mcu(&b, plan, predictions))
            return false;
        bool is_last = ++i == n_mcus;
        if (!is_last && (plan->restart_interval == 0 || i % plan->restart_interval != 0))
            continue;
        while (b.n_used > 0)
            if (bitwise_bits(&b, 1) == 0)
                return false;
        if (b.end - b.at < 2 || b.at[0] != 0xFF ||
            b.at[1] != (is_last ? 0xD9 : 0xD0 + (i / plan->restart_interval - 1) % 8))
            return false;
        b.at += 2;
        for (unsigned c = 0; c < plan->n_components; c++)
            predictions[c] = 0;
    }
    return true;
}

#endif
