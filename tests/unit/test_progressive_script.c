/* The scans of progressive files: those that libjpeg writes, whether they are complete, and which
 * one may be decoded last. */
#include "tests/support/test.h"

#include "decode/progressive/progressive.h"
#include "tests/support/jpeg_files.h"
#include "tests/support/jpeg_scans.h"

static const uint8_t ids[IH_JPEG_COMPONENTS_MAX] = {7, 0, 200, 1};

#define AC(i, from, to, high, low)  \
    {                               \
        1, {i}, from, to, high, low \
    }
#define DC(i, high, low)        \
    {                           \
        1, {i}, 0, 0, high, low \
    }

static const jpeg_scan_info scans_standard[] = {
    {3, {0, 1, 2}, 0, 0, 0, 1}, AC(0, 1, 5, 0, 2),  AC(2, 1, 63, 0, 1),         AC(1, 1, 63, 0, 1),
    AC(0, 6, 63, 0, 2),         AC(0, 1, 63, 2, 1), {3, {0, 1, 2}, 0, 0, 1, 0}, AC(2, 1, 63, 1, 0),
    AC(1, 1, 63, 1, 0),         AC(0, 1, 63, 1, 0)};
static const struct script standard = SCRIPT(scans_standard);

static const struct script *script_at(unsigned i)
{
    return scripts[i].scans ? &scripts[i] : &standard;
}

static void add_scan(struct ih_progressive_scans *s, const jpeg_scan_info *info)
{
    struct ih_progressive_scan *scan = &s->scans[s->n_scans++];
    *scan = (struct ih_progressive_scan){.n_components = (unsigned)info->comps_in_scan,
                                         .first = (uint8_t)info->Ss,
                                         .last = (uint8_t)info->Se,
                                         .high = (uint8_t)info->Ah,
                                         .low = (uint8_t)info->Al};
    for (int i = 0; i < info->comps_in_scan; i++)
        scan->ids[i] = ids[info->component_index[i]];
}

static struct ih_progressive_scans scans_of(const jpeg_scan_info *scans, int n)
{
    struct ih_progressive_scans s = {.n_scans = 0};
    for (int i = 0; i < n; i++)
        add_scan(&s, &scans[i]);
    return s;
}

static bool are_complete(const jpeg_scan_info *scans, int n, unsigned n_components)
{
    const struct ih_progressive_scans s = scans_of(scans, n);
    return ih_progressive_scans_are_complete(&s, ids, n_components);
}

/* In the files of libjpeg, spans follow each other without a gap, and headers match the script. */
TEST(library_files)
{
    static struct ih_progressive_scans s;
    for (unsigned i = 0; i < N_SCRIPTS; i++) {
        const struct script *script = script_at(i);
        const struct look look = {.h = 2, .v = 2, .restart_interval = i % 3};
        struct jpeg_file f = make_scans(&look, &scripts[i], 90, 70);
        assert_true(ih_progressive_find_scans(&s, f.bytes, f.n));
        assert_true(ih_progressive_scans_are_complete(&s, (const uint8_t[]){1, 2, 3}, 3));
        assert_false(ih_progressive_scans_are_complete(&s, (const uint8_t[]){1, 2, 4}, 3));
        assert_int_equal(s.n_scans, script->n_scans);
        const uint8_t *at = f.bytes;
        unsigned n_tables = 0;
        for (unsigned k = 0; k < s.n_scans; k++) {
            const struct ih_progressive_scan *scan = &s.scans[k];
            const jpeg_scan_info *info = &script->scans[k];
            for (; n_tables < scan->n_tables; at += s.tables[n_tables++].size_bytes)
                assert_ptr_equal(s.tables[n_tables].bytes, at);
            assert_ptr_equal(scan->span.bytes, at);
            assert_ptr_equal(at, f.bytes + find_scan(&f, (int)k));
            at += scan->span.size_bytes;
            assert_int_equal(scan->n_components, info->comps_in_scan);
            for (int n = 0; n < info->comps_in_scan; n++)
                assert_int_equal(scan->ids[n], info->component_index[n] + 1);
            assert_int_equal(scan->first, info->Ss);
            assert_int_equal(scan->last, info->Se);
            assert_int_equal(scan->high, info->Ah);
            assert_int_equal(scan->low, info->Al);
        }
        assert_int_equal(n_tables, s.n_tables);
        assert_ptr_equal(at, f.bytes + f.n - 2);
        free(f.bytes);
    }
}

TEST(complete)
{
    static const jpeg_scan_info gray[] = {
        DC(0, 0, 2),        DC(0, 2, 1), AC(0, 1, 1, 0, 0),  AC(0, 63, 63, 0, 1),
        AC(0, 2, 62, 0, 0), DC(0, 1, 0), AC(0, 63, 63, 1, 0)};
    static const jpeg_scan_info four[] = {
        {2, {0, 3}, 0, 0, 0, 0}, AC(3, 1, 63, 0, 0), {2, {1, 2}, 0, 0, 0, 1}, AC(0, 1, 63, 0, 0),
        AC(2, 1, 63, 0, 0),      AC(1, 1, 63, 0, 0), {2, {1, 2}, 0, 0, 1, 0}};
    assert_true(are_complete(gray, 7, 1));
    assert_true(are_complete(four, 7, 4));
    for (int n = 0; n < 7; n++) {
        assert_false(are_complete(gray, n, 1));
        assert_false(are_complete(four, n, 4));
    }
    for (unsigned i = 0; i < N_SCRIPTS; i++) {
        const struct script *script = script_at(i);
        assert_true(are_complete(script->scans, script->n_scans, 3));
        assert_false(are_complete(script->scans, script->n_scans, 2));
        assert_false(are_complete(script->scans, script->n_scans, 4));
        for (int k = 0; k < script->n_scans; k++) { /* one scan missing, or twice */
            struct ih_progressive_scans s = scans_of(script->scans, k);
            for (int n = k + 1; n < script->n_scans; n++)
                add_scan(&s, &script->scans[n]);
            assert_false(ih_progressive_scans_are_complete(&s, ids, 3));
            s = scans_of(script->scans, script->n_scans);
            add_scan(&s, &script->scans[k]);
            assert_false(ih_progressive_scans_are_complete(&s, ids, 3));
        }
    }
}

TEST(not_complete)
{
    static const jpeg_scan_info wrong[][6] = {
        {AC(0, 1, 63, 0, 0), DC(0, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 62, 0, 0)},
        {DC(0, 0, 0), AC(0, 2, 63, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 30, 0, 0), AC(0, 32, 63, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 30, 0, 0), AC(0, 30, 63, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 64, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 0), AC(0, 64, 64, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 0), AC(0, 255, 255, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 0), AC(0, 5, 4, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 0), AC(0, 5, 0, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 0), DC(0, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 0), DC(0, 1, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 0), DC(1, 0, 0)}, /* of another component */
        {DC(0, 0, 1), AC(0, 1, 63, 0, 0)},
        {DC(0, 1, 0), AC(0, 1, 63, 0, 0)},
        {DC(0, 1, 0), DC(0, 0, 1), AC(0, 1, 63, 0, 0), DC(0, 1, 0)},
        {DC(0, 0, 1), AC(0, 1, 63, 0, 0), DC(0, 0, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 1)},
        {DC(0, 0, 0), AC(0, 1, 63, 1, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 3), AC(0, 1, 63, 3, 1), AC(0, 1, 63, 1, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 2), AC(0, 1, 63, 1, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 1), AC(0, 1, 63, 2, 1), AC(0, 1, 63, 1, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 1), AC(0, 1, 63, 1, 1), AC(0, 1, 63, 1, 0)},
        {DC(0, 0, 0), AC(0, 1, 63, 0, 1), AC(0, 1, 62, 1, 0)},
        {AC(0, 0, 63, 0, 0)},
        {AC(0, 0, 5, 0, 0), AC(0, 6, 63, 0, 0)},
        {{2, {0, 0}, 0, 0, 0, 0}, AC(0, 1, 63, 0, 0)},
        {{2, {0, 1}, 0, 0, 0, 0}, AC(0, 1, 63, 0, 0)},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int n = 0;
        while (n < 6 && wrong[i][n].comps_in_scan > 0)
            n++;
        if (are_complete(wrong[i], n, 1))
            fail_msg("case %u", i);
    }
    for (int from = 0; from < 16; from++) { /* one bit at a time */
        jpeg_scan_info deep[17] = {DC(0, 0, 0), AC(0, 1, 63, 0, from)};
        for (int low = from - 1, n = 2; low >= 0; low--, n++)
            deep[n] = (jpeg_scan_info)AC(0, 1, 63, low + 1, low);
        assert_int_equal(are_complete(deep, from + 2, 1), from <= 13);
    }
}

/* Two components. */
TEST(components)
{
    static const struct {
        bool is_complete;
        jpeg_scan_info scans[4];
        int n;
    } cases[] = {
        {true, {{2, {0, 1}, 0, 0, 0, 0}, AC(1, 1, 63, 0, 0), AC(0, 1, 63, 0, 0)}, 3},
        {true, {DC(1, 0, 0), AC(1, 1, 63, 0, 0), DC(0, 0, 0), AC(0, 1, 63, 0, 0)}, 4},
        {false, {{2, {1, 0}, 0, 0, 0, 0}, AC(1, 1, 63, 0, 0), AC(0, 1, 63, 0, 0)}, 3},
        {false, {{2, {0, 0}, 0, 0, 0, 0}, AC(1, 1, 63, 0, 0), AC(0, 1, 63, 0, 0)}, 3},
        {false, {{2, {0, 2}, 0, 0, 0, 0}, AC(1, 1, 63, 0, 0), AC(0, 1, 63, 0, 0)}, 3},
        {false, {{3, {0, 1, 1}, 0, 0, 0, 0}, AC(1, 1, 63, 0, 0), AC(0, 1, 63, 0, 0)}, 3},
        {false, {{2, {0, 1}, 0, 0, 0, 0}, {2, {0, 1}, 1, 63, 0, 0}}, 2},
        {false, {DC(0, 0, 0), AC(1, 1, 63, 0, 0), DC(1, 0, 0), AC(0, 1, 63, 0, 0)}, 4},
        {false, {DC(0, 0, 0), AC(0, 1, 63, 0, 0), DC(1, 0, 0), AC(0, 1, 63, 0, 0)}, 4},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (are_complete(cases[i].scans, cases[i].n, 2) != cases[i].is_complete)
            fail_msg("case %u", i);
}

/* ---- the scan to decode last ---- */

/* True: no later scan has a component of the nth one and is DC if that is DC, or AC if that is AC.
 */
static bool may_be_last(const struct script *script, int n)
{
    int last_of[IH_JPEG_COMPONENTS_MAX][2] = {{0}}; /* of DC, of AC */
    const jpeg_scan_info *of = &script->scans[n];
    for (int i = 0; i < script->n_scans; i++) {
        const jpeg_scan_info *info = &script->scans[i];
        for (int c = 0; c < info->comps_in_scan; c++)
            last_of[info->component_index[c]][info->Ss > 0] = i;
    }
    for (int c = 0; c < of->comps_in_scan; c++)
        if (last_of[of->component_index[c]][of->Ss > 0] != n)
            return false;
    return true;
}

TEST(last_scan)
{
    uint32_t random = 1;
    for (unsigned i = 0; i < N_SCRIPTS * 200; i++) {
        const struct script *script = script_at(i % N_SCRIPTS);
        struct ih_progressive_scans s = scans_of(script->scans, script->n_scans);
        for (unsigned k = 0; k < s.n_scans; k++) {
            random = random * 1664525u + 1013904223u;
            s.scans[k].span.size_bytes = 10 + (random >> 24) % (2 + i % 90); /* some are equal */
        }
        const unsigned found = ih_progressive_last_scan(&s);
        assert_true(found < s.n_scans);
        assert_true(may_be_last(script, (int)found));
        const size_t n_bytes = s.scans[found].span.size_bytes;
        for (unsigned k = 0; k < s.n_scans; k++)
            if (may_be_last(script, (int)k))
                assert_true(s.scans[k].span.size_bytes >= n_bytes);
        if (s.scans[s.n_scans - 1].span.size_bytes == n_bytes)
            assert_int_equal(found, s.n_scans - 1); /* the order of the file, on a tie */
    }
}

/* The sizes of a photo: its last DC scan is the smallest. */
TEST(last_scan_of_standard)
{
    static const size_t sizes[] = {7332, 500, 4966, 3916, 9, 25616, 1489, 7309, 4798, 49162};
    struct ih_progressive_scans s = scans_of(scans_standard, standard.n_scans);
    for (unsigned i = 0; i < s.n_scans; i++)
        s.scans[i].span.size_bytes = sizes[i];
    assert_int_equal(ih_progressive_last_scan(&s), 6);
    s.scans[6].span.size_bytes = 4799;
    assert_int_equal(ih_progressive_last_scan(&s), 8);
    s.n_scans = 1;
    assert_int_equal(ih_progressive_last_scan(&s), 0);
}

/* In each pair the second scan depends on the first. */
TEST(last_scan_of_pairs)
{
    static const jpeg_scan_info pairs[][2] = {
        {DC(0, 0, 1), DC(0, 1, 0)},
        {{3, {0, 1, 2}, 0, 0, 0, 1}, DC(2, 1, 0)},
        {DC(1, 0, 1), {2, {0, 1}, 0, 0, 1, 0}},
        {AC(0, 1, 63, 0, 1), AC(0, 63, 63, 1, 0)},
        {AC(0, 5, 5, 0, 1), AC(0, 1, 5, 1, 0)},
        {AC(0, 1, 5, 0, 0), AC(0, 6, 63, 0, 0)},
    };
    for (unsigned i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct ih_progressive_scans s = scans_of(pairs[i], 2);
        s.scans[0].span.size_bytes = 10;
        s.scans[1].span.size_bytes = 99;
        assert_int_equal(ih_progressive_last_scan(&s), 1);
    }
}
