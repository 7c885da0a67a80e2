#include "decode/pnm_text.h"

enum ih_status ih_pnm_truncated(struct ih_error *err)
{
    return ih_error_set(err, IH_CORRUPT, "damaged PNM: the file ends before the image does");
}

void ih_pnm_settle(struct ih_pnm_text *t)
{
    ih_source_consume(t->src, t->n_used);
    t->n_bytes = t->n_used = 0;
}

int ih_pnm_get(struct ih_pnm_text *t, struct ih_error *err)
{
    if (t->n_used == t->n_bytes) {
        ih_pnm_settle(t);
        if (ih_source_peek(t->src, 1, &t->bytes, &t->n_bytes, err) != IH_OK)
            return -1;
        if (t->n_bytes == 0) {
            ih_pnm_truncated(err);
            return -1;
        }
    }
    if (t->n_allowed == 0) {
        ih_error_set(err, IH_CORRUPT, "damaged PNM: no end of the header in %d bytes",
                     IH_PNM_HEADER_BYTES_MAX);
        return -1;
    }
    t->n_allowed--;
    return t->bytes[t->n_used++];
}

/* The next byte. A comment reads as the newline at its end. */
static int get_text(struct ih_pnm_text *t, struct ih_error *err)
{
    int c = ih_pnm_get(t, err);
    t->was_comment = c == '#';
    while (t->was_comment && c != '\n' && c != '\r' && c != -1)
        c = ih_pnm_get(t, err);
    return c;
}

int ih_pnm_skip_spaces(struct ih_pnm_text *t, struct ih_error *err)
{
    int c;
    do
        c = get_text(t, err);
    while (ih_pnm_is_space(c));
    return c;
}

enum ih_status ih_pnm_append_digit(uint64_t *value, int c, struct ih_error *err)
{
    if (!ih_pnm_is_digit(c))
        return ih_error_set(err, IH_CORRUPT, "damaged PNM: byte 0x%02X in a number", (unsigned)c);
    if (*value >= UINT64_MAX / 10)
        return ih_error_set(err, IH_CORRUPT, "damaged PNM: a number is too large");
    *value = *value * 10 + (unsigned)(c - '0');
    return IH_OK;
}

enum ih_status ih_pnm_get_number(struct ih_pnm_text *t, uint64_t *value, struct ih_error *err)
{
    *value = 0;
    int c = ih_pnm_skip_spaces(t, err);
    do {
        if (c == -1 || ih_pnm_append_digit(value, c, err) != IH_OK)
            return err->status;
        c = get_text(t, err);
    } while (!ih_pnm_is_space(c));
    return IH_OK;
}
