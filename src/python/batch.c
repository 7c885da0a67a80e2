/* Batches: from tensors in host or GPU memory to the library's ih_batch. The tensors for the counts
 * come from Python code (_batch.py), which knows how the producer's library allocates. */
#include "module.h"

#include <stdint.h>
#include <string.h>

struct call {
    struct py_tensor images, labels, bins, sums;
    struct ih_batch batch;
    struct ih_batch_shape shape;
    Py_ssize_t n_images, n_rows, n_columns;
};

/* Reads the images: uint8, with the letters N, H, W and, unless there is one channel, C. */
static bool read_images(struct call *c, const char *letters)
{
    const struct py_tensor *t = &c->images;
    struct ih_batch *b = &c->batch;
    unsigned seen = 0;
    Py_ssize_t n_channels = 1;
    if (t->kind != 'u' || t->bits != 8)
        return PyErr_SetString(PyExc_TypeError, "a batch must be uint8"), false;
    for (int i = 0; i < t->n_dimensions && letters[i]; i++) {
        const char *found = strchr("NHWC", letters[i]);
        const Py_ssize_t n = t->shape[i], step = t->strides[i];
        seen |= found ? 1u << (found - "NHWC") : 0;
        if (letters[i] == 'N') {
            c->n_images = n;
            b->image_stride = step;
        } else if (letters[i] == 'H') {
            c->n_rows = n;
            b->image.row_stride = step;
        } else if (letters[i] == 'W') {
            c->n_columns = n;
            b->pixel_stride = step;
        } else {
            n_channels = n;
            b->image.channel_stride = step;
        }
    }
    const size_t n_letters = strlen(letters);
    if (n_letters != (size_t)t->n_dimensions || seen != (n_letters == 4 ? 15u : 7u)) {
        PyErr_Format(PyExc_ValueError,
                     "layout: '%s' does not fit a batch of %d dimensions; 'NHWC', 'NCHW' and 'NHW' "
                     "are examples",
                     letters, t->n_dimensions);
        return false;
    }
    if (n_channels < 1 || n_channels > IH_CHANNELS_MAX)
        return PyErr_Format(PyExc_ValueError, "%zd channels in layout %s: must be 1 to 4",
                            n_channels, letters),
               false;
    if (c->n_rows > INT32_MAX || c->n_columns > INT32_MAX)
        return PyErr_SetString(PyExc_ValueError, "an image of a batch has less than 2^31 pixels"),
               false;
    b->n_images = (size_t)c->n_images;
    b->n_channels = (unsigned)n_channels;
    b->image.data = t->data;
    b->image.height = (uint32_t)c->n_rows;
    b->image.width = (uint32_t)c->n_columns;
    return true;
}

/* Reads the labels: uint8 [H, W] for all images, or [N, H, W]. */
static bool read_labels(struct call *c)
{
    const struct py_tensor *t = &c->labels;
    struct ih_batch *b = &c->batch;
    const int first = t->n_dimensions - 2;
    if (t->kind != 'u' || t->bits != 8)
        return PyErr_SetString(PyExc_TypeError, "labels must be uint8"), false;
    if (first < 0 || first > 1 || t->shape[first] != c->n_rows ||
        t->shape[first + 1] != c->n_columns || (first == 1 && t->shape[0] != c->n_images))
        return PyErr_SetString(PyExc_ValueError, "labels: the shape must be [H, W] or [N, H, W]"),
               false;
    if (t->strides[first + 1] != 1 && c->n_columns > 1)
        return PyErr_SetString(PyExc_ValueError, "labels: the labels of a row must be contiguous"),
               false;
    b->image.labels = t->data;
    b->image.labels_row_stride = t->strides[first];
    b->labels_image_stride = first == 1 ? t->strides[0] : 0;
    return true;
}

/* Asks for a tensor of the counts and opens it: integers in C order, on the side of the images. */
static PyObject *make_output(struct call *c, struct py_tensor *t, PyObject *allocate, bool is_sums,
                             bool has_labels, PyObject *stream)
{
    const Py_ssize_t last =
        is_sums ? (Py_ssize_t)c->shape.n_planes + IH_BATCH_CLIPS : (Py_ssize_t)c->shape.n_planes;
    const unsigned bits = is_sums ? 64 : 32;
    PyObject *shape = has_labels
                          ? Py_BuildValue("(nnn)", c->n_images, (Py_ssize_t)c->shape.n_labels, last)
                          : Py_BuildValue("(nn)", c->n_images, last);
    if (shape && !is_sums) {
        PyObject *planes = shape, *bins = Py_BuildValue("(i)", IH_BINS);
        shape = bins ? PySequence_Concat(planes, bins) : NULL;
        Py_XDECREF(bins);
        Py_DECREF(planes);
    }
    /* The tensor, and what to open: itself, or its capsule. */
    PyObject *both = shape ? PyObject_CallFunction(allocate, "OI", shape, bits) : NULL;
    PyObject *made = NULL, *opened;
    if (both && PyArg_ParseTuple(both, "OO:allocate", &made, &opened))
        Py_INCREF(made);
    bool is_right = made && py_tensor_open(t, opened, stream, true);
    if (is_right) {
        Py_ssize_t wanted[PY_DIMENSIONS_MAX] = {0}, step = bits / 8;
        const int n = (int)PyTuple_Size(shape);
        is_right = t->is_on_gpu == c->images.is_on_gpu && (t->kind == 'u' || t->kind == 'i') &&
                   t->bits == bits && t->n_dimensions == n;
        for (int i = n - 1; is_right && i >= 0; i--) {
            wanted[i] = PyNumber_AsSsize_t(PyTuple_GetItem(shape, i), NULL);
            is_right = t->shape[i] == wanted[i] && (wanted[i] < 2 || t->strides[i] == step);
            step *= wanted[i];
        }
        if (!is_right)
            PyErr_Format(PyExc_ValueError,
                         "%s: must have shape %R, integers of %u bits in C order, and be where the "
                         "batch is",
                         is_sums ? "sums" : "out", shape, bits);
    }
    Py_XDECREF(both);
    Py_XDECREF(shape);
    if (!is_right)
        Py_CLEAR(made);
    return made;
}

static enum ih_status count(struct call *c, struct ih_context *context, void *stream,
                            struct ih_error *err)
{
    uint32_t *bins = (uint32_t *)(uintptr_t)c->bins.data; /* opened for writing */
    uint64_t *sums = (uint64_t *)(uintptr_t)c->sums.data;
    return c->images.is_on_gpu ? ih_batch_enqueue(context, &c->batch, bins, sums, stream, err)
                               : ih_batch_count(context, &c->batch, bins, sums, err);
}

static void close_call(struct call *c)
{
    py_tensor_close(&c->sums);
    py_tensor_close(&c->bins);
    py_tensor_close(&c->labels);
    py_tensor_close(&c->images);
}

PyObject *py_batch(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    PyObject *context, *images, *labels, *exchange, *allocate, *bins = NULL, *sums = NULL;
    const char *letters, *order;
    struct py_layout layout;
    struct call c;
    struct ih_error err;
    unsigned n_labels;
    int has_luma, wants_sums;
    Py_ssize_t stream;
    memset(&c, 0, sizeof c);
    /* exchange: the stream as __dlpack__ wants it; stream: a CUstream, 0 the default stream. */
    if (!PyArg_ParseTuple(arguments, "O!OssOIppOnO:batch", state->context, &context, &images,
                          &letters, &order, &labels, &n_labels, &has_luma, &wants_sums, &exchange,
                          &stream, &allocate) ||
        !py_layout_parse(&layout, NULL, order, NULL))
        return NULL;
    struct ih_context *opened = py_context_get(context);
    c.batch = (struct ih_batch){.size_bytes = sizeof c.batch,
                                .n_labels = labels == Py_None ? 0 : n_labels,
                                .order = layout.order,
                                .without_luma = !has_luma};
    bool is_open =
        opened && py_tensor_open(&c.images, images, exchange, false) && read_images(&c, letters);
    if (is_open && labels != Py_None)
        is_open = py_tensor_open(&c.labels, labels, exchange, false) && read_labels(&c);
    if (is_open && labels != Py_None && c.labels.is_on_gpu != c.images.is_on_gpu) {
        PyErr_SetString(PyExc_ValueError, "labels: must be where the batch is");
        is_open = false;
    }
    if (is_open && ih_batch_shape(&c.batch, &c.shape, sizeof c.shape, &err) != IH_OK) {
        py_error_raise(state, &err, NULL);
        is_open = false;
    }
    const bool has_labels = labels != Py_None;
    if (is_open)
        bins = make_output(&c, &c.bins, allocate, false, has_labels, exchange);
    if (bins && wants_sums)
        sums = make_output(&c, &c.sums, allocate, true, has_labels, exchange);
    PyObject *result = NULL;
    if (bins && (sums || !wants_sums)) {
        enum ih_status status;
        Py_BEGIN_ALLOW_THREADS status = count(&c, opened, (void *)(uintptr_t)stream, &err);
        Py_END_ALLOW_THREADS if (status != IH_OK) py_error_raise(state, &err, NULL);
        else result = wants_sums ? PyTuple_Pack(2, bins, sums) : Py_NewRef(bins);
    }
    close_call(&c);
    Py_XDECREF(sums);
    Py_XDECREF(bins);
    return result;
}
