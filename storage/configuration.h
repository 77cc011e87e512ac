/*
 * configuration.h - which memory node is away, as all compute nodes must see it: one word, in the superblock of every
 * memory node (docs/failover.md).
 *
 *     epoch (32 bits) | from (4) | state (4) | away + 1 (8) | leader + 1 (16)
 *
 * The word of the first node that is there decides (its *seat*); the others have copies, raised after each change;
 * the newest of several is the largest. Even epochs: the cluster runs in `state`. Odd ones: it stands still on its
 * way from `from` to `state`, led by a compute node.
 *
 *     STEADY --- lost ---> LOST --- a fresh node is there ---> JOINING --- it has all bytes ---> STEADY
 *                            ^------ it died, too --------------' ^-- copied: to be compared
 *
 * A compute node that stands still in an epoch says so by the `ack` word beside its member word, at the seat.
 */
#pragma once

#include "catalog.h"

enum configuration_state { CONFIGURATION_STEADY, CONFIGURATION_LOST, CONFIGURATION_JOINING, CONFIGURATION_STATES };

struct configuration {
    uint32_t epoch;
    enum configuration_state from, state;
    int32_t away;   /* the memory node; -1: none */
    int32_t leader; /* the compute node that changes it, or did; -1: none yet */
};

static inline uint64_t configuration_word(const struct configuration *now)
{
    return (uint64_t)now->epoch << 32 | (uint64_t)now->from << 28 | (uint64_t)now->state << 24 |
           (uint64_t)(uint32_t)(now->away + 1) << 16 | (uint64_t)(uint32_t)(now->leader + 1);
}
static inline struct configuration configuration_of(uint64_t word)
{
    return (struct configuration){.epoch = (uint32_t)(word >> 32),
                                  .from = (enum configuration_state)(word >> 28 & 15),
                                  .state = (enum configuration_state)(word >> 24 & 15),
                                  .away = (int32_t)(word >> 16 & 255) - 1,
                                  .leader = (int32_t)(word & 0xffff) - 1};
}
static inline bool configuration_changing(const struct configuration *now) { return now->epoch & 1; }
/* The node whose word decides, and where acks are: the first one that is not away. */
static inline uint32_t configuration_seat(const struct configuration *now) { return now->away == 0 ? 1 : 0; }

/* The newest word that any memory node shows but `lost` (-1: none). UNREACHABLE; CORRUPT. */
NODISCARD int configuration_look(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, int32_t lost,
                                 struct configuration *now);
/* From one word to another, at the seat of `to`, and then its copies. *now: what it says then. */
NODISCARD int configuration_move(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog,
                                 const struct configuration *from, const struct configuration *to,
                                 struct configuration *now);
/* That compute node stands still in this epoch; `stopped`: for good, with whatever it holds. */
NODISCARD int configuration_ack(struct coro *co, struct fabric_ep *ep, const struct configuration *now, uint32_t cn,
                                bool stopped);
/* What it said last: its epoch, 0 if nothing. */
NODISCARD int configuration_acked(struct coro *co, struct fabric_ep *ep, const struct configuration *now, uint32_t cn,
                                  uint32_t *epoch, bool *stopped);

/*
 * At open. The number of the pool in the register that decides, on all nodes that are there: `drawn` if it had none
 * yet; drawn 0: it is only read, *cluster 0: it has none.
 */
NODISCARD int configuration_name(struct coro *co, struct fabric_ep *ep, const struct catalog *catalog, uint64_t drawn,
                                 uint64_t *cluster);
