/*
 * contract_pool.h - a pool on any fabric, a table in it, rows that tell their keys, and remote bytes to peek and poke.
 * Storage at rest works in bulk mode, so most of it runs outside any worker.
 */
#pragma once

#include "contract_backends.h"
#include "schemadef.h"
#include "loader.h"
#include "members.h"
#include "prng.h"
#include "record.h"

#define NODE_BYTES (8u << 20)
#define WORKERS 4

/* ---- a pool ---- */

struct pool {
    struct contract_cluster cluster;
    struct catalog_shape shape;
    struct catalog *catalog;
    uint32_t member; /* as which compute node it joins */
    uint64_t incarnation;
    struct space *space;
    struct loader *loader;
    struct fabric_ep *ep; /* in bulk mode */
    uint8_t *local;       /* registered */
    struct cellar_error error;
};

static inline void fail_pool(const struct pool *pool, const char *what, int rc)
{
    fail_msg("%s: %d: %s", what, rc, pool->error.text);
}

#define MUST(pool, call)                                                                                               \
    do {                                                                                                               \
        int must_rc = (call);                                                                                          \
        if (must_rc != 0) fail_pool(pool, #call, must_rc);                                                             \
    } while (0)

/* The call fails with that code, and its message holds the text. */
#define FAILS(pool, call, code, word)                                                                                  \
    do {                                                                                                               \
        (pool)->error = (struct cellar_error){0};                                                                      \
        int fails_rc = (call);                                                                                         \
        if (fails_rc != (code) || !strstr((pool)->error.text, word))                                                   \
            fail_msg("%s: %d (%s), not %d with \"%s\"", #call, fails_rc, (pool)->error.text, (code), word);            \
    } while (0)

static inline int open_as(struct pool *pool, struct catalog_shape shape, bool fresh, bool shared)
{
    uint32_t dirty;
    int rc = catalog_open(NULL, pool->ep, &shape, fresh, shared, &pool->catalog, &pool->error);
    if (rc) return rc;
    rc =
        members_join(NULL, pool->ep, pool->catalog, pool->member, 1, !shared, &pool->incarnation, &dirty, &pool->error);
    if (rc == 0) return 0;
    catalog_free(pool->catalog);
    pool->catalog = NULL;
    return rc;
}

static inline void pool_workers_open(struct pool *pool, bool fresh)
{
    MUST(pool,
         space_open(NULL, pool->ep, pool->catalog, 0,
                    &(struct space_find){.parts = 1, .nothing = fresh, .alone = true, .count = LAYOUT_MEMBERS_MAX},
                    &pool->space, &pool->error));
    MUST(pool, loader_open(pool->ep, pool->catalog, pool->space, 0, &pool->loader));
}

/* A fabric of that shape, and nothing on it. */
static inline void pool_fabric(struct pool *pool, const struct contract_backend *backend, uint32_t mns,
                               uint32_t replicas)
{
    memset(pool, 0, sizeof *pool);
    pool->shape =
        (struct catalog_shape){.mn_count = mns, .replicas = replicas, .cn_count = WORKERS, .mn_bytes = NODE_BYTES};
    contract_open(&pool->cluster, backend, (struct contract_shape){mns, WORKERS, NODE_BYTES}, WORKERS);
    for (uint32_t i = 0; i < WORKERS; i++) pool->cluster.workers[i].ep->bulk = true;
    pool->ep = pool->cluster.workers[0].ep;
    pool->local = pool->cluster.workers[0].local;
}

/* A fresh pool, opened. */
static inline void pool_open(struct pool *pool, const struct contract_backend *backend, uint32_t mns, uint32_t replicas)
{
    pool_fabric(pool, backend, mns, replicas);
    MUST(pool, open_as(pool, pool->shape, true, false));
    pool_workers_open(pool, true);
}

static inline void pool_leave(struct pool *pool)
{
    loader_free(pool->loader);
    space_free(pool->space);
    if (pool->catalog) MUST(pool, members_leave(NULL, pool->ep, pool->catalog, pool->member, 1, pool->incarnation));
    catalog_free(pool->catalog);
    pool->loader = NULL;
    pool->space = NULL;
    pool->catalog = NULL;
}

static inline void pool_reopen(struct pool *pool)
{
    pool_leave(pool);
    MUST(pool, open_as(pool, pool->shape, false, false));
    pool_workers_open(pool, false);
}

static inline void pool_close(struct pool *pool)
{
    pool_leave(pool);
    contract_close(&pool->cluster);
}

/* Remote memory, for planting damage. */
static inline void peek(struct pool *pool, struct fabric_addr addr, void *bytes, uint32_t size)
{
    assert_int_equal(contract_one(&pool->cluster.workers[0], fabric_op_read(addr, pool->local, size)), 0);
    memcpy(bytes, pool->local, size);
}

static inline void poke(struct pool *pool, struct fabric_addr addr, const void *bytes, uint32_t size)
{
    memcpy(pool->local, bytes, size);
    assert_int_equal(contract_one(&pool->cluster.workers[0], fabric_op_write(addr, pool->local, size)), 0);
}

/* A word that only atomics touch. */
static inline void poke_word(struct pool *pool, struct fabric_addr addr, uint64_t word)
{
    uint64_t old;
    assert_int_equal(contract_one(&pool->cluster.workers[0], fabric_op_masked_cas(addr, &old, 0, 0, word, UINT64_MAX)),
                     0);
}

static inline uint64_t chunks_used(struct pool *pool, uint32_t node)
{
    uint64_t used = 0;
    MUST(pool, catalog_chunks_used(NULL, pool->ep, pool->catalog, node, (uint64_t *)(void *)pool->local, &used));
    return used;
}

/* ---- a table ---- */

struct row {
    uint64_t number;
    char text[150]; /* a large cell */
    uint32_t small;
    uint64_t more[3];
};

static const struct cellar_schema_column columns[] = {
    CELLAR_COLUMN(struct row, number),
    CELLAR_COLUMN(struct row, text),
    CELLAR_COLUMN(struct row, small),
    CELLAR_COLUMN(struct row, more),
};

static inline struct cellar_schema schema_of(const char *name, uint64_t records_max, uint32_t cluster_bits)
{
    return (struct cellar_schema){name, sizeof(struct row), columns, 4, records_max, cluster_bits, 0, 0, 0, 0};
}

static inline const struct table *table_make(struct pool *pool, const char *name, uint64_t records_max,
                                             uint32_t cluster_bits)
{
    const struct table *table = NULL;
    struct cellar_schema schema = schema_of(name, records_max, cluster_bits);
    MUST(pool, catalog_table_create(NULL, pool->ep, pool->catalog, &schema, &table, &pool->error));
    assert_string_equal(table->name, name);
    return table;
}

/* A table of typed columns, whose key has 4 bytes. */
static inline const struct table *typed_table_make(struct pool *pool, const char *name)
{
    const struct cellar_schema schema = schema_of(name, 60, 0);
    struct catalog_typing typing = {.key = {.count = 1, .parts = {{.name = "id", .type = CELLAR_UINT, .bytes = 4}}},
                                    .places = {1, 2, 3, 4}};
    const struct table *table = NULL;
    assert_true(rowkey_lay_out(&typing.key));
    for (uint32_t i = 0; i < schema.column_count; i++) typing.types[i] = CELLAR_FIXED;
    MUST(pool, catalog_typed_open(NULL, pool->ep, pool->catalog, &schema, &typing, &table, &pool->error));
    return table;
}

/* A row that tells its key in all columns. */
static inline struct row row_of(uint64_t key)
{
    struct row row;
    memset(&row, 0, sizeof row);
    row.number = key * 3;
    memset(row.text, (int)(key % 251), sizeof row.text);
    row.small = (uint32_t)key;
    for (int i = 0; i < 3; i++) row.more[i] = key + (uint64_t)i;
    return row;
}

static inline int load(struct pool *pool, const struct table *table, uint64_t key)
{
    struct row row = row_of(key);
    return loader_load(NULL, pool->loader, table, key, &row, &pool->error);
}

static inline void load_range(struct pool *pool, const struct table *table, uint64_t first, uint64_t count)
{
    for (uint64_t key = first; key < first + count; key++) MUST(pool, load(pool, table, key));
}

struct seen {
    uint64_t count, first, keys_max;
    uint8_t *keys;
};

static inline int see(void *arg, uint64_t key, const void *row)
{
    struct seen *seen = arg;
    struct row expected = row_of(key);
    if (key < seen->first || key >= seen->first + seen->keys_max || seen->keys[key - seen->first]++) return -1000;
    if (memcmp(row, &expected, sizeof expected) != 0) return -1001;
    seen->count++;
    return 0;
}

/* The table holds exactly the keys [first, first + count), each with its row. */
static inline void check_range(struct pool *pool, const struct table *table, uint64_t first, uint64_t count)
{
    struct seen seen = {.first = first, .keys_max = count, .keys = calloc(count + 1, 1)};
    MUST(pool, loader_scan(NULL, pool->loader, table, see, &seen, &pool->error));
    assert_int_equal(seen.count, count);
    free(seen.keys);
}

static inline void audit_clean(struct pool *pool) { MUST(pool, loader_audit(NULL, pool->loader, &pool->error)); }

/* What the engine does when it deletes a record: flags and lock word say so, its entry is gone. */
static inline void delete_record(struct pool *pool, const struct table *table, uint64_t key, struct fabric_addr *addr)
{
    struct bucket_wire bucket;
    struct fabric_addr head = index_bucket_addr(&table->index, key);
    uint32_t at = 0, flags = LAYOUT_RECORD_DELETED;
    uint64_t offset = 0;
    peek(pool, head, &bucket, sizeof bucket);
    assert_true(index_find(&bucket, index_fingerprint(key), &at, &offset));
    assert_true(index_remove(&bucket, index_fingerprint(key), offset));
    *addr = fabric_addr_of(fabric_addr_node(head), offset);
    for (uint32_t i = 0; i <= pool->shape.replicas; i++) {
        poke(pool, catalog_replica(pool->catalog, fabric_addr_plus(head, 16), i), bucket.entries,
             sizeof bucket.entries);
        poke(pool, catalog_replica(pool->catalog, fabric_addr_plus(*addr, offsetof(struct record_wire, flags)), i),
             &flags, 4);
    }
    poke_word(pool, *addr, LOCKWORD_DELETED);
}

static inline int stop_at_3(void *arg, uint64_t key, const void *row)
{
    (void)key, (void)row;
    return ++*(int *)arg == 3 ? CELLAR_CANCELLED : 0;
}

#define ENTRY(name)                                                                                                    \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
