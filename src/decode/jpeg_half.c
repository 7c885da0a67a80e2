#include "decode/jpeg_half.h"

#include "decode/jpeg_raw.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    LUMA = 1 << 0,
    CHROMA = 1 << 1 | 1 << 2,
    SCANS_MAX = 50 /* more is for the ordinary way, which has a limit */
};

bool ih_jpeg_half_fits(const struct ih_jpeg_reader *whole, uint64_t from_pixels)
{
    const struct jpeg_decompress_struct *c = &whole->cinfo;
    return c->progressive_mode && !c->arith_code && ih_jpeg_raw_bytes(c) > 0 &&
           (uint64_t)c->image_width * c->image_height >= from_pixels;
}

static bool open_reader(struct ih_jpeg_reader *r, struct ih_source *src)
{
    ih_jpeg_reader_init(r, src);
    if (setjmp(r->on_error))
        return false;
    ih_jpeg_reader_open(r);
    return true;
}

/* Somebody may have written over the file, and its rows are to have room in whole's memory. */
static bool is_same_picture(const struct ih_jpeg_reader *a, const struct ih_jpeg_reader *b)
{
    const struct ih_jpeg_shape x = ih_jpeg_shape_of(&a->cinfo), y = ih_jpeg_shape_of(&b->cinfo);
    return ih_jpeg_shapes_equal(&x, &y);
}

struct ih_jpeg_half *ih_jpeg_half_open(const struct ih_jpeg_reader *whole, struct ih_source *again)
{
    struct ih_jpeg_half *half = calloc(1, sizeof *half);
    if (!half)
        return NULL;
    if (open_reader(&half->reader, again) && ih_jpeg_half_fits(&half->reader, 0) &&
        is_same_picture(&half->reader, whole))
        return half;
    ih_jpeg_half_close(half);
    return NULL;
}

void ih_jpeg_half_close(struct ih_jpeg_half *half)
{
    if (!half)
        return;
    ih_jpeg_reader_close(&half->reader);
    free(half);
}

/* Whether all bits of all coefficients of these components have come. */
static bool is_complete(const struct jpeg_decompress_struct *c, unsigned components)
{
    for (int i = 0; i < c->num_components; i++) {
        for (int k = 0; components >> i & 1 && k < DCTSIZE2; k++)
            if (c->coef_bits[i][k] != 0)
                return false;
    }
    return true;
}

/* All scans of these components, up to the first row. */
static bool decode(struct ih_jpeg_reader *r, unsigned components)
{
    struct jpeg_decompress_struct *c = &r->cinfo;
    if (setjmp(r->on_error))
        return false;
    ih_jpeg_reader_pick(r, components);
    r->is_started = true;
    c->raw_data_out = TRUE;
    c->do_block_smoothing = FALSE; /* it is for what is not complete, which is not kept */
    jpeg_start_decompress(c);
    for (int i = 0; i < c->num_components; i++)
        c->comp_info[i].component_needed = (components >> i & 1) != 0;
    return r->pick.n_scans < SCANS_MAX && is_complete(c, components);
}

static void *decode_chroma(void *argument)
{
    struct ih_jpeg_half *half = argument;
    half->is_sound = decode(&half->reader, CHROMA);
    return NULL;
}

bool ih_jpeg_half_decode(struct ih_jpeg_half *half, struct ih_jpeg_reader *whole)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, decode_chroma, half) != 0)
        return false;
    const bool is_sound = decode(whole, LUMA);
    pthread_join(thread, NULL);
    half->reader.cinfo.err = &whole->errors;
    half->reader.cinfo.client_data = whole;
    return is_sound && half->is_sound;
}
