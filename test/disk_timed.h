/*
 * disk_timed.h - a disk whose syncs take virtual time: of the thread of a durable folder that asks for one, in a
 * simulated cluster. Others run meanwhile, as they do beside a real disk; half of the time is over when what was
 * written is on the disk below.
 */
#pragma once

#include "durable.h"

#define DISK_TIMED_FILES 64

struct disk_timed {
    struct disk disk;
    struct disk *below;
    struct durable *durable; /* whose threads wait; NULL: none does */
    uint32_t node;           /* the memory node whose disk it is */
    uint64_t sync_ns;
    bool of_keeper[DISK_TIMED_FILES]; /* by number of the file: a checkpoint, else a part of the log */
};

void disk_timed_init(struct disk_timed *timed, struct disk *below, uint64_t sync_ns);
