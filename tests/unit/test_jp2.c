/* JPEG 2000 files written by OpenJPEG's encoder, in boxes of this test, sound and damaged. */
#include "tests/support/damage.h"
#include <openjpeg.h>

enum { WIDTH = 23, HEIGHT = 14, N = WIDTH * HEIGHT, SIDE = 256, N_MOST = SIDE * SIDE };

struct file {
    size_t n, at;
    uint8_t bytes[1 << 19];
};

struct kind {
    unsigned n_components, bits;
    bool is_bare, is_signed, is_lossy, is_tiled;
    bool has_alpha;                /* the last component is alpha */
    bool has_every_value;          /* SIDE x SIDE pixels with every sample value */
    unsigned chroma_dx, chroma_dy; /* 0: no YCbCr */
    unsigned step;                 /* of every component on the grid; 0: 1 */
    unsigned x0;                   /* of the image on its grid */
    OPJ_COLOR_SPACE colours;       /* 0: by the number of components */
};

static uint32_t width_of(const struct kind *k)
{
    return k->has_every_value ? SIDE : WIDTH;
}

static uint32_t height_of(const struct kind *k)
{
    return k->has_every_value ? SIDE : HEIGHT;
}

static unsigned value(const struct kind *k, size_t i, unsigned c)
{
    if (k->has_every_value)
        return (unsigned)(i + c * 1000u) & ((1u << k->bits) - 1);
    return k->bits == 8 ? picture(i, c) : picture(i, c) * 257u % (1u << k->bits);
}

static OPJ_SIZE_T write_stream(void *bytes, OPJ_SIZE_T n, void *user)
{
    struct file *f = user;
    assert_true(f->at + n <= sizeof f->bytes);
    memcpy(f->bytes + f->at, bytes, n);
    f->at += n;
    f->n = f->at > f->n ? f->at : f->n;
    return n;
}

static OPJ_OFF_T skip_stream(OPJ_OFF_T n, void *user)
{
    struct file *f = user;
    f->at += (size_t)n;
    return n;
}

static OPJ_BOOL seek_stream(OPJ_OFF_T to, void *user)
{
    struct file *f = user;
    f->at = (size_t)to;
    return OPJ_TRUE;
}

static void fill_components(const struct kind *k, opj_image_t *image)
{
    image->x0 = k->x0;
    image->x1 = k->x0 + width_of(k) * (k->step ? k->step : 1);
    image->y1 = height_of(k) * (k->step ? k->step : 1);
    for (unsigned c = 0; c < k->n_components; c++) {
        opj_image_comp_t *out = &image->comps[c];
        out->alpha = k->has_alpha && c == k->n_components - 1;
        for (size_t i = 0; i < (size_t)out->w * out->h; i++)
            out->data[i] = (int)value(k, i, c) - (k->is_signed ? 1 << (k->bits - 1) : 0);
    }
}

static void write_file(struct file *f, const struct kind *k)
{
    opj_image_cmptparm_t components[5] = {{0}};
    opj_cparameters_t parameters;
    for (unsigned c = 0; c < k->n_components; c++) {
        opj_image_cmptparm_t *p = &components[c];
        const bool is_chroma = k->chroma_dx && (c == 1 || c == 2);
        p->dx = is_chroma ? k->chroma_dx : 1;
        p->dy = is_chroma ? k->chroma_dy : 1;
        p->w = (width_of(k) + p->dx - 1) / p->dx;
        p->h = (height_of(k) + p->dy - 1) / p->dy;
        p->dx *= k->step ? k->step : 1;
        p->dy *= k->step ? k->step : 1;
        p->prec = k->bits;
        p->sgnd = k->is_signed;
    }
    const OPJ_COLOR_SPACE space = k->colours            ? k->colours
                                  : k->n_components < 3 ? OPJ_CLRSPC_GRAY
                                  : k->chroma_dx        ? OPJ_CLRSPC_SYCC
                                                        : OPJ_CLRSPC_SRGB;
    opj_image_t *image = opj_image_create(k->n_components, components, space);
    assert_non_null(image);
    fill_components(k, image);
    opj_set_default_encoder_parameters(&parameters);
    parameters.numresolution = 3;
    parameters.tcp_numlayers = 1;
    parameters.tcp_rates[0] = k->is_lossy ? 3 : 0;
    parameters.cp_disto_alloc = 1;
    parameters.irreversible = k->is_lossy;
    parameters.tile_size_on = k->is_tiled;
    parameters.cp_tdx = 16;
    parameters.cp_tdy = 8;
    opj_codec_t *codec = opj_create_compress(k->is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    assert_true(opj_setup_encoder(codec, &parameters, image));
    opj_stream_t *stream = opj_stream_create(4096, OPJ_STREAM_WRITE);
    f->n = f->at = 0;
    opj_stream_set_user_data(stream, f, NULL);
    opj_stream_set_write_function(stream, write_stream);
    opj_stream_set_skip_function(stream, skip_stream);
    opj_stream_set_seek_function(stream, seek_stream);
    assert_true(opj_start_compress(codec, image, stream) && opj_encode(codec, stream) &&
                opj_end_compress(codec, stream));
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    opj_image_destroy(image);
}

static void assert_kind(const struct kind *k)
{
    static struct file f;
    static uint8_t expected[N_MOST * 4];
    const unsigned max = (1u << k->bits) - 1;
    const size_t n = (size_t)width_of(k) * height_of(k);
    write_file(&f, k);
    for (size_t i = 0; i < n * k->n_components; i++) {
        const unsigned v = value(k, i / k->n_components, (unsigned)(i % k->n_components));
        expected[i] = (uint8_t)((v * 510ull + max) / (2ull * max));
    }
    assert_decodes(f.bytes, f.n, "jp2", width_of(k), height_of(k), k->n_components, expected);
    struct decoded d = decode(f.bytes, f.n, N_MOST, 1);
    assert_int_equal(d.info.source_depth, k->bits);
    free(d.pixels);
}

TEST(every_value)
{
    for (unsigned bits = 1; bits <= 16; bits++)
        assert_kind(&(struct kind){.n_components = 1, .bits = bits, .has_every_value = true});
    assert_kind(
        &(struct kind){.n_components = 3, .bits = 16, .has_every_value = true, .is_signed = true});
}

TEST(lossless)
{
    for (unsigned n = 1; n <= 4; n++)
        for (unsigned bits = 1; bits <= 16; bits += bits > 2 ? 3 : 1) {
            const bool has_alpha = n % 2 == 0;
            assert_kind(&(struct kind){.n_components = n, .bits = bits, .has_alpha = has_alpha});
            assert_kind(&(struct kind){.n_components = n, .bits = bits, .is_bare = true});
            assert_kind(&(struct kind){.n_components = n, .bits = bits, .is_tiled = true});
            assert_kind(&(struct kind){.n_components = n, .bits = bits, .is_signed = true});
            assert_kind(&(struct kind){.n_components = n, .bits = bits, .x0 = 5});
        }
}

TEST(ycc_that_begins_between_two_chroma_samples)
{
    static struct file f;
    write_file(
        &f, &(struct kind){.n_components = 3, .bits = 8, .chroma_dx = 2, .chroma_dy = 1, .x0 = 1});
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "this kind of YCbCr");
}

/* Only a colour box makes components YCbCr. A codestream has none, however they are subsampled. */
TEST(no_colour_box)
{
    static struct file f;
    for (unsigned step = 2; step <= 3; step++)
        assert_kind(&(struct kind){.n_components = 3, .bits = 8, .is_bare = true, .step = step});
    write_file(&f,
               &(struct kind){
                   .n_components = 3, .bits = 8, .is_bare = true, .chroma_dx = 2, .chroma_dy = 1});
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED,
                   "JPEG 2000 with components of different sizes that no box calls YCbCr");
}

/* ---- what the format leaves open ---- */

/* Returns the place of the bytes, which must occur. */
static size_t find(const struct file *f, const char *bytes, size_t n)
{
    size_t at = 0;
    while (at + n < f->n && memcmp(f->bytes + at, bytes, n) != 0)
        at++;
    assert_true(at + n < f->n);
    return at;
}

/* The codestream declares that a marker may stand before each packet, and a predictable end of each
 * code block, but has neither. Every sample is the same without. Markers after the headers of
 * packets are required once they are declared. */
TEST(left_out)
{
    enum { SCOD = 4, STYLE = 12, SOP = 2, EPH = 4, PTERM = 16 };
    static const uint8_t declared[][2] = {{SOP, 0}, {0, PTERM}, {SOP, PTERM}, {EPH, 0}};
    static struct file f;
    uint8_t expected[N * 3];
    const struct kind k = {.n_components = 3, .bits = 8, .is_tiled = true};
    for (size_t i = 0; i < N * 3; i++)
        expected[i] = picture(i / 3, (unsigned)(i % 3));
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++) {
        write_file(&f, &k);
        const size_t at = find(&f, "\xFF\x52\0\x0C", 4);
        f.bytes[at + SCOD] |= declared[i][0];
        f.bytes[at + STYLE] |= declared[i][1];
        if (declared[i][0] & EPH)
            assert_refused(f.bytes, f.n, IH_CORRUPT, "EPH marker");
        else
            assert_decodes(f.bytes, f.n, "jp2", WIDTH, HEIGHT, 3, expected);
    }
}

/* T.800 reserves 0xFF30 to 0xFF3F for markers without a segment, which readers skip. */
TEST(reserved_markers)
{
    static struct file f, longer;
    uint8_t expected[N];
    for (size_t i = 0; i < N; i++)
        expected[i] = picture(i, 0);
    write_file(&f, &(struct kind){.n_components = 1, .bits = 8, .is_bare = true});
    const size_t at = find(&f, "\xFF\x90", 2);
    longer = f;
    memcpy(longer.bytes + at, "\xFF\x30\xFF\x3F", 4);
    memcpy(longer.bytes + at + 4, f.bytes + at, f.n - at);
    longer.n = f.n + 4;
    assert_decodes(longer.bytes, longer.n, "jp2", WIDTH, HEIGHT, 1, expected);
}

/* What OpenJPEG cannot do is no damage. */
TEST(limits_of_openjpeg)
{
    static struct file f;
    write_file(&f, &(struct kind){.n_components = 1, .bits = 8, .is_bare = true});
    f.bytes[2 + 2 + 38] = 37; /* 38 bits a sample, the most of the format */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "JPEG 2000 that is not supported by OpenJPEG ");
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, opj_version());
}

/* ---- boxes of our own around a codestream ---- */

static void put_bytes(struct file *f, const void *bytes, size_t n)
{
    assert_true(f->n + n <= sizeof f->bytes);
    memcpy(f->bytes + f->n, bytes, n);
    f->n += n;
}

static void put_box(struct file *f, const char *type, const void *content, size_t n)
{
    const uint8_t size[4] = {0, 0, (uint8_t)((n + 8) >> 8), (uint8_t)(n + 8)};
    put_bytes(f, size, 4);
    put_bytes(f, type, 4);
    put_bytes(f, content, n);
}

/* A gray or RGB codestream of 8 bits in boxes: ihdr, then `more` in jp2h. */
static void put_in_boxes(struct file *f, unsigned n_components, const uint8_t *more, size_t n_more)
{
    static struct file bare;
    uint8_t header[4096] = {0, 0, 0,      22, 'i', 'h', 'd',   'r', 0,
                            0, 0, HEIGHT, 0,  0,   0,   WIDTH, 0,   (uint8_t)n_components,
                            7, 7, 0,      0};
    write_file(&bare, &(struct kind){.n_components = n_components, .bits = 8, .is_bare = true});
    f->n = 0;
    put_bytes(f, "\0\0\0\x0CjP  \r\n\x87\n", 12);
    put_box(f, "ftyp", "jp2 \0\0\0\0jp2 ", 12);
    memcpy(header + 22, more, n_more);
    put_box(f, "jp2h", header, 22 + n_more);
    put_box(f, "uuid", "something else", 14);
    put_box(f, "jp2c", bare.bytes, bare.n);
}

#define COLOUR_BOX(number) 0, 0, 0, 15, 'c', 'o', 'l', 'r', 1, 0, 0, 0, 0, 0, number

TEST(colour_boxes)
{
    static struct file f;
    uint8_t expected[N * 3];
    for (size_t i = 0; i < N * 3; i++)
        expected[i] = picture(i / 3, (unsigned)(i % 3));
    put_in_boxes(&f, 3, EXPECT(COLOUR_BOX(16)), 15);
    assert_decodes(f.bytes, f.n, "jp2", WIDTH, HEIGHT, 3, expected);
    put_in_boxes(&f, 3, EXPECT(COLOUR_BOX(16), COLOUR_BOX(14)), 30); /* the second is ignored */
    assert_decodes(f.bytes, f.n, "jp2", WIDTH, HEIGHT, 3, expected);
    static const unsigned unknown[] = {12, 14, 24};
    for (size_t i = 0; i < 3; i++) {
        put_in_boxes(&f, 3, EXPECT(COLOUR_BOX((uint8_t)unknown[i])), 15);
        assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "JPEG 2000 with colour space ");
    }
    put_in_boxes(&f, 3, EXPECT(COLOUR_BOX(17)), 15);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "a number of components that does not fit");
    /* a profile: its class at 12, its colour space at 16 */
    uint8_t profile[8 + 3 + 132] = {0, 0, 0, 143, 'c', 'o', 'l', 'r', 2, 0, 0, 0, 0, 0, 132};
    memcpy(profile + 11 + 12, "mntrRGB XYZ ", 12);
    memcpy(profile + 11 + 36, "acsp", 4);
    put_in_boxes(&f, 3, profile, sizeof profile);
    assert_decodes(f.bytes, f.n, "jp2", WIDTH, HEIGHT, 3, expected);
    memcpy(profile + 11 + 12, "mntrLab XYZ ", 12);
    put_in_boxes(&f, 3, profile, sizeof profile);
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "a profile for other colours");
}

/* A palette of 256 entries of red, green and blue, each of 8 bits. */
TEST(palette)
{
    static struct file f;
    uint8_t boxes[15 + 8 + 3 + 3 + 768 + 8 + 12] = {COLOUR_BOX(16)};
    uint8_t *at = boxes + 15, expected[N * 3];
    memcpy(at,
           "\0\0\3\x0E"
           "pclr\1\0\3\7\7\7",
           14);
    for (unsigned i = 0; i < 768; i++)
        at[14 + i] = (uint8_t)(i * 11 + i / 256);
    memcpy(at + 14 + 768,
           "\0\0\0\x14"
           "cmap\0\0\1\0\0\0\1\1\0\0\1\2",
           20);
    for (size_t i = 0; i < N * 3; i++)
        expected[i] = at[14 + picture(i / 3, 0) * 3u + i % 3];
    put_in_boxes(&f, 1, boxes, sizeof boxes);
    assert_decodes(f.bytes, f.n, "jp2", WIDTH, HEIGHT, 3, expected);
}

/* The definition of channels puts alpha first and exchanges red and blue. */
TEST(channel_definitions)
{
    static struct file f;
    uint8_t expected[N * 4];
    static const uint8_t boxes[] = {COLOUR_BOX(16),
                                    0,
                                    0,
                                    0,
                                    34,
                                    'c',
                                    'd',
                                    'e',
                                    'f',
                                    0,
                                    4, /**/
                                    0,
                                    0,
                                    0,
                                    1,
                                    0,
                                    0,
                                    0,
                                    1,
                                    0,
                                    0,
                                    0,
                                    3,
                                    0,
                                    2,
                                    0,
                                    0,
                                    0,
                                    2,
                                    0,
                                    3,
                                    0,
                                    0,
                                    0,
                                    1};
    put_in_boxes(&f, 4, boxes, sizeof boxes);
    for (size_t i = 0; i < N; i++) {
        static const unsigned from[] = {3, 2, 1, 0};
        for (unsigned c = 0; c < 4; c++)
            expected[4 * i + c] = picture(i, from[c]);
    }
    assert_decodes(f.bytes, f.n, "jp2", WIDTH, HEIGHT, 4, expected);
}

/* ---- damage ---- */

TEST(damage)
{
    static struct file f;
    static const struct kind kinds[] = {{.n_components = 3, .bits = 8},
                                        {.n_components = 2, .bits = 12, .is_bare = true},
                                        {.n_components = 1, .bits = 8, .is_tiled = true},
                                        {.n_components = 3, .bits = 8, .is_lossy = true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        write_file(&f, &kinds[i]);
        assert_cuts_are_refused(f.bytes, f.n);
        assert_true(damage_each_byte(f.bytes, f.n) > 50);
    }
}

/* Where the tile-part number i begins in a bare codestream. */
static size_t find_tile_part(const struct file *f, unsigned i)
{
    for (size_t at = 0; at + 2 < f->n; at++)
        if (f->bytes[at] == 0xFF && f->bytes[at + 1] == 0x90 && f->bytes[at + 5] == i)
            return at;
    return 0;
}

/* OpenJPEG would leave a missing tile black. */
TEST(missing_tile)
{
    static struct file f;
    write_file(&f, &(struct kind){.n_components = 1, .bits = 8, .is_tiled = true, .is_bare = true});
    for (unsigned i = 0; i < 4; i++) {
        static struct file cut;
        const size_t from = find_tile_part(&f, i);
        const size_t to = i < 3 ? find_tile_part(&f, i + 1) : f.n - 2;
        assert_true(from > 0 && to > from);
        cut.n = 0;
        put_bytes(&cut, f.bytes, from);
        put_bytes(&cut, f.bytes + to, f.n - to);
        assert_refused(cut.bytes, cut.n, IH_CORRUPT, "damaged JPEG 2000: a tile is missing");
    }
    f.bytes[find_tile_part(&f, 2) + 11] = 2; /* tile 2 now has two parts */
    assert_refused(f.bytes, f.n, IH_CORRUPT, "damaged JPEG 2000: a tile is missing");
}

/* Many components of many tiles would take terabytes in OpenJPEG before it reports them. */
TEST(limits)
{
    static struct file f;
    write_file(&f, &(struct kind){.n_components = 1, .bits = 8, .is_bare = true});
    f.bytes[2 + 38] = 0x40; /* 16,385 components */
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "more than 4 components");
    write_file(&f, &(struct kind){.n_components = 1, .bits = 8, .is_tiled = true});
    assert_budget(f.bytes, f.n, f.n + 4 * 10240 + N * 8, IH_OK);
    assert_budget(f.bytes, f.n, f.n + 4 * 10240 + N * 8 - 1, IH_LIMIT);
    write_file(&f, &(struct kind){.n_components = 3, .bits = 8});
    struct decoded d = decode(f.bytes, f.n, N - 1, 1);
    assert_int_equal(d.status, IH_LIMIT);
    assert_budget(f.bytes, f.n, f.n + 10240 + N * 3 * 8, IH_OK);
    assert_budget(f.bytes, f.n, f.n + 10240 + N * 3 * 8 - 1, IH_LIMIT);
    write_file(&f, &(struct kind){.n_components = 1, .bits = 20});
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "more than 16 bits a sample");
    write_file(&f, &(struct kind){.n_components = 5, .bits = 8, .is_bare = true});
    assert_refused(f.bytes, f.n, IH_UNSUPPORTED, "more than 4 components");
}
