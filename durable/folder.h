/*
 * folder.h - what a durable folder says of itself: whose it is. Its file `cellar` is one block, written once, when the
 * folder is first used; the other files of a folder that has none are not ours.
 */
#pragma once

#include "disk.h"
#include "err.h"

#define FOLDER_FILE "cellar"
#define FOLDER_MAGIC 0x52494452414c4c43ull /* "CLLARDIR" read as a little-endian word */
#define FOLDER_VERSION 3
#define FOLDER_BYTES 4096

/* The first bytes of the block; zeros follow. */
struct folder {
    uint64_t magic;
    uint32_t version;
    uint32_t node;         /* the memory node whose bytes are kept here, */
    uint32_t nodes;        /* ... of so many, */
    uint32_t replicas;     /* ... each with so many backups on others */
    uint64_t pool[2];      /* which folders belong together: the number of the first one */
    uint64_t number[2];    /* that no other folder has */
    uint64_t fingerprint;  /* of the layouts of what is kept */
    uint64_t memory_bytes; /* of the memory node */
    uint64_t life;         /* the first one that it has, made in a lost one's place; 0: it was made with the pool */
    uint64_t checksum;     /* xxh3 of the whole block, this field taken as zero */
};

/*
 * 0: *folder is what it says. NOT_FOUND: it is empty, and may be used. INVALID: it has files of others. MISMATCH: of
 * another version or layout. CORRUPT, SYSTEM.
 */
NODISCARD int folder_read(struct disk *disk, uint64_t fingerprint, struct folder *folder, struct cellar_error *error);
/* Has it a log? Then it has been used. SYSTEM. */
NODISCARD int folder_logged(struct disk *disk, bool *logged, struct cellar_error *error);
/*
 * Makes its file, of a folder that is empty; or once more, as it was read: the process that made it may have failed at
 * the sync. What lies between version and checksum is the caller's. FULL, SYSTEM.
 */
NODISCARD int folder_make(struct disk *disk, struct folder *folder, struct cellar_error *error);
