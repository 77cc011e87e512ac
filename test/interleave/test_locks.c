/*
 * test_locks.c - every algorithm and policy of the lock layer in simulated clusters: mutual exclusion, order,
 * progress, give-ups, deaths, bytes at rest (lock_run.h). A fixed number of seeds of each.
 *
 *     test_locks ALGORITHM [POLICY [FIRST [LAST]]]    these seeds of one algorithm ("all": of each; POLICY "-": its
 *                                                     first)
 *     test_locks ALGORITHM POLICY FIRST LAST lose     the same, and a lock server or switch is lost for good
 *     test_locks ALGORITHM POLICY FIRST LAST linger   the same, of few clients that hold for long
 *     test_locks ALGORITHM POLICY FIRST LAST join     the same, and a compute node comes when the others are at work
 */
#include "lock_run.h"

#include "must.h"
#include "share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 100 /* of each policy */
#define SEEDS_LOSING 6
#define MOST 128 /* tests */
#define SEEDS_LINGERING 10
#define SEEDS_JOINING 20

struct sum {
    uint64_t runs, failed, grants, timeouts, expired, lost, resets;
    uint64_t unreachable, granted_after, longest_ns;
    uint32_t overtaken, by_writers;
};
static void (*change)(struct lock_run_plan *plan); /* of what a seed stands for; NULL: nothing */

static void run_seed(const char *algorithm, const char *policy, uint64_t seed, struct sum *sum)
{
    struct lock_run_plan plan;
    struct lock_run_report report;
    if (!lock_run_draw(&plan, algorithm, policy, seed)) fail_msg("there is no %s %s", algorithm, policy ? policy : "");
    sum->runs++;
    if (change) change(&plan);
    if (!lock_run(&plan, &report)) {
        sum->failed++;
        fprintf(stderr, "%s\n    ", report.verdict);
        lock_run_print(&plan, stderr);
    }
    sum->grants += report.watched.grants;
    sum->timeouts += report.stats.timeouts;
    sum->expired += report.watched.expired;
    sum->lost += report.cns_lost;
    sum->resets += report.stats.resets;
    sum->unreachable += report.unreachable;
    sum->granted_after += report.granted_after;
    if (report.longest_ns > sum->longest_ns) sum->longest_ns = report.longest_ns;
    if (report.watched.overtaken > sum->overtaken) sum->overtaken = report.watched.overtaken;
    if (report.watched.reader_by_writers > sum->by_writers) sum->by_writers = report.watched.reader_by_writers;
}

static uint64_t run_seeds(const char *algorithm, const char *policy, uint64_t first, uint64_t last, bool all)
{
    struct sum sum = {0};
    for (uint64_t seed = first; seed <= last; seed++)
        if (all || share_has(seed - first)) run_seed(algorithm, policy, seed, &sum);
    printf("%-12s %-14s %5llu runs, %llu failed; %llu grants, %llu gave up, %llu leases ran out, %llu nodes lost, %llu "
           "resets; "
           "overtaken %u, readers by writers %u\n",
           algorithm, policy ? policy : "-", (unsigned long long)sum.runs, (unsigned long long)sum.failed,
           (unsigned long long)sum.grants, (unsigned long long)sum.timeouts, (unsigned long long)sum.expired,
           (unsigned long long)sum.lost, (unsigned long long)sum.resets, sum.overtaken, sum.by_writers);
    if (sum.runs == 0)
        fprintf(stderr, "no seed from %llu to %llu was run\n", (unsigned long long)first, (unsigned long long)last);
    if (change != lock_run_lose || sum.runs == 0) return sum.failed + (sum.runs == 0);
    printf("    after a loss: %llu unreachable, within %llu us; %llu granted\n", (unsigned long long)sum.unreachable,
           (unsigned long long)sum.longest_ns / 1000, (unsigned long long)sum.granted_after);
    return sum.failed;
}

/* All policies, or one of them. */
static uint64_t run_algorithm(const char *algorithm, const char *only, uint64_t first, uint64_t last, bool all)
{
    uint64_t failed = 0;
    if (!lockmgr_policy_name(algorithm, 0)) return run_seeds(algorithm, NULL, first, last, all);
    for (uint32_t i = 0; lockmgr_policy_name(algorithm, i); i++) {
        const char *policy = lockmgr_policy_name(algorithm, i);
        if (!only || strcmp(only, policy) == 0) failed += run_seeds(algorithm, policy, first, last, all);
    }
    return failed;
}

static void every_promise_is_kept(void **state) { assert_int_equal(run_algorithm(*state, NULL, 1, SEEDS, false), 0); }

/* A call that needs what is lost is told so in time; the others go on. */
static void a_loss_is_an_error(void **state)
{
    change = lock_run_lose;
    assert_int_equal(run_algorithm(*state, NULL, 1, SEEDS_LOSING, false), 0);
    change = NULL;
}

static void long_holds_are_kept(void **state)
{
    change = lock_run_linger;
    assert_int_equal(run_algorithm(*state, NULL, 1, SEEDS_LINGERING, false), 0);
    change = NULL;
}

/* Of those that take anything from the dead. */
static void who_comes_late_is_alive(void **state)
{
    change = lock_run_join;
    assert_int_equal(run_algorithm(*state, NULL, 1, SEEDS_JOINING, false), 0);
    change = NULL;
}

/* Those of the names that are linked, up to a NULL. */
static uint32_t add_named(struct CMUnitTest *tests, uint32_t count, const char *const *names, const char *what,
                          void (*function)(void **state))
{
    struct lock_run_plan plan;
    for (; *names && count < MOST; names++)
        if (lock_run_draw(&plan, *names, NULL, 1))
            tests[count++] = (struct CMUnitTest){what, function, NULL, NULL, (void *)*names};
    return count;
}

static void (*change_of(const char *name))(struct lock_run_plan *)
{
    return strcmp(name, "lose") == 0 ? lock_run_lose : strcmp(name, "join") == 0 ? lock_run_join : lock_run_linger;
}

static int run_named(int argc, char **argv)
{
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    uint64_t last = argc > 4 ? strtoull(argv[4], NULL, 10) : argc > 3 ? first : SEEDS, failed = 0;
    const char *policy = argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL, *about, *name;
    bool all = strcmp(argv[1], "all") == 0;
    struct lock_run_plan plan;
    if (!all && !lock_run_draw(&plan, argv[1], policy, 1)) {
        fprintf(stderr, "there is no lock %s%s%s\n", argv[1], policy ? " with policy " : "", policy ? policy : "");
        return 2;
    }
    if (argc > 5) change = change_of(argv[5]);
    if (!all) return run_algorithm(argv[1], policy, first, last, true) != 0;
    for (uint32_t i = 0; (name = lockmgr_name(i, &about)); i++) failed += run_algorithm(name, NULL, first, last, true);
    return failed != 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) return run_named(argc, argv);
    struct CMUnitTest tests[MOST] = {{0}};
    uint32_t count = 0;
    const char *about, *name;
    for (; count < MOST && (name = lockmgr_name(count, &about)); count++)
        tests[count] = (struct CMUnitTest){name, every_promise_is_kept, NULL, NULL, (void *)name};
    static const char *const lost[] = {"rpc", "netchain", "netlock", NULL};
    count = add_named(tests, count, lost, "loss", a_loss_is_an_error);
    for (uint32_t i = 0; count < MOST && (name = lockmgr_name(i, &about)); i++)
        tests[count++] = (struct CMUnitTest){"long holds", long_holds_are_kept, NULL, NULL, (void *)name};
    static const char *const taking[] = {"cas", "cas-backoff", "declock", "declock-flat", NULL};
    count = add_named(tests, count, taking, "comes late", who_comes_late_is_alive);
    must(count < MOST);
    return _cmocka_run_group_tests("locks", tests, count, NULL, NULL);
}
