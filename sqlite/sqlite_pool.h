/*
 * sqlite_pool.h - the databases that this process has open for SQLite: one for each pool file, shared by all
 * connections and threads, closed when the last of them has left it.
 */
#pragma once

#include <cellar_lab.h>

struct sqlite_pool;

/* Of a pool that is made: its file's size, and for how many processes it is. */
struct sqlite_pool_shape {
    uint64_t bytes;
    uint32_t processes;
};
/* The pool of that file, open. `shape`: made if there is none; else NULL. NULL, with the line in *error. */
struct sqlite_pool *sqlite_pool_open(const char *path, const struct sqlite_pool_shape *shape,
                                     struct cellar_error *error);
/* Each open is closed once; the last one closes the database. */
void sqlite_pool_close(struct sqlite_pool *pool);
struct cellar *sqlite_pool_db(struct sqlite_pool *pool);

/* A transaction that begins, for whichever thread. NULL, with the line in *error. */
struct cellar_txn *sqlite_pool_begin(struct sqlite_pool *pool, struct cellar_error *error);
