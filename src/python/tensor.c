/*
 * Tensors: arrays of any library through the buffer protocol, __array_interface__, DLPack and
 * __cuda_array_interface__. Nothing is copied and no library is imported.
 *
 * Sources: https://numpy.org/doc/stable/reference/arrays.interface.html (version 3),
 * https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html (version 3), and
 * https://dmlc.github.io/dlpack/latest/c_api.html (0.8, whose layout later versions keep for
 * capsules named "dltensor").
 */
#include "module.h"

#include <string.h>

/* Whether an object has an attribute. That of its type is not asked for its value, which may be
 * expensive: Pillow copies all pixels. */
static bool has(PyObject *object, const char *name)
{
    return py_has((PyObject *)Py_TYPE(object), name) || py_has(object, name);
}

bool py_tensor_is_one(PyObject *object)
{
    return PyObject_CheckBuffer(object) || has(object, "__array_interface__") ||
           has(object, "__dlpack__") || has(object, "__cuda_array_interface__");
}

static bool refuse(const char *why)
{
    PyErr_SetString(PyExc_ValueError, why);
    return false;
}

static bool is_native(char order)
{
    const uint16_t one = 1;
    const bool is_little = *(const uint8_t *)&one == 1;
    return is_little ? order != '>' && order != '!' : order != '<';
}

static void set_kind(struct py_tensor *t, char kind, bool has_native_order)
{
    t->kind = has_native_order ? kind : '?';
    t->swapped_kind = (char)(has_native_order ? 0 : kind);
}

/* Checks the shape and fills in the strides of an array in C order. */
static bool check_shape(struct py_tensor *t)
{
    Py_ssize_t step = t->bits / 8;
    for (int i = t->n_dimensions - 1; i >= 0; i--) {
        const Py_ssize_t n = t->shape[i];
        if (n < 0 || (n > 0 && step > PY_SSIZE_T_MAX / n))
            return refuse("shape: not that of an array in memory");
        t->strides[i] = step;
        step *= n ? n : 1;
    }
    return true;
}

static bool check_dimensions(int n_dimensions)
{
    if (n_dimensions >= 1 && n_dimensions <= PY_DIMENSIONS_MAX)
        return true;
    PyErr_Format(PyExc_ValueError, "an array of %d dimensions: pixels have 2 or 3, batches 3 or 4",
                 n_dimensions);
    return false;
}

/* ---- the buffer protocol ---- */

static bool open_buffer(struct py_tensor *t, PyObject *object, bool is_written)
{
    if (PyObject_GetBuffer(object, &t->view, is_written ? PyBUF_RECORDS : PyBUF_RECORDS_RO) < 0)
        return false;
    const Py_buffer *v = &t->view;
    const char *format = v->format ? v->format : "B";
    const bool has_order = *format && strchr("@=<>!", *format);
    const char *type = has_order ? format + 1 : format;
    const bool is_one = *type && !type[1];
    set_kind(t,
             is_one && strchr("BHILQNc", *type)  ? 'u'
             : is_one && strchr("bhilqn", *type) ? 'i'
             : is_one && strchr("efd", *type)    ? 'f'
             : is_one && *type == '?'            ? 'b'
                                                 : '?',
             v->itemsize == 1 || !has_order || is_native(*format));
    t->bits = (unsigned)v->itemsize * 8;
    t->data = v->buf;
    if (!check_dimensions(v->ndim) || !v->shape)
        return PyErr_Occurred() ? false : refuse("a buffer without a shape");
    t->n_dimensions = v->ndim;
    memcpy(t->shape, v->shape, sizeof *v->shape * (size_t)v->ndim);
    if (!check_shape(t))
        return false;
    if (v->strides) /* ctypes leaves them out, though they were asked for */
        memcpy(t->strides, v->strides, sizeof *v->strides * (size_t)v->ndim);
    return true;
}

/* ---- __array_interface__ and __cuda_array_interface__ ---- */

/* Reads a tuple of integers. Returns their number, -1 on an error. */
static int read_tuple(PyObject *tuple, Py_ssize_t *numbers, const char *what)
{
    const Py_ssize_t n = tuple && PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (n < 1 || n > PY_DIMENSIONS_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: must be a tuple of 2 to 4 integers", what);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        numbers[i] = PyNumber_AsSsize_t(PyTuple_GetItem(tuple, i), PyExc_OverflowError);
        if (numbers[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return (int)n;
}

/* typestr: byte order, kind and bytes, "|u1". */
static bool read_type(struct py_tensor *t, PyObject *type)
{
    PyObject *ascii = type && PyUnicode_Check(type) ? PyUnicode_AsASCIIString(type) : NULL;
    const char *text = ascii ? PyBytes_AsString(ascii) : "";
    const bool is_type = strlen(text) == 3 && strchr("1248", text[2]);
    if (is_type) {
        t->bits = 8u * (unsigned)(text[2] - '0');
        set_kind(t, (char)(strchr("uifb", text[1]) ? text[1] : '?'),
                 t->bits == 8 || is_native(text[0]));
    }
    Py_XDECREF(ascii);
    return is_type || PyErr_Occurred() ? is_type : refuse("typestr: not that of numbers");
}

/* data: (address, is_read_only), or in host memory an object with a buffer, and where in it. */
static bool read_data(struct py_tensor *t, PyObject *data, PyObject *offset, bool has_strides,
                      bool is_written)
{
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2) {
        t->data = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
        if (is_written && PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1)
            return refuse("the array is read-only");
        return !PyErr_Occurred();
    }
    /* In a buffer, it is not known where strides start. */
    if (!data || data == Py_None || has_strides || t->is_on_gpu || is_written)
        return refuse("__array_interface__ without an address in data");
    if (PyObject_GetBuffer(data, &t->view, PyBUF_SIMPLE) < 0)
        return false;
    const Py_ssize_t start = offset ? PyNumber_AsSsize_t(offset, PyExc_OverflowError) : 0;
    if (start == -1 && PyErr_Occurred())
        return false;
    Py_ssize_t size = t->bits / 8;
    for (int i = 0; i < t->n_dimensions; i++)
        size *= t->shape[i]; /* no overflow: see check_shape */
    if (start < 0 || start > t->view.len || size > t->view.len - start)
        return refuse("__array_interface__: data is smaller than the shape");
    t->data = (const uint8_t *)t->view.buf + start;
    return true;
}

static bool open_interface(struct py_tensor *t, PyObject *object, const char *name, bool is_written)
{
    PyObject *interface = PyObject_GetAttrString(object, name);
    if (interface)
        t->held = PyTuple_Pack(2, interface, object); /* the dict may not own the memory */
    Py_XDECREF(interface);
    if (!t->held)
        return false;
    if (!PyDict_Check(interface))
        return PyErr_Format(PyExc_TypeError, "%s is not a dict", name), false;
    PyObject *mask = PyDict_GetItemString(interface, "mask");
    if (mask && mask != Py_None)
        return refuse("a mask in an array interface: count the array without it");
    PyObject *strides = PyDict_GetItemString(interface, "strides");
    const bool has_strides = strides && strides != Py_None;
    if (!read_type(t, PyDict_GetItemString(interface, "typestr")))
        return false;
    t->n_dimensions = read_tuple(PyDict_GetItemString(interface, "shape"), t->shape, "shape");
    if (t->n_dimensions < 0 || !check_shape(t))
        return false;
    if (has_strides && read_tuple(strides, t->strides, "strides") != t->n_dimensions)
        return PyErr_Occurred() ? false : refuse("shape and strides differ in length");
    return read_data(t, PyDict_GetItemString(interface, "data"),
                     PyDict_GetItemString(interface, "offset"), has_strides, is_written);
}

/* ---- DLPack ---- */

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
static const char dl_kinds[] = "iuf?B?b"; /* by the code of the type */

struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t n_dimensions;
    uint8_t type_code, type_bits;
    uint16_t type_lanes;
    const int64_t *shape, *strides; /* strides are in elements; NULL: C order */
    uint64_t offset_bytes;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *user;
    void (*deleter)(struct dl_managed *self);
};

static bool read_tensor(struct py_tensor *t, const struct dl_tensor *from)
{
    const Py_ssize_t most = PY_SSIZE_T_MAX / 2;
    if (!check_dimensions(from->n_dimensions))
        return false;
    if (from->type_lanes != 1 || from->type_bits % 8 != 0 || from->type_bits > 64)
        return refuse("DLPack: not an array of plain numbers");
    t->bits = from->type_bits;
    t->kind = from->type_code < sizeof dl_kinds - 1 ? dl_kinds[from->type_code] : '?';
    t->n_dimensions = from->n_dimensions;
    for (int i = 0; i < t->n_dimensions; i++) {
        if (from->shape[i] > most)
            return refuse("shape: not that of an array in memory");
        t->shape[i] = (Py_ssize_t)from->shape[i];
    }
    if (!check_shape(t))
        return false;
    for (int i = 0; from->strides && i < t->n_dimensions; i++) {
        const int64_t step = from->strides[i];
        if (step > most / 8 || step < -most / 8)
            return refuse("strides: not those of an array in memory");
        t->strides[i] = (Py_ssize_t)step * (Py_ssize_t)(t->bits / 8);
    }
    const uint8_t *data = from->data;
    t->data = data ? data + from->offset_bytes : NULL;
    return true;
}

/* Takes the tensor out of the capsule, whose name then says that it is used. */
static bool open_capsule(struct py_tensor *t, PyObject *capsule)
{
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return refuse("DLPack: the capsule is used up, or not named \"dltensor\"");
    struct dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (!managed || PyCapsule_SetName(capsule, "used_dltensor") < 0)
        return false;
    t->managed = managed;
    const int type = managed->tensor.device_type;
    t->is_on_gpu = type == DL_CUDA || type == DL_CUDA_MANAGED;
    if (!t->is_on_gpu && type != DL_CPU && type != DL_CUDA_HOST)
        return refuse("the array is neither in host memory nor on a CUDA device");
    return read_tensor(t, &managed->tensor);
}

static bool open_dlpack(struct py_tensor *t, PyObject *object, PyObject *stream)
{
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    int type = 0, id = 0;
    const bool has_device = device && PyArg_Parse(device, "(ii);__dlpack_device__", &type, &id);
    Py_XDECREF(device);
    if (!has_device)
        return false;
    t->is_on_gpu = type == DL_CUDA || type == DL_CUDA_MANAGED;
    if (!t->is_on_gpu && type != DL_CPU && type != DL_CUDA_HOST)
        return refuse("the array is neither in host memory nor on a CUDA device");
    if (t->is_on_gpu && !stream)
        return true;
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *none = PyTuple_New(0);
    PyObject *keywords = t->is_on_gpu ? Py_BuildValue("{sO}", "stream", stream) : NULL;
    PyObject *capsule = method && none && (keywords || !t->is_on_gpu)
                            ? PyObject_Call(method, none, keywords)
                            : NULL;
    const bool is_on_gpu = t->is_on_gpu;
    const bool is_open = capsule && open_capsule(t, capsule);
    Py_XDECREF(capsule);
    Py_XDECREF(keywords);
    Py_XDECREF(none);
    Py_XDECREF(method);
    if (is_open && t->is_on_gpu != is_on_gpu)
        return refuse("DLPack: the tensor is not where __dlpack_device__ says");
    return is_open;
}

/* ---- tensors ---- */

/* Masked arrays of NumPy and arrays of CuPy are classes of Python. Only these are asked for
 * attributes: a look-up that fails takes as long as counting 1,000 pixels. */
static bool is_class(PyObject *object)
{
    return (PyType_GetFlags(Py_TYPE(object)) & Py_TPFLAGS_HEAPTYPE) != 0;
}

bool py_tensor_is_masked(PyObject *object)
{
    return is_class(object) && py_has((PyObject *)Py_TYPE(object), "filled") && has(object, "mask");
}

bool py_tensor_open(struct py_tensor *t, PyObject *object, PyObject *stream, bool is_written)
{
    memset(t, 0, sizeof *t);
    bool is_open = false;
    const bool is_masked = py_tensor_is_masked(object);
    /* A CuPy array has a buffer, too, and refuses to give it. */
    const bool has_buffer = PyObject_CheckBuffer(object) &&
                            !(is_class(object) && py_has(object, "__cuda_array_interface__"));
    if (PyErr_Occurred())
        return false;
    if (is_masked) {
        PyErr_SetString(PyExc_TypeError,
                        "a masked array: pass its .data, or its .filled(), instead");
    } else if (PyCapsule_CheckExact(object)) {
        is_open = open_capsule(t, object);
    } else if (has_buffer) {
        is_open = open_buffer(t, object, is_written);
    } else if (has(object, "__array_interface__")) {
        is_open = open_interface(t, object, "__array_interface__", is_written);
    } else if (has(object, "__dlpack__")) {
        is_open = open_dlpack(t, object, stream);
    } else if (has(object, "__cuda_array_interface__")) {
        t->is_on_gpu = true;
        is_open = !stream || open_interface(t, object, "__cuda_array_interface__", is_written);
    } else if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%R is no array", (PyObject *)Py_TYPE(object));
    }
    if (!is_open)
        py_tensor_close(t);
    return is_open;
}

void py_tensor_close(struct py_tensor *t)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct dl_managed *managed = t->managed;
    if (managed && managed->deleter)
        managed->deleter(managed);
    if (t->view.obj)
        PyBuffer_Release(&t->view);
    Py_CLEAR(t->held);
    memset(t, 0, sizeof *t);
    PyErr_Restore(type, value, traceback);
}
