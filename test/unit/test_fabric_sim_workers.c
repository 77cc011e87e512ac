/*
 * test_fabric_sim_workers.c - the simulator's promises about workers: one trace per seed, none forgotten, messages in
 * order.
 */
#include "fabric_sim_run.h"

/* ---- determinism ---- */

static void random_traffic(struct worker *worker)
{
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t count = 1 + (uint32_t)prng_below(&worker->ep->prng, 4);
        for (uint32_t i = 0; i < count; i++) {
            struct fabric_addr addr =
                fabric_addr_of((uint32_t)prng_below(&worker->ep->prng, 2), 64 * prng_below(&worker->ep->prng, 8));
            struct fabric_op kinds[] = {fabric_op_read(addr, worker->buffer, 200),
                                        fabric_op_write(addr, worker->buffer, 100),
                                        fabric_op_faa(addr, &worker->words[i], 1)};
            worker->ops[i] = kinds[prng_below(&worker->ep->prng, 3)];
        }
        (void)perform(worker, count);
        if (prng_below(&worker->ep->prng, 4) == 0) fabric_idle(worker->ep, fabric_now_ns(worker->ep) + 300);
    }
}

static uint64_t traffic_hash(uint64_t seed, bool torn)
{
    struct cluster cluster;
    void (*const bodies[])(struct worker *) = {random_traffic, random_traffic, random_traffic, random_traffic};
    setup(&cluster, seed);
    cluster.config.torn = torn;
    run(&cluster, 4, bodies);
    uint64_t hash = fabric_sim_trace_hash(cluster.fabric);
    fabric_close(cluster.fabric);
    return hash;
}

static void test_same_seed_same_trace(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_true(traffic_hash(seed, false) == traffic_hash(seed, false));
        assert_true(traffic_hash(seed, true) == traffic_hash(seed, true));
        assert_true(traffic_hash(seed, false) != traffic_hash(seed + 1, false));
    }
}

/* ---- workers ---- */

static void add_once(struct worker *worker) { (void)faa(worker, 128, 1); }

static void sleep_for_ever(struct worker *worker) { fabric_idle(worker->ep, UINT64_MAX); }

static void test_lost_wakeup_is_reported(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    start(&cluster, 2, (void (*const[])(struct worker *)){sleep_for_ever, add_once});
    assert_int_equal(finish(&cluster), CELLAR_INDETERMINATE);
    cluster.fabric->ops->wake(cluster.fabric, cluster.workers[0].ep, NULL);
    assert_int_equal(finish(&cluster), 0);
    fabric_close(cluster.fabric);
}

static void sleep_in_turns(struct worker *worker)
{
    for (;;) fabric_idle(worker->ep, fabric_now_ns(worker->ep) + 1000);
}

static void test_timers_alone_are_not_progress(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    start(&cluster, 1, (void (*const[])(struct worker *)){sleep_in_turns});
    assert_int_equal(finish(&cluster), CELLAR_INDETERMINATE);
    fabric_close(cluster.fabric);
}

static void test_steps_are_bounded(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    cluster.config.steps_max = 10;
    start(&cluster, 1, (void (*const[])(struct worker *)){random_traffic});
    assert_int_equal(finish(&cluster), CELLAR_INDETERMINATE);
    fabric_close(cluster.fabric);
}

/* Never idles: polls until its operation is done, and until the other worker has set a word that both see. */
static void spin(struct worker *worker)
{
    worker->ops[0] = fabric_op_faa(fabric_addr_of(0, 64), &worker->words[0], 1);
    fabric_post(worker->ep, worker->ops, 1, &worker->wait);
    while (worker->wait.pending) (void)fabric_poll(worker->ep);
    while (worker->cluster->workers[1].words[0] == 0) (void)fabric_poll(worker->ep);
    assert_true(fabric_now_ns(worker->ep) >= 5000);
}

static void set_word_later(struct worker *worker)
{
    fabric_idle(worker->ep, 5000);
    assert_true(fabric_now_ns(worker->ep) >= 5000);
    worker->words[0] = 1;
}

static void test_spinning_worker_gets_on(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 2, (void (*const[])(struct worker *)){spin, set_word_later});
    fabric_close(cluster.fabric);
}

static void wake_the_other(struct worker *worker)
{
    fabric_idle(worker->ep, 3000);
    worker->cluster->fabric->ops->wake(worker->cluster->fabric, worker->cluster->workers[1].ep, NULL);
}

static void sleep_until_woken(struct worker *worker)
{
    fabric_idle(worker->ep, 1000000);
    uint64_t now_ns = fabric_now_ns(worker->ep);
    assert_true(now_ns >= 3000 && now_ns < 4000);
    worker->cluster->fabric->ops->wake(worker->cluster->fabric, worker->ep, NULL);
    fabric_idle(worker->ep, UINT64_MAX); /* woken before it slept */
    fabric_idle(worker->ep, 9000);       /* which counts once */
    assert_true(fabric_now_ns(worker->ep) >= 9000);
}

static void test_wake_ends_idle(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 2, (void (*const[])(struct worker *)){wake_the_other, sleep_until_woken});
    fabric_close(cluster.fabric);
}

/* ---- messages ---- */

static void send_three(struct worker *worker)
{
    for (uint32_t i = 0; i < 3; i++) {
        worker->words[i] = 100 + i;
        worker->ops[i] = (struct fabric_op){
            .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(1, 0), .local = &worker->words[i], .size_bytes = 8};
    }
    assert_int_equal(perform(worker, 3), 0);
    worker->ops[0].addr = fabric_endpoint_addr(5, 5);
    assert_int_equal(perform(worker, 1), 1);
    assert_int_equal(worker->ops[0].status, CELLAR_UNREACHABLE);
}

static void receive_three(struct worker *worker)
{
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t word;
        while (!fabric_recv(worker->ep, &worker->message)) {
            fabric_idle(worker->ep, UINT64_MAX);
            (void)fabric_poll(worker->ep);
        }
        memcpy(&word, worker->message.bytes, 8);
        assert_int_equal(word, 100 + i);
        assert_int_equal(worker->message.from_cn, 0);
        assert_int_equal(worker->message.size_bytes, 8);
        if (i == 0) assert_true(near(fabric_now_ns(worker->ep), POST + 3 * OP + MESSAGE));
    }
}

static void test_messages_arrive_in_order(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 2, (void (*const[])(struct worker *)){send_three, receive_three});
    fabric_close(cluster.fabric);
}

static void fill_inbox(struct worker *worker)
{
    struct fabric_op send = {
        .kind = FABRIC_SEND, .addr = fabric_endpoint_addr(1, 0), .local = worker->buffer, .size_bytes = 64};
    uint32_t refusals = 0;
    for (uint32_t i = 0; i < FABRIC_INBOX_MESSAGES + 3; i++) {
        worker->ops[0] = send;
        refusals += perform(worker, 1);
    }
    assert_int_equal(refusals, 3);
    assert_int_equal(worker->ops[0].status, CELLAR_FULL);
}

static void do_nothing(struct worker *worker) { (void)worker; }

static void test_full_inbox_refuses(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 2, (void (*const[])(struct worker *)){fill_inbox, do_nothing});
    fabric_close(cluster.fabric);
}

/* ---- the rest ---- */

/* An endpoint without a worker, used from outside: poll and idle run the cluster. */
static void test_use_from_outside(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    start(&cluster, 0, NULL);
    struct worker *worker = &cluster.workers[0];
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 0, 0, &worker->ep, NULL), 0);
    assert_int_equal(faa(worker, 64, 3), 0);
    fabric_post(worker->ep, worker->ops, 1, &worker->wait);
    while (worker->wait.pending) (void)fabric_poll(worker->ep);
    assert_int_equal(worker->words[0], 3);
    fabric_idle(worker->ep, 50000);
    assert_true(near(fabric_now_ns(worker->ep), 50000));
    fabric_endpoint_close(worker->ep);
    fabric_close(cluster.fabric);
}

static void test_bad_configuration_is_refused(void **state)
{
    struct fabric_sim_config good, bad;
    struct fabric *fabric;
    struct cellar_error error;
    fabric_sim_config_default(&good);
    good.mn_bytes = 4096;
    assert_int_equal(fabric_sim_open(&good, &fabric, &error), 0);
    fabric_close(fabric);
    bad = good, bad.mn_count = 0;
    assert_int_equal(fabric_sim_open(&bad, &fabric, &error), CELLAR_INVALID);
    assert_non_null(strstr(error.text, "1 to 64"));
    bad = good, bad.cn_count = 256;
    assert_int_equal(fabric_sim_open(&bad, &fabric, &error), CELLAR_INVALID);
    bad = good, bad.mn_bytes = 100;
    assert_int_equal(fabric_sim_open(&bad, &fabric, &error), CELLAR_INVALID);
    bad = good, bad.profile.rtt_ns = UINT32_MAX;
    assert_int_equal(fabric_sim_open(&bad, &fabric, &error), CELLAR_INVALID);
    assert_null(fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_seed_same_trace),
        cmocka_unit_test(test_lost_wakeup_is_reported),
        cmocka_unit_test(test_timers_alone_are_not_progress),
        cmocka_unit_test(test_steps_are_bounded),
        cmocka_unit_test(test_spinning_worker_gets_on),
        cmocka_unit_test(test_wake_ends_idle),
        cmocka_unit_test(test_messages_arrive_in_order),
        cmocka_unit_test(test_full_inbox_refuses),
        cmocka_unit_test(test_use_from_outside),
        cmocka_unit_test(test_bad_configuration_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
