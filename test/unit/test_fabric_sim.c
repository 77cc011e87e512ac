/*
 * test_fabric_sim.c - the simulator's promises about operations: exact virtual times, torn and reordered only as the
 * contract allows, failures by kind.
 */
#include "fabric_sim_run.h"

/* ---- times ---- */

static void time_lone(struct worker *worker)
{
    uint64_t start_ns = fabric_now_ns(worker->ep);
    worker->ops[0] = fabric_op_read(fabric_addr_of(0, 128), worker->buffer, 64);
    assert_int_equal(perform(worker, 1), 0);
    uint64_t read_ns = fabric_now_ns(worker->ep);
    assert_true(near(read_ns - start_ns, RTT + SERVICE + POST + OP));
    (void)faa(worker, 128, 1);
    assert_true(near(fabric_now_ns(worker->ep) - read_ns, RTT + ATOMIC + POST + OP));
}

static void test_lone_operation_takes_its_time(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 1, (void (*const[])(struct worker *)){time_lone});
    assert_int_equal(fabric_sim_ops(cluster.fabric), 2);
    fabric_close(cluster.fabric);
}

static void faa_same(struct worker *worker)
{
    (void)faa(worker, 256, 1);
    worker->times[0] = fabric_now_ns(worker->ep);
}

static void faa_apart(struct worker *worker)
{
    (void)faa(worker, 256 + 8 * worker->index, 1);
    worker->times[0] = fabric_now_ns(worker->ep);
}

static uint64_t last_of_eight(void (*body)(struct worker *worker))
{
    struct cluster cluster;
    uint64_t last_ns = 0;
    setup(&cluster, 1);
    run(&cluster, 8, (void (*const[])(struct worker *)){body, body, body, body, body, body, body, body});
    for (uint32_t i = 0; i < 8; i++)
        last_ns = cluster.workers[i].times[0] > last_ns ? cluster.workers[i].times[0] : last_ns;
    fabric_close(cluster.fabric);
    return last_ns;
}

static void test_atomics_of_one_word_wait_for_each_other(void **state)
{
    assert_true(near(last_of_eight(faa_same), RTT + 8 * ATOMIC + POST + OP));
    assert_true(near(last_of_eight(faa_apart), RTT + ATOMIC + POST + OP));
}

static void batch_in_order(struct worker *worker)
{
    worker->words[1] = 7;
    worker->ops[0] = fabric_op_faa(fabric_addr_of(0, 64), &worker->words[0], 5);
    worker->ops[1] = fabric_op_write(fabric_addr_of(0, 128), &worker->words[1], 8);
    worker->ops[2] = fabric_op_read(fabric_addr_of(0, 128), &worker->words[2], 8);
    worker->ops[3] = fabric_op_faa(fabric_addr_of(0, 64), &worker->words[3], 0);
    assert_int_equal(perform(worker, 4), 0);
    assert_int_equal(worker->words[0], 0);
    assert_int_equal(worker->words[2], 7);
    assert_int_equal(worker->words[3], 5);
    assert_true(near(fabric_now_ns(worker->ep), RTT + 2 * ATOMIC + POST + 4 * OP));
}

static void test_batch_executes_in_order(void **state)
{
    struct cluster cluster;
    for (uint64_t seed = 1; seed < 50; seed++) {
        setup(&cluster, seed);
        run(&cluster, 1, (void (*const[])(struct worker *)){batch_in_order});
        fabric_close(cluster.fabric);
    }
}

/* ---- tearing and reordering ---- */

#define STRIPES 4 /* lines */

static void stripe_writer(struct worker *worker)
{
    for (uint64_t round = 1; round <= 60; round++) {
        memset(worker->buffer, (int)round, STRIPES * 64);
        worker->ops[0] = fabric_op_write(fabric_addr_of(0, 64), worker->buffer, STRIPES * 64);
        assert_int_equal(perform(worker, 1), 0);
    }
}

/*
 * Counts in words[1] the READs with unequal lines, in words[2] those with a line of unequal words, in [3] torn words.
 */
static void stripe_reader(struct worker *worker)
{
    for (uint32_t round = 0; round < 60; round++) {
        bool lines_differ = false, words_differ = false;
        worker->ops[0] = fabric_op_read(fabric_addr_of(0, 64), worker->buffer, STRIPES * 64);
        assert_int_equal(perform(worker, 1), 0);
        for (uint32_t at = 0; at < STRIPES * 64; at++) {
            lines_differ |= worker->buffer[at] != worker->buffer[0];
            words_differ |= worker->buffer[at] != worker->buffer[at / 64 * 64];
            worker->words[3] += worker->buffer[at] != worker->buffer[at / 8 * 8];
        }
        worker->words[1] += lines_differ;
        worker->words[2] += words_differ;
    }
}

static void stripes(bool torn, bool line_atomic, uint64_t sums[4])
{
    memset(sums, 0, 4 * sizeof *sums);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct cluster cluster;
        setup(&cluster, seed);
        cluster.config.torn = torn;
        cluster.config.line_atomic = line_atomic;
        run(&cluster, 2, (void (*const[])(struct worker *)){stripe_writer, stripe_reader});
        for (uint32_t i = 1; i < 4; i++) sums[i] += cluster.workers[1].words[i];
        fabric_close(cluster.fabric);
    }
}

static void test_tears_as_the_contract_allows(void **state)
{
    uint64_t sums[4];
    stripes(false, true, sums);
    assert_int_equal(sums[1] + sums[2] + sums[3], 0);
    stripes(true, true, sums);
    assert_true(sums[1] > 0);
    assert_int_equal(sums[2] + sums[3], 0);
    stripes(true, false, sums);
    assert_true(sums[2] > 0);
    assert_int_equal(sums[3], 0);
}

/* A READ and a WRITE of the same word in one batch: without a fence the WRITE may come first. */
static void read_then_write(struct worker *worker)
{
    for (uint64_t round = 1; round <= 40; round++) {
        worker->words[1] = round;
        worker->ops[0] = fabric_op_read(fabric_addr_of(0, 64), &worker->words[0], 8);
        worker->ops[1] = fabric_op_write(fabric_addr_of(0, 64), &worker->words[1], 8);
        worker->ops[1].flags = (uint8_t)worker->cluster->workers[1].words[0];
        assert_int_equal(perform(worker, 2), 0);
        worker->words[2] += worker->words[0] == round;
    }
}

static uint64_t passed(bool torn, uint8_t flags)
{
    uint64_t count = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct cluster cluster;
        setup(&cluster, seed);
        cluster.config.torn = torn;
        cluster.workers[1].words[0] = flags;
        run(&cluster, 1, (void (*const[])(struct worker *)){read_then_write});
        count += cluster.workers[0].words[2];
        fabric_close(cluster.fabric);
    }
    return count;
}

static void test_write_passes_read_unless_fenced(void **state)
{
    assert_int_equal(passed(false, 0), 0);
    assert_true(passed(true, 0) > 0);
    assert_int_equal(passed(true, FABRIC_FENCE), 0);
}

/* ---- operations ---- */

static void masked_cas(struct worker *worker)
{
    uint64_t *old = &worker->words[0];
    worker->words[1] = 0x1122334455667788;
    worker->ops[0] = fabric_op_write(fabric_addr_of(1, 64), &worker->words[1], 8);
    worker->ops[1] = fabric_op_masked_cas(fabric_addr_of(1, 64), old, 0x88, 0xff, 0xaa00, 0xff00);
    worker->ops[2] = fabric_op_masked_cas(fabric_addr_of(1, 64), old, 0x89, 0xff, 0, ~0ull);
    worker->ops[3] = fabric_op_cas(fabric_addr_of(1, 64), old, 0x112233445566aa88, 5);
    worker->ops[4] = fabric_op_cas(fabric_addr_of(1, 64), old, 6, 7);
    for (uint32_t i = 1; i < 5; i++) worker->ops[i].local = &worker->words[i + 1];
    assert_int_equal(perform(worker, 5), 0);
    assert_true(worker->words[2] == 0x1122334455667788);
    assert_true(worker->words[3] == 0x112233445566aa88);
    assert_true(worker->words[4] == 0x112233445566aa88);
    assert_int_equal(worker->words[5], 5);
}

static void test_masked_cas(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 1, (void (*const[])(struct worker *)){masked_cas});
    fabric_close(cluster.fabric);
}

static void refused(struct worker *worker)
{
    uint64_t end = worker->cluster->fabric->mn_bytes;
    static uint64_t unregistered[8];
    struct fabric_op bad[] = {
        fabric_op_read(fabric_addr_of(2, 0), worker->buffer, 8),
        fabric_op_read(fabric_addr_of(0, end - 8), worker->buffer, 16),
        fabric_op_write(fabric_addr_of(0, end), worker->buffer, 1),
        fabric_op_read(fabric_addr_of(0, 0), worker->buffer, 0),
        fabric_op_faa(fabric_addr_of(0, 4), &worker->words[0], 1),
        fabric_op_faa(fabric_addr_of(0, end), &worker->words[0], 1),
        fabric_op_read(fabric_addr_of(0, 0), unregistered, 64),
        fabric_op_read(fabric_addr_of(0, ~0ull >> 16), worker->buffer, 8),
        {.kind = FABRIC_SEND, .size_bytes = 65, .local = worker->buffer},
        {.kind = FABRIC_KINDS, .size_bytes = 8, .local = worker->buffer},
    };
    const uint32_t count = sizeof bad / sizeof *bad;
    memcpy(worker->ops, bad, sizeof bad);
    assert_int_equal(perform(worker, count), count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(worker->ops[i].status, CELLAR_INVALID);
    worker->ep->bulk = true;
    assert_int_equal(perform(worker, count), count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(worker->ops[i].status, CELLAR_INVALID);
}

static void test_bad_operations_are_refused(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 1, (void (*const[])(struct worker *)){refused});
    assert_int_equal(fabric_sim_ops(cluster.fabric), 0);
    fabric_close(cluster.fabric);
}

/* Local memory may be registered in pieces, in any order, twice, and be used across pieces that touch. */
static void test_local_memory_is_known_by_range(void **state)
{
    static uint8_t area[1000];
    const uint32_t pieces[][2] = {{500, 100}, {100, 100}, {300, 100}, {200, 100}, {350, 160}, {500, 10}};
    struct cluster cluster;
    setup(&cluster, 1);
    start(&cluster, 0, NULL);
    struct fabric_ep *ep;
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 0, 0, &ep, NULL), 0);
    ep->bulk = true;
    for (uint32_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        assert_int_equal(fabric_register_local(cluster.fabric, area + pieces[i][0], pieces[i][1]), 0);
    }
    assert_int_equal(fabric_register_local(cluster.fabric, area, 0), CELLAR_INVALID);
    assert_int_equal(fabric_register_local(cluster.fabric, area, UINT64_MAX), CELLAR_INVALID);
    const struct {
        uint32_t from, bytes, failures;
    } cases[] = {{100, 500, 0}, {99, 2, 1}, {100, 501, 1}, {599, 1, 0}, {600, 1, 1}, {299, 202, 0}, {0, 10, 1}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fabric_op op = fabric_op_read(fabric_addr_of(0, 0), area + cases[i].from, cases[i].bytes);
        struct fabric_wait wait = {0};
        fabric_post(ep, &op, 1, &wait);
        assert_int_equal(wait.failed, cases[i].failures);
    }
    fabric_close(cluster.fabric);
}

static void bulk(struct worker *worker)
{
    worker->ep->bulk = true;
    uint64_t start_ns = fabric_now_ns(worker->ep);
    for (uint64_t i = 0; i < 1000; i++) {
        worker->ops[0] = fabric_op_faa(fabric_addr_of(0, 64), &worker->words[0], 1);
        fabric_post(worker->ep, worker->ops, 1, &worker->wait);
        assert_int_equal(worker->wait.pending, 0);
        assert_int_equal(worker->words[0], i);
    }
    assert_true(fabric_now_ns(worker->ep) == start_ns);
}

static void test_bulk_takes_no_time(void **state)
{
    struct cluster cluster;
    setup(&cluster, 1);
    run(&cluster, 1, (void (*const[])(struct worker *)){bulk});
    fabric_close(cluster.fabric);
}

/* ---- failures ---- */

/* The index-th operation meets the fault that the cluster's last worker has in its words. */
static enum fabric_sim_fault fail_one(void *arg, uint64_t index, const struct fabric_ep *ep, const struct fabric_op *op)
{
    const struct cluster *cluster = arg;
    const struct worker *plan = &cluster->workers[WORKERS_MAX - 1];
    return index == plan->words[0] ? (enum fabric_sim_fault)plan->words[1] : FABRIC_SIM_NONE;
}

/* Four additions to each node in one batch, alternating. */
static void eight_faa(struct worker *worker)
{
    for (uint32_t i = 0; i < 8; i++) {
        worker->words[i] = 99;
        worker->ops[i] = fabric_op_faa(fabric_addr_of(i % 2, 64), &worker->words[i], 1);
    }
    (void)perform(worker, 8);
}

static void add_nothing(struct worker *worker)
{
    worker->ep->bulk = true;
    for (uint32_t node = 0; node < 2; node++) {
        worker->ops[8 + node] = fabric_op_faa(fabric_addr_of(node, 64), &worker->words[8 + node], 0);
        fabric_post(worker->ep, &worker->ops[8 + node], 1, &worker->wait);
    }
}

/*
 * What executes of a batch at one node is a prefix, after a lost reply none comes, and the other node knows nothing
 * of it.
 */
static void test_injected_faults(void **state)
{
    for (uint64_t index = 0; index < 8; index++) {
        for (int fault = FABRIC_SIM_NOT_RUN; fault <= FABRIC_SIM_REPLY_LOST; fault++) {
            struct cluster cluster;
            struct worker *worker = &cluster.workers[0];
            setup(&cluster, 1 + index);
            cluster.workers[WORKERS_MAX - 1].words[0] = index;
            cluster.workers[WORKERS_MAX - 1].words[1] = (uint64_t)fault;
            cluster.config.fault = fail_one;
            cluster.config.fault_arg = &cluster;
            run(&cluster, 1, (void (*const[])(struct worker *)){eight_faa});
            add_nothing(worker);
            uint32_t failed = 0, unknown = 0;
            for (uint32_t i = 0; i < 8; i++) {
                bool behind = i >= 2 && worker->ops[i - 2].status != 0;
                if (behind) assert_int_equal(worker->ops[i].status, worker->ops[i - 2].status);
                if (worker->ops[i].status == 0) assert_int_equal(worker->words[i], i / 2);
                if (worker->ops[i].status != 0) assert_int_equal(worker->words[i], 99);
                failed += worker->ops[i].status == CELLAR_UNREACHABLE;
                unknown += worker->ops[i].status == CELLAR_INDETERMINATE;
            }
            assert_true(fault == FABRIC_SIM_NOT_RUN ? failed > 0 && unknown == 0 : failed == 0 && unknown > 0);
            assert_int_equal(worker->words[8] + worker->words[9], 8 - failed);
            fabric_close(cluster.fabric);
        }
    }
}

static void kill_and_fence(struct worker *worker)
{
    struct fabric *fabric = worker->cluster->fabric;
    struct fabric_control kill = {.kind = FABRIC_NODE_KILL, .node = 1}, fence = {.kind = FABRIC_CN_EVICT, .cn = 0};
    worker->ops[0] = fabric_op_faa(fabric_addr_of(1, 64), &worker->words[0], 1);
    worker->ops[1] = fabric_op_faa(fabric_addr_of(0, 64), &worker->words[1], 1);
    fabric_post(worker->ep, worker->ops, 2, &worker->wait);
    assert_int_equal(fabric->ops->control(fabric, &kill, NULL), 0); /* before it has arrived */
    assert_int_equal(perform(worker, 0), 1);
    assert_int_equal(worker->ops[0].status, CELLAR_UNREACHABLE);
    assert_int_equal(worker->ops[1].status, 0);
    fabric_post(worker->ep, &worker->ops[1], 1, &worker->wait);
    assert_int_equal(fabric->ops->control(fabric, &fence, NULL), 0);
    assert_int_equal(perform(worker, 0), 1);
    assert_int_equal(worker->ops[1].status, CELLAR_FENCED);
}

static void test_killed_node_and_fenced_cn(void **state)
{
    struct cluster cluster;
    uint64_t word = 0;
    setup(&cluster, 1);
    run(&cluster, 1, (void (*const[])(struct worker *)){kill_and_fence});
    struct fabric_ep *other;
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 1, 0, &other, NULL), 0);
    other->bulk = true;
    struct fabric_op op = fabric_op_faa(fabric_addr_of(0, 64), &word, 0);
    struct fabric_wait wait = {0};
    fabric_post(other, &op, 1, &wait);
    assert_int_equal(word, 1); /* what was fenced has not run */
    struct fabric_control bad_node = {.kind = FABRIC_NODE_KILL, .node = 2},
                          bad_cn = {.kind = FABRIC_CN_EVICT, .cn = WORKERS_MAX};
    assert_int_equal(cluster.fabric->ops->control(cluster.fabric, &bad_node, NULL), CELLAR_INVALID);
    assert_int_equal(cluster.fabric->ops->control(cluster.fabric, &bad_cn, NULL), CELLAR_INVALID);
    assert_int_equal(fabric_endpoint_open(cluster.fabric, 1, 0, &other, NULL), CELLAR_EXISTS);
    assert_int_equal(fabric_endpoint_open(cluster.fabric, WORKERS_MAX, 0, &other, NULL), CELLAR_INVALID);
    fabric_close(cluster.fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lone_operation_takes_its_time),
        cmocka_unit_test(test_atomics_of_one_word_wait_for_each_other),
        cmocka_unit_test(test_batch_executes_in_order),
        cmocka_unit_test(test_tears_as_the_contract_allows),
        cmocka_unit_test(test_write_passes_read_unless_fenced),
        cmocka_unit_test(test_masked_cas),
        cmocka_unit_test(test_bad_operations_are_refused),
        cmocka_unit_test(test_local_memory_is_known_by_range),
        cmocka_unit_test(test_bulk_takes_no_time),
        cmocka_unit_test(test_injected_faults),
        cmocka_unit_test(test_killed_node_and_fenced_cn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
