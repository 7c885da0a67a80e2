/*
 * The view of many images: a line each, the name last, so that lines can be written as results
 * come, whatever the next names are.
 *
 *      pixels  luma              mean  low %  high %  name
 *     480x320  ▃▅▇█▆▄▃▂▁▁▁▁▁▁▁▁  101.5   0.40    1.25  samples/scene.png
 *
 * A wide terminal gets more columns. The shares are of pixels with any clipped colour channel.
 */
#include "output/text_name.h"
#include "output/text_parts.h"
#include "output/text_plot.h"

#include "base/text.h"

#include <inttypes.h>

/* From how many columns on there is room for what, with 28 or more left for the name. */
enum { HAS_SPREAD = 100, HAS_WIDE_CURVE = 120, HAS_ENTROPY = 132, NAME_LEAST = 16 };

enum { CURVE = 16, WIDE_CURVE = 32, SIZE_MAX_TEXT = 48 };

static unsigned curve_columns(const struct ih_text *s)
{
    return s->columns >= HAS_WIDE_CURVE ? WIDE_CURVE : CURVE;
}

/* What of a line comes before the name. */
static unsigned columns_taken(const struct ih_text *s)
{
    return 38 + curve_columns(s) + (s->columns >= HAS_SPREAD ? 16 : 0) +
           (s->columns >= HAS_ENTROPY ? 9 : 0);
}

static void put_heading(const struct ih_text *s)
{
    fprintf(s->stream, "%s%11s  %-*s   mean", ih_text_style(s, IH_ANSI_BOLD), "pixels",
            (int)curve_columns(s), "luma");
    if (s->columns >= HAS_SPREAD)
        fputs("  stddev  median", s->stream);
    if (s->columns >= HAS_ENTROPY)
        fputs("  entropy", s->stream);
    fprintf(s->stream, "  low %%  high %%  name%s\n", ih_text_style(s, IH_ANSI_PLAIN));
}

static void put_size(const struct ih_text *s, const struct ih_result *r)
{
    char size[SIZE_MAX_TEXT];
    if (r->is_total)
        snprintf(size, sizeof size, "%" PRIu64 " image%s", r->n_images,
                 r->n_images == 1 ? "" : "s");
    else
        snprintf(size, sizeof size, "%" PRIu64 "x%" PRIu64, r->info.width, r->info.height);
    fprintf(s->stream, "%11s  ", size);
}

static void put_numbers(const struct ih_text *s, const struct ih_result *r)
{
    const struct ih_histogram *h = &r->histogram;
    struct ih_stats t;
    char low[IH_PERCENT_MAX], high[IH_PERCENT_MAX];
    ih_stats_compute(h, IH_LUMA, &r->spec, &t);
    fprintf(s->stream, "  %5.1f", t.mean);
    if (s->columns >= HAS_SPREAD)
        fprintf(s->stream, "  %6.1f  %6u", t.stddev, t.percentile[3]);
    if (s->columns >= HAS_ENTROPY)
        fprintf(s->stream, "  %7.2f", t.entropy);
    fprintf(s->stream, "  %5s  %6s  ", ih_text_percent(low, h->any_low, h->n_pixels),
            ih_text_percent(high, h->any_high, h->n_pixels));
}

static void put_name(const struct ih_text *s, const struct ih_result *r)
{
    char name[IH_ESCAPED_MAX];
    unsigned taken = columns_taken(s);
    unsigned left = s->columns > taken + NAME_LEAST ? s->columns - taken : NAME_LEAST;
    ih_escape(name, sizeof name, r->path);
    ih_text_put_short(s->stream, name, s->options.columns ? left : 0, s->options.unicode);
    putc('\n', s->stream);
}

void ih_text_line(struct ih_text *s, const struct ih_result *r)
{
    if (s->is_first_line)
        put_heading(s);
    s->is_first_line = false;
    fputs(r->is_total ? ih_text_style(s, IH_ANSI_BOLD) : "", s->stream);
    put_size(s, r);
    if (r->histogram.n_pixels > 0) {
        ih_plot_put_line(s->stream, &r->histogram, IH_LUMA, curve_columns(s), s->options.unicode);
        put_numbers(s, r);
    } else {
        fprintf(s->stream, "%-*s", (int)(columns_taken(s) - 13), "no pixels");
    }
    put_name(s, r);
    fputs(r->is_total ? ih_text_style(s, IH_ANSI_PLAIN) : "", s->stream);
}
