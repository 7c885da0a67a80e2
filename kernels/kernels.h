/*
 * Pixels: histogram_replicated.cu. Samples of 9 to 16 bits: histogram_wide.cu. JPEG files: jpeg/,
 * then histogram_ycc.cu, which also counts planes that the CPU has decoded. Batches of bytes:
 * histogram_batch.cu, with histogram_bins.cu and histogram_labels.cu for some. The block tree that
 * reduces the sums: ih_block_merge in device.cuh; of batches, at the end of an item in the file
 * that counts it.
 *
 * Launchers of the GPU kernels, in plain C. A launcher enqueues its kernel on a stream and returns.
 * It allocates nothing and prints nothing, and chooses only its grid. All kernels give the same
 * counts.
 */
#ifndef IH_KERNELS_KERNELS_H
#define IH_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { IH_GPU_BINS = 256, IH_GPU_CHANNELS_MAX = 4, IH_GPU_LUMA = 4, IH_GPU_PLANES = 5 };

/*
 * The totals that kernels add to, in device memory. The caller zeroes them before each image.
 *
 * Planes 0 .. n_channels-1 are the stored channels. Luma, at IH_GPU_LUMA, and the joint clip counts
 * are only kept for 3 and 4 channels; for gray they follow from the bins.
 */
struct ih_gpu_totals {
    unsigned long long bins[IH_GPU_PLANES][IH_GPU_BINS];     /* pixels */
    unsigned long long sum[IH_GPU_PLANES];                   /* of the 8-bit values */
    unsigned long long any_low, any_high, all_low, all_high; /* pixels; colour channels only */
};

/* Properties of a GPU that launchers need; read once when it is opened. */
struct ih_gpu_properties {
    int n_multiprocessors;
    size_t shared_bytes_optin; /* limit of dynamic shared memory per block */
};

/* The definition of luma, and the values that count as clipped. */
struct ih_gpu_measures {
    uint32_t luma_red, luma_green, luma_blue; /* in 1/65536, summing to 65536; each below it */
    uint32_t clip_low, clip_high;             /* 0 <= clip_low < clip_high <= 255 */
};

struct ih_gpu_histogram_args {
    const uint8_t *d_pixels; /* uint8 [n_pixels][n_channels], any alignment */
    uint64_t n_pixels;       /* below 2^32: a block's 32-bit counters cannot overflow then */
    unsigned n_channels;     /* 1 to 4 */
    int without_luma;        /* of 3 and 4 channels: luma is not counted */
    struct ih_gpu_measures measures;
    struct ih_gpu_totals *d_totals;      /* added to */
    const struct ih_gpu_properties *gpu; /* borrowed for the call */
    cudaStream_t stream;
};

/*
 * Returns the CUDA status of the launch, or cudaErrorInvalidValue for arguments outside the ranges
 * above. Errors of a running kernel appear in later calls on the stream. Launches nothing for an
 * empty image.
 */
cudaError_t ih_histogram_replicated(const struct ih_gpu_histogram_args *args);

/* The planes of a JPEG in device memory, chroma at its stored size, or a stripe of them. */
struct ih_gpu_planes_args {
    /* Y, uint8 [height][width]; Cb and Cr, [height / chroma_v][width / chroma_h], rounded up. For a
     * stripe: Y from row first_row on, Cb and Cr from row first_row / chroma_v on. Planes and
     * pitches are multiples of 16 bytes; a whole plane is less than 4 GiB. Bytes between the end of
     * a row and the next row are not read. */
    const uint8_t *d_planes[3];
    size_t pitch_bytes[3];
    uint32_t width, height;      /* of the image, each 1 to 65535 */
    unsigned chroma_h, chroma_v; /* 1 or 2 each: 4:4:4, 4:2:2, 4:4:0, 4:2:0 */
    /* The rows to count. With chroma_v 2, a stripe begins at row 0 or an odd row, and ends before
     * an odd row or at the end of the image, so that it contains all chroma that its rows need. */
    uint32_t first_row, n_rows;
    struct ih_gpu_measures measures; /* these are as in ih_gpu_histogram_args */
    struct ih_gpu_totals *d_totals;
    const struct ih_gpu_properties *gpu;
    cudaStream_t stream;
};

/* Counts the RGB pixels, and their luma, that libjpeg-turbo makes of the planes with its default
 * upsampling. Returns the same statuses. */
cudaError_t ih_histogram_ycc(const struct ih_gpu_planes_args *args);

/* Many images, counted in one launch. */
struct ih_gpu_planes_batch_args {
    /* All rows of each, into its own d_totals. chroma_h 0: gray, d_planes[0] alone, counted as the
     * channel 0; its clip counts are not kept. measures, gpu and stream are not used. */
    const struct ih_gpu_planes_args *images; /* [n_images]; borrowed for the call */
    uint32_t n_images;
    struct ih_gpu_measures measures;
    /* ih_histogram_ycc_batch_bytes(n_images) of pinned and of device memory. The caller leaves both
     * alone until the kernel has ended. */
    void *plan, *d_plan;
    const struct ih_gpu_properties *gpu;
    cudaStream_t stream;
};

/* Returns the same statuses. Needs a GPU that gives a block IH_GPU_YCC_SHARED_BYTES of shared
 * memory: not compute capability 7.5. */
enum { IH_GPU_YCC_SHARED_BYTES = 65 << 10 };
cudaError_t ih_histogram_ycc_batch(const struct ih_gpu_planes_batch_args *args);
size_t ih_histogram_ycc_batch_bytes(uint32_t n_images, const struct ih_gpu_properties *gpu);

/* ---- batches ---- */

enum {
    IH_GPU_BATCH_IMAGES = 64,    /* of a list, in one launch */
    IH_GPU_BATCH_MOST = 1 << 21, /* images of equal size, in one launch */
    IH_GPU_BATCH_CLIPS = 4,
    IH_GPU_BATCH_PLANS = 3,
    IH_GPU_BINS_PLANS = 2
};

/* An image in device memory; strides in bytes, of either sign. */
struct ih_gpu_image {
    const uint8_t *d_data, *d_labels; /* d_labels: uint8, one a pixel; used if n_labels > 0 */
    int64_t row_stride, channel_stride, labels_row_stride;
    uint32_t width, height; /* less than 2^31 together */
};

struct ih_gpu_batch_args {
    /* A list of n_images <= IH_GPU_BATCH_IMAGES images; or, if is_list is 0, images[0] alone, and
     * the others follow it image_stride apart. */
    struct ih_gpu_image images[IH_GPU_BATCH_IMAGES];
    uint32_t n_images; /* at most IH_GPU_BATCH_MOST */
    int is_list;
    int64_t image_stride, labels_image_stride, pixel_stride;
    unsigned n_channels;  /* 1 to 4 */
    unsigned n_labels;    /* 0: none; at most 256. Others are not counted */
    int is_bgr, has_luma; /* 3 and 4 channels only */
    struct ih_gpu_measures measures;
    /* Overwritten, [n_images][n_labels or 1][planes][256] and [...][planes + IH_GPU_BATCH_CLIPS]:
     * sums, then any_low, any_high, all_low, all_high. Planes: red, green, blue, alpha, luma. */
    uint32_t *d_bins;
    unsigned long long *d_sums; /* or NULL */
    /* 0: chosen by size. For tests: 1 to IH_GPU_BATCH_PLANS, then those of histogram_bins.cu, for
     * batches that it takes. */
    unsigned plan;
    const struct ih_gpu_properties *gpu;
    cudaStream_t stream;
};

/* Counts each image of a batch apart, in one launch and at most two memsets. Rows of interleaved or
 * planar pixels, without labels, are the fastest. Returns the statuses of the other launchers. */
cudaError_t ih_histogram_batch(const struct ih_gpu_batch_args *args);

/* ---- samples of 9 to 16 bits ---- */

enum {
    IH_GPU_WIDE_BINS_MOST = 1 << 16,
    IH_GPU_WIDE_SHARED_BYTES = 129 << 10 /* of a block, that the kernel needs */
};

/* A signed or float sample has one of 65,536 keys (keys.h), and each key has a counter. */
enum ih_gpu_samples { IH_GPU_UNSIGNED, IH_GPU_SIGNED, IH_GPU_FLOAT };

struct ih_gpu_wide_args {
    const uint16_t *d_pixels; /* uint16 [n_pixels][n_channels]; fastest at 16-byte addresses */
    uint64_t n_pixels;        /* of an image, below 2^32 */
    uint32_t n_images;        /* 1 or more, image_stride samples apart, at most IH_GPU_BATCH_MOST */
    int64_t image_stride;
    unsigned n_channels;         /* 1 to 4 */
    uint32_t n_bins;             /* at most IH_GPU_WIDE_BINS_MOST; larger samples are in no bin */
    enum ih_gpu_samples samples; /* others: 65,536 bins of 32 bits, no joint clip counts */
    int has_luma;                /* and the joint clip counts; 3 and 4 channels only */
    struct ih_gpu_measures measures; /* clip limits up to 65535 */
    /* Added to, [n_channels, then luma][n_bins], each image's bins_stride bins after the last
     * one's: either d_bins or d_bins_32. */
    unsigned long long *d_bins;
    uint32_t *d_bins_32;
    int64_t bins_stride;
    /* Added to, for has_luma: any_low, any_high, all_low, all_high; clips_stride apart. NULL with
     * d_bins_32: not wanted. */
    unsigned long long *d_clips;
    int64_t clips_stride;
    int is_bgr;                          /* in memory; bins are of red, green, blue */
    int drops_luma;                      /* with has_luma: only the joint clip counts are kept */
    const struct ih_gpu_properties *gpu; /* borrowed for the call */
    cudaStream_t stream;
};

/*
 * Returns the statuses of ih_histogram_replicated, and cudaErrorNotSupported on a GPU that gives a
 * block less than IH_GPU_WIDE_SHARED_BYTES (compute capability 7.5, 8.6, 8.9, 12.0).
 */
cudaError_t ih_histogram_wide(const struct ih_gpu_wide_args *args);

/* Adds the sums of the integers that d_bins_32 holds, of n_planes planes, to d_sums, which has
 * clips_stride sums an image; and for unsigned images of 1 and 2 channels the clip counts after
 * them. */
cudaError_t ih_wide_sums(const struct ih_gpu_wide_args *args, unsigned n_planes,
                         unsigned long long *d_sums);

#ifdef __cplusplus
}
#endif

#endif
