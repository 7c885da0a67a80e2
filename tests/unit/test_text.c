/* Escaped names, numbers of options and settings, and real numbers in CSV. */
#include "tests/support/test.h"

#include "base/text.h"
#include "output/output.h"

#include <limits.h>
#include <math.h>

static void check_escape(const char *text, const char *expected)
{
    char shown[64];
    assert_int_equal(ih_escape(shown, sizeof shown, text), strlen(expected));
    assert_string_equal(shown, expected);
}

TEST(escape)
{
    check_escape("", "");
    check_escape("plain name.png", "plain name.png");
    check_escape("a\nb\rc\td\\e", "a\\nb\\rc\\td\\\\e");
    check_escape("\033[31m\177\001", "\\x1B[31m\\x7F\\x01");
    check_escape("\xC2\x9B", "\\u{9b}"); /* the one-character form of ESC [ */
    check_escape("\x9B", "\\x9B");       /* Latin-1, not UTF-8 */
    check_escape("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80",
                 "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80");
    /* Not control characters, but they reverse text, hide it or end a line. */
    check_escape("a\xE2\x80\xAEgpj.exe", "a\\u{202e}gpj.exe");
    check_escape("\xE2\x81\xA6x\xE2\x81\xA9\xE2\x80\xA8\xD8\x9C\xE2\x80\x8B\xEF\xBB\xBF",
                 "\\u{2066}x\\u{2069}\\u{2028}\\u{61c}\\u{200b}\\u{feff}");
    check_escape("\xF3\xA0\x80\x81\xC2\xAD", "\\u{e0001}\\u{ad}");
    check_escape("\xFF\xC3", "\\xFF\\xC3");                            /* not UTF-8; cut short */
    check_escape("\xC0\xAF\xED\xA0\x80", "\\xC0\\xAF\\xED\\xA0\\x80"); /* overlong, surrogate */
    check_escape("\xF4\x90\x80\x80", "\\xF4\\x90\\x80\\x80"); /* past the last code point */
}

/* Characters and escapes are never cut in two, and the copy is always terminated. */
TEST(escape_cuts_between_characters)
{
    static const char text[] = "a\xC3\xA4\n\001z", escaped[] = "a\xC3\xA4\\n\\x01z";
    static const size_t ends[] = {0, 1, 1, 3, 3, 5, 5, 5, 5, 9, 10, 10};
    for (size_t size = 1; size <= sizeof ends / sizeof *ends; size++) {
        char shown[16];
        memset(shown, '#', sizeof shown);
        assert_int_equal(ih_escape(shown, size, text), ends[size - 1]);
        assert_memory_equal(shown, escaped, ends[size - 1]);
        assert_int_equal(shown[ends[size - 1]], 0);
        assert_int_equal(shown[size], '#');
    }
}

static void check_short(size_t size_bytes, const char *text, const char *expected)
{
    char shown[256];
    memset(shown, 'z', sizeof shown);
    assert_int_equal(ih_escape_short(shown, size_bytes, text), strlen(expected));
    assert_string_equal(shown, expected);
    assert_int_equal(shown[size_bytes], 'z');
}

/* The start and the end of a long text stay, whole characters only. */
TEST(escape_short)
{
    static char text[4096];
    memset(text, 'x', 63);
    check_short(64, text, text);
    strcpy(text, "head/");
    memset(text + 5, 'x', 4000);
    strcpy(text + 4000, "/tail.jpg");
    check_short(64, text, "head/xxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/tail.jpg");
    for (size_t i = 0; i + 3 < 4000; i += 3)
        strcpy(text + i, "\xE2\x82\xAC"); /* three bytes each */
    for (size_t size_bytes = 64; size_bytes < 200; size_bytes++) {
        char shown[256];
        unsigned long c;
        const size_t n = ih_escape_short(shown, size_bytes, text);
        assert_true(n < size_bytes && n + 6 >= size_bytes && strlen(shown) == n);
        for (size_t i = 0; i < n; i += ih_utf8_length(shown + i, &c)) {
            assert_true(ih_utf8_length(shown + i, &c) > 0);
            assert_true(c == 0x20AC || c == '.');
        }
    }
    memset(text, '\n', 100); /* nor is an escape split */
    text[100] = '\0';
    check_short(65, text,
                "\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n..."
                "\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n");
}

/* A long message is not cut within a character. */
TEST(error_is_cut_between_characters)
{
    for (size_t n = 0; n < 4; n++) {
        char text[400] = "xxx";
        struct ih_error err;
        unsigned long c;
        text[n] = '\0';
        for (size_t i = 0; i < 90; i++)
            strcat(text, "\xF0\x9F\x98\x80"); /* four bytes each */
        ih_error_set(&err, IH_IO, "%s", text);
        assert_true(strlen(err.message) > IH_MESSAGE_MAX - 5);
        for (const char *p = err.message; *p; p += ih_utf8_length(p, &c))
            assert_true(ih_utf8_length(p, &c) > 0);
    }
}

TEST(format_real)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0.000000"},          {1.5, "1.500000"},
                 {127.0 / 3, "42.333333"}, {2.0 / 3, "0.666667"},
                 {0.9999996, "1.000000"},  {-0.25, "-0.250000"},
                 {-1e-9, "0.000000"},      {-0.0, "0.000000"},
                 {255, "255.000000"},      {1e9 + 0.5, "1000000000.500000"}};
    char text[IH_REAL_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal((ih_put_real(text, cases[i].value), text), cases[i].text);
    assert_ptr_equal(ih_put_real(text, (double)NAN), text);
    assert_string_equal(text, "");
}

TEST(parse_number)
{
    static const struct {
        const char *text;
        bool is_scaled;
        uint64_t max, number;
    } taken[] = {{"0", false, 255, 0},
                 {"255", false, 255, 255},
                 {"007", false, 255, 7},
                 {"1k", true, 1024, 1024},
                 {"3M", true, UINT64_MAX, 3 << 20},
                 {"4G", true, UINT64_MAX, UINT64_C(4) << 30},
                 {"18446744073709551615", false, UINT64_MAX, UINT64_MAX}};
    static const struct {
        const char *text;
        bool is_scaled;
        uint64_t max;
    } refused[] = {{"", false, 255},
                   {"256", false, 255},
                   {"-1", false, 255},
                   {" 1", false, 255},
                   {"1 ", false, 255},
                   {"1k", false, UINT64_MAX},
                   {"k", true, 255},
                   {"1kk", true, 1 << 30},
                   {"1k", true, 1023},
                   {"9", false, 8},
                   {"18446744073709551616", false, UINT64_MAX},
                   {"17179869184G", true, UINT64_MAX}};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        uint64_t n = 1;
        assert_true(ih_parse_number(taken[i].text, taken[i].is_scaled, taken[i].max, &n));
        assert_true(n == taken[i].number);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        uint64_t n;
        assert_false(ih_parse_number(refused[i].text, refused[i].is_scaled, refused[i].max, &n));
    }
}

/* nearest: the word that is mistyped; NULL: none is near enough. */
static void check_nearest(const char *name, const char *nearest)
{
    static const char *const words[] = {"width", "height", "mean_luma", "mean_luminance", "p01"};
    const char *best = NULL;
    unsigned fewest = UINT_MAX;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ih_word_is_nearer(name, strlen(name), words[i], &fewest))
            best = words[i];
    if (nearest)
        assert_string_equal(best, nearest);
    else
        assert_null(best);
}

TEST(nearest_word)
{
    check_nearest("widht", "width");  /* two neighbours swapped */
    check_nearest("with", "width");   /* a letter missing */
    check_nearest("widthh", "width"); /* too many */
    check_nearest("Height", "height");
    check_nearest("he", "height"); /* its beginning */
    check_nearest("mean_lumen", "mean_luma");
    check_nearest("mean_luminanz", "mean_luminance");
    check_nearest("p10", "p01");
    check_nearest("w", NULL);
    check_nearest("p1", "p01");
    check_nearest("xyz", NULL);
    check_nearest("a_word_of_more_letters_than_any_option", NULL);
}

TEST(parse_ordinals)
{
    static const char *const refused[] = {"",    ",",    "0,", ",0",       "0,0", "1,2,1",
                                          "0;1", "1024", "-1", "00000000", "a",   "0,1,2,3,4"};
    int ordinals[4];
    unsigned n = 9;
    assert_true(ih_parse_ordinals("7", ordinals, 4, &n));
    assert_int_equal(n, 1);
    assert_int_equal(ordinals[0], 7);
    assert_true(ih_parse_ordinals("3,0,1023,1", ordinals, 4, &n));
    assert_int_equal(n, 4);
    assert_int_equal(ordinals[0], 3);
    assert_int_equal(ordinals[2], IH_ORDINAL_MAX);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        n = 9;
        assert_false(ih_parse_ordinals(refused[i], ordinals, 4, &n));
        assert_int_equal(n, 0);
    }
}

/* As many digits as give the float back, and no exponent where the digits before the point fit. */
TEST(put_float)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{-10, "-10"},
                 {3400, "3400"},
                 {(double)0.1f, "0.1"},
                 {16777216, "16777216"},
                 {1234567, "1234567"},
                 {1e9, "1e+09"},
                 {999999936, "999999936"},
                 {-0.5, "-0.5"},
                 {0, "0"},
                 {(double)1e-7f, "1e-07"},
                 {(double)16777.217f, "16777.217"},
                 {(double)NAN, ""}};
    char text[IH_REAL_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal((ih_put_float(text, cases[i].value), text), cases[i].text);
}
