/*
 * The markers of a JPEG file: the byte after 0xFF (ITU-T T.81, table B.1), and the one reader of
 * them. Libjpeg finds the markers of a file that it decodes; this reader serves all that looks at a
 * file without it.
 */
#ifndef IH_DECODE_JPEG_MARKERS_H
#define IH_DECODE_JPEG_MARKERS_H

#include "base/reader.h"

enum ih_jpeg_marker {
    IH_JPEG_SOF0 = 0xC0, /* frame: baseline, Huffman codes */
    IH_JPEG_SOF2 = 0xC2, /* frame: progressive, Huffman codes */
    IH_JPEG_DHT = 0xC4,
    IH_JPEG_RST0 = 0xD0, /* RST0 to RST7 stand inside the entropy-coded data */
    IH_JPEG_RST7 = 0xD7,
    IH_JPEG_SOI = 0xD8,
    IH_JPEG_EOI = 0xD9,
    IH_JPEG_SOS = 0xDA,
    IH_JPEG_DQT = 0xDB,
    IH_JPEG_DRI = 0xDD,
    IH_JPEG_APP0 = 0xE0,  /* JFIF */
    IH_JPEG_APP14 = 0xEE, /* Adobe: says how the colours are stored */
    IH_JPEG_APP15 = 0xEF,
    IH_JPEG_COM = 0xFE
};

enum {
    IH_JPEG_MARKER_BYTES = 2,
    IH_JPEG_HEAD_BYTES = 4 /* of a segment: its marker and its length */
};

enum ih_jpeg_found {
    IH_JPEG_SEGMENT,
    IH_JPEG_TOO_SHORT, /* fewer bytes than a segment's head */
    IH_JPEG_NO_MARKER, /* another byte than 0xFF */
    IH_JPEG_BAD_LENGTH /* below 2, or past the end */
};

/* A segment in memory: marker, length and data. */
struct ih_jpeg_segment {
    unsigned marker;
    size_t size_bytes;   /* with marker and length */
    const uint8_t *data; /* borrowed */
    size_t n;            /* bytes of data */
};

/* Reads the segment at the first of these bytes. */
enum ih_jpeg_found ih_jpeg_read_segment(const uint8_t *bytes, size_t size_bytes,
                                        struct ih_jpeg_segment *segment);

/* Bytes of a scan's data before the marker that ends it; size_bytes: no marker follows. */
size_t ih_jpeg_data_bytes(const uint8_t *bytes, size_t size_bytes);

/*
 * Counts the bits that a scan of a progressive file brings to a component.
 *
 * left         [64], of each coefficient: how many bits are missing; -1: none has come
 * first, last  the scan's coefficients (Ss, Se)
 * high, low    how many bits are missing before and after it (Ah, Al)
 *
 * Returns false if others were missing, or more than one has come in a refinement.
 */
bool ih_jpeg_take_bits(int8_t *left, int first, int last, int high, int low);

/*
 * Consumes the pictures after an image that are no images of their own: gain maps, and the large
 * thumbnails that the image's index lists (CIPA DC-007, "MPF").
 *
 * src          after the image's last byte
 * thumbnails   of struct ih_jpeg_notes
 *
 * Returns IH_OK or IH_IO.
 */
enum ih_status ih_jpeg_skip_parts(struct ih_reader *src, uint64_t thumbnails, struct ih_error *err);

#endif
