#define _GNU_SOURCE /* memmem */
#include "decode/jpeg/markers.h"

#include "decode/decoder.h"
#include "decode/read_bytes.h"

#include <string.h>

enum ih_jpeg_found ih_jpeg_read_segment(const uint8_t *bytes, size_t size_bytes,
                                        struct ih_jpeg_segment *segment)
{
    if (size_bytes < IH_JPEG_HEAD_BYTES)
        return IH_JPEG_TOO_SHORT;
    if (bytes[0] != 0xFF)
        return IH_JPEG_NO_MARKER;
    const size_t length = ih_be16(bytes + IH_JPEG_MARKER_BYTES); /* its own two bytes included */
    if (length < 2 || length > size_bytes - IH_JPEG_MARKER_BYTES)
        return IH_JPEG_BAD_LENGTH;
    *segment = (struct ih_jpeg_segment){.marker = bytes[1],
                                        .size_bytes = IH_JPEG_MARKER_BYTES + length,
                                        .data = bytes + IH_JPEG_HEAD_BYTES,
                                        .n = length - 2};
    return IH_JPEG_SEGMENT;
}

size_t ih_jpeg_data_bytes(const uint8_t *bytes, size_t size_bytes)
{
    const uint8_t *const end = bytes + size_bytes;
    for (const uint8_t *at = bytes; (at = memchr(at, 0xFF, (size_t)(end - at))); at++) {
        if (at + 1 == end)
            break;
        const uint8_t code = at[1];
        if (code != 0 && code != 0xFF && (code < IH_JPEG_RST0 || code > IH_JPEG_RST7))
            return (size_t)(at - bytes);
    }
    return size_bytes;
}

bool ih_jpeg_take_bits(int8_t *left, int first, int last, int high, int low)
{
    for (int k = first; k <= last; k++) {
        if (left[k] < 0 ? high != 0 : high != left[k] || low + 1 != high)
            return false;
        left[k] = (int8_t)low;
    }
    return true;
}

/* ---- further pictures ---- */

/* Whether the segments of the picture that follows call it a gain map. The image that it belongs to
 * may name the same standards, but has an index of its pictures. */
static bool is_gain_map(struct ih_reader *src)
{
    static const char *const names[] = {"http://ns.adobe.com/hdr-gain-map/1.0/",
                                        "http://ns.apple.com/HDRGainMap/1.0/",
                                        "urn:iso:std:iso:ts:21496:-1"};
    struct ih_jpeg_segment segment = {0};
    const uint8_t *bytes;
    size_t n;
    struct ih_error ignored;
    bool is_named = false;
    for (size_t at = IH_JPEG_MARKER_BYTES; segment.marker != IH_JPEG_SOS;
         at += segment.size_bytes) {
        size_t wanted = at + IH_JPEG_HEAD_BYTES; /* no more, because a pipe may wait */
        for (int i = 0; i < 2; i++, wanted = at + IH_JPEG_MARKER_BYTES + ih_be16(bytes + at + 2))
            if (wanted > IH_READER_BUFFER_BYTES ||
                ih_reader_peek(src, wanted, &bytes, &n, &ignored) != IH_OK || n < wanted)
                return false;
        if (ih_jpeg_read_segment(bytes + at, n - at, &segment) != IH_JPEG_SEGMENT)
            return false;
        if (segment.marker == IH_JPEG_APP0 + 2 && segment.n >= 4 &&
            memcmp(segment.data, "MPF", 4) == 0)
            return false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            is_named |=
                (segment.marker == IH_JPEG_APP0 + 1 || segment.marker == IH_JPEG_APP0 + 2) &&
                memmem(segment.data, segment.n, names[i], strlen(names[i]));
    }
    return is_named;
}

/* A picture that is not counted is not judged: at damage this stops. */
static void skip_picture(struct ih_reader *src)
{
    const uint8_t *bytes;
    size_t n;
    struct ih_error ignored;
    while (ih_reader_peek(src, IH_JPEG_MARKER_BYTES, &bytes, &n, &ignored) == IH_OK &&
           n >= IH_JPEG_MARKER_BYTES) {
        const size_t n_data = ih_jpeg_data_bytes(bytes, n); /* of a scan */
        const unsigned marker = n_data < n ? bytes[n_data + 1] : 0;
        ih_reader_consume(src, n_data < n ? n_data + IH_JPEG_MARKER_BYTES : n - 1);
        if (marker == IH_JPEG_EOI)
            return;
        if (marker != 0 && marker != IH_JPEG_SOI &&
            (ih_reader_peek(src, 2, &bytes, &n, &ignored) != IH_OK || n < 2 ||
             ih_skip_bytes(src, "JPEG", ih_be16(bytes), &ignored) != IH_OK))
            return;
    }
}

enum ih_status ih_jpeg_skip_parts(struct ih_reader *src, uint64_t thumbnails, struct ih_error *err)
{
    const struct ih_decoder *next;
    enum ih_status status;
    while ((status = ih_decode_following(src, &ih_decoder_jpeg, false, &next, err)) == IH_OK &&
           next == &ih_decoder_jpeg) {
        thumbnails >>= 1;
        if (!(thumbnails & 1) && !is_gain_map(src))
            break;
        skip_picture(src);
    }
    return status;
}
