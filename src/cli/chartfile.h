/*
 * Where charts go: one file, or one file per input in a directory that mirrors the inputs' folders.
 */
#ifndef IH_CLI_CHARTFILE_H
#define IH_CLI_CHARTFILE_H

#include "counts/result.h"
#include "output/chart/chart.h"

#include <stdbool.h>

enum { IH_CHART_PATH_MAX = 4096 + 512 };

/* What is put behind an input's name in a directory of charts. */
#define IH_CHART_SUFFIX ".hist.png"

struct ih_charts;

/*
 * path   the file, for one input, where look has a format; else a directory for PNGs, made where it
 *        does not exist; borrowed until close
 * look   copied
 *
 * Returns IH_OK, IH_USAGE (the ending of a format that is not written) or IH_MEMORY.
 */
enum ih_status ih_charts_open(const char *path, const struct ih_chart_options *look,
                              struct ih_charts **charts, struct ih_error *err);

/* Whether a file is called as the chart of an input is, in small or capital letters, which some
 * file systems do not tell apart. */
bool ih_charts_is_name(const char *path);

/*
 * Whether an input may be charted: in a directory not one that has the name of a chart, for it
 * could be the next input's chart. Inputs of the command line are asked for before anything is
 * written; ih_charts_draw asks again, for those of a list.
 *
 * Returns IH_OK or IH_CONFLICT.
 */
enum ih_status ih_charts_check_input(const struct ih_chart_options *look, const char *path,
                                     struct ih_error *err);

/*
 * Draws one chart. A single file stays temporary until ih_charts_commit, since a second input would
 * make it wrong.
 *
 * target   char [size_bytes]; what the chart's file is called, for messages
 *
 * Returns IH_OK, IH_USAGE (a second input for one file), IH_CONFLICT (the chart would replace its
 * input, or in a directory a file that is no chart of ours), IH_IO, IH_LIMIT (the path is too long)
 * or IH_MEMORY.
 */
enum ih_status ih_charts_draw(struct ih_charts *charts, const struct ih_result *result,
                              char *target, size_t size_bytes, struct ih_error *err);

/* True: one file for one chart, which with --total is the total's. */
bool ih_charts_is_one(const struct ih_charts *charts);

enum ih_status ih_charts_commit(struct ih_charts *charts, struct ih_error *err);

/* Removes the temporary file from the disk and lets no other be made: only exiting may follow. From
 * any thread. */
void ih_charts_unlink(struct ih_charts *charts);

/* Removes what is not committed. NULL is allowed, here and above. */
void ih_charts_close(struct ih_charts *charts);

#endif
