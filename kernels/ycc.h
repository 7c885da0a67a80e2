/*
 * From planes of Y, Cb and Cr to RGB, in exactly libjpeg-turbo's integers.
 *
 * Chroma planes of half the width or height are brought to full size by libjpeg's "fancy" filter, a
 * triangle: a pixel takes 3/4 of the chroma sample that covers it and 1/4 of the nearest neighbour,
 * in each halved direction. The first and last samples of a plane are their own neighbours. The
 * rounding depends on the parity of column x and row y:
 *
 *     width halved     (3 near + far + 1 + x mod 2) >> 2
 *     height halved    (3 near + far + 1 + y mod 2) >> 2
 *     both             (9 near + 3 far_x + 3 far_y + far_xy + 8 - x mod 2) >> 4
 *
 * A plane of halved width that is at most 2 samples wide is repeated instead. Colours follow JFIF,
 * with 16 fraction bits: red is y + 1.402 (cr - 128) and so on, plus a half, rounded down, clamped.
 * tests/unit/test_ycc.c compares all this with the library on the CPU, so this header is both C and
 * CUDA; the four functions at its top hide the difference.
 *
 * There are two ways to the same bytes. ih_ycc_pixel computes any single pixel. The group functions
 * use aligned words: 16 columns of one row or, if the height is halved, of rows 2i - 1 and 2i,
 * which both take their chroma from chroma rows i - 1 and i alone. (Rows 2i and 2i + 1 would need
 * three chroma rows.) Four chroma samples, a window, are a word, and a filter is a dot product of
 * its bytes with weights, scaled so that the result is byte 1 of the sum.
 */
#ifndef IH_KERNELS_YCC_H
#define IH_KERNELS_YCC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define IH_YCC static __host__ __device__ __forceinline__
#else
#define IH_YCC static inline
#endif

enum {
    IH_YCC_GROUP_COLUMNS = 16,
    IH_YCC_ROW_QUADS = IH_YCC_GROUP_COLUMNS / 4,
    /* JFIF's factors times 65536 */
    IH_YCC_CR_RED = 91881,
    IH_YCC_CB_BLUE = 116130,
    IH_YCC_CR_GREEN = 46802,
    IH_YCC_CB_GREEN = 22554,
    IH_YCC_HALF = 32768,
};

/* In the functions below, h and v are the factors, 1 or 2, by which chroma is smaller than Y. Fast
 * callers pass constants. */
struct ih_ycc_image {
    const uint8_t *planes[3];             /* Y, Cb, Cr; 16-byte aligned for groups */
    uint32_t pitch_bytes[3];              /* a multiple of 16 for groups; a plane is less than
                                           * 2^32 bytes */
    uint32_t width, height;               /* of Y, each 1 to 65535 */
    uint32_t chroma_width, chroma_height; /* width / h and height / v, rounded up */
};

/* ---- operations that are instructions on a GPU ---- */

/* Loads n_words little-endian words, 1, 2 or 4, from an address aligned to their size. */
IH_YCC void ih_ycc_words(const uint8_t *bytes, int n_words, uint32_t *words)
{
#ifdef __CUDA_ARCH__
    if (n_words == 4) {
        const uint4 four = *(const uint4 *)bytes;
        words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
    } else if (n_words == 2) {
        const uint2 two = *(const uint2 *)bytes;
        words[0] = two.x, words[1] = two.y;
    } else {
        words[0] = *(const uint32_t *)bytes;
    }
#else
    assert((uintptr_t)bytes % (4 * (unsigned)n_words) == 0);
    for (int i = 0; i < n_words; i++, bytes += 4)
        words[i] = bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                   (uint32_t)bytes[3] << 24;
#endif
}

/* Selects four of eight bytes: bytes 0 to 3 are low, 4 to 7 are high. Hexadecimal digit i of
 * selector, from the right, is the number of result byte i. */
IH_YCC uint32_t ih_ycc_permute(uint32_t low, uint32_t high, uint32_t selector)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(low, high, selector);
#else
    const uint64_t both = low | (uint64_t)high << 32;
    uint32_t word = 0;
    for (int i = 0; i < 4; i++)
        word |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return word;
#endif
}

/* sum plus the dot product of four bytes with four weights. */
IH_YCC uint32_t ih_ycc_dot(uint32_t bytes, uint32_t weights, uint32_t sum)
{
#ifdef __CUDA_ARCH__
    return __dp4a(bytes, weights, sum);
#else
    for (int i = 0; i < 32; i += 8)
        sum += (bytes >> i & 0xff) * (weights >> i & 0xff);
    return sum;
#endif
}

/* a + b, clamped to 0..most. */
IH_YCC int32_t ih_ycc_add_clamped(int32_t a, int32_t b, int32_t most)
{
#ifdef __CUDA_ARCH__
    return __viaddmin_s32_relu(a, b, most);
#else
    const int32_t sum = a + b;
    return sum < 0 ? 0 : sum > most ? most : sum;
#endif
}

/* ---- colours ---- */

/* Red, green and blue of a pixel, each in byte 2 of its word; byte 3 is 0. y_16 is y << 16. */
IH_YCC void ih_ycc_colours(uint32_t y_16, uint32_t cb, uint32_t cr, uint32_t *red, uint32_t *green,
                           uint32_t *blue)
{
    const int32_t y = (int32_t)y_16, b = (int32_t)cb, r = (int32_t)cr, most = 0xffffff;
    *red = (uint32_t)ih_ycc_add_clamped(y + IH_YCC_CR_RED * r, IH_YCC_HALF - 128 * IH_YCC_CR_RED,
                                        most);
    *green =
        (uint32_t)ih_ycc_add_clamped(y - IH_YCC_CR_GREEN * r - IH_YCC_CB_GREEN * b,
                                     IH_YCC_HALF + 128 * (IH_YCC_CR_GREEN + IH_YCC_CB_GREEN), most);
    *blue = (uint32_t)ih_ycc_add_clamped(y + IH_YCC_CB_BLUE * b, IH_YCC_HALF - 128 * IH_YCC_CB_BLUE,
                                         most);
}

/* ---- one pixel ---- */

/* The nearest neighbour, for pixel i, of its chroma sample i / 2; n samples. */
IH_YCC uint32_t ih_ycc_far(uint32_t i, uint32_t n)
{
    const uint32_t near = i / 2;
    return i % 2 == 0 ? (near > 0 ? near - 1 : 0) : (near + 1 < n ? near + 1 : near);
}

/* The filtered chroma of plane 1 or 2 at pixel (x, y). */
IH_YCC uint32_t ih_ycc_chroma(const struct ih_ycc_image *image, int h, int v, int plane, uint32_t x,
                              uint32_t y)
{
    const uint8_t *samples = image->planes[plane];
    const uint32_t pitch = image->pitch_bytes[plane];
    const uint8_t *near = samples + y / (uint32_t)v * pitch;
    const uint8_t *far = samples + ih_ycc_far(y, image->chroma_height) * pitch;
    const uint32_t near_x = x / (uint32_t)h, far_x = ih_ycc_far(x, image->chroma_width);
    if ((h == 1 && v == 1) || (h == 2 && image->chroma_width <= 2))
        return near[near_x];
    if (v == 1)
        return (3u * near[near_x] + near[far_x] + 1 + x % 2) >> 2;
    if (h == 1)
        return (3u * near[near_x] + far[near_x] + 1 + y % 2) >> 2;
    return (9u * near[near_x] + 3u * near[far_x] + 3u * far[near_x] + far[far_x] + 8 - x % 2) >> 4;
}

/* Red, green and blue of pixel (x, y). Reads only samples of the image. */
IH_YCC void ih_ycc_pixel(const struct ih_ycc_image *image, int h, int v, uint32_t x, uint32_t y,
                         uint32_t *rgb)
{
    const uint32_t luma = image->planes[0][y * image->pitch_bytes[0] + x];
    ih_ycc_colours(luma << 16, ih_ycc_chroma(image, h, v, 1, x, y),
                   ih_ycc_chroma(image, h, v, 2, x, y), &rgb[0], &rgb[1], &rgb[2]);
    for (int c = 0; c < 3; c++)
        rgb[c] >>= 16;
}

/* ---- a group of pixels ---- */

/* The chroma of a group: [Cb, Cr][chroma row][place], a window for each quad (four pixels of a
 * row). With halved width it holds the quad's two samples and one on each side; otherwise the
 * quad's own four. With full height there is one chroma row. */
struct ih_ycc_windows {
    uint32_t words[2][2][IH_YCC_ROW_QUADS];
};

/* The number of lines of groups. Line i is row i, or with halved height rows 2i - 1 and 2i; one row
 * of the first and of the last line may be outside the image. */
IH_YCC uint32_t ih_ycc_lines(uint32_t height, int v)
{
    return v == 1 ? height : height / 2 + 1;
}

/* The row of the image that is row 0 or 1 of a line's groups; at least the height: it is outside.
 */
IH_YCC uint32_t ih_ycc_row(int v, uint32_t line, int row)
{
    return v == 1 ? line : 2 * line - 1 + (uint32_t)row;
}

/* Loads Y of a group's row, a word for each quad; y is the row of the image. */
IH_YCC void ih_ycc_load_row(const struct ih_ycc_image *image, uint32_t column, uint32_t y,
                            uint32_t *words)
{
    ih_ycc_words(image->planes[0] + (y * image->pitch_bytes[0] + column * IH_YCC_GROUP_COLUMNS),
                 IH_YCC_ROW_QUADS, words);
}

/* Loads a group's windows of one chroma row. samples: the group's first sample. has_left,
 * has_right: the image has a sample on that side of the group. */
IH_YCC void ih_ycc_load_chroma(const uint8_t *samples, int h, int has_left, int has_right,
                               uint32_t *windows)
{
    if (h == 1) {
        ih_ycc_words(samples, 4, windows);
        return;
    }
    uint32_t words[2];
    ih_ycc_words(samples, 2, words);
    const uint32_t left = has_left ? samples[-1] : words[0];
    const uint32_t right = has_right ? samples[8] : words[1] >> 24;
    windows[0] = ih_ycc_permute(left, words[0], 0x6540);
    windows[1] = ih_ycc_permute(words[0], words[1], 0x4321);
    windows[2] = ih_ycc_permute(words[0], words[1], 0x6543);
    windows[3] = ih_ycc_permute(words[1], right, 0x4321);
}

/* Loads the chroma of the group at a column of groups and a line. All its 16 columns of pixels must
 * be inside the image. */
IH_YCC void ih_ycc_load_windows(const struct ih_ycc_image *image, int h, int v, uint32_t column,
                                uint32_t line, struct ih_ycc_windows *windows)
{
    const uint32_t n = IH_YCC_GROUP_COLUMNS / (uint32_t)h, x = column * n;
    for (int row = 0; row < v; row++) {
        uint32_t y = line;
        if (v == 2 && row == 0 && y > 0)
            y--;
        else if (v == 2 && y == image->chroma_height)
            y--;
        for (int c = 0; c < 2; c++)
            ih_ycc_load_chroma(image->planes[1 + c] + (y * image->pitch_bytes[1 + c] + x), h, x > 0,
                               x + n < image->chroma_width, windows->words[c][row]);
    }
}

/* The filtered chroma c (0: Cb, 1: Cr) of pixel i of the quad at a place of a group's row. */
IH_YCC uint32_t ih_ycc_filter(const struct ih_ycc_windows *windows, int h, int v, int c, int row,
                              int place, int i)
{
    /* Weights of the window's bytes, for each of the four pixels. */
    const uint32_t taps[4] = {0x00000301, 0x00010300, 0x00030100, 0x01030000};
    const uint32_t upper = windows->words[c][0][place], lower = windows->words[c][v - 1][place];
    const uint32_t of_upper = row == 0 ? 3 : 1, of_lower = 4 - of_upper;
    const uint32_t one = 1u << 8 * i, odd_x = (uint32_t)i % 2, odd_y = row == 0;
    uint32_t sum;
    if (h == 1 && v == 1)
        return upper >> 8 * i & 0xff;
    if (v == 1) {
        sum = ih_ycc_dot(upper, 64 * taps[i], 64 * (1 + odd_x));
    } else if (h == 1) {
        sum = ih_ycc_dot(upper, 64 * of_upper * one, 64 * (1 + odd_y));
        sum = ih_ycc_dot(lower, 64 * of_lower * one, sum);
    } else {
        sum = ih_ycc_dot(upper, 16 * of_upper * taps[i], 16 * (8 - odd_x));
        sum = ih_ycc_dot(lower, 16 * of_lower * taps[i], sum);
    }
    return sum >> 8;
}

/* Byte 2 of four words. */
IH_YCC uint32_t ih_ycc_pack(const uint32_t *words)
{
    return ih_ycc_permute(ih_ycc_permute(words[0], words[1], 0x0062),
                          ih_ycc_permute(words[2], words[3], 0x0062), 0x5410);
}

/* Red, green and blue of the quad at a place of a group's row, a word each; byte i belongs to pixel
 * i. y_word holds their Y. */
IH_YCC void ih_ycc_quad(const struct ih_ycc_windows *windows, uint32_t y_word, int h, int v,
                        int row, int place, uint32_t *rgb)
{
    uint32_t red[4], green[4], blue[4];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int i = 0; i < 4; i++)
        ih_ycc_colours(ih_ycc_permute(y_word, 0, 0x4044u | (uint32_t)i << 8),
                       ih_ycc_filter(windows, h, v, 0, row, place, i),
                       ih_ycc_filter(windows, h, v, 1, row, place, i), &red[i], &green[i],
                       &blue[i]);
    rgb[0] = ih_ycc_pack(red);
    rgb[1] = ih_ycc_pack(green);
    rgb[2] = ih_ycc_pack(blue);
}

#endif
