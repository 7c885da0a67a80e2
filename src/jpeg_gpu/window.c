/*
 * The window on entropy-coded data. Markers are found here: nothing behind one is ever copied
 * before the data in front of it was read to its end.
 */
#include "jpeg_gpu/window.h"

#include <string.h>

static const char ends_early[] = "a marker or the end within the image";
static const char goes_on[] = "data beyond the image, or a restart marker missing";

/* Copies data until the window is full or a marker reached. */
static void fill_window(struct ih_jpeg_window *v)
{
    while (v->n_bytes < IH_JPEG_WINDOW_BYTES && !v->is_at_marker) {
        size_t space = IH_JPEG_WINDOW_BYTES - v->n_bytes;
        size_t left = (size_t)(v->source_end - v->source);
        size_t n = space < left ? space : left;
        const uint8_t *ff = n ? memchr(v->source, 0xFF, n) : NULL;
        if (ff)
            n = (size_t)(ff - v->source);
        memcpy(v->bytes + v->n_bytes, v->source, n);
        v->n_bytes += n;
        v->source += n;
        left -= n;
        if (ff && left >= 2 && ff[1] == 0) {
            v->bytes[v->n_bytes++] = 0xFF;
            v->source += 2;
        } else if (ff || left == 0) {
            v->is_at_marker = true;
            v->marker = left >= 2 ? ff[1] : 0;
        }
    }
    v->limit = v->bytes + v->n_bytes;
    if (v->is_at_marker) /* bits that begin beyond this are not there */
        v->limit += IH_JPEG_LOAD_BYTES;
    else
        v->limit -= IH_JPEG_MCU_BYTES_MAX + IH_JPEG_LOAD_BYTES;
}

static size_t bits_done(const struct ih_jpeg_window *v, const struct ih_jpeg_bits *bits)
{
    return (size_t)(bits->next - v->bytes) * 8 - bits->n;
}

static void start_bits(const struct ih_jpeg_window *v, struct ih_jpeg_bits *bits, size_t n_done)
{
    *bits = (struct ih_jpeg_bits){.next = v->bytes};
    ih_jpeg_fill(bits);
    ih_jpeg_drop(bits, (unsigned)n_done);
}

void ih_jpeg_window_start(struct ih_jpeg_window *v, struct ih_jpeg_bits *bits)
{
    v->n_bytes = 0;
    v->is_at_marker = false;
    fill_window(v);
    start_bits(v, bits, 0);
}

const char *ih_jpeg_window_move(struct ih_jpeg_window *v, struct ih_jpeg_bits *bits)
{
    size_t n_done = bits_done(v, bits), n_bytes_done = n_done / 8;
    if (v->is_at_marker)
        return ends_early;
    memmove(v->bytes, v->bytes + n_bytes_done, v->n_bytes - n_bytes_done);
    v->n_bytes -= n_bytes_done;
    fill_window(v);
    start_bits(v, bits, n_done % 8);
    return NULL;
}

const char *ih_jpeg_window_end(const struct ih_jpeg_window *v, const struct ih_jpeg_bits *bits,
                               unsigned marker)
{
    size_t n_done = bits_done(v, bits), n = v->n_bytes * 8;
    if (v->is_at_marker && n_done > n)
        return ends_early;
    if (!v->is_at_marker || n - n_done >= 8) /* without one, the limit has left some bytes */
        return goes_on;
    unsigned padding = (1u << (n - n_done)) - 1;
    if (n > 0 && (v->bytes[v->n_bytes - 1] & padding) != padding)
        return "padding that is not ones";
    if (v->marker != marker)
        return "another marker than the one due";
    return NULL;
}
