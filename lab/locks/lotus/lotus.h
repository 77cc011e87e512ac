/*
 * lotus.h - locks kept by compute nodes (Lotus, arXiv 2512.16136): a table in the memory of each, for its shard of the
 * locks. A client of the lock's home takes it by a CAS of its processor, the others ask by a message and are refused
 * at once when it is taken. Nothing of a lock is kept elsewhere.
 *
 *     shard of a lock ──> home: the first compute node from it on, in a ring, that is not dead
 *     client at home  ── CAS 0 -> me ──> word                  client elsewhere ── ACQUIRE ──> home's worker: CAS
 *                                                                   ^── GRANT | REFUSED ──┘
 *     word of a lock  [63:32] client  [31:0] its ticket: the holder; 0: free
 *
 * A new home has no words of the locks that the dead one had granted to the living. It refuses until each living worker
 * has reported what its clients hold of that shard, lock by lock. (It cannot just wait until they have released them:
 * they may wait for others of the same shard.)
 *
 *     home ── REPORT ──> worker: is there one that an earlier home granted? ── HELD ──> home: word ── KEPT ──> worker
 *                                └── there is none ── REPORTED ──> home: when all living ones have said so, it serves
 *
 *   INV-LOTUS-1  a word is cleared by the call that it names, or by a home that knows the holder's node to be dead
 *   INV-LOTUS-2  a home grants locks of a dead one's shard when it has the words of all that living clients hold of it
 *   INV-LOTUS-3  a dead home's last grants are in the inboxes before its successor's questions: they are reported
 */
#pragma once

#include "lockmgr_algorithm.h"

#include <stdatomic.h>

enum lotus_policy { LOTUS_HASH, LOTUS_RANGE };

/* words[0]: the client's id; of REPORT and REPORTED the shard; words[1]: the client's ticket */
enum lotus_kind {
    LOTUS_ACQUIRE = 1,
    LOTUS_RELEASE,
    LOTUS_GRANT,
    LOTUS_REFUSED,
    LOTUS_REPORT,
    LOTUS_HELD,
    LOTUS_KEPT,
    LOTUS_REPORTED
};

enum { LOTUS_TICKET, LOTUS_STATE, LOTUS_HOME, LOTUS_SILENT_NS }; /* hold->words; HOME: that granted it, or was asked */
enum { LOTUS_IDLE, LOTUS_ASKING, LOTUS_GRANTED, LOTUS_BUSY };    /* STATE */

/* Of a compute node. */
struct lotus_node {
    _Atomic uint64_t *words;            /* of all locks; those of other homes stay 0 */
    atomic_bool serves[FABRIC_CNS_MAX]; /* by shard: it grants its locks */
};

/* Of a worker. */
struct lotus_worker {
    uint64_t look_ns; /* of the first worker: when to look for the dead */
    bool *reported;   /* of the first worker: by shard and worker; NULL: no view, so none dies */
};

static inline uint32_t lotus_shard(const struct lockmgr *lockmgr, uint64_t index)
{
    const struct lockmgr_config *config = &lockmgr->config;
    uint64_t each = (config->lock_count + config->cn_count - 1) / config->cn_count;
    if (lockmgr->policy == LOTUS_RANGE) return (uint32_t)(index / each);
    return (uint32_t)(index % config->cn_count);
}

/* Which of the home's workers is asked, and told of releases: the same one always, which reads them in order. */
static inline uint32_t lotus_worker_of(const struct lockmgr_config *config, uint64_t index)
{
    return (uint32_t)(index / config->cn_count % config->workers_per_cn);
}

/* A node knows of itself that it is alive. */
static inline uint32_t lotus_home(const struct lockmgr *lockmgr, uint32_t shard)
{
    uint32_t cns = lockmgr->config.cn_count, home = shard;
    for (uint32_t steps = 1; steps < cns && home != lockmgr->cn && lockmgr_dead(lockmgr, home); steps++)
        home = (shard + steps) % cns;
    return home;
}

/* At home, by any of its workers: the lock is that call's now, or was already. */
bool lotus_take(struct lockmgr_worker *worker, uint64_t index, uint32_t id, uint64_t ticket);
/* False: it was not that call's. */
bool lotus_clear(struct lockmgr_worker *worker, uint64_t index, uint32_t id, uint64_t ticket);

int lotus_open(struct lockmgr *lockmgr, struct cellar_error *error);
void lotus_close(struct lockmgr *lockmgr);
void lotus_forget(struct lockmgr *lockmgr);
int lotus_worker_open(struct lockmgr_worker *worker, struct cellar_error *error);
void lotus_worker_close(struct lockmgr_worker *worker);
void lotus_worker_forget(struct lockmgr_worker *worker);
void lotus_home_deliver(struct lockmgr_worker *worker, const struct fabric_message *message,
                        const struct lockmgr_message_wire *wire);
uint64_t lotus_tend(struct coro *co, struct lockmgr_worker *worker);
bool lotus_quiet(const struct lockmgr_worker *worker);
int lotus_worker_audit(const struct lockmgr_worker *worker, struct fabric_addr lock, struct cellar_error *error);
