/*
 * decode_only FILE...: decodes JPEG files with libjpeg-turbo, a few rows at a time into one small
 * buffer, and does nothing with them. What this takes, no program that looks at the pixels can
 * undercut.
 */
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

static unsigned long decode(const char *path)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    jpeg_stdio_src(&c, f);
    jpeg_read_header(&c, TRUE);
    jpeg_start_decompress(&c);
    size_t row_bytes = (size_t)c.output_width * (size_t)c.output_components;
    unsigned char *buffer = malloc(row_bytes * 16), *rows[16];
    if (!buffer)
        exit(1);
    for (int i = 0; i < 16; i++)
        rows[i] = buffer + (size_t)i * row_bytes;
    while (c.output_scanline < c.output_height)
        jpeg_read_scanlines(&c, rows, 16);
    unsigned long n_pixels = (unsigned long)c.output_width * c.output_height;
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
    free(buffer);
    fclose(f);
    return n_pixels;
}

int main(int argc, char **argv)
{
    unsigned long n_pixels = 0;
    for (int i = 1; i < argc; i++)
        n_pixels += decode(argv[i]);
    printf("%lu pixels\n", n_pixels);
    return 0;
}
