/*
 * The histogram of bytes, from the textbook's loop to the speed of the memory, and of 16-bit
 * samples:
 *
 *     nvcc -O3 kernels/ladder/histogram.cu && ./a.out [MIB]
 *
 * Each step removes the limit of the step before it. The two first kernels are those of J. Sanders,
 * E. Kandrot, CUDA by Example (2010), section 9.4, written anew. A step is verified by the book's
 * test before it is timed: it counts as many samples as there are, and when each is taken off
 * again, all counters are zero. docs/ladder.md tells the story with figures.
 */
#include "ladder.cuh"

enum { BINS = 256, WIDE_BINS = 65536 };

/* ---- the CPU ---- */

/* Limit: an addition waits for the last one if both are to the same bin. */
template <typename sample_type>
static void count_range(const sample_type *samples, size_t n, uint32_t *histo)
{
    for (size_t i = 0; i < n; i++)
        histo[samples[i]]++;
}

/* Each core counts into a table of its own, so that no two cores write to the same line. Limit: a
 * core adds about one a cycle, and there are few cores. */
static void count_on_all_cores(const struct ladder &l, uint32_t *histo)
{
    std::vector<std::thread> threads;
    std::vector<uint32_t> tables(l.n_cores * BINS);
    const size_t each = l.n_bytes / l.n_cores;
    for (unsigned i = 0; i < l.n_cores; i++)
        threads.emplace_back([&, i] {
            uint32_t mine[BINS] = {};
            count_range(l.data + i * each, i + 1 < l.n_cores ? each : l.n_bytes - i * each, mine);
            std::copy(mine, mine + BINS, &tables[i * BINS]);
        });
    for (std::thread &t : threads)
        t.join();
    for (size_t i = 0; i < tables.size(); i++)
        histo[i % BINS] += tables[i];
}

/* ---- the GPU: all threads add to one table in global memory ---- */

/* Limit: the L2 cache does one addition to an address at a time, so the threads queue at 256
 * addresses. The fewer values the data has, the longer is the queue. */
__global__ void count_global(const uint8_t *buffer, size_t size, unsigned *histo)
{
    const size_t stride = (size_t)blockDim.x * gridDim.x;
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < size; i += stride)
        atomicAdd(&histo[buffer[i]], 1);
}

/* ---- a table for each block in shared memory ---- */

/*
 * 256 threads for 256 bins: each thread zeroes one and adds one to the result. Additions queue only
 * within a block, on the multiprocessor.
 *
 * Limit: a warp loads 32 bytes at a time and waits for them. With 16-byte loads the next limit
 * appears: different bins in the same of the 32 banks of shared memory take turns.
 */
__global__ void count_shared(const uint8_t *buffer, size_t size, unsigned *histo)
{
    __shared__ unsigned temp[BINS];
    temp[threadIdx.x] = 0;
    __syncthreads();
    const size_t stride = (size_t)blockDim.x * gridDim.x;
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < size; i += stride)
        atomicAdd(&temp[buffer[i]], 1);
    __syncthreads();
    atomicAdd(&histo[threadIdx.x], temp[threadIdx.x]);
}

/* ---- a copy of each bin for each thread of a warp ---- */

/*
 * The copies of a bin lie side by side, and thread i of a warp adds to copy i: its bank depends on
 * the thread, not on the data. A thread loads 16 bytes at a time.
 *
 * Limit: the memory. kernels/histogram_replicated.cu does this for pixels with several channels.
 */
__global__ void count_replicated(const uint8_t *buffer, size_t size, unsigned *histo)
{
    __shared__ unsigned temp[BINS][WARP];
    const unsigned copy = threadIdx.x % WARP;
    for (unsigned i = threadIdx.x; i < BINS * WARP; i += blockDim.x)
        temp[i / WARP][i % WARP] = 0;
    __syncthreads();

    const uint4 *loads = (const uint4 *)buffer; /* cudaMalloc aligns it */
    const size_t n_loads = size / sizeof(uint4), stride = (size_t)gridDim.x * blockDim.x;
    const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (size_t i = first; i < n_loads; i += stride) {
        const uint4 load = loads[i];
        const unsigned words[4] = {load.x, load.y, load.z, load.w};
#pragma unroll
        for (int k = 0; k < 16; k++)
            atomicAdd(&temp[words[k / 4] >> k % 4 * 8 & 255][copy], 1);
    }
    if (first < size % sizeof(uint4)) /* the bytes after the last full load */
        atomicAdd(&temp[buffer[n_loads * sizeof(uint4) + first]][copy], 1);
    __syncthreads();

    /* Threads with neighbouring bins begin with different copies, and so with different banks. */
    unsigned sum = 0;
    for (unsigned i = 0; i < WARP && threadIdx.x < BINS; i++)
        sum += temp[threadIdx.x][(i + threadIdx.x) % WARP];
    if (threadIdx.x < BINS) /* one request for 32 bins */
        atomicAdd(&histo[threadIdx.x], sum);
}

/* ---- 16-bit samples ---- */

/* As count_global. Limit: the L2 cache. */
__global__ void count_wide_global(const uint8_t *buffer, size_t size, unsigned *histo)
{
    const uint16_t *samples = (const uint16_t *)buffer;
    const size_t stride = (size_t)blockDim.x * gridDim.x;
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < size / 2; i += stride)
        atomicAdd(&histo[samples[i]], 1);
}

/*
 * A table for each block, when it hardly fits. 65,536 counters of 32 bits are 256 KiB, more than a
 * multiprocessor has. Counters of 16 bits fit, two in a word: of the values v and v + HALF.
 *
 * But a block counts more than 65,535 samples. The thread that finds a counter at 32,768 subtracts
 * that and adds it to the result. Should it take long, the threads that find the counter at 49,152
 * wait. A thread adds 8 samples before it looks at what it found, so that additions do not wait for
 * each other: 1,024 threads add at most 8,192 more, and a counter never overflows.
 *
 * Limits: additions of a warp to one counter take turns, which is slow if there are few values. And
 * each block adds up to 65,536 bins to the result.
 */
enum { HALF = WIDE_BINS / 2, FULL = 32768, DANGER = 49152, EACH = 8 };

__global__ void count_wide_packed(const uint8_t *buffer, size_t size, unsigned *histo)
{
    extern __shared__ unsigned packed[]; /* [HALF] */
    for (unsigned i = threadIdx.x; i < HALF; i += blockDim.x)
        packed[i] = 0;
    __syncthreads();

    const uint4 *loads = (const uint4 *)buffer;
    const size_t n_loads = size / sizeof(uint4), stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n_loads; i += stride) {
        const uint4 load = loads[i];
        const unsigned words[4] = {load.x, load.y, load.z, load.w};
        unsigned value[EACH], shift[EACH], count[EACH]; /* count: before the addition */
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            value[k] = words[k / 2] >> k % 2 * 16 & 65535;
            shift[k] = value[k] / HALF * 16;
            count[k] = atomicAdd(&packed[value[k] % HALF], 1u << shift[k]) >> shift[k] & 65535;
        }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (count[k] == FULL) {
                atomicSub(&packed[value[k] % HALF], (unsigned)FULL << shift[k]);
                atomicAdd(&histo[value[k]], FULL);
            }
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (count[k] >= DANGER)
                while ((atomicOr(&packed[value[k] % HALF], 0) >> shift[k] & 65535) >= DANGER)
                    ;
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < HALF; i += blockDim.x) {
        if (packed[i] & 65535)
            atomicAdd(&histo[i], packed[i] & 65535);
        if (packed[i] >> 16)
            atomicAdd(&histo[i + HALF], packed[i] >> 16);
    }
}

/* ---- the steps ---- */

static const struct step {
    const char *name, *removes;
    void (*kernel)(const uint8_t *d_bytes, size_t n, unsigned *d_histo);
    int n_blocks, n_threads; /* blocks a multiprocessor, threads a block */
    int shared_bytes;        /* sized at launch */
} gpu_steps[] =
    {
        {"gpu, global atomics", "the few cores", count_global, 2, BINS, 0},
        {"gpu, shared atomics", "the queue at 256 addresses", count_shared, 2, BINS, 0},
        {"gpu, replicated", "byte loads and bank conflicts", count_replicated, 2, 1024, 0},
},
  wide_steps[] = {
      {"gpu, global atomics", "the limit of one core", count_wide_global, 2, 1024, 0},
      {"gpu, packed in shared", "the limit of the L2 cache", count_wide_packed, 1, 1024, HALF * 4},
};

/* The book's test. */
template <typename sample_type>
static void verify(const struct ladder &l, const char *name, const void *counters)
{
    const size_t n_bins = l.result_bytes / sizeof(uint32_t), n = l.n_bytes / sizeof(sample_type);
    const sample_type *samples = (const sample_type *)l.data;
    std::vector<uint32_t> left((const uint32_t *)counters, (const uint32_t *)counters + n_bins);
    size_t sum = 0;
    for (uint32_t count : left)
        sum += count;
    for (size_t i = 0; i < n; i++)
        left[samples[i]]--;
    if (sum != n || std::count(left.begin(), left.end(), 0u) != (ptrdiff_t)n_bins)
        wrong(name);
}

template <typename sample_type> static void climb_gpu(const struct ladder &l, const struct step &s)
{
    const launch_fn launch = [&](const uint8_t *d_bytes) {
        s.kernel<<<s.n_blocks * l.n_multiprocessors, s.n_threads, s.shared_bytes>>>(
            d_bytes, l.n_bytes, (unsigned *)l.d_result);
    };
    CHECK(cudaFuncSetAttribute((const void *)s.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               s.shared_bytes));
    gpu_ms(l, launch, true, 1);
    verify<sample_type>(l, s.name, l.result);
    const double copy_ms = gpu_ms(l, launch, true, GPU_RUNS);
    print_row(l, s.name, gpu_ms(l, launch, false, GPU_RUNS), copy_ms, s.removes);
}

/* Runs a step on the CPU, which adds to a zeroed table. */
template <typename sample_type>
static void climb_cpu(const struct ladder &l, const char *name, const char *removes,
                      const std::function<void(uint32_t *histo)> &count)
{
    std::vector<uint32_t> histo(l.result_bytes / sizeof(uint32_t));
    const auto run = [&] {
        std::fill(histo.begin(), histo.end(), 0);
        count(histo.data());
    };
    run();
    verify<sample_type>(l, name, histo.data());
    print_row(l, name, cpu_ms(run), 0, removes);
}

static void climb(struct ladder *l)
{
    l->result_bytes = BINS * sizeof(uint32_t);
    read_row(l);
    climb_cpu<uint8_t>(*l, "cpu, one thread", "",
                       [&](uint32_t *histo) { count_range(l->data, l->n_bytes, histo); });
    climb_cpu<uint8_t>(*l, "cpu, all threads", "the limit of one core",
                       [&](uint32_t *histo) { count_on_all_cores(*l, histo); });
    for (const struct step &s : gpu_steps)
        climb_gpu<uint8_t>(*l, s);
}

static void climb_wide(struct ladder *l)
{
    l->result_bytes = WIDE_BINS * sizeof(uint32_t);
    read_row(l);
    climb_cpu<uint16_t>(*l, "cpu, one thread", "", [&](uint32_t *histo) {
        count_range((const uint16_t *)l->data, l->n_bytes / 2, histo);
    });
    for (const struct step &s : wide_steps)
        climb_gpu<uint16_t>(*l, s);
}

/* ---- the data ---- */

static const char *const kinds[] = {"random", "smooth, like a photo", "two values", "one value"};

template <typename sample_type> static void fill(sample_type *samples, size_t n, int kind)
{
    const unsigned scale = sizeof(sample_type) == 1 ? 1 : 251; /* of two bytes: more values */
    uint64_t random = 1;
    for (size_t i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const unsigned noise = (unsigned)(random >> (64 - 8 * sizeof(sample_type)));
        const unsigned wave = (unsigned)(i / 4096 + i % 4096) / 8;
        samples[i] =
            (sample_type)(kind == 0   ? noise
                          : kind == 1 ? (wave % 256 < 128 ? wave % 128 : 127 - wave % 128) * scale +
                                            noise % (8 * scale) + 60 * scale
                          : kind == 2 ? (i % 2 ? 191 : 64) * scale
                                      : 77 * scale);
    }
}

int main(int argc, char **argv)
{
    struct ladder l;
    ladder_open(&l, "histogram", argc, argv);
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        printf(is_wide ? "\n16-bit samples\n" : "\nbytes\n");
        for (int kind = 0; kind < (int)(sizeof kinds / sizeof kinds[0]); kind++) {
            if (is_wide)
                fill((uint16_t *)l.data, l.n_bytes / 2, kind);
            else
                fill(l.data, l.n_bytes, kind);
            ladder_load(l);
            print_head(kinds[kind], "removes");
            if (is_wide)
                climb_wide(&l);
            else
                climb(&l);
        }
    }
    return 0;
}
