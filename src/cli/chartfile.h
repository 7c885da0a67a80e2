/* Chart files: one file, or a file per input in a directory that mirrors the inputs' folders. */
#ifndef IH_CLI_CHARTFILE_H
#define IH_CLI_CHARTFILE_H

#include "chart/chart.h"
#include "histogram/result.h"

#include <stdbool.h>

enum { IH_CHART_PATH_MAX = 4096 + 512 };

struct ih_charts;

/*
 * path     if look has a format, the file for a single chart; else a directory, made if it does not
 *          exist; borrowed until close
 * look     copied
 * is_svg   a directory gets SVG files; else PNG
 *
 * Returns IH_OK, IH_USAGE (the ending of a format that is not supported) or IH_MEMORY.
 */
enum ih_status ih_charts_open(const char *path, const struct ih_chart_options *look, bool is_svg,
                              struct ih_charts **charts, struct ih_error *err);

/*
 * Refuses an input that has the name of a chart if charts go to a directory, where another input's
 * chart could replace it. Call it for the inputs of the command line before anything is written;
 * ih_charts_draw checks the others.
 *
 * Returns IH_OK or IH_CONFLICT.
 */
enum ih_status ih_charts_check_input(const struct ih_chart_options *look, const char *path,
                                     struct ih_error *err);

/*
 * Draws one chart, or keeps a copy of the result for the sheet. A single chart stays in a temporary
 * file until ih_charts_commit, because a second input is an error.
 *
 * comparison   drawn instead of the result, which is its first side; NULL: none
 * target       char [size_bytes]; receives the path of the chart, for messages
 *
 * Returns IH_OK, IH_USAGE (a second input for a single chart, too many for a sheet), IH_CONFLICT
 * (the chart would replace its input, or in a directory a link or device),
 * IH_IO, IH_LIMIT (the path is too long) or IH_MEMORY.
 */
enum ih_status ih_charts_draw(struct ih_charts *charts, const struct ih_result *result,
                              const struct ih_comparison *comparison, char *target,
                              size_t size_bytes, struct ih_error *err);

/* The first character in the names on the charts so far that their font lacks; 0: none, or the
 * charts are SVG. */
unsigned long ih_charts_lacking(const struct ih_charts *charts);

/* Whether the last error is that of a closed pipe. */
bool ih_charts_has_lost_reader(const struct ih_charts *charts);

/* True: a single chart, not a directory. With --total it is the total's. */
bool ih_charts_is_one(const struct ih_charts *charts);

/* Draws the sheet, if there is one, and gives a single chart its name. title: of a sheet. */
enum ih_status ih_charts_commit(struct ih_charts *charts, const char *title, struct ih_error *err);

/* Removes the temporary file and blocks later calls, so that only exiting may follow. Threads: any.
 */
void ih_charts_unlink(struct ih_charts *charts);

/* Removes an uncommitted file. NULL is allowed for this call and the one above. */
void ih_charts_close(struct ih_charts *charts);

#endif
