/*
 * db_index.c - ordered indexes of an open database (cellar.h): their definitions, and building one from the records
 * that are there.
 *
 * An index is the table of its nodes, whose catalog entry says what it orders. The entry is made first, as BUILDING,
 * and is WHOLE by one word when the nodes are: a build that does not finish leaves what the next process that is alone
 * with the pool gives back (reclaim.h).
 */
#include "db_index.h"

#include "bulk.h"
#include "bytekey.h"
#include "client.h"
#include "coordinator.h"
#include "db_company.h"
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
    const struct cellar_index_def *def;
    const struct cellar_index **out;
    struct cellar_error *error;
};

#define REFUSED(create, code, format, ...)                                                                             \
    err_set((create)->error, code, "index %s of table %s: " format, (create)->def->name, (create)->table->name,        \
            __VA_ARGS__)

/* One column, into the catalog's words. */
static int column_encode(const struct index_create *create, uint32_t i, struct catalog_index *orders)
{
    const struct cellar_index_column *column = &create->def->columns[i];
    const struct schema *schema = &create->table->schema;
    const char *name = column->column ? column->column : "(none)";
    int number = column->column ? schema_column_find(schema, name, (uint32_t)strlen(name)) : -1;
    if (number < 0) return REFUSED(create, CELLAR_INVALID, "the table has no column %s", name);
    uint32_t bytes = schema->columns[number].bytes;
    if ((uint32_t)column->sort > CELLAR_COVERED)
        return REFUSED(create, CELLAR_INVALID, "column %s: no such sort: %d", name, (int)column->sort);
    if (create->table->variable >> number & 1)
        return REFUSED(create, CELLAR_INVALID, "column %s: an index has no values of variable length", name);
    bool is_number = column->sort == CELLAR_SORT_UNSIGNED || column->sort == CELLAR_SORT_SIGNED;
    bool covered = column->sort == CELLAR_COVERED;
    if (i && !covered && create->def->columns[i - 1].sort == CELLAR_COVERED)
        return REFUSED(create, CELLAR_INVALID, "column %s: covered columns stand behind all others", name);
    if (covered && column->descending)
        return REFUSED(create, CELLAR_INVALID, "column %s: a covered column has no order", name);
    if (is_number && bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return REFUSED(create, CELLAR_INVALID, "column %s: a number has 1, 2, 4 or 8 bytes, not %u", name, bytes);
    if (is_number && create->table->key_bytes && number == 0)
        return REFUSED(create, CELLAR_INVALID, "column %s: a key is sorted as bytes", name);
    for (uint32_t k = 0; k < i; k++)
        if ((orders->columns[k] & 0xffff) == (uint32_t)number)
            return REFUSED(create, CELLAR_INVALID, "column %s twice", name);
    orders->columns[i] = (uint32_t)number | (uint32_t)column->sort << 16 | (uint32_t)column->descending << 24;
    return 0;
}

static int def_encode(const struct index_create *create, struct catalog_index *orders)
{
    const struct cellar_index_def *def = create->def;
    *orders = (struct catalog_index){.of = create->table->id, .flags = def->flags, .column_count = def->column_count};
    if (def->flags & ~(uint32_t)CELLAR_UNIQUE) return REFUSED(create, CELLAR_INVALID, "unknown flags: %#x", def->flags);
    if (def->column_count > CELLAR_INDEX_COLUMNS_MAX || (def->column_count && !def->columns))
        return REFUSED(create, CELLAR_INVALID, "%u columns; 0 to %d are possible", def->column_count,
                       CELLAR_INDEX_COLUMNS_MAX);
    int rc = 0;
    for (uint32_t i = 0; i < def->column_count && rc == 0; i++) rc = column_encode(create, i, orders);
    return rc;
}

/* The index of a definition: what follows from it, but for its own table and name. False: it cannot be. */
static bool def_decode(const struct table *base, const struct catalog_index *orders, struct cellar_index *index)
{
    *index = (struct cellar_index){.base = base, .flags = orders->flags};
    if (orders->column_count > SORTKEY_COLUMNS_MAX) return false;
    for (uint32_t i = 0; i < orders->column_count; i++) {
        uint32_t number = orders->columns[i] & 0xffff;
        if (number >= base->schema.column_count) return false;
        const struct schema_column *column = &base->schema.columns[number];
        uint32_t head = base->key_bytes && number == 0 ? BYTEKEY_HEAD_BYTES : 0; /* keys are compared by their bytes */
        index->columns[i] = (uint16_t)number;
        index->cells |= 1u << column->cell;
        bool covered = (orders->columns[i] >> 16 & 0xff) == CELLAR_COVERED;
        index->covered_count += covered;
        if (covered) continue;
        if (index->covered_count) return false;
        index->sortkey.column_count++;
        index->heads[i] = (uint16_t)head;
        index->sortkey.columns[i] = (struct sortkey_column){.offset = column->row_offset + head,
                                                            .bytes = head ? base->key_bytes : column->bytes,
                                                            .type = orders->columns[i] >> 16 & 0xff,
                                                            .descending = orders->columns[i] >> 24 & 1};
    }
    return treenode_layout(index) == 0;
}

/* ---- in use ---- */

bool db_index_prepare(struct worker *worker)
{
    if (!worker->home.hints) worker->home.hints = tree_hints_new();
    bool all = worker->home.hints;
    for (uint32_t k = 0; k < worker->coordinator_count && all; k++)
        all = !worker->coordinators[k].txn->home || tree_open(worker->coordinators[k].txn) == 0;
    return all;
}

/* At rest; a session's worker sees to itself. */
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
    base->ordered[base->ordered_count++] = index;
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
    bool sane = name && base->ordered_count < CELLAR_INDEXES_MAX && def_decode(base, &nodes->orders, index) &&
                nodes->schema.column_count == 1 + TREENODE_CELLS &&
                nodes->schema.columns[0].bytes == index->shape_bytes &&
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
    return rc ? rc : db_prepare(db, error);
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
    index->dropped = true;
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

void cellar_index_describe(const struct cellar_index *index, struct cellar_index_def *def,
                           struct cellar_index_column *columns)
{
    uint32_t sorted = index->sortkey.column_count, count = sorted + index->covered_count;
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = (struct cellar_index_column){.column = index->base->schema.columns[index->columns[i]].name,
                                                  .sort = CELLAR_COVERED};
        if (i >= sorted) continue;
        columns[i].sort = (enum cellar_sort)index->sortkey.columns[i].type;
        columns[i].descending = index->sortkey.columns[i].descending;
    }
    *def = (struct cellar_index_def){
        .name = index->name, .columns = columns, .column_count = count, .flags = index->flags};
}

/* ---- creating ---- */

static int nodes_make(struct coro *co, const struct index_create *create, const struct catalog_index *orders,
                      const struct cellar_index *index, const struct table **nodes)
{
    struct cellar_schema_column columns[1 + TREENODE_CELLS];
    char name[CELLAR_NAME_BYTES + CELLAR_NAME_BYTES];
    snprintf(name, sizeof name, "%s/%s", create->table->name, create->def->name);
    uint64_t leaf = TREENODE_CELLS * (uint64_t)treenode_capacity(index, 0);
    struct cellar_schema schema = {.name = name,
                                   .columns = columns,
                                   .column_count = 1 + TREENODE_CELLS,
                                   .records_max = create->table->records_max * 3 / leaf + 256,
                                   .row_bytes = treenode_columns(index, columns)};
    return catalog_nodes_create(co, create->db->workers[0].ep, create->db->catalog, &schema, orders, nodes,
                                create->error);
}

int db_index_rebuild(struct coro *co, struct loader *loader, const struct catalog *catalog, const struct table *nodes,
                     struct cellar_error *error)
{
    const struct table *base = catalog->tables[nodes->orders.of - 1];
    struct cellar_index index;
    if (!def_decode(base, &nodes->orders, &index))
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
    if (rc == 0)
        rc = reclaim_state_move(co, worker->ep, catalog, nodes->id, LAYOUT_TABLE_BUILDING, LAYOUT_TABLE_WHOLE,
                                create->error);
    return rc ? rc : index_attach(create->db, nodes, create->error);
}

/* The nodes are there, and say so; or nothing is. One that is there is compared. */
static int index_make(struct coro *co, struct coordinator *coordinator, const struct index_create *create,
                      const struct catalog_index *orders, const struct cellar_index *index)
{
    struct bulk bulk = {.kind = GATE_ALONE, .table = &create->table->handle};
    struct worker *worker = coordinator->worker;
    const struct table *nodes = NULL;
    if (index_named(create->table, create->def->name)) return nodes_make(co, create, orders, index, &nodes);
    int rc = bulk_begin(&bulk, coordinator->client, create->error);
    if (rc) return rc;
    rc = db_alone_check(co, worker, create->error);
    if (rc == 0) rc = nodes_make(co, create, orders, index, &nodes);
    if (rc == 0) rc = index_build(co, worker, create, nodes);
    if (rc && nodes) (void)!db_nodes_undo(co, worker, nodes, NULL); /* what made it fail is what is told */
    return bulk_end(&bulk, rc, create->error);
}

static int create_check(struct index_create *create)
{
    const struct cellar_index_def *def = create->def;
    if (!def || !def->name || !def->name[0]) return err_set(create->error, CELLAR_INVALID, "an index needs a name");
    int rc = catalog_table_check(create->db->catalog, create->handle, create->error);
    if (rc) return rc;
    create->table = create->handle->table;
    if (strlen(def->name) + strlen(create->table->name) > CELLAR_NAME_BYTES - 2 || strchr(def->name, '/'))
        return REFUSED(create, CELLAR_INVALID, "both names together have at most %d bytes, and no slash",
                       CELLAR_NAME_BYTES - 2);
    if (create->db->catalog->versions)
        return REFUSED(create, CELLAR_UNSUPPORTED, "mode %s has none: readers of a snapshot would need old trees",
                       mode_of(create->db->config.cc)->name);
    if (create->table->ordered_count == CELLAR_INDEXES_MAX && !index_named(create->table, def->name))
        return REFUSED(create, CELLAR_FULL, "the table has %d indexes, no more are possible", CELLAR_INDEXES_MAX);
    return 0;
}

static int index_create(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct index_create *create = arg;
    struct catalog_index orders;
    struct cellar_index index;
    int rc = create_check(create);
    if (rc == 0) rc = def_encode(create, &orders);
    if (rc) return rc;
    if (!def_decode(create->table, &orders, &index))
        return REFUSED(create, CELLAR_INVALID, "its columns have more than %d bytes together", SORTKEY_BYTES_MAX);
    memcpy(index.name, create->def->name, strlen(create->def->name) + 1);
    rc = index_make(co, coordinator, create, &orders, &index);
    if (rc == 0) *create->out = index_named(create->table, create->def->name);
    return rc;
}

int db_index_create(struct cellar *db, const struct cellar_table *handle, const struct cellar_index_def *def,
                    const struct cellar_index **out, struct cellar_error *error)
{
    struct index_create create = {.db = db, .handle = handle, .def = def, .out = out, .error = error};
    if (!out) return err_set(error, CELLAR_INVALID, "there is no place for the index's handle");
    *out = NULL;
    return db_call_on(db, 0, index_create, &create, error);
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
