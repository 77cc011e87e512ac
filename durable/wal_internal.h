/* wal_internal.h - what the reader and the writer of the log share. */
#pragma once

#include "wal.h"
#include "wal_format.h"

#define WAL_GROUP_MAX (1u << 31) /* bytes: no length of one is more than a number of 32 bits */

/* A file of the log. */
struct wal_file {
    uint64_t number, first, last; /* groups in it that count; none: last is first - 1 */
    uint64_t bytes;
    uint64_t end; /* block behind those groups, as a scan has found it */
};

/* What is left of a scan for a writer that goes on. */
struct wal_scan {
    struct wal_found found;
    struct wal_file files[WAL_FILES_MAX];
    uint32_t file_count; /* up to the last one that counts */
    uint32_t left;       /* so many behind it were cut short, or their openings were: an opening removes them */
    bool copied;         /* the last one that counts has but a copy of the last group, which may be in a cache only */
    uint8_t *last;       /* bytes of the last group: the caller's to free */
    uint64_t last_bytes;
};

NODISCARD int wal_config_check(const struct wal_config *config, struct cellar_error *error);
NODISCARD int wal_scan(const struct wal_config *config, wal_visit *visit, void *arg, struct wal_scan *scan,
                       struct cellar_error *error);

void wal_name(uint64_t number, char name[DISK_NAME_MAX]);
uint64_t wal_salt(const struct wal_config *config);
/* Of a block of WAL_BLOCK bytes. */
uint64_t wal_checksum(const struct wal_block *block);
