/*
 * epochs.h - durable epochs of a process that has its memory nodes for itself (docs/durability.md): the word that
 * counts them, which transactions are in flight, the log rings that the memory nodes' agents take entries out of, and
 * what is on the disks.
 *
 *     room in the ring -> draw: in flight, then the word -> COMMITTABLE -> entry in the ring -> placed: not in flight
 *         agent: the word moves on; none in flight at or below E -> takes entries -> E closed, synced, published
 *     await: says that it waits, then looks what is durable       publishes, then calls those that wait
 *
 * INV-DURABLE-8: an epoch is durable when every memory node has published it, those that it has not written included.
 *
 * INV-DURABLE-5:  an epoch is drawn after the last fetch has returned and before COMMITTABLE.
 * INV-DURABLE-6:  a coordinator is in flight from before that READ until its entry is in the ring, or surely nowhere.
 * INV-DURABLE-15: ring space is used again only when the agent has taken what is in it, each backup's, too; an extent,
 *                 when it has taken all that the coordinator has logged.
 * INV-DURABLE-16: what a call tells rests on nothing that is not on the disk: it waits for its own epoch, or, if it has
 *                 none, for all that were drawn before it ended.
 * INV-DURABLE-22: a call that waits says so, then looks what is durable; the agent publishes, then looks which wait.
 */
#pragma once

#include "cluster_plants.h"
#include "fabric.h"
#include "layout.h"
#include "logseg.h"
#include "sched.h"

#include <stdatomic.h>

#define EPOCHS_TURN_BYTES 16384 /* in use of a ring's half before the other one is next; of a short one a quarter */

/* A task that sleeps until it is called, from any thread; it stays until all threads that may call it have ended. */
struct epochs_sleeper {
    struct sched *sched;
    struct sched_task *task;
    atomic_bool called;
};

/* Of one copy of a ring, on one memory node. */
struct epochs_copy {
    /* the agent's; the ring's coordinator reads: all entries up to this sequence are taken */
    _Alignas(64) _Atomic uint64_t taken;
    /* the agent's alone */
    uint64_t tail; /* offset behind the entry taken last */
    struct fabric_addr addr;
};

/* Of one coordinator's log ring. */
struct epochs_ring {
    struct epochs_ring *next;
    /* its coordinator's; the agents read: no entry of an epoch below it will come; 0: it is not in flight */
    _Alignas(64) _Atomic uint64_t flight;
    /* likewise: the epoch that it waits for; 0: it does not wait */
    _Atomic uint64_t awaited;
    struct epochs_sleeper sleeper; /* its coordinator, which the agents call */
    bool begun;                    /* its coordinator's alone: it has begun an epoch, and no agent was told yet */
    /* its coordinator's alone: the sequence before that of the first entry in the ring's half in use; and that half */
    uint64_t half_sequence;
    bool second_half;
    uint32_t copy_count; /* one for each replica: on memory node `node`, and those behind it */
    uint32_t node, cn, coordinator;
    uint64_t bytes, incarnation;
    /* likewise; the agents read: where the entry that is too long for the ring lies, of its place; 0: nowhere */
    _Atomic uint64_t extent, extent_bytes;
    struct epochs_copy copies[];
};

/* A memory node. */
struct epochs_node {
    _Alignas(64) _Atomic uint64_t published; /* on its disk, with all before it */
    _Atomic(struct epochs_sleeper *) agent;  /* NULL: not there yet */
};

/* A worker whose thread is woken when an epoch is durable. It stays until epochs_close. */
struct epochs_watch {
    struct epochs_watch *next;
    struct fabric_ep *ep;
    _Atomic uint64_t awaited; /* the worker's; the agent reads: the epoch; 0: none */
};

/* A thread that waits, outside of any worker; its own, under the lock. */
struct epochs_waiter {
    struct epochs_waiter *next;
    uint64_t epoch, checkpoint; /* until both are reached */
    int rc;
    uint32_t pending; /* a word of wait() */
};

struct epochs {
    struct fabric *fabric;
    _Alignas(64) _Atomic uint64_t word;      /* the epoch that is on */
    _Alignas(64) _Atomic uint64_t drawn;     /* the largest that a transaction has, or a checkpoint waits for */
    _Alignas(64) _Atomic uint64_t durable;   /* on all disks, with all before it */
    _Atomic uint64_t urged;                  /* the largest that a call has waited for: it is not to be kept open */
    _Atomic(struct epochs_sleeper *) keeper; /* NULL: not there yet */
    atomic_int refused;                      /* 0, or a code: a disk takes nothing. FULL may pass, SYSTEM does not */
    atomic_uint crowded; /* logs nearly as long as they may be: a checkpoint that frees them is under way, */
    atomic_bool cramped; /* ... or is put off for lack of space */
    _Atomic uint64_t asked, checkpoints;               /* checkpoints that were asked for, and that count, */
    _Atomic uint64_t put_off;                          /* ... and for which there was no space when it was tried */
    _Atomic uint64_t loads, loads_over, loads_covered; /* rows loaded: begun, ended, in a checkpoint that is written, */
    _Atomic uint64_t loads_epoch;                      /* ... and counts when this epoch is durable */
    _Atomic uint64_t ending; /* no epoch from this one on is closed: INV-DURABLE-20. 0: any is */
    _Atomic(struct epochs_ring *) rings;
    _Atomic(struct epochs_watch *) watches;
    uint32_t lock; /* guards waiters */
    struct epochs_waiter *waiters;
    uint64_t first; /* of this life */
    uint32_t node_count;
    struct epochs_node nodes[FABRIC_NODES_MAX];
};

void epochs_open(struct epochs *epochs, struct fabric *fabric, uint32_t node_count, uint64_t first);
void epochs_close(struct epochs *epochs);
/*
 * A coordinator's ring, before its first transaction; its copies lie at these addresses, the first one at the log's.
 * NULL without memory. It stays until epochs_close.
 */
struct epochs_ring *epochs_join(struct epochs *epochs, struct sched *sched, struct sched_task *task,
                                const struct logseg *log, const struct fabric_addr *copies, uint32_t copy_count);

/* The agents have all entries up to this sequence. */
static inline uint64_t epochs_taken(const struct epochs_ring *ring)
{
    uint64_t taken = atomic_load_explicit(&ring->copies[0].taken, memory_order_acquire);
    for (uint32_t i = 1; i < ring->copy_count; i++) {
        uint64_t other = atomic_load_explicit(&ring->copies[i].taken, memory_order_acquire);
        if (other < taken) taken = other;
    }
    return taken;
}
/* Have the agents all that the coordinator has logged, up to this sequence? Then its extent is free. INV-DURABLE-15. */
static inline bool epochs_taken_all(const struct epochs_ring *ring, uint64_t sequence)
{
    return PLANT(epochs_extent_reused) || epochs_taken(ring) == sequence;
}
/* The agents look there, too, from now on: once they have taken all that lay elsewhere. */
static inline void epochs_extent_at(struct epochs_ring *ring, struct fabric_addr addr, uint64_t bytes)
{
    atomic_store_explicit(&ring->extent_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&ring->extent, addr.bits, memory_order_release);
}
/* May the coordinator place one more entry? INV-DURABLE-15. */
static inline bool epochs_room(const struct epochs_ring *ring)
{
    return PLANT(epochs_ring_reused) || epochs_taken(ring) >= ring->half_sequence;
}
/*
 * Before space for the next entry is looked for: when the agents have taken all that there is, and the half in use has
 * some, the other one is next. So a ring stays within few lines, which caches hold, however long it is. True: the
 * segment's tail is elsewhere now.
 */
static inline bool epochs_turn(const struct epochs_ring *ring, struct logseg *log)
{
    uint64_t some = log->bytes / 8 < EPOCHS_TURN_BYTES ? log->bytes / 8 : EPOCHS_TURN_BYTES;
    if (logseg_used(log) < some) return false;
    if (epochs_taken(ring) != log->sequence) return false;
    logseg_turn(log);
    return true;
}
/* The entry of that sequence, the ring's next one, lies there in the ring. */
static inline void epochs_placed_at(struct epochs_ring *ring, uint64_t sequence, bool second_half)
{
    if (second_half == ring->second_half) return;
    ring->second_half = second_half;
    ring->half_sequence = sequence - 1;
}
/*
 * In flight, with the epoch that is returned; until epochs_landed. When the call has ended, something waits for the
 * epoch, and sees to its end, or the agents are told that it was begun (epochs_begun).
 */
uint64_t epochs_draw(struct epochs *epochs, struct epochs_ring *ring);
/* The agents are to look at the rings now. */
void epochs_hurry(struct epochs *epochs, struct epochs_ring *ring);
/* The agents end the epoch in its time, if this one has begun it. */
static inline void epochs_begun(struct epochs *epochs, struct epochs_ring *ring)
{
    if (!ring->begun) return;
    ring->begun = false;
    epochs_hurry(epochs, ring);
}
static inline void epochs_landed(struct epochs_ring *ring)
{
    atomic_store_explicit(&ring->flight, 0, memory_order_release);
}
/* What a transaction that has logged nothing, and ends now, may have seen. */
static inline uint64_t epochs_seen(struct epochs *epochs) { return atomic_load(&epochs->drawn); }
/* 1: it is on all disks; 0: not yet; or the code for which it may never be. */
int epochs_reached(struct epochs *epochs, uint64_t epoch);

/* A memory node's agent: all up to this epoch is on its disk. */
void epochs_publish(struct epochs *epochs, uint32_t node, uint64_t epoch);
/* A log goes on only after a checkpoint for which there is no space. */
static inline bool epochs_cramped(struct epochs *epochs)
{
    bool loaded = atomic_load(&epochs->loads) != atomic_load(&epochs->loads_covered);
    return atomic_load(&epochs->cramped) && (loaded || atomic_load(&epochs->crowded));
}
/* Epochs up to this one are to be closed now, whether or not a transaction has them: agents are yet to be called, */
void epochs_press(struct epochs *epochs, uint64_t epoch);
/* ... or are, from the thread of `from`. */
void epochs_want(struct epochs *epochs, uint64_t epoch, struct sched *from);
/* One more checkpoint is to be made: its number. */
uint64_t epochs_ask(struct epochs *epochs);
/* No transaction in flight has an epoch up to this one, or will have (INV-DURABLE-7). An agent's. */
bool epochs_settled(struct epochs *epochs, uint64_t epoch);
/* That epoch is not to be kept open; from the thread of `from`. */
void epochs_urge(struct epochs *epochs, uint64_t epoch, struct sched *from);
/* For a worker; NULL without memory. */
struct epochs_watch *epochs_watch(struct epochs *epochs, struct fabric_ep *ep);
/* Then the worker looks what is durable, before it sleeps (INV-DURABLE-22). */
static inline void epochs_watch_for(struct epochs_watch *watch, uint64_t epoch)
{
    atomic_store(&watch->awaited, epoch);
}
/* Suspends the ring's coordinator until that epoch is durable; or a code. */
NODISCARD int epochs_await(struct coro *co, struct epochs *epochs, struct epochs_ring *ring, uint64_t epoch);
/*
 * Blocks a thread that is no worker's, until that epoch is durable and so many checkpoints count; or a code. FULL: or
 * there was no space for these.
 */
NODISCARD int epochs_wait(struct epochs *epochs, uint64_t epoch, uint64_t checkpoint);
/* Wakes those whose wait is over. An agent's. */
void epochs_tell(struct epochs *epochs, struct sched *agent);
/* Suspends the agent, or the keeper, until it is called, for so long at most. */
void epochs_rest(struct coro *co, struct epochs_sleeper *sleeper, uint64_t ns);
/* Calls the agents of memory nodes from the `first` one on; from the thread of `from`, NULL: it is no worker's. */
void epochs_call_agents(struct epochs *epochs, uint32_t first, struct sched *from);
/* Calls one of these, if it is there; from the thread of `from`, NULL: it is no worker's. */
void epochs_call(_Atomic(struct epochs_sleeper *) *sleeper, struct sched *from);
