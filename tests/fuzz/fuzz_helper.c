/* Fuzzer of what a helper process may send that has been taken over (tests/fuzz/hostile_helper.h).
 */
#define _GNU_SOURCE

#include "tests/fuzz/hostile_helper.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    face_hostile_helper(bytes, size);
    return 0;
}
