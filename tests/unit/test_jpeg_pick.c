/*
 * Which bytes of a JPEG are passed on, from streams put together by hand, which come in packets, so
 * that what is at hand ends anywhere: all but the scans that are of somebody else's components
 * alone, and nothing from where the file is not as it should be.
 */
#define _POSIX_C_SOURCE 200809L

#include "decode/jpeg_pick.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/written.h"

/* ---- streams ---- */

enum fate { PASSED, SKIPPED };

/* A stream, behind the header of its first scan, and what is to come of it. Components 2 and 3 are
 * somebody else's. */
struct stream {
    struct file all, passed;
    size_t passed_by[4096]; /* of the first n bytes */
};

static void add(struct stream *s, enum fate fate, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->passed_by[s->all.n] = s->passed.n;
        put(&s->all, bytes + i, 1);
        if (fate == PASSED)
            put(&s->passed, bytes + i, 1);
    }
    s->passed_by[s->all.n] = s->passed.n;
}

#define ADD(s, fate, ...) add(s, fate, EXPECT(__VA_ARGS__), sizeof EXPECT(__VA_ARGS__))

/* Data of a scan: what looks like a marker and is none, and the ones that belong to it. */
static void add_data(struct stream *s, enum fate fate, size_t n)
{
    ADD(s, fate, 1, 0xFF, 0, 0xFF, 0, 0xFF, 0xD0, 2, 0xDA, 0xFF, 0xD7, 0xFF, 0xFF, 0, 0xFF, 0xD3);
    for (size_t i = 0; i < n; i++)
        ADD(s, fate, (uint8_t)(i % 255));
}

#define SOS1(id, ...) 0xFF, 0xDA, 0, 8, 1, id, 0x12, __VA_ARGS__

static void make_stream(struct stream *s, size_t n)
{
    s->all.n = s->passed.n = 0;
    add_data(s, PASSED, n); /* of the first scan, whatever it is of */
    ADD(s, SKIPPED, SOS1(2, 1, 5, 0));
    add_data(s, SKIPPED, n);
    ADD(s, PASSED, 0xFF, 0xC4, 0, 9, 1, 0xFF, 0xDA, 0, 8, 1, 2); /* it only looks like a scan */
    ADD(s, PASSED, 0xFF, 0xFE, 0, 2);
    ADD(s, PASSED, 0xFF, 0xE2, 1, 0x2C); /* more than is at hand */
    for (unsigned i = 0; i < 149; i++)
        ADD(s, PASSED, 0xFF, 0xDA);
    ADD(s, PASSED, SOS1(1, 1, 63, 0));
    add_data(s, PASSED, n / 2);
    ADD(s, SKIPPED, 0xFF, 0xDA, 0, 10, 2, 3, 0, 2, 0, 0, 0, 0x10);
    add_data(s, SKIPPED, n / 3);
    ADD(s, PASSED, 0xFF, 0x01, 0xFF, 0xD4, 0xFF, 0xDD, 0, 4, 0, 0);
    ADD(s, PASSED, 0xFF, 0xDA, 0, 10, 2, 2, 0, 1, 0, 0, 0, 0x10); /* the second one is ours */
    add_data(s, PASSED, 3);
    ADD(s, SKIPPED, SOS1(3, 1, 63, 0)); /* without data */
    ADD(s, SKIPPED, SOS1(2, 6, 63, 0), 0xFF, 0xFF, 0xFF);
    ADD(s, PASSED, 0xFF, 0xFE, 0, 3, 'x', 0xFF, 0xFF);
    ADD(s, PASSED, SOS1(9, 1, 63, 0)); /* nobody's: to be refused by who reads it */
    add_data(s, PASSED, 2);
    ADD(s, PASSED, 0xFF, 0xDA, 0, 6, 0, 0, 63, 0); /* of none */
    add_data(s, PASSED, 2);
    ADD(s, PASSED, 0xFF, 0xDA, 0, 2, 5);       /* nor a header */
    ADD(s, PASSED, 0xFF, 0xDA, 0, 5, 2, 2, 0); /* it says two, and has room for one */
    add_data(s, PASSED, 2);
    ADD(s, PASSED, 0xFF, 0xD9);
}

/* ---- what comes of them ---- */

struct writer {
    int fd;
    const uint8_t *bytes;
    size_t n, packet_bytes; /* every other packet is larger */
};

static void *write_packets(void *argument)
{
    struct writer *w = argument;
    for (size_t done = 0, n, i = 0; done < w->n; done += n, i++) {
        n = w->packet_bytes * (1 + i % 2);
        n = n < w->n - done ? n : w->n - done;
        if (send(w->fd, w->bytes + done, n, MSG_NOSIGNAL) != (ssize_t)n)
            break;
    }
    close(w->fd);
    return NULL;
}

static void pick_from(struct ih_source *src, struct ih_jpeg_pick *p, struct file *out)
{
    struct ih_error err;
    const uint8_t *bytes;
    size_t n;
    out->n = 0;
    ih_jpeg_pick_begin(p, (const uint8_t[]){2, 3}, 2);
    for (;;) {
        assert_int_equal(ih_jpeg_pick_next(p, src, &bytes, &n, &err), IH_OK);
        if (n == 0)
            break;
        put(out, bytes, n);
        ih_source_consume(src, n);
    }
    assert_int_equal(ih_jpeg_pick_next(p, src, &bytes, &n, &err), IH_OK); /* and says so again */
    assert_int_equal(n, 0);
}

static void pick_packets(const uint8_t *bytes, size_t n, size_t packet_bytes,
                         struct ih_jpeg_pick *p, struct file *out)
{
    struct ih_source source = {0};
    struct ih_error err;
    pthread_t thread;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    struct writer writer = {fds[1], bytes, n, packet_bytes};
    assert_int_equal(pthread_create(&thread, NULL, write_packets, &writer), 0);
    assert_int_equal(ih_source_open_fd(&source, fds[0], &err), IH_OK);
    pick_from(&source, p, out);
    ih_source_reset(&source);
    close(fds[0]);
    pthread_join(thread, NULL);
}

static void pick_memory(const uint8_t *bytes, size_t n, struct ih_jpeg_pick *p, struct file *out)
{
    struct ih_source source = {0};
    uint8_t *copy = malloc(n + 1); /* which ends with its last byte */
    assert_non_null(copy);
    memcpy(copy + 1, bytes, n);
    ih_source_open_memory(&source, copy + 1, n);
    pick_from(&source, p, out);
    ih_source_reset(&source);
    free(copy);
}

/* ---- tests ---- */

static void test_packets(void **state)
{
    (void)state;
    static struct stream s;
    static struct file out;
    struct ih_jpeg_pick p;
    for (size_t n = 0; n < 300; n = n * 2 + 1) {
        make_stream(&s, n);
        for (size_t packet_bytes = 1; packet_bytes < 90; packet_bytes += 1 + packet_bytes / 8) {
            pick_packets(s.all.bytes, s.all.n, packet_bytes, &p, &out);
            assert_int_equal(out.n, s.passed.n);
            assert_memory_equal(out.bytes, s.passed.bytes, out.n);
            assert_int_equal(p.n_scans, 10);
            assert_int_equal(p.at, IH_JPEG_PICK_END);
        }
    }
}

/* What is behind the end is of no concern. */
static void test_behind_the_end(void **state)
{
    (void)state;
    static struct stream s;
    static struct file out;
    struct ih_jpeg_pick p;
    make_stream(&s, 9);
    ADD(&s, SKIPPED, SOS1(1, 1, 63, 0), 0xFF, 0xD9);
    pick_memory(s.all.bytes, s.all.n, &p, &out);
    assert_int_equal(out.n, s.passed.n);
    assert_int_equal(p.n_scans, 10);
}

/* All that came is passed on, but for a marker or a header that may have been going on. */
static void test_streams_that_end(void **state)
{
    (void)state;
    static struct stream s;
    static struct file out;
    struct ih_jpeg_pick p;
    make_stream(&s, 70);
    for (size_t n = 0; n < s.all.n; n++) {
        for (unsigned k = 0; k < 2; k++) {
            if (k == 0)
                pick_memory(s.all.bytes, n, &p, &out);
            else
                pick_packets(s.all.bytes, n, 1 + n % 70, &p, &out);
            const size_t n_passed = s.passed_by[n];
            assert_true(out.n <= n_passed && out.n + 11 >= n_passed);
            assert_memory_equal(out.bytes, s.passed.bytes, out.n);
            assert_true(p.at != IH_JPEG_PICK_END);
        }
    }
}

/* Nothing comes of what should be a marker and is none, nor of what is behind it. */
static void test_no_marker(void **state)
{
    (void)state;
    static const uint8_t wrong[][4] = {
        {0, 0, 0, 0}, {0xFE, 0xFF, 0xFE, 0}, {0xFF, 0xFE, 0, 1}, {0xFF, 0xDA, 0, 0}};
    static struct stream s;
    static struct file out;
    struct ih_jpeg_pick p;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        s.all.n = s.passed.n = 0;
        ADD(&s, PASSED, 1, 2, 3, 0xFF, 0xFE, 0, 5, 1, 2, 3);
        add(&s, SKIPPED, wrong[i], sizeof wrong[i]);
        ADD(&s, SKIPPED, 0xFF, 0xFE, 0, 3, 1, 0xFF, 0xD9);
        pick_memory(s.all.bytes, s.all.n, &p, &out);
        assert_int_equal(out.n, s.passed.n);
        assert_memory_equal(out.bytes, s.passed.bytes, out.n);
    }
}

/* A source that cannot be read is an error. */
static void test_read_error(void **state)
{
    (void)state;
    struct ih_source source = {0};
    struct ih_jpeg_pick p;
    struct ih_error err;
    const uint8_t *bytes;
    size_t n;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(ih_source_open_fd(&source, fds[1], &err), IH_OK); /* of the wrong end */
    ih_jpeg_pick_begin(&p, (const uint8_t[]){2, 3}, 2);
    assert_int_equal(ih_jpeg_pick_next(&p, &source, &bytes, &n, &err), IH_IO);
    ih_source_reset(&source);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets),          cmocka_unit_test(test_behind_the_end),
        cmocka_unit_test(test_streams_that_end), cmocka_unit_test(test_no_marker),
        cmocka_unit_test(test_read_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
