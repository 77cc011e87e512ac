/*
 * test_declock_reset.c - the leader of a reset of DecLock holds no other client up by it, and is held up by none for
 * longer than it would wait (INV-DECLOCK-10), nor led on by the dead (INV-DECLOCK-9), and a compute node that has
 * stopped waits for none; the nodes that its tender waits for in the end are looked after (INV-LOCKMGR-6): two compute
 * nodes of one client each, and answers that are lost where it matters.
 */
#include "declock.h"
#include "fabric_sim.h"
#include "plant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define NODES 2
#define RTT_NS 2000
#define STACK_BYTES (64u << 10)
#define BRIEF_NS 200000ull
#define LONG_NS 100000000ull
#define SILENCE_NS 10000000ull /* at least as long as an operation is tried again */
#define STEPS_MAX 1000000

struct cluster;

struct node {
    struct cluster *cluster;
    uint32_t cn;
    struct fabric_ep *ep;
    struct sched sched;
    struct lockmgr *manager;
    struct lockmgr_worker *locks;
    struct lockmgr_client *client;
    struct sched_task task, tender;
    bool done;
};

struct cluster {
    struct fabric *fabric;
    struct node nodes[NODES];
    uint32_t running;
    void (*script)(struct coro *co, struct node *node);
    fabric_sim_fault_fn fault;
    bool faulted[NODES];
    bool silent; /* the memory node answers node 0 no more */
    bool lame;   /* node 0 was declared dead, or has stopped: what it held is not given back */
    bool gone;   /* node 1 died, and a look shows that; */
    bool looked; /* ... and a client that waits for it has looked */
    bool wrong;  /* a call ended otherwise than it should */
};

static struct fabric_addr lock_at(uint32_t i) { return fabric_addr_of(0, 4096 + 1024 * i); }

/* ---- what is lost ---- */

/* Of each node the first reply of the other one's lock: it is unknown whether it has a place there. */
static enum fabric_sim_fault crossed(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct cluster *cluster = arg;
    bool other = op->addr.bits == lock_at(1 - ep->cn).bits && op->kind == FABRIC_FAA;
    if (!other || cluster->faulted[ep->cn]) return FABRIC_SIM_NONE;
    cluster->faulted[ep->cn] = true;
    return FABRIC_SIM_REPLY_LOST;
}

/* The same of node 0 and lock 0. */
static enum fabric_sim_fault unsure(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct cluster *cluster = arg;
    if (ep->cn != 0 || op->kind != FABRIC_FAA || op->addr.bits != lock_at(0).bits || cluster->faulted[0])
        return FABRIC_SIM_NONE;
    cluster->faulted[0] = true;
    return FABRIC_SIM_REPLY_LOST;
}

/* And as soon as its name is there, node 0 does not reach the memory node. */
static enum fabric_sim_fault cut_off(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct cluster *cluster = arg;
    if (ep->cn != 0 || op->kind == FABRIC_SEND || op->addr.bits < lock_at(0).bits) return FABRIC_SIM_NONE;
    if (cluster->silent) return FABRIC_SIM_NOT_RUN;
    if (op->kind == FABRIC_CAS) cluster->silent = true;
    return unsure(arg, index, ep, op);
}

/* No message of node 0 arrives. */
static enum fabric_sim_fault unheard(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    return ep->cn == 0 && op->kind == FABRIC_SEND ? FABRIC_SIM_NOT_RUN : FABRIC_SIM_NONE;
}

/* It is unknown whether node 0 has a place, and node 1 tells nothing any more. */
static enum fabric_sim_fault vanished(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    struct cluster *cluster = arg;
    if (ep->cn != 1 || op->kind != FABRIC_SEND) return unsure(arg, index, ep, op);
    cluster->gone = true;
    return FABRIC_SIM_NOT_RUN;
}

/* ---- what the clients do ---- */

static void expect(struct node *node, int code, int expected)
{
    if (code != expected) node->cluster->wrong = true;
}

static int acquire(struct coro *co, struct node *node, struct lockmgr_hold *hold, uint32_t lock, uint64_t timeout_ns)
{
    return lockmgr_acquire(co, node->client, hold, lock_at(lock), LOCKMGR_EXCLUSIVE, timeout_ns);
}

/* Each holds a lock and wants the other one's for a while, whose reset it leads. */
static void hold_and_want(struct coro *co, struct node *node)
{
    struct lockmgr_hold own, other;
    expect(node, acquire(co, node, &own, node->cn, LONG_NS), 0);
    sched_sleep(co, &node->sched, &node->task, 10 * RTT_NS);
    expect(node, acquire(co, node, &other, 1 - node->cn, BRIEF_NS), CELLAR_DEADLINE);
    expect(node, lockmgr_release(co, &own), 0);
    expect(node, acquire(co, node, &other, 1 - node->cn, LONG_NS), 0);
    expect(node, lockmgr_release(co, &other), 0);
}

/* Node 0 gives up the lock that it resets, and never wants it again; node 1 does, when all can be reached. */
static void give_up_or_want(struct coro *co, struct node *node)
{
    struct lockmgr_hold hold;
    if (node->cn == 0) {
        expect(node, acquire(co, node, &hold, 0, LONG_NS), CELLAR_UNREACHABLE);
        sched_sleep(co, &node->sched, &node->task, 4 * SILENCE_NS); /* its tender tries in vain, too */
        node->cluster->silent = false;
        node->cluster->faulted[1] = true;
        return;
    }
    while (!node->cluster->faulted[1]) sched_sleep(co, &node->sched, &node->task, 10 * RTT_NS);
    int code = acquire(co, node, &hold, 0, LONG_NS);
    expect(node, code, 0);
    if (code == 0) expect(node, lockmgr_release(co, &hold), 0);
}

/* Node 0 resets the lock that node 1 holds, and which it would wait for without end; then it is declared dead. */
static void want_or_fence(struct coro *co, struct node *node)
{
    struct lockmgr_hold hold;
    if (node->cn == 0) {
        sched_sleep(co, &node->sched, &node->task, 10 * RTT_NS);
        expect(node, acquire(co, node, &hold, 0, UINT64_MAX), CELLAR_FENCED);
        return;
    }
    struct fabric_control fence = {.kind = FABRIC_CN_EVICT, .cn = 0};
    expect(node, acquire(co, node, &hold, 0, LONG_NS), 0);
    sched_sleep(co, &node->sched, &node->task, BRIEF_NS);
    expect(node, node->cluster->fabric->ops->control(node->cluster->fabric, &fence, NULL), 0);
    node->cluster->lame = true;
    while (!node->cluster->nodes[0].done) sched_sleep(co, &node->sched, &node->task, 10 * RTT_NS);
    expect(node, lockmgr_release(co, &hold), 0);
}

/* Node 0 has stopped, and hands the lock to node 1, which does not hear of it. */
static void stop_or_wait(struct coro *co, struct node *node)
{
    struct lockmgr_hold hold;
    if (node->cn == 1) {
        sched_sleep(co, &node->sched, &node->task, 10 * RTT_NS);
        expect(node, acquire(co, node, &hold, 0, BRIEF_NS), CELLAR_DEADLINE);
        return;
    }
    expect(node, acquire(co, node, &hold, 0, LONG_NS), 0);
    sched_sleep(co, &node->sched, &node->task, 30 * RTT_NS);
    node->cluster->lame = true;
    expect(node, lockmgr_release(co, &hold), CELLAR_FENCED);
}

/* Node 0 leaves the reset to its tender, and wants the lock again when that one has had time for it. */
static void want_twice(struct coro *co, struct node *node)
{
    struct lockmgr_hold hold;
    if (node->cn == 1) return;
    expect(node, acquire(co, node, &hold, 0, BRIEF_NS), CELLAR_DEADLINE);
    sched_sleep(co, &node->sched, &node->task, SILENCE_NS);
    int code = acquire(co, node, &hold, 0, BRIEF_NS);
    expect(node, code, 0);
    if (code == 0) expect(node, lockmgr_release(co, &hold), 0);
}

/* The header of that lock names a node that has begun no reset of it: an earlier life of it had. */
static void name(struct coro *co, struct node *node, uint32_t lock, uint32_t cn)
{
    uint64_t old = 1;
    struct fabric_op op = fabric_op_cas(lock_at(lock), &old, 0, cql_with_resetter(0, (uint8_t)(cn + 1)));
    struct fabric_wait wait = {.co = co};
    fabric_post(node->ep, &op, 1, &wait);
    expect(node, (int)fabric_await(co, &wait), 0);
    expect(node, (int)old, 0);
}

/* Node 0, which wants no lock, ended amid a reset of lock 0, and lives again; node 1 did so of lock 1. */
static void want_of_the_past(struct coro *co, struct node *node)
{
    if (node->cn == 0) return;
    for (uint32_t lock = 0; lock < 2; lock++) {
        struct lockmgr_hold hold;
        name(co, node, lock, lock);
        int code = acquire(co, node, &hold, lock, LONG_NS);
        expect(node, code, 0);
        if (code == 0) expect(node, lockmgr_release(co, &hold), 0);
    }
}

/*
 * A message that does not tell the truth is not believed: node 0 is told that it is named in lock 0, which node 1 has
 * and gives back.
 */
static void told_wrongly(struct coro *co, struct node *node)
{
    struct lockmgr_hold hold;
    if (node->cn == 0) return;
    expect(node, acquire(co, node, &hold, 0, LONG_NS), 0);
    struct lockmgr_message_wire wire = {.lock = lock_at(0).bits, .kind = DECLOCK_NAMED, .magic = LOCKMGR_MAGIC};
    for (uint32_t i = 0; i < 2; i++) {
        expect(node, lockmgr_send(co, node->client, 0, 0, &wire), 0);
        wire.lock = fabric_addr_of(7, 64).bits; /* no such memory node */
    }
    sched_sleep(co, &node->sched, &node->task, BRIEF_NS);
    uint64_t word = 0;
    expect(node, lockmgr_read_words(co, &hold, 0, &word, 1), 0);
    expect(node, (int)(word & 0xffff), 0); /* of its first generation still, and free */
    expect(node, lockmgr_release(co, &hold), 0);
}

static bool is_dead(void *arg, uint32_t cn)
{
    const struct node *node = arg;
    return cn == 1 && node->cluster->looked;
}

static bool has_stopped(void *arg)
{
    const struct node *node = arg;
    return node->cn == 0 && node->cluster->lame;
}

static void client_main(struct coro *co, void *arg)
{
    struct node *node = arg;
    node->cluster->script(co, node);
    node->done = true;
    sched_park(co, &node->task);
}

static void tender_main(struct coro *co, void *arg)
{
    const struct node *node = arg;
    for (;;) lockmgr_tend_wait(co, node->locks, lockmgr_tend(co, node->locks));
}

static bool all_rest(const struct cluster *cluster)
{
    bool rest = true;
    for (uint32_t i = 0; i < NODES; i++)
        rest = rest && cluster->nodes[i].done && (cluster->lame || lockmgr_quiet(cluster->nodes[i].locks));
    return rest;
}

static void worker_main(void *arg)
{
    struct node *node = arg;
    struct fabric_message message;
    while (!all_rest(node->cluster)) {
        bool any = sched_round(&node->sched);
        while (fabric_recv(node->ep, &message)) any = lockmgr_deliver(node->locks, &message);
        if (node->cluster->gone && lockmgr_awaits(node->locks)) node->cluster->looked = true;
        uint64_t look_ns = fabric_now_ns(node->ep) + RTT_NS, next_ns = sched_next_ns(&node->sched);
        if (!any) fabric_idle(node->ep, look_ns < next_ns ? look_ns : next_ns);
    }
    node->cluster->running--;
}

/* ---- from begin to end ---- */

static const struct lockmgr_config config = {.algorithm = "declock",
                                             .cn_count = NODES,
                                             .workers_per_cn = 1,
                                             .clients_per_worker = 1,
                                             .clock = {2048},
                                             .rtt_ns = RTT_NS};

static void node_open(struct cluster *cluster, uint32_t cn)
{
    struct node *node = &cluster->nodes[cn];
    struct lockmgr_config own = config;
    struct cellar_error error;
    own.view = (struct lockmgr_view){.dead = is_dead, .stopped = has_stopped, .arg = node};
    node->cluster = cluster;
    node->cn = cn;
    assert_int_equal(fabric_endpoint_open(cluster->fabric, cn, 0, &node->ep, &error), 0);
    sched_init(&node->sched, node->ep);
    assert_int_equal(lockmgr_open(&own, cluster->fabric, cn, &node->manager, &error), 0);
    assert_int_equal(lockmgr_worker_open(node->manager, 0, node->ep, &node->sched, &node->locks, &error), 0);
    node->task.co = coro_new(STACK_BYTES, client_main, node);
    node->tender.co = coro_new(STACK_BYTES, tender_main, node);
    node->client = lockmgr_client_of(node->locks, 0, &node->task);
    sched_ready(&node->sched, &node->task);
    sched_ready(&node->sched, &node->tender);
    assert_int_equal(cluster->fabric->ops->spawn(cluster->fabric, node->ep, worker_main, node), 0);
}

static void node_close(struct node *node)
{
    coro_free(node->task.co);
    coro_free(node->tender.co);
    node->client->holds = NULL;
    lockmgr_worker_close(node->locks);
    lockmgr_close(node->manager);
}

static bool is_free(struct cluster *cluster, uint32_t lock)
{
    uint64_t image[64] = {0};
    struct fabric_ep *ep = cluster->nodes[0].ep;
    struct fabric_wait wait = {0};
    struct fabric_op op = fabric_op_read(lock_at(lock), image, (uint32_t)lockmgr_lock_bytes(&config));
    struct cellar_error error;
    assert_true(op.size_bytes <= sizeof image);
    assert_int_equal(fabric_register_local(cluster->fabric, image, sizeof image), 0);
    ep->bulk = true;
    fabric_post(ep, &op, 1, &wait);
    assert_true(wait.pending == 0 || fabric_poll(ep) != NULL);
    return op.status == 0 && lockmgr_audit(&config, image, &error) == 0;
}

/* Both come to their end, and, unless node 0 is lame, leave the locks as they are at rest. */
static bool ends_well(void (*script)(struct coro *co, struct node *node), fabric_sim_fault_fn fault)
{
    struct cluster cluster = {.script = script, .running = NODES};
    struct fabric_sim_config sim;
    struct cellar_error error;
    fabric_sim_config_default(&sim);
    sim.cn_count = NODES;
    sim.mn_bytes = 1 << 20;
    sim.fault = fault;
    sim.fault_arg = &cluster;
    sim.steps_max = STEPS_MAX;
    assert_int_equal(fabric_sim_open(&sim, &cluster.fabric, &error), 0);
    for (uint32_t cn = 0; cn < NODES; cn++) node_open(&cluster, cn);
    bool well = cluster.fabric->ops->wait(cluster.fabric, &cluster.running, UINT64_MAX) == 0 && !cluster.wrong;
    for (uint32_t i = 0; i < NODES && well && !cluster.lame; i++) well = is_free(&cluster, i);
    fabric_close(cluster.fabric); /* coroutines inside others end first */
    for (uint32_t cn = 0; cn < NODES; cn++) node_close(&cluster.nodes[cn]);
    return well;
}

static void two_leaders_do_not_wait_for_each_other(void **state)
{
    (void)state;
    assert_true(ends_well(hold_and_want, crossed));
}

static void a_leader_that_gives_up_leaves_no_name(void **state)
{
    (void)state;
    assert_true(ends_well(give_up_or_want, cut_off));
}

static void who_was_declared_dead_leads_no_more(void **state)
{
    (void)state;
    assert_true(ends_well(want_or_fence, unsure));
}

static void who_has_stopped_does_not_insist(void **state)
{
    (void)state;
    assert_true(ends_well(stop_or_wait, unheard));
}

static void whom_a_tender_waits_for_is_looked_after(void **state)
{
    (void)state;
    assert_true(ends_well(want_twice, vanished));
}

static void who_lives_again_leads_what_was_begun(void **state)
{
    (void)state;
    assert_true(ends_well(want_of_the_past, NULL));
}

static void who_is_not_named_leads_nothing(void **state)
{
    (void)state;
    assert_true(ends_well(told_wrongly, NULL));
}

#ifdef CELLAR_PLANTS
static void its_plants_are_met(void **state)
{
    (void)state;
    assert_true(plant_choose("declock_leads_for_ever"));
    assert_false(ends_well(hold_and_want, crossed));
    assert_true(plant_choose("declock_lead_dropped"));
    assert_false(ends_well(give_up_or_want, cut_off));
    assert_true(plant_choose("declock_fence_unheard"));
    assert_false(ends_well(want_or_fence, unsure));
    assert_true(plant_choose("declock_stopped_insists"));
    assert_false(ends_well(stop_or_wait, unheard));
    assert_true(plant_choose("lockmgr_tender_alone"));
    assert_false(ends_well(want_twice, vanished));
    assert_true(plant_choose("declock_name_inherited"));
    assert_false(ends_well(want_of_the_past, NULL));
    assert_true(plant_choose(NULL));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_leaders_do_not_wait_for_each_other),
        cmocka_unit_test(a_leader_that_gives_up_leaves_no_name),
        cmocka_unit_test(who_was_declared_dead_leads_no_more),
        cmocka_unit_test(who_has_stopped_does_not_insist),
        cmocka_unit_test(whom_a_tender_waits_for_is_looked_after),
        cmocka_unit_test(who_lives_again_leads_what_was_begun),
        cmocka_unit_test(who_is_not_named_leads_nothing),
#ifdef CELLAR_PLANTS
        cmocka_unit_test(its_plants_are_met),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
