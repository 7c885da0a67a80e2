/*
 * The fuzzers of decoders skip HEIF, JPEG XL, JPEG 2000 and FITS, unless the environment sets
 * FUZZ_LIBRARIES. Libraries that are not instrumented do nearly all of their decoding. Fuzzing
 * finds the libraries' own faults, such as leaks and asserts, from which decoder processes protect.
 * Include this in one file of a program.
 */
#ifndef IH_TESTS_LEFT_OUT_H
#define IH_TESTS_LEFT_OUT_H

#include "decode/decoder.h"

#include <stdlib.h>

/* Known leaks of libraries on damaged files. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libheif.so\nleak:libdav1d.so\nleak:libde265.so\nleak:libaom.so\nleak:libjxl."
           "so\nleak:libraw_r.so\nleak:libcfitsio.so\n";
}

/* The address sanitizer ignores mallopt, with which dec_heif.c finds blocks that libde265 does not
 * write. With all new memory filled alike, results at least do not vary. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_malloc_fill_size=1073741824";
}

static inline bool is_left_out(const uint8_t *bytes, size_t size)
{
    return !getenv("FUZZ_LIBRARIES") && (ih_probe_heif(bytes, size) || ih_probe_jxl(bytes, size) ||
                                         ih_probe_jp2(bytes, size) || ih_probe_fits(bytes, size));
}

#endif
