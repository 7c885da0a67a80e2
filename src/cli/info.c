#include "cli/info.h"

#include "cli/options.h"
#include "decode/decoder.h"

void ih_print_help(FILE *f)
{
    fputs("usage: imghist [OPTION]... [PATH]...\n"
          "\n"
          "Counts the 256-bin histogram of each channel of images, exactly, on the GPU or\n"
          "without one. PATH is an image, a directory (walked recursively) or - for\n"
          "standard input. Without a format: a summary for people.\n\n",
          f);
    for (const struct ih_option_help *h = ih_options_help; h->usage; h++)
        fprintf(f, "  %-22s %s\n", h->usage, h->text);
    fputs("\n"
          "Exit: 0 all done, 1 some input failed or output could not be written, 2 wrong\n"
          "usage, 3 not available here. IMGHIST_DEVICE in the environment is as --device.\n"
          "\n"
          "  imghist photo.png --csv                       one photo to CSV\n"
          "  imghist photos/ --csv=stats -o photos.csv     a directory, one row a channel\n"
          "  imghist photos/ --chart=charts                a chart of each\n",
          f);
}

void ih_print_version(FILE *f)
{
    fputs("imghist " IH_VERSION "\n", f);
}

static void print_device(FILE *f, const struct ih_backend *backend)
{
    struct ih_device_options options = {.backend = backend->name};
    struct ih_device *device = NULL;
    struct ih_error err = {IH_OK, ""};
    enum ih_status status = ih_device_open(&options, &device, &err);
    if (status == IH_OK)
        status = ih_device_wait(device, &err);
    if (status == IH_OK)
        fprintf(f, "  %-11s %s\n", backend->name, ih_device_description(device));
    else
        fprintf(f, "  %-11s not here: %s\n", backend->name, err.message);
    ih_device_close(device);
}

void ih_print_list(FILE *f)
{
    fputs("formats:\n", f);
    for (const struct ih_decoder *const *d = ih_decoders; *d; d++)
        fprintf(f, "  %-11s %s; %s\n", (*d)->name, (*d)->title, (*d)->version());
    fprintf(f, "  %-11s %s\n", ih_decoder_raw.name, ih_decoder_raw.title);
    fputs("outputs:\n", f);
    for (const struct ih_output *const *o = ih_outputs; *o; o++)
        fprintf(f, "  %-11s %s\n", (*o)->name, (*o)->title);
    fprintf(f, "  %-11s %s\n", "chart", "a rendered histogram, PNG");
    fputs("devices, as --device=auto tries them:\n", f);
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        print_device(f, *b);
#ifndef IH_WITH_CUDA
    fprintf(f, "  %-11s not in this build: no nvcc when it was made\n", "cuda");
#endif
    fputs("kernels, the default of each device first:\n", f);
    for (const struct ih_backend *const *b = ih_backends; *b; b++)
        for (const struct ih_kernel_entry *k = (*b)->kernels; k->name; k++)
            fprintf(f, "  %-11s %s: %s\n", k->name, (*b)->name, k->why);
}
