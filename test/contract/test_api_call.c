/* test_api_call.c - cellar.h: calls from any thread, and how they end: deadline, cancellation, closing. */
#include "api_items.h"
#include "numbered.h"
#include "api_keep.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- calls from several threads at once ---- */

#define THREADS 4
#define MANY 12
#define CALLS 500

struct caller {
    pthread_t thread;
    struct api *api;
    uint32_t index, failed;
    uint64_t attempts;
    uint64_t ids[CALLS][2];
};

static void *caller_main(void *arg)
{
    struct caller *caller = arg;
    for (uint32_t i = 0; i < CALLS; i++) {
        struct cellar_result result;
        struct add args = add_args(caller->api, 1, i % 2 ? 2 : 1); /* all at the same record */
        int rc = cellar_proc_run(caller->api->db, caller->api->any, &args, NULL, &result);
        caller->failed += rc != 0 || result.code != 0 || result.latency_ns == 0;
        caller->attempts += result.attempts;
        memcpy(caller->ids[i], result.txn_id, sizeof result.txn_id);
    }
    return NULL;
}

static int compare_ids(const void *a, const void *b) { return memcmp(a, b, 2 * sizeof(uint64_t)); }

static void threads_may_call_at_once(void **state)
{
    struct api api;
    static struct caller callers[THREADS];
    static uint64_t ids[THREADS * CALLS][2];
    struct cellar_lab_stats stats;
    uint64_t attempts = 0;
    api_open_with(&api, *state, (struct engine_config){.cns = 2, .threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    cellar_lab_stats_reset(api.db);
    for (uint32_t i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.api = &api, .index = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].failed, 0);
        attempts += callers[i].attempts;
        memcpy(ids[(size_t)i * CALLS], callers[i].ids, sizeof callers[i].ids);
    }
    qsort(ids, THREADS * CALLS, sizeof *ids, compare_ids);
    for (uint32_t i = 1; i < THREADS * CALLS; i++) assert_true(compare_ids(ids[i - 1], ids[i]) != 0);
    struct api_range totals = api_totals(&api);
    assert_int_equal(totals.seen, 10);
    assert_int_equal(totals.sum_a, 3 * 45 + THREADS * CALLS / 2);
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(stats.committed, THREADS * CALLS);
    assert_int_equal(stats.aborted, attempts - THREADS * CALLS);
    api_audit_clean(&api);
    api_close(&api);
}

/* Helms are borrowed, waited for and given back all the time, and the workers' threads are called for what is left. */
static void many_threads_and_few_workers(void **state)
{
    struct api api;
    static struct caller callers[MANY];
    for (uint32_t threads = 1; threads <= 2; threads++) {
        api_open_with(&api, *state, (struct engine_config){.threads = threads, .coros = 2});
        api_load(&api, 0, 10);
        for (uint32_t i = 0; i < MANY; i++) {
            callers[i] = (struct caller){.api = &api, .index = i};
            assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
        }
        for (uint32_t i = 0; i < MANY; i++) {
            pthread_join(callers[i].thread, NULL);
            assert_int_equal(callers[i].failed, 0);
        }
        assert_int_equal(api_totals(&api).sum_a, 3 * 45 + MANY * CALLS / 2);
        api_audit_clean(&api);
        api_close(&api);
    }
}

/* ---- deadline and cancellation ---- */

/*
 * After as many attempts as were allowed, and without effect; one that gets through in the last of them has
 * committed.
 */
static void a_number_of_attempts_ends_the_retries(void **state)
{
    struct api api;
    struct cellar_call_options options = {.attempts_max = 1};
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(add_one(&api, 5, &options), 0);
    lock_five(&api, true);
    for (; options.attempts_max <= 5; options.attempts_max++) {
        assert_code(add_one(&api, 5, &options), CELLAR_RETRY);
        assert_int_equal(api.result.code, CELLAR_RETRY);
        assert_int_equal(api.result.attempts, options.attempts_max);
    }
    lock_five(&api, false);
    options.attempts_max = 1;
    assert_code(add_one(&api, 5, &options), 0);
    assert_int_equal(api.result.attempts, 1);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 2);
    api_audit_clean(&api);
    api_close(&api);
}

static void a_deadline_ends_the_retries(void **state)
{
    struct api api;
    struct cellar_call_options options = {.timeout_ns = 50000000};
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(add_one(&api, 5, &options), 0);
    lock_five(&api, true);
    do {
        options.timeout_ns *= 2;
        assert_code(add_one(&api, 5, &options), CELLAR_DEADLINE);
        assert_int_equal(api.result.code, CELLAR_DEADLINE);
        assert_true(api.result.latency_ns >= options.timeout_ns);
        if (!api.variant->threads) /* the caller does not sleep beyond it */
            assert_true(api.result.latency_ns < options.timeout_ns + 50000);
    } while (api_longer(&api, api.result.attempts, options.timeout_ns));
    assert_true(api.result.attempts > 1);
    lock_five(&api, false);
    assert_code(add_one(&api, 5, &options), 0);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 2);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- in the queue ---- */

/* Its procedure never runs, and its caller does not wait for what was before it. */
static void a_deadline_passes_in_the_queue(void **state)
{
    struct api api;
    struct keeping keeping;
    struct cellar_call_options options = {.timeout_ns = 2000000};
    api_open(&api, *state);
    api_load(&api, 0, 10);
    keep_all(&api, &keeping);
    assert_code(add_one(&api, 5, &options), CELLAR_DEADLINE);
    assert_int_equal(api.result.attempts, 0);
    assert_true(api.result.latency_ns >= options.timeout_ns);
    assert_false(keeping.release);
    keep_no_more(&api, &keeping);
    options.timeout_ns = 1;
    int code = add_one(&api, 5, &options); /* done within a nanosecond of virtual time, perhaps */
    if (api.variant->threads) assert_int_equal(api.result.attempts, 0);
    assert_true(code == CELLAR_DEADLINE || (!api.variant->threads && code == 0));
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + (code == 0));
    api_close(&api);
}

static void a_call_is_cancelled_in_the_queue(void **state)
{
    struct api api;
    struct keeping keeping;
    uint32_t cancel = 1;
    struct cellar_call_options options = {.cancel = &cancel};
    api_open(&api, *state);
    api_load(&api, 0, 10);
    keep_all(&api, &keeping);
    assert_code(add_one(&api, 5, &options), CELLAR_CANCELLED);
    assert_int_equal(api.result.attempts, 0);
    keep_no_more(&api, &keeping);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45);
    api_close(&api);
}

struct quitter {
    struct api_call call;
    uint32_t cancel;
};

/* Is cancelled in its third run. */
static int quit(struct cellar_txn *txn, struct api_call *call)
{
    struct quitter *args = (struct quitter *)call;
    if (call->runs == 3) __atomic_store_n(&args->cancel, 1, __ATOMIC_RELAXED);
    TRY(cellar_proc_access(txn, call->items, 5, 0, CELL_A, 0));
    return cellar_proc_fetch(txn);
}

static void a_call_can_be_cancelled(void **state)
{
    struct api api;
    struct quitter args = {0};
    uint32_t cancel = 1;
    struct cellar_call_options options = {.cancel = &cancel};
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(add_one(&api, 5, &options), CELLAR_CANCELLED);
    assert_int_equal(api.result.attempts, 0);
    cancel = 0;
    assert_code(add_one(&api, 5, &options), 0);
    lock_five(&api, true);
    args.call = (struct api_call){.body = quit, .items = api.items};
    options.cancel = &args.cancel;
    assert_code(cellar_proc_run(api.db, api.any, &args, &options, &api.result), CELLAR_CANCELLED);
    assert_int_equal(api.result.attempts, 3);
    lock_five(&api, false);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 1);
    api_audit_clean(&api);
    api_close(&api);
}

struct canceller {
    struct api *api;
    uint32_t cancel;
    int code;
};

static void *cancelled_main(void *arg)
{
    struct canceller *canceller = arg;
    struct cellar_call_options options = {.cancel = &canceller->cancel};
    canceller->code = add_one(canceller->api, 5, &options);
    return NULL;
}

static void another_thread_can_cancel(void **state)
{
    struct api api;
    struct canceller canceller = {.api = &api};
    struct cellar_lab_stats before, now;
    pthread_t thread;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    lock_five(&api, true);
    cellar_lab_stats_read(api.db, &before);
    assert_int_equal(pthread_create(&thread, NULL, cancelled_main, &canceller), 0);
    do { /* until it tries again */
        usleep(1000);
        cellar_lab_stats_read(api.db, &now);
    } while (now.aborted < before.aborted + 2);
    __atomic_store_n(&canceller.cancel, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    assert_code(canceller.code, CELLAR_CANCELLED);
    assert_true(api.result.attempts > 1);
    lock_five(&api, false);
    api_close(&api);
}

/* ---- closing ---- */

struct closing {
    struct api *api;
    uint32_t running, release;
    int call_code;
};

static int wait_for_release(struct cellar_txn *txn, struct api_call *call);

struct held {
    struct api_call call;
    struct closing *closing;
};

static int wait_for_release(struct cellar_txn *txn, struct api_call *call)
{
    struct closing *closing = ((struct held *)call)->closing;
    (void)txn;
    __atomic_store_n(&closing->running, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&closing->release, __ATOMIC_SEQ_CST)) usleep(100);
    return 0;
}

static void *held_main(void *arg)
{
    struct closing *closing = arg;
    struct held args = {.call = {.body = wait_for_release, .items = closing->api->items}, .closing = closing};
    struct cellar_result result;
    closing->call_code = cellar_proc_run(closing->api->db, closing->api->any, &args, NULL, &result);
    return NULL;
}

static void *close_main(void *arg)
{
    struct closing *closing = arg;
    cellar_close(closing->api->db);
    return NULL;
}

static int no_client(struct cellar_lab_client *client, void *arg)
{
    (void)client, (void)arg;
    return 0;
}

static void closing_waits_for_calls_and_refuses_new_ones(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct api api;
        struct closing closing = {.api = &api, .call_code = -1000};
        pthread_t caller, closer;
        const struct cellar_table *table;
        const struct cellar_proc *proc;
        struct cellar_schema schema = {"more", sizeof(struct item), item_columns, ITEM_COLUMNS, 10, 0, 0, 0, 0, 0};
        struct cellar_proc_def def = {.name = "more", .fn = api_any, .records_max = 1};
        api_open(&api, *state);
        assert_int_equal(pthread_create(&caller, NULL, held_main, &closing), 0);
        while (!__atomic_load_n(&closing.running, __ATOMIC_SEQ_CST)) usleep(100);
        assert_int_equal(pthread_create(&closer, NULL, close_main, &closing), 0);
        while (!atomic_load(&api.db->closing)) usleep(100);
        assert_code(add_one(&api, 1, NULL), CELLAR_CLOSED);
        assert_code(api.result.code, CELLAR_CLOSED);
        assert_int_equal(api.result.attempts, 0);
        assert_code(cellar_lab_run(api.db, no_client, NULL), CELLAR_CLOSED);
        FAILS(&api.error, db_table_create(api.db, &schema, &table, &api.error), CELLAR_CLOSED, "closing");
        FAILS(&api.error, db_proc_register(api.db, &def, &proc, &api.error), CELLAR_CLOSED, "closing");
        __atomic_store_n(&closing.release, 1, __ATOMIC_SEQ_CST);
        pthread_join(caller, NULL);
        pthread_join(closer, NULL);
        assert_code(closing.call_code, 0);
    }
}

static int hold_item(struct cellar_txn *txn, struct api_call *call)
{
    int ref = cellar_proc_access(txn, call->items, 1, 0, CELLAR_ALL_CELLS, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return wait_for_release(txn, call);
}

static int want_item(struct cellar_txn *txn, struct api_call *call)
{
    __atomic_store_n(&((struct held *)call)->closing->running, 1, __ATOMIC_SEQ_CST);
    int ref = cellar_proc_access(txn, call->items, 1, 0, CELLAR_ALL_CELLS, 0);
    TRY(ref);
    return cellar_proc_fetch(txn);
}

static void *vain_main(void *arg)
{
    struct closing *closing = arg;
    struct held args = {.call = {.body = want_item, .items = closing->api->items}, .closing = closing};
    struct cellar_result result;
    closing->call_code = cellar_proc_run(closing->api->db, closing->api->any, &args, NULL, &result);
    return NULL;
}

static void *holder_main(void *arg)
{
    struct closing *closing = arg;
    struct held args = {.call = {.body = hold_item, .items = closing->api->items}, .closing = closing};
    struct cellar_result result;
    closing->call_code = cellar_proc_run(closing->api->db, closing->api->any, &args, NULL, &result);
    return NULL;
}

/*
 * One call has a lock, another one without a deadline wants it: the first one is waited for, the second one ends
 * without effect. In the modes that share records its attempt has begun to wait for the first one's inside the
 * compute node, and ends like that one.
 */
static void closing_waits_for_no_lock(void **state)
{
    struct api api;
    pthread_t holder_thread, vain_thread, closer;
    api_open_with(&api, *state, (struct engine_config){.threads = 2, .coros = 1});
    api_load(&api, 0, 10);
    struct closing holder = {.api = &api, .call_code = -1000}, vain = {.api = &api, .call_code = -1000};
    assert_int_equal(pthread_create(&holder_thread, NULL, holder_main, &holder), 0);
    while (!__atomic_load_n(&holder.running, __ATOMIC_SEQ_CST)) usleep(100);
    assert_int_equal(pthread_create(&vain_thread, NULL, vain_main, &vain), 0);
    while (!__atomic_load_n(&vain.running, __ATOMIC_SEQ_CST))
        usleep(100); /* else it might call a database that is closed by then */
    assert_int_equal(pthread_create(&closer, NULL, close_main, &holder), 0);
    bool waits_inside = mode_of(api.variant->cc)->shares;
    if (!waits_inside) pthread_join(vain_thread, NULL);
    assert_int_equal(holder.call_code, -1000);
    __atomic_store_n(&holder.release, 1, __ATOMIC_SEQ_CST);
    if (waits_inside) pthread_join(vain_thread, NULL);
    if (!waits_inside || vain.call_code) assert_code(vain.call_code, CELLAR_CLOSED);
    pthread_join(holder_thread, NULL);
    pthread_join(closer, NULL);
    assert_code(holder.call_code, 0);
}
int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST_SHM(threads_may_call_at_once),
        API_TEST_SHM(many_threads_and_few_workers),
        API_TEST(a_number_of_attempts_ends_the_retries),
        API_TEST(a_deadline_ends_the_retries),
        API_TEST(a_deadline_passes_in_the_queue),
        API_TEST(a_call_is_cancelled_in_the_queue),
        API_TEST(a_call_can_be_cancelled),
        API_TEST_SHM(another_thread_can_cancel),
        API_TEST_SHM(closing_waits_for_calls_and_refuses_new_ones),
        API_TEST_SHM(closing_waits_for_no_lock),
    };
    return api_main("api_call", tests, sizeof tests / sizeof *tests, argc, argv);
}
