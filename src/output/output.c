/* The table of outputs. */
#include "output/output.h"

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
