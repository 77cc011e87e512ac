/*
 * cellar_lab.h - for experiments: concurrency control to choose, rules to replace, drivers inside the engine, raw
 * counts. No promise of any kind: what is here changes with the engine. Functions that take a struct cellar_lab_client
 * are called from the client function that was handed it, and nowhere else.
 */
#pragma once

#include "cellar_proc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Concurrency control. CELLAR is the product; the others are what it is compared with. */
enum cellar_lab_cc {
    CELLAR_LAB_CC_CELLAR, /* CREST, and queues for records that are hot */
    CELLAR_LAB_CC_RECORD, /* optimistic; locks and checks whole records */
    CELLAR_LAB_CC_CELL,   /* optimistic; locks and checks single cells */
    CELLAR_LAB_CC_CREST,  /* CELL, and coordinators of a compute node share what it has locked */
};

struct cellar_lab {
    uint32_t size; /* CELLAR_LAB sets it */
    enum cellar_lab_cc cc;
    uint32_t cns, mns; /* compute nodes in this process (1), memory nodes (1) where no cluster has them */
    uint32_t replicas; /* backups on these (0); less than mns. A folder that is there has its own numbers of both */
    uint32_t coros;    /* coordinators of each worker (4) */
    uint32_t sim;      /* 1: a cluster in virtual time, inside this thread */
    uint32_t lost;     /* 1 + the memory node whose folder is empty, its disk being lost: filled from backups (0) */
    uint64_t seed;     /* everything random follows from it (1) */
    /*
     * Redo-log segment of each coordinator (128 KiB); more where an index of the pool needs it. A full pool still has
     * a segment of 64 KiB for the first coordinator of each compute node: with coros 1 and log_bytes 64 KiB it can be
     * opened, to replace a memory node or to make room.
     */
    uint64_t log_bytes;
    uint64_t rtt_ns; /* shared memory: delays each completion by this much (0) */
    /*
     * Before an attempt is tried again its coordinator waits for a random time: up to 1 us at first, twice as long each
     * time, and up to this (1,024,000; 1,000 .. 100,000,000). From there on the bound doubles every eighth time only,
     * six times at most.
     */
    uint64_t backoff_cap_ns;
    const char *hot;                /* mode cellar: rules for hot records that replace the usual ones, "NAME=N,..." */
    const char *way;                /* likewise, by which it chooses how transactions go: "plain-ns=N,..." */
    const char *lock, *lock_policy; /* where records have locks: declock, declock-flat; their policy (its first) */
};
#define CELLAR_LAB(...) (&(const struct cellar_lab){.size = sizeof(struct cellar_lab), __VA_ARGS__})

struct cellar_lab_client; /* a coordinator, seen by a client function; valid inside it only */

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

/*
 * Runs `fn` once on every coordinator of this process and waits until all have returned; returns the first
 * negative value one of them gave, else 0. For drivers and loaders: there is no queue between them and the
 * engine. A function that keeps its worker for a quarter of the lease, by sleep or by work of its own, is
 * reported in the log. After a whole lease other compute nodes may declare this one dead and fence it.
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

/* ---- bulk load and whole-table reads: never while transactions run --------------------------------- */

/*
 * All of these want the compute nodes of this process to themselves. BUSY, at once, when a transaction of theirs is
 * under way, or a load beside a read, or the reverse: they do not wait. A transaction that would begin meanwhile
 * begins later (its deadline counts, and cancelling it); so fn of a scan must not wait for one. Of what other
 * processes do: a read of a table or of the pool ends BUSY when they have changed something of it meanwhile, or hold
 * locks there, and then what fn was shown is void; 0 means that all of it was there at one moment. A read of a pool
 * that other processes may have open therefore takes three times as long. While another process is at work do not
 * load.
 */

/*
 * Adds one record, without log or transaction. Several clients may load at once. EXISTS, FULL. Of a table of typed
 * columns `row` is as its handle shows rows, and `key` does not count. UNSUPPORTED: the table has an ordered index, or
 * BYTES beside its rows, or a key of BYTES or of more than 8 bytes: insert its rows in transactions.
 */
CELLAR_NODISCARD int cellar_lab_load(struct cellar_lab_client *client, const struct cellar_table *table, uint64_t key,
                                     const void *row);
/*
 * Calls fn for each record of the table, in no order, read from the primary replica; a negative value from fn ends it.
 * Of a table of typed columns `row` is as its handle shows rows, BYTES are lent until fn returns, and `key` is 0.
 */
typedef int (*cellar_lab_row_fn)(void *arg, uint64_t key, const void *row);
CELLAR_NODISCARD int cellar_lab_scan(struct cellar_lab_client *client, const struct cellar_table *table,
                                     cellar_lab_row_fn fn, void *arg);

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
struct cellar_lab_hot_record {
    const struct cellar_table *table;
    uint64_t key;       /* a record's number, where keys are byte strings */
    uint64_t conflicts; /* about so many, since the opening: never too few of those that lead the list */
};
/*
 * The records with most conflicts of this process's transactions, most first, `max` at most; returns how many. In
 * every mode; waits in queues of hot records are no conflicts.
 */
uint32_t cellar_lab_hot_read(struct cellar *db, struct cellar_lab_hot_record *records, uint32_t max);

/*
 * What calls of one procedure came to, in this process, since it was registered; each worker counts for itself, so
 * reading costs the calls nothing, and may be done while they run. Of each finished call it has all or nothing, but for
 * those that end just now.
 */
#define CELLAR_LATENCY_BUCKETS 252 /* four for each power of two of nanoseconds */
struct cellar_lab_tally {
    uint64_t calls, committed;             /* that had an attempt and have ended; those that committed */
    uint64_t attempts;                     /* of these calls, with those that whole-table work put off */
    uint64_t aborts[CELLAR_ABORT_REASONS]; /* of these attempts, aborted for that reason */
    uint64_t latency[CELLAR_LATENCY_BUCKETS];
};
/*
 * The registered procedures, the newest first: the one before that one, or (NULL) the newest. NULL: there are no more.
 */
const struct cellar_proc *cellar_lab_proc_next(struct cellar *db, const struct cellar_proc *after);
const char *cellar_lab_proc_name(const struct cellar_proc *proc);
void cellar_lab_proc_read(struct cellar *db, const struct cellar_proc *proc, struct cellar_lab_tally *tally);
/*
 * What transactions of this process did with the records of one table, since it was opened or made; counted and read
 * likewise. A record counts once for each transaction that committed, as what became of it there. An interactive one
 * counts what it reads when it does, and what it compares at its commit again.
 */
struct cellar_lab_table_tally {
    uint64_t read;                       /* records that were read, or looked for, and stayed as they were */
    uint64_t written, inserted, deleted; /* records that changed */
    /* Attempts that were aborted over a record of the table, or over one of its indexes'. */
    uint64_t conflicts[CELLAR_ABORT_REASONS];
};
/* All zero: the table was dropped. */
void cellar_lab_table_read(struct cellar *db, const struct cellar_table *table, struct cellar_lab_table_tally *tally);
/*
 * Nanoseconds within which that share (0..1) of the committed calls was acknowledged, or up to a quarter more; 0: none.
 */
uint64_t cellar_lab_latency_ns(const struct cellar_lab_tally *tally, double share);

/* Memory of a table on the memory nodes: what records take as laid out, and what is around them. */
struct cellar_lab_space {
    uint64_t records;       /* live records, primary replica */
    uint64_t payload_bytes; /* their columns and an 8-byte key; of long values what is not in the rows, too */
    uint64_t record_bytes;  /* as laid out: header, cells, padding; extents of long values as well */
    uint64_t slot_bytes;    /* chunks handed out, free slots included */
    uint64_t index_bytes;   /* index buckets, overflow included */
};
CELLAR_NODISCARD int cellar_lab_space_read(struct cellar_lab_client *client, const struct cellar_table *table,
                                           struct cellar_lab_space *space);
/* Fixed regions of one memory node (superblock, catalog, logs, mailboxes), bytes; and all that is in use. */
struct cellar_lab_pool_space {
    uint64_t fixed_bytes, used_bytes, pool_bytes;
};
void cellar_lab_pool_space_read(struct cellar *db, struct cellar_lab_pool_space *space);

/* What a durable folder has taken since the database was opened. */
struct cellar_lab_durable {
    uint64_t epochs;                        /* that became durable */
    uint64_t entries, entry_bytes;          /* redo entries in the log, and their bytes */
    uint64_t log_bytes;                     /* written to the log, in whole blocks, */
    uint64_t syncs;                         /* ... so often; */
    uint64_t sync_ns, sync_most_ns;         /* ... each write, with its fdatasync, took so long: sum, longest */
    uint64_t checkpoints, checkpoint_bytes; /* written */
};
/* INVALID: the database has no folder; then all are 0. */
int cellar_lab_durable_read(struct cellar *db, struct cellar_lab_durable *durable);

#ifdef __cplusplus
}
#endif
