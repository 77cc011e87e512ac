/*
 * mode.h - the engine's modes (protocol.md section 7): what sets them apart, in one table.
 *
 * A mode is a row; its number is its `enum cellar_cc`. The code of a row's own is reached through what the row says, never by comparing
 * numbers: a new mode is a row, and what it does elsewhere stands where the others do the same otherwise.
 */
#pragma once

#include "cellar.h"

#include <stdbool.h>

struct mode {
    const char *name;   /* as --cc has it */
    bool whole_records; /* locks and checks widen to all cells of a record */
    bool shares;        /* coordinators of a compute node share records (local.h) */
    bool undo;          /* changes in place before it is decided, and logs what was there (ford.h) */
    bool queues;        /* hot records have locks to wait in (hot.h) */
    bool versions;      /* records keep old versions, and readers see snapshots (motor.h) */
    bool locks;         /* records have locks of the lock manager, shared and exclusive (twopl.h) */
};

/* NULL: there is no such mode. */
const struct mode *mode_of(enum cellar_cc cc);
/* The mode of that name, or -1. */
int mode_find(const char *name);
/* Their names, NULL behind the last one. */
extern const char *const mode_names[];
