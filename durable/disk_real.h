/* disk_real.h - a folder of real files behind the seam of disk.h. One process has it at a time. */
#pragma once

#include "disk.h"
#include "err.h"

#include <stdbool.h>

struct disk_real;

/* Is there a folder of that name? */
bool disk_real_is_folder(const char *path);
/*
 * Makes it, unless it is there (`existing`: it is to be); its name is on the disk then, also if another process has
 * made it. SYSTEM.
 */
NODISCARD int disk_real_make(const char *path, bool existing, struct cellar_error *error);

/*
 * The folder must be there. EXISTS: another process has it open; SYSTEM: it is no folder, or cannot be written to.
 * Nothing is written.
 */
NODISCARD int disk_real_open(const char *folder, struct disk_real **disk, struct cellar_error *error);
/*
 * To read alone: the folder and its files may be read-only. Several may look at one so; EXISTS: a process has it open.
 */
NODISCARD int disk_real_look(const char *folder, struct disk_real **disk, struct cellar_error *error);
struct disk *disk_real_disk(struct disk_real *disk);
/* A number that no other folder of this machine has, nor this one later, once it has files. SYSTEM. */
NODISCARD int disk_real_number(const struct disk_real *disk, uint64_t number[2], struct cellar_error *error);
void disk_real_close(struct disk_real *disk); /* NULL is allowed */
