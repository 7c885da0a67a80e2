/*
 * Irregular JPEG files: those that are accepted have the pixels that libjpeg's plain loop gives,
 * for them and for the sound files that they are made from. Pixels, planes, all scans at once, the
 * ordinary way, files, memory and inputs that cannot be rewound agree.
 */
#include "tests/support/test.h"

#include "decode/decoder.h"

#include <limits.h>

#include "tests/support/progressive.h"

enum { ALWAYS, IF_LENIENT, NEVER }; /* when a file is accepted */

enum {
    SIDE_MAX = 200,
    CHUNKS_MAX = 12, /* scans of a file */
    HEADER = IH_WARNING_HEADER_BYTES,
    END = IH_WARNING_END_BYTES,
    DATA = IH_WARNING_DATA_BYTES,
    ORDER = IH_WARNING_PROGRESSION
};

static const unsigned sizes[][2] = {{8, 8}, {33, 17}, {200, 120}};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

static const jpeg_scan_info scans_apart[] = {
    {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
static const jpeg_scan_info scans_gray[] = {
    {1, {0}, 0, 0, 0, 1}, {1, {0}, 1, 63, 0, 2}, {1, {0}, 1, 63, 2, 1},
    {1, {0}, 0, 0, 1, 0}, {1, {0}, 1, 63, 1, 0},
};
static const struct script in_one_scan = {NULL, 0}, apart = SCRIPT(scans_apart),
                           gray_bits = SCRIPT(scans_gray);

static const struct look sequential[] = {
    {.h = 1, .v = 1, .is_baseline = true, .stored = JCS_GRAYSCALE},
    {.h = 1, .v = 1, .is_baseline = true},
    {.h = 2, .v = 1, .is_baseline = true, .restart_interval = 1},
    {.h = 2, .v = 2, .is_baseline = true},
    {.h = 2, .v = 2, .is_baseline = true, .restart_interval = 5},
    {.h = 1, .v = 2, .is_baseline = true, .restart_interval = 3}, /* has no planes */
};
enum { N_SEQUENTIAL = sizeof sequential / sizeof sequential[0] };
static const struct look gray = {.h = 1, .v = 1, .stored = JCS_GRAYSCALE};

/* ---- all ways of reading a file ---- */

static unsigned n_accepted, n_lenient; /* files */

struct expected {
    unsigned when, warnings;
    unsigned may_lack; /* of the warnings: the library does not always see so few bytes */
    size_t width, height, n_channels;
    const uint8_t *pixels;
};

static void check_error(const struct ih_error *err, const struct expected *e)
{
    assert_int_equal(err->status, IH_CORRUPT);
    assert_non_null(strstr(err->message, "damaged JPEG: "));
    if (e->when == IF_LENIENT)
        assert_int_equal(err->limit, IH_LIMIT_LENIENT);
}

/* The number of a value in a channel of the plain pixels. */
static uint64_t count(const struct expected *e, unsigned channel, unsigned value)
{
    uint64_t n = 0;
    for (size_t i = channel; i < e->width * e->height * e->n_channels; i += e->n_channels)
        n += e->pixels[i] == value;
    return n;
}

static void check_planes(const struct jpeg_file *f, const struct way *way, const struct expected *e,
                         unsigned warnings)
{
    const struct ih_decode_options options = {.max_pixels = MAX_PIXELS,
                                              .is_lenient = way->is_lenient,
                                              .all_scans_from_pixels = way->from_pixels};
    struct ih_reader source = {0};
    int fd;
    open_source(&source, f, way->opened, &fd);
    struct planes_read p = read_source(&source, 0, &options);
    if (fd >= 0)
        close(fd);
    if (p.status != IH_OK) {
        check_error(&p.error, e);
    } else if (p.has_planes) {
        assert_int_equal(p.warnings, warnings);
        if (ih_counter_takes_planes(&ih_count_tables))
            for (unsigned v = 0; v < 256; v += 5)
                assert_int_equal(ih_bins(&p.counts, v % 3)[v], count(e, v % 3, v));
    }
    free_planes(&p);
}

static void check_way(const struct jpeg_file *f, const struct way *way, const struct expected *e,
                      unsigned *warnings)
{
    const bool is_accepted = e->when == ALWAYS || (e->when == IF_LENIENT && way->is_lenient);
    struct outcome out = read_file(f, way);
    if (!is_accepted) {
        if (out.status == IH_OK)
            fail_msg("accepted, lenient %d", (int)way->is_lenient);
        check_error(&out.error, e);
    } else {
        if (out.status != IH_OK)
            fail_msg("lenient %d: %s", (int)way->is_lenient, out.error.message);
        assert_int_equal(out.n_bytes, e->width * e->height * e->n_channels);
        assert_memory_equal(out.bytes, e->pixels, out.n_bytes);
        if (*warnings == UINT_MAX) /* the first way decides what all others must give */
            *warnings = e->warnings & (out.warnings | ~e->may_lack);
        assert_int_equal(out.warnings, *warnings);
    }
    check_planes(f, way, e, *warnings);
    free_outcome(&out);
}

static void check_file(const struct jpeg_file *f, const struct expected *e)
{
    unsigned warnings = UINT_MAX;
    write_file(path, f->bytes, f->n);
    for (unsigned i = 0; i < 12; i++) {
        const struct way way = {.opened = (enum opened)(i / 4),
                                .gives_pixels = true,
                                .more = i,
                                .is_lenient = i & 1,
                                .from_pixels = i & 2 ? 1 : ORDINARY_FROM};
        check_way(f, &way, e, &warnings);
    }
    n_accepted += e->when == ALWAYS;
    n_lenient += e->when == IF_LENIENT;
}

/* Checks a file made from a sound one, which is freed with it. */
static void check(struct jpeg_file *sound, struct jpeg_file *f, struct expected e)
{
    static uint8_t pixels[SIDE_MAX * SIDE_MAX * 3], own[sizeof pixels];
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, sound->bytes, sound->n);
    jpeg_read_header(&c, TRUE);
    e.width = c.image_width;
    e.height = c.image_height;
    e.n_channels = (size_t)c.num_components;
    e.pixels = pixels;
    jpeg_destroy_decompress(&c);
    decode_plainly(sound, pixels);
    if (e.when != NEVER) { /* libjpeg's plain loop agrees that no pixel has changed */
        decode_plainly(f, own);
        assert_memory_equal(own, pixels, e.width * e.height * e.n_channels);
    }
    check_file(f, &e);
    free(sound->bytes);
    free(f->bytes);
}

/* ---- bytes that are too many ---- */

static const uint8_t extra[] =
    "\x12\x34\x00\xFF\x00\x80\xFF\xFF\x00 more bytes than a bit buffer holds";

static size_t find_marker(const struct jpeg_file *f, unsigned code, size_t from)
{
    for (size_t at = from; at + 1 < f->n; at++)
        if (f->bytes[at] == 0xFF && f->bytes[at + 1] == code)
            return at;
    return 0;
}

/* Inserts the first n extra bytes. */
static void check_extra(const struct look *look, const struct script *script, unsigned size,
                        size_t (*place)(const struct jpeg_file *), size_t n, struct expected e)
{
    struct jpeg_file sound = make_scans(look, script, sizes[size][0], sizes[size][1]);
    struct jpeg_file f = copy_jpeg(&sound);
    const size_t at = place(&f);
    if (at == 0) { /* an image without this marker */
        free(sound.bytes);
        free(f.bytes);
        return;
    }
    splice(&f, at, 0, extra, n);
    check(&sound, &f, e);
}

static size_t at_end(const struct jpeg_file *f)
{
    return f->n - 2;
}

static size_t in_header(const struct jpeg_file *f)
{
    return find_marker(f, 0xC4, 0);
}

static size_t at_restart(const struct jpeg_file *f)
{
    return find_marker(f, 0xD0, 0);
}

static size_t at_second_scan(const struct jpeg_file *f)
{
    const size_t first = find_marker(f, 0xDA, 0);
    const size_t table = find_marker(f, 0xC4, first), scan = find_marker(f, 0xDA, first + 2);
    return table && table < scan ? table : scan;
}

/* Drones. */
TEST(before_end)
{
    for (unsigned size = 0; size < N_SIZES; size++) {
        for (unsigned i = 0; i < N_SEQUENTIAL; i++)
            check_extra(&sequential[i], &in_one_scan, size, at_end, sizeof extra,
                        (struct expected){.when = ALWAYS, .warnings = END});
        for (unsigned i = 0; i < N_LOOKS; i++)
            for (unsigned k = 0; k < 3; k++)
                check_extra(&looks[i], &scripts[k], size, at_end, sizeof extra,
                            (struct expected){.when = ALWAYS, .warnings = END});
        check_extra(&sequential[1], &apart, size, at_end, sizeof extra,
                    (struct expected){.when = ALWAYS, .warnings = END});
    }
}

/* So few that libjpeg may have them in its bit buffer. */
TEST(few_before_end)
{
    for (size_t n = 1; n < 12; n++) {
        const struct expected e = {.warnings = END, .may_lack = END};
        check_extra(&sequential[0], &in_one_scan, 1, at_end, n, e);
        check_extra(&sequential[4], &in_one_scan, 2, at_end, n, e);
        check_extra(&looks[2], &scripts[0], 2, at_end, n, e);
    }
}

TEST(between_segments)
{
    for (unsigned i = 0; i < N_SEQUENTIAL; i++)
        check_extra(&sequential[i], &in_one_scan, 1, in_header, 3,
                    (struct expected){.when = ALWAYS, .warnings = HEADER});
    check_extra(&looks[2], &scripts[0], 2, in_header, sizeof extra,
                (struct expected){.when = ALWAYS, .warnings = HEADER});
}

TEST(before_other_markers)
{
    const struct expected e = {.when = IF_LENIENT, .warnings = DATA};
    for (unsigned size = 1; size < N_SIZES; size++) {
        for (unsigned i = 0; i < N_SEQUENTIAL; i++)
            check_extra(&sequential[i], &in_one_scan, size, at_restart, sizeof extra, e);
        check_extra(&sequential[1], &apart, size, at_second_scan, sizeof extra, e);
        for (unsigned i = 0; i < N_LOOKS; i++)
            check_extra(&looks[i], &scripts[i], size, at_second_scan, sizeof extra, e);
    }
}

static size_t at_last_restart(const struct jpeg_file *f)
{
    size_t at = f->n - 2;
    while (f->bytes[at] != 0xFF || (f->bytes[at + 1] & 0xF8) != 0xD0)
        at--;
    return at;
}

/* A few bytes before a restart marker, which libjpeg had in its bit buffer and reports together
 * with those before EOI, or before the next scan. They must not pass as bytes before EOI. */
TEST(reported_at_the_end)
{
    static const struct look restarts[] = {
        {.h = 1, .v = 1, .is_baseline = true, .stored = JCS_GRAYSCALE, .restart_interval = 4},
        {.h = 1, .v = 1, .is_baseline = true, .restart_interval = 4},
        {.h = 1, .v = 1, .restart_interval = 4},
    };
    for (size_t n = 2; n < 8; n++)
        for (unsigned i = 0; i < 7; i++) {
            const unsigned kind = i < 6 ? i / 2 : 2;
            struct jpeg_file sound = make_scans(&restarts[kind], kind == 1 ? &apart : &in_one_scan,
                                                33, kind == 2 ? 200 : 17);
            struct jpeg_file f = copy_jpeg(&sound);
            splice(&f, at_end(&f), 0, "0123456789abcdef", i < 6 ? 16 : 0);
            splice(&f, i % 2 ? at_last_restart(&sound) : at_restart(&f), 0,
                   "\x12\x34\x56\x12\x34\x56\x12\x34", n);
            check(&sound, &f,
                  (struct expected){.when = IF_LENIENT, .warnings = DATA | END, .may_lack = END});
        }
}

/* A comment between the extra bytes and EOI, or before them. */
TEST(with_comment)
{
    for (unsigned i = 0; i < 2 * N_SEQUENTIAL; i++) {
        struct jpeg_file sound = make_scans(&sequential[i / 2], &in_one_scan, 33, 17);
        struct jpeg_file f = copy_jpeg(&sound);
        splice(&f, at_end(&f), 0,
               i % 2 ? "0123456789abcdef\xFF\xFE\0\4ab" : "\xFF\xFE\0\4ab0123456789abcdef", 22);
        check(&sound, &f, (struct expected){.when = IF_LENIENT, .warnings = DATA});
    }
}

/* ---- parameters of sequential scans ---- */

/* Samsung phones. */
TEST(scan_parameters)
{
    static const uint8_t parameters[][3] = {{0, 0, 0},     {1, 63, 0},   {0, 62, 0},
                                            {0, 63, 0x11}, {5, 2, 0x10}, {255, 255, 255}};
    for (unsigned n = 0; n < sizeof parameters / sizeof parameters[0]; n++)
        for (unsigned i = 0; i <= N_SEQUENTIAL; i++) {
            const unsigned *size = sizes[(n + i) % N_SIZES];
            struct jpeg_file sound =
                make_scans(&sequential[i % N_SEQUENTIAL == 0 ? i / 2 : i],
                           i == N_SEQUENTIAL ? &apart : &in_one_scan, size[0], size[1]);
            struct jpeg_file f = copy_jpeg(&sound);
            for (size_t at = 0; (at = find_marker(&f, 0xDA, at)) != 0; at++)
                memcpy(f.bytes + at + 5 + 2 * f.bytes[at + 4], parameters[n], 3);
            check(&sound, &f, (struct expected){.when = ALWAYS, .warnings = 0});
        }
}

/* ---- the order of progressive scans ---- */

/* Rebuilds a file from the given scans, each with the Huffman tables before it. */
static struct jpeg_file reordered(const struct jpeg_file *f, const unsigned *order, unsigned n)
{
    size_t starts[CHUNKS_MAX + 1] = {0}, n_bytes;
    unsigned n_chunks = 0;
    bool has_table = false;
    for (size_t at = 2; f->bytes[at + 1] != 0xD9;) {
        const unsigned code = f->bytes[at + 1];
        if ((code == 0xC4 || code == 0xDA) && !has_table)
            starts[n_chunks++] = at;
        assert_true(n_chunks < CHUNKS_MAX);
        has_table = code == 0xC4;
        at += 2 + (size_t)(f->bytes[at + 2] << 8 | f->bytes[at + 3]);
        while (code == 0xDA && (f->bytes[at] != 0xFF || f->bytes[at + 1] == 0 ||
                                (f->bytes[at + 1] >= 0xD0 && f->bytes[at + 1] <= 0xD7)))
            at++;
        starts[n_chunks] = at;
    }
    n_bytes = starts[0] + 2;
    for (unsigned i = 0; i < n; i++)
        n_bytes += starts[order[i] + 1] - starts[order[i]];
    struct jpeg_file out = {malloc(n_bytes), starts[0]};
    assert_non_null(out.bytes);
    memcpy(out.bytes, f->bytes, starts[0]);
    for (unsigned i = 0; i < n; i++) {
        const size_t chunk = starts[order[i] + 1] - starts[order[i]];
        memcpy(out.bytes + out.n, f->bytes + starts[order[i]], chunk);
        out.n += chunk;
    }
    memcpy(out.bytes + out.n, "\xFF\xD9", 2);
    out.n += 2;
    return out;
}

static void check_scans(const struct look *look, const struct script *script,
                        const struct expected *e, unsigned n, const unsigned *order, bool is_whole)
{
    for (unsigned size = 0; size < N_SIZES; size++) {
        struct jpeg_file sound = make_scans(look, script, sizes[size][0], sizes[size][1]);
        struct jpeg_file f = reordered(&sound, order, n);
        if (!is_whole) { /* its own pixels, as libjpeg's plain loop decodes them */
            free(sound.bytes);
            sound = copy_jpeg(&f);
        }
        check(&sound, &f, *e);
    }
}

static void check_order(const struct look *look, const struct script *script, unsigned when,
                        unsigned n, const unsigned *order)
{
    const struct expected e = {.when = when, .warnings = when == IF_LENIENT ? ORDER : 0};
    check_scans(look, script, &e, n, order, true);
}

#define ORDER_OF(...)                                                              \
    sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned), (const unsigned[]) \
    {                                                                              \
        __VA_ARGS__                                                                \
    }

TEST(scan_order)
{
    const struct script chroma_first = scripts[2];
    /* AC before DC */
    check_order(&gray, &gray_bits, IF_LENIENT, ORDER_OF(1, 0, 2, 3, 4));
    check_order(&gray, &gray_bits, IF_LENIENT, ORDER_OF(1, 2, 4, 0, 3));
    for (unsigned i = 0; i < N_LOOKS; i++) {
        check_order(&looks[i], &chroma_first, IF_LENIENT, ORDER_OF(5, 4, 3, 2, 1, 0));
        /* libjpeg does not object to a complete first scan that comes twice */
        check_order(&looks[i], &chroma_first, ALWAYS, ORDER_OF(0, 1, 2, 3, 4, 4, 5));
        check_order(&looks[i], &chroma_first, ALWAYS, ORDER_OF(0, 1, 2, 3, 4, 5, 5, 0));
    }
    check_order(&gray, &gray_bits, IF_LENIENT, ORDER_OF(0, 0, 1, 1, 2, 3, 4));
}

/* libjpeg smooths the image. */
TEST(last_bits_missing)
{
    const struct expected e = {.when = IF_LENIENT, .warnings = IH_WARNING_LAST_BITS};
    check_scans(&gray, &gray_bits, &e, ORDER_OF(0, 1, 2, 3), false);
    check_scans(&gray, &gray_bits, &e, ORDER_OF(0, 1, 2), false);
    check_scans(&gray, &gray_bits, &e, ORDER_OF(0), false);
    for (unsigned i = 0; i < N_LOOKS; i++)
        check_scans(&looks[i], &scripts[4], &e, ORDER_OF(0, 1, 2, 3, 4, 5, 6), false);
}

TEST(scans_without_meaning)
{
    check_order(&gray, &gray_bits, NEVER, ORDER_OF(0, 1, 4, 3));       /* a bit was never sent */
    check_order(&gray, &gray_bits, NEVER, ORDER_OF(0, 2, 1, 3, 4));    /* refined before sent */
    check_order(&gray, &gray_bits, NEVER, ORDER_OF(0, 1, 2, 3, 4, 4)); /* refined twice */
    check_order(&gray, &gray_bits, NEVER, ORDER_OF(3, 0, 1, 2, 4));
    check_order(&gray, &gray_bits, NEVER, ORDER_OF(1, 0, 2, 3)); /* a last bit is missing */
}

/* ---- pixels that a reader would have to invent ---- */

TEST(damage)
{
    for (unsigned i = 0; i < N_SEQUENTIAL + N_LOOKS; i++) {
        const struct look *look = i < N_SEQUENTIAL ? &sequential[i] : &looks[i - N_SEQUENTIAL];
        for (unsigned kind = 0; kind < 4; kind++) {
            struct jpeg_file sound = make_scans(look, &in_one_scan, 200, 120);
            struct jpeg_file f = copy_jpeg(&sound);
            const size_t restart = find_marker(&f, 0xD2, 0);
            if (kind == 0) /* the end is missing */
                f.n -= 2;
            else if (kind == 1) /* the image ends early */
                splice(&f, f.n / 2, f.n - f.n / 2, "\xFF\xD9", 2);
            else if (kind == 2) /* no code is 16 ones */
                splice(&f, f.n - 60, 40, "\xFF\0\xFF\0\xFF\0\xFF\0\xFF\0\xFF\0\xFF\0\xFF\0", 16);
            else if (look->restart_interval) /* a restart marker is missing */
                splice(&f, restart, 2, NULL, 0);
            else
                f.n = f.n * 3 / 4;
            check(&sound, &f, (struct expected){.when = NEVER, .warnings = 0});
        }
    }
}

/* What follows a damaged SOS marker looks like extra bytes. */
TEST(lost_scan)
{
    const struct {
        const struct look *look;
        const struct script *script;
    } files[] = {{&sequential[1], &apart},
                 {&gray, &gray_bits},
                 {&looks[0], &scripts[0]},
                 {&looks[2], &scripts[1]},
                 {&looks[1], &scripts[3]}};
    for (unsigned i = 0; i < sizeof files / sizeof files[0]; i++)
        for (int scan = -1; scan < 3; scan++) {
            struct jpeg_file sound = make_scans(files[i].look, files[i].script, 33, 200);
            struct jpeg_file f = copy_jpeg(&sound);
            f.bytes[find_scan(&f, scan)] = 0xFE;
            check(&sound, &f, (struct expected){.when = NEVER});
        }
}

TEST(enough_files)
{
    assert_true(n_accepted >= 60);
    assert_true(n_lenient >= 40);
}

PROGRAM_WITH(make_path, remove_path)
