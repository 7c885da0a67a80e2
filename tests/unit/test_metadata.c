/* What files say about showing their values: profiles, gamma, orientation, frames. The bytes are
 * written by hand from the specifications. */
#include "tests/support/jpeg_files.h"
#include "tests/support/png_both.h"

#include "decode/metadata.h"
#include "jpeg_gpu/plan.h"

/* ---- Exif ---- */

#define EXIF_LITTLE                                         \
    "II*\0\x08\0\0\0\x02\0"                                 \
    "\x0F\x01\x02\0\x04\0\0\0abc\0" /* another tag first */ \
    "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"
#define EXIF_BIG            \
    "MM\0*\0\0\0\x08\0\x01" \
    "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"

static unsigned exif(const char *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1); /* ends with its last byte, for the address sanitizer */
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    const unsigned not_applied = ih_exif_not_applied(copy, n);
    free(copy);
    return not_applied;
}

TEST(exif_of_both_byte_orders)
{
    assert_int_equal(exif(EXIF_LITTLE, sizeof EXIF_LITTLE - 1), IH_NOT_APPLIED_ORIENTATION);
    assert_int_equal(exif(EXIF_BIG, sizeof EXIF_BIG - 1), IH_NOT_APPLIED_ORIENTATION);
    assert_int_equal(exif("Exif\0\0" EXIF_BIG, 6 + sizeof EXIF_BIG - 1),
                     IH_NOT_APPLIED_ORIENTATION);
}

TEST(exif_upright_or_senseless)
{
    enum { VALUE_AT = 19, TYPE_AT = 13, OFFSET_AT = 7 };
    char bytes[] = EXIF_BIG;
    const size_t n = sizeof bytes - 1;
    for (unsigned value = 0; value < 12; value++) {
        bytes[VALUE_AT] = (char)value;
        assert_int_equal(exif(bytes, n), value >= 2 && value <= 8 ? IH_NOT_APPLIED_ORIENTATION : 0);
    }
    bytes[VALUE_AT] = 6;
    bytes[TYPE_AT] = 7;
    assert_int_equal(exif(bytes, n), 0);
    bytes[TYPE_AT] = 3;
    bytes[OFFSET_AT] = (char)0xFF; /* past the end */
    assert_int_equal(exif(bytes, n), 0);
}

/* Every cut, and every value of every byte: no byte past the end is read. */
TEST(exif_damaged)
{
    char bytes[] = EXIF_LITTLE;
    for (size_t n = 0; n < sizeof bytes - 5; n++)
        assert_int_equal(exif(bytes, n), 0);
    for (size_t i = 0; i < sizeof bytes - 1; i++)
        for (unsigned v = 0; v < 256; v += 5) {
            const char before = bytes[i];
            bytes[i] = (char)v;
            exif(bytes, sizeof bytes - 1);
            bytes[i] = before;
        }
}

/* ---- JPEG ---- */

static void add_segment(struct jpeg_file *f, unsigned marker, const void *data, size_t n,
                        size_t n_padding)
{
    struct bytes b = {0};
    const size_t length = n + n_padding + 2;
    put(&b, (const uint8_t[]){0xFF, (uint8_t)marker, (uint8_t)(length >> 8), (uint8_t)length}, 4);
    put(&b, data, n);
    for (; n_padding > 0; n_padding--)
        put(&b, "p", 1);
    splice(f, 2, 0, b.p, b.n);
    free(b.p);
}

/* The decoder and the plan of a file for the GPU agree. */
static void check_jpeg(struct jpeg_file *f, unsigned expected)
{
    const struct bytes file = {f->bytes, f->n, f->n};
    struct outcome o = decode(&file, 0, 16);
    assert_int_equal(o.status, IH_OK);
    assert_int_equal(o.info.not_applied, expected);
    assert_int_equal(o.info.range, IH_RANGE_FULL);
    struct ih_jpeg_plan plan;
    if (ih_jpeg_plan_make(&plan, f->bytes, f->n) != IH_JPEG_REASON_KIND)
        assert_int_equal(plan.notes.not_applied, expected);
    ih_jpeg_plan_reset(&plan);
    free(o.pixels.p);
}

TEST(jpeg_segments)
{
    for (unsigned is_progressive = 0; is_progressive < 2; is_progressive++) {
        const struct jpeg_kind kind = {.h = 2, .v = 2, .is_progressive = is_progressive};
        struct jpeg_file f = make_jpeg(&kind, 20, 20);
        check_jpeg(&f, 0);
        add_segment(&f, 0xE1, "http://ns.adobe.com/xap/1.0/", 29, 60000); /* XMP */
        add_segment(&f, 0xE2, "MPF", 4, 0);
        add_segment(&f, 0xE2, "", 0, 0);
        check_jpeg(&f, 0);
        add_segment(&f, 0xE2, "ICC_PROFILE", 12, 65000);
        check_jpeg(&f, IH_NOT_APPLIED_ICC_PROFILE);
        add_segment(&f, 0xE1, "Exif\0\0" EXIF_LITTLE, 6 + sizeof EXIF_LITTLE - 1, 50000);
        check_jpeg(&f, IH_NOT_APPLIED_ICC_PROFILE | IH_NOT_APPLIED_ORIENTATION);
        free(f.bytes);
    }
}

/* ---- PNG ---- */

struct chunk {
    const char *name, *data;
    size_t n;
    bool is_after_image;
};

static const struct {
    struct chunk chunks[3];
    unsigned not_applied, n_frames;
} pngs[] = {
    {{{"tEXt", "k\0v", 3, false}}, 0, 1},
    {{{"gAMA", "\0\0\xB1\x8F", 4, false}}, 0, 1}, /* 45455 */
    {{{"gAMA", "\0\x01\x86\xA0", 4, false}}, IH_NOT_APPLIED_GAMMA, 1},
    {{{"gAMA", "\0\x01\x86\xA0", 4, false}, {"sRGB", "", 1, false}}, 0, 1},
    {{{"sRGB", "", 1, false}, {"gAMA", "\0\x01\x86\xA0", 4, false}}, 0, 1},
    {{{"iCCP", "name\0\0x", 7, false}}, IH_NOT_APPLIED_ICC_PROFILE, 1},
    {{{"cICP", "\x01\x0D\0\x01", 4, false}}, 0, 1},
    {{{"cICP", "\x09\x10\0\x01", 4, false}}, IH_NOT_APPLIED_COLOUR_SPACE, 1},
    {{{"eXIf", EXIF_BIG, sizeof EXIF_BIG - 1, false}}, IH_NOT_APPLIED_ORIENTATION, 1},
    {{{"eXIf", EXIF_LITTLE, sizeof EXIF_LITTLE - 1, true}}, IH_NOT_APPLIED_ORIENTATION, 1},
    {{{"acTL", "\0\0\0\x05\0\0\0\0", 8, false},
      {"iCCP", "n\0\0x", 4, false},
      {"fcTL", "", 0, false}},
     IH_NOT_APPLIED_ICC_PROFILE,
     5},
    /* The first image is no frame. */
    {{{"acTL", "\0\0\0\x05\0\0\0\0", 8, false}, {"fcTL", "", 0, true}}, 0, 6},
    {{{"fcTL", "", 0, false}}, 0, 1},
    {{{"acTL", "\0\0\0\x05\0\0\0\0", 8, true}, {"fcTL", "", 0, true}}, 0, 1}, /* too late */
    {{{"acTL", "\xFF\xFF\xFF\xFF\0\0\0\0", 8, false}}, 0, 0},                 /* ffmpeg in a pipe */
};

static struct bytes make_png(const struct chunk *chunks)
{
    struct bytes file = {0}, idat = zlib_stored((const uint8_t *)"\0\x07", 2, 100);
    put_head(&file, 1, 1, 8, 0);
    for (int i = 0; i < 3 && chunks[i].name; i++)
        if (!chunks[i].is_after_image)
            put_chunk(&file, chunks[i].name, chunks[i].data, chunks[i].n);
    put_chunk(&file, "IDAT", idat.p, idat.n);
    for (int i = 0; i < 3 && chunks[i].name; i++)
        if (chunks[i].is_after_image)
            put_chunk(&file, chunks[i].name, chunks[i].data, chunks[i].n);
    put_chunk(&file, "IEND", NULL, 0);
    free(idat.p);
    return file;
}

/* Both paths tell the same. */
TEST(png_chunks)
{
    for (size_t i = 0; i < sizeof pngs / sizeof *pngs; i++) {
        struct bytes file = make_png(pngs[i].chunks);
        for (int path = 0; path < 2; path++) {
            struct outcome o = decode(&file, path == 0 ? 0 : STREAMING, 1);
            if (o.status != IH_OK)
                fail_msg("file %zu: %s", i, o.error.message);
            assert_int_equal(o.info.not_applied, pngs[i].not_applied);
            assert_int_equal(o.info.n_frames, pngs[i].n_frames);
            assert_int_equal(o.info.warnings, pngs[i].n_frames == 1 ? 0 : IH_WARNING_MORE_IMAGES);
            assert_int_equal(o.info.range, IH_RANGE_FULL);
            free(o.pixels.p);
        }
        free(file.p);
    }
}

/* A chunk longer than what is kept of it. */
TEST(png_long_chunk)
{
    static char data[5 * IH_METADATA_BYTES] = EXIF_LITTLE;
    const struct chunk chunks[3] = {{"eXIf", data, sizeof data, false}};
    struct bytes file = make_png(chunks);
    for (int path = 0; path < 2; path++) {
        struct outcome o = decode(&file, path == 0 ? 0 : STREAMING, 1);
        assert_int_equal(o.status, IH_OK);
        assert_int_equal(o.info.not_applied, IH_NOT_APPLIED_ORIENTATION);
        free(o.pixels.p);
    }
    free(file.p);
}
