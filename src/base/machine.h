/* What this machine lets the program use, and process-wide settings. For programs, not the library.
 */
#ifndef IH_BASE_MACHINE_H
#define IH_BASE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum { IH_THREADS_MAX = 1024 };

/* How many threads can run at once, 1 to IH_THREADS_MAX: the CPU cores of this process, or the CPU
 * time that its control groups allow, rounded up, if that is less. */
unsigned ih_machine_cores(void);

/* Bytes of memory that this process may use: the machine's, or if that is less, the limit of its
 * control groups or what a pointer can address. */
uint64_t ih_machine_memory(void);

/*
 * The same limits of the control groups (Linux, version 2) alone: bytes of memory, and CPU cores'
 * worth of time, rounded up. UINT64_MAX: no limit.
 *
 * groups    the groups that the process is in: /proc/self/cgroup
 * mounted   the folder with their files: /sys/fs/cgroup
 */
uint64_t ih_control_group_memory(const char *groups, const char *mounted);
uint64_t ih_control_group_cores(const char *groups, const char *mounted);

/* The path of this program, for starting it once more. NULL without /proc: a search of PATH might
 * find another program. */
const char *ih_machine_program(void);

/* Raises the limit on open files to the hard limit: each worker has an image and a decoder process
 * open. */
void ih_machine_allow_files(void);

/*
 * Tells the allocator to keep freed memory for the next file instead of returning it to the system.
 *
 * memory_bytes   about how much all threads together may keep; 256 MiB are kept at most
 * is_batch       every core has a worker; false: one image is decoded at a time
 */
void ih_machine_keep_memory(uint64_t memory_bytes, unsigned n_threads, bool is_batch);

/* Returns all freed memory to the system if it is more than may be kept: keeping bounds only what
 * is free at the end of the heap. Memory between blocks in use still counts as freed when it has
 * been returned. False: the C library does not tell how much is freed. */
bool ih_machine_return_memory(uint64_t memory_bytes);

#endif
