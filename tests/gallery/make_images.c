/*
 * Makes the images for the charts of the gallery.
 *
 *     make_images SCENE.png DIR       all images but the huge one, as PNM files in DIR
 *     make_images --photo SCENE.png   a photograph of 24 megapixels, to standard output
 *     make_images --huge              an image of 300 megapixels, to standard output
 *
 * Each image has another kind of histogram. The photographs are the sample scene, enlarged until
 * all values occur, with grain and in several exposures. The others are drawn here. Nothing is
 * random: the same program and scene give the same bytes.
 */
#include <math.h>
#include <png.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* Factors of enlargement; the photograph of 24 megapixels is 6000 x 4000. */
static const double enlarged = 3, enlarged_most = 12.5;

static void stop(const char *what)
{
    fprintf(stderr, "make_images: %s\n", what);
    exit(1);
}

struct image {
    unsigned width, height, n_channels;
    uint8_t *pixels;
};

static struct image new_image(unsigned width, unsigned height, unsigned n_channels)
{
    struct image image = {width, height, n_channels, calloc((size_t)width * height, n_channels)};
    if (!image.pixels)
        stop("out of memory");
    return image;
}

/* Writes the image as PGM, PPM or PAM, and frees its pixels. */
static void save_to(FILE *f, const char *path, struct image image)
{
    if (image.n_channels == 4)
        fprintf(f, "P7\nWIDTH %u\nHEIGHT %u\nDEPTH 4\nMAXVAL 255\nENDHDR\n", image.width,
                image.height);
    else
        fprintf(f, "P%d\n%u %u\n255\n", image.n_channels == 1 ? 5 : 6, image.width, image.height);
    fwrite(image.pixels, image.n_channels, (size_t)image.width * image.height, f);
    if (ferror(f) || fclose(f) != 0)
        stop(path);
    free(image.pixels);
}

static void save(const char *folder, const char *name, struct image image)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        stop("the path is too long");
    FILE *f = fopen(path, "wb");
    if (!f)
        stop(path);
    save_to(f, path, image);
}

/* Returns a hash of n, uniform in 0..1. Source: the finalizer of MurmurHash3. */
static double noise(uint32_t n)
{
    n ^= n >> 16;
    n *= 0x85ebca6bu;
    n ^= n >> 13;
    n *= 0xc2b2ae35u;
    n ^= n >> 16;
    return n / 4294967296.0;
}

static struct image load(const char *path)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&png, path))
        stop(png.message);
    png.format = PNG_FORMAT_RGB;
    struct image image = new_image(png.width, png.height, 3);
    if (!png_image_finish_read(&png, NULL, image.pixels, 0, NULL))
        stop(png.message);
    return image;
}

/* Interpolates a channel bilinearly. */
static double sample(const struct image *image, double x, double y, unsigned channel)
{
    const unsigned left = (unsigned)x, top = (unsigned)y;
    const unsigned right = left + 1 < image->width ? left + 1 : left;
    const unsigned bottom = top + 1 < image->height ? top + 1 : top;
    const double u = x - left, v = y - top;
    const uint8_t *p = image->pixels;
    const size_t above = (size_t)top * image->width, below = (size_t)bottom * image->width;
    return (p[(above + left) * 3 + channel] * (1 - u) + p[(above + right) * 3 + channel] * u) *
               (1 - v) +
           (p[(below + left) * 3 + channel] * (1 - u) + p[(below + right) * 3 + channel] * u) * v;
}

/* Changes the exposure by stops and the shadows by gamma: above 1 darker, below 1 lighter. */
static struct image expose(const struct image *scene, double scale, double stops, double gamma,
                           double lift)
{
    struct image photo =
        new_image((unsigned)(scene->width * scale), (unsigned)(scene->height * scale), 3);
    size_t i = 0;
    for (unsigned y = 0; y < photo.height; y++)
        for (unsigned x = 0; x < photo.width; x++)
            for (unsigned c = 0; c < 3; c++, i++) {
                double v = sample(scene, x / scale, y / scale, c) / 255;
                v = lift + (1 - lift) * pow(v, gamma) * pow(2, stops);
                v = v * 255 + 5 * (noise((uint32_t)i) + noise((uint32_t)i + 77777777) - 1);
                photo.pixels[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
            }
    return photo;
}

static struct image to_gray(struct image colour)
{
    struct image gray = new_image(colour.width, colour.height, 1);
    for (size_t i = 0; i < (size_t)gray.width * gray.height; i++)
        gray.pixels[i] = colour.pixels[i * 3 + 1];
    free(colour.pixels);
    return gray;
}

static void fill(struct image *image, unsigned x, unsigned y, unsigned width, unsigned height,
                 const uint8_t *pixel)
{
    for (unsigned row = y; row < y + height && row < image->height; row++)
        for (unsigned column = x; column < x + width && column < image->width; column++)
            memcpy(image->pixels + ((size_t)row * image->width + column) * image->n_channels, pixel,
                   image->n_channels);
}

/* Draws strokes of letters with soft edges on white, a side bar, a title bar, a selected line and a
 * button. */
static struct image draw_screenshot(void)
{
    static const uint8_t white[] = {255, 255, 255}, bar[] = {43, 48, 59}, side[] = {240, 242, 245};
    static const uint8_t selected[] = {203, 224, 252}, button[] = {26, 115, 232};
    struct image image = new_image(1280, 800, 3);
    fill(&image, 0, 0, 1280, 800, white);
    fill(&image, 0, 0, 1280, 56, bar);
    fill(&image, 0, 56, 260, 744, side);
    fill(&image, 284, 312, 960, 28, selected);
    fill(&image, 1100, 730, 140, 40, button);
    for (unsigned line = 0; line < 22; line++)
        for (unsigned x = 284; x < 1180; x++) {
            const uint32_t letter = x / 9 + line * 131;
            if (noise(letter) < 0.17 || (x > 900 && noise(line) < 0.4))
                continue; /* between two words, or after the end of a paragraph */
            const double ink = noise(x * 31 + line * 1013);
            const uint8_t v = (uint8_t)(ink < 0.45 ? 255 : ink < 0.8 ? 32 : 60 + 190 * noise(x));
            const uint8_t pixel[] = {v, v, (uint8_t)(v < 250 ? v + 4 : v)};
            if (v < 255)
                fill(&image, x, 80 + line * 29, 1, 7 + (unsigned)(5 * noise(x + line)), pixel);
        }
    return image;
}

static struct image draw_two_values(void)
{
    static const uint8_t paper[] = {230}, ink[] = {40};
    struct image image = new_image(600, 400, 1);
    fill(&image, 0, 0, 600, 400, paper);
    for (unsigned y = 0; y < 400; y++)
        for (unsigned x = 0; x < 600; x++)
            if ((x - 300) * (x - 300) + (y - 200) * (y - 200) < 120 * 120)
                fill(&image, x, y, 1, 1, ink);
    return image;
}

static struct image draw_constant(void)
{
    static const uint8_t teal[] = {18, 132, 140};
    struct image image = new_image(640, 480, 3);
    fill(&image, 0, 0, 640, 480, teal);
    return image;
}

static struct image draw_tiny(void)
{
    static const uint8_t pixels[][3] = {{200, 30, 40},   {200, 180, 40}, {20, 90, 200},
                                        {250, 250, 250}, {5, 5, 5},      {120, 160, 90}};
    struct image image = new_image(3, 2, 3);
    memcpy(image.pixels, pixels, sizeof pixels);
    return image;
}

/* Cuts a disc with a soft edge out of the photograph. */
static struct image cut_out(struct image photo)
{
    struct image image = new_image(photo.width, photo.height, 4);
    const double cx = photo.width / 2.0, cy = photo.height / 2.0, radius = photo.height * 0.42;
    for (size_t i = 0; i < (size_t)image.width * image.height; i++) {
        const double x = (double)(i % image.width) - cx, y = (double)(i / image.width) - cy;
        const double inside = (radius - sqrt(x * x + y * y)) / 90;
        memcpy(image.pixels + i * 4, photo.pixels + i * 3, 3);
        image.pixels[i * 4 + 3] = (uint8_t)(inside < 0 ? 0 : inside > 1 ? 255 : inside * 255);
    }
    free(photo.pixels);
    return image;
}

/* Writes a smooth gray surface of 20000 x 15000 pixels. */
static void write_huge(void)
{
    enum { WIDTH = 20000, HEIGHT = 15000 };
    static uint8_t row[WIDTH];
    static double wave[WIDTH];
    for (unsigned x = 0; x < WIDTH; x++)
        wave[x] = sin(x * 0.0009) + 0.6 * sin(x * 0.0031 + 1) + 0.3 * sin(x * 0.013);
    printf("P5\n%d %d\n255\n", WIDTH, HEIGHT);
    for (unsigned y = 0; y < HEIGHT; y++) {
        const double height = 128 + 60 * sin(y * 0.0007) + 30 * cos(y * 0.0023);
        const double swing = 28 + 12 * sin(y * 0.0013);
        for (unsigned x = 0; x < WIDTH; x++) {
            const double v = height + swing * wave[x];
            row[x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
        if (fwrite(row, 1, WIDTH, stdout) != WIDTH)
            stop("cannot write");
    }
    if (fflush(stdout) != 0)
        stop("cannot write");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--huge") == 0) {
        write_huge();
        return 0;
    }
    if (argc != 3)
        stop("usage: make_images SCENE.png DIR, --photo SCENE.png, or --huge");
    if (strcmp(argv[1], "--photo") == 0) {
        struct image small = load(argv[2]);
        save_to(stdout, "standard output", expose(&small, enlarged_most, 0, 1, 0));
        free(small.pixels);
        return 0;
    }
    const char *folder = argv[2];
    struct image scene = load(argv[1]);
    save(folder, "photo.ppm", expose(&scene, enlarged, 0, 1, 0));
    save(folder, "high-key.ppm", expose(&scene, enlarged, 0.45, 0.62, 0.15));
    save(folder, "low-key.ppm", expose(&scene, enlarged, -1.2, 1.7, 0));
    save(folder, "gray.pgm", to_gray(expose(&scene, enlarged, 0.2, 0.9, 0)));
    save(folder, "cut-out.pam", cut_out(expose(&scene, enlarged, 0.3, 1, 0)));
    save(folder, "screenshot.ppm", draw_screenshot());
    save(folder, "two values.pgm", draw_two_values());
    save(folder, "constant.ppm", draw_constant());
    save(folder, "tiny.ppm", draw_tiny());
    free(scene.pixels);
    return 0;
}
