#define _DEFAULT_SOURCE /* ru_maxrss: POSIX has getrusage without it */

#include "cli/run_report.h"

#include "base/clock.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

void ih_run_report_init(struct ih_run_report *s)
{
    memset(s, 0, sizeof *s);
    s->started_ns = s->ended_ns = ih_clock_ns();
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void add_counter(struct ih_run_report *s, const struct ih_result *r)
{
    for (size_t i = 0; i < s->n_counters; i++) {
        struct ih_counter *c = &s->counters[i];
        if (is_same(c->device, r->counted_by) && is_same(c->kernel, r->kernel)) {
            c->n_images++;
            return;
        }
    }
    if (s->n_counters < IH_COUNTERS_MAX)
        s->counters[s->n_counters++] = (struct ih_counter){r->counted_by, r->kernel, 1};
    else
        s->n_other_images++;
}

void ih_run_report_add(struct ih_run_report *s, const struct ih_result *r)
{
    s->times.read_ns += r->times.read_ns;
    s->times.decode_ns += r->times.decode_ns;
    s->times.count_ns += r->times.count_ns;
    if (r->status != IH_OK) {
        s->n_failed++;
        return;
    }
    s->n_done++;
    s->n_pixels += r->histogram.n_pixels;
    add_counter(s, r);
}

void ih_run_report_print(const struct ih_run_report *s, FILE *f)
{
    uint64_t n_inputs = s->n_done + s->n_failed;
    if (s->n_failed > 0 && n_inputs > 1)
        fprintf(f, "imghist: %" PRIu64 " of %" PRIu64 " inputs failed\n", s->n_failed, n_inputs);
    else if (n_inputs == 0)
        fprintf(f, "imghist: no images found, %" PRIu64 " other files skipped\n", s->n_skipped);
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static void print_counters(const struct ih_run_report *s, FILE *f)
{
    bool is_one = s->n_counters == 1;
    for (size_t i = 0; i < s->n_counters; i++) {
        const struct ih_counter *c = &s->counters[i];
        fprintf(f, "  counted by %s, kernel %s", c->device ? c->device : "?",
                c->kernel ? c->kernel : "?");
        if (!is_one)
            fprintf(f, ": %" PRIu64 " image%s", c->n_images, c->n_images == 1 ? "" : "s");
        putc('\n', f);
    }
    if (s->n_other_images)
        fprintf(f, "  counted by others: %" PRIu64 " images\n", s->n_other_images);
}

void ih_run_report_print_all(const struct ih_run_report *s, FILE *f)
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
    fprintf(f, "  decoding   %10.3f s  > of all threads together\n", seconds(s->times.decode_ns));
    fprintf(f, "  counting   %10.3f s /\n", seconds(s->times.count_ns));
    fprintf(f, "  writing    %10.3f s\n", seconds(s->write_ns));
    if (getrusage(RUSAGE_SELF, &usage) == 0) /* in KiB, on Linux */
        fprintf(f, "  memory     %10.1f MB at most\n", (double)usage.ru_maxrss * 1.024e-3);
    print_counters(s, f);
}
