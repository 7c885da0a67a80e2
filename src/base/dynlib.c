#define _GNU_SOURCE /* RTLD_NODELETE, not in POSIX 2008 */

#include "base/dynlib.h"

#include <dlfcn.h>
#include <string.h>

/* Called for each image, so that no state is global. Once the library is loaded, a call takes
 * microseconds. */
enum ih_status ih_dynlib_load(const char *library, const char *const *names, size_t n,
                              void *functions, struct ih_error *err)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char *why = dlerror(); /* per thread; often names another library */
        return ih_error_set(err, IH_UNSUPPORTED, "%s, which decodes it, cannot be loaded%s%s",
                            library, why ? ": " : "", why ? why : "");
    }
    enum ih_status status = IH_OK;
    for (size_t i = 0; i < n && status == IH_OK; i++) {
        void *symbol = dlsym(handle, names[i]);
        if (symbol) /* ISO C has no conversion to a function pointer; POSIX guarantees this one */
            memcpy((char *)functions + i * sizeof(ih_dynlib_function), &symbol, sizeof symbol);
        else
            status = ih_error_set(err, IH_UNSUPPORTED, "%s has no %s", library, names[i]);
    }
    dlclose(handle); /* stays loaded: RTLD_NODELETE */
    return status;
}
