/*
 * chain.h - the queue of MCS over the network: a word names the last client, each client learns by message who follows it and hands
 * over by message. Nobody leaves it but by releasing. The place is in the hold's words.
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
/* Tells that one, and waits for its grant. */
NODISCARD int chain_follow(struct coro *co, struct lockmgr_hold *hold, uint64_t old);
/* Takes the own tail away; *last: there was nobody behind. */
NODISCARD int chain_leave(struct coro *co, struct lockmgr_hold *hold, uint32_t word, bool *last);
/* Somebody is behind: waits for its message, if that is not there yet. */
void chain_await_successor(struct coro *co, struct lockmgr_hold *hold);
void chain_hand_over(struct lockmgr_hold *hold, uint64_t payload);
void chain_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                   const struct lockmgr_message_wire *wire);
