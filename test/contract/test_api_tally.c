/* test_api_tally.c - what calls of each procedure came to, read while threads call, against what their results said. */
#include "api.h"
#include "numbered.h"

#include <pthread.h>

#define THREADS 3
#define CALLS 4000

struct told {
    struct api *api;
    const struct cellar_proc *add;
    uint64_t calls, committed, attempts;
};

/* Adds to the one record that all want; `refuse`: looks, and says no. */
struct adding {
    struct api *api;
    bool refuse;
};

static int add(struct cellar_txn *txn, void *arg)
{
    const struct adding *adding = arg;
    uint64_t a;
    int ref = cellar_proc_access(txn, adding->api->items, 1, 0, CELL_A, 0);
    int rc = ref < 0 ? ref : cellar_proc_fetch(txn);
    if (rc == 0) rc = cellar_proc_get(txn, ref, ITEM_A, &a);
    if (rc) return rc;
    if (adding->refuse) return ERR_GIVEN_UP;
    a++;
    return cellar_proc_put(txn, ref, ITEM_A, &a);
}

static void *call(void *arg)
{
    struct told *told = arg;
    for (uint64_t i = 0; i < CALLS; i++) {
        struct adding adding = {told->api, i % 10 == 9};
        struct cellar_result result;
        int code = cellar_proc_run(told->api->db, told->add, &adding, NULL, &result);
        told->calls++;
        told->committed += code == 0;
        told->attempts += result.attempts;
    }
    return NULL;
}

static uint64_t sum_of(const uint64_t *counts, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += counts[i];
    return sum;
}

static const struct cellar_proc *registered(struct api *api, const char *name)
{
    const struct cellar_proc_def def = {.name = name, .fn = add, .records_max = 1, .writes_max = 1};
    const struct cellar_proc *proc;
    if (db_proc_register(api->db, &def, &proc, &api->error)) fail_msg("%s", api->error.text);
    return proc;
}

/* Counts only grow; reading them changes nothing. */
static void watch(struct api *api, const struct cellar_proc *proc, uint64_t wanted)
{
    struct cellar_lab_tally tally = {0}, before;
    do {
        before = tally;
        cellar_lab_proc_read(api->db, proc, &tally);
        assert_true(tally.calls >= before.calls && tally.committed >= before.committed);
        assert_true(tally.attempts >= before.attempts && tally.committed <= wanted);
    } while (tally.calls < wanted);
}

static void tallies_are_what_results_said(void **state)
{
    struct api api;
    struct told told[THREADS] = {{0}}, all = {0};
    pthread_t threads[THREADS];
    struct cellar_lab_tally tally;
    const struct api_variant *variant = *state;
    api_open_with(&api, variant, (struct engine_config){.threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    const struct cellar_proc *proc = registered(&api, "add"), *idle = registered(&api, "idle");
    assert_ptr_equal(cellar_lab_proc_next(api.db, NULL), idle);
    assert_ptr_equal(cellar_lab_proc_next(api.db, idle), proc);
    assert_string_equal(cellar_lab_proc_name(proc), "add");

    for (uint32_t i = 0; i < THREADS; i++) {
        told[i] = (struct told){.api = &api, .add = proc};
        if (variant->threads)
            assert_int_equal(pthread_create(&threads[i], NULL, call, &told[i]), 0);
        else
            call(&told[i]);
    }
    watch(&api, proc, THREADS * CALLS);
    for (uint32_t i = 0; i < THREADS; i++) {
        if (variant->threads) pthread_join(threads[i], NULL);
        all.calls += told[i].calls;
        all.committed += told[i].committed;
        all.attempts += told[i].attempts;
    }
    cellar_lab_proc_read(api.db, proc, &tally);
    assert_int_equal(tally.calls, all.calls);
    assert_int_equal(tally.committed, all.committed);
    assert_int_equal(tally.attempts, all.attempts);
    assert_int_equal(sum_of(tally.aborts, CELLAR_ABORT_REASONS), all.attempts - all.calls);
    assert_int_equal(sum_of(tally.latency, CELLAR_LATENCY_BUCKETS), all.committed);
    assert_true(cellar_lab_latency_ns(&tally, 0.5) > 0);
    assert_true(cellar_lab_latency_ns(&tally, 0.99) >= cellar_lab_latency_ns(&tally, 0.5));
    cellar_lab_proc_read(api.db, idle, &tally);
    assert_true(tally.calls == 0 && tally.attempts == 0 && cellar_lab_latency_ns(&tally, 0.5) == 0);
    api_close(&api);
}

/* What never began is not counted. */
static void calls_that_never_began(void **state)
{
    struct api api;
    struct cellar_lab_tally tally;
    struct cellar_result result;
    uint32_t cancel = 1;
    api_open_with(&api, *state, (struct engine_config){.threads = 1, .coros = 1});
    api_load(&api, 0, 10);
    const struct cellar_proc *proc = registered(&api, "add");
    struct cellar_call_options options = {.cancel = &cancel};
    struct adding adding = {&api, false};
    assert_int_equal(cellar_proc_run(api.db, proc, &adding, &options, &result), CELLAR_CANCELLED);
    assert_int_equal(result.attempts, 0);
    cellar_lab_proc_read(api.db, proc, &tally);
    assert_true(tally.calls == 0 && tally.attempts == 0 && tally.committed == 0);
    assert_int_equal(cellar_proc_run(api.db, proc, &adding, NULL, &result), 0);
    cellar_lab_proc_read(api.db, proc, &tally);
    assert_true(tally.calls == 1 && tally.attempts == 1 && tally.committed == 1);
    uint64_t within_ns = cellar_lab_latency_ns(&tally, 1);
    assert_true(within_ns >= result.latency_ns && within_ns <= result.latency_ns + result.latency_ns / 4 + 1);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(tallies_are_what_results_said),
        API_TEST(calls_that_never_began),
    };
    return api_main("api_tally", tests, sizeof tests / sizeof *tests, argc, argv);
}
