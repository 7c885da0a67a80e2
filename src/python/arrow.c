/*
 * A table as an Arrow stream: the structs of the Arrow C data and C stream interfaces, around
 * buffers that Python code makes (_table.py).
 *
 * Source: https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html. A
 * consumer may move each child away and release it from any thread, so every array holds its own
 * reference, and release functions take the GIL.
 */
#include "module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARROW_NULLABLE = 2, BUFFERS_MAX = 3 };

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

struct stream {
    PyObject *columns; /* owned: [(name, format, format of the list's values or None)] */
    PyObject *next;    /* owned: () -> (n_rows, [(null_count, buffers, values or None)]) or None */
    char error[256];
};

/* ---- schemas ---- */

static void release_schema(struct ArrowSchema *s)
{
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i] && s->children[i]->release)
            s->children[i]->release(s->children[i]);
        free(s->children[i]);
    }
    free(s->children);
    free(s->private_data); /* format and name */
    memset(s, 0, sizeof *s);
}

/* Fills in a schema without its children, which are allocated. Returns 0 or ENOMEM. */
static int make_schema(struct ArrowSchema *s, const char *name, const char *format,
                       int64_t n_children)
{
    const size_t n_name = strlen(name) + 1, n_format = strlen(format) + 1;
    char *texts = malloc(n_name + n_format);
    struct ArrowSchema **children = calloc((size_t)n_children + 1, sizeof(struct ArrowSchema *));
    *s = (struct ArrowSchema){.format = texts,
                              .flags = ARROW_NULLABLE,
                              .n_children = children ? n_children : 0,
                              .children = children,
                              .release = release_schema,
                              .private_data = texts};
    bool is_made = texts && children;
    for (int64_t i = 0; is_made && i < n_children; i++)
        is_made = (children[i] = calloc(1, sizeof **children)) != NULL;
    if (is_made) {
        memcpy(texts, format, n_format);
        s->name = memcpy(texts + n_format, name, n_name);
        return 0;
    }
    release_schema(s);
    return ENOMEM;
}

static int get_schema(struct ArrowArrayStream *arrow, struct ArrowSchema *out)
{
    struct stream *stream = arrow->private_data;
    PyGILState_STATE gil = PyGILState_Ensure();
    const Py_ssize_t n = PyList_Size(stream->columns);
    int status = make_schema(out, "", "+s", n);
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        const char *name, *format, *values;
        if (!PyArg_ParseTuple(PyList_GetItem(stream->columns, i), "ssz", &name, &format, &values))
            status = EINVAL;
        else
            status = make_schema(out->children[i], name, format, values ? 1 : 0);
        if (status == 0 && values)
            status = make_schema(out->children[i]->children[0], "item", values, 0);
        if (status != 0)
            release_schema(out);
    }
    PyErr_Clear();
    PyGILState_Release(gil);
    return status;
}

/* ---- arrays ---- */

struct owner {
    PyObject *buffers; /* owned */
    const void *addresses[BUFFERS_MAX];
};

static void release_array(struct ArrowArray *a)
{
    struct owner *owner = a->private_data;
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i] && a->children[i]->release)
            a->children[i]->release(a->children[i]);
        free(a->children[i]);
    }
    free(a->children);
    if (owner && owner->buffers && Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(owner->buffers);
        PyGILState_Release(gil);
    }
    free(owner);
    memset(a, 0, sizeof *a);
}

/* Fills in an array without its children, which are allocated. buffers: a list of bytes or None,
 * borrowed. */
static int make_array(struct ArrowArray *a, int64_t n_rows, int64_t n_nulls, PyObject *buffers,
                      int64_t n_children)
{
    const Py_ssize_t n_buffers = PyList_Size(buffers);
    struct owner *owner = calloc(1, sizeof *owner);
    struct ArrowArray **children = calloc((size_t)n_children + 1, sizeof(struct ArrowArray *));
    *a = (struct ArrowArray){.length = n_rows,
                             .null_count = n_nulls,
                             .n_buffers = n_buffers,
                             .n_children = children ? n_children : 0,
                             .buffers = owner ? owner->addresses : NULL,
                             .children = children,
                             .release = release_array,
                             .private_data = owner};
    bool is_made = owner && children && n_buffers >= 0 && n_buffers <= BUFFERS_MAX;
    for (int64_t i = 0; is_made && i < n_children; i++)
        is_made = (children[i] = calloc(1, sizeof **children)) != NULL;
    for (Py_ssize_t i = 0; is_made && i < n_buffers; i++) {
        PyObject *bytes = PyList_GetItem(buffers, i);
        if (bytes != Py_None)
            is_made = (owner->addresses[i] = PyBytes_AsString(bytes)) != NULL;
    }
    if (is_made) {
        owner->buffers = Py_NewRef(buffers);
        return 0;
    }
    release_array(a);
    return ENOMEM;
}

/* The uint64 of all lists of a column. values: [None, bytes]. */
static int make_list(struct ArrowArray *a, PyObject *values)
{
    PyObject *bytes = PyList_Check(values) ? PyList_GetItem(values, 1) : NULL;
    const Py_ssize_t n_bytes = bytes ? PyBytes_Size(bytes) : -1;
    return n_bytes < 0 ? EINVAL : make_array(a, n_bytes / 8, 0, values, 0);
}

/* A batch of rows, from what Python code made. */
static int make_batch(struct ArrowArray *out, PyObject *batch)
{
    PyObject *columns, *none = PyList_New(0);
    Py_ssize_t n_rows;
    if (!none || PyList_Append(none, Py_None) < 0 ||
        !PyArg_ParseTuple(batch, "nO!", &n_rows, &PyList_Type, &columns)) {
        Py_XDECREF(none);
        return EINVAL;
    }
    const Py_ssize_t n = PyList_Size(columns);
    int status = make_array(out, n_rows, 0, none, n);
    for (Py_ssize_t i = 0; status == 0 && i < n; i++) {
        PyObject *buffers, *values;
        Py_ssize_t n_nulls;
        if (!PyArg_ParseTuple(PyList_GetItem(columns, i), "nO!O", &n_nulls, &PyList_Type, &buffers,
                              &values))
            status = EINVAL;
        else
            status = make_array(out->children[i], n_rows, n_nulls, buffers, values != Py_None);
        if (status == 0 && values != Py_None)
            status = make_list(out->children[i]->children[0], values);
        if (status != 0)
            release_array(out);
    }
    Py_DECREF(none);
    return status;
}

static void keep_error(struct stream *stream)
{
    PyObject *value = py_exception_take(false);
    PyObject *text = value ? PyUnicode_FromFormat("%R", value) : NULL;
    PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "replace") : NULL;
    snprintf(stream->error, sizeof stream->error, "%s",
             bytes ? PyBytes_AsString(bytes) : "cannot make the table");
    const bool is_interrupt = value && PyErr_GivenExceptionMatches(value, PyExc_KeyboardInterrupt);
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    Py_XDECREF(value);
    PyErr_Clear();
    if (is_interrupt)
        PyErr_SetInterrupt(); /* raised soon: the consumer knows only the text */
}

static int get_next(struct ArrowArrayStream *arrow, struct ArrowArray *out)
{
    struct stream *stream = arrow->private_data;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *batch = PyObject_CallNoArgs(stream->next);
    int status = batch ? 0 : EIO;
    memset(out, 0, sizeof *out); /* the end of the stream */
    if (batch && batch != Py_None)
        status = make_batch(out, batch);
    if (status != 0)
        keep_error(stream);
    Py_XDECREF(batch);
    PyGILState_Release(gil);
    return status;
}

static const char *get_last_error(struct ArrowArrayStream *arrow)
{
    const struct stream *stream = arrow->private_data;
    return stream->error;
}

static void release_stream(struct ArrowArrayStream *arrow)
{
    struct stream *stream = arrow->private_data;
    if (Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(stream->columns);
        Py_DECREF(stream->next);
        PyGILState_Release(gil);
    }
    free(stream);
    memset(arrow, 0, sizeof *arrow);
}

/* ---- the capsule ---- */

static void release_capsule(PyObject *capsule)
{
    struct ArrowArrayStream *arrow = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (arrow && arrow->release) /* no consumer has moved it away */
        arrow->release(arrow);
    free(arrow);
}

PyObject *py_arrow_stream(PyObject *module, PyObject *arguments)
{
    PyObject *columns, *next;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O:arrow_stream", &PyList_Type, &columns, &next))
        return NULL;
    struct ArrowArrayStream *arrow = calloc(1, sizeof *arrow);
    struct stream *stream = calloc(1, sizeof *stream);
    if (!arrow || !stream) {
        free(stream);
        free(arrow);
        return PyErr_NoMemory();
    }
    stream->columns = Py_NewRef(columns);
    stream->next = Py_NewRef(next);
    *arrow =
        (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, stream};
    PyObject *capsule = PyCapsule_New(arrow, "arrow_array_stream", release_capsule);
    if (!capsule) {
        release_stream(arrow);
        free(arrow);
    }
    return capsule;
}
