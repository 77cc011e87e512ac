/*
 * test_fabric_sim_costs.c - what a simulated cluster costs: queues at the sender, processor time, links, messages,
 * torn atomics, and what profiles promise; to the nanosecond.
 */
#include "fabric_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define READ 60
#define WRITE 50

/* ---- a cluster, used from outside ---- */

#define RTT 1000
#define MESSAGE 700
#define NODES 2
#define EPS 4

static uint8_t local[1 << 16];

struct cluster {
    struct fabric_sim_config config;
    struct fabric *fabric;
    struct fabric_ep *eps[EPS]; /* compute nodes 0, 0, 1, 2 */
    struct fabric_op ops[64];
    struct fabric_wait wait;
};

static void configure(struct cluster *cluster)
{
    memset(cluster, 0, sizeof *cluster);
    fabric_sim_config_default(&cluster->config);
    cluster->config.mn_count = NODES;
    cluster->config.cn_count = EPS;
    cluster->config.mn_bytes = 1 << 20;
    cluster->config.profile = (struct fabric_sim_profile){.rtt_ns = RTT, .message_ns = MESSAGE};
}

static void open_cluster(struct cluster *cluster)
{
    const uint32_t cns[EPS] = {0, 0, 1, 2};
    assert_int_equal(fabric_sim_open(&cluster->config, &cluster->fabric, NULL), 0);
    assert_int_equal(fabric_register_local(cluster->fabric, local, sizeof local), 0);
    for (uint32_t i = 0; i < EPS; i++)
        assert_int_equal(fabric_endpoint_open(cluster->fabric, cns[i], i, &cluster->eps[i], NULL), 0);
}

static void settle(struct cluster *cluster, uint32_t ep)
{
    while (cluster->wait.pending) (void)fabric_poll(cluster->eps[ep]);
    assert_int_equal(cluster->wait.failed, 0);
}

/*
 * Posts the first `count` operations of the cluster; returns what that and reaping them took on the endpoint's clock.
 */
static uint64_t perform(struct cluster *cluster, uint32_t ep, uint32_t count)
{
    uint64_t begin_ns = fabric_now_ns(cluster->eps[ep]);
    fabric_post(cluster->eps[ep], cluster->ops, count, &cluster->wait);
    settle(cluster, ep);
    return fabric_now_ns(cluster->eps[ep]) - begin_ns;
}

/* Times carry a few ns for asking, and the one by which operations of a connection stand apart. */
#define assert_about(value, expected) assert_in_range(value, expected, (expected) + 60)

static void fill(struct cluster *cluster, uint32_t count, uint32_t nodes)
{
    for (uint32_t i = 0; i < count; i++)
        cluster->ops[i] = fabric_op_read(fabric_addr_of(i % nodes, 64 * i), local + 64 * i, 64);
}

static void test_sixteen_at_most_are_outstanding(void **state)
{
    struct cluster cluster;
    configure(&cluster);
    cluster.config.profile.outstanding = 16;
    open_cluster(&cluster);
    fill(&cluster, 40, 1);
    assert_about(perform(&cluster, 0, 16), RTT);
    assert_about(perform(&cluster, 0, 17), 2 * RTT);
    assert_about(perform(&cluster, 0, 40), 3 * RTT);
    fill(&cluster, 32, 2);
    assert_about(perform(&cluster, 0, 32), RTT); /* 16 on each of two connections */
    for (uint32_t i = 0; i < 40; i++) cluster.ops[i] = fabric_op_write(fabric_addr_of(0, 64 * i), local, 64);
    assert_about(perform(&cluster, 0, 40), RTT); /* WRITEs do not count */
    fill(&cluster, 17, 1);
    assert_about(perform(&cluster, 0, 18), 2 * RTT); /* but wait for a READ that does */
    fabric_close(cluster.fabric);
}

static void test_waiting_at_the_sender_keeps_the_order(void **state)
{
    struct cluster cluster;
    uint64_t old[40];
    configure(&cluster);
    cluster.config.profile.outstanding = 3;
    open_cluster(&cluster);
    for (uint32_t i = 0; i < 40; i++) cluster.ops[i] = fabric_op_faa(fabric_addr_of(0, 64), &old[i], 1);
    (void)perform(&cluster, 0, 40);
    for (uint64_t i = 0; i < 40; i++) assert_int_equal(old[i], i);
    fabric_close(cluster.fabric);
}

static void test_cpu_time_of_a_batch(void **state)
{
    struct cluster cluster;
    configure(&cluster);
    cluster.config.profile.post_ns = 1000;
    cluster.config.profile.op_ns = 100;
    open_cluster(&cluster);
    fill(&cluster, 6, 2);
    uint64_t begin_ns = fabric_now_ns(cluster.eps[0]);
    fabric_post(cluster.eps[0], cluster.ops, 6, &cluster.wait); /* two doorbells */
    assert_about(fabric_now_ns(cluster.eps[0]) - begin_ns, 2000 + 600);
    settle(&cluster, 0);
    assert_about(perform(&cluster, 0, 5), 2000 + 500 + RTT);
    fabric_close(cluster.fabric);
}

static void test_cpu_time_of_completions(void **state)
{
    struct cluster cluster;
    struct fabric_wait other = {0};
    configure(&cluster);
    cluster.config.profile.completion_ns = 100;
    cluster.config.profile.switch_ns = 1000;
    cluster.config.profile.byte_ps = 500;
    open_cluster(&cluster);
    fill(&cluster, 6, 2);
    fabric_post(cluster.eps[0], &cluster.ops[5], 1, &other);
    uint64_t begin_ns = fabric_now_ns(cluster.eps[0]);
    fabric_post(cluster.eps[0], cluster.ops, 5, &cluster.wait);
    settle(&cluster, 0); /* six completions, two waits, six times 64 bytes */
    assert_int_equal(other.pending, 0);
    assert_about(fabric_now_ns(cluster.eps[0]) - begin_ns, RTT + 600 + 2000 + 6 * 32);
    cluster.ops[0] = fabric_op_write(fabric_addr_of(0, 0), local, 10000);
    assert_about(perform(&cluster, 0, 1), RTT + 5000 + 100 + 1000);
    fabric_close(cluster.fabric);
}

static void test_work_of_the_engine_costs(void **state)
{
    struct cluster cluster;
    configure(&cluster);
    cluster.config.profile.access_ns = 100;
    open_cluster(&cluster);
    struct fabric_ep *ep = cluster.eps[0];
    uint64_t begin_ns = fabric_now_ns(ep);
    fabric_work(ep, 10);
    assert_about(fabric_now_ns(ep) - begin_ns, 1000); /* once */
    assert_about(fabric_now_ns(ep) - begin_ns, 1000);
    fill(&cluster, 1, 1);
    fabric_work(ep, 5);
    assert_about(perform(&cluster, 0, 1), RTT); /* charged before perform asked for the time */
    assert_about(fabric_now_ns(ep) - begin_ns, 1500 + RTT);
    fabric_post(ep, cluster.ops, 1, &cluster.wait);
    fabric_work(ep, 50); /* while it is under way */
    settle(&cluster, 0);
    assert_about(fabric_now_ns(ep) - begin_ns, 1500 + RTT + 5000);
    ep->bulk = true;
    fabric_work(ep, 1000);
    assert_about(fabric_now_ns(ep) - begin_ns, 1500 + RTT + 5000);
    ep->bulk = false;
    assert_about(fabric_now_ns(ep) - begin_ns, 1500 + RTT + 5000);
    fabric_close(cluster.fabric);
}

/* Both endpoints of compute node 0 send 8 KiB at once, to different memory nodes: they share its link. */
static void test_threads_share_a_link(void **state)
{
    for (uint32_t other = 1; other <= 2; other++) {
        struct cluster cluster;
        configure(&cluster);
        cluster.config.profile.link_ps = 1000;
        open_cluster(&cluster);
        struct fabric_op ops[2] = {fabric_op_write(fabric_addr_of(0, 0), local, 8192),
                                   fabric_op_write(fabric_addr_of(1, 0), local, 8192)};
        struct fabric_wait waits[2] = {{0}};
        fabric_post(cluster.eps[0], &ops[0], 1, &waits[0]);
        fabric_post(cluster.eps[other], &ops[1], 1, &waits[1]);
        while (waits[0].pending) (void)fabric_poll(cluster.eps[0]);
        assert_about(fabric_now_ns(cluster.eps[0]), RTT + 2 * 8192); /* its own node's link, then the memory node's */
        while (waits[1].pending) (void)fabric_poll(cluster.eps[other]);
        assert_about(fabric_now_ns(cluster.eps[other]), RTT + (other == 1 ? 3 : 2) * 8192);
        fabric_close(cluster.fabric);
    }
}

/* Two compute nodes READ 8 KiB each of one memory node: they share what goes out of it. */
static void test_memory_node_replies_share_a_link(void **state)
{
    struct cluster cluster;
    configure(&cluster);
    cluster.config.profile.link_ps = 1000;
    open_cluster(&cluster);
    struct fabric_op ops[2] = {fabric_op_read(fabric_addr_of(0, 0), local, 8192),
                               fabric_op_read(fabric_addr_of(0, 0), local + 8192, 8192)};
    struct fabric_wait waits[2] = {{0}};
    fabric_post(cluster.eps[0], &ops[0], 1, &waits[0]);
    fabric_post(cluster.eps[2], &ops[1], 1, &waits[1]);
    while (waits[0].pending || waits[1].pending) {
        (void)fabric_poll(cluster.eps[0]);
        (void)fabric_poll(cluster.eps[2]);
    }
    assert_about(fabric_sim_now_ns(cluster.fabric), RTT + 3 * 8192);
    fabric_close(cluster.fabric);
}

static uint64_t received_ns(struct cluster *cluster, uint32_t ep)
{
    struct fabric_message message;
    while (!fabric_recv(cluster->eps[ep], &message)) {
        fabric_idle(cluster->eps[ep], UINT64_MAX);
        (void)fabric_poll(cluster->eps[ep]);
    }
    return fabric_now_ns(cluster->eps[ep]);
}

static void send_to(struct cluster *cluster, struct fabric_op *op, uint32_t ep)
{
    *op = (struct fabric_op){
        .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(cluster->eps[ep]->cn, ep), .local = local, .size_bytes = 8};
    fabric_post(cluster->eps[0], op, 1, &cluster->wait);
}

/* To the same receiver at once; to another one when those before are there, and after connecting. */
static void test_messages_to_another_receiver_come_later(void **state)
{
    struct cluster cluster;
    configure(&cluster);
    cluster.config.profile.retarget_ns = 400;
    cluster.config.profile.completion_ns = 10;
    open_cluster(&cluster);
    send_to(&cluster, &cluster.ops[0], 2);
    send_to(&cluster, &cluster.ops[1], 2);
    send_to(&cluster, &cluster.ops[2], 3);
    send_to(&cluster, &cluster.ops[3], 3);
    assert_about(received_ns(&cluster, 2), 400 + MESSAGE + 10);
    assert_about(received_ns(&cluster, 2), 400 + MESSAGE + 20);
    assert_about(received_ns(&cluster, 3), 2 * (400 + MESSAGE) + 10);
    assert_about(received_ns(&cluster, 3), 2 * (400 + MESSAGE) + 20);
    settle(&cluster, 0);
    fabric_close(cluster.fabric);
}

static void test_busy_units_are_counted(void **state)
{
    struct cluster cluster;
    configure(&cluster);
    cluster.config.profile.units = 4;
    cluster.config.profile.read_ns = 100;
    open_cluster(&cluster);
    fill(&cluster, 10, 2);
    (void)perform(&cluster, 0, 9);
    assert_int_equal(fabric_sim_units(cluster.fabric), 4);
    assert_int_equal(fabric_sim_busy_ns(cluster.fabric, 0), 500);
    assert_int_equal(fabric_sim_busy_ns(cluster.fabric, 1), 400);
    fabric_close(cluster.fabric);
}

/* A connection counts from its first operation until its endpoint is closed. */
static void test_open_connections_slow_down_reads(void **state)
{
    struct cluster cluster;
    configure(&cluster);
    cluster.config.profile.read_ns = 1000;
    cluster.config.profile.qp[0].connections = 1;
    cluster.config.profile.qp[0].percent = 100;
    cluster.config.profile.qp[1].connections = 2;
    cluster.config.profile.qp[1].percent = 300;
    open_cluster(&cluster);
    fill(&cluster, 1, 1);
    assert_about(perform(&cluster, 0, 1), RTT + 1000);
    assert_about(perform(&cluster, 1, 1), RTT + 3000);
    assert_about(perform(&cluster, 0, 1), RTT + 3000);
    fabric_endpoint_close(cluster.eps[1]);
    assert_about(perform(&cluster, 0, 1), RTT + 1000);
    fabric_close(cluster.fabric);
}

/* ---- torn atomics ---- */

/* An FAA of one endpoint and a WRITE of another at once, to one word. True when nothing is left of what was written. */
static bool write_is_lost(uint64_t seed, bool torn)
{
    struct cluster cluster;
    uint64_t old, word = 1000;
    struct fabric_wait wait = {0};
    configure(&cluster);
    cluster.config.torn = torn;
    cluster.config.seed = seed;
    open_cluster(&cluster);
    memcpy(local, &word, sizeof word);
    cluster.ops[0] = fabric_op_faa(fabric_addr_of(0, 64), &old, 1);
    cluster.ops[1] = fabric_op_write(fabric_addr_of(0, 64), local, 8);
    fabric_post(cluster.eps[0], &cluster.ops[0], 1, &cluster.wait);
    fabric_post(cluster.eps[2], &cluster.ops[1], 1, &wait);
    settle(&cluster, 0);
    while (wait.pending) (void)fabric_poll(cluster.eps[2]);
    cluster.ops[2] = fabric_op_read(fabric_addr_of(0, 64), local + 64, 8);
    cluster.eps[0]->bulk = true;
    fabric_post(cluster.eps[0], &cluster.ops[2], 1, &cluster.wait);
    memcpy(&word, local + 64, sizeof word);
    fabric_close(cluster.fabric);
    return word < 1000;
}

static uint32_t writes_lost(bool torn)
{
    uint32_t lost = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) lost += write_is_lost(seed, torn);
    return lost;
}

static void test_torn_atomics_lose_writes_of_their_word(void **state)
{
    assert_int_equal(writes_lost(false), 0);
    assert_true(writes_lost(true) > 0);
}

/* Among themselves they stay atomic: no increment is lost, and no two see the same word. */
static void test_torn_atomics_are_atomic_among_themselves(void **state)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct cluster cluster;
        uint64_t old[EPS][8], seen = 0;
        struct fabric_op ops[EPS][8];
        struct fabric_wait waits[EPS] = {{0}};
        configure(&cluster);
        cluster.config.torn = true;
        cluster.config.seed = seed;
        open_cluster(&cluster);
        for (uint32_t ep = 0; ep < EPS; ep++) {
            for (uint32_t i = 0; i < 8; i++) ops[ep][i] = fabric_op_faa(fabric_addr_of(0, 64), &old[ep][i], 1);
            fabric_post(cluster.eps[ep], ops[ep], 8, &waits[ep]);
        }
        for (uint32_t ep = 0; ep < EPS; ep++)
            while (waits[ep].pending) (void)fabric_poll(cluster.eps[ep]);
        for (uint32_t ep = 0; ep < EPS; ep++)
            for (uint32_t i = 0; i < 8; i++) seen |= 1ull << old[ep][i];
        assert_true(seen == (1ull << EPS * 8) - 1);
        fabric_close(cluster.fabric);
    }
}

/* ---- profiles ---- */

static void test_profiles(void **state)
{
    const char *const names[] = {"cx3", "cx4", "cx5", "cx6", "ideal"};
    struct fabric_sim_config config;
    uint32_t count = 0;
    while (fabric_sim_profile_at(count)) count++;
    assert_int_equal(count, sizeof names / sizeof names[0]);
    for (uint32_t i = 0; i < count; i++) {
        const struct fabric_sim_profile *profile = fabric_sim_profile_find(names[i]);
        assert_non_null(profile);
        assert_string_equal(profile->name, names[i]);
        fabric_sim_config_default(&config);
        config.mn_bytes = 4096;
        config.profile = *profile;
        struct fabric *fabric;
        assert_int_equal(fabric_sim_open(&config, &fabric, NULL), 0);
        fabric_close(fabric);
    }
    assert_null(fabric_sim_profile_find("cx9"));
    fabric_sim_config_default(&config);
    assert_string_equal(config.profile.name, "cx5");
}

/* A lone client takes and gives a lock 278.3 K times a second (ShiftLock, section 2.3). */
static void test_a_lone_client_sees_the_published_round_trip(void **state)
{
    struct cluster cluster;
    uint64_t old;
    configure(&cluster);
    cluster.config.profile = *fabric_sim_profile_find("cx5");
    open_cluster(&cluster);
    uint64_t begin_ns = fabric_now_ns(cluster.eps[0]);
    for (uint32_t i = 0; i < 2000; i++) {
        cluster.ops[0] = fabric_op_cas(fabric_addr_of(0, 64), &old, i % 2, 1 - i % 2);
        fabric_post(cluster.eps[0], cluster.ops, 1, &cluster.wait);
        settle(&cluster, 0);
        assert_int_equal(old, i % 2);
    }
    uint64_t pairs_per_s = 1000 * 1000000000ull / (fabric_now_ns(cluster.eps[0]) - begin_ns);
    assert_in_range(pairs_per_s, 270000, 285000);
    fabric_close(cluster.fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sixteen_at_most_are_outstanding),
        cmocka_unit_test(test_waiting_at_the_sender_keeps_the_order),
        cmocka_unit_test(test_cpu_time_of_a_batch),
        cmocka_unit_test(test_cpu_time_of_completions),
        cmocka_unit_test(test_work_of_the_engine_costs),
        cmocka_unit_test(test_threads_share_a_link),
        cmocka_unit_test(test_memory_node_replies_share_a_link),
        cmocka_unit_test(test_messages_to_another_receiver_come_later),
        cmocka_unit_test(test_busy_units_are_counted),
        cmocka_unit_test(test_open_connections_slow_down_reads),
        cmocka_unit_test(test_torn_atomics_lose_writes_of_their_word),
        cmocka_unit_test(test_torn_atomics_are_atomic_among_themselves),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_a_lone_client_sees_the_published_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
