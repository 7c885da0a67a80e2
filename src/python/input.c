/*
 * Inputs: paths, bytes, file objects, and arrays through the buffer protocol, __array_interface__
 * and DLPack. Arrays are never copied: strides go to the library as they are.
 *
 * Source of the DLPack structs: https://dmlc.github.io/dlpack/latest/c_api.html, version 0.8, whose
 * layout all later versions keep for capsules named "dltensor".
 */
#include "module.h"

#include <string.h>

enum { DIMENSIONS_MAX = 3 };

/* ---- layout ---- */

bool py_layout_parse(struct py_layout *layout, const char *letters, const char *order,
                     PyObject *range)
{
    memset(layout, 0, sizeof *layout);
    if (letters) {
        const size_t n = strlen(letters);
        bool is_valid = (n == 2 || n == 3) && strchr(letters, 'H') && strchr(letters, 'W') &&
                        (n == 2 || strchr(letters, 'C'));
        if (!is_valid) {
            PyErr_Format(PyExc_ValueError, "layout: '%s' is not 'HW', 'HWC' or 'CHW'", letters);
            return false;
        }
        memcpy(layout->letters, letters, n);
    }
    if (order && strcmp(order, "bgr") == 0) {
        layout->is_bgr = true;
    } else if (order && strcmp(order, "rgb") != 0) {
        PyErr_Format(PyExc_ValueError, "order: '%s' is not 'rgb' or 'bgr'", order);
        return false;
    }
    if (range && range != Py_None) {
        int low, high;
        if (!PyArg_Parse(range, "(ii);range: two integers, 0 <= low < high <= 65535", &low, &high))
            return false;
        if (low < 0 || high <= low || high > UINT16_MAX) {
            PyErr_Format(PyExc_ValueError,
                         "range: 0 <= low (%d) < high (%d) <= 65535 does not hold", low, high);
            return false;
        }
        layout->range_low = (unsigned)low;
        layout->range_high = (unsigned)high;
    }
    return true;
}

/* ---- arrays ---- */

/* Sets the array from its dimensions; strides are in bytes. */
static bool set_array(struct py_input *input, const void *data, unsigned depth, int n_dimensions,
                      const Py_ssize_t *shape, const Py_ssize_t *strides,
                      const struct py_layout *layout)
{
    struct ih_array *a = &input->array;
    const char *letters = layout->letters[0] ? layout->letters : n_dimensions == 2 ? "HW" : "HWC";
    if ((int)strlen(letters) != n_dimensions) {
        PyErr_Format(PyExc_ValueError,
                     "an array of %d dimensions is not %s: pixels have 2 or 3, layout says which; "
                     "a file in memory has 1 of uint8",
                     n_dimensions, letters);
        return false;
    }
    size_t n_samples = depth / 8;
    *a = (struct ih_array){.data = data,
                           .n_channels = 1,
                           .has_strides = 1,
                           .is_bgr = layout->is_bgr,
                           .depth = depth,
                           .range_low = layout->range_low,
                           .range_high = layout->range_high};
    for (int i = 0; i < n_dimensions; i++) {
        const uint64_t n = (uint64_t)shape[i];
        if (letters[i] == 'H') {
            a->height = n;
            a->row_stride_bytes = strides[i];
        } else if (letters[i] == 'W') {
            a->width = n;
            a->pixel_stride_bytes = strides[i];
        } else if (n < 1 || n > IH_CHANNELS_MAX) {
            PyErr_Format(PyExc_ValueError,
                         "%zd channels in layout %s: must be 1 to 4; is the layout %s?", shape[i],
                         letters, strcmp(letters, "CHW") == 0 ? "HWC" : "CHW");
            return false;
        } else {
            a->n_channels = (unsigned)n;
            a->channel_stride_bytes = strides[i];
        }
        n_samples *= (size_t)n; /* the caller holds memory of this size, or shape is invalid */
    }
    input->size_bytes = n_samples;
    input->kind = PY_INPUT_ARRAY;
    return true;
}

static bool refuse_type(const char *type)
{
    PyErr_Format(PyExc_TypeError,
                 "samples of type '%s': must be uint8, or uint16 in native byte order", type);
    return false;
}

static bool is_native(char order)
{
    const uint16_t one = 1;
    const bool is_little = *(const uint8_t *)&one == 1;
    return order != (is_little ? '>' : '<') && order != (is_little ? '!' : '<');
}

/* Bits per sample of a format of struct: "B", "<H". 0: another type. */
static unsigned format_depth(const char *format, Py_ssize_t item_bytes)
{
    const bool has_order = *format && strchr("@=<>!", *format);
    const char *type = has_order ? format + 1 : format;
    if (strcmp(type, "B") == 0 || strcmp(type, "c") == 0)
        return 8;
    if (strcmp(type, "H") == 0 && item_bytes == 2 && (!has_order || is_native(*format)))
        return 16;
    return 0;
}

/* Fills in C-contiguous strides, or leaves them if the shape has no pixels. */
static bool compact_strides(Py_ssize_t *strides, const Py_ssize_t *shape, int n_dimensions,
                            Py_ssize_t item_bytes)
{
    for (int i = n_dimensions - 1; i >= 0; i--) {
        if (shape[i] < 0 || (shape[i] > 0 && item_bytes > PY_SSIZE_T_MAX / shape[i])) {
            PyErr_SetString(PyExc_ValueError, "shape: not that of an array in memory");
            return false;
        }
        strides[i] = item_bytes;
        item_bytes *= shape[i] ? shape[i] : 1;
    }
    return true;
}

static bool open_buffer(struct py_input *input, PyObject *object, const struct py_layout *layout)
{
    Py_ssize_t compact[DIMENSIONS_MAX];
    if (PyObject_GetBuffer(object, &input->view, PyBUF_RECORDS_RO) < 0)
        return false;
    const Py_buffer *v = &input->view;
    const unsigned depth = format_depth(v->format ? v->format : "B", v->itemsize);
    const Py_ssize_t *strides = v->strides;
    if (!depth)
        return refuse_type(v->format);
    if (v->ndim < 1 || v->ndim > DIMENSIONS_MAX || !v->shape) {
        PyErr_Format(PyExc_ValueError, "a buffer of %d dimensions: pixels have 2 or 3", v->ndim);
        return false;
    }
    if (!strides) { /* ctypes leaves them out, though they were asked for */
        if (!compact_strides(compact, v->shape, v->ndim, v->itemsize))
            return false;
        strides = compact;
    }
    if (v->ndim == 1 && depth == 8 && !layout->letters[0]) {
        if (v->shape[0] > 1 && strides[0] != 1) {
            PyErr_SetString(PyExc_ValueError, "the bytes of a file must be contiguous");
            return false;
        }
        input->kind = PY_INPUT_BYTES;
        input->bytes = v->buf;
        input->size_bytes = (size_t)v->len;
        return true;
    }
    return set_array(input, v->buf, depth, v->ndim, v->shape, strides, layout);
}

/* Reads a tuple of up to DIMENSIONS_MAX integers. Returns their number, -1 on an error. */
static int read_tuple(PyObject *tuple, Py_ssize_t *numbers, const char *what)
{
    const Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (n < 0 || n > DIMENSIONS_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: must be a tuple of 2 or 3 integers", what);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        numbers[i] = PyNumber_AsSsize_t(PyTuple_GetItem(tuple, i), PyExc_OverflowError);
        if (numbers[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return (int)n;
}

/* The address that __array_interface__ gives: (address, is_read_only), or an object with a buffer.
 */
static bool interface_data(struct py_input *input, PyObject *data, Py_ssize_t needed_bytes,
                           const void **address)
{
    if (data && PyTuple_Check(data) && PyTuple_Size(data) == 2) {
        *address = PyLong_AsVoidPtr(PyTuple_GetItem(data, 0));
        return !PyErr_Occurred();
    }
    if (!data || data == Py_None) {
        PyErr_SetString(PyExc_ValueError, "__array_interface__ without data");
        return false;
    }
    if (PyObject_GetBuffer(data, &input->view, PyBUF_SIMPLE) < 0)
        return false;
    if (input->view.len < needed_bytes) {
        PyErr_SetString(PyExc_ValueError, "__array_interface__: data is smaller than the shape");
        return false;
    }
    *address = input->view.buf;
    return true;
}

static bool open_interface(struct py_input *input, PyObject *interface,
                           const struct py_layout *layout)
{
    Py_ssize_t shape[DIMENSIONS_MAX] = {0}, strides[DIMENSIONS_MAX] = {0};
    if (!PyDict_Check(interface)) {
        PyErr_SetString(PyExc_TypeError, "__array_interface__ is not a dict");
        return false;
    }
    PyObject *type = PyDict_GetItemString(interface, "typestr");
    PyObject *shapes = PyDict_GetItemString(interface, "shape");
    PyObject *steps = PyDict_GetItemString(interface, "strides");
    PyObject *data = PyDict_GetItemString(interface, "data");
    PyObject *name = type && PyUnicode_Check(type) ? PyUnicode_AsASCIIString(type) : NULL;
    if (!name || !shapes) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "__array_interface__ without typestr or shape");
        Py_XDECREF(name);
        return false;
    }
    const char *text = PyBytes_AsString(name);
    const unsigned depth = strcmp(text + (*text != 0), "u1") == 0                       ? 8
                           : strcmp(text + (*text != 0), "u2") == 0 && is_native(*text) ? 16
                                                                                        : 0;
    bool is_open = depth || refuse_type(text);
    Py_DECREF(name);
    const int n = is_open ? read_tuple(shapes, shape, "shape") : -1;
    is_open = n >= 0 && compact_strides(strides, shape, n, depth / 8);
    const Py_ssize_t needed = is_open && n > 0 ? strides[0] * shape[0] : 0;
    const bool has_strides = steps && steps != Py_None;
    /* A buffer has no known place for strides to start from, so its samples are contiguous. */
    if (is_open && has_strides && !(data && PyTuple_Check(data))) {
        PyErr_SetString(PyExc_ValueError,
                        "__array_interface__ with strides and without an address");
        is_open = false;
    }
    if (is_open && has_strides && read_tuple(steps, strides, "strides") != n) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "__array_interface__: shape and strides differ");
        is_open = false;
    }
    const void *address = NULL;
    return is_open && interface_data(input, data, needed, &address) &&
           set_array(input, address, depth, n, shape, strides, layout);
}

/* ---- DLPack ---- */

enum { DL_CPU = 1, DL_CUDA_HOST = 3, DL_UINT = 1 };

struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t n_dimensions;
    uint8_t type_code, type_bits;
    uint16_t type_lanes;
    const int64_t *shape, *strides; /* strides are in elements; NULL: compact */
    uint64_t offset_bytes;
};

struct dl_managed {
    struct dl_tensor tensor;
    void *user;
    void (*deleter)(struct dl_managed *self);
};

static bool set_tensor(struct py_input *input, const struct dl_tensor *t,
                       const struct py_layout *layout)
{
    Py_ssize_t shape[DIMENSIONS_MAX] = {0}, strides[DIMENSIONS_MAX] = {0};
    const int n = t->n_dimensions;
    const unsigned depth = t->type_bits;
    if (t->device_type != DL_CPU && t->device_type != DL_CUDA_HOST) {
        PyErr_SetString(PyExc_ValueError, "the pixels are in GPU memory: use imghist.count_batch");
        return false;
    }
    if (t->type_code != DL_UINT || t->type_lanes != 1 || (depth != 8 && depth != 16))
        return refuse_type("DLPack");
    if (n < 1 || n > DIMENSIONS_MAX) {
        PyErr_Format(PyExc_ValueError, "an array of %d dimensions: pixels have 2 or 3", n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (t->shape[i] > PY_SSIZE_T_MAX)
            return PyErr_SetString(PyExc_ValueError, "shape: not that of an array"), false;
        shape[i] = (Py_ssize_t)t->shape[i];
    }
    if (!compact_strides(strides, shape, n, depth / 8))
        return false;
    for (int i = 0; t->strides && i < n; i++) {
        const int64_t step = t->strides[i], most = PY_SSIZE_T_MAX / 2;
        if (step > most || step < -most)
            return PyErr_SetString(PyExc_ValueError, "strides: not those of an array"), false;
        strides[i] = (Py_ssize_t)step * (Py_ssize_t)(depth / 8);
    }
    const uint8_t *data = t->data;
    return set_array(input, data ? data + t->offset_bytes : NULL, depth, n, shape, strides, layout);
}

/* Takes the tensor out of the capsule, whose name then says that it is used. */
static bool open_tensor(struct py_input *input, PyObject *object, const struct py_layout *layout)
{
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    int type = 0, id = 0;
    const bool has_device = device && PyArg_Parse(device, "(ii);__dlpack_device__", &type, &id);
    Py_XDECREF(device);
    if (!has_device)
        return false;
    if (type != DL_CPU && type != DL_CUDA_HOST) {
        PyErr_SetString(PyExc_ValueError, "the pixels are in GPU memory: use imghist.count_batch");
        return false;
    }
    PyObject *capsule = PyObject_CallMethod(object, "__dlpack__", NULL);
    struct dl_managed *managed = capsule ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    if (managed && PyCapsule_SetName(capsule, "used_dltensor") == 0)
        input->tensor = managed;
    Py_XDECREF(capsule);
    return input->tensor && set_tensor(input, &managed->tensor, layout);
}

/* ---- files ---- */

static bool open_path(struct py_input *input, PyObject *object)
{
    if (!PyUnicode_FSConverter(object, &input->held) ||
        !PyUnicode_FSDecoder(object, &input->source))
        return false;
    input->kind = PY_INPUT_PATH;
    input->path = PyBytes_AsString(input->held);
    return input->path != NULL;
}

static bool open_stream(struct py_input *input, PyObject *object, const struct py_layout *layout,
                        bool is_read)
{
    if (!is_read) {
        input->kind = PY_INPUT_STREAM;
        input->held = Py_NewRef(object);
        return true;
    }
    PyObject *all = PyObject_CallMethod(object, "read", NULL);
    if (all && PyObject_CheckBuffer(all)) {
        const bool is_open = open_buffer(input, all, layout);
        Py_DECREF(all);
        return is_open;
    }
    if (all)
        PyErr_SetString(PyExc_TypeError, "read() gave no bytes: open the file in binary mode");
    Py_XDECREF(all);
    return false;
}

/* ih_read_function of a file object. */
static ptrdiff_t read_stream(void *user, void *buffer, size_t size_bytes)
{
    struct py_input *input = user;
    ptrdiff_t n = -1;
    const size_t most = (size_t)1 << 20; /* a larger request could make read() allocate it */
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *bytes = PyObject_CallMethod(input->held, "read", "n",
                                          (Py_ssize_t)(size_bytes < most ? size_bytes : most));
    Py_buffer view;
    if (bytes && !PyObject_CheckBuffer(bytes))
        PyErr_SetString(PyExc_TypeError, "read() gave no bytes: open the file in binary mode");
    else if (bytes && PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) == 0) {
        if ((size_t)view.len <= size_bytes) {
            memcpy(buffer, view.buf, (size_t)view.len);
            n = view.len;
        } else {
            PyErr_SetString(PyExc_ValueError, "read() gave more bytes than asked for");
        }
        PyBuffer_Release(&view);
    }
    Py_XDECREF(bytes);
    if (n < 0) {
        PyObject *type, *traceback;
        PyErr_Fetch(&type, &input->error, &traceback);
        PyErr_NormalizeException(&type, &input->error, &traceback);
        if (traceback)
            PyException_SetTraceback(input->error, traceback);
        Py_XDECREF(type);
        Py_XDECREF(traceback);
    }
    PyGILState_Release(gil);
    return n;
}

/* ---- inputs ---- */

static bool open_object(struct py_input *input, PyObject *object, const struct py_layout *layout,
                        bool is_read)
{
    if (PyUnicode_Check(object) || PyObject_HasAttrString(object, "__fspath__"))
        return open_path(input, object);
    if (PyObject_CheckBuffer(object))
        return open_buffer(input, object, layout);
    if (PyObject_HasAttrString(object, "__array_interface__")) {
        PyObject *interface = PyObject_GetAttrString(object, "__array_interface__");
        if (interface)
            input->held = PyTuple_Pack(2, interface, object); /* the dict may not own the memory */
        Py_XDECREF(interface);
        return input->held && open_interface(input, interface, layout);
    }
    if (PyObject_HasAttrString(object, "__dlpack__"))
        return open_tensor(input, object, layout);
    if (PyObject_HasAttrString(object, "__cuda_array_interface__")) {
        PyErr_SetString(PyExc_ValueError, "the pixels are in GPU memory: use imghist.count_batch");
        return false;
    }
    if (PyObject_HasAttrString(object, "read"))
        return open_stream(input, object, layout, is_read);
    PyErr_Format(PyExc_TypeError,
                 "cannot count %R: expected a path, bytes, a binary file or an array",
                 (PyObject *)Py_TYPE(object));
    return false;
}

bool py_input_open(struct py_input *input, PyObject *object, const struct py_layout *layout,
                   bool is_read)
{
    memset(input, 0, sizeof *input);
    input->is_named = true;
    if (open_object(input, object, layout, is_read))
        return true;
    py_input_close(input);
    return false;
}

enum ih_status py_input_count(struct py_input *input, struct ih_context *context,
                              struct ih_counts *counts, struct ih_error *err)
{
    switch (input->kind) {
    case PY_INPUT_PATH:
        return ih_count_file(context, input->path, counts, err);
    case PY_INPUT_BYTES:
        return ih_count_memory(context, input->bytes, input->size_bytes, counts, err);
    case PY_INPUT_STREAM:
        return ih_count_stream(context, read_stream, input, counts, err);
    case PY_INPUT_ARRAY:
        return ih_count_array(context, &input->array, sizeof input->array, counts, err);
    case PY_INPUT_ERROR:
        break;
    }
    return IH_USAGE;
}

void py_input_close(struct py_input *input)
{
    PyObject *type, *value, *traceback; /* closing keeps the exception that is being raised */
    PyErr_Fetch(&type, &value, &traceback);
    struct dl_managed *managed = input->tensor;
    if (managed && managed->deleter)
        managed->deleter(managed);
    if (input->view.obj)
        PyBuffer_Release(&input->view);
    Py_XDECREF(input->held);
    Py_XDECREF(input->source);
    Py_XDECREF(input->error);
    memset(input, 0, sizeof *input);
    PyErr_Restore(type, value, traceback);
}
