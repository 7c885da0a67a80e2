/*
 * The sum in shared memory of kernels/ladder/sum.cu, with its barriers or without them.
 *
 * WITHOUT_BARRIERS removes every __syncthreads from that file. race.sh runs both under
 * compute-sanitizer's racecheck: the first must be clean, and in the second the race must be found.
 * The printed answer proves nothing, because a race may give the right one.
 */
#include "kernels/ladder/ladder.cuh"

#include <cooperative_groups.h>

#ifdef WITHOUT_BARRIERS
#define __syncthreads() ((void)0)
#endif
#define main ladder_main
#include "kernels/ladder/sum.cu"
#undef main

enum { N_VALUES = 5000 };

int main(void)
{
    static float values[N_VALUES], partials[N_VALUES / THREADS + 1];
    float *d_values, *d_partials, sum = 0, expected = 0;
    for (int i = 0; i < N_VALUES; i++)
        expected += values[i] = (float)(i % 17);
    CHECK(cudaMalloc(&d_values, sizeof values));
    CHECK(cudaMalloc(&d_partials, sizeof partials));
    CHECK(cudaMemcpy(d_values, values, sizeof values, cudaMemcpyHostToDevice));
    tree_shared<<<blocks_for(N_VALUES), THREADS>>>(d_values, N_VALUES, d_partials);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(partials, d_partials, sizeof partials, cudaMemcpyDeviceToHost));
    for (float partial : partials)
        sum += partial;
    printf("sum %.0f, expected %.0f\n", (double)sum, (double)expected);
    CHECK(cudaFree(d_values));
    CHECK(cudaFree(d_partials));
    return 0;
}
