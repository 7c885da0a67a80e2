/*
 * What both ladders share: memory, timing, the kernel that only reads, and the rows of the table.
 *
 * time        the median of several runs, with the data in the memory of the device that works
 * with copy   from pinned host memory to the result in host memory
 * of read     the share of the speed at which the GPU only reads, in the same run
 */
#ifndef IH_LADDER_LADDER_CUH
#define IH_LADDER_LADDER_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#define CHECK(call)                                                             \
    do {                                                                        \
        const cudaError_t e_ = (call);                                          \
        if (e_ != cudaSuccess) {                                                \
            fprintf(stderr, "ladder: %s: %s\n", #call, cudaGetErrorString(e_)); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

enum {
    WARP = 32,
    RESULT_BYTES = 65536 * 4, /* at most */
    GPU_RUNS = 20,
    CPU_RUNS = 5,
    SLOTS = 8, /* copies of the data, read in turn: one copy would partly stay in the L2 cache */
};

struct ladder {
    int n_multiprocessors;
    unsigned n_cores;
    size_t n_bytes;          /* a multiple of 16 */
    uint8_t *data, *d_slots; /* pinned; [SLOTS][n_bytes] in GPU memory */
    void *result, *d_result; /* pinned; in GPU memory */
    size_t result_bytes;     /* 1024: 256 counters, or one float */
    double read_gb_s;
};

/* Memory is kept until the program ends. */
static void ladder_open(struct ladder *l, const char *what, int argc, char **argv)
{
    struct cudaDeviceProp gpu;
    int n_gpus = 0;
    const unsigned long mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    const cudaError_t e = cudaGetDeviceCount(&n_gpus);
    if (e != cudaSuccess || n_gpus == 0) {
        fprintf(stderr, "ladder: no usable NVIDIA GPU: %s\n", cudaGetErrorString(e));
        exit(3);
    }
    if (mib < 1 || mib > 2047) {
        fprintf(stderr, "ladder: the size must be 1 to 2047 MiB: counters have 32 bits\n");
        exit(2);
    }
    CHECK(cudaGetDeviceProperties(&gpu, 0));
    *l = {gpu.multiProcessorCount,
          std::max(1u, std::thread::hardware_concurrency()),
          mib << 20,
          NULL,
          NULL,
          NULL,
          NULL,
          1024,
          0};
    CHECK(cudaHostAlloc(&l->data, l->n_bytes, cudaHostAllocDefault));
    CHECK(cudaHostAlloc(&l->result, RESULT_BYTES, cudaHostAllocDefault));
    CHECK(cudaMalloc(&l->d_slots, SLOTS * l->n_bytes));
    CHECK(cudaMalloc(&l->d_result, RESULT_BYTES));
    printf("%s, %lu MiB: %s, %d multiprocessors; %u CPU threads\n", what, mib, gpu.name,
           l->n_multiprocessors, l->n_cores);
}

/* Copies the data to the GPU. */
static void ladder_load(const struct ladder &l)
{
    for (int slot = 0; slot < SLOTS; slot++)
        CHECK(cudaMemcpy(l.d_slots + slot * l.n_bytes, l.data, l.n_bytes, cudaMemcpyHostToDevice));
}

/* ---- timing ---- */

static double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

static double cpu_ms(const std::function<void()> &run)
{
    std::vector<double> ms;
    for (int i = 0; i < CPU_RUNS; i++) {
        const auto start = std::chrono::steady_clock::now();
        run();
        const auto time = std::chrono::steady_clock::now() - start;
        ms.push_back(std::chrono::duration<double, std::milli>(time).count());
    }
    return median(ms);
}

/* Launches something that reads the data at d_data and adds to l.d_result, which is zeroed. */
typedef std::function<void(const uint8_t *d_data)> launch_fn;

/* Timed by events, with the next launches already queued. The zeroing is not part of a run. With
 * the copy, l.result gets the result. */
static double gpu_ms(const struct ladder &l, const launch_fn &launch, bool with_copy, int n_runs)
{
    if (getenv("IMGHIST_TEST_SMALL")) /* under compute-sanitizer, where a run takes 1,000 times as
                                         long */
        n_runs = 1;
    std::vector<cudaEvent_t> events(2 * n_runs);
    std::vector<double> all;
    for (int i = 0; i < n_runs; i++) {
        CHECK(cudaEventCreate(&events[2 * i]));
        CHECK(cudaEventCreate(&events[2 * i + 1]));
        CHECK(cudaMemsetAsync(l.d_result, 0, l.result_bytes));
        CHECK(cudaEventRecord(events[2 * i]));
        if (with_copy)
            CHECK(cudaMemcpyAsync(l.d_slots, l.data, l.n_bytes, cudaMemcpyHostToDevice));
        launch(l.d_slots + (with_copy ? 0 : i % SLOTS * l.n_bytes));
        CHECK(cudaGetLastError());
        if (with_copy)
            CHECK(cudaMemcpyAsync(l.result, l.d_result, l.result_bytes, cudaMemcpyDeviceToHost));
        CHECK(cudaEventRecord(events[2 * i + 1]));
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n_runs; i++) {
        float ms;
        CHECK(cudaEventElapsedTime(&ms, events[2 * i], events[2 * i + 1]));
        all.push_back(ms);
        CHECK(cudaEventDestroy(events[2 * i]));
        CHECK(cudaEventDestroy(events[2 * i + 1]));
    }
    return median(all);
}

/* ---- rows ---- */

static void print_head(const char *data, const char *last)
{
    printf("\n%s\n  %-21s %12s %13s %7s %12s %7s  %s\n", data, "step", "time", "rate", "of read",
           "with copy", "of read", last);
}

/* Prints a row. copy_ms: 0 on the CPU. */
static void print_row(const struct ladder &l, const char *name, double ms, double copy_ms,
                      const char *last)
{
    const double gb_s = (double)l.n_bytes * 1e-6 / ms;
    printf("  %-21s %9.3f ms %8.1f GB/s %7.3f", name, ms, gb_s, gb_s / l.read_gb_s);
    if (copy_ms > 0)
        printf(" %9.3f ms %7.3f", copy_ms, gb_s * ms / copy_ms / l.read_gb_s);
    else
        printf(" %12s %7s", "-", "-");
    printf("  %s\n", last);
    fflush(stdout);
}

[[noreturn]] static void wrong(const char *name)
{
    fprintf(stderr, "ladder: %s: wrong\n", name);
    exit(1);
}

/* ---- the limit: reading alone ---- */

/* The xor of all words needs every byte, and the CPU can check it. */
__global__ void read_only(const uint8_t *bytes, size_t n, unsigned *out)
{
    enum { LOADS = 4 }; /* in flight before the first is used */
    __shared__ unsigned of_block;
    const uint4 *loads = (const uint4 *)bytes;
    const size_t n_loads = n / sizeof(uint4), stride = (size_t)gridDim.x * blockDim.x;
    unsigned all = 0;
    if (threadIdx.x == 0)
        of_block = 0;
    __syncthreads();
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n_loads;
         i += LOADS * stride) {
        uint4 load[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            load[k] = i + k * stride < n_loads ? loads[i + k * stride] : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            all ^= load[k].x ^ load[k].y ^ load[k].z ^ load[k].w;
    }
    for (int width = WARP / 2; width > 0; width /= 2)
        all ^= __shfl_xor_sync(0xffffffffu, all, width);
    if (threadIdx.x % WARP == 0)
        atomicXor(&of_block, all);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicXor(out, of_block);
}

/* Prints the row of reading. */
static void read_row(struct ladder *l)
{
    uint32_t all = 0;
    const launch_fn launch = [&](const uint8_t *d_data) {
        read_only<<<4 * l->n_multiprocessors, 512>>>(d_data, l->n_bytes, (unsigned *)l->d_result);
    };
    const double copy_ms = gpu_ms(*l, launch, true, GPU_RUNS);
    for (size_t i = 0; i < l->n_bytes / 4; i++)
        all ^= ((const uint32_t *)l->data)[i];
    if (*(const uint32_t *)l->result != all)
        wrong("read");
    const double ms = gpu_ms(*l, launch, false, GPU_RUNS);
    l->read_gb_s = (double)l->n_bytes * 1e-6 / ms;
    print_row(*l, "gpu, read only", ms, copy_ms, "");
}

#endif
