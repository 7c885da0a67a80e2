/*
 * What files say about showing their values: colour profiles, gamma, orientation. None of it is
 * applied; results only name it. So these calls judge nothing, and data that makes no sense is
 * ignored. Most return sets of enum ih_not_applied.
 *
 * Sources: Exif 3.0 section 4.6 (it is a TIFF file), ICC.1:2022 annex B.4 (profiles in JPEG), PNG
 * third edition section 11.3, ITU-T H.273 (code points).
 */
#ifndef IH_DECODE_METADATA_H
#define IH_DECODE_METADATA_H

#include "histogram/result.h"

/* The first bytes of Exif data, which are all that is looked at: its first tags. */
enum { IH_METADATA_BYTES = 1024 };

/* Of Exif data, with or without the "Exif\0\0" of JPEG in front. */
unsigned ih_exif_not_applied(const uint8_t *bytes, size_t size_bytes);

/* The orientation in Exif data, 1 to 8; 0: none. */
unsigned ih_exif_orientation(const uint8_t *bytes, size_t size_bytes);

/* The entry with this tag in the first directory of a TIFF file, 12 bytes in the file's byte order;
 * NULL: it has none. */
const uint8_t *ih_tiff_entry(const uint8_t *bytes, size_t size_bytes, unsigned tag);

/* The segments of a JPEG file before its first scan. All zero: none so far. */
struct ih_jpeg_notes {
    unsigned not_applied; /* set of enum ih_not_applied */
    unsigned orientation; /* 1 to 8; 0: not known */
    uint64_t thumbnails;  /* of the pictures that follow: bit i for picture i of the file, from 0 */
};

/* Notes one segment, without its length; bytes may end after IH_METADATA_BYTES. */
void ih_jpeg_note(struct ih_jpeg_notes *notes, unsigned marker, const uint8_t *bytes,
                  size_t size_bytes);

/* Of code points for primaries and transfer: 0 or IH_NOT_APPLIED_COLOUR_SPACE. Unspecified means
 * sRGB. */
unsigned ih_code_points_not_applied(unsigned primaries, unsigned transfer);

/* The chunks of a PNG file. All zero: none so far. */
struct ih_png_notes {
    bool has_srgb, has_gamma, has_profile, has_code_points;
    unsigned orientation; /* 1 to 8; 0: not known */
    unsigned n_frames;    /* of APNG; 0: no acTL before the image */
    bool has_data;        /* IDAT */
    bool has_frame_first; /* the first image is a frame of the APNG: fcTL before IDAT */
};

/* Notes one chunk; bytes may end after IH_METADATA_BYTES. */
void ih_png_note(struct ih_png_notes *notes, const char name[4], const uint8_t *bytes,
                 size_t size_bytes);

/* Sets not_applied, orientation and n_frames. */
void ih_png_notes_tell(const struct ih_png_notes *notes, struct ih_image_info *info);

#endif
