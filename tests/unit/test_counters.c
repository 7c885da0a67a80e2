/* Every kernel against the plain C reference, on inputs that a fuzzer found and on random ones. In
 * a build with CUDA on a machine with a GPU that includes the GPU kernels. */
#include "tests/support/test.h"

#include "tests/fuzz/every_counter.h"
#include "tests/support/each_file.h"

static void replay_counting(const struct file *file)
{
    count_with_every_counter(file->bytes, file->size);
}

TEST(crashers)
{
    for_each("crashers", "fuzz_count-", replay_counting);
}

/* Random headers, and pixels from one value to all values: runs, similar neighbours, clipped and
 * transparent pixels occur in many mixtures. */
TEST(random_jobs)
{
    enum { JOBS = 3000, DATA_BYTES = 700 };
    uint8_t bytes[HEADER_BYTES + DATA_BYTES];
    uint32_t random = 1;
    for (unsigned job = 0; job < JOBS; job++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[i] = (uint8_t)(random >> 24);
            if (i >= HEADER_BYTES && job % 3 > 0) /* similar, or two values */
                bytes[i] = (uint8_t)(job % 3 == 1 ? 100 + bytes[i] % 20 : bytes[i] % 2 * 255);
            if (i >= HEADER_BYTES && job % 2 == 0 && i % 16 != 0) /* runs */
                bytes[i] = bytes[i - 4];
        }
        if (job % 100 == 99)
            bytes[REPEATS_AT] = LARGE_JOB;
        count_with_every_counter(bytes, HEADER_BYTES + job * DATA_BYTES / JOBS);
    }
}
