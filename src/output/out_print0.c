/* --print0: the name of each image that was counted, with a NUL byte after it, for xargs -0. */
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
    if (result->status != IH_OK || result->is_total)
        return;
    fputs(result->path, state);
    putc('\0', state);
}

const struct ih_output ih_output_print0 = {
    .name = "print0",
    .title = "names, with a NUL byte after each",
    .omits_total = true,
    .begin = begin,
    .record = record,
    .end = ih_output_end_nothing,
    .close = ih_output_end_nothing,
};
