/*
 * test_api_closed.c - calls by handles that are out of date (handle.h): of a database that is closed, of another one,
 * in a child of fork; calls within calls; and what closing waits for, or refuses.
 */
#include "db_alter.h"
#include "numbered.h"
#include "db_drop.h"
#include "db_failover.h"
#include "db_queue.h"
#include "db_recover.h"
#include "db_snapshot.h"
#include "durable.h"
#include "ordered.h"
#include "session.h"
#include "sessions.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 200

/* All kinds of handles of one database. */
struct handles {
    struct api api;
    const struct cellar_index *by_a; /* NULL: the mode has none */
    struct session *session;         /* likewise */
    struct cellar_queue *queue;
};

static void handles_open(struct handles *handles, const struct api_variant *variant)
{
    static const struct cellar_schema_index_column columns[] = {{.column = "a"}};
    const struct cellar_schema_index def = {.name = "by_a", .columns = columns, .column_count = 1};
    struct api *api = &handles->api;
    *handles = (struct handles){.session = NULL};
    api_open(api, variant);
    api_load(api, 0, 10);
    if (ordered_supported(variant))
        MUST(&api->error, db_index_create(api->db, api->items, &def, &handles->by_a, &api->error));
    if (sessions_possible(variant)) handles->session = sessions_opened(api);
    MUST(&api->error, db_queue_open(api->db, 4, NULL, NULL, &handles->queue, &api->error));
}

static int nothing(struct cellar_txn *txn, struct api_call *call) { return 0; }

static int no_client(struct cellar_lab_client *client, void *arg) { return 0; }

/* What was met where it should not be is noted here: it is also called where cmocka may not jump. */
struct finding {
    uint32_t count;
    char text[WORDS];
};

static void expect(struct finding *finding, const char *what, int64_t got, int64_t wanted)
{
    if (got == wanted) return;
    if (finding->count++ == 0)
        snprintf(finding->text, sizeof finding->text, "%s: %lld, not %lld", what, (long long)got, (long long)wanted);
}
#define EXPECT(finding, call, wanted) expect(finding, #call, (int64_t)(call), wanted)

/* Each call about the database itself ends so; and those that have no code with nothing. */
static void db_calls(const struct handles *handles, int code, struct finding *finding)
{
    struct cellar *db = handles->api.db;
    const struct cellar_table *items = handles->api.items, *table;
    const struct cellar_schema schema = {.name = "x"};
    const struct cellar_schema_index def = {.name = "x"};
    const struct cellar_proc_def proc_def = {.name = "x", .fn = api_any};
    const struct cellar_index *index;
    const struct cellar_proc *proc;
    struct session *session;
    struct cellar_queue *queue;
    struct cellar_completion completion;
    struct cellar_result result;
    struct cellar_error error = {0};
    struct api_call call = {.body = nothing};
    enum cellar_fate fate;
    EXPECT(finding, cellar_proc_run(db, handles->api.any, &call, NULL, &result), code);
    EXPECT(finding, result.code, code);
    cellar_proc_error(&result, &error);
    EXPECT(finding, strstr(error.text, "it is closed, or") != NULL, code == CELLAR_CLOSED);
    EXPECT(finding, cellar_lab_run(db, no_client, NULL), code);
    EXPECT(finding, db_table_create(db, &schema, &table, &error), code);
    EXPECT(finding, error.code, code);
    EXPECT(finding, db_index_create(db, items, &def, &index, &error), code);
    EXPECT(finding, db_proc_register(db, &proc_def, &proc, &error), code);
    EXPECT(finding, db_table_drop(db, items, &error), code);
    EXPECT(finding, db_table_truncate(db, items, &error), code);
    EXPECT(finding, db_index_drop(db, handles->by_a, &error), handles->by_a ? code : CELLAR_INVALID);
    EXPECT(finding, db_table_alter(db, items, &(struct cellar_table_def){.name = "x"}, NULL, &table, &error), code);
    EXPECT(finding, db_queue_open(db, 1, NULL, NULL, &queue, &error), code);
    EXPECT(finding, session_open(db, &session, &error), code);
    EXPECT(finding, db_outcome_ask(db, (uint64_t[2]){1, 1}, &fate, &error), code);
    EXPECT(finding, db_recover(db, 0, &error), code);
    EXPECT(finding, db_node_replace(db, 0, &error), code);
    EXPECT(finding, db_backup(db, "/nowhere", &error), code);
    EXPECT(finding, db_sync(db, 0, &error), code);
    EXPECT(finding, cellar_proc_submit(handles->queue, handles->api.any, &call, NULL, NULL), code);
    EXPECT(finding, cellar_proc_reap(handles->queue, &completion, 1, 0), code);
    EXPECT(finding, cellar_close(db), code);
    EXPECT(finding, call.runs, 0);
}

static void db_looks(struct cellar *db, const struct cellar_table *items, struct finding *finding)
{
    struct cellar_lab_stats stats;
    struct cellar_lab_way way;
    struct cellar_lab_durable durable;
    struct cellar_lab_table_tally tally;
    struct cellar_lab_pool_space space;
    struct cellar_lab_hot_record record;
    char text[WORDS];
    cellar_lab_stats_read(db, &stats);
    EXPECT(finding, stats.committed, 0);
    cellar_lab_stats_reset(db);
    cellar_lab_way_read(db, &way);
    cellar_lab_table_read(db, items, &tally);
    cellar_lab_pool_space_read(db, &space);
    EXPECT(finding, space.used_bytes, 0);
    EXPECT(finding, cellar_lab_cache_bytes(db), 0);
    EXPECT(finding, cellar_lab_hot_read(db, &record, 1), 0);
    EXPECT(finding, cellar_metrics(db, text, sizeof text), 0);
    EXPECT(finding, cellar_durable_epoch(db), 0);
    EXPECT(finding, cellar_lab_durable_read(db, &durable), CELLAR_CLOSED);
    EXPECT(finding, cellar_table_find(db, "items") != NULL, false);
    EXPECT(finding, cellar_schema_next(db, NULL) != NULL, false);
    EXPECT(finding, cellar_lab_proc_next(db, NULL) != NULL, false);
}

static void session_calls(const struct handles *handles, struct cellar_txn *txn, struct finding *finding)
{
    struct cellar_txn *begun;
    struct cellar_error error = {0};
    uint64_t a = 7;
    const struct cellar_table *items = handles->api.items;
    const struct cellar_txn_read read = {.table = items, .key = 1, .cells = CELL_A};
    struct item item = item_of(77);
    EXPECT(finding, session_begin(handles->session, NULL, &begun), CELLAR_CLOSED);
    error = *cellar_last_error();
    EXPECT(finding, error.code, CELLAR_CLOSED);
    session_close(handles->session);
    if (!txn) return;
    EXPECT(finding, cellar_txn_get(txn, items, 1, ITEM_A, &a), CELLAR_CLOSED);
    EXPECT(finding, cellar_txn_get_for_update(txn, items, 1, ITEM_A, &a), CELLAR_CLOSED);
    EXPECT(finding, cellar_prefetch(txn, &read, 1), CELLAR_CLOSED);
    EXPECT(finding, cellar_txn_put(txn, items, 1, ITEM_A, &a), CELLAR_CLOSED);
    EXPECT(finding, cellar_txn_insert(txn, items, 77, &item), CELLAR_CLOSED);
    EXPECT(finding, cellar_txn_delete(txn, items, 1), CELLAR_CLOSED);
    EXPECT(finding, cellar_txn_find(txn, items, "x", 1, &a), CELLAR_CLOSED);
    EXPECT(finding, cellar_txn_scan(txn, handles->by_a, &(struct cellar_range){0}, 0, 0, &a, 1), CELLAR_CLOSED);
    EXPECT(finding, cellar_savepoint(txn), CELLAR_CLOSED);
    EXPECT(finding, cellar_rollback_to(txn, 0), CELLAR_CLOSED);
    EXPECT(finding, cellar_check(txn), CELLAR_CLOSED);
    EXPECT(finding, session_commit(txn, NULL), CELLAR_CLOSED);
    EXPECT(finding, session_abort(txn), CELLAR_CLOSED);
    EXPECT(finding, a, 7);
}

static void nothing_found(const struct finding *finding)
{
    if (finding->count) fail_msg("%u calls, the first of them %s", finding->count, finding->text);
}

/* ---- closed ---- */

static void a_closed_database_refuses_each_call(void **state)
{
    struct handles handles;
    struct finding finding = {0};
    struct cellar_txn *txn = NULL;
    handles_open(&handles, *state);
    if (handles.session) txn = sessions_begun(handles.session);
    if (txn) assert_code(session_commit(txn, NULL), 0);
    assert_code(cellar_close(handles.api.db), 0);
    db_calls(&handles, CELLAR_CLOSED, &finding);
    db_looks(handles.api.db, handles.api.items, &finding);
    if (handles.session) session_calls(&handles, txn, &finding);
    cellar_proc_queue_close(handles.queue);
    assert_int_equal(cellar_column_of(handles.api.items, "a"), CELLAR_NOT_FOUND);
    assert_null(cellar_index_find(handles.api.items, "by_a"));
    nothing_found(&finding);
    /* The next one, wherever it is, is no other's. */
    struct handles others;
    handles_open(&others, *state);
    assert_ptr_not_equal(handles.api.db, others.api.db);
    assert_ptr_not_equal(handles.api.items, others.api.items);
    db_calls(&handles, CELLAR_CLOSED, &finding);
    nothing_found(&finding);
    api_close(&others.api);
}

static void nothing_is_no_database(void **state)
{
    struct handles handles = {.session = NULL};
    (void)state;
    assert_code(cellar_close(NULL), 0);
    cellar_proc_queue_close(NULL);
    session_close(NULL);
    assert_int_equal(cellar_lab_run(NULL, no_client, NULL), CELLAR_INVALID);
    assert_int_equal(cellar_proc_run(NULL, NULL, NULL, NULL, NULL), CELLAR_INVALID);
    assert_int_equal(cellar_proc_submit(handles.queue, NULL, NULL, NULL, NULL), CELLAR_INVALID);
    assert_int_equal(session_open(NULL, &handles.session, NULL), CELLAR_INVALID);
    assert_int_equal(db_backup(NULL, "x", NULL), CELLAR_INVALID);
    assert_int_equal(db_table_drop(NULL, NULL, NULL), CELLAR_INVALID);
}

/* ---- what is of another database ---- */

struct foreign {
    struct api_call call;
    const struct handles *of;
};

static int access_foreign(struct cellar_txn *txn, struct api_call *call)
{
    const struct foreign *foreign = (const struct foreign *)call;
    return cellar_proc_access(txn, foreign->of->api.items, 1, 0, CELL_A, 0);
}

static int insert_foreign(struct cellar_txn *txn, struct api_call *call)
{
    const struct foreign *foreign = (const struct foreign *)call;
    struct item item = item_of(99);
    return cellar_proc_insert(txn, foreign->of->api.items, 99, &item);
}

static int scan_foreign(struct cellar_txn *txn, struct api_call *call)
{
    const struct foreign *foreign = (const struct foreign *)call;
    return cellar_proc_cursor_open(txn, foreign->of->by_a, &(struct cellar_range){0}, 0, 0, 0, 0);
}

static int exec_foreign(struct cellar_lab_client *client, void *arg, struct cellar_error *error)
{
    const struct handles *of = arg;
    struct api_call call = {.body = nothing};
    int rc = cellar_lab_exec(client, of->api.any, &call, NULL, NULL);
    if (rc == CELLAR_INVALID) rc = db_load(client, of->api.items, 99, &(struct item){0}, error);
    return rc == CELLAR_INVALID || rc == CELLAR_UNSUPPORTED ? 0 : 1;
}

/* By the handles of `of`, which is another database, open or closed. */
static void foreign_calls(struct handles *handles, const struct handles *of)
{
    struct api *api = &handles->api;
    struct foreign foreign = {.of = of};
    struct api_call call = {.body = nothing};
    const struct cellar_schema_index def = {.name = "x"};
    const struct cellar_index *index;
    const struct cellar_table *table;
    struct cellar_lab_tally tally;
    cellar_lab_proc_read(api->db, of->api.any, &tally);
    assert_int_equal(tally.calls, 0);
    assert_code(cellar_proc_run(api->db, of->api.any, &call, NULL, &api->result), CELLAR_INVALID);
    cellar_proc_error(&api->result, &api->error);
    assert_non_null(strstr(api->error.text, "of another database"));
    assert_code(cellar_proc_submit(handles->queue, of->api.any, &call, NULL, NULL), CELLAR_INVALID);
    assert_int_equal(call.runs, 0);
    assert_code(api_run(api, access_foreign, &foreign), CELLAR_INVALID);
    cellar_proc_error(&api->result, &api->error);
    assert_non_null(strstr(api->error.text, "of another database"));
    assert_code(api_run(api, insert_foreign, &foreign), CELLAR_INVALID);
    if (of->by_a) assert_code(api_run(api, scan_foreign, &foreign), CELLAR_INVALID);
    assert_code(api_alone(api, exec_foreign, (void *)of), 0);
    FAILS(&api->error, db_table_drop(api->db, of->api.items, &api->error), CELLAR_INVALID, "another database");
    FAILS(&api->error, db_table_truncate(api->db, of->api.items, &api->error), CELLAR_INVALID, "another");
    FAILS(&api->error,
          db_table_alter(api->db, of->api.items, &(struct cellar_table_def){.name = "x"}, NULL, &table, &api->error),
          CELLAR_INVALID, "another");
    FAILS(&api->error, db_index_create(api->db, of->api.items, &def, &index, &api->error), CELLAR_INVALID, "");
    if (of->by_a) FAILS(&api->error, db_index_drop(api->db, of->by_a, &api->error), CELLAR_INVALID, "");
}

static void foreign_session_calls(struct handles *handles, const struct handles *of)
{
    uint64_t a = 7;
    struct item item = item_of(99);
    struct cellar_txn *txn = sessions_begun(handles->session);
    const struct cellar_table *items = of->api.items;
    const struct cellar_txn_read read = {.table = items, .key = 1, .cells = CELL_A};
    assert_code(cellar_txn_get(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "of another database", "");
    assert_code(cellar_txn_get_for_update(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    assert_code(cellar_prefetch(txn, &read, 1), CELLAR_INVALID);
    assert_code(cellar_txn_put(txn, items, 1, ITEM_A, &a), CELLAR_INVALID);
    assert_code(cellar_txn_insert(txn, items, 99, &item), CELLAR_INVALID);
    assert_code(cellar_txn_delete(txn, items, 1), CELLAR_INVALID);
    if (of->by_a) assert_code(cellar_txn_scan(txn, of->by_a, &(struct cellar_range){0}, 0, 0, &a, 1), CELLAR_INVALID);
    assert_int_equal(a, 7);
    assert_int_equal(sessions_got(&handles->api, txn, 1), 3); /* it goes on */
    assert_code(session_commit(txn, NULL), 0);
}

static void handles_of_another_database_are_refused(void **state)
{
    struct handles handles, of;
    handles_open(&handles, *state);
    handles_open(&of, *state);
    for (int closed = 0; closed < 2; closed++) {
        foreign_calls(&handles, &of);
        if (handles.session) foreign_session_calls(&handles, &of);
        if (!closed) assert_code(cellar_close(of.api.db), 0);
    }
    api_audit_clean(&handles.api);
    api_close(&handles.api);
}

/* ---- in a child ---- */

/* The parent goes on, its transaction, too. */
static void a_child_is_refused(void **state)
{
    struct handles handles;
    struct finding finding = {0};
    struct cellar_txn *txn = NULL;
    const struct api_variant *variant = *state;
    int status;
    if (!variant->threads) skip(); /* a fabric that fork leaves whole */
    handles_open(&handles, variant);
    if (handles.session) txn = sessions_begun(handles.session);
    if (txn) sessions_put(&handles.api, txn, 1, 5);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        db_calls(&handles, CELLAR_CLOSED, &finding);
        db_looks(handles.api.db, handles.api.items, &finding);
        if (handles.session) session_calls(&handles, txn, &finding);
        cellar_proc_queue_close(handles.queue);
        if (finding.count) fprintf(stderr, "the child: %s\n", finding.text);
        _exit(finding.count ? 1 : 0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    if (txn) assert_code(session_commit(txn, NULL), 0);
    api_audit_clean(&handles.api);
    api_close(&handles.api);
}

/* ---- calls within calls ---- */

struct within {
    struct api_call call;
    struct handles *handles;
    struct finding finding;
};

static void calls_within(struct handles *handles, struct finding *finding)
{
    struct cellar_txn *txn;
    struct cellar_error error = {0};
    db_calls(handles, CELLAR_INVALID, finding);
    if (!handles->session) return;
    EXPECT(finding, session_begin(handles->session, NULL, &txn), CELLAR_INVALID);
    error = *cellar_last_error();
    EXPECT(finding, strstr(error.text, "would wait for itself") != NULL, true);
    EXPECT(finding, session_transact(handles->session, NULL, NULL), CELLAR_INVALID);
}

static int call_within(struct cellar_txn *txn, struct api_call *call)
{
    struct within *within = (struct within *)call;
    calls_within(within->handles, &within->finding);
    return 0;
}

static int run_within(struct cellar_lab_client *client, void *arg)
{
    struct within *within = arg;
    struct cellar_lab_stats stats = {0};
    if (cellar_lab_index(client) > 0) return 0;
    calls_within(within->handles, &within->finding);
    cellar_lab_stats_read(within->handles->api.db, &stats); /* waits for nothing, and may be asked */
    EXPECT(&within->finding, stats.committed > 0, true);
    return 0;
}

static void a_call_within_a_call_is_refused(void **state)
{
    struct handles handles;
    handles_open(&handles, *state);
    struct within within = {.handles = &handles};
    assert_code(api_run(&handles.api, call_within, &within), 0);
    nothing_found(&within.finding);
    assert_code(cellar_lab_run(handles.api.db, run_within, &within), 0);
    nothing_found(&within.finding);
    api_close(&handles.api);
}

/* The session is as a signal handler finds it amid a call, and as a jump out of a call leaves it. */
static void a_call_amid_a_call_of_its_session_is_refused(void **state)
{
    struct sessions_pair pair;
    uint64_t a;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *begun, *txn = sessions_begun(pair.one);
    pair.one->amid = true;
    assert_code(session_begin(pair.one, NULL, &begun), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "has not returned", "");
    assert_code(cellar_txn_get(txn, pair.api.items, 1, ITEM_A, &a), CELLAR_INVALID);
    sessions_assert_line(CELLAR_INVALID, "has not returned", "");
    assert_code(session_commit(txn, NULL), CELLAR_INVALID);
    assert_code(cellar_close(pair.api.db), CELLAR_BUSY);
    pair.one->amid = false;
    assert_code(session_commit(txn, NULL), 0);
    sessions_pair_close(&pair);
}

/* ---- what closing finds ---- */

static void an_open_transaction_keeps_it_open(void **state)
{
    struct sessions_pair pair;
    if (!sessions_pair_open(&pair, *state)) skip();
    struct cellar_txn *txn = sessions_begun(pair.one);
    sessions_put(&pair.api, txn, 1, 44);
    assert_code(cellar_close(pair.api.db), CELLAR_BUSY);
    assert_code(session_commit(txn, NULL), 0);
    txn = sessions_begun(pair.two);
    assert_int_equal(sessions_got(&pair.api, txn, 1), 44);
    assert_code(cellar_close(pair.api.db), CELLAR_BUSY);
    assert_code(session_abort(txn), 0);
    sessions_pair_close(&pair);
}

struct thinker {
    struct api *api;
    pthread_barrier_t begun, asked;
    bool leaves; /* ends with its transaction open */
    int code;
};

static void *think(void *arg)
{
    struct thinker *thinker = arg;
    struct session *session;
    struct cellar_txn *txn = NULL;
    uint64_t a;
    thinker->code = session_open(thinker->api->db, &session, NULL);
    if (thinker->code == 0) thinker->code = session_begin(session, NULL, &txn);
    if (thinker->code == 0) thinker->code = cellar_txn_get_for_update(txn, thinker->api->items, 1, ITEM_A, &a);
    pthread_barrier_wait(&thinker->begun);
    if (thinker->leaves) return NULL;
    pthread_barrier_wait(&thinker->asked);
    if (thinker->code == 0) thinker->code = cellar_txn_get(txn, thinker->api->items, 2, ITEM_A, &a);
    bool lost = thinker->code == CELLAR_RETRY; /* it stood still for longer than the bound */
    int rc = session_commit(txn, NULL);
    if (!lost && thinker->code == 0) thinker->code = rc;
    if (lost) thinker->code = 0;
    return NULL;
}

static void a_thread_that_thinks_keeps_it_open(void **state)
{
    const struct api_variant *variant = *state;
    if (!variant->threads || !sessions_possible(variant)) skip();
    for (int leaves = 0; leaves < 2; leaves++) {
        struct api api;
        pthread_t id;
        struct thinker thinker = {.api = &api, .leaves = leaves};
        api_open(&api, variant);
        api_load(&api, 0, 10);
        assert_int_equal(pthread_barrier_init(&thinker.begun, NULL, 2), 0);
        assert_int_equal(pthread_barrier_init(&thinker.asked, NULL, 2), 0);
        assert_int_equal(pthread_create(&id, NULL, think, &thinker), 0);
        pthread_barrier_wait(&thinker.begun);
        if (!leaves) {
            assert_code(cellar_close(api.db), CELLAR_BUSY);
            pthread_barrier_wait(&thinker.asked);
        }
        assert_int_equal(pthread_join(id, NULL), 0);
        assert_code(thinker.code, 0);
        api_close(&api); /* what a thread that has ended left open is aborted */
        pthread_barrier_destroy(&thinker.begun);
        pthread_barrier_destroy(&thinker.asked);
    }
}

/* Threads call while one closes: each call commits, or is refused, and none is cut off. */
struct caller {
    struct api *api;
    int code;
};

static void *call_on(void *arg)
{
    struct caller *caller = arg;
    const struct api api = *caller->api; /* its handles, which stay what they are */
    struct api_call call = {.body = nothing, .items = api.items};
    while (caller->code == 0) caller->code = cellar_proc_run(api.db, api.any, &call, NULL, NULL);
    return NULL;
}

static void *open_on(void *arg)
{
    struct caller *caller = arg;
    const struct api api = *caller->api;
    struct session *session;
    struct cellar_error error;
    while (caller->code == 0) {
        caller->code = session_open(api.db, &session, &error);
        if (caller->code == 0) session_close(session);
    }
    return NULL;
}

static void calls_race_with_closing(void **state)
{
    const struct api_variant *variant = *state;
    if (!variant->threads) skip();
    for (int round = 0; round < 5; round++) {
        struct api api;
        pthread_t ids[4];
        struct caller callers[4];
        api_open(&api, variant);
        for (int i = 0; i < 4; i++) {
            callers[i] = (struct caller){.api = &api};
            void *(*fn)(void *) = i == 3 && sessions_possible(variant) ? open_on : call_on;
            assert_int_equal(pthread_create(&ids[i], NULL, fn, &callers[i]), 0);
        }
        usleep(300u * (unsigned)round);
        int rc;
        do rc = cellar_close(api.db);
        while (rc == CELLAR_BUSY); /* a session that is closed is in use while that lasts */
        assert_code(rc, 0);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(pthread_join(ids[i], NULL), 0);
            assert_code(callers[i].code, CELLAR_CLOSED);
        }
    }
}

int main(int argc, char **argv)
{
    const struct api_entry tests[] = {
        API_TEST(a_closed_database_refuses_each_call),
        API_TEST(nothing_is_no_database),
        API_TEST(handles_of_another_database_are_refused),
        API_TEST(a_child_is_refused),
        API_TEST(a_call_within_a_call_is_refused),
        API_TEST(a_call_amid_a_call_of_its_session_is_refused),
        API_TEST(an_open_transaction_keeps_it_open),
        API_TEST(a_thread_that_thinks_keeps_it_open),
        API_TEST(calls_race_with_closing),
    };
    return api_main("api_closed", tests, sizeof tests / sizeof *tests, argc, argv);
}
