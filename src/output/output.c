/* The table of outputs. */
#include "output/output.h"

#include <stdlib.h>
#include <string.h>

const struct ih_output *const ih_outputs[] = {
#define OUTPUT(name) &ih_output_##name,
#include "output/outputs.def"
    NULL,
};

bool ih_output_holds_failures(const struct ih_output *output, const char *layout)
{
    const char *in = output->failures_in;
    return in && (*in == '\0' || (layout && strcmp(in, layout) == 0));
}

enum ih_status ih_output_open(const struct ih_output *output, FILE *stream,
                              const struct ih_output_options *options, void **state,
                              struct ih_error *err)
{
    struct ih_output_state *const s = calloc(1, output->state_bytes);
    if (!s)
        return ih_error_set(err, IH_MEMORY, "out of memory");
    s->stream = stream;
    s->options = *options;
    if (output->begin)
        output->begin(s);
    *state = s;
    return IH_OK;
}

void ih_output_close(const struct ih_output *output, void *state)
{
    if (state && output->close)
        output->close(state);
    free(state);
}
