/*
 * The memory through which a decoder process sends pixels: images and rows around the size of a
 * piece, fast and slow sides, open files, memory that cannot be allocated or shrunk.
 */
#define _GNU_SOURCE /* seals */
#define OWN_MAIN
#include "tests/support/test.h"

#include "base/machine.h"
#include "tests/support/sanitizer.h"
#include "tests/support/scripted_decoder.h"
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

PROCESS_TEST(sizes)
{
    static const struct order orders[] = {
        {.width = 1, .height = 1, .n_channels = 4},
        {.width = 1024, .height = PIECE / 1024, .n_channels = 1},     /* one piece */
        {.width = 1024, .height = PIECE / 1024 + 1, .n_channels = 1}, /* plus a row */
        {.width = 1024, .height = PIECE / 2048, .n_channels = 4},     /* two */
        {.width = PIECE, .height = 5, .n_channels = 1},               /* rows of a piece */
        {.width = PIECE / 3, .height = 3, .n_channels = 3},           /* minus a byte */
        {.width = PIECE / 3 + 1, .height = 3, .n_channels = 3},       /* plus a byte */
        {.width = PIECE / 4 + 1, .height = 4, .n_channels = 4},
        {.width = PIECE * 2, .height = 3, .n_channels = 1},
        {.width = 3000001, .height = 2, .n_channels = 2},
        {.width = 999, .height = 2000, .n_channels = 3},
        {.width = 10, .height = 300, .n_channels = 3, .at_a_time = 10}, /* a row in each */
        {.width = PIECE + 1, .height = 3, .n_channels = 1, .at_a_time = PIECE / 2},
    };
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    pid_t pid = 0;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const struct order *o = &orders[i];
        const size_t width = (size_t)o->width;
        assert_int_equal(decode_order(h, o, width, 0, &err), IH_OK);
        assert_int_equal(decode_order(h, o, width + 7, 0, &err), IH_OK);
        assert_int_equal(decode_order(h, o, width * (size_t)o->height + 1, 0, &err), IH_OK);
        assert_true(pid == 0 || pid == h->pid);
        pid = h->pid;
    }
}

/* A slow worker, so that the decoder process waits for pieces, and a slow decoder process. */
PROCESS_TEST(speeds)
{
    const struct order sound = {.width = 1000, .height = 2500, .n_channels = 3},
                       asking = {.width = 1000, .height = 2500, .n_channels = 3, .deed = ASK},
                       sleeping = {.width = 1000, .height = 2500, .n_channels = 3, .deed = SLEEP};
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(decode_order(h, &sound, 100 * 1000, 3, &err), IH_OK);
        assert_int_equal(decode_order(h, &asking, 100 * 1000, 3, &err), IH_OK);
        assert_int_equal(decode_order(h, &asking, 100 * 1000, 0, &err), IH_OK);
        assert_int_equal(decode_order(h, &sleeping, 100 * 1000, 0, &err), IH_OK);
    }
}

/* One row per piece: both sides wait often, at many different moments. */
PROCESS_TEST(turns)
{
    const struct order order = {.width = 10, .height = 5000, .n_channels = 1, .at_a_time = 10};
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    for (int i = 0; i < 4; i++)
        assert_int_equal(decode_order(h, &order, 10, 0, &err), IH_OK);
}

/* Many images, good and bad, one after the other in the same memory. */
PROCESS_TEST(many)
{
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    const struct order first = {.width = 1, .height = 1, .n_channels = 1};
    assert_int_equal(decode_order(h, &first, 1, 0, &err), IH_OK);
    const pid_t pid = h->pid;
    const unsigned n_before = n_files();
    for (unsigned i = 0; i < 300; i++) {
        const struct order order = {.width = i * 7919 % 2000 + 1,
                                    .height = i * 104729 % 600 + 1,
                                    .n_channels = i % 4 + 1,
                                    .deed = i % 5 == 4 ? FAIL : DECODE};
        const enum ih_status status = decode_order(h, &order, 2000, 0, &err);
        assert_int_equal(status, order.deed == FAIL ? IH_UNSUPPORTED : IH_OK);
    }
    assert_int_equal(h->pid, pid);
    assert_int_equal(n_files(), n_before);
}

/* A decoder process has the standard files, its socket and the image open. The worker keeps one
 * socket open for it, and nothing after its end. */
PROCESS_TEST(files)
{
    const struct order order = {.width = 1, .height = 1, .n_channels = 1, .deed = COUNT_FILES};
    const unsigned n_before = n_files();
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    for (int start = 0; start < 5; start++) {
        for (int image = 0; image < 5; image++) {
            uint8_t n_inside;
            size_t n;
            assert_int_equal(open_order(h, &order, NULL, &err), IH_OK);
            assert_int_equal(h->remote.read(&h->remote, &n_inside, 1, &n, &err), IH_OK);
            assert_int_equal(n_inside, 5);
            assert_int_equal(h->remote.read(&h->remote, &n_inside, 1, &n, &err), IH_OK);
            assert_int_equal(n, 0);
            h->remote.close(&h->remote);
            assert_int_equal(n_files(), n_before + 1);
            assert_int_equal(n_memories(), 1);
        }
        ih_decoder_process_reset(h);
        assert_int_equal(n_files(), n_before);
        assert_int_equal(n_memories(), 0);
    }
}

static const char shrinks[] = "IMGHIST_TEST_SHRINKS";

/* Whether the shared memory can shrink; also tried in the decoder process before it gives up its
 * rights. */
static bool can_shrink(int file)
{
    return ftruncate(file, 0) == 0 || ftruncate(file, sizeof(struct ih_shared_pixels) - 1) == 0;
}

TEST(seals)
{
    int file;
#ifndef F_ADD_SEALS
    skip("this system has no sealed memory");
#else
    struct ih_shared_pixels *memory = ih_shared_pixels_make(&file);
    assert_non_null(memory);
    assert_int_equal(fcntl(file, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    const bool could = can_shrink(file);
    assert_false(could);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(file, sizeof *memory + 4096), -1);
    assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_int_equal(errno, EPERM);
    memset(memory, 1, sizeof *memory);
    struct ih_shared_pixels *other = ih_shared_pixels_map(file);
    assert_non_null(other);
    assert_int_equal(fcntl(file, F_GETFD), -1); /* it is closed */
    other->pieces[IH_DECODER_PROCESS_PIECES - 1][PIECE - 1] = 2;
    assert_int_equal(memory->pieces[IH_DECODER_PROCESS_PIECES - 1][PIECE - 1], 2);
    ih_shared_pixels_unmap(other);
    ih_shared_pixels_unmap(memory);
    assert_null(ih_shared_pixels_map(file)); /* as when a person starts the program so */
    ih_shared_pixels_unmap(NULL);

    const struct order order = {.width = 999, .height = 999, .n_channels = 3};
    struct ih_decoder_process h;
    struct ih_error err;
    ih_decoder_process_init(&h, &command);
    setenv(shrinks, "1", 1);
    assert_int_equal(decode_order(&h, &order, 2000, 0, &err), IH_OK);
    unsetenv(shrinks);
    ih_decoder_process_reset(&h);
#endif
}

/* Each decoder process has new memory. */
TEST(new_memory)
{
    const struct order order = {.width = 999, .height = 999, .n_channels = 3};
    uint8_t pixels[3 * 999];
    struct ih_decoder_process a, b;
    struct ih_error err;
    size_t n;
    ih_decoder_process_init(&a, &command);
    ih_decoder_process_init(&b, &command);
    assert_int_equal(open_order(&a, &order, NULL, &err), IH_OK);
    assert_int_equal(a.remote.read(&a.remote, pixels, 999, &n, &err), IH_OK);
    assert_int_equal(decode_order(&b, &order, 999, 0, &err), IH_OK); /* at the same time */
    assert_ptr_not_equal(a.memory, b.memory);
    a.remote.close(&a.remote);
    assert_null(a.memory);
    ih_decoder_process_reset(&a);
    ih_decoder_process_reset(&b);
    assert_null(b.memory);
}

/* A number in a file of /proc; spaces separate the columns, from 0. */
static unsigned long long number_in(pid_t pid, const char *name, unsigned column)
{
    char path[64], text[1024] = "", *at = text;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    for (unsigned i = 0; i < column; i++) {
        at = strchr(at, ' ');
        assert_non_null(at++);
    }
    return strtoull(at, NULL, 10);
}

/* A process keeps freed memory for the next image, but no more than allowed, wherever it is. */
TEST(kept_memory)
{
    enum { KEPT = 16 << 20, RESIDENT = 1, MINOR_FAULTS = 9 };
    static const struct ih_decoder_process_command keeping = {
        .program = "/proc/self/exe", .seconds_max = 60, .decoders = decoders, .kept_bytes = KEPT};
    const struct order
        tiny = {.width = 9, .height = 9, .n_channels = 1},
        small = {.width = 9, .height = 9, .n_channels = 1, .deed = HOLD, .n = KEPT / 2},
        large = {.width = 9, .height = 9, .n_channels = 1, .deed = HOLD, .n = 4 * KEPT};
    const unsigned long long page_bytes = (unsigned long long)sysconf(_SC_PAGESIZE);
    struct ih_decoder_process h;
    struct ih_error err;
    if (HAS_SANITIZER || is_emulated() || !ih_machine_return_memory(KEPT))
        skip("no allocator or pages of this system");
    ih_decoder_process_init(&h, &keeping);
    assert_int_equal(decode_order(&h, &small, 9, 0, &err), IH_OK);
    const unsigned long long n_faults = number_in(h.pid, "stat", MINOR_FAULTS),
                             resident = number_in(h.pid, "statm", RESIDENT);
    assert_int_equal(decode_order(&h, &small, 9, 0, &err), IH_OK);
    assert_true(number_in(h.pid, "stat", MINOR_FAULTS) < n_faults + small.n / page_bytes / 2);
    assert_int_equal(decode_order(&h, &large, 9, 0, &err), IH_OK);
    assert_int_equal(decode_order(&h, &tiny, 9, 0, &err), IH_OK); /* after it has been returned */
    assert_true(number_in(h.pid, "statm", RESIDENT) < resident + KEPT / page_bytes);
    ih_decoder_process_reset(&h);
}

/* No memory, no file descriptors or no program: an error, and nothing stays open or mapped. */
TEST(no_memory)
{
    static const struct ih_decoder_process_command nowhere = {.program = "/nonexistent/imghist",
                                                              .decoders = decoders};
    static const char says[] = "cannot start a decoder process: no shared memory: ";
    const struct order order = {.width = 9, .height = 9, .n_channels = 1};
    struct ih_decoder_process h;
    struct ih_error err;
    struct rlimit limit, less;
    ih_decoder_process_init(&h, &command);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    less = (struct rlimit){1000, limit.rlim_max};
    const unsigned n_before = n_files();
    setrlimit(RLIMIT_FSIZE, &less);
    enum ih_status status = decode_order(&h, &order, 9, 0, &err);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(status, IH_IO);
    assert_memory_equal(err.message, says, sizeof says - 1);
    assert_string_equal(err.message + sizeof says - 1, strerror(EFBIG));
    assert_int_equal(n_files(), n_before);
    assert_int_equal(n_memories(), 0);

    const int low = open("/dev/null", O_RDONLY);
    close(low);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (unsigned n = 0; n < 3; n++) { /* descriptors left besides the file */
        less = (struct rlimit){(rlim_t)low + 1 + n, limit.rlim_max};
        setrlimit(RLIMIT_NOFILE, &less);
        status = decode_order(&h, &order, 9, 0, &err);
        setrlimit(RLIMIT_NOFILE, &limit);
        assert_int_equal(status, IH_IO); /* fails one file, not the batch */
        assert_int_equal(n_files(), n_before);
        assert_null(h.memory);
        assert_int_equal(n_memories(), 0);
    }
    assert_int_equal(decode_order(&h, &order, 9, 0, &err), IH_OK);
    ih_decoder_process_reset(&h);
    ih_decoder_process_init(&h, &nowhere);
    assert_int_equal(decode_order(&h, &order, 9, 0, &err), IH_UNAVAILABLE);
    ih_decoder_process_reset(&h);
    assert_int_equal(n_files(), n_before);
    assert_int_equal(n_memories(), 0);
}

int main(int argc, char **argv)
{
    if (is_decoder_process(argc, argv))
        return getenv(shrinks) && can_shrink(IH_DECODER_PROCESS_MEMORY)
                   ? EXIT_FAILURE
                   : ih_decoder_process_serve(decoders, argv + 2);
    if (!can_start_itself())
        return 0;
    alarm(300); /* rather than hang */
    return run_all_tests();
}
