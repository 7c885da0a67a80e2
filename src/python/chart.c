/* Charts: from Counts to the result that the program's charts show. */
#include "module.h"

#include "chart/chart.h"

#include <stdlib.h>
#include <string.h>

static void make_result(const struct ih_counts *counts, const char *name, struct ih_result *result)
{
    struct ih_summary s;
    ih_counts_summary(counts, &s, sizeof s);
    memset(result, 0, sizeof *result);
    result->path = name;
    result->is_total = s.n_images != 1;
    result->n_images = s.n_images;
    result->info = (struct ih_image_info){.format = *s.format ? s.format : NULL,
                                          .width = s.width,
                                          .height = s.height,
                                          .n_channels = s.n_channels,
                                          .source_depth = s.source_depth};
    result->spec = (struct ih_count_spec){s.n_channels, ih_luma_find(s.luma), (uint8_t)s.clip_low,
                                          (uint8_t)s.clip_high};
    struct ih_histogram *h = &result->histogram;
    ih_histogram_clear(h, s.n_channels);
    h->n_pixels = s.n_pixels;
    h->any_low = s.any_low;
    h->any_high = s.any_high;
    h->all_low = s.all_low;
    h->all_high = s.all_high;
    for (unsigned p = 0; p < IH_PLANES; p++) {
        const uint64_t *bins = ih_counts_bins(counts, p);
        for (unsigned v = 0; bins && v < IH_BINS; v++) {
            h->bins[p][v] = bins[v];
            h->sum[p] += v * bins[v];
        }
    }
}

PyObject *py_chart(PyObject *module, PyObject *arguments)
{
    PyObject *counts;
    const char *name, *file_name, *theme, *scale;
    struct ih_chart_options look = {0};
    struct ih_result result;
    struct ih_error err;
    unsigned char *file = NULL;
    size_t size_bytes = 0;
    enum ih_status status;
    struct py_state *state = PyModule_GetState(module);
    if (!PyArg_ParseTuple(arguments, "O!ss(O&O&)ssz:chart", state->counts, &counts, &name,
                          &file_name, py_to_unsigned, &look.width, py_to_unsigned, &look.height,
                          &scale, &theme, &look.title))
        return NULL;
    look.scale = ih_chart_scale_find(scale);
    look.theme = ih_chart_theme_find(theme);
    look.format = ih_chart_format_of(file_name);
    if (!look.scale || !look.theme || !look.format) {
        PyErr_Format(PyExc_ValueError, "chart: %s",
                     !look.scale   ? "scale must be 'linear', 'log' or 'sqrt'"
                     : !look.theme ? "theme must be 'dark' or 'light'"
                                   : "the name must end in .png, .svg, .jpg, .bmp or .tga");
        return NULL;
    }
    if (ih_counts_bins(py_counts_get(counts), 0) == NULL) {
        PyErr_SetString(PyExc_ValueError, "chart: the counts are empty");
        return NULL;
    }
    make_result(py_counts_get(counts), name, &result);
    Py_BEGIN_ALLOW_THREADS status = ih_chart_draw(&result, &look, &file, &size_bytes, &err);
    Py_END_ALLOW_THREADS if (status != IH_OK) return py_error_raise(state, &err, NULL);
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)file, (Py_ssize_t)size_bytes);
    free(file);
    return bytes;
}
