/*
 * bulk.c - work on whole tables: loading, scanning, auditing, measuring. In the fabric's bulk mode, for as long as it
 * takes.
 *
 * INV-BULK-1: while it goes on, no attempt of this process is under way, and attempts that would begin are made later.
 *             Loads and walks are refused with BUSY when one is. What changes the schema waits for those under way:
 *             they have entered, and wait for nothing that comes after them.
 * INV-BULK-2: a walk of a pool that other processes may change has seen a state that was there: all versions were the
 *             same before it as after it, and no foreign tag was met. Else it ends BUSY. Versions never come back,
 *             and a transaction holds all its tags from before it changes the first byte until the last one is
 *             changed: what it had changed half would show a tag, or a version that moves.
 */
#include "bulk.h"

#include "bulk_rows.h"
#include "client.h"
#include "coordinator.h"
#include "db_index.h"
#include "db_plants.h"
#include "worker.h"

static void gates_leave(struct cellar *db, unsigned kind, uint32_t entered)
{
    for (uint32_t cn = 0; cn < entered; cn++) gate_bulk_leave(&db->nodes[cn].gate, kind);
}

static int gate_have(const struct bulk *bulk, struct gate *gate, struct sched_task *task)
{
    struct sched *sched = &bulk->worker->sched;
    if (bulk->kind != GATE_ALONE) return gate_bulk_enter(gate, bulk->kind, sched);
    int rc = gate_rest(bulk->co, gate, sched, task);
    if (rc == 0) gate_rest_alone(gate);
    return rc;
}

/* Of each compute node of this process: 0, BUSY, FENCED, or, while its own one stands still, or rests, RETRY. */
static int gates_enter(const struct bulk *bulk, struct sched_task *task)
{
    struct cellar *db = bulk->worker->db;
    uint32_t cn = 0;
    int rc = 0;
    while (cn < db->config.cns && (rc = gate_have(bulk, &db->nodes[cn].gate, task)) == 0) cn++;
    if (rc == 0 && gate_bulk_waits(bulk->worker->home.gate)) rc = CELLAR_RETRY;
    if (rc) gates_leave(db, bulk->kind, cn);
    return rc;
}

static int not_begun(int rc, const struct bulk *bulk, struct cellar_error *error)
{
    if (rc == CELLAR_FENCED) return err_set(error, rc, "%s", cellar_strerror(rc));
    if (bulk->kind == GATE_ALONE)
        return err_set(error, CELLAR_BUSY, "whole tables are being read or loaded by this process");
    return err_set(
        error, CELLAR_BUSY,
        "transactions, or loads, of this process are under way: whole tables are read and loaded when none is");
}

static bool watched(const struct bulk *bulk)
{
    return bulk->worker->db->opening.shared && bulk->kind == GATE_WALK && !PLANT(walk_unwatched);
}

static int sum(const struct bulk *bulk, struct loader_sum *out, struct cellar_error *error)
{
    const struct engine_config *config = &bulk->worker->db->config;
    *out = (struct loader_sum){.own_first = config->cn_index, .own_count = config->cns};
    return loader_sum(bulk->co, bulk->worker->loader, bulk->table ? bulk->table->table : NULL, out, error);
}

/* A table that is dropped goes while no whole-table work is under way: once begun, it stays. */
static int begun_check(const struct bulk *bulk, struct cellar_error *error)
{
    return bulk->table ? catalog_table_check(bulk->worker->db->catalog, bulk->table, error) : 0;
}

/* It changes what no log will have: before anything is durable again there has to be a checkpoint (INV-DURABLE-18). */
static bool unlogged(const struct bulk *bulk) { return bulk->worker->home.epochs && bulk->kind != GATE_WALK; }

int bulk_begin(struct bulk *bulk, struct cellar_lab_client *client, struct cellar_error *error)
{
    struct coordinator *coordinator = client->coordinator;
    struct worker *worker = coordinator->worker;
    uint64_t pause_ns = GATE_POLL_NS;
    int rc;

    bulk->co = client->co;
    bulk->worker = worker;
    while ((rc = gates_enter(bulk, &coordinator->task)) == CELLAR_RETRY) {
        sched_sleep(client->co, &worker->sched, &coordinator->task, pause_ns);
        if (pause_ns < GATE_POLL_MAX_NS) pause_ns *= 2;
    }
    if (rc) return not_begun(rc, bulk, error);
    worker->ep->bulk = true;
    rc = begun_check(bulk, error);
    if (rc == 0 && watched(bulk)) rc = sum(bulk, &bulk->before, error);
    if (rc == 0 && unlogged(bulk)) atomic_fetch_add(&worker->home.epochs->loads, 1);
    if (rc == 0) return 0;
    worker->ep->bulk = false;
    gates_leave(worker->db, bulk->kind, worker->db->config.cns);
    return rc;
}

int bulk_end(struct bulk *bulk, int rc, struct cellar_error *error)
{
    struct worker *worker = bulk->worker;
    struct cellar_error torn = {0};
    if (watched(bulk)) {
        struct loader_sum after;
        int summed = sum(bulk, &after, &torn);
        if (summed == 0 && !loader_sum_same(&bulk->before, &after))
            summed = err_set(&torn, CELLAR_BUSY, "another process has changed the pool under this walk");
        if (summed && error) *error = torn;
        if (summed) rc = summed;
    }
    worker->ep->bulk = false;
    if (unlogged(bulk)) atomic_fetch_add(&worker->home.epochs->loads_over, 1);
    gates_leave(worker->db, bulk->kind, worker->db->config.cns);
    return rc;
}

/* The table of a handle, which may be any; NULL, and the code in *rc. It may yet be dropped before the work begins. */
static const struct table *table_of(const struct cellar_lab_client *client, const struct cellar_table *handle, int *rc,
                                    struct cellar_error *error)
{
    *rc = catalog_table_check(client->coordinator->worker->db->catalog, handle, error);
    return *rc ? NULL : handle->table;
}

/* A record by its number, or (`shown`) a row as the handle shows it. */
static int load(struct cellar_lab_client *client, const struct cellar_table *handle, bool shown, uint64_t key,
                const void *row, struct cellar_error *error)
{
    struct bulk bulk = {.kind = GATE_LOAD, .table = handle};
    int rc;
    const struct table *table = table_of(client, handle, &rc, error);
    if (!table) return rc;
    if (table->key_bytes && !shown)
        return err_set(error, CELLAR_UNSUPPORTED, "table %s has byte strings for keys: add its records in transactions",
                       table->name);
    if (table->guarded_cells & CATALOG_GUARD_NARROW && !shown)
        return err_set(error, CELLAR_UNSUPPORTED, "table %s has typed columns: not each number is a key", table->name);
    if (table->variable)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "table %s has columns of variable length: insert its records in transactions", table->name);
    if (table->ordered_count)
        return err_set(error, CELLAR_UNSUPPORTED,
                       "table %s has an ordered index: load it before that is created, or insert in transactions",
                       table->name);
    rc = bulk_begin(&bulk, client, error);
    if (rc) return rc;
    if (shown) rc = bulk_rows_take(bulk.worker, handle, row, &key, &row, error);
    if (rc == 0) rc = loader_load(bulk.co, bulk.worker->loader, table, key, row, error);
    return bulk_end(&bulk, rc, error);
}

int db_load(struct cellar_lab_client *client, const struct cellar_table *handle, uint64_t key, const void *row,
            struct cellar_error *error)
{
    return load(client, handle, false, key, row, error);
}

int db_load_row(struct cellar_lab_client *client, const struct cellar_table *handle, const void *row,
                struct cellar_error *error)
{
    return load(client, handle, true, 0, row, error);
}

static int scan(struct cellar_lab_client *client, const struct cellar_table *handle, bool shown, cellar_lab_row_fn fn,
                void *arg, struct cellar_error *error)
{
    struct bulk bulk = {.kind = GATE_WALK, .table = handle};
    int rc;
    const struct table *table = table_of(client, handle, &rc, error);
    if (!table) return rc;
    rc = bulk_begin(&bulk, client, error);
    if (rc) return rc;
    rc = shown ? bulk_rows_scan(&bulk, handle, fn, arg, error)
               : loader_scan(bulk.co, bulk.worker->loader, table, fn, arg, error);
    return bulk_end(&bulk, rc, error);
}

int db_scan(struct cellar_lab_client *client, const struct cellar_table *handle, cellar_lab_row_fn fn, void *arg,
            struct cellar_error *error)
{
    return scan(client, handle, false, fn, arg, error);
}

int db_scan_rows(struct cellar_lab_client *client, const struct cellar_table *handle, cellar_lab_row_fn fn, void *arg,
                 struct cellar_error *error)
{
    return scan(client, handle, true, fn, arg, error);
}

int db_audit(struct cellar_lab_client *client, struct cellar_error *error)
{
    struct bulk bulk = {.kind = GATE_WALK};
    int rc = bulk_begin(&bulk, client, error);
    if (rc) return rc;
    rc = loader_audit(bulk.co, bulk.worker->loader, error);
    return bulk_end(&bulk, rc ? rc : db_index_audit(bulk.co, bulk.worker, error), error);
}

int db_space_read(struct cellar_lab_client *client, const struct cellar_table *handle, struct cellar_lab_space *space,
                  struct cellar_error *error)
{
    int rc;
    const struct table *table = table_of(client, handle, &rc, error);
    if (!table) return rc;
    struct bulk bulk = {.kind = GATE_WALK, .table = table->variable ? NULL : handle}; /* its companions, too */
    rc = bulk_begin(&bulk, client, error);
    if (rc) return rc;
    return bulk_end(&bulk, loader_space(bulk.co, bulk.worker->loader, table, space, error), error);
}
