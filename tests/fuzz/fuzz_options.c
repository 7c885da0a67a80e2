/* Fuzzer of the command line. The first line of the input is IMGHIST_DEVICE (empty: unset), and
 * each further line is an argument. */
#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

enum { N_ARGUMENTS_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void promised(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *argv[N_ARGUMENTS_MAX + 2] = {"imghist"};
    int argc = 1;
    char *text = malloc(size + 1);
    promised(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    char *rest = strchr(text, '\n');
    while (rest && argc <= N_ARGUMENTS_MAX) {
        *rest++ = '\0';
        argv[argc++] = rest;
        rest = strchr(rest, '\n');
    }
    if (rest)
        *rest = '\0';

    struct ih_options options;
    struct ih_error err = {0};
    enum ih_status status = ih_options_parse(&options, argc, argv, text[0] ? text : NULL, &err);
    if (status == IH_OK) {
        const struct ih_measure *m = &options.measure;
        promised(m->luma != NULL && options.raw_channels <= IH_PIXEL_CHANNELS_MAX);
        promised(m->clip_low < m->clip_high || m->clip_high == 0);
        promised(options.n_paths - options.n_references < (size_t)argc);
        promised(options.n_threads <= IH_THREADS_MAX);
        promised(!(options.is_quiet && options.is_verbose));
        promised(options.with_total || !options.only_total);
        promised(options.action != IH_ACTION_RUN || options.n_outputs > 0 || options.chart_path);
        promised(options.action != IH_ACTION_RUN || options.n_paths > 0 || options.list_path);
    } else {
        promised(status == IH_USAGE || status == IH_UNAVAILABLE);
        promised(status == err.status && err.message[0] != '\0');
    }
    ih_options_reset(&options);
    free(text);
    return 0;
}
