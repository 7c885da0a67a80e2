/*
 * The sum in shared memory, kernels/reduce_shared.cu, with its barriers or without them.
 *
 * By default this is the rung that `imghist --bench` runs; WITHOUT_BARRIERS removes every
 * __syncthreads from that file. race.sh runs both under compute-sanitizer's racecheck: the first
 * must be clean, and in the second the race must be found. The printed answer proves nothing,
 * because a race may give the right one.
 */
#include <cuda_runtime.h>
#include <stdio.h>

#ifdef WITHOUT_BARRIERS
#define __syncthreads() ((void)0)
#endif
#include "kernels/reduce_shared.cu"

enum { N_VALUES = 5000 };

#define CHECK(call)                                                     \
    do {                                                                \
        const cudaError_t e_ = (call);                                  \
        if (e_ != cudaSuccess) {                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e_)); \
            return 1;                                                   \
        }                                                               \
    } while (0)

int main(void)
{
    static float values[N_VALUES];
    float *d_values, *d_scratch, *d_sum, sum = 0, expected = 0;
    struct ih_gpu_properties gpu = {};
    for (int i = 0; i < N_VALUES; i++)
        expected += values[i] = (float)(i % 17);
    CHECK(cudaMalloc(&d_values, sizeof values));
    CHECK(cudaMalloc(&d_scratch, ih_gpu_sum_scratch_values(N_VALUES) * sizeof *d_scratch));
    CHECK(cudaMalloc(&d_sum, sizeof *d_sum));
    CHECK(cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice));
    struct ih_gpu_sum_args args = {};
    args.d_values = d_values;
    args.n_values = N_VALUES;
    args.d_scratch = d_scratch;
    args.d_sum = d_sum;
    args.gpu = &gpu;
    CHECK(ih_sum_shared(&args));
    CHECK(cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost));
    printf("sum %.0f, expected %.0f\n", (double)sum, (double)expected);
    CHECK(cudaFree(d_values));
    CHECK(cudaFree(d_scratch));
    CHECK(cudaFree(d_sum));
    return 0;
}
