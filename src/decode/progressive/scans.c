/*
 * Finds the scans of a progressive JPEG in memory, each with the tables that it is decoded with.
 *
 * Nothing is judged here: a file that is damaged, or only unusual, is left to libjpeg.
 */
#include "decode/progressive/progressive.h"

#include "decode/jpeg/markers.h"

#include <string.h>

enum { N_COEFFICIENTS = 64 };

static bool add_table(struct ih_progressive_scans *s, const uint8_t *bytes, size_t n)
{
    if (s->n_tables == IH_PROGRESSIVE_TABLES_MAX)
        return false;
    s->tables[s->n_tables++] = (struct ih_jpeg_span){bytes, n};
    return true;
}

/* start: of the segment of a scan, whose data follows, at most to end */
static bool add_scan(struct ih_progressive_scans *s, const uint8_t *start,
                     const struct ih_jpeg_segment *segment, const uint8_t *end)
{
    enum { FIXED_BYTES = 4 }; /* number of components; Ss, Se, Ah and Al */
    const uint8_t *p = segment->data, *const data = start + segment->size_bytes;
    if (s->n_scans == IH_PROGRESSIVE_SCANS_MAX || segment->n < FIXED_BYTES)
        return false;
    struct ih_progressive_scan *scan = &s->scans[s->n_scans++];
    scan->n_components = *p++;
    if (scan->n_components < 1 || scan->n_components > IH_JPEG_COMPONENTS_MAX ||
        segment->n != FIXED_BYTES + 2 * (size_t)scan->n_components)
        return false;
    for (unsigned i = 0; i < scan->n_components; i++, p += 2)
        scan->ids[i] = *p;
    scan->first = p[0];
    scan->last = p[1];
    scan->high = p[2] >> 4;
    scan->low = p[2] & 15;
    scan->n_tables = s->n_tables;
    scan->span = (struct ih_jpeg_span){start, segment->size_bytes +
                                                  ih_jpeg_data_bytes(data, (size_t)(end - data))};
    return true;
}

/* Adds a segment that decoding depends on; not a scan. */
static bool add_segment(struct ih_progressive_scans *s, const uint8_t *start,
                        const struct ih_jpeg_segment *segment, bool has_frame)
{
    const unsigned code = segment->marker;
    switch (code) {
    case IH_JPEG_DHT:
    case IH_JPEG_DRI:
        return add_table(s, start, segment->size_bytes);
    case IH_JPEG_SOF2:
        return !has_frame && add_table(s, start, segment->size_bytes);
    case IH_JPEG_DQT:
    case IH_JPEG_APP0:
    case IH_JPEG_APP14: /* quantizers and colours: a scan before them would get others */
        return s->n_scans == 0 && add_table(s, start, segment->size_bytes);
    default:
        return code == IH_JPEG_COM || (code > IH_JPEG_APP0 && code <= IH_JPEG_APP15);
    }
}

bool ih_progressive_find_scans(struct ih_progressive_scans *s, const uint8_t *bytes,
                               size_t size_bytes)
{
    bool has_frame = false;
    s->n_tables = s->n_scans = 0;
    if (size_bytes < IH_JPEG_MARKER_BYTES || bytes[0] != 0xFF || bytes[1] != IH_JPEG_SOI ||
        !add_table(s, bytes, IH_JPEG_MARKER_BYTES))
        return false;
    const uint8_t *const end = bytes + size_bytes;
    const uint8_t *at = bytes + IH_JPEG_MARKER_BYTES;
    while (end - at >= IH_JPEG_MARKER_BYTES && (at[0] != 0xFF || at[1] != IH_JPEG_EOI)) {
        struct ih_jpeg_segment segment;
        if (ih_jpeg_read_segment(at, (size_t)(end - at), &segment) != IH_JPEG_SEGMENT)
            return false;
        const bool is_scan = segment.marker == IH_JPEG_SOS;
        if (is_scan ? !has_frame || !add_scan(s, at, &segment, end)
                    : !add_segment(s, at, &segment, has_frame))
            return false;
        has_frame |= segment.marker == IH_JPEG_SOF2;
        at += is_scan ? s->scans[s->n_scans - 1].span.size_bytes : segment.size_bytes;
    }
    /* A table after the last scan would have no effect here. */
    return end - at >= IH_JPEG_MARKER_BYTES && s->n_scans > 0 &&
           s->scans[s->n_scans - 1].n_tables == s->n_tables;
}

bool ih_progressive_scans_are_complete(const struct ih_progressive_scans *s, const uint8_t *ids,
                                       unsigned n_components)
{
    enum { BITS_MAX = 13 }; /* the most that a scan may leave for later ones */
    int8_t left[IH_JPEG_COMPONENTS_MAX][N_COEFFICIENTS];
    memset(left, -1, sizeof left);
    for (unsigned n = 0; n < s->n_scans; n++) {
        const struct ih_progressive_scan *scan = &s->scans[n];
        const bool is_dc = scan->first == 0;
        if (scan->last >= N_COEFFICIENTS || scan->first > scan->last || scan->low > BITS_MAX ||
            (is_dc ? scan->last > 0 : scan->n_components > 1))
            return false;
        unsigned before = 0; /* a scan lists its components in the order of the frame */
        for (unsigned i = 0; i < scan->n_components; i++) {
            while (before < n_components && ids[before] != scan->ids[i])
                before++;
            if (before == n_components || (!is_dc && left[before][0] < 0) ||
                !ih_jpeg_take_bits(left[before], scan->first, scan->last, scan->high, scan->low))
                return false;
        }
    }
    for (unsigned i = 0; i < n_components; i++) {
        for (unsigned k = 0; k < N_COEFFICIENTS; k++)
            if (left[i][k] != 0)
                return false;
    }
    return true;
}

static bool has_component(const struct ih_progressive_scan *scan, uint8_t id)
{
    return memchr(scan->ids, id, scan->n_components) != NULL;
}

/* True: scan b may read or write coefficients of scan a. A damaged AC scan may write past its last
 * coefficient, so any two AC scans of a component depend on each other; none writes the DC. */
static bool depends_on(const struct ih_progressive_scan *b, const struct ih_progressive_scan *a)
{
    bool has_same = false;
    for (unsigned i = 0; i < b->n_components; i++)
        has_same |= has_component(a, b->ids[i]);
    return has_same && (a->first == 0) == (b->first == 0);
}

unsigned ih_progressive_last_scan(const struct ih_progressive_scans *s)
{
    unsigned lightest = s->n_scans - 1;
    for (unsigned n = 0; n < s->n_scans; n++) {
        bool is_end = true;
        for (unsigned i = n + 1; i < s->n_scans; i++)
            is_end &= !depends_on(&s->scans[i], &s->scans[n]);
        if (is_end && s->scans[n].span.size_bytes < s->scans[lightest].span.size_bytes)
            lightest = n;
    }
    return lightest;
}
