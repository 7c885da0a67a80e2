/* The planes of a JPEG file as libjpeg gives them, and whether it warned. */
#ifndef IH_TESTS_JPEG_REFERENCE_H
#define IH_TESTS_JPEG_REFERENCE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

struct reference {
    bool is_sound;                 /* read to its end without an error or a warning */
    char warning[JMSG_LENGTH_MAX]; /* the last, or the error */
    unsigned n_components;
    uint32_t width[3], height[3];
    uint8_t *planes[3]; /* owned, [height][width] */
};

struct reference_errors {
    struct jpeg_error_mgr manager;
    jmp_buf on_error;
    bool has_warned;
    char warning[JMSG_LENGTH_MAX];
};

static inline void reference_fails(j_common_ptr c)
{
    struct reference_errors *errors = (struct reference_errors *)(void *)c->err;
    errors->has_warned = true;
    c->err->format_message(c, errors->warning);
    longjmp(errors->on_error, 1);
}

/* Two warnings are about metadata: the samples are decoded in the same way. */
static inline void reference_hears(j_common_ptr c, int level)
{
    struct reference_errors *errors = (struct reference_errors *)(void *)c->err;
    if (level >= 0 || c->err->msg_code == JWRN_JFIF_MAJOR || c->err->msg_code == JWRN_ADOBE_XFORM)
        return;
    errors->has_warned = true;
    c->err->format_message(c, errors->warning);
}

static inline void reference_reset(struct reference *r)
{
    for (int c = 0; c < 3; c++)
        free(r->planes[c]);
    *r = (struct reference){.is_sound = false};
}

/* Reads all rows of MCUs. May longjmp. buffers: of a row of MCUs each, from malloc. */
static inline void reference_rows(struct jpeg_decompress_struct *d, struct reference *r,
                                  uint8_t **buffers)
{
    JSAMPROW rows[3][32] = {{NULL}};
    JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
    uint32_t done[3] = {0, 0, 0};
    for (unsigned c = 0; c < r->n_components; c++) {
        const jpeg_component_info *info = &d->comp_info[c];
        const size_t pitch = (size_t)(info->width_in_blocks + 4) * 8;
        r->width[c] = info->downsampled_width;
        r->height[c] = info->downsampled_height;
        r->planes[c] = (uint8_t *)malloc((size_t)r->width[c] * r->height[c]);
        buffers[c] = (uint8_t *)malloc(pitch * 32);
        for (int i = 0; i < 32; i++)
            rows[c][i] = buffers[c] + pitch * (size_t)i;
    }
    while (d->output_scanline < d->output_height) {
        jpeg_read_raw_data(d, arrays, (JDIMENSION)d->max_v_samp_factor * 8);
        for (unsigned c = 0; c < r->n_components; c++)
            for (int i = 0; i < d->comp_info[c].v_samp_factor * 8 && done[c] < r->height[c]; i++)
                memcpy(r->planes[c] + (size_t)done[c]++ * r->width[c], rows[c][i], r->width[c]);
    }
}

/* Decodes a file of one or three components. Release the result with reference_reset. */
static inline struct reference reference_decode(const uint8_t *bytes, size_t size_bytes)
{
    static struct reference r;
    static uint8_t *buffers[3];
    struct jpeg_decompress_struct d;
    struct reference_errors errors;
    r = (struct reference){.is_sound = false};
    d.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = reference_fails;
    errors.manager.emit_message = reference_hears;
    errors.has_warned = false;
    errors.warning[0] = '\0';
    jpeg_create_decompress(&d);
    if (!setjmp(errors.on_error)) {
        jpeg_mem_src(&d, bytes, (unsigned long)size_bytes);
        jpeg_read_header(&d, TRUE);
        d.raw_data_out = TRUE;
        if (d.num_components == 1 || d.num_components == 3) {
            r.n_components = (unsigned)d.num_components;
            jpeg_start_decompress(&d);
            reference_rows(&d, &r, buffers);
            jpeg_finish_decompress(&d);
            r.is_sound = !errors.has_warned;
        }
    }
    memcpy(r.warning, errors.warning, sizeof r.warning);
    jpeg_destroy_decompress(&d);
    for (int c = 0; c < 3; c++) {
        free(buffers[c]);
        buffers[c] = NULL;
    }
    return r;
}

#endif
