/*
 * test_drop.c - a process dies at each operation of a drop, a truncation, the making of a table, an index, or a column,
 * and of the opening that follows: what is found then is the state before or the state after, whole; its space is used
 * again; and what was begun is at its end once a process has been alone with the pool (INV-RECLAIM-1..4, 6,
 * INV-VACANT-1, 2).
 */
#include "bulk.h"
#include "coordinator.h"
#include "db.h"
#include "db_alter.h"
#include "db_company.h"
#include "db_drop.h"
#include "db_index.h"
#include "db_open.h"
#include "db_snapshot.h"
#include "fabric_sim.h"
#include "plant.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL_BYTES (4u << 20)
#define RECORDS 250
#define KILLS_MAX 4000
#define STEPS_MAX 4000000

struct row {
    uint64_t a, b;
    char text[600];
};

static const struct cellar_schema_column columns[] = {CELLAR_COLUMN(struct row, a), CELLAR_COLUMN(struct row, b),
                                                      CELLAR_COLUMN(struct row, text)};
static const struct cellar_index_column by_a[] = {{"a", CELLAR_SORT_UNSIGNED, false}};
static const struct cellar_index_def def_a = {.name = "by_a", .columns = by_a, .column_count = 1};

/* ... as the table has it when it has got a column. */
struct wide_row {
    struct row row;
    uint64_t c;
};
static const uint64_t c_default = 77;

enum what { DROP, TRUNCATE, INDEX_DROP, INDEX_CREATE, ALTER, TABLE_CREATE, WHATS };

struct dropping {
    struct fabric *fabric;
    struct cellar *db;
    struct cellar_error error;
    enum what what;
    uint32_t mns;
    uint64_t kill_at, again_at, ops; /* the operation at which it dies; that of the next opening: UINT64_MAX, none */
    bool armed, dead, wide;
    uint64_t seen, value;
    uint64_t used_before, used_after; /* bytes of the pool: with the table; before there was one */
    char verdict[320];
};

static enum fabric_sim_fault watch(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct dropping *run = arg;
    (void)index, (void)ep, (void)op;
    if (!run->armed || run->dead || run->ops++ != run->kill_at) return FABRIC_SIM_NONE;
    run->dead = true;
    return run->kill_at % 2 ? FABRIC_SIM_CRASH_AFTER : FABRIC_SIM_CRASH_BEFORE;
}

/* Tables are made in bulk. */
static enum fabric_sim_fault watch_bulk(void *arg, uint64_t index, const struct fabric_ep *ep,
                                        const struct fabric_op *op)
{
    const struct dropping *run = arg;
    return run->what == TABLE_CREATE ? watch(arg, index, ep, op) : FABRIC_SIM_NONE;
}

static bool held(struct dropping *run, const char *what, int rc)
{
    if (rc && !run->verdict[0])
        snprintf(run->verdict, sizeof run->verdict, "%s: %s (%.200s)", what, cellar_strerror(rc), run->error.text);
    return rc == 0;
}

static bool holds(struct dropping *run, bool fact, const char *what)
{
    if (!fact && !run->verdict[0]) snprintf(run->verdict, sizeof run->verdict, "%s", what);
    return fact;
}

static int open_as(struct dropping *run, uint32_t cn, struct cellar **db)
{
    const struct engine_config config = {.fabric = "sim",
                                         .cc = CELLAR_LAB_CC_CELL,
                                         .mns = run->mns,
                                         .coros = 1,
                                         .cn_index = cn,
                                         .replicas = run->mns - 1,
                                         .memnodes = "simulated",
                                         .lease_ns = CELLAR_LEASE_NONE,
                                         .pool_bytes = POOL_BYTES,
                                         .log_bytes = 128 << 10};
    return db_open_on(run->fabric, &config, db, &run->error);
}

static int open_pool(struct dropping *run) { return open_as(run, 0, &run->db); }

static int load(struct cellar_lab_client *client, void *arg)
{
    struct dropping *run = arg;
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    int rc = 0;
    for (uint64_t key = 0; key < RECORDS && rc == 0; key++) {
        struct row row = {.a = key / 2, .b = key};
        rc = db_load(client, table, key, &row, &run->error);
    }
    return rc;
}

static int seen(void *arg, uint64_t key, const void *row)
{
    struct dropping *run = arg;
    const struct wide_row *wide = row;
    run->seen += wide->row.b == key && wide->row.a == key / 2 && (!run->wide || wide->c == c_default);
    return 0;
}

static int look(struct cellar_lab_client *client, void *arg)
{
    struct dropping *run = arg;
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    run->wide = table && cellar_column_of(table, "c") >= 0;
    int rc = table ? db_scan(client, table, seen, run, &run->error) : 0;
    return rc ? rc : db_audit(client, &run->error);
}

static uint64_t used(struct dropping *run)
{
    struct cellar_lab_pool_space space;
    cellar_lab_pool_space_read(run->db, &space);
    return space.used_bytes;
}

static bool table_make(struct dropping *run)
{
    const struct cellar_table *table;
    const struct cellar_schema schema = {.name = "rows",
                                         .row_bytes = sizeof(struct row),
                                         .columns = columns,
                                         .column_count = 3,
                                         .records_max = 60}; /* so that it has overflow buckets */
    return held(run, "a table", db_table_create(run->db, &schema, &table, &run->error)) &&
           held(run, "loading", cellar_lab_run(run->db, load, run));
}

static int index_make(struct dropping *run)
{
    const struct cellar_index *index;
    return db_index_create(run->db, cellar_table_find(run->db, "rows"), &def_a, &index, &run->error);
}

/* A second table. */
static int more_make(struct dropping *run)
{
    static const struct cellar_schema_column more_columns[] = {CELLAR_COLUMN(struct row, a),
                                                               CELLAR_COLUMN(struct row, text)};
    const struct cellar_schema schema = {
        .name = "more", .row_bytes = sizeof(struct row), .columns = more_columns, .column_count = 2, .records_max = 60};
    const struct cellar_table *table;
    return db_table_create(run->db, &schema, &table, &run->error);
}

static bool begin(struct dropping *run)
{
    struct fabric_sim_config sim;
    fabric_sim_config_default(&sim);
    sim.mn_count = run->mns;
    sim.cn_count = 2;
    sim.mn_bytes = POOL_BYTES;
    sim.torn = true;
    sim.steps_max = STEPS_MAX;
    sim.fault = watch;
    sim.bulk_fault = watch_bulk;
    sim.fault_arg = run;
    if (!held(run, "a cluster", fabric_sim_open(&sim, &run->fabric, &run->error)) ||
        !held(run, "opening", open_pool(run)))
        return false;
    run->used_after = used(run);
    run->fabric->fresh = false; /* what opens it next looks for what there is */
    if (!table_make(run) ||
        (run->what != INDEX_CREATE && run->what != ALTER && !held(run, "an index", index_make(run))))
        return false;
    run->used_before = used(run);
    return true;
}

static int act(struct dropping *run)
{
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    switch (run->what) {
    case DROP:
        return db_table_drop(run->db, table, &run->error);
    case TRUNCATE:
        return db_table_truncate(run->db, table, &run->error);
    case INDEX_DROP:
        return db_index_drop(run->db, cellar_index_find(table, "by_a"), &run->error);
    case TABLE_CREATE:
        return more_make(run);
    case ALTER:
        return db_column_add(run->db, table, "c", sizeof c_default, &c_default, &table, &run->error);
    default:
        return index_make(run);
    }
}

/* The state before, or the state after: nothing else, and nothing lost. */
static bool judge(struct dropping *run, bool done)
{
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    const struct cellar_index *index = table ? cellar_index_find(table, "by_a") : NULL;
    bool old;
    run->seen = 0;
    if (!held(run, "looking", cellar_lab_run(run->db, look, run))) return false;
    switch (run->what) {
    case DROP:
        old = table;
        break;
    case TRUNCATE:
        old = run->seen > 0;
        break;
    case INDEX_DROP:
        old = index;
        break;
    case ALTER:
        old = !run->wide;
        break;
    case TABLE_CREATE:
        old = !cellar_table_find(run->db, "more");
        break;
    default:
        old = !index;
        break;
    }
    uint64_t expected = run->what == DROP && !old ? 0 : run->what == TRUNCATE && !old ? 0 : RECORDS;
    if (!holds(run, run->seen == expected, "records are neither all there nor all gone") ||
        !holds(run, !done || !old, "it was done, and is not") ||
        !holds(run, run->what != TRUNCATE || (table && index), "a table that was emptied is not there") ||
        !holds(run, run->what != ALTER || table, "a table that was altered is not there"))
        return false;
    if (run->what == TABLE_CREATE && !old) return true;
    if (old || run->what == INDEX_CREATE)
        return holds(run, !old || used(run) <= run->used_before, "space of what was not made is missing");
    if (run->what == ALTER) /* a line more for each record */
        return holds(run, used(run) <= run->used_before + (128 << 10), "the old records' space was not given back");
    return holds(run, run->what == DROP ? used(run) == run->used_after : used(run) < run->used_before,
                 "space was not given back");
}

/* All of it can be done again, and to its end. */
static bool goes_on(struct dropping *run)
{
    const struct cellar_table *table = cellar_table_find(run->db, "rows");
    if (table && !held(run, "a drop afterwards", db_table_drop(run->db, table, &run->error))) return false;
    if (run->what == TABLE_CREATE && !held(run, "a second table afterwards", more_make(run))) return false;
    return table_make(run) && held(run, "an index afterwards", index_make(run)) &&
           held(run, "looking afterwards", cellar_lab_run(run->db, look, run));
}

/* A first opening dies, too, and then one does not. */
static bool open_again(struct dropping *run)
{
    run->armed = run->again_at != UINT64_MAX;
    run->ops = 0;
    run->dead = false;
    run->kill_at = run->again_at;
    int rc = open_pool(run);
    run->armed = false;
    if (rc == 0 && !run->dead) return true;
    if (rc == 0) cellar_close(run->db);
    fabric_sim_cn_again(run->fabric, 0);
    return held(run, "opening again", open_pool(run));
}

/* False: it did not come to that operation. The verdict is in the run. */
static bool play(struct dropping *run)
{
    bool any = false;
    if (begin(run)) {
        run->armed = true;
        run->ops = 0;
        int rc = act(run);
        any = run->dead;
        run->armed = false;
        holds(run, any || rc == 0, run->error.text);
        cellar_close(run->db);
        if (any) fabric_sim_cn_again(run->fabric, 0);
        if (open_again(run) && judge(run, rc == 0)) goes_on(run);
        if (run->db) cellar_close(run->db);
    }
    if (run->fabric) fabric_close(run->fabric);
    return any;
}

static bool run_one(enum what what, uint32_t mns, uint64_t kill_at, uint64_t again_at)
{
    struct dropping run = {.what = what, .mns = mns, .kill_at = kill_at, .again_at = again_at};
    bool any = play(&run);
    if (run.verdict[0])
        fail_msg("%d, %u memory nodes, dies at %llu and %lld: %s", (int)what, mns, (unsigned long long)kill_at,
                 (long long)again_at, run.verdict);
    return any;
}

/* Of each operation of it; and, at some of them, of each of the opening that follows. */
static void sweep(enum what what, uint32_t mns)
{
    uint64_t at = 0;
    for (bool any = true; any && at < KILLS_MAX; at++) {
        if ((at > 30 && at % 3) || !share_has(at)) continue;
        any = run_one(what, mns, at, UINT64_MAX);
        if (at % 23 == 5) (void)!run_one(what, mns, at, at * 7 % 331);
    }
    printf("%d, %u memory nodes: died at %llu operations\n", (int)what, mns, (unsigned long long)at);
    assert_true(at > 3 && at < KILLS_MAX);
}

static void a_drop_is_cut_off(void **state)
{
    (void)state;
    sweep(DROP, 1);
    sweep(DROP, 2);
}

static void a_truncation_is_cut_off(void **state)
{
    (void)state;
    sweep(TRUNCATE, 1);
    sweep(TRUNCATE, 2);
}

static void an_index_drop_is_cut_off(void **state)
{
    (void)state;
    sweep(INDEX_DROP, 1);
    sweep(INDEX_DROP, 2);
}

static void the_making_of_an_index_is_cut_off(void **state)
{
    (void)state;
    sweep(INDEX_CREATE, 1);
    sweep(INDEX_CREATE, 2);
}

static void a_new_column_is_cut_off(void **state)
{
    (void)state;
    sweep(ALTER, 1);
    sweep(ALTER, 2);
}

static void the_making_of_a_table_is_cut_off(void **state)
{
    (void)state;
    for (uint32_t mns = 1; mns <= 2; mns++) {
        uint64_t at = 0;
        while (run_one(TABLE_CREATE, mns, at, UINT64_MAX)) at++;
        assert_true(at > 8);
    }
}

/* BUSY while it has the pool open, and nothing has changed; not when it has gone. */
static void another_process_is_in_the_way(void **state)
{
    struct dropping run = {.what = DROP, .mns = 1, .again_at = UINT64_MAX, .kill_at = UINT64_MAX};
    struct cellar *other;
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/cellar-test-drop-%d", (int)getpid());
    assert_true(begin(&run));
    const struct cellar_table *table = cellar_table_find(run.db, "rows");
    assert_int_equal(open_as(&run, 1, &other), 0);
    assert_int_equal(act(&run), CELLAR_BUSY);
    assert_non_null(strstr(run.error.text, "compute node 1"));
    assert_int_equal(db_table_truncate(run.db, table, &run.error), CELLAR_BUSY);
    assert_int_equal(db_index_drop(run.db, cellar_index_find(table, "by_a"), &run.error), CELLAR_BUSY);
    assert_int_equal(db_backup(run.db, path, &run.error), CELLAR_BUSY);
    const struct cellar_table *altered = table;
    assert_int_equal(db_index_drop(run.db, cellar_index_find(table, "by_a"), &run.error), CELLAR_BUSY);
    assert_int_equal(db_column_add(run.db, table, "c", 8, NULL, &altered, &run.error), CELLAR_UNSUPPORTED);
    assert_null(altered);
    assert_non_null(cellar_table_find(other, "rows"));
    cellar_close(other);
    assert_int_equal(db_backup(run.db, path, &run.error), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(act(&run), 0);
    assert_int_equal(open_as(&run, 1, &other), 0); /* who comes then does not find it */
    assert_null(cellar_table_find(other, "rows"));
    cellar_close(other);
    cellar_close(run.db);
    fabric_close(run.fabric);
}

/* ---- an entry of the log that names what is gone ---- */

static int b_put(struct cellar_txn *txn, void *args)
{
    const struct dropping *run = args;
    uint64_t b = run->value;
    int ref = cellar_proc_access(txn, cellar_table_find(run->db, "rows"), 1, 0, 2, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    return rc ? rc : cellar_proc_put(txn, ref, 1, &b);
}

static int b_seen(void *arg, uint64_t key, const void *row)
{
    if (key == 1) ((struct dropping *)arg)->value = ((const struct row *)row)->b;
    return 0;
}

static int b_get(struct cellar_lab_client *client, void *arg)
{
    struct dropping *run = arg;
    return db_scan(client, cellar_table_find(run->db, "rows"), b_seen, run, &run->error);
}

/*
 * The last entry of a log stays due. Its record goes with its table, and one of the same key, table number and place,
 * of an older version, comes; the compute node dies with that one's lock. INV-RECLAIM-4: what is found is its value.
 */
static uint64_t value_after_a_death(uint64_t kill_at, bool *any)
{
    struct dropping run = {.what = DROP, .mns = 1, .again_at = UINT64_MAX, .kill_at = kill_at};
    const struct cellar_proc_def def = {.name = "put", .fn = b_put, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *put;
    bool right = begin(&run) && held(&run, "a procedure", db_proc_register(run.db, &def, &put, &run.error));
    for (run.value = 1000; right && run.value < 1005; run.value++)
        right = held(&run, "a call", cellar_proc_run(run.db, put, &run, NULL, NULL));
    right = right && held(&run, "a drop", act(&run)) && table_make(&run);
    run.value = 7;
    run.armed = true;
    run.ops = 0;
    if (right) (void)!cellar_proc_run(run.db, put, &run, NULL, NULL);
    run.armed = false;
    *any = run.dead;
    cellar_close(run.db);
    if (run.dead) fabric_sim_cn_again(run.fabric, 0);
    if (right && open_again(&run)) held(&run, "reading", cellar_lab_run(run.db, b_get, &run));
    cellar_close(run.db);
    fabric_close(run.fabric);
    if (run.verdict[0]) fail_msg("dies at %llu: %s", (unsigned long long)kill_at, run.verdict);
    return run.value;
}

static bool values_are_right(void)
{
    bool any = true, right = true;
    for (uint64_t at = 0; any && right && at < KILLS_MAX; at++) {
        uint64_t value = value_after_a_death(at, &any);
        right = value == 1 || value == 7;
    }
    return right;
}

static void a_log_names_what_is_gone(void **state)
{
    (void)state;
    assert_true(values_are_right());
}

/* ---- other processes ---- */

static int company_look(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct cellar_error error;
    return db_company_look(co, coordinator->worker, arg, &error);
}

static struct db_company company_now(struct dropping *run)
{
    struct db_company company;
    assert_int_equal(db_run_on(run->db, 0, company_look, &company), 0);
    return company;
}

/* INV-RECLAIM-8: the space that a process finds unclaimed may be one's that came, and one's that has gone again. */
static void who_comes_and_goes_is_known(void **state)
{
    struct dropping run = {.what = DROP, .mns = 1, .kill_at = UINT64_MAX, .again_at = UINT64_MAX};
    struct cellar *other;
    (void)state;
    assert_true(begin(&run));
    struct db_company before = company_now(&run), now = company_now(&run);
    assert_true(db_company_none(&before, &now));
    assert_int_equal(open_as(&run, 1, &other), 0);
    struct db_company during = company_now(&run);
    assert_int_equal(during.other, 1);
    assert_false(db_company_none(&before, &during));
    assert_int_equal(cellar_close(other), 0);
    now = company_now(&run);
    assert_int_equal(now.other, -1);
    assert_false(db_company_none(&before, &now) || db_company_none(&during, &now));
    assert_true(db_company_none(&now, &now));
    cellar_close(run.db);
    fabric_close(run.fabric);
}

#ifdef CELLAR_PLANTS
static void a_log_is_not_settled(void **state)
{
    (void)state;
    assert_true(plant_choose("drop_log_kept"));
    bool right = values_are_right();
    assert_true(plant_choose(NULL));
    assert_false(right);
}

/* Chunks are missing, and then a run is of no table: an opening that examines the pool would refuse it. */
static void a_table_has_runs_before_it_has_an_entry(void **state)
{
    struct dropping run;
    bool any = true, met = false;
    (void)state;
    assert_true(plant_choose("table_entry_last"));
    for (uint64_t at = 0; any && !met; at++) {
        run = (struct dropping){.what = TABLE_CREATE, .mns = 1, .kill_at = at, .again_at = UINT64_MAX};
        any = play(&run);
        met = strstr(run.verdict, "a run of a table that is not in the catalog");
    }
    assert_true(plant_choose(NULL));
    assert_true(met);
}

/* Of one drop that runs to its end the audit says what is wrong. */
static bool audit_is_clean(const char *plant)
{
    struct dropping run = {.what = DROP, .mns = 2, .kill_at = UINT64_MAX, .again_at = UINT64_MAX};
    bool right = begin(&run) && plant_choose(plant) && act(&run) == 0 && plant_choose(NULL) &&
                 cellar_lab_run(run.db, look, &run) == 0;
    (void)!plant_choose(NULL);
    cellar_close(run.db);
    fabric_close(run.fabric);
    return right;
}

static void chunks_are_given_back_unzeroed(void **state)
{
    (void)state;
    assert_true(audit_is_clean(NULL));
    assert_false(audit_is_clean("vacant_unzeroed"));
}

/* Dies between the decision and the entry that says WHOLE. */
static void what_replaces_is_taken_for_unfinished(void **state)
{
    bool any = true, right = true;
    (void)state;
    assert_true(plant_choose("replaced_forgotten"));
    for (uint64_t at = 0; any && right && at < KILLS_MAX; at++) {
        struct dropping run = {.what = ALTER, .mns = 1, .kill_at = at, .again_at = UINT64_MAX};
        right = begin(&run);
        run.armed = true;
        (void)!act(&run);
        run.armed = false;
        any = run.dead;
        cellar_close(run.db);
        if (any) fabric_sim_cn_again(run.fabric, 0);
        right = right && open_again(&run) && judge(&run, false);
        if (run.db) cellar_close(run.db);
        fabric_close(run.fabric);
    }
    assert_true(plant_choose(NULL));
    assert_false(right);
}

static void overflow_buckets_are_kept(void **state)
{
    (void)state;
    assert_false(audit_is_clean("sweep_overflow_kept"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drop_is_cut_off),
        cmocka_unit_test(who_comes_and_goes_is_known),
        cmocka_unit_test(a_truncation_is_cut_off),
        cmocka_unit_test(an_index_drop_is_cut_off),
        cmocka_unit_test(the_making_of_an_index_is_cut_off),
        cmocka_unit_test(the_making_of_a_table_is_cut_off),
        cmocka_unit_test(a_new_column_is_cut_off),
        cmocka_unit_test(another_process_is_in_the_way),
        cmocka_unit_test(a_log_names_what_is_gone),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(a_log_is_not_settled),
        cmocka_unit_test(a_table_has_runs_before_it_has_an_entry),
        cmocka_unit_test(chunks_are_given_back_unzeroed),
        cmocka_unit_test(overflow_buckets_are_kept),
        cmocka_unit_test(what_replaces_is_taken_for_unfinished),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
