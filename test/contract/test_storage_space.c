/*
 * test_storage_space.c - slots are handed out once, come back, and are found again in an old pool; so are log segments.
 */
#include "contract_pool.h"

/* ---- record space ---- */

static void slots_are_distinct_and_come_back(void **state)
{
    struct pool pool;
    struct space_slot slots[3][700], slot;
    uint8_t image[1024];
    pool_open(&pool, *state, 3, 0);
    const struct table *tables[2] = {table_make(&pool, "a", 100, 0), table_make(&pool, "b", 100, 0)};
    uint32_t bytes = tables[0]->schema.record_bytes;
    for (uint32_t i = 0; i < 700; i++) {
        for (uint32_t node = 0; node < 3; node++) {
            MUST(&pool, space_slot_take(NULL, pool.space, tables[i % 2], node, &slots[node][i]));
            assert_int_equal(fabric_addr_node(slots[node][i].addr), node);
            assert_true(catalog_in_heap(pool.catalog, slots[node][i].addr, bytes));
            assert_false(slots[node][i].used_before);
            for (uint32_t k = 0; k < i; k++) {
                uint64_t a = slots[node][k].addr.bits, b = slots[node][i].addr.bits;
                assert_true(a + bytes <= b || b + bytes <= a);
            }
        }
    }
    peek(&pool, slots[1][5].addr, image, bytes);
    for (uint32_t i = 0; i < bytes; i++) assert_int_equal(image[i], 0);
    /* Given back, they are the next to be taken, in their own table and on their own node only. */
    slots[1][4].used_before = true;
    space_slot_give(pool.space, tables[0], slots[1][4]);
    MUST(&pool, space_slot_take(NULL, pool.space, tables[1], 1, &slot));
    assert_int_not_equal(slot.addr.bits, slots[1][4].addr.bits);
    MUST(&pool, space_slot_take(NULL, pool.space, tables[0], 2, &slot));
    assert_int_not_equal(slot.addr.bits, slots[1][4].addr.bits);
    MUST(&pool, space_slot_take(NULL, pool.space, tables[0], 1, &slot));
    assert_int_equal(slot.addr.bits, slots[1][4].addr.bits);
    assert_true(slot.used_before);
    pool_close(&pool);
}

static void freed_slots_survive_a_reopen_and_versions_go_on(void **state)
{
    struct pool pool;
    struct fabric_addr addrs[20];
    uint8_t image[1024] __attribute__((aligned(8)));
    pool_open(&pool, *state, 2, 1);
    const struct table *table = table_make(&pool, "t", 1000, 0);
    load_range(&pool, table, 0, 100);
    for (uint64_t key = 0; key < 20; key++) delete_record(&pool, table, key, &addrs[key]);
    audit_clean(&pool);
    pool_reopen(&pool);
    table = catalog_table_find(pool.catalog, "t");
    uint64_t used[2] = {chunks_used(&pool, 0), chunks_used(&pool, 1)}, next = 100;
    load_range(&pool, table, 0, 20);
    /* Once both nodes needed a chunk, all free slots have been used. */
    while (chunks_used(&pool, 0) == used[0] || chunks_used(&pool, 1) == used[1]) load_range(&pool, table, next++, 1);
    check_range(&pool, table, 0, next);
    audit_clean(&pool);
    uint32_t reused = 0;
    for (int i = 0; i < 20; i++) {
        peek(&pool, addrs[i], image, table->schema.record_bytes);
        if (record_header(image)->flags || record_header(image)->table_id == 0) continue;
        assert_int_equal(record_header(image)->lock, 0);
        for (uint32_t cell = 0; cell < table->schema.cell_count; cell++)
            assert_int_equal(record_version(&table->schema, image, cell), layout_version_of(2, 2));
        reused++;
    }
    assert_int_equal(reused, 20);
    pool_close(&pool);
}

/* All free slots of an old pool go to its workers, each to one. */
static void parts_share_the_free_slots(void **state)
{
    enum { PARTS = 3, TABLES_ROWS = 900 };
    struct pool pool;
    struct space *spaces[PARTS];
    struct space_slot slots[3000];
    uint32_t count = 0, per_part[PARTS] = {0};
    uint64_t used, word_used;
    pool_open(&pool, *state, 1, 0);
    const struct table *table = table_make(&pool, "t", 2000, 0);
    load_range(&pool, table, 0, TABLES_ROWS);
    for (uint64_t key = 0; key < TABLES_ROWS; key += 3) {
        struct fabric_addr addr;
        struct bucket_wire bucket;
        uint32_t at = 0;
        uint64_t offset;
        peek(&pool, index_bucket_addr(&table->index, key), &bucket, sizeof bucket);
        if (index_find(&bucket, index_fingerprint(key), &at, &offset)) delete_record(&pool, table, key, &addr);
    }
    pool_leave(&pool);
    MUST(&pool, open_as(&pool, pool.shape, false, false));
    table = catalog_table_find(pool.catalog, "t");
    used = chunks_used(&pool, 0);
    for (uint32_t p = 0; p < PARTS; p++) {
        MUST(&pool,
             space_open(NULL, pool.ep, pool.catalog, 0,
                        &(struct space_find){.part = p, .parts = PARTS, .alone = true, .count = LAYOUT_MEMBERS_MAX},
                        &spaces[p], &pool.error));
        for (;;) {
            MUST(&pool, space_slot_take(NULL, spaces[p], table, 0, &slots[count]));
            word_used = chunks_used(&pool, 0);
            if (word_used > used) break; /* the free ones are gone: this one is from a new chunk */
            for (uint32_t i = 0; i < count; i++) assert_int_not_equal(slots[i].addr.bits, slots[count].addr.bits);
            per_part[p]++;
            count++;
        }
        used = word_used;
    }
    assert_true(count > TABLES_ROWS / 4);
    for (uint32_t p = 0; p < PARTS; p++) assert_true(per_part[p] > 0);
    /* A CN that owns nothing finds nothing. */
    struct space *other;
    MUST(&pool,
         space_open(NULL, pool.ep, pool.catalog, 1,
                    &(struct space_find){.parts = 1, .alone = true, .count = LAYOUT_MEMBERS_MAX}, &other, &pool.error));
    MUST(&pool, space_slot_take(NULL, other, table, 0, &slots[0]));
    word_used = chunks_used(&pool, 0);
    assert_int_equal(word_used, used + 1);
    space_free(other);
    for (uint32_t p = 0; p < PARTS; p++) space_free(spaces[p]);
    pool_close(&pool);
}

/* Each open adds overflow buckets; they come from the run that an earlier one left half used. */
static void overflow_runs_are_used_up_across_opens(void **state)
{
    struct pool pool;
    uint64_t used[2], next = 300;
    pool_open(&pool, *state, 2, 1);
    const struct table *table = table_make(&pool, "t", 40, 0);
    load_range(&pool, table, 0, 300);
    for (int reopened = 0; reopened < 20; reopened++) {
        for (uint32_t node = 0; node < 2; node++) used[node] = chunks_used(&pool, node);
        pool_reopen(&pool);
        table = catalog_table_find(pool.catalog, "t");
        load_range(&pool, table, next, 10);
        next += 10;
        audit_clean(&pool);
        for (uint32_t node = 0; node < 2; node++) assert_true(chunks_used(&pool, node) <= used[node] + 1);
    }
    check_range(&pool, table, 0, next);
    struct cellar_lab_space space;
    MUST(&pool, loader_space(NULL, pool.loader, table, &space, &pool.error));
    assert_int_equal(space.index_bytes, 4 * LAYOUT_CHUNK_BYTES); /* on each node one run of buckets, one of overflow */
    pool_close(&pool);
}

static void log_segments_are_found_again(void **state)
{
    struct pool pool;
    struct fabric_addr addrs[2][6], addr;
    pool_open(&pool, *state, 2, 1);
    for (uint32_t node = 0; node < 2; node++) {
        for (uint32_t i = 0; i < 6; i++) {
            MUST(&pool,
                 space_log_take(NULL, pool.space, node, i, 2 * LAYOUT_CHUNK_BYTES, &addrs[node][i], &pool.error));
            assert_true(
                catalog_in_heap(pool.catalog, addrs[node][i], 2 * LAYOUT_CHUNK_BYTES - sizeof(struct chunk_wire)));
        }
    }
    pool_reopen(&pool);
    for (uint32_t node = 0; node < 2; node++) {
        for (uint32_t i = 6; i-- > 0;) {
            MUST(&pool, space_log_take(NULL, pool.space, node, i, 2 * LAYOUT_CHUNK_BYTES, &addr, &pool.error));
            assert_int_equal(addr.bits, addrs[node][i].bits);
        }
    }
    /* One that is too small now is replaced; and more than there is, refused. */
    MUST(&pool, space_log_take(NULL, pool.space, 0, 0, 3 * LAYOUT_CHUNK_BYTES, &addr, &pool.error));
    assert_int_not_equal(addr.bits, addrs[0][0].bits);
    FAILS(&pool, space_log_take(NULL, pool.space, 0, 9, NODE_BYTES, &addr, &pool.error), CELLAR_FULL, "memory node 0");
    FAILS(&pool, space_log_take(NULL, pool.space, 0, 9, 64, &addr, &pool.error), CELLAR_INVALID, "64 bytes");
    audit_clean(&pool);
    pool_close(&pool);
}

/*
 * Each compute node, new to the pool or not, has its first log segment in a full one, too, and finds it again.
 * Nothing else does.
 */
static void a_full_pool_keeps_a_log_for_each_compute_node(void **state)
{
    struct pool pool;
    struct space *others[WORKERS];
    struct fabric_addr addrs[WORKERS], addr;
    struct chunk_wire *run;
    uint64_t offset;
    pool_open(&pool, *state, 2, 1);
    run = (struct chunk_wire *)(void *)pool.local;
    for (uint32_t node = 0; node < 2; node++) {
        int rc = 0;
        *run = (struct chunk_wire){.kind = LAYOUT_RUN_LOG, .chunk_count = 1, .owner_coordinator = 99};
        while (rc == 0) rc = catalog_run_take(NULL, pool.ep, pool.catalog, node, run, &offset);
        assert_int_equal(rc, CELLAR_FULL);
    }
    for (uint32_t cn = 0; cn < pool.catalog->cn_count; cn++) {
        uint32_t node = catalog_log_node(pool.catalog, cn);
        MUST(&pool, space_open(NULL, pool.ep, pool.catalog, cn,
                               &(struct space_find){.parts = 1, .alone = true, .count = LAYOUT_MEMBERS_MAX},
                               &others[cn], &pool.error));
        FAILS(&pool, space_log_take(NULL, others[cn], node, 1, LAYOUT_CHUNK_BYTES, &addr, &pool.error), CELLAR_FULL,
              "a log segment");
        FAILS(&pool, space_log_take(NULL, others[cn], node, 0, 2 * LAYOUT_CHUNK_BYTES, &addr, &pool.error), CELLAR_FULL,
              "a log segment");
        MUST(&pool, space_log_take(NULL, others[cn], node, 0, LAYOUT_CHUNK_BYTES, &addrs[cn], &pool.error));
        assert_true(catalog_in_heap(pool.catalog, addrs[cn], LAYOUT_CHUNK_BYTES - sizeof *run));
        for (uint32_t i = 0; i < cn; i++) assert_int_not_equal(addrs[i].bits, addrs[cn].bits);
        space_free(others[cn]);
    }
    audit_clean(&pool);
    pool_reopen(&pool);
    for (uint32_t cn = 0; cn < pool.catalog->cn_count; cn++) {
        uint32_t node = catalog_log_node(pool.catalog, cn);
        MUST(&pool, space_open(NULL, pool.ep, pool.catalog, cn,
                               &(struct space_find){.parts = 1, .alone = true, .count = LAYOUT_MEMBERS_MAX},
                               &others[cn], &pool.error));
        MUST(&pool, space_log_take(NULL, others[cn], node, 0, LAYOUT_CHUNK_BYTES, &addr, &pool.error));
        assert_int_equal(addr.bits, addrs[cn].bits);
        space_free(others[cn]);
    }
    audit_clean(&pool);
    pool_close(&pool);
}

/* ---- coordinators of one worker that suspend while they take space ---- */

enum { COROS = 5, TAKES = 300 };

struct taker {
    struct coro *co;
    struct space *space;
    const struct table *table;
    int rc;
    uint32_t count;
    struct fabric_addr slots[TAKES], buckets[TAKES];
};

static void take_main(struct coro *co, void *arg)
{
    struct taker *taker = arg;
    struct space_slot slot;
    for (; taker->count < TAKES && taker->rc == 0; taker->count++) {
        taker->rc = space_slot_take(co, taker->space, taker->table, 0, &slot);
        taker->slots[taker->count] = slot.addr;
        if (taker->rc == 0)
            taker->rc = space_bucket_take(co, taker->space, taker->table, 0, &taker->buckets[taker->count]);
    }
}

static int compare_addrs(const void *a, const void *b)
{
    uint64_t x = ((const struct fabric_addr *)a)->bits, y = ((const struct fabric_addr *)b)->bits;
    return (x > y) - (x < y);
}

/* All distances between neighbours are at least `bytes`. */
static bool distinct(struct fabric_addr *addrs, uint32_t count, uint64_t bytes)
{
    qsort(addrs, count, sizeof *addrs, compare_addrs);
    for (uint32_t i = 1; i < count; i++)
        if (addrs[i].bits - addrs[i - 1].bits < bytes) return false;
    return true;
}

static void take_body(struct contract_worker *worker)
{
    struct pool *pool = (struct pool *)worker->cluster;
    struct taker *takers = calloc(COROS, sizeof *takers);
    struct fabric_addr *slots = calloc(COROS * TAKES, sizeof *slots), *buckets = calloc(COROS * TAKES, sizeof *buckets);
    if (worker->index > 0) goto out;
    worker->ep->bulk = false;
    for (uint32_t i = 0; i < COROS; i++) {
        takers[i].space = pool->space;
        takers[i].table = catalog_table_find(pool->catalog, "t");
        takers[i].co = coro_new(64 << 10, take_main, &takers[i]);
        coro_resume(takers[i].co);
    }
    for (uint32_t done = 0; done < COROS;) {
        struct fabric_wait *wait = fabric_poll(worker->ep);
        if (!wait) fabric_idle(worker->ep, UINT64_MAX);
        while (wait) {
            struct fabric_wait *next = wait->next;
            coro_resume(wait->co);
            wait = next;
        }
        done = 0;
        for (uint32_t i = 0; i < COROS; i++) done += coro_done(takers[i].co);
    }
    worker->ep->bulk = true;
    for (uint32_t i = 0; i < COROS; i++) {
        worker->results[0] += takers[i].rc == 0 && takers[i].count == TAKES;
        memcpy(slots + i * TAKES, takers[i].slots, sizeof takers[i].slots);
        memcpy(buckets + i * TAKES, takers[i].buckets, sizeof takers[i].buckets);
        coro_free(takers[i].co);
    }
    worker->results[1] = distinct(slots, COROS * TAKES, takers[0].table->schema.record_bytes);
    worker->results[2] = distinct(buckets, COROS * TAKES, LAYOUT_LINE);
out:
    free(takers);
    free(slots);
    free(buckets);
}

static void coordinators_of_a_worker_never_get_the_same_slot(void **state)
{
    const struct contract_backend *backend = *state;
    struct pool pool;
    void (*bodies[WORKERS])(struct contract_worker *) = {take_body, take_body, take_body, take_body};
    if (!backend->delays) skip(); /* nothing suspends */
    pool_open(&pool, backend, 2, 1);
    const struct table *table = table_make(&pool, "t", 100, 0);
    contract_run(&pool.cluster, bodies);
    assert_int_equal(pool.cluster.workers[0].results[0], COROS);
    assert_int_equal(pool.cluster.workers[0].results[1], true);
    assert_int_equal(pool.cluster.workers[0].results[2], true);
    /* Runs that several of them added at once are all used. */
    struct cellar_lab_space space;
    uint64_t per_run = (LAYOUT_CHUNK_BYTES - sizeof(struct chunk_wire)) / table->schema.record_bytes;
    MUST(&pool, loader_space(NULL, pool.loader, table, &space, &pool.error));
    assert_true(space.slot_bytes / LAYOUT_CHUNK_BYTES <= COROS * TAKES / per_run + 1 + COROS);
    audit_clean(&pool);
    pool_close(&pool);
}

int main(int argc, char **argv)
{
    const struct contract_entry tests[] = {
        ENTRY(slots_are_distinct_and_come_back),
        ENTRY(freed_slots_survive_a_reopen_and_versions_go_on),
        ENTRY(parts_share_the_free_slots),
        ENTRY(overflow_runs_are_used_up_across_opens),
        ENTRY(log_segments_are_found_again),
        ENTRY(coordinators_of_a_worker_never_get_the_same_slot),
        ENTRY(a_full_pool_keeps_a_log_for_each_compute_node),
    };
    return contract_main("storage_space", tests, sizeof tests / sizeof *tests, argc, argv);
}
