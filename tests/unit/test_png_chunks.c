/* PNGs with missing, repeated, reordered and wrong chunks: both paths give the same result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/png_both.h"

/* A word describes a file: each letter is a chunk, see put_part. */
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

static struct bytes file_of(const struct kind *kind, const char *words)
{
    struct bytes file = {0}, rows = random_rows(kind, 6, 5, ANY_FILTER);
    struct parts parts = {*kind, zlib_stored(rows.p, rows.n, 65535)};
    put_head(&file, 6, 5, (int)kind->depth, (int)kind->colour);
    for (; *words; words++)
        put_part(&file, *words, &parts);
    free(rows.p);
    free(parts.stream.p);
    return file;
}

static void test_order_and_number_of_chunks(void **state)
{
    (void)state;
    static const char *const orders[] = {
        "ie",      "abe",    "i",     "e",     "",     "iE",   "ie.",  "ieie", "Hie",  "iHe",
        "gie",     "ige",    "agbe",  "zize",  "azbe", "Cie",  "iCe",  "aCbe", "1ie",  "i1e",
        "0ie",     "i0e",    "a0be",  "00abe", "ab0e", "ixe",  "ixxe", "ixge", "igxe", "ige",
        "pie",     "ppie",   "ipe",   "apbe",  "qie",  "rie",  "rpie", "tie",  "ttie", "ite",
        "atbe",    "ptie",   "tpie",  "ptte",  "Tie",  "pTie", "uie",  "puie", "vie",  "pvie",
        "pgtgige", "gptzie", "iie",   "aie",   "ae",   "ba",   "bae",  "iabe", "abie", "xie",
        "pqie",    "qpie",   "ppgie", "ie.gE"};
    for (size_t k = 0; k < N_KINDS; k++)
        for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
            char what[60];
            const char *words = orders[o];
            snprintf(what, sizeof what, "%s, colour %u, depth %u", words, kinds[k].colour,
                     kinds[k].depth);
            struct bytes file = file_of(&kinds[k], words);
            enum ih_status status = both(&file, what);
            if (is_taken(&file) && status != IH_OK)
                fail_msg("%s: taken by the fast path", what);
            free(file.p);
        }
}

/* Expected results, so that the two paths cannot both be wrong. */
static void test_verdicts(void **state)
{
    (void)state;
    static const struct {
        struct kind kind;
        const char *words;
        bool is_sound;
    } cases[] = {
        {{2, 8}, "ie", true},    {{2, 8}, "gizzge", true}, {{2, 8}, "pie", true},
        {{2, 8}, "ptie", true},  {{3, 2}, "pie", true},    {{3, 2}, "ptgie", true},
        {{0, 8}, "tie", true},   {{2, 8}, "ie.", true},    {{3, 2}, "ie", false},
        {{3, 2}, "tpie", false}, {{2, 8}, "agbe", false},  {{2, 8}, "Cie", false},
        {{2, 8}, "Hie", false},  {{2, 8}, "ppie", false},  {{3, 2}, "ppie", false},
        {{4, 8}, "tie", false},  {{0, 8}, "pie", false},   {{2, 8}, "Tie", false},
        {{3, 2}, "puie", false}, {{2, 8}, "ttie", false},  {{2, 8}, "ite", false},
        {{2, 8}, "iE", false},   {{2, 8}, "ae", false},    {{2, 8}, "1ie", false},
        {{2, 8}, "ipe", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes file = file_of(&cases[i].kind, cases[i].words);
        if (cases[i].is_sound)
            accepted_fast(&file, cases[i].words);
        else
            refused(&file, cases[i].words);
        free(file.p);
    }
}

/* A long text chunk is skipped. */
static void test_long_chunk(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_number_of_chunks),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_long_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
