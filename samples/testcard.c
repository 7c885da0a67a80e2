/*
 * A test card whose counts can be worked out by hand. 256 x 256 pixels, RGB, four parts:
 *
 *   rows   0..127   a gray ramp: column x has the value x          each value 128 times
 *   rows 128..191   eight colour bars, 32 columns each, of 0 and   each bar 2048 pixels
 *                   255: white yellow cyan green magenta red blue black
 *   rows 192..223   sixteen gray steps, 16 columns each: 0 17 34   each step 512 pixels
 *                   ... 255
 *   rows 224..255   two colours, 128 columns each: (200, 100, 50)  each colour 4096 pixels
 *                   and (30, 60, 90)
 *
 * The last part tells the channels apart; without it red, green and blue would count alike. So, in
 * every one of red, green and blue:
 *
 *   bins 0 and 255                 128 + 4 * 2048 + 512 = 8832
 *   bins 17 34 51 ... 238          128 + 512            =  640
 *   red 30 and 200, green 60       128 + 4096           = 4224
 *     and 100, blue 50 and 90
 *   all others                                             128
 *
 * and in luma (BT.709), where a gray v stays v:
 *
 *   bins 0 and 255                 128 + 2048 + 512     = 2688
 *   bins 237 yellow, 201 cyan,     128 + 2048           = 2176
 *     182 green, 73 magenta, 54 red, 18 blue
 *   bins 118 (200, 100, 50)        128 + 4096           = 4224
 *     and 56 (30, 60, 90)
 *   bins 17 34 51 ... 238          128 + 512            =  640
 *   all others                                             128
 */
#include "samples.h"

#include <string.h>

static const uint8_t bars[8][3] = {
    {255, 255, 255}, {255, 255, 0}, {0, 255, 255}, {0, 255, 0},
    {255, 0, 255},   {255, 0, 0},   {0, 0, 255},   {0, 0, 0},
};

static const uint8_t patches[2][3] = {{200, 100, 50}, {30, 60, 90}};

bool ih_paint_testcard(struct ih_picture *picture)
{
    uint8_t *pixel = picture->pixels;
    for (uint32_t y = 0; y < picture->height; y++)
        for (uint32_t x = 0; x < picture->width; x++, pixel += 3) {
            if (y < 128)
                memset(pixel, (int)x, 3);
            else if (y < 192)
                memcpy(pixel, bars[x / 32], 3);
            else if (y < 224)
                memset(pixel, (int)(x / 16 * 17), 3);
            else
                memcpy(pixel, patches[x / 128], 3);
        }
    return true;
}
