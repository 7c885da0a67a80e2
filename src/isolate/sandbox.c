/* The filter is built with libseccomp, which knows the system calls of each machine. A call that is
 * not allowed fails with EPERM: a library that looks for a configuration file or the number of
 * cores goes on without it. */
#define _GNU_SOURCE /* prlimit */

#include "isolate/decoder_process.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef IH_WITH_SECCOMP
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#endif

/* Sanitizers reserve terabytes of address space, which no limit may touch. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_SANITIZER 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

/* ---- limits ---- */

/* Address space beside the images: the program and its libraries, and for each thread of a decoding
 * library a stack and an arena of malloc, which reserves 128 MiB, or 1 MiB on 32-bit systems. */
#if UINTPTR_MAX > UINT32_MAX
#define ADDRESS_BYTES ((uint64_t)4 << 30)
#define ADDRESS_BYTES_PER_CORE ((uint64_t)256 << 20)
#else
#define ADDRESS_BYTES ((uint64_t)512 << 20)
#define ADDRESS_BYTES_PER_CORE ((uint64_t)16 << 20)
#endif

#ifdef __GLIBC__ /* an enum with _GNU_SOURCE */
typedef __rlimit_resource_t resource_type;
#else
typedef int resource_type;
#endif

static void limit(resource_type resource, rlim_t value)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && now.rlim_max > value) {
        now.rlim_cur = now.rlim_max = value;
        setrlimit(resource, &now);
    }
}

static void limit_address_space(uint64_t memory_bytes)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t more =
        ADDRESS_BYTES + ADDRESS_BYTES_PER_CORE * (uint64_t)(n_cores > 0 ? n_cores : 1);
    if (memory_bytes > 0 && memory_bytes < (rlim_t)-1 / 2 - more && !HAS_SANITIZER)
        limit(RLIMIT_AS, (rlim_t)(memory_bytes + more));
}

bool ih_sandbox_allow_seconds(pid_t pid, unsigned seconds)
{
    clockid_t clock;
    struct timespec used;
    struct rlimit now;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0 ||
        prlimit(pid, RLIMIT_CPU, NULL, &now) != 0)
        return true;
    const rlim_t wanted = (rlim_t)used.tv_sec + 1 + seconds;
    now.rlim_cur = wanted < now.rlim_max ? wanted : now.rlim_max;
    prlimit(pid, RLIMIT_CPU, &now, NULL);
    return used.tv_sec <= (time_t)seconds;
}

/* ---- the filter ---- */

#ifdef IH_WITH_SECCOMP

const char *ih_sandbox_title(void)
{
    return "seccomp and resource limits";
}

/* Calls that are allowed with any arguments: memory, threads, time, open files. Of the stat family
 * only those that take no path. recv and send are calls of their own on 32-bit x86, through
 * socketcall. Each name ends with a zero byte. */
static const char allowed[] =
    "read\0readv\0write\0writev\0recv\0recvfrom\0recvmsg\0send\0sendto\0sendmsg\0close\0lseek\0"
    "_llseek\0fstat\0fstat64\0munmap\0mremap\0brk\0madvise\0futex\0futex_time64\0"
    "set_robust_list\0rseq\0sched_yield\0membarrier\0sched_getaffinity\0gettid\0getpid\0"
    "rt_sigaction\0rt_sigprocmask\0rt_sigreturn\0sigaltstack\0restart_syscall\0exit\0"
    "exit_group\0clock_gettime\0clock_gettime64\0gettimeofday\0clock_nanosleep\0"
    "clock_nanosleep_time64\0nanosleep\0getrusage\0getrandom\0getrlimit\0ugetrlimit\0sysinfo\0";

/* A filter sees registers, no memory. On 32-bit x86 and s390x, mmap is a call with a pointer to its
 * arguments. 32-bit systems have mmap2 instead; on s390x, mmap can map code too. */
#ifdef SYS_mmap2
#define MMAP "mmap2"
#else
#define MMAP "mmap"
#endif
#ifdef __s390x__
enum { MMAP_HAS_ARGUMENTS = 0, FLAGS_OF_CLONE = 1 };
#else
enum { MMAP_HAS_ARGUMENTS = 1, FLAGS_OF_CLONE = 0 };
#endif

/* Allows a call if its n arguments compare as given. */
static int allow(scmp_filter_ctx filter, const char *name, unsigned n,
                 const struct scmp_arg_cmp *arguments)
{
    /* Another negative number is that of a call which the C library makes through socketcall. */
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0; /* does not exist on this machine */
    int failure = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, n, arguments);
    return failure == -EEXIST ? 0 : failure;
}

static int add_rules(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp no_code[] = {SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)};
    const struct scmp_arg_cmp thread[] = {
        SCMP_CMP(FLAGS_OF_CLONE, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)};
    const struct scmp_arg_cmp own_threads[] = {SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0)};
    const struct scmp_arg_cmp own_limits_read[] = {SCMP_A0(SCMP_CMP_EQ, 0, 0),
                                                   SCMP_A2(SCMP_CMP_EQ, 0, 0)};
    int failure = 0;
    for (const char *name = allowed; *name && !failure; name += strlen(name) + 1)
        failure = allow(filter, name, 0, NULL);
    failure = failure ? failure : allow(filter, MMAP, MMAP_HAS_ARGUMENTS, no_code);
    failure = failure ? failure : allow(filter, "mprotect", 1, no_code);
    failure = failure ? failure : allow(filter, "clone", 1, thread);
    failure = failure ? failure : allow(filter, "tgkill", 1, own_threads); /* abort and raise */
    failure = failure ? failure : allow(filter, "prlimit64", 2, own_limits_read);
    /* The flags of clone3 are out of a filter's reach. With ENOSYS the C library uses clone. */
    int clone3 = seccomp_syscall_resolve_name("clone3");
    if (!failure && clone3 >= 0)
        failure = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), clone3, 0);
    return failure;
}

static enum ih_status forbid_calls(struct ih_error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return ih_error_set(err, IH_UNAVAILABLE, "cannot make a seccomp filter");
    int failure = add_rules(filter);
    if (!failure)
        failure = seccomp_load(filter);
    seccomp_release(filter);
    if (failure)
        return ih_error_set(err, IH_UNAVAILABLE, "cannot load the seccomp filter: %s",
                            strerror(-failure));
    return IH_OK;
}

#else

const char *ih_sandbox_title(void)
{
    return "resource limits";
}

static enum ih_status forbid_calls(struct ih_error *err)
{
    (void)err;
    return IH_OK;
}

#endif

enum ih_status ih_sandbox_enter(const struct ih_sandbox_limits *limits, struct ih_error *err)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, limits->n_files);
    if (limits->cpu_seconds > 0)
        limit(RLIMIT_CPU, limits->cpu_seconds);
    limit_address_space(limits->memory_bytes);
    return forbid_calls(err);
}
