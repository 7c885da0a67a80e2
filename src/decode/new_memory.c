#define _DEFAULT_SOURCE /* mallopt */

#include "decode/new_memory.h"

#include <pthread.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t is_prepared = PTHREAD_ONCE_INIT;

void ih_new_memory_fill(int value)
{
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
