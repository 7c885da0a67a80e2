/*
 * jpeg_validate RUNS FILE...: measures how fast one core validates JPEG files that are in memory
 * (jpeg_gpu/validate.h), and how fast it decodes them with libjpeg-turbo.
 *
 * The two take turns on each file, RUNS times. A file's time is the median; the figures are sums
 * over all files. Files that the validator refuses are left out and counted by reason.
 */
#include "jpeg_gpu/validate.h"
#include "timed_files.h"

enum { N_KINDS = 6 };

struct sum {
    const char *name;
    int n_files;
    double megapixels, megabytes, validate_s, decode_s;
};

static struct ih_jpeg_workspace *workspace;

static void time_file(const struct file *file, int n_runs, double *validate_s, double *decode_s)
{
    double validations[RUNS_MAX], decodes[RUNS_MAX];
    for (int run = 0; run < n_runs; run++) {
        struct ih_jpeg_plan plan;
        double start = now_s();
        const enum ih_jpeg_reason reason =
            ih_jpeg_validate(file->bytes, file->size, &plan, &workspace);
        if (reason != IH_JPEG_REASON_NONE)
            die(file, ih_jpeg_reason_text(reason));
        double middle = now_s();
        decode(file, 0);
        validations[run] = middle - start;
        decodes[run] = now_s() - middle;
    }
    *validate_s = median(validations, n_runs);
    *decode_s = median(decodes, n_runs);
}

static void add(struct sum *sum, const struct ih_jpeg_plan *plan, size_t size, double validate_s,
                double decode_s)
{
    sum->n_files++;
    sum->megapixels += (double)plan->width * plan->height * 1e-6;
    sum->megabytes += (double)size * 1e-6;
    sum->validate_s += validate_s;
    sum->decode_s += decode_s;
}

static void print(const struct sum *s)
{
    if (s->n_files > 0)
        printf("%-8s %6d %8.1f %8.1f %12.0f %12.0f %14.0f %8.2f\n", s->name, s->n_files,
               s->megapixels, s->megabytes, s->megapixels / s->validate_s,
               s->megabytes / s->validate_s, s->megapixels / s->decode_s,
               s->decode_s / s->validate_s);
}

int main(int argc, char **argv)
{
    static int n_left_out[IH_JPEG_N_REASONS];
    static struct sum sums[N_KINDS] = {{.name = "4:4:4"}, {.name = "4:2:2"}, {.name = "4:4:0"},
                                       {.name = "4:2:0"}, {.name = "gray"},  {.name = "all"}};
    const int n_runs = runs_of(argc, argv);
    for (int i = 2; i < argc; i++) {
        struct file file = read_file(argv[i]);
        struct ih_jpeg_plan p;
        double validate_s, decode_s;
        const enum ih_jpeg_reason reason = ih_jpeg_validate(file.bytes, file.size, &p, &workspace);
        if (reason != IH_JPEG_REASON_NONE) {
            n_left_out[reason]++;
            free(file.bytes);
            continue;
        }
        int kind = p.n_components == 1 ? 4 : (int)(p.chroma_h - 1) + 2 * (int)(p.chroma_v - 1);
        time_file(&file, n_runs, &validate_s, &decode_s);
        add(&sums[kind], &p, file.size, validate_s, decode_s);
        add(&sums[N_KINDS - 1], &p, file.size, validate_s, decode_s);
        free(file.bytes);
    }
    printf("%-8s %6s %8s %8s %12s %12s %14s %8s\n", "", "files", "MP", "MB", "check MP/s",
           "check MB/s", "libjpeg MP/s", "ratio");
    for (int k = 0; k < N_KINDS; k++)
        print(&sums[k]);
    for (int i = 0; i < IH_JPEG_N_REASONS; i++)
        if (n_left_out[i] > 0)
            printf("%d files left out: %s\n", n_left_out[i],
                   ih_jpeg_reason_text((enum ih_jpeg_reason)i));
    return 0;
}
