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
 * A zip file with 10,000 deflated JPEGs (130 MB) takes 0.51 s of CPU time here and 2.6 s in the
 * workers, which hardly wait. Of the 0.51 s, zlib's inflate and CRC take 0.41 s. libdeflate needs
 * 0.29 s, but libarchive does not use it, and 4 % are not worth a reader of our own (EPYC, November
 * 2026).
 */
#include "decode/archive.h"

#include "base/dynlib.h"
#include "decode/recognise.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <string.h>

static const char utf_8[] = "C.UTF-8";

/* The functions of libarchive that are called. */
#define ARCHIVE_CALLS(F)                                                           \
    F(struct archive *, archive_read_new, (void))                                  \
    F(int, archive_read_free, (struct archive *))                                  \
    F(int, archive_read_support_format_tar, (struct archive *))                    \
    F(int, archive_read_support_format_zip_streamable, (struct archive *))         \
    F(int, archive_read_support_filter_gzip, (struct archive *))                   \
    F(int, archive_read_support_filter_xz, (struct archive *))                     \
    F(int, archive_read_support_filter_zstd, (struct archive *))                   \
    F(int, archive_read_set_options, (struct archive *, const char *))             \
    F(int, archive_read_open2,                                                     \
      (struct archive *, void *, archive_open_callback *, archive_read_callback *, \
       archive_skip_callback *, archive_close_callback *))                         \
    F(int, archive_read_next_header, (struct archive *, struct archive_entry **))  \
    F(la_ssize_t, archive_read_data, (struct archive *, void *, size_t))           \
    F(int, archive_format, (struct archive *))                                     \
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
    BLOCK_BYTES = 512, /* of tar */
    MESSAGE_MAX = 160,
    END_ROOM = 2 * (sizeof(struct ih_packet) + MESSAGE_MAX), /* DONE and END */
    ROW_BYTES = 128 * 1024 /* the least room that read gets; holds the longest packet of a name */
};
_Static_assert(ROW_BYTES > 2 * IH_MEMBER_NAME_MAX + END_ROOM, "a name fits into an empty buffer");

struct archive_state {
    struct archive_calls lib;
    struct archive *archive; /* owned */
    struct ih_source *src;   /* borrowed */
    locale_t locale;         /* owned; 0: none */
    uint64_t member_bytes_max;
    bool is_pipe; /* a member is sent as soon as it is complete */
    bool is_in_member, is_in_last_hole, is_at_end;
    bool has_ended;     /* the source has no more bytes */
    bool ends_in_zeros; /* the last block that was read is zero */
    uint64_t n_members;
    uint64_t n_in, n_out; /* bytes: of the archive, and of the members' content */
    size_t n_shown;       /* bytes that libarchive has been given; the next read consumes them */
    size_t n_head;        /* bytes of head, the start of the member */
    size_t n_sent;        /* the first n_sent of these have been sent */
    uint64_t n_unsent;    /* bytes of a sparse member, which may end in a hole; else 0 */
    uint8_t head[IH_ARCHIVE_PROBE_BYTES];
    struct ih_error error; /* of opening the archive, of reading the source, or a limit */
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

/* Whether the last block of n bytes, or all of them, is zero. */
static bool is_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = n > BLOCK_BYTES ? n - BLOCK_BYTES : 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Whether the end of a tar file is missing. A tar file ends in a block of zeros, but libarchive
 * also accepts the end of the file. So an archive that was cut between two members would look
 * complete. Compressed files have an end of their own. */
static bool is_cut(const struct archive_state *s)
{
    const int format = s->lib.archive_format(s->archive) & ARCHIVE_FORMAT_BASE_MASK;
    return format == ARCHIVE_FORMAT_TAR && s->lib.archive_filter_count(s->archive) == 1 &&
           s->has_ended && !s->ends_in_zeros;
}

/* Reads for libarchive. It checks for a bomb here, because libarchive may skip many members in one
 * call. */
static la_ssize_t read_source(struct archive *archive, void *user, const void **bytes)
{
    struct archive_state *s = user;
    const uint8_t *next;
    size_t n;
    (void)archive;
    ih_source_consume(s->src, s->n_shown);
    s->n_shown = 0;
    if (is_bomb(s))
        fail_bomb(s);
    if (s->error.status != IH_OK || ih_source_peek(s->src, 1, &next, &n, &s->error) != IH_OK)
        return -1;
    s->n_shown = n;
    s->n_in += n;
    s->has_ended = n == 0;
    if (n > 0)
        s->ends_in_zeros = is_zero(next, n) && (n >= BLOCK_BYTES || s->ends_in_zeros);
    *bytes = next;
    return (la_ssize_t)n;
}

/* Fills err with the error of the source, or else of libarchive. */
static void explain(const struct archive_state *s, struct ih_error *err)
{
    const char *text = s->lib.archive_error_string(s->archive);
    if (s->error.status != IH_OK)
        *err = s->error;
    else if (s->lib.archive_errno(s->archive) == NO_FORMAT && s->n_members == 0 &&
             s->lib.archive_filter_count(s->archive) > 1)
        ih_error_set(
            err, IH_UNKNOWN,
            "cannot decode: compressed, but not a tar file; decompress one image first, as in "
            "'gzip -dc FILE | imghist -', and with xz or zstd for their files");
    else if (s->lib.archive_errno(s->archive) == ENOMEM)
        ih_error_set(err, IH_MEMORY, "out of memory");
    else
        ih_error_set(err, IH_CORRUPT, "damaged archive%s%.*s", text ? ": " : "",
                     (int)strcspn(text ? text : "", "\n"), text ? text : "");
}

/* ---- packets ---- */

struct output {
    uint8_t *bytes;
    size_t n, capacity;
};

static void put(struct output *out, const void *bytes, size_t n)
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
    put(out, &f, sizeof f);
    put(out, bytes, n_bytes);
    put(out, error->message, f.n_message);
}

static void put_end(struct archive_state *s, struct output *out, const struct ih_error *error)
{
    put_packet(out, IH_PACKET_END, 0, "", 0, error);
    s->is_at_end = true;
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
static void judge(struct archive_state *s, struct archive_entry *entry, const char *name,
                  uint64_t size_bytes, struct ih_error *err)
{
    struct ih_source head = {.is_open = false};
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
        ih_source_open_memory(&head, s->head, s->n_head);
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
    if (r != ARCHIVE_OK && r != ARCHIVE_WARN) {
        if (r != ARCHIVE_EOF)
            explain(s, &error);
        else if (is_cut(s))
            ih_error_set(&error, IH_CORRUPT, "damaged archive: it ends without an end mark");
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
    judge(s, entry, name, size_bytes, &error);
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
}

/* The locale in which libarchive converts names that are marked as UTF-8. If the locale's encoding
 * lacks a character, the name in a zip file is lost, so zip needs UTF-8. The name in a tar file
 * stays as it is, and UTF-8 would normalize it. */
static locale_t locale_of_names(struct ih_source *src)
{
    const uint8_t *head;
    size_t size = 0;
    struct ih_error ignored = {0};
    const bool is_zip = ih_source_peek(src, IH_PROBE_BYTES, &head, &size, &ignored) == IH_OK &&
                        ih_archive_probe(head, size) == IH_ARCHIVE_ZIP;
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
        s->lib.archive_read_support_filter_gzip(s->archive) != ARCHIVE_OK ||
        s->lib.archive_read_support_filter_xz(s->archive) != ARCHIVE_OK ||
        s->lib.archive_read_support_filter_zstd(s->archive) != ARCHIVE_OK)
        return ih_error_set(err, IH_UNSUPPORTED, "libarchive lacks gzip, xz or zstd");
    /* cat joins tar files; without this only the members of the first would be seen */
    if (s->lib.archive_read_set_options(s->archive, "tar:read_concatenated_archives") != ARCHIVE_OK)
        return ih_error_set(err, IH_UNSUPPORTED, "libarchive cannot read joined tar files");
    enum { FILTERS_MAX = 2 }; /* a compression, and the file itself */
    struct ih_error error = {0};
    if (s->lib.archive_read_open2(s->archive, s, NULL, read_source, NULL, NULL) != ARCHIVE_OK)
        explain(s, &error);
    else if (s->lib.archive_filter_count(s->archive) > FILTERS_MAX)
        ih_error_set(&error, IH_LIMIT, "compressed more than once");
    s->error = error; /* the first packet carries it */
    return IH_OK;
}

static enum ih_status open_archive(struct ih_source *src, const struct ih_decode_options *options,
                                   struct ih_image_info *info, void *state, struct ih_error *err)
{
    uint64_t n_bytes;
    struct archive_state *s = state;
    s->src = src;
    s->locale = locale_of_names(src);
    s->is_pipe = !ih_source_size_left(src, &n_bytes);
    s->member_bytes_max = options->budget ? options->budget->size_bytes : UINT64_MAX;
    enum ih_status status = load(&s->lib, err);
    if (status == IH_OK)
        status = open_libarchive(s, err);
    *info =
        (struct ih_image_info){.width = ROW_BYTES, .height = 1, .n_channels = 1, .source_depth = 8};
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
