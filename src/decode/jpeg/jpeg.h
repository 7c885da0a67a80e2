/*
 * The parts of the JPEG decoder that dec_jpeg.c and decode/progressive/ share: libjpeg-turbo fed
 * from a reader (reader.c), and rows delivered as planes (raw.c).
 *
 * libjpeg repairs damage and only warns. Counts of repaired pixels would be wrong without a sign,
 * so every warning that means lost or doubtful pixels is an error here. Other irregularities are
 * recorded, some only if the caller is lenient (docs/formats.md has the table). The library leaves
 * its calls by longjmp to on_error, which the caller sets before it calls the library.
 */
#ifndef IH_DECODE_JPEG_JPEG_H
#define IH_DECODE_JPEG_JPEG_H

#include "base/reader.h"
#include "decode/metadata.h"
#include "histogram/pixels.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h> /* jpeglib.h uses FILE without including it */

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

enum { IH_JPEG_COMPONENTS_MAX = 4 }; /* in a scan */

/* ---- reader.c ---- */

/* All zero before the first scan. */
struct ih_jpeg_cost {
    unsigned n_scans;
    uint64_t n_blocks; /* visited by the scans */
};

/*
 * Adds a scan of these components: bit i is component i of header.
 *
 * Returns IH_OK, or IH_LIMIT if the scans cost far more than those of any encoder.
 */
enum ih_status ih_jpeg_cost_add(struct ih_jpeg_cost *cost,
                                const struct jpeg_decompress_struct *header, unsigned components,
                                struct ih_error *err);

/* A piece of a file in memory. */
struct ih_jpeg_span {
    const uint8_t *bytes; /* borrowed */
    size_t size_bytes;
};

struct ih_jpeg_reader {
    struct jpeg_decompress_struct cinfo; /* client_data points to this struct */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr bytes;
    struct jpeg_progress_mgr progress;
    struct ih_reader *src;            /* borrowed; NULL: reads spans instead */
    size_t n_peeked;                  /* bytes of src that the library has been given */
    const struct ih_jpeg_span *spans; /* borrowed; the next n_spans to read */
    unsigned n_spans;
    uint64_t n_given;          /* bytes, to the end of the library's present buffer */
    uint64_t n_before_markers; /* bytes that it had read before it looked for markers */
    bool is_after_segment;     /* that it has read since then */
    bool is_lenient;           /* set by the caller after init */
    bool is_started;
    unsigned warnings; /* set of enum ih_warning */
    struct ih_jpeg_notes notes;
    struct ih_time_limit *time; /* borrowed; the reader's, or NULL */
    struct ih_jpeg_cost cost;   /* of the scans up to now */
    unsigned components_seen;   /* bit i: component i has had a scan */
    struct ih_error error;      /* set before each longjmp */
    jmp_buf on_error;
};

/* Prepares r to read src, which is borrowed. The first call. */
void ih_jpeg_reader_init(struct ih_jpeg_reader *r, struct ih_reader *src);

/* Prepares r to read n spans, one after the other. They hold one scan of several, so a scan that
 * refines bits which no earlier scan in the spans has set is not an error. */
void ih_jpeg_reader_init_spans(struct ih_jpeg_reader *r, const struct ih_jpeg_span *spans,
                               unsigned n);

/* Reads the file header and the header of the first scan. May longjmp. */
void ih_jpeg_reader_open(struct ih_jpeg_reader *r);

/* The next library call looks for the marker after a scan's data. In files with several scans the
 * reader knows this itself. */
void ih_jpeg_reader_mark(struct ih_jpeg_reader *r);

/* Releases the library's memory. */
void ih_jpeg_reader_close(struct ih_jpeg_reader *r);

/* Sets r->error, unless it is set already, and leaves by longjmp. */
_Noreturn void ih_jpeg_reader_fail(struct ih_jpeg_reader *r, enum ih_status status,
                                   const char *text);

/* Records the warning if the reader is lenient; else fails with the text. May longjmp. */
void ih_jpeg_reader_tolerate(struct ih_jpeg_reader *r, enum ih_warning warning, const char *text);

/*
 * The header fields that decide what rows look like. Take them right after ih_jpeg_reader_open: a
 * second frame header in a damaged file overwrites the size before the library refuses it.
 */
struct ih_jpeg_shape {
    JDIMENSION width, height;
    J_COLOR_SPACE colours;
    int n_components;
    uint8_t sampling[IH_JPEG_COMPONENTS_MAX]; /* 16 * horizontal + vertical */
};

struct ih_jpeg_shape ih_jpeg_shape_of(const struct jpeg_decompress_struct *header);
bool ih_jpeg_shapes_equal(const struct ih_jpeg_shape *a, const struct ih_jpeg_shape *b);

/* Bytes of a row of blocks of a component, padded to whole MCUs. */
size_t ih_jpeg_block_row_bytes(const jpeg_component_info *component);

/* Bytes the library allocates for all coefficients of an image in several scans. */
uint64_t ih_jpeg_coefficients_bytes(const struct jpeg_decompress_struct *header);

/* ---- raw.c ---- */

/* All zero before the first row. */
struct ih_jpeg_raw {
    uint32_t n_rows_read; /* of Y */
    uint8_t *kept[3];     /* the library's memory: the last row of each plane, for 4:2:0 */
};

/*
 * Bytes that ih_jpeg_raw_read needs for one row of MCUs and the row carried over. 0: struct
 * ih_planes cannot describe the file's layout. The header has been read.
 */
size_t ih_jpeg_raw_bytes(const struct jpeg_decompress_struct *c);

/*
 * Reads as many rows of MCUs as buffer has room for. The decompressor was started with
 * raw_data_out, and has rows left. May longjmp.
 *
 * buffer   size_bytes, at least ih_jpeg_raw_bytes; planes point into it
 */
void ih_jpeg_raw_read(struct ih_jpeg_raw *raw, struct jpeg_decompress_struct *c, uint8_t *buffer,
                      size_t size_bytes, struct ih_planes *planes);

#endif
