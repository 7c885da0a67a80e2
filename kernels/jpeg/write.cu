/*
 * Steps 3 and 4: coefficients.
 *
 * A prefix sum over the counts of all subsequences says where the blocks and coefficients of each
 * piece of 32 bytes belong. A thread decodes a piece from its recorded state, and writes two bytes
 * for each AC coefficient that is not zero, and for each block its DC difference and the index of
 * its first coefficient. An array of all coefficients would be cleared, written and read with each
 * batch, and most are zero.
 *
 * The proof is here, too (ih_jpeg_write_piece). Each piece must end in the state, block and
 * coefficient with which the next one begins. So, by induction, all pieces together are the
 * decoding from the first bit to the last: a start that synchronise.cu has not found sends a file
 * to the CPU, and cannot give a wrong coefficient. No thread writes beyond the place where the next
 * one begins, so a fault of one image cannot reach another.
 *
 * Its limit is the issue of instructions. The output of a thread block is contiguous, and collected
 * in shared memory. Tried: stores straight to global memory, two bytes at a time, take 7 times as
 * long, pieces of 64 bytes 1.6 times.
 */
#include "parts.cuh"

enum {
    /* Room in shared memory for each piece; what does not fit is written to global memory. */
    PIECE_AC = 48,
    PIECE_BLOCKS = 12,
    AC_ROOM = IH_JPEG_THREADS * PIECE_AC,
    BLOCKS_ROOM = IH_JPEG_THREADS * PIECE_BLOCKS,
    VECTOR = sizeof(uint4) / sizeof(uint16_t)
};

/* Copies what the sink has collected: s_ac from `from` to `to`, and blocks first to end. */
static __device__ inline void copy_out(const struct ih_jpeg_sink &sink, uint32_t from, uint32_t to,
                                       uint32_t first, uint32_t end)
{
    uint16_t *ac = sink.to.ac + sink.ac_from;
    to = min(to, (uint32_t)AC_ROOM);
    for (uint32_t i = threadIdx.x * VECTOR; i < to; i += IH_JPEG_THREADS * VECTOR) {
        if (i >= from && i + VECTOR <= to)
            *(uint4 *)(ac + i) = *(const uint4 *)(sink.s_ac + i);
        else
            for (uint32_t k = max(i, from); k < min(i + VECTOR, to); k++)
                ac[k] = sink.s_ac[k];
    }
    for (uint32_t i = first + threadIdx.x; i < end; i += IH_JPEG_THREADS) {
        const uint32_t block = sink.s_blocks[i];
        sink.to.dc[sink.blocks_from + i] = (int16_t)block;
        sink.to.first[sink.blocks_from + i] = sink.ac_from + (block >> 16);
    }
}

/* IH_JPEG_PIECES thread blocks for each of synchronise_kernel. */
static __global__ void __launch_bounds__(IH_JPEG_THREADS) write_kernel(const struct ih_jpeg_work w)
{
    __shared__ __align__(16) struct ih_jpeg_tables s_tables;
    __shared__ __align__(16) uint16_t s_ac[AC_ROOM];
    __shared__ uint32_t s_blocks[BLOCKS_ROOM];
    __shared__ uint32_t s_ac_from, s_blocks_from, s_ac_to, s_first, s_end, s_skipped;
    const uint32_t thread_block = blockIdx.x / IH_JPEG_PIECES, t = threadIdx.x;
    const struct ih_gpu_jpeg_group group = ih_jpeg_group_of(w, thread_block);
    const uint32_t first =
        ((thread_block - group.first_thread_block) * IH_JPEG_PIECES + blockIdx.x % IH_JPEG_PIECES) *
        IH_JPEG_THREADS;
    const uint32_t i = first + t, k = i % IH_JPEG_PIECES;
    const uint32_t subsequence = group.first_subsequence + i / IH_JPEG_PIECES;
    const bool is_one = i < group.n_subsequences * IH_JPEG_PIECES;
    struct ih_jpeg_part part;
    struct ih_jpeg_piece piece = {};
    if (first >= group.n_subsequences * IH_JPEG_PIECES)
        return;
    ih_jpeg_copy_tables(&s_tables, &w.tables[group.codes], IH_JPEG_THREADS);
    if (is_one) {
        part = ih_jpeg_part_of(&w.batch, w.bits, w.n_bits, subsequence, w.interval_of[subsequence]);
        piece = ih_jpeg_piece_of(&w.starts, &part, k);
    }
    if (t == 0) {
        s_ac_from = piece.ac / VECTOR * VECTOR;
        s_skipped = piece.ac % VECTOR;
        s_blocks_from = piece.block;
        s_ac_to = 0, s_first = ~0u, s_end = 0;
    }
    __syncthreads();
    struct ih_jpeg_sink sink = {w.coefficients, s_ac,        s_blocks, s_ac_from, s_blocks_from,
                                AC_ROOM,        BLOCKS_ROOM, ~0u,      0};
    if (piece.n_bits) {
        ih_jpeg_blame(w, part.interval->image,
                      ih_jpeg_write_piece(&w.starts, &part, k, &piece, &s_tables, &sink));
        atomicMax(&s_ac_to, min(piece.ac, piece.end_ac) - s_ac_from);
        atomicMin(&s_first, sink.first_block);
        atomicMax(&s_end, sink.end_block);
    } else if (is_one && k == 0 && part.is_first) {
        ih_jpeg_blame(w, part.interval->image, IH_JPEG_FAULT_SHORT); /* no data at all */
    }
    __syncthreads();
    copy_out(sink, s_skipped, s_ac_to, s_first, s_end);
}

cudaError_t ih_jpeg_write_coefficients(const struct ih_jpeg_work &w)
{
    ih_jpeg_sum_kernel<<<1, IH_JPEG_SUM_THREADS, 0, w.stream>>>(w.starts.counts,
                                                                w.batch.n_subsequences + 1);
    write_kernel<<<w.batch.n_thread_blocks * IH_JPEG_PIECES, IH_JPEG_THREADS, 0, w.stream>>>(w);
    return cudaGetLastError();
}
