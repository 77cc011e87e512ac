/*
 * cellar.h - the embeddable API of Cellar, a transaction engine for disaggregated memory.
 *
 * The only header an embedder includes. A database lives in the memory of one or more memory nodes. This
 * process runs compute nodes, whose worker threads each run coroutine coordinators. A transaction is interactive
 * (begin, get, put, commit: a session of the calling thread), or one run of a stored procedure by one coordinator,
 * in blocks: declare records, fetch, compute; then the next block, when its keys depend on what was just read.
 * Transactions are strictly serializable.
 *
 * Limits
 *   keys                 64-bit unsigned integers; or, in interactive transactions, byte strings of at most
 *                        CELLAR_KEY_BYTES_MAX bytes. Ranges and secondary keys by ordered indexes (at most
 *                        CELLAR_INDEXES_MAX a table)
 *   columns              fixed width, 1..CELLAR_COLUMN_BYTES_MAX bytes; at most CELLAR_COLUMNS_MAX a table; or, in
 *                        interactive transactions, variable length, up to CELLAR_VALUE_BYTES_MAX bytes
 *   cells                at most CELLAR_CELLS_MAX a table; columns that share a cell are locked together
 *   compute nodes        at most 2^min(8, 60 / cells) - 1, so that a cell's lock can name its owner
 *   a transaction        at most CELLAR_TXN_RECORDS_MAX records, and its redo-log entry within half a log
 *                        segment (cellar_config.log_bytes); both are declared when a procedure is registered. An
 *                        interactive one: CELLAR_SESSION_RECORDS_MAX records, and an entry of
 *                        CELLAR_SESSION_LOG_BYTES (docs/large.md)
 *   processes            one for each compute-node index; of a pool file it is found, and as many as cns_max says
 *   durability           with cellar_config.durable what a call has acknowledged is on the disk, and survives the
 *                        loss of power. Without, the pool is memory: a pool file survives a clean close, and a
 *                        killed process, whose next open recovers it
 *   losses               every record and log entry is written to `replicas` further memory nodes before it is
 *                        unlocked or acknowledged. With replicas, one memory node at a time may be lost: its
 *                        backups take over, and cellar_cluster_replace fills a fresh one
 *
 * Ownership: what a call takes by pointer is copied unless its comment says otherwise. Threads: functions
 * that take a struct cellar may be called from any thread; those that take a struct cellar_txn or a struct
 * cellar_lab_client, only from the procedure or client function that was handed it; a session, and its interactive
 * transactions, only from the thread that opened it. Errors: functions return 0 (or a non-negative value) or a
 * negative code, an enum cellar_code; INVALID, too, for a pointer that is NULL and must not be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CELLAR_VERSION_MAJOR 0
#define CELLAR_VERSION_MINOR 1
#define CELLAR_VERSION_PATCH 0

#define CELLAR_CELLS_MAX 20
#define CELLAR_COLUMNS_MAX 64
#define CELLAR_COLUMN_BYTES_MAX 4096
#define CELLAR_TXN_RECORDS_MAX 2048
#define CELLAR_SESSION_RECORDS_MAX (1 << 17)
#define CELLAR_SESSION_LOG_BYTES (128 << 20)
#define CELLAR_NAME_BYTES 32
#define CELLAR_KEY_BYTES_MAX 512
#define CELLAR_VALUE_BYTES_MAX (1 << 20)

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
    X(UNDECLARED, -10, "the procedure touched a cell it had not declared")                                             \
    X(DUPLICATE, -11, "the procedure declared the same cell twice")                                                    \
    X(TOO_LARGE, -12, "larger than declared or than fits")                                                             \
    X(USER_ABORT, -13, "the procedure aborted the transaction")                                                        \
    X(DEADLINE, -14, "the deadline passed before the transaction could commit")                                        \
    X(CANCELLED, -15, "the call was cancelled")                                                                        \
    X(CLOSED, -16, "the database is closed, or closing")                                                               \
    X(DIRTY, -17, "the pool was not closed cleanly")                                                                   \
    X(SYSTEM, -18, "the operating system refused")                                                                     \
    X(CORRUPT, -19, "remote bytes fail their checks")                                                                  \
    X(UNSUPPORTED, -20, "not built in or not possible here")                                                           \
    X(TORN, -21, "a consistent snapshot could not be read within the bound")                                           \
    X(RETRY, -22, "aborted: another transaction came between; a procedure returns it at once, and is tried again")     \
    X(BUSY, -23, "transactions of this process are under way, and whole tables are read and loaded at rest")           \
    X(QUEUE_FULL, -24, "the completion queue has as many calls as it may")                                             \
    X(UNFETCHED, -25, "the procedure used a record before it was fetched")                                             \
    X(DROPPED, -26, "the table or index was dropped: this handle leads nowhere")

enum cellar_code {
    CELLAR_OK = 0,
#define X(name, number, text) CELLAR_##name = number,
    CELLAR_ERROR_MAP(X)
#undef X
};

/* A code, negative, with one line that says what was wrong and what would be right. */
struct cellar_error {
    int code;
    char text[240];
};

/* The text of a code; never NULL. */
const char *cellar_strerror(int code);
/* "0.1.0" of the library that is running. */
const char *cellar_version(void);

/* Why an attempt of a transaction was aborted (it is then retried): X(name, text). */
#define CELLAR_ABORT_MAP(X)                                                                                            \
    X(LOCK_BUSY, "a cell to write was locked by another transaction")                                                  \
    X(READ_LOCKED, "a cell to read was locked by another transaction")                                                 \
    X(VALIDATION, "a cell read was changed before the transaction could be serialized")                                \
    X(INDEX_BUSY, "an index bucket was locked by another transaction")                                                 \
    X(INDEX_VALIDATION, "an index bucket read as lacking a key was changed")                                           \
    X(TORN_READ, "a snapshot stayed inconsistent for too many re-reads")                                               \
    X(NODE_FAILED, "a memory node did not execute an operation")                                                       \
    X(LOCAL_ORDER, "a younger transaction of its compute node came first")                                             \
    X(DRAINING, "a record was being applied while others were held")                                                   \
    X(DEPENDENCY, "a version of the same compute node was aborted, or deleted the record")                             \
    X(CACHE_FULL, "the compute node's record cache was exhausted")                                                     \
    X(LOG_FULL, "no space for the redo-log entry")                                                                     \
    X(HOT_WAIT, "a hot record's lock was not granted in time")                                                         \
    X(SNAPSHOT_GONE, "a version that the snapshot needs is no longer kept")                                            \
    X(LOCK_WAIT, "a record's lock was not granted in time")                                                            \
    X(LOCK_UPGRADE, "a record that was read under a shared lock was to be written")                                    \
    X(TREE_NODE, "a node of an ordered index was to be read anew, or split, first")

enum cellar_abort_reason {
#define X(name, text) CELLAR_ABORT_##name,
    CELLAR_ABORT_MAP(X)
#undef X
        CELLAR_ABORT_REASONS
};

const char *cellar_lab_abort_name(enum cellar_abort_reason reason); /* "lock_busy" */

/* ---- opening --------------------------------------------------------------------------------------- */

/* Concurrency control. CELLAR is the product; the others are what it is compared with. */
enum cellar_cc {
    CELLAR_CC_CELLAR, /* CREST, and queues for records that are hot */
    CELLAR_CC_RECORD, /* optimistic; locks and checks whole records */
    CELLAR_CC_CELL,   /* optimistic; locks and checks single cells */
    CELLAR_CC_CREST,  /* CELL, and coordinators of a compute node share what it has locked */
};

struct cellar;            /* an open database: the compute nodes of this process and their memory */
struct cellar_table;      /* a table's handle; valid until cellar_close, but DROPPED once the table is */
struct cellar_proc;       /* a registered procedure; valid until cellar_close */
struct cellar_txn;        /* one attempt of a procedure, valid inside it only; or an interactive transaction */
struct cellar_session;    /* what a thread has for interactive transactions */
struct cellar_lab_client; /* a coordinator, seen by a client function; valid inside it only */

enum cellar_log_level { CELLAR_LOG_DEBUG, CELLAR_LOG_INFO, CELLAR_LOG_WARNING, CELLAR_LOG_ERROR };
/* May be called from any thread, never from two at once; text is valid during the call only. */
typedef void (*cellar_log_fn)(void *arg, enum cellar_log_level level, const char *text);

/* When a call is acknowledged: its commit, and what it tells of what it has read. */
enum cellar_level {
    CELLAR_LEVEL_DEFAULT, /* the database's; of a database with a folder DURABLE, else MEMORY */
    CELLAR_LEVEL_MEMORY,  /* when it is in the memory of replicas + 1 memory nodes */
    CELLAR_LEVEL_DURABLE  /* when all that it rests on is on the disk, too */
};

/* cellar_config.lease_ns: this process watches no other, and no other suspects it. */
#define CELLAR_LEASE_NONE UINT64_MAX
/* All zero is a usable configuration: one anonymous memory node in this process. */
struct cellar_decider;
struct cellar_config {
    const char *fabric; /* "shm" (default), "sim" or "verbs" */
    enum cellar_cc cc;  /* concurrency control (CELLAR_CC_CELLAR) */
    uint32_t cns, mns;  /* compute nodes in this process (1), memory nodes (1) */
    /*
     * Index of the first of them (0), when other processes attach to the same memory nodes. An index in use
     * is refused (EXISTS).
     */
    uint32_t cn_index;
    uint32_t threads;    /* worker threads of each compute node (1) */
    uint32_t coros;      /* coordinators of each worker (4) */
    uint32_t sessions;   /* sessions that may be open at once (16); with `threads` at most 128 for each compute node */
    uint32_t replicas;   /* backups of each record and log (0); less than mns */
    uint64_t pool_bytes; /* memory of each memory node (64 MiB) */
    /*
     * NULL: anonymous. Else a file that keeps the data over a clean close; mns must be 1. Several processes may have it
     * open at once, by this path alone (docs/pool-files.md); the last one closes it.
     */
    const char *pool_path;
    /*
     * Of a pool file that is made: how many compute nodes it can have, all processes together (7); a table of many
     * cells allows no more. As many as `cns`: one process has the file for itself. The file of another one keeps its
     * own number; EXISTS when it has no compute node left.
     */
    uint32_t cns_max;
    /*
     * Of a pool file that is there: what changes stays in this process's memory and is gone when it closes. The file
     * may be read-only, and stays as it is, even if it has to be recovered. Several may look at one so, none while it
     * is in use. Of a folder (`durable`) that is there: likewise; it is let go of when it is read, and then nothing can
     * be durable.
     */
    bool pool_private;
    /*
     * NULL, or a folder, which is made if it is not there, that keeps what is durable (a pool_path that names a folder
     * is one, too): a log of what commits, and checkpoints. The pool itself is anonymous memory, restored from there.
     * One process has it at a time. For one memory node of its own, on shm; pool_bytes is the
     * folder's. What cellar_lab_load and cellar_index_create have made, and tables, are durable after the next durable
     * transaction, after cellar_wait_durable, or after cellar_close.
     */
    const char *durable;
    uint64_t durable_bytes;  /* of its log, which a checkpoint frees at half (pool_bytes, 256 MiB to 4 GiB) */
    uint64_t epoch_ns;       /* what is durable goes to the disk together, so often (2 ms; 0.1 ms to 1 s) */
    enum cellar_level level; /* of calls that do not say otherwise */
    /*
     * NULL: own memory. Else the socket paths of `cellar memnode` processes, comma separated; on verbs their
     * ADDRESS[:PORT].
     */
    const char *memnodes;
    /* verbs: the file with the pool's secret. NULL: none, for networks that only the pool's machines are on. */
    const char *secret_path;
    /*
     * Memory nodes that are processes: NULL: the pool's own words say which compute nodes live and which memory node
     * is away. Else a register outside of it does, the same for all processes of the pool; must outlive the database.
     */
    const struct cellar_decider *decider;
    /*
     * Redo-log segment of each coordinator (128 KiB); more where an index of the pool needs it. A full pool still has
     * a segment of 64 KiB for the first coordinator of each compute node: with coros 1 and log_bytes 64 KiB it can be
     * opened, to replace a memory node or to make room.
     */
    uint64_t log_bytes;
    bool existing;   /* the pool was made before: memory without one is refused (NOT_FOUND), and no pool is made */
    uint64_t rtt_ns; /* shm: delay each completion by this much (0) */
    /* A compute node that shows no sign of life for so long is declared dead (1 s where other processes may be). */
    uint64_t lease_ns;
    /*
     * Before an attempt is tried again its coordinator waits for a random time: up to 1 us at first, twice as long each
     * time, and up to this (1,024,000; 1,000 .. 100,000,000). From there on the bound doubles every eighth time only,
     * six times at most.
     */
    uint64_t backoff_cap_ns;
    const char *hot;                /* mode cellar: rules for hot records that replace the usual ones, "NAME=N,..." */
    const char *way;                /* likewise, by which it chooses how transactions go: "plain-ns=N,..." */
    uint64_t seed;                  /* everything random follows from it (1) */
    const char *lock, *lock_policy; /* where records have locks: declock, declock-flat; their policy (its first) */
    cellar_log_fn log;              /* NULL: silent */
    void *log_arg;
};

/*
 * Opens a database: attaches to the memory of `config`, or creates it. New memory is formatted; else the
 * layout fingerprint is compared and the catalog read. A pool file that was closed is compared with its checksums; a
 * file that was not is examined and recovered. A file that is refused as CORRUPT has not changed by a byte. On
 * failure returns a negative code, fills *error if it is not NULL, and leaves *out NULL.
 */
CELLAR_NODISCARD int cellar_open(const struct cellar_config *config, struct cellar **out, struct cellar_error *error);
/*
 * Refuses new calls and waits for those that run. An attempt that has begun is finished, and its call has its
 * result. A call that would have to try again ends with CLOSED and without effect, and so does each later
 * cellar_lab_exec of a client function: closing waits for no lock. Then leaves the pool, marks a pool file clean,
 * with checksums of what is in use, closes its sessions and queues, and frees everything. Returns 0; NULL is allowed.
 * BUSY: a session of a living thread has a transaction that has not ended: the database stays open, and the log says
 * so. CLOSED: it is closed, or another thread closes it. INVALID: a procedure or a client function calls.
 *
 * Handles of databases, tables, indexes, procedures, sessions and queues may be used after it: such calls return
 * CLOSED, or INVALID where they are made to another database, and those that return a pointer or a sum NULL or 0. In a
 * child of fork the database is the parent's: each call returns CLOSED at once, and its close frees nothing.
 */
int cellar_close(struct cellar *db);

#define CELLAR_CNS_MAX 255 /* compute nodes, all processes of a pool together */

/* All that was decided of a pool's members, as one value that only grows (docs/membership.md). */
struct cellar_ruling {
    uint64_t epoch;                /* one more with each decision; 0: nothing was decided yet */
    uint64_t cluster;              /* the pool's number, which no other has */
    uint64_t configuration;        /* the last loss of a memory node that was decided; 0: none */
    uint64_t dead[CELLAR_CNS_MAX]; /* of each compute node the last life that was declared dead; 0: none */
};

/*
 * A register outside of the pool that holds a ruling and is moved by compare-and-swap: a consensus service, reached by
 * functions that never block, and that any thread may call. The program has one over etcd.
 */
struct cellar_decider {
    const char *name; /* as messages call it */
    uint32_t place;   /* which register it is: a number that all processes of the pool have, and no other register */
    uint32_t drawn;   /* at random: with `place` the number of a pool that has none yet */
    /*
     * A question of compute node `cn`, which has none under way: the ruling becomes *to if its epoch is `from`; `to`
     * NULL: it is only read. *to is copied. EXISTS: try again.
     */
    int (*begin)(const struct cellar_decider *decider, uint32_t cn, uint64_t from, const struct cellar_ruling *to);
    /*
     * Its answer. EXISTS: none yet. 0: *now is the ruling after it, *to or what another one made of it. UNREACHABLE:
     * whether it had its effect is not known. MISMATCH: the register holds something else.
     */
    int (*end)(const struct cellar_decider *decider, uint32_t cn, struct cellar_ruling *now,
               struct cellar_error *error);
};

/*
 * Recovers a compute node of another process that ended without cellar_close: its acknowledged transactions
 * take effect, its locks go, and its index may be used again. 0 also when nothing was left to do. NOT_FOUND:
 * it never was a member. EXISTS: it is alive, or another live compute node recovers it. Opening recovers,
 * too: cellar_open first recovers earlier lives of the compute nodes that it opens, and in a pool file all
 * that were open.
 */
CELLAR_NODISCARD int cellar_cluster_recover(struct cellar *db, uint32_t cn, struct cellar_error *error);

/*
 * For a memory node that was lost and whose backups have taken over (which happens by itself), while a fresh,
 * empty one listens in its place: fills the fresh one while transactions run, and waits until it has all that
 * the lost one had. When several compute nodes are asked, one fills it and all wait. NOT_FOUND: that node is
 * not away, or its loss was not noticed yet. UNREACHABLE: no fresh one is there. EXISTS: this compute node is
 * filling it already. FENCED: this compute node has stopped.
 */
CELLAR_NODISCARD int cellar_cluster_replace(struct cellar *db, uint32_t node, struct cellar_error *error);

enum cellar_fate {
    CELLAR_FATE_UNKNOWN,   /* its compute node is not recovered yet, or its log entry may have been overwritten */
    CELLAR_FATE_COMMITTED, /* it had its effect */
    CELLAR_FATE_ABORTED,   /* it had none, and never will */
};
/*
 * What became of a call that ended INDETERMINATE; txn_id is that of its result. Any process that has the pool
 * open may ask, once the call's compute node is recovered, and best before that node's index is used again: a
 * new life uses the log space again, and when the entry is no longer found the answer is UNKNOWN. For a call
 * that ended otherwise the answer may be UNKNOWN, or be that for the coordinator's call before it. INVALID:
 * no such compute node, or it never had this incarnation. UNREACHABLE: a memory node is lost, and a log with
 * it.
 */
CELLAR_NODISCARD int cellar_cluster_outcome(struct cellar *db, const uint64_t txn_id[2], enum cellar_fate *fate,
                                            struct cellar_error *error);

/*
 * Waits until a transaction that has ended, of whatever level, is durable, and with it all that had ended before this
 * call; txn_id NULL: all of them. For those who commit many at level MEMORY, and wait once. Not from a procedure or
 * client function. INVALID: the database has no folder, or the transaction was another opening's. SYSTEM, FULL: the
 * disk has failed, or is full, with the line that says so. CLOSED.
 */
CELLAR_NODISCARD int cellar_wait_durable(struct cellar *db, const uint64_t txn_id[2], struct cellar_error *error);
/*
 * Calls whose result has this epoch, or an earlier one, are on the disk. It grows. For who makes calls at level MEMORY
 * and acknowledges them later, in any thread; cellar_lab_wait_durable waits for it. 0: the database has no folder.
 */
uint64_t cellar_durable_epoch(struct cellar *db);
/* What a durable folder has taken since the database was opened. */
struct cellar_durable {
    uint64_t epochs;               /* that became durable */
    uint64_t entries, entry_bytes; /* redo entries in the log, and their bytes */
    uint64_t log_bytes;            /* written to the log, in whole blocks, */
    uint64_t syncs, sync_ns,
        sync_most_ns; /* ... so often; each write, with its fdatasync, took so long: sum, longest */
    uint64_t checkpoints, checkpoint_bytes; /* written */
};
/* INVALID: the database has no folder; then all are 0. */
int cellar_durable_read(struct cellar *db, struct cellar_durable *durable);

/* ---- tables ---------------------------------------------------------------------------------------- */

/* One column: where it is in the row struct, and which cell holds it. */
struct cellar_column {
    const char *name;
    uint32_t offset; /* in the row struct, bytes */
    uint32_t bytes;
    int32_t cell; /* columns of equal number share a cell; CELLAR_OWN_CELL: a cell of its own */
};
#define CELLAR_OWN_CELL (-1)
#define CELLAR_COLUMN(type, field)                                                                                     \
    {                                                                                                                  \
#field, (uint32_t)offsetof(type, field), (uint32_t)sizeof(((type *)0)->field), CELLAR_OWN_CELL                 \
    }
#define CELLAR_COLUMN_IN(cell, type, field)                                                                            \
    {                                                                                                                  \
#field, (uint32_t)offsetof(type, field), (uint32_t)sizeof(((type *)0)->field), cell                            \
    }

struct cellar_schema {
    const char *name;   /* at most CELLAR_NAME_BYTES - 1 bytes, unique */
    uint32_t row_bytes; /* sizeof the row struct */
    const struct cellar_column *columns;
    uint32_t column_count;
    uint64_t records_max;  /* sizes the index; a table may hold somewhat more before it is full */
    uint32_t cluster_bits; /* keys that differ only in so many low bits share neighbouring index buckets (0..8) */
    /*
     * 0: keys are integers. Else byte strings of 1 to so many bytes: the table's first column is a CELLAR_KEY of at
     * least that size, in a cell of its own, and records are added, found and removed by cellar_txn_add,
     * cellar_txn_find and cellar_txn_remove alone.
     */
    uint32_t key_bytes;
    /*
     * Columns whose values have variable length, up to CELLAR_VALUE_BYTES_MAX: a bit each (CELLAR_BIT). Each is a
     * CELLAR_VALUE in a cell of its own. Records are written in interactive transactions only, these columns by
     * cellar_txn_put_bytes. The table takes seven places of the pool's 64.
     */
    uint64_t variable;
    /* Of these: what does not fit into the rows, bytes of all records together. Sizes indexes. 0: 4 KiB for each */
    uint64_t long_bytes;
};
#define CELLAR_BIT(column) ((uint64_t)1 << (column))
/*
 * A value of variable length, as a member of a row struct, with room for n bytes in the row; what a value has more than
 * that lies elsewhere. cellar_value_set fills one that has room enough; `sum` and `place` are the engine's.
 */
#define CELLAR_VALUE(n)                                                                                                \
    struct {                                                                                                           \
        uint32_t bytes, sum;                                                                                           \
        uint64_t place;                                                                                                \
        uint8_t head[n];                                                                                               \
    }
/* `capacity`: sizeof the member. TOO_LARGE: there is no such room in the row. */
CELLAR_NODISCARD int cellar_value_set(void *value, size_t capacity, const void *data, size_t bytes);
/* A key of at most n bytes, as a member of a row struct. cellar_key_set fills it; `twins` is the engine's. */
#define CELLAR_KEY(n)                                                                                                  \
    struct {                                                                                                           \
        uint16_t bytes, twins;                                                                                         \
        uint8_t text[n];                                                                                               \
    }
/* `capacity`: sizeof the member. TOO_LARGE: it does not fit. INVALID: a key has a byte at least. */
CELLAR_NODISCARD int cellar_key_set(void *key, size_t capacity, const void *text, size_t bytes);

/* Creates a table, or returns the existing one of that name if its schema is the same (else MISMATCH). */
CELLAR_NODISCARD int cellar_table_create(struct cellar *db, const struct cellar_schema *schema,
                                         const struct cellar_table **out, struct cellar_error *error);
/* The table of that name, or NULL. */
const struct cellar_table *cellar_table_find(struct cellar *db, const char *name);

/*
 * The tables that this process knows, in the order in which they were made: the one after that one, or (NULL) the
 * first. NULL: there are no more.
 */
const struct cellar_table *cellar_table_next(struct cellar *db, const struct cellar_table *after);
/*
 * As what it was created, to create another like it. `columns` has room for CELLAR_COLUMNS_MAX; names stay valid until
 * cellar_close.
 */
void cellar_table_describe(const struct cellar_table *table, struct cellar_schema *schema,
                           struct cellar_column *columns);

/*
 * Drops a table with its indexes, or takes all its records. At rest: BUSY when transactions of this process are under
 * way, or another process uses the pool; one that opens it at that moment is either refused nothing, and then this is
 * BUSY, or does not find the table. The space is used again, by any table. Each is done or not done, whenever the
 * process ends: the next one that is alone with the pool goes on with what was begun. Interactive transactions that are
 * open end with RETRY. Handles of what was dropped stay valid for calls to refuse: DROPPED. An error other than these
 * after which a handle says DROPPED: it was decided, and the pool could not be written to the end.
 */
CELLAR_NODISCARD int cellar_table_drop(struct cellar *db, const struct cellar_table *table, struct cellar_error *error);
CELLAR_NODISCARD int cellar_table_truncate(struct cellar *db, const struct cellar_table *table,
                                           struct cellar_error *error);

/*
 * Gives a table another schema, of the same name: records keep the columns that both have (of the same name, and as
 * many bytes), lose the others, and get the rest from `row`, a row struct as the new schema has it (NULL: zeros; it is
 * read for new columns alone). Offsets, cells, records_max and cluster_bits may be others, too. At rest, as
 * cellar_table_drop; all records are written anew, so that the pool needs room for both, and by one decision the one
 * table is there or the other: *out is its handle, the old one says DROPPED. MISMATCH: a column has other bytes, or
 * keys are others. UNSUPPORTED: the table has an ordered index, which is to be dropped first and made again afterwards,
 * or a column of variable length. FULL, INVALID. An error with *out set: it was decided, and the pool could not be
 * written to the end.
 */
CELLAR_NODISCARD int cellar_table_alter(struct cellar *db, const struct cellar_table *table,
                                        const struct cellar_schema *schema, const void *row,
                                        const struct cellar_table **out, struct cellar_error *error);
/*
 * The same for one column: added after the others, in a cell of its own, aligned as C aligns a member of that size,
 * with that value (NULL: zeros) in all records; EXISTS. Or dropped; the others stay where they are in the row struct.
 * NOT_FOUND; INVALID: it is the key, or the only one.
 */
CELLAR_NODISCARD int cellar_column_add(struct cellar *db, const struct cellar_table *table, const char *column,
                                       uint32_t bytes, const void *value, const struct cellar_table **out,
                                       struct cellar_error *error);
CELLAR_NODISCARD int cellar_column_drop(struct cellar *db, const struct cellar_table *table, const char *column,
                                        const struct cellar_table **out, struct cellar_error *error);

typedef uint32_t cellar_cells; /* a set of cells of one table: bit i is cell i */
#define CELLAR_ALL ((cellar_cells)(~0u >> 1))
#define CELLAR_CELLS_UNKNOWN ((cellar_cells)1u << 31)
/*
 * The cells of comma-separated column names ("w_ytd, w_tax"); for set-up code. CELLAR_CELLS_UNKNOWN if a name
 * is unknown, or if there are none: cellar_proc_access refuses that value with INVALID, alone or joined with other
 * cells, CELLAR_ALL included.
 */
cellar_cells cellar_cells_of(const struct cellar_table *table, const char *columns);
/* A column's number, for cellar_proc_get and cellar_proc_put; negative if there is none of that name. */
int cellar_column_of(const struct cellar_table *table, const char *column);

/* How a column's bytes are compared, where records have an order (docs/ordered.md). */
enum cellar_sort {
    CELLAR_SORT_UNSIGNED, /* a number of 1, 2, 4 or 8 bytes */
    CELLAR_SORT_SIGNED,   /* likewise, in two's complement */
    CELLAR_SORT_BYTES,    /* byte by byte, all of the column */
    CELLAR_COVERED        /* of an index's column alone: not compared, but in its entries */
};

/*
 * Tuples as keys: typed parts, packed into bytes that compare as the parts do, one after the other. For keys of tables
 * and for anything else that is compared by its bytes.
 */
struct cellar_key_part {
    enum cellar_sort sort;
    bool descending;
    uint64_t number;  /* UNSIGNED, or SIGNED in two's complement */
    const void *data; /* BYTES */
    uint32_t bytes;
};
/* Returns how many bytes. TOO_LARGE: more than the capacity; INVALID. */
CELLAR_NODISCARD int cellar_key_pack(void *key, uint32_t capacity, const struct cellar_key_part *parts, uint32_t count);
/*
 * The reverse: each part's `sort` and `descending` say what it is; numbers are filled in, and strings copied to
 * `strings`, one after the other, where `data` leads. INVALID: these bytes are no such tuple, or the strings do not
 * fit.
 */
CELLAR_NODISCARD int cellar_key_unpack(const void *key, uint32_t bytes, struct cellar_key_part *parts, uint32_t count,
                                       void *strings, uint32_t capacity);
/*
 * For people: printable ASCII as it is, other bytes and backslashes as \\x1b. Cut, and terminated, at `capacity`;
 * returns the length of all of it, UINT32_MAX if it is longer.
 */
uint32_t cellar_key_print(char *text, uint32_t capacity, const void *key, uint32_t bytes);

/*
 * A column of an ordered index; the first of them counts most. CELLAR_COVERED ones stand behind the others: a scan that
 * wants the index's columns and no more reads no records (cellar_proc_cursor_row, cellar_txn_scan_rows).
 */
struct cellar_index_column {
    const char *column; /* of the table */
    enum cellar_sort sort;
    bool descending;
};
enum cellar_index_flags { CELLAR_UNIQUE = 1 /* no two records have the same columns: a change that would is EXISTS */ };
/*
 * Records in the order of these columns and, where those are equal, of their keys. No column but covered ones: of their
 * keys alone.
 */
struct cellar_index_def {
    const char *name; /* unique among the table's; with the table's at most CELLAR_NAME_BYTES - 2 bytes */
    const struct cellar_index_column *columns;
    uint32_t column_count;
    uint32_t flags;
};
#define CELLAR_INDEXES_MAX 8       /* of one table */
#define CELLAR_INDEX_COLUMNS_MAX 8 /* of one index, with those covered; together at most 96 bytes */

struct cellar_index; /* an ordered index's handle; valid until cellar_close, but DROPPED once the index is */

/*
 * Creates an ordered index of a table, with entries for the records that it has, or returns the existing one of that
 * name if its definition is the same (else MISMATCH). At rest, and before other processes open the pool: BUSY when
 * transactions of this process are under way, or another process is a member. From then on each transaction that
 * changes a record changes the index with it. EXISTS: the index is unique, and two records are not. INVALID, FULL.
 */
CELLAR_NODISCARD int cellar_index_create(struct cellar *db, const struct cellar_table *table,
                                         const struct cellar_index_def *def, const struct cellar_index **out,
                                         struct cellar_error *error);
/* As cellar_table_drop, of an index alone. */
CELLAR_NODISCARD int cellar_index_drop(struct cellar *db, const struct cellar_index *index, struct cellar_error *error);
/* The table's index of that name, or NULL. */
const struct cellar_index *cellar_index_find(const struct cellar_table *table, const char *name);
/* The table's indexes, and what they were created as; `columns` has room for CELLAR_INDEX_COLUMNS_MAX. */
const struct cellar_index *cellar_index_next(const struct cellar_table *table, const struct cellar_index *after);
void cellar_index_describe(const struct cellar_index *index, struct cellar_index_def *def,
                           struct cellar_index_column *columns);

/* ---- stored procedures ----------------------------------------------------------------------------- */

/*
 * A procedure may run several times for one call (each aborted attempt is retried), so it must have no effect
 * but through these calls and its `args`, must set all its results anew in each run, and must end on any input, even
 * inconsistent: what it has read is validated only afterwards. Returns 0 to commit, CELLAR_USER_ABORT
 * to abort, or the negative code a call below gave it, at once.
 */
typedef int (*cellar_proc_fn)(struct cellar_txn *txn, void *args);

struct cellar_proc_def {
    const char *name;
    cellar_proc_fn fn;
    uint32_t records_max;   /* records it declares at most, inserts and deletes included */
    uint32_t writes_max;    /* of these, how many it writes, inserts or deletes at most */
    uint64_t log_bytes_max; /* redo-log bytes at most; 0: computed from writes_max and the widest table */
    uint64_t stack_bytes;   /* that it may use; 0: CELLAR_STACK_BYTES, less what the engine needs of it (16 KiB) */
};
#define CELLAR_STACK_BYTES (256u << 10)
#define CELLAR_STACK_BYTES_MAX (64u << 20)
/*
 * Refused with TOO_LARGE when such a transaction cannot fit the engine's limits. A procedure that asks for a larger
 * stack runs on one of its own, which each coordinator has, and which takes memory as far as it is used.
 *
 * A procedure returns. A C++ exception that leaves it ends the program (std::terminate, before anything is unwound); a
 * longjmp out of it is as undefined as one to a function that has returned. Within it both may be used, but for a
 * longjmp over a call of this header.
 */
CELLAR_NODISCARD int cellar_proc_register(struct cellar *db, const struct cellar_proc_def *def,
                                          const struct cellar_proc **out, struct cellar_error *error);

enum cellar_access_flags {
    CELLAR_OPTIONAL =
        1, /* the key may be absent: ask cellar_proc_found. Without it, absence ends the call with NOT_FOUND */
    CELLAR_DELETE = 2, /* delete the record; its declared cells can still be read */
};

/*
 * Declares one record of the coming block: cells to read and cells to write (a cell to write may also be
 * read). A call that names no cells asks whether the record is there. It is as serializable as any read: it
 * reads the cell of the table's first column, so it conflicts with transactions that write that cell, and
 * with no others. It gives no values. Returns a reference (>= 0), valid until the procedure returns, or a
 * negative code.
 */
CELLAR_NODISCARD int cellar_proc_access(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                        cellar_cells read, cellar_cells write, uint32_t flags);
/* Declares the insert of a whole row (copied now); the call ends with EXISTS if the key is present. */
CELLAR_NODISCARD int cellar_proc_insert(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                        const void *row);
/* Fetches, and locks for writing, all that was declared since the last fetch. 0, or a code to return at once. */
CELLAR_NODISCARD int cellar_proc_fetch(struct cellar_txn *txn);

/* After the fetch: is there such a record? */
bool cellar_proc_found(struct cellar_txn *txn, int ref);
/*
 * Copies one column out of, or into, the transaction's own copy. UNDECLARED: its cell was not declared so.
 * UNFETCHED: before the fetch.
 */
CELLAR_NODISCARD int cellar_proc_get(struct cellar_txn *txn, int ref, int column, void *value);
CELLAR_NODISCARD int cellar_proc_put(struct cellar_txn *txn, int ref, int column, const void *value);
/* The same for all columns of the declared cells (get: to read or write; put: to write); other bytes of *row stay. */
CELLAR_NODISCARD int cellar_proc_get_row(struct cellar_txn *txn, int ref, void *row);
CELLAR_NODISCARD int cellar_proc_put_row(struct cellar_txn *txn, int ref, const void *row);

/*
 * Ordered indexes, in a procedure. What a cursor or a lookup says is as serializable as any read: an insert into the
 * range, too, that commits between is a conflict. The transaction's own changes so far are seen. Both fetch what was
 * declared before, as cellar_proc_fetch does.
 */
struct cellar_bound {
    const void *row;  /* of the table's row struct the index's columns count */
    uint32_t columns; /* ... the first so many of them; 0: there is no bound */
    bool excluded;    /* records whose columns equal these are not in the range */
};
struct cellar_range {
    struct cellar_bound low, high; /* in the index's order */
    /* Of an index without columns: keys from low_key to high_key, both included. Of others: CELLAR_AFTER. */
    uint64_t low_key, high_key;
};
enum cellar_cursor_flags {
    CELLAR_BACKWARD = 1, /* from the high end down */
    /*
     * To go on where a scan has stopped: after the record whose columns equal the low bound's, all of the index's, and
     * whose key is low_key (backward: before that of the high bound and high_key). In a unique index the columns alone
     * say which.
     */
    CELLAR_AFTER = 2
};
#define CELLAR_CURSORS_MAX 8 /* open at once, in one transaction */
/*
 * Opens a cursor over a range, of `limit` records at most (0: all). `read` and `write` are cells of the records that
 * the procedure will read or write (none: only keys are wanted, and no record is read). Each record of which cells are
 * wanted counts to the procedure's records_max. Returns its number (>= 0), or a negative code: INVALID when the ends
 * are reversed or the columns are not the index's. Nothing is read before the first cellar_proc_cursor_next, which then
 * reads for all cursors that are open and have read nothing yet.
 *
 * It shows its range as it is for the transaction when it is opened. Of what the procedure changes from then on it
 * shows one thing: what is deleted does not come any more. So the records that a cursor gives may be moved, and others
 * inserted: none comes twice, and none is missed.
 */
CELLAR_NODISCARD int cellar_proc_cursor_open(struct cellar_txn *txn, const struct cellar_index *index,
                                             const struct cellar_range *range, cellar_cells read, cellar_cells write,
                                             uint32_t flags, uint64_t limit);
/*
 * The next record: 1, with its key, and in *ref (NULL if not wanted) its reference if cells were wanted. 0: there is
 * none. INVALID: no such cursor is open.
 */
CELLAR_NODISCARD int cellar_proc_cursor_next(struct cellar_txn *txn, int cursor, uint64_t *key, int *ref);
/*
 * Of the record that cellar_proc_cursor_next gave last: the index's columns, covered ones too, as its entry had them
 * when the cursor read it, into the table's row struct, whose other bytes stay. A string key that the index is sorted
 * by has its bytes there, but not its length.
 */
CELLAR_NODISCARD int cellar_proc_cursor_row(struct cellar_txn *txn, int cursor, void *row);
/* It may be opened again; all are closed when the procedure returns. */
int cellar_proc_cursor_close(struct cellar_txn *txn, int cursor);
/* The first record whose columns equal the row's, all of the index's: 1 with its key, or 0. */
CELLAR_NODISCARD int cellar_proc_lookup(struct cellar_txn *txn, const struct cellar_index *index, const void *row,
                                        uint64_t *key);

/* ---- calls ----------------------------------------------------------------------------------------- */

struct cellar_call_options {
    /*
     * 0: none. Counts from the call, the time in a queue included. After it no attempt starts, and the call
     * ends with DEADLINE. A call without a timeout ends, too (UNREACHABLE, INDETERMINATE or FENCED), when
     * more memory nodes are lost than backups stand in for: within 25 s on shm.
     */
    uint64_t timeout_ns;
    /*
     * NULL, or a word that another thread sets to non-zero: no attempt starts, and the call ends with
     * CANCELLED, in a queue within 1 ms.
     */
    const uint32_t *cancel;
    uint32_t attempts_max; /* 0: none. When so many attempts have been aborted, the call ends with RETRY */
    /*
     * DURABLE: the call returns when it is (its deadline does not count then). A disk that fails, or is full, meanwhile
     * ends it with INDETERMINATE, or, if it has written nothing, with SYSTEM or FULL. Without a folder it is MEMORY.
     */
    enum cellar_level level;
};

/* What the code of a call is about, beyond what the code itself says: X(name, text). */
#define CELLAR_WHY_MAP(X)                                                                                              \
    X(CODE, "")                                                                                                        \
    X(NO_TABLE, "the table is NULL")                                                                                   \
    X(CELLS, "cells that the table does not have, or unknown flags")                                                   \
    X(REFERENCE, "no declaration gave this reference")                                                                 \
    X(NO_COLUMN, "the table has no column of this number")                                                             \
    X(RETURNED, "the procedure returned what is no code of its own")                                                   \
    X(NOT_READ, "its cell was not declared")                                                                           \
    X(NOT_WRITTEN, "its cell was not declared to be written")                                                          \
    X(NOTHING_WRITTEN, "no cell was declared to be written")                                                           \
    X(NEVER_FETCHED, "declared after the last fetch")                                                                  \
    X(RECORDS_MAX,                                                                                                     \
      "more records, nodes of indexes included, than the procedure's records_max or a session's call allows")          \
    X(WRITES_MAX, "more written records than the procedure's writes_max or a session's call allows")                   \
    X(COPIES, "its copies of records take more bytes than a coordinator has for them")                                 \
    X(BUCKETS, "more index buckets than a transaction may touch")                                                      \
    X(LOCKS, "more locks than a transaction may hold")                                                                 \
    X(LOG_BYTES, "its redo-log entry takes more bytes than half of log_bytes: raise log_bytes")                        \
    X(RECORD_CACHE, "more versions than the record cache has bytes for")                                               \
    X(CHAIN, "its index chain is full: raise records_max (cellar_table_alter; of a name with //: long_bytes, of a "    \
             "new table)")                                                                                             \
    X(POOL, "a memory node has no space left: delete records, or make a pool of more pool_bytes")                      \
    X(TIMESTAMPS, "no timestamp is left")                                                                              \
    X(INDEX, "the index leads to no place of a record")                                                                \
    X(TIMEOUT, "timeout_ns")                                                                                           \
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
    X(SCHEMA, "a table was dropped, or emptied, since the transaction began")                                          \
    X(ENDED, "the transaction has ended, or is none of a session")                                                     \
    X(OPEN, "the session has a transaction that has not ended")                                                        \
    X(READ_ONLY, "the transaction was begun read-only")                                                                \
    X(THREAD, "the session belongs to another thread")                                                                 \
    X(CLOSED, "it is closed, or was opened before a fork by the process that is this one's parent")                    \
    X(INSIDE, "a procedure or a client function makes a call that would wait for itself")                              \
    X(AMID, "a call of this session has not returned: it was left by a jump, or this is a signal handler")             \
    X(FOREIGN, "the table, index or procedure is of another database, or of one that was closed")                      \
    X(SAVEPOINT, "the transaction has no such savepoint")                                                              \
    X(SAVEPOINTS_MAX, "more savepoints than a transaction may have")                                                   \
    X(KEYED, "the table's keys are byte strings: add, find and remove its records")                                    \
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
    X(LOCK_NS, "lock_ns is more than a second")                                                                        \
    X(LOCK_BOUND, "lock_ns has passed since it locked for update: what it had locked was given back")                  \
    X(LOCK_DISTURBED, "its compute node had to stand still: what it had locked for update was given back")             \
    X(SESSION_RECORDS, "more records than an interactive transaction may read or change")                              \
    X(SESSION_LOG_BYTES, "its redo-log entry takes more bytes than an interactive transaction's may")                  \
    X(INDEXED_MAX, "more records whose change changes an ordered index than one transaction may have")                 \
    X(LOG_EXTENT, "no memory for it, or a memory node has no space left for its redo-log entry")                       \
    X(NO_MEMORY_GIVEN, "where something is to be read from, or written to, is NULL")                                   \
    X(LEVEL, "no such level")

enum cellar_why {
#define X(name, text) CELLAR_WHY_##name,
    CELLAR_WHY_MAP(X)
#undef X
};

struct cellar_detail {
    uint32_t why;                     /* enum cellar_why */
    int32_t column;                   /* -1: none */
    const struct cellar_table *table; /* NULL: none; else with the key */
    uint64_t key;
    uint64_t limit; /* the limit that was passed; REFERENCE, RETURNED, LOCK: the value itself; 0: none */
};

struct cellar_result {
    int code;                    /* 0 committed, else negative; a code other than INDETERMINATE means: no effect */
    uint32_t attempts;           /* 1 when it committed at once */
    uint64_t latency_ns;         /* from the call to the acknowledgement */
    uint64_t txn_id[2];          /* (compute node, coordinator, incarnation), sequence */
    struct cellar_detail detail; /* only when code is not 0: set then */
    /* What it tells is on the disk once cellar_durable_epoch has come to this number; 0: it rests on nothing there. */
    uint64_t epoch;
};
/* How the call ended, as code and line: what the code means, and which table, key, column or limit it is about. */
void cellar_proc_error(const struct cellar_result *result, struct cellar_error *error);

/*
 * Runs a procedure from any thread, on this one or on a worker's, and waits for it. `args` must stay valid
 * until the return. Returns result->code; result may be NULL.
 */
CELLAR_NODISCARD int cellar_proc_run(struct cellar *db, const struct cellar_proc *proc, void *args,
                                     const struct cellar_call_options *options, struct cellar_result *result);

/*
 * A completion queue: calls that one thread keeps in flight without waiting for each. One thread at a time
 * uses a queue; a database may have many. cellar_close closes the queues that are still open.
 */
struct cellar_queue;
#define CELLAR_QUEUE_CALLS_MAX 65536
/*
 * Called when a call has ended and no ended call was waiting to be reaped, by the thread that served it, with
 * a lock of the queue held. It may write to an eventfd or call uv_async_send, but must not wait, nor call any
 * function of this header. Not called after cellar_proc_queue_close has returned.
 */
typedef void (*cellar_notify_fn)(void *arg);
/*
 * At most calls_max calls are in flight, counting ended ones that are not reaped. notify: NULL for none.
 * INVALID, NOMEM, CLOSED.
 */
CELLAR_NODISCARD int cellar_proc_queue_open(struct cellar *db, uint32_t calls_max, cellar_notify_fn notify,
                                            void *notify_arg, struct cellar_queue **out, struct cellar_error *error);
/*
 * Ends calls that have not begun, without effect; waits for those that have; drops what was not reaped. NULL
 * is allowed.
 */
void cellar_proc_queue_close(struct cellar_queue *queue);
/*
 * Hands a call to a worker and returns. `args`, and the word that options->cancel names, must stay valid
 * until the call is reaped; `options` is copied. 0: the call will be reaped, once, with `user`. QUEUE_FULL:
 * reap first. CLOSED: the database is closing. With any code but 0 nothing was begun.
 */
CELLAR_NODISCARD int cellar_proc_submit(struct cellar_queue *queue, const struct cellar_proc *proc, void *args,
                                        const struct cellar_call_options *options, void *user);
struct cellar_completion {
    void *user;                  /* as submitted */
    struct cellar_result result; /* as of cellar_proc_run */
};
/*
 * Takes up to `max` calls that have ended, in the order in which they ended. Waits for the first of them for
 * timeout_ns (0: not at all, UINT64_MAX: without end), unless none is in flight. Returns how many; 0 is not
 * an error. CLOSED: the database is closing, and all calls that were not reaped before have ended. Also
 * checks deadlines and cancel words of calls that have not begun.
 */
CELLAR_NODISCARD int cellar_proc_reap(struct cellar_queue *queue, struct cellar_completion *completions, uint32_t max,
                                      uint64_t timeout_ns);

/*
 * Runs `fn` once on every coordinator of this process and waits until all have returned; returns the first
 * negative value one of them gave, else 0. For drivers and loaders: there is no queue between them and the
 * engine. A function that keeps its worker for a quarter of lease_ns, by sleep or by work of its own, is
 * reported in the log. After a whole lease_ns other compute nodes may declare this one dead and fence it.
 */
typedef int (*cellar_lab_fn)(struct cellar_lab_client *client, void *arg);
CELLAR_NODISCARD int cellar_lab_run(struct cellar *db, cellar_lab_fn fn, void *arg);
/* 0 .. count-1 over all coordinators of this process. */
uint32_t cellar_lab_index(const struct cellar_lab_client *client);
uint32_t cellar_lab_count(const struct cellar_lab_client *client);
uint32_t cellar_lab_cn(const struct cellar_lab_client *client); /* its compute node, 0 .. cns-1 */
uint64_t cellar_lab_now_ns(struct cellar_lab_client *client);   /* the fabric's clock: virtual in sim */
/* Lets other coordinators of this worker run. */
void cellar_lab_yield(struct cellar_lab_client *client);
/*
 * Waits until a result's epoch is durable, while other coordinators of this worker run. SYSTEM, FULL: the disk has
 * failed, or is full, and it may never be. INVALID: the database has no folder.
 */
CELLAR_NODISCARD int cellar_lab_wait_durable(struct cellar_lab_client *client, uint64_t epoch);
/* Runs a procedure on this coordinator. Returns result->code; result may be NULL. */
CELLAR_NODISCARD int cellar_lab_exec(struct cellar_lab_client *client, const struct cellar_proc *proc, void *args,
                                     const struct cellar_call_options *options, struct cellar_result *result);

/* ---- interactive transactions ---------------------------------------------------------------------- */

/*
 * Begin, read, write, commit, from the caller's own code, which may take any time between two calls: nothing is locked
 * before cellar_commit, unless cellar_txn_get_for_update has asked for it. The commit checks that all that was read is
 * as it was then. Such transactions are strictly serializable, with procedures beside them. What one reads before may
 * be inconsistent: ask cellar_check before you rely on it.
 *
 * Each function returns 0, a value that is not negative, or a negative code; cellar_session_error has the line to the
 * last one of its session. After RETRY the transaction is over: abort it, and begin again (cellar_transact does); so it
 * is when its locks are lost (cellar_txn_get_for_update). After any other code of a call it goes on, as
 * if that call had not been made; cellar_commit ends it whatever it returns.
 */

#define CELLAR_SESSIONS_MAX 127
#define CELLAR_SAVEPOINTS_MAX 64
/*
 * For the calling thread, which alone may use it, with one transaction at a time. Its calls run on this thread. When
 * the thread ends, it is closed by the next cellar_session_open that needs its place. FULL: as many are open as
 * cellar_config.sessions says, or the pool has no space for its log. CLOSED, NOMEM, SYSTEM.
 */
CELLAR_NODISCARD int cellar_session_open(struct cellar *db, struct cellar_session **out, struct cellar_error *error);
/* Aborts its transaction, if it has one. NULL, and one that is closed, are allowed. */
void cellar_session_close(struct cellar_session *session);
/* What the last call of this session was about that returned a negative code, as code and line. */
void cellar_session_error(const struct cellar_session *session, struct cellar_error *error);

enum cellar_txn_flags {
    CELLAR_READ_ONLY = 1, /* writes are refused */
};
struct cellar_txn_options {
    uint32_t flags;      /* enum cellar_txn_flags */
    uint64_t timeout_ns; /* 0: none. Counts from cellar_begin; after it each call that would wait ends with DEADLINE */
    const uint32_t *cancel; /* as in cellar_call_options; must stay valid until the transaction has ended */
    /* 0: 100 ms; at most a second. So long after the first cellar_txn_get_for_update what is locked is given back. */
    uint64_t lock_ns;
    enum cellar_level level; /* as in cellar_call_options: of cellar_commit and cellar_check */
};
/* options NULL: all zero. CLOSED, INVALID. */
CELLAR_NODISCARD int cellar_begin(struct cellar_session *session, const struct cellar_txn_options *options,
                                  struct cellar_txn **out);

/*
 * One column, as the transaction sees it: as it has put it, else as it has read it first, else as it is now, which
 * takes a round trip. NOT_FOUND: there is no such record. RETRY: a record that it has read is no longer there.
 */
CELLAR_NODISCARD int cellar_txn_get(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key, int column,
                                    void *value);
/*
 * The same, and from now on no other transaction writes the column's cell: one that would waits. For lock_ns at most:
 * then it is given back, whatever the client does, and the transaction is over (RETRY); likewise when its compute
 * node has to stand still for a moment. The next call says so. Modes that lock or share whole records (all but
 * cell) lock the record. In a read-only transaction INVALID. Whole-table work is BUSY meanwhile.
 */
CELLAR_NODISCARD int cellar_txn_get_for_update(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                               int column, void *value);
/* A record to read: those of its cells that a later cellar_txn_get is to find here. */
struct cellar_txn_read {
    const struct cellar_table *table;
    uint64_t key;
    cellar_cells cells;
};
/* Reads all that in one go: two round trips at most for most tables. A record that is not there is no error. */
CELLAR_NODISCARD int cellar_prefetch(struct cellar_txn *txn, const struct cellar_txn_read *reads, uint32_t count);
/*
 * The records of a range, in the index's order or backward: their keys, `limit` of them at most (1 ..
 * CELLAR_TXN_RECORDS_MAX), and how many they are; fewer than the limit: there are no more. The transaction's own
 * changes are seen. Of `cells` (0: none) a later cellar_txn_get of these records finds what was read here. A scan is
 * true at one moment; a record that another transaction brings into the range, or takes out of it, before the commit
 * ends this one with RETRY. INVALID, when the ends are reversed or the columns are not the index's, too; TOO_LARGE.
 */
CELLAR_NODISCARD int cellar_txn_scan(struct cellar_txn *txn, const struct cellar_index *index,
                                     const struct cellar_range *range, cellar_cells cells, uint32_t flags,
                                     uint64_t *keys, uint64_t limit);
/*
 * The same with cells 0, and into `rows`, one behind the other, the index's columns of these records, covered ones too
 * (cellar_proc_cursor_row): no record is read.
 */
CELLAR_NODISCARD int cellar_txn_scan_rows(struct cellar_txn *txn, const struct cellar_index *index,
                                          const struct cellar_range *range, uint32_t flags, uint64_t *keys, void *rows,
                                          uint64_t limit);
/*
 * These are kept here until the commit. Where the transaction knows already whether there is such a record, NOT_FOUND
 * and EXISTS come at once, else from cellar_commit. A put changes one column; columns that share a cell and were not
 * put keep what they have at the commit. An insert takes a whole row.
 */
CELLAR_NODISCARD int cellar_txn_put(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key, int column,
                                    const void *value);
CELLAR_NODISCARD int cellar_txn_insert(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                       const void *row);
CELLAR_NODISCARD int cellar_txn_delete(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key);

/*
 * Columns of variable length (cellar_schema.variable), as the transaction sees them. Of a value in such a column
 * cellar_txn_get gives the CELLAR_VALUE: its length, and the first bytes; cellar_txn_put refuses it (INVALID). An
 * insert takes a row whose values have room in it (cellar_value_set); a longer one is put then. A delete frees what
 * lies beside the row.
 *
 * cellar_txn_get_bytes: the whole value, and its length in *bytes (NULL: not wanted). TOO_LARGE: it has more bytes than
 * the capacity; nothing is copied, and *bytes says how many. cellar_txn_put_bytes replaces the value; it reads how long
 * the old one is. TOO_LARGE, beyond CELLAR_VALUE_BYTES_MAX, too.
 */
CELLAR_NODISCARD int cellar_txn_get_bytes(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                          int column, void *value, size_t capacity, size_t *bytes);
CELLAR_NODISCARD int cellar_txn_put_bytes(struct cellar_txn *txn, const struct cellar_table *table, uint64_t key,
                                          int column, const void *value, size_t bytes);

/*
 * Tables whose keys are byte strings (cellar_schema.key_bytes). Their records have numbers, which stand for the key in
 * the calls above; a number holds within its transaction, until that removes a record of the table. What these calls
 * say is as serializable as any read.
 *
 * cellar_txn_find: the number of the record with this key, or NOT_FOUND. cellar_txn_add: inserts a row, by the key in
 * its first column; EXISTS, TOO_LARGE. cellar_txn_remove: deletes the record of that number. The key's column is not to
 * be put. INVALID: the table's keys are integers.
 */
CELLAR_NODISCARD int cellar_txn_find(struct cellar_txn *txn, const struct cellar_table *table, const void *key,
                                     uint32_t bytes, uint64_t *record);
CELLAR_NODISCARD int cellar_txn_add(struct cellar_txn *txn, const struct cellar_table *table, const void *row,
                                    uint64_t *record);
CELLAR_NODISCARD int cellar_txn_remove(struct cellar_txn *txn, const struct cellar_table *table, uint64_t record);

/* A savepoint's number, from 0. */
CELLAR_NODISCARD int cellar_savepoint(struct cellar_txn *txn);
/*
 * Forgets what was written since that savepoint, which stays, and later savepoints. What was read stays read: another
 * value of it still ends the transaction.
 */
CELLAR_NODISCARD int cellar_rollback_to(struct cellar_txn *txn, int savepoint);
/* Forgets that savepoint and later ones, whose numbers are free again. What was written since stays. */
CELLAR_NODISCARD int cellar_release(struct cellar_txn *txn, int savepoint);

/* Is all that was read true at one moment, now, and committed? 0, or RETRY. */
CELLAR_NODISCARD int cellar_check(struct cellar_txn *txn);
/*
 * Ends the transaction: 0, committed; NOT_FOUND, EXISTS: of a record that it meant to write, without
 * effect; RETRY: another one has changed what it read, without effect; INDETERMINATE: it may have committed, and must
 * not be repeated blindly (cellar_cluster_outcome). result: NULL, or what became of it; its attempts are those of the
 * commit.
 */
CELLAR_NODISCARD int cellar_commit(struct cellar_txn *txn, struct cellar_result *result);
/* Ends it without effect. INVALID: it has ended, or is another thread's. */
int cellar_abort(struct cellar_txn *txn);

/*
 * Runs fn in a transaction and commits it; again, after a random wait, as long as that ends with RETRY. Another
 * negative value of fn ends it without effect, and is returned once all that fn has read was true at one moment.
 */
typedef int (*cellar_txn_fn)(struct cellar_txn *txn, void *arg);
CELLAR_NODISCARD int cellar_transact(struct cellar_session *session, cellar_txn_fn fn, void *arg);
/* May a transaction that ended with this code be tried again, as a new one? True for RETRY alone. */
bool cellar_retryable(int code);

/* ---- bulk load and whole-table reads: never while transactions run --------------------------------- */

/*
 * All of these want the compute nodes of this process to themselves. BUSY, at once, when a transaction of theirs is
 * under way, or a load beside a read, or the reverse: they do not wait. A transaction that would begin meanwhile
 * begins later (its deadline counts, and cancelling it); so fn of a scan must not wait for one. Of what other
 * processes do: a read of a table or of the pool ends TORN when they have changed something of it meanwhile, or hold
 * locks there, and then what fn was shown is void; 0 means that all of it was there at one moment. A read of a pool
 * that other processes may have open therefore takes three times as long. While another process is at work do not
 * load.
 */

/* Adds one record, without log or transaction. Several clients may load at once. EXISTS, FULL. */
CELLAR_NODISCARD int cellar_lab_load(struct cellar_lab_client *client, const struct cellar_table *table, uint64_t key,
                                     const void *row, struct cellar_error *error);
/*
 * Calls fn for each record of the table, in no order, read from the primary replica; a negative value from fn ends it.
 */
typedef int (*cellar_lab_row_fn)(void *arg, uint64_t key, const void *row);
CELLAR_NODISCARD int cellar_lab_scan(struct cellar_lab_client *client, const struct cellar_table *table,
                                     cellar_lab_row_fn fn, void *arg, struct cellar_error *error);
/*
 * Audits the whole pool at rest: no lock left, header EN = cell EN, index and records one to one, replicas equal.
 * CORRUPT with the first violation in *error.
 */
CELLAR_NODISCARD int cellar_cluster_audit(struct cellar_lab_client *client, struct cellar_error *error);

/*
 * Writes a copy of the pool to a new file, as of one moment while transactions run: with the effects of all that were
 * acknowledged before the call, of no part of one, and of none that began after it has returned. The file is a pool as
 * a process leaves it that ends at that moment; who opens it (cellar_config.pool_path) recovers it. Transactions stand
 * still several times, for as long as those under way take to end, and the last time also while what was written
 * lately is copied. From any thread that is not a procedure's; it needs a session's place (cellar_config.sessions).
 * EXISTS: there is such a file. BUSY: another process has the pool open, or opens it meanwhile; whole-table work is
 * under way; another snapshot is. FULL: no place of a session. SYSTEM: the file cannot be written; nothing is left of
 * it. UNSUPPORTED: a pool of several memory nodes.
 */
CELLAR_NODISCARD int cellar_snapshot(struct cellar *db, const char *path, struct cellar_error *error);

/* ---- statistics ------------------------------------------------------------------------------------ */

enum cellar_verb {
    CELLAR_VERB_READ,
    CELLAR_VERB_WRITE,
    CELLAR_VERB_CAS,
    CELLAR_VERB_MASKED_CAS,
    CELLAR_VERB_FAA,
    CELLAR_VERB_SEND,
    CELLAR_VERBS
};
enum cellar_phase { CELLAR_PHASE_EXECUTE, CELLAR_PHASE_VALIDATE, CELLAR_PHASE_LOG, CELLAR_PHASE_APPLY, CELLAR_PHASES };

/* Mode cellar: what became of hot records: X(name, text). */
#define CELLAR_HOT_MAP(X)                                                                                              \
    X(ENTERED, "locks that attempts entered")                                                                          \
    X(WAITED, "of these, after a wait")                                                                                \
    X(WAIT_NS, "all waits together, ns")                                                                               \
    X(GIVEN_UP, "waits that came to their bound")                                                                      \
    X(TURNS, "locks granted to a compute node")                                                                        \
    X(HEATED, "records that a compute node has found hot")                                                             \
    X(COOLED, "records that a compute node has found cold again")                                                      \
    X(MET, "tags of others met under a lock")
enum cellar_hot_counter {
#define X(name, text) CELLAR_HOT_##name,
    CELLAR_HOT_MAP(X)
#undef X
        CELLAR_HOT_COUNTERS
};

/* Sums over all compute nodes of this process since the last reset. */
struct cellar_lab_stats {
    uint64_t committed, aborted; /* transactions, aborted attempts */
    uint64_t aborts[CELLAR_ABORT_REASONS];
    uint64_t ops[CELLAR_PHASES][CELLAR_VERBS];
    uint64_t round_trips;             /* awaited batches, summed over transactions, attempts included */
    uint64_t phase_ns[CELLAR_PHASES]; /* of committed attempts; a sample of one in 64 */
    uint64_t phase_samples;
    /* Summed over these samples: bytes in use of the compute node's record cache (mode crest), */
    uint64_t cache_bytes;
    uint64_t copy_bytes; /* and, in every mode, of the transaction's own copies of records */
    uint64_t hot[CELLAR_HOT_COUNTERS];
    uint64_t tag_wait_ns; /* the longest that one call kept meeting locks of one other node; since the opening */
};
void cellar_lab_stats_read(struct cellar *db, struct cellar_lab_stats *stats);
void cellar_lab_stats_reset(struct cellar *db);
/* Mode crest: bytes of the record caches that were ever in use, blocks that workers keep in reserve included. */
uint64_t cellar_lab_cache_bytes(struct cellar *db);

/*
 * Mode cellar: which way transactions go, of the compute nodes of this process. Where a reply is waited for only
 * shortly (shared memory) they go the plain way, that of mode `cell`, else they share records.
 */
struct cellar_lab_way {
    uint32_t nodes, plain; /* compute nodes; of these, so many go the plain way now. Both 0 in other modes */
    uint64_t wait_ns;      /* of the fabric, as last measured; the longest of the nodes'. 0: not yet measured */
    uint64_t turns;        /* from one way to the other, since the opening */
    uint32_t coros;        /* coordinators of a worker that run transactions at a time; the fewest of the nodes' */
};
void cellar_lab_way_read(struct cellar *db, struct cellar_lab_way *way);

/* A record over which attempts met other transactions: a lock of theirs, or a change. */
struct cellar_hot_record {
    const struct cellar_table *table;
    uint64_t key;       /* a record's number, where keys are byte strings */
    uint64_t conflicts; /* about so many, since the opening: never too few of those that lead the list */
};
/*
 * The records with most conflicts of this process's transactions, most first, `max` at most; returns how many. In
 * every mode; waits in queues of hot records are no conflicts.
 */
uint32_t cellar_hot_read(struct cellar *db, struct cellar_hot_record *records, uint32_t max);

/*
 * What cellar_lab_stats_read, cellar_hot_read and cellar_table_read have, in Prometheus' text format, for an HTTP
 * server of the program's own to give out. Counts are since the opening, whatever cellar_lab_stats_reset does. Returns
 * the bytes of all of it; `text` has as much of that as fits into `capacity`, and a zero at its end.
 * CELLAR_METRICS_BYTES are enough. Waits for no transaction and no memory node.
 */
size_t cellar_metrics(struct cellar *db, char *text, size_t capacity);
#define CELLAR_METRICS_BYTES 65536

/*
 * What calls of one procedure came to, in this process, since it was registered; each worker counts for itself, so
 * reading costs the calls nothing, and may be done while they run. Of each finished call it has all or nothing, but for
 * those that end just now.
 */
#define CELLAR_LATENCY_BUCKETS 252 /* four for each power of two of nanoseconds */
struct cellar_tally {
    uint64_t calls, committed;             /* that had an attempt and have ended; those that committed */
    uint64_t attempts;                     /* of these calls, with those that whole-table work put off */
    uint64_t aborts[CELLAR_ABORT_REASONS]; /* of these attempts, aborted for that reason */
    uint64_t latency[CELLAR_LATENCY_BUCKETS];
};
/*
 * The registered procedures, the newest first: the one before that one, or (NULL) the newest. NULL: there are no more.
 */
const struct cellar_proc *cellar_proc_next(struct cellar *db, const struct cellar_proc *after);
const char *cellar_proc_name(const struct cellar_proc *proc);
void cellar_proc_read(struct cellar *db, const struct cellar_proc *proc, struct cellar_tally *tally);
/*
 * What transactions of this process did with the records of one table, since it was opened or made; counted and read
 * likewise. A record counts once for each transaction that committed, as what became of it there. An interactive one
 * counts what it reads when it does, and what it compares at its commit again.
 */
struct cellar_table_tally {
    uint64_t read;                       /* records that were read, or looked for, and stayed as they were */
    uint64_t written, inserted, deleted; /* records that changed */
    /* Attempts that were aborted over a record of the table, or over one of its indexes'. */
    uint64_t conflicts[CELLAR_ABORT_REASONS];
};
/* All zero: the table was dropped. */
void cellar_table_read(struct cellar *db, const struct cellar_table *table, struct cellar_table_tally *tally);
/*
 * Nanoseconds within which that share (0..1) of the committed calls was acknowledged, or up to a quarter more; 0: none.
 */
uint64_t cellar_tally_latency_ns(const struct cellar_tally *tally, double share);

/* Memory of a table on the memory nodes: what records take as laid out, and what is around them. */
struct cellar_lab_space {
    uint64_t records;       /* live records, primary replica */
    uint64_t payload_bytes; /* their columns and an 8-byte key; of long values what is not in the rows, too */
    uint64_t record_bytes;  /* as laid out: header, cells, padding; extents of long values as well */
    uint64_t slot_bytes;    /* chunks handed out, free slots included */
    uint64_t index_bytes;   /* index buckets, overflow included */
};
CELLAR_NODISCARD int cellar_lab_space_read(struct cellar_lab_client *client, const struct cellar_table *table,
                                           struct cellar_lab_space *space, struct cellar_error *error);
/* Fixed regions of one memory node (superblock, catalog, logs, mailboxes), bytes; and all that is in use. */
struct cellar_lab_pool_space {
    uint64_t fixed_bytes, used_bytes, pool_bytes;
};
void cellar_lab_pool_space_read(struct cellar *db, struct cellar_lab_pool_space *space);

#ifdef __cplusplus
}
#endif
