/*
 * measure OUT COMMAND [ARGUMENT]...: runs a command with standard output to the file OUT, and
 * prints the microseconds from its start to its exit and its peak memory in KiB (of its largest
 * process).
 *
 * If the command fails, measure prints it and exits with 1: a failed run must not become a figure.
 */
#define _DEFAULT_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void run(const char *out, char **command)
{
    const int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        perror(out);
        _exit(127);
    }
    close(fd);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct timespec begin, end;
    struct rusage usage;
    int status;
    if (argc < 3) {
        fprintf(stderr, "usage: measure OUT COMMAND [ARGUMENT]...\n");
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const pid_t pid = fork();
    if (pid == 0)
        run(argv[1], argv + 2);
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
        perror("measure");
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "measure: failed (status %d):", status);
        for (int i = 2; i < argc; i++)
            fprintf(stderr, " %s", argv[i]);
        fprintf(stderr, "\n");
        return 1;
    }
    printf("%.0f %ld\n",
           1e6 * (double)(end.tv_sec - begin.tv_sec) + 1e-3 * (double)(end.tv_nsec - begin.tv_nsec),
           usage.ru_maxrss);
    return 0;
}
