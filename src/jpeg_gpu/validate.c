/*
 * The validator: the segments up to the scan, the verdict, and the stream for the hardware
 * decoders.
 *
 * The header rules are stricter than libjpeg's, which accepts much that no camera writes: tables
 * defined twice, 16-bit quantizers in baseline files, restart markers between segments.
 *
 * The hardware decoders get a header in one fixed form, written from what was validated here, so
 * that the two parsers cannot differ about a file.
 */
#include "jpeg_gpu/validate.h"

#include "decode/jpeg/markers.h"
#include "decode/read_bytes.h"
#include "jpeg_gpu/validate.h"

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

/* ---- reading the header ---- */

enum { SIDE_MAX = 65500 }; /* libjpeg's JPEG_MAX_DIMENSION */

struct header {
    struct ih_jpeg_plan *plan;
    const uint8_t *at; /* the unread bytes of the segment, */
    size_t n;          /* and their number */
    bool has_frame, has_restart_interval;
    bool has_other_colours; /* Adobe's marker says: not YCbCr */
};

static const uint8_t *take_bytes(struct header *h, size_t n)
{
    const uint8_t *p = h->at;
    h->at += n;
    h->n -= n;
    return p;
}

static enum ih_jpeg_reason read_quant(struct header *h)
{
    while (h->n > 0) {
        if (h->n < 65)
            return IH_JPEG_REASON_QUANT_SHORT;
        unsigned slot = *take_bytes(h, 1);
        const uint8_t *table = take_bytes(h, 64);
        if (slot >= IH_JPEG_QUANT_SLOTS) /* the upper half of the byte: 16-bit quantizers */
            return IH_JPEG_REASON_QUANT_NUMBER;
        if (h->plan->quant[slot])
            return IH_JPEG_REASON_QUANT_TWICE;
        if (memchr(table, 0, 64))
            return IH_JPEG_REASON_QUANT_ZERO;
        h->plan->quant[slot] = table;
    }
    return IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason read_codes(struct header *h)
{
    while (h->n > 0) {
        if (h->n < 17)
            return IH_JPEG_REASON_CODES_SHORT;
        unsigned number = *take_bytes(h, 1), slot = number & 15;
        struct ih_jpeg_codes codes = {.counts = take_bytes(h, 16)};
        for (unsigned i = 0; i < 16; i++)
            codes.n_symbols += codes.counts[i];
        if (codes.n_symbols > 256 || codes.n_symbols > h->n)
            return IH_JPEG_REASON_CODES_SYMBOLS;
        take_bytes(h, codes.n_symbols);
        if (number >> 4 > 1 || slot >= IH_JPEG_CODE_SLOTS)
            return IH_JPEG_REASON_CODES_NUMBER;
        bool is_dc = number >> 4 == 0;
        struct ih_jpeg_codes *place = is_dc ? &h->plan->dc[slot] : &h->plan->ac[slot];
        if (place->counts)
            return IH_JPEG_REASON_CODES_TWICE;
        if (!ih_jpeg_codes_are_sound(&codes, is_dc))
            return IH_JPEG_REASON_CODES_INVALID;
        *place = codes;
    }
    return IH_JPEG_REASON_NONE;
}

/* The layouts for which upsampling was compared with libjpeg's: luma factors 1 or 2, chroma factors
 * 1. A single component must have the factor 1, which then has no effect. */
static bool is_sampling_known(struct ih_jpeg_plan *plan, const uint8_t *components)
{
    unsigned h = components[1] >> 4, v = components[1] & 15;
    if (plan->n_components == 1)
        return h == 1 && v == 1;
    plan->chroma_h = h;
    plan->chroma_v = v;
    return (h == 1 || h == 2) && (v == 1 || v == 2) && components[4] == 0x11 &&
           components[7] == 0x11;
}

static enum ih_jpeg_reason read_frame(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    if (h->has_frame)
        return IH_JPEG_REASON_FRAME_TWICE;
    if (h->n < 6 || h->n != 6 + 3 * (size_t)h->at[5])
        return IH_JPEG_REASON_FRAME_LENGTH;
    const uint8_t *p = take_bytes(h, 6), *components = h->at;
    plan->height = ih_be16(p + 1);
    plan->width = ih_be16(p + 3);
    plan->n_components = p[5];
    plan->chroma_h = plan->chroma_v = 1;
    if (p[0] != 8)
        return IH_JPEG_REASON_DEPTH;
    if (plan->height == 0 || plan->width == 0)
        return IH_JPEG_REASON_NO_PIXELS;
    if (plan->height > SIDE_MAX || plan->width > SIDE_MAX)
        return IH_JPEG_REASON_SIDE;
    if (plan->n_components != 1 && plan->n_components != 3)
        return IH_JPEG_REASON_COMPONENTS;
    if (!is_sampling_known(plan, components))
        return IH_JPEG_REASON_SUBSAMPLING;
    for (unsigned i = 0; i < plan->n_components; i++, components += 3) {
        plan->components[i].id = components[0];
        plan->components[i].quant = components[2];
        for (unsigned j = 0; j < i; j++)
            if (plan->components[j].id == components[0])
                return IH_JPEG_REASON_COMPONENT_ID;
    }
    h->has_frame = true;
    return IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason read_restart_interval(struct header *h)
{
    if (h->has_restart_interval)
        return IH_JPEG_REASON_RESTART_TWICE;
    if (h->n != 2)
        return IH_JPEG_REASON_RESTART_LENGTH;
    h->plan->restart_interval = ih_be16(h->at);
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
    const struct ih_jpeg_plan *plan = h->plan;
    const unsigned first = plan->components[0].id;
    return !h->has_other_colours && first <= 1 && plan->components[1].id == first + 1 &&
           plan->components[2].id == first + 2;
}

static enum ih_jpeg_reason read_scan(struct header *h)
{
    struct ih_jpeg_plan *plan = h->plan;
    if (!h->has_frame)
        return IH_JPEG_REASON_SCAN_BEFORE_FRAME;
    if (h->n != 4 + 2 * (size_t)plan->n_components || h->at[0] != plan->n_components)
        return IH_JPEG_REASON_SCAN_COMPONENTS;
    take_bytes(h, 1);
    for (unsigned i = 0; i < plan->n_components; i++) {
        const uint8_t *p = take_bytes(h, 2);
        unsigned dc = p[1] >> 4, ac = p[1] & 15, quant = plan->components[i].quant;
        if (p[0] != plan->components[i].id)
            return IH_JPEG_REASON_SCAN_ORDER;
        if (dc >= IH_JPEG_CODE_SLOTS || ac >= IH_JPEG_CODE_SLOTS || !plan->dc[dc].counts ||
            !plan->ac[ac].counts)
            return IH_JPEG_REASON_SCAN_CODES;
        if (quant >= IH_JPEG_QUANT_SLOTS || !plan->quant[quant])
            return IH_JPEG_REASON_SCAN_QUANT;
        plan->components[i].dc = dc;
        plan->components[i].ac = ac;
    }
    if (h->at[0] != 0 || h->at[1] != 63 || h->at[2] != 0)
        return IH_JPEG_REASON_SCAN_COEFFICIENTS;
    if (plan->n_components == 3 && !is_ycbcr(h))
        return IH_JPEG_REASON_NOT_YCBCR;
    return IH_JPEG_REASON_NONE;
}

static enum ih_jpeg_reason read_segment(struct header *h, unsigned marker)
{
    switch (marker) {
    case IH_JPEG_SOF0:
        return read_frame(h);
    case IH_JPEG_DHT:
        return read_codes(h);
    case IH_JPEG_DQT:
        return read_quant(h);
    case IH_JPEG_DRI:
        return read_restart_interval(h);
    case IH_JPEG_SOS:
        return read_scan(h);
    case IH_JPEG_COM:
        return IH_JPEG_REASON_NONE;
    default:
        if (marker >= IH_JPEG_APP0 && marker <= IH_JPEG_APP15)
            return read_app(h, marker);
        if (marker > IH_JPEG_SOF0 && marker < IH_JPEG_RST0)
            return IH_JPEG_REASON_NOT_BASELINE;
        return IH_JPEG_REASON_MARKER;
    }
}

enum ih_jpeg_reason ih_jpeg_validate_header(const uint8_t *bytes, size_t size_bytes,
                                            struct ih_jpeg_plan *plan)
{
    static const enum ih_jpeg_reason not_found[] = {
        [IH_JPEG_TOO_SHORT] = IH_JPEG_REASON_NO_SCAN,
        [IH_JPEG_NO_MARKER] = IH_JPEG_REASON_BETWEEN_SEGMENTS,
        [IH_JPEG_BAD_LENGTH] = IH_JPEG_REASON_SEGMENT_LENGTH};
    struct header h = {.plan = plan};
    struct ih_jpeg_segment segment = {0};
    size_t at = IH_JPEG_MARKER_BYTES;
    memset(plan, 0, sizeof *plan);
    if (size_bytes < IH_JPEG_MARKER_BYTES || bytes[0] != 0xFF || bytes[1] != IH_JPEG_SOI)
        return IH_JPEG_REASON_NOT_JPEG;
    for (; segment.marker != IH_JPEG_SOS; at += segment.size_bytes) {
        const enum ih_jpeg_found found =
            ih_jpeg_read_segment(bytes + at, size_bytes - at, &segment);
        if (found != IH_JPEG_SEGMENT)
            return not_found[found];
        h.at = segment.data;
        h.n = segment.n;
        const enum ih_jpeg_reason reason = read_segment(&h, segment.marker);
        if (reason != IH_JPEG_REASON_NONE)
            return reason;
    }
    plan->data = bytes + at;
    plan->data_bytes = size_bytes - at;
    return IH_JPEG_REASON_NONE;
}

/* ---- writing the stream ---- */

/* A stream to be written, or only measured. */
struct out {
    uint8_t *at; /* NULL: only measured */
    size_t n;    /* bytes so far */
};

static void put(struct out *o, const uint8_t *bytes, size_t n)
{
    if (o->at)
        memcpy(o->at + o->n, bytes, n);
    o->n += n;
}

static void put_byte(struct out *o, unsigned value)
{
    uint8_t byte = (uint8_t)value;
    put(o, &byte, 1);
}

static void put_be16(struct out *o, uint32_t value)
{
    put_byte(o, value >> 8);
    put_byte(o, value & 255);
}

static void put_segment(struct out *o, unsigned marker, size_t n_bytes)
{
    put_be16(o, 0xFF00 | marker);
    put_be16(o, (uint32_t)n_bytes + 2);
}

static void put_codes(struct out *o, unsigned number, const struct ih_jpeg_codes *codes)
{
    put_segment(o, IH_JPEG_DHT, 17 + codes->n_symbols);
    put_byte(o, number);
    put(o, codes->counts, 16 + codes->n_symbols);
}

/* Writes the tables that components use, each once. */
static void put_tables(struct out *o, const struct ih_jpeg_plan *plan)
{
    unsigned quant_seen = 0, dc_seen = 0, ac_seen = 0; /* bit i: slot i */
    for (unsigned i = 0; i < plan->n_components; i++) {
        unsigned quant = plan->components[i].quant;
        unsigned dc = plan->components[i].dc, ac = plan->components[i].ac;
        if (!(quant_seen >> quant & 1)) {
            put_segment(o, IH_JPEG_DQT, 65);
            put_byte(o, quant);
            put(o, plan->quant[quant], 64);
        }
        if (!(dc_seen >> dc & 1))
            put_codes(o, dc, &plan->dc[dc]);
        if (!(ac_seen >> ac & 1))
            put_codes(o, 0x10 + ac, &plan->ac[ac]);
        quant_seen |= 1u << quant;
        dc_seen |= 1u << dc;
        ac_seen |= 1u << ac;
    }
}

static void put_frame(struct out *o, const struct ih_jpeg_plan *plan)
{
    put_segment(o, IH_JPEG_SOF0, 6 + 3 * plan->n_components);
    put_byte(o, 8);
    put_be16(o, plan->height);
    put_be16(o, plan->width);
    put_byte(o, plan->n_components);
    for (unsigned i = 0; i < plan->n_components; i++) {
        put_byte(o, i + 1); /* ids that mean YCbCr to every decoder */
        put_byte(o, i == 0 ? plan->chroma_h << 4 | plan->chroma_v : 0x11);
        put_byte(o, plan->components[i].quant);
    }
}

static void put_scan(struct out *o, const struct ih_jpeg_plan *plan)
{
    put_segment(o, IH_JPEG_SOS, 4 + 2 * plan->n_components);
    put_byte(o, plan->n_components);
    for (unsigned i = 0; i < plan->n_components; i++) {
        put_byte(o, i + 1);
        put_byte(o, plan->components[i].dc << 4 | plan->components[i].ac);
    }
    put_byte(o, 0); /* all coefficients with all their bits */
    put_byte(o, 63);
    put_byte(o, 0);
    put(o, plan->data, plan->data_bytes);
}

static size_t put_stream(const struct ih_jpeg_plan *plan, uint8_t *stream)
{
    struct out o = {.at = stream};
    put_be16(&o, 0xFF00 | IH_JPEG_SOI);
    put_tables(&o, plan);
    put_frame(&o, plan);
    if (plan->restart_interval) {
        put_segment(&o, IH_JPEG_DRI, 2);
        put_be16(&o, plan->restart_interval);
    }
    put_scan(&o, plan);
    put_be16(&o, 0xFF00 | IH_JPEG_EOI);
    return o.n;
}

/* ---- the verdict ---- */

enum ih_jpeg_reason ih_jpeg_validate(const uint8_t *bytes, size_t size_bytes,
                                     struct ih_jpeg_plan *plan,
                                     struct ih_jpeg_workspace **workspace)
{
    const enum ih_jpeg_reason reason = ih_jpeg_validate_header(bytes, size_bytes, plan);
    return reason == IH_JPEG_REASON_NONE ? ih_jpeg_validate_data(plan, workspace) : reason;
}

enum ih_jpeg_reason ih_jpeg_validate_data(struct ih_jpeg_plan *plan,
                                          struct ih_jpeg_workspace **workspace)
{
    const enum ih_jpeg_reason reason = ih_jpeg_validate_scan(plan, workspace);
    if (reason == IH_JPEG_REASON_NONE)
        plan->stream_bytes = put_stream(plan, NULL);
    return reason;
}

void ih_jpeg_plan_write(const struct ih_jpeg_plan *plan, uint8_t *stream)
{
    put_stream(plan, stream);
}
