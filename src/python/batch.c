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

/* Opens a tensor that Python code has described: (address, shape, steps in elements, kind, bits, is
 * on a GPU). The caller holds the tensor. */
static bool open_described(struct py_tensor *t, PyObject *tuple)
{
    unsigned long long address;
    PyObject *shape, *steps;
    int kind, is_on_gpu;
    memset(t, 0, sizeof *t);
    if (!PyArg_ParseTuple(tuple, "KO!O!CIp", &address, &PyTuple_Type, &shape, &PyTuple_Type, &steps,
                          &kind, &t->bits, &is_on_gpu))
        return false;
    t->data = (const void *)(uintptr_t)address;
    t->kind = (char)kind;
    t->is_on_gpu = is_on_gpu;
    t->n_dimensions = (int)PyTuple_Size(shape);
    if (t->n_dimensions > PY_DIMENSIONS_MAX || PyTuple_Size(steps) != t->n_dimensions)
        return PyErr_SetString(PyExc_ValueError, "a tensor of too many dimensions"), false;
    for (int i = 0; i < t->n_dimensions; i++) {
        t->shape[i] = PyLong_AsSsize_t(PyTuple_GetItem(shape, i));
        t->strides[i] = PyLong_AsSsize_t(PyTuple_GetItem(steps, i)) * (Py_ssize_t)(t->bits / 8);
    }
    return !PyErr_Occurred();
}

static bool open_tensor(struct py_tensor *t, PyObject *object, PyObject *stream, bool is_written)
{
    return PyTuple_CheckExact(object) ? open_described(t, object)
                                      : py_tensor_open(t, object, stream, is_written);
}

/* Reads the images: uint8, or samples of 16 bits for native bins, with the letters N, H, W and,
 * unless there is one channel, C. */
static bool read_images(struct call *c, const char *letters)
{
    const struct py_tensor *t = &c->images;
    struct ih_batch *b = &c->batch;
    unsigned seen = 0;
    Py_ssize_t n_channels = 1;
    const char *const kinds = b->n_bins == 1u << 16 ? "uifB" : "u";
    if (t->bits != (b->n_bins ? 16 : 8) || !strchr(kinds, t->kind)) {
        PyErr_Format(PyExc_TypeError,
                     "a batch of %s of %u bits: must be uint8; with bins='native' uint16, int16, "
                     "float16 or bfloat16; with another number of bins uint16; array.astype() "
                     "converts it, or to() of torch",
                     py_kind_name(t->kind), t->bits);
        return false;
    }
    b->number = t->kind == 'i'   ? IH_NUMBER_SIGNED
                : t->kind == 'f' ? IH_NUMBER_FLOAT
                : t->kind == 'B' ? IH_NUMBER_BFLOAT16
                                 : IH_NUMBER_UNSIGNED;
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
    if (n_letters != (size_t)t->n_dimensions || n_letters > 4 ||
        seen != (n_letters == 4 ? 15u : 7u)) {
        PyErr_Format(PyExc_ValueError,
                     "layout: '%s' does not fit a batch of %d dimensions; 'NHWC', 'NCHW' and 'NHW' "
                     "are examples",
                     letters, t->n_dimensions);
        return false;
    }
    if (n_channels < 1 || n_channels > 4)
        return PyErr_Format(PyExc_ValueError,
                            "%zd channels in layout %s: must be 1 to 4; is the layout %s?",
                            n_channels, letters, strcmp(letters, "NCHW") == 0 ? "NHWC" : "NCHW"),
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

static PyObject *make_tuple(const Py_ssize_t *numbers, int n)
{
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *number = PyLong_FromSsize_t(numbers[i]);
        if (!number || PyTuple_SetItem(tuple, i, number) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Whether a tensor is integers of this shape in C order, on the side of the images. */
static bool is_output(const struct call *c, const struct py_tensor *t, const Py_ssize_t *shape,
                      int n, unsigned bits)
{
    Py_ssize_t step = bits / 8;
    bool is_right = t->is_on_gpu == c->images.is_on_gpu && (t->kind == 'u' || t->kind == 'i') &&
                    t->bits == bits && t->n_dimensions == n;
    for (int i = n - 1; is_right && i >= 0; i--) {
        is_right = t->shape[i] == shape[i] && (shape[i] < 2 || t->strides[i] == step);
        step *= shape[i];
    }
    return is_right;
}

/* Puts the name of an argument before the message of an exception. */
static void name_argument(const char *name)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (type != PyExc_TypeError && type != PyExc_ValueError && type != PyExc_BufferError) {
        PyErr_Restore(type, value, traceback);
        return;
    }
    PyErr_Format(type, "%s: %S", name, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* Asks for a tensor of the counts. allocate gives it, what to open (itself, or its capsule), and
 * its address if it has just been made: then there is nothing to check. */
static PyObject *make_output(struct call *c, struct py_tensor *t, PyObject *allocate, bool is_sums,
                             bool has_labels, PyObject *stream)
{
    const unsigned bits = is_sums ? 64 : 32;
    const int is_signed = is_sums && c->batch.number == IH_NUMBER_SIGNED;
    Py_ssize_t wanted[PY_DIMENSIONS_MAX];
    int n = 0;
    wanted[n++] = c->n_images;
    if (has_labels)
        wanted[n++] = (Py_ssize_t)c->shape.n_labels;
    wanted[n++] = (Py_ssize_t)c->shape.n_planes + (is_sums ? IH_BATCH_CLIPS : 0);
    if (!is_sums)
        wanted[n++] = c->batch.n_bins ? (Py_ssize_t)c->batch.n_bins : IH_BINS;
    PyObject *shape = make_tuple(wanted, n);
    PyObject *given = shape ? PyObject_CallFunction(allocate, "OIi", shape, bits, is_signed) : NULL;
    PyObject *made = NULL, *opened;
    unsigned long long address;
    if (given && PyArg_ParseTuple(given, "OOK:allocate", &made, &opened, &address))
        Py_INCREF(made);
    bool is_right = made != NULL;
    if (is_right && address) {
        t->data = (const void *)(uintptr_t)address;
    } else if (is_right && (is_right = open_tensor(t, opened, stream, true))) {
        is_right = is_output(c, t, wanted, n, bits);
        if (!is_right)
            PyErr_Format(PyExc_ValueError,
                         "must have shape %R, integers of %u bits in C order, and be where the "
                         "batch is",
                         shape, bits);
    }
    if (!is_right)
        name_argument(is_sums ? "sums" : "out");
    Py_XDECREF(given);
    Py_XDECREF(shape);
    if (!is_right)
        Py_CLEAR(made);
    return made;
}

/* Whether elements of two tensors may share memory. One that was just made has no dimensions. */
static bool overlap(const struct py_tensor *a, const struct py_tensor *b)
{
    const struct py_tensor *both[] = {a, b};
    uintptr_t begin[2], end[2];
    for (int k = 0; k < 2; k++) {
        const struct py_tensor *t = both[k];
        begin[k] = end[k] = (uintptr_t)t->data;
        if (t->n_dimensions == 0)
            return false;
        for (int i = 0; i < t->n_dimensions; i++) {
            const uintptr_t step = ((uintptr_t)t->shape[i] - 1) * (uintptr_t)t->strides[i];
            if (t->shape[i] == 0)
                return false;
            *(t->strides[i] < 0 ? &begin[k] : &end[k]) += step;
        }
        end[k] += t->bits / 8;
    }
    return begin[0] < end[1] && begin[1] < end[0];
}

/* Counts would be added to pixels that are still to be counted. */
static bool check_overlap(const struct call *c)
{
    const bool bins = overlap(&c->bins, &c->images) || overlap(&c->bins, &c->labels);
    if (bins || overlap(&c->sums, &c->images) || overlap(&c->sums, &c->labels) ||
        overlap(&c->sums, &c->bins))
        return PyErr_Format(PyExc_ValueError, "%s: shares memory with another argument",
                            bins ? "out" : "sums"),
               false;
    return true;
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
    unsigned n_labels, n_bins;
    int has_luma, wants_sums;
    Py_ssize_t stream;
    memset(&c, 0, sizeof c);
    /* exchange: the stream as __dlpack__ wants it; stream: a CUstream, 0 the default stream. */
    if (!PyArg_ParseTuple(arguments, "O!OssOO&O&ppOnO:batch", state->context, &context, &images,
                          &letters, &order, &labels, py_to_unsigned, &n_labels, py_to_unsigned,
                          &n_bins, &has_luma, &wants_sums, &exchange, &stream, &allocate) ||
        !py_layout_parse(&layout, NULL, order, NULL))
        return NULL;
    struct ih_context *opened = py_context_get(context);
    c.batch = (struct ih_batch){.size_bytes = sizeof c.batch,
                                .n_labels = labels == Py_None ? 0 : n_labels,
                                .order = layout.order,
                                .without_luma = !has_luma,
                                .n_bins = n_bins == IH_BINS ? 0 : n_bins};
    bool is_open =
        opened && open_tensor(&c.images, images, exchange, false) && read_images(&c, letters);
    if (is_open && labels != Py_None)
        is_open = open_tensor(&c.labels, labels, exchange, false) && read_labels(&c);
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
    if (bins && (sums || !wants_sums) && check_overlap(&c)) {
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
