/*
 * file_limit.h - asks before a file grows: at the limit of a process (RLIMIT_FSIZE, `ulimit -f`) the kernel would not
 * only refuse that but send SIGXFSZ, which ends a process that has not asked for another thing. A library does not
 * change what signals of its process do.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>

/* Returns 0 if a file may have so many bytes, else EFBIG. */
static inline int file_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur ? EFBIG : 0;
}
