/* Fuzzer of archives: the input is an archive, and the frames of its reader (archive_reader.h). */
#include "tests/fuzz/archive_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    read_archive(bytes, size);
    read_frames_of(bytes, size);
    return 0;
}
