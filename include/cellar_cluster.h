/*
 * cellar_cluster.h - a database whose memory is on memory nodes of their own: processes of this host (`cellar memnode`)
 * or hosts over RDMA. For those who run such a cluster; a program that works on it differs in cellar_open alone:
 *
 *     cellar_open(NULL, CELLAR_OPTIONS(.cluster = CELLAR_CLUSTER(.memnodes = "10.0.0.1,10.0.0.2", .verbs = 1)), &db)
 *
 * At most 2^min(8, 60 / cells) - 1 compute nodes, so that a cell's lock can name its owner. Every record and log entry
 * is written to `replicas` further memory nodes before it is unlocked or acknowledged. With replicas, one memory node
 * at a time may be lost: its backups take over, and cellar_cluster_replace fills a fresh one.
 */
#pragma once

#include "cellar.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cellar_decider;

struct cellar_cluster {
    uint32_t size;     /* CELLAR_CLUSTER sets it */
    uint32_t verbs;    /* 1: over RDMA verbs; 0: memory nodes of this host, over shared memory */
    uint32_t replicas; /* backups of each record and log (0): one memory node at a time may be lost */
    /*
     * This process is compute node `node` (0) of the pool, as no other is. An index in use is refused (EXISTS). With
     * several (cellar_lab.cns) the first of them.
     */
    uint32_t node;
    const char *memnodes;    /* `cellar memnode` processes, comma separated: socket paths; verbs: ADDRESS[:PORT] */
    const char *secret_path; /* verbs: the file with the pool's secret. NULL: none, where only its machines are */
    /*
     * Without a sign of life for so long a compute node is declared dead (1,000,000). CELLAR_LEASE_NONE: this process
     * watches no other, and no other suspects it.
     */
    uint64_t lease_us;
    /*
     * NULL: the pool's own words say which compute nodes live and which memory node is away. Else a register outside
     * of it does, the same for all processes of the pool; must outlive the database.
     */
    const struct cellar_decider *decider;
};
#define CELLAR_LEASE_NONE UINT64_MAX
#define CELLAR_CLUSTER(...) (&(const struct cellar_cluster){.size = sizeof(struct cellar_cluster), __VA_ARGS__})

#define CELLAR_CNS_MAX 255 /* compute nodes, all processes of a pool together */

/* All that was decided of a pool's members, as one value that only grows (docs/membership.md). */
struct cellar_ruling {
    uint64_t epoch;                /* one more with each decision; 0: nothing was decided yet */
    uint64_t cluster;              /* the pool's number, which no other has */
    uint64_t configuration;        /* the last loss of a memory node that was decided; 0: none */
    uint64_t dead[CELLAR_CNS_MAX]; /* of each compute node the last life that was declared dead; 0: none */
};

/*
 * A register outside of the pool that holds a ruling and is moved by compare-and-swap: a consensus service, reached by
 * functions that never block, and that any thread may call. The program has one over etcd.
 */
struct cellar_decider {
    const char *name; /* as messages call it */
    uint32_t place;   /* which register it is: a number that all processes of the pool have, and no other register */
    uint32_t drawn;   /* at random: with `place` the number of a pool that has none yet */
    /*
     * A question of compute node `cn`, which has none under way: the ruling becomes *to if its epoch is `from`; `to`
     * NULL: it is only read. *to is copied. EXISTS: try again.
     */
    int (*begin)(const struct cellar_decider *decider, uint32_t cn, uint64_t from, const struct cellar_ruling *to);
    /*
     * Its answer. EXISTS: none yet. 0: *now is the ruling after it, *to or what another one made of it. UNREACHABLE:
     * whether it had its effect is not known. MISMATCH: the register holds something else.
     */
    int (*end)(const struct cellar_decider *decider, uint32_t cn, struct cellar_ruling *now,
               struct cellar_error *error);
};

/*
 * Recovers a compute node of another process that ended without cellar_close: its acknowledged transactions
 * take effect, its locks go, and its index may be used again. 0 also when nothing was left to do. NOT_FOUND:
 * it never was a member. EXISTS: it is alive, or another live compute node recovers it. Opening recovers,
 * too: cellar_open first recovers earlier lives of the compute nodes that it opens, and in a pool file all
 * that were open.
 */
CELLAR_NODISCARD int cellar_cluster_recover(struct cellar *db, uint32_t cn);

/*
 * For a memory node that was lost and whose backups have taken over (which happens by itself), while a fresh,
 * empty one listens in its place: fills the fresh one while transactions run, and waits until it has all that
 * the lost one had. When several compute nodes are asked, one fills it and all wait. NOT_FOUND: that node is
 * not away, or its loss was not noticed yet. UNREACHABLE: no fresh one is there. EXISTS: this compute node is
 * filling it already. FENCED: this compute node has stopped.
 */
CELLAR_NODISCARD int cellar_cluster_replace(struct cellar *db, uint32_t node);

enum cellar_fate {
    CELLAR_FATE_UNKNOWN,   /* its compute node is not recovered yet, or its log entry may have been overwritten */
    CELLAR_FATE_COMMITTED, /* it had its effect */
    CELLAR_FATE_ABORTED,   /* it had none, and never will */
};
/*
 * What became of a call that ended INDETERMINATE; txn_id is that of its result. Any process that has the pool
 * open may ask, once the call's compute node is recovered, and best before that node's index is used again: a
 * new life uses the log space again, and when the entry is no longer found the answer is UNKNOWN. For a call
 * that ended otherwise the answer may be UNKNOWN, or be that for the coordinator's call before it. INVALID:
 * no such compute node, or it never had this incarnation. UNREACHABLE: a memory node is lost, and a log with
 * it.
 */
CELLAR_NODISCARD int cellar_cluster_outcome(struct cellar *db, const uint64_t txn_id[2], enum cellar_fate *fate);

/*
 * Audits the whole pool at rest: no lock left, header EN = cell EN, index and records one to one, replicas equal.
 * CORRUPT, and the last error has the first violation; BUSY while transactions of this process run, or when
 * another process has changed the pool meanwhile.
 */
CELLAR_NODISCARD int cellar_cluster_audit(struct cellar *db);

#ifdef __cplusplus
}
#endif
