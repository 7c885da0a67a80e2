/*
 * Step 2: where each subsequence of 256 bytes begins, and how much it decodes to.
 *
 * A thread decodes a subsequence as if a block began at its first bit. The first of an interval is
 * right. Every other is decoded again from the state in which the one before it ended, until no
 * state changes: almost always once or twice, and each time only up to the first record where the
 * decoder agrees with the last time. A thread block does this for its 128 subsequences in shared
 * memory; then one thread for each boundary between thread blocks goes on from it, FIX_ROUNDS
 * times, because a change may reach the end of the next thread block.
 *
 * Its limit is the issue of instructions. Flat data of more than about 100 KB, with codes of a bit
 * or two for a block, does not synchronise in these rounds: write.cu sees it, and the file goes to
 * the CPU. A file takes 5 ms at most: 128 rounds of 15 us, and 128 subsequences at a boundary.
 *
 * Tried: subsequences of 1,024 bits 5 % slower, of 4,096 bits 10 %. Remembering the starts that a
 * subsequence was decoded from: faster on flat images, 200 lines, and 130 bytes for 256 of data.
 */
#include "parts.cuh"

enum { FIX_ROUNDS = 3 };

/* Threads on a multiprocessor, for which the compiler keeps registers; capability 7.5 has fewer. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define RESIDENT_THREADS 1024
#else
#define RESIDENT_THREADS 1536
#endif

static __global__ void __launch_bounds__(IH_JPEG_THREADS) tables_kernel(const struct ih_jpeg_work w)
{
    __shared__ struct ih_jpeg_limits s_limits[IH_JPEG_CODES];
    const uint32_t which = threadIdx.x / 32;
    struct ih_jpeg_tables *t = &w.tables[blockIdx.x];
    ih_jpeg_make_table(&w.batch.codes[blockIdx.x].of[which], which < 2, &s_limits[which],
                       t->entries[which], &t->long_codes[which]);
}

static __global__ void __launch_bounds__(IH_JPEG_THREADS, RESIDENT_THREADS / IH_JPEG_THREADS)
    synchronise_kernel(const struct ih_jpeg_work w)
{
    __shared__ __align__(16) struct ih_jpeg_tables s_tables;
    __shared__ struct ih_jpeg_record s_records[IH_JPEG_PIECES][IH_JPEG_THREADS];
    __shared__ uint32_t s_exits[IH_JPEG_THREADS];
    const struct ih_gpu_jpeg_group group = ih_jpeg_group_of(w, blockIdx.x);
    const uint32_t t = threadIdx.x;
    const uint32_t i = (blockIdx.x - group.first_thread_block) * IH_JPEG_THREADS + t;
    const uint32_t subsequence = group.first_subsequence + i;
    const bool is_one = i < group.n_subsequences;
    struct ih_jpeg_part part;
    struct ih_jpeg_pass pass = {0, 0, 0};
    struct ih_jpeg_record *records = &s_records[0][t];
    part.n_bits = part.is_first = 0;
    ih_jpeg_copy_tables(&s_tables, &w.tables[group.codes], IH_JPEG_THREADS);
    if (is_one) {
        const uint32_t interval =
            ih_jpeg_find(w.batch.intervals, w.batch.n_intervals,
                         &ih_gpu_jpeg_interval::first_subsequence, subsequence);
        w.interval_of[subsequence] = interval;
        part = ih_jpeg_part_of(&w.batch, w.bits, w.n_bits, subsequence, interval);
    }
    __syncthreads();
    if (part.n_bits)
        ih_jpeg_synchronise(&part, &s_tables, 0, records, IH_JPEG_THREADS, &pass);
    s_exits[t] = pass.exit;
    __syncthreads();
    const bool has_one_before = t > 0 && part.n_bits && !part.is_first;
    for (int round = 0; round < IH_JPEG_THREADS; round++) {
        const uint32_t start = has_one_before ? s_exits[t - 1] : pass.start;
        const bool is_changed = start != pass.start;
        if (!__syncthreads_or(is_changed))
            break;
        if (is_changed) {
            pass.start = start;
            ih_jpeg_synchronise(&part, &s_tables, 1, records, IH_JPEG_THREADS, &pass);
            s_exits[t] = pass.exit;
        }
        __syncthreads();
    }
    if (!is_one)
        return;
    w.starts.passes[subsequence] = pass;
    w.starts.counts[subsequence] = ih_jpeg_widen(pass.counts);
    for (int k = 0; k < IH_JPEG_PIECES; k++)
        w.starts.records[subsequence * IH_JPEG_PIECES + k] = s_records[k][t];
}

/* One thread for each thread block of synchronise_kernel, from its first subsequence on. */
static __global__ void __launch_bounds__(64) fix_kernel(const struct ih_jpeg_work w)
{
    const uint32_t thread_block = blockIdx.x * 64 + threadIdx.x;
    if (thread_block >= w.batch.n_thread_blocks)
        return;
    const struct ih_gpu_jpeg_group group = ih_jpeg_group_of(w, thread_block);
    const uint32_t first = (thread_block - group.first_thread_block) * IH_JPEG_THREADS;
    const uint32_t n = min(group.n_subsequences - first, (uint32_t)IH_JPEG_THREADS);
    uint32_t subsequence = group.first_subsequence + first;
    for (uint32_t k = 0; first > 0 && k < n; k++, subsequence++) {
        const struct ih_jpeg_part part =
            ih_jpeg_part_of(&w.batch, w.bits, w.n_bits, subsequence, w.interval_of[subsequence]);
        volatile const uint32_t *exit_before = &w.starts.passes[subsequence - 1].exit;
        struct ih_jpeg_pass pass = w.starts.passes[subsequence];
        const uint32_t start = *exit_before, exit = pass.exit;
        if (part.is_first || part.n_bits == 0 || start == pass.start)
            return;
        pass.start = start;
        ih_jpeg_synchronise(&part, &w.tables[group.codes], 1,
                            &w.starts.records[subsequence * IH_JPEG_PIECES], 1, &pass);
        w.starts.passes[subsequence].start = start;
        w.starts.passes[subsequence].counts = pass.counts;
        w.starts.counts[subsequence] = ih_jpeg_widen(pass.counts);
        *(volatile uint32_t *)&w.starts.passes[subsequence].exit = pass.exit;
        if (pass.exit == exit)
            return;
    }
}

cudaError_t ih_jpeg_find_starts(const struct ih_jpeg_work &w)
{
    static_assert(IH_JPEG_THREADS / 32 == IH_JPEG_CODES, "a warp makes a table");
    const uint32_t n = w.batch.n_thread_blocks;
    tables_kernel<<<w.batch.n_codes, IH_JPEG_THREADS, 0, w.stream>>>(w);
    synchronise_kernel<<<n, IH_JPEG_THREADS, 0, w.stream>>>(w);
    for (int round = 0; round < FIX_ROUNDS; round++)
        fix_kernel<<<(n + 63) / 64, 64, 0, w.stream>>>(w);
    return cudaGetLastError();
}
