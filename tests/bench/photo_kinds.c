/*
 * photo_kinds: reads paths from standard input, one a line, and prints for each JPEG and PNG file
 *
 *     KIND PIXELS PATH
 *
 * KIND is baseline, progressive or png. Other files and other kinds of JPEG (arithmetic coding,
 * lossless) are skipped. Only headers are read: the frame header of ITU-T T.81, B.2.2, and the IHDR
 * chunk of the PNG specification, 11.2.1.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned be16(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static unsigned long be32(const unsigned char *p)
{
    return (unsigned long)be16(p) << 16 | be16(p + 2);
}

/* Finds the frame header. f is after the first two bytes of the file. */
static const char *jpeg_kind(FILE *f, unsigned long *n_pixels)
{
    unsigned char m[2], segment[8];
    while (fread(m, 1, 2, f) == 2 && m[0] == 0xff) {
        while (m[1] == 0xff) {
            int c = getc(f);
            if (c == EOF)
                return NULL;
            m[1] = (unsigned char)c;
        }
        if (fread(segment, 1, 2, f) != 2)
            return NULL;
        const long length = (long)be16(segment);
        if (m[1] <= 0xc2 && m[1] >= 0xc0) {
            if (fread(segment, 1, 5, f) != 5)
                return NULL;
            *n_pixels = (unsigned long)be16(segment + 1) * be16(segment + 3);
            return m[1] == 0xc2 ? "progressive" : "baseline";
        }
        if (m[1] == 0xda || length < 2 || fseek(f, length - 2, SEEK_CUR) != 0)
            return NULL;
    }
    return NULL;
}

static const char *file_kind(FILE *f, unsigned long *n_pixels)
{
    static const unsigned char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    unsigned char head[24];
    if (fread(head, 1, 2, f) != 2)
        return NULL;
    if (head[0] == 0xff && head[1] == 0xd8)
        return jpeg_kind(f, n_pixels);
    if (fread(head + 2, 1, sizeof head - 2, f) != sizeof head - 2 || memcmp(head, png, 16) != 0)
        return NULL;
    *n_pixels = be32(head + 16) * be32(head + 20);
    return "png";
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        FILE *f = fopen(line, "rb");
        if (!f) {
            perror(line);
            return 1;
        }
        unsigned long n_pixels = 0;
        const char *kind = file_kind(f, &n_pixels);
        fclose(f);
        if (kind && n_pixels > 0)
            printf("%s %lu %s\n", kind, n_pixels, line);
    }
    free(line);
    return 0;
}
