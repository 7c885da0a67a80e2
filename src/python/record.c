/* Records of result files, and totals with failed inputs: what the program writes and merges. */
#include "module.h"

#include "histogram/saved.h"
#include "histogram/total.h"
#include "output/output.h"

#include <stdlib.h>

/* ---- totals ---- */

PyObject *py_failures(PyObject *module, PyObject *number)
{
    struct ih_total total;
    struct ih_result result;
    struct ih_counts *counts = NULL;
    struct ih_error err;
    uint8_t bytes[IH_SAVED_BYTES_MAX];
    const unsigned long long n = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    ih_total_init(&total, &ih_luma_bt709, 0, IH_BINS - 1);
    total.n_failed = n;
    ih_total_result(&total, &result);
    const size_t size_bytes = ih_result_save(&result, bytes, sizeof bytes);
    enum ih_status status = ih_counts_open(&counts, &err);
    if (status == IH_OK)
        status = ih_counts_load(counts, bytes, size_bytes, &err);
    if (status == IH_OK)
        return py_counts_new(PyModule_GetState(module), counts, NULL);
    ih_counts_close(counts);
    return py_error_raise(PyModule_GetState(module), &err, NULL);
}

/* ---- records ---- */

static PyObject *write_line(const struct ih_result *result)
{
    const struct ih_output *output = &ih_output_ndjson;
    char *line = NULL;
    size_t size_bytes = 0;
    void *state = NULL;
    FILE *stream = open_memstream(&line, &size_bytes);
    if (!stream)
        return PyErr_NoMemory();
    bool is_written = output->begin(stream, &(struct ih_output_options){0}, &state, NULL) == IH_OK;
    if (is_written) {
        output->record(state, result);
        output->end(state);
        output->close(state);
        is_written = !ferror(stream);
    }
    is_written = fclose(stream) == 0 && is_written;
    PyObject *bytes =
        is_written ? PyBytes_FromStringAndSize(line, (Py_ssize_t)size_bytes) : PyErr_NoMemory();
    free(line);
    return bytes;
}

/* Saved counts hold all that a record tells, except its name. */
static bool load_result(struct py_state *state, const struct ih_counts *counts,
                        struct ih_result *result, struct ih_saved_texts *texts)
{
    uint8_t bytes[IH_SAVED_BYTES_MAX];
    struct ih_error err;
    bool is_empty;
    const size_t size_bytes = ih_counts_save(counts, bytes, sizeof bytes);
    if (ih_result_load(bytes, size_bytes, result, &is_empty, texts, &err) != IH_OK)
        return py_error_raise(state, &err, NULL), false;
    if (is_empty)
        PyErr_SetString(PyExc_ValueError, "ndjson: the counts are empty");
    return !is_empty;
}

PyObject *py_ndjson(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    struct ih_result result = {0};
    struct ih_saved_texts texts;
    PyObject *counts;
    const char *file, *error, *folder;
    if (!PyArg_ParseTuple(arguments, "yOyy:ndjson", &file, &counts, &error, &folder))
        return NULL;
    const bool is_error = *error;
    if (is_error)
        ih_error_set(&result.error, IH_CORRUPT, "%s", error);
    else if (!PyObject_TypeCheck(counts, state->counts))
        return PyErr_Format(PyExc_TypeError, "ndjson: %R is no result",
                            (PyObject *)Py_TYPE(counts));
    else if (!load_result(state, py_counts_get(counts), &result, &texts))
        return NULL;
    result.status = is_error ? IH_CORRUPT : IH_OK;
    result.path = result.is_total ? IH_TOTAL_NAME : file;
    result.folder = folder;
    return write_line(&result);
}
