#include "cli/message.h"

#include "base/status.h"
#include "base/text.h"
#include "cli/endings.h"
#include "decode/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
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
    static const char *const hints[] = {
        [IH_LIMIT_MAX_PIXELS] = "--max-pixels raises it",
        [IH_LIMIT_MAX_MEMORY] = "--memory raises it",
        [IH_LIMIT_LENIENT] = "--lenient accepts it",
        [IH_LIMIT_TIMEOUT] = "--timeout raises it",
        [IH_LIMIT_RAW_CHANNELS] = "--list shows the formats, --raw reads bare samples",
        [IH_LIMIT_RAW_PREVIEW] = "--raw-preview counts its preview",
    };
    if (err->limit != IH_LIMIT_NONE)
        ih_error_append(err, hints[err->limit]);
}

static const char *reason_of_missing(const char *path)
{
    static const char dash[] = "\xE2\x80"; /* en and em dash; office programs make them from -- */
    if (!*path)
        return "the name is empty; is a variable not set?";
    if (strncmp(path, dash, 2) == 0 && ((path[2] & 0xFF) == 0x93 || (path[2] & 0xFF) == 0x94))
        return "it begins with a long dash; an option begins with - or --";
    if (strcmp(path, "help") == 0 || strcmp(path, "version") == 0)
        return *path == 'h' ? "did you mean --help?" : "did you mean --version?";
    if (strstr(path, "://"))
        return "imghist reads no network; pipe it in, as in 'curl -s URL | imghist -'";
    if (strpbrk(path, "\r\n"))
        return "it has line ends; --files-from reads a list of lines";
    if ((*path == '"' || *path == '\'') && path[1] && path[strlen(path) - 1] == *path)
        return "the quotes are part of the name; a list has names without quotes";
    if (strpbrk(path, "*?["))
        return "no file matches it; a folder is read without a pattern, as in 'imghist photos/'";
    return NULL;
}

void ih_explain_path(const char *path, struct ih_error *err)
{
    const char *reason = NULL;
    char text[128];
    uint64_t zip_at;
    if (err->status == IH_IO && access(path, F_OK) != 0 && errno == ENOENT)
        reason = reason_of_missing(path);
    else if (err->status == IH_UNKNOWN && strcasecmp(ih_ending(path), "csv") == 0)
        reason = "results are read from NDJSON and JSON, not from CSV";
    else if (err->limit == IH_LIMIT_RAW_CHANNELS && ih_archive_is_name(path)) {
        reason = "nor an archive, in spite of its name";
        if ((zip_at = ih_archive_find_zip(path)) > 0) {
            snprintf(text, sizeof text,
                     "other data precedes a zip archive in it: 'tail -c +%" PRIu64
                     " FILE | imghist -'",
                     zip_at + 1);
            reason = text;
        }
        err->limit = IH_LIMIT_NONE; /* no advice for images */
    }
    if (reason)
        ih_error_append(err, reason);
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
