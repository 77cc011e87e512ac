/*
 * lockmgr.h - locks that live in memory nodes: one interface, one file for each algorithm, one table of those that
 * are linked.
 *
 * A lock is an address and lockmgr_lock_bytes() bytes there, aligned to 64 and all zero when free for the first time;
 * the caller places them. Clients are coroutines. Each compute node (CN) has a *lock manager*, shared by its workers:
 * what clients of one CN share (local queues, generations) is in it. Each worker thread has a *lockmgr_worker*: its
 * endpoint, its scheduler, its messages. Each coroutine has a *client*, which may hold several locks at once, each in
 * a *hold*.
 *
 *     client ── acquire ──> algorithm ──> fabric: atomics and READs of the lock's bytes
 *       ^                      ^  └─────> SEND to another client's worker ──> its loop ──> lockmgr_deliver
 *       └──────── granted ─────┘                                               ──> algorithm ──> signal
 *
 * Invariants, whatever the algorithm:
 *   INV-LOCKMGR-1  never an exclusive holder beside another holder, unless a holder's lease ran out by every
 *                  clock or its CN was declared dead and fenced
 *   INV-LOCKMGR-2  a waiter is granted, gives up by its deadline, or is told of an error: no wake-up is lost
 *   INV-LOCKMGR-3  an acquire that did not return 0 holds nothing, and leaves nothing that would stop others
 *   INV-LOCKMGR-4  words touched by atomics are changed by atomics only: resets are CAS, never WRITE
 *   INV-LOCKMGR-5  a lock manager that rests has nothing under way, whichever of its workers have left; no worker
 *                  takes part again whose inbox holds anything from before the rest
 *   INV-LOCKMGR-6  a compute node that a lock manager waits for while none of its clients does is watched: it says so
 *                  (lockmgr_awaits)
 */
#pragma once

#include "coro.h"
#include "fabric.h"
#include "sched.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCKMGR_LOCK_ALIGN 64
#define LOCKMGR_HOLD_WORDS 12 /* what an algorithm may keep in a hold */
#define LOCKMGR_TENANTS_MAX 16
#define LOCKMGR_FOREVER UINT64_MAX /* a timeout: none */
#define LOCKMGR_SILENCE_NS 1000000000ull

/*
 * UPDATE: reads beside those that read already, and may become exclusive (lockmgr_upgrade); two of them exclude each
 * other.
 */
enum lockmgr_mode { LOCKMGR_SHARED, LOCKMGR_EXCLUSIVE, LOCKMGR_UPDATE };

/* What an algorithm promises: bits. Monitors of the tests hold it to each. */
enum lockmgr_promise {
    LOCKMGR_SHARES = 1,     /* shared holders hold together; without it SHARED is as EXCLUSIVE */
    LOCKMGR_TASK_FAIR = 2,  /* grants in order of arrival (readers that stand together, together) */
    LOCKMGR_PHASE_FAIR = 4, /* a reader waits for a bounded number of writers, a writer for one phase of readers */
    LOCKMGR_BOUNDED = 8,    /* no client starves */
    LOCKMGR_TIMEOUTS = 16,  /* a waiter may give up and leave the lock usable */
    LOCKMGR_RECOVERS = 32,  /* a dead holder or waiter stops others for a bounded time only */
    LOCKMGR_LEASES = 64,    /* a holder that exceeds the lease may lose the lock to another: its release is FENCED */
    LOCKMGR_CLOCKS = 128,   /* rests on config.common, which must not jump */
    LOCKMGR_OVERFLOWS =
        512, /* a capacity below the number of clients, or version_bits that soon run out, cost time only */
    LOCKMGR_PROMPT = 256,   /* rests on operations that are executed within a quarter of a lease, or never */
    LOCKMGR_UPDATES = 1024, /* UPDATE locks let readers that were there go on; without it UPDATE is as EXCLUSIVE */
    LOCKMGR_SLOTS = 2048,   /* a holder may ask for a lease several times as long (lockmgr_ask_slots) */
    LOCKMGR_ABANDONS =
        4096 /* a lock that its client has forgotten stops others for a bounded time only (lockmgr_abandon) */
};

/*
 * Which compute nodes are dead and fenced, as the membership service says; may be asked at any time by any worker.
 * `dead` may be out of date: a compute node has died since, or has come that was not there. A compute node need not
 * know that it is dead itself.
 */
struct lockmgr_view {
    bool (*dead)(void *arg, uint32_t cn);
    void *arg;
    /*
     * Looks again: a compute node that has come before this call is not dead by what `dead` says afterwards. 0, or an
     * error. NULL: none comes late.
     */
    int (*look)(void *arg, struct coro *co, struct fabric_ep *ep, uint32_t cn);
    /* Grows whenever a compute node has died, even if its number is used again. NULL: how many are dead. */
    uint64_t (*deaths)(void *arg);
    /* Has this compute node stopped? Others recover it, and it recovers none. NULL: it never does. */
    bool (*stopped)(void *arg);
};

/* A clock that all compute nodes share, give or take, kept by others (PTP and the like). */
struct lockmgr_common_time {
    uint64_t (*now_ns)(void *arg, struct fabric_ep *ep); /* NULL: endpoints' own clocks are one */
    void *arg;
    uint64_t error_ns; /* between any two nodes, at most */
};

struct lockmgr_config {
    const char *algorithm; /* a name of the table */
    const char *policy;    /* of those algorithms that have several; NULL: the first */
    uint32_t cn_count, workers_per_cn, clients_per_worker;
    /* waiters that a lock's queue has room for, at least cn_count; 0: as many as it needs never to overflow */
    uint32_t capacity;
    uint32_t locks_per_client; /* that a client holds or waits for at once, at most; 0: 16. Sizes tables of a CN */
    uint32_t version_bits;     /* of what tells rounds of a ring of waiters apart; 0: as many as there is room for */
    uint64_t lease_ns;         /* after so long without progress a holder counts as dead; 0: the algorithm's default */
    uint32_t slots_max;        /* that a holder may ask for at once, each for one lease; 0: 1 */
    uint64_t full_wait_ns; /* of counters that are full and cleared: between two looks, at most; 0: the algorithm's */
    uint64_t rtt_ns;       /* of the fabric, about: leases and polls are measured by it */
    /* of those algorithms that then let readers in; 0: the algorithm's default; UINT32_MAX: no limit */
    uint32_t writers_in_a_row;
    /*
     * The lock server, of those algorithms that have one: a CN after the clients', with so many workers; 0: there is
     * none. It is a lock manager, opened for that CN, with workers that have a loop as all others, but no clients.
     */
    uint32_t server_cn, server_workers;
    /*
     * A server or a switch that does not answer for so long, though asked again and again, counts as lost until it
     * answers again: calls that need it end with -UNREACHABLE. 0: LOCKMGR_SILENCE_NS. (Of those algorithms that say
     * so in lab/docs/locks.md.)
     */
    uint64_t silence_ns;
    /*
     * Programmable switches, of those algorithms that lock in the network: `switches` CNs from switch_cn on, after
     * the clients'. Each is a lock manager, opened for that CN, of one worker without clients.
     */
    uint32_t switch_cn, switches;
    const struct fabric_switch_faults *switch_faults; /* NULL: none */
    /* for requests in a switch's queues, of those algorithms that have some; 0: the algorithm's default */
    uint32_t switch_slots;
    /*
     * Of those that tell tenants apart: so many, 0: 2. The first tenant_cns CNs are the first tenant's (0: as many as
     * others'), the rest are dealt evenly; each may ask for tenant_rate locks a second (0: a million), or has a
     * priority, by policy.
     */
    uint32_t tenants, tenant_cns;
    uint64_t tenant_rate;
    /*
     * Their registers are few and numbered: lock i is at first_lock + i x lock_stride, and there are lock_count.
     * Others have no use for it.
     */
    struct fabric_addr first_lock;
    uint64_t lock_stride, lock_count;
    /*
     * 8 bytes, zero at first, by which CNs agree on a common time (for order among waiters of several CNs); bits 0:
     * clocks as they are
     */
    struct fabric_addr clock;
    struct lockmgr_view view;          /* dead may be NULL: no compute node dies */
    struct lockmgr_common_time common; /* for algorithms with LOCKMGR_CLOCKS */
};

/* Where a client's time goes: the parts of ShiftLock's Table 2, each summed up over all acquires or releases. */
enum lockmgr_time {
    LOCKMGR_FIRST_EXCLUSIVE,  /* the first atomic of an exclusive acquire, */
    LOCKMGR_FIRST_SHARED,     /* ... of a shared one, */
    LOCKMGR_FIRST_RELEASE,    /* ... of a release */
    LOCKMGR_NOTIFY,           /* telling the one before in the queue */
    LOCKMGR_WAIT_PREDECESSOR, /* for its message */
    LOCKMGR_WAIT_READERS,     /* a writer for the readers before it */
    LOCKMGR_WAIT_WRITERS,     /* a reader */
    LOCKMGR_HAND_OVER,        /* the rest of a release: waiting for the successor's message, telling it */
    LOCKMGR_RETRY_EXCLUSIVE,  /* an exclusive acquire after its first atomic, of locks that try again */
    LOCKMGR_RETRY_SHARED,     /* ... a shared one */
    LOCKMGR_TIMES
};

/*
 * What one client has done; counters grow only. Operations are those on memory nodes: by kind, in acquire and in
 * release.
 */
struct lockmgr_stats {
    uint64_t acquires, releases; /* that ended well */
    uint64_t shared;             /* of the acquires */
    uint64_t immediate;          /* granted without having waited or tried again */
    uint64_t local;              /* granted by another client of the CN, without an operation */
    uint64_t retries;            /* operations that had to be tried again: CAS, polls, refetches of entries */
    uint64_t timeouts, failures; /* acquires that gave up; that ended with an error */
    uint64_t resets, reset_ns;   /* led by this client, and how long they took, all together */
    uint64_t messages;           /* sent */
    uint64_t joint;              /* operations among release_ops that acquired for the next one, too */
    uint64_t refetches;          /* READs of a release for entries that an earlier READ of it had missed */
    uint64_t times_ns[LOCKMGR_TIMES];
    uint64_t acquire_ops[FABRIC_KINDS], release_ops[FABRIC_KINDS];
};

struct lockmgr;
struct lockmgr_worker;
struct lockmgr_client;

/*
 * One lock held or waited for. The caller's, zeroed before its first use; may be used again after the release, or
 * after an acquire that failed.
 */
struct lockmgr_hold {
    /* read-only for the caller */
    struct fabric_addr lock;
    enum lockmgr_mode mode;
    bool held;
    bool at_once; /* this acquire was granted without having waited; */
    bool handed;  /* ... and its release told another client that it has the lock now */
    /* the algorithm's */
    struct lockmgr_client *client;
    struct lockmgr_hold *next;          /* of its client's */
    uint64_t words[LOCKMGR_HOLD_WORDS]; /* all zero when an acquire begins */
};

/* Refuses with a message what no lock can be made from: unknown names, a capacity or a lease too small. */
NODISCARD int lockmgr_check(const struct lockmgr_config *config, struct cellar_error *error);
/*
 * Bytes of one lock, a multiple of 8; config was checked. 0: the lock has no bytes in memory nodes (it is a
 * server's).
 */
uint64_t lockmgr_lock_bytes(const struct lockmgr_config *config);
uint32_t lockmgr_promises(const struct lockmgr_config *config); /* enum lockmgr_promise, of that policy */
bool lockmgr_has_server(const char *algorithm);
uint32_t lockmgr_switches_max(const char *algorithm); /* 0: it needs none; else at least one, and at most so many */
bool lockmgr_numbered(const char *algorithm);         /* it must be told where its locks are: config.lock_count */
/* How many tenants there are, and whose that CN is: see config.tenants. */
uint32_t lockmgr_tenants(const struct lockmgr_config *config);
uint32_t lockmgr_tenant_of(const struct lockmgr_config *config, uint32_t cn);
/* The i-th algorithm's name and what it is, in a line; NULL after the last. */
const char *lockmgr_name(uint32_t i, const char **about);
/* The i-th policy of that algorithm; NULL after the last, and of one that has none. */
const char *lockmgr_policy_name(const char *algorithm, uint32_t i);

/*
 * The lock manager of one CN, of clients, (cn = server_cn) of servers, or of a switch. config is copied, its strings
 * and view live on.
 */
NODISCARD int lockmgr_open(const struct lockmgr_config *config, struct fabric *fabric, uint32_t cn,
                           struct lockmgr **out, struct cellar_error *error);
/* All its workers are closed. NULL is allowed. */
void lockmgr_close(struct lockmgr *lockmgr);
/* Worker `worker` of that CN, which owns ep and sched; both outlive it. */
NODISCARD int lockmgr_worker_open(struct lockmgr *lockmgr, uint32_t worker, struct fabric_ep *ep, struct sched *sched,
                                  struct lockmgr_worker **out, struct cellar_error *error);
/* Its clients hold and wait for nothing. NULL is allowed. */
void lockmgr_worker_close(struct lockmgr_worker *worker);
/* Client number `client` < clients_per_worker, which runs as `task`; the worker's until it is closed. */
struct lockmgr_client *lockmgr_client_of(struct lockmgr_worker *worker, uint32_t client, struct sched_task *task);

/*
 * From now on the client's acquires ask for `slots` leases each, at most config.slots_max; 1 at first. For
 * transactions that take long; of algorithms without LOCKMGR_SLOTS nothing changes.
 */
void lockmgr_ask_slots(struct lockmgr_client *client, uint32_t slots);
/*
 * Waits for the lock. 0: held, until lockmgr_release. -DEADLINE: gave up after timeout_ns (about; LOCKMGR_FOREVER,
 * and algorithms without LOCKMGR_TIMEOUTS: never). -UNREACHABLE: a lock server or switch is lost that would have to
 * grant it (config.silence_ns; three times that at most since it was lost, at once if the view says so); it is given
 * up as by a timeout, other locks go on, and this one too when the server answers again. -CLOSED: all locks end
 * (lockmgr_halt). Others: as the fabric says; nothing is held (after INDETERMINATE that is not known: the CN must
 * stop). lockmgr_reason says it in a line.
 */
NODISCARD int lockmgr_acquire(struct coro *co, struct lockmgr_client *client, struct lockmgr_hold *hold,
                              struct fabric_addr lock, enum lockmgr_mode mode, uint64_t timeout_ns);
/*
 * An UPDATE lock becomes exclusive, when all readers that were there before it are gone. 0: hold->mode is EXCLUSIVE
 * (at once where UPDATE is as EXCLUSIVE). -DEADLINE: it is still held for update. Others: release it.
 */
NODISCARD int lockmgr_upgrade(struct coro *co, struct lockmgr_hold *hold, uint64_t timeout_ns);
/*
 * 0, or -FENCED and the like: the lock was lost meanwhile (a lease ran out, it was reset), or is not known to be
 * released (-UNREACHABLE: by a lost server or switch, which grants nothing meanwhile). In any case the hold is free.
 */
NODISCARD int lockmgr_release(struct coro *co, struct lockmgr_hold *hold);
/* Why that client's last call ended with `code`: a line, the client's until its next call. */
const char *lockmgr_reason(const struct lockmgr_client *client, int code);

/*
 * The client forgets that it holds the lock, and does not release it: as if it had died, and another had gone on
 * under its number. Of algorithms with LOCKMGR_ABANDONS; for measurements of what failed clients cost (ShiftLock's
 * section 4.8, DSLR's appendix A.6).
 */
void lockmgr_abandon(struct lockmgr_hold *hold);

/*
 * Does a client of another compute node wait for the lock that is held? A READ, unless it is known. Without an answer
 * (the algorithm has none, the READ failed): true, since a holder that does not know gives way.
 */
bool lockmgr_followed(struct coro *co, struct lockmgr_hold *hold);

/*
 * The worker's loop hands over each message that it received: no other code reads its inbox. False: not a lock's
 * message.
 */
bool lockmgr_deliver(struct lockmgr_worker *worker, const struct fabric_message *message);
/*
 * Work besides the clients' (acknowledging resets, passing on what was given up, sending again), in a coroutine of
 * its own:
 *     for (;;) lockmgr_tend_wait(co, worker, lockmgr_tend(co, worker));
 * lockmgr_tend returns when to come again if nothing happens before; lockmgr_tend_wait suspends until then, or until
 * there is something to do.
 */
uint64_t lockmgr_tend(struct coro *co, struct lockmgr_worker *worker);
void lockmgr_tend_wait(struct coro *co, struct lockmgr_worker *worker, uint64_t until_ns);
/*
 * What its tender has in hand waits for other compute nodes: they are to be watched for deaths, as while clients
 * wait. (INV-LOCKMGR-6)
 */
bool lockmgr_awaits(const struct lockmgr_worker *worker);
/*
 * Nothing is left to do for others: give-ups have been passed on, all messages have been sent. A worker whose clients
 * are done keeps its loop running until this is so, and until others that it may serve are done, too.
 */
bool lockmgr_quiet(const struct lockmgr_worker *worker);
/* The worker's own statistics: those of all its clients. */
void lockmgr_stats_add(struct lockmgr_stats *sum, const struct lockmgr_worker *worker);
/* Operations on memory nodes that this client has posted so far. */
uint64_t lockmgr_client_ops(const struct lockmgr_client *client);

/* ---- all locks end (lockmgr_halt.c) ---- */

/*
 * All locks of all compute nodes end together, and begin anew as zeroes: their memory node was lost, say. Each lock
 * manager is halted, then all locks are zeroed by one compute node while all are halted, then each is resumed. From a
 * halt on
 *   - a holder goes on holding, since no client gets a lock any more; its release has no operation, and returns 0;
 *   - a client that waits or asks is told -CLOSED, soon; nothing is posted any more, and messages are not heeded.
 * From any thread, but halted, looked at and resumed by one at a time; `from`: its scheduler. May be called again.
 */
void lockmgr_halt(struct lockmgr *lockmgr, struct sched *from);
/*
 * Halted, and it has come to rest: no call is under way, nothing is posted, and all that it knew of its locks is
 * forgotten.
 */
bool lockmgr_rests(struct lockmgr *lockmgr);
/*
 * All locks are zero. Each worker begins when it has emptied its inbox of what is older (lockmgr_begin); until then
 * it is as halted.
 */
void lockmgr_resume(struct lockmgr *lockmgr);
/* In the worker's thread: the era that it is to begin when it has emptied its inbox; 0: none is due. */
uint64_t lockmgr_due(const struct lockmgr_worker *worker);
void lockmgr_begin(struct lockmgr_worker *worker, uint64_t era);
/* By a worker whose loop ends: its clients are done, and it is tended no more. It rests whenever all others do. */
void lockmgr_leave(struct lockmgr_worker *worker);

/*
 * A quiet lock's bytes: empty error if no client holds it or waits, -CORRUPT with the reason otherwise. bytes:
 * lockmgr_lock_bytes() of them.
 */
NODISCARD int lockmgr_audit(const struct lockmgr_config *config, const void *bytes, struct cellar_error *error);
/*
 * Of a switch's worker, in its thread: it loses its registers and all packets within, and answers nothing for so
 * long.
 */
void lockmgr_switch_fail(struct lockmgr_worker *worker, uint64_t down_ns);
/* The same of what a worker keeps of that lock; nothing of it is under way. */
NODISCARD int lockmgr_worker_audit(const struct lockmgr_worker *worker, struct fabric_addr lock,
                                   struct cellar_error *error);
