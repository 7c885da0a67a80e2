/*
 * Status codes and the error a caller owns.
 *
 * Every call that can fail returns an enum ih_status and, where it is not IH_OK, has filled the
 * caller's struct ih_error. The struct holds its text itself, so that reporting that memory has run
 * out takes no memory, and an error can be copied with `=` and kept as long as one likes.
 */
#ifndef IH_BASE_STATUS_H
#define IH_BASE_STATUS_H

#include "imghist.h" /* enum ih_status, struct ih_error: the library's callers see the same */

#if defined(__GNUC__)
#define IH_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define IH_PRINTF(text, first)
#endif

/*
 * Fills err (NULL is allowed) and returns status, so that a failing call can end in
 * `return ih_error_set(err, IH_CORRUPT, "...")`.
 *
 * format   printf's, never from input
 *
 * Threads: any; err belongs to the caller.
 */
enum ih_status ih_error_set(struct ih_error *err, enum ih_status status, const char *format, ...)
    IH_PRINTF(3, 4);

/* The same for a failed system call: "what: strerror(error_number)", with IH_MEMORY for ENOMEM and
 * IH_IO for the rest. */
enum ih_status ih_error_errno(struct ih_error *err, int error_number, const char *what);

#endif
