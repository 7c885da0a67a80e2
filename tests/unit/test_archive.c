/* Archives: what is recognised, member names, memory, and packets that a compromised reader sends.
 * The command line tests have whole archives (tests/cli/archive.bats). */
#include "tests/support/test.h"

#include "tests/fuzz/archive_reader.h"
#include "tests/support/each_file.h"

#include "scan/scan.h"

/* ---- recognising ---- */

/* A header as tar writes it, with a correct checksum. */
static void make_header(uint8_t *block, const char *name)
{
    unsigned sum = 0;
    memset(block, 0, 512);
    memcpy(block, name, strlen(name));
    memcpy(block + 100, "0000644", 7);
    memcpy(block + 124, "00000000014", 11);
    memset(block + 148, ' ', 8);
    for (unsigned i = 0; i < 512; i++)
        sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum);
}

TEST(recognises_tar_by_its_checksum)
{
    uint8_t block[512];
    make_header(block, "dir/key.jpg");
    assert_int_equal(ih_archive_probe(block, 512), IH_ARCHIVE_TAR);
    for (size_t n = 1; n < 512; n++)
        assert_int_equal(ih_archive_probe(block, n), IH_ARCHIVE_UNSURE);
    for (unsigned i = 0; i < 512; i++) { /* each byte counts but the filler after the checksum */
        if (i == 155)
            continue;
        block[i] ^= 1;
        assert_int_not_equal(ih_archive_probe(block, 512), IH_ARCHIVE_TAR);
        block[i] ^= 1;
    }
    make_header(block, "P5 1 1 255");
    assert_int_equal(ih_archive_probe(block, 512), IH_ARCHIVE_TAR);
    memset(block, 0, 512);
    assert_int_equal(ih_archive_probe(block, 511), IH_ARCHIVE_UNSURE);
    assert_int_equal(ih_archive_probe(block, 512), IH_ARCHIVE_EMPTY);
}

/* GNU tar 1.34 and Python 3.11 read both. */
TEST(recognises_tar_of_old_programs)
{
    uint8_t block[512];
    make_header(block, "caf\xE9.pgm"); /* the sum of signed bytes is 256 less */
    const unsigned sum = (unsigned)strtoul((const char *)block + 148, NULL, 8);
    snprintf((char *)block + 148, 8, "%06o", sum - 256);
    assert_int_equal(ih_archive_probe(block, 512), IH_ARCHIVE_TAR);
    snprintf((char *)block + 148, 8, "%06o", sum - 255);
    assert_int_equal(ih_archive_probe(block, 512), IH_ARCHIVE_NONE);
    make_header(block, "a.pgm");
    block[20] = 'x'; /* rubbish after the name's end */
    snprintf((char *)block + 148, 8, "%06o",
             (unsigned)strtoul((const char *)block + 148, NULL, 8) + 'x');
    assert_int_equal(ih_archive_probe(block, 512), IH_ARCHIVE_TAR);
}

/* Gives bytes in pieces, as a pipe does; is_late: more were wanted than there are. */
struct pieces {
    const uint8_t *next;
    size_t n_left, piece_bytes;
    bool is_late;
};

static ptrdiff_t read_piece(void *user, void *bytes, size_t size_bytes)
{
    struct pieces *p = user;
    size_t n = p->piece_bytes < size_bytes ? p->piece_bytes : size_bytes;
    n = n < p->n_left ? n : p->n_left;
    memcpy(bytes, p->next, n);
    p->next += n;
    p->n_left -= n;
    p->is_late = n == 0;
    return (ptrdiff_t)n;
}

static bool is_archive_in_pieces(struct pieces *p)
{
    const struct ih_scan_options options = {.reads_archives = true};
    char path[] = "-";
    const struct ih_input input = {
        .path = path, .is_named = true, .read = read_piece, .read_user = p};
    struct ih_reader src = {.is_open = false};
    struct ih_error err;
    bool is_archive;
    assert_int_equal(ih_input_open(&options, &input, &src, &is_archive, &err), IH_OK);
    ih_reader_reset(&src);
    return is_archive;
}

TEST(recognises_tar_with_any_name_in_pieces_of_any_size)
{
    static const size_t sizes[] = {1, IH_PROBE_BYTES, 99, 100, 511, 512};
    uint8_t block[512];
    for (unsigned c = 1; c <= UINT8_MAX; c++) {
        const char name[] = {(char)c, 'x', (char)c, '.', 'j', 'p', 'g', '\0'};
        make_header(block, name);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct pieces p = {block, sizeof block, sizes[i], false};
            if (!is_archive_in_pieces(&p))
                fail_msg("byte %u, pieces of %zu bytes", c, sizes[i]);
        }
    }
}

/* Its sender may wait for the record before it sends the next one. */
TEST(an_image_in_a_text_format_does_not_wait_for_more_bytes)
{
    static const char *const headers[] = {"P5\n90 1\n255\n", "P2\n45 1\n255\n", "P6 30\t1 255\n"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        uint8_t image[110];
        memset(image, ' ', sizeof image);
        memcpy(image, headers[i], strlen(headers[i]));
        struct pieces p = {image, sizeof image, sizeof image, false};
        assert_false(is_archive_in_pieces(&p));
        assert_false(p.is_late);
    }
}

TEST(recognises_zip_and_compressed_files)
{
    static const struct {
        const char *bytes;
        enum ih_archive_kind kind;
    } heads[] = {
        {"PK\3\4\24", IH_ARCHIVE_ZIP},          {"PK\5\6\1", IH_ARCHIVE_ZIP},
        {"PK\7\10\1", IH_ARCHIVE_UNSURE},       {"\x1F\x8B\x08\1", IH_ARCHIVE_COMPRESSED},
        {"\x1F\x8B\x07\1", IH_ARCHIVE_UNSURE},  {"\x28\xB5\x2F\xFD", IH_ARCHIVE_COMPRESSED},
        {"\x89PNG\r\n\x1A\n", IH_ARCHIVE_NONE}, {"\xFF\xD8\xFF\xE0", IH_ARCHIVE_NONE}};
    uint8_t head[IH_PROBE_BYTES] = {0};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        memset(head, 1, sizeof head);
        memcpy(head, heads[i].bytes, strlen(heads[i].bytes));
        assert_int_equal(ih_archive_probe(head, sizeof head), heads[i].kind);
    }
    assert_int_equal(ih_archive_probe((const uint8_t *)"\xFD"
                                                       "7zXZ\0\0",
                                      7),
                     IH_ARCHIVE_COMPRESSED);
    assert_int_equal(ih_archive_probe(head, 0), IH_ARCHIVE_UNSURE);
}

TEST(names_of_archives)
{
    static const char *const yes[] = {"a.tar",  "d/a.TAR",  "a.b.tar.gz", "a.tgz", "a.tar.zst",
                                      "a.tzst", "a.tar.xz", "a.txz",      "a.zip"};
    static const char *const no[] = {"",         "tar",    ".tar",       "a.tar.bz2", "a.gz",
                                     "a.nii.gz", "a.docx", "a.tar.part", "a.zipx",    "atar"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(ih_archive_is_name(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(ih_archive_is_name(no[i]));
}

TEST(names_of_members)
{
    static const char *const names[][2] = {
        {"a", "a"},         {"/a", "a"},    {"//./a/b", "a/b"}, {"./././a", "a"},
        {"a/./b", "a/./b"}, {"...", "..."}, {"..a", "..a"},     {"a..", "a.."},
        {"a/..b", "a/..b"}, {"", ""},       {"/", ""},          {"./", ""},
        {"..", NULL},       {"../a", NULL}, {"a/..", NULL},     {"a/../b", NULL},
        {"/../a", NULL},    {"./..", NULL}, {"a//../b", NULL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = ih_member_name(names[i][0]);
        if (names[i][1])
            assert_string_equal(name, names[i][1]);
        else
            assert_null(name);
    }
}

/* ---- packets ---- */

struct stream {
    uint8_t bytes[4096];
    size_t n;
};

static void packet(struct stream *s, enum ih_packet_kind kind, enum ih_status status,
                   uint64_t size_bytes, const char *bytes, const char *message)
{
    const struct ih_packet f = {(uint32_t)kind, (uint32_t)status, (uint32_t)strlen(bytes),
                                (uint32_t)strlen(message), size_bytes};
    memcpy(s->bytes + s->n, &f, sizeof f);
    s->n += sizeof f;
    memcpy(s->bytes + s->n, bytes, f.n_bytes);
    s->n += f.n_bytes;
    memcpy(s->bytes + s->n, message, f.n_message);
    s->n += f.n_message;
}

#define FRAME(kind, status, size, bytes, message) \
    packet(&s, IH_PACKET_##kind, status, size, bytes, message)

/* The next member of a stream, or why there is none. */
struct outcome {
    enum ih_status status;
    struct ih_error error;
    bool has_member;
    char name[64], content[64];
    struct ih_error of_member;
};

static struct outcome next_of(const struct stream *s, uint64_t budget_bytes)
{
    struct outcome out = {.status = IH_OK};
    struct packets f;
    struct ih_remote_decoder *remote;
    struct ih_remote_decoders remotes;
    struct ih_budget budget;
    struct ih_member member = {0};
    ih_budget_init(&budget, budget_bytes);
    struct ih_archive *a = packets_archive(&f, s->bytes, s->n, &remote, &remotes, &budget);
    assert_non_null(a);
    out.status = ih_archive_next(a, &member, &out.has_member, &out.error);
    assert_int_equal(budget.taken_bytes, out.has_member ? member.taken_bytes : 0);
    if (out.has_member) {
        snprintf(out.name, sizeof out.name, "%s", member.name);
        snprintf(out.content, sizeof out.content, "%.*s", (int)member.size_bytes,
                 member.bytes ? (char *)member.bytes : "");
        out.of_member = member.error;
    }
    ih_member_reset(&member, &budget);
    ih_archive_close(a);
    ih_budget_destroy(&budget); /* asserts that all bytes have come back */
    return out;
}

TEST(a_member_in_pieces)
{
    struct stream s = {.n = 0};
    FRAME(MEMBER, IH_OK, 6, "d/a", "");
    FRAME(DATA, IH_OK, 0, "abc", "");
    FRAME(DATA, IH_OK, 0, "def", "");
    FRAME(DONE, IH_OK, 0, "", "");
    const struct outcome out = next_of(&s, 100);
    assert_int_equal(out.status, IH_OK);
    assert_string_equal(out.name, "d/a");
    assert_string_equal(out.content, "abcdef");
}

TEST(members_that_fail_leave_the_archive_readable)
{
    static const struct {
        uint64_t size_bytes, budget_bytes;
        enum ih_status done, expected;
        const char *message;
    } cases[] = {
        {6, 100, IH_CORRUPT, IH_CORRUPT, "its CRC"},
        {6, 5, IH_OK, IH_LIMIT, "needs 6 bytes of memory at once, the limit is 5 bytes"},
        {3, 100, IH_OK, IH_LIMIT, "its content has more than 3 bytes"},
        {UINT64_MAX, 5, IH_OK, IH_LIMIT, "its content has more than 5 bytes"},
        {UINT64_MAX, 6, IH_OK, IH_OK, ""},
        {9, 100, IH_OK, IH_OK, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stream s = {.n = 0};
        FRAME(MEMBER, IH_OK, cases[i].size_bytes, "a", "");
        FRAME(DATA, IH_OK, 0, "abcdef", "");
        FRAME(DONE, cases[i].done, 0, "", cases[i].done ? "its CRC" : "");
        const struct outcome out = next_of(&s, cases[i].budget_bytes);
        assert_int_equal(out.status, IH_OK);
        assert_int_equal(out.of_member.status, cases[i].expected);
        assert_string_equal(out.of_member.message, cases[i].message);
        if (cases[i].expected == IH_OK)
            assert_string_equal(out.content, "abcdef");
    }
}

TEST(an_error_in_place_of_content)
{
    struct stream s = {.n = 0};
    FRAME(MEMBER, IH_UNKNOWN, UINT64_MAX, "a", "not an image");
    struct outcome out = next_of(&s, 100);
    assert_true(out.has_member);
    assert_int_equal(out.of_member.status, IH_UNKNOWN);
    s.n = 0;
    FRAME(MEMBER, IH_LIMIT, 1000, "a", "too large");
    out = next_of(&s, 100);
    assert_int_equal(out.of_member.limit, IH_LIMIT_MAX_MEMORY);
    assert_int_equal(out.of_member.limit_value, 100);
}

TEST(the_end)
{
    struct stream s = {.n = 0};
    FRAME(END, IH_OK, 0, "", "");
    struct outcome out = next_of(&s, 100);
    assert_int_equal(out.status, IH_OK);
    assert_false(out.has_member);
    s.n = 0;
    FRAME(END, IH_CORRUPT, 0, "", "it is cut");
    out = next_of(&s, 100);
    assert_int_equal(out.status, IH_CORRUPT);
    assert_string_equal(out.error.message, "it is cut");
}

static void assert_nonsense(const struct stream *s)
{
    const struct outcome out = next_of(s, 100);
    assert_int_equal(out.status, IH_CORRUPT);
    assert_string_equal(out.error.message, "its reader ended unexpectedly (it sent nonsense)");
    assert_false(out.has_member);
}

#define NONSENSE(...)               \
    do {                            \
        struct stream s = {.n = 0}; \
        __VA_ARGS__                 \
        assert_nonsense(&s);        \
    } while (0)

TEST(nonsense_from_a_compromised_reader)
{
    static char long_name[IH_MEMBER_NAME_MAX + 2];
    NONSENSE();
    NONSENSE(s.n = sizeof(struct ih_packet) - 1;);
    NONSENSE(FRAME(DATA, IH_OK, 0, "x", ""););
    NONSENSE(FRAME(DONE, IH_OK, 0, "", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "a", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 0, "../a", ""); FRAME(DONE, IH_OK, 0, "", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 0, "/a", ""); FRAME(DONE, IH_OK, 0, "", ""););
    NONSENSE(FRAME(MEMBER, IH_UNAVAILABLE, 1, "a", "ends the run"););
    NONSENSE(FRAME(MEMBER, IH_CONFLICT, 1, "a", "ends the run"););
    NONSENSE(FRAME(END, IH_USAGE, 0, "", ""););
    NONSENSE(FRAME(END, IH_OK, 0, "bytes", ""););
    NONSENSE(FRAME(END, (enum ih_status)99, 0, "", ""););
    NONSENSE(packet(&s, (enum ih_packet_kind)9, IH_OK, 0, "", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "a", ""); FRAME(DATA, IH_OK, 0, "", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "a", ""); FRAME(DATA, IH_OK, 0, "x", "m"););
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "a", ""); FRAME(MEMBER, IH_OK, 1, "b", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "a", ""); FRAME(END, IH_OK, 0, "", ""););
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "a", ""); FRAME(DATA, IH_OK, 0, "abc", ""); s.n--;);
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "ab", ""); s.bytes[sizeof(struct ih_packet)] = 0;);
    NONSENSE(FRAME(MEMBER, IH_OK, 1, "a", ""); {
        const struct ih_packet f = {.kind = IH_PACKET_MEMBER, .n_bytes = sizeof long_name};
        memcpy(s.bytes, &f, sizeof f);
    });
    NONSENSE(FRAME(END, IH_CORRUPT, 0, "", ""); {
        const struct ih_packet f = {
            .kind = IH_PACKET_END, .status = IH_CORRUPT, .n_message = 100000};
        memcpy(s.bytes, &f, sizeof f);
    });
}

/* ---- without a decoder process ---- */

/* The fuzzer reads archives as this test does; so its members are read in this process. */
TEST(in_this_process)
{
    enum { BLOCK = 512, SIZE = 6 * BLOCK };
    static uint8_t tar[SIZE];
    static const char image[] = "P5 1 1 255 x";
    if (!ih_archive_decoders[0])
        skip("no libarchive in this build");
    make_header(tar, "a.pgm");
    memcpy(tar + BLOCK, image, sizeof image - 1);
    make_header(tar + 2 * BLOCK, "b.pgm");
    memcpy(tar + 3 * BLOCK, image, sizeof image - 1);
    assert_int_equal(read_archive(tar, SIZE), 2);
    assert_int_equal(read_archive(tar, 2 * BLOCK - 1), 0);
}

/* ---- finds of the fuzzer ---- */

static void replay(const struct file *file)
{
    read_archive(file->bytes, file->size);
    read_packets_of(file->bytes, file->size);
}

TEST(crashers)
{
    for_each("crashers", "fuzz_archive-", replay);
}
