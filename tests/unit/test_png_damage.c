/* Damaged PNGs, and PNGs with missing, repeated, reordered and wrong chunks: both paths give the
 * same result, and the fast path takes no damaged file. */
#include "tests/support/test.h"

#include "tests/support/png_both.h"

#include "decode/read_bytes.h"

static const struct kind damaged_kinds[] = {{0, 2}, {2, 8}, {3, 4}, {6, 16}};

static struct bytes file_to_damage(size_t k)
{
    struct bytes file = random_file(&damaged_kinds[k], 5, 3, ANY_FILTER, false, 40);
    struct bytes with_text = {0};
    put(&with_text, file.p, file.n - 12);
    put_chunk(&with_text, "tEXt", "Title\0x", 7);
    put(&with_text, file.p + file.n - 12, 12);
    free(file.p);
    return with_text;
}

TEST(cut_anywhere)
{
    for (size_t k = 0; k < sizeof damaged_kinds / sizeof *damaged_kinds; k++) {
        struct bytes file = file_to_damage(k);
        accepted_fast(&file, "complete");
        size_t n = file.n;
        for (file.n = 9; file.n < n; file.n++)
            refused(&file, "cut");
        free(file.p);
    }
}

/* Once with the wrong CRC, once with it corrected. */
TEST(each_byte_changed)
{
    static const uint8_t masks[] = {0x01, 0x04, 0x20, 0x80, 0xff};
    for (size_t k = 0; k < sizeof damaged_kinds / sizeof *damaged_kinds; k++) {
        struct bytes file = file_to_damage(k), changed = {0};
        put(&changed, file.p, file.n);
        for (size_t i = 8; i < file.n; i++)
            for (size_t m = 0; m < sizeof masks; m++) {
                char what[60];
                snprintf(what, sizeof what, "byte %zu ^ %u", i, masks[m]);
                changed.p[i] = file.p[i] ^ masks[m];
                refused(&changed, what);
                mend_crcs(changed.p, changed.n);
                enum ih_status status = both(&changed, what);
                if (is_taken(&changed) && status != IH_OK)
                    fail_msg("%s: taken by the fast path", what);
                memcpy(changed.p, file.p, file.n);
            }
        free(file.p);
        free(changed.p);
    }
}

TEST(index_past_the_palette)
{
    const struct kind palette = {IH_PNG_PALETTE, 8};
    for (uint8_t bad = 199; bad <= 200; bad++)
        for (int trns = 0; trns < 2; trns++) {
            struct bytes file = {0}, rows = {0};
            for (int i = 0; i < 6 * 41; i++) {
                const uint8_t v = i == 5 * 41 + 40 ? bad : 0;
                put(&rows, &v, 1);
            }
            struct bytes stream = zlib_stored(rows.p, rows.n, 65535);
            put_head(&file, 40, 6, 8, IH_PNG_PALETTE);
            put_palette(&file, 200);
            if (trns)
                put_transparency(&file, &palette);
            put_idats(&file, &stream, 0);
            put_chunk(&file, "IEND", NULL, 0);
            assert_int_equal(both(&file, "index"), bad < 200 ? IH_OK : IH_CORRUPT);
            free(file.p), free(rows.p), free(stream.p);
        }
}

/* ---- streams ---- */

enum { STREAM_WIDTH = 6, STREAM_HEIGHT = 5 };

/* An 8-bit gray image with this stream. */
static struct bytes file_of_stream(const struct bytes *stream, size_t each)
{
    struct bytes file = {0};
    put_head(&file, STREAM_WIDTH, STREAM_HEIGHT, 8, IH_PNG_GRAY);
    put_idats(&file, stream, each);
    put_chunk(&file, "IEND", NULL, 0);
    return file;
}

TEST(streams)
{
    enum { N = (STREAM_WIDTH + 1) * STREAM_HEIGHT };
    uint8_t rows[N + STREAM_WIDTH + 1] = {0};
    struct bytes stream, file;
    /* too few and too many bytes, by one and by a row */
    static const size_t sizes[] = {0, N - STREAM_WIDTH - 1, N - 1, N, N + 1, N + STREAM_WIDTH + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t each = 0; each < 9; each += 4) {
            stream = zlib_stored(rows, sizes[i], 17);
            file = file_of_stream(&stream, each);
            if (sizes[i] == N)
                accepted_fast(&file, "the right number of bytes");
            else
                refused(&file, "a wrong number of bytes");
            free(file.p), free(stream.p);
        }
    /* every first two bytes: method, window, dictionary, check */
    for (unsigned v = 0; v < 65536; v += v % 31 == 30 ? 1 : 1 + v % 7) {
        stream = zlib_stored(rows, N, 65535);
        stream.p[0] = (uint8_t)(v >> 8);
        stream.p[1] = (uint8_t)v;
        file = file_of_stream(&stream, 0);
        both(&file, "zlib header");
        free(file.p), free(stream.p);
    }
    /* filters, known and unknown */
    for (unsigned filter = 0; filter < 256; filter++) {
        uint8_t one[N] = {0};
        one[2 * (STREAM_WIDTH + 1)] = (uint8_t)filter;
        stream = zlib_stored(one, N, 65535);
        file = file_of_stream(&stream, 0);
        if (filter < IH_PNG_FILTERS)
            accepted_fast(&file, "known filter");
        else
            refused(&file, "unknown filter");
        free(file.p), free(stream.p);
    }
}

/* Bytes after the end of the stream are padding, in whichever IDAT chunk they are. A stream that
 * ends early stays damaged if padding follows. */
TEST(padded_streams)
{
    enum { N = (STREAM_WIDTH + 1) * STREAM_HEIGHT };
    static const size_t padding_bytes[] = {1, 2, 5, 5000};
    uint8_t rows[N], padding[5000];
    for (size_t i = 0; i < N; i++)
        rows[i] = (uint8_t)(i % (STREAM_WIDTH + 1) ? 3 * i : 0);
    for (size_t i = 0; i < sizeof padding; i++)
        padding[i] = (uint8_t)next_random();
    for (size_t i = 0; i < sizeof padding_bytes / sizeof *padding_bytes; i++)
        for (size_t each = 0; each < 60; each += 1 + each / 2) {
            struct bytes stream = zlib_stored(rows, N, 17);
            put(&stream, padding, padding_bytes[i]);
            struct bytes file = file_of_stream(&stream, each);
            accepted_fast(&file, "padding");
            struct outcome fast = decode(&file, 0, 1), streaming = decode(&file, STREAMING, 1);
            for (size_t y = 0; y < STREAM_HEIGHT; y++) {
                const uint8_t *row = rows + y * (STREAM_WIDTH + 1) + 1;
                assert_memory_equal(fast.pixels.p + y * STREAM_WIDTH, row, STREAM_WIDTH);
                assert_memory_equal(streaming.pixels.p + y * STREAM_WIDTH, row, STREAM_WIDTH);
            }
            free(fast.pixels.p), free(streaming.pixels.p), free(file.p), free(stream.p);

            stream = zlib_stored(rows, N - 1, 17); /* a byte too few */
            put(&stream, padding, padding_bytes[i]);
            file = file_of_stream(&stream, each);
            refused(&file, "padding instead of a pixel");
            free(file.p), free(stream.p);

            stream = zlib_stored(rows, N, 17);
            stream.p[stream.n - 1] ^= 1; /* of the Adler-32 */
            put(&stream, padding, padding_bytes[i]);
            file = file_of_stream(&stream, each);
            if (each == 0)
                refused(&file, "padding after a wrong Adler-32");
            else /* libpng does not read an Adler-32 that is in a chunk of its own */
                both(&file, "padding after a wrong Adler-32");
            free(file.p), free(stream.p);
        }
}

/* ---- headers ---- */

TEST(headers)
{
    const struct kind rgb = {IH_PNG_RGB, 8};
    struct bytes file = random_file(&rgb, 6, 5, ANY_FILTER, false, 0), changed = {0};
    put(&changed, file.p, file.n);
    for (size_t i = 16; i < 29; i++)
        for (unsigned v = 0; v < 256; v++) {
            char what[40];
            snprintf(what, sizeof what, "byte %zu is %u", i, v);
            changed.p[i] = (uint8_t)v;
            mend_crcs(changed.p, changed.n);
            both(&changed, what);
            memcpy(changed.p, file.p, file.n);
        }
    free(file.p), free(changed.p);
}

/* ---- chunks ---- */

/* A string describes a file: each letter is a chunk, see put_part. */
struct parts {
    struct kind kind;
    struct bytes stream;
};

static void put_part(struct bytes *file, char part, const struct parts *p)
{
    const uint8_t zeros[16] = {0}, *s = p->stream.p;
    size_t n = p->stream.n, half = n / 2;
    switch (part) {
    case 'H':
        put_chunk(file, "IHDR", file->p + 16, 13);
        break;
    case 'p':
        put_palette(file, 1u << (p->kind.depth < 8 ? p->kind.depth : 8));
        break;
    case 'q': /* more than the depth can index, or none */
        put_chunk(file, "PLTE", zeros, p->kind.depth == 2 ? 15 : 0);
        break;
    case 'r':
        put_chunk(file, "PLTE", zeros, 4);
        break;
    case 't':
        put_transparency(file, &p->kind);
        break;
    case 'T': /* a wrong length for every kind */
        put_chunk(file, "tRNS", zeros, 5);
        break;
    case 'u':
        put_chunk(file, "tRNS", zeros, 0);
        break;
    case 'v': /* more than the depth allows */
        put_chunk(file, "tRNS", "\1\0\1\0\1\0", p->kind.colour == IH_PNG_RGB ? 6 : 2);
        break;
    case 'i':
        put_chunk(file, "IDAT", s, n);
        break;
    case 'a':
        put_chunk(file, "IDAT", s, half);
        break;
    case 'b':
        put_chunk(file, "IDAT", s + half, n - half);
        break;
    case '0':
        put_chunk(file, "IDAT", NULL, 0);
        break;
    case 'x': /* data past the end of the stream */
        put_chunk(file, "IDAT", zeros, 3);
        break;
    case 'e':
        put_chunk(file, "IEND", NULL, 0);
        break;
    case 'E':
        put_chunk(file, "IEND", zeros, 1);
        break;
    case 'g':
        put_chunk(file, "gAMA", zeros, 1); /* wrong, but never parsed */
        break;
    case 'z':
        put_chunk(file, "zzZz", zeros, 16);
        break;
    case 'l': /* a lower case third letter, which newer versions of libpng refuse */
        put_chunk(file, "zzzz", zeros, 16);
        break;
    case 'C':
        put_chunk(file, "CgBI", zeros, 4);
        break;
    case '1':
        put_chunk(file, "a1Cd", zeros, 4);
        break;
    case '.':
        put(file, zeros, 9);
        break;
    default:
        fail_msg("no part %c", part);
    }
}

static struct bytes file_of(const struct kind *kind, const char *letters)
{
    struct bytes file = {0}, rows = random_rows(kind, 6, 5, ANY_FILTER);
    struct parts parts = {*kind, zlib_stored(rows.p, rows.n, 65535)};
    put_head(&file, 6, 5, (int)kind->depth, (int)kind->colour);
    for (; *letters; letters++)
        put_part(&file, *letters, &parts);
    free(rows.p);
    free(parts.stream.p);
    return file;
}

TEST(order_and_number_of_chunks)
{
    static const char *const orders[] = {
        "ie",      "abe",    "i",     "e",     "",     "iE",   "ie.",  "ieie", "Hie",  "iHe",
        "gie",     "ige",    "agbe",  "zize",  "azbe", "Cie",  "iCe",  "aCbe", "1ie",  "i1e",
        "0ie",     "i0e",    "a0be",  "00abe", "ab0e", "ixe",  "ixxe", "ixge", "igxe", "ige",
        "pie",     "ppie",   "ipe",   "apbe",  "qie",  "rie",  "rpie", "tie",  "ttie", "ite",
        "atbe",    "ptie",   "tpie",  "ptte",  "Tie",  "pTie", "uie",  "puie", "vie",  "pvie",
        "pgtgige", "gptzie", "iie",   "aie",   "ae",   "ba",   "bae",  "iabe", "abie", "xie",
        "pqie",    "qpie",   "ppgie", "ie.gE", "lie",  "ile"};
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            char what[60];
            const char *letters = orders[o];
            snprintf(what, sizeof what, "%s, colour %u, depth %u", letters, kinds[k].colour,
                     kinds[k].depth);
            struct bytes file = file_of(&kinds[k], letters);
            enum ih_status status = both(&file, what);
            if (is_taken(&file) && (status != IH_OK || strchr(letters, 'l')))
                fail_msg("%s: taken by the fast path", what);
            free(file.p);
        }
}

/* Expected results, so that the two paths cannot both be wrong. */
TEST(verdicts)
{
    static const struct {
        struct kind kind;
        const char *letters;
        bool is_sound;
    } cases[] = {
        {{2, 8}, "ie", true},     {{2, 8}, "gizzge", true}, {{2, 8}, "pie", true},
        {{2, 8}, "ptie", true},   {{3, 2}, "pie", true},    {{3, 2}, "ptgie", true},
        {{0, 8}, "tie", true},    {{2, 8}, "ie.", true},    {{3, 2}, "ie", false},
        {{3, 2}, "tpie", false},  {{2, 8}, "agbe", false},  {{2, 8}, "tpie", false},
        {{2, 8}, "Hie", false},   {{2, 8}, "ppie", false},  {{3, 2}, "ppie", false},
        {{2, 8}, "Tie", false},   {{2, 8}, "ttie", false},  {{2, 8}, "ite", false},
        {{2, 8}, "ae", false},    {{2, 8}, "1ie", false},   {{0, 8}, "Tie", false},
        {{2, 8}, "uie", false},   {{2, 8}, "ptpie", false}, {{2, 8}, "pipe", false},
        {{2, 16}, "tpie", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes file = file_of(&cases[i].kind, cases[i].letters);
        if (cases[i].is_sound)
            accepted_fast(&file, cases[i].letters);
        else
            refused(&file, cases[i].letters);
        free(file.p);
    }
}

/* The same file without a chunk, of which the first after IHDR is 0; never without IEND. */
static struct bytes without_chunk(const struct bytes *file, unsigned n)
{
    struct bytes changed = {0};
    size_t at = 33, size = 12 + ih_be32(file->p + at);
    for (; n > 0; n--, size = 12 + ih_be32(file->p + at))
        at += size;
    put(&changed, file->p, at);
    put(&changed, file->p + at + size, file->n - at - size);
    if (at + size == file->n)
        put_chunk(&changed, "IEND", NULL, 0);
    return changed;
}

/* Chunks against the rules on which no pixel depends. Pillow 13 and OpenCV 5 read all of these,
 * with the pixels of the file without the chunk. */
TEST(chunks_without_effect)
{
    static const struct {
        struct kind kind;
        const char *letters;
        unsigned n; /* of the chunk */
    } cases[] = {{{0, 8}, "pie", 0},  {{4, 8}, "pie", 0},  {{2, 8}, "rie", 0},  {{6, 8}, "rie", 0},
                 {{4, 8}, "tie", 0},  {{6, 8}, "Tie", 0},  {{3, 2}, "puie", 1}, {{3, 8}, "puie", 1},
                 {{2, 8}, "iE", 1},   {{3, 2}, "piE", 2},  {{2, 8}, "ipe", 1},  {{0, 8}, "gie", 0},
                 {{0, 8}, "tpie", 1}, {{6, 8}, "tpie", 1}, {{2, 8}, "tipe", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes file = file_of(&cases[i].kind, cases[i].letters);
        struct bytes plain = without_chunk(&file, cases[i].n);
        accepted(&file, cases[i].letters);
        struct outcome a = decode(&file, 0, 5), b = decode(&plain, 0, 5);
        assert_int_equal(a.info.layout.n_channels, b.info.layout.n_channels);
        assert_int_equal(a.pixels.n, b.pixels.n);
        assert_memory_equal(a.pixels.p, b.pixels.p, a.pixels.n);
        free(a.pixels.p), free(b.pixels.p);
        free(file.p), free(plain.p);
    }
}

/* Sound files by rules that are not known here are not called damaged. */
TEST(unknown_chunks_and_methods)
{
    static const struct {
        unsigned at; /* in the data of IHDR; 0: a chunk follows it */
        uint8_t value;
        const char *says;
    } cases[] = {
        {0, 0, "CgBI (PNG for iPhone apps) is not supported: convert it"},
        {10, 1, "PNG of compression 1, filtering 0 and interlacing 0 is not supported"},
        {11, 64, "PNG of compression 0, filtering 64 and interlacing 0 is not supported"},
        {12, 2, "PNG of compression 0, filtering 0 and interlacing 2 is not supported"},
    };
    const struct kind rgb = {2, 8};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes file = file_of(&rgb, cases[i].at ? "ie" : "Cie");
        if (cases[i].at)
            file.p[16 + cases[i].at] = cases[i].value;
        mend_crcs(file.p, file.n);
        for (int path = 0; path < 2; path++) {
            struct outcome o = decode(&file, path ? STREAMING : 0, 5);
            assert_int_equal(o.status, IH_UNSUPPORTED);
            assert_string_equal(o.error.message, cases[i].says);
            free(o.pixels.p);
        }
        free(file.p);
    }
}

/* A long text chunk is skipped. */
TEST(long_chunk)
{
    const struct kind gray = {IH_PNG_GRAY, 8};
    size_t n = 9 * 1000 * 1000;
    uint8_t *text = calloc(1, n);
    struct bytes file = {0}, rows = random_rows(&gray, 6, 5, ANY_FILTER);
    struct bytes stream = zlib_stored(rows.p, rows.n, 65535);
    assert_non_null(text);
    put_head(&file, 6, 5, 8, IH_PNG_GRAY);
    put_chunk(&file, "tEXt", text, n);
    put_idats(&file, &stream, 0);
    put_chunk(&file, "IEND", NULL, 0);
    accepted_fast(&file, "9 MB of text");
    free(text), free(file.p), free(rows.p), free(stream.p);
}
