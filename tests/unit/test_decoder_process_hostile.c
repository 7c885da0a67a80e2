/*
 * Helpers whose pixels come to no good end: given up, killed, or taken over and writing where it is
 * not their turn, or saying what no helper says.
 *
 * As in test_decoder_process.c, the helper is this test itself, started anew.
 */
#define _GNU_SOURCE

#include "tests/support/scripted_decoder.h"

#include <pthread.h>
#include <signal.h>

/* Given up half way, with pixels in every piece: nothing of it gets into the next image. */
static void test_abandoned(void **state)
{
    const struct order whole = {.width = 1000, .height = 2500, .n_channels = 3};
    const unsigned n_before = n_files();
    uint8_t pixels[3 * 1000];
    struct ih_decoder_process h;
    struct ih_error err;
    size_t n;
    (void)state;
    ih_decoder_process_init(&h, &command);
    for (int n_reads = 0; n_reads < 4; n_reads++) {
        assert_int_equal(open_order(&h, &whole, NULL, &err), IH_OK);
        rest(20);
        for (int i = 0; i < n_reads; i++)
            assert_int_equal(h.remote.read(&h.remote, pixels, 1000, &n, &err), IH_OK);
        h.remote.close(&h.remote);
        assert_int_equal(decode_order(&h, &whole, 5000, 0, &err), IH_OK);
    }
    ih_decoder_process_reset(&h);
    assert_int_equal(n_files(), n_before);
}

/* Killed while it waits for a piece, or at any moment. */
static void test_killed(void **state)
{
    static const char says[] = "its decoder crashed: signal 9 (killed, perhaps for lack of memory)";
    const struct order whole = {.width = 1000, .height = 5000, .n_channels = 3};
    static uint8_t pixels[3 * 100 * 1000];
    struct ih_decoder_process h;
    struct ih_error err;
    (void)state;
    ih_decoder_process_init(&h, &command);
    for (int i = 0; i < 20; i++) {
        size_t n = 1;
        assert_int_equal(open_order(&h, &whole, NULL, &err), IH_OK);
        enum ih_status status = h.remote.read(&h.remote, pixels, 100 * 1000, &n, &err);
        rest(i % 2 ? i : 0);
        kill(h.pid, SIGKILL);
        while (status == IH_OK && n > 0)
            status = h.remote.read(&h.remote, pixels, 100 * 1000, &n, &err);
        assert_int_equal(status, IH_CORRUPT);
        assert_string_equal(err.message, says);
        assert_false(h.is_running);
        h.remote.close(&h.remote);
    }
    assert_int_equal(decode_order(&h, &whole, 5000, 0, &err), IH_OK);
    ih_decoder_process_reset(&h);
}

/* Words that no helper says. */
static void test_nonsense(void **state)
{
    static const struct order orders[] = {
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_PIXELS, .n = 0},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_PIXELS, .n = PIECE + 1},
        {.width = 9, .height = 9, .n_channels = 3, .deed = SAY_PIXELS, .n = PIECE / 3 + 1},
        {.width = 9, .height = 9, .n_channels = 4, .deed = SAY_PIXELS, .n = PIECE},
        {.width = 9, .height = 9, .n_channels = 4, .deed = SAY_PIXELS, .n = UINT64_MAX},
        {.width = 9, .height = 9, .n_channels = 4, .deed = SAY_PIXELS, .n = UINT64_C(1) << 62},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_TWICE},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_UNOPENED},
    };
    const struct order sound = {.width = 9, .height = 9, .n_channels = 1};
    struct ih_decoder_process h;
    struct ih_error err;
    (void)state;
    ih_decoder_process_init(&h, &command);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        assert_int_equal(decode_order(&h, &orders[i], 100, 0, &err), IH_CORRUPT);
        assert_string_equal(err.message, "its decoder ended unexpectedly (it sent nonsense)");
        assert_int_equal(decode_order(&h, &sound, 100, 0, &err), IH_OK);
    }
    ih_decoder_process_reset(&h);
}

/* One that says what it says without waiting for a piece. It harms its own image alone. */
static void test_no_waiting(void **state)
{
    const struct order order = {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_MANY_TIMES};
    static uint8_t pixels[PIECE + 1];
    struct ih_decoder_process h;
    struct ih_error err;
    size_t n;
    (void)state;
    ih_decoder_process_init(&h, &command);
    assert_int_equal(open_order(&h, &order, NULL, &err), IH_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(h.remote.read(&h.remote, pixels, sizeof pixels, &n, &err), IH_OK);
        assert_int_equal(n, PIECE);
    }
    assert_int_equal(h.remote.read(&h.remote, pixels, sizeof pixels, &n, &err), IH_CORRUPT);
    assert_string_equal(err.message, "its decoder ended unexpectedly (exit code 3)");
    ih_decoder_process_reset(&h);
}

static const char goes_on_writing[] = "IMGHIST_TEST_GOES_ON_WRITING";

/* In the helper. */
static void *write_for_ever(void *memory)
{
    for (uint8_t value = 0;; value++)
        memset(memory, value, sizeof((struct ih_shared_pixels *)NULL)->pieces);
    return NULL;
}

/* One that writes to all pieces while the worker copies: what it has copied stays as it is. */
static void test_goes_on_writing(void **state)
{
    const struct order order = {.width = 1000, .height = 1000, .n_channels = 3};
    static uint8_t pixels[3 * 100 * 1000], copy[sizeof pixels];
    struct ih_decoder_process h;
    struct ih_error err;
    uint64_t n_all = 0, n_changed = 0;
    size_t n = 1;
    (void)state;
    ih_decoder_process_init(&h, &command);
    setenv(goes_on_writing, "1", 1);
    assert_int_equal(open_order(&h, &order, NULL, &err), IH_OK);
    unsetenv(goes_on_writing);
    while (n > 0) {
        assert_int_equal(h.remote.read(&h.remote, pixels, 100 * 1000, &n, &err), IH_OK);
        assert_true(n <= 100 * 1000);
        memcpy(copy, pixels, n * 3);
        rest(2);
        assert_memory_equal(copy, pixels, n * 3);
        for (size_t i = 0; i < n * 3; i++)
            n_changed += pixels[i] != byte_of(n_all * 3 + i);
        n_all += n;
    }
    assert_int_equal(n_all, 1000 * 1000);
    assert_true(n_changed > 0); /* it did write */
    ih_decoder_process_reset(&h);
}

/* One that writes down turns that were never taken: it comes to an end all the same. */
static void test_turns_overwritten(void **state)
{
    const struct order order = {
        .width = 1000, .height = 1000, .n_channels = 3, .deed = OVERWRITE_TURNS};
    static const struct ih_decoder_process_command hurried = {
        .program = "/proc/self/exe", .seconds_max = 1, .decoders = decoders};
    static uint8_t pixels[3 * 100 * 1000];
    struct ih_decoder_process h;
    struct ih_error err;
    (void)state;
    ih_decoder_process_init(&h, &hurried);
    for (int i = 0; i < 3; i++) {
        uint64_t n_all = 0;
        size_t n = 1;
        enum ih_status status = open_order(&h, &order, NULL, &err);
        while (status == IH_OK && n > 0) {
            status = h.remote.read(&h.remote, pixels, 100 * 1000, &n, &err);
            n_all += n;
        }
        assert_true(status == IH_OK || status == IH_CORRUPT || status == IH_LIMIT);
        if (status == IH_OK)
            assert_int_equal(n_all, 1000 * 1000);
        h.remote.close(&h.remote);
    }
    ih_decoder_process_reset(&h);
}

int main(int argc, char **argv)
{
    const bool is_helper = argc >= 2 && strcmp(argv[1], IH_DECODER_PROCESS_OPTION) == 0;
    pthread_t writer;
    if (is_helper && getenv(goes_on_writing) &&
        pthread_create(&writer, NULL, write_for_ever,
                       ih_shared_pixels_map(dup(IH_DECODER_PROCESS_MEMORY))) != 0)
        return EXIT_FAILURE;
    if (is_helper)
        return ih_decoder_process_serve(decoders, argv + 2);
    if (access(command.program, X_OK) != 0) {
        puts("[  SKIPPED ] no /proc: the test cannot start itself");
        return 0;
    }
    alarm(300); /* rather than hang */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_abandoned),       cmocka_unit_test(test_killed),
        cmocka_unit_test(test_nonsense),        cmocka_unit_test(test_no_waiting),
        cmocka_unit_test(test_goes_on_writing), cmocka_unit_test(test_turns_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
