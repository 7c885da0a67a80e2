/* Fuzzer of --files-from and --files0-from: checks the inputs that a list gives (list_walk.h). */
#define _GNU_SOURCE

#include "tests/fuzz/list_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    walk_list(bytes, size);
    return 0;
}
