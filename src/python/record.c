/* Records of result files, and totals with failed inputs: what the program writes and merges. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

PyObject *py_failures(PyObject *module, PyObject *number)
{
    struct ih_counts *counts = NULL;
    struct ih_error err;
    const unsigned long long n = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred())
        return NULL;
    if (ih_counts_open(&counts, &err) == IH_OK && ih_counts_set_failures(counts, n, &err) == IH_OK)
        return py_counts_new(PyModule_GetState(module), counts, NULL);
    ih_counts_close(counts);
    return py_error_raise(PyModule_GetState(module), &err, NULL);
}

PyObject *py_ndjson(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    struct ih_error reason = {.status = IH_CORRUPT}, err;
    struct ih_record record = {.path = NULL};
    PyObject *counts;
    const char *error;
    char *line = NULL;
    size_t n_bytes = 0;
    if (!PyArg_ParseTuple(arguments, "yOyy:ndjson", &record.path, &counts, &error, &record.folder))
        return NULL;
    if (*error) {
        strncat(reason.message, error, sizeof reason.message - 1);
        record.error = &reason;
    } else if (!PyObject_TypeCheck(counts, state->counts)) {
        return PyErr_Format(PyExc_TypeError, "ndjson: %R is no result",
                            (PyObject *)Py_TYPE(counts));
    }
    if (ih_record_write(*error ? NULL : py_counts_get(counts), &record, sizeof record, &line,
                        &n_bytes, &err) != IH_OK)
        return py_error_raise(state, &err, NULL);
    PyObject *bytes = PyBytes_FromStringAndSize(line, (Py_ssize_t)n_bytes);
    free(line);
    return bytes;
}
