/*
 * Decoder processes that are abandoned, killed, or compromised: they write to memory out of turn or
 * send nonsense.
 */
#define _GNU_SOURCE
#define OWN_MAIN
#include "tests/support/test.h"

#include "tests/support/scripted_decoder.h"
#include <pthread.h>
#include <signal.h>

/* An image abandoned with pixels in every piece: no such pixel gets into the next image. */
PROCESS_TEST(abandoned)
{
    const struct order sound = {.width = 1000, .height = 2500, .n_channels = 3};
    const unsigned n_before = n_files();
    uint8_t pixels[3 * 1000];
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    size_t n;
    for (int n_reads = 0; n_reads < 4; n_reads++) {
        assert_int_equal(open_order(h, &sound, NULL, &err), IH_OK);
        rest(20);
        for (int i = 0; i < n_reads; i++)
            assert_int_equal(h->remote.read(&h->remote, pixels, 1000, &n, &err), IH_OK);
        h->remote.close(&h->remote);
        assert_int_equal(decode_order(h, &sound, 5000, 0, &err), IH_OK);
    }
    ih_decoder_process_reset(h);
    assert_int_equal(n_files(), n_before);
}

/* Killed while it waits for a piece, and at other moments. */
PROCESS_TEST(killed)
{
    static const char says[] = "its decoder crashed: signal 9 (killed, perhaps for lack of memory)";
    const struct order sound = {.width = 1000, .height = 5000, .n_channels = 3};
    static uint8_t pixels[3 * 100 * 1000];
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    for (int i = 0; i < 20; i++) {
        size_t n = 1;
        assert_int_equal(open_order(h, &sound, NULL, &err), IH_OK);
        enum ih_status status = h->remote.read(&h->remote, pixels, 100 * 1000, &n, &err);
        rest(i % 2 ? i : 0);
        kill(h->pid, SIGKILL);
        while (status == IH_OK && n > 0)
            status = h->remote.read(&h->remote, pixels, 100 * 1000, &n, &err);
        assert_int_equal(status, IH_CORRUPT);
        assert_string_equal(err.message, says);
        assert_false(h->is_running);
        h->remote.close(&h->remote);
    }
    assert_int_equal(decode_order(h, &sound, 5000, 0, &err), IH_OK);
}

/* Messages that a sound decoder process never sends. */
PROCESS_TEST(nonsense)
{
    static const struct order orders[] = {
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_PIXELS, .n = 0},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_PIXELS, .n = PIECE + 1},
        {.width = 9, .height = 9, .n_channels = 3, .deed = SAY_PIXELS, .n = PIECE / 3 + 1},
        {.width = 9, .height = 9, .n_channels = 4, .deed = SAY_PIXELS, .n = PIECE},
        {.width = 9, .height = 9, .n_channels = 4, .deed = SAY_PIXELS, .n = UINT64_MAX},
        {.width = 9, .height = 9, .n_channels = 4, .deed = SAY_PIXELS, .n = UINT64_C(1) << 62},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_ORDER, .n = 0},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_TYPE, .n = IH_INT16},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_TYPE, .n = IH_FLOAT32},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_TYPE, .n = IH_SAMPLE_TYPES},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_TWICE},
        {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_UNOPENED}};
    const struct order sound = {.width = 9, .height = 9, .n_channels = 1};
    const struct order tiles = {
        .width = 9, .height = 9, .n_channels = 1, .deed = SAY_ORDER, .n = 5};
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        assert_int_equal(decode_order(h, &orders[i], 100, 0, &err), IH_CORRUPT);
        assert_string_equal(err.message, "its decoder ended unexpectedly (it sent nonsense)");
        assert_int_equal(decode_order(h, &sound, 100, 0, &err), IH_OK);
    }
    assert_int_equal(decode_order(h, &tiles, 100, 0, &err), IH_OK);
}

/* It sends pieces without waiting for free ones. Only its own image is wrong. */
PROCESS_TEST(no_waiting)
{
    const struct order order = {.width = 9, .height = 9, .n_channels = 1, .deed = SAY_MANY_TIMES};
    static uint8_t pixels[PIECE + 1];
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    size_t n;
    assert_int_equal(open_order(h, &order, NULL, &err), IH_OK);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(h->remote.read(&h->remote, pixels, sizeof pixels, &n, &err), IH_OK);
        assert_int_equal(n, PIECE);
    }
    assert_int_equal(h->remote.read(&h->remote, pixels, sizeof pixels, &n, &err), IH_CORRUPT);
    assert_string_equal(err.message, "its decoder ended unexpectedly (exit code 3)");
}

static const char goes_on_writing[] = "IMGHIST_TEST_GOES_ON_WRITING";

/* Runs in the decoder process. */
static void *write_for_ever(void *memory)
{
    for (uint8_t value = 0;; value++)
        memset(memory, value, sizeof((struct ih_shared_pixels *)NULL)->pieces);
    return NULL;
}

/* It writes to all pieces while the worker copies. Copied pixels do not change any more. */
PROCESS_TEST(goes_on_writing)
{
    const struct order order = {.width = 1000, .height = 1000, .n_channels = 3};
    static uint8_t pixels[3 * 100 * 1000], copy[sizeof pixels];
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    uint64_t n_all = 0, n_changed = 0;
    size_t n = 1;
    setenv(goes_on_writing, "1", 1);
    assert_int_equal(open_order(h, &order, NULL, &err), IH_OK);
    unsetenv(goes_on_writing);
    while (n > 0) {
        assert_int_equal(h->remote.read(&h->remote, pixels, 100 * 1000, &n, &err), IH_OK);
        assert_true(n <= 100 * 1000);
        memcpy(copy, pixels, n * 3);
        rest(2);
        assert_memory_equal(copy, pixels, n * 3);
        for (size_t i = 0; i < n * 3; i++)
            n_changed += pixels[i] != byte_of(n_all * 3 + i);
        n_all += n;
    }
    assert_int_equal(n_all, 1000 * 1000);
    assert_true(n_changed > 0); /* it has written */
}

/* It overwrites the counts of pieces: decoding still ends. */
PROCESS_TEST(turns_overwritten)
{
    const struct order order = {
        .width = 1000, .height = 1000, .n_channels = 3, .deed = OVERWRITE_TURNS};
    static const struct ih_decoder_process_command hurried = {.program = "/proc/self/exe",
                                                              .variable = "IMGHIST_TEST_",
                                                              .seconds_max = 1,
                                                              .decoders = decoders};
    static uint8_t pixels[3 * 100 * 1000];
    struct ih_decoder_process *h = *state;
    struct ih_error err;
    ih_decoder_process_init(h, &hurried);
    for (int i = 0; i < 3; i++) {
        uint64_t n_all = 0;
        size_t n = 1;
        enum ih_status status = open_order(h, &order, NULL, &err);
        while (status == IH_OK && n > 0) {
            status = h->remote.read(&h->remote, pixels, 100 * 1000, &n, &err);
            n_all += n;
        }
        assert_true(status == IH_OK || status == IH_CORRUPT || status == IH_LIMIT);
        if (status == IH_OK)
            assert_int_equal(n_all, 1000 * 1000);
        h->remote.close(&h->remote);
    }
}

int main(int argc, char **argv)
{
    const bool is_process = is_decoder_process(argc, argv);
    pthread_t writer;
    if (is_process && getenv(goes_on_writing) &&
        pthread_create(&writer, NULL, write_for_ever,
                       ih_shared_pixels_map(dup(IH_DECODER_PROCESS_MEMORY))) != 0)
        return EXIT_FAILURE;
    if (is_process)
        return ih_decoder_process_serve(decoders, argv + 2);
    if (!can_start_itself())
        return 0;
    alarm(300); /* rather than hang */
    return run_all_tests();
}
