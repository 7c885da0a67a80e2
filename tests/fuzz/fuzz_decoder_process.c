/* Fuzzer of the messages of a compromised decoder process (hostile_decoder_process.h). */
#define _GNU_SOURCE

#include "tests/fuzz/hostile_decoder_process.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    face_hostile_process(bytes, size);
    return 0;
}
