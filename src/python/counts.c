/* Counts: the bins as a buffer of uint64 [planes, n_bins], statistics, sums and comparisons; and
 * Stats, the statistics of one plane as a named tuple. */
#include "module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    PyObject_HEAD struct ih_counts *counts; /* owned */
    PyObject *file;                         /* owned: str or NULL */
    const uint64_t *table;                  /* [n_planes][n_bins]; NULL until it is needed */
    uint64_t *copy;                         /* owned; NULL if table is of counts */
    Py_ssize_t shape[2], strides[2];
    unsigned n_channels, n_planes, n_bins;
};

static struct counts *self_of(PyObject *object)
{
    return (struct counts *)object;
}

/* The library's index of plane i: luma follows the channels. */
static unsigned plane_at(const struct counts *self, unsigned i)
{
    return i < self->n_channels ? i : (unsigned)IH_LUMA;
}

PyObject *py_counts_new(struct py_state *state, struct ih_counts *counts, PyObject *file)
{
    struct counts *self = self_of(py_new(state->counts));
    if (!self) {
        ih_counts_close(counts);
        return NULL;
    }
    self->counts = counts;
    self->file = Py_XNewRef(file);
    self->n_bins = ih_counts_n_bins(counts);
    while (ih_counts_plane(counts, self->n_channels) && self->n_channels < IH_LUMA)
        self->n_channels++;
    self->n_planes = self->n_channels + (ih_counts_plane(counts, IH_LUMA) != NULL);
    return (PyObject *)self;
}

const struct ih_counts *py_counts_get(PyObject *self)
{
    return self_of(self)->counts;
}

static void counts_dealloc(PyObject *object)
{
    struct counts *self = self_of(object);
    ih_counts_close(self->counts);
    Py_XDECREF(self->file);
    PyMem_Free(self->copy);
    py_free(object);
}

static struct ih_summary summary_of(PyObject *object)
{
    struct ih_summary s;
    ih_counts_summary(self_of(object)->counts, &s, sizeof s);
    return s;
}

static PyObject *counts_histogram(PyObject *object, PyObject *key);

/* ---- the buffer ---- */

/* Gray is its own luma: its first use as a table makes one. */
static bool make_table(struct counts *self)
{
    if (self->table)
        return true;
    const size_t n_bins = self->n_bins, size_bytes = n_bins * sizeof *self->copy;
    const uint64_t *const first = ih_counts_bins(self->counts, plane_at(self, 0));
    bool has_gaps = self->n_planes == 0;
    for (unsigned i = 1; i < self->n_planes; i++)
        has_gaps |= ih_counts_bins(self->counts, plane_at(self, i)) != first + i * n_bins;
    if (has_gaps && !(self->copy = PyMem_Malloc(self->n_planes * size_bytes))) {
        PyErr_NoMemory();
        return false;
    }
    for (unsigned i = 0; i < self->n_planes && has_gaps; i++)
        memcpy(self->copy + i * n_bins, ih_counts_bins(self->counts, plane_at(self, i)),
               size_bytes);
    self->table = has_gaps ? self->copy : first;
    self->shape[0] = self->n_planes;
    self->shape[1] = (Py_ssize_t)n_bins;
    self->strides[0] = (Py_ssize_t)(n_bins * sizeof *self->table);
    self->strides[1] = sizeof *self->table;
    return true;
}

static int counts_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
    static char format[] = "Q";
    struct counts *self = self_of(object);
    view->obj = NULL;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "counts are read-only");
        return -1;
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self->n_planes > 1) {
        PyErr_SetString(PyExc_BufferError, "counts are in C order");
        return -1;
    }
    if (!make_table(self))
        return -1;
    *view = (Py_buffer){.buf = (void *)(uintptr_t)self->table, /* read-only */
                        .obj = Py_NewRef(object),
                        .len = self->shape[0] * self->strides[0],
                        .itemsize = sizeof *self->table,
                        .readonly = 1,
                        .ndim = 2,
                        .format = (flags & PyBUF_FORMAT) ? format : NULL,
                        .shape = (flags & PyBUF_ND) ? self->shape : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL};
    return 0;
}

/* Counts.bins, and each of its rows: a memoryview that matplotlib and pandas take, too. */
struct bins {
    PyObject_HEAD PyObject *counts, *view; /* owned; counts is NULL for a row */
};

static struct bins *bins_of(PyObject *object)
{
    return (struct bins *)object;
}

/* Takes the reference to the view. The row of a plane is one of counts == NULL. */
static PyObject *bins_new(PyTypeObject *type, PyObject *counts, PyObject *view)
{
    PyObject *bins = view ? py_new(type) : NULL;
    if (bins) {
        bins_of(bins)->counts = Py_XNewRef(counts);
        bins_of(bins)->view = Py_NewRef(view);
    }
    Py_XDECREF(view);
    return bins;
}

static PyObject *counts_bins(PyObject *object, void *closure)
{
    (void)closure;
    return bins_new(py_state_of(object)->bins, object, PyMemoryView_FromObject(object));
}

static void bins_dealloc(PyObject *object)
{
    Py_CLEAR(bins_of(object)->view);
    Py_CLEAR(bins_of(object)->counts);
    py_free(object);
}

static int bins_get_buffer(PyObject *object, Py_buffer *view, int flags)
{
    return PyObject_GetBuffer(bins_of(object)->view, view, flags);
}

static Py_ssize_t bins_length(PyObject *object)
{
    return PyObject_Size(bins_of(object)->view);
}

/* The end of a loop over the rows is an IndexError. */
static PyObject *bins_row(PyObject *object, Py_ssize_t i)
{
    const Py_ssize_t n = bins_length(object);
    if (i < 0 || i >= n)
        return PyErr_Format(PyExc_IndexError, "bins of %zd planes", n);
    PyObject *name = PyLong_FromSsize_t(i), *counts = bins_of(object)->counts;
    PyObject *row = name && counts ? counts_histogram(counts, name)
                    : name         ? PyObject_GetItem(bins_of(object)->view, name)
                                   : NULL;
    Py_XDECREF(name);
    return counts ? bins_new(Py_TYPE(object), NULL, row) : row;
}

/* What matplotlib and pandas ask for: they take a memoryview for an array, and fail. */
static PyObject *bins_to_numpy(PyObject *object, PyObject *none)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *array = numpy ? PyObject_CallMethod(numpy, "asarray", "O", object) : NULL;
    (void)none;
    Py_XDECREF(numpy);
    return array;
}

static PyMethodDef bins_methods[] = {{"to_numpy", bins_to_numpy, METH_NOARGS,
                                      "to_numpy($self, /)\n--\n\nThe bins as a NumPy array, "
                                      "without a copy."},
                                     {NULL, NULL, 0, NULL}};

/* An integer is a row; a pair is a number, as in a memoryview. */
static PyObject *bins_item(PyObject *object, PyObject *key)
{
    if (!PyIndex_Check(key))
        return PyObject_GetItem(bins_of(object)->view, key);
    const Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    return PyErr_Occurred() ? NULL : bins_row(object, i < 0 ? i + bins_length(object) : i);
}

static PyObject *bins_attribute(PyObject *object, PyObject *name)
{
    PyObject *own = PyObject_GenericGetAttr(object, name);
    if (own || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return own;
    PyErr_Clear();
    return PyObject_GetAttr(bins_of(object)->view, name);
}

static PyObject *bins_compare(PyObject *a, PyObject *b, int operation)
{
    PyObject *other = Py_TYPE(a) == Py_TYPE(b) ? bins_of(b)->view : b;
    return PyObject_RichCompare(bins_of(a)->view, other, operation);
}

static PyType_Slot bins_slots[] = {
    {Py_tp_doc,
     "uint64 [planes, n_bins]: pixels with each value. bins[i] is a row, bins[i, v] a number; "
     "all else as in memoryview."},
    {Py_tp_dealloc, bins_dealloc},
    {Py_tp_methods, bins_methods},
    {Py_tp_getattro, bins_attribute},
    {Py_tp_richcompare, bins_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_mp_subscript, bins_item},
    {Py_mp_length, bins_length},
    {Py_sq_item, bins_row},
    {Py_sq_length, bins_length},
    {Py_bf_getbuffer, bins_get_buffer},
    {0, NULL},
};

PyType_Spec py_bins_spec = {.name = "imghist.Bins",
                            .basicsize = sizeof(struct bins),
                            .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION,
                            .slots = bins_slots};

/* ---- planes and statistics ---- */

/* A value of the samples. */
static PyObject *py_sample_new(const struct ih_summary *of, double value)
{
    return of->is_float ? PyFloat_FromDouble(value) : PyLong_FromDouble(value);
}

/* Stats has one more field, which is not of the tuple: what percentile needs, the counts and the
 * number of the plane. */
static PyObject *stats_percentile(PyObject *object, PyObject *percent)
{
    PyObject *of = PyObject_GetAttrString(object, "_of");
    const double p = PyFloat_AsDouble(percent), millionths = nearbyint(p * 1e6);
    PyObject *result = NULL, *counts;
    double value;
    unsigned plane;
    struct ih_error err;
    if (!of || PyErr_Occurred())
        result = NULL;
    else if (!(p >= 0 && p <= 100 && fabs(p * 1e6 - millionths) < 1e-3))
        PyErr_SetString(PyExc_ValueError, "a percentile is 0 to 100, with at most 6 decimals");
    else if (!PyArg_ParseTuple(of, "OI:percentile", &counts, &plane))
        result = NULL;
    else if (ih_counts_percentile(self_of(counts)->counts, plane, (uint32_t)millionths, &value,
                                  &err) == IH_OK) {
        const struct ih_summary summary = summary_of(counts);
        result = py_sample_new(&summary, value);
    } else
        PyErr_SetString(PyExc_ValueError, err.message);
    Py_XDECREF(of);
    return result;
}

static PyMethodDef percentile_method = {
    "percentile", stats_percentile, METH_O,
    "percentile($self, percent, /)\n--\n\nThe smallest value that occurs whose cumulative count is "
    "at least percent / 100 * count.\n0 to 100, with at most 6 decimals."};

/* The attributes that the tuple lacks: the bins, the pixels that are counted apart, and the right
 * name of what users look for. */
static PyObject *stats_attribute(PyObject *object, PyObject *name)
{
    static const char *const names[][2] = {
        {"histogram", "bins"}, {"hist", "bins"},    {"counts", "bins"}, {"std", "stddev"},
        {"sd", "stddev"},      {"average", "mean"}, {"p50", "median"}};
    static const struct {
        const char *name;
        size_t offset;
    } apart[] = {{"nan", offsetof(struct ih_stats, nan)},
                 {"positive_infinity", offsetof(struct ih_stats, positive_infinity)},
                 {"negative_infinity", offsetof(struct ih_stats, negative_infinity)},
                 {"nodata", offsetof(struct ih_stats, nodata)}};
    if (PyUnicode_CompareWithASCIIString(name, "bins") == 0) {
        PyObject *of = PyObject_GetAttrString(object, "_of"), *row = NULL, *counts;
        unsigned plane, i = 0;
        if (of && PyArg_ParseTuple(of, "OI:bins", &counts, &plane)) {
            while (plane_at(self_of(counts), i) != plane)
                i++;
            PyObject *number = PyLong_FromUnsignedLong(i);
            row = number ? counts_histogram(counts, number) : NULL;
            Py_XDECREF(number);
            row = bins_new(py_state_of(counts)->bins, NULL, row);
        }
        Py_XDECREF(of);
        return row;
    }
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (PyUnicode_CompareWithASCIIString(name, apart[i].name) == 0) {
            PyObject *of = PyObject_GetAttrString(object, "_of"), *counts, *number = NULL;
            struct ih_stats stats;
            unsigned plane;
            if (of && PyArg_ParseTuple(of, "OI", &counts, &plane) &&
                ih_counts_stats(self_of(counts)->counts, plane, &stats, sizeof stats, NULL) ==
                    IH_OK)
                number = PyLong_FromUnsignedLongLong(
                    *(const uint64_t *)(const void *)((const char *)&stats + apart[i].offset));
            Py_XDECREF(of);
            return number;
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (PyUnicode_CompareWithASCIIString(name, names[i][0]) == 0)
            return PyErr_Format(PyExc_AttributeError, "Stats has no attribute '%U'; it is '%s'",
                                name, names[i][1]);
    return PyErr_Format(PyExc_AttributeError, "Stats has no attribute '%U'", name);
}

static PyMethodDef attribute_method = {"__getattr__", stats_attribute, METH_O,
                                       "__getattr__($self, name, /)\n--\n\nbins."};

static bool add_method(PyTypeObject *type, PyMethodDef *definition)
{
    PyObject *method = PyDescr_NewMethod(type, definition);
    const bool is_added =
        method && PyObject_SetAttrString((PyObject *)type, definition->ml_name, method) == 0;
    Py_XDECREF(method);
    return is_added;
}

/* The fields of ih_stats, and the code of Arrow for each. */
bool py_stats_add(PyObject *module, struct py_state *state)
{
    PyStructSequence_Field fields[PY_STATS_MAX + 2] = {{NULL, NULL}};
    char codes[PY_STATS_MAX + 1] = "";
    int n = 0;
    for (const struct ih_field *f = ih_stats_fields(); f->key && n < PY_STATS_MAX; f++, n++) {
        fields[n] = (PyStructSequence_Field){f->key, f->meaning};
        codes[n] = f->kind == IH_FIELD_COUNT ? 'L' : f->kind == IH_FIELD_VALUE ? 'C' : 'g';
    }
    fields[n] = (PyStructSequence_Field){"_of", "The counts and the plane."};
    PyStructSequence_Desc desc = {"imghist.Stats",
                                  "Statistics of one plane, as exact as the counts.", fields, n};
    state->stats = PyStructSequence_NewType(&desc);
    return state->stats && add_method(state->stats, &percentile_method) &&
           add_method(state->stats, &attribute_method) &&
           PyModule_AddType(module, state->stats) == 0 &&
           PyModule_AddStringConstant(module, "STATS_CODES", codes) == 0;
}

/* None: samples of this type have no such statistic. */
static PyObject *stats_value(const struct ih_summary *of, const struct ih_stats *stats,
                             const struct ih_field *f)
{
    const void *at = (const char *)stats + f->offset_bytes;
    if (f->kind == IH_FIELD_REAL)
        return PyFloat_FromDouble(*(const double *)at);
    if ((of->is_float && (at == &stats->sum || at == &stats->step)) ||
        (of->is_signed && (at == &stats->crushed || at == &stats->blown)))
        return Py_NewRef(Py_None);
    if (f->kind == IH_FIELD_VALUE)
        return py_sample_new(of, *(const double *)at);
    if (at == &stats->sum && of->is_signed)
        return PyLong_FromLongLong((long long)stats->sum);
    return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
}

static PyObject *stats_new(PyObject *counts, unsigned plane, const struct ih_stats *s)
{
    const struct ih_field *f = ih_stats_fields();
    const struct ih_summary of = summary_of(counts);
    PyObject *stats = PyStructSequence_New(py_state_of(counts)->stats);
    for (Py_ssize_t i = 0, is_last = 0; stats && !is_last && i <= PY_STATS_MAX; i++) {
        is_last = !f[i].key;
        PyObject *value =
            is_last ? Py_BuildValue("(OI)", counts, plane) : stats_value(&of, s, &f[i]);
        if (value)
            PyStructSequence_SetItem(stats, i, value);
        else
            Py_CLEAR(stats);
    }
    return stats;
}

/* The position of a plane, by name or number. -1: an exception is set. */
static int find_plane(PyObject *object, PyObject *key)
{
    struct counts *self = self_of(object);
    if (PyUnicode_Check(key)) {
        for (unsigned i = 0; i < self->n_planes; i++)
            if (PyUnicode_CompareWithASCIIString(
                    key, ih_counts_plane(self->counts, plane_at(self, i))) == 0)
                return (int)i;
        PyErr_SetObject(PyExc_KeyError, key);
        return -1;
    }
    Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return -1;
    i += i < 0 ? self->n_planes : 0;
    if (i >= 0 && i < self->n_planes)
        return (int)i;
    PyErr_Format(PyExc_IndexError, "the counts have %u planes", self->n_planes);
    return -1;
}

static PyObject *counts_subscript(PyObject *object, PyObject *key)
{
    struct ih_stats stats;
    struct ih_error err;
    const int i = find_plane(object, key);
    if (i < 0)
        return NULL;
    const unsigned plane = plane_at(self_of(object), (unsigned)i);
    if (ih_counts_stats(self_of(object)->counts, plane, &stats, sizeof stats, &err) != IH_OK)
        return py_error_raise(py_state_of(object), &err, NULL);
    return stats_new(object, plane, &stats);
}

static Py_ssize_t counts_length(PyObject *object)
{
    return self_of(object)->n_planes;
}

static PyObject *counts_histogram(PyObject *object, PyObject *key)
{
    const int i = find_plane(object, key);
    PyObject *all = i < 0 ? NULL : PyMemoryView_FromObject(object);
    PyObject *bytes = all ? PyObject_CallMethod(all, "cast", "s", "B") : NULL;
    PyObject *flat = bytes ? PyObject_CallMethod(bytes, "cast", "s", "Q") : NULL;
    const Py_ssize_t n_bins = self_of(object)->n_bins;
    PyObject *plane = flat ? PySequence_GetSlice(flat, i * n_bins, (i + 1) * n_bins) : NULL;
    Py_XDECREF(flat);
    Py_XDECREF(bytes);
    Py_XDECREF(all);
    return plane;
}

static PyObject *counts_planes(PyObject *object, void *closure)
{
    struct counts *self = self_of(object);
    PyObject *names = PyTuple_New(self->n_planes);
    (void)closure;
    for (unsigned i = 0; names && i < self->n_planes; i++) {
        PyObject *name = PyUnicode_FromString(ih_counts_plane(self->counts, plane_at(self, i)));
        if (!name || PyTuple_SetItem(names, i, name) < 0)
            Py_CLEAR(names);
    }
    return names;
}

static PyObject *counts_samples(PyObject *object, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(summary_of(object).samples);
}

static PyObject *counts_n_bins(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(self_of(object)->n_bins);
}

/* ---- the description ---- */

enum { IS_TEXT, IS_U64, IS_UNSIGNED, IS_REAL };

struct field {
    size_t offset;
    int kind;
};

static PyObject *counts_field(PyObject *object, void *closure)
{
    const struct field *field = closure;
    const struct ih_summary s = summary_of(object);
    const char *at = (const char *)&s + field->offset;
    if (field->kind == IS_TEXT)
        return PyUnicode_FromString(*(const char *const *)(const void *)at);
    if (field->kind == IS_REAL)
        return PyFloat_FromDouble(*(const double *)(const void *)at);
    return PyLong_FromUnsignedLongLong(field->kind == IS_U64 ? *(const uint64_t *)(const void *)at
                                                             : *(const unsigned *)(const void *)at);
}

static PyObject *counts_fingerprint(PyObject *object, void *closure)
{
    char text[17];
    (void)closure;
    snprintf(text, sizeof text, "%016llx",
             (unsigned long long)ih_counts_fingerprint(self_of(object)->counts));
    return PyUnicode_FromString(text);
}

static PyObject *counts_extreme(PyObject *object, void *closure)
{
    const struct ih_summary s = summary_of(object);
    return s.source_min > s.source_max ? Py_NewRef(Py_None) : counts_field(object, closure);
}

static PyObject *counts_clip(PyObject *object, void *closure)
{
    const struct ih_summary s = summary_of(object);
    (void)closure;
    return Py_BuildValue("(II)", s.clip_low, s.clip_high);
}

static PyObject *counts_warnings(PyObject *object, void *closure)
{
    const struct ih_summary s = summary_of(object);
    PyObject *list = PyList_New(0);
    (void)closure;
    for (unsigned bit = 1; list && bit && bit <= s.warnings; bit <<= 1) {
        PyObject *text = s.warnings & bit ? PyUnicode_FromString(ih_warning_text(bit)) : NULL;
        if (s.warnings & bit && (!text || PyList_Append(list, text) < 0))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *counts_file(PyObject *object, void *closure)
{
    PyObject *file = self_of(object)->file;
    (void)closure;
    return Py_NewRef(file ? file : Py_None);
}

static PyObject *counts_repr(PyObject *object)
{
    const struct ih_summary s = summary_of(object);
    PyObject *planes = counts_planes(object, NULL);
    PyObject *file = counts_file(object, NULL);
    char failed[40] = "";
    if (s.n_failed)
        snprintf(failed, sizeof failed, ", %llu failed", (unsigned long long)s.n_failed);
    PyObject *text =
        planes
            ? PyUnicode_FromFormat("<imghist.Counts of %R: %llu image%s%s, %llu pixels, %R>", file,
                                   (unsigned long long)s.n_images, s.n_images == 1 ? "" : "s",
                                   failed, (unsigned long long)s.n_pixels, planes)
            : NULL;
    Py_DECREF(file);
    Py_XDECREF(planes);
    return text;
}

/* ---- sums and comparisons ---- */

static bool is_counts(PyObject *object)
{
    return PyType_GetSlot(Py_TYPE(object), Py_nb_add) != NULL &&
           PyType_GetSlot(Py_TYPE(object), Py_tp_dealloc) == (void *)(uintptr_t)counts_dealloc;
}

/* sum() begins with 0. */
static bool is_zero(PyObject *object)
{
    return PyLong_CheckExact(object) && PyLong_AsLong(object) == 0 && !PyErr_Occurred();
}

static PyObject *counts_add(PyObject *a, PyObject *b)
{
    struct ih_counts *sum = NULL;
    struct ih_error err;
    if (is_counts(a) && is_zero(b))
        return Py_NewRef(a);
    if (is_counts(b) && is_zero(a))
        return Py_NewRef(b);
    PyErr_Clear(); /* of an int beyond long */
    if (!is_counts(a) || !is_counts(b))
        return Py_NewRef(Py_NotImplemented);
    enum ih_status status = ih_counts_open(&sum, &err);
    if (status == IH_OK)
        status = ih_counts_add(sum, self_of(a)->counts, &err);
    if (status == IH_OK)
        status = ih_counts_add(sum, self_of(b)->counts, &err);
    if (status == IH_OK)
        return py_counts_new(py_state_of(a), sum, NULL);
    ih_counts_close(sum);
    return py_error_raise(py_state_of(a), &err, NULL);
}

static bool are_equal(PyObject *a, PyObject *b)
{
    const struct ih_summary s = summary_of(a), t = summary_of(b);
    if (s.n_images != t.n_images || s.n_failed != t.n_failed || s.n_pixels != t.n_pixels ||
        s.n_channels != t.n_channels || s.clip_low != t.clip_low || s.clip_high != t.clip_high ||
        s.crushed_any != t.crushed_any || s.blown_any != t.blown_any ||
        s.crushed_all != t.crushed_all || s.blown_all != t.blown_all ||
        strcmp(s.luma, t.luma) != 0 || strcmp(s.alpha, t.alpha) != 0 ||
        strcmp(s.reduction, t.reduction) != 0 || strcmp(s.region, t.region) != 0 ||
        strcmp(s.mask, t.mask) != 0)
        return false;
    if (self_of(a)->n_bins != self_of(b)->n_bins)
        return false;
    if (self_of(a)->n_planes != self_of(b)->n_planes)
        return false;
    for (unsigned i = 0; i < self_of(a)->n_planes; i++) {
        const unsigned p = plane_at(self_of(a), i);
        if (memcmp(ih_counts_bins(self_of(a)->counts, p), ih_counts_bins(self_of(b)->counts, p),
                   self_of(a)->n_bins * sizeof(uint64_t)) != 0)
            return false;
    }
    return true;
}

static PyObject *counts_compare(PyObject *a, PyObject *b, int operation)
{
    if ((operation != Py_EQ && operation != Py_NE) || !is_counts(a) || !is_counts(b))
        return Py_NewRef(Py_NotImplemented);
    return PyBool_FromLong(are_equal(a, b) == (operation == Py_EQ));
}

/* ---- saving and loading ---- */

static PyObject *counts_to_bytes(PyObject *object, PyObject *arguments)
{
    (void)arguments;
    char *line;
    size_t n_bytes;
    struct ih_error err;
    if (ih_record_write(self_of(object)->counts, NULL, 0, &line, &n_bytes, &err) != IH_OK)
        return py_error_raise(py_state_of(object), &err, NULL);
    PyObject *bytes = PyBytes_FromStringAndSize(line, (Py_ssize_t)n_bytes);
    free(line);
    return bytes;
}

static PyObject *load(struct py_state *state, PyObject *bytes, PyObject *file)
{
    struct ih_counts *counts = NULL;
    struct ih_error err;
    Py_buffer view;
    if (PyObject_GetBuffer(bytes, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    enum ih_status status = ih_counts_open(&counts, &err);
    if (status == IH_OK)
        status = ih_record_read(counts, view.buf, (size_t)view.len, &err);
    PyBuffer_Release(&view);
    if (status == IH_OK)
        return py_counts_new(state, counts, file);
    ih_counts_close(counts);
    return py_error_raise(state, &err, NULL);
}

static PyObject *counts_from_bytes(PyObject *type, PyObject *bytes)
{
    return load(PyType_GetModuleState((PyTypeObject *)type), bytes, NULL);
}

PyObject *py_load(PyObject *module, PyObject *arguments)
{
    PyObject *bytes, *file;
    if (!PyArg_ParseTuple(arguments, "OO:load", &bytes, &file))
        return NULL;
    return load(PyModule_GetState(module), bytes, file == Py_None ? NULL : file);
}

/* For pickle and copy. */
static PyObject *counts_reduce(PyObject *object, PyObject *arguments)
{
    PyObject *module = PyType_GetModule(Py_TYPE(object));
    PyObject *function = module ? PyObject_GetAttrString(module, "load") : NULL;
    PyObject *bytes = function ? counts_to_bytes(object, arguments) : NULL;
    PyObject *file = self_of(object)->file;
    PyObject *result =
        bytes ? Py_BuildValue("O(OO)", function, bytes, file ? file : Py_None) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(function);
    return result;
}

/* ---- views, in Python ---- */

static PyObject *view_of(PyObject *self, const char *function)
{
    return py_delegate("imghist._views", function, PyTuple_Pack(1, self), NULL);
}

static PyObject *counts_to_dict(PyObject *self, PyObject *arguments)
{
    (void)arguments;
    return view_of(self, "to_dict");
}

static PyObject *counts_to_uhi(PyObject *self, PyObject *arguments)
{
    (void)arguments;
    return view_of(self, "to_uhi");
}

static PyObject *counts_repr_html(PyObject *self, PyObject *arguments)
{
    (void)arguments;
    return view_of(self, "repr_html");
}

static PyObject *counts_chart(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"", "size", "scale", "theme", "title", "scale_y", NULL};
    PyObject *path;
    PyObject *size = NULL;
    const char *scale = "linear", *theme = "dark", *title = NULL, *scale_y = "count";
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O!sszs:chart", names, &path, &PyTuple_Type,
                                     &size, &scale, &theme, &title, &scale_y))
        return NULL;
    PyObject *all =
        size ? Py_BuildValue("(OOOsszs)", self, path, size, scale, theme, title, scale_y)
             : Py_BuildValue("(OO(ii)sszs)", self, path, 1024, 640, scale, theme, title, scale_y);
    return py_delegate("imghist._views", "chart", all, NULL);
}

static PyObject *counts_distances(PyObject *self, PyObject *other)
{
    return py_delegate("imghist._views", "compare", PyTuple_Pack(2, self, other), NULL);
}

static PyObject *counts_field_value(PyObject *object, PyObject *arguments)
{
    const char *name;
    double sigma = 3;
    struct ih_value v;
    struct ih_error err;
    if (!PyArg_ParseTuple(arguments, "s|d:field", &name, &sigma))
        return NULL;
    if (strcmp(name, "file") == 0)
        return counts_file(object, NULL);
    if (ih_counts_field(self_of(object)->counts, name, sigma, &v, sizeof v, &err) != IH_OK)
        return py_error_raise(py_state_of(object), &err, NULL);
    return v.type == IH_TYPE_TEXT      ? PyUnicode_FromString(v.text)
           : v.type == IH_TYPE_REAL    ? PyFloat_FromDouble(v.real)
           : v.type != IH_TYPE_INTEGER ? Py_NewRef(Py_None)
           : v.is_negative             ? PyLong_FromLongLong(-(long long)v.integer)
                                       : PyLong_FromUnsignedLongLong(v.integer);
}

static PyMethodDef counts_methods[] = {
    {"histogram", counts_histogram, METH_O,
     "histogram($self, plane, /)\n--\n\nThe bins of one plane, by name or number: a memoryview of "
     "uint64 [n_bins], without a copy."},
    {"to_bytes", counts_to_bytes, METH_NOARGS,
     "to_bytes($self)\n--\n\nThe counts and all that defines them as a line of NDJSON, as "
     "imghist.ndjson writes it, but\nwithout the file. The same on every machine."},
    {"from_bytes", counts_from_bytes, METH_O | METH_CLASS,
     "from_bytes($type, data, /)\n--\n\nThe counts of a record, such as to_bytes gives it. "
     "Raises Error for damaged data, and ValueError\nfor the record of a failed image."},
    {"__reduce__", counts_reduce, METH_NOARGS, NULL},
    {"to_dict", counts_to_dict, METH_NOARGS,
     "to_dict($self)\n--\n\nThe record of imghist --ndjson as plain Python objects, with all "
     "digits; file as in Counts,\nimages: how many are added up, warnings: a list in any case."},
    {"field", counts_field_value, METH_VARARGS,
     "field($self, name, sigma=3.0, /)\n--\n\nA field by its name in imghist --fields: 'width', "
     "'red.p99.9', 'luma.clipped_mean', 'share_le_100'. None: the counts have no such value.\n\n"
     "sigma  the number of deviations of --sigma-clip\n\nRaises ValueError for another name."},
    {"compare", counts_distances, METH_O,
     "compare($self, other, /)\n--\n\nThe distances to other Counts, as imghist --diff gives them: "
     "ks (Kolmogorov-Smirnov, 0 to 1)\nand emd (earth mover's, in values) of each plane in "
     "channels, and the largest of any plane.\n\nRaises ValueError if the settings of counting "
     "differ."},
    {"_to_uhi_", counts_to_uhi, METH_NOARGS,
     "_to_uhi_($self)\n--\n\nThe counts as a UHI histogram (uhi_schema 1), with the axes plane and "
     "value, for boost-histogram, hist and uhi.io. Needs NumPy."},
    {"_repr_html_", counts_repr_html, METH_NOARGS,
     "_repr_html_($self)\n--\n\nThe chart as SVG with a table of statistics, for notebooks."},
    {"chart", (PyCFunction)(void (*)(void))counts_chart, METH_VARARGS | METH_KEYWORDS,
     "chart($self, path, /, *, size=(1024, 640), scale='linear', theme='dark', "
     "title=None, scale_y='count')\n--\n\n"
     "Draws the chart of imghist --chart into a file.\n\n"
     "path   its ending tells the format, as with imghist --chart; the file is replaced\n"
     "size   pixels, 320 x 200 to 8192 x 8192\n"
     "scale  'linear', 'log' or 'sqrt'\n"
     "theme  'dark' or 'light'\n"
     "title  text; None: the name of the file\n"
     "scale_y  'count' or 'percent': the numbers beside the bars\n\n"
     "Raises ValueError for another ending or value, OSError if the file cannot be written."},
    {NULL, NULL, 0, NULL},
};

static PyObject *counts_label(PyObject *object, void *closure)
{
    const struct ih_summary s = summary_of(object);
    (void)closure;
    return s.has_label ? PyLong_FromUnsignedLong(s.label) : Py_NewRef(Py_None);
}

#define FIELD(name, kind) (&(struct field){offsetof(struct ih_summary, name), kind})

static PyGetSetDef counts_getset[] = {
    {"bins", counts_bins, NULL,
     "uint64 [planes, n_bins]: pixels with each value. A memoryview; numpy.asarray(c.bins) copies "
     "nothing.",
     NULL},
    {"samples", counts_samples, NULL,
     "The type of the samples whose values the bins count: 'uint8', 'uint16', 'int8', 'int16', "
     "'float16' or 'bfloat16'.",
     NULL},
    {"n_bins", counts_n_bins, NULL,
     "Bins of each plane: 256, or one for each value that native samples can have.", NULL},
    {"planes", counts_planes, NULL, "Names of the planes: the channels of the image and 'luma'.",
     NULL},
    {"file", counts_file, NULL,
     "The path as str, or the name of a pair; None for other inputs and sums.", NULL},
    {"images", counts_field, NULL, "Images added up.", FIELD(n_images, IS_U64)},
    {"failed", counts_field, NULL, "Inputs that failed, in a total of imghist.total.",
     FIELD(n_failed, IS_U64)},
    {"pixels", counts_field, NULL, "Counted pixels.", FIELD(n_pixels, IS_U64)},
    {"width", counts_field, NULL, "Pixels; 0 for sums.", FIELD(width, IS_U64)},
    {"height", counts_field, NULL, "Pixels; 0 for sums.", FIELD(height, IS_U64)},
    {"source_depth", counts_field, NULL, "Bits per sample in the file; 0 for sums.",
     FIELD(source_depth, IS_UNSIGNED)},
    {"source_min", counts_extreme, NULL,
     "The smallest colour sample in the file, of more than 8 bits; None if it is not known.",
     FIELD(source_min, IS_UNSIGNED)},
    {"source_max", counts_extreme, NULL, "The largest one.", FIELD(source_max, IS_UNSIGNED)},
    {"format", counts_field, NULL, "'png'; '' for arrays and sums.", FIELD(format, IS_TEXT)},
    {"decoder", counts_field, NULL, "Library and version; '' for arrays and sums.",
     FIELD(decoder, IS_TEXT)},
    {"kernel", counts_field, NULL, "The code that counted; '' for sums.", FIELD(kernel, IS_TEXT)},
    {"luma", counts_field, NULL, "Weights of luma: 'bt709', 'bt601' or 'none'.",
     FIELD(luma, IS_TEXT)},
    {"alpha", counts_field, NULL, "'count' or 'skip-transparent'.", FIELD(alpha, IS_TEXT)},
    {"reduction", counts_field, NULL,
     "How samples of other depths became 8 bits: 'round(v*255/max)', or by the range of a call; "
     "'none' for native bins.",
     FIELD(reduction, IS_TEXT)},
    {"region", counts_field, NULL, "Of a result file: --region; '' for none.",
     FIELD(region, IS_TEXT)},
    {"label", counts_label, NULL,
     "The label whose pixels were counted, of labels; None for whole images and sums.", NULL},
    {"mask", counts_field, NULL, "Of a result file: --mask; the labels of a label, '' for none.",
     FIELD(mask, IS_TEXT)},
    {"clip", counts_clip, NULL, "The clip limits, (low, high).", NULL},
    {"crushed_any", counts_field, NULL, "Pixels with any colour channel <= clip[0].",
     FIELD(crushed_any, IS_U64)},
    {"blown_any", counts_field, NULL, "Pixels with any colour channel >= clip[1].",
     FIELD(blown_any, IS_U64)},
    {"crushed_all", counts_field, NULL, "Pixels with all colour channels <= clip[0].",
     FIELD(crushed_all, IS_U64)},
    {"blown_all", counts_field, NULL, "Pixels with all colour channels >= clip[1].",
     FIELD(blown_all, IS_U64)},
    {"mean_luminance", counts_field, NULL,
     "Mean linear-light Y (CIE 1931) of sRGB, 0 to 1; NaN without pixels.",
     FIELD(mean_luminance, IS_REAL)},
    {"fingerprint", counts_fingerprint, NULL,
     "Of all bins, 16 hexadecimal digits: the same for copies of an image in any format, rotated "
     "by "
     "quarters and mirrored.",
     NULL},
    {"warnings", counts_warnings, NULL,
     "Irregularities of the file, and what its counts leave out.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot counts_slots[] = {
    {Py_tp_doc, "Exact counts of an image, or of many added up with + and sum().\n\n"
                "c['red'].p99 is a statistic of a plane, c.bins the histograms. Counts never "
                "change.\nThey are equal if all counts, failures included, and the settings are "
                "equal,\nwhatever the file."},
    {Py_tp_dealloc, counts_dealloc},
    {Py_tp_repr, counts_repr},
    {Py_tp_richcompare, counts_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_methods, counts_methods},
    {Py_tp_getset, counts_getset},
    {Py_bf_getbuffer, counts_get_buffer},
    {Py_mp_subscript, counts_subscript},
    {Py_mp_length, counts_length},
    {Py_nb_add, counts_add},
    {0, NULL},
};

PyType_Spec py_counts_spec = {.name = "imghist.Counts",
                              .basicsize = sizeof(struct counts),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                       Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              .slots = counts_slots};
