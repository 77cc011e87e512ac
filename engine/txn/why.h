/*
 * why.h - what the code of a call is about, beyond what the code itself says (struct cellar_detail): db_result.c makes
 * the line of it.
 */
#pragma once

/* X(name, text). */
#define WHY_MAP(X)                                                                                                     \
    X(CODE, "")                                                                                                        \
    X(NO_TABLE, "the table is NULL")                                                                                   \
    X(CELLS, "cells that the table does not have, or unknown flags")                                                   \
    X(REFERENCE, "no declaration gave this reference")                                                                 \
    X(NO_COLUMN, "the table has no column of this number")                                                             \
    X(RETURNED, "the procedure returned a code that none of its calls did")                                            \
    X(NOT_READ, "its cell was not declared")                                                                           \
    X(NOT_WRITTEN, "its cell was not declared to be written")                                                          \
    X(NOTHING_WRITTEN, "no cell was declared to be written")                                                           \
    X(NEVER_FETCHED, "declared after the last fetch")                                                                  \
    X(RECORDS_MAX,                                                                                                     \
      "more records, nodes of indexes included, than the procedure's records_max or an interactive call allows")       \
    X(WRITES_MAX, "more written records than the procedure's writes_max or an interactive call allows")                \
    X(COPIES, "its copies of records take more bytes than a coordinator has for them")                                 \
    X(BUCKETS, "more index buckets than a transaction may touch")                                                      \
    X(LOCKS, "more locks than a transaction may hold")                                                                 \
    X(LOG_BYTES, "its redo-log entry takes more bytes than half of log_bytes: raise cellar_lab.log_bytes")             \
    X(RECORD_CACHE, "more versions than the record cache has bytes for")                                               \
    X(CHAIN, "its index chain is full: it has many more rows than it was made for (`rows`)")                           \
    X(POOL, "a memory node has no space left: delete records, or make a larger pool")                                  \
    X(TIMESTAMPS, "no timestamp is left")                                                                              \
    X(INDEX, "the index leads to no place of a record")                                                                \
    X(TIMEOUT, "its timeout, in nanoseconds")                                                                          \
    X(ATTEMPTS, "attempts in a row met a memory node that did not answer")                                             \
    X(ATTEMPTS_MAX, "attempts_max")                                                                                    \
    X(RANGE, "the ends of the range are reversed, or its columns are not those of the index")                          \
    X(NO_INDEX, "the index is NULL")                                                                                   \
    X(CURSOR, "no cursor of this number is open")                                                                      \
    X(CURSORS, "more cursors than may be open at once")                                                                \
    X(UNIQUE, "a unique index has another record with these columns")                                                  \
    X(TREE, "nodes of an ordered index contradict each other")                                                         \
    X(LOCK, "a lock names a compute node that is none, or that has given all its locks back")                          \
    X(CHANGED, "what the transaction has read was changed by another one")                                             \
    X(SCHEMA, "a table was dropped or emptied, or an index made, since the transaction began")                         \
    X(ENDED, "the transaction has ended, or is a procedure's")                                                         \
    X(OPEN, "it has a transaction that has not ended")                                                                 \
    X(READ_ONLY, "the transaction was begun read-only")                                                                \
    X(THREAD, "it belongs to another thread")                                                                          \
    X(CLOSED, "it is closed, or was opened before a fork by the process that is this one's parent")                    \
    X(INSIDE, "a procedure or a client function makes a call that would wait for itself")                              \
    X(AMID, "a call of this transaction has not returned: it was left by a jump, or this is a signal handler")         \
    X(BESIDE, "another thread is in this transaction")                                                                 \
    X(RUNNING, "within cellar_run return instead: 0 commits")                                                          \
    X(FOREIGN, "the table, index or procedure is of another database, or of one that was closed")                      \
    X(SAVEPOINT, "the transaction has no such savepoint")                                                              \
    X(SAVEPOINTS_MAX, "more savepoints than a transaction may have")                                                   \
    X(KEYED, "the table's keys are byte strings: add, find and remove its records")                                    \
    X(TYPED, "the table has typed columns: cellar_insert, cellar_delete and cellar_cursor_open are for its rows")      \
    X(NOT_KEYED, "the table's keys are integers")                                                                      \
    X(KEY_BYTES, "a key has 1 byte at least, and no more than the table's key_bytes")                                  \
    X(TWINS, "a key and the number of its record contradict each other")                                               \
    X(TWINS_MAX, "more keys of one hash than there may be")                                                            \
    X(VARIABLE, "a column of variable length, or its table's records: interactive transactions write those, as bytes") \
    X(NOT_VARIABLE, "the column's values have fixed length")                                                           \
    X(VALUE_BYTES, "more bytes than a value may have")                                                                 \
    X(VALUE_ROOM, "more bytes than there is room for")                                                                 \
    X(VALUE, "a value of variable length and what lies beside its row contradict each other")                          \
    X(OPTIONS, "unknown flags")                                                                                        \
    X(SCAN_LIMIT, "a scan wants room for 1 to 2,048 keys")                                                             \
    X(DISK, "the disk of the durable folder has failed, or is full")                                                   \
    X(LOCK_NS, "lock_us is more than a second")                                                                        \
    X(LOCK_BOUND, "lock_us has passed since it locked for update: what it had locked was given back")                  \
    X(LOCK_DISTURBED, "its compute node had to stand still: what it had locked for update was given back")             \
    X(INTERACTIVE_RECORDS, "more records than an interactive transaction may read or change")                          \
    X(INTERACTIVE_LOG_BYTES, "its redo-log entry takes more bytes than an interactive transaction's may")              \
    X(DURABLE_LOG_BYTES, "its redo-log entry takes more bytes than a quarter of the folder's log: raise log_bytes")    \
    X(INDEXED_MAX, "more entries of ordered indexes come and go than those of one transaction may")                    \
    X(LOG_EXTENT, "no memory for it, or a memory node has no space left for its redo-log entry")                       \
    X(NO_MEMORY_GIVEN, "where something is to be read from, or written to, is NULL")                                   \
    X(LEVEL, "no such level")

enum why {
#define X(name, text) WHY_##name,
    WHY_MAP(X)
#undef X
};
