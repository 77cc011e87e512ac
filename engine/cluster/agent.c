#include "agent.h"

#include "cluster_plants.h"
#include "node.h"

#define PAUSE_NS 5000 /* between two looks at the word, while it stands still; doubles with each further one */
#define PAUSE_MAX_NS 200000
#define RETRY_TOLD_NS 1000000       /* between two tries to end a change: from then on each is logged, */
#define RETRY_MAX_NS 1000000000ull  /* and no longer than this */
#define LOOKS_MAX 64                /* in vain, when none has to stand still */
#define TAKE_NS 1000000ull          /* so long it waits for a leader before it asks whether that one is dead, */
#define TAKE_LATE_NS 10000000000ull /* and so long before it declares it so */

static struct failover_home home_of(const struct agent *agent, struct sched_task *task)
{
    return (struct failover_home){.recover = node_recover_home(&agent->by, task), .halt = agent->halt};
}

static void pause_for(struct coro *co, struct agent *agent, struct sched_task *task, uint64_t *pause_ns)
{
    sched_sleep(co, agent->by.sched, task, *pause_ns);
    if (*pause_ns < PAUSE_MAX_NS) *pause_ns *= 2;
}

static int configuration_now(struct coro *co, struct agent *agent, struct configuration *now)
{
    const struct halt *halt = agent->halt;
    struct fabric *fabric = agent->by.ep->fabric;
    struct fabric_control control = {
        .kind = FABRIC_NODE_GONE, .cn = agent->by.node->cn, .node = (uint32_t)halt->now.away};
    /* A fresh one in its place may soon be the only one that knows. */
    bool gone = halt->now.state == CONFIGURATION_LOST && fabric->ops->control(fabric, &control, NULL) == 0;
    int32_t lost = gone ? halt->now.away : -1;
    return configuration_look(co, agent->by.ep, agent->by.node->catalog, lost, now);
}

/*
 * The memory nodes do not listen to this compute node any more: it has stopped, and its waiters are told. Nodes that
 * it suspects others judge; it would ask without end, and be refused at once.
 */
static void give_up(struct agent *agent)
{
    struct halt *halt = agent->halt;
    if (!PLANT(agent_suspects_on)) atomic_store(&halt->suspects, 0);
    gate_stop(halt->gate, agent->by.sched);
    halt_end(halt, &halt->now);
}

/*
 * Even epochs last no longer than others need: a compute node that stands still may see an odd one, and then the next
 * odd one. So it is not the word JOINING that tells it of a fresh node, but any that does not have the lost one lost
 * any more (INV-FAILOVER-6).
 */
static void fresh_attach(const struct agent *agent, const struct configuration *now)
{
    struct fabric *fabric = agent->by.ep->fabric;
    int32_t was = agent->halt->now.away;
    int32_t node = now->state != CONFIGURATION_LOST && now->away >= 0 ? now->away : was != now->away ? was : -1;
    struct fabric_control control = {.kind = FABRIC_NODE_REPLACE, .node = (uint32_t)node};
    /* Should it fail the fresh node is lost again for this compute node, and soon for all. */
    if (node >= 0) (void)!fabric->ops->control(fabric, &control, NULL);
}

static void go_on(struct agent *agent, const struct configuration *now)
{
    fresh_attach(agent, now);
    halt_end(agent->halt, now);
}

/* It has stopped and leads: another one may. Should this fail, the others wait until they declare it dead. */
static void resign(struct coro *co, struct agent *agent, const struct configuration *now)
{
    struct configuration to = *now, seen;
    to.epoch += 2;
    to.leader = -1;
    (void)!configuration_move(co, agent->by.ep, agent->by.node->catalog, now, &to, &seen);
}

static int take_over(struct coro *co, struct agent *agent, struct sched_task *task, const struct configuration *now,
                     uint64_t waited_ns, struct cellar_error *error)
{
    const struct failover_home home = home_of(agent, task);
    atomic_bool *leading = &agent->by.node->leading;
    bool own = now->leader == (int32_t)agent->by.node->cn || now->leader < 0;
    if (!own && waited_ns < TAKE_NS) return CELLAR_EXISTS;
    if (atomic_load(&agent->halt->gate->failed)) {
        if (now->leader == (int32_t)agent->by.node->cn) resign(co, agent, now);
        return CELLAR_EXISTS;
    }
    /*
     * A process that opens the pool follows the configuration beside the agent: both would lead, and take it from
     * each other without end.
     */
    if (atomic_exchange(leading, true)) return CELLAR_EXISTS;
    int rc = failover_take_over(co, &home, now, waited_ns > TAKE_LATE_NS, &agent->report, error);
    atomic_store(leading, false);
    return rc;
}

/*
 * Will it go away by itself, or with others? Memory nodes that do not answer are there or lost, and a compute node
 * that does not stand still is there or ends.
 */
static bool passes(int rc)
{
    return rc == CELLAR_EXISTS || rc == CELLAR_UNREACHABLE || rc == CELLAR_INDETERMINATE || rc == CELLAR_DEADLINE;
}

/*
 * INV-FAILOVER-8. A change that could not be ended: each try moves the epoch, so it is tried less and less often, and
 * said aloud; not at all where it would fail again. False: this compute node has stopped, and another one may lead.
 */
static bool retry(struct coro *co, struct agent *agent, struct sched_task *task, int rc,
                  const struct cellar_error *error)
{
    struct opening *opening = agent->by.node->opening;
    if (rc == CELLAR_EXISTS) return true;
    if (passes(rc)) {
        agent->retry_ns = agent->retry_ns ? 2 * agent->retry_ns : PAUSE_NS;
        if (agent->retry_ns > RETRY_MAX_NS) agent->retry_ns = RETRY_MAX_NS;
        if (agent->retry_ns > RETRY_TOLD_NS)
            node_log(opening, CELLAR_LOG_WARNING, "the configuration could not be changed yet: %s", error->text);
        sched_sleep(co, agent->by.sched, task, agent->retry_ns);
        return true;
    }
    node_log(opening, CELLAR_LOG_ERROR, "compute node %u cannot lead a change of the configuration, and stops: %s",
             agent->by.node->cn, error->text);
    agent->why = *error;
    struct configuration last;
    if (configuration_now(co, agent, &last) == 0 && configuration_changing(&last) &&
        last.leader == (int32_t)agent->by.node->cn)
        resign(co, agent, &last);
    give_up(agent);
    return false;
}

/*
 * What the member word tells of holds on to what it holds: this compute node has stopped; or it opens the pool, and
 * the word is of an earlier life. That one is dead, though its index stands still (INV-FAILOVER-3).
 */
static bool is_over(const struct agent *agent)
{
    return atomic_load(&agent->halt->gate->failed) ||
           (!agent->by.node->opening->joined && !PLANT(failover_ack_inherited));
}

/* Until an even epoch, or until this compute node is fenced. */
static void stand_still(struct coro *co, struct agent *agent, struct sched_task *task, struct configuration now)
{
    struct halt *halt = agent->halt;
    struct fabric_ep *ep = agent->by.ep;
    uint64_t begin_ns = fabric_now_ns(ep), pause_ns = PAUSE_NS;
    uint32_t acked = 0;
    agent->retry_ns = 0;
    halt_begin(halt, &now);
    while (!atomic_load(agent->by.stop)) {
        if (acked != now.epoch && halt_still(halt, agent->by.sched) &&
            configuration_ack(co, ep, &now, agent->by.node->cn, is_over(agent)) == 0)
            acked = now.epoch;
        pause_for(co, agent, task, &pause_ns);
        struct configuration next;
        int rc = configuration_now(co, agent, &next);
        /* INV-FAILOVER-9. A node that reaches no word any more knows of the last change that it saw. */
        const struct configuration *known = rc == 0 || PLANT(agent_unanswered_waits) ? &next : &now;
        bool unknown = rc && PLANT(agent_unanswered_waits);
        bool two = !unknown && configuration_changing(known) && halt_another_lost(halt, known->away);
        if (two) atomic_store(&halt->unmended, true);
        if (two || rc == CELLAR_FENCED) {
            give_up(agent);
            return;
        }
        if (rc || next.epoch < now.epoch) continue; /* an old copy, where the seat did not answer */
        if (!configuration_changing(&next)) {
            go_on(agent, &next);
            return;
        }
        if (next.epoch != now.epoch) {
            fresh_attach(agent, &next);
            begin_ns = fabric_now_ns(ep);
            pause_ns = PAUSE_NS;
        }
        now = next;
        struct cellar_error error = {0};
        rc = take_over(co, agent, task, &now, fabric_now_ns(ep) - begin_ns, &error);
        if (rc == 0 || !retry(co, agent, task, rc, &error)) return;
    }
}

/*
 * INV-FAILOVER-9. One is lost, and another one is, or is away: no failover stands in for it. Of two that are lost at
 * once neither's change can be led to its end, and none that has begun; where one is away already, calls that do not
 * need the other one go on. True: this compute node has stopped.
 */
static bool unmended(struct agent *agent)
{
    struct halt *halt = agent->halt;
    int32_t away = halt->now.away;
    if (!halt_another_lost(halt, away) || PLANT(agent_unanswered_waits)) return false;
    if (away < 0)
        while (!halt_is_lost(halt, (uint32_t)++away)) continue;
    if (!halt_another_lost(halt, away)) return false;
    bool ends = halt->now.away < 0 || atomic_load(&halt->gate->halted);
    atomic_store(&halt->unmended, true);
    if (ends) give_up(agent);
    return ends;
}

/* A memory node did not answer; most of the time it is there all the same. */
static void suspects_judge(struct coro *co, struct agent *agent)
{
    struct halt *halt = agent->halt;
    const struct failover_home home = home_of(agent, &agent->task);
    struct cellar_error error;
    if (unmended(agent)) return;
    for (uint64_t nodes = atomic_exchange(&halt->suspects, 0); nodes; nodes &= nodes - 1) {
        uint32_t node = (uint32_t)__builtin_ctzll(nodes);
        struct fabric_control control = {.kind = FABRIC_NODE_GONE, .cn = agent->by.node->cn, .node = node};
        struct fabric *fabric = agent->by.ep->fabric;
        if (halt->now.state == CONFIGURATION_LOST && halt->now.away == (int32_t)node) continue;
        if (fabric->ops->control(fabric, &control, NULL) != 0) continue;
        int rc = failover_lose(co, &home, node, &agent->report, &error);
        if (rc == 0)
            node_log(agent->by.node->opening, CELLAR_LOG_WARNING, "memory node %u is lost: its backups have taken over",
                     node);
        /* INV-MEMBER-3 */
        if (rc == CELLAR_FENCED) {
            give_up(agent);
            return;
        }
    }
}

static void refilled(struct agent *agent, int rc)
{
    struct halt *halt = agent->halt;
    agent->awaits = false;
    halt->rejoined = rc;
    atomic_store(&halt->rejoin, 0);
}

/* Another one fills it. It is watched, as one whose lock is in the way. */
static void filler_await(struct agent *agent, uint32_t cn)
{
    struct vigil *vigil = agent->by.node->vigil;
    agent->awaits = true;
    if (vigil) vigil_watch(vigil, agent->by.sched, cn);
}

/* False: it is to be tried again. */
static bool refill(struct coro *co, struct agent *agent, const struct configuration *now)
{
    const struct failover_home home = home_of(agent, &agent->task);
    uint32_t node = (uint32_t)atomic_load(&agent->halt->rejoin) - 1;
    struct cellar_error error;
    int rc = failover_refill(co, &home, node, &agent->report, &error);
    bool joining = now->state == CONFIGURATION_JOINING && now->leader >= 0;
    if (rc == CELLAR_EXISTS && joining && now->leader != (int32_t)agent->by.node->cn)
        filler_await(agent, (uint32_t)now->leader);
    if (rc == CELLAR_CLOSED || rc == CELLAR_EXISTS) return false;
    refilled(agent, rc == CELLAR_NOT_FOUND && agent->awaits ? 0 : rc);
    return true;
}

/* INV-FAILOVER-7 */
static bool fills_nothing(const struct agent *agent, const struct configuration *now)
{
    return now->state == CONFIGURATION_JOINING && now->leader == (int32_t)agent->by.node->cn &&
           atomic_load(&agent->halt->rejoin) == 0 && !PLANT(failover_filler_named);
}

static bool filler_yield(struct coro *co, struct agent *agent)
{
    const struct failover_home home = home_of(agent, &agent->task);
    struct cellar_error error;
    return failover_yield(co, &home, &error) == 0;
}

/*
 * An old copy, a fresh node's above all, where the seat did not answer. The leader of a change that did not come to
 * its end stands still in an odd epoch: for it an even one that it knows is old, too.
 */
static bool is_behind(const struct halt *halt, const struct configuration *now)
{
    if (PLANT(agent_copy_trusted)) return false;
    return now->epoch < halt->now.epoch || (now->epoch == halt->now.epoch && atomic_load(&halt->gate->halted));
}

/* One look at the word, and what follows from it. False: again. */
static bool serve_once(struct coro *co, struct agent *agent, uint64_t *pause_ns)
{
    struct halt *halt = agent->halt;
    struct configuration now;
    atomic_store(&halt->called, false);
    int rc = configuration_now(co, agent, &now);
    if (rc == CELLAR_FENCED) {
        give_up(agent);
        return true;
    }
    if (rc && (atomic_load(&halt->gate->halted) || atomic_load(&halt->suspects)) && unmended(agent)) return true;
    if (rc == 0 && is_behind(halt, &now)) rc = CELLAR_UNREACHABLE;
    if (rc == 0 && configuration_changing(&now) && now.epoch > halt->now.epoch) {
        stand_still(co, agent, &agent->task, now);
    } else if (rc == 0 && now.epoch > halt->now.epoch) {
        go_on(agent, &now);
    } else if (rc == 0 && atomic_load(&halt->suspects)) {
        suspects_judge(co, agent);
    } else if (rc == 0 && fills_nothing(agent, &now)) {
        if (!filler_yield(co, agent)) pause_for(co, agent, &agent->task, pause_ns);
    } else if (rc == 0 && atomic_load(&halt->rejoin) == 0) {
        return true;
    } else if (rc || !refill(co, agent, &now)) {
        pause_for(co, agent, &agent->task, pause_ns);
    }
    return false;
}

/* All there is to do just now; for the leader of a change that did not come to its end, until it has. */
static void serve(struct coro *co, struct agent *agent)
{
    uint64_t pause_ns = PAUSE_NS;
    bool done = false;
    for (uint32_t looks = 0; !done && !atomic_load(agent->by.stop); looks++) {
        if (looks >= LOOKS_MAX && !atomic_load(&agent->halt->gate->halted)) break;
        done = serve_once(co, agent, &pause_ns);
    }
    if (atomic_load(&agent->halt->gate->failed) && atomic_load(&agent->halt->rejoin)) refilled(agent, CELLAR_FENCED);
}

/*
 * A message may come as soon as there is an inbox, from a compute node that counts an earlier life of this index as
 * alive, or that waits for this one: before it has joined the opener of the pool sees `called`.
 */
static bool wanted(const struct agent *agent)
{
    const struct halt *halt = agent->halt;
    if (!atomic_load_explicit(&halt->open, memory_order_acquire)) return false;
    return atomic_load_explicit(&halt->called, memory_order_relaxed) ||
           atomic_load_explicit(&halt->suspects, memory_order_relaxed) ||
           atomic_load_explicit(&halt->rejoin, memory_order_relaxed);
}

static void agent_main(struct coro *co, void *arg)
{
    struct agent *agent = arg;
    for (;;) {
        agent->parked = true;
        sched_park(co, &agent->task);
        serve(co, agent);
    }
}

void agent_look(struct agent *agent, bool called)
{
    if (called) atomic_store(&agent->halt->called, true);
    if (!agent->parked || !wanted(agent) || atomic_load(agent->by.stop)) return;
    agent->parked = false;
    sched_ready(agent->by.sched, &agent->task);
}

int agent_join(struct coro *co, struct agent *agent, struct sched_task *task)
{
    struct configuration now;
    int rc = configuration_now(co, agent, &now);
    if (rc == 0 && configuration_changing(&now)) {
        stand_still(co, agent, task, now);
        return atomic_load(&agent->halt->gate->failed) ? agent->why.code ? agent->why.code : CELLAR_FENCED : 0;
    }
    if (rc == 0) halt_end(agent->halt, &now);
    return rc;
}

int agent_open(struct agent *agent, const struct node_worker *by, struct halt *halt, uint64_t stack_bytes)
{
    *agent = (struct agent){.by = *by, .halt = halt};
    agent->task.co = coro_new(stack_bytes, agent_main, agent);
    return agent->task.co ? 0 : CELLAR_NOMEM;
}

void agent_close(struct agent *agent) { coro_free(agent->task.co); }
