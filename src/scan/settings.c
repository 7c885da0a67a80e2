#include "scan/scan.h"

#include "base/text.h"

#include <string.h>

/* The backend whose name is the first n bytes of word. NULL: none in this build. */
static const struct ih_backend *find_backend(const char *word, size_t n)
{
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        if (strlen((*b)->name) == n && strncmp((*b)->name, word, n) == 0)
            return *b;
    return NULL;
}

enum ih_status ih_device_parse(const char *word, struct ih_device_options *options,
                               struct ih_error *err)
{
    int ordinals[IH_UNITS_MAX];
    unsigned n_ordinals = 0;
    const size_t n = strcspn(word, ":");
    const struct ih_backend *backend = find_backend(word, n);
    const bool is_auto = strcmp(word, "auto") == 0;
    const bool is_cuda = n == 4 && strncmp(word, "cuda", 4) == 0; /* even in a build without it */
    bool is_known = is_auto || is_cuda || backend;
    if (word[n]) /* only GPUs have ordinals */
        is_known = is_cuda && ih_parse_ordinals(word + n + 1, ordinals, IH_UNITS_MAX, &n_ordinals);
    if (!is_known)
        return ih_error_set(err, IH_USAGE,
                            "'%.40s' is none of auto, cpu, cuda, cuda:N[,N...] with each GPU once",
                            word);
    if (!is_auto && !backend)
        return ih_error_set(
            err, IH_UNAVAILABLE,
            "this build has no GPU code (make CUDA=1 adds it); auto and cpu count on the CPU");
    options->backend = is_auto ? NULL : backend->name;
    options->n_ordinals = n_ordinals;
    memcpy(options->ordinals, ordinals, n_ordinals * sizeof *ordinals);
    return IH_OK;
}

const char *ih_kernel_find(const char *word)
{
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        for (const struct ih_kernel_entry *k = (*b)->kernels; k->name; k++)
            if (strcmp(k->name, word) == 0)
                return k->name;
    return NULL;
}

enum ih_status ih_alpha_parse(const char *word, enum ih_alpha *alpha, struct ih_error *err)
{
    const bool skips = strcmp(word, "skip-transparent") == 0;
    if (!skips && strcmp(word, "count") != 0)
        return ih_error_set(err, IH_USAGE, "'%.40s' is none of count, skip-transparent", word);
    *alpha = skips ? IH_ALPHA_SKIP_TRANSPARENT : IH_ALPHA_COUNT;
    return IH_OK;
}

void ih_error_drop_controls(struct ih_error *err)
{
    for (char *c = err->message; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

void ih_error_name_setting(struct ih_error *err)
{
    static const char *const hints[] = {
        [IH_LIMIT_MAX_PIXELS] = "max_pixels",
        [IH_LIMIT_MAX_MEMORY] = "max_memory",
        [IH_LIMIT_LENIENT] = "lenient",
        [IH_LIMIT_TIMEOUT] = "timeout",
        [IH_LIMIT_RAW_CHANNELS] = "raw_channels reads bare samples",
        [IH_LIMIT_RAW_PREVIEW] = "raw_preview counts its preview, raw_sensor its values",
        [IH_LIMIT_AXES] = "axes, as 'HWC' or 'CHW'",
    };
    ih_error_drop_controls(err);
    if (err->limit != IH_LIMIT_NONE)
        ih_error_append(err, hints[err->limit]);
}
