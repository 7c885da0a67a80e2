/* Inputs whose size is asked for, and that are read from their start again. */
#define _POSIX_C_SOURCE 200809L

#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_BYTES = 200 * 1000 + 7 };

struct named {
    char path[32];
};

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 256);
}

/* A file of n bytes, those of byte_at. */
static struct named make_file(size_t n)
{
    static uint8_t bytes[FILE_BYTES];
    struct named file = {"/tmp/imghist-source-XXXXXX"};
    const int fd = mkstemp(file.path);
    assert_true(fd >= 0 && n <= FILE_BYTES);
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(i);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(close(fd), 0);
    return file;
}

static void open_path(struct ih_source *source, const char *path)
{
    struct ih_error error;
    assert_int_equal(ih_source_open_path(source, path, &error), IH_OK);
}

static void check_size(const struct ih_source *source, uint64_t expected)
{
    uint64_t n = 12345;
    assert_true(ih_source_size(source, &n));
    assert_int_equal(n, expected);
}

static void check_no_size(const struct ih_source *source)
{
    uint64_t n;
    assert_false(ih_source_size(source, &n));
}

/* Reads n bytes, of which the first one is that at `from`. */
static void check_read(struct ih_source *source, size_t from, size_t n)
{
    static uint8_t bytes[FILE_BYTES];
    struct ih_error error;
    size_t got;
    assert_true(n <= FILE_BYTES);
    assert_int_equal(ih_source_read(source, bytes, n, &got, &error), IH_OK);
    assert_int_equal(got, n);
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(from + i))
            fail_msg("byte %zu", from + i);
}

static void check_at_end(struct ih_source *source)
{
    struct ih_error error;
    const uint8_t *shown;
    size_t n;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ih_source_peek(source, 1, &shown, &n, &error), IH_OK);
        assert_int_equal(n, 0);
    }
}

/* All n bytes of an input, after it has been read as far as it has been. */
static void check_again(struct ih_source *source, size_t n)
{
    struct ih_error error;
    uint64_t n_left = 12345;
    assert_int_equal(ih_source_rewind(source, &error), IH_OK);
    assert_true(ih_source_size_left(source, &n_left));
    assert_int_equal(n_left, n);
    check_read(source, 0, n);
    check_at_end(source);
    check_size(source, n);
}

static void check_memory(struct ih_source *source, const uint8_t *bytes, size_t n)
{
    struct ih_error error;
    const uint8_t *shown;
    size_t got;
    ih_source_open_memory(source, bytes, n);
    check_size(source, n);
    for (size_t i = 0; i <= n; i++) { /* from everywhere */
        check_again(source, n);
        assert_int_equal(ih_source_rewind(source, &error), IH_OK);
        check_read(source, 0, i);
        check_size(source, n);
    }
    assert_int_equal(ih_source_rewind(source, &error), IH_OK);
    assert_int_equal(ih_source_peek(source, 1, &shown, &got, &error), IH_OK);
    assert_ptr_equal(shown, bytes); /* it is not copied */
    assert_int_equal(got, n);
    assert_int_equal(source->read_ns, 0);
    ih_source_close(source);
    check_no_size(source);
}

static void test_memory(void **state)
{
    (void)state;
    struct ih_source source = {0};
    uint8_t *bytes = malloc(9);
    assert_non_null(bytes);
    for (size_t i = 0; i < 9; i++)
        bytes[i] = byte_at(i);
    check_no_size(&source);
    check_memory(&source, bytes, 9);
    check_memory(&source, bytes, 0);
    check_memory(&source, NULL, 0);
    ih_source_reset(&source);
    free(bytes);
}

/* Wherever it is, whether it still has a name, and whatever has its name now. */
static void test_file(void **state)
{
    (void)state;
    static const size_t places[] = {
        0, 1, 999, IH_SOURCE_BUFFER_BYTES, IH_SOURCE_BUFFER_BYTES + 1, FILE_BYTES, FILE_BYTES, 0};
    const struct named file = make_file(FILE_BYTES), other = make_file(11);
    struct ih_source source = {0};
    struct ih_error error;
    const uint8_t *shown;
    size_t n;
    open_path(&source, file.path);
    check_size(&source, FILE_BYTES);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(ih_source_rewind(&source, &error), IH_OK);
        check_read(&source, 0, places[i]);
        check_size(&source, FILE_BYTES); /* it stays where it is */
        check_read(&source, places[i], FILE_BYTES - places[i]);
        check_again(&source, FILE_BYTES);
        assert_int_equal(ih_source_rewind(&source, &error), IH_OK);
        assert_int_equal(ih_source_peek(&source, 1000, &shown, &n, &error), IH_OK);
        check_again(&source, FILE_BYTES);
        if (i == 2)
            assert_int_equal(rename(other.path, file.path), 0);
        else if (i == 4)
            assert_int_equal(unlink(file.path), 0);
    }
    ih_source_close(&source);
    check_no_size(&source);
    ih_source_reset(&source);
}

/* What was open before is not in the way: neither memory in that of a file, nor the other way. */
static void test_after_another(void **state)
{
    (void)state;
    const struct named file = make_file(100), none = make_file(0);
    const uint8_t bytes[] = {byte_at(0), byte_at(1), byte_at(2)};
    struct ih_source source = {0};
    for (int i = 0; i < 2; i++) {
        ih_source_open_memory(&source, bytes, sizeof bytes);
        check_again(&source, sizeof bytes);
        ih_source_close(&source);
        open_path(&source, file.path);
        check_size(&source, 100);
        check_again(&source, 100);
        ih_source_close(&source);
        open_path(&source, none.path);
        check_size(&source, 0);
        check_again(&source, 0);
        ih_source_close(&source);
        const int fd = open(file.path, O_RDONLY); /* by the number that was the source's */
        assert_int_equal(fd, source.fd);
        check_no_size(&source);
        close(fd);
    }
    ih_source_reset(&source);
    unlink(file.path);
    unlink(none.path);
}

/* What is not ours to move, or cannot be. */
static void test_no_size(void **state)
{
    (void)state;
    const struct named file = make_file(100), fifo = make_file(0);
    struct ih_source source = {0};
    struct ih_error error;
    int fds[3];
    assert_int_equal(pipe(fds), 0);
    fds[2] = open(file.path, O_RDONLY);
    assert_true(fds[2] >= 0);
    for (int i = 0; i < 3; i += 2) { /* a pipe, and a file that is somebody else's */
        assert_int_equal(ih_source_open_fd(&source, fds[i], &error), IH_OK);
        check_no_size(&source);
        ih_source_close(&source);
    }
    open_path(&source, file.path); /* now it is ours */
    check_size(&source, 100);
    ih_source_close(&source);
    open_path(&source, "/dev/null");
    check_no_size(&source);
    ih_source_close(&source);
    open_path(&source, "/dev/zero");
    check_no_size(&source);
    ih_source_close(&source);
    unlink(fifo.path);
    assert_int_equal(mkfifo(fifo.path, 0600), 0);
    const int reader = open(fifo.path, O_RDONLY | O_NONBLOCK); /* so that nobody waits */
    const int writer = open(fifo.path, O_WRONLY);
    assert_true(reader >= 0 && writer >= 0);
    open_path(&source, fifo.path);
    assert_int_equal(write(writer, "abc", 3), 3);
    check_no_size(&source);
    ih_source_reset(&source);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    close(reader);
    close(writer);
    unlink(fifo.path);
    unlink(file.path);
}

/* Puts another open file in the place of a source's own one, and gives that. */
static int put_in_place(struct ih_source *source, int fd)
{
    const int own = dup(source->fd);
    assert_true(own >= 0);
    assert_int_equal(dup2(fd, source->fd), source->fd);
    close(fd);
    return own;
}

static void check_read_fails(struct ih_source *source)
{
    struct ih_error error = {0};
    const uint8_t *shown;
    size_t n;
    assert_int_equal(ih_source_peek(source, 1, &shown, &n, &error), IH_IO);
    assert_int_equal(n, 0);
    assert_memory_equal(error.message, "cannot read", 11);
}

static void test_errors(void **state)
{
    (void)state;
    const struct named file = make_file(FILE_BYTES);
    struct ih_source source = {0};
    struct ih_error error = {0};
    int fds[2];
    open_path(&source, file.path);
    check_read(&source, 0, IH_SOURCE_BUFFER_BYTES);
    int own = put_in_place(&source, open(file.path, O_WRONLY));
    check_read_fails(&source);
    put_in_place(&source, own);
    check_read_fails(&source); /* until it is read from its start */
    check_again(&source, FILE_BYTES);

    assert_int_equal(ih_source_rewind(&source, &error), IH_OK);
    check_read(&source, 0, 10);
    assert_int_equal(pipe(fds), 0);
    own = put_in_place(&source, fds[0]);
    assert_int_equal(ih_source_rewind(&source, &error), IH_IO);
    assert_int_equal(error.status, IH_IO);
    assert_memory_equal(error.message, "cannot read", 11);
    assert_non_null(strstr(error.message, strerror(ESPIPE)));
    check_read_fails(&source); /* what was read before is not given, as it was not the start */
    put_in_place(&source, own);
    check_again(&source, FILE_BYTES);
    ih_source_reset(&source);
    close(fds[1]);
    unlink(file.path);
}

/* The time of what is read again comes on top. */
static void test_read_ns(void **state)
{
    (void)state;
    const struct named file = make_file(FILE_BYTES);
    struct ih_source source = {0};
    struct ih_error error;
    open_path(&source, file.path);
    check_read(&source, 0, FILE_BYTES);
    for (int i = 0; i < 3; i++) {
        const uint64_t before_ns = source.read_ns;
        assert_true(before_ns > 0);
        assert_int_equal(ih_source_rewind(&source, &error), IH_OK);
        assert_true(source.read_ns >= before_ns);
        check_read(&source, 0, FILE_BYTES);
        assert_true(source.read_ns > before_ns);
    }
    ih_source_reset(&source);
    unlink(file.path);
}

/* Both say what the file is now. */
static void test_file_that_changes(void **state)
{
    (void)state;
    const struct named file = make_file(FILE_BYTES);
    struct ih_source source = {0};
    open_path(&source, file.path);
    check_again(&source, FILE_BYTES);
    for (size_t n = FILE_BYTES - 1; n > 0; n /= 7) {
        assert_int_equal(truncate(file.path, (off_t)n), 0);
        check_size(&source, n);
        check_again(&source, n);
    }
    assert_int_equal(truncate(file.path, 0), 0);
    check_again(&source, 0);
    const int fd = open(file.path, O_WRONLY);
    for (size_t n = 1; n < 9; n++) {
        assert_int_equal(write(fd, &(uint8_t){byte_at(n - 1)}, 1), 1);
        check_size(&source, n);
        check_again(&source, n);
    }
    close(fd);
    const off_t huge = (off_t)5 << 32; /* of which nothing is stored */
    if (truncate(file.path, huge) == 0) {
        check_size(&source, (uint64_t)huge);
        assert_int_equal(truncate(file.path, 8), 0);
        check_again(&source, 8);
    }
    ih_source_reset(&source);
    unlink(file.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_after_another),
        cmocka_unit_test(test_no_size),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_read_ns),
        cmocka_unit_test(test_file_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
