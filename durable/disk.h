/*
 * disk.h - the seam to a disk: one folder of files, reached through a table of functions. Real files (disk_real.h) and
 * a simulated disk that forgets, tears, garbles and refuses (disk_sim.h) stand behind it, so that what survives a power
 * failure is tried with the code that runs.
 *
 * Every function returns 0 or an errno. What was written is on the disk when a sync of its file that began later has
 * returned 0, and not before. When a sync fails, what it was to write may be lost, though reads still show it: the file
 * is not to be written any more (a kernel forgets which pages were not written, and a second sync finds nothing to do).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISK_SECTOR 512 /* what a disk writes whole or not at all */
#define DISK_NAME_MAX 64
/* What is written in such blocks, from memory that is aligned so, goes to a real disk without a copy. */
#define DISK_BLOCK 4096

struct disk {
    const struct disk_ops *ops;
};

struct disk_ops {
    /*
     * A new file of zeros. When this returns 0 its space is reserved, and it and its name are on the disk. Whatever
     * fails, it is whole or not there. `written`: its parts will be written with a sync after each, which is quicker
     * where the zeros were written, too. EEXIST.
     */
    int (*create)(struct disk *disk, const char *name, uint64_t bytes, bool written);
    int (*open)(struct disk *disk, const char *name, int *file, uint64_t *bytes);
    void (*close)(struct disk *disk, int file);
    /* All of the bytes, or an errno; EIO where the file ends before. */
    int (*read)(struct disk *disk, int file, void *to, size_t bytes, uint64_t offset);
    int (*write)(struct disk *disk, int file, const void *from, size_t bytes, uint64_t offset);
    int (*sync)(struct disk *disk, int file);
    /* A file gets another name, which none has; its bytes stay. That it has is on the disk when this returns 0. */
    int (*rename)(struct disk *disk, const char *from, const char *to);
    /* That the name is gone is on the disk when this returns 0. ENOENT. */
    int (*remove)(struct disk *disk, const char *name);
    /* Calls `each` with the name of each file, in no order, until one call returns other than 0; returns that. */
    int (*list)(struct disk *disk, int (*each)(void *arg, const char *name), void *arg);
};
