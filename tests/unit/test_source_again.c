/* Files that are opened once more, and read from their start again. */
#define _POSIX_C_SOURCE 200809L

#include "base/source.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_BYTES = 200 * 1000 + 7 };

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 256);
}

/* And closes it. */
static void write_to(int fd)
{
    static uint8_t bytes[FILE_BYTES];
    for (size_t i = 0; i < FILE_BYTES; i++)
        bytes[i] = byte_at(i);
    assert_int_equal(write(fd, bytes, FILE_BYTES), FILE_BYTES);
    assert_int_equal(close(fd), 0);
}

/* All bytes of the file, from its first on. */
static void check_all(struct ih_source *source)
{
    static uint8_t bytes[FILE_BYTES + 1];
    struct ih_error error;
    size_t n;
    assert_int_equal(ih_source_read(source, bytes, sizeof bytes, &n, &error), IH_OK);
    assert_int_equal(n, FILE_BYTES);
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(i))
            fail_msg("byte %zu", i);
}

/* A file once more, from its start, wherever the first one is, and whether it still has a name. */
static void test_source_reopen(void **state)
{
    (void)state;
    char path[] = "/tmp/imghist-source-XXXXXX";
    struct ih_source first = {0}, second = {0};
    struct ih_error error;
    const uint8_t *shown;
    size_t n;
    write_to(mkstemp(path));
    assert_int_equal(ih_source_open_path(&first, path, &error), IH_OK);
    assert_int_equal(ih_source_peek(&first, 1000, &shown, &n, &error), IH_OK);
    ih_source_consume(&first, 999);
    assert_int_equal(ih_source_reopen(&second, &first, &error), IH_OK);
    check_all(&second);
    ih_source_close(&second);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ih_source_reopen(&second, &first, &error), IH_OK);
    assert_int_equal(ih_source_rewind(&second, &error), IH_OK); /* before anything was read */
    assert_int_equal(ih_source_peek(&second, 1000, &shown, &n, &error), IH_OK);
    ih_source_consume(&second, 10);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ih_source_rewind(&second, &error), IH_OK); /* within, and at its end */
        check_all(&second);
    }
    assert_int_equal(ih_source_read(&first, &(uint8_t){0}, 1, &n, &error), IH_OK);
    assert_int_equal(n, 1); /* it goes on where it was */
    assert_int_equal(first.next[-1], byte_at(999));
    ih_source_reset(&first);
    assert_int_equal(fcntl(second.fd, F_GETFL) & O_ACCMODE, O_RDONLY); /* it is not first's */
    assert_int_equal(fcntl(second.fd, F_GETFD), FD_CLOEXEC);
    ih_source_reset(&second);
}

/* What is no file, or is not opened by its path, is not opened once more. */
static void test_source_not_reopened(void **state)
{
    (void)state;
    char path[] = "/tmp/imghist-source-XXXXXX";
    struct ih_source first = {0}, second = {0};
    struct ih_error error;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ih_source_reopen(&second, &first, &error), IH_UNSUPPORTED); /* closed */
    ih_source_open_memory(&first, (const uint8_t *)"abc", 3);
    assert_int_equal(ih_source_reopen(&second, &first, &error), IH_UNSUPPORTED);
    ih_source_close(&first);
    assert_int_equal(ih_source_open_fd(&first, fd, &error), IH_OK);
    assert_int_equal(ih_source_reopen(&second, &first, &error), IH_UNSUPPORTED);
    ih_source_close(&first);
    assert_int_equal(ih_source_open_path(&first, "/dev/null", &error), IH_OK);
    assert_int_equal(ih_source_reopen(&second, &first, &error), IH_UNSUPPORTED);
    assert_string_equal(error.message, "cannot open the file once more");
    assert_false(second.is_open);
    ih_source_reset(&first);
    ih_source_reset(&second);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source_reopen),
        cmocka_unit_test(test_source_not_reopened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
