/* struct ih_reader: short reads, errors, sizes, and inputs that are read again from the start. */
#include "tests/support/test.h"

#include "base/reader.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_BYTES = 200 * 1000 + 7 };

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 256);
}

/* ---- reading ---- */

/* Writes INPUT_BYTES in pieces of 1 to 4,001 bytes, so that read(2) returns less than requested. */
static void *feed(void *argument)
{
    int fd = *(int *)argument;
    uint8_t piece[4001];
    for (size_t i = 0, n; i < INPUT_BYTES; i += n) {
        n = 1 + i * 2654435761u % sizeof piece;
        n = n < INPUT_BYTES - i ? n : INPUT_BYTES - i;
        for (size_t k = 0; k < n; k++)
            piece[k] = byte_at(i + k);
        if (write(fd, piece, n) != (ssize_t)n)
            break;
    }
    close(fd);
    return NULL;
}

struct pipe_feed {
    int fds[2];
    pthread_t thread;
    struct ih_reader source;
};

static void open_feed(struct pipe_feed *p)
{
    struct ih_error error;
    memset(p, 0, sizeof *p);
    assert_int_equal(pipe(p->fds), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, feed, &p->fds[1]), 0);
    assert_int_equal(ih_reader_open_fd(&p->source, p->fds[0], &error), IH_OK);
}

static void close_feed(struct pipe_feed *p)
{
    ih_reader_reset(&p->source);
    pthread_join(p->thread, NULL);
    assert_int_equal(close(p->fds[0]), 0); /* still open: it was borrowed */
}

TEST(pipe)
{
    static uint8_t copy[INPUT_BYTES + 1];
    struct pipe_feed p;
    struct ih_error error;
    const uint8_t *bytes;
    size_t n, at = 0;
    open_feed(&p);
    for (size_t round = 0; at < INPUT_BYTES; round++) {
        if (round % 2) {
            size_t wanted = round * 4999 % (3 * IH_READER_BUFFER_BYTES);
            assert_int_equal(ih_reader_read(&p.source, copy + at, wanted, &n, &error), IH_OK);
            assert_int_equal(n, wanted < INPUT_BYTES - at ? wanted : INPUT_BYTES - at);
        } else {
            size_t wanted = round * 3001 % IH_READER_BUFFER_BYTES;
            size_t left = INPUT_BYTES - at;
            assert_int_equal(ih_reader_peek(&p.source, wanted, &bytes, &n, &error), IH_OK);
            assert_true(n >= (wanted < left ? wanted : left));
            n /= 2;
            memcpy(copy + at, bytes, n);
            ih_reader_consume(&p.source, n);
        }
        at += n;
    }
    assert_int_equal(ih_reader_peek(&p.source, 1, &bytes, &n, &error), IH_OK);
    assert_int_equal(n, 0);
    assert_int_equal(ih_reader_read(&p.source, copy + at, 1, &n, &error), IH_OK);
    assert_int_equal(n, 0);
    for (size_t i = 0; i < INPUT_BYTES; i++)
        if (copy[i] != byte_at(i))
            fail_msg("byte %zu", i);
    close_feed(&p);
}

TEST(read_all)
{
    static const size_t limits[] = {INPUT_BYTES, INPUT_BYTES + 1, SIZE_MAX};
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        struct pipe_feed p;
        struct ih_error error;
        uint8_t *bytes = NULL;
        size_t n = 0;
        open_feed(&p);
        assert_int_equal(ih_reader_read_all(&p.source, limits[k], &bytes, &n, &error), IH_OK);
        assert_int_equal(n, INPUT_BYTES);
        for (size_t i = 0; i < n; i++)
            if (bytes[i] != byte_at(i))
                fail_msg("byte %zu", i);
        free(bytes);
        close_feed(&p);
    }
}

TEST(read_all_limit)
{
    static const uint8_t memory[100];
    struct ih_reader source = {0};
    struct ih_error error;
    uint8_t *bytes = NULL;
    size_t n;
    ih_reader_open_memory(&source, memory, sizeof memory);
    assert_int_equal(ih_reader_read_all(&source, 99, &bytes, &n, &error), IH_LIMIT);
    assert_null(bytes);
    ih_reader_close(&source);
    ih_reader_open_memory(&source, memory, 0);
    assert_int_equal(ih_reader_read_all(&source, 99, &bytes, &n, &error), IH_OK);
    assert_non_null(bytes);
    assert_int_equal(n, 0);
    free(bytes);
    ih_reader_reset(&source);
}

TEST(open_and_read_errors)
{
    struct ih_reader source = {0};
    struct ih_error error;
    const uint8_t *bytes;
    size_t n;
    struct ih_file_identity id;
    assert_int_equal(ih_reader_open_path(&source, "/nonexistent/file", &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(ENOENT)));
    assert_int_equal(ih_reader_open_path(&source, "/", &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(EISDIR)));
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(ih_reader_open_fd(&source, fds[1], &error), IH_OK); /* cannot be read */
    for (int again = 0; again < 2; again++)
        assert_int_equal(ih_reader_peek(&source, 1, &bytes, &n, &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(EBADF)));
    ih_reader_close(&source);
    /* Even a temporary error stays: bytes before and after it would not be one file. */
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(ih_reader_open_fd(&source, fds[0], &error), IH_OK);
    assert_int_equal(ih_reader_peek(&source, 1, &bytes, &n, &error), IH_IO);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(ih_reader_peek(&source, 1, &bytes, &n, &error), IH_IO);
    assert_non_null(strstr(error.message, strerror(EAGAIN)));
    ih_reader_close(&source);
    ih_reader_open_memory(&source, (const uint8_t *)"", 0);
    assert_false(ih_reader_identity(&source, &id));
    ih_reader_reset(&source);
    close(fds[0]);
    close(fds[1]);
}

/* ---- reading again ---- */

struct named {
    char path[32];
};

/* A file with the first n bytes of byte_at. */
static struct named make_file(size_t n)
{
    static uint8_t bytes[INPUT_BYTES];
    struct named file = {"/tmp/imghist-source-XXXXXX"};
    const int fd = mkstemp(file.path);
    assert_true(fd >= 0 && n <= INPUT_BYTES);
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(i);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(close(fd), 0);
    return file;
}

static void open_path(struct ih_reader *source, const char *path)
{
    struct ih_error error;
    assert_int_equal(ih_reader_open_path(source, path, &error), IH_OK);
}

static void check_size(const struct ih_reader *source, uint64_t expected)
{
    uint64_t n = 12345;
    assert_true(ih_reader_size(source, &n));
    assert_int_equal(n, expected);
}

static void check_no_size(const struct ih_reader *source)
{
    uint64_t n;
    assert_false(ih_reader_size(source, &n));
}

/* Reads n bytes and compares them with byte_at from `from` on. */
static void check_read(struct ih_reader *source, size_t from, size_t n)
{
    static uint8_t bytes[INPUT_BYTES];
    struct ih_error error;
    size_t got;
    assert_true(n <= INPUT_BYTES);
    assert_int_equal(ih_reader_read(source, bytes, n, &got, &error), IH_OK);
    assert_int_equal(got, n);
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(from + i))
            fail_msg("byte %zu", from + i);
}

static void check_at_end(struct ih_reader *source)
{
    struct ih_error error;
    const uint8_t *shown;
    size_t n;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ih_reader_peek(source, 1, &shown, &n, &error), IH_OK);
        assert_int_equal(n, 0);
    }
}

/* Rewinds an input that was read to any position, and reads all its n bytes. */
static void check_again(struct ih_reader *source, size_t n)
{
    struct ih_error error;
    uint64_t n_left = 12345;
    assert_int_equal(ih_reader_rewind(source, &error), IH_OK);
    assert_true(ih_reader_size_left(source, &n_left));
    assert_int_equal(n_left, n);
    check_read(source, 0, n);
    check_at_end(source);
    check_size(source, n);
}

static void check_memory(struct ih_reader *source, const uint8_t *bytes, size_t n)
{
    struct ih_error error;
    const uint8_t *shown;
    size_t got;
    ih_reader_open_memory(source, bytes, n);
    check_size(source, n);
    for (size_t i = 0; i <= n; i++) { /* from every position */
        check_again(source, n);
        assert_int_equal(ih_reader_rewind(source, &error), IH_OK);
        check_read(source, 0, i);
        check_size(source, n);
    }
    assert_int_equal(ih_reader_rewind(source, &error), IH_OK);
    assert_int_equal(ih_reader_peek(source, 1, &shown, &got, &error), IH_OK);
    assert_ptr_equal(shown, bytes); /* not copied */
    assert_int_equal(got, n);
    assert_int_equal(source->read_ns, 0);
    ih_reader_close(source);
    check_no_size(source);
}

TEST(memory_again)
{
    struct ih_reader source = {0};
    uint8_t *bytes = malloc(9);
    assert_non_null(bytes);
    for (size_t i = 0; i < 9; i++)
        bytes[i] = byte_at(i);
    check_no_size(&source);
    check_memory(&source, bytes, 9);
    check_memory(&source, bytes, 0);
    check_memory(&source, NULL, 0);
    ih_reader_reset(&source);
    free(bytes);
}

/* A file read from any position, also after it was replaced or deleted. */
TEST(file_again)
{
    static const size_t places[] = {
        0, 1, 999, IH_READER_BUFFER_BYTES, IH_READER_BUFFER_BYTES + 1, INPUT_BYTES, INPUT_BYTES, 0};
    const struct named file = make_file(INPUT_BYTES), other = make_file(11);
    struct ih_reader source = {0};
    struct ih_error error;
    const uint8_t *shown;
    size_t n;
    open_path(&source, file.path);
    check_size(&source, INPUT_BYTES);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        assert_int_equal(ih_reader_rewind(&source, &error), IH_OK);
        check_read(&source, 0, places[i]);
        check_size(&source, INPUT_BYTES); /* does not move the position */
        check_read(&source, places[i], INPUT_BYTES - places[i]);
        check_again(&source, INPUT_BYTES);
        assert_int_equal(ih_reader_rewind(&source, &error), IH_OK);
        assert_int_equal(ih_reader_peek(&source, 1000, &shown, &n, &error), IH_OK);
        check_again(&source, INPUT_BYTES);
        if (i == 2)
            assert_int_equal(rename(other.path, file.path), 0);
        else if (i == 4)
            assert_int_equal(unlink(file.path), 0);
    }
    ih_reader_close(&source);
    check_no_size(&source);
    ih_reader_reset(&source);
}

/* One source opens memory and files in turn. */
TEST(next_input)
{
    const struct named file = make_file(100), none = make_file(0);
    const uint8_t bytes[] = {byte_at(0), byte_at(1), byte_at(2)};
    struct ih_reader source = {0};
    for (int i = 0; i < 2; i++) {
        ih_reader_open_memory(&source, bytes, sizeof bytes);
        check_again(&source, sizeof bytes);
        ih_reader_close(&source);
        open_path(&source, file.path);
        check_size(&source, 100);
        check_again(&source, 100);
        ih_reader_close(&source);
        open_path(&source, none.path);
        check_size(&source, 0);
        check_again(&source, 0);
        const int closed_fd = source.fd;
        ih_reader_close(&source);
        const int fd = open(file.path, O_RDONLY); /* gets the descriptor that the source had */
        assert_int_equal(fd, closed_fd);
        check_no_size(&source);
        close(fd);
    }
    ih_reader_reset(&source);
    unlink(file.path);
    unlink(none.path);
}

/* Inputs that cannot be read again, and borrowed files. */
TEST(no_size)
{
    const struct named file = make_file(100), fifo = make_file(0);
    struct ih_reader source = {0};
    struct ih_error error;
    int fds[3];
    assert_int_equal(pipe(fds), 0);
    fds[2] = open(file.path, O_RDONLY);
    assert_true(fds[2] >= 0);
    for (int i = 0; i < 3; i += 2) { /* a pipe, and a borrowed file */
        assert_int_equal(ih_reader_open_fd(&source, fds[i], &error), IH_OK);
        check_no_size(&source);
        ih_reader_close(&source);
    }
    open_path(&source, file.path); /* opened by the source */
    check_size(&source, 100);
    ih_reader_close(&source);
    open_path(&source, "/dev/null");
    check_no_size(&source);
    ih_reader_close(&source);
    open_path(&source, "/dev/zero");
    check_no_size(&source);
    ih_reader_close(&source);
    unlink(fifo.path);
    assert_int_equal(mkfifo(fifo.path, 0600), 0);
    const int reader = open(fifo.path, O_RDONLY | O_NONBLOCK); /* so that open does not wait */
    const int writer = open(fifo.path, O_WRONLY);
    assert_true(reader >= 0 && writer >= 0);
    open_path(&source, fifo.path);
    assert_int_equal(write(writer, "abc", 3), 3);
    check_no_size(&source);
    ih_reader_reset(&source);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    close(reader);
    close(writer);
    unlink(fifo.path);
    unlink(file.path);
}

/* Replaces a source's descriptor by fd, which it closes. Returns a copy of the replaced one. */
static int replace_fd(struct ih_reader *source, int fd)
{
    const int own = dup(source->fd);
    assert_true(own >= 0);
    assert_int_equal(dup2(fd, source->fd), source->fd);
    close(fd);
    return own;
}

static void check_read_fails(struct ih_reader *source)
{
    struct ih_error error = {0};
    const uint8_t *shown;
    size_t n;
    assert_int_equal(ih_reader_peek(source, 1, &shown, &n, &error), IH_IO);
    assert_int_equal(n, 0);
    assert_memory_equal(error.message, "cannot read", 11);
}

TEST(rewind_errors)
{
    const struct named file = make_file(INPUT_BYTES);
    struct ih_reader source = {0};
    struct ih_error error = {0};
    int fds[2];
    open_path(&source, file.path);
    check_read(&source, 0, IH_READER_BUFFER_BYTES);
    int own = replace_fd(&source, open(file.path, O_WRONLY));
    check_read_fails(&source);
    replace_fd(&source, own);
    check_read_fails(&source); /* until it is rewound */
    check_again(&source, INPUT_BYTES);

    assert_int_equal(ih_reader_rewind(&source, &error), IH_OK);
    check_read(&source, 0, 10);
    assert_int_equal(pipe(fds), 0);
    own = replace_fd(&source, fds[0]);
    assert_int_equal(ih_reader_rewind(&source, &error), IH_IO);
    assert_int_equal(error.status, IH_IO);
    assert_memory_equal(error.message, "cannot read", 11);
    assert_non_null(strstr(error.message, strerror(ESPIPE)));
    check_read_fails(&source); /* must not return buffered bytes: they are not the start */
    replace_fd(&source, own);
    check_again(&source, INPUT_BYTES);
    ih_reader_reset(&source);
    close(fds[1]);
    unlink(file.path);
}

/* Size and bytes are those of the file as it is now. */
TEST(changing_file)
{
    const struct named file = make_file(INPUT_BYTES);
    struct ih_reader source = {0};
    open_path(&source, file.path);
    check_again(&source, INPUT_BYTES);
    for (size_t n = INPUT_BYTES - 1; n > 0; n /= 7) {
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
    const off_t huge = (off_t)5 << 32; /* sparse */
    if (truncate(file.path, huge) == 0) {
        check_size(&source, (uint64_t)huge);
        assert_int_equal(truncate(file.path, 8), 0);
        check_again(&source, 8);
    }
    ih_reader_reset(&source);
    unlink(file.path);
}

/* Any place of a file or of memory, without a change to what is read next; nothing of a pipe. */
TEST(read_at)
{
    static uint8_t bytes[INPUT_BYTES];
    char path[] = "/tmp/imghist-XXXXXX";
    struct ih_reader source = {0};
    struct ih_error error;
    uint8_t got[10];
    size_t n;
    for (size_t i = 0; i < INPUT_BYTES; i++)
        bytes[i] = byte_at(i);
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, bytes, sizeof bytes), (ssize_t)sizeof bytes);
    close(fd);
    for (int in_memory = 0; in_memory <= 1; in_memory++) {
        if (in_memory)
            ih_reader_open_memory(&source, bytes, sizeof bytes);
        else
            assert_int_equal(ih_reader_open_path(&source, path, &error), IH_OK);
        assert_int_equal(ih_reader_read(&source, got, 3, &n, &error), IH_OK);
        assert_int_equal(ih_reader_read_at(&source, 150000, got, 10), 10);
        assert_memory_equal(got, bytes + 150000, 10);
        assert_int_equal(ih_reader_read_at(&source, INPUT_BYTES - 4, got, 10), 4);
        assert_memory_equal(got, bytes + INPUT_BYTES - 4, 4);
        assert_int_equal(ih_reader_read_at(&source, INPUT_BYTES, got, 10), 0);
        assert_int_equal(ih_reader_read_at(&source, UINT64_MAX, got, 10), 0);
        assert_int_equal(ih_reader_read(&source, got, 10, &n, &error), IH_OK);
        assert_memory_equal(got, bytes + 3, 10);
        ih_reader_close(&source);
    }
    ih_reader_reset(&source);
    unlink(path);
    struct pipe_feed p;
    open_feed(&p);
    assert_int_equal(ih_reader_read_at(&p.source, 0, got, 10), 0);
    static uint8_t all[INPUT_BYTES];
    assert_int_equal(ih_reader_read(&p.source, all, sizeof all, &n, &error), IH_OK);
    assert_memory_equal(all, bytes, sizeof all);
    close_feed(&p);
}
