/* fabric_thread.c - threads as the system numbers them. */
#include "fabric_thread.h"

#include "descriptor.h"
#include "must.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLAG_EXITING 4u /* the kernel's PF_EXITING, in proc(5)'s flags: set before it lets who joins go on */

/* The calling thread's, once it was asked for; 0: it was not. A call of the system at each look would be too slow. */
static __thread int32_t own_number __attribute__((tls_model("initial-exec")));

/* The thread that goes on in a child of fork has another number there. */
static void forget(void) { own_number = 0; }

static __attribute__((constructor)) void watch_forks(void)
{
    int rc = pthread_atfork(NULL, NULL, forget);
    must(rc == 0);
}

struct fabric_thread fabric_thread_here(void)
{
    if (own_number == 0) own_number = (int32_t)syscall(SYS_gettid);
    return (struct fabric_thread){own_number};
}

bool fabric_thread_is_here(struct fabric_thread thread) { return thread.number == fabric_thread_here().number; }

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
