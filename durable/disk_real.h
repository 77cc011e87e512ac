/* disk_real.h - a folder of real files behind the seam of disk.h. One process has it at a time. */
#pragma once

#include "disk.h"
#include "err.h"

struct disk_real;

/*
 * The folder must be there. EXISTS: another process has it open; SYSTEM: it is no folder, or cannot be written to.
 * Nothing is written.
 */
NODISCARD int disk_real_open(const char *folder, struct disk_real **disk, struct cellar_error *error);
struct disk *disk_real_disk(struct disk_real *disk);
void disk_real_close(struct disk_real *disk); /* NULL is allowed */
