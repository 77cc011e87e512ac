/*
 * ycsb_core.h - the core workloads A to F of YCSB (Cooper et al., SoCC '10): one operation a transaction on records of
 * ten fields of 100 bytes.
 *
 * | | operations | which record |
 * | A | 50 % read, 50 % update | Zipf |
 * | B | 95 % read, 5 % update | Zipf |
 * | C | read | Zipf |
 * | D | 95 % read, 5 % insert | the latest |
 * | E | 95 % scan, 5 % insert | from a Zipf record on, 1 to scan_max of them |
 * | F | 50 % read, 50 % read-modify-write | Zipf |
 *
 * A read and a scan take all fields, an update and a read-modify-write write one. Records have numbers: those loaded
 * come first, then client c of n inserts the numbers loaded + c, loaded + n + c, ... A record's key is its number
 * multiplied by an odd constant, modulo 2^56: neighbours by number are no neighbours by key, as in YCSB's hashed order,
 * and the number comes back out of the key. E's scans go by an ordered index over the keys.
 *
 * Each field describes itself, as YCSB-T's cells do (ycsb.h), so the check finds torn, misplaced and uncommitted
 * values, inserts that are missing or too many, and (F) lost updates.
 */
#pragma once

#include "ycsb_config.h"
#include "schemadef.h"
#include "zipf.h"

#include <stdatomic.h>

#define YCSB_CORE_FIELDS 10
#define YCSB_CORE_FIELD_BYTES 100
#define YCSB_CORE_SCAN_MAX 1000 /* records of a scan, at most */
#define YCSB_CORE_LOADER UINT32_MAX

enum ycsb_core_type {
    YCSB_CORE_READ,
    YCSB_CORE_UPDATE,
    YCSB_CORE_INSERT,
    YCSB_CORE_SCAN,
    YCSB_CORE_MODIFY,
    YCSB_CORE_TYPES
};

struct __attribute__((packed)) ycsb_core_field {
    uint64_t key;
    uint32_t field;
    uint32_t writer;   /* index of the client */
    uint64_t counter;  /* the writer's transactions that write, this one included; 0: loaded */
    uint64_t modified; /* how often a read-modify-write has changed it */
    uint64_t checksum; /* of the above */
    uint8_t rest[60];  /* follows from the checksum */
};
_Static_assert(sizeof(struct ycsb_core_field) == YCSB_CORE_FIELD_BYTES, "YCSB's field");

struct ycsb_core_row {
    struct ycsb_core_field fields[YCSB_CORE_FIELDS];
};

struct workload_run {
    struct cellar *db;
    uint64_t records; /* loaded */
    uint32_t scan_max;
    struct workload_operations *operations; /* NULL: there are none */
    const struct ycsb_core_mix *mix;
    const struct cellar_table *table;
    const struct cellar_index *by_key; /* E; NULL: there is none */
    int columns[YCSB_CORE_FIELDS];
    cellar_cells cells[YCSB_CORE_FIELDS];
    const struct cellar_proc *procs[YCSB_CORE_TYPES];
    struct zipf zipf;
    _Atomic(_Atomic uint64_t *) inserted; /* by client: how many records it has inserted; of this process's clients */
};

struct ycsb_core_args {
    const struct workload_run *run;
    uint64_t key;
    uint32_t field, writer;
    uint64_t counter;
    uint32_t scan;           /* records that a scan is to find, at most */
    uint32_t foreign, found; /* results: fields of another record, or out of order; records that a scan has found */
    struct ycsb_core_row row;
};

struct ycsb_core_client {
    struct workload_client base;
    uint64_t committed[YCSB_CORE_TYPES];
    uint64_t writes; /* committed transactions that write */
    uint64_t foreign, scanned;
    uint64_t operations; /* done, or noted */
    struct ycsb_core_args args;
};

uint64_t ycsb_core_key(uint64_t number);
uint64_t ycsb_core_number(uint64_t key);
void ycsb_core_fill(struct ycsb_core_field *field, uint64_t key, uint32_t number, uint32_t writer, uint64_t counter,
                    uint64_t modified);
/* Does the field say what its place says, under its checksum? */
bool ycsb_core_intact(const struct ycsb_core_field *field, uint64_t key, uint32_t number);
int ycsb_core_load(struct workload_run *run, struct cellar_lab_client *self, uint64_t *progress,
                   struct cellar_error *error);
int ycsb_core_check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                    uint32_t client_count, struct workload_report *report, struct cellar_error *error);
/* Parts of the mix, in percent; of those types that it has not: 0. */
double ycsb_core_share(const struct workload_run *run, enum ycsb_core_type type);
