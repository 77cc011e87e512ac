#include "halt.h"

#include "cluster_plants.h"
#include "must.h"

enum { ROUTE_DRAINING, ROUTE_LOST, ROUTE_JOINING };

void halt_suspect(struct halt *halt, uint32_t node)
{
    uint64_t bit = 1ull << node;
    if (atomic_fetch_or(&halt->suspects, bit) & bit) return;
    fabric_wake(halt->agent_ep->fabric, halt->agent_ep);
}

bool halt_is_lost(const struct halt *halt, uint32_t node)
{
    struct fabric *fabric = halt->agent_ep->fabric;
    struct fabric_control control = {.kind = FABRIC_NODE_GONE, .cn = halt->agent_ep->cn, .node = node};
    return fabric->ops->control(fabric, &control, NULL) == 0;
}

bool halt_another_lost(const struct halt *halt, int32_t away)
{
    bool lost = false;
    for (uint32_t node = 0; node < halt->catalog->mn_count && !lost; node++)
        lost = (int32_t)node != away && halt_is_lost(halt, node);
    return lost;
}

bool halt_unmended(struct halt *halt)
{
    const struct catalog *catalog = halt->catalog;
    if (PLANT(agent_unanswered_waits)) return false;
    if (catalog->replicas == 0) return halt_another_lost(halt, -1);
    for (uint32_t node = 0; node < catalog->mn_count; node++) halt_suspect(halt, node);
    return atomic_load(&halt->unmended);
}

static void route_all(struct halt *halt, const struct fabric_route *route)
{
    for (uint32_t i = 0; i < halt->ep_count; i++)
        atomic_store_explicit(&halt->eps[i]->route, route, memory_order_release);
}

/* Of the node that is away. They are written only while no route is in use, or say the same again. */
static void routes_set(struct halt *halt, const struct configuration *now)
{
    for (uint32_t i = 0; i < 3; i++)
        halt->routes[i] = (struct fabric_route){.mn_count = halt->catalog->mn_count,
                                                .away = (uint32_t)now->away,
                                                .area_bytes = halt->catalog->area_bytes,
                                                .fresh = i == ROUTE_JOINING && !PLANT(failover_fresh_unwritten),
                                                .promoted = i != ROUTE_DRAINING};
}

/*
 * This compute node may be the last to notice that the memory node is lost, and still reach what was its memory. Now
 * that WRITEs go around it an unlock must not get there any more: it would show old bytes without a tag to attempts
 * that have not ended yet.
 */
static void leave(const struct halt *halt, uint32_t node)
{
    struct fabric *fabric = halt->agent_ep->fabric;
    struct fabric_control control = {.kind = FABRIC_NODE_LEAVE, .cn = halt->agent_ep->cn, .node = node};
    int left = PLANT(failover_lost_reached) ? 0 : fabric->ops->control(fabric, &control, NULL);
    must(left == 0);
}

void halt_follow(struct halt *halt, const struct halt_follower *follower, void *arg)
{
    follower->go_on(arg, &halt->now);
    halt->follower_arg = arg;
    atomic_store(&halt->follower, follower);
}

void halt_begin(struct halt *halt, const struct configuration *to)
{
    bool first = to->state == CONFIGURATION_LOST && to->from == CONFIGURATION_STEADY;
    atomic_store(&halt->gate->halted, 1);
    if (halt->begun) return;
    halt->begun = true;
    if (to->state != CONFIGURATION_LOST) return;
    if (first) leave(halt, (uint32_t)to->away);
    if (first) routes_set(halt, to);
    route_all(halt, &halt->routes[first ? ROUTE_DRAINING : ROUTE_LOST]);
}

bool halt_still(struct halt *halt, struct sched *sched)
{
    const struct halt_follower *follower = atomic_load(&halt->follower);
    if (follower) follower->halt(halt->follower_arg, sched);
    if (!gate_still(halt->gate, sched) && !PLANT(failover_undrained)) return false;
    if (halt->vigil && !vigil_still(halt->vigil)) return false;
    if (follower && !follower->still(halt->follower_arg)) return false;
    if (!halt->quiet) halt->quiet = !atomic_exchange(halt->recovering, true);
    return halt->quiet || PLANT(failover_undrained);
}

void halt_route(struct halt *halt, const struct configuration *now)
{
    bool other = halt->routes[0].mn_count == 0 || halt->routes[0].away != (uint32_t)now->away;
    if (now->state != CONFIGURATION_STEADY && other) routes_set(halt, now);
    route_all(halt, now->state == CONFIGURATION_STEADY ? NULL
                    : now->state == CONFIGURATION_LOST ? &halt->routes[ROUTE_LOST]
                                                       : &halt->routes[ROUTE_JOINING]);
}

void halt_end(struct halt *halt, const struct configuration *now)
{
    bool stale = PLANT(failover_epoch_stale) && now->leader != (int32_t)halt->agent_ep->cn;
    if (!stale) halt_route(halt, now);
    halt->now = *now;
    if (now->state == CONFIGURATION_STEADY) atomic_store(&halt->unmended, false);
    if (halt->quiet) atomic_store(halt->recovering, false);
    halt->begun = halt->quiet = false;
    const struct halt_follower *follower = atomic_load(&halt->follower);
    if (follower) follower->go_on(halt->follower_arg, now);
    atomic_store(&halt->gate->halted, 0);
}
