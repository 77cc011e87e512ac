/*
 * sqlite_calls.h - the calls of a transaction, written down with what they gave, so that it can be made again.
 *
 * Cellar ends a transaction (RETRY) whose reads another one has changed, and also one whose reads only lie where an
 * index was split, perhaps for this very transaction, or a key came beside one that was looked for. SQL cannot be run
 * again from here: the application has seen rows. But the calls can: when each of them gives in a new transaction what
 * it gave before, the application has seen nothing else than what the new one has read.
 *
 * INV-SQLITE-5: a transaction that was made again has had the same answer to each of its calls (by a hash of 128 bits);
 *               one that has not, or whose calls take more than SQLITE_CALLS_BYTES, is over.
 */
#pragma once

#include "sqlite_pool.h"
#include "sqlite_row.h"

#define SQLITE_CALLS_BYTES (64u << 20)

struct sqlite_calls {
    struct cellar *db;
    struct cellar_txn *txn; /* NULL: it is over */
    uint8_t *log;           /* behind `used` the call that is being made */
    uint64_t used, size;
    bool whole;                /* all calls are in the log */
    uint8_t *given;            /* the rows that a call is made with */
    uint64_t given_bytes;      /* room there */
    struct sqlite_rows again;  /* what calls give that are made again */
    struct cellar_error error; /* of the last call that failed */
};

/* A transaction begins, or is over. */
void sqlite_calls_begin(struct sqlite_calls *calls, struct cellar *db, struct cellar_txn *txn);
void sqlite_calls_free(struct sqlite_calls *calls);

/* As those of cellar.h, with RETRY only when what the transaction has read is another now. */

/* The row of that key, as far as these columns go, and its key: 0, with one row, or NOT_FOUND. */
int sqlite_calls_get(struct sqlite_calls *calls, const struct sqlite_shape *shape, uint64_t columns, const void *key,
                     struct sqlite_rows *rows);
/*
 * A batch of a range: `limit` rows at most, or fewer, when they have 16 MiB; how many. rows->more: the range goes on.
 * Of the scan's rows the columns `order` count.
 */
int sqlite_calls_scan(struct sqlite_calls *calls, const struct sqlite_shape *shape, const struct cellar_scan *scan,
                      uint64_t order, uint32_t limit, struct sqlite_rows *rows);
int sqlite_calls_put(struct sqlite_calls *calls, const struct sqlite_shape *shape, uint64_t columns, const void *row);
int sqlite_calls_insert(struct sqlite_calls *calls, const struct sqlite_shape *shape, const void *row);
int sqlite_calls_delete(struct sqlite_calls *calls, const struct sqlite_shape *shape, const void *key);
int sqlite_calls_savepoint(struct sqlite_calls *calls);
int sqlite_calls_rollback_to(struct sqlite_calls *calls, int savepoint);
int sqlite_calls_release(struct sqlite_calls *calls, int savepoint);
int sqlite_calls_check(struct sqlite_calls *calls);
/* Ends the transaction, whatever this returns. */
int sqlite_calls_commit(struct sqlite_calls *calls);
