/*
 * spin N: as much work for N threads as for one, N times over, in registers alone: no memory, no
 * system, no thread that waits for another. How much longer it takes than for one thread is what
 * the machine itself keeps from N threads: clocks that fall, cores that are shared with others.
 *
 * Four chains that do not wait for each other, so that two threads of one core would feel it.
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
    *(uint64_t *)seed = a ^ b ^ c ^ d; /* so that compilers leave none out */
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
            fprintf(stderr, "spin: no thread can be started\n");
            return 1;
        }
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
