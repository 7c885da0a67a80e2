/*
 * The memory budget that workers share: the order of its callers, and the memory of a scan that
 * decodes JPEGs with a scan per component. Their coefficients must be held in memory.
 */
#define _DEFAULT_SOURCE /* wait4: peak memory of a child */
#include "tests/support/test.h"

#include "base/budget.h"
#include "decode/whole_file.h"
#include "tests/support/sanitizer.h"
#include "tests/support/take_all.h"
#include <jpeglib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct request {
    struct ih_budget *budget;
    uint64_t n_bytes;
    pthread_t thread;
};

static void *take_memory(void *argument)
{
    struct request *t = argument;
    struct ih_error err;
    assert_int_equal(ih_budget_take(t->budget, t->n_bytes, &err), IH_OK);
    return NULL;
}

static uint64_t read_locked(struct ih_budget *b, const uint64_t *field)
{
    pthread_mutex_lock(&b->lock);
    uint64_t value = *field;
    pthread_mutex_unlock(&b->lock);
    return value;
}

static void wait_until(struct ih_budget *b, const uint64_t *field, uint64_t value)
{
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    for (int i = 0; i < 5000 && read_locked(b, field) != value; i++)
        nanosleep(&pause, NULL);
    assert_int_equal(read_locked(b, field), value);
}

/* Starts a caller and waits until it is in the queue or has its bytes. */
static void start_request(struct request *t, struct ih_budget *b, uint64_t n_bytes)
{
    uint64_t turn = read_locked(b, &b->takers.next_turn);
    *t = (struct request){.budget = b, .n_bytes = n_bytes};
    assert_int_equal(pthread_create(&t->thread, NULL, take_memory, t), 0);
    wait_until(b, &b->takers.next_turn, turn + 1);
}

TEST(large_request_is_not_overtaken)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    struct ih_budget b;
    struct ih_error err;
    struct request large, small;
    ih_budget_init(&b, 10);
    assert_int_equal(ih_budget_take(&b, 10, &err), IH_OK);
    start_request(&large, &b, 8);
    start_request(&small, &b, 2);
    ih_budget_give(&b, 3);
    nanosleep(&pause, NULL); /* the small one would fit, but the large one is first */
    assert_int_equal(read_locked(&b, &b.taken_bytes), 7);
    assert_false(ih_budget_try(&b, 1));
    ih_budget_give(&b, 7);
    pthread_join(large.thread, NULL);
    pthread_join(small.thread, NULL);
    assert_int_equal(b.taken_bytes, 10);
    assert_false(ih_budget_try(&b, 1));
    ih_budget_give(&b, 10);
    assert_true(ih_budget_try(&b, 10));
    ih_budget_give(&b, 10);
    ih_budget_destroy(&b);
}

TEST(more_than_the_budget)
{
    struct ih_budget b;
    struct ih_error err;
    ih_budget_init(&b, 1000 * 1000);
    assert_int_equal(ih_budget_take(&b, 1000 * 1000 + 1, &err), IH_LIMIT);
    assert_non_null(strstr(err.message, "needs 1.0 MB of memory at once, the limit is 1.0 MB"));
    assert_false(ih_budget_try(&b, UINT64_MAX));
    assert_int_equal(b.taken_bytes, 0);
    ih_budget_destroy(&b);
}

/* A limit is never shown as 0.0 MB. */
TEST(bytes_in_messages)
{
    static const struct {
        uint64_t n;
        const char *text;
    } cases[] = {{0, "0 bytes"},
                 {99999, "99999 bytes"},
                 {100000, "0.1 MB"},
                 {UINT64_C(5) << 30, "5368.7 MB"},
                 {UINT64_MAX, "18446744073709.6 MB"}};
    char text[IH_BYTES_TEXT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ih_bytes_print(cases[i].n, text), cases[i].text);
    struct ih_budget b;
    struct ih_error err;
    ih_budget_init(&b, 7);
    assert_int_equal(ih_budget_take(&b, 3000000, &err), IH_LIMIT);
    assert_string_equal(err.message, "needs 3.0 MB of memory at once, the limit is 7 bytes");
    ih_budget_destroy(&b);
}

TEST(no_budget)
{
    assert_int_equal(ih_budget_take(NULL, UINT64_MAX, NULL), IH_OK);
    assert_true(ih_budget_try(NULL, UINT64_MAX));
    ih_budget_give(NULL, 1);
}

static void *give_twenty_later(void *budget)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    nanosleep(&pause, NULL);
    ih_budget_give(budget, 20);
    return NULL;
}

/* An image that needs more than is left gives its bytes back before it waits. Otherwise two such
 * images would wait for each other for ever. */
TEST(waits_without_holding_memory)
{
    static const uint8_t file[60];
    struct ih_budget b;
    struct ih_error err;
    struct ih_reader src = {0};
    struct ih_whole_file w = {.budget = NULL};
    const struct ih_decode_options options = {.budget = &b};
    pthread_t other;
    ih_budget_init(&b, 100);
    ih_reader_open_memory(&src, file, sizeof file);
    assert_int_equal(ih_whole_file_open(&w, &src, &options, 0, &err), IH_OK);
    assert_int_equal(ih_budget_take(&b, 20, &err), IH_OK);
    assert_int_equal(pthread_create(&other, NULL, give_twenty_later, &b), 0);
    alarm(30); /* instead of hanging */
    assert_int_equal(ih_whole_file_more(&w, 30, &err), IH_OK);
    alarm(0);
    pthread_join(other, NULL);
    assert_int_equal(b.taken_bytes, 90);
    ih_whole_file_close(&w);
    ih_reader_reset(&src);
    ih_budget_destroy(&b);
}

enum { FILE_BYTES = 50, MORE_BYTES = 40, BUDGET_BYTES = 100, N_READERS = 12, N_FILES = 20 };

struct reader {
    struct ih_budget *budget;
    atomic_int *n_open, *n_open_max; /* files in memory, of all readers */
    pthread_t thread;
};

static void *read_files(void *argument)
{
    static const uint8_t file[FILE_BYTES];
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    const struct reader *r = argument;
    const struct ih_decode_options options = {.budget = r->budget};
    struct ih_error err;
    for (int i = 0; i < N_FILES; i++) {
        struct ih_whole_file held = {.budget = NULL};
        struct ih_reader src = {0};
        ih_reader_open_memory(&src, file, sizeof file);
        assert_int_equal(ih_whole_file_open(&held, &src, &options, 0, &err), IH_OK);
        const int n = atomic_fetch_add(r->n_open, 1) + 1;
        int most = atomic_load(r->n_open_max);
        while (most < n && !atomic_compare_exchange_weak(r->n_open_max, &most, n))
            ;
        nanosleep(&pause, NULL);
        assert_int_equal(ih_whole_file_more(&held, MORE_BYTES, &err), IH_OK);
        atomic_fetch_sub(r->n_open, 1);
        ih_whole_file_close(&held);
        ih_reader_reset(&src);
    }
    return NULL;
}

/* Files that wait for more memory stay in it: they take at most the budget once more. */
TEST(waiting_files_are_bounded)
{
    struct ih_budget b;
    struct reader readers[N_READERS];
    atomic_int n_open = 0, n_open_max = 0;
    ih_budget_init(&b, BUDGET_BYTES);
    alarm(60);
    for (int i = 0; i < N_READERS; i++) {
        readers[i] = (struct reader){&b, &n_open, &n_open_max, 0};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_files, &readers[i]), 0);
    }
    for (int i = 0; i < N_READERS; i++)
        pthread_join(readers[i].thread, NULL);
    alarm(0);
    assert_int_equal(b.taken_bytes, 0);
    assert_in_range(n_open_max, 2, 2 * BUDGET_BYTES / FILE_BYTES);
    ih_budget_destroy(&b);
}

/* More than the budget: an error, and the share is given back. */
TEST(an_exchange_for_too_much)
{
    struct ih_budget b;
    struct ih_error err;
    ih_budget_init(&b, 10);
    assert_int_equal(ih_budget_take(&b, 7, &err), IH_OK);
    assert_int_equal(ih_budget_exchange(&b, 7, 11, &err), IH_LIMIT);
    assert_int_equal(err.limit, IH_LIMIT_MAX_MEMORY);
    assert_int_equal(b.taken_bytes, 0);
    assert_true(ih_budget_try(&b, 10));
    ih_budget_give(&b, 10);
    ih_budget_destroy(&b);
}

enum { SIDE = 1600, N_IMAGES = 12, N_THREADS = 6 };

/* Coefficients of one 4:4:4 image, two bytes each. */
#define IMAGE_BYTES 15360000
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

_Static_assert(IMAGE_BYTES == SIDE * SIDE * 3 * 2, "coefficients of the image below");

static int make_file(void **state)
{
    static char path[] = "/tmp/imghist-test-XXXXXX";
    static const jpeg_scan_info scans[] = {
        {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
    static uint8_t row[SIDE * 3];
    JSAMPROW rows[1] = {row};
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!f)
        return -1;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_stdio_dest(&c, f);
    c.image_width = c.image_height = SIDE;
    c.in_color_space = JCS_RGB;
    c.input_components = 3;
    jpeg_set_defaults(&c);
    c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1;
    c.scan_info = scans;
    c.num_scans = 3;
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < SIDE) {
        for (unsigned i = 0; i < sizeof row; i++)
            row[i] = (uint8_t)(i / 3 + c.next_scanline * (i % 3));
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *state = path;
    return fclose(f);
}

static int remove_file(void **state)
{
    return unlink(*state);
}

struct run {
    const char *path;
    size_t n_given, n_images;
    size_t n_done, n_refused;
};

static bool next(void *user, struct ih_input *input)
{
    struct run *r = user;
    if (r->n_given == r->n_images)
        return false;
    r->n_given++;
    *input = (struct ih_input){.path = strdup(r->path), .is_named = true};
    return input->path != NULL;
}

static bool take(void *user, const char *path, const struct ih_result *result)
{
    struct run *r = user;
    if (result->status == IH_OK && result->histogram.n_pixels == (uint64_t)SIDE * SIDE)
        r->n_done++;
    if (result->status == IH_LIMIT && result->error.limit == IH_LIMIT_MAX_MEMORY)
        r->n_refused++;
    return true;
}

/* budget_bytes   0: none */
static struct run run(const char *path, size_t n_images, unsigned n_threads, uint64_t budget_bytes)
{
    struct run r = {.path = path, .n_images = n_images};
    const struct ih_device_options on = {.backend = "cpu"};
    const struct taking calls = {.next = next, .next_user = &r, .take = take, .take_user = &r};
    struct ih_device *device = NULL;
    struct ih_error err;
    struct ih_budget budget;
    ih_budget_init(&budget, budget_bytes);
    const struct ih_scan_options options = {
        .n_threads = n_threads,
        .decode = {.max_pixels = 1 << 30, .budget = budget_bytes ? &budget : NULL},
        .measure.luma = &ih_luma_bt709,
        .measure.clip_high = 255};
    if (ih_device_open(&on, &device, &err) != IH_OK ||
        take_all(device, &options, &calls, &err) != IH_OK)
        r.n_done = 0;
    ih_device_close(device);
    ih_budget_destroy(&budget); /* asserts that all bytes were given back */
    return r;
}

/* Peak memory of the program in bytes, for n_images images and --memory=MEMORY. */
static uint64_t peak_of(const char *path, unsigned n_images, const char *memory)
{
    char command[1000];
    struct rusage usage;
    int status = -1, n;
    n = snprintf(command, sizeof command,
                 "exec \"$IMGHIST\" --csv=stats --device=cpu -j %d --memory=%s", N_THREADS, memory);
    for (unsigned i = 0; i < n_images; i++)
        n += snprintf(command + n, sizeof command - (size_t)n, " %s", path);
    snprintf(command + n, sizeof command - (size_t)n, " >/dev/null");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

TEST(images_wait_for_memory)
{
    struct run r = run(*state, N_IMAGES, N_THREADS, IMAGE_BYTES);
    assert_int_equal(r.n_done, N_IMAGES);
}

TEST(image_of_more_than_the_budget)
{
    struct run r = run(*state, N_IMAGES, N_THREADS, IMAGE_BYTES - 1);
    assert_int_equal(r.n_refused, N_IMAGES);
}

/* With room for one image many threads use little more memory than one. Without a limit they use
 * much more. */
TEST(peak_memory)
{
    if (HAS_SANITIZER || !getenv("IMGHIST"))
        skip("no program, or one whose sanitizer keeps freed memory");
    uint64_t one = peak_of(*state, 1, "1G");
    uint64_t within = peak_of(*state, N_IMAGES, TEXT(IMAGE_BYTES));
    uint64_t without = peak_of(*state, N_IMAGES, "1G");
    if (within > one + IMAGE_BYTES / 2 || without < one + IMAGE_BYTES)
        fail_msg("MB: one image %.1f, all with a budget %.1f, without %.1f", (double)one * 1e-6,
                 (double)within * 1e-6, (double)without * 1e-6);
}

PROGRAM_WITH(make_file, remove_file)
