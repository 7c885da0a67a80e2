/*
 * The summary that people read, in two views (--text=full|lines), and at its end what failed.
 *
 * Failures are told on standard error as they come. In a long batch they have then scrolled away
 * among the lines, and a summary that is kept in a file never had them: so the first
 * FAILURES_SHOWN are said again below the last record.
 */
#include "output/text_parts.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_SHOWN = 20 };

struct failure {
    char *path; /* owned; NULL where there was no memory for it */
    struct ih_error error;
};

struct text_state {
    struct ih_text text;
    void (*show)(struct ih_text *text, const struct ih_result *result);
    bool has_records;
    uint64_t n_failed;
    struct failure failures[FAILURES_SHOWN];
};

const char *ih_text_style(const struct ih_text *text, const char *ansi)
{
    return text->options.colour ? ansi : "";
}

const char *ih_text_percent(char shown[IH_PERCENT_MAX], uint64_t part, uint64_t whole)
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;
    if (part == whole && whole)
        snprintf(shown, IH_PERCENT_MAX, "100");
    else if (part > 0 && percent < 0.01)
        snprintf(shown, IH_PERCENT_MAX, "<0.01");
    else if (percent >= 99.995)
        snprintf(shown, IH_PERCENT_MAX, ">99.9");
    else
        snprintf(shown, IH_PERCENT_MAX, "%.2f", percent);
    return shown;
}

static const struct {
    const char *name;
    void (*show)(struct ih_text *text, const struct ih_result *result);
} views[] = {{"full", ih_text_full}, {"lines", ih_text_line}};

static enum ih_status begin(FILE *stream, const struct ih_output_options *options, void **state,
                            struct ih_error *err)
{
    const char *wanted = options->layout ? options->layout : views[0].name;
    size_t view = 0, n_views = sizeof views / sizeof *views;
    while (view < n_views && strcmp(views[view].name, wanted) != 0)
        view++;
    if (view == n_views)
        return ih_error_set(err, IH_USAGE, "--text=%.100s: the views are full, lines", wanted);
    struct text_state *s = calloc(1, sizeof *s);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->text = (struct ih_text){.stream = stream,
                               .options = *options,
                               .columns = options->columns ? options->columns : IH_TEXT_COLUMNS,
                               .is_first_line = true};
    s->show = views[view].show;
    *state = s;
    return IH_OK;
}

static void remember_failure(struct text_state *s, const struct ih_result *result)
{
    if (s->n_failed < FAILURES_SHOWN) {
        struct failure *failure = &s->failures[s->n_failed];
        size_t size = strlen(result->path) + 1;
        failure->path = malloc(size);
        if (failure->path)
            memcpy(failure->path, result->path, size);
        failure->error = result->error;
    }
    s->n_failed++;
}

static void record(void *state, const struct ih_result *result)
{
    struct text_state *s = state;
    if (result->status != IH_OK) {
        remember_failure(s, result);
        return;
    }
    if (s->has_records && s->show == ih_text_full)
        putc('\n', s->text.stream);
    s->has_records = true;
    s->show(&s->text, result);
}

/* Where nothing but failures came, standard error has just said them. */
static void end(void *state)
{
    const struct text_state *s = state;
    FILE *f = s->text.stream;
    char name[IH_ESCAPED_MAX], message[4 * IH_MESSAGE_MAX];
    if (!s->has_records || s->n_failed == 0)
        return;
    fprintf(f, "\n%sfailed: %" PRIu64 "%s\n", ih_text_style(&s->text, IH_ANSI_BOLD), s->n_failed,
            ih_text_style(&s->text, IH_ANSI_PLAIN));
    for (uint64_t i = 0; i < s->n_failed && i < FAILURES_SHOWN; i++) {
        const struct failure *failure = &s->failures[i];
        ih_escape(name, sizeof name, !failure->path ? "?" : *failure->path ? failure->path : "''");
        ih_escape(message, sizeof message, failure->error.message);
        fprintf(f, "  %s: %s\n", name, message);
    }
    if (s->n_failed > FAILURES_SHOWN)
        fprintf(f, "  and %" PRIu64 " more: --ndjson lists them all\n",
                s->n_failed - FAILURES_SHOWN);
}

static void close_text(void *state)
{
    struct text_state *s = state;
    for (size_t i = 0; s && i < FAILURES_SHOWN; i++)
        free(s->failures[i].path);
    free(s);
}

const struct ih_output ih_output_text = {
    .name = "text",
    .title = "a summary for people (the default); views full, lines",
    .begin = begin,
    .record = record,
    .end = end,
    .close = close_text,
};
