/* PNM images, written by hand, decoded from memory and from a file. */
#include "tests/support/decoded.h"

/* Checks size, channels, source_depth and samples of an image. */
static void check(const uint8_t *bytes, size_t size, uint64_t width, uint64_t height,
                  unsigned n_channels, unsigned depth, const uint8_t *expected)
{
    assert_decodes(bytes, size, "pnm", (size_t)width, (size_t)height, n_channels, expected);
    struct decoded d = decode(bytes, size, MAX_PIXELS, ALL_ROWS);
    assert_int_equal(d.info.source_depth, depth);
    free(d.pixels);
}

#define PAM(width, height, depth, maxval, type)                                   \
    "P7\nWIDTH " #width "\nHEIGHT " #height "\nDEPTH " #depth "\nMAXVAL " #maxval \
    "\nTUPLTYPE " type "\nENDHDR\n"

/* ---- every variant ---- */

TEST(bitmap)
{
    const uint8_t *expected = EXPECT(0, 255, 0, 255, 255, 0);
    check(BYTES("P1\n3 2\n1 0 1\n0 0 1\n"), 3, 2, 1, 1, expected);
    check(BYTES("P1\n3 2\n101001"), 3, 2, 1, 1, expected);
    check(BYTES("P1 3\t2\r\n10\n10 01\n"), 3, 2, 1, 1, expected);
    check(BYTES("P4\n3 2\n\xA0\x20"), 3, 2, 1, 1, expected);
    check(BYTES("P4\n3 2\n\xBF\x3F"), 3, 2, 1, 1, expected); /* padding bits are ignored */
    check(BYTES("P4\n10 2\n\xFF\x40\x00\x80"), 10, 2, 1, 1,
          EXPECT(0, 0, 0, 0, 0, 0, 0, 0, 255, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 255));
    check(BYTES("P4\n8 1\n\x0F"), 8, 1, 1, 1, EXPECT(255, 255, 255, 255, 0, 0, 0, 0));
}

TEST(gray)
{
    const uint8_t *expected = EXPECT(0, 1, 127, 128, 254, 255);
    check(BYTES("P2\n3 2\n255\n0 1 127\n128 254 255\n"), 3, 2, 1, 8, expected);
    check(BYTES("P2\n3 2\n255\n0\t1\r\n0127 128 254\n\n 00000000000000000000000000255 "), 3, 2, 1,
          8, expected);
    check(BYTES("P5\n3 2\n255\n\x00\x01\x7F\x80\xFE\xFF"), 3, 2, 1, 8, expected);
    check(BYTES("P5 3 2 255\t\x00\x01\x7F\x80\xFE\xFF"), 3, 2, 1, 8, expected);
}

TEST(rgb)
{
    const uint8_t *expected = EXPECT(10, 32, 9, 35, 13, 48, 255, 0, 1, 2, 3, 4);
    check(BYTES("P3\n2 2\n255\n10 32 9 35 13 48\n255 0 1 2 3 4\n"), 2, 2, 3, 8, expected);
    /* The first bytes of this raster are white space and a '#'. */
    check(BYTES("P6\n2 2\n255\n\x0A\x20\x09#\x0D\x30\xFF\x00\x01\x02\x03\x04"), 2, 2, 3, 8,
          expected);
    check(BYTES("P6\n1 2\n65535\n\x00\x00\x80\x00\xFF\xFF\x00\x80\x01\x01\xFE\x80"), 1, 2, 3, 16,
          EXPECT(0, 128, 255, 0, 1, 254));
}

TEST(pam)
{
    check(BYTES(PAM(2, 1, 1, 1, "BLACKANDWHITE") "\x00\x01"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES(PAM(1, 2, 2, 1, "BLACKANDWHITE_ALPHA") "\x01\x00\x00\x01"), 1, 2, 2, 1,
          EXPECT(255, 0, 0, 255));
    check(BYTES(PAM(2, 1, 1, 255, "GRAYSCALE") "\x05\xFA"), 2, 1, 1, 8, EXPECT(5, 250));
    check(BYTES(PAM(1, 1, 2, 65535, "GRAYSCALE_ALPHA") "\xFF\xFF\x80\x00"), 1, 1, 2, 16,
          EXPECT(255, 128));
    check(BYTES(PAM(1, 2, 3, 15, "RGB") "\x00\x0F\x01\x02\x03\x04"), 1, 2, 3, 4,
          EXPECT(0, 255, 17, 34, 51, 68));
    check(BYTES(PAM(1, 2, 4, 255, "RGB_ALPHA") "abcdefgh"), 1, 2, 4, 8,
          (const uint8_t *)"abcdefgh");
}

TEST(pam_types_by_depth)
{
    check(BYTES(PAM(1, 1, 1, 255, "height") "a"), 1, 1, 1, 8, (const uint8_t *)"a");
    check(BYTES(PAM(1, 1, 2, 255, "flow") "ab"), 1, 1, 2, 8, (const uint8_t *)"ab");
    check(BYTES(PAM(1, 1, 3, 255, "a name of several words that is longer than any") "abc"), 1, 1,
          3, 8, (const uint8_t *)"abc");
    check(BYTES(PAM(1, 1, 4, 255, "") "abcd"), 1, 1, 4, 8, (const uint8_t *)"abcd");
    check(BYTES(PAM(1, 1, 4, 255, "RGB\nTUPLTYPE _ALPHA") "abcd"), 1, 1, 4, 8,
          (const uint8_t *)"abcd");
    check(BYTES("P7\nMAXVAL 255\nDEPTH 2\nHEIGHT 1\nWIDTH 1\nENDHDR\nab"), 1, 1, 2, 8,
          (const uint8_t *)"ab");
    assert_refused(BYTES(PAM(1, 1, 5, 255, "x") "abcde"), IH_UNSUPPORTED, "5 samples a pixel");
    assert_refused(BYTES(PAM(1, 1, 4, 255, "RGB") "abcd"), IH_UNSUPPORTED, "its tuple type");
    assert_refused(BYTES(PAM(1, 1, 1, 255, "RGB") "a"), IH_UNSUPPORTED, "its tuple type");
    assert_refused(BYTES(PAM(1, 1, 4, 255, "CMYK") "abcd"), IH_UNSUPPORTED, "CMYK");
}

TEST(pam_header)
{
    check(BYTES("P7\n# WIDTH 9\n\n  \nWIDTH  1 \n  HEIGHT\t1\r\nDEPTH 1\n#\nMAXVAL 0255\n"
                "TUPLTYPE  GRAYSCALE  \nENDHDR \na"),
          1, 1, 1, 8, (const uint8_t *)"a");
    static const char *const firsts[] = {"P7#c\n", "P7 \n", "P7\t# P7\n", "P7\r\n", "P7\n\n"};
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) { /* as netpbm 11.1 reads them */
        char file[100];
        const int n =
            snprintf(file, sizeof file, "%sWIDTH +1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR x\r\na",
                     firsts[i]);
        check((const uint8_t *)file, (size_t)n, 1, 1, 1, 8, (const uint8_t *)"a");
    }
    assert_refused(BYTES("P7\nWIDTH 1\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\na"),
                   IH_CORRUPT, "header line");
    assert_refused(BYTES("P7\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\na"), IH_CORRUPT, "no pixels");
    assert_refused(BYTES("P7\nWIDTH 1\nHEIGHT 1\nMAXVAL 255\nENDHDR\na"), IH_CORRUPT, "no pixels");
    assert_refused(BYTES("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nENDHDR\na"), IH_CORRUPT, "maximum of 0");
    assert_refused(BYTES("P7\nWIDTH 1 1\nHEIGHT 1\nDEPTH 1\nENDHDR\na"), IH_CORRUPT, "header line");
    assert_refused(BYTES("P7\nWIDTH -1\n"), IH_CORRUPT, "byte 0x2D");
    assert_refused(BYTES("P7\nWIDTH\n"), IH_CORRUPT, "header line");
    assert_refused(BYTES("P7\nWIDTH 1\0\n"), IH_CORRUPT, "not text");
    assert_refused(BYTES("P7\nWEIGHT 1\n"), IH_CORRUPT, "header line");
}

/* ---- values ---- */

TEST(maxval)
{
    check(BYTES("P5\n2 1\n1\n\x00\x01"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES("P5\n4 1\n3\n\x00\x01\x02\x03"), 4, 1, 1, 2, EXPECT(0, 85, 170, 255));
    check(BYTES("P2\n4 1\n15\n0 1 8 15\n"), 4, 1, 1, 4, EXPECT(0, 17, 136, 255));
    /* 2.55 of each: 2.55, 7.65, 127.5 (half up), 252.45 */
    check(BYTES("P5\n6 1\n100\n\x00\x01\x03\x32\x63\x64"), 6, 1, 1, 7,
          EXPECT(0, 3, 8, 128, 252, 255));
    /* 255/256 of each: 127.5 (half up), 126.504, 254.004 */
    check(BYTES("P5\n5 1\n256\n\x00\x00\x00\x80\x00\x7F\x00\xFF\x01\x00"), 5, 1, 1, 9,
          EXPECT(0, 128, 127, 254, 255));
    /* 255/1023 of each: 0.499, 0.748, 127.6, 254.25 */
    check(BYTES("P2\n6 1\n1023\n0 2 3 512 1020 1023\n"), 6, 1, 1, 10,
          EXPECT(0, 0, 1, 128, 254, 255));
    check(BYTES("P2\n2 1\n4095\n0 4095\n"), 2, 1, 1, 12, EXPECT(0, 255));
    check(BYTES("P2\n2 1\n200\n0 200\n"), 2, 1, 1, 8, EXPECT(0, 255));
    /* 1/257 of each: 128 is 0.498, 129 is 0.502, 65406 is 254.498, 65407 is 254.502 */
    check(BYTES("P5\n4 1\n65535\n\x00\x80\x00\x81\xFF\x7E\xFF\x7F"), 4, 1, 1, 16,
          EXPECT(0, 1, 254, 255));
    check(BYTES("P2\n4 1\n65535\n128 129 65406 65407\n"), 4, 1, 1, 16, EXPECT(0, 1, 254, 255));
}

/* Every sample of some maxvals, against the definition in integers: the largest q with
 * 2 q maxval <= 2 v 255 + maxval. */
TEST(scaling_of_all_samples)
{
    static const unsigned maxvals[] = {2, 7, 254, 257, 4095, 65534, 65535};
    static char text[64 + 2 * 65536];
    for (size_t m = 0; m < sizeof maxvals / sizeof *maxvals; m++) {
        unsigned maxval = maxvals[m];
        int at = snprintf(text, 64, "P5\n%u 1\n%u\n", maxval + 1, maxval);
        for (unsigned v = 0; v <= maxval; v++) {
            if (maxval > 255)
                text[at++] = (char)(v >> 8);
            text[at++] = (char)(v & 255);
        }
        struct decoded d = decode((const uint8_t *)text, (size_t)at, 65536, ALL_ROWS);
        assert_int_equal(d.status, IH_OK);
        assert_int_equal(d.n_pixels, maxval + 1);
        for (unsigned v = 0; v <= maxval; v++) {
            unsigned twice = 2 * v * 255 + maxval, q = d.pixels[v];
            assert_true(2 * q * maxval <= twice && 2 * (q + 1) * maxval > twice);
        }
        free(d.pixels);
    }
}

TEST(sample_above_maxval)
{
    assert_refused(BYTES("P1\n2 1\n0 2\n"), IH_CORRUPT, "a sample of 2 where the maximum is 1");
    assert_refused(BYTES("P2\n2 1\n100\n0 101\n"), IH_CORRUPT, "a sample of 101");
    assert_refused(BYTES("P3\n1 1\n65535\n0 0 65536\n"), IH_CORRUPT, "a sample of 65536");
    assert_refused(BYTES("P5\n2 1\n100\n\x00\x65"), IH_CORRUPT, "a sample of 101");
    assert_refused(BYTES("P6\n1 1\n254\n\x00\x00\xFF"), IH_CORRUPT, "a sample of 255");
    assert_refused(BYTES("P5\n2 1\n256\n\x01\x00\x01\x01"), IH_CORRUPT, "a sample of 257");
    assert_refused(BYTES(PAM(2, 1, 1, 1, "BLACKANDWHITE") "\x00\x02"), IH_CORRUPT, "a sample of 2");
}

/* ---- text ---- */

TEST(comments)
{
    const uint8_t *expected = EXPECT(1, 2);
    check(BYTES("P2\n# CREATOR\n2 1\n255\n1 2\n"), 2, 1, 1, 8, expected);
    check(BYTES("P2 # a 9\n#b\n 2#width\n1#height\r255#colours\n1#\n#x\n2#end\n"), 2, 1, 1, 8,
          expected);
    check(BYTES("P5\n#\n#\n2 #\n1 # c\n#\n255\n\x01\x02"), 2, 1, 1, 8, expected);
    check(BYTES("P1\n2 1#\n1# 0\n0"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES("P4\n# c\n2 # 9\n1\n\x80"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES("P5#c\n2 1\n255\n\x01\x02"), 2, 1, 1, 8, expected);
    check(BYTES("P2#\n#x\n2 1 255 1 2"), 2, 1, 1, 8, expected);
    check(BYTES("P4#c\r2 1\n\x80"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES("P5\f2\v1\n255\f\x01\x02"), 2, 1, 1, 8, expected); /* Pillow and OpenCV */
    assert_refused(BYTES("P5\n2 1\n255#c\n\n\x01\x02"), IH_UNSUPPORTED, "a comment that touches");
    assert_refused(BYTES("P4\n2 1#c\n\n\x80"), IH_UNSUPPORTED, "a comment that touches");
}

TEST(bad_text)
{
    assert_refused(BYTES("P2\n2 1\n255\n1 x\n"), IH_CORRUPT, "byte 0x78");
    assert_refused(BYTES("P2\n2 1\n255\n1 -2\n"), IH_CORRUPT, "byte 0x2D");
    assert_refused(BYTES("P1\n2 1\n1x0\n"), IH_CORRUPT, "byte 0x78");
    assert_refused(BYTES("P5\n2 1\n25.5\n\x01\x02"), IH_CORRUPT, "byte 0x2E");
    assert_refused(BYTES("P5\n2 1\n0\n\x00\x00"), IH_CORRUPT, "maximum of 0");
    assert_refused(BYTES("P5\n2 1\n65536\n\x00\x00\x00\x00"), IH_CORRUPT, "maximum of 65536");
    assert_refused(BYTES("P2\n99999999999999999999999 1\n255\n"), IH_CORRUPT, "too large");
    assert_refused(BYTES("P2\n18446744073709551616 1\n255\n"), IH_CORRUPT, "too large");
    assert_refused(BYTES("P2\n1 1\n255\n99999999999999999999999 "), IH_CORRUPT, "too large");
}

TEST(sizes)
{
    assert_refused(BYTES("P1\n0 1\n"), IH_CORRUPT, "no pixels");
    assert_refused(BYTES("P5\n0 0\n255\n"), IH_CORRUPT, "no pixels");
    assert_refused(BYTES("P6\n1 0\n255\n"), IH_CORRUPT, "no pixels");
    assert_refused(BYTES(PAM(0, 1, 1, 255, "GRAYSCALE")), IH_CORRUPT, "no pixels");
    assert_refused(BYTES(PAM(1, 1, 0, 255, "x")), IH_CORRUPT, "no pixels");
    assert_refused(BYTES("P5\n1001 1000\n255\n"), IH_LIMIT, "too large");
    assert_refused(BYTES("P4\n1844674407370955160 18446744073709551\n"), IH_LIMIT, "too large");
    assert_refused(BYTES("P7\nWIDTH 1\nHEIGHT 9999999999999999\nDEPTH 4\nMAXVAL 1\nENDHDR\n"),
                   IH_LIMIT, "too large");
}

TEST(long_header)
{
    static uint8_t text[80 * 1000];
    memset(text, ' ', sizeof text);
    memcpy(text, "P5\n2 1 ", 7);
    assert_refused(text, sizeof text, IH_CORRUPT, "no end of the header");
    memset(text + 7, 'c', sizeof text - 7);
    text[7] = '#';
    assert_refused(text, sizeof text, IH_CORRUPT, "no end of the header");
    memcpy(text, "P7\n#", 4);
    assert_refused(text, sizeof text, IH_CORRUPT, "no end of the header");
    memcpy(text, "P7\nWIDTH", 8);
    assert_refused(text, sizeof text, IH_CORRUPT, "too long");
}

/* The limit of header bytes does not apply to plain samples. */
TEST(long_lines)
{
    static uint8_t text[200 * 1000];
    memset(text, ' ', sizeof text);
    memcpy(text, "P2 2 1 255 7", 12);
    memcpy(text + sizeof text - 2, "8", 1);
    check(text, sizeof text, 2, 1, 1, 8, EXPECT(7, 8));
}

TEST(probe)
{
    static const char *const not_pnm[] = {"P",
                                          "P5",
                                          "P0\n1 1\n",
                                          "P8\n1 1\n",
                                          "P7 332\n#IMGINFO",
                                          "P7 WIDTH 1\n",
                                          "P7\r\n1 1\n",
                                          "P62 1\n255\n",
                                          "p5\n",
                                          "P1 is the top",
                                          "P5\n1 one\n",
                                          "P5x1 1\n255\n",
                                          "P7\n1 1\n255\n"};
    for (size_t i = 0; i < sizeof not_pnm / sizeof *not_pnm; i++)
        assert_refused((const uint8_t *)not_pnm[i], strlen(not_pnm[i]), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("P7\n\0"), IH_UNKNOWN, "not an image");
    assert_refused(BYTES("Pf#\n1 1\n-1.0\n"), IH_UNKNOWN, "not an image");
}

/* ---- PFM ---- */

TEST(pfm)
{
    static const float expected[] = {1, -2, 0.5f};
    assert_decodes(BYTES("PF\n1 1\n-1.0\n\0\0\x80\x3F\0\0\0\xC0\0\0\0\x3F"), "pnm", 1, 1, 3,
                   (const uint8_t *)expected);
    assert_decodes(BYTES("Pf 3 1\r+2.5e-1 \x3F\x80\0\0\xC0\0\0\0\x3F\0\0\0"), "pnm", 3, 1, 1,
                   (const uint8_t *)expected);
    static const char *const no_scale[] = {"0", "-0.0", "x", "1x", "-", "+", "0e5", "1-1", "."};
    for (size_t i = 0; i < sizeof no_scale / sizeof *no_scale; i++) {
        char text[40];
        const int n = snprintf(text, sizeof text, "Pf\n1 1\n%s\n1234", no_scale[i]);
        assert_refused((const uint8_t *)text, (size_t)n, IH_CORRUPT, "its scale is 0 or no number");
    }
    assert_refused(BYTES("Pf\n0 1\n1\n"), IH_CORRUPT, "it has no pixels");
    assert_refused(BYTES("Pf\n1 1\n1\n123"), IH_CORRUPT, "the file ends before the image does");
    assert_refused(BYTES("Pf\n1 1\n1"), IH_CORRUPT, "the file ends before the image does");
}

/* ---- files that are cut short or too long ---- */

/* The last n_optional bytes may be missing. A file that is cut before them is an error, and only
 * correct pixels are returned. */
static void check_cuts(const uint8_t *bytes, size_t size, size_t n_optional)
{
    struct decoded full = decode(bytes, size, MAX_PIXELS, 1);
    size_t n_needed = size - n_optional;
    assert_int_equal(full.status, IH_OK);
    for (size_t n = 0; n <= size; n++) {
        struct decoded cut = decode(bytes, n, MAX_PIXELS, 1);
        assert_int_equal(cut.status == IH_OK, n >= n_needed);
        assert_true(cut.n_pixels <= full.n_pixels);
        if (cut.n_pixels > 0)
            assert_memory_equal(cut.pixels, full.pixels,
                                cut.n_pixels * full.info.layout.n_channels);
        if (n < 3)
            assert_int_equal(cut.status, IH_UNKNOWN);
        else if (n < n_needed) {
            assert_int_equal(cut.status, IH_CORRUPT);
            assert_string_equal(cut.error.message,
                                "damaged PNM: the file ends before the image does");
            assert_true(cut.n_pixels < full.n_pixels);
        }
        free(cut.pixels);
    }
    free(full.pixels);
}

TEST(cut)
{
    check_cuts(BYTES("P1\n# c\n3 2\n1 0 1\n0 0 1\n\n"), 2);
    check_cuts(BYTES("P2\n3 2\n# c\n255\n10 20 30\n40 50 6\n\n"), 2);
    check_cuts(BYTES("P3\n1 2\n1000\n10 20 30\n40 50 6 \n"), 2);
    check_cuts(BYTES("P3\n1 2\n1000\n10 20 30\n40 50 6#c"), 2);
    check_cuts(BYTES("P4\n# c\n9 2\n\xFF\xFF\x12\x34"), 0);
    check_cuts(BYTES("P5\n3 2\n255\nabcdef"), 0);
    check_cuts(BYTES("P5\n3 2\n65535\nabcdefghijkl"), 0);
    check_cuts(BYTES("P6\n1 2\n127\nabcdef"), 0);
    check_cuts(BYTES("P6\n1 2\n32767\nabcdefghijkl"), 0);
    check_cuts(BYTES(PAM(1, 2, 4, 255, "RGB_ALPHA") "abcdefgh"), 0);
    check_cuts(BYTES("P7\n# c\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 65535\nENDHDR\nabcd"), 0);
}

/* A plain file may end with the last digit of its last sample, and with no other digit. */
TEST(no_newline_at_the_end)
{
    check(BYTES("P1\n2 1\n10"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES("P2\n2 1\n255\n10 200"), 2, 1, 1, 8, EXPECT(10, 200));
    check(BYTES("P3\n1 1\n255\n10 20 255"), 1, 1, 3, 8, EXPECT(10, 20, 255));
    static const char *const cut[] = {"P1\n2 1\n1", "P2\n2 1\n255\n10",    "P2\n2 1\n255",
                                      "P2\n2 1",    "P3\n1 1\n255\n10 20", "P5\n1 1\n255",
                                      "P4\n1 1"};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        assert_refused((const uint8_t *)cut[i], strlen(cut[i]), IH_CORRUPT,
                       "ends before the image");
    assert_refused(BYTES("P2\n2 1\n255\n10 256"), IH_CORRUPT, "a sample of 256");
    assert_refused(BYTES("P2\n2 1\n255\n10 2x"), IH_CORRUPT, "byte 0x78 in a number");
}

TEST(second_image_ignored)
{
    check(BYTES("P5\n2 1\n255\nabP5\n2 1\n255\ncd"), 2, 1, 1, 8, (const uint8_t *)"ab");
    check(BYTES("P4\n2 1\n\x80P4\n2 1\n\x80"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES("P1\n2 1\n10 P1\n"), 2, 1, 1, 1, EXPECT(0, 255));
    check(BYTES("P2\n2 1\n255\n1 2 3 4 x"), 2, 1, 1, 8, EXPECT(1, 2));
    check(BYTES(PAM(1, 1, 1, 255, "GRAYSCALE") "a\n"), 1, 1, 1, 8, (const uint8_t *)"a");
}

/* ---- larger than the source's buffer ---- */

/* Sample i of the large images, 16 bits. */
static unsigned sample_at(size_t i)
{
    return (unsigned)((i * 40503u + i / 251) & 0xFFFF);
}

static void write_samples(FILE *f, int kind, size_t width, size_t n)
{
    unsigned byte = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned v = sample_at(i);
        if (kind == '2')
            fprintf(f, i % 999 ? "%u " : "%u # %u\n", v, v);
        else if (kind == '5')
            fprintf(f, "%c%c", (int)(v >> 8), (int)(v & 255));
        else if (kind == '1')
            fprintf(f, "%u", v & 1);
        else {
            byte = byte << 1 | (v & 1);
            size_t x = i % width;
            if (x % 8 == 7 || x == width - 1) {
                fputc((int)(byte << (7 - x % 8) & 255), f);
                byte = 0;
            }
        }
    }
}

/* Reads a file through its descriptor in stripes that divide neither the image nor the buffer. */
static void check_large(int kind, size_t width, size_t height)
{
    const struct ih_decode_options options = {.max_pixels = UINT64_MAX};
    struct ih_reader source = {0};
    struct ih_decode d;
    struct ih_error error;
    size_t n, n_seen = 0, capacity = 7 * width + width / 2;
    bool is_bitmap = kind == '1' || kind == '4';
    FILE *f = tmpfile();
    uint8_t *stripe = malloc(capacity);
    assert_non_null(f);
    assert_non_null(stripe);
    fprintf(f, "P%c\n%zu %zu\n%s", kind, width, height, is_bitmap ? "" : "65535\n");
    write_samples(f, kind, width, width * height);
    rewind(f);
    assert_int_equal(ih_reader_open_fd(&source, fileno(f), &error), IH_OK);
    assert_int_equal(ih_decode_open(&d, &source, &options, &error), IH_OK);
    do {
        assert_int_equal(ih_decode_read(&d, stripe, capacity, &n, &error), IH_OK);
        for (size_t i = 0; i < n; i++) {
            unsigned v = sample_at(n_seen + i);
            assert_int_equal(stripe[i], is_bitmap ? (v & 1 ? 0 : 255) : (v * 2 + 257) / 514);
        }
        n_seen += n;
    } while (n > 0);
    assert_int_equal(n_seen, width * height);
    ih_decode_close(&d);
    ih_reader_reset(&source);
    fclose(f);
    free(stripe);
}

TEST(large)
{
    check_large('1', 1003, 301);
    check_large('2', 1003, 301);
    check_large('4', 1003, 3001);
    check_large('5', 1003, 301);
    check_large('5', 100 * 1000, 3); /* a row is longer than the buffer */
}
