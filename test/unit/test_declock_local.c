/*
 * test_declock_local.c - DecLock within a compute node: readers that come one after the other hand a shared place on
 * for so long only (then remote writers must have had their turn), by whichever way they come; and the compute nodes'
 * common time: rounds end when all that live are there, and again.
 */
#include "declock.h"
#include "fabric_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define JOINS_MAX 32 /* as in declock_local.c */

/* ---- readers ---- */

struct readers {
    struct declock declock;
    struct declock_record record;
    struct declock_seat seat;
    struct sched sched;
    struct sched_task task;
    struct lockmgr_worker worker;
    struct lockmgr_client client;
    struct lockmgr_hold holds[4 * JOINS_MAX];
    uint32_t used;
};

/* One reader holds a shared place. */
static void readers_begin(struct readers *readers, enum declock_policy policy)
{
    memset(readers, 0, sizeof *readers);
    readers->declock.policy = policy;
    readers->worker.sched = &readers->sched;
    readers->client = (struct lockmgr_client){.worker = &readers->worker, .task = &readers->task};
    readers->seat = (struct declock_seat){.record = &readers->record,
                                          .state = DECLOCK_HELD,
                                          .place_mode = LOCKMGR_SHARED,
                                          .mode = LOCKMGR_SHARED,
                                          .holders = 1};
}

static struct lockmgr_hold *reader(struct readers *readers)
{
    struct lockmgr_hold *hold = &readers->holds[readers->used++];
    *hold = (struct lockmgr_hold){.client = &readers->client, .mode = LOCKMGR_SHARED};
    return hold;
}

/* How many are handed the place, each by the one before, before it is to be given up. */
static uint32_t handed(enum declock_policy policy)
{
    struct readers readers;
    uint32_t count = 0;
    readers_begin(&readers, policy);
    for (bool kept = true; kept && count < 3 * JOINS_MAX; count += kept) {
        struct lockmgr_hold *next = reader(&readers);
        declock_local_append(&readers.seat, next);
        kept = declock_local_hand_over(&readers.declock, &readers.seat, &readers.worker);
        assert_true(!kept || (readers.seat.holders == 1 && next->words[DECLOCK_ROLE] == DECLOCK_GRANTED));
    }
    return count;
}

static void readers_hand_a_place_on_for_so_long_only(void **state)
{
    (void)state;
    assert_int_equal(handed(DECLOCK_TS_PF), JOINS_MAX);
    assert_int_equal(handed(DECLOCK_TS_TF), JOINS_MAX);
    assert_int_equal(handed(DECLOCK_REMOTE_PREFER), JOINS_MAX);
    assert_int_equal(handed(DECLOCK_LOCAL_BOUND), 4); /* its own bound is smaller */
}

/* Some join those that hold, the rest is handed the place: the sum counts. */
static void joining_and_being_handed_count_together(void **state)
{
    (void)state;
    for (uint32_t joined = 0; joined <= JOINS_MAX; joined += 8) {
        struct readers readers;
        uint32_t count = 0;
        readers_begin(&readers, DECLOCK_TS_PF);
        for (uint32_t i = 0; i < joined; i++) {
            assert_true(declock_local_joins(&readers.declock, &readers.seat, reader(&readers)));
            readers.seat.joins++;
        }
        for (bool kept = true; kept; count += kept) {
            declock_local_append(&readers.seat, reader(&readers));
            kept = declock_local_hand_over(&readers.declock, &readers.seat, &readers.worker);
        }
        assert_int_equal(joined + count, JOINS_MAX);
        readers.seat.first = readers.seat.last = NULL;
        assert_false(declock_local_joins(&readers.declock, &readers.seat, reader(&readers)));
        readers.declock.policy = DECLOCK_LOCAL_PREFER;
        assert_true(declock_local_joins(&readers.declock, &readers.seat, reader(&readers)));
    }
}

/* ---- common time ---- */

#define NODES 3
#define RTT_NS 2000
#define STACK_BYTES (64u << 10)
#define AGAIN_NS 1000000000ull /* as in declock_clock.c */
#define LOOK_NS 100000000ull
#define APART_US 60 /* between stamps of two nodes at one time */

struct cluster;
struct node {
    struct cluster *cluster;
    uint32_t cn;
    struct fabric_ep *ep;
    struct sched sched;
    struct lockmgr *manager;
    struct lockmgr_worker *locks;
    struct sched_task tender;
};
struct cluster {
    struct fabric *fabric;
    struct node nodes[NODES];
    uint32_t running;
    uint64_t end_ns;
    int32_t dead; /* the node that never comes */
};

static bool is_dead(void *arg, uint32_t cn) { return (int32_t)cn == ((const struct node *)arg)->cluster->dead; }

static void tender_main(struct coro *co, void *arg)
{
    const struct node *node = arg;
    for (;;) lockmgr_tend_wait(co, node->locks, lockmgr_tend(co, node->locks));
}

static void worker_main(void *arg)
{
    struct node *node = arg;
    while (fabric_sim_true_ns(node->ep) < node->cluster->end_ns) {
        bool any = sched_round(&node->sched);
        uint64_t look_ns = fabric_now_ns(node->ep) + LOOK_NS, next_ns = sched_next_ns(&node->sched);
        if (!any) fabric_idle(node->ep, look_ns < next_ns ? look_ns : next_ns);
    }
    node->cluster->running--;
}

static void node_open(struct cluster *cluster, uint32_t cn)
{
    static const struct lockmgr_config config = {.algorithm = "declock",
                                                 .cn_count = NODES,
                                                 .workers_per_cn = 1,
                                                 .clients_per_worker = 1,
                                                 .clock = {2048},
                                                 .rtt_ns = RTT_NS};
    struct node *node = &cluster->nodes[cn];
    struct lockmgr_config own = config;
    struct cellar_error error;
    own.view = (struct lockmgr_view){.dead = is_dead, .arg = node};
    *node = (struct node){.cluster = cluster, .cn = cn};
    assert_int_equal(fabric_endpoint_open(cluster->fabric, cn, 0, &node->ep, &error), 0);
    sched_init(&node->sched, node->ep);
    assert_int_equal(lockmgr_open(&own, cluster->fabric, cn, &node->manager, &error), 0);
    assert_int_equal(lockmgr_worker_open(node->manager, 0, node->ep, &node->sched, &node->locks, &error), 0);
    node->tender.co = coro_new(STACK_BYTES, tender_main, node);
    sched_ready(&node->sched, &node->tender);
    assert_int_equal(cluster->fabric->ops->spawn(cluster->fabric, node->ep, worker_main, node), 0);
    cluster->running++;
}

static uint64_t word_of(struct cluster *cluster, struct fabric_ep *ep)
{
    static uint64_t word;
    struct fabric_wait wait = {0};
    struct fabric_op op = fabric_op_read((struct fabric_addr){2048}, &word, sizeof word);
    assert_int_equal(fabric_register_local(cluster->fabric, &word, sizeof word), 0);
    ep->bulk = true;
    fabric_post(ep, &op, 1, &wait);
    assert_true(wait.pending == 0 || fabric_poll(ep) != NULL);
    assert_int_equal(op.status, 0);
    return word;
}

/* They come one after the other, and stand still for some rounds' time. */
static void keep_time(int32_t dead)
{
    struct cluster cluster = {.dead = dead, .end_ns = 4 * AGAIN_NS + AGAIN_NS / 2};
    struct fabric_sim_config sim;
    struct cellar_error error;
    int32_t first = dead == 0;
    fabric_sim_config_default(&sim);
    sim.cn_count = NODES;
    sim.mn_bytes = 1 << 20;
    assert_int_equal(fabric_sim_open(&sim, &cluster.fabric, &error), 0);
    for (uint32_t cn = 0; cn < NODES; cn++)
        if ((int32_t)cn != dead) node_open(&cluster, cn);
    assert_int_equal(cluster.fabric->ops->wait(cluster.fabric, &cluster.running, UINT64_MAX), 0);
    uint64_t word = word_of(&cluster, cluster.nodes[first].ep);
    assert_in_range(word >> 16, 4, 6);  /* rounds: one at once, then one a second */
    assert_int_equal(word & 0xffff, 0); /* all that entered the last one have seen its end */
    for (uint32_t cn = 0; cn < NODES; cn++) {
        struct node *node = &cluster.nodes[cn], *other = &cluster.nodes[first];
        if ((int32_t)cn == dead) continue;
        const struct declock *own = node->manager->shared, *theirs = other->manager->shared;
        assert_true(atomic_load(&own->zero_ns) > 0);
        uint16_t stamp = declock_stamp(own, fabric_now_ns(node->ep));
        uint16_t other_stamp = declock_stamp(theirs, fabric_now_ns(other->ep));
        int16_t apart = (int16_t)(uint16_t)(stamp - other_stamp);
        assert_in_range(apart + APART_US, 0, 2 * APART_US);
    }
    fabric_close(cluster.fabric);
    for (uint32_t cn = 0; cn < NODES; cn++) {
        if ((int32_t)cn == dead) continue;
        coro_free(cluster.nodes[cn].tender.co);
        lockmgr_worker_close(cluster.nodes[cn].locks);
        lockmgr_close(cluster.nodes[cn].manager);
    }
}

static void nodes_keep_one_time(void **state)
{
    (void)state;
    keep_time(-1);
}

static void the_dead_are_not_waited_for(void **state)
{
    (void)state;
    keep_time(0);
    keep_time(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_hand_a_place_on_for_so_long_only),
        cmocka_unit_test(joining_and_being_handed_count_together),
        cmocka_unit_test(nodes_keep_one_time),
        cmocka_unit_test(the_dead_are_not_waited_for),
    };
    return cmocka_run_group_tests_name("unit.declock_local", tests, NULL, NULL);
}
