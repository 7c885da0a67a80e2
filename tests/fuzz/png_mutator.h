/* libFuzzer calls this to change an input: PNG files get correct CRCs, or decoders stop at once. */
#ifndef IH_TESTS_FUZZ_PNG_MUTATOR_H
#define IH_TESTS_FUZZ_PNG_MUTATOR_H

#include "tests/fuzz/png_repair.h"

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size); /* libFuzzer's own */

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, max_size);
    if (seed % 16 != 0) /* leave some CRCs wrong */
        repair_png(bytes, size);
    return size;
}

#endif
