/*
 * Paths, and antialiasing by exact coverage.
 *
 * The coverage of a pixel is the exact area that the shape covers: a bar 3.6 pixels wide looks 3.6
 * pixels wide. The method is signed areas (FreeType's smooth rasterizer; font-rs by Raph Levien):
 * an edge adds to each pixel that it crosses the change of coverage from the pixel before, and a
 * running sum along the row gives the coverage.
 *
 * An edge is cut where it crosses a row or a column, and the cut is rounded to 1/256 of a pixel.
 * Neighbouring pieces share the rounded point, so outlines stay closed and nothing leaks along the
 * row. A winding number of 2 counts as 1 and the sign of a sum is ignored: the nonzero rule, as far
 * as one sum per pixel can express it.
 *
 * Rejected: supersampling (16 times the work for 16 levels); the rasterizer of stb_truetype (slow
 * for areas, and the last bit of its float values depends on the compiler).
 */
#include "chart/path.h"

#include "histogram/pixels.h"

#include <stdlib.h>

/* ---- paths ---- */

/* Enough for one glyph; a step curve of 256 bins needs two doublings more. */
enum { FIRST_CAPACITY = 256 };

void ih_path_clear(struct ih_path *path)
{
    path->n_points = 0;
    path->failed = false;
}

void ih_path_reset(struct ih_path *path)
{
    free(path->points);
    *path = (struct ih_path){0};
}

static void path_append(struct ih_path *path, struct ih_path_point point)
{
    if (path->n_points == path->capacity) {
        size_t capacity = path->capacity ? path->capacity * 2 : FIRST_CAPACITY;
        struct ih_path_point *grown = capacity > SIZE_MAX / sizeof *grown
                                          ? NULL
                                          : realloc(path->points, capacity * sizeof *grown);
        if (!grown) {
            path->failed = true;
            return;
        }
        path->points = grown;
        path->capacity = capacity;
    }
    path->points[path->n_points++] = point;
}

void ih_path_move(struct ih_path *path, int32_t x, int32_t y)
{
    path_append(path, (struct ih_path_point){x, y, true});
}

void ih_path_line(struct ih_path *path, int32_t x, int32_t y)
{
    path_append(path, (struct ih_path_point){x, y, false});
}

void ih_path_rectangle(struct ih_path *path, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    ih_path_move(path, x0, y0);
    ih_path_line(path, x1, y0);
    ih_path_line(path, x1, y1);
    ih_path_line(path, x0, y1);
}

/* An edge from top to bottom. turn is 1 if the outline goes down along it, -1 if it goes up. */
struct ih_edge {
    int32_t x0, y0, x1, y1, turn;
};

bool ih_coverage_init(struct ih_coverage *c, unsigned width, unsigned height)
{
    *c = (struct ih_coverage){.width = (int32_t)width, .height = (int32_t)height};
    c->sums = calloc((size_t)width + 2, sizeof *c->sums);
    c->spans = calloc(width, sizeof *c->spans);
    if (c->sums && c->spans)
        return true;
    ih_coverage_reset(c);
    return false;
}

void ih_coverage_reset(struct ih_coverage *c)
{
    free(c->active);
    free(c->edges);
    free(c->spans);
    free(c->sums);
    *c = (struct ih_coverage){0};
}

static int32_t clamp(int32_t v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* ---- coverage: edges of a path ---- */

static bool reserve_edges(struct ih_coverage *c, size_t n)
{
    size_t edges_bytes = 0, active_bytes = 0;
    if (n <= c->edge_capacity)
        return true;
    if (!ih_size_multiply(n, sizeof *c->edges, &edges_bytes) ||
        !ih_size_multiply(n, sizeof *c->active, &active_bytes))
        return false;
    free(c->edges);
    free(c->active);
    c->edges = malloc(edges_bytes);
    c->active = malloc(active_bytes);
    c->edge_capacity = c->edges && c->active ? n : 0;
    return c->edge_capacity > 0;
}

/* Adds the edge from p to q. Level edges cover nothing; they and edges above or below the canvas
 * are left out. */
static void take_edge(struct ih_coverage *c, const struct ih_path_point *p,
                      const struct ih_path_point *q)
{
    bool down = p->y < q->y;
    const struct ih_path_point *top = down ? p : q, *bottom = down ? q : p;
    if (top->y == bottom->y || bottom->y <= 0 || top->y >= c->height * IH_SUBPIXELS)
        return;
    c->edges[c->n_edges++] = (struct ih_edge){top->x, top->y, bottom->x, bottom->y, down ? 1 : -1};
    int32_t low = p->x < q->x ? p->x : q->x, high = p->x < q->x ? q->x : p->x;
    int32_t first = clamp(low / IH_SUBPIXELS, 0, c->width - 1);
    int32_t last = clamp(high / IH_SUBPIXELS, 0, c->width - 1);
    c->first = first < c->first ? first : c->first;
    c->last = last > c->last ? last : c->last;
}

static int compare_tops(const void *a, const void *b)
{
    const struct ih_edge *e = a, *f = b;
    return (e->y0 > f->y0) - (e->y0 < f->y0);
}

bool ih_coverage_begin(struct ih_coverage *c, const struct ih_path *path)
{
    size_t begin = 0;
    if (path->failed || !reserve_edges(c, path->n_points))
        return false;
    c->n_edges = c->n_active = c->next_edge = 0;
    c->first = c->width - 1;
    c->last = 0;
    for (size_t i = 0; i < path->n_points; i++) {
        bool ends = i + 1 == path->n_points || path->points[i + 1].begins;
        take_edge(c, &path->points[i], &path->points[ends ? begin : i + 1]);
        if (ends)
            begin = i + 1;
    }
    if (c->n_edges > 0) {
        qsort(c->edges, c->n_edges, sizeof *c->edges, compare_tops);
        c->row = c->edges[0].y0 < 0 ? 0 : c->edges[0].y0 / IH_SUBPIXELS;
    }
    return true;
}

/* ---- coverage: from edges to sums ---- */

/* Returns a * b / n, rounded to the nearest integer; n > 0. */
static int32_t proportion(int32_t a, int32_t b, int32_t n)
{
    int64_t product = (int64_t)a * b;
    return (int32_t)((product + (product < 0 ? -n : n) / 2) / n);
}

static int32_t edge_x(const struct ih_edge *e, int32_t y)
{
    if (e->x0 == e->x1)
        return e->x0;
    return e->x0 + proportion(e->x1 - e->x0, y - e->y0, e->y1 - e->y0);
}

/*
 * Adds a piece inside one pixel: x goes from a to b (0 to 256) while y moves by dy. It covers dy
 * times its mean distance to the right side in this pixel, and dy times the full width in all
 * further ones. Sums are twice the area, which keeps (a + b) / 2 an integer: a fully covered pixel
 * has 2 * 256 * 256.
 */
static void add_piece(int32_t *sum, int32_t a, int32_t b, int32_t dy)
{
    sum[0] += dy * (2 * IH_SUBPIXELS - a - b);
    sum[1] += dy * (a + b);
}

/* Adds a piece inside one row, cut where it crosses columns. Its direction along x is irrelevant.
 */
static void add_slope(int32_t *sums, int32_t low, int32_t high, int32_t dy)
{
    int32_t column = low / IH_SUBPIXELS;
    int32_t x = low, done = 0;
    for (; (column + 1) * IH_SUBPIXELS < high; column++) {
        int32_t side = (column + 1) * IH_SUBPIXELS;
        int32_t reached = proportion(dy, side - low, high - low);
        add_piece(sums + column, x - column * IH_SUBPIXELS, IH_SUBPIXELS, reached - done);
        x = side;
        done = reached;
    }
    int32_t left = column * IH_SUBPIXELS;
    add_piece(sums + column, x - left, high - left, dy - done);
}

/* Adds the part of an edge in the row that begins at `top`. */
static void add_edge(const struct ih_coverage *c, const struct ih_edge *e, int32_t top)
{
    int32_t right = c->width * IH_SUBPIXELS;
    int32_t ya = e->y0 > top ? e->y0 : top;
    int32_t yb = e->y1 < top + IH_SUBPIXELS ? e->y1 : top + IH_SUBPIXELS;
    int32_t xa = clamp(edge_x(e, ya), 0, right);
    int32_t xb = clamp(edge_x(e, yb), 0, right);
    add_slope(c->sums, xa < xb ? xa : xb, xa < xb ? xb : xa, e->turn * (yb - ya));
}

/* ---- coverage: from sums to spans ---- */

/* Returns the first column from x on that changes the running sum, or end. */
static int32_t next_change(const int32_t *sums, int32_t x, int32_t end)
{
    enum { STRIDE = 4 }; /* nearly all sums are 0, so four are tested at once */
    while (x + STRIDE <= end && (sums[x] | sums[x + 1] | sums[x + 2] | sums[x + 3]) == 0)
        x += STRIDE;
    while (x < end && sums[x] == 0)
        x++;
    return x;
}

/* Turns the running sum of a row into spans. Clears the sums, with the two after the last column.
 */
static size_t sum_up(struct ih_coverage *c)
{
    const int32_t end = c->last + 1;
    int32_t sum = 0;
    size_t n = 0;
    for (int32_t x = next_change(c->sums, c->first, end); x < end;) {
        int32_t first = x;
        sum += c->sums[x];
        c->sums[x] = 0;
        x = next_change(c->sums, x + 1, end);
        uint32_t weight = (uint32_t)(sum < 0 ? -sum : sum) / 2;
        if (weight > 0)
            c->spans[n++] =
                (struct ih_coverage_span){first, x, weight < IH_COVERED ? weight : IH_COVERED};
    }
    c->sums[end] = c->sums[end + 1] = 0;
    return n;
}

bool ih_coverage_next(struct ih_coverage *c, struct ih_coverage_row *row)
{
    int32_t top = c->row * IH_SUBPIXELS;
    if (c->row >= c->height || (c->next_edge == c->n_edges && c->n_active == 0))
        return false;
    while (c->next_edge < c->n_edges && c->edges[c->next_edge].y0 < top + IH_SUBPIXELS)
        c->active[c->n_active++] = &c->edges[c->next_edge++];
    size_t n_kept = 0;
    for (size_t i = 0; i < c->n_active; i++) {
        struct ih_edge *e = c->active[i];
        add_edge(c, e, top);
        if (e->y1 > top + IH_SUBPIXELS)
            c->active[n_kept++] = e;
    }
    c->n_active = n_kept;
    *row = (struct ih_coverage_row){c->row++, sum_up(c), c->spans};
    return true;
}
