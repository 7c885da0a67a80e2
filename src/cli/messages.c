#define _DEFAULT_SOURCE /* ru_maxrss is not in POSIX */

#include "cli/messages.h"

#include "decode/archive.h"
#include "output/file.h"
#include "scan/extensions.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- one line ---- */

void ih_say(const char *path, const char *message)
{
    char shown_path[IH_SHOWN_MAX], shown[4 * IH_MESSAGE_MAX];
    ih_escape_short(shown_path, sizeof shown_path, !path ? "" : *path ? path : "''");
    ih_escape(shown, sizeof shown, message);
    fprintf(stderr, "imghist: %s%s%s\n", shown_path, path ? ": " : "", shown);
}

void ih_messages_hold(struct ih_messages *m)
{
    if (!m->is_holding)
        ih_progress_hold(m->progress);
    m->is_holding = true;
}

void ih_messages_release(struct ih_messages *m)
{
    if (m->is_holding)
        ih_progress_release(m->progress);
    m->is_holding = false;
}

/* ih_say with progress hidden. */
static void print_message(struct ih_messages *m, const char *path, const char *message)
{
    ih_messages_hold(m);
    ih_say(path, message);
    ih_messages_release(m);
}

void ih_messages_note(struct ih_messages *m, const char *path, const char *format, ...)
{
    char line[IH_MESSAGE_MAX + 8] = "note: ";
    va_list arguments;
    if (m->options->is_quiet || m->is_checking)
        return;
    va_start(arguments, format);
    vsnprintf(line + strlen(line), sizeof line - strlen(line), format, arguments);
    va_end(arguments);
    print_message(m, path, line);
}

/* Whether a note is to be printed: for the first input, and with -v for each. */
static bool is_noted(struct ih_messages *m, enum ih_note note)
{
    return m->n_notes[note]++ == 0 || m->options->is_verbose;
}

enum ih_exit ih_exit_of(enum ih_status status)
{
    switch (status) {
    case IH_OK:
        return IH_EXIT_OK;
    case IH_USAGE:
    case IH_CONFLICT:
        return IH_EXIT_USAGE;
    case IH_UNAVAILABLE:
        return IH_EXIT_UNAVAILABLE;
    default:
        return IH_EXIT_FAILED;
    }
}

void ih_end_by_sigpipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(IH_EXIT_FAILED); /* the signal is blocked */
}

/* ---- what an error of an input may mean ---- */

static const char *reason_of_missing(const char *path)
{
    static const char dash[] = "\xE2\x80"; /* en and em dash; office programs make them from -- */
    if (!*path)
        return "the name is empty; is a variable not set?";
    if (strncmp(path, dash, 2) == 0 && ((path[2] & 0xFF) == 0x93 || (path[2] & 0xFF) == 0x94))
        return "it begins with a long dash; an option begins with - or --";
    if (strcmp(path, "help") == 0 || strcmp(path, "version") == 0)
        return *path == 'h' ? "did you mean --help?" : "did you mean --version?";
    if (strstr(path, "://"))
        return "imghist reads no network; pipe it in, as in 'curl -s URL | imghist -'";
    if (strpbrk(path, "\r\n"))
        return "it has line ends; --files-from reads a list of lines";
    if ((*path == '"' || *path == '\'') && path[1] && path[strlen(path) - 1] == *path)
        return "the quotes are part of the name; a list has names without quotes";
    if (strpbrk(path, "*?["))
        return "no file matches it; a folder is read without a pattern, as in 'imghist photos/'";
    return NULL;
}

void ih_explain_error(const char *path, struct ih_error *err)
{
    static const char *const options[] = {
        [IH_LIMIT_MAX_PIXELS] = "--max-pixels raises it",
        [IH_LIMIT_MAX_MEMORY] = "--memory raises it",
        [IH_LIMIT_LENIENT] = "--lenient accepts it",
        [IH_LIMIT_TIMEOUT] = "--timeout raises it",
        [IH_LIMIT_RAW_CHANNELS] = "--list shows the formats, --raw reads bare samples",
        [IH_LIMIT_RAW_PREVIEW] = "--raw-preview counts its preview, --raw-sensor its values",
        [IH_LIMIT_AXES] = "--axes=HWC, CHW, NHW, NHWC or NCHW says what its dimensions are",
    };
    const char *reason = err->limit != IH_LIMIT_NONE ? options[err->limit] : NULL;
    char text[128];
    uint64_t zip_at;
    if (err->status == IH_IO && access(path, F_OK) != 0 && errno == ENOENT)
        reason = reason_of_missing(path);
    else if (err->status == IH_UNKNOWN && strcasecmp(ih_extension(path), "csv") == 0)
        ih_error_append(err, "results are read from NDJSON and JSON, not from CSV");
    else if (err->limit == IH_LIMIT_RAW_CHANNELS && ih_archive_is_name(path)) {
        reason = "nor an archive, in spite of its name";
        if ((zip_at = ih_archive_find_zip(path)) > 0) {
            snprintf(text, sizeof text,
                     "other data precedes a zip archive in it: 'tail -c +%" PRIu64
                     " FILE | imghist -'",
                     zip_at + 1);
            reason = text;
        }
    }
    if (reason)
        ih_error_append(err, reason);
}

/* ---- the command line ---- */

/* A chart in a folder that is an input, under a name that a walk takes for an image. Charts in a
 * directory of charts have names that a walk leaves out, and SVG is no input. */
static void note_chart(struct ih_messages *m)
{
    const struct ih_options *o = m->options;
    if (!o->chart.format || strcasecmp(ih_extension(o->chart_path), "svg") == 0 ||
        ih_extension_is_chart(o->chart_path))
        return;
    char *chart = ih_outfile_resolve(o->chart_path);
    bool is_inside = false;
    for (size_t i = 0; chart && i < o->n_paths && !is_inside; i++) {
        char *folder = ih_outfile_resolve(o->paths[i]);
        const size_t size = folder ? strlen(folder) : 0;
        is_inside = size > 0 && strncmp(chart, folder, size) == 0 && chart[size] == '/';
        free(folder);
    }
    free(chart);
    if (is_inside)
        ih_messages_note(m, o->chart_path,
                         "lies among the images, and a next run counts it; draw it elsewhere, or "
                         "name it .hist.png");
}

/* Parts of a run are merged from their records. */
static void note_shard(struct ih_messages *m)
{
    const struct ih_options *o = m->options;
    bool is_merged = false, has_ndjson = false;
    for (size_t i = 0; i < o->n_outputs; i++) { /* names are joined with cat */
        has_ndjson = has_ndjson || o->outputs[i].output == &ih_output_ndjson;
        is_merged = is_merged || has_ndjson || o->outputs[i].output == &ih_output_print0 ||
                    o->outputs[i].output == &ih_output_print ||
                    (o->outputs[i].output == &ih_output_json && o->only_total);
    }
    if (has_ndjson && o->with_total && !o->only_total)
        ih_messages_note(
            m, NULL,
            "parts with a total beside their records are not merged; leave out --total, "
            "which the merge takes");
    if (!is_merged)
        ih_messages_note(m, NULL,
                         "%sonly files of --ndjson can be merged, and this run writes none",
                         o->with_total ? "the total is that of this part; " : "");
}

void ih_messages_open(struct ih_messages *m)
{
    const struct ih_options *o = m->options;
    if (o->n_shards)
        note_shard(m);
    if (o->chart_path)
        note_chart(m);
}

/* ---- images ---- */

/* What --depth or --range does not do as it seems to. A total does not tell the depth of its
 * images. */
static void note_depth(struct ih_messages *m, const char *path, const struct ih_result *r)
{
    const struct ih_options *o = m->options;
    if (o->measure.range.high == 0) /* neither is given */
        return;
    const bool has_depth = ih_option_is_given(o, "depth"), is_scaled = r->info.source_depth == 16;
    const uint32_t high = r->measure.range.high;
    if (!r->is_total && !is_scaled && (has_depth || ih_option_is_given(o, "range"))) {
        if (is_noted(m, IH_NOTE_DEPTH))
            ih_messages_note(m, path,
                             "has samples of %u bits, which --%s does not change; it is for 16",
                             r->info.source_depth, has_depth ? "depth" : "range");
    } else if (has_depth && high && r->info.extremes.end > high + 1 && is_noted(m, IH_NOTE_DEPTH)) {
        ih_messages_note(m, path,
                         "its samples go up to %" PRIu32 ", and those above %" PRIu32
                         " count as %" PRIu32 "; --depth is too small",
                         r->info.extremes.end - 1, high,
                         ih_is_native(r->measure.type) ? high : 255);
    }
}

/* An option that is for another format. Camera raw files usually lie beside others. */
static void note_format(struct ih_messages *m, const char *path, const struct ih_result *r)
{
    const struct {
        bool is_given;
        const char *option, *format, *what;
    } options[] = {{m->options->takes_raw_sensors, "raw-sensor", "sensor", "camera raw"},
                   {m->options->takes_raw_previews, "raw-preview", "preview", "camera raw"},
                   {m->options->axes != IH_AXES_AUTO, "axes", "npy", "NPY"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].is_given && !r->is_read && !r->is_total &&
            strcmp(r->info.format, options[i].format) != 0 && is_noted(m, IH_NOTE_FORMAT))
            ih_messages_note(m, path, "is %s, which --%s does not change; it is for %s",
                             r->info.format, options[i].option, options[i].what);
}

/* Whether a stored sample can have the value of --nodata. */
static bool may_be_nodata(const struct ih_image_info *info, double value)
{
    const unsigned depth = info->layout.n_colours != 1 && info->source_depth < 8
                               ? 8 /* of a palette */
                               : info->source_depth;
    unsigned bin;
    if (info->type == IH_FLOAT32)
        return true;
    if (!ih_is_unsigned(info->type))
        return ih_bin_find(info->type, info->n_bins, value, &bin);
    return ih_bin_find(IH_UINT16, 1u << (depth < 16 ? depth : 16), value, &bin);
}

static void note_nodata(struct ih_messages *m, const char *path, const struct ih_result *r)
{
    const struct ih_nodata nodata = m->options->measure.nodata;
    char text[IH_NODATA_BYTES], depth[16];
    if (nodata.kind != IH_NODATA_OF_RUN || r->is_read || r->is_total ||
        may_be_nodata(&r->info, nodata.value) || !is_noted(m, IH_NOTE_NODATA_VALUE))
        return;
    ih_nodata_print(nodata, text);
    snprintf(depth, sizeof depth, "%u bits", r->info.source_depth);
    ih_messages_note(m, path, "no sample of %s can have the value %s of --nodata",
                     ih_is_unsigned(r->info.type) ? depth : ih_sample_type_name(r->info.type),
                     text);
}

/* Bands are added and compared by number, whatever their names in the files are. */
static void note_band_names(struct ih_messages *m, const char *path, const struct ih_result *r)
{
    const struct ih_band_name *const names = r->histogram.band_names;
    const struct ih_options *const o = m->options;
    const bool adds_up = o->with_total || (o->by && strcmp(o->by, "band") != 0);
    uint64_t hash = IH_HASH_START;
    if (!names || !adds_up)
        return;
    for (unsigned i = 0; i < r->histogram.layout.n_channels; i++)
        hash = ih_hash(hash, names[i].text, strlen(names[i].text) + 1);
    if (m->hash_of_bands == 0)
        m->hash_of_bands = hash;
    else if (m->hash_of_bands != hash && is_noted(m, IH_NOTE_BAND_NAMES))
        ih_messages_note(m, path,
                         "has other band names than earlier images: bands are added and "
                         "compared by number; --by=band adds them by name");
}

/* What the counts of an image do not show. */
static void note_image(struct ih_messages *m, const char *path, const struct ih_result *r)
{
    const struct ih_options *o = m->options;
    const unsigned bits = ih_result_few_bits(r), n_frames = r->info.n_frames;
    for (unsigned bit = 1; o->is_verbose && bit < IH_WARNINGS_END; bit *= 2) {
        char line[IH_MESSAGE_MAX];
        snprintf(line, sizeof line, "warning: %s", ih_warning_text((enum ih_warning)bit));
        if (r->info.warnings & bit & (IH_WARNING_CELLS | (IH_WARNING_MORE_IMAGES - 1)))
            print_message(m, path, line);
    }
    if (r->info.warnings & IH_WARNING_MORE_IMAGES && is_noted(m, IH_NOTE_MORE_IMAGES)) {
        if (o->takes_frames)
            ih_messages_note(m, path,
                             "further images were not counted: frames of a PNG, HEIC or AVIF "
                             "animation, or a file of another format");
        else if (n_frames > 1)
            ih_messages_note(m, path, "only the first of %u images was counted", n_frames);
        else
            ih_messages_note(m, path, "%s", ih_warning_text(IH_WARNING_MORE_IMAGES));
    }
    if (r->info.n_not_counted && is_noted(m, IH_NOTE_EXTRA_SAMPLES)) {
        static const char *const plain[IH_PIXEL_CHANNELS_MAX] = {"gray was", "gray and alpha were",
                                                                 "red, green and blue were",
                                                                 "red, green, blue and alpha were"};
        const unsigned n = r->info.layout.n_channels;
        char bands[40];
        snprintf(bands, sizeof bands, "%u channel%s", n, n == 1 ? " was" : "s were");
        ih_messages_note(m, path, "only %s counted; %u further sample%s of each pixel %s not",
                         ih_layout_is_plain(r->info.layout) ? plain[n - 1] : bands,
                         r->info.n_not_counted, r->info.n_not_counted == 1 ? "" : "s",
                         r->info.n_not_counted == 1 ? "was" : "were");
    }
    if (r->info.warnings & IH_WARNING_MASKED && is_noted(m, IH_NOTE_MASKED))
        ih_messages_note(m, path, "%s", ih_warning_text(IH_WARNING_MASKED));
    if (r->info.warnings & IH_WARNING_LEVELS && is_noted(m, IH_NOTE_LEVELS))
        ih_messages_note(m, path, "%s", ih_warning_text(IH_WARNING_LEVELS));
    if (r->info.warnings & IH_WARNING_NODATA && is_noted(m, IH_NOTE_NODATA))
        ih_messages_note(m, path, "%s", ih_warning_text(IH_WARNING_NODATA));
    note_nodata(m, path, r);
    note_band_names(m, path, r);
    if (bits && is_noted(m, IH_NOTE_FEW_VALUES))
        ih_messages_note(
            m, path,
            "its 16-bit samples fill only the lowest bins, like %u-bit data that was not "
            "scaled (--depth=%u scales it)",
            bits, bits);
    note_depth(m, path, r);
    note_format(m, path, r);
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void add_kernel(struct ih_messages *m, const struct ih_result *r)
{
    for (size_t i = 0; i < m->n_kernels; i++) {
        struct ih_used_kernel *k = &m->kernels[i];
        if (is_same(k->device, r->counted_by) && is_same(k->kernel, r->kernel)) {
            k->n_images++;
            return;
        }
    }
    if (m->n_kernels < IH_USED_KERNELS_MAX)
        m->kernels[m->n_kernels++] = (struct ih_used_kernel){r->counted_by, r->kernel, 1};
    else
        m->n_other_images++;
}

void ih_messages_result(struct ih_messages *m, const char *path, const struct ih_result *r)
{
    const bool has_failed = r->status != IH_OK;
    const struct ih_progress_counts more = {.n_done = !has_failed,
                                            .n_failed = has_failed,
                                            .n_pixels = has_failed ? 0 : r->histogram.n_pixels};
    ih_progress_add(m->progress, &more);
    m->times.read_ns += r->times.read_ns;
    m->times.decode_ns += r->times.decode_ns;
    m->times.count_ns += r->times.count_ns;
    if (has_failed) {
        m->n_failed++;
        if (!m->is_checking)
            print_message(m, path, r->error.message);
        return;
    }
    m->n_done += r->is_total ? r->n_images : 1;
    m->n_failed += r->n_failed;
    m->n_pixels += r->histogram.n_pixels;
    if (!r->is_read)
        add_kernel(m, r);
    note_image(m, path, r);
}

void ih_messages_reference(struct ih_messages *m, const char *path, const struct ih_error *err)
{
    char line[IH_MESSAGE_MAX + 16];
    m->n_references_failed++;
    snprintf(line, sizeof line, "--against: %s", err->message);
    print_message(m, path, line);
}

void ih_messages_skip(struct ih_messages *m, const char *path, const char *why)
{
    char line[IH_MESSAGE_MAX + 16];
    m->n_skipped++;
    ih_progress_add(m->progress, &(struct ih_progress_counts){.n_skipped = 1});
    snprintf(line, sizeof line, "skipped: %s", why);
    if (m->options->lists_skipped)
        print_message(m, path, line);
}

void ih_messages_end_folder(struct ih_messages *m, const char *path)
{
    const struct ih_options *o = m->options;
    struct stat st;
    bool is_named =
        !o->list_path || ih_path_stat(path, &st, 0) != 0 || !S_ISDIR(st.st_mode); /* an archive */
    for (size_t i = 0; i < o->n_paths && !is_named; i++)
        is_named = strcmp(o->paths[i], path) == 0;
    if (!is_named && is_noted(m, IH_NOTE_LISTED_FOLDER))
        ih_messages_note(m, path, "is a directory in the list: all its files are counted");
}

void ih_messages_chart(struct ih_messages *m, const char *chart, unsigned long code_point)
{
    ih_escape_short(m->chart, sizeof m->chart, chart);
    if (code_point != 0 && m->n_notes[IH_NOTE_GLYPH]++ == 0)
        ih_messages_note(m, chart,
                         "its font has no glyph for the character U+%04lX, and shows a box; an SVG "
                         "chart (%s) shows it",
                         code_point,
                         m->options->chart.format ? "--chart=FILE.svg" : "--chart-format=svg");
}

/* Totals that are compared have the same channels. */
static bool has_alpha(const struct ih_total *total)
{
    const struct ih_histogram *h = &total->sum;
    return h->layout.has_alpha &&
           ih_count_range(ih_bins(h, h->layout.n_channels - 1), 0, h->n_bins - 1) > 0;
}

void ih_messages_compare(struct ih_messages *m, const struct ih_total *const sides[2])
{
    if (sides[0]->n_images > 1 || sides[1]->n_images > 1)
        ih_messages_note(m, NULL,
                         "totals are compared: %" PRIu64 " image%s against %" PRIu64 " image%s",
                         sides[0]->n_images, sides[0]->n_images == 1 ? "" : "s", sides[1]->n_images,
                         sides[1]->n_images == 1 ? "" : "s");
    if (has_alpha(sides[0]) != has_alpha(sides[1]))
        ih_messages_note(m, m->options->paths[has_alpha(sides[1])],
                         "has alpha and the other side does not: alpha is not compared");
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
static bool grow_hashes(struct ih_messages *m)
{
    const size_t n_places = m->n_places ? 2 * m->n_places : HASHES_MIN;
    uint64_t *hashes = n_places > HASHES_MAX ? NULL : calloc(n_places, sizeof *hashes);
    if (!hashes)
        return false;
    for (size_t i = 0; i < m->n_places; i++)
        if (m->hashes[i])
            *find_hash(hashes, n_places, m->hashes[i]) = m->hashes[i];
    free(m->hashes);
    m->hashes = hashes;
    m->n_places = n_places;
    return true;
}

bool ih_messages_see_name(struct ih_messages *m, const char *path)
{
    const uint64_t hash = hash_name(path);
    uint64_t *place = m->hashes ? find_hash(m->hashes, m->n_places, hash) : NULL;
    if (place && *place) {
        const bool replaces = m->options->chart_path && !m->options->chart.format;
        if (is_noted(m, IH_NOTE_TWICE))
            ih_messages_note(m, path, "an earlier input has this name; both count%s",
                             replaces ? ", and this one's chart replaces that one's" : "");
        return true;
    }
    if (2 * m->n_hashes >= m->n_places) {
        if (!grow_hashes(m))
            return false;
        place = find_hash(m->hashes, m->n_places, hash);
    }
    *place = hash;
    m->n_hashes++;
    return false;
}

/* ---- the end of the run ---- */

static void print_nothing_found(const struct ih_messages *m)
{
    char path[IH_SHOWN_MAX];
    fputs("no images found", stderr);
    if (!m->options->list_path) /* a file in a list is never skipped, so the list is empty */
        return;
    ih_escape_short(path, sizeof path, m->options->list_path);
    fprintf(stderr, ": the list %s is empty", path);
}

/* Begins the closing line, or continues it. */
static void next_part(bool *has_begun)
{
    fputs(*has_begun ? "; " : "imghist: ", stderr);
    *has_begun = true;
}

/* "3 inputs have ...", of notes that were printed once. */
static void print_notes(uint64_t n, const char *what, bool *has_begun)
{
    if (n < 2)
        return;
    next_part(has_begun);
    fprintf(stderr, "%" PRIu64 " inputs have %s", n, what);
}

static void print_matches(uint64_t n, uint64_t n_all, const char *what, const char *option,
                          bool *has_begun)
{
    next_part(has_begun);
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " %s%s match%s --%s", n, n_all, what,
            n_all == 1 ? "" : "s", n == 1 ? "es" : "", option);
}

static void print_closing_line(const struct ih_messages *m)
{
    const uint64_t n_inputs = m->n_done + m->n_failed;
    const char *const what = m->options->has_labels ? "zone" : "image";
    bool has_begun = false;
    if (m->has_shown_progress) {
        next_part(&has_begun);
        fprintf(stderr, "%" PRIu64 " %s%s counted in %.1f s", m->n_done, what,
                m->n_done == 1 ? "" : "s", (double)(m->ended_ns - m->started_ns) * 1e-9);
    }
    if (m->n_failed > 0 && n_inputs > 1) {
        next_part(&has_begun);
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " inputs failed", m->n_failed, n_inputs);
    } else if (n_inputs == 0) {
        next_part(&has_begun);
        print_nothing_found(m);
    }
    if (m->n_references_failed > 0) {
        next_part(&has_begun);
        fprintf(stderr, "%" PRIu64 " file%s of --against failed", m->n_references_failed,
                m->n_references_failed == 1 ? "" : "s");
    }
    if (m->options->where && !m->options->compares && n_inputs > 0)
        print_matches(m->n_selected, n_inputs, m->n_failed ? "input" : what, "where", &has_begun);
    if (m->options->finds_copies && n_inputs > 0) {
        next_part(&has_begun);
        fprintf(stderr, "%" PRIu64 " image%s in %" PRIu64 " group%s of equal histograms",
                m->n_copies, m->n_copies == 1 ? "" : "s", m->n_groups_of_copies,
                m->n_groups_of_copies == 1 ? "" : "s");
    }
    if (m->n_matched > 0 && m->n_judged > 1)
        print_matches(m->n_matched, m->n_judged, "record", "fail-if", &has_begun);
    print_notes(m->n_notes[IH_NOTE_MORE_IMAGES], "more images than the first, which was counted",
                &has_begun);
    print_notes(m->n_notes[IH_NOTE_EXTRA_SAMPLES], "extra samples, which were not counted",
                &has_begun);
    print_notes(m->n_notes[IH_NOTE_MASKED], "a transparency mask, whose pixels count", &has_begun);
    print_notes(m->n_notes[IH_NOTE_NODATA], "a nodata value, whose pixels count", &has_begun);
    print_notes(m->n_notes[IH_NOTE_LEVELS], "levels of a sensor that are no clip limits",
                &has_begun);
    print_notes(m->n_notes[IH_NOTE_FORMAT], "another format than an option is for", &has_begun);
    print_notes(m->n_notes[IH_NOTE_NODATA_VALUE], "samples that cannot have the value of --nodata",
                &has_begun);
    print_notes(m->n_notes[IH_NOTE_BAND_NAMES], "other band names than the first", &has_begun);
    print_notes(m->n_notes[IH_NOTE_FEW_VALUES], "16-bit samples in few bins", &has_begun);
    print_notes(m->n_notes[IH_NOTE_TWICE], "the name of an earlier one, and count too", &has_begun);
    if (m->n_charts > 0 && !m->options->chart_is_stream) {
        char path[IH_SHOWN_MAX];
        ih_escape_short(path, sizeof path, m->options->chart_path);
        next_part(&has_begun);
        const bool is_range = m->n_charts > 1 && m->options->chart.is_sheet;
        fprintf(stderr, "%" PRIu64 " chart%s written: %s%s%s", m->n_charts,
                m->n_charts == 1 ? "" : "s", m->n_charts == 1 ? m->chart : path,
                is_range ? " to " : "", is_range ? m->chart : "");
    }
    if (m->n_skipped > 0) {
        next_part(&has_begun);
        fprintf(stderr, "%" PRIu64 " other file%s skipped%s", m->n_skipped,
                m->n_skipped == 1 ? "" : "s",
                m->options->lists_skipped ? ""
                : m->n_skipped == 1       ? " (--list-skipped names it)"
                                          : " (--list-skipped names them)");
    }
    if (has_begun)
        putc('\n', stderr);
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

/* The report of -v. */
static void print_report(const struct ih_messages *m)
{
    const double elapsed = seconds(m->ended_ns - m->started_ns + 1); /* not 0 */
    const double megapixels = (double)m->n_pixels * 1e-6;
    const uint64_t n_files = m->n_done + m->n_failed;
    struct rusage usage;
    fprintf(stderr, "imghist: %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " skipped", m->n_done,
            m->n_failed, m->n_skipped);
    if (m->n_references_failed > 0)
        fprintf(stderr, ", %" PRIu64 " of --against failed", m->n_references_failed);
    putc('\n', stderr);
    fprintf(stderr, "  in         %10.3f s, %.1f files a second\n", elapsed,
            (double)n_files / elapsed);
    fprintf(stderr, "  megapixels %10.1f, %.1f a second\n", megapixels, megapixels / elapsed);
    fprintf(stderr, "  reading    %10.3f s \\\n", seconds(m->times.read_ns));
    fprintf(stderr, "  decoding   %10.3f s  > sum over all threads\n", seconds(m->times.decode_ns));
    fprintf(stderr, "  counting   %10.3f s /\n", seconds(m->times.count_ns));
    fprintf(stderr, "  writing    %10.3f s\n", seconds(m->write_ns));
    if (getrusage(RUSAGE_SELF, &usage) == 0) /* in KiB, on Linux */
        fprintf(stderr, "  memory     %10.1f MB at most\n", (double)usage.ru_maxrss * 1.024e-3);
    for (size_t i = 0; i < m->n_kernels; i++) {
        const struct ih_used_kernel *k = &m->kernels[i];
        fprintf(stderr, "  counted by %s%s%s", k->device ? k->device : "?",
                k->kernel ? ", kernel " : "", k->kernel ? k->kernel : ""); /* none counts zones */
        if (m->n_kernels > 1)
            fprintf(stderr, ": %" PRIu64 " image%s", k->n_images, k->n_images == 1 ? "" : "s");
        putc('\n', stderr);
    }
    if (m->n_other_images)
        fprintf(stderr, "  counted by others: %" PRIu64 " images\n", m->n_other_images);
}

void ih_messages_end(struct ih_messages *m, bool has_none)
{
    const bool is_short = !m->options->is_quiet && !m->is_checking;
    if (m->options->is_verbose)
        print_report(m);
    else if (is_short)
        print_closing_line(m);
    if (has_none && (m->options->is_verbose || !is_short)) {
        fputs("imghist: ", stderr);
        print_nothing_found(m);
        putc('\n', stderr);
    }
}

void ih_messages_devices(const struct ih_device *device, const struct ih_jpeg_report *jpeg)
{
    const char *reason = ih_device_fallback_reason(device);
    const bool is_cpu = strcmp(ih_device_description(device), "cpu") == 0;
    if (*reason)
        fprintf(stderr, "imghist: %s: %s\n", is_cpu ? "counting on the CPU" : "not all GPUs count",
                reason);
    if (jpeg->why_none.status != IH_OK)
        fprintf(stderr, "imghist: JPEG: %s: %s\n",
                jpeg->n_decoded ? "the GPU failed" : "all on the CPU", jpeg->why_none.message);
    if (!*jpeg->decoders)
        return;
    fprintf(stderr, "imghist: JPEG: %" PRIu64 " files decoded by %s\n", jpeg->n_decoded,
            jpeg->decoders);
    for (size_t i = 0; i < IH_JPEG_N_REASONS; i++)
        if (jpeg->n_left[i] > 0)
            fprintf(stderr, "imghist: JPEG: %" PRIu64 " files left to the CPU: %s\n",
                    jpeg->n_left[i], ih_jpeg_reason_text((enum ih_jpeg_reason)i));
}
