/*
 * Reporting errors.
 *
 * A call that can fail returns an enum ih_status. If that is not IH_OK, the call has filled the
 * caller's struct ih_error. The struct contains the message itself, so reporting an error allocates
 * nothing, and an error can be copied with `=`.
 */
#ifndef IH_BASE_STATUS_H
#define IH_BASE_STATUS_H

#include "imghist.h" /* enum ih_status, enum ih_limit, struct ih_error */

#include <stdbool.h>

#if defined(__GNUC__)
#define IH_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define IH_PRINTF(text, first)
#endif

/*
 * Fills err (NULL is allowed) and returns status, so that a failing call can end with
 * `return ih_error_set(err, IH_CORRUPT, "...")`.
 *
 * format   as for printf; never text from an input
 *
 * Threads: any; err belongs to the caller.
 */
enum ih_status ih_error_set(struct ih_error *err, enum ih_status status, const char *format, ...)
    IH_PRINTF(3, 4);

/* The same with status IH_LIMIT, for a limit that a setting raises. limit_value is its value. */
enum ih_status ih_error_set_limit(struct ih_error *err, enum ih_limit limit, uint64_t limit_value,
                                  const char *format, ...) IH_PRINTF(4, 5);

/* The same for a failed system call: "what: strerror(error_number)". The status is IH_MEMORY for
 * ENOMEM, otherwise IH_IO. */
enum ih_status ih_error_errno(struct ih_error *err, int error_number, const char *what);

/* Appends " (hint)" to the message if it fits. */
void ih_error_append(struct ih_error *err, const char *hint);

/* What ih_warning_text (imghist.h) returns. */
const char *ih_warning_words(enum ih_warning warning);

enum { IH_WARNINGS_END = 2 * IH_WARNING_LEVELS }; /* above the bits of all warnings */

/* Checks a limit that another process sent: returns false if it is no value of enum ih_limit. */
bool ih_limit_is_known(enum ih_limit limit);

#endif
