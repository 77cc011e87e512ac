/*
 * pwrite_all.h - pwrite that goes on after a short write.
 *
 * A file at its limit (RLIMIT_FSIZE) or on a full device takes what still fits first and says why only the next time:
 * a caller that gives up after a short write has no reason to show.
 */
#pragma once

#include "file_limit.h"

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* `bytes` of `data` into `file`, from `offset` on. 0, or an errno; then a part of them may have been written. */
static inline int pwrite_all(int file, const void *data, size_t bytes, off_t offset)
{
    for (size_t done = 0; done < bytes;) {
        int over = file_limit((uint64_t)offset + done + 1);
        if (over) return over;
        ssize_t written = pwrite(file, (const char *)data + done, bytes - done, offset + (off_t)done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        if (written == 0) return EIO;
        done += (size_t)written;
    }
    return 0;
}
