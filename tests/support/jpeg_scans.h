/* Progressive JPEG files with the scans that a test chooses. */
#ifndef IH_TESTS_JPEG_SCANS_H
#define IH_TESTS_JPEG_SCANS_H

#include "tests/support/jpeg_files.h"
#include <unistd.h>

struct script {
    const jpeg_scan_info *scans; /* NULL: those of jpeg_simple_progression */
    int n_scans;
};

#define SCRIPT(scans)                                \
    {                                                \
        scans, (int)(sizeof scans / sizeof scans[0]) \
    }

static const jpeg_scan_info scans_dc_apart[] = {
    {1, {0}, 0, 0, 0, 1},  {1, {1}, 0, 0, 0, 1},  {1, {2}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0},
    {1, {1}, 1, 63, 0, 0}, {1, {2}, 1, 63, 0, 0}, {1, {1}, 0, 0, 1, 0}, {1, {0}, 0, 0, 1, 0}};
static const jpeg_scan_info scans_chroma_first[] = {{1, {2}, 0, 0, 0, 0},  {1, {1}, 0, 0, 0, 0},
                                                    {1, {1}, 1, 63, 0, 0}, {1, {2}, 1, 63, 0, 0},
                                                    {1, {0}, 0, 0, 0, 0},  {1, {0}, 1, 63, 0, 0}};
static const jpeg_scan_info scans_spectral[] = {{3, {0, 1, 2}, 0, 0, 0, 0}, {1, {0}, 1, 5, 0, 0},
                                                {1, {2}, 1, 30, 0, 0},      {1, {1}, 1, 63, 0, 0},
                                                {1, {0}, 6, 20, 0, 0},      {1, {0}, 21, 63, 0, 0},
                                                {1, {2}, 31, 63, 0, 0}};
static const jpeg_scan_info scans_successive[] = {
    {3, {0, 1, 2}, 0, 0, 0, 2}, {1, {0}, 1, 63, 0, 2},      {1, {1}, 1, 63, 0, 1},
    {1, {2}, 1, 63, 0, 0},      {3, {0, 1, 2}, 0, 0, 2, 1}, {1, {0}, 1, 63, 2, 1},
    {1, {1}, 1, 63, 1, 0},      {3, {0, 1, 2}, 0, 0, 1, 0}, {1, {0}, 1, 63, 1, 0}};
static const jpeg_scan_info scans_two_at_once[] = {
    {2, {0, 2}, 0, 0, 0, 1}, {1, {1}, 0, 0, 0, 1},  {1, {2}, 1, 63, 0, 0}, {1, {1}, 1, 63, 0, 0},
    {2, {1, 2}, 0, 0, 1, 0}, {1, {0}, 1, 63, 0, 0}, {1, {0}, 0, 0, 1, 0}};

static const struct script scripts[] = {
    {NULL, 0},
    SCRIPT(scans_dc_apart),
    SCRIPT(scans_chroma_first),
    SCRIPT(scans_spectral),
    SCRIPT(scans_successive),
    SCRIPT(scans_two_at_once),
};
enum { N_SCRIPTS = sizeof scripts / sizeof scripts[0] };

struct look {
    int h, v; /* sampling of luma */
    unsigned restart_interval;
    J_COLOR_SPACE stored; /* JCS_UNKNOWN: YCbCr */
    bool is_arithmetic, is_baseline;
    int chroma_h, chroma_v; /* sampling of the second component; 0: the default */
};

static inline uint8_t sample_of_scans(unsigned i, unsigned y, uint32_t random, const void *context)
{
    return (uint8_t)((i * (1 + i % 3) + y * 5) / 2 + (random >> 27));
}

static inline struct jpeg_file make_scans(const struct look *look, const struct script *script,
                                          unsigned width, unsigned height)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_file f = {NULL, 0};
    const bool is_cmyk = look->stored == JCS_CMYK || look->stored == JCS_YCCK;
    const bool is_gray = look->stored == JCS_GRAYSCALE;
    begin_jpeg(&c, &errors, &f, width, height,
               is_cmyk   ? JCS_CMYK
               : is_gray ? JCS_GRAYSCALE
                         : JCS_RGB);
    if (look->stored != JCS_UNKNOWN)
        jpeg_set_colorspace(&c, look->stored);
    jpeg_set_quality(&c, 92, TRUE);
    c.comp_info[0].h_samp_factor = look->h;
    c.comp_info[0].v_samp_factor = look->v;
    if (look->chroma_h) {
        c.comp_info[1].h_samp_factor = look->chroma_h;
        c.comp_info[1].v_samp_factor = look->chroma_v;
    }
    c.restart_interval = look->restart_interval;
    c.arith_code = look->is_arithmetic;
    if (script->scans) {
        c.scan_info = script->scans;
        c.num_scans = script->n_scans;
    } else if (!look->is_baseline) {
        jpeg_simple_progression(&c);
    }
    write_rows(&c, width * 41 + height, sample_of_scans, NULL);
    return f;
}

/* Offset of the nth scan's header, or of the last one if n < 0. The encoder writes 0xFF 0xDA
 * nowhere else. */
static inline size_t find_scan(const struct jpeg_file *f, int n)
{
    size_t found = 0;
    for (size_t at = 2; at + 1 < f->n; at++) {
        if (f->bytes[at] != 0xFF || f->bytes[at + 1] != 0xDA)
            continue;
        found = at;
        if (n >= 0 && n-- == 0)
            return at;
    }
    assert_true(found != 0);
    return found;
}

static inline void write_file(const char *path, const uint8_t *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

#endif
