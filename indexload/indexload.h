/*
 * indexload.h - one operation on an ordered index a transaction: lookups, inserts, updates, deletes and scans of
 * entries of 16 bytes, as papers on B+trees in disaggregated memory measure them (docs/ordered.md#measuring).
 *
 * A table has records of one number of 8 bytes, and an index over their keys covers it: so a lookup and a scan are
 * answered by leaves alone, and a change changes the record and its entry. Records have numbers: those loaded come
 * first, then client c of n inserts the numbers loaded + c, loaded + n + c, ... A record's key is its number multiplied
 * by an odd constant, modulo 2^56; or the number itself, when inserts are to come in order.
 *
 * A value says whose it is, in 24 bits, and how often it has been updated, in 40: so a check finds values in a wrong
 * place, updates that are lost or too many, and records that are missing or too many.
 */
#pragma once

#include "cellar_lab.h"
#include "workload.h"
#include "zipf.h"

#define INDEXLOAD_SCAN_MAX 1000 /* records of a scan, at most */
#define INDEXLOAD_UPDATES_MASK ((1ull << 40) - 1)

extern const struct workload indexload_workload;

struct indexload_config {
    struct workload_config base;
    const char *operation; /* "mixed" ...: which ones there are, and how many of each */
    uint64_t records;
    double theta;
    uint32_t scan_max;
    bool sorted, rows; /* keys ascend; scans read records, too */
};

enum indexload_type {
    INDEXLOAD_LOOKUP,
    INDEXLOAD_INSERT,
    INDEXLOAD_UPDATE,
    INDEXLOAD_DELETE,
    INDEXLOAD_SCAN,
    INDEXLOAD_TYPES
};

struct workload_run {
    struct cellar *db;
    uint64_t records; /* loaded */
    uint32_t scan_max;
    bool sorted, rows;
    const uint8_t *percent; /* of each type */
    const struct cellar_table *table;
    const struct cellar_index *by_key;
    const struct cellar_proc *procs[INDEXLOAD_TYPES];
    struct zipf zipf;
};

struct indexload_args {
    const struct workload_run *run;
    uint64_t key;
    uint32_t scan; /* records that a scan is to find, at most */
    /* results: values of another key, or out of order; records that were there; how often one that went was updated */
    uint32_t foreign, found;
    uint64_t dropped;
};

struct indexload_client {
    struct workload_client base;
    uint64_t committed[INDEXLOAD_TYPES], found[INDEXLOAD_TYPES]; /* of a scan: records */
    uint64_t foreign, dropped;
    uint64_t taken; /* of its own inserts, deleted again */
    struct indexload_args args;
};

/* The value of that key before its first update. */
uint64_t indexload_value(uint64_t key);
int indexload_check(struct workload_run *run, struct cellar_lab_client *self, struct workload_client *const *clients,
                    uint32_t client_count, struct workload_report *report, struct cellar_error *error);
