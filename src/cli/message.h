/* Error messages and exit codes of the program. */
#ifndef IH_CLI_MESSAGE_H
#define IH_CLI_MESSAGE_H

#include "imghist.h"

enum ih_exit { IH_EXIT_OK, IH_EXIT_FAILED, IH_EXIT_USAGE, IH_EXIT_UNAVAILABLE, IH_EXIT_MATCHED };

/* Prints "imghist: PATH: MESSAGE" on standard error, with control characters escaped. path NULL:
 * without it. */
void ih_print_error(const char *path, const char *message);

/* Appends the option that raises the limit err is about: " (--memory raises it)". */
void ih_name_options(struct ih_error *err);

/* Appends what may be wrong with the path of an input that does not exist, or is no image. */
void ih_explain_path(const char *path, struct ih_error *err);

/* Ends the program as SIGPIPE does by default: the reader of its output has closed the pipe. */
void ih_end_by_sigpipe(void);

/* The exit code for an error that ends the run. */
enum ih_exit ih_exit_of(enum ih_status status);

#endif
