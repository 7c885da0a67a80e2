#define _POSIX_C_SOURCE 200809L

#include "isolate/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SOCK_CLOEXEC /* without it there is a moment for another thread to start a program in */
#define SOCK_CLOEXEC 0
#endif

/* A number that none of those is that the helper finds its files under: dup2 onto its own would
 * leave the flag set that closes it, and onto another's would close that. -1: there is none. */
static int move_away(int fd)
{
    if (fd < 0 || fd > IH_DECODER_PROCESS_MEMORY)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, IH_DECODER_PROCESS_MEMORY + 1), error_number = errno;
    close(fd);
    errno = error_number;
    return moved;
}

/* A socket for the worker and one for its helper, which no other program that is started gets: as
 * long as it held one, the end of the other would not be seen. */
static bool make_ends(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    ends[1] = move_away(ends[1]);
    if (ends[1] >= 0)
        return true;
    int error_number = errno;
    close(ends[0]);
    errno = error_number;
    return false;
}

/* Fills memory; returns the file to hand over, or -1. */
static int make_memory(struct ih_decoder_process *h)
{
    int file;
    h->memory = ih_shared_pixels_make(&file);
    return h->memory ? move_away(file) : -1;
}

/*
 * posix_spawn rather than fork: the threads of this process are none of its business.
 *
 * Signals that people end programs with, which a terminal sends to the helper too, are blocked in
 * it: one that ended before this process does would seem to have crashed over its file.
 */
static int run(struct ih_decoder_process *h, int its_socket, int memory)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    static const int of_people[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t blocked, all;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof of_people / sizeof of_people[0]; i++)
        sigaddset(&blocked, of_people[i]);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, its_socket, IH_DECODER_PROCESS_SOCKET);
    posix_spawn_file_actions_adddup2(&actions, memory, IH_DECODER_PROCESS_MEMORY);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char name[] = "imghist", option[] = IH_DECODER_PROCESS_OPTION, strict[] = "strict",
         prepared[16];
    char *const arguments[] = {name, option, prepared, h->command->is_strict ? strict : NULL, NULL};
    snprintf(prepared, sizeof prepared, "%u", h->prepared);
    int error_number =
        posix_spawnp(&h->pid, h->command->program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error_number;
}

enum ih_status ih_decoder_process_spawn(struct ih_decoder_process *h, struct ih_error *err)
{
    static const char what[] = "cannot start a helper process";
    int ends[2], memory = -1, error_number = 0;
    if (!make_ends(ends))
        return ih_error_errno(err, errno, what);
    enum ih_status status = IH_OK;
    if ((memory = make_memory(h)) < 0)
        status = ih_error_set(err, IH_UNAVAILABLE, "%s: no memory to share with it: %s", what,
                              strerror(errno));
    else if ((error_number = run(h, ends[1], memory)) != 0)
        status = ih_error_set(err, IH_UNAVAILABLE, "%s: %s", what, strerror(error_number));
    close(ends[1]);
    if (memory >= 0)
        close(memory);
    h->socket = ends[0];
    if (status == IH_OK)
        return IH_OK;
    close(ends[0]);
    ih_shared_pixels_unmap(h->memory);
    h->memory = NULL;
    return status;
}
