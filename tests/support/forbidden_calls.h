/* System calls that the sandbox must refuse. Include it after the feature macro _GNU_SOURCE or
 * _DEFAULT_SOURCE, in a decoder that runs in a decoder process. */
#ifndef IH_TESTS_FORBIDDEN_CALLS_H
#define IH_TESTS_FORBIDDEN_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined SYS_newfstatat && defined SYS_fstatat64 /* 32 bits */
#define SYS_newfstatat SYS_fstatat64
#endif

struct forbidden_call {
    const char *name;
    long number, arguments[6];
};

#define CALL(name, ...)    \
    {                      \
#name, SYS_##name, \
        {                  \
            __VA_ARGS__    \
        }                  \
    }

/* Tries each call. *n_tried: how many. Returns the name of one that was not refused, or NULL. The
 * arguments are such that most calls would succeed, and none would do harm. */
static inline const char *find_allowed_call(unsigned *n_tried)
{
    static char buffer[4096];
    static struct rlimit limit = {1 << 20, 1 << 20};
    const long path = (long)(intptr_t) "/etc/passwd", empty = (long)(intptr_t) "";
    const long made = (long)(intptr_t) "/tmp/imghist-decoder-was-here",
               data = (long)(intptr_t)buffer;
#ifdef SYS_mmap2 /* 32 bits: the arguments of mmap lie in memory */
    static unsigned long map[] = {0,    4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                                  -1UL, 0};
#endif
#ifdef SYS_socketcall /* so do those of calls for sockets */
    static unsigned long socket_of[] = {AF_UNIX, SOCK_STREAM, 0};
#endif
    const long parent = getppid(), self = getpid(), code = PROT_READ | PROT_EXEC;
    const struct forbidden_call calls[] = {
        /* files */
        CALL(openat, AT_FDCWD, path, O_RDONLY),
        CALL(openat, AT_FDCWD, made, O_WRONLY | O_CREAT, 0600),
        CALL(newfstatat, AT_FDCWD, path, data, 0),
        CALL(newfstatat, 0, empty, data, 0x1000 /* AT_EMPTY_PATH */),
        CALL(statx, AT_FDCWD, path, 0, 0x7ff, data),
        CALL(faccessat, AT_FDCWD, path, R_OK),
        CALL(readlinkat, AT_FDCWD, path, data, 100),
        CALL(getcwd, data, sizeof buffer),
        CALL(chdir, (long)(intptr_t) "/"),
        CALL(fchdir, 0),
        CALL(fchmod, 0, 0600),
        CALL(fchmodat, AT_FDCWD, made, 0600),
        CALL(fchownat, AT_FDCWD, made, -1, -1, 0),
        CALL(mkdirat, AT_FDCWD, made, 0700),
        CALL(unlinkat, AT_FDCWD, made, 0),
        CALL(renameat2, AT_FDCWD, made, AT_FDCWD, made, 0),
        CALL(linkat, AT_FDCWD, path, AT_FDCWD, made, 0),
        CALL(symlinkat, path, AT_FDCWD, made),
        CALL(mknodat, AT_FDCWD, made, 0600, 0),
        CALL(truncate, made, 0),
        CALL(ftruncate, 0, 0),
        CALL(statfs, path, data),
        CALL(utimensat, AT_FDCWD, made, 0, 0),
        CALL(getdents64, 0, data, sizeof buffer),
        CALL(mount, made, made, 0, 0, 0),
        CALL(umount2, made, 0),
        CALL(chroot, made),
        CALL(pivot_root, made, made),
        CALL(inotify_init1, 0),
        CALL(fanotify_init, 0, 0),
        /* descriptors */
        CALL(dup, 0),
        CALL(dup3, 0, 9, 0),
        CALL(fcntl, 0, F_GETFL),
        CALL(ioctl, 0, 0x5401 /* TCGETS */, data),
        CALL(pipe2, data, 0),
        CALL(memfd_create, empty, 0),
        CALL(eventfd2, 0, 0),
        CALL(epoll_create1, 0),
        CALL(timerfd_create, 0, 0),
        CALL(io_uring_setup, 1, data),
        CALL(userfaultfd, 0),
        /* network */
        CALL(socket, AF_INET, SOCK_STREAM, 0),
        CALL(socket, AF_UNIX, SOCK_STREAM, 0),
        CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, data),
        CALL(connect, 3, data, 16),
        CALL(bind, 3, data, 16),
        CALL(listen, 3, 1),
        CALL(accept4, 3, 0, 0, 0),
        CALL(setsockopt, 3, 0, 0, 0, 0),
        /* processes */
        CALL(clone, SIGCHLD, 0, 0, 0, 0),
        CALL(execve, (long)(intptr_t) "/bin/true", 0, 0),
        CALL(kill, parent, 0),
        CALL(kill, self, 0),
        CALL(tkill, parent, 0),
        CALL(tgkill, parent, parent, 0),
        CALL(rt_sigqueueinfo, parent, 0, data),
        CALL(ptrace, 0, 0, 0, 0),
        CALL(process_vm_readv, parent, data, 0, data, 0, 0),
        CALL(process_vm_writev, parent, data, 0, data, 0, 0),
        CALL(wait4, -1, 0, 1, 0),
        CALL(setpgid, 0, 0),
        CALL(setsid, 0),
        CALL(setpriority, 0, 0, 0),
        CALL(sched_setaffinity, 0, 8, data),
        CALL(unshare, 0),
        CALL(setns, 0, 0),
        CALL(prctl, 15 /* PR_SET_NAME */, empty),
        CALL(seccomp, 1, 0, 0),
        CALL(personality, (long)0xffffffff),
        CALL(capget, data, data),
        /* limits and memory */
        CALL(prlimit64, 0, RLIMIT_CPU, (long)(intptr_t)&limit, 0),
        CALL(prlimit64, 0, RLIMIT_AS, (long)(intptr_t)&limit, data),
        CALL(prlimit64, parent, RLIMIT_CPU, 0, data),
#ifndef __s390x__ /* out of a filter's reach */
        CALL(mmap, 0, 4096, code, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
#endif
        CALL(mprotect, data & -4096, 4096, code),
        CALL(shmget, 0, 4096, 01000),
        CALL(msgget, 0, 01000),
        CALL(semget, 0, 1, 01000),
        CALL(mlock, data, 1),
        /* the system */
        CALL(bpf, 0, 0, 0),
        CALL(perf_event_open, 0, 0, 0, 0, 0),
        CALL(keyctl, 0, 0, 0, 0, 0),
        CALL(clock_settime, 0, 0),
        CALL(syslog, 3, data, 10),
        CALL(sethostname, data, 0),
        CALL(uname, data),
        CALL(setuid, -1),
#ifdef SYS_setrlimit
        CALL(setrlimit, RLIMIT_CPU, (long)(intptr_t)&limit),
#endif
#ifdef SYS_open /* calls that older machines have */
        CALL(open, path, O_RDONLY),
        CALL(creat, made, 0600),
        CALL(stat, path, data),
        CALL(lstat, path, data),
        CALL(access, path, R_OK),
        CALL(unlink, made),
        CALL(fork, 0),
#endif
#ifdef SYS_mmap2
        CALL(mmap, (long)(intptr_t)map),
        CALL(mmap2, 0, 4096, code, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        CALL(fcntl64, 0, F_GETFL),
        CALL(truncate64, made, 0, 0),
        CALL(ftruncate64, 0, 0, 0),
        CALL(stat64, path, data),
        CALL(lstat64, path, data),
        CALL(statfs64, path, sizeof buffer, data),
        CALL(clock_settime64, 0, 0),
#endif
#ifdef SYS_socketcall
        CALL(socketcall, 1 /* socket */, (long)(intptr_t)socket_of),
        CALL(socketcall, 3 /* connect */, data),
        CALL(socketcall, 4 /* listen */, data),
        CALL(socketcall, 8 /* socketpair */, data),
        CALL(ipc, 2 /* semget */, 0, 1, 01000, 0),
        CALL(ipc, 23 /* shmget */, 0, 4096, 01000, 0),
#endif
    };
    const char *allowed = NULL;
    *n_tried = sizeof calls / sizeof calls[0];
    for (unsigned i = 0; i < *n_tried && !allowed; i++) {
        const struct forbidden_call *c = &calls[i];
        const long *a = c->arguments;
        const long result = syscall(c->number, a[0], a[1], a[2], a[3], a[4], a[5]);
        if (result == 0 && getpid() != self)
            _exit(0);                       /* a child of clone or fork */
        if (result != -1 || errno != EPERM) /* any other reason means that the filter let it pass */
            allowed = c->name;
    }
    return allowed;
}

#endif
