/*
 * purses.h - a durable folder on a simulated disk, in virtual time, with purses in it; its epochs are far longer than
 * a test's calls take.
 */
#pragma once

#include "durable_sim.h"
#include "face_calls.h"

#define PURSES_DISK_BYTES (256ull << 20)
#define PURSES_EPOCH_NS 1000000000
#define SYNC_NS 300000

struct purse {
    uint64_t id;
    int64_t coins;
};
enum { ID, COINS };
static const struct cellar_column purse_columns[] = {{CELLAR_FIELD(struct purse, id), .flags = CELLAR_KEY},
                                                     {CELLAR_FIELD(struct purse, coins)}};
enum { FIRST = 1, SECOND, PURSES = 4 };

struct lab {
    struct durable_sim sim;
    const struct cellar_table *purses;
    struct cellar_error error;
    uint64_t told; /* epoch of the last change */
    struct cellar_result result;
};

static inline int lab_filled(struct cellar_txn *txn, void *arg)
{
    const struct lab *lab = arg;
    int rc = 0;
    for (uint64_t id = FIRST; id <= PURSES && rc == 0; id++)
        rc = cellar_insert(txn, lab->purses, &(struct purse){id, 0});
    return rc;
}

static inline void lab_open(struct lab *lab, enum cellar_lab_cc cc)
{
    *lab = (struct lab){.sim = {.seed = 1, .sync_ns = SYNC_NS, .epoch_ns = PURSES_EPOCH_NS, .cc = cc, .coros = 2}};
    lab->sim.disk = disk_sim_open(1, PURSES_DISK_BYTES);
    assert_non_null(lab->sim.disk);
    assert_int_equal(durable_sim_open(&lab->sim, &lab->error), 0);
    ok(cellar_table_open(lab->sim.db,
                         CELLAR_TABLE(struct purse, purse_columns, .name = "purses", .flags = CELLAR_ORDERED), 0,
                         &lab->purses));
    ok(cellar_run(lab->sim.db, lab_filled, lab, NULL, NULL));
}

static inline void lab_close(struct lab *lab)
{
    ok(cellar_close(lab->sim.db));
    fabric_close(lab->sim.fabric);
    disk_sim_close(lab->sim.disk);
}

/* A coin more in the first purse. */
static inline int paid(struct cellar_txn *txn, void *arg)
{
    const struct lab *lab = arg;
    struct purse purse = {.id = FIRST};
    int rc = cellar_get(txn, lab->purses, CELLAR_COL(COINS), 0, &purse);
    purse.coins++;
    return rc ? rc : cellar_put(txn, lab->purses, CELLAR_COL(COINS), &purse);
}
