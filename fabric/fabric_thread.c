/* fabric_thread.c - threads as the system numbers them. */
#include "fabric_thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

struct fabric_thread fabric_thread_here(void)
{
    return (struct fabric_thread){(uintptr_t)&errno, (int32_t)syscall(SYS_gettid)};
}

bool fabric_thread_is_here(struct fabric_thread thread) { return thread.place == (uintptr_t)&errno; }

bool fabric_thread_lives(struct fabric_thread thread)
{
    return syscall(SYS_tgkill, getpid(), thread.number, 0) == 0 || errno != ESRCH;
}
