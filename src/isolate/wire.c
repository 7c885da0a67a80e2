#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* CMSG_SPACE */

#include "isolate/wire.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* A waiting call comes back this often. Of each wait no more than this counts: a longer one means
 * that the program was stopped. */
enum { SLICE_MS = 200 };
#define SLICE_NS ((uint64_t)SLICE_MS * 1000 * 1000)

bool ih_wire_watch(int socket)
{
    const struct timeval slice = {.tv_usec = SLICE_MS * 1000};
    return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice) == 0 &&
           setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &slice, sizeof slice) == 0;
}

/* A call has returned n. Whether it is to be made again, where that is not all. */
static bool may_go_on(ssize_t n, uint64_t started_ns, struct ih_wire_patience *patience)
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
    const uint8_t *p = bytes;
    while (size_bytes > 0) {
        const uint64_t started_ns = ih_clock_ns();
        ssize_t n = send(socket, p, size_bytes, MSG_NOSIGNAL);
        if (!may_go_on(n, started_ns, patience))
            return false;
        p += n > 0 ? n : 0;
        size_bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool ih_wire_receive(int socket, void *bytes, size_t size_bytes, struct ih_wire_patience *patience)
{
    uint8_t *p = bytes;
    while (size_bytes > 0) {
        const uint64_t started_ns = ih_clock_ns();
        ssize_t n = recv(socket, p, size_bytes, 0);
        if (!may_go_on(n, started_ns, patience))
            return false;
        p += n > 0 ? n : 0;
        size_bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Room for one file descriptor beside the bytes, aligned as the calls want it. */
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
    } while (n <= 0 && may_go_on(n, started_ns, patience));
    return n > 0 && ih_wire_send(socket, copy + n, sizeof copy - (size_t)n, patience);
}

bool ih_wire_receive_request(int socket, struct ih_wire_request *request, int *file)
{
    union one_file control;
    uint8_t bytes[sizeof *request];
    struct iovec data = {bytes, sizeof bytes};
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
    bool is_whole = ih_wire_receive(socket, bytes + n, sizeof bytes - (size_t)n, NULL);
    memcpy(request, bytes, sizeof *request);
    return is_whole;
}
