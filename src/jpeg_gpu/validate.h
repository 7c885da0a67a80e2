/*
 * Which JPEG files the GPU's engines decode to exactly what libjpeg-turbo decodes, told by walking
 * them on the host.
 *
 * The engines give no sign of damage, and read on where a file ends too early. So nothing is given
 * to them but what is known to be sound to its last bit: baseline, in one of the layouts that were
 * compared pixel by pixel, every code of the entropy-coded data valid and no coefficient so large
 * that decoders may differ about it. All else, damaged or just unusual, is not judged here: these
 * calls say "no", and the decoder on the processor has the last word (dec_jpeg.c).
 */
#ifndef IH_JPEG_GPU_VALIDATE_H
#define IH_JPEG_GPU_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A Huffman table as the file has it: how many codes there are of 1 to 16 bits, and what they stand
 * for. */
struct ih_jpeg_codes {
    const uint8_t *counts; /* 16 of them, then the symbols; borrowed, NULL: not in the file */
    unsigned n_symbols;
};

enum { IH_JPEG_COMPONENTS_MAX = 3, IH_JPEG_QUANT_SLOTS = 4, IH_JPEG_CODE_SLOTS = 2 };

/* While the magnitudes of a block's coefficients, times their quantizers, do not add up to more
 * than this, no 16-bit step of an inverse DCT overflows, saturating or not, and decoders agree. The
 * first coefficient counts too: so no sum of DC differences overflows. */
enum { IH_JPEG_BLOCK_SUM_MAX = 5900 };

struct ih_jpeg_plan {
    uint32_t width, height;
    unsigned n_components;       /* 1 (gray) or 3 (YCbCr) */
    unsigned chroma_h, chroma_v; /* luma samples per chroma sample, 1 or 2; 1, 1 for gray */
    size_t stream_bytes;         /* of what ih_jpeg_plan_write writes */

    /* The rest is for jpeg_*.c. */
    struct {
        unsigned id, quant, dc, ac; /* slots */
    } components[IH_JPEG_COMPONENTS_MAX];
    const uint8_t *quant[IH_JPEG_QUANT_SLOTS]; /* 64 in zigzag order; borrowed, NULL: none */
    struct ih_jpeg_codes dc[IH_JPEG_CODE_SLOTS], ac[IH_JPEG_CODE_SLOTS];
    uint32_t restart_interval; /* MCUs; 0: none */
    const uint8_t *data;       /* borrowed: what follows the scan's header */
    size_t data_bytes;         /* up to the end of the file; after ih_jpeg_walk, up to EOI */
};

/*
 * Says from all that stands before the entropy-coded data whether a file may be one for the
 * engines. The data is not looked at.
 *
 * bytes     the file, or as much of its beginning as is there; borrowed by the plan
 * plan      overwritten, without stream_bytes; of no meaning after false
 * why_not   static text, set with false
 */
bool ih_jpeg_walk_header(const uint8_t *bytes, size_t size_bytes, struct ih_jpeg_plan *plan,
                         const char **why_not);

/*
 * The same of all of a file. True: the file is sound, dec_jpeg.c decodes it without an error, and
 * what ih_jpeg_plan_write makes of it decodes to the same pixels.
 *
 * Threads: one per plan. Takes about 70 KB of stack, and for a large file a copy of its data from
 * the heap.
 */
bool ih_jpeg_walk(const uint8_t *bytes, size_t size_bytes, struct ih_jpeg_plan *plan,
                  const char **why_not);

/*
 * Writes the file for the engines: a header made anew from what was understood, the entropy-coded
 * bytes as they are, and EOI. Nothing that was skipped is in it.
 *
 * plan     after ih_jpeg_walk returned true, its bytes still there
 * stream   plan->stream_bytes bytes
 */
void ih_jpeg_plan_write(const struct ih_jpeg_plan *plan, uint8_t *stream);

#endif
