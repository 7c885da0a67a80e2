/*
 * The sandbox of a process that decodes untrusted files.
 *
 * Inside it a process can compute, read and write open files, start threads, and end. It cannot
 * open, look up, change or remove a file, reach the network, start a program, signal another
 * process or raise its own limits. On a system without seccomp, or in a build without libseccomp,
 * only the resource limits hold.
 */
#ifndef IH_ISOLATE_SANDBOX_H
#define IH_ISOLATE_SANDBOX_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* "seccomp and resource limits", for people. */
const char *ih_sandbox_title(void);

struct ih_sandbox_limits {
    unsigned n_files;      /* open at a time */
    unsigned cpu_seconds;  /* of the whole process; 0: no limit */
    uint64_t memory_bytes; /* for images; the process gets some more; 0: no limit */
};

/*
 * Gives up all other rights for good, in all present and future threads. The limits are hard. The
 * process writes no core and lets no file grow.
 *
 * Returns IH_OK, or IH_UNAVAILABLE if the filter cannot be loaded; the limits hold even then.
 */
enum ih_status ih_sandbox_enter(const struct ih_sandbox_limits *limits, struct ih_error *err);

/* Allows a child process, which may not change its own limits, this many more seconds of CPU time;
 * then SIGXCPU ends it. Returns false if the process has already used more than that, so that its
 * hard limit may be near. */
bool ih_sandbox_allow_seconds(pid_t pid, unsigned seconds);

#endif
