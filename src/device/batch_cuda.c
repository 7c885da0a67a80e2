/* Counting batches in GPU memory on the caller's stream. */
#include "device/batch.h"

enum ih_status ih_batch_enqueue_cuda(const struct ih_batch_job *job, uint32_t *d_bins,
                                     uint64_t *d_sums, void *stream, struct ih_error *err)
{
    (void)job, (void)d_bins, (void)d_sums, (void)stream;
    return ih_error_set(err, IH_UNAVAILABLE, "this build has no CUDA");
}
