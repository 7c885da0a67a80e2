/*
 * Outputs that only name inputs. --check: a line for each input that failed, with its name and the
 * reason. --print0: the name of each image that was counted, with a NUL byte after it, for xargs
 * -0.
 */
#include "output/output.h"

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

static void render_print0(const void *state, const struct ih_result *result, FILE *bytes)
{
    (void)state;
    if (result->status == IH_OK && !result->is_total)
        fprintf(bytes, "%s%c", result->path, '\0');
}

const struct ih_output ih_output_check = {
    .name = "check",
    .title = "a line for each bad file",
    .failures_in = "",
    .state_bytes = sizeof(struct ih_output_state),
    .render = render_check,
    .put = ih_output_put_bytes,
};

const struct ih_output ih_output_print0 = {
    .name = "print0",
    .title = "names, with a NUL byte after each",
    .state_bytes = sizeof(struct ih_output_state),
    .render = render_print0,
    .put = ih_output_put_bytes,
};
