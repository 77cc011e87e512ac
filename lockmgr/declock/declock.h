/*
 * declock.h - DecLock: a waiter for a lock queues in the memory node (cql.h) and is told by the one before it;
 * within a compute node (CN) clients queue locally, for one place of their CN in the remote queue. docs/declock.md
 * draws it.
 *
 *     slot (spin lock) ──> record: one lock that this CN has to do with; its resets
 *                            └──> seat: a place in the remote queue, and the local queue for it. `declock`: one for
 *                                 the CN; `declock-flat`: one for each client
 *
 * A seat's state is about its place:
 *
 *     IDLE ─agent─> BUSY: FAA, WRITE of the entry ─> WAITING ─grant─> HELD ─last holder─> BUSY: FAA + READ, notify
 *       ^                └──────── resetting ─────────┴─ reset signal: to IDLE                             │
 *       └──────────────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * The *agent* is the hold that brings the seat to HELD; a local waiter becomes agent when there is none.
 *
 *   INV-DECLOCK-1  a seat has one place in the queue at most: none enters while BUSY, WAITING or HELD
 *   INV-DECLOCK-2  a CN acknowledges a reset to generation g when no seat is BUSY, and none WAITING or HELD of an
 *                  earlier generation
 *   INV-DECLOCK-3  the header is cleared by CAS when all CNs that are not dead and fenced have acknowledged, and the
 *                  entries before that
 *   INV-DECLOCK-4  a grant counts for the ticket (index, generation) that it names, or not at all
 *   INV-DECLOCK-5  a place of an earlier generation is neither handed over nor taken off the queue
 *   INV-DECLOCK-6  a local waiter has an agent, a holder or a BUSY seat before it, and each of these looks at the
 *                  local queue when it ends
 *   INV-DECLOCK-7  a grant without a waiter is passed on
 *   INV-DECLOCK-8  no entry is written unless the queue had room and versions were not at their end; else the lock is
 *                  reset first
 *   INV-DECLOCK-9  a client that leads a reset ends when its own CN was declared dead: no CN acknowledges to that one
 *                  any more
 *   INV-DECLOCK-11 a compute node that a header names leads that reset, or comes to: a waiter for its end asks it.
 *                  Its name may be of an earlier life, which died amid the reset, and of which the living one knows
 *                  nothing
 */
#pragma once

#include "cql.h"
#include "lockmgr_algorithm.h"

#define DECLOCK_ACKS 64       /* acknowledgements that wait for the tender; others are asked for again */
#define DECLOCK_MESSAGES 16   /* sent at once */
#define DECLOCK_TRIES_MAX 100 /* of an operation that was not executed */

enum declock_policy {
    /* phase-fair: readers that wait in the CN are granted together, and have their turn after a writer */
    DECLOCK_TS_PF,
    DECLOCK_TS_TF, /* task-fair by timestamps */
    DECLOCK_REMOTE_PREFER,
    DECLOCK_LOCAL_PREFER,
    DECLOCK_LOCAL_BOUND
};

enum declock_message { DECLOCK_GRANT = 1, DECLOCK_RESET, DECLOCK_ACK, DECLOCK_NAMED };

enum declock_state { DECLOCK_IDLE, DECLOCK_BUSY, DECLOCK_WAITING, DECLOCK_HELD };

/* Where a reset is led from. */
struct declock_leader {
    uint32_t cn, worker;
};
struct declock_ack {
    uint64_t lock;
    struct declock_leader to;
    uint8_t generation;
    bool due;
};

/* A reset that this CN leads: by a client, or by the tender of its worker, to which that one has left it. */
struct declock_lead {
    struct lockmgr_client *by; /* NULL: it leads none */
    uint8_t generation;        /* that is to end */
    bool inherited;            /* from an earlier life: there is nothing to lead unless the header names this CN */
    uint64_t begin_ns;
    uint64_t again_ns; /* then CNs that have not acknowledged are signalled again */
    uint64_t acked[4]; /* by CN */
    struct declock_record *left_next;
};

struct declock_record {
    struct declock_record *next; /* of its slot, or free */
    uint64_t lock;               /* fabric_addr.bits */
    struct declock_seat *seats;
    bool reset_known;       /* a reset was signalled, */
    uint8_t reset_to;       /* ... to this generation */
    uint32_t pins;          /* keep it while its seats go */
    struct declock_ack ack; /* owed when the CN has nothing of earlier generations any more */
    struct declock_lead lead;
};

struct declock_seat {
    struct declock_seat *next; /* of its record, or free */
    struct declock_record *record;
    uint32_t owner; /* 0: the CN; flat: client id */
    enum declock_state state;
    enum lockmgr_mode place_mode; /* of its place in the remote queue */
    enum lockmgr_mode mode;       /* of the holders */
    struct cql_ticket ticket;
    bool ticketed, granted; /* a grant of that ticket is waited for; has come */
    bool alone;             /* the queue was empty when the place was got */
    bool passing;           /* in a worker's list of grants to pass on: */
    struct declock_seat *pass_next;
    struct lockmgr_hold *agent;
    struct lockmgr_hold *first, *last; /* local queue */
    uint32_t holders;
    uint32_t joins, transfers; /* readers that came later; hand-overs within the CN: since the place was granted */
    /* the earliest remote waiter, as far as known */
    bool remote_known, prefetching;
    uint16_t remote_stamp;
    uint32_t tenure; /* grants and releases of the place: tells whether what was prefetched is of this one */
};

/* The client of the CN that waits for a place in the remote queue, as the entry names it. */
struct declock_waiter {
    bool any;
    enum lockmgr_mode mode;
    uint32_t client;
    uint16_t stamp;
};

/* Of hold->words. */
enum { DECLOCK_NEXT, DECLOCK_SEAT, DECLOCK_ROLE, DECLOCK_STAMP };
enum declock_role { DECLOCK_QUEUED, DECLOCK_AGENT, DECLOCK_GRANTED };

struct declock_slot {
    atomic_uint word;
    struct declock_record *first;
};

/* Of one CN. */
struct declock {
    struct lockmgr *lockmgr;
    struct cql cql;
    bool flat;
    enum declock_policy policy;
    uint64_t stall_ns; /* a client that waits so long asks whether a CN died */
    uint32_t slot_mask, seat_count;
    struct declock_slot *slots;
    /* free ones: fixed numbers, made at open */
    atomic_uint pool_word;
    struct declock_record *records, *free_records;
    struct declock_seat *seats, *free_seats;
    atomic_uint used;         /* records */
    _Atomic uint64_t zero_ns; /* the common time's zero, by the CN's clock */
};

struct declock_client {
    uint64_t *words;                       /* registered: a whole lock, */
    struct lockmgr_message_wire *messages; /* ... and what is sent at once */
    uint64_t old;                          /* header, as the last release or reset found it */
};

struct declock_worker {
    struct declock_client *clients; /* the last is the tender's */
    uint8_t *memory;
    struct declock_ack acks[DECLOCK_ACKS];
    uint32_t ack_count;
    struct declock_seat *passes;
    struct declock_record *left; /* resets that clients have left to the tender */
    /* worker 0: the common time */
    uint64_t clock_due_ns;
    uint64_t clock_round; /* entered, and not seen its end */
    bool clock_entered;
};

static inline struct declock *declock_of(const struct lockmgr_worker *worker) { return worker->lockmgr->shared; }
struct declock_client *declock_client_of(const struct lockmgr_client *client);

/* ---- table: seats and records, under the lock of a slot ---- */

int declock_table_open(struct declock *declock, uint32_t seats);
void declock_table_close(struct declock *declock);
/* Nothing is in it any more. */
void declock_table_clear(struct declock *declock);
void declock_lock(struct declock *declock, uint64_t lock, struct fabric_ep *ep);
void declock_unlock(struct declock *declock, uint64_t lock);
struct declock_record *declock_record_find(struct declock *declock, uint64_t lock);
struct declock_seat *declock_seat_find(struct declock *declock, uint64_t lock, uint32_t owner);
/* Finds or makes it; NULL: there are no more. */
struct declock_seat *declock_seat_make(struct declock *declock, uint64_t lock, uint32_t owner, struct fabric_ep *ep);
struct declock_record *declock_record_make(struct declock *declock, uint64_t lock, struct fabric_ep *ep);
/* Frees what is not needed any more. */
void declock_seat_drop(struct declock *declock, struct declock_seat *seat, struct fabric_ep *ep);
void declock_record_drop(struct declock *declock, struct declock_record *record, struct fabric_ep *ep);

/* ---- local queue and policies, under the lock of a slot ---- */

static inline struct declock_seat *declock_seat_of(const struct lockmgr_hold *hold)
{
    return (struct declock_seat *)(uintptr_t)hold->words[DECLOCK_SEAT];
}
void declock_local_append(struct declock_seat *seat, struct lockmgr_hold *hold);
void declock_local_remove(struct declock_seat *seat, struct lockmgr_hold *hold);
/* May this reader hold together with those that do? */
bool declock_local_joins(const struct declock *declock, const struct declock_seat *seat,
                         const struct lockmgr_hold *hold);
/* The agent takes the HELD seat, other readers with it. */
void declock_local_take(const struct declock *declock, struct declock_seat *seat, struct lockmgr_hold *hold);
/* The last holder has gone: is the lock handed to another client of the CN? If not, the place is to be given up. */
bool declock_local_hand_over(const struct declock *declock, struct declock_seat *seat, struct lockmgr_worker *from);
/*
 * The waiter that is to have another place as this one is given up. Where the order of time counts, that is the
 * first, at once; other policies enter afterwards, so that more readers of the CN share the place.
 */
struct declock_waiter declock_local_next(const struct declock *declock, const struct declock_seat *seat);
/* No client drives the seat: the one that should becomes its agent. */
void declock_local_appoint(const struct declock *declock, struct declock_seat *seat, struct lockmgr_worker *from);
/* The place belongs to an earlier generation than a reset that is under way. */
bool declock_void(const struct declock_seat *seat);

/* ---- the place in the remote queue ---- */

/* The BUSY seat's agent enters the queue: the seat is WAITING, HELD, or IDLE again (0: look, and try again). */
NODISCARD int declock_place_enter(struct coro *co, struct lockmgr_hold *hold, uint64_t deadline_ns);
/*
 * The BUSY seat's place is given up, and the next one notified; then it is IDLE. next: a waiter of the CN, for which
 * the same operation takes a new place; then the seat is WAITING or HELD, with an agent. alone: no waiter was known.
 */
NODISCARD int declock_place_leave(struct coro *co, struct lockmgr_client *client, struct declock_seat *seat,
                                  const struct declock_waiter *next, bool alone);
static inline struct declock_waiter declock_waiter_of(const struct lockmgr_hold *hold)
{
    return (struct declock_waiter){
        .any = true, .mode = hold->mode, .client = hold->client->id, .stamp = (uint16_t)hold->words[DECLOCK_STAMP]};
}
/* Whatever the seat was, it is IDLE now: local waiters are told. Locks the slot itself, and sends what is owed. */
void declock_place_idle(struct coro *co, struct lockmgr_client *client, struct declock_seat *seat);
/* READs the whole lock into the client's words; tries again where nothing was executed. */
NODISCARD int declock_fetch(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock);
/* Tries again what was not executed: true, after a pause. tries counts. */
bool declock_again(struct coro *co, struct lockmgr_client *client, int code, uint32_t *tries);

/* ---- resets ---- */

/*
 * Ends `generation` of the lock, unless another client has or does. The client has no place in the queue. What it has
 * not ended by until_ns (0: it does not wait) it leaves to the tender, as it does when the memory node does not
 * answer.
 */
NODISCARD int declock_reset(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock, uint8_t generation,
                            uint64_t until_ns);
/* The same of the generation that the lock is in. */
NODISCARD int declock_reset_now(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                                uint64_t until_ns);
/* Goes on with the resets that clients have left; returns when to come again. */
uint64_t declock_reset_tend(struct coro *co, struct lockmgr_client *tender);
/* Until no reset is under way (0) or until_ns (-DEADLINE); takes over what a dead CN has begun. */
NODISCARD int declock_reset_await(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                                  uint64_t until_ns);
/*
 * For a client that waits for long: if a CN has died since the last reset, the lock is reset. generation: of the
 * ticket.
 */
NODISCARD int declock_reset_stalled(struct coro *co, struct lockmgr_client *client, struct fabric_addr lock,
                                    uint8_t generation, uint64_t until_ns);
void declock_reset_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                           const struct lockmgr_message_wire *wire);
/* Under the slot's lock: is an acknowledgement to be sent now? */
struct declock_ack declock_reset_settle(struct declock_record *record);
void declock_reset_answer(struct coro *co, struct lockmgr_client *client, const struct declock_ack *ack);
/* Sends the acknowledgements that deliver has left. */
void declock_reset_answer_all(struct coro *co, struct lockmgr_client *client);
uint32_t declock_dead_count(const struct lockmgr *lockmgr);
/* Grows with each: whether a CN has died since a reset. */
uint64_t declock_deaths(const struct lockmgr *lockmgr);

/* ---- common time ---- */

/* Due or not: brings this CN's zero together with the others'; returns when to come again. */
uint64_t declock_clock_tend(struct coro *co, struct lockmgr_client *tender);
static inline uint16_t declock_stamp(const struct declock *declock, uint64_t now_ns)
{
    return (uint16_t)((now_ns - atomic_load_explicit(&declock->zero_ns, memory_order_relaxed)) / 1000);
}
