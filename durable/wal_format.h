/*
 * wal_format.h - the bytes of the write-ahead log. Files are blocks of 4,096 bytes, each with its own checksum and its
 * own place in it: block 0 is the head, groups follow. A group begins with a block and ends with one, so that no byte
 * that was synced is ever written again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define WAL_MAGIC 0x4c415743u /* "CWAL" read as a little-endian word */
#define WAL_VERSION 1
#define WAL_BLOCK 4096

enum wal_kind { WAL_HEAD = 1, WAL_GROUP = 2 };
enum wal_flags { WAL_FIRST = 1, WAL_LAST = 2, WAL_COPY = 4 }; /* of the blocks of a group */

struct wal_block {
    uint32_t magic;
    uint16_t kind, flags;
    uint32_t used;     /* bytes of payload; all but the last block of a group are full */
    uint32_t index;    /* of the block in its file */
    uint64_t file;     /* number of the file, 1, 2, ... */
    uint64_t group;    /* number of the group, 1, 2, ...; head: of the first one in the file */
    uint64_t salt;     /* wal_salt: blocks of another folder's log are none of this one */
    uint64_t checksum; /* xxh3 of the whole block, this field taken as zero */
};
_Static_assert(sizeof(struct wal_block) == 48, "wal_block");
_Static_assert(offsetof(struct wal_block, file) == 16 && offsetof(struct wal_block, checksum) == 40, "wal_block");

#define WAL_PAYLOAD (WAL_BLOCK - (uint32_t)sizeof(struct wal_block))

/* Payload of block 0. */
struct wal_head {
    uint32_t version;
    uint32_t node;
    uint64_t fingerprint;
    uint64_t directory[2];
    uint64_t file_bytes;
    uint64_t previous; /* groups up to this one are in earlier files, whose later groups do not count */
    uint32_t carried;  /* 1: the first group is a copy of the last one that was found when the log was opened */
    uint32_t pad;      /* zero */
};
_Static_assert(sizeof(struct wal_head) == 56, "wal_head");
