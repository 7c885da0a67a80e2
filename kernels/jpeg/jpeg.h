/*
 * JPEG decoded by CUDA kernels: the files of a batch in, planes of Y, Cb and Cr out.
 *
 *     stuffed bytes -> unstuff -> synchronise -> write -> DC -> inverse DCT -> planes
 *
 * unstuff.cu, synchronise.cu, write.cu and transform.cu tell the steps, progressive.cu and
 * progressive.h those of progressive files. decode.h has what one thread does, for the CPU too;
 * decode.cu runs the steps. docs/jpeg.md has the whole story.
 *
 * A sequential file is taken if it has Huffman codes, 8 bits, one scan, and gray or YCbCr with
 * chroma of full or half size. The host reads its header and lays out the batch. The kernels find
 * damage and report it for each image; nothing else of that image is valid then.
 */
#ifndef IH_KERNELS_JPEG_JPEG_H
#define IH_KERNELS_JPEG_JPEG_H

#include <stddef.h>
#include <stdint.h>

enum {
    /* A thread of synchronise.cu takes a subsequence, one of write.cu a piece of it. */
    IH_JPEG_SUBSEQUENCE_BYTES = 256,
    IH_JPEG_SUBSEQUENCE_BITS = 8 * IH_JPEG_SUBSEQUENCE_BYTES,
    IH_JPEG_PIECES = 8,
    IH_JPEG_PIECE_BITS = IH_JPEG_SUBSEQUENCE_BITS / IH_JPEG_PIECES,
    IH_JPEG_SUBSEQUENCE_AC = IH_JPEG_SUBSEQUENCE_BITS / 2, /* coefficients, at most */
    /* A thread block of synchronise.cu and of write.cu; its subsequences have the same codes. */
    IH_JPEG_THREADS = 128,
    /* A thread block of unstuff.cu takes a chunk. */
    IH_JPEG_CHUNK_BYTES = 4096,
    /* Unstuffed intervals begin at multiples of this; the decoder reads a little past them. */
    IH_JPEG_INTERVAL_ALIGNMENT = 128,
    IH_JPEG_INTERVAL_SLACK_BYTES = 64,
    /* Files begin at multiples of this, and this many bytes follow the last. */
    IH_JPEG_FILE_ALIGNMENT = 16,
    /* A warp of transform.cu takes four blocks side by side, a thread block so many fours. */
    IH_JPEG_FOURS = 32,
    IH_JPEG_PITCH_ALIGNMENT = 32, /* of planes, in bytes */
    IH_JPEG_COMPONENTS_MAX_GPU = 3,
    IH_JPEG_CODES = 4 /* DC 0, DC 1, AC 0, AC 1 */
};

/* A Huffman code as its file has it; all zero: not there. A code of n bits is never all ones, and
 * no symbol stands for more bits than 8-bit samples need. */
struct ih_gpu_jpeg_code {
    uint8_t counts[16]; /* codes of 1 to 16 bits */
    uint8_t symbols[256];
};

/* Those of an image. */
struct ih_gpu_jpeg_codes {
    struct ih_gpu_jpeg_code of[IH_JPEG_CODES];
};

struct ih_gpu_jpeg_image {
    uint32_t first_component, n_components; /* 1 or 3 */
    uint32_t first_block;                   /* of the block records */
    uint32_t mcu_blocks;                    /* 1; 3, 4 or 6 */
    uint32_t mcus_across;
    uint32_t restart_mcus; /* MCUs of an interval; 0: there is one interval */
    /* Four bits for each block of an MCU: which DC code, then which AC code. */
    uint32_t code_of_block;
    /* mcu_blocks, or 1 if all blocks have the same codes: a start is then right in any block. */
    uint32_t cycle_blocks;
};

/* A restart interval; without restart markers, all data of the scan. */
struct ih_gpu_jpeg_interval {
    uint32_t file_offset, n_bytes; /* of the stuffed bytes; the last: up to the end of the file */
    uint32_t bits_offset;          /* of the unstuffed bytes */
    uint32_t first_subsequence, first_chunk;
    uint32_t first_block, n_blocks; /* a record more follows: where the last block ends */
    uint32_t image;
    uint32_t is_last;
};

struct ih_gpu_jpeg_component {
    uint32_t image;
    uint32_t h, v;                       /* blocks of an MCU */
    uint32_t block_of_mcu;               /* the first of them */
    uint32_t blocks_across, blocks_down; /* whole MCUs */
    uint32_t pitch_bytes;
    uint32_t first_thread_block; /* of transform.cu */
    uint64_t plane_offset;
    uint8_t quantizers[64]; /* in zigzag order */
};

/* Images one after the other that have the same codes. */
struct ih_gpu_jpeg_group {
    uint32_t first_subsequence, n_subsequences;
    uint32_t first_thread_block;
    uint32_t codes;
};

/* What a batch consists of; the arrays are in device memory for the kernels. */
struct ih_gpu_jpeg_batch {
    struct ih_gpu_jpeg_image *images;
    struct ih_gpu_jpeg_interval *intervals;
    struct ih_gpu_jpeg_component *components;
    struct ih_gpu_jpeg_group *groups;
    struct ih_gpu_jpeg_codes *codes;
    uint32_t n_images, n_intervals, n_components, n_groups, n_codes;
    uint32_t n_subsequences, n_chunks, n_blocks;  /* n_blocks: records */
    uint32_t n_thread_blocks, n_transform_blocks; /* of synchronise.cu and of transform.cu */
    uint32_t bits_bytes;
    uint64_t planes_bytes;
};

/* ---- progressive files ---- */

enum {
    IH_JPEG_SCANS_MAX = 32,       /* of a file; encoders write about ten */
    IH_JPEG_LOW_MAX = 4,          /* bits that a scan may leave to later ones */
    IH_JPEG_STEP_BITS = 1024,     /* a thread's subsequence of a first scan */
    IH_JPEG_REFINE_THREADS = 128, /* a thread block refines so many blocks of a component */
    /* Blocks whose coefficients are in memory at once, 128 bytes each, and bytes of their planes.
     * Each image has fewer. */
    IH_JPEG_PART_BLOCKS = 1 << 21,
    IH_JPEG_PART_PLANES_BYTES = 192 << 20
};

#define IH_JPEG_NO_SCAN 0xffffffffu

/* A Huffman code of a scan. */
struct ih_gpu_jpeg_scan_code {
    struct ih_gpu_jpeg_code code;
    uint32_t is_dc;
};

/* A scan; its data is the interval of the same index. */
struct ih_gpu_jpeg_scan {
    uint32_t image;
    uint32_t code;                        /* DC: with code_of_block, this one or the next */
    uint32_t code_of_block, cycle_blocks; /* of DC: a bit for each block */
    uint32_t first, last, low;            /* Ss, Se, Al */
    uint32_t is_plain_bits;               /* refines DC: a bit for each block, without codes */
    uint32_t n_blocks;                    /* in the scan's order */
    uint32_t mcu_blocks;                  /* of DC: 1, or those of the image */
    uint32_t first_dc;                    /* of a first scan of DC */
    uint32_t component;                   /* of an AC scan */
    uint32_t level;                       /* 0: a first scan; else which refinement of AC it is */
    uint32_t first_step, n_steps;         /* of a first scan of AC: its subsequences */
    uint32_t next_refinement;             /* scan of the component, or IH_JPEG_NO_SCAN */
};

/* What a progressive file adds to a component. Its blocks are those of the image, row by row,
 * without those that only complete MCUs. */
struct ih_gpu_jpeg_spectrum {
    uint32_t blocks_across, n_blocks;
    uint32_t first_block;              /* of the coefficients of its part */
    uint32_t first_map;                /* its maps before level 1, then level 2, ... */
    uint32_t n_levels, first_progress; /* of its refinements; how far each of them is */
    uint32_t first_refinement;         /* scan, or IH_JPEG_NO_SCAN */
    uint32_t first_thread_block;       /* of the kernel that applies refinements */
    uint32_t first_dc, is_dc_alone;    /* alone: its DC scan has no other component */
    uint32_t n_dc_refinements;
    struct {
        uint32_t scan, is_alone;
    } dc_refinements[IH_JPEG_LOW_MAX];
};

/* Images whose coefficients and planes are in memory at the same time. */
struct ih_gpu_jpeg_part {
    uint32_t first_image, n_images;
    uint32_t first_step, n_steps;
    uint32_t first_refine_block, n_refine_blocks;       /* thread blocks */
    uint32_t first_transform_block, n_transform_blocks; /* thread blocks */
    uint32_t n_blocks;
};

/* A batch of progressive files. The planes of each part begin at 0. */
struct ih_gpu_jpeg_scans {
    struct ih_gpu_jpeg_batch batch;       /* without groups and codes; an interval is a scan */
    struct ih_gpu_jpeg_scan *scans;       /* of batch.n_intervals */
    struct ih_gpu_jpeg_spectrum *spectra; /* of batch.n_components */
    struct ih_gpu_jpeg_scan_code *codes;
    /* First scans of AC; then those of DC, and refinements by level. The largest first; its index
     * is in the lower 16 bits. */
    uint64_t *first_order, *refinement_order;
    uint32_t n_first, n_refinements;
    uint32_t n_codes, n_steps, n_maps, n_dc, n_progress, n_refine_blocks;
    struct ih_gpu_jpeg_part *parts; /* not for the kernels */
    uint32_t n_parts;
};

/* ---- results ---- */

/* Why an image is not decoded: a set. Every file that libjpeg-turbo warns about has one. */
enum ih_gpu_jpeg_fault {
    IH_JPEG_FAULT_CODE = 1,    /* a code that the file does not define */
    IH_JPEG_FAULT_PLACE = 2,   /* a coefficient after the last of its block */
    IH_JPEG_FAULT_SHORT = 4,   /* the data ends before the last block */
    IH_JPEG_FAULT_LONG = 8,    /* bytes follow the last block */
    IH_JPEG_FAULT_MARKER = 16, /* another marker than EOI ends the data */
    IH_JPEG_FAULT_SYNC = 32,   /* no fault of the file: the threads' starts were not found */
    IH_JPEG_FAULT_LARGE = 64   /* coefficients so large that libjpeg's versions differ about them */
};

struct ih_gpu_jpeg_verdict {
    uint32_t faults;     /* 0: the planes are libjpeg-turbo's, byte for byte */
    uint32_t end_offset; /* of the marker that ends the data, in the bytes of all files */
};

#if defined(__CUDACC__) || defined(IH_WITH_CUDA)
#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ih_gpu_jpeg_args {
    struct ih_gpu_jpeg_batch batch;         /* with arrays in device memory */
    const uint8_t *d_files;                 /* 16-byte aligned */
    void *d_scratch;                        /* ih_jpeg_scratch_bytes, 256-byte aligned */
    uint8_t *d_planes;                      /* batch.planes_bytes, 32-byte aligned */
    struct ih_gpu_jpeg_verdict *d_verdicts; /* [n_images] */
    cudaStream_t stream;
};

/* Enqueues the decoding of a batch of at least one image. Returns the CUDA status of the launches;
 * errors of running kernels appear in later calls on the stream. */
cudaError_t ih_jpeg_decode(const struct ih_gpu_jpeg_args *args);

/* Device memory that decoding a batch needs beside files, planes and verdicts. The arrays are not
 * read. */
size_t ih_jpeg_scratch_bytes(const struct ih_gpu_jpeg_batch *batch);

/* The same for progressive files; scans.parts is in host memory. */
struct ih_gpu_jpeg_scans_args {
    struct ih_gpu_jpeg_scans scans;
    const uint8_t *d_files;
    void *d_scratch;   /* ih_jpeg_scans_scratch_bytes */
    uint8_t *d_planes; /* IH_JPEG_PART_PLANES_BYTES; the next part overwrites them */
    struct ih_gpu_jpeg_verdict *d_verdicts;
    cudaStream_t stream;
    /* Enqueues what uses the planes of a part. */
    cudaError_t (*use)(void *user, const struct ih_gpu_jpeg_part *part);
    void *user;
};

cudaError_t ih_jpeg_decode_scans(const struct ih_gpu_jpeg_scans_args *args);
size_t ih_jpeg_scans_scratch_bytes(const struct ih_gpu_jpeg_scans *scans);

#ifdef __cplusplus
}
#endif
#endif

#endif
