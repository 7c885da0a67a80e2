/*
 * Batches of JPEG files that the JPEG kernels decode on the CPU, compared with libjpeg. For unit
 * tests and fuzzers.
 */
#ifndef IH_TESTS_JPEG_BATCH_H
#define IH_TESTS_JPEG_BATCH_H

#include "jpeg_gpu/plan.h"
#include "tests/fuzz/promised.h"
#include "tests/support/jpeg_emulated_scans.h"
#include "tests/support/jpeg_reference.h"

enum { FILES_MAX = 64 };

/* The files of a batch one after the other, as the queue lays them out. */
struct files {
    struct ih_gpu_jpeg_batch batch;
    void *arrays;
    uint8_t *bytes;
    size_t n_bytes, n;
    struct ih_gpu_jpeg_verdict verdicts[FILES_MAX];
    uint8_t *planes;
};

static inline void begin_files(struct files *f)
{
    *f = (struct files){.arrays = malloc(ih_jpeg_batch_bytes())};
    PROMISED(f->arrays);
    ih_jpeg_batch_begin(&f->batch, f->arrays);
}

/* Returns the reason why a file is left to the CPU, or adds it. A progressive file is not for such
 * a batch. */
static inline enum ih_jpeg_reason add_file(struct files *f, const uint8_t *bytes, size_t n)
{
    struct ih_jpeg_plan plan;
    enum ih_jpeg_reason reason = ih_jpeg_plan_make(&plan, bytes, n);
    if (reason == IH_JPEG_REASON_NONE && plan.is_progressive)
        reason = IH_JPEG_REASON_KIND;
    if (reason == IH_JPEG_REASON_NONE) {
        const size_t at = (f->n_bytes + IH_JPEG_FILE_ALIGNMENT - 1) / IH_JPEG_FILE_ALIGNMENT *
                          IH_JPEG_FILE_ALIGNMENT;
        f->bytes = realloc(f->bytes, at + n);
        PROMISED(f->bytes);
        memcpy(f->bytes + at, bytes, n);
        f->n_bytes = at + n;
        f->n++;
        PROMISED(ih_jpeg_batch_add(&f->batch, &plan, (uint32_t)at));
    }
    ih_jpeg_plan_reset(&plan);
    return reason;
}

static inline void decode_files(struct files *f)
{
    f->planes = malloc((size_t)f->batch.planes_bytes);
    PROMISED(f->planes && f->n <= FILES_MAX);
    emulate(&f->batch, f->bytes, f->planes, f->verdicts);
}

/* For another batch in the same arrays, which are large. */
static inline void empty_files(struct files *f)
{
    free(f->bytes);
    free(f->planes);
    *f = (struct files){.arrays = f->arrays};
    ih_jpeg_batch_begin(&f->batch, f->arrays);
}

static inline void end_files(struct files *f)
{
    empty_files(f);
    free(f->arrays);
}

static inline bool has_planes(const struct files *f, uint32_t i, const struct reference *r)
{
    const struct ih_gpu_jpeg_image *image = &f->batch.images[i];
    if (image->n_components != r->n_components)
        return false;
    for (uint32_t k = 0; k < image->n_components; k++) {
        const struct ih_gpu_jpeg_component *c = &f->batch.components[image->first_component + k];
        for (uint32_t y = 0; y < r->height[k]; y++)
            if (memcmp(f->planes + c->plane_offset + (size_t)y * c->pitch_bytes,
                       r->planes[k] + (size_t)y * r->width[k], r->width[k]) != 0)
                return false;
    }
    return true;
}

/* Whether image i has a fault, or libjpeg reads the file without a warning and to the same planes.
 * Prints what is wrong otherwise. */
static inline bool is_right(const struct files *f, uint32_t i, const uint8_t *bytes, size_t n)
{
    if (f->verdicts[i].faults != 0)
        return true;
    struct reference r = reference_decode(bytes, n);
    const bool is_equal = r.is_sound && has_planes(f, i, &r);
    if (!is_equal)
        fprintf(stderr, "no fault, but libjpeg %s\n",
                r.is_sound ? "gives other planes" : r.warning);
    reference_reset(&r);
    return is_equal;
}

/* What becomes of a file alone: the reason why it is left to the CPU, and its faults. */
struct outcome {
    enum ih_jpeg_reason reason;
    uint32_t faults;
};

/* Returns the faults of a progressive file. */
static inline uint32_t decode_scans_alone(const struct ih_jpeg_plan *plan, const uint8_t *bytes,
                                          size_t n)
{
    struct files f = {.arrays = malloc(ih_jpeg_scans_bytes())};
    struct ih_gpu_jpeg_scans scans;
    PROMISED(f.arrays);
    ih_jpeg_scans_begin(&scans, f.arrays);
    PROMISED(ih_jpeg_scans_add(&scans, plan, 0));
    ih_jpeg_scans_end(&scans);
    PROMISED(f.planes = malloc((size_t)scans.batch.planes_bytes));
    f.batch = scans.batch;
    emulate_scans(&scans, bytes, f.planes, f.verdicts);
    PROMISED(is_right(&f, 0, bytes, n));
    free(f.planes);
    free(f.arrays);
    return f.verdicts[0].faults;
}

static inline struct outcome decode_alone(const uint8_t *bytes, size_t n)
{
    struct outcome o = {IH_JPEG_REASON_NONE, 0};
    struct ih_jpeg_plan plan;
    struct files f;
    if (ih_jpeg_plan_make(&plan, bytes, n) == IH_JPEG_REASON_NONE && plan.is_progressive) {
        o.faults = decode_scans_alone(&plan, bytes, n);
        ih_jpeg_plan_reset(&plan);
        return o;
    }
    ih_jpeg_plan_reset(&plan);
    begin_files(&f);
    o.reason = add_file(&f, bytes, n);
    if (o.reason == IH_JPEG_REASON_NONE) {
        decode_files(&f);
        PROMISED(is_right(&f, 0, bytes, n));
        o.faults = f.verdicts[0].faults;
    }
    end_files(&f);
    return o;
}

#endif
