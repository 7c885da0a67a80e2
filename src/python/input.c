/*
 * Inputs: paths, bytes, file objects and arrays. Arrays are never copied: strides go to the library
 * as they are.
 */
#include "module.h"

#include <string.h>

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
            PyErr_Format(PyExc_ValueError,
                         "layout: '%s' is not 'HW', 'HWC', 'CHW' or another order of these",
                         letters);
            return false;
        }
        memcpy(layout->letters, letters, n);
    }
    if (order && strcmp(order, "bgr") == 0) {
        layout->order = IH_ORDER_BGR;
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

/* Hands the strides of a tensor to the library. */
static bool set_array(struct py_input *input, const struct py_layout *layout)
{
    const struct py_tensor *t = &input->tensor;
    const char kind = t->swapped_kind ? t->swapped_kind : t->kind;
    struct ih_array *a = &input->array;
    const char *letters = layout->letters[0]     ? layout->letters
                          : t->n_dimensions == 2 ? "HW"
                                                 : "HWC";
    if ((int)strlen(letters) != t->n_dimensions) {
        PyErr_Format(PyExc_ValueError,
                     "an array of %d dimensions is not %s: pixels have 2 or 3, layout says which; "
                     "a file in memory has 1 of uint8",
                     t->n_dimensions, letters);
        return false;
    }
    *a = (struct ih_array){.data = t->data,
                           .n_channels = 1,
                           .has_strides = 1,
                           .order = layout->order,
                           .depth = t->bits,
                           .number = kind == 'i'   ? IH_NUMBER_SIGNED
                                     : kind == 'f' ? IH_NUMBER_FLOAT
                                     : kind == 'B' ? IH_NUMBER_BFLOAT16
                                                   : IH_NUMBER_UNSIGNED,
                           .swaps_bytes = t->swapped_kind != 0,
                           .range_low = layout->range_low,
                           .range_high = layout->range_high};
    input->size_bytes = t->bits / 8;
    const struct py_tensor *const mask = &input->mask;
    a->mask = mask->data;
    for (int i = 0; i < t->n_dimensions; i++) {
        const uint64_t n = (uint64_t)t->shape[i];
        if (letters[i] == 'H') {
            a->height = n;
            a->row_stride_bytes = t->strides[i];
            a->mask_row_stride_bytes = mask->strides[i];
        } else if (letters[i] == 'W') {
            a->width = n;
            a->pixel_stride_bytes = t->strides[i];
            a->mask_pixel_stride_bytes = mask->strides[i];
        } else if (n < 1 || n > (layout->letters[0] ? IH_CHANNELS_MAX : 4)) {
            PyErr_Format(PyExc_ValueError,
                         "%zd channels in layout %s: must be 1 to 4, or up to %d if layout (--axes "
                         "of --reader) is given; is the layout %s?",
                         t->shape[i], letters, IH_CHANNELS_MAX,
                         strcmp(letters, "CHW") == 0 ? "HWC" : "CHW");
            return false;
        } else {
            a->n_channels = (unsigned)n;
            a->channel_stride_bytes = t->strides[i];
            a->mask_channel_stride_bytes = mask->strides[i];
        }
        input->size_bytes *= (size_t)n; /* of memory that exists */
    }
    input->kind = PY_INPUT_ARRAY;
    return true;
}

/* Pillow gives the samples of other modes as well: indices of a palette, CMYK, YCbCr. */
static bool check_pillow(PyObject *object)
{
    static const char *const modes[] = {"L", "LA", "RGB", "RGBA", "I;16", "I;16L", "I;16B"};
    PyObject *mode = py_has(object, "getbands") && py_has(object, "mode")
                         ? PyObject_GetAttrString(object, "mode")
                         : NULL;
    if (PyErr_Occurred())
        return false;
    bool is_known = !mode || !PyUnicode_Check(mode);
    for (size_t i = 0; !is_known && i < sizeof modes / sizeof *modes; i++)
        is_known = PyUnicode_CompareWithASCIIString(mode, modes[i]) == 0;
    /* convert("L") clips integers and floats at 255. */
    const bool is_deep = !is_known && (PyUnicode_CompareWithASCIIString(mode, "I") == 0 ||
                                       PyUnicode_CompareWithASCIIString(mode, "F") == 0);
    if (is_deep)
        PyErr_Format(PyExc_TypeError,
                     "an image of Pillow's mode %U: pass numpy.asarray(image).astype('uint16'), "
                     "scaled to 0 to 65535 first if its values are others",
                     mode);
    else if (!is_known)
        PyErr_Format(PyExc_TypeError,
                     "an image of Pillow's mode %U: convert it to L, RGB or RGBA first", mode);
    Py_XDECREF(mode);
    return is_known;
}

const char *py_kind_name(char kind)
{
    return kind == 'u'   ? "unsigned integers"
           : kind == 'i' ? "signed integers"
           : kind == 'f' ? "floats"
           : kind == 'B' ? "bfloats"
           : kind == 'b' ? "booleans"
                         : "another type";
}

/* Opens the data and the mask of a masked array of NumPy, whose mask may be the number False. */
static bool open_masked(struct py_input *input, PyObject *object)
{
    struct py_tensor *t = &input->tensor, *m = &input->mask;
    PyObject *data = PyObject_GetAttrString(object, "data");
    PyObject *mask = PyObject_GetAttrString(object, "mask");
    PyObject *shape = mask ? PyObject_GetAttrString(mask, "shape") : NULL;
    const bool has_mask = shape && PyTuple_Check(shape) && PyTuple_Size(shape) > 0;
    bool is_open = data && shape && py_tensor_open(t, data, NULL, false) &&
                   (!has_mask || py_tensor_open(m, mask, NULL, false));
    if (is_open && has_mask &&
        (m->bits != 8 || m->n_dimensions != t->n_dimensions ||
         memcmp(m->shape, t->shape, sizeof *t->shape * (size_t)t->n_dimensions) != 0)) {
        PyErr_SetString(PyExc_TypeError, "a mask that is not a bool for each sample: pass "
                                         "array.filled(v) with nodata=v");
        is_open = false;
    }
    Py_XDECREF(shape);
    Py_XDECREF(mask);
    Py_XDECREF(data);
    return is_open;
}

/* An array: the bytes of a file, or pixels. */
static bool open_array(struct py_input *input, PyObject *object, const struct py_layout *layout)
{
    struct py_tensor *t = &input->tensor;
    const bool is_masked = py_tensor_is_masked(object);
    if (PyErr_Occurred() || (!PyObject_CheckBuffer(object) && !check_pillow(object)) ||
        !(is_masked ? open_masked(input, object) : py_tensor_open(t, object, NULL, false)))
        return false;
    if (t->is_on_gpu) {
        PyErr_SetString(PyExc_ValueError, "the pixels are in GPU memory: use imghist.count_batch");
        return false;
    }
    const char kind = t->swapped_kind ? t->swapped_kind : t->kind;
    const char *const kinds = t->bits == 8    ? "ui"
                              : t->bits == 16 ? "uifB"
                              : t->bits == 32 ? "f"
                                              : "";
    if (!strchr(kinds, kind)) {
        PyErr_Format(PyExc_TypeError,
                     "samples are %s of %u bits: must be uint8, uint16, int8, int16, float16, "
                     "float32 or bfloat16; array.astype() converts them",
                     py_kind_name(kind), t->bits);
        return false;
    }
    if (t->n_dimensions != 1 || t->bits != 8 || kind != 'u' || layout->letters[0] || is_masked)
        return set_array(input, layout);
    if (t->shape[0] > 1 && t->strides[0] != 1) {
        PyErr_SetString(PyExc_ValueError, "the bytes of a file must be contiguous");
        return false;
    }
    input->kind = PY_INPUT_BYTES;
    input->bytes = t->data;
    input->size_bytes = (size_t)t->shape[0];
    return true;
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
        const bool is_open = open_array(input, all, layout);
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
    if (n < 0)
        input->error = py_exception_take(true);
    PyGILState_Release(gil);
    return n;
}

/* ---- inputs ---- */

static bool open_object(struct py_input *input, PyObject *object, const struct py_layout *layout,
                        bool is_read)
{
    const bool is_buffer = PyObject_CheckBuffer(object); /* no path: this look is the cheaper one */
    if (PyUnicode_Check(object) || (!is_buffer && py_has(object, "__fspath__")))
        return open_path(input, object);
    if (py_tensor_is_one(object))
        return open_array(input, object, layout);
    if (py_has(object, "read"))
        return open_stream(input, object, layout, is_read);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "cannot count %R: expected a path, bytes, a binary file or an array",
                     (PyObject *)Py_TYPE(object));
    return false;
}

bool py_input_open(struct py_input *input, PyObject *object, const struct py_layout *layout,
                   bool is_read)
{
    memset(input, 0, sizeof *input);
    bool is_open = open_object(input, object, layout, is_read);
    const char *why = layout->range_high > 0          ? "range: for arrays of uint16, not for files"
                      : layout->letters[0]            ? "layout: for arrays, not for files"
                      : layout->order == IH_ORDER_BGR ? "order: for arrays, not for files"
                                                      : NULL;
    if (is_open && (input->kind == PY_INPUT_ARRAY || !why))
        return true;
    if (is_open)
        PyErr_SetString(PyExc_ValueError, why);
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

struct ih_scan_source py_input_source(const struct py_input *input)
{
    const bool is_bytes = input->kind == PY_INPUT_BYTES, is_array = input->kind == PY_INPUT_ARRAY;
    return (struct ih_scan_source){.array = is_array ? &input->array : NULL,
                                   .array_bytes = sizeof input->array,
                                   .bytes = is_bytes ? input->bytes : NULL,
                                   .size_bytes = is_bytes ? input->size_bytes : 0,
                                   .path = input->kind == PY_INPUT_PATH ? input->path : NULL};
}

void py_input_close(struct py_input *input)
{
    PyObject *type, *value, *traceback; /* closing keeps the exception that is being raised */
    PyErr_Fetch(&type, &value, &traceback);
    py_tensor_close(&input->tensor);
    py_tensor_close(&input->mask);
    Py_CLEAR(input->held); /* the collector may visit the input meanwhile */
    Py_CLEAR(input->source);
    Py_CLEAR(input->error);
    memset(input, 0, sizeof *input);
    PyErr_Restore(type, value, traceback);
}
