#include "output/chart/path.h"

#include <stdlib.h>

/* Enough for one glyph without growing; a step curve of 256 bins takes two doublings more. */
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

static bool reserve_one(struct ih_path *path)
{
    if (path->n_points < path->capacity)
        return true;
    size_t capacity = path->capacity ? path->capacity * 2 : FIRST_CAPACITY;
    if (capacity > SIZE_MAX / sizeof *path->points)
        return false;
    struct ih_path_point *grown = realloc(path->points, capacity * sizeof *grown);
    if (!grown)
        return false;
    path->points = grown;
    path->capacity = capacity;
    return true;
}

static void append(struct ih_path *path, struct ih_path_point point)
{
    if (!reserve_one(path)) {
        path->failed = true;
        return;
    }
    path->points[path->n_points++] = point;
}

void ih_path_move(struct ih_path *path, int32_t x, int32_t y)
{
    append(path, (struct ih_path_point){x, y, true});
}

void ih_path_line(struct ih_path *path, int32_t x, int32_t y)
{
    append(path, (struct ih_path_point){x, y, false});
}

void ih_path_rectangle(struct ih_path *path, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    ih_path_move(path, x0, y0);
    ih_path_line(path, x1, y0);
    ih_path_line(path, x1, y1);
    ih_path_line(path, x0, y1);
}
