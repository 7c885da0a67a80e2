/* Shared by the GPU benchmarks: the device, and the time of single launches between two events. */
#ifndef IH_BENCH_GPU_TIMING_H
#define IH_BENCH_GPU_TIMING_H

#include "kernels/kernels.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vector>

enum { WARM_UPS = 3, REPEATS = 21 };

#define CHECK(call) check(call, #call, __FILE__, __LINE__)
static void check(cudaError_t status, const char *what, const char *file, int line)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, cudaGetErrorString(status));
    exit(1);
}

static struct ih_gpu_properties gpu;
static cudaStream_t stream;
static cudaEvent_t starts[WARM_UPS + REPEATS], stops[WARM_UPS + REPEATS];

/* Opens the first device. date: for the first line of the output. */
static cudaDeviceProp gpu_open(char (&date)[32])
{
    cudaDeviceProp properties;
    const time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    gpu.n_multiprocessors = properties.multiProcessorCount;
    gpu.shared_bytes_optin = properties.sharedMemPerBlockOptin;
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < WARM_UPS + REPEATS; i++) {
        CHECK(cudaEventCreate(&starts[i]));
        CHECK(cudaEventCreate(&stops[i]));
    }
    return properties;
}

/* Keeps the GPU busy for a millisecond, so that launches are queued before they are timed: the time
 * between two events then excludes the host's part of a launch. */
static __global__ void delay_kernel(void)
{
    const long long begin = clock64();
    while (clock64() - begin < 2000000)
        ;
}

/* The median time of launch(i), in microseconds. */
template <typename launch_fn> static double time_us(launch_fn launch)
{
    std::vector<float> ms(REPEATS);
    delay_kernel<<<1, 1, 0, stream>>>();
    for (int i = 0; i < WARM_UPS + REPEATS; i++) {
        CHECK(cudaEventRecord(starts[i], stream));
        launch(i);
        CHECK(cudaEventRecord(stops[i], stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < REPEATS; i++)
        CHECK(cudaEventElapsedTime(&ms[i], starts[WARM_UPS + i], stops[WARM_UPS + i]));
    std::nth_element(ms.begin(), ms.begin() + REPEATS / 2, ms.end());
    return ms[REPEATS / 2] * 1e3;
}

template <int LOADS>
static __global__ void read_kernel(const uint4 *d_in, uint64_t n_loads, uint32_t *d_sink)
{
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    uint32_t bits = 0;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n_loads;
         i += LOADS * stride) {
        uint4 x[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            x[k] = i + k * stride < n_loads ? d_in[i + k * stride] : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < LOADS; k++)
            bits ^= x[k].x ^ x[k].y ^ x[k].z ^ x[k].w;
    }
    if (bits == 0x12345678) /* keeps the compiler from removing the loads */
        *d_sink = bits;
}

/* The microseconds of the fastest of a few kernels that read n_bytes and do nothing else. d_sink is
 * not written. */
inline double read_us(const uint8_t *d_pixels, uint64_t n_bytes, uint32_t *d_sink)
{
    double best = 1e30;
    for (int blocks = 2; blocks <= 16; blocks *= 2) {
        const int n_blocks = gpu.n_multiprocessors * blocks, n_threads = blocks <= 2 ? 1024 : 256;
        const uint4 *d_in = (const uint4 *)d_pixels;
        best = std::min(best, time_us([&](int) {
                            read_kernel<4>
                                <<<n_blocks, n_threads, 0, stream>>>(d_in, n_bytes / 16, d_sink);
                        }));
        best = std::min(best, time_us([&](int) {
                            read_kernel<8>
                                <<<n_blocks, n_threads, 0, stream>>>(d_in, n_bytes / 16, d_sink);
                        }));
    }
    CHECK(cudaGetLastError());
    return best;
}

#endif
