/*
 * sqlite_listen.h - cellar_transaction: an empty table in each connection's temp schema, by which the module hears of
 * the end of transactions that have only read (sqlite_txn.c).
 */
#pragma once

#include "sqlite_txn.h"

/* Registers the module and makes the table. A code of SQLite. */
int sqlite_listen_open(sqlite3 *db, struct sqlite_connection *connection);
