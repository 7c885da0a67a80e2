/*
 * Giving up rights, for a process that decodes what nobody has vouched for.
 *
 * Afterwards the process can compute, read and write files that are open already, and end. It
 * cannot open, change or remove a file, reach the network, start a program or signal another
 * process. Where the system has no seccomp, or this build no libseccomp, only the resource limits
 * hold.
 */
#ifndef IH_ISOLATE_SANDBOX_H
#define IH_ISOLATE_SANDBOX_H

#include "base/status.h"

/* "seccomp and resource limits", for people. */
const char *ih_sandbox_title(void);

/*
 * Gives up all rights but those above, for good, in every thread there is and will be. No core is
 * dumped and no file grows.
 *
 * n_files   file descriptors that may be open at a time
 *
 * Returns IH_OK or IH_UNAVAILABLE.
 */
enum ih_status ih_sandbox_enter(unsigned n_files, struct ih_error *err);

/* From now on the process may use this many seconds of processor time; then SIGXCPU ends it. */
void ih_sandbox_allow_seconds(unsigned seconds);

#endif
