/* HEIC and AVIF files written by libheif, if it has an encoder, sound and damaged. */
#include "tests/support/damage.h"
#include "tests/support/sanitizer.h"
#include <libheif/heif.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* libheif and its codecs leak memory on damaged files. */
#if defined(__GNUC__) /* -fvisibility=hidden would hide it from the sanitizer */
__attribute__((visibility("default")))
#endif
const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libheif.so\nleak:libdav1d.so\nleak:libde265.so\nleak:libaom.so\nleak:libx265.so\n";
}

/* The address sanitizer ignores mallopt. It fills all new memory alike instead. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const char *
__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_malloc_fill_size=1073741824";
}

enum { WIDTH = 37, HEIGHT = 26, N = WIDTH * HEIGHT };

struct file {
    uint8_t *bytes; /* owned */
    size_t n;
};

static void succeed(struct heif_error e)
{
    if (e.code != heif_error_Ok)
        fail_msg("%s", e.message);
}

static struct heif_error append(struct heif_context *context, const void *bytes, size_t n,
                                void *user)
{
    struct file *f = user;
    f->bytes = realloc(f->bytes, f->n + n);
    assert_non_null(f->bytes);
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
    return (struct heif_error){heif_error_Ok, heif_suberror_Unspecified, "ok"};
}

struct kind {
    enum heif_compression_format format;
    int bits;
    bool has_alpha;
    enum heif_orientation orientation;
    bool is_gray;
    bool is_limited;     /* range */
    bool has_no_profile; /* in the boxes; the bits of the codec have it */
};

static size_t n_channels_of(const struct kind *k)
{
    return (k->is_gray ? 1u : 3u) + k->has_alpha;
}

static bool keeps_colours(const struct kind *k)
{
    return k->bits == 8 && !k->has_alpha && !k->is_gray;
}

/* Colours vary only with 8 bits and without alpha: only then libaom can keep RGB exactly. Other
 * kinds are gray. */
static unsigned value(const struct kind *k, size_t i, unsigned c)
{
    if (k->is_gray && c == 1) /* alpha */
        c = 3;
    if (!keeps_colours(k) && c < 3)
        c = 0;
    return k->bits == 8 ? picture(i, c) : picture(i, c) * 257u % (1u << k->bits);
}

static const unsigned flat[] = {200, 100, 50, 80};

/* A gray image, with a plane for alpha if the kind has it. Deep samples are in host byte order. */
static struct heif_image *make_gray_image(const struct kind *k, bool is_flat)
{
    static const enum heif_channel channels[] = {heif_channel_Y, heif_channel_Alpha};
    struct heif_image *image;
    succeed(heif_image_create(WIDTH, HEIGHT, heif_colorspace_monochrome, heif_chroma_monochrome,
                              &image));
    for (unsigned c = 0; c < n_channels_of(k); c++) {
        int stride;
        succeed(heif_image_add_plane(image, channels[c], WIDTH, HEIGHT, k->bits));
        uint8_t *plane = heif_image_get_plane(image, channels[c], &stride);
        for (size_t i = 0; i < N; i++) {
            uint8_t *row = plane + i / WIDTH * (size_t)stride;
            uint16_t v =
                (uint16_t)(is_flat ? flat[c] * ((1u << k->bits) - 1) / 255 : value(k, i, c));
            if (k->bits == 8)
                row[i % WIDTH] = (uint8_t)v;
            else
                memcpy(row + 2 * (i % WIDTH), &v, 2);
        }
    }
    return image;
}

static struct heif_image *make_image(const struct kind *k, bool is_flat)
{
    struct heif_image *image;
    size_t n_channels = k->has_alpha ? 4 : 3;
    int stride;
    enum heif_chroma chroma =
        k->bits > 8 ? (k->has_alpha ? heif_chroma_interleaved_RRGGBBAA_LE
                                    : heif_chroma_interleaved_RRGGBB_LE)
                    : (k->has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB);
    succeed(heif_image_create(WIDTH, HEIGHT, heif_colorspace_RGB, chroma, &image));
    succeed(heif_image_add_plane(image, heif_channel_interleaved, WIDTH, HEIGHT, k->bits));
    uint8_t *plane = heif_image_get_plane(image, heif_channel_interleaved, &stride);
    for (size_t i = 0; i < N * n_channels; i++) {
        unsigned v = is_flat ? flat[i % n_channels] * ((1u << k->bits) - 1) / 255
                             : value(k, i / n_channels, (unsigned)(i % n_channels));
        uint8_t *row = plane + i / (WIDTH * n_channels) * (size_t)stride;
        size_t x = i % (WIDTH * n_channels);
        if (k->bits == 8) {
            row[x] = (uint8_t)v;
        } else {
            row[2 * x] = (uint8_t)v;
            row[2 * x + 1] = (uint8_t)(v >> 8);
        }
    }
    return image;
}

/* Skips the test if libheif has no encoder. */
static struct file write_file(const struct kind *k, bool is_lossless)
{
    struct file f = {NULL, 0};
    struct heif_encoder *encoder;
    struct heif_context *context = heif_context_alloc();
    if (heif_context_get_encoder_for_format(context, k->format, &encoder).code != heif_error_Ok) {
        heif_context_free(context);
        skip("libheif has no encoder of this kind");
    }
    struct heif_encoding_options *options = heif_encoding_options_alloc();
    struct heif_color_profile_nclx *nclx = heif_nclx_color_profile_alloc();
    heif_encoder_set_logging_level(encoder, 0);
    if (is_lossless) {
        succeed(heif_encoder_set_lossless(encoder, 1));
        if (keeps_colours(k))
            succeed(heif_encoder_set_parameter_string(encoder, "chroma", "444"));
        nclx->matrix_coefficients = keeps_colours(k) ? heif_matrix_coefficients_RGB_GBR
                                                     : heif_matrix_coefficients_ITU_R_BT_601_6;
        nclx->color_primaries = heif_color_primaries_ITU_R_BT_709_5;
        nclx->transfer_characteristics = heif_transfer_characteristic_IEC_61966_2_1;
        nclx->full_range_flag = !k->is_limited;
        options->output_nclx_profile = nclx;
    }
    options->image_orientation = k->orientation;
    struct heif_image *image =
        k->is_gray ? make_gray_image(k, !is_lossless) : make_image(k, !is_lossless);
    if (is_lossless)
        succeed(heif_image_set_nclx_color_profile(image, nclx));
    succeed(heif_context_encode_image(context, image, encoder, options, NULL));
    struct heif_writer writer = {.writer_api_version = 1, .write = append};
    succeed(heif_context_write(context, &writer, &f));
    heif_image_release(image);
    heif_nclx_color_profile_free(nclx);
    heif_encoding_options_free(options);
    heif_encoder_release(encoder);
    heif_context_free(context);
    return f;
}

static void assert_lossless(const struct kind *k)
{
    uint8_t expected[N * 4];
    unsigned n_channels = (unsigned)n_channels_of(k), max = (1u << k->bits) - 1;
    struct file f = write_file(k, true);
    for (size_t at = 0; k->has_no_profile && at + 4 <= f.n; at++)
        if (memcmp(f.bytes + at, "colr", 4) == 0)
            memcpy(f.bytes + at, "rloc", 4);
    for (size_t i = 0; i < N * n_channels; i++) {
        unsigned v = value(k, i / n_channels, (unsigned)(i % n_channels));
        bool is_limited = k->is_limited && i % n_channels == 0; /* alpha is not */
        double low = is_limited ? 16u << (k->bits - 8) : 0;
        double high = is_limited ? 235u << (k->bits - 8) : max;
        double scaled = (v - low) * 255 / (high - low);
        expected[i] = (uint8_t)(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled + 0.5);
    }
    assert_decodes(f.bytes, f.n, "heif", WIDTH, HEIGHT, n_channels, expected);
    free(f.bytes);
}

TEST(avif_lossless)
{
    assert_lossless(&(struct kind){.format = heif_compression_AV1, .bits = 8});
    assert_lossless(&(struct kind){.format = heif_compression_AV1, .bits = 8, .has_alpha = true});
}

/* A lossy image of one colour. Its size is odd, so HEVC needs a crop. */
static void assert_flat(const struct kind *k, size_t width, size_t height)
{
    struct file f = write_file(k, false);
    struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
    if (d.status != IH_OK)
        fail_msg("%s", d.error.message);
    size_t n_channels = n_channels_of(k);
    assert_int_equal(d.info.layout.n_channels, n_channels);
    assert_int_equal(d.info.source_depth, k->bits);
    assert_int_equal(d.info.width, width);
    assert_int_equal(d.info.height, height);
    for (size_t i = 0; i < N * n_channels; i++)
        assert_in_range(d.pixels[i], flat[i % n_channels] - 4, flat[i % n_channels] + 4);
    free(d.pixels);
    free(f.bytes);
}

TEST(heic)
{
    assert_flat(&(struct kind){.format = heif_compression_HEVC, .bits = 8}, WIDTH, HEIGHT);
    assert_flat(&(struct kind){.format = heif_compression_HEVC, .bits = 8, .has_alpha = true},
                WIDTH, HEIGHT);
}

/* 12 bits. With 10 bits some versions of the AV1 encoder abort. */
TEST(deep)
{
    assert_flat(&(struct kind){.format = heif_compression_AV1, .bits = 12}, WIDTH, HEIGHT);
    assert_flat(&(struct kind){.format = heif_compression_AV1, .bits = 12, .has_alpha = true},
                WIDTH, HEIGHT);
}

/* Monochrome is gray, and exact if lossless. */
TEST(gray)
{
    assert_lossless(&(struct kind){.format = heif_compression_AV1, .bits = 8, .is_gray = true});
    assert_lossless(&(struct kind){.format = heif_compression_AV1, .bits = 12, .is_gray = true});
    assert_lossless(&(struct kind){
        .format = heif_compression_AV1, .bits = 8, .is_gray = true, .has_alpha = true});
    assert_flat(&(struct kind){.format = heif_compression_HEVC, .bits = 8, .is_gray = true}, WIDTH,
                HEIGHT);
}

/* Limited range is expanded, whether the boxes or only the codec tell it. */
TEST(limited_range)
{
    struct kind k = {
        .format = heif_compression_AV1, .bits = 8, .is_gray = true, .is_limited = true};
    assert_lossless(&k);
    k.has_alpha = true;
    assert_lossless(&k);
    k.has_alpha = false;
    k.bits = 12;
    assert_lossless(&k);
    k.has_no_profile = true;
    assert_lossless(&k);
    k.bits = 8;
    assert_lossless(&k);
    k.is_limited = false;
    assert_lossless(&k);
#if LIBHEIF_HAVE_VERSION(1, 19, 0) /* older ones write this size as a grid and lose its profile */
    k.format = heif_compression_HEVC;
    assert_lossless(&k);
    k.is_limited = true;
    assert_lossless(&k);
#endif
}

/* Replaces three bytes that need not start at a byte boundary; they must occur. */
static void replace_bits(struct file *f, uint32_t from, uint32_t to)
{
    unsigned n_found = 0;
    for (size_t bit = 0; bit + 24 <= 8 * f->n; bit++) {
        uint32_t window = 0;
        for (size_t i = bit; i < bit + 24; i++)
            window = window << 1 | (f->bytes[i / 8] >> (7 - i % 8) & 1);
        if (window != from)
            continue;
        for (size_t i = bit; i < bit + 24; i++) {
            uint8_t mask = (uint8_t)(128 >> i % 8);
            bool is_set = to >> (bit + 23 - i) & 1;
            f->bytes[i / 8] = (uint8_t)((f->bytes[i / 8] & ~mask) | (is_set ? mask : 0));
        }
        n_found++;
    }
    assert_true(n_found > 0);
}

/* Numbers of primaries and transfer functions that libheif does not know change no pixel. It warns
 * of each. */
TEST(unknown_colours)
{
    enum { SRGB_AND_BT601 = 0x010D06, RESERVED_AND_BT601 = 0x030306 };
    const struct kind k = {.format = heif_compression_AV1, .bits = 8, .is_gray = true};
    struct file f = write_file(&k, true);
    struct decoded sound = decode(f.bytes, f.n, MAX_PIXELS, 1);
    replace_bits(&f, SRGB_AND_BT601, RESERVED_AND_BT601);
    struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
    if (d.status != IH_OK)
        fail_msg("%s", d.error.message);
    assert_memory_equal(d.pixels, sound.pixels, N);
    free(sound.pixels);
    free(d.pixels);
    free(f.bytes);
}

/* libheif's own limits, 32,767 pixels a side or 2^30 pixels, refuse no image that max_pixels
 * allows. */
TEST(large)
{
    enum { LARGE_WIDTH = 40000, LARGE_HEIGHT = 30000 };
    static const uint8_t size[] = {0, 0, 0x9C, 0x40, 0, 0, 0x75, 0x30};
    struct file f = write_file(&(struct kind){.format = heif_compression_AV1, .bits = 8}, false);
    for (size_t at = 0; at + 16 <= f.n; at++)
        if (memcmp(f.bytes + at, "ispe", 4) == 0)
            memcpy(f.bytes + at + 8, size, sizeof size);
    for (unsigned is_allowed = 0; is_allowed < 2; is_allowed++) {
        const uint64_t n_pixels = (uint64_t)LARGE_WIDTH * LARGE_HEIGHT;
        const struct ih_decode_options options = {.max_pixels = n_pixels - !is_allowed};
        struct ih_reader src = {0};
        struct ih_decode d;
        struct ih_error err = {0};
        ih_reader_open_memory(&src, f.bytes, f.n);
        const enum ih_status status = ih_decode_open(&d, &src, &options, &err);
        if (status != (is_allowed ? IH_OK : IH_LIMIT))
            fail_msg("%d: %s", (int)status, err.message);
        if (is_allowed) {
            assert_int_equal(d.info.width, LARGE_WIDTH);
            ih_decode_close(&d);
        } else {
            assert_int_equal(err.limit, IH_LIMIT_MAX_PIXELS);
        }
        ih_reader_reset(&src);
    }
    free(f.bytes);
}

/* A codec without a decoder is unsupported: the file may be sound. */
TEST(unknown_codec)
{
    struct file f = write_file(&(struct kind){.format = heif_compression_AV1, .bits = 8}, false);
    for (size_t at = 0; at + 4 <= f.n; at++) {
        if (memcmp(f.bytes + at, "av01", 4) == 0)
            memcpy(f.bytes + at, "vvc1", 4); /* VVC, whose decoder few systems have */
#if LIBHEIF_HAVE_VERSION(1, 17, 0)
        if (memcmp(f.bytes + at, "av1C", 4) == 0)
            memcpy(f.bytes + at, "vvcC", 4);
#endif
    }
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "is not supported by libheif ");
    free(f.bytes);
}

/* The boxes call a colour picture gray, or a gray picture colour. */
TEST(two_kinds_of_colour)
{
    static const struct kind kinds[] = {
        {.format = heif_compression_AV1, .bits = 8},
        {.format = heif_compression_AV1, .bits = 8, .is_gray = true}};
    for (size_t i = 0; i < 2; i++) {
        struct file f = write_file(&kinds[i], false);
        size_t at = 0;
        while (at + 8 < f.n && memcmp(f.bytes + at, "av1C", 4) != 0)
            at++;
        assert_true(at + 8 < f.n);
        f.bytes[at + 6] ^= 0x10; /* the configuration's flag "monochrome" */
        struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
        if (i == 0) {
            assert_int_equal(d.status, IH_CORRUPT);
            assert_string_equal(d.error.message, "damaged HEIF: colours in a gray image");
        } else {
            assert_true(d.status != IH_OK || d.info.layout.n_channels == 3);
        }
        free(d.pixels);
        free(f.bytes);
    }
}

/* Rotation that is part of the format is applied. */
TEST(orientation)
{
    assert_flat(&(struct kind){.format = heif_compression_AV1,
                               .bits = 8,
                               .orientation = heif_orientation_rotate_90_cw},
                HEIGHT, WIDTH);
}

/* Alpha that is not cropped, rotated and mirrored as the colours are would count at other places,
 * or not at all. */
TEST(alpha_transformed_alone)
{
    const struct kind k = {.format = heif_compression_AV1, .bits = 8, .has_alpha = true};
    struct file f = write_file(&k, true);
    struct decoded d = decode(f.bytes, f.n, MAX_PIXELS, 1);
    assert_int_equal(d.status, IH_OK);
    free(d.pixels);
    /* The property that states the depths of three channels is of the colours alone. */
    static const uint8_t depths[] = {'p', 'i', 'x', 'i', 0, 0, 0, 0, 3, 8, 8, 8};
    size_t at = 0;
    while (at + sizeof depths < f.n && memcmp(f.bytes + at, depths, sizeof depths) != 0)
        at++;
    assert_true(at + sizeof depths < f.n);
    static const char *const types[] = {"imir", "irot"}; /* mirrored; rotated by 0 degrees */
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        memcpy(f.bytes + at, types[i], 4);
        assert_refused(f.bytes, f.n, IH_UNSUPPORTED,
                       "HEIF with alpha of another size, crop, rotation or mirroring");
    }
    free(f.bytes);
}

static void assert_survives(enum heif_compression_format format)
{
    const struct kind k = {.format = format, .bits = 8};
    struct file f = write_file(&k, false);
    assert_cuts_are_refused(f.bytes, f.n);
    assert_true(damage_each_byte(f.bytes, f.n) > 0);
    struct decoded d = decode(f.bytes, f.n, N - 1, 1);
    assert_int_equal(d.status, IH_LIMIT);
    d = decode(f.bytes, f.n, N, 1); /* although the width is more than the root of N */
    assert_int_equal(d.status, IH_OK);
    free(d.pixels);
    const size_t n_samples = format == heif_compression_HEVC ? 16 : 12; /* a pixel */
    assert_budget(f.bytes, f.n, f.n + N * n_samples, IH_OK);
    assert_budget(f.bytes, f.n, f.n + N * n_samples - 1, IH_LIMIT);
    free(f.bytes);
}

TEST(heic_damage)
{
    assert_survives(heif_compression_HEVC);
}

TEST(avif_damage)
{
    assert_survives(heif_compression_AV1);
}

struct endless {
    struct file file;
    atomic_bool is_stopping;
};

static void *decode_endlessly(void *user)
{
    struct endless *e = user;
    while (!atomic_load(&e->is_stopping))
        free(decode(e->file.bytes, e->file.n, MAX_PIXELS, ALL_ROWS).pixels);
    return NULL;
}

/* A child of fork() has only one thread, and must not wait for locks that others held. */
TEST(heic_after_fork)
{
    enum { CHILDREN = 20, SECONDS = 30 };
    const struct kind k = {.format = heif_compression_HEVC, .bits = 8};
    struct endless e = {.file = write_file(&k, true)};
    pthread_t thread;
    if (HAS_SANITIZER || is_emulated()) {
        free(e.file.bytes);
        skip("sanitizers and emulators have locks that fork leaves locked");
    }
    assert_int_equal(pthread_create(&thread, NULL, decode_endlessly, &e), 0);
    for (unsigned i = 0; i < CHILDREN; i++) {
        int how;
        const pid_t child = fork();
        if (child == 0) {
            alarm(SECONDS);
            struct decoded d = decode(e.file.bytes, e.file.n, MAX_PIXELS, ALL_ROWS);
            _exit(d.status == IH_OK ? 0 : 1);
        }
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_false(WIFSIGNALED(how));
        assert_int_equal(WEXITSTATUS(how), 0);
    }
    atomic_store(&e.is_stopping, true);
    pthread_join(thread, NULL);
    free(e.file.bytes);
}

/* Whether the decoder can make malloc fill new memory: with glibc, and without a sanitizer. */
static bool fills_new_memory(void)
{
    bool is_filled = false;
#ifdef __GLIBC__
    mallopt(M_PERTURB, 0x55);
    uint8_t *block = malloc(1000);
    const volatile uint8_t *memory = block;
    assert_non_null(block);
    is_filled = memory[100] == 0xAA && memory[900] == 0xAA;
    free(block);
    mallopt(M_PERTURB, 0);
#endif
    return is_filled;
}

/* libde265 leaves blocks unwritten in some damaged files. They are refused, and others do not
 * depend on what memory held before. */
TEST(heic_blocks_missing)
{
    const struct kind k = {.format = heif_compression_HEVC, .bits = 8};
    struct file f = write_file(&k, true);
    size_t n_missing = 0;
    for (size_t i = 0; i < f.n; i += 5) {
        f.bytes[i] ^= 0xFF;
        struct decoded a = decode(f.bytes, f.n, MAX_PIXELS, ALL_ROWS);
        struct decoded b = decode(f.bytes, f.n, MAX_PIXELS, ALL_ROWS);
        f.bytes[i] ^= 0xFF;
        assert_int_equal(a.status, b.status);
        if (a.status == IH_OK)
            assert_memory_equal(a.pixels, b.pixels, a.n_pixels * a.info.layout.n_channels);
        n_missing += strstr(a.error.message, "blocks are missing") != NULL;
        free(a.pixels);
        free(b.pixels);
    }
    free(f.bytes);
    if (fills_new_memory())
        assert_true(n_missing > 0);
}

/* A video in the same container is not an image. */
TEST(probe)
{
    assert_refused((const uint8_t *)"\0\0\0\x18"
                                    "ftypisom\0\0\0\0isommp42",
                   24, IH_UNKNOWN, "a video (MP4) is not supported");
    assert_refused((const uint8_t *)"\0\0\0\x18"
                                    "ftypabcd\0\0\0\0mif1heic",
                   24, IH_CORRUPT, "HEIF");
}
