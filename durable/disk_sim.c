/*
 * disk_sim.c - each file has two images: what reads show, and what is on the disk; and a mark for each sector that
 * differs. A sync copies the marked sectors; power loss leaves each of them to chance, and then the disk's image alone.
 */
#include "disk_sim.h"

#include "must.h"
#include "prng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 64

struct sim_file {
    char name[DISK_NAME_MAX];
    uint64_t bytes;
    uint8_t *shown, *stored;
    bool *dirty; /* a mark for each sector */
    bool there, open;
};

/* What disks of one machine have in common. */
struct sim_machine {
    struct disk_sim *disks;
    uint64_t operations;
    struct disk_sim_faults faults;
    bool power_lost, off;
};

struct disk_sim {
    struct disk disk;
    struct disk_sim *next;
    struct sim_machine *machine;
    struct prng prng;
    uint64_t capacity;
    struct sim_file files[FILES_MAX];
};

static struct disk_sim *sim_of(struct disk *disk) { return (struct disk_sim *)disk; }

static uint64_t sectors_of(uint64_t bytes) { return (bytes + DISK_SECTOR - 1) / DISK_SECTOR; }

/* ---- what is left to chance ---- */

static bool chance(struct disk_sim *sim, double part) { return (double)(prng_next(&sim->prng) >> 11) * 0x1p-53 < part; }

static void sector_garble(struct disk_sim *sim, uint8_t *sector, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) sector[i] = (uint8_t)prng_next(&sim->prng);
}

/* What the disk has of the sectors that no sync covered: of each the old bytes, the new ones, or neither. */
static void file_tear(struct disk_sim *sim, struct sim_file *file, double garbled)
{
    for (uint64_t i = 0; i < sectors_of(file->bytes); i++) {
        if (!file->dirty[i]) continue;
        uint64_t at = i * DISK_SECTOR, bytes = file->bytes - at < DISK_SECTOR ? file->bytes - at : DISK_SECTOR;
        if (chance(sim, garbled))
            sector_garble(sim, file->stored + at, bytes);
        else if (chance(sim, 0.5))
            memcpy(file->stored + at, file->shown + at, bytes);
    }
}

static void file_store(struct sim_file *file)
{
    for (uint64_t i = 0; i < sectors_of(file->bytes); i++) {
        if (!file->dirty[i]) continue;
        uint64_t at = i * DISK_SECTOR, bytes = file->bytes - at < DISK_SECTOR ? file->bytes - at : DISK_SECTOR;
        memcpy(file->stored + at, file->shown + at, bytes);
        file->dirty[i] = false;
    }
}

/* ---- files ---- */

static struct sim_file *file_find(struct disk_sim *sim, const char *name)
{
    for (int i = 0; i < FILES_MAX; i++)
        if (sim->files[i].there && !strcmp(sim->files[i].name, name)) return &sim->files[i];
    return NULL;
}

static void file_free(struct sim_file *file)
{
    free(file->shown);
    free(file->stored);
    free(file->dirty);
    *file = (struct sim_file){.there = false};
}

uint64_t disk_sim_used(const struct disk_sim *sim)
{
    uint64_t used = 0;
    for (int i = 0; i < FILES_MAX; i++) used += sim->files[i].there ? sim->files[i].bytes : 0;
    return used;
}

static int file_make(struct disk_sim *sim, const char *name, uint64_t bytes)
{
    struct sim_file *file = sim->files;
    while (file < sim->files + FILES_MAX && file->there) file++;
    if (file == sim->files + FILES_MAX || bytes > sim->capacity || disk_sim_used(sim) > sim->capacity - bytes)
        return ENOSPC;
    *file = (struct sim_file){.bytes = bytes,
                              .shown = calloc(1, bytes ? bytes : 1),
                              .stored = calloc(1, bytes ? bytes : 1),
                              .dirty = calloc(sectors_of(bytes) + 1, sizeof(bool)),
                              .there = true};
    must(strlen(name) < DISK_NAME_MAX && file->shown && file->stored && file->dirty);
    memcpy(file->name, name, strlen(name));
    return 0;
}

/* The next operation begins: false when the power is lost; *amid: it is lost now, amid this one. */
static bool begins(struct disk_sim *sim, bool *amid)
{
    struct sim_machine *machine = sim->machine;
    *amid = false;
    if (machine->power_lost || machine->off) return false;
    *amid = ++machine->operations == machine->faults.power_lost_at;
    machine->power_lost = *amid;
    return true;
}

static int sim_create(struct disk *disk, const char *name, uint64_t bytes, bool written)
{
    (void)written;
    struct disk_sim *sim = sim_of(disk);
    bool amid;
    if (!begins(sim, &amid)) return EIO;
    if (file_find(sim, name)) return EEXIST;
    if (amid && chance(sim, 0.5)) return EIO;
    int rc = file_make(sim, name, bytes);
    return amid ? EIO : rc;
}

static int sim_open(struct disk *disk, const char *name, int *number, uint64_t *bytes)
{
    struct disk_sim *sim = sim_of(disk);
    bool amid;
    if (!begins(sim, &amid) || amid) return EIO;
    struct sim_file *file = file_find(sim, name);
    if (!file) return ENOENT;
    file->open = true;
    *number = (int)(file - sim->files);
    *bytes = file->bytes;
    return 0;
}

static void sim_close(struct disk *disk, int file) { sim_of(disk)->files[file].open = false; }

static int sim_read(struct disk *disk, int number, void *to, size_t bytes, uint64_t offset)
{
    struct disk_sim *sim = sim_of(disk);
    struct sim_file *file = &sim->files[number];
    if (sim->machine->power_lost) return EIO;
    must(file->open);
    if (offset > file->bytes || bytes > file->bytes - offset) return EIO;
    memcpy(to, file->shown + offset, bytes);
    return 0;
}

static int sim_write(struct disk *disk, int number, const void *from, size_t bytes, uint64_t offset)
{
    struct disk_sim *sim = sim_of(disk);
    struct sim_file *file = &sim->files[number];
    bool amid;
    if (!begins(sim, &amid)) return EIO;
    must(file->open && offset <= file->bytes && bytes <= file->bytes - offset);
    memcpy(file->shown + offset, from, bytes);
    for (uint64_t at = offset / DISK_SECTOR; bytes && at <= (offset + bytes - 1) / DISK_SECTOR; at++)
        file->dirty[at] = true;
    return amid ? EIO : 0;
}

static int sim_sync(struct disk *disk, int number)
{
    struct disk_sim *sim = sim_of(disk);
    struct sim_file *file = &sim->files[number];
    struct disk_sim_faults *faults = &sim->machine->faults;
    uint64_t *operations = &sim->machine->operations;
    bool amid;
    if (!begins(sim, &amid) || amid) return EIO;
    must(file->open);
    if (faults->sync_lies_at && *operations >= faults->sync_lies_at) {
        faults->sync_lies_at = 0;
        return 0;
    }
    if (faults->sync_fails_at && *operations >= faults->sync_fails_at) {
        faults->sync_fails_at = 0;
        if (!faults->sync_drops) file_tear(sim, file, 0);
        memset(file->dirty, 0, sectors_of(file->bytes) * sizeof(bool)); /* the next sync finds nothing to do */
        return EIO;
    }
    file_store(file);
    return 0;
}

static int sim_rename(struct disk *disk, const char *from, const char *to)
{
    struct disk_sim *sim = sim_of(disk);
    bool amid;
    if (!begins(sim, &amid)) return EIO;
    struct sim_file *file = file_find(sim, from);
    if (!file) return ENOENT;
    must(!file_find(sim, to) && strlen(to) < DISK_NAME_MAX);
    if (!amid || chance(sim, 0.5)) memcpy(file->name, to, strlen(to) + 1);
    return amid ? EIO : 0;
}

static int sim_remove(struct disk *disk, const char *name)
{
    struct disk_sim *sim = sim_of(disk);
    bool amid;
    if (!begins(sim, &amid)) return EIO;
    struct sim_file *file = file_find(sim, name);
    if (!file) return ENOENT;
    if (!amid || chance(sim, 0.5)) file_free(file);
    return amid ? EIO : 0;
}

static int sim_list(struct disk *disk, int (*each)(void *arg, const char *name), void *arg)
{
    struct disk_sim *sim = sim_of(disk);
    if (sim->machine->power_lost) return EIO;
    int rc = 0;
    for (int i = FILES_MAX - 1; i >= 0 && !rc; i--)
        if (sim->files[i].there) rc = each(arg, sim->files[i].name);
    return rc;
}

static const struct disk_ops sim_ops = {.create = sim_create,
                                        .open = sim_open,
                                        .close = sim_close,
                                        .read = sim_read,
                                        .write = sim_write,
                                        .sync = sim_sync,
                                        .rename = sim_rename,
                                        .remove = sim_remove,
                                        .list = sim_list};

/* ---- the disk as a whole ---- */

static struct disk_sim *disk_add(struct sim_machine *machine, uint64_t seed, uint64_t capacity)
{
    struct disk_sim *sim = calloc(1, sizeof *sim);
    if (!sim) return NULL;
    sim->disk.ops = &sim_ops;
    sim->capacity = capacity;
    prng_seed(&sim->prng, seed);
    sim->machine = machine;
    sim->next = machine->disks;
    machine->disks = sim;
    return sim;
}

struct disk_sim *disk_sim_open(uint64_t seed, uint64_t capacity)
{
    struct sim_machine *machine = calloc(1, sizeof *machine);
    struct disk_sim *sim = machine ? disk_add(machine, seed, capacity) : NULL;
    if (!sim) free(machine);
    return sim;
}

struct disk_sim *disk_sim_open_beside(struct disk_sim *first, uint64_t seed, uint64_t capacity)
{
    return disk_add(first->machine, seed, capacity);
}

struct disk *disk_sim_disk(struct disk_sim *sim) { return &sim->disk; }

void disk_sim_close(struct disk_sim *sim)
{
    struct sim_machine *machine = sim ? sim->machine : NULL;
    for (struct disk_sim *next; sim && (sim = machine->disks); machine->disks = next) {
        next = sim->next;
        for (int i = 0; i < FILES_MAX; i++) file_free(&sim->files[i]);
        free(sim);
    }
    free(machine);
}

void disk_sim_set(struct disk_sim *sim, struct disk_sim_faults faults) { sim->machine->faults = faults; }

uint64_t disk_sim_operations(const struct disk_sim *sim) { return sim->machine->operations; }

void disk_sim_resize(struct disk_sim *sim, uint64_t capacity) { sim->capacity = capacity; }

void disk_sim_off(struct disk_sim *sim, bool off) { sim->machine->off = off; }

bool disk_sim_power_is_lost(const struct disk_sim *sim) { return sim->machine->power_lost; }

void disk_sim_process_ends(struct disk_sim *any)
{
    for (struct disk_sim *sim = any->machine->disks; sim; sim = sim->next)
        for (int i = 0; i < FILES_MAX; i++) sim->files[i].open = false;
}

void disk_sim_power_cycle(struct disk_sim *any)
{
    struct sim_machine *machine = any->machine;
    for (struct disk_sim *sim = machine->disks; sim; sim = sim->next)
        for (int i = 0; i < FILES_MAX; i++) {
            struct sim_file *file = &sim->files[i];
            if (!file->there) continue;
            file_tear(sim, file, machine->faults.garbled);
            memset(file->dirty, 0, sectors_of(file->bytes) * sizeof(bool));
            memcpy(file->shown, file->stored, file->bytes);
        }
    disk_sim_process_ends(any);
    machine->power_lost = false;
    machine->faults = (struct disk_sim_faults){0};
}

void disk_sim_blank(struct disk_sim *sim)
{
    for (int i = 0; i < FILES_MAX; i++) file_free(&sim->files[i]);
}

static struct sim_file *file_of(struct disk_sim *sim, const char *name)
{
    struct sim_file *file = file_find(sim, name);
    must(file != NULL);
    return file;
}

uint64_t disk_sim_bytes(struct disk_sim *sim, const char *name)
{
    struct sim_file *file = file_find(sim, name);
    return file ? file->bytes : 0;
}

void disk_sim_peek(struct disk_sim *sim, const char *name, uint64_t offset, void *to, size_t bytes)
{
    struct sim_file *file = file_of(sim, name);
    must(offset <= file->bytes && bytes <= file->bytes - offset);
    memcpy(to, file->shown + offset, bytes);
}

void disk_sim_poke(struct disk_sim *sim, const char *name, uint64_t offset, const void *from, size_t bytes)
{
    struct sim_file *file = file_of(sim, name);
    must(offset <= file->bytes && bytes <= file->bytes - offset);
    memcpy(file->shown + offset, from, bytes);
    memcpy(file->stored + offset, from, bytes);
}

void disk_sim_flip(struct disk_sim *sim, const char *name, uint64_t bit)
{
    struct sim_file *file = file_of(sim, name);
    must(bit / 8 < file->bytes);
    file->shown[bit / 8] ^= (uint8_t)(1u << bit % 8);
    file->stored[bit / 8] = file->shown[bit / 8];
}

void disk_sim_truncate(struct disk_sim *sim, const char *name, uint64_t bytes)
{
    struct sim_file *file = file_of(sim, name);
    must(bytes <= file->bytes);
    file->bytes = bytes;
}
