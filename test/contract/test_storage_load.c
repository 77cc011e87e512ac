/*
 * test_storage_load.c - rows loaded are rows scanned, whatever fills up, whichever process loads beside, whichever
 * node dies.
 */
#include "contract_pool.h"

#include <sched.h>

/* ---- loading ---- */

static void loaded_rows_come_back(void **state)
{
    struct pool pool;
    struct cellar_lab_space space;
    struct cellar_lab_pool_space all;
    pool_open(&pool, *state, 3, 1);
    const struct table *a = table_make(&pool, "a", 3000, 0), *b = table_make(&pool, "b", 1000, 4);
    load_range(&pool, a, 0, 3000);
    load_range(&pool, b, 1 << 20, 1000);
    check_range(&pool, a, 0, 3000);
    check_range(&pool, b, 1 << 20, 1000);
    for (uint64_t key = 0; key < 3000; key += 7) FAILS(&pool, load(&pool, a, key), CELLAR_EXISTS, "already");
    audit_clean(&pool);
    MUST(&pool, loader_space(NULL, pool.loader, a, &space, &pool.error));
    assert_int_equal(space.records, 3000);
    assert_int_equal(space.payload_bytes, 3000 * (8 + 8 + 150 + 4 + 24));
    assert_int_equal(space.record_bytes, 3000ull * a->schema.record_bytes);
    assert_true(space.slot_bytes >= space.record_bytes);
    assert_true(space.slot_bytes <= space.record_bytes + 4 * LAYOUT_CHUNK_BYTES);
    assert_true(space.index_bytes >= a->index.buckets_per_node * 3 * LAYOUT_LINE);
    MUST(&pool, loader_pool_space(NULL, pool.loader, &all));
    assert_int_equal(all.pool_bytes, 3 * NODE_BYTES);
    assert_int_equal(all.fixed_bytes, 2 * 3 * pool.catalog->heap_offset);
    assert_true(all.used_bytes >= all.fixed_bytes + 2 * (space.slot_bytes + space.index_bytes));
    pool_close(&pool);
}

static void rows_beyond_records_max_overflow(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 2, 1);
    const struct table *table = table_make(&pool, "t", 40, 0);
    load_range(&pool, table, 0, 1200);
    check_range(&pool, table, 0, 1200);
    audit_clean(&pool);
    FAILS(&pool, load(&pool, table, 600), CELLAR_EXISTS, "key 600");
    /* Until the chains are as long as they may get: refused, and nothing half done. */
    uint64_t count = 1200;
    int rc = 0;
    while (rc == 0 && count < 20000) rc = load(&pool, table, count++);
    assert_int_equal(rc, CELLAR_FULL);
    audit_clean(&pool);
    check_range(&pool, table, 0, count - 1);
    pool_close(&pool);
}

static void full_nodes_refuse_rows_and_stay_whole(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 1, 0);
    const struct table *table = table_make(&pool, "t", 40000, 0);
    uint64_t count = 0;
    int rc = 0;
    while (rc == 0) rc = load(&pool, table, count++);
    assert_int_equal(rc, CELLAR_FULL);
    assert_non_null(strstr(pool.error.text, "slot"));
    assert_true(count > 15000);
    check_range(&pool, table, 0, count - 1);
    audit_clean(&pool);
    pool_close(&pool);
}

static void a_scan_ends_when_told(void **state)
{
    struct pool pool;
    int calls = 0;
    pool_open(&pool, *state, 1, 0);
    const struct table *table = table_make(&pool, "t", 100, 0);
    load_range(&pool, table, 0, 10);
    assert_int_equal(loader_scan(NULL, pool.loader, table, stop_at_3, &calls, &pool.error), CELLAR_CANCELLED);
    assert_int_equal(calls, 3);
    pool_close(&pool);
}

/* ---- several loaders ---- */

#define ROWS_EACH 3000

/* Threads wait for each other, so that they really meet; workers of a simulator take turns anyway. */
static void meet(struct contract_worker *worker)
{
    uint64_t *arrived = &worker->cluster->workers[0].results[7];
    if (!worker->cluster->backend->threads) return;
    __atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrived, __ATOMIC_ACQUIRE) < WORKERS) sched_yield();
}

/* Each worker loads its own keys, and one key that all want. */
static void load_body(struct contract_worker *worker)
{
    struct pool *pool = (struct pool *)worker->cluster;
    const struct table *table = catalog_table_find(pool->catalog, "t");
    struct space *space;
    struct loader *loader;
    struct row row = row_of(0);
    CHECK(worker, space_open(NULL, worker->ep, pool->catalog, worker->index, &(struct space_find){.nothing = true},
                             &space, NULL) == 0);
    CHECK(worker, loader_open(worker->ep, pool->catalog, space, worker->index, &loader) == 0);
    meet(worker);
    int rc = loader_load(NULL, loader, table, 0, &row, NULL);
    CHECK(worker, rc == 0 || rc == CELLAR_EXISTS);
    worker->results[0] = rc == 0;
    for (uint64_t i = 0; i < ROWS_EACH; i++) {
        uint64_t key = 1 + i * WORKERS + worker->index;
        row = row_of(key);
        CHECK(worker, loader_load(NULL, loader, table, key, &row, NULL) == 0);
    }
    loader_free(loader);
    space_free(space);
}

static void loaders_side_by_side_agree(void **state)
{
    struct pool pool;
    void (*bodies[WORKERS])(struct contract_worker *) = {load_body, load_body, load_body, load_body};
    uint64_t winners = 0;
    pool_open(&pool, *state, 2, 1);
    const struct table *table = table_make(&pool, "t", 2000, 0); /* few buckets, so that they meet */
    contract_run(&pool.cluster, bodies);
    for (uint32_t i = 0; i < WORKERS; i++) winners += pool.cluster.workers[i].results[0];
    assert_int_equal(winners, 1);
    check_range(&pool, table, 0, 1 + WORKERS * ROWS_EACH);
    audit_clean(&pool);
    pool_close(&pool);
}

/* ---- failures of the fabric ---- */

static void a_dead_memory_node_is_named(void **state)
{
    struct pool pool;
    struct cellar_lab_space space;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 1};
    pool_open(&pool, *state, 2, 0);
    const struct table *table = table_make(&pool, "t", 1000, 0);
    load_range(&pool, table, 0, 100);
    if (pool.cluster.fabric->ops->control(pool.cluster.fabric, &kill, NULL) != 0) {
        pool_close(&pool);
        skip(); /* this backend cannot */
    }
    uint32_t failed = 0;
    for (uint64_t key = 100; key < 200; key++) {
        int rc = load(&pool, table, key);
        bool on_dead = fabric_addr_node(index_bucket_addr(&table->index, key)) == 1;
        assert_int_equal(rc, on_dead ? CELLAR_UNREACHABLE : 0);
        failed += on_dead;
    }
    assert_true(failed > 20);
    FAILS(&pool, loader_space(NULL, pool.loader, table, &space, &pool.error), CELLAR_UNREACHABLE, "memory node 1");
    FAILS(&pool, loader_audit(NULL, pool.loader, &pool.error), CELLAR_UNREACHABLE, "memory node 1");
    struct catalog *open = pool.catalog;
    FAILS(&pool, open_as(&pool, pool.shape, false, true), CELLAR_UNREACHABLE, "memory node 1");
    pool.catalog = open;
    pool_close(&pool);
}

int main(int argc, char **argv)
{
    const struct contract_entry tests[] = {
        ENTRY(loaded_rows_come_back),
        ENTRY(rows_beyond_records_max_overflow),
        ENTRY(full_nodes_refuse_rows_and_stay_whole),
        ENTRY(a_scan_ends_when_told),
        ENTRY(loaders_side_by_side_agree),
        ENTRY(a_dead_memory_node_is_named),
    };
    return contract_main("storage_load", tests, sizeof tests / sizeof *tests, argc, argv);
}
