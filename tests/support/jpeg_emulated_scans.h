/*
 * The kernels for progressive JPEG on the CPU: the same threads and warps of
 * kernels/jpeg/progressive.h, one after the other. Unstuffing and memory are those of
 * jpeg_emulated.h.
 */
#ifndef IH_TESTS_JPEG_EMULATED_SCANS_H
#define IH_TESTS_JPEG_EMULATED_SCANS_H

#include "kernels/jpeg/progressive.h"
#include "tests/support/jpeg_emulated.h"

struct emulated_scans {
    struct emulated e;
    const struct ih_gpu_jpeg_scans *s;
    struct ih_jpeg_code *codes;
    uint32_t *step_states, *step_blocks;
    int16_t *dc, *coefficients; /* coefficients: of all parts */
    uint64_t *maps;
    uint32_t *positions;
};

static inline const uint32_t *emulated_scan_words(const struct emulated_scans *m, uint32_t i)
{
    return (const uint32_t *)(const void *)(m->e.bits + m->s->batch.intervals[i].bits_offset);
}

static inline struct ih_jpeg_first_scan emulated_first(const struct emulated_scans *m, uint32_t i)
{
    const struct ih_gpu_jpeg_scan *scan = &m->s->scans[i];
    return (struct ih_jpeg_first_scan){&m->codes[scan->code], *scan};
}

/* A warp: finds the starts of 32 subsequences at a time, then decodes them. */
static inline void emulated_first_scan(struct emulated_scans *m, uint32_t i)
{
    const struct ih_gpu_jpeg_scan *scan = &m->s->scans[i];
    const struct ih_jpeg_first_scan first = emulated_first(m, i);
    const uint32_t *words = emulated_scan_words(m, i), n_bits = m->e.n_bits[i];
    const uint32_t initial = ih_jpeg_state(0, 0, scan->first);
    const struct ih_gpu_jpeg_spectrum *spectrum = &m->s->spectra[scan->component];
    struct ih_jpeg_first_results to = {NULL, NULL, NULL};
    uint32_t *faults = &m->e.verdicts[scan->image].faults;
    uint32_t carry = initial, block = 0;
    if (scan->first == 0)
        to.dc = m->dc + scan->first_dc;
    else if (spectrum->n_levels > 0)
        to.maps = m->maps + spectrum->first_map;
    for (uint32_t tile = 0; tile * IH_JPEG_STEP_BITS < n_bits; tile += 32) {
        uint32_t starts[32], exits[32], counts[32];
        for (int round = 0; round <= 32; round++) {
            int is_changed = 0;
            uint32_t before[32];
            memcpy(before, exits, sizeof before);
            for (uint32_t lane = 0; lane < 32; lane++) {
                const uint32_t at = (tile + lane) * IH_JPEG_STEP_BITS;
                const uint32_t start = lane == 0 ? carry : round == 0 ? initial : before[lane - 1];
                if (at >= n_bits || (round > 0 && start == starts[lane]))
                    continue;
                starts[lane] = exits[lane] = start;
                counts[lane] = ih_jpeg_count_first(words + at / 32,
                                                   ih_jpeg_least(n_bits - at, IH_JPEG_STEP_BITS),
                                                   &first, &exits[lane]);
                is_changed = 1;
            }
            if (!is_changed)
                break;
        }
        for (uint32_t lane = 0; lane < 32; lane++) {
            const uint32_t at = (tile + lane) * IH_JPEG_STEP_BITS;
            if (at >= n_bits)
                break;
            uint32_t state = starts[lane], n = ih_jpeg_least(block, scan->n_blocks);
            if (scan->first > 0) {
                m->step_states[scan->first_step + tile + lane] = state;
                m->step_blocks[scan->first_step + tile + lane] = n;
            }
            *faults |=
                ih_jpeg_decode_first(words + at / 32, ih_jpeg_least(n_bits - at, IH_JPEG_STEP_BITS),
                                     n_bits - at, &first, &state, &n, &to);
            block += counts[lane];
            carry = exits[lane];
        }
    }
    if (block < scan->n_blocks)
        *faults |= IH_JPEG_FAULT_SHORT;
}

static inline struct ih_jpeg_refinement emulated_refinement(const struct emulated_scans *m,
                                                            uint32_t i)
{
    const struct ih_gpu_jpeg_scan *scan = &m->s->scans[i];
    return (struct ih_jpeg_refinement){emulated_scan_words(m, i), &m->codes[scan->code],
                                       m->e.n_bits[i], *scan};
}

/* A warp. */
static inline void emulated_navigation(struct emulated_scans *m, uint32_t i)
{
    static struct ih_jpeg_navigator s;
    const struct ih_gpu_jpeg_scan *scan = &m->s->scans[i];
    const struct ih_gpu_jpeg_spectrum *spectrum = &m->s->spectra[scan->component];
    const struct ih_jpeg_refinement r = emulated_refinement(m, i);
    struct ih_jpeg_course c;
    ih_jpeg_begin_course(&s, &r, &c);
    for (uint32_t b = 0; b < scan->n_blocks && !c.faults; b += IH_JPEG_WINDOW_BLOCKS) {
        const uint32_t n = ih_jpeg_least(scan->n_blocks - b, IH_JPEG_WINDOW_BLOCKS);
        const uint32_t at = spectrum->first_map + (scan->level - 1) * spectrum->n_blocks + b;
        memcpy(s.maps, m->maps + at, n * sizeof *s.maps);
        ih_jpeg_navigate(&s, &r, &c, n);
        memcpy(m->positions + at, s.positions, n * sizeof *s.positions);
        if (scan->level < spectrum->n_levels)
            memcpy(m->maps + at + spectrum->n_blocks, s.maps, n * sizeof *s.maps);
    }
    m->e.verdicts[scan->image].faults |= ih_jpeg_end_course(&r, &c);
}

/* The coefficients of an image, which has no fault. */
static inline void emulated_values(struct emulated_scans *m, uint32_t image, int16_t *coefficients)
{
    const struct ih_gpu_jpeg_image *of = &m->s->batch.images[image];
    const uint32_t first_block = m->s->spectra[of->first_component].first_block;
    for (uint32_t i = 0; i < m->s->batch.n_intervals; i++) {
        const struct ih_gpu_jpeg_scan *scan = &m->s->scans[i];
        if (scan->image != image)
            continue;
        const struct ih_gpu_jpeg_spectrum *spectrum = &m->s->spectra[scan->component];
        const struct ih_jpeg_first_results to = {
            NULL, NULL, coefficients + (size_t)(spectrum->first_block - first_block) * 64};
        const uint32_t n_bits = m->e.n_bits[i];
        const struct ih_jpeg_first_scan first = emulated_first(m, i);
        for (uint32_t k = 0; k < scan->n_steps; k++) {
            const uint32_t at = k * IH_JPEG_STEP_BITS;
            if (at >= n_bits)
                break;
            uint32_t state = m->step_states[scan->first_step + k];
            uint32_t n = m->step_blocks[scan->first_step + k];
            ih_jpeg_decode_first(emulated_scan_words(m, i) + at / 32,
                                 ih_jpeg_least(n_bits - at, IH_JPEG_STEP_BITS), n_bits - at, &first,
                                 &state, &n, &to);
        }
    }
    for (uint32_t k = of->first_component; k < of->first_component + of->n_components; k++) {
        const struct ih_gpu_jpeg_spectrum *spectrum = &m->s->spectra[k];
        for (uint32_t b = 0; b < spectrum->n_blocks; b++) {
            uint32_t at = spectrum->first_map + b;
            for (uint32_t i = spectrum->first_refinement; i != IH_JPEG_NO_SCAN;
                 i = m->s->scans[i].next_refinement, at += spectrum->n_blocks) {
                const struct ih_jpeg_refinement r = emulated_refinement(m, i);
                ih_jpeg_refine(&r, m->positions[at], m->maps[at],
                               coefficients +
                                   (size_t)(spectrum->first_block - first_block + b) * 64);
            }
        }
    }
}

/* Differences become values; bits are checked for their number. */
static inline void emulated_dc_scan(struct emulated_scans *m, uint32_t i)
{
    const struct ih_gpu_jpeg_scan *scan = &m->s->scans[i];
    if (scan->is_plain_bits)
        m->e.verdicts[scan->image].faults |= ih_jpeg_end_faults(scan->n_blocks, m->e.n_bits[i]);
    else if (scan->first == 0)
        emulated_dc(&m->e, scan->image, &m->dc[scan->first_dc], scan->n_blocks, scan->mcu_blocks,
                    scan->low);
}

static inline int32_t emulated_dc_of(const struct emulated_scans *m, uint32_t component, uint32_t x,
                                     uint32_t y)
{
    return ih_jpeg_dc_of(&m->s->batch, &m->s->spectra[component], m->s->scans,
                         &m->s->batch.components[component], m->e.bits, m->dc, x, y);
}

static inline void emulate_scans(const struct ih_gpu_jpeg_scans *s, const uint8_t *files,
                                 uint8_t *planes, struct ih_gpu_jpeg_verdict *verdicts)
{
    const struct ih_gpu_jpeg_batch *b = &s->batch;
    uint32_t random = b->bits_bytes + 1;
    struct emulated_scans m = {
        .e = {.batch = b,
              .files = files,
              .planes = planes,
              .verdicts = verdicts,
              .bits = emulated_memory(b->bits_bytes + IH_JPEG_SCANS_SLACK_BYTES, &random),
              .n_bits = emulated_memory(b->n_intervals * sizeof(uint32_t), &random)},
        .s = s,
        .codes = emulated_memory(s->n_codes * sizeof *m.codes, &random),
        .step_states = emulated_memory(s->n_steps * sizeof *m.step_states, &random),
        .step_blocks = emulated_memory(s->n_steps * sizeof *m.step_blocks, &random),
        .dc = emulated_memory(s->n_dc * sizeof *m.dc, &random),
        .maps = calloc(s->n_maps + 1, sizeof *m.maps),
        .positions = emulated_memory(s->n_maps * sizeof *m.positions, &random),
    };
    for (uint32_t i = 0; i < b->n_images; i++)
        verdicts[i] = (struct ih_gpu_jpeg_verdict){0, 0};
    struct ih_jpeg_limits limits;
    for (uint32_t i = 0; i < s->n_codes; i++)
        ih_jpeg_make_table(&s->codes[i].code, (int)s->codes[i].is_dc, &limits, m.codes[i].entries,
                           &m.codes[i].long_codes);
    for (uint32_t i = 0; i < b->n_intervals; i++)
        emulated_unstuff(&m.e, i);
    for (uint32_t i = 0; i < s->n_first; i++)
        emulated_first_scan(&m, (uint32_t)(s->first_order[i] & 0xffff));
    for (uint32_t i = 0; i < s->n_refinements; i++) {
        const uint32_t scan = (uint32_t)(s->refinement_order[i] & 0xffff);
        (s->scans[scan].level > 0 ? emulated_navigation : emulated_first_scan)(&m, scan);
    }
    for (uint32_t i = 0; i < b->n_intervals; i++)
        emulated_dc_scan(&m, i);
    for (uint32_t i = 0; i < b->n_images; i++) {
        const struct ih_gpu_jpeg_image *image = &b->images[i];
        size_t n_blocks = 0;
        for (uint32_t k = 0; k < image->n_components; k++)
            n_blocks += s->spectra[image->first_component + k].n_blocks;
        int16_t *coefficients = calloc(n_blocks * 64, sizeof *coefficients), *at = coefficients;
        if (!coefficients)
            abort();
        if (!(verdicts[i].faults & ~(uint32_t)IH_JPEG_FAULT_LARGE))
            emulated_values(&m, i, coefficients);
        for (uint32_t k = 0; k < image->n_components; k++) {
            const uint32_t component = image->first_component + k;
            const struct ih_gpu_jpeg_component *c = &b->components[component];
            const struct ih_gpu_jpeg_spectrum *spectrum = &s->spectra[component];
            for (uint32_t y = 0; y < c->blocks_down; y++)
                for (uint32_t x = 0; x < c->blocks_across; x++) {
                    const int16_t none[64] = {0};
                    const bool is_one = x < spectrum->blocks_across &&
                                        y < spectrum->n_blocks / spectrum->blocks_across;
                    if (verdicts[i].faults & ~(uint32_t)IH_JPEG_FAULT_LARGE)
                        continue;
                    emulated_block_of(&m.e, c,
                                      is_one ? at + (size_t)(y * spectrum->blocks_across + x) * 64
                                             : none,
                                      emulated_dc_of(&m, component, x, y), x, y);
                }
            at += (size_t)spectrum->n_blocks * 64;
        }
        free(coefficients);
    }
    free(m.e.bits);
    free(m.e.n_bits);
    free(m.codes);
    free(m.step_states);
    free(m.step_blocks);
    free(m.dc);
    free(m.maps);
    free(m.positions);
}

#endif
