#define _GNU_SOURCE /* RTLD_NODELETE, which POSIX took over later */

#include "base/dynlib.h"

#include <dlfcn.h>
#include <string.h>

/* Every image asks anew, so that nothing is global: once loaded, that takes microseconds. */
enum ih_status ih_dynlib_load(const char *library, const char *const *names, size_t n,
                              void *functions, struct ih_error *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char *why = dlerror(); /* of this thread; often it names another library */
        return ih_error_set(err, IH_UNSUPPORTED, "%s, which decodes it, cannot be loaded%s%s",
                            library, why ? ": " : "", why ? why : "");
    }
    enum ih_status status = IH_OK;
    for (size_t i = 0; i < n && status == IH_OK; i++) {
        void *symbol = dlsym(handle, names[i]);
        if (symbol) /* C has no conversion between them, POSIX says that they have one form */
            memcpy((char *)functions + i * sizeof(ih_dynlib_function), &symbol, sizeof symbol);
        else
            status = ih_error_set(err, IH_UNSUPPORTED, "%s has no %s", library, names[i]);
    }
    dlclose(handle); /* it stays: RTLD_NODELETE */
    return status;
}
