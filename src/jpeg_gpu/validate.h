/*
 * The validator: decides on the CPU whether a GPU's hardware JPEG decoders would decode a file to
 * exactly the pixels that libjpeg-turbo gives.
 *
 * The hardware decoders do not report damage, and they read on where a file ends too early. So they
 * only get files that are sound to the last bit:
 *
 *   - baseline, in a layout for which all planes were compared byte by byte;
 *   - every code of the entropy-coded data is valid;
 *   - no coefficient is so large that decoders may differ about it.
 *
 * All other files, damaged or just unusual, go to the decoder on the CPU (decode/dec_jpeg.c), which
 * reads the file or reports the damage.
 */
#ifndef IH_JPEG_GPU_VALIDATE_H
#define IH_JPEG_GPU_VALIDATE_H

#include "decode/metadata.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a JPEG file is left to the CPU, each reason with the text of the report. The first group is
 * the offload queue's (offload.c), the others are the validator's. */
#define IH_JPEG_REASONS(REASON)                                                             \
    REASON(NONE, "")                                                                        \
    REASON(NOT_A_FILE, "not a regular file, or it cannot be held in memory")                \
    REASON(TOO_LARGE, "file too large to be held in memory")                                \
    REASON(NO_MEMORY, "no memory left to queue the file")                                   \
    REASON(NOT_STARTED, "hardware decoders had not started")                                \
    REASON(BUSY, "hardware decoders were busy")                                             \
    REASON(STOPPED, "hardware decoders had failed")                                         \
    REASON(TOO_MANY_PIXELS, "larger than the hardware decoders take")                       \
    REASON(REJECTED, "hardware decoders rejected the file")                                 \
    REASON(NOT_JPEG, "not a JPEG file")                                                     \
    REASON(NO_SCAN, "file ends before the scan")                                            \
    REASON(BETWEEN_SEGMENTS, "bytes between segments")                                      \
    REASON(SEGMENT_LENGTH, "segment longer than the file, or of invalid length")            \
    REASON(MARKER, "marker not allowed before a scan")                                      \
    REASON(NOT_BASELINE, "not baseline: progressive, arithmetic, lossless or extended")     \
    REASON(QUANT_SHORT, "truncated quantization table")                                     \
    REASON(QUANT_NUMBER, "16-bit quantization table, or invalid table number")              \
    REASON(QUANT_TWICE, "quantization table defined twice")                                 \
    REASON(QUANT_ZERO, "quantizer of zero")                                                 \
    REASON(CODES_SHORT, "truncated Huffman table")                                          \
    REASON(CODES_SYMBOLS, "Huffman table with more symbols than its segment holds")         \
    REASON(CODES_NUMBER, "Huffman table number not allowed in baseline")                    \
    REASON(CODES_TWICE, "Huffman table defined twice")                                      \
    REASON(CODES_INVALID, "invalid Huffman code, or symbols that 8-bit samples do not use") \
    REASON(FRAME_TWICE, "two frame headers")                                                \
    REASON(FRAME_LENGTH, "frame header of invalid length")                                  \
    REASON(DEPTH, "not 8 bits a sample")                                                    \
    REASON(NO_PIXELS, "no pixels, or height not in the frame header")                       \
    REASON(SIDE, "wider or higher than libjpeg allows")                                     \
    REASON(COMPONENTS, "neither one component nor three")                                   \
    REASON(SUBSAMPLING, "subsampling other than 4:4:4, 4:2:2, 4:2:0 or 4:4:0")              \
    REASON(COMPONENT_ID, "two components with the same id")                                 \
    REASON(NOT_YCBCR, "three components that may not be YCbCr")                             \
    REASON(RESTART_TWICE, "restart interval defined twice")                                 \
    REASON(RESTART_LENGTH, "restart interval of invalid length")                            \
    REASON(SCAN_BEFORE_FRAME, "scan before the frame header")                               \
    REASON(SCAN_COMPONENTS, "scan without all components, or of invalid length")            \
    REASON(SCAN_ORDER, "scan with components in another order")                             \
    REASON(SCAN_CODES, "scan uses a missing Huffman table")                                 \
    REASON(SCAN_QUANT, "component uses a missing quantization table")                       \
    REASON(SCAN_COEFFICIENTS, "scan without all coefficients")                              \
    REASON(DATA_CODE, "invalid Huffman code in the image data")                             \
    REASON(DATA_PLACE, "coefficient beyond the end of its block")                           \
    REASON(DATA_LARGE, "coefficients so large that decoders may differ")                    \
    REASON(DATA_SHORT, "image data ends early")                                             \
    REASON(DATA_LONG, "image data goes on after the last block, or restart marker missing") \
    REASON(DATA_PADDING, "padding bits that are not ones")                                  \
    REASON(DATA_MARKER, "unexpected marker after image data")

enum ih_jpeg_reason {
#define REASON(name, text) IH_JPEG_REASON_##name,
    IH_JPEG_REASONS(REASON)
#undef REASON
        IH_JPEG_N_REASONS
};

/* Static text; "" for IH_JPEG_REASON_NONE. */
const char *ih_jpeg_reason_text(enum ih_jpeg_reason reason);

/* A Huffman table as the file has it: how many codes of 1 to 16 bits, then their symbols. */
struct ih_jpeg_codes {
    const uint8_t *counts; /* [16], followed by [n_symbols]; borrowed; NULL: not in the file */
    unsigned n_symbols;
};

enum { IH_HW_JPEG_COMPONENTS_MAX = 3, IH_JPEG_QUANT_SLOTS = 4, IH_JPEG_CODE_SLOTS = 2 };

/* The limit for the sum of a block's coefficient magnitudes, each times its quantizer, DC included.
 * Below it no 16-bit step of an inverse DCT overflows, saturating or not, so all decoders agree. */
enum { IH_JPEG_BLOCK_SUM_MAX = 5900 };

/* What the validator has learned about a file. It borrows the file's bytes. */
struct ih_jpeg_plan {
    uint32_t width, height;
    unsigned n_components;       /* 1 (gray) or 3 (YCbCr) */
    unsigned chroma_h, chroma_v; /* luma samples per chroma sample, 1 or 2; 1, 1 for gray */
    struct ih_jpeg_notes notes;
    size_t stream_bytes; /* size of what ih_jpeg_plan_write writes */

    /* The rest is private to the validator. */
    struct {
        unsigned id, quant, dc, ac; /* slots */
    } components[IH_HW_JPEG_COMPONENTS_MAX];
    const uint8_t *quant[IH_JPEG_QUANT_SLOTS]; /* [64] in zigzag order; borrowed; NULL: none */
    struct ih_jpeg_codes dc[IH_JPEG_CODE_SLOTS], ac[IH_JPEG_CODE_SLOTS];
    uint32_t restart_interval; /* MCUs; 0: none */
    const uint8_t *data;       /* borrowed: the bytes after the scan header */
    size_t data_bytes;         /* up to the end of the file; after ih_jpeg_validate, up to EOI */
};

struct ih_jpeg_workspace; /* one for each thread */

/* Validates everything before the entropy-coded data, of a file or its first part. plan:
 * overwritten, except stream_bytes. Returns IH_JPEG_REASON_NONE, or why the file is left to the
 * CPU; plan is then invalid. */
enum ih_jpeg_reason ih_jpeg_validate_header(const uint8_t *bytes, size_t size_bytes,
                                            struct ih_jpeg_plan *plan);

/*
 * Validates a complete file; ih_jpeg_validate_data: after ih_jpeg_validate_header, with its plan of
 * the complete file. IH_JPEG_REASON_NONE: decode/dec_jpeg.c decodes the file without an error, and
 * the stream of ih_jpeg_plan_write decodes to the same pixels.
 *
 * *workspace: memory of the validator, and tables that are kept for later files; about 340 KB. NULL
 * at first; the caller frees it with free() after the last file. It never changes a verdict.
 *
 * Threads: any; one per plan and workspace. For files over 60 KB, takes a copy of the data from the
 * heap.
 */
enum ih_jpeg_reason ih_jpeg_validate(const uint8_t *bytes, size_t size_bytes,
                                     struct ih_jpeg_plan *plan,
                                     struct ih_jpeg_workspace **workspace);
enum ih_jpeg_reason ih_jpeg_validate_data(struct ih_jpeg_plan *plan,
                                          struct ih_jpeg_workspace **workspace);

/* Writes the file for the hardware decoders to stream [plan->stream_bytes]: a new header made from
 * the plan, which ih_jpeg_validate has accepted, the file's entropy-coded bytes, and EOI. */
void ih_jpeg_plan_write(const struct ih_jpeg_plan *plan, uint8_t *stream);

/* ---- private to the validator: validate_scan.c ---- */

/* Stricter than libjpeg: every symbol is one that 8-bit samples need, and none occurs twice. */
bool ih_jpeg_codes_are_sound(const struct ih_jpeg_codes *codes, bool is_dc);

/* Validates the entropy-coded data. If it is sound, plan->data_bytes becomes its length before EOI;
 * else the plan is unchanged. */
enum ih_jpeg_reason ih_jpeg_validate_scan(struct ih_jpeg_plan *plan,
                                          struct ih_jpeg_workspace **workspace);

#endif
