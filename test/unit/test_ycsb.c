/* test_ycsb.c - that a run keeps its values, and that the check notices each way in which they can go wrong. */
#include "db_open.h"
#include "numbered.h"
#include "db_schema.h"
#include "driver.h"
#include "engine_config.h"
#include "ycsb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDS 300
#define TXNS 5000

struct store {
    struct cellar *db;
    struct workload_run *run;
    struct driver driver;
    uint32_t stop;
    struct workload_report report;
};

static void store_open(struct store *store, double write_ratio, uint32_t per_txn)
{
    struct engine_config config = {.threads = 2, .coros = 2};
    struct ycsb_config workload = {0};
    struct cellar_error error = {0};
    memset(store, 0, sizeof(*store));
    ycsb_workload.defaults(&workload.base);
    workload.records = RECORDS;
    workload.write_ratio = write_ratio;
    workload.per_txn = per_txn;
    if (db_open(&config, &store->db, &error) < 0) fail_msg("%s", error.text);
    if (ycsb_workload.open(store->db, &workload.base, TXNS, &store->run, &error) < 0) fail_msg("%s", error.text);
    store->driver = (struct driver){
        .workload = &ycsb_workload, .run = store->run, .db = store->db, .txns = TXNS, .stop = &store->stop};
    if (driver_init(&store->driver, 4, &error) < 0) fail_msg("%s", error.text);
    if (driver_load(&store->driver, &error) < 0) fail_msg("%s", error.text);
}

static void store_close(struct store *store)
{
    driver_free(&store->driver);
    ycsb_workload.close(store->run);
    cellar_close(store->db);
}

static int check_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct store *store = arg;
    memset(&store->report, 0, sizeof(store->report));
    return ycsb_workload.check(store->run, client, store->driver.clients, store->driver.session_count, &store->report,
                               error);
}

/* The name of the check that fails, "" when all hold; more than one must not fail. */
static const char *failing(struct store *store)
{
    struct cellar_error error = {0};
    const char *name = "";
    if (driver_alone(store->db, check_job, store, &error) < 0) fail_msg("%s", error.text);
    for (uint32_t i = 0; i < store->report.check_count; i++)
        if (!store->report.checks[i].ok) {
            if (name[0]) fail_msg("%s and %s", name, store->report.checks[i].name);
            name = store->report.checks[i].name;
        }
    return name;
}

static uint64_t committed(const struct store *store, enum ycsb_type type)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < store->driver.session_count; i++)
        sum += ((const struct ycsb_client *)store->driver.clients[i])->committed[type];
    return sum;
}

static void a_run_passes(double write_ratio, uint32_t per_txn)
{
    struct store store;
    struct cellar_error error = {0};
    store_open(&store, write_ratio, per_txn);
    if (driver_run(&store.driver, &error) < 0) fail_msg("%s", error.text);
    assert_string_equal(failing(&store), "");
    assert_int_equal(committed(&store, YCSB_READ) + committed(&store, YCSB_UPDATE), TXNS);
    double share = (double)committed(&store, YCSB_UPDATE) / TXNS;
    assert_true(share > write_ratio - 0.05 && share < write_ratio + 0.05);
    store_close(&store);
}

static void runs_pass(void **state)
{
    (void)state;
    a_run_passes(1, 4);
    a_run_passes(0.5, 1);
    a_run_passes(0, 4);
    a_run_passes(0.9, YCSB_PER_TXN_MAX);
}

/* Overwrites one value without counting it; `restore` brings back what was there. */
struct forgery {
    const struct workload_run *run;
    void (*change)(struct ycsb_value *value);
    const struct ycsb_value *put;
    struct ycsb_value before;
};

static int forge(struct cellar_txn *txn, void *arg)
{
    struct forgery *forgery = arg;
    const struct workload_run *run = forgery->run;
    int ref = cellar_proc_access(txn, run->table, 5, run->cells[2], run->cells[2], 0);
    if (ref < 0) return ref;
    int code = cellar_proc_fetch(txn);
    if (code == 0) code = cellar_proc_get(txn, ref, run->columns[2], &forgery->before);
    struct ycsb_value value = forgery->before;
    if (forgery->put)
        value = *forgery->put;
    else
        forgery->change(&value);
    return code < 0 ? code : cellar_proc_put(txn, ref, run->columns[2], &value);
}

static void move_key(struct ycsb_value *value)
{
    value->key++;
    value->checksum = ycsb_checksum(value);
}

static void move_cell(struct ycsb_value *value)
{
    value->cell = 1;
    value->checksum = ycsb_checksum(value);
}

static void break_checksum(struct ycsb_value *value) { value->checksum ^= 1ull << 40; }

static void claim_later_write(struct ycsb_value *value)
{
    value->writer = 0;
    value->counter = TXNS + 1;
    value->checksum = ycsb_checksum(value);
}

static void claim_other_writer(struct ycsb_value *value)
{
    value->writer = 4; /* of sessions 0 to 3 */
    value->counter = 1;
    value->checksum = ycsb_checksum(value);
}

static void lose_update(struct ycsb_value *value)
{
    value->writes--;
    value->checksum = ycsb_checksum(value);
}

static void forgeries_are_noticed(void **state)
{
    static const struct {
        void (*change)(struct ycsb_value *value);
        const char *check;
    } cases[] = {
        {move_key, "values lie in their own cells"},
        {move_cell, "values lie in their own cells"},
        {claim_later_write, "values are of committed transactions"},
        {claim_other_writer, "values are of committed transactions"},
        {lose_update, "no update lost"},
    };
    struct store store;
    struct cellar_error error = {0};
    const struct cellar_proc_def def = {.name = "forge", .fn = forge, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *proc;
    (void)state;
    store_open(&store, 1, 4);
    assert_int_equal(db_proc_register(store.db, &def, &proc, NULL), 0);
    if (driver_run(&store.driver, &error) < 0) fail_msg("%s", error.text);
    assert_string_equal(failing(&store), "");
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct forgery forgery = {.run = store.run, .change = cases[i].change};
        assert_int_equal(cellar_proc_run(store.db, proc, &forgery, NULL, NULL), 0);
        assert_string_equal(failing(&store), cases[i].check);
        struct forgery restore = {.run = store.run, .put = &forgery.before};
        assert_int_equal(cellar_proc_run(store.db, proc, &restore, NULL, NULL), 0);
        assert_string_equal(failing(&store), "");
    }
    store_close(&store);
}

static void a_broken_checksum_is_noticed(void **state)
{
    struct store store;
    const struct cellar_proc_def def = {.name = "forge", .fn = forge, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *proc;
    (void)state;
    store_open(&store, 1, 4);
    assert_int_equal(db_proc_register(store.db, &def, &proc, NULL), 0);
    struct forgery forgery = {.run = store.run, .change = break_checksum};
    assert_int_equal(cellar_proc_run(store.db, proc, &forgery, NULL, NULL), 0);
    assert_string_equal(failing(&store), "values match their checksums");
    store_close(&store);
}

/* A transaction that reads a value of another cell says so, even when the pool looks right afterwards. */
static void foreign_reads_are_noticed(void **state)
{
    struct store store;
    const struct cellar_proc_def def = {.name = "forge", .fn = forge, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *proc;
    (void)state;
    store_open(&store, 0, 4);
    assert_int_equal(db_proc_register(store.db, &def, &proc, NULL), 0);
    struct forgery forgery = {.run = store.run, .change = move_key};
    assert_int_equal(cellar_proc_run(store.db, proc, &forgery, NULL, NULL), 0);
    struct cellar_error error = {0};
    if (driver_run(&store.driver, &error) < 0) fail_msg("%s", error.text);
    struct forgery restore = {.run = store.run, .put = &forgery.before};
    assert_int_equal(cellar_proc_run(store.db, proc, &restore, NULL, NULL), 0);
    assert_string_equal(failing(&store), "reads saw their own cells");
    store_close(&store);
}

static void absurd_sizes_are_refused(void **state)
{
    struct ycsb_config good = {0}, config;
    struct cellar_error error = {0};
    (void)state;
    ycsb_workload.defaults(&good.base);
    assert_int_equal(ycsb_workload.validate(&good.base, &error), 0);
    config = good;
    config.records = 3;
    assert_int_equal(ycsb_workload.validate(&config.base, &error), CELLAR_INVALID);
    config = good;
    config.per_txn = 0;
    assert_int_equal(ycsb_workload.validate(&config.base, &error), CELLAR_INVALID);
    config.per_txn = YCSB_PER_TXN_MAX + 1;
    assert_int_equal(ycsb_workload.validate(&config.base, &error), CELLAR_INVALID);
    config = good;
    config.write_ratio = 1.5;
    assert_int_equal(ycsb_workload.validate(&config.base, &error), CELLAR_INVALID);
    config = good;
    config.theta = -0.1;
    assert_int_equal(ycsb_workload.validate(&config.base, &error), CELLAR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_pass),
        cmocka_unit_test(forgeries_are_noticed),
        cmocka_unit_test(a_broken_checksum_is_noticed),
        cmocka_unit_test(foreign_reads_are_noticed),
        cmocka_unit_test(absurd_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
