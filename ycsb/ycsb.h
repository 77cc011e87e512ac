/*
 * ycsb.h - YCSB-T: transactions over a few random records of one table with four cells of 40 bytes.
 *
 * An update rewrites one random cell of each of its records, a read reads one. Each value describes itself: which
 * cell of which record it belongs to, which client wrote it as which of its updates, and how often the cell has been
 * written, under a checksum. So a scan can tell a misplaced or torn value, one of a transaction that never committed,
 * and (since an update adds one to the number it read) a lost update.
 *
 * A record's key is its popularity rank: 0 is the hottest. Keys are not scrambled, since the hash index spreads
 * neighbours anyway.
 */
#pragma once

#include "ycsb_config.h"
#include "schemadef.h"
#include "zipf.h"

#define YCSB_CELLS 4
#define YCSB_PER_TXN_MAX 64
#define YCSB_LOADER UINT32_MAX /* the writer of the values loaded */

enum ycsb_type { YCSB_READ, YCSB_UPDATE, YCSB_TYPES };

struct ycsb_value {
    uint64_t key;
    uint32_t cell;
    uint32_t writer;   /* index of the client */
    uint64_t counter;  /* the writer's committed updates, this one included; 0: loaded */
    uint64_t writes;   /* of this cell, so far */
    uint64_t checksum; /* of the above */
};
_Static_assert(sizeof(struct ycsb_value) == 40, "the papers' cell");

struct ycsb_row {
    struct ycsb_value cells[YCSB_CELLS];
};

uint64_t ycsb_checksum(const struct ycsb_value *value);

struct workload_run {
    struct cellar *db;
    uint64_t records;
    uint32_t per_txn;
    uint64_t update_below; /* a transaction is an update when a random number is below this */
    bool update_always;
    const struct cellar_table *table;
    int columns[YCSB_CELLS];
    cellar_cells cells[YCSB_CELLS];
    const struct cellar_proc *procs[YCSB_TYPES];
    struct zipf zipf;
};

/* One transaction: which cell of which records, in ascending order of keys. */
struct ycsb_args {
    const struct workload_run *run;
    uint32_t writer;
    uint32_t foreign; /* result: values read that belong to another cell */
    uint64_t counter;
    uint64_t keys[YCSB_PER_TXN_MAX];
    uint8_t cells[YCSB_PER_TXN_MAX];
};

struct ycsb_client {
    struct workload_client base;
    uint64_t committed[YCSB_TYPES];
    uint64_t foreign; /* values that its committed transactions read from a wrong place */
    struct ycsb_args args;
};

int ycsb_load(struct workload_run *run, struct cellar_lab_client *client, uint64_t *progress,
              struct cellar_error *error);
int ycsb_check(struct workload_run *run, struct cellar_lab_client *client, struct workload_client *const *clients,
               uint32_t client_count, struct workload_report *report, struct cellar_error *error);
