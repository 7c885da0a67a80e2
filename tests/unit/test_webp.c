/* WebP files written by libwebp, sound and damaged. */
#include "tests/support/damage.h"
#include <webp/encode.h>
#include <webp/mux.h>

enum { WIDTH = 9, HEIGHT = 7, N = WIDTH * HEIGHT };

struct file {
    uint8_t *bytes; /* owned, WebPFree */
    size_t n;
};

static void fill(uint8_t *pixels, unsigned n_channels)
{
    for (size_t i = 0; i < N; i++)
        for (unsigned c = 0; c < n_channels; c++)
            pixels[i * n_channels + c] = picture(i, c);
}

/* Lossless also keeps the colours of transparent pixels. */
static struct file encode(const uint8_t *rgba)
{
    WebPConfig config;
    WebPPicture p;
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    assert_true(WebPConfigInit(&config) && WebPPictureInit(&p));
    config.lossless = 1;
    config.exact = 1;
    p.use_argb = 1;
    p.width = WIDTH;
    p.height = HEIGHT;
    p.writer = WebPMemoryWrite;
    p.custom_ptr = &writer;
    assert_true(WebPPictureImportRGBA(&p, rgba, WIDTH * 4));
    assert_true(WebPEncode(&config, &p));
    WebPPictureFree(&p);
    return (struct file){writer.mem, writer.size};
}

/* A lossless file is exact, with and without alpha. */
TEST(lossless)
{
    uint8_t rgba[N * 4], rgb[N * 3];
    fill(rgba, 4);
    struct file f = encode(rgba);
    assert_decodes(f.bytes, f.n, "webp", WIDTH, HEIGHT, 4, rgba);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    WebPFree(f.bytes);

    fill(rgb, 3);
    for (size_t i = 0; i < N; i++) {
        memcpy(rgba + 4 * i, rgb + 3 * i, 3);
        rgba[4 * i + 3] = 255;
    }
    f = encode(rgba);
    assert_decodes(f.bytes, f.n, "webp", WIDTH, HEIGHT, 3, rgb);
    WebPFree(f.bytes);
}

/* The first of two frames, at 2, 4 of a canvas of 20 x 12. The rest of the canvas is transparent.
 */
TEST(animation)
{
    enum { CANVAS_W = 20, CANVAS_H = 12 };
    uint8_t rgba[N * 4], expected[CANVAS_W * CANVAS_H * 4] = {0};
    fill(rgba, 4);
    struct file image = encode(rgba);
    WebPMux *mux = WebPMuxNew();
    WebPMuxFrameInfo frame = {.bitstream = {image.bytes, image.n},
                              .x_offset = 2,
                              .y_offset = 4,
                              .duration = 100,
                              .id = WEBP_CHUNK_ANMF,
                              .blend_method = WEBP_MUX_BLEND};
    const WebPMuxAnimParams params = {.bgcolor = 0xFF336699}; /* must be ignored */
    WebPData data;
    assert_int_equal(WebPMuxSetAnimationParams(mux, &params), WEBP_MUX_OK);
    assert_int_equal(WebPMuxSetCanvasSize(mux, CANVAS_W, CANVAS_H), WEBP_MUX_OK);
    assert_int_equal(WebPMuxPushFrame(mux, &frame, 1), WEBP_MUX_OK);
    frame.x_offset = 0;
    assert_int_equal(WebPMuxPushFrame(mux, &frame, 1), WEBP_MUX_OK);
    assert_int_equal(WebPMuxAssemble(mux, &data), WEBP_MUX_OK);
    WebPMuxDelete(mux);
    for (size_t y = 0; y < HEIGHT; y++)
        memcpy(expected + ((y + 4) * CANVAS_W + 2) * 4, rgba + y * WIDTH * 4, WIDTH * 4);
    assert_decodes(data.bytes, data.size, "webp", CANVAS_W, CANVAS_H, 4, expected);
    assert_cuts_are_refused(data.bytes, data.size);
    assert_true(damage_each_byte(data.bytes, data.size) > 0);
    WebPDataClear(&data);
    WebPFree(image.bytes);
}

/* Limits apply to the header, before memory is allocated. */
TEST(limits)
{
    uint8_t rgba[N * 4];
    fill(rgba, 4);
    struct file f = encode(rgba);
    struct decoded d = decode(f.bytes, f.n, N - 1, 1);
    assert_int_equal(d.status, IH_LIMIT);
    assert_budget(f.bytes, f.n, f.n + N * 8, IH_OK);
    assert_budget(f.bytes, f.n, f.n + N * 8 - 1, IH_LIMIT);
    WebPFree(f.bytes);
    static const uint8_t bomb[] = "RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff";
    d = decode(bomb, sizeof bomb, MAX_PIXELS, 1);
    assert_int_equal(d.status, d.error.status);
    assert_true(d.status == IH_LIMIT || d.status == IH_CORRUPT);
}
