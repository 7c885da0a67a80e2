#define _GNU_SOURCE /* sched_getaffinity */

#include "base/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#if __GLIBC_PREREQ(2, 33)
#define HAS_MALLINFO2
#endif
#endif

/* ---- control groups ---- */

/*
 * Linux lists the groups of a process as ID:CONTROLLERS:PATH. The line of version 2 is "0::PATH";
 * lines of version 1 are skipped. A limit of a group also holds for all groups below it, so the
 * smallest limit on the way up applies.
 *
 * In a container, the topmost folder often is the process's own group, while the list has the path
 * outside. So a folder that does not exist sets no limit, and the topmost one is always read.
 */
enum { PATH_BYTES_MAX = 4096 };

/* Reads one or two numbers. Returns how many; 0 for "max" or a missing file. */
static int read_numbers(const char *folder, const char *name, long long numbers[2])
{
    char path[PATH_BYTES_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
    if (!f)
        return 0;
    n = fscanf(f, "%lld %lld", &numbers[0], &numbers[1]);
    fclose(f);
    return n > 0 ? n : 0;
}

static uint64_t memory_of_group(const char *folder)
{
    long long n_bytes[2];
    return read_numbers(folder, "memory.max", n_bytes) && n_bytes[0] >= 0 ? (uint64_t)n_bytes[0]
                                                                          : UINT64_MAX;
}

/* CPU time per period, rounded up: 1.5 cores' worth keeps 2 threads busy in turns. */
static uint64_t cores_of_group(const char *folder)
{
    long long time[2]; /* quota, period */
    if (read_numbers(folder, "cpu.max", time) != 2 || time[0] < 0 || time[1] <= 0)
        return UINT64_MAX;
    return (uint64_t)(time[0] / time[1]) + (time[0] % time[1] != 0);
}

/* The smallest limit of the group and all groups above it. */
static uint64_t least_limit(const char *mounted, const char *group,
                            uint64_t (*limit_of)(const char *folder))
{
    char folder[PATH_BYTES_MAX];
    uint64_t least = UINT64_MAX;
    size_t length = strlen(group);
    do {
        while (length > 0 && group[length - 1] == '/')
            length--;
        int n = snprintf(folder, sizeof folder, "%s%.*s", mounted, (int)length, group);
        uint64_t limit = n > 0 && (size_t)n < sizeof folder ? limit_of(folder) : UINT64_MAX;
        least = limit < least ? limit : least;
        while (length > 0 && group[length - 1] != '/')
            length--;
    } while (length > 0);
    return least;
}

static uint64_t limit_of_groups(const char *groups, const char *mounted,
                                uint64_t (*limit_of)(const char *folder))
{
    char line[PATH_BYTES_MAX];
    uint64_t limit = UINT64_MAX;
    FILE *f = fopen(groups, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':');
        if (controllers && strncmp(controllers, "::", 2) == 0) {
            line[strcspn(line, "\n")] = '\0';
            limit = least_limit(mounted, controllers + 2, limit_of);
        }
    }
    if (f)
        fclose(f);
    return limit;
}

uint64_t ih_control_group_memory(const char *groups, const char *mounted)
{
    return limit_of_groups(groups, mounted, memory_of_group);
}

uint64_t ih_control_group_cores(const char *groups, const char *mounted)
{
    return limit_of_groups(groups, mounted, cores_of_group);
}

/* ---- the machine ---- */

static const char own_groups[] = "/proc/self/cgroup", mounted_groups[] = "/sys/fs/cgroup";

unsigned ih_machine_cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t allowed; /* fewer with taskset, or in a cluster's job */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        n = CPU_COUNT(&allowed);
    /* A container often has all cores but limited time. More threads than that time is enough for
     * use it up early in each period, and all wait for the next one. */
    uint64_t limit = ih_control_group_cores(own_groups, mounted_groups);
    n = n > 0 && limit < (uint64_t)n ? (long)limit : n;
    return n < 1 ? 1 : n > IH_THREADS_MAX ? IH_THREADS_MAX : (unsigned)n;
}

uint64_t ih_machine_memory(void)
{
    uint64_t n_bytes = UINT64_C(4) << 30; /* if the system does not say */
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (n_pages > 0 && page_bytes > 0)
        n_bytes = (uint64_t)n_pages * (uint64_t)page_bytes;
    uint64_t limit = ih_control_group_memory(own_groups, mounted_groups);
    n_bytes = limit < n_bytes ? limit : n_bytes;
    return n_bytes < UINTPTR_MAX ? n_bytes : UINTPTR_MAX; /* 32 bits */
}

const char *ih_machine_program(void)
{
    static const char itself[] = "/proc/self/exe"; /* right even after the file was replaced */
    return access(itself, X_OK) == 0 ? itself : NULL;
}

/* The soft limit is low for programs that use select(), which imghist does not. */
void ih_machine_allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* ---- the allocator ---- */

#ifdef __GLIBC__
static size_t kept_bytes(uint64_t memory_bytes)
{
    const uint64_t bytes_max = 256 << 20;
    return (size_t)(memory_bytes < bytes_max ? memory_bytes : bytes_max);
}
#endif

/*
 * By default glibc returns the memory of each file to the system, and the pages of the next file
 * have to be faulted in and cleared again. Two settings avoid that:
 *
 * - A larger trim threshold returns less at the end of the heap.
 * - One heap for all threads: a thread's own heap has 64 MiB, which the coefficients of two colour
 *   planes fill, and glibc returns empty heaps regardless of the threshold.
 *
 * Small files are not slower, because each thread has a cache of small blocks. A small --memory
 * keeps no more than it allows. In a batch, glibc maps blocks over 32 MiB separately.
 */
void ih_machine_keep_memory(uint64_t memory_bytes, unsigned n_threads, bool is_batch)
{
#ifdef __GLIBC__
    const uint64_t map_bytes_max = 32 << 20, bytes_min = 128 << 10;
    uint64_t share = memory_bytes / n_threads;
    share = share > bytes_min ? share : bytes_min; /* glibc's default */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, (int)(share < map_bytes_max ? share : map_bytes_max));
    mallopt(M_TRIM_THRESHOLD, (int)kept_bytes(memory_bytes));
    if (!is_batch)
        mallopt(M_MMAP_MAX, 0); /* large blocks come from the heap, too */
#else
    (void)memory_bytes, (void)n_threads, (void)is_batch;
#endif
}

bool ih_machine_return_memory(uint64_t memory_bytes)
{
#ifdef HAS_MALLINFO2
    if (mallinfo2().fordblks > kept_bytes(memory_bytes))
        malloc_trim(0);
    return true;
#else
    (void)memory_bytes;
    return false;
#endif
}
