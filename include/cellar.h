/*
 * cellar.h - the embeddable API of Cellar, a strictly serializable transaction engine for disaggregated memory: what an
 * embedder needs. Stored procedures are in cellar_proc.h, memory nodes of their own in cellar_cluster.h, and what
 * experiments choose and measure in cellar_lab.h.
 *
 * A database lives in the memory of this process, of a pool file, or of memory nodes. A transaction is interactive
 * (begin, get, put, commit, on the calling thread), or one run of a stored procedure.
 *
 * Limits
 *   keys                 columns of any type, CELLAR_KEY_BYTES_MAX bytes together. Ranges and secondary keys by
 *                        ordered indexes (at most CELLAR_INDEXES_MAX a table)
 *   columns              fixed width, 1..CELLAR_COLUMN_BYTES_MAX bytes, or variable length, up to
 *                        CELLAR_VALUE_BYTES_MAX bytes; at most CELLAR_COLUMNS_MAX a table
 *   cells                at most CELLAR_CELLS_MAX a table; columns that share a cell are locked together
 *   tables               64 places in a pool: each has one, each of its orders one more, and six its long values
 *   a transaction        CELLAR_INTERACTIVE_RECORDS_MAX records, and a redo-log entry of CELLAR_INTERACTIVE_LOG_BYTES,
 *                        with a folder a quarter of options.log_bytes at most; one of a procedure less (cellar_proc.h)
 *   processes            of a pool file as many as options.processes_max says; of memory nodes cellar_cluster.h
 *   durability           with a folder what a call has acknowledged is on the disk, and survives the loss of power.
 *                        Without, the pool is memory: a pool file survives a clean close, and a killed process, whose
 *                        next open recovers it
 *
 * Ownership: what a call takes by pointer is copied unless its comment says otherwise. Threads: functions that take a
 * struct cellar may be called from any thread, at once; an interactive transaction from any one at a time. Errors:
 * functions return 0 (or a non-negative value) or a negative code, an enum cellar_code, and then cellar_last_error has
 * one line to it; INVALID, too, for a pointer that is NULL and must not be. Structs that begin with `size` may grow in
 * later versions, at their end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CELLAR_VERSION_MAJOR 0
#define CELLAR_VERSION_MINOR 1
#define CELLAR_VERSION_PATCH 0

#define CELLAR_CELLS_MAX 20
#define CELLAR_COLUMNS_MAX 64
#define CELLAR_COLUMN_BYTES_MAX 4096
#define CELLAR_INDEXES_MAX 8       /* of one table */
#define CELLAR_INDEX_COLUMNS_MAX 8 /* of one index, with those covered */
#define CELLAR_TXN_RECORDS_MAX 2048
#define CELLAR_INTERACTIVE_RECORDS_MAX (1 << 17)
#define CELLAR_INTERACTIVE_LOG_BYTES (128 << 20)
#define CELLAR_NAME_BYTES 32
#define CELLAR_KEY_BYTES_MAX 512
#define CELLAR_VALUE_BYTES_MAX (1 << 20)
#define CELLAR_SHORT_BYTES 256

#if defined(__GNUC__)
#define CELLAR_NODISCARD __attribute__((warn_unused_result))
#define CELLAR_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define CELLAR_NODISCARD
#define CELLAR_PRINTF(f, a)
#endif

/* ---- errors: operating errors and outcomes of a call ----------------------------------------------- */

/* X(name, number, text). Numbers are stable. */
#define CELLAR_ERROR_MAP(X)                                                                                            \
    X(INVALID, -1, "invalid argument")                                                                                 \
    X(NOMEM, -2, "out of local memory")                                                                                \
    X(UNREACHABLE, -3, "memory node not reached; the operation surely did not run")                                    \
    X(INDETERMINATE, -4, "reply lost; the operation may have run")                                                     \
    X(FENCED, -5, "this compute node has been declared dead")                                                          \
    X(MISMATCH, -6, "memory node was formatted by another version, layout or shape")                                   \
    X(FULL, -7, "no space left for this table or pool")                                                                \
    X(NOT_FOUND, -8, "no record has this key")                                                                         \
    X(EXISTS, -9, "a record or object of this key or name exists already")                                             \
    X(TOO_LARGE, -10, "larger than declared or than fits")                                                             \
    X(DEADLINE, -11, "the deadline passed before the transaction could commit")                                        \
    X(CANCELLED, -12, "the call was cancelled")                                                                        \
    X(CLOSED, -13, "the database is closed, or closing")                                                               \
    X(SYSTEM, -14, "the operating system refused")                                                                     \
    X(CORRUPT, -15, "remote bytes fail their checks")                                                                  \
    X(UNSUPPORTED, -16, "not built in or not possible here")                                                           \
    X(RETRY, -17, "aborted: another transaction came between; a procedure returns it at once, and is tried again")     \
    X(BUSY, -18, "what is under way has to end first")                                                                 \
    X(DROPPED, -19, "the table or index was dropped: this handle leads nowhere")

enum cellar_code {
    CELLAR_OK = 0,
#define X(name, number, text) CELLAR_##name = number,
    CELLAR_ERROR_MAP(X)
#undef X
};

/* A code, negative, with one line that says what was wrong and what would be right; 0, and no line, before any. */
struct cellar_error {
    int code;
    char text[240];
};

/*
 * The last call of this thread that has returned a negative code; valid until the next one does. Never NULL. Calls on a
 * transaction within a procedure, and cellar_lab_exec, say nothing here: the result has it (cellar_proc_error).
 */
const struct cellar_error *cellar_last_error(void);
/* The text of a code; never NULL. */
const char *cellar_strerror(int code);
/* May a transaction that ended with this code be tried again, as a new one? True for RETRY alone. */
bool cellar_retryable(int code);
/* "0.1.0" of the library that is running. */
const char *cellar_version(void);

/* ---- opening --------------------------------------------------------------------------------------- */

struct cellar;        /* an open database: the compute nodes of this process and their memory */
struct cellar_table;  /* a table's handle; valid until cellar_close, but DROPPED once the table is */
struct cellar_index;  /* an index's; likewise */
struct cellar_txn;    /* one attempt of a procedure, valid inside it only; or an interactive transaction */
struct cellar_cursor; /* rows of a range, one batch after the other; ends with its transaction */

enum cellar_log_level { CELLAR_LOG_DEBUG, CELLAR_LOG_INFO, CELLAR_LOG_WARNING, CELLAR_LOG_ERROR };
/* May be called from any thread, never from two at once; text is valid during the call only. */
typedef void (*cellar_log_fn)(void *arg, enum cellar_log_level level, const char *text);

/* When a call is acknowledged: its commit, and what it tells of what it has read. */
enum cellar_durability {
    CELLAR_DEFAULT, /* the database's; of a database with a folder DURABLE, else MEMORY */
    CELLAR_MEMORY,  /* when it is in the memory of replicas + 1 memory nodes */
    CELLAR_DURABLE  /* when all that it rests on is on the disk, too */
};

/* Each has a bit of its own: one in the wrong place is INVALID. */
enum cellar_flags {
    CELLAR_EXISTING = 1 << 0, /* of cellar_open, cellar_table_open: NOT_FOUND where there is none: none is made */
    /*
     * Of cellar_open, of a pool that is there: what changes stays in this process's memory and is gone when it closes.
     * The pool may be read-only, and stays as it is, even if it has to be recovered. Several may look at one so, none
     * while it is in use. Of a folder nothing can be durable then.
     */
    CELLAR_PRIVATE = 1 << 1,
    CELLAR_ADD = 1 << 2,           /* of cellar_table_open: indexes that the table lacks are made, too; else MISMATCH */
    CELLAR_ORDERED = 1 << 3,       /* of a table: cursors go by its key; an index entry for each insert and delete */
    CELLAR_KEY = 1 << 4,           /* of a column: a part of the key, in the order of the columns */
    CELLAR_UNIQUE = 1 << 5,        /* of an index: no two rows have the same columns: a change that would is EXISTS */
    CELLAR_READ_ONLY = 1 << 6,     /* of a transaction: writes are refused */
    CELLAR_BACKWARD = 1 << 7,      /* of a scan: from the high end down */
    CELLAR_PREFIX = 1 << 8,        /* of a scan: the last of the columns that count at an end says how values begin */
    CELLAR_FROM_EXCLUDED = 1 << 9, /* of a scan: rows whose columns equal those of `from` are left out; */
    CELLAR_TO_EXCLUDED = 1 << 10   /* ... those of `to` */
};

/* `size` first, as in each struct that may grow: CELLAR_OPTIONS sets it. All else zero is usable. */
struct cellar_options {
    uint32_t size, flags; /* EXISTING, PRIVATE */
    uint64_t bytes;       /* of the pool that is made (64 MiB); one that is there keeps its own */
    /*
     * Of a path where nothing is: MEMORY makes a pool file, else a folder is made. Of all databases: the level of calls
     * that do not say otherwise.
     */
    enum cellar_durability durability;
    uint32_t txns_max; /* interactive transactions that may be open at once (64); with `threads` at most 128 */
    uint32_t threads;  /* worker threads for procedures (1) */
    /*
     * Of a pool file that is made: how many processes may have it open at once (7); a table of many cells allows no
     * more. A file that is there keeps its own number; EXISTS when it has no place left.
     */
    uint32_t processes_max;
    /* Of a folder: while no call waits for the disk, what is to be durable goes there so often (2,000; 100 to 10^6). */
    uint64_t epoch_us;
    uint64_t log_bytes; /* of a folder: its log, which a checkpoint frees at half (`bytes`, 256 MiB to 4 GiB) */
    cellar_log_fn log;  /* NULL: silent */
    void *log_arg;
    const struct cellar_cluster *cluster; /* NULL: memory of this process. Else memory nodes: cellar_cluster.h */
    const struct cellar_lab *lab;         /* NULL: the product. Else for experiments: cellar_lab.h */
};
#define CELLAR_OPTIONS(...) (&(const struct cellar_options){.size = sizeof(struct cellar_options), __VA_ARGS__})

/*
 * Opens a database, or makes it. What `path` leads to says how it is kept:
 *
 *     NULL      memory of this process, gone when it closes (or options->cluster: of memory nodes)
 *     a folder  a log of what commits, and checkpoints: what a call has acknowledged at level DURABLE survives the loss
 *               of power. The pool itself is anonymous memory, restored from there. One process has it at a time. What
 *               cellar_lab_load has made, tables and indexes are durable after the next durable
 *               transaction, after cellar_sync, or after cellar_close
 *     a file    the pool as it is in memory: survives a clean close, and processes that are killed, whose next open
 *               recovers it; not the loss of power. Several processes may have it open at once, by this path alone
 *               (docs/pool-files.md); the last one closes it
 *     nothing   a folder is made; with durability MEMORY a file
 *
 * New memory is formatted; else the layout fingerprint is compared and the catalog read. A pool that was closed is
 * compared with its checksums; one that was not is examined and recovered. A file that is refused as CORRUPT has not
 * changed by a byte. options NULL: all zero. On failure *db is NULL. NOT_FOUND, MISMATCH, CORRUPT, EXISTS, FULL,
 * SYSTEM. BUSY: other processes open it, and end, all the while.
 */
CELLAR_NODISCARD int cellar_open(const char *path, const struct cellar_options *options, struct cellar **db);
/*
 * Refuses new calls and waits for those that run. An attempt that has begun is finished, and its call has its
 * result. A call that would have to try again ends with CLOSED and without effect, and so does each later
 * cellar_lab_exec of a client function: closing waits for no lock. Then leaves the pool, marks a pool file clean,
 * with checksums of what is in use, closes its queues, and frees everything. Returns 0; NULL is allowed.
 * BUSY: a transaction has not ended, of a thread that lives: the database stays open, and the log says so. CLOSED: it
 * is closed, or another thread closes it. INVALID: a procedure or a client function calls.
 *
 * Handles of databases, tables, indexes, procedures, transactions and queues may be used after it: such calls return
 * CLOSED, or INVALID where they are made to another database, and those that return a pointer or a sum NULL or 0. In a
 * child of fork the database is the parent's: each call returns CLOSED at once, and its close frees nothing.
 */
int cellar_close(struct cellar *db);

/*
 * Waits until a transaction that has ended, of whatever level, is durable, and with it all that had ended before this
 * call: the `epoch` of its result; 0: all of them. For those who commit many at level MEMORY, and wait once. Not from a
 * procedure or client function. INVALID: the database has no folder, or has not come to that epoch yet. SYSTEM, FULL:
 * the disk has failed, or is full, with the line that says so. CLOSED.
 */
CELLAR_NODISCARD int cellar_sync(struct cellar *db, uint64_t epoch);
/*
 * Calls whose result has this epoch, or an earlier one, are on the disk. It grows. For who makes calls at level MEMORY
 * and acknowledges them later, in any thread. 0: the database has no folder.
 */
uint64_t cellar_durable_epoch(struct cellar *db);
/*
 * Writes a copy of the pool to a new file, as of one moment while transactions run: with the effects of all that were
 * acknowledged before the call, of no part of one, and of none that began after it has returned. The file is a pool as
 * a process leaves it that ends at that moment; who opens it recovers it. Transactions stand still several times, for
 * as long as those under way take to end, and the last time also while what was written lately is copied. From any
 * thread that is not a procedure's; it needs a transaction's place (cellar_options.txns_max). EXISTS: there is such a
 * file. BUSY: another process has the pool open, or opens it meanwhile; whole-table work is under way; another backup
 * is. FULL: no place of a transaction. SYSTEM: the file cannot be written; nothing is left of it. UNSUPPORTED: a pool
 * of several memory nodes.
 */
CELLAR_NODISCARD int cellar_backup(struct cellar *db, const char *path);

/* ---- tables of typed columns, whose rows are structs of the program's (docs/rows.md) ---------------- */

enum cellar_type {
    CELLAR_NO_TYPE, /* INVALID: a pointer, for instance */
    CELLAR_UINT,    /* 1, 2, 4 or 8 bytes, as this machine has them; */
    CELLAR_INT,     /* ... likewise, in two's complement; */
    CELLAR_FLOAT,   /* ... 4 or 8; in keys -0 is 0, and NaN is one value, above all others */
    CELLAR_FIXED,   /* as many bytes as the field has */
    CELLAR_BYTES    /* 0 to bytes_max bytes; the field is a struct cellar_bytes */
};
struct cellar_bytes {
    const void *data;
    size_t bytes;
};
#define CELLAR_TEXT(text) ((struct cellar_bytes){(text), strlen(text)}) /* evaluates text twice */
struct cellar_column {
    const char *name;
    uint32_t offset, bytes; /* of its field in the row struct */
    uint32_t type, flags;   /* enum cellar_type; KEY */
    /*
     * Of BYTES. In keys (1 at least), and up to CELLAR_SHORT_BYTES, each row has room for so many. Else (0:
     * CELLAR_VALUE_BYTES_MAX) what is longer than 40 bytes lies beside the row, and the table takes seven places of the
     * pool's 64.
     */
    uint32_t bytes_max;
    uint32_t cell; /* 1 .. CELLAR_CELLS_MAX: those of one number are locked together; 0: by itself, as far as they go */
};
/* A column of that field: its name, place, width and type. */
#define CELLAR_FIELD(type_, field)                                                                                     \
    .name = #field, .offset = (uint32_t)offsetof(type_, field), .bytes = (uint32_t)sizeof(((type_ *)0)->field),        \
    .type = CELLAR_TYPE_AT(&((type_ *)0)->field)
#define CELLAR_TYPE_AT(field)                                                                                          \
    _Generic((field), bool *: CELLAR_UINT, unsigned char *: CELLAR_UINT, unsigned short *: CELLAR_UINT,                \
             unsigned *: CELLAR_UINT, unsigned long *: CELLAR_UINT, unsigned long long *: CELLAR_UINT,                 \
             signed char *: CELLAR_INT, short *: CELLAR_INT, int *: CELLAR_INT, long *: CELLAR_INT,                    \
             long long *: CELLAR_INT, float *: CELLAR_FLOAT, double *: CELLAR_FLOAT,                                   \
             struct cellar_bytes *: CELLAR_BYTES, char **: CELLAR_NO_TYPE, const char **: CELLAR_NO_TYPE,              \
             void **: CELLAR_NO_TYPE, const void **: CELLAR_NO_TYPE, default: CELLAR_FIXED)

/* An index of a table: its rows in the order of these columns and, where those are equal, of the key. */
struct cellar_index_def {
    const char *name;    /* with the table's at most CELLAR_NAME_BYTES - 2 bytes; no slash, and no bracket first */
    const char *columns; /* "city, -age": first by city, then by age downward; those of the key may be among them */
    /*
     * NULL, or columns that are in the index, too, but do not order it: "name, mail". A scan that wants nothing but
     * columns of its index (those but floats) and of the key reads no rows.
     */
    const char *covers;
    uint32_t flags, reserved; /* UNIQUE */
};
struct cellar_table_def {
    uint32_t size, row_bytes;            /* sizeof the row struct */
    const char *name;                    /* at most CELLAR_NAME_BYTES - 1 bytes */
    const struct cellar_column *columns; /* the struct may leave some of the table's out, but none of the key */
    uint32_t column_count;
    uint32_t cluster_bits; /* of one that is made: keys that differ in so few low bits (0 .. 8) lie together */
    uint64_t rows;         /* ... and how many are expected, which sizes its index (65,536) */
    const struct cellar_index_def *indexes; /* those of the table that the program wants to be there */
    uint32_t index_count, flags;            /* ORDERED */
};
#define CELLAR_TABLE(type, columns_, ...)                                                                              \
    (&(const struct cellar_table_def){.size = sizeof(struct cellar_table_def),                                         \
                                      .row_bytes = sizeof(type),                                                       \
                                      .columns = (columns_),                                                           \
                                      .column_count = sizeof(columns_) / sizeof *(columns_),                           \
                                      __VA_ARGS__})
/* All of an array of indexes, within CELLAR_TABLE: .indexes and .index_count. */
#define CELLAR_INDEXES(array) .indexes = (array), .index_count = sizeof(array) / sizeof *(array)
/*
 * Sets of columns, by their numbers in the definition. As `columns` 0 means all, too, as `lock` none. Those of the key
 * alone: is the row there?
 */
#define CELLAR_COL(number) ((uint64_t)1 << (number))
#define CELLAR_ALL UINT64_MAX

/*
 * The table of that name, for rows of this struct; made if there is none. Its key are columns of any type, at most
 * CELLAR_KEY_BYTES_MAX bytes together; up to 8 bytes without BYTES are quickest, and take no room in the row. Columns
 * that the struct leaves out are not touched; in rows that it inserts they are zero. The same definition gives the same
 * handle. Without columns: all that the table has, in rows that the library lays out (cellar_table_describe); for
 * programs that do not know their tables.
 *
 * Indexes, and the order of the key (ORDERED), are made with the table, all or nothing, or with flag ADD for one that
 * is there; as tables are dropped (below). Columns of one, the key's behind them and those that it covers have at most
 * 96 bytes together (BYTES two more than bytes_max), and none is BYTES beside the row; there are at most
 * CELLAR_INDEXES_MAX and CELLAR_INDEX_COLUMNS_MAX.
 *
 * flags: EXISTING, ADD. NOT_FOUND; MISMATCH: a column or index is not the table's, or another one; EXISTS: an index is
 * UNIQUE, and two rows are not; FULL, INVALID, BUSY. UNSUPPORTED: in mode motor of the laboratory nothing has an order.
 */
CELLAR_NODISCARD int cellar_table_open(struct cellar *db, const struct cellar_table_def *def, uint32_t flags,
                                       const struct cellar_table **table);
/*
 * What a handle is of, as a definition: columns with their places in its rows, and the indexes that the table has now.
 * def->size is the caller's to set. What it points to is the library's until cellar_close. INVALID, CLOSED, NOMEM.
 */
CELLAR_NODISCARD int cellar_table_describe(struct cellar *db, const struct cellar_table *table,
                                           struct cellar_table_def *def);
/*
 * The name of the table that comes after that name (NULL: of the first), by their bytes; NULL: there is none. Of the
 * tables that this process knows: those that were there when it opened the pool, and those that it has opened since.
 */
const char *cellar_table_next(struct cellar *db, const char *after);

/*
 * Drops a table with its indexes, or takes all its records. From any thread that is not a procedure's: it waits for
 * procedures, and calls of transactions, that are under way, and others wait until it is done. Interactive transactions
 * that are open end with RETRY, and what they have locked is given back. BUSY: another process uses the pool, or whole
 * tables are read or loaded; a process that opens the pool at that moment is either refused nothing, and then this is
 * BUSY, or does not find the table. The space is used again, by any table. Each is done or not done, whenever the
 * process ends: the next one that is alone with the pool goes on with what was begun. Handles of what was dropped stay
 * valid for calls to refuse: DROPPED. INDETERMINATE: memory node 0 did not answer, so that it is not known whether it
 * was done, and this database has stopped (FENCED); or a table is half emptied, and its handle says DROPPED. Either way
 * the next opening of the pool settles it. Any other error: nothing has changed.
 */
CELLAR_NODISCARD int cellar_table_drop(struct cellar *db, const struct cellar_table *table);
CELLAR_NODISCARD int cellar_table_truncate(struct cellar *db, const struct cellar_table *table);

/*
 * Gives a table the columns of another definition, of the same name and key: rows keep those that both have, by name,
 * lose those that it leaves out, and get the new ones from `row`, a row as it lays them out (NULL: zeros; new BYTES
 * beside the row begin empty). BYTES within the row may get another bytes_max (TOO_LARGE: a row has more), the index
 * more room by `.rows` (0: as it was); cells and cluster_bits may be others. Indexes and the key's order stay; a column
 * of one cannot go. As cellar_table_drop, but all rows are written anew, and the pool has room for both until it is
 * done: *altered is the table's handle then, other ones say DROPPED. MISMATCH: a column of that name has another type
 * or width, or the key is another one. FULL, INVALID, UNSUPPORTED.
 */
CELLAR_NODISCARD int cellar_table_alter(struct cellar *db, const struct cellar_table *table,
                                        const struct cellar_table_def *def, const void *row,
                                        const struct cellar_table **altered);

/* As cellar_table_drop, of an index alone. */
CELLAR_NODISCARD int cellar_index_drop(struct cellar *db, const struct cellar_index *index);
/* The table's index of that name, or NULL. */
const struct cellar_index *cellar_index_find(const struct cellar_table *table, const char *name);

/* ---- results ---------------------------------------------------------------------------------------- */

struct cellar_detail {
    uint32_t why;                     /* the number of a reason, which the line has in words; no promise */
    int32_t column;                   /* -1: none */
    const struct cellar_table *table; /* NULL: none; else with the key */
    uint64_t key;
    uint64_t limit; /* the limit that was passed, or the number that is wrong, as the line says; 0: none */
};

struct cellar_result {
    int code; /* 0: committed, else what the call has returned; one other than INDETERMINATE means: no effect */
    uint32_t attempts;           /* 1 when it committed at once */
    uint64_t latency_ns;         /* from the call to the acknowledgement */
    uint64_t txn_id[2];          /* (compute node, coordinator, incarnation), sequence */
    struct cellar_detail detail; /* only when code is not 0: set then */
    /* What it tells is on the disk once cellar_durable_epoch has come to this number; 0: it rests on nothing there. */
    uint64_t epoch;
};

/* ---- interactive transactions ---------------------------------------------------------------------- */

/*
 * Begin, read, write, commit, from the caller's own code, which may take any time between two calls: nothing is locked
 * before cellar_commit, unless a read has asked for it (`lock`). The commit checks that all that was read is as it was
 * then. Such transactions are strictly serializable, with procedures beside them. What one reads before may
 * be inconsistent, and not on the disk yet: ask cellar_check before you rely on it.
 *
 * Any thread may use a transaction, one at a time. Its calls run on that thread. After RETRY the transaction is over:
 * abort it, and begin again (cellar_run does); so it is when its locks are lost. After any
 * other code of a call it goes on, as if that call had not been made; cellar_commit ends it whatever it returns.
 */

#define CELLAR_TXNS_MAX 127
#define CELLAR_CURSORS_MAX 8 /* open at once, in one transaction */
#define CELLAR_SAVEPOINTS_MAX 64

struct cellar_txn_options {
    uint32_t size, flags;              /* READ_ONLY */
    enum cellar_durability durability; /* of cellar_commit and cellar_check; as in cellar_call_options */
    uint32_t attempts_max;             /* of cellar_run: then RETRY; 0: no bound */
    /* 0: none. Counts from cellar_begin, or cellar_run; after it each call that would wait ends with DEADLINE */
    uint64_t timeout_us;
    /* 0: 100,000; at most 10^6. So long after the first read with a lock what is locked is given back. */
    uint64_t lock_us;
    /* NULL, or a word that another thread sets to non-zero: then CANCELLED; valid until the transaction has ended. */
    const uint32_t *cancel;
};
#define CELLAR_TXN(...) (&(const struct cellar_txn_options){.size = sizeof(struct cellar_txn_options), __VA_ARGS__})

/*
 * Begins a transaction. One that was left open, and whose last call was of a thread that has ended, is aborted when its
 * place is needed. options NULL: all zero. BUSY: options.txns_max are open. UNSUPPORTED: in modes of the laboratory
 * that lock what they read. FULL: the pool has no space for its log. CLOSED, INVALID, NOMEM, SYSTEM.
 */
CELLAR_NODISCARD int cellar_begin(struct cellar *db, const struct cellar_txn_options *options, struct cellar_txn **txn);
/*
 * Runs fn in a transaction on this thread and commits it: again, after a random wait, as long as that ends with RETRY.
 * fn returns 0 to commit, a positive number of its own, or the code of a call that failed, to end it without effect: it
 * may run many times, sets its results anew each time, and neither commits nor aborts. Returns what the last run came
 * to; what fn has returned once all that it had read was true at one moment. options and result may be NULL. As
 * cellar_begin and cellar_commit.
 */
typedef int (*cellar_txn_fn)(struct cellar_txn *txn, void *arg);
CELLAR_NODISCARD int cellar_run(struct cellar *db, cellar_txn_fn fn, void *arg,
                                const struct cellar_txn_options *options, struct cellar_result *result);

/*
 * Rows of a table of typed columns. `columns` and `lock` are sets of columns (CELLAR_COL); `row_bytes` is sizeof *row:
 * macros of the same names, below, fill it in.
 *
 * cellar_get fills these columns of the row whose key *row has, as the transaction sees them: as it has put them, else
 * as it has read them first, else as they are now, which takes a round trip; one more where BYTES lie beside the row.
 * BYTES are lent: they stand until the transaction ends. What two calls have read may be of two moments: then the
 * commit ends with RETRY, and cellar_check before it. NOT_FOUND: *row is as it was.
 *
 * `lock`: columns that no other transaction changes from now on; one that would waits. For lock_us at most: then they
 * are given back, whatever the program does, and the transaction is over (RETRY); likewise when its compute node has to
 * stand still for a moment. The next call says so. Columns of the same cell are locked along with them, and in modes of
 * the laboratory the row. Whole-table work is BUSY meanwhile. In a read-only transaction INVALID.
 */
CELLAR_NODISCARD int cellar_get(struct cellar_txn *txn, const struct cellar_table *table, uint64_t columns,
                                uint64_t lock, void *row, size_t row_bytes);
struct cellar_read {
    const struct cellar_table *table;
    const struct cellar_index *index; /* NULL: by key. Else the first row that is equal in the index's columns */
    void *row;
    uint64_t columns, lock; /* as in cellar_get */
    uint32_t row_bytes;
    int32_t code; /* set: 0 or NOT_FOUND */
};
#define CELLAR_READ(table_, ...) CELLAR_READ_WITH(table_, __VA_ARGS__, .code = 0) /* a row, and what else it has */
#define CELLAR_READ_WITH(table_, row_, ...)                                                                            \
    ((struct cellar_read){.table = (table_), .row = (row_), .row_bytes = sizeof *(row_), __VA_ARGS__})
/*
 * So many gets, of any tables, in the round trips of one, but for those with a lock or an index, and true at one
 * moment, but for what was read before, for those with an index, and for BYTES beside rows. A row that is not there is
 * no error, and is as it was; of one that an index finds the key is filled, too.
 */
CELLAR_NODISCARD int cellar_get_many(struct cellar_txn *txn, struct cellar_read *reads, uint32_t count);
/*
 * Changes that wait for the commit, and take no round trip; but where keys have BYTES, or more than 8 bytes, or BYTES
 * lie beside rows, a row that was not read yet is looked for. Where the transaction knows already whether there is such
 * a row, NOT_FOUND and EXISTS come at once, else from cellar_commit.
 *
 * cellar_put changes columns of a row: NOT_FOUND. With all columns of the definition, the key's among them, as
 * CELLAR_ALL has them, it makes the row where there is none.
 * cellar_insert makes one: EXISTS. After cellar_delete there is none; that there was none is no error.
 */
CELLAR_NODISCARD int cellar_put(struct cellar_txn *txn, const struct cellar_table *table, uint64_t columns,
                                const void *row, size_t row_bytes);
CELLAR_NODISCARD int cellar_insert(struct cellar_txn *txn, const struct cellar_table *table, const void *row,
                                   size_t row_bytes);
CELLAR_NODISCARD int cellar_delete(struct cellar_txn *txn, const struct cellar_table *table, const void *row,
                                   size_t row_bytes);

/*
 * Rows of a range, in the order of the key (of a table that is ORDERED) or of an index. The columns of the order count
 * at both ends, the first so many: of an index those that it was defined by, of the key all of it.
 */
struct cellar_scan {
    uint32_t size, flags; /* BACKWARD, PREFIX, FROM_EXCLUDED, TO_EXCLUDED */
    const struct cellar_table *table;
    const struct cellar_index *index;  /* of this table; NULL: by key */
    const void *from, *to;             /* rows: the low end and the high one, also backward; */
    uint32_t from_columns, to_columns; /* ... so many columns of the order count; 0: there is no bound */
    /*
     * NULL, or the row with which an earlier scan has ended: goes on behind it (backward: before it), by the columns of
     * the order and the key, whether or not there is such a row any more. Its BYTES are to be the program's own by
     * then: those that a transaction has lent end with it.
     */
    const void *after;
    uint64_t columns, lock; /* as in cellar_get, of the rows that are shown; order and key are filled always */
    uint32_t row_bytes, reserved;
};
#define CELLAR_SCAN(type, ...) /* a table, and what else it has */                                                     \
    (&(const struct cellar_scan){.size = sizeof(struct cellar_scan), .row_bytes = sizeof(type), .table = __VA_ARGS__})
/* Both ends: rows that are equal in the first n columns of the order. */
#define CELLAR_EQUAL(n, ...) .from_columns = (n), .to_columns = (n), .from = (__VA_ARGS__), .to = (__VA_ARGS__)
/*
 * Opens a cursor; CELLAR_CURSORS_MAX may be open in a transaction. It shows the range, and what its rows have, as the
 * transaction saw it when it was opened: who changes the rows that it goes through meets none twice, and none is
 * missed. No other transaction brings a row into what it has passed, or takes one out, before the commit: that is
 * RETRY. INVALID: the ends are reversed, or there is no such order. TOO_LARGE.
 */
CELLAR_NODISCARD int cellar_cursor_open(struct cellar_txn *txn, const struct cellar_scan *scan,
                                        struct cellar_cursor **cursor);
/*
 * The next rows, `max` at most, into an array of the row struct: how many; fewer than max: there are no more. Up to 512
 * of them are of one moment; what is longer takes several. BYTES are lent until the transaction ends.
 */
CELLAR_NODISCARD int cellar_cursor_next(struct cellar_cursor *cursor, uint32_t max, void *rows, size_t row_bytes);
/* NULL, and one that has ended (as long as no more than 64 were opened since): nothing. */
void cellar_cursor_close(struct cellar_cursor *cursor);

/* A savepoint's number, from 0. */
CELLAR_NODISCARD int cellar_savepoint(struct cellar_txn *txn);
/*
 * Forgets what was written since that savepoint, which stays, and later savepoints. What was read stays read: another
 * value of it still ends the transaction.
 */
CELLAR_NODISCARD int cellar_rollback_to(struct cellar_txn *txn, int savepoint);
/* Forgets that savepoint and later ones, whose numbers are free again. What was written since stays. */
CELLAR_NODISCARD int cellar_release(struct cellar_txn *txn, int savepoint);

/* Is all that was read true at one moment, now, and committed? 0, or RETRY. At level DURABLE it is on the disk, too. */
CELLAR_NODISCARD int cellar_check(struct cellar_txn *txn);
/*
 * Ends the transaction: 0, committed; NOT_FOUND, EXISTS: of a record that it meant to write, without
 * effect; RETRY: another one has changed what it read, without effect; INDETERMINATE: it may have committed, and must
 * not be repeated blindly (cellar_cluster_outcome). result: NULL, or what became of it; its attempts are those of the
 * commit.
 */
CELLAR_NODISCARD int cellar_commit(struct cellar_txn *txn, struct cellar_result *result);
/* Ends it without effect, and waits for no disk. NULL, and one that has ended: nothing. Not within cellar_run. */
void cellar_abort(struct cellar_txn *txn);

/* ---- statistics ------------------------------------------------------------------------------------ */

/*
 * What cellar_lab_stats_read, cellar_lab_hot_read and cellar_lab_table_read have, in Prometheus' text format, for an
 * HTTP server of the program's own to give out. Counts are since the opening, whatever cellar_lab_stats_reset does.
 * Returns the bytes of all of it; `text` has as much of that as fits into `capacity`, and a zero at its end.
 * CELLAR_METRICS_BYTES are enough. Waits for no transaction and no memory node.
 */
size_t cellar_metrics(struct cellar *db, char *text, size_t capacity);
#define CELLAR_METRICS_BYTES 65536

/* Calls that take a row take the size of its struct, too, so that another one is INVALID; these fill it in. */
#define cellar_get(txn, table, columns, lock, ...)                                                                     \
    cellar_get(txn, table, columns, lock, (__VA_ARGS__), sizeof *(__VA_ARGS__))
#define cellar_put(txn, table, columns, ...) cellar_put(txn, table, columns, (__VA_ARGS__), sizeof *(__VA_ARGS__))
#define cellar_insert(txn, table, ...) cellar_insert(txn, table, (__VA_ARGS__), sizeof *(__VA_ARGS__))
#define cellar_delete(txn, table, ...) cellar_delete(txn, table, (__VA_ARGS__), sizeof *(__VA_ARGS__))
#define cellar_cursor_next(cursor, max, ...) cellar_cursor_next(cursor, max, (__VA_ARGS__), sizeof *(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
