/*
 * ih_decode_options.timeout_s in the process itself: what counts, and where decoders check it.
 * Tests set the used time themselves, so only the tests of waiting take real time.
 */
#include "tests/support/test.h"

#include "decode/whole_file.h"

#include "tests/support/decoded.h"
#include "tests/support/each_file.h"
#include "tests/support/progressive.h"

#define MS ((uint64_t)1000 * 1000)
static const struct timespec more_than_a_second = {.tv_sec = 1, .tv_nsec = 300 * MS};

static void assert_timeout(enum ih_status status, const struct ih_error *err)
{
    assert_int_equal(status, IH_LIMIT);
    assert_int_equal(err->status, IH_LIMIT);
    assert_int_equal(err->limit, IH_LIMIT_TIMEOUT);
    assert_int_equal(err->limit_value, 1);
    assert_string_equal(err->message, "decoding takes more than 1 s");
}

/* ---- the clock ---- */

TEST(clock)
{
    struct ih_time_limit t = {.limit_s = 1};
    struct ih_error err;
    ih_time_limit_resume(&t);
    assert_int_equal(ih_time_limit_check(&t, &err), IH_OK);
    t.used_ns += 999 * MS;
    t.last_ns -= 5 * MS; /* five milliseconds pass */
    assert_timeout(ih_time_limit_check(&t, &err), &err);

    t = (struct ih_time_limit){.limit_s = 1};
    ih_time_limit_resume(&t);
    t.last_ns -= 100 * 1000 * MS; /* the program was stopped for 100 s */
    assert_int_equal(ih_time_limit_check(&t, &err), IH_OK);
    assert_int_equal(t.used_ns, 1000 * MS);
    ih_time_limit_pause(&t);
    const uint64_t used_ns = t.used_ns;
    t.last_ns -= 5 * MS; /* no time passes during a pause */
    assert_int_equal(ih_time_limit_check(&t, &err), t.used_ns > 1000 * MS ? IH_LIMIT : IH_OK);
    assert_int_equal(t.used_ns, used_ns);

    t = (struct ih_time_limit){.limit_s = 1};
    ih_time_limit_resume(&t);
    assert_true(t.cpu_ns > 0);
    t.last_ns -= 100 * 1000 * MS;
    t.cpu_ns -= 5 * 1000 * MS; /* the decoder was busy for five of the 100 seconds */
    assert_timeout(ih_time_limit_check(&t, &err), &err);
    assert_in_range(t.used_ns, 5000 * MS, 6000 * MS);

    t = (struct ih_time_limit){.used_ns = UINT64_MAX};
    ih_time_limit_resume(&t);
    assert_int_equal(ih_time_limit_check(&t, &err), IH_OK);
}

struct questions {
    unsigned n, yes_at;
};

static bool answer(void *user)
{
    struct questions *q = user;
    return ++q->n == q->yes_at;
}

TEST(interrupt)
{
    struct questions q = {.yes_at = 3};
    const struct ih_interrupt interrupt = {answer, &q};
    struct ih_time_limit t = {.interrupt = &interrupt};
    struct ih_error err;
    assert_int_equal(ih_time_limit_check(&t, &err), IH_OK);
    t.asked_ns -= 40 * MS;
    assert_int_equal(ih_time_limit_check(&t, &err), IH_OK);
    assert_int_equal(q.n, 0); /* short work asks nothing */
    for (unsigned i = 1; i <= 2; i++) {
        t.asked_ns -= 50 * MS;
        assert_int_equal(ih_time_limit_check(&t, &err), IH_OK);
        assert_int_equal(q.n, i);
    }
    t.asked_ns -= 50 * MS;
    for (unsigned i = 0; i < 3; i++) { /* a decoder that ignores the error does not get further */
        memset(&err, 0, sizeof err);
        assert_int_equal(ih_time_limit_check(&t, &err), IH_LIMIT);
        assert_string_equal(err.message, "interrupted");
        assert_int_equal(err.limit, 0);
        assert_true(ih_time_limit_ask(&t));
    }
    assert_int_equal(q.n, 3);
}

/* ---- every format ---- */

static const struct ih_decode_options one_second = {.max_pixels = 1 << 24, .timeout_s = 1};

/* Reads a row. When it returns IH_OK, there are more. */
static enum ih_status read_row(struct ih_decode *d, uint8_t *row, struct ih_error *err)
{
    size_t n = 0;
    enum ih_status status = ih_decode_read(d, row, (size_t)d->info.width, &n, err);
    assert_true(status != IH_OK || n > 0);
    return status;
}

/* The time is used up after the header, or after a row. */
static void check_file(const struct file *file)
{
    for (unsigned n_rows = 0; n_rows <= 1; n_rows++) {
        struct ih_reader src = {0};
        struct ih_decode d;
        struct ih_error err = {0};
        ih_reader_open_memory(&src, file->bytes, file->size);
        assert_int_equal(ih_decode_open(&d, &src, &one_second, &err), IH_OK);
        uint8_t *row = malloc(ih_decode_row_bytes(&d));
        assert_non_null(row);
        for (unsigned i = 0; i < n_rows; i++)
            assert_int_equal(read_row(&d, row, &err), IH_OK);
        src.time.used_ns = 1001 * MS;
        assert_timeout(read_row(&d, row, &err), &err);
        free(row);
        ih_decode_close(&d);
        ih_reader_reset(&src);
    }
}

TEST(between_stripes)
{
    static char pgm[] = "P5 2 3 255\n123456", tga[18 + 6] = {[2] = 3, [12] = 2, [14] = 3, [16] = 8};
    const struct file made[] = {{(uint8_t *)pgm, sizeof pgm - 1}, {(uint8_t *)tga, sizeof tga}};
    assert_true(for_each("../samples", "scene.", check_file) >= 2);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        check_file(&made[i]);
}

/* A header that never ends: only reads of the file notice it. */
TEST(between_reads)
{
    char name[] = "/tmp/imghist-test-XXXXXX";
    static char blanks[3 * IH_READER_BUFFER_BYTES];
    struct ih_reader src = {0};
    struct ih_error err = {0};
    const uint8_t *bytes;
    size_t n;
    const int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    memset(blanks, ' ', sizeof blanks);
    assert_int_equal(write(fd, blanks, sizeof blanks), sizeof blanks);
    lseek(fd, 0, SEEK_SET);
    assert_int_equal(ih_reader_open_fd(&src, fd, &err), IH_OK);
    assert_int_equal(ih_reader_peek(&src, 1, &bytes, &n, &err), IH_OK);
    src.time = (struct ih_time_limit){.limit_s = 1, .used_ns = 1001 * MS};
    ih_reader_consume(&src, n);
    for (int i = 0; i < 2; i++) /* a decoder cannot go on either */
        assert_timeout(ih_reader_peek(&src, 1, &bytes, &n, &err), &err);
    ih_reader_reset(&src);
    close(fd);
}

/* ---- JPEG with several scans ---- */

/* In the ordinary way the first row needs all scans. Decoding stops in the first one: most of the
 * file is unread. */
TEST(between_scans)
{
    static const struct look gray = {.h = 1, .v = 1, .stored = JCS_GRAYSCALE};
    struct jpeg_file f = make_scans(&gray, &scripts[0], 1000, 1000);
    struct ih_reader src = {0};
    struct ih_decode d;
    struct ih_error err = {0};
    uint8_t row[1000];
    struct ih_decode_options options = one_second;
    assert_true(f.n > 4 * IH_READER_BUFFER_BYTES);
    options.all_scans_from_pixels = ORDINARY_FROM;
    ih_reader_open_memory(&src, f.bytes, f.n);
    assert_int_equal(ih_decode_open(&d, &src, &options, &err), IH_OK);
    src.time.used_ns = 1001 * MS;
    assert_timeout(read_row(&d, row, &err), &err);
    assert_true(src.n_left > f.n / 2);
    ih_decode_close(&d);
    ih_reader_reset(&src);
    free(f.bytes);
}

/* ... and with all scans at once; planes too. */
TEST(all_scans)
{
    for (int gives_pixels = 0; gives_pixels <= 1; gives_pixels++) {
        struct jpeg_file f = make_scans(&looks[2], &scripts[0], 600, 600);
        struct ih_reader src = {0};
        struct ih_decode d;
        struct ih_error err = {0};
        struct ih_planes planes;
        size_t n;
        static uint8_t stripe[1 << 20];
        ih_reader_open_memory(&src, f.bytes, f.n);
        assert_int_equal(ih_decode_open(&d, &src, &one_second, &err), IH_OK);
        const size_t n_bytes = ih_decode_planes_bytes(&d);
        assert_true(n_bytes > 0 && n_bytes <= sizeof stripe);
        for (int i = 0; i < 2; i++) {
            if (i == 1)
                src.time.used_ns = 1001 * MS;
            enum ih_status status = gives_pixels
                                        ? ih_decode_read(&d, stripe, 600 * 16, &n, &err)
                                        : ih_decode_read_planes(&d, stripe, n_bytes, &planes, &err);
            if (i == 0)
                assert_int_equal(status, IH_OK);
            else
                assert_timeout(status, &err);
        }
        ih_decode_close(&d);
        ih_reader_reset(&src);
        free(f.bytes);
    }
}

/* ---- what does not count ---- */

static void *give_late(void *budget)
{
    nanosleep(&more_than_a_second, NULL);
    ih_budget_give(budget, 1 << 20);
    return NULL;
}

/* Both kinds of images that are held: as coefficients, and as a file. */
TEST(budget)
{
    static const struct look gray = {.h = 1, .v = 1, .stored = JCS_GRAYSCALE};
    for (int is_held = 0; is_held <= 1; is_held++) {
        struct jpeg_file f = make_scans(&gray, &scripts[0], 64, 64);
        struct ih_budget budget;
        struct ih_decode_options options = one_second;
        struct ih_reader src = {0};
        struct ih_whole_file held = {0};
        struct ih_decode d;
        struct ih_error err = {0};
        uint8_t row[64];
        pthread_t giver;
        ih_budget_init(&budget, 1 << 20);
        assert_int_equal(ih_budget_take(&budget, 1 << 20, &err), IH_OK);
        assert_int_equal(pthread_create(&giver, NULL, give_late, &budget), 0);
        options.budget = &budget;
        ih_reader_open_memory(&src, f.bytes, f.n);
        assert_int_equal(ih_decode_open(&d, &src, &options, &err), IH_OK);
        if (is_held) {
            ih_time_limit_resume(&src.time);
            assert_int_equal(ih_whole_file_open(&held, &src, &options, 0, &err), IH_OK);
            assert_int_equal(ih_time_limit_check(&src.time, &err), IH_OK);
        } else {
            assert_int_equal(read_row(&d, row, &err), IH_OK);
        }
        pthread_join(giver, NULL);
        assert_true(budget.taken_bytes > 0);
        assert_true(src.time.used_ns < 1000 * MS);
        ih_whole_file_close(&held);
        ih_decode_close(&d);
        ih_reader_reset(&src);
        ih_budget_destroy(&budget);
        free(f.bytes);
    }
}
