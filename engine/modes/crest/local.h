/*
 * local.h - the record cache that the coordinators of a compute node share in mode `crest` (protocol.md section 2;
 * CREST, localized execution): one local object for each record in use, and which transactions of this CN read and
 * write it.
 *
 *     object { address | base: image as fetched or applied | held cells | announced writers | phase | fetching }
 *        cell 0: tail -> version (writer T3, undecided) -> version (T2, committable) -> version (T1, durable)
 *        cell 1: no local version: the base is the newest
 *
 * A *version* is what one transaction wrote to one cell, not yet applied to the pool; the newest is at the tail.
 * Versions exist only while the CN holds the cell's tag. The *base* is what the pool holds, as far as this CN knows.
 *
 *     phase OPEN      writers may announce themselves
 *           DRAINING  held long enough: no new writers; those announced finish
 *           APPLYING  the last writer has left and applies the newest versions; then the tags are cleared: OPEN again
 *
 * A transaction that finds a record not in use has it for its *sole* use: the hash then holds its own copy, whose
 * base, tags and put values no other knows (crest_sole.c). The next one that comes puts an object in its place.
 *
 * INV-LOCAL-1: everything about an object is read and changed under the lock of its hash bucket; no coroutine
 *              suspends while holding one, and one that needs several takes them in order.
 * INV-LOCAL-2: a cell is held only from the READ after the CAS that took its tag until its apply is posted.
 * INV-LOCAL-3: one fetcher at a time; tags of an object change only by its fetcher or its applier, and those exclude
 *              each other for cells to write: a tag of this CN found in the pool is theirs (so that a lost reply can
 *              be settled by reading).
 * INV-LOCAL-4: an aborted transaction's versions are gone from all chains before it leaves its objects.
 * INV-LOCAL-5: an object without pins is freed.
 * INV-LOCAL-6: a record in sole use has no object. Its owner changes the copy that stands for it only while it is
 *              BUSY; others put an object in its place only under the lock, and read that copy only when it was not
 *              BUSY at that moment.
 */
#pragma once

#include "arena.h"
#include "catalog.h"
#include "crest_plants.h"
#include "record.h"
#include "sched.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- waiters ---- */

struct local_waiter {
    struct local_waiter *next;
    struct sched *sched;
    struct sched_task *task;
};

/* ---- transactions, as others of the CN see them ---- */

enum local_status {
    LOCAL_EXECUTING,
    LOCAL_VALIDATING,  /* serialized here, if it commits */
    LOCAL_COMMITTABLE, /* never reverts */
    LOCAL_DURABLE,     /* its log entry, and those of all it depends on, are on f + 1 nodes */
    LOCAL_ABORTED,
    LOCAL_LOST, /* committable, but it is not known whether it is in the log: the CN stops */
};
#define LOCAL_STATUS_BITS 3
#define LOCAL_PUTS_BITS 16 /* versions that one transaction makes of one cell */

/* One for each coordinator; a generation for each attempt. */
struct local_writer {
    _Alignas(64) _Atomic uint64_t state; /* generation | enum local_status */
    _Atomic uint64_t exec_ts;            /* TS_exec; 0: not yet */
    _Atomic uint64_t ts;                 /* TS_commit, once committable: of versions that do not say so yet */
    _Atomic uint64_t sequence;           /* of its log entry, once committable */
    uint32_t coordinator;                /* within its CN */
    atomic_uint lock;                    /* guards `waiters` */
    _Atomic(struct local_waiter *) waiters;
    uint64_t begin_ns;  /* of the attempt */
    atomic_bool wanted; /* another one waits for a record that it uses alone: a hint, set under that record's lock */
};

/* A version's identity: one put of one attempt; writer NULL: the base. */
struct local_ref {
    struct local_writer *writer;
    uint64_t mark; /* generation << LOCAL_PUTS_BITS | number of the put */
};
static inline bool local_ref_same(struct local_ref a, struct local_ref b)
{
    return a.writer == b.writer && a.mark == b.mark;
}
/* Of the attempt that made it: DURABLE when that has ended (its versions are gone if it aborted). */
static inline enum local_status local_status_of(struct local_ref ref)
{
    uint64_t state = atomic_load(&ref.writer->state);
    return state >> LOCAL_STATUS_BITS == ref.mark >> LOCAL_PUTS_BITS || PLANT(crest_generation_ignored)
               ? (enum local_status)(state & ((1 << LOCAL_STATUS_BITS) - 1))
               : LOCAL_DURABLE;
}
static inline bool local_undecided(enum local_status status)
{
    return status == LOCAL_EXECUTING || status == LOCAL_VALIDATING;
}

/*
 * Counts the versions of one log entry that are not yet applied or overwritten in the pool, and one more until its
 * own transaction has ended, for what that has put in sole use: until then it is needed.
 */
struct local_entry {
    _Atomic uint32_t versions;
};

/* ---- records ---- */

enum local_kind {
    LOCAL_OBJECT, /* struct local_object */
    LOCAL_SOLE,   /* of a struct crest_object, in its owner's memory: a record in sole use */
    /*
     * of a struct crest_bucket, likewise: an index bucket, which transactions use one at a time; table NULL, its
     * address as key
     */
    LOCAL_CLAIM,
};

/* What a slot of the hash links. */
struct local_node {
    struct local_node *next;
    const struct table *table;
    uint64_t key;
    uint32_t slot;
    uint32_t kind; /* enum local_kind */
};

struct local_version {
    struct local_version *below;
    struct local_ref ref;
    uint64_t ts;                 /* TS_commit; 0 until its writer has left: then the writer knows */
    struct local_entry *entry;   /* likewise */
    bool tombstone;              /* the record is deleted */
    _Alignas(8) uint8_t bytes[]; /* of the cell, as in the record, version words included but not set */
};

enum local_phase { LOCAL_OPEN, LOCAL_DRAINING, LOCAL_APPLYING };

struct local_object {
    struct local_node node;
    struct fabric_addr addr;
    uint32_t pins, writers;
    uint32_t base_cells, held_cells, tagged_cells; /* tagged: tags of ours in the pool, held or about to be cleared */
    uint32_t hollow_cells;                         /* of the base cells: those of which only the version is known */
    uint32_t commits;                              /* since it was held */
    uint8_t phase;                                 /* enum local_phase */
    bool fetching;
    bool exclusive;            /* an insert, a delete or a lock for update: no other writer */
    bool gone;                 /* deleted: no longer found, one that still reads it will not validate */
    uint64_t held_ns, base_ns; /* since when held; when the oldest of the base was fetched */
    struct local_waiter *waiters;
    struct local_version **tails; /* for each cell */
    struct local_ref *origins;    /* for each cell: the version that the base was before it was applied */
    uint8_t *image; /* the base; header and base cells hold data. NULL, as are chains: only an insert has it */
};
_Static_assert(sizeof(struct local_object) <= ARENA_BLOCK_MIN, "a block of the smallest class");

#define LOCAL_SLOTS (1u << 16)

struct local {
    struct local_slot {
        atomic_uint lock;
        uint32_t pad;
        struct local_node *first;
    } * slots;
    struct arena arena;
    _Atomic uint64_t exec_ts; /* the CN's counter */
    /*
     * INV-LOCAL-7 (settle.h): settlements begun and ended << LOCAL_SETTLEMENTS_BITS | those under way; coordinators
     * that give tags back from memory just now.
     */
    _Atomic uint64_t settlements;
    atomic_uint returning;
};
#define LOCAL_SETTLEMENTS_BITS 16

NODISCARD int local_open(struct local *local);
/* Is nothing in it? Of a compute node without attempts. */
bool local_is_empty(const struct local *local);
void local_close(struct local *local);

/* Between two looks at what another thread changes in a moment, the `spins`-th time. */
void local_spin(struct fabric_ep *ep, uint32_t spins);
/* Short critical sections. `ep`: of the calling worker, whose simulator may let others run meanwhile. */
void local_lock_contended(atomic_uint *word, struct fabric_ep *ep);
static inline void local_lock_word(atomic_uint *word, struct fabric_ep *ep)
{
    if (__builtin_expect(atomic_exchange_explicit(word, 1, memory_order_acquire) != 0, 0))
        local_lock_contended(word, ep);
}
static inline void local_unlock_word(atomic_uint *word) { atomic_store_explicit(word, 0, memory_order_release); }
static inline struct local_slot *local_lock_slot(struct local *local, uint32_t slot, struct fabric_ep *ep)
{
    struct local_slot *at = &local->slots[slot];
    local_lock_word(&at->lock, ep);
    fabric_preempt(ep);
    return at;
}
static inline void local_unlock_slot(struct local *local, uint32_t slot)
{
    local_unlock_word(&local->slots[slot].lock);
}
static inline void local_lock(struct local *local, const struct local_object *object, struct fabric_ep *ep)
{
    local_lock_slot(local, object->node.slot, ep);
}
static inline void local_unlock(struct local *local, const struct local_object *object)
{
    local_unlock_slot(local, object->node.slot);
}

/* The slot of (table, key). */
static inline uint32_t local_slot_of(const struct table *table, uint64_t key)
{
    uint64_t id = table ? table->id : 255;
    return (uint32_t)((key + (id << 20)) * 0x9e3779b97f4a7c15ull >> 32) & (LOCAL_SLOTS - 1);
}
/* Under the slot's lock: what stands for the table and key of `like`, or NULL. */
static inline struct local_node *local_find(const struct local_slot *slot, const struct local_node *like)
{
    struct local_node *node = slot->first;
    while (node && (node->key != like->key || node->table != like->table)) node = node->next;
    return node;
}
/* Under the slot's lock. */
static inline void local_link(struct local_slot *slot, struct local_node *node)
{
    node->next = slot->first;
    slot->first = node;
}
static inline void local_unlink(struct local_slot *slot, struct local_node *node)
{
    struct local_node **at = &slot->first;
    while (*at != node) at = &(*at)->next;
    *at = node->next;
}
/* Links a node, whose table, key and kind are set, unless there is another one of the same key: false. */
static inline bool local_link_first(struct local *local, struct local_node *node, struct fabric_ep *ep)
{
    node->slot = local_slot_of(node->table, node->key);
    struct local_slot *slot = local_lock_slot(local, node->slot, ep);
    bool first = !local_find(slot, node);
    if (first) local_link(slot, node);
    local_unlock_word(&slot->lock);
    return first;
}

/* A new object without pins or image, of the node's table and key, not linked; NULL when the arena is exhausted. */
struct local_object *local_object_new(struct local *local, struct arena_magazine *magazine,
                                      const struct local_node *like);
void local_object_free(struct local *local, struct arena_magazine *magazine, struct local_object *object);
/*
 * Under the lock: makes room for a base and chains, all empty; false, and nothing changed, when the arena is
 * exhausted.
 */
bool local_expand(struct local *local, struct arena_magazine *magazine, struct local_object *object);
/* Under the lock: one pin less; without pins it is freed. */
void local_unpin(struct local *local, struct arena_magazine *magazine, struct local_object *object);
/*
 * Under the lock: once it has no writers, tags are gone or were never taken, and no insert is being applied, writers
 * may come again.
 */
static inline void local_reopen(struct local_object *object)
{
    if (object->writers || object->tagged_cells) return;
    if (object->phase == LOCAL_APPLYING && !PLANT(crest_insert_reopened)) return;
    object->phase = LOCAL_OPEN;
    object->exclusive = false;
}
/* Under the lock: it is not found any more; the next pin of its key makes a new one. */
void local_forget(struct local *local, struct local_object *object);

/* A version of that cell, its bytes copied from a record's image; NULL when the arena is exhausted. */
struct local_version *local_version_new(struct local *local, struct arena_magazine *magazine,
                                        const struct schema_cell *cell, const uint8_t *image, struct local_ref ref);
/* Its TS_commit, of a version whose writer is committable. Under the object's lock. */
static inline uint64_t local_version_ts(const struct local_version *version)
{
    return version->ts ? version->ts : atomic_load_explicit(&version->ref.writer->ts, memory_order_relaxed);
}
/*
 * TS_exec of a running attempt is taken now, by itself or by the one that makes its versions visible, unless it has
 * one.
 */
void local_exec_ts_take(struct local *local, struct local_writer *writer);

/* ---- waiting ---- */

/* Under the lock: suspends, unlocking, until local_wake_all. */
void local_wait(struct coro *co, struct local *local, struct local_object *object, struct sched *sched,
                struct sched_task *task);
/* Under the lock: all waiters for this object look again. */
void local_wake_all(struct local_object *object, struct sched *from);

/* Waiters for that attempt look again. */
void local_status_tell(struct local_writer *writer, struct sched *from);
/* The attempt's next status; wakes its waiters. */
static inline void local_status_set(struct local_writer *writer, enum local_status status, struct sched *from)
{
    uint64_t state = atomic_load_explicit(&writer->state, memory_order_relaxed);
    atomic_store(&writer->state, state >> LOCAL_STATUS_BITS << LOCAL_STATUS_BITS | (uint64_t)status);
    fabric_preempt(from->ep);
    /* A waiter is on the list before it looks at the status a last time. */
    if (__builtin_expect(atomic_load(&writer->waiters) != NULL, 0)) local_status_tell(writer, from);
}
/* A new attempt of that coordinator: EXECUTING. Returns its mark (of put number 0). */
uint64_t local_attempt(struct local_writer *writer);
/* Suspends until that attempt is decided (or also durable, or lost); returns what it is then. */
enum local_status local_await(struct coro *co, struct local_ref ref, bool durable, struct sched *sched,
                              struct sched_task *task);
