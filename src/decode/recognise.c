/*
 * Recognises formats that imghist does not read, by one table of signatures. Two kinds need more
 * than that: camera raw files that are TIFF files, and text.
 *
 * gzip and zip are not named, because any format may be inside.
 *
 * Sources of the signatures: the formats' specifications, and the magic database of file(1).
 */
#include "decode/recognise.h"

#include "decode/read_bytes.h"

#include <string.h>

/* A signature is one or two runs of bytes, each at an offset. */
struct signature {
    const char *name, *advice;
    uint16_t at, n;
    const char *bytes;
    uint16_t at_2, n_2;
    const char *bytes_2; /* NULL: one run */
};

#define AT(offset, text) (offset), sizeof(text) - 1, text
#define ONE(offset, text) AT(offset, text), 0, 0, NULL

#define RAW "it stores sensor values; develop it first, for example with 'darktable-cli IN OUT.png'"
#define CONVERT "convert it first, for example with 'magick IN OUT.png'"
#define LAYERS "it stores layers; flatten and export it first, for example with GIMP"
#define VECTOR "it has no pixels; draw it first, for example with 'rsvg-convert -o OUT.png IN'"
#define METAFILE "it has no pixels; draw it first, for example with 'inkscape -o OUT.png IN'"
#define PAGES "it has pages; draw them first, for example with 'pdftoppm -png IN OUT'"
#define POSTSCRIPT \
    "it has no pixels; draw it first, for example with 'gs -sDEVICE=png16m -o OUT.png IN'"
#define TEXTURE "it stores textures; convert it first, for example with 'magick IN OUT.png'"
#define SCIENCE                                                                      \
    "read it in Python and count its arrays, or export PNG or TIFF of 8 or 16 bits " \
    "(--bins=native keeps every value)"
#define MICROSCOPE \
    "export its images first, for example with 'bfconvert IN OUT%s.tif' of Bio-Formats"
#define TABLE "it is a table; read it in Python, where imghist.scan counts images in a column"
#define VIDEO "extract frames first, for example with 'ffmpeg -i IN OUT%04d.png'"
#define RECORDS \
    "name it .ndjson or .json, or give --records=FILE; if it is in an archive, extract it first"
#define COMPARISON "a comparison is no input; name the images or result files that it compares"
#define JSON                                                                                    \
    "result files have the layout that imghist writes: the schema first, and a record in each " \
    "line"
#define UNPACK "extract its files first, for example with '7z x IN'"
#define WEB \
    "it is text, perhaps a server's answer saved in place of an image; download the image again"

static const struct signature signatures[] = {
    {"camera raw (CR2)", RAW, AT(0, "II*\0"), AT(8, "CR\2\0")},
    {"camera raw (CR3)", RAW, ONE(4, "ftypcrx ")},
    {"camera raw (RAF)", RAW, ONE(0, "FUJIFILMCCD-RAW")},
    {"camera raw (ORF)", RAW, ONE(0, "IIRO\10\0\0\0")},
    {"camera raw (ORF)", RAW, ONE(0, "IIRS\10\0\0\0")},
    {"camera raw (ORF)", RAW, ONE(0, "MMOR\0\0\0\10")},
    {"camera raw (RW2)", RAW, ONE(0, "IIU\0")},
    {"camera raw (CRW)", RAW, AT(0, "II"), AT(6, "HEAPCCDR")},
    {"camera raw (MRW)", RAW, ONE(0, "\0MRM")},
    {"camera raw (X3F)", RAW, ONE(0, "FOVb")},
    {"DICOM", SCIENCE, ONE(128, "DICM")},
    {"HDF5", SCIENCE, ONE(0, "\x89HDF\r\n\x1A\n")},
    {"NIfTI", SCIENCE, ONE(344, "n+1\0")},
    {"NIfTI", SCIENCE, ONE(344, "ni1\0")},
    {"NIfTI", SCIENCE, ONE(4, "n+2\0\r\n\x1A\n")},
    {"NIfTI", SCIENCE, ONE(4, "ni2\0\r\n\x1A\n")},
    {"CZI", MICROSCOPE, ONE(0, "ZISRAWFILE")},
    {"ND2", MICROSCOPE, ONE(0, "\xDA\xCE\xBE\x0A")},
    {"LIF", MICROSCOPE, AT(0, "\x70\0\0\0"), AT(8, "\x2A")},
    {"Parquet", TABLE, ONE(0, "PAR1")},
    {"DPX", CONVERT, ONE(0, "SDPX")},
    {"DPX", CONVERT, ONE(0, "XPDS")},
    {"Cineon", CONVERT, ONE(0, "\x80\x2A\x5F\xD7")},
    {"Softimage PIC", "convert it first, for example with 'oiiotool IN -o OUT.png'",
     ONE(0, "\x53\x80\xF6\x34")},
    {"SGI", CONVERT, ONE(0, "\x01\xDA\0\1")},
    {"SGI", CONVERT, ONE(0, "\x01\xDA\1\1")},
    {"PCX", CONVERT, ONE(0, "\x0A\5\1\1")},
    {"PCX", CONVERT, ONE(0, "\x0A\5\1\4")},
    {"PCX", CONVERT, ONE(0, "\x0A\5\1\x08")},
    {"Sun raster", CONVERT, ONE(0, "\x59\xA6\x6A\x95")},
    {"ILBM", CONVERT, AT(0, "FORM"), AT(8, "ILBM")},
    {"XPM", CONVERT, ONE(0, "/* XPM */")},
    {"JPEG XR", CONVERT, ONE(0, "II\xBC\1")},
    {"BPG", CONVERT, ONE(0, "BPG\xFB")},
    {"FLIF", CONVERT, ONE(0, "FLIF")},
    {"farbfeld", CONVERT, ONE(0, "farbfeld")},
    {"ICNS", CONVERT, ONE(0, "icns\0")},
    {"MNG", CONVERT, ONE(0, "\x8AMNG\r\n\x1A\n")},
    {"JNG", CONVERT, ONE(0, "\x8BJNG\r\n\x1A\n")},
    {"JBIG2", CONVERT, ONE(0, "\x97JB2\r\n\x1A\n")},
    {"XCF", LAYERS, ONE(0, "gimp xcf ")},
    {"DDS", TEXTURE, ONE(0, "DDS \x7C\0\0\0")},
    {"KTX", TEXTURE, ONE(0, "\xABKTX 11\xBB\r\n\x1A\n")},
    {"KTX2", TEXTURE, ONE(0, "\xABKTX 20\xBB\r\n\x1A\n")},
    {"a result file among images", RECORDS, ONE(0, "{\"schema\":\"imghist/")},
    {"a file of --diff", COMPARISON, ONE(0, "{\"schema\":\"imghist-diff/")},
    {"a Git LFS pointer", "it stands for the image; fetch that with 'git lfs pull'",
     ONE(0, "version https://git-lfs.")},
    {"bzip2", "decompress it first, as in 'bzip2 -dc IN | imghist -'", ONE(0, "BZh")},
    {"7z", UNPACK, ONE(0, "7z\xBC\xAF\x27\x1C")},
    {"RAR", UNPACK, ONE(0, "Rar!\x1A\7")},
    {"PDF", PAGES, ONE(0, "%PDF-")},
    {"DjVu", "it has pages; draw them first, for example with 'ddjvu -format=tiff IN OUT.tif'",
     ONE(0, "AT&TFORM")},
    {"PostScript", POSTSCRIPT, ONE(0, "%!PS")},
    {"EPS", POSTSCRIPT, ONE(0, "\xC5\xD0\xD3\xC6")},
    {"WMF", METAFILE, ONE(0, "\xD7\xCD\xC6\x9A")},
    {"WMF", METAFILE, ONE(0, "\1\0\x09\0\0\3")},
    {"EMF", METAFILE, AT(0, "\1\0\0\0"), AT(40, " EMF")},
    {"HEIF in its compact form (mif3)", CONVERT, ONE(4, "ftypmif3")},
    {"an image sequence (HEIF)", VIDEO, ONE(4, "ftypmsf1")},
    {"an image sequence (HEIF)", VIDEO, ONE(4, "ftyphevc")},
    {"an image sequence (AVIF)", VIDEO, ONE(4, "ftypavis")},
    {"a video (MP4)", VIDEO, ONE(4, "ftypiso")},
    {"a video (MP4)", VIDEO, ONE(4, "ftypmp4")},
    {"a video (MP4)", VIDEO, ONE(4, "ftypM4V")},
    {"a video (MP4)", VIDEO, ONE(4, "ftypavc1")},
    {"a video (MP4)", VIDEO, ONE(4, "ftypMSNV")},
    {"a video (MP4)", VIDEO, ONE(4, "ftypXAVC")},
    {"a video (3GP)", VIDEO, ONE(4, "ftyp3g")},
    {"a video (QuickTime)", VIDEO, ONE(4, "ftypqt  ")},
    {"a video (QuickTime)", VIDEO, ONE(4, "moov")},
    {"a video (Matroska)", VIDEO, ONE(0, "\x1A\x45\xDF\xA3")},
    {"a video (AVI)", VIDEO, AT(0, "RIFF"), AT(8, "AVI ")},
    {"a video (FLV)", VIDEO, ONE(0, "FLV\1")},
    {"a video (MPEG)", VIDEO, ONE(0, "\0\0\1\xBA")},
    {"a video (MPEG)", VIDEO, ONE(0, "\0\0\1\xB3")},
    {"a video (Ogg)", VIDEO, ONE(0, "OggS\0")},
    {"a video (WMV)", VIDEO, ONE(0, "\x30\x26\xB2\x75\x8E\x66\xCF\x11")},
};

static enum ih_status refuse(const char *name, const char *advice, struct ih_error *err)
{
    ih_error_set(err, IH_UNKNOWN, "cannot decode: %s is not supported: %s", name, advice);
    if (strcmp(advice, RAW) == 0)
        err->limit = IH_LIMIT_RAW_PREVIEW;
    return IH_UNKNOWN;
}

static bool has(const uint8_t *head, size_t size, size_t at, const char *bytes, size_t n)
{
    return at + n <= size && memcmp(head + at, bytes, n) == 0;
}

/* ---- camera raw files that are TIFF files ---- */

enum {
    TAG_SUBFILE_TYPE = 254, /* bit 0: a smaller version of another image in the file */
    TAG_PHOTOMETRIC = 262,
    TAG_MAKE = 271,
    TAG_DNG_VERSION = 50706,
    PHOTOMETRIC_FILTER_ARRAY = 32803,
    PHOTOMETRIC_LINEAR_RAW = 34892,
    ENTRY_BYTES = 12,
    ENTRIES_MAX = 256 /* first directories have fewer than 100 */
};

/* Copies the first directory of a TIFF. head: at least the file's header. A pipe's directory may be
 * out of reach. Returns the number of bytes. */
static size_t read_directory(struct ih_reader *src, const uint8_t *head, uint8_t *directory,
                             size_t size_bytes)
{
    const uint64_t at = head[0] == 'M' ? ih_be32(head + 4) : ih_le32(head + 4);
    const uint8_t *bytes;
    size_t size, n = ih_reader_read_at(src, at, directory, size_bytes);
    if (n == 0 && ih_reader_peek(src, IH_READER_BUFFER_BYTES, &bytes, &size, NULL) == IH_OK &&
        at < size) {
        n = size - at < size_bytes ? size - (size_t)at : size_bytes;
        memcpy(directory, bytes + at, n);
    }
    return n;
}

/* What the first directory says. DNG names itself. In files of other makers the first image is a
 * small preview that names the camera, or a sensor's values. */
static enum ih_status recognise_raw(struct ih_reader *src, const uint8_t *head,
                                    struct ih_error *err)
{
    uint8_t directory[2 + ENTRY_BYTES * ENTRIES_MAX];
    const bool is_big = head[0] == 'M';
    const size_t size = read_directory(src, head, directory, sizeof directory);
    bool has_make = false, is_reduced = false, is_raw = false;
    unsigned n = size < 2 ? 0 : is_big ? ih_be16(directory) : ih_le16(directory);
    for (size_t at = 2; n > 0 && at + ENTRY_BYTES <= size; n--, at += ENTRY_BYTES) {
        const uint8_t *entry = directory + at;
        const unsigned tag = is_big ? ih_be16(entry) : ih_le16(entry);
        const unsigned type = is_big ? ih_be16(entry + 2) : ih_le16(entry + 2);
        const uint32_t value = type == 3 ? (is_big ? ih_be16(entry + 8) : ih_le16(entry + 8))
                                         : (is_big ? ih_be32(entry + 8) : ih_le32(entry + 8));
        if (tag == TAG_DNG_VERSION)
            return refuse("camera raw (DNG)", RAW, err);
        has_make = has_make || tag == TAG_MAKE;
        is_reduced = is_reduced || (tag == TAG_SUBFILE_TYPE && (value & 1));
        is_raw = is_raw || (tag == TAG_PHOTOMETRIC &&
                            (value == PHOTOMETRIC_FILTER_ARRAY || value == PHOTOMETRIC_LINEAR_RAW));
    }
    return is_raw || (has_make && is_reduced) ? refuse("camera raw", RAW, err) : IH_OK;
}

/* ---- text ---- */

enum { TEXT_BYTES = 1024 }; /* a comment or a document type may precede the first element */

/* Whether a word, in lower case, occurs at `at` in letters of either case. */
static bool is_word(const uint8_t *head, size_t size, size_t at, const char *word)
{
    for (; *word; word++, at++)
        if (at >= size || (head[at] | (head[at] >= 'A' && head[at] <= 'Z' ? 32 : 0)) != *word)
            return false;
    return true;
}

static enum ih_status recognise_text(const uint8_t *head, size_t size, struct ih_error *err)
{
    for (size_t at = 0; at < size; at++) {
        if (is_word(head, size, at, "<svg"))
            return refuse("SVG", VECTOR, err);
        if (is_word(head, size, at, "<!doctype html") || is_word(head, size, at, "<html") ||
            is_word(head, size, at, "<head") || is_word(head, size, at, "<body"))
            return refuse("HTML", WEB, err);
    }
    return is_word(head, size, 0, "<?xml") || is_word(head, size, 0, "<error")
               ? refuse("XML", WEB, err)
               : IH_OK;
}

/* Whether it seems to be a result file in another layout. */
static bool is_like_records(const uint8_t *head, size_t size)
{
    for (size_t at = 0; at < size; at++)
        if (has(head, size, at, "\"imghist", 8) || has(head, size, at, "\"channels\"", 10))
            return true;
    return false;
}

/* Steps over white space. Returns the byte that follows it, or NUL. */
static uint8_t next_character(const uint8_t *head, size_t size, size_t *at)
{
    while (*at < size && memchr(" \t\r\n", head[*at], 4))
        ++*at;
    return *at < size ? head[(*at)++] : 0;
}

enum ih_status ih_recognise(struct ih_reader *src, struct ih_error *err)
{
    const uint8_t *head;
    size_t size;
    if (ih_reader_peek(src, TEXT_BYTES, &head, &size, err) != IH_OK)
        return err->status;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const struct signature *s = &signatures[i];
        if (has(head, size, s->at, s->bytes, s->n) &&
            (!s->bytes_2 || has(head, size, s->at_2, s->bytes_2, s->n_2)))
            return refuse(s->name, s->advice, err);
    }
    size = size < TEXT_BYTES ? size : TEXT_BYTES;
    size_t at = has(head, size, 0, "\xEF\xBB\xBF", 3) ? 3 : 0; /* a byte order mark */
    const uint8_t first = next_character(head, size, &at);
    if ((first == '{' && next_character(head, size, &at) == '"') ||
        (first == '[' && next_character(head, size, &at) == '{'))
        return refuse("JSON", is_like_records(head, size) ? JSON : WEB, err);
    if (first == '<')
        return recognise_text(head + at - 1, size - at + 1, err);
    const bool is_tiff =
        size >= 8 && (has(head, size, 0, "II*\0", 4) || has(head, size, 0, "MM\0*", 4));
    return is_tiff ? recognise_raw(src, head, err) : IH_OK;
}
