/* test_indexload.c - the workload index: that runs keep their records, and that the check notices what went wrong. */
#include "bulk.h"
#include "numbered.h"
#include "db_open.h"
#include "db_schema.h"
#include "driver.h"
#include "engine_config.h"
#include "indexload.h"

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

static void store_open(struct store *store, const char *operation, bool sorted, bool rows)
{
    struct engine_config config = {.threads = 2, .coros = 2};
    struct indexload_config workload = {0};
    struct cellar_error error = {0};
    memset(store, 0, sizeof(*store));
    indexload_workload.defaults(&workload.base);
    workload.records = RECORDS;
    workload.scan_max = 20;
    workload.operation = operation;
    workload.sorted = sorted;
    workload.rows = rows;
    if (db_open(&config, &store->db, &error) < 0) fail_msg("%s", error.text);
    if (indexload_workload.open(store->db, &workload.base, TXNS, &store->run, &error) < 0) fail_msg("%s", error.text);
    store->driver = (struct driver){
        .workload = &indexload_workload, .run = store->run, .db = store->db, .txns = TXNS, .stop = &store->stop};
    if (driver_init(&store->driver, SESSIONS, &error) < 0) fail_msg("%s", error.text);
    if (driver_load(&store->driver, &error) < 0) fail_msg("%s", error.text);
    if (indexload_workload.loaded(store->run, &error) < 0) fail_msg("%s", error.text);
    if (driver_run(&store->driver, &error) < 0) fail_msg("%s", error.text);
}

static void store_close(struct store *store)
{
    driver_free(&store->driver);
    indexload_workload.close(store->run);
    cellar_close(store->db);
}

static int check_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct store *store = arg;
    memset(&store->report, 0, sizeof(store->report));
    int code = indexload_workload.check(store->run, client, store->driver.clients, store->driver.session_count,
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

static struct indexload_client sums(const struct store *store)
{
    struct indexload_client all = {.base = {.index = 0}};
    for (uint32_t i = 0; i < SESSIONS; i++) {
        const struct indexload_client *client = (const struct indexload_client *)store->driver.clients[i];
        for (uint32_t t = 0; t < INDEXLOAD_TYPES; t++) {
            all.committed[t] += client->committed[t];
            all.found[t] += client->found[t];
        }
    }
    return all;
}

static void each_operation_passes(void **state)
{
    static const struct {
        const char *operation;
        double share[INDEXLOAD_TYPES];
    } wants[] = {{"mixed", {0.4, 0.1, 0.2, 0.1, 0.2}},
                 {"lookup", {1}},
                 {"insert", {0, 1}},
                 {"update", {0, 0, 1}},
                 {"delete", {0, 0, 0, 1}},
                 {"scan", {0, 0, 0, 0, 1}},
                 {"update-heavy", {0.5, 0, 0.5}},
                 {"search-mostly", {0.95, 0, 0.05}}};
    (void)state;
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
        for (int sorted = 0; sorted < 2; sorted++) {
            struct store store;
            store_open(&store, wants[i].operation, sorted, i % 2 == (size_t)sorted);
            assert_string_equal(failing(&store), "");
            const struct indexload_client all = sums(&store);
            for (uint32_t t = 0; t < INDEXLOAD_TYPES; t++) {
                double share = (double)all.committed[t] / TXNS, want = wants[i].share[t];
                assert_true(share > want - 0.04 && share < want + 0.04);
                assert_true(want > 0 || share == 0);
            }
            if (i < 2) assert_int_equal(all.found[INDEXLOAD_LOOKUP], all.committed[INDEXLOAD_LOOKUP]);
            store_close(&store);
        }
}

/* ---- forgeries ---- */

struct forgery {
    const struct workload_run *run;
    uint64_t changed; /* bits of the value of key 7 */
    bool delete;
};

static int forge(struct cellar_txn *txn, void *arg)
{
    const struct forgery *forgery = arg;
    uint64_t value = 0;
    int ref = cellar_proc_access(txn, forgery->run->table, 7, CELLAR_ALL_CELLS, forgery->delete ? 0 : CELLAR_ALL_CELLS,
                                 forgery->delete ? CELLAR_DELETE : 0);
    int code = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (code < 0 || forgery->delete) return code;
    code = cellar_proc_get(txn, ref, 0, &value);
    value ^= forgery->changed;
    return code < 0 ? code : cellar_proc_put(txn, ref, 0, &value);
}

static void forged(const char *operation, struct forgery forgery, const char *want)
{
    struct store store;
    const struct cellar_proc_def def = {.name = "forge", .fn = forge, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *proc;
    store_open(&store, operation, true, false);
    assert_int_equal(db_proc_register(store.db, &def, &proc, NULL), 0);
    forgery.run = store.run;
    assert_int_equal(cellar_proc_run(store.db, proc, &forgery, NULL, NULL), 0);
    assert_string_equal(failing(&store), want);
    store_close(&store);
}

static void forgeries_are_noticed(void **state)
{
    (void)state;
    forged("update", (struct forgery){.changed = 1ull << 20}, "no update lost;");
    forged("lookup", (struct forgery){.changed = 1ull << 50}, "values are of their keys;");
    forged("scan", (struct forgery){.delete = true}, "records loaded and inserted, not deleted;");
}

static void bad_sizes_are_refused(void **state)
{
    struct indexload_config config = {0};
    struct cellar_error error;
    (void)state;
    indexload_workload.defaults(&config.base);
    assert_int_equal(indexload_workload.validate(&config.base, &error), 0);
    config.scan_max = INDEXLOAD_SCAN_MAX + 1;
    assert_int_equal(indexload_workload.validate(&config.base, &error), CELLAR_INVALID);
    config.scan_max = 1;
    config.records = 0;
    assert_int_equal(indexload_workload.validate(&config.base, &error), CELLAR_INVALID);
    config.records = 1;
    config.theta = 2;
    assert_int_equal(indexload_workload.validate(&config.base, &error), CELLAR_INVALID);
    config.theta = 0;
    config.operation = "none";
    assert_int_equal(indexload_workload.validate(&config.base, &error), CELLAR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_passes),
        cmocka_unit_test(forgeries_are_noticed),
        cmocka_unit_test(bad_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
