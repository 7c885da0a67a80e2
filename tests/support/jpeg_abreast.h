/*
 * A JPEG file decoded with its scans abreast and in the ordinary way, as planes and as pixels, for
 * the tests of that. What has been lent has to be given back. Include it after cmocka.h; define
 * _POSIX_C_SOURCE before the first include.
 *
 * Which way a file was decoded shows in what it holds of the budget: the file and a few rows of
 * coefficients, or all of these.
 */
#ifndef IH_TESTS_JPEG_ABREAST_H
#define IH_TESTS_JPEG_ABREAST_H

#include "decode/progressive/abreast.h"

#include <fcntl.h>

#include "tests/support/jpeg_files.h"
#include "tests/support/jpeg_scans.h"
#include "tests/support/planes_read.h"

static char path[] = "/tmp/imghist-abreast-XXXXXX"; /* of the file that tests write */

static inline int make_path(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

/* What read_planes gives. */
static const struct look looks[] = {{.h = 1, .v = 1}, {.h = 2, .v = 1}, {.h = 2, .v = 2}};
enum {
    N_LOOKS = sizeof looks / sizeof looks[0],
    HELPERS = 2 /* that an image takes at most */
};

/* ---- what a file holds ---- */

struct held {
    uint64_t abreast, ordinary; /* bytes of the budget */
    unsigned n_rows;            /* of MCUs */
};

static inline uint64_t rounded_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Eight rows of MCUs, or all of them, of two bytes for each coefficient. */
static inline struct held held_of(const struct jpeg_file *f)
{
    enum { SLOTS = 8, BLOCK_BYTES = 64 * 2 };
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, f->bytes, f->n);
    jpeg_read_header(&c, TRUE);
    const unsigned h = 8 * (unsigned)c.max_h_samp_factor, v = 8 * (unsigned)c.max_v_samp_factor;
    uint64_t n = 0;
    for (int i = 0; i < c.num_components; i++)
        n += (unsigned)(c.comp_info[i].h_samp_factor * c.comp_info[i].v_samp_factor);
    const uint64_t row_bytes = n * ((c.image_width + h - 1) / h) * BLOCK_BYTES;
    const unsigned n_rows = (c.image_height + v - 1) / v;
    jpeg_destroy_decompress(&c);
    return (struct held){f->n + rounded_up(row_bytes * SLOTS, 64), row_bytes * n_rows, n_rows};
}

/* ---- one way to read ---- */

enum opened { OPENED_PATH, OPENED_MEMORY, OPENED_ONCE }; /* once: it cannot be rewound */

struct way {
    enum opened opened;
    bool gives_pixels;
    unsigned n_idle_cores; /* processors that nobody uses */
    size_t more;           /* bytes of planes, or rows of pixels, than a read needs room for */
    bool varies;           /* only every other read has more */
    uint64_t from_pixels;
    uint64_t budget_bytes;
    struct ih_budget *budget; /* not NULL: instead of one of budget_bytes */
    /* Before each read, and n of them have given something. Returns how many more there are. */
    unsigned (*before_read)(unsigned n, unsigned n_spare_left);
};

#define ORDINARY_FROM UINT64_MAX /* pixels: none has so many */

struct outcome {
    enum ih_status status;
    struct ih_error error;
    uint8_t *bytes; /* owned: what came until the end or an error, pixels, or planes in full */
    size_t n_bytes;
    unsigned n_bands;
    uint64_t held_bytes; /* of the budget, behind the last band */
    unsigned n_lent;     /* processors at once, at most */
};

/* One read. True: there may be more. */
static inline bool read_pixels(struct ih_decode *d, size_t n_rows, struct outcome *out)
{
    const size_t n_channels = d->info.n_channels, width = (size_t)d->info.width;
    const size_t capacity = width * n_rows, n_all = width * (size_t)d->info.height;
    uint8_t *band = malloc(capacity * n_channels);
    size_t n = 0;
    assert_non_null(band);
    if (!out->bytes)
        assert_non_null(out->bytes = malloc(n_all * n_channels));
    out->status = ih_decode_read(d, band, capacity, &n, &out->error);
    if (out->status == IH_OK) {
        assert_true(n <= capacity && n % width == 0);
        assert_true(out->n_bytes + n * n_channels <= n_all * n_channels);
        memcpy(out->bytes + out->n_bytes, band, n * n_channels);
        out->n_bytes += n * n_channels;
        if (n == 0)
            assert_int_equal(out->n_bytes, n_all * n_channels);
    }
    free(band);
    return out->status == IH_OK && n > 0;
}

static inline bool read_band(struct ih_decode *d, size_t n_bytes, struct planes_read *p,
                             uint32_t *next_row, struct outcome *out)
{
    struct ih_planes band = {.n_rows = 0};
    uint8_t *buffer = malloc(n_bytes);
    assert_non_null(buffer);
    memset(buffer, (int)(*next_row * 37 + 91), n_bytes); /* what is not written shows */
    out->status = ih_decode_read_planes(d, buffer, n_bytes, &band, &out->error);
    if (out->status == IH_OK && band.n_rows > 0) {
        check_band(&band, &d->info, *next_row, buffer, n_bytes);
        if (!p->samples)
            begin_planes(p, &d->info, &band);
        take_rows(p, &band);
        *next_row += band.n_rows;
        out->n_bytes = (size_t)p->image.width * p->image.height +
                       2 * (size_t)p->image.chroma_width * p->image.chroma_height;
    } else if (out->status == IH_OK) {
        assert_int_equal(*next_row, d->info.height);
    }
    free(buffer);
    return out->status == IH_OK && band.n_rows > 0;
}

static inline void read_bands(struct ih_decode *d, const struct way *way,
                              const struct ih_decode_options *options, struct outcome *out)
{
    const size_t least = way->gives_pixels ? 1 : ih_decode_planes_bytes(d);
    struct planes_read p = {.has_planes = true};
    uint32_t next_row = 0;
    unsigned n_idle_cores = way->n_idle_cores;
    for (bool goes_on = true; goes_on;) {
        const size_t size = least + (way->varies && out->n_bands % 2 ? 0 : way->more);
        if (way->before_read) {
            const unsigned n_more =
                way->before_read(out->n_bands, atomic_load(options->n_idle_cores));
            atomic_fetch_add(options->n_idle_cores, n_more);
            n_idle_cores += n_more;
        }
        goes_on =
            way->gives_pixels ? read_pixels(d, size, out) : read_band(d, size, &p, &next_row, out);
        out->n_bands += goes_on;
        const unsigned n_lent = n_idle_cores - atomic_load(options->n_idle_cores);
        out->n_lent = n_lent > out->n_lent ? n_lent : out->n_lent;
        if (goes_on)
            out->held_bytes = options->budget->taken_bytes;
    }
    if (out->status == IH_OK) { /* and says so again */
        assert_false(way->gives_pixels ? read_pixels(d, least, out)
                                       : read_band(d, least, &p, &next_row, out));
        assert_int_equal(out->status, IH_OK);
    }
    if (!way->gives_pixels)
        out->bytes = p.samples;
    free(p.has_row[0]);
    free(p.has_row[1]);
    ih_decode_close(d);
    assert_int_equal(atomic_load(options->n_idle_cores), n_idle_cores);
}

static inline void open_source(struct ih_source *source, const struct jpeg_file *f,
                               enum opened opened, int *fd)
{
    struct ih_error err;
    *fd = -1;
    if (opened == OPENED_MEMORY) {
        ih_source_open_memory(source, f->bytes, f->n);
    } else if (opened == OPENED_PATH) {
        assert_int_equal(ih_source_open_path(source, path, &err), IH_OK);
    } else {
        *fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(*fd >= 0);
        assert_int_equal(ih_source_open_fd(source, *fd, &err), IH_OK);
    }
}

/* f is also at path, where that is opened. */
static inline struct outcome read_file(const struct jpeg_file *f, const struct way *way)
{
    struct outcome out = {.status = IH_OK};
    struct ih_budget own;
    atomic_uint n_idle_cores = way->n_idle_cores;
    struct ih_source source = {0};
    struct ih_decode d;
    int fd;
    ih_budget_init(&own, way->budget_bytes ? way->budget_bytes : (uint64_t)1 << 30);
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS,
                                              .budget = way->budget ? way->budget : &own,
                                              .n_idle_cores = &n_idle_cores,
                                              .all_scans_from_pixels =
                                                  way->from_pixels ? way->from_pixels : 1};
    open_source(&source, f, way->opened, &fd);
    out.status = ih_decode_open(&d, &source, &options, &out.error);
    if (out.status == IH_OK && (way->gives_pixels || ih_decode_planes_bytes(&d) > 0))
        read_bands(&d, way, &options, &out);
    else if (out.status == IH_OK)
        ih_decode_close(&d);
    assert_int_equal(own.taken_bytes, 0);
    ih_source_reset(&source);
    if (fd >= 0)
        close(fd);
    ih_budget_destroy(&own);
    return out;
}

static inline void free_outcome(struct outcome *o)
{
    free(o->bytes);
    *o = (struct outcome){.status = IH_OK};
}

/* ---- one way and the other ---- */

static inline void assert_same_outcome(const struct outcome *a, const struct outcome *b)
{
    if (a->status != b->status ||
        (a->status != IH_OK && strcmp(a->error.message, b->error.message) != 0))
        fail_msg("status %d, '%s' instead of %d, '%s'", (int)a->status,
                 a->status ? a->error.message : "", (int)b->status,
                 b->status ? b->error.message : "");
    if (a->status != IH_OK)
        return;
    assert_int_equal(a->n_bands, b->n_bands);
    assert_int_equal(a->n_bytes, b->n_bytes);
    if (a->n_bytes > 0)
        assert_memory_equal(a->bytes, b->bytes, a->n_bytes);
}

enum { N_WAYS = 4 }; /* that try_both tries */

/* What has been tried, as planes and as pixels together. */
struct tried {
    unsigned n_abreast;    /* ways that were abreast to their end */
    unsigned n_given_back; /* that failed with rows given before */
};

/* As planes, if that can be, and as pixels: with no processor to spare and with many, and never in
 * another way than the ordinary one does it. */
static inline struct tried try_both(const struct jpeg_file *f, struct held held, size_t more)
{
    struct tried tried = {0};
    for (unsigned pixels = 0; pixels < 2; pixels++) {
        struct way way = {.opened = OPENED_MEMORY,
                          .gives_pixels = pixels == 1,
                          .more = pixels == 1 ? more % 7 : more,
                          .from_pixels = ORDINARY_FROM};
        struct outcome ordinary = read_file(f, &way);
        way.from_pixels = 1;
        for (way.n_idle_cores = 0; way.n_idle_cores < 4; way.n_idle_cores += 3) {
            struct outcome o = read_file(f, &way);
            assert_same_outcome(&o, &ordinary);
            tried.n_abreast += o.status == IH_OK && o.n_bands > 0 && o.held_bytes == held.abreast;
            tried.n_given_back += o.status != IH_OK && o.n_bands > 0;
            free_outcome(&o);
        }
        free_outcome(&ordinary);
    }
    return tried;
}

#endif
