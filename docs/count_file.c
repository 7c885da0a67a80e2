#include <imghist.h>
#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct ih_context *context = NULL;
    struct ih_counts *counts = NULL;
    struct ih_error err;
    struct ih_stats luma;
    int code = 1;
    if (argc == 2 && ih_context_open(NULL, 0, &context, &err) == IH_OK &&
        ih_counts_open(&counts, &err) == IH_OK &&
        ih_count_file(context, argv[1], counts, &err) == IH_OK &&
        ih_counts_stats(counts, IH_LUMA, &luma, sizeof luma, &err) == IH_OK) {
        printf("%" PRIu64 " pixels, mean luma %.3f\n", luma.count, luma.mean);
        code = 0;
    } else if (argc == 2) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
    }
    ih_counts_close(counts);
    ih_context_close(context);
    return code;
}
