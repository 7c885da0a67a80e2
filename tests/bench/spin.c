/*
 * spin N: N threads do the same work each, in registers alone, without memory, system calls or
 * waiting. The time over that of one thread is the loss of the machine itself: lower clocks, and
 * cores shared with other threads. Four independent chains make sharing a core visible.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 200 * 1000 * 1000, THREADS_MAX = 1024 };

static void *spin(void *seed)
{
    uint64_t a = *(const uint64_t *)seed, b = a + 1, c = a + 2, d = a + 3;
    for (uint32_t i = 0; i < STEPS; i++) {
        a = a * 6364136223846793005u + i;
        b ^= b << 13 ^ i;
        c = (c >> 7 | c << 57) + i;
        d = (d ^ d >> 9) + i;
    }
    *(uint64_t *)seed = a ^ b ^ c ^ d; /* keeps the compiler from removing them */
    return NULL;
}

int main(int argc, char **argv)
{
    static uint64_t seeds[THREADS_MAX];
    static pthread_t threads[THREADS_MAX];
    const int n = argc == 2 ? atoi(argv[1]) : 0;
    if (n < 1 || n > THREADS_MAX) {
        fprintf(stderr, "usage: spin N\n");
        return 2;
    }
    for (int i = 0; i < n; i++) {
        seeds[i] = (uint64_t)i;
        if (pthread_create(&threads[i], NULL, spin, &seeds[i]) != 0) {
            fprintf(stderr, "spin: cannot start a thread\n");
            return 1;
        }
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
