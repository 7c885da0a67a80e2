#include "cli/complain.h"

#include "base/text.h"

#include <stdio.h>

void ih_complain(const char *path, const char *message)
{
    char shown_path[IH_ESCAPED_MAX], shown[4 * IH_MESSAGE_MAX];
    ih_escape(shown_path, sizeof shown_path, path ? path : "");
    ih_escape(shown, sizeof shown, message);
    fprintf(stderr, "imghist: %s%s%s\n", shown_path, path ? ": " : "", shown);
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
