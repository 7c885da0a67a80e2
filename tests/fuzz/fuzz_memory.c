/*
 * Fuzzer of sources: a file in memory, on disk and in a pipe with short reads gives the same
 * counts, or the same error message. So does a progressive JPEG whose scans are all decoded at
 * once.
 */
#define _GNU_SOURCE

#include "tests/fuzz/decode_all.h"
#include "tests/fuzz/every_source.h"

#include "tests/fuzz/left_out.h"
#include "tests/fuzz/png_mutator.h"
#include "tests/fuzz/progressive.h" /* needs those before it */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (is_left_out(bytes, size))
        return 0;
    count_from_every_source(bytes, size, MAX_PIXELS_FUZZ, 0);
    check_progressive(bytes, size, MAX_PIXELS_FUZZ);
    if (size % 8 == 0) /* raw samples are simple and need few runs */
        count_from_every_source(bytes, size, MAX_PIXELS_FUZZ, 1 + size / 8 % IH_PIXEL_CHANNELS_MAX);
    return 0;
}
