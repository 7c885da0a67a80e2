/* Formats that are recognised but not read: the error names them. The first bytes are those of the
 * formats' specifications and of files written by other programs. */
#include "tests/support/decoded.h"
#include "tests/support/written.h"

static void assert_named(const void *bytes, size_t n, const char *name)
{
    uint8_t head[400] = {0}; /* enough for every signature */
    assert_true(n <= sizeof head);
    memcpy(head, bytes, n);
    assert_refused(head, sizeof head, IH_UNKNOWN, name);
    assert_refused(head, sizeof head, IH_UNKNOWN, " is not supported: ");
}

TEST(names)
{
    static const struct {
        const char *head;
        size_t n;
        const char *name;
    } files[] = {
#define FILE_OF(name, text) {text, sizeof(text) - 1, name}
        FILE_OF("camera raw (CR2)", "II*\0\x10\0\0\0CR\2\0"),
        FILE_OF("camera raw (CR3)", "\0\0\0\x18"
                                    "ftypcrx \0\0\0\1crx isom"),
        FILE_OF("camera raw (RAF)", "FUJIFILMCCD-RAW 0201FF383501"),
        FILE_OF("camera raw (ORF)", "IIRO\x08\0\0\0"),
        FILE_OF("camera raw (ORF)", "IIRS\x08\0\0\0"),
        FILE_OF("camera raw (ORF)", "MMOR\0\0\0\x08"),
        FILE_OF("camera raw (RW2)", "IIU\0\x18\0\0\0"),
        FILE_OF("camera raw (CRW)", "II\x1A\0\0\0HEAPCCDR"),
        FILE_OF("camera raw (MRW)", "\0MRM\0\1"),
        FILE_OF("camera raw (X3F)", "FOVb\0\0\2\0"),
        FILE_OF("HDF5", "\x89HDF\r\n\x1A\n"),
        FILE_OF("NIfTI", "\x1C\2\0\0n+2\0\r\n\x1A\n\4\0"),
        FILE_OF("NIfTI", "\0\0\2\x1Cni2\0\r\n\x1A\n\0\4"),
        FILE_OF("CZI", "ZISRAWFILE\0\0\0\0\0\0\0\2\0\0"),
        FILE_OF("ND2", "\xDA\xCE\xBE\x0A\x20\0\0\0\x20\0\0\0\0\0\0\0ND2 FILE SIGNATURE"),
        FILE_OF("LIF", "\x70\0\0\0\x2F\1\0\0\x2A\x15\1\0\0<\0L\0M\0"),
        FILE_OF("Parquet", "PAR1\x15\4\x15\x10\x15\x14"),
        FILE_OF("DPX", "SDPX\0\0\x08\0V1.0"),
        FILE_OF("DPX", "XPDS\0\x08\0\0V1.0"),
        FILE_OF("Cineon", "\x80\x2A\x5F\xD7\0\0\x08\0"),
        FILE_OF("Softimage PIC", "\x53\x80\xF6\x34\x40\0\0\0"),
        FILE_OF("SGI", "\x01\xDA\1\1\0\3"),
        FILE_OF("SGI", "\x01\xDA\0\1\0\3"),
        FILE_OF("PCX", "\x0A\5\1\x08\0\0\0\0"),
        FILE_OF("PCX", "\x0A\5\1\1\0\0\0\0"),
        FILE_OF("Sun raster", "\x59\xA6\x6A\x95\0\0\0\5"),
        FILE_OF("ILBM", "FORM\0\0\0\x40"
                        "ILBMBMHD"),
        FILE_OF("XPM", "/* XPM */\nstatic char *a[] = {"),
        FILE_OF("JPEG XR", "II\xBC\1\x08\0\0\0"),
        FILE_OF("BPG", "BPG\xFB\x20"),
        FILE_OF("FLIF", "FLIF31"),
        FILE_OF("farbfeld", "farbfeld\0\0\0\1\0\0\0\1"),
        FILE_OF("ICNS", "icns\0\0\x10\0ic07"),
        FILE_OF("MNG", "\x8AMNG\r\n\x1A\n\0\0\0\x1CMHDR"),
        FILE_OF("JNG", "\x8BJNG\r\n\x1A\n\0\0\0\x10JHDR"),
        FILE_OF("JBIG2", "\x97JB2\r\n\x1A\n\1"),
        FILE_OF("XCF", "gimp xcf file"),
        FILE_OF("XCF", "gimp xcf v011"),
        FILE_OF("DDS", "DDS \x7C\0\0\0\7\x10\0\0"),
        FILE_OF("KTX ", "\xABKTX 11\xBB\r\n\x1A\n\1\2\3\4"),
        FILE_OF("KTX2", "\xABKTX 20\xBB\r\n\x1A\n"),
        FILE_OF("a Git LFS pointer",
                "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"),
        FILE_OF("PDF", "%PDF-1.7\n"),
        FILE_OF("DjVu", "AT&TFORM\0\0\1\0DJVU"),
        FILE_OF("PostScript", "%!PS-Adobe-3.0\n"),
        FILE_OF("EPS", "\xC5\xD0\xD3\xC6\x20\0\0\0"),
        FILE_OF("WMF", "\xD7\xCD\xC6\x9A\0\0"),
        FILE_OF("WMF", "\1\0\x09\0\0\3\x20\0"),
        FILE_OF("EMF", "\1\0\0\0\x6C\0\0\0AAAABBBBCCCCDDDDaaaabbbbccccdddd EMF\0\0\1\0"),
        FILE_OF("HEIF in its compact form (mif3)", "\0\0\0\x10"
                                                   "ftypmif3avif"),
        FILE_OF("image sequence (HEIF)", "\0\0\0\x18"
                                         "ftypmsf1\0\0\0\0msf1iso8"),
        FILE_OF("image sequence (AVIF)", "\0\0\0\x18"
                                         "ftypavis\0\0\0\0avismsf1"),
        FILE_OF("video (MP4)", "\0\0\0\x20"
                               "ftypisom\0\0\2\0isomiso2avc1mp41"),
        FILE_OF("video (MP4)", "\0\0\0\x18"
                               "ftypmp42\0\0\0\0mp42isom"),
        FILE_OF("video (3GP)", "\0\0\0\x18"
                               "ftyp3gp5\0\0\2\0"),
        FILE_OF("video (QuickTime)", "\0\0\0\x14"
                                     "ftypqt  \0\0\2\0qt  "),
        FILE_OF("video (QuickTime)", "\0\0\4\0moov\0\0\0\x6Cmvhd"),
        FILE_OF("video (Matroska)", "\x1A\x45\xDF\xA3\xA3\x42\x86\x81\1"),
        FILE_OF("video (AVI)", "RIFF\0\1\0\0AVI LIST"),
        FILE_OF("video (FLV)", "FLV\1\5"),
        FILE_OF("video (MPEG)", "\0\0\1\xBA\x44"),
        FILE_OF("video (MPEG)", "\0\0\1\xB3\x14"),
        FILE_OF("video (Ogg)", "OggS\0\2"),
        FILE_OF("video (WMV)", "\x30\x26\xB2\x75\x8E\x66\xCF\x11\xA6\xD9"),
        FILE_OF("SVG", "<svg xmlns='http://www.w3.org/2000/svg'>"),
        FILE_OF("SVG", "<?xml version=\"1.0\"?>\n<!-- a comment -->\n<svg width=\"3\">"),
        FILE_OF("HTML", "<!DOCTYPE html>\n<title>404</title>"),
        FILE_OF("HTML", "\xEF\xBB\xBF\r\n <HTML lang=en>"),
        FILE_OF("HTML", "<?xml version=\"1.0\"?><html>"),
        FILE_OF("XML", "<?xml version='1.0'?><gpx>"),
        FILE_OF("XML", "\xEF\xBB\xBF\n<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code>"),
        FILE_OF("XML", "<Error><Message>gone</Message></Error>"),
        FILE_OF("JSON", "{\"error\":\"forbidden\"}"),
        FILE_OF("JSON", "\n[ {\"status\": 404}]"),
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_named(files[i].head, files[i].n, files[i].name);
}

TEST(dicom_after_its_preamble)
{
    uint8_t head[256] = {0};
    memcpy(head + 128, "DICM", 4);
    assert_named(head, sizeof head, "DICOM");
}

/* NIfTI-1 in both byte orders, its header alone or with the values. */
TEST(nifti_after_its_header)
{
    for (unsigned i = 0; i < 4; i++) {
        uint8_t head[400] = {0};
        memcpy(head, i % 2 ? "\0\0\1\x5C" : "\x5C\1\0\0", 4);
        memcpy(head + 344, i / 2 ? "ni1" : "n+1", 4);
        assert_named(head, sizeof head, "NIfTI");
    }
}

/* What to do: a server's answer is downloaded again, a result file in another layout is not. */
TEST(advice)
{
    static const char *const texts[][2] = {
        {"{\"error\":\"forbidden\"}", "perhaps a server's answer saved in place of an image"},
        {"{\n  \"message\": \"Not Found\",\n  \"status\": \"404\"\n}", "download the image again"},
        {"<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code></Error>",
         "download the image again"},
        {"<html>", "download the image again"},
        {"{\n  \"schema\": \"imghist/2\",\n  \"file\": \"a\"", "the layout that imghist writes"},
        {"{\n  \"alpha\": \"count\",\n  \"channels\": [", "the layout that imghist writes"},
        {"\x89HDF\r\n\x1A\n", "PNG or TIFF of 8 or 16 bits"},
        {"ZISRAWFILE", "'bfconvert IN OUT%s.tif'"},
        {"PAR1", "imghist.scan counts images in a column"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_refused((const uint8_t *)texts[i][0], strlen(texts[i][0]), IH_UNKNOWN, texts[i][1]);
}

/* The first directory of a TIFF, at `at`, with these entries: tag, type, value. */
static struct file tiff_with(int order, size_t at, size_t n, const uint32_t (*entries)[3])
{
    struct file f = {.n = 0};
    put(&f, order > 0 ? "II*" : "MM", order > 0 ? 4 : 2);
    if (order < 0)
        put_number(&f, -2, 42);
    put_number(&f, 4 * order, (uint32_t)at);
    while (f.n < at)
        PUT(&f, 0);
    put_number(&f, 2 * order, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        put_number(&f, 2 * order, entries[i][0]);
        put_number(&f, 2 * order, entries[i][1]);
        put_number(&f, 4 * order, 1);
        put_number(&f, (entries[i][1] == TIFF_TYPE_SHORT ? 2 : 4) * order, entries[i][2]);
        if (entries[i][1] == TIFF_TYPE_SHORT)
            put_number(&f, 2 * order, 0);
    }
    put_number(&f, 4, 0);
    return f;
}

#define DIRECTORY(...)                                                                      \
    sizeof((const uint32_t[][3]){__VA_ARGS__}) / sizeof(uint32_t[3]), (const uint32_t[][3]) \
    {                                                                                       \
        __VA_ARGS__                                                                         \
    }

TEST(camera_raw_in_tiff)
{
    for (int order = -1; order <= 1; order += 2) {
        struct file f = tiff_with(order, 8, DIRECTORY({254, 4, 1}, {271, 2, 0x41424300}));
        assert_refused(f.bytes, f.n, IH_UNKNOWN, "camera raw is not supported");
        f = tiff_with(order, 2000, DIRECTORY({256, 4, 10}, {50706, 1, 0x01040000}));
        assert_refused(f.bytes, f.n, IH_UNKNOWN, "camera raw (DNG) is not supported");
        f = tiff_with(order, 8, DIRECTORY({254, 4, 0}, {262, 3, 32803}));
        assert_refused(f.bytes, f.n, IH_UNKNOWN, "camera raw is not supported");
        f = tiff_with(order, 8, DIRECTORY({262, 3, 34892}));
        assert_refused(f.bytes, f.n, IH_UNKNOWN, "camera raw is not supported");
    }
}

/* A TIFF of a camera, one whose first page is small, and one cut off: these are left to the TIFF
 * decoder, or to the message of a build without it. */
TEST(other_tiff_is_not_camera_raw)
{
    for (int order = -1; order <= 1; order += 2) {
        struct file files[] = {
            tiff_with(order, 8, DIRECTORY({254, 4, 0}, {262, 3, 2}, {271, 2, 0x41424300})),
            tiff_with(order, 8, DIRECTORY({254, 4, 1}, {262, 3, 2})),
            tiff_with(order, 8, DIRECTORY({262, 3, 1}, {254, 4, 2}, {271, 2, 0x41424300})),
            tiff_with(order, 8, DIRECTORY({262, 3, 2}, {262, 3, 32803})),
        };
        files[3].n -= 16; /* the second entry and the end */
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            struct decoded d = decode(files[i].bytes, files[i].n, MAX_PIXELS, 1);
            assert_true(d.status == IH_CORRUPT || d.status == IH_UNSUPPORTED);
            free(d.pixels);
        }
    }
}

/* What has no signature stays unknown, and the caller learns that raw_channels would read it. */
TEST(others_stay_unknown)
{
    static const char *const texts[] = {"text", "<gpx>",    "\x1F\x8B\x08", "PK\3\4",
                                        "IIR",  "ftypisom", "a <svg>",      "FORM....AIFF"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct decoded d = decode((const uint8_t *)texts[i], strlen(texts[i]), MAX_PIXELS, 1);
        assert_int_equal(d.status, IH_UNKNOWN);
        assert_int_equal(d.error.limit, IH_LIMIT_RAW_CHANNELS);
        assert_non_null(strstr(d.error.message, "not an image of a known format"));
    }
}

/* Signatures that reach past the end of the file do not match. */
TEST(short_files)
{
    for (size_t n = 1; n < 12; n++) {
        struct decoded d = decode((const uint8_t *)"\0\0\0\x18"
                                                   "ftypcrx ",
                                  n, MAX_PIXELS, 1);
        assert_int_equal(d.status, IH_UNKNOWN);
        assert_null(strstr(d.error.message, "camera raw"));
    }
}
