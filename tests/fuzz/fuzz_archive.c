/* Fuzzer of archives: the input is an archive, and the packets of its reader (archive_reader.h). */
#include "tests/fuzz/archive_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    read_archive(bytes, size);
    read_packets_of(bytes, size);
    return 0;
}
