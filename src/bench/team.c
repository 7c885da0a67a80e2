#define _POSIX_C_SOURCE 200809L

#include "bench/team.h"

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct member {
    struct ih_bench_team *team;
    pthread_t thread;
    unsigned i;
};

struct ih_bench_team {
    unsigned n_members; /* that are there, the caller among them */
    struct member *members;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t on_work, on_done;
    uint64_t n_works; /* handed out so far */
    unsigned n_busy;
    bool is_closing;
    ih_bench_part *part;
    void *context;
};

static void *work(void *argument)
{
    const struct member *m = argument;
    struct ih_bench_team *t = m->team;
    uint64_t n_seen = 0;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->n_works == n_seen && !t->is_closing)
            pthread_cond_wait(&t->on_work, &t->lock);
        if (t->is_closing)
            break;
        n_seen = t->n_works;
        pthread_mutex_unlock(&t->lock);
        t->part(t->context, m->i, t->n_members);
        pthread_mutex_lock(&t->lock);
        if (--t->n_busy == 0)
            pthread_cond_signal(&t->on_done);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

enum ih_status ih_bench_team_open(unsigned n_members, struct ih_bench_team **team,
                                  struct ih_error *err)
{
    struct ih_bench_team *t = calloc(1, sizeof *t);
    struct member *members = calloc(n_members, sizeof *members);
    if (!t || !members) {
        free(members);
        free(t);
        return ih_error_set(err, IH_MEMORY, "out of memory");
    }
    t->members = members;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->on_work, NULL);
    pthread_cond_init(&t->on_done, NULL);
    t->n_members = 1;
    while (t->n_members < n_members) {
        struct member *m = &members[t->n_members];
        *m = (struct member){.team = t, .i = t->n_members};
        if (pthread_create(&m->thread, NULL, work, m) != 0) {
            ih_bench_team_close(t);
            return ih_error_set(err, IH_MEMORY, "no thread can be started");
        }
        t->n_members++;
    }
    *team = t;
    return IH_OK;
}

void ih_bench_team_close(struct ih_bench_team *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->is_closing = true;
    pthread_cond_broadcast(&t->on_work);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 1; i < t->n_members; i++)
        pthread_join(t->members[i].thread, NULL);
    pthread_cond_destroy(&t->on_work);
    pthread_cond_destroy(&t->on_done);
    pthread_mutex_destroy(&t->lock);
    free(t->members);
    free(t);
}

void ih_bench_team_run(struct ih_bench_team *t, ih_bench_part *part, void *context)
{
    pthread_mutex_lock(&t->lock);
    t->part = part;
    t->context = context;
    t->n_busy = t->n_members - 1;
    t->n_works++;
    pthread_cond_broadcast(&t->on_work);
    pthread_mutex_unlock(&t->lock);
    part(context, 0, t->n_members);
    pthread_mutex_lock(&t->lock);
    while (t->n_busy > 0)
        pthread_cond_wait(&t->on_done, &t->lock);
    pthread_mutex_unlock(&t->lock);
}
