/*
 * --by: one exact total for each group of images.
 *
 * --by=folder groups by the folder in an image's name, "data/cats" for data/cats/1.jpg and "." for
 * a name without a folder. --by=format, --by=size and --by=samples group by what a record has,
 * "png", "640x480" and "uint16"; failed inputs have a group of their own, because their records
 * lack all three. --by=label groups by the label of --labels. --by=band gives each stored channel
 * of an image to the group of its name in the file, or of ours ("band4", "red"); luma is none.
 * --by=LIST.csv groups by the list's lines. A group's total that a result file holds is added to
 * the group of its name. So the groups of parts add up to those of the whole.
 */
#include "stages/stage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct group {
    char *name;         /* owned */
    unsigned label_end; /* of --by=label, the label plus 1; else 0 */
    uint64_t image;     /* of --by=band: the number of the last one added */
    struct ih_sum sum;  /* by value: a set of classes has few groups */
};

/* A line of the list. */
struct member {
    const char *name, *group;
};

enum { NAME_TEXT_MAX = 48 }; /* of two 64-bit numbers */

struct ih_by {
    bool takes_images;
    enum { BY_LIST, BY_FOLDER, BY_BAND, BY_FORMAT, BY_LABEL, BY_SIZE, BY_SAMPLES } what;
    char *list;             /* owned; the text that members point into; NULL: none */
    struct member *members; /* owned; sorted by name */
    size_t n_members;
    struct ih_total empty;
    struct group **groups; /* sorted by name */
    size_t n, capacity;
    uint64_t n_images; /* of --by=band */
    uint64_t n_left_out;
    char *left_out; /* owned; the name of the first; NULL: none */
};

/* ---- the list ---- */

static int compare_members(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->name, ((const struct member *)b)->name);
}

/* Takes a field of CSV (RFC 4180) from *at, which it moves behind the field. NULL: the quotes do
 * not match. */
static char *take_field(char **at)
{
    char *from = *at, *to = *at, *field = *at;
    if (*from != '"') {
        *at += strcspn(*at, ",\r\n");
        return field;
    }
    for (from++; *from && !(*from == '"' && from[1] != '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    if (*from != '"')
        return NULL;
    memset(to, '\0', (size_t)(from + 1 - to));
    *at = from + 1;
    return field;
}

/* Ends the field before *at with a NUL. Returns the character that was there. */
static int end_field(char **at)
{
    const int end = (unsigned char)**at;
    if (end)
        *(*at)++ = '\0';
    if (end == '\r' && **at == '\n')
        (*at)++;
    return end == '\r' ? '\n' : end;
}

static enum ih_status parse_list(struct ih_by *g, struct ih_error *err)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of spreadsheets */
    size_t capacity = 1, line = 0;
    for (const char *p = g->list; *p; p++)
        capacity += *p == '\n' || *p == '\r'; /* either ends a line */
    g->members = malloc(capacity * sizeof *g->members);
    if (!g->members)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    for (char *at = g->list + (strncmp(g->list, mark, 3) == 0 ? 3 : 0); *at;) {
        struct member m = {.group = NULL};
        line++;
        m.name = take_field(&at);
        if (m.name && end_field(&at) == ',') {
            m.group = take_field(&at);
            const int end = m.group ? end_field(&at) : ',';
            if (end != '\n' && end != '\0')
                m.group = NULL;
        }
        if (!m.group || !*m.group || !*m.name)
            return ih_error_set(err, IH_CORRUPT, "line %zu is not 'name,group'", line);
        if (strlen(m.group) >= IH_PATH_BYTES_MAX)
            return ih_error_set(err, IH_CORRUPT, "line %zu: the name of a group is too long", line);
        if (line > 1 || (strcmp(m.name, "file") != 0 && strcmp(m.name, "path") != 0))
            g->members[g->n_members++] = m;
    }
    qsort(g->members, g->n_members, sizeof *g->members, compare_members);
    for (size_t i = 1; i < g->n_members; i++)
        if (compare_members(&g->members[i - 1], &g->members[i]) == 0)
            return ih_error_set(err, IH_CORRUPT, "'%.100s' stands in it twice", g->members[i].name);
    return IH_OK;
}

static enum ih_status read_list(struct ih_by *g, const char *path, struct ih_error *err)
{
    enum { PART_BYTES = 1 << 16, LIST_BYTES_MAX = 1 << 30 };
    size_t n = 0, got = 1;
    bool has_nul = false;
    FILE *f = fopen(path, "rb");
    if (!f)
        return ih_error_errno(err, errno, "cannot open it");
    while (got > 0 && n < LIST_BYTES_MAX && !has_nul) {
        char *larger = realloc(g->list, n + PART_BYTES + 1);
        if (!larger)
            break;
        g->list = larger;
        got = fread(g->list + n, 1, PART_BYTES, f);
        has_nul = memchr(g->list + n, '\0', got) != NULL;
        n += got;
    }
    const bool has_failed = ferror(f) != 0;
    fclose(f);
    if (has_failed)
        return ih_error_errno(err, errno, "cannot read it");
    if (has_nul)
        return ih_error_set(err, IH_CORRUPT, "a NUL byte; a list of groups is a text");
    if (n >= LIST_BYTES_MAX)
        return ih_error_set(err, IH_CORRUPT, "1 GiB or more; a list of groups is shorter");
    if (got > 0)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    g->list[n] = '\0';
    return parse_list(g, err);
}

enum ih_status ih_by_open(const char *by, const struct ih_total *empty, struct ih_by **stage,
                          struct ih_error *err)
{
    static const char *const names[] = {
        [BY_FOLDER] = "folder", [BY_BAND] = "band", [BY_FORMAT] = "format",
        [BY_LABEL] = "label",   [BY_SIZE] = "size", [BY_SAMPLES] = "samples"};
    enum ih_status status = IH_OK;
    struct ih_by *g = calloc(1, sizeof *g);
    if (!g)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    g->empty = *empty;
    g->takes_images = by != NULL;
    for (unsigned i = BY_FOLDER; by && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(by, names[i]) == 0)
            g->what = i;
    if (by && g->what == BY_LIST)
        status = read_list(g, by, err);
    if (status == IH_OK)
        *stage = g;
    else
        ih_by_close(g);
    return status;
}

void ih_by_close(struct ih_by *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n; i++) {
        ih_sum_reset(&g->groups[i]->sum);
        free(g->groups[i]->name);
        free(g->groups[i]);
    }
    free(g->groups);
    free(g->members);
    free(g->list);
    free(g->left_out);
    free(g);
}

/* ---- adding ---- */

/* The samples of the file. Unsigned ones of 9 to 16 bits are one group, unless they have native
 * bins of different numbers, which do not add up. */
static void print_samples(const struct ih_result *r, char text[NAME_TEXT_MAX])
{
    const unsigned n_bins = r->histogram.n_bins;
    const char *const name = ih_is_unsigned(r->histogram.type)
                                 ? r->info.source_depth > 8 ? "uint16" : "uint8"
                                 : ih_sample_type_name(r->histogram.type);
    snprintf(text, NAME_TEXT_MAX, "%s", name);
    if (n_bins > IH_BINS && n_bins < IH_NATIVE_BINS_MAX)
        snprintf(text, NAME_TEXT_MAX, "%s of %u values", name, n_bins);
}

/* The name of a result's group, n bytes; NULL if the list lacks the result. text: for a name that
 * is made */
static const char *name_of(const struct ih_by *g, const struct ih_result *r,
                           char text[NAME_TEXT_MAX], size_t *n)
{
    const char *name = r->group;
    text[0] = '\0';
    if (!name && g->what == BY_FOLDER) {
        const char *slash = strrchr(r->path, '/');
        name = slash ? r->path : ".";
        *n = slash > r->path ? (size_t)(slash - r->path) : 1;
        return name;
    }
    if (!name && g->what == BY_SIZE)
        snprintf(text, NAME_TEXT_MAX, "%" PRIu64 "x%" PRIu64, r->info.width, r->info.height);
    if (!name && g->what == BY_LABEL)
        snprintf(text, NAME_TEXT_MAX, r->has_label ? "%u" : "(no label)", r->label);
    if (!name && g->what == BY_SAMPLES && r->status == IH_OK)
        print_samples(r, text);
    if (!name && g->what != BY_LIST) {
        name = r->status != IH_OK ? "(failed)" : g->what == BY_FORMAT ? r->info.format : text;
        name = name && *name ? name : "(no format)"; /* counts of arrays, in result files */
    }
    if (!name && g->n_members > 0) {
        const struct member key = {r->path, NULL};
        const struct member *m =
            bsearch(&key, g->members, g->n_members, sizeof key, compare_members);
        name = m ? m->group : NULL;
    }
    *n = name ? strlen(name) : 0;
    return name;
}

/* The group of this name, a new one if there is none. NULL: out of memory. */
static struct group *find_group(struct ih_by *g, const char *name, size_t n, unsigned label_end)
{
    size_t first = 0, end = g->n;
    while (first < end) {
        const size_t i = first + (end - first) / 2;
        const struct group *const at = g->groups[i];
        const int order = strncmp(at->name, name, n);
        if (order == 0 && at->name[n] == '\0' && at->label_end == label_end)
            return g->groups[i];
        if (at->label_end != label_end ? at->label_end - 1 < label_end - 1 : order < 0)
            first = i + 1;
        else
            end = i;
    }
    if (g->n == g->capacity) {
        const size_t capacity = g->capacity ? 2 * g->capacity : 16;
        struct group **larger = realloc(g->groups, capacity * sizeof(struct group *));
        if (!larger)
            return NULL;
        g->groups = larger;
        g->capacity = capacity;
    }
    struct group *made = calloc(1, sizeof *made);
    char *own = made ? strndup(name, n) : NULL;
    if (!own) {
        free(made);
        return NULL;
    }
    made->name = own;
    made->label_end = label_end;
    made->sum.total = g->empty;
    memmove(g->groups + first + 1, g->groups + first, (g->n - first) * sizeof *g->groups);
    g->groups[first] = made;
    g->n++;
    return made;
}

/* Adds a channel as an image of its own, which borrows the counters. The group's name decides which
 * band it is, so that images of a group agree. Extremes and clip counts are of all channels. */
static enum ih_status add_band(struct group *group, const struct ih_result *r, unsigned plane,
                               struct ih_error *err)
{
    const struct ih_histogram *const h = &r->histogram;
    struct ih_band_name name = {.number = 0};
    struct ih_result band = *r;
    unsigned number = 0;
    char end;
    if (sscanf(group->name, "band%4u%c", &number, &end) == 1 && number <= IH_CHANNELS_MAX)
        name.number = (uint16_t)(number > 1 ? number : 0);
    snprintf(name.text, sizeof name.text, "%s", ih_histogram_band_name(h, plane));
    band.measure.luma = &ih_luma_none;
    band.info.layout = (struct ih_layout){1, 0, false};
    band.info.extremes = (struct ih_extremes){0, 0};
    band.histogram = (struct ih_histogram){.type = h->type,
                                           .n_bins = h->n_bins,
                                           .layout = band.info.layout,
                                           .n_planes = 1,
                                           .n_pixels = h->n_pixels,
                                           .bins = ih_bins(h, plane),
                                           .sums = ih_sum(h, plane),
                                           .specials = h->specials + ih_plane_at(h, plane),
                                           .floats = h->floats ? ih_floats(h, plane) : NULL,
                                           .band_names = &name};
    return ih_sum_add(&group->sum, &band, err);
}

/* Of channels with the same name in the file, the first has the group of this name. */
static enum ih_status take_bands(struct ih_by *g, const struct ih_result *r, struct ih_error *err)
{
    const struct ih_histogram *const h = &r->histogram;
    enum ih_status status = IH_OK;
    g->n_images++;
    for (unsigned p = 0; p < h->layout.n_channels && status == IH_OK; p++) {
        const char *const own = ih_histogram_plane(h, p), *name = ih_histogram_band_name(h, p);
        /* "-" is standard input, and "(total)" and "(failed)" are other records. */
        const bool has_name = *name && *name != '-' && *name != '(';
        struct group *group = has_name ? find_group(g, name, strlen(name), 0) : NULL;
        if (!has_name || (group && group->image == g->n_images))
            group = find_group(g, own, strlen(own), 0);
        if (!group)
            return ih_error_set(err, IH_MEMORY, "out of memory");
        group->image = g->n_images;
        status = add_band(group, r, p, err);
    }
    return status;
}

enum ih_status ih_by_take(struct ih_by *g, const struct ih_result *result, bool selected,
                          struct ih_error *err)
{
    char text[NAME_TEXT_MAX];
    size_t n;
    if (!result->group && (!g->takes_images || !selected || result->is_total))
        return IH_OK;
    if (!result->group && g->what == BY_BAND && result->status == IH_OK)
        return take_bands(g, result, err);
    const char *name = name_of(g, result, text, &n);
    if (!name) {
        g->n_left_out++;
        if (!g->left_out && !(g->left_out = strdup(result->path)))
            return ih_error_set(err, IH_MEMORY, "out of memory");
        return IH_OK;
    }
    const bool is_of_label = result->has_label && (result->group || g->what == BY_LABEL);
    struct group *group = find_group(g, name, n, is_of_label ? result->label + 1 : 0);
    return group ? ih_sum_add(&group->sum, result, err)
                 : ih_error_set(err, IH_MEMORY, "out of memory");
}

void ih_by_end(const struct ih_by *g, void (*give)(void *user, struct ih_result *group), void *user)
{
    struct ih_result result;
    for (size_t i = 0; i < g->n; i++) {
        ih_sum_result(&g->groups[i]->sum, &result);
        result.path = result.group = g->groups[i]->name;
        result.has_label = g->groups[i]->label_end > 0;
        result.label = result.has_label ? g->groups[i]->label_end - 1 : 0;
        give(user, &result);
    }
}

size_t ih_by_n_groups(const struct ih_by *g)
{
    return g->n;
}

uint64_t ih_by_n_left_out(const struct ih_by *g, const char **first)
{
    *first = g->left_out;
    return g->n_left_out;
}
