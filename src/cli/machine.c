#define _GNU_SOURCE /* sched_getaffinity */

#include "cli/machine.h"

#include "cli/cgroup.h"
#include "cli/options.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#endif

static const char groups[] = "/proc/self/cgroup", mounted[] = "/sys/fs/cgroup";

unsigned ih_machine_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
    cpu_set_t allowed; /* fewer with taskset, in a job of a cluster */
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        n = CPU_COUNT(&allowed);
#endif
    /* Containers are often allowed no fewer processors, but less of their time. More threads than
     * that time is enough for would use it up early in each period, and all wait for the next. */
    uint64_t limit = ih_control_group_processors(groups, mounted);
    n = n > 0 && limit < (uint64_t)n ? (long)limit : n;
    return n < 1 ? 1 : n > IH_THREADS_MAX ? IH_THREADS_MAX : (unsigned)n;
}

uint64_t ih_machine_memory(void)
{
    uint64_t n_bytes = UINT64_C(4) << 30; /* where the system does not say */
#ifdef _SC_PHYS_PAGES                     /* no POSIX, but every system with sysconf has it */
    long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (n_pages > 0 && page_bytes > 0)
        n_bytes = (uint64_t)n_pages * (uint64_t)page_bytes;
#endif
    uint64_t limit = ih_control_group_memory(groups, mounted);
    return limit < n_bytes ? limit : n_bytes;
}

const char *ih_machine_program(void)
{
    static const char itself[] = "/proc/self/exe"; /* right even after the file was replaced */
    return access(itself, X_OK) == 0 ? itself : "imghist";
}

/* Many systems let a program raise this limit, but begin with one for those that keep sets of files
 * of a fixed size (select), which imghist does not do. */
void ih_machine_allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

#ifdef __GLIBC__
/*
 * The heap's next n_bytes in pages of 2 MiB, but for the first: what small files take. Of a single
 * photo each page is new, and faults of 4 KiB are a tenth of its time (2026-11-21: progressive
 * ones of 18 and 15 megapixels, 456 -> 418 and 214 -> 165 ms). In a batch pages are used again and
 * again, and there it gains nothing.
 */
static void prefer_huge_pages(size_t n_bytes)
{
    const uintptr_t page_bytes = 2 << 20, small_bytes = 4 << 20;
    char *block = malloc(n_bytes);
    if (!block)
        return;
    const uintptr_t end = (uintptr_t)block + n_bytes;
    const uintptr_t from = ((uintptr_t)block + small_bytes) / page_bytes * page_bytes;
    if (from < end)
        (void)madvise((void *)from, end - from, MADV_HUGEPAGE);
    free(block); /* it was not touched, and is what the heap gives next */
}
#endif

/*
 * By default glibc gives what a file took back to the system when it is closed, and the next one's
 * pages are faulted in and cleared anew. Two settings keep them: less is given back at the end of
 * the heap, and all threads share one heap. Their own would be of 64 MiB each, which the
 * coefficients of two colour planes fill, and heaps that are empty are given back whatever is set.
 * Together they take 40 % off the page faults of a directory of progressive JPEGs, a third off the
 * peak, and more off the time the more processors there are (2026-11-21: 24 photos, 200 MP, 2
 * workers, 1.53 s instead of 1.58 and 209 MB instead of 253 to 309; 560 files, 16 workers, 2.6 s
 * instead of 3.0 and 583 MB instead of 896). 20,000 tiny files take as long as before: glibc serves
 * what is small from each thread's own cache. Baseline files take too little to gain or lose.
 *
 * With a small --memory no more is kept than was allowed. glibc maps what is larger than 32 MiB by
 * itself whatever it is told.
 */
void ih_machine_keep_memory(uint64_t memory_bytes, unsigned n_threads, bool is_batch)
{
#ifdef __GLIBC__
    const uint64_t map_bytes_max = 32 << 20, keep_bytes_max = 256 << 20, bytes_min = 128 << 10;
    uint64_t share = memory_bytes / n_threads;
    share = share > bytes_min ? share : bytes_min; /* glibc's default, for all that is small */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, (int)(share < map_bytes_max ? share : map_bytes_max));
    const uint64_t keep_bytes = memory_bytes < keep_bytes_max ? memory_bytes : keep_bytes_max;
    mallopt(M_TRIM_THRESHOLD, (int)keep_bytes);
    if (!is_batch) {
        mallopt(M_MMAP_MAX, 0); /* large blocks come from the heap, too */
        prefer_huge_pages((size_t)(keep_bytes / 8 * 7));
    }
#else
    (void)memory_bytes, (void)n_threads, (void)is_batch;
#endif
}
