#include "decode/jpeg_pick.h"

#include <string.h>

enum {
    TEM = 0x01,
    RST_FIRST = 0xd0, /* stands within data, as the stuffed 0xff00 does */
    RST_LAST = 0xd7,
    EOI = 0xd9,
    SOS = 0xda,
    MARKER_BYTES = 2,
    HEAD_BYTES = 4 /* of a segment: its marker and its length */
};

void ih_jpeg_pick_begin(struct ih_jpeg_pick *p, const uint8_t *ids, unsigned n_ids)
{
    *p = (struct ih_jpeg_pick){.n_ids = n_ids, .at = IH_JPEG_PICK_DATA, .is_wanted = true};
    memcpy(p->ids, ids, n_ids);
}

/* How many of the n bytes are of a scan's data for certain: up to a marker that ends it. */
static size_t data_length(const uint8_t *bytes, size_t n)
{
    for (const uint8_t *at = bytes; n > 0; at++) {
        at = memchr(at, 0xff, n - (size_t)(at - bytes));
        if (!at)
            return n;
        const size_t i = (size_t)(at - bytes);
        if (i + 1 == n)
            return i; /* what follows is not known */
        const uint8_t code = at[1];
        if (code != 0 && code != 0xff && (code < RST_FIRST || code > RST_LAST))
            return i;
    }
    return 0;
}

/* Whether a scan, of which the n bytes are marker, length and header, is to be passed on. */
static bool is_wanted(const struct ih_jpeg_pick *p, const uint8_t *bytes, size_t n)
{
    bool is = n == HEAD_BYTES || bytes[HEAD_BYTES] == 0;
    for (unsigned i = 0; !is && i < bytes[HEAD_BYTES]; i++) {
        const size_t at = HEAD_BYTES + 1 + 2 * i;
        is = at >= n || !memchr(p->ids, bytes[at], p->n_ids);
    }
    return is;
}

/* At a marker. Gives how many bytes are to be passed on, and where the next ones stand; false where
 * something is wrong. *n_skipped: passed over instead. */
static bool take_marker(struct ih_jpeg_pick *p, const uint8_t *bytes, size_t n, size_t *n_passed,
                        size_t *n_skipped)
{
    if (n < MARKER_BYTES || bytes[0] != 0xff)
        return false;
    const uint8_t code = bytes[1];
    if (code == 0xff || code == EOI || code == TEM || (code >= RST_FIRST && code <= RST_LAST)) {
        *n_passed = code == 0xff ? 1 : MARKER_BYTES; /* 0xff: before the marker there may be more */
        p->at = code == EOI ? IH_JPEG_PICK_END : IH_JPEG_PICK_MARKER;
        return true;
    }
    const size_t n_segment = n < HEAD_BYTES ? 0 : MARKER_BYTES + ((size_t)bytes[2] << 8 | bytes[3]);
    if (n_segment < HEAD_BYTES)
        return false;
    if (code != SOS) {
        p->at = IH_JPEG_PICK_SEGMENT;
        p->n_segment = n_segment;
        return true;
    }
    if (n < n_segment)
        return false;
    p->n_scans++;
    p->at = IH_JPEG_PICK_DATA;
    p->is_wanted = is_wanted(p, bytes, n_segment);
    *(p->is_wanted ? n_passed : n_skipped) = n_segment;
    return true;
}

enum ih_status ih_jpeg_pick_next(struct ih_jpeg_pick *p, struct ih_source *src,
                                 const uint8_t **bytes, size_t *size_bytes, struct ih_error *err)
{
    enum { HEADER_BYTES_MAX = 64 }; /* of a scan's header: 4 components take 14 */
    *size_bytes = 0;
    while (p->at != IH_JPEG_PICK_END) {
        size_t n, n_passed = 0, n_skipped = 0;
        enum ih_status status = ih_source_peek(src, HEADER_BYTES_MAX, bytes, &n, err);
        if (status != IH_OK || n == 0)
            return status;
        if (p->at == IH_JPEG_PICK_DATA) {
            const size_t n_data = data_length(*bytes, n);
            if (n_data == 0)
                p->at = IH_JPEG_PICK_MARKER;
            *(p->is_wanted ? &n_passed : &n_skipped) = n_data;
        } else if (p->at == IH_JPEG_PICK_SEGMENT) {
            n_passed = n < p->n_segment ? n : p->n_segment;
            p->n_segment -= n_passed;
            if (p->n_segment == 0)
                p->at = IH_JPEG_PICK_MARKER;
        } else if (!take_marker(p, *bytes, n, &n_passed, &n_skipped)) {
            return IH_OK;
        }
        *size_bytes = n_passed;
        if (n_passed > 0)
            return IH_OK;
        ih_source_consume(src, n_skipped);
    }
    return IH_OK;
}
