#define _POSIX_C_SOURCE 200809L

#include "cli/message.h"

#include "base/status.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

void ih_print_error(const char *path, const char *message)
{
    char shown_path[IH_SHOWN_MAX], shown[4 * IH_MESSAGE_MAX];
    ih_escape_short(shown_path, sizeof shown_path, !path ? "" : *path ? path : "''");
    ih_escape(shown, sizeof shown, message);
    fprintf(stderr, "imghist: %s%s%s\n", shown_path, path ? ": " : "", shown);
}

void ih_name_options(struct ih_error *err)
{
    if (err->limit == IH_LIMIT_MAX_PIXELS)
        ih_error_append(err, "--max-pixels raises it");
    else if (err->limit == IH_LIMIT_MAX_MEMORY)
        ih_error_append(err, "--memory raises it");
    else if (err->limit == IH_LIMIT_LENIENT)
        ih_error_append(err, "--lenient accepts it");
    else if (err->limit == IH_LIMIT_TIMEOUT)
        ih_error_append(err, "--timeout raises it");
    else if (err->limit == IH_LIMIT_RAW_PREVIEW)
        ih_error_append(err, "--raw-preview counts its preview");
    else if (err->limit == IH_LIMIT_RAW_CHANNELS)
        ih_error_append(err, "--list shows the formats, --raw reads bare samples");
}

void ih_end_by_sigpipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(IH_EXIT_FAILED); /* the signal is blocked */
}

enum ih_exit ih_exit_of(enum ih_status status)
{
    switch (status) {
    case IH_OK:
        return IH_EXIT_OK;
    case IH_USAGE:
    case IH_CONFLICT:
        return IH_EXIT_USAGE;
    case IH_UNAVAILABLE:
        return IH_EXIT_UNAVAILABLE;
    default:
        return IH_EXIT_FAILED;
    }
}
