/*
 * The histogram of bytes, from the textbook's loop to the speed of the memory:
 *
 *     nvcc -O3 kernels/ladder/histogram.cu && ./a.out [MIB]
 *
 * Each step removes the limit of the step before it. The two first kernels are those of J. Sanders,
 * E. Kandrot, CUDA by Example (2010), section 9.4, written anew. A step is verified by the book's
 * test before it is timed: it counts as many bytes as there are, and when each byte is taken off
 * again, all counters are zero. docs/ladder.md tells the story with figures.
 */
#include "ladder.cuh"

enum { BINS = 256 };

/* ---- the CPU ---- */

/* Limit: an addition waits for the last one if both are to the same bin. */
static void count_range(const uint8_t *bytes, size_t n, uint32_t *histo)
{
    for (size_t i = 0; i < n; i++)
        histo[bytes[i]]++;
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

/* ---- the steps ---- */

static const struct step {
    const char *name, *removes;
    void (*kernel)(const uint8_t *d_bytes, size_t n, unsigned *d_histo);
    int n_blocks, n_threads; /* blocks a multiprocessor, threads a block */
} gpu_steps[] = {
    {"gpu, global atomics", "the few cores", count_global, 2, BINS},
    {"gpu, shared atomics", "the queue at 256 addresses", count_shared, 2, BINS},
    {"gpu, replicated", "byte loads and bank conflicts", count_replicated, 2, 1024},
};

/* The book's test. */
static void verify(const struct ladder &l, const char *name, const void *counters)
{
    std::vector<uint32_t> left((const uint32_t *)counters, (const uint32_t *)counters + BINS);
    size_t sum = 0;
    for (uint32_t count : left)
        sum += count;
    for (size_t i = 0; i < l.n_bytes; i++)
        left[l.data[i]]--;
    if (sum != l.n_bytes || std::count(left.begin(), left.end(), 0u) != BINS)
        wrong(name);
}

static void climb(struct ladder *l)
{
    uint32_t histo[BINS];
    const std::function<void()> ways[] = {
        [&] { count_range(l->data, l->n_bytes, histo); },
        [&] { count_on_all_cores(*l, histo); },
    };
    const char *const names[] = {"cpu, one thread", "cpu, all threads"};
    read_row(l);
    for (int i = 0; i < 2; i++) {
        const auto run = [&] {
            std::fill(histo, histo + BINS, 0);
            ways[i]();
        };
        run();
        verify(*l, names[i], histo);
        print_row(*l, names[i], cpu_ms(run), 0, i == 0 ? "" : "the limit of one core");
    }
    for (const struct step &s : gpu_steps) {
        const launch_fn launch = [&](const uint8_t *d_bytes) {
            s.kernel<<<s.n_blocks * l->n_multiprocessors, s.n_threads>>>(d_bytes, l->n_bytes,
                                                                         (unsigned *)l->d_result);
        };
        gpu_ms(*l, launch, true, 1);
        verify(*l, s.name, l->result);
        const double copy_ms = gpu_ms(*l, launch, true, GPU_RUNS);
        print_row(*l, s.name, gpu_ms(*l, launch, false, GPU_RUNS), copy_ms, s.removes);
    }
}

/* ---- the data ---- */

static const char *const kinds[] = {"random", "smooth, like a photo", "two values", "one value"};

static void fill(uint8_t *bytes, size_t n, int kind)
{
    uint64_t random = 1;
    for (size_t i = 0; i < n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const unsigned noise = (unsigned)(random >> 56), wave = (unsigned)(i / 4096 + i % 4096) / 8;
        bytes[i] = (uint8_t)(kind == 0   ? noise
                             : kind == 1 ? (wave % 256 < 128 ? wave % 128 : 127 - wave % 128) +
                                               (noise & 7) + 60
                             : kind == 2 ? (i % 2 ? 191 : 64)
                                         : 77);
    }
}

int main(int argc, char **argv)
{
    struct ladder l;
    ladder_open(&l, "histogram of bytes", argc, argv);
    for (int kind = 0; kind < (int)(sizeof kinds / sizeof kinds[0]); kind++) {
        fill(l.data, l.n_bytes, kind);
        ladder_load(l);
        print_head(kinds[kind], "removes");
        climb(&l);
    }
    return 0;
}
