/* The module imghist._imghist: its types, its functions, and exceptions. */
#include "module.h"

#include <string.h>

PyObject *py_new(PyTypeObject *type)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return alloc(type, 0);
}

void py_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- exceptions ---- */

static const char *status_name(enum ih_status status)
{
    static const char *const names[] = {
        [IH_OK] = "ok",         [IH_USAGE] = "usage",       [IH_UNAVAILABLE] = "unavailable",
        [IH_IO] = "io",         [IH_UNKNOWN] = "unknown",   [IH_CORRUPT] = "corrupt",
        [IH_LIMIT] = "limit",   [IH_MEMORY] = "memory",     [IH_UNSUPPORTED] = "unsupported",
        [IH_DEVICE] = "device", [IH_CONFLICT] = "conflict",
    };
    return (size_t)status < sizeof names / sizeof names[0] ? names[status] : "unknown";
}

PyObject *py_error_new(struct py_state *state, const struct ih_error *err, PyObject *source)
{
    PyObject *type = err->status == IH_USAGE    ? PyExc_ValueError
                     : err->status == IH_MEMORY ? PyExc_MemoryError
                                                : state->error;
    PyObject *text =
        PyUnicode_DecodeUTF8(err->message, (Py_ssize_t)strlen(err->message), "backslashreplace");
    if (text && source) {
        PyObject *why = text;
        text = PyUnicode_FromFormat("%U: %U", source, why);
        Py_DECREF(why);
    }
    PyObject *error = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
    Py_XDECREF(text);
    if (!error)
        return NULL;
    PyObject *name = PyUnicode_FromString(status_name(err->status));
    if (!name || PyObject_SetAttrString(error, "status", name) < 0 ||
        PyObject_SetAttrString(error, "source", source ? source : Py_None) < 0)
        Py_CLEAR(error);
    Py_XDECREF(name);
    return error;
}

PyObject *py_error_raise(struct py_state *state, const struct ih_error *err, PyObject *source)
{
    PyObject *error = py_error_new(state, err, source);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return NULL;
}

PyObject *py_exception_take(bool keeps_traceback)
{
    PyObject *type, *exception, *traceback;
    PyErr_Fetch(&type, &exception, &traceback);
    PyErr_NormalizeException(&type, &exception, &traceback);
    if (exception && traceback && keeps_traceback)
        PyException_SetTraceback(exception, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return exception;
}

bool py_has(PyObject *object, const char *name)
{
    if (PyErr_Occurred())
        return false;
    PyObject *found = PyObject_GetAttrString(object, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    Py_XDECREF(found);
    return found != NULL;
}

PyObject *py_delegate(const char *module, const char *function, PyObject *arguments,
                      PyObject *keywords)
{
    PyObject *found = arguments ? PyImport_ImportModule(module) : NULL;
    PyObject *called = found ? PyObject_GetAttrString(found, function) : NULL;
    PyObject *result = called ? PyObject_Call(called, arguments, keywords) : NULL;
    Py_XDECREF(called);
    Py_XDECREF(found);
    Py_XDECREF(arguments);
    return result;
}

/* ---- the module ---- */

static PyObject *cores(PyObject *module, PyObject *arguments)
{
    (void)module, (void)arguments;
    return PyLong_FromUnsignedLong(ih_cores());
}

static PyObject *is_image_name(PyObject *module, PyObject *path)
{
    PyObject *bytes;
    (void)module;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    const bool is_image = ih_is_image_name(PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    return PyBool_FromLong(is_image);
}

static PyMethodDef functions[] = {
    {"cores", cores, METH_NOARGS, "cores() -> int: threads that can run at once."},
    {"count_labels", py_count_labels, METH_VARARGS, "See imghist.count."},
    {"iterate", py_iterate, METH_VARARGS, "See imghist.Context.count_many."},
    {"walk", py_walk, METH_VARARGS, "See imghist.Context.scan."},
    {"is_image_name", is_image_name, METH_O, "Whether a name ends as those of images do."},
    {"load", py_load, METH_VARARGS, "See imghist.Counts.from_bytes."},
    {"batch", py_batch, METH_VARARGS, "See imghist.count_batch."},
    {"failures", py_failures, METH_O, "See imghist.total."},
    {"ndjson", py_ndjson, METH_VARARGS, "See imghist.ndjson."},
    {"chart", py_chart, METH_VARARGS, "See imghist.Counts.chart."},
    {"arrow_stream", py_arrow_stream, METH_VARARGS, "See imghist.Table."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, type) < 0)
        Py_CLEAR(type);
    return type;
}

/* NumPy would add to the bins: Counts have a buffer. The type is immutable for PyObject_SetAttr,
 * and slots and getters cannot give it the attribute itself. */
static int keep_from_ufuncs(PyTypeObject *type)
{
    PyObject *name = PyUnicode_FromString("__array_ufunc__");
    const int status = name ? PyObject_GenericSetAttr((PyObject *)type, name, Py_None) : -1;
    Py_XDECREF(name);
    return status;
}

static int execute(PyObject *module)
{
    struct py_state *state = PyModule_GetState(module);
    /* Before 3.12, PyGILState_Ensure enters the main interpreter whatever interpreter the thread is
     * in. */
    if (Py_Version < 0x030c0000 && PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "imghist in a subinterpreter needs Python 3.12 or later");
        return -1;
    }
    state->error = PyErr_NewExceptionWithDoc("imghist.Error",
                                             "An input could not be counted.\n\n"
                                             "status: 'io', 'unknown', 'corrupt', 'unsupported', "
                                             "'limit', 'unavailable' or 'device'; in\n"
                                             "        a table also 'usage', for wrong arguments.\n"
                                             "source: the path, the name of a pair, or None.",
                                             NULL, NULL);
    if (!state->error || PyModule_AddObjectRef(module, "Error", state->error) < 0 ||
        !py_stats_add(module, state) || !(state->counts = add_type(module, &py_counts_spec)) ||
        !(state->bins = add_type(module, &py_bins_spec)) ||
        !(state->context = add_type(module, &py_context_spec)) ||
        !(state->iterator = add_type(module, &py_iterator_spec)) ||
        keep_from_ufuncs(state->counts) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", ih_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct py_state *state = PyModule_GetState(module);
    Py_VISIT(state->error);
    Py_VISIT(state->stats);
    Py_VISIT(state->counts);
    Py_VISIT(state->bins);
    Py_VISIT(state->context);
    Py_VISIT(state->iterator);
    return 0;
}

static int clear(PyObject *module)
{
    struct py_state *state = PyModule_GetState(module);
    Py_CLEAR(state->error);
    Py_CLEAR(state->stats);
    Py_CLEAR(state->counts);
    Py_CLEAR(state->bins);
    Py_CLEAR(state->context);
    Py_CLEAR(state->iterator);
    return 0;
}

static void release(void *module)
{
    clear(module);
}

PyMODINIT_FUNC PyInit__imghist(void);

PyMODINIT_FUNC PyInit__imghist(void)
{
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};
    static struct PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "imghist._imghist",
        .m_doc = "The compiled part of imghist.",
        .m_size = sizeof(struct py_state),
        .m_methods = functions,
        .m_slots = slots,
        .m_traverse = traverse,
        .m_clear = clear,
        .m_free = release,
    };
    return PyModuleDef_Init(&definition);
}
