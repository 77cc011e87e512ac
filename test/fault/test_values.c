/*
 * test_values.c - a compute node dies at each operation of a transaction that replaces, lengthens, shortens or frees a
 * long value: what is found after recovery is the value before, or the one after, whole, and the audit finds extents
 * and rows one to one (INV-VALUE-1, 2).
 */
#include "bulk.h"
#include "numbered.h"
#include "db.h"
#include "db_open.h"
#include "fabric_sim.h"
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
#define KILLS_MAX 4000
#define STEPS_MAX 4000000
#define BEFORE_BYTES 20000
#define LONGEST 30000

struct row {
    uint64_t stamp;
    CELLAR_VALUE(24) text;
};
static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, stamp),
                                                      CELLAR_COLUMN(struct row, text)};
enum { STAMP, TEXT };

enum what { REPLACE, LENGTHEN, SHORTEN, FREE };

struct dying {
    struct fabric *fabric;
    struct cellar *db;
    const struct cellar_table *table;
    struct cellar_error error;
    enum what what;
    enum cellar_lab_cc cc;
    uint32_t mns;
    uint64_t kill_at, ops;
    bool armed, dead, done; /* done: the transaction said that it had committed */
    char verdict[320];
    uint8_t bytes[LONGEST];
};

static enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct dying *run = arg;
    (void)index, (void)ep, (void)op;
    if (!run->armed || run->dead || run->ops++ != run->kill_at) return FABRIC_SIM_NONE;
    run->dead = true;
    return run->kill_at % 2 ? FABRIC_SIM_CRASH_AFTER : FABRIC_SIM_CRASH_BEFORE;
}

static bool held(struct dying *run, const char *what, int rc)
{
    if (rc && !run->verdict[0])
        snprintf(run->verdict, sizeof run->verdict, "%s: %s (%.200s)", what, cellar_strerror(rc), run->error.text);
    return rc == 0;
}

static int open_pool(struct dying *run)
{
    const struct engine_config config = {.fabric = "sim",
                                         .cc = run->cc,
                                         .mns = run->mns,
                                         .coros = 1,
                                         .sessions = 1,
                                         .replicas = run->mns - 1,
                                         .memnodes = "simulated",
                                         .lease_ns = CELLAR_LEASE_NONE,
                                         .pool_bytes = POOL_BYTES,
                                         .log_bytes = 256 << 10};
    return db_open_on(run->fabric, &config, &run->db, &run->error);
}

static int table_make(struct dying *run)
{
    const struct cellar_schema schema = {.name = "texts",
                                         .row_bytes = sizeof(struct row),
                                         .columns = columns,
                                         .column_count = 2,
                                         .records_max = 10,
                                         .variable = CELLAR_BIT(TEXT)};
    return db_table_create(run->db, &schema, &run->table, &run->error);
}

/* ---- transactions ---- */

static int begin_row(struct cellar_txn *txn, void *arg)
{
    struct dying *run = arg;
    struct row row = {.stamp = 0};
    int rc = cellar_txn_insert(txn, run->table, 1, &row);
    memset(run->bytes, 'a', BEFORE_BYTES);
    return rc ? rc : cellar_txn_put_bytes(txn, run->table, 1, TEXT, run->bytes, BEFORE_BYTES);
}

static size_t after_bytes(enum what what) { return what == REPLACE ? BEFORE_BYTES : what == LENGTHEN ? LONGEST : 500; }

static int change(struct cellar_txn *txn, void *arg)
{
    struct dying *run = arg;
    uint64_t stamp = 1;
    size_t bytes = after_bytes(run->what);
    if (run->what == FREE) return cellar_txn_delete(txn, run->table, 1);
    memset(run->bytes, 'b', bytes);
    int rc = cellar_txn_put_bytes(txn, run->table, 1, TEXT, run->bytes, bytes);
    return rc ? rc : cellar_txn_put(txn, run->table, 1, STAMP, &stamp);
}

/* All of it is of the state before, or after. */
static int look(struct cellar_txn *txn, void *arg)
{
    struct dying *run = arg;
    uint64_t stamp;
    size_t bytes;
    int rc = cellar_txn_get(txn, run->table, 1, STAMP, &stamp);
    if (rc == CELLAR_NOT_FOUND) return run->what == FREE ? 0 : rc;
    if (rc == 0) rc = cellar_txn_get_bytes(txn, run->table, 1, TEXT, run->bytes, LONGEST, &bytes);
    if (rc) return rc;
    bool whole = bytes == (stamp ? after_bytes(run->what) : BEFORE_BYTES);
    for (size_t i = 0; i < bytes; i++) whole = whole && run->bytes[i] == (stamp ? 'b' : 'a');
    return whole && (stamp || !run->done) ? 0 : ERR_GIVEN_UP;
}

static int transact(struct dying *run, cellar_txn_fn fn)
{
    struct session *session;
    int rc = session_open(run->db, &session, &run->error);
    if (rc) return rc;
    rc = session_transact(session, fn, run);
    if (rc) run->error = *cellar_last_error();
    session_close(session);
    return rc;
}

static int audit(struct cellar_lab_client *client, void *arg)
{
    struct dying *run = arg;
    return db_audit(client, &run->error);
}

/* ---- one death ---- */

static bool begin(struct dying *run)
{
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.mn_count = run->mns;
    sim.cn_count = 2;
    sim.mn_bytes = POOL_BYTES;
    sim.torn = true;
    sim.steps_max = STEPS_MAX;
    sim.fault = watch;
    sim.fault_arg = run;
    if (!held(run, "a cluster", fabric_sim_open(&sim, &run->fabric, &run->error)) ||
        !held(run, "opening", open_pool(run)))
        return false;
    run->fabric->fresh = false; /* what opens it next looks for what there is */
    return held(run, "a table", table_make(run)) && held(run, "a row", transact(run, begin_row));
}

/* Whole, clean, and it goes on. */
static void judge(struct dying *run)
{
    run->table = cellar_table_find(run->db, "texts");
    if (!held(run, "the audit", cellar_lab_run(run->db, audit, run))) return;
    if (held(run, "looking", transact(run, look)) && run->what != FREE) held(run, "again", transact(run, change));
    held(run, "the audit at the end", cellar_lab_run(run->db, audit, run));
}

/* False: it did not come to that operation. */
static bool run_one(enum what what, enum cellar_lab_cc cc, uint32_t mns, uint64_t kill_at)
{
    struct dying *run = calloc(1, sizeof *run);
    assert_non_null(run);
    *run = (struct dying){.what = what, .cc = cc, .mns = mns, .kill_at = kill_at};
    if (begin(run)) {
        run->armed = true;
        int rc = transact(run, change);
        run->armed = false;
        if (!run->dead) held(run, "undisturbed", rc);
        cellar_close(run->db);
        run->db = NULL;
        if (run->dead) fabric_sim_cn_again(run->fabric, 0);
        run->done = rc == 0;
        if (held(run, "opening again", open_pool(run))) judge(run);
    }
    if (run->db) cellar_close(run->db);
    if (run->fabric) fabric_close(run->fabric);
    bool any = run->dead;
    if (run->verdict[0])
        fail_msg("%d, mode %d, %u memory nodes, dies at %llu: %s", (int)what, (int)cc, mns, (unsigned long long)kill_at,
                 run->verdict);
    free(run);
    return any;
}

static void sweep(enum what what)
{
    static const enum cellar_lab_cc modes[] = {CELLAR_LAB_CC_CELL, CELLAR_LAB_CC_CREST, CELLAR_LAB_CC_FORD};
    for (uint32_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (uint32_t mns = 1; mns <= 2 && mode_of(modes[m]); mns++) {
            uint64_t at = 0;
            for (bool any = true; any && at < KILLS_MAX; at++)
                if ((at < 30 || at % 3 == 0) && share_has(at)) any = run_one(what, modes[m], mns, at);
            assert_true(at > 5 && at < KILLS_MAX);
        }
}

static void a_replacement_is_cut_off(void **state)
{
    (void)state;
    sweep(REPLACE);
}

static void a_longer_value_is_cut_off(void **state)
{
    (void)state;
    sweep(LENGTHEN);
}

static void a_shorter_value_is_cut_off(void **state)
{
    (void)state;
    sweep(SHORTEN);
}

static void a_delete_is_cut_off(void **state)
{
    (void)state;
    sweep(FREE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replacement_is_cut_off),
        cmocka_unit_test(a_longer_value_is_cut_off),
        cmocka_unit_test(a_shorter_value_is_cut_off),
        cmocka_unit_test(a_delete_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
