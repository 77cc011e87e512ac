/*
 * test_large.c - a compute node dies at operations of a transaction whose redo entry lies in an extent of the log
 * (docs/large.md), and another one recovers it: all of its records are changed, or none, all if it was acknowledged;
 * and what became of the large one before it, whose entry was in the same extent, is known or not told (INV-LARGE-1,
 * 2). An ordered index of them, whose leaves are split for it before, says the same.
 */
#include "bulk.h"
#include "numbered.h"
#include "db.h"
#include "db_index.h"
#include "db_open.h"
#include "db_recover.h"
#include "fabric_sim.h"
#include "plant.h"
#include "rivals.h"
#include "session.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_BYTES (8u << 20)
#define STEPS_MAX 8000000
#define DYING 1     /* the compute node of the second session */
#define RECORDS 160 /* with an entry of two pieces, of which half a ring has one half */

struct row {
    uint64_t stamp;
    char pad[500];
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, stamp), CELLAR_COLUMN(struct row, pad)};
enum { STAMP, PAD };

struct dying {
    struct fabric *fabric;
    struct cellar *db;
    const struct cellar_table *table;
    bool indexed;
    const struct cellar_index *by_stamp; /* NULL: it has no index */
    struct cellar_error error;
    uint64_t kill_at, ops; /* kill_at: twice the operation that is the last one; odd: it is executed */
    bool armed, dead;
    char verdict[320];
};

static enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct dying *run = arg;
    (void)index, (void)op;
    if (!run->armed || run->dead || ep->cn != DYING || run->ops++ != run->kill_at / 2) return FABRIC_SIM_NONE;
    run->dead = true;
    return run->kill_at % 2 ? FABRIC_SIM_CRASH_AFTER : FABRIC_SIM_CRASH_BEFORE;
}

static bool held(struct dying *run, const char *what, int rc)
{
    if (rc && !run->verdict[0])
        snprintf(run->verdict, sizeof run->verdict, "%s: %s (%.200s)", what, cellar_strerror(rc), run->error.text);
    return rc == 0;
}

static int index_create(struct dying *run)
{
    static const struct cellar_schema_index_column column = {"stamp", CELLAR_SORT_UNSIGNED, false};
    const struct cellar_schema_index def = {"by_stamp", &column, 1, 0};
    return db_index_create(run->db, run->table, &def, &run->by_stamp, &run->error);
}

static int pool_open(struct dying *run, enum cellar_lab_cc cc, uint32_t mns)
{
    const struct engine_config config = {.fabric = "sim",
                                         .cc = cc,
                                         .mns = mns,
                                         .cns = 2,
                                         .coros = 1,
                                         .sessions = 2, /* one of each compute node */
                                         .replicas = mns - 1,
                                         .memnodes = "simulated",
                                         .lease_ns = CELLAR_LEASE_NONE,
                                         .pool_bytes = POOL_BYTES,
                                         .log_bytes = 64 << 10};
    const struct cellar_schema schema = {.name = "rows",
                                         .row_bytes = sizeof(struct row),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = 2 * RECORDS};
    int rc = db_open_on(run->fabric, &config, &run->db, &run->error);
    if (rc == 0) rc = db_table_create(run->db, &schema, &run->table, &run->error);
    return rc || !run->indexed ? rc : index_create(run);
}

static bool begin(struct dying *run, enum cellar_lab_cc cc, uint32_t mns)
{
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.mn_count = mns;
    sim.cn_count = 2;
    sim.mn_bytes = POOL_BYTES;
    sim.torn = true;
    sim.steps_max = STEPS_MAX;
    sim.fault = watch;
    sim.fault_arg = run;
    return held(run, "a cluster", fabric_sim_open(&sim, &run->fabric, &run->error)) &&
           held(run, "opening", pool_open(run, cc, mns));
}

/* All rows get that stamp, or come with it. The code, and its name. */
static int stamp_all(struct dying *run, struct session *session, uint64_t stamp, struct cellar_result *result)
{
    struct cellar_txn *txn;
    struct row row = {.stamp = stamp};
    int rc = session_begin(session, NULL, &txn);
    memset(row.pad, (int)stamp, sizeof row.pad);
    for (uint64_t key = 0; key < RECORDS && rc == 0; key++) {
        if (stamp == 0) rc = cellar_txn_insert(txn, run->table, key, &row);
        if (stamp) rc = cellar_txn_put(txn, run->table, key, STAMP, &stamp);
        if (stamp && rc == 0) rc = cellar_txn_put(txn, run->table, key, PAD, row.pad);
    }
    if (rc == 0) rc = session_commit(txn, result);
    if (rc) run->error = *cellar_last_error();
    return rc;
}

/* All of them, once; their stamps are equal, so by key. */
static int index_read(struct dying *run, struct cellar_txn *txn)
{
    const struct cellar_range all = {.low = {.columns = 0}};
    uint64_t keys[RECORDS + 1];
    int count = run->by_stamp ? cellar_txn_scan(txn, run->by_stamp, &all, 0, 0, keys, RECORDS + 1) : 0;
    if (!run->by_stamp || count < 0) return count;
    for (int i = 0; i < count; i++)
        if (keys[i] != (uint64_t)i) return ERR_GIVEN_UP;
    return count == RECORDS ? 0 : ERR_GIVEN_UP;
}

/* All are of one stamp, and have the bytes that go with it: that stamp; else -1. */
static int64_t stamp_read(struct dying *run, struct session *session)
{
    struct cellar_txn *txn;
    struct cellar_txn_read reads[RECORDS];
    struct row row;
    uint64_t first = 0;
    for (uint64_t key = 0; key < RECORDS; key++)
        reads[key] = (struct cellar_txn_read){.table = run->table, .key = key, .cells = CELLAR_ALL_CELLS};
    int rc = session_begin(session, NULL, &txn);
    if (rc == 0) rc = cellar_prefetch(txn, reads, RECORDS);
    for (uint64_t key = 0; key < RECORDS && rc == 0; key++) {
        rc = cellar_txn_get(txn, run->table, key, STAMP, &row.stamp);
        if (rc == 0) rc = cellar_txn_get(txn, run->table, key, PAD, row.pad);
        if (key == 0) first = row.stamp;
        bool same = row.stamp == first && row.pad[0] == (char)first && row.pad[sizeof row.pad - 1] == (char)first;
        if (rc == 0 && !same) rc = ERR_GIVEN_UP;
    }
    if (rc == 0) rc = index_read(run, txn);
    if (rc == 0) rc = session_commit(txn, NULL);
    return held(run, "reading", rc) ? (int64_t)first : -1;
}

static int audit(struct cellar_lab_client *client, void *arg)
{
    struct dying *run = arg;
    return db_audit(client, &run->error);
}

/* The other compute node recovers the one that died, and looks. `code`: what the large one said. */
static void judge(struct dying *run, struct session *session, const struct cellar_result *before, int code)
{
    enum cellar_fate fate;
    if (run->dead && !held(run, "recovery", db_recover(run->db, DYING, &run->error))) return;
    if (run->dead && held(run, "the outcome", db_outcome_ask(run->db, before->txn_id, &fate, &run->error)))
        held(run, "what had committed is said to have had no effect", fate == CELLAR_FATE_ABORTED);
    int64_t stamp = stamp_read(run, session);
    if (stamp == 1) held(run, "what was acknowledged is lost", code == 0);
    if (stamp >= 0) held(run, "a stamp of neither", stamp != 1 && stamp != 2);
    held(run, "another one", stamp_all(run, session, 3, NULL));
}

#define VERDICT_BYTES 400
#define LOG_AT (4 * RECORDS) /* twice the operations that lock and read */

/*
 * It dies at that operation of its second large transaction. False: it did not come to it. *verdict: empty, or why not.
 */
static bool run_one(enum cellar_lab_cc cc, uint32_t mns, bool indexed, uint64_t kill_at, char *verdict)
{
    struct dying *run = calloc(1, sizeof *run);
    struct session *one = NULL, *two = NULL;
    struct cellar_result before = {.code = 0};
    assert_non_null(run);
    run->kill_at = kill_at;
    run->indexed = indexed;
    if (begin(run, cc, mns) && held(run, "a session", session_open(run->db, &two, &run->error)) &&
        held(run, "a session", session_open(run->db, &one, &run->error)) &&
        held(run, "the rows", stamp_all(run, one, 0, NULL)) &&
        held(run, "a large one", stamp_all(run, one, 1, &before))) {
        run->armed = true;
        int rc = stamp_all(run, one, 2, NULL);
        run->armed = false;
        if (!run->dead) held(run, "undisturbed", rc);
        judge(run, two, &before, rc);
        if (!run->dead) held(run, "the audit", cellar_lab_run(run->db, audit, run));
    }
    if (run->db) cellar_close(run->db);
    if (run->fabric) fabric_close(run->fabric);
    bool any = run->dead;
    verdict[0] = 0;
    if (run->verdict[0])
        snprintf(verdict, VERDICT_BYTES, "mode %d, %u memory nodes, dies at %llu: %s", (int)cc, mns,
                 (unsigned long long)kill_at, run->verdict);
    free(run);
    return any;
}

/* At its first operations, those where the log is, and some of the others: how many it has; *verdict as above. */
static uint64_t sweep(enum cellar_lab_cc cc, uint32_t mns, bool indexed, char *verdict)
{
    uint64_t at = 0;
    verdict[0] = 0;
    for (bool any = true; any && at < 20000 && !verdict[0]; at++)
        if ((at < 12 || (at >= LOG_AT && at < LOG_AT + 24) || at % 45 == 0) && share_has(at))
            any = run_one(cc, mns, indexed, at, verdict);
    return at;
}

static void a_large_transaction_is_cut_off(void **state)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_RECORD, CELLAR_LAB_CC_CREST,
                                               CELLAR_LAB_CC_CELLAR, CELLAR_LAB_CC_MOTOR};
    char verdict[VERDICT_BYTES];
    (void)state;
    for (uint32_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (uint32_t mns = 1; mns <= 2 && mode_of(modes[m]); mns++) {
            uint64_t operations = sweep(modes[m], mns, false, verdict);
            if (verdict[0]) fail_msg("%s", verdict);
            assert_in_range(operations, LOG_AT, 19999);
        }
}

static void a_large_one_with_an_index_is_cut_off(void **state)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST, CELLAR_LAB_CC_CELLAR};
    char verdict[VERDICT_BYTES];
    (void)state;
    for (uint32_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        uint64_t operations = sweep(modes[m], 1 + m % 2, true, verdict);
        if (verdict[0]) fail_msg("with an index: %s", verdict);
        assert_in_range(operations, LOG_AT, 19999);
    }
}

#ifdef CELLAR_PLANTS
static void its_plants_are_met(void **state)
{
    static const char *const plants[] = {"large_short", "large_unmarked"};
    char verdict[VERDICT_BYTES];
    (void)state;
    setenv("CELLAR_SHARE", "100", 1); /* all operations */
    for (uint32_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        assert_true(plant_choose(plants[i]));
        (void)sweep(CELLAR_LAB_CC_CELL, 1, false, verdict);
        if (!verdict[0]) (void)sweep(CELLAR_LAB_CC_CREST, 1, false, verdict);
        assert_true(plant_choose(NULL));
        if (!verdict[0]) fail_msg("%s is not met", plants[i]);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_transaction_is_cut_off),
        cmocka_unit_test(a_large_one_with_an_index_is_cut_off),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
