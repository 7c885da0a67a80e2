/*
 * What fuzzers of decoders leave out: HEIF and JPEG XL, unless FUZZ_LIBRARIES is set in the
 * environment. Next to all of their decoding is done by libraries that are not instrumented, and
 * what is found is theirs: leaks, asserts and blocks that nobody wrote, which is what these
 * formats' helper processes are for. Include it in one file of a program.
 */
#ifndef IH_TESTS_LEFT_OUT_H
#define IH_TESTS_LEFT_OUT_H

#include "decode/decoder.h"

#include <stdlib.h>

/* Leaks of libraries, on damaged files. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libheif.so\nleak:libdav1d.so\nleak:libde265.so\nleak:libaom.so\nleak:libjxl.so\n";
}

static inline bool is_left_out(const uint8_t *bytes, size_t size)
{
    return !getenv("FUZZ_LIBRARIES") && (ih_probe_heif(bytes, size) || ih_probe_jxl(bytes, size));
}

#endif
