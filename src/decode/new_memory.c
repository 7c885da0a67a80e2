#define _DEFAULT_SOURCE /* mallopt */

#include "decode/new_memory.h"

#include <pthread.h>
#include <stdint.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t is_prepared = PTHREAD_ONCE_INIT;

/* LibRaw 0.20 uses 16 KB of the stack to open a small DNG; musl's threads have 128 KB. */
enum { STACK_BYTES = 1 << 16 };

/* Neighbours get different bytes: values that are all the same may have a meaning. */
static void fill_stack(int value)
{
    volatile uint64_t stack[STACK_BYTES / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof stack / sizeof *stack; i++)
        stack[i] = UINT64_C(0x0706050403020100) + UINT64_MAX / UINT8_MAX * (uint8_t)value;
}

void ih_new_memory_fill(int value)
{
    void (*const volatile fill)(int) = fill_stack; /* never inlined: a frame of its own */
    if (value)
        fill(value);
#ifdef __GLIBC__
    mallopt(M_PERTURB, value);
#else
    (void)value;
#endif
}

static void begin_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    owner = fresh;
    ih_new_memory_fill(0);
}

static void new_memory_prepare(void)
{
    pthread_atfork(NULL, NULL, begin_child);
}

void ih_new_memory_take(void)
{
    pthread_once(&is_prepared, new_memory_prepare);
    pthread_mutex_lock(&owner);
}

void ih_new_memory_give(void)
{
    pthread_mutex_unlock(&owner);
}
