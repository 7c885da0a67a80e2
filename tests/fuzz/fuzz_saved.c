/* ih_counts_load with any bytes. The checksum and the size are made right in a copy, so that the
 * fields behind them are reached too. What is accepted must be saved as the same bytes. */
#include "imghist.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(const uint8_t *bytes, size_t n, struct ih_counts *counts, struct ih_counts *sum)
{
    uint8_t *saved;
    struct ih_summary s;
    struct ih_stats stats;
    if (ih_counts_load(counts, bytes, n, NULL) != IH_OK)
        return;
    ih_counts_summary(counts, &s, sizeof s);
    for (unsigned p = 0; p < IH_PLANES; p++)
        ih_counts_stats(counts, p, &stats, sizeof stats, NULL);
    saved = malloc(n);
    if (!saved)
        return;
    if (ih_counts_save(counts, saved, n) != n || memcmp(saved, bytes, n) != 0)
        abort();
    free(saved);
    ih_counts_add(sum, counts, NULL);
    ih_counts_add(sum, counts, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct ih_counts *counts = NULL, *sum = NULL;
    uint64_t checksum = UINT64_C(0xcbf29ce484222325);
    uint8_t *copy = malloc(size + 8);
    if (copy && ih_counts_open(&counts, NULL) == IH_OK && ih_counts_open(&sum, NULL) == IH_OK) {
        check(bytes, size, counts, sum);
        if (size > 0)
            memcpy(copy, bytes, size);
        for (unsigned i = 0; i < 4 && size >= 16; i++)
            copy[12 + i] = (uint8_t)((size + 8) >> 8 * i);
        for (size_t i = 0; i < size; i++)
            checksum = (checksum ^ copy[i]) * UINT64_C(0x100000001b3);
        for (unsigned i = 0; i < 8; i++)
            copy[size + i] = (uint8_t)(checksum >> 8 * i);
        check(copy, size + 8, counts, sum);
    }
    ih_counts_close(counts);
    ih_counts_close(sum);
    free(copy);
    return 0;
}
