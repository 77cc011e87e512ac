/*
 * failover.h - a memory node is lost, and a fresh one takes its place (docs/failover.md). Led by one compute node,
 * while all stand still:
 *
 *     lost:     odd epoch -> all stand still -> words that only atomics touch are rebuilt on the backup
 *               -> dead compute nodes are redone -> lock words: no tags, DELETED from the flags
 *               -> even epoch: the backup is primary
 *     fresh:    odd epoch -> all stand still -> even epoch: WRITEs reach the fresh node, too
 *     fill:     copied, then (all have stood still for a moment) compared, while the others run
 *               odd epoch -> all stand still -> what differed is copied, words and lock words as above
 *               -> even epoch: the fresh node is primary of what is its own
 *
 * INV-FAILOVER-3: an odd epoch ends only when each compute node stood still in it, or is fenced; where tags change
 *                 their place, no dead one is left unredone.
 * INV-FAILOVER-4: a new primary's lock words hold no tag, and DELETED where the flags say so; its count of chunks
 *                 covers all runs.
 * INV-FAILOVER-5: nothing is copied to a fresh node before all WRITEs reach it, and nothing but WRITEs of the
 *                 workload since it was last compared.
 * INV-FAILOVER-6: a compute node that goes on while a memory node is not LOST has attached to the one that is there
 *                 now.
 * INV-FAILOVER-7: a live compute node whose name stands in the word JOINING fills the fresh node, or takes its name
 *                 out when it is called.
 * INV-FAILOVER-8: a change that its leader could not end is tried again less and less often, and told; where it would
 * fail again the leader stops, and another one may lead.
 */
#pragma once

#include "halt.h"
#include "recover.h"

struct failover_report {
    uint32_t failovers, refills; /* complete */
    uint64_t stop_ns;            /* the longest time from an odd epoch to the even one after it */
    uint64_t copied_bytes;       /* to a fresh node */
    uint64_t pieces_differed;
    uint32_t recovered; /* compute nodes that were dead, or did not stand still in time */
    uint32_t locks_rebuilt;
};

struct failover_home {
    struct recover_home recover;
    struct halt *halt; /* of the compute node that leads */
};

/*
 * A memory node is lost: its backups take over. 0 when a failover of it is complete, whichever node led. EXISTS: it
 * is there, or another one changes the configuration. UNSUPPORTED: another one is away already, or there are no
 * backups. FENCED: this compute node is. Others: try again.
 */
NODISCARD int failover_lose(struct coro *co, const struct failover_home *home, uint32_t node,
                            struct failover_report *report, struct cellar_error *error);
/* A fresh one is in its place. As above; NOT_FOUND: it is not away. UNREACHABLE: nothing is there. */
NODISCARD int failover_refill(struct coro *co, const struct failover_home *home, uint32_t node,
                              struct failover_report *report, struct cellar_error *error);
/*
 * The word says that this compute node fills a fresh node, but it has given up, or an earlier life of it was asked:
 * takes its name out, so that another one that is asked may (INV-FAILOVER-7). 0 also when its name is not there.
 */
NODISCARD int failover_yield(struct coro *co, const struct failover_home *home, struct cellar_error *error);
/* The leader of the odd epoch *now is dead, or does not get on (`late`): goes on in its place. As failover_lose. */
NODISCARD int failover_take_over(struct coro *co, const struct failover_home *home, const struct configuration *now,
                                 bool late, struct failover_report *report, struct cellar_error *error);
