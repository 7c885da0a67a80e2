/*
 * If the device or the decoder processes do not start, the run ends and no input gets a result.
 *
 * The test starts itself as the decoder process.
 */
#define OWN_MAIN
#include "tests/support/test.h"

#include "isolate/decoder_process.h"
#include "tests/support/take_all.h"
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* One pixel of value 7 each. PSD goes to a decoder process in every build, PNM only on request. */
static const uint8_t psd[] = "8BPS\0\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\1\0\10\0\1"
                             "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7";
static const uint8_t pgm[] = "P5 1 1 255\n\7";

static const struct ih_decoder_process_command itself = {.program = "/proc/self/exe"};

struct run {
    const char *path;
    size_t n_inputs, n_given, n_taken;
    uint64_t sum; /* of all pixels counted */
};

static bool next(void *user, struct ih_input *input)
{
    struct run *r = user;
    if (r->n_given == r->n_inputs)
        return false;
    r->n_given++;
    *input = (struct ih_input){.path = strdup(r->path), .is_named = true};
    return input->path != NULL;
}

static bool take(void *user, const char *path, const struct ih_result *result)
{
    struct run *r = user;
    assert_int_equal(result->status, IH_OK);
    r->sum += *ih_sum(&result->histogram, 0);
    r->n_taken++;
    return true;
}

/* n_inputs times the same file of size_bytes, on two threads. */
static enum ih_status run(struct run *r, const uint8_t *bytes, size_t size_bytes,
                          const struct ih_device_options *on,
                          const struct ih_decoder_process_command *command, bool isolates_all,
                          struct ih_error *err)
{
    char path[] = "/tmp/imghist-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, bytes, size_bytes) == (ssize_t)size_bytes);
    close(fd);
    const struct ih_remote_decoders decoder_processes = ih_decoder_processes(command);
    const struct ih_scan_options options = {
        .n_threads = 2,
        .decode = {.max_pixels = 100, .isolates_all = isolates_all},
        .remote_decoders = command ? &decoder_processes : NULL,
        .measure.luma = &ih_luma_bt709,
        .measure.clip_high = 255};
    const struct taking calls = {.next = next, .next_user = r, .take = take, .take_user = r};
    struct ih_device *device = NULL;
    r->path = path;
    assert_int_equal(ih_device_open(on, &device, err), IH_OK);
    enum ih_status status = take_all(device, &options, &calls, err);
    ih_device_close(device);
    unlink(path);
    return status;
}

#define RUN(r, image, on, command, isolates_all, err) \
    run(r, image, sizeof(image) - 1, on, command, isolates_all, err)

static const struct ih_device_options cpu = {.backend = "cpu"};

static enum ih_status no_units(int *n, struct ih_error *err)
{
    *n = 0;
    return ih_error_set(err, IH_UNAVAILABLE, "no abacus here");
}

TEST(device_that_does_not_start)
{
    static struct ih_backend abacus;
    static const struct ih_backend *const backends[] = {&abacus, NULL};
    const struct ih_device_options on = {.backends = backends};
    struct ih_error err;
    abacus = ih_backend_cpu;
    abacus.name = "abacus";
    abacus.n_units = no_units;
    for (size_t n_inputs = 0; n_inputs < 200; n_inputs += 100) { /* also without inputs */
        struct run r = {.n_inputs = n_inputs};
        assert_int_equal(RUN(&r, pgm, &on, NULL, false, &err), IH_UNAVAILABLE);
        assert_string_equal(err.message, "no abacus here");
        assert_int_equal(r.n_taken, 0);
    }
}

/* A source that is added later, which never comes. */
struct added {
    struct run run;
    pthread_mutex_t lock;
    pthread_cond_t on_stop;
    bool is_stopped;
};

static bool next_added(void *user, struct ih_input *input)
{
    struct added *a = user;
    if (next(&a->run, input)) {
        input->bytes = pgm;
        input->size_bytes = sizeof pgm - 1;
        return true;
    }
    pthread_mutex_lock(&a->lock);
    while (!a->is_stopped)
        pthread_cond_wait(&a->on_stop, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return false;
}

static void stop_adding(void *user)
{
    struct added *a = user;
    pthread_mutex_lock(&a->lock);
    a->is_stopped = true;
    pthread_cond_signal(&a->on_stop);
    pthread_mutex_unlock(&a->lock);
}

/* An error ends the scan also while a worker waits for a source. */
TEST(error_while_a_worker_waits_for_a_source)
{
    static const struct ih_decoder_process_command nowhere = {.program = "/nonexistent/imghist"};
    const struct ih_remote_decoders decoder_processes = ih_decoder_processes(&nowhere);
    const struct ih_scan_options options = {.n_threads = 2,
                                            .decode = {.max_pixels = 100, .isolates_all = true},
                                            .remote_decoders = &decoder_processes,
                                            .measure.luma = &ih_luma_bt709,
                                            .measure.clip_high = 255};
    struct added a = {
        {.path = "pgm", .n_inputs = 1}, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    const struct ih_scan_inputs inputs = {.next = next_added, .stop = stop_adding, .user = &a};
    struct ih_device *device = NULL;
    struct ih_item_source scan;
    const struct ih_item *item;
    struct ih_error err;
    assert_int_equal(ih_device_open(&cpu, &device, &err), IH_OK);
    assert_int_equal(ih_scan_start(device, &options, &inputs, &scan, &err), IH_OK);
    alarm(60);
    assert_int_equal(scan.next(scan.source, &item, &err), IH_UNAVAILABLE);
    alarm(0);
    scan.close(scan.source);
    ih_device_close(device);
}

TEST(decoder_process_that_does_not_start)
{
    static const struct ih_decoder_process_command nowhere = {.program = "/nonexistent/imghist"};
    struct ih_error err;
    struct run rare = {.n_inputs = 100}, all = {.n_inputs = 100}, none = {.n_inputs = 100};
    assert_int_equal(RUN(&rare, psd, &cpu, &nowhere, false, &err), IH_UNAVAILABLE);
    if (!is_emulated()) /* posix_spawn does not learn that exec failed */
        assert_non_null(strstr(err.message, "cannot start a decoder process"));
    assert_int_equal(rare.n_taken, 0);
    assert_int_equal(RUN(&all, pgm, &cpu, &nowhere, true, &err), IH_UNAVAILABLE);
    assert_int_equal(all.n_taken, 0);
    assert_int_equal(RUN(&none, pgm, &cpu, &nowhere, false, &err), IH_OK);
    assert_int_equal(none.n_taken, 100);
}

/* No process outlives the run. */
TEST(decoder_processes_end_with_the_run)
{
    struct ih_error err;
    struct run rare = {.n_inputs = 20}, all = {.n_inputs = 20};
    if (access(itself.program, X_OK) != 0)
        skip("no /proc: the test cannot start itself");
    assert_int_equal(RUN(&rare, psd, &cpu, &itself, false, &err), IH_OK);
    assert_int_equal(rare.sum, 7 * 20);
    assert_int_equal(RUN(&all, pgm, &cpu, &itself, true, &err), IH_OK);
    assert_int_equal(all.sum, 7 * 20);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], IH_DECODER_PROCESS_OPTION) == 0)
        return ih_decoder_process_serve(ih_decoders, argv + 2);
    return run_all_tests();
}
