/* Charts of Counts. */
#include "module.h"

#include <stdlib.h>

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
