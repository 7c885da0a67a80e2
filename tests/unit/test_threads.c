/* Memory that a thread keeps for its next allocation of the same size. */
#include "tests/support/test.h"

#include "base/threads.h"
#include <pthread.h>
#include <stdint.h>

/* Fills, gives and takes blocks of many sizes. AddressSanitizer finds a block that is too short,
 * given twice or, at the thread's end, lost. */
static void *use(void *argument)
{
    enum { N = 200, HELD = 7 };
    uint8_t *held[HELD] = {NULL};
    (void)argument;
    ih_kept_begin();
    for (size_t i = 0; i < N; i++) {
        const size_t n_bytes = i / 20 % 3 * 9000 + 100 * (i % 2);
        ih_kept_give(held[i % HELD]);
        held[i % HELD] = ih_kept_take(n_bytes);
        assert_non_null(held[i % HELD]);
        assert_int_equal((uintptr_t)held[i % HELD] % _Alignof(max_align_t), 0);
        memset(held[i % HELD], (int)i, n_bytes);
    }
    for (size_t i = 0; i < HELD; i++)
        ih_kept_give(held[i]);
    ih_kept_end();
    return NULL;
}

TEST(sizes_and_threads)
{
    enum { N_THREADS = 4 };
    pthread_t threads[N_THREADS];
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, NULL), 0);
    use(NULL);
    for (unsigned i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void *give(void *block)
{
    ih_kept_begin();
    ih_kept_give(block);
    ih_kept_end();
    return NULL;
}

/* A block may be given by another thread, which then ends. */
TEST(given_by_another_thread)
{
    pthread_t thread;
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(pthread_create(&thread, NULL, give, ih_kept_take(8000)), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

/* The point of it all; not under AddressSanitizer, where each block is new. */
TEST(taken_again)
{
#if !defined(__SANITIZE_ADDRESS__)
    ih_kept_begin();
    void *const block = ih_kept_take(8352);
    ih_kept_give(block);
    void *const again = ih_kept_take(8352);
    assert_ptr_equal(again, block);
    ih_kept_give(again);
    ih_kept_end();
#endif
}
