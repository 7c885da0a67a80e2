#include "base/clock.h"

#include <time.h>

#define NS_A_SECOND ((uint64_t)1000 * 1000 * 1000)
#define ASK_NS (NS_A_SECOND / 20) /* a user does not notice it, and asking may wait for a lock */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now); /* cannot fail: POSIX 2008 systems have both clocks */
    return (uint64_t)now.tv_sec * NS_A_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t ih_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* Starts the next gap. Reads the CPU clock seldom: that is a system call, slow with many threads.
 */
static void mark(struct ih_time_limit *t, uint64_t now_ns)
{
    t->last_ns = now_ns;
    if (now_ns - t->cpu_read_ns >= ASK_NS) {
        t->cpu_read_ns = now_ns;
        t->cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    }
}

/* Adds the time since the last call. */
static void count(struct ih_time_limit *t)
{
    if (t->limit_s == 0 || !t->is_running)
        return;
    const uint64_t now_ns = ih_clock_ns(), passed_ns = now_ns - t->last_ns;
    uint64_t most_ns = NS_A_SECOND;
    if (passed_ns > most_ns) {
        const uint64_t cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID) - t->cpu_ns;
        most_ns = cpu_ns > most_ns ? cpu_ns : most_ns;
    }
    t->used_ns += passed_ns < most_ns ? passed_ns : most_ns;
    mark(t, now_ns);
}

void ih_time_limit_resume(struct ih_time_limit *t)
{
    t->is_running = true;
    if (t->limit_s)
        mark(t, ih_clock_ns());
}

void ih_time_limit_pause(struct ih_time_limit *t)
{
    count(t);
    t->is_running = false;
}

bool ih_time_limit_ask(struct ih_time_limit *t)
{
    if (t->interrupt && !t->is_interrupted)
        t->is_interrupted = t->interrupt->is_wanted(t->interrupt->user);
    return t->is_interrupted;
}

static bool is_interrupted(struct ih_time_limit *t)
{
    const uint64_t now_ns = t->interrupt ? ih_clock_ns() : 0;
    if (t->asked_ns == 0)
        t->asked_ns = now_ns; /* short work asks nothing */
    if (now_ns - t->asked_ns >= ASK_NS) {
        t->asked_ns = now_ns;
        ih_time_limit_ask(t);
    }
    return t->is_interrupted;
}

enum ih_status ih_time_limit_check(struct ih_time_limit *t, struct ih_error *err)
{
    if (is_interrupted(t))
        return ih_error_set(err, IH_LIMIT, "interrupted");
    count(t);
    return t->limit_s && t->used_ns > t->limit_s * NS_A_SECOND
               ? ih_time_limit_exceeded(t->limit_s, err)
               : IH_OK;
}

enum ih_status ih_time_limit_exceeded(unsigned limit_s, struct ih_error *err)
{
    return ih_error_set_limit(err, IH_LIMIT_TIMEOUT, limit_s, "decoding takes more than %u s",
                              limit_s);
}
