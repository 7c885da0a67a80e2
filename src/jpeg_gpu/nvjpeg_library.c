#define _POSIX_C_SOURCE 200809L

#include "jpeg_gpu/nvjpeg_library.h"

#include <stdio.h>
#include <unistd.h>

IH_NVJPEG_FUNCTIONS(IH_DYNLIB_CHECK)

#define TEXT_OF(x) #x
#define VALUE_OF(x) TEXT_OF(x)

#define SONAME "libnvjpeg.so." VALUE_OF(NVJPEG_VER_MAJOR)

/* Where the toolkit's installer puts it without telling the loader. */
static const char elsewhere[] = "/usr/local/cuda/lib64/" SONAME;

static const char *const names[] = {IH_NVJPEG_FUNCTIONS(IH_DYNLIB_NAME)};

static enum ih_status load(const char *library, struct ih_nvjpeg *functions, struct ih_error *err)
{
    return ih_dynlib_load(library, names, sizeof names / sizeof names[0], functions, err);
}

enum ih_status ih_nvjpeg_load(struct ih_nvjpeg *functions, char *version, size_t size,
                              struct ih_error *err)
{
    struct ih_error why = {0};
    const char *library = SONAME;
    enum ih_status status = load(library, functions, &why); /* by the loader's own search */
    if (status != IH_OK && access(elsewhere, F_OK) == 0) {
        library = elsewhere;
        status = load(library, functions, &why);
    }
    if (status != IH_OK)
        return ih_error_set(err, IH_UNAVAILABLE, "nvJPEG, the CUDA toolkit's JPEG decoder: %.190s",
                            why.message);
    int major = 0, minor = 0, patch = 0;
    if (functions->nvjpegGetProperty(MAJOR_VERSION, &major) != NVJPEG_STATUS_SUCCESS ||
        functions->nvjpegGetProperty(MINOR_VERSION, &minor) != NVJPEG_STATUS_SUCCESS ||
        functions->nvjpegGetProperty(PATCH_LEVEL, &patch) != NVJPEG_STATUS_SUCCESS ||
        major != NVJPEG_VER_MAJOR)
        return ih_error_set(err, IH_UNAVAILABLE, "%s is version %d, not %d", library, major,
                            NVJPEG_VER_MAJOR);
    snprintf(version, size, "nvJPEG %d.%d.%d", major, minor, patch);
    return IH_OK;
}
