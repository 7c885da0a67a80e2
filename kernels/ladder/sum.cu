/*
 * The sum of floats, from the textbook's loop to the speed of the memory:
 *
 *     nvcc -O3 kernels/ladder/sum.cu && ./a.out [MIB]
 *
 * Each step removes the limit of the step before it. The last part is the dot product of J.
 * Sanders, E. Kandrot, CUDA by Example (2010), section 5.3, written anew. docs/ladder.md tells the
 * story with figures.
 *
 * The sum of floats depends on the order of the additions. So a step is verified on integers, so
 * few and small that every partial sum is exact in any order, and must be right to the last bit.
 * Then it is timed on terms that round, and its error is printed.
 */
#include "ladder.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

enum { THREADS = 256 /* of a block */, WARPS = THREADS / WARP, DOT_BLOCKS = 32 };

/* What a step gets: the values, or both factors one after the other, and memory for its tree. */
struct job {
    const float *values;
    size_t n;
    float *work, *first, *second; /* on the GPU: [n, rounded up to blocks], twice the blocks */
    float *sum;                   /* one float on the GPU, zeroed before */
    int n_multiprocessors;
};

static unsigned blocks_for(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

/* ---- the CPU ---- */

/* Limit: the sum swallows small terms. From 2^24 on, neighbouring floats are 2 apart, and each 1.23
 * counts as 2; from 2^25 on they are 4 apart, each 1.23 counts as nothing, and the sum stands still
 * at 33554432. An addition also waits for the last one. */
static double cpu_float(const struct job &j)
{
    float sum = 0;
    for (size_t i = 0; i < j.n; i++)
        sum += j.values[i];
    return sum;
}

/* The 53 bits of a double hold every partial sum of the data below. */
static double cpu_exact(const struct job &j)
{
    double sum = 0;
    for (size_t i = 0; i < j.n; i++)
        sum += (double)j.values[i];
    return sum;
}

static double cpu_dot(const struct job &j)
{
    float sum = 0;
    for (size_t i = 0; i < j.n; i++)
        sum += j.values[i] * j.values[j.n + i];
    return sum;
}

/* ---- trees ---- */

/*
 * Blocks of a launch cannot wait for each other, but a launch waits for the one before. So each
 * level is a launch that turns the values into one partial sum a block, until one block is left.
 */
template <typename level_fn> static void levels(const struct job &j, size_t n, level_fn level)
{
    const float *values = j.values;
    float *partials = j.first;
    for (;; n = blocks_for(n)) {
        const bool is_last = n <= THREADS;
        level(blocks_for(n), values, n, is_last ? j.sum : partials);
        CHECK(cudaGetLastError());
        if (is_last)
            return;
        values = partials;
        partials = partials == j.first ? j.second : j.first;
    }
}

/*
 * Thread i adds value i + 128 to its own, then value i + 64, until thread 0 holds the sum. Without
 * the barrier between two steps, a thread could add a value that its neighbour has not written yet:
 * tests/gpu/race.sh removes it, and racecheck notices.
 */
__device__ void halve(float *sums, unsigned n_threads)
{
    __syncthreads();
    for (unsigned half = n_threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
}

__device__ float load_mine(const float *values, size_t n)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    return i < n ? values[i] : 0;
}

/* Limit: each level of the tree is a load and a store in global memory, and waits for them. */
__global__ void tree_global(const float *values, size_t n, float *work, float *partials)
{
    float *mine = work + (size_t)blockIdx.x * THREADS;
    mine[threadIdx.x] = load_mine(values, n);
    halve(mine, THREADS);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = mine[0];
}

/* Limit: the block has THREADS threads and 48 KiB at most. After the first level half of its
 * threads are idle, after the third all warps but one. */
__global__ void tree_shared(const float *values, size_t n, float *partials)
{
    __shared__ float sums[THREADS];
    sums[threadIdx.x] = load_mine(values, n);
    halve(sums, THREADS);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = sums[0];
}

extern __shared__ float dynamic_sums[];

/* The launch gives the size of the block and of its memory. Limit: further launches for the partial
 * sums; and the compiler unrolls no loop whose length it does not know. */
__global__ void tree_dynamic(const float *values, size_t n, float *partials)
{
    dynamic_sums[threadIdx.x] = load_mine(values, n);
    halve(dynamic_sums, blockDim.x);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = dynamic_sums[0];
}

/* One launch. Limit: all blocks queue at one address, and add in the order in which they end: two
 * runs may differ, and the sum of partial sums swallows small terms again. */
__global__ void tree_atomic(const float *values, size_t n, float *sum)
{
    dynamic_sums[threadIdx.x] = load_mine(values, n);
    halve(dynamic_sums, blockDim.x);
    if (threadIdx.x == 0)
        atomicAdd(sum, dynamic_sums[0]);
}

/* ---- warps ---- */

/* The sum of a block's values, valid in its thread 0. Five levels of the tree go from register to
 * register, without a barrier; then the first warp adds the sums of the eight warps. */
__device__ float block_sum(float value)
{
    __shared__ float sums[WARPS];
    const unsigned warp = threadIdx.x / WARP, thread = threadIdx.x % WARP;
    for (int width = WARP / 2; width > 0; width /= 2)
        value += __shfl_down_sync(0xffffffffu, value, width);
    if (thread == 0)
        sums[warp] = value;
    __syncthreads();
    value = warp == 0 && thread < WARPS ? sums[thread] : 0;
    for (int width = WARPS / 2; warp == 0 && width > 0; width /= 2)
        value += __shfl_down_sync(0xffffffffu, value, width);
    __syncthreads(); /* the caller may use the block's sums again */
    return value;
}

/* Limit: a thread reads 4 bytes, and 256 values are the whole work of a block. */
__global__ void warp_shuffle(const float *values, size_t n, float *partials)
{
    const float sum = block_sum(load_mine(values, n));
    if (threadIdx.x == 0)
        partials[blockIdx.x] = sum;
}

/*
 * The grid is as large as fits on the GPU at once, so its blocks can wait for each other: one
 * launch, a tree of fixed order, and some hundred values a thread. Limit: a thread waits for each
 * load of 4 bytes, so too few loads are in flight.
 */
__global__ void cooperative(const float *values, size_t n, float *partials, float *sum)
{
    const cg::grid_group grid = cg::this_grid();
    float value = 0;
    for (size_t i = grid.thread_rank(); i < n; i += grid.size())
        value += values[i];
    value = block_sum(value);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = value;
    grid.sync();
    if (blockIdx.x > 0)
        return;
    value = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS)
        value += partials[i];
    value = block_sum(value);
    if (threadIdx.x == 0)
        *sum = value;
}

/* Four loads of 16 bytes are in flight before the first addition. Limit: the memory. */
__global__ void wide_loads(const float *values, size_t n, float *sum)
{
    enum { LOADS = 4 };
    const float4 *loads = (const float4 *)values;
    const size_t stride = (size_t)gridDim.x * THREADS, n_loads = n / 4;
    const size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x;
    float4 all = {0, 0, 0, 0};
    for (size_t i = first; i < n_loads; i += LOADS * stride) {
        float4 load[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            load[k] = i + k * stride < n_loads ? loads[i + k * stride] : float4{0, 0, 0, 0};
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            all = {all.x + load[k].x, all.y + load[k].y, all.z + load[k].z, all.w + load[k].w};
    }
    if (first < n % 4) /* the values after the last full load */
        all.x += values[n_loads * 4 + first];
    const float value = block_sum(all.x + all.y + (all.z + all.w));
    if (threadIdx.x == 0)
        atomicAdd(sum, value); /* a thousand blocks, not one for 256 values */
}

/* ---- the dot product ---- */

/* A thread strides over both arrays, and the block halves its 256 sums. Limit of 32 blocks: all
 * other multiprocessors are idle. */
__global__ void dot(const float *a, const float *b, size_t n, float *partials)
{
    __shared__ float cache[THREADS];
    float value = 0;
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        value += a[i] * b[i];
    cache[threadIdx.x] = value;
    halve(cache, THREADS);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = cache[0];
}

/* ---- the steps ---- */

/* A kernel that leaves a partial sum for each block. */
template <void (*KERNEL)(const float *, size_t, float *), int SHARED_BYTES>
static void launch_tree(const struct job &j)
{
    levels(j, j.n, [](unsigned n_blocks, const float *in, size_t n, float *out) {
        KERNEL<<<n_blocks, THREADS, SHARED_BYTES>>>(in, n, out);
    });
}

static void launch_global(const struct job &j)
{
    levels(j, j.n, [&](unsigned n_blocks, const float *in, size_t n, float *out) {
        tree_global<<<n_blocks, THREADS>>>(in, n, j.work, out);
    });
}

static void launch_atomic(const struct job &j)
{
    tree_atomic<<<blocks_for(j.n), THREADS, THREADS * sizeof(float)>>>(j.values, j.n, j.sum);
}

static void launch_cooperative(const struct job &j)
{
    struct job copy = j;
    int n_blocks = 0; /* that a multiprocessor takes */
    void *arguments[] = {&copy.values, &copy.n, &copy.work, &copy.sum};
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_blocks, cooperative, THREADS, 0));
    CHECK(cudaLaunchCooperativeKernel((const void *)cooperative, n_blocks * j.n_multiprocessors,
                                      THREADS, arguments));
}

static void launch_wide(const struct job &j)
{
    wide_loads<<<8 * j.n_multiprocessors, THREADS>>>(j.values, j.n, j.sum);
}

/* The book adds the partial sums on the CPU; here it is the tree. */
static void launch_dot(const struct job &j, int n_blocks)
{
    struct job partials = j;
    dot<<<n_blocks, THREADS>>>(j.values, j.values + j.n, j.n, j.work);
    partials.values = j.work;
    partials.n = n_blocks;
    launch_tree<tree_shared, 0>(partials);
}

struct step {
    const char *name, *removes;
    double (*on_cpu)(const struct job &j);
    void (*on_gpu)(const struct job &j);
};

static const struct step sum_steps[] = {
    {"cpu, float", "", cpu_float, NULL},
    {"cpu, exact", "the rounding of a running float", cpu_exact, NULL},
    {"gpu, global memory", "the additions in a row: a tree", NULL, launch_global},
    {"gpu, shared memory", "stores to memory between the levels", NULL,
     launch_tree<tree_shared, 0>},
    {"gpu, dynamic shared", "the fixed size of a block", NULL,
     launch_tree<tree_dynamic, THREADS * sizeof(float)>},
    {"gpu, one atomic float", "the launches for partial sums", NULL, launch_atomic},
    {"gpu, warp shuffle", "the queue; eight of nine barriers", NULL, launch_tree<warp_shuffle, 0>},
    {"gpu, cooperative", "a block for each 256 values", NULL, launch_cooperative},
    {"gpu, wide loads", "loads of 4 bytes", NULL, launch_wide},
};

static const struct step dot_steps[] = {
    {"cpu, float", "", cpu_dot, NULL},
    {"gpu, 32 blocks", "the additions in a row", NULL,
     [](const struct job &j) { launch_dot(j, DOT_BLOCKS); }},
    {"gpu, full grid", "the idle multiprocessors", NULL,
     [](const struct job &j) { launch_dot(j, 8 * j.n_multiprocessors); }},
};

/* ---- the data and the exact answer ---- */

enum kind { INTEGERS, TERMS, RANDOM };

/* All values are multiples of 2^-24 below 2. At most 2^23 integers are not 0, so that a float holds
 * every partial sum. Second factors of integers are 1 or -1. */
static void fill(float *values, size_t n, size_t n_factors, enum kind kind)
{
    uint64_t random = 1;
    const size_t sparse = n_factors >> 23;
    for (size_t i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const bool is_zero =
            kind == INTEGERS && i < n_factors && (random >> 33) % (sparse + 1) != 0;
        values[i] = kind == TERMS    ? 1.23f
                    : kind == RANDOM ? (float)(random >> 40) * 0x1p-24f
                    : is_zero        ? 0
                    : random >> 63   ? 1
                                     : -1;
    }
}

/* In integers; rounded once. */
static double exact_sum(const float *values, size_t n, bool is_dot)
{
    __int128 sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t a = (int64_t)((double)values[i] * 0x1p24);
        sum += is_dot ? (__int128)a * (int64_t)((double)values[n + i] * 0x1p24) : a;
    }
    return (double)sum * (is_dot ? 0x1p-48 : 0x1p-24);
}

/* Runs a step, and times it if it is not only checked. */
static void climb(const struct ladder &l, struct job j, const struct step &s, double expected,
                  bool is_timed)
{
    double sum, ms = 0, copy_ms = 0;
    char last[100];
    if (s.on_cpu) {
        j.values = (const float *)l.data;
        sum = s.on_cpu(j);
        ms = is_timed ? cpu_ms([&] { sum = s.on_cpu(j); }) : 0;
    } else {
        const launch_fn launch = [&](const uint8_t *d_data) {
            j.values = (const float *)d_data;
            s.on_gpu(j);
        };
        copy_ms = gpu_ms(l, launch, true, is_timed ? GPU_RUNS : 1);
        sum = *(const float *)l.result;
        ms = is_timed ? gpu_ms(l, launch, false, GPU_RUNS) : 0;
    }
    if (!is_timed && sum != expected)
        wrong(s.name);
    snprintf(last, sizeof last, "%12.1f %8.1e  %s", sum, fabs(sum - expected) / expected,
             s.removes);
    if (is_timed)
        print_row(l, s.name, ms, copy_ms, last);
}

/* Climbs on integers, to check every step, then on the other data. */
template <size_t N>
static void climb_all(struct ladder *l, struct job j, const struct step (&steps)[N], enum kind kind,
                      const char *title)
{
    const bool is_dot = &steps[0] == &dot_steps[0];
    const size_t n_values = l->n_bytes / sizeof(float);
    j.n = is_dot ? n_values / 2 : n_values;
    for (int is_timed = 0; is_timed <= 1; is_timed++) {
        fill((float *)l->data, n_values, j.n, is_timed ? kind : INTEGERS);
        ladder_load(*l);
        if (is_timed) {
            print_head(title, "         sum    error  removes");
            read_row(l);
        }
        const double expected = exact_sum((const float *)l->data, j.n, is_dot);
        for (const struct step &s : steps)
            climb(*l, j, s, expected, is_timed);
    }
}

int main(int argc, char **argv)
{
    struct ladder l;
    struct job j = {};
    ladder_open(&l, "sum of floats", argc, argv);
    const size_t n_blocks = blocks_for(l.n_bytes / sizeof(float));
    CHECK(cudaMalloc(&j.work, (n_blocks * THREADS + 2 * n_blocks) * sizeof(float)));
    j.first = j.work + n_blocks * THREADS;
    j.second = j.first + n_blocks;
    j.sum = (float *)l.d_result;
    j.n_multiprocessors = l.n_multiprocessors;
    climb_all(&l, j, sum_steps, TERMS, "terms of 1.23");
    climb_all(&l, j, sum_steps, RANDOM, "random terms from 0 to 1");
    climb_all(&l, j, dot_steps, RANDOM, "dot product of random factors from 0 to 1");
    return 0;
}
