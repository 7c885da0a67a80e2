/*
 * seccomp through libseccomp, because system call numbers and conventions differ from machine to
 * machine and that library knows them. What is not on the list fails with EPERM: a library that
 * looks for a configuration file or the number of processors goes on without, and what an intruder
 * tries fails as well.
 */
#define _POSIX_C_SOURCE 200809L

#include "isolate/sandbox.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#ifdef IH_WITH_SECCOMP
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#endif

static void limit(int resource, rlim_t value)
{
    struct rlimit now;
    if (getrlimit(resource, &now) == 0 && now.rlim_max > value) {
        now.rlim_cur = now.rlim_max = value;
        setrlimit(resource, &now);
    }
}

void ih_sandbox_allow_seconds(unsigned seconds)
{
    struct rusage used;
    struct rlimit now;
    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &now) != 0)
        return;
    rlim_t wanted = (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + 1 + seconds;
    now.rlim_cur = wanted < now.rlim_max ? wanted : now.rlim_max;
    setrlimit(RLIMIT_CPU, &now);
}

#ifdef IH_WITH_SECCOMP

const char *ih_sandbox_title(void)
{
    return "seccomp and resource limits";
}

/* Memory, threads, time, files that are open. stat is among them because fstat is a kind of it. */
static const char *const allowed[] = {
    "read",         "readv",           "write",
    "writev",       "recvfrom",        "recvmsg",
    "sendto",       "sendmsg",         "close",
    "lseek",        "_llseek",         "fstat",
    "fstat64",      "newfstatat",      "fstatat64",
    "statx",        "munmap",          "mremap",
    "brk",          "madvise",         "futex",
    "futex_time64", "set_robust_list", "rseq",
    "sched_yield",  "membarrier",      "sched_getaffinity",
    "gettid",       "getpid",          "tgkill",
    "rt_sigaction", "rt_sigprocmask",  "rt_sigreturn",
    "sigaltstack",  "restart_syscall", "exit",
    "exit_group",   "clock_gettime",   "clock_gettime64",
    "gettimeofday", "clock_nanosleep", "nanosleep",
    "getrusage",    "getrandom",       "getrlimit",
    "setrlimit",    "ugetrlimit",      "sysinfo",
};

static int allow(scmp_filter_ctx filter, const char *name, unsigned n, struct scmp_arg_cmp argument)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number < 0)
        return 0; /* this machine has none of that name */
    int failure = n ? seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, n, argument)
                    : seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
    return failure == -EEXIST ? 0 : failure;
}

static int add_rules(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp none = {0};
    const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    const struct scmp_arg_cmp a_thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
    const struct scmp_arg_cmp own = SCMP_A0(SCMP_CMP_EQ, 0, 0);
    int failure = 0;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0] && !failure; i++)
        failure = allow(filter, allowed[i], 0, none);
    failure = failure ? failure : allow(filter, "mmap", 1, no_code);
    failure = failure ? failure : allow(filter, "mmap2", 1, no_code);
    failure = failure ? failure : allow(filter, "mprotect", 1, no_code);
    failure = failure ? failure : allow(filter, "clone", 1, a_thread);
    failure = failure ? failure : allow(filter, "prlimit64", 1, own);
    /* Its flags cannot be looked at; told that there is none, the C library uses clone. */
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
        return ih_error_set(err, IH_UNAVAILABLE, "cannot give up rights (seccomp): %s",
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

enum ih_status ih_sandbox_enter(unsigned n_files, struct ih_error *err)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, n_files);
    return forbid_calls(err);
}
