/*
 * Decodes a JPEG file with all scans at once and in the ordinary way, as planes and as pixels, and
 * checks that idle cores and budget are given back.
 *
 * The bytes taken from the budget show how a file was decoded: the size of the file and a few rows
 * of coefficients, or of all coefficients.
 */
#ifndef IH_TESTS_PROGRESSIVE_H
#define IH_TESTS_PROGRESSIVE_H

#include "decode/progressive/progressive.h"
#include "tests/support/jpeg_files.h"
#include "tests/support/jpeg_scans.h"
#include "tests/support/planes_read.h"
#include <fcntl.h>

static char path[] = "/tmp/imghist-progressive-XXXXXX"; /* the file that tests write */

static inline int make_path(void **state)
{
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
    unlink(path);
    return 0;
}

/* The layouts of read_planes. */
static const struct look looks[] = {{.h = 1, .v = 1}, {.h = 2, .v = 1}, {.h = 2, .v = 2}};
enum {
    N_LOOKS = sizeof looks / sizeof looks[0],
    ASSISTANTS = 2 /* the most that an image takes */
};

/* Bytes of the budget. */
struct held {
    uint64_t at_once, ordinary;
    unsigned n_rows; /* of MCUs */
};

static inline uint64_t rounded_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Two bytes for each coefficient of eight rows of MCUs, or of all rows. */
static inline struct held held_of(const struct jpeg_file *f)
{
    enum { SLOTS = 8, BLOCK_BYTES = 64 * 2 };
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    open_jpeg(&c, &errors, f->bytes, f->n);
    const unsigned h = 8 * (unsigned)c.max_h_samp_factor, v = 8 * (unsigned)c.max_v_samp_factor;
    uint64_t n = 0;
    for (int i = 0; i < c.num_components; i++)
        n += (unsigned)(c.comp_info[i].h_samp_factor * c.comp_info[i].v_samp_factor);
    const uint64_t row_bytes = n * ((c.image_width + h - 1) / h) * BLOCK_BYTES;
    const unsigned n_rows = (c.image_height + v - 1) / v;
    jpeg_destroy_decompress(&c);
    return (struct held){f->n + rounded_up(row_bytes * SLOTS, 64), row_bytes * n_rows, n_rows};
}

enum opened { OPENED_PATH, OPENED_MEMORY, OPENED_ONCE }; /* once: cannot be rewound */

struct way {
    enum opened opened;
    bool gives_pixels;
    unsigned n_idle_cores;
    size_t more; /* bytes of planes, or rows of pixels, that a buffer is larger than the least */
    bool varies; /* only in every other read */
    bool is_lenient;
    uint64_t from_pixels;
    uint64_t budget_bytes;
    struct ih_budget *budget; /* not NULL: instead of one of budget_bytes */
    /* Called before each read, after n_stripes stripes. Returns how many cores have become idle. */
    unsigned (*before_read)(unsigned n_stripes, unsigned n_idle_cores);
};

#define ORDINARY_FROM UINT64_MAX /* from_pixels: always in the ordinary way */

struct outcome {
    enum ih_status status;
    struct ih_error error;
    unsigned warnings;
    uint8_t *bytes; /* owned: pixels up to the end or an error, or the planes of the image */
    size_t n_bytes;
    unsigned n_stripes;
    uint64_t held_bytes; /* of the budget, after the last stripe */
    unsigned n_lent;     /* the most idle cores taken at once */
};

/* Reads some rows. True: there may be more. */
static inline bool read_pixels(struct ih_decode *d, size_t n_rows, struct outcome *out)
{
    const size_t n_channels = d->info.layout.n_channels, width = (size_t)d->info.width;
    const size_t capacity = width * n_rows, n_all = width * (size_t)d->info.height;
    uint8_t *stripe = malloc(capacity * n_channels);
    size_t n = 0;
    assert_non_null(stripe);
    if (!out->bytes)
        assert_non_null(out->bytes = malloc(n_all * n_channels));
    out->status = ih_decode_read(d, stripe, capacity, &n, &out->error);
    if (out->status == IH_OK) {
        assert_true(n <= capacity && n % width == 0);
        assert_true(out->n_bytes + n * n_channels <= n_all * n_channels);
        memcpy(out->bytes + out->n_bytes, stripe, n * n_channels);
        out->n_bytes += n * n_channels;
        if (n == 0)
            assert_int_equal(out->n_bytes, n_all * n_channels);
    }
    free(stripe);
    return out->status == IH_OK && n > 0;
}

static inline bool read_rows(struct ih_decode *d, const struct way *way, size_t size,
                             struct planes_read *p, struct outcome *out)
{
    if (way->gives_pixels)
        return read_pixels(d, size, out);
    const bool has_rows = read_stripe(d, size, p);
    out->status = p->status;
    out->error = p->error;
    out->n_bytes = (size_t)p->image.width * p->image.height +
                   2 * (size_t)p->image.chroma_width * p->image.chroma_height;
    return has_rows;
}

static inline void read_stripes(struct ih_decode *d, const struct way *way,
                                const struct ih_decode_options *options, struct outcome *out)
{
    const size_t least = way->gives_pixels ? 1 : ih_decode_planes_bytes(d);
    struct planes_read p = {.has_planes = true};
    unsigned n_idle_cores = way->n_idle_cores;
    for (bool goes_on = true; goes_on;) {
        const size_t size = least + (way->varies && out->n_stripes % 2 ? 0 : way->more);
        if (way->before_read) {
            const unsigned n_more =
                way->before_read(out->n_stripes, atomic_load(options->n_idle_cores));
            atomic_fetch_add(options->n_idle_cores, n_more);
            n_idle_cores += n_more;
        }
        goes_on = read_rows(d, way, size, &p, out);
        out->n_stripes += goes_on;
        const unsigned n_lent = n_idle_cores - atomic_load(options->n_idle_cores);
        out->n_lent = n_lent > out->n_lent ? n_lent : out->n_lent;
        if (goes_on)
            out->held_bytes = options->budget->taken_bytes;
    }
    if (out->status == IH_OK) { /* another read at the end also gives nothing */
        assert_false(read_rows(d, way, least, &p, out));
        assert_int_equal(out->status, IH_OK);
    }
    if (!way->gives_pixels)
        out->bytes = p.samples;
    out->warnings = d->info.warnings;
    free(p.has_row[0]), free(p.has_row[1]);
    ih_decode_close(d);
    assert_int_equal(atomic_load(options->n_idle_cores), n_idle_cores);
}

static inline void open_source(struct ih_reader *source, const struct jpeg_file *f,
                               enum opened opened, int *fd)
{
    struct ih_error err;
    *fd = -1;
    if (opened == OPENED_MEMORY) {
        ih_reader_open_memory(source, f->bytes, f->n);
    } else if (opened == OPENED_PATH) {
        assert_int_equal(ih_reader_open_path(source, path, &err), IH_OK);
    } else {
        *fd = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(*fd >= 0);
        assert_int_equal(ih_reader_open_fd(source, *fd, &err), IH_OK);
    }
}

/* If the way opens path, the file there is also f. */
static inline struct outcome read_file(const struct jpeg_file *f, const struct way *way)
{
    struct outcome out = {.status = IH_OK};
    struct ih_budget own;
    atomic_uint n_idle_cores = way->n_idle_cores;
    struct ih_reader source = {0};
    struct ih_decode d;
    int fd;
    ih_budget_init(&own, way->budget_bytes ? way->budget_bytes : (uint64_t)1 << 30);
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS,
                                              .budget = way->budget ? way->budget : &own,
                                              .n_idle_cores = &n_idle_cores,
                                              .is_lenient = way->is_lenient,
                                              .all_scans_from_pixels =
                                                  way->from_pixels ? way->from_pixels : 1};
    open_source(&source, f, way->opened, &fd);
    out.status = ih_decode_open(&d, &source, &options, &out.error);
    if (out.status == IH_OK && (way->gives_pixels || ih_decode_planes_bytes(&d) > 0))
        read_stripes(&d, way, &options, &out);
    else if (out.status == IH_OK)
        ih_decode_close(&d);
    assert_int_equal(own.taken_bytes, 0);
    ih_reader_reset(&source);
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

static inline void assert_same_outcome(const struct outcome *a, const struct outcome *b)
{
    if (a->status != b->status ||
        (a->status != IH_OK && strcmp(a->error.message, b->error.message) != 0))
        fail_msg("status %d, '%s' instead of %d, '%s'", (int)a->status,
                 a->status ? a->error.message : "", (int)b->status,
                 b->status ? b->error.message : "");
    if (a->status != IH_OK)
        return;
    assert_int_equal(a->n_stripes, b->n_stripes);
    assert_int_equal(a->n_bytes, b->n_bytes);
    if (a->n_bytes > 0)
        assert_memory_equal(a->bytes, b->bytes, a->n_bytes);
}

enum { N_WAYS = 4 }; /* tried by try_both */

/* Counts over planes and pixels. */
struct tried {
    unsigned n_at_once;     /* decoded with all scans at once, up to the end */
    unsigned n_failed_late; /* failed after delivering rows */
};

/* Reads planes, if the layout allows it, and pixels, with no idle core and with several. Every
 * outcome must equal that of the ordinary way. */
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
            tried.n_at_once += o.status == IH_OK && o.n_stripes > 0 && o.held_bytes == held.at_once;
            tried.n_failed_late += o.status != IH_OK && o.n_stripes > 0;
            free_outcome(&o);
        }
        free_outcome(&ordinary);
    }
    return tried;
}

#endif
