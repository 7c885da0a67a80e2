/*
 * make_jpegs DIR N_SOUND N_DAMAGED: makes JPEG files to compare decoding on a GPU with
 * libjpeg-turbo.
 *
 * Sound files have every layout that the decoders take and a few that they do not: sides of 1 to 70
 * and some large ones, restart intervals, qualities, slopes, noise and hard edges. A third is
 * progressive, with different scans. Damaged files
 * are truncated, with or without EOI, or have a changed byte, flipped bits, a part that is zero,
 * missing or repeated, or a marker inside. The same arguments give the same files.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * n) >> 32);
}

static uint8_t sample(unsigned content, unsigned x, unsigned y, unsigned c)
{
    switch (content) {
    case 0:
        return (uint8_t)((x * 3 + y * 2 + c * 85) / 2 + random_below(24));
    case 1:
        return (uint8_t)random_below(256);
    case 2:
        return (x / 5 + y / 3 + c) % 2 ? 255 : 0;
    case 3:
        return (uint8_t)(128 + c * 40);
    default: /* saturated colours next to each other */
        return (uint8_t)(((x * 7 + y * 13) >> 4) % 3 == c ? 255 - random_below(3)
                                                          : random_below(9));
    }
}

struct file {
    unsigned char *bytes;
    unsigned long n;
};

/* Scans of colour images, as encoders and optimisers choose them. */
static const jpeg_scan_info spectral[] = {{3, {0, 1, 2}, 0, 0, 0, 0}, {1, {0}, 1, 5, 0, 0},
                                          {1, {2}, 1, 30, 0, 0},      {1, {1}, 1, 63, 0, 0},
                                          {1, {0}, 6, 20, 0, 0},      {1, {0}, 21, 63, 0, 0},
                                          {1, {2}, 31, 63, 0, 0}};
static const jpeg_scan_info apart[] = {
    {1, {0}, 0, 0, 0, 1},  {1, {1}, 0, 0, 0, 1},  {1, {2}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0},
    {1, {1}, 1, 63, 0, 0}, {1, {2}, 1, 63, 0, 0}, {1, {1}, 0, 0, 1, 0}, {1, {0}, 0, 0, 1, 0}};
static const jpeg_scan_info bands[] = {
    {3, {0, 1, 2}, 0, 0, 0, 0}, {1, {0}, 1, 8, 0, 2},  {1, {1}, 1, 8, 0, 0},
    {1, {2}, 1, 8, 0, 0},       {1, {0}, 9, 63, 0, 2}, {1, {0}, 1, 63, 2, 1},
    {1, {0}, 1, 63, 1, 0},      {1, {1}, 9, 63, 0, 0}, {1, {2}, 9, 63, 0, 0}};
static const jpeg_scan_info deep[] = {
    {3, {0, 1, 2}, 0, 0, 0, 3}, {1, {0}, 1, 63, 0, 4},      {1, {1}, 1, 63, 0, 3},
    {1, {2}, 1, 63, 0, 0},      {3, {0, 1, 2}, 0, 0, 3, 2}, {1, {0}, 1, 63, 4, 3},
    {1, {1}, 1, 20, 3, 2},      {1, {1}, 21, 63, 3, 2},     {1, {0}, 1, 63, 3, 2},
    {1, {1}, 1, 63, 2, 1},      {1, {0}, 1, 63, 2, 1},      {3, {0, 1, 2}, 0, 0, 2, 1},
    {1, {0}, 1, 63, 1, 0},      {1, {1}, 1, 63, 1, 0},      {3, {0, 1, 2}, 0, 0, 1, 0}};
static const struct {
    const jpeg_scan_info *scans;
    int n;
} scripts[] = {
#define SCRIPT(scans)                              \
    {                                              \
        scans, (int)(sizeof scans / sizeof *scans) \
    }
    SCRIPT(spectral), SCRIPT(apart), SCRIPT(bands), SCRIPT(deep)};
enum { N_SCRIPTS = sizeof scripts / sizeof *scripts };

static void choose_scans(struct jpeg_compress_struct *c)
{
    const unsigned script = random_below(2 * N_SCRIPTS);
    if (script >= N_SCRIPTS || c->num_components != 3) {
        jpeg_simple_progression(c);
        return;
    }
    c->scan_info = scripts[script].scans;
    c->num_scans = scripts[script].n;
}

static struct file make(unsigned i, unsigned size_max)
{
    static const int factors[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {2, 2}};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct file f = {NULL, 0};
    const unsigned layout = i % 13, content = random_below(5);
    /* short and long sides */
    static const unsigned long_sides[] = {9000, 16383, 16384, 16385, 17000, 40000, 65500};
    unsigned width = 1 + random_below(size_max), height = 1 + random_below(size_max);
    if (i % 90 == 71)
        width = long_sides[i / 90 % 7], height = 1 + height % 20;
    if (i % 90 == 72)
        height = long_sides[i / 90 % 7], width = 1 + width % 20;
    uint8_t *row = malloc((size_t)width * 3);
    if (!row)
        abort();
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &f.bytes, &f.n);
    c.image_width = width;
    c.image_height = height;
    c.input_components = layout == 10 ? 1 : 3;
    c.in_color_space = layout == 10 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 20 + (int)random_below(81), TRUE);
    if (layout != 10) {
        c.comp_info[0].h_samp_factor = factors[layout % 5][0];
        c.comp_info[0].v_samp_factor = factors[layout % 5][1];
    }
    if (layout == 11)
        c.comp_info[0].h_samp_factor = 4, c.comp_info[0].v_samp_factor = 1;
    const int is_progressive = layout == 12 || i / 5 % 3 == 1;
    if (is_progressive)
        choose_scans(&c);
    c.restart_interval = random_below(is_progressive ? 20 : 3) == 0 ? 1 + random_below(9) : 0;
    c.optimize_coding = random_below(2) == 0;
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < height) {
        for (unsigned x = 0; x < width; x++)
            for (unsigned k = 0; k < (unsigned)c.input_components; k++)
                row[x * (unsigned)c.input_components + k] = sample(content, x, c.next_scanline, k);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    return f;
}

/* Where the scan begins: most damage is after it. */
static unsigned long data_start(const struct file *f)
{
    for (unsigned long at = 2; at + 4 < f->n;
         at += 2ul + (f->bytes[at + 2] << 8 | f->bytes[at + 3]))
        if (f->bytes[at + 1] == 0xda)
            return at;
    return f->n / 2;
}

static void damage(struct file *f, unsigned how)
{
    unsigned long from = random_below(8) ? data_start(f) : 0, n = f->n - from;
    unsigned long at = from + random_below((uint32_t)n), size = 1 + random_below(512);
    size = size < f->n - at ? size : f->n - at;
    switch (how % 9) {
    case 0:
        f->n = at;
        break;
    case 1:
        f->n = at + 2 <= f->n ? at + 2 : f->n;
        f->bytes[f->n - 2] = 0xff;
        f->bytes[f->n - 1] = 0xd9;
        break;
    case 2:
        f->bytes[at] = (uint8_t)random_below(256);
        break;
    case 3:
        f->bytes[at] ^= (uint8_t)(1u << random_below(8));
        break;
    case 4:
        memset(f->bytes + at, 0, size);
        break;
    case 5:
        if (at + 2 <= f->n) {
            f->bytes[at] = 0xff;
            f->bytes[at + 1] = (uint8_t)(0xd0 + random_below(10));
        }
        break;
    case 6: /* a part is missing */
        memmove(f->bytes + at, f->bytes + at + size, f->n - at - size);
        f->n -= size;
        break;
    case 7: /* a part overwrites another */
        memmove(f->bytes + at, f->bytes + from + random_below((uint32_t)(f->n - from - size + 1)),
                size);
        break;
    default:
        for (unsigned k = 0; k < 4; k++)
            f->bytes[from + random_below((uint32_t)n)] ^= (uint8_t)(1u << random_below(8));
    }
}

static void write_file(const char *dir, const char *kind, unsigned i, const struct file *f)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s_%05u.jpg", dir, kind, i);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(f->bytes, 1, f->n, out) != f->n || fclose(out) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: make_jpegs DIR N_SOUND N_DAMAGED\n");
        return 2;
    }
    const unsigned n_sound = (unsigned)atoi(argv[2]), n_damaged = (unsigned)atoi(argv[3]);
    for (unsigned i = 0; i < n_sound; i++) {
        struct file f = make(i, i % 40 == 39 ? 2000 : 70);
        write_file(argv[1], "sound", i, &f);
        free(f.bytes);
    }
    for (unsigned i = 0; i < n_damaged; i++) {
        struct file f = make(i, i % 25 == 24 ? 1500 : i % 5 ? 300 : 70);
        damage(&f, i);
        write_file(argv[1], "damaged", i, &f);
        free(f.bytes);
    }
    return 0;
}
