/*
 * test_sim_explore.c - the explorer itself: it visits each schedule of a bounded tree once, finds planted races,
 * replays what it found, and ends with nothing found where there is no race.
 */
#include "sim_explore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* ---- a tree of choices without a fabric ---- */

struct tree {
    uint32_t visits[3][2][2];
    uint32_t runs;
    bool fail_at_end, drift;
};

/* Three ways; the first of them leads to 2 x 2 further ones, the others to 2. */
static const char *walk_tree(void *arg, fabric_sim_choose_fn choose, void *choose_arg)
{
    struct tree *tree = arg;
    const struct fabric_sim_choice choices[3] = {{0}};
    uint32_t a = choose(choose_arg, choices, 3);
    uint32_t b = choose(choose_arg, choices, tree->drift && tree->runs > 0 ? 3 : 2);
    uint32_t c = a == 0 ? choose(choose_arg, choices, 2) : 0;
    tree->runs++;
    tree->visits[a][b % 2][c]++;
    return tree->fail_at_end && a == 2 && b == 1 ? "the last leaf" : NULL;
}

static uint64_t leaves_within(uint32_t max_preemptions)
{
    struct tree tree = {0};
    struct sim_explore_config config = {
        .scenario = walk_tree, .arg = &tree, .max_preemptions = max_preemptions, .max_schedules = 100};
    struct sim_explore_result result;
    assert_int_equal(sim_explore_run(&config, &result), 0);
    assert_true(result.complete);
    assert_int_equal(result.schedules, tree.runs);
    for (uint32_t i = 0; i < 12; i++) assert_true((&tree.visits[0][0][0])[i] <= 1);
    return result.schedules;
}

static void visits_each_leaf_once(void **state)
{
    assert_int_equal(leaves_within(0), 1);
    assert_int_equal(leaves_within(1), 5); /* none, or one of: a = 1, a = 2, b = 1, c = 1 */
    assert_int_equal(leaves_within(2), 8);
    assert_int_equal(leaves_within(3), 8);
}

static void stops_at_the_limit(void **state)
{
    struct tree tree = {0};
    struct sim_explore_config config = {.scenario = walk_tree, .arg = &tree, .max_preemptions = 3, .max_schedules = 7};
    struct sim_explore_result result;
    assert_int_equal(sim_explore_run(&config, &result), 0);
    assert_false(result.complete);
    assert_int_equal(result.schedules, 7);
}

static void reports_and_replays_a_failure(void **state)
{
    struct tree tree = {.fail_at_end = true};
    struct sim_explore_config config = {
        .scenario = walk_tree, .arg = &tree, .max_preemptions = 3, .max_schedules = 100};
    struct sim_explore_result result;
    assert_int_equal(sim_explore_run(&config, &result), CELLAR_CORRUPT);
    assert_string_equal(result.verdict, "the last leaf");
    assert_string_equal(result.failing, "0:2 1:1");
    assert_int_equal(sim_explore_replay(&config, "0:2 1:1", &result), CELLAR_CORRUPT);
    assert_int_equal(sim_explore_replay(&config, "0:2", &result), 0);
    assert_int_equal(sim_explore_replay(&config, "0:3", &result), CELLAR_CORRUPT); /* there is no such candidate */
    assert_string_equal(result.verdict, "the scenario does not follow its choices: it is not deterministic");
    const char *bad[] = {"x", "0", "0:", "0:0", "1:1 0:1", "0:1,1:1", "99999999999:1"};
    for (uint32_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sim_explore_replay(&config, bad[i], &result), CELLAR_INVALID);
    }
    config.max_preemptions = SIM_EXPLORE_PREEMPTIONS_MAX + 1;
    assert_int_equal(sim_explore_run(&config, &result), CELLAR_INVALID);
}

static void notices_a_scenario_that_drifts(void **state)
{
    struct tree tree = {.drift = true};
    struct sim_explore_config config = {
        .scenario = walk_tree, .arg = &tree, .max_preemptions = 3, .max_schedules = 100};
    struct sim_explore_result result;
    assert_int_equal(sim_explore_run(&config, &result), CELLAR_CORRUPT);
    assert_string_equal(result.verdict, "the scenario does not follow its choices: it is not deterministic");
}

/* ---- two workers that count up one remote word ---- */

enum counting { READ_THEN_WRITE, CAS_LOOP, LOCKED, LOCKED_NO_WAKE };

struct counters {
    enum counting how;
    struct fabric *fabric;
    struct worker {
        struct counters *counters;
        struct fabric_ep *ep;
        struct fabric_op op;
        struct fabric_wait wait;
        uint64_t old, word;
        bool waits;
    } workers[2];
    uint32_t running;
    bool torn;
};

#define WORD_OFFSET 64
#define LOCK_OFFSET 128

static uint64_t perform(struct worker *worker, struct fabric_op op)
{
    worker->op = op;
    fabric_post(worker->ep, &worker->op, 1, &worker->wait);
    while (worker->wait.pending) {
        if (!fabric_poll(worker->ep)) fabric_idle(worker->ep, UINT64_MAX);
    }
    return worker->old;
}

static void add_unlocked(struct worker *worker)
{
    (void)perform(worker, fabric_op_read(fabric_addr_of(0, WORD_OFFSET), &worker->word, 8));
    worker->word++;
    (void)perform(worker, fabric_op_write(fabric_addr_of(0, WORD_OFFSET), &worker->word, 8));
}

static void add_by_cas(struct worker *worker)
{
    struct fabric_addr addr = fabric_addr_of(0, WORD_OFFSET);
    (void)perform(worker, fabric_op_read(addr, &worker->word, 8));
    while (perform(worker, fabric_op_cas(addr, &worker->old, worker->word, worker->word + 1)) != worker->word)
        worker->word = worker->old;
}

static void wake_waiter(struct worker *other)
{
    if (!other->waits) return;
    other->waits = false;
    other->counters->fabric->ops->wake(other->counters->fabric, other->ep, NULL);
}

/*
 * The loser of the lock sleeps until the winner wakes it; the planted bug looks for sleepers before it lets the lock
 * go.
 */
static void add_locked(struct worker *worker, bool wake_early)
{
    struct fabric_addr lock = fabric_addr_of(0, LOCK_OFFSET);
    struct worker *other = &worker->counters->workers[worker == &worker->counters->workers[0]];
    while (perform(worker, fabric_op_cas(lock, &worker->old, 0, 1)) != 0) {
        worker->waits = true;
        if (perform(worker, fabric_op_faa(lock, &worker->old, 0)) == 0)
            continue; /* once more, now that it is announced */
        while (worker->waits) fabric_idle(worker->ep, UINT64_MAX);
    }
    worker->waits = false;
    add_unlocked(worker);
    if (wake_early) wake_waiter(other);
    (void)perform(worker, fabric_op_faa(lock, &worker->old, ~0ull));
    if (!wake_early) wake_waiter(other);
}

static void count_up(void *arg)
{
    struct worker *worker = arg;
    if (worker->ep->cn == 1) fabric_idle(worker->ep, 100000); /* by time alone, one after the other */
    switch (worker->counters->how) {
    case READ_THEN_WRITE:
        add_unlocked(worker);
        break;
    case CAS_LOOP:
        add_by_cas(worker);
        break;
    case LOCKED:
    case LOCKED_NO_WAKE:
        add_locked(worker, worker->counters->how == LOCKED_NO_WAKE);
        break;
    }
    worker->counters->running--;
}

static uint64_t read_bulk(struct worker *worker)
{
    worker->ep->bulk = true;
    (void)perform(worker, fabric_op_read(fabric_addr_of(0, WORD_OFFSET), &worker->word, 8));
    return worker->word;
}

static const char *run_counters(void *arg, fabric_sim_choose_fn choose, void *choose_arg)
{
    struct counters *counters = arg;
    struct fabric_sim_config config;
    memset(counters->workers, 0, sizeof counters->workers);
    fabric_sim_config_default(&config);
    config.cn_count = 2;
    config.mn_bytes = 4096;
    config.torn = counters->torn;
    config.choose = choose;
    config.choose_arg = choose_arg;
    if (fabric_sim_open(&config, &counters->fabric, NULL) != 0) return "no simulator";
    const char *verdict =
        fabric_register_local(counters->fabric, counters, sizeof *counters) == 0 ? NULL : "not registered";
    counters->running = 2;
    for (uint32_t i = 0; !verdict && i < 2; i++) {
        struct worker *worker = &counters->workers[i];
        worker->counters = counters;
        if (fabric_endpoint_open(counters->fabric, i, 0, &worker->ep, NULL) != 0) verdict = "no endpoint";
        if (!verdict && counters->fabric->ops->spawn(counters->fabric, worker->ep, count_up, worker) != 0)
            verdict = "no worker";
    }
    if (!verdict && counters->fabric->ops->wait(counters->fabric, &counters->running, UINT64_MAX) != 0)
        verdict = "a worker is forgotten";
    if (!verdict && read_bulk(&counters->workers[0]) != 2) verdict = "an update is lost";
    fabric_close(counters->fabric);
    return verdict;
}

static int explore_counters(enum counting how, uint32_t max_preemptions, struct sim_explore_result *result)
{
    struct counters counters = {.how = how};
    struct sim_explore_config config = {
        .scenario = run_counters, .arg = &counters, .max_preemptions = max_preemptions, .max_schedules = 1000000};
    int code = sim_explore_run(&config, result);
    printf("%llu schedules of at most %llu choices, %s %s\n", (unsigned long long)result->schedules,
           (unsigned long long)result->choices_max, result->complete ? "complete" : result->verdict, result->failing);
    if (code != 0) {
        struct sim_explore_result again;
        assert_int_equal(sim_explore_replay(&config, result->failing, &again), code);
        assert_string_equal(again.verdict, result->verdict);
        assert_string_equal(again.failing, result->failing);
    }
    return code;
}

static void finds_a_lost_update(void **state)
{
    struct sim_explore_result result;
    assert_int_equal(explore_counters(READ_THEN_WRITE, 2, &result), CELLAR_CORRUPT);
    assert_string_equal(result.verdict, "an update is lost");
}

/* The sampler finds it as well, and its schedule replays; the same seed finds the same one. */
static void samples_find_a_lost_update(void **state)
{
    struct counters counters = {.how = READ_THEN_WRITE};
    struct sim_explore_config config = {.scenario = run_counters, .arg = &counters, .max_preemptions = 4};
    struct sim_explore_result result, again;
    assert_int_equal(sim_explore_sample(&config, 7, 10000, &result), CELLAR_CORRUPT);
    assert_string_equal(result.verdict, "an update is lost");
    assert_int_equal(sim_explore_sample(&config, 7, 10000, &again), CELLAR_CORRUPT);
    assert_string_equal(again.failing, result.failing);
    assert_int_equal(sim_explore_replay(&config, result.failing, &again), CELLAR_CORRUPT);
    counters.how = CAS_LOOP;
    assert_int_equal(sim_explore_sample(&config, 7, 1000, &result), 0);
    assert_int_equal(result.schedules, 1000);
    assert_false(result.complete);
    config.max_preemptions = 0;
    assert_int_equal(sim_explore_sample(&config, 7, 1000, &result), CELLAR_INVALID);
}

static void finds_nothing_where_nothing_is(void **state)
{
    struct sim_explore_result result;
    assert_int_equal(explore_counters(CAS_LOOP, SIM_EXPLORE_PREEMPTIONS_MAX, &result), 0); /* with no bound at all */
    assert_true(result.complete);
    assert_int_equal(explore_counters(LOCKED, 4, &result), 0);
    assert_true(result.complete);
}

static void finds_a_lost_wakeup(void **state)
{
    struct sim_explore_result result;
    assert_int_equal(explore_counters(LOCKED_NO_WAKE, 4, &result), CELLAR_CORRUPT);
    assert_string_equal(result.verdict, "a worker is forgotten");
}

/* ---- what the contract lets the network do ---- */

struct stripes {
    struct counters counters;
    uint8_t from[192], to[192];
    uint32_t patterns; /* bit i: lines (new, old) seen as the bits of i */
};

static void write_stripes(void *arg)
{
    struct stripes *stripes = arg;
    memset(stripes->from, 1, sizeof stripes->from);
    (void)perform(&stripes->counters.workers[0],
                  fabric_op_write(fabric_addr_of(0, WORD_OFFSET), stripes->from, sizeof stripes->from));
    stripes->counters.running--;
}

static void read_stripes(void *arg)
{
    struct stripes *stripes = arg;
    (void)perform(&stripes->counters.workers[1],
                  fabric_op_read(fabric_addr_of(0, WORD_OFFSET), stripes->to, sizeof stripes->to));
    stripes->patterns |= 1u << (stripes->to[0] | stripes->to[64] << 1 | stripes->to[128] << 2);
    stripes->counters.running--;
}

static const char *run_stripes(void *arg, fabric_sim_choose_fn choose, void *choose_arg)
{
    struct stripes *stripes = arg;
    struct fabric_sim_config config;
    fabric_sim_config_default(&config);
    config.cn_count = 2;
    config.mn_bytes = 4096;
    config.torn = true;
    config.choose = choose;
    config.choose_arg = choose_arg;
    if (fabric_sim_open(&config, &stripes->counters.fabric, NULL) != 0) return "no simulator";
    struct fabric *fabric = stripes->counters.fabric;
    memset(stripes->counters.workers, 0, sizeof stripes->counters.workers);
    stripes->counters.running = 2;
    int failed = fabric_register_local(fabric, stripes, sizeof *stripes);
    for (uint32_t i = 0; i < 2; i++) {
        failed |= fabric_endpoint_open(fabric, i, 0, &stripes->counters.workers[i].ep, NULL);
        failed |=
            fabric->ops->spawn(fabric, stripes->counters.workers[i].ep, i == 0 ? write_stripes : read_stripes, stripes);
    }
    failed |= fabric->ops->wait(fabric, &stripes->counters.running, UINT64_MAX);
    fabric_close(fabric);
    return failed ? "did not end" : NULL;
}

/* A READ of three lines beside a WRITE of them: all eight mixtures are possible, since READ lines come in any order. */
static void tears_lines_in_every_way(void **state)
{
    struct stripes stripes = {0};
    struct sim_explore_config config = {
        .scenario = run_stripes, .arg = &stripes, .max_preemptions = 8, .max_schedules = 1000000};
    struct sim_explore_result result;
    assert_int_equal(sim_explore_run(&config, &result), 0);
    assert_true(result.complete);
    assert_int_equal(stripes.patterns, 0xff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_each_leaf_once),
        cmocka_unit_test(stops_at_the_limit),
        cmocka_unit_test(reports_and_replays_a_failure),
        cmocka_unit_test(notices_a_scenario_that_drifts),
        cmocka_unit_test(finds_a_lost_update),
        cmocka_unit_test(samples_find_a_lost_update),
        cmocka_unit_test(finds_nothing_where_nothing_is),
        cmocka_unit_test(finds_a_lost_wakeup),
        cmocka_unit_test(tears_lines_in_every_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
