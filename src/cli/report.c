#define _DEFAULT_SOURCE /* ru_maxrss is not in POSIX */

#include "cli/report.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void add_kernel(struct ih_run_report *s, const struct ih_result *r)
{
    for (size_t i = 0; i < s->n_kernels; i++) {
        struct ih_used_kernel *k = &s->kernels[i];
        if (is_same(k->device, r->counted_by) && is_same(k->kernel, r->kernel)) {
            k->n_images++;
            return;
        }
    }
    if (s->n_kernels < IH_USED_KERNELS_MAX)
        s->kernels[s->n_kernels++] = (struct ih_used_kernel){r->counted_by, r->kernel, 1};
    else
        s->n_other_images++;
}

void ih_report_add(struct ih_run_report *s, const struct ih_result *r)
{
    s->times.read_ns += r->times.read_ns;
    s->times.decode_ns += r->times.decode_ns;
    s->times.count_ns += r->times.count_ns;
    if (r->status != IH_OK) {
        s->n_failed++;
        return;
    }
    s->n_done += r->is_total ? r->n_images : 1;
    s->n_failed += r->n_failed;
    s->n_pixels += r->histogram.n_pixels;
    if (!r->is_read)
        add_kernel(s, r);
}

unsigned ih_report_few_bits(const struct ih_result *r)
{
    const unsigned n_colours = ih_colour_channels(r->histogram.n_channels);
    unsigned largest = 0, bits = 8;
    if (r->info.source_depth != 16)
        return 0;
    for (unsigned p = 0; p < n_colours; p++)
        for (unsigned v = largest; v < IH_BINS; v++)
            largest = r->histogram.bins[p][v] ? v : largest;
    while (bits < 15 && (((1u << bits) - 1) * 255 + 32767) / 65535 < largest)
        bits++;
    return largest > 0 && bits < 15 ? bits : 0;
}

/* Begins the line, or continues it. */
static void next_part(FILE *f, bool *has_begun)
{
    fputs(*has_begun ? "; " : "imghist: ", f);
    *has_begun = true;
}

/* A file in a list is never skipped, so only an empty list has no inputs. */
void ih_report_print_none(const struct ih_run_report *s, FILE *f)
{
    char path[IH_SHOWN_MAX];
    fputs("no images found", f);
    if (!s->list_path)
        return;
    ih_escape_short(path, sizeof path, s->list_path);
    fprintf(f, ": the list %s is empty", path);
}

void ih_report_print(const struct ih_run_report *s, FILE *f)
{
    const uint64_t n_inputs = s->n_done + s->n_failed;
    bool has_begun = false;
    if (s->has_shown_progress) {
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " image%s counted in %.1f s", s->n_done, s->n_done == 1 ? "" : "s",
                (double)(s->ended_ns - s->started_ns) * 1e-9);
    }
    if (s->n_failed > 0 && n_inputs > 1) {
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " of %" PRIu64 " inputs failed", s->n_failed, n_inputs);
    } else if (n_inputs == 0) {
        next_part(f, &has_begun);
        ih_report_print_none(s, f);
    }
    if (s->n_more_images > 1) {
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " inputs have more images than the first, which was counted",
                s->n_more_images);
    }
    if (s->n_extra_samples > 1) {
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " inputs have extra samples, which were not counted",
                s->n_extra_samples);
    }
    if (s->n_few_values > 1) {
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " inputs have 16-bit samples in few bins", s->n_few_values);
    }
    if (s->n_doubles > 1) {
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " inputs have the name of an earlier one, and count too",
                s->n_doubles);
    }
    if (s->n_charts > 0) {
        char path[IH_SHOWN_MAX];
        ih_escape_short(path, sizeof path, s->chart_path);
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " chart%s written: %s", s->n_charts, s->n_charts == 1 ? "" : "s",
                path);
    }
    if (s->n_skipped > 0) {
        next_part(f, &has_begun);
        fprintf(f, "%" PRIu64 " other file%s skipped%s", s->n_skipped, s->n_skipped == 1 ? "" : "s",
                s->names_skipped    ? ""
                : s->n_skipped == 1 ? " (--list-skipped names it)"
                                    : " (--list-skipped names them)");
    }
    if (has_begun)
        putc('\n', f);
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

void ih_report_print_full(const struct ih_run_report *s, FILE *f)
{
    const double elapsed = seconds(s->ended_ns - s->started_ns + 1); /* not 0 */
    const double megapixels = (double)s->n_pixels * 1e-6;
    const uint64_t n_files = s->n_done + s->n_failed;
    struct rusage usage;
    fprintf(f, "imghist: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " skipped\n", s->n_done,
            s->n_failed, s->n_skipped);
    fprintf(f, "  in         %10.3f s, %.1f files a second\n", elapsed, (double)n_files / elapsed);
    fprintf(f, "  megapixels %10.1f, %.1f a second\n", megapixels, megapixels / elapsed);
    fprintf(f, "  reading    %10.3f s \\\n", seconds(s->times.read_ns));
    fprintf(f, "  decoding   %10.3f s  > sum over all threads\n", seconds(s->times.decode_ns));
    fprintf(f, "  counting   %10.3f s /\n", seconds(s->times.count_ns));
    fprintf(f, "  writing    %10.3f s\n", seconds(s->write_ns));
    if (getrusage(RUSAGE_SELF, &usage) == 0) /* in KiB, on Linux */
        fprintf(f, "  memory     %10.1f MB at most\n", (double)usage.ru_maxrss * 1.024e-3);
    for (size_t i = 0; i < s->n_kernels; i++) {
        const struct ih_used_kernel *k = &s->kernels[i];
        fprintf(f, "  counted by %s, kernel %s", k->device ? k->device : "?",
                k->kernel ? k->kernel : "?");
        if (s->n_kernels > 1)
            fprintf(f, ": %" PRIu64 " image%s", k->n_images, k->n_images == 1 ? "" : "s");
        putc('\n', f);
    }
    if (s->n_other_images)
        fprintf(f, "  counted by others: %" PRIu64 " images\n", s->n_other_images);
}
