/*
 * sim_herds.h - transactions of simulated clients that change a thousand rows and more at once, in a table with the
 * order of its key and an index: a herd comes, is driven on, or goes, always as a whole (docs/large.md).
 *
 * Each row of a herd has a mark, which says who drove it last, and how many it is then. So a herd of which a part is
 * another one's, or is missing, shows by itself.
 */
#pragma once

#include "cellar_lab.h"
#include "err.h"
#include "prng.h"

#define SIM_HERDS 2
#define SIM_HERDS_ROWS_MAX 1500
#define SIM_HERDS_LINE_BYTES 120

/* What a client knows of a herd: how many rows it has, all with that mark; or no longer. */
struct herd {
    uint32_t count;
    uint64_t mark;
};

/* What a client does with herds in one transaction; its own, while it waits. */
struct sim_herds {
    const struct cellar_table *table;
    const struct cellar_index *by_mark;
    struct cellar_txn *txn;
    struct prng *prng;
    uint32_t writer, herd, step;
    struct herd seen;
    bool own;                                 /* all its rows are of this transaction's making */
    char complaint[SIM_HERDS_LINE_BYTES];     /* about rows that it has read; counts if the transaction commits */
    char contradiction[SIM_HERDS_LINE_BYTES]; /* what it was shown does not agree with itself */
};

/* The table with its index, found or made. From outside. */
NODISCARD int sim_herds_make(struct cellar *db, const struct cellar_table **table, struct cellar_error *error);
/* In that transaction, as that writer: how many steps it takes. `herds` has the table. */
uint32_t sim_herds_begin(struct sim_herds *herds, struct cellar_txn *txn, struct prng *prng, uint32_t writer);
/* The next one: looks at a herd, drives it, looks again. A code of the transaction's. */
NODISCARD int sim_herds_step(struct sim_herds *herds);
/* At rest: each herd is whole, or CORRUPT. */
NODISCARD int sim_herds_check(struct cellar_lab_client *self, const struct cellar_table *table,
                              struct cellar_error *error);
