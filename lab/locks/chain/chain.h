/*
 * chain.h - the queue of MCS over the network: a word names the last client, each client learns its successor by
 * message and hands over by message. The place is in the hold's words. A place is left only at the head: a waiter
 * that gives up leaves a *ghost* in its place, which the worker's tender passes on when the grant has come. (A tail
 * cannot be taken back: the one before has been told its successor.)
 *
 * Invariants: INV-CHAIN-1  a tail stands for one acquire: messages that come late, or twice, name one that is over
 *             INV-CHAIN-2  a place ends when its grant has come and its successor has been told, or the word has been
 * set from it to 0
 */
#pragma once

#include "lockmgr_algorithm.h"

struct chain_place {
    uint64_t successor; /* as a tail; 0: none known */
    uint64_t payload;   /* of the grant */
    uint64_t tail;      /* one's own */
    bool granted;
};

static inline struct chain_place *chain_place(struct lockmgr_hold *hold)
{
    return (struct chain_place *)(void *)hold->words;
}

/* Word `word` of the lock becomes one's own tail; *old: the tail before, 0: there was none. */
NODISCARD int chain_enqueue(struct coro *co, struct lockmgr_hold *hold, uint32_t word, uint64_t *old);
/* Tells that one, and waits for its grant. DEADLINE: its place is a ghost's. */
NODISCARD int chain_follow(struct coro *co, struct lockmgr_hold *hold, uint64_t old, uint64_t deadline_ns);
/* The hold's place is the tender's from now on. False: no memory for that. */
bool chain_leave_ghost(struct lockmgr_hold *hold);
/* Takes the own tail away; *last: there was no successor. */
NODISCARD int chain_leave(struct coro *co, struct lockmgr_hold *hold, uint32_t word, bool *last);
/* It has a successor: waits for its message, if that is not there yet. */
void chain_await_successor(struct coro *co, struct lockmgr_hold *hold);
void chain_hand_over(struct lockmgr_hold *hold, uint64_t payload);
void chain_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                   const struct lockmgr_message_wire *wire);

/* What an algorithm does when a ghost has its grant: 0, or the node is gone. Either may be NULL. */
struct chain_rules {
    int (*open)(struct coro *co,
                struct lockmgr_hold *ghost); /* before the place is left: place->payload is for the successor */
    int (*passed_on)(struct coro *co, struct lockmgr_hold *ghost); /* the successor has been told */
};

NODISCARD int chain_worker_open(struct lockmgr_worker *worker, struct cellar_error *error);
void chain_worker_close(struct lockmgr_worker *worker);
uint64_t chain_tend(struct coro *co, struct lockmgr_worker *worker, uint32_t word, const struct chain_rules *rules);
bool chain_quiet(const struct lockmgr_worker *worker);
