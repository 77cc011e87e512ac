/* test_api_call.c - cellar.h: calls from any thread, their ends, sessions, statistics; and that a transaction allocates nothing. */
#include "api.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int try_rc = (call);                                                                                           \
        if (try_rc < 0) return try_rc;                                                                                 \
    } while (0)

/* ---- counting allocations: this program's malloc counts, and leaves the work to the C library ---- */

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || SANITIZED || !defined(__GLIBC__)
#define COUNTED 0
static uint64_t allocations(void) { return 0; }
#else
#define COUNTED 1
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static uint64_t allocation_count;

static void count_allocation(void) { __atomic_fetch_add(&allocation_count, 1, __ATOMIC_RELAXED); }
static uint64_t allocations(void) { return __atomic_load_n(&allocation_count, __ATOMIC_RELAXED); }

void *malloc(size_t bytes)
{
    count_allocation();
    return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes)
{
    count_allocation();
    return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes)
{
    count_allocation();
    return __libc_realloc(old, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes)
{
    count_allocation();
    return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    count_allocation();
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : 12;
}
#endif

/* ---- procedures ---- */

struct add {
    struct api_call call;
    uint64_t keys[2]; /* the first gets 1, the second loses it, unless they are the same */
};

static int add(struct cellar_txn *txn, struct api_call *call)
{
    const struct add *args = (const struct add *)call;
    int refs[2];
    uint32_t count = args->keys[0] == args->keys[1] ? 1 : 2;
    for (uint32_t i = 0; i < count; i++) TRY(refs[i] = cellar_access(txn, call->items, args->keys[i], 0, CELL_A, 0));
    TRY(cellar_fetch(txn));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t a;
        TRY(cellar_get(txn, refs[i], ITEM_A, &a));
        a = i ? a - 1 : a + 1;
        TRY(cellar_put(txn, refs[i], ITEM_A, &a));
    }
    return 0;
}

static struct add add_args(const struct api *api, uint64_t to, uint64_t from)
{
    return (struct add){.call = {.body = add, .items = api->items}, .keys = {to, from}};
}

static int add_one(struct api *api, uint64_t key, const struct cellar_call_options *options)
{
    struct add args = add_args(api, key, key);
    return cellar_call(api->db, api->any, &args, options, &api->result);
}

/* ---- calls from several threads at once ---- */

#define THREADS 4
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
        int rc = cellar_call(caller->api->db, caller->api->any, &args, NULL, &result);
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
    struct cellar_stats stats;
    uint64_t attempts = 0;
    api_open_with(&api, *state, (struct cellar_config){.cns = 2, .threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    cellar_stats_reset(api.db);
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
    cellar_stats_read(api.db, &stats);
    assert_int_equal(stats.committed, THREADS * CALLS);
    assert_int_equal(stats.aborted, attempts - THREADS * CALLS);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- deadline and cancellation ---- */

/* Locks record 5 for a compute node that does not exist, or frees it. */
static void lock_five(struct api *api, bool locked)
{
    struct fabric_addr head, addr = api_find(api, 5, &head);
    api_poke_word(api, addr, locked ? api_foreign_tags(api->items) : 0, api_tag_mask(api->items));
}

static void a_deadline_ends_the_retries(void **state)
{
    struct api api;
    struct cellar_call_options options = {.timeout_ns = 100000000}; /* a busy machine may stop us for long */
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(add_one(&api, 5, &options), 0);
    lock_five(&api, true);
    assert_code(add_one(&api, 5, &options), -CELLAR_ERR_DEADLINE);
    assert_int_equal(api.result.code, -CELLAR_ERR_DEADLINE);
    assert_true(api.result.attempts > 1);
    assert_true(api.result.latency_ns >= options.timeout_ns);
    if (!api.variant->threads) /* nobody sleeps beyond it */
        assert_true(api.result.latency_ns < options.timeout_ns + 50000);
    options.timeout_ns = 1; /* the first attempt always starts */
    assert_code(add_one(&api, 5, &options), -CELLAR_ERR_DEADLINE);
    assert_int_equal(api.result.attempts, 1);
    lock_five(&api, false);
    assert_code(add_one(&api, 5, &options), 0);
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 2);
    api_audit_clean(&api);
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
    TRY(cellar_access(txn, call->items, 5, 0, CELL_A, 0));
    return cellar_fetch(txn);
}

static void a_call_can_be_cancelled(void **state)
{
    struct api api;
    struct quitter args = {0};
    uint32_t cancel = 1;
    struct cellar_call_options options = {.cancel = &cancel};
    api_open(&api, *state);
    api_load(&api, 0, 10);
    assert_code(add_one(&api, 5, &options), -CELLAR_ERR_CANCELLED);
    assert_int_equal(api.result.attempts, 0);
    cancel = 0;
    assert_code(add_one(&api, 5, &options), 0);
    lock_five(&api, true);
    args.call = (struct api_call){.body = quit, .items = api.items};
    options.cancel = &args.cancel;
    assert_code(cellar_call(api.db, api.any, &args, &options, &api.result), -CELLAR_ERR_CANCELLED);
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
    struct cellar_stats before, now;
    pthread_t thread;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    lock_five(&api, true);
    cellar_stats_read(api.db, &before);
    assert_int_equal(pthread_create(&thread, NULL, cancelled_main, &canceller), 0);
    do { /* until it tries again */
        usleep(1000);
        cellar_stats_read(api.db, &now);
    } while (now.aborted < before.aborted + 2);
    __atomic_store_n(&canceller.cancel, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    assert_code(canceller.code, -CELLAR_ERR_CANCELLED);
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
    closing->call_code = cellar_call(closing->api->db, closing->api->any, &args, NULL, &result);
    return NULL;
}

static void *close_main(void *arg)
{
    struct closing *closing = arg;
    cellar_close(closing->api->db);
    return NULL;
}

static int no_client(struct cellar_session *session, void *arg)
{
    (void)session, (void)arg;
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
        struct cellar_schema schema = {"more", sizeof(struct item), item_columns, ITEM_COLUMNS, 10, 0};
        struct cellar_proc_def def = {.name = "more", .fn = api_any, .records_max = 1};
        api_open(&api, *state);
        assert_int_equal(pthread_create(&caller, NULL, held_main, &closing), 0);
        while (!__atomic_load_n(&closing.running, __ATOMIC_SEQ_CST)) usleep(100);
        assert_int_equal(pthread_create(&closer, NULL, close_main, &closing), 0);
        while (!atomic_load(&api.db->closing)) usleep(100);
        assert_code(add_one(&api, 1, NULL), -CELLAR_ERR_CLOSED);
        assert_code(api.result.code, -CELLAR_ERR_CLOSED);
        assert_int_equal(api.result.attempts, 0);
        assert_code(cellar_run(api.db, no_client, NULL), -CELLAR_ERR_CLOSED);
        FAILS(&api.error, cellar_table_create(api.db, &schema, &table, &api.error), CELLAR_ERR_CLOSED, "closing");
        FAILS(&api.error, cellar_proc_register(api.db, &def, &proc, &api.error), CELLAR_ERR_CLOSED, "closing");
        __atomic_store_n(&closing.release, 1, __ATOMIC_SEQ_CST);
        pthread_join(caller, NULL);
        pthread_join(closer, NULL);
        assert_code(closing.call_code, 0);
    }
}

static int hold_item(struct cellar_txn *txn, struct api_call *call)
{
    int ref = cellar_access(txn, call->items, 1, 0, CELLAR_ALL, 0);
    TRY(ref);
    TRY(cellar_fetch(txn));
    return wait_for_release(txn, call);
}

static void *vain_main(void *arg)
{
    struct closing *closing = arg;
    struct add args = add_args(closing->api, 1, 1);
    struct cellar_result result;
    closing->call_code = cellar_call(closing->api->db, closing->api->any, &args, NULL, &result);
    return NULL;
}

static void *holder_main(void *arg)
{
    struct closing *closing = arg;
    struct held args = {.call = {.body = hold_item, .items = closing->api->items}, .closing = closing};
    struct cellar_result result;
    closing->call_code = cellar_call(closing->api->db, closing->api->any, &args, NULL, &result);
    return NULL;
}

/*
 * One call has a lock, another one without a deadline wants it: the first one is waited for, the second one ends without effect. In mode
 * crest its attempt has begun to wait for the first one's inside the compute node, and ends like that one.
 */
static void closing_waits_for_no_lock(void **state)
{
    struct api api;
    pthread_t holder_thread, vain_thread, closer;
    api_open_with(&api, *state, (struct cellar_config){.threads = 2, .coros = 1});
    api_load(&api, 0, 10);
    struct closing holder = {.api = &api, .call_code = -1000}, vain = {.api = &api, .call_code = -1000};
    assert_int_equal(pthread_create(&holder_thread, NULL, holder_main, &holder), 0);
    while (!__atomic_load_n(&holder.running, __ATOMIC_SEQ_CST)) usleep(100);
    assert_int_equal(pthread_create(&vain_thread, NULL, vain_main, &vain), 0);
    usleep(20000); /* it has met the lock by then, or will be refused at once */
    assert_int_equal(pthread_create(&closer, NULL, close_main, &holder), 0);
    bool waits_inside = api.variant->cc == CELLAR_CC_CREST;
    if (!waits_inside) pthread_join(vain_thread, NULL);
    assert_int_equal(holder.call_code, -1000);
    __atomic_store_n(&holder.release, 1, __ATOMIC_SEQ_CST);
    if (waits_inside) pthread_join(vain_thread, NULL);
    if (!waits_inside || vain.call_code) assert_code(vain.call_code, -CELLAR_ERR_CLOSED);
    pthread_join(holder_thread, NULL);
    pthread_join(closer, NULL);
    assert_code(holder.call_code, 0);
}

/* ---- sessions ---- */

#define SESSIONS 12

struct visits {
    struct api *api;
    uint32_t count[SESSIONS], cn[SESSIONS];
    uint32_t wrong;
    int codes[SESSIONS];
};

static int visit(struct cellar_session *session, void *arg)
{
    struct visits *visits = arg;
    uint32_t index = cellar_session_index(session);
    uint64_t now = cellar_session_now_ns(session);
    struct cellar_result result;
    if (index >= SESSIONS || cellar_session_count(session) != SESSIONS) {
        __atomic_fetch_add(&visits->wrong, 1, __ATOMIC_RELAXED);
        return 0;
    }
    visits->count[index]++;
    visits->cn[index] = cellar_session_cn(session);
    for (uint32_t i = 0; i < 3; i++) {
        struct add args = add_args(visits->api, index % 10, index % 10);
        if (cellar_exec(session, visits->api->any, &args, NULL, &result)) visits->count[index] = 100;
        cellar_session_yield(session);
    }
    if (cellar_session_now_ns(session) < now) visits->count[index] = 101;
    return visits->codes[index];
}

static void clients_run_once_on_every_coordinator(void **state)
{
    struct api api;
    struct visits visits = {.api = &api};
    api_open_with(&api, *state, (struct cellar_config){.cns = 3, .threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    assert_code(cellar_run(api.db, visit, &visits), 0);
    assert_int_equal(visits.wrong, 0);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(visits.count[i], 1);
        assert_int_equal(visits.cn[i], i / 4);
    }
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 3 * SESSIONS);
    /* The first error is told, when all have ended. */
    visits.codes[4] = -77;
    visits.codes[9] = -78;
    visits.codes[1] = 5;
    assert_code(cellar_run(api.db, visit, &visits), -77);
    for (uint32_t i = 0; i < SESSIONS; i++) assert_int_equal(visits.count[i], 2);
    api_audit_clean(&api);
    api_close(&api);
}

static void *run_main(void *arg) { return (void *)(intptr_t)cellar_run(((struct visits *)arg)->api->db, visit, arg); }

static void runs_and_calls_may_overlap(void **state)
{
    struct api api;
    struct visits visits[2] = {{.api = &api}, {.api = &api}};
    pthread_t threads[2];
    api_open_with(&api, *state, (struct cellar_config){.cns = 3, .threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_main, &visits[i]), 0);
    for (int i = 0; i < 100; i++) assert_code(add_one(&api, 3, NULL), 0);
    for (int i = 0; i < 2; i++) {
        void *code;
        pthread_join(threads[i], &code);
        assert_null(code);
        for (uint32_t k = 0; k < SESSIONS; k++) assert_int_equal(visits[i].count[k], 1);
    }
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 2 * 3 * SESSIONS + 100);
    api_close(&api);
}

/* Tables are made and looked for, procedures registered, by several threads while others work. */
static void *maker_main(void *arg)
{
    struct caller *caller = arg;
    struct cellar *db = caller->api->db;
    struct cellar_pool_space space;
    struct cellar_stats stats;
    char name[CELLAR_NAME_BYTES];
    for (uint32_t i = 0; i < 8; i++) {
        const struct cellar_table *table;
        const struct cellar_proc *proc;
        struct cellar_schema schema = {name, sizeof(struct item), item_columns, ITEM_COLUMNS, 10, 0};
        struct cellar_proc_def def = {.name = name, .fn = api_any, .records_max = 1};
        snprintf(name, sizeof name, "own_%u_%u", caller->index, i);
        caller->failed += cellar_table_create(db, &schema, &table, NULL) != 0;
        caller->failed += cellar_table_find(db, name) != table;
        caller->failed += cellar_proc_register(db, &def, &proc, NULL) != 0;
        snprintf(name, sizeof name, "common_%u", i);
        caller->failed += cellar_table_create(db, &schema, &table, NULL) != 0;
        caller->failed += cellar_table_find(db, name) != table;
        caller->failed +=
            add_one(&(struct api){.db = db, .any = caller->api->any, .items = caller->api->items}, 3, NULL) != 0;
        cellar_pool_space_read(db, &space);
        cellar_stats_read(db, &stats);
        caller->failed += space.used_bytes == 0 || stats.committed == 0;
    }
    return NULL;
}

static void every_function_may_be_called_from_any_thread(void **state)
{
    struct api api;
    static struct caller makers[THREADS];
    api_open_with(&api, *state, (struct cellar_config){.threads = 2, .pool_bytes = 32u << 20});
    api_load(&api, 0, 10);
    for (uint32_t i = 0; i < THREADS; i++) {
        makers[i] = (struct caller){.api = &api, .index = i};
        assert_int_equal(pthread_create(&makers[i].thread, NULL, maker_main, &makers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(makers[i].thread, NULL);
        assert_int_equal(makers[i].failed, 0);
    }
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 8 * THREADS);
    api_audit_clean(&api);
    api_close(&api);
}

/* ---- statistics ---- */

static uint64_t sum_of(const uint64_t *counts, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += counts[i];
    return sum;
}

static int fail_on_purpose(struct cellar_txn *txn, struct api_call *call)
{
    (void)txn, (void)call;
    return CELLAR_USER_ABORT;
}

static void statistics_add_up(void **state)
{
    struct api api;
    struct cellar_stats stats;
    uint64_t attempts = 0;
    struct cellar_call_options options = {.timeout_ns = 1000000};
    struct quitter args;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    cellar_stats_reset(api.db);
    cellar_stats_read(api.db, &stats);
    assert_int_equal(sum_of((const uint64_t *)&stats, sizeof stats / 8), 0); /* loading is not counted later */
    for (uint32_t i = 0; i < 300; i++) {
        assert_code(add_one(&api, i % 10, NULL), 0);
        attempts += api.result.attempts;
    }
    lock_five(&api, true);
    assert_code(add_one(&api, 5, &options), -CELLAR_ERR_DEADLINE);
    attempts += api.result.attempts;
    lock_five(&api, false);
    assert_code(api_run(&api, fail_on_purpose, &args), -CELLAR_ERR_USER_ABORT);
    cellar_stats_read(api.db, &stats);
    assert_int_equal(stats.committed, 300);
    assert_int_equal(stats.aborted, attempts - 300);
    assert_int_equal(sum_of(stats.aborts, CELLAR_ABORT_REASONS), stats.aborted);
    assert_int_equal(stats.aborts[CELLAR_ABORT_LOCK_BUSY], stats.aborted);
    assert_true(stats.round_trips >= attempts && stats.round_trips < 10 * attempts);
    assert_int_equal(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_FAA], 0);
    assert_int_equal(stats.ops[CELLAR_PHASE_LOG][CELLAR_VERB_WRITE], 300);
    assert_true(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_MASKED_CAS] >= attempts);
    assert_true(stats.phase_samples > 0 && stats.phase_samples <= 300);
    cellar_stats_reset(api.db);
    cellar_stats_read(api.db, &stats);
    assert_int_equal(sum_of((const uint64_t *)&stats, sizeof stats / 8), 0);
    api_close(&api);
}

static int read_one(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int ref = cellar_access(txn, call->items, ((const struct add *)call)->keys[0], CELL_A, 0, 0);
    TRY(ref);
    TRY(cellar_fetch(txn));
    return cellar_get(txn, ref, ITEM_A, &a);
}

/* What simple transactions cost at most, once their addresses are known; the first is for a line-atomic fabric. */
static void simple_transactions_cost_little(void **state)
{
    struct api api;
    struct cellar_stats stats;
    struct add args;
    api_open_with(&api, *state, (struct cellar_config){.coros = 1});
    api_load(&api, 0, 10);
    bool atomic = db_fabric(api.db)->line_atomic;
    uint64_t cost = UINT64_MAX, least = atomic ? 1 : 2;
    for (int round = 0; round < 10 && cost > least; round++) { /* kept off the processor amid a read, it reads again */
        args = add_args(&api, 3, 3);
        args.call.body = read_one;
        cellar_stats_reset(api.db);
        assert_code(cellar_call(api.db, api.any, &args, NULL, &api.result), 0);
        cellar_stats_read(api.db, &stats);
        cost = sum_of(&stats.ops[0][0], CELLAR_PHASES * CELLAR_VERBS);
    }
    assert_int_equal(cost, least);
    assert_int_equal(stats.round_trips, atomic ? 1 : 2);
    cellar_stats_reset(api.db);
    assert_code(add_one(&api, 3, NULL), 0);
    cellar_stats_read(api.db, &stats);
    assert_int_equal(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_MASKED_CAS], 1);
    assert_int_equal(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ], 1);
    assert_int_equal(stats.ops[CELLAR_PHASE_LOG][CELLAR_VERB_WRITE], 1);
    assert_int_equal(stats.ops[CELLAR_PHASE_APPLY][CELLAR_VERB_MASKED_CAS], 1);
    assert_true(sum_of(&stats.ops[0][0], CELLAR_PHASES * CELLAR_VERBS) <= 6);
    assert_true(stats.round_trips <= 3);
    api_close(&api);
}

/* ---- allocations ---- */

struct churn {
    struct api_call call;
    uint64_t key;
    bool insert;
};

static int churn(struct cellar_txn *txn, struct api_call *call)
{
    const struct churn *args = (const struct churn *)call;
    const struct item item = {.a = args->key};
    int ref = args->insert ? cellar_insert(txn, call->items, args->key, &item)
                           : cellar_access(txn, call->items, args->key, 0, 0, CELLAR_DELETE);
    TRY(ref);
    return cellar_fetch(txn);
}

struct busy {
    struct api *api;
    uint32_t sessions_busy;
    uint64_t allocated;
};

/* Transfers, reads, inserts and deletes: from one moment at which all sessions are at it to another. */
static int be_busy(struct cellar_session *session, void *arg)
{
    struct busy *busy = arg;
    struct api *api = busy->api;
    uint32_t index = cellar_session_index(session);
    struct cellar_result result;
    for (uint32_t i = 0; i < 10000; i++) {
        struct add args = add_args(api, i % 10, (i + index) % 10);
        struct churn churns = {.call = {.body = churn, .items = api->items}, .key = 1000 + index, .insert = i % 8 == 0};
        if (i % 4 == 1) args.call.body = read_one;
        if (i == 16 && __atomic_add_fetch(&busy->sessions_busy, 1, __ATOMIC_SEQ_CST) == cellar_session_count(session))
            busy->allocated = allocations();
        TRY(i % 4 ? cellar_exec(session, api->any, &args, NULL, &result)
                  : cellar_exec(session, api->any, &churns, NULL, &result));
    }
    return 0;
}

static void transactions_allocate_nothing(void **state)
{
    struct api api;
    struct busy busy = {.api = &api};
    struct add args;
    if (!COUNTED) skip();
    api_open_with(&api, *state, (struct cellar_config){.threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    args = add_args(&api, 1, 2);
    assert_code(cellar_call(api.db, api.any, &args, NULL, &api.result), 0);
    uint64_t before = allocations();
    for (uint32_t i = 0; i < 10000; i++) assert_code(cellar_call(api.db, api.any, &args, NULL, &api.result), 0);
    assert_int_equal(allocations() - before, 0);
    assert_code(cellar_run(api.db, be_busy, &busy), 0);
    assert_int_equal(allocations() - busy.allocated, 0);
    assert_true(allocations() > before); /* the run itself: the count does count */
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST_SHM(threads_may_call_at_once),
        API_TEST(a_deadline_ends_the_retries),
        API_TEST(a_call_can_be_cancelled),
        API_TEST_SHM(another_thread_can_cancel),
        API_TEST_SHM(closing_waits_for_calls_and_refuses_new_ones),
        API_TEST_SHM(closing_waits_for_no_lock),
        API_TEST(clients_run_once_on_every_coordinator),
        API_TEST_SHM(runs_and_calls_may_overlap),
        API_TEST_SHM(every_function_may_be_called_from_any_thread),
        API_TEST(statistics_add_up),
        API_TEST(simple_transactions_cost_little),
        API_TEST_SHM(transactions_allocate_nothing),
    };
    return api_main("api_call", tests, sizeof tests / sizeof *tests, argc, argv);
}
