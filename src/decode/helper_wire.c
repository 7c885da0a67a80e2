#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* CMSG_SPACE */

#include "decode/helper_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool ih_wire_send(int socket, const void *bytes, size_t size_bytes)
{
    const uint8_t *p = bytes;
    while (size_bytes > 0) {
        ssize_t n = send(socket, p, size_bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size_bytes -= (size_t)n;
    }
    return true;
}

bool ih_wire_receive(int socket, void *bytes, size_t size_bytes)
{
    uint8_t *p = bytes;
    while (size_bytes > 0) {
        ssize_t n = recv(socket, p, size_bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        size_bytes -= (size_t)n;
    }
    return true;
}

/* Room for one file descriptor beside the bytes, aligned as the calls want it. */
union one_file {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool ih_wire_send_request(int socket, const struct ih_wire_request *request, int file)
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
    do
        n = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n > 0 && ih_wire_send(socket, copy + n, sizeof copy - (size_t)n);
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
    bool is_whole = ih_wire_receive(socket, bytes + n, sizeof bytes - (size_t)n);
    memcpy(request, bytes, sizeof *request);
    return is_whole;
}
