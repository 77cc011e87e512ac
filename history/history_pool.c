/* history_pool.c - finds the records that a history wrote in the pool: a hash of them, and one walk over all slots. */
#include "history_pool.h"

#include "history_digest.h"

#include <stdlib.h>
#include <string.h>

struct pool_record {
    uint64_t key;
    uint32_t table_id;
    uint32_t cells; /* written by the history */
    bool presence;  /* so was its presence */
    bool found;     /* live in the pool */
};

struct pool {
    struct history *history;
    struct cellar_error *error;
    struct pool_record *records; /* in the order in which the history first wrote them */
    uint32_t count, capacity;
    uint32_t *slots; /* of the hash: index + 1; twice `capacity`, a power of two */
};

/* The slot of the hash that has the record, or where it belongs. */
static uint32_t *slot_of(const struct pool *pool, uint32_t table_id, uint64_t key)
{
    uint64_t at = ((key + ((uint64_t)table_id << 56)) * 0x9e3779b97f4a7c15ull) >> 32, mask = 2 * pool->capacity - 1;
    for (;; at++) {
        uint32_t *slot = &pool->slots[at & mask];
        if (*slot == 0) return slot;
        const struct pool_record *record = &pool->records[*slot - 1];
        if (record->key == key && record->table_id == table_id) return slot;
    }
}

/* Twice the room; the hash is made anew. */
static int grow(struct pool *pool)
{
    uint32_t capacity = pool->capacity ? 2 * pool->capacity : 1024;
    if (capacity > UINT32_MAX / 4) return -CELLAR_ERR_NOMEM;
    struct pool_record *records = realloc(pool->records, capacity * sizeof *records);
    if (!records) return -CELLAR_ERR_NOMEM;
    pool->records = records;
    uint32_t *slots = calloc(2 * (size_t)capacity, sizeof *slots);
    if (!slots) return -CELLAR_ERR_NOMEM;
    free(pool->slots);
    pool->slots = slots;
    pool->capacity = capacity;
    for (uint32_t i = 0; i < pool->count; i++) *slot_of(pool, records[i].table_id, records[i].key) = i + 1;
    return 0;
}

static int written_add(struct pool *pool, const struct history_access *access)
{
    if (pool->count == pool->capacity) {
        int rc = grow(pool);
        if (rc) return rc;
    }
    uint32_t *slot = slot_of(pool, access->table_id, access->key);
    if (*slot == 0) {
        pool->records[pool->count] = (struct pool_record){.key = access->key, .table_id = access->table_id};
        *slot = ++pool->count;
    }
    struct pool_record *record = &pool->records[*slot - 1];
    if (access->cell == HISTORY_PRESENCE)
        record->presence = true;
    else
        record->cells |= 1u << access->cell;
    return 0;
}

static int written_collect(struct pool *pool)
{
    const struct history *history = pool->history;
    int rc = grow(pool);
    for (uint64_t t = 0; rc == 0 && t < history->txn_count; t++) {
        const struct history_txn *txn = &history->txns[t];
        if (txn->outcome == HISTORY_FAILED) continue;
        for (uint32_t i = 0; rc == 0 && i < txn->count; i++) {
            const struct history_access *access = &history->accesses[txn->first + i];
            if (access->kind != HISTORY_READ && access->kind != HISTORY_ABSENT) rc = written_add(pool, access);
        }
    }
    return rc;
}

/* One slot of the pool. */
static int slot_seen(void *arg, const struct cellar_table *table, struct fabric_addr addr, const uint8_t *image)
{
    struct pool *pool = arg;
    const struct record_wire *header = (const struct record_wire *)(const void *)image;

    if (header->table_id != table->id || (header->flags & LAYOUT_RECORD_DELETED)) return 0;
    uint32_t slot = *slot_of(pool, table->id, header->key);
    if (slot == 0) return 0;
    struct pool_record *record = &pool->records[slot - 1];
    if (record->found)
        return err_set(pool->error, CELLAR_ERR_CORRUPT, "table %s: a second live record of key %llu at node %u, %#llx",
                       table->name, (unsigned long long)header->key, fabric_addr_node(addr),
                       (unsigned long long)fabric_addr_offset(addr));
    record->found = true;
    int rc = 0;
    for (uint32_t cells = record->cells & table->schema.all_cells; cells && rc == 0; cells &= cells - 1) {
        uint32_t cell = (uint32_t)__builtin_ctz(cells);
        struct history_final final = {.table_id = table->id,
                                      .cell = (uint16_t)cell,
                                      .key = header->key,
                                      .version = record_version(&table->schema, image, cell) &
                                                 (pool->history->no_epochs ? LAYOUT_TS_MAX : UINT64_MAX),
                                      .digest = history_digest_cell(&table->schema, image, cell)};
        rc = history_final_add(pool->history, &final);
    }
    return rc;
}

static int presences_add(struct pool *pool)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < pool->count; i++) {
        const struct pool_record *record = &pool->records[i];
        if (record->found && !record->presence) continue;
        struct history_final final = {
            .table_id = record->table_id, .cell = HISTORY_PRESENCE, .key = record->key, .digest = record->found};
        rc = history_final_add(pool->history, &final);
    }
    return rc;
}

static int pool_walk(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct pool *pool = arg;
    return loader_slots(co, coordinator->worker->loader, slot_seen, pool, pool->error);
}

int history_pool_read(struct cellar *db, uint32_t coordinator, struct history *history, struct cellar_error *error)
{
    struct pool pool = {.history = history, .error = error};
    struct cellar_error unused;

    if (!error) pool.error = &unused;
    int rc = written_collect(&pool);
    if (rc == 0) rc = db_run_on(db, coordinator, pool_walk, &pool);
    if (rc == 0) rc = presences_add(&pool);
    if (rc == -CELLAR_ERR_NOMEM) err_set(pool.error, CELLAR_ERR_NOMEM, "no memory for the history's final versions");
    history->has_final = rc == 0;
    free(pool.records);
    free(pool.slots);
    return rc;
}
