/*
 * png_paths RUNS FILE...: how fast one core decodes PNG files in memory: with libpng, with the fast
 * path, with libspng if compiled in, and inflating alone with libdeflate, the fast path's limit.
 *
 * The ways take turns on each file, RUNS times. A file's time is the median; figures are sums over
 * files.
 */
#include "decode/png/chunks.h"
#include "timed_files.h"

#ifdef WITH_SPNG
#include <spng.h>
#endif

static void with_libpng(const struct file *file)
{
    decode(file, 1);
}

static void with_fast_path(const struct file *file)
{
    decode(file, UINT64_MAX);
}

static void inflate_only(const struct file *file)
{
    struct ih_source src = {0};
    struct ih_png_file f = {.src = &src, .size_max = SIZE_MAX / 2};
    struct ih_png_chunks chunks = {.file = &f};
    ih_source_open_memory(&src, file->bytes, file->size);
    if (!ih_png_read_front(&chunks) || !ih_png_read_back(&chunks))
        die(file, "not for the fast path");
    size_t size = (size_t)(ih_png_row_bytes(&chunks.image) + 1) * chunks.image.height;
    uint8_t *out = malloc(size);
    ih_png_join(&chunks);
    if (!out || !ih_png_inflate(f.bytes + chunks.data_at, chunks.data_bytes, out, size))
        die(file, "cannot inflate");
    free(out);
    ih_png_chunks_release(&chunks);
    ih_png_file_release(&f);
    ih_source_close(&src);
}

#ifdef WITH_SPNG
static void with_libspng(const struct file *file)
{
    spng_ctx *ctx = spng_ctx_new(0);
    struct ih_png_image image;
    struct spng_row_info row_info;
    ih_png_parse_header(file->bytes, &image);
    int format = image.depth == 16              ? SPNG_FMT_RGBA16
                 : ih_png_channels(&image) == 3 ? SPNG_FMT_RGB8
                                                : SPNG_FMT_RGBA8;
    static uint8_t *row;
    static size_t row_size;
    size_t wanted = (size_t)image.width * 8;
    if (wanted > row_size) {
        free(row);
        row = malloc(wanted);
        row_size = wanted;
    }
    if (image.colour == IH_PNG_GRAY || image.colour == IH_PNG_GRAY_ALPHA ||
        image.colour == IH_PNG_RGBA)
        format = SPNG_FMT_PNG; /* as stored: the fastest for libspng */
    spng_set_png_buffer(ctx, file->bytes, file->size);
    int status = spng_decode_image(ctx, NULL, 0, format, SPNG_DECODE_PROGRESSIVE);
    while (status == 0 && (status = spng_get_row_info(ctx, &row_info)) == 0)
        status = spng_decode_row(ctx, row, wanted);
    if (status != SPNG_EOI)
        die(file, spng_strerror(status));
    spng_ctx_free(ctx);
}
#endif

static const struct way {
    const char *name;
    void (*decode)(const struct file *file);
} ways[] = {
    {"libpng path", with_libpng},
#ifdef WITH_SPNG
    {"libspng", with_libspng},
#endif
    {"fast path", with_fast_path},
    {"inflating alone", inflate_only},
};

enum { N_WAYS = sizeof ways / sizeof ways[0] };

static void time_file(const struct file *file, int n_runs, double seconds[N_WAYS])
{
    double times[N_WAYS][RUNS_MAX];
    for (int run = 0; run < n_runs; run++)
        for (int w = 0; w < N_WAYS; w++) {
            double start = now_s();
            ways[w].decode(file);
            times[w][run] = now_s() - start;
        }
    for (int w = 0; w < N_WAYS; w++)
        seconds[w] = median(times[w], n_runs);
}

struct sum {
    const char *name;
    int n_files;
    double megapixels, seconds[N_WAYS];
};

static struct sum *sum_of(struct sum sums[5], const struct ih_png_image *image)
{
    if (image->depth == 16)
        return &sums[3];
    return &sums[image->colour == IH_PNG_RGB ? 0 : image->colour == IH_PNG_RGBA ? 1 : 2];
}

static void add(struct sum *sum, const struct ih_png_image *image, const double seconds[N_WAYS])
{
    sum->n_files++;
    sum->megapixels += (double)image->width * image->height * 1e-6;
    for (int w = 0; w < N_WAYS; w++)
        sum->seconds[w] += seconds[w];
}

int main(int argc, char **argv)
{
    static struct sum sums[] = {{.name = "RGB"},
                                {.name = "RGBA"},
                                {.name = "gray, palette"},
                                {.name = "16 bits"},
                                {.name = "all"}};
    const int n_runs = runs_of(argc, argv);
    int n_skipped = 0;
    for (int i = 2; i < argc; i++) {
        struct file file = read_file(argv[i]);
        struct ih_png_image image;
        double seconds[N_WAYS];
        if (file.size < IH_PNG_HEADER_BYTES || !ih_png_parse_header(file.bytes, &image)) {
            n_skipped++;
            free(file.bytes);
            continue;
        }
        time_file(&file, n_runs, seconds);
        add(sum_of(sums, &image), &image, seconds);
        add(&sums[4], &image, seconds);
        free(file.bytes);
    }
#ifdef WITH_SPNG
    printf("libspng %s\n", spng_version_string());
#endif
    printf("%-14s %6s %8s", "MP/s", "files", "MP");
    for (int w = 0; w < N_WAYS; w++)
        printf(" %20s", ways[w].name);
    putchar('\n');
    for (size_t k = 0; k < sizeof sums / sizeof sums[0]; k++) {
        if (sums[k].n_files == 0)
            continue;
        printf("%-14s %6d %8.1f", sums[k].name, sums[k].n_files, sums[k].megapixels);
        for (int w = 0; w < N_WAYS; w++)
            printf(" %20.1f", sums[k].megapixels / sums[k].seconds[w]);
        putchar('\n');
    }
    if (n_skipped)
        printf("%d files left out: interlaced, or not PNG\n", n_skipped);
    return 0;
}
