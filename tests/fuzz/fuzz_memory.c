/*
 * Fuzzer of the ways to a file's bytes: from memory, from a file and from a pipe whose reads fall
 * short, every format gives the same counts, or the same error with the same words. So does a
 * progressive JPEG with all its scans at once.
 */
#define _GNU_SOURCE

#include "tests/fuzz/decode_all.h"
#include "tests/fuzz/every_source.h"

#include "tests/fuzz/left_out.h"
#include "tests/fuzz/png_repair.h"
#include "tests/fuzz/progressive.h" /* needs those before it */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size); /* libFuzzer's own */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (is_left_out(bytes, size))
        return 0;
    count_from_every_source(bytes, size, MAX_PIXELS_FUZZ, 0);
    check_progressive(bytes, size, MAX_PIXELS_FUZZ);
    if (size % 8 == 0) /* the simplest decoder needs no more */
        count_from_every_source(bytes, size, MAX_PIXELS_FUZZ, 1 + size / 8 % IH_CHANNELS_MAX);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, max_size);
    if (seed % 16 != 0) /* a wrong CRC has to be seen now and then */
        repair_png(bytes, size);
    return size;
}
