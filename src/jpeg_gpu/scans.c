/*
 * Batches of progressive JPEG files: where each scan finds its codes, its blocks, and the maps
 * that refinements read and write.
 */
#include "jpeg_gpu/plan.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_BYTES = IH_JPEG_STEP_BITS / 8 };

size_t ih_jpeg_scans_begin(struct ih_gpu_jpeg_scans *s, void *memory)
{
    enum { SCANS = IH_JPEG_BATCH_SCANS };
    enum { COMPONENTS = IH_JPEG_BATCH_IMAGES * IH_JPEG_COMPONENTS_MAX_GPU };
    *s = (struct ih_gpu_jpeg_scans){.n_codes = 0};
    size_t at = ih_jpeg_batch_begin(&s->batch, memory);
    s->scans = ih_jpeg_take_array(memory, &at, SCANS, sizeof *s->scans);
    s->codes = ih_jpeg_take_array(memory, &at, SCANS, sizeof *s->codes);
    s->first_order = ih_jpeg_take_array(memory, &at, SCANS, sizeof *s->first_order);
    s->refinement_order = ih_jpeg_take_array(memory, &at, SCANS, sizeof *s->refinement_order);
    s->spectra = ih_jpeg_take_array(memory, &at, COMPONENTS, sizeof *s->spectra);
    s->parts = ih_jpeg_take_array(memory, &at, IH_JPEG_BATCH_PARTS, sizeof *s->parts);
    return at;
}

size_t ih_jpeg_scans_bytes(void)
{
    struct ih_gpu_jpeg_scans s;
    return ih_jpeg_scans_begin(&s, NULL);
}

/* Blocks of a component that hold samples of the image. */
static uint32_t blocks_across(const struct ih_jpeg_plan *plan, unsigned component)
{
    const uint32_t width = component == 0 ? plan->width : (plan->width - 1) / plan->chroma_h + 1;
    return (width - 1) / 8 + 1;
}

static uint32_t blocks_of(const struct ih_jpeg_plan *plan, unsigned component)
{
    const uint32_t height = component == 0 ? plan->height : (plan->height - 1) / plan->chroma_v + 1;
    return blocks_across(plan, component) * ((height - 1) / 8 + 1);
}

static uint32_t levels_of(const struct ih_jpeg_plan *plan, unsigned component)
{
    uint32_t n = 0;
    for (unsigned i = 0; i < plan->n_scans; i++)
        n += plan->scans[i].component == component && plan->scans[i].first > 0 &&
             plan->scans[i].high > 0;
    return n;
}

uint64_t ih_jpeg_scans_gpu_bytes(const struct ih_jpeg_plan *plan)
{
    enum {
        SCAN_BYTES = 2500 + 512, /* a table of codes, and alignment */
        IMAGE_BYTES = 4 << 10,
        MAP_BYTES = 8 + 4 /* and a position */
    };
    const uint64_t n_blocks = (uint64_t)plan->n_mcus * plan->mcu_blocks;
    uint64_t n_bytes = IMAGE_BYTES;
    for (unsigned c = 0; c < plan->n_components; c++)
        n_bytes += (uint64_t)blocks_of(plan, c) * levels_of(plan, c) * MAP_BYTES;
    for (unsigned i = 0; i < plan->n_scans; i++) {
        const struct ih_jpeg_plan_scan *scan = &plan->scans[i];
        const bool is_first_dc = scan->first == 0 && scan->high == 0;
        n_bytes += SCAN_BYTES + scan->n_bytes + (scan->n_bytes / STEP_BYTES + 1) * 12 +
                   (is_first_dc ? 2 * (n_blocks + SCAN_BYTES) : 0);
    }
    return n_bytes;
}

/* ---- a file ---- */

static uint32_t add_code(struct ih_gpu_jpeg_scans *s, const struct ih_jpeg_plan_scan *scan,
                         unsigned i)
{
    struct ih_gpu_jpeg_scan_code *code = &s->codes[s->n_codes];
    *code = (struct ih_gpu_jpeg_scan_code){.is_dc = scan->first == 0};
    memcpy(&code->code, scan->codes[i], 16 + scan->n_symbols[i]);
    return s->n_codes++;
}

/* A first scan of DC, or bits of DC. */
static void add_dc_scan(struct ih_gpu_jpeg_scans *s, const struct ih_jpeg_plan *plan,
                        const struct ih_jpeg_plan_scan *from, struct ih_gpu_jpeg_scan *scan)
{
    struct ih_gpu_jpeg_image *image = &s->batch.images[s->batch.n_images];
    const bool is_alone = from->n_components == 1;
    const uint32_t n_y = plan->chroma_h * plan->chroma_v;
    scan->mcu_blocks = is_alone ? 1 : plan->mcu_blocks;
    scan->n_blocks = is_alone ? blocks_of(plan, from->component) : plan->n_mcus * plan->mcu_blocks;
    for (unsigned i = 0; i < from->n_components; i++) {
        struct ih_gpu_jpeg_spectrum *spectrum =
            &s->spectra[image->first_component + from->component + i];
        if (from->high > 0) {
            spectrum->dc_refinements[spectrum->n_dc_refinements].scan = s->batch.n_intervals;
            spectrum->dc_refinements[spectrum->n_dc_refinements++].is_alone = is_alone;
        } else {
            spectrum->first_dc = s->n_dc;
            spectrum->is_dc_alone = is_alone;
        }
    }
    if (from->high > 0)
        return;
    scan->code = add_code(s, from, 0);
    for (uint32_t i = 0; i < scan->mcu_blocks; i++) {
        const unsigned c = i < n_y ? 0 : i - n_y + 1;
        if (from->codes[c] == from->codes[0])
            continue;
        if (scan->cycle_blocks == 1)
            add_code(s, from, c); /* the next one */
        scan->code_of_block |= 1u << i;
        scan->cycle_blocks = scan->mcu_blocks;
    }
    scan->first_dc = s->n_dc;
    s->n_dc += scan->n_blocks;
}

static void add_ac_scan(struct ih_gpu_jpeg_scans *s, const struct ih_jpeg_plan *plan,
                        const struct ih_jpeg_plan_scan *from, struct ih_gpu_jpeg_scan *scan)
{
    scan->component = s->batch.images[s->batch.n_images].first_component + from->component;
    struct ih_gpu_jpeg_spectrum *spectrum = &s->spectra[scan->component];
    scan->n_blocks = blocks_of(plan, from->component);
    scan->code = add_code(s, from, 0);
    if (from->high == 0) {
        scan->first_step = s->n_steps;
        scan->n_steps = (from->n_bytes - 1) / STEP_BYTES + 1;
        s->n_steps += scan->n_steps;
        return;
    }
    uint32_t *link = &spectrum->first_refinement;
    for (; *link != IH_JPEG_NO_SCAN; link = &s->scans[*link].next_refinement)
        scan->level++;
    scan->level++;
    *link = s->batch.n_intervals;
}

static void add_spectra(struct ih_gpu_jpeg_scans *s, const struct ih_jpeg_plan *plan,
                        struct ih_gpu_jpeg_part *part)
{
    const uint32_t first = s->batch.images[s->batch.n_images].first_component;
    for (unsigned c = 0; c < plan->n_components; c++) {
        struct ih_gpu_jpeg_spectrum *spectrum = &s->spectra[first + c];
        *spectrum = (struct ih_gpu_jpeg_spectrum){.blocks_across = blocks_across(plan, c),
                                                  .n_blocks = blocks_of(plan, c),
                                                  .first_block = part->n_blocks,
                                                  .first_map = s->n_maps,
                                                  .n_levels = levels_of(plan, c),
                                                  .first_progress = s->n_progress,
                                                  .first_refinement = IH_JPEG_NO_SCAN,
                                                  .first_thread_block = s->n_refine_blocks};
        part->n_blocks += spectrum->n_blocks;
        s->n_maps += spectrum->n_levels * spectrum->n_blocks;
        s->n_progress += spectrum->n_levels;
        s->n_refine_blocks += (spectrum->n_blocks - 1) / IH_JPEG_REFINE_THREADS + 1;
    }
}

/* The part for an image: the last one if it has room, else a new one. NULL: there are too many. */
static struct ih_gpu_jpeg_part *part_for(struct ih_gpu_jpeg_scans *s,
                                         const struct ih_jpeg_plan *plan)
{
    uint32_t n_blocks = 0;
    for (unsigned c = 0; c < plan->n_components; c++)
        n_blocks += blocks_of(plan, c);
    if (s->n_parts == 0 || s->parts[s->n_parts - 1].n_blocks + n_blocks > IH_JPEG_PART_BLOCKS ||
        s->batch.planes_bytes + ih_jpeg_plan_planes_bytes(plan) > IH_JPEG_PART_PLANES_BYTES) {
        if (s->n_parts == IH_JPEG_BATCH_PARTS)
            return NULL;
        s->parts[s->n_parts++] = (struct ih_gpu_jpeg_part){
            .first_image = s->batch.n_images,
            .first_step = s->n_steps,
            .first_refine_block = s->n_refine_blocks,
            .first_transform_block = s->batch.n_transform_blocks,
        };
        s->batch.planes_bytes = 0;
    }
    return &s->parts[s->n_parts - 1];
}

bool ih_jpeg_scans_add(struct ih_gpu_jpeg_scans *s, const struct ih_jpeg_plan *plan,
                       uint32_t file_offset)
{
    struct ih_gpu_jpeg_batch *b = &s->batch;
    if (b->n_images == IH_JPEG_BATCH_IMAGES ||
        b->n_intervals + plan->n_scans > IH_JPEG_BATCH_SCANS ||
        s->n_codes + 2 * plan->n_scans > IH_JPEG_BATCH_SCANS)
        return false;
    struct ih_gpu_jpeg_part *part = part_for(s, plan);
    if (!part)
        return false;
    ih_jpeg_batch_add_image(b, plan);
    add_spectra(s, plan, part);
    for (unsigned i = 0; i < plan->n_scans; i++) {
        const struct ih_jpeg_plan_scan *from = &plan->scans[i];
        const bool is_last = i + 1 == plan->n_scans;
        struct ih_gpu_jpeg_scan *scan = &s->scans[b->n_intervals];
        *scan = (struct ih_gpu_jpeg_scan){.image = b->n_images,
                                          .cycle_blocks = 1,
                                          .first = from->first,
                                          .last = from->last,
                                          .low = from->low,
                                          .is_plain_bits = from->first == 0 && from->high > 0,
                                          .next_refinement = IH_JPEG_NO_SCAN};
        (from->first == 0 ? add_dc_scan : add_ac_scan)(s, plan, from, scan);
        ih_jpeg_batch_add_interval(b, file_offset + from->offset, from->n_bytes + (is_last ? 2 : 0),
                                   scan->n_blocks, is_last);
    }
    part->n_images++;
    part->n_steps = s->n_steps - part->first_step;
    part->n_refine_blocks = s->n_refine_blocks - part->first_refine_block;
    part->n_transform_blocks = b->n_transform_blocks - part->first_transform_block;
    b->n_images++;
    return true;
}

/* ---- the order of the scans ---- */

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The key of a scan: by level, the largest first; its lower 16 bits are the index of the scan. */
static uint64_t key_of(const struct ih_gpu_jpeg_scans *s, uint32_t i)
{
    return (uint64_t)s->scans[i].level << 48 |
           (uint64_t)(UINT32_MAX - s->batch.intervals[i].n_bytes) << 16 | i;
}

void ih_jpeg_scans_end(struct ih_gpu_jpeg_scans *s)
{
    s->n_first = s->n_refinements = 0;
    for (uint32_t i = 0; i < s->batch.n_intervals; i++) {
        const struct ih_gpu_jpeg_scan *scan = &s->scans[i];
        if (scan->level > 0 || (scan->first == 0 && !scan->is_plain_bits))
            s->refinement_order[s->n_refinements++] = key_of(s, i);
        else if (scan->first > 0)
            s->first_order[s->n_first++] = key_of(s, i);
    }
    qsort(s->first_order, s->n_first, sizeof *s->first_order, compare_keys);
    qsort(s->refinement_order, s->n_refinements, sizeof *s->refinement_order, compare_keys);
}
