/*
 * Step 1: the data of each interval without the zeros that JPEG stuffs after bytes of 255.
 *
 * A thread takes 16 bytes and the byte before them. A zero after a 255 is dropped; any other byte
 * there is a marker, and the first one ends the interval. One kernel counts the zeros of each
 * chunk, a prefix sum says how many come before it, and a second kernel moves the bytes, through
 * shared memory, so that stores are coalesced.
 *
 * Rejected: decoding the stuffed bytes. The reader of decode.h would have to look at every word,
 * and in two of five loads one of a warp's 32 threads would take the slow way.
 */
#include "parts.cuh"

enum { THREAD_BYTES = 16, THREADS = IH_JPEG_CHUNK_BYTES / THREAD_BYTES, NO_MARKER = THREAD_BYTES };
enum { EOI = 0xd9 };

/* 16 bytes of an interval, from any address. */
struct sixteen {
    uint32_t words[4];
    uint32_t before; /* the byte before them; 0: they are the first */
};

static __device__ inline struct sixteen load_sixteen(const uint8_t *bytes, bool is_first)
{
    struct sixteen s;
    const uint32_t *words = (const uint32_t *)((uintptr_t)bytes & ~(uintptr_t)3);
    const uint32_t shift = (uintptr_t)bytes % 4 * 8;
    uint32_t word = words[0];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t next = words[i + 1];
        s.words[i] = __funnelshift_r(word, next, shift);
        word = next;
    }
    s.before = is_first ? 0 : bytes[-1];
    return s;
}

static __device__ inline uint32_t byte_of(const struct sixteen &s, int i)
{
    return s.words[i / 4] >> i % 4 * 8 & 0xff;
}

/* A set of the bytes that are stuffed zeros. *marker: the first byte that makes the 255 before it a
 * marker; NO_MARKER: none. */
static __device__ inline uint32_t stuffed_bytes(const struct sixteen &s, uint32_t *marker)
{
    uint32_t set = 0, before = s.before;
    *marker = NO_MARKER;
#pragma unroll
    for (int i = 0; i < THREAD_BYTES; i++) {
        const uint32_t byte = byte_of(s, i);
        if (before == 0xff && byte == 0)
            set |= 1u << i;
        else if (before == 0xff && *marker == NO_MARKER)
            *marker = i;
        before = byte;
    }
    return set;
}

/* The interval of a chunk. */
static __device__ inline uint32_t interval_of(const struct ih_jpeg_work &w, uint32_t chunk)
{
    return ih_jpeg_find(w.batch.intervals, w.batch.n_intervals, &ih_gpu_jpeg_interval::first_chunk,
                        chunk);
}

static __global__ void __launch_bounds__(THREADS) begin_kernel(const struct ih_jpeg_work w)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < w.batch.n_intervals) {
        w.n_bytes[i] = w.batch.intervals[i].n_bytes;
        w.n_bits[i] = 0;
    }
    if (i < w.batch.n_images)
        w.d_verdicts[i] = {0, 0};
}

static __global__ void __launch_bounds__(THREADS) count_kernel(const struct ih_jpeg_work w)
{
    __shared__ uint32_t s_sum;
    const uint32_t i = interval_of(w, blockIdx.x);
    const struct ih_gpu_jpeg_interval &interval = w.batch.intervals[i];
    const uint32_t at =
        (blockIdx.x - interval.first_chunk) * IH_JPEG_CHUNK_BYTES + threadIdx.x * THREAD_BYTES;
    uint32_t n = 0;
    if (at < interval.n_bytes) {
        uint32_t marker;
        n = __popc(
            stuffed_bytes(load_sixteen(w.d_files + interval.file_offset + at, at == 0), &marker));
        if (marker != NO_MARKER && at + marker < interval.n_bytes)
            atomicMin(&w.n_bytes[i], at + marker - 1);
    }
    if (threadIdx.x == 0)
        s_sum = 0;
    __syncthreads();
    for (int step = 16; step > 0; step /= 2)
        n += __shfl_down_sync(~0u, n, step);
    if (threadIdx.x % 32 == 0 && n)
        atomicAdd(&s_sum, n);
    __syncthreads();
    if (threadIdx.x == 0)
        w.n_stuffed[blockIdx.x] = s_sum;
}

static __global__ void __launch_bounds__(THREADS) move_kernel(const struct ih_jpeg_work w)
{
    __shared__ uint32_t s_sums[THREADS / 32];
    __shared__ uint8_t s_bytes[IH_JPEG_CHUNK_BYTES];
    const uint32_t i = interval_of(w, blockIdx.x);
    const struct ih_gpu_jpeg_interval &interval = w.batch.intervals[i];
    const uint32_t chunk_at = (blockIdx.x - interval.first_chunk) * IH_JPEG_CHUNK_BYTES;
    const uint32_t at = chunk_at + threadIdx.x * THREAD_BYTES, end = w.n_bytes[i];
    struct sixteen s;
    uint32_t kept = 0, n_kept;
    if (at < end) {
        uint32_t marker;
        s = load_sixteen(w.d_files + interval.file_offset + at, at == 0);
        kept = ~stuffed_bytes(s, &marker) &
               (end - at < THREAD_BYTES ? (1u << (end - at)) - 1 : (1u << THREAD_BYTES) - 1);
    }
    uint32_t place = ih_jpeg_sum_before<THREADS>((uint32_t)__popc(kept), s_sums, &n_kept);
    if (kept == (1u << THREAD_BYTES) - 1 && place % 4 == 0) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            ((uint32_t *)(s_bytes + place))[k] = s.words[k];
    } else if (kept) {
#pragma unroll
        for (int k = 0; k < THREAD_BYTES; k++)
            if (kept >> k & 1)
                s_bytes[place++] = (uint8_t)byte_of(s, k);
    }
    __syncthreads();
    const uint32_t n_before = w.n_stuffed[blockIdx.x] - w.n_stuffed[interval.first_chunk];
    uint8_t *to = w.bits + interval.bits_offset + (chunk_at - n_before);
    for (uint32_t k = threadIdx.x; k < n_kept; k += THREADS)
        to[k] = s_bytes[k];
    if (threadIdx.x == 0 && chunk_at < end && end <= chunk_at + IH_JPEG_CHUNK_BYTES)
        w.n_bits[i] = (chunk_at - n_before + n_kept) * 8;
    if (threadIdx.x == 0 && interval.is_last && blockIdx.x == interval.first_chunk) {
        w.d_verdicts[interval.image].end_offset = interval.file_offset + end;
        if (end + 2 > interval.n_bytes || w.d_files[interval.file_offset + end + 1] != EOI)
            ih_jpeg_blame(w, interval.image, IH_JPEG_FAULT_MARKER);
    }
}

cudaError_t ih_jpeg_unstuff(const struct ih_jpeg_work &w)
{
    const uint32_t n = max(w.batch.n_intervals, w.batch.n_images);
    begin_kernel<<<(n + THREADS - 1) / THREADS, THREADS, 0, w.stream>>>(w);
    count_kernel<<<w.batch.n_chunks, THREADS, 0, w.stream>>>(w);
    ih_jpeg_sum_kernel<<<1, IH_JPEG_SUM_THREADS, 0, w.stream>>>(w.n_stuffed, w.batch.n_chunks);
    move_kernel<<<w.batch.n_chunks, THREADS, 0, w.stream>>>(w);
    return cudaGetLastError();
}
