/* Renders the record of a result, and puts it into the output, as the program does. */
#ifndef IH_TESTS_WRITE_RECORD_H
#define IH_TESTS_WRITE_RECORD_H

#include "output/output.h"

#include <stdlib.h>

/* False: out of memory. */
static inline bool write_record(const struct ih_output *output, void *state,
                                const struct ih_result *result)
{
    char *bytes = NULL;
    size_t n;
    FILE *memory = open_memstream(&bytes, &n);
    if (!memory)
        return false;
    output->render(state, result, memory);
    const bool is_whole = fclose(memory) == 0 && bytes;
    if (is_whole)
        output->put(state, result, bytes, n);
    free(bytes);
    return is_whole;
}

#endif
