/*
 * sqlite_module.c - cellar.so: the extension of SQLite, and its module `cellar` (docs/sqlite.md).
 *
 *     .load cellar
 *     CREATE VIRTUAL TABLE account USING cellar(pool='bank.pool', table='account');
 *
 * Files, from the outside to the inside: the module (here); rows that are read (sqlite_cursor), how they are reached
 * (sqlite_plan), rows that are changed (sqlite_update); what a table is (sqlite_args, sqlite_make, sqlite_define), what
 * its rows must be (sqlite_rules), what a value is (sqlite_value); transactions (sqlite_txn, sqlite_listen), the calls
 * that they make (sqlite_calls), and what those give (sqlite_row); open databases (sqlite_pool).
 */
#include "sqlite_listen.h"
#include "sqlite_update.h"

SQLITE_EXTENSION_INIT1

static struct sqlite_txn *txn_of(sqlite3_vtab *vtab) { return ((struct sqlite_table *)vtab)->txn; }

/* ---- tables ---- */

static int table_open(struct sqlite_connection *connection, const struct sqlite_args *args, bool make,
                      sqlite3_vtab **out, char **message)
{
    struct cellar_error error;
    const struct sqlite_pool_shape shape = {args->size, (uint32_t)args->processes};
    struct sqlite_pool *pool = sqlite_pool_open(args->pool, make && args->column_count ? &shape : NULL, &error);
    if (!pool) {
        *message = sqlite3_mprintf("%s", error.text);
        return SQLITE_CANTOPEN;
    }
    struct sqlite_table *table = sqlite3_malloc(sizeof *table);
    int rc = table ? sqlite_rules_open(&table->rules, args, connection->db, message) : SQLITE_NOMEM;
    if (rc == SQLITE_OK) rc = sqlite_define_read(&table->define, args, sqlite_pool_db(pool), message);
    char *declare = rc ? NULL : sqlite_define_declare(&table->define);
    if (rc == SQLITE_OK) rc = declare ? sqlite3_declare_vtab(connection->db, declare) : SQLITE_NOMEM;
    sqlite3_free(declare);
    if (rc == SQLITE_OK) rc = sqlite3_vtab_config(connection->db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    struct sqlite_txn *txn = rc ? NULL : sqlite_txn_join(connection, pool);
    if (!txn) {
        sqlite_pool_close(pool);
        if (table) sqlite_rules_close(&table->rules);
        sqlite3_free(table);
        return rc ? rc : SQLITE_NOMEM;
    }
    table->base = (sqlite3_vtab){0};
    table->txn = txn;
    table->made = args->column_count > 0;
    table->named = args->named;
    *out = &table->base;
    return SQLITE_OK;
}

static int open_by_args(void *arg, int argc, const char *const *argv, bool make, sqlite3_vtab **out, char **message)
{
    struct sqlite_args args;
    int rc = sqlite_args_read(&args, argc, argv, message);
    if (rc == SQLITE_OK) rc = table_open(arg, &args, make, out, message);
    sqlite_args_free(&args);
    return rc;
}

static int module_create(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)db;
    return open_by_args(arg, argc, argv, true, out, message);
}

static int module_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)db;
    return open_by_args(arg, argc, argv, false, out, message);
}

static int module_disconnect(sqlite3_vtab *vtab)
{
    sqlite_txn_leave(txn_of(vtab));
    sqlite_rules_close(&((struct sqlite_table *)vtab)->rules);
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* DROP TABLE: of a table that was named without columns only the virtual one goes. SQLite shows no line of this. */
static int module_destroy(sqlite3_vtab *vtab)
{
    struct sqlite_table *table = (struct sqlite_table *)vtab;
    int code = table->made ? cellar_table_drop(sqlite_pool_db(table->txn->pool), table->define.shape.table) : 0;
    if (code == CELLAR_BUSY) return SQLITE_BUSY;
    if (code && code != CELLAR_DROPPED) return SQLITE_IOERR;
    return module_disconnect(vtab);
}

/* The arguments of CREATE VIRTUAL TABLE stay as they are: a pool's table that has its name from there would be lost. */
static int module_rename(sqlite3_vtab *vtab, const char *name)
{
    (void)name;
    if (((struct sqlite_table *)vtab)->named) return SQLITE_OK;
    return sqlite_txn_refuse(vtab, SQLITE_ERROR,
                             "the pool's table would keep its name, which is the virtual table's: "
                             "one that was created with table='...' may be renamed");
}

static int module_best(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    return sqlite_plan_best(&((struct sqlite_table *)vtab)->define, info);
}

/* ---- transactions ---- */

static int module_begin(sqlite3_vtab *vtab) { return sqlite_txn_begin(txn_of(vtab), vtab); }
static int module_sync(sqlite3_vtab *vtab) { return sqlite_txn_sync(txn_of(vtab), vtab); }

static int module_end(sqlite3_vtab *vtab)
{
    sqlite_txn_end(txn_of(vtab));
    return SQLITE_OK;
}

static int module_savepoint(sqlite3_vtab *vtab, int level) { return sqlite_txn_savepoint(txn_of(vtab), vtab, level); }
static int module_release(sqlite3_vtab *vtab, int level) { return sqlite_txn_release(txn_of(vtab), vtab, level); }
static int module_back(sqlite3_vtab *vtab, int level) { return sqlite_txn_rollback_to(txn_of(vtab), vtab, level); }

/* ---- the extension ---- */

static const sqlite3_module module = {.iVersion = 2,
                                      .xCreate = module_create,
                                      .xConnect = module_connect,
                                      .xBestIndex = module_best,
                                      .xDisconnect = module_disconnect,
                                      .xDestroy = module_destroy,
                                      .xOpen = sqlite_cursor_open,
                                      .xClose = sqlite_cursor_close,
                                      .xFilter = sqlite_cursor_filter,
                                      .xNext = sqlite_cursor_next,
                                      .xEof = sqlite_cursor_eof,
                                      .xColumn = sqlite_cursor_column,
                                      .xRowid = sqlite_cursor_rowid,
                                      .xUpdate = sqlite_update_row,
                                      .xBegin = module_begin,
                                      .xSync = module_sync,
                                      .xCommit = module_end,
                                      .xRollback = module_end,
                                      .xRename = module_rename,
                                      .xSavepoint = module_savepoint,
                                      .xRelease = module_release,
                                      .xRollbackTo = module_back};

/* As SQLITE_EXTENSION_INIT2, but written once: other connections' threads read it while one more loads this file. */
static void use_api(const sqlite3_api_routines *api)
{
    if (__atomic_load_n(&sqlite3_api, __ATOMIC_ACQUIRE) != api) __atomic_store_n(&sqlite3_api, api, __ATOMIC_RELEASE);
}

/* The entry that SQLite looks for in a file of this name. The library stays loaded: threads run in it. */
int sqlite3_cellar_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);
int sqlite3_cellar_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    use_api(api);
    if (sqlite3_libversion_number() < 3030000) {
        *message = sqlite3_mprintf("cellar wants SQLite 3.30 or newer, this is %s", sqlite3_libversion());
        return SQLITE_ERROR;
    }
    struct sqlite_connection *connection = sqlite3_malloc(sizeof *connection);
    if (!connection) return SQLITE_NOMEM;
    *connection = (struct sqlite_connection){.db = db};
    int rc = sqlite3_create_module_v2(db, "cellar", &module, connection, sqlite3_free);
    if (rc == SQLITE_OK) rc = sqlite_listen_open(db, connection);
    if (rc == SQLITE_OK) return SQLITE_OK_LOAD_PERMANENTLY;
    *message = sqlite3_mprintf("cellar: %s", sqlite3_errmsg(db));
    /* SQLite unloads it now. */
    (void)sqlite3_create_module_v2(db, "cellar", NULL, NULL, NULL);
    (void)sqlite3_create_module_v2(db, "cellar_transaction", NULL, NULL, NULL);
    return rc;
}
