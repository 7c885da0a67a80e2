/* The planes of a batch of JPEG files in a GPU's memory: where they lie, and counting them. */
#ifndef IH_JPEG_GPU_PLANES_H
#define IH_JPEG_GPU_PLANES_H

#include "device/cuda_unit.h"
#include "jpeg_gpu/engines.h"

#include <nvjpeg.h>

/* What the planes of a batch may take together: 28 photos of 12 megapixels in 4:4:4. Those of the
 * largest file that the engines take (IH_JPEG_SIDE_MAX) fit. */
#define IH_JPEG_PLANES_BYTES_MAX ((size_t)1 << 30)

/* Memory that grows with the batches. All zero is none. */
struct ih_jpeg_planes {
    uint8_t *d_bytes; /* owned */
    size_t size_bytes;
};

/*
 * Makes room for the planes of the first of n jobs: as many as IH_JPEG_PLANES_BYTES_MAX and the
 * GPU's memory have room for. What lay there is lost, and may no longer be in use.
 *
 * images   [n]; filled for those that fit: Y, and of colour Cb and Cr at their stored size
 *
 * Returns how many fit; 0: there is no memory.
 */
unsigned ih_jpeg_planes_place(struct ih_jpeg_planes *planes, struct ih_jpeg_job *const *jobs,
                              unsigned n, nvjpegImage_t *images);

/* Gives all memory back; nothing may use it any more. */
void ih_jpeg_planes_release(struct ih_jpeg_planes *planes);

/* Enqueues the counting of a job's planes; d_totals is added to. */
cudaError_t ih_jpeg_planes_count(const struct ih_cuda_unit *unit, const struct ih_jpeg_job *job,
                                 const nvjpegImage_t *image, struct ih_gpu_totals *d_totals,
                                 cudaStream_t stream);

#endif
