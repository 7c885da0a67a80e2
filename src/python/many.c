/*
 * Many inputs on all cores, results in order: count_many and scan.
 *
 * Both are a scan of the library (imghist.h). The thread that iterates takes sources from the
 * iterable and adds them. Worker threads never need the GIL. So Python code runs only in the thread
 * that iterates, and workers do not wait for it. That thread adds sources while the result it waits
 * for is not ready; then it hands out the result and adds at most two, so a slow iterable does not
 * hold up finished results.
 */
#include "module.h"

#include <string.h>
#include <unistd.h>

enum {
    INPUTS_PER_THREAD = 64, /* an input may take 64 times as long as the others */
    INPUTS_PER_THREAD_MIN = 2,
    WAIT_MS = 50 /* between checks for KeyboardInterrupt */
};

/* Files and arrays in memory, which waiting inputs hold. */
static const size_t whole_file_bytes_max = (size_t)256 << 20;

struct iterator {
    PyObject_HEAD PyObject *context, *items, *list, *labels; /* owned; list, labels: of scan, or
                                                                NULL */
    struct py_layout layout;
    bool is_walk; /* scan: items are bytes of paths; else images */
    bool raises;  /* the first failed input; false: its exception is a result */
    bool is_shard;
    bool is_at_end;       /* of items */
    bool is_busy;         /* in __next__ or close, which may release the GIL */
    PyObject *failure;    /* owned: the exception of the iterable, raised after the last result */
    pid_t pid;            /* 0: at the end */
    struct ih_scan *scan; /* owned */
    bool has_items, has_images, has_totals; /* of the scan so far */
    uint64_t n_skipped;

    /* Of count_many: */
    struct py_input *inputs; /* input i is inputs[i % n_inputs] */
    uint64_t n_inputs, n_inputs_min;
    uint64_t n_added, n_given;
    size_t held_bytes;
};

static struct iterator *self_of(PyObject *object)
{
    return (struct iterator *)object;
}

static struct py_input *input_of(const struct iterator *self, uint64_t i)
{
    return &self->inputs[i % self->n_inputs];
}

static void release_input(struct iterator *self)
{
    struct py_input *input = input_of(self, self->n_given++);
    self->held_bytes -= input->size_bytes;
    py_input_close(input);
}

/* Ends the scan and releases all inputs. In a child of fork() there are no workers, and everything
 * is left as it is. */
static void stop(struct iterator *self)
{
    if (!self->pid || self->pid != getpid())
        return;
    self->pid = 0;
    Py_BEGIN_ALLOW_THREADS ih_scan_close(self->scan);
    Py_END_ALLOW_THREADS self->scan = NULL;
    while (self->n_given < self->n_added)
        release_input(self);
}

/* ---- adding sources ---- */

/* The name of an image stands where its path would. */
static bool set_name(struct py_input *input, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        py_input_close(input);
        PyErr_SetString(PyExc_TypeError, "the name of an image must be str");
        return false;
    }
    Py_XDECREF(input->source);
    input->source = Py_NewRef(name);
    return true;
}

/* The name of a pair becomes the source of its exception, unless that has one: it may have been
 * raised for another pair, too. */
static void set_source(PyObject *error, PyObject *name)
{
    PyObject *source = PyObject_GetAttrString(error, "source");
    PyErr_Clear();
    if (!source || source == Py_None)
        PyObject_SetAttrString(error, "source", name);
    PyErr_Clear(); /* of an exception that takes no attribute */
    Py_XDECREF(source);
}

/* Opens what the iterable gave. An exception becomes the input's error. */
static bool open_item(struct iterator *self, struct py_input *input, PyObject *item)
{
    PyObject *image = item;
    const bool is_pair = PyTuple_Check(item) && PyTuple_Size(item) == 2;
    if (is_pair)
        image = PyTuple_GetItem(item, 1);
    bool is_open = py_input_open(input, image, &self->layout, true);
    if (is_open && is_pair)
        is_open = set_name(input, PyTuple_GetItem(item, 0));
    if (is_open || self->raises || !PyErr_ExceptionMatches(PyExc_Exception))
        return is_open;
    *input = (struct py_input){.kind = PY_INPUT_ERROR};
    input->error = py_exception_take(false); /* without its frames: there may be many */
    if (is_pair && input->error && PyUnicode_Check(PyTuple_GetItem(item, 0)))
        set_source(input->error, PyTuple_GetItem(item, 0));
    return input->error != NULL;
}

/* Ends the items. An exception is kept for later, unless it must stop the program. */
static void end_items(struct iterator *self)
{
    self->is_at_end = true;
    ih_scan_add_end(self->scan);
    if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_Exception))
        return;
    self->failure = py_exception_take(true);
    if (PyErr_GivenExceptionMatches(self->failure, PyExc_StopIteration)) { /* as in a generator */
        PyObject *cause = self->failure;
        PyErr_SetString(PyExc_RuntimeError, "StopIteration while an image was opened");
        self->failure = py_exception_take(true);
        PyException_SetCause(self->failure, cause);
    }
}

/* Adds an opened input to the scan, except an error. What is invalid in an array becomes the
 * input's error. */
static bool add_input(struct iterator *self, struct py_input *input)
{
    struct py_state *state = py_state_of((PyObject *)self);
    const struct ih_scan_source source = py_input_source(input);
    struct ih_error err;
    if (input->kind == PY_INPUT_ERROR ||
        ih_scan_add(self->scan, &source, sizeof source, &err) == IH_OK)
        return true;
    PyObject *error = py_error_new(state, &err, input->source);
    if (error && self->raises) {
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_CLEAR(error);
    }
    py_input_close(input);
    *input = (struct py_input){.kind = PY_INPUT_ERROR, .error = error};
    return error != NULL;
}

/* Adds one image. Returns false if an exception is set. */
static bool add_image(struct iterator *self, PyObject *item)
{
    struct py_input *input = input_of(self, self->n_added);
    if (!open_item(self, input, item) || !add_input(self, input)) {
        end_items(self);
        return !PyErr_Occurred();
    }
    self->held_bytes += input->size_bytes;
    self->n_added++;
    return true;
}

/* Adds one path of a scan. Returns false if an exception is set. */
static bool add_path(struct iterator *self, PyObject *item)
{
    const struct ih_scan_source source = {.path = PyBytes_AsString(item)};
    struct ih_error err;
    if (!source.path)
        end_items(self);
    else if (ih_scan_add(self->scan, &source, sizeof source, &err) != IH_OK)
        py_error_raise(py_state_of((PyObject *)self), &err, NULL);
    return !PyErr_Occurred();
}

/* Takes one item, unless it was the last one. Returns false if an exception is set. */
static bool add_item(struct iterator *self)
{
    PyObject *item = PyIter_Next(self->items);
    bool may_go_on = true;
    if (!item) {
        end_items(self);
        may_go_on = !PyErr_Occurred();
    } else {
        may_go_on = self->is_walk ? add_path(self, item) : add_image(self, item);
    }
    Py_XDECREF(item);
    return may_go_on;
}

static bool has_room(const struct iterator *self)
{
    const uint64_t n = self->n_added - self->n_given;
    if (self->is_at_end || self->is_walk)
        return !self->is_at_end && ih_scan_wants_source(self->scan);
    return n < self->n_inputs &&
           (self->held_bytes < whole_file_bytes_max || n < self->n_inputs_min);
}

/* Whether the next result is not one of the scan. */
static bool has_error_first(const struct iterator *self)
{
    return self->n_given < self->n_added && input_of(self, self->n_given)->kind == PY_INPUT_ERROR;
}

/* Adds sources and waits for the next result. Returns false if an exception is set. */
static bool wait(struct iterator *self)
{
    for (unsigned n_new = 0;;) {
        int is_ready = has_error_first(self) || ih_scan_is_ready(self->scan, 0);
        if (has_room(self) && (n_new < 2 || !is_ready)) {
            if (!add_item(self))
                return false;
            n_new++;
            continue;
        }
        if (is_ready)
            return true;
        Py_BEGIN_ALLOW_THREADS is_ready = ih_scan_is_ready(self->scan, WAIT_MS);
        Py_END_ALLOW_THREADS if (PyErr_CheckSignals() < 0) return false;
    }
}

/* ---- results ---- */

/* Makes a result of an exception, which it owns: raises it if that is wanted. */
static PyObject *failed(PyObject *error, bool is_raised)
{
    if (!error || !is_raised)
        return error;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return NULL;
}

/* Turns an item into Counts or an exception. source: str or NULL. */
static PyObject *result_of(struct iterator *self, const struct ih_item *item, PyObject *source)
{
    struct py_state *state = py_state_of((PyObject *)self);
    struct ih_counts *counts = NULL;
    struct ih_error err = item->error;
    if (item->kind != IH_ITEM_FAILURE && ih_counts_open(&counts, &err) == IH_OK &&
        ih_item_counts(item, counts, &err) == IH_OK)
        return py_counts_new(state, counts, source);
    ih_counts_close(counts);
    return failed(py_error_new(state, &err, source), self->raises);
}

/* The end of the scan, or the error that ended it. */
static PyObject *end_of(struct iterator *self, const struct ih_item *item, struct ih_error *err)
{
    struct py_state *state = py_state_of((PyObject *)self);
    PyObject *source = NULL;
    const bool is_empty = self->list && !self->has_items && !self->is_shard;
    if (err->status == IH_END && self->failure) {
        PyErr_SetObject((PyObject *)Py_TYPE(self->failure), self->failure);
        return NULL;
    }
    if (err->status == IH_END && !is_empty)
        return NULL;
    if (err->status == IH_END) {
        err->status = IH_IO;
        strcpy(err->message, "no images found: the list is empty");
        source = PyUnicode_DecodeFSDefault(PyBytes_AsString(self->list));
    } else if (item && item->path) {
        source = PyUnicode_DecodeFSDefault(item->path);
    }
    py_error_raise(state, err, source);
    Py_XDECREF(source);
    return NULL;
}

/* A total beside single images ends the scan: their sum would count images twice. */
static bool is_mixed(struct iterator *self, const struct ih_item *item, struct ih_error *err)
{
    self->has_totals = self->has_totals || item->kind == IH_ITEM_TOTAL;
    self->has_images = self->has_images || item->kind != IH_ITEM_TOTAL;
    if (!self->has_totals || !self->has_images)
        return false;
    *err = (struct ih_error){
        .status = IH_USAGE,
        .message = "a total beside single images: their sum would count images twice"};
    return true;
}

/* The next result of a scan. NULL: the end, or an exception is set. */
static PyObject *next_scanned(struct iterator *self)
{
    const struct ih_item *item;
    struct ih_error err = {.status = IH_OK};
    for (;;) {
        if (!wait(self))
            return NULL;
        if (ih_scan_next(self->scan, &item, &err) != IH_OK)
            return end_of(self, item, &err);
        self->has_items = self->has_items || item->kind != IH_ITEM_NONE;
        self->n_skipped += item->kind == IH_ITEM_SKIPPED;
        if (item->kind == IH_ITEM_IMAGE || item->kind == IH_ITEM_TOTAL ||
            item->kind == IH_ITEM_FAILURE)
            break;
    }
    if (is_mixed(self, item, &err)) {
        struct ih_item about = *item;
        about.path = item->result_file ? item->result_file : item->path;
        return end_of(self, &about, &err);
    }
    PyObject *source = item->kind == IH_ITEM_TOTAL ? NULL : PyUnicode_DecodeFSDefault(item->path);
    PyObject *result = PyErr_Occurred() ? NULL : result_of(self, item, source);
    Py_XDECREF(source);
    return result;
}

/* The next result of count_many. NULL: the end, or an exception is set. */
static PyObject *next_counted(struct iterator *self)
{
    const struct ih_item *item;
    struct ih_error err;
    PyObject *result;
    if (!wait(self))
        return NULL;
    if (has_error_first(self))
        result = failed(Py_NewRef(input_of(self, self->n_given)->error), self->raises);
    else if (ih_scan_next(self->scan, &item, &err) == IH_OK)
        result = result_of(self, item, input_of(self, self->n_given)->source);
    else
        return end_of(self, item, &err);
    release_input(self);
    return result;
}

/* ---- the iterator ---- */

/* Only one thread may use the iterator, and its own iterable may not. */
static bool enter(struct iterator *self)
{
    if (self->pid && self->pid != getpid())
        PyErr_SetString(PyExc_RuntimeError, "this iterator was made before fork()");
    else if (self->is_busy)
        PyErr_SetString(PyExc_ValueError, "this iterator is in use");
    else
        return self->is_busy = true;
    return false;
}

static PyObject *iterator_next(PyObject *object)
{
    struct iterator *self = self_of(object);
    PyObject *result = NULL;
    if (!enter(self))
        return NULL;
    if (self->pid)
        result = self->is_walk ? next_scanned(self) : next_counted(self);
    if (!result)
        stop(self);
    self->is_busy = false;
    return result;
}

static PyObject *iterator_close(PyObject *object, PyObject *arguments)
{
    struct iterator *self = self_of(object);
    (void)arguments;
    if (!enter(self))
        return NULL;
    stop(self);
    self->is_busy = false;
    return Py_NewRef(Py_None);
}

static PyObject *iterator_self(PyObject *object, PyObject *arguments)
{
    (void)arguments;
    return Py_NewRef(object);
}

static PyObject *iterator_skipped(PyObject *object, void *closure)
{
    struct iterator *self = self_of(object);
    (void)closure;
    return PyLong_FromUnsignedLongLong(self->n_skipped);
}

static PyObject *iterator_stream(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *table = py_delegate("imghist._table", "Table", PyTuple_Pack(1, self), NULL);
    PyObject *method = table ? PyObject_GetAttrString(table, "__arrow_c_stream__") : NULL;
    PyObject *result = method ? PyObject_Call(method, args, keywords) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(table);
    return result;
}

static int iterator_traverse(PyObject *object, visitproc visit, void *arg)
{
    const struct iterator *self = self_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->failure);
    Py_VISIT(self->items);
    Py_VISIT(self->context);
    /* Workers leave the references of inputs alone: those change with the GIL only. */
    for (uint64_t i = self->n_given; i < self->n_added; i++) {
        const struct py_input *input = input_of(self, i);
        Py_VISIT(input->source);
        Py_VISIT(input->held);
        Py_VISIT(input->error);
        Py_VISIT(input->tensor.held);
        Py_VISIT(input->tensor.view.obj);
    }
    return 0;
}

/* Before a cycle of garbage is broken. It is not in use: that would be a reference to it. */
static void iterator_finalize(PyObject *object)
{
    stop(self_of(object));
}

static int iterator_clear(PyObject *object)
{
    struct iterator *self = self_of(object);
    Py_CLEAR(self->failure);
    Py_CLEAR(self->items);
    Py_CLEAR(self->list);
    Py_CLEAR(self->labels);
    Py_CLEAR(self->context);
    return 0;
}

static void iterator_dealloc(PyObject *object)
{
    struct iterator *self = self_of(object);
    PyObject_GC_UnTrack(object);
    const bool is_inherited = self->pid && self->pid != getpid();
    stop(self);
    if (!is_inherited)
        PyMem_Free(self->inputs);
    iterator_clear(object);
    py_free(object);
}

/* Opens an iterator over items. settings: completed. */
static struct iterator *new_iterator(struct py_state *state, PyObject *context, PyObject *items,
                                     int raises, struct ih_scan_settings *settings)
{
    struct ih_context *opened = py_context_get(context);
    struct iterator *self = opened ? self_of(py_new(state->iterator)) : NULL;
    struct ih_error err;
    enum ih_status status;
    if (!self)
        return NULL;
    self->context = Py_NewRef(context);
    self->raises = raises;
    self->is_walk = !settings->takes_only_images;
    self->is_shard = settings->n_shards > 0;
    self->items = PyObject_GetIter(items);
    settings->is_fed = 1;
    if (self->items && !self->is_walk) {
        self->n_inputs = (uint64_t)settings->n_threads * INPUTS_PER_THREAD;
        self->n_inputs_min = (uint64_t)settings->n_threads * INPUTS_PER_THREAD_MIN;
        self->inputs = PyMem_Calloc((size_t)self->n_inputs, sizeof *self->inputs);
        if (!self->inputs)
            PyErr_NoMemory();
    }
    if (!PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS status =
            ih_scan_open(opened, settings, sizeof *settings, &self->scan, &err);
        Py_END_ALLOW_THREADS if (status == IH_OK) self->pid = getpid();
        else
        {
            PyObject *source = settings->list && !settings->labels
                                   ? PyUnicode_DecodeFSDefault(settings->list)
                                   : NULL;
            py_error_raise(state, &err, source);
            Py_XDECREF(source);
        }
    }
    if (!self->scan)
        Py_CLEAR(self);
    return self;
}

PyObject *py_iterate(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    struct ih_scan_settings settings = {.takes_only_images = 1};
    PyObject *context, *iterable, *range;
    const char *letters, *order;
    struct py_layout layout;
    int raises;
    if (!PyArg_ParseTuple(arguments, "O!OIpzzO:iterate", state->context, &context, &iterable,
                          &settings.n_threads, &raises, &letters, &order, &range) ||
        !py_layout_parse(&layout, letters, order, range))
        return NULL;
    struct iterator *self = new_iterator(state, context, iterable, raises, &settings);
    if (self)
        self->layout = layout;
    return (PyObject *)self;
}

/* A converter: an int, or None. */
static int to_label(PyObject *object, void *settings)
{
    struct ih_scan_settings *s = settings;
    s->has_ignore_label = object != Py_None;
    return object == Py_None || py_to_unsigned(object, &s->ignore_label);
}

PyObject *py_walk(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    struct ih_scan_settings settings = {.paths = NULL};
    PyObject *context, *paths, *list, *labels = Py_None;
    int raises, reads_records;
    if (!PyArg_ParseTuple(arguments, "O!OOIIIpp|OO&:walk", state->context, &context, &paths, &list,
                          &settings.shard, &settings.n_shards, &settings.n_threads, &raises,
                          &reads_records, &labels, to_label, &settings))
        return NULL;
    if (labels != Py_None && !(settings.labels = PyBytes_AsString(labels)))
        return NULL;
    settings.refuses_records = !reads_records;
    if (list != Py_None && !(settings.list = PyBytes_AsString(list)))
        return NULL;
    struct iterator *self = new_iterator(state, context, paths, raises, &settings);
    if (self && settings.list)
        self->list = Py_NewRef(list);
    if (self)
        self->labels = Py_NewRef(labels);
    return (PyObject *)self;
}

static PyMethodDef iterator_methods[] = {
    {"close", iterator_close, METH_NOARGS, "close($self)\n--\n\nEnds the threads."},
    {"__enter__", iterator_self, METH_NOARGS, NULL},
    {"__exit__", iterator_close, METH_VARARGS, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "See PEP 585."},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))iterator_stream,
     METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_stream__($self, requested_schema=None)\n--\n\nThe results as an Arrow stream; see "
     "imghist.Table."},
    {NULL, NULL, 0, NULL},
};

static PyObject *iterator_bins(PyObject *object, void *closure)
{
    PyObject *context = self_of(object)->context;
    return context ? py_context_bins(context, closure) : Py_NewRef(Py_None);
}

static PyGetSetDef iterator_getset[] = {
    {"bins", iterator_bins, NULL, "256 or 'native', of the context.", NULL},
    {"skipped", iterator_skipped, NULL, "Files in directories that are no images, so far.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot iterator_slots[] = {
    {Py_tp_doc, "Results in the order of the inputs. Use it in one thread at a time."},
    {Py_tp_traverse, iterator_traverse},
    {Py_tp_clear, iterator_clear},
    {Py_tp_finalize, iterator_finalize},
    {Py_tp_dealloc, iterator_dealloc},
    {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, iterator_next},
    {Py_tp_methods, iterator_methods},
    {Py_tp_getset, iterator_getset},
    {0, NULL},
};

PyType_Spec py_iterator_spec = {.name = "imghist.Results",
                                .basicsize = sizeof(struct iterator),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                         Py_TPFLAGS_IMMUTABLETYPE |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = iterator_slots};
