/* A C program outside the tree. It counts a row of gray pixels and defines ih_ names that also
 * exist inside the library. They must not collide. */
#include <imghist.h>
#include <stdio.h>
#include <string.h>

int ih_error_set(void); /* the library must not call these */
int ih_histogram_clear(void);
int ih_png_start(void);

static int n_calls;

int ih_error_set(void)
{
    return ++n_calls;
}

int ih_histogram_clear(void)
{
    return ++n_calls;
}

int ih_png_start(void)
{
    return ++n_calls;
}

int main(void)
{
    static const unsigned char bytes[] = {1, 2, 2, 255};
    const struct ih_pixels pixels = {bytes, sizeof bytes, 1, 0, 1};
    const struct ih_settings settings = {.device = "cpu"};
    struct ih_context *context = NULL;
    struct ih_counts *counts = NULL;
    struct ih_error err = {0};
    const int is_right = ih_context_open(&settings, sizeof settings, &context, &err) == IH_OK &&
                         ih_counts_open(&counts, &err) == IH_OK &&
                         ih_count_pixels(context, &pixels, counts, &err) == IH_OK &&
                         ih_counts_bins(counts, 0)[2] == 2 &&
                         ih_count_memory(context, "not an image", 12, counts, &err) == IH_UNKNOWN &&
                         n_calls == 0;
    ih_counts_close(counts);
    ih_context_close(context);
    printf("%s %s\n", ih_version(), is_right ? "right" : err.message);
    return !is_right;
}
