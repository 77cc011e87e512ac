/*
 * members.h - which compute nodes use the pool: one word for each compute node, moved by CAS from state to state
 * (layout.h, docs/recovery.md).
 *
 * Node 0's words are the truth. Nodes 1..f have copies, raised after each change, for the day when node 0 is lost;
 * the newest of several copies is the largest. The configuration epoch grows after each change: a process that saw it
 * stand still need not look again.
 */
#pragma once

#include "catalog.h"

/* What a word says. */
struct members_state {
    enum layout_member_state state;
    uint64_t incarnation;
    uint32_t claim_epoch; /* counts the recoverers of this incarnation */
    int32_t recoverer;    /* the compute node that recovers it, or did; -1: none */
};

static inline uint64_t members_word(const struct members_state *state)
{
    return state->incarnation << 36 | (uint64_t)state->state << 32 | (uint64_t)state->claim_epoch << 8 |
           (uint64_t)(uint32_t)(state->recoverer + 1);
}
static inline struct members_state members_state_of(uint64_t word)
{
    return (struct members_state){.state = (enum layout_member_state)(word >> 32 & 15),
                                  .incarnation = word >> 36,
                                  .claim_epoch = (uint32_t)(word >> 8) & LAYOUT_MEMBER_EPOCH_MAX,
                                  .recoverer = (int32_t)(word & 255) - 1};
}
/* Not in use: the index may be taken. */
static inline bool members_is_free(const struct members_state *state)
{
    return state->state == LAYOUT_MEMBER_NEVER || state->state == LAYOUT_MEMBER_FREE;
}
/* Declared dead, and recovered by its own next life, which has not joined yet? */
static inline bool members_opens(const struct members_state *state, uint32_t cn)
{
    return !members_is_free(state) && state->state != LAYOUT_MEMBER_LIVE && state->recoverer == (int32_t)cn;
}
const char *members_state_name(enum layout_member_state state);

/* Reads one word; the status of an operation that failed, or CORRUPT. */
NODISCARD int members_look(struct coro *co, struct fabric_ep *ep, uint32_t cn, struct members_state *now);
/*
 * Moves a word from one state to another. 0: *now is what the word says, `to` when it was moved (by this call, or by
 * an earlier one of the same caller whose reply was lost). Anything else: try again.
 */
NODISCARD int members_move(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn,
                           const struct members_state *from, const struct members_state *to, struct members_state *now);
/*
 * The compute nodes [first, first + count) use the pool from now on, as *incarnation, which is unique in the pool's
 * life, and hold no claim that an earlier life of theirs made. ERR_DIRTY with *dirty: that one did not leave, and has
 * not been recovered; `alone`: nor may any other be a member. Bulk mode.
 */
NODISCARD int members_join(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t first,
                           uint32_t count, bool alone, uint64_t *incarnation, uint32_t *dirty,
                           struct cellar_error *error);
/* They do not any more, and leave nothing of theirs. Bulk mode. */
NODISCARD int members_leave(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t first,
                            uint32_t count, uint64_t incarnation);

/* ---- signs of life ---- */

/* What a compute node shows of itself. */
struct members_sign {
    struct members_state state;
    uint64_t lease;    /* differs after each sign of life */
    uint64_t lease_ns; /* it gives one more often than that, by any clock of a fabric; 0: it promises nothing */
};

/* The endpoint's node promises a sign of life within each lease_ns; 0: none any more. This is one. */
NODISCARD int members_promise(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint64_t lease_ns);
/* A sign of life of the endpoint's node, which has promised that. */
NODISCARD int members_renew(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint64_t lease_ns);
/* A sign of life in the name of `cn`, an earlier life of which the endpoint's node recovers. */
NODISCARD int members_sign_for(struct coro *co, struct fabric_ep *ep, uint32_t cn);
/* One batch. The status of what failed, or CORRUPT. */
NODISCARD int members_sign(struct coro *co, struct fabric_ep *ep, uint32_t cn, struct members_sign *sign);

/* ---- takers of a dead node's tags ---- */

/*
 * The endpoint's node may take over tags of `dead` from now on, or does not any more; *now is what the word of that
 * one said behind this. Before a node's index can be used again its recoverer waits until none does (INV-RECOVER-8).
 */
NODISCARD int members_take(struct coro *co, struct fabric_ep *ep, uint32_t dead, bool taking,
                           struct members_state *now);
/* One that may be: a compute node, or -1. */
NODISCARD int members_taker(struct coro *co, struct fabric_ep *ep, uint32_t dead, int32_t *taker);
/* Clears that node's bits at all others: it was fenced, so it does nothing any more. */
NODISCARD int members_taker_gone(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint32_t cn);
