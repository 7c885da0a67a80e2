/*
 * Outputs that only name inputs. --check: a line for each input that failed, with its name and the
 * reason. --print: the name of each image that was counted, in a line. --print0: the name with a
 * NUL byte after it, for xargs -0. An empty line or name stands between two groups of copies.
 */
#include "output/output.h"

struct names {
    struct ih_output_state to;
    bool has_begun;
};

static void render_check(const void *state, const struct ih_result *result, FILE *bytes)
{
    char name[IH_ESCAPED_MAX], message[4 * IH_MESSAGE_MAX];
    (void)state;
    if (result->status == IH_OK)
        return;
    ih_escape(name, sizeof name, *result->path ? result->path : "''");
    ih_escape(message, sizeof message, result->error.message);
    fprintf(bytes, "%s: %s\n", name, message);
}

static bool is_control(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

/* Puts control characters as within $'...' of a shell. */
static const char *put_controls(const char *at, FILE *bytes)
{
    static const char letters[] = "abtnvfr"; /* of \a to \r */
    for (; *at && is_control(*at); at++)
        if (*at >= '\a' && *at <= '\r')
            fprintf(bytes, "\\%c", letters[*at - '\a']);
        else
            fprintf(bytes, "\\%03o", (unsigned)*at);
    return at;
}

/* A name with control characters would break its line, or a terminal. It is quoted as by ls and
 * read again by a shell. A quoted name begins with an apostrophe, so other names that do are quoted
 * too. */
static void render_print(const void *state, const struct ih_result *result, FILE *bytes)
{
    const char *at = result->path;
    (void)state;
    if (result->status != IH_OK || result->is_total)
        return;
    while (*at && !is_control(*at))
        at++;
    if (!*at && *result->path != '\'') {
        fprintf(bytes, "%s\n", result->path);
        return;
    }
    fputc('\'', bytes);
    for (at = result->path; *at;) {
        if (is_control(*at)) {
            fputs("'$'", bytes);
            at = put_controls(at, bytes);
            fputs(*at ? "''" : "", bytes);
        } else {
            fputs(*at == '\'' ? "'\\'" : "", bytes);
            fputc(*at++, bytes);
        }
    }
    fputs("'\n", bytes);
}

static void render_print0(const void *state, const struct ih_result *result, FILE *bytes)
{
    (void)state;
    if (result->status == IH_OK && !result->is_total)
        fprintf(bytes, "%s%c", result->path, '\0');
}

static void put_name(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    struct names *const s = state;
    if (n > 0 && result->begins_copies && s->has_begun)
        fputc(bytes[n - 1], s->to.stream);
    s->has_begun = true;
    fwrite(bytes, 1, n, s->to.stream);
}

const struct ih_output ih_output_check = {
    .name = "check",
    .title = "a line for each bad file",
    .failures_in = "",
    .state_bytes = sizeof(struct ih_output_state),
    .render = render_check,
    .put = ih_output_put_bytes,
};

const struct ih_output ih_output_print = {
    .name = "print",
    .title = "names, one per line",
    .state_bytes = sizeof(struct names),
    .render = render_print,
    .put = put_name,
};

const struct ih_output ih_output_print0 = {
    .name = "print0",
    .title = "names, with a NUL byte after each",
    .state_bytes = sizeof(struct names),
    .render = render_print0,
    .put = put_name,
};
