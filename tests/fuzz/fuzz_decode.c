/* Fuzzer of all decoders. The input is the content of a file. */
#include "tests/fuzz/decode_all.h"
#include "tests/fuzz/left_out.h"
#include "tests/fuzz/png_mutator.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (is_left_out(bytes, size))
        return 0;
    decode_all(bytes, size, MAX_PIXELS_FUZZ, 0);
    decode_all(bytes, size, MAX_PIXELS_FUZZ, 1 + size % IH_PIXEL_CHANNELS_MAX);
    return 0;
}
