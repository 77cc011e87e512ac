/*
 * sqlite_txn.h - a connection's transactions: one in each pool that it has tables of (docs/sqlite.md).
 *
 * It begins with the first read or write, and ends when SQLite says so (a commit is made in xSync, whose result SQLite
 * still heeds); or, since SQLite says nothing of transactions that only read, with the last cursor of a statement
 * outside a transaction.
 *
 * INV-SQLITE-1: all tables of one pool that a connection uses share one transaction.
 * INV-SQLITE-2: the last row of the outermost loop, and every batch of it, comes only after the read set was true at
 *               one moment (cellar_check).
 * INV-SQLITE-3: a transaction that has met another one's change ends in no commit: each call until SQLite ends it is
 *               SQLITE_BUSY_SNAPSHOT.
 */
#pragma once

#include "sqlite_calls.h"

#include <sqlite3ext.h>

#define SQLITE_LISTEN_MAKE "CREATE VIRTUAL TABLE IF NOT EXISTS temp.cellar_transaction USING cellar_transaction"
#define SQLITE_LISTEN_SAY "DELETE FROM temp.cellar_transaction"

#define SQLITE_TXN_LEVELS 256 /* nested savepoints of SQL, those of statements included */

/* A connection's part in a pool. */
struct sqlite_txn {
    struct sqlite_txn *next;
    struct sqlite_connection *connection;
    struct sqlite_pool *pool;
    bool runs; /* a transaction, in `calls` */
    struct sqlite_calls calls;
    uint32_t tables;  /* that are connected */
    uint32_t cursors; /* that are open */
    uint32_t running; /* of these, with rows to come */
    uint32_t reads;   /* calls that may have read; of one alone all was true at one moment */
    uint32_t checked; /* so many of them when it was checked last */
    bool doomed;      /* the transaction is over, and SQLite does not know yet */
    bool begun;       /* SQLite has said that it begins, and will say that it ends */
    int levels[SQLITE_TXN_LEVELS];
    uint32_t level_count;
};

/* What one SQLite connection has; also the table by which it listens (sqlite_listen.c). */
struct sqlite_connection {
    sqlite3 *db;
    struct sqlite_txn *txns;
};

/* The connection's part in that pool, with one more table; it takes over the caller's use of it. NULL: no memory. */
struct sqlite_txn *sqlite_txn_join(struct sqlite_connection *connection, struct sqlite_pool *pool);
void sqlite_txn_leave(struct sqlite_txn *txn);

/* Functions that return int return a code of SQLite, and on failure set the table's message. */

/* Before anything that reads or writes: the transaction runs. */
int sqlite_txn_ensure(struct sqlite_txn *txn, sqlite3_vtab *vtab);
/* The code of SQLite for what a call of the running transaction has returned. */
int sqlite_txn_failed(struct sqlite_txn *txn, sqlite3_vtab *vtab, int code);
/* Was all that it has read true at one moment? */
int sqlite_txn_check(struct sqlite_txn *txn, sqlite3_vtab *vtab);

int sqlite_txn_begin(struct sqlite_txn *txn, sqlite3_vtab *vtab);
int sqlite_txn_sync(struct sqlite_txn *txn, sqlite3_vtab *vtab);
/* Ends what is still there: after a commit, nothing; else without effect. */
void sqlite_txn_end(struct sqlite_txn *txn);
int sqlite_txn_savepoint(struct sqlite_txn *txn, sqlite3_vtab *vtab, int level);
int sqlite_txn_release(struct sqlite_txn *txn, sqlite3_vtab *vtab, int level);
int sqlite_txn_rollback_to(struct sqlite_txn *txn, sqlite3_vtab *vtab, int level);
/* A cursor has been closed: perhaps the statement is over. */
void sqlite_txn_rest(struct sqlite_txn *txn);

/* Sets the table's message, and returns the code. */
int sqlite_txn_refuse(sqlite3_vtab *vtab, int code, const char *format, ...);
