/*
 * libjpeg reports errors by longjmp. All data that must survive the jump is in one struct of the
 * caller's frame, and the jump only leaves functions of libjpeg.
 *
 * Rejected: jpeg_mem_dest. After a jump its caller cannot free the buffer: libjpeg may have moved
 * it.
 */
#include "base/jpeg_file.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

enum { PIECE_BYTES = 16 * 1024 };

struct encoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    JOCTET piece[PIECE_BYTES]; /* output of libjpeg that is not in the file yet */
    struct ih_bytes *file;
    jmp_buf jump;
};

static void on_error(j_common_ptr jpeg)
{
    struct encoder *e = jpeg->client_data;
    longjmp(e->jump, 1);
}

static void on_message(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void begin_piece(j_compress_ptr jpeg)
{
    struct encoder *e = jpeg->client_data;
    e->destination.next_output_byte = e->piece;
    e->destination.free_in_buffer = PIECE_BYTES;
}

static void append_piece(j_compress_ptr jpeg, size_t size)
{
    struct encoder *e = jpeg->client_data;
    ih_bytes_append(e->file, e->piece, size);
    if (e->file->failed)
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
}

static boolean on_piece_full(j_compress_ptr jpeg)
{
    append_piece(jpeg, PIECE_BYTES);
    begin_piece(jpeg);
    return TRUE;
}

static void on_end(j_compress_ptr jpeg)
{
    append_piece(jpeg, PIECE_BYTES - jpeg->dest->free_in_buffer);
}

static void write_exif(j_compress_ptr jpeg, unsigned orientation)
{
    const JOCTET exif[] = {
        'E', 'x', 'i', 'f',  0,    0, 'M', 'M', 0, '*', 0, 0, 0,
        8,   0,   1,   0x01, 0x12, 0, 3,   0,   0, 0,   1, 0, (JOCTET)orientation,
        0,   0,   0,   0,    0,    0};
    if (orientation > 1)
        jpeg_write_marker(jpeg, JPEG_APP0 + 1, exif, sizeof exif);
}

/* Calls libjpeg; a jump ends here. Returns false after a jump. */
static bool encode(struct encoder *e, const struct ih_jpeg_picture *p)
{
    if (setjmp(e->jump))
        return false;
    jpeg_create_compress(&e->jpeg);
    e->jpeg.dest = &e->destination;
    e->jpeg.image_width = p->width;
    e->jpeg.image_height = p->height;
    e->jpeg.input_components = (int)p->n_channels;
    e->jpeg.in_color_space = p->n_channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&e->jpeg);
    jpeg_set_quality(&e->jpeg, p->quality, TRUE);
    e->jpeg.optimize_coding = p->is_small;
    if (!p->is_small)
        e->jpeg.comp_info[0].h_samp_factor = e->jpeg.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&e->jpeg, TRUE);
    write_exif(&e->jpeg, p->orientation);
    if (p->comment)
        jpeg_write_marker(&e->jpeg, JPEG_COM, (const JOCTET *)p->comment,
                          (unsigned)strlen(p->comment));
    for (unsigned y = 0; y < p->height; y++) {
        union { /* libjpeg reads rows through pointers without const */
            const uint8_t *constant;
            JSAMPROW row;
        } at = {p->pixels + (size_t)y * p->width * p->n_channels};
        jpeg_write_scanlines(&e->jpeg, &at.row, 1);
    }
    jpeg_finish_compress(&e->jpeg);
    return true;
}

enum ih_status ih_jpeg_write(const struct ih_jpeg_picture *picture, struct ih_bytes *file,
                             struct ih_error *err)
{
    struct encoder e = {.file = file};
    enum ih_status status = IH_OK;
    e.jpeg.err = jpeg_std_error(&e.errors);
    e.errors.error_exit = on_error;
    e.errors.output_message = on_message;
    e.jpeg.client_data = &e;
    e.destination.init_destination = begin_piece;
    e.destination.empty_output_buffer = on_piece_full;
    e.destination.term_destination = on_end;
    if (!encode(&e, picture)) {
        char message[JMSG_LENGTH_MAX];
        e.errors.format_message((j_common_ptr)&e.jpeg, message);
        bool is_memory = file->failed || e.errors.msg_code == JERR_OUT_OF_MEMORY;
        status = is_memory ? ih_error_set(err, IH_MEMORY, "out of memory for the JPEG")
                           : ih_error_set(err, IH_UNAVAILABLE, "libjpeg: %s", message);
    }
    jpeg_destroy_compress(&e.jpeg);
    return status;
}

/* ---- reading ---- */

struct small_decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    uint8_t *pixels, *row; /* owned; turned, and one row as it is in the file */
    unsigned width, height;
    jmp_buf jump;
};

static void on_read_error(j_common_ptr jpeg)
{
    struct small_decoder *d = jpeg->client_data;
    longjmp(d->jump, 1);
}

/* Puts a row of the file at its place in the turned picture. */
static void put_turned(struct small_decoder *d, unsigned y, unsigned orientation)
{
    const bool is_transposed = orientation >= 5;
    for (unsigned x = 0; x < d->jpeg.output_width; x++) {
        unsigned to_x = is_transposed ? y : x, to_y = is_transposed ? x : y;
        if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7)
            to_x = d->width - 1 - to_x;
        if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8)
            to_y = d->height - 1 - to_y;
        memcpy(d->pixels + ((size_t)to_y * d->width + to_x) * 3, d->row + (size_t)x * 3, 3);
    }
}

/* Calls libjpeg; a jump ends here. */
static bool decode(struct small_decoder *d, const uint8_t *file, size_t n_bytes,
                   unsigned orientation)
{
    if (setjmp(d->jump))
        return false;
    jpeg_create_decompress(&d->jpeg);
    jpeg_mem_src(&d->jpeg, file, (unsigned long)n_bytes);
    jpeg_read_header(&d->jpeg, TRUE);
    d->jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&d->jpeg);
    d->width = orientation >= 5 ? d->jpeg.output_height : d->jpeg.output_width;
    d->height = orientation >= 5 ? d->jpeg.output_width : d->jpeg.output_height;
    d->pixels = malloc((size_t)d->width * d->height * 3);
    d->row = malloc((size_t)d->jpeg.output_width * 3);
    if (!d->pixels || !d->row)
        return false;
    for (unsigned y = 0; y < d->jpeg.output_height; y++) {
        jpeg_read_scanlines(&d->jpeg, &d->row, 1);
        put_turned(d, y, orientation);
    }
    return true;
}

uint8_t *ih_jpeg_read(const uint8_t *file, size_t n_bytes, unsigned orientation, unsigned *width,
                      unsigned *height)
{
    struct small_decoder d = {.width = 0};
    d.jpeg.err = jpeg_std_error(&d.errors);
    d.errors.error_exit = on_read_error;
    d.errors.output_message = on_message;
    d.jpeg.client_data = &d;
    const bool is_read = decode(&d, file, n_bytes, orientation);
    jpeg_destroy_decompress(&d.jpeg);
    free(d.row);
    if (!is_read) {
        free(d.pixels);
        return NULL;
    }
    *width = d.width;
    *height = d.height;
    return d.pixels;
}
