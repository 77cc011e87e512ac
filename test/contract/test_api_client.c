/* test_api_client.c - cellar.h: client functions, what may overlap, statistics; a transaction allocates nothing. */
#include "api_items.h"
#include "numbered.h"

#include <pthread.h>

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

/* ---- client functions ---- */

#define SESSIONS 12

struct visits {
    struct api *api;
    uint32_t count[SESSIONS], cn[SESSIONS];
    uint32_t wrong;
    int codes[SESSIONS];
};

static int visit(struct cellar_lab_client *client, void *arg)
{
    struct visits *visits = arg;
    uint32_t index = cellar_lab_index(client);
    uint64_t now = cellar_lab_now_ns(client);
    struct cellar_result result;
    if (index >= SESSIONS || cellar_lab_count(client) != SESSIONS) {
        __atomic_fetch_add(&visits->wrong, 1, __ATOMIC_RELAXED);
        return 0;
    }
    visits->count[index]++;
    visits->cn[index] = cellar_lab_cn(client);
    for (uint32_t i = 0; i < 3; i++) {
        struct add args = add_args(visits->api, index % 10, index % 10);
        if (cellar_lab_exec(client, visits->api->any, &args, NULL, &result)) visits->count[index] = 100;
        cellar_lab_yield(client);
    }
    if (cellar_lab_now_ns(client) < now) visits->count[index] = 101;
    return visits->codes[index];
}

static void clients_run_once_on_every_coordinator(void **state)
{
    struct api api;
    struct visits visits = {.api = &api};
    api_open_with(&api, *state, (struct engine_config){.cns = 3, .threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    assert_code(cellar_lab_run(api.db, visit, &visits), 0);
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
    assert_code(cellar_lab_run(api.db, visit, &visits), -77);
    for (uint32_t i = 0; i < SESSIONS; i++) assert_int_equal(visits.count[i], 2);
    api_audit_clean(&api);
    api_close(&api);
}

static void *run_main(void *arg)
{
    return (void *)(intptr_t)cellar_lab_run(((struct visits *)arg)->api->db, visit, arg);
}

static void runs_and_calls_may_overlap(void **state)
{
    struct api api;
    struct visits visits[2] = {{.api = &api}, {.api = &api}};
    pthread_t threads[2];
    api_open_with(&api, *state, (struct engine_config){.cns = 3, .threads = 2, .coros = 2});
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

#define MAKERS 4

struct maker {
    pthread_t thread;
    struct api *api;
    uint32_t index, failed;
};

/* Tables are made and looked for, procedures registered, by several threads while others work. */
static void *maker_main(void *arg)
{
    struct maker *maker = arg;
    struct cellar *db = maker->api->db;
    struct cellar_lab_pool_space space;
    struct cellar_lab_stats stats;
    char name[CELLAR_NAME_BYTES];
    for (uint32_t i = 0; i < 8; i++) {
        const struct cellar_table *table;
        const struct cellar_proc *proc;
        struct cellar_schema schema = {name, sizeof(struct item), item_columns, ITEM_COLUMNS, 10, 0, 0, 0, 0, 0};
        struct cellar_proc_def def = {.name = name, .fn = api_any, .records_max = 1};
        snprintf(name, sizeof name, "own_%u_%u", maker->index, i);
        maker->failed += db_table_create(db, &schema, &table, NULL) != 0;
        maker->failed += cellar_table_find(db, name) != table;
        maker->failed += db_proc_register(db, &def, &proc, NULL) != 0;
        snprintf(name, sizeof name, "common_%u", i);
        maker->failed += db_table_create(db, &schema, &table, NULL) != 0;
        maker->failed += cellar_table_find(db, name) != table;
        maker->failed +=
            add_one(&(struct api){.db = db, .any = maker->api->any, .items = maker->api->items}, 3, NULL) != 0;
        cellar_lab_pool_space_read(db, &space);
        cellar_lab_stats_read(db, &stats);
        maker->failed += space.used_bytes == 0 || stats.committed == 0;
    }
    return NULL;
}

static void every_function_may_be_called_from_any_thread(void **state)
{
    struct api api;
    static struct maker makers[MAKERS];
    api_open_with(&api, *state, (struct engine_config){.threads = 2, .pool_bytes = 32u << 20});
    api_load(&api, 0, 10);
    for (uint32_t i = 0; i < MAKERS; i++) {
        makers[i] = (struct maker){.api = &api, .index = i};
        assert_int_equal(pthread_create(&makers[i].thread, NULL, maker_main, &makers[i]), 0);
    }
    for (uint32_t i = 0; i < MAKERS; i++) {
        pthread_join(makers[i].thread, NULL);
        assert_int_equal(makers[i].failed, 0);
    }
    assert_int_equal(api_totals(&api).sum_a, 3 * 45 + 8 * MAKERS);
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
    return ERR_GIVEN_UP;
}

static void statistics_add_up(void **state)
{
    struct api api;
    struct cellar_lab_stats stats;
    uint64_t attempts = 0;
    struct cellar_call_options options = {.timeout_ns = 1000000};
    struct add args;
    api_open(&api, *state);
    api_load(&api, 0, 10);
    cellar_lab_stats_reset(api.db);
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(sum_of((const uint64_t *)&stats, sizeof stats / 8), 0); /* loading is not counted later */
    for (uint32_t i = 0; i < 300; i++) {
        assert_code(add_one(&api, i % 10, NULL), 0);
        attempts += api.result.attempts;
    }
    lock_five(&api, true);
    assert_code(add_one(&api, 5, &options), CELLAR_DEADLINE);
    attempts += api.result.attempts;
    lock_five(&api, false);
    assert_code(api_run(&api, fail_on_purpose, &args), ERR_GIVEN_UP);
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(stats.committed, 300);
    assert_int_equal(stats.aborted, attempts - 300);
    assert_int_equal(sum_of(stats.aborts, CELLAR_ABORT_REASONS), stats.aborted);
    assert_int_equal(stats.aborts[CELLAR_ABORT_LOCK_BUSY], stats.aborted);
    assert_true(stats.round_trips >= attempts && stats.round_trips < 10 * attempts);
    if (!mode_of(api.variant->cc)->locks) assert_int_equal(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_FAA], 0);
    assert_int_equal(stats.ops[CELLAR_PHASE_LOG][CELLAR_VERB_WRITE], 300);
    assert_true(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_MASKED_CAS] >= attempts);
    assert_true(stats.phase_samples > 0 && stats.phase_samples <= 300);
    cellar_lab_stats_reset(api.db);
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(sum_of((const uint64_t *)&stats, sizeof stats / 8), 0);
    api_close(&api);
}

static int read_one(struct cellar_txn *txn, struct api_call *call)
{
    uint64_t a;
    int ref = cellar_proc_access(txn, call->items, ((const struct add *)call)->keys[0], CELL_A, 0, 0);
    TRY(ref);
    TRY(cellar_proc_fetch(txn));
    return cellar_proc_get(txn, ref, ITEM_A, &a);
}

/*
 * What simple transactions cost at most, once their addresses are known. A read on a fabric whose lines are atomic is
 * one READ, else two; mode 2pl takes a lock and gives it back. An update is a lock and a READ, the log, the WRITE of
 * cell and epoch number, an unlock; mode motor draws a TS besides, and writes what was displaced.
 */
static void simple_transactions_cost_little(void **state)
{
    struct api api;
    struct cellar_lab_stats stats;
    struct add args;
    api_open_with(&api, *state, (struct engine_config){.coros = 1});
    api_load(&api, 0, 10);
    const struct mode *mode = mode_of(api.variant->cc);
    const uint64_t lock = mode->locks ? 2 : 0, clock = mode->versions ? 1 : 0;
    uint64_t cost = UINT64_MAX, least = lock + (db_fabric(api.db)->line_atomic || mode->locks ? 1 : 2);
    for (int round = 0; round < 10 && cost > least; round++) { /* kept off the processor amid a read, it reads again */
        args = add_args(&api, 3, 3);
        args.call.body = read_one;
        cellar_lab_stats_reset(api.db);
        assert_code(cellar_proc_run(api.db, api.any, &args, NULL, &api.result), 0);
        cellar_lab_stats_read(api.db, &stats);
        cost = sum_of(&stats.ops[0][0], CELLAR_PHASES * CELLAR_VERBS);
    }
    assert_int_equal(cost, least);
    assert_int_equal(stats.round_trips, least);
    cellar_lab_stats_reset(api.db);
    assert_code(add_one(&api, 3, NULL), 0);
    cellar_lab_stats_read(api.db, &stats);
    assert_int_equal(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_MASKED_CAS], 1);
    assert_int_equal(stats.ops[CELLAR_PHASE_EXECUTE][CELLAR_VERB_READ], 1);
    assert_int_equal(stats.ops[CELLAR_PHASE_LOG][CELLAR_VERB_WRITE], 1);
    assert_int_equal(stats.ops[CELLAR_PHASE_APPLY][CELLAR_VERB_MASKED_CAS], 1);
    assert_true(sum_of(&stats.ops[0][0], CELLAR_PHASES * CELLAR_VERBS) <= 6 + lock + 2 * clock);
    assert_true(stats.round_trips <= 3 + lock + clock);
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
    int ref = args->insert ? cellar_proc_insert(txn, call->items, args->key, &item)
                           : cellar_proc_access(txn, call->items, args->key, 0, 0, CELLAR_DELETE);
    TRY(ref);
    return cellar_proc_fetch(txn);
}

struct busy {
    struct api *api;
    uint32_t sessions_busy;
    uint64_t allocated;
};

/* Transfers, reads, inserts and deletes: from one moment at which all sessions are at it to another. */
static int be_busy(struct cellar_lab_client *client, void *arg)
{
    struct busy *busy = arg;
    struct api *api = busy->api;
    uint32_t index = cellar_lab_index(client);
    struct cellar_result result;
    for (uint32_t i = 0; i < 10000; i++) {
        struct add args = add_args(api, i % 10, (i + index) % 10);
        struct churn churns = {.call = {.body = churn, .items = api->items}, .key = 1000 + index, .insert = i % 8 == 0};
        if (i % 4 == 1) args.call.body = read_one;
        if (i == 16 && __atomic_add_fetch(&busy->sessions_busy, 1, __ATOMIC_SEQ_CST) == cellar_lab_count(client))
            busy->allocated = allocations();
        TRY(i % 4 ? cellar_lab_exec(client, api->any, &args, NULL, &result)
                  : cellar_lab_exec(client, api->any, &churns, NULL, &result));
    }
    return 0;
}

static void transactions_allocate_nothing(void **state)
{
    struct api api;
    struct busy busy = {.api = &api};
    struct add args;
    if (!COUNTED) skip();
    api_open_with(&api, *state, (struct engine_config){.threads = 2, .coros = 2});
    api_load(&api, 0, 10);
    args = add_args(&api, 1, 2);
    assert_code(cellar_proc_run(api.db, api.any, &args, NULL, &api.result), 0);
    uint64_t before = allocations();
    for (uint32_t i = 0; i < 10000; i++) assert_code(cellar_proc_run(api.db, api.any, &args, NULL, &api.result), 0);
    assert_int_equal(allocations() - before, 0);
    assert_code(cellar_lab_run(api.db, be_busy, &busy), 0);
    assert_int_equal(allocations() - busy.allocated, 0);
    assert_true(allocations() > before); /* the run itself: the count does count */
    api_audit_clean(&api);
    api_close(&api);
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(clients_run_once_on_every_coordinator),
        API_TEST_SHM(runs_and_calls_may_overlap),
        API_TEST_SHM(every_function_may_be_called_from_any_thread),
        API_TEST(statistics_add_up),
        API_TEST(simple_transactions_cost_little),
        API_TEST_SHM(transactions_allocate_nothing),
    };
    return api_main("api_client", tests, sizeof tests / sizeof *tests, argc, argv);
}
