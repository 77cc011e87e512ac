#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void close_quietly(int fd)
{
    int cause = errno;
    close(fd);
    errno = cause;
}

int descriptor_high(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close_quietly(fd);
    return high;
}

FILE *descriptor_stream(int fd, const char *mode)
{
    FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);
    if (!stream && fd >= 0) close_quietly(fd);
    return stream;
}
