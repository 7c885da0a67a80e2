/*
 * Context: the device and the settings.
 *
 * A child of fork() has none of the library's threads and may have inherited locks that are held.
 * So a context belongs to one process. In another process, a context that counts on the CPU is
 * opened again; one that may use a GPU is refused, because CUDA does not work after fork().
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 64 };

struct context {
    PyObject_HEAD struct ih_context *context; /* owned; NULL: not opened */
    struct ih_settings settings;
    char device[NAME_MAX_BYTES], kernel[NAME_MAX_BYTES], luma[NAME_MAX_BYTES],
        alpha[NAME_MAX_BYTES], nodata[NAME_MAX_BYTES], axes[NAME_MAX_BYTES];
    PyObject *bands; /* a str whose text settings borrow, or NULL */
    pid_t pid;       /* of the process that opened it */
};

/* Copies a name into the context, because settings borrow it. */
static bool keep(const char **to, char *kept, const char *name, const char *what)
{
    if (!name)
        return true;
    if (strlen(name) >= NAME_MAX_BYTES) {
        PyErr_Format(PyExc_ValueError, "%s: the name is too long", what);
        return false;
    }
    *to = strcpy(kept, name);
    return true;
}

/* Runs Python's signal handlers, in the main thread. */
static int is_interrupted(void *unused)
{
    (void)unused;
    const PyGILState_STATE gil = PyGILState_Ensure();
    const int has_raised = PyErr_CheckSignals() < 0;
    PyGILState_Release(gil);
    return has_raised;
}

static int open_context(struct context *self)
{
    struct ih_error err;
    self->pid = getpid();
    if (ih_context_open(&self->settings, sizeof self->settings, &self->context, &err) == IH_OK)
        return 0;
    py_error_raise(py_state_of((PyObject *)self), &err, NULL);
    return -1;
}

int py_to_u64(PyObject *object, void *to)
{
    PyObject *index = PyNumber_Index(object); /* of the integers of NumPy, too */
    *(uint64_t *)to = index ? PyLong_AsUnsignedLongLong(index) : 0;
    Py_XDECREF(index);
    return !PyErr_Occurred();
}

int py_to_unsigned(PyObject *object, void *to)
{
    uint64_t v;
    const int is_number = py_to_u64(object, &v);
    if (is_number && v > UINT32_MAX)
        PyErr_SetString(PyExc_OverflowError, "the number is too large");
    *(unsigned *)to = (unsigned)v;
    return is_number && v <= UINT32_MAX;
}

/* 256 or 'native' */
static int to_bins(PyObject *object, void *to)
{
    const bool is_native =
        PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, "native") == 0;
    unsigned n = 0;
    *(unsigned *)to = is_native ? IH_BINS_NATIVE : IH_BINS;
    if (is_native || (!PyUnicode_Check(object) && py_to_unsigned(object, &n) && n == IH_BINS))
        return 1;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "bins: %R is not 256 or 'native'", object);
    return 0;
}

PyObject *py_context_bins(PyObject *object, void *unused)
{
    (void)unused;
    return ((struct context *)object)->settings.bins == IH_BINS_NATIVE
               ? PyUnicode_FromString("native")
               : PyLong_FromLong(IH_BINS);
}

/* A number, also of NumPy, 'none', or None. */
static bool keep_nodata(struct context *self, PyObject *nodata)
{
    if (!nodata || nodata == Py_None)
        return true;
    const bool is_text = PyUnicode_Check(nodata);
    PyObject *number = is_text ? NULL : PyNumber_Float(nodata);
    PyObject *text = number ? PyObject_Repr(number) : is_text ? Py_NewRef(nodata) : NULL;
    const char *name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    const bool is_kept = name && (!is_text || strcmp(name, "none") == 0) &&
                         keep(&self->settings.nodata, self->nodata, name, "nodata");
    if (!is_kept && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "nodata: %R is neither a number nor 'none'", nodata);
    Py_XDECREF(text);
    Py_XDECREF(number);
    return is_kept;
}

/* '1,3-5' or None */
static bool keep_bands(struct context *self, PyObject *bands)
{
    if (!bands || bands == Py_None)
        return true;
    if (!PyUnicode_Check(bands)) {
        PyErr_Format(PyExc_TypeError, "bands: %R is no text as in '1,3-5'", bands);
        return false;
    }
    Py_ssize_t n = 0;
    self->settings.bands = PyUnicode_AsUTF8AndSize(bands, &n);
    if (self->settings.bands && strlen(self->settings.bands) != (size_t)n) {
        PyErr_SetString(PyExc_ValueError, "bands: has a NUL character");
        return false;
    }
    self->bands = self->settings.bands ? Py_NewRef(bands) : NULL;
    return self->bands != NULL;
}

static int context_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device",      "kernel",     "luma",    "alpha",   "clip",
                            "max_pixels",  "max_memory", "lenient", "timeout", "raw_channels",
                            "raw_preview", "raw_sensor", "bins",    "nodata",  "axes",
                            "bands",       NULL};
    struct context *self = (struct context *)object;
    struct ih_settings *s = &self->settings;
    const char *device = "cpu", *kernel = NULL, *luma = NULL, *alpha = NULL, *axes = NULL;
    PyObject *nodata = NULL, *bands = NULL;
    int lenient = 0, raw_preview = 0, raw_sensor = 0;
    if (self->context) {
        PyErr_SetString(PyExc_RuntimeError, "a context is opened once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|$szzz(O&O&)O&O&pO&O&ppO&OzO:Context", names,
                                     &device, &kernel, &luma, &alpha, py_to_unsigned, &s->clip_low,
                                     py_to_unsigned, &s->clip_high, py_to_u64, &s->max_pixels,
                                     py_to_u64, &s->max_memory, &lenient, py_to_unsigned,
                                     &s->timeout, py_to_unsigned, &s->raw_channels, &raw_preview,
                                     &raw_sensor, to_bins, &s->bins, &nodata, &axes, &bands))
        return -1;
    s->interrupt = is_interrupted;
    if (s->clip_high == 0 && keywords && PyDict_GetItemString(keywords, "clip")) {
        PyErr_SetString(PyExc_ValueError, s->bins == IH_BINS_NATIVE
                                              ? "clip: the upper limit must be 1 to 65535"
                                              : "clip: the upper limit must be 1 to 255");
        return -1;
    }
    s->lenient = (unsigned)lenient;
    s->raw_preview = (unsigned)raw_preview;
    s->raw_sensor = (unsigned)raw_sensor;
    if (!keep(&s->device, self->device, device, "device") ||
        !keep(&s->kernel, self->kernel, kernel, "kernel") ||
        !keep(&s->luma, self->luma, luma, "luma") ||
        !keep(&s->alpha, self->alpha, alpha, "alpha") ||
        !keep(&s->axes, self->axes, axes, "axes") || !keep_nodata(self, nodata) ||
        !keep_bands(self, bands))
        return -1;
    return open_context(self);
}

static void context_dealloc(PyObject *object)
{
    struct context *self = (struct context *)object;
    if (self->context && self->pid == getpid()) {
        Py_BEGIN_ALLOW_THREADS ih_context_close(self->context);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(self->bands);
    py_free(object);
}

struct ih_context *py_context_get(PyObject *object)
{
    struct context *self = (struct context *)object;
    if (!self->context) {
        PyErr_SetString(PyExc_RuntimeError, "the context is not open");
        return NULL;
    }
    if (self->pid == getpid())
        return self->context;
    if (strcmp(self->device, "cpu") != 0) {
        PyErr_Format(PyExc_RuntimeError,
                     "the context for %s was opened before fork(): open one in each process, or "
                     "start processes with spawn",
                     self->device);
        return NULL;
    }
    self->context = NULL; /* not closed: its threads are not in this process */
    return open_context(self) < 0 ? NULL : self->context;
}

/* None: 0, as many as pay. */
static bool take_threads(PyObject *threads, unsigned *n)
{
    if (!threads || threads == Py_None)
        return true;
    if (!py_to_unsigned(threads, n))
        return false;
    if (*n < 1 || *n > 1024)
        PyErr_Format(PyExc_ValueError, "threads: %u is not 1 to 1024", *n);
    return !PyErr_Occurred();
}

/* str or None */
static bool take_text(PyObject *object, const char *name, const char **text)
{
    if (!object || object == Py_None)
        return true;
    if (!PyUnicode_Check(object))
        return PyErr_Format(PyExc_TypeError, "%s: %R is not str", name, object), false;
    Py_ssize_t n;
    *text = PyUnicode_AsUTF8AndSize(object, &n);
    if (*text && strlen(*text) != (size_t)n)
        PyErr_Format(PyExc_ValueError, "%s: a null character", name);
    return !PyErr_Occurred();
}

enum { LAYOUT, ORDER, RANGE, THREADS, N_NAMES };

/* The arguments of count in the order of their names, borrowed; NULL: not given. PyArg_Parse would
 * need a tuple and a dict of them, a tenth of the time of a small array. */
static bool take_arguments(PyObject *const *args, Py_ssize_t n_args, PyObject *keywords,
                           PyObject *values[N_NAMES])
{
    static const char *const names[N_NAMES] = {"layout", "order", "range", "threads"};
    if (n_args != 1)
        return PyErr_Format(PyExc_TypeError, "count: %zd positional arguments, must be 1", n_args),
               false;
    for (Py_ssize_t i = 0; keywords && i < PyTuple_Size(keywords); i++) {
        PyObject *name = PyTuple_GetItem(keywords, i);
        unsigned k = 0;
        while (k < N_NAMES && PyUnicode_CompareWithASCIIString(name, names[k]) != 0)
            k++;
        if (k == N_NAMES)
            return PyErr_Format(PyExc_TypeError, "count: no argument is named '%U'", name), false;
        values[k] = args[n_args + i];
    }
    return true;
}

static PyObject *context_count(PyObject *object, PyObject *const *args, Py_ssize_t n_args,
                               PyObject *keywords)
{
    PyObject *values[N_NAMES] = {NULL};
    const char *letters = NULL, *order = NULL;
    struct py_layout layout;
    struct py_input input;
    struct ih_counts *counts = NULL;
    struct ih_error err;
    enum ih_status status;
    unsigned n_threads = 0;
    if (!take_arguments(args, n_args, keywords, values) ||
        !take_text(values[LAYOUT], "layout", &letters) ||
        !take_text(values[ORDER], "order", &order) ||
        !py_layout_parse(&layout, letters, order, values[RANGE]) ||
        !take_threads(values[THREADS], &n_threads))
        return NULL;
    struct ih_context *context = py_context_get(object);
    if (!context || !py_input_open(&input, args[0], &layout, false))
        return NULL;
    input.array.n_threads = n_threads;
    PyThreadState *thread = PyEval_SaveThread();
    status = ih_counts_open(&counts, &err);
    if (status == IH_OK)
        status = py_input_count(&input, context, counts, &err);
    PyEval_RestoreThread(thread);
    if (status != IH_OK && !PyErr_Occurred()) /* a signal may have ended the opening of a file */
        PyErr_CheckSignals();
    PyObject *result = NULL;
    struct py_state *state = py_state_of(object);
    if (PyErr_Occurred()) { /* of a signal handler */
        ih_counts_close(counts);
    } else if (status == IH_OK) {
        result = py_counts_new(state, counts, input.source);
    } else {
        ih_counts_close(counts);
        if (input.error)
            PyErr_SetObject((PyObject *)Py_TYPE(input.error), input.error);
        else
            py_error_raise(state, &err, input.source);
    }
    py_input_close(&input);
    return result;
}

/* Labels beside an array: uint8 or uint16 [height, width], whatever the layout of the array is. */
static bool take_labels(const struct py_tensor *t, const struct py_input *input,
                        struct ih_labels *labels)
{
    if (t->is_on_gpu || input->kind != PY_INPUT_ARRAY)
        PyErr_SetString(PyExc_ValueError,
                        t->is_on_gpu ? "labels: in GPU memory"
                                     : "labels: for arrays; of files, scan takes label images");
    else if (t->kind != 'u' || (t->bits != 8 && t->bits != 16))
        PyErr_Format(PyExc_TypeError, "labels: %s of %u bits: must be uint8 or uint16",
                     py_kind_name(t->swapped_kind ? t->swapped_kind : t->kind), t->bits);
    else if (t->n_dimensions != 2 || (uint64_t)t->shape[0] != input->array.height ||
             (uint64_t)t->shape[1] != input->array.width)
        PyErr_Format(PyExc_ValueError, "labels: must be an array of [%llu, %llu]",
                     (unsigned long long)input->array.height,
                     (unsigned long long)input->array.width);
    if (PyErr_Occurred())
        return false;
    labels->data = t->data;
    labels->depth = t->bits;
    labels->row_stride_bytes = t->strides[0];
    labels->pixel_stride_bytes = t->strides[1];
    return true;
}

/* Makes {label: Counts}, and takes the counts. */
static PyObject *dict_of(struct py_state *state, struct ih_counts **counts, size_t n)
{
    PyObject *dict = PyDict_New();
    for (size_t i = 0; i < n; i++) {
        struct ih_summary s;
        ih_counts_summary(counts[i], &s, sizeof s);
        PyObject *one = py_counts_new(state, counts[i], NULL);
        PyObject *label = PyLong_FromUnsignedLong(s.label);
        if (!dict || !one || !label || PyDict_SetItem(dict, label, one) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(one);
        Py_XDECREF(label);
    }
    free(counts);
    return dict;
}

PyObject *py_count_labels(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    PyObject *object, *x, *of_pixels, *ignored, *range, *result = NULL;
    const char *letters, *order;
    struct py_layout layout;
    struct py_input input;
    struct py_tensor tensor = {.data = NULL};
    struct ih_labels labels = {.data = NULL};
    struct ih_counts **counts;
    struct ih_error err;
    size_t n;
    if (!PyArg_ParseTuple(arguments, "O!OOOzzO:count_labels", state->context, &object, &x,
                          &of_pixels, &ignored, &letters, &order, &range) ||
        !py_layout_parse(&layout, letters, order, range))
        return NULL;
    labels.has_ignored = ignored != Py_None;
    struct ih_context *context = py_context_get(object);
    if (!context || (labels.has_ignored && !py_to_unsigned(ignored, &labels.ignored)) ||
        !py_input_open(&input, x, &layout, false))
        return NULL;
    if (py_tensor_open(&tensor, of_pixels, NULL, false) && take_labels(&tensor, &input, &labels)) {
        enum ih_status status;
        Py_BEGIN_ALLOW_THREADS status = ih_count_labels(context, &input.array, sizeof input.array,
                                                        &labels, sizeof labels, &counts, &n, &err);
        Py_END_ALLOW_THREADS if (status == IH_OK) result = dict_of(state, counts, n);
        else if (PyErr_CheckSignals() == 0) /* an interrupt may have ended the count */
            py_error_raise(state, &err, NULL);
    }
    py_tensor_close(&tensor);
    py_input_close(&input);
    return result;
}

static PyObject *context_device(PyObject *object, void *closure)
{
    (void)closure;
    struct ih_context *context = py_context_get(object);
    struct ih_error err;
    enum ih_status status;
    if (!context)
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = ih_context_wait(context, &err);
    Py_END_ALLOW_THREADS if (status != IH_OK) return py_error_raise(py_state_of(object), &err,
                                                                    NULL);
    return PyUnicode_FromString(ih_context_device(context));
}

static PyObject *delegate_with_keywords(PyObject *self, PyObject *args, PyObject *keywords,
                                        const char *function)
{
    PyObject *first = PyTuple_Pack(1, self);
    PyObject *all = first ? PySequence_Concat(first, args) : NULL;
    Py_XDECREF(first);
    return py_delegate("imghist._many", function, all, keywords);
}

static PyObject *context_count_many(PyObject *self, PyObject *args, PyObject *keywords)
{
    return delegate_with_keywords(self, args, keywords, "count_many");
}

static PyObject *context_scan(PyObject *self, PyObject *args, PyObject *keywords)
{
    return delegate_with_keywords(self, args, keywords, "scan");
}

static PyMethodDef context_methods[] = {
    {"count", (PyCFunction)(void (*)(void))context_count, METH_FASTCALL | METH_KEYWORDS,
     "count($self, x, /, *, layout=None, order='rgb', range=None, threads=None)\n--\n\n"
     "Counts one image; see imghist.count."},
    {"count_many", (PyCFunction)(void (*)(void))context_count_many, METH_VARARGS | METH_KEYWORDS,
     "count_many($self, iterable, /, *, threads=None, on_error='raise', layout=None, order='rgb',"
     " range=None)\n--\n\nCounts many images; see imghist.count_many."},
    {"scan", (PyCFunction)(void (*)(void))context_scan, METH_VARARGS | METH_KEYWORDS,
     "scan($self, paths=(), /, *, files_from=None, shard=None, threads=None, on_error='raise', "
     "labels=None, ignore_label=None)\n--\n\nCounts files, directories and archives; see "
     "imghist.scan."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef context_getset[] = {
    {"device", context_device, NULL,
     "Waits for the device; its name, 'cpu' or 'cuda:0 NVIDIA H100'.", NULL},
    {"bins", py_context_bins, NULL, "256 or 'native'.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(
    context_doc,
    "Context(*, device='cpu', kernel=None, luma='bt709', alpha='count', clip=(0, 255),\n"
    "        max_pixels=0, max_memory=0, lenient=False, timeout=0, raw_channels=0,\n"
    "        raw_preview=False, raw_sensor=False, bins=256, nodata=None,\n"
    "        axes=None, bands=None)\n--\n\n"
    "The device that counts, and the settings. Any number of threads may use one context.\n\n"
    "device        'cpu', 'auto' (GPUs if there are any), 'cuda', 'cuda:1', 'cuda:0,1'\n"
    "kernel        the code that counts, as imghist --list names it; None: the best of the device\n"
    "luma          weights of luma: 'bt709' or 'bt601'; 'none': it is not counted\n"
    "alpha         'count', or 'skip-transparent': pixels with alpha 0 are not counted\n"
    "clip          values <= clip[0] and >= clip[1] count as clipped\n"
    "max_pixels    larger files are refused; 0: 4 Gi\n"
    "max_memory    bytes that all threads may use for files held in memory; 0: no limit\n"
    "lenient       also accept irregular JPEG files whose pixels are certain\n"
    "timeout       seconds that a file may take, without waiting for pipes and file objects; 0: no "
    "limit\n"
    "raw_channels  1 to 4: files are interleaved samples without a header\n"
    "raw_preview   of a camera raw file, count the largest JPEG preview\n"
    "raw_sensor    or the sensor's values, as bands R, G1, G2 and B\n"
    "bins          256, or 'native': samples of 9 to 16 bits keep their values, with a bin for "
    "each that\n              they can have; clip is then in these values, (0, the largest) by "
    "default\n"
    "nodata        samples of this value are counted apart, in no bin and no statistic; 'none': "
    "none "
    "are;\n              None: those that a file says\n"
    "axes          dimensions of NPY files: 'HWC', 'CHW', 'NHW', 'NHWC' or 'NCHW'; the first of N\n"
    "              images is counted. None: height, width, and perhaps 1 to 4 channels\n"
    "bands         '1,3-5': count only these channels, by their numbers in the file or array\n\n"
    "After fork() a context for the CPU works in the child. One for a GPU raises RuntimeError.\n"
    "Raises ValueError for invalid settings. For a GPU that is not there, this call or the first "
    "use raises imghist.Error.");

static PyType_Slot context_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)context_doc},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_init, context_init},
    {Py_tp_dealloc, context_dealloc},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_getset},
    {0, NULL},
};

PyType_Spec py_context_spec = {.name = "imghist.Context",
                               .basicsize = sizeof(struct context),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                               .slots = context_slots};
