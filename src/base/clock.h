/* The clock for measuring time, and limits on the time that an image takes. */
#ifndef IH_BASE_CLOCK_H
#define IH_BASE_CLOCK_H

#include "base/status.h"

/* Nanoseconds since a fixed moment. Never runs backwards. A call takes about 25 ns. */
uint64_t ih_clock_ns(void);

/* Ends work early. The working thread asks now and then. */
struct ih_interrupt {
    bool (*is_wanted)(void *user);
    void *user;
};

/*
 * How long an image may take. Time counts from resume to pause. Between two calls at most a second
 * counts, or the CPU time of the process if it is longer: a stopped program (Ctrl-Z) uses none.
 */
struct ih_time_limit {
    unsigned limit_s; /* 0: no limit */
    bool is_running;
    uint64_t used_ns, last_ns;            /* last_ns: of the last call, while it runs */
    uint64_t cpu_ns, cpu_read_ns;         /* CPU time of the process, and when it was read */
    const struct ih_interrupt *interrupt; /* borrowed; NULL: none */
    uint64_t asked_ns;                    /* of the last question to it */
    bool is_interrupted;
};

void ih_time_limit_resume(struct ih_time_limit *t);
void ih_time_limit_pause(struct ih_time_limit *t);

/* Asks the interrupt. Once it has said yes, every later check fails. */
bool ih_time_limit_ask(struct ih_time_limit *t);

/* Returns IH_OK, or IH_LIMIT: with IH_LIMIT_TIMEOUT in err if more time has been used, or because
 * of an interrupt, which is asked at most every 50 ms. */
enum ih_status ih_time_limit_check(struct ih_time_limit *t, struct ih_error *err);

/* The error for an image that took longer than limit_s; returns IH_LIMIT. */
enum ih_status ih_time_limit_exceeded(unsigned limit_s, struct ih_error *err);

#endif
