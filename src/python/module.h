/*
 * The Python extension: from Python objects to imghist.h and back.
 *
 * Only the limited API of Python 3.11 is used, so one build serves all later versions. The GIL is
 * held in all functions below unless they say otherwise. A function that returns NULL, -1 or false
 * has set a Python exception.
 */
#ifndef IH_PYTHON_MODULE_H
#define IH_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "imghist.h"

#include <stdbool.h>
#include <sys/types.h>

#ifdef Py_GIL_DISABLED
#error "free-threaded Python has no stable ABI yet: use a build of Python with the GIL"
#endif

/* The state of the module: its types. */
struct py_state {
    PyObject *error;                                          /* imghist.Error */
    PyTypeObject *stats, *counts, *bins, *context, *iterator; /* owned */
};

/* The state of the module that made an object's type. Its types cannot be subclassed. */
static inline struct py_state *py_state_of(PyObject *self)
{
    return PyType_GetModuleState(Py_TYPE(self));
}

/* Allocates an object of a type with all fields zero. */
PyObject *py_new(PyTypeObject *type);

/* Frees an object and drops its reference to its type, at the end of tp_dealloc. */
void py_free(PyObject *self);

/* Makes an exception: ValueError, MemoryError, or imghist.Error; each with status and source.
 * source is the name of the file, or NULL. */
PyObject *py_error_new(struct py_state *state, const struct ih_error *err, PyObject *source);

/* Raises it. Returns NULL. */
PyObject *py_error_raise(struct py_state *state, const struct ih_error *err, PyObject *source);

/* Takes the current exception off the thread; the caller owns it. NULL: there is none. */
PyObject *py_exception_take(bool keeps_traceback);

/* Whether an object has an attribute. False, too, if an exception is set or asking raises another
 * one than AttributeError, such as KeyboardInterrupt; it then stays set. */
bool py_has(PyObject *object, const char *name);

/* Calls a function of a Python module of the package, imported when it is first needed. Takes the
 * reference to the tuple of arguments; NULL: an exception is set, and stays. keywords: NULL: none.
 */
PyObject *py_delegate(const char *module, const char *function, PyObject *arguments,
                      PyObject *keywords);

/* Converters of PyArg_Parse, whose own formats for unsigned numbers wrap. */
int py_to_u64(PyObject *object, void *to);
int py_to_unsigned(PyObject *object, void *to);

extern PyType_Spec py_bins_spec, py_context_spec, py_counts_spec, py_iterator_spec;

/* Makes the type Stats, and adds it and STATS_CODES to the module. */
enum { PY_STATS_MAX = 32 };
bool py_stats_add(PyObject *module, struct py_state *state);

/* ---- tensors: arrays in host or GPU memory (tensor.c) ---- */

enum { PY_DIMENSIONS_MAX = 5 };

/* A description of an array, with a reference to its memory. */
struct py_tensor {
    const void *data;
    char kind; /* 'u' unsigned, 'i' signed integers, 'f' floats, 'B' bfloat, 'b' bool; '?': any
                  other, or numbers in the other byte order: */
    char swapped_kind; /* their kind, or 0 */
    unsigned bits;     /* per element */
    int n_dimensions;
    Py_ssize_t shape[PY_DIMENSIONS_MAX];   /* not negative */
    Py_ssize_t strides[PY_DIMENSIONS_MAX]; /* bytes */
    bool is_on_gpu;
    Py_buffer view; /* held if view.obj is not NULL */
    PyObject *held; /* owned */
    void *managed;  /* DLManagedTensor, owned */
};

/* Whether an object has the buffer protocol, __array_interface__, DLPack or
 * __cuda_array_interface__. Exceptions are as in py_has. */
bool py_tensor_is_one(PyObject *object);

/* "signed integers"; static. */
const char *py_kind_name(char kind);

/* Whether it is a masked array of NumPy, which py_tensor_open refuses. Exceptions are as in py_has.
 */
bool py_tensor_is_masked(PyObject *object);

/* object: any of these, or a capsule of __dlpack__, which is used up.
 * stream: for __dlpack__ of a tensor on a GPU; NULL: it is not asked for its memory, and only
 * is_on_gpu is set. */
bool py_tensor_open(struct py_tensor *tensor, PyObject *object, PyObject *stream, bool is_written);
void py_tensor_close(struct py_tensor *tensor); /* all zero is allowed; keeps an exception */

/* batch(context, tensor, layout, order, labels, n_labels, has_luma, wants_sums, stream, allocate);
 * see _batch.py (batch.c). */
PyObject *py_batch(PyObject *module, PyObject *arguments);

/* ---- inputs: what can be counted (input.c) ---- */

/* How the dimensions of an array are read. */
struct py_layout {
    char letters[4]; /* "HWC"; "": by the number of dimensions */
    enum ih_order order;
    unsigned range_low, range_high; /* 0, 0: the whole range */
};

/* Parses the keyword arguments; each may be NULL. */
bool py_layout_parse(struct py_layout *layout, const char *letters, const char *order,
                     PyObject *range);

enum py_input_kind {
    PY_INPUT_PATH,
    PY_INPUT_BYTES,
    PY_INPUT_STREAM,
    PY_INPUT_ARRAY,
    PY_INPUT_ERROR
};

/* An input, with references to all memory that counting reads. */
struct py_input {
    enum py_input_kind kind;
    PyObject *source;              /* owned: the path as str; NULL for other inputs */
    PyObject *held;                /* owned: the bytes of path, or the stream */
    struct py_tensor tensor, mask; /* mask: of a masked array, or all zero */
    char *path;
    const void *bytes;
    size_t size_bytes; /* of bytes or of the array */
    struct ih_array array;
    PyObject *error; /* owned: an exception of the stream's read, or in place of an input */
};

/* is_read: a file object is read at once, so that counting needs no GIL. */
bool py_input_open(struct py_input *input, PyObject *object, const struct py_layout *layout,
                   bool is_read);

/* Counts it. Called without the GIL; takes it only to read a stream. */
enum ih_status py_input_count(struct py_input *input, struct ih_context *context,
                              struct ih_counts *counts, struct ih_error *err);

/* The input as a source of a scan, which borrows it. Not for streams and errors. */
struct ih_scan_source py_input_source(const struct py_input *input);

/* Releases it; all zero is allowed. */
void py_input_close(struct py_input *input);

/* ---- results (counts.c) ---- */

/* Makes a Counts; takes ownership of counts, also on failure. file: str or NULL. */
PyObject *py_counts_new(struct py_state *state, struct ih_counts *counts, PyObject *file);

/* The counts of a Counts object. */
const struct ih_counts *py_counts_get(PyObject *self);

/* Reads what Counts.to_bytes has written: load(bytes, file) -> Counts. */
PyObject *py_load(PyObject *module, PyObject *arguments);

/* failures(n) -> Counts: the total of n inputs that failed (record.c). */
PyObject *py_failures(PyObject *module, PyObject *number);

/* ndjson(file, counts, error, folder) -> bytes: a line of a result file. All but counts are bytes;
 * an empty error: the counts are written; folder: of a total (record.c). */
PyObject *py_ndjson(PyObject *module, PyObject *arguments);

/* Draws a chart: chart(counts, name, file_name, (width, height), scale, theme, title, scale_y)
 * -> bytes (record.c). */
PyObject *py_chart(PyObject *module, PyObject *arguments);

/* Makes an Arrow stream in a PyCapsule (arrow.c). */
PyObject *py_arrow_stream(PyObject *module, PyObject *arguments);

/* ---- contexts (context.c) ---- */

/* count_labels(context, x, labels, ignored, layout, order, range) -> {label: Counts}; ignored: an
 * int or None */
PyObject *py_count_labels(PyObject *module, PyObject *arguments);

/* The context, opened again after fork() if it counts on the CPU. */
struct ih_context *py_context_get(PyObject *self);

/* Its bins, as the argument has them: 256 or 'native'. */
PyObject *py_context_bins(PyObject *self, void *unused);

/* ---- many inputs (many.c) ---- */

/* iterate(context, iterable, threads, raises, layout, order, range) -> iterator */
PyObject *py_iterate(PyObject *module, PyObject *arguments);

/* walk(context, paths, list, shard, n_shards, threads, raises, reads_records, labels, ignored) ->
 * iterator; paths: an iterable of bytes; labels: bytes or None; ignored: int or None */
PyObject *py_walk(PyObject *module, PyObject *arguments);

#endif
