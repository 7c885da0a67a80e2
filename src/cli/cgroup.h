/* What the control group of this process (Linux) may use: in a container, a job of a cluster, a
 * service. */
#ifndef IH_CLI_CGROUP_H
#define IH_CLI_CGROUP_H

#include <stdint.h>

/*
 * Bytes of memory, and processors' worth of processor time, rounded up. UINT64_MAX where no group
 * says.
 *
 * groups    the groups that the process is in: /proc/self/cgroup
 * mounted   where their files are: /sys/fs/cgroup
 */
uint64_t ih_control_group_memory(const char *groups, const char *mounted);
uint64_t ih_control_group_processors(const char *groups, const char *mounted);

#endif
