/*
 * A decoder process starts with only the standard files, its socket and its shared memory open,
 * even while other threads start theirs. If it held the socket of another one, that one's worker
 * would not notice its end.
 */
#define _DEFAULT_SOURCE /* syscall */
#define OWN_MAIN
#include "tests/support/test.h"

#include "isolate/decoder_process.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- a decoder of one pixel ---- */

enum { VALUE = 7 };

static enum ih_status open_image(struct ih_reader *src, const struct ih_decode_options *options,
                                 struct ih_image_info *info, void *state, struct ih_error *err)
{
    *info =
        (struct ih_image_info){.width = 1, .height = 1, .layout = IH_LAYOUT(3), .source_depth = 8};
    return IH_OK;
}

static enum ih_status read_image(void *state, uint8_t *pixels, size_t capacity, size_t *n_pixels,
                                 struct ih_error *err)
{
    bool *is_read = state;
    *n_pixels = *is_read ? 0 : 1;
    *is_read = true;
    memset(pixels, VALUE, *n_pixels * 3);
    return IH_OK;
}

static const struct ih_decoder decoder = {
    .name = "test", .open = open_image, .read = read_image, .state_bytes = sizeof(bool)};
static const struct ih_decoder *const decoders[] = {&decoder, NULL};
static const struct ih_decoder_process_command command = {
    .program = "/proc/self/exe", .variable = "IMGHIST_TEST_", .decoders = decoders};

#include "tests/support/own_decoder_process.h"

#ifdef SYS_socketpair
/* A slow socketpair: other threads have time to start a process that might inherit the sockets. */
int socketpair(int domain, int type, int protocol, int ends[2])
{
    const struct timespec a_while = {.tv_nsec = 2 * 1000 * 1000};
    int result = (int)syscall(SYS_socketpair, domain, type, protocol, ends);
    nanosleep(&a_while, NULL);
    return result;
}
#endif

static const char no_other_files[] = "IMGHIST_TEST_NO_OTHER_FILES";
enum { FILES_LOOKED_AT = 256 };

/* In the decoder process: whether it inherited more than the standard files, its socket and memory.
 */
static bool has_other_files(void)
{
    for (int fd = IH_DECODER_PROCESS_MEMORY + 1; fd < FILES_LOOKED_AT; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            return true;
    return false;
}

static void *start_processes(void *failed)
{
    const struct ih_decode_options options = {.max_pixels = 1 << 30};
    struct ih_reader src = {0};
    struct ih_image_info info = {.format = NULL};
    struct ih_error err;
    for (int i = 0; i < 12 && !*(bool *)failed; i++) {
        struct ih_decoder_process h;
        ih_decoder_process_init(&h, &command);
        *(bool *)failed = ih_reader_open_path(&src, "/dev/null", &err) != IH_OK ||
                          h.remote.open(&h.remote, 0, &src, &options, &info, &err) != IH_OK;
        ih_reader_close(&src);
        ih_decoder_process_reset(&h);
    }
    ih_reader_reset(&src);
    return NULL;
}

TEST(no_files_of_others)
{
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    bool failed[N_THREADS] = {false};
    for (int fd = IH_DECODER_PROCESS_SOCKET; fd < FILES_LOOKED_AT; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC); /* inherited by this test */
    setenv(no_other_files, "1", 1);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, start_processes, &failed[i]), 0);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    unsetenv(no_other_files);
    for (size_t i = 0; i < N_THREADS; i++)
        assert_false(failed[i]);
}

/* Decodes an image while none of the descriptors in the set is open. */
static enum ih_status decode_without(const int *set, size_t n_set, uint8_t *pixels, size_t *n)
{
    enum { HIGH = 20 };
    const struct ih_decode_options options = {.max_pixels = 1 << 30};
    struct ih_decoder_process h;
    struct ih_error err;
    struct ih_reader src = {0};
    struct ih_image_info info = {.format = NULL};
    int kept[3];
    ih_decoder_process_init(&h, &command);
    int low = open("/dev/null", O_RDONLY), file = fcntl(low, F_DUPFD_CLOEXEC, HIGH);
    close(low);
    for (size_t i = 0; i < n_set; i++)
        kept[i] = fcntl(set[i], F_DUPFD_CLOEXEC, HIGH);
    for (size_t i = 0; i < n_set; i++)
        close(set[i]);
    enum ih_status status = ih_reader_open_fd(&src, file, &err);
    status = status == IH_OK ? h.remote.open(&h.remote, 0, &src, &options, &info, &err) : status;
    status = status == IH_OK ? h.remote.read(&h.remote, pixels, 1, n, &err) : status;
    h.remote.close(&h.remote);
    ih_decoder_process_reset(&h);
    ih_reader_reset(&src);
    close(file);
    for (size_t i = 0; i < n_set; i++) {
        if (fcntl(set[i], F_GETFD) >= 0)
            status = IH_CONFLICT; /* a descriptor was left open */
        if (kept[i] >= 0)
            dup2(kept[i], set[i]);
        close(kept[i]);
    }
    return status;
}

/* If standard files are closed, the socket and the memory may get the very descriptors that the
 * decoder process uses for others. */
TEST(low_numbers)
{
    static const int numbers[] = {STDIN_FILENO, IH_DECODER_PROCESS_SOCKET,
                                  IH_DECODER_PROCESS_MEMORY};
    const int null = open("/dev/null", O_RDONLY);
    for (unsigned chosen = 0; chosen < 8; chosen++) {
        uint8_t pixels[3] = {0};
        int set[3];
        size_t n_set = 0, n = 0;
        for (unsigned i = 0; i < 3; i++) {
            if (chosen & 1u << i)
                set[n_set++] = numbers[i];
            else if (fcntl(numbers[i], F_GETFD) < 0)
                dup2(null, numbers[i]);
        }
        assert_int_equal(decode_without(set, n_set, pixels, &n), IH_OK);
        assert_int_equal(n, 1);
        assert_int_equal(pixels[2], VALUE);
    }
    close(null);
}

int main(int argc, char **argv)
{
    if (is_decoder_process(argc, argv))
        return getenv(no_other_files) && has_other_files()
                   ? EXIT_FAILURE
                   : ih_decoder_process_serve(decoders, argv + 2);
    if (!can_start_itself())
        return 0;
    return run_all_tests();
}
