#include "backend/nvjpeg_library.h"

#include <stdio.h>

IH_NVJPEG_FUNCTIONS(IH_LATE_CHECK)

#define TEXT_OF(x) #x
#define VALUE_OF(x) TEXT_OF(x)

/* By the loader's own search, and where the toolkit's installer puts it without telling the loader.
 */
static const char *const places[] = {
    "libnvjpeg.so." VALUE_OF(NVJPEG_VER_MAJOR),
    "/usr/local/cuda/lib64/libnvjpeg.so." VALUE_OF(NVJPEG_VER_MAJOR),
};

static const char *const names[] = {IH_NVJPEG_FUNCTIONS(IH_LATE_NAME)};

enum ih_status ih_nvjpeg_load(struct ih_nvjpeg *functions, char *version, size_t size,
                              struct ih_error *err)
{
    enum ih_status status = IH_UNSUPPORTED;
    for (size_t i = 0; status != IH_OK && i < sizeof places / sizeof places[0]; i++)
        status = ih_late_load(places[i], names, sizeof names / sizeof names[0], functions, err);
    if (status != IH_OK)
        return ih_error_set(err, IH_UNAVAILABLE,
                            "%s, the CUDA toolkit's JPEG decoder, cannot be loaded", places[0]);
    int major = 0, minor = 0, patch = 0;
    if (functions->nvjpegGetProperty(MAJOR_VERSION, &major) != NVJPEG_STATUS_SUCCESS ||
        functions->nvjpegGetProperty(MINOR_VERSION, &minor) != NVJPEG_STATUS_SUCCESS ||
        functions->nvjpegGetProperty(PATCH_LEVEL, &patch) != NVJPEG_STATUS_SUCCESS ||
        major != NVJPEG_VER_MAJOR)
        return ih_error_set(err, IH_UNAVAILABLE, "%s is version %d, not %d", places[0], major,
                            NVJPEG_VER_MAJOR);
    snprintf(version, size, "nvJPEG %d.%d.%d", major, minor, patch);
    return IH_OK;
}
