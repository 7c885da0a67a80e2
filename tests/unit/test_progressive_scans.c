/* ih_progressive_find_scans on files built by hand: every byte of every span. */
#include "tests/support/test.h"

#include "decode/progressive/progressive.h"
#include "tests/support/jpeg_files.h"
#include "tests/support/jpeg_scans.h"
#include "tests/support/written.h"

/* ---- files, and the spans to find ---- */

struct piece {
    size_t at, n;
};

struct made {
    struct file file;
    struct piece tables[IH_PROGRESSIVE_TABLES_MAX + 1], scans[IH_PROGRESSIVE_SCANS_MAX + 1];
    unsigned tables_of[IH_PROGRESSIVE_SCANS_MAX + 1]; /* tables before each scan */
    unsigned n_tables, n_scans;
};

static void put_table(struct made *m, const uint8_t *bytes, size_t n)
{
    m->tables[m->n_tables++] = (struct piece){m->file.n, n};
    put(&m->file, bytes, n);
}

static void put_scan(struct made *m, const uint8_t *bytes, size_t n)
{
    m->scans[m->n_scans] = (struct piece){m->file.n, n};
    m->tables_of[m->n_scans++] = m->n_tables;
    put(&m->file, bytes, n);
}

#define TABLE(m, ...) put_table(m, EXPECT(__VA_ARGS__), sizeof EXPECT(__VA_ARGS__))
#define SCAN(m, ...) put_scan(m, EXPECT(__VA_ARGS__), sizeof EXPECT(__VA_ARGS__))
#define PASSED(m, ...) PUT(&(m)->file, __VA_ARGS__)
#define START 0xFF, 0xD8
#define FRAME 0xFF, 0xC2, 0, 5, 8, 0, 1 /* its contents are not read */
#define SOS1(...) 0xFF, 0xDA, 0, 8, 1, __VA_ARGS__
#define END 0xFF, 0xD9

static void begin(struct made *m)
{
    m->file.n = m->n_tables = m->n_scans = 0;
    TABLE(m, START);
    TABLE(m, FRAME);
}

/* The allocation ends with the last byte, so that the address sanitizer sees a read after it. */
static uint8_t *copy_of(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy + 1, bytes, n);
    return copy;
}

static bool is_found(const uint8_t *bytes, size_t n)
{
    static struct ih_progressive_scans s;
    uint8_t *copy = copy_of(bytes, n);
    const bool is = ih_progressive_find_scans(&s, copy + 1, n);
    free(copy);
    return is;
}

static void check_found(const struct made *m)
{
    static struct ih_progressive_scans s; /* holds the scans of an earlier call */
    uint8_t *copy = copy_of(m->file.bytes, m->file.n);
    assert_true(ih_progressive_find_scans(&s, copy + 1, m->file.n));
    assert_int_equal(s.n_tables, m->n_tables);
    for (unsigned i = 0; i < s.n_tables; i++) {
        assert_int_equal(s.tables[i].bytes - (copy + 1), m->tables[i].at);
        assert_int_equal(s.tables[i].size_bytes, m->tables[i].n);
    }
    assert_int_equal(s.n_scans, m->n_scans);
    for (unsigned i = 0; i < s.n_scans; i++) {
        assert_int_equal(s.scans[i].span.bytes - (copy + 1), m->scans[i].at);
        assert_int_equal(s.scans[i].span.size_bytes, m->scans[i].n);
        assert_int_equal(s.scans[i].n_tables, m->tables_of[i]);
    }
    free(copy);
}

/* The file is refused, with and without an end. */
static void check_wrong(struct made *m)
{
    assert_false(is_found(m->file.bytes, m->file.n));
    PUT(&m->file, END);
    assert_false(is_found(m->file.bytes, m->file.n));
}

/* A file with these bytes after the frame is refused. */
#define WRONG(m, ...) (begin(m), PASSED(m, __VA_ARGS__), check_wrong(m))

static void make_all(struct made *m)
{
    m->file.n = m->n_tables = m->n_scans = 0;
    TABLE(m, START);
    TABLE(m, 0xFF, 0xE0, 0, 4, 'J', 'F');
    PASSED(m, 0xFF, 0xE1, 0, 6, 0xFF, 0xDA, 0xFF, 0xD9);
    TABLE(m, 0xFF, 0xEE, 0, 3, 'A');
    TABLE(m, 0xFF, 0xDB, 0, 2);
    PASSED(m, 0xFF, 0xFE, 1, 2); /* 258 bytes */
    for (int i = 0; i < 128; i++)
        PASSED(m, 0xFF, 0xD9);
    TABLE(m, FRAME);
    TABLE(m, 0xFF, 0xC4, 0, 5, 0xFF, 0xDA, 0xFF);
    SCAN(m, 0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 0, 1, 5, 0xFF, 0, 0xFF, 0, 7, 0xFF, 0xD0);
    SCAN(m, SOS1(2, 0, 1, 5, 0x02), 0xFF, 0xD7, 0xDA, 0xFF, 0xFF, 0xD3,
         0xFF); /* ends with a fill byte */
    TABLE(m, 0xFF, 0xDD, 0, 4, 0, 1);
    PASSED(m, 0xFF, 0xEF, 0, 2);
    TABLE(m, 0xFF, 0xC4, 0, 2);
    PASSED(m, 0xFF, 0xFE, 0, 3, 0);
    SCAN(m, SOS1(9, 0, 6, 63, 0xDC)); /* without data */
    SCAN(m, 0xFF, 0xDA, 0, 14, 4, 4, 0, 3, 1, 2, 2, 200, 3, 0, 0, 0x21, 0xFF, 0, 0xFF, 0xFF, 0xFF);
    PASSED(m, END);
}

/* ---- sound files ---- */

TEST(spans)
{
    static struct made m;
    make_all(&m);
    check_found(&m);
    PASSED(&m, SOS1(1, 0, 0, 0, 0), 1, 2, FRAME, END); /* after EOI: ignored */
    check_found(&m);
    begin(&m);
    SCAN(&m, SOS1(1, 0, 0, 0, 0), 1);
    PASSED(&m, END, 0);
    check_found(&m);
}

TEST(headers)
{
    static struct made m;
    struct ih_progressive_scans s;
    const struct ih_progressive_scan expected[4] = {
        {.n_components = 3, .ids = {1, 2, 3}, .low = 1},
        {.n_components = 1, .ids = {2}, .first = 1, .last = 5, .low = 2},
        {.n_components = 1, .ids = {9}, .first = 6, .last = 63, .high = 13, .low = 12},
        {.n_components = 4, .ids = {4, 3, 2, 200}, .high = 2, .low = 1}};
    make_all(&m);
    assert_true(ih_progressive_find_scans(&s, m.file.bytes, m.file.n));
    assert_int_equal(s.n_scans, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(s.scans[i].n_components, expected[i].n_components);
        assert_memory_equal(s.scans[i].ids, expected[i].ids, expected[i].n_components);
        assert_int_equal(s.scans[i].first, expected[i].first);
        assert_int_equal(s.scans[i].last, expected[i].last);
        assert_int_equal(s.scans[i].high, expected[i].high);
        assert_int_equal(s.scans[i].low, expected[i].low);
    }
}

enum place { BEFORE_FRAME, BEFORE_SCANS, IN_FIRST_SCAN, IN_LAST_SCAN, N_PLACES };
enum fate { IS_WRONG, IS_TABLE, IS_PASSED, IS_DATA, IS_END };

static enum fate fate_of(unsigned code, enum place place)
{
    if (code == 0 || code == 0xFF || (code >= 0xD0 && code <= 0xD7))
        return place >= IN_FIRST_SCAN ? IS_DATA : IS_WRONG;
    if (code == 0xC4 || code == 0xDD)
        return place == IN_LAST_SCAN ? IS_WRONG : IS_TABLE;
    if (code == 0xDB || code == 0xE0 || code == 0xEE)
        return place >= IN_FIRST_SCAN ? IS_WRONG : IS_TABLE;
    if (code == 0xD9)
        return place >= IN_FIRST_SCAN ? IS_END : IS_WRONG;
    return code >= 0xE1 && (code <= 0xEF || code == 0xFE) ? IS_PASSED : IS_WRONG;
}

/* A marker and three bytes, which may or may not be a segment. */
static void put_marked(struct made *m, unsigned code, enum place place)
{
    const enum fate fate = fate_of(code, place);
    const uint8_t bytes[] = {0xFF, (uint8_t)code, 0, 3, 7};
    if (fate == IS_TABLE)
        put_table(m, bytes, sizeof bytes);
    else
        put(&m->file, bytes, sizeof bytes);
    if (fate == IS_DATA)
        m->scans[m->n_scans - 1].n += sizeof bytes;
}

TEST(every_marker)
{
    static struct made m;
    for (unsigned code = 0; code < 256; code++) {
        for (enum place place = 0; place < N_PLACES; place++) {
            m.file.n = m.n_tables = m.n_scans = 0;
            TABLE(&m, START);
            if (place == BEFORE_FRAME)
                put_marked(&m, code, place);
            TABLE(&m, FRAME);
            if (place == BEFORE_SCANS)
                put_marked(&m, code, place);
            SCAN(&m, SOS1(1, 0, 0, 0, 0), 1, 2);
            if (place == IN_FIRST_SCAN)
                put_marked(&m, code, place);
            if (fate_of(code, place) != IS_END)
                SCAN(&m, SOS1(1, 1, 1, 63, 0), 3);
            if (place == IN_LAST_SCAN)
                put_marked(&m, code, place);
            PASSED(&m, END);
            if (fate_of(code, place) == IS_WRONG)
                assert_false(is_found(m.file.bytes, m.file.n));
            else
                check_found(&m);
        }
    }
}

/* ---- wrong files ---- */

TEST(cut)
{
    static struct made m;
    make_all(&m);
    for (size_t n = 0; n < m.file.n; n++)
        assert_false(is_found(m.file.bytes, n));
    for (unsigned i = 0; i < N_SCRIPTS; i++) {
        struct jpeg_file f =
            make_scans(&(struct look){.h = 2, .v = 1, .restart_interval = i}, &scripts[i], 33, 17);
        assert_true(is_found(f.bytes, f.n));
        for (size_t n = 0; n < f.n; n++)
            assert_false(is_found(f.bytes, n));
        free(f.bytes);
    }
}

TEST(lengths)
{
    static const uint8_t codes[] = {0xC4, 0xDB, 0xDD, 0xE0, 0xE1, 0xEE, 0xFE};
    static struct made m;
    for (unsigned i = 0; i < sizeof codes; i++) {
        for (uint8_t n = 0; n < 2; n++) /* a length includes its own two bytes */
            WRONG(&m, 0xFF, codes[i], 0, n);
        for (uint8_t n = 6; n < 9; n++) { /* EOI is inside the segment, or the file ends */
            begin(&m);
            PASSED(&m, 0xFF, codes[i], 0, n, 1, 2, END);
            assert_false(is_found(m.file.bytes, m.file.n));
        }
        WRONG(&m, 0xFF, codes[i], 2, 0, 1, 2, 3);
    }
}

TEST(scan_lengths)
{
    static struct made m;
    for (uint8_t n = 0; n < 7; n++) {
        for (uint8_t length = 0; length < 22; length++) {
            const uint8_t head[] = {0xFF, 0xDA, 0, length, n};
            begin(&m);
            const size_t n_bytes = 2 + (length < 2u ? 2u : length);
            put_scan(&m, head, n_bytes < sizeof head ? n_bytes : sizeof head);
            while (m.scans[0].n < n_bytes) {
                PUT(&m.file, 1);
                m.scans[0].n++;
            }
            assert_false(is_found(m.file.bytes, m.file.n)); /* no end */
            if (length == 6 + 2 * n && n >= 1 && n <= IH_JPEG_COMPONENTS_MAX) {
                PUT(&m.file, END);
                check_found(&m);
            } else {
                check_wrong(&m);
            }
        }
    }
}

TEST(order)
{
    static struct made m;
    m.file.n = m.n_tables = m.n_scans = 0;
    PASSED(&m, START, 0xFF, 0xC4, 0, 2);
    check_wrong(&m); /* no frame */
    m.file.n = 0;
    PASSED(&m, START, SOS1(1, 0, 0, 0, 0), 1, FRAME);
    check_wrong(&m);
    WRONG(&m, FRAME);
    WRONG(&m, SOS1(1, 0, 0, 0, 0), 1, FRAME);
    WRONG(&m, 0xFF, 0xC4, 0, 2, 7, 0xFF, 0xFE, 0, 2); /* a byte between segments */
    WRONG(&m, SOS1(1, 0, 0, 0, 0), 1, 0xFF, 0xFE, 0, 2, 0, 0xD9);
    for (unsigned i = 0; i < 2; i++) {
        make_all(&m);
        m.file.bytes[i] ^= 1;
        check_wrong(&m);
    }
}

TEST(no_scan)
{
    static struct made m;
    struct ih_progressive_scans s;
    begin(&m);
    PASSED(&m, END);
    assert_false(ih_progressive_find_scans(&s, m.file.bytes, m.file.n) &&
                 ih_progressive_scans_are_complete(&s, EXPECT(1), 1));
}

TEST(too_many)
{
    static struct made m;
    begin(&m);
    while (m.n_tables < IH_PROGRESSIVE_TABLES_MAX)
        TABLE(&m, 0xFF, 0xDB, 0, 2);
    while (m.n_scans < IH_PROGRESSIVE_SCANS_MAX) {
        PASSED(&m, 0xFF, 0xFE, 0, 2); /* comments do not count */
        SCAN(&m, SOS1(1, 0, 0, 0, 0), 1, 2);
    }
    const size_t n = m.file.n;
    for (unsigned i = 0; i < 3; i++) {
        m.file.n = n;
        if (i == 0)
            PASSED(&m, 0xFF, 0xC4, 0, 2);
        else if (i == 1)
            PASSED(&m, SOS1(1, 0, 0, 0, 0), 1, 2);
        PASSED(&m, END);
        if (i < 2)
            assert_false(is_found(m.file.bytes, m.file.n));
        else
            check_found(&m);
    }
}
