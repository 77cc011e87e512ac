/*
 * test_tpcc_run.c - whole runs of TPC-C by several sessions: all checks hold and the rates are right; also on a pool
 * that an earlier run has worked on, with the same random numbers.
 */
#include "bulk.h"
#include "db_open.h"
#include "driver.h"
#include "engine_config.h"
#include "tpcc.h"
#include "tpcc_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The tables are sized for two runs, and a second opening must ask for the same tables as the first. */
enum { SESSIONS = 4, TXNS = 6000, EXPECTED_TXNS = 2 * TXNS };

struct pool {
    struct cellar *db;
    struct tpcc_config config;
    struct workload_run *run;
    struct driver driver;
    uint32_t stop;
    struct workload_report report;
};

static void pool_open(struct pool *pool, const struct engine_config *config, bool mix_crest, bool by_index)
{
    struct cellar_error error = {0};
    memset(pool, 0, sizeof(*pool));
    tpcc_workload.defaults(&pool->config.base);
    assert_int_equal(pool->config.warehouses, 40);
    pool->config.base.seed = 1;
    pool->config.warehouses = 2;
    pool->config.scale = "small";
    if (mix_crest) pool->config.mix = "crest";
    if (by_index) pool->config.access = "index";
    if (db_open(config, &pool->db, &error) < 0) fail_msg("%s", error.text);
}

/* Opens the workload anew and runs it; what its clients counted starts at nothing. */
static void run_begin(struct pool *pool)
{
    struct cellar_error error = {0};
    if (tpcc_workload.open(pool->db, &pool->config.base, EXPECTED_TXNS, &pool->run, &error) < 0)
        fail_msg("%s", error.text);
    pool->driver = (struct driver){
        .workload = &tpcc_workload, .run = pool->run, .db = pool->db, .seed = 1, .txns = TXNS, .stop = &pool->stop};
    if (driver_init(&pool->driver, SESSIONS, &error) < 0) fail_msg("%s", error.text);
}

static void run_end(struct pool *pool)
{
    driver_free(&pool->driver);
    tpcc_workload.close(pool->run);
}

static void load(struct pool *pool)
{
    struct cellar_error error = {0};
    if (driver_load(&pool->driver, &error) < 0) fail_msg("%s", error.text);
    if (tpcc_workload.loaded(pool->run, &error) < 0) fail_msg("%s", error.text);
}

static int check_job(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    struct pool *pool = arg;
    memset(&pool->report, 0, sizeof(pool->report));
    int code =
        tpcc_workload.check(pool->run, client, pool->driver.clients, pool->driver.session_count, &pool->report, error);
    return code < 0 ? code : db_audit(client, error);
}

static void all_checks_hold(struct pool *pool, uint32_t check_count)
{
    struct cellar_error error = {0};
    if (driver_alone(pool->db, check_job, pool, &error) < 0) fail_msg("%s", error.text);
    assert_int_equal(pool->report.check_count, check_count);
    for (uint32_t i = 0; i < check_count; i++)
        if (!pool->report.checks[i].ok) fail_msg("%s: %s", pool->report.checks[i].name, pool->report.checks[i].text);
}

/* Rates within thrice the interval that the specification gives: a short run has that much sampling error. */
static void rates_are_near(const struct pool *pool, uint32_t rate_count)
{
    assert_int_equal(pool->report.rate_count, rate_count);
    for (uint32_t i = 0; i < rate_count; i++) {
        double low = pool->report.rates[i].low, high = pool->report.rates[i].high, slack = 3 * (high - low);
        double value = pool->report.rates[i].value;
        if (value < low - slack || value > high + slack) fail_msg("%s: %f", pool->report.rates[i].name, value);
    }
}

/* With ordered indexes the columns and tables that stand for them have no checks, the audit has their nodes. */
static uint32_t checks_of(bool by_index) { return by_index ? 20 : 22; }

static void a_run_is_consistent(bool mix_crest, bool by_index, uint32_t rate_count)
{
    const struct engine_config config = {.threads = 2, .coros = 2, .pool_bytes = 192 << 20, .log_bytes = 256 << 10};
    struct cellar_error error = {0};
    struct pool pool;
    pool_open(&pool, &config, mix_crest, by_index);
    run_begin(&pool);
    load(&pool);
    all_checks_hold(&pool, checks_of(by_index));
    if (driver_run(&pool.driver, &error) < 0) fail_msg("%s", error.text);
    all_checks_hold(&pool, checks_of(by_index));
    rates_are_near(&pool, rate_count);
    run_end(&pool);
    cellar_close(pool.db);
}

/* A run on a pool kept in a file, once with a load before it; the clients of both draw the same numbers. */
static void a_run_on_a_file(const char *path, bool by_index, bool first)
{
    const struct engine_config config = {
        .threads = 2, .coros = 2, .pool_bytes = 192 << 20, .log_bytes = 256 << 10, .pool_path = path};
    struct cellar_error error = {0};
    struct pool pool;
    pool_open(&pool, &config, false, by_index);
    run_begin(&pool);
    if (first) load(&pool);
    if (driver_run(&pool.driver, &error) < 0) fail_msg("%s", error.text);
    all_checks_hold(&pool, checks_of(by_index) - (first ? 0 : 3)); /* what happened since the load was not counted */
    run_end(&pool);
    cellar_close(pool.db);
}

static void a_second_run_goes_on(bool by_index)
{
    char path[] = "tpcc_run_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path); /* its name is what was wanted: a pool is made, not found */
    a_run_on_a_file(path, by_index, true);
    a_run_on_a_file(path, by_index, false);
    unlink(path);
}

static void a_second_run_goes_on_where_the_first_ended(void **state)
{
    (void)state;
    a_second_run_goes_on(false);
}

static void so_it_does_by_ordered_indexes(void **state)
{
    (void)state;
    a_second_run_goes_on(true);
}

/* What one way of access has made, the other one does not know. */
static void a_pool_keeps_its_access(void **state)
{
    (void)state;
    const struct engine_config config = {.pool_bytes = 192 << 20};
    struct cellar_error error = {0};
    struct workload_run *other;
    struct pool pool;
    pool_open(&pool, &config, false, false);
    run_begin(&pool);
    pool.config.access = "index";
    assert_int_equal(tpcc_workload.open(pool.db, &pool.config.base, EXPECTED_TXNS, &other, &error), CELLAR_MISMATCH);
    run_end(&pool);
    cellar_close(pool.db);
}

static void runs_are_consistent(void **state)
{
    (void)state;
    a_run_is_consistent(false, false, 5);
}

static void runs_by_ordered_indexes_are_consistent(void **state)
{
    (void)state;
    a_run_is_consistent(false, true, 5);
}

static void runs_of_the_comparison_mix_are_consistent(void **state)
{
    (void)state;
    a_run_is_consistent(true, false, 4);
}

static void a_simulated_run(bool by_index)
{
    const struct engine_config config = {.fabric = "sim",
                                         .cns = 2,
                                         .mns = 2,
                                         .replicas = 1,
                                         .threads = 1,
                                         .coros = 2,
                                         .pool_bytes = 192 << 20,
                                         .log_bytes = 256 << 10};
    struct cellar_error error = {0};
    struct pool pool;
    pool_open(&pool, &config, false, by_index);
    run_begin(&pool);
    pool.driver.txns = 1000;
    load(&pool);
    if (driver_run(&pool.driver, &error) < 0) fail_msg("%s", error.text);
    all_checks_hold(&pool, checks_of(by_index));
    run_end(&pool);
    cellar_close(pool.db);
}

static void a_simulated_run_is_consistent(void **state)
{
    (void)state;
    a_simulated_run(false);
    a_simulated_run(true);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    struct tpcc_config config = {0};
    struct cellar_error error;
    tpcc_workload.defaults(&config.base);
    assert_int_equal(tpcc_workload.validate(&config.base, &error), 0);
    config.warehouses = 0;
    assert_int_equal(tpcc_workload.validate(&config.base, &error), CELLAR_INVALID);
    config.warehouses = TPCC_WAREHOUSES_MAX + 1;
    assert_int_equal(tpcc_workload.validate(&config.base, &error), CELLAR_INVALID);
    assert_non_null(strstr(error.text, "65536"));
}

static void the_estimate_grows_with_the_warehouses(void **state)
{
    (void)state;
    struct tpcc_config config = {0};
    tpcc_workload.defaults(&config.base);
    config.warehouses = 1;
    uint64_t one = tpcc_workload.pool_bytes(&config.base);
    config.warehouses = 11;
    uint64_t eleven = tpcc_workload.pool_bytes(&config.base);
    assert_in_range((eleven - one) / 10, 110000000, 150000000);
    config.scale = "small";
    assert_in_range(eleven / tpcc_workload.pool_bytes(&config.base), 9, 11);
    double growth = tpcc_workload.growth_bytes(&config.base);
    assert_true(growth > 500 && growth < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_consistent),
        cmocka_unit_test(runs_of_the_comparison_mix_are_consistent),
        cmocka_unit_test(runs_by_ordered_indexes_are_consistent),
        cmocka_unit_test(a_second_run_goes_on_where_the_first_ended),
        cmocka_unit_test(so_it_does_by_ordered_indexes),
        cmocka_unit_test(a_pool_keeps_its_access),
        cmocka_unit_test(a_simulated_run_is_consistent),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(the_estimate_grows_with_the_warehouses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
