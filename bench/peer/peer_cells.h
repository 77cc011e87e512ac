/*
 * peer_cells.h - what Cellar's two forms, procedures and interactive transactions, have in common: the database and its
 * table.
 */
#pragma once

#include "cellar_cluster.h"
#include "cellar_lab.h"
#include "peer.h"

struct cells_row {
    uint64_t key;
    union peer_row row;
};
#define CELLS_KEY CELLAR_COL(0)
/* The columns of a set of cells: the first one is the key. */
static inline uint64_t cells_columns(uint8_t cells) { return (uint64_t)cells << 1; }

struct cells {
    struct peer_setup setup;
    struct cellar *db;
    const struct cellar_table *table; /* column i + 1 is cell i */
};

/* Of its memory node. */
uint64_t cells_pool_bytes(const struct peer_setup *setup);
/* Returns 0, or peer_fail with the engine's line. */
int cells_open(struct cells *cells, const struct peer_setup *setup, uint32_t threads, uint32_t txns);
/* The same, of the call that has just failed. */
int cells_refused(void);
void cells_close(struct cells *cells);
int cells_load(void *cells);
int cells_each(void *cells, void (*fn)(void *arg, uint64_t key, const union peer_row *row), void *arg);
int cells_fail(const struct cellar_result *result);
