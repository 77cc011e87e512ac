/*
 * sim_cells.h - transactions of the workload "cells", for those that run them in another way: tables, what is drawn,
 * and values that say who wrote them (sim_cells.c).
 */
#pragma once

#include "sim_load.h"
#include "schemadef.h"

#define SIM_CELLS_KEYS_MAX 64
#define SIM_CELLS_VALUE_BYTES_MAX 1024
#define SIM_CELLS_ROW_BYTES_MAX 4608

enum cells_kind {
    CELLS_READ,   /* of no cell: asks whether the record is there */
    CELLS_UPDATE, /* reads what it writes */
    CELLS_BLIND,  /* writes what it never read */
    CELLS_MIXED,  /* reads some cells and writes others */
    CELLS_INSERT,
    CELLS_DELETE,
    CELLS_KINDS
};

struct cells_access {
    enum cells_kind kind;
    uint32_t table, key;
    cellar_cells read, write;
    bool optional, block; /* block: begins another one */
    bool if_absent;       /* an insert, only if the access before it found nothing */
};

struct cells_txn {
    struct cells_access accesses[SIM_ACCESSES_MAX];
    uint32_t count;
    bool user_abort;
    bool writes_last; /* all of them after the last block, whichever block has fetched the record */
};

struct cells_table {
    const struct cellar_table *table;
    char name[16];
    struct cellar_schema_column columns[CELLAR_CELLS_MAX]; /* in the engine's rows, by number */
    char column_names[CELLAR_CELLS_MAX][8];
    uint32_t cells, row_bytes;
    /* The clients' rows: the key, and the cells behind it. */
    uint32_t offsets[CELLAR_CELLS_MAX], client_bytes;
    cellar_cells all;
};

struct sim_sessions;

struct cells {
    struct sim_load load;
    const struct cellar_proc *proc,
        *read_proc; /* read_proc: where it matters that a transaction declares no writes; else NULL */
    struct cells_table tables[SIM_TABLES_MAX];
    uint64_t popularity[SIM_CELLS_KEYS_MAX]; /* cumulative weights of the keys */
    uint32_t kind_weights[CELLS_KINDS];
    bool seen[SIM_CELLS_KEYS_MAX]; /* by the final scan of a table */
    uint32_t scanning;
    struct sim_sessions *sessions;     /* of interactive transactions; NULL: procedures only */
    const struct cellar_table *texts;  /* whose values have variable length (sim_texts.h); NULL: there is none */
    const struct cellar_table *herds;  /* of which very many rows change at once (sim_herds.h); NULL: likewise */
    const struct cellar_table *people; /* with orders, and keys of two columns (sim_people.h); NULL: likewise */
};

/* Keys at both ends of their range are as good as any. */
static inline uint64_t sim_cells_key(uint32_t number) { return number == 1 ? UINT64_MAX : (uint64_t)number * 3; }

uint64_t sim_cells_mix(uint64_t hash, uint64_t word);
/* Says by whom, for which cell and after which reads it was written; at least 8 bytes. */
uint64_t sim_cells_identity(uint32_t writer, uint32_t table, uint32_t key, uint32_t cell);
void sim_cells_value_make(uint8_t *value, uint32_t bytes, uint64_t id, uint64_t digest);
bool sim_cells_value_sound(const uint8_t *value, uint32_t bytes, uint32_t table, uint32_t key, uint32_t cell);
void sim_cells_row_make(const struct cells_table *table, uint32_t number, uint32_t key, uint32_t writer,
                        uint64_t digest, uint8_t *row);
/* The transaction of that client and index. */
void sim_cells_draw(const struct cells *cells, uint32_t client, uint32_t index, struct cells_txn *txn);
