/* db_schema.c - tables and procedures of an open database (cellar.h). */
#include "db_schema.h"

#include "numbered.h"
#include "coordinator.h"
#include "counter.h"
#include "db.h"
#include "db_tally.h"
#include "handle.h"
#include "session.h"
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES_OURS (16u << 10) /* of the engine's calls above a procedure's own frames */

/* ---- tables ---- */

struct table_create {
    struct cellar *db;
    const struct cellar_schema *schema;
    const struct cellar_table **out;
    struct cellar_error *error;
};

static int table_create(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct table_create *create = arg;
    struct fabric_ep *ep = coordinator->worker->ep;

    const struct table *table = NULL;

    ep->bulk = true;
    int rc = catalog_table_create(co, ep, create->db->catalog, create->schema, &table, create->error);
    ep->bulk = false;
    *create->out = catalog_handle(table);
    return rc;
}

int db_table_create(struct cellar *db, const struct cellar_schema *schema, const struct cellar_table **out,
                    struct cellar_error *error)
{
    struct table_create create = {db, schema, out, error};
    if (!schema || !out) return err_set(error, CELLAR_INVALID, "a table needs a schema, and a place for its handle");
    *out = NULL;
    return db_call_on(db, 0, table_create, &create, error);
}

/* A part of another one is no table of the user's; one that is being emptied is none now, one that is made not yet. */
static bool is_users(const struct table *table)
{
    return !catalog_is_part(table) && !table->emptying && !table->unborn;
}

const struct cellar_table *cellar_table_find(struct cellar *db, const char *name)
{
    uint32_t *counted;
    if (!name || db_look_begin(db, &counted, NULL)) return NULL;
    const struct table *table = catalog_table_find(db->catalog, name);
    db_call_end(db, counted);
    return table && is_users(table) ? &table->handle : NULL;
}

const char *cellar_table_next(struct cellar *db, const char *after)
{
    const char *next = NULL;
    uint32_t *counted;
    if (db_look_begin(db, &counted, NULL)) return NULL;
    catalog_each(db->catalog, table)
    {
        bool follows = is_users(table) && (!after || strcmp(table->name, after) > 0);
        if (follows && (!next || strcmp(table->name, next) < 0)) next = table->name;
    }
    db_call_end(db, counted);
    return next;
}

const struct cellar_table *cellar_schema_next(struct cellar *db, const struct cellar_table *after)
{
    uint32_t *counted;
    if (db_look_begin(db, &counted, NULL)) return NULL;
    const struct table *table = catalog_table_after(db->catalog, after && after->table ? after->table->id : 0);
    while (table && !is_users(table)) table = catalog_table_after(db->catalog, table->id);
    db_call_end(db, counted);
    return catalog_handle(table);
}

void cellar_schema_describe(const struct cellar_table *handle, struct cellar_schema *schema,
                            struct cellar_schema_column *columns)
{
    const struct table *table = handle->table;
    *schema = (struct cellar_schema){0};
    if (!table) return; /* of a database that was closed */
    const struct schema *from = &table->schema;
    for (uint32_t i = 0; i < from->column_count; i++)
        columns[i] = (struct cellar_schema_column){.name = from->columns[i].name,
                                                   .offset = from->columns[i].row_offset,
                                                   .bytes = from->columns[i].bytes,
                                                   .cell = from->columns[i].cell};
    *schema = (struct cellar_schema){.name = table->name,
                                     .row_bytes = from->row_bytes,
                                     .columns = columns,
                                     .column_count = from->column_count,
                                     .records_max = table->records_max,
                                     .cluster_bits = table->index.cluster_bits,
                                     .key_bytes = table->key_bytes,
                                     .variable = table->variable,
                                     .long_bytes = table->long_bytes,
                                     .typed = table->key.count};
}

int cellar_column_of(const struct cellar_table *handle, const char *column)
{
    if (!handle || !column) return CELLAR_INVALID;
    int found = handle->table ? schema_column_find(&handle->table->schema, column, (uint32_t)strlen(column)) : -1;
    return found < 0 ? CELLAR_NOT_FOUND : found;
}

cellar_cells cellar_cells_of(const struct cellar_table *handle, const char *columns)
{
    const struct table *table = handle ? handle->table : NULL;
    cellar_cells cells = 0;

    for (const char *at = table && columns ? columns : ""; *at;) {
        at += strspn(at, ", \t\n");
        size_t bytes = strcspn(at, ", \t\n");
        if (!bytes) break;
        int column = schema_column_find(&table->schema, at, (uint32_t)bytes);
        if (column < 0) return CELLAR_CELLS_UNKNOWN;
        cells |= 1u << table->schema.columns[column].cell;
        at += bytes;
    }
    return cells ? cells : CELLAR_CELLS_UNKNOWN;
}

/* ---- procedures ---- */

uint64_t db_log_bytes_least(void) { return sizeof(struct log_entry_wire); }

uint64_t db_log_bytes_of(const struct cellar *db, const struct schema *schema, bool index)
{
    uint64_t old = mode_of(db->config.cc)->undo ? sizeof(uint64_t) : 0;
    uint64_t cells = schema->value_bytes + schema->cell_count * (sizeof(struct log_write_wire) + old);
    return cells + (index ? 2ull * logseg_write_bytes((uint32_t)(LAYOUT_BUCKET_CELL_BYTES + old)) : 0);
}

/* What writes can add to a log entry at most: the widest row of any table, and two buckets' entries. */
static uint64_t log_bytes_of(const struct cellar *db, uint32_t writes_max)
{
    static const struct schema none = {.cell_count = 0};
    uint64_t widest = db_log_bytes_of(db, &none, true);

    catalog_each(db->catalog, table)
    {
        if (catalog_is_part(table)) continue;
        uint64_t bytes = db_log_bytes_of(db, &table->schema, true);
        widest = bytes > widest ? bytes : widest;
    }
    return db_log_bytes_least() + writes_max * widest;
}

void db_proc_free(const struct cellar *db, struct cellar_proc *proc)
{
    for (uint32_t i = 0; i < db->coordinator_count && proc->annexes; i++) coro_annex_free(proc->annexes[i]);
    free(proc->annexes);
    db_tallies_free(db, proc);
    handle_drop(proc, sizeof *proc);
}

static int annexes_make(const struct cellar *db, struct cellar_proc *proc)
{
    bool all = true;
    proc->annexes = calloc(db->coordinator_count, sizeof(struct coro_annex *));
    for (uint32_t i = 0; i < db->coordinator_count && proc->annexes && all; i++)
        all = (proc->annexes[i] = coro_annex_new(proc->def.stack_bytes + STACK_BYTES_OURS)) != NULL;
    return proc->annexes && all ? 0 : CELLAR_NOMEM;
}

static struct cellar_proc *proc_make(const struct cellar *db, const struct cellar_proc_def *def)
{
    struct cellar_proc *proc = handle_new(sizeof *proc);
    if (!proc) return NULL;
    proc->db = db;
    proc->def = *def;
    strcpy(proc->name, def->name);
    proc->def.name = proc->name;
    int rc = db_tallies_make(db, proc);
    if (rc == 0 && def->stack_bytes > CELLAR_STACK_BYTES - STACK_BYTES_OURS) rc = annexes_make(db, proc);
    if (rc == 0) return proc;
    db_proc_free(db, proc);
    return NULL;
}

struct proc_register {
    struct cellar *db;
    const struct cellar_proc_def *def;
    const struct cellar_proc **out;
    struct cellar_error *error;
};

static int proc_register(struct coro *co, struct coordinator *coordinator, void *arg)
{
    struct proc_register *call = arg;
    const struct cellar_proc_def *def = call->def;
    struct cellar *db = call->db;
    (void)co;
    (void)coordinator;

    if (!def->fn || !def->name || !def->name[0] || strlen(def->name) >= CELLAR_NAME_BYTES)
        return err_set(call->error, CELLAR_INVALID, "a procedure needs a function and a name of 1 to %d bytes",
                       CELLAR_NAME_BYTES - 1);
    if (def->writes_max > def->records_max)
        return err_set(call->error, CELLAR_INVALID, "procedure %s: it writes %u records of %u that it declares",
                       def->name, def->writes_max, def->records_max);
    if (def->records_max == 0 || def->records_max > CELLAR_TXN_RECORDS_MAX)
        return err_set(call->error, CELLAR_TOO_LARGE, "procedure %s: %u records; 1 to %d are possible", def->name,
                       def->records_max, CELLAR_TXN_RECORDS_MAX);
    if (def->stack_bytes > CELLAR_STACK_BYTES_MAX)
        return err_set(call->error, CELLAR_TOO_LARGE, "procedure %s: a stack of %llu bytes; at most %u", def->name,
                       (unsigned long long)def->stack_bytes, CELLAR_STACK_BYTES_MAX);
    uint64_t own_bytes = def->log_bytes_max ? def->log_bytes_max : log_bytes_of(db, def->writes_max);
    uint64_t log_bytes = own_bytes + tree_log_bytes(db->catalog, def->writes_max, mode_of(db->config.cc)->undo);
    if (log_bytes > db->config.log_bytes / 2)
        return err_set(call->error, CELLAR_TOO_LARGE,
                       "procedure %s: up to %llu bytes of log, half a segment is %llu; raise log_bytes, or state a "
                       "smaller log_bytes_max",
                       def->name, (unsigned long long)log_bytes, (unsigned long long)db->config.log_bytes / 2);
    bool versions = db->catalog->versions;
    catalog_each(db->catalog, table) if (schema_keeps_versions(&table->schema) != versions) return err_set(
        call->error, CELLAR_MISMATCH, "table %s keeps %s old versions: it is for modes that keep %s", table->name,
        versions ? "no" : "its", versions ? "none" : "them");
    for (const struct cellar_proc *old = db->procs; old; old = old->next)
        if (strcmp(old->name, def->name) == 0)
            return err_set(call->error, CELLAR_EXISTS, "procedure %s is registered already", def->name);

    struct cellar_proc *proc = proc_make(db, def);
    if (!proc) return err_set(call->error, CELLAR_NOMEM, "no memory for procedure %s", def->name);
    proc->log_bytes = (uint32_t)log_bytes;
    proc->own_bytes = (uint32_t)own_bytes;
    proc->next = db->procs;
    __atomic_store_n(&db->procs, proc, __ATOMIC_RELEASE); /* cellar_lab_proc_next may be reading */
    *call->out = proc;
    return 0;
}

int db_proc_register(struct cellar *db, const struct cellar_proc_def *def, const struct cellar_proc **out,
                     struct cellar_error *error)
{
    struct proc_register call = {db, def, out, error};
    if (!def || !out)
        return err_set(error, CELLAR_INVALID, "a procedure needs a definition, and a place for its handle");
    *out = NULL;
    return db_call_on(db, 0, proc_register, &call, error);
}
