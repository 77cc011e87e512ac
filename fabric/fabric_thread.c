/* fabric_thread.c - threads as the system numbers them. */
#include "fabric_thread.h"

#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLAG_EXITING 4u /* the kernel's PF_EXITING, in proc(5)'s flags: set before it lets who joins go on */

struct fabric_thread fabric_thread_here(void)
{
    return (struct fabric_thread){(uintptr_t)&errno, (int32_t)syscall(SYS_gettid)};
}

bool fabric_thread_is_here(struct fabric_thread thread) { return thread.place == (uintptr_t)&errno; }

/* The system knows a thread for a moment longer than those that have joined it, as one that is exiting. */
static bool exits(struct fabric_thread thread)
{
    char path[64], text[512];
    unsigned flags = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread.number);
    int fd = descriptor_high(open(path, O_RDONLY | O_CLOEXEC));
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    text[bytes > 0 ? bytes : 0] = 0;
    const char *name_end = strrchr(text, ')');
    bool told = name_end && sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1;
    return told && flags & FLAG_EXITING;
}

bool fabric_thread_lives(struct fabric_thread thread)
{
    if (exits(thread)) return false;
    return syscall(SYS_tgkill, getpid(), thread.number, 0) == 0 || errno != ESRCH; /* it may have gone just now */
}
