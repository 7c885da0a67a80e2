/*
 * Files with paths of any length. The system refuses paths of more than PATH_MAX bytes, which is
 * 4096 on Linux, but allows deeper trees.
 */
#ifndef IH_BASE_PATH_H
#define IH_BASE_PATH_H

#include <sys/stat.h>

/* Longer paths fail with ENAMETOOLONG. Outputs have room for this many bytes. */
enum { IH_PATH_BYTES_MAX = 64 * 1024 };

/* As open and fstatat with AT_FDCWD: -1 and errno on failure. flags of stat: AT_SYMLINK_NOFOLLOW or
 * 0. Threads: any. */
int ih_path_open(const char *path, int flags);
int ih_path_stat(const char *path, struct stat *st, int flags);

/* Shortens a folder, "photos/a/", to what it and a path have in common. */
void ih_path_narrow(char *folder, const char *path);

#endif
