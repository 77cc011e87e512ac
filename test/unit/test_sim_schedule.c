/*
 * test_sim_schedule.c - the choosers: PCT finds order bugs of known depth as often as it promises, in a toy of
 * threads and on the fabric; no flow starves, backoffs end, what is far ahead waits; equal seeds, equal schedules.
 */
#include "sim_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* ---- a toy: threads that take steps, and an order of some of them that is a bug ---- */

#define THREADS_MAX 4
#define LENGTH 10 /* steps of a thread */

struct toy {
    uint32_t threads;
    struct toy_step {
        uint32_t thread, step;
    } order[8]; /* the bug: these are taken in this order, ... */
    uint32_t order_count;
};

static bool toy_may_run(const uint32_t *done, uint32_t thread) { return done[thread] < LENGTH; }

/* ... which this schedule does or does not. */
static bool toy_fails(const struct toy *toy, struct sim_schedule_state *state)
{
    uint32_t done[THREADS_MAX] = {0}, seen = 0;
    for (;;) {
        struct fabric_sim_choice choices[THREADS_MAX];
        uint32_t count = 0;
        for (uint32_t thread = 0; thread < toy->threads; thread++)
            if (toy_may_run(done, thread))
                choices[count++] = (struct fabric_sim_choice){.kind = FABRIC_SIM_RUN, .flow = thread};
        if (count == 0) return seen == toy->order_count;
        uint32_t choice = count > 1 ? state->choose(state, choices, count) : 0;
        assert_true(choice < count);
        uint32_t thread = choices[choice].flow;
        for (uint32_t i = 0; i < toy->order_count; i++) {
            if (toy->order[i].thread != thread || toy->order[i].step != done[thread]) continue;
            if (i != seen) return false;
            seen++;
        }
        done[thread]++;
    }
}

static uint32_t toy_failures(const struct toy *toy, uint32_t depth, uint32_t runs)
{
    uint32_t failures = 0;
    for (uint32_t seed = 1; seed <= runs; seed++) {
        struct sim_schedule_state state;
        sim_schedule_pct(&state, seed, depth, (uint64_t)toy->threads * LENGTH, false);
        failures += toy_fails(toy, &state);
    }
    return failures;
}

/* At least as many as 1 / (n * k^(d-1)) of the runs with the bug's depth d; none with less. */
static void check_depth(const struct toy *toy, uint32_t depth, uint32_t runs)
{
    uint64_t inverse = toy->threads;
    for (uint32_t i = 1; i < depth; i++) inverse *= (uint64_t)toy->threads * LENGTH;
    uint32_t failures = toy_failures(toy, depth, runs);
    printf("depth %u: %u of %u schedules, at least %llu are promised\n", depth, failures, runs,
           (unsigned long long)(runs / inverse));
    uint64_t promised = runs / inverse, missing = promised > failures ? promised - failures : 0;
    assert_true(promised >= 20);
    assert_true(missing * missing <= 9 * promised); /* the promise is exact for some bugs: three standard deviations */
    for (uint32_t less = 1; less < depth; less++) assert_int_equal(toy_failures(toy, less, runs / 10), 0);
}

static void finds_a_bug_of_depth_one(void **state)
{
    struct toy toy = {.threads = 4, .order = {{3, LENGTH - 1}, {0, 0}}, .order_count = 2};
    check_depth(&toy, 1, 1000);
}

/* The third thread's last step falls between two of the first one's. */
static void finds_a_bug_of_depth_two(void **state)
{
    struct toy toy = {.threads = 4, .order = {{0, 6}, {2, LENGTH - 1}, {0, 7}}, .order_count = 3};
    check_depth(&toy, 2, 20000);
}

static void finds_a_bug_of_depth_three(void **state)
{
    struct toy toy = {.threads = 2, .order = {{0, 3}, {1, 5}, {0, 4}, {1, 6}}, .order_count = 4};
    check_depth(&toy, 3, 100000);
}

static void finds_a_bug_of_depth_four(void **state)
{
    struct toy toy = {.threads = 2, .order = {{0, 3}, {1, 5}, {0, 4}, {1, 6}, {0, 5}}, .order_count = 5};
    check_depth(&toy, 4, 400000);
}

/* Windows that are renewed go on finding: here the bug lies after the first one, in which nothing can happen. */
static void renews_its_windows(void **state)
{
    struct toy toy = {.threads = 2, .order = {{0, 7}, {1, 8}, {0, 8}}, .order_count = 3};
    uint32_t kept = 0, renewed = 0;
    for (uint32_t seed = 1; seed <= 2000; seed++) {
        struct sim_schedule_state schedule;
        sim_schedule_pct(&schedule, seed, 2, 5, false);
        kept += toy_fails(&toy, &schedule);
        sim_schedule_pct(&schedule, seed, 2, 5, true);
        renewed += toy_fails(&toy, &schedule);
    }
    assert_int_equal(kept, 0);
    assert_true(renewed > 20);
}

/* ---- single choices ---- */

static struct fabric_sim_choice choice_at(enum fabric_sim_choice_kind kind, uint32_t flow, uint64_t time_ns)
{
    return (struct fabric_sim_choice){.kind = kind, .flow = flow, .time_ns = time_ns, .now_ns = 5000000};
}

/* How often each of the two is chosen, over seeds. */
static void tally(const struct fabric_sim_choice *choices, uint32_t counts[2])
{
    counts[0] = counts[1] = 0;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct sim_schedule_state state;
        sim_schedule_pct(&state, seed, 1, 10, false);
        counts[state.choose(&state, choices, 2)]++;
    }
}

static void knows_who_is_enabled(void **state)
{
    uint32_t counts[2];
    struct fabric_sim_choice run = choice_at(FABRIC_SIM_RUN, 0, 5000000);
    struct fabric_sim_choice both[] = {run, choice_at(FABRIC_SIM_DELIVER, 1, 5001000)};
    tally(both, counts);
    assert_in_range(counts[0], 25, 75); /* a matter of priorities */
    struct fabric_sim_choice asleep[] = {run, choice_at(FABRIC_SIM_EXPIRE, 1, 5000001)};
    tally(asleep, counts);
    assert_int_equal(counts[0], 100); /* not before its time */
    struct fabric_sim_choice paused[] = {run, choice_at(FABRIC_SIM_RUN, 1, 1000000000)};
    tally(paused, counts);
    assert_int_equal(counts[0], 100); /* too far ahead */
    struct fabric_sim_choice sleepers[] = {choice_at(FABRIC_SIM_EXPIRE, 0, 5000001),
                                           choice_at(FABRIC_SIM_EXPIRE, 1, 5000002)};
    tally(sleepers, counts);
    assert_int_equal(counts[0], 100); /* nothing else is left: by time */
    struct fabric_sim_choice starving[] = {choice_at(FABRIC_SIM_RUN, 0, 3999999),
                                           choice_at(FABRIC_SIM_RUN, 1, 5000000)};
    tally(starving, counts);
    assert_int_equal(counts[0], 100); /* it has waited for more than a millisecond */
}

static void orders_are_drawn_evenly(void **state)
{
    struct fabric_sim_choice choices[6];
    uint32_t counts[6] = {0};
    struct sim_schedule_state schedule;
    for (uint32_t i = 0; i < 6; i++) choices[i] = choice_at(FABRIC_SIM_ORDER, 0, 0);
    sim_schedule_pct(&schedule, 1, 3, 10, false);
    for (uint32_t i = 0; i < 6000; i++) counts[schedule.choose(&schedule, choices, 6)]++;
    for (uint32_t i = 0; i < 6; i++) assert_in_range(counts[i], 850, 1150);
    assert_int_equal(schedule.steps, 0);
}

static void preempts_as_often_as_told(void **state)
{
    const struct fabric_sim_choice choices[] = {
        choice_at(FABRIC_SIM_RUN, 0, 5000000), choice_at(FABRIC_SIM_RUN, 1, 5000000),
        choice_at(FABRIC_SIM_RUN, 2, 5000000), choice_at(FABRIC_SIM_RUN, 3, 1000000000)};
    struct sim_schedule_state schedule;
    uint32_t counts[4] = {0};
    sim_schedule_preempt(&schedule, 1, 10);
    for (uint32_t i = 0; i < 10000; i++) counts[schedule.choose(&schedule, choices, 4)]++;
    assert_in_range(counts[0], 8800, 9200);
    assert_in_range(counts[1], 400, 600);
    assert_in_range(counts[2], 400, 600);
    assert_int_equal(counts[3], 0);
}

static void follows_the_plan(void **state)
{
    struct sim_schedule_state schedule;
    struct sim_plan *plan = test_calloc(1, sizeof *plan);
    plan->seed = 5;
    plan->pct_depth = 3;
    plan->schedule = SIM_SCHEDULE_RANDOM;
    sim_schedule_begin(&schedule, plan);
    assert_null(schedule.choose);
    plan->schedule = SIM_SCHEDULE_TIME;
    sim_schedule_begin(&schedule, plan);
    assert_null(schedule.choose);
    plan->schedule = SIM_SCHEDULE_PCT;
    sim_schedule_begin(&schedule, plan);
    assert_non_null(schedule.choose);
    assert_int_equal(schedule.depth, 3);
    assert_int_equal(schedule.hold_round_trips, 0);
    plan->schedule = SIM_SCHEDULE_PREEMPT;
    sim_schedule_begin(&schedule, plan);
    assert_non_null(schedule.choose);
    assert_true(schedule.hold_round_trips > 0);
    test_free(plan);
}

/* ---- on the fabric: two workers that count up one remote word ---- */

#define WORD_OFFSET 64
#define FLAG_OFFSET 128

enum counting { READ_THEN_WRITE, CAS_LOOP, SLEEP_UNTIL_SET, SPIN_UNTIL_SET };

struct counters {
    enum counting how;
    struct fabric *fabric;
    struct worker {
        struct counters *counters;
        struct fabric_ep *ep;
        struct fabric_op op;
        struct fabric_wait wait;
        uint64_t old, word;
    } workers[2];
    uint32_t running;
    uint64_t hash, steps;
};

static uint64_t perform(struct worker *worker, struct fabric_op op)
{
    worker->op = op;
    fabric_post(worker->ep, &worker->op, 1, &worker->wait);
    while (worker->wait.pending) {
        if (!fabric_poll(worker->ep)) fabric_idle(worker->ep, UINT64_MAX);
    }
    return worker->old;
}

static void add(struct worker *worker, bool by_cas)
{
    struct fabric_addr addr = fabric_addr_of(0, WORD_OFFSET);
    (void)perform(worker, fabric_op_read(addr, &worker->word, 8));
    while (by_cas && perform(worker, fabric_op_cas(addr, &worker->old, worker->word, worker->word + 1)) != worker->word)
        worker->word = worker->old;
    if (by_cas) return;
    worker->word++;
    (void)perform(worker, fabric_op_write(addr, &worker->word, 8));
}

/* The first worker waits for a flag that the second one sets after a while. */
static void wait_for_flag(struct worker *worker, bool sleeps)
{
    struct fabric_addr flag = fabric_addr_of(0, FLAG_OFFSET);
    for (uint32_t i = 0; worker->ep->cn == 1 && i < 5; i++) add(worker, true);
    if (worker->ep->cn == 1) {
        (void)perform(worker, fabric_op_faa(flag, &worker->old, 1));
        return;
    }
    for (worker->word = 0; worker->word == 0;) {
        (void)perform(worker, fabric_op_read(flag, &worker->word, 8));
        uint64_t until_ns = fabric_now_ns(worker->ep) + 5000;
        while (sleeps && fabric_now_ns(worker->ep) < until_ns) fabric_idle(worker->ep, until_ns);
    }
}

static void count_up(void *arg)
{
    struct worker *worker = arg;
    enum counting how = worker->counters->how;
    if (how < SLEEP_UNTIL_SET) {
        add(worker, how == CAS_LOOP);
    } else {
        wait_for_flag(worker, how == SLEEP_UNTIL_SET);
    }
    worker->counters->running--;
}

/* 0: the word is not what it must be; -1: the workers never end; else the word. */
static int run_counters(struct counters *counters, struct sim_schedule_state *schedule)
{
    struct fabric_sim_config config;
    struct fabric_control control = {.kind = FABRIC_REGISTER_LOCAL, .base = counters, .bytes = sizeof *counters};
    fabric_sim_config_default(&config);
    config.cn_count = 2;
    config.mn_bytes = 4096;
    config.choose = schedule->choose;
    config.choose_arg = schedule;
    config.hold_round_trips = schedule->hold_round_trips;
    config.steps_max = 100000;
    assert_int_equal(fabric_sim_open(&config, &counters->fabric, NULL), 0);
    struct fabric *fabric = counters->fabric;
    assert_int_equal(fabric->ops->control(fabric, &control, NULL), 0);
    memset(counters->workers, 0, sizeof counters->workers);
    counters->running = 2;
    for (uint32_t i = 0; i < 2; i++) {
        struct worker *worker = &counters->workers[i];
        worker->counters = counters;
        assert_int_equal(fabric_endpoint_open(fabric, i, 0, &worker->ep, NULL), 0);
        assert_int_equal(fabric->ops->spawn(fabric, worker->ep, count_up, worker), 0);
    }
    int code = fabric->ops->wait(fabric, &counters->running, UINT64_MAX);
    counters->hash = fabric_sim_trace_hash(fabric);
    counters->steps = schedule->steps;
    counters->workers[0].ep->bulk = true;
    if (code == 0)
        (void)perform(&counters->workers[0],
                      fabric_op_read(fabric_addr_of(0, WORD_OFFSET), &counters->workers[0].word, 8));
    fabric_close(fabric);
    return code ? -1 : (int)counters->workers[0].word;
}

/*
 * A lost update takes two orders: it is found with 1 / (n * k) at least, n = 6 flows (two workers, their connections
 * and completions).
 */
static void finds_a_lost_update(void **state)
{
    struct counters counters = {.how = READ_THEN_WRITE};
    struct sim_schedule_state schedule;
    uint32_t lost = 0, runs = 2000, flows = 6;
    uint64_t steps_max = 0;
    for (uint32_t seed = 1; seed <= runs; seed++) {
        sim_schedule_pct(&schedule, seed, 2, 20, false);
        lost += run_counters(&counters, &schedule) == 1;
        if (counters.steps > steps_max) steps_max = counters.steps;
    }
    printf("a lost update in %u of %u schedules of at most %llu steps\n", lost, runs, (unsigned long long)steps_max);
    assert_true(steps_max <= 20);
    assert_true(lost >= runs / (flows * 20));
    counters.how = CAS_LOOP;
    for (uint32_t seed = 1; seed <= runs; seed++) {
        sim_schedule_pct(&schedule, seed, 2, 20, false);
        assert_int_equal(run_counters(&counters, &schedule), 2);
    }
}

static void waiting_ends(void **state)
{
    struct counters counters;
    struct sim_schedule_state schedule;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        counters.how = seed % 2 ? SLEEP_UNTIL_SET : SPIN_UNTIL_SET;
        sim_schedule_pct(&schedule, seed, 1 + seed % 3, 20, seed % 5 == 0);
        assert_int_equal(run_counters(&counters, &schedule), 5);
        sim_schedule_preempt(&schedule, seed, 4);
        assert_int_equal(run_counters(&counters, &schedule), 5);
    }
}

static void equal_seeds_equal_schedules(void **state)
{
    struct counters counters = {.how = READ_THEN_WRITE};
    struct sim_schedule_state schedule;
    uint64_t hashes[50];
    uint32_t different = 0;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t seed = 0; seed < 50; seed++) {
            sim_schedule_pct(&schedule, seed, 3, 20, true);
            assert_true(run_counters(&counters, &schedule) > 0);
            if (round == 1) assert_true(hashes[seed] == counters.hash);
            hashes[seed] = counters.hash;
            different += seed > 0 && hashes[seed] != hashes[seed - 1];
        }
    }
    assert_true(different > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_bug_of_depth_one),
        cmocka_unit_test(finds_a_bug_of_depth_two),
        cmocka_unit_test(finds_a_bug_of_depth_three),
        cmocka_unit_test(finds_a_bug_of_depth_four),
        cmocka_unit_test(renews_its_windows),
        cmocka_unit_test(knows_who_is_enabled),
        cmocka_unit_test(orders_are_drawn_evenly),
        cmocka_unit_test(preempts_as_often_as_told),
        cmocka_unit_test(follows_the_plan),
        cmocka_unit_test(finds_a_lost_update),
        cmocka_unit_test(waiting_ends),
        cmocka_unit_test(equal_seeds_equal_schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
