/* The text of a PNM: bytes, white space, comments and numbers, one after the other. */
#ifndef IH_DECODE_PNM_TEXT_H
#define IH_DECODE_PNM_TEXT_H

#include "base/source.h"

/* Of a header, comments included; the longest in use are a few hundred. */
enum { IH_PNM_HEADER_BYTES_MAX = 64 * 1024 };

struct ih_pnm_text {
    struct ih_source *src; /* borrowed */
    const uint8_t *bytes;  /* shown by the last peek; valid while n_bytes is not 0 */
    size_t n_bytes, n_used;
    uint64_t n_allowed; /* bytes that ih_pnm_get may still read */
    bool was_comment;   /* ended the last number */
};

static inline bool ih_pnm_is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline bool ih_pnm_is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* IH_CORRUPT: the file ends before the image does. */
enum ih_status ih_pnm_truncated(struct ih_error *err);

/* The next byte, or -1 with err filled: nothing that asks for a byte can do without it. */
int ih_pnm_get(struct ih_pnm_text *t, struct ih_error *err);

/* The next byte that is no white space, and in no comment; or -1 as above. */
int ih_pnm_skip_spaces(struct ih_pnm_text *t, struct ih_error *err);

/* *value * 10 + the digit c, or IH_CORRUPT. */
enum ih_status ih_pnm_append_digit(uint64_t *value, int c, struct ih_error *err);

/* A number with the one white space or comment that ends it. */
enum ih_status ih_pnm_get_number(struct ih_pnm_text *t, uint64_t *value, struct ih_error *err);

/* Tells the source what has been used, before the source is read without these calls. */
void ih_pnm_settle(struct ih_pnm_text *t);

#endif
