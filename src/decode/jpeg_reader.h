/*
 * libjpeg-turbo fed from a source, with its errors as ours: what all that decodes a JPEG begins
 * with.
 *
 * libjpeg repairs damage and warns. Counts of repaired pixels would be wrong without a sign, so
 * each warning that means lost or doubtful pixels is an error here; a few that do not are let
 * through. Errors leave by longjmp to on_error, which every caller sets before it calls the
 * library.
 */
#ifndef IH_DECODE_JPEG_READER_H
#define IH_DECODE_JPEG_READER_H

#include "base/source.h"
#include "decode/jpeg_pick.h"

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h uses FILE without including it */

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

struct ih_jpeg_reader {
    struct jpeg_decompress_struct cinfo; /* client_data points to this struct */
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr bytes;
    struct jpeg_progress_mgr progress;
    struct ih_source *src; /* borrowed */
    size_t n_peeked;       /* bytes of src that the library has been given */
    struct ih_jpeg_pick pick;
    bool is_started;
    unsigned components_seen; /* bit i: component i has had a scan */
    struct ih_error error;    /* what the longjmp that is under way is about */
    jmp_buf on_error;
};

/* Before the first call of the library. src is borrowed. */
void ih_jpeg_reader_init(struct ih_jpeg_reader *r, struct ih_source *src);

/* Reads the header up to and with that of the first scan. May longjmp. */
void ih_jpeg_reader_open(struct ih_jpeg_reader *r);

/* From here on only scans of these components, not of all: bit i for the i-th of the frame. */
void ih_jpeg_reader_pick(struct ih_jpeg_reader *r, unsigned components);

/* Releases what the library has. */
void ih_jpeg_reader_close(struct ih_jpeg_reader *r);

/* Leaves by longjmp. The first error counts. */
_Noreturn void ih_jpeg_reader_fail(struct ih_jpeg_reader *r, enum ih_status status,
                                   const char *text);

#endif
