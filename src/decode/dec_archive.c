/*
 * Reads tar and zip files with libarchive and turns them into a stream of packets (archive.h).
 *
 * Only these formats are enabled: tar; zip; and one layer of gzip, zstd or xz around them. Zip is
 * read forward, from the header before each member. So an archive has the same members in a file
 * and in a pipe, and memory does not grow with their number.
 *
 * The content of a member is only copied if it begins like an image. An archive within an archive
 * does not.
 *
 * libarchive checks the checksums of tar headers, zip members, xz and zstd, but neither those of
 * gzip nor the directory at the end of a zip file. So zlib inflates gzip here, and the directory is
 * compared with the members that came before it.
 *
 * A zip file with 10,000 deflated JPEGs (130 MB) takes 0.51 s of CPU time here and 2.6 s in the
 * workers, which hardly wait. Of the 0.51 s, zlib's inflate and CRC take 0.41 s. libdeflate needs
 * 0.29 s, but libarchive does not use it, and 4 % are not worth a reader of our own (EPYC, November
 * 2026).
 */
#define ZLIB_CONST
#include "decode/archive.h"

#include "base/dynlib.h"
#include "base/text.h"
#include "decode/recognise.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char utf_8[] = "C.UTF-8";

/* The functions of libarchive that are called. */
#define ARCHIVE_CALLS(F)                                                           \
    F(struct archive *, archive_read_new, (void))                                  \
    F(int, archive_read_free, (struct archive *))                                  \
    F(int, archive_read_support_format_tar, (struct archive *))                    \
    F(int, archive_read_support_format_zip_streamable, (struct archive *))         \
    F(int, archive_read_support_filter_xz, (struct archive *))                     \
    F(int, archive_read_support_filter_zstd, (struct archive *))                   \
    F(int, archive_read_set_options, (struct archive *, const char *))             \
    F(int, archive_read_open2,                                                     \
      (struct archive *, void *, archive_open_callback *, archive_read_callback *, \
       archive_skip_callback *, archive_close_callback *))                         \
    F(int, archive_read_next_header, (struct archive *, struct archive_entry **))  \
    F(la_ssize_t, archive_read_data, (struct archive *, void *, size_t))           \
    F(int, archive_format, (struct archive *))                                     \
    F(la_int64_t, archive_read_header_position, (struct archive *))                \
    F(int, archive_filter_count, (struct archive *))                               \
    F(la_int64_t, archive_filter_bytes, (struct archive *, int))                   \
    F(int, archive_errno, (struct archive *))                                      \
    F(const char *, archive_error_string, (struct archive *))                      \
    F(const char *, archive_entry_pathname, (struct archive_entry *))              \
    F(const char *, archive_entry_hardlink, (struct archive_entry *))              \
    F(__LA_MODE_T, archive_entry_filetype, (struct archive_entry *))               \
    F(la_int64_t, archive_entry_size, (struct archive_entry *))                    \
    F(int, archive_entry_size_is_set, (struct archive_entry *))                    \
    F(int, archive_entry_sparse_count, (struct archive_entry *))                   \
    F(int, archive_entry_is_encrypted, (struct archive_entry *))

struct archive_calls {
    ARCHIVE_CALLS(IH_DYNLIB_MEMBER)
};
IH_DYNLIB_LOADER(ARCHIVE_CALLS, struct archive_calls, IH_SONAME_archive)

/*
 * An archive is a decompression bomb if it expands to more than EXPANDED_BYTES and to more than
 * EXPANSION_MAX times its size. Deflate reaches 1032; images that compress as well are not worth
 * the risk. A plain tar file can expand too, through sparse members.
 */
enum { EXPANSION_MAX = 1000 };
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* a fuzzer would spend its time on bombs */
#define EXPANDED_BYTES ((uint64_t)1 << 22)
#else
#define EXPANDED_BYTES ((uint64_t)1 << 30)
#endif

/* libarchive's error number if it recognises no format. Its header is not installed. */
#ifdef EFTYPE
enum { NO_FORMAT = EFTYPE };
#else
enum { NO_FORMAT = EILSEQ };
#endif

enum {
    BLOCK_BYTES = 512,           /* of tar */
    SHOWN_BYTES = 64 * 1024,     /* the most that libarchive is given at once */
    INFLATED_BYTES = 256 * 1024, /* the same, of gzip */
    RECENT_BYTES = 1024 * 1024,  /* of a zip file; hold the longest header and what follows it */
    MESSAGE_MAX = 160,
    END_ROOM = 2 * (sizeof(struct ih_packet) + MESSAGE_MAX), /* DONE and END */
    ROW_BYTES = 128 * 1024 /* the least room that read gets; holds the longest packet of a name */
};
_Static_assert(ROW_BYTES > 2 * IH_MEMBER_NAME_MAX + END_ROOM, "a name fits into an empty buffer");

/* What the header of a zip file's member says. */
struct listed {
    uint64_t hash, at, number;
    uint32_t n_packed, n_unpacked;
    bool is_named; /* by the directory at the end */
};

struct archive_state {
    struct archive_calls lib;
    struct archive *archive; /* owned */
    struct ih_reader *src;   /* borrowed */
    locale_t locale;         /* owned; 0: none */
    uint64_t member_bytes_max;
    bool is_pipe; /* a member is sent as soon as it is complete */
    bool is_in_member, is_in_last_hole, is_in_directory, is_at_end;
    bool has_ended;     /* the reader has no more bytes */
    bool ends_in_zeros; /* the last block that was read is zero */
    uint64_t n_members;
    uint64_t n_in, n_out; /* bytes: of the archive, and of the members' content */
    uint64_t n_given;     /* bytes that libarchive has been given */
    size_t n_shown;       /* of these, those that the next read consumes */

    bool is_gzip, is_in_gzip; /* within a gzip stream of the file, which may have several */
    z_stream gunzip;
    uint8_t *inflated;          /* owned, [INFLATED_BYTES]; NULL: no gzip */
    struct ih_error gzip_error; /* after the inflated bytes */

    uint8_t *recent;       /* owned: byte n is at n % RECENT_BYTES; NULL: no zip */
    struct listed *listed; /* owned, [n_listed_max]; of the n_members so far */
    size_t n_listed_max;
    uint64_t n_in_directory; /* members that the directory has named so far */
    uint64_t directory_at;   /* its next record */
    uint64_t offset;         /* of the archive in the file */
    size_t n_head;           /* bytes of head, the start of the member */
    size_t n_sent;           /* the first n_sent of these have been sent */
    uint64_t n_unsent;       /* bytes of a sparse member, which may end in a hole; else 0 */
    uint8_t head[IH_ARCHIVE_PROBE_BYTES];
    struct ih_error error; /* of opening the archive, of reading the reader, or a limit */
};

static enum ih_status prepare(struct ih_error *err)
{
    struct archive_calls calls;
    /* The sandbox cannot open the files of a locale. While it is in use, it stays in memory. */
    const locale_t locale = newlocale(LC_CTYPE_MASK, utf_8, (locale_t)0);
    if (locale)
        uselocale(locale);
    return load(&calls, err);
}

/* ---- the archive's bytes ---- */

static bool is_bomb(const struct archive_state *s)
{
    const la_int64_t n = s->lib.archive_filter_bytes(s->archive, 0);
    const uint64_t n_expanded = n > 0 && (uint64_t)n > s->n_out ? (uint64_t)n : s->n_out;
    return n_expanded > EXPANDED_BYTES && n_expanded / EXPANSION_MAX > s->n_in;
}

static void fail_bomb(struct archive_state *s)
{
    ih_error_set(&s->error, IH_LIMIT,
                 "the archive expands to more than %d times its size, like a decompression bomb",
                 EXPANSION_MAX);
}

/* ---- gzip ---- */

/* A wrong checksum shows that bytes are damaged, but not which: those that wait are dropped. */
static void fail_gzip(struct archive_state *s, const char *text)
{
    const bool is_checksum = text && strstr(text, " check");
    ih_error_set(is_checksum ? &s->error : &s->gzip_error, IH_CORRUPT,
                 "damaged archive: gzip: %s%s", text ? text : "invalid data",
                 is_checksum ? " (any of its images may be damaged)" : "");
}

/* Inflates bytes of the file. Returns false at its end, and at a failure. */
static bool inflate_some(struct archive_state *s)
{
    z_stream *z = &s->gunzip;
    size_t n;
    if (ih_reader_peek(s->src, 1, &z->next_in, &n, &s->error) != IH_OK)
        return false;
    size_t n_zeros = 0; /* padding */
    while (!s->is_in_gzip && n_zeros < n && z->next_in[n_zeros] == 0)
        n_zeros++;
    if (n_zeros > 0) {
        ih_reader_consume(s->src, n_zeros);
        return true;
    }
    s->has_ended = n == 0;
    if (n == 0 && s->is_in_gzip)
        fail_gzip(s, "the file ends early");
    else if (n > 0 && !s->is_in_gzip && z->next_in[0] != 0x1F)
        fail_gzip(s, "other data follows its end");
    if (n == 0 || s->gzip_error.status != IH_OK)
        return false;
    s->is_in_gzip = true;
    z->avail_in = n < UINT_MAX ? (uInt)n : UINT_MAX;
    const size_t n_offered = z->avail_in;
    const int r = inflate(z, Z_NO_FLUSH);
    ih_reader_consume(s->src, n_offered - z->avail_in);
    s->n_in += n_offered - z->avail_in;
    if (r == Z_STREAM_END) {
        s->is_in_gzip = false;
        inflateReset(z);
    } else if (r == Z_MEM_ERROR) {
        ih_error_set(&s->error, IH_MEMORY, "out of memory");
    } else if (r != Z_OK && r != Z_BUF_ERROR) {
        fail_gzip(s, z->msg);
    }
    /* A member that has come through a pipe does not wait for the next one. */
    const size_t n_inflated = INFLATED_BYTES - z->avail_out;
    const bool may_wait =
        !s->is_pipe || z->avail_in > 0 || n_inflated < (s->n_given > 0 ? 1 : IH_PROBE_BYTES);
    return s->error.status == IH_OK && s->gzip_error.status == IH_OK && may_wait;
}

/* *n 0: the end. Returns false at a failure. */
static bool read_gzip(struct archive_state *s, const uint8_t **bytes, size_t *n)
{
    s->gunzip.next_out = s->inflated;
    s->gunzip.avail_out = INFLATED_BYTES;
    while (s->gunzip.avail_out > 0 && inflate_some(s)) {
    }
    *bytes = s->inflated;
    *n = INFLATED_BYTES - s->gunzip.avail_out;
    if (s->error.status == IH_OK && *n == 0)
        s->error = s->gzip_error;
    if (s->n_given == 0 && ih_archive_probe(s->inflated, *n) == IH_ARCHIVE_COMPRESSED)
        ih_error_set(&s->error, IH_LIMIT, "compressed more than once");
    return s->error.status == IH_OK;
}

static enum ih_status open_gzip(struct archive_state *s, struct ih_error *err)
{
    enum { GZIP_ONLY = 16 };
    s->inflated = malloc(INFLATED_BYTES);
    if (!s->inflated || inflateInit2(&s->gunzip, MAX_WBITS + GZIP_ONLY) != Z_OK)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    return IH_OK;
}

/* ---- what libarchive reads ---- */

/* Whether the last block of n bytes, or all of them, is zero. */
static bool is_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = n > BLOCK_BYTES ? n - BLOCK_BYTES : 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

static bool is_zip(const struct archive_state *s)
{
    return (s->lib.archive_format(s->archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP;
}

/* Whether the end of a tar file is missing. A tar file ends in a block of zeros, but libarchive
 * also accepts the end of the file. So an archive that was cut between two members would look
 * complete. Compressed files have an end of their own. */
static bool is_cut(const struct archive_state *s)
{
    return !is_zip(s) && !s->is_gzip && s->lib.archive_filter_count(s->archive) == 1 &&
           s->has_ended && !s->ends_in_zeros;
}

static bool archive_read_plain(struct archive_state *s, const uint8_t **bytes, size_t *n)
{
    ih_reader_consume(s->src, s->n_shown);
    s->n_shown = 0;
    if (ih_reader_peek(s->src, 1, bytes, n, &s->error) != IH_OK)
        return false;
    s->n_shown = *n = *n < SHOWN_BYTES ? *n : SHOWN_BYTES;
    s->n_in += *n;
    s->has_ended = *n == 0;
    if (*n > 0)
        s->ends_in_zeros = is_zero(*bytes, *n) && (*n >= BLOCK_BYTES || s->ends_in_zeros);
    return true;
}

/* Reads the next bytes, and keeps those of a zip file. */
static bool archive_read_more(struct archive_state *s, const uint8_t **bytes, size_t *n)
{
    if (s->error.status != IH_OK ||
        !(s->is_gzip ? read_gzip(s, bytes, n) : archive_read_plain(s, bytes, n)))
        return false;
    if (s->n_given == 0 && ih_archive_probe(*bytes, *n) == IH_ARCHIVE_ZIP &&
        !(s->recent = calloc(1, RECENT_BYTES)))
        return ih_error_set(&s->error, IH_MEMORY, "out of memory"), false;
    const size_t at = (size_t)(s->n_given % RECENT_BYTES), room = RECENT_BYTES - at;
    const size_t n_first = *n < room ? *n : room;
    if (s->recent && *n > 0) {
        memcpy(s->recent + at, *bytes, n_first);
        memcpy(s->recent, *bytes + n_first, *n - n_first);
    }
    s->n_given += *n;
    return true;
}

/* Reads for libarchive. It checks for a bomb here, because libarchive may skip many members in one
 * call. */
static la_ssize_t read_source(struct archive *archive, void *user, const void **bytes)
{
    struct archive_state *s = user;
    const uint8_t *next = NULL;
    size_t n = 0;
    (void)archive;
    if (is_bomb(s))
        fail_bomb(s);
    if (!archive_read_more(s, &next, &n))
        return -1;
    *bytes = next;
    return (la_ssize_t)n;
}

/* Fills err with the error of the reader, or else of libarchive. */
static void explain(const struct archive_state *s, struct ih_error *err)
{
    const char *text = s->lib.archive_error_string(s->archive);
    if (!text || strstr(text, "No progress is possible")) /* liblzma */
        text = "the file ends early";
    if (s->error.status != IH_OK)
        *err = s->error;
    else if (s->lib.archive_errno(s->archive) == NO_FORMAT && s->n_members == 0 &&
             (s->is_gzip || s->lib.archive_filter_count(s->archive) > 1))
        ih_error_set(
            err, IH_UNKNOWN,
            "cannot decode: compressed, but not a tar file; decompress one image first, as in "
            "'gzip -dc FILE | imghist -', and with xz or zstd for their files");
    else if (s->lib.archive_errno(s->archive) == ENOMEM)
        ih_error_set(err, IH_MEMORY, "out of memory");
    else
        ih_error_set(err, IH_CORRUPT, "damaged archive: %.*s", (int)strcspn(text, "\n"), text);
}

/* ---- packets ---- */

struct output {
    uint8_t *bytes;
    size_t n, capacity;
};

static void archive_put(struct output *out, const void *bytes, size_t n)
{
    assert(n <= out->capacity - out->n);
    memcpy(out->bytes + out->n, bytes, n);
    out->n += n;
}

/* Appends a packet with its bytes and the error, IH_OK or not. */
static void put_packet(struct output *out, enum ih_packet_kind kind, uint64_t size_bytes,
                       const void *bytes, size_t n_bytes, const struct ih_error *error)
{
    const size_t n = error->status == IH_OK ? 0 : strlen(error->message);
    const struct ih_packet f = {.kind = (uint32_t)kind,
                                .status = (uint32_t)error->status,
                                .n_bytes = (uint32_t)n_bytes,
                                .n_message = (uint32_t)(n < MESSAGE_MAX ? n : MESSAGE_MAX),
                                .size_bytes = size_bytes};
    archive_put(out, &f, sizeof f);
    archive_put(out, bytes, n_bytes);
    archive_put(out, error->message, f.n_message);
}

static void put_end(struct archive_state *s, struct output *out, const struct ih_error *error)
{
    put_packet(out, IH_PACKET_END, 0, "", 0, error);
    s->is_at_end = true;
}

/* ---- the directory of a zip file ----
 *
 * A zip file names its members twice: in a header before each, and in the directory at its end,
 * which other programs read. Members that only one of them names are errors, and so are members
 * that they describe differently. The directory comes after the members, so 40 bytes of each member
 * stay in memory. Source: APPNOTE.TXT 6.3.10, sections 4.3 and 4.4.
 */

enum { LOCAL_BYTES = 30, LISTED_BYTES = 46, END_BYTES = 22 };

static uint8_t recent_byte(const struct archive_state *s, uint64_t at)
{
    return s->recent[at % RECENT_BYTES];
}

static uint64_t recent_number(const struct archive_state *s, uint64_t at, unsigned n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | recent_byte(s, at + n);
    return value;
}

/* Whether a record begins here: 'P', 'K' and these two bytes. */
static bool is_record(const struct archive_state *s, uint64_t at, unsigned third, unsigned fourth)
{
    return recent_number(s, at, 4) == ('P' | 'K' << 8 | third << 16 | (uint64_t)fourth << 24);
}

/* Hashes a member's name, method and CRC. fields_at: of a header; in the directory the same fields
 * begin two bytes later. A header that was written before its content has no CRC. */
static uint64_t hash_member(const struct archive_state *s, uint64_t fields_at, uint64_t name_at,
                            bool has_crc)
{
    uint64_t hash = IH_HASH_START;
    const uint64_t n_name = recent_number(s, fields_at + 26, 2);
    const uint64_t numbers[] = {recent_number(s, fields_at + 8, 2),
                                has_crc ? recent_number(s, fields_at + 14, 4) : 0};
    for (uint64_t i = 0; i < n_name; i++) {
        const uint8_t byte = recent_byte(s, name_at + i);
        hash = ih_hash(hash, &byte, 1);
    }
    return ih_hash(hash, numbers, sizeof numbers);
}

/* A header that was written before its content has neither CRC nor sizes. */
static bool is_early(const struct archive_state *s, uint64_t at)
{
    return recent_number(s, at + 6, 2) & 8;
}

/* Describes the header that libarchive has just read. All 0: it is too long to be kept. */
static struct listed read_listed(const struct archive_state *s)
{
    const uint64_t end = (uint64_t)s->lib.archive_filter_bytes(s->archive, 0);
    const uint64_t kept = s->n_given > RECENT_BYTES ? s->n_given - RECENT_BYTES : 0;
    uint64_t at = (uint64_t)s->lib.archive_read_header_position(s->archive);
    for (at = at > kept ? at : kept; at + LOCAL_BYTES <= end; at++)
        if (is_record(s, at, 3, 4) &&
            at + LOCAL_BYTES + recent_number(s, at + 26, 2) + recent_number(s, at + 28, 2) == end)
            return (struct listed){
                .hash = hash_member(s, at, at + LOCAL_BYTES, !is_early(s, at)),
                .at = at,
                .n_packed = is_early(s, at) ? UINT32_MAX : (uint32_t)recent_number(s, at + 18, 4),
                .n_unpacked =
                    is_early(s, at) ? UINT32_MAX : (uint32_t)recent_number(s, at + 22, 4)};
    return (struct listed){.hash = 0};
}

/* Notes the member that libarchive has just found. Returns false without memory. */
static bool list_member(struct archive_state *s)
{
    if (s->n_members == s->n_listed_max) {
        const size_t n = s->n_listed_max ? 2 * s->n_listed_max : 64;
        struct listed *grown =
            n < SIZE_MAX / 2 / sizeof *grown ? realloc(s->listed, n * sizeof *grown) : NULL;
        if (!grown)
            return false;
        s->listed = grown;
        s->n_listed_max = n;
    }
    s->listed[s->n_members] = read_listed(s);
    s->listed[s->n_members].number = s->n_members + 1;
    return true;
}

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : x->number < y->number ? -1 : 1;
}

/* Takes one member with this hash that the directory has not named yet: in each group of equal
 * hashes, these come after the others. NULL: there is none. */
static struct listed *name_member(struct archive_state *s, uint64_t hash)
{
    size_t low = 0, high = (size_t)s->n_members;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct listed *m = &s->listed[middle];
        if (m->hash < hash || (m->hash == hash && m->is_named))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == s->n_members || s->listed[low].hash != hash)
        return NULL;
    s->listed[low].is_named = true;
    return &s->listed[low];
}

/* Whether a number differs from what the directory says. All ones: a 64-bit field has it. */
static bool differs(uint64_t number, uint64_t in_directory)
{
    return number != in_directory && number < UINT32_MAX && in_directory < UINT32_MAX;
}

/* What is wrong with the directory's entry at `at`; NULL: nothing. Places count from the archive's
 * start, which may be later than the file's. */
static const char *compare_entry(struct archive_state *s, uint64_t at)
{
    const struct listed *m = name_member(s, hash_member(s, at + 2, at + LISTED_BYTES, true));
    if (!m)
        m = name_member(s, hash_member(s, at + 2, at + LISTED_BYTES, false));
    if (!m)
        return "but the member is missing, or has another header";
    const uint64_t place = recent_number(s, at + 42, 4);
    if (s->n_in_directory == 0)
        s->offset = m->at - place;
    if (differs(m->n_packed, recent_number(s, at + 20, 4)) ||
        differs(m->n_unpacked, recent_number(s, at + 24, 4)) || differs(m->at - s->offset, place))
        return "with another size or at another place";
    return NULL;
}

/* Reads on until the file's bytes before `end` have come. Returns false at its end. */
static bool has_come(struct archive_state *s, uint64_t end)
{
    const uint8_t *bytes;
    size_t n = 1;
    while (s->n_given < end && n > 0 && archive_read_more(s, &bytes, &n)) {
    }
    return s->n_given >= end;
}

/* Finds the directory after the last member, as libarchive has just done. */
static void zip_find_directory(struct archive_state *s)
{
    uint64_t at = (uint64_t)s->lib.archive_filter_bytes(s->archive, 0);
    while (has_come(s, at + 4) && !is_record(s, at, 1, 2) && !is_record(s, at, 5, 6) &&
           !is_record(s, at, 6, 6))
        at++;
    s->directory_at = at;
    s->is_in_directory = true;
    if (s->n_members > 0)
        qsort(s->listed, (size_t)s->n_members, sizeof *s->listed, compare_listed);
}

/* After the last record of the directory. */
static void end_directory(struct archive_state *s, uint64_t n_stated, struct ih_error *err)
{
    uint64_t n_missing = 0, first = UINT64_MAX;
    for (uint64_t i = 0; i < s->n_members; i++)
        if (!s->listed[i].is_named) {
            n_missing++;
            first = s->listed[i].number < first ? s->listed[i].number : first;
        }
    bool is_followed = false; /* by another archive, whose directory other programs read */
    for (uint64_t at = s->directory_at; !is_followed && has_come(s, at + 4); at++)
        is_followed = is_record(s, at, 5, 6);
    if (n_missing > 0)
        ih_error_set(err, IH_CORRUPT,
                     "damaged archive: its directory lacks %llu of its members, or has others in "
                     "their place; the first is member %llu",
                     (unsigned long long)n_missing, (unsigned long long)first);
    else if (n_stated != (s->n_in_directory & UINT16_MAX) && n_stated != UINT16_MAX)
        ih_error_set(err, IH_CORRUPT,
                     "damaged archive: its directory states %llu members and names %llu",
                     (unsigned long long)n_stated, (unsigned long long)s->n_in_directory);
    else if (is_followed)
        ih_error_set(err, IH_CORRUPT, "damaged archive: another zip archive follows its end");
}

/* Sends a member that the directory names and the file does not have, or not so. */
static void put_named(struct archive_state *s, const char *what, struct output *out)
{
    const uint64_t name_at = s->directory_at + LISTED_BYTES;
    static const char no_name[] = "(no name)";
    struct ih_error error;
    char name[IH_MEMBER_NAME_MAX];
    size_t n = (size_t)recent_number(s, s->directory_at + 28, 2), i = 0;
    for (n = n < sizeof name ? n : sizeof name; i < n && recent_byte(s, name_at + i); i++)
        name[i] = (char)recent_byte(s, name_at + i);
    ih_error_set(&error, IH_CORRUPT, "damaged archive: its directory names this member, %s", what);
    put_packet(out, IH_PACKET_MEMBER, UINT64_MAX, i ? name : no_name, i ? i : sizeof no_name - 1,
               &error);
}

/* Reads the next record of the directory, and sends a member that only the directory has. */
static void next_record(struct archive_state *s, struct output *out)
{
    struct ih_error error = {0};
    const uint64_t at = s->directory_at;
    bool is_known = has_come(s, at + 4), is_end = false;
    if (is_known && is_record(s, at, 1, 2) && has_come(s, at + LISTED_BYTES)) {
        const uint64_t name_end = at + LISTED_BYTES + recent_number(s, at + 28, 2);
        const uint64_t n_rest = recent_number(s, at + 30, 2) + recent_number(s, at + 32, 2);
        is_known = has_come(s, name_end);
        const char *what = is_known ? compare_entry(s, at) : NULL;
        if (what)
            put_named(s, what, out);
        s->n_in_directory++;
        s->directory_at = name_end + n_rest;
    } else if (is_known && is_record(s, at, 6, 6) && has_come(s, at + 12)) { /* of 64 bits */
        const uint64_t n = recent_number(s, at + 4, 8);
        is_known = n <= UINT32_MAX;
        s->directory_at += 12 + n;
    } else if (is_known && is_record(s, at, 6, 7)) {
        s->directory_at += 20;
    } else if (is_known && is_record(s, at, 5, 5) && has_come(s, at + 6)) { /* a signature */
        s->directory_at += 6 + recent_number(s, at + 4, 2);
    } else {
        is_known = is_end = is_known && is_record(s, at, 5, 6) && has_come(s, at + END_BYTES);
        s->directory_at += is_end ? END_BYTES + recent_number(s, at + 20, 2) : 0;
    }
    if (is_end)
        end_directory(s, recent_number(s, at + 10, 2), &error);
    if (s->error.status != IH_OK)
        error = s->error;
    else if (!is_known)
        ih_error_set(&error, IH_CORRUPT, "damaged archive: its directory at the end is %s",
                     s->has_ended ? "cut" : "damaged");
    if (is_end || error.status != IH_OK)
        put_end(s, out, &error);
}

/* ---- members ---- */

/* Whether a part of the name begins with a dot. A directory walk skips such files too. */
static bool is_hidden(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (part[0] == '.' && part[1] != '/' && part[1] != '\0')
            return true;
    }
    return false;
}

/* Reads the first bytes of a member. Returns the result of the last read: a number of bytes, or an
 * error below 0. */
static la_ssize_t read_head(struct archive_state *s)
{
    la_ssize_t n = 1;
    s->n_head = s->n_sent = 0;
    while (n > 0 && s->n_head < sizeof s->head) {
        n = s->lib.archive_read_data(s->archive, s->head + s->n_head, sizeof s->head - s->n_head);
        s->n_head += n > 0 ? (size_t)n : 0;
    }
    s->n_out += s->n_head;
    return n;
}

/* Sets err unless the content of the member is to be sent. IH_UNKNOWN: it is no image. */
static void judge_member(struct archive_state *s, struct archive_entry *entry, const char *name,
                         uint64_t size_bytes, struct ih_error *err)
{
    struct ih_reader head = {.is_open = false};
    if (!name)
        ih_error_set(err, IH_CORRUPT, "the name of this member leads out of the archive");
    else if (strlen(name) > IH_MEMBER_NAME_MAX)
        ih_error_set(err, IH_LIMIT, "its name has more than %d bytes", IH_MEMBER_NAME_MAX);
    else if (s->lib.archive_entry_hardlink(entry) ||
             s->lib.archive_entry_filetype(entry) == AE_IFLNK)
        ih_error_set(err, IH_UNKNOWN, "cannot decode: a link to another file, without content");
    else if (s->lib.archive_entry_filetype(entry) != AE_IFREG)
        ih_error_set(err, IH_UNKNOWN, "cannot decode: a device or pipe");
    else if (s->lib.archive_entry_is_encrypted(entry))
        ih_error_set(err, IH_UNSUPPORTED, "encrypted: extract it with its password first");
    else if (read_head(s) < 0)
        explain(s, err);
    else if (s->n_head == 0)
        ih_error_set(err, IH_UNKNOWN, "cannot decode: the file is empty");
    else if (ih_archive_probe(s->head, s->n_head) == IH_ARCHIVE_TAR ||
             (ih_archive_is_name(name) && !ih_decode_is_image(s->head, s->n_head)))
        ih_error_set(err, IH_UNKNOWN,
                     "cannot decode: an archive within an archive is not read; extract it first");
    else if (!ih_decode_is_image(s->head, s->n_head)) {
        ih_reader_open_memory(&head, s->head, s->n_head);
        if (ih_recognise(&head, err) == IH_OK)
            ih_error_set(err, IH_UNKNOWN, "cannot decode: not an image of a known format");
    } else if (size_bytes != UINT64_MAX && size_bytes > s->member_bytes_max)
        ih_error_set(err, IH_LIMIT, "too large"); /* archive.c adds the limit */
}

/* Reads the next header and sends the member's name, or the end of the archive. */
static void next_member(struct archive_state *s, struct output *out)
{
    struct archive_entry *entry;
    struct ih_error error = {0};
    const int r = s->error.status == IH_OK ? s->lib.archive_read_next_header(s->archive, &entry)
                                           : ARCHIVE_FATAL;
    if (r == ARCHIVE_EOF && s->recent) {
        zip_find_directory(s);
        return;
    }
    const bool is_member = r == ARCHIVE_OK || r == ARCHIVE_WARN;
    if (!is_member && r != ARCHIVE_EOF)
        explain(s, &error);
    else if (!is_member && is_cut(s))
        ih_error_set(&error, IH_CORRUPT, "damaged archive: it ends without an end mark");
    else if (is_member && is_zip(s) && !s->recent)
        ih_error_set(&error, IH_UNSUPPORTED, "a compressed zip file: decompress it first");
    else if (is_member && s->recent && !list_member(s))
        ih_error_set(&error, IH_MEMORY, "out of memory");
    if (!is_member || error.status != IH_OK) {
        put_end(s, out, &error);
        return;
    }
    s->n_members++;
    const char *full_name = s->lib.archive_entry_pathname(entry);
    const char *name = full_name ? ih_member_name(full_name) : "";
    uint64_t size_bytes = UINT64_MAX;
    if (s->lib.archive_entry_size_is_set(entry))
        size_bytes = (uint64_t)s->lib.archive_entry_size(entry);
    s->is_in_last_hole = false;
    const bool is_sparse = s->lib.archive_entry_sparse_count(entry) > 0;
    s->n_unsent = is_sparse && size_bytes != UINT64_MAX ? size_bytes : 0;
    if (s->lib.archive_entry_filetype(entry) == AE_IFDIR || (name && is_hidden(name)))
        return;
    judge_member(s, entry, name, size_bytes, &error);
    name = name ? name : full_name;
    name = *name ? name : "(no name)";
    const size_t n = strlen(name);
    put_packet(out, IH_PACKET_MEMBER, size_bytes, name,
               n < IH_MEMBER_NAME_MAX ? n : IH_MEMBER_NAME_MAX, &error);
    s->is_in_member = error.status == IH_OK;
}

/* Sends as much of the member's content as there is room for. */
static void put_content(struct archive_state *s, struct output *out)
{
    struct ih_error error = {0};
    uint8_t *const packet = out->bytes + out->n, *const bytes = packet + sizeof(struct ih_packet);
    const size_t room = out->capacity - out->n - sizeof(struct ih_packet) - END_ROOM;
    size_t n = s->n_head - s->n_sent < room ? s->n_head - s->n_sent : room;
    memcpy(bytes, s->head + s->n_sent, n);
    s->n_sent += n;
    la_ssize_t got = 0;
    if (n < room && !s->is_in_last_hole)
        got = s->lib.archive_read_data(s->archive, bytes + n, room - n);
    bool is_last = got < (la_ssize_t)(room - n);
    if (got < 0)
        explain(s, &error);
    n += got > 0 ? (size_t)got : 0;
    s->n_out += got > 0 ? (uint64_t)got : 0;
    s->n_unsent -= n < s->n_unsent ? n : s->n_unsent;
    if (is_last && got >= 0 && s->n_unsent > 0) { /* libarchive leaves out a hole at the end */
        const size_t n_zeros = s->n_unsent < room - n ? (size_t)s->n_unsent : room - n;
        memset(bytes + n, 0, n_zeros);
        n += n_zeros;
        s->n_out += n_zeros;
        s->n_unsent -= n_zeros;
        is_last = s->n_unsent == 0;
        s->is_in_last_hole = !is_last; /* the next read would return the hole again */
    }
    if (n > 0) {
        const struct ih_packet f = {.kind = IH_PACKET_DATA, .n_bytes = (uint32_t)n};
        memcpy(packet, &f, sizeof f);
        out->n += sizeof f + n;
    }
    if (!is_last)
        return;
    put_packet(out, IH_PACKET_DONE, 0, "", 0, &error);
    s->is_in_member = false;
}

/* ---- the interface of a decoder ---- */

static enum ih_status read_packets(void *state, uint8_t *bytes, size_t capacity, size_t *n_bytes,
                                   struct ih_error *err)
{
    struct archive_state *s = state;
    struct output out = {bytes, 0, capacity};
    (void)err;
    const locale_t before = s->locale ? uselocale(s->locale) : (locale_t)0;
    while (!s->is_at_end && capacity - out.n >= ROW_BYTES) {
        if (s->is_in_member)
            put_content(s, &out);
        else if (s->is_in_directory)
            next_record(s, &out);
        else
            next_member(s, &out);
        if (!s->is_at_end && is_bomb(s)) {
            fail_bomb(s);
            if (s->is_in_member)
                put_packet(&out, IH_PACKET_DONE, 0, "", 0, &s->error);
            put_end(s, &out, &s->error);
        }
        if (s->is_pipe && !s->is_in_member && out.n > 0)
            break;
    }
    if (s->locale)
        uselocale(before);
    *n_bytes = out.n;
    return IH_OK;
}

static void close_archive(void *state)
{
    struct archive_state *s = state;
    if (s->archive)
        s->lib.archive_read_free(s->archive);
    if (s->locale)
        freelocale(s->locale);
    if (s->is_gzip)
        inflateEnd(&s->gunzip);
    free(s->inflated);
    free(s->recent);
    free(s->listed);
}

/* The locale in which libarchive converts names that are marked as UTF-8. If the locale's encoding
 * lacks a character, the name in a zip file is lost, so zip needs UTF-8. The name in a tar file
 * stays as it is, and UTF-8 would normalize it. */
static locale_t locale_of_names(bool is_zip)
{
    return newlocale(LC_CTYPE_MASK, is_zip ? utf_8 : "C", (locale_t)0);
}

static enum ih_status open_libarchive(struct archive_state *s, struct ih_error *err)
{
    s->archive = s->lib.archive_read_new();
    if (!s->archive)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    /* ARCHIVE_WARN: this libarchive would run another program, which the sandbox prevents. */
    if (s->lib.archive_read_support_format_tar(s->archive) != ARCHIVE_OK ||
        s->lib.archive_read_support_format_zip_streamable(s->archive) != ARCHIVE_OK ||
        s->lib.archive_read_support_filter_xz(s->archive) != ARCHIVE_OK ||
        s->lib.archive_read_support_filter_zstd(s->archive) != ARCHIVE_OK)
        return ih_error_set(err, IH_UNSUPPORTED, "libarchive lacks xz or zstd");
    /* cat joins tar files; without this only the members of the first would be seen */
    if (s->lib.archive_read_set_options(s->archive, "tar:read_concatenated_archives") != ARCHIVE_OK)
        return ih_error_set(err, IH_UNSUPPORTED, "libarchive cannot read joined tar files");
    const int n_filters_max = s->is_gzip ? 1 : 2; /* a compression, and the file itself */
    struct ih_error error = {0};
    if (s->lib.archive_read_open2(s->archive, s, NULL, read_source, NULL, NULL) != ARCHIVE_OK)
        explain(s, &error);
    else if (s->lib.archive_filter_count(s->archive) > n_filters_max)
        ih_error_set(&error, IH_LIMIT, "compressed more than once");
    s->error = error; /* the first packet carries it */
    return IH_OK;
}

static enum ih_status open_archive(struct ih_reader *src, const struct ih_decode_options *options,
                                   struct ih_image_info *info, void *state, struct ih_error *err)
{
    uint64_t n_bytes;
    struct archive_state *s = state;
    const uint8_t *head;
    size_t size = 0;
    if (ih_reader_peek(src, IH_PROBE_BYTES, &head, &size, err) != IH_OK)
        return err->status;
    s->src = src;
    s->is_gzip = size > 1 && head[0] == 0x1F && head[1] == 0x8B;
    s->locale = locale_of_names(ih_archive_probe(head, size) == IH_ARCHIVE_ZIP);
    s->is_pipe = !ih_reader_size_left(src, &n_bytes);
    s->member_bytes_max = options->budget ? options->budget->size_bytes : UINT64_MAX;
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK && s->is_gzip)
        status = open_gzip(s, err);
    if (status == IH_OK)
        status = open_libarchive(s, err);
    *info = (struct ih_image_info){
        .width = ROW_BYTES, .height = 1, .layout = IH_LAYOUT(1), .source_depth = 8};
    return status;
}

extern const struct ih_decoder ih_decoder_archive;
const struct ih_decoder ih_decoder_archive = {
    .name = "archive",
    .title = "tar and zip; gzip, zstd or xz around tar",
    .version = "libarchive " IH_LIBRARY_archive,
    .is_isolated = true,
    .prepare = prepare,
    .state_bytes = sizeof(struct archive_state),
    .open = open_archive,
    .read = read_packets,
    .close = close_archive,
};
