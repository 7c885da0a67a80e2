#include "jpeg_gpu/plan.h"

#include "decode/jpeg/markers.h"
#include "decode/read_bytes.h"

#include <stdlib.h>
#include <string.h>

const char *ih_jpeg_reason_text(enum ih_jpeg_reason reason)
{
    static const char *const texts[] = {
#define REASON(name, text) [IH_JPEG_REASON_##name] = text,
        IH_JPEG_REASONS(REASON)
#undef REASON
    };
    return texts[reason];
}

/* ---- the header ---- */

enum { SIDE_MAX = 65500 }; /* libjpeg's JPEG_MAX_DIMENSION */
enum { SLOTS = 4, DC_SIZE_MAX = 11, AC_SIZE_MAX = 10, EOB = 0x00, ZRL = 0xF0 };
enum { COEFFICIENTS = 64, MCU_BLOCKS_MAX = 6 };

/* Of a progressive file: larger scans keep one warp of a GPU busy for longer than 0.3 s. */
enum { REFINEMENT_BYTES_MAX = 1200 * 1000, FIRST_BYTES_MAX = 4 * REFINEMENT_BYTES_MAX };

/* The header rules are stricter than libjpeg's, which accepts much that no encoder writes: tables
 * defined twice, restart markers between segments. */
struct header {
    struct ih_jpeg_plan *plan;
    const uint8_t *at; /* the unread bytes of the segment, */
    size_t n;          /* and their number */
    const uint8_t *quantizers[SLOTS];
    unsigned ids[IH_JPEG_COMPONENTS_MAX_GPU], slots[IH_JPEG_COMPONENTS_MAX_GPU];
    bool has_frame, has_restart_interval;
    bool has_other_colours;                                /* Adobe's marker says: not YCbCr */
    int8_t left[IH_JPEG_COMPONENTS_MAX_GPU][COEFFICIENTS]; /* of ih_jpeg_take_bits */
};

static bool next_segment(struct header *h, const uint8_t *bytes, size_t size_bytes,
                         struct ih_jpeg_segment *segment)
{
    const bool is_one = ih_jpeg_read_segment(bytes, size_bytes, segment) == IH_JPEG_SEGMENT;
    h->at = segment->data;
    h->n = segment->n;
    return is_one;
}

static const uint8_t *take_bytes(struct header *h, size_t n)
{
    const uint8_t *p = h->at;
    h->at += n;
    h->n -= n;
    return p;
}

static enum ih_jpeg_reason read_quantizers(struct header *h)
{
    while (h->n > 0) {
        if (h->n < 65 || *h->at >= SLOTS) /* the upper half of the byte: 16-bit quantizers */
            return IH_JPEG_REASON_HEADER;
        const unsigned slot = *take_bytes(h, 1);
        const uint8_t *table = take_bytes(h, 64);
        if (h->quantizers[slot] || memchr(table, 0, 64))
            return IH_JPEG_REASON_HEADER;
        h->quantizers[slot] = table;
    }
    return IH_JPEG_REASON_NONE;
}

/* Whether no code is missing, twice there, or all ones. */
static bool code_is_sound(const uint8_t *counts, unsigned n_symbols)
{
    unsigned next_code = 0;
    for (unsigned length = 1; length <= 16; length++) {
        next_code = next_code * 2 + counts[length - 1];
        if (next_code >= 1u << length)
            return false;
    }
    return n_symbols > 0;
}

enum use { DC, AC, AC_FIRST, AC_REFINEMENT };

/* Stricter than libjpeg: every symbol is one that 8-bit samples need (T.81, tables F.1, F.2, G.1
 * and G.2). */
static bool symbols_are_sound(const uint8_t *symbols, unsigned n_symbols, enum use use)
{
    const unsigned size_max = use == DC ? DC_SIZE_MAX : use == AC_REFINEMENT ? 1 : AC_SIZE_MAX;
    for (unsigned i = 0; i < n_symbols; i++) {
        const unsigned size = use == DC ? symbols[i] : symbols[i] & 15;
        if (size > size_max || (use == AC && size == 0 && symbols[i] != EOB && symbols[i] != ZRL))
            return false;
    }
    return true;
}

static enum ih_jpeg_reason read_codes(struct header *h)
{
    while (h->n > 0) {
        if (h->n < 17)
            return IH_JPEG_REASON_HEADER;
        const unsigned number = *take_bytes(h, 1), slot = (number >> 4) * 2 + (number & 15);
        const uint8_t *counts = take_bytes(h, 16);
        unsigned n = 0;
        for (unsigned i = 0; i < 16; i++)
            n += counts[i];
        const bool is_free = h->plan->is_progressive || !h->plan->codes[slot % IH_JPEG_CODES];
        if (n > 256 || n > h->n || number >> 4 > 1 || (number & 15) > 1 || !is_free ||
            !code_is_sound(counts, n) ||
            (!h->plan->is_progressive && !symbols_are_sound(counts + 16, n, slot < 2 ? DC : AC)))
            return IH_JPEG_REASON_HEADER;
        take_bytes(h, n);
        h->plan->codes[slot] = counts;
        h->plan->n_symbols[slot] = n;
    }
    return IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason read_frame(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    if (h->has_frame || h->n < 6 || h->n != 6 + 3 * (size_t)h->at[5])
        return IH_JPEG_REASON_HEADER;
    const uint8_t *p = take_bytes(h, 6), *c = h->at;
    plan->height = ih_be16(p + 1);
    plan->width = ih_be16(p + 3);
    plan->n_components = p[5];
    if (p[0] != 8)
        return IH_JPEG_REASON_KIND;
    if (plan->height == 0 || plan->width == 0 || plan->height > SIDE_MAX || plan->width > SIDE_MAX)
        return IH_JPEG_REASON_HEADER;
    if (plan->n_components != 1 && plan->n_components != 3)
        return IH_JPEG_REASON_COLOURS;
    const bool is_gray = plan->n_components == 1; /* and the sampling has no effect */
    const unsigned across = c[1] >> 4, down = c[1] & 15, most = is_gray ? 4 : 2;
    if (across < 1 || across > most || down < 1 || down > most ||
        (!is_gray && (c[4] != 0x11 || c[7] != 0x11)))
        return IH_JPEG_REASON_COLOURS;
    plan->chroma_h = is_gray ? 1 : across;
    plan->chroma_v = is_gray ? 1 : down;
    for (unsigned i = 0; i < plan->n_components; i++, c += 3) {
        h->ids[i] = c[0];
        h->slots[i] = c[2];
    }
    h->has_frame = true;
    return IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason read_restart_interval(struct header *h)
{
    if (h->has_restart_interval || h->n != 2)
        return IH_JPEG_REASON_HEADER;
    h->plan->restart_mcus = ih_be16(h->at);
    h->has_restart_interval = true;
    return IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason read_app(struct header *h, unsigned marker)
{
    if (marker == IH_JPEG_APP14 && h->n >= 12 && memcmp(h->at, "Adobe", 5) == 0)
        h->has_other_colours = h->at[11] != 1;
    ih_jpeg_note(&h->plan->notes, marker, h->at, h->n);
    return IH_JPEG_REASON_NONE;
}

/* Whether every decoder reads the components as YCbCr. libjpeg-turbo is less strict about ids: with
 * JFIF's marker it ignores them, and without any marker it excludes only R, G, B. */
static bool is_ycbcr(const struct header *h)
{
    return !h->has_other_colours && h->ids[0] <= 1 && h->ids[1] == h->ids[0] + 1 &&
           h->ids[2] == h->ids[0] + 2;
}

/* Finds the components' quantizers, before the first scan. */
static enum ih_jpeg_reason take_quantizers(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    for (unsigned i = 0; i < plan->n_components; i++) {
        if (h->slots[i] >= SLOTS || !h->quantizers[h->slots[i]])
            return IH_JPEG_REASON_HEADER;
        plan->quantizers[i] = h->quantizers[h->slots[i]];
    }
    return plan->n_components == 3 && !is_ycbcr(h) ? IH_JPEG_REASON_COLOURS : IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason read_scan(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    const unsigned n = plan->n_components;
    if (!h->has_frame || h->n < 1 || h->n != 4 + 2 * (size_t)h->at[0])
        return IH_JPEG_REASON_HEADER;
    if (*take_bytes(h, 1) != n)
        return IH_JPEG_REASON_KIND;
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *p = take_bytes(h, 2);
        plan->dc[i] = p[1] >> 4;
        plan->ac[i] = p[1] & 15;
        if (p[0] != h->ids[i] || plan->dc[i] > 1 || plan->ac[i] > 1 || !plan->codes[plan->dc[i]] ||
            !plan->codes[2 + plan->ac[i]])
            return IH_JPEG_REASON_HEADER;
    }
    if (h->at[0] != 0 || h->at[1] != 63 || h->at[2] != 0)
        return IH_JPEG_REASON_HEADER;
    return take_quantizers(h);
}

/* ---- the scans of a progressive file ---- */

/* Finds the codes of component i of a scan. Returns false if the file does not define them, or if
 * they are unusual. */
static bool take_codes(const struct header *h, struct ih_jpeg_plan_scan *scan, unsigned i,
                       unsigned number)
{
    const bool is_dc = scan->first == 0;
    const unsigned of_kind = is_dc ? number >> 4 : number & 15, slot = (is_dc ? 0 : 2) + of_kind;
    if (is_dc && scan->high > 0)
        return true; /* plain bits */
    if (of_kind > 1 || !h->plan->codes[slot])
        return false;
    scan->codes[i] = h->plan->codes[slot];
    scan->n_symbols[i] = h->plan->n_symbols[slot];
    return symbols_are_sound(scan->codes[i] + 16, scan->n_symbols[i],
                             is_dc            ? DC
                             : scan->high > 0 ? AC_REFINEMENT
                                              : AC_FIRST);
}

/* What libjpeg accepts without a warning (start_pass of jdphuff.c), but for interleaving: a scan
 * has one component or, of DC, all of them. */
static enum ih_jpeg_reason read_progressive_scan(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    const uint8_t *p = h->at;
    const unsigned n = h->n > 0 ? *p : 0;
    if (h->n != 4 + 2 * (size_t)n || (n != 1 && n != plan->n_components) ||
        plan->n_scans == IH_JPEG_SCANS_MAX || plan->restart_mcus)
        return IH_JPEG_REASON_SCANS;
    struct ih_jpeg_plan_scan *scan = &plan->scans[plan->n_scans++];
    const uint8_t *end = p + 1 + 2 * (size_t)n;
    *scan = (struct ih_jpeg_plan_scan){.n_components = (uint8_t)n,
                                       .first = end[0],
                                       .last = end[1],
                                       .high = end[2] >> 4,
                                       .low = end[2] & 15};
    const bool is_dc = scan->first == 0;
    if (scan->last >= COEFFICIENTS || scan->first > scan->last || scan->low > IH_JPEG_LOW_MAX ||
        (is_dc ? scan->last > 0 : n != 1))
        return IH_JPEG_REASON_SCANS;
    for (p++; n == 1 && h->ids[scan->component] != *p;)
        if (++scan->component == plan->n_components)
            return IH_JPEG_REASON_SCANS;
    for (unsigned i = 0; i < n; i++, p += 2) {
        int8_t *left = h->left[scan->component + i];
        if (h->ids[scan->component + i] != p[0] || !take_codes(h, scan, i, p[1]) ||
            (!is_dc && left[0] < 0) ||
            !ih_jpeg_take_bits(left, scan->first, scan->last, scan->high, scan->low))
            return IH_JPEG_REASON_SCANS;
    }
    return IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason begin_progressive(struct header *h)
{
    const enum ih_jpeg_reason reason = take_quantizers(h);
    if (reason != IH_JPEG_REASON_NONE)
        return reason;
    memset(h->left, -1, sizeof h->left);
    h->plan->scans = calloc(IH_JPEG_SCANS_MAX, sizeof *h->plan->scans);
    return h->plan->scans ? read_progressive_scan(h) : IH_JPEG_REASON_NOT_A_FILE;
}

static enum ih_jpeg_reason read_segment(struct header *h, unsigned marker)
{
    switch (marker) {
    case IH_JPEG_SOF2:
        h->plan->is_progressive = true;
        return read_frame(h);
    case IH_JPEG_SOF0:
    case IH_JPEG_SOF0 + 1: /* extended: the same but for tables that are refused here */
        return read_frame(h);
    case IH_JPEG_DHT:
        return read_codes(h);
    case IH_JPEG_DQT:
        return read_quantizers(h);
    case IH_JPEG_DRI:
        return read_restart_interval(h);
    case IH_JPEG_SOS:
        return h->plan->is_progressive ? begin_progressive(h) : read_scan(h);
    case IH_JPEG_COM:
        return IH_JPEG_REASON_NONE;
    default:
        if (marker >= IH_JPEG_APP0 && marker <= IH_JPEG_APP15)
            return read_app(h, marker);
        return marker > IH_JPEG_SOF0 && marker < IH_JPEG_RST0 ? IH_JPEG_REASON_KIND
                                                              : IH_JPEG_REASON_HEADER;
    }
}

/* ---- the data ---- */

/* The next marker; NULL: none follows. */
static const uint8_t *find_marker(const uint8_t *at, const uint8_t *end)
{
    do
        at = memchr(at, 0xFF, (size_t)(end - at));
    while (at && end - at > 1 && at[1] == 0 && (at += 2));
    return at && end - at > 1 ? at : NULL;
}

/* Finds the marker after each interval but the last, and checks its number. */
static enum ih_jpeg_reason find_intervals(struct ih_jpeg_plan *plan, const uint8_t *bytes)
{
    const uint32_t n = (plan->n_mcus - 1) / plan->restart_mcus + 1;
    const uint8_t *at = bytes + plan->data_offset, *const end = bytes + plan->file_bytes;
    if (n > IH_JPEG_BATCH_INTERVALS / 4) /* a batch has to hold several such files */
        return IH_JPEG_REASON_DATA;
    plan->interval_ends = malloc((n - 1) * sizeof *plan->interval_ends);
    if (!plan->interval_ends)
        return IH_JPEG_REASON_NOT_A_FILE;
    for (uint32_t i = 0; i + 1 < n; i++) {
        const uint8_t *marker = find_marker(at, end);
        if (!marker || marker[1] != IH_JPEG_RST0 + i % 8 || marker == at)
            return IH_JPEG_REASON_DATA;
        plan->interval_ends[i] = (uint32_t)(marker - bytes);
        at = marker + IH_JPEG_MARKER_BYTES;
    }
    plan->n_intervals = n;
    return at < end ? IH_JPEG_REASON_NONE : IH_JPEG_REASON_DATA;
}

/* Finds the data of the scan whose header has been read, and the scans after it, up to EOI. Only
 * tables of codes may come between them. */
static enum ih_jpeg_reason find_scans(struct header *h, const uint8_t *bytes)
{
    static const int8_t none_left[IH_JPEG_COMPONENTS_MAX_GPU][COEFFICIENTS];
    struct ih_jpeg_plan *plan = h->plan;
    const uint8_t *at = bytes + plan->data_offset, *const end = bytes + plan->file_bytes;
    for (;;) {
        struct ih_jpeg_plan_scan *scan = &plan->scans[plan->n_scans - 1];
        const uint8_t *marker = find_marker(at, end);
        if (!marker || marker == at)
            return IH_JPEG_REASON_DATA;
        scan->offset = (uint32_t)(at - bytes);
        scan->n_bytes = (uint32_t)(marker - at);
        if (marker - at > (scan->high > 0 ? REFINEMENT_BYTES_MAX : FIRST_BYTES_MAX))
            return IH_JPEG_REASON_SCANS;
        struct ih_jpeg_segment segment = {0};
        for (at = marker; segment.marker != IH_JPEG_SOS; at += segment.size_bytes) {
            if (end - at > 1 && at[0] == 0xFF && at[1] == IH_JPEG_EOI)
                return memcmp(h->left, none_left, plan->n_components * sizeof *none_left) == 0
                           ? IH_JPEG_REASON_NONE
                           : IH_JPEG_REASON_SCANS;
            if (!next_segment(h, at, (size_t)(end - at), &segment) ||
                (segment.marker != IH_JPEG_DHT && segment.marker != IH_JPEG_SOS))
                return IH_JPEG_REASON_SCANS;
            const enum ih_jpeg_reason reason =
                segment.marker == IH_JPEG_DHT ? read_codes(h) : read_progressive_scan(h);
            if (reason != IH_JPEG_REASON_NONE)
                return reason;
        }
    }
}

enum ih_jpeg_reason ih_jpeg_plan_make(struct ih_jpeg_plan *plan, const uint8_t *bytes,
                                      size_t size_bytes)
{
    struct header h = {.plan = plan};
    struct ih_jpeg_segment segment = {0};
    size_t at = IH_JPEG_MARKER_BYTES;
    *plan = (struct ih_jpeg_plan){.file_bytes = size_bytes, .n_intervals = 1};
    if (size_bytes < IH_JPEG_MARKER_BYTES || bytes[0] != 0xFF || bytes[1] != IH_JPEG_SOI)
        return IH_JPEG_REASON_HEADER;
    for (; segment.marker != IH_JPEG_SOS; at += segment.size_bytes) {
        if (!next_segment(&h, bytes + at, size_bytes - at, &segment))
            return IH_JPEG_REASON_HEADER;
        const enum ih_jpeg_reason reason = read_segment(&h, segment.marker);
        if (reason != IH_JPEG_REASON_NONE)
            return reason;
    }
    plan->mcus_across = (plan->width - 1) / (8 * plan->chroma_h) + 1;
    plan->n_mcus = plan->mcus_across * ((plan->height - 1) / (8 * plan->chroma_v) + 1);
    plan->mcu_blocks = plan->chroma_h * plan->chroma_v + plan->n_components - 1;
    plan->data_offset = at;
    if (at == size_bytes)
        return IH_JPEG_REASON_DATA;
    if (plan->is_progressive)
        return plan->n_mcus > IH_JPEG_PART_BLOCKS / MCU_BLOCKS_MAX ? IH_JPEG_REASON_SCANS
                                                                   : find_scans(&h, bytes);
    return plan->restart_mcus && plan->restart_mcus < plan->n_mcus ? find_intervals(plan, bytes)
                                                                   : IH_JPEG_REASON_NONE;
}

bool ih_jpeg_head_is_progressive(const uint8_t *bytes, size_t size_bytes)
{
    for (size_t at = IH_JPEG_MARKER_BYTES; at + IH_JPEG_HEAD_BYTES <= size_bytes;
         at += IH_JPEG_MARKER_BYTES + ih_be16(bytes + at + IH_JPEG_MARKER_BYTES)) {
        if (bytes[at] != 0xFF || bytes[at + 1] == IH_JPEG_SOS)
            return false;
        if (bytes[at + 1] == IH_JPEG_SOF2)
            return true;
    }
    return false;
}

void ih_jpeg_plan_reset(struct ih_jpeg_plan *plan)
{
    free(plan->interval_ends);
    free(plan->scans);
    plan->interval_ends = NULL;
    plan->scans = NULL;
}

uint64_t ih_jpeg_plan_gpu_bytes(const struct ih_jpeg_plan *plan)
{
    enum {
        SUBSEQUENCE_BYTES =
            IH_JPEG_SUBSEQUENCE_BYTES + 2 * IH_JPEG_SUBSEQUENCE_AC + 8 * IH_JPEG_PIECES + 32,
        INTERVAL_BYTES = SUBSEQUENCE_BYTES + 512, /* an incomplete subsequence, and alignment */
        IMAGE_BYTES = 16 << 10,                   /* look-up tables, and alignment of arrays */
        BLOCK_BYTES = 6
    };
    if (plan->is_progressive)
        return ih_jpeg_scans_gpu_bytes(plan);
    return plan->file_bytes / IH_JPEG_SUBSEQUENCE_BYTES * SUBSEQUENCE_BYTES +
           (uint64_t)plan->n_intervals * INTERVAL_BYTES + IMAGE_BYTES +
           (uint64_t)plan->n_mcus * plan->mcu_blocks * BLOCK_BYTES +
           ih_jpeg_plan_planes_bytes(plan);
}

uint64_t ih_jpeg_plan_planes_bytes(const struct ih_jpeg_plan *plan)
{
    const uint64_t n_blocks = (uint64_t)plan->n_mcus * plan->mcu_blocks;
    return n_blocks * 64 + 8 * n_blocks / plan->mcus_across * IH_JPEG_PITCH_ALIGNMENT;
}

/* ---- batches ---- */

void *ih_jpeg_take_array(void *memory, size_t *at, size_t n, size_t size)
{
    enum { ALIGNMENT = 256 };
    uint8_t *const array = memory ? (uint8_t *)memory + *at : NULL;
    *at += (n * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return array;
}

size_t ih_jpeg_batch_begin(struct ih_gpu_jpeg_batch *b, void *memory)
{
    enum { IMAGES = IH_JPEG_BATCH_IMAGES, COMPONENTS = IMAGES * IH_JPEG_COMPONENTS_MAX_GPU };
    size_t at = 0;
    *b = (struct ih_gpu_jpeg_batch){.n_images = 0};
    b->images = ih_jpeg_take_array(memory, &at, IMAGES, sizeof *b->images);
    b->groups = ih_jpeg_take_array(memory, &at, IMAGES, sizeof *b->groups);
    b->codes = ih_jpeg_take_array(memory, &at, IMAGES, sizeof *b->codes);
    b->intervals = ih_jpeg_take_array(memory, &at, IH_JPEG_BATCH_INTERVALS, sizeof *b->intervals);
    b->components = ih_jpeg_take_array(memory, &at, COMPONENTS, sizeof *b->components);
    return at;
}

size_t ih_jpeg_batch_bytes(void)
{
    struct ih_gpu_jpeg_batch b;
    return ih_jpeg_batch_begin(&b, NULL);
}

/* The group for an image: the last one if it has the same codes, else a new one. */
static struct ih_gpu_jpeg_group *group_for(struct ih_gpu_jpeg_batch *b,
                                           const struct ih_jpeg_plan *plan)
{
    struct ih_gpu_jpeg_codes *codes = &b->codes[b->n_codes];
    memset(codes, 0, sizeof *codes);
    for (unsigned i = 0; i < IH_JPEG_CODES; i++)
        if (plan->codes[i])
            memcpy(&codes->of[i], plan->codes[i], 16 + plan->n_symbols[i]);
    if (b->n_codes == 0 || memcmp(codes, codes - 1, sizeof *codes) != 0)
        b->groups[b->n_groups++] =
            (struct ih_gpu_jpeg_group){.first_subsequence = b->n_subsequences,
                                       .first_thread_block = b->n_thread_blocks,
                                       .codes = b->n_codes++};
    return &b->groups[b->n_groups - 1];
}

static void add_components(struct ih_gpu_jpeg_batch *b, const struct ih_jpeg_plan *plan)
{
    uint32_t block = 0;
    for (unsigned i = 0; i < plan->n_components; i++) {
        struct ih_gpu_jpeg_component *c = &b->components[b->n_components++];
        c->image = b->n_images;
        c->h = i == 0 ? plan->chroma_h : 1;
        c->v = i == 0 ? plan->chroma_v : 1;
        c->block_of_mcu = block;
        c->blocks_across = plan->mcus_across * c->h;
        c->blocks_down = plan->n_mcus / plan->mcus_across * c->v;
        c->pitch_bytes = (8 * c->blocks_across + IH_JPEG_PITCH_ALIGNMENT - 1) /
                         IH_JPEG_PITCH_ALIGNMENT * IH_JPEG_PITCH_ALIGNMENT;
        c->first_thread_block = b->n_transform_blocks;
        c->plane_offset = b->planes_bytes;
        memcpy(c->quantizers, plan->quantizers[i], sizeof c->quantizers);
        block += c->h * c->v;
        b->planes_bytes += 8 * (uint64_t)c->pitch_bytes * c->blocks_down;
        b->n_transform_blocks +=
            ((c->blocks_across + 3) / 4 * c->blocks_down - 1) / IH_JPEG_FOURS + 1;
    }
}

void ih_jpeg_batch_add_interval(struct ih_gpu_jpeg_batch *b, uint32_t file_offset, uint32_t n_bytes,
                                uint32_t n_blocks, bool is_last)
{
    b->intervals[b->n_intervals++] = (struct ih_gpu_jpeg_interval){
        .file_offset = file_offset,
        .n_bytes = n_bytes,
        .bits_offset = b->bits_bytes,
        .first_subsequence = b->n_subsequences,
        .first_chunk = b->n_chunks,
        .first_block = b->n_blocks,
        .n_blocks = n_blocks,
        .image = b->n_images,
        .is_last = is_last,
    };
    b->bits_bytes += (n_bytes + IH_JPEG_INTERVAL_SLACK_BYTES + IH_JPEG_INTERVAL_ALIGNMENT - 1) /
                     IH_JPEG_INTERVAL_ALIGNMENT * IH_JPEG_INTERVAL_ALIGNMENT;
    b->n_subsequences += (n_bytes - 1) / IH_JPEG_SUBSEQUENCE_BYTES + 1;
    b->n_chunks += (n_bytes - 1) / IH_JPEG_CHUNK_BYTES + 1;
    b->n_blocks += n_blocks + 1;
}

static void add_intervals(struct ih_gpu_jpeg_batch *b, const struct ih_jpeg_plan *plan,
                          uint32_t file_offset)
{
    uint32_t n_mcus_left = plan->n_mcus, at = (uint32_t)plan->data_offset;
    for (uint32_t i = 0; i < plan->n_intervals; i++) {
        const bool is_last = i + 1 == plan->n_intervals;
        const uint32_t n_mcus = is_last ? n_mcus_left : plan->restart_mcus;
        const uint32_t end = is_last ? (uint32_t)plan->file_bytes : plan->interval_ends[i];
        ih_jpeg_batch_add_interval(b, file_offset + at, end - at, n_mcus * plan->mcu_blocks,
                                   is_last);
        n_mcus_left -= n_mcus;
        at = end + IH_JPEG_MARKER_BYTES;
    }
}

struct ih_gpu_jpeg_image *ih_jpeg_batch_add_image(struct ih_gpu_jpeg_batch *b,
                                                  const struct ih_jpeg_plan *plan)
{
    struct ih_gpu_jpeg_image *image = &b->images[b->n_images];
    *image = (struct ih_gpu_jpeg_image){
        .first_component = b->n_components,
        .n_components = plan->n_components,
        .first_block = b->n_blocks,
        .mcu_blocks = plan->mcu_blocks,
        .mcus_across = plan->mcus_across,
        .restart_mcus = plan->n_intervals > 1 ? plan->restart_mcus : 0,
        .cycle_blocks = 1,
    };
    add_components(b, plan);
    return image;
}

bool ih_jpeg_batch_add(struct ih_gpu_jpeg_batch *b, const struct ih_jpeg_plan *plan,
                       uint32_t file_offset)
{
    if (b->n_images == IH_JPEG_BATCH_IMAGES ||
        b->n_intervals + plan->n_intervals > IH_JPEG_BATCH_INTERVALS)
        return false;
    const uint32_t n_y = plan->chroma_h * plan->chroma_v;
    struct ih_gpu_jpeg_group *group = group_for(b, plan);
    struct ih_gpu_jpeg_image *image = ih_jpeg_batch_add_image(b, plan);
    for (uint32_t i = 0; i < image->mcu_blocks; i++) {
        const unsigned c = i < n_y ? 0 : i - n_y + 1;
        image->code_of_block |= (uint32_t)(plan->dc[c] | plan->ac[c] << 1) << 4 * i;
        if (plan->dc[c] != plan->dc[0] || plan->ac[c] != plan->ac[0])
            image->cycle_blocks = image->mcu_blocks;
    }
    add_intervals(b, plan, file_offset);
    group->n_subsequences = b->n_subsequences - group->first_subsequence;
    b->n_thread_blocks =
        group->first_thread_block + (group->n_subsequences - 1) / IH_JPEG_THREADS + 1;
    b->n_images++;
    return true;
}
