/*
 * sqlite_pool.h - the databases that this process has open for SQLite: one for each pool file, shared by all
 * connections and threads, closed when the last of them has left it; and the sessions that their threads work with.
 *
 * A Cellar session belongs to a thread, a SQLite connection may move from one to another. So a connection has no
 * session of its own: it takes a *seat*, with a session of the calling thread, for as long as a transaction lasts.
 */
#pragma once

#include <cellar_lab.h>

struct sqlite_pool;
struct sqlite_seat {
    struct sqlite_pool *pool;
    struct cellar_session *session;
    struct cellar_txn *txn; /* the one that runs */
    int thread;             /* whose session it is */
    enum {
        SQLITE_SEAT_FREE,
        SQLITE_SEAT_TAKEN,
        SQLITE_SEAT_LEFT /* another thread has risen: the session's own thread ends it when it sits down next */
    } state;
};

/* Of a pool that is made: its file's size, and for how many processes it is. */
struct sqlite_pool_shape {
    uint64_t bytes;
    uint32_t processes;
};
/* The pool of that file, open. `shape`: made if there is none; else NULL. NULL, with the line in *error. */
struct sqlite_pool *sqlite_pool_open(const char *path, const struct sqlite_pool_shape *shape,
                                     struct cellar_error *error);
/* Another user of it. */
struct sqlite_pool *sqlite_pool_share(struct sqlite_pool *pool);
/* Each open and share is closed once; the last one closes the database. */
void sqlite_pool_close(struct sqlite_pool *pool);
struct cellar *sqlite_pool_db(struct sqlite_pool *pool);

/* A session of the calling thread, with a transaction that begins. NULL, with the line in *error. */
struct sqlite_seat *sqlite_pool_sit(struct sqlite_pool *pool, struct cellar_error *error);
/* Is the calling thread the one that has sat down? */
bool sqlite_pool_is_mine(const struct sqlite_seat *seat);
/* Gives it back, by any thread; a transaction that runs has no effect. */
void sqlite_pool_rise(struct sqlite_seat *seat);
