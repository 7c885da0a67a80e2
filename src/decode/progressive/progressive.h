/*
 * A progressive JPEG decoded with all its scans at once.
 *
 * libjpeg decodes scan after scan. It keeps the coefficients of the whole image, 2 bytes each, and
 * passes over them about ten times. Here each scan has a decompressor of its own, and all of them
 * go through the image together, a row of MCUs at a time. They share a ring of a few rows of
 * coefficients, which stays in the cache. A scan needs only the same rows of the scans before it,
 * so the scans form a pipeline, and assistant threads on idle cores can run some of them ahead.
 *
 * The rows are byte for byte those of the ordinary way. This code does not judge damage: when
 * anything fails, dec_jpeg.c decodes the file again in the ordinary way, which reports the error.
 * Rows delivered before that are the same in both. A file that omits bits of coefficients is
 * never taken: libjpeg smooths it.
 *
 * The scans are found by scans.c. Built without it (make PROGRESSIVE=0), no file is taken.
 */
#ifndef IH_DECODE_PROGRESSIVE_PROGRESSIVE_H
#define IH_DECODE_PROGRESSIVE_PROGRESSIVE_H

#include "decode/jpeg/jpeg.h"

#include <stdatomic.h>

struct ih_progressive;

#ifdef IH_WITH_PROGRESSIVE

/* Bytes of the ring of coefficients; 0: not a progressive file that can be decoded this way. */
uint64_t ih_progressive_ring_bytes(const struct jpeg_decompress_struct *header);

/*
 * Returns NULL when the file is not suitable, damaged, or has another shape than header, or when
 * memory is short. The caller then takes the ordinary way.
 *
 * header        of the same file, with ih_progressive_ring_bytes above 0
 * bytes         the whole file; borrowed until close
 * gives_raw     rows are read with jpeg_read_raw_data
 * n_idle_cores  borrowed until close, or NULL; assistant threads are taken from it and given back
 */
struct ih_progressive *ih_progressive_open(const struct jpeg_decompress_struct *header,
                                           const uint8_t *bytes, size_t size_bytes, bool gives_raw,
                                           atomic_uint *n_idle_cores);

/* The reader that delivers rows. It is started, and complete after jpeg_finish_output and
 * jpeg_finish_decompress. Any failure is a longjmp to its on_error. Threads: one. */
struct ih_jpeg_reader *ih_progressive_output(struct ih_progressive *p);

void ih_progressive_close(struct ih_progressive *p); /* NULL is allowed */

#else
#define ih_progressive_ring_bytes(header) ((void)(header), (uint64_t)0)
#define ih_progressive_open(header, bytes, size_bytes, gives_raw, n_idle_cores) \
    ((void)(gives_raw), (struct ih_progressive *)NULL)
#define ih_progressive_output(p) NULL
#define ih_progressive_close(p) ((void)(p))
#endif

/* ---- the scans of a file (scans.c) ---- */

enum {
    IH_PROGRESSIVE_TABLES_MAX = 64, /* segments */
    IH_PROGRESSIVE_SCANS_MAX = 32   /* encoders write about ten */
};

struct ih_progressive_scan {
    unsigned n_tables;        /* it is decoded with the first n_tables tables of the file */
    struct ih_jpeg_span span; /* its header and its data, up to the next marker */
    unsigned n_components;
    uint8_t ids[IH_JPEG_COMPONENTS_MAX]; /* of its components */
    uint8_t first, last;                 /* coefficients in zigzag order: Ss, Se */
    uint8_t high, low;                   /* bits still missing before and after it: Ah, Al */
};

struct ih_progressive_scans {
    struct ih_jpeg_span tables[IH_PROGRESSIVE_TABLES_MAX]; /* SOI and all segments that matter */
    unsigned n_tables;
    struct ih_progressive_scan scans[IH_PROGRESSIVE_SCANS_MAX]; /* in the order of the file */
    unsigned n_scans;
};

/* Finds the scans from SOI to EOI. False: the file is damaged or unusual, has too many tables or
 * scans, or no scan. */
bool ih_progressive_find_scans(struct ih_progressive_scans *s, const uint8_t *bytes,
                               size_t size_bytes);

/* True: the scans set every bit of every coefficient of these components once, and in order. The
 * ids are all different. */
bool ih_progressive_scans_are_complete(const struct ih_progressive_scans *s, const uint8_t *ids,
                                       unsigned n_components);

/* The index of the scan to decode last: the one with the fewest bytes that no later scan depends
 * on. There is at least one scan. */
unsigned ih_progressive_last_scan(const struct ih_progressive_scans *s);

#endif
