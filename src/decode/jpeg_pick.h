/*
 * Some scans of a JPEG, and all that stands between scans, passed on as if there were no others.
 * Where the file is not as it should be, nothing more comes.
 */
#ifndef IH_DECODE_JPEG_PICK_H
#define IH_DECODE_JPEG_PICK_H

#include "base/source.h"

enum { IH_JPEG_PICK_MAX = 4 };

/* All zero: not begun. */
struct ih_jpeg_pick {
    uint8_t ids[IH_JPEG_PICK_MAX]; /* of the components whose scans are passed over */
    unsigned n_ids;
    unsigned n_scans; /* so far, behind the first */
    enum { IH_JPEG_PICK_DATA, IH_JPEG_PICK_MARKER, IH_JPEG_PICK_SEGMENT, IH_JPEG_PICK_END } at;
    bool is_wanted;   /* the scan that data are of */
    size_t n_segment; /* bytes of it that are still to be passed on */
};

/*
 * The source stands behind the header of the first scan, which is passed on whatever it is of. Of
 * the others those are passed over that are of these components alone: one with no component, or
 * one that the frame does not have, is wrong, and for the library to refuse.
 */
void ih_jpeg_pick_begin(struct ih_jpeg_pick *p, const uint8_t *ids, unsigned n_ids);

/*
 * The next bytes, shown as by ih_source_peek: whoever has used them consumes them.
 *
 * Returns IH_OK, with *size_bytes 0 at the end, or IH_IO.
 */
enum ih_status ih_jpeg_pick_next(struct ih_jpeg_pick *p, struct ih_source *src,
                                 const uint8_t **bytes, size_t *size_bytes, struct ih_error *err);

#endif
