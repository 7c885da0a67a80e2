/* --check: a line for each input that failed, with its name and the reason, and nothing else. */
#include "base/text.h"
#include "output/output.h"

static enum ih_status begin(FILE *stream, const struct ih_output_options *options, void **state,
                            struct ih_error *err)
{
    (void)options, (void)err;
    *state = stream;
    return IH_OK;
}

static void record(void *state, const struct ih_result *result)
{
    char name[IH_ESCAPED_MAX], message[4 * IH_MESSAGE_MAX];
    if (result->status == IH_OK)
        return;
    ih_escape(name, sizeof name, *result->path ? result->path : "''");
    ih_escape(message, sizeof message, result->error.message);
    fprintf(state, "%s: %s\n", name, message);
}

const struct ih_output ih_output_check = {
    .name = "check",
    .title = "a line for each bad file",
    .omits_total = true,
    .failures_in = "",
    .begin = begin,
    .record = record,
    .end = ih_output_end_nothing,
    .close = ih_output_end_nothing,
};
