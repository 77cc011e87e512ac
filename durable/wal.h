/*
 * wal.h - the write-ahead log of a memory node: groups of bytes, each on the disk whole or not there, in the order in
 * which they were written (docs/durability.md draws the bytes).
 *
 * A group is what one sync makes durable: many redo entries, and marks of epochs. The next one is written only when the
 * sync of the one before it has returned; so of a log that was cut off the last group alone may be torn, and one that
 * is broken before a later one is damage.
 *
 * INV-DURABLE-1: a group whose wal_sync returned 0 is read back, with all before it, whatever fails afterwards, or the
 *                log is refused as CORRUPT.
 * INV-DURABLE-2: what is read back are groups as they were appended, numbered without a gap.
 * INV-DURABLE-3: a log whose sync or write has failed writes and syncs nothing more.
 * INV-DURABLE-4: what wal_open has shown is durable when it returns: the last group, which may be in a cache only, is
 *                written once more.
 * INV-DURABLE-21: a file that may have the only copy of a group that is needed stays until another copy is durable; and
 *                when wal_open returns, each file but the last has groups that count nowhere else.
 *
 * One thread at a time uses a log. Its disk's folder may have other files; those of the log are named wal-*.
 */
#pragma once

#include "disk.h"
#include "err.h"

#define WAL_FILES_MAX 1024

struct wal_config {
    struct disk *disk;     /* kept until wal_close */
    uint64_t directory[2]; /* a number that no other folder has, drawn when this one was made */
    uint64_t fingerprint;  /* of the layouts of what is logged */
    uint32_t node;         /* whose log it is */
    uint32_t group_bytes;  /* that are appended between two syncs, at most, */
    uint32_t group_most;   /* ... or by one that is longer and alone; 0: none is */
    uint64_t file_bytes;   /* of a file, all reserved when it is begun, or a longer group's; a multiple of 4,096 */
    uint32_t files_max;    /* 2 to WAL_FILES_MAX: what bounds the log's space; each opening may go beyond it by one; a
                              longer group's counts as the files that would be as long */
    uint32_t files_kept; /* files that are not needed are kept for use again while there are so many at most; 0: none */
    uint64_t from;       /* groups from this one on are needed, 1: all; an opening frees files of others alone, */
    bool keeps;          /* ... or none: other logs may turn out to end where this one needs them */
};

struct wal_found {
    uint64_t first, last; /* numbers of groups; none: last is first - 1 */
    bool torn;            /* behind the last one lie parts of one that was never acknowledged */
};

/* Sees a group; bytes stay until it returns. Other than 0 ends the reading, and is returned. */
typedef int wal_visit(void *arg, uint64_t group, const uint8_t *bytes, uint64_t count);

/*
 * Reads a log that no process has open; nothing is written. INVALID: no such shape; MISMATCH: files of another folder,
 * node, version or layout; CORRUPT: a file and an offset where the log is broken, though it went on behind; SYSTEM.
 * Groups before the broken place may have been shown. `found` may be NULL.
 */
NODISCARD int wal_read(const struct wal_config *config, wal_visit *visit, void *arg, struct wal_found *found,
                       struct cellar_error *error);

struct wal;

/* Reads a log as wal_read does, or begins one, and goes on behind its last group. FULL: no space for another file. */
NODISCARD int wal_open(const struct wal_config *config, wal_visit *visit, void *arg, struct wal **wal,
                       struct wal_found *found, struct cellar_error *error);

/* Has the group under way room for so many bytes? False: wal_sync makes some. At most what one may have. */
bool wal_room(const struct wal *wal, uint32_t bytes);
/* Adds bytes to the group under way, if that has room for them: so wal_room says, of them or of all that follow. */
NODISCARD bool wal_append(struct wal *wal, const void *from, uint32_t bytes);
/* Bytes of the group under way. */
uint32_t wal_pending(const struct wal *wal);

/*
 * Makes the group under way durable, if it has a byte; *group: the last durable one. FULL: no space for another file;
 * the group is kept, and wal_sync may be called again when files were freed. SYSTEM: the disk has failed; the log is at
 * its end, every later call says so (INV-DURABLE-3), and only a new opening finds out what is there.
 */
NODISCARD int wal_sync(struct wal *wal, uint64_t *group, struct cellar_error *error);

/* Groups below this one are needed no more: files without others are removed, or kept. SYSTEM: some may be left. */
NODISCARD int wal_free(struct wal *wal, uint64_t below, struct cellar_error *error);

/* Files that are needed now, as files_max counts them. */
uint32_t wal_files(const struct wal *wal);
/* Bytes of groups and heads that were written since it was opened; not the zeros that a file is made of. */
uint64_t wal_written(const struct wal *wal);

/*
 * Syncs what is pending, then an empty group: damage to the last one that has bytes is no torn tail then. The log is
 * closed whatever is returned. NULL is allowed.
 */
NODISCARD int wal_close(struct wal *wal, struct cellar_error *error);
