/*
 * decision.h - what a register outside of the pool decides: which life of a compute node is dead, and which memory
 * node is lost (docs/membership.md).
 *
 *     a question of a compute node ─> read the ruling ─> what follows from it ─> compare-and-swap ─> its answer
 *          EXISTS: none yet; what was asked goes on, and is heard of when the node asks again
 *
 * INV-MEMBER-1: a life that is not over is FENCED only when the ruling says that it is dead, and a memory node is LOST
 *               only by the word that the ruling has.
 * INV-MEMBER-2: each ruling follows from the one before it: a later epoch, and nothing smaller.
 * INV-MEMBER-3: a life that the ruling says is dead decides nothing; it stops when it hears of it.
 * INV-MEMBER-4: no coroutine waits for the register for longer than a moment, nor while its node is to stand still.
 */
#pragma once

#include "cellar_cluster.h"
#include "configuration.h"

#include <stdatomic.h>

/* Of one compute node. */
struct decision {
    atomic_bool busy;           /* a coroutine asks */
    bool under_way;             /* a question whose answer was not waited for */
    bool read;                  /* `known` is a ruling */
    struct cellar_ruling known; /* the last one that was heard of */
    struct cellar_ruling next;  /* what is asked for */
};

/* Any ruling: for a planted bug, which does not compare. */
#define DECISION_ANY UINT64_MAX

struct recover_home;

/* Who asks: a coroutine of a compute node that is a member (or opens the pool, and then is no life yet). */
struct decision_asker {
    const struct cellar_decider *decider;
    struct decision *decision;
    const struct recover_home *home;
    const atomic_bool *called; /* it has something more urgent to do when this is set; NULL: nothing */
};

/*
 * 0: that life of `cn` is dead. EXISTS: it is not known yet: again. FENCED: the asker's own life is. UNREACHABLE: the
 * register does not answer, and nothing was decided as far as is known.
 */
NODISCARD int decision_dead(struct coro *co, const struct decision_asker *asker, uint32_t cn, uint64_t life,
                            struct cellar_error *error);
/* The same of a change of the configuration: 0: *now was decided, *to or what another one was quicker with. */
NODISCARD int decision_lost(struct coro *co, const struct decision_asker *asker, const struct configuration *to,
                            struct configuration *now, struct cellar_error *error);
/* Was that life declared dead, as far as this compute node has heard? */
bool decision_heard(const struct decision *decision, uint32_t cn, uint64_t life);
/*
 * At open, before the process is a member: the pool's number (0: it has none yet) and the register's are one. *cluster:
 * that number. EXISTS, MISMATCH, UNREACHABLE: with one clear line, and nothing was changed.
 */
NODISCARD int decision_bind(struct coro *co, const struct decision_asker *asker, uint64_t *cluster,
                            struct cellar_error *error);
