/*
 * Tags of a TIFF's first directory as they are in the file.
 *
 * libtiff mends what it does not like: it calls a palette image of 8 bits or more without a palette
 * gray, or RGB, and says nothing. So the few tags that decide what the samples are, are looked up
 * here as well. From the TIFF 6.0 specification, section 2, and libtiff's of BigTIFF.
 */
#include "decode/tiff/parts.h"

enum { BYTE = 1, SHORT = 3, LONG = 4, LONG8 = 16 };

struct reader {
    const uint8_t *file;
    size_t file_bytes;
    bool is_big_endian, is_big_tiff;
};

/* The number of n bytes at `at`; false behind the end of the file. */
static bool get(const struct reader *r, uint64_t at, unsigned n, uint64_t *value)
{
    if (at > r->file_bytes || r->file_bytes - at < n)
        return false;
    *value = 0;
    for (unsigned i = 0; i < n; i++)
        *value = *value << 8 | r->file[at + (r->is_big_endian ? i : n - 1 - i)];
    return true;
}

/* The first value of the entry at `at`, where it is in the entry itself and a whole number. */
static bool get_value(const struct reader *r, uint64_t at, uint64_t *value)
{
    uint64_t type, n_values;
    const unsigned count_bytes = r->is_big_tiff ? 8 : 4;
    if (!get(r, at + 2, 2, &type) || !get(r, at + 4, count_bytes, &n_values) || n_values != 1)
        return false;
    const unsigned n_bytes = type == BYTE                      ? 1
                             : type == SHORT                   ? 2
                             : type == LONG                    ? 4
                             : type == LONG8 && r->is_big_tiff ? 8
                                                               : 0;
    return n_bytes > 0 && get(r, at + 4 + count_bytes, n_bytes, value);
}

bool ih_tiff_has_tag(const struct ih_tiff *s, uint16_t tag, uint64_t value)
{
    struct reader r = {s->whole.file, s->whole.file_bytes, false, false};
    uint64_t at, n_entries, id, is;
    if (r.file_bytes < 8)
        return false;
    r.is_big_endian = r.file[0] == 'M';
    r.is_big_tiff = r.file[r.is_big_endian ? 3 : 2] == 43;
    const unsigned entry_bytes = r.is_big_tiff ? 20 : 12, count_bytes = r.is_big_tiff ? 8 : 2;
    if (!get(&r, r.is_big_tiff ? 8 : 4, r.is_big_tiff ? 8 : 4, &at) ||
        !get(&r, at, count_bytes, &n_entries))
        return false;
    at += count_bytes;
    for (uint64_t i = 0; i < n_entries && get(&r, at, 2, &id); i++, at += entry_bytes)
        if (id == tag && get_value(&r, at, &is) && is == value)
            return true;
    return false;
}
