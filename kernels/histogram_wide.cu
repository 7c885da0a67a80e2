/*
 * Histograms of samples of 9 to 16 bits, with up to 65,536 bins.
 *
 * The idea. 65,536 counters of 32 bits do not fit into shared memory. Counters of 16 bits take
 * 128 KiB, two in a word, and a block of 1,024 threads has a multiprocessor to itself. The values v
 * and v + 32,768 share a word, so that neighbouring values are in different banks. The thread that
 * finds a counter at 0x8000 moves these to the totals. Should it take long, the threads that find
 * the counter at 0xc000 wait. A thread issues eight additions before it looks at what it found, so
 * that the additions of a thread do not wait for each other: 1,024 threads add at most 0x2000 more,
 * and no counter overflows.
 *
 * Two plans. Additions of a warp to one counter take turns. A warp looks closely at one of 16
 * groups of 256 samples. If a quarter of them has one of two values, it counts these two in
 * registers in the next groups, and adds them to the totals when it changes them. A part of a block
 * is contiguous, so that this choice is for neighbours.
 *
 * Up to 4,096 bins there are 32-bit counters in eight copies: no overflow, and few turns.
 *
 * Signed samples and floats. A warp makes the keys of its plane's samples just before it counts
 * them, in three instructions for two samples. -0 has a counter of its own, which joins that of 0
 * on its way to the totals.
 *
 * Several channels. A block counts one plane of a part. The blocks of a part run at the same time,
 * so that the L2 cache serves all reads but one. A batch has blocks for each of its images.
 *
 * NVIDIA H100 80GB HBM3, 2026-11-26, tests/bench/gpu_wide.sh, 768 MiB, share of read (3.11 TB/s):
 *
 *     data              random  smooth  12-bit noise  microscopy  constant  two values
 *     gray              0.83    0.86    0.93          0.81        0.96      0.89
 *     over CUB          17.8    16.0    17.7          14.5        5.9       16.1
 *     gray, 4,096 bins  0.96    0.96    0.96          0.96        0.97      0.97
 *     RGB               0.74    0.76    0.82          0.75        0.85      0.81
 *     RGB with luma     0.46    0.47    0.45          0.44        0.56      0.28
 *
 * The worst case is data whose 16th groups alone differ from one value: gray 0.16.
 *
 * Rejected: a cluster of blocks, one for each plane, that reads each pixel once and exchanges
 * samples through distributed shared memory (half as fast); groups of a block interleaved with
 * those of all others (a choice is then for pixels of the whole image); for microscopy: two
 * counters for each of the values below 8,192, for even and odd threads (0.81, 12-bit noise 0.87),
 * and 16 of 32 bits for the 512 values around a block's first (0.76); loads of consecutive
 * addresses, sorted with shuffles (RGB with luma 0.35).
 */
#include "device.cuh"
#include "keys.h"

enum {
    IH_WIDE_THREADS = 1024,
    IH_WIDE_WARPS = IH_WIDE_THREADS / IH_WARP,
    IH_WIDE_WORDS = IH_GPU_WIDE_BINS_MOST / 2, /* two packed counters each; or: */
    IH_WIDE_COPIES = 8,                        /* of 4,096 bins, and of one for larger samples */
    IH_WIDE_COPIED_BINS = IH_WIDE_WORDS / IH_WIDE_COPIES,
    IH_WIDE_TABLE_BYTES = (IH_WIDE_WORDS + IH_WIDE_COPIES) * 4,
    IH_WIDE_FULL = 0x8000,   /* of a packed counter */
    IH_WIDE_DANGER = 0xc000, /* at which threads wait until it has been emptied */
    /* Samples of a thread between two looks at old values, and pixels of a warp at a time. */
    IH_WIDE_EACH = 8,
    IH_WIDE_GROUP = IH_WARP * IH_WIDE_EACH,
    IH_WIDE_CHUNK = 16, /* groups between two choices of a plan */
    IH_WIDE_HOT = 64,   /* samples of a group that make its two values hot */
    IH_WIDE_NONE = 1 << 16,
    IH_WIDE_32 = 1 << 30,
    /* Groups of a block below which there are fewer blocks: the end of a block costs about as much
       as counting them. */
    IH_WIDE_BLOCK_GROUPS = 8 * IH_WIDE_WARPS,
};

enum { PACKED, COPIED, KEYED /* packed, of keys */ };

/* The kernel's argument. */
struct wide_job {
    const uint16_t *d_pixels;
    unsigned long long *d_bins, *d_clips;
    uint32_t *d_bins_32;
    int64_t image_stride, bins_stride, clips_stride;
    uint32_t n_pixels, n_groups, n_bins, n_planes;
    uint32_t parts;    /* blocks for each plane of an image */
    uint32_t inverted; /* of keys: for ih_key_pair */
    enum ih_gpu_samples samples;
    bool is_aligned, is_bgr, drops_luma;
    struct ih_gpu_measures measures;
};

extern __shared__ uint4 s_wide[];

static __device__ inline uint32_t *wide_table(void)
{
    return (uint32_t *)s_wide;
}

/* A plane of the totals. Its address is computed when it is needed, which is seldom: registers are
 * scarce. */
template <int TABLE> struct wide_plane {
    const struct wide_job &job;
    uint32_t index; /* in memory, then luma */
};

template <int TABLE> struct wide_totals {
    void *d_bins;
    uint32_t n_bins; /* plus IH_WIDE_32 for counters of 32 bits; of keys: job.inverted instead */
};

static __device__ inline uint32_t wide_image(const struct wide_job &job)
{
    return blockIdx.x / (job.n_planes * job.parts);
}

template <int TABLE>
static __device__ inline wide_totals<TABLE> wide_totals_of(const wide_plane<TABLE> &plane)
{
    const struct wide_job &job = plane.job;
    const uint32_t index = job.is_bgr && plane.index < 3 ? 2 - plane.index : plane.index;
    const uint32_t n_bins = job.drops_luma && index == job.n_planes - 1 ? 0 : job.n_bins;
    const int64_t at = wide_image(job) * job.bins_stride + (int64_t)index * job.n_bins;
    if (TABLE == KEYED)
        return {job.d_bins_32 + at, job.inverted};
    if (job.d_bins)
        return {job.d_bins + at, n_bins};
    return {job.d_bins_32 + at, n_bins | IH_WIDE_32};
}

template <int TABLE>
static __device__ inline void wide_add(const wide_totals<TABLE> &to, uint32_t value, uint32_t count)
{
    if (TABLE == KEYED && count > 0)
        atomicAdd((uint32_t *)to.d_bins + ih_key_bin(value, to.n_bins), count);
    if (TABLE == KEYED || count == 0 || value >= (to.n_bins & ~IH_WIDE_32))
        return;
    if (to.n_bins & IH_WIDE_32)
        atomicAdd((uint32_t *)to.d_bins + value, count);
    else
        atomicAdd((unsigned long long *)to.d_bins + value, (unsigned long long)count);
}

/* ---- counting in shared memory ---- */

/* Eight samples of a thread, two in a word. */
struct wide_samples {
    uint32_t word[IH_WIDE_EACH / 2];
};

static __device__ inline uint32_t wide_sample(const struct wide_samples &x, int i)
{
    return i % 2 == 0 ? x.word[i / 2] & 0xffff : x.word[i / 2] >> 16;
}

static __device__ inline uint32_t wide_shift(uint32_t value)
{
    return value / IH_WIDE_WORDS * 16;
}

struct wide_olds {
    uint32_t word[IH_WIDE_EACH];
};

/*
 * Called with the old words of eight additions, some of a full counter. The one thread that has
 * found a counter exactly full moves IH_WIDE_FULL to the totals. It does so before it waits for
 * another, so every wait ends.
 */
template <int TABLE>
static __device__ __noinline__ void wide_settle(struct wide_samples x, struct wide_olds olds,
                                                wide_totals<TABLE> to)
{
    const uint32_t *old = olds.word;
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++) {
        const uint32_t value = wide_sample(x, i), shift = wide_shift(value);
        if ((old[i] >> shift & 0xffff) == IH_WIDE_FULL) {
            atomicSub(&wide_table()[value % IH_WIDE_WORDS], (uint32_t)IH_WIDE_FULL << shift);
            wide_add(to, value, IH_WIDE_FULL);
        }
    }
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++) {
        const uint32_t value = wide_sample(x, i), shift = wide_shift(value);
        if ((old[i] >> shift & 0xffff) >= IH_WIDE_DANGER)
            while ((atomicOr(&wide_table()[value % IH_WIDE_WORDS], 0) >> shift & 0xffff) >=
                   IH_WIDE_DANGER)
                ;
    }
}

/* The two values that a warp counts in registers, and whether it does so at present. */
struct wide_hot {
    uint32_t value[2], count[2]; /* count: of this thread */
    uint32_t left;               /* groups until the next choice */
    bool is_on;
};

/* Adds sample i to its packed counter if is_on, and returns the word before. Without a branch, so
 * that eight additions are under way, and in few instructions: a dot product computes the address,
 * and the sample's highest bit, copied into 16 bits, is one less than what is added. */
static __device__ inline uint32_t wide_add_if(bool is_on, const struct wide_samples &x, int i)
{
    const bool is_low = i % 2 == 0;
    const uint32_t pair = x.word[i / 2];
    const uint32_t s_word = __dp2a_lo(pair & (IH_WIDE_WORDS - 1) * 0x10001u, is_low ? 4u : 4u << 8,
                                      (uint32_t)__cvta_generic_to_shared(wide_table()));
    uint32_t high, old = 0;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(high) : "r"(pair), "r"(is_low ? 0x4499 : 0x44bb));
    asm volatile("{ .reg .pred p;\n"
                 "setp.ne.u32 p, %1, 0;\n"
                 "@p atom.shared.add.u32 %0, [%2], %3; }"
                 : "+r"(old)
                 : "r"((uint32_t)is_on), "r"(s_word), "r"(high + 1)
                 : "memory");
    return old;
}

/* Counts eight samples. All additions are issued before any old value is looked at. */
template <bool HAS_HOT, int TABLE>
static __device__ inline void wide_count_packed(const struct wide_samples &x, struct wide_hot *hot,
                                                const wide_plane<TABLE> &plane)
{
    struct wide_olds olds;
    uint32_t all = 0;
    if (HAS_HOT) {
        const uint32_t both = hot->value[0] * 0x10001u;
        const uint32_t differ =
            (x.word[0] ^ both) | (x.word[1] ^ both) | (x.word[2] ^ both) | (x.word[3] ^ both);
        if (__all_sync(0xffffffffu, differ == 0)) {
            hot->count[0] += IH_WIDE_EACH;
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++) {
        if (HAS_HOT) {
            const uint32_t value = wide_sample(x, i);
            const bool is_0 = value == hot->value[0], is_1 = value == hot->value[1];
            hot->count[0] += is_0;
            hot->count[1] += is_1;
            olds.word[i] = wide_add_if(!is_0 && !is_1, x, i);
        } else {
            olds.word[i] = wide_add_if(true, x, i);
        }
    }
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++)
        all |= olds.word[i];
    if (all & (IH_WIDE_FULL * 0x10001u))
        wide_settle(x, olds, wide_totals_of(plane));
}

/* Counts eight samples, larger ones in the last bin. */
static __device__ inline void wide_count_copied(struct wide_samples x)
{
    uint32_t *s_copy = wide_table() + threadIdx.x % IH_WIDE_COPIES;
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH / 2; i++)
        x.word[i] = __vminu2(x.word[i], IH_WIDE_COPIED_BINS * 0x10001u);
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++)
        atomicAdd(&s_copy[wide_sample(x, i) * IH_WIDE_COPIES], 1);
}

/* How many of a warp's samples have one of two values. */
static __device__ inline uint32_t wide_hits(const struct wide_samples &x, uint32_t a, uint32_t b)
{
    uint32_t n = 0;
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++)
        n += wide_sample(x, i) == a || wide_sample(x, i) == b;
    return __shfl_sync(0xffffffffu, ih_warp_sum(n), 0);
}

template <int TABLE>
static __device__ inline void wide_hot_end(struct wide_hot *hot, const wide_plane<TABLE> &plane)
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const uint32_t sum = ih_warp_sum(hot->count[k]);
        if (threadIdx.x % IH_WARP == 0)
            wide_add(wide_totals_of(plane), hot->value[k], sum);
        hot->count[k] = 0;
    }
}

/* Chooses the plan of a warp's next groups by the first of them. Hot values that are still frequent
 * stay. */
template <int TABLE>
static __device__ inline void wide_choose(const struct wide_samples &x, struct wide_hot *hot,
                                          const wide_plane<TABLE> &plane)
{
    if (hot->is_on && wide_hits(x, hot->value[0], hot->value[1]) >= IH_WIDE_HOT)
        return;
    const uint32_t first = __shfl_sync(0xffffffffu, wide_sample(x, 0), 0);
    uint32_t other = IH_WIDE_NONE;
#pragma unroll
    for (int i = IH_WIDE_EACH - 1; i >= 0; i--)
        if (wide_sample(x, i) != first)
            other = wide_sample(x, i);
    const uint32_t others = __ballot_sync(0xffffffffu, other != IH_WIDE_NONE);
    const uint32_t second = __shfl_sync(0xffffffffu, other, others ? __ffs(others) - 1 : 0);
    hot->is_on = wide_hits(x, first, second) >= IH_WIDE_HOT;
    if (hot->is_on) {
        wide_hot_end(hot, plane);
        hot->value[0] = first;
        hot->value[1] = second;
    }
}

/* Counts a group of a warp. */
template <int TABLE>
static __device__ inline void wide_count(const struct wide_samples &x, struct wide_hot *hot,
                                         const wide_plane<TABLE> &plane)
{
    if (TABLE == COPIED)
        return wide_count_copied(x);
    if (hot->left == 0) {
        wide_choose(x, hot, plane);
        hot->left = IH_WIDE_CHUNK;
    }
    hot->left--;
    if (hot->is_on)
        wide_count_packed<true>(x, hot, plane);
    else
        wide_count_packed<false>(x, hot, plane);
}

static __device__ inline void wide_table_zero(void)
{
    for (int i = threadIdx.x; i < IH_WIDE_TABLE_BYTES / 16; i += IH_WIDE_THREADS)
        s_wide[i] = make_uint4(0, 0, 0, 0);
}

/* Adds the table to the totals. Blocks begin at different bins, so that they do not queue. */
template <int TABLE> static __device__ inline void wide_table_end(const wide_plane<TABLE> &plane)
{
    const wide_totals<TABLE> to = wide_totals_of(plane);
    const uint32_t begin = blockIdx.x * IH_WIDE_GROUP;
    if (TABLE != COPIED)
        for (uint32_t i = threadIdx.x; i < IH_WIDE_WORDS; i += IH_WIDE_THREADS) {
            const uint32_t value = (begin + i) % IH_WIDE_WORDS, word = wide_table()[value];
            wide_add(to, value, word & 0xffff);
            wide_add(to, value + IH_WIDE_WORDS, word >> 16);
        }
    else
        for (uint32_t i = threadIdx.x; i < IH_WIDE_COPIED_BINS; i += IH_WIDE_THREADS) {
            const uint32_t value = (begin + i) % IH_WIDE_COPIED_BINS;
            const uint4 a = s_wide[value * 2], b = s_wide[value * 2 + 1];
            wide_add(to, value, a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w);
        }
}

/* ---- pixels ---- */

/* Eight pixels of a thread as they are in memory. */
template <int CHANNELS> union wide_pixels {
    uint4 load[CHANNELS];
    uint32_t word[CHANNELS * 4];
};

/* Loads this thread's part of a group. */
template <int CHANNELS>
static __device__ inline void wide_load(const struct wide_job &job, const uint16_t *d_image,
                                        uint32_t group, union wide_pixels<CHANNELS> *out)
{
    const size_t pixel = (size_t)group * IH_WIDE_GROUP + threadIdx.x % IH_WARP * IH_WIDE_EACH;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const uint16_t *d_from = d_image + pixel * CHANNELS + c * 8;
        if (job.is_aligned)
            out->load[c] = *(const uint4 *)d_from;
        else
#pragma unroll
            for (int k = 0; k < 4; k++)
                out->word[c * 4 + k] = d_from[2 * k] | (uint32_t)d_from[2 * k + 1] << 16;
    }
}

/* Sorts eight pixels by channel. */
template <int CHANNELS>
static __device__ inline void wide_sort(const union wide_pixels<CHANNELS> &pixels,
                                        struct wide_samples (&out)[CHANNELS])
{
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int a = 2 * k * CHANNELS + c, b = a + CHANNELS;
            out[c].word[k] =
                __byte_perm(pixels.word[a / 2], pixels.word[b / 2],
                            (a % 2 == 0 ? 0x10 : 0x32) | (b % 2 == 0 ? 0x5400 : 0x7600));
        }
}

static __device__ inline void wide_keys(const struct wide_job &job, struct wide_samples *x)
{
#pragma unroll
    for (int k = 0; k < IH_WIDE_EACH / 2; k++)
        x->word[k] = ih_key_pair(x->word[k], job.inverted);
}

/* Adds eight pixels to the thread's joint clip counts. Two pixels are compared at a time. */
template <int CHANNELS>
static __device__ inline void wide_clips(const struct wide_job &job,
                                         const struct wide_samples (&x)[CHANNELS],
                                         uint32_t (&clip)[IH_CLIP_COUNTS])
{
    struct wide_samples least, most;
    uint32_t lowest = UINT32_MAX, highest = 0;
#pragma unroll
    for (int k = 0; k < IH_WIDE_EACH / 2; k++) {
        const uint32_t r = x[0].word[k], g = x[1 % CHANNELS].word[k], b = x[2 % CHANNELS].word[k];
        least.word[k] = __vminu2(r, __vminu2(g, b));
        most.word[k] = __vmaxu2(r, __vmaxu2(g, b));
        lowest = __vminu2(lowest, least.word[k]);
        highest = __vmaxu2(highest, most.word[k]);
    }
    const uint32_t low = job.measures.clip_low, high = job.measures.clip_high;
    if (min(lowest & 0xffff, lowest >> 16) > low && max(highest & 0xffff, highest >> 16) < high)
        return; /* none is clipped in any channel */
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++) {
        clip[0] += wide_sample(least, i) <= low;
        clip[1] += wide_sample(most, i) >= high;
        clip[2] += wide_sample(most, i) <= low;
        clip[3] += wide_sample(least, i) >= high;
    }
}

template <int CHANNELS>
static __device__ inline struct wide_samples wide_luma(const struct wide_job &job,
                                                       const struct wide_samples (&x)[CHANNELS])
{
    struct wide_samples out = {};
#pragma unroll
    for (int i = 0; i < IH_WIDE_EACH; i++)
        out.word[i / 2] |= ih_luma(job.measures, wide_sample(x[0], i),
                                   wide_sample(x[1 % CHANNELS], i), wide_sample(x[2 % CHANNELS], i))
                           << i % 2 * 16;
    return out;
}

template <int TABLE>
static __device__ inline uint32_t wide_key(const struct wide_job &job, uint32_t sample)
{
    return TABLE == KEYED ? ih_key_pair(sample, job.inverted) & 0xffff : sample;
}

/* Counts a plane of the pixels after the last group, at most one a thread. */
template <int CHANNELS, int TABLE>
static __device__ inline void wide_count_tail(const wide_plane<TABLE> &plane,
                                              uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const struct wide_job &job = plane.job;
    const size_t pixel = (size_t)job.n_groups * IH_WIDE_GROUP + threadIdx.x;
    const uint16_t *d_pixel = job.d_pixels + wide_image(job) * job.image_stride + pixel * CHANNELS;
    if (pixel >= job.n_pixels)
        return;
    if (plane.index < CHANNELS)
        return wide_add(wide_totals_of(plane), wide_key<TABLE>(job, d_pixel[plane.index]), 1);
    const uint32_t r = wide_key<TABLE>(job, d_pixel[0]), g = wide_key<TABLE>(job, d_pixel[1]),
                   b = wide_key<TABLE>(job, d_pixel[2]);
    wide_add(wide_totals_of(plane), ih_luma(job.measures, r, g, b), 1);
    ih_clip_pixel(job.measures, r, g, b, clip);
}

/* Adds a block's joint clip counts to the totals. All threads call it. */
static __device__ inline void wide_clips_end(unsigned long long *d_clips,
                                             const uint32_t (&clip)[IH_CLIP_COUNTS])
{
    __shared__ unsigned long long s_clips[IH_CLIP_COUNTS];
    if (threadIdx.x < IH_CLIP_COUNTS)
        s_clips[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < IH_CLIP_COUNTS; i++) {
        const uint32_t sum = ih_warp_sum(clip[i]);
        if (threadIdx.x % IH_WARP == 0)
            atomicAdd(&s_clips[i], sum);
    }
    __syncthreads();
    if (threadIdx.x < IH_CLIP_COUNTS)
        ih_add(&d_clips[threadIdx.x], s_clips[threadIdx.x]);
}

template <int CHANNELS, bool HAS_LUMA, int TABLE>
__global__ void __launch_bounds__(IH_WIDE_THREADS, 1)
    ih_histogram_wide_kernel(const struct wide_job job)
{
    constexpr uint32_t PLANES = CHANNELS + HAS_LUMA;
    constexpr uint32_t AHEAD = CHANNELS == 1 ? 2 : 1; /* groups of a warp that are loaded ahead */
    const uint32_t plane = blockIdx.x % PLANES, part = blockIdx.x / PLANES % job.parts;
    const wide_plane<TABLE> to = {job, plane};
    const uint16_t *d_image = job.d_pixels + wide_image(job) * job.image_stride;
    /* A part is contiguous, so that a warp's choice of a plan is for neighbours. */
    const uint32_t end = (uint32_t)((uint64_t)job.n_groups * (part + 1) / job.parts);
    const uint32_t stride = IH_WIDE_WARPS;
    uint32_t clip[IH_CLIP_COUNTS] = {};
    struct wide_hot hot = {{IH_WIDE_NONE, IH_WIDE_NONE}, {0, 0}, 0, false};
    union wide_pixels<CHANNELS> next[AHEAD];

    uint32_t group = (uint32_t)((uint64_t)job.n_groups * part / job.parts) + threadIdx.x / IH_WARP;
#pragma unroll
    for (uint32_t k = 0; k < AHEAD; k++)
        if (group + k * stride < end)
            wide_load<CHANNELS>(job, d_image, group + k * stride, &next[k]);
    wide_table_zero();
    __syncthreads();

    for (; group < end; group += AHEAD * stride)
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++) {
            const uint32_t loaded = group + k * stride, ahead = loaded + AHEAD * stride;
            if (loaded >= end)
                break;
            struct wide_samples planes[CHANNELS], x;
            wide_sort<CHANNELS>(next[k], planes);
            if (ahead < end)
                wide_load<CHANNELS>(job, d_image, ahead, &next[k]);
            x = planes[0];
#pragma unroll
            for (int c = 1; c < CHANNELS; c++)
                if (c == plane)
                    x = planes[c];
            if (HAS_LUMA && plane == CHANNELS) {
#pragma unroll
                for (int c = 0; c < CHANNELS && TABLE == KEYED; c++)
                    wide_keys(job, &planes[c]);
                x = wide_luma<CHANNELS>(job, planes);
                if (TABLE != KEYED)
                    wide_clips<CHANNELS>(job, planes, clip);
            } else if (TABLE == KEYED) {
                wide_keys(job, &x);
            }
            wide_count<TABLE>(x, &hot, to);
        }

    if (part == 0)
        wide_count_tail<CHANNELS, TABLE>(to, clip);
    wide_hot_end(&hot, to);
    __syncthreads();
    wide_table_end<TABLE>(to);
    if (HAS_LUMA && plane == CHANNELS && job.d_clips)
        wide_clips_end(job.d_clips + wide_image(job) * job.clips_stride, clip);
}

/* The sum of a warp, in its first thread. */
static __device__ inline unsigned long long wide_warp_sum(unsigned long long n)
{
    for (int i = IH_WARP / 2; i > 0; i /= 2)
        n += __shfl_down_sync(0xffffffffu, n, i);
    return n;
}

/* A block sums a plane. The first of gray gives the clip counts, too: samples that are in no bin
 * reach the high limit. Keys of signed samples are 0x8000 above them. */
static __global__ void ih_wide_sums_kernel(const struct wide_job job, uint32_t n_planes,
                                           unsigned long long *d_sums)
{
    const uint32_t image = blockIdx.x / n_planes, plane = blockIdx.x % n_planes;
    const uint32_t *d_bins = job.d_bins_32 + image * job.bins_stride + (size_t)plane * job.n_bins;
    const unsigned long long bias = job.samples == IH_GPU_SIGNED ? 0x8000 : 0;
    unsigned long long sum = 0, low = 0, below_high = 0;
    d_sums += image * job.clips_stride;
    for (uint32_t v = threadIdx.x; v < job.n_bins; v += blockDim.x) {
        const unsigned long long n = d_bins[v];
        sum += (v - bias) * n;
        low += v <= job.measures.clip_low ? n : 0;
        below_high += v < job.measures.clip_high ? n : 0;
    }
    sum = wide_warp_sum(sum);
    low = wide_warp_sum(low);
    below_high = wide_warp_sum(below_high);
    if (threadIdx.x % IH_WARP != 0)
        return;
    atomicAdd(&d_sums[plane], sum);
    if (n_planes >= 3 || plane > 0 || job.samples != IH_GPU_UNSIGNED)
        return;
    const unsigned long long high = (threadIdx.x == 0 ? job.n_pixels : 0) - below_high;
    for (uint32_t i = 0; i < IH_CLIP_COUNTS; i++)
        atomicAdd(&d_sums[n_planes + i], i % 2 == 0 ? low : high);
}

/* ---- launching ---- */

template <int CHANNELS, bool HAS_LUMA, int TABLE>
static cudaError_t wide_launch(const struct ih_gpu_wide_args *args, struct wide_job job)
{
    constexpr uint32_t PLANES = CHANNELS + HAS_LUMA;
    const auto kernel = ih_histogram_wide_kernel<CHANNELS, HAS_LUMA, TABLE>;
    const uint32_t n_free = (uint32_t)args->gpu->n_multiprocessors / PLANES / args->n_images;
    const uint32_t n_needed = job.n_groups / IH_WIDE_BLOCK_GROUPS + 1;
    job.parts = n_needed < n_free ? n_needed : n_free > 1 ? n_free : 1;
    const cudaError_t e = cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, IH_WIDE_TABLE_BYTES);
    if (e != cudaSuccess)
        return e;
    kernel<<<PLANES * job.parts * args->n_images, IH_WIDE_THREADS, IH_WIDE_TABLE_BYTES,
             args->stream>>>(job);
    return cudaGetLastError();
}

template <int TABLE>
static cudaError_t wide_launch_channels(const struct ih_gpu_wide_args *args,
                                        const struct wide_job &job)
{
    switch (args->n_channels) {
    case 1:
        return wide_launch<1, false, TABLE>(args, job);
    case 2:
        return wide_launch<2, false, TABLE>(args, job);
    case 3:
        return args->has_luma ? wide_launch<3, true, TABLE>(args, job)
                              : wide_launch<3, false, TABLE>(args, job);
    default:
        return args->has_luma ? wide_launch<4, true, TABLE>(args, job)
                              : wide_launch<4, false, TABLE>(args, job);
    }
}

static struct wide_job wide_job_make(const struct ih_gpu_wide_args *args)
{
    struct wide_job job = {};
    job.d_pixels = args->d_pixels;
    job.d_bins = args->d_bins;
    job.d_bins_32 = args->d_bins_32;
    job.d_clips = args->d_clips;
    job.image_stride = args->image_stride;
    job.bins_stride = args->bins_stride;
    job.clips_stride = args->clips_stride;
    job.n_pixels = (uint32_t)args->n_pixels;
    job.n_groups = job.n_pixels / IH_WIDE_GROUP;
    job.n_bins = args->n_bins;
    job.is_aligned = (uintptr_t)args->d_pixels % sizeof(uint4) == 0 &&
                     (args->n_images == 1 || args->image_stride % 8 == 0);
    job.n_planes = args->n_channels + (args->has_luma != 0);
    job.samples = args->samples;
    job.inverted = args->samples == IH_GPU_FLOAT ? IH_KEYS_FLOAT : IH_KEYS_SIGNED;
    job.is_bgr = args->is_bgr;
    job.drops_luma = args->drops_luma;
    job.measures = args->measures;
    if (args->is_bgr) {
        job.measures.luma_red = args->measures.luma_blue;
        job.measures.luma_blue = args->measures.luma_red;
    }
    return job;
}

extern "C" cudaError_t ih_wide_sums(const struct ih_gpu_wide_args *args, unsigned n_planes,
                                    unsigned long long *d_sums)
{
    if (!args->d_bins_32 || n_planes < 1)
        return cudaErrorInvalidValue;
    ih_wide_sums_kernel<<<args->n_images * n_planes, IH_WIDE_THREADS, 0, args->stream>>>(
        wide_job_make(args), n_planes, d_sums);
    return cudaGetLastError();
}

extern "C" cudaError_t ih_histogram_wide(const struct ih_gpu_wide_args *args)
{
    const struct ih_gpu_measures *m = &args->measures;
    if (args->n_channels < 1 || args->n_channels > IH_GPU_CHANNELS_MAX ||
        args->n_pixels > UINT32_MAX || args->n_bins < 1 || args->n_bins > IH_GPU_WIDE_BINS_MOST ||
        args->n_images < 1 || args->n_images > IH_GPU_BATCH_MOST ||
        !args->d_bins == !args->d_bins_32 || (uintptr_t)args->d_pixels % 2 != 0 ||
        (args->samples != IH_GPU_UNSIGNED &&
         (args->n_bins != IH_GPU_WIDE_BINS_MOST || !args->d_bins_32)))
        return cudaErrorInvalidValue;
    if (args->has_luma && (args->n_channels < 3 || (!args->d_clips && args->d_bins) ||
                           (m->luma_red | m->luma_green | m->luma_blue) > UINT16_MAX ||
                           m->clip_low >= m->clip_high || m->clip_high > UINT16_MAX))
        return cudaErrorInvalidValue;
    if (args->gpu->shared_bytes_optin < IH_GPU_WIDE_SHARED_BYTES)
        return cudaErrorNotSupported;
    if (args->n_pixels == 0)
        return cudaSuccess;
    const struct wide_job job = wide_job_make(args);
    if (args->samples != IH_GPU_UNSIGNED)
        return wide_launch_channels<KEYED>(args, job);
    return args->n_bins <= IH_WIDE_COPIED_BINS ? wide_launch_channels<COPIED>(args, job)
                                               : wide_launch_channels<PACKED>(args, job);
}
