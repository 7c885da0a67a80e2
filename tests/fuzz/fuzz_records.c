/* Result files of any bytes. A record that is given holds together, and its JSON is read again as
 * the same record. */
#include "tests/fuzz/promised.h"

#include "output/output.h"
#include "records/records.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Writes a result as NDJSON, with its place in the run. The caller frees *text. */
static void write_result(const struct ih_result *result, char **text, size_t *n)
{
    struct ih_columns columns = {0};
    const struct ih_output_options options = {.columns = &columns};
    void *state = NULL;
    FILE *f = open_memstream(text, n);
    ih_columns_arrange(&columns, IH_AGAINST | IH_OF_COPIES);
    if (!f || ih_output_open(&ih_output_ndjson, f, &options, &state, NULL) != IH_OK)
        exit(0);
    struct ih_result counted = *result;
    counted.is_read = false; /* a result that is read back has lost its place */
    ih_output_ndjson.render(state, &counted, f);
    ih_output_close(&ih_output_ndjson, state);
    fclose(f);
}

static void read_again(const struct ih_result *result)
{
    char *text = NULL, *again = NULL;
    size_t n, n_again;
    struct ih_reader src = {0};
    struct ih_records *records = NULL;
    const struct ih_result *copy = NULL;
    struct ih_error err;
    write_result(result, &text, &n);
    ih_reader_open_memory(&src, (const uint8_t *)text, n);
    if (ih_records_open(&src, &records, &err) != IH_OK)
        exit(0);
    PROMISED(ih_records_next(records, &copy, &err) == IH_OK && copy);
    write_result(copy, &again, &n_again);
    PROMISED(n == n_again && memcmp(text, again, n) == 0);
    ih_records_close(records);
    ih_reader_reset(&src);
    free(text);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct ih_reader src = {0};
    struct ih_records *records = NULL;
    const struct ih_result *result;
    struct ih_records_place place;
    uint64_t position[IH_PLACES];
    bool is_end;
    struct ih_error err;
    ih_reader_open_memory(&src, bytes, size);
    if (ih_records_open(&src, &records, &err) == IH_OK)
        while (ih_records_peek(records, &place, position, &is_end, &err) == IH_OK &&
               ih_records_next(records, &result, &err) == IH_OK && result)
            read_again(result);
    ih_records_close(records);
    ih_reader_reset(&src);
    return 0;
}
