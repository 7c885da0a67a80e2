/* A C program outside the tree: draws the chart of a file with the header's example. */
#include "draw_chart.c"

int main(int argc, char **argv)
{
    struct ih_context *context = NULL;
    struct ih_counts *counts = NULL;
    int is_done = argc == 3 && ih_context_open(NULL, 0, &context, NULL) == IH_OK &&
                  ih_counts_open(&counts, NULL) == IH_OK &&
                  ih_count_file(context, argv[1], counts, NULL) == IH_OK &&
                  draw_chart(counts, argv[2]);
    ih_counts_close(counts);
    ih_context_close(context);
    return !is_done;
}
