/*
 * dslr.h - the tickets of DSLR (Yoon, Chowdhury, Mozafari, SIGMOD 2018), all in one word. Each kind of lock has a
 * counter of tickets taken and one of tickets done:
 *
 *     field, plain   [63:48] nX done   [47:32] nS done   [31:16] mX taken   [15:0] mS taken
 *     update         [59:50] nX   [49:40] nS   [39:30] nU   [29:20] mX   [19:10] mS   [9:0] mU   (section 5.2)
 *
 * One FAA takes a ticket and shows (tX, tS, tU) = (mX, mS, mU) before it:
 *     X: exclusive   its turn is there when nX = tX, nU = tU and nS = tS: all before it are done
 *     U: update      nX = tX and nU = tU; it reads beside the readers before it, until nS = tS: then it is as
 *                    exclusive (lockmgr_upgrade)
 *     S: shared      nX = tX, and nU has come to tU (a later U that never was upgraded may have gone on)
 * One FAA of n ends a turn. A ticket of several slots raises m and n by so many: a waiter allows it so many leases
 * (section 5.1).
 *
 * Policies:
 *   field    the FAA is by fields: each counter wraps on its own and equality is all that is asked, so nothing ever
 *            has to be reset
 *   plain    one FAA on the word, as published: beyond `full` tickets (32,768) none counts; the client with the last
 *            one clears the word, by CAS, when all that count are done. Tickets beyond are not taken back (an FAA of
 *            -1 after another client's reset would borrow from a neighbour): the CAS that clears the word clears them
 *            too
 *   update   by fields, with three kinds of tickets
 *
 * Leases (`dslr`, field): a client that has seen no turn change for two leases (of each slot before it, as far as one
 * holder can have them) passes over those before it, by CAS on the whole word. A writer sets nX past its own ticket,
 * nS = tS and takes a new ticket: so readers see by nX that they were passed over, which nS could not tell them. A
 * reader sets nX = tX, and its turn is there. A client that was passed over sees it: waiting, and takes a new ticket;
 * holding, by the masked CAS that its late release is, and is FENCED. An early release is an FAA: safe if an
 * operation is executed within a lease (LOCKMGR_PROMPT).
 *
 * Giving up: the client with the newest ticket takes it back, by CAS on the whole word. One that others came after
 * leaves a *ghost*: the worker's tender waits for the turn, and ends it.
 *
 * Invariants: INV-DSLR-1  a counter of tickets done is raised by the owner of the turn that is there, or moved by a
 *                         CAS on the whole word
 *             INV-DSLR-2  between any two looks at a ticket's turn no counter comes full circle: too many clients are
 *                         refused, one that slept too long counts as passed over
 *             INV-DSLR-3  no client passes over a holder whose FAA may be under way: its lease is half as long as the
 *                         patience of others
 */
#pragma once

#include "lockmgr_algorithm.h"

#define DSLR_STEPS 8 /* a poll counts as a step of an eighth of a lease at most: a clock that jumps ages no ticket */
#define DSLR_TICKET_NS 5000 /* omega: how long one turn takes, about */
#define DSLR_SLOTS_MAX 8

enum dslr_policy { DSLR_FIELDS, DSLR_PLAIN, DSLR_UPDATE };
enum dslr_kind { DSLR_X, DSLR_S, DSLR_U, DSLR_KINDS };
enum dslr_turn { DSLR_COMES, DSLR_IS_THERE, DSLR_PASSED };

/* In a hold. */
struct dslr_place {
    uint16_t ticket[DSLR_KINDS]; /* counters of tickets taken before this one */
    uint8_t kind;
    bool upgraded;       /* U: or about to be */
    uint32_t slots;      /* of the ticket */
    uint64_t known_ns;   /* when the turn was last known not to be there: a lease begins with it */
    uint64_t seen;       /* the word */
    uint64_t polled_ns;  /* when it was seen, */
    uint64_t stalled_ns; /* ... and for how long no turn has changed */
};

static inline struct dslr_place *dslr_place(struct lockmgr_hold *hold)
{
    _Static_assert(sizeof(struct dslr_place) <= sizeof hold->words, "fits a hold");
    return (struct dslr_place *)(void *)hold->words;
}

uint32_t dslr_counter_bits(enum dslr_policy policy);
/* No client holds it or waits. leases: readers that were passed over never count as done. */
bool dslr_is_idle(enum dslr_policy policy, uint64_t word, bool leases);
/* Of policy plain: so many tickets count. */
uint32_t dslr_full_of(const struct lockmgr_config *config);
bool dslr_is_full(const struct lockmgr_hold *hold, uint64_t word);
/* 0: no ticket is passed over. */
uint64_t dslr_lease_ns(const struct lockmgr_hold *hold);

/* A ticket of place->kind and slots; the rest of the place follows. */
NODISCARD int dslr_take_ticket(struct coro *co, struct lockmgr_hold *hold);
enum dslr_turn dslr_turn_of(struct lockmgr_hold *hold, uint64_t word);
/* Turns to come before this one, about; at least 1 while it COMES. */
uint32_t dslr_before(struct lockmgr_hold *hold, uint64_t word);
/* READs the word again, and passes over the dead. place->seen, and what it says. */
NODISCARD int dslr_look(struct coro *co, struct lockmgr_hold *hold, enum dslr_turn *turn);
/* The turn is there, but so late that others may be about to pass over it. */
bool dslr_is_late(struct lockmgr_hold *hold);
/* Ends the turn. FENCED: it was passed over. */
NODISCARD int dslr_leave(struct coro *co, struct lockmgr_hold *hold);
/*
 * Takes a ticket back whose turn is not there, if it is the newest; else, or when the turn has come, *gone stays
 * false.
 */
NODISCARD int dslr_take_back(struct coro *co, struct lockmgr_hold *hold, bool *gone);

/* ---- left to the worker's tender (dslr_tend.c) ---- */

/* The turn is over: if its ticket was the last one that counts (plain), the word is to be cleared when all are done. */
void dslr_leave_last(struct lockmgr_hold *hold);
/* The ticket's turn is to be awaited, and ended. False: no memory for that. */
bool dslr_leave_ghost(struct lockmgr_hold *hold);
NODISCARD int dslr_worker_open(struct lockmgr_worker *worker, struct cellar_error *error);
void dslr_worker_close(struct lockmgr_worker *worker);
void dslr_worker_forget(struct lockmgr_worker *worker);
uint64_t dslr_tend(struct coro *co, struct lockmgr_worker *worker);
bool dslr_quiet(const struct lockmgr_worker *worker);
