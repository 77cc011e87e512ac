/*
 * disk_sim.h - a disk in memory that does what disks do when power fails: sectors that were not synced are each lost,
 * there, or neither the old nor the new bytes, in any mixture; syncs fail, and forget what they were to write; a sync
 * may lie; space ends; bits turn over.
 *
 * Every operation but `read` and `list` has a number, from 1 on; faults are set for numbers. All that is left to chance
 * is drawn from the seed: the same seed and operations give the same bytes.
 */
#pragma once

#include "disk.h"

struct disk_sim;

struct disk_sim_faults {
    uint64_t
        power_lost_at; /* the power fails amid this operation; from then on all operations fail with EIO. 0: never */
    uint64_t sync_fails_at; /* this operation, if it is a sync, or the next sync after it. 0: none does */
    uint64_t sync_lies_at;  /* likewise: returns 0, and has done nothing */
    bool sync_drops;        /* the sync that fails has written nothing; else it has some sectors, by chance */
    double garbled;         /* part of the sectors that were not synced whose bytes are neither old nor new */
};

struct disk_sim *disk_sim_open(uint64_t seed, uint64_t capacity); /* bytes; NULL: no memory */
/* One more disk of that machine, whose power they have in common; it is closed with the first one. */
struct disk_sim *disk_sim_open_beside(struct disk_sim *first, uint64_t seed, uint64_t capacity);
struct disk *disk_sim_disk(struct disk_sim *disk);
void disk_sim_close(struct disk_sim *disk); /* NULL is allowed */

/* Of the machine: its disks' operations are numbered together. */
void disk_sim_set(struct disk_sim *disk, struct disk_sim_faults faults);
uint64_t disk_sim_operations(const struct disk_sim *disk); /* that have begun */
bool disk_sim_power_is_lost(const struct disk_sim *disk);
/* All operations fail with EIO, and count for nothing, until this is called again: for a process that is no more. */
void disk_sim_off(struct disk_sim *disk, bool off);

/* Of the machine: the power fails now, if it has not, and comes back; files are closed. No fault is set any more. */
void disk_sim_power_cycle(struct disk_sim *disk);
/* The process ends and another one begins: open files are closed, and what was written is still shown by reads. */
void disk_sim_process_ends(struct disk_sim *disk);

/* Of the one disk, from now on; what is there stays where it is. */
void disk_sim_resize(struct disk_sim *disk, uint64_t capacity);
uint64_t disk_sim_used(const struct disk_sim *disk);

/* At rest: another disk is in its place, on which nothing is. */
void disk_sim_blank(struct disk_sim *disk);

/* What tests do to a file at rest. A name that is not there is a mistake of the test. */
uint64_t disk_sim_bytes(struct disk_sim *disk, const char *name); /* 0: there is none */
void disk_sim_peek(struct disk_sim *disk, const char *name, uint64_t offset, void *to, size_t bytes);
void disk_sim_poke(struct disk_sim *disk, const char *name, uint64_t offset, const void *from, size_t bytes);
void disk_sim_flip(struct disk_sim *disk, const char *name, uint64_t bit);
void disk_sim_truncate(struct disk_sim *disk, const char *name, uint64_t bytes);
