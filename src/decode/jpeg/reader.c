/* Joins libjpeg to a reader: supplies its bytes, turns its errors and warnings into ours, and
 * limits what a file may cost. */
#include "decode/jpeg/jpeg.h"

#include "decode/jpeg/markers.h"

#include <string.h>

enum {
    JPEG_LS_FRAME = 0xF7, /* a marker, which begins the image in JPEG-LS (ITU-T T.87) */
    HIERARCHY = 0xDE      /* DHP, which begins a hierarchical one */
};

static struct ih_jpeg_reader *reader_of(j_common_ptr cinfo)
{
    return cinfo->client_data;
}

void ih_jpeg_reader_fail(struct ih_jpeg_reader *r, enum ih_status status, const char *text)
{
    if (r->error.status == IH_OK)
        ih_error_set(&r->error, status, "%s%s", status == IH_CORRUPT ? "damaged JPEG: " : "", text);
    longjmp(r->on_error, 1);
}

static void on_error_exit(j_common_ptr cinfo)
{
    struct ih_jpeg_reader *r = reader_of(cinfo);
    const struct jpeg_decompress_struct *c = &r->cinfo;
    const bool is_other_kind = r->errors.msg_code == JERR_UNKNOWN_MARKER && c->image_width == 0;
    char text[JMSG_LENGTH_MAX], reason[sizeof text + 32];
    if (is_other_kind && r->errors.msg_parm.i[0] == JPEG_LS_FRAME)
        ih_jpeg_reader_fail(r, IH_UNSUPPORTED, "JPEG-LS is not supported");
    if (is_other_kind && r->errors.msg_parm.i[0] == HIERARCHY)
        ih_jpeg_reader_fail(r, IH_UNSUPPORTED, "hierarchical JPEG is not supported");
    if (r->errors.msg_code == JERR_EMPTY_IMAGE && c->image_height == 0 && c->image_width > 0)
        ih_jpeg_reader_fail(r, IH_UNSUPPORTED,
                            "JPEG without a height in its header (DNL) is not supported");
    switch (r->errors.msg_code) {
    case JERR_OUT_OF_MEMORY:
        ih_jpeg_reader_fail(r, IH_MEMORY, "out of memory");
        break;
    case JERR_BAD_PRECISION:
        snprintf(text, sizeof text, "JPEG with %d bits a sample is not supported, only 8 bits",
                 r->errors.msg_parm.i[0]);
        ih_jpeg_reader_fail(r, IH_UNSUPPORTED, text);
        break;
    case JERR_SOF_UNSUPPORTED:
        snprintf(text, sizeof text,
                 "lossless or hierarchical JPEG (SOF type 0x%02x) is not supported",
                 (unsigned)r->errors.msg_parm.i[0]);
        ih_jpeg_reader_fail(r, IH_UNSUPPORTED, text);
        break;
#if JPEG_LIB_VERSION < 70 /* later interfaces have arithmetic coding, and no such message */
    case JERR_ARITH_NOTIMPL:
#endif
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOT_COMPILED:
    case JERR_WIDTH_OVERFLOW: /* limits of the library, not of the format */
        r->errors.format_message(cinfo, text);
        snprintf(reason, sizeof reason, "JPEG is not supported: %s", text);
        ih_jpeg_reader_fail(r, IH_UNSUPPORTED, reason);
        break;
    default:
        r->errors.format_message(cinfo, text);
        ih_jpeg_reader_fail(r, IH_CORRUPT, text);
    }
}

/* ---- irregularities ---- */

static uint64_t n_read(const struct ih_jpeg_reader *r)
{
    return r->n_given - r->bytes.bytes_in_buffer;
}

void ih_jpeg_reader_mark(struct ih_jpeg_reader *r)
{
    r->n_before_markers = n_read(r);
    r->is_after_segment = false;
}

void ih_jpeg_reader_tolerate(struct ih_jpeg_reader *r, enum ih_warning warning, const char *text)
{
    if (r->is_lenient) {
        r->warnings |= warning;
        return;
    }
    ih_error_set(&r->error, IH_CORRUPT, "damaged JPEG: %s", text);
    r->error.limit = IH_LIMIT_LENIENT;
    longjmp(r->on_error, 1);
}

/* The same with the text of the library's last warning. */
static void tolerate(struct ih_jpeg_reader *r, enum ih_warning warning)
{
    char text[JMSG_LENGTH_MAX];
    r->errors.format_message((j_common_ptr)&r->cinfo, text);
    ih_jpeg_reader_tolerate(r, warning, text);
}

/*
 * The library has skipped bytes before a marker. Returns false if that is damage.
 *
 * Bytes before EOI must follow the data directly. After a segment they could be a scan whose start
 * is damaged. The library also counts bytes before an earlier restart marker that it had in its bit
 * buffer; then it has read fewer bytes since the end of the data than it reports.
 */
static bool accept_extra_bytes(struct ih_jpeg_reader *r)
{
    const uint64_t n_extra = (uint64_t)r->errors.msg_parm.i[0];
    if (!r->src) /* a single scan: the whole file is judged later */
        return !r->is_started;
    if (!r->is_started)
        r->warnings |= IH_WARNING_HEADER_BYTES;
    else if (r->errors.msg_parm.i[1] == JPEG_EOI && !r->is_after_segment &&
             n_extra <= n_read(r) - r->n_before_markers)
        r->warnings |= IH_WARNING_END_BYTES;
    else
        tolerate(r, IH_WARNING_DATA_BYTES);
    return true;
}

/* A scan comes out of turn. Returns false if that is damage. Two cases leave the coefficients
 * certain: AC before DC, and a first scan of coefficients that an earlier scan has set, which
 * replaces them. */
static bool accept_progression(struct ih_jpeg_reader *r)
{
    const struct jpeg_decompress_struct *c = &r->cinfo;
    const bool is_before_dc = c->Ss > 0 && r->errors.msg_parm.i[1] == 0;
    if (!r->src) /* spans lack the earlier scans */
        return true;
    if (!is_before_dc && c->Ah != 0)
        return false;
    tolerate(r, IH_WARNING_PROGRESSION);
    return true;
}

/* Level -1 is a warning of corrupt data, 0 and up are traces: each segment has one. */
static void on_message(j_common_ptr cinfo, int level)
{
    struct ih_jpeg_reader *r = reader_of(cinfo);
    char text[JMSG_LENGTH_MAX];
    if (level >= 0) {
        r->is_after_segment = true;
        return;
    }
    switch (r->errors.msg_code) {
    case JWRN_JFIF_MAJOR:     /* unknown JFIF revision or colour transform code: */
    case JWRN_ADOBE_XFORM:    /* the samples are decoded the same way */
    case JWRN_NOT_SEQUENTIAL: /* Ss, Se, Ah, Al mean nothing in a sequential scan */
        return;
    case JWRN_EXTRANEOUS_DATA:
        if (accept_extra_bytes(r))
            return;
        break;
    case JWRN_BOGUS_PROGRESSION:
        if (accept_progression(r))
            return;
        break;
    default:
        break;
    }
    r->errors.format_message(cinfo, text);
    ih_jpeg_reader_fail(r, IH_CORRUPT, text);
}

/* ---- the cost of scans ---- */

/* A scan, even an empty one of a few bytes, costs a pass over all blocks of its components. So a
 * small hostile file with many scans could keep a core busy for minutes. */
enum {
    /* Encoders write about ten scans. libjpeg's pass over each block six times, those of mozjpeg
     * and jpegli not more often, so this leaves a factor of five. */
    PASSES_MAX = 32,
    SCANS_MAX = 100 /* also of a small image: each scan has tables to set up */
};

/* Any file may visit this many blocks, which takes a core one to two seconds. */
#define BLOCKS_FREE ((uint64_t)1 << 26)

static uint64_t blocks_of(const jpeg_component_info *component)
{
    return (uint64_t)component->width_in_blocks * component->height_in_blocks;
}

static uint64_t blocks_max(const struct jpeg_decompress_struct *header, uint64_t *n_blocks)
{
    *n_blocks = 0;
    for (int i = 0; i < header->num_components; i++)
        *n_blocks += blocks_of(&header->comp_info[i]);
    const uint64_t n_max = *n_blocks * PASSES_MAX; /* at most 2^26 blocks of each component */
    return n_max > BLOCKS_FREE ? n_max : BLOCKS_FREE;
}

enum ih_status ih_jpeg_cost_add(struct ih_jpeg_cost *cost,
                                const struct jpeg_decompress_struct *header, unsigned components,
                                struct ih_error *err)
{
    uint64_t n_blocks;
    const uint64_t n_max = blocks_max(header, &n_blocks);
    for (int i = 0; i < header->num_components; i++)
        if (components >> i & 1)
            cost->n_blocks += blocks_of(&header->comp_info[i]);
    if (++cost->n_scans > SCANS_MAX)
        return ih_error_set(err, IH_LIMIT, "JPEG with more than %d scans", SCANS_MAX);
    if (cost->n_blocks > n_max)
        return ih_error_set(err, IH_LIMIT,
                            "JPEG whose scans pass over the image more than %llu times",
                            (unsigned long long)(n_max / n_blocks));
    return IH_OK;
}

/* The library calls this at least once in every scan of a file that has several, and for each row
 * of MCUs. */
static void on_progress(j_common_ptr cinfo)
{
    const struct jpeg_decompress_struct *c = (j_decompress_ptr)cinfo;
    struct ih_jpeg_reader *r = reader_of(cinfo);
    ih_jpeg_reader_mark(r);
    if (r->time && ih_time_limit_check(r->time, &r->error) != IH_OK)
        longjmp(r->on_error, 1);
    if (c->input_scan_number == (int)r->cost.n_scans)
        return;
    unsigned components = 0;
    for (int i = 0; i < c->comps_in_scan; i++)
        components |= 1u << c->cur_comp_info[i]->component_index;
    r->components_seen |= components;
    if (ih_jpeg_cost_add(&r->cost, c, components, &r->error) != IH_OK)
        longjmp(r->on_error, 1);
}

static void no_op(j_decompress_ptr cinfo)
{
    (void)cinfo;
}

/* At the end of the image: what the library has not read is left in the reader. */
static void give_back(j_decompress_ptr cinfo)
{
    struct ih_jpeg_reader *r = reader_of((j_common_ptr)cinfo);
    if (r->src)
        ih_reader_consume(r->src, r->n_peeked - r->bytes.bytes_in_buffer);
    r->n_peeked = 0;
}

/*
 * The library gets a reader in chunks of IH_READER_BUFFER_BYTES, whatever kind of input it is. Far
 * from the end of a chunk it uses a faster Huffman decoder, which accepts invalid codes that the
 * slower one warns of. With other chunk sizes the same file could be accepted from memory and
 * refused from a pipe. Progressive scans have no faster decoder, so spans are passed in one piece.
 */
static boolean fill_input(j_decompress_ptr cinfo)
{
    struct ih_jpeg_reader *r = reader_of((j_common_ptr)cinfo);
    struct ih_jpeg_span next = {0};
    if (r->src) {
        ih_reader_consume(r->src, r->n_peeked);
        r->n_peeked = 0;
        if (ih_reader_peek(r->src, IH_READER_BUFFER_BYTES, &next.bytes, &next.size_bytes,
                           &r->error) != IH_OK)
            longjmp(r->on_error, 1);
        if (next.size_bytes > IH_READER_BUFFER_BYTES)
            next.size_bytes = IH_READER_BUFFER_BYTES;
        r->n_peeked = next.size_bytes;
    } else if (r->n_spans > 0) {
        next = *r->spans++;
        r->n_spans--;
    }
    if (next.size_bytes == 0)
        ih_jpeg_reader_fail(r, IH_CORRUPT, "the file ends before the image does");
    r->bytes.next_input_byte = next.bytes;
    r->bytes.bytes_in_buffer = next.size_bytes;
    r->n_given += next.size_bytes;
    return TRUE;
}

static void skip_input(j_decompress_ptr cinfo, long n)
{
    struct ih_jpeg_reader *r = reader_of((j_common_ptr)cinfo);
    for (size_t left = n > 0 ? (size_t)n : 0; left > 0;) {
        if (r->bytes.bytes_in_buffer == 0)
            fill_input(cinfo);
        size_t step = left < r->bytes.bytes_in_buffer ? left : r->bytes.bytes_in_buffer;
        r->bytes.next_input_byte += step;
        r->bytes.bytes_in_buffer -= step;
        left -= step;
    }
}

static uint8_t next_byte(j_decompress_ptr cinfo)
{
    struct ih_jpeg_reader *r = reader_of((j_common_ptr)cinfo);
    if (r->bytes.bytes_in_buffer == 0)
        fill_input(cinfo);
    r->bytes.bytes_in_buffer--;
    return *r->bytes.next_input_byte++;
}

/* Reads a segment that the library would skip. */
static boolean note_segment(j_decompress_ptr cinfo)
{
    struct ih_jpeg_reader *r = reader_of((j_common_ptr)cinfo);
    uint8_t bytes[IH_METADATA_BYTES];
    unsigned length = (unsigned)next_byte(cinfo) << 8;
    length |= next_byte(cinfo);
    length -= length < 2 ? length : 2;
    const unsigned n = length < sizeof bytes ? length : (unsigned)sizeof bytes;
    for (unsigned i = 0; i < n; i++)
        bytes[i] = next_byte(cinfo);
    skip_input(cinfo, (long)(length - n));
    r->is_after_segment = true;
    if (!r->is_started)
        ih_jpeg_note(&r->notes, (unsigned)cinfo->unread_marker, bytes, n);
    return TRUE;
}

void ih_jpeg_reader_init(struct ih_jpeg_reader *r, struct ih_reader *src)
{
    memset(r, 0, sizeof *r);
    r->src = src;
    r->time = src ? &src->time : NULL;
    r->cinfo.client_data = r;
    r->cinfo.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = on_error_exit;
    r->errors.emit_message = on_message;
    r->progress.progress_monitor = on_progress;
    r->bytes.init_source = no_op;
    r->bytes.fill_input_buffer = fill_input;
    r->bytes.skip_input_data = skip_input;
    r->bytes.resync_to_restart = jpeg_resync_to_restart; /* never resyncs: it warns first */
    r->bytes.term_source = give_back;
}

void ih_jpeg_reader_init_spans(struct ih_jpeg_reader *r, const struct ih_jpeg_span *spans,
                               unsigned n)
{
    ih_jpeg_reader_init(r, NULL);
    r->spans = spans;
    r->n_spans = n;
}

void ih_jpeg_reader_open(struct ih_jpeg_reader *r)
{
    struct jpeg_decompress_struct *c = &r->cinfo;
    jpeg_create_decompress(c);
    c->mem->max_memory_to_use = 0; /* the library has read it from JPEGMEM */
    c->client_data = r;
    c->src = &r->bytes;
    c->progress = &r->progress;
    jpeg_set_marker_processor(c, IH_JPEG_APP0 + 1, note_segment);
    jpeg_set_marker_processor(c, IH_JPEG_APP0 + 2, note_segment);
    jpeg_read_header(c, TRUE);
    if (c->data_precision != 8) {
        r->errors.msg_code = JERR_BAD_PRECISION;
        r->errors.msg_parm.i[0] = c->data_precision;
        on_error_exit((j_common_ptr)c);
    }
}

void ih_jpeg_reader_close(struct ih_jpeg_reader *r)
{
    jpeg_destroy_decompress(&r->cinfo);
}

struct ih_jpeg_shape ih_jpeg_shape_of(const struct jpeg_decompress_struct *header)
{
    struct ih_jpeg_shape shape = {.width = header->image_width,
                                  .height = header->image_height,
                                  .colours = header->jpeg_color_space,
                                  .n_components = header->num_components};
    for (int i = 0; i < shape.n_components && i < IH_JPEG_COMPONENTS_MAX; i++) {
        const jpeg_component_info *c = &header->comp_info[i];
        shape.sampling[i] = (uint8_t)(16 * c->h_samp_factor + c->v_samp_factor);
    }
    return shape;
}

bool ih_jpeg_shapes_equal(const struct ih_jpeg_shape *a, const struct ih_jpeg_shape *b)
{
    return a->width == b->width && a->height == b->height && a->colours == b->colours &&
           a->n_components == b->n_components &&
           memcmp(a->sampling, b->sampling, sizeof a->sampling) == 0;
}

static size_t round_up(size_t n, int to)
{
    return (n + (unsigned)to - 1) / (unsigned)to * (unsigned)to;
}

size_t ih_jpeg_block_row_bytes(const jpeg_component_info *component)
{
    return round_up(component->width_in_blocks, component->h_samp_factor) * sizeof(JBLOCK);
}

/* Source: jinit_d_coef_controller in the library's jdcoefct.c. */
uint64_t ih_jpeg_coefficients_bytes(const struct jpeg_decompress_struct *header)
{
    uint64_t n_bytes = 0;
    for (int i = 0; i < header->num_components; i++) {
        const jpeg_component_info *c = &header->comp_info[i];
        n_bytes +=
            (uint64_t)ih_jpeg_block_row_bytes(c) * round_up(c->height_in_blocks, c->v_samp_factor);
    }
    return n_bytes;
}
