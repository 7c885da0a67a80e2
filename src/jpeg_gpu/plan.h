/*
 * The plan of a JPEG file for the JPEG kernels (kernels/jpeg/): what its header says, and where its
 * restart intervals or scans lie.
 *
 * The kernels find damage in the data. Here a file is refused whose header is damaged, or so
 * unusual that reading it in exactly libjpeg's way would take more code than it gains: the CPU's
 * decoder reads such a file or reports the damage.
 */
#ifndef IH_JPEG_GPU_PLAN_H
#define IH_JPEG_GPU_PLAN_H

#include "decode/metadata.h"
#include "kernels/jpeg/jpeg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a JPEG file is left to the CPU, each reason with the text of the report. */
#define IH_JPEG_REASONS(REASON)                                                 \
    REASON(NONE, "")                                                            \
    REASON(NOT_A_FILE, "not a regular file, or too large to be held in memory") \
    REASON(NOT_STARTED, "no GPU had started")                                   \
    REASON(STOPPED, "the GPU had failed, or had no memory")                     \
    REASON(KIND, "arithmetic, 12 bits, or sequential in several scans")         \
    REASON(SCANS, "progressive with unusual or large scans")                    \
    REASON(FEW, "progressive, and among the first")                             \
    REASON(COLOURS, "neither gray nor YCbCr with chroma of full or half size")  \
    REASON(HEADER, "an unusual or damaged header")                              \
    REASON(DATA, "unusual or damaged image data")

enum ih_jpeg_reason {
#define REASON(name, text) IH_JPEG_REASON_##name,
    IH_JPEG_REASONS(REASON)
#undef REASON
        IH_JPEG_N_REASONS
};

/* Static text; "" for IH_JPEG_REASON_NONE. */
const char *ih_jpeg_reason_text(enum ih_jpeg_reason reason);

/* A scan of a progressive file. */
struct ih_jpeg_plan_scan {
    uint32_t offset, n_bytes; /* of its data in the file */
    uint8_t n_components;     /* 1, or all of the image */
    uint8_t component;        /* the first */
    uint8_t first, last;      /* coefficients in zigzag order: Ss, Se */
    uint8_t high, low;        /* bits still missing before and after it: Ah, Al */
    const uint8_t *codes[IH_JPEG_COMPONENTS_MAX_GPU]; /* of its components; NULL: no codes */
    unsigned n_symbols[IH_JPEG_COMPONENTS_MAX_GPU];
};

/* It borrows the file's bytes. */
struct ih_jpeg_plan {
    uint32_t width, height;
    unsigned n_components;       /* 1 (gray) or 3 (YCbCr) */
    unsigned chroma_h, chroma_v; /* luma samples per chroma sample, 1 or 2; 1, 1 for gray */
    struct ih_jpeg_notes notes;
    const uint8_t *quantizers[IH_JPEG_COMPONENTS_MAX_GPU]; /* [64] in zigzag order, by component */
    const uint8_t *codes[IH_JPEG_CODES]; /* counts [16], then symbols; NULL: not in the file */
    unsigned n_symbols[IH_JPEG_CODES];
    unsigned dc[IH_JPEG_COMPONENTS_MAX_GPU], ac[IH_JPEG_COMPONENTS_MAX_GPU]; /* 0 or 1 */
    uint32_t restart_mcus;                    /* MCUs of a restart interval; 0: none */
    uint32_t n_mcus, mcus_across, mcu_blocks; /* of the image; blocks of an MCU */
    size_t data_offset;                       /* of the bytes after the scan's header */
    size_t file_bytes;
    uint32_t n_intervals;
    uint32_t *interval_ends; /* owned, [n_intervals - 1]: file offsets of the markers between them;
                              * NULL: one interval */
    bool is_progressive;
    unsigned n_scans;                /* of a progressive file; */
    struct ih_jpeg_plan_scan *scans; /* owned, [IH_JPEG_SCANS_MAX] */
};

/*
 * Plans a complete file.
 *
 * bytes   [size_bytes], below 2^31; borrowed as long as the plan
 * plan    overwritten; release it with ih_jpeg_plan_reset in all cases
 *
 * Returns IH_JPEG_REASON_NONE, or why the file is left to the CPU. Threads: any; one per plan.
 */
enum ih_jpeg_reason ih_jpeg_plan_make(struct ih_jpeg_plan *plan, const uint8_t *bytes,
                                      size_t size_bytes);
void ih_jpeg_plan_reset(struct ih_jpeg_plan *plan);

/* Whether the first bytes of a file say so. */
bool ih_jpeg_head_is_progressive(const uint8_t *bytes, size_t size_bytes);

/* An upper bound for the GPU memory that decoding takes, beside the file. A session for progressive
 * files has memory for the coefficients and planes of a part in addition. */
uint64_t ih_jpeg_plan_gpu_bytes(const struct ih_jpeg_plan *plan);

/* ---- a batch of planned files ---- */

enum { IH_JPEG_BATCH_IMAGES = 2048, IH_JPEG_BATCH_INTERVALS = 1 << 16 };

/* Makes an empty batch whose arrays lie in memory, [ih_jpeg_batch_bytes()], 256-byte aligned.
 * NULL: its arrays are NULL, and it can only be measured. Returns the bytes of the arrays. */
size_t ih_jpeg_batch_begin(struct ih_gpu_jpeg_batch *batch, void *memory);
size_t ih_jpeg_batch_bytes(void);

/* Adds a file that is not progressive, and lies file_offset bytes into the bytes of all files.
 * Returns false, with the batch unchanged, when it has no room for it. */
bool ih_jpeg_batch_add(struct ih_gpu_jpeg_batch *batch, const struct ih_jpeg_plan *plan,
                       uint32_t file_offset);

/* What files of both kinds have: the image with its components, and data. file_offset: of the data
 * in the bytes of all files. */
struct ih_gpu_jpeg_image *ih_jpeg_batch_add_image(struct ih_gpu_jpeg_batch *batch,
                                                  const struct ih_jpeg_plan *plan);
void ih_jpeg_batch_add_interval(struct ih_gpu_jpeg_batch *batch, uint32_t file_offset,
                                uint32_t n_bytes, uint32_t n_blocks, bool is_last);

enum { IH_JPEG_BATCH_SCANS = 1 << 15, IH_JPEG_BATCH_PARTS = 64 };

/* The same for progressive files, in scans.c. After the last file, ih_jpeg_scans_end orders the
 * scans. */
size_t ih_jpeg_scans_begin(struct ih_gpu_jpeg_scans *scans, void *memory);
size_t ih_jpeg_scans_bytes(void);
bool ih_jpeg_scans_add(struct ih_gpu_jpeg_scans *scans, const struct ih_jpeg_plan *plan,
                       uint32_t file_offset);
void ih_jpeg_scans_end(struct ih_gpu_jpeg_scans *scans);

/* ih_jpeg_plan_gpu_bytes of a progressive file. */
uint64_t ih_jpeg_scans_gpu_bytes(const struct ih_jpeg_plan *plan);

/* An upper bound for the planes of a file: each row of blocks is padded. */
uint64_t ih_jpeg_plan_planes_bytes(const struct ih_jpeg_plan *plan);

/* n * size bytes of memory, which may be NULL, from *at on. */
void *ih_jpeg_take_array(void *memory, size_t *at, size_t n, size_t size);

#endif
