/* memfd_create where there is one, since only what it makes can be sealed; else what POSIX has. */
#define _GNU_SOURCE

#include "isolate/shared_pixels.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a lock would be in one process and not in the other");
_Static_assert((IH_DECODER_PROCESS_PIECES & (IH_DECODER_PROCESS_PIECES - 1)) == 0,
               "a count that runs over must fit");

#ifdef MFD_ALLOW_SEALING

#ifndef MFD_NOEXEC_SEAL /* older headers */
#define MFD_NOEXEC_SEAL 8u
#endif

static int make_file(void)
{
    /* Some systems refuse what could be executed, old ones do not know of that. */
    int file = memfd_create("imghist", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL)
        file = memfd_create("imghist", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return file;
}

static bool seal(int file)
{
    return fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

#else

/* Under a name that nobody has, and only for a moment. */
static int make_file(void)
{
    int file = -1;
    for (unsigned i = 0; i < 100 && file < 0; i++) {
        char name[32]; /* the longest that some systems take */
        snprintf(name, sizeof name, "/imghist-%lx-%lx", (unsigned long)getpid() & 0xffffff,
                 (unsigned long)(ih_clock_ns() & 0xffffffff));
        file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
        if (file >= 0)
            shm_unlink(name);
        else if (errno != EEXIST)
            break;
    }
    return file;
}

static bool seal(int file)
{
    (void)file;
    return true;
}

#endif

static struct ih_shared_pixels *map(int file)
{
    struct ih_shared_pixels *memory =
        mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct ih_shared_pixels *ih_shared_pixels_make(int *file)
{
    *file = make_file();
    if (*file < 0)
        return NULL;
    struct ih_shared_pixels *memory = NULL;
    if (ftruncate(*file, sizeof *memory) == 0 && seal(*file) && (memory = map(*file)) != NULL)
        return memory;
    int error_number = errno;
    close(*file);
    errno = error_number;
    return NULL;
}

struct ih_shared_pixels *ih_shared_pixels_map(int file)
{
    struct ih_shared_pixels *memory = map(file);
    close(file);
    return memory;
}

void ih_shared_pixels_unmap(struct ih_shared_pixels *memory)
{
    if (memory)
        munmap(memory, sizeof *memory);
}
