/*
 * Shared by the histogram kernels: how a stripe is divided into aligned groups of pixels, the
 * arithmetic of one pixel, and the tree that reduces a block.
 *
 * A stripe may start at any byte. It is divided into a head that ends at a 16-byte boundary, groups
 * of a multiple of 16 pixels, which are whole 16-byte loads, and a tail. Head and tail are the
 * edge: each is shorter than 16 pixels or a group, and is read byte by byte. If no pixel starts at
 * a 16-byte boundary (2 or 4 channels at an odd address), all pixels are edge, which is slow but
 * correct, and never happens with memory from cudaMalloc.
 */
#ifndef IH_KERNELS_DEVICE_CUH
#define IH_KERNELS_DEVICE_CUH

#include "kernels.h"

enum {
    IH_WARP = 32,
    /* The fewest pixels that fill whole 16-byte loads with any number of channels. */
    IH_LOAD_PIXELS = 16,
    /* any_low, any_high, all_low, all_high, in the order of ih_gpu_totals. */
    IH_CLIP_COUNTS = 4,
};

/* The kernels' argument: the launcher's arguments, checked and divided into groups. */
struct ih_job {
    const uint8_t *d_pixels;
    const uint4 *d_groups; /* the first group; 16-byte aligned */
    uint32_t n_head;       /* pixels before it */
    uint32_t n_groups;     /* of group_pixels */
    uint32_t group_pixels; /* a multiple of IH_LOAD_PIXELS */
    uint32_t n_edge;       /* pixels in no group: n_head before them, the rest after */
    struct ih_gpu_measures measures;
    struct ih_gpu_totals *d_totals;
};

/* Fills in *job. Returns cudaErrorInvalidValue for arguments that kernels.h does not allow. */
static inline cudaError_t ih_job_make(const struct ih_gpu_histogram_args *args,
                                      uint32_t group_pixels, struct ih_job *job)
{
    const unsigned c = args->n_channels;
    const struct ih_gpu_measures *m = &args->measures;
    if (c < 1 || c > IH_GPU_CHANNELS_MAX || args->n_pixels > UINT32_MAX ||
        (m->luma_red | m->luma_green | m->luma_blue) > UINT16_MAX || m->clip_low >= m->clip_high ||
        m->clip_high > 255)
        return cudaErrorInvalidValue;

    const uint32_t n_pixels = (uint32_t)args->n_pixels;
    uint32_t n_head = 0;
    while (n_head < IH_LOAD_PIXELS && ((uintptr_t)args->d_pixels + n_head * c) % sizeof(uint4) != 0)
        n_head++;
    if (n_head == IH_LOAD_PIXELS || n_head > n_pixels)
        n_head = n_pixels;

    job->d_pixels = args->d_pixels;
    job->d_groups = (const uint4 *)(args->d_pixels + (size_t)n_head * c);
    job->n_head = n_head;
    job->n_groups = (n_pixels - n_head) / group_pixels;
    job->group_pixels = group_pixels;
    job->n_edge = n_pixels - job->n_groups * group_pixels;
    job->measures = *m;
    job->d_totals = args->d_totals;
    return cudaSuccess;
}

/* The number of planes: the channels, and luma if there is colour and luma is wanted. */
__host__ __device__ constexpr int ih_planes(int channels, bool has_luma = true)
{
    return channels >= 3 && has_luma ? channels + 1 : channels;
}

/* The index of a plane in ih_gpu_totals, where luma has a fixed place. */
__device__ constexpr int ih_totals_plane(int channels, int plane)
{
    return plane < channels ? plane : (int)IH_GPU_LUMA;
}

/* The first byte of the i-th edge pixel, i < job.n_edge. */
template <int CHANNELS>
__device__ inline const uint8_t *ih_edge_pixel(const struct ih_job &job, uint32_t i)
{
    const uint32_t pixel = i < job.n_head ? i : i + job.n_groups * job.group_pixels;
    return job.d_pixels + (size_t)pixel * CHANNELS;
}

__device__ inline uint32_t ih_luma(const struct ih_gpu_measures &m, uint32_t r, uint32_t g,
                                   uint32_t b)
{
    return (r * m.luma_red + g * m.luma_green + b * m.luma_blue + 32768) >> 16;
}

/* Adds one pixel to the thread's joint clip counts. */
__device__ inline void ih_clip_pixel(const struct ih_gpu_measures &m, uint32_t r, uint32_t g,
                                     uint32_t b, uint32_t (&clip)[IH_CLIP_COUNTS])
{
    const uint32_t least = min(r, min(g, b)), most = max(r, max(g, b));
    clip[0] += least <= m.clip_low;
    clip[1] += most >= m.clip_high;
    clip[2] += most <= m.clip_low;
    clip[3] += least >= m.clip_high;
}

/* The i-th joint clip count in *totals. */
__device__ inline unsigned long long *ih_clip_total(struct ih_gpu_totals *totals, int i)
{
    return i == 0   ? &totals->any_low
           : i == 1 ? &totals->any_high
           : i == 2 ? &totals->all_low
                    : &totals->all_high;
}

__device__ inline void ih_add(unsigned long long *d_sum, unsigned long long value)
{
    if (value)
        atomicAdd(d_sum, value);
}

/* The sum of a warp's values, valid in its thread 0: the first five levels of a block's tree. From
 * sm_80 on it is one instruction. */
__device__ inline uint32_t ih_warp_sum(uint32_t value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
    for (int width = IH_WARP / 2; width > 0; width /= 2)
        value += __shfl_down_sync(0xffffffffu, value, width);
    return value;
#endif
}

__device__ inline unsigned long long ih_warp_sum(unsigned long long value)
{
    for (int width = IH_WARP / 2; width > 0; width /= 2)
        value += __shfl_down_sync(0xffffffffu, value, width);
    return value;
}

/* The sum of value * count over a warp, valid in its thread 0, for values below 256. Halves of the
 * counts are summed apart, so that 32 bits hold every sum. */
__device__ inline unsigned long long ih_warp_weighted_sum(uint32_t value, uint32_t count)
{
    const uint32_t low = ih_warp_sum(value * (count & 0xffff));
    const uint32_t high = ih_warp_sum(value * (count >> 16));
    return low + ((unsigned long long)high << 16);
}

/* Partial sums of a block's warps, in shared memory. */
struct ih_partials {
    unsigned long long sum[IH_GPU_PLANES][IH_GPU_BINS / IH_WARP];
    uint32_t clip[IH_CLIP_COUNTS][IH_WARP];
};

/*
 * The last levels of the tree: each warp reduces the partials of one sum and adds it to the totals.
 * All threads of the block, THREADS, call it after s_partials is complete and synchronized.
 */
template <int CHANNELS, int THREADS, int PLANES>
__device__ inline void ih_partials_add(const struct ih_partials &s_partials,
                                       struct ih_gpu_totals *d_totals)
{
    constexpr int WARPS = THREADS / IH_WARP;
    constexpr int SLOTS = IH_GPU_BINS / IH_WARP;
    const int warp = threadIdx.x / IH_WARP, thread = threadIdx.x % IH_WARP;

    for (int i = warp; i < PLANES + (CHANNELS >= 3 ? IH_CLIP_COUNTS : 0); i += WARPS) {
        const int clip = i - PLANES;
        unsigned long long value = 0;
        if (clip < 0 && thread < SLOTS)
            value = s_partials.sum[i][thread];
        if (clip >= 0 && thread < WARPS)
            value = s_partials.clip[clip][thread];
        value = ih_warp_sum(value);
        if (thread == 0)
            ih_add(clip < 0 ? &d_totals->sum[ih_totals_plane(CHANNELS, i)]
                            : ih_clip_total(d_totals, clip),
                   value);
    }
}

/*
 * Adds a block's table to the totals. A thread handles every THREADS-th bin. value * count goes up
 * the tree, so the channel sums cost a multiplication a bin, not an addition a pixel. All threads
 * call it, each as soon as it has counted its part.
 *
 * count_of(plane, value)  the block's count; a warp asks for 32 neighbouring values of one plane
 * clip                    the thread's joint clip counts; used for 3 and 4 channels
 * PLANES                  the channels, and luma if it is counted
 * s_partials              may overlap the table
 */
template <int CHANNELS, int THREADS, int PLANES = ih_planes(CHANNELS), typename count_fn>
__device__ inline void ih_block_merge(count_fn count_of, uint32_t (&clip)[IH_CLIP_COUNTS],
                                      struct ih_partials *s_partials,
                                      struct ih_gpu_totals *d_totals)
{
    constexpr int N_BINS = PLANES * IH_GPU_BINS;
    constexpr int ROUNDS = (N_BINS + THREADS - 1) / THREADS;
    const int warp = threadIdx.x / IH_WARP, thread = threadIdx.x % IH_WARP;
    unsigned long long sum[ROUNDS];

    if (CHANNELS >= 3) /* while other warps still count */
        for (int i = 0; i < IH_CLIP_COUNTS; i++)
            clip[i] = ih_warp_sum(clip[i]);
    __syncthreads(); /* the table is complete */
#pragma unroll
    for (int round = 0; round < ROUNDS; round++) {
        const int bin = round * THREADS + (int)threadIdx.x;
        if (bin >= N_BINS) /* a full warp or none */
            break;
        const int plane = bin / IH_GPU_BINS, value = bin % IH_GPU_BINS;
        const uint32_t count = count_of(plane, value);
        ih_add(&d_totals->bins[ih_totals_plane(CHANNELS, plane)][value], count);
        sum[round] = ih_warp_weighted_sum((uint32_t)value, count);
    }
    __syncthreads(); /* the table has been read: s_partials may overwrite it */
    if (thread == 0) {
#pragma unroll
        for (int round = 0; round < ROUNDS; round++) {
            const int bin = round * THREADS + (int)threadIdx.x;
            if (bin < N_BINS)
                s_partials->sum[bin / IH_GPU_BINS][bin % IH_GPU_BINS / IH_WARP] = sum[round];
        }
        if (CHANNELS >= 3)
            for (int i = 0; i < IH_CLIP_COUNTS; i++)
                s_partials->clip[i][warp] = clip[i];
    }
    __syncthreads();
    ih_partials_add<CHANNELS, THREADS, PLANES>(*s_partials, d_totals);
}

#endif
