/*
 * Fuzzer of all decoders: the input is a file's contents.
 *
 * HEIF and JPEG XL are left out unless FUZZ_LIBRARIES is set in the environment. Next to all of
 * their decoding is done by libraries that are not instrumented, and what is found is theirs: leaks
 * and asserts, which is what these formats' helper processes are for.
 */
#include "decode/signatures.h"
#include "tests/fuzz/decode_all.h"
#include "tests/fuzz/png_repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size); /* libFuzzer's own */

/* Leaks of libraries, on damaged files. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libheif.so\nleak:libdav1d.so\nleak:libde265.so\nleak:libaom.so\nleak:libjxl.so\n";
}

static bool is_left_out(const uint8_t *bytes, size_t size)
{
    return !getenv("FUZZ_LIBRARIES") && (ih_probe_heif(bytes, size) || ih_probe_jxl(bytes, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (is_left_out(bytes, size))
        return 0;
    decode_all(bytes, size, MAX_PIXELS_FUZZ, 0);
    decode_all(bytes, size, MAX_PIXELS_FUZZ, 1 + size % IH_CHANNELS_MAX);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, max_size);
    if (seed % 16 != 0) /* a wrong CRC has to be seen now and then */
        repair_png(bytes, size);
    return size;
}
