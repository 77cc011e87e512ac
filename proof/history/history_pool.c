/*
 * history_pool.c - finds the records that a history touched in the pool: a hash of them, and one walk over all slots;
 * or all that has changed.
 */
#include "history_pool.h"

#include "coordinator.h"
#include "history_digest.h"
#include "history_touched.h"
#include "loader.h"

struct pool {
    struct history *history;
    const struct history_pool_since *since;
    struct cellar_error *error;
    struct history_touched touched;
};

static int cells_add(const struct pool *pool, const struct table *table, const uint8_t *image, uint32_t cells)
{
    const struct record_wire *header = (const struct record_wire *)(const void *)image;
    int rc = 0;

    for (cells &= table->schema.all_cells; cells && rc == 0; cells &= cells - 1) {
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

/* The cells that are not as they were, if that is asked. */
static uint32_t changed(const struct pool *pool, const struct table *table, const uint8_t *image, bool *new)
{
    *new = false;
    if (!pool->since || table == pool->since->left_out) return 0;
    return history_snapshot_changed(pool->since->snapshot, table, image, new);
}

/* One slot of the pool. */
static int slot_seen(void *arg, const struct table *table, struct fabric_addr addr, const uint8_t *image)
{
    struct pool *pool = arg;
    const struct record_wire *header = (const struct record_wire *)(const void *)image;

    if (header->table_id != table->id || (header->flags & LAYOUT_RECORD_DELETED)) return 0;
    struct history_touched_record *record = history_touched_find(&pool->touched, table->id, header->key);
    bool new;
    uint32_t cells = changed(pool, table, image, &new);
    if (!record) {
        const struct history_final there = {
            .table_id = table->id, .cell = HISTORY_PRESENCE, .key = header->key, .digest = 1};
        int rc = new ? history_final_add(pool->history, &there) : 0;
        return rc ? rc : cells_add(pool, table, image, cells);
    }
    if (record->found)
        return err_set(pool->error, CELLAR_CORRUPT, "table %s: a second live record of key %llu at node %u, %#llx",
                       table->name, (unsigned long long)header->key, fabric_addr_node(addr),
                       (unsigned long long)fabric_addr_offset(addr));
    record->found = true;
    record->presence = record->presence || new;
    return cells_add(pool, table, image, record->cells | cells);
}

static int presences_add(struct pool *pool)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < pool->touched.count; i++) {
        const struct history_touched_record *record = &pool->touched.records[i];
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

int history_pool_read(struct cellar *db, uint32_t coordinator, struct history *history,
                      const struct history_pool_since *since, struct cellar_error *error)
{
    struct pool pool = {.history = history, .since = since, .error = error};
    struct cellar_error unused;

    if (!error) pool.error = &unused;
    int rc = history_touched_collect(&pool.touched, history);
    if (rc == 0) rc = db_run_on(db, coordinator, pool_walk, &pool);
    if (rc == 0) rc = presences_add(&pool);
    if (rc == 0 && since) rc = history_snapshot_gone(since->snapshot, &pool.touched, since->left_out, history);
    if (rc == CELLAR_NOMEM) err_set(pool.error, CELLAR_NOMEM, "no memory for the history's final versions");
    history->has_final = rc == 0;
    history->final_all = rc == 0 && since;
    history_touched_free(&pool.touched);
    return rc;
}
