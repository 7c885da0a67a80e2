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

#endif
