#include "cli/ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct ih_ahead {
    struct ih_walk *walk;         /* owned */
    struct ih_progress *progress; /* borrowed */
    atomic_bool is_over;
    pthread_t thread;
};

static void *count(void *argument)
{
    struct ih_ahead *a = argument;
    struct ih_input input;
    uint64_t n = 0;
    while (!a->is_over && ih_walk_next(a->walk, &input)) {
        n += !input.ends_folder;
        free(input.path);
    }
    if (!a->is_over)
        ih_progress_set_inputs(a->progress, n);
    return NULL;
}

struct ih_ahead *ih_ahead_start(const struct ih_walk_sources *sources, struct ih_progress *progress)
{
    struct ih_error err;
    if (!progress || !ih_walk_is_quick(sources))
        return NULL;
    struct ih_ahead *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->progress = progress;
    atomic_init(&a->is_over, false);
    if (ih_walk_open(sources, &a->walk, &err) == IH_OK &&
        pthread_create(&a->thread, NULL, count, a) == 0)
        return a;
    ih_walk_close(a->walk);
    free(a);
    return NULL;
}

void ih_ahead_stop(struct ih_ahead *a)
{
    if (!a)
        return;
    a->is_over = true;
    pthread_join(a->thread, NULL);
    ih_walk_close(a->walk);
    free(a);
}
