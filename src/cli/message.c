#include "cli/message.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

void ih_print_error(const char *path, const char *message)
{
    char shown_path[IH_ESCAPED_MAX], shown[4 * IH_MESSAGE_MAX];
    ih_escape(shown_path, sizeof shown_path, !path ? "" : *path ? path : "''");
    ih_escape(shown, sizeof shown, message);
    fprintf(stderr, "imghist: %s%s%s\n", shown_path, path ? ": " : "", shown);
}

void ih_name_options(struct ih_error *err)
{
    static const char *const settings[] = {"max-pixels", "memory"};
    char *end = strrchr(err->message, '(');
    for (size_t i = 0; end && i < sizeof settings / sizeof settings[0]; i++) {
        const size_t n = strlen(settings[i]);
        if (strncmp(end + 1, settings[i], n) == 0 && strcmp(end + 1 + n, ")") == 0) {
            const size_t left = sizeof err->message - (size_t)(end - err->message);
            snprintf(end, left, "(--%s raises it)", settings[i]);
            return;
        }
    }
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
