/*
 * fabric.h - how compute nodes reach memory nodes: one contract, several backends (shm, sim; verbs).
 *
 * Memory nodes (MN) are passive: byte regions with an address (node, offset). A compute node (CN) runs workers; each
 * worker owns one *endpoint* with one ordered connection to each memory node, shared by its coroutines, and an inbox
 * for messages. Operations are data (struct fabric_op), posted in batches, reaped by fabric_poll.
 *
 * What callers may rely on, and `sim` gives not one bit more:
 *  1. Operations of one endpoint to one node are executed in post order at the responder, but a WRITE or SEND may
 *     pass an earlier READ or atomic unless it carries FABRIC_FENCE, and a READ may be passed so. Different
 *     connections have no mutual order.
 *  2. READ and WRITE are atomic per aligned 64-byte line at best (`line_atomic`); lines of one READ are fetched in
 *     any order. Aligned 8-byte words are never torn. A backend without line_atomic fetches and stores the words of
 *     one READ or WRITE in ascending order, as acquire loads and release stores.
 *  3. Atomics act on aligned 8-byte words, FABRIC_WIDE_* on aligned 16-byte pairs of words, and each is atomic
 *     against all atomics of the same node, whatever their width. A word touched by atomics is never touched by
 *     WRITE.
 *  4. A WRITE changes exactly the named bytes. Completion means that later operations on that node see it; it says
 *     nothing about persistence.
 *  5. Failures: UNREACHABLE (surely not executed), INDETERMINATE (perhaps, a WRITE in part), FENCED (this CN was
 *     declared dead: perhaps, too), INVALID (no such node, out of bounds, misaligned; never executed). Unless the CN
 *     or the node is dead, the executed operations of a batch to one node are a prefix: after one that did not run
 *     none ran, and after one whose reply was lost no reply came either. Of an atomic that failed the local buffer is
 *     as it was; of a READ that failed it may be half new.
 *  6. An operation, its local buffer and its wait belong to the fabric from post until the wait's pending count has
 *     dropped. Local buffers of READ and WRITE lie in memory given to fabric_register_local.
 *  7. Clocks: what one endpoint is shown never goes back, and passes at true speed give or take an eighth, but may
 *     jump ahead. Clocks of different CNs have no common zero. A wait for a time may end early or late when the clock
 *     changes meanwhile.
 *
 * A masked CAS compares and swaps under masks: if ((word ^ compare) & compare_mask) == 0 then word = (word &
 * ~swap_mask) | (swap & swap_mask); the old word is returned in any case, and the caller judges success by the same
 * comparison. A field FAA adds to each field of a word separately: a carry out of a field's top bit is lost instead
 * of reaching the next field.
 */
#pragma once

#include "cellar_lab.h"
#include "coro.h"
#include "counter.h"
#include "err.h"
#include "prng.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FABRIC_NODES_MAX 64       /* memory nodes */
#define FABRIC_CNS_MAX 255        /* compute nodes */
#define FABRIC_MESSAGE_BYTES 64   /* SEND payload at most */
#define FABRIC_INBOX_MESSAGES 256 /* a power of two; a SEND to a full inbox completes with FULL: the sender retries */

/* The only remote pointer: node (16 bits) | offset (48 bits). Bits 0 is no address (offset 0 holds the superblock). */
struct fabric_addr {
    uint64_t bits;
};

static inline struct fabric_addr fabric_addr_of(uint32_t node, uint64_t offset)
{
    return (struct fabric_addr){(uint64_t)node << 48 | offset};
}
static inline uint32_t fabric_addr_node(struct fabric_addr addr) { return (uint32_t)(addr.bits >> 48); }
static inline uint64_t fabric_addr_offset(struct fabric_addr addr) { return addr.bits & ((1ull << 48) - 1); }
static inline struct fabric_addr fabric_addr_plus(struct fabric_addr addr, uint64_t bytes)
{
    return (struct fabric_addr){addr.bits + bytes};
}

enum fabric_op_kind {
    FABRIC_READ,
    FABRIC_WRITE,
    FABRIC_CAS,
    FABRIC_MASKED_CAS,
    FABRIC_FAA,
    FABRIC_SEND,
    FABRIC_FIELD_FAA,
    FABRIC_WIDE_CAS, /* masked, on 16 bytes */
    FABRIC_WIDE_FAA, /* by fields, on 16 bytes */
    FABRIC_KINDS
};
enum fabric_op_flags {
    FABRIC_FENCE = 1,  /* executed after all earlier operations of its endpoint to that node */
    FABRIC_DIRECT = 2, /* at this very place, whichever node stands in for another (fabric_route.h) */
};

struct fabric_op {
    /* set by the caller */
    uint8_t kind;
    uint8_t flags;
    uint8_t phase; /* enum cellar_phase, for the counters */
    uint8_t pad;
    uint32_t size_bytes;     /* READ, WRITE; SEND <= FABRIC_MESSAGE_BYTES; atomics: 8; wide ones: 16 */
    struct fabric_addr addr; /* SEND: fabric_endpoint_addr of the receiver */
    /*
     * READ: destination; WRITE, SEND: source; atomics: uint64_t that receives the old word; wide ones: struct
     * fabric_wide
     */
    void *local;
    /* CAS: compare, swap; FAA: swap is the addend; FIELD_FAA: and swap_mask has the top bit of each field */
    uint64_t compare, compare_mask, swap, swap_mask;
    /* set by the backend, valid once reaped */
    int32_t status; /* 0 or CELLAR_x */
    /* private to the backend */
    uint32_t priv;
};
_Static_assert(sizeof(struct fabric_op) == 64, "one line per operation");

/*
 * Operands and result of a wide atomic: two words, the one at the lower address first. The caller's, as the operation
 * itself.
 */
struct fabric_wide {
    uint64_t old[2];                      /* set by the backend: both words as they were at one time */
    uint64_t compare[2], compare_mask[2]; /* WIDE_CAS */
    uint64_t swap[2],
        swap_mask[2]; /* WIDE_FAA: the addend, and the top bit of each field (fields may span the words) */
};

static inline bool fabric_is_wide(const struct fabric_op *op)
{
    return op->kind == FABRIC_WIDE_CAS || op->kind == FABRIC_WIDE_FAA;
}
static inline bool fabric_is_atomic(const struct fabric_op *op)
{
    return op->kind >= FABRIC_CAS && op->kind != FABRIC_SEND;
}

/* What waits for a batch. Caller-owned; lives until pending is 0. Several batches may share one. */
struct fabric_wait {
    struct coro *co;  /* resumed by the scheduler when pending drops to 0; NULL for waits that are only polled */
    uint32_t pending; /* operations posted and not reaped */
    uint32_t failed;  /* of the reaped ones, how many have a status other than 0 */
    /* private to the backend */
    struct fabric_wait *next; /* the list fabric_poll returns */
    uint32_t answered;        /* of the pending ones, how many have a completion on its way, */
    uint64_t answer_ns;       /* and when the last of these is there */
};

struct fabric_message {
    uint32_t from_cn, from_worker, size_bytes, pad;
    uint8_t bytes[FABRIC_MESSAGE_BYTES];
};

struct fabric;
struct fabric_route;

/* Operations posted by one endpoint, by node, phase and kind: what reports and tests count. */
struct fabric_counters {
    uint64_t ops[FABRIC_NODES_MAX][CELLAR_PHASES][FABRIC_KINDS];
    uint64_t batches; /* calls of fabric_post */
};

/*
 * The holder of an endpoint's helm, which uses the endpoint: one thread at a time. It is its worker's thread's; where
 * the backend can, that lets go of it while it sleeps in idle() with `lends` set. Then a thread from outside may
 * borrow it, drive the worker for a moment, and give it back.
 */
enum fabric_helm { FABRIC_HELM_WORKER, FABRIC_HELM_FREE, FABRIC_HELM_BORROWED };

/*
 * An endpoint: made by fabric_endpoint_open, used only by the thread with its helm. Backends embed it as their first
 * member.
 */
struct fabric_ep {
    /* read-only for callers */
    const struct fabric_ops *ops;
    struct fabric *fabric;
    uint32_t cn, worker;
    struct prng prng;
    struct fabric_counters counters;
    struct fabric_message inbox[FABRIC_INBOX_MESSAGES]; /* filled by poll, emptied by fabric_recv */
    uint32_t inbox_head, inbox_tail;
    /* set by the caller: bulk mode. Operations run at once and cost no (virtual) time; for load, scan and audit only */
    bool bulk;
    /* accesses to records made since the backend last looked: what simulated CPU time of the engine follows from */
    uint32_t work;
    /* set by a backend that interleaves workers itself, else NULL: others may run before it returns */
    void (*preempt)(struct fabric_ep *ep);
    /*
     * set by the caller, from any thread: which node stands in for one that is away (fabric_route.h); NULL: none has
     * to
     */
    const struct fabric_route *_Atomic route;
    /* set by the worker before it idles: nothing of it is under way that a thread from outside would be held up by */
    bool lends;
    bool patient;       /* set by who opened it: no call waits for it, so it sleeps at once when it idles */
    uint32_t in_flight; /* batches that were posted and not reaped; kept by backends that lend */
    /* atomically, from any thread */
    uint32_t helm; /* enum fabric_helm, and FABRIC_WAITED: the worker's thread wants it back */
    uint32_t rung; /* counts the wakes */
};

/*
 * In a word that threads outside any worker wait for, beside the count in its other bits: a thread sleeps until the
 * count is 0. A thread that counts down (fabric_done) then wakes just those. The word may be gone as soon as its
 * count is 0.
 */
#define FABRIC_WAITED (1u << 31)

typedef void (*fabric_worker_fn)(void *arg);

enum fabric_control_kind {
    FABRIC_ENDPOINT_OPEN,  /* cn, worker -> ep */
    FABRIC_ENDPOINT_CLOSE, /* ep: nothing of it may be pending */
    FABRIC_REGISTER_LOCAL, /* base, bytes: local memory that operations may name */
    /* base, bytes, as they were registered: no operation names them any more, and they may be freed */
    FABRIC_FORGET_LOCAL,
    FABRIC_CN_LIFE, /* cn, life: that CN of this process is this life from now on; said before others can hear of it */
    /*
     * cn, life: from its return on no operation of that CN's lives up to this one is executed; only_dead: EXISTS if
     * it lives. A later life, and a process that has not said yet which one it is, is not concerned; 0: each is
     */
    FABRIC_CN_EVICT,
    FABRIC_NODE_KILL, /* node: from its return on the node answers nothing */
    /*
     * cn, node: a question. EXISTS: the node is there, as far as cn knows; 0: it is gone, and answers nothing any
     * more
     */
    FABRIC_NODE_GONE,
    /* cn, node: others know that the node is lost: from its return on nothing of that CN reaches it, either */
    FABRIC_NODE_LEAVE,
    /*
     * node: it was lost, and a fresh one, all zero, is in its place; UNREACHABLE: none is there yet; blank: MISMATCH
     * if it was written to, as far as a lost one of this backend can be there again
     */
    FABRIC_NODE_REPLACE,
    FABRIC_SYNC, /* flush the pool file, if there is one */
    /*
     * Of joint memory: from its return on no other process comes or goes, and `alone` is true to the fact. DEADLINE:
     * another one has been at it for too long. The opening has it already
     */
    FABRIC_DOOR_TAKE,
    FABRIC_DOOR_GIVE,
};
struct fabric_control {
    enum fabric_control_kind kind;
    bool only_dead, blank;
    uint32_t cn, worker, node;
    uint64_t life; /* grows with each process that has that index (members.h: its incarnation); 0: none, or any */
    void *base;
    uint64_t bytes;
    struct fabric_ep *ep;
};
/* INV-FABRIC-12. Is that life, 0 if it was not said, one that a fence of `fence` concerns? */
bool fabric_fence_concerns(uint64_t fence, uint64_t life);

/* The backend's table: the whole seam. Keep in call order. */
struct fabric_ops {
    const char *name;
    int (*control)(struct fabric *fabric, struct fabric_control *control, struct cellar_error *error);
    /* Starts fn(arg), the main loop of the worker that owns ep: a thread in shm, a coroutine in sim. */
    int (*spawn)(struct fabric *fabric, struct fabric_ep *ep, fabric_worker_fn fn, void *arg);
    /*
     * From outside any worker: blocks until the count in *word, which is brought down by fabric_done, is 0; -DEADLINE
     * after timeout_ns (UINT64_MAX: never). sim runs the cluster meanwhile, and returns -INDETERMINATE if nothing is
     * left to happen.
     */
    int (*wait)(struct fabric *fabric, uint32_t *word, uint64_t timeout_ns);
    /*
     * From any thread: makes ep's idle() return, now or at its next call (NULL: none's). Wakes the threads that wait
     * for `word` (NULL: none), of which nothing but its place is used, nor of the fabric: both may be gone.
     */
    void (*wake)(struct fabric *fabric, struct fabric_ep *ep, uint32_t *word);
    void (*post)(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait);
    /*
     * Reaps completions and messages; returns the waits whose pending has just dropped to 0, linked by next, or NULL.
     */
    struct fabric_wait *(*poll)(struct fabric_ep *ep);
    /* Nothing to do: returns when something was completed, received or woken, or at until_ns (UINT64_MAX: no limit). */
    void (*idle)(struct fabric_ep *ep, uint64_t until_ns);
    uint64_t (*now_ns)(struct fabric_ep *ep); /* rule 7 */
    void (*close)(struct fabric *fabric);
};

/* What a programmable switch of this fabric takes: nothing but real time where it is a thread. */
struct fabric_switch_times {
    uint32_t pass_ns;        /* from port to port, or to the port that recirculates */
    uint32_t recirculate_ps; /* that port's, for each packet */
    uint32_t control_ns;     /* until the control plane sees a packet, and between two of its turns */
};

/* What tests do to switches; may be changed at any time, from any thread. Drawn from the endpoint's generator. */
struct fabric_switch_faults {
    _Atomic uint32_t loss_ppm;  /* of a packet that comes in or goes out: it is lost */
    _Atomic uint32_t twice_ppm; /* of a packet that comes in: it comes twice, with up to stray_ns between */
    _Atomic uint32_t fail_ppm;  /* of a packet that comes in: the switch loses all its state, and is down */
    uint64_t stray_ns, down_ns; /* at most */
};

/* A fabric: made by fabric_shm_open or fabric_sim_open. Backends embed it as their first member. */
struct fabric {
    const struct fabric_ops *ops;
    uint32_t mn_count;
    uint32_t cn_count; /* compute nodes that may exist, in all processes */
    uint32_t cn_first; /* shm: the first one of this process */
    uint64_t mn_bytes; /* region of each memory node */
    bool line_atomic;  /* see rule 2 */
    bool fresh;        /* the memory was made, all zero, by this open */
    bool lends;        /* workers are threads that lend their endpoints' helms while they sleep */
    bool kept;         /* the memory outlives this open, for the next one: a pool file */
    bool joint;        /* ... and other processes may have it, too, beside this one, whenever its door is not held */
    bool alone;        /* while the door is held: none has */
    bool immediate;    /* operations have run, and completed, when their post returns */
    bool any_local;    /* operations may name any memory of this process: nothing has to be registered */
    bool wide_atomics; /* FABRIC_WIDE_* are there, executed as the masked ones are; else they end with UNSUPPORTED */
    /* what executes masked CAS and field FAA, for reports: processor, simulation, device, loop of plain CAS */
    const char *masked_by;
    /* no cell can be locked, applied and unlocked faster: bounds how fast a 16-bit EN can wrap */
    uint64_t apply_min_ns;
    uint64_t stall_max_ns; /* a living worker takes a step at least this often, however loaded its machine is */
    uint64_t seed;
    struct fabric_switch_times switch_times;
};

/* ---- calls, common to all backends (fabric.c, or inline over the table) ---- */

NODISCARD int fabric_endpoint_open(struct fabric *fabric, uint32_t cn, uint32_t worker, struct fabric_ep **out,
                                   struct cellar_error *error);
void fabric_endpoint_close(struct fabric_ep *ep);
NODISCARD int fabric_register_local(struct fabric *fabric, void *base, uint64_t bytes);
/*
 * Before registered memory is freed that others like it follow: until then it counts against the limit of locked
 * memory. What lives as long as the fabric need not be forgotten.
 */
void fabric_forget_local(struct fabric *fabric, void *base, uint64_t bytes);
/* The address that a SEND to that worker's inbox names. */
struct fabric_addr fabric_endpoint_addr(uint32_t cn, uint32_t worker);

/* Gives operations the addresses that they go to (fabric_route.h). */
void fabric_route_ops(const struct fabric_route *route, struct fabric_op *ops, uint32_t count);
/*
 * Posts a batch to the backend, which counts it. Operations to one node form one doorbell batch, in order. Adds
 * `count` to wait->pending; each failure is in its op's status and in wait->failed. On shm without delay all is done on
 * return.
 */
static inline void fabric_post(struct fabric_ep *ep, struct fabric_op *ops, uint32_t count, struct fabric_wait *wait)
{
    if (count == 0) return;
    const struct fabric_route *route = atomic_load_explicit(&ep->route, memory_order_acquire);
    if (__builtin_expect(route != NULL, 0)) fabric_route_ops(route, ops, count);
    counter_add(&ep->counters.batches, 1);
    ep->ops->post(ep, ops, count, wait);
}
/*
 * For backends, once for each operation posted. A SEND names no memory node: it is counted under node 0. What has no
 * counter (and will fail as INVALID) is not counted.
 */
static inline void fabric_count(struct fabric_ep *ep, const struct fabric_op *op)
{
    uint32_t node = __builtin_expect(op->kind == FABRIC_SEND, 0) ? 0 : fabric_addr_node(op->addr);

    if (__builtin_expect(node < FABRIC_NODES_MAX && op->phase < CELLAR_PHASES && op->kind < FABRIC_KINDS, 1))
        counter_add(&ep->counters.ops[node][op->phase][op->kind], 1);
}
/* Suspends co until wait->pending, which is not 0, is. */
void fabric_suspend(struct coro *co, struct fabric_wait *wait);
/*
 * Suspends co until wait->pending is 0; returns wait->failed and zeroes it. Does not suspend when nothing is pending.
 */
static inline uint32_t fabric_await(struct coro *co, struct fabric_wait *wait)
{
    if (wait->pending > 0) fabric_suspend(co, wait);
    uint32_t failed = wait->failed;
    wait->failed = 0;
    return failed;
}
/* Takes the oldest message of the inbox; false when it is empty. */
bool fabric_recv(struct fabric_ep *ep, struct fabric_message *message);

static inline struct fabric_wait *fabric_poll(struct fabric_ep *ep) { return ep->ops->poll(ep); }
static inline void fabric_idle(struct fabric_ep *ep, uint64_t until_ns) { ep->ops->idle(ep, until_ns); }
static inline uint64_t fabric_now_ns(struct fabric_ep *ep) { return ep->ops->now_ns(ep); }
static inline uint64_t fabric_random(struct fabric_ep *ep) { return prng_next(&ep->prng); }
/*
 * Makes the endpoint's idle return, now or at its next call; while its helm is borrowed, the borrower looks before
 * the worker sleeps on.
 */
static inline void fabric_wake(struct fabric *fabric, struct fabric_ep *ep)
{
    __atomic_fetch_add(&ep->rung, 1, __ATOMIC_SEQ_CST);
    uint32_t helm = __atomic_load_n(&ep->helm, __ATOMIC_SEQ_CST);
    if ((helm & ~FABRIC_WAITED) == FABRIC_HELM_BORROWED) return;
    fabric->ops->wake(fabric, ep, NULL);
}
/* One less of what a thread in wait() counts; at 0 the word, and all that hangs on it, may be gone. */
static inline void fabric_done(struct fabric *fabric, uint32_t *word)
{
    const struct fabric_ops *ops = fabric->ops;
    if (__atomic_sub_fetch(word, 1, __ATOMIC_SEQ_CST) == FABRIC_WAITED) ops->wake(fabric, NULL, word);
}
/* The count in a word of wait(). */
static inline uint32_t fabric_count_left(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) & ~FABRIC_WAITED;
}

/* ---- the helm (fabric.c); and a lock for a few instructions, 0: free ---- */

/*
 * Backends, in idle: lets go of it before the sleep (a thread that changes something for the worker from then on
 * wakes it), and has it again after.
 */
static inline void fabric_helm_lend(struct fabric_ep *ep)
{
    __atomic_store_n(&ep->helm, FABRIC_HELM_FREE, __ATOMIC_SEQ_CST);
}
void fabric_helm_take(struct fabric_ep *ep);
/* From any thread: true, and the worker is the caller's to drive until fabric_helm_return. */
static inline bool fabric_helm_borrow(struct fabric_ep *ep)
{
    uint32_t free = FABRIC_HELM_FREE;
    return __atomic_load_n(&ep->helm, __ATOMIC_RELAXED) == FABRIC_HELM_FREE &&
           __atomic_compare_exchange_n(&ep->helm, &free, FABRIC_HELM_BORROWED, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}
/* At a glance. */
static inline bool fabric_helm_is_free(const struct fabric_ep *ep)
{
    return __atomic_load_n(&ep->helm, __ATOMIC_RELAXED) == FABRIC_HELM_FREE;
}
static inline bool fabric_helm_is_borrowed(const struct fabric_ep *ep)
{
    return (__atomic_load_n(&ep->helm, __ATOMIC_RELAXED) & ~FABRIC_WAITED) == FABRIC_HELM_BORROWED;
}
/*
 * Gives it back. `more`: there is something to do for the worker's thread. `seen`: ep->rung before the caller looked
 * for the last time.
 */
void fabric_helm_return(struct fabric_ep *ep, bool more, uint32_t seen);

void fabric_lock(struct fabric *fabric, uint32_t *lock);
static inline void fabric_unlock(struct fabric *fabric, uint32_t *lock)
{
    const struct fabric_ops *ops = fabric->ops;
    if (__atomic_exchange_n(lock, 0, __ATOMIC_SEQ_CST) & FABRIC_WAITED) ops->wake(fabric, NULL, lock);
}
static inline void fabric_close(struct fabric *fabric)
{
    if (fabric) fabric->ops->close(fabric);
}

/* The engine tells what it does between operations: `accesses` to records that it looked up, copied or judged. */
static inline void fabric_work(struct fabric_ep *ep, uint32_t accesses) { ep->work += accesses; }
/*
 * In the midst of a change to what workers of a compute node share, wherever real threads could meet: a simulator may
 * let others run here. Costs a compare elsewhere.
 */
static inline void fabric_preempt(struct fabric_ep *ep)
{
    if (__builtin_expect(ep->preempt != NULL, 0)) ep->preempt(ep);
}

/* ---- building one operation ---- */

static inline struct fabric_op fabric_op_read(struct fabric_addr addr, void *local, uint32_t size_bytes)
{
    return (struct fabric_op){.kind = FABRIC_READ, .addr = addr, .local = local, .size_bytes = size_bytes};
}
static inline struct fabric_op fabric_op_write(struct fabric_addr addr, const void *local, uint32_t size_bytes)
{
    return (struct fabric_op){.kind = FABRIC_WRITE, .addr = addr, .local = (void *)local, .size_bytes = size_bytes};
}
static inline struct fabric_op fabric_op_masked_cas(struct fabric_addr addr, uint64_t *old, uint64_t compare,
                                                    uint64_t compare_mask, uint64_t swap, uint64_t swap_mask)
{
    return (struct fabric_op){.kind = FABRIC_MASKED_CAS,
                              .addr = addr,
                              .local = old,
                              .size_bytes = 8,
                              .compare = compare,
                              .compare_mask = compare_mask,
                              .swap = swap,
                              .swap_mask = swap_mask};
}
static inline struct fabric_op fabric_op_cas(struct fabric_addr addr, uint64_t *old, uint64_t compare, uint64_t swap)
{
    return (struct fabric_op){
        .kind = FABRIC_CAS, .addr = addr, .local = old, .size_bytes = 8, .compare = compare, .swap = swap};
}
static inline struct fabric_op fabric_op_faa(struct fabric_addr addr, uint64_t *old, uint64_t addend)
{
    return (struct fabric_op){.kind = FABRIC_FAA, .addr = addr, .local = old, .size_bytes = 8, .swap = addend};
}
static inline struct fabric_op fabric_op_field_faa(struct fabric_addr addr, uint64_t *old, uint64_t addend,
                                                   uint64_t tops)
{
    return (struct fabric_op){
        .kind = FABRIC_FIELD_FAA, .addr = addr, .local = old, .size_bytes = 8, .swap = addend, .swap_mask = tops};
}
/* kind: FABRIC_WIDE_CAS or FABRIC_WIDE_FAA. */
static inline struct fabric_op fabric_op_wide(enum fabric_op_kind kind, struct fabric_addr addr,
                                              struct fabric_wide *wide)
{
    return (struct fabric_op){.kind = (uint8_t)kind, .addr = addr, .local = wide, .size_bytes = 16};
}

/* ---- what wide and field atomics do to words: for backends ---- */

/* Adds field by field: the tops are added without their carry, which would leave the field. */
static inline uint64_t fabric_field_add(uint64_t word, uint64_t addend, uint64_t tops)
{
    return ((word & ~tops) + (addend & ~tops)) ^ ((word ^ addend) & tops);
}
static inline bool fabric_wide_matches(const struct fabric_op *op, const uint64_t old[2])
{
    const struct fabric_wide *wide = op->local;
    return op->kind == FABRIC_WIDE_FAA || (((old[0] ^ wide->compare[0]) & wide->compare_mask[0]) |
                                           ((old[1] ^ wide->compare[1]) & wide->compare_mask[1])) == 0;
}
/* What becomes of `old`; the same where a CAS does not match. */
static inline void fabric_wide_apply(const struct fabric_op *op, const uint64_t old[2], uint64_t new[2])
{
    const struct fabric_wide *wide = op->local;
    if (op->kind == FABRIC_WIDE_FAA) {
        uint64_t tops[2] = {wide->swap_mask[0], wide->swap_mask[1]};
        uint64_t low = (old[0] & ~tops[0]) + (wide->swap[0] & ~tops[0]);
        uint64_t carry = low < (old[0] & ~tops[0]); /* out of the word: none when its top bit is a field's */
        uint64_t high = (old[1] & ~tops[1]) + (wide->swap[1] & ~tops[1]) + carry;
        new[0] = low ^ ((old[0] ^ wide->swap[0]) & tops[0]);
        new[1] = high ^ ((old[1] ^ wide->swap[1]) & tops[1]);
        return;
    }
    bool matches = fabric_wide_matches(op, old);
    for (int i = 0; i < 2; i++)
        new[i] = matches ? (old[i] & ~wide->swap_mask[i]) | (wide->swap[i] & wide->swap_mask[i]) : old[i];
}
