/*
 * The footer: a legend that names each plane by its colour and gives mean and standard deviation,
 * in columns of equal width, and under it what else is known of the image, in as many rows as that
 * takes. chart_layout.c decides what of it there is room for.
 */
#include "output/chart/parts.h"

#include <string.h>

/* In hundredths of the em. */
enum {
    SWATCH = 78,     /* a square */
    SWATCH_GAP = 45, /* to the name */
    WORD_GAP = 60,   /* from the name to its numbers */
    ENTRY_GAP = 180  /* least distance of two entries */
};

/* ---- legend ---- */

static int32_t longest_name(const struct ih_chart *chart)
{
    int32_t longest = 0;
    for (unsigned i = 0; i < chart->facts.n_entries; i++) {
        const int32_t width = ih_chart_width(chart, chart->facts.entries[i].name);
        longest = width > longest ? width : longest;
    }
    return longest;
}

/* Where the numbers begin: behind the name, or below those of the row above. */
static int32_t numbers_x(const struct ih_chart *chart, const struct ih_chart_entry *entry)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t name =
        l->legend_rows > 1 ? longest_name(chart) : ih_chart_width(chart, entry->name);
    return ih_chart_ems(l, SWATCH + SWATCH_GAP) + name + ih_chart_ems(l, WORD_GAP);
}

int32_t ih_chart_entry_gap(const struct ih_chart *chart)
{
    return ih_chart_ems(&chart->layout, ENTRY_GAP);
}

int32_t ih_chart_entry_width(const struct ih_chart *chart, const struct ih_chart_entry *entry,
                             bool with_numbers)
{
    if (with_numbers && entry->numbers[0])
        return numbers_x(chart, entry) + ih_chart_width(chart, entry->numbers);
    return ih_chart_ems(&chart->layout, SWATCH + SWATCH_GAP) + ih_chart_width(chart, entry->name);
}

static struct ih_colour plane_colour(const struct ih_chart *chart, unsigned plane)
{
    const struct ih_chart_theme *t = chart->theme;
    const struct ih_colour channels[] = {t->red, t->green, t->blue};
    if (plane == IH_LUMA)
        return t->luma;
    bool is_gray = ih_colour_channels(chart->result->histogram.n_channels) == 1;
    return is_gray ? t->gray : channels[plane];
}

/* A square, or for luma a line. */
static void draw_swatch(struct ih_chart *chart, int32_t x, int32_t baseline, unsigned plane)
{
    const struct ih_chart_layout *l = &chart->layout;
    int32_t size = ih_chart_ems(l, SWATCH) / IH_SUBPIXELS, left = x / IH_SUBPIXELS;
    int32_t bottom = baseline, top = bottom - size;
    if (plane == IH_LUMA) {
        int32_t thickness = 2 * l->hair;
        top += (size - thickness) / 2;
        bottom = top + thickness;
    }
    ih_chart_fill_box(chart, left, top, left + size, bottom, plane_colour(chart, plane), 255);
}

static void draw_entry(struct ih_chart *chart, int32_t x, int32_t baseline,
                       const struct ih_chart_entry *entry)
{
    const struct ih_chart_layout *l = &chart->layout;
    draw_swatch(chart, x, baseline, entry->plane);
    ih_chart_write(chart, x + ih_chart_ems(l, SWATCH + SWATCH_GAP), baseline, IH_ALIGN_LEFT,
                   chart->theme->text, entry->name);
    if (l->legend_columns > 0 && entry->numbers[0])
        ih_chart_write(chart, x + numbers_x(chart, entry), baseline, IH_ALIGN_LEFT,
                       chart->theme->muted, entry->numbers);
}

static void draw_legend(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t gap = ih_chart_entry_gap(chart), left = l->margin * IH_SUBPIXELS;
    const int32_t whole = (l->right - l->margin) * IH_SUBPIXELS + gap;
    int32_t x = left;
    for (int32_t i = 0; i < (int32_t)chart->facts.n_entries && l->legend_rows > 0; i++) {
        const struct ih_chart_entry *entry = &chart->facts.entries[i];
        int32_t row = 0;
        if (l->legend_columns > 0) {
            row = i / l->legend_columns;
            x = left + whole / l->legend_columns * (i % l->legend_columns);
        }
        draw_entry(chart, x, l->legend_y + row * l->row_pitch, entry);
        x += ih_chart_entry_width(chart, entry, false) + gap;
    }
}

/* ---- facts ---- */

enum { ROW_MAX = IH_CHART_FACTS_MAX * (IH_LABEL_MAX + 8) };

/* Joins as many facts from `first` on as fit in a row, at least one. Returns how many. */
static unsigned join_facts(const struct ih_chart *chart, unsigned first, int32_t width,
                           char row[ROW_MAX])
{
    static const char separator[] = "  \xc2\xb7  ";
    const struct ih_chart_facts *facts = &chart->facts;
    size_t size = 0;
    unsigned n = 0;
    for (row[0] = '\0'; first + n < facts->n_facts; n++) {
        const size_t before = size;
        if (n > 0) {
            memcpy(row + size, separator, sizeof separator);
            size += sizeof separator - 1;
        }
        strcpy(row + size, facts->fact[first + n]);
        size += strlen(facts->fact[first + n]);
        if (n > 0 && ih_chart_width(chart, row) > width) {
            row[before] = '\0';
            break;
        }
    }
    return n;
}

int32_t ih_chart_count_fact_rows(const struct ih_chart *chart, int32_t width)
{
    char row[ROW_MAX];
    int32_t n_rows = 0;
    for (unsigned i = 0; i < chart->facts.n_facts; n_rows++)
        i += join_facts(chart, i, width, row);
    return n_rows;
}

static void draw_facts(struct ih_chart *chart)
{
    const struct ih_chart_layout *l = &chart->layout;
    const int32_t width = (l->right - l->margin) * IH_SUBPIXELS;
    char row[ROW_MAX];
    for (unsigned i = 0, n_rows = 0; (int32_t)n_rows < l->facts_rows; n_rows++) {
        i += join_facts(chart, i, width, row);
        ih_glyphs_shorten(chart->glyphs, (unsigned)l->em, width, row);
        ih_chart_write(chart, l->margin * IH_SUBPIXELS, l->facts_y + (int32_t)n_rows * l->row_pitch,
                       IH_ALIGN_LEFT, chart->theme->muted, row);
    }
}

void ih_chart_draw_footer(struct ih_chart *chart)
{
    draw_legend(chart);
    draw_facts(chart);
}
