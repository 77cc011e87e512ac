/* sqlite_listen.c - a table without rows, which passes on what SQLite says of transactions. */
#include "sqlite_listen.h"

SQLITE_EXTENSION_INIT3

struct listen_table {
    sqlite3_vtab base; /* first */
    struct sqlite_connection *connection;
};

static struct sqlite_connection *connection_of(sqlite3_vtab *vtab) { return ((struct listen_table *)vtab)->connection; }

static int listen_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
    (void)argc, (void)argv, (void)message;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(a)");
    if (rc) return rc;
    struct listen_table *table = sqlite3_malloc(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    *table = (struct listen_table){.connection = arg};
    *out = &table->base;
    return SQLITE_OK;
}

static int listen_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static int listen_best(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedRows = 1;
    return SQLITE_OK;
}

static int listen_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    *out = sqlite3_malloc(sizeof **out);
    return *out ? SQLITE_OK : SQLITE_NOMEM;
}

static int listen_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int listen_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc, sqlite3_value **argv)
{
    (void)cursor, (void)number, (void)text, (void)argc, (void)argv;
    return SQLITE_OK;
}

static int listen_next(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return SQLITE_OK;
}

static int listen_eof(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return 1;
}

static int listen_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int number)
{
    (void)cursor, (void)context, (void)number;
    return SQLITE_OK;
}

static int listen_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    *rowid = 0;
    return SQLITE_OK;
}

static int listen_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)argc, (void)argv, (void)rowid;
    return sqlite_txn_refuse(vtab, SQLITE_READONLY, "cellar_transaction has no rows");
}

static int listen_begin(sqlite3_vtab *vtab)
{
    (void)vtab;
    return SQLITE_OK;
}

static int listen_sync(sqlite3_vtab *vtab)
{
    int rc = SQLITE_OK;
    for (struct sqlite_txn *txn = connection_of(vtab)->txns; txn && rc == SQLITE_OK; txn = txn->next)
        rc = sqlite_txn_sync(txn, vtab);
    return rc;
}

static int listen_end(sqlite3_vtab *vtab)
{
    for (struct sqlite_txn *txn = connection_of(vtab)->txns; txn; txn = txn->next) sqlite_txn_end(txn);
    return SQLITE_OK;
}

int sqlite_listen_open(sqlite3 *db, struct sqlite_connection *connection)
{
    static const sqlite3_module module = {.iVersion = 1,
                                          .xCreate = listen_connect,
                                          .xConnect = listen_connect,
                                          .xBestIndex = listen_best,
                                          .xDisconnect = listen_disconnect,
                                          .xDestroy = listen_disconnect,
                                          .xOpen = listen_open,
                                          .xClose = listen_close,
                                          .xFilter = listen_filter,
                                          .xNext = listen_next,
                                          .xEof = listen_eof,
                                          .xColumn = listen_column,
                                          .xRowid = listen_rowid,
                                          .xUpdate = listen_update,
                                          .xBegin = listen_begin,
                                          .xSync = listen_sync,
                                          .xCommit = listen_end,
                                          .xRollback = listen_end};
    int rc = sqlite3_create_module_v2(db, "cellar_transaction", &module, connection, NULL);
    return rc ? rc : sqlite3_exec(db, SQLITE_LISTEN_MAKE, NULL, NULL, NULL);
}
