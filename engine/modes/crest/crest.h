/*
 * crest.h - mode `crest`: coordinators of a compute node work on shared local objects (local.h), and only the last
 * writer of one goes to the pool (protocol.md sections 2 to 4; docs/crest.md).
 *
 * A transaction's own copy of a record is the same `cache_object` as in the other modes, with a struct crest_object
 * around it; what differs:
 *
 *     fetch     join the objects, fetch what they lack, once for all · take copies of the newest versions · lock the
 *               slots of those to write, until the block ends (crest_block.c)
 *     block     ends at the next fetch or at the end: what was put becomes versions for others to see
 *     commit    wait until all below is decided · v · validate · committable · log, beside others' · durable
 *               (crest_commit.c)
 *     leave     the last writer of an object applies its newest versions and clears the tags
 */
#pragma once

#include "crest_plants.h"
#include "large.h"
#include "local.h"
#include "logring.h"
#include "txn.h"

#define CREST_HOLD_COMMITS 64     /* an object that so many transactions have written since it was locked, */
#define CREST_HOLD_NS 100000      /* or for so long, takes no new writers until it was applied */
#define CREST_LOCK_READS_BEHIND 8 /* attempts whose reads did not hold: then tags are taken for reads too */
#define CREST_REFS_MAX 4096       /* other transactions that one waits for or depends on */

/* ---- what the mode knows of a worker, a transaction, an object and a bucket (mode.h) ---- */

struct crest_home {
    struct local *local;            /* the CN's record cache */
    struct arena_magazine magazine; /* this worker's, of that cache's arena */
};
static inline struct crest_home *crest_home(const struct txn_home *home) { return home->own; }

struct crest_txn {
    struct txn txn;              /* first */
    struct local *local;         /* the CN's record cache */
    struct local_writer *writer; /* what others of the CN see of it */
    struct logring ring;
    /* those that must be decided before v; those whose entries this one's rests on. CREST_REFS_MAX each */
    struct local_ref *waits, *deps;
    struct cache_object **parts;  /* of this block. LARGE_RECORDS_MAX */
    struct cache_object **locked; /* of these, those whose slots are locked until the block ends, in order */
    /* of the running attempt */
    uint64_t settlements;      /* of its CN, when the attempt began */
    uint64_t mark;             /* of the attempt: its versions' without the number of the put */
    struct local_entry *entry; /* counts its versions, once committable; NULL before */
    uint32_t version_count;    /* made until then */
    uint64_t log_reserved;     /* bytes that are known to fit into the log */
    uint32_t wait_count, dep_count;
    uint32_t part_count, locked_count;
    uint32_t announced_count;
    bool later_block;      /* the next one is not the first */
    bool alone;            /* all it has is in sole use, and BUSY until its end or until it is wanted */
    bool puts_late;        /* something was put that an earlier block fetched */
    bool ending;           /* leaves its objects for good: what it has applied is unpinned at once */
    uint32_t attempts;     /* of this call, with this one */
    uint32_t reads_failed; /* attempts of this call that ended because a read was stale or locked */
    bool lock_reads;       /* so often that tags are taken for reads too */
};
static inline struct crest_txn *crest_txn(const struct txn *txn) { return (struct crest_txn *)txn; }

/* Where `local` is shared with others of this CN (local.h) the object is the transaction's own copy. */
struct crest_object {
    struct cache_object object; /* first */
    /* zeroed by cache_pin */
    struct local_object *local;    /* pinned; NULL while it is in sole use */
    struct local_ref *refs;        /* of each cell of ref_cells, the version that was read */
    struct local_version *applied; /* the chains that it has taken off to apply the newest of each */
    uint32_t ref_cells;            /* of `local`: read, hence to be validated */
    uint32_t want_read, want_lock; /* what this transaction, as its only fetcher, fetches and locks for all */
    uint32_t put_cells;            /* put since the end of the last block */
    uint32_t version_count;        /* versions made */
    uint32_t spoiled_cells;        /* in sole use: what was put there is not to become versions */
    uint32_t behind_cells;         /* of those it fetches: their tags are this CN's already, and stay */
    uint16_t puts;                 /* blocks that have put versions */
    bool sole;      /* in sole use, unless another one has come since; with `busy`: BUSY (crest_sole.c) */
    bool locked;    /* its slot is locked until the block ends */
    bool announced; /* counts among the object's writers */
    bool exclusive; /* in sole use: its owner wants to be the only writer, once others share it, too */
    bool claimed;   /* this transaction is the object's fetcher */
    bool own_read;  /* all that was read is what this transaction has just fetched itself */
    bool bounded;   /* its lock's queue sees to it that it is not held for too long */
    uint8_t heat;   /* of a mode with queues that builds on this one: enum hot_heat, */
    bool cools;     /* ... and its lock CAS clears HOT */
    /* not zeroed */
    struct local_node node; /* stands in the hash for a record in sole use; its slot at all times */
    /* in sole use, set when that begins */
    struct local_writer *owner;
    _Atomic uintptr_t shared; /* enum crest_sole_state, or the object that another transaction has put in its place */
};
#define CREST_OBJECT_ZEROED (offsetof(struct crest_object, node) - sizeof(struct cache_object))
_Static_assert(sizeof(struct crest_object) <= CACHE_OBJECT_BYTES, "room behind each object");
static inline struct crest_object *crest_of(const struct cache_object *object) { return (struct crest_object *)object; }

struct crest_bucket {
    struct cache_bucket bucket; /* first */
    struct local_node claim;    /* when claimed: this CN's right to lock it */
    bool claimed;
};
_Static_assert(sizeof(struct crest_bucket) <= CACHE_BUCKET_BYTES, "room behind each bucket");
static inline struct crest_bucket *crest_bucket(const struct cache_bucket *bucket)
{
    return (struct crest_bucket *)bucket;
}

/* ---- birth and death (crest_node.c): a row of mode.h ---- */

NODISCARD int crest_open(struct node *node, struct cellar_error *error);
/* The same where the mode has the cache in what it shares. */
NODISCARD int crest_open_in(struct node *node, struct local *local, struct cellar_error *error);
void crest_close(struct node *node);
uint64_t crest_bytes_in_use(const struct node *node);
uint64_t crest_bytes_touched(const struct node *node);
NODISCARD int crest_worker_open(struct txn_home *home, struct cellar_error *error);
void crest_worker_close(struct txn_home *home);
NODISCARD int crest_attach(struct txn *txn, uint32_t index);
void crest_detach(struct txn *txn);
/* A compute node's record cache. */
static inline struct local *crest_local_of(const struct node *node) { return node->shared; }

/* ---- an attempt ---- */

/* A new attempt: reserves space in the log, for an entry of up to log_bytes. 0 or RETRY. */
NODISCARD int crest_begin(struct coro *co, struct txn *txn, uint32_t log_bytes, uint32_t attempts);
/* That reservation alone. */
NODISCARD int crest_log_reserve(struct coro *co, struct txn *txn, uint32_t log_bytes);
/* Ends the last block and fetches the next one. */
NODISCARD int crest_fetch(struct coro *co, struct txn *txn);
/*
 * The same by rounds of another mode, which enters what it has for the block before that is joined; enter NULL:
 * nothing.
 */
typedef int (*crest_rounds_fn)(struct coro *co, struct txn *txn);
typedef int (*crest_enter_fn)(struct coro *co, struct txn *txn);
NODISCARD int crest_fetch_by(struct coro *co, struct txn *txn, crest_rounds_fn rounds, crest_enter_fn enter);
/* What was put becomes versions; slots are unlocked; what is BUSY becomes READY. 0 or RETRY (released). */
NODISCARD int crest_block_end(struct coro *co, struct txn *txn);
/* A block that ends without versions. */
void crest_block_drop(struct txn *txn);
/* The procedure is about to put these cells of an object that is not BUSY: 0, or an error of its doing. */
int crest_put(struct txn *txn, struct cache_object *object, uint32_t cells);
/*
 * Waits for those below; then v, and the checks of what this CN holds; validates the rest; logs, and waits until the
 * entries that it rests on are durable; says so to others, and leaves what it has announced.
 */
NODISCARD int crest_commit(struct coro *co, struct txn *txn);
NODISCARD int crest_fail(struct coro *co, struct txn *txn);
NODISCARD int crest_failed(struct coro *co, struct txn *txn);
bool crest_outgrown(const struct txn *txn, uint64_t *limit_bytes);
uint32_t crest_cells_read(const struct cache_object *object);
bool crest_read_alone(const struct txn *txn);
void crest_stale(struct coro *co, struct txn *txn, struct cache_object *object);
/* crest_settle.c */
NODISCARD bool crest_settle(struct coro *co, struct txn *txn);
void crest_settled(struct txn *txn);
NODISCARD bool crest_returns(struct txn *txn);
void crest_returned(struct txn *txn);
/* It is not known whether the entry is in the log: the CN stops, and waiters for this transaction are told. */
void crest_in_doubt(struct txn *txn);
/*
 * Leaves all objects. Of those without other writers, the newest versions become this transaction's to apply, as its
 * own copies.
 */
void crest_leave(struct txn *txn);
/* After that apply: others may write those objects again. */
void crest_applied(struct txn *txn);
/* At the end of an attempt, after its apply if it is durable: gives back objects, and claims of index buckets. */
void crest_end(struct txn *txn, bool durable);
/* Of an attempt without effect: takes back its versions, and leaves as above. */
void crest_release(struct coro *co, struct txn *txn);
/* The right to lock an index bucket; false when another transaction of this CN has it. */
NODISCARD bool crest_bucket_claim(struct txn *txn, struct cache_bucket *bucket);

/* What modes that build on this one have of its row. */
#define CREST_ROW                                                                                                      \
    .shares = true, .object_zeroed = CREST_OBJECT_ZEROED, .worker_close = crest_worker_close,                          \
    .cells_read = crest_cells_read, .bytes_in_use = crest_bytes_in_use, .bytes_touched = crest_bytes_touched,          \
    .attach = crest_attach, .detach = crest_detach, .put = crest_put, .commit = crest_commit, .fail = crest_fail,      \
    .failed = crest_failed, .in_doubt = crest_in_doubt, .release = crest_release, .outgrown = crest_outgrown,          \
    .claim = crest_bucket_claim, .read_alone = crest_read_alone, .settle = crest_settle, .settled = crest_settled,     \
    .returns = crest_returns, .returned = crest_returned

/* ---- between crest_*.c ---- */

/* Cells whose tags this transaction wants; cells that it reads, those included. */
static inline uint32_t crest_cells_to_lock(const struct txn *txn, const struct cache_object *object)
{
    if (object->kind == CACHE_DELETE) return object->table->schema.all_cells;
    return object->write_cells | (crest_txn(txn)->lock_reads ? object->read_cells : 0);
}
static inline uint32_t crest_cells_declared(const struct cache_object *object)
{
    return object->kind == CACHE_DELETE ? object->table->schema.all_cells : object->read_cells | object->write_cells;
}
/*
 * May the object have no other writer in this compute node? An insert and a delete are alone, and so is a client that
 * locks for update: while it thinks, between two blocks, nothing else keeps others from writing.
 */
static inline bool crest_wants_alone(const struct txn *txn, const struct cache_object *object)
{
    if (object->kind != CACHE_ACCESS) return !PLANT(crest_delete_shared);
    return txn->of_hold && !txn->draft && !PLANT(crest_hold_shared);
}
/*
 * Inserts only announce themselves: no other transaction of the CN may lock a record that is not yet whole, or settle
 * by its tags.
 */
static inline bool crest_is_shared(const struct cache_object *object)
{
    return object->kind != CACHE_INSERT && object->state != CACHE_ABSENT;
}
/* The version that was read of a cell. */
static inline struct local_ref crest_ref(const struct cache_object *object, uint32_t number)
{
    return crest_of(object)->refs ? crest_of(object)->refs[number] : (struct local_ref){0};
}
/* Of this attempt: the same coordinator's earlier transactions are like any other. */
static inline bool crest_is_own(const struct txn *txn, struct local_ref ref)
{
    return ref.writer == crest_txn(txn)->writer &&
           ref.mark >> LOCAL_PUTS_BITS == crest_txn(txn)->mark >> LOCAL_PUTS_BITS;
}
static inline bool crest_stopped(const struct txn *txn)
{
    return atomic_load_explicit(&txn->home->gate->failed, memory_order_relaxed);
}

/* Taking copies of the block's objects (crest_take.c). */
enum crest_taken {
    CREST_TAKEN,
    CREST_TAKEN_MISSING, /* a base is not here */
    CREST_TAKEN_LATER,   /* met an undecided version that may be waiting for this transaction */
    CREST_TAKEN_DELETED,
    CREST_TAKEN_TOO_MANY,
};
enum crest_taken crest_take(struct txn *txn);
/* The locks of the block. */
void crest_unlock_slots(struct txn *txn);

/*
 * Records in sole use (crest_sole.c). Is this object, which has no owner yet, the transaction's alone from now on,
 * and BUSY? False, and nothing done, when another one has it, or it is none to be used so.
 */
bool crest_sole_begin(struct txn *txn, struct cache_object *object);
/*
 * Under the lock, of a node of kind LOCAL_SOLE: the object that takes its place; NULL, and nothing done, when the
 * arena is exhausted.
 */
struct local_object *crest_sole_share(struct txn_home *home, struct local_node *node);
/*
 * Of a BUSY one: others may look at the copy. False when one is waiting for that and the arena is exhausted: still
 * BUSY.
 */
NODISCARD bool crest_sole_ready(struct txn *txn, struct cache_object *object);
/* Of a READY one, at v: if it is not in sole use any more, it is an ordinary one from now on. */
void crest_sole_look(struct txn *txn, struct cache_object *object);
/* What was put is as if it had not been. */
void crest_sole_drop(struct cache_object *object);
/* The owner shares it of its own accord; false when the arena is exhausted. */
NODISCARD bool crest_sole_give_up(struct txn *txn, struct cache_object *object);
/* Before it is applied: false when it is shared, and to be left like others. */
bool crest_sole_leave(struct txn *txn, struct cache_object *object);
/* Likewise, of an attempt without effect. */
void crest_sole_close(struct txn *txn, struct cache_object *object);
/* What was read is stale: the transaction that made it shared is to know. */
void crest_sole_refresh(struct txn *txn, struct cache_object *object);
/* Gives it back at the attempt's end; its tags are cleared. */
void crest_sole_give_back(struct txn *txn, struct cache_object *object, bool applied);
/* The same of an attempt that goes on: it may have that record again. */
void crest_sole_end(struct txn *txn, struct cache_object *object, bool applied);
/* The same of all that a transaction has which ends, applied, and shares nothing. */
void crest_sole_end_all(struct txn *txn);
