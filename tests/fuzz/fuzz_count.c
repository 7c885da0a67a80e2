/*
 * Fuzzer of counting: every backend, kernel and loop against the plain C reference, on pixels,
 * limits and cuts that the input chooses (tests/fuzz/every_counter.h). Where there is a GPU,
 * `ASAN_OPTIONS=protect_shadow_gap=0` with `make CONFIG=fuzz CUDA=1 fuzzers` takes its kernels in.
 */
#include "tests/fuzz/every_counter.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    count_with_every_counter(bytes, size);
    return 0;
}
