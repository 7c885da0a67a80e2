/*
 * What workers share: a budget of memory, and idle cores.
 *
 * An image that must be held in memory takes its bytes from the budget before it allocates them,
 * and gives them back when it is closed. Large images wait for each other instead of exhausting
 * memory. Requests are served in the order of arrival, so small images cannot starve a large one.
 * A caller that waits must have no share: it takes all it needs in one call.
 *
 * Some files show what they need only when they have been read. Their callers exchange their share
 * for a larger one. The budget serves them before callers that have read nothing yet, so all files
 * that wait in memory had shares at the same time. Together they take at most the budget's size.
 */
#ifndef IH_BASE_BUDGET_H
#define IH_BASE_BUDGET_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>

/* The calls below as values, so that a decoder process can send them to the program. */
enum ih_budget_call { IH_BUDGET_TAKE, IH_BUDGET_TRY, IH_BUDGET_GIVE, IH_BUDGET_EXCHANGE };

/* A caller draws next_turn. The budget serves it when turn reaches that number. */
struct ih_budget_queue {
    uint64_t next_turn, turn;
};

struct ih_budget {
    /* Not NULL: another process keeps the budget, and every call is forwarded. IH_BUDGET_TRY
     * returns IH_OK only if it got the bytes. IH_BUDGET_EXCHANGE: for all that this process has. */
    enum ih_status (*ask)(enum ih_budget_call call, uint64_t n_bytes, struct ih_error *err);

    pthread_mutex_t lock;
    pthread_cond_t on_change;
    uint64_t size_bytes, taken_bytes;
    struct ih_budget_queue exchangers, takers; /* callers; exchangers are served first */
};

enum { IH_BYTES_TEXT_MAX = 32 };

/* Writes a number of bytes for a message, "99999 bytes" or "0.1 MB". Returns text. */
const char *ih_bytes_print(uint64_t n_bytes, char text[IH_BYTES_TEXT_MAX]);

void ih_budget_init(struct ih_budget *b, uint64_t size_bytes);
void ih_budget_destroy(struct ih_budget *b); /* all bytes must have been given back */

/* Waits until n_bytes are left and takes them. b: NULL: no limit. Returns IH_OK; or IH_LIMIT at
 * once, with IH_LIMIT_MAX_MEMORY in err, for more than the budget's size. Threads: any. */
enum ih_status ih_budget_take(struct ih_budget *b, uint64_t n_bytes, struct ih_error *err);

/* Gives taken_bytes back, the caller's whole share, then waits for n_bytes in their place. Served
 * before ih_budget_take. Errors as there; the share is given back all the same. */
enum ih_status ih_budget_exchange(struct ih_budget *b, uint64_t taken_bytes, uint64_t n_bytes,
                                  struct ih_error *err);

/* Takes n_bytes if they are left and no other caller waits; never waits itself. */
bool ih_budget_try(struct ih_budget *b, uint64_t n_bytes);

/* Gives n_bytes back. */
void ih_budget_give(struct ih_budget *b, uint64_t n_bytes);

/* Takes one idle core: a core that no worker uses, and that an assistant thread may use. Returns
 * false if there is none, or if n_idle_cores is NULL. Threads: any. */
static inline bool ih_idle_core_take(atomic_uint *n_idle_cores)
{
    unsigned n = n_idle_cores ? atomic_load(n_idle_cores) : 0;
    while (n > 0 && !atomic_compare_exchange_weak(n_idle_cores, &n, n - 1))
        ;
    return n > 0;
}

static inline void ih_idle_core_give(atomic_uint *n_idle_cores)
{
    atomic_fetch_add(n_idle_cores, 1);
}

#endif
