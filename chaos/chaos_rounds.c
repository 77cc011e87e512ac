#include "chaos_rounds.h"

#include <signal.h>

#define MS_NS 1000000ull
#define BOUND_NS 120000000000ull

static const char *const texts[] = {
#define X(name, text) text,
    CHAOS_ROUNDS_EVENTS(X)
#undef X
};
const char *chaos_rounds_text(enum chaos_rounds_event event) { return texts[event]; }

struct chaos_rounds_round chaos_rounds_draw(struct prng *prng, const struct chaos_cluster *cluster)
{
    uint32_t kinds = cluster->replicas > 0 ? CHAOS_ROUNDS_KILL_ETCD : CHAOS_ROUNDS_KILL_MEMNODE;
    uint32_t more = cluster->etcd ? CHAOS_ROUNDS_KINDS - CHAOS_ROUNDS_KILL_ETCD : 0;
    uint32_t kind = (uint32_t)prng_below(prng, kinds + more);
    uint64_t lease_ns = (uint64_t)(cluster->lease_s * 1e9);
    struct chaos_rounds_round round = {
        .event = (enum chaos_rounds_event)(kind < kinds ? kind : kind - kinds + CHAOS_ROUNDS_KILL_ETCD),
        .compute = (uint32_t)prng_below(prng, cluster->compute),
        .memnode = (uint32_t)prng_below(prng, cluster->memnodes),
        .before_ns = prng_between(prng, 100, 600) * MS_NS,
        .pause_ns = prng_between(prng, 0, 1000) * MS_NS,
    };
    if (more) round.etcd = (uint32_t)prng_below(prng, CHAOS_CLUSTER_ETCDS);
    if (round.event == CHAOS_ROUNDS_KILL_UNDECIDED) round.pause_ns += 2 * lease_ns;
    if (round.event == CHAOS_ROUNDS_STOP_COMPUTE) round.pause_ns += 2 * lease_ns;
    if (round.event == CHAOS_ROUNDS_PAUSE_COMPUTE) round.pause_ns %= lease_ns / 4;
    return round;
}

/* What was killed, or declared dead for having stood still, comes back as the same compute node. */
static int bring_back(const struct chaos_cluster *cluster, uint32_t cn, struct watch *watch, struct cellar_error *error)
{
    if (!chaos_cluster_ended(cluster, CHAOS_CLUSTER_COMPUTE, cn, watch, BOUND_NS))
        return err_set(error, CELLAR_UNREACHABLE, "compute node %u does not end", cn);
    return chaos_cluster_start(cluster, CHAOS_CLUSTER_COMPUTE, cn, error);
}

static int refill(const struct chaos_cluster *cluster, uint32_t memnode, struct watch *watch,
                  struct cellar_error *error)
{
    if (!chaos_cluster_ended(cluster, CHAOS_CLUSTER_MEMNODE, memnode, watch, BOUND_NS))
        return err_set(error, CELLAR_UNREACHABLE, "memory node %u does not end", memnode);
    int code = chaos_cluster_start(cluster, CHAOS_CLUSTER_MEMNODE, memnode, error);
    return code ? code : chaos_cluster_replace(cluster, memnode, watch, BOUND_NS, error);
}

/* Stopped, and let go on; if it was declared dead meanwhile it ends, and comes back. */
static int stop(const struct chaos_rounds_round *round, const struct chaos_cluster *cluster, struct watch *watch,
                struct cellar_error *error)
{
    uint32_t cn = round->compute;
    chaos_cluster_signal(cluster, CHAOS_CLUSTER_COMPUTE, cn, SIGSTOP);
    watch->pause(round->pause_ns);
    chaos_cluster_signal(cluster, CHAOS_CLUSTER_COMPUTE, cn, SIGCONT);
    struct cellar_error unused;
    if (chaos_cluster_works(cluster, cn, watch, BOUND_NS, &unused) == 0) return 0;
    return bring_back(cluster, cn, watch, error);
}

static int kill_etcd(const struct chaos_rounds_round *round, const struct chaos_cluster *cluster, struct watch *watch,
                     struct cellar_error *error)
{
    chaos_cluster_signal(cluster, CHAOS_CLUSTER_ETCD, round->etcd, SIGKILL);
    if (!chaos_cluster_ended(cluster, CHAOS_CLUSTER_ETCD, round->etcd, watch, BOUND_NS))
        return err_set(error, CELLAR_UNREACHABLE, "etcd server %u does not end", round->etcd);
    watch->pause(round->pause_ns);
    return chaos_cluster_start(cluster, CHAOS_CLUSTER_ETCD, round->etcd, error);
}

static void signal_etcds(const struct chaos_cluster *cluster, int signal)
{
    for (uint32_t i = 0; i < CHAOS_CLUSTER_ETCDS; i++) chaos_cluster_signal(cluster, CHAOS_CLUSTER_ETCD, i, signal);
}

/* All etcd servers stand still; each compute node commits all the same. */
static int stop_etcds(const struct chaos_rounds_round *round, const struct chaos_cluster *cluster, struct watch *watch,
                      struct cellar_error *error)
{
    int code = 0;
    signal_etcds(cluster, SIGSTOP);
    watch->pause(round->pause_ns);
    for (uint32_t i = 0; code == 0 && i < cluster->compute; i++)
        code = chaos_cluster_works(cluster, i, watch, BOUND_NS, error);
    signal_etcds(cluster, SIGCONT);
    return code ? code : chaos_cluster_etcd_answers(cluster, watch, BOUND_NS, error);
}

/* Its log says when a compute node recovers another one: nobody may, of one whose death cannot be decided. */
static int kill_undecided(const struct chaos_rounds_round *round, const struct chaos_cluster *cluster,
                          struct watch *watch, struct cellar_error *error)
{
    uint64_t before = chaos_cluster_recoveries(cluster, round->compute);
    signal_etcds(cluster, SIGSTOP);
    chaos_cluster_signal(cluster, CHAOS_CLUSTER_COMPUTE, round->compute, SIGKILL);
    watch->pause(round->pause_ns);
    uint64_t after = chaos_cluster_recoveries(cluster, round->compute);
    signal_etcds(cluster, SIGCONT);
    if (after != before)
        return err_set(error, CELLAR_CORRUPT, "compute node %u was declared dead while no etcd server could decide",
                       round->compute);
    int code = chaos_cluster_etcd_answers(cluster, watch, BOUND_NS, error);
    return code ? code : bring_back(cluster, round->compute, watch, error);
}

static int happen(const struct chaos_rounds_round *round, const struct chaos_cluster *cluster, struct watch *watch,
                  struct cellar_error *error)
{
    enum chaos_rounds_event event = round->event;
    bool compute = event == CHAOS_ROUNDS_KILL_COMPUTE || event == CHAOS_ROUNDS_KILL_BOTH;
    bool memnode = event == CHAOS_ROUNDS_KILL_MEMNODE || event == CHAOS_ROUNDS_KILL_BOTH;
    if (event == CHAOS_ROUNDS_STOP_COMPUTE || event == CHAOS_ROUNDS_PAUSE_COMPUTE)
        return stop(round, cluster, watch, error);
    if (event == CHAOS_ROUNDS_KILL_ETCD) return kill_etcd(round, cluster, watch, error);
    if (event == CHAOS_ROUNDS_STOP_ETCD) return stop_etcds(round, cluster, watch, error);
    if (event == CHAOS_ROUNDS_KILL_UNDECIDED) return kill_undecided(round, cluster, watch, error);
    if (event == CHAOS_ROUNDS_CLOSE_COMPUTE)
        chaos_cluster_signal(cluster, CHAOS_CLUSTER_COMPUTE, round->compute, SIGTERM);
    if (compute) chaos_cluster_signal(cluster, CHAOS_CLUSTER_COMPUTE, round->compute, SIGKILL);
    if (memnode) chaos_cluster_signal(cluster, CHAOS_CLUSTER_MEMNODE, round->memnode, SIGKILL);
    watch->pause(round->pause_ns);
    int code = 0;
    if (memnode) code = refill(cluster, round->memnode, watch, error);
    if (code == 0 && event != CHAOS_ROUNDS_KILL_MEMNODE) code = bring_back(cluster, round->compute, watch, error);
    return code;
}

int chaos_rounds_run(const struct chaos_rounds_round *round, const struct chaos_cluster *cluster, struct watch *watch,
                     struct cellar_error *error)
{
    watch->pause(round->before_ns);
    int code = happen(round, cluster, watch, error);
    for (uint32_t i = 0; code == 0 && i < cluster->compute; i++)
        code = chaos_cluster_works(cluster, i, watch, BOUND_NS, error);
    return code;
}
