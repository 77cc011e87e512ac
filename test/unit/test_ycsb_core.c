/* test_ycsb_core.c - the core workloads: that runs keep their records, and that the check notices what went wrong. */
#include "bulk.h"
#include "numbered.h"
#include "db_open.h"
#include "db_schema.h"
#include "driver.h"
#include "engine_config.h"
#include "ycsb_core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDS 300
#define TXNS 3000
#define SESSIONS 4

struct store {
    struct cellar *db;
    struct workload_run *run;
    struct driver driver;
    uint32_t stop;
    struct workload_report report;
};

static void store_open(struct store *store, const char *core)
{
    struct engine_config config = {.threads = 2, .coros = 2};
    struct ycsb_config workload = {0};
    struct cellar_error error = {0};
    memset(store, 0, sizeof(*store));
    ycsb_core_workload.defaults(&workload.base);
    workload.records = RECORDS;
    workload.scan_max = 20;
    workload.core = core;
    if (db_open(&config, &store->db, &error) < 0) fail_msg("%s", error.text);
    if (ycsb_core_workload.open(store->db, &workload.base, TXNS, &store->run, &error) < 0) fail_msg("%s", error.text);
    store->driver = (struct driver){
        .workload = &ycsb_core_workload, .run = store->run, .db = store->db, .txns = TXNS, .stop = &store->stop};
    if (driver_init(&store->driver, SESSIONS, &error) < 0) fail_msg("%s", error.text);
    if (driver_load(&store->driver, &error) < 0) fail_msg("%s", error.text);
    if (ycsb_core_workload.loaded(store->run, &error) < 0) fail_msg("%s", error.text);
    if (driver_run(&store->driver, &error) < 0) fail_msg("%s", error.text);
}

static void store_close(struct store *store)
{
    driver_free(&store->driver);
    ycsb_core_workload.close(store->run);
    cellar_close(store->db);
}

static int check_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct store *store = arg;
    memset(&store->report, 0, sizeof(store->report));
    int code = ycsb_core_workload.check(store->run, client, store->driver.clients, store->driver.session_count,
                                        &store->report, error);
    return code ? code : db_audit(client, error);
}

/* The names of the checks that fail, each followed by a semicolon. */
static const char *failing(struct store *store)
{
    static char names[512];
    struct cellar_error error = {0};
    names[0] = 0;
    if (driver_alone(store->db, check_job, store, &error) < 0) fail_msg("%s", error.text);
    for (uint32_t i = 0; i < store->report.check_count; i++)
        if (!store->report.checks[i].ok)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s;", store->report.checks[i].name);
    return names;
}

static struct ycsb_core_client *client_of(const struct store *store, uint32_t i)
{
    return (struct ycsb_core_client *)store->driver.clients[i];
}

static uint64_t committed(const struct store *store, enum ycsb_core_type type)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < SESSIONS; i++) sum += client_of(store, i)->committed[type];
    return sum;
}

static void keys_and_numbers_are_one_to_one(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < 100000; number++)
        assert_int_equal(ycsb_core_number(ycsb_core_key(number)), number);
    assert_int_equal(ycsb_core_number(ycsb_core_key((1ull << 56) - 1)), (1ull << 56) - 1);
}

static void each_core_passes_with_its_mix(void **state)
{
    static const double want[][YCSB_CORE_TYPES] = {{0.5, 0.5, 0, 0, 0},   {0.95, 0.05, 0, 0, 0}, {1, 0, 0, 0, 0},
                                                   {0.95, 0, 0.05, 0, 0}, {0, 0, 0.05, 0.95, 0}, {0.5, 0, 0, 0, 0.5}};
    (void)state;
    for (int core = 0; core < 6; core++) {
        struct store store;
        store_open(&store, (const char[]){(char)('A' + core), 0});
        assert_string_equal(failing(&store), "");
        for (int type = 0; type < YCSB_CORE_TYPES; type++) {
            double share = (double)committed(&store, (enum ycsb_core_type)type) / TXNS;
            assert_true(share > want[core][type] - 0.04 && share < want[core][type] + 0.04);
            assert_true(want[core][type] > 0 || share == 0);
        }
        store_close(&store);
    }
}

/* Of E: on average a scan finds half of what it may, but for those near the end of the keys. */
static void scans_find_records(void **state)
{
    struct store store;
    uint64_t scanned = 0;
    (void)state;
    store_open(&store, "E");
    for (uint32_t i = 0; i < SESSIONS; i++) scanned += client_of(&store, i)->scanned;
    double mean = (double)scanned / (double)committed(&store, YCSB_CORE_SCAN);
    assert_true(mean > 8 && mean < 10.6);
    store_close(&store);
}

/* ---- forgeries ---- */

struct forgery {
    const struct workload_run *run;
    uint64_t key;
    void (*change)(struct ycsb_core_field *field);
    bool delete;
};

static int forge(struct cellar_txn *txn, void *arg)
{
    const struct forgery *forgery = arg;
    const struct workload_run *run = forgery->run;
    struct ycsb_core_field field;
    int ref = cellar_proc_access(txn, run->table, forgery->key, run->cells[2], forgery->delete ? 0 : run->cells[2],
                                 forgery->delete ? CELLAR_DELETE : 0);
    int code = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (code < 0 || forgery->delete) return code;
    code = cellar_proc_get(txn, ref, run->columns[2], &field);
    forgery->change(&field);
    return code < 0 ? code : cellar_proc_put(txn, ref, run->columns[2], &field);
}

static void move_field(struct ycsb_core_field *field)
{
    ycsb_core_fill(field, field->key, 3, field->writer, field->counter, field->modified);
}
static void tear(struct ycsb_core_field *field) { field->rest[59] ^= 1; }
static void claim_later_write(struct ycsb_core_field *field)
{
    ycsb_core_fill(field, field->key, 2, 0, TXNS + 1, field->modified);
}
static void claim_other_writer(struct ycsb_core_field *field)
{
    ycsb_core_fill(field, field->key, 2, SESSIONS, 1, field->modified);
}
static void lose_update(struct ycsb_core_field *field)
{
    ycsb_core_fill(field, field->key, 2, 1, 1, field->modified + 1);
}

static void forged(const char *core, struct forgery forgery, const char *want)
{
    struct store store;
    const struct cellar_proc_def def = {.name = "forge", .fn = forge, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *proc;
    store_open(&store, core);
    assert_int_equal(db_proc_register(store.db, &def, &proc, NULL), 0);
    forgery.run = store.run;
    if (forgery.key == 0) /* the first record that client 1 has inserted */
        forgery.key = ycsb_core_key(RECORDS + 1);
    assert_int_equal(cellar_proc_run(store.db, proc, &forgery, NULL, NULL), 0);
    assert_string_equal(failing(&store), want);
    store_close(&store);
}

static void forgeries_are_noticed(void **state)
{
    uint64_t key = ycsb_core_key(7);
    (void)state;
    forged("A", (struct forgery){.key = key, .change = move_field}, "fields are whole and in place;");
    forged("A", (struct forgery){.key = key, .change = tear}, "fields are whole and in place;");
    forged("A", (struct forgery){.key = key, .change = claim_later_write}, "fields are of committed transactions;");
    forged("A", (struct forgery){.key = key, .change = claim_other_writer}, "fields are of committed transactions;");
    forged("F", (struct forgery){.key = key, .change = lose_update}, "no update lost;");
    forged("C", (struct forgery){.key = key, .delete = true}, "records loaded;");
    forged("D", (struct forgery){.delete = true}, "records inserted;");
}

/* One that inserts beyond its count, as a transaction that was told to have failed would. */
static void an_insert_too_many_is_noticed(void **state)
{
    struct store store;
    (void)state;
    store_open(&store, "D");
    client_of(&store, 1)->committed[YCSB_CORE_INSERT]--;
    assert_string_equal(failing(&store), "records inserted;records are of committed inserts;");
    store_close(&store);
}

static void foreign_reads_are_noticed(void **state)
{
    struct store store;
    (void)state;
    store_open(&store, "C");
    client_of(&store, 2)->foreign = 1;
    assert_string_equal(failing(&store), "reads and scans saw their own;");
    store_close(&store);
}

static void absurd_sizes_are_refused(void **state)
{
    struct ycsb_config good = {0}, config;
    struct cellar_error error = {0};
    (void)state;
    ycsb_core_workload.defaults(&good.base);
    assert_int_equal(ycsb_core_workload.validate(&good.base, &error), 0);
    config = good, config.core = "G";
    assert_int_equal(ycsb_core_workload.validate(&config.base, &error), CELLAR_INVALID);
    config = good, config.records = 0;
    assert_int_equal(ycsb_core_workload.validate(&config.base, &error), CELLAR_INVALID);
    config = good, config.scan_max = YCSB_CORE_SCAN_MAX + 1;
    assert_int_equal(ycsb_core_workload.validate(&config.base, &error), CELLAR_INVALID);
    config = good, config.theta = 2;
    assert_int_equal(ycsb_core_workload.validate(&config.base, &error), CELLAR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_and_numbers_are_one_to_one),
        cmocka_unit_test(each_core_passes_with_its_mix),
        cmocka_unit_test(scans_find_records),
        cmocka_unit_test(forgeries_are_noticed),
        cmocka_unit_test(an_insert_too_many_is_noticed),
        cmocka_unit_test(foreign_reads_are_noticed),
        cmocka_unit_test(absurd_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
