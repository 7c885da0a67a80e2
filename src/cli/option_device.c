/* --device, and IMGHIST_DEVICE, which is read the same way. */
#include "base/parse.h"
#include "cli/option_table.h"

#include <string.h>

/* auto, or a backend's name; behind cuda which GPUs. */
enum ih_status ih_option_set_device(struct ih_options *o, const char *value, struct ih_error *err)
{
    const char *colon = strchr(value, ':');
    size_t n = colon ? (size_t)(colon - value) : strlen(value);
    bool is_cuda = n == 4 && strncmp(value, "cuda", 4) == 0;
    bool is_known = strcmp(value, "auto") == 0, is_built = is_known;
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        is_built = is_built || (strlen((*b)->name) == n && strncmp((*b)->name, value, n) == 0);
    is_known = is_built || is_cuda;
    o->device.n_ordinals = 0;
    if (colon && !(is_cuda && ih_parse_ordinals(colon + 1, o->device.ordinals, IH_UNITS_MAX,
                                                &o->device.n_ordinals)))
        is_known = false;
    if (!is_known || n >= sizeof o->backend)
        return ih_error_set(err, IH_USAGE,
                            "'%s' is none of auto, cpu, cuda, cuda:N[,N...] with each GPU once",
                            value);
    if (!is_built)
        return ih_error_set(err, IH_UNAVAILABLE,
                            "this build has no CUDA (no nvcc when it was made)");
    memcpy(o->backend, value, n);
    o->backend[n] = '\0';
    o->device.backend = strcmp(o->backend, "auto") == 0 ? NULL : o->backend;
    return IH_OK;
}
