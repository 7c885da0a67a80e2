/* The steps of the JPEG kernels one after the other, and the memory between them. */
#include "parts.cuh"

/* Fills in the parts of scratch. Returns its size. A subsequence has at most a coefficient for each
 * two bits, a code and a sign; codes without a value of so few bits are a fault. */
static size_t divide(struct ih_jpeg_work *w)
{
    const struct ih_gpu_jpeg_batch &b = w->batch;
    struct ih_jpeg_divider d = {(uint8_t *)w->d_scratch};
    d.give(&w->bits, b.bits_bytes + IH_JPEG_INTERVAL_SLACK_BYTES);
    d.give(&w->n_bytes, b.n_intervals);
    d.give(&w->n_bits, b.n_intervals);
    d.give(&w->n_stuffed, b.n_chunks);
    d.give(&w->tables, b.n_codes);
    d.give(&w->interval_of, b.n_subsequences);
    d.give(&w->starts.passes, b.n_subsequences);
    d.give(&w->starts.records, (size_t)b.n_subsequences * IH_JPEG_PIECES);
    d.give(&w->starts.counts, b.n_subsequences + 1);
    d.give(&w->coefficients.ac, (size_t)b.n_subsequences * IH_JPEG_SUBSEQUENCE_AC);
    d.give(&w->coefficients.dc, b.n_blocks);
    d.give(&w->coefficients.first, b.n_blocks);
    return (size_t)(d.next - (uint8_t *)w->d_scratch);
}

extern "C" size_t ih_jpeg_scratch_bytes(const struct ih_gpu_jpeg_batch *batch)
{
    struct ih_jpeg_work w = {};
    w.batch = *batch;
    return divide(&w);
}

extern "C" cudaError_t ih_jpeg_decode(const struct ih_gpu_jpeg_args *args)
{
    struct ih_jpeg_work w = {};
    static_cast<ih_gpu_jpeg_args &>(w) = *args;
    divide(&w);
    cudaError_t status = ih_jpeg_unstuff(w);
    if (status == cudaSuccess)
        status = ih_jpeg_find_starts(w);
    if (status == cudaSuccess)
        status = ih_jpeg_write_coefficients(w);
    return status == cudaSuccess ? ih_jpeg_transform(w) : status;
}
