/*
 * The markers of a JPEG file: the byte after 0xFF. Source: ITU-T T.81, table B.1.
 */
#ifndef IH_DECODE_JPEG_MARKERS_H
#define IH_DECODE_JPEG_MARKERS_H

enum ih_jpeg_marker {
    IH_JPEG_TEM = 0x01,  /* stands alone, as SOI does; unused */
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

#endif
