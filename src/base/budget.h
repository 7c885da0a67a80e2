/*
 * A budget of memory that workers share.
 *
 * An image that must be held whole takes its bytes before it allocates them and gives them back
 * when it is closed. So many large ones wait for each other where they would otherwise swell.
 * Takers are served in the order they came: a large one is not starved by small ones. A taker may
 * hold nothing while it waits, so it takes once, all it needs.
 */
#ifndef IH_BASE_BUDGET_H
#define IH_BASE_BUDGET_H

#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* What may be asked of a budget, in words that can be sent to another process. */
enum ih_budget_call { IH_BUDGET_TAKE, IH_BUDGET_TRY, IH_BUDGET_GIVE };

struct ih_budget {
    /* Not NULL: the budget is kept elsewhere and every call is passed on. A try that gets nothing
     * is not IH_OK. */
    enum ih_status (*ask)(enum ih_budget_call call, uint64_t n_bytes, struct ih_error *err);

    pthread_mutex_t lock;
    pthread_cond_t on_change;
    uint64_t size_bytes, taken_bytes;
    uint64_t next_turn, turn; /* takers draw next_turn and are served when it is their turn */
};

void ih_budget_init(struct ih_budget *b, uint64_t size_bytes);
void ih_budget_destroy(struct ih_budget *b); /* all is given back */

/*
 * Waits until n_bytes are left and takes them.
 *
 * b   NULL: no limit
 *
 * Returns IH_OK, or at once IH_LIMIT where n_bytes is more than the whole budget.
 * Threads: any.
 */
enum ih_status ih_budget_take(struct ih_budget *b, uint64_t n_bytes, struct ih_error *err);

/* Takes n_bytes if they are left and nobody waits; for what can do with less memory. */
bool ih_budget_try(struct ih_budget *b, uint64_t n_bytes);

/* Gives n_bytes back. */
void ih_budget_give(struct ih_budget *b, uint64_t n_bytes);

#endif
