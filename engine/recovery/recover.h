/*
 * recover.h - recovery of a dead compute node by a coordinator of another one (docs/recovery.md, protocol.md section
 * 5).
 *
 *     claim -> fence -> read its log -> decide what counts -> redo in TS order -> REDONE -> clear its tags
 *         -> SCRUBBED -> FREE
 *
 * INV-RECOVER-1: nothing of the dead node's log is believed, and nothing of its changed, before the fabric has fenced
 *                it.
 * INV-RECOVER-3: what counts is on all replicas of the log before the first of it is redone: a later recoverer
 *                decides the same.
 * INV-RECOVER-4: a change is redone only under the dead node's tag, and only over versions that are not newer.
 * INV-RECOVER-5: no tag is cleared before all that counts is redone, and all that does not count is erased.
 * INV-RECOVER-6: only the holder of the claim goes on; a recoverer that takes the claim over has fenced the holder
 * before. A holder that the fabric knows to be gone keeps no other out, whatever its own word says.
 * INV-RECOVER-10: an earlier life of an own index is dead like any other, and recovered like it, by whatever this
 * compute node recovers or leads; it is fenced as that life, so that its index's next one goes on (INV-FABRIC-12).
 * INV-RECOVER-11: all that is to be redone has been tried, without a write, before the first write: a recovery that
 *                 is refused has changed nothing.
 * INV-RECOVER-12: a message alone stops no recovery: locks send some to an earlier life of the index, and where many do
 *                 a recovery that began anew for each would never end.
 * INV-RECOVER-8: others take over tags of a dead node only from REDONE on, and the index is free only when none does
 *                any more.
 */
#pragma once

#include "configuration.h"
#include "member.h"
#include "sched.h"

struct recover_report {
    uint64_t entries;      /* in the log, of this incarnation */
    uint64_t counted, due; /* of these */
    uint64_t copied;       /* entries that some replica lacked */
    uint64_t erased;       /* whole entries that did not count */
    uint64_t redone;       /* changes written again */
    uint64_t tags_cleared;
    bool done;       /* by this run: its index is free again */
    uint32_t claims; /* of nodes that the dead one was recovering, and which were recovered too */
    /* a compute node that must end first: it recovers the dead one, or takes over tags of it; -1: none */
    int32_t in_the_way;
};

struct takeover;
struct recover;

/* The recoverer. */
struct recover_home {
    struct fabric_ep *ep;
    const struct catalog *catalog;
    const struct member *member;
    struct sched *sched;
    struct sched_task *task;
    struct takeover *takeover; /* by coordinators of the same compute node; NULL: they take nothing over */
    uint32_t cn;
    uint32_t first, count; /* indexes of this process: [first, first + count) */
    uint64_t incarnation;  /* as which it has joined; 0: it opens the pool */
    bool late;             /* RECOVER_LATE */
    /* 1 + the compute node that claims are made for; 0: its own, or its earlier life while that is recovered */
    uint32_t name;
    /* this task has others to watch, so it does not wait for one that is in the way: EXISTS, to be tried again */
    bool watching;
    uint64_t life; /* the incarnation that is to be recovered; 0: whichever it is. A later one is alive: EXISTS */
    /* not 0: its compute node is to stand still, and this gives way: EXISTS, to be tried again. NULL: never */
    const atomic_uint *halting;
    /*
     * while it opens the pool: set when the configuration may have changed, and this gives way if it is not the one
     * that is known (INV-RECOVER-12). NULL: as `halting` says
     */
    atomic_bool *called;
    const struct configuration *known; /* with `called`: the one that this process follows */
    const struct recover *outer;       /* the run amid which another one was found to be in the way; NULL: none */
    bool halted;                       /* all others that are alive stand still (halt.h): none holds a claim */
    uint32_t tags_lost;                /* 1 + the memory node whose primary was lost with its tags; 0: none */
};

enum recover_how {
    RECOVER_IF_DEAD,   /* refused with EXISTS when the fabric knows it to be alive */
    RECOVER_SUSPECTED, /* fenced whatever it does */
    RECOVER_LATE,      /* its next life, which opens the pool, was silent for too long: that one, too */
    RECOVER_OWN,       /* it is an earlier life of this very process's node, which the fabric knows to be over */
};

/* Is that the word of an earlier life of one of this process's indexes, which is over? */
static inline bool recover_is_earlier(const struct recover_home *home, uint32_t cn, const struct members_state *state)
{
    return cn - home->first < home->count && (home->incarnation == 0 || state->incarnation < home->incarnation);
}

/* Is the configuration to change, or perhaps? Then a recovery gives way. */
static inline bool recover_is_called(const struct recover_home *home)
{
    return (home->halting && atomic_load(home->halting)) || (home->called && atomic_load(home->called));
}

/*
 * Recovers one compute node. 0 when nothing of it is left, whichever node did it. NOT_FOUND: it is no member. EXISTS:
 * it is alive, or another live one recovers it just now, or takes over tags of it. UNREACHABLE: a memory node is
 * lost. FENCED: this node is. A recoverer that ends with an error gives its claim back, if it can.
 */
NODISCARD int recover_run(struct coro *co, const struct recover_home *home, uint32_t dead, enum recover_how how,
                          struct recover_report *report, struct cellar_error *error);

/*
 * A pool that is not open, and that a process did not close: can all be recovered that is left? Only reads
 * (INV-RECOVER-11). CORRUPT with what cannot be: words of members, tags that name none, logs, what they are to redo.
 */
NODISCARD int recover_examine(struct coro *co, const struct recover_home *home, struct cellar_error *error);

/* A transaction, as cellar_result names it. */
struct recover_name {
    uint32_t cn, coordinator;
    uint64_t incarnation, sequence;
};
/* As cellar_cluster_outcome. */
NODISCARD int recover_outcome(struct coro *co, const struct recover_home *home, const struct recover_name *name,
                              enum cellar_fate *fate, struct cellar_error *error);
