/*
 * The ladder as a chart: every rung's bar beside what reading alone reached on its device.
 *
 * Rows are taken as they are reported. A bar is the rung on the first kind of data of its task,
 * which for pixels is the random one; the mark in it is the kind it was slowest on.
 */
#ifndef IH_BENCH_PICTURE_H
#define IH_BENCH_PICTURE_H

#include "bench/report.h"
#include "output/chart/chart.h"

struct ih_bench_bar; /* private */

/* All zero is a picture without rungs. Fields are private. */
struct ih_bench_picture {
    struct ih_bench_bar *bars; /* owned */
    size_t n_bars, capacity;
    bool is_short_of_memory;
};

/* Notes a row, of which nothing but the task is kept by reference. */
void ih_bench_picture_add(struct ih_bench_picture *picture, const struct ih_bench_row *row);

/*
 * Draws what was noted.
 *
 * look   as for ih_bars_draw
 * *file  owned by the caller, free() it; NULL on failure
 *
 * Returns as ih_bars_draw.
 */
enum ih_status ih_bench_picture_draw(const struct ih_bench_picture *picture,
                                     const struct ih_bench_head *head,
                                     const struct ih_chart_options *look, unsigned char **file,
                                     size_t *size_bytes, struct ih_error *err);

void ih_bench_picture_reset(struct ih_bench_picture *picture);

#endif
