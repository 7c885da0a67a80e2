/*
 * Outputs that only name inputs. --check: a line for each input that failed, with its name and the
 * reason. --print0: the name of each image that was counted, with a NUL byte after it, for xargs
 * -0.
 */
#include "base/text.h"
#include "output/output.h"

static enum ih_status names_begin(FILE *stream, const struct ih_output_options *options,
                                  void **state, struct ih_error *err)
{
    (void)options, (void)err;
    *state = stream;
    return IH_OK;
}

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

static void put_name(void *state, const struct ih_result *result, const char *bytes, size_t n)
{
    (void)result;
    fwrite(bytes, 1, n, state);
}

const struct ih_output ih_output_check = {
    .name = "check",
    .title = "a line for each bad file",
    .failures_in = "",
    .begin = names_begin,
    .render = render_check,
    .put = put_name,
    .end = ih_output_end_nothing,
    .close = ih_output_end_nothing,
};

const struct ih_output ih_output_print0 = {
    .name = "print0",
    .title = "names, with a NUL byte after each",
    .begin = names_begin,
    .render = render_print0,
    .put = put_name,
    .end = ih_output_end_nothing,
    .close = ih_output_end_nothing,
};
