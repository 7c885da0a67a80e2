#define _POSIX_C_SOURCE 200809L

#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum ih_status ih_error_set(struct ih_error *err, enum ih_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return status;
}

enum ih_status ih_error_errno(struct ih_error *err, int error_number, const char *what)
{
    char reason[128];
    if (strerror_r(error_number, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", error_number);
    return ih_error_set(err, error_number == ENOMEM ? IH_MEMORY : IH_IO, "%s: %s", what, reason);
}
