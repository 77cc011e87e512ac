/* sqlite_txn.c - from SQLite's transactions to Cellar's. */
#include "sqlite_txn.h"

#include <stdarg.h>

SQLITE_EXTENSION_INIT3

/* ---- tables come and go ---- */

struct sqlite_txn *sqlite_txn_join(struct sqlite_connection *connection, struct sqlite_pool *pool)
{
    struct sqlite_txn *txn = connection->txns;
    while (txn && txn->pool != pool) txn = txn->next;
    if (txn) {
        sqlite_pool_close(pool); /* it has it already */
        txn->tables++;
        return txn;
    }
    txn = sqlite3_malloc(sizeof *txn);
    if (!txn) return NULL;
    *txn = (struct sqlite_txn){.next = connection->txns, .connection = connection, .pool = pool, .tables = 1};
    connection->txns = txn;
    return txn;
}

void sqlite_txn_leave(struct sqlite_txn *txn)
{
    if (--txn->tables) return;
    struct sqlite_txn **at = &txn->connection->txns;
    while (*at != txn) at = &(*at)->next;
    *at = txn->next;
    sqlite_txn_end(txn);
    sqlite_calls_free(&txn->calls);
    sqlite_pool_close(txn->pool);
    sqlite3_free(txn);
}

/* ---- failures ---- */

int sqlite_txn_refuse(sqlite3_vtab *vtab, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sqlite3_free(vtab->zErrMsg);
    vtab->zErrMsg = sqlite3_vmprintf(format, args);
    va_end(args);
    return code;
}

static int code_of(int code)
{
    switch (code) {
    case CELLAR_RETRY:
    case CELLAR_NOT_FOUND: /* at a commit: what the statement has seen is gone */
    case CELLAR_DEADLINE:
        return SQLITE_BUSY_SNAPSHOT;
    case CELLAR_EXISTS:
        return SQLITE_CONSTRAINT;
    case CELLAR_NOMEM:
        return SQLITE_NOMEM;
    case CELLAR_BUSY: /* as many transactions are open as there may be */
        return SQLITE_BUSY;
    case CELLAR_FULL:
        return SQLITE_FULL;
    case CELLAR_TOO_LARGE:
        return SQLITE_TOOBIG;
    case CELLAR_CORRUPT:
        return SQLITE_CORRUPT_VTAB;
    case CELLAR_UNREACHABLE:
    case CELLAR_INDETERMINATE:
    case CELLAR_FENCED:
    case CELLAR_CLOSED:
    case CELLAR_SYSTEM:
        return SQLITE_IOERR;
    default:
        return SQLITE_ERROR;
    }
}

/* With the line of the call that failed. */
static int told(const struct sqlite_txn *txn, sqlite3_vtab *vtab, int code)
{
    const struct cellar_error *error = &txn->calls.error;
    return sqlite_txn_refuse(vtab, code_of(code), "%s", error->code == code ? error->text : cellar_strerror(code));
}

int sqlite_txn_failed(struct sqlite_txn *txn, sqlite3_vtab *vtab, int code)
{
    int rc = told(txn, vtab, code);
    txn->doomed = txn->doomed || rc == SQLITE_BUSY_SNAPSHOT;
    return rc;
}

static int doomed(sqlite3_vtab *vtab)
{
    return sqlite_txn_refuse(vtab, SQLITE_BUSY_SNAPSHOT,
                             "another transaction has changed what this one has read: roll back, and begin again");
}

/* ---- begin, check, end ---- */

/*
 * SQLite tells a virtual table of a transaction when it is to write. Within BEGIN what is only read counts as well: a
 * statement that writes nothing, to a table of the connection's own, has the module listen (sqlite_listen.c). Where
 * the connection may not write at all, each statement is a transaction.
 */
static int listen(struct sqlite_txn *txn, sqlite3_vtab *vtab)
{
    sqlite3 *db = txn->connection->db;
    int rc = sqlite3_exec(db, SQLITE_LISTEN_SAY, NULL, NULL, NULL);
    if (rc == SQLITE_ERROR) { /* it is gone: PRAGMA temp_store, say */
        (void)sqlite3_exec(db, SQLITE_LISTEN_MAKE, NULL, NULL, NULL);
        rc = sqlite3_exec(db, SQLITE_LISTEN_SAY, NULL, NULL, NULL);
    }
    txn->begun = rc == SQLITE_OK;
    if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_READONLY) return SQLITE_OK;
    return sqlite_txn_refuse(vtab, rc, "cellar is not told when this transaction ends: %s", sqlite3_errmsg(db));
}

/* A savepoint for each level up to so many: those that are new are of this moment. */
static int levels_add(struct sqlite_txn *txn, sqlite3_vtab *vtab, uint32_t count)
{
    int savepoint = sqlite_calls_savepoint(&txn->calls);
    if (savepoint < 0) return sqlite_txn_failed(txn, vtab, savepoint);
    while (txn->level_count < count) txn->levels[txn->level_count++] = savepoint;
    return SQLITE_OK;
}

int sqlite_txn_ensure(struct sqlite_txn *txn, sqlite3_vtab *vtab)
{
    struct cellar_error error;
    if (!txn->begun && !txn->running) {
        bool autocommit = sqlite3_get_autocommit(txn->connection->db);
        if (autocommit || txn->doomed) sqlite_txn_end(txn);
        int rc = autocommit ? SQLITE_OK : listen(txn, vtab);
        if (rc) return rc;
    }
    if (txn->doomed) return doomed(vtab);
    if (txn->runs) return SQLITE_OK;
    struct cellar_txn *begun = sqlite_pool_begin(txn->pool, &error);
    if (!begun) return sqlite_txn_refuse(vtab, code_of(error.code), "%s", error.text);
    sqlite_calls_begin(&txn->calls, sqlite_pool_db(txn->pool), begun);
    txn->runs = true;
    txn->level_count = 0;
    return sqlite3_get_autocommit(txn->connection->db) ? SQLITE_OK : levels_add(txn, vtab, 1);
}

/* The cursor that asks may have come to its end: sqlite_txn_ensure would take that for the end of the transaction. */
int sqlite_txn_check(struct sqlite_txn *txn, sqlite3_vtab *vtab)
{
    if (txn->doomed) return doomed(vtab);
    if (!txn->runs || txn->reads < 2 || txn->reads == txn->checked) return SQLITE_OK;
    txn->checked = txn->reads;
    int code = sqlite_calls_check(&txn->calls);
    return code ? sqlite_txn_failed(txn, vtab, code) : SQLITE_OK;
}

void sqlite_txn_end(struct sqlite_txn *txn)
{
    if (txn->runs) cellar_abort(txn->calls.txn);
    txn->runs = txn->doomed = txn->begun = false;
    txn->reads = txn->checked = txn->level_count = 0;
}

int sqlite_txn_begin(struct sqlite_txn *txn, sqlite3_vtab *vtab)
{
    bool begun = txn->begun;
    if (!begun && !txn->running) sqlite_txn_end(txn);
    txn->begun = true;
    int rc = sqlite_txn_ensure(txn, vtab);
    if (rc) txn->begun = begun;
    return rc;
}

int sqlite_txn_sync(struct sqlite_txn *txn, sqlite3_vtab *vtab)
{
    if (!txn->runs && !txn->doomed) return SQLITE_OK; /* another table of the pool has done it */
    int rc = sqlite_txn_ensure(txn, vtab);
    if (rc) return rc;
    int code = sqlite_calls_commit(&txn->calls);
    rc = code ? sqlite_txn_failed(txn, vtab, code) : SQLITE_OK;
    txn->runs = false; /* a commit ends it, whatever comes of it */
    txn->reads = txn->checked = 0;
    return rc;
}

void sqlite_txn_rest(struct sqlite_txn *txn)
{
    if (!txn->cursors && !txn->begun && sqlite3_get_autocommit(txn->connection->db)) sqlite_txn_end(txn);
}

/*
 * ---- savepoints ----
 *
 * SQLite counts them from 0, and names the whole transaction -1, where a SAVEPOINT has begun it: that is the first of
 * the levels here. Those from before the first table was told of any are where the transaction has changed nothing.
 */

int sqlite_txn_savepoint(struct sqlite_txn *txn, sqlite3_vtab *vtab, int level)
{
    uint32_t at = (uint32_t)(level + 1);
    if (at < txn->level_count || txn->doomed) return SQLITE_OK;
    if (at >= SQLITE_TXN_LEVELS)
        return sqlite_txn_refuse(vtab, SQLITE_ERROR, "more than %d savepoints", SQLITE_TXN_LEVELS - 1);
    int rc = sqlite_txn_ensure(txn, vtab);
    return rc ? rc : levels_add(txn, vtab, at + 1);
}

int sqlite_txn_release(struct sqlite_txn *txn, sqlite3_vtab *vtab, int level)
{
    uint32_t at = (uint32_t)(level + 1);
    if (at >= txn->level_count || txn->doomed || !txn->runs) return SQLITE_OK;
    int rc = sqlite_txn_ensure(txn, vtab);
    if (rc) return rc;
    txn->level_count = at;
    bool shared = at > 0 && txn->levels[at - 1] == txn->levels[at];
    int code = shared ? 0 : sqlite_calls_release(&txn->calls, txn->levels[at]);
    return code ? sqlite_txn_failed(txn, vtab, code) : SQLITE_OK;
}

int sqlite_txn_rollback_to(struct sqlite_txn *txn, sqlite3_vtab *vtab, int level)
{
    uint32_t at = (uint32_t)(level + 1);
    if (at >= txn->level_count || txn->doomed || !txn->runs) return SQLITE_OK;
    int rc = sqlite_txn_ensure(txn, vtab);
    if (rc) return rc;
    int code = sqlite_calls_rollback_to(&txn->calls, txn->levels[at]);
    txn->level_count = at + 1;
    return code ? sqlite_txn_failed(txn, vtab, code) : SQLITE_OK;
}
