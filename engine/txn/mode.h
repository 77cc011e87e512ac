/*
 * mode.h - the engine's modes (docs/modes.md): what sets them apart, as rows of the table that is linked
 * (modes/mode_table.h).
 *
 * A mode is a row; its number is its `enum cellar_lab_cc`. The code of a row's own is reached through what the row
 * says, never by comparing numbers or by naming a mode (test/lint/rooms.sh): a new mode is a folder and a row. A
 * function that is NULL has nothing to do.
 */
#pragma once

#include "engine_config.h"
#include "err.h"

#include <stdbool.h>

struct cache_bucket;
struct cache_object;
struct coro;
struct node;
struct schema_versions;
struct txn;
struct txn_home;

/* What an index chain without the key says of it. */
enum mode_absence {
    MODE_ABSENCE_CHECKED, /* it is to be validated */
    MODE_ABSENCE_KNOWN,   /* that is all, and known to be so */
    MODE_ABSENCE_GONE,    /* nothing: what was there before is gone */
};

struct mode {
    const char *name;   /* as --cc has it */
    bool whole_records; /* locks and checks widen to all cells of a record */
    bool shares;        /* coordinators of a compute node share records */
    bool undo;          /* changes in place before it is decided, and logs what was there (recover_undo) */
    bool queues;        /* hot records have locks to wait in */
    bool locks;         /* records have locks of the lock manager, shared and exclusive */
    const struct schema_versions *versions; /* records keep old versions like that, and readers see snapshots */

    /*
     * What it knows of a transaction, an object or a bucket is in a struct of its own that begins with struct txn,
     * cache_object or cache_bucket: that of a transaction is so large (0: nothing), of an object so much behind the
     * core's is zero at first.
     */
    uint32_t txn_bytes, object_zeroed;

    /* ---- a database ---- */

    /*
     * Refuses with a clear line what it cannot run, and what is asked of it in another mode. Of every mode, for every
     * database.
     */
    int (*check)(const struct engine_config *config, struct cellar_error *error);
    /* Stacks that it needs beside the coordinators'. */
    uint64_t (*stacks)(const struct engine_config *config);
    /* Where records have locks: do those of that algorithm (config.lock) end with their holder, however it ends? */
    bool (*lock_recovers)(const char *algorithm);
    /* Bytes of each area of a pool that are for locks. */
    uint64_t (*locks_bytes)(const struct engine_config *config, uint64_t area_bytes);

    /* ---- a compute node ---- */

    /* Makes node->shared; before there are workers. */
    int (*open)(struct node *node, struct cellar_error *error);
    /* The pool is open, no transaction has begun. */
    int (*start)(struct node *node, struct cellar_error *error);
    /* On its first worker, when all of them are open: from now on its halts are followed (halt.h). */
    void (*follow)(struct node *node);
    /* Also of what has opened in part only; all workers are closed. */
    void (*close)(struct node *node);
    /* Of its record cache: in use just now, and ever. */
    uint64_t (*bytes_in_use)(const struct node *node);
    uint64_t (*bytes_touched)(const struct node *node);
    /* Adds which way its attempts go (cellar_lab_way_read). */
    void (*way)(const struct node *node, struct cellar_lab_way *way);

    /* ---- a worker, in its thread; what it makes is home->own ---- */

    int (*worker_open)(struct txn_home *home, struct cellar_error *error);
    /* Takes the messages that have come, where home->receives. True: one was for others. */
    bool (*receive)(struct txn_home *home);
    /* Where home->receives, by a worker that wants to leave: true when it has nothing left to do for others. */
    bool (*rests)(struct txn_home *home);
    void (*worker_close)(struct txn_home *home);

    /* ---- a coordinator ---- */

    /* `index`: among those of its worker. */
    int (*attach)(struct txn *txn, uint32_t index);
    /* Also of what has attached in part only, or not. */
    void (*detach)(struct txn *txn);

    /* ---- an attempt; RETRY: it has ended, and nothing is left of it ---- */

    /* `log_bytes`: of its log entry at most; `attempts`: of its call, with this one. 0 or RETRY. */
    int (*begin)(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts);
    /* Fetches the block, whose records are declared: 0, RETRY, or an error of the procedure's doing. Never NULL. */
    int (*fetch)(struct coro *co, struct txn *txn);
    /* The procedure is about to put these cells of a record, unless that is `busy`: 0, or an error of its doing. */
    int (*put)(struct txn *txn, struct cache_object *object, uint32_t cells);
    /* All is put: validates, logs, applies. As txn_commit. Never NULL. */
    int (*commit)(struct coro *co, struct txn *txn);
    /* A change of a record that keeps old versions gets that TS: what it displaces; its WRITEs (txn_apply_write). */
    void (*displace)(struct cache_object *object, uint64_t ts);
    void (*apply)(struct coro *co, struct txn *txn, struct cache_object *object);
    /* It ends without effect. Before its reads are validated, and after: 0 or RETRY. */
    int (*fail)(struct coro *co, struct txn *txn);
    int (*failed)(struct coro *co, struct txn *txn);
    /* It is not known whether its entry is in the log. NULL: the compute node stops. */
    void (*in_doubt)(struct txn *txn);
    /* Gives back all that it holds. NULL: txn_release_own. */
    void (*release)(struct coro *co, struct txn *txn);
    /* The last step, whatever became of it. */
    void (*end)(struct coro *co, struct txn *txn);
    /* Of one whose record cache was full: by what it alone has used? *limit_bytes: of what there is to use. */
    bool (*outgrown)(const struct txn *txn, uint64_t *limit_bytes);
    /* Cells of a record that is there that count as read. NULL: those declared. */
    uint32_t (*cells_read)(const struct cache_object *object);

    /*
     * Inside the gate: is what a transaction reads what the pool shows, wherever that shows no tag? NULL: it is not
     * (glance.h).
     */
    bool (*reads_pool)(const struct txn_home *home);

    /* ---- what is asked now and then: of one record or bucket, or after a lost reply ---- */

    /* TS_commit, above `below`; NULL: the next one of the worker. */
    uint64_t (*ts)(const struct txn *txn, uint64_t below);
    /* The right to lock an index bucket; false when another transaction of the compute node has it. */
    bool (*claim)(struct txn *txn, struct cache_bucket *bucket);
    /* The chain of that bucket, which is not locked, lacks the object's key. NULL: the absence is to be validated. */
    enum mode_absence (*absent)(const struct txn *txn, const struct cache_object *object,
                                const struct cache_bucket *bucket);
    /* Is a READ of the only object, at once and of all that is there, what this attempt has read? NULL: it is. */
    bool (*read_alone)(const struct txn *txn);
    /* A validation failed on the object's check_cells: what is known of them is stale. */
    void (*stale)(struct coro *co, struct txn *txn, struct cache_object *object);
    /*
     * It is about to settle. True: its compute node has seen to it that it may, with others at work; else it closes
     * the gate.
     */
    bool (*settle)(struct coro *co, struct txn *txn);
    void (*settled)(struct txn *txn);
    /* May tags be given back from memory? True: returned() follows (settle.h). NULL: they may. */
    bool (*returns)(struct txn *txn);
    void (*returned)(struct txn *txn);
};

/* The table: by number, up to a row without a name; and the names, up to a NULL. The object that is linked has it. */
extern const struct mode mode_table[];
extern const char *const mode_table_names[];

/* NULL: there is no such mode. */
const struct mode *mode_of(enum cellar_lab_cc cc);
/* The mode of that name, or -1. */
int mode_find(const char *name);
/* How records keep old versions in the mode of the table that has some; NULL: none has. */
const struct schema_versions *mode_versions(void);
/* All that they refuse of that configuration. */
NODISCARD int mode_check(const struct engine_config *config, struct cellar_error *error);
