/*
 * Charts to JPEG through libjpeg-turbo.
 *
 * A chart is thin lines and small type in saturated colours, what JPEG is worst at, so no chroma is
 * left out and the quality is high. stb_image_write could write it too, as large, but takes 10.9 ms
 * for 1024 x 640 where libjpeg-turbo takes 2.7, and that is here anyway to read. Optimal Huffman
 * tables would have libjpeg hold all coefficients, 400 MB of the largest chart.
 *
 * libjpeg leaves by longjmp. All that has to outlive the jump is in one struct of the caller's
 * frame.
 */
#include "output/chart/encode.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h> /* after jpeglib.h: the numbers of messages depend on JPEG_LIB_VERSION */

enum { QUALITY = 92 };

enum { PIECE_BYTES = 16 * 1024 };

struct encoder {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    JOCTET piece[PIECE_BYTES]; /* what libjpeg is writing, not yet in the file */
    struct ih_bytes *file;
    jmp_buf jump;
};

static struct encoder *encoder_of(j_compress_ptr jpeg)
{
    return jpeg->client_data;
}

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
    jpeg->dest->next_output_byte = encoder_of(jpeg)->piece;
    jpeg->dest->free_in_buffer = PIECE_BYTES;
}

static void take(j_compress_ptr jpeg, size_t size)
{
    struct encoder *e = encoder_of(jpeg);
    ih_bytes_append(e->file, e->piece, size);
    if (e->file->failed)
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
}

static boolean on_full(j_compress_ptr jpeg)
{
    take(jpeg, PIECE_BYTES);
    begin_piece(jpeg);
    return TRUE;
}

static void on_end(j_compress_ptr jpeg)
{
    take(jpeg, PIECE_BYTES - jpeg->dest->free_in_buffer);
}

static void choose(j_compress_ptr jpeg, const struct ih_encode_job *job)
{
    jpeg->image_width = job->width;
    jpeg->image_height = job->height;
    jpeg->input_components = 3;
    jpeg->in_color_space = JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, QUALITY, TRUE);
    jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
}

/* Everything that may jump. Returns false after a jump. */
static bool encode(struct encoder *e, const struct ih_encode_job *job)
{
    if (setjmp(e->jump))
        return false;
    jpeg_create_compress(&e->jpeg);
    e->jpeg.dest = &e->destination;
    choose(&e->jpeg, job);
    jpeg_start_compress(&e->jpeg, TRUE);
    for (unsigned y = 0; y < job->height; y++) {
        /* libjpeg only reads what it asks for without const */
        union {
            const uint8_t *constant;
            JSAMPROW row;
        } at = {job->pixels + (size_t)y * job->width * 3};
        jpeg_write_scanlines(&e->jpeg, &at.row, 1);
    }
    jpeg_finish_compress(&e->jpeg);
    return true;
}

enum ih_status ih_encode_jpeg(const struct ih_encode_job *job, struct ih_bytes *file,
                              struct ih_error *err)
{
    struct encoder e = {.file = file};
    enum ih_status status = IH_OK;
    e.jpeg.err = jpeg_std_error(&e.errors);
    e.errors.error_exit = on_error;
    e.errors.output_message = on_message;
    e.jpeg.client_data = &e;
    e.destination.init_destination = begin_piece;
    e.destination.empty_output_buffer = on_full;
    e.destination.term_destination = on_end;
    if (!encode(&e, job)) {
        char message[JMSG_LENGTH_MAX];
        e.errors.format_message((j_common_ptr)&e.jpeg, message);
        bool is_memory = file->failed || e.errors.msg_code == JERR_OUT_OF_MEMORY;
        status = is_memory ? ih_error_set(err, IH_MEMORY, "chart: out of memory for the JPEG")
                           : ih_error_set(err, IH_UNAVAILABLE, "chart: libjpeg: %s", message);
    }
    jpeg_destroy_compress(&e.jpeg);
    return status;
}
