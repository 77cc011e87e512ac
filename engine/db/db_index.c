/*
 * db_index.c - ordered indexes of an open database (cellar.h): their definitions, and building one from the records
 * that are there.
 *
 * An index is the table of its nodes, whose catalog entry says what it orders. The entry is made first, as BUILDING,
 * and is WHOLE by one word when the nodes are: a build that does not finish leaves what the next process that is alone
 * with the pool gives back (reclaim.h).
 */
#include "db_index.h"

#include "numbered.h"
#include "bulk.h"
#include "client.h"
#include "coordinator.h"
#include "db_company.h"
#include "db_drop.h"
#include "db_order.h"
#include "handle.h"
#include "reclaim.h"
#include "tree.h"
#include "tree_build.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- definitions ---- */

struct index_create {
    struct cellar *db;
    const struct cellar_table *handle;
    const struct table *table; /* once it is known to be one */
    const char *name;
    const struct cellar_schema_index *schema; /* one of the two */
    const struct cellar_index_def *def;
    struct catalog_index orders;
    const struct cellar_index **out;
    struct cellar_error *error;
};

#define REFUSED(create, code, format, ...)                                                                             \
    err_set((create)->error, code, "index %s of table %s: " format, (create)->name, (create)->table->name, __VA_ARGS__)

/* ---- in use ---- */

bool db_index_prepare(struct worker *worker)
{
    if (!worker->home.hints) worker->home.hints = tree_hints_new();
    bool all = worker->home.hints;
    for (uint32_t k = 0; k < worker->coordinator_count && all; k++)
        all = !worker->coordinators[k].txn->home || tree_open(worker->coordinators[k].txn) == 0;
    return all;
}

/* At rest; a session's coordinators see to themselves, at their next attempt (INV-TREE-12). */
static int db_prepare(struct cellar *db, struct cellar_error *error)
{
    bool all = true;
    for (uint32_t i = 0; i < db->worker_count && all; i++) all = db_index_prepare(&db->workers[i]);
    uint64_t bytes = tree_work_log_bytes(db->catalog, mode_of(db->config.cc)->undo);
    db->tree_proc = (struct cellar_proc){.def = {.name = "(index)",
                                                 .fn = tree_work,
                                                 .records_max = CELLAR_TXN_RECORDS_MAX,
                                                 .writes_max = CELLAR_TXN_RECORDS_MAX},
                                         .log_bytes = (uint32_t)bytes};
    if (bytes > db->config.log_bytes / 2)
        return err_set(error, CELLAR_TOO_LARGE,
                       "splitting a node of an ordered index takes %llu bytes of log, half a segment is %llu; raise "
                       "log_bytes",
                       (unsigned long long)bytes, (unsigned long long)db->config.log_bytes / 2);
    return all ? 0 : err_set(error, CELLAR_NOMEM, "no memory for ordered indexes");
}

/* Procedures that were registered before write more log from now on. */
static int procs_measure(struct cellar *db, const struct table *table, const struct cellar_index *index,
                         struct cellar_error *error)
{
    struct table *base = db->catalog->tables[table->id - 1];
    bool undo = mode_of(db->config.cc)->undo;
    atomic_store(&base->ordered[base->ordered_count], index);
    base->ordered_count++;
    for (struct cellar_proc *proc = db->procs; proc; proc = proc->next) {
        uint64_t bytes = proc->own_bytes + tree_log_bytes(db->catalog, proc->def.writes_max, undo);
        if (bytes <= db->config.log_bytes / 2) continue;
        base->ordered_count--;
        return err_set(error, CELLAR_TOO_LARGE,
                       "index %s of table %s: procedure %s would write up to %llu bytes of log, half a segment is "
                       "%llu; raise log_bytes",
                       index->name, table->name, proc->name, (unsigned long long)bytes,
                       (unsigned long long)db->config.log_bytes / 2);
    }
    for (struct cellar_proc *proc = db->procs; proc; proc = proc->next)
        proc->log_bytes = proc->own_bytes + (uint32_t)tree_log_bytes(db->catalog, proc->def.writes_max, undo);
    base->ordered_cells |= index->cells;
    return 0;
}

/* The name behind the table's own in that of the nodes' table. */
static const char *name_of(const struct table *base, const struct table *nodes)
{
    size_t bytes = strlen(base->name);
    return strncmp(nodes->name, base->name, bytes) == 0 && nodes->name[bytes] == '/' ? nodes->name + bytes + 1 : NULL;
}

static int index_attach(struct cellar *db, const struct table *nodes, struct cellar_error *error)
{
    uint32_t of = nodes->orders.of;
    const struct table *base = of <= LAYOUT_CATALOG_TABLES_MAX ? db->catalog->tables[of - 1] : NULL;
    const char *name = base ? name_of(base, nodes) : NULL;
    struct cellar_index *index = handle_new(sizeof *index);
    if (!index) return err_set(error, CELLAR_NOMEM, "no memory for an ordered index");
    bool sane =
        name && base->ordered_count < CELLAR_INDEXES_MAX && db_order_decode(base, &nodes->orders, index, NULL) &&
        nodes->schema.column_count == 1 + TREENODE_CELLS && nodes->schema.columns[0].bytes == index->shape_bytes &&
        nodes->schema.columns[1].bytes == index->data_bytes && nodes->schema.cell_count == 1 + TREENODE_CELLS;
    int rc = sane ? 0
                  : err_set(error, CELLAR_CORRUPT,
                            "table %s: its entry says that it is an index, and contradicts itself", nodes->name);
    if (rc == 0) {
        index->nodes = nodes;
        memcpy(index->name, name, strlen(name) + 1);
        rc = procs_measure(db, base, index, error);
    }
    if (rc) handle_drop(index, sizeof *index);
    if (rc == 0) rc = db_prepare(db, error);
    if (rc == 0) atomic_fetch_add(&db->catalog->changes, 1);
    return rc;
}

static bool is_emptying(const struct catalog *catalog, const struct table *nodes)
{
    const struct table *base =
        nodes->orders.of <= LAYOUT_CATALOG_TABLES_MAX ? catalog->tables[nodes->orders.of - 1] : NULL;
    return base && base->emptying;
}

int db_index_open(struct cellar *db, struct cellar_error *error)
{
    int rc = 0;
    catalog_each(db->catalog, table) if (rc == 0 && table->orders.of && !is_emptying(db->catalog, table)) rc =
        index_attach(db, table, error);
    return rc;
}

void db_index_close(struct cellar *db)
{
    if (!db->catalog) return;
    catalog_each(db->catalog, table) while (table->ordered_count) db_index_bury(db, table->ordered[0]);
    while (db->buried) {
        struct cellar_index *index = db->buried;
        db->buried = index->buried;
        handle_drop(index, sizeof *index);
    }
}

void db_index_bury(struct cellar *db, const struct cellar_index *dropped)
{
    struct cellar_index *index = (struct cellar_index *)dropped;
    struct table *base = (struct table *)index->base;
    uint32_t kept = 0;
    base->ordered_cells = 0;
    for (uint32_t i = 0; i < base->ordered_count; i++) {
        if (base->ordered[i] == index) continue;
        base->ordered_cells |= base->ordered[i]->cells;
        base->ordered[kept++] = base->ordered[i];
    }
    base->ordered_count = kept;
    atomic_store(&index->dropped, true);
    index->buried = db->buried;
    db->buried = index;
}

static const struct cellar_index *index_named(const struct table *table, const char *name)
{
    for (uint32_t i = 0; i < table->ordered_count; i++)
        if (strcmp(table->ordered[i]->name, name) == 0) return table->ordered[i];
    return NULL;
}

const struct cellar_index *cellar_index_find(const struct cellar_table *handle, const char *name)
{
    return handle && handle->table && name ? index_named(handle->table, name) : NULL;
}

const struct cellar_index *cellar_index_next(const struct cellar_table *handle, const struct cellar_index *after)
{
    const struct table *table = handle ? handle->table : NULL;
    uint32_t i = 0;
    if (!table) return NULL;
    while (after && i < table->ordered_count && table->ordered[i++] != after) continue;
    return i < table->ordered_count ? table->ordered[i] : NULL;
}

void cellar_index_describe(const struct cellar_index *index, struct cellar_schema_index *def,
                           struct cellar_schema_index_column *columns)
{
    db_order_describe(index, def, columns);
}

/* ---- creating ---- */

static int nodes_make(struct coro *co, const struct index_create *create, const struct cellar_index *index,
                      const struct table **nodes)
{
    struct cellar_schema_column columns[1 + TREENODE_CELLS];
    char name[CELLAR_NAME_BYTES + CELLAR_NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s", create->table->name, create->name);
    uint64_t leaf = TREENODE_CELLS * (uint64_t)treenode_capacity(index, 0);
    struct cellar_schema schema = {.name = name,
                                   .columns = columns,
                                   .column_count = 1 + TREENODE_CELLS,
                                   .records_max = create->table->records_max * 3 / leaf + 256,
                                   .row_bytes = treenode_columns(index, columns)};
    return catalog_nodes_create(co, create->db->workers[0].ep, create->db->catalog, &schema, &create->orders, nodes,
                                create->error);
}

int db_index_rebuild(struct coro *co, struct loader *loader, const struct catalog *catalog, const struct table *nodes,
                     struct cellar_error *error)
{
    const struct table *base = catalog->tables[nodes->orders.of - 1];
    struct cellar_index index;
    if (!db_order_decode(base, &nodes->orders, &index, NULL))
        return err_set(error, CELLAR_CORRUPT, "table %s: its entry says that it is an index, and contradicts itself",
                       nodes->name);
    const char *name = name_of(base, nodes);
    snprintf(index.name, sizeof index.name, "%s", name ? name : "");
    index.nodes = nodes;
    return tree_build(co, loader, &index, error);
}

/* With the process to itself. */
static int index_build(struct coro *co, struct worker *worker, const struct index_create *create,
                       const struct table *nodes)
{
    struct catalog *catalog = create->db->catalog;
    int rc = db_index_rebuild(co, worker->loader, catalog, nodes, create->error);
    worker->ep->bulk = false;
    if (rc == 0) rc = db_alone_check(co, worker, create->error);
    if (rc == 0) rc = index_attach(create->db, nodes, create->error);
    if (rc == 0) rc = db_state_decide(co, worker, nodes->id, LAYOUT_TABLE_BUILDING, LAYOUT_TABLE_WHOLE, create->error);
    return rc;
}

/* Nothing is left of it, whether its table has it already or not. */
static void index_undo(struct coro *co, struct worker *worker, const struct index_create *create,
                       const struct table *nodes)
{
    const struct table *base = create->table;
    const struct cellar_index *index = NULL;
    for (uint32_t i = 0; i < base->ordered_count; i++)
        if (base->ordered[i]->nodes == nodes) index = base->ordered[i];
    if (index) db_index_bury(create->db, index);
    (void)!db_table_undo(co, worker, nodes, NULL); /* what made it fail is what is told */
}

/* With process and pool to itself: the nodes are there, and say so; or nothing is. */
static int index_make(struct coro *co, struct worker *worker, const struct index_create *create,
                      const struct cellar_index *index)
{
    const struct table *nodes = NULL;
    int rc = nodes_make(co, create, index, &nodes);
    if (rc == 0) rc = index_build(co, worker, create, nodes);
    if (rc && nodes) index_undo(co, worker, create, nodes);
    return rc;
}

static int index_make_alone(struct coro *co, struct coordinator *coordinator, const struct index_create *create,
                            const struct cellar_index *index)
{
    struct bulk bulk = {.kind = GATE_ALONE, .table = &create->table->handle};
    int rc = bulk_begin(&bulk, coordinator->client, create->error);
    if (rc) return rc;
    rc = db_alone_check(co, coordinator->worker, create->error);
    if (rc == 0) rc = index_make(co, coordinator->worker, create, index);
    return bulk_end(&bulk, rc, create->error);
}

static int name_check(const struct index_create *create)
{
    if (strlen(create->name) + strlen(create->table->name) > CELLAR_NAME_BYTES - 2 || strchr(create->name, '/'))
        return REFUSED(create, CELLAR_INVALID, "both names together have at most %d bytes, and no slash",
                       CELLAR_NAME_BYTES - 2);
    if (create->db->catalog->versions)
        return REFUSED(create, CELLAR_UNSUPPORTED, "mode %s has none: readers of a snapshot would need old trees",
                       mode_of(create->db->config.cc)->name);
    if (create->table->ordered_count == CELLAR_INDEXES_MAX && !index_named(create->table, create->name))
        return REFUSED(create, CELLAR_FULL, "the table has %d indexes, no more are possible", CELLAR_INDEXES_MAX);
    return 0;
}

/* Of a definition: its words, and the index of those. */
static int def_decode(struct index_create *create, struct cellar_index *index)
{
    uint32_t bytes;
    int rc = name_check(create);
    if (rc == 0)
        rc = create->def ? db_order_of_columns(create->table, create->def, &create->orders, create->error)
                         : db_order_of_schema(create->table, create->schema, &create->orders, create->error);
    if (rc) return rc;
    if (!db_order_decode(create->table, &create->orders, index, &bytes)) {
        if (bytes)
            return REFUSED(create, CELLAR_INVALID,
                           "its columns%s have %u bytes together; at most %d are possible in an index",
                           create->table->key.wide ? ", with the key's," : "", bytes, SORTKEY_BYTES_MAX);
        return REFUSED(create, CELLAR_INVALID, "its columns are none, or too many: %u", create->orders.column_count);
    }
    memcpy(index->name, create->name, strlen(create->name) + 1);
    return 0;
}

static int index_create(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct index_create *create = arg;
    struct cellar_index index;
    const struct table *nodes = NULL;
    int rc = catalog_table_check(create->db->catalog, create->handle, create->error);
    if (rc) return rc;
    create->table = create->handle->table;
    rc = def_decode(create, &index);
    if (rc) return rc;
    rc = index_named(create->table, create->name) ? nodes_make(co, create, &index, &nodes) /* compares them */
                                                  : index_make_alone(co, coordinator, create, &index);
    if (rc == 0) *create->out = index_named(create->table, create->name);
    return rc;
}

int db_index_create(struct cellar *db, const struct cellar_table *handle, const struct cellar_schema_index *def,
                    const struct cellar_index **out, struct cellar_error *error)
{
    struct index_create create = {.db = db, .handle = handle, .schema = def, .out = out, .error = error};
    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the index's handle");
    *out = NULL;
    if (!def || !def->name || !def->name[0]) return err_set(error, CELLAR_INVALID, "an index needs a name");
    create.name = def->name;
    return db_call_on(db, 0, index_create, &create, error);
}

/* ---- of definitions of typed columns ---- */

static struct index_create create_of(struct cellar *db, const struct table *table, const struct cellar_index_def *def,
                                     struct cellar_error *error)
{
    return (struct index_create){.db = db, .table = table, .name = def->name, .def = def, .error = error};
}

/* Of an index that is there: is it the one that the definition means? */
static int known_check(const struct index_create *create)
{
    const struct cellar_index *known = index_named(create->table, create->name);
    bool same = memcmp(&known->nodes->orders, &create->orders, sizeof create->orders) == 0;
    return same ? 0 : REFUSED(create, CELLAR_MISMATCH, "%s", "it has other columns or flags there");
}

int db_index_make(struct coro *co, struct worker *worker, const struct table *table, const struct cellar_index_def *def,
                  struct cellar_error *error)
{
    struct cellar_index index;
    struct index_create create = create_of(worker->db, table, def, error);
    int rc = def_decode(&create, &index);
    if (rc) return rc;
    return index_named(table, def->name) ? known_check(&create) : index_make(co, worker, &create, &index);
}

int db_index_open_def(struct coro *co, struct coordinator *coordinator, const struct table *table,
                      const struct cellar_index_def *def, bool adds, struct cellar_error *error)
{
    struct cellar_index index;
    struct index_create create = create_of(coordinator->worker->db, table, def, error);
    int rc = def_decode(&create, &index);
    if (rc) return rc;
    if (index_named(table, def->name)) return known_check(&create);
    if (!adds) return REFUSED(&create, CELLAR_MISMATCH, "%s", "there is none: CELLAR_ADD makes it");
    return index_make_alone(co, coordinator, &create, &index);
}

/* ---- audit ---- */

int db_index_audit(struct coro *co, struct worker *worker, struct cellar_error *error)
{
    const struct catalog *catalog = worker->db->catalog;
    int rc = 0;
    catalog_each(catalog, table) for (uint32_t k = 0; k < table->ordered_count && rc == 0; k++) rc =
        tree_audit(co, worker->loader, table->ordered[k], error);
    return rc;
}
