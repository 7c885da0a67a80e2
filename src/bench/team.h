/*
 * A team of threads that wait for work, so that what is timed is the work and not the starting of
 * threads.
 */
#ifndef IH_BENCH_TEAM_H
#define IH_BENCH_TEAM_H

#include "imghist.h"

#include <stddef.h>

struct ih_bench_team;

/* The part of member i of n, in 0 to n-1. */
typedef void ih_bench_part(void *context, unsigned i, unsigned n);

/* The caller is a member too: n_members - 1 threads are started. Returns IH_OK or IH_MEMORY. */
enum ih_status ih_bench_team_open(unsigned n_members, struct ih_bench_team **team,
                                  struct ih_error *err);
void ih_bench_team_close(struct ih_bench_team *team); /* NULL is allowed */

/* Runs all parts and waits for them. Threads: one call at a time. */
void ih_bench_team_run(struct ih_bench_team *team, ih_bench_part *part, void *context);

/* Where member i's share of n_items begins; that of member n is the end. */
static inline size_t ih_bench_share(size_t n_items, unsigned i, unsigned n)
{
    return n_items / n * i + n_items % n * i / n;
}

#endif
