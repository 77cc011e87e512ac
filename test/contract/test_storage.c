/* test_storage.c - pools are formatted once, refused when they are not what was asked for, and keep their tables. */
#include "contract_pool.h"
#include "schemadef.h"

#include <xxhash.h>

/* ---- opening ---- */

static void fresh_pools_are_formatted_and_open_again(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 3, 1);
    assert_int_equal(pool.incarnation, 1);
    const struct table *table = table_make(&pool, "t", 100, 0);
    load_range(&pool, table, 0, 50);
    for (uint64_t opened = 2; opened < 5; opened++) {
        pool_reopen(&pool);
        assert_int_equal(pool.incarnation, opened);
        table = catalog_table_find(pool.catalog, "t");
        assert_non_null(table);
        check_range(&pool, table, 0, 50);
        audit_clean(&pool);
    }
    assert_null(catalog_table_find(pool.catalog, "u"));
    pool_close(&pool);
}

static void impossible_shapes_are_refused(void **state)
{
    struct pool pool;
    pool_fabric(&pool, *state, 2, 1);
    FAILS(&pool, open_as(&pool, (struct catalog_shape){0, 0, 1, NODE_BYTES, false, NULL, 0, false}, true, false),
          CELLAR_INVALID, "0 memory nodes");
    FAILS(&pool, open_as(&pool, (struct catalog_shape){65, 0, 1, NODE_BYTES, false, NULL, 0, false}, true, false),
          CELLAR_INVALID, "65 memory nodes");
    FAILS(&pool, open_as(&pool, (struct catalog_shape){2, 2, 1, NODE_BYTES, false, NULL, 0, false}, true, false),
          CELLAR_INVALID, "at least 3");
    FAILS(&pool, open_as(&pool, (struct catalog_shape){2, 1, 0, NODE_BYTES, false, NULL, 0, false}, true, false),
          CELLAR_INVALID, "0 compute nodes");
    FAILS(&pool, open_as(&pool, (struct catalog_shape){2, 1, 256, NODE_BYTES, false, NULL, 0, false}, true, false),
          CELLAR_INVALID, "256 compute nodes");
    FAILS(&pool, open_as(&pool, (struct catalog_shape){2, 1, 1, 400000, false, NULL, 0, false}, true, false),
          CELLAR_INVALID, "400000 bytes");
    FAILS(&pool, open_as(&pool, (struct catalog_shape){2, 1, 1, 1ull << 60, false, NULL, 0, false}, true, false),
          CELLAR_INVALID, "possible");
    FAILS(&pool, open_as(&pool, pool.shape, false, false), CELLAR_CORRUPT, "not formatted");
    assert_null(pool.catalog);
    pool_close(&pool);
}

/*
 * Memory that was lost is not taken for new: an opener that wants what was there is told; and where other nodes hold
 * data it is not formatted anew.
 */
static void lost_memory_is_not_formatted(void **state)
{
    static const struct superblock_wire blank;
    struct superblock_wire before, after;
    struct pool pool;
    pool_fabric(&pool, *state, 2, 0);
    struct catalog_shape existing = pool.shape;
    existing.existing = true;
    FAILS(&pool, open_as(&pool, existing, true, true), CELLAR_NOT_FOUND, "memory node 0 is blank");
    for (uint32_t node = 0; node < 2; node++) {
        peek(&pool, fabric_addr_of(node, 0), &after, sizeof after);
        assert_memory_equal(&after, &blank, sizeof blank);
    }
    MUST(&pool, open_as(&pool, pool.shape, true, true));
    table_make(&pool, "t", 100, 0);
    peek(&pool, fabric_addr_of(1, 0), &before, sizeof before);
    pool_leave(&pool);
    poke(&pool, fabric_addr_of(0, 0), &blank, sizeof blank);
    FAILS(&pool, open_as(&pool, pool.shape, true, true), CELLAR_CORRUPT, "node 0 has lost its memory");
    peek(&pool, fabric_addr_of(0, 0), &after, sizeof after);
    assert_memory_equal(&after, &blank, sizeof blank);
    peek(&pool, fabric_addr_of(1, 0), &after, sizeof after);
    assert_memory_equal(&after, &before, sizeof before);
    pool_close(&pool);
}

static void another_shape_is_refused_with_both_numbers(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 3, 1);
    pool_leave(&pool);
    struct catalog_shape shape = pool.shape;
    shape.mn_count = 2;
    FAILS(&pool, open_as(&pool, shape, false, false), CELLAR_MISMATCH, "memory nodes of 3, this open asks for 2");
    shape = pool.shape;
    shape.replicas = 2;
    FAILS(&pool, open_as(&pool, shape, false, false), CELLAR_MISMATCH, "backups of 1, this open asks for 2");
    shape = pool.shape;
    shape.mn_bytes -= 4096;
    FAILS(&pool, open_as(&pool, shape, false, false), CELLAR_MISMATCH, "8388608, this open asks for 8384512");
    shape = pool.shape;
    shape.cn_count = WORKERS + 1;
    FAILS(&pool, open_as(&pool, shape, false, false), CELLAR_MISMATCH, "4, this open asks for 5");
    shape = pool.shape;
    shape.locks_bytes = 4 * LAYOUT_CHUNK_BYTES;
    FAILS(&pool, open_as(&pool, shape, false, false), CELLAR_MISMATCH, "formatted without locks of records");
    /* Fewer compute nodes are fine, and what the pool was made for stays known. */
    shape = pool.shape;
    shape.cn_count = 1;
    MUST(&pool, open_as(&pool, shape, false, false));
    assert_int_equal(pool.catalog->cn_count, WORKERS);
    pool_close(&pool);
}

/*
 * Damages one field of a node's superblock, which its checksum shows, unless that was made for it; opens, and repairs
 * it.
 */
static void superblock_damaged(struct pool *pool, uint32_t node, uint64_t offset, uint64_t value, uint32_t size,
                               int code, const char *word)
{
    const bool sealed =
        offset > offsetof(struct superblock_wire, checksum) && offset < offsetof(struct superblock_wire, state);
    struct superblock_wire before, damaged;
    peek(pool, fabric_addr_of(node, 0), &before, sizeof before);
    damaged = before;
    memcpy((uint8_t *)&damaged + offset, &value, size);
    poke(pool, fabric_addr_of(node, 0), &damaged, sizeof damaged);
    if (sealed) FAILS(pool, open_as(pool, pool->shape, false, false), CELLAR_CORRUPT, "the superblock is damaged");
    if (sealed) damaged.checksum = catalog_superblock_checksum(&damaged);
    poke(pool, fabric_addr_of(node, 0), &damaged, sizeof damaged);
    FAILS(pool, open_as(pool, pool->shape, false, false), code, word);
    poke(pool, fabric_addr_of(node, 0), &before, sizeof before);
}

static void foreign_superblocks_are_refused(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 2, 0);
    pool_leave(&pool);
    for (uint32_t node = 0; node < 2; node++) {
        superblock_damaged(&pool, node, 0, 0, 8, CELLAR_CORRUPT, "not formatted");
        superblock_damaged(&pool, node, 0, 0x1234, 8, CELLAR_CORRUPT, "0x1234");
        superblock_damaged(&pool, node, 8, 1, 8, CELLAR_MISMATCH, "another build");
        superblock_damaged(&pool, node, 60, 0, 4, CELLAR_CORRUPT, "neither open nor closed");
        superblock_damaged(&pool, node, 20, 5, 4, CELLAR_MISMATCH, "number 5");
        superblock_damaged(&pool, node, 40, 65536, 8, CELLAR_CORRUPT, "65536");
        superblock_damaged(&pool, node, 48, 0, 8, CELLAR_CORRUPT, "heap");
        superblock_damaged(&pool, node, 48, 4 * LAYOUT_CHUNK_BYTES, 8, CELLAR_CORRUPT, "heap");
        superblock_damaged(&pool, node, 48, 6 * LAYOUT_CHUNK_BYTES + 64, 8, CELLAR_CORRUPT, "heap");
        superblock_damaged(&pool, node, 48, NODE_BYTES, 8, CELLAR_CORRUPT, "heap");
        superblock_damaged(&pool, node, 48, 6 * LAYOUT_CHUNK_BYTES, 8, CELLAR_MISMATCH,
                           "a mode that locks records there");
        superblock_damaged(&pool, node, 56, 100000, 4, CELLAR_CORRUPT, "heap");
    }
    MUST(&pool, open_as(&pool, pool.shape, false, false));
    pool_close(&pool);
}

static void unclean_pools_are_refused(void **state)
{
    struct pool pool;
    pool_open(&pool, *state, 1, 0);
    struct catalog *first = pool.catalog, *second;
    uint64_t first_incarnation = pool.incarnation;
    FAILS(&pool, open_as(&pool, pool.shape, false, false), ERR_DIRTY, "did not close the pool");
    FAILS(&pool, open_as(&pool, pool.shape, false, true), ERR_DIRTY, "compute node 0 is live");
    pool.member = 1; /* others may have a shared pool open */
    FAILS(&pool, open_as(&pool, pool.shape, false, false), ERR_DIRTY, "compute node 0 is live");
    MUST(&pool, open_as(&pool, pool.shape, false, true));
    assert_true(pool.incarnation > first_incarnation);
    second = pool.catalog;
    uint64_t second_incarnation = pool.incarnation;
    pool.catalog = first;
    pool.incarnation = first_incarnation;
    pool.member = 0;
    pool_leave(&pool);
    FAILS(&pool, open_as(&pool, pool.shape, false, false), ERR_DIRTY, "compute node 1 is live");
    pool.catalog = second;
    pool.incarnation = second_incarnation;
    pool.member = 1;
    pool_leave(&pool);
    MUST(&pool, open_as(&pool, pool.shape, false, false));
    pool_close(&pool);
}

/* ---- tables ---- */

static void tables_are_found_again_or_differ_by_name(void **state)
{
    struct pool pool;
    const struct table *table, *again = NULL;
    pool_open(&pool, *state, 2, 1);
    table = table_make(&pool, "t", 100, 3);
    assert_ptr_equal(table_make(&pool, "t", 100, 3), table);
    struct cellar_schema_column changed[4];
    struct cellar_schema schema = schema_of("t", 101, 3);
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &again, &pool.error), CELLAR_MISMATCH,
          "100 records");
    schema = schema_of("t", 100, 2);
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &again, &pool.error), CELLAR_MISMATCH,
          "cluster bits");
    for (int i = 0; i < 3; i++) {
        memcpy(changed, columns, sizeof columns);
        if (i == 0) changed[2].name = "tiny";
        if (i == 1) changed[2].bytes = 2;
        if (i == 2) changed[0].cell = changed[2].cell = 1;
        schema = schema_of("t", 100, 3);
        schema.columns = changed;
        FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &again, &pool.error), CELLAR_MISMATCH,
              "small");
    }
    schema = schema_of("t", 100, 3);
    schema.column_count = 3;
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &again, &pool.error), CELLAR_MISMATCH,
          "4 columns; asked for 3");
    schema = schema_of("u", 0, 0);
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &again, &pool.error), CELLAR_INVALID,
          "records_max");
    schema = schema_of("u", 10, 9);
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &again, &pool.error), CELLAR_INVALID,
          "cluster_bits is 9");
    assert_null(again);
    assert_int_equal(pool.catalog->table_count, 1);
    struct table before = *table;
    pool_reopen(&pool);
    table = table_make(&pool, "t", 100, 3);
    before.handle = table->handle;
    assert_memory_equal(table, &before, sizeof before);
    audit_clean(&pool);
    pool_close(&pool);
}

static void full_pools_refuse_tables_and_stay_whole(void **state)
{
    struct pool pool;
    const struct table *table = NULL;
    uint64_t word;
    pool_open(&pool, *state, 3, 1);
    /* About 55 chunks are there; the index of the first takes 32, that of the second would take 40. */
    table_make(&pool, "a", 390000, 0);
    struct cellar_schema schema = schema_of("b", 490000, 0);
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &table, &pool.error), CELLAR_FULL,
          "table b");
    schema = schema_of("b", 1ull << 39, 0);
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &table, &pool.error), CELLAR_FULL,
          "table b");
    assert_int_equal(chunks_used(&pool, 2), 32);
    peek(&pool, fabric_addr_of(0, offsetof(struct superblock_wire, catalog_lock)), &word, 8);
    assert_int_equal(word, 0);
    for (uint32_t i = 0; i < 6; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%u", i);
        table_make(&pool, name, 10, 0);
    }
    audit_clean(&pool);
    pool_reopen(&pool);
    assert_int_equal(pool.catalog->table_count, 7);
    pool_close(&pool);
}

static void the_last_table_is_the_64th(void **state)
{
    struct pool pool;
    const struct table *table = NULL;
    pool_open(&pool, *state, 1, 0);
    for (uint32_t i = 0; i < LAYOUT_CATALOG_TABLES_MAX; i++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(table_make(&pool, name, 10, 0)->id, i + 1);
    }
    struct cellar_schema schema = schema_of("more", 10, 0);
    FAILS(&pool, catalog_table_create(NULL, pool.ep, pool.catalog, &schema, &table, &pool.error), CELLAR_FULL,
          "64 tables");
    pool_reopen(&pool);
    assert_int_equal(pool.catalog->table_count, LAYOUT_CATALOG_TABLES_MAX);
    load_range(&pool, catalog_table_find(pool.catalog, "t63"), 0, 10);
    audit_clean(&pool);
    pool_close(&pool);
}

/*
 * Random damage to catalog entries, half of it under a right checksum: an open refuses or takes it, and never breaks.
 */
static void damage_catalogs(void **state, bool typed)
{
    const uint32_t rounds = share_rounds(600);
    struct pool pool;
    struct catalog_entry_wire entry, before;
    const struct fabric_addr at = fabric_addr_of(0, sizeof(struct superblock_wire));
    uint32_t refused = 0, taken = 0;
    struct prng prng;
    prng_seed(&prng, 21);
    pool_open(&pool, *state, 2, 0);
    (void)(typed ? typed_table_make(&pool, "t") : table_make(&pool, "t", 100, 2));
    pool_leave(&pool);
    peek(&pool, at, &before, sizeof before);
    for (uint32_t i = 0; i < rounds; i++) {
        bool right = i % 2;
        entry = before;
        for (uint64_t flips = prng_between(&prng, 1, 3); flips > 0; flips--) {
            uint32_t offset = (uint32_t)prng_below(&prng, prng_below(&prng, 2) ? 1000 : 140);
            if (typed && prng_below(&prng, 2)) /* what is said of its first columns */
                offset = (uint32_t)(offsetof(struct catalog_entry_wire, columns) + prng_below(&prng, 200));
            ((uint8_t *)&entry)[offset] = (uint8_t)(prng_below(&prng, 2) ? prng_next(&prng) : 0);
        }
        if (memcmp(&entry, &before, sizeof entry) == 0) continue;
        if (right)
            entry.checksum = XXH3_64bits(entry.name, offsetof(struct catalog_entry_wire, state) -
                                                         offsetof(struct catalog_entry_wire, name));
        poke(&pool, at, &entry, sizeof entry);
        int rc = open_as(&pool, pool.shape, false, false);
        if (rc == 0) {
            const struct table *table = pool.catalog->table_count ? pool.catalog->tables[0] : NULL;
            for (uint64_t key = 0; table && key < 100; key++)
                assert_true(
                    catalog_in_heap(pool.catalog, index_bucket_addr(&table->index, prng_next(&prng)), LAYOUT_LINE));
            assert_true(right || entry.table_id == 0);
            pool_leave(&pool);
        } else {
            assert_int_equal(rc, CELLAR_CORRUPT);
            assert_non_null(strstr(pool.error.text, "catalog entry 0"));
        }
        refused += rc != 0;
        taken += rc == 0;
    }
    assert_true(refused > rounds / 6 && taken > rounds / 60);
    poke(&pool, at, &before, sizeof before);
    MUST(&pool, open_as(&pool, pool.shape, false, false));
    pool_close(&pool);
}

static void damaged_catalogs_never_break_an_open(void **state)
{
    damage_catalogs(state, false);
    damage_catalogs(state, true);
}

/* What of a table of typed columns is said otherwise than it was made, under a right checksum. */
struct forgery {
    uint32_t width, made_as, said_to_be; /* of its stored column */
    uint64_t variable;                   /* it is of variable length */
    int opens;
};

static void entry_forge(struct pool *pool, uint32_t type)
{
    struct catalog_entry_wire entry;
    const struct fabric_addr at = fabric_addr_of(0, sizeof(struct superblock_wire));
    peek(pool, at, &entry, sizeof entry);
    entry.columns[1].type = (uint16_t)type;
    entry.checksum =
        XXH3_64bits(entry.name, offsetof(struct catalog_entry_wire, state) - offsetof(struct catalog_entry_wire, name));
    poke(pool, at, &entry, sizeof entry);
}

static void forged(void **state, const struct forgery *forgery)
{
    const struct cellar_schema_column column = {"text", 0, forgery->width, CELLAR_OWN_CELL};
    const struct cellar_schema schema = {.name = "t",
                                         .row_bytes = 264,
                                         .columns = &column,
                                         .column_count = 1,
                                         .records_max = 60,
                                         .variable = forgery->variable};
    struct catalog_typing typing = {.key = {.count = 1, .parts = {{.name = "id", .type = CELLAR_UINT, .bytes = 8}}},
                                    .types = {(uint8_t)forgery->made_as},
                                    .places = {1}};
    const struct table *table = NULL;
    struct pool pool;
    pool_open(&pool, *state, 1, 0);
    assert_true(rowkey_lay_out(&typing.key));
    MUST(&pool, catalog_typed_open(NULL, pool.ep, pool.catalog, &schema, &typing, &table, &pool.error));
    pool_leave(&pool);
    entry_forge(&pool, forgery->said_to_be);
    int rc = open_as(&pool, pool.shape, false, false);
    assert_int_equal(rc, forgery->opens);
    if (rc == 0) pool_leave(&pool);
    entry_forge(&pool, forgery->made_as);
    MUST(&pool, open_as(&pool, pool.shape, false, false));
    pool_close(&pool);
}

/* A call that lends a string of a row has room for the longest short one, and reads its length before it. */
static void strings_that_do_not_fit_are_refused(void **state)
{
    static const struct forgery forgeries[] = {{2, CELLAR_FIXED, CELLAR_BYTES, 0, CELLAR_CORRUPT},
                                               {3, CELLAR_FIXED, CELLAR_BYTES, 0, 0},
                                               {258, CELLAR_FIXED, CELLAR_BYTES, 0, 0},
                                               {259, CELLAR_FIXED, CELLAR_BYTES, 0, CELLAR_CORRUPT},
                                               {56, CELLAR_BYTES, CELLAR_BYTES, 1, 0},
                                               {56, CELLAR_BYTES, CELLAR_FIXED, 1, CELLAR_CORRUPT}};
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) forged(state, &forgeries[i]);
}

/* ---- several at once ---- */

/* Each worker opens the shared pool, fresh or not, and makes the same tables and one of its own. */
static void create_body(struct contract_worker *worker)
{
    struct pool *pool = (struct pool *)worker->cluster;
    struct catalog *catalog;
    const struct table *table;
    uint64_t incarnation;
    uint32_t dirty;
    char name[16];
    CHECK(worker, catalog_open(NULL, worker->ep, &pool->shape, false, true, &catalog, NULL) == 0);
    CHECK(worker, members_join(NULL, worker->ep, catalog, worker->ep->cn, 1, false, &incarnation, &dirty, NULL) == 0);
    for (uint32_t i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "common_%u", i);
        struct cellar_schema schema = schema_of(name, 50, 0);
        CHECK(worker, catalog_table_create(NULL, worker->ep, catalog, &schema, &table, NULL) == 0);
    }
    snprintf(name, sizeof name, "own_%u", worker->index);
    struct cellar_schema schema = schema_of(name, 50, 0);
    CHECK(worker, catalog_table_create(NULL, worker->ep, catalog, &schema, &table, NULL) == 0);
    worker->results[0] = incarnation;
    CHECK(worker, members_leave(NULL, worker->ep, catalog, worker->ep->cn, 1, incarnation) == 0);
    catalog_free(catalog);
}

static void nodes_that_open_at_once_share_a_pool(void **state)
{
    struct pool pool;
    void (*bodies[WORKERS])(struct contract_worker *) = {create_body, create_body, create_body, create_body};
    uint64_t sum = 0;
    pool_fabric(&pool, *state, 2, 1);
    contract_run(&pool.cluster, bodies);
    for (uint32_t i = 0; i < WORKERS; i++) sum += pool.cluster.workers[i].results[0];
    if (!pool.cluster.workers[0].failure[0]) assert_int_equal(sum, 1 + 2 + 3 + 4);
    MUST(&pool, open_as(&pool, pool.shape, false, false));
    pool_workers_open(&pool, false);
    assert_int_equal(pool.catalog->table_count, 8 + WORKERS);
    audit_clean(&pool);
    pool_close(&pool);
}

int main(int argc, char **argv)
{
    const struct contract_entry tests[] = {
        ENTRY(fresh_pools_are_formatted_and_open_again),
        ENTRY(impossible_shapes_are_refused),
        ENTRY(lost_memory_is_not_formatted),
        ENTRY(another_shape_is_refused_with_both_numbers),
        ENTRY(foreign_superblocks_are_refused),
        ENTRY(unclean_pools_are_refused),
        ENTRY(tables_are_found_again_or_differ_by_name),
        ENTRY(full_pools_refuse_tables_and_stay_whole),
        ENTRY(the_last_table_is_the_64th),
        ENTRY(damaged_catalogs_never_break_an_open),
        ENTRY(strings_that_do_not_fit_are_refused),
        ENTRY(nodes_that_open_at_once_share_a_pool),
    };
    return contract_main("storage", tests, sizeof tests / sizeof *tests, argc, argv);
}
