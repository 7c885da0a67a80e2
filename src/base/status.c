#include "base/status.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Fills err, which may be NULL. The caller ends args. */
IH_PRINTF(5, 0)
static void fill(struct ih_error *err, enum ih_status status, enum ih_limit limit,
                 uint64_t limit_value, const char *format, va_list args)
{
    if (!err)
        return;
    if (vsnprintf(err->message, sizeof err->message, format, args) >= (int)sizeof err->message)
        ih_utf8_trim(err->message);
    err->status = status;
    err->limit = limit;
    err->limit_value = limit_value;
}

enum ih_status ih_error_set(struct ih_error *err, enum ih_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, IH_LIMIT_NONE, 0, format, args);
    va_end(args);
    return status;
}

enum ih_status ih_error_set_limit(struct ih_error *err, enum ih_limit limit, uint64_t limit_value,
                                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, IH_LIMIT, limit, limit_value, format, args);
    va_end(args);
    return IH_LIMIT;
}

enum ih_status ih_error_errno(struct ih_error *err, int error_number, const char *what)
{
    char reason[128];
    if (strerror_r(error_number, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", error_number);
    return ih_error_set(err, error_number == ENOMEM ? IH_MEMORY : IH_IO, "%s: %s", what, reason);
}

void ih_error_append(struct ih_error *err, const char *hint)
{
    const size_t n = strlen(err->message), room = sizeof err->message - n;
    if (strlen(hint) + sizeof " ()" <= room)
        snprintf(err->message + n, room, " (%s)", hint);
}

const char *ih_warning_words(enum ih_warning warning)
{
    static const char *const texts[] = {
        [IH_WARNING_HEADER_BYTES] = "extra bytes between header segments",
        [IH_WARNING_END_BYTES] = "extra bytes before the end marker",
        [IH_WARNING_DATA_BYTES] = "extra bytes before a marker in the image data",
        [IH_WARNING_PROGRESSION] = "irregular order of progressive scans",
        [IH_WARNING_LAST_BITS] = "no scans of the last bits of coefficients",
        [IH_WARNING_MORE_IMAGES] = "only the first of several images was counted",
        [IH_WARNING_EXTRA_SAMPLES] = "extra samples of each pixel were not counted",
        [IH_WARNING_MASKED] = "pixels under the transparency mask count like all others",
        [IH_WARNING_CELLS] = "a row or column of the sensor that fills no cell was not counted",
        [IH_WARNING_LEVELS] =
            "the black level of the sensor is not below the white level: neither is a clip limit",
        [IH_WARNING_NODATA] = "pixels of the nodata value (GDAL_NODATA) count like all others",
    };
    const bool is_known = (size_t)warning < sizeof texts / sizeof *texts && texts[warning];
    return is_known ? texts[warning] : "unknown warning";
}

bool ih_limit_is_known(enum ih_limit limit)
{
    return (unsigned)limit <= IH_LIMIT_AXES; /* the last one */
}
