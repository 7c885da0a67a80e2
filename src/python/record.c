/* Records of result files, totals with failed inputs, and charts of Counts. */
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

PyObject *py_chart(PyObject *module, PyObject *arguments)
{
    PyObject *counts;
    struct ih_chart_settings s = {0};
    struct ih_error err;
    void *file = NULL;
    size_t size_bytes = 0;
    enum ih_status status;
    struct py_state *state = PyModule_GetState(module);
    if (!PyArg_ParseTuple(arguments, "O!ss(O&O&)sszs:chart", state->counts, &counts, &s.source,
                          &s.file_name, py_to_unsigned, &s.width, py_to_unsigned, &s.height,
                          &s.scale, &s.theme, &s.title, &s.scale_y))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status =
        ih_chart_write(py_counts_get(counts), &s, sizeof s, &file, &size_bytes, &err);
    Py_END_ALLOW_THREADS if (status != IH_OK) return py_error_raise(state, &err, NULL);
    PyObject *bytes = PyBytes_FromStringAndSize(file, (Py_ssize_t)size_bytes);
    free(file);
    return bytes;
}
