#include "base/budget.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

const char *ih_bytes_print(uint64_t n_bytes, char text[IH_BYTES_TEXT_MAX])
{
    enum { MB_FROM_BYTES = 100 * 1000 };
    if (n_bytes < MB_FROM_BYTES)
        snprintf(text, IH_BYTES_TEXT_MAX, "%" PRIu64 " bytes", n_bytes);
    else
        snprintf(text, IH_BYTES_TEXT_MAX, "%.1f MB", (double)n_bytes * 1e-6);
    return text;
}

void ih_budget_init(struct ih_budget *b, uint64_t size_bytes)
{
    *b = (struct ih_budget){.size_bytes = size_bytes};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->on_change, NULL);
}

void ih_budget_destroy(struct ih_budget *b)
{
    assert(b->taken_bytes == 0);
    pthread_cond_destroy(&b->on_change);
    pthread_mutex_destroy(&b->lock);
}

static enum ih_status check_size(const struct ih_budget *b, uint64_t n_bytes, struct ih_error *err)
{
    char needed[IH_BYTES_TEXT_MAX], limit[IH_BYTES_TEXT_MAX];
    if (n_bytes <= b->size_bytes)
        return IH_OK;
    return ih_error_set_limit(
        err, IH_LIMIT_MAX_MEMORY, b->size_bytes, "needs %s of memory at once, the limit is %s",
        ih_bytes_print(n_bytes, needed), ih_bytes_print(b->size_bytes, limit));
}

static bool has_callers(const struct ih_budget_queue *queue)
{
    return queue->turn != queue->next_turn;
}

/* Waits for the caller's turn and for n_bytes, and takes them. The lock is held. */
static void take_in_turn(struct ih_budget *b, struct ih_budget_queue *queue, uint64_t n_bytes)
{
    const uint64_t turn = queue->next_turn++;
    while (queue->turn != turn || n_bytes > b->size_bytes - b->taken_bytes ||
           (queue == &b->takers && has_callers(&b->exchangers)))
        pthread_cond_wait(&b->on_change, &b->lock);
    queue->turn++;
    b->taken_bytes += n_bytes;
    pthread_cond_broadcast(&b->on_change); /* the bytes left may suffice for the next caller too */
}

enum ih_status ih_budget_take(struct ih_budget *b, uint64_t n_bytes, struct ih_error *err)
{
    if (!b)
        return IH_OK;
    if (b->ask)
        return b->ask(IH_BUDGET_TAKE, n_bytes, err);
    if (check_size(b, n_bytes, err) != IH_OK)
        return IH_LIMIT;
    pthread_mutex_lock(&b->lock);
    take_in_turn(b, &b->takers, n_bytes);
    pthread_mutex_unlock(&b->lock);
    return IH_OK;
}

enum ih_status ih_budget_exchange(struct ih_budget *b, uint64_t taken_bytes, uint64_t n_bytes,
                                  struct ih_error *err)
{
    if (!b)
        return IH_OK;
    if (b->ask)
        return b->ask(IH_BUDGET_EXCHANGE, n_bytes, err);
    const enum ih_status status = check_size(b, n_bytes, err);
    pthread_mutex_lock(&b->lock);
    assert(taken_bytes <= b->taken_bytes);
    b->taken_bytes -= taken_bytes;
    pthread_cond_broadcast(&b->on_change);
    if (status == IH_OK)
        take_in_turn(b, &b->exchangers, n_bytes);
    pthread_mutex_unlock(&b->lock);
    return status;
}

bool ih_budget_try(struct ih_budget *b, uint64_t n_bytes)
{
    if (!b)
        return true;
    if (b->ask)
        return b->ask(IH_BUDGET_TRY, n_bytes, NULL) == IH_OK;
    pthread_mutex_lock(&b->lock);
    bool is_free = !has_callers(&b->takers) && !has_callers(&b->exchangers) &&
                   n_bytes <= b->size_bytes - b->taken_bytes;
    if (is_free)
        b->taken_bytes += n_bytes;
    pthread_mutex_unlock(&b->lock);
    return is_free;
}

void ih_budget_give(struct ih_budget *b, uint64_t n_bytes)
{
    if (!b)
        return;
    if (b->ask) {
        b->ask(IH_BUDGET_GIVE, n_bytes, NULL);
        return;
    }
    pthread_mutex_lock(&b->lock);
    assert(n_bytes <= b->taken_bytes);
    b->taken_bytes -= n_bytes;
    pthread_cond_broadcast(&b->on_change);
    pthread_mutex_unlock(&b->lock);
}
