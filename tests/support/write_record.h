/* The columns of a run without options, and the record of a result, written as the program does. */
#ifndef IH_TESTS_WRITE_RECORD_H
#define IH_TESTS_WRITE_RECORD_H

#include "output/output.h"

#include <stdlib.h>

/* The columns without chosen percentiles and distances. */
static inline const struct ih_columns *plain_columns(void)
{
    static struct ih_columns columns;
    ih_columns_arrange(&columns, IH_AGAINST | IH_OF_COPIES);
    return &columns;
}

/* Renders the record, and puts it into the output. False: out of memory. */
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
