/* fabric_shm_wire.c - sending and receiving the messages of fabric_shm_wire.h, with descriptors. */
#include "fabric_shm_wire.h"
#include "descriptor.h"
#include "must.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control_buffer {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FABRIC_SHM_WIRE_FDS * sizeof(int))];
};

int fabric_shm_wire_send(int socket, struct fabric_shm_message_wire *message, const int *fds, uint32_t fd_count)
{
    union control_buffer control;
    struct iovec iov = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

    must(fd_count <= FABRIC_SHM_WIRE_FDS);
    message->magic = FABRIC_SHM_WIRE_MAGIC;
    message->version = FABRIC_SHM_WIRE_VERSION;
    if (fd_count > 0) {
        memset(&control, 0, sizeof control);
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
        *cmsg = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(fd_count * sizeof(int))};
        memcpy(CMSG_DATA(cmsg), fds, fd_count * sizeof(int));
    }
    ssize_t sent;
    do sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *message ? 0 : CELLAR_SYSTEM;
}

static void keep_fds(struct msghdr *header, int *fds)
{
    uint32_t count = 0;

    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS) continue;
        for (size_t at = 0; cmsg->cmsg_len >= CMSG_LEN(at + sizeof(int)); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(cmsg) + at, sizeof fd);
            if (count < FABRIC_SHM_WIRE_FDS)
                fds[count++] = descriptor_high(fd);
            else
                close(fd);
        }
    }
}

enum fabric_shm_wire_result fabric_shm_wire_receive(int socket, struct fabric_shm_message_wire *message, int *fds)
{
    union control_buffer control;
    struct iovec iov = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

    memset(message, 0, sizeof *message);
    if (fds) { /* without room for them the kernel throws uninvited descriptors away */
        for (uint32_t i = 0; i < FABRIC_SHM_WIRE_FDS; i++) fds[i] = -1;
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
    }
    ssize_t got;
    do got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? FABRIC_SHM_WIRE_NONE : FABRIC_SHM_WIRE_HUNG_UP;
    if (fds) keep_fds(&header, fds);
    if (got == 0) return FABRIC_SHM_WIRE_HUNG_UP;
    message->text[sizeof message->text - 1] = 0;
    if (got != (ssize_t)sizeof *message || (header.msg_flags & MSG_TRUNC)) return FABRIC_SHM_WIRE_GARBAGE;
    if (message->magic != FABRIC_SHM_WIRE_MAGIC || message->version != FABRIC_SHM_WIRE_VERSION)
        return FABRIC_SHM_WIRE_GARBAGE;
    return FABRIC_SHM_WIRE_GOT;
}

int fabric_shm_wire_address(struct sockaddr_un *address, const char *path, struct cellar_error *error)
{
    size_t length = strlen(path);

    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (length == 0 || length >= sizeof address->sun_path)
        return err_set(error, CELLAR_INVALID, "a socket path must have 1 to %zu bytes, not %zu: \"%.120s\"",
                       sizeof address->sun_path - 1, length, path);
    memcpy(address->sun_path, path, length);
    return 0;
}
