/*
 * db_drop.c - tables and indexes of an open database that go, and tables that are emptied (cellar.h): with the pool to
 * itself, at rest. Deciding, and giving space back, is reclaim.h; here is what a process knows of a table besides.
 */
#include "db_drop.h"

#include "bulk.h"
#include "client.h"
#include "coordinator.h"
#include "db_company.h"
#include "db_index.h"
#include "db_plants.h"
#include "reclaim.h"
#include "session.h"
#include "worker.h"

/* ---- what this process knows ---- */

typedef int (*worker_fn)(struct coro *co, struct worker *worker, struct db_drop *drop);

/* Of all its workers, those of sessions included, while nothing else runs. */
static int workers_each(struct coro *co, struct db_drop *drop, worker_fn fn)
{
    struct cellar *db = drop->db;
    int rc = 0;
    for (uint32_t i = 0; i < db->worker_count && rc == 0; i++) rc = fn(co, &db->workers[i], drop);
    for (uint32_t i = 0; i < db->config.sessions && rc == 0; i++)
        if (db->sessions[i] && db->sessions[i]->ready) rc = fn(co, db->sessions[i]->worker, drop);
    return rc;
}

/* INV-RECLAIM-4: all attempts have ended, so all that is in the logs has had its effect. */
static int logs_settle(struct coro *co, struct worker *worker, struct db_drop *drop)
{
    int rc = 0;
    for (uint32_t i = 0; i < worker->coordinator_count && rc == 0; i++) {
        const struct logseg *log = &worker->coordinators[i].txn->log;
        if (log->sequence == 0 || PLANT(drop_log_kept)) continue;
        rc = reclaim_log_settle(co, worker->ep, drop->db->catalog, log->addr, log->incarnation, log->sequence);
    }
    return rc ? err_set(drop->error, rc, "writing to a log: %s", cellar_strerror(rc)) : 0;
}

/* Places of records that go, and space of theirs. */
static int worker_forget(struct coro *co, struct worker *worker, struct db_drop *drop)
{
    const struct catalog *catalog = drop->db->catalog;
    (void)co;
    for (uint32_t id = 1; id <= LAYOUT_CATALOG_TABLES_MAX; id++) {
        const struct table *table = catalog->tables[id - 1];
        const struct table *base = table ? catalog_base(catalog, table) : NULL;
        if (!base || base->emptying) space_forget(worker->home.space, id);
        if (!base) tabletally_clear(worker->home.tallies, id);
    }
    addrcache_clear(worker->home.addrs);
    return 0;
}

static void table_bury(struct cellar *db, struct table *table)
{
    while (table->ordered_count) {
        const struct cellar_index *index = table->ordered[0];
        db_index_bury(db, index);
        catalog_bury(db->catalog, (struct table *)index->nodes);
    }
    for (uint32_t size = 0; size < EXTENT_SIZES && table->variable; size++)
        catalog_bury(db->catalog, (struct table *)table->extents[size]);
    catalog_bury(db->catalog, table);
}

/* ---- deciding ---- */

static int asked_check(struct coro *co, struct worker *worker, struct db_drop *drop)
{
    struct cellar_error unused;
    int rc = db_alone_check(co, worker, drop->error);
    if (rc == 0) return 0;
    (void)!db_state_decide(co, worker, drop->table->id, LAYOUT_TABLE_ASKED, LAYOUT_TABLE_WHOLE, &unused);
    return rc;
}

/* INV-RECLAIM-2. */
static int decide(struct coro *co, struct worker *worker, struct db_drop *drop)
{
    uint32_t id = drop->table->id;
    int rc = db_state_decide(co, worker, id, LAYOUT_TABLE_WHOLE, LAYOUT_TABLE_ASKED, drop->error);
    if (rc == 0) rc = asked_check(co, worker, drop);
    return rc ? rc : db_state_decide(co, worker, id, LAYOUT_TABLE_ASKED, drop->to, drop->error);
}

/* ---- to the end ---- */

/* Tables whose records are all given back have their indexes anew, and are there again. */
static int emptied_end(struct coro *co, struct worker *worker, struct loader *loader, struct cellar_error *error)
{
    struct catalog *catalog = worker->db->catalog;
    int rc = 0;
    catalog_each(catalog, nodes) if (rc == 0 && nodes->orders.of && catalog->tables[nodes->orders.of - 1]->emptying)
        rc = db_index_rebuild(co, loader, catalog, nodes, error);
    catalog_each(catalog, table)
    {
        if (!table->emptying || rc) continue;
        rc = db_state_decide(co, worker, table->id, LAYOUT_TABLE_EMPTYING, LAYOUT_TABLE_WHOLE, error);
        table->emptying = rc != 0;
    }
    return rc;
}

static void space_kept(struct cellar *db, const struct cellar_error *why)
{
    node_log(&db->opening, CELLAR_LOG_WARNING, "space could not be given back: %s", why->text);
}

static int sweep(struct coro *co, struct worker *worker, struct db_drop *drop, struct cellar_error *error)
{
    int rc = workers_each(co, drop, worker_forget);
    if (rc == 0) rc = db_company_sweep(co, worker, error);
    return rc ? rc : emptied_end(co, worker, worker->loader, error);
}

/* INV-RECLAIM-9: it is done, but for what a table that is emptied has to have before it is there again. */
static int decided(struct coro *co, struct worker *worker, struct db_drop *drop, struct table *table)
{
    struct cellar *db = drop->db;
    struct cellar_error why = {0};
    if (drop->index) db_index_bury(db, drop->index);
    table->emptying = drop->to == LAYOUT_TABLE_EMPTYING;
    if (drop->twin) drop->twin->unborn = false;
    if (!table->emptying) table_bury(db, table);
    if (table->emptying) atomic_fetch_add(&db->catalog->changes, 1);
    int rc = drop->twin ? db_replaced_settle(co, worker, table->id, drop->error) : 0;
    if (rc) return rc;
    rc = sweep(co, worker, drop, &why);
    if (rc) space_kept(db, &why);
    if (rc == 0 || !table->emptying) return 0;
    const char *name = table->name;
    table_bury(db, table); /* half of it may be there */
    return err_set(drop->error, CELLAR_INDETERMINATE,
                   "table %s is being emptied; the next opening of the pool goes on: %s", name, why.text);
}

/* With process and pool to itself. */
static int drop_alone(struct coro *co, struct worker *worker, struct db_drop *drop)
{
    struct table *table = drop->db->catalog->tables[drop->table->id - 1];
    worker->ep->bulk = false;
    int rc = workers_each(co, drop, logs_settle);
    if (rc == 0 && drop->build) rc = drop->build(co, worker, drop);
    if (rc == 0) rc = decide(co, worker, drop);
    if (rc && drop->twin) (void)!db_table_undo(co, worker, drop->twin, NULL); /* what made it fail is what is told */
    return rc ? rc : decided(co, worker, drop, table);
}

static int drop_fn(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct db_drop *drop = arg;
    struct worker *worker = coordinator->worker;
    struct bulk bulk = {.kind = GATE_ALONE, .table = drop->handle};
    int rc = catalog_table_check(drop->db->catalog, drop->handle, drop->error);
    if (rc) return rc;
    drop->table = drop->handle->table;
    rc = drop->db->nodes[0].halt.now.away >= 0
             ? err_set(drop->error, CELLAR_UNREACHABLE, "memory node %d is away: replace it first",
                       drop->db->nodes[0].halt.now.away)
             : bulk_begin(&bulk, coordinator->client, drop->error);
    if (rc) return rc;
    if (atomic_load(&worker->home.gate->failed))
        rc = err_set(drop->error, CELLAR_FENCED, "%s", cellar_strerror(CELLAR_FENCED));
    if (rc == 0) rc = db_alone_check(co, worker, drop->error);
    if (rc == 0) rc = drop_alone(co, worker, drop);
    return bulk_end(&bulk, rc, drop->error);
}

int db_drop_run(struct db_drop *drop)
{
    struct cellar_lab_client *client = drop->client;
    return client ? drop_fn(client->co, client->coordinator, drop)
                  : db_call_on(drop->db, 0, drop_fn, drop, drop->error);
}

int db_table_drop(struct cellar *db, const struct cellar_table *handle, struct cellar_error *error)
{
    return db_drop_run(&(struct db_drop){.db = db, .handle = handle, .to = LAYOUT_TABLE_GONE, .error = error});
}

int db_table_truncate(struct cellar *db, const struct cellar_table *handle, struct cellar_error *error)
{
    return db_drop_run(&(struct db_drop){.db = db, .handle = handle, .to = LAYOUT_TABLE_EMPTYING, .error = error});
}

static int index_drop(struct cellar *db, struct cellar_lab_client *client, const struct cellar_index *index,
                      struct cellar_error *error)
{
    return db_drop_run(&(struct db_drop){.db = db,
                                         .client = client,
                                         .handle = catalog_handle(index->nodes),
                                         .index = index,
                                         .to = LAYOUT_TABLE_GONE,
                                         .error = error});
}

int db_index_drop(struct cellar *db, const struct cellar_index *index, struct cellar_error *error)
{
    if (!index) return err_set(error, CELLAR_INVALID, "the index is NULL");
    return index_drop(db, NULL, index, error);
}

int db_index_drop_inside(struct cellar_lab_client *client, const struct cellar_index *index, struct cellar_error *error)
{
    return index_drop(client->coordinator->worker->db, client, index, error);
}

int db_table_undo(struct coro *co, struct worker *worker, const struct table *table, struct cellar_error *error)
{
    struct db_drop drop = {.db = worker->db, .table = table};
    if (atomic_load(&worker->home.gate->failed)) return CELLAR_FENCED; /* it does not know what it would undo */
    worker->ep->bulk = false;
    int rc = db_state_decide(co, worker, table->id, LAYOUT_TABLE_BUILDING, LAYOUT_TABLE_GONE, error);
    table_bury(worker->db, worker->db->catalog->tables[table->id - 1]);
    if (rc == 0) rc = db_alone_check(co, worker, error);
    return rc ? rc : sweep(co, worker, &drop, error);
}

/* ---- at open ---- */

/* No worker has a loader yet. What this one takes for trees it will find again with its other space. */
static int trees_rebuild(struct coro *co, struct worker *worker, struct cellar_error *error)
{
    struct space *space;
    struct loader *loader = NULL;
    const struct space_find nothing = {.nothing = true};
    int rc = space_open(co, worker->ep, worker->db->catalog, worker->cn, &nothing, &space, error);
    if (rc) return rc;
    rc = loader_open(worker->ep, worker->db->catalog, space, worker->cn, &loader);
    rc = rc ? err_set(error, rc, "no memory to build an index anew") : emptied_end(co, worker, loader, error);
    loader_free(loader);
    space_free(space);
    return rc;
}

int db_drops_settle(struct coro *co, struct coordinator *coordinator, struct cellar_error *error)
{
    struct worker *worker = coordinator->worker;
    struct catalog *catalog = worker->db->catalog;
    struct cellar_error others;
    if (worker->db->fabric->fresh && !worker->db->opening.shared) return 0;
    int rc = reclaim_joined(co, worker->ep, catalog, error);
    if (rc || !reclaim_is_due(catalog) || worker->db->nodes[0].halt.now.away >= 0) return rc;
    if (db_alone_check(co, worker, &others)) return 0; /* the next one that is alone will */
    rc = db_company_sweep(co, worker, &others);
    if (rc == 0) rc = trees_rebuild(co, worker, &others);
    /* What is left stays hidden, and waits for the next one. */
    if (rc) space_kept(worker->db, &others);
    return 0;
}
