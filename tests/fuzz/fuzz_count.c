/*
 * Fuzzer of counting: every backend, kernel and loop against the plain C reference. The input
 * chooses pixels, limits and pieces (tests/fuzz/every_counter.h). To include the kernels of a GPU,
 * build with `make CONFIG=fuzz CUDA=1 fuzzers` and set `ASAN_OPTIONS=protect_shadow_gap=0`.
 */
#include "tests/fuzz/every_counter.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    count_with_every_counter(bytes, size);
    return 0;
}
