#define _DEFAULT_SOURCE /* TIOCGWINSZ is not in POSIX */

#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)
#define FIRST_NS (NS_PER_S / 2)       /* a shorter run shows no progress */
#define REDRAW_NS (NS_PER_S * 3 / 20) /* on a terminal: often, without flicker */
#define LINE_NS (NS_PER_S * 5)        /* elsewhere: between lines */

enum { COLUMNS_DEFAULT = 80 };

/* ---- the line ---- */

enum { COUNT, FILE_RATE, PIXEL_RATE, FAILED, ELAPSED, LEFT, N_PARTS }; /* from left to right */

enum { PART_MAX = 64 };

/* A rate, with one decimal if it is below 100. */
static void put_rate(char part[PART_MAX], uint64_t n, double scale, uint64_t elapsed_ns,
                     const char *unit)
{
    double seconds = (double)elapsed_ns / (double)NS_PER_S;
    double rate = seconds > 0 ? (double)n * scale / seconds : 0;
    snprintf(part, PART_MAX, ", %.*f %s/s", rate < 99.95, rate, unit);
}

static void put_time(char part[PART_MAX], double seconds, const char *what)
{
    uint64_t s = seconds < 3.6e9 ? (uint64_t)(seconds + 0.5) : UINT64_C(3600000000);
    if (s < 3600)
        snprintf(part, PART_MAX, ", %u:%02u%s", (unsigned)(s / 60), (unsigned)(s % 60), what);
    else
        snprintf(part, PART_MAX, ", %" PRIu64 ":%02u:%02u%s", s / 3600, (unsigned)(s / 60 % 60),
                 (unsigned)(s % 60), what);
}

/* Assumes that the remaining inputs take as long as the finished ones on average. A mean over the
 * last seconds would jump with every large file. */
static void put_time_left(char part[PART_MAX], const struct ih_progress_counts *c, uint64_t n)
{
    double elapsed = (double)c->elapsed_ns / (double)NS_PER_S;
    const uint64_t n_inputs = c->n_inputs - c->n_skipped;
    if (c->n_inputs > c->n_skipped && n_inputs > n && n > 0)
        put_time(part, elapsed / (double)n * (double)(n_inputs - n), " left");
}

void ih_progress_line(const struct ih_progress_counts *c, unsigned columns, char *line,
                      size_t size_bytes)
{
    static const unsigned least_needed_first[] = {PIXEL_RATE, FILE_RATE, ELAPSED, LEFT, FAILED};
    char parts[N_PARTS][PART_MAX] = {""};
    uint64_t n = c->n_done + c->n_failed;
    size_t length = 0, n_kept = 0;
    if (c->n_inputs >= n + c->n_skipped && c->n_inputs > 0)
        snprintf(parts[COUNT], PART_MAX, "imghist: %" PRIu64 "/%" PRIu64 " files", n,
                 c->n_inputs - c->n_skipped);
    else
        snprintf(parts[COUNT], PART_MAX, "imghist: %" PRIu64 " file%s", n, n == 1 ? "" : "s");
    put_rate(parts[FILE_RATE], n, 1, c->elapsed_ns, "files");
    put_rate(parts[PIXEL_RATE], c->n_pixels, 1e-6, c->elapsed_ns, "MP");
    if (c->n_failed)
        snprintf(parts[FAILED], PART_MAX, ", %" PRIu64 " failed", c->n_failed);
    put_time(parts[ELAPSED], (double)c->elapsed_ns / (double)NS_PER_S, " elapsed");
    put_time_left(parts[LEFT], c, n);

    const size_t room = columns < size_bytes ? columns : size_bytes - 1;
    for (unsigned p = 0; p < N_PARTS; p++)
        length += strlen(parts[p]);
    for (unsigned i = 0; i < N_PARTS - 1 && length > room; i++) {
        length -= strlen(parts[least_needed_first[i]]);
        parts[least_needed_first[i]][0] = '\0';
    }
    for (unsigned p = 0; p < N_PARTS; p++)
        for (const char *q = parts[p]; *q && n_kept < room; q++)
            line[n_kept++] = *q;
    line[n_kept] = '\0';
}

/* ---- drawing it ---- */

/* A walk ahead of the run, in a thread, so that progress has a number of inputs. */
struct ahead {
    struct ih_walk *walk; /* owned; NULL: none */
    atomic_bool is_over;
    pthread_t thread;
};

struct ih_progress {
    struct ahead ahead;
    bool is_wiped; /* redrawn in place; else each line stays */
    uint64_t started_ns;
    pthread_t thread;
    pthread_cond_t on_end;
    pthread_mutex_t lock; /* guards the fields below, and the line on the screen */
    struct ih_progress_counts counts;
    bool is_shown; /* the line is on the screen */
    bool was_shown;
    bool is_over;
};

/* The current width of the terminal, less one to avoid wrapping. ($COLUMNS is from the start.) */
static unsigned line_columns(void)
{
    struct winsize size = {.ws_col = 0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
        size.ws_col = 0;
    return size.ws_col > 1 ? size.ws_col - 1u : COLUMNS_DEFAULT - 1u;
}

/* A run in the background of a shell draws nothing. */
static void draw(struct ih_progress *p)
{
    char line[IH_PROGRESS_LINE_MAX + 8] = "";
    size_t n = 0;
    p->counts.elapsed_ns = ih_clock_ns() - p->started_ns;
    if (p->is_wiped) {
        pid_t foreground = tcgetpgrp(STDERR_FILENO);
        if (foreground >= 0 && foreground != getpgrp())
            return;
        line[n++] = '\r';
    }
    ih_progress_line(&p->counts, p->is_wiped ? line_columns() : IH_PROGRESS_LINE_MAX, line + n,
                     IH_PROGRESS_LINE_MAX);
    strcat(line, p->is_wiped ? "\033[K" : "\n");
    fputs(line, stderr);
    p->is_shown = p->is_wiped;
    p->was_shown = p->was_shown || p->is_wiped;
}

static void wipe(struct ih_progress *p)
{
    if (p->is_shown)
        fputs("\r\033[K", stderr);
    p->is_shown = false;
}

static void *tick(void *argument)
{
    struct ih_progress *p = argument;
    uint64_t period_ns = p->is_wiped ? REDRAW_NS : LINE_NS;
    uint64_t wait_ns = p->is_wiped ? FIRST_NS : LINE_NS;
    pthread_mutex_lock(&p->lock);
    while (!p->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        uint64_t ns = (uint64_t)until.tv_nsec + wait_ns;
        until.tv_sec += (time_t)(ns / NS_PER_S);
        until.tv_nsec = (long)(ns % NS_PER_S);
        /* Only close signals, and a spurious wake-up just draws once more. */
        pthread_cond_timedwait(&p->on_end, &p->lock, &until);
        if (!p->is_over)
            draw(p);
        wait_ns = period_ns;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- the walk ahead ---- */

static void set_inputs(struct ih_progress *p, uint64_t n)
{
    pthread_mutex_lock(&p->lock);
    p->counts.n_inputs = n;
    pthread_mutex_unlock(&p->lock);
}

static void *walk_ahead(void *progress)
{
    struct ih_progress *p = progress;
    struct ih_input input;
    uint64_t n = 0;
    while (!p->ahead.is_over && ih_walk_next(p->ahead.walk, &input)) {
        n += !input.ends_folder;
        free(input.path);
    }
    if (!p->ahead.is_over)
        set_inputs(p, n);
    return NULL;
}

void ih_progress_walk(struct ih_progress *p, const struct ih_walk_sources *sources)
{
    struct ih_error ignored;
    if (!p || !ih_walk_is_quick(sources) ||
        ih_walk_open(sources, &p->ahead.walk, &ignored) != IH_OK)
        return;
    if (pthread_create(&p->ahead.thread, NULL, walk_ahead, p) == 0)
        return;
    ih_walk_close(p->ahead.walk);
    p->ahead.walk = NULL;
}

void ih_progress_stop_walk(struct ih_progress *p)
{
    if (!p || !p->ahead.walk)
        return;
    p->ahead.is_over = true;
    pthread_join(p->ahead.thread, NULL);
    ih_walk_close(p->ahead.walk);
    p->ahead.walk = NULL;
    set_inputs(p, 0); /* the last line is the same, whether the count was in time or not */
}

void ih_progress_forget_inputs(struct ih_progress *p)
{
    ih_progress_stop_walk(p);
    if (p)
        set_inputs(p, 0);
}

/* ---- calls ---- */

static bool can_wipe(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && term && *term && strcmp(term, "dumb") != 0;
}

bool ih_progress_is_wanted(enum ih_progress_when when, bool is_quiet)
{
    return when == IH_PROGRESS_ALWAYS || (when == IH_PROGRESS_AUTO && !is_quiet && can_wipe());
}

struct ih_progress *ih_progress_open(uint64_t n_inputs)
{
    pthread_condattr_t attributes;
    struct ih_progress *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->is_wiped = can_wipe();
    atomic_init(&p->ahead.is_over, false);
    p->started_ns = ih_clock_ns();
    p->counts.n_inputs = n_inputs;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&p->on_end, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&p->thread, NULL, tick, p) == 0)
        return p;
    pthread_cond_destroy(&p->on_end);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return NULL;
}

void ih_progress_add(struct ih_progress *p, const struct ih_progress_counts *more)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->counts.n_done += more->n_done;
    p->counts.n_failed += more->n_failed;
    p->counts.n_skipped += more->n_skipped;
    p->counts.n_pixels += more->n_pixels;
    pthread_mutex_unlock(&p->lock);
}

void ih_progress_hold(struct ih_progress *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    wipe(p);
}

void ih_progress_release(struct ih_progress *p)
{
    if (p)
        pthread_mutex_unlock(&p->lock);
}

void ih_progress_interrupt(struct ih_progress *p, const struct timespec *until)
{
    if (p && pthread_mutex_timedlock(&p->lock, until) == 0)
        wipe(p);
}

bool ih_progress_close(struct ih_progress *p)
{
    if (!p)
        return false;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    wipe(p);
    const bool was_shown = p->was_shown;
    if (!p->is_wiped)
        draw(p);
    pthread_cond_signal(&p->on_end);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->on_end);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return was_shown;
}
