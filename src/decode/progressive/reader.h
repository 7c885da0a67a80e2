/*
 * libjpeg-turbo fed from a source, with its errors as ours: what all that decodes a JPEG begins
 * with.
 *
 * libjpeg repairs damage and warns. Counts of repaired pixels would be wrong without a sign, so
 * each warning that means lost or doubtful pixels is an error here; a few that do not are let
 * through. Errors leave by longjmp to on_error, which every caller sets before it calls the
 * library.
 */
#ifndef IH_DECODE_PROGRESSIVE_READER_H
#define IH_DECODE_PROGRESSIVE_READER_H

#include "base/source.h"
#include "decode/progressive/scans.h"

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h uses FILE without including it */

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

struct ih_jpeg_reader {
    struct jpeg_decompress_struct cinfo; /* client_data points to this struct */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr bytes;
    struct jpeg_progress_mgr progress;
    struct ih_source *src; /* borrowed; NULL: the spans that are left, one after the other */
    size_t n_peeked;       /* bytes of src that the library has been given */
    const struct ih_jpeg_span *spans; /* borrowed */
    unsigned n_spans;
    bool is_started;
    unsigned components_seen; /* bit i: component i has had a scan */
    struct ih_error error;    /* what the longjmp that is under way is about */
    jmp_buf on_error;
};

/* Before the first call of the library. src is borrowed. */
void ih_jpeg_reader_init(struct ih_jpeg_reader *r, struct ih_source *src);

/* As ih_jpeg_reader_init, with n spans for a source: one scan of several, whose bits need not go on
 * where those of its own file ended. */
void ih_jpeg_reader_init_spans(struct ih_jpeg_reader *r, const struct ih_jpeg_span *spans,
                               unsigned n);

/* Reads the header up to and with that of the first scan. May longjmp. */
void ih_jpeg_reader_open(struct ih_jpeg_reader *r);

/* What a header says of the rows. Of a file of which nothing behind it has been read: a second
 * frame would be refused, but not before its size is in place of the first one's. */
struct ih_jpeg_shape {
    JDIMENSION width, height;
    J_COLOR_SPACE colours;
    int n_components;
    uint8_t sampling[IH_JPEG_COMPONENTS_MAX]; /* 16 * horizontal + vertical */
};

struct ih_jpeg_shape ih_jpeg_shape_of(const struct jpeg_decompress_struct *header);
bool ih_jpeg_shapes_equal(const struct ih_jpeg_shape *a, const struct ih_jpeg_shape *b);

/* Releases what the library has. */
void ih_jpeg_reader_close(struct ih_jpeg_reader *r);

/* Leaves by longjmp. The first error counts. */
_Noreturn void ih_jpeg_reader_fail(struct ih_jpeg_reader *r, enum ih_status status,
                                   const char *text);

#endif
