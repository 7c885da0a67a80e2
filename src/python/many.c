/*
 * Many inputs on all cores, results in order.
 *
 * The thread that iterates takes items from the iterable and puts them into a ring of jobs. Worker
 * threads count them and never need the GIL. So Python code runs only in the thread that iterates,
 * and workers do not wait for it. That thread fills the ring while the result it waits for is not
 * ready; then it hands out the result and adds at most two items, so a slow iterable does not hold
 * up finished results.
 */
#include "module.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    JOBS_PER_THREAD = 64, /* a job may take 64 times as long as the others */
    JOBS_PER_THREAD_MIN = 2,
    WAIT_MS = 50 /* between checks for KeyboardInterrupt */
};

/* Files and arrays in memory, which waiting jobs hold. */
static const size_t held_bytes_max = (size_t)256 << 20;

struct job {
    struct py_input input;
    struct ih_counts *counts; /* owned */
    enum ih_status status;
    struct ih_error error;
    bool is_done;
};

struct iterator {
    PyObject_HEAD PyObject *context, *items; /* owned */
    struct ih_context *opened;               /* of context */
    struct py_layout layout;
    bool raises; /* the first failed input; false: its exception is a result */
    bool is_at_end;
    bool is_busy;      /* in __next__ or close, which may release the GIL */
    PyObject *failure; /* owned: the exception of the iterable, raised after the last result */
    size_t held_bytes;
    pid_t pid;            /* 0: at the end */
    struct py_scan *scan; /* owned; gives the results in place of all that follows; NULL: none */
    uint64_t n_skipped;   /* of a scan that has ended */

    pthread_t *threads;
    unsigned n_threads;
    struct job *jobs; /* job i is in jobs[i % n_jobs] */
    uint64_t n_jobs;
    uint64_t n_added, n_given; /* only this thread uses n_given */

    pthread_mutex_t lock; /* guards what follows, n_added and is_done */
    pthread_cond_t on_job, on_done;
    uint64_t n_begun;
    bool is_stopping;
};

static struct iterator *self_of(PyObject *object)
{
    return (struct iterator *)object;
}

/* ---- workers, without the GIL ---- */

static bool is_stopping(void *user)
{
    struct iterator *self = user;
    pthread_mutex_lock(&self->lock);
    const bool is_stopping = self->is_stopping;
    pthread_mutex_unlock(&self->lock);
    return is_stopping;
}

static void *work(void *user)
{
    struct iterator *self = user;
    const struct ih_interrupt interrupt = {is_stopping, self};
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->is_stopping && self->n_begun == self->n_added)
            pthread_cond_wait(&self->on_job, &self->lock);
        if (self->is_stopping)
            break;
        struct job *job = &self->jobs[self->n_begun++ % self->n_jobs];
        pthread_mutex_unlock(&self->lock);
        job->status = ih_counts_open(&job->counts, &job->error);
        if (job->status == IH_OK)
            job->status =
                py_input_count(&job->input, self->opened, &interrupt, job->counts, &job->error);
        pthread_mutex_lock(&self->lock);
        job->is_done = true;
        pthread_cond_signal(&self->on_done);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* Starts the workers, which run no signal handlers. */
static bool start(struct iterator *self, unsigned n_threads)
{
    pthread_condattr_t clock;
    sigset_t all, before;
    self->n_jobs = (uint64_t)n_threads * JOBS_PER_THREAD;
    self->jobs = PyMem_Calloc((size_t)self->n_jobs, sizeof *self->jobs);
    self->threads = PyMem_Calloc(n_threads, sizeof *self->threads);
    if (!self->jobs || !self->threads)
        return PyErr_NoMemory(), false;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->on_job, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&self->on_done, &clock);
    pthread_condattr_destroy(&clock);
    self->pid = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (self->n_threads < n_threads &&
           pthread_create(&self->threads[self->n_threads], NULL, work, self) == 0)
        self->n_threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (self->n_threads > 0)
        return true;
    PyErr_SetString(PyExc_RuntimeError, "cannot start a thread");
    return false;
}

static void release_job(struct iterator *self, struct job *job)
{
    self->held_bytes -= job->input.size_bytes;
    py_input_close(&job->input);
    ih_counts_close(job->counts);
    memset(job, 0, sizeof *job);
}

/* Ends the workers and releases all jobs. In a child of fork() there are no workers, and the locks
 * and jobs are left as they are. */
static void stop(struct iterator *self)
{
    if (!self->pid || self->pid != getpid())
        return;
    self->pid = 0;
    if (self->scan) {
        uint64_t n_skipped;
        Py_BEGIN_ALLOW_THREADS n_skipped = py_scan_close(self->scan);
        Py_END_ALLOW_THREADS self->n_skipped = n_skipped;
        self->scan = NULL;
        return;
    }
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&self->lock);
    self->is_stopping = true;
    pthread_cond_broadcast(&self->on_job);
    pthread_mutex_unlock(&self->lock);
    for (unsigned i = 0; i < self->n_threads; i++)
        pthread_join(self->threads[i], NULL);
    Py_END_ALLOW_THREADS for (; self->n_given < self->n_added; self->n_given++)
        release_job(self, &self->jobs[self->n_given % self->n_jobs]);
    pthread_cond_destroy(&self->on_done);
    pthread_cond_destroy(&self->on_job);
    pthread_mutex_destroy(&self->lock);
    self->n_threads = 0;
}

/* ---- filling the ring ---- */

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

/* Takes the current exception off the thread; the caller owns it. */
static PyObject *take_exception(bool keeps_traceback)
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

/* Opens what the iterable gave. An exception becomes the job's error. */
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
    input->error = take_exception(false); /* without its frames: there may be many */
    if (is_pair && input->error && PyUnicode_Check(PyTuple_GetItem(item, 0)))
        set_source(input->error, PyTuple_GetItem(item, 0));
    return input->error != NULL;
}

/* Ends the input. An exception is kept for later, unless it must stop the program. */
static void end_items(struct iterator *self)
{
    self->is_at_end = true;
    if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_Exception))
        return;
    self->failure = take_exception(true);
    if (PyErr_GivenExceptionMatches(self->failure, PyExc_StopIteration)) { /* as in a generator */
        PyObject *cause = self->failure;
        PyErr_SetString(PyExc_RuntimeError, "StopIteration while an image was opened");
        self->failure = take_exception(true);
        PyException_SetCause(self->failure, cause);
    }
}

/* Takes one item, unless it was the last one. Returns false if an exception is set. */
static bool add_item(struct iterator *self)
{
    PyObject *item = PyIter_Next(self->items);
    struct job *job = &self->jobs[self->n_added % self->n_jobs];
    const bool is_open = item && open_item(self, &job->input, item);
    Py_XDECREF(item);
    if (!is_open) {
        end_items(self);
        return !PyErr_Occurred();
    }
    self->held_bytes += job->input.size_bytes;
    pthread_mutex_lock(&self->lock);
    self->n_added++;
    pthread_cond_signal(&self->on_job);
    pthread_mutex_unlock(&self->lock);
    return true;
}

static bool has_room(const struct iterator *self)
{
    const uint64_t n = self->n_added - self->n_given;
    return !self->is_at_end && n < self->n_jobs &&
           (self->held_bytes < held_bytes_max ||
            n < (uint64_t)self->n_threads * JOBS_PER_THREAD_MIN);
}

/* Waits up to WAIT_MS for a job, if waits is set. Returns whether it is done. */
static bool is_done(struct iterator *self, const struct job *job, bool waits)
{
    struct timespec until;
    bool is_done;
    pthread_mutex_lock(&self->lock);
    is_done = job->is_done;
    pthread_mutex_unlock(&self->lock);
    if (is_done || !waits)
        return is_done;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&self->lock);
    while (!job->is_done &&
           pthread_cond_timedwait(&self->on_done, &self->lock, &until) != ETIMEDOUT)
        ;
    is_done = job->is_done;
    pthread_mutex_unlock(&self->lock);
    Py_END_ALLOW_THREADS return is_done;
}

/* Fills the ring and waits for the next job. NULL: the end, or an exception is set. */
static struct job *next_job(struct iterator *self)
{
    struct job *job = &self->jobs[self->n_given % self->n_jobs];
    for (unsigned n_new = 0; has_room(self); n_new++) {
        if (self->n_given < self->n_added && n_new >= 2 && is_done(self, job, false))
            break;
        if (!add_item(self))
            return NULL;
    }
    if (self->n_given == self->n_added && self->failure)
        PyErr_SetObject((PyObject *)Py_TYPE(self->failure), self->failure);
    if (self->n_given == self->n_added)
        return NULL;
    while (!is_done(self, job, true))
        if (PyErr_CheckSignals() < 0)
            return NULL;
    return job;
}

/* ---- the iterator ---- */

/* Turns a job into a result: Counts, an exception, or NULL with an exception set. */
static PyObject *result_of(struct iterator *self, struct job *job)
{
    struct py_state *state = py_state_of((PyObject *)self);
    PyObject *result = NULL;
    if (job->input.kind == PY_INPUT_ERROR) {
        result = Py_NewRef(job->input.error);
    } else if (job->status == IH_OK) {
        result = py_counts_new(state, job->counts, job->input.source);
        job->counts = NULL;
        return result;
    } else {
        result = py_error_new(state, &job->error, job->input.source);
    }
    if (result && self->raises) {
        PyErr_SetObject((PyObject *)Py_TYPE(result), result);
        Py_CLEAR(result);
    }
    return result;
}

/* Takes one path from the iterable for the scan. Returns false if an exception is set. */
static bool add_path(struct iterator *self)
{
    PyObject *item = PyIter_Next(self->items);
    const char *path = item ? PyBytes_AsString(item) : NULL;
    if (!path)
        end_items(self);
    if (!PyErr_Occurred() && !py_scan_feed(self->scan, path))
        PyErr_NoMemory();
    Py_XDECREF(item);
    return !PyErr_Occurred();
}

/* Feeds paths and waits for a result; not for more than two paths while there is one. Returns
 * PY_SCAN_WAITS with an exception set. */
static enum py_scan_state wait_scanned(struct iterator *self, struct py_scanned *r)
{
    for (unsigned n_new = 0;; n_new++) {
        enum py_scan_state found;
        if (!self->is_at_end && py_scan_wants_paths(self->scan) && !add_path(self))
            return PY_SCAN_WAITS;
        if (n_new < 1)
            continue;
        Py_BEGIN_ALLOW_THREADS found = py_scan_next(self->scan, WAIT_MS, r);
        Py_END_ALLOW_THREADS if (found != PY_SCAN_WAITS || PyErr_CheckSignals() < 0) return found;
    }
}

/* The next result of a scan. NULL: the end, or an exception is set. */
static PyObject *next_scanned(struct iterator *self)
{
    struct py_state *state = py_state_of((PyObject *)self);
    struct py_scanned r;
    const enum py_scan_state found = wait_scanned(self, &r);
    if (found == PY_SCAN_ENDS && r.error.status == IH_OK && self->failure)
        PyErr_SetObject((PyObject *)Py_TYPE(self->failure), self->failure);
    if (found == PY_SCAN_WAITS || (found == PY_SCAN_ENDS && r.error.status == IH_OK))
        return NULL;
    PyObject *file = r.path ? PyUnicode_DecodeFSDefault(r.path) : NULL, *result = NULL;
    if (r.counts && (file || !r.path)) {
        result = py_counts_new(state, r.counts, file);
        r.counts = NULL;
    } else if (file || !r.path) {
        result = py_error_new(state, &r.error, file);
        if (result && (self->raises || found == PY_SCAN_ENDS)) {
            PyErr_SetObject((PyObject *)Py_TYPE(result), result);
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(file);
    py_scanned_release(&r);
    return result;
}

/* The next result of a job. NULL: the end, or an exception is set. */
static PyObject *next_counted(struct iterator *self)
{
    struct job *job = next_job(self);
    PyObject *result = job ? result_of(self, job) : NULL;
    if (job) {
        release_job(self, job);
        self->n_given++;
    }
    return result;
}

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
        result = self->scan ? next_scanned(self) : next_counted(self);
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
    const bool is_running = self->scan && self->pid == getpid();
    return PyLong_FromUnsignedLongLong(is_running ? py_scan_skipped(self->scan) : self->n_skipped);
}

static PyObject *iterator_stream(PyObject *self, PyObject *args, PyObject *keywords)
{
    PyObject *module = PyImport_ImportModule("imghist._table");
    PyObject *table = module ? PyObject_CallMethod(module, "Table", "O", self) : NULL;
    PyObject *method = table ? PyObject_GetAttrString(table, "__arrow_c_stream__") : NULL;
    PyObject *result = method ? PyObject_Call(method, args, keywords) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(table);
    Py_XDECREF(module);
    return result;
}

static int iterator_traverse(PyObject *object, visitproc visit, void *arg)
{
    const struct iterator *self = self_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->failure);
    Py_VISIT(self->items);
    Py_VISIT(self->context);
    /* Workers leave the references of jobs alone: those change with the GIL only. */
    for (uint64_t i = self->n_given; i < self->n_added; i++) {
        const struct py_input *input = &self->jobs[i % self->n_jobs].input;
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
    Py_CLEAR(self->context);
    return 0;
}

static void iterator_dealloc(PyObject *object)
{
    struct iterator *self = self_of(object);
    PyObject_GC_UnTrack(object);
    const bool is_inherited = self->pid && self->pid != getpid();
    stop(self);
    if (!is_inherited) {
        PyMem_Free(self->jobs);
        PyMem_Free(self->threads);
    }
    iterator_clear(object);
    py_free(object);
}

static struct iterator *new_iterator(struct py_state *state, PyObject *context, int raises)
{
    struct ih_context *opened = py_context_get(context);
    struct iterator *self = opened ? self_of(py_new(state->iterator)) : NULL;
    if (self) {
        self->context = Py_NewRef(context);
        self->opened = opened;
        self->raises = raises;
    }
    return self;
}

PyObject *py_iterate(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    PyObject *context, *iterable, *range;
    const char *letters, *order;
    struct py_layout layout;
    int raises;
    unsigned n_threads;
    if (!PyArg_ParseTuple(arguments, "O!OIpzzO:iterate", state->context, &context, &iterable,
                          &n_threads, &raises, &letters, &order, &range) ||
        !py_layout_parse(&layout, letters, order, range))
        return NULL;
    struct iterator *self = new_iterator(state, context, raises);
    if (!self)
        return NULL;
    self->layout = layout;
    self->items = PyObject_GetIter(iterable);
    if (!self->items || !start(self, n_threads))
        Py_CLEAR(self);
    return (PyObject *)self;
}

PyObject *py_walk(PyObject *module, PyObject *arguments)
{
    struct py_state *state = PyModule_GetState(module);
    struct py_scan_options o = {.n_threads = 0};
    struct ih_error err;
    enum ih_status status;
    PyObject *context, *paths, *list;
    int raises;
    if (!PyArg_ParseTuple(arguments, "O!OOIIIpp:walk", state->context, &context, &paths, &list,
                          &o.shard, &o.n_shards, &o.n_threads, &raises, &o.reads_records))
        return NULL;
    struct iterator *self = new_iterator(state, context, raises);
    if (!self)
        return NULL;
    o.measurement = py_context_measurement(context, self->opened);
    self->items = PyObject_GetIter(paths);
    o.list = self->items && list != Py_None ? PyBytes_AsString(list) : NULL;
    if (!PyErr_Occurred()) {
        Py_BEGIN_ALLOW_THREADS status = py_scan_open(self->opened, &o, &self->scan, &err);
        Py_END_ALLOW_THREADS if (status == IH_OK) self->pid = getpid();
        else
        {
            PyObject *source = o.list ? PyUnicode_DecodeFSDefault(o.list) : NULL;
            py_error_raise(state, &err, source);
            Py_XDECREF(source);
        }
    }
    if (!self->scan)
        Py_CLEAR(self);
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

static PyGetSetDef iterator_getset[] = {
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
