#include "cli/notes.h"

#include "base/path.h"
#include "base/text.h"
#include "cli/endings.h"
#include "cli/message.h"
#include "output/file.h"
#include "output/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void ih_notes_hold(struct ih_notes *n)
{
    if (!n->is_holding)
        ih_progress_hold(n->progress);
    n->is_holding = true;
}

void ih_notes_release(struct ih_notes *n)
{
    if (n->is_holding)
        ih_progress_release(n->progress);
    n->is_holding = false;
}

void ih_notes_print_line(struct ih_notes *n, const char *path, const char *text)
{
    ih_notes_hold(n);
    ih_print_error(path, text);
    ih_notes_release(n);
}

void ih_notes_print(struct ih_notes *n, const char *path, const char *text)
{
    char line[IH_MESSAGE_MAX + 8];
    if (n->options->is_quiet || n->is_checking)
        return;
    snprintf(line, sizeof line, "note: %s", text);
    ih_notes_print_line(n, path, line);
}

/* A chart in a folder that is an input. Charts in a directory of charts have names that a walk
 * leaves out, and SVG is no input. */
static void print_chart_among_images(struct ih_notes *n)
{
    const struct ih_options *o = n->options;
    if (!o->chart.format || strcasecmp(ih_ending(o->chart_path), "svg") == 0 ||
        ih_ending_is_chart(o->chart_path))
        return;
    char *chart = ih_outfile_resolve(o->chart_path);
    for (size_t i = 0; chart && i < o->n_paths; i++) {
        char *folder = ih_outfile_resolve(o->paths[i]);
        const size_t size = folder ? strlen(folder) : 0;
        const bool is_inside = size > 0 && strncmp(chart, folder, size) == 0 && chart[size] == '/';
        free(folder);
        if (!is_inside)
            continue;
        ih_notes_print(n, o->chart_path,
                       "lies among the images, and a next run counts it; draw it elsewhere, or "
                       "name it .hist.png");
        break;
    }
    free(chart);
}

void ih_notes_print_opening(struct ih_notes *n, const struct ih_destinations *d)
{
    const struct ih_options *o = n->options;
    bool is_merged = false, has_ndjson = false;
    char once[IH_SHOWN_MAX], line[IH_MESSAGE_MAX];
    for (size_t i = 0; i < o->n_outputs; i++) { /* names are joined with cat */
        has_ndjson = has_ndjson || o->outputs[i].output == &ih_output_ndjson;
        is_merged = is_merged || has_ndjson || o->outputs[i].output == &ih_output_print0 ||
                    (o->outputs[i].output == &ih_output_json && o->only_total);
    }
    if (o->n_shards && has_ndjson && o->with_total && !o->only_total)
        ih_notes_print(n, NULL,
                       "parts with a total beside their records are not merged; leave out --total, "
                       "which the merge takes");
    if (o->n_shards && !is_merged)
        ih_notes_print(n, NULL,
                       o->with_total ? "the total is that of this part; parts are merged from "
                                       "--ndjson, which is not written"
                                     : "parts are merged from --ndjson, which is not written");
    n->is_doubled = d->twice != NULL;
    for (const struct ih_option *k = ih_option_table; k->name && !o->chart_path; k++)
        if (k->group == IH_GROUP_CHART && ih_option_is_given(o, k->name)) {
            snprintf(line, sizeof line, "--%s is for charts, and none is drawn", k->name);
            ih_notes_print(n, NULL, line);
            break;
        }
    if (o->chart_path)
        print_chart_among_images(n);
    if (!d->twice)
        return;
    ih_escape_short(once, sizeof once, d->once);
    snprintf(line, sizeof line, "counts twice: it is the same as %.160s", once);
    ih_notes_print(n, d->twice,
                   strcmp(d->once, d->twice) == 0 ? "is named twice, and counts twice" : line);
}

/* The lines of -v about a file that was counted. */
static void print_warnings(struct ih_notes *n, const char *path, unsigned warnings)
{
    ih_notes_hold(n);
    for (unsigned bit = 1; bit < IH_WARNINGS_END; bit *= 2) {
        char line[IH_MESSAGE_MAX];
        snprintf(line, sizeof line, "warning: %s", ih_warning_text((enum ih_warning)bit));
        if (warnings & bit)
            ih_print_error(path, line);
    }
    ih_notes_release(n);
}

void ih_notes_print_image(struct ih_notes *n, const char *path, const struct ih_result *result)
{
    char line[IH_MESSAGE_MAX];
    const bool is_verbose = n->options->is_verbose;
    /* A total does not tell the depth of its images. */
    const bool is_scaled = result->is_total || result->info.source_depth == 16;
    const uint32_t high =
        is_scaled && ih_option_is_given(n->options, "depth") ? result->sample_range.high : 0;
    const unsigned bits = result->sample_range.high ? 0 : ih_report_few_bits(result);
    const char *scaling = ih_option_is_given(n->options, "depth")   ? "depth"
                          : ih_option_is_given(n->options, "range") ? "range"
                                                                    : NULL;
    const unsigned n_frames = result->info.n_frames;
    const bool has_more = result->info.warnings & IH_WARNING_MORE_IMAGES;
    if (is_verbose)
        print_warnings(n, path, result->info.warnings & (IH_WARNING_MORE_IMAGES - 1));
    if (has_more && (n->report->n_more_images++ == 0 || is_verbose)) {
        snprintf(line, sizeof line, "only the first of %u images was counted", n_frames);
        ih_notes_print(n, path,
                       n->options->takes_frames
                           ? "a further image follows, of another format, and was not counted"
                       : n_frames > 1 ? line
                                      : ih_warning_text(IH_WARNING_MORE_IMAGES));
    }
    if (result->info.n_not_counted && (n->report->n_extra_samples++ == 0 || is_verbose)) {
        static const char *const counted[IH_CHANNELS_MAX] = {"gray was", "gray and alpha were",
                                                             "red, green and blue were",
                                                             "red, green, blue and alpha were"};
        snprintf(line, sizeof line, "only %s counted; %u further sample%s of each pixel %s not",
                 counted[result->info.n_channels - 1], result->info.n_not_counted,
                 result->info.n_not_counted == 1 ? "" : "s",
                 result->info.n_not_counted == 1 ? "was" : "were");
        ih_notes_print(n, path, line);
    }
    if (bits && (n->report->n_few_values++ == 0 || is_verbose)) {
        snprintf(line, sizeof line,
                 "its 16-bit samples fill only the lowest bins, like %u-bit data that was not "
                 "scaled (--depth=%u scales it)",
                 bits, bits);
        ih_notes_print(n, path, line);
    }
    if (n->options->makes_thumbnails && result->version && !n->has_no_picture) {
        n->has_no_picture = true;
        ih_notes_print(n, path, "has no thumbnail: its record comes from a result file");
    }
    if (scaling && !is_scaled && !n->has_other_depth) {
        n->has_other_depth = true;
        snprintf(line, sizeof line,
                 "has samples of %u bits, which --%s does not change; it is for 16",
                 result->info.source_depth, scaling);
        ih_notes_print(n, path, line);
    }
    if (high && result->info.extremes.end > high + 1 && (n->n_above_depth++ == 0 || is_verbose)) {
        snprintf(line, sizeof line,
                 "its samples go up to %" PRIu32 ", and those above %" PRIu32 " count as 255; "
                 "--depth is too small",
                 result->info.extremes.end - 1, high);
        ih_notes_print(n, path, line);
    }
}

void ih_notes_print_chart(struct ih_notes *n)
{
    const struct ih_options *o = n->options;
    bool is_counted = false;
    char *chart =
        o->chart.format && ih_ending_is_image(o->chart_path) && !ih_ending_is_chart(o->chart_path)
            ? ih_outfile_resolve(o->chart_path)
            : NULL;
    for (size_t i = 0; i < o->n_paths && chart && !is_counted; i++) {
        char *folder = ih_outfile_resolve(o->paths[i]);
        const size_t length = folder ? strlen(folder) : 0;
        is_counted = length > 0 && strncmp(chart, folder, length) == 0 && chart[length] == '/';
        free(folder);
    }
    free(chart);
    if (is_counted)
        ih_notes_print(n, o->chart_path,
                       "lies in a folder of inputs, where later runs count it as an image; the "
                       "ending .hist.png would keep it out");
}

void ih_notes_print_lacking(struct ih_notes *n, const char *chart, unsigned long code_point)
{
    char line[IH_MESSAGE_MAX];
    if (code_point == 0 || n->has_lacking)
        return;
    n->has_lacking = true;
    snprintf(line, sizeof line,
             "its font has no glyph for the character U+%04lX, and shows a box; an SVG chart (%s) "
             "shows it",
             code_point, n->options->chart.format ? "--chart=FILE.svg" : "--chart-format=svg");
    ih_notes_print(n, chart, line);
}

/* ---- names that come again ---- */

enum { HASHES_MIN = 1 << 10, HASHES_MAX = 1 << 17 }; /* half of the places are used */

/* The hash of a path, without the "./" and repeated slashes that name the same file. */
static uint64_t hash_name(const char *path)
{
    uint64_t hash = ih_hash(IH_HASH_START, path, *path == '/');
    while (*path) {
        const size_t n = strcspn(path, "/");
        if (n > 1 || (n == 1 && *path != '.'))
            hash = ih_hash(ih_hash(hash, path, n), "/", 1);
        path += n + strspn(path + n, "/");
    }
    return hash | 1; /* 0: an empty place */
}

/* The place of a hash, or an empty one. */
static uint64_t *find_hash(uint64_t *hashes, size_t n_places, uint64_t hash)
{
    size_t at = (size_t)hash & (n_places - 1);
    while (hashes[at] != 0 && hashes[at] != hash)
        at = (at + 1) & (n_places - 1);
    return &hashes[at];
}

/* Doubles the places. False: as many as allowed, or out of memory. */
static bool grow_hashes(struct ih_notes *n)
{
    const size_t n_places = n->n_places ? 2 * n->n_places : HASHES_MIN;
    uint64_t *hashes = n_places > HASHES_MAX ? NULL : calloc(n_places, sizeof *hashes);
    if (!hashes)
        return false;
    for (size_t i = 0; i < n->n_places; i++)
        if (n->hashes[i])
            *find_hash(hashes, n_places, n->hashes[i]) = n->hashes[i];
    free(n->hashes);
    n->hashes = hashes;
    n->n_places = n_places;
    return true;
}

bool ih_notes_see_name(struct ih_notes *n, const char *path)
{
    const uint64_t hash = hash_name(path);
    uint64_t *place = n->hashes ? find_hash(n->hashes, n->n_places, hash) : NULL;
    if (place && *place) {
        if (!n->is_doubled || n->options->is_verbose)
            ih_notes_print(n, path,
                           n->options->chart_path && !n->options->chart.format
                               ? "an earlier input has this name; both count, and this one's chart "
                                 "replaces that one's"
                               : "an earlier input has this name; both count");
        n->is_doubled = true;
        n->report->n_doubles++;
        return true;
    }
    if (2 * n->n_hashes >= n->n_places) {
        if (!grow_hashes(n))
            return false;
        place = find_hash(n->hashes, n->n_places, hash);
    }
    *place = hash;
    n->n_hashes++;
    return false;
}

void ih_notes_print_listed_folder(struct ih_notes *n, const char *path)
{
    struct stat st;
    bool is_named = n->has_listed_folder || !n->options->list_path ||
                    ih_path_stat(path, &st, 0) != 0 || !S_ISDIR(st.st_mode); /* an archive */
    for (size_t i = 0; i < n->options->n_paths && !is_named; i++)
        is_named = strcmp(n->options->paths[i], path) == 0;
    if (is_named)
        return;
    n->has_listed_folder = true;
    ih_notes_print(n, path, "is a directory in the list: all its files are counted");
}

void ih_notes_print_comparison(struct ih_notes *n, const struct ih_total *const sides[2])
{
    if (sides[0]->n_images > 1 || sides[1]->n_images > 1) {
        char line[IH_MESSAGE_MAX];
        snprintf(line, sizeof line,
                 "totals are compared: %" PRIu64 " image%s against %" PRIu64 " image%s",
                 sides[0]->n_images, sides[0]->n_images == 1 ? "" : "s", sides[1]->n_images,
                 sides[1]->n_images == 1 ? "" : "s");
        ih_notes_print(n, NULL, line);
    }
    if (sides[0]->has_alpha != sides[1]->has_alpha)
        ih_notes_print(n, n->options->paths[sides[1]->has_alpha],
                       "has alpha and the other side has none: alpha is not compared");
}
