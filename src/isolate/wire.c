#define _GNU_SOURCE /* memfd_create: only its memory can be sealed */

#include "isolate/decoder_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- messages ---- */

/* A waiting call returns this often. A longer wait counts as this much, because the program was
 * stopped in between. */
enum { SLICE_MS = 200 };
#define SLICE_NS ((uint64_t)SLICE_MS * 1000 * 1000)

bool ih_wire_watch(int socket)
{
    const struct timeval slice = {.tv_usec = SLICE_MS * 1000};
    return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) == 0 &&
           setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice) == 0;
}

/* Charges the wait to patience. Whether to repeat a call that has returned n. */
static bool may_continue(ssize_t n, uint64_t started_ns, struct ih_wire_patience *patience)
{
    const int reason = errno;
    if (patience && patience->left_ns != IH_WIRE_FOR_EVER) {
        uint64_t waited_ns = ih_clock_ns() - started_ns;
        waited_ns = waited_ns < SLICE_NS ? waited_ns : SLICE_NS;
        patience->left_ns -= waited_ns < patience->left_ns ? waited_ns : patience->left_ns;
        if (patience->left_ns == 0)
            return false;
    }
    return n > 0 || (n < 0 && (reason == EINTR ||
                               (patience && (reason == EAGAIN || reason == EWOULDBLOCK))));
}

bool ih_wire_send(int socket, const void *bytes, size_t size_bytes,
                  struct ih_wire_patience *patience)
{
    for (size_t n_done = 0; n_done < size_bytes;) {
        const uint64_t started_ns = ih_clock_ns();
        const uint8_t *from = (const uint8_t *)bytes + n_done;
        const ssize_t n = send(socket, from, size_bytes - n_done, MSG_NOSIGNAL);
        if (!may_continue(n, started_ns, patience))
            return false;
        n_done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool ih_wire_receive(int socket, void *bytes, size_t size_bytes, struct ih_wire_patience *patience)
{
    for (size_t n_done = 0; n_done < size_bytes;) {
        const uint64_t started_ns = ih_clock_ns();
        const ssize_t n = recv(socket, (uint8_t *)bytes + n_done, size_bytes - n_done, 0);
        if (!may_continue(n, started_ns, patience))
            return false;
        n_done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Space for one file descriptor sent along with the bytes, aligned for the calls. */
union one_file {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool ih_wire_send_request(int socket, const struct ih_wire_request *request, int file,
                          struct ih_wire_patience *patience)
{
    union one_file control;
    uint8_t copy[sizeof *request];
    memcpy(copy, request, sizeof copy);
    memset(&control, 0, sizeof control);
    struct iovec data = {copy, sizeof copy};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(c), &file, sizeof file);
    ssize_t n;
    uint64_t started_ns;
    do {
        started_ns = ih_clock_ns();
        n = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (n <= 0 && may_continue(n, started_ns, patience));
    return n > 0 && ih_wire_send(socket, copy + n, sizeof copy - (size_t)n, patience);
}

bool ih_wire_receive_request(int socket, struct ih_wire_request *request, int *file)
{
    union one_file control;
    struct iovec data = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t n;
    do
        n = recvmsg(socket, &message, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof *file))
        return false;
    memcpy(file, CMSG_DATA(c), sizeof *file);
    return ih_wire_receive(socket, (uint8_t *)request + n, sizeof *request - (size_t)n, NULL);
}

/* ---- pixels ---- */

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a lock would exist in one process only");
_Static_assert((IH_DECODER_PROCESS_PIECES & (IH_DECODER_PROCESS_PIECES - 1)) == 0,
               "the piece counts wrap around");

#ifndef MFD_NOEXEC_SEAL /* older headers */
#define MFD_NOEXEC_SEAL 8u
#endif

static int make_file(void)
{
    /* Some systems insist on this flag, and old ones refuse it. */
    int file = memfd_create("imghist", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL)
        file = memfd_create("imghist", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return file;
}

static struct ih_shared_pixels *map(int file)
{
    struct ih_shared_pixels *memory =
        mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int ih_shared_file(const uint8_t *bytes, size_t size_bytes)
{
    const int file = make_file();
    while (file >= 0 && size_bytes > 0) {
        const ssize_t n = write(file, bytes, size_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            const int error_number = n < 0 ? errno : ENOSPC;
            close(file);
            errno = error_number;
            return -1;
        }
        bytes += n;
        size_bytes -= (size_t)n;
    }
    if (file >= 0)
        lseek(file, 0, SEEK_SET);
    return file;
}

struct ih_shared_pixels *ih_shared_pixels_make(int *file)
{
    *file = make_file();
    if (*file < 0)
        return NULL;
    struct ih_shared_pixels *memory = NULL;
    if (ftruncate(*file, sizeof *memory) == 0 &&
        fcntl(*file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
        (memory = map(*file)) != NULL)
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
