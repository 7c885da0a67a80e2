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
