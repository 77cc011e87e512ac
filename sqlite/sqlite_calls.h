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

#define SQLITE_CALLS_BYTES (64u << 20)

struct sqlite_calls {
    struct cellar *db;
    struct cellar_txn *txn; /* NULL: it is over */
    uint8_t *log;
    uint64_t used, size;
    bool whole;           /* all calls are in the log */
    uint64_t answer_most; /* bytes of the largest answer to one of them */
    uint8_t *value;       /* of variable length, the one that was read last */
    size_t value_bytes, value_room;
    struct cellar_error error; /* of the last call that failed */
};

/* A transaction begins, or is over. */
void sqlite_calls_begin(struct sqlite_calls *calls, struct cellar *db, struct cellar_txn *txn);
void sqlite_calls_free(struct sqlite_calls *calls);

/* As those of cellar.h, with RETRY only when what the transaction has read is another now. */
int sqlite_calls_get(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column,
                     uint32_t bytes, void *value);
/* Is there such a record: 0 or NOT_FOUND, by a read of that column, whose value counts for nothing. */
int sqlite_calls_there(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column);
int sqlite_calls_scan(struct sqlite_calls *calls, const struct cellar_index *index, const struct cellar_range *range,
                      uint32_t row_bytes, cellar_cells cells, uint32_t flags, uint64_t *keys, uint64_t limit);
/* The index's columns as well: `found` has room for `limit` keys and, after all these, as many rows. */
int sqlite_calls_scan_rows(struct sqlite_calls *calls, const struct cellar_index *index,
                           const struct cellar_range *range, uint32_t row_bytes, uint32_t flags, void *found,
                           uint64_t limit);
int sqlite_calls_find(struct sqlite_calls *calls, const struct cellar_table *table, const void *key, uint32_t bytes,
                      uint64_t *record);
/* Of a column of variable length, whole: calls->value, until the next call. */
int sqlite_calls_get_bytes(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column);
int sqlite_calls_put_bytes(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column,
                           uint32_t bytes, const void *value);
int sqlite_calls_put(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, int column,
                     uint32_t bytes, const void *value);
int sqlite_calls_insert(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, uint32_t row_bytes,
                        const void *row);
int sqlite_calls_add(struct sqlite_calls *calls, const struct cellar_table *table, uint32_t row_bytes, const void *row,
                     uint64_t *record);
int sqlite_calls_delete(struct sqlite_calls *calls, const struct cellar_table *table, uint64_t key, bool keyed);
int sqlite_calls_savepoint(struct sqlite_calls *calls);
int sqlite_calls_rollback_to(struct sqlite_calls *calls, int savepoint);
int sqlite_calls_release(struct sqlite_calls *calls, int savepoint);
int sqlite_calls_check(struct sqlite_calls *calls);
/* Ends the transaction, whatever this returns. */
int sqlite_calls_commit(struct sqlite_calls *calls);
/* Only brings records near: it is not written down. */
int sqlite_calls_prefetch(struct sqlite_calls *calls, const struct cellar_txn_read *read);
