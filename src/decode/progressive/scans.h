/*
 * The scans of a progressive JPEG that is in memory, each with the tables that it is decoded with,
 * for who decodes them side by side. Nothing is judged here: a file that is not as it should be is
 * left to the library, which says what is wrong.
 */
#ifndef IH_DECODE_PROGRESSIVE_SCANS_H
#define IH_DECODE_PROGRESSIVE_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IH_JPEG_TABLES_MAX = 64, /* segments */
    IH_JPEG_SCANS_MAX = 32,  /* encoders write about ten */
    IH_JPEG_COMPONENTS_MAX = 4
};

struct ih_jpeg_span {
    const uint8_t *bytes; /* borrowed */
    size_t size_bytes;
};

struct ih_jpeg_scan {
    unsigned n_tables;        /* those before it in the file, that many from the first on */
    struct ih_jpeg_span span; /* its header and its data, up to the next marker */
    unsigned n_components;
    uint8_t ids[IH_JPEG_COMPONENTS_MAX]; /* of its components */
    uint8_t first, last;                 /* coefficients, in zigzag order: Ss, Se */
    uint8_t high, low;                   /* bits that have come before, and that are left: Ah, Al */
};

struct ih_jpeg_scans {
    struct ih_jpeg_span tables[IH_JPEG_TABLES_MAX]; /* SOI, and all that decoding depends on */
    unsigned n_tables;
    struct ih_jpeg_scan scans[IH_JPEG_SCANS_MAX]; /* in the file's order */
    unsigned n_scans;
};

/* From SOI to EOI. False: something is not as it should be, or not as it usually is, or there is
 * too much of it, or no scan. */
bool ih_jpeg_scans_find(struct ih_jpeg_scans *s, const uint8_t *bytes, size_t size_bytes);

/* Whether the scans give every bit of every coefficient of these components, each once and in
 * order. The ids are all different. */
bool ih_jpeg_scans_are_complete(const struct ih_jpeg_scans *s, const uint8_t *ids,
                                unsigned n_components);

/* Of those scans that no later one needs the one with the fewest bytes: it may come last. There is
 * one scan at least. */
unsigned ih_jpeg_scans_lightest_end(const struct ih_jpeg_scans *s);

#endif
