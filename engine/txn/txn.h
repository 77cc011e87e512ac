/*
 * txn.h - one transaction of one coordinator: what it has declared, fetched, locked and changed. What its mode knows
 * of it besides stands behind it: that struct begins with this one (mode.h).
 *
 *     txn_begin -> procedure { cellar_proc_access, _fetch, _get, _put, ... } -> txn_commit | txn_fail
 *
 * An attempt ends committed, aborted (CELLAR_RETRY: nothing is left of it, try again) or failed (a code for the
 * caller, with its reads validated: protocol.md section 4.9). The rule of section 4 holds as: all reads are done
 * before v, v is the moment at which all locks are held and the last fetch has returned, and every check of a read is
 * posted after v.
 */
#pragma once

#include "addrcache.h"
#include "cache.h"
#include "epochs.h"
#include "gate.h"
#include "halt.h"
#include "hotspots.h"
#include "logseg.h"
#include "mode.h"
#include "node.h"
#include "observe.h"
#include "space.h"
#include "tabletally.h"
#include "txn_plants.h"
#include "vigil.h"
#include "why.h"

#include <stdbool.h>

#define TXN_OPS_FIRST 8192      /* a batch has room for so many operations, and grows */
#define TXN_FETCH_ROUNDS_MAX 32 /* re-reads, stale addresses and candidates together */
#define TXN_ARENA_BYTES (8u << 20)
#define TXN_UNTIMED 1

/* What one worker's transactions share; its thread only. */
struct txn_stats {
    uint64_t committed, aborted;
    uint64_t aborts[CELLAR_ABORT_REASONS];
    uint64_t round_trips;
    uint64_t phase_ns[CELLAR_PHASES], phase_samples, cache_bytes, copy_bytes;
    uint64_t hot[CELLAR_HOT_COUNTERS];
    uint64_t tag_wait_ns; /* the longest */
};

struct txn_home {
    struct fabric_ep *ep;
    const struct catalog *catalog;
    struct addrcache *addrs;
    struct space *space;
    struct node *node; /* its compute node */
    struct gate *gate; /* likewise */
    struct halt *halt; /* likewise */
    uint32_t gate_worker;
    struct sched *sched;
    const struct observer *observer; /* NULL: none */
    uint32_t owner;                  /* CN index: the tag less 1 */
    struct vigil *vigil;             /* of its compute node; NULL: it watches none */
    const struct mode *mode;
    void *own;                /* the mode's, of this worker */
    struct tree_hints *hints; /* of ordered indexes, of this worker (tree.h) */
    bool receives;            /* the mode takes this worker's messages */
    uint32_t coros_most;      /* set by the mode: so many coordinators run calls at a time (stage.c); 0: all */
    uint64_t ts_last;         /* TS_commit of this worker's last transaction */
    struct epochs *epochs;    /* NULL: nothing is durable */
    struct txn_stats stats;
    struct hotspots hotspots;
    struct tabletally *tallies;
};

struct txn {
    struct txn_home *home;
    struct coro *co;
    struct sched_task *task;
    struct cache cache;
    struct logseg log;
    uint8_t *log_buffer;
    uint32_t log_capacity;
    uint64_t log_watermark;   /* of the entry posted last */
    struct epochs_ring *ring; /* NULL: nothing is durable */
    struct fabric_op *ops;    /* ops_max */
    uint32_t op_count, ops_max;
    struct fabric_wait wait;

    /* of the running attempt */
    uint32_t block_first; /* objects declared since the last fetch start here, in `block` */
    uint32_t block_count;
    struct cache_object **block;      /* LARGE_RECORDS_MAX */
    uint32_t records_max, writes_max; /* of the procedure */
    uint32_t record_count, write_count;
    uint32_t check_count; /* objects whose reads are to be validated: not locked, or absent */
    uint32_t index_count; /* inserts and deletes */
    uint64_t begin_ns;
    uint64_t phase_start_ns; /* 0: this attempt is not sampled; TXN_UNTIMED: only an observer is told of its phases */
    uint64_t phase_ns[CELLAR_PHASES];
    int error; /* first error of the procedure's doing: the call's outcome once the reads are validated; */
    struct cellar_detail detail; /* what it is about */
    bool unsettled;              /* a lock's reply was lost: txn_release must settle */
    uint64_t lost_nodes;         /* a bit each: given up by a settlement (settle_asks); backups there are left out */
    struct vigil_met met;        /* the tag of another compute node that ended it */
    bool doomed;                 /* aborted already: every call says RETRY */
    enum cellar_abort_reason reason;
    bool at_once;         /* its call tries again at once: there is a queue to wait in */
    uint32_t hurried;     /* attempts of this call that ended so */
    uint64_t ack_ns;      /* when it became durable */
    uint64_t settle_word; /* reply buffer of settle.c */
    /* where records are shared: of one whose unlock had no reply (apply.c). LAYOUT_RECORD_BYTES_MAX */
    uint8_t *settle_image;
    uint64_t oldest_ns; /* since when a cell that is to be validated may have been read */
    /* of ordered indexes (indexed.h, tree.h) */
    uint32_t indexed_count;      /* of the running attempt: records whose change changes an index, */
    struct indexed_row *indexed; /* LARGE_RECORDS_MAX */
    struct tree *tree;           /* what walks of trees need; */
    bool tree_begun;             /* ... this attempt has made some */
    struct draft *draft;         /* of the interactive transaction that this attempt serves; NULL: a procedure's own */
    bool of_hold;                /* it locks for a session (hold.h) */
    /*
     * Of an interactive transaction's handle, which is no attempt and has no home (session.h). Of an attempt: that by
     * which its procedure speaks rows (procedure.h), NULL until one did.
     */
    struct session *session;
    bool runs; /* its procedure */
};

/* The public name of the same object. */
struct cellar_txn {
    struct txn txn;
};
static inline struct cellar_txn *txn_public(struct txn *txn) { return (struct cellar_txn *)txn; }

/* Of that mode, all zero; NULL without memory. */
struct txn *txn_new(const struct mode *mode);
/* Also of one that was not opened; NULL is allowed. */
void txn_free(struct txn *txn);
/* `log_bytes`: ring segment at log->addr. Memory is mapped and registered here, never later. */
NODISCARD int txn_open(struct txn *txn, struct txn_home *home, struct sched_task *task, const struct logseg *log);

void txn_begin(struct txn *txn, uint32_t records_max, uint32_t writes_max, bool sampled);
/* Validates, logs, applies. 0: committed; RETRY; INDETERMINATE; or an error of the procedure's doing, as txn_fail. */
NODISCARD int txn_commit(struct coro *co, struct txn *txn);
/* A call that is an attempt's on what is doomed, or is no attempt. */
static inline int txn_doomed(const struct txn *txn) { return txn->home ? CELLAR_RETRY : CELLAR_INVALID; }
/* Ends an attempt without effect: `code` once its reads are validated, else RETRY. */
NODISCARD int txn_fail(struct coro *co, struct txn *txn, int code);

/* ---- between txn.c, declare.c, fetch.c, commit.c ---- */

/*
 * What is put for the first time, as it was, into slot_image; of a record that is inserted or deleted nothing. 0 or
 * TOO_LARGE.
 */
NODISCARD int txn_keep_old(struct txn *txn, struct cache_object *object, uint32_t cells);
/* Of an attempt that shares nothing in its compute node: all reads are done, and that is v. As txn_commit. */
NODISCARD int txn_commit_own(struct coro *co, struct txn *txn);
/* The rest of it, once validated: `rc` is what came of that. */
NODISCARD int txn_commit_checked(struct coro *co, struct txn *txn, int rc);
/*
 * The parts of that, for modes that do more in between. Validated: chooses *ts (0: nothing was written), and makes it
 * durable.
 */
NODISCARD int txn_log(struct coro *co, struct txn *txn, int (*post)(struct coro *co, struct txn *txn, uint64_t ts),
                      uint64_t *ts);
/* That has failed with `rc`: what becomes of the attempt. */
NODISCARD int txn_not_logged(struct coro *co, struct txn *txn, int rc, uint64_t ts);
/* It is durable, and told so. */
void txn_acknowledged(struct txn *txn);
/* ... and applied: 0. */
int txn_committed(struct txn *txn, uint64_t ts);
/* Checks what was read and is not locked (commit.c): 0, RETRY (released), or an error of the procedure's doing. */
NODISCARD int txn_validate(struct coro *co, struct txn *txn);
/* TS_commit; 0 when nothing was written. */
uint64_t txn_ts_choose(const struct txn *txn);
/* Counts what the transaction does with its records, which txn_log does; or (-1) takes that back. */
void txn_tally(const struct txn *txn, uint64_t count);
/*
 * Adds the WRITEs of the log entry to the batch: 0, RETRY, or an error of the procedure's doing. All earlier entries
 * are applied.
 */
NODISCARD int txn_log_post(struct coro *co, struct txn *txn, uint64_t ts);
/*
 * The parts of that: what is changed, into an entry that was begun, false when it does not fit; and the finished
 * entry.
 */
NODISCARD bool txn_log_changes(struct txn *txn, struct logseg_entry *entry);
NODISCARD int txn_log_place(struct coro *co, struct txn *txn, struct logseg_entry *entry, uint64_t ts,
                            uint64_t watermark);
/*
 * Says durably, in the header of the coordinator's segment, that all its entries up to that one have ended. False: some
 * node did not answer.
 */
NODISCARD bool txn_mark_write(struct coro *co, struct txn *txn, uint64_t sequence);
/* For a while: the agents are to take what lies in the log of a durable one. */
void txn_agents_wait(struct coro *co, struct txn *txn);
/*
 * Posts the batch, and again what of it failed, a few times: WRITEs to our own log may run twice. The worst status
 * met, if some never ran. With backups a memory node that refuses is waited for until the configuration says which
 * node stands in for it.
 */
NODISCARD int txn_log_await(struct coro *co, struct txn *txn);
/* Tells the observer how the attempt has ended. */
void txn_ended(const struct txn *txn, int code, uint64_t ts);
void txn_count_commit(struct txn *txn);
/* Above `below`, and this worker's last one. */
static inline uint64_t txn_ts_next(const struct txn *txn, uint64_t below)
{
    return (below > txn->home->ts_last ? below : txn->home->ts_last) + 1;
}
/* Is it so long since the first read that epoch numbers may have come full circle? */
bool txn_en_may_wrap(const struct txn *txn);
/* Settles locks of its own without a reply, gives back slots and unlocks what this transaction alone holds. */
void txn_release_own(struct coro *co, struct txn *txn);
/* Releases all locks and unused slots, and counts the reason: RETRY. */
__attribute__((cold)) int txn_abort(struct coro *co, struct txn *txn, enum cellar_abort_reason reason);
/* The same, and this record is the one that another transaction has come to first. */
__attribute__((cold)) int txn_abort_at(struct coro *co, struct txn *txn, const struct table *table, uint64_t key,
                                       enum cellar_abort_reason reason);
/* ... this object's. */
__attribute__((cold)) int txn_abort_over(struct coro *co, struct txn *txn, const struct cache_object *object,
                                         enum cellar_abort_reason reason);
/* Unlocks what is held; slots of inserts go back. */
void txn_release(struct coro *co, struct txn *txn);
/* Adds the operation that clears the object's tags, or the bucket's. */
void txn_unlock(struct coro *co, struct txn *txn, struct cache_object *object);
void txn_bucket_unlock(struct coro *co, struct txn *txn, struct cache_bucket *bucket);
/*
 * Notes the first error of the procedure's doing and what it is about, and returns it: of a transaction, of a record
 * (object may be NULL), of a column.
 */
__attribute__((cold)) int txn_error(struct txn *txn, int code, enum why why, uint64_t limit);
__attribute__((cold)) int txn_error_of(struct txn *txn, int code, enum why why, uint64_t limit,
                                       const struct cache_object *object);
/* Of a record that is not pinned. */
__attribute__((cold)) int txn_error_at(struct txn *txn, int code, enum why why, uint64_t limit,
                                       const struct table *table, uint64_t key);
/* There is no memory for a copy of it: TOO_LARGE. */
__attribute__((cold)) int txn_no_copies(struct txn *txn, const struct cache_object *object);
__attribute__((cold)) int txn_error_column(struct txn *txn, int code, enum why why, const struct cache_object *object,
                                           int column);
/* Memory-node space for this object was refused: FULL is the call's outcome; of a node that did not answer, RETRY. */
int txn_space_error(struct coro *co, struct txn *txn, int code, const struct cache_object *object);

/* The batch is full. Where it cannot grow it is posted and awaited first. */
__attribute__((cold)) void txn_ops_grow(struct coro *co, struct txn *txn);
/* Posts what was added and waits for all of it: how many operations failed. A round trip, unless nothing was added. */
uint32_t txn_await(struct coro *co, struct txn *txn);
/* The same; *wait_ns: from when all was posted until it had come back; UINT64_MAX: nothing was posted. */
uint32_t txn_await_timed(struct coro *co, struct txn *txn, uint64_t *wait_ns);
/*
 * Adding an operation to the batch, which is never cut: what is behind an operation that does not run is not to run
 * either (fabric.h, rule 5). Written in place, and no field that its kind does not use: there are a hundred of them in
 * a TPC-C transaction.
 */
static inline struct fabric_op *txn_slot(struct coro *co, struct txn *txn, enum fabric_op_kind kind,
                                         enum cellar_phase phase)
{
    if (__builtin_expect(txn->op_count == txn->ops_max, 0)) txn_ops_grow(co, txn);
    struct fabric_op *op = &txn->ops[txn->op_count++];
    op->kind = (uint8_t)kind;
    op->flags = 0;
    op->phase = (uint8_t)phase;
    op->pad = 0;
    return op;
}
static inline void txn_read(struct coro *co, struct txn *txn, enum cellar_phase phase, struct fabric_addr addr,
                            void *local, uint32_t size_bytes)
{
    struct fabric_op *op = txn_slot(co, txn, FABRIC_READ, phase);
    op->size_bytes = size_bytes;
    op->addr = addr;
    op->local = local;
}
/*
 * READ of a record's header (and tuples of old versions, where there are any, also without cells) and cells, each to
 * its place in an image: one, and true; or two, when a long gap lies between them.
 */
static inline __attribute__((always_inline)) bool txn_read_cells(struct coro *co, struct txn *txn,
                                                                 const struct schema *schema, struct fabric_addr addr,
                                                                 uint32_t cells, uint8_t *image)
{
    uint32_t first = schema->head_bytes, end = schema->head_bytes;
    if (cells) record_span(schema, cells, &first, &end);
    bool at_once = first <= 4 * LAYOUT_LINE;
    if (at_once) {
        txn_read(co, txn, CELLAR_PHASE_EXECUTE, addr, image, end);
        return true;
    }
    first &= ~(uint32_t)(LAYOUT_LINE - 1);
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, addr, image, schema->head_bytes);
    txn_read(co, txn, CELLAR_PHASE_EXECUTE, fabric_addr_plus(addr, first), image + first, end - first);
    return false;
}
static inline void txn_write(struct coro *co, struct txn *txn, enum cellar_phase phase, struct fabric_addr addr,
                             const void *local, uint32_t size_bytes)
{
    struct fabric_op *op = txn_slot(co, txn, FABRIC_WRITE, phase);
    op->size_bytes = size_bytes;
    op->addr = addr;
    op->local = (void *)local;
}
static inline void txn_masked_cas(struct coro *co, struct txn *txn, enum cellar_phase phase, struct fabric_addr addr,
                                  uint64_t *old, uint64_t compare, uint64_t compare_mask, uint64_t swap,
                                  uint64_t swap_mask)
{
    struct fabric_op *op = txn_slot(co, txn, FABRIC_MASKED_CAS, phase);
    op->size_bytes = sizeof *old;
    op->addr = addr;
    op->local = old;
    op->compare = compare;
    op->compare_mask = compare_mask;
    op->swap = swap;
    op->swap_mask = swap_mask;
}

/* As cellar_proc_access and cellar_proc_insert. */
NODISCARD int txn_access(struct txn *txn, const struct table *table, uint64_t key, uint32_t read, uint32_t write,
                         uint32_t flags);
NODISCARD int txn_insert(struct txn *txn, const struct table *table, uint64_t key, const void *row);
/* Deletes a record, which may be absent, and which an earlier block may have read or locked. A reference, or a code. */
NODISCARD int txn_delete(struct txn *txn, const struct table *table, uint64_t key);
/*
 * Declares cells of a record for the engine's own use, in the next block: not counted to the procedure's limits, of a
 * record that may be absent; a cell may be declared again, and written when it was read before. A reference, or a code.
 */
NODISCARD int txn_want(struct txn *txn, const struct table *table, uint64_t key, uint32_t read, uint32_t write);
/* The same of a record that counts as one the procedure has declared. */
NODISCARD int txn_want_counted(struct txn *txn, const struct table *table, uint64_t key, uint32_t read, uint32_t write);

/* Fetches the block, unless nothing is declared: 0, or a code. */
NODISCARD int txn_fetch_declared(struct txn *txn);

/*
 * The bucket images with this transaction's inserts and deletes in them (index_change.c): 0, or an error of
 * the procedure's doing.
 */
NODISCARD int txn_index_change(struct coro *co, struct txn *txn);
/* Applies a durable transaction to all replicas, and unlocks (apply.c). */
void txn_apply(struct coro *co, struct txn *txn, uint64_t ts);
/*
 * In modes with undo logs: the first half of it, with the log entry where that is still in the batch: 0, or
 * INDETERMINATE, and this compute node has stopped.
 */
NODISCARD int txn_apply_first(struct coro *co, struct txn *txn, uint64_t ts);
/* Unlocks, once all replicas have it. */
void txn_apply_last(struct coro *co, struct txn *txn);
/* For a mode that writes records in its own way (mode.apply): these bytes to all replicas; the changed cells. */
void txn_apply_write(struct coro *co, struct txn *txn, struct fabric_addr addr, uint32_t offset, const void *local,
                     uint32_t bytes);
void txn_apply_values(struct coro *co, struct txn *txn, const struct cache_object *object);

/* Ends a phase for the sampled times. */
void txn_phase_end(struct txn *txn, enum cellar_phase phase);

static inline struct cache_object *txn_object(const struct txn *txn, int32_t ref)
{
    return cache_object_at(&txn->cache, (uint32_t)ref);
}
static inline struct cache_bucket *txn_bucket(const struct txn *txn, int32_t at)
{
    return cache_bucket_at(&txn->cache, (uint32_t)at);
}
/* Over all objects. */
#define txn_each_object(txn, object) cache_each_object (&(txn)->cache, object)
/* Present or about to be, deleted by this transaction. */
static inline bool txn_is_insert(const struct cache_object *object)
{
    return object->kind == CACHE_INSERT && object->state == CACHE_PRESENT;
}
static inline bool txn_is_delete(const struct cache_object *object)
{
    return object->kind == CACHE_DELETE && object->state == CACHE_PRESENT;
}

/* Does a header show the record that is meant, and that it is there? */
static inline bool txn_is_live(const struct cache_object *object, const struct record_wire *header)
{
    bool deleted = (header->flags & LAYOUT_RECORD_DELETED) || (header->lock & LOCKWORD_DELETED);
    return (header->key == object->key || PLANT(address_key_unchecked)) && header->table_id == object->table->id &&
           (!deleted || PLANT(deleted_ignored));
}

/* The version under a cell that is about to change: of an insert, what its slot held before. */
static inline uint64_t txn_version_below(const struct cache_object *object, uint32_t cell)
{
    if (object->kind != CACHE_INSERT) return record_version(&object->table->schema, object->image, cell);
    return object->slot_used_before && !PLANT(slot_en_reset)
               ? record_version(&object->table->schema, object->slot_image, cell)
               : 0;
}

static inline uint32_t txn_cells_to_apply(const struct cache_object *object)
{
    if (object->kind == CACHE_ACCESS)
        return object->written_cells; /* perhaps others' alone; none of what is not there */
    if (object->applier && !txn_is_delete(object)) return object->written_cells;
    return object->state == CACHE_PRESENT ? object->table->schema.all_cells : 0;
}

/* The lock bits of these cells as this mode takes them. */
static inline uint32_t txn_lock_cells(const struct txn *txn, const struct cache_object *object, uint32_t cells)
{
    return cells && txn->home->mode->whole_records ? object->table->schema.all_cells : cells;
}
/* One cell, or all of them: that is nearly every case. `cells` is not empty. */
static inline uint64_t txn_lock_ones(const struct schema *schema, uint32_t cells)
{
    if ((cells & (cells - 1)) == 0) return 1ull << ((uint32_t)__builtin_ctz(cells) * schema->tag_bits);
    return cells == schema->all_cells ? schema->all_ones : lockword_ones(schema->tag_bits, cells);
}
static inline uint64_t txn_lock_mask(const struct schema *schema, uint32_t cells)
{
    return txn_lock_ones(schema, cells) * schema->tag_mask;
}
#define TXN_BUCKET_TAG_MASK 0xffull /* a bucket is a record of one cell: 8 tag bits */
